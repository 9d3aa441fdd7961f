/* Measures of granular matter for cubic lattices of touching balls, columns and flows of balls, against closed forms. */
#include "measure_fixture.h"
#include "core/quaternion.h"
#include "discretize/rigid/rigid_body.h"

enum { SIDE = 4, N = SIDE * SIDE * SIDE, DIAMETER = 2 };

/* Balls of diameter 2 fill the box [0, 8]^3; body 0 is the container. Three boxes of size 2 stand apart. */
#define LATTICE                                                                                                                            \
  "stickslip: 1\nname: lattice\nformulation: exact\ngravity: [0, 0, -10]\ntime: {end: 1, step: 0.1}\nmaterials: {m: {model: rigid, "       \
  "density: 3}}\n"                                                                                                                         \
  "bodies:\n"                                                                                                                              \
  "  walls: {kind: static, shape: {container: {min: [0, 0, 0], max: [8, 8, 8]}}}\n"                                                        \
  "  balls: {kind: rigid, material: m, shape: {sphere: {center: [0, 0, 0], radius: 1}},\n"                                                 \
  "          copies: {arrangement: lattice, region: {box: {min: [0, 0, 0], max: [8, 8, 8]}}}}\n"                                           \
  "  bricks: {kind: rigid, material: m, shape: {box: {min: [0, 0, 0], max: [2, 2, 2]}},\n"                                                 \
  "           copies: {arrangement: lattice, region: {box: {min: [20, 0, 0], max: [26, 2, 2]}}}}\n"                                        \
  "contact: {friction: 0.5, pairs: [{between: [bricks, walls], contact: false}]}\nmeasure:\n"

static int ball_at(int i, int j, int k) { return 1 + (k * SIDE + j) * SIDE + i; }

static void add_contact(int source, int object, const double x[3], const double normal[3], const double force[3])
{
  contact_points *p = &given_points;
  assert_ok(contact_points_reserve(p, p->n + 1));
  p->source_body[p->n] = source, p->object_body[p->n] = object;
  p->gap[p->n] = 0.0, p->is_sliding[p->n] = 0;
  v3_copy(p->position + 3 * p->n, x);
  v3_copy(p->normal + 3 * p->n, normal);
  v3_copy(p->force + 3 * p->n++, force);
}

static const double pressure[3] = {100.0, 200.0, 600.0};

/* Contacts of all balls along the three axes, with the force pressure[axis] DIAMETER^2, also with the walls. Every second one has the lower ball
 * as source. */
static void add_lattice_contacts(void)
{
  for (int axis = 0; axis < 3; ++axis)
    for (int a = 0; a < SIDE; ++a)
      for (int b = 0; b < SIDE; ++b)
        for (int c = 0; c <= SIDE; ++c) { /* plane between layers c - 1 and c */
          int          lower[3], upper[3];
          double       x[3], normal[3] = {0}, force[3] = {0};
          const double sign = (a + b + c) % 2 ? 1.0 : -1.0;
          lower[axis] = c - 1, upper[axis] = c;
          lower[(axis + 1) % 3] = upper[(axis + 1) % 3] = a, lower[(axis + 2) % 3] = upper[(axis + 2) % 3] = b;
          const int one = c == 0 ? 0 : ball_at(lower[0], lower[1], lower[2]), two = c == SIDE ? 0 : ball_at(upper[0], upper[1], upper[2]);
          x[axis] = 2.0 * c, x[(axis + 1) % 3] = 2.0 * a + 1.0, x[(axis + 2) % 3] = 2.0 * b + 1.0;
          normal[axis] = sign, force[axis] = sign * pressure[axis] * DIAMETER * DIAMETER;
          if (sign > 0.0) add_contact(two, one, x, normal, force); /* the upper body is pushed up */
          else add_contact(one, two, x, normal, force);
        }
}

static void prepare_pressure(bench *b)
{
  (void)b;
  given_points.n = 0;
  add_lattice_contacts();
}

