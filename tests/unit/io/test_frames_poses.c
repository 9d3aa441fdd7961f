/* Frames of many rigid bodies: one row per body and frame, constants once per series; damaged tables are rejected. */
#include "io/frames.h"
#include "io/h5.h"
#include "poses_fixture.h"
#include <sys/stat.h>

static char folder[256];

static int64_t size_of(const char *name)
{
  char        path[512];
  struct stat about;
  snprintf(path, sizeof path, "%s/frames/%s", folder, name);
  assert_int_equal(stat(path, &about), 0);
  return about.st_size;
}

static frame *open_frame(int64_t index)
{
  char  *path;
  frame *r = NULL;
  assert_ok(frames_path(folder, index, &path));
  assert_ok(frame_open(path, &r));
  memory_free(&path);
  return r;
}

static int find_group(const frame *r, const char *name)
{
  for (int g = 0; g < frame_n_groups(r); ++g)
    if (!strcmp(frame_group_name(r, g), name)) return g;
  fail_msg("no group %s", name);
  return -1;
}

/* 100,000 bodies: 52 bytes each in single precision, and every value is read back. */
static void many_bodies_are_one_table(void **state)
{
  (void)state;
  enum { N = 100000 };
  const int64_t n = test_samples(N);
  frames       *f = NULL;
  poses        *p = poses_create(n, 1.0);
  frame_poses   b;
  folder_make(folder);
  assert_ok(frames_open(folder, 0, NULL, &f));
  for (int i = 0; i < 2; ++i) {
    poses_fill(p, 1.0 + i);
    assert_ok(frames_write(f, i, i, 0.1 * i, p->table));
  }
  frames_close(&f);
  assert_true(size_of("frame_000001.h5") < 53 * n + 40000);
  for (int i = 0; i < 2; ++i) {
    frame    *r = open_frame(i);
    const int g = find_group(r, "rigid/bodies");
    poses_fill(p, 1.0 + i);
    assert_int_equal(frame_group_geometry(r, g), FIELD_GROUP_POSES);
    assert_int_equal(frame_poses_of(r, g), -1);
    assert_int_equal(frame_poses_of(r, find_group(r, "rigid/shapes")), g);
    assert_int_equal(frame_poses_of(r, find_group(r, "rigid/names")), g);
    assert_ok(frame_read_poses(r, g, &b));
    assert_int_equal(b.n, n);
    for (int64_t k = 0; k < n; ++k) {
      for (int a = 0; a < 3; ++a) assert_true(b.x[3 * k + a] == (double)(float)p->x[3 * k + a]);
      for (int a = 0; a < 4; ++a) assert_true(b.q[4 * k + a] == (double)(float)p->q[4 * k + a]);
      assert_true(b.radius[k] == (double)(float)p->radius[k] && b.shape[k] == p->shape[k]);
    }
    assert_string_equal(b.name[0], "b0");
    assert_string_equal(b.name[n - 1], p->name[n - 1]);
    assert_int_equal(b.n_shapes, 2);
    assert_true(b.first_vertex[1] == 3 && b.first_vertex[2] == 7 && b.first_triangle[1] == 1 && b.first_triangle[2] == 5);
    assert_memory_equal(b.triangle, ((int32_t[5][3]){{0, 1, 2}, {0, 1, 2}, {0, 2, 3}, {0, 3, 1}, {1, 3, 2}}), sizeof p->triangles);
    assert_true(b.vertex[20] == 10.0);
    const int wall = find_group(r, "bodies/wall");
    int       n_components;
    int64_t   n_triangles;
    int32_t  *triangles;
    double   *vertex;
    assert_ok(frame_read(r, wall, "position", &n_components, &vertex));
    assert_true(n_components == 3 && frame_group_rows(r, wall) == 7 && vertex[20] == 10.0);
    assert_ok(frame_read_triangles(r, wall, &n_triangles, &triangles));
    assert_int_equal(n_triangles, 5);
    assert_memory_equal(triangles, p->triangles, sizeof p->triangles);
    memory_free(&vertex);
    memory_free(&triangles);
    frame_poses_free(&b);
    frame_close(&r);
  }
  poses_destroy(&p);
  folder_remove(folder);
  assert_no_leak();
}

static char *read_series(void)
{
  char   path[300], *text = calloc(1, 1 << 16);
  size_t n;
  snprintf(path, sizeof path, "%s/frames.xmf", folder);
  FILE *in = fopen(path, "r");
  assert_non_null(in);
  n = fread(text, 1, (1 << 16) - 1, in);
  assert_true(n > 0);
  fclose(in);
  return text;
}

static bool has(const char *text, const char *word) { return strstr(text, word) != NULL; }

/* ParaView sees the bodies as points with changing and constant fields; shapes and names are no blocks. A resumed series has the same text, also if the
 * constants were deleted meanwhile; a run that deletes the folder while it writes gets them again. */
