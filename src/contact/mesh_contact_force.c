/* Forces of the pairs, their exact linearisation, and both on the global vector. penalty-relaxation.md, sections 4 to 6.
 *
 * With p = u_0 - sum_i w_i u_i, the motion of the point against the place it hangs on for test motions u_0 of the point and u_i of the
 * corners, a pair adds u . g = -dt p . f, f = k (Y - Z), and for increments q_j of the point (0) and the nodes its attachment met
 *
 *   df = k ( sum_j B_j q_j - q_0 ),   dp = -sum_i u_i sum_j d_ij . q_j,   u . dg = -dt ( p . df + f . dp )
 *
 * Where friction or all of f lags, that part is constant and acts at a constant place: f in dp is the spring that is left.
 *
 * Rigid points: u_0 = u + t x a, a = Z - c; their turning adds f . (t x (dtheta x a)).                                       */
#include "contact/mesh_pairs.h"
#include "core/math3.h"
#include "core/memory.h"
#include "core/timer.h"
#include <string.h>

/* A line search that jumps this many times farther than anything could move as the step began is turned back unseen: it would try nearly
 * all points against all triangles. */
#define REFUSED_MARGINS 32.0

/* ---- evaluation ---------------------------------------------------------------------------------------------------------------- */

static void move_surfaces(mesh_contact *c, const double *v)
{
  for (int m = 0; m < c->n_meshes; ++m) {
    contact_surface *s    = &c->mesh[m];
    const double    *from = v + 3 * s->b->first_block;
    const int64_t    n    = 3 * s->topology->n_vertices;
    for (int64_t i = 0; i < n; ++i) s->x[i] = s->x0[i] + c->dt * from[i];
  }
}

/* The farthest anything moves in the step [m]. */
static double farthest(const mesh_contact *c, const double *v, const rigid_frame *frames)
{
  double far = 0.0;
  for (int m = 0; m < c->n_meshes; ++m) {
    const body *b = c->mesh[m].b;
    for (int64_t i = b->first_block; i < b->first_block + b->n_blocks; ++i) far = fmax(far, v3_norm(v + 3 * i));
  }
  for (int s = 0; s < c->n_sources; ++s) {
    const body *b = c->sources[s].b;
    if (b->ops->points != POINT_RIGID) {
      for (int64_t i = b->first_block; i < b->first_block + b->n_blocks; ++i) far = fmax(far, v3_norm(v + 3 * i));
      continue;
    }
    const rigid_frame *frame = &frames[c->sources[s].frame];
    double             reach = 0.0, center[3], radius, arm[3];
    int64_t            first, end;
    for (int64_t k = 0; k < b->ops->n_clusters(b); ++k) {
      b->ops->cluster(b, k, center, &radius, &first, &end);
      v3_sub(arm, center, c->frames0[c->sources[s].frame].c);
      reach = fmax(reach, v3_norm(arm) + radius);
    }
    far = fmax(far, v3_norm(frame->v) + v3_norm(frame->w) * reach);
  }
  return c->dt * far;
}

