/* Measures against hand calculations, read from the tables that a run writes. */
#include "measure_fixture.h"
#include <string.h>
#include "core/key_table.h"
#include "core/quaternion.h"
#include "discretize/mpm/mpm_body.h"
#include "discretize/nodal/nodal_body.h"
#include "discretize/rigid/rigid_body.h"

/* --- bodies of nodes --------------------------------------------------------------------------------------------------- */

/* 2 x 1 x 1 bricks: nodes at x = 0, 1 and 2, four each. */
static const char *const bar_text =
    "stickslip: 1\nname: bar\ngravity: [0, 0, -9.81]\ntime: {end: 1, step: 0.1}\n"
    "materials: {rubber: {model: fixed_corotated, density: 1, youngs_modulus: 1, poisson_ratio: 0}}\n"
    "bodies:\n  bar: {kind: fem, material: rubber, spacing: 1, shape: {box: {min: [0, 0, 0], max: [2, 1, 1]}}}\n"
    "measure:\n"
    "  place:  {quantity: point, body: bar, point: [1.6, 0.9, 0.2], direction: [1, 0, 0]}\n"
    "  far:    {quantity: point, body: bar, point: [1.6, 0.9, 0.2]}\n"
    "  front:  {quantity: extent, body: bar, direction: [1, 0, 0]}\n"
    "  middle: {quantity: extent, body: bar, direction: [1, 0, 0], fraction: 0.5}\n"
    "  went:   {quantity: runout, body: bar, direction: [2, 0, 0]}\n"
    "  half:   {quantity: runout, body: bar, direction: [1, 0, 0], fraction: 0.5}\n"
    "  wide:   {quantity: runout, body: bar, point: [0, 0, 7]}\n"
    "  top:    {quantity: height, body: bar, point: [5, 5, 0.25]}\n"
    "  foot:   {quantity: height, body: bar, fraction: 0}\n"
    "  fast:   {quantity: max_speed}\n"
    "  m:      {quantity: mass}\n"
    "  pull:   {quantity: stress, body: bar, point: [2, 1, 1], direction: [1, 0, 0]}\n"
    "  aside:  {quantity: stress, body: bar, point: [2, 1, 1], direction: [0, 1, 0]}\n"
    "  stored: {quantity: elastic_energy}\n"
    "  high:   {quantity: potential_energy, body: bar}\n"
    "  low:    {quantity: extent, body: bar, direction: [0, 0, 1], fraction: 0}\n";

/* Node (2, 1, 0) is closest at rest and is followed: after the stretch it is not closest any more. */
static void nodes_are_followed(void **state)
{
  (void)state;
  bench b;
  bench_open(&b, bar_text, NULL);
  bench_record(&b, 0, NULL);
  expect("place", 2.0, 0);
  expect("far", sqrt(5.0), 1e-15);
  expect("front", 2.0, 0);
  expect("middle", 1.0, 0);
  expect("low", 0.0, 0);
  expect("went", 0.0, 0);
  expect("wide", 0.0, 0);
  expect("top", 0.75, 0);
  expect("foot", 0.0, 0);
  expect("fast", 0.0, 0);
  expect("m", 2.0, 1e-15);
  expect("pull", 0.0, 1e-15);
  nodal_body *bar = (nodal_body *)b.s->bodies[0].body;
  for (int64_t i = 0; i < bar->n_nodes; ++i) bar->x[3 * i] = 3.0 * bar->rest[3 * i] + 0.5, bar->v[3 * i + 1] = -0.1 * (double)i;
  bench_record(&b, 1, NULL);
  expect("place", 6.5, 0);
  expect("front", 6.5, 0);
  expect("middle", 3.5, 0);
  expect("went", 4.5, 0);
  expect("half", 2.5, 0);
  expect("wide", sqrt(6.5 * 6.5 + 1.0) - sqrt(5.0), 1e-15);
  expect("fast", 0.1 * (double)(bar->n_nodes - 1), 1e-15);
  /* three times as long: fixed-corotated with E 1, nu 0 has the stress 2 mu (F - 1) = 2 on a constant area, and stores mu (F -
   * 1)^2 */
  expect("pull", 2.0, 1e-14);
  expect("aside", 0.0, 1e-14);
  expect("stored", 2.0 * 0.5 * 4.0, 1e-14);
  expect("high", 2.0 * 9.81 * 0.5, 1e-14);
  bench_close(&b);
}

