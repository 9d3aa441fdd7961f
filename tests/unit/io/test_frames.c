/* Frames: the XDMF lists the data of the files with their shapes, a resume removes later frames, values are equal after reading. */
#include "io/frames.h"
#include "core/log.h"
#include "io/h5.h"
#include "io_fixture.h"

typedef struct {
  int64_t n, n_contacts;
  double *x, *force, *contact;
} shell;

static const int32_t TRIANGLES[4][3] = {{0, 1, 2}, {0, 1, 3}, {1, 2, 3}, {0, 2, 3}};

/* The fixture's particles, a tetrahedron's surface and contact points. */
static void add_shell(fixture *s, shell *ball)
{
  field_group *g;
  memset(ball, 0, sizeof *ball);
  ball->n = 4, ball->n_contacts = 2;
  assert_ok(memory_alloc("test", 12, sizeof(double), &ball->x));
  assert_ok(memory_alloc("test", 4, sizeof(double), &ball->force));
  assert_ok(memory_alloc("test", 6, sizeof(double), &ball->contact));
  for (int i = 0; i < 12; ++i) ball->x[i] = 0.1 * i;
  assert_ok(field_table_add_group(s->table, "bodies/ball", FIELD_GROUP_SURFACE, &ball->n, NULL, &g));
  g->triangles = TRIANGLES[0], g->n_triangles = 4;
  assert_ok(field_table_add(s->table, g, "position", "m", FIELD_F64, 3, &ball->x, FIELD_FRAME, "vertices"));
  assert_ok(field_table_add(s->table, g, "force", "N", FIELD_F64, 1, &ball->force, FIELD_FRAME, "force"));
  assert_ok(field_table_add_group(s->table, "contacts", FIELD_GROUP_POINTS, &ball->n_contacts, NULL, &g));
  assert_ok(field_table_add(s->table, g, "position", "m", FIELD_F64, 3, &ball->contact, FIELD_FRAME, "points"));
}

static void drop_shell(shell *ball) { memory_free(&ball->x), memory_free(&ball->force), memory_free(&ball->contact); }

static char *read_text(const char *folder, const char *name)
{
  char  path[512];
  char *text = calloc(1, 1 << 20);
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *in = fopen(path, "r");
  assert_non_null(in);
  text[fread(text, 1, (1 << 20) - 1, in)] = 0;
  fclose(in);
  return text;
}

static int count(const char *text, const char *word)
{
  int n = 0;
  for (const char *at = text; (at = strstr(at, word)); at += strlen(word)) ++n;
  return n;
}

/* Tags that open and close in order: a small check of well-formedness (attributes in quotes, no stray markup). */
static void expect_well_formed(const char *text)
{
  char stack[32][32];
  int  depth = 0;
  for (const char *c = text; (c = strchr(c, '<'));) {
    const char *end = c + 1;
    for (bool quoted = false; *end && (quoted || *end != '>'); ++end) quoted ^= *end == '"';
    assert_true(*end == '>');
    if (c[1] == '/') {
      const size_t n = (size_t)(end - c - 2);
      assert_true(depth > 0 && !strncmp(stack[depth - 1], c + 2, n) && !stack[depth - 1][n]);
      --depth;
    } else if (c[1] != '?' && c[1] != '!' && end[-1] != '/') {
      const int n = (int)strcspn(c + 1, " >");
      assert_true(depth < 32 && n < 32);
      snprintf(stack[depth++], 32, "%.*s", n, c + 1);
    }
    c = end;
  }
  assert_int_equal(depth, 0);
}

