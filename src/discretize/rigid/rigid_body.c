/* Implementation of rigid_body.h: creation from the job, fields, residual and tangent of dynamic bodies, obstacles. */
#include "discretize/rigid/rigid_body.h"
#include <string.h>
#include "core/math3.h"
#include "core/memory.h"
#include "core/quaternion.h"
#include "discretize/rigid/free_rotation.h"

/* Bounding spheres of consecutive vertices. The surface vertices are sorted along a space-filling curve, so that consecutive
 * vertices are close together. */
static PetscErrorCode build_clusters(rigid_body *b)
{
  PetscFunctionBegin;
  const int64_t n = b->surface ? b->surface->n_vertices : 0;
  b->n_vertices   = n;
  b->n_clusters   = (int)((n + RIGID_CLUSTER - 1) / RIGID_CLUSTER);
  PetscCall(MEMORY_ALLOC("rigid body", ARRAY(b->cluster_center, 3 * (int64_t)b->n_clusters), ARRAY(b->cluster_radius, b->n_clusters)));
  for (int i = 0; i < b->n_clusters; ++i) {
    const int64_t lo = (int64_t)i * RIGID_CLUSTER, hi = lo + RIGID_CLUSTER < n ? lo + RIGID_CLUSTER : n;
    double       *center = b->cluster_center + 3 * i;
    for (int64_t k = lo; k < hi; ++k) v3_axpy(center, 1.0 / (double)(hi - lo), b->surface->x + 3 * k);
    for (int64_t k = lo; k < hi; ++k) {
      double arm[3];
      v3_sub(arm, b->surface->x + 3 * k, center);
      b->cluster_radius[i] = fmax(b->cluster_radius[i], v3_norm(arm));
    }
  }
  for (int64_t k = 0; k < n; ++k) b->radius = fmax(b->radius, v3_norm(b->surface->x + 3 * k));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void set_mass(rigid_body *b, const rigid_body_spec *spec, double density, const mass_properties *unit, const document_node *node,
                     const char *path, diagnostics *d)
{
  b->volume = unit->volume;
  b->mass   = isfinite(spec->mass) ? spec->mass : density * unit->volume;
  for (int i = 0; i < 9; ++i) b->inertia[i] = unit->inertia[i] * b->mass / unit->volume;
  if (isfinite(spec->inertia[0])) {
    const double *moment = spec->inertia;
    if (moment[0] > moment[1] + moment[2] || moment[1] > moment[0] + moment[2] || moment[2] > moment[0] + moment[1])
      diagnostics_add_under(d, node, path, "inertia",
                            "no body has these moments (%g, %g, %g): each must be at most the sum of the other two", moment[0], moment[1],
                            moment[2]);
    m3_zero(b->inertia);
    for (int i = 0; i < 3; ++i) b->inertia[4 * i] = moment[i];
  }
}

/* Move the parts of shape `s` into the body frame, whose origin is at b->c. The body takes ownership of them. */
static PetscErrorCode move_shape_to_body(rigid_body *b, int64_t contact_points, shape *s)
{
  PetscFunctionBegin;
  const double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, back[3] = {-b->c[0], -b->c[1], -b->c[2]};
  PetscCall(memory_alloc("level sets", s->n_pieces, sizeof(level_set *), &b->level_sets));
  for (int i = 0; i < s->n_pieces && b->contact_surface == RIGID_CONTACT_LEVEL_SET; ++i) {
    if (b->kind == RIGID_DYNAMIC) PetscCall(level_set_transform(s->piece[i], back, identity, &b->level_sets[i]));
    else b->level_sets[i] = s->piece[i];
    s->piece[i] = NULL;
    ++b->n_level_sets;
  }
  b->n_solids = s->n_solids, b->solids = s->solid;
  s->n_solids = 0, s->solid = NULL;
  for (int i = 0; i < b->n_solids; ++i) {
    convex_solid_move(&b->solids[i], back);
    b->solids[i].area_points = (int)contact_points;
  }
  b->surface = s->surface ? s->surface : s->outline;
  if (s->surface) s->surface = NULL;
  else s->outline = NULL;
  if (b->surface) triangle_mesh_transform(b->surface, back, identity);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode read_anchors(rigid_body *b, const rigid_body_spec *spec)
{
  PetscFunctionBegin;
  PetscCall(memory_alloc("anchors", spec->anchors.n, sizeof(rigid_anchor), &b->anchors));
  for (int i = 0; i < spec->anchors.n; ++i) {
    const rigid_anchor_spec *a = spec->anchors.item[i].value;
    rigid_anchor            *o = &b->anchors[b->n_anchors++];
    v3_sub(o->a, a->point, b->c);
    v3_copy(o->to, isfinite(a->to[0]) ? a->to : a->point);
    o->stiffness = a->stiffness;
    o->damping   = a->damping;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Refine the surface of a mesh from a file that is not convex: its vertices are the only contact points with level sets, so that edges that cross between
 * two vertices would pass through each other. Overlaps remain smaller than the spacing of the vertices. */
static PetscErrorCode sample_surface(shape *s)
{
  double size = 0.0;
  PetscFunctionBegin;
  for (int k = 0; k < 3; ++k) size = fmax(size, s->max[k] - s->min[k]);
  PetscCall(triangle_mesh_refine(s->surface, size / 16.0));
  PetscCall(triangle_mesh_sort(s->surface));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode build_parts(rigid_body *b, const rigid_body_spec *spec, double density, const document_node *node, const char *path,
                                  diagnostics *d)
{
  PetscFunctionBegin;
  shape *s = NULL;
  char   shape_path[300], motion_path[300];
  snprintf(shape_path, sizeof shape_path, "%s.shape", path);
  snprintf(motion_path, sizeof motion_path, "%s.motion", path);
  const bool is_mesh = b->contact_surface == RIGID_CONTACT_MESH;
  if (is_mesh) PetscCall(shape_create_surface(spec->shape, document_find(node, "shape"), shape_path, d, spec->surface_spacing, &s));
  else
    PetscCall((b->kind == RIGID_DYNAMIC ? shape_create : shape_create_obstacle)(spec->shape, document_find(node, "shape"), shape_path, d,
                                                                                spec->surface_spacing, &s));
  if (b->kind != RIGID_DYNAMIC) PetscCall(motion_create(spec->motion, document_find(node, "motion"), motion_path, d, &b->motion));
  if (!s) PetscFunctionReturn(PETSC_SUCCESS);
  if (b->kind == RIGID_DYNAMIC && !is_mesh && spec->shape->mesh && s->n_solids == 0 && isnan(spec->surface_spacing))
    PetscCall(sample_surface(s));
  if (b->kind == RIGID_DYNAMIC && !s->is_bounded) {
    diagnostics_add_under(d, node, path, "shape", "has no volume, which kind: rigid requires; use kind: static or a shape with a volume");
  } else if (is_mesh && !s->surface) {
    diagnostics_add_under(
        d, node, path, "contact_surface",
        "mesh: this shape is unbounded and has no triangles; give a box instead of a plane, or contact_surface: level_set");
  } else {
    if (b->kind == RIGID_DYNAMIC) {
      set_mass(b, spec, density, &s->mass, node, path, d);
      const bool is_loaded = isfinite(spec->center_of_mass[0]);
      if (is_loaded && !isfinite(spec->inertia[0]))
        diagnostics_add_under(d, node, path, "center_of_mass", "requires `inertia`: give the moments of inertia about this point");
      v3_copy(b->c, is_loaded ? spec->center_of_mass : s->mass.center);
      v3_copy(b->origin, b->c);
    }
    PetscCall(move_shape_to_body(b, spec->contact_points, s));
    PetscCall(read_anchors(b, spec));
    PetscCall(build_clusters(b));
  }
  shape_destroy(&s);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode rigid_body_create(const char *name, rigid_kind kind, const rigid_body_spec *spec, double density, const document_node *node,
                                 const char *path, diagnostics *d, rigid_body **out)
{
  PetscFunctionBegin;
  rigid_body *b;
  const int   before = diagnostics_count(d);
  PetscCall(memory_alloc("rigid body", 1, sizeof *b, &b));
  *out               = b;
  b->base.ops        = kind == RIGID_DYNAMIC ? &rigid_body_ops : &rigid_obstacle_ops;
  b->base.name       = name;
  b->kind            = kind;
  b->rotation        = spec->rotation;
  b->contact_surface = (rigid_contact)spec->contact_surface;
  PetscCall(MEMORY_ALLOC("rigid state", ARRAY(b->c, 3), ARRAY(b->q, 4), ARRAY(b->v, 3), ARRAY(b->w, 3)));
  quaternion_identity(b->q);
  if (kind == RIGID_DYNAMIC) {
    v3_copy(b->v, spec->velocity);
    v3_copy(b->w, spec->angular_velocity);
    v3_copy(b->u_free, b->w);
    v3_copy(b->force, spec->force);
    v3_copy(b->torque, spec->torque);
  }
  PetscCall(build_parts(b, spec, density, node, path, d));
  if (diagnostics_count(d) > before) rigid_body_destroy(out);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void destroy_geometry(rigid_body *b)
{
  for (int i = 0; i < b->n_level_sets; ++i) level_set_destroy(&b->level_sets[i]);
  for (int i = 0; i < b->n_solids; ++i) convex_solid_clear(&b->solids[i]);
  triangle_mesh_destroy(&b->surface);
  MEMORY_FREE(&b->level_sets, &b->solids, &b->cluster_center, &b->cluster_radius);
}

void rigid_body_destroy(rigid_body **out)
{
  rigid_body *b = *out;
  if (!b) return;
  motion_destroy(&b->motion);
  if (!b->model || b->size != 1.0) destroy_geometry(b);
  if (b->model) memory_free(&b->base.name);
  if (b->owns_model) rigid_body_destroy(&b->model);
  if (!b->is_in_table) MEMORY_FREE(&b->c, &b->q, &b->v, &b->w);
  MEMORY_FREE(&b->position, &b->anchors, out);
}

/* --- copies ---------------------------------------------------------------------------------------------------------- */

/* The geometry of the model, enlarged by b->size about the centre of mass. */
static PetscErrorCode enlarge_geometry(const rigid_body *model, rigid_body *b)
{
  PetscFunctionBegin;
  b->level_sets = NULL, b->solids = NULL, b->surface = NULL, b->cluster_center = NULL, b->cluster_radius = NULL;
  b->n_level_sets = b->n_solids = 0;
  PetscCall(MEMORY_ALLOC("rigid body", ARRAY(b->level_sets, model->n_level_sets), ARRAY(b->solids, model->n_solids),
                         ARRAY(b->cluster_center, 3 * (int64_t)model->n_clusters), ARRAY(b->cluster_radius, model->n_clusters)));
  for (; b->n_level_sets < model->n_level_sets; ++b->n_level_sets)
    PetscCall(level_set_scaled(model->level_sets[b->n_level_sets], b->size, &b->level_sets[b->n_level_sets]));
  for (; b->n_solids < model->n_solids; ++b->n_solids)
    PetscCall(convex_solid_scaled(&model->solids[b->n_solids], b->size, &b->solids[b->n_solids]));
  if (model->surface) {
    PetscCall(triangle_mesh_copy(model->surface, &b->surface));
    triangle_mesh_scale(b->surface, b->size);
  }
  for (int i = 0; i < 3 * model->n_clusters; ++i) b->cluster_center[i] = b->size * model->cluster_center[i];
  for (int i = 0; i < model->n_clusters; ++i) b->cluster_radius[i] = b->size * model->cluster_radius[i];
  b->radius = b->size * model->radius;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode rigid_body_copy(rigid_body *model, const char *name, const rigid_pose *at, rigid_body **out)
{
  const double third = at->size * at->size * at->size, fifth = third * at->size * at->size;
  rigid_body  *b;
  char        *own_name;
  PetscFunctionBegin;
  SS_ASSERT(model->kind == RIGID_DYNAMIC && !model->model && model->n_anchors == 0);
  PetscCall(memory_alloc("rigid body", 1, sizeof *b, &b));
  *out               = b;
  *b                 = *model;
  b->model           = model;
  b->size            = at->size;
  b->release         = at->release;
  b->base.name       = NULL;
  b->base.is_waiting = at->release > 0.0;
  b->c = b->q = b->v = b->w = b->position = NULL;
  b->anchors                              = NULL;
  if (b->size != 1.0) PetscCall(enlarge_geometry(model, b));
  PetscCall(memory_alloc("rigid body", (int64_t)strlen(name) + 1, 1, &own_name));
  b->base.name = strcpy(own_name, name);
  PetscCall(MEMORY_ALLOC("rigid state", ARRAY(b->c, 3), ARRAY(b->q, 4), ARRAY(b->v, 3), ARRAY(b->w, 3)));
  b->mass *= third, b->volume *= third;
  for (int i = 0; i < 9; ++i) b->inertia[i] *= fifth;
  v3_copy(b->c, at->position);
  v3_copy(b->origin, at->position);
  memcpy(b->q, at->orientation, sizeof at->orientation);
  memcpy(b->start, at->orientation, sizeof at->orientation);
  v3_copy(b->v, at->velocity);
  v3_copy(b->w, at->angular_velocity);
  v3_copy(b->u_free, b->w);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void rigid_body_rotation(const rigid_body *b, double q[4])
{
  double back[4];
  memcpy(q, b->q, 4 * sizeof *q);
  if (!b->model) return; /* bodies that are no copies start without rotation */
  quaternion_conjugate(back, b->start);
  quaternion_multiply(q, b->q, back);
}

void rigid_body_destroy_base(body **base)
{
  rigid_body *b = (rigid_body *)*base;
  rigid_body_destroy(&b);
  *base = NULL;
}

void rigid_body_set_gravity(rigid_body *b, const double gravity[3]) { v3_copy(b->gravity, gravity); }

void rigid_body_prescribed_frame(const rigid_body *b, double t, rigid_frame *frame) { motion_frame(b->motion, t, frame); }

void rigid_body_move_to(rigid_body *b, double t)
{
  rigid_frame f;
  motion_frame(b->motion, t, &f);
  v3_copy(b->c, f.c);
  v3_copy(b->v, f.v);
  v3_copy(b->w, f.w);
  quaternion_from_matrix(b->q, f.R);
}

/* All bodies that begin with a rigid_body share this surface function. */
rigid_body *rigid_body_of(body *b) { return b->ops->surface == rigid_body_surface ? (rigid_body *)b : NULL; }
rigid_body *rigid_body_dynamic(body *b) { return b->ops == &rigid_body_ops ? (rigid_body *)b : NULL; }

void rigid_body_current_point(const rigid_body *b, const double x0[3], double x[3])
{
  double q[4], R[9], a[3];
  v3_sub(a, x0, b->origin);
  rigid_body_rotation(b, q);
  quaternion_to_matrix(R, q);
  m3_mulv(x, R, a);
  v3_axpy(x, 1.0, b->c);
}

void rigid_body_displace(rigid_body *b, const double move[6])
{
  double turn[4], q[4];
  v3_axpy(b->c, 1.0, move);
  quaternion_exp(turn, move + 3);
  quaternion_multiply(q, turn, b->q);
  quaternion_normalise(q);
  memcpy(b->q, q, sizeof q);
}

void rigid_body_apply_impulse(rigid_body *b, const double impulse[6])
{
  double R[9], local[3], inverse[9], turn[3], dw[3];
  v3_axpy(b->v, 1.0 / b->mass, impulse);
  quaternion_to_matrix(R, b->q);
  m3_mulv_t(local, R, impulse + 3);
  m3_inverse(inverse, b->inertia);
  m3_mulv(turn, inverse, local);
  m3_mulv(dw, R, turn);
  v3_add(b->w, b->w, dw);
}

/* --- fields ---------------------------------------------------------------------------------------------------------- */

static PetscErrorCode refresh_positions(void *context)
{
  PetscFunctionBegin;
  rigid_body   *b = context;
  const int64_t n = b->n_vertices;
  double        R[9];
  quaternion_to_matrix(R, b->q);
  for (int64_t i = 0; i < n; ++i) {
    m3_mulv(b->position + 3 * i, R, b->surface->x + 3 * i);
    v3_axpy(b->position + 3 * i, 1.0, b->c);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode rigid_body_fields(body *base, field_table *table)
{
  PetscFunctionBegin;
  rigid_body  *b = (rigid_body *)base;
  field_group *g;
  char         name[96];
  if (!b->surface) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(memory_alloc("surface", 3 * b->n_vertices, sizeof *b->position, &b->position));
  snprintf(name, sizeof name, "bodies/%s", b->base.name);
  PetscCall(field_table_add_group(table, name, FIELD_GROUP_SURFACE, &b->n_vertices, b, &g));
  g->is_fixed = b->kind == RIGID_STATIC;
  if (g->is_fixed) PetscCall(refresh_positions(b));
  else g->refresh = refresh_positions;
  g->triangles   = b->surface->tri;
  g->n_triangles = b->surface->n_triangles;
  PetscCall(field_table_add(table, g, "position", "m", FIELD_F64, 3, &b->position,
                            FIELD_FRAME | (g->is_fixed ? FIELD_CONSTANT : FIELD_DERIVED), "surface vertices"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- residual, tangent and end of step of a dynamic body ------------------------------------------------------------- */

/* y = I_w x with I_w = R I R^T. */
static void inertia_times(const rigid_body *b, const double R[9], const double x[3], double y[3])
{
  double body_x[3], body_y[3];
  m3_mulv_t(body_x, R, x);
  m3_mulv(body_y, b->inertia, body_x);
  m3_mulv(y, R, body_y);
}

/* cay(theta) = (1 - [theta]/2)^-1 (1 + [theta]/2), and J with cay(theta + d) cay(theta)^-1 = 1 + [J d] to first order. */
static void cayley(const double theta[3], double Q[9], double J[9])
{
  const double s = 1.0 / (1.0 + 0.25 * v3_dot(theta, theta));
  double       K[9], K2[9];
  m3_skew(K, theta);
  m3_mul(K2, K, K);
  m3_identity(Q);
  m3_axpy(Q, s, K);
  m3_axpy(Q, 0.5 * s, K2);
  m3_identity(J);
  m3_axpy(J, 0.5, K);
  for (int i = 0; i < 9; ++i) J[i] *= s;
}

void rigid_body_frame(const rigid_body *b, const double *vu, double dt, rigid_frame *f)
{
  double Q[9], R0[9], theta[3];
  memset(f, 0, sizeof *f);
  f->block = -1;
  quaternion_to_matrix(R0, b->q);
  if (!vu) {
    v3_copy(f->c, b->c);
    v3_copy(f->v, b->v);
    v3_copy(f->w, b->w);
    m3_copy(f->R, R0);
    m3_identity(f->Jl);
    return;
  }
  for (int k = 0; k < 3; ++k) f->c[k] = b->c[k] + dt * vu[k];
  v3_copy(f->v, vu);
  v3_copy(f->w, vu + 3);
  v3_scale(theta, dt, vu + 3);
  if (b->rotation == RIGID_MIDPOINT) {
    cayley(theta, Q, f->Jl);
  } else {
    rotation_exp(Q, theta);
    rotation_left_jacobian(f->Jl, theta);
  }
  m3_mul(f->R, Q, R0);
}

/* Mean angular velocity of the rotation without torque, and the difference to its final angular velocity. The equations of backward
 * Euler result if the rotation is so fast that free_rotation is not defined. */
static void predict_free_rotation(rigid_body *b)
{
  double inverse[9], theta[3], W1[3];
  v3_copy(b->u_free, b->w);
  v3_set(b->lead, 0.0, 0.0, 0.0);
  if (b->rotation != RIGID_CONSERVING) return;
  m3_inverse(inverse, b->inertia);
  if (!free_rotation(b->inertia, inverse, b->W0, b->dt, theta, W1)) return;
  for (int k = 0; k < 3; ++k) {
    theta[k] /= b->dt;
    b->lead[k] = W1[k] - theta[k];
  }
  m3_mulv(b->u_free, b->R0, theta);
}

static PetscErrorCode rigid_begin_step(body *base, double t, double dt, int64_t *n_blocks, step_status *status)
{
  PetscFunctionBegin;
  rigid_body *b = (rigid_body *)base;
  (void)t, (void)status;
  b->dt     = dt;
  *n_blocks = 2;
  quaternion_to_matrix(b->R0, b->q);
  m3_mulv_t(b->W0, b->R0, b->w);
  inertia_times(b, b->R0, b->w, b->L0);
  predict_free_rotation(b);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode rigid_velocity(const body *base, double *v0)
{
  const rigid_body *b = (const rigid_body *)base;
  v3_copy(v0, b->v);
  v3_copy(v0 + 3, b->rotation == RIGID_CONSERVING ? b->u_free : b->w);
  return PETSC_SUCCESS;
}

static PetscErrorCode rigid_mass(const body *base, double *scale)
{
  const rigid_body *b = (const rigid_body *)base;
  for (int k = 0; k < 3; ++k) scale[k] = b->mass, scale[3 + k] = m3_trace(b->inertia) / 3.0;
  return PETSC_SUCCESS;
}

/* Angular velocity at the end of the step. */
static void end_angular_velocity(const rigid_body *b, const rigid_frame *f, double w[3])
{
  double W[3];
  v3_copy(w, f->w);
  if (b->rotation == RIGID_BACKWARD_EULER) return;
  if (b->rotation == RIGID_CONSERVING) {
    m3_mulv(W, f->R, b->lead);
    v3_axpy(w, 1.0, W);
    return;
  }
  m3_mulv_t(W, b->R0, f->w);
  for (int k = 0; k < 3; ++k) W[k] = 2.0 * W[k] - b->W0[k];
  m3_mulv(w, f->R, W);
}

/* A = d(I_w w)/du: the rotation of the angular momentum, -[L] dt Jl, plus the change of w at a fixed pose. */
static void angular_tangent(const rigid_body *b, const rigid_frame *f, const double L[3], double A[9])
{
  double Iw[9], RI[9], K[9], KJ[9], work[9];
  m3_mul(RI, f->R, b->inertia);
  m3_mul_nt(Iw, RI, f->R);
  if (b->rotation == RIGID_MIDPOINT) {
    /* L = R I W, W = 2 R0^T u - W0: dL = dtheta x L + 2 R I R0^T du */
    m3_skew(K, L);
    m3_mul(KJ, K, f->Jl);
    m3_mul_nt(A, RI, b->R0);
    for (int i = 0; i < 9; ++i) A[i] = 2.0 * A[i] - b->dt * KJ[i];
    return;
  }
  /* L = R I (R^T u + lead): I_w + (I_w [u] - [L]) dt Jl */
  m3_skew(K, f->w);
  m3_mul(work, Iw, K);
  m3_skew(K, L);
  m3_axpy(work, -1.0, K);
  m3_mul(KJ, work, f->Jl);
  for (int i = 0; i < 9; ++i) A[i] = Iw[i] + b->dt * KJ[i];
}

/* The symmetric part of the angular tangent: the inertia. Gyroscopic and other rotation terms are omitted. */
static void definite_inertia(const rigid_body *b, const rigid_frame *f, double A[9])
{
  const bool    is_midpoint = b->rotation == RIGID_MIDPOINT;
  const double *R           = is_midpoint ? b->R0 : f->R; /* w = R (2 R0^T u - ...), hence approximately 2 R0 I R0^T u */
  double        RI[9];
  m3_mul(RI, R, b->inertia);
  m3_mul_nt(A, RI, R);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < i; ++j) A[3 * i + j] = A[3 * j + i] = 0.5 * (A[3 * i + j] + A[3 * j + i]);
  for (int i = 0; i < 9 && is_midpoint; ++i) A[i] *= 2.0;
}

/* Anchor springs: force on the body f = -k (x - to) - damping (x - x0)/dt at x = c + a, torque a x f. */
static void add_anchor(const rigid_body *b, const rigid_anchor *anchor, const rigid_frame *f, double *g, double *H)
{
  const double dt = b->dt, k = anchor->stiffness + anchor->damping / dt;
  double       a[3], a0[3], force[3], torque[3];
  m3_mulv(a, f->R, anchor->a);
  m3_mulv(a0, b->R0, anchor->a);
  for (int i = 0; i < 3; ++i) {
    const double x = f->c[i] + a[i], x0 = b->c[i] + a0[i];
    force[i] = -anchor->stiffness * (x - anchor->to[i]) - anchor->damping * (x - x0) / dt;
  }
  v3_cross(torque, a, force);
  v3_axpy(g, -dt, force);
  v3_axpy(g + 3, -dt, torque);
  if (!H) return;
  /* dx = dt dv - [a] dtheta, df = -k dx, d(a x f) = [a] df + [f][a] dtheta, dtheta = dt Jl du */
  double A[9], F[9], AJ[9], AA[9], FA[9], W[9], WJ[9];
  m3_skew(A, a);
  m3_skew(F, force);
  m3_mul(AA, A, A);
  if (b->is_definite) { /* k B^T B, B = (1, -[a]) */
    m3_copy(AJ, A);
    m3_zero(WJ);
    m3_axpy(WJ, k, AA);
  } else {
    m3_mul(AJ, A, f->Jl);
    m3_mul(FA, F, A);
    for (int i = 0; i < 9; ++i) W[i] = k * AA[i] + FA[i];
    m3_mul(WJ, W, f->Jl);
  }
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      H[6 * i + j] += i == j ? dt * dt * k : 0.0;
      H[6 * i + 3 + j] -= dt * dt * k * AJ[3 * i + j];
      H[6 * (3 + i) + j] += dt * dt * k * A[3 * i + j];
      H[6 * (3 + i) + 3 + j] -= dt * dt * WJ[3 * i + j];
    }
}

static PetscErrorCode rigid_residual(body *base, const double *v, double *g, bool with_tangent, step_status *status)
{
  PetscFunctionBegin;
  rigid_body *b = (rigid_body *)base;
  rigid_frame f;
  double      w[3], L[3], sum = 0.0;
  for (int k = 0; k < 6; ++k) sum += fabs(v[k]);
  if (!isfinite(sum)) {
    *status = (step_status){STEP_NOT_FINITE, base->name, 0};
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  rigid_body_frame(b, v, b->dt, &f);
  end_angular_velocity(b, &f, w);
  inertia_times(b, f.R, w, L);
  for (int k = 0; k < 3; ++k) {
    g[k] += b->mass * (v[k] - b->v[k]) - b->dt * (b->mass * b->gravity[k] + b->force[k]);
    g[3 + k] += L[k] - b->L0[k] - b->dt * b->torque[k];
  }
  if (with_tangent) {
    double A[9];
    memset(b->H, 0, sizeof b->H);
    if (b->is_definite) definite_inertia(b, &f, A);
    else angular_tangent(b, &f, L, A);
    for (int i = 0; i < 3; ++i) {
      b->H[7 * i] = b->mass;
      for (int j = 0; j < 3; ++j) b->H[6 * (3 + i) + 3 + j] = A[3 * i + j];
    }
  }
  for (int i = 0; i < b->n_anchors; ++i) add_anchor(b, &b->anchors[i], &f, g, with_tangent ? b->H : NULL);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode rigid_tangent(const body *base, const double *x, double *y, bool is_transposed)
{
  const rigid_body *b = (const rigid_body *)base;
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 6; ++j) y[i] += (is_transposed ? b->H[6 * j + i] : b->H[6 * i + j]) * x[j];
  return PETSC_SUCCESS;
}

static PetscErrorCode rigid_block_diagonal(const body *base, double *d)
{
  const rigid_body *b = (const rigid_body *)base;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      d[3 * i + j] += b->H[6 * i + j];
      d[9 + 3 * i + j] += b->H[6 * (3 + i) + 3 + j];
    }
  return PETSC_SUCCESS;
}

static int rigid_couplings(const body *base, int64_t block, int32_t *other)
{
  (void)base, (void)block;
  other[0] = 0, other[1] = 1;
  return 2;
}

static PetscErrorCode rigid_assemble(const body *base, const block_rows *H)
{
  const rigid_body *b = (const rigid_body *)base;
  for (int row = 0; row < 2; ++row)
    for (int col = 0; col < 2; ++col) {
      double *to = block_rows_at(H, base->first_block + row, base->first_block + col);
      for (int e = 0; e < 9; ++e) to[e] += b->H[6 * (3 * row + e / 3) + 3 * col + e % 3];
    }
  return PETSC_SUCCESS;
}

static void rigid_set_definite(body *base, bool is_wanted) { ((rigid_body *)base)->is_definite = is_wanted; }

static PetscErrorCode rigid_end_step(body *base, const double *v, step_status *status)
{
  PetscFunctionBegin;
  rigid_body *b = (rigid_body *)base;
  rigid_frame f;
  double      turn[4], q[4], theta[3], w[3];
  (void)status;
  rigid_body_frame(b, v, b->dt, &f);
  end_angular_velocity(b, &f, w);
  v3_copy(b->c, f.c);
  v3_copy(b->v, v);
  v3_copy(b->w, w);
  if (b->rotation == RIGID_MIDPOINT) {
    /* cay(theta) as a quaternion: (1, theta/2) normalised */
    turn[0] = 1.0;
    v3_scale(turn + 1, 0.5 * b->dt, v + 3);
    quaternion_normalise(turn);
  } else {
    v3_scale(theta, b->dt, v + 3);
    quaternion_exp(turn, theta);
  }
  quaternion_multiply(q, turn, b->q);
  quaternion_normalise(q);
  memcpy(b->q, q, sizeof q);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode rigid_totals(const body *base, const double gravity[3], body_totals *out)
{
  const rigid_body *b = (const rigid_body *)base;
  double            R[9], L[3], arm[3];
  memset(out, 0, sizeof *out);
  out->mass = b->mass;
  v3_copy(out->center, b->c);
  quaternion_to_matrix(R, b->q);
  inertia_times(b, R, b->w, L);
  out->kinetic   = 0.5 * b->mass * v3_dot(b->v, b->v) + 0.5 * v3_dot(b->w, L);
  out->potential = -b->mass * v3_dot(gravity, b->c);
  for (int i = 0; i < b->n_anchors; ++i) {
    double x[3];
    m3_mulv(x, R, b->anchors[i].a);
    for (int k = 0; k < 3; ++k) x[k] += b->c[k] - b->anchors[i].to[k];
    out->elastic += 0.5 * b->anchors[i].stiffness * v3_dot(x, x);
  }
  v3_scale(out->momentum, b->mass, b->v);
  v3_cross(arm, b->c, out->momentum);
  v3_add(out->angular_momentum, arm, L);
  return PETSC_SUCCESS;
}

int64_t rigid_body_n_clusters(const body *base) { return ((const rigid_body *)base)->n_clusters; }

void rigid_body_cluster(const body *base, int64_t i, double center[3], double *radius, int64_t *first, int64_t *end)
{
  const rigid_body *b = (const rigid_body *)base;
  m3_mulv(center, b->R0, b->cluster_center + 3 * i);
  v3_axpy(center, 1.0, b->c);
  *radius = b->cluster_radius[i];
  *first  = i * RIGID_CLUSTER;
  *end    = *first + RIGID_CLUSTER < b->n_vertices ? *first + RIGID_CLUSTER : b->n_vertices;
}

int64_t rigid_body_point(const body *base, int64_t i, double x[3])
{
  const rigid_body *b = (const rigid_body *)base;
  m3_mulv(x, b->R0, b->surface->x + 3 * i);
  v3_axpy(x, 1.0, b->c);
  return i;
}

static void rigid_step_frame(const body *base, double t, double dt, const double *v, rigid_frame *frame)
{
  (void)t;
  rigid_body_frame((const rigid_body *)base, v, dt, frame);
  frame->block = base->first_block;
}

/* A quarter of the radius: the length scale of contact search for this body. */
static double rigid_length(const body *base) { return 0.25 * ((const rigid_body *)base)->radius; }

const body_ops rigid_body_ops = {
    .kind           = "rigid",
    .begin_step     = rigid_begin_step,
    .velocity       = rigid_velocity,
    .mass           = rigid_mass,
    .residual       = rigid_residual,
    .tangent        = rigid_tangent,
    .block_diagonal = rigid_block_diagonal,
    .end_step       = rigid_end_step,
    .totals         = rigid_totals,
    .points         = POINT_RIGID,
    .n_clusters     = rigid_body_n_clusters,
    .cluster        = rigid_body_cluster,
    .point          = rigid_body_point,
    .couplings      = rigid_couplings,
    .assemble       = rigid_assemble,
    .set_definite   = rigid_set_definite,
    .destroy        = rigid_body_destroy_base,
    .level_sets     = rigid_body_level_sets,
    .surface        = rigid_body_surface,
    .solids         = rigid_body_solids,
    .frame          = rigid_step_frame,
    .length         = rigid_length,
    .describe       = rigid_body_describe,
};

/* --- functions that dynamic bodies, obstacles and links share ------------------------------------------------------- */

level_set *const *rigid_body_level_sets(const body *base, int *n)
{
  const rigid_body *b = (const rigid_body *)base;
  *n                  = b->n_level_sets;
  return b->level_sets;
}

/* The surface in the body frame; no triangles if the contact surface is a level set. */
void rigid_body_surface(const body *base, body_surface *out)
{
  const rigid_body *b = (const rigid_body *)base;
  if (b->contact_surface == RIGID_CONTACT_MESH)
    *out = (body_surface){b->surface->n_vertices, b->surface->n_triangles, b->surface->tri, b->surface->x, b->surface->x};
  else *out = (body_surface){0, 0, NULL, NULL, NULL};
}

const convex_solid *rigid_body_solids(const body *base, int *n)
{
  const rigid_body *b = (const rigid_body *)base;
  *n                  = b->n_solids;
  return b->solids;
}

void rigid_body_describe(const body *base, FILE *out)
{
  const rigid_body *b = (const rigid_body *)base;
  if (b->contact_surface == RIGID_CONTACT_MESH)
    fprintf(out, "%lld contact triangles, %lld surface vertices", (long long)b->surface->n_triangles, (long long)b->n_vertices);
  else fprintf(out, "%d level sets, %lld surface vertices", b->n_level_sets, (long long)b->n_vertices);
}

/* --- obstacles ------------------------------------------------------------------------------------------------------- */

static void obstacle_frame(const body *base, double t, double dt, const double *v, rigid_frame *frame)
{
  rigid_body_prescribed_frame((const rigid_body *)base, v ? t + dt : t, frame);
}

static void obstacle_move_to(body *base, double t) { rigid_body_move_to((rigid_body *)base, t); }

static PetscErrorCode obstacle_totals(const body *base, const double gravity[3], body_totals *out)
{
  (void)gravity;
  memset(out, 0, sizeof *out);
  v3_copy(out->center, ((const rigid_body *)base)->c);
  return PETSC_SUCCESS;
}

const body_ops rigid_obstacle_ops = {
    .kind       = "obstacle",
    .points     = POINT_NONE,
    .totals     = obstacle_totals,
    .fields     = rigid_body_fields,
    .level_sets = rigid_body_level_sets,
    .surface    = rigid_body_surface,
    .solids     = rigid_body_solids,
    .frame      = obstacle_frame,
    .move_to    = obstacle_move_to,
    .describe   = rigid_body_describe,
    .destroy    = rigid_body_destroy_base,
};

PetscErrorCode rigid_body_closed_surface(body *b, const triangle_mesh **out)
{
  const rigid_body     *rigid = b ? rigid_body_of(b) : NULL;
  triangle_mesh_defects defects;
  int                   n_solids = 0;
  PetscFunctionBegin;
  *out = NULL;
  if (!rigid || body_system(b) || !rigid->surface) PetscFunctionReturn(PETSC_SUCCESS);
  if (b->ops->solids) (void)b->ops->solids(b, &n_solids);
  if (n_solids > 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(triangle_mesh_check(rigid->surface, &defects));
  if (triangle_mesh_is_sound(&defects)) *out = rigid->surface;
  PetscFunctionReturn(PETSC_SUCCESS);
}
