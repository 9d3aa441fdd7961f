/* Faces excluded in plane motion, masses and affine parts of vertices, and the exchange of momentum between vertices and rigid
 * bodies. */
#include "sim/hybrid/hybrid_boundary.h"
#include "contact/augury/rigid_weight.h"
#include "core/eigen3.h"
#include "core/math3.h"
#include "core/memory.h"
#include "discretize/fem/tetrahedra.h"
#include "discretize/rigid/rigid_body.h"

/* ==== plane motion ==== */

/* Faces without contact in plane motion: the two faces normal to the axis of a slab whose nodes are all constrained along that
 * axis.
 *
 * If nothing that such a solid can touch moves along the axis, no vertex, edge or face can reach these faces except across the
 * rim. The interior of a slab then behaves as in a plane calculation, including the nodes of the faces: contact acts only on the
 * rim, with the whole mass of its nodes, and the third part of a step computes the rest. If the faces took part, the motion of
 * all nodes of a slab one element thick would be prescribed, which makes the step explicit, and the energy grows. */
static const double FLAT = 1e-9; /* of the shortest edge: height difference of corners of one face */

/* *is: all nodes are constrained along an axis, at rest. Of several constraints the last one counts: none may move the nodes. */
static PetscErrorCode is_held_along(const nodal_body *b, int axis, bool *is)
{
  uint8_t *is_held;
  PetscFunctionBegin;
  *is = false;
  for (int i = 0; i < b->n_holds; ++i)
    if (b->holds[i].axis[axis] && (b->holds[i].motion || b->holds[i].displacement)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(memory_alloc("held nodes", 3 * b->n_nodes, sizeof *is_held, &is_held));
  nodal_constraints_mark(b->n_holds, b->holds, is_held);
  *is = true;
  for (int64_t k = 0; k < b->n_nodes; ++k) *is = *is && is_held[3 * k + axis];
  memory_free(&is_held);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* *does: no part of the body ever moves along the axis. */
static PetscErrorCode is_static_along(const scene *s, int i, int axis, bool *does)
{
  const nodal_body *nodal = nodal_body_of(s->bodies[i].body);
  const rigid_body *rigid = rigid_body_of(s->bodies[i].body);
  PetscFunctionBegin;
  *does = rigid && s->bodies[i].body->ops == &rigid_obstacle_ops && !rigid->motion;
  if (nodal) PetscCall(is_held_along(nodal, axis, does));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static bool touches_only(const scene *s, int i, const bool *stay)
{
  for (int j = 0; j < s->n_bodies; ++j)
    if (!scene_law(s, i, j)->never_touch && !stay[j]) return false;
  return true;
}

static bool is_flat(const nodal_body *b, const int32_t *node, int axis)
{
  const double h = b->rest[3 * (int64_t)node[0] + axis], least = FLAT * b->length;
  return fabs(b->rest[3 * (int64_t)node[1] + axis] - h) <= least && fabs(b->rest[3 * (int64_t)node[2] + axis] - h) <= least;
}

static int64_t n_triangles_of(const scene *s, int i)
{
  const body  *b = s->bodies[i].body;
  body_surface f = {0};
  if (b->ops->surface) b->ops->surface(b, &f);
  return f.n_triangles;
}

static PetscErrorCode mark_idle_faces(const scene *s, int axis, bool *stay, bool *is_idle, bool *has_any)
{
  int64_t at = 0;
  PetscFunctionBegin;
  for (int i = 0; i < s->n_bodies; ++i) PetscCall(is_static_along(s, i, axis, &stay[i]));
  for (int i = 0; i < s->n_bodies; ++i) {
    const nodal_body *b = nodal_body_of(s->bodies[i].body);
    const int64_t     n = n_triangles_of(s, i);
    if (b && stay[i] && tetrahedra_of(b) && touches_only(s, i, stay))
      for (int64_t t = 0; t < n; ++t)
        is_idle[at + t] = is_idle[at + t] || is_flat(b, b->triangles + 3 * t, axis), *has_any = *has_any || is_idle[at + t];
    at += n;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* *is_idle: mark of every triangle of all bodies, by body, as for scene_surfaces_create_without; the caller frees it. NULL: no
 * face is excluded. */
static PetscErrorCode hybrid_plane_faces(const scene *s, bool **is_idle)
{
  int64_t n       = 0;
  bool    has_any = false, *stay;
  PetscFunctionBegin;
  for (int i = 0; i < s->n_bodies; ++i) n += n_triangles_of(s, i);
  PetscCall(MEMORY_ALLOC("idle faces", ARRAY(*is_idle, n), ARRAY(stay, s->n_bodies)));
  PetscErrorCode code = PETSC_SUCCESS;
  for (int axis = 0; axis < 3 && !code; ++axis) code = mark_idle_faces(s, axis, stay, *is_idle, &has_any);
  memory_free(&stay);
  if (code || !has_any) memory_free(is_idle);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ==== boundary ==== */

static const double HELD_WEIGHT = 1e4; /* mass per area of obstacles over the mean of free boundaries */

void hybrid_boundary_destroy(hybrid_boundary *b)
{
  MEMORY_FREE(&b->share, &b->n_around, &b->mass, &b->inverse_mass, &b->rigid, &b->rigids, &b->x0, &b->x1_held, &b->v, &b->A, &b->normal,
              &b->v_free, &b->held, &b->affine, &b->gain, &b->is_open);
  scene_surfaces_destroy(&b->surfaces);
}

/* ---- masses ------------------------------------------------------------------------------------------------------------ */

static double triangle_area(const double *x, const int32_t *t)
{
  double p[3], q[3], n[3];
  v3_sub(p, x + 3 * (int64_t)t[1], x + 3 * (int64_t)t[0]);
  v3_sub(q, x + 3 * (int64_t)t[2], x + 3 * (int64_t)t[0]);
  v3_cross(n, p, q);
  return 0.5 * v3_norm(n);
}

/* area [n_vertices]: a third of each adjacent triangle in the initial shape. */
static void share_areas(const hybrid_boundary *b, const double *rest, double *area)
{
  const scene_surfaces *f = b->surfaces;
  for (int64_t t = 0; t < f->n_triangles; ++t) {
    const double third = triangle_area(rest, f->triangle + 3 * t) / 3.0;
    for (int k = 0; k < 3; ++k) area[f->triangle[3 * t + k]] += third;
  }
}

static void set_masses(hybrid_boundary *b, const scene *s, const double *area)
{
  const scene_surfaces *f         = b->surfaces;
  double                free_mass = 0.0, free_area = 0.0;
  for (int i = 0; i < s->n_bodies; ++i) {
    const nodal_body *nodal = nodal_body_of(s->bodies[i].body);
    const rigid_body *rigid = rigid_body_dynamic(s->bodies[i].body);
    double            total = 0.0;
    for (int64_t k = f->first_vertex[i]; k < f->first_vertex[i + 1]; ++k) total += area[k];
    for (int64_t k = f->first_vertex[i]; k < f->first_vertex[i + 1]; ++k) {
      b->mass[k]         = nodal ? nodal->mass[f->node[k]] : rigid ? rigid->mass * area[k] / total : 0.0;
      b->inverse_mass[k] = nodal ? 1.0 / b->mass[k] : 0.0;
      b->is_open[k]      = nodal && !tetrahedra_of(nodal);
      free_mass += b->mass[k];
    }
    if (nodal || rigid) free_area += total;
  }
  for (int64_t k = 0; k < f->n_vertices; ++k)
    if (!(b->mass[k] > 0.0)) b->mass[k] = HELD_WEIGHT * area[k] * (free_area > 0.0 ? free_mass / free_area : 1.0);
}

static void measure_edges(hybrid_boundary *b, const double *rest)
{
  const scene_surfaces *f      = b->surfaces;
  double                sum[2] = {0.0, 0.0};
  int64_t               n[2]   = {0, 0};
  for (int64_t e = 0; e < f->n_edges; ++e) {
    double    d[3];
    const int is_rigid = f->is_rigid[f->body[f->edge[2 * e]]];
    v3_sub(d, rest + 3 * (int64_t)f->edge[2 * e], rest + 3 * (int64_t)f->edge[2 * e + 1]);
    sum[is_rigid] += v3_norm(d), ++n[is_rigid];
  }
  b->edge = n[0] > 0 ? sum[0] / (double)n[0] : n[1] > 0 ? sum[1] / (double)n[1] : 0.0;
}

static PetscErrorCode list_rigids(hybrid_boundary *b, const scene *s)
{
  PetscFunctionBegin;
  const scene_surfaces *f = b->surfaces;
  PetscCall(memory_alloc("rigid bodies", s->n_bodies, sizeof *b->rigids, &b->rigids));
  for (int64_t k = 0; k < f->n_vertices; ++k) b->rigid[k] = -1;
  for (int i = 0; i < s->n_bodies; ++i) {
    const rigid_body *r = rigid_body_dynamic(s->bodies[i].body);
    if (!r || f->first_vertex[i] == f->first_vertex[i + 1]) continue;
    for (int64_t k = f->first_vertex[i]; k < f->first_vertex[i + 1]; ++k) b->rigid[k] = b->n_rigids;
    b->rigids[b->n_rigids++] = (hybrid_rigid){.body = i, .system = s->bodies[i].body, .mass = r->mass};
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- affine parts ------------------------------------------------------------------------------------------------------- */

/* Least-squares gradient of differences to neighbours: A S = B, S = sum d d^T, B = sum u d^T. If the neighbours lie in a plane
 * with normal n, the motion of n follows from zero shear: A n = - (A^T n) in the plane. */
static void fit_gradient(const double S[9], const double B[9], double A[9])
{
  double values[3], V[9], inverse[9], least = 0.0;
  eigen3_symmetric(S, values, V);
  m3_zero(inverse);
  for (int k = 0; k < 3; ++k) least = fmax(least, 1e-6 * fabs(values[k]));
  for (int k = 0; k < 3; ++k)
    for (int i = 0; i < 9 && values[k] > least; ++i) inverse[i] += V[3 * (i / 3) + k] * V[3 * (i % 3) + k] / values[k];
  m3_mul(A, B, inverse);
  for (int k = 0; k < 3; ++k) {
    if (values[k] > least) continue;
    const double n[3] = {V[k], V[3 + k], V[6 + k]};
    double       turned[3];
    m3_mulv_t(turned, A, n);
    v3_axpy(turned, -v3_dot(turned, n), n);
    for (int i = 0; i < 9; ++i) A[i] -= turned[i / 3] * n[i % 3];
  }
}

static void nodal_gradient(const nodal_body *b, int32_t node, double A[9])
{
  double S[9], B[9];
  m3_zero(S), m3_zero(B);
  for (int64_t e = b->row_start[node]; e < b->row_start[node + 1]; ++e) {
    double d[3], u[3];
    v3_sub(d, b->x + 3 * (int64_t)b->col[e], b->x + 3 * (int64_t)node);
    v3_sub(u, b->v + 3 * (int64_t)b->col[e], b->v + 3 * (int64_t)node);
    for (int i = 0; i < 9; ++i) S[i] += d[i / 3] * d[i % 3], B[i] += u[i / 3] * d[i % 3];
  }
  fit_gradient(S, B, A);
}

static void start_affine(hybrid_boundary *b, const scene *s)
{
  const scene_surfaces *f = b->surfaces;
  for (int64_t k = 0; k < f->n_vertices; ++k) {
    const nodal_body *nodal = nodal_body_of(s->bodies[f->body[k]].body);
    const rigid_body *rigid = rigid_body_dynamic(s->bodies[f->body[k]].body);
    if (nodal) nodal_gradient(nodal, f->node[k], b->affine + 9 * k);
    if (rigid) m3_skew(b->affine + 9 * k, rigid->w);
  }
}

PetscErrorCode hybrid_boundary_create(const scene *s, bool resampling, hybrid_boundary *b)
{
  double *rest, *area;
  PetscFunctionBegin;
  bool *is_idle;
  PetscCall(hybrid_plane_faces(s, &is_idle));
  PetscErrorCode code = scene_surfaces_create_without(s, is_idle, &b->surfaces);
  memory_free(&is_idle);
  PetscCall(code);
  const int64_t n = b->surfaces->n_vertices;
  const struct {
    void   *array;
    int64_t width, size;
  } arrays[] = {{&b->mass, 1, sizeof(double)},    {&b->inverse_mass, 1, sizeof(double)},
                {&b->share, 1, sizeof(double)},   {&b->n_around, 1, sizeof(int32_t)},
                {&b->rigid, 1, sizeof(int32_t)},  {&b->x0, 3, sizeof(double)},
                {&b->v, 3, sizeof(double)},       {&b->A, 9, sizeof(double)},
                {&b->normal, 3, sizeof(double)},  {&b->v_free, 3, sizeof(double)},
                {&b->held, 1, sizeof(uint8_t)},   {&b->affine, 9, sizeof(double)},
                {&b->x1_held, 3, sizeof(double)}, {&b->is_open, 1, sizeof(bool)},
                {&b->gain, 3, sizeof(double)}};
  for (size_t k = 0; k < sizeof arrays / sizeof *arrays; ++k)
    PetscCall(memory_alloc("boundary", arrays[k].width * n, (size_t)arrays[k].size, arrays[k].array));
  PetscCall(list_rigids(b, s));
  PetscCall(MEMORY_ALLOC("boundary", ARRAY(rest, 3 * n), ARRAY(area, n)));
  code = scene_surfaces_rest(b->surfaces, s, rest);
  share_areas(b, rest, area);
  set_masses(b, s, area);
  for (int64_t k = 0; k < n; ++k) b->share[k] = b->mass[k];
  for (int64_t k = 0; k < 3 * b->surfaces->n_triangles; ++k) ++b->n_around[b->surfaces->triangle[k]];
  measure_edges(b, rest);
  MEMORY_FREE(&rest, &area);
  PetscCall(code);
  start_affine(b, s);
  b->elements = (augury_boundary){n, b->surfaces->n_triangles, b->surfaces->triangle, b->mass, !resampling};
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- a step ------------------------------------------------------------------------------------------------------------- */

static void find_normals(hybrid_boundary *b)
{
  const scene_surfaces *f = b->surfaces;
  memset(b->normal, 0, (size_t)(3 * f->n_vertices) * sizeof *b->normal);
  for (int64_t t = 0; t < f->n_triangles; ++t) {
    const int32_t *node = f->triangle + 3 * t;
    double         p[3], q[3], n[3];
    v3_sub(p, b->x0 + 3 * (int64_t)node[1], b->x0 + 3 * (int64_t)node[0]);
    v3_sub(q, b->x0 + 3 * (int64_t)node[2], b->x0 + 3 * (int64_t)node[0]);
    v3_cross(n, p, q);
    for (int k = 0; k < 3; ++k) v3_axpy(b->normal + 3 * (int64_t)node[k], 1.0, n);
  }
  for (int64_t k = 0; k < f->n_vertices; ++k) {
    const double length = v3_norm(b->normal + 3 * k);
    if (length > 0.0) v3_scale(b->normal + 3 * k, 1.0 / length, b->normal + 3 * k);
  }
}

/* Vertex of a block of body i, -1: none. Nodes ascend within a body, and each block has at most one vertex. */
static int64_t vertex_of(const scene_surfaces *f, int i, int64_t node)
{
  int64_t lo = f->first_vertex[i], hi = f->first_vertex[i + 1];
  while (lo < hi) {
    const int64_t mid = lo + (hi - lo) / 2;
    if (f->node[mid] < node) lo = mid + 1;
    else hi = mid;
  }
  return lo < f->first_vertex[i + 1] && f->node[lo] == node ? lo : -1;
}

static void find_constrained(hybrid_boundary *b, const step_layout *l)
{
  const scene_surfaces *f = b->surfaces;
  const scene          *s = l->scene;
  memset(b->held, 0, (size_t)f->n_vertices);
  for (int i = 0; i < s->n_bodies; ++i) {
    const nodal_body *nodal = nodal_body_of(s->bodies[i].body);
    const int64_t    *dof;
    const double     *velocity;
    if (!nodal) {
      for (int64_t k = f->first_vertex[i]; k < f->first_vertex[i + 1]; ++k) b->held[k] = b->rigid[k] < 0 ? 7 : 0;
      continue;
    }
    for (int64_t k = f->first_vertex[i]; k < f->first_vertex[i + 1]; ++k) b->inverse_mass[k] = 1.0 / b->mass[k];
    const int64_t n = nodal->base.ops->prescribed(&nodal->base, &dof, &velocity);
    for (int64_t j = 0; j < n; ++j) {
      const int64_t k = vertex_of(f, i, dof[j] / 3);
      if (k >= 0) b->held[k] |= (uint8_t)(1u << dof[j] % 3);
      if (k >= 0 && b->held[k] == 7) b->inverse_mass[k] = 0.0;
    }
  }
}

PetscErrorCode hybrid_boundary_begin(hybrid_boundary *b, const step_layout *l)
{
  PetscFunctionBegin;
  PetscCall(scene_surfaces_place(b->surfaces, l->scene, l->t, b->x0));
  for (int r = 0; r < b->n_rigids; ++r) {
    const rigid_body  *own   = rigid_body_of(b->rigids[r].system);
    const rigid_frame *frame = &l->frames0[l->scene->bodies[b->rigids[r].body].frame];
    double             half[9];
    m3_mul(half, frame->R, own->inertia);
    m3_mul_nt(b->rigids[r].inertia, half, frame->R);
    for (int k = 0; k < 9 && own->rotation == RIGID_MIDPOINT; ++k)
      b->rigids[r].inertia[k] *= 2.0; /* the angle at the end of the step is twice as large */
  }
  find_normals(b);
  find_constrained(b, l);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void rigid_motion(const double V[3], const double W[3], const double arm[3], double *v, double *A)
{
  double turn[3];
  v3_cross(turn, W, arm);
  for (int k = 0; k < 3; ++k) v[k] = V[k] + turn[k];
  m3_skew(A, W);
}

void hybrid_boundary_gather(hybrid_boundary *b, const step_layout *l)
{
  const scene_surfaces *f = b->surfaces;
  memcpy(b->mass, b->share, (size_t)f->n_vertices * sizeof *b->mass);
  for (int r = 0; r < b->n_rigids; ++r) b->rigids[r].weight = 1.0;
#pragma omp parallel for schedule(static)
  for (int64_t k = 0; k < f->n_vertices; ++k) {
    const scene_body *own = &l->scene->bodies[f->body[k]];
    if (own->frame < 0) {
      v3_copy(b->v + 3 * k, l->v + 3 * (own->body->first_block + f->node[k]));
      for (int i = 0; i < 3; ++i) b->x1_held[3 * k + i] = b->x0[3 * k + i] + l->dt * b->v[3 * k + i];
      m3_copy(b->A + 9 * k, b->affine + 9 * k);
    } else {
      const rigid_frame *f0 = &l->frames0[own->frame], *f1 = &l->frames[own->frame];
      const double      *V = f1->v, *W = f1->w;
      double             arm[3];
      v3_sub(arm, b->x0 + 3 * k, f0->c);
      rigid_motion(V, W, arm, b->v + 3 * k, b->A + 9 * k);
      if (b->rigid[k] >= 0) m3_copy(b->A + 9 * k, b->affine + 9 * k);
      if (b->rigid[k] < 0) { /* the final position is prescribed */
        body_surface outline;
        own->body->ops->surface(own->body, &outline);
        rigid_frame_to_world(f1, outline.x + 3 * (int64_t)f->node[k], b->x1_held + 3 * k);
        for (int i = 0; i < 3; ++i) b->v[3 * k + i] = (b->x1_held[3 * k + i] - b->x0[3 * k + i]) / l->dt;
      }
    }
  }
  memcpy(b->v_free, b->v, (size_t)(3 * f->n_vertices) * sizeof *b->v);
  memset(b->gain, 0, (size_t)(3 * f->n_vertices) * sizeof *b->gain);
}

/* Axial vector of A: eps_abc A_cb. */
static void axial_vector(const double *A, double out[3]) { v3_set(out, A[7] - A[5], A[2] - A[6], A[3] - A[1]); }

void hybrid_boundary_spin(const hybrid_boundary *b, const scene *s, double dx, double spin[3])
{
  const scene_surfaces *f = b->surfaces;
  v3_set(spin, 0.0, 0.0, 0.0);
  for (int64_t k = 0; k < f->n_vertices; ++k) {
    double turn[3];
    if (s->bodies[f->body[k]].frame >= 0 && b->rigid[k] < 0) continue; /* of an obstacle */
    axial_vector(b->affine + 9 * k, turn);
    v3_axpy(spin, 0.25 * dx * dx * b->share[k], turn);
  }
}

/* ---- rigid bodies -------------------------------------------------------------------------------------------------------- */

/* Inertia of the body; its unknown velocities are those of half a step, with twice the inertia. */
static void inertia_of(const hybrid_rigid *r, double inertia[9])
{
  m3_copy(inertia, r->inertia);
  for (int k = 0; k < 9 && rigid_body_of(r->system)->rotation == RIGID_MIDPOINT; ++k) inertia[k] *= 0.5;
}

static double weight_of(const hybrid_boundary *b, const hybrid_rigid *own, const double *center, const bool *is_active, const double *n)
{
  const scene_surfaces *f     = b->surfaces;
  double                S[36] = {0.0}, sum = 0.0, inertia[9], arm[3];
  for (int64_t k = 3 * f->first_triangle[own->body]; k < 3 * f->first_triangle[own->body + 1]; ++k) {
    const int64_t i = f->triangle[k];
    const double  m = b->share[i] / b->n_around[i];
    if (!is_active[k / 3]) continue;
    v3_sub(arm, b->x0 + 3 * i, center);
    if (n) rigid_weight_add_along(S, m, arm, n + 3 * i);
    else rigid_weight_add(S, m, arm);
    sum += m;
  }
  inertia_of(own, inertia);
  const double most = rigid_weight_factor(S, own->mass, inertia);
  return n && sum > 0.0 ? fmin(most, own->mass / sum) : most;
}

void hybrid_boundary_set_rigid_masses(hybrid_boundary *b, const step_layout *l, const bool *is_active, const double *n)
{
  const scene_surfaces *f = b->surfaces;
  for (int r = 0; r < b->n_rigids; ++r) {
    hybrid_rigid *own = &b->rigids[r];
    if (!n && !own->overreacts) continue;
    const double weight = weight_of(b, own, l->frames0[l->scene->bodies[own->body].frame].c, is_active, n);
    for (int64_t k = f->first_vertex[own->body]; k < f->first_vertex[own->body + 1]; ++k) {
      b->mass[k] = weight * b->share[k];
      for (int i = 0; i < 9; ++i) b->A[9 * k + i] *= own->weight / weight;
    }
    own->weight = weight;
  }
}

/* Momenta P, L that the vertices of a rigid body have gained; returns the kinetic energy of the changes alone. */
static double momentum_gain_of(const hybrid_boundary *b, const hybrid_rigid *own, const double *center, const double *v_old, double P[3],
                               double L[3])
{
  const scene_surfaces *f      = b->surfaces;
  double                energy = 0.0;
  v3_set(P, 0.0, 0.0, 0.0), v3_set(L, 0.0, 0.0, 0.0);
  for (int64_t k = f->first_vertex[own->body]; k < f->first_vertex[own->body + 1]; ++k) {
    double change[3], moment[3], arm[3];
    v3_sub(change, b->v + 3 * k, v_old + 3 * k);
    v3_sub(arm, b->x0 + 3 * k, center);
    v3_cross(moment, arm, change);
    v3_axpy(P, b->mass[k], change);
    v3_axpy(L, b->mass[k], moment);
    energy += 0.5 * b->mass[k] * v3_dot(change, change);
  }
  return energy;
}

bool hybrid_boundary_overreacts(hybrid_boundary *b, const step_layout *l, const double *v_old)
{
  bool does = false;
  for (int r = 0; r < b->n_rigids; ++r) {
    hybrid_rigid *own = &b->rigids[r];
    double        P[3], L[3], inertia[9], inverse[9], turn[3];
    const double  most = momentum_gain_of(b, own, l->frames0[l->scene->bodies[own->body].frame].c, v_old, P, L);
    inertia_of(own, inertia);
    (void)m3_inverse(inverse, inertia);
    m3_mulv(turn, inverse, L);
    own->overreacts = 0.5 * (v3_dot(P, P) / own->mass + v3_dot(L, turn)) > (1.0 + 1e-12) * most;
    does            = does || own->overreacts;
  }
  return does;
}

/* Transfer the gain of the vertices to the rigid motion. Affine parts stay with the vertices as for nodes: grid cells larger
 * than the body would rotate it far too much. */
static void settle_rigid(hybrid_boundary *b, const step_layout *l, int r, const double *v_old, double *vu)
{
  const scene_surfaces *f    = b->surfaces;
  const hybrid_rigid   *own  = &b->rigids[r];
  const rigid_frame    *pose = &l->frames0[l->scene->bodies[own->body].frame];
  double                P[3], L[3], inverse[9], turn[3], arm[3];
  (void)momentum_gain_of(b, own, pose->c, v_old, P, L);
  (void)m3_inverse(inverse, own->inertia);
  m3_mulv(turn, inverse, L);
  for (int i = 0; i < 3; ++i) vu[6 * r + i] += P[i] / own->mass, vu[6 * r + 3 + i] += turn[i];
  for (int64_t k = f->first_vertex[own->body]; k < f->first_vertex[own->body + 1]; ++k) {
    double unused[9];
    v3_sub(arm, b->x0 + 3 * k, pose->c);
    rigid_motion(vu + 6 * r, vu + 6 * r + 3, arm, b->v + 3 * k, unused);
  }
}

void hybrid_boundary_apply_changes(hybrid_boundary *b, const step_layout *l, const double *v_old, double *vu)
{
  const scene_surfaces *f = b->surfaces;
  for (int r = 0; r < b->n_rigids; ++r) settle_rigid(b, l, r, v_old, vu);
  for (int64_t k = 0; k < f->n_vertices; ++k)
    for (int i = 0; i < 3; ++i)
      if (b->held[k] >> i & 1) b->v[3 * k + i] = b->v_free[3 * k + i];
}

void hybrid_boundary_accept(hybrid_boundary *b)
{
  memcpy(b->affine, b->A, (size_t)(9 * b->surfaces->n_vertices) * sizeof *b->A);
  for (int64_t k = 0; k < b->surfaces->n_vertices; ++k)
    for (int i = 0; i < 9 && b->rigid[k] >= 0; ++i) b->affine[9 * k + i] *= b->rigids[b->rigid[k]].weight;
}

const convex_solid *hybrid_half_spaces(const body *b, int *n)
{
  const convex_solid *solid = b->ops->solids ? b->ops->solids(b, n) : NULL;
  if (!solid) *n = 0;
  for (int k = 0; k < *n; ++k)
    if (solid[k].kind != CONVEX_HALF_SPACE) return *n = 0, NULL;
  return *n > 0 ? solid : NULL;
}
