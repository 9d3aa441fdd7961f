/* Prescribed motions: poses in closed form, velocities as derivatives of poses, the text of each error. */
#include "rigid_fixture.h"

/* The `motion:` of a body with any pose. */
static motion *motion_from_text(const char *text, document *doc, diagnostics *d)
{
  document_node *node = NULL;
  const void    *spec = NULL;
  motion        *m    = NULL;
  assert_ok(document_read_flow(doc, text, (document_mark){"job.yaml", 3, 1}, &node));
  assert_ok(key_table_read(&motion_table, doc, node, "bodies.b.motion", d, &spec));
  if (diagnostics_count(d) == 0) assert_ok(motion_create(spec, node, "bodies.b.motion", d, &m));
  return m;
}

/* Where the point of the body is that is at X in its drawing. */
static void place(const motion *m, double t, const double X[3], double x[3])
{
  rigid_frame f;
  motion_frame(m, t, &f);
  m3_mulv(x, f.R, X);
  v3_add(x, x, f.c);
}

/* v + w x (x - c) is dx/dt of every point: central differences of a smooth motion, error h^2/6 |x'''|. */
static void check_velocity(const motion *m, double t)
{
  const double X[4][3] = {{0, 0, 0}, {1, 0, 0}, {0.3, -2, 1}, {0, 0, 3}}, h = 1e-5;
  rigid_frame  f;
  motion_frame(m, t, &f);
  assert_int_equal(f.block, -1);
  for (int i = 0; i < 4; ++i) {
    double a[3], b[3], x[3], arm[3], spin[3];
    place(m, t + h, X[i], a);
    place(m, t - h, X[i], b);
    place(m, t, X[i], x);
    v3_sub(arm, x, f.c);
    v3_cross(spin, f.w, arm);
    for (int k = 0; k < 3; ++k) assert_close(f.v[k] + spin[k], (a[k] - b[k]) / (2 * h), 2e-7);
  }
}

/* Before t = 0: the pose of t = 0, without velocity. */
static void check_before_start(const motion *m)
{
  rigid_frame before, start;
  motion_frame(m, -0.3, &before);
  motion_frame(m, 0.0, &start);
  assert_close(v3_norm(before.v) + v3_norm(before.w), 0.0, 0.0);
  for (int k = 0; k < 3; ++k) assert_close(before.c[k], start.c[k], 0.0);
  for (int k = 0; k < 9; ++k) assert_close(before.R[k], start.R[k], 0.0);
}

static void test_motions(void **state)
{
  (void)state;
  static const char *const text[] = {
      "{velocity: [1, 2, -1], angular_velocity: [0.5, -1, 2], pivot: [1, 0, 2]}",
      "{pivot: [1, 0, 2], keyframes: [{time: 0}, {time: 1, translate: [1, 0, 0], rotate_deg: 90}, {time: 3, translate: [1, 2, 0], "
      "rotate_deg: 100, axis: [1, 1, 0]}]}",
      "{pivot: [1, 0, 2], expressions: {translate: [\"0.1*sin(2*pi*t)\", \"t^2\", \"0\"], rotate_deg: \"30*t + 20*cos(t)\", axis: [1, 2, "
      "2]}}",
  };
  const double pivot[3] = {1, 0, 2}, at[3] = {0.4, 1.7, 2.2};
  for (int i = 0; i < 3; ++i) {
    document    *doc = NULL;
    diagnostics *d   = NULL;
    double       x[3];
    assert_ok(document_create(&doc));
    assert_ok(diagnostics_create(&d));
    motion *m = motion_from_text(text[i], doc, d);
    check_before_start(m);
    if (!m) fail_msg("rejected: %s", diagnostics_text(d, 0));
    for (int j = 0; j < 3; ++j) check_velocity(m, at[j]);
    place(m, 0.5, pivot, x); /* rotation leaves the pivot alone */
    const double expected[3][3] = {{0.5, 1.0, -0.5}, {0.5, 0, 0}, {0.0, 0.25, 0}};
    for (int k = 0; k < 3; ++k) assert_close(x[k], pivot[k] + expected[i][k], 1e-14);
    if (i == 1) { /* half of 90 degrees about z through the pivot; held before and after */
      const double X[3] = {2, 0, 0};
      rigid_frame  f;
      place(m, 0.5, X, x);
      assert_close(x[0], 1.5 + sqrt(0.5), 1e-14);
      assert_close(x[1], sqrt(0.5), 1e-14);
      place(m, -5.0, X, x);
      for (int k = 0; k < 3; ++k) assert_close(x[k], X[k], 1e-15);
      motion_frame(m, 99.0, &f);
      assert_close(v3_norm(f.v) + v3_norm(f.w), 0.0, 0.0);
      place(m, 99.0, pivot, x);
      assert_close(x[1], 2.0, 1e-14);
    }
    motion_destroy(&m);
    diagnostics_destroy(&d);
    document_destroy(&doc);
  }
  assert_no_leak();
}

