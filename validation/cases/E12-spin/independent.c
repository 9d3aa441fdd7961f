/* The scene of case.yaml once more, from the formulas alone: what backward Euler makes of a cube that spins on a smooth floor.
 *
 *   cc -O2 -o spin validation/cases/E12-spin/independent.c -lm && ./spin
 *
 * m (v1 - v0) = dt (sum f + m g),  I (w1 - w0) = dt sum (R1 b) x f,  c1 = c0 + dt v1,  R1 = exp(dt [w1]) R0,
 * f = k max(0, -height of the corner at the end of the step) upwards; I = m s^2/6 whatever the pose. Nothing of src/ is used.
 *
 * Prints, for two steps, the largest rise of the energy over any earlier value, and what it must be made of: with
 * V = k/2 sum min(0, height)^2, backward Euler changes the energy by
 *   -m/2 |dv|^2 - I/2 |dw|^2 + V(1) - V(0) + sum f (height(1) - height(0)) + sum dt w.(a1 x f) - f (a1 - a0)
 * in which the springs' part, V(1) - V(0) + sum f dz, is never above 0 (they are convex in their heights) and the last, the arms', is
 * (dt w)^2 f a/2 to lowest order for a corner at depth a below the centre: it feeds in, whoever integrates so. */
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { N = 6 };
static const double mass = 1.0, inertia = 1.0 / 600.0, k = 1.0e3, g = 9.81, half = 0.05;

typedef struct {
  double c[3], R[9], v[3], w[3];
} cube;

static void turn(double R1[9], const double t[3], const double R0[9])
{
  const double a2 = t[0] * t[0] + t[1] * t[1] + t[2] * t[2], a = sqrt(a2);
  const double s = a > 1e-8 ? sin(a) / a : 1.0 - a2 / 6.0, h = sin(0.5 * a), q = a > 1e-8 ? 2.0 * h * h / a2 : 0.5;
  const double K[9] = {0, -t[2], t[1], t[2], 0, -t[0], -t[1], t[0], 0};
  double       Q[9], out[9];
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      double kk = 0.0;
      for (int l = 0; l < 3; ++l) kk += K[3 * i + l] * K[3 * l + j];
      Q[3 * i + j] = (i == j) + s * K[3 * i + j] + q * kk;
    }
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      out[3 * i + j] = 0.0;
      for (int l = 0; l < 3; ++l) out[3 * i + j] += Q[3 * i + l] * R0[3 * l + j];
    }
  memcpy(R1, out, sizeof out);
}

static void arm(double a[3], const double R[9], int corner)
{
  const double b[3] = {corner & 1 ? half : -half, corner & 2 ? half : -half, corner & 4 ? half : -half};
  for (int i = 0; i < 3; ++i) a[i] = R[3 * i] * b[0] + R[3 * i + 1] * b[1] + R[3 * i + 2] * b[2];
}

static void residual(double r[N], const cube *b, const double z[N], double dt, cube *e)
{
  const double t[3] = {dt * z[3], dt * z[4], dt * z[5]};
  for (int i = 0; i < 3; ++i) e->v[i] = z[i], e->w[i] = z[3 + i], e->c[i] = b->c[i] + dt * z[i];
  turn(e->R, t, b->R);
  for (int i = 0; i < 3; ++i) r[i] = mass * (z[i] - b->v[i]) + (i == 2 ? dt * mass * g : 0.0), r[3 + i] = inertia * (z[3 + i] - b->w[i]);
  for (int p = 0; p < 8; ++p) {
    double a[3];
    arm(a, e->R, p);
    const double f = k * fmax(0.0, -(e->c[2] + a[2]));
    r[2] -= dt * f, r[3] -= dt * a[1] * f, r[4] += dt * a[0] * f;
  }
}

