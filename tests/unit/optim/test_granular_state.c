/* Support of the outer iterations: extrapolation, and damping without extrapolation while the error stagnates. */
#include "flow_fixture.h"
#include "optim/granular/granular_state.h"

static const fixture_spec box = {.n = {3, 4, 3}, .h = 0.05, .dt = 0.02, .rho = 1600, .M = 0.4, .is_orthonormal = true};

/* p jumps between two values of each cell, so that no support reduces the error max |p - support| for long. From the 25th iteration without
 * progress on, the support moves by 0.4 of the distance to p. An error below the least one ends this. */
static void a_stagnating_support_is_damped(void **state)
{
  enum { IDLE = 25 };
  static const double plain = 0.4;
  fixture             w;
  arena              *memory;
  granular_solver     S;
  granular_report     r;
  (void)state;
  fixture_create(&w, &box);
  assert_ok(arena_create(1 << 16, &memory));
  const int64_t n = w.f.n_cells;
  for (int64_t c = 0; c < n; ++c) w.x.p[c] = 1000.0 + (double)c;
  assert_ok(granular_solver_create(&S, &w.f, &w.o, memory, &w.x, &r));
  assert_ok(granular_support_start(&S, true));
  double *before;
  int     n_plain = 0;
  assert_ok(memory_alloc("before", n, sizeof *before, &before));
  for (int k = 0; k < IDLE + 10; ++k) {
    const double error = k == 0 ? 1.0 : 100.0 + (double)k; /* the first one is the least */
    for (int64_t c = 0; c < n; ++c) w.x.p[c] = S.support[c] + ((k + c) % 2 ? error : -error);
    memcpy(before, S.support, (size_t)n * sizeof *before);
    granular_support_update(&S, 1.0, 1.0, false);
    bool is_plain = true;
    for (int64_t c = 0; c < n; ++c) is_plain = is_plain && fabs(S.support[c] - before[c] - plain * (w.x.p[c] - before[c])) < 1e-9;
    assert_int_equal(is_plain, k >= IDLE);
    n_plain += is_plain;
  }
  assert_int_equal(n_plain, 10);
  for (int64_t c = 0; c < n; ++c) w.x.p[c] = S.support[c] + 0.5;
  memcpy(before, S.support, (size_t)n * sizeof *before);
  granular_support_update(&S, 1.0, 1.0, false);
  for (int64_t c = 0; c < n; ++c) assert_true(fabs(S.support[c] - before[c] - plain * 0.5) > 1e-3);
  memory_free(&before);
  granular_solver_destroy(&S);
  arena_destroy(&memory);
  fixture_destroy(&w);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(a_stagnating_support_is_damped))
