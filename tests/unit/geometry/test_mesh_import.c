/* Mesh files: what is right is read, what is wrong is refused with its line, and nothing at all makes the parsers fall. */
#include "core/math3.h"
#include "core/random.h"
#include "geometry/import/mesh_import.h"
#include "geometry/triangle_mesh/triangle_mesh_primitives.h"
#include "test.h"
#include "temporary.h"

static const char obj_cube[] = "# a cube of side 2\r\nmtllib x.mtl\no cube\n"
                               "v 0 0 0\nv 2 0 0 1.0\nv 2 2 0\nv 0 2 0\n  v 0 0 2\nv 2 0 2\nv 2 2 2\nv 0 2 2e0\nv 9 9 9\nvn 0 0 1\nvt 0 0\n"
                               "g sides\nf 1 4 3 2\nf 5/1 6/1/1 7//1 8\nf 1 2 \\\n 6 5\nf 2 3 7 6\nf 3 4 8 7\nf -9 -5 -2 -6\n";

static void assert_cube(triangle_mesh **m, double volume)
{
  triangle_mesh_defects d;
  assert_int_equal((*m)->n_vertices, 8);
  assert_int_equal((*m)->n_triangles, 12);
  assert_ok(triangle_mesh_check(*m, &d));
  assert_true(triangle_mesh_is_sound(&d));
  assert_close(d.volume, volume, 1e-12);
  triangle_mesh_destroy(m);
}

/* The text or binary .stl of a mesh; returns its size. */
static size_t write_stl(const triangle_mesh *m, bool is_binary, char *out)
{
  char *p = out;
  if (is_binary) {
    memset(p, 0, 80);
    memcpy(p, "solid but binary", 16);
    const uint32_t n = (uint32_t)m->n_triangles;
    memcpy(p + 80, &n, 4); /* this machine is little-endian, like the format */
    p += 84;
  } else p += sprintf(p, "solid cube of ours\n");
  for (int64_t t = 0; t < m->n_triangles; ++t) {
    float f[12] = {0};
    for (int i = 0; i < 3; ++i)
      for (int k = 0; k < 3; ++k) f[3 + 3 * i + k] = (float)m->x[3 * (int64_t)m->tri[3 * t + i] + k];
    if (is_binary) {
      memcpy(p, f, 48);
      memset(p + 48, 0, 2);
      p += 50;
    } else {
      p += sprintf(p, "facet normal 0 0 0\n outer loop\n");
      for (int i = 0; i < 3; ++i) p += sprintf(p, "  vertex %.9g %.9g %.9g\n", f[3 + 3 * i], f[4 + 3 * i], f[5 + 3 * i]);
      p += sprintf(p, " endloop\nendfacet\n");
    }
  }
  if (!is_binary) p += sprintf(p, "endsolid cube of ours\n");
  return (size_t)(p - out);
}

static void test_good_files(void **state)
{
  (void)state;
  const double   a[3] = {1, 2, 3}, b[3] = {1.5, 3, 4};
  static char    text[20000];
  triangle_mesh *m = NULL, *box = NULL;
  assert_ok(mesh_parse_obj("cube.obj", sizeof obj_cube - 1, obj_cube, &m));
  assert_cube(&m, 8.0);
  assert_ok(triangle_mesh_box(a, b, 0.0, &box));
  for (int is_binary = 0; is_binary < 2; ++is_binary) {
    const size_t size = write_stl(box, is_binary, text);
    assert_ok(mesh_parse_stl("box.stl", size, text, &m));
    assert_cube(&m, 0.5);
    char  path[TEMPORARY_ROOM]; /* the same through a file */
    FILE *f = fdopen(mkstemps(temporary_name(path, ".stl"), 4), "wb");
    assert_int_equal(fwrite(text, 1, size, f), size);
    fclose(f);
    assert_ok(mesh_import(path, &m));
    remove(path);
    assert_cube(&m, 0.5);
  }
  /* corners that differ by round-off are one vertex; a sliver that collapses is dropped */
  const double jitter = 1e-7;
  char        *p      = text + sprintf(text, "solid\n");
  const double v[5][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {0.1 * jitter, 0, 0}};
  const int    tri[5][3] = {{0, 2, 1}, {0, 1, 3}, {1, 2, 3}, {2, 4, 3}, {0, 4, 1}};
  for (int t = 0; t < 5; ++t) {
    p += sprintf(p, "facet normal 1 0 0\nouter loop\n");
    for (int i = 0; i < 3; ++i) p += sprintf(p, "vertex %.12g %.12g %.12g\n", v[tri[t][i]][0] + t * jitter, v[tri[t][i]][1], v[tri[t][i]][2] - t * jitter);
    p += sprintf(p, "endloop\nendfacet\n");
  }
  p += sprintf(p, "endsolid\n");
  assert_ok(mesh_parse_stl("tet.stl", (size_t)(p - text), text, &m));
  assert_int_equal(m->n_vertices, 4);
  assert_int_equal(m->n_triangles, 4);
  triangle_mesh_destroy(&m);
  triangle_mesh_destroy(&box);
  assert_no_leak();
}

