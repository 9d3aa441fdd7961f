/* FCLIB files are read, solved and written: one physical problem in all forms gives the known solution. */
#include "fclib_scenes.h"
#include "app/friction/friction_case.h"

static char folder[256], path[300], answer[300];

static void begin(void)
{
  folder_make(folder);
  snprintf(path, sizeof path, "%s/p.hdf5", folder);
  snprintf(answer, sizeof answer, "%s/answer.hdf5", folder);
}

/* Solves the problem in the file `path` from zero. */
static void solve(friction_case *c, double *r, double *u, friction_result *result)
{
  document               *doc;
  const friction_options *options;
  assert_ok(friction_case_read(path, c));
  assert_ok(document_create(&doc));
  assert_ok(friction_options_defaults(doc, &options));
  friction_options o = *options;
  o.method = FRICTION_METHOD_SPLITTING, o.tolerance = 1e-10;
  for (int i = 0; i < 12; ++i) r[i] = 0;
  assert_ok(friction_solve(&c->problem, &o, r, u, result));
  assert_int_equal(result->status, FRICTION_OK);
  document_destroy(&doc);
}

/* Global and local, 3D and plane; sticking, sliding, without friction: the velocities equal the formula, also after writing and
 * reading. */
static void test_slope(void **state)
{
  (void)state;
  static const double cases[][2] = {{0.2, 0.5}, {0.6, 0.5}, {0.6, 0.0}, {0.6, 0.9}};
  begin();
  for (int k = 0; k < 4; ++k)
    for (int form = 0; form < 4; ++form) {
      const bool      is_plane = form & 1, is_local = form & 2;
      const double    speed = scene_slope_speed(cases[k][0], cases[k][1]), tolerance = 1e-9; /* of the solver */
      fclib_problem   p;
      friction_case   c;
      friction_result result;
      double          r[12], u[12], back[12];
      scene_slope(&p, is_plane, cases[k][0], cases[k][1]);
      if (is_local) scene_local(&p, 0);
      assert_ok(fclib_write(path, &p, NULL, 0, NULL));
      solve(&c, r, u, &result);
      double normal = 0;
      for (int a = 0; a < c.problem.n; ++a) {
        assert_close(u[3 * a], 0, tolerance);
        assert_close(u[3 * a + 1], speed, tolerance);
        assert_close(u[3 * a + 2], 0, tolerance);
        normal += r[3 * a];
        if (is_plane) assert_true(r[3 * a + 2] == 0);
      }
      assert_close(normal, scene_weight * cos(cases[k][0]), tolerance); /* the normal force balances the weight */
      assert_close(friction_case_nu(&c), is_plane ? 4.0 / 3 : 2, 1e-15);
      int64_t rank;
      assert_ok(friction_case_rank(&c, 100, &rank));
      assert_int_equal(rank, is_plane ? 3 : 6);
      assert_ok(friction_case_rank(&c, 3, &rank));
      assert_int_equal(rank, -1);
      /* written with its guess and read again: impulses, velocities and v = M^-1 (H r + f) */
      const double *const guess = u;
      assert_ok(friction_case_write(&c, answer, r, 1, &guess));
      assert_ok(friction_case_guess(answer, &c, 0, back));
      for (int i = 0; i < 3 * c.problem.n; ++i) assert_true(back[i] == r[i]);
      assert_ok(friction_case_guess(answer, &c, 1, back));
      for (int i = 0; i < 3 * c.problem.n; ++i) assert_true(back[i] == (is_plane && i % 3 == 2 ? 0 : u[i]));
      {
        H5_SCOPE(scope);
        hid_t  file, solution;
        double x[12];
        assert_ok(h5_open(&scope, answer, &file));
        assert_ok(h5_open_group(&scope, answer, file, "solution", &solution));
        assert_ok(h5_array_real(answer, solution, "u", c.file.dimension * c.problem.n, x));
        assert_close(x[1], speed, tolerance);
        if (is_local) expect_message(h5_array_real(answer, solution, "v", 1, x), "v is missing");
        else assert_ok(h5_array_real(answer, solution, "v", p.n_dof, x));
        if (!is_local) assert_close(x[0], speed, tolerance);
      }
      friction_case_clear(&c);
      fclib_clear(&p);
    }
  folder_remove(folder);
  assert_no_leak();
}

/* A nonsymmetric W is used unchanged: u = W r + q to rounding errors. */
static void test_unsymmetric(void **state)
{
  (void)state;
  fclib_problem   p;
  friction_case   c;
  friction_result result;
  double          r[12], u[12], product[12];
  begin();
  scene_slope(&p, false, 0.6, 0.5);
  scene_local(&p, 2e-3);
  assert_ok(fclib_write(path, &p, NULL, 0, NULL));
  solve(&c, r, u, &result);
  fclib_apply(&p.W, r, product);
  for (int i = 0; i < 12; ++i) assert_close(u[i], product[i] + p.q[i], 1e-14);
  friction_case_clear(&c);
  fclib_clear(&p);
  folder_remove(folder);
  assert_no_leak();
}

/* An invalid mass matrix. */
static void test_bad_mass(void **state)
{
  (void)state;
  fclib_problem p;
  friction_case c;
  begin();
  for (int k = 0; k < 2; ++k) {
    scene_slope(&p, false, 0.6, 0.5);
    p.M.value[2] = k ? 0 : -2;
    assert_ok(fclib_write(path, &p, NULL, 0, NULL));
    const PetscErrorCode code = friction_case_read(path, &c);
    assert_true(code && error_exit_code(code) == SS_EXIT_BAD_INPUT);
    expect_message(code, "2");
    fclib_clear(&p);
  }
  folder_remove(folder);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_slope), cmocka_unit_test(test_unsymmetric), cmocka_unit_test(test_bad_mass))
