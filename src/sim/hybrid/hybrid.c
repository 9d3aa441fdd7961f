/* The formulation `hybrid`: contact of volumetric elastic bodies whose surfaces never intersect.
 *
 * contact: coulomb (default)
 *    1  Coulomb step      bodies and contacts are solved together (sim/step/step_coulomb.h); surfaces keep the distance `thickness`
 *    2  collisions        continuous collision detection on the straight trajectories from x to x + dt v; without a collision the
 *                         step is accepted. Otherwise geometric impulses (contact/impulse) change the surface velocities until
 *                         no features collide
 *    3  second motion     only after impulses: from the same start, with all surfaces on these trajectories
 *
 * contact: impulses, as published [MarquezRazonEtAl2023, sec. 4]
 *    1  free motion       the step without contact
 *    2  contact           boundary velocities are transferred through a grid (contact/augury), which prevents approach but not
 *                         separation; then impulses, also between surfaces closer than `thickness`
 *    3  second motion     as above. As an extension of the paper only the nodes changed by contact are prescribed (expert:
 *                         {prescribed_nodes: contact}); then the impulses of 2 and 3 are repeated if free nodes collide
 *
 * Contact uses the geometry of the start of the step. The new state contains the end points of the trajectories themselves, so
 * that separate surfaces stay separate. A step without contact is free motion. */
#include "core/log.h"
#include "core/math3.h"
#include "core/memory.h"
#include "core/timer.h"
#include "discretize/fem/tetrahedra.h"
#include "discretize/mpm/mpm_grid.h"
#include "discretize/nodal/nodal_body.h"
#include "discretize/nodal/nodal_keys.h"
#include "optim/friction/sparse_direct.h"
#include "sim/hybrid/hybrid_contact.h"
#include "sim/hybrid/hybrid_keys.h"
#include "sim/hybrid/hybrid_momentum.h"
#include "sim/scene/scene.h"
#include "sim/scene/scene_intersections.h"
#include "sim/step/detector_list.h"
#include "sim/step/solver_options.h"
#include "sim/step/step_coulomb.h"
#include "sim/step/step_frame.h"
#include "sim/step/step_motion.h"
#include "sim/scene/scene_overlap_check.h"
#include <string.h>

/* ==== checks of a scene ==== */

static bool has_triangles(const body *b)
{
  body_surface f = {0};
  if (b->ops->surface) b->ops->surface(b, &f);
  return f.n_triangles > 0;
}

static bool has_any_triangles(const scene *s)
{
  for (int i = 0; i < s->n_bodies; ++i)
    if (has_triangles(s->bodies[i].body)) return true;
  return false;
}

/* A body with a pose needs a triangle surface, or half-spaces in contact with surfaces. */
static void check_surface(const scene *s, int i, diagnostics *d)
{
  const body *b = s->bodies[i].body;
  char        path[300];
  int         n;
  if (!b->ops->frame || b->ops->is_shapeless || has_triangles(b)) return;
  const bool is_plane = hybrid_half_spaces(b, &n) != NULL;
  for (int j = 0; j < s->n_bodies; ++j) {
    const bool is_continuum = s->bodies[j].kind->ops->carrier != NULL;
    if (j == i || scene_law(s, i, j)->never_touch || !(is_continuum || (has_triangles(s->bodies[j].body) && !is_plane))) continue;
    snprintf(path, sizeof path, "bodies.%.200s", s->bodies[i].name);
    diagnostics_add_under(d, scene_body_node(s, i), path, NULL,
                          "may touch \"%s\", but formulation hybrid detects contact of %s, and it has no triangles: set "
                          "contact_surface: mesh%s, or contact: false under contact.pairs",
                          s->bodies[j].name,
                          is_continuum ? "material points with triangles, on the grid" : "triangles with triangles and half-spaces",
                          is_plane ? "(of a box, or let mpm.walls bound the grid)" : "");
    return;
  }
}