/* Every DataItem names a dataset that is there, with these dimensions, kind of number and precision. */
static int expect_data_there(const char *folder, const char *text)
{
  int n = 0;
  for (const char *at = text; (at = strstr(at, "<DataItem ")); ++at, ++n) {
    char    number[16], shape[64], file[128], dataset[128], path[512], found[64] = "";
    int     precision;
    hid_t   h, d;
    hsize_t dims[2];
    H5_SCOPE(scope);
    assert_int_equal(
        sscanf(at, "<DataItem Format=\"HDF\" NumberType=\"%15[A-Za-z]\" Precision=\"%d\" Dimensions=\"%63[0-9 ]\">%127[^:]:%127[^<]",
               number, &precision, shape, file, dataset),
        5);
    snprintf(path, sizeof path, "%s/%s", folder, file);
    assert_ok(h5_open(&scope, path, &h));
    d = h5_keep(&scope, H5Dopen2(h, dataset, H5P_DEFAULT));
    assert_true(d >= 0);
    const hid_t space = h5_keep(&scope, H5Dget_space(d)), type = h5_keep(&scope, H5Dget_type(d));
    const int   rank = H5Sget_simple_extent_dims(space, dims, NULL);
    for (int k = 0; k < rank; ++k) sprintf(found + strlen(found), "%s%d", k ? " " : "", (int)dims[k]);
    assert_string_equal(found, shape);
    assert_int_equal(H5Tget_size(type), precision);
    assert_int_equal(H5Tget_class(type) == H5T_FLOAT, !strcmp(number, "Float"));
  }
  return n;
}

static void series_lists_the_existing_frames(void **state)
{
  (void)state;
  char    folder[256];
  shell   ball;
  frames *f = NULL;
  folder_make(folder);
  fixture *s = fixture_create(50, 1.0);
  add_shell(s, &ball);
  const frames_options options = {"a & b", false, 0, NULL, NULL};
  assert_ok(frames_open(folder, 0, &options, &f));
  for (int i = 0; i < 3; ++i) {
    ball.n_contacts = i; /* none in the first: no empty block */
    assert_ok(frames_write(f, i, 10 * i, 0.1 * i, s->table));
  }
  frames_close(&f);
  assert_int_equal(s->n_refreshed, 3);

  char *text = read_text(folder, "frames.xmf");
  expect_well_formed(text);
  assert_int_equal(count(text, "CollectionType=\"Temporal\""), 1);
  assert_int_equal(count(text, "CollectionType=\"Spatial\""), 3);
  assert_int_equal(count(text, "<Grid Name=\"bodies.bed\""), 3);
  assert_int_equal(count(text, "<Grid Name=\"contacts\""), 2);
  assert_int_equal(count(text, "TopologyType=\"Polyvertex\" NumberOfElements=\"50\" NodesPerElement=\"1\""), 3);
  assert_int_equal(count(text, "TopologyType=\"Triangle\" NumberOfElements=\"4\""), 3);
  assert_int_equal(count(text, "<Time Value=\"0.20000000000000001\"/>"), 1);
  assert_int_equal(count(text, "a &amp; b"), 1);
  /* bed: topology, position, turn, key, count, kind, flag, speed; ball: topology, position, force; contacts: topology, position */
  assert_int_equal(expect_data_there(folder, text), 3 * 11 + 2 * 2);
  assert_null(strstr(text, "odd"));  /* state only */
  assert_null(strstr(text, folder)); /* the folder may move */
  free(text);
  drop_shell(&ball);
  fixture_destroy(&s);
  folder_remove(folder);
  assert_no_leak();
}

