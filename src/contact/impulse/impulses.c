#include "contact/impulse/impulses.h"
#include "contact/impulse/impulses_internal.h"
#include "core/memory.h"
#include "core/stop.h"
#include "core/math3.h"

#define APART 1e-3 /* of the thickness, that pairs are kept apart */

/* ---- creation ---- */

/* Each vertex its own unit, or the body's that carries it; edges and triangles of one body each. */
static PetscErrorCode fill_units(impulses *a)
{
  const impulse_scene        *c = &a->scene;
  const broad_phase_surfaces *b = &c->surfaces;
  PetscFunctionBegin;
  for (int64_t i = 0; i < b->n_vertices; ++i) {
    const int32_t r = c->rigid ? c->rigid[i] : -1;
    PetscCheck(r >= -1 && r < c->n_rigid, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "vertex %lld: no rigid body %d among %d",
               (long long)i, (int)r, (int)c->n_rigid);
    a->unit[i] = a->leader[i] = r < 0 ? (int32_t)i : (int32_t)(b->n_vertices + r);
    a->is_held[i] = r < 0 && c->inverse_mass[i] == 0.0;
  }
  if (!c->rigid) PetscFunctionReturn(PETSC_SUCCESS);
  for (int64_t i = 0; i < 2 * b->n_edges; ++i)
    PetscCheck(c->rigid[b->edge[i]] == c->rigid[b->edge[i - i % 2]], PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "edge %lld: a rigid body carries one end alone", (long long)(i / 2));
  for (int64_t i = 0; i < 3 * b->n_triangles; ++i)
    PetscCheck(c->rigid[b->triangle[i]] == c->rigid[b->triangle[i - i % 3]], PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "triangle %lld: a rigid body carries some of its corners alone", (long long)(i / 3));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What one rigid body carries does not meet itself: such pairs are not even to be found. */
static PetscErrorCode create_broad_phase(impulses *a)
{
  const impulse_scene *c = &a->scene;
  broad_phase_surfaces b = c->surfaces;
  const int64_t        n = b.n_bodies;
  bool                *meets;
  int32_t             *carrier; /* [n] of all vertices of a body; -1: none of all; -2: no vertex yet */
  PetscFunctionBegin;
  if (!c->rigid || n == 0) {
    PetscCall(broad_phase_create(&b, &a->broad));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(memory_alloc("broad phase", n * n, sizeof *meets, &meets));
  PetscErrorCode code = memory_alloc("broad phase", n, sizeof *carrier, &carrier);
  if (!code) {
    memcpy(meets, b.meets, (size_t)(n * n) * sizeof *meets);
    for (int64_t k = 0; k < n; ++k) carrier[k] = -2;
    for (int64_t i = 0; i < b.n_vertices; ++i) {
      int32_t *const of = b.body[i] >= 0 && b.body[i] < n ? &carrier[b.body[i]] : NULL;
      if (of) *of = *of == -2 || *of == c->rigid[i] ? c->rigid[i] : -1;
    }
    for (int64_t k = 0; k < n; ++k)
      if (carrier[k] >= 0) meets[k * n + k] = false;
    b.meets = meets;
    code    = broad_phase_create(&b, &a->broad);
  }
  memory_free(&meets), memory_free(&carrier);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode fill(const impulse_scene *scene, impulses *a)
{
  const int64_t n = scene->surfaces.n_vertices;
  PetscFunctionBegin;
  a->scene   = *scene;
  a->n_units = n + scene->n_rigid + scene->n_walls;
  PetscCheck(a->n_units <= INT32_MAX, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, 
             "%lld vertices, rigid bodies and walls are too many", (long long)a->n_units);
  PetscCall(create_broad_phase(a));
  PetscCall(impact_zones_create(a->n_units, &a->zones));
  impact_zones_clear(&a->zones);
  PetscCall(memory_alloc("ends of ways", 3 * n, sizeof *a->x1, &a->x1));
  PetscCall(memory_alloc("ends of ways", 3 * n, sizeof *a->x1_before, &a->x1_before));
  PetscCall(memory_alloc("ends of ways", 3 * n, sizeof *a->x1_listed, &a->x1_listed));
  PetscCall(memory_alloc("units of vertices", n, sizeof *a->unit, &a->unit));
  PetscCall(memory_alloc("units of vertices", n, sizeof *a->leader, &a->leader));
  PetscCall(memory_alloc("units of vertices", n, sizeof *a->is_held, &a->is_held));
  PetscCall(memory_alloc("units of vertices", n, sizeof *a->is_changed, &a->is_changed));
  PetscCall(memory_alloc("turns of bodies", 9 * (int64_t)scene->n_rigid, sizeof *a->turn, &a->turn));
  PetscCall(memory_alloc("turns of bodies", 6 * (int64_t)scene->n_rigid, sizeof *a->placed, &a->placed));
  PetscCall(memory_alloc("colours of units", a->n_units, sizeof *a->used, &a->used));
  PetscCall(fill_units(a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode impulses_create(const impulse_scene *scene, impulses **out)
{
  PetscFunctionBegin;
  PetscCall(memory_alloc("impulses", 1, sizeof **out, out));
  const PetscErrorCode code = fill(scene, *out);
  if (code) impulses_destroy(out);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void impulses_destroy(impulses **out)
{
  if (!out || !*out) return;
  impulses *a = *out;
  broad_phase_destroy(&a->broad);
  impact_zones_destroy(&a->zones);
  memory_free(&a->x1), memory_free(&a->x1_before), memory_free(&a->x1_listed);
  memory_free(&a->unit), memory_free(&a->leader), memory_free(&a->is_held), memory_free(&a->is_changed);
  memory_free(&a->turn), memory_free(&a->placed), memory_free(&a->used);
  for (int k = 0; k < 3; ++k) memory_free(&a->list[k].flag);
  memory_free(&a->found), memory_free(&a->index), memory_free(&a->order), memory_free(&a->colour);
  memory_free(&a->given), memory_free(&a->contact), memory_free(&a->before);
  memory_free(out);
}

/* ---- the passes ---- */

static void say_not_finite(int64_t vertex, step_verdict *verdict)
{
  if (vertex >= 0) *verdict = (step_verdict){STEP_NOT_FINITE, NULL, vertex};
}

/* Pairs found move as one, and what they meet then, until nothing meets. Each round makes two units one at least. */
static PetscErrorCode rigid_zones(impulses *a, double separation, step_verdict *verdict)
{
  const int64_t first_rigid = a->scene.surfaces.n_vertices, first_wall = first_rigid + a->scene.n_rigid;
  int64_t       bad;
  PetscFunctionBegin;
  while (a->n > 0 && verdict->code == STEP_OK) {
    ++a->report->n_zone_rounds;
    for (int64_t i = 0; i < a->n; ++i) {
      const meeting *m = &a->found[i];
      for (int k = 1; k < 4; ++k) impact_zones_merge(&a->zones, a->unit[m->node[0]], a->unit[m->node[k]]);
      if (m->kind == MEETING_POINT_WALL) impact_zones_merge(&a->zones, a->unit[m->node[0]], (int32_t)(first_wall + m->second));
    }
    for (int64_t i = 0; i < first_rigid; ++i) a->leader[i] = impact_zones_find(&a->zones, a->unit[i]);
    impulse_motion_of_zones(a, verdict);
    if (verdict->code != STEP_OK) break;
    PetscCall(impulse_search_again(a, separation, &bad));
    say_not_finite(bad, verdict);
  }
  a->report->n_zones      = a->zones.n_zones;
  a->report->n_zone_nodes = a->zones.n_zones > 0 ? a->zones.start[a->zones.n_zones] : 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode near_pass(impulses *a, step_verdict *verdict)
{
  int64_t bad;
  PetscFunctionBegin;
  PetscCall(impulse_search_all(a, a->step->x0, a->step->x0, a->options->thickness, &bad));
  say_not_finite(bad, verdict);
  if (bad < 0) PetscCall(impulse_apply(a, true, &a->report->n_near));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode meeting_pass(impulses *a, step_verdict *verdict)
{
  const double    separation = APART * a->options->thickness;
  impulse_report *out        = a->report;
  int64_t         bad, n_pushed = 1;
  PetscFunctionBegin;
  a->slack = -1.0;
  while (n_pushed > 0) {
    PetscCall(impulse_search_again(a, separation, &bad));
    say_not_finite(bad, verdict);
    if (bad >= 0 || a->n == 0) PetscFunctionReturn(PETSC_SUCCESS);
    if (stop_is_urgent()) {
      *verdict = (step_verdict){STEP_DROPPED, NULL, -1};
      PetscFunctionReturn(PETSC_SUCCESS);
    }
    out->n_meetings += a->n;
    n_pushed = 0;
    if (out->n_iterations++ < a->options->max_iterations) PetscCall(impulse_apply(a, false, &n_pushed));
  }
  PetscCall(rigid_zones(a, separation, verdict));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What carried vertices did. */
static void carried_velocities(impulses *a)
{
  const impulse_step *s = a->step;
  if (!a->scene.rigid) return;
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < a->scene.surfaces.n_vertices; ++i)
    for (int k = 0; k < 3 && a->scene.rigid[i] >= 0; ++k) s->v[3 * i + k] = (a->x1[3 * i + k] - s->x0[3 * i + k]) / s->dt;
}

/* A zone some of whose vertices keep a component and others do not is not rigid. */
static PetscErrorCode check_zones(impulses *a, step_verdict *verdict)
{
  int64_t bad;
  PetscFunctionBegin;
  if (!a->scene.held_axes || a->report->n_zones == 0) PetscFunctionReturn(PETSC_SUCCESS);
  for (int64_t i = 0; i < a->scene.surfaces.n_vertices; ++i) a->leader[i] = a->unit[i];
  PetscCall(impulse_search_all(a, a->step->x0, a->x1, 0.0, &bad));
  if (a->n > 0) *verdict = (step_verdict){STEP_IMPACT, NULL, -1};
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode solve(impulses *a, step_verdict *verdict)
{
  PetscFunctionBegin;
  impact_zones_clear(&a->zones);
  PetscCall(impulse_motion_begin(a));
  if (a->options->thickness > 0.0) PetscCall(near_pass(a, verdict));
  if (verdict->code == STEP_OK) PetscCall(meeting_pass(a, verdict));
  if (verdict->code == STEP_OK) PetscCall(impulse_contacts_gather(a));
  if (verdict->code == STEP_OK) PetscCall(check_zones(a, verdict));
  if (verdict->code == STEP_OK) carried_velocities(a);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode impulses_solve(impulses *a, const impulse_options *o, const impulse_step *step, step_verdict *verdict,
                              impulse_report *out)
{
  PetscFunctionBegin;
  *out       = (impulse_report){0};
  a->step    = step;
  a->options = o, a->report = out;
  a->n_given = a->n_contacts = 0;
  const PetscErrorCode code = solve(a, verdict);
  a->step = NULL, a->options = NULL, a->report = NULL;
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- answers ---- */

const double *impulses_ends(const impulses *a) { return a->x1; }

const impulse_contact *impulses_contacts(const impulses *a, int64_t *n)
{
  *n = a->n_contacts;
  return a->contact;
}

PetscErrorCode impulses_count_meetings(impulses *a, const double *x0, const double *x1, int64_t *n)
{
  int64_t bad;
  PetscFunctionBegin;
  for (int64_t i = 0; i < a->scene.surfaces.n_vertices; ++i) a->leader[i] = a->unit[i];
  PetscCall(impulse_search_all(a, x0, x1, 0.0, &bad));
  PetscCheck(bad < 0, PETSC_COMM_SELF, PETSC_ERR_FP, "vertex %lld of the surfaces is not finite", (long long)bad);
  *n = a->n;
  PetscFunctionReturn(PETSC_SUCCESS);
}
