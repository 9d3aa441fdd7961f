/* Mesh files: valid files are read, every format reproduces the written mesh bit for bit, invalid files give an error with the
 * position, and no input crashes the readers. First triangle meshes and polylines (.obj, .stl), then tetrahedral meshes (.msh,
 * .vtu, TetGen). */
#include "core/math3.h"
#include "core/random.h"
#include "geometry/import/mesh_import.h"
#include "geometry/tet_mesh/tet_mesh_primitives.h"
#include "geometry/triangle_mesh/triangle_mesh_primitives.h"
#include "mesh_writers.h"
#include "temporary.h"
#include "test.h"
#include "tet_mesh_quality.h"

/* ==== triangle meshes and polylines ==== */

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

static void test_surface_files(void **state)
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
  const double jitter    = 1e-7;
  char        *p         = text + sprintf(text, "solid\n");
  const double v[5][3]   = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {0.1 * jitter, 0, 0}};
  const int    tri[5][3] = {{0, 2, 1}, {0, 1, 3}, {1, 2, 3}, {2, 4, 3}, {0, 4, 1}};
  for (int t = 0; t < 5; ++t) {
    p += sprintf(p, "facet normal 1 0 0\nouter loop\n");
    for (int i = 0; i < 3; ++i)
      p += sprintf(p, "vertex %.12g %.12g %.12g\n", v[tri[t][i]][0] + t * jitter, v[tri[t][i]][1], v[tri[t][i]][2] - t * jitter);
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

static void assert_surface_error(bool is_obj, const char *text, const char *expected)
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
  } bad[] = {{"v 0 0 0\nv 1 0 0\n", "has no line"},
             {"v 0 0 0\nl 1\n", "bad:2: a line needs at least two"},
             {"v 0 0 0\nl 1 2\n", "bad:2: no such vertex"},
             {"v 0 0\nl 1 1\n", "bad:1: a vertex needs three coordinates"},
             {"v 0 0 0\nl 1 x\n", "not a vertex index"}};
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

static void test_bad_surface_files(void **state)
{
  (void)state;
  assert_surface_error(true, "", "no triangles");
  assert_surface_error(true, "v 0 0 0\nv 1 0 0\n", "no triangles");
  assert_surface_error(true, "v 0 0\n", "bad:1: a vertex needs three coordinates");
  assert_surface_error(true, "\nv 0 0 x1\n", "bad:2: not a finite number: \"x1\"");
  assert_surface_error(true, "v 0 0 inf\n", "not a finite number");
  assert_surface_error(true, "v 0 0 1e300\n", "beyond 1e30");
  assert_surface_error(true, "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2\n", "bad:4: a face needs at least three");
  assert_surface_error(true, "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 4\n", "bad:4: no such vertex up to this line: \"4\"");
  assert_surface_error(true, "v 0 0 0\nf 0 1 1\n", "no such vertex");
  assert_surface_error(true, "v 0 0 0\nf -2 1 1\n", "no such vertex");
  assert_surface_error(true, "v 0 0 0\nf 1 99999999999999999999 1\n", "not a vertex index");
  assert_surface_error(true, "v 0 0 0\nf 1 1x 1\n", "not a vertex index");
  assert_surface_error(true, "curv 0 1 2\n", "unsupported statement");
  assert_surface_error(false, "", "neither a text .stl");
  assert_surface_error(false, "not an stl", "neither a text .stl");
  assert_surface_error(false, "solid\nendsolid\n", "no triangles");
  assert_surface_error(false, "solid\nfacet\nvertex 0 0 0\n", "bad:3: expected \"outer\" but found \"vertex\"");
  assert_surface_error(false, "solid\nfacet\nouter loop\nvertex 0 0 0 0\n", "bad:4: a vertex has three");
  assert_surface_error(false, "solid\nfacet\nouter loop\nvertex 0 0 0\n", "ends within a facet");
  assert_surface_error(false, "solid\nfacet\nouter loop\nvertex 0 nan 0\n", "not a finite number");
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

/* Valid files with random changes of bytes, truncation and repetition: no crash, no leak, and no mesh with an index or a number out
 * of range. Most effective in the asan profile. */
static void test_fuzz_surfaces(void **state)
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
      const size_t at            = random_index(7, i, 3 * c + 1, n ? n : 1);
      const char   interesting[] = "0-.e/\\ \n\r\t#vfs9\0\x7f\xff";
      switch (random_index(7, i, 3 * c + 2, 6)) {
      case 0: n = at; break;                                                       /* cut */
      case 1: damaged[at] = (char)random_index(7, i, 3 * c + 3, 256); break;       /* any byte */
      case 2: damaged[at] ^= (char)(1 << random_index(7, i, 3 * c + 3, 8)); break; /* one bit */
      case 3: damaged[at] = interesting[random_index(7, i, 3 * c + 3, sizeof interesting)]; break;
      case 4: memmove(damaged + at, damaged + at / 2, n - at); break; /* repeat a part */
      default:
        if (n > 0 && 2 * n - at < sizeof damaged) memcpy(damaged + n, damaged + at, n - at), n += n - at; /* append a part */
      }
    }
    char *exact = malloc(n ? n : 1); /* exact size, so that a sanitizer detects reads beyond it */
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
  assert_true(n_accepted > 200 && n_accepted < 5000); /* some damaged files are accepted, others are not */
}