static void series_refers_to_the_constants(void **state)
{
  (void)state;
  char        path[300];
  struct stat first, second;
  frames     *f = NULL;
  poses      *p = poses_create(6, 1.0), *more = poses_create(100, 1.0);
  folder_make(folder);
  const frames_options options = {.job_name = "pile", .table = p->table};
  assert_ok(frames_open(folder, 0, &options, &f));
  const int64_t bytes = size_of("constant.h5"); /* written with the series */
  for (int i = 0; i < 3; ++i) assert_ok(frames_write(f, i, i, 0.1 * i, p->table));
  frames_close(&f);
  char *whole = read_series();
  assert_true(has(whole, "<Grid Name=\"rigid.bodies\""));
  assert_true(has(whole, "TopologyType=\"Polyvertex\" NumberOfElements=\"6\" NodesPerElement=\"1\""));
  assert_true(has(whole, "Dimensions=\"6 1\">frames/constant.h5:/topology/rigid/bodies<"));
  assert_true(has(whole, "Dimensions=\"6 3\">frames/frame_000002.h5:/fields/rigid/bodies/position<"));
  assert_true(has(whole, "Dimensions=\"6 4\">frames/frame_000001.h5:/fields/rigid/bodies/orientation<"));
  assert_true(has(whole, "Dimensions=\"6\">frames/constant.h5:/fields/rigid/bodies/radius<"));
  assert_true(!has(whole, "rigid.shapes") && !has(whole, "rigid.names"));
  assert_true(has(whole, "<Grid Name=\"bodies.wall\""));
  assert_true(has(whole, "Dimensions=\"7 3\">frames/constant.h5:/fields/bodies/wall/position<"));
  assert_true(has(whole, "Dimensions=\"5 3\">frames/constant.h5:/topology/bodies/wall<"));

  snprintf(path, sizeof path, "%s/frames/constant.h5", folder);
  assert_int_equal(stat(path, &first), 0);
  assert_ok(frames_open(folder, 3, &options, &f)); /* a resumed run does not write the file again */
  frames_close(&f);
  assert_int_equal(stat(path, &second), 0);
  assert_int_equal(second.st_ino, first.st_ino);
  const frames_options other = {.job_name = "pile", .table = more->table};
  assert_ok(frames_open(folder, 0, &other, &f)); /* other bodies */
  frames_close(&f);
  assert_true(size_of("constant.h5") > bytes);
  assert_ok(frames_open(folder, 0, &options, &f));
  for (int i = 0; i < 3; ++i) assert_ok(frames_write(f, i, i, 0.1 * i, p->table));
  frames_close(&f);
  assert_int_equal(truncate(path, bytes - 1), 0); /* damaged */
  assert_ok(frames_open(folder, 3, &options, &f));
  frames_close(&f);
  assert_int_equal(size_of("constant.h5"), bytes);

  assert_int_equal(unlink(path), 0);
  assert_ok(frames_open(folder, 2, &options, &f));
  assert_int_equal(size_of("constant.h5"), bytes);
  assert_int_equal(unlink(path), 0);
  assert_ok(frames_write(f, 2, 2, 0.2, p->table));
  frames_close(&f);
  assert_int_equal(size_of("constant.h5"), bytes);
  char *again = read_series();
  assert_string_equal(again, whole);
  free(whole), free(again);
  poses_destroy(&p), poses_destroy(&more);
  folder_remove(folder);
  assert_no_leak();
}

/* With named fields, frames still contain the data that pictures need. */
static void poses_are_always_written(void **state)
{
  (void)state;
  static const char *const names[] = {"velocity"};
  frames                  *f       = NULL;
  poses                   *p       = poses_create(4, 1.0);
  frame_poses              b;
  folder_make(folder);
  assert_ok(frames_open(folder, 0, &(frames_options){.n_names = 1, .names = names}, &f));
  assert_ok(frames_write(f, 0, 0, 0.0, p->table));
  frames_close(&f);
  frame    *r = open_frame(0);
  const int g = find_group(r, "rigid/bodies");
  assert_int_equal(frame_n_fields(r, g), 6); /* position, orientation, velocity; body, shape, radius */
  assert_ok(frame_read_poses(r, g, &b));
  frame_poses_free(&b);
  frame_close(&r);
  poses_destroy(&p);
  folder_remove(folder);
  assert_no_leak();
}

/* ---- Damage ---- */
static void shape_too_large(poses *p) { p->shape[2] = 2; }
static void shape_too_small(poses *p) { p->shape[3] = -2; }
static void shapes_skip_a_number(poses *p) { p->vertex_shape[5] = p->vertex_shape[6] = 3; }
static void shapes_begin_late(poses *p) { p->vertex_shape[0] = 1; }
static void shapes_descend(poses *p) { p->vertex_shape[6] = 0; }
static void triangle_of_two_shapes(poses *p) { p->triangles[1][0] = 2; }
static void triangles_out_of_order(poses *p) { memcpy(p->triangles[4], p->triangles[0], sizeof p->triangles[0]); }
static void triangle_without_vertex(poses *p) { p->triangles[4][2] = 7; }
static void a_name_too_few(poses *p) { p->text[2] = '_'; }
static void a_name_too_many(poses *p) { p->text[1] = '\n'; }
static void last_name_is_open(poses *p) { p->text[p->n_text - 1] = 'x'; }
static void no_shapes(poses *p) { field_table_find_group(p->table, "rigid/shapes")->fields[1].flags = 0; }
static void orientation_is_a_vector(poses *p) { field_table_find_group(p->table, "rigid/bodies")->fields[1].n_components = 3; }
static void no_radius(poses *p) { field_table_find_group(p->table, "rigid/bodies")->fields[6].flags = FIELD_CONSTANT; }

