/* Guess of impulses from the last step: known keys, shares of new keys, no lost forces, other pairs, rotated frames. */
#include "test.h"
#include "core/math3.h"
#include "sim/step/step_record.h"

enum { N = 6 };

/* Contacts of pairs 10 and 20, in frames whose first axis is z, and stored forces of both pairs. */
static void test_guess_keeps_the_load_of_a_pair(void **state)
{
  (void)state;
  uint64_t            stored[] = {10, 1, 10, 2, 10, 3, 20, 1};
  double              force[]  = {1, 0, 8, 0, 2, 4, 0, 0, 2, 5, 6, 7};
  const step_impulses m        = {.n = 4, .key = stored, .force = force};
  contact_spot     spot[N] = {{.key = {10, 1}}, {.key = {10, 7}}, {.key = {10, 8}}, {.key = {15, 1}}, {.key = {20, 1}}, {.key = {20, 2}}};
  double           frame[9 * N], r[3 * N];
  contact_jacobian j  = {.n = N, .frame = frame};
  const double     dt = 0.5;
  for (int i = 0; i < N; ++i)
    for (int k = 0; k < 9; ++k) frame[9 * i + k] = (k == 2 || k == 3 || k == 7) ? 1.0 : 0.0; /* rows z, x, y */
  step_impulses_guess(&m, &j, spot, dt, r);
  /* pair 10: the new keys 7 and 8 share the forces of the lost keys 2 and 3, (0, 2, 6) N */
  const double expected[3 * N] = {8, 1, 0, 3, 0, 1, 3, 0, 1, 0, 0, 0, 7, 5, 6, 0, 0, 0};
  for (int i = 0; i < 3 * N; ++i) assert_close(r[i], dt * expected[i], 1e-15);
  /* a contact that was on other features finds its force under its old key */
  spot[1].was[0] = 10, spot[1].was[1] = 3;
  step_impulses_guess(&m, &j, spot, dt, r);
  const double moved[9] = {8, 1, 0, 2, 0, 0, 4, 0, 2};
  for (int i = 0; i < 9; ++i) assert_close(r[i], dt * moved[i], 1e-15);
  /* the lost force must press a new contact; otherwise it gets none */
  for (int i = 0; i < N; ++i) frame[9 * i + 2] = -1.0;
  step_impulses_guess(&m, &j, spot, dt, r);
  for (int i = 0; i < 3; ++i) assert_close(r[6 + i], 0.0, 0.0);
  assert_no_leak();
}

/* Every stored force has a contact: the new contact gets exactly 0, although (0.1 + 0.2 + 0.3) - 0.1 - 0.2 - 0.3 is rounded to 1.1e-16. */
static void test_guess_without_lost_forces(void **state)
{
  (void)state;
  enum { M = 4 };
  uint64_t            stored[] = {30, 1, 30, 2, 30, 3};
  double              force[]  = {0.1, 0, 0, 0.2, 0, 0, 0.3, 0, 0}, frame[9 * M], r[3 * M];
  const step_impulses m        = {.n = 3, .key = stored, .force = force};
  const contact_spot  spot[M]  = {{.key = {30, 1}}, {.key = {30, 2}}, {.key = {30, 3}}, {.key = {30, 4}}};
  contact_jacobian    j        = {.n = M, .frame = frame};
  for (int i = 0; i < M; ++i) m3_identity(frame + 9 * i);
  step_impulses_guess(&m, &j, spot, 1.0, r);
  assert_close(r[6], 0.3, 0.0);
  for (int i = 9; i < 12; ++i) assert_true(r[i] == 0.0);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_guess_keeps_the_load_of_a_pair), cmocka_unit_test(test_guess_without_lost_forces))
