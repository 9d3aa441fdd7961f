/* Velocities and impulses of contacts with given rows: closed form for two contacts, adjoint maps, the same bits on any number of threads. */
#include "contact/rows/contact_jacobian.h"
#include "core/math3.h"
#include "core/random.h"
#include "core/team.h"
#include "test.h"
#include <string.h>

enum { N = 600, N_BLOCKS = 200 }; /* more contacts than a serial loop treats */

static int64_t start[N + 1];
static int32_t block[2 * N];
static double  value[18 * N], known[3 * N], u[3 * N], other[3 * N], r[3 * N], v[3 * N_BLOCKS], y[3 * N_BLOCKS];

static void fill(double *x, int64_t n, uint64_t stream)
{
  for (int64_t i = 0; i < n; ++i) x[i] = random_range(17, (uint64_t)i, stream, -1.0, 1.0);
}

/* One row with a block, one with two, and so on: u = sum E v + known. */
static void test_velocity(void **state)
{
  (void)state;
  contact_jacobian j = {.n = N, .start = start, .block = block, .value = value, .known = known};
  fill(value, 18 * N, 1), fill(known, 3 * N, 2), fill(r, 3 * N, 3), fill(v, 3 * N_BLOCKS, 4);
  for (int64_t i = 0; i < N; ++i) {
    start[i + 1] = start[i] + 1 + i % 2;
    for (int64_t e = start[i]; e < start[i + 1]; ++e) block[e] = (int32_t)((7 * i + 50 * (e - start[i])) % N_BLOCKS);
  }
  j.n_entries = start[N];
  for (int n_threads = 1; n_threads <= 7; n_threads += 3) {
    team_set_threads(n_threads);
    memset(u, 0, sizeof u);
    contact_jacobian_velocity(&j, v, u);
    if (n_threads == 1) memcpy(other, u, sizeof u);
    else assert_memory_equal(u, other, sizeof u);
  }
  double work = 0.0, back = 0.0;
  for (int64_t i = 0; i < N; ++i) {
    double sum[3], term[3];
    v3_copy(sum, known + 3 * i);
    for (int64_t e = start[i]; e < start[i + 1]; ++e) {
      m3_mulv(term, value + 9 * e, v + 3 * (int64_t)block[e]);
      v3_add(sum, sum, term);
    }
    for (int k = 0; k < 3; ++k) {
      assert_close(u[3 * i + k], sum[k], 1e-14);
      work += r[3 * i + k] * (u[3 * i + k] - known[3 * i + k]);
    }
  }
  fill(y, 3 * N_BLOCKS, 5);
  for (int64_t i = 0; i < 3 * N_BLOCKS; ++i) back -= v[i] * y[i];
  contact_jacobian_scatter(&j, 2.0, r, y); /* the transpose */
  for (int64_t i = 0; i < 3 * N_BLOCKS; ++i) back += v[i] * y[i];
  assert_close(back, 2.0 * work, 1e-11); /* sums of 1800 terms of size 1 */
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_velocity))