static const struct {
  const char *name;
  void (*spoil)(poses *p);
  const char *message;
} damages[] = {
    {"shape too large", shape_too_large, "row 2 of rigid/bodies has the shape 2, there are 2"},
    {"shape too small", shape_too_small, "row 3 of rigid/bodies has the shape -2"},
    {"skip", shapes_skip_a_number, "not numbered from 0 in row 5"},
    {"late", shapes_begin_late, "not numbered from 0 in row 0"},
    {"descend", shapes_descend, "not numbered from 0 in row 6"},
    {"two shapes", triangle_of_two_shapes, "triangle 1 of rigid/shapes does not belong to one shape"},
    {"order", triangles_out_of_order, "triangle 4 of rigid/shapes does not belong to one shape"},
    {"vertex", triangle_without_vertex, "names vertex 7 in triangle 4, there are 7"},
    {"few names", a_name_too_few, "has 8 names for 9 bodies"},
    {"many names", a_name_too_many, "has 10 names for 9 bodies"},
    {"open name", last_name_is_open, "has 8 names for 9 bodies"},
    {"no shapes", no_shapes, "rigid/shapes has no field \"shape\" with 1 integers"},
    {"components", orientation_is_a_vector, "rigid/bodies has no field \"orientation\" with 4 reals"},
    {"no radius", no_radius, "rigid/bodies has no field \"radius\" with 1 reals"},
};

static void damaged_tables_are_rejected(void **state)
{
  (void)state;
  for (size_t i = 0; i < sizeof damages / sizeof *damages; ++i) {
    frames     *f = NULL;
    poses      *p = poses_create(9, 1.0);
    frame_poses b;
    folder_make(folder);
    damages[i].spoil(p);
    assert_ok(frames_open(folder, 0, NULL, &f));
    assert_ok(frames_write(f, 0, 0, 0.0, p->table));
    frames_close(&f);
    frame *r = open_frame(0);
    expect_message(frame_read_poses(r, find_group(r, "rigid/bodies"), &b), damages[i].message);
    assert_true(!b.x && !b.name && !b.first_triangle);
    frame_close(&r);
    poses_destroy(&p);
    folder_remove(folder);
    assert_no_leak();
  }
}

/* Put the constants of `p` in place of those of the series. */
static void replace_constants(poses *p)
{
  char    other[256], from[300], to[300];
  frames *f = NULL;
  folder_make(other);
  assert_ok(frames_open(other, 0, &(frames_options){.table = p->table}, &f));
  frames_close(&f);
  snprintf(from, sizeof from, "%s/frames/constant.h5", other);
  snprintf(to, sizeof to, "%s/frames/constant.h5", folder);
  assert_int_equal(rename(from, to), 0);
  folder_remove(other);
}

/* Constants that are missing, damaged or of another run are reported with the name of the file. */
static void foreign_constants_are_rejected(void **state)
{
  (void)state;
  char        path[300], *one = NULL;
  frames     *f = NULL;
  frame      *r = NULL;
  poses      *p = poses_create(9, 1.0), *other = poses_create(8, 1.0);
  struct stat about;
  folder_make(folder);
  snprintf(path, sizeof path, "%s/frames/constant.h5", folder);
  assert_ok(frames_open(folder, 0, NULL, &f));
  assert_ok(frames_write(f, 0, 0, 0.0, p->table));
  frames_close(&f);
  assert_ok(frames_path(folder, 0, &one));
  assert_int_equal(stat(path, &about), 0);
  assert_int_equal(truncate(path, about.st_size - 1), 0);
  expect_message(frame_open(one, &r), "constant.h5 was cut off");
  assert_int_equal(unlink(path), 0);
  expect_message(frame_open(one, &r), "constant.h5");
  replace_constants(other);
  expect_message(frame_open(one, &r), "rigid/bodies is not the group of this name in ");
  field_table_find_group(other->table, "rigid/bodies")->is_fixed = false;
  for (int k = 4; k < 7; ++k) field_table_find_group(other->table, "rigid/bodies")->fields[k].flags = 0;
  replace_constants(other);
  expect_message(frame_open(one, &r), "rigid/bodies is missing in ");
  assert_null(r);
  memory_free(&one);
  poses_destroy(&p);
  poses_destroy(&other);
  folder_remove(folder);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(many_bodies_are_one_table), cmocka_unit_test(series_refers_to_the_constants),
          cmocka_unit_test(poses_are_always_written), cmocka_unit_test(damaged_tables_are_rejected),
          cmocka_unit_test(foreign_constants_are_rejected))