/* --- rigid bodies ------------------------------------------------------------------------------------------------------- */

static const char *const rigid_text =
    "stickslip: 1\nname: pair\ngravity: [0, 0, 0]\ntime: {end: 1, step: 0.1}\ncontact: {friction: 0, stiffness: 1, initial_overlap: "
    "preload}\n"
    "materials: {steel: {model: rigid, density: 1}}\n"
    "bodies:\n"
    "  die:  {kind: rigid, material: steel, shape: {box: {min: [0, 0, 0], max: [2, 2, 2]}}, velocity: [3, 0, 0], angular_velocity: [0, 0, "
    "2]}\n"
    "  wall: {kind: static, shape: {box: {min: [4, -9, -9], max: [5, 9, 9]}}}\n"
    "measure:\n"
    "  apart:  {quantity: distance, body: die, other: wall}\n"
    "  along:  {quantity: distance, body: wall, other: die, direction: [0, 3, 0]}\n"
    "  turned: {quantity: rotation, body: die}\n"
    "  about:  {quantity: rotation, body: die, direction: [0, 0, -1]}\n"
    "  across: {quantity: rotation, body: die, direction: [0, 1, 0]}\n"
    "  leans:  {quantity: tilt, body: die, direction: [1, 0, 0]}\n"
    "  fast:   {quantity: max_speed, body: die}\n"
    "  fastest: {quantity: max_speed}\n"
    "  still:  {quantity: max_speed, body: die, every: 0.25}\n";

static void rigid_bodies_turn(void **state)
{
  (void)state;
  bench b;
  bench_open(&b, rigid_text, NULL);
  bench_record(&b, 0, NULL);
  expect("apart", sqrt(3.0), 1e-14); /* the frame of an obstacle is at the origin */
  expect("along", 1.0, 1e-14);
  expect("turned", 0.0, 0);
  /* corner (0, -1) from the centre turns with w to v = (3 + 2, ...): v + w x r over the corners, largest at r = (+-1, -1): |(3 + 2, +-2)| */
  expect("fast", sqrt(29.0), 1e-14);
  expect("fastest", sqrt(29.0), 1e-14);
  rigid_body *die = rigid_body_of(b.s->bodies[0].body);
  quaternion_exp(die->q, (const double[]){0.0, 0.0, 1.25});
  v3_set(die->w, 0.0, 0.0, 0.0);
  bench_record(&b, 1, NULL);
  expect("turned", 1.25, 1e-15);
  expect("about", -1.25, 1e-15);
  expect("across", 0.0, 1e-15);
  expect("leans", 1.25, 1e-15);
  expect("fast", 3.0, 0);
  expect("still", sqrt(29.0), 1e-14); /* not due */
  bench_record(&b, 2, NULL);
  expect("still", sqrt(29.0), 1e-14);
  bench_record(&b, 3, NULL); /* 0.25 s is passed */
  expect("still", 3.0, 0);
  bench_close(&b);
}

/* --- particles ----------------------------------------------------------------------------------------------------------- */