/* All bodies share one grid. */
static void check_grid(const scene *s, diagnostics *d)
{
  const document_node *root = s->options->root, *solver = document_find(root, "solver");
  const document_node *grid = document_find(solver ? document_find(solver, "hybrid") : NULL, "grid");
  const hybrid_grid   *o    = s->options->solver->hybrid->grid;
  if (!s->world.mpm) return;
  const double spacing = s->world.mpm->domain->grid->h;
  if (isfinite(o->spacing) && o->spacing != spacing)
    diagnostics_add_under(d, grid, "solver.hybrid.grid", "spacing",
                          "%g m: contact of bodies of kind mpm with surfaces uses their own grid of cells of %g m; remove it", o->spacing,
                          spacing);
  if (o->transfer != HYBRID_TRANSFER_AUGURY && has_any_triangles(s))
    diagnostics_add_under(d, grid ? grid : root, "solver.hybrid.grid", "transfer",
                          "contact of bodies of kind mpm with surfaces requires augury; remove it");
  if (s->options->mpm->light_node_mass_fraction > 0.0 && has_any_triangles(s))
    diagnostics_add_under(d, document_find(root, "mpm"), "mpm", "expert.light_node_mass_fraction",
                          "contact cannot change the velocities of dependent nodes; remove it");
}

/* The smallest altitude of any tetrahedron of b at rest [m]. */
static double least_altitude(const nodal_body *b)
{
  const element_set *set   = tetrahedra_of(b);
  double             least = INFINITY;
  for (int64_t e = 0; set && e < set->n; ++e) {
    double edge[3][3], normal[3], area = 0.0;
    for (int k = 0; k < 3; ++k) v3_sub(edge[k], b->rest + 3 * (int64_t)set->node[4 * e + k + 1], b->rest + 3 * (int64_t)set->node[4 * e]);
    for (int k = 0; k < 3; ++k) v3_cross(normal, edge[k], edge[(k + 1) % 3]), area = fmax(area, v3_norm(normal));
    const double six = fabs(v3_dot(normal, edge[1])); /* 6 V: edge[2] x edge[0] . edge[1] */
    for (int k = 0; k < 2; ++k) v3_axpy(edge[k], -1.0, edge[2]);
    v3_cross(normal, edge[0], edge[1]);
    least = fmin(least, six / fmax(area, v3_norm(normal)));
  }
  return least;
}

/* The longest stable explicit step [s]: travel time of sound through the flattest element. */
static double longest_step(const nodal_body *b, const material *m)
{
  double mu, lambda;
  material_small_strain(m, &mu, &lambda);
  return least_altitude(b) / sqrt((lambda + 2.0 * mu) / m->density);
}

static void check_explicit(const scene *s, int i, diagnostics *d)
{
  const nodal_body *b = nodal_body_of(s->bodies[i].body);
  const material   *m = s->bodies[i].material;
  char              path[300];
  if (!b || s->options->solver->hybrid->integrator != HYBRID_SYMPLECTIC) return;
  snprintf(path, sizeof path, "bodies.%.200s", s->bodies[i].name);
  const document_node     *damping = document_find(scene_body_node(s, i), "damping");
  static const char *const keys[]  = {"stiffness", "ratio", NULL};
  for (int k = 0; damping && keys[k]; ++k)
    if (document_find(damping, keys[k]))
      diagnostics_add_under(d, scene_body_node(s, i), path, "damping",
                            "integrator: symplectic supports only forces that depend on positions, and mass damping; remove %s, or use "
                            "integrator: backward_euler",
                            keys[k]);
  if (!m || !tetrahedra_of(b)) return;
  const double longest = longest_step(b, m);
  if (s->options->time->step > longest)
    diagnostics_add_under(d, scene_body_node(s, i), path, NULL,
                          "sound crosses its flattest tetrahedron, %g m high, in %g s, and an explicit step of %g s may be "
                          "unstable: set time.step below that, preferably to half of it, or use solver.hybrid.integrator: "
                          "backward_euler",
                          least_altitude(b), longest, s->options->time->step);
}

