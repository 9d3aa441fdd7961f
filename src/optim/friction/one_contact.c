#include "optim/friction/one_contact.h"
#include "core/math3.h"
#include <float.h>

enum { ROOT_STEPS = 200, WARM_STEPS = 8 };

/* If the ratio of its eigenvalues is below this, S is used in its own axes. c is multiplied by adj(S), and cancellation would
 * lose as many digits as the ratio has. */
static const double NEARLY_SINGULAR = 1e-5, SINGULAR = 1e-13;

static void fill(const double W[9], one_contact *o)
{
  o->w_nn = W[0], o->inverse = 1.0 / W[0];
  for (int i = 0; i < 2; ++i) {
    o->w_nt[i]  = W[1 + i];
    o->slope[i] = W[3 * (i + 1)] * o->inverse;
    for (int j = 0; j < 2; ++j) o->s[2 * i + j] = W[3 * (i + 1) + j + 1] - o->slope[i] * W[1 + j];
  }
}

void one_contact_prepare(const double W[9], double mu, one_contact *o)
{
  double R[9] = {1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0}, t[9], turned[9];
  m3_copy(o->W, W);
  o->mu      = mu;
  o->turn[0] = 1.0, o->turn[1] = 0.0, o->is_turned = false;
  fill(W, o);
  const double difference = 0.5 * (o->s[0] - o->s[3]), off = 0.5 * (o->s[1] + o->s[2]), half = hypot(difference, off);
  const double low = 0.5 * (o->s[0] + o->s[3]) - half, least = SINGULAR * (fabs(W[4]) + fabs(W[8]) + W[0]);
  if (low < NEARLY_SINGULAR * half || !(low >= least)) {
    const double angle = 0.5 * atan2(off, difference);
    R[4] = R[8] = o->turn[0] = cos(angle);
    R[5] = o->turn[1] = sin(angle), R[7] = -R[5];
    o->is_turned = true;
    m3_mul(t, R, W);
    m3_mul_nt(turned, t, R);
    fill(turned, o);
    o->s[1] = o->s[2] = 0.5 * (o->s[1] - o->s[2]), o->s[2] = -o->s[1]; /* what a symmetric S leaves off its axes is round-off */
    for (int i = 0; i < 4; i += 3)
      if (!(o->s[i] >= least)) o->s[i] = least;
  }
  o->tau   = o->s[0] + o->s[3];
  o->delta = o->s[0] * o->s[3] - o->s[1] * o->s[2];
  o->stick = -1.0 / o->delta;
}

/* Quantities that depend on b: c and a = adj(S) c. */
typedef struct {
  double b_n, c[2], a[2];
} load_terms;

static inline load_terms push(const one_contact *o, const double b[3])
{
  load_terms p = {.b_n = b[0], .c = {b[1] - o->slope[0] * b[0], b[2] - o->slope[1] * b[0]}};
  p.a[0]       = o->s[3] * p.c[0] - o->s[1] * p.c[1];
  p.a[1]       = o->s[0] * p.c[1] - o->s[2] * p.c[0];
  return p;
}

/* f and its derivative. */
static inline double f_of(const one_contact *o, const load_terms *g, double alpha, double *slope)
{
  const double p[2] = {g->a[0] + alpha * g->c[0], g->a[1] + alpha * g->c[1]}, size = sqrt(p[0] * p[0] + p[1] * p[1]);
  const double D = (alpha + o->tau) * alpha + o->delta;
  *slope         = o->mu * (o->w_nt[0] * g->c[0] + o->w_nt[1] * g->c[1] - g->b_n * (2.0 * alpha + o->tau)) -
           (size > 0.0 ? o->w_nn * (p[0] * g->c[0] + p[1] * g->c[1]) / size : 0.0);
  return o->mu * (o->w_nt[0] * p[0] + o->w_nt[1] * p[1] - g->b_n * D) - o->w_nn * size;
}