static void values_are_read_back(void **state)
{
  (void)state;
  for (int is_double = 0; is_double < 2; ++is_double) {
    char     folder[256], *path = NULL;
    shell    ball;
    frames  *f = NULL;
    frame   *r = NULL;
    int      nc;
    double  *v = NULL;
    int32_t *t = NULL;
    int64_t  nt;
    folder_make(folder);
    fixture             *s       = fixture_create(30000, 1.0);
    const frames_options options = {"bed", is_double, 0, NULL, NULL};
    add_shell(s, &ball);
    assert_ok(frames_open(folder, 0, &options, &f));
    assert_ok(frames_write(f, 7, 42, 0.3, s->table));
    frames_close(&f);
    assert_ok(frames_path(folder, 7, &path));
    assert_ok(frame_open(path, &r));
    assert_true(frame_time(r) == 0.3);
    assert_string_equal(frame_job_name(r), "bed");
    assert_int_equal(frame_n_groups(r), 3);
    assert_string_equal(frame_group_name(r, 0), "bodies/ball");
    assert_string_equal(frame_group_name(r, 1), "bodies/bed");
    assert_int_equal(frame_group_geometry(r, 1), FIELD_GROUP_POINTS);
    assert_int_equal(frame_group_rows(r, 1), 30000);
    assert_ok(frame_read(r, 1, "position", &nc, &v));
    assert_int_equal(nc, 3);
    for (int64_t i = 0; i < s->n; ++i)
      for (int k = 0; k < 3; ++k) assert_true(v[3 * i + k] == (is_double ? s->x[k][i] : (double)(float)s->x[k][i]));
    memory_free(&v);
    assert_ok(frame_read(r, 1, "speed", &nc, &v)); /* refreshed before it was written */
    assert_true(nc == 1 && v[29999] == (is_double ? 2.0 * s->x[0][29999] : (double)(float)(2.0 * s->x[0][29999])));
    memory_free(&v);
    assert_ok(frame_read(r, 1, "kind", &nc, &v));
    assert_true(nc == 2 && v[0] == -5.0 && v[1] == (double)INT32_MIN);
    memory_free(&v);
    assert_ok(frame_read(r, 1, "nothing", &nc, &v));
    assert_true(nc == 0 && !v);
    assert_ok(frame_read_triangles(r, 0, &nt, &t));
    assert_int_equal(nt, 4);
    assert_memory_equal(t, TRIANGLES, sizeof TRIANGLES);
    memory_free(&t);
    assert_ok(frame_read_triangles(r, 1, &nt, &t));
    assert_true(nt == 0 && !t);
    bool has_unit = false;
    for (int j = 0; j < frame_n_fields(r, 1); ++j)
      has_unit |= !strcmp(frame_field_name(r, 1, j), "speed") && !strcmp(frame_field_unit(r, 1, j), "m/s");
    assert_true(has_unit);
    frame_close(&r);
    memory_free(&path);
    drop_shell(&ball);
    fixture_destroy(&s);
    folder_remove(folder);
    assert_no_leak();
  }
}

/* Fibres are read back segment by segment, and are polylines of two nodes in ParaView; a segment with an invalid row is
 * rejected. */
static void fibres_are_polylines(void **state)
{
  (void)state;
  static const int32_t good[3][2] = {{0, 1}, {1, 2}, {3, 0}}, bad[1][2] = {{1, 4}};
  char                 folder[256], *path                               = NULL;
  int64_t              n = 4, n_read;
  int32_t             *t = NULL;
  double              *x = NULL;
  field_table         *table;
  field_group         *g;
  frames              *f = NULL;
  frame               *r = NULL;
  folder_make(folder);
  assert_ok(memory_alloc("test", 12, sizeof *x, &x));
  assert_ok(field_table_create(&table));
  assert_ok(field_table_add_group(table, "bodies/hair", FIELD_GROUP_FIBRES, &n, NULL, &g));
  assert_ok(field_table_add(table, g, "position", "m", FIELD_F64, 3, &x, FIELD_FRAME, "nodes"));
  assert_ok(frames_open(folder, 0, NULL, &f));
  g->segments = good[0], g->n_segments = 3;
  assert_ok(frames_write(f, 0, 0, 0.0, table));
  g->segments = bad[0], g->n_segments = 1;
  assert_ok(frames_write(f, 1, 1, 0.1, table));
  frames_close(&f);
  char *text = read_text(folder, "frames.xmf");
  expect_well_formed(text);
  assert_int_equal(count(text, "TopologyType=\"Polyline\" NumberOfElements=\"3\" NodesPerElement=\"2\""), 1);
  assert_int_equal(count(text, "Dimensions=\"3 2\">frames/frame_000000.h5:/topology/bodies/hair"), 1);
  free(text);
  assert_ok(frames_path(folder, 0, &path));
  assert_ok(frame_open(path, &r));
  assert_int_equal(frame_group_geometry(r, 0), FIELD_GROUP_FIBRES);
  assert_ok(frame_read_segments(r, 0, &n_read, &t));
  assert_int_equal(n_read, 3);
  assert_memory_equal(t, good, sizeof good);
  memory_free(&t);
  assert_ok(frame_read_triangles(r, 0, &n_read, &t));
  assert_true(n_read == 0 && !t);
  frame_close(&r);
  memory_free(&path);
  assert_ok(frames_path(folder, 1, &path));
  assert_ok(frame_open(path, &r));
  assert_int_not_equal(frame_read_segments(r, 0, &n_read, &t), PETSC_SUCCESS);
  assert_non_null(strstr(error_message(), "segment 0"));
  error_clear();
  frame_close(&r);
  memory_free(&path);
  field_table_destroy(&table);
  memory_free(&x);
  folder_remove(folder);
  assert_no_leak();
}

