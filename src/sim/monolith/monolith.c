/* The formulation `monolith`: a granular or liquid continuum on a staggered grid and rigid bodies in contact; pressure, friction
 * and contact forces are the solution of one problem [TakahashiBatty2021].
 *
 * A step starts from the velocities without contact: free motion of the bodies, and faces with gravity. Then
 *
 *    u = u* - mobility (G^T p + D^T s),   v = v* + dt M^-1 (F_p^T p + F_s^T s + B^T (lambda, z))
 *
 * with p, s, lambda, z from optim/granular. The resulting impulses are applied in the bodies' own equations (monolith_bodies.h),
 * so that momentum is conserved to rounding also for rotating bodies. Afterwards overlapping bodies are separated by positions
 * alone, and grains inside solids are moved out and transfer their impulses. */
#include "core/math3.h"
#include "core/memory.h"
#include "core/stop.h"
#include "sim/step/step_stages.h"
#include "discretize/mac/mac_domain.h"
#include "discretize/mac/mac_hourglass.h"
#include "discretize/mac/mac_memory.h"
#include "discretize/mac/mac_side.h"
#include "discretize/rigid/rigid_body.h"
#include "optim/bounds/bounds_petsc.h"
#include "optim/bounds/bounds_cg.h"
#include "sim/monolith/monolith_flow.h"
#include "sim/monolith/monolith_rheology.h"
#include "sim/scene/scene.h"
#include "sim/step/formulation.h"
#include "sim/step/solver_options.h"
#include "sim/step/step_contacts.h"
#include "sim/step/step_frame.h"
#include "sim/scene/scene_overlap_check.h"
#include <string.h>

/* ==== checks of a scene ==== */

#define OVERLAP 0.02 /* of a body's radius: smaller overlaps are allowed and corrected during the run */
enum { MOST_CUTS = 10 };

/* The dynamic rigid body i; NULL if it is none. */
static rigid_body *dynamic(const scene *s, int i) { return body_system(s->bodies[i].body) ? rigid_body_of(s->bodies[i].body) : NULL; }

static bool has_continuum(const scene *s)
{
  for (int i = 0; i < s->n_bodies; ++i)
    if (s->bodies[i].kind->ops->carrier) return true;
  return false;
}

/* ---- bodies outside the domain ----------------------------------------------------------------------------------------- */

static void check_inside_domain(const scene *s, int i, diagnostics *d)
{
  const rigid_body *b   = dynamic(s, i);
  const mac_box    *box = s->options->mac->domain;
  char              path[300];
  for (int k = 0; k < 3 && b; ++k) {
    if (b->c[k] + b->radius > box->min[k] && b->c[k] - b->radius < box->max[k]) continue;
    snprintf(path, sizeof path, "bodies.%s", s->bodies[i].name);
    diagnostics_add_under(d, scene_body_node(s, i), path, NULL,
                          "starts outside mac.domain: its centre (%g, %g, %g) m and radius %g m exceed %c from %g to %g m; move "
                          "it, or make the domain larger",
                          b->c[0], b->c[1], b->c[2], b->radius, "xyz"[k], box -> min[k], box -> max[k]);
    return;
  }
}

/* ---- overlapping bodies ------------------------------------------------------------------------------------------------ */

/* The deepest point of a triangle in a level set, if deeper than *most. Distances change at most by the displacement: a triangle
 * whose centre is not deep enough is skipped, others are split into four. */
static void find_deepest_point(const level_set *set, const double x[3][3], double nearly, int levels, double *most)
{
  double center[3], radius2 = 0.0, middle[3][3];
  for (int a = 0; a < 3; ++a) center[a] = (x[0][a] + x[1][a] + x[2][a]) / 3.0;
  for (int k = 0; k < 3; ++k) {
    double d[3];
    v3_sub(d, x[k], center);
    radius2 = fmax(radius2, v3_dot(d, d));
    for (int a = 0; a < 3; ++a) middle[k][a] = 0.5 * (x[k][a] + x[(k + 1) % 3][a]);
  }
  const double depth = -level_set_value(set, center), radius = sqrt(radius2);
  *most = fmax(*most, depth);
  if (levels == 0 || depth + radius <= fmax(*most, 0.0) + nearly) return;
  find_deepest_point(set, (const double(*)[3])middle, nearly, levels - 1, most);
  for (int k = 0; k < 3; ++k) {
    double corner[3][3];
    v3_copy(corner[0], x[k]), v3_copy(corner[1], middle[k]), v3_copy(corner[2], middle[(k + 2) % 3]);
    find_deepest_point(set, (const double(*)[3])corner, nearly, levels - 1, most);
  }
}