static const char *const sand_text =
    "stickslip: 1\nname: sand\ngravity: [0, 0, -10]\ntime: {end: 1, step: 0.1}\n"
    "materials: {sand: {model: drucker_prager, density: 1000, youngs_modulus: 1.0e5, poisson_ratio: 0.3, friction_angle_deg: 30}}\n"
    "bodies:\n  sand: {kind: mpm, material: sand, spacing: 0.5, particles_per_cell: 8, shape: {box: {min: [0, 0, 0], max: [2, 1, 1]}}}\n"
    "measure:\n"
    "  all:     {quantity: mass_beyond, body: sand, direction: [1, 0, 0], point: [-1, 0, 0]}\n"
    "  beyond:  {quantity: mass_beyond, body: sand, direction: [1, 0, 0], point: [1, 0, 0]}\n"
    "  flow:    {quantity: flow_rate, body: sand, direction: [1, 0, 0], point: [1, 0, 0]}\n"
    "  seldom:  {quantity: flow_rate, body: sand, direction: [1, 0, 0], point: [1, 0, 0], every: 0.2}\n"
    "  lower:   {quantity: flow_rate, body: sand, direction: [2, 0, 0], point: [1, 0, 0], within: {min: [-9, -9, -9], max: [9, 9, 0.5]}}\n"
    "  round:   {quantity: flow_rate, body: sand, direction: [1, 0, 0], point: [1, 0.5, 0.5], radius: 0.3}\n"
    "  dense:   {quantity: density, body: sand, within: {min: [0.5, 0, 0], max: [1.5, 1, 1]}}\n"
    "  heat:    {quantity: granular_temperature, body: sand}\n"
    "  inside:  {quantity: granular_temperature, body: sand, within: {min: [0, 0, 0], max: [1, 9, 9]}}\n"
    "  nowhere: {quantity: granular_temperature, body: sand, within: {min: [8, 8, 8], max: [9, 9, 9]}}\n"
    "  fast:    {quantity: max_speed, body: sand}\n"
    "  piece:   {quantity: largest_fragment, body: sand, radius: 0.3}\n"
    "  whole:   {quantity: largest_fragment, body: sand, radius: 0.8}\n"
    "  grains:  {quantity: largest_fragment, body: sand, radius: 0.2}\n"
    "  square:  {quantity: anisotropy, body: sand, point: [1, 2, 3]}\n";

static particles *sand_of(bench *b) { return particles_of(b->s->bodies[0].body); }

/* 8 x 4 x 4 particles, 0.25 m apart, in the box. */
static void lattice(bench *b)
{
  particles *p = sand_of(b);
  assert_ok(particles_resize(p, 128));
  for (int64_t i = 0; i < 128; ++i) {
    p->x[0][i] = 0.125 + 0.25 * (double)(i / 16), p->x[1][i] = 0.125 + 0.25 * (double)(i / 4 % 4),
    p->x[2][i] = 0.125 + 0.25 * (double)(i % 4);
    p->mass[i] = 2000.0 / 128.0, p->id[i] = i;
  }
}

/* All move by v dt, as a step would have it. */
static void drift(bench *b, const double v[3])
{
  particles *p = sand_of(b);
  for (int64_t i = 0; i < p->n; ++i)
    for (int q = 0; q < 3; ++q) p->v[q][i] = v[q], p->x[q][i] += 0.1 * v[q];
}

static void flow_keeps_the_books(void **state)
{
  (void)state;
  bench b;
  bench_open(&b, sand_text, lattice);
  bench_record(&b, 0, NULL);
  assert_true(isnan(last_of(&b, "flow"))); /* since when? */
  expect("all", 2000.0, 1e-9);
  const double begun = last_of(&b, "beyond");
  expect("beyond", 1000.0, 1e-9);
  expect("dense", 1000.0, 1e-9);
  double sum = 0.0, seldom = 0.0, lower = 0.0, round = 0.0;
  for (int step = 1; step <= 8; ++step) { /* three steps on, one back, and four on */
    drift(&b, (const double[]){step == 4 ? -1.7 : 1.7, 0.0, 0.0});
    if (step == 5) { /* sorting must not matter */
      int32_t order[128];
      for (int i = 0; i < 128; ++i) order[i] = 127 - i;
      (void)particles_permute(sand_of(&b), order);
    }
    bench_record(&b, step, NULL);
    sum += 0.1 * last_of(&b, "flow");
    lower += 0.1 * last_of(&b, "lower");
    round += 0.1 * last_of(&b, "round");
    if (step % 2 == 0) seldom += 0.2 * last_of(&b, "seldom");
    assert_close(sum, last_of(&b, "beyond") - begun, 1e-9);
    if (step == 4) assert_true(last_of(&b, "flow") < 0.0);
  }
  assert_true(sum > 500.0);
  assert_close(seldom, sum, 1e-9);
  assert_close(lower, 0.5 * sum, 1e-9); /* half of the particles */
  /* of the 4 x 4 particles of a cross-section, half a spacing of 0.25 m off the axes, the inner four are in the circle */
  assert_close(round, 0.25 * sum, 1e-9);
  bench_close(&b);
}