/* Resume: the same frames give the same XDMF, byte for byte, as a run that was never stopped. */
static void resumed_series_continues(void **state)
{
  (void)state;
  char    folder[256], path[300];
  frames *f = NULL;
  int64_t n, *indices = NULL;
  folder_make(folder);
  fixture *s = fixture_create(5, 1.0);
  assert_ok(frames_open(folder, 0, NULL, &f));
  for (int i = 0; i < 6; ++i) assert_ok(frames_write(f, i, i, 0.1 * i, s->table));
  frames_close(&f);
  char *whole = read_text(folder, "frames.xmf");
  snprintf(path, sizeof path, "%s/frames/.frame_000009.h5.tmp", folder);
  fclose(fopen(path, "w"));

  assert_ok(frames_open(folder, 3, NULL, &f));
  assert_true(access(path, F_OK)); /* leftovers of a killed writer are gone */
  assert_ok(frames_list(folder, &n, &indices));
  assert_int_equal(n, 3);
  assert_int_equal(indices[2], 2);
  memory_free(&indices);
  char *part = read_text(folder, "frames.xmf");
  assert_int_equal(count(part, "<Time "), 3);
  for (int i = 3; i < 6; ++i) assert_ok(frames_write(f, i, i, 0.1 * i, s->table));
  frames_close(&f);
  char *again = read_text(folder, "frames.xmf");
  assert_string_equal(again, whole);
  free(whole), free(part), free(again);

  fixture_destroy(&s);
  folder_remove(folder);
  assert_no_leak();
}

/* Warnings of frames_open; returns the number of frames in the resulting series. */
static int reopen(const char *folder, int64_t next_index, char **said)
{
  size_t  size = 0;
  frames *f    = NULL;
  FILE   *log  = open_memstream(said, &size);
  log_redirect(log, false);
  assert_ok(frames_open(folder, next_index, NULL, &f));
  log_redirect(NULL, false);
  fclose(log);
  frames_close(&f);
  char     *text = read_text(folder, "frames.xmf");
  const int n    = count(text, "<Time ");
  expect_well_formed(text);
  free(text);
  return n;
}

static void frame_cut(const char *folder, int index, int64_t bytes)
{
  char *path = NULL;
  assert_ok(frames_path(folder, index, &path));
  assert_int_equal(truncate(path, bytes), 0);
  memory_free(&path);
}

/* Resuming looks into the last frame alone: it is found if it is damaged; the others may even be empty. Without a series that can
 * be trusted all are looked into. */
static void resume_checks_the_last_frame(void **state)
{
  (void)state;
  char    folder[256], xmf[300], *said, *path = NULL;
  frames *f = NULL;
  frame  *r = NULL;
  folder_make(folder);
  snprintf(xmf, sizeof xmf, "%s/frames.xmf", folder);
  fixture *s = fixture_create(5, 1.0);
  assert_ok(frames_open(folder, 0, NULL, &f));
  for (int i = 0; i < 6; ++i) assert_ok(frames_write(f, i, i, 0.1 * i, s->table));
  frames_close(&f);

  frame_cut(folder, 1, 0);
  assert_int_equal(reopen(folder, 6, &said), 6);
  assert_string_equal(said, "");
  free(said);

  frame_cut(folder, 5, 3000);
  assert_int_equal(reopen(folder, 6, &said), 5);
  assert_non_null(strstr(said, "frame_000005.h5 was cut off"));
  assert_null(strstr(said, "frame_000001"));
  free(said);
  assert_ok(frames_path(folder, 5, &path));
  expect_message(frame_open(path, &r), "was cut off");
  assert_null(r);
  memory_free(&path);

  /* A frame that has gone is no longer named; what the resume drops is not the last frame. */
  assert_ok(frames_path(folder, 2, &path));
  assert_int_equal(unlink(path), 0);
  memory_free(&path);
  assert_int_equal(reopen(folder, 5, &said), 4);
  assert_string_equal(said, "");
  free(said);

  static const char *const spoilt[] = {"", "<?xml version=\"1.0\"?>\n", NULL};
  for (int k = 0; k < 3; ++k) {
    FILE *x = spoilt[k] ? fopen(xmf, "w") : NULL;
    if (x) fputs(spoilt[k], x), fclose(x);
    else assert_int_equal(unlink(xmf), 0);
    assert_int_equal(reopen(folder, 5, &said), 3);
    assert_non_null(strstr(said, "frame_000001.h5 is empty"));
    free(said);
  }
  fixture_destroy(&s);
  folder_remove(folder);
  assert_no_leak();
}

