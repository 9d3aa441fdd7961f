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
  o->mu = mu, o->rho = 3.0 / m3_trace(W);
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

/* ---- enumeration ---- */

static inline double polynomial(int degree, const double *c, double x) /* c[k] x^k */
{
  double y = c[degree];
  for (int k = degree - 1; k >= 0; --k) y = y * x + c[k];
  return y;
}

/* Sign changes of the polynomial in (low, high), ascending, given those of its derivative. */
static int sign_changes(int degree, const double *c, double low, double high, int n_turns, const double *turn, double *root)
{
  int n = 0;
  for (int k = 0; k <= n_turns; ++k) { /* monotone between neighbours */
    double       l = k == 0 ? low : turn[k - 1], h = k == n_turns ? high : turn[k];
    const double f_l = polynomial(degree, c, l), f_h = polynomial(degree, c, h);
    if (!((f_l < 0.0 && f_h >= 0.0) || (f_l > 0.0 && f_h <= 0.0))) continue;
    for (int i = 0; i < ROOT_STEPS; ++i) {
      const double middle = l > 0.0 && h > 4.0 * l ? sqrt(l) * sqrt(h) : 0.5 * (l + h), f_m = polynomial(degree, c, middle);
      if (middle <= l || middle >= h) break;
      if ((f_m < 0.0) == (f_l < 0.0)) l = middle;
      else h = middle;
    }
    root[n++] = 0.5 * (l + h);
  }
  return n;
}

/* All sign changes of a quartic in (0, high): those of its derivatives first. */
static int quartic_roots(const double c[5], double high, double root[4])
{
  double d[5][5], turn[2][4];
  int    n = 0;
  for (int k = 0; k < 5; ++k) d[4][k] = c[k];
  for (int degree = 3; degree >= 1; --degree)
    for (int k = 0; k <= degree; ++k) d[degree][k] = (k + 1) * d[degree + 1][k + 1];
  for (int degree = 1; degree <= 4; ++degree) {
    n = sign_changes(degree, d[degree], 0.0, high, n, turn[(degree + 1) % 2], degree == 4 ? root : turn[degree % 2]);
  }
  return n;
}

/* The quartic in x = alpha/tau, divided by scales of its parts. */
static void quartic_of(const one_contact *o, const load_terms *g, double c[5])
{
  const double t = o->tau, w_c = o->w_nt[0] * g->c[0] + o->w_nt[1] * g->c[1], w_a = o->w_nt[0] * g->a[0] + o->w_nt[1] * g->a[1];
  double       p[3] = {o->mu * (g->b_n * o->delta - w_a), o->mu * (g->b_n * t - w_c) * t, o->mu * g->b_n * t * t};
  double       q[3] = {g->a[0] * g->a[0] + g->a[1] * g->a[1], 2.0 * t * (g->a[0] * g->c[0] + g->a[1] * g->c[1]),
                       t * t * (g->c[0] * g->c[0] + g->c[1] * g->c[1])};
  const double size = fmax(fabs(p[0]), fmax(fabs(p[1]), fabs(p[2]))), ratio = o->w_nn / size;
  for (int k = 0; k < 3; ++k) p[k] /= size;
  c[0] = p[0] * p[0] - ratio * q[0] * ratio;
  c[1] = 2.0 * p[0] * p[1] - ratio * q[1] * ratio;
  c[2] = 2.0 * p[0] * p[2] + p[1] * p[1] - ratio * q[2] * ratio;
  c[3] = 2.0 * p[1] * p[2];
  c[4] = p[2] * p[2];
}

static double smallest_root(const one_contact *o, const load_terms *g)
{
  double c[5], root[4], slope, high = 0.5 * o->tau;
  while (f_of(o, g, high, &slope) < 0.0 && high < DBL_MAX) high *= 4.0;
  quartic_of(o, g, c);
  const int n = quartic_roots(c, high / o->tau, root);
  for (int k = 0; k < n; ++k) { /* the first at which f itself comes up through zero */
    const double alpha = root[k] * o->tau, above = k + 1 < n ? 0.5 * (root[k] + root[k + 1]) * o->tau : high;
    if (f_of(o, g, above, &slope) < 0.0) continue;
    const double below = k > 0 ? 0.5 * (root[k - 1] + root[k]) * o->tau : 0.0;
    return bracketed_root(o, g, below, above, alpha > below && alpha < above ? alpha : 0.5 * (below + above));
  }
  return bracketed_root(o, g, 0.0, high, high);
}

