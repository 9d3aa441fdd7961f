/* Rest depths of pairs, displacements in the step, and poses at the end of the step: with the velocities of the body's own blocks, given for all blocks or requested from the body. */
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

static void assert_vector(const double v[3], double x, double y, double z)
{
  assert_close(v[0], x, 1e-15);
  assert_close(v[1], y, 1e-15);
  assert_close(v[2], z, 1e-15);
}

/* Rest depths are found for the two bodies in any order, and for no other pair. */
static void test_rests(void **state)
{
  (void)state;
  enum { N = 7, BODIES = 9 };
  int32_t pair[2 * N] = {0, 0, 0, 3, 1, 2, 1, 5, 2, 2, 4, 6, 4, 7};
  double  depth[N] = {1, 2, 3, 4, 5, 6, 7}, reduction[N] = {10, 20, 30, 40, 50, 60, 70};
  for (int64_t n = 0; n <= N; ++n) {
    const contact_rests r = {n, pair, depth, reduction};
    for (int32_t a = 0; a < BODIES; ++a)
      for (int32_t b = 0; b < BODIES; ++b) {
        int64_t row = -1;
        for (int64_t k = 0; k < n; ++k)
          if ((pair[2 * k] == a && pair[2 * k + 1] == b) || (pair[2 * k] == b && pair[2 * k + 1] == a)) row = k;
        assert_int_equal(contact_rests_find(&r, a, b), row);
        assert_close(contact_rest_depth(&r, a, b), row < 0 ? 0.0 : depth[row], 0.0);
        assert_close(contact_rest_reduction(&r, a, b), row < 0 ? 0.0 : reduction[row], 0.0);
      }
  }
  assert_int_equal(contact_rests_find(NULL, 0, 1), -1);
  assert_close(contact_rest_depth(NULL, 0, 1) + contact_rest_reduction(NULL, 0, 1), 0.0, 0.0);
}

/* Displacements of a free body in its fall, of a wall that turns by 0.3 rad, and of a body without a pose. */
static void test_motion(void **state)
{
  static const body_ops moving = {.kind = "mock", .residual = residual}, fixed = {.kind = "mock wall"};
  (void)state;
  body          first = {.ops = &moving, .name = "first", .n_blocks = 2}, wall = {.ops = &fixed, .name = "wall"};
  body *const   bodies[3] = {&first, &wall, &wall};
  const int32_t number[3] = {1, 0, -1};
  rigid_frame   frames[2] = {{.c = {1, 2, 3}, .R = {1, 0, 0, 0, 1, 0, 0, 0, 1}},
                             {.c = {4, 5, 6}, .R = {1, 0, 0, 0, 1, 0, 0, 0, 1}, .v = {1, 2, 3}, .w = {0.3, 0, -0.4}}},
              end[2];
  double d[3];
  memcpy(end, frames, sizeof end);
  const double turned[9] = {cos(0.3), -sin(0.3), 0, sin(0.3), cos(0.3), 0, 0, 0, 1};
  m3_copy(end[0].R, turned);
  v3_set(end[0].c, 1.5, 1.0, 3.25);
  contact_scene s = {.n_bodies = 3, .body = bodies, .frame = number, .frames = frames, .end = end, .dt = 0.1, .gravity = {0, 1, -10}};
  assert_close(contact_scene_motion(&s, 0, 4.0, d), 0.1 * 0.5 * 4.0, 1e-15); /* dt |w| reach */
  assert_vector(d, 0.1, 0.21, 0.2);
  /* no point within reach moves farther than 2 reach sin(0.15); the Frobenius norm of the difference is sqrt(2) larger */
  assert_close(contact_scene_motion(&s, 1, 4.0, d), M_SQRT2 * 2.0 * 4.0 * sin(0.15), 1e-14);
  assert_vector(d, 0.5, -1.0, 0.25);
  m3_copy(end[0].R, frames[0].R);
  assert_close(contact_scene_motion(&s, 1, INFINITY, d), 0.0, 0.0);
  assert_close(contact_scene_motion(&s, 2, 4.0, d), 0.0, 0.0);
  assert_close(v3_norm(d), 0.0, 0.0);
}

static int point_row(const body *b, int64_t i, int32_t *block, double *weight)
{
  (void)b;
  block[0] = (int32_t)i, block[1] = 1, weight[0] = 0.25, weight[1] = 0.75;
  return 2;
}

/* A point follows its pose, or its blocks and gravity; without velocities it stays. */
static void test_point_end(void **state)
{
  static const body_ops moving = {.kind = "mock", .residual = residual, .point_row = point_row};
  (void)state;
  body                first     = {.ops = &moving, .name = "first", .n_blocks = 3, .first_block = 5};
  body *const         bodies[2] = {&first, &first};
  const int32_t       number[2] = {-1, 0};
  rigid_frame         start = {.c = {1, 0, 0}, .R = {1, 0, 0, 0, 1, 0, 0, 0, 1}}, end = {.c = {2, 1, 0}, .R = {0, -1, 0, 1, 0, 0, 0, 0, 1}};
  const double        x0[3] = {1.5, 0.25, 2.0}, v[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  double              x1[3];
  const contact_scene s = {
      .n_bodies = 2, .body = bodies, .frame = number, .frames = &start, .end = &end, .dt = 0.1, .gravity = {0, 1, -10}};
  contact_scene_point_end(&s, 0, 2, x0, v, NULL, x1); /* blocks 2 and 1 */
  const double fall[3] = {0.0, 0.01, -0.1};
  for (int k = 0; k < 3; ++k) assert_close(x1[k], x0[k] + 0.1 * (0.25 * v[6 + k] + 0.75 * v[3 + k]) + fall[k], 1e-15);
  contact_scene_point_end(&s, 0, 2, x0, NULL, NULL, x1);
  for (int k = 0; k < 3; ++k) assert_close(x1[k], x0[k], 0.0);
  contact_scene_point_end(&s, 1, 2, x0, v, &end, x1); /* (0.5, 0.25) turned by a right angle */
  assert_vector(x1, 1.75, 1.5, 2.0);
}

TEST_MAIN(cmocka_unit_test(test_end_frame), cmocka_unit_test(test_rests), cmocka_unit_test(test_motion), cmocka_unit_test(test_point_end))
