/* How hard the two strands of a loose overhand knot press on each other, from the braid's own equations: the sigma of reference.yaml.
 *
 *   cc -O2 -o braid validation/cases/knot/braid.c -lm && ./braid
 *
 * Strands A and B cross the braid along x; A goes on into the loop, of curvature 1/R, at x > 0, B comes out of it at x < 0; tails are straight.
 * They are h thick in radius and all but parallel. U = (A - B) / 2h, in the plane across, as a function of z = x / sqrt(2 h R), minimises
 *   1/2 int |U''|^2 dz  with |U| >= 1,  U'' = (1, 0) for z -> inf, (-1, 0) for z -> -inf,
 * and turns by three halves of a turn on the way (one half would be no knot). Contacts press with P = |U''''|, each strand with
 * p = B h P / (2 h R)^2 a length, in all N = B / (2 sqrt(2)) int P dz / sqrt(h R^3); mu N is what friction adds to the pull, so that
 * sigma = int P dz / 2^(3/2). Nothing of src/ is used: second differences, |U| >= 1 by a penalty that grows, Newton. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BAND = 5, LONGEST = 3000, STAGES = 8 };

typedef struct {
  int     n;                    /* points; 2 n unknowns */
  double  dz, half;             /* -half <= z <= half */
  double *u, *g, *A, *K, *step; /* A, K: [2 n][BAND + 1] lower band, diagonal first */
} braid;

static double *entry(double *A, int i, int j) { return &A[(size_t)i * (BAND + 1) + (size_t)(i - j)]; }

/* Wound by three half turns within |z| < 2, then off along the loop's plane. */
static void start(braid *b)
{
  const double pi = acos(-1.0);
  for (int i = 0; i < b->n; ++i) {
    const double z = i * b->dz - b->half, far = fmax(0.0, fabs(z) - 2.0), r = 1.2 + 0.5 * far * far;
    const double turn = far > 0.0 ? (z > 0.0 ? 0.0 : 3.0 * pi) : 1.5 * pi * (1.0 - z / 2.0);
    b->u[2 * i] = r * cos(turn), b->u[2 * i + 1] = r * sin(turn);
  }
}

/* Gradient and matrix; the sum of what presses. */
static double assemble(braid *b, double stiffness)
{
  const double s[3] = {1.0 / (b->dz * b->dz), -2.0 / (b->dz * b->dz), 1.0 / (b->dz * b->dz)};
  const int    last = 2 * (b->n - 1);
  double       sum  = 0.0;
  memset(b->g, 0, (size_t)(2 * b->n) * sizeof *b->g);
  memset(b->A, 0, (size_t)(2 * b->n) * (BAND + 1) * sizeof *b->A);
  for (int i = 1; i + 1 < b->n; ++i)
    for (int c = 0; c < 2; ++c) {
      double bend = 0.0;
      for (int k = 0; k < 3; ++k) bend += s[k] * b->u[2 * (i + k - 1) + c];
      for (int k = 0; k < 3; ++k) {
        b->g[2 * (i + k - 1) + c] += b->dz * bend * s[k];
        for (int m = 0; m <= k; ++m) *entry(b->A, 2 * (i + k - 1) + c, 2 * (i + m - 1) + c) += b->dz * s[k] * s[m];
      }
    }
  /* The loop's moments at either end. */
  b->g[last] -= 1.0 / b->dz, b->g[last - 2] += 1.0 / b->dz;
  b->g[2] -= 1.0 / b->dz, b->g[0] += 1.0 / b->dz;
  for (int i = 0; i < b->n; ++i) {
    const double x = b->u[2 * i], y = b->u[2 * i + 1], r = hypot(x, y);
    if (r >= 1.0) continue;
    const double k = stiffness * b->dz, f = k * (1.0 - r), a = k / (r * r), t = -f / (r * r * r);
    sum += f;
    b->g[2 * i] -= f * x / r, b->g[2 * i + 1] -= f * y / r;
    *entry(b->A, 2 * i, 2 * i) += a * x * x + t * y * y;
    *entry(b->A, 2 * i + 1, 2 * i + 1) += a * y * y + t * x * x;
    *entry(b->A, 2 * i + 1, 2 * i) += (a - t) * x * y;
  }
  return sum;
}

/* K = Cholesky factor of A + shift; 0 if that is not definite. */
static int factor(braid *b, double shift)
{
  const int n = 2 * b->n;
  memcpy(b->K, b->A, (size_t)n * (BAND + 1) * sizeof *b->K);
  for (int i = 0; i < n; ++i) *entry(b->K, i, i) += shift;
  for (int j = 0; j < n; ++j)
    for (int i = j; i < n && i <= j + BAND; ++i) {
      double x = *entry(b->K, i, j);
      for (int m = i > BAND ? i - BAND : 0; m < j; ++m) x -= *entry(b->K, i, m) * *entry(b->K, j, m);
      if (i == j && !(x > 0.0)) return 0;
      *entry(b->K, i, j) = i == j ? sqrt(x) : x / *entry(b->K, j, j);
    }
  return 1;
}

/* A Newton step, no longer than 0.05 anywhere, so that strands do not pass through each other; its length. */
static double step(braid *b, double shift)
{
  const int n       = 2 * b->n;
  double    longest = 0.0;
  while (!factor(b, shift)) shift *= 4.0;
  for (int i = 0; i < n; ++i) {
    double x = -b->g[i];
    for (int m = i > BAND ? i - BAND : 0; m < i; ++m) x -= *entry(b->K, i, m) * b->step[m];
    b->step[i] = x / *entry(b->K, i, i);
  }
  for (int i = n - 1; i >= 0; --i) {
    double x = b->step[i];
    for (int m = i + 1; m < n && m <= i + BAND; ++m) x -= *entry(b->K, m, i) * b->step[m];
    b->step[i] = x / *entry(b->K, i, i);
    longest    = fmax(longest, fabs(b->step[i]));
  }
  for (int i = 0; i < n; ++i) b->u[i] += fmin(1.0, 0.05 / longest) * b->step[i];
  return longest;
}

/* *left: the largest component of the gradient at the end, 0 but for round-off where Newton has got there. */
static double sigma(int n, double *left)
{
  braid  b     = {.n = n, .half = 10.0, .dz = 20.0 / (n - 1)};
  double press = 0.0, stiffness = 1e3, **all[] = {&b.u, &b.g, &b.step};
  for (int k = 0; k < 3; ++k) *all[k] = calloc((size_t)(2 * n), sizeof(double));
  b.A = calloc((size_t)(2 * n) * (BAND + 1), sizeof *b.A), b.K = calloc((size_t)(2 * n) * (BAND + 1), sizeof *b.K);
  if (!b.u || !b.g || !b.step || !b.A || !b.K) abort();
  start(&b);
  for (int stage = 0; stage < STAGES; ++stage, stiffness *= 4.0)
    for (int k = 0; k < LONGEST; ++k) {
      press = assemble(&b, stiffness);
      *left = 0.0;
      for (int i = 0; i < 2 * n; ++i) *left = fmax(*left, fabs(b.g[i]));
      if (step(&b, (1e-9 + 1e-3 * *left) * b.dz) < 1e-7) break;
    }
  for (int k = 0; k < 3; ++k) free(*all[k]);
  free(b.A), free(b.K);
  return press / pow(2.0, 1.5);
}

int main(void)
{
  for (int n = 201; n <= 801; n = 2 * n - 1) {
    double       left;
    const double s = sigma(n, &left);
    printf("%4d points: sigma %.5f, left of the equations %.1e\n", n, s, left);
  }
  return 0;
}