static void assert_refused(bool is_obj, const char *text, const char *expected)
{
  triangle_mesh       *m    = NULL;
  const PetscErrorCode code = is_obj ? mesh_parse_obj("bad", strlen(text), text, &m) : mesh_parse_stl("bad", strlen(text), text, &m);
  assert_int_equal(code, PETSC_ERR_USER_INPUT);
  assert_null(m);
  if (!strstr(error_message(), expected)) fail_msg("\"%s\" does not contain \"%s\"", error_message(), expected);
  error_clear();
}

/* Polylines: of a file that has faces, too; references from the end, joined lines. */
static void test_lines(void **state)
{
  (void)state;
  static const char good[] = "v 0 0 0\nv 1 0 0\nv 1 1 0\nf 1 2 3\nl 1 2 \\\n 3\nv 0 0 5\nl -1 1/7\n";
  static const struct {
    const char *text, *expected;
  } bad[] = {{"v 0 0 0\nv 1 0 0\n", "has no line"}, {"v 0 0 0\nl 1\n", "bad:2: a line needs at least two"}, {"v 0 0 0\nl 1 2\n", "bad:2: no such vertex"},
             {"v 0 0\nl 1 1\n", "bad:1: a vertex needs three coordinates"}, {"v 0 0 0\nl 1 x\n", "not a vertex index"}};
  mesh_lines l;
  assert_ok(mesh_parse_obj_lines("good", sizeof good - 1, good, &l));
  assert_int_equal(l.n_lines, 2);
  assert_true(l.start[0] == 0 && l.start[1] == 3 && l.start[2] == 5);
  assert_true(l.x[3 * 2 + 1] == 1.0 && l.x[3 * 3 + 2] == 5.0 && l.x[3 * 4 + 2] == 0.0);
  mesh_lines_free(&l);
  for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
    assert_int_equal(mesh_parse_obj_lines("bad", strlen(bad[i].text), bad[i].text, &l), PETSC_ERR_USER_INPUT);
    assert_true(l.n_lines == 0 && !l.start && !l.x);
    if (!strstr(error_message(), bad[i].expected)) fail_msg("\"%s\" does not contain \"%s\"", error_message(), bad[i].expected);
    error_clear();
  }
  assert_int_equal(mesh_import_lines("hair.vtu", &l), PETSC_ERR_USER_INPUT);
  error_clear();
  assert_no_leak();
}

static void test_bad_files(void **state)
{
  (void)state;
  assert_refused(true, "", "no triangles");
  assert_refused(true, "v 0 0 0\nv 1 0 0\n", "no triangles");
  assert_refused(true, "v 0 0\n", "bad:1: a vertex needs three coordinates");
  assert_refused(true, "\nv 0 0 x1\n", "bad:2: not a finite number: \"x1\"");
  assert_refused(true, "v 0 0 inf\n", "not a finite number");
  assert_refused(true, "v 0 0 1e300\n", "beyond 1e30");
  assert_refused(true, "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2\n", "bad:4: a face needs at least three");
  assert_refused(true, "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 4\n", "bad:4: no such vertex up to this line: \"4\"");
  assert_refused(true, "v 0 0 0\nf 0 1 1\n", "no such vertex");
  assert_refused(true, "v 0 0 0\nf -2 1 1\n", "no such vertex");
  assert_refused(true, "v 0 0 0\nf 1 99999999999999999999 1\n", "not a vertex index");
  assert_refused(true, "v 0 0 0\nf 1 1x 1\n", "not a vertex index");
  assert_refused(true, "curv 0 1 2\n", "unsupported statement");
  assert_refused(false, "", "neither a text .stl");
  assert_refused(false, "not an stl", "neither a text .stl");
  assert_refused(false, "solid\nendsolid\n", "no triangles");
  assert_refused(false, "solid\nfacet\nvertex 0 0 0\n", "bad:3: expected \"outer\" but found \"vertex\"");
  assert_refused(false, "solid\nfacet\nouter loop\nvertex 0 0 0 0\n", "bad:4: a vertex has three");
  assert_refused(false, "solid\nfacet\nouter loop\nvertex 0 0 0\n", "ends within a facet");
  assert_refused(false, "solid\nfacet\nouter loop\nvertex 0 nan 0\n", "not a finite number");
  triangle_mesh *m = NULL;
  assert_int_not_equal(mesh_import("/nonexistent/mesh.obj", &m), 0);
  assert_non_null(strstr(error_message(), "/nonexistent/mesh.obj: cannot be opened"));
  error_clear();
  assert_int_equal(mesh_import("mesh.ply", &m), PETSC_ERR_USER_INPUT);
  error_clear();
  assert_int_not_equal(mesh_import("/.stl", &m), 0);
  error_clear();
  assert_no_leak();
}

