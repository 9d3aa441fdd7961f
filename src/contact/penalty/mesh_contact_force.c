/* Forces of the pairs and what their linearisation needs, mesh_contact_tangent.c. penalty-relaxation.md, sections 4 to 6. */
#include "contact/penalty/mesh_pairs.h"
#include "core/math3.h"
#include "core/memory.h"
#include "contact/detection/contact_stages.h"
#include <string.h>

/* A line search that jumps this many times farther than anything could move as the step began is turned back unseen: it would try nearly
 * all points against all triangles. */
#define REFUSED_MARGINS 32.0

/* ---- evaluation ---------------------------------------------------------------------------------------------------------------- */

static bool is_same_pose(const rigid_frame *a, const rigid_frame *b)
{
  bool same = true;
  for (int k = 0; k < 3; ++k) same = same && a->c[k] == b->c[k];
  for (int k = 0; k < 9; ++k) same = same && a->R[k] == b->R[k];
  return same;
}

static void move_surfaces(mesh_contact *c, const double *v, const rigid_frame *frames)
{
  for (int m = 0; m < c->n_meshes; ++m) {
    contact_surface *s = &c->mesh[m];
    const int64_t    n = 3 * s->topology->n_vertices;
    if (s->frame < 0) {
      const double *from = v + 3 * s->b->first_block;
      for (int64_t i = 0; i < n; ++i) s->x[i] = s->x0[i] + c->dt * from[i];
    } else if (is_same_pose(&frames[s->frame], &c->frames0[s->frame])) memcpy(s->x, s->x0, (size_t)n * sizeof *s->x);
    else mesh_contact_pose(s, &frames[s->frame], s->x);
  }
}

/* The farthest that vertices move which are within `radius` of a point `center` of the body [m]. */
static double reach_of_frame(const mesh_contact *c, const rigid_frame *frames, int frame, const double center[3], double radius)
{
  const rigid_frame *before = &c->frames0[frame], *now = &frames[frame];
  double             from[3], to[3], turn[9];
  m3_mulv(from, before->R, center);
  m3_mulv(to, now->R, center);
  for (int k = 0; k < 3; ++k) to[k] += now->c[k] - from[k] - before->c[k];
  m3_copy(turn, now->R);
  m3_axpy(turn, -1.0, before->R);
  /* |turn x| <= |turn| |x| in any norm that goes with the vectors'; Frobenius' is one */
  return v3_norm(to) + radius * sqrt(v3_dot(turn, turn) + v3_dot(turn + 3, turn + 3) + v3_dot(turn + 6, turn + 6));
}

static double farthest_block(const mesh_contact *c, const double *v, const body *b)
{
  double far = 0.0;
  for (int64_t i = b->first_block; i < b->first_block + b->n_blocks; ++i) far = fmax(far, v3_norm(v + 3 * i));
  return c->dt * far;
}

/* The farthest anything moves in the step [m]; *of_unknowns: without what moves as prescribed, whatever the solver tries. */
static double farthest(const mesh_contact *c, const double *v, const rigid_frame *frames, double *of_unknowns)
{
  double far = 0.0, prescribed = 0.0;
  for (int m = 0; m < c->n_meshes; ++m) {
    const contact_surface *s = &c->mesh[m];
    if (s->frame < 0) {
      far = fmax(far, farthest_block(c, v, s->b));
      continue;
    }
    double *const which = frames[s->frame].block < 0 ? &prescribed : &far;
    *which              = fmax(*which, reach_of_frame(c, frames, s->frame, s->center, s->radius));
  }
  for (int s = 0; s < c->n_sources; ++s) {
    const body *b = c->sources[s].b;
    if (b->ops->points != POINT_RIGID) {
      far = fmax(far, farthest_block(c, v, b));
      continue;
    }
    const rigid_frame *frame = &c->frames0[c->sources[s].frame];
    double             center[3], radius, arm[3], own[3];
    int64_t            first, end;
    for (int64_t k = 0; k < b->ops->n_clusters(b); ++k) {
      b->ops->cluster(b, k, center, &radius, &first, &end);
      v3_sub(arm, center, frame->c);
      m3_mulv_t(own, frame->R, arm);
      far = fmax(far, reach_of_frame(c, frames, c->sources[s].frame, own, radius));
    }
  }
  *of_unknowns = far;
  return fmax(far, prescribed);
}

