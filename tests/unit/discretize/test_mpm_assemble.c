/* The assembled tangent of an MPM domain multiplies as the tangent without matrix, with and without walls; same bits on any number of threads. */
#include "mpm_fixture.h"
#include <stdlib.h>

static const mpm_transfer apic       = {.is_apic = true};
static const double       gravity[3] = {0.0, 0.0, -9.81};

enum { AT = 3 }; /* blocks of other bodies before those of the domain */

/* Product of the assembled matrix with x [n]; `value` [9 row_start[]] zeroed. */
static void assemble(body *b, int64_t n_blocks, const int64_t *row_start, const int32_t *col, double *value)
{
  const block_rows H = {AT + n_blocks, row_start, col, value};
  b->first_block     = AT;
  memset(value, 0, 9 * (size_t)row_start[AT + n_blocks] * sizeof *value);
  assert_ok(b->ops->assemble(b, &H));
}

/* slip, periodic: bit k: walls across axis k. */
static void check(mpm_kernel kernel, int slip, int periodic)
{
  toy_constants constants;
  material      soft = toy_material(900.0, 4e3, 8e3, 300.0, &constants);
  mpm_domain   *d    = fixture_cloud(&soft, 2, 150, 0.1, kernel, apic, gravity);
  body         *b    = &d->base;
  for (int k = 0; k < 3; ++k) {
    if (slip >> k & 1) assert_ok(mpm_domain_add_wall(d, k, -1, -0.4, MPM_WALL_SLIP));
    for (int side = -1; side < 2 && periodic >> k & 1; side += 2) assert_ok(mpm_domain_add_wall(d, k, side, 0.5 * side, MPM_WALL_PERIODIC));
  }
  const int64_t m = fixture_begin(b, 0.0, 4e-3), n = 3 * m;
  int64_t      *row_start = calloc((size_t)(AT + m) + 1, sizeof *row_start);
  int32_t      *col       = malloc((size_t)m * BODY_MAX_COUPLINGS * sizeof *col), other[BODY_MAX_COUPLINGS];
  double       *v = fixture_vector(n), *x = fixture_vector(n), *y = fixture_vector(n), *z = fixture_vector(n);
  step_status   status = {STEP_OK, NULL, -1};
  fixture_random(n, v, 1, 0.1);
  fixture_random(n, x, 2, 1.0);
  assert_ok(b->ops->residual(b, v, y, true, &status));
  assert_int_equal(status.code, STEP_OK);
  for (int64_t i = 0; i < AT + m; ++i) {
    const int count  = i < AT ? 0 : b->ops->couplings(b, i - AT, other);
    row_start[i + 1] = row_start[i] + count;
    for (int k = 0; k < count; ++k) {
      if (k > 0) assert_true(other[k - 1] < other[k]);
      col[row_start[i] + k] = other[k] + AT;
    }
  }
  const size_t bytes = 9 * (size_t)row_start[AT + m] * sizeof(double);
  double      *value = malloc(bytes), *again = malloc(bytes);
  assemble(b, m, row_start, col, value);
  for (int n_threads = 2; n_threads <= 7; n_threads += 5) {
    team_set_threads(n_threads);
    assemble(b, m, row_start, col, again);
    assert_memory_equal(value, again, bytes);
  }
  team_set_threads(1);
  memset(y, 0, (size_t)n * sizeof *y);
  assert_ok(b->ops->tangent(b, x, y, false));
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = row_start[i + AT]; j < row_start[i + AT + 1]; ++j) {
      double term[3];
      m3_mulv(term, value + 9 * j, x + 3 * (int64_t)(col[j] - AT));
      v3_axpy(z + 3 * i, 1.0, term);
    }
  assert_close(distance(n, z, y), 0.0, 1e-13);
  free(row_start), free(col), free(value), free(again);
  double *all[] = {v, x, y, z};
  for (int a = 0; a < 4; ++a) memory_free(&all[a]);
  mpm_domain_destroy(&d);
  assert_no_leak();
}

static void test_products(void **state)
{
  (void)state;
  const int kinds[][2] = {{0, 0}, {4, 0}, {0, 1}, {5, 2}, {0, 4}, {0, 7}}; /* slip, periodic */
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; ++k) check(MPM_QUADRATIC, kinds[k][0], kinds[k][1]);
  check(MPM_CUBIC, 0, 0);
  check(MPM_CUBIC, 2, 5);
}

TEST_MAIN(cmocka_unit_test(test_products))