/* Depth of the surface of a in the level sets of b: vertices, edges and faces. */
static double depth_in(const rigid_body *a, const scene_body *b)
{
  rigid_frame       fa, fb;
  int               n    = 0;
  double            most = 0.0;
  level_set *const *sets = b->body->ops->level_sets ? b->body->ops->level_sets(b->body, &n) : NULL;
  if (n == 0 || !a->surface) return 0.0;
  a->base.ops->frame(&a->base, 0.0, 0.0, NULL, &fa);
  b->body->ops->frame(b->body, 0.0, 0.0, NULL, &fb);
  for (int k = 0; k < n; ++k) {
    double center[3];
    rigid_frame_to_local(&fb, fa.c, center);
    if (level_set_value(sets[k], center) > 1.05 * a->radius) continue; /* 5 % for the errors of sampled distances */
    for (int64_t t = 0; t < a->surface->n_triangles; ++t) {
      double at[3][3];
      for (int q = 0; q < 3; ++q) {
        double x[3];
        rigid_frame_to_world(&fa, a->surface->x + 3 * a->surface->tri[3 * t + q], x);
        rigid_frame_to_local(&fb, x, at[q]);
        most = fmax(most, -level_set_value(sets[k], at[q]));
      }
      find_deepest_point(sets[k], (const double(*)[3])at, 1e-3 * a->radius, MOST_CUTS, &most);
    }
  }
  return most;
}

static void check_overlap(const scene *s, int i, int j, diagnostics *d)
{
  const rigid_body *a = dynamic(s, i), *b = dynamic(s, j), *one = rigid_body_of(s->bodies[i].body), *two = rigid_body_of(s->bodies[j].body);
  double            depth = 0.0, size = fmin(a ? a->radius : INFINITY, b ? b->radius : INFINITY);
  char              path[300];
  if ((!a && !b) || scene_law(s, i, j)->never_touch) return;
  if (one) depth = fmax(depth, depth_in(one, &s->bodies[j]));
  if (two) depth = fmax(depth, depth_in(two, &s->bodies[i]));
  if (depth <= OVERLAP * size) return;
  snprintf(path, sizeof path, "bodies.%s", s->bodies[j].name);
  diagnostics_add_under(
      d, scene_body_node(s, j), path, NULL,
      "starts %g m deep in \"%s\": rigid bodies must not overlap; move one of them, or set contact: false under contact.pairs", depth,
      s->bodies[i].name);
}

/* Report bodies outside the domain of the grid, overlapping rigid bodies, and contact laws that a single grid cannot
 * represent. */