/* Damage good files in every way one, two or many byte changes, cuts and repeats can: never a crash, a leak, or a mesh with
 * an index or a number out of range. The sanitizer profile gives this test its teeth. */
static void test_fuzz(void **state)
{
  (void)state;
  const double   a[3] = {0}, b[3] = {1, 1, 1};
  static char    source[3][20000], damaged[40000];
  size_t         size[3];
  triangle_mesh *box        = NULL;
  int            n_accepted = 0;
  assert_ok(triangle_mesh_box(a, b, 0.0, &box));
  size[0] = sizeof obj_cube - 1;
  memcpy(source[0], obj_cube, size[0]);
  size[1] = write_stl(box, false, source[1]);
  size[2] = write_stl(box, true, source[2]);
  triangle_mesh_destroy(&box);
  for (uint64_t i = 0; i < 6000; ++i) {
    const int kind = (int)(i % 3);
    size_t    n    = size[kind];
    memcpy(damaged, source[kind], n);
    const uint64_t n_changes = 1 + random_index(7, i, 0, 6);
    for (uint64_t c = 0; c < n_changes; ++c) {
      const size_t at = random_index(7, i, 3 * c + 1, n ? n : 1);
      const char   interesting[] = "0-.e/\\ \n\r\t#vfs9\0\x7f\xff";
      switch (random_index(7, i, 3 * c + 2, 6)) {
      case 0: n = at; break;                                                                            /* cut */
      case 1: damaged[at] = (char)random_index(7, i, 3 * c + 3, 256); break;                            /* any byte */
      case 2: damaged[at] ^= (char)(1 << random_index(7, i, 3 * c + 3, 8)); break;                      /* one bit */
      case 3: damaged[at] = interesting[random_index(7, i, 3 * c + 3, sizeof interesting)]; break;
      case 4: memmove(damaged + at, damaged + at / 2, n - at); break;                                   /* repeat a part */
      default:
        if (n > 0 && 2 * n - at < sizeof damaged) memcpy(damaged + n, damaged + at, n - at), n += n - at; /* append a part */
      }
    }
    char *exact = malloc(n ? n : 1); /* of exactly this size, so that a sanitizer sees reading beyond it */
    memcpy(exact, damaged, n);
    triangle_mesh *m = NULL;
    if ((kind ? mesh_parse_stl("fuzz", n, exact, &m) : mesh_parse_obj("fuzz", n, exact, &m)) == PETSC_SUCCESS) {
      triangle_mesh_defects d;
      ++n_accepted;
      assert_ok(triangle_mesh_check(m, &d));
      assert_int_equal(d.n_not_finite + d.n_bad_index, 0);
      triangle_mesh_destroy(&m);
    } else assert_null(m);
    error_clear();
    mesh_lines l;
    if (!kind && mesh_parse_obj_lines("fuzz", n, exact, &l) == PETSC_SUCCESS) mesh_lines_free(&l);
    error_clear();
    free(exact);
    assert_no_leak();
  }
  assert_true(n_accepted > 200 && n_accepted < 5000); /* the damage is neither fatal nor harmless throughout */
}

TEST_MAIN(cmocka_unit_test(test_good_files), cmocka_unit_test(test_lines), cmocka_unit_test(test_bad_files), cmocka_unit_test(test_fuzz))
