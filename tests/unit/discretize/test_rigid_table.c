/* Table of rigid bodies: the bodies continue with their state in its rows, equal shapes are stored once, spheres have none, surfaces follow the bodies. */
#include "discretize/rigid/rigid_table.h"
#include "rigid_fixture.h"
#include <string.h>

enum { ROOM = 2000 };
typedef struct {
  int          n;
  rigid_body  *body[ROOM];
  int32_t      number[ROOM];
  document    *doc;
  rigid_table *table;
  field_table *fields;
} pile;

static void pile_add(pile *p, const char *keys)
{
  char text[300];
  snprintf(text, sizeof text, "{material: m, %s, velocity: [1, %d, 0], angular_velocity: [0, 0, %d]}", keys, p->n, p->n);
  if (!p->doc) assert_ok(document_create(&p->doc));
  p->body[p->n]   = rigid_from_text(RIGID_DYNAMIC, text, 1000.0, p->doc, NULL);
  p->number[p->n] = 10 + p->n;
  ++p->n;
}

static void pile_register(pile *p)
{
  assert_ok(rigid_table_create(p->n, p->body, p->number, &p->table));
  assert_ok(field_table_create(&p->fields));
  assert_ok(rigid_table_fields(p->table, p->fields));
}

static void pile_destroy(pile *p)
{
  field_table_destroy(&p->fields);
  for (int i = 0; i < p->n; ++i) rigid_body_destroy(&p->body[i]);
  rigid_table_destroy(&p->table);
  document_destroy(&p->doc);
}

static const void *rows_of(const pile *p, const char *group, const char *name)
{
  const field_group *g = field_table_find_group(p->fields, group);
  assert_non_null(g);
  assert_non_null(field_group_find(g, name));
  return field_component(field_group_find(g, name), 0);
}

static int64_t count_of(const pile *p, const char *group)
{
  const field_group *g = field_table_find_group(p->fields, group);
  return g ? *g->n_rows : 0;
}

/* A step of a body changes its row of the table, and a restored row is the state of the body. */
static void rows_are_the_state_of_the_bodies(void **state)
{
  (void)state;
  pile            p = {0};
  field_snapshot *before;
  for (int i = 0; i < 3; ++i) pile_add(&p, "shape: {sphere: {center: [0.5, 0, 1], radius: 0.25}}");
  pile_register(&p);
  const double *x = rows_of(&p, "rigid/bodies", "position"), *v = rows_of(&p, "rigid/bodies", "velocity"),
               *q = rows_of(&p, "rigid/bodies", "orientation"), *w = rows_of(&p, "rigid/bodies", "angular_velocity");
  for (int i = 0; i < 3; ++i) {
    assert_ptr_equal(p.body[i]->c, x + 3 * i);
    assert_ptr_equal(p.body[i]->q, q + 4 * i);
    assert_ptr_equal(p.body[i]->v, v + 3 * i);
    assert_ptr_equal(p.body[i]->w, w + 3 * i);
    assert_true(x[3 * i] == 0.5 && x[3 * i + 2] == 1.0 && v[3 * i + 1] == i && w[3 * i + 2] == i && q[4 * i] == 1.0);
  }
  assert_ok(field_snapshot_create(&before));
  assert_ok(field_snapshot_take(before, p.fields));
  rigid_body_displace(p.body[1], (const double[6]){1, 2, 3, 0, 0, M_PI});
  assert_close(x[4], 2.0, 1e-15);
  assert_close(q[7], 1.0, 1e-15);
  assert_ok(field_table_stop(p.fields));
  assert_true(p.body[2]->v[1] == 0.0 && p.body[2]->w[2] == 0.0);
  assert_ok(field_snapshot_restore(before, p.fields));
  assert_true(p.body[1]->c[0] == 0.5 && p.body[1]->q[0] == 1.0 && p.body[2]->v[1] == 2.0);
  field_snapshot_destroy(&before);
  pile_destroy(&p);
  assert_no_leak();
}

/* Two boxes of one size at different places are one shape; a box of another size and a turned one are others. Spheres are none, unless their contact
 * surface is a mesh or the centre of mass is not their centre. */