/* ==== tetrahedral meshes ==== */

enum { MSH_2, MSH_2_BINARY, MSH_4, MSH_4_BINARY, TETGEN, VTU, N_KINDS = VTU + 4 * N_VTU_FORMS };

static void write_kind(const tet_mesh *m, int kind, test_file *f, test_file *node, test_file *face)
{
  if (kind == MSH_2 || kind == MSH_2_BINARY) write_msh_2(m, kind == MSH_2_BINARY, f);
  else if (kind == MSH_4 || kind == MSH_4_BINARY) write_msh_4(m, kind == MSH_4_BINARY, f);
  else if (kind == TETGEN) write_tetgen(m, 1, node, f, face);
  else write_vtu(m, (vtu_form)((kind - VTU) / 4), kind & 1, kind & 2, f);
}

static PetscErrorCode parse_kind(int kind, const test_file *f, const test_file *node, const test_file *face, triangle_mesh **surface,
                                 tet_mesh **solid)
{
  const test_file *cell = surface ? face : f;
  PetscFunctionBegin;
  if (kind < TETGEN) PetscCall(mesh_parse_msh("a.msh", f->size, f->bytes, false, surface, solid));
  else if (kind == TETGEN)
    PetscCall(
        mesh_parse_tetgen("a.node", node->size, node->bytes, surface ? "a.face" : "a.ele", cell->size, cell->bytes, false, surface, solid));
  else PetscCall(mesh_parse_vtu("a.vtu", f->size, f->bytes, false, surface, solid));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void test_solid_round_trips(void **state)
{
  (void)state;
  const double center[3] = {0.1, 1.0 / 3.0, -2.0};
  tet_mesh    *m         = NULL;
  assert_ok(tet_mesh_sphere(center, 1.0, 0.5, &m));
  for (int kind = 0; kind < N_KINDS; ++kind) {
    test_file             f = {0}, node = {0}, face = {0};
    tet_mesh             *solid   = NULL;
    triangle_mesh        *surface = NULL;
    triangle_mesh_defects d;
    write_kind(m, kind, &f, &node, &face);
    assert_ok(parse_kind(kind, &f, &node, &face, NULL, &solid));
    assert_int_equal(solid->n_vertices, m->n_vertices);
    assert_int_equal(solid->n_tets, m->n_tets);
    assert_memory_equal(solid->x, m->x, 3 * (size_t)m->n_vertices * sizeof *m->x);
    assert_memory_equal(solid->tet, m->tet, 4 * (size_t)m->n_tets * sizeof *m->tet);
    assert_memory_equal(solid->volume, m->volume, (size_t)m->n_tets * sizeof *m->volume);
    assert_ok(parse_kind(kind, &f, &node, &face, &surface, NULL));
    assert_int_equal(surface->n_vertices, m->surface->n_vertices);
    assert_int_equal(surface->n_triangles, m->surface->n_triangles);
    assert_memory_equal(surface->x, m->surface->x, 3 * (size_t)surface->n_vertices * sizeof(double));
    assert_memory_equal(surface->tri, m->surface->tri, 3 * (size_t)surface->n_triangles * sizeof(int32_t));
    assert_ok(triangle_mesh_check(surface, &d));
    assert_true(triangle_mesh_is_sound(&d));
    tet_mesh_destroy(&solid);
    triangle_mesh_destroy(&surface);
    test_file_free(&f), test_file_free(&node), test_file_free(&face);
  }
  tet_mesh_destroy(&m);
  assert_no_leak();
}

static void save(const char *path, const test_file *f)
{
  FILE *out = fopen(path, "wb");
  assert_non_null(out);
  assert_int_equal(fwrite(f->bytes, 1, f->size, out), f->size);
  fclose(out);
}

/* Through files: the ending decides; TetGen's pair is found from either name. Numbers from 0 there. */
static void test_solid_files(void **state)
{
  (void)state;
  const double   a[3] = {0}, b[3] = {1, 1, 2};
  char           folder[TEMPORARY_ROOM], path[6][TEMPORARY_ROOM + 8];
  const char    *ending[6] = {"node", "ele", "face", "MSH", "vtu", "txt"};
  test_file      f[5]      = {{0}};
  tet_mesh      *m = NULL, *solid = NULL;
  triangle_mesh *surface = NULL;
  assert_non_null(mkdtemp(temporary_name(folder, "")));
  for (int i = 0; i < 6; ++i) snprintf(path[i], sizeof path[i], "%s/a.%s", folder, ending[i]);
  assert_ok(tet_mesh_box(a, b, 1.0, &m));
  write_tetgen(m, 0, &f[0], &f[1], &f[2]);
  write_msh_4(m, true, &f[3]);
  write_vtu(m, VTU_ZLIB_RAW, true, true, &f[4]);
  for (int i = 0; i < 5; ++i) save(path[i], &f[i]);
  for (int i = 0; i < 5; ++i) {
    if (i != 2) {
      assert_ok(tet_mesh_import(path[i], false, &solid));
      assert_close(tet_mesh_mass(solid).volume, 2.0, 1e-14);
      assert_int_equal(solid->n_tets, 10);
      tet_mesh_destroy(&solid);
    }
    if (i >= 2) {
      assert_ok(mesh_import(path[i], &surface));
      assert_close(triangle_mesh_mass(surface).volume, 2.0, 1e-14);
      triangle_mesh_destroy(&surface);
    }
  }
  assert_int_equal(tet_mesh_import(path[5], false, &solid), PETSC_ERR_USER_INPUT);
  error_clear();
  assert_int_equal(mesh_import(path[5], &surface), PETSC_ERR_USER_INPUT);
  error_clear();
  remove(path[1]);
  assert_int_not_equal(tet_mesh_import(path[0], false, &solid), 0);
  if (!strstr(error_message(), "a.ele: cannot be opened")) fail_msg("%s", error_message());
  error_clear();
  for (int i = 0; i < 5; ++i) {
    remove(path[i]);
    test_file_free(&f[i]);
  }
  remove(folder);
  tet_mesh_destroy(&m);
  assert_no_leak();
}

/* ---- errors ---- */

static void assert_solid_error(int kind, bool wants_surface, const char *text, const char *expected)
{
  tet_mesh            *m    = NULL;
  triangle_mesh       *s    = NULL;
  const PetscErrorCode code = kind == VTU
                                  ? mesh_parse_vtu("bad", strlen(text), text, false, wants_surface ? &s : NULL, wants_surface ? NULL : &m)
                                  : mesh_parse_msh("bad", strlen(text), text, false, wants_surface ? &s : NULL, wants_surface ? NULL : &m);
  assert_int_equal(code, PETSC_ERR_USER_INPUT);
  assert_null(m);
  assert_null(s);
  if (!strstr(error_message(), expected)) fail_msg("\"%s\" does not contain \"%s\"", error_message(), expected);
  error_clear();
  assert_no_leak();
}

#define HEAD_2 "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n"
#define NODES_2 "$Nodes\n4\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n$EndNodes\n"
#define HEAD_4 "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n"
#define NODES_4 "$Nodes\n1 4 1 4\n3 1 0 4\n1\n2\n3\n4\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n$EndNodes\n"

static void test_bad_msh(void **state)
{
  (void)state;
  assert_solid_error(MSH_2, false, "", "bad: no section $Elements");
  assert_solid_error(MSH_2, false, "hello\n", "bad:1: expected the start of a section, $..., but found \"hello\"");
  assert_solid_error(MSH_2, false, NODES_2, "bad:1: a Gmsh file starts with $MeshFormat, not with \"$Nodes\"");
  assert_solid_error(MSH_2, false, "$MeshFormat\n4 0 8\n",
                     "bad:2: only versions 2.2 and 4.1 can be read (Mesh.MshFileVersion in Gmsh), not \"4\"");
  assert_solid_error(MSH_2, false, "$MeshFormat\n2.2 2 8\n", "bad:2: the file type must be a whole number from 0 to 1, not \"2\"");
  assert_solid_error(MSH_2, false, "$MeshFormat\n2.2 0 4\n", "bad:2: the data size");
  assert_solid_error(MSH_2, false, "$MeshFormat\n2.2 1 8\n", "bad: the file ends early, after");
  assert_solid_error(MSH_2, false, "$MeshFormat\n2.2 1 8\nabcd\n$EndMeshFormat\n", "opposite byte order");
  assert_solid_error(MSH_2, false, "$MeshFormat\n2.2 0 8\nmore\n", "bad:3: expected $EndMeshFormat but found \"more\"");
  assert_solid_error(MSH_2, false, HEAD_2 "$Comments\nfoo\n", "the file ends within section \"Comments\"");
  assert_solid_error(MSH_2, false, HEAD_2 NODES_2 "$Elements\n1\n1 4 2 0 1 1 2 3 5\n$EndElements\n", "bad:13: no such node: \"5\"");
  assert_solid_error(MSH_2, false, HEAD_2 NODES_2 "$Elements\n1\n1 4 2 0 1 1 2 3\n$EndElements\n", "bad:13: a corner is missing");
  assert_solid_error(MSH_2, false, HEAD_2 NODES_2 "$Elements\n1\n1 5 2 0 1 1 2 3 4 1 2 3 4\n",
                     "bad:13: hexahedra, prisms and pyramids cannot be read, only tetrahedra: element type \"5\"");
  assert_solid_error(MSH_2, false, HEAD_2 NODES_2 "$Elements\n1\n1 11 2 0 1 1 2 3 4 1 2 3 4 1 2\n",
                     "bad:13: second-order elements cannot be read, mesh with Mesh.ElementOrder = 1: element type \"11\"");
  assert_solid_error(MSH_2, false, HEAD_2 NODES_2 "$Elements\n1\n1 99 2 0 1 1\n", "element type \"99\"");
  assert_solid_error(MSH_2, false, HEAD_2 NODES_2 "$Elements\n1\n1 4 x 0 1 1\n",
                     "bad:13: the number of tags must be a whole number from 0 to 1000, not \"x\"");
  assert_solid_error(MSH_2, false, HEAD_2 NODES_2 "$Elements\n3000000000\n", "bad:12: the number of elements");
  assert_solid_error(MSH_2, false, HEAD_2 NODES_2 "$Elements\n2\n1 4 0 1 2 3 4\n$EndElements\n", "bad:14: the number of an element");
  assert_solid_error(MSH_2, false, HEAD_2 NODES_2 "$Elements\n1\n1 4 0 1 2 3 4\n2 4 0 1 2 3 4\n$EndElements\n",
                     "bad:14: expected $EndElements but found \"2\"");
  assert_solid_error(MSH_2, false, HEAD_2 NODES_2 "$Elements\n1\n77 4 0 1 2 3 3\n$EndElements\n",
                     "1 tetrahedra have no volume, the first is tetrahedron 77");
  assert_solid_error(MSH_2, false, HEAD_2 NODES_2 "$Elements\n1\n1 2 0 1 2 3\n$EndElements\n",
                     "no tetrahedra in this file, only triangles");
  assert_solid_error(MSH_2, true, HEAD_2 NODES_2 "$Elements\n1\n1 4 0 1 2 3 4\n$EndElements\n",
                     "no triangles in this file, only tetrahedra");
  assert_solid_error(MSH_2, false, HEAD_2 "$Elements\n0\n$EndElements\n", "bad:4: elements before the nodes they need");
  assert_solid_error(MSH_2, false, HEAD_2 NODES_2 NODES_2, "bad:11: a second section $Nodes");
  assert_solid_error(MSH_2, false, HEAD_2 "$Nodes\n2\n1 0 0 0\n1 1 0 0\n$EndNodes\n", "bad: two nodes have the number 1");
  assert_solid_error(MSH_2, false, HEAD_2 "$Nodes\n2\n1 0 0 0\n-2 1 0 0\n$EndNodes\n",
                     "bad:7: the number of a node must be a whole number from 0");
  assert_solid_error(MSH_2, false, HEAD_2 "$Nodes\n2\n1 0 nan 0\n", "bad:6: not a finite number: \"nan\"");
  assert_solid_error(MSH_2, false, HEAD_2 "$Nodes\n-1\n", "bad:5: the number of nodes");
  assert_solid_error(MSH_2, false, HEAD_2 "$Nodes\n2\n1 0 0 0\n", "the file ends early: \"a node\"");
  /* the same one twice */
  assert_solid_error(MSH_2, false, HEAD_2 NODES_2 "$Elements\n2\n1 4 0 1 2 3 4\n2 4 0 1 2 3 4\n$EndElements\n",
                     "on the wrong side of a face, the first is tetrahedron 2");
  /* names survive that node 90 is dropped */
  assert_solid_error(MSH_2, false,
                     HEAD_2 "$Nodes\n7\n90 5 5 5\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n5 1 0 0\n6 1 1 1\n$EndNodes\n$Elements\n2\n1 4 0 1 2 "
                            "3 4\n2 4 0 5 3 4 6\n$EndElements\n",
                     "1 vertices coincide with another vertex, the first is vertex 5 with vertex 2; merge duplicate vertices");
  assert_solid_error(MSH_4, false, HEAD_4 "$Nodes\n1 4 1 4\n3 1 2 4\n", "bad:6: \"parametric\" must be a whole number from 0 to 1");
  assert_solid_error(MSH_4, false, HEAD_4 "$Nodes\n1 4 1 4\n4 1 0 4\n", "bad:6: the dimension of a block");
  assert_solid_error(MSH_4, false, HEAD_4 "$Nodes\n1 4 1 4\n3 1 0 5\n",
                     "bad:6: the number of nodes of a block must be a whole number from 0 to 4, not \"5\"");
  assert_solid_error(MSH_4, false, HEAD_4 "$Nodes\n1 2 1 4\n3 1 0 1\n1\n0 0 0\n$EndNodes\n",
                     "the blocks have fewer nodes than the header states; missing: \"1\"");
  assert_solid_error(MSH_4, false, HEAD_4 NODES_4 "$Elements\n1 2 1 2\n3 1 4 1\n1 1 2 3 4\n$EndElements\n",
                     "the blocks have fewer elements than the header states; missing: \"1\"");
  assert_solid_error(MSH_4, false, HEAD_4 NODES_4 "$Elements\n1 1 1 1\n3 1 4 1\n1 1 2 3 9\n$EndElements\n", "no such node: \"9\"");
  assert_solid_error(MSH_4, false, HEAD_4 NODES_4 "$Elements\n1 1 1 1\n3 1 6 1\n", "only tetrahedra: element type \"6\"");
  assert_solid_error(MSH_4, false, HEAD_4 NODES_4 "$Elements\n1 1 1 1\n3 1 4 1\n", "the file ends early: \"an element\"");
}

#define HEAD_VTU "<VTKFile type=\"UnstructuredGrid\" byte_order=\"LittleEndian\">\n<UnstructuredGrid>\n"
#define PIECE "<Piece NumberOfPoints=\"4\" NumberOfCells=\"1\">\n"
#define POINTS_VTU                                                                                                                         \
  "<Points>\n<DataArray type=\"Float64\" NumberOfComponents=\"3\" format=\"ascii\">0 0 0 1 0 0 0 1 0 0 0 1</DataArray>\n</Points>\n"
#define DATA_ARRAY(type, name, numbers) "<DataArray type=\"" type "\" Name=\"" name "\" format=\"ascii\">" numbers "</DataArray>\n"
#define CELLS(connectivity, offsets, types)                                                                                                \
  "<Cells>\n" DATA_ARRAY("Int32", "connectivity", connectivity) DATA_ARRAY("Int32", "offsets", offsets)                                    \
      DATA_ARRAY("UInt8", "types", types) "</Cells>\n"
#define TAIL "</Piece></UnstructuredGrid></VTKFile>\n"

static void test_bad_vtu(void **state)
{
  (void)state;
  tet_mesh  *m      = NULL;
  const char good[] = HEAD_VTU PIECE POINTS_VTU CELLS("0 1 2 3", "4", "10") TAIL;
  assert_ok(mesh_parse_vtu("good", sizeof good - 1, good, false, NULL, &m));
  assert_close(m->volume[0], 1.0 / 6.0, 1e-16);
  tet_mesh_destroy(&m);
  assert_solid_error(VTU, false, "", "bad: not a .vtu file: no element VTKFile");
  assert_solid_error(VTU, false, "<html>", "bad:1: a .vtu file starts with VTKFile, not with \"html\"");
  assert_solid_error(VTU, false, "\n<VTKFile type=\"PolyData\">",
                     "bad:2: only a VTKFile of type UnstructuredGrid can be read, not \"PolyData\"");
  assert_solid_error(VTU, false, "<VTKFile type=\"UnstructuredGrid\" compressor=\"vtkLZ4DataCompressor\">",
                     "only vtkZLibDataCompressor is supported, not \"vtkLZ4DataCompressor\"");
  assert_solid_error(VTU, false, "<VTKFile type=\"UnstructuredGrid\" header_type=\"Int8\">",
                     "header_type must be UInt32 or UInt64, not \"Int8\"");
  assert_solid_error(VTU, false, "<VTKFile type=\"UnstructuredGrid\"></VTKFile>", "bad: no element Piece");
  assert_solid_error(VTU, false, "<VTKFile type=\"UnstructuredGrid\"><Piece", "bad:1: this tag does not end");
  assert_solid_error(VTU, false, HEAD_VTU "<Piece NumberOfPoints=\"4\">", "bad:3: NumberOfCells= is missing in element \"Piece\"");
  assert_solid_error(VTU, false, HEAD_VTU "<Piece NumberOfPoints=\"4\" NumberOfCells=\"-1\">",
                     "bad:3: NumberOfCells must be a whole number from 0 to");
  assert_solid_error(VTU, false, HEAD_VTU PIECE POINTS_VTU TAIL, "bad:3: this Piece lacks the array \"connectivity\"");
  assert_solid_error(VTU, false, HEAD_VTU PIECE POINTS_VTU POINTS_VTU, "bad:8: this array occurs twice");
  assert_solid_error(VTU, false, HEAD_VTU PIECE "<Points><DataArray type=\"Complex\" format=\"ascii\">",
                     "bad:4: unknown type of a DataArray: \"Complex\"");
  assert_solid_error(VTU, false, HEAD_VTU PIECE "<Points><DataArray type=\"Float32\" format=\"hex\">",
                     "the format of a DataArray is ascii, binary or appended, not \"hex\"");
  assert_solid_error(VTU, false, HEAD_VTU PIECE "<Points><DataArray type=\"Float32\" format=\"ascii\">0 0",
                     "bad:4: this DataArray does not end");
  assert_solid_error(VTU, false,
                     "<VTKFile type=\"UnstructuredGrid\" byte_order=\"BigEndian\">" PIECE
                     "<Points><DataArray type=\"Float32\" format=\"binary\"></DataArray>",
                     "BigEndian cannot be read");
  assert_solid_error(VTU, false, HEAD_VTU PIECE POINTS_VTU CELLS("0 1 2 4", "4", "10") TAIL,
                     "bad:8: there are points 0 to 3, but number 3 of the connectivity names point 4");
  assert_solid_error(VTU, false, HEAD_VTU PIECE POINTS_VTU CELLS("0 1 2 -1", "4", "10") TAIL, "names point -1");
  assert_solid_error(VTU, false, HEAD_VTU PIECE POINTS_VTU CELLS("0 1 2 3", "5", "10") TAIL,
                     "bad:8: this array must have 5 numbers, but has 4");
  assert_solid_error(VTU, false, HEAD_VTU PIECE POINTS_VTU CELLS("0 1 2 3", "4 4", "10") TAIL,
                     "bad:9: this array must have 1 numbers, but has 2");
  assert_solid_error(VTU, false, HEAD_VTU PIECE POINTS_VTU CELLS("0 1 2 3", "4", "10 10") TAIL,
                     "bad:10: this array must have 1 numbers, but has 2");
  assert_solid_error(VTU, false, HEAD_VTU PIECE POINTS_VTU CELLS("0 1 2 3", "4", "12") TAIL,
                     "bad:10: cell 0 is of type 12; only vertices, lines, polygons and linear tetrahedra");
  assert_solid_error(VTU, false, HEAD_VTU PIECE POINTS_VTU CELLS("0 1 2", "3", "10") TAIL, "bad:9: cell 0 of type 10 cannot have 3 points");
  assert_solid_error(VTU, false, HEAD_VTU PIECE POINTS_VTU CELLS("0 1 2 x", "4", "10") TAIL, "bad:8: not a whole number: \"x\"");
  assert_solid_error(VTU, false, HEAD_VTU PIECE POINTS_VTU CELLS("0 1 2 99999999999999999999", "4", "10") TAIL, "not a whole number");
  assert_solid_error(VTU, false,
                     HEAD_VTU "<Piece NumberOfPoints=\"4\" NumberOfCells=\"2\">" POINTS_VTU CELLS("0 1 2 3", "5 4", "10 10") TAIL,
                     "the offsets must not decrease; they do at cell 1");
  assert_solid_error(
      VTU, false,
      HEAD_VTU PIECE
      "<Points><DataArray type=\"Float64\" NumberOfComponents=\"3\" format=\"ascii\">0 0 0 1 0 inf</DataArray></Points>" CELLS("", "", ""),
      "bad:4: not a finite number below 1e30: \"inf\"");
  assert_solid_error(
      VTU, false,
      HEAD_VTU PIECE
      "<Points><DataArray type=\"Float64\" NumberOfComponents=\"2\" format=\"ascii\"> 0 0</DataArray></Points>" CELLS("0", "1", "1"),
      "NumberOfComponents=\"3\"");
  assert_solid_error(VTU, false, HEAD_VTU PIECE POINTS_VTU "<Cells>" DATA_ARRAY("Float32", "connectivity", "0 1 2 3") "</Cells>",
                     "this Piece lacks");
  assert_solid_error(VTU, false,
                     HEAD_VTU PIECE POINTS_VTU "<Cells>" DATA_ARRAY("Float32", "connectivity", "0 1 2 3") DATA_ARRAY("Int8", "offsets", "4")
                         DATA_ARRAY("Int8", "types", "10"),
                     "this array must contain whole numbers");
#define BINARY(text)                                                                                                                       \
  HEAD_VTU PIECE "<Points><DataArray type=\"Float32\" NumberOfComponents=\"3\" format=\"binary\">" text                                    \
                 "</DataArray></Points>" CELLS("0 1 2 3", "4", "10") TAIL
  assert_solid_error(VTU, false, BINARY("!!!!"), "bad:4: this array ends early, or is not base64");
  assert_solid_error(VTU, false, BINARY("////f////38="), "a count larger than the file: \"2147483647\"");
  assert_solid_error(VTU, false, BINARY("BQAAAAAAAAAA"), "not a multiple");
  assert_solid_error(VTU, false, BINARY("BAAAAAAAwH8="), "a number in this array is not finite");
  assert_solid_error(VTU, false, BINARY("CAAAAAAAwH8="), "this array ends early");
#undef BINARY
  /* blocks with fewer bytes than the header states, and damaged blocks */
  for (int form = VTU_ZLIB_INLINE; form <= VTU_ZLIB_RAW; ++form) {
    static const double x[12] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
    for (int damage = 0; damage < 2; ++damage) {
      test_file f = {0}, array = {0};
      put_array(&array, VTU_ZLIB_RAW, false, true, x, sizeof x);
      array.bytes[damage ? 20 : 8] ^= 1; /* in the block; the size of the last one, 96 */
      print(&f,
            "<VTKFile type=\"UnstructuredGrid\" compressor=\"vtkZLibDataCompressor\">" PIECE
            "<Points><DataArray type=\"Float64\" NumberOfComponents=\"3\" format=\"%s\" offset=\"0\">",
            form == VTU_ZLIB_RAW ? "appended" : "binary");
      if (form == VTU_ZLIB_INLINE) put_base64(&f, array.bytes, 16), put_base64(&f, array.bytes + 16, array.size - 16);
      print(&f, "</DataArray></Points>" CELLS("0 1 2 3", "4", "10") "</Piece>");
      if (form == VTU_ZLIB_RAW)
        print(&f, "<AppendedData encoding=\"raw\">_"), put(&f, array.bytes, array.size), print(&f, "</AppendedData>");
      assert_int_equal(mesh_parse_vtu("bad", f.size, f.bytes, false, NULL, &m), PETSC_ERR_USER_INPUT);
      if (!strstr(error_message(), "a compressed block of this array is damaged")) fail_msg("%s", error_message());
      error_clear();
      test_file_free(&f), test_file_free(&array);
    }
  }
  assert_solid_error(VTU, false, HEAD_VTU PIECE "<Points><DataArray type=\"Float32\" NumberOfComponents=\"3\" format=\"appended\"/>",
                     "bad:4: offset= is missing in element \"DataArray\"");
  assert_solid_error(
      VTU, false,
      HEAD_VTU PIECE
      "<Points><DataArray type=\"Float32\" NumberOfComponents=\"3\" format=\"appended\" offset=\"0\"/></Points>" CELLS("", "", "") TAIL,
      "beyond the AppendedData");
  assert_solid_error(VTU, false, HEAD_VTU "<AppendedData encoding=\"raw\">", "start with an underscore");
  assert_solid_error(VTU, false, HEAD_VTU "<AppendedData encoding=\"raw\">_ab", "AppendedData do not end");
  assert_solid_error(VTU, false, HEAD_VTU "<AppendedData encoding=\"gzip\">",
                     "the encoding of AppendedData is raw or base64, not \"gzip\"");
}

static void test_bad_tetgen(void **state)
{
  (void)state;
  static const char good_node[] = "4 3 0 0\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n", good_ele[] = "1 4 0\n1 1 2 3 4\n";
  static const struct {
    const char *node, *ele, *expected;
  } bad[]     = {{"", good_ele, "a.node:0: the file ends early: \"the number of points\""},
                 {"0 3 0 0\n", good_ele, "a.node:1: there are no points in this file"},
                 {"4 2 0 0\n", good_ele, "a.node:1: the dimension must be a whole number from 3 to 3, not \"2\""},
                 {"4 3 0 0\n1 0 0 0\n", good_ele, "a.node:2: the file ends early: \"a point\""},
                 {"1 3 0 0\n\n1 0 0 # 0\n", good_ele, "a.node:3: a vertex needs three coordinates"},
                 {"2 3 0 0\n1 0 0 0\n1 0 0 1\n", good_ele, "a.node: two points have the number 1"},
                 {"1 3 0 0\nx 0 0 0\n", good_ele, "a.node:2: the number of a point must be a whole number"},
                 {good_node, "", "a.ele:0: the file ends early: \"the number of cells\""},
                 {good_node, "1 10 0\n", "a.ele:1: tetrahedra with 10 nodes are not supported: run TetGen without -o2"},
                 {good_node, "1 5 0\n", "a.ele:1: a tetrahedron has four corners"},
                 {good_node, "1 4 0\n1 0 1 2 3\n", "a.ele:2: no such point: \"0\""},
                 {good_node, "1 4 0\n1 1 2 3\n", "a.ele:2: a corner is missing"},
                 {good_node, "2 4 0\n1 1 2 3 4\n", "a.ele:2: the file ends early: \"a tetrahedron\""},
                 {good_node, "0 4 0\n", "a.ele: no tetrahedra in this file"}};
  tet_mesh *m = NULL;
  assert_ok(mesh_parse_tetgen("a.node", sizeof good_node - 1, good_node, "a.ele", sizeof good_ele - 1, good_ele, false, NULL, &m));
  assert_close(m->volume[0], 1.0 / 6.0, 1e-16);
  tet_mesh_destroy(&m);
  for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
    assert_int_equal(
        mesh_parse_tetgen("a.node", strlen(bad[i].node), bad[i].node, "a.ele", strlen(bad[i].ele), bad[i].ele, false, NULL, &m),
        PETSC_ERR_USER_INPUT);
    if (!strstr(error_message(), bad[i].expected)) fail_msg("\"%s\" does not contain \"%s\"", error_message(), bad[i].expected);
    error_clear();
    assert_null(m);
    assert_no_leak();
  }
}

