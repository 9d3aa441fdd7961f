#include "sim/hybrid/hybrid_contact.h"
#include "core/math3.h"
#include "core/memory.h"
#include "core/timer.h"
#include <string.h>

static const double THICKNESS = 0.05; /* of the mean edge, if not given */

/* ---- making one --------------------------------------------------------------------------------------------------------- */

static PetscErrorCode create_grid(const scene *s, hybrid_contact *c)
{
  const hybrid_grid    *o = s->job->solver->hybrid->grid;
  const scene_surfaces *f = c->boundary.surfaces;
  double               *x;
  PetscFunctionBegin;
  c->dx = isfinite(o->spacing) ? o->spacing : c->boundary.edge;
  if (o->transfer == HYBRID_TRANSFER_NONE || f->n_triangles == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(memory_alloc("boundary", 3 * f->n_vertices, sizeof *x, &x));
  PetscErrorCode code = scene_surfaces_place(f, s, 0.0, x);
  if (!code) code = augury_create(&c->boundary.elements, x, c->dx, &c->grid);
  if (!code) code = augury_near_create(&c->boundary.elements, f->body, c->dx, &c->near);
  memory_free(&x);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode hybrid_contact_create(const scene *s, hybrid_contact *c)
{
  const hybrid_impulses *o = s->job->solver->hybrid->impulses;
  PetscFunctionBegin;
  PetscCall(hybrid_boundary_create(s, &c->boundary));
  const scene_surfaces *f = c->boundary.surfaces;
  c->thickness            = isfinite(o->thickness) ? o->thickness : THICKNESS * c->boundary.edge;
  PetscCall(create_grid(s, c));
  if (o->is_on && f->n_triangles > 0) {
    PetscCall(memory_alloc("laws", (int64_t)s->n_bodies * s->n_bodies, sizeof *c->law, &c->law));
    for (int i = 0; i < s->n_bodies * s->n_bodies; ++i) c->law[i].friction = s->laws[i].friction;
    const impulse_scene all = {.surfaces = scene_surfaces_broad(f), .inverse_mass = c->boundary.inverse_mass, .law = c->law};
    PetscCall(impulses_create(&all, &c->impulses));
  }
  PetscCall(memory_alloc("boundary", f->n_triangles, sizeof *c->is_active, &c->is_active));
  PetscCall(memory_alloc("boundary", 3 * f->n_vertices, sizeof *c->v_old, &c->v_old));
  PetscCall(memory_alloc("boundary", 9 * f->n_vertices, sizeof *c->A_old, &c->A_old));
  PetscCall(memory_alloc("boundary", 6 * c->boundary.n_rigids, sizeof *c->vu, &c->vu));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void hybrid_contact_destroy(hybrid_contact *c)
{
  augury_destroy(&c->grid);
  augury_near_destroy(&c->near);
  impulses_destroy(&c->impulses);
  memory_free(&c->law);
  memory_free(&c->is_active), memory_free(&c->v_old), memory_free(&c->A_old), memory_free(&c->vu);
  hybrid_boundary_destroy(&c->boundary);
}

PetscErrorCode hybrid_contact_fields(hybrid_contact *c, field_table *table)
{
  field_group *g;
  PetscFunctionBegin;
  PetscCall(field_table_add_group(table, "contact/boundary", FIELD_GROUP_PLAIN, &c->boundary.surfaces->n_vertices, NULL, &g));
  PetscCall(field_table_add(table, g, "affine", "1/s", FIELD_F64, 9, &c->boundary.affine, FIELD_CHECKPOINT,
                            "gradient of velocity that nodes of boundaries carry to the grid"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- a step ------------------------------------------------------------------------------------------------------------- */

static void remember(hybrid_contact *c)
{
  const int64_t n = c->boundary.surfaces->n_vertices;
  memcpy(c->v_old, c->boundary.v, (size_t)(3 * n) * sizeof *c->v_old);
  memcpy(c->A_old, c->boundary.A, (size_t)(9 * n) * sizeof *c->A_old);
}

/* All geometry is that of the start: what takes part must not cross a cell. */
static void check_speed(const hybrid_contact *c, const step_layout *l, step_verdict *verdict)
{
  const scene_surfaces *f = c->boundary.surfaces;
  for (int64_t t = 0; t < f->n_triangles; ++t)
    for (int k = 0; k < 3 && c->is_active[t]; ++k) {
      const int32_t at = f->triangle[3 * t + k];
      if (l->dt * v3_norm(c->boundary.v + 3 * (int64_t)at) < c->dx) continue;
      *verdict = (step_verdict){STEP_CFL, l->scene->bodies[f->body[at]].name, f->node[at]};
      return;
    }
}

static PetscErrorCode go_through_grid(hybrid_contact *c, const hybrid_options *o, const step_layout *l, step_verdict *verdict,
                                      step_report *report)
{
  hybrid_boundary     *b    = &c->boundary;
  const augury_options own  = {.accepts_sliding_change = o->grid->hinders_sliding,
                               .max_iterations         = o->grid->max_iterations,
                               .tolerance              = o->grid->tolerance};
  augury_result        done = {0};
  int64_t              n_active;
  PetscFunctionBegin;
  PetscCall(augury_near_find(c->near, b->x0, b->v, c->is_active, &n_active));
  if (n_active == 0) PetscFunctionReturn(PETSC_SUCCESS);
  check_speed(c, l, verdict);
  if (verdict->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(augury_begin(c->grid, b->x0, c->is_active, verdict));
  if (verdict->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
  remember(c);
  PetscCall(augury_solve(c->grid, &own, b->normal, b->v, b->A, &done));
  hybrid_boundary_settle(b, l, c->v_old, c->A_old, c->dx, c->vu);
  report->transfer.iterations = done.iterations;
  report->transfer.points     = augury_n_points(c->grid);
  report->transfer.left       = done.left;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode push_apart(hybrid_contact *c, const hybrid_options *o, const step_layout *l, step_verdict *verdict,
                                 step_report *report)
{
  hybrid_boundary      *b   = &c->boundary;
  const impulse_options own = {c->thickness, isfinite(o->impulses->stiffness) ? o->impulses->stiffness : INFINITY,
                               o->impulses->max_iterations};
  const impulse_step    step = {.dt = l->dt, .x0 = b->x0, .v = b->v};
  PetscFunctionBegin;
  PetscCall(impulses_solve(c->impulses, &own, &step, verdict, &c->report));
  report->linear_iterations += c->report.n_iterations;
  report->fallbacks += c->report.n_zone_rounds;
  report->transfer.meetings   = c->report.n_meetings;
  report->transfer.zone_nodes = c->report.n_zone_nodes;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode hybrid_contact_solve(hybrid_contact *c, const hybrid_options *o, const step_layout *l, step_verdict *verdict,
                                    step_report *report)
{
  hybrid_boundary *b = &c->boundary;
  PetscFunctionBegin;
  c->has_acted = false;
  if (b->surfaces->n_triangles == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(hybrid_boundary_begin(b, l));
  hybrid_boundary_gather(b, l);
  for (int r = 0; r < b->n_rigids; ++r) {
    const rigid_frame *pose = &l->frames[l->scene->bodies[b->rigids[r].body].frame];
    v3_copy(c->vu + 6 * r, pose->v);
    v3_copy(c->vu + 6 * r + 3, pose->w);
  }
  timer_begin(TIMER_GRID);
  if (c->grid) PetscCall(go_through_grid(c, o, l, verdict, report));
  timer_end(TIMER_GRID);
  timer_begin(TIMER_FRICTION);
  if (c->impulses && verdict->code == STEP_OK) PetscCall(push_apart(c, o, l, verdict, report));
  timer_end(TIMER_FRICTION);
  c->has_acted = memcmp(b->v, b->v_free, (size_t)(3 * b->surfaces->n_vertices) * sizeof *b->v) != 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode hybrid_contact_accept(hybrid_contact *c, const step_layout *l, step_record *record, step_report *report)
{
  const hybrid_boundary *b = &c->boundary;
  PetscFunctionBegin;
  (void)record;
  memcpy(b->affine, b->A, (size_t)(9 * b->surfaces->n_vertices) * sizeof *b->A);
  hybrid_boundary_spin(b, l->scene, c->dx, report->transfer.spin);
  PetscFunctionReturn(PETSC_SUCCESS);
}
