/* Accepted creep: its limits per contact, the slack of closed contacts, and steps that are solved to it. */
#include "formulation_fixture.h"
#include "core/math3.h"
#include "sim/exact/exact_keys.h"
#include "sim/step/step_creep.h"
#include <stdio.h>

#define HEAD                                                                                                                               \
  "stickslip: 1\nname: test\nformulation: exact\ngravity: [0, 0, -10]\ntime: {end: 1, step: 1.0e-2}\n"                                     \
  "materials: {wood: {model: rigid, density: 1000}, jelly: {model: neo_hookean, density: 1000, youngs_modulus: 1.0e4, poisson_ratio: "     \
  "0.3}}\n"                                                                                                                                \
  "contact: {friction: 0.5}\nbodies:\n  floor: {kind: static, shape: {plane: {}}}\n"
/* A cube at rest, and three that lie on each other, of which the lowest one slides with 3 m/s. */
#define STILL "  still: {kind: rigid, material: wood, shape: {box: {min: [0, 0, 0], max: [0.1, 0.1, 0.1]}}}\n"
#define CUBES                                                                                                                              \
  STILL                                                                                                                                    \
  "  fast: {kind: rigid, material: wood, shape: {box: {min: [1, 0, 0], max: [1.2, 0.2, 0.2]}}, velocity: [3, 0, 0]}\n"                     \
  "  rider: {kind: rigid, material: wood, shape: {box: {min: [1.05, 0.05, 0.2], max: [1.15, 0.15, 0.3]}}}\n"                               \
  "  top: {kind: rigid, material: wood, shape: {box: {min: [1.05, 0.05, 0.3], max: [1.15, 0.15, 0.4]}}}\n"

typedef struct {
  world         w;
  step_layout   l;
  step_unknowns u;
  step_contacts c;
  step_creep    creep;
  double       *limit;
  bool          moves;
} moment;

static void open_moment(const char *text, double max_creep, moment *m)
{
  step_status status = {STEP_OK, NULL, -1};
  *m                 = (moment){.limit = NULL};
  open_world(text, &m->w);
  assert_ok(step_layout_create(m->w.s, &m->l));
  assert_ok(step_layout_begin(&m->l, 0.0, 1e-2, &status));
  assert_ok(step_unknowns_create(&m->l, &m->u));
  memcpy(m->l.v, m->l.v0, (size_t)(3 * m->l.n_blocks) * sizeof *m->l.v);
  assert_ok(step_layout_update_poses(&m->l));
  assert_ok(step_contacts_create(m->w.s, m->w.s->options->contact->overlap_correction, &m->c));
  assert_ok(step_contacts_find(&m->c, &m->l, &m->u, &status));
  assert_ok(step_creep_create(m->w.s, max_creep, &m->creep));
  assert_ok(step_creep_limits(&m->creep, &m->c, &m->l, &m->limit, &m->moves));
}

static void close_moment(moment *m)
{
  memory_free(&m->limit);
  step_creep_destroy(&m->creep);
  step_contacts_destroy(&m->c);
  step_unknowns_destroy(&m->u);
  step_layout_destroy(&m->l);
  close_world(&m->w);
}

static bool touches(const moment *m, int64_t a, const char *name)
{
  const contact_spot *s = step_contacts_spots(&m->c) + a;
  const int           i = scene_find_body(m->w.s, name);
  return s->body_a == i || s->body_b == i;
}

/* The size of the smaller body where nothing moves; the rms velocity of the contacts of connected bodies where they slide. Of the twelve contacts of the
 * stack, eight have 3 m/s, at the floor and on the lowest cube, and four are at rest. */
static void limits_of_islands(void **state)
{
  (void)state;
  moment m;
  int    n[2] = {0, 0};
  open_moment(HEAD CUBES, NAN, &m);
  for (int64_t a = 0; a < step_contacts_size(&m.c); ++a) {
    const bool is_still = touches(&m, a, "still");
    assert_close(m.limit[a], is_still ? 1e-5 * 0.1 : 0.01 * 3.0 * sqrt(8.0 / 12.0), 1e-12);
    ++n[is_still];
  }
  assert_int_equal(n[0], 12);
  assert_int_equal(n[1], 4);
  assert_true(m.moves);
  close_moment(&m);
  open_moment(HEAD STILL, NAN, &m); /* nothing moves */
  assert_true(step_contacts_size(&m.c) == 4 && !m.moves);
  close_moment(&m);
  open_moment(HEAD CUBES, 0.25, &m);
  for (int64_t a = 0; a < step_contacts_size(&m.c); ++a) assert_true(m.limit[a] == 0.25);
  close_moment(&m);
  assert_no_leak();
}