/* After a restart between two records, the second record is the same. */
static void flow_outlives_a_resume(void **state)
{
  (void)state;
  bench     b;
  double    whole, resumed;
  const int steps = 3;
  for (int with = 0; with < 2; ++with) {
    bench_open(&b, sand_text, lattice);
    bench_record(&b, 0, NULL);
    for (int step = 1; step <= steps + 1; ++step) {
      drift(&b, (const double[]){1.7, 0.0, 0.0});
      bench_record(&b, step, NULL);
      if (with && step == steps) {
        assert_ok(measures_destroy(&b.m));
        assert_ok(measures_create(b.s, &b.j->measure, &fake, b.named_state, &b.m));
        assert_ok(measures_open(b.m, b.dir, step, &(sim_clock){step, 0.1 * step, 0.1}));
      }
    }
    *(with ? &resumed : &whole) = last_of(&b, "seldom");
    bench_close(&b);
  }
  assert_true(whole > 0.0);
  assert_close(resumed, whole, 0);
}

/* A lattice with neighbours 0.25 m apart, separated by 0.5 m after three of its eight layers. */
static void bodies_come_apart(void **state)
{
  (void)state;
  bench b;
  bench_open(&b, sand_text, lattice);
  bench_record(&b, 0, NULL);
  expect("piece", 1.0, 1e-12);
  expect("grains", 1.0 / 128.0, 1e-12);
  particles *p = sand_of(&b);
  for (int64_t i = 48; i < 128; ++i) p->x[0][i] += 0.5;
  int32_t order[128];
  for (int i = 0; i < 128; ++i) order[i] = (51 * i + 7) % 128;
  (void)particles_permute(p, order);
  bench_record(&b, 1, NULL);
  expect("piece", 0.625, 1e-12);
  expect("whole", 1.0, 1e-12);
  p->x[2][0] += 100.0; /* one particle is removed from either piece: its remainder may still be the smaller one */
  bench_record(&b, 2, NULL);
  assert_true(last_of(&b, "piece") <= 0.625);
  expect("whole", 127.0 / 128.0, 1e-12);
  bench_close(&b);
}

static void velocities_differ(void **state)
{
  (void)state;
  bench b;
  bench_open(&b, sand_text, lattice);
  particles *p = sand_of(&b);
  /* half of them move to the left, half to the right, in a stream that is a million times faster; those with x < 1 as well */
  for (int64_t i = 0; i < p->n; ++i) p->v[0][i] = 1e6, p->v[2][i] = p->x[0][i] < 1.0 ? 0.5 : p->x[1][i] < 0.5 ? 0.5 : -0.5;
  bench_record(&b, 0, NULL);
  /* v_z: 3/4 at 0.5, 1/4 at -0.5: variance 3/16 */
  expect("heat", 3.0 / 16.0 / 3.0, 1e-12);
  expect("inside", 0.0, 0);
  assert_true(isnan(last_of(&b, "nowhere")));
  expect("fast", sqrt(1e12 + 0.25), 1e-9);
  bench_close(&b);
}

/* Rings of eight about (1, 2), rotated: cos 4 phi of each is that of the first two, which have masses 3 and 1. */
static void heaps_are_round_or_not(void **state)
{
  (void)state;
  bench b;
  bench_open(&b, sand_text, lattice);
  particles *p = sand_of(&b);
  for (int turn = 0; turn < 5; ++turn) {
    const double phi = 0.1 * turn * M_PI;
    for (int64_t i = 0; i < p->n; ++i) {
      const double at = phi + 0.25 * M_PI * (double)(i % 8), r = 0.5 + 0.1 * (double)(i / 8);
      p->x[0][i] = 1.0 + r * cos(at), p->x[1][i] = 2.0 + r * sin(at), p->x[2][i] = (double)i, p->mass[i] = i % 2 ? 1.0 : 3.0;
    }
    bench_record(&b, turn, NULL);
    expect("square", 0.5 * cos(4.0 * phi), 1e-14);
  }
  for (int64_t i = 0; i < p->n; ++i) p->x[0][i] = 1.0, p->x[1][i] = 2.0;
  bench_record(&b, 6, NULL);
  assert_true(isnan(last_of(&b, "square"))); /* on the axis there is no angle */
  bench_close(&b);
}

/* --- contact ------------------------------------------------------------------------------------------------------------- */