/* Angular momentum added by forces other than gravity cannot be distinguished from the loss of backward Euler. */
static void check_fix(const scene *s, int i, diagnostics *d)
{
  const nodal_body *b = nodal_body_of(s->bodies[i].body);
  char              path[300];
  if (!b || s->options->solver->hybrid->momentum_correction != HYBRID_CORRECTION_RIGID) return;
  static const char *const keys[] = {"load", "pressure", NULL};
  snprintf(path, sizeof path, "bodies.%.200s", s->bodies[i].name);
  for (int k = 0; keys[k]; ++k)
    if (document_find(scene_body_node(s, i), keys[k]))
      diagnostics_add_under(d, scene_body_node(s, i), path, keys[k],
                            "adds an unknown angular momentum, which solver.hybrid.momentum_correction: rigid does not support: use "
                            "momentum_correction: linear");
  if (b->mass_damping > 0.0)
    diagnostics_add_under(
        d, scene_body_node(s, i), path, "damping",
        "of mass removes angular momentum that solver.hybrid.momentum_correction: rigid would restore: use momentum_correction: linear");
}

/* Whether all options of the grid are those of a job without solver.hybrid.grid. The resolved job contains the defaults. */
static bool is_default_grid(const hybrid_grid *g)
{
  return !isfinite(g->spacing) && g->transfer == HYBRID_TRANSFER_AUGURY && g->max_iterations == HYBRID_GRID_ITERATIONS &&
         g->damps_sliding && g->resampling && g->region == AUGURY_APPROACHING && g->cohesion == HYBRID_COHESION_NEAREST;
}

/* Report keys without effect, and bodies that the method of contact does not support. */
static void check_method(const scene *s, diagnostics *d)
{
  static const char     none[] = "has no effect with contact: coulomb; remove it, or set solver.hybrid.contact: impulses";
  const hybrid_options *o      = s->options->solver->hybrid;
  const document_node  *solver = document_find(s->options->root, "solver"), *hybrid = solver ? document_find(solver, "hybrid") : NULL;
  if (hybrid_contact_method(s, o) != HYBRID_CONTACT_COULOMB) return;
  if (s->world.mpm)
    diagnostics_add_under(d, hybrid, "solver.hybrid", "contact",
                          "coulomb: contact of bodies of kind mpm uses the grid; remove it, or set impulses");
  if (o->integrator == HYBRID_SYMPLECTIC)
    diagnostics_add_under(
        d, hybrid, "solver.hybrid", "contact",
        "coulomb: contact forces are implicit, which integrator: symplectic does not support; remove it, or set impulses");
  if (!is_default_grid(o->grid)) diagnostics_add_under(d, hybrid, "solver.hybrid", "grid", none);
  if (isfinite(o->impulses->stiffness)) diagnostics_add_under(d, hybrid, "solver.hybrid", "impulses.stiffness", none);
  if (o->prescribed_nodes != HYBRID_PRESCRIBED_SURFACE) diagnostics_add_under(d, hybrid, "solver.hybrid", "expert.prescribed_nodes", none);
}