/* About one axis, or its opposite, keyframes rotate by the given angle, including full turns; about another one by the shortest arc. */
static void test_turns(void **state)
{
  (void)state;
  static const struct {
    const char *text;
    double      w[3]; /* at 0.5 s */
  } c[] = {
      {"{keyframes: [{time: 0}, {time: 1, rotate_deg: 540, axis: [0, 2, 0]}]}", {0, 3 * M_PI, 0}},
      {"{keyframes: [{time: 0}, {time: 1, rotate_deg: -360, axis: [1, 0, 0]}]}", {-2 * M_PI, 0, 0}},
      {"{keyframes: [{time: 0, rotate_deg: 720}, {time: 1}]}", {0, 0, -4 * M_PI}},
      {"{keyframes: [{time: 0, rotate_deg: 90, axis: [1, 0, 0]}, {time: 1}]}", {-M_PI / 2, 0, 0}},
      {"{keyframes: [{time: 0, rotate_deg: 90}, {time: 1, rotate_deg: 450, axis: [0, 0, -1]}]}", {0, 0, -3 * M_PI}},
      {"{keyframes: [{time: 0, rotate_deg: 360}, {time: 1, rotate_deg: 450, axis: [1, 0, 0]}]}", {M_PI / 2, 0, 0}},
      {"{interpolation: smooth, keyframes: [{time: 0}, {time: 1, rotate_deg: 540}]}", {0, 0, 1.5 * 3 * M_PI}},
  };
  for (size_t i = 0; i < sizeof c / sizeof *c; ++i) {
    document    *doc = NULL;
    diagnostics *d   = NULL;
    rigid_frame  f;
    assert_ok(document_create(&doc));
    assert_ok(diagnostics_create(&d));
    motion *m = motion_from_text(c[i].text, doc, d);
    if (!m) fail_msg("rejected: %s", diagnostics_text(d, 0));
    motion_frame(m, 0.5, &f);
    for (int k = 0; k < 3; ++k) assert_close(f.w[k], c[i].w[k], 1e-13);
    for (int j = 1; j < 8; ++j) check_velocity(m, j / 8.0);
    motion_destroy(&m);
    diagnostics_destroy(&d);
    document_destroy(&doc);
  }
  assert_no_leak();
}

static void test_errors(void **state)
{
  (void)state;
  static const char *const bad[][2] = {
      {"{keyframes: [{time: 1}, {time: 1}]}", "bodies.b.motion.keyframes[1].time: times must ascend"},
      {"{keyframes: [{time: 1, axis: [0, 0, 0]}]}", "keyframes[0].axis: must not be the zero vector"},
      {"{keyframes: [{translate: [0, 0, 0]}]}", "time"},
      {"{velocity: [1, 0, 0], keyframes: [{time: 0}]}", "give only one of"},
      {"{expressions: {translate: [\"t\", \"0\"]}}", "expected three expressions, got 2"},
      {"{expressions: {rotate_deg: \"sin(t\"}}", "\"sin(t\": "},
      {"{expressions: {rotate_deg: \"x\"}}", "\"x\": "},
      {"{expressions: {rotate_deg: \"t\", axis: [0, 0, 0]}}", "axis must not be the zero vector"},
      {"{velocity: [1, 0, 0], interpolation: smooth}", "smooth needs keyframes"},
      {"{keyframes: [{time: 0}], interpolation: cubic}", "linear or smooth"},
      {"{velocty: [1, 0, 0]}", "did you mean \"velocity\""},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
    document    *doc = NULL;
    diagnostics *d   = NULL;
    assert_ok(document_create(&doc));
    assert_ok(diagnostics_create(&d));
    motion *m = motion_from_text(bad[i][0], doc, d);
    assert_null(m);
    if (diagnostics_count(d) < 1) fail_msg("accepted: %s", bad[i][0]);
    if (!strstr(diagnostics_text(d, 0), bad[i][1])) fail_msg("\"%s\" does not contain \"%s\"", diagnostics_text(d, 0), bad[i][1]);
    diagnostics_destroy(&d);
    document_destroy(&doc);
  }
  assert_no_leak();
}