static PetscErrorCode keep_derivatives(mesh_contact *c, int64_t i, const mesh_relaxation *r)
{
  mesh_linear           *l = &c->linear[i];
  const contact_surface *s = &c->mesh[c->pair[i].q.i_object];
  const int              n = r->n_nodes + 1;
  PetscFunctionBegin;
  memory_free(&l->spilled);
  memory_free(&l->spilled_node);
  l->n_nodes = 0;
  if (l->is_constant) { /* df = 0: dY = dZ, weights stay */
    m3_identity(l->own);
    memset(l->own + 9, 0, 9 * sizeof(double));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  l->n_nodes = r->n_nodes;
  if (r->n_nodes > MESH_NODES) {
    PetscCall(memory_alloc("long chains", r->n_nodes, sizeof(int32_t), &l->spilled_node));
    PetscCall(memory_alloc("long chains", 18 * n, sizeof(double), &l->spilled));
  }
  int32_t *node = l->spilled_node ? l->spilled_node : l->own_node;
  double  *to   = l->spilled ? l->spilled : l->own;
  memcpy(node, r->node, (size_t)r->n_nodes * sizeof *node);
  for (int j = 0; j < n; ++j) mesh_relaxation_block(s->topology, s->x, r, j, to + 9 * j);
  for (int k = 0; k < 3; ++k) memcpy(to + 9 * n + 3 * k * n, r->d_weight[k], (size_t)(3 * n) * sizeof(double));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The spring of a pair at a relaxed attachment; false if the point has left. */
static bool spring_force(const mesh_pair *p, const double Z[3], const mesh_relaxation *r, double f[3])
{
  double pull[3], normal[3];
  v3_scale(normal, p->side, r->normal);
  v3_sub(pull, Z, r->Y);
  const bool is_active = v3_dot(pull, normal) < 0.0;
  v3_scale(f, is_active ? -p->k : 0.0, pull);
  return is_active;
}

void mesh_contact_start(mesh_contact *c, int64_t i)
{
  mesh_pair             *p = &c->pair[i];
  const contact_surface *s = &c->mesh[p->q.i_object];
  mesh_relaxation        r;
  double                 f[3];
  v3_set(p->lagged, 0.0, 0.0, 0.0);
  relax_mesh(s->topology, s->x0, p->mu, &p->X, p->q.x, false, &r);
  if (!spring_force(p, p->q.x, &r, p->lagged)) return;
  p->X = r.at;
  if (c->scheme == CONTACT_LAGGED_CONTACT) return;
  relax_mesh(s->topology, s->x0, 0.0, &p->X, p->q.x, false, &r);
  spring_force(p, p->q.x, &r, f);
  v3_sub(p->lagged, p->lagged, f);
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

/* displacement [3] of a weighted point. Long chains are left to the caller: they need memory. */
static void evaluate_pair(mesh_contact *c, int64_t i, const double *displacement, const rigid_frame *frames, bool with_tangent, mesh_relaxation *r)
{
  mesh_pair             *p = &c->pair[i];
  const contact_surface *s = &c->mesh[p->q.i_object];
  double                 spring[3];
  if (p->source_frame < 0) v3_add(p->Z, p->origin, displacement);
  else {
    m3_mulv(p->Z, frames[p->source_frame].R, p->origin);
    v3_axpy(p->Z, 1.0, frames[p->source_frame].c);
  }
  relax_mesh(s->topology, s->x, p->mu, &p->X, p->Z, with_tangent && c->scheme == CONTACT_IMPLICIT, r);
  v3_copy(p->Y, r->Y);
  v3_scale(p->normal, p->side, r->normal);
  p->is_active      = spring_force(p, p->Z, r, spring) && p->is_reached;
  p->at             = r->at;
  p->n_places       = (uint8_t)r->n_places;
  p->last_place     = r->place[r->n_places - 1];
  p->chain          = relax_chain_of(r);
  p->is_capped      = r->is_capped;
  p->is_on_triangle = p->last_place == ON_TRIANGLE || p->last_place == ENTERED;
  p->is_sliding     = p->is_active && (r->at.triangle != p->X.triangle || memcmp(r->at.weight, p->X.weight, sizeof r->at.weight) != 0);
  const bool is_spring = find_spring(c, p, with_tangent, r, spring) && p->is_reached;
  if (!is_spring) v3_set(spring, 0.0, 0.0, 0.0);
  v3_add(p->f, spring, p->lagged);
  if (!with_tangent) return;
  mesh_linear *l = &c->linear[i];
  l->is_active   = is_spring || v3_dot(p->f, p->f) > 0.0;
  l->is_constant = !is_spring;
  l->mesh        = p->q.i_object;
  for (int k = 0; k < 3; ++k) l->corner[k] = s->topology->tri[3 * (int64_t)p->grip.triangle + k];
  v3_copy(l->weight, p->grip.weight);
  v3_copy(l->Z, p->Z);
  v3_copy(l->f, p->f);
  v3_copy(l->spring, spring);
}

static PetscErrorCode evaluate(mesh_contact *c, const double *v, const rigid_frame *frames, bool with_tangent)
{
  const int64_t  n      = c->n;
  PetscErrorCode failed = PETSC_SUCCESS;
  PetscFunctionBegin;
  contact_rows_gather(c->rows, c->dt, v, NULL, c->force);
#pragma omp parallel for schedule(dynamic, 16) if (n > CONTACT_SERIAL)
  for (int64_t i = 0; i < n; ++i) {
    mesh_relaxation r;
    evaluate_pair(c, i, c->force + 3 * i, frames, with_tangent, &r);
    if (!with_tangent || !c->linear[i].is_active) continue;
    if (!c->linear[i].is_constant && r.n_nodes > MESH_NODES) c->linear[i].n_nodes = -1;
    else if (keep_derivatives(c, i, &r)) failed = PETSC_ERR_LIB;
  }
  PetscCall(failed);
  for (int64_t i = 0; i < n && with_tangent; ++i) {
    mesh_relaxation r;
    if (!c->linear[i].is_active || c->linear[i].n_nodes >= 0) continue;
    evaluate_pair(c, i, c->force + 3 * i, frames, true, &r);
    PetscCall(keep_derivatives(c, i, &r));
  }
  if (with_tangent && c->n_frames > 0) memcpy(c->linear_frames, frames, (size_t)c->n_frames * sizeof *frames);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void add_to_corners(const contact_surface *s, const mesh_attachment *at, double dt, const double f[3], double *g)
{
  for (int k = 0; k < 3; ++k)
    v3_axpy(g + 3 * (s->b->first_block + s->topology->tri[3 * (int64_t)at->triangle + k]), dt * at->weight[k], f);
}

PetscErrorCode mesh_contact_residual(mesh_contact *c, const double *v, const rigid_frame *frames, double *g, bool with_tangent,
                                     int *bad_source, int64_t *bad_point)
{
  PetscFunctionBegin;
  *bad_source = -1;
  *bad_point  = -1;
  move_surfaces(c, v);
  /* As the step ends (no g) bodies have moved on; whatever state is accepted has been evaluated, and looked around, before. */
  const double far = g ? farthest(c, v, frames) : 0.0;
  if (!with_tangent && far > REFUSED_MARGINS * c->first_margin) {
    *bad_source = MESH_TOO_FAR;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  timer_begin(TIMER_CONTACT_SEARCH);
  if (2.0 * far > c->margin && far < INFINITY) { /* something may come from farther away than was looked */
    c->margin = 4.0 * far;
    PetscCall(mesh_contact_search(c));
    mesh_contact_relink(c);
  }
  if (c->scheme != CONTACT_LAGGED_CONTACT || !g) PetscCall(mesh_contact_detect(c, v, frames));
  timer_end(TIMER_CONTACT_SEARCH);
  PetscCall(evaluate(c, v, frames, with_tangent));
  for (int64_t i = 0; i < c->n; ++i)
    if (c->pair[i].is_reached) relax_statistics_add(&c->statistics, c->pair[i].chain, c->pair[i].n_places, c->pair[i].is_capped);
  for (int64_t i = 0; i < c->n && *bad_source < 0; ++i) {
    const mesh_pair *p   = &c->pair[i];
    double           sum = 0.0;
    for (int k = 0; k < 3; ++k) sum += 0.0 * p->Z[k] + 0.0 * p->f[k];
    if (sum != 0.0) *bad_source = p->q.i_source, *bad_point = p->q.i_point;
  }
  if (*bad_source >= 0 || !g) PetscFunctionReturn(PETSC_SUCCESS);
  for (int64_t i = 0; i < c->n; ++i) v3_copy(c->force + 3 * i, c->pair[i].f);
  contact_rows_scatter(c->rows, -c->dt, c->force, g);
  for (int64_t i = 0; i < c->n; ++i) {
    const mesh_pair *p = &c->pair[i];
    if (v3_dot(p->f, p->f) == 0.0) continue;
    const contact_surface *s = &c->mesh[p->q.i_object];
    double                 spring[3];
    v3_sub(spring, p->f, p->lagged);
    add_to_corners(s, &p->grip, c->dt, spring, g);
    if (c->scheme != CONTACT_IMPLICIT) add_to_corners(s, &p->X, c->dt, p->lagged, g);
    if (p->source_frame < 0 || frames[p->source_frame].block < 0) continue;
    double *to = g + 3 * frames[p->source_frame].block, arm[3], torque[3];
    v3_sub(arm, p->Z, frames[p->source_frame].c);
    v3_cross(torque, arm, p->f);
    v3_axpy(to, -c->dt, p->f);
    v3_axpy(to + 3, -c->dt, torque);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- products -------------------------------------------------------------------------------------------------------------------- */

static int64_t node_block(const mesh_contact *c, const mesh_linear *l, int32_t node) { return c->mesh[l->mesh].b->first_block + node; }

/* Frame of a rigid point with unknowns, else NULL. */
static const rigid_frame *moving_frame(const mesh_contact *c, int64_t i)
{
  const int f = c->pair[i].source_frame;
  return f >= 0 && c->linear_frames[f].block >= 0 ? &c->linear_frames[f] : NULL;
}

/* c->force: displacement of a weighted point on entry, -df on return; corners and rigid bodies are added to y at once. */
static void product(const mesh_contact *c, int64_t i, const double *x, double *y)
{
  const mesh_linear *l     = &c->linear[i];
  const rigid_frame *frame = moving_frame(c, i);
  const int32_t     *node  = mesh_linear_node(l);
  double            *force = c->force + 3 * i, q[3], df[3] = {0.0, 0.0, 0.0}, dw[3], da[3] = {0.0, 0.0, 0.0}, a[3], t[3];
  v3_copy(q, force);
  if (c->pair[i].source_frame >= 0) v3_set(q, 0.0, 0.0, 0.0);
  if (frame) {
    v3_sub(a, l->Z, frame->c);
    m3_mulv(t, frame->Jl, x + 3 * frame->block + 3);
    v3_cross(da, t, a);
    v3_scale(da, c->dt, da);
    v3_scale(q, c->dt, x + 3 * frame->block);
    v3_axpy(q, 1.0, da);
  }
  m3_mulv(df, mesh_linear_B(l, 0), q);
  v3_sub(df, df, q);
  for (int k = 0; k < 3; ++k) dw[k] = v3_dot(mesh_linear_d(l, k, 0), q);
  for (int j = 1; j <= l->n_nodes; ++j) {
    double move[3], term[3];
    v3_scale(move, c->dt, x + 3 * node_block(c, l, node[j - 1]));
    m3_mulv(term, mesh_linear_B(l, j), move);
    v3_axpy(df, 1.0, term);
    for (int k = 0; k < 3; ++k) dw[k] += v3_dot(mesh_linear_d(l, k, j), move);
  }
  v3_scale(df, c->pair[i].k, df);
  v3_scale(force, -1.0, df);
  for (int k = 0; k < 3; ++k) {
    double *to = y + 3 * node_block(c, l, l->corner[k]);
    v3_axpy(to, c->dt * l->weight[k], df);
    v3_axpy(to, c->dt * dw[k], l->spring);
  }
  if (!frame) return;
  double *to = y + 3 * frame->block;
  v3_axpy(to, -c->dt, df);
  v3_cross(t, a, df);
  v3_axpy(to + 3, -c->dt, t);
  v3_cross(t, da, l->f);
  v3_axpy(to + 3, -c->dt, t);
}

/* c->force: u_0 of a weighted point on entry, what its blocks get on return. */
static void product_transposed(const mesh_contact *c, int64_t i, const double *x, double *y)
{
  const mesh_linear *l     = &c->linear[i];
  const rigid_frame *frame = moving_frame(c, i);
  const int32_t     *node  = mesh_linear_node(l);
  double            *force = c->force + 3 * i, p[3], a[3], t[3], uf[3];
  v3_copy(p, force);
  if (c->pair[i].source_frame >= 0) v3_set(p, 0.0, 0.0, 0.0);
  if (frame) {
    v3_sub(a, l->Z, frame->c);
    v3_cross(p, x + 3 * frame->block + 3, a);
    v3_axpy(p, 1.0, x + 3 * frame->block);
  }
  for (int k = 0; k < 3; ++k) {
    const double *u = x + 3 * node_block(c, l, l->corner[k]);
    v3_axpy(p, -l->weight[k], u);
    uf[k] = v3_dot(u, l->spring);
  }
  for (int j = 0; j <= l->n_nodes; ++j) {
    double out[3];
    m3_mulv_t(out, mesh_linear_B(l, j), p);
    if (j == 0) v3_sub(out, out, p);
    v3_scale(out, c->pair[i].k, out);
    for (int k = 0; k < 3; ++k) v3_axpy(out, -uf[k], mesh_linear_d(l, k, j));
    if (j > 0) v3_axpy(y + 3 * node_block(c, l, node[j - 1]), -c->dt * c->dt, out);
    else v3_scale(force, -1.0, out);
  }
  if (!frame) return;
  /* force = -out_0; the turning: dtheta . (a x out_0 + a x (f x t)), t the row of the turning */
  double *to = y + 3 * frame->block, moment[3], fu[3];
  v3_axpy(to, c->dt * c->dt, force);
  v3_cross(fu, l->f, x + 3 * frame->block + 3);
  v3_sub(fu, fu, force);
  v3_cross(moment, a, fu);
  m3_mulv_t(t, frame->Jl, moment);
  v3_axpy(to + 3, -c->dt * c->dt, t);
}

PetscErrorCode mesh_contact_tangent(const mesh_contact *c, const double *x, double *y, bool is_transposed)
{
  PetscFunctionBegin;
  if (c->n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  contact_rows_gather(c->rows, is_transposed ? 1.0 : c->dt, x, NULL, c->force);
  for (int64_t i = 0; i < c->n; ++i) {
    if (!c->linear[i].is_active) v3_set(c->force + 3 * i, 0.0, 0.0, 0.0);
    else if (is_transposed) product_transposed(c, i, x, y);
    else product(c, i, x, y);
  }
  contact_rows_scatter(c->rows, is_transposed ? c->dt * c->dt : c->dt, c->force, y);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- blocks of a matrix ----------------------------------------------------------------------------------------------------------- */

/* dt^2 times the block of row `row` (0: the point, 1 + k: corner k) and column j (0: the point, else node j - 1), rigid points as if free. */
static void pair_block(const mesh_contact *c, int64_t i, int row, int j, double block[9])
{
  const mesh_linear *l     = &c->linear[i];
  const double       scale = c->dt * c->dt * (row == 0 ? -c->pair[i].k : c->pair[i].k * l->weight[row - 1]);
  for (int e = 0; e < 9; ++e) block[e] = scale * (mesh_linear_B(l, j)[e] - (j == 0 && e % 4 == 0 ? 1.0 : 0.0));
  if (row == 0) return;
  double outer[9];
  m3_outer(outer, l->spring, mesh_linear_d(l, row - 1, j));
  m3_axpy(block, c->dt * c->dt, outer);
}

/* Diagonal blocks of a rigid point's body: of the linear unknowns B, of the turning -([a] B [a] + dt^2 [f][a]) Jl. */
static void rigid_diagonal(const mesh_contact *c, int64_t i, const double B[9], double *linear, double *angular)
{
  const mesh_linear *l     = &c->linear[i];
  const rigid_frame *frame = moving_frame(c, i);
  double             arm[3], A[9], F[9], AB[9], m[9], fa[9], mJ[9];
  m3_axpy(linear, 1.0, B);
  v3_sub(arm, l->Z, frame->c);
  m3_skew(A, arm);
  m3_skew(F, l->f);
  m3_mul(AB, A, B);
  m3_mul(m, AB, A);
  m3_mul(fa, F, A);
  m3_axpy(m, c->dt * c->dt, fa);
  m3_mul(mJ, m, frame->Jl);
  m3_axpy(angular, -1.0, mJ);
}

PetscErrorCode mesh_contact_block_diagonal(const mesh_contact *c, double *d)
{
  double *point;
  PetscFunctionBegin;
  if (c->n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(memory_alloc("mesh pair blocks", 9 * c->n, sizeof *point, &point));
  for (int64_t i = 0; i < c->n; ++i) {
    const mesh_linear *l    = &c->linear[i];
    const int32_t     *node = mesh_linear_node(l);
    double             block[9];
    if (!l->is_active) continue;
    pair_block(c, i, 0, 0, block);
    if (c->pair[i].source_frame < 0) m3_copy(point + 9 * i, block);
    else if (moving_frame(c, i)) {
      double *to = d + 9 * moving_frame(c, i)->block;
      rigid_diagonal(c, i, block, to, to + 9);
    }
    for (int k = 0; k < 3; ++k)
      for (int j = 1; j <= l->n_nodes; ++j) {
        if (node[j - 1] != l->corner[k]) continue;
        pair_block(c, i, 1 + k, j, block);
        m3_axpy(d + 9 * node_block(c, l, l->corner[k]), 1.0, block);
      }
  }
  contact_rows_scatter_squares(c->rows, 1.0, point, d);
  memory_free(&point);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void add_if_there(const block_rows *H, int64_t row, int64_t col, double scale, const double block[9])
{
  double *to = block_rows_find(H, row, col);
  if (to) m3_axpy(to, scale, block);
}

PetscErrorCode mesh_contact_assemble(const mesh_contact *c, const block_rows *H)
{
  const contact_rows_view rows = contact_rows_get(c->rows);
  PetscFunctionBegin;
  for (int64_t i = 0; i < c->n; ++i) {
    const mesh_linear *l    = &c->linear[i];
    const int32_t     *node = mesh_linear_node(l);
    const int64_t      first = rows.start[i], end = rows.start[i + 1];
    double             block[9];
    if (!l->is_active) continue;
    for (int row = 0; row < 4; ++row)
      for (int j = 0; j <= l->n_nodes; ++j) {
        pair_block(c, i, row, j, block);
        /* the point's side is a row of weighted blocks (none for rigid points, whose linear block stands in) */
        if (row == 0 && j == 0) {
          for (int64_t p = first; p < end; ++p)
            for (int64_t q = first; q < end; ++q) add_if_there(H, rows.block[p], rows.block[q], rows.weight[p] * rows.weight[q], block);
          if (moving_frame(c, i)) {
            const int64_t b = moving_frame(c, i)->block;
            rigid_diagonal(c, i, block, block_rows_at(H, b, b), block_rows_at(H, b + 1, b + 1));
          }
        } else if (row == 0) {
          for (int64_t p = first; p < end; ++p) add_if_there(H, rows.block[p], node_block(c, l, node[j - 1]), rows.weight[p], block);
        } else if (j == 0) {
          for (int64_t q = first; q < end; ++q) add_if_there(H, node_block(c, l, l->corner[row - 1]), rows.block[q], rows.weight[q], block);
        } else add_if_there(H, node_block(c, l, l->corner[row - 1]), node_block(c, l, node[j - 1]), 1.0, block);
      }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mesh_contact_couplings(const mesh_contact *c, int64_t *n, int32_t **row, int32_t **col)
{
  const contact_rows_view rows = contact_rows_get(c->rows);
  int64_t                 room = 0, m = 0;
  PetscFunctionBegin;
  for (int64_t i = 0; i < c->n; ++i) room += 6 * (rows.start[i + 1] - rows.start[i]) + 9;
  PetscCall(memory_alloc("mesh couplings", room, sizeof **row, row));
  PetscCall(memory_alloc("mesh couplings", room, sizeof **col, col));
  for (int64_t i = 0; i < c->n; ++i) {
    const contact_surface *s      = &c->mesh[c->pair[i].q.i_object];
    const int32_t         *corner = s->topology->tri + 3 * (int64_t)c->pair[i].X.triangle;
    for (int k = 0; k < 3; ++k) {
      const int32_t a = (int32_t)s->b->first_block + corner[k];
      for (int64_t p = rows.start[i]; p < rows.start[i + 1]; ++p) {
        (*row)[m] = a, (*col)[m++] = rows.block[p];
        (*row)[m] = rows.block[p], (*col)[m++] = a;
      }
      for (int j = 0; j < 3; ++j) (*row)[m] = a, (*col)[m++] = (int32_t)s->b->first_block + corner[j];
    }
  }
  *n = m;
  PetscFunctionReturn(PETSC_SUCCESS);
}
