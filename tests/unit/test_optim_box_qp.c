#include "box_fixture.h"

/* Every method and preconditioner against enumeration on up to 8 unknowns: the answers of definite programs are unique. The bound 1e-10 is E15's, on
 * the scale of the unknown; conditions are up to 1e4. */
static void against_enumeration(void **state)
{
  (void)state;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const int64_t n = 1 + (int64_t)(seed % 8);
    dense         a = dense_random(seed, n, n, 0.05, seed % 4 == 3);
    const box_qp  q = dense_qp(&a);
    double        exact[DENSE_MAX], x[DENSE_MAX];
    assert_true(dense_enumerate(&a, exact));
    for (int method = 0; method < BOX_N_METHODS; ++method)
      for (int kind = 0; kind < BOX_N_PRECONDITIONERS && method != BOX_METHOD_CG; ++kind) {
        box_options o = box_defaults(method, kind, 1e-13);
        o.max_iterations = 1000000;
        box_result        r = {0};
        for (int64_t i = 0; i < n; ++i) x[i] = random_range(seed, (uint64_t)i, 5, -1, 1);
        assert_ok(box_solve(&q, &o, x, &r));
        if (r.verdict != BOX_OK) fail_msg("seed %d, %s, %d: %s, residual %g of %g", (int)seed, box_solvers[method].name, kind, box_verdict_text(r.verdict), r.residual, r.target);
        for (int64_t i = 0; i < n; ++i) {
          assert_true(x[i] >= a.lo[i] && x[i] <= a.hi[i]);
          assert_close(x[i] * sqrt(a.d[i]), exact[i] * sqrt(a.d[i]), 1e-10);
        }
      }
  }
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(against_enumeration))
