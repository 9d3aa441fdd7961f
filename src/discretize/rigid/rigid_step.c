/* The equations of a dynamic rigid body as a `body`: residual, tangent, end of step. */
#include <string.h>
#include "core/math3.h"
#include "core/quaternion.h"
#include "discretize/rigid/rigid_body.h"

/* I_w x with I_w = R I R^T. */
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

static PetscErrorCode rigid_begin_step(body *base, double t, double dt, int64_t *n_blocks, step_verdict *verdict)
{
  PetscFunctionBegin;
  rigid_body *b = (rigid_body *)base;
  (void)t, (void)verdict;
  b->dt     = dt;
  *n_blocks = 2;
  quaternion_to_matrix(b->R0, b->q);
  m3_mulv_t(b->W0, b->R0, b->w);
  inertia_times(b, b->R0, b->w, b->L0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode rigid_velocity(const body *base, double *v0)
{
  const rigid_body *b = (const rigid_body *)base;
  v3_copy(v0, b->v);
  v3_copy(v0 + 3, b->w);
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
  if (b->rotation != RIGID_MIDPOINT) return;
  m3_mulv_t(W, b->R0, f->w);
  for (int k = 0; k < 3; ++k) W[k] = 2.0 * W[k] - b->W0[k];
  m3_mulv(w, f->R, W);
}

/* d(I_w w)/du: turning what is there, -[L] dt Jl, and changing w at fixed pose. */
static void angular_tangent(const rigid_body *b, const rigid_frame *f, const double w[3], const double L[3], double A[9])
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
  /* I_w + (I_w [w] - [I_w w]) dt Jl */
  m3_skew(K, w);
  m3_mul(work, Iw, K);
  m3_skew(K, L);
  m3_axpy(work, -1.0, K);
  m3_mul(KJ, work, f->Jl);
  for (int i = 0; i < 9; ++i) A[i] = Iw[i] + b->dt * KJ[i];
}

/* Its symmetric part, the inertia: what turns with the body, gyroscopic terms among it, is left out. */
static void definite_inertia(const rigid_body *b, const rigid_frame *f, double A[9])
{
  const bool    is_midpoint = b->rotation == RIGID_MIDPOINT;
  const double *R = is_midpoint ? b->R0 : f->R; /* w = R (2 R0^T u - ...): near 2 R0 I R0^T u */
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

static PetscErrorCode rigid_residual(body *base, const double *v, double *g, bool with_tangent, step_verdict *verdict)
{
  PetscFunctionBegin;
  rigid_body *b = (rigid_body *)base;
  rigid_frame f;
  double      w[3], L[3], sum = 0.0;
  for (int k = 0; k < 6; ++k) sum += fabs(v[k]);
  if (!isfinite(sum)) {
    *verdict = (step_verdict){STEP_NOT_FINITE, base->name, 0};
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
    else angular_tangent(b, &f, w, L, A);
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

static PetscErrorCode rigid_end_step(body *base, const double *v, step_verdict *verdict)
{
  PetscFunctionBegin;
  rigid_body *b = (rigid_body *)base;
  rigid_frame f;
  double      turn[4], q[4], theta[3], w[3];
  (void)verdict;
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

static void rigid_pose(const body *base, double t, double dt, const double *v, rigid_frame *frame)
{
  (void)t;
  rigid_body_frame((const rigid_body *)base, v, dt, frame);
  frame->block = base->first_block;
}

/* A quarter of its size: contact within this is near. */
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
  .fields         = rigid_body_fields,
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
  .frame          = rigid_pose,
  .length         = rigid_length,
  .describe       = rigid_body_describe,
};