static void solve(double A[N][N], double r[N], double x[N])
{
  for (int c = 0; c < N; ++c) {
    int p = c;
    for (int i = c + 1; i < N; ++i)
      if (fabs(A[i][c]) > fabs(A[p][c])) p = i;
    for (int j = 0; j < N; ++j) {
      const double s = A[c][j];
      A[c][j] = A[p][j], A[p][j] = s;
    }
    const double s = r[c];
    r[c] = r[p], r[p] = s;
    for (int i = c + 1; i < N; ++i) {
      const double q = A[i][c] / A[c][c];
      for (int j = c; j < N; ++j) A[i][j] -= q * A[c][j];
      r[i] -= q * r[c];
    }
  }
  for (int i = N - 1; i >= 0; --i) {
    x[i] = r[i];
    for (int j = i + 1; j < N; ++j) x[i] -= A[i][j] * x[j];
    x[i] /= A[i][i];
  }
}

/* Newton with central differences; the last corrections are at round-off. */
static void step(cube *b, double dt)
{
  double z[N], r[N], up[N], down[N], A[N][N], dz[N];
  cube   e;
  memcpy(z, b->v, sizeof b->v);
  memcpy(z + 3, b->w, sizeof b->w);
  for (int it = 0; it < 40; ++it) {
    residual(r, b, z, dt, &e);
    for (int j = 0; j < N; ++j) {
      const double h = 1e-6, was = z[j];
      z[j] = was + h, residual(up, b, z, dt, &e);
      z[j] = was - h, residual(down, b, z, dt, &e);
      z[j] = was;
      for (int i = 0; i < N; ++i) A[i][j] = (up[i] - down[i]) / (2.0 * h);
    }
    solve(A, r, dz);
    double size = 0.0;
    for (int j = 0; j < N; ++j) z[j] -= dz[j], size = fmax(size, fabs(dz[j]));
    if (size < 1e-13) break;
  }
  residual(r, b, z, dt, &e);
  *b = e;
}

static double springs(const cube *b)
{
  double V = 0.0, a[3];
  for (int p = 0; p < 8; ++p) {
    arm(a, b->R, p);
    const double d = fmax(0.0, -(b->c[2] + a[2]));
    V += 0.5 * k * d * d;
  }
  return V;
}

static double energy(const cube *b)
{
  double E = springs(b) + mass * g * b->c[2];
  for (int i = 0; i < 3; ++i) E += 0.5 * mass * b->v[i] * b->v[i] + 0.5 * inertia * b->w[i] * b->w[i];
  return E;
}

/* What the arms of the step from b to e feed in: dt w.(a1 x f) - f.(a1 - a0). */
static double arms(const cube *b, const cube *e, double dt)
{
  double W = 0.0, a0[3], a1[3];
  for (int p = 0; p < 8; ++p) {
    arm(a0, b->R, p), arm(a1, e->R, p);
    const double f = k * fmax(0.0, -(e->c[2] + a1[2]));
    W += dt * (e->w[0] * a1[1] * f - e->w[1] * a1[0] * f) - f * (a1[2] - a0[2]);
  }
  return W;
}

int main(void)
{
  for (int run = 0; run < 2; ++run) {
    const double dt = run ? 5.0e-4 : 1.0e-3;
    const int    n  = run ? 300 : 150;
    cube         b  = {.c = {0, 0, 0.09}, .R = {1, 0, 0, 0, 1, 0, 0, 0, 1}, .w = {60, 5, 0}};
    const double l = sqrt(1 + 0.09 + 0.04), a = acos(-1.0) / 6.0, t[3] = {a / l, 0.3 * a / l, 0.2 * a / l};
    turn(b.R, t, b.R);
    const double start  = energy(&b);
    double       lowest = start, rise = 0.0, fed = 0.0, rest = -INFINITY;
    for (int i = 0; i < n; ++i) {
      const cube   was = b;
      const double E0  = energy(&b);
      step(&b, dt);
      const double E1 = energy(&b), W = arms(&was, &b, dt);
      rise   = fmax(rise, E1 - lowest);
      lowest = fmin(lowest, E1);
      fed += W, rest = fmax(rest, E1 - E0 - W);
    }
    printf("dt %g: start %.12g J, rise %.9g J, at the end %.12g J; arms fed in %.6g J; largest change of a step without them %.3g J\n", dt,
           start, rise, energy(&b), fed, rest);
  }
  return 0;
}