void one_contact_enumerate(const one_contact *o, const double b[3], double r[3])
{
  double none = 0.0, t[3];
  rotate_to_axes(o, b, t);
  if (b[0] < 0.0 && o->mu > 0.0) {
    const load_terms g = push(o, t);
    if (!is_sticking(o, &g)) {
      sliding_impulse(o, &g, smallest_root(o, &g), r);
      turn_out(o, r);
      return;
    }
  }
  solve_in_rotated_tangents(o, t, &none, r); /* separation, stick or no friction: no root search is needed */
  turn_out(o, r);
}

/* The local solver of [Daviet2011]: Fischer-Burmeister on the friction cone, made self-dual by x = (mu r_N, r_T), y = (û_N, mu û_T). */
enum { BACKTRACKS = 12 };
static const double MU_ENORMOUS = 1e3;

/* z = (x^2 + y^2)^(1/2) by the spectral values of x^2 + y^2, sqrt(lambda-) and sqrt(lambda+) in root. */
static void jordan_root(const double x[3], const double y[3], double z[3], double root[2])
{
  double       w[3] = {v3_dot(x, x) + v3_dot(y, y), 2.0 * (x[0] * x[1] + y[0] * y[1]), 2.0 * (x[0] * x[2] + y[0] * y[2])};
  const double t    = sqrt(w[1] * w[1] + w[2] * w[2]);
  /* lambda- without cancellation: lambda- lambda+ = w_0^2 - |w_T|^2 is still a difference, so clip it at round-off */
  const double low = w[0] - t;
  root[0]          = low > 4.0 * DBL_EPSILON * w[0] ? sqrt(low) : 0.0;
  root[1]          = sqrt(w[0] + t);
  z[0]             = 0.5 * (root[0] + root[1]);
  const double s   = t > 0.0 ? 0.5 * (root[1] - root[0]) / t : 0.0;
  z[1] = s * w[1], z[2] = s * w[2];
}

static void arrow(const double x[3], double l[9])
{
  l[0] = l[4] = l[8] = x[0];
  l[1] = l[3] = x[1], l[2] = l[6] = x[2];
  l[5] = l[7] = 0.0;
}

/* d phi/dx and d phi/dy. */
static void derivatives(const double x[3], const double y[3], const double z[3], const double root[2], double dx[9], double dy[9])
{
  double lx[9], ly[9], lz[9], inverse[9];
  m3_identity(dx), m3_identity(dy);
  if (root[0] > 0.0) {
    arrow(x, lx), arrow(y, ly), arrow(z, lz);
    m3_inverse(inverse, lz);
    m3_mul(lz, inverse, lx), m3_axpy(dx, -1.0, lz);
    m3_mul(lz, inverse, ly), m3_axpy(dy, -1.0, lz);
    return;
  }
  const double size = sqrt(x[0] * x[0] + y[0] * y[0]); /* grazing, or the tip of both cones */
  for (int i = 0; i < 9; i += 4) {
    dx[i] -= size > 0.0 ? x[0] / size : M_SQRT1_2;
    dy[i] -= size > 0.0 ? y[0] / size : M_SQRT1_2;
  }
}

