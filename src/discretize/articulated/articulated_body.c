/* Implementation of articulated_body.h: constraints of joints and loops, residual, tangent, end of step, totals, fields, links. */
#include "discretize/articulated/articulated_body.h"
#include <string.h>
#include "core/math3.h"
#include "core/memory.h"
#include "core/quaternion.h"

/* --- constraints of joints and loops: rows in the velocities, evaluated at the end of the step ------------------------------ */

#define PERIOD 0.1 /* period of the springs of limits and loops, in steps; short enough to have no visible effect */
#define CREEP 1e-3 /* dry friction: R relative to the inverse mass */

/* Compliance of such a spring for inverse mass w. */
static double rigid_compliance(double w) { return PERIOD * PERIOD / (4.0 * M_PI * M_PI) * w; }

PetscErrorCode articulated_constraints_create(articulated_body *b)
{
  const int64_t n_v = b->tree.n_v, most = 2 * n_v + b->n_pins, entries = (4 + 3 * (int64_t)b->n_pins) * n_v;
  PetscFunctionBegin;
  PetscCall(MEMORY_ALLOC("articulated body", ARRAY(b->law, most), ARRAY(b->row_start, 3 * most + 1), ARRAY(b->row_dof, entries),
                         ARRAY(b->row_value, entries), ARRAY(b->pin_at, b->n_pins), ARRAY(b->motor, n_v), ARRAY(b->feed, n_v)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- constraints of the step ------------------------------------------------------------------------------------------ */

static constraint *open_constraint(articulated_body *b)
{
  constraint *c = &b->law[b->n_laws++];
  *c            = constraint_none();
  for (int i = 0; i < 3; ++i) b->row_start[3 * b->n_laws - 2 + i] = b->row_start[3 * (b->n_laws - 1)];
  return c;
}

/* Add an entry to row i of the last constraint; rows in ascending order. */
static void add_entry(articulated_body *b, int i, int dof, double value)
{
  int64_t *end     = &b->row_start[3 * (b->n_laws - 1) + i + 1];
  b->row_dof[*end] = dof, b->row_value[*end] = value;
  const int64_t to = *end + 1;
  for (int k = i; k < 3; ++k) b->row_start[3 * (b->n_laws - 1) + k + 1] = to;
}

static void set_row(constraint *c, int i, double bias, double R, double lower, double upper)
{
  c->bias[i] = bias, c->R[i] = R, c->lower[i] = lower, c->upper[i] = upper;
}

/* Position limits, velocity limits and dry friction of independent velocity k. */
static void add_stops(articulated_body *b, int k)
{
  const articulated_axis *a    = &b->axis[k];
  const double            w    = 1.0 / b->M[(b->tree.n_v + 1) * k];
  double                  most = a->max_rate, least = -a->max_rate;
  if (b->q_of[k] >= 0) {
    most  = fmin(most, (a->upper - b->q[b->q_of[k]]) / b->dt);
    least = fmax(least, (a->lower - b->q[b->q_of[k]]) / b->dt);
  }
  if (!isfinite(most) && !isfinite(least) && !(a->friction > 0.0)) return;
  constraint *c = open_constraint(b);
  if (isfinite(most)) set_row(c, 0, most, rigid_compliance(w), -INFINITY, 0.0), add_entry(b, 0, k, 1.0);
  if (isfinite(least)) set_row(c, 1, least, rigid_compliance(w), 0.0, INFINITY), add_entry(b, 1, k, 1.0);
  if (a->friction > 0.0) set_row(c, 2, 0.0, CREEP * w, -b->dt * a->friction, b->dt * a->friction), add_entry(b, 2, k, 1.0);
}

/* The motor of independent velocity k: stiffness (target - q) + damping (rate - v) + force, at the end of the step. In the convex problem the gains
 * are limited to the stiffness of a limit's spring, with their ratio kept. Returns false if an expression is not a finite number. */
static bool add_motor(articulated_body *b, int k)
{
  const articulated_axis *a   = &b->axis[k];
  const double            end = b->t + b->dt, t = fmax(0.0, end), force = expression_value(a->force, &t), most = b->dt * a->effort;
  const double            gain = b->dt * a->stiffness + a->rate_damping;
  double                  target, rate = expression_derivative(a->target, &t, 0, &target);
  if (a->rate) rate = expression_value(a->rate, &t);
  if (end < 0.0) rate = 0.0; /* search for the static equilibrium */
  if (!isfinite(target) || !isfinite(rate) || !isfinite(force)) return false;
  if (gain == 0.0) {
    b->feed[k] = fmin(fmax(b->dt * force, -most), most);
    return true;
  }
  const double least = b->base.constraints_apart ? rigid_compliance(1.0 / b->M[(b->tree.n_v + 1) * k]) : 0.0,
               share = fmin(1.0, 1.0 / (b->dt * gain * least));
  const double pull  = share * (a->stiffness * (target - b->q[b->q_of[k]]) + a->rate_damping * rate) + force;
  b->motor[k]        = b->n_laws;
  constraint *c      = open_constraint(b);
  c->is_drive        = true;
  set_row(c, 0, pull / (share * gain), 1.0 / (b->dt * share * gain), -most, most);
  add_entry(b, 0, k, 1.0);
  return true;
}

/* Current position of a pin's point on a link. */
static void pin_point(const double *R, const double *p, int link, const double X[3], double x[3])
{
  v3_copy(x, X);
  if (link < 0) return;
  m3_mulv(x, R + 9 * link, X);
  v3_axpy(x, 1.0, p + 3 * link);
}

static void pin_gap(const articulated_pin *pin, const double *R, const double *p, double gap[3], double middle[3])
{
  double one[3], other[3];
  pin_point(R, p, pin->one, pin->X, one);
  pin_point(R, p, pin->other, pin->X, other);
  v3_sub(gap, one, other);
  for (int k = 0; k < 3; ++k) middle[k] = 0.5 * (one[k] + other[k]);
}

/* Springs between the two points of a pin. They act at one position, the middle at the start of the step, so that they do not
 * change the total momentum. */
static void add_pin(articulated_body *b, const articulated_pin *pin)
{
  const int n = b->tree.n_v;
  double    gap[3], middle[3], w = 0.0, w_free = 0.0;
  pin_gap(pin, b->R0, b->p0, gap, middle);
  articulated_tree_point_jacobian(&b->tree, b->S, pin->one, middle, b->J);
  articulated_tree_point_jacobian(&b->tree, b->S, pin->other, middle, b->Jp);
  for (int k = 0; k < 3 * n; ++k) {
    b->J[k] -= b->Jp[k];
    const double d = b->J[k] * b->J[k] / b->M[(n + 1) * (k % n)] / 3.0;
    w += d, w_free += b->axis[k % n].motion ? 0.0 : d;
  }
  if (!(w_free > 0.0)) return; /* no free velocity moves this pin */
  constraint *c                 = open_constraint(b);
  b->pin_at[b->n_active_pins++] = (int)(pin - b->pin);
  for (int i = 0; i < 3; ++i) {
    set_row(c, i, 0.0, rigid_compliance(w), -INFINITY, INFINITY);
    for (int k = 0; k < n; ++k)
      if (b->J[i * n + k] != 0.0) add_entry(b, i, k, b->J[i * n + k]);
  }
}

static int create_step_constraints(articulated_body *b)
{
  int bad   = -1;
  b->n_laws = b->n_active_pins = 0;
  for (int k = 0; k < b->tree.n_v; ++k) {
    b->motor[k] = -1, b->feed[k] = 0.0;
    if (b->axis[k].motion) continue; /* prescribed motion: no other constraint */
    add_stops(b, k);
    if (b->axis[k].target && !add_motor(b, k) && bad < 0) bad = k;
  }
  for (int i = 0; i < b->n_pins; ++i) add_pin(b, &b->pin[i]);
  return bad;
}

/* ---- evaluation at given velocities ------------------------------------------------------------------------------------ */

static void velocities_of(const articulated_body *b, int64_t a, const double *v, double u[3])
{
  for (int i = 0; i < 3; ++i) {
    u[i] = 0.0;
    for (int64_t e = b->row_start[3 * a + i]; e < b->row_start[3 * a + i + 1]; ++e) u[i] += b->row_value[e] * v[b->row_dof[e]];
  }
}

/* Linearise loops about velocities v, which move the links to R1, p1. All other constraints are linear in v. */
static void linearise_loops(articulated_body *b, const double *v, const double *R1, const double *p1)
{
  for (int i = 0; i < b->n_active_pins; ++i) { /* pins are last */
    const int64_t a = b->n_laws - b->n_active_pins + i;
    double        gap[3], middle[3], u[3];
    pin_gap(&b->pin[b->pin_at[i]], R1, p1, gap, middle);
    velocities_of(b, a, v, u);
    for (int k = 0; k < 3; ++k) b->law[a].bias[k] = u[k] - gap[k] / b->dt;
  }
}

/* tau [n_v] += impulses at velocities v; H (unless NULL) += minus their derivatives, symmetric, a lower bound of the true ones. */
static void add_constraint_impulses(const articulated_body *b, const double *v, double *tau, double *H)
{
  const int n = b->tree.n_v;
  for (int64_t a = 0; a < b->n_laws; ++a) {
    double u[3], r[3], slope[3];
    velocities_of(b, a, v, u);
    constraint_law(&b->law[a], u, r, slope);
    for (int i = 0; i < 3; ++i) {
      const int64_t first = b->row_start[3 * a + i], end = b->row_start[3 * a + i + 1];
      for (int64_t e = first; e < end; ++e) {
        tau[b->row_dof[e]] += b->row_value[e] * r[i];
        for (int64_t f = first; f < end && H && slope[i] > 0.0; ++f)
          H[n * b->row_dof[e] + b->row_dof[f]] += slope[i] * b->row_value[e] * b->row_value[f];
      }
    }
  }
}

double articulated_motor_force(const articulated_body *b, int k, const double *v)
{
  double u[3], r[3];
  if (b->motor[k] < 0) return b->feed[k] / b->dt;
  velocities_of(b, b->motor[k], v, u);
  constraint_law(&b->law[b->motor[k]], u, r, NULL);
  return r[0] / b->dt;
}

/* --- the system of unknowns ------------------------------------------------------------------------------------------ */

static articulated_body       *articulated_of(body *b) { return (articulated_body *)b; }
static const articulated_body *const_articulated_of(const body *b) { return (const articulated_body *)b; }

/* ---- poses of links --------------------------------------------------------------------------------------------------- */

static void link_centres(const articulated_tree *t, const double *R, const double *p, double *c)
{
  for (int i = 0; i < t->n; ++i) {
    m3_mulv(c + 3 * i, R + 9 * i, t->center + 3 * i);
    v3_axpy(c + 3 * i, 1.0, p + 3 * i);
  }
}

/* Set poses of the links as rigid bodies from q, and their velocities from the state. */
static void update_links(articulated_body *b)
{
  for (int i = 0; i < b->tree.n; ++i) {
    rigid_body *r = &b->link[i]->rigid;
    double      arm[3], R[9], p[3];
    articulated_tree_link_pose(&b->tree, b->q, i, R, p);
    m3_mulv(r->c, R, r->origin);
    v3_axpy(r->c, 1.0, p);
    m3_mulv(arm, R, b->tree.center + 3 * i);
    v3_add(arm, arm, p);
    v3_sub(arm, r->c, arm);
    v3_cross(r->v, b->w + 3 * i, arm);
    v3_axpy(r->v, 1.0, b->u + 3 * i);
    v3_copy(r->w, b->w + 3 * i);
    quaternion_from_matrix(r->q, R);
    m3_copy(r->R0, R);
  }
}

/* Velocities and momenta of the links from joint rates v, at q. */
static void set_links(articulated_body *b)
{
  articulated_tree *t = &b->tree;
  articulated_tree_pose(t, b->q, b->R0, b->p0);
  articulated_tree_columns(t, b->q, b->R0, b->p0, b->S);
  articulated_tree_velocities(t, b->S, b->v, b->F);
  link_centres(t, b->R0, b->p0, b->c0);
  for (int i = 0; i < t->n; ++i) {
    double W[3], L[3];
    spatial_point_velocity(b->u + 3 * i, b->F + 6 * i, b->c0 + 3 * i);
    v3_copy(b->w + 3 * i, b->F + 6 * i);
    m3_mulv_t(W, b->R0 + 9 * i, b->w + 3 * i);
    m3_mulv(L, t->inertia + 9 * i, W);
    m3_mulv(b->L + 3 * i, b->R0 + 9 * i, L);
  }
}

void articulated_body_place(articulated_body *b)
{
  set_links(b);
  update_links(b);
}

/* ---- step -------------------------------------------------------------------------------------------------------------- */

/* Name of the joint of component dof. */
static const char *name_of(const body *base, int64_t dof)
{
  const articulated_body *b = const_articulated_of(base);
  const articulated_tree *t = &b->tree;
  for (int i = 0; i < t->n; ++i)
    for (int k = t->rate_start[i]; k < t->rate_start[i + 1]; ++k)
      if (t->dof[k] == dof) return b->joints[i];
  return base->name;
}

/* Name of a link with an applied force or torque that is not a finite number; NULL: none. */
static const char *find_bad_wrench(const articulated_body *b, double t)
{
  for (int i = 0; i < b->tree.n; ++i)
    for (int k = 0; k < 3; ++k) {
      const articulated_link *link = b->link[i];
      if (link->force[k] && !isfinite(expression_value(link->force[k], &t))) return b->names[i];
      if (link->torque[k] && !isfinite(expression_value(link->torque[k], &t))) return b->names[i];
    }
  return NULL;
}

static PetscErrorCode begin_step(body *base, double t, double dt, int64_t *n_blocks, step_status *status)
{
  articulated_body *b = articulated_of(base);
  PetscFunctionBegin;
  b->t = t, b->dt = dt;
  *n_blocks = (b->tree.n_v + 2) / 3;
  articulated_tree_pose(&b->tree, b->q, b->R0, b->p0);
  articulated_tree_columns(&b->tree, b->q, b->R0, b->p0, b->S);
  link_centres(&b->tree, b->R0, b->p0, b->c0);
  articulated_tree_mass_matrix(&b->tree, b->R0, b->p0, b->S, b->M);
  if (b->integrator == ARTICULATED_SEMI_IMPLICIT)
    articulated_tree_inverse_dynamics(&b->tree, b->R0, b->p0, b->S, b->v, NULL, b->gravity, b->bias);
  int         bad    = create_step_constraints(b);
  const char *pushed = find_bad_wrench(b, fmax(0.0, t + dt));
  b->n_prescribed    = 0;
  for (int k = 0; k < b->tree.n_v; ++k) {
    const double end = fmax(0.0, t + dt);
    if (!b->axis[k].motion) continue;
    b->prescribed[b->n_prescribed]            = k;
    b->prescribed_velocity[b->n_prescribed++] = (expression_value(b->axis[k].motion, &end) - b->q[b->q_of[k]]) / dt;
    if (bad < 0 && !isfinite(b->prescribed_velocity[b->n_prescribed - 1])) bad = k;
  }
  if (bad >= 0 || pushed) *status = (step_status){STEP_BAD_EXPRESSION, bad >= 0 ? name_of(base, bad) : pushed, -1};
  for (int i = 0; i < b->tree.n; ++i) { /* used for culling of contact points */
    rigid_body *r = &b->link[i]->rigid;
    m3_copy(r->R0, b->R0 + 9 * i);
    m3_mulv(r->c, b->R0 + 9 * i, r->origin);
    v3_axpy(r->c, 1.0, b->p0 + 3 * i);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode velocity(const body *base, double *v0)
{
  const articulated_body *b = const_articulated_of(base);
  memset(v0, 0, (size_t)(3 * ((b->tree.n_v + 2) / 3)) * sizeof *v0);
  memcpy(v0, b->v, (size_t)b->tree.n_v * sizeof *v0);
  return PETSC_SUCCESS;
}

static PetscErrorCode mass(const body *base, double *scale)
{
  const articulated_body *b = const_articulated_of(base);
  const int               n = b->tree.n_v;
  for (int k = 0; k < 3 * ((n + 2) / 3); ++k) scale[k] = k < n ? b->M[(n + 1) * k] : 1.0;
  return PETSC_SUCCESS;
}

static int64_t prescribed(const body *base, const int64_t **dof, const double **to)
{
  *dof = const_articulated_of(base)->prescribed, *to = const_articulated_of(base)->prescribed_velocity;
  return const_articulated_of(base)->n_prescribed;
}

/* Velocity, angular velocity and angular momentum of link i over the step from const_articulated_of initial pose to R1, c1. */
static void link_motion(const articulated_body *b, int i, const double *R1, const double c1[3], double u[3], double w[3], double L[3])
{
  double Q[9], q[4], half[3], middle[9], Rm[9], W[3], l[3];
  for (int k = 0; k < 3; ++k) u[k] = (c1[k] - b->c0[3 * i + k]) / b->dt;
  m3_mul_nt(Q, R1, b->R0 + 9 * i);
  quaternion_from_matrix(q, Q);
  quaternion_log(w, q);
  v3_scale(half, 0.5, w);
  v3_scale(w, 1.0 / b->dt, w);
  rotation_exp(middle, half);
  m3_mul(Rm, middle, b->R0 + 9 * i);
  m3_mulv_t(W, Rm, w);
  m3_mulv(l, b->tree.inertia + 9 * i, W);
  m3_mulv(L, Rm, l);
}

/* Applied force and torque on link i. */
static void link_wrench(const articulated_body *b, int i, double force[3], double torque[3])
{
  const articulated_link *link = b->link[i];
  const double            t    = fmax(0.0, b->t + b->dt);
  for (int k = 0; k < 3; ++k) {
    force[k]  = link->force[k] ? expression_value(link->force[k], &t) : 0.0;
    torque[k] = link->torque[k] ? expression_value(link->torque[k], &t) : 0.0;
  }
}

/* b->F, as spatial forces: change of momentum of the links minus applied forces; or minus the applied forces only. */
static void link_forces(articulated_body *b, bool with_momenta)
{
  for (int i = 0; i < b->tree.n; ++i) {
    double       force[3], torque[3], u[3], w[3], L[3], c1[3], *F = b->F + 6 * i, moment[3];
    const double m = b->tree.mass[i];
    link_wrench(b, i, force, torque);
    for (int k = 0; k < 3; ++k) F[k] = -b->dt * torque[k], F[3 + k] = -b->dt * force[k];
    if (with_momenta) {
      m3_mulv(c1, b->R1 + 9 * i, b->tree.center + 3 * i);
      v3_axpy(c1, 1.0, b->p1 + 3 * i);
      link_motion(b, i, b->R1 + 9 * i, c1, u, w, L);
      for (int k = 0; k < 3; ++k) {
        F[k] += L[k] - b->L[3 * i + k];
        F[3 + k] += m * (u[k] - b->u[3 * i + k] - b->dt * b->gravity[k]);
      }
    }
    v3_cross(moment, b->c0 + 3 * i, F + 3);
    v3_axpy(F, 1.0, moment);
  }
}

static PetscErrorCode residual(body *base, const double *v, double *g, bool with_tangent, step_status *status)
{
  articulated_body *b = articulated_of(base);
  articulated_tree *t = &b->tree;
  const int         n = t->n_v, n_all = 3 * ((n + 2) / 3);
  double           *tau = b->tau, sum = 0.0;
  PetscFunctionBegin;
  for (int k = 0; k < n_all; ++k) sum += fabs(v[k]);
  if (!isfinite(sum)) {
    *status = (step_status){STEP_NOT_FINITE, base->name, 0};
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  articulated_tree_advance(t, b->q, v, b->dt, b->q1);
  articulated_tree_pose(t, b->q1, b->R1, b->p1);
  if (with_tangent) memcpy(b->H, b->M, (size_t)(n * n) * sizeof *b->H);
  for (int k = 0; k < n; ++k) {
    const double damping = b->dt * b->axis[k].damping;
    tau[k]               = b->feed[k] - damping * v[k];
    if (with_tangent) b->H[(n + 1) * k] += damping;
  }
  linearise_loops(b, v, b->R1, b->p1);
  if (!base->constraints_apart) add_constraint_impulses(b, v, tau, with_tangent ? b->H : NULL);
  for (int k = 0; k < n; ++k) g[k] -= tau[k];
  for (int k = n; k < n_all; ++k) g[k] += v[k];
  link_forces(b, b->integrator == ARTICULATED_MOMENTUM);
  articulated_tree_project(t, b->S, b->F, g);
  if (b->integrator == ARTICULATED_SEMI_IMPLICIT)
    for (int k = 0; k < n; ++k) {
      g[k] += b->dt * b->bias[k];
      for (int l = 0; l < n; ++l) g[k] += b->M[n * k + l] * (v[l] - b->v[l]);
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode tangent(const body *base, const double *x, double *y, bool is_transposed)
{
  const articulated_body *b = const_articulated_of(base);
  const int               n = b->tree.n_v;
  (void)is_transposed; /* the matrix is symmetric */
  for (int k = 0; k < n; ++k)
    for (int l = 0; l < n; ++l) y[k] += b->H[n * k + l] * x[l];
  for (int k = n; k < 3 * ((n + 2) / 3); ++k) y[k] += x[k];
  return PETSC_SUCCESS;
}

static double articulated_body_entry(const articulated_body *b, int r, int c)
{
  const int n = b->tree.n_v;
  if (r >= n || c >= n) return r == c ? 1.0 : 0.0;
  return b->H[n * r + c];
}

static PetscErrorCode block_diagonal(const body *base, double *d)
{
  const articulated_body *b = const_articulated_of(base);
  for (int i = 0; i < (b->tree.n_v + 2) / 3; ++i)
    for (int e = 0; e < 9; ++e) d[9 * i + e] += articulated_body_entry(b, 3 * i + e / 3, 3 * i + e % 3);
  return PETSC_SUCCESS;
}

static int couplings(const body *base, int64_t block, int32_t *other)
{
  const int n = (const_articulated_of(base)->tree.n_v + 2) / 3;
  (void)block;
  for (int i = 0; i < n; ++i) other[i] = i;
  return n;
}

static PetscErrorCode assemble(const body *base, const block_rows *H)
{
  const articulated_body *b = const_articulated_of(base);
  const int               n = (b->tree.n_v + 2) / 3;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      double *to = block_rows_at(H, base->first_block + i, base->first_block + j);
      for (int e = 0; e < 9; ++e) to[e] += articulated_body_entry(b, 3 * i + e / 3, 3 * j + e % 3);
    }
  return PETSC_SUCCESS;
}

static void set_definite(body *b, bool is_wanted) { (void)b, (void)is_wanted; }

static PetscErrorCode end_step(body *base, const double *v, step_status *status)
{
  articulated_body *b = articulated_of(base);
  articulated_tree *t = &b->tree;
  (void)status;
  PetscFunctionBegin;
  articulated_tree_advance(t, b->q, v, b->dt, b->q1);
  articulated_tree_pose(t, b->q1, b->R1, b->p1);
  for (int k = 0; k < t->n_v; ++k) b->torque[k] = articulated_motor_force(b, k, v);
  memcpy(b->v, v, (size_t)t->n_v * sizeof *v);
  for (int i = 0; i < t->n; ++i) v3_scale(b->push + 3 * i, -t->mass[i] / b->dt, b->u + 3 * i);
  if (b->integrator == ARTICULATED_MOMENTUM)
    for (int i = 0; i < t->n; ++i) {
      double c1[3];
      m3_mulv(c1, b->R1 + 9 * i, t->center + 3 * i);
      v3_axpy(c1, 1.0, b->p1 + 3 * i);
      link_motion(b, i, b->R1 + 9 * i, c1, b->u + 3 * i, b->w + 3 * i, b->L + 3 * i);
    }
  memcpy(b->q, b->q1, (size_t)t->n_q * sizeof *b->q);
  if (b->integrator == ARTICULATED_SEMI_IMPLICIT) set_links(b);
  for (int i = 0; i < t->n; ++i) { /* force that changed the momentum, minus gravity and applied force */
    double force[3], torque[3];
    link_wrench(b, i, force, torque);
    for (int k = 0; k < 3; ++k) b->push[3 * i + k] += t->mass[i] * (b->u[3 * i + k] / b->dt - b->gravity[k]) - force[k];
  }
  update_links(b);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- totals ------------------------------------------------------------------------------------------------------------ */

static void add_link(const articulated_body *b, int i, const double gravity[3], body_totals *out)
{
  double R[9], p[3], c[3];
  articulated_tree_link_pose(&b->tree, b->q, i, R, p);
  m3_mulv(c, R, b->tree.center + 3 * i);
  v3_add(c, c, p);
  body_totals_add(out, b->tree.mass[i], c, b->u + 3 * i, gravity);
  out->kinetic += 0.5 * v3_dot(b->w + 3 * i, b->L + 3 * i);
  v3_axpy(out->angular_momentum, 1.0, b->L + 3 * i);
}

static PetscErrorCode totals(const body *base, const double gravity[3], body_totals *out)
{
  const articulated_body *b = const_articulated_of(base);
  memset(out, 0, sizeof *out);
  for (int i = 0; i < b->tree.n; ++i) add_link(b, i, gravity, out);
  if (out->mass > 0.0) v3_scale(out->center, 1.0 / out->mass, out->center);
  return PETSC_SUCCESS;
}

static double length(const body *base)
{
  const articulated_body *b     = const_articulated_of(base);
  double                  least = INFINITY;
  for (int i = 0; i < b->tree.n; ++i)
    if (b->link[i]->has_shape && isfinite(b->link[i]->rigid.radius)) least = fmin(least, 0.25 * b->link[i]->rigid.radius);
  return isfinite(least) ? least : 0.25 * b->size;
}

static void constraints(const body *base, body_constraints *out)
{
  const articulated_body *b = const_articulated_of(base);
  *out = (body_constraints){.n = b->n_laws, .law = b->law, .start = b->row_start, .dof = b->row_dof, .value = b->row_value};
}

static PetscErrorCode articulated_body_restored(void *context)
{
  update_links(context);
  return PETSC_SUCCESS;
}

static PetscErrorCode fields(body *base, field_table *table)
{
  articulated_body *b = articulated_of(base);
  field_group      *g;
  char              name[96];
  PetscFunctionBegin;
  snprintf(name, sizeof name, "state/%.60s/positions", base->name);
  PetscCall(field_table_add_group(table, name, FIELD_GROUP_PLAIN, &b->n_q, b, &g));
  PetscCall(field_table_add(table, g, "position", "1", FIELD_F64, 1, &b->q, FIELD_CHECKPOINT,
                            "positions of joints, rad or m; quaternions (w, x, y, z)"));
  g->restored = articulated_body_restored;
  snprintf(name, sizeof name, "state/%.60s/velocities", base->name);
  PetscCall(field_table_add_group(table, name, FIELD_GROUP_PLAIN, &b->n_v, b, &g));
  PetscCall(
      field_table_add(table, g, "velocity", "1", FIELD_F64, 1, &b->v, FIELD_CHECKPOINT | FIELD_RATE, "rates of joints, rad/s or m/s"));
  PetscCall(field_table_add(table, g, "torque", "1", FIELD_F64, 1, &b->torque, FIELD_CHECKPOINT, "torques of motors, N m or N"));
  g->restored = articulated_body_restored;
  snprintf(name, sizeof name, "state/%.60s/links", base->name);
  PetscCall(field_table_add_group(table, name, FIELD_GROUP_PLAIN, &b->n_links, b, &g));
  PetscCall(field_table_add(table, g, "velocity", "m/s", FIELD_F64, 3, &b->u, FIELD_CHECKPOINT | FIELD_RATE,
                            "of the links' centres of mass, mean over the last step"));
  PetscCall(field_table_add(table, g, "angular_velocity", "rad/s", FIELD_F64, 3, &b->w, FIELD_CHECKPOINT | FIELD_RATE,
                            "mean over the last step"));
  PetscCall(field_table_add(table, g, "angular_momentum", "N m s", FIELD_F64, 3, &b->L, FIELD_CHECKPOINT | FIELD_RATE,
                            "about the links' centres of mass"));
  g->restored = articulated_body_restored;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static body *const *parts(const body *base, int *n)
{
  *n = const_articulated_of(base)->tree.n;
  return const_articulated_of(base)->part;
}

static void articulated_body_describe(const body *base, FILE *out)
{
  const articulated_body *b = const_articulated_of(base);
  fprintf(out, "%d links, %d degrees of freedom", b->tree.n, b->tree.n_v);
  if (b->n_pins > 0) fprintf(out, ", %d points that close loops", b->n_pins);
}

static void destroy_link(articulated_link *l)
{
  body *b = &l->rigid.base;
  for (int k = 0; k < 3; ++k) expression_destroy(&l->force[k]), expression_destroy(&l->torque[k]);
  rigid_body_destroy_base(&b); /* frees the whole link: the rigid body is const_articulated_of first member */
}

void articulated_body_destroy(articulated_body *a)
{
  for (int i = 0; i < a->tree.n && a->link; ++i) {
    if (a->link[i]) destroy_link(a->link[i]);
    memory_free(&a->names[i]);
    if (a->joints) memory_free(&a->joints[i]);
  }
  for (int k = 0; k < a->tree.n_v && a->axis; ++k) {
    expression **const all[] = {&a->axis[k].target, &a->axis[k].rate, &a->axis[k].force, &a->axis[k].motion};
    for (int e = 0; e < 4; ++e) expression_destroy(all[e]);
  }
  MEMORY_FREE(&a->link, &a->names, &a->joints, &a->part, &a->axis, &a->pin, &a->q_of, &a->q, &a->q1, &a->v, &a->torque, &a->tau, &a->bias,
              &a->feed, &a->motor, &a->pin_at, &a->law, &a->row_start, &a->row_dof, &a->row_value, &a->u, &a->w, &a->L, &a->push, &a->R0,
              &a->R1, &a->p0, &a->p1, &a->c0, &a->F, &a->S, &a->M, &a->H, &a->J, &a->Jp, &a->prescribed, &a->prescribed_velocity);
  articulated_tree_destroy(&a->tree);
  document_destroy(&a->urdf);
  memory_free(&a);
}

static void destroy_articulated(body **base)
{
  articulated_body_destroy(articulated_of(*base));
  *base = NULL;
}

const body_ops articulated_body_ops = {
    .kind           = "articulated",
    .is_reduced     = true,
    .begin_step     = begin_step,
    .velocity       = velocity,
    .mass           = mass,
    .name_of        = name_of,
    .residual       = residual,
    .tangent        = tangent,
    .block_diagonal = block_diagonal,
    .end_step       = end_step,
    .totals         = totals,
    .fields         = fields,
    .points         = POINT_NONE,
    .prescribed     = prescribed,
    .couplings      = couplings,
    .assemble       = assemble,
    .constraints    = constraints,
    .set_definite   = set_definite,
    .parts          = parts,
    .length         = length,
    .describe       = articulated_body_describe,
    .destroy        = destroy_articulated,
};

/* ---- links ----------------------------------------------------------------------------------------------------------- */

static const articulated_link *link_of(const body *b) { return (const articulated_link *)b; }
static body                   *carrier(const body *b) { return &link_of(b)->tree->base; }

static PetscErrorCode link_totals(const body *base, const double gravity[3], body_totals *out)
{
  memset(out, 0, sizeof *out);
  add_link(link_of(base)->tree, link_of(base)->index, gravity, out);
  if (out->mass > 0.0) v3_scale(out->center, 1.0 / out->mass, out->center);
  else v3_copy(out->center, link_of(base)->rigid.c);
  return PETSC_SUCCESS;
}

/* v: velocities of the tree. */
static void link_frame(const body *base, double t, double dt, const double *v, rigid_frame *f)
{
  const articulated_link *l = link_of(base);
  const articulated_body *b = l->tree;
  (void)t;
  memset(f, 0, sizeof *f);
  f->block = -1;
  m3_identity(f->Jl);
  double q1[ARTICULATED_MAX_POSITIONS], p[3];
  if (!v) {
    articulated_tree_link_pose(&b->tree, b->q, l->index, f->R, p);
    v3_copy(f->v, l->rigid.v);
    v3_copy(f->w, l->rigid.w);
  } else {
    articulated_tree_advance(&b->tree, b->q, v, dt, q1);
    articulated_tree_link_pose(&b->tree, q1, l->index, f->R, p);
  }
  m3_mulv(f->c, f->R, l->rigid.origin);
  v3_axpy(f->c, 1.0, p);
  for (int k = 0; k < 3 && v; ++k) f->v[k] = (f->c[k] - l->rigid.c[k]) / dt;
}

/* Jacobian columns of the chain from the link to the root, grouped by block. */
static int link_jacobian(const body *base, const body_contact_location *spot, int32_t *block, double (*J)[9])
{
  const articulated_link *l = link_of(base);
  const articulated_tree *t = &l->tree->tree;
  int                     n = 0;
  for (int i = l->index; i >= 0; i = t->parent[i])
    for (int k = t->rate_start[i]; k < t->rate_start[i + 1]; ++k) {
      const int32_t to = t->dof[k] / 3, column = t->dof[k] % 3;
      double        u[3];
      int           at = 0;
      while (at < n && block[at] != to) ++at;
      if (at == n) block[n] = to, m3_zero(J[n++]);
      spatial_point_velocity(u, l->tree->S + 6 * k, spot->x);
      for (int r = 0; r < 3; ++r) J[at][3 * r + column] += t->factor[k] * u[r];
    }
  return n;
}

static PetscErrorCode link_fields(body *base, field_table *table)
{
  PetscFunctionBegin;
  if (link_of(base)->has_shape) PetscCall(rigid_body_fields(base, table));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void link_describe(const body *base, FILE *out)
{
  if (link_of(base)->has_shape) rigid_body_describe(base, out);
  else fprintf(out, "a link without a shape");
}

#define LINK_OPS                                                                                                                           \
  .kind = "link", .totals = link_totals, .fields = link_fields, .carrier = carrier, .frame = link_frame,                                   \
  .location_jacobian = link_jacobian, .surface = rigid_body_surface, .describe = link_describe
/* clang-format off */
const body_ops articulated_link_ops = {
  LINK_OPS, .points = POINT_RIGID, .n_clusters = rigid_body_n_clusters, .cluster = rigid_body_cluster, .point = rigid_body_point,
  .level_sets = rigid_body_level_sets, .solids = rigid_body_solids,
};
/* clang-format on */
const body_ops articulated_frame_ops = {LINK_OPS, .points = POINT_NONE, .is_shapeless = true};

const body_kind articulated_link_kind  = {.name = "link", .ops = &articulated_link_ops, .material = BODY_MATERIAL_OPTIONAL};
const body_kind articulated_frame_kind = {.name = "link", .ops = &articulated_frame_ops, .material = BODY_MATERIAL_OPTIONAL};
