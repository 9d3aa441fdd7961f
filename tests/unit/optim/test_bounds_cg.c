/* Conjugate gradients on the free unknowns of a bound-constrained program: inside a KSP of PETSc, and the outcome of programs
 * without a solution. */
#include "box_fixture.h"
#include "linear_solver_fixture.h"
#include "optim/bounds/bounds_cg.h"

/* The default KSP type gives the bits and the counters of the solver without PETSc; other types give the solution. */
static void types_of_ksp(void **state)
{
  static const char *const types[] = {"", "-test_ksp_type cg", "-test_ksp_type cg -test_pc_type jacobi"};
  (void)state;
  for (uint64_t seed = 0; seed < 12; ++seed)
    for (int type = 0; type < 3; ++type) {
      dense          a     = dense_random(seed, 1 + (int64_t)(seed % 8), 1 + (int64_t)(seed % 8), 0.05, false);
      bounds_qp      q     = dense_qp(&a);
      bounds_options o     = box_defaults(BOUNDS_METHOD_ACTIVE_SET, BOUNDS_PRECONDITIONER_JACOBI, 1e-12);
      bounds_result  plain = {0}, r                 = {0};
      double         exact[DENSE_MAX], x[DENSE_MAX] = {0.0}, y[DENSE_MAX] = {0.0};
      assert_true(dense_enumerate(&a, exact));
      assert_ok(bounds_solve(&q, &o, x, &plain));
      q.solver = create_with(types[type]);
      assert_ok(bounds_solve(&q, &o, y, &r));
      assert_int_equal(r.status, BOUNDS_OK);
      for (int64_t i = 0; i < a.n; ++i) assert_close(y[i] * sqrt(a.d[i]), exact[i] * sqrt(a.d[i]), 1e-10);
      if (type == 0) {
        assert_memory_equal(x, y, sizeof x);
        assert_int_equal(r.iterations, plain.iterations);
        assert_int_equal(r.products, plain.products);
      }
      destroy_with(q.solver);
    }
  assert_no_leak();
}

/* Negative curvature along the gradient, and products that are not finite; with and without PETSc. */
static void programs_without_solution(void **state)
{
  (void)state;
  for (int has_solver = 0; has_solver < 2; ++has_solver)
    for (int is_nan = 0; is_nan < 2; ++is_nan) {
      dense a = {.n = 2, .A = {1.0, 0.0, 0.0, is_nan ? NAN : -1.0}, .d = {1.0, 1.0}, .b = {1.0, 2.0}};
      a.lo[0] = a.lo[1] = -INFINITY, a.hi[0] = a.hi[1] = INFINITY;
      bounds_qp      q    = dense_qp(&a);
      bounds_options o    = box_defaults(BOUNDS_METHOD_CG, BOUNDS_PRECONDITIONER_NONE, 1e-12);
      bounds_result  r    = {0};
      double         x[2] = {0.0};
      q.solver            = has_solver ? create_with("") : NULL;
      assert_ok(bounds_solve(&q, &o, x, &r));
      assert_int_equal(r.status, is_nan ? BOUNDS_NOT_FINITE : BOUNDS_UNBOUNDED);
      if (has_solver) destroy_with(q.solver);
    }
  assert_no_leak();
}

/* The limit of iterations is reported as such; with and without PETSc. */
static void too_few_iterations(void **state)
{
  (void)state;
  for (int has_solver = 0; has_solver < 2; ++has_solver) {
    dense a = dense_random(5, 8, 8, 0.05, false);
    for (int i = 0; i < 8; ++i) a.lo[i] = -INFINITY, a.hi[i] = INFINITY;
    bounds_qp      q            = dense_qp(&a);
    bounds_options o            = box_defaults(BOUNDS_METHOD_CG, BOUNDS_PRECONDITIONER_NONE, 1e-12);
    bounds_result  r            = {0};
    double         x[DENSE_MAX] = {0.0};
    o.max_iterations            = 2;
    q.solver                    = has_solver ? create_with("") : NULL;
    assert_ok(bounds_solve(&q, &o, x, &r));
    assert_int_equal(r.status, BOUNDS_ITERATIONS);
    if (has_solver) destroy_with(q.solver);
  }
  assert_no_leak();
}

/* The KSP type needs the preconditioner of the free unknowns. */
static void other_preconditioner_is_an_error(void **state)
{
  (void)state;
  dense          a    = dense_random(3, 4, 4, 0.05, false);
  bounds_qp      q    = dense_qp(&a);
  bounds_options o    = box_defaults(BOUNDS_METHOD_CG, BOUNDS_PRECONDITIONER_NONE, 1e-12);
  bounds_result  r    = {0};
  double         x[4] = {0.0};
  q.solver            = create_with("-test_pc_type jacobi");
  assert_int_equal(bounds_solve(&q, &o, x, &r), PETSC_ERR_SUP);
  assert_non_null(strstr(error_message(), "facecg"));
  error_clear();
  destroy_with(q.solver);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(types_of_ksp), cmocka_unit_test(programs_without_solution), cmocka_unit_test(too_few_iterations),
          cmocka_unit_test(other_preconditioner_is_an_error))
