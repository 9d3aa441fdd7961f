/* Masses of a rigid body's vertices on a grid: never more than its effective mass, and equal to it where possible. */
#include "contact/augury/rigid_weight.h"
#include "core/math3.h"
#include "core/random.h"
#include "test.h"
#include <string.h>

static void random_inertia(uint64_t seed, double J[9])
{
  memset(J, 0, 9 * sizeof *J);
  for (int p = 0; p < 4; ++p) { /* of four masses: definite */
    double       r[3];
    const double m = random_range(seed, (uint64_t)p, 9, 0.2, 2.0);
    for (int k = 0; k < 3; ++k) r[k] = random_normal(seed, (uint64_t)p, 10 + (uint64_t)k);
    for (int i = 0; i < 9; ++i) J[i] += m * ((i % 4 == 0) * v3_dot(r, r) - r[i / 3] * r[i % 3]);
  }
}

/* u^T S u and u^T M u. */
static void energies(const double S[36], double mass, const double J[9], const double u[6], double *of_nodes, double *of_body)
{
  double w[3];
  m3_mulv(w, J, u + 3);
  *of_nodes = 0.0;
  for (int i = 0; i < 36; ++i) *of_nodes += u[i / 6] * S[i] * u[i % 6];
  *of_body = mass * v3_dot(u, u) + v3_dot(u + 3, w);
}

/* The largest u^T S u / u^T M u, by powers of M^-1 S. */
static double largest(const double S[36], double mass, const double J[9], uint64_t seed)
{
  double u[6], of_nodes = 0.0, of_body = 1.0, inverse[9];
  for (int k = 0; k < 6; ++k) u[k] = random_normal(seed, 77, (uint64_t)k);
  m3_inverse(inverse, J);
  for (int n = 0; n < 3000; ++n) {
    double q[6] = {0.0}, length = 0.0;
    for (int i = 0; i < 36; ++i) q[i / 6] += S[i] * u[i % 6];
    v3_scale(u, 1.0 / mass, q);
    m3_mulv(u + 3, inverse, q + 3);
    for (int k = 0; k < 6; ++k) length += u[k] * u[k];
    for (int k = 0; k < 6; ++k) u[k] /= sqrt(length);
  }
  energies(S, mass, J, u, &of_nodes, &of_body);
  return of_nodes / of_body;
}

static void no_motion_has_more_energy_in_nodes_than_in_the_body(void **state)
{
  (void)state;
  for (uint64_t c = 0; c < 200; ++c) {
    double       S[36] = {0.0}, J[9];
    const double mass  = random_range(c, 0, 1, 0.1, 10.0);
    const int    n     = 1 + (int)(c % 7);
    random_inertia(c, J);
    for (int p = 0; p < n; ++p) {
      double r[3], d[3];
      for (int k = 0; k < 3; ++k) r[k] = random_normal(c, (uint64_t)p, 3 + (uint64_t)k);
      random_direction(c, (uint64_t)p, 40, d);
      const double m = random_range(c, (uint64_t)p, 2, 0.0, 5.0);
      if (c % 2) rigid_weight_add(S, m, r);
      else rigid_weight_add_along(S, m, r, d);
      /* A node adds the square of its velocity, or of its component along d. */
      double one[36] = {0.0}, u[6], v[3], of_nodes, of_body;
      if (c % 2) rigid_weight_add(one, m, r);
      else rigid_weight_add_along(one, m, r, d);
      for (int k = 0; k < 6; ++k) u[k] = random_normal(c, (uint64_t)p, 50 + (uint64_t)k);
      v3_cross(v, u + 3, r), v3_axpy(v, 1.0, u);
      energies(one, mass, J, u, &of_nodes, &of_body);
      assert_close(of_nodes, m * (c % 2 ? v3_dot(v, v) : v3_dot(v, d) * v3_dot(v, d)),
                   1e-12 * (1.0 + m * v3_dot(v, v)) * (1 + v3_dot(r, r)));
    }
    const double f = rigid_weight_factor(S, mass, J), most = largest(S, mass, J, c);
    assert_true(f * most <= 1.0 + 1e-9);
    assert_true(f * most >= 0.97);
    for (uint64_t t = 0; t < 20; ++t) {
      double u[6], of_nodes, of_body;
      for (int k = 0; k < 6; ++k) u[k] = random_normal(c, t, 90 + (uint64_t)k);
      energies(S, mass, J, u, &of_nodes, &of_body);
      assert_true(f * of_nodes <= of_body * (1 + 1e-9));
    }
  }
  const double nothing[36] = {0.0}, J[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  assert_true(rigid_weight_factor(nothing, 1.0, J) == 1.0);
}

/* At one place: 1/(1/mass + |r x n|^2/inertia), to six places of one eigenvalue alone exactly. */
static void single_node_has_the_effective_mass(void **state)
{
  (void)state;
  const double J[9] = {0.4, 0, 0, 0, 0.4, 0, 0, 0, 0.4}, r[3] = {0.0, 0.6, 0.8}, across[3] = {1.0, 0.0, 0.0};
  double       S[36] = {0.0}, T[36] = {0.0};
  rigid_weight_add_along(S, 0.01, r, across);
  rigid_weight_add_along(T, 0.01, r, r);
  assert_close(0.01 * rigid_weight_factor(S, 2.0, J), 1.0 / (1.0 / 2.0 + 1.0 / 0.4), 1e-12);
  assert_close(0.01 * rigid_weight_factor(T, 2.0, J), 2.0, 1e-12);
}

TEST_MAIN(cmocka_unit_test(no_motion_has_more_energy_in_nodes_than_in_the_body), cmocka_unit_test(single_node_has_the_effective_mass))