static void test_lattice(void **state)
{
  (void)state;
  bench b;
  bench_open(&b,
             LATTICE "  z:      {quantity: coordination_number, body: balls}\n"
                     "  z_all:  {quantity: coordination_number}\n"
                     "  z_in:   {quantity: coordination_number, within: {min: [0, 0, 0], max: [3, 3, 3]}}\n"
                     "  zm:     {quantity: mechanical_coordination_number}\n"
                     "  phi:    {quantity: packing_fraction, within: {min: [0, 0, 0], max: [8, 8, 8]}}\n"
                     "  phi_in: {quantity: packing_fraction, within: {min: [1, 1, 1], max: [3, 5, 7]}}\n"
                     "  brick:  {quantity: packing_fraction, within: {min: [19, -1, 0.5], max: [23, 1, 1.5]}}\n"
                     "  none:   {quantity: packing_fraction, body: balls, within: {min: [19, -1, 0.5], max: [23, 1, 1.5]}}\n"
                     "  sigma:  {quantity: contact_stress, within: {min: [0, 0, 0], max: [8, 8, 8]}}\n"
                     "  load:   {quantity: contact_stress, body: balls, within: {min: [2, 2, 2], max: [6, 6, 6]}, direction: [0, 0, 2]}\n"
                     "  f:      {quantity: fabric, body: balls}\n"
                     "  f_z:    {quantity: fabric, direction: [0, 0, 1]}\n"
                     "  m:      {quantity: mass, body: balls}\n"
                     "  here:   {quantity: position, body: balls, direction: [0, 0, 1]}\n"
                     "  n:      {quantity: contacts, body: balls, other: balls}\n"
                     "  n_wall: {quantity: contacts, body: balls, other: walls}\n"
                     "  n_all:  {quantity: contacts, body: balls}\n"
                     "  floor:  {quantity: contact_force, body: walls, other: balls, part: normal, direction: [0, 0, 1]}\n"
                     "  dense:  {quantity: density, body: balls, within: {min: [0, 0, 0], max: [8, 8, 4]}}\n"
                     "  top:    {quantity: height, body: balls}\n"
                     "  beyond: {quantity: mass_beyond, body: balls, point: [4, 0, 0], direction: [1, 0, 0]}\n"
                     "  piece:  {quantity: largest_fragment, body: balls, radius: 2.1}\n",
             prepare_pressure);
  bench_record(&b, 1, NULL);
  expect("z", 6.0, 0.0);
  expect("z_all", 6.0 * N / (N + 3.0), 1e-14); /* the bricks touch nothing */
  expect("z_in", 6.0, 0.0);
  expect("zm", 6.0, 0.0); /* the bricks are rattlers */
  expect("phi", M_PI / 6.0, 1e-14);
  expect("phi_in", M_PI / 6.0, 1e-14); /* an eighth of a ball in each corner of a cell */
  expect("brick", 0.375, 1e-14);       /* one and a half bricks by half their width and height */
  expect("none", 0.0, 0.0);
  assert_close(component_of(&b, "sigma", 0, 7), 300.0, 1e-10);
  for (int k = 0; k < 3; ++k) {
    assert_close(component_of(&b, "sigma", 1 + k, 7), pressure[k], 1e-10);
    assert_close(component_of(&b, "sigma", 4 + k, 7), 0.0, 1e-10);
    assert_close(component_of(&b, "f", 1 + k, 7), 1.0 / 3.0, 1e-15);
    assert_close(component_of(&b, "f", 4 + k, 7), 0.0, 1e-15);
  }
  assert_close(component_of(&b, "load", 0, 7), 600.0, 1e-10);
  assert_close(component_of(&b, "f", 0, 7), 0.0, 1e-15); /* isotropic */
  assert_close(component_of(&b, "f_z", 0, 7), 1.0 / 3.0, 1e-15);
  expect("m", N * 4.0 * M_PI, 1e-10);
  expect("here", 4.0, 1e-13);
  expect("n", 3.0 * SIDE * SIDE * (SIDE - 1), 0.0);
  expect("n_wall", 6.0 * SIDE * SIDE, 0.0);
  expect("n_all", 3.0 * SIDE * SIDE * (SIDE + 1), 0.0);
  expect("floor", 0.0, 1e-10); /* floor and lid are one body */
  expect("dense", M_PI / 6.0 * 3.0, 1e-13);
  expect("top", 7.0, 0.0);
  expect("beyond", 0.5 * N * 4.0 * M_PI, 1e-10);
  expect("piece", 1.0, 0.0);
  contact_points_destroy(&given_points);
  bench_close(&b);
}

/* A column of four balls on the floor bears its weight; forces have one direction. The other balls touch nothing. Ball 5 touches the first one without
 * bearing anything: a rattler with one contact. */