/* Shifts move towards 0 by the smaller of limit and 1e-5 L, only where the contact carried load. */
static void slack_closes_loaded_contacts(void **state)
{
  (void)state;
  moment  m;
  double *guess;
  open_moment(HEAD CUBES, NAN, &m);
  assert_ok(memory_alloc("guess", 3 * step_contacts_size(&m.c), sizeof *guess, &guess));
  for (int64_t a = 0; a < step_contacts_size(&m.c); ++a) {
    guess[3 * a] = a % 2 ? 1.0 : 0.0;
    m.c.shift[a] = a % 3 == 0 ? 1e-3 : a % 3 == 1 ? -1e-3 : 3e-7;
  }
  step_creep_add_slack(&m.creep, m.limit, guess, &m.c);
  for (int64_t a = 0; a < step_contacts_size(&m.c); ++a) {
    const double before = a % 3 == 0   ? 1e-3
                          : a % 3 == 1 ? -1e-3
                                       : 3e-7,
                 slack  = touches(&m, a, "fast") && touches(&m, a, "floor") ? 2e-6 : 1e-6;
    const double after  = a % 2 == 0 ? before : fabs(before) < slack ? 0.0 : before - copysign(slack, before);
    assert_close(m.c.shift[a], after, 1e-18);
  }
  memory_free(&guess);
  close_moment(&m);
  assert_no_leak();
}

/* The criterion needs a scene without deformable bodies, and neither a tolerance nor a norm of the error. */
static void where_it_applies(void **state)
{
  (void)state;
  static const struct {
    const char *more;
    bool        applies;
  } c[] = {{"", true},
           {"solver: {friction: {tolerance: 1.0e-6}}\n", false},
           {"solver: {friction: {error: siconos}}\n", false},
           {"solver: {exact: {max_creep: 0}}\n", false},
           {"solver: {exact: {max_creep: 1.0e-3}, friction: {tolerance: 1.0e-6}}\n", true},
           {"  soft: {kind: fem, material: jelly, spacing: 0.05, shape: {box: {min: [2, 0, 0.1], max: [2.1, 0.1, 0.2]}}}\n", false}};
  for (int k = 0; k < (int)(sizeof c / sizeof *c); ++k) {
    world w;
    char  text[3000];
    snprintf(text, sizeof text, HEAD CUBES "%s", c[k].more);
    open_world(text, &w);
    const solver_options *o = w.s->options->solver;
    assert_int_equal(step_creep_applies(w.s, o->exact->max_creep, o->friction), c[k].applies);
    close_world(&w);
  }
  assert_no_leak();
}

/* 40 cubes with 160 contacts: the history states the accepted ratio, and every method reaches it. With a tolerance the ratio is not reported. */
static void steps_are_solved_to_it(void **state)
{
  (void)state;
  static const char *const method[] = {"automatic", "splitting", "newton_prox", "interior_point", "gradient", "admm"};
  for (int k = 0; k < 7; ++k) {
    world w;
    char  text[3000], more[100];
    if (k < 6) snprintf(more, sizeof more, "friction: {method: %s}", method[k]);
    else snprintf(more, sizeof more, "friction: {tolerance: 1.0e-9}");
    snprintf(text, sizeof text,
             HEAD
             "  cubes: {kind: rigid, material: wood, velocity: [0.5, 0, 0], shape: {box: {min: [0, 0, 0], max: [0.1, 0.1, 0.1]}}, copies: "
             "{arrangement: lattice, gap: 0.05, count: 40, region: {box: {min: [0, 0, 0], max: [2, 1, 0.1]}}}}\n"
             "solver: {%s}\n",
             more);
    open_world(text, &w);
    for (int i = 0; i < 3; ++i) {
      step(&w);
      assert_int_equal(w.report.contact.contacts, 160);
      assert_int_equal(w.report.contact.sliding, 160);
      assert_int_equal(w.report.friction_unconverged, 0);
      assert_true(k == 6 ? w.report.friction_speed_ratio == 0.0
                         : w.report.friction_speed_ratio > 0.0 && w.report.friction_speed_ratio <= 1.0);
      assert_close(w.report.contact.cone_violation, 0.0, 1e-14);
    }
    assert_close(rigid(&w, "cubes.7")->v[0], 0.5 - 3.0 * 0.5 * 10.0 * 1e-2, 0.01 * 0.5); /* the limit */
    close_world(&w);
  }
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(limits_of_islands), cmocka_unit_test(slack_closes_loaded_contacts), cmocka_unit_test(where_it_applies),
          cmocka_unit_test(steps_are_solved_to_it))
