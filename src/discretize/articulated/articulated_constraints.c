/* What joints and loops do within a step, as rows that push: each knows where it ends by the velocities alone. */
#include "core/math3.h"
#include "core/memory.h"
#include "discretize/articulated/articulated_body.h"
#include <string.h>

#define PERIOD 0.1  /* of springs that nothing should be seen of, in steps */
#define CREEP  1e-3 /* of dry friction: R over the inverse of the mass */

/* Compliance of such a spring on inverse mass w. */
static double rigid_compliance(double w) { return PERIOD * PERIOD / (4.0 * M_PI * M_PI) * w; }

PetscErrorCode articulated_constraints_create(articulated_body *b)
{
  const int64_t n_v = b->tree.n_v, most = 2 * n_v + b->n_pins, entries = (4 + 3 * (int64_t)b->n_pins) * n_v;
  PetscFunctionBegin;
  PetscCall(memory_alloc("constraints of joints", most, sizeof *b->law, &b->law));
  PetscCall(memory_alloc("constraints of joints", 3 * most + 1, sizeof *b->row_start, &b->row_start));
  PetscCall(memory_alloc("constraints of joints", entries, sizeof *b->row_dof, &b->row_dof));
  PetscCall(memory_alloc("constraints of joints", entries, sizeof *b->row_value, &b->row_value));
  PetscCall(memory_alloc("constraints of joints", b->n_pins, sizeof *b->pin_at, &b->pin_at));
  PetscCall(memory_alloc("motors", n_v, sizeof *b->motor, &b->motor));
  PetscCall(memory_alloc("motors", n_v, sizeof *b->feed, &b->feed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the step's rows ------------------------------------------------------------------------------------------------- */

static constraint *open_constraint(articulated_body *b)
{
  constraint *c = &b->law[b->n_laws++];
  *c            = constraint_none();
  for (int i = 0; i < 3; ++i) b->row_start[3 * b->n_laws - 2 + i] = b->row_start[3 * (b->n_laws - 1)];
  return c;
}

/* One more entry of row i of the last constraint; rows in ascending order. */
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

/* Stops, of place and of velocity, and dry friction of independent velocity k. */
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

/* false: it is told what is no number.
 * stiffness (target - q) + damping (rate - v) + force, at the end of the step. Of the convex problem gains are no stiffer than a
 * stop's spring, their ratio kept. */
static bool add_motor(articulated_body *b, int k)
{
  const articulated_axis *a = &b->axis[k];
  const double            t = b->t + b->dt, force = expression_value(a->force, &t), most = b->dt * a->effort;
  const double            gain = b->dt * a->stiffness + a->rate_damping;
  double                  target, rate = expression_derivative(a->target, &t, 0, &target);
  if (a->rate) rate = expression_value(a->rate, &t);
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

/* Where a pin's point of a link is. */
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

/* Springs between both points where the step begins, at one place, so that they change no momentum. */
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
  if (!(w_free > 0.0)) return; /* nothing that moves freely is held */
  constraint *c = open_constraint(b);
  b->pin_at[b->n_pins_held++] = (int)(pin - b->pin);
  for (int i = 0; i < 3; ++i) {
    set_row(c, i, 0.0, rigid_compliance(w), -INFINITY, INFINITY);
    for (int k = 0; k < n; ++k)
      if (b->J[i * n + k] != 0.0) add_entry(b, i, k, b->J[i * n + k]);
  }
}

int articulated_constraints_begin(articulated_body *b)
{
  int bad    = -1;
  b->n_laws = b->n_pins_held = 0;
  for (int k = 0; k < b->tree.n_v; ++k) {
    b->motor[k] = -1, b->feed[k] = 0.0;
    if (b->axis[k].motion) continue; /* goes where it is told */
    add_stops(b, k);
    if (b->axis[k].target && !add_motor(b, k) && bad < 0) bad = k;
  }
  for (int i = 0; i < b->n_pins; ++i) add_pin(b, &b->pin[i]);
  return bad;
}

/* ---- at velocities --------------------------------------------------------------------------------------------------- */

static void velocities_of(const articulated_body *b, int64_t a, const double *v, double u[3])
{
  for (int i = 0; i < 3; ++i) {
    u[i] = 0.0;
    for (int64_t e = b->row_start[3 * a + i]; e < b->row_start[3 * a + i + 1]; ++e) u[i] += b->row_value[e] * v[b->row_dof[e]];
  }
}

void articulated_constraints_linearise(articulated_body *b, const double *v, const double *R1, const double *p1)
{
  for (int i = 0; i < b->n_pins_held; ++i) { /* they stand last */
    const int64_t a = b->n_laws - b->n_pins_held + i;
    double        gap[3], middle[3], u[3];
    pin_gap(&b->pin[b->pin_at[i]], R1, p1, gap, middle);
    velocities_of(b, a, v, u);
    for (int k = 0; k < 3; ++k) b->law[a].bias[k] = u[k] - gap[k] / b->dt;
  }
}

void articulated_constraints_impulses(const articulated_body *b, const double *v, double *tau, double *H)
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
