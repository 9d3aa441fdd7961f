/* What a step leaves for the next is found again at the same place, also by another grid and after a restart; velocities are
 * carried outwards. */
#include "test.h"
#include "core/field_table.h"
#include "discretize/mac/mac_memory.h"
#include "discretize/mac/mac_velocity.h"
#include "mac_fixture.h"
#include <string.h>

static double LOW;
static bool   layer(const double x[3]) { return x[2] > LOW && x[2] < LOW + 0.4; }
static void   make(mac_scene *c, mac_system *y, double low, int arrangement)
{
  mac_scene_spec m = {.h = 1.0 / 13, .n = {13, 11, 13}, .wall = MAC_ALL_ROUGH, .is_filled = layer, .density = 1600.0, .friction = 0.5};
  LOW              = low;
  mac_scene_create(c, &m);
  c->o.arrangement = arrangement;
  *y               = (mac_system){0};
  assert_ok(mac_system_assemble(&c->s, &c->o, 0, NULL, 0.01, y));
}
/* a number that is unique for each place */
static double mark(const mac_grid *g, int64_t slot, int component)
{
  int32_t at[3];
  mac_grid_cell(g, slot, at);
  return 1.0 + at[0] + 100.0 * at[1] + 1e4 * at[2] + 1e6 * (component + 1);
}

static void values_are_found_at_the_same_place(void **unused)
{
  (void)unused;
  for (int arrangement = 0; arrangement < 2; ++arrangement) {
    mac_scene    before, after;
    mac_system   old, new;
    mac_memory  *m, *copy;
    double      *value[6];
    field_table *table;
    make(&before, &old, 0.05, arrangement), make(&after, &new, 0.2, arrangement);
    const int64_t n[6] = {old.n_cells, old.n_stress, old.n_cells, new.n_cells, new.n_stress, new.n_cells};
    for (int q = 0; q < 6; ++q) assert_ok(memory_alloc("value", n[q], sizeof(double), &value[q]));
    for (int64_t i = 0; i < old.n_cells; ++i) value[0][i] = mark(&before.s.grid, old.cell_slot[i], -1), value[2][i] = -value[0][i];
    for (int64_t i = 0; i < old.n_stress; ++i) value[1][i] = mark(&before.s.grid, old.stress_slot[i], old.component[i]);
    assert_ok(mac_memory_create(&m));
    assert_ok(mac_memory_create(&copy));
    mac_memory_initial_guess(m, &after.s.grid, &new, value[3], value[4], value[5]);
    for (int64_t i = 0; i < new.n_cells; ++i) assert_true(value[3][i] == 0.0 && value[5][i] == 0.0);
    assert_ok(mac_memory_store(m, &before.s.grid, &old, value[0], value[1], value[2]));
    /* through a checkpoint's table */
    assert_ok(field_table_create(&table));
    assert_ok(mac_memory_fields(copy, table));
    field_group *group = field_table_find_group(table, "mac/memory");
    assert_non_null(group);
    assert_ok(group->resize(group->context, m->n));
    memcpy(copy->key, m->key, (size_t)m->n * sizeof *m->key), memcpy(copy->pressure, m->pressure, (size_t)m->n * sizeof *m->pressure);
    memcpy(copy->stress, m->stress, 5 * (size_t)m->n * sizeof *m->stress),
        memcpy(copy->multiplier, m->multiplier, (size_t)m->n * sizeof *m->multiplier);
    assert_ok(group->restored(group->context));
    mac_memory_initial_guess(copy, &after.s.grid, &new, value[3], value[4], value[5]);
    int64_t n_found = 0, n_lost = 0;
    for (int64_t i = 0; i < new.n_cells; ++i) {
      int32_t at[3];
      mac_grid_cell(&after.s.grid, new.cell_slot[i], at);
      const int64_t slot = mac_grid_slot(&before.s.grid, at[0], at[1], at[2]);
      const bool    was  = slot >= 0 && old.cell_of[slot] >= 0;
      assert_close(value[3][i], was ? mark(&after.s.grid, new.cell_slot[i], -1) : 0.0, 0.0);
      assert_close(value[5][i], -value[3][i], 0.0);
      n_found += was, n_lost += !was;
    }
    assert_true(n_found > 200 && n_lost > 100);
    n_found = 0;
    for (int64_t i = 0; i < new.n_stress; ++i) {
      const double expected = mark(&after.s.grid, new.stress_slot[i], new.component[i]);
      assert_true(value[4][i] == expected || value[4][i] == 0.0);
      n_found += value[4][i] == expected;
    }
    assert_true(n_found > 1000);
    copy->key[3] = copy->key[2]; /* a damaged file */
    assert_int_equal(group->restored(group->context), PETSC_ERR_FILE_UNEXPECTED);
    field_table_destroy(&table);
    for (int q = 0; q < 6; ++q) memory_free(&value[q]);
    mac_memory_destroy(&m), mac_memory_destroy(&copy);
    mac_system_destroy(&old), mac_system_destroy(&new), mac_scene_destroy(&before), mac_scene_destroy(&after);
  }
  assert_no_leak();
}

static void velocities_go_back_and_outwards(void **unused)
{
  (void)unused;
  static const double u[3] = {2.0, -3.0, 0.5};
  mac_scene           c;
  mac_system          y;
  double             *solved;
  int64_t             n_beyond = 0;
  make(&c, &y, 0.3, MAC_COLOCATED);
  assert_ok(memory_alloc("u", y.n_faces, sizeof *solved, &solved));
  for (int64_t f = 0; f < y.n_faces; ++f) solved[f] = u[y.face_axis[f]];
  for (int a = 0; a < 3; ++a)
    for (int64_t s = 0; s < c.s.grid.n_slots; ++s) c.s.u[a][s] = c.s.mass[a][s] > 0.0 ? u[a] : 1e9;
  mac_system_store_velocity(&y, solved, &c.s);
  for (int64_t s = 0; s < c.s.grid.n_slots; ++s)
    for (int a = 0; a < 3; ++a) {
      int32_t at[3];
      mac_grid_cell(&c.s.grid, s, at);
      if (mac_grid_is_closed(&c.s.grid, a, s)) assert_close(c.s.u[a][s], 0.0, 0.0);
      else if (y.face_of[a][s] >= 0) assert_close(c.s.u[a][s], u[a], 0.0);
      else if (c.s.u[a][s] != 0.0 && mac_grid_is_inside(&c.s.grid, at))
        assert_true(fabs(c.s.u[a][s]) <= fabs(u[a]) + 1e-12), n_beyond += c.s.mass[a][s] == 0.0;
    }
  assert_true(n_beyond > 500);
  /* two layers around the solved cells and no more; the few particles in the first one move with it */
  const int64_t solved_for = mac_grid_slot(&c.s.grid, 6, 6, 4), first = mac_grid_slot(&c.s.grid, 6, 6, 3);
  const int64_t second = mac_grid_slot(&c.s.grid, 6, 6, 2), third = mac_grid_slot(&c.s.grid, 6, 6, 1);
  assert_true(y.face_of[0][solved_for] >= 0 && y.face_of[0][first] < 0 && c.s.mass[0][first] > 0.0);
  assert_true(c.s.u[0][first] == u[0] && c.s.u[0][second] == u[0] && c.s.u[0][third] == 0.0);
  memory_free(&solved);
  mac_system_destroy(&y), mac_scene_destroy(&c);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(values_are_found_at_the_same_place), cmocka_unit_test(velocities_go_back_and_outwards))