/* Smooth keyframes: the given poses at the keyframes; velocities are derivatives of positions, and have no jump at the keys; no overshoot. */
static void test_smooth(void **state)
{
  (void)state;
  static const char text[] = "{pivot: [1, 0, 2], interpolation: smooth, keyframes: [{time: 1}, {time: 2, translate: [1, 0, 0.1], "
                             "rotate_deg: 90}, {time: 4, translate: [1.5, 2, 0.5], rotate_deg: 150},"
                             " {time: 4.5, translate: [0.5, 2.5, 5], rotate_deg: 30, axis: [1, 1, 0]}, {time: 6, translate: [0.5, 3, 5.1], "
                             "rotate_deg: -20, axis: [1, 1, 0]}]}";
  const double      key[5] = {1, 2, 4, 4.5, 6}, at[5][3] = {{0, 0, 0}, {1, 0, 0.1}, {1.5, 2, 0.5}, {0.5, 2.5, 5}, {0.5, 3, 5.1}},
               pivot[3] = {1, 0, 2};
  document    *doc      = NULL;
  diagnostics *d        = NULL;
  assert_ok(document_create(&doc));
  assert_ok(diagnostics_create(&d));
  motion *m = motion_from_text(text, doc, d);
  if (!m) fail_msg("rejected: %s", diagnostics_text(d, 0));
  for (int i = 0; i < 5; ++i) {
    rigid_frame before, after;
    double      x[3];
    place(m, key[i], pivot, x);
    for (int k = 0; k < 3; ++k) assert_close(x[k], pivot[k] + at[i][k], 1e-14);
    const double h = 1e-7; /* accelerations are below 1000 */
    motion_frame(m, key[i] - h, &before);
    motion_frame(m, key[i] + h, &after);
    for (int k = 0; k < 3; ++k) {
      assert_close(before.v[k], after.v[k], 2000 * h);
      assert_close(before.w[k], after.w[k], 2000 * h);
    }
    if (i < 4)
      for (int j = 1; j < 8; ++j) check_velocity(m, key[i] + (key[i + 1] - key[i]) * j / 8.0);
  }
  rigid_frame f;
  motion_frame(m, 2.0, &f); /* the same hinge before and after: it continues, at the weighted harmonic mean of 90 and 30
                             * degrees/s */
  assert_close(f.w[2], 9 / (5 / (M_PI / 2) + 4 / (M_PI / 6)), 1e-14);
  for (int i = 2; i <= 4; ++i) { /* another axis, and another, and the end */
    motion_frame(m, key[i], &f);
    assert_close(v3_norm(f.w), 0.0, 0.0);
  }
  double last[3];
  place(m, 0.0, pivot, last);
  for (int j = 0; j <= 3000; ++j) { /* y and z never fall; x goes up, comes down, stays */
    double x[3];
    place(m, 0.0 + 7.0 * j / 3000, pivot, x);
    for (int k = 1; k < 3; ++k) assert_true(x[k] >= last[k] - 1e-14);
    assert_true(x[0] >= 1 - 1e-14 && x[0] <= 2.5 + 1e-14);
    v3_copy(last, x);
  }
  motion_destroy(&m);
  diagnostics_destroy(&d);
  document_destroy(&doc);
  assert_no_leak();
}

/* Kinematic and static bodies: the level set moves with the frame, the surface is where move_to takes it. */
static void test_prescribed_bodies(void **state)
{
  (void)state;
  document   *doc = NULL;
  rigid_frame f;
  double      local[3], d[3];
  assert_ok(document_create(&doc));
  rigid_body *b = rigid_from_text(RIGID_KINEMATIC, "{shape: {box: {min: [-1, -1, -1], max: [1, 1, 0]}}, motion: {velocity: [0, 0, 2]}}",
                                  0.0, doc, NULL);
  rigid_body_prescribed_frame(b, 0.25, &f);
  const double x[3] = {0.3, 0.2, 0.75};
  v3_sub(d, x, f.c);
  m3_mulv_t(local, f.R, d);
  assert_close(level_set_value(b->level_sets[0], local), 0.25, 1e-15); /* its top is at 0.5 */
  assert_close(f.v[2], 2.0, 0.0);
  rigid_body_move_to(b, 0.25);
  assert_close(b->c[2], 0.5, 1e-16);
  rigid_body_current_point(b, (const double[3]){1, 1, 0}, d);
  assert_close(d[2], 0.5, 1e-16);
  rigid_body_destroy(&b);
  b = rigid_from_text(RIGID_STATIC, "{shape: {container: {min: [0, 0, 0], max: [1, 1, 1]}}}", 0.0, doc, NULL);
  assert_int_equal(b->n_level_sets, 5);
  rigid_body_prescribed_frame(b, 7.0, &f);
  for (int i = 0; i < 9; ++i) assert_close(f.R[i], i % 4 == 0, 0.0);
  for (int k = 0; k < 3; ++k) assert_close(fabs(f.c[k]) + fabs(f.v[k]) + fabs(f.w[k]), 0.0, 0.0);
  rigid_body_destroy(&b);
  document_destroy(&doc);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_motions), cmocka_unit_test(test_turns), cmocka_unit_test(test_smooth), cmocka_unit_test(test_errors),
          cmocka_unit_test(test_prescribed_bodies))
