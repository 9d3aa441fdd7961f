/* Sequence: transfer through the grid (augury or PIC), exchange with rigid bodies, geometric impulses; then the record of
 * contact forces. */
#include "sim/hybrid/hybrid_contact.h"
#include "core/math3.h"
#include "core/memory.h"
#include "core/quaternion.h"
#include "discretize/body/body_stages.h"
#include "sim/step/step_stages.h"
#include "discretize/mpm/mpm_grid.h"
#include "discretize/mpm/mpm_domain.h"
#include "discretize/rigid/rigid_body.h"
#include "sim/hybrid/hybrid_balance.h"
#include <string.h>

/* ==== continuum ==== */

static void hybrid_continuum_create(const scene *s, hybrid_continuum *c)
{
  if (s->world.mpm) c->system = &s->world.mpm->domain->base;
}

static void hybrid_continuum_destroy(hybrid_continuum *c) { MEMORY_FREE(&c->node, &c->mass, &c->outward, &c->velocity); }

static void hybrid_continuum_restore(hybrid_continuum *c, const step_layout *l)
{
  if (c->system) memcpy(c->velocity, l->v + 3 * c->system->first_block, (size_t)(3 * c->system->n_blocks) * sizeof *c->velocity);
}

static PetscErrorCode hybrid_continuum_begin(hybrid_continuum *c, const step_layout *l)
{
  PetscFunctionBegin;
  c->is_met = false;
  if (!c->system) PetscFunctionReturn(PETSC_SUCCESS);
  const int64_t n = c->system->n_blocks;
  PetscCall(MEMORY_RESERVE("nodes of the continuum", n, &c->capacity, ARRAY(c->node, 1), ARRAY(c->mass, 1), ARRAY(c->outward, 1),
                           ARRAY(c->velocity, 3)));
  PetscCall(mpm_domain_get_nodes(l->scene->world.mpm->domain, c->node, c->mass, c->outward));
  hybrid_continuum_restore(c, l);
  c->view = (augury_continuum){n, (const int32_t(*)[3])c->node, c->mass, (const double(*)[3])c->outward, c->velocity};
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ==== record of contact forces ==== */

/* Contact forces for measures and frames. Impulses are known pair by pair; changes by the grid are known vertex by vertex and
 * are attributed to the nearest body. Forces between bodies are then balanced so that their sums equal the total force on each
 * body, which is known to rounding (hybrid_balance.h). Contact points show the changes of the vertices of both bodies. */

/* Attribute changes of vertices without a near body to the bodies of their neighbours. */
static PetscErrorCode attribute_to_neighbours(hybrid_contact *c)
{
  const scene_surfaces *f = c->boundary.surfaces;
  int32_t              *push;
  bool                  is_more = true;
  PetscFunctionBegin;
  PetscCall(memory_alloc("changed vertices", f->n_vertices, sizeof *push, &push));
  for (int64_t k = 0; k < f->n_vertices; ++k) push[k] = -1;
  for (int64_t i = 0; i < c->n_grid_changes; ++i) push[c->grid_change[i].vertex] = (int32_t)i;
  while (is_more) {
    is_more = false;
    for (int64_t k = 0; k < 3 * f->n_triangles; ++k) {
      const int32_t from = push[f->triangle[k]], to = push[f->triangle[k % 3 == 2 ? k - 2 : k + 1]];
      if (from < 0 || to < 0 || (c->grid_change[from].other < 0) == (c->grid_change[to].other < 0)) continue;
      if (c->grid_change[to].other < 0) c->grid_change[to].other = c->grid_change[from].other;
      else c->grid_change[from].other = c->grid_change[to].other;
      is_more = true;
    }
  }
  memory_free(&push);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* To be called after the grid: changes c->boundary.v - c->v_old, before constrained velocities are restored. */
static PetscErrorCode collect_grid_changes(hybrid_contact *c)
{
  const hybrid_boundary *b = &c->boundary;
  const scene_surfaces  *f = b->surfaces;
  PetscFunctionBegin;
  c->n_grid_changes = 0;
  if (!c->element) {
    PetscCall(memory_alloc("boundary", f->n_vertices, sizeof *c->element, &c->element));
    for (int64_t k = 3 * f->n_triangles - 1; k >= 0; --k) c->element[f->triangle[k]] = (int32_t)(k / 3);
  }
  PetscCall(memory_reserve("changed vertices", f->n_vertices, sizeof *c->grid_change, &c->grid_change_capacity, &c->grid_change));
  for (int64_t k = 0; k < f->n_vertices; ++k) {
    hybrid_grid_change *p = &c->grid_change[c->n_grid_changes];
    v3_sub(p->change, b->v + 3 * k, c->v_old + 3 * k);
    p->vertex = (int32_t)k;
    c->n_grid_changes += p->change[0] != 0.0 || p->change[1] != 0.0 || p->change[2] != 0.0;
  }
#pragma omp parallel for schedule(dynamic, 64)
  for (int64_t i = 0; i < c->n_grid_changes; ++i)
    c->grid_change[i].other = augury_near_other(c->near, c->element[c->grid_change[i].vertex]);
  if (!c->continuum.system) PetscCall(attribute_to_neighbours(c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Index of a body of kind mpm; -1: there is none. */
static int32_t continuum_of(const scene *s)
{
  for (int i = 0; i < s->n_bodies; ++i)
    if (s->bodies[i].kind->ops->carrier) return i;
  return -1;
}

/* Current position of a vertex. */
static void place_of(const hybrid_contact *c, const step_layout *l, int64_t k, double x[3])
{
  const hybrid_boundary *b = &c->boundary;
  for (int i = 0; i < 3; ++i) x[i] = b->x0[3 * k + i] + l->dt * b->v[3 * k + i];
}

static void add_point(contact_points *p, const double x[3], const double normal[3], const double force[3], double gap,
                      const int32_t pair[2], bool is_sliding)
{
  v3_copy(p->position + 3 * p->n, x);
  v3_copy(p->force + 3 * p->n, force);
  v3_copy(p->normal + 3 * p->n, normal);
  p->gap[p->n]         = gap;
  p->source_body[p->n] = pair[0], p->object_body[p->n] = pair[1];
  p->is_sliding[p->n] = is_sliding;
  ++p->n;
}

/* Add a force between a pair: to the groups of the record, and its position to c->met_at. */
static PetscErrorCode add_pair_force(hybrid_contact *c, step_record *record, const double x[3], const double force[3], int32_t on,
                                     int32_t by)
{
  contact_group_force *group;
  const int64_t        n = record->forces.n;
  PetscFunctionBegin;
  if (by < 0 || on == by) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(contact_forces_find(&record->forces, on, by, &group));
  const int64_t at = group - record->forces.group;
  PetscCall(memory_reserve("places of contact", record->forces.n, sizeof *c->met_at, &c->met_capacity, &c->met_at));
  if (record->forces.n > n) memset(c->met_at[at], 0, sizeof *c->met_at);
  contact_group_add(group, x, force);
  v3_axpy(c->met_at[at], 1.0, x);
  c->met_at[at][3] += 1.0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static bool may_meet(const scene *s, int32_t a, int32_t b) { return a >= 0 && b >= 0 && !scene_law(s, a, b)->never_touch; }

/* Changes of vertices by the grid. Both sides of a pair contribute half; a continuum has no vertices of its own. */
static PetscErrorCode record_grid_changes(hybrid_contact *c, const step_layout *l, step_record *record)
{
  const hybrid_boundary *b = &c->boundary;
  PetscFunctionBegin;
  const double  nothing[3] = {0.0, 0.0, 0.0};
  const int32_t continuum  = c->continuum.is_met ? continuum_of(l->scene) : -1;
  for (int64_t i = 0; i < c->n_grid_changes; ++i) {
    const hybrid_grid_change *p       = &c->grid_change[i];
    const int64_t             k       = p->vertex;
    const int32_t             pair[2] = {b->surfaces->body[k], p->other >= 0 ? p->other : continuum};
    double                    x[3], force[3], normal[3];
    v3_scale(force, b->mass[k] / l->dt, p->change);
    v3_scale(normal, -1.0, b->normal + 3 * k);
    place_of(c, l, k, x);
    if (pair[1] >= 0) add_point(&record->points, x, normal, force, 0.0, pair, false);
    v3_scale(force, p->other >= 0 ? 0.5 : 1.0, force);
    PetscCall(add_pair_force(c, record, x, force, pair[0], pair[1]));
    if (may_meet(l->scene, pair[0], continuum))
      PetscCall(add_pair_force(c, record, x, nothing, pair[0], continuum)); /* it may be in
                                                                                                                * contact, too */
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode hybrid_record_impulses(hybrid_contact *c, const step_layout *l, step_record *record, contact_summary *sum)
{
  const int64_t n      = c->n_pairs;
  double        excess = 0.0, most = 0.0;
  PetscFunctionBegin;
  PetscCall(contact_points_reserve(&record->points, record->points.n + n));
  for (int64_t i = 0; i < n; ++i) {
    const impulse_contact *p = &c->pair[i];
    double                 force[3];
    v3_scale(force, 1.0 / l->dt, p->impulse);
    add_point(&record->points, p->place, p->normal, force, p->gap, p->body, p->is_sliding);
    PetscCall(add_pair_force(c, record, p->place, force, p->body[0], p->body[1]));
    sum->sliding += p->is_sliding;
    sum->contact_depth = fmax(sum->contact_depth, -p->gap);
    const double mu    = scene_law(l->scene, p->body[0], p->body[1])->friction;
    excess             = fmax(excess, v3_norm(p->friction) - mu * p->pressed);
    most               = fmax(most, p->pressed);
  }
  if (most > 0.0) sum->cone_violation = fmax(sum->cone_violation, fmax(0.0, excess) / most);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Record the permanent step: contact points, pairs in contact with the forces known pair by pair, and report->contact. */
static PetscErrorCode record_contact_forces(hybrid_contact *c, const step_layout *l, step_record *record, step_report *report)
{
  PetscFunctionBegin;
  record->forces.n = record->points.n = 0;
  if (!c->has_acted) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(contact_points_reserve(&record->points, c->n_grid_changes));
  PetscCall(record_grid_changes(c, l, record));
  PetscCall(hybrid_record_impulses(c, l, record, &report->contact));
  report->contact.contacts = record->points.n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- total forces on bodies ----------------------------------------------------------------------------------------------- */

/* Total contact force on each body without constraints, including rigid zones [N]. */
static void sum_forces_on_bodies(const hybrid_contact *c, const step_layout *l, const double *v_free, const double (*gained)[3],
                                 bool *is_known, double (*total)[3])
{
  const hybrid_boundary  *b         = &c->boundary;
  const scene_surfaces   *f         = b->surfaces;
  const hybrid_continuum *o         = &c->continuum;
  const int32_t           continuum = continuum_of(l->scene);
  for (int32_t i = 0; i < f->n_bodies; ++i) {
    is_known[i] = !f->is_rigid[i] && f->first_vertex[i] < f->first_vertex[i + 1];
    v3_scale(total[i], 1.0 / l->dt, gained[i]);
  }
  for (int64_t k = 0; k < f->n_vertices; ++k) is_known[f->body[k]] = is_known[f->body[k]] && !b->held[k];
  for (int r = 0; r < b->n_rigids; ++r) {
    const int32_t i = b->rigids[r].body;
    is_known[i]     = true;
    for (int j = 0; j < 3; ++j)
      total[i][j] =
          b->rigids[r].mass / l->dt * (rigid_body_of(b->rigids[r].system)->v[j] - v_free[3 * b->rigids[r].system->first_block + j]);
  }
  if (continuum < 0) return;
  is_known[continuum] = true;
  for (int64_t i = 0; i < o->view.n && o->is_met; ++i)
    for (int k = 0; k < 3; ++k)
      total[continuum][k] += o->mass[i] / l->dt * (o->velocity[3 * i + k] - v_free[3 * (o->system->first_block + i) + k]);
}

static PetscErrorCode balance(const hybrid_contact *c, contact_forces *forces, int32_t n_bodies, const bool *is_known,
                              const double (*total)[3])
{
  balance_pair *pair;
  PetscFunctionBegin;
  PetscCall(memory_alloc("pairs that met", forces->n, sizeof *pair, &pair));
  for (int64_t i = 0; i < forces->n; ++i) {
    pair[i].body[0] = forces->group[i].source_body, pair[i].body[1] = forces->group[i].object_body;
    v3_copy(pair[i].force, forces->group[i].force);
  }
  PetscErrorCode code = hybrid_balance(n_bodies, total, is_known, forces->n, pair);
  for (int64_t i = 0; i < forces->n && !code; ++i) {
    double x[3], more[3];
    v3_scale(x, 1.0 / c->met_at[i][3], c->met_at[i]);
    v3_sub(more, pair[i].force, forces->group[i].force);
    contact_group_add(&forces->group[i], x, more);
  }
  memory_free(&pair);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode hybrid_record_balance(hybrid_contact *c, const step_layout *l, const double *v_free, const double (*gained)[3],
                                     step_record *record)
{
  const int32_t n_bodies = l->scene->n_bodies;
  bool         *is_known;
  double(*total)[3];
  PetscFunctionBegin;
  PetscCall(MEMORY_ALLOC("forces on bodies", ARRAY(is_known, n_bodies), ARRAY(total, n_bodies)));
  sum_forces_on_bodies(c, l, v_free, gained, is_known, total);
  const PetscErrorCode code = balance(c, &record->forces, n_bodies, is_known, (const double(*)[3])total);
  MEMORY_FREE(&is_known, &total);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ==== contact ==== */

/* The augury iteration ends when the change to be undone is below this share of the largest velocity of the boundary. */
static const double AUGURY_TOLERANCE = 1.0e-3;
static const double AHEAD            = 2.0;  /* steps that grid.region: colliding looks ahead */
static const double THICKNESS        = 0.05; /* of the mean edge, if not given: as published */
/* The same for contact: coulomb, of the mean edge or the smallest body. Linearised contacts of a 10 mm edge that turns by 0.06 rad in
 * a step deviate by this distance. */
static const double THICKNESS_OF_COULOMB = 1.0e-3;

/* ---- creation ----------------------------------------------------------------------------------------------------------- */

static PetscErrorCode create_grid(const scene *s, const hybrid_grid *o, hybrid_contact *c)
{
  const scene_surfaces *f = c->boundary.surfaces;
  double               *x;
  PetscFunctionBegin;
  c->dx = isfinite(o->spacing) ? o->spacing : s->world.mpm ? s->world.mpm->domain->grid->h : c->boundary.edge;
  if (c->is_coulomb || o->transfer == HYBRID_TRANSFER_NONE || f->n_triangles == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(memory_alloc("boundary", 3 * f->n_vertices, sizeof *x, &x));
  PetscErrorCode code = scene_surfaces_place(f, s, 0.0, x);
  if (!code && o->transfer == HYBRID_TRANSFER_AUGURY) code = augury_create(&c->boundary.elements, x, c->dx, &c->grid);
  if (!code && o->transfer == HYBRID_TRANSFER_PIC)
    code = pic_contact_create(&c->boundary.elements, f->body, f->n_bodies, f->pairs, f->can_touch, x, c->dx, &c->pic);
  if (!code) code = augury_near_create(&c->boundary.elements, f->body, c->dx, &c->near);
  memory_free(&x);
  PetscCall(code);
  augury_near_set_open(c->near, c->boundary.is_open);
  augury_near_set_can_touch(c->near, f->n_bodies, f->pairs, f->can_touch);
  hybrid_continuum_create(s, &c->continuum);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode list_walls(const scene *s, hybrid_contact *c)
{
  int most = 0, n;
  PetscFunctionBegin;
  for (int i = 0; i < s->n_bodies; ++i) most += hybrid_half_spaces(s->bodies[i].body, &n) ? n : 0;
  PetscCall(MEMORY_ALLOC("walls", ARRAY(c->wall, most), ARRAY(c->wall_solid, most)));
  for (int i = 0; i < s->n_bodies; ++i) {
    const convex_solid *solid = hybrid_half_spaces(s->bodies[i].body, &n);
    for (int k = 0; solid && k < n; ++k) {
      c->wall[c->n_walls].body    = i;
      c->wall_solid[c->n_walls++] = solid + k;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Vertices of a rigid body at the end of the step for velocities v, w; uses body_ops.frame like the permanent step. */
static void place_rigid(void *context, int32_t r, const double v[3], const double w[3], double *x1)
{
  const hybrid_contact *c = context;
  const scene_surfaces *f = c->boundary.surfaces;
  if (r >= c->boundary.n_rigids) { /* an obstacle: independent of v, w */
    const int i = c->obstacle[r - c->boundary.n_rigids];
    memcpy(x1 + 3 * f->first_vertex[i], c->boundary.x1_held + 3 * f->first_vertex[i],
           (size_t)(3 * (f->first_vertex[i + 1] - f->first_vertex[i])) * sizeof *x1);
    return;
  }
  const hybrid_rigid *own  = &c->boundary.rigids[r];
  const double        u[6] = {v[0], v[1], v[2], w[0], w[1], w[2]};
  body_surface        outline;
  rigid_frame         pose;
  own->system->ops->frame(own->system, c->l->t, c->l->dt, u, &pose);
  own->system->ops->surface(own->system, &outline);
  for (int64_t k = f->first_vertex[own->body]; k < f->first_vertex[own->body + 1]; ++k) {
    rigid_frame_to_world(&pose, outline.x + 3 * (int64_t)f->node[k], x1 + 3 * k);
  }
}

/* Bodies with a pose carry their vertices, so that impulses treat them as one rigid motion. */
static PetscErrorCode list_carriers(const scene *s, hybrid_contact *c)
{
  const scene_surfaces *f = c->boundary.surfaces;
  PetscFunctionBegin;
  PetscCall(MEMORY_ALLOC("carriers", ARRAY(c->carrier, f->n_vertices), ARRAY(c->obstacle, s->n_bodies)));
  memcpy(c->carrier, c->boundary.rigid, (size_t)f->n_vertices * sizeof *c->carrier);
  c->n_carriers = c->boundary.n_rigids;
  for (int i = 0; i < s->n_bodies; ++i) {
    const int64_t first = f->first_vertex[i], end = f->first_vertex[i + 1];
    if (first == end || !f->is_rigid[i] || c->carrier[first] >= 0) continue;
    for (int64_t k = first; k < end; ++k) c->carrier[k] = c->n_carriers;
    c->obstacle[c->n_carriers++ - c->boundary.n_rigids] = i;
  }
  PetscCall(memory_alloc("carriers", c->n_carriers, sizeof *c->rigid, &c->rigid));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode create_impulses(const scene *s, hybrid_contact *c)
{
  const int64_t n = s->pairs->n_slots;
  PetscFunctionBegin;
  PetscCall(list_walls(s, c));
  PetscCall(memory_alloc("laws of impulses", n, sizeof *c->law, &c->law));
  PetscCall(list_carriers(s, c));
  for (int64_t i = 0; i < n; ++i) c->law[i] = (impulse_law){s->laws[i].friction, s->laws[i].restitution};
  const impulse_scene all = {scene_surfaces_broad(c->boundary.surfaces),
                             c->boundary.inverse_mass,
                             c->boundary.held,
                             c->n_carriers,
                             c->n_walls,
                             c->carrier,
                             c->law,
                             place_rigid,
                             c};
  PetscCall(impulses_create(&all, &c->impulses));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int hybrid_contact_method(const scene *s, const hybrid_options *o)
{
  if (o->contact != HYBRID_CONTACT_AUTO) return o->contact;
  return s->world.mpm || o->integrator == HYBRID_SYMPLECTIC ? HYBRID_CONTACT_IMPULSES : HYBRID_CONTACT_COULOMB;
}

/* A long edge of an obstacle must not determine the distance between small bodies. */
static double default_thickness(const scene *s, const hybrid_contact *c)
{
  const double edge = c->boundary.edge;
  return c->is_coulomb ? THICKNESS_OF_COULOMB * fmin(edge, s->length_scale) : THICKNESS * edge;
}

PetscErrorCode hybrid_contact_create(const scene *s, const hybrid_options *options, hybrid_contact *c)
{
  const hybrid_impulses *o = options->impulses;
  PetscFunctionBegin;
  PetscCall(hybrid_boundary_create(s, options->grid->resampling, &c->boundary));
  const scene_surfaces *f = c->boundary.surfaces;
  c->is_coulomb           = hybrid_contact_method(s, options) == HYBRID_CONTACT_COULOMB;
  c->thickness            = isfinite(o->thickness) ? o->thickness : default_thickness(s, c);
  PetscCall(create_grid(s, options->grid, c));
  if (o->is_on && f->n_triangles > 0) PetscCall(create_impulses(s, c));
  PetscCall(MEMORY_ALLOC("boundary", ARRAY(c->is_active, f->n_triangles), ARRAY(c->side, f->n_vertices),
                         ARRAY(c->towards, 3 * f->n_vertices), ARRAY(c->v_old, 3 * f->n_vertices), ARRAY(c->A_old, 9 * f->n_vertices),
                         ARRAY(c->vu, 6 * c->boundary.n_rigids), ARRAY(c->is_touched, f->n_vertices)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void hybrid_contact_destroy(hybrid_contact *c)
{
  augury_destroy(&c->grid);
  pic_contact_destroy(&c->pic);
  augury_near_destroy(&c->near);
  impulses_destroy(&c->impulses);
  MEMORY_FREE(&c->wall, &c->wall_solid, &c->law, &c->rigid, &c->carrier, &c->obstacle, &c->grid_change, &c->element, &c->met_at, &c->side,
              &c->towards, &c->is_active, &c->v_old, &c->A_old, &c->pair, &c->vu, &c->is_touched);
  hybrid_continuum_destroy(&c->continuum);
  hybrid_boundary_destroy(&c->boundary);
}

/* Place wall k for a pose of its body. */
static void set_wall_at(hybrid_contact *c, int k, const rigid_frame *pose)
{
  const double *n = c->wall_solid[k]->normal;
  double        foot[3];
  v3_scale(foot, c->wall_solid[k]->offset, n);
  m3_mulv(c->wall[k].normal, pose->R, n);
  rigid_frame_to_world(pose, foot, c->wall[k].point);
}

/* Keep the closest pair of each two bodies. */
static int64_t select_closest(int64_t n, impulse_near *list)
{
  int64_t m = 0;
  for (int64_t i = 0; i < n; ++i) {
    impulse_near one = list[i];
    if (one.body[0] > one.body[1]) one.body[0] = list[i].body[1], one.body[1] = list[i].body[0];
    int64_t k = 0;
    while (k < m && (list[k].body[0] != one.body[0] || list[k].body[1] != one.body[1])) ++k;
    if (k == m) list[m++] = one;
    else if (one.gap < list[k].gap) list[k] = one;
  }
  return m;
}

PetscErrorCode hybrid_contact_find_near(hybrid_contact *c, const scene *s, int64_t *n, impulse_near **list)
{
  const scene_surfaces *f = c->boundary.surfaces;
  rigid_frame          *frames;
  double               *x, *v;
  PetscFunctionBegin;
  *n = 0, *list = NULL;
  if (!c->impulses) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MEMORY_ALLOC("near pairs", ARRAY(x, 3 * f->n_vertices), ARRAY(v, 3 * f->n_vertices), ARRAY(frames, s->n_frames)));
  PetscErrorCode code = scene_surfaces_place(f, s, 0.0, x);
  if (!code) code = scene_frames(s, 0.0, 0.0, NULL, frames);
  for (int k = 0; k < c->n_walls && !code; ++k) set_wall_at(c, k, &frames[s->bodies[c->wall[k].body].frame]);
  const impulse_step start = {1.0, x, v, c->rigid, c->wall, NULL};
  if (!code) code = impulses_find_near(c->impulses, c->thickness, &start, n, list);
  MEMORY_FREE(&x, &v, &frames);
  PetscCall(code);
  *n = select_closest(*n, *list);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode hybrid_contact_fields(hybrid_contact *c, field_table *table)
{
  field_group *g;
  PetscFunctionBegin;
  PetscCall(field_table_add_group(table, "contact/boundary", FIELD_GROUP_PLAIN, &c->boundary.surfaces->n_vertices, NULL, &g));
  PetscCall(field_table_add(table, g, "affine", "1/s", FIELD_F64, 9, &c->boundary.affine, FIELD_CHECKPOINT | FIELD_RATE,
                            "velocity gradient that boundary nodes transfer to the grid"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- a step ------------------------------------------------------------------------------------------------------------- */

static void store_velocities(hybrid_contact *c)
{
  const int64_t n = c->boundary.surfaces->n_vertices;
  memcpy(c->v_old, c->boundary.v, (size_t)(3 * n) * sizeof *c->v_old);
}

/* Contact uses the geometry of the start: active boundaries must not cross a cell in the step. */
static void check_speed(const hybrid_contact *c, const step_layout *l, step_status *status)
{
  const scene_surfaces *f = c->boundary.surfaces;
  for (int64_t t = 0; t < f->n_triangles; ++t)
    for (int k = 0; k < 3 && c->is_active[t]; ++k) {
      const int32_t at = f->triangle[3 * t + k];
      if (l->dt * v3_norm(c->boundary.v + 3 * (int64_t)at) < c->dx) continue;
      *status = (step_status){STEP_CFL_VIOLATED, l->scene->bodies[f->body[at]].name, f->node[at]};
      return;
    }
}

/* Transfer the changes of vertices to rigid bodies; restore constrained vertices. */
static PetscErrorCode exchange_with_rigid_bodies(hybrid_contact *c, const step_layout *l)
{
  PetscFunctionBegin;
  PetscCall(collect_grid_changes(c));
  hybrid_boundary_apply_changes(&c->boundary, l, c->v_old, c->vu);
  c->has_acted = true;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode mix_by_pic(hybrid_contact *c, const step_layout *l, step_report *report)
{
  PetscFunctionBegin;
  store_velocities(c);
  PetscCall(pic_contact_solve(c->pic, c->boundary.x0, c->is_active, c->boundary.v));
  PetscCall(exchange_with_rigid_bodies(c, l));
  report->transfer_points = pic_contact_n_points(c->pic);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Transfer through the grid with rigid bodies at their effective mass along the direction to their neighbours. Bodies that
 * gained more energy than the changes of their vertices contain (possible in sliding) get their effective mass for any
 * direction, and the transfer is repeated. */
static PetscErrorCode mix_by_augury(hybrid_contact *c, const hybrid_options *o, const step_layout *l, step_status *status,
                                    augury_result *done)
{
  hybrid_boundary     *b   = &c->boundary;
  const int64_t        n   = b->surfaces->n_vertices;
  const augury_options own = {.accepts_sliding_change = o->grid->damps_sliding,
                              .max_iterations         = o->grid->max_iterations,
                              .tolerance              = AUGURY_TOLERANCE,
                              .side                   = c->side,
                              .towards                = o->grid->cohesion == HYBRID_COHESION_NEAREST ? c->towards : NULL};
  PetscFunctionBegin;
  augury_near_sides(c->near, b->x0, b->v, b->normal, c->side);
  if (own.towards) augury_near_towards(c->near, b->x0, b->normal, c->is_active, c->towards);
  store_velocities(c);
  hybrid_boundary_set_rigid_masses(b, l, c->is_active, own.towards ? own.towards : b->normal);
  for (bool is_last = b->n_rigids == 0;; is_last = true) {
    PetscCall(augury_begin(c->grid, b->x0, c->is_active, status));
    if (status->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
    memcpy(c->A_old, b->A, (size_t)(9 * n) * sizeof *c->A_old);
    PetscCall(augury_solve(c->grid, &own, b->normal, b->v, b->A, done));
    if (is_last || !hybrid_boundary_overreacts(b, l, c->v_old)) break;
    memcpy(b->v, c->v_old, (size_t)(3 * n) * sizeof *b->v);
    memcpy(b->A, c->A_old, (size_t)(9 * n) * sizeof *b->A);
    hybrid_continuum_restore(&c->continuum, l);
    hybrid_boundary_set_rigid_masses(b, l, c->is_active, NULL);
  }
  PetscCall(exchange_with_rigid_bodies(c, l));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode go_through_grid(hybrid_contact *c, const hybrid_options *o, const step_layout *l, step_status *status,
                                      step_report *report)
{
  hybrid_boundary *b    = &c->boundary;
  augury_result    done = {0};
  int64_t          n_active;
  PetscFunctionBegin;
  PetscCall(hybrid_continuum_begin(&c->continuum, l));
  augury_near_set_choice(c->near, (augury_choice)o->grid->region, c->thickness, AHEAD * l->dt);
  augury_near_set_continuum(c->near, c->continuum.system ? &c->continuum.view : NULL);
  if (c->grid) augury_set_continuum(c->grid, c->continuum.system ? &c->continuum.view : NULL);
  PetscCall(augury_near_find(c->near, b->x0, b->v, c->is_active, &n_active));
  if (n_active == 0) PetscFunctionReturn(PETSC_SUCCESS);
  check_speed(c, l, status);
  if (status->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
  if (c->pic) {
    PetscCall(mix_by_pic(c, l, report));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(mix_by_augury(c, o, l, status, &done));
  if (status->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
  c->continuum.is_met         = augury_n_met(c->grid) > 0;
  report->transfer_iterations = done.iterations;
  report->transfer_points     = augury_n_points(c->grid);
  report->transfer_residual   = done.left;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Set rigid bodies and walls at the start of the step, with their velocities. */
static void set_movers(hybrid_contact *c, const step_layout *l)
{
  const hybrid_boundary *b = &c->boundary;
  for (int r = 0; r < b->n_rigids; ++r) {
    const hybrid_rigid *own = &b->rigids[r];
    impulse_rigid      *to  = &c->rigid[r];
    *to = (impulse_rigid){.inverse_mass = 1.0 / own->mass, .is_cayley = rigid_body_of(own->system)->rotation == RIGID_MIDPOINT};
    v3_copy(to->center, l->frames0[l->scene->bodies[own->body].frame].c);
    (void)m3_inverse(to->inverse_inertia, own->inertia);
    v3_copy(to->v, c->vu + 6 * r);
    v3_copy(to->w, c->vu + 6 * r + 3);
  }
  for (int r = b->n_rigids; r < c->n_carriers; ++r) {
    const int          i  = l->scene->bodies[c->obstacle[r - b->n_rigids]].frame;
    const rigid_frame *f0 = &l->frames0[i], *f1 = &l->frames[i];
    double             Q[9];
    c->rigid[r] = (impulse_rigid){0};
    v3_copy(c->rigid[r].center, f0->c);
    v3_sub(c->rigid[r].v, f1->c, f0->c);
    v3_scale(c->rigid[r].v, 1.0 / l->dt, c->rigid[r].v);
    m3_mul_nt(Q, f1->R, f0->R);
    rotation_log(c->rigid[r].w, Q);
    v3_scale(c->rigid[r].w, 1.0 / l->dt, c->rigid[r].w);
  }
  for (int k = 0; k < c->n_walls; ++k) {
    impulse_wall      *to   = &c->wall[k];
    const int          i    = l->scene->bodies[to->body].frame;
    const rigid_frame *pose = &l->frames0[i];
    set_wall_at(c, k, pose);
    v3_sub(to->v, l->frames[i].c, pose->c);
    v3_scale(to->v, 1.0 / l->dt, to->v);
  }
}

static bool differ(const double *a, const double *b) { return a[0] != b[0] || a[1] != b[1] || a[2] != b[2]; }

static PetscErrorCode append_impulse_contacts(hybrid_contact *c)
{
  int64_t                n;
  const impulse_contact *pair = impulses_contacts(c->impulses, &n);
  PetscFunctionBegin;
  PetscCall(memory_reserve("pairs that met", c->n_pairs + n, sizeof *c->pair, &c->pair_capacity, &c->pair));
  if (n > 0) memcpy(c->pair + c->n_pairs, pair, (size_t)n * sizeof *pair);
  c->n_pairs += n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode apply_impulses(hybrid_contact *c, const hybrid_options *o, const step_layout *l, step_status *status,
                                     step_report *report)
{
  hybrid_boundary      *b   = &c->boundary;
  const impulse_options own = {.thickness      = c->thickness,
                               .stiffness      = isfinite(o->impulses->stiffness) ? o->impulses->stiffness : INFINITY,
                               .max_iterations = o->impulses->max_iterations,
                               .skips_near     = c->is_coulomb};
  const impulse_step    now = {l->dt, b->x0, b->v, c->rigid, c->wall, b->x1_held};
  PetscFunctionBegin;
  set_movers(c, l);
  PetscCall(impulses_solve(c->impulses, &own, &now, status, &c->report));
  for (int r = 0; r < b->n_rigids; ++r) {
    c->has_acted = c->has_acted || differ(c->rigid[r].v, c->vu + 6 * r) || differ(c->rigid[r].w, c->vu + 6 * r + 3);
    v3_copy(c->vu + 6 * r, c->rigid[r].v);
    v3_copy(c->vu + 6 * r + 3, c->rigid[r].w);
  }
  PetscCall(append_impulse_contacts(c));
  report->linear_iterations += c->report.n_iterations;
  report->rigid_zone_rounds += c->report.n_zone_rounds;
  report->contact.friction_work_done -= c->report.friction_work; /* dissipated energy */
  report->collisions += c->report.n_collisions;
  report->rigid_zone_nodes += c->report.n_zone_nodes;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Mark the nodes whose velocities differ from `before` and add the differences to gain; true if there are any. */
static bool mark_changed_nodes(hybrid_contact *c, const double *before)
{
  const hybrid_boundary *b       = &c->boundary;
  bool                   has_any = false;
  for (int64_t k = 0; k < b->surfaces->n_vertices; ++k) {
    if (b->rigid[k] >= 0 || !differ(b->v + 3 * k, before + 3 * k)) continue;
    c->is_touched[k] = has_any = true;
    for (int i = 0; i < 3; ++i) b->gain[3 * k + i] += b->v[3 * k + i] - before[3 * k + i];
  }
  return has_any;
}

PetscErrorCode hybrid_contact_solve(hybrid_contact *c, const hybrid_options *o, const step_layout *l, step_status *status,
                                    step_report *report)
{
  hybrid_boundary *b = &c->boundary;
  PetscFunctionBegin;
  c->has_acted                       = false;
  c->n_grid_changes                  = 0;
  c->n_pairs                         = 0;
  c->l                               = l;
  report->contact.friction_work_done = 0.0;
  report->collisions = report->rigid_zone_nodes = 0;
  if (b->surfaces->n_triangles == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(hybrid_boundary_begin(b, l));
  hybrid_boundary_gather(b, l);
  for (int r = 0; r < b->n_rigids; ++r) {
    const rigid_frame *pose = &l->frames[l->scene->bodies[b->rigids[r].body].frame];
    v3_copy(c->vu + 6 * r, pose->v);
    v3_copy(c->vu + 6 * r + 3, pose->w);
  }
  timer_begin(TIMER_GRID);
  if (c->near) PetscCall(go_through_grid(c, o, l, status, report));
  timer_end(TIMER_GRID);
  timer_begin(TIMER_FRICTION);
  if (c->impulses && status->code == STEP_OK) PetscCall(apply_impulses(c, o, l, status, report));
  timer_end(TIMER_FRICTION);
  memset(c->is_touched, 0, (size_t)b->surfaces->n_vertices * sizeof *c->is_touched);
  c->has_acted = mark_changed_nodes(c, b->v_free) || c->has_acted;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode hybrid_contact_repeat(hybrid_contact *c, const hybrid_options *o, const step_layout *l, step_status *status,
                                     step_report *report, bool *has_changed)
{
  hybrid_boundary      *b = &c->boundary;
  const scene_surfaces *f = b->surfaces;
  PetscFunctionBegin;
  *has_changed = false;
  if (!c->impulses) PetscFunctionReturn(PETSC_SUCCESS);
  for (int64_t k = 0; k < f->n_vertices; ++k) {
    const scene_body *own = &l->scene->bodies[f->body[k]];
    if (own->frame < 0) v3_copy(b->v + 3 * k, l->v + 3 * (own->body->first_block + f->node[k]));
  }
  store_velocities(c);
  c->has_acted = false; /* set again by the impulses if they change rigid bodies */
  timer_begin(TIMER_FRICTION);
  PetscCall(apply_impulses(c, o, l, status, report));
  timer_end(TIMER_FRICTION);
  *has_changed = mark_changed_nodes(c, c->v_old) || c->has_acted;
  c->has_acted = true;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void append_components(int64_t n, int64_t first, const double *v, int64_t *at, int64_t *dof, double *velocity)
{
  for (int64_t k = 0; k < n; ++k, ++*at) dof[*at] = first + k, velocity[*at] = v[k];
}

PetscErrorCode hybrid_contact_prescribe(const hybrid_contact *c, const step_layout *l, bool is_all, int64_t *n, int64_t **dof,
                                        double **velocity)
{
  const hybrid_boundary *b    = &c->boundary;
  const scene_surfaces  *f    = b->surfaces;
  const scene           *s    = l->scene;
  const int64_t          most = 3 * f->n_vertices + 6 * b->n_rigids + (c->continuum.is_met ? 3 * c->continuum.view.n : 0);
  PetscFunctionBegin;
  *n = 0;
  PetscCall(MEMORY_ALLOC("prescribed boundary", ARRAY(*dof, most), ARRAY(*velocity, most)));
  for (int j = 0; j < s->n_systems; ++j) { /* in the order of the global vector */
    const body *own = s->systems[j];
    if (own == c->continuum.system && c->continuum.is_met)
      append_components(3 * own->n_blocks, 3 * own->first_block, c->continuum.velocity, n, *dof, *velocity);
    for (int r = 0; r < b->n_rigids; ++r)
      if (b->rigids[r].system == own) append_components(6, 3 * own->first_block, c->vu + 6 * r, n, *dof, *velocity);
    for (int i = 0; i < s->n_bodies; ++i)
      for (int64_t k = f->first_vertex[i]; k < f->first_vertex[i + 1] && s->bodies[i].body == own && !f->is_rigid[i]; ++k)
        if (is_all || c->is_touched[k]) append_components(3, 3 * (own->first_block + f->node[k]), b->v + 3 * k, n, *dof, *velocity);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode hybrid_contact_accept(hybrid_contact *c, const step_layout *l, step_record *record, step_report *report)
{
  const hybrid_boundary *b = &c->boundary;
  PetscFunctionBegin;
  PetscCall(record_contact_forces(c, l, record, report));
  hybrid_boundary_accept(&c->boundary);
  double affine[3];
  hybrid_boundary_spin(b, l->scene, c->dx, affine);
  report->affine_angular_momentum_x = affine[0], report->affine_angular_momentum_y = affine[1],
  report->affine_angular_momentum_z = affine[2];
  PetscFunctionReturn(PETSC_SUCCESS);
}
