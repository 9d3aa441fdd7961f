/* Poses at the end of the step: with the velocities of the body's own blocks, given for all blocks or requested from the body. */
#include "test.h"
#include "contact/detection/contact_scene.h"
#include "core/math3.h"
#include <string.h>

static PetscErrorCode residual(body *b, const double *v, double *g, bool with_tangent, step_status *status)
{
  (void)b, (void)v, (void)g, (void)with_tangent, (void)status;
  return PETSC_ERR_PLIB; /* never called */
}
static PetscErrorCode velocity(const body *b, double *v)
{
  for (int64_t i = 0; i < 3 * b->n_blocks; ++i) v[i] = 0.5 * (double)i;
  return PETSC_SUCCESS;
}
/* Moves with the mean velocity of both blocks. */
static void frame(const body *b, double t, double dt, const double *v, rigid_frame *out)
{
  (void)b;
  assert_close(t, 0.0, 0.0);
  for (int k = 0; k < 3; ++k) out->c[k] += 0.5 * dt * (v[k] + v[3 + k]);
}

static void test_end_frame(void **state)
{
  static const body_ops moving = {.kind = "mock", .residual = residual, .velocity = velocity, .frame = frame},
                        fixed  = {.kind = "mock wall", .frame = frame};
  (void)state;
  body first  = {.ops = &moving, .name = "first", .n_blocks = 2},
       second = {.ops = &moving, .name = "second", .n_blocks = 2, .first_block = 2}, wall = {.ops = &fixed, .name = "wall"};
  body *const   bodies[3] = {&first, &second, &wall};
  const int32_t number[3] = {2, 0, 1};
  rigid_frame   end[3]    = {0}, out;
  double        v[12];
  for (int i = 0; i < 12; ++i) v[i] = 1.0 + i * i;
  for (int i = 0; i < 3; ++i) v3_set(end[i].c, 10.0 * i, 0.0, 0.0);
  contact_scene s = {.n_bodies = 3, .body = bodies, .frame = number, .frames = end, .end = end, .dt = 0.5};
  for (int has_v = 0; has_v < 2; ++has_v) {
    s.v = has_v ? v : NULL;
    for (int i = 0; i < 3; ++i) {
      assert_ok(contact_scene_end_frame(&s, i, &out));
      for (int k = 0; k < 3; ++k) {
        const int    at   = (has_v ? 6 * i : 0) + k;
        const double mean = i == 2 ? 0.0 : has_v ? 0.5 * (v[at] + v[at + 3]) : 0.25 * (at + at + 3);
        assert_close(out.c[k], end[number[i]].c[k] + 0.5 * mean, 1e-14);
      }
    }
  }
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_end_frame))