/* What the gain adds at the corners of the first triangle, which are among the nodes, to B_1 and so on. */
static void add_gain(const contact_surface *s, const mesh_pair *p, mesh_relaxation *r, double *B)
{
  double pull[3], outer[9];
  v3_sub(pull, r->Y, p->Z);
  m3_outer(outer, pull, p->gain_slope);
  for (int k = 0; k < 3; ++k) {
    const int j = mesh_relaxation_column(r, s->topology->tri[3 * (int64_t)p->X.triangle + k]);
    m3_axpy(B + 9 * (j - 1), -p->X.weight[k] / p->gain, outer);
  }
}

/* K of the pair's rigid_sides, and what else a deforming surface says. */
static PetscErrorCode keep_derivatives(mesh_contact *c, int64_t i, mesh_relaxation *r, bool is_spring)
{
  mesh_linear           *l = &c->linear[i];
  const mesh_pair       *p = &c->pair[i];
  const contact_surface *s = &c->mesh[p->q.i_object];
  double                *K = c->sides.K + 9 * i;
  const bool             is_damped = v3_dot(p->gain_slope, p->gain_slope) > 0.0;
  PetscFunctionBegin;
  memory_free(&l->spilled);
  memory_free(&l->spilled_node);
  l->n_nodes = 0;
  if (!is_spring) { /* df = 0, weights stay */
    m3_zero(K);
    memset(l->own, 0, 9 * sizeof(double));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  mesh_relaxation_block(s->topology, s->x, r, 0, K);
  for (int a = 0; a < 3; ++a)
    for (int b = 0; b < 3; ++b)
      K[3 * a + b] = l->k * (K[3 * a + b] - (a == b)) + (is_damped ? p->k * (r->Y[a] - p->Z[a]) * p->gain_slope[b] : 0.0);
  if (s->frame >= 0) PetscFunctionReturn(PETSC_SUCCESS);
  const int n = r->n_nodes + 1;
  l->n_nodes  = r->n_nodes;
  if (r->n_nodes > MESH_NODES) {
    PetscCall(memory_alloc("long chains", r->n_nodes, sizeof(int32_t), &l->spilled_node));
    PetscCall(memory_alloc("long chains", 18 * n, sizeof(double), &l->spilled));
  }
  int32_t *node = l->spilled_node ? l->spilled_node : l->own_node;
  double  *to   = l->spilled ? l->spilled : l->own;
  memcpy(node, r->node, (size_t)r->n_nodes * sizeof *node);
  for (int j = 1; j < n; ++j) {
    const int k = triangle_topology_corner(s->topology, r->at.triangle, node[j - 1]);
    if (k >= 0) l->corner[k] = j;
  }
  for (int j = 1; j < n; ++j) mesh_relaxation_block(s->topology, s->x, r, j, to + 9 * (j - 1));
  for (int k = 0; k < 3; ++k) memcpy(to + 9 * r->n_nodes + 3 * k * n, r->d_weight[k], (size_t)(3 * n) * sizeof(double));
  if (is_damped) add_gain(s, p, r, to);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The spring of a pair at a relaxed attachment; false if the point has left. */
static bool spring_force(const mesh_pair *p, const double Z[3], const mesh_relaxation *r, double f[3])
{
  double pull[3], normal[3];
  v3_scale(normal, p->side, r->normal);
  v3_sub(pull, Z, r->Y);
  const bool is_active = !r->has_left && v3_dot(pull, normal) < 0.0;
  v3_scale(f, is_active ? -p->gain * p->k : 0.0, pull);
  return is_active;
}

void mesh_contact_start(mesh_contact *c, int64_t i)
{
  mesh_pair             *p = &c->pair[i];
  const contact_surface *s = &c->mesh[p->q.i_object];
  mesh_relaxation        r;
  double                 f[3], lagged[3];
  v3_set(p->lagged, 0.0, 0.0, 0.0);
  relax_mesh_cone(s->topology, s->x0, &p->cone, s->rest, &p->X, p->q.x, false, &r);
  if (!spring_force(p, p->q.x, &r, lagged)) return;
  p->X = r.at;
  if (c->scheme != CONTACT_LAGGED_CONTACT) {
    relax_mesh(s->topology, s->x0, 0.0, &p->X, p->q.x, false, &r);
    spring_force(p, p->q.x, &r, f);
    v3_sub(lagged, lagged, f);
  }
  if (p->object_frame < 0) v3_copy(p->lagged, lagged);
  else m3_mulv_t(p->lagged, c->frames0[p->object_frame].R, lagged);
}

/* The spring of this evaluation. In: relaxed with friction; out: relaxed as the spring is, and whether its derivatives count. */
static bool find_spring(const mesh_contact *c, mesh_pair *p, bool with_tangent, mesh_relaxation *r, double f[3])
{
  const contact_surface *s = &c->mesh[p->q.i_object];
  v3_set(f, 0.0, 0.0, 0.0);
  p->grip = p->X;
  if (c->scheme == CONTACT_LAGGED_CONTACT) return false;
  if (c->scheme == CONTACT_LAGGED_FRICTION) relax_mesh(s->topology, s->x, 0.0, &p->X, p->Z, with_tangent, r);
  p->grip = r->at;
  return spring_force(p, p->Z, r, f);
}

/* The rate of the spring, and what follows from it: before the spring. The point is compared with where it would be had it moved with the place it
 * hung on first, along the triangle's normal there: for a rigid object the one that turns with it, so that f is a function of Z in its axes; for
 * others the one the step began with, which leaves a second order of its turning. */
static void find_gain(const mesh_contact *c, mesh_pair *p, const rigid_frame *frames)
{
  const contact_surface *s    = &c->mesh[p->q.i_object];
  const int32_t         *v    = s->topology->tri + 3 * (int64_t)p->X.triangle;
  const int              o    = p->object_frame;
  const double          *from = o < 0 ? s->x0 : s->x;
  double                 e1[3], e2[3], n[3], carried[3], slope;
  v3_sub(e1, from + 3 * (int64_t)v[1], from + 3 * (int64_t)v[0]);
  v3_sub(e2, from + 3 * (int64_t)v[2], from + 3 * (int64_t)v[0]);
  v3_cross(n, e1, e2);
  const double twice_area = v3_norm(n);
  v3_scale(n, twice_area > 0.0 ? p->side / twice_area : 0.0, n);
  if (o >= 0) {
    double arm[3], own[3];
    v3_sub(arm, p->q.x, c->frames0[o].c);
    m3_mulv_t(own, c->frames0[o].R, arm);
    m3_mulv(carried, frames[o].R, own);
    v3_axpy(carried, 1.0, frames[o].c);
  } else {
    v3_copy(carried, p->q.x);
    for (int k = 0; k < 3; ++k) {
      v3_axpy(carried, p->X.weight[k], s->x + 3 * (int64_t)v[k]);
      v3_axpy(carried, -p->X.weight[k], s->x0 + 3 * (int64_t)v[k]);
    }
  }
  p->bounce.rate = (v3_dot(n, carried) - v3_dot(n, p->Z)) / c->dt;
  p->gain        = restitution_gain(&p->bounce, c->acceleration * c->dt, &slope);
  v3_scale(p->gain_slope, -slope / c->dt, n);
}

/* displacement [3] of a weighted point. True if the spring's derivatives count. */
static bool evaluate_pair(mesh_contact *c, int64_t i, const double *displacement, const rigid_frame *frames, bool with_tangent, mesh_relaxation *r)
{
  mesh_pair             *p = &c->pair[i];
  const contact_surface *s = &c->mesh[p->q.i_object];
  double                 spring[3];
  if (p->source_frame < 0) v3_add(p->Z, p->origin, displacement);
  else {
    m3_mulv(p->Z, frames[p->source_frame].R, p->origin);
    v3_axpy(p->Z, 1.0, frames[p->source_frame].c);
  }
  relax_mesh_cone(s->topology, s->x, &p->cone, s->rest, &p->X, p->Z, with_tangent && c->scheme == CONTACT_IMPLICIT, r);
  if (p->bounce.damping > 0.0 && c->scheme == CONTACT_IMPLICIT) {
    find_gain(c, p, frames);
    for (int k = 0; k < 3 && with_tangent && p->object_frame < 0; ++k) mesh_relaxation_column(r, s->topology->tri[3 * (int64_t)p->X.triangle + k]);
  }
  v3_copy(p->Y, r->Y);
  v3_scale(p->normal, p->side, r->normal);
  p->is_active      = spring_force(p, p->Z, r, spring) && p->is_reached;
  p->at             = r->at;
  p->n_places       = (uint8_t)r->n_places;
  p->last_place     = r->place[r->n_places - 1];
  p->chain          = relax_chain_of(r);
  p->is_capped      = r->is_capped;
  p->is_on_triangle = p->last_place == ON_TRIANGLE || p->last_place == ENTERED;
  p->is_sliding     = p->is_active && !mesh_attachment_equal(&r->at, &p->X);
  const bool is_spring = find_spring(c, p, with_tangent, r, spring) && p->is_reached && !p->is_late;
  if (!is_spring) v3_set(spring, 0.0, 0.0, 0.0);
  if (p->object_frame < 0) v3_copy(p->f, p->lagged);
  else m3_mulv(p->f, frames[p->object_frame].R, p->lagged);
  v3_add(p->f, p->f, spring);
  if (!with_tangent) return is_spring;
  c->sides.is_active[i] = is_spring || v3_dot(p->f, p->f) > 0.0;
  v3_copy(c->sides.Z + 3 * i, p->Z);
  v3_copy(c->sides.f + 3 * i, p->f);
  m3_zero(c->sides.K + 9 * i);
  mesh_linear *l = &c->linear[i];
  l->mesh        = p->q.i_object;
  l->k           = p->gain * p->k;
  v3_copy(l->weight, p->grip.weight);
  v3_copy(l->spring, spring);
  return is_spring;
}

/* Long chains need memory, so they are done again, one after the other. */
static bool is_long(const mesh_contact *c, int64_t i, const mesh_relaxation *r)
{
  return c->pair[i].object_frame < 0 && r->n_nodes > MESH_NODES;
}

/* Where products put what they add to nodes, so that all pairs can at once. */
static PetscErrorCode list_nodes(mesh_contact *c)
{
  const int64_t before = c->n_node_forces;
  int64_t       n      = 0;
  PetscFunctionBegin;
  for (int64_t i = 0; i < c->n; ++i) {
    c->linear[i].first = n;
    if (mesh_contact_deforms(c, i)) n += c->linear[i].n_nodes;
  }
  c->n_node_forces = n;
  if (n == 0 && before == 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (n > c->node_force_capacity) {
    c->node_force_capacity = n + n / 2;
    PetscCall(memory_resize("forces on nodes", c->node_force_capacity, sizeof(int32_t), &c->node_force_block));
    PetscCall(memory_resize("forces on nodes", 3 * c->node_force_capacity, sizeof(double), &c->node_force));
  }
  for (int64_t i = 0; i < c->n; ++i) {
    const mesh_linear *l    = &c->linear[i];
    const int32_t     *node = mesh_linear_node(l);
    for (int j = 0; mesh_contact_deforms(c, i) && j < l->n_nodes; ++j) c->node_force_block[l->first + j] = (int32_t)mesh_contact_node_block(c, l, node[j]);
  }
  PetscCall(contact_rows_build_single(c->node_rows, n, c->node_force_block, c->n_blocks));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode evaluate(mesh_contact *c, const double *v, const rigid_frame *frames, bool with_tangent)
{
  const int64_t  n      = c->n;
  double *const  moved  = c->sides.force;
  PetscErrorCode failed = PETSC_SUCCESS;
  PetscFunctionBegin;
  contact_rows_gather(c->rows, c->dt, v, NULL, moved);
#pragma omp parallel for schedule(dynamic, 16) if (n > CONTACT_SERIAL)
  for (int64_t i = 0; i < n; ++i) {
    mesh_relaxation r;
    const bool      is_spring = evaluate_pair(c, i, moved + 3 * i, frames, with_tangent, &r);
    if (!with_tangent || !c->sides.is_active[i]) continue;
    if (is_spring && is_long(c, i, &r)) c->linear[i].n_nodes = -1;
    else if (keep_derivatives(c, i, &r, is_spring)) failed = PETSC_ERR_LIB;
  }
  PetscCall(failed);
  for (int64_t i = 0; i < n && with_tangent; ++i) {
    mesh_relaxation r;
    if (!c->sides.is_active[i] || c->linear[i].n_nodes >= 0) continue;
    const bool is_spring = evaluate_pair(c, i, moved + 3 * i, frames, true, &r);
    PetscCall(keep_derivatives(c, i, &r, is_spring));
  }
  if (with_tangent && c->n_frames > 0) memcpy(c->sides.frames, frames, (size_t)c->n_frames * sizeof *frames);
  if (with_tangent) PetscCall(list_nodes(c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void add_to_corners(const contact_surface *s, const mesh_attachment *at, double dt, const double f[3], double *g)
{
  for (int k = 0; k < 3; ++k)
    v3_axpy(g + 3 * (s->b->first_block + s->topology->tri[3 * (int64_t)at->triangle + k]), dt * at->weight[k], f);
}

/* Something may come from farther away than was looked. */
static PetscErrorCode look_as_far(mesh_contact *c, double far)
{
  PetscFunctionBegin;
  if (!(2.0 * far > c->margin && far < INFINITY)) PetscFunctionReturn(PETSC_SUCCESS);
  c->margin = 4.0 * far;
  PetscCall(mesh_contact_search(c));
  PetscCall(mesh_contact_relink(c));
  if (c->edges) PetscCall(mesh_edges_search(c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mesh_contact_expect(mesh_contact *c, const double *v, const rigid_frame *frames)
{
  double of_unknowns;
  PetscFunctionBegin;
  if (c->scheme == CONTACT_LAGGED_CONTACT) PetscFunctionReturn(PETSC_SUCCESS); /* nothing could come of it */
  timer_begin(TIMER_CONTACT_SEARCH);
  move_surfaces(c, v, frames);
  PetscCall(look_as_far(c, farthest(c, v, frames, &of_unknowns)));
  if (c->edges) PetscCall(mesh_edges_detect(c));
  PetscCall(mesh_contact_detect(c, v, frames, false));
  timer_end(TIMER_CONTACT_SEARCH);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mesh_contact_residual(mesh_contact *c, const double *v, const rigid_frame *frames, double *g, bool with_tangent,
                                     int *bad_source, int64_t *bad_point)
{
  PetscFunctionBegin;
  *bad_source = -1;
  *bad_point  = -1;
  move_surfaces(c, v, frames);
  /* As the step ends (no g) bodies have moved on; whatever state is accepted has been evaluated, and looked around, before. */
  double       of_unknowns = 0.0;
  const double far         = g ? farthest(c, v, frames, &of_unknowns) : 0.0;
  if (!with_tangent && of_unknowns > REFUSED_MARGINS * c->first_margin) {
    *bad_source = MESH_TOO_FAR;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  timer_begin(TIMER_CONTACT_SEARCH);
  PetscCall(look_as_far(c, far));
  const bool at_end_alone = c->scheme == CONTACT_LAGGED_CONTACT || c->detection == CONTACT_DETECT_STEP;
  if (c->edges) PetscCall(mesh_edges_detect(c)); /* first: which edges are held decides about points */
  if (!at_end_alone || !g) PetscCall(mesh_contact_detect(c, v, frames, at_end_alone));
  timer_end(TIMER_CONTACT_SEARCH);
  PetscCall(evaluate(c, v, frames, with_tangent));
  if (c->edges) mesh_edges_evaluate(c, frames, with_tangent);
  for (int64_t i = 0; i < c->n; ++i)
    if (c->pair[i].is_reached) relax_statistics_add(&c->statistics, c->pair[i].chain, c->pair[i].n_places, c->pair[i].is_capped);
  for (int64_t i = 0; i < c->n && *bad_source < 0; ++i) {
    const mesh_pair *p   = &c->pair[i];
    double           sum = 0.0;
    for (int k = 0; k < 3; ++k) sum += 0.0 * p->Z[k] + 0.0 * p->f[k];
    if (sum != 0.0) *bad_source = p->q.i_source, *bad_point = p->q.i_point;
  }
  for (int m = 0; c->edges && m < c->n_sources && *bad_source < 0; ++m) /* nodes of surfaces are points of their bodies */
    if (c->sources[m].body_id == mesh_edges_not_finite(c)) *bad_source = m;
  if (*bad_source >= 0 || !g) PetscFunctionReturn(PETSC_SUCCESS);
  if (c->edges) mesh_edges_residual(c, g);
  for (int64_t i = 0; i < c->n; ++i) rigid_sides_apply(&c->sides, i, frames, c->pair[i].Z, c->pair[i].f);
  rigid_sides_scatter(&c->sides, c->rows, false, g);
  for (int64_t i = 0; i < c->n; ++i) {
    const mesh_pair *p = &c->pair[i];
    if (p->object_frame >= 0 || v3_dot(p->f, p->f) == 0.0) continue;
    const contact_surface *s = &c->mesh[p->q.i_object];
    double                 spring[3];
    v3_sub(spring, p->f, p->lagged);
    add_to_corners(s, &p->grip, c->dt, spring, g);
    if (c->scheme != CONTACT_IMPLICIT) add_to_corners(s, &p->X, c->dt, p->lagged, g);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