static const char *const contact_text = "stickslip: 1\nname: pair\ngravity: [0, 0, 0]\ntime: {end: 1, step: 0.1}\ncontact: {friction: 0, "
                                        "stiffness: 1, initial_overlap: preload}\n"
                                        "materials: {steel: {model: rigid, density: 1}}\n"
                                        "bodies:\n"
                                        "  a: {kind: rigid, material: steel, shape: {sphere: {center: [0, 0, 0], radius: 1}}}\n"
                                        "  b: {kind: rigid, material: steel, shape: {sphere: {center: [1.5, 0, 0], radius: 1}}}\n"
                                        "  c: {kind: static, shape: {box: {min: [4, -9, -9], max: [5, 9, 9]}}}\n"
                                        "measure:\n"
                                        "  all:      {quantity: contacts}\n"
                                        "  of_a:     {quantity: contacts, body: a}\n"
                                        "  of_ab:    {quantity: contacts, body: a, other: b}\n"
                                        "  deepest:  {quantity: penetration}\n"
                                        "  in_b:     {quantity: penetration, body: b, other: a}\n"
                                        "  in_c:     {quantity: penetration, body: c}\n"
                                        "  c_and_b:  {quantity: penetration, body: c, other: b}\n"
                                        "  force:    {quantity: contact_force, body: a, direction: [0, 1, 0]}\n"
                                        "  moment:   {quantity: contact_moment, body: a, direction: [0, 0, 1]}\n"
                                        "  normal:   {quantity: contact_force, body: a, part: normal, direction: [0, 0, 1]}\n"
                                        "  friction: {quantity: contact_force, body: a, part: friction}\n"
                                        "  push_b:   {quantity: contact_force, body: b, other: a, part: normal, direction: [0, 0, 1]}\n"
                                        "  drag_b:   {quantity: contact_force, body: b, other: a, part: friction, direction: [1, 0, 0]}\n"
                                        "  lost:     {quantity: friction_work}\n"
                                        "  stick:    {quantity: sticking_fraction, body: a}\n";

static void contacts_between_two(void **state)
{
  (void)state;
  /* a on b: normal force 5 and friction 2; b on a: the opposite; a on c: normal force 1 along x; and a body on itself */
  double            x[12] = {0}, n[12] = {0, 0, 1, 0, 0, -1, -1, 0, 0, 0, 0, 1}, f[12] = {2, 0, 5, 1, 0, -7, -1, 0, 4, 0, 9, 9};
  double            gap[4]    = {-0.25, -0.5, -0.125, -2.0};
  int32_t           source[4] = {0, 1, 0, 0}, object[4] = {1, 0, 2, 0};
  uint8_t           slides[4] = {1, 0, 1, 1};
  const step_report report    = {.contact = {.contacts = 42, .penetration = 3.0}, .friction_work = 7.0};
  bench             b;
  given_points = (contact_points){
      .n = 4, .position = x, .force = f, .normal = n, .gap = gap, .source_body = source, .object_body = object, .is_sliding = slides};
  bench_open(&b, contact_text, NULL);
  bench_record(&b, 1, &report);
  expect("all", 42.0, 0);
  expect("deepest", 3.0, 0);
  expect("lost", 7.0, 0);
  expect("of_a", 4.0, 0);
  expect("of_ab", 2.0, 0);
  expect("in_b", 0.5, 1e-15); /* of the shapes: the balls overlap, the contact points do not matter */
  expect("in_c", 0.0, 0);
  expect("c_and_b", 0.0, 0);
  expect("force", 2.0, 0);
  expect("moment", 6.0, 0);
  expect("normal", 5.0 + 7.0, 1e-15);
  expect("friction", sqrt(1.0 + 16.0), 1e-15); /* (2, 0, 0) - (1, 0, 0) + (0, 0, 4) */
  expect("push_b", -12.0, 1e-15);
  expect("drag_b", -1.0, 1e-15);
  expect("stick", 7.0 / (5.0 + 7.0 + 1.0 + 9.0), 1e-15);
  given_points.n = 0;
  bench_record(&b, 2, &report);
  expect("of_a", 0.0, 0);
  expect("in_b", 0.5, 1e-15);
  assert_true(isnan(last_of(&b, "stick")));
  bench_close(&b);
}