void one_contact_fischer_burmeister(const one_contact *o, const double b[3], const double r[3], double phi[3], double jacobian[9])
{
  const double mu = o->mu, rho = o->rho;
  double       u[3], z[3], root[2];
  m3_mulv(u, o->W, r);
  v3_add(u, u, b);
  const double t = sqrt(u[1] * u[1] + u[2] * u[2]), x[3] = {mu * r[0], r[1], r[2]},
               y[3] = {rho * (u[0] + mu * t), rho * mu * u[1], rho * mu * u[2]};
  jordan_root(x, y, z, root);
  for (int i = 0; i < 3; ++i) phi[i] = x[i] + y[i] - z[i];
  if (!jacobian) return;
  double       dx[9], dy[9], chain[9], wrt_u[9];
  const double lift[2]   = {t > 0.0 ? mu * u[1] / t : 0.0, t > 0.0 ? mu * u[2] / t : 0.0};
  const double from_u[9] = {rho, rho * lift[0], rho * lift[1], 0.0, rho * mu, 0.0, 0.0, 0.0, rho * mu};
  derivatives(x, y, z, root, dx, dy);
  m3_mul(wrt_u, dy, from_u);
  m3_mul(chain, wrt_u, o->W);
  for (int i = 0; i < 3; ++i) {
    jacobian[3 * i] = chain[3 * i] + mu * dx[3 * i];
    for (int j = 1; j < 3; ++j) jacobian[3 * i + j] = chain[3 * i + j] + dx[3 * i + j];
  }
}

bool one_contact_newton(const one_contact *o, const double b[3], int n_steps, double tolerance, double r[3])
{
  double phi[3], J[9], inverse[9], step[3], trial[3];
  one_contact_fischer_burmeister(o, b, r, phi, J);
  double size = v3_norm(phi);
  for (int k = 0; k < n_steps && size > tolerance; ++k) {
    m3_inverse(inverse, J);
    m3_mulv(step, inverse, phi);
    double s = 1.0, trial_size = INFINITY;
    int    back = 0;
    for (; back < BACKTRACKS; ++back, s *= 0.5) { /* Armijo on 1/2 |phi|^2 */
      for (int i = 0; i < 3; ++i) trial[i] = r[i] - s * step[i];
      one_contact_fischer_burmeister(o, b, trial, phi, J);
      trial_size = v3_norm(phi);
      if (trial_size <= (1.0 - 1e-4 * s) * size) break;
    }
    if (back == BACKTRACKS || !(trial_size < size)) break;
    v3_copy(r, trial);
    size = trial_size;
  }
  return size <= tolerance;
}

/* Project r onto the cone; Newton's solutions satisfy it to their tolerance only. */
static void project_onto_cone(double mu, double r[3])
{
  const double t = sqrt(r[1] * r[1] + r[2] * r[2]);
  if (!(r[0] > 0.0)) r[0] = r[1] = r[2] = 0.0;
  else if (t > mu * r[0]) r[1] *= mu * r[0] / t, r[2] *= mu * r[0] / t;
}

/* |phi| after projection of r onto the cone, relative to the terms whose difference it is: for a nearly singular W a small wrong
 * r has a small |phi| too. */
static double evaluate_projected_norm(const one_contact *o, const double b[3], double r[3])
{
  double phi[3];
  project_onto_cone(o->mu, r);
  one_contact_fischer_burmeister(o, b, r, phi, NULL);
  return v3_norm(phi) / (v3_norm(r) + o->rho * v3_norm(b));
}

void one_contact_hybrid(const one_contact *o, const double b[3], double tolerance, double r[3])
{
  double tried[3], listed[3], again[3];
  /* for huge mu, u_N is lost in û_N = u_N + mu |u_T|, and |phi| is no error norm */
  if (b[0] >= 0.0 || o->mu == 0.0 || o->mu > MU_ENORMOUS) {
    one_contact_enumerate(o, b, r);
    return;
  }
  v3_copy(tried, r);
  const bool   is_solved  = one_contact_newton(o, b, 10, tolerance * (v3_norm(r) + o->rho * v3_norm(b)), tried);
  const double tried_norm = evaluate_projected_norm(o, b, tried);
  if (!is_solved) {
    one_contact_enumerate(o, b, listed);
    const double listed_norm = evaluate_projected_norm(o, b, listed);
    if (listed_norm < tried_norm) v3_copy(tried, listed);
    if (listed_norm > tolerance) {
      v3_copy(again, listed);
      one_contact_newton(o, b, 10, tolerance * (v3_norm(listed) + o->rho * v3_norm(b)), again);
      if (evaluate_projected_norm(o, b, again) < fmin(listed_norm, tried_norm)) v3_copy(tried, again);
    }
  }
  v3_copy(r, tried);
}
