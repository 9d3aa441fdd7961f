/* The scene of case.yaml once more, by an explicit plane MPM of its own: how early two discs on one grid feel each other, for the
 * kernel of the method's first papers (linear), and for the quadratic and cubic splines.
 *
 *   cc -O2 -o discs validation/cases/E06/independent.c -lm && ./discs
 *
 * Plane strain neo-Hookean, particles on a lattice, velocities by FLIP and strains from what they leave (linear) or APIC (splines), symplectic Euler. Touch is read off as by
 * `reduce: onset`: the line through 10 % and 50 % of the largest rate of v_one, taken back to zero. Nothing of src/ is used. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 200000, SIDE = 140 };
static double x[MOST][2], step_x[MOST][2], v[MOST][2], F[MOST][4], C[MOST][4];
static int    disc[MOST], n;
static double m_g[SIDE][SIDE], p_g[SIDE][SIDE][2], old_g[SIDE][SIDE][2];

/* Weights of the `order + 1` nodes from the returned one on, and their derivatives; s is the place in cells. */
static int weights(int order, double s, double w[4], double d[4])
{
  if (order == 1) {
    const int    i = (int)floor(s);
    const double f = s - i;
    w[0] = 1 - f, w[1] = f, d[0] = -1, d[1] = 1;
    return i;
  }
  if (order == 2) {
    const int    i = (int)floor(s - 0.5);
    const double f = s - i;
    w[0] = 0.5 * (1.5 - f) * (1.5 - f), w[1] = 0.75 - (f - 1) * (f - 1), w[2] = 0.5 * (f - 0.5) * (f - 0.5);
    d[0] = f - 1.5, d[1] = -2 * (f - 1), d[2] = f - 0.5;
    return i;
  }
  const int    i = (int)floor(s) - 1;
  const double f = s - floor(s), q = 1 - f;
  w[0] = q * q * q / 6, w[1] = (3 * f * f * f - 6 * f * f + 4) / 6, w[2] = (3 * q * q * q - 6 * q * q + 4) / 6, w[3] = f * f * f / 6;
  d[0] = -0.5 * q * q, d[1] = 1.5 * f * f - 2 * f, d[2] = -(1.5 * q * q - 2 * q), d[3] = 0.5 * f * f;
  return i;
}