static PetscErrorCode monolith_check(const scene *s, diagnostics *d)
{
  PetscFunctionBegin;
  PetscCall(scene_overlap_check(s, d));
  for (int i = 0; i < s->n_bodies; ++i) {
    if (has_continuum(s)) check_inside_domain(s, i, d);
    for (int j = i + 1; j < s->n_bodies; ++j) check_overlap(s, i, j, d);
  }
  PetscCall(monolith_solids_check(s, d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- description for `check` ------------------------------------------------------------------------------------------- */

static PetscErrorCode describe_grid(const scene *s, FILE *out)
{
  const mac_options *o      = s->options->mac;
  double             volume = 0.0, n[3];
  PetscFunctionBegin;
  for (int i = 0; i < s->n_bodies; ++i) {
    body_totals sum;
    if (!s->bodies[i].kind->ops->carrier || !s->bodies[i].material) continue;
    PetscCall(scene_body_totals(s, i, &sum));
    volume += sum.mass / s->bodies[i].material->density;
  }
  for (int k = 0; k < 3; ++k) n[k] = nearbyint((o->domain->max[k] - o->domain->min[k]) / o->spacing);
  const double cells = volume / pow(o->spacing, 3);
  fprintf(out,
          "grid of %.0f x %.0f x %.0f cells of %g m, of which about %.3g contain material: as many pressures, %.3g stresses, %.3g "
          "faces\n",
          n[0], n[1], n[2], o->spacing, cells, 5.0 * cells, 3.0 * cells);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode describe_solids(const scene *s, FILE *out)
{
  monolith_solids solids;
  PetscFunctionBegin;
  PetscCall(monolith_solids_create(s, &solids));
  for (int k = 0; k < solids.n; ++k) {
    const mac_solid *one = &solids.solid[k];
    fprintf(out, "%s%s (%s%s", k == 0 ? "  solids in it: " : ", ", s->bodies[one->body].name, one->is_unknown ? "moved by it, " : "",
            isfinite(one->friction) ? "friction " : "the material's own friction)");
    if (isfinite(one->friction)) fprintf(out, "%g)", one->friction);
  }
  if (solids.n > 0) fprintf(out, "\n");
  monolith_solids_destroy(&solids);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Print the sides of the domain that bodies can touch, unless an obstacle covers them. */
static void describe_walls(const scene *s, FILE *out)
{
  int n = 0;
  for (int i = 0; i < s->n_bodies; ++i)
    if (s->bodies[i].kind == &mac_side_kind) fprintf(out, "%s%s", n++ == 0 ? "  rigid bodies touch " : ", ", s->bodies[i].name);
  if (n > 0) fprintf(out, "\n");
}

/* Print the grid, the estimated number of unknowns, solids and contact detectors. */
static PetscErrorCode monolith_describe(const scene *s, FILE *out)
{
  PetscFunctionBegin;
  fprintf(out, "formulation monolith: pressure, friction and contact of continuum and rigid bodies as one problem\n");
  if (has_continuum(s)) {
    PetscCall(describe_grid(s, out));
    PetscCall(describe_solids(s, out));
    describe_walls(s, out);
  }
  fprintf(out, "contacts of rigid bodies are detected between\n");
  PetscCall(step_contacts_describe(s, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ==== formulation ==== */

/* Options of the job that a step needs. */
typedef struct {
  const mac_options      *grid; /* NULL: there are only rigid bodies */
  const granular_options *flow;
  double                  overlap_correction, overlap_correction_speed; /* overlap_correction_speed [m/s]; NaN: not given */
  double                  frame;                                        /* time between frames [s], at least a step */
} monolith_options;

typedef struct {
  formulation       base;
  monolith_options  options;
  step_layout       layout;
  mac_domain       *domain; /* borrowed; NULL: there are only rigid bodies */
  monolith_bodies   bodies;
  monolith_contacts contacts;
  monolith_solids   solids;
  mac_system        system;
  mac_memory       *memory;
  granular_work    *work;
  granular_solvers  solvers;
} monolith;

/* Temporary data of one step. */
typedef struct {
  monolith_flow     flow;
  monolith_rheology rheology;
  contact_forces    pushed;        /* forces between continuum and solids */
  double (*wrench)[6], (*move)[6]; /* [n_bodies] */
} monolith_step;

static void free_step(monolith_step *p)
{
  monolith_rheology_destroy(&p->rheology);
  monolith_flow_destroy(&p->flow);
  contact_forces_destroy(&p->pushed);
  MEMORY_FREE(&p->wrench, &p->move);
}

/* ---- setup ------------------------------------------------------------------------------------------------------------- */

/* A body that crosses more cells in a step than a particle may would move into material that has not been displaced. Bodies
 * outside the domain are not checked. */
static void check_speed(const monolith *m, step_status *status)
{
  const mac_options *o = m->options.grid;
  for (int k = 0; k < m->solids.n; ++k) {
    const scene_body *b = &m->layout.scene->bodies[m->solids.solid[k].body];
    if (!m->solids.solid[k].is_unknown) continue;
    const rigid_body *one       = rigid_body_of(b->body);
    bool              is_inside = true;
    for (int a = 0; a < 3; ++a)
      is_inside = is_inside && one->c[a] + one->radius > o->domain->min[a] && one->c[a] - one->radius < o->domain->max[a];
    if (!is_inside || v3_norm(m->bodies.v_free[b->body->first_block / 2]) * m->layout.dt <= o->cfl * o->spacing) continue;
    *status = (step_status){STEP_CFL_VIOLATED, b->name, -1};
    return;
  }
}

/* Add gravity to the face velocities that the particles have set; assemble unknowns and operators. */
static PetscErrorCode assemble_grid(monolith *m)
{
  PetscFunctionBegin;
  const scene *s = m->layout.scene;
  if (!m->domain) PetscFunctionReturn(PETSC_SUCCESS);
  mac_state   *state   = mac_domain_state(m->domain);
  const double fall[3] = {m->layout.dt * s->gravity[0], m->layout.dt * s->gravity[1], m->layout.dt * s->gravity[2]};
  mac_state_accelerate(state, fall);
  monolith_solids_place(&m->solids, s, m->layout.frames0);
  PetscCall(mac_system_assemble(state, m->options.grid, m->solids.n, m->solids.solid, m->layout.dt, &m->system));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode set_up_problem(monolith *m, monolith_step *p)
{
  PetscFunctionBegin;
  monolith_flow *f = &p->flow;
  PetscCall(monolith_flow_set_up(f, &m->system, &m->layout, &m->bodies, &m->contacts, &m->solids));
  PetscCall(MEMORY_ALLOC("monolith", ARRAY(p->wrench, m->bodies.n), ARRAY(p->move, m->bodies.n)));
  if (m->domain) {
    const mac_grid *grid = &mac_domain_state(m->domain)->grid;
    mac_memory_initial_guess(m->memory, grid, &m->system, f->x.p, f->x.s, f->x.multiplier);
    PetscCall(mac_hourglass_apply(grid, &m->system, m->options.grid->hourglass, f->x.p));
    if (mac_domain_state(m->domain)->mu_i[0]) {
      PetscCall(monolith_rheology_create(&m->system, mac_domain_state(m->domain), &p->rheology));
      f->problem.update_alpha = monolith_rheology_alpha, f->problem.alpha_context = &p->rheology;
    }
  }
  monolith_contacts_guess(&m->contacts, m->layout.dt, f->x.lambda, f->x.z);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode solve_coupled_problem(monolith *m, monolith_step *p, step_status *status, step_report *report)
{
  granular_report result;
  PetscFunctionBegin;
  timer_begin(TIMER_FLOW);
  PetscCall(granular_solve(&p->flow.problem, m->options.flow, m->work, &p->flow.x, &result));
  timer_end(TIMER_FLOW);
  monolith_record_report(&p->flow, m->domain ? mac_domain_state(m->domain) : NULL, &result, report);
  if (stop_is_urgent()) *status = (step_status){STEP_INTERRUPTED, NULL, -1};
  else if (!result.is_finite) *status = (step_status){STEP_NOT_FINITE, NULL, -1};
  else if (!result.is_converged && !m->layout.accepts_unconverged &&
           !(result.change <= solver_stall_tolerance(NAN, m->options.flow->tolerance)))
    *status = (step_status){STEP_NOT_CONVERGED, NULL, -1};
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- update ------------------------------------------------------------------------------------------------------------ */

/* Apply the resulting forces to the bodies; set l->v and the poses at the end of the step. */
static PetscErrorCode apply_forces_to_bodies(monolith *m, monolith_step *p, step_status *status)
{
  PetscFunctionBegin;
  step_layout *l = &m->layout;
  double(*v)[6]  = (double(*)[6])l->v;
  monolith_flow_wrench(&p->flow, &m->contacts, p->wrench);
  if (m->bodies.n > 0) memcpy(v, p->flow.x.v, (size_t)m->bodies.n * sizeof *v);
  PetscCall(monolith_bodies_push(&m->bodies, l->dt, (const double(*)[6])p->wrench, v, status));
  if (status->code == STEP_OK) PetscCall(step_layout_update_poses(l));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Store the velocities of unknown faces; other faces are extrapolated from their neighbours. */
static PetscErrorCode store_velocities(monolith *m, const monolith_step *p)
{
  PetscFunctionBegin;
  if (!m->domain) PetscFunctionReturn(PETSC_SUCCESS);
  mac_state *state = mac_domain_state(m->domain);
  mac_system_store_velocity(&m->system, p->flow.x.u, state);
  for (int64_t i = 0; i < m->system.n_cells; ++i) state->pressure[m->system.cell_slot[i]] = p->flow.x.p[i];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Separate overlapping bodies by positions alone; then move the continuum out of all solids, to which it transfers its impulse. */
static PetscErrorCode separate_overlaps(monolith *m, monolith_step *p)
{
  PetscFunctionBegin;
  step_layout            *l    = &m->layout;
  const scene            *s    = l->scene;
  const monolith_options *o    = &m->options;
  const double            h    = m->domain ? o->grid->spacing : s->length_scale;
  const double            most = isfinite(o->overlap_correction_speed) ? o->overlap_correction_speed * l->dt : 0.1 * h;
  double                  worst;
  bool                    is_needed;
  PetscCall(monolith_contacts_separate(&m->contacts, l, &m->bodies, o->overlap_correction, 0.01 * h, most, p->move, &worst, &is_needed));
  for (int64_t r = 0; r < m->bodies.n && is_needed; ++r) rigid_body_displace(rigid_body_of(m->bodies.body[r]), p->move[r]);
  if (!m->domain) PetscFunctionReturn(PETSC_SUCCESS);
  const double t = l->t + l->dt, frames = t / o->frame;
  PetscCall(scene_frames(s, t, 0.0, NULL, l->frames));
  monolith_solids_place(&m->solids, s, l->frames);
  double(*impulse)[6];
  PetscCall(memory_alloc("impulses", m->solids.n, sizeof *impulse, &impulse));
  PetscErrorCode code =
      mac_domain_correct_positions(m->domain, m->solids.n, m->solids.solid, fabs(frames - nearbyint(frames)) < 1e-6, impulse);
  for (int k = 0; k < m->solids.n && !code; ++k)
    if (m->solids.solid[k].is_unknown) rigid_body_apply_impulse(rigid_body_of(s->bodies[m->solids.solid[k].body].body), impulse[k]);
  if (!code) code = monolith_record_hits(s, &m->solids, l->dt, (const double(*)[6])impulse, &m->contacts.record.forces);
  memory_free(&impulse);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The step is solved: make it permanent unless a body rejects it. */
static PetscErrorCode accept_step(monolith *m, monolith_step *p, step_status *status, step_report *report)
{
  PetscFunctionBegin;
  step_layout   *l = &m->layout;
  monolith_flow *f = &p->flow;
  PetscCall(apply_forces_to_bodies(m, p, status));
  if (status->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(store_velocities(m, p));
  if (m->domain) PetscCall(monolith_record_forces(f, mac_domain_state(m->domain), l->scene, &m->solids, &p->pushed));
  PetscCall(step_layout_end(l, status)); /* the grid is first and only it may reject the step */
  if (status->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(monolith_contacts_accept(&m->contacts, l, f->x.lambda, f->x.z, &report->contact));
  PetscCall(contact_forces_merge(&m->contacts.record.forces, &p->pushed));
  if (m->domain) PetscCall(mac_memory_store(m->memory, &mac_domain_state(m->domain)->grid, &m->system, f->x.p, f->x.s, f->x.multiplier));
  PetscCall(scene_set_time(l->scene, l->t + l->dt));
  PetscCall(separate_overlaps(m, p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  monolith     *m;
  monolith_step step;
} monolith_attempt;

static PetscErrorCode monolith_try(void *context, step_status *status, step_report *report)
{
  PetscFunctionBegin;
  monolith      *m = ((monolith_attempt *)context)->m;
  monolith_step *p = &((monolith_attempt *)context)->step;
  step_layout   *l = &m->layout;
  PetscCall(monolith_bodies_begin(&m->bodies, l, status));
  if (m->domain && status->code == STEP_OK) check_speed(m, status);
  if (status->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
  if (l->n_blocks > 0) memcpy(l->v, l->v0, (size_t)(3 * l->n_blocks) * sizeof *l->v);
  PetscCall(step_layout_update_poses(l)); /* poses of obstacles at the end of the step */
  PetscCall(monolith_contacts_find(&m->contacts, l, &m->bodies, status));
  if (status->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(assemble_grid(m));
  PetscCall(set_up_problem(m, p));
  PetscCall(solve_coupled_problem(m, p, status, report));
  if (status->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(accept_step(m, p, status, report));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void monolith_finish(void *context) { free_step(&((monolith_attempt *)context)->step); }

static PetscErrorCode monolith_advance(formulation *f, double t, double dt, step_status *status, step_report *report)
{
  PetscFunctionBegin;
  monolith_attempt   now = {.m = (monolith *)f};
  const step_attempt own = {monolith_try, monolith_finish, &now};
  PetscCall(step_run_attempt(f, &now.m->layout, t, dt, &own, status, report));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Trilinear interpolation between cell centres. */
static double monolith_pressure(const formulation *f, const double x[3])
{
  const monolith *m = (const monolith *)f;
  if (!m->domain || mac_domain_state(m->domain)->grid.n_blocks == 0) return NAN; /* before the first step */
  const mac_state *state = mac_domain_state(m->domain);
  const mac_grid  *g     = &state->grid;
  int32_t          base[3];
  double           part[3], sum = 0.0;
  for (int a = 0; a < 3; ++a) {
    double at = (x[a] - g->min[a]) / g->h - 0.5;
    if (!mac_grid_is_periodic(g, a)) at = fmax(0.0, fmin(at, g->n[a] - 1.0));
    base[a] = (int32_t)floor(at), part[a] = at - base[a];
  }
  for (int q = 0; q < 8; ++q) {
    const int     d[3] = {q >> 2, (q >> 1) & 1, q & 1};
    const int64_t slot = mac_grid_slot(g, base[0] + d[0], base[1] + d[1], base[2] + d[2]);
    double        w    = 1.0;
    for (int a = 0; a < 3; ++a) w *= d[a] ? part[a] : 1.0 - part[a];
    if (slot >= 0 && w > 0.0) sum += w * state->pressure[slot];
  }
  return sum;
}

/* ---- interface --------------------------------------------------------------------------------------------------------- */

static PetscErrorCode monolith_fields(formulation *f, field_table *table)
{
  monolith *m = (monolith *)f;
  PetscFunctionBegin;
  PetscCall(step_record_fields(&m->contacts.record, table));
  if (m->domain) PetscCall(mac_memory_fields(m->memory, table));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void monolith_destroy(formulation *f)
{
  monolith *m = (monolith *)f;
  step_layout_destroy(&m->layout);
  monolith_bodies_destroy(&m->bodies);
  monolith_contacts_destroy(&m->contacts);
  monolith_solids_destroy(&m->solids);
  mac_system_destroy(&m->system);
  mac_memory_destroy(&m->memory);
  granular_work_destroy(&m->work);
  linear_solver_destroy(&m->solvers.pressure);
  linear_solver_destroy(&m->solvers.contact);
  linear_solver_destroy(&m->solvers.stress);
  linear_solver_destroy(&m->solvers.friction);
}

/* Prefixes of options. */
static const char PRESSURE[] = "monolith_pressure_", CONTACT[] = "monolith_contact_", STRESS[] = "monolith_stress_",
                  FRICTION[] = "monolith_friction_";

static PetscErrorCode monolith_create(scene *s, formulation *f)
{
  monolith *m = (monolith *)f;
  PetscFunctionBegin;
  const scene_options *o = s->options;
  m->options             = (monolith_options){.grid                     = o->mac,
                                              .flow                     = o->solver->monolith,
                                              .overlap_correction       = o->contact->overlap_correction,
                                              .overlap_correction_speed = o->contact->overlap_correction_speed,
                                              .frame                    = o->time->frame > 0.0 ? o->time->frame : o->time->step};
  step_record_attach(&m->contacts.record, &m->base);
  PetscCall(step_layout_create(s, &m->layout));
  PetscCall(monolith_contacts_create(s, &m->contacts));
  PetscCall(monolith_solids_create(s, &m->solids));
  PetscCall(granular_work_create(&m->work));
  PetscCall(linear_solver_create(s->comm, PRESSURE, &m->solvers.pressure));
  PetscCall(linear_solver_create(s->comm, CONTACT, &m->solvers.contact));
  PetscCall(linear_solver_create(s->comm, STRESS, &m->solvers.stress));
  PetscCall(linear_solver_create(s->comm, FRICTION, &m->solvers.friction));
  granular_work_set_solvers(m->work, &m->solvers);
  for (int i = 0; i < s->n_systems; ++i)
    if (mac_domain_of(s->systems[i])) m->domain = mac_domain_of(s->systems[i]);
  if (m->domain) PetscCall(mac_memory_create(&m->memory));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode monolith_probe(const scene *s)
{
  PetscFunctionBegin;
  PetscCall(linear_solver_probe(FRICTION, KSPPREONLY, PCFRICTIONLU, false, false));
  const bounds_options *const all[]    = {s->options->solver->monolith->pressure, s->options->solver->monolith->pressure,
                                          s->options->solver->monolith->boxes};
  const char *const           prefix[] = {PRESSURE, CONTACT, STRESS};
  for (int k = 0; k < 3; ++k) {
    const int method = all[k]->method;
    if (method == BOUNDS_METHOD_ACTIVE_SET || method == BOUNDS_METHOD_CG)
      PetscCall(linear_solver_probe(prefix[k], KSPFACECG, PCFACE, false, true));
    if (method == BOUNDS_METHOD_TAO || method == BOUNDS_METHOD_SNESVI) PetscCall(bounds_petsc_probe(method == BOUNDS_METHOD_SNESVI));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const unused_key unused[]             = {{"contact.skip_resting", "all bodies are solved in each step", true},
                                                {"contact.stiffness", "contact is rigid, without springs", true},
                                                {"contact.pairs.stiffness", "contact is rigid, without springs", true},
                                                {"contact.pairs.friction_direction", "its friction cones are circular", false},
                                                {"contact.pairs.friction_transverse", "its friction cones are circular", false},
                                                {"solver.newton.tolerance", "its tolerance is solver.monolith.tolerance", true},
                                                {"solver.newton.stall_tolerance", "its tolerance is solver.monolith.tolerance", true},
                                                {"solver.newton.max_iterations", "its maximum is solver.monolith.max_outer_iterations", true},
                                                {"time.start", "its continua have no elastic state, so that they start at rest without it", false},
                                                {"bodies.*.copies.pour", "all its bodies exist from the start; use exact, convex or penalty", false},
                                                {"output.fclib", "friction of contacts is not a separate problem", true},
                                                {.path = NULL}};
const formulation_ops   monolith_formulation = {
      .scene.name            = "monolith",
      .scene.kinds           = "mac rigid kinematic static",
      .scene.kinds_reason    = "its bodies are rigid, and its continua have no elasticity",
      .scene.solver          = "newton monolith petsc",
      .scene.unused          = unused,
      .scene.is_rigid        = true,
      .scene.touches_on_grid = true,
      .outer                 = "coupling",
      .inner                 = "pressure",
      .report = REPORT_OUTER | REPORT_LINEAR | REPORT_TOLERANCE | REPORT_CONTACT | REPORT_CONTACT_LAW | REPORT_IMPULSES | REPORT_GRANULAR,
      .remedy = "a larger mac.cfl or solver.monolith.max_outer_iterations",
      .size   = sizeof(monolith),
      .create = monolith_create,
      .probe  = monolith_probe,
      .scene.check    = monolith_check,
      .step           = monolith_advance,
      .pressure       = monolith_pressure,
      .fields         = monolith_fields,
      .scene.describe = monolith_describe,
      .destroy        = monolith_destroy,
};