/* Valid files of every format with random changes, truncation and repetition: no crash, no leak, and no mesh with defects. */
static void test_fuzz_solids(void **state)
{
  (void)state;
  const double a[3] = {0}, b[3] = {1, 1, 2};
  test_file    source[N_KINDS] = {{0}}, node[N_KINDS] = {{0}}, face[N_KINDS] = {{0}};
  tet_mesh    *m          = NULL;
  int          n_accepted = 0;
  enum { N = 3000 };
  assert_ok(tet_mesh_box(a, b, 1.0, &m));
  for (int kind = 0; kind < N_KINDS; ++kind) write_kind(m, kind, &source[kind], &node[kind], &face[kind]);
  tet_mesh_destroy(&m);
  for (uint64_t i = 0; i < N; ++i) {
    const int      kind    = (int)(i % N_KINDS);
    test_file      f       = {0};
    triangle_mesh *surface = NULL;
    put(&f, source[kind].bytes, source[kind].size);
    for (uint64_t c = 0, n_changes = 1 + random_index(9, i, 0, 4); c < n_changes && f.size; ++c) {
      const size_t at = random_index(9, i, 3 * c + 1, f.size), r = random_index(9, i, 3 * c + 3, 256);
      switch (random_index(9, i, 3 * c + 2, 5)) {
      case 0: f.size = r < 32 ? at : f.size; break;
      case 1: f.bytes[at] = (char)r; break;
      case 2: f.bytes[at] ^= (char)(1 << r % 8); break;
      case 3: f.bytes[at] = "0-.e\"<>/ =\n$A9_"[r % 15]; break;
      default: memmove(f.bytes + at, f.bytes + at / 2, (f.size - at) / 4);
      }
    }
    f.bytes = realloc(f.bytes, f.size ? f.size : 1); /* exact size, so that a sanitizer detects reads beyond it */
    if (parse_kind(kind, &f, &node[kind], &face[kind], NULL, &m) == PETSC_SUCCESS) {
      ++n_accepted;
      assert_ok(tet_mesh_require("fuzz", m, false, NULL));
      tet_mesh_destroy(&m);
    } else assert_null(m);
    error_clear();
    if (kind != TETGEN && parse_kind(kind, &f, &node[kind], &face[kind], &surface, NULL) == PETSC_SUCCESS) {
      triangle_mesh_defects d;
      assert_ok(triangle_mesh_check(surface, &d));
      assert_int_equal(d.n_not_finite + d.n_bad_index, 0);
      triangle_mesh_destroy(&surface);
    }
    error_clear();
    assert_no_leak();
    test_file_free(&f);
  }
  for (int kind = 0; kind < N_KINDS; ++kind) test_file_free(&source[kind]), test_file_free(&node[kind]), test_file_free(&face[kind]);
  assert_true(n_accepted > N / 20 && n_accepted < N / 2); /* some damaged files are accepted, others are not */
}

TEST_MAIN(cmocka_unit_test(test_surface_files), cmocka_unit_test(test_lines), cmocka_unit_test(test_bad_surface_files),
          cmocka_unit_test(test_fuzz_surfaces), cmocka_unit_test(test_solid_round_trips), cmocka_unit_test(test_solid_files),
          cmocka_unit_test(test_bad_msh), cmocka_unit_test(test_bad_vtu), cmocka_unit_test(test_bad_tetgen),
          cmocka_unit_test(test_fuzz_solids))