static double touch(int order, double h, double shift)
{
  const double E = 1e3, nu = 0.3, rho = 1e3, mu = E / (2 * (1 + nu)), la = E * nu / ((1 + nu) * (1 - 2 * nu)), dt = 0.1 * h / 1.35,
               every = 0.01;
  const double a = h / 2, vol = a * a, D = order == 2 ? h * h / 4 : h * h / 3;
  n = 0;
  for (int k = 0; k < 2; ++k)
    for (double X = a / 2 - 0.2; X < 0.2; X += a)
      for (double Y = a / 2 - 0.2; Y < 0.2; Y += a)
        if (X * X + Y * Y < 0.04) {
          const double c = k ? 0.8 : 0.2, u = k ? -0.1 : 0.1;
          x[n][0] = c + X + shift * h, x[n][1] = c + Y + shift * h, v[n][0] = v[n][1] = u, disc[n] = k;
          memcpy(F[n], (double[4]){1, 0, 0, 1}, sizeof F[n]);
          memset(C[n], 0, sizeof C[n]);
          ++n;
        }
  const int    steps = (int)(3.0 / dt);
  const size_t rows  = (size_t)(1.0 / h) + 18;
  double      *rate = calloc((size_t)(3.0 / every) + 2, sizeof *rate), v_last = 0.1 * sqrt(2), t_next = every;
  int          n_rate = 0;
  for (int step = 1; step <= steps; ++step) {
    memset(m_g, 0, rows * sizeof m_g[0]), memset(p_g, 0, rows * sizeof p_g[0]);
    double wx[4], dx[4], wy[4], dy[4];
    for (int p = 0; p < n; ++p) {
      const int i0 = weights(order, x[p][0] / h + 8, wx, dx), j0 = weights(order, x[p][1] / h + 8, wy, dy);
      for (int i = 0; i <= order; ++i)
        for (int j = 0; j <= order; ++j) {
          const double w  = wx[i] * wy[j] * rho * vol;
          const double rx = (i0 + i - 8) * h - x[p][0], ry = (j0 + j - 8) * h - x[p][1];
          m_g[i0 + i][j0 + j] += w;
          p_g[i0 + i][j0 + j][0] += w * (v[p][0] + C[p][0] * rx + C[p][1] * ry);
          p_g[i0 + i][j0 + j][1] += w * (v[p][1] + C[p][2] * rx + C[p][3] * ry);
        }
    }
    memcpy(old_g, p_g, rows * sizeof p_g[0]);
    for (int p = 0; p < n; ++p) {
      const int i0 = weights(order, x[p][0] / h + 8, wx, dx), j0 = weights(order, x[p][1] / h + 8, wy, dy);
      /* Kirchhoff stress mu F F^T + (la log J - mu) 1 */
      const double J = F[p][0] * F[p][3] - F[p][1] * F[p][2], q = la * log(J) - mu;
      const double t0 = mu * (F[p][0] * F[p][0] + F[p][1] * F[p][1]) + q, t1 = mu * (F[p][0] * F[p][2] + F[p][1] * F[p][3]),
                   t3 = mu * (F[p][2] * F[p][2] + F[p][3] * F[p][3]) + q;
      for (int i = 0; i <= order; ++i)
        for (int j = 0; j <= order; ++j) {
          const double gx = dx[i] * wy[j] / h, gy = wx[i] * dy[j] / h;
          p_g[i0 + i][j0 + j][0] -= dt * vol * (t0 * gx + t1 * gy);
          p_g[i0 + i][j0 + j][1] -= dt * vol * (t1 * gx + t3 * gy);
        }
    }
    double sum   = 0;
    int    count = 0;
    for (int p = 0; p < n; ++p) {
      const int i0 = weights(order, x[p][0] / h + 8, wx, dx), j0 = weights(order, x[p][1] / h + 8, wy, dy);
      double    u[2] = {0}, du[2] = {0}, B[4] = {0};
      for (int i = 0; i <= order; ++i)
        for (int j = 0; j <= order; ++j) {
          const double w = wx[i] * wy[j], m = m_g[i0 + i][j0 + j], r[2] = {(i0 + i - 8) * h - x[p][0], (j0 + j - 8) * h - x[p][1]};
          if (w <= 0 || m <= 0) continue;
          for (int k = 0; k < 2; ++k) {
            const double vn = p_g[i0 + i][j0 + j][k] / m;
            u[k] += w * vn, du[k] += w * (vn - old_g[i0 + i][j0 + j][k] / m);
            for (int l = 0; l < 2; ++l) B[2 * k + l] += w * vn * r[l];
          }
        }
      for (int k = 0; k < 2; ++k) v[p][k] = order == 1 ? v[p][k] + du[k] : u[k], step_x[p][k] = dt * u[k];
      if (order > 1)
        for (int k = 0; k < 4; ++k) C[p][k] = B[k] / D;
      if (disc[p] == 0) sum += (v[p][0] + v[p][1]) / sqrt(2), ++count;
    }
    if (order == 1) { /* strains from the particles' new velocities, without which light nodes run away (Sulsky et al. 1995) */
      memset(p_g, 0, rows * sizeof p_g[0]);
      for (int p = 0; p < n; ++p) {
        const int i0 = weights(order, x[p][0] / h + 8, wx, dx), j0 = weights(order, x[p][1] / h + 8, wy, dy);
        for (int i = 0; i <= order; ++i)
          for (int j = 0; j <= order; ++j)
            for (int k = 0; k < 2; ++k) p_g[i0 + i][j0 + j][k] += wx[i] * wy[j] * rho * vol * v[p][k];
      }
    }
    for (int p = 0; p < n; ++p) {
      const int i0 = weights(order, x[p][0] / h + 8, wx, dx), j0 = weights(order, x[p][1] / h + 8, wy, dy);
      double    G[4] = {1, 0, 0, 1};
      for (int i = 0; i <= order; ++i)
        for (int j = 0; j <= order; ++j) {
          const double m = m_g[i0 + i][j0 + j], gr[2] = {dx[i] * wy[j] / h, wx[i] * dy[j] / h};
          if (m <= 0) continue;
          for (int k = 0; k < 2; ++k)
            for (int l = 0; l < 2; ++l) G[2 * k + l] += dt * p_g[i0 + i][j0 + j][k] / m * gr[l];
        }
      const double f[4] = {F[p][0], F[p][1], F[p][2], F[p][3]};
      F[p][0] = G[0] * f[0] + G[1] * f[2], F[p][1] = G[0] * f[1] + G[1] * f[3];
      F[p][2] = G[2] * f[0] + G[3] * f[2], F[p][3] = G[2] * f[1] + G[3] * f[3];
      for (int k = 0; k < 2; ++k) x[p][k] += step_x[p][k];
    }
    if (step * dt >= t_next) {
      const double now = sum / count;
      rate[n_rate++]   = fabs(now - v_last) / every;
      v_last           = now, t_next += every;
    }
  }
  double largest = 0, t[2] = {NAN, NAN};
  for (int i = 0; i < n_rate; ++i) largest = fmax(largest, rate[i]);
  for (int i = 1; i < n_rate; ++i)
    for (int k = 0; k < 2; ++k) {
      const double level = (k ? 0.5 : 0.1) * largest;
      if (isnan(t[k]) && rate[i] >= level) t[k] = every * (i - 0.5 + (level - rate[i - 1]) / (rate[i] - rate[i - 1]));
    }
  free(rate);
  return 1.25 * t[0] - 0.25 * t[1];
}

int main(void)
{
  const double exact = (0.6 * sqrt(2) - 0.4) / (0.2 * sqrt(2));
  for (int order = 1; order <= 3; ++order)
    for (double h = 0.05; h > 0.012; h /= 2) {
      double mean = 0, least = INFINITY, most = -INFINITY;
      for (int s = 0; s < 2; ++s) {
        const double t = touch(order, h, 0.5 * s), early = (exact - t) * 0.2 * sqrt(2) / h;
        mean += early / 2, least = fmin(least, early), most = fmax(most, early);
      }
      fflush(stdout);
      printf("%s, h %g: early by %.2f cells (%.2f to %.2f, with the grid moved by half a cell)\n",
             order == 1   ? "linear"
             : order == 2 ? "quadratic"
                          : "cubic",
             h, mean, least, most);
    }
  return 0;
}
