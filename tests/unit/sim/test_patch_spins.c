/* Spin of pairs on their contact points: angles of rotations by hand, contacts that do not count, the warning, and the table of pairs. */
#include "core/field_table.h"
#include "core/math3.h"
#include "core/warning_list.h"
#include "geometry/convex/convex_pair.h"
#include "sim/scene/scene.h"
#include "sim/step/patch_spins.h"
#include "test.h"
#include <string.h>

enum { MOST = 12 };

/* Contacts of a step, with impulses and velocities in their frames. */
static scene         world;
static scene_body    bodies[4] = {{.name = "floor"}, {.name = "ring"}, {.name = "cube"}, {.name = "disc"}};
static step_layout   layout;
static step_contacts contacts;
static double        frames[9 * MOST], mu[MOST], impulse[3 * MOST], velocity[3 * MOST];
static patch_spins   spins;

static void open_step(void)
{
  world  = (scene){.n_bodies = 4, .bodies = bodies};
  layout = (step_layout){.scene = &world, .dt = 0.01};
  assert_ok(warning_list_create(&world.warnings));
  memset(&spins, 0, sizeof spins);
}
static void close_step(void)
{
  patch_spins_destroy(&spins);
  warning_list_destroy(&world.warnings);
}
static void open_contacts(void)
{
  contacts = (step_contacts){.rows.frame = frames, .mu = mu};
  assert_ok(contact_set_create(&contacts.set));
}
/* A contact on the plane z = 0 with unit impulse. Its tangents are turned by `turn`. */
static contact_spot *add(contact_detector detector, int a, int b, double x, double y, double vx, double vy, double turn)
{
  const int64_t i = contacts.rows.n++;
  const double  c = cos(turn), s = sin(turn), E[9] = {0, 0, 1, c, s, 0, -s, c, 0}, v[3] = {vx, vy, 0.3};
  contact_spot *spot;
  assert_ok(contact_set_append(contacts.set, 1, &spot));
  spot->key[0] = contact_key(detector, a, b), spot->key[1] = (uint64_t)i;
  spot->body_a = a, spot->body_b = b;
  v3_set(spot->a.x, x, y, 0.0);
  v3_copy(spot->b.x, spot->a.x);
  memcpy(frames + 9 * i, E, sizeof E);
  m3_mulv(velocity + 3 * i, E, v);
  v3_set(impulse + 3 * i, 1.0, 0.1, 0.2);
  mu[i] = 0.5;
  return spot;
}
/* Corners of a rectangle about (0.7, -0.4) that rotates at `rate` about (x, y). */
static void add_patch(contact_detector detector, int a, int b, double rate, double x, double y)
{
  for (int k = 0; k < 4; ++k) {
    const double px = 0.7 + (k % 2 ? 0.1 : -0.1), py = -0.4 + (k / 2 ? 0.05 : -0.05);
    (void)add(detector, a, b, px, py, -rate * (py - y), rate * (px - x), 0.7 * k);
  }
}
static void end_contacts(int n_steps)
{
  for (int i = 0; i < n_steps; ++i) assert_ok(patch_spins_update(&spins, &contacts, &layout, impulse, velocity));
  contact_set_destroy(&contacts.set);
}

/* Rotation about points inside the patch: rate times step, in every step. The warning appears at 0.05 rad. */
static void test_angle(void **state)
{
  (void)state;
  for (int k = 0; k < 3; ++k) {
    const double rate = k == 1 ? -2.0 : 2.0;
    open_step();
    open_contacts();
    add_patch(DETECTOR_CONVEX, 2, 0, rate, 0.7 + (k == 2 ? 0.03 : 0.0), -0.4);
    end_contacts(2);
    assert_int_equal(spins.n, 1);
    assert_close(spins.angle[0], 0.04, 1e-15);
    assert_int_equal(warning_list_count(world.warnings), 0);
    open_contacts();
    add_patch(DETECTOR_CONVEX, 2, 0, rate, 0.7, -0.4);
    end_contacts(1);
    assert_close(spins.angle[0], 0.06, 1e-15);
    assert_int_equal(warning_list_count(world.warnings), 1);
    assert_string_equal(warning_list_code(world.warnings, 0), "few-contact-points");
    assert_string_equal(warning_list_subject(world.warnings, 0), "cube, floor");
    close_step();
  }
}

