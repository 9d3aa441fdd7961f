/* Implementation of articulated_tree.h: kinematics and dynamics of trees of rigid links in reduced coordinates. */
#include "discretize/articulated/articulated_tree.h"
#include "core/memory.h"
#include "core/quaternion.h"
#include <string.h>

static int joint_type_positions(joint_type t)
{
  static const int n[] = {
      [JOINT_REVOLUTE] = 1, [JOINT_PRISMATIC] = 1, [JOINT_BALL] = 4, [JOINT_FREE] = 7, [JOINT_FIXED] = 0, [JOINT_PLANAR] = 3};
  return n[t];
}

int joint_type_rates(joint_type t)
{
  static const int n[] = {
      [JOINT_REVOLUTE] = 1, [JOINT_PRISMATIC] = 1, [JOINT_BALL] = 3, [JOINT_FREE] = 6, [JOINT_FIXED] = 0, [JOINT_PLANAR] = 3};
  return n[t];
}

/* ---- creation -------------------------------------------------------------------------------------------------------- */

PetscErrorCode articulated_tree_create(int n, const int *type, articulated_tree *t)
{
  PetscFunctionBegin;
  *t = (articulated_tree){.n = n};
  PetscCall(MEMORY_ALLOC("links", ARRAY(t->parent, n), ARRAY(t->type, n), ARRAY(t->q_start, n + 1), ARRAY(t->rate_start, n + 1)));
  for (int i = 0; i < n; ++i) {
    t->type[i]           = type[i];
    t->q_start[i + 1]    = t->q_start[i] + joint_type_positions((joint_type)type[i]);
    t->rate_start[i + 1] = t->rate_start[i] + joint_type_rates((joint_type)type[i]);
  }
  t->n_q = t->q_start[n], t->n_rates = t->rate_start[n];
  PetscCall(MEMORY_ALLOC("articulated tree", ARRAY(t->anchor, 3 * n), ARRAY(t->axes, 9 * n), ARRAY(t->mass, n), ARRAY(t->center, 3 * n),
                         ARRAY(t->inertia, 9 * n), ARRAY(t->dof, t->n_rates), ARRAY(t->leader, t->n_rates), ARRAY(t->factor, t->n_rates),
                         ARRAY(t->offset, t->n_rates), ARRAY(t->composite, n), ARRAY(t->motion, 6 * n), ARRAY(t->force, 6 * n),
                         ARRAY(t->full, (int64_t)t->n_rates * t->n_rates)));
  for (int k = 0; k < t->n_rates; ++k) t->leader[k] = k, t->factor[k] = 1.0;
  articulated_tree_number(t);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void articulated_tree_destroy(articulated_tree *t)
{
  MEMORY_FREE(&t->parent, &t->type, &t->q_start, &t->rate_start, &t->anchor, &t->axes, &t->mass, &t->center, &t->inertia, &t->dof,
              &t->leader, &t->factor, &t->offset, &t->composite, &t->motion, &t->force, &t->full);
}

void articulated_tree_number(articulated_tree *t)
{
  t->n_v = 0;
  for (int k = 0; k < t->n_rates; ++k)
    if (t->leader[k] == k) t->dof[k] = t->n_v++;
  for (int k = 0; k < t->n_rates; ++k) t->dof[k] = t->dof[t->leader[k]];
}

void articulated_axes(const double direction[3], double axes[9])
{
  double *n = axes, *e = axes + 3, *f = axes + 6;
  v3_scale(n, 1.0 / v3_norm(direction), direction);
  const int k = fabs(n[0]) <= fabs(n[1]) ? (fabs(n[0]) <= fabs(n[2]) ? 0 : 2) : (fabs(n[1]) <= fabs(n[2]) ? 1 : 2);
  v3_scale(e, -n[k], n);
  e[k] += 1.0;
  v3_scale(e, 1.0 / v3_norm(e), e);
  v3_cross(f, n, e);
}

/* ---- positions ------------------------------------------------------------------------------------------------------- */

void articulated_tree_rest(const articulated_tree *t, double *q)
{
  for (int i = 0; i < t->n; ++i) {
    double *own = q + t->q_start[i];
    for (int k = 0; k < joint_type_positions((joint_type)t->type[i]); ++k) own[k] = 0.0;
    if (t->type[i] == JOINT_BALL) own[0] = 1.0;
    if (t->type[i] == JOINT_FREE) own[3] = 1.0;
    if (joint_type_rates((joint_type)t->type[i]) == 1) own[0] = t->offset[t->rate_start[i]];
  }
}

static void articulated_tree_turn(const double q[4], const double w[3], double dt, double out[4])
{
  double theta[3], by[4];
  v3_scale(theta, dt, w);
  quaternion_exp(by, theta);
  quaternion_multiply(out, by, q);
  quaternion_normalise(out);
}

/* Advance the position of one joint. */
static void advance_joint(const articulated_tree *t, int i, const double *q, const double *v, double dt, double *q1)
{
  const int     k   = t->rate_start[i];
  const double *own = q + t->q_start[i];
  double       *to = q1 + t->q_start[i], rate[6] = {0.0};
  for (int j = 0; j < t->rate_start[i + 1] - k; ++j) rate[j] = t->factor[k + j] * v[t->dof[k + j]];
  switch ((joint_type)t->type[i]) {
  case JOINT_FIXED: break;
  case JOINT_BALL: articulated_tree_turn(own, rate, dt, to); break;
  case JOINT_FREE:
    for (int j = 0; j < 3; ++j) to[j] = own[j] + dt * rate[j];
    articulated_tree_turn(own + 3, rate + 3, dt, to + 3);
    break;
  case JOINT_PLANAR:
    for (int j = 0; j < 3; ++j) to[j] = own[j] + dt * rate[j];
    break;
  case JOINT_REVOLUTE:
  case JOINT_PRISMATIC: to[0] = own[0] + dt * rate[0]; break;
  }
}

/* The link whose joint has rate k. */
static int link_of_rate(const articulated_tree *t, int k)
{
  int i = 0;
  while (t->rate_start[i + 1] <= k) ++i;
  return i;
}

void articulated_tree_advance(const articulated_tree *t, const double *q, const double *v, double dt, double *q1)
{
  for (int i = 0; i < t->n; ++i) advance_joint(t, i, q, v, dt, q1);
  for (int i = 0; i < t->n; ++i) { /* computed from the leader's position, so that they do not drift apart */
    const int k = t->rate_start[i];
    if (joint_type_rates((joint_type)t->type[i]) != 1 || t->leader[k] == k) continue;
    q1[t->q_start[i]] = t->factor[k] * q1[t->q_start[link_of_rate(t, t->leader[k])]] + t->offset[k];
  }
}

/* x -> Q (x - a) + a + d: motion of the joint, before that of its parent. */
static void joint_motion(const articulated_tree *t, int i, const double *q, double Q[9], double d[3])
{
  const double *own = q + t->q_start[i], *axes = t->axes + 9 * i;
  double        theta[3];
  m3_identity(Q);
  v3_set(d, 0.0, 0.0, 0.0);
  switch ((joint_type)t->type[i]) {
  case JOINT_FIXED: break;
  case JOINT_REVOLUTE:
    v3_scale(theta, own[0], axes);
    rotation_exp(Q, theta);
    break;
  case JOINT_PRISMATIC: v3_scale(d, own[0], axes); break;
  case JOINT_BALL: quaternion_to_matrix(Q, own); break;
  case JOINT_FREE:
    v3_copy(d, own);
    quaternion_to_matrix(Q, own + 3);
    break;
  case JOINT_PLANAR:
    v3_axpy(d, own[0], axes + 3);
    v3_axpy(d, own[1], axes + 6);
    v3_scale(theta, own[2], axes);
    rotation_exp(Q, theta);
    break;
  }
}

static const double world_R[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, world_p[3];

/* R, p of link i from those of its parent or the world. */
static void link_pose(const articulated_tree *t, int i, const double *q, const double *Rp, const double *pp, double R[9], double p[3])
{
  const double *a = t->anchor + 3 * i;
  double        Q[9], d[3], at[3];
  joint_motion(t, i, q, Q, d);
  m3_mulv(at, Q, a);
  for (int k = 0; k < 3; ++k) at[k] = a[k] + d[k] - at[k];
  m3_mul(R, Rp, Q);
  m3_mulv(p, Rp, at);
  v3_axpy(p, 1.0, pp);
}

void articulated_tree_pose(const articulated_tree *t, const double *q, double *R, double *p)
{
  for (int i = 0; i < t->n; ++i) {
    const int up = t->parent[i];
    link_pose(t, i, q, up < 0 ? world_R : R + 9 * up, up < 0 ? world_p : p + 3 * up, R + 9 * i, p + 3 * i);
  }
}

void articulated_tree_link_pose(const articulated_tree *t, const double *q, int link, double R[9], double p[3])
{
  double Rp[9], pp[3];
  if (t->parent[link] < 0) {
    link_pose(t, link, q, world_R, world_p, R, p);
    return;
  }
  articulated_tree_link_pose(t, q, t->parent[link], Rp, pp);
  link_pose(t, link, q, Rp, pp, R, p);
}

/* ---- velocities ------------------------------------------------------------------------------------------------------ */

static void turning_column(double S[6], const double axis[3], const double o[3])
{
  v3_copy(S, axis);
  v3_cross(S + 3, o, axis);
}

static void sliding_column(double S[6], const double axis[3])
{
  v3_set(S, 0.0, 0.0, 0.0);
  v3_copy(S + 3, axis);
}

/* The axes of a joint in its parent's orientation, and the current position of its point a. */
static void joint_frame(const articulated_tree *t, int i, const double *q, const double *R, const double *p, double axes[9], double o[3])
{
  static const double one[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  const int           up     = t->parent[i];
  const double       *drawn  = t->type[i] == JOINT_BALL || t->type[i] == JOINT_FREE ? one : t->axes + 9 * i;
  double              Q[9], at[3];
  joint_motion(t, i, q, Q, at);
  v3_axpy(at, 1.0, t->anchor + 3 * i);
  v3_copy(o, at);
  memcpy(axes, drawn, 9 * sizeof *axes);
  if (up < 0) return;
  m3_mulv(o, R + 9 * up, at);
  v3_axpy(o, 1.0, p + 3 * up);
  for (int k = 0; k < 3; ++k) m3_mulv(axes + 3 * k, R + 9 * up, drawn + 3 * k);
}

void articulated_tree_columns(const articulated_tree *t, const double *q, const double *R, const double *p, double *S)
{
  for (int i = 0; i < t->n; ++i) {
    double  axes[9], o[3];
    double *own = S + 6 * t->rate_start[i];
    if (t->type[i] == JOINT_FIXED) continue;
    joint_frame(t, i, q, R, p, axes, o);
    switch ((joint_type)t->type[i]) {
    case JOINT_REVOLUTE: turning_column(own, axes, o); break;
    case JOINT_PRISMATIC: sliding_column(own, axes); break;
    case JOINT_BALL:
      for (int k = 0; k < 3; ++k) turning_column(own + 6 * k, axes + 3 * k, o);
      break;
    case JOINT_FREE:
      for (int k = 0; k < 3; ++k) sliding_column(own + 6 * k, axes + 3 * k), turning_column(own + 18 + 6 * k, axes + 3 * k, o);
      break;
    case JOINT_PLANAR: sliding_column(own, axes + 3), sliding_column(own + 6, axes + 6), turning_column(own + 12, axes, o); break;
    case JOINT_FIXED: break;
    }
  }
}

/* Motion that the joint of link i adds to that of its parent. */
static void joint_velocity(const articulated_tree *t, int i, const double *S, const double *v, double V[6])
{
  memset(V, 0, 6 * sizeof *V);
  for (int k = t->rate_start[i]; k < t->rate_start[i + 1]; ++k) spatial_axpy(V, t->factor[k] * v[t->dof[k]], S + 6 * k);
}

void articulated_tree_velocities(const articulated_tree *t, const double *S, const double *v, double *V)
{
  for (int i = 0; i < t->n; ++i) {
    joint_velocity(t, i, S, v, V + 6 * i);
    if (t->parent[i] >= 0) spatial_axpy(V + 6 * i, 1.0, V + 6 * t->parent[i]);
  }
}

void articulated_tree_point_jacobian(const articulated_tree *t, const double *S, int link, const double x[3], double *J)
{
  memset(J, 0, (size_t)(3 * t->n_v) * sizeof *J);
  for (; link >= 0; link = t->parent[link])
    for (int k = t->rate_start[link]; k < t->rate_start[link + 1]; ++k) {
      double u[3];
      spatial_point_velocity(u, S + 6 * k, x);
      for (int r = 0; r < 3; ++r) J[r * t->n_v + t->dof[k]] += t->factor[k] * u[r];
    }
}

/* ---- mass and forces ------------------------------------------------------------------------------------------------- */

static void link_inertia(const articulated_tree *t, int i, const double *R, const double *p, spatial_inertia *out)
{
  double c[3], RI[9], J[9];
  m3_mulv(c, R + 9 * i, t->center + 3 * i);
  v3_axpy(c, 1.0, p + 3 * i);
  m3_mul(RI, R + 9 * i, t->inertia + 9 * i);
  m3_mul_nt(J, RI, R + 9 * i);
  spatial_inertia_set(out, t->mass[i], c, J);
}

void articulated_tree_mass_matrix(articulated_tree *t, const double *R, const double *p, const double *S, double *M)
{
  const int m = t->n_rates;
  memset(t->full, 0, (size_t)(m * m) * sizeof *t->full);
  memset(M, 0, (size_t)(t->n_v * t->n_v) * sizeof *M);
  for (int i = 0; i < t->n; ++i) link_inertia(t, i, R, p, &t->composite[i]);
  for (int i = t->n - 1; i >= 0; --i) {
    if (t->parent[i] >= 0) spatial_inertia_add(&t->composite[t->parent[i]], &t->composite[i]);
    for (int k = t->rate_start[i]; k < t->rate_start[i + 1]; ++k) {
      double F[6];
      spatial_inertia_times(F, &t->composite[i], S + 6 * k);
      for (int up = i; up >= 0; up = t->parent[up])
        for (int l = t->rate_start[up]; l < t->rate_start[up + 1]; ++l)
          if (l <= k) t->full[m * k + l] = t->full[m * l + k] = spatial_dot(F, S + 6 * l);
    }
  }
  for (int k = 0; k < m; ++k)
    for (int l = 0; l < m; ++l) M[t->n_v * t->dof[k] + t->dof[l]] += t->factor[k] * t->factor[l] * t->full[m * k + l];
}

void articulated_tree_project(const articulated_tree *t, const double *S, double *F, double *tau)
{
  for (int i = t->n - 1; i >= 0; --i) {
    for (int k = t->rate_start[i]; k < t->rate_start[i + 1]; ++k) tau[t->dof[k]] += t->factor[k] * spatial_dot(F + 6 * i, S + 6 * k);
    if (t->parent[i] >= 0) spatial_axpy(F + 6 * t->parent[i], 1.0, F + 6 * i);
  }
}

/* Rate of change of the columns of a joint in addition to that from its parent: for columns that rotate about a moving point. */
static void sliding_centre(const articulated_tree *t, int i, const double *S, const double *v, double A[6])
{
  const int k = t->rate_start[i], first = t->type[i] == JOINT_FREE ? 3 : 2, end = t->rate_start[i + 1] - k;
  double    slide[3] = {0.0}, spin[3] = {0.0}, t3[3];
  if (t->type[i] != JOINT_FREE && t->type[i] != JOINT_PLANAR) return;
  for (int j = 0; j < first; ++j) v3_axpy(slide, t->factor[k + j] * v[t->dof[k + j]], S + 6 * (k + j) + 3);
  for (int j = first; j < end; ++j) v3_axpy(spin, t->factor[k + j] * v[t->dof[k + j]], S + 6 * (k + j));
  v3_cross(t3, slide, spin);
  v3_axpy(A + 3, 1.0, t3);
}

void articulated_tree_inverse_dynamics(articulated_tree *t, const double *R, const double *p, const double *S, const double *v,
                                       const double *a, const double gravity[3], double *tau)
{
  double *const V = t->motion, *const F = t->force;
  memset(tau, 0, (size_t)t->n_v * sizeof *tau);
  articulated_tree_velocities(t, S, v, V);
  for (int i = 0; i < t->n; ++i) { /* F contains accelerations in the outward pass */
    static const double none[6];
    const int           up = t->parent[i];
    double              own[6], carried[6], *A = F + 6 * i;
    memcpy(A, up < 0 ? none : F + 6 * up, 6 * sizeof *A);
    if (up < 0) v3_axpy(A + 3, -1.0, gravity);
    joint_velocity(t, i, S, v, own);
    if (up >= 0) {
      spatial_cross_motion(carried, V + 6 * up, own);
      spatial_axpy(A, 1.0, carried);
    }
    sliding_centre(t, i, S, v, A);
    for (int k = t->rate_start[i]; a && k < t->rate_start[i + 1]; ++k) spatial_axpy(A, t->factor[k] * a[t->dof[k]], S + 6 * k);
  }
  for (int i = 0; i < t->n; ++i) {
    double momentum[6], force[6], turned[6];
    link_inertia(t, i, R, p, &t->composite[i]);
    spatial_inertia_times(momentum, &t->composite[i], V + 6 * i);
    spatial_inertia_times(force, &t->composite[i], F + 6 * i);
    spatial_cross_force(turned, V + 6 * i, momentum);
    for (int k = 0; k < 6; ++k) F[6 * i + k] = force[k] + turned[k];
  }
  articulated_tree_project(t, S, F, tau);
}
