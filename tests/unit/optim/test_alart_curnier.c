/* The function of Alart and Curnier: derivatives in every region, zeros where Coulomb's law holds, sums over contacts. */
#include "optim/friction/alart_curnier.h"
#include "test.h"
#include <string.h>

/* A point well inside every region: normal part, tangential part, radius. */
typedef struct {
  const char *name;
  double      mu, u[3], r[3];
  bool        is_active[2]; /* by radius */
} region;
static const region regions[] = {
    {"pressed, stick", 0.5, {0.1, 0.05, -0.02}, {1.0, 0.1, 0.2}, {true, true}},
    {"pressed, slide", 0.5, {0.1, 0.6, -0.9}, {1.0, 0.1, 0.2}, {true, true}},
    {"pressed, pulling impulse", 0.5, {-0.9, 0.6, -0.9}, {-0.3, 0.1, 0.2}, {true, true}},
    {"open, stick", 0.5, {3.0, 0.05, -0.02}, {1.0, 0.1, 0.2}, {true, false}},
    {"open, slide", 0.5, {3.0, 0.6, -0.9}, {1.0, 0.1, 0.2}, {true, false}},
    {"open, pulling impulse", 0.5, {0.4, 0.6, -0.9}, {-0.3, 0.1, 0.2}, {false, false}},
    {"no friction", 0.0, {0.1, 0.6, -0.9}, {1.0, 0.1, 0.2}, {true, true}},
};

/* Central differences: the error of a smooth function is of order h^2, here 1e-10 times third derivatives of order one. */
static void jacobian_is_the_derivative_in_every_region(void **state)
{
  const double rho[2] = {0.8, 1.3}, h = 1e-5;
  (void)state;
  for (int radius = 0; radius < 2; ++radius)
    for (size_t c = 0; c < sizeof regions / sizeof *regions; ++c) {
      const region *at = &regions[c];
      double        f[3], A[9], B[9], none[18], low[3], high[3];
      const bool    is_active = alart_curnier_contact((alart_curnier_radius)radius, at->mu, rho, at->u, at->r, f, A, B);
      if (is_active != at->is_active[radius]) fail_msg("%s: active %d", at->name, is_active);
      for (int of_r = 0; of_r < 2; ++of_r)
        for (int j = 0; j < 3; ++j) {
          double u[3], r[3];
          memcpy(u, at->u, sizeof u), memcpy(r, at->r, sizeof r);
          double      *x      = of_r ? r : u;
          const double middle = x[j];
          x[j]                = middle - h;
          alart_curnier_contact((alart_curnier_radius)radius, at->mu, rho, u, r, low, none, none + 9);
          x[j] = middle + h;
          alart_curnier_contact((alart_curnier_radius)radius, at->mu, rho, u, r, high, none, none + 9);
          for (int i = 0; i < 3; ++i) {
            const double slope = (high[i] - low[i]) / (2.0 * h), ours = (of_r ? B : A)[3 * i + j];
            if (!(fabs(slope - ours) <= 1e-8))
              fail_msg("%s, radius %d: df_%d/d%c_%d = %.10g, differences say %.10g", at->name, radius, i, of_r ? 'r' : 'u', j, ours, slope);
          }
        }
    }
}

/* Zero exactly where Coulomb's law holds, for any rho; continuous across the kinks. */
static void zeros_are_coulombs_law(void **state)
{
  const double good[][6] = {/* u, r */ {0.3, 0.1, -2, 0, 0, 0}, {0, 0, 0, 2, 0.6, -0.8}, {0, 0.3, 0.4, 2, -0.6, -0.8}, {0, 0, 0, 0, 0, 0}};
  const double bad[][6]  = {{0.3, 0, 0, 1, 0, 0},    {-0.1, 0, 0, 0, 0, 0}, {0, 0.3, 0.4, 2, 0.6, 0.8},
                            {0, 0.3, 0, 2, -0.6, 0}, {0, 0, 0, 2, 1.2, 0},  {0, 0, 0, -1, 0, 0}};
  double       f[3], A[9], B[9];
  (void)state;
  for (int radius = 0; radius < 2; ++radius)
    for (double scale = 0.01; scale < 1000.0; scale *= 7.0) {
      const double rho[2] = {scale, 2.0 * scale};
      for (size_t c = 0; c < 4; ++c) {
        alart_curnier_contact((alart_curnier_radius)radius, 0.5, rho, good[c], good[c] + 3, f, A, B);
        for (int i = 0; i < 3; ++i) assert_close(f[i], 0.0, 1e-15);
      }
      for (size_t c = 0; c < 6; ++c) {
        alart_curnier_contact((alart_curnier_radius)radius, 0.5, rho, bad[c], bad[c] + 3, f, A, B);
        if (hypot(f[0], hypot(f[1], f[2])) < 1e-4) fail_msg("state %zu breaks the law, but f is (%g, %g, %g)", c, f[0], f[1], f[2]);
      }
    }
}

/* 1/2 |f|^2 over all contacts, the same f, A, B as contact by contact, also without A and B; scales of the blocks. */
static void all_contacts_are_summed(void **state)
{
  enum { N = 7 };
  double mu[N], rho[2 * N], u[3 * N], r[3 * N], f[3 * N], A[9 * N], B[9 * N], one[3], C[9], D[9], sum = 0.0;
  bool   is_active[N];
  (void)state;
  for (int a = 0; a < N; ++a) {
    mu[a] = regions[a].mu, rho[2 * a] = 0.8 + 0.1 * a, rho[2 * a + 1] = 1.3;
    memcpy(u + 3 * a, regions[a].u, sizeof regions[a].u), memcpy(r + 3 * a, regions[a].r, sizeof regions[a].r);
  }
  const friction_problem p    = {.n = N, .mu = mu};
  const double           half = alart_curnier(ALART_CURNIER_AUGMENTED, &p, rho, u, r, f, A, B, is_active);
  for (int a = 0; a < N; ++a) {
    assert_int_equal(alart_curnier_contact(ALART_CURNIER_AUGMENTED, mu[a], rho + 2 * a, u + 3 * a, r + 3 * a, one, C, D), is_active[a]);
    assert_memory_equal(one, f + 3 * a, sizeof one);
    assert_memory_equal(C, A + 9 * a, sizeof C);
    assert_memory_equal(D, B + 9 * a, sizeof D);
    sum += one[0] * one[0] + one[1] * one[1] + one[2] * one[2];
  }
  assert_close(half, 0.5 * sum, 1e-15 * sum);
  alart_curnier_rho((const double[9]){4, 0, 0, 0, 2, 1, 0, 1, 6}, one);
  assert_close(one[0], 0.25, 0.0);
  assert_close(one[1], 0.25, 0.0);
  alart_curnier_rho((const double[9]){4, 0, 0, 0, 0, 0, 0, 0, 0}, one);
  assert_close(one[1], 0.25, 0.0);
}

TEST_MAIN(cmocka_unit_test(jacobian_is_the_derivative_in_every_region), cmocka_unit_test(zeros_are_coulombs_law),
          cmocka_unit_test(all_contacts_are_summed))