typedef enum { ALL, TWO, STICKS, AREA, OTHER_DETECTOR, SLIDES, BESIDE, N_PATCHES } patch;

/* Patches without angle: two contacts, one that sticks, contacts of equal area, contacts of another detector, and sliding with little rotation,
 * whose directions agree to more than 0.9. BESIDE: contacts without force or friction do not count. */
static void test_contacts_that_count(void **state)
{
  (void)state;
  uint64_t area = 0; /* a feature of contacts of equal area */
  while (!convex_touch_is_area(area)) area += 1u << 24;
  for (patch k = ALL; k < N_PATCHES; ++k) {
    open_step();
    open_contacts();
    add_patch(k == OTHER_DETECTOR ? DETECTOR_POINT : DETECTOR_CONVEX, 2, 0, 2.0, k == SLIDES ? 1.5 : 0.7, -0.4);
    if (k == TWO) impulse[0] = impulse[9] = 0.0;
    if (k == STICKS) (void)add(DETECTOR_CONVEX, 2, 0, 0.7, -0.4, 0.0, 0.5e-7, 0.0);
    if (k == AREA) contact_set_edit(contacts.set)[3].key[1] = area;
    if (k == BESIDE) {
      (void)add(DETECTOR_CONVEX, 2, 0, 3.0, 4.0, 5.0, 6.0, 0.0);
      impulse[12] = 0.0;
      (void)add(DETECTOR_CONVEX, 2, 0, 3.0, 4.0, 5.0, 6.0, 0.0);
      mu[5] = 0.0;
    }
    end_contacts(1);
    if (k == ALL || k == BESIDE) {
      assert_int_equal(spins.n, 1);
      assert_close(spins.angle[0], 0.02, 1e-15);
    } else assert_int_equal(spins.n, 0);
    close_step();
  }
}

/* Angles by pair in ascending order, also if pairs appear later and others have no contact. */
static void test_pairs(void **state)
{
  (void)state;
  static const uint64_t order[3] = {(uint64_t)DETECTOR_CONVEX << 56 | 1u << 28, (uint64_t)DETECTOR_CONVEX << 56 | 2u << 28,
                                    (uint64_t)DETECTOR_CONVEX << 56 | 3u << 28};
  static const double   angle[3] = {0.02, 0.01 + 0.005, 0.03};
  open_step();
  open_contacts();
  add_patch(DETECTOR_CONVEX, 2, 0, 1.0, 0.7, -0.4);
  end_contacts(1);
  open_contacts();
  add_patch(DETECTOR_CONVEX, 1, 0, 2.0, 0.7, -0.4);
  add_patch(DETECTOR_CONVEX, 2, 0, 0.5, 0.7, -0.4);
  add_patch(DETECTOR_CONVEX, 3, 0, 3.0, 0.7, -0.4);
  end_contacts(1);
  assert_int_equal(spins.n, 3);
  for (int i = 0; i < 3; ++i) {
    assert_true(spins.pair[i] == order[i]);
    assert_close(spins.angle[i], angle[i], 1e-15);
  }
  close_step();
}

/* Checkpoints are untrusted: pairs out of order and angles that are not finite are errors. */
static void test_checkpoint(void **state)
{
  (void)state;
  field_table *table = NULL;
  open_step();
  assert_ok(field_table_create(&table));
  assert_ok(patch_spins_fields(&spins, table));
  const field_group *g = field_table_find_group(table, "contact/spins");
  assert_non_null(g);
  assert_ok(g->resize(g->context, 2));
  for (int k = 0; k < 4; ++k) {
    spins.pair[0] = 5, spins.pair[1] = k == 1 ? 5 : 6;
    spins.angle[0] = k == 2 ? NAN : 0.1, spins.angle[1] = k == 3 ? INFINITY : 0.2;
    assert_int_equal(g->restored(g->context), k == 0 ? PETSC_SUCCESS : PETSC_ERR_FILE_UNEXPECTED);
    if (k > 0) assert_non_null(strstr(error_message(), k == 2 ? "contact/spins: row 0" : "contact/spins: row 1"));
    error_clear();
  }
  field_table_destroy(&table);
  close_step();
}

TEST_MAIN(cmocka_unit_test(test_angle), cmocka_unit_test(test_contacts_that_count), cmocka_unit_test(test_pairs),
          cmocka_unit_test(test_checkpoint))