static void prepare_column(bench *b)
{
  const double up[3] = {0, 0, 1}, weight = 4.0 * M_PI * 10.0;
  (void)b;
  given_points.n = 0;
  for (int k = 0; k < SIDE; ++k) {
    const double force[3] = {1e-3 * weight, 0, (SIDE - k) * weight}; /* with a little friction */
    add_contact(ball_at(0, 0, k), k > 0 ? ball_at(0, 0, k - 1) : 0, (const double[3]){1, 1, 2.0 * k}, up, force);
    add_contact(ball_at(0, 0, k), k > 0 ? ball_at(0, 0, k - 1) : 0, (const double[3]){1, 1, 2.0 * k}, up,
                (const double[3]){0}); /* same pair */
  }
  add_contact(ball_at(1, 0, 0), ball_at(0, 0, 0), (const double[3]){2, 1, 1}, (const double[3]){1, 0, 0}, (const double[3]){1e-6, 0, 0});
  /* touch with the force of a rounding error: no contact */
  add_contact(ball_at(1, 0, 2), ball_at(0, 0, 2), (const double[3]){2, 1, 5}, (const double[3]){1, 0, 0}, (const double[3]){1e-11, 0, 0});
}

static void test_column(void **state)
{
  (void)state;
  bench b;
  bench_open(&b,
             LATTICE "  zm:    {quantity: mechanical_coordination_number}\n"
                     "  z:     {quantity: coordination_number, within: {min: [0, 0, 0], max: [2, 2, 8]}}\n"
                     "  sigma: {quantity: contact_stress, within: {min: [0, 0, 2], max: [2, 2, 6]}, direction: [0, 0, 1]}\n"
                     "  f:     {quantity: fabric, within: {min: [0, 0, 2], max: [2, 2, 8]}}\n"
                     "  empty: {quantity: fabric, body: bricks}\n"
                     "  force: {quantity: contact_force, body: balls, direction: [0, 0, 1]}\n",
             prepare_column);
  bench_record(&b, 1, NULL);
  /* The top ball has one contact and is a rattler, then the next one, ...; the lowest one has two, after the fifth ball is removed one. None stays. */
  assert_true(isnan(last_of(&b, "zm")));
  expect("z", 9.0 / 4.0 - 0.25, 1e-15); /* 3, 2, 2, 1 */
  /* balls 2 and 3 bear 3 and 2, 2 and 1 weights at the ends of radius 1: (3 + 2 + 2 + 1) W / 16 */
  assert_close(component_of(&b, "sigma", 0, 7), 8.0 * 4.0 * M_PI * 10.0 / 16.0, 1e-10);
  assert_close(component_of(&b, "sigma", 6, 7), 0.0, 1e-10);
  assert_close(component_of(&b, "sigma", 5, 7), 0.5e-3 * 4.0 * 4.0 * M_PI * 10.0 / 16.0, 1e-10); /* zx: half, the symmetric part */
  assert_close(component_of(&b, "f", 0, 7), 1.0, 1e-15);
  assert_close(component_of(&b, "f", 3, 7), 1.0, 1e-15);
  assert_true(isnan(component_of(&b, "empty", 0, 7)));
  contact_points_destroy(&given_points);
  bench_close(&b);
}

/* A triangle of balls without friction: each has 2 contacts, fewer than the 4 needed; with friction all stay. */
static void prepare_ring(double friction)
{
  const int i[3] = {1, 2, 3};
  given_points.n = 0;
  for (int k = 0; k < 3; ++k)
    add_contact(i[k], i[(k + 1) % 3], (const double[3]){k, 0, 0}, (const double[3]){1, 0, 0}, (const double[3]){1, friction, 0});
}
static void prepare_smooth_ring(bench *b) { (void)b, prepare_ring(0.0); }
static void prepare_rough_ring(bench *b) { (void)b, prepare_ring(0.1); }

static void test_rattlers(void **state)
{
  (void)state;
  bench b;
  bench_open(&b, LATTICE "  zm: {quantity: mechanical_coordination_number}\n", prepare_smooth_ring);
  bench_record(&b, 1, NULL);
  assert_true(isnan(last_of(&b, "zm")));
  contact_points_destroy(&given_points);
  bench_close(&b);
  bench_open(&b, LATTICE "  zm: {quantity: mechanical_coordination_number}\n", prepare_rough_ring);
  bench_record(&b, 1, NULL);
  expect("zm", 2.0, 0.0);
  contact_points_destroy(&given_points);
  bench_close(&b);
}

/* Balls in shear v = (z, 0, 0): layers have their velocities; those above the middle cross a plane. */
static void prepare_shear(bench *b)
{
  for (int i = 1; i <= N; ++i) {
    rigid_body *ball = rigid_body_dynamic(b->s->bodies[i].body);
    v3_set(ball->v, ball->c[2], 0.0, 0.0);
  }
}