static void only_requested_fields_are_written(void **state)
{
  (void)state;
  static const char *const names[] = {"turn", "speed"};
  char                     folder[256], *path = NULL;
  frames                  *f = NULL;
  frame                   *r = NULL;
  folder_make(folder);
  fixture             *s       = fixture_create(5, 1.0);
  const frames_options options = {NULL, false, 2, names, NULL};
  assert_ok(frames_open(folder, 0, &options, &f));
  assert_ok(frames_write(f, 0, 0, 0.0, s->table));
  frames_close(&f);
  assert_ok(frames_path(folder, 0, &path));
  assert_ok(frame_open(path, &r));
  assert_int_equal(frame_n_fields(r, 0), 3);
  assert_string_equal(frame_field_name(r, 0, 0), "position");
  assert_string_equal(frame_field_name(r, 0, 1), "speed");
  assert_string_equal(frame_field_name(r, 0, 2), "turn");
  frame_close(&r);
  memory_free(&path);
  fixture_destroy(&s);
  folder_remove(folder);
  assert_no_leak();
}

/* One group per body: more bodies than old limits of links in an HDF5 group. The last one is read back. */
static void frames_of_many_bodies(void **state)
{
  (void)state;
  enum { MANY = 4200 };
  char                 folder[256], *path = NULL;
  frames              *f   = NULL;
  frame               *r   = NULL;
  const int64_t        one = 1;
  double              *x   = NULL, *v;
  int                  nc;
  const frames_options options = {NULL, true, 0, NULL, NULL};
  field_table         *table;
  folder_make(folder);
  assert_ok(field_table_create(&table));
  assert_ok(memory_alloc("test", 3, sizeof(double), &x));
  x[1] = 0.25;
  for (int i = 0; i < MANY; ++i) {
    char         name[32];
    field_group *g;
    snprintf(name, sizeof name, "bodies/b%05d", i);
    assert_ok(field_table_add_group(table, name, FIELD_GROUP_POINTS, &one, NULL, &g));
    assert_ok(field_table_add(table, g, "position", "m", FIELD_F64, 3, &x, FIELD_FRAME, "centre"));
  }
  assert_ok(frames_open(folder, 0, &options, &f));
  assert_ok(frames_write(f, 0, 0, 0.0, table));
  frames_close(&f);
  assert_ok(frames_path(folder, 0, &path));
  assert_ok(frame_open(path, &r));
  assert_int_equal(frame_n_groups(r), MANY);
  assert_string_equal(frame_group_name(r, MANY - 1), "bodies/b04199");
  assert_ok(frame_read(r, MANY - 1, "position", &nc, &v));
  assert_true(v[1] == 0.25);
  memory_free(&v);
  frame_close(&r);
  memory_free(&path);
  memory_free(&x);
  field_table_destroy(&table);
  folder_remove(folder);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(series_lists_the_existing_frames), cmocka_unit_test(values_are_read_back),
          cmocka_unit_test(fibres_are_polylines), cmocka_unit_test(resumed_series_continues),
          cmocka_unit_test(resume_checks_the_last_frame), cmocka_unit_test(only_requested_fields_are_written),
          cmocka_unit_test(frames_of_many_bodies))