static void equal_shapes_are_stored_once(void **state)
{
  (void)state;
  static const char *const keys[]     = {"shape: {box: {min: [0, 0, 0], max: [0.1, 0.2, 0.3]}}",
                                         "shape: {box: {min: [7.3, -5.1, 0.7], max: [7.4, -4.9, 1.0]}}",
                                         "shape: {box: {min: [0, 0, 0], max: [0.1, 0.2, 0.31]}}",
                                         "shape: {box: {min: [0, 0, 0], max: [0.1, 0.2, 0.3]}, rotate_deg: 30, axis: [1, 1, 0]}",
                                         "shape: {sphere: {center: [1, 1, 1], radius: 0.1}}",
                                         "shape: {sphere: {center: [2, 1, 1], radius: 0.2}}, contact_surface: mesh",
                                         "shape: {sphere: {center: [0, 0, 0], radius: 0.2}}, center_of_mass: [0, 0, 0.1], inertia: [1, 1, 1]"};
  static const int32_t     expected[] = {0, 0, 1, 2, -1, 3, 4};
  enum { N = sizeof expected / sizeof *expected };
  pile    p = {0};
  int64_t n = 0;
  for (int i = 0; i < N; ++i) pile_add(&p, keys[i]);
  pile_register(&p);
  const int32_t *form = rows_of(&p, "rigid/bodies", "shape"), *number = rows_of(&p, "rigid/bodies", "body");
  const double  *radius = rows_of(&p, "rigid/bodies", "radius"), *size = rows_of(&p, "rigid/bodies", "size");
  for (int i = 0; i < N; ++i) assert_int_equal(form[i], expected[i]);
  for (int i = 0; i < N; ++i) assert_int_equal(number[i], 10 + i);
  assert_close(radius[0], 0.5 * sqrt(0.14), 1e-15);
  assert_close(radius[4], 0.1, 1e-15);
  assert_close(radius[6], 0.3, 1e-3); /* from the centre of mass */
  assert_close(size[2], 0.3, 1e-15);
  assert_close(size[3 * 4 + 1], 0.2, 1e-15);
  /* The vertices of shape s are those of the first body with this shape. */
  const double  *vertex = rows_of(&p, "rigid/shapes", "position");
  const int32_t *owner  = rows_of(&p, "rigid/shapes", "shape");
  for (int i = 0; i < N; ++i) {
    const triangle_mesh *m = p.body[i]->surface;
    if (form[i] < 0 || i == 1) continue;
    for (int64_t k = 0; k < m->n_vertices; ++k, ++n) {
      assert_int_equal(owner[n], form[i]);
      for (int a = 0; a < 3; ++a) assert_true(vertex[3 * n + a] == m->x[3 * k + a]);
    }
  }
  assert_int_equal(count_of(&p, "rigid/shapes"), n);
  assert_int_equal(count_of(&p, "rigid/names"), 2 * N);
  assert_memory_equal(rows_of(&p, "rigid/names", "text"), "b\nb\nb\nb\nb\nb\nb\n", 2 * N);
  pile_destroy(&p);
  assert_no_leak();
}

/* The surfaces for ParaView are those of the bodies in world coordinates. Those of spheres are omitted beyond RIGID_TABLE_SURFACES vertices. */
static void surfaces_follow_the_bodies(void **state)
{
  (void)state;
  for (int n_balls = 1; n_balls <= 1000; n_balls += 999) {
    pile    p = {0};
    int64_t n = 0;
    pile_add(&p, "shape: {box: {min: [0, 0, 0], max: [0.1, 0.2, 0.3]}}");
    for (int i = 0; i < n_balls; ++i) pile_add(&p, "shape: {sphere: {center: [0.5, 0, 1], radius: 0.25}}");
    pile_register(&p);
    const bool has_balls = p.n * p.body[1]->n_vertices <= RIGID_TABLE_SURFACES;
    assert_int_equal(has_balls, n_balls == 1);
    rigid_body_displace(p.body[0], (const double[6]){1, 2, 3, 0, 0, 0.5 * M_PI});
    field_group *g = field_table_find_group(p.fields, "rigid/surfaces");
    assert_non_null(g);
    assert_ok(g->refresh(g->context));
    const double  *x      = rows_of(&p, "rigid/surfaces", "position");
    const int32_t *number = rows_of(&p, "rigid/surfaces", "body");
    for (int i = 0; i < (has_balls ? p.n : 1); ++i) {
      const triangle_mesh *m = p.body[i]->surface;
      for (int64_t k = 0; k < m->n_vertices; ++k, ++n) {
        double        at[3];
        const double *y = m->x + 3 * k;
        rigid_body_current_point(
            p.body[i], (const double[3]){y[0] + p.body[i]->origin[0], y[1] + p.body[i]->origin[1], y[2] + p.body[i]->origin[2]}, at);
        for (int a = 0; a < 3; ++a) assert_close(x[3 * n + a], at[a], 1e-14);
        assert_int_equal(number[n], 10 + i);
      }
    }
    assert_int_equal(*g->n_rows, n);
    assert_int_equal(g->triangles[0], p.body[0]->surface->tri[0]);
    if (has_balls) assert_int_equal(g->triangles[3 * p.body[0]->surface->n_triangles], 8 + p.body[1]->surface->tri[0]);
    pile_destroy(&p);
  }
  assert_no_leak();
}

static void count_call(void *context) { ++*(int *)context; }

static void assert_numbers(const pile *p, int n, const int32_t *expected)
{
  char        names[ROOM];
  const char *text = rows_of(p, "rigid/names", "text");
  assert_int_equal(count_of(p, "rigid/bodies"), n);
  for (int i = 0; i < n; ++i) assert_int_equal(((const int32_t *)rows_of(p, "rigid/bodies", "body"))[i], expected[i]);
  assert_int_equal(count_of(p, "rigid/names"), 2 * n);
  for (int i = 0; i < n; ++i) memcpy(names + 2 * i, "b\n", 2);
  assert_memory_equal(text, names, (size_t)(2 * n));
}

