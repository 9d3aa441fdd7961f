#include "contact/impulse/impulses.h"
#include "contact/ccd.h"
#include "contact/impulse/impact_zones.h"
#include "core/math3.h"
#include "core/memory.h"
#include "core/stop.h"
#include "core/team.h"

#define APART 1e-3        /* of the thickness, that pairs are kept apart */
#define CERTAINTY 0.1     /* of that: what detection may be off */
#define OVERLAP_SPEED 0.1 /* of the overlap, that the spring may take back in a step [BridsonEtAl2002, sec. 7.1] */

/* Two features that meet: gap = normal . sum weight x. */
typedef struct {
  int32_t node[4];
  double  weight[4], normal[3], gap;
} meeting;

struct impulses {
  broad_phase_surfaces s;
  const double        *inverse_mass;
  broad_phase         *broad;
  impact_zones         zones;
  bool                 has_zones;
  double              *x1;      /* [n_vertices][3] */
  int64_t              n_flags;
  uint8_t             *flag;    /* [n_flags] of pairs: they meet */
  int64_t              n, capacity;
  meeting             *found;   /* [n] */
  impulse_report      *report;
};

PetscErrorCode impulses_create(const broad_phase_surfaces *s, const double *inverse_mass, impulses **out)
{
  PetscFunctionBegin;
  PetscCall(memory_alloc("impulses", 1, sizeof **out, out));
  impulses *a = *out;
  a->s = *s, a->inverse_mass = inverse_mass;
  PetscErrorCode code = broad_phase_create(s, &a->broad);
  if (!code) code = impact_zones_create(s->n_vertices, &a->zones);
  if (!code) code = memory_alloc("ends of ways", 3 * s->n_vertices, sizeof *a->x1, &a->x1);
  if (code) impulses_destroy(out);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void impulses_destroy(impulses **out)
{
  if (!*out) return;
  impulses *a = *out;
  broad_phase_destroy(&a->broad);
  impact_zones_destroy(&a->zones);
  memory_free(&a->x1), memory_free(&a->flag), memory_free(&a->found);
  memory_free(out);
}

/* ---- detection -------------------------------------------------------------------------------------------------------- */

/* What one search looks at. */
typedef struct {
  impulses               *a;
  const double           *x0, *x1;
  ccd_limits              limits;
  bool                    is_edge;
  const broad_phase_pair *pair;
  int64_t                 n;
} search;

static void nodes_of(const search *s, int64_t i, int32_t node[4])
{
  const broad_phase_surfaces *b = &s->a->s;
  const broad_phase_pair      p = s->pair[i];
  if (s->is_edge) {
    node[0] = b->edge[2 * (int64_t)p.first], node[1] = b->edge[2 * (int64_t)p.first + 1];
    node[2] = b->edge[2 * (int64_t)p.second], node[3] = b->edge[2 * (int64_t)p.second + 1];
  } else {
    node[0] = b->point ? b->point[p.first] : p.first;
    for (int k = 0; k < 3; ++k) node[1 + k] = b->triangle[3 * (int64_t)p.second + k];
  }
}

/* Pairs that nothing could be done about, or that move as one. */
static bool is_idle(const search *s, const int32_t node[4])
{
  bool is_held = true;
  for (int k = 0; k < 4; ++k) is_held = is_held && s->a->inverse_mass[node[k]] == 0.0;
  if (is_held || !s->a->has_zones) return is_held;
  const int32_t zone = s->a->zones.parent[node[0]];
  return s->a->zones.parent[node[1]] == zone && s->a->zones.parent[node[2]] == zone && s->a->zones.parent[node[3]] == zone;
}

static bool query(const search *s, const int32_t node[4], ccd_hit *hit)
{
  double     x0[12], x1[12];
  ccd_limits limits = s->limits;
  for (int k = 0; k < 4; ++k) v3_copy(x0 + 3 * k, s->x0 + 3 * (int64_t)node[k]), v3_copy(x1 + 3 * k, s->x1 + 3 * (int64_t)node[k]);
  if (ccd_boxes_are_apart(x0, x1, s->is_edge ? 2 : 1, limits.separation + limits.tolerance)) return false;
  for (int k = 0;; ++k) {
    if (!(s->is_edge ? ccd_edge_edge(x0, x1, &limits, hit) : ccd_point_triangle(x0, x1, &limits, hit))) return false;
    if (s->x0 == s->x1 || hit->t > 0.0 || limits.separation == 0.0 || k > 0) return true;
    limits.separation = 0.5 * hit->distance,
    limits.tolerance  = CERTAINTY * limits.separation; /* already so near: half of that, then */
  }
}

static void describe(const search *s, const int32_t node[4], const ccd_hit *hit, meeting *m)
{
  memcpy(m->node, node, sizeof m->node);
  v3_copy(m->normal, hit->normal);
  m->gap = hit->distance;
  if (s->is_edge) m->weight[0] = 1.0 - hit->u, m->weight[1] = hit->u, m->weight[2] = hit->v - 1.0, m->weight[3] = -hit->v;
  else m->weight[0] = 1.0, m->weight[1] = hit->u + hit->v - 1.0, m->weight[2] = -hit->u, m->weight[3] = -hit->v;
}

/* Pairs of one kind that meet, added to a->found in their order. */
static PetscErrorCode look(search *s)
{
  impulses *a     = s->a;
  int64_t   n_hit = 0, n_asked = 0;
  PetscFunctionBegin;
  PetscCall(memory_reserve("pairs that meet", s->n, sizeof *a->flag, &a->n_flags, &a->flag));
#pragma omp parallel for schedule(dynamic, 64) reduction(+ : n_hit, n_asked)
  for (int64_t i = 0; i < s->n; ++i) {
    int32_t node[4];
    ccd_hit hit;
    nodes_of(s, i, node);
    const bool is_asked = !is_idle(s, node);
    a->flag[i] = is_asked && query(s, node, &hit);
    n_hit += a->flag[i], n_asked += is_asked;
  }
  if (a->report) a->report->n_queries += n_asked;
  PetscCall(memory_reserve("pairs that meet", a->n + n_hit, sizeof *a->found, &a->capacity, &a->found));
  for (int64_t i = 0; i < s->n; ++i) {
    int32_t node[4];
    ccd_hit hit;
    if (!a->flag[i]) continue;
    nodes_of(s, i, node);
    (void)query(s, node, &hit);
    describe(s, node, &hit, &a->found[a->n++]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All pairs that come nearer than `separation` from x0 to x1 to a->found. */
static PetscErrorCode find(impulses *a, const double *x0, const double *x1, double separation)
{
  search  s = {.a = a, .x0 = x0, .x1 = x1, .limits = {separation, CERTAINTY * separation}};
  int64_t bad;
  PetscFunctionBegin;
  a->n = 0;
  PetscCall(broad_phase_update(a->broad, x0, x1, separation + s.limits.tolerance, &bad));
  PetscCheck(bad < 0, PETSC_COMM_SELF, PETSC_ERR_FP, "vertex %lld of the surfaces is not finite", (long long)bad);
  PetscCall(broad_phase_point_triangle(a->broad, &s.n, &s.pair));
  PetscCall(look(&s));
  s.is_edge = true;
  PetscCall(broad_phase_edge_edge(a->broad, &s.n, &s.pair));
  PetscCall(look(&s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void ends(const impulses *a, const double *x0, double dt, const double *v)
{
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < 3 * a->s.n_vertices; ++i) a->x1[i] = x0[i] + dt * v[i];
}

/* ---- impulses --------------------------------------------------------------------------------------------------------- */

static double effective_mass(const impulses *a, const meeting *m)
{
  double sum = 0.0;
  for (int k = 0; k < 4; ++k) sum += m->weight[k] * m->weight[k] * a->inverse_mass[m->node[k]];
  return sum > 0.0 ? 1.0 / sum : 0.0;
}

static void relative_velocity(const meeting *m, const double *v, double u[3])
{
  v3_set(u, 0.0, 0.0, 0.0);
  for (int k = 0; k < 4; ++k) v3_axpy(u, m->weight[k], v + 3 * (int64_t)m->node[k]);
}

static void push(const impulses *a, const meeting *m, double j, const double direction[3], double *v)
{
  for (int k = 0; k < 4; ++k) v3_axpy(v + 3 * (int64_t)m->node[k], j * m->weight[k] * a->inverse_mass[m->node[k]], direction);
}

/* Friction that goes with an impulse j along the normal. */
static void rub(const impulses *a, const impulse_options *o, const meeting *m, double mass, double j, double *v)
{
  double u[3];
  if (o->friction == 0.0 || !(j > 0.0)) return;
  relative_velocity(m, v, u);
  v3_axpy(u, -v3_dot(u, m->normal), m->normal);
  const double slip = v3_norm(u);
  if (!(slip > 0.0)) return;
  v3_scale(u, 1.0 / slip, u);
  push(a, m, -fmin(o->friction * j, mass * slip), u, v);
}

/* One pair within the thickness: it stops closing, and a spring takes back at most part of the overlap. */
static void keep_off(const impulses *a, const impulse_options *o, const meeting *m, double dt, double *v)
{
  const double mass = effective_mass(a, m), overlap = o->thickness - m->gap, most = OVERLAP_SPEED * overlap / dt;
  double       u[3], j = 0.0;
  relative_velocity(m, v, u);
  double speed = v3_dot(u, m->normal);
  if (speed < 0.0) j = -mass * speed, speed = 0.0;
  if (speed < most) j += fmin(dt * o->stiffness * overlap, mass * (most - speed));
  if (!(j > 0.0)) return;
  push(a, m, j, m->normal, v);
  rub(a, o, m, mass, j, v);
  ++a->report->n_near;
}

/* One pair whose ways meet; was anything done? */
static bool hold_off(const impulses *a, const impulse_options *o, const meeting *m, double *v)
{
  const double mass = effective_mass(a, m);
  double       u[3];
  relative_velocity(m, v, u);
  const double speed = v3_dot(u, m->normal);
  if (!(speed < 0.0) || mass == 0.0) return false;
  push(a, m, -(1.0 + o->restitution) * mass * speed, m->normal, v);
  rub(a, o, m, mass, -(1.0 + o->restitution) * mass * speed, v);
  return true;
}

static PetscErrorCode rigid_zones(impulses *a, double separation, const double *x0, double dt, double *v, step_verdict *verdict)
{
  PetscFunctionBegin;
  impact_zones_clear(&a->zones);
  a->has_zones = true;
  while (a->n > 0 && verdict->code == STEP_OK) {
    ++a->report->n_zone_rounds;
    for (int64_t i = 0; i < a->n; ++i)
      for (int k = 1; k < 4; ++k) impact_zones_merge(&a->zones, a->found[i].node[0], a->found[i].node[k]);
    for (int64_t i = 0; i < a->s.n_vertices; ++i) a->zones.parent[i] = impact_zones_find(&a->zones, (int32_t)i);
    impact_zones_move(&a->zones, a->inverse_mass, x0, v, verdict);
    ends(a, x0, dt, v);
    PetscCall(find(a, x0, a->x1, separation));
  }
  a->report->n_zones      = a->zones.n_zones;
  a->report->n_zone_nodes = a->zones.n_zones > 0 ? a->zones.start[a->zones.n_zones] : 0;
  a->has_zones            = false;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode impulses_solve(impulses *a, const impulse_options *o, const double *x0, double dt, double *v, step_verdict *verdict,
                              impulse_report *out)
{
  PetscFunctionBegin;
  const double separation = APART * o->thickness;
  *out      = (impulse_report){0};
  a->report = out;
  if (o->thickness > 0.0) {
    PetscCall(find(a, x0, x0, o->thickness));
    for (int64_t i = 0; i < a->n; ++i) keep_off(a, o, &a->found[i], dt, v);
  }
  for (;;) {
    bool is_changed = false;
    ends(a, x0, dt, v);
    PetscCall(find(a, x0, a->x1, separation));
    if (a->n == 0) break;
    if (stop_is_urgent()) {
      *verdict = (step_verdict){STEP_DROPPED, NULL, -1};
      break;
    }
    out->n_meetings += a->n;
    if (out->n_iterations++ < o->max_iterations)
      for (int64_t i = 0; i < a->n; ++i) is_changed = hold_off(a, o, &a->found[i], v) || is_changed;
    if (is_changed) continue;
    PetscCall(rigid_zones(a, separation, x0, dt, v, verdict));
    break;
  }
  a->report = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode impulses_count_meetings(impulses *a, const double *x0, const double *x1, int64_t *n)
{
  PetscFunctionBegin;
  PetscCall(find(a, x0, x1, 0.0));
  *n = a->n;
  PetscFunctionReturn(PETSC_SUCCESS);
}