/* Warn of bodies that the near pass of impulses will move apart. Coulomb steps keep a distance that is too small for a warning. */
static PetscErrorCode warn_of_near_bodies(const scene *s, hybrid_contact *c)
{
  impulse_near *list;
  int64_t       n;
  char          subject[300];
  PetscFunctionBegin;
  if (c->is_coulomb) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(hybrid_contact_find_near(c, s, &n, &list));
  for (int64_t i = 0; i < n; ++i) {
    snprintf(subject, sizeof subject, "%.140s, %.140s", s->bodies[list[i].body[0]].name, s->bodies[list[i].body[1]].name);
    warning_list_add(
        s->warnings, "within-thickness", subject,
        "start %.3g m apart at (%.4g, %.4g, %.4g), closer than solver.hybrid.impulses.thickness = %.3g m: contact will push them "
        "apart; move them, or set a smaller thickness",
        list[i].gap, list[i].place[0], list[i].place[1], list[i].place[2], c->thickness);
  }
  memory_free(&list);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Report triangles that cannot be sampled for the given cell size, and bodies that start within the thickness. */
static PetscErrorCode check_cells(const scene *s, diagnostics *d)
{
  hybrid_contact c = {0};
  PetscFunctionBegin;
  const document_node *root = s->options->root, *solver = document_find(root, "solver");
  const document_node *grid = document_find(solver ? document_find(solver, "hybrid") : NULL, "grid");
  PetscErrorCode       code = hybrid_contact_create(s, s->options->solver->hybrid, &c);
  if (!code) code = warn_of_near_bodies(s, &c);
  hybrid_contact_destroy(&c);
  if (!diagnostics_take(d, grid ? grid : root, "solver.hybrid.grid", "spacing", code)) PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode hybrid_check(const scene *s, diagnostics *d)
{
  PetscFunctionBegin;
  PetscCall(scene_overlap_check(s, d));
  const int before = diagnostics_count(d);
  for (int i = 0; i < s->n_bodies; ++i) {
    check_surface(s, i, d);
    check_explicit(s, i, d);
    check_fix(s, i, d);
  }
  check_grid(s, d);
  check_method(s, d);
  if (diagnostics_count(d) == before) PetscCall(check_cells(s, d));
  /* Impulses keep separate surfaces apart but cannot separate intersecting ones. */
  PetscCall(scene_intersections_check(s, d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Detectors of a pair for `check`: impulses act between triangle surfaces and on vertices beyond half-spaces, the grid on boundaries. */
static unsigned hybrid_detectors_of(const scene *s, int i, int j)
{
  const hybrid_options *o    = s->options->solver->hybrid;
  int                   n[2] = {0, 0};
  bool                  is_mesh[2], is_wall[2], is_continuum[2];
  for (int side = 0; side < 2; ++side) {
    const body         *b     = s->bodies[side ? j : i].body;
    body_surface        own   = {0};
    const convex_solid *solid = b->ops->solids ? b->ops->solids(b, &n[side]) : NULL;
    if (b->ops->surface) b->ops->surface(b, &own);
    is_mesh[side]      = own.n_triangles > 0;
    is_continuum[side] = b->ops->particles != NULL;
    is_wall[side]      = n[side] > 0 && solid[0].kind == CONVEX_HALF_SPACE;
  }
  const bool are_meshes = is_mesh[0] && is_mesh[1], is_at_wall = (is_mesh[0] && is_wall[1]) || (is_mesh[1] && is_wall[0]);
  return (are_meshes && o->impulses->is_on ? 1u : 0u) | (is_at_wall ? 2u : 0u) |
         (are_meshes && o->grid->transfer != HYBRID_TRANSFER_NONE ? 4u : 0u) |
         ((is_continuum[0] && is_mesh[1]) || (is_continuum[1] && is_mesh[0]) ? 8u : 0u);
}
static const char *const   hybrid_detector_texts[] = {"triangles and triangles", "vertices and half-spaces", "boundaries through the grid",
                                                      "material points on the grid"};
static const detector_list hybrid_detectors        = {4, hybrid_detector_texts, hybrid_detectors_of};

static PetscErrorCode hybrid_describe(const scene *s, FILE *out)
{
  static const char *const words[] = {[HYBRID_TRANSFER_AUGURY] = "augury through a grid",
                                      [HYBRID_TRANSFER_PIC]    = "velocities of a grid",
                                      [HYBRID_TRANSFER_NONE]   = "nothing through a grid"};
  const hybrid_options    *o       = s->options->solver->hybrid;
  if (hybrid_contact_method(s, o) == HYBRID_CONTACT_COULOMB) {
    fprintf(out,
            "formulation hybrid: Coulomb step, friction solved by %s, then impulses where surfaces would collide; contacts are detected "
            "between\n",
            friction_solvers[s->options->solver->friction->method].name);
    return step_contacts_describe(s, out);
  }
  fprintf(out, "formulation hybrid: free motion, then %s, then %s, then motion with boundaries prescribed\n", words[o->grid->transfer],
          o->impulses->is_on ? "geometric impulses" : "no impulses");
  fprintf(out, "contacts are detected between\n");
  return detector_list_print(&hybrid_detectors, s, out);
}

/* ==== formulation ==== */

static const int MOST_ROUNDS = 3; /* second solves with part of the surfaces prescribed, before all are */

typedef struct {
  step_frame            frame; /* its contacts: only contact: coulomb */
  const hybrid_options *options;
  const newton_options *newton;
  linear_solver        *motion_solver;
  linear_solver        *coulomb_motion_solver, *coulomb_contact_solver; /* contact: coulomb */
  step_coulomb_options  coulomb;
  step_record           collisions; /* contact: coulomb: impulses of the current step after the Coulomb step */
  hybrid_contact        contact;
  hybrid_momentum       momentum;
  double               *v_free; /* [n_blocks][3] before impulses: free motion or Coulomb step */
  int64_t               capacity;
  bool                 *tries_exact; /* [n_systems] see step_motion_options: not for cloth, whose tangent is indefinite where it is
                                * wrinkled */
} hybrid;

/* Temporary data of one step. */
typedef struct {
  hybrid       *h;
  step_coulomb  coulomb;
  step_unknowns unknowns;
  step_motion   motion;
  int64_t      *dof; /* prescribed in part 3 */
  double       *velocity;
} hybrid_attempt;

static void clear_motion(hybrid_attempt *p)
{
  step_unknowns_destroy(&p->unknowns);
  step_motion_destroy(&p->motion);
  MEMORY_FREE(&p->dof, &p->velocity);
  p->motion = (step_motion){0};
}

static void hybrid_finish(void *context)
{
  clear_motion(context);
  step_coulomb_destroy(&((hybrid_attempt *)context)->coulomb);
}

/* Solve the equations of the systems for l->v, starting from l->v with prescribed components set. */
static PetscErrorCode solve_motion(hybrid_attempt *p, step_status *status, step_report *report)
{
  PetscFunctionBegin;
  step_layout *l            = &p->h->frame.layout;
  const bool   was_unsolved = report->unconverged; /* in the free motion of this step */
  PetscCall(step_unknowns_create(l, &p->unknowns));
  const step_motion_options own = {
      .linear = MOTION_AUTO, .tries_exact = p->h->tries_exact, .newton = p->h->newton, .solver = p->h->motion_solver};
  PetscCall(step_motion_create(l, &p->unknowns, &own, NULL, &p->motion));
  if (p->unknowns.n > 0) PetscCall(step_motion_solve(&p->motion, l, &p->unknowns, status, report));
  report->unconverged |= was_unsolved;
  step_unknowns_expand(&p->unknowns, p->motion.v, l->v);
  PetscCall(step_layout_update_poses(l));
  report->inner_iterations += p->motion.n_inner;
  clear_motion(p);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Explicit step of the systems made of nodes: velocities from the forces at the start, mass damping at the end of the step,
 * without a solve. All their components become prescribed. */
static PetscErrorCode advance_nodes_explicitly(hybrid_attempt *p, step_status *status)
{
  step_layout *l = &p->h->frame.layout;
  int64_t      n = 0;
  double      *g;
  PetscFunctionBegin;
  PetscCall(MEMORY_ALLOC("explicit step", ARRAY(p->dof, 3 * l->n_blocks), ARRAY(p->velocity, 3 * l->n_blocks), ARRAY(g, 3 * l->n_blocks)));
  for (int i = 0; i < l->scene->n_systems && status->code == STEP_OK; ++i) {
    body             *b     = l->scene->systems[i];
    const int64_t     first = 3 * b->first_block;
    const nodal_body *nodal = nodal_body_of(b);
    if (!nodal) continue;
    const double damping = 1.0 + l->dt * nodal->mass_damping;
    memset(l->v + first, 0, (size_t)(3 * b->n_blocks) * sizeof *l->v); /* at v = 0 forces are those of the start, g = -M v0 - dt f */
    PetscCall(b->ops->residual(b, l->v + first, g + first, false, status));
    for (int64_t k = first; k < first + 3 * b->n_blocks; ++k, ++n) p->dof[n] = k, p->velocity[n] = -g[k] / (damping * l->scale[k]);
  }
  memory_free(&g);
  PetscCall(step_layout_prescribe(l, n, p->dof, p->velocity));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode store_velocities_before_impulses(hybrid *h)
{
  const step_layout *l = &h->frame.layout;
  PetscFunctionBegin;
  PetscCall(memory_reserve("free motion", 3 * l->n_blocks, sizeof *h->v_free, &h->capacity, &h->v_free));
  memcpy(h->v_free, l->v, (size_t)(3 * l->n_blocks) * sizeof *l->v);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode move_freely(hybrid_attempt *p, step_status *status, step_report *report)
{
  PetscFunctionBegin;
  hybrid      *h = p->h;
  step_layout *l = &h->frame.layout;
  if (h->options->integrator == HYBRID_SYMPLECTIC) PetscCall(advance_nodes_explicitly(p, status));
  if (status->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
  memcpy(l->v, l->v0, (size_t)(3 * l->n_blocks) * sizeof *l->v);
  PetscCall(solve_motion(p, status, report));
  if (status->code == STEP_OK) PetscCall(store_velocities_before_impulses(h));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Second solve with the velocities prescribed by contact. */
static PetscErrorCode solve_with_prescribed_boundary(hybrid_attempt *p, bool is_all, step_status *status, step_report *report)
{
  PetscFunctionBegin;
  hybrid      *h = p->h;
  step_layout *l = &h->frame.layout;
  int64_t      n;
  PetscCall(step_layout_release(l));
  PetscCall(hybrid_contact_prescribe(&h->contact, l, is_all, &n, &p->dof, &p->velocity));
  for (int64_t i = 0; i < n; ++i) l->v[p->dof[i]] = p->velocity[i];
  if (h->options->integrator == HYBRID_SYMPLECTIC) { /* forces at the start do not depend on the boundary motion */
    PetscCall(step_layout_update_poses(l));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(step_layout_prescribe(l, n, p->dof, p->velocity));
  PetscCall(solve_motion(p, status, report));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* If only the nodes changed by contact are prescribed, others follow the forces of their body and may collide; then contact is
 * repeated. When all nodes are prescribed this cannot happen. Forces of explicit steps do not depend on contact, so no other body
 * moves. */
static PetscErrorCode solve_with_contact(hybrid_attempt *p, step_status *status, step_report *report)
{
  const hybrid_options *o       = p->h->options;
  const bool            is_all  = o->prescribed_nodes == HYBRID_PRESCRIBED_SURFACE || o->integrator == HYBRID_SYMPLECTIC;
  bool                  is_more = true;
  PetscFunctionBegin;
  for (int k = is_all ? MOST_ROUNDS : 0; is_more && status->code == STEP_OK; ++k) {
    PetscCall(solve_with_prescribed_boundary(p, k == MOST_ROUNDS, status, report));
    if (status->code != STEP_OK || k == MOST_ROUNDS) break;
    PetscCall(hybrid_contact_repeat(&p->h->contact, o, &p->h->frame.layout, status, report, &is_more));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* After impulses: restore the momentum that the prescribed surfaces lost in an implicit step, and add the balance of forces to `record`. */
static PetscErrorCode restore_momentum(hybrid *h, step_record *record)
{
  step_layout *l   = &h->frame.layout;
  const int    fix = h->options->integrator != HYBRID_SYMPLECTIC ? h->options->momentum_correction : HYBRID_CORRECTION_NONE;
  PetscFunctionBegin;
  hybrid_momentum_restore(&h->momentum, fix, &h->contact, &record->forces, l);
  hybrid_momentum_evaluate(&h->momentum, l);
  PetscCall(hybrid_record_balance(&h->contact, l, h->v_free, (const double(*)[3])h->momentum.gained, record));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode try_impulses(void *context, step_status *status, step_report *report)
{
  PetscFunctionBegin;
  hybrid_attempt *p = context;
  hybrid         *h = p->h;
  step_layout    *l = &h->frame.layout;
  PetscCall(move_freely(p, status, report));
  if (status->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
  hybrid_momentum_begin(&h->momentum, l);
  PetscCall(hybrid_contact_solve(&h->contact, h->options, l, status, report));
  if (status->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
  if (h->contact.has_acted) PetscCall(solve_with_contact(p, status, report));
  if (status->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(step_layout_end(l, status));
  if (status->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(hybrid_contact_accept(&h->contact, l, &h->frame.record, report));
  if (h->contact.has_acted) PetscCall(restore_momentum(h, &h->frame.record));
  PetscCall(scene_set_time(l->scene, l->t + l->dt));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Impulses of collisions after the Coulomb step: restore the momentum, and add the forces to the record of the step. */
static PetscErrorCode record_collisions(hybrid *h, step_report *report)
{
  step_layout *l   = &h->frame.layout;
  step_record *own = &h->collisions, *all = &h->frame.record;
  PetscFunctionBegin;
  own->points.n = own->forces.n = 0;
  PetscCall(hybrid_record_impulses(&h->contact, l, own, &report->contact));
  PetscCall(restore_momentum(h, own));
  PetscCall(contact_forces_merge(&all->forces, &own->forces));
  PetscCall(contact_points_append(&all->points, &own->points));
  report->contact.contacts = all->points.n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode try_coulomb(void *context, step_status *status, step_report *report)
{
  PetscFunctionBegin;
  hybrid_attempt *p = context;
  hybrid         *h = p->h;
  step_layout    *l = &h->frame.layout;
  PetscCall(step_coulomb_solve(&p->coulomb, &h->frame, &h->coulomb, status, report));
  if (status->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(store_velocities_before_impulses(h));
  hybrid_momentum_begin(&h->momentum, l);
  PetscCall(hybrid_contact_solve(&h->contact, h->options, l, status, report));
  const double friction_work = report->contact.friction_work_done;
  if (status->code == STEP_OK && h->contact.has_acted) PetscCall(solve_with_prescribed_boundary(p, true, status, report));
  if (status->code == STEP_OK) PetscCall(step_coulomb_accept(&p->coulomb, status));
  if (status->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
  report->contact.friction_work_done += friction_work;
  if (h->contact.has_acted) PetscCall(record_collisions(h, report));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode hybrid_step(formulation *f, double t, double dt, step_status *status, step_report *report)
{
  PetscFunctionBegin;
  hybrid_attempt     now = {.h = (hybrid *)f};
  const step_attempt own = {now.h->contact.is_coulomb ? try_coulomb : try_impulses, hybrid_finish, &now};
  PetscCall(step_run_attempt(f, &now.h->frame.layout, t, dt, &own, status, report));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode hybrid_fields(formulation *f, field_table *table)
{
  hybrid *h = (hybrid *)f;
  PetscFunctionBegin;
  PetscCall(step_record_fields(&h->frame.record, table));
  if (!h->contact.is_coulomb) PetscCall(hybrid_contact_fields(&h->contact, table));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void hybrid_destroy(formulation *f)
{
  hybrid *h = (hybrid *)f;
  linear_solver_destroy(&h->motion_solver);
  linear_solver_destroy(&h->coulomb_motion_solver);
  linear_solver_destroy(&h->coulomb_contact_solver);
  step_frame_destroy(&h->frame);
  step_record_destroy(&h->collisions);
  hybrid_contact_destroy(&h->contact);
  hybrid_momentum_destroy(&h->momentum);
  MEMORY_FREE(&h->v_free, &h->tries_exact);
}

/* Prefixes of options: free and second motion; linear systems of the Coulomb step. */
static const char MOTION[] = "hybrid_motion_", COULOMB_MOTION[] = "hybrid_coulomb_motion_", COULOMB_CONTACT[] = "hybrid_coulomb_contact_";

static PetscErrorCode create_coulomb_step(scene *s, hybrid *h)
{
  const solver_options *o = s->options->solver;
  PetscFunctionBegin;
  PetscCall(linear_solver_create(s->comm, COULOMB_MOTION, &h->coulomb_motion_solver));
  PetscCall(linear_solver_create(s->comm, COULOMB_CONTACT, &h->coulomb_contact_solver));
  PetscCall(step_frame_create(s, s->options->contact->overlap_correction, false, &h->frame));
  h->frame.contacts.distance = h->contact.thickness;
  h->coulomb                 = (step_coulomb_options){.newton                   = o->newton,
                                                      .friction                 = o->friction,
                                                      .friction_stall_tolerance = solver_contact_stall_tolerance(NAN, friction_tolerance(o->friction)),
                                                      .motion_solver            = h->coulomb_motion_solver,
                                                      .contact_solver           = h->coulomb_contact_solver};
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode hybrid_create(scene *s, formulation *f)
{
  hybrid *h = (hybrid *)f;
  PetscFunctionBegin;
  h->options = s->options->solver->hybrid;
  h->newton  = s->options->solver->newton;
  PetscCall(linear_solver_create(s->comm, MOTION, &h->motion_solver));
  PetscCall(hybrid_contact_create(s, h->options, &h->contact));
  if (h->contact.is_coulomb) PetscCall(create_coulomb_step(s, h));
  else {
    step_record_attach(&h->frame.record, f);
    PetscCall(step_layout_create(s, &h->frame.layout));
  }
  PetscCall(memory_alloc("systems", s->n_systems, sizeof *h->tries_exact, &h->tries_exact));
  for (int i = 0; i < s->n_systems; ++i) {
    const nodal_body *nodal = nodal_body_of(s->systems[i]);
    h->tries_exact[i]       = !nodal || tetrahedra_of(nodal);
  }
  PetscCall(hybrid_momentum_create(s, &h->momentum));
  log_info("hybrid: surfaces keep a distance of %.3g m (solver.hybrid.impulses.thickness)", h->contact.thickness);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode hybrid_probe(const scene *s)
{
  PetscFunctionBegin;
  if (hybrid_contact_method(s, s->options->solver->hybrid) == HYBRID_CONTACT_COULOMB)
    PetscCall(step_coulomb_probe(COULOMB_MOTION, COULOMB_CONTACT, s->options->solver->friction));
  PetscCall(sparse_direct_probe(SPARSE_DIRECT_CHOLESKY));
  PetscCall(step_motion_probe(MOTION, MOTION_AUTO));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Impulses do not solve Coulomb's law, and a Coulomb step uses no grid. */
static int hybrid_not_reported(const scene *s)
{
  return hybrid_contact_method(s, s->options->solver->hybrid) == HYBRID_CONTACT_COULOMB
             ? 0
             : REPORT_CONTACT_LAW | REPORT_IMPULSES | REPORT_CONTACT_PROBLEM | REPORT_FRICTION_SOLVER;
}

static const unused_key unused[] = {
    {"contact.skip_resting", "all bodies are solved in each step", true},
    {"contact.stiffness", "the stiffness inside the contact thickness is solver.hybrid.impulses.expert.stiffness", true},
    {"contact.pairs.stiffness", "the stiffness inside the contact thickness is solver.hybrid.impulses.expert.stiffness", true},
    {"contact.pairs.friction_direction", "its friction cones are circular", false},
    {"contact.pairs.friction_transverse", "its friction cones are circular", false},
    {"contact.overlap_correction", "surfaces do not overlap", true},
    {"contact.overlap_correction_speed", "surfaces do not overlap", true},
    {"output.fclib", "only formulation exact writes its contact problems", true},
    {"bodies.*.copies.pour", "the surfaces of its impulses never change; use exact, convex or penalty", false},
    {.path = NULL}};
const formulation_ops hybrid_formulation = {
    .scene.name         = "hybrid",
    .scene.kinds        = "mpm fem cloth rigid kinematic static",
    .scene.kinds_reason = "impulses act on triangle surfaces of bodies with nodes or six velocities",
    .scene.solver       = "newton friction hybrid petsc",
    .scene.unused       = unused,
    .scene.is_rigid     = true,
    .outer              = "Newton",
    .inner              = "impulse",
    .report = REPORT_OUTER | REPORT_EVALUATIONS | REPORT_LINEAR | REPORT_INNER | REPORT_TOLERANCE | REPORT_CONTACT | REPORT_CONTACT_LAW |
              REPORT_IMPULSES | REPORT_CONTACT_PROBLEM | REPORT_FRICTION_SOLVER | REPORT_TRANSFER,
    .not_reported          = hybrid_not_reported,
    .remedy                = "smaller time.step, or a smaller solver.hybrid.impulses.thickness",
    .size                  = sizeof(hybrid),
    .create                = hybrid_create,
    .probe                 = hybrid_probe,
    .scene.check           = hybrid_check,
    .scene.checks_surfaces = true,
    .step                  = hybrid_step,
    .fields                = hybrid_fields,
    .scene.describe        = hybrid_describe,
    .destroy               = hybrid_destroy,
};