/* Two blocks that overlap at a corner, with a ball inside one of them that is represented by a level set. */
static void surfaces_meet(void **state)
{
  static const char text[] =
      "stickslip: 1\nname: pair\ntime: {end: 1, step: 0.1}\ncontact: {friction: 0, stiffness: 1, initial_overlap: preload}\n"
      "materials: {steel: {model: rigid, density: 1}, soft: {density: 1000, youngs_modulus: 1.0e5, poisson_ratio: "
      "0.3, model: fixed_corotated}}\n"
      "bodies:\n"
      "  a: {kind: fem, material: soft, spacing: 0.5, shape: {box: {min: [0, 0, 0], max: [1, 1, 1]}}}\n"
      "  b: {kind: fem, material: soft, spacing: 0.3, shape: {box: {min: [0.9, 0.93, 0.97], max: [2, 2, 2]}}}\n"
      "  c: {kind: fem, material: soft, spacing: 0.3, shape: {box: {min: [3, 0, 0], max: [4, 1, 1]}}}\n"
      "  d: {kind: rigid, material: steel, shape: {sphere: {center: [0.1, 0, 0], radius: 1}}}\n"
      "measure:\n"
      "  all:  {quantity: intersections}\n"
      "  of_a: {quantity: intersections, body: a}\n"
      "  in_a: {quantity: intersections, body: a, other: a}\n"
      "  a_b:  {quantity: intersections, body: a, other: b}\n"
      "  b_a:  {quantity: intersections, body: b, other: a}\n"
      "  of_c: {quantity: intersections, body: c}\n";
  bench             b;
  const step_report report = {0};
  (void)state;
  bench_open(&b, text, NULL);
  bench_record(&b, 1, &report);
  const double all = last_of(&b, "all");
  assert_true(all >= 6.0); /* three edges from a corner each go through one face or more */
  expect("of_a", all, 0);
  expect("a_b", all, 0);
  expect("b_a", all, 0);
  expect("in_a", 0.0, 0);
  expect("of_c", 0.0, 0);
  bench_close(&b);
}

/* --- when ---------------------------------------------------------------------------------------------------------------- */

/* Each multiple of `every` is due once for any steps, also if their length changes. */
static void what_is_due_is_due_once(void **state)
{
  (void)state;
  int64_t n = 0;
  for (int64_t step = 1; step <= 1000000; ++step) n += sim_clock_is_due(&(sim_clock){step, (double)step * 1e-3, 1e-3}, 0.01);
  assert_int_equal(n, 100000);
  assert_true(sim_clock_is_due(&(sim_clock){0, 0.0, 1e-3}, 1e9));
  assert_true(sim_clock_is_due(&(sim_clock){7, 0.7, 0.1}, 0.05));
  assert_false(sim_clock_is_due(&(sim_clock){7, 0.7, 0.1}, 0.0));
  /* 7 steps of 0.002, then steps of 0.001 from t = 0.014 on: due at 0.006, 0.012 and 0.018 */
  for (int64_t step = 1; step <= 12; ++step) {
    const double    t   = step <= 7 ? 0.002 * (double)step : 0.014 + 0.001 * (double)(step - 7);
    const sim_clock now = {step, t, step <= 7 ? 0.002 : 0.001};
    assert_int_equal(sim_clock_is_due(&now, 0.006), step == 3 || step == 6 || step == 11);
  }
  /* steps that are not a divisor */
  n = 0;
  for (int64_t step = 1; step <= 700; ++step) n += sim_clock_is_due(&(sim_clock){step, 0.003 * (double)step, 0.003}, 0.01);
  assert_int_equal(n, 210);
}

TEST_MAIN(cmocka_unit_test(nodes_are_followed), cmocka_unit_test(rigid_bodies_turn), cmocka_unit_test(flow_keeps_the_books),
          cmocka_unit_test(flow_outlives_a_resume), cmocka_unit_test(velocities_differ), cmocka_unit_test(bodies_come_apart),
          cmocka_unit_test(heaps_are_round_or_not), cmocka_unit_test(contacts_between_two), cmocka_unit_test(surfaces_meet),
          cmocka_unit_test(what_is_due_is_due_once))