/* r from p and -1/D. u_N = 0 and the cone are satisfied to rounding for any residual of f. */
static inline void impulse_of(const one_contact *o, const load_terms *g, const double p[2], double scale, double r[3])
{
  r[1] = scale * p[0], r[2] = scale * p[1];
  r[0] = -o->inverse * (g->b_n + o->w_nt[0] * r[1] + o->w_nt[1] * r[2]);
  if (r[0] < 0.0) r[0] = 0.0;
  const double t2 = r[1] * r[1] + r[2] * r[2], most = o->mu * r[0];
  if (t2 > most * most) { /* by round-off */
    const double s = most / sqrt(t2);
    r[1] *= s, r[2] *= s;
  }
}
static inline void sliding_impulse(const one_contact *o, const load_terms *g, double alpha, double r[3])
{
  const double p[2] = {g->a[0] + alpha * g->c[0], g->a[1] + alpha * g->c[1]};
  impulse_of(o, g, p, -1.0 / ((alpha + o->tau) * alpha + o->delta), r);
}

/* Tests f(0) >= 0 without a square root. */
static inline bool is_sticking(const one_contact *o, const load_terms *g)
{
  const double reach = o->mu * (o->w_nt[0] * g->a[0] + o->w_nt[1] * g->a[1] - g->b_n * o->delta);
  return reach >= 0.0 && reach * reach >= o->w_nn * o->w_nn * (g->a[0] * g->a[0] + g->a[1] * g->a[1]);
}

/* Root of f in (low, high) with f(low) < 0 <= f(high), from `alpha`: Newton's method, with bisection if Newton leaves the
 * bracket or converges slowly. */
static double bracketed_root(const one_contact *o, const load_terms *g, double low, double high, double alpha)
{
  double last = high - low;
  for (int k = 0; k < ROOT_STEPS; ++k) {
    double       slope;
    const double f = f_of(o, g, alpha, &slope);
    if (f == 0.0) return alpha;
    if (f < 0.0) low = alpha;
    else high = alpha;
    double next = alpha - f / slope;
    if (!(next > low && next < high) || 2.0 * fabs(next - alpha) > last) next = 0.5 * (low + high);
    last = fabs(next - alpha);
    if (last <= 4.0 * DBL_EPSILON * next) return next;
    alpha = next;
  }
  return alpha;
}

/* Root near `guess`: Newton's method from the guess; if it does not converge at once, a bracketed search. */
static double nearby_root(const one_contact *o, const load_terms *g, double guess)
{
  double slope, alpha = guess;
  for (int k = 0; guess > 0.0 && k < WARM_STEPS; ++k) {
    const double f = f_of(o, g, alpha, &slope), step = f / slope;
    if (!(slope > 0.0) || !(step < alpha)) break;
    alpha -= step;
    if (fabs(step) <= 1e-11 * alpha) return alpha; /* quadratic: the error now is round-off */
  }
  double high = guess > 0.0 ? guess : 0.5 * o->tau;
  while (f_of(o, g, high, &slope) < 0.0 && high < DBL_MAX) high *= 4.0;
  return bracketed_root(o, g, 0.0, high, high);
}

/* b in the tangents of o, and r back from them. */
static inline void rotate_to_axes(const one_contact *o, const double b[3], double t[3])
{
  v3_set(t, b[0], o->turn[0] * b[1] + o->turn[1] * b[2], o->turn[0] * b[2] - o->turn[1] * b[1]);
}
static inline void turn_out(const one_contact *o, double r[3])
{
  v3_set(r, r[0], o->turn[0] * r[1] - o->turn[1] * r[2], o->turn[1] * r[1] + o->turn[0] * r[2]);
}

/* All in the tangents of o. */
static inline void solve_in_rotated_tangents(const one_contact *o, const double b[3], double *alpha, double r[3])
{
  if (b[0] >= 0.0) {
    r[0] = r[1] = r[2] = 0.0;
    return; /* alpha as it was: the contact may come back */
  }
  if (o->mu == 0.0) {
    r[0] = -o->inverse * b[0], r[1] = r[2] = 0.0;
    return;
  }
  const load_terms g = push(o, b);
  if (is_sticking(o, &g)) {
    impulse_of(o, &g, g.a, o->stick, r);
    return;
  }
  *alpha = nearby_root(o, &g, *alpha);
  sliding_impulse(o, &g, *alpha, r);
}

void one_contact_solve(const one_contact *o, const double b[3], double *alpha, double r[3])
{
  if (!o->is_turned) {
    solve_in_rotated_tangents(o, b, alpha, r);
    return;
  }
  double t[3];
  rotate_to_axes(o, b, t);
  solve_in_rotated_tangents(o, t, alpha, r);
  turn_out(o, r);
}