/* Bodies 11 and 13 wait and are released in the other order; a restore brings the rows of its time back, and waiting bodies to their state at the
 * release. */
static void released_bodies_get_rows(void **state)
{
  (void)state;
  pile            p       = {0};
  int             n_calls = 0;
  field_snapshot *none, *both;
  for (int i = 0; i < 4; ++i) {
    pile_add(&p, i == 3 ? "shape: {box: {min: [0, 0, 0], max: [0.1, 0.2, 0.3]}}" : "shape: {sphere: {center: [0.5, 0, 1], radius: 0.25}}");
    p.body[i]->base.is_waiting = i % 2 == 1;
  }
  pile_register(&p);
  rigid_table_on_restore(p.table, count_call, &n_calls);
  const double      *x = rows_of(&p, "rigid/bodies", "position"), *v = rows_of(&p, "rigid/bodies", "velocity");
  int32_t           *number   = (int32_t *)(uintptr_t)rows_of(&p, "rigid/bodies", "body");
  const int32_t     *form     = rows_of(&p, "rigid/bodies", "shape");
  const field_group *surfaces = field_table_find_group(p.fields, "rigid/surfaces");
  assert_numbers(&p, 2, (const int32_t[]){10, 12});
  assert_int_equal(*surfaces->n_rows, 2 * p.body[0]->n_vertices);
  assert_close(p.body[3]->c[2], 0.15, 1e-15);
  assert_ok(field_snapshot_create(&none));
  assert_ok(field_snapshot_create(&both));
  assert_ok(field_snapshot_take(none, p.fields));

  rigid_table_release(p.table, 13);
  rigid_table_release(p.table, 11);
  assert_numbers(&p, 4, (const int32_t[]){10, 12, 13, 11});
  assert_true(!p.body[1]->base.is_waiting && !p.body[3]->base.is_waiting);
  assert_true(p.body[3]->c == x + 6 && p.body[1]->v == v + 9 && p.body[1]->v[1] == 1.0 && form[2] == 0 && form[3] == -1);
  assert_close(x[8], 0.15, 1e-15);
  const int64_t n_points = 3 * p.body[0]->n_vertices + 8;
  assert_int_equal(*surfaces->n_rows, n_points);
  assert_int_equal(surfaces->n_triangles, 3 * p.body[0]->surface->n_triangles + 12);
  assert_int_equal(((const int32_t *)rows_of(&p, "rigid/surfaces", "body"))[n_points - 1], 11);
  rigid_body_displace(p.body[1], (const double[6]){7, 0, 0, 0, 0, 0});
  assert_ok(field_snapshot_take(both, p.fields));

  assert_ok(field_snapshot_restore(none, p.fields));
  assert_numbers(&p, 2, (const int32_t[]){10, 12});
  assert_true(p.body[1]->base.is_waiting && p.body[1]->c[0] == 0.5 && p.body[1]->v[1] == 1.0);
  assert_int_equal(surfaces->n_triangles, 2 * p.body[0]->surface->n_triangles);
  assert_ok(field_snapshot_restore(both, p.fields));
  assert_numbers(&p, 4, (const int32_t[]){10, 12, 13, 11});
  assert_true(!p.body[1]->base.is_waiting && p.body[1]->c == x + 9 && p.body[1]->c[0] == 7.5);
  assert_int_equal(n_calls, 2);

  const field_group *g = field_table_find_group(p.fields, "rigid/bodies");
  for (int bad = 0; bad < 3; ++bad) { /* twice the same body, an unknown one, other first rows */
    const int32_t wrong[3][4] = {{10, 12, 13, 13}, {10, 12, 13, 99}, {12, 10, 13, 11}};
    memcpy(number, wrong[bad], sizeof wrong[bad]);
    assert_true(g->restored(g->context));
    assert_non_null(strstr(error_message(), "group rigid/bodies: row"));
    error_clear();
  }
  assert_true(g->resize(g->context, 5));
  error_clear();
  field_snapshot_destroy(&none);
  field_snapshot_destroy(&both);
  pile_destroy(&p);
  assert_no_leak();
}

static void no_bodies_have_no_groups(void **state)
{
  (void)state;
  pile p = {0};
  pile_register(&p);
  assert_int_equal(field_table_n_groups(p.fields), 0);
  pile_destroy(&p);
  assert_no_leak();
}

/* Names become lines of the table. */
static void names_with_line_feeds_are_rejected(void **state)
{
  (void)state;
  pile p = {0};
  pile_add(&p, "shape: {sphere: {center: [0.5, 0, 1], radius: 0.25}}");
  p.body[0]->base.name = "two\nlines";
  assert_true(rigid_table_create(1, p.body, p.number, &p.table));
  assert_non_null(strstr(error_message(), "contains a control character"));
  error_clear();
  assert_null(p.table);
  pile_destroy(&p);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(rows_are_the_state_of_the_bodies), cmocka_unit_test(equal_shapes_are_stored_once),
          cmocka_unit_test(surfaces_follow_the_bodies), cmocka_unit_test(released_bodies_get_rows),
          cmocka_unit_test(no_bodies_have_no_groups), cmocka_unit_test(names_with_line_feeds_are_rejected))