static void test_flow(void **state)
{
  (void)state;
  bench b;
  bench_open(&b,
             LATTICE "  v:    {quantity: velocity_profile, body: balls, within: {min: [0, 0, 0], max: [8, 8, 10]}, axis: z, bins: 5, "
                     "direction: [1, 0, 0]}\n"
                     "  flow: {quantity: flow_rate, body: balls, point: [4, 0, 0], direction: [1, 0, 0]}\n"
                     "  t:    {quantity: granular_temperature, body: balls}\n"
                     "  mean: {quantity: velocity, body: balls, direction: [1, 0, 0]}\n"
                     "  fast: {quantity: max_speed, body: balls}\n",
             prepare_shear);
  bench_record(&b, 0, NULL);
  assert_close(component_of(&b, "v", 0, 6), 4.0, 1e-13);
  for (int k = 0; k < SIDE; ++k) assert_close(component_of(&b, "v", 1 + k, 6), 2.0 * k + 1.0, 1e-13);
  assert_true(isnan(component_of(&b, "v", 5, 6))); /* empty */
  expect("mean", 4.0, 1e-13);
  expect("t", 5.0 / 3.0, 1e-13); /* mean square of 3, 1, 1, 3, a third */
  expect("fast", 7.0, 1e-13);
  for (int i = 1; i <= N; ++i) { /* 0.3 s: those with x = 3 cross if z > 10/3 */
    rigid_body *ball = rigid_body_dynamic(b.s->bodies[i].body);
    v3_axpy(ball->c, 0.3, ball->v);
  }
  bench_record(&b, 3, NULL);
  /* z = 5 moves by 1.5, z = 7 by 2.1: also none of the balls at x = 1, which need 3 */
  expect("flow", 2.0 * SIDE * 4.0 * M_PI / 0.3, 1e-9);
  bench_close(&b);
}

/* A cone of balls under the angle atan(1/2). */
static void test_repose(void **state)
{
  (void)state;
  bench b;
  bench_open(
      &b,
      "stickslip: 1\nname: cone\nformulation: exact\ntime: {end: 1, step: 0.1}\nmaterials: {m: {model: rigid, density: 3}}\nbodies:\n"
      "  balls: {kind: rigid, material: m, shape: {sphere: {center: [0, 0, 0], radius: 0.06}}, copies: {arrangement: lattice, region: "
      "{revolution: "
      "{center: [0, 0, 0], axis: [0, 0, 1], profile: [{at: 0, radius: 2}, {at: 1, radius: 0}]}}}}\n"
      "contact: {friction: 0.5}\nmeasure:\n  a: {quantity: angle_of_repose, body: balls}\n",
      NULL);
  bench_record(&b, 0, NULL);
  expect("a", atan(0.5), 0.05);
  bench_close(&b);
}

/* Names of entries, and keys that are missing. */
static void test_errors(void **state)
{
  static const struct {
    const char *measure, *message;
  } bad[] = {{"  a: {quantity: tilt, body: balls, direction: [1, 0, 0]}\n",
              "quantity tilt needs one body, but \"balls\" has 64 copies: write balls.1"},
             {"  a: {quantity: mass, body: ball}\n", "no body is called \"ball\"; did you mean \"balls\"?"},
             {"  a: {quantity: contact_stress}\n", "missing required key \"within\": quantity contact_stress needs a box"},
             {"  a: {quantity: velocity_profile, body: balls, axis: z, within: {min: [0, 0, 0], max: [1, 1, 1]}}\n",
              "missing required key \"bins\""},
             {"  a: {quantity: packing_fraction, body: walls, within: {min: [0, 0, 0], max: [1, 1, 1]}}\n", "needs a body of kind rigid"}};
  (void)state;
  for (size_t k = 0; k < sizeof bad / sizeof *bad; ++k) {
    char         text[2000];
    diagnostics *d;
    job         *j;
    scene       *s;
    snprintf(text, sizeof text, LATTICE "%s", bad[k].measure);
    assert_ok(diagnostics_create(&d));
    assert_ok(job_read_text("job", text, 0, NULL, d, &j));
    if (!j) fail_msg("%s", diagnostics_text(d, 0));
    assert_ok(scene_create(PETSC_COMM_SELF, &j->scene, d, &s));
    assert_ok(measures_check(s, &j->measure, d));
    assert_int_equal(diagnostics_count(d), 1);
    if (!strstr(diagnostics_text(d, 0), bad[k].message)) fail_msg("%s", diagnostics_text(d, 0));
    scene_destroy(&s);
    job_destroy(&j);
    diagnostics_destroy(&d);
  }
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_lattice), cmocka_unit_test(test_column), cmocka_unit_test(test_rattlers), cmocka_unit_test(test_flow),
          cmocka_unit_test(test_repose), cmocka_unit_test(test_errors))
