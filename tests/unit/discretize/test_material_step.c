/* Laws that depend on the gradient at the start of the step: the position of a point in a batch does not change its result. */
#include "material_step_fixture.h"

/* Same bits alone and anywhere in a batch, with and without tangent, before and after acceptance. */
static void place_does_not_matter(void **state)
{
  (void)state;
  enum { N = 61 };
  material *all[] = {make_lagged(), make_dough(), make_liquid()};
  for (int i = 0; i < 3; ++i) {
    material     *m = all[i];
    static double start[9 * N], F[9 * N], P[9 * N], Q[9 * N], U[9 * N], V[9 * N], dp[9 * N], a[3 * N], b[3 * N], G[9 * N], history[N];
    for (int j = 0; j < N; ++j) {
      double s[9] = {1.1, 0, 0, 0, 1.1, 0, 0, 0, 1.1}, f[9];
      if (i < 2) random_step(0.2, s, f);
      else
        for (int k = 0; k < 9; ++k) f[k] = s[k] + 0.2 * random_unit();
      for (int k = 0; k < 9; ++k) start[k * N + j] = s[k], F[k * N + j] = G[k * N + j] = f[k];
      history[j] = 0.0;
    }
    assert_int_equal(material_stress(m, N, N, start, F, history, P, U, V, dp, a, b), N);
    assert_int_equal(material_stress(m, N, N, start, F, history, Q, NULL, NULL, NULL, NULL, NULL), N);
    assert_memory_equal(P, Q, sizeof P);
    assert_int_equal(material_accept(m, N, N, start, G, history, NULL), N);
    for (int j = 0; j < N; ++j) {
      double s[9], f[9], zero = 0.0;
      for (int k = 0; k < 9; ++k) s[k] = start[k * N + j], f[k] = F[k * N + j];
      const response r = respond_from(m, s, f, &zero);
      for (int k = 0; k < 9; ++k)
        assert_true(r.P[k] == P[k * N + j] && r.dp[k] == dp[k * N + j] && r.U[k] == U[k * N + j] && r.V[k] == (k % 4 == 0));
      assert_int_equal(material_accept(m, 1, 1, s, f, &zero, NULL), 1);
      for (int k = 0; k < 9; ++k) assert_true(f[k] == G[k * N + j]);
      if (i == 1) assert_true(zero == history[j]);
    }
    material_destroy(&all[i]);
  }
}

TEST_MAIN(cmocka_unit_test(place_does_not_matter))
