/* Mesh files as other programs write them, from a mesh in memory: texts with 17 digits, so that reading gives the same bits. */
#ifndef SS_TESTS_MESH_WRITERS_H
#define SS_TESTS_MESH_WRITERS_H
#include "geometry/tet_mesh/tet_mesh.h"
#include "test.h"
#include <string.h>
#include <zlib.h>

typedef struct {
  size_t size, room;
  char  *bytes;
} test_file;

static void put(test_file *f, const void *bytes, size_t n)
{
  if (f->size + n > f->room) {
    f->room  = 2 * (f->size + n) + 1024;
    f->bytes = realloc(f->bytes, f->room);
    assert_non_null(f->bytes);
  }
  if (n) memcpy(f->bytes + f->size, bytes, n);
  f->size += n;
}
__attribute__((format(printf, 2, 3))) static void print(test_file *f, const char *format, ...)
{
  char    line[1000];
  va_list list;
  va_start(list, format);
  const int n = vsnprintf(line, sizeof line, format, list);
  va_end(list);
  assert_true(n >= 0 && n < (int)sizeof line);
  put(f, line, (size_t)n);
}
static inline void put_int(test_file *f, int32_t i) { put(f, &i, sizeof i); } /* this machine is little-endian, like the files */
static inline void put_size(test_file *f, uint64_t i) { put(f, &i, sizeof i); }
static inline void test_file_free(test_file *f) { free(f->bytes), *f = (test_file){0}; }

/* Node i is called 3 i + 5, and element t 2 t + 11: names are not indices. With the surface's triangles, called from 1000000. */
static inline int64_t node_name(int64_t i) { return 3 * i + 5; }
static inline int64_t tet_name(int64_t t) { return 2 * t + 11; }

static inline void write_msh_2(const tet_mesh *m, bool is_binary, test_file *f)
{
  const triangle_mesh *s = m->surface;
  print(f, "$MeshFormat\n2.2 %d 8\n", is_binary);
  if (is_binary) put_int(f, 1), print(f, "\n");
  print(f, "$EndMeshFormat\n$PhysicalNames\n1\n3 1 \"body\"\n$EndPhysicalNames\n$Nodes\n%lld\n", (long long)m->n_vertices);
  for (int64_t i = 0; i < m->n_vertices; ++i) {
    const double *x = &m->x[3 * i];
    if (is_binary) put_int(f, (int32_t)node_name(i)), put(f, x, 3 * sizeof *x);
    else print(f, "%lld %.17g %.17g %.17g\n", (long long)node_name(i), x[0], x[1], x[2]);
  }
  print(f, "%s$EndNodes\n$Elements\n%lld\n", is_binary ? "\n" : "", (long long)(s->n_triangles + m->n_tets));
  if (is_binary) put_int(f, 2), put_int(f, (int32_t)s->n_triangles), put_int(f, 2);
  for (int64_t t = 0; t < s->n_triangles; ++t) {
    if (is_binary) put_int(f, (int32_t)(1000000 + t)), put_int(f, 7), put_int(f, 8);
    else print(f, "%lld 2 2 7 8", (long long)(1000000 + t));
    for (int k = 0; k < 3; ++k) {
      const int64_t name = node_name(m->surface_vertex[s->tri[3 * t + k]]);
      if (is_binary) put_int(f, (int32_t)name);
      else print(f, " %lld", (long long)name);
    }
    if (!is_binary) print(f, "\n");
  }
  for (int64_t t = 0; t < m->n_tets; ++t) { /* Gmsh, too, writes runs of one */
    if (is_binary)
      put_int(f, 4), put_int(f, 1), put_int(f, 3), put_int(f, (int32_t)tet_name(t)), put_int(f, 1), put_int(f, 1), put_int(f, -2);
    else print(f, "%lld 4 3 1 1 -2", (long long)tet_name(t));
    for (int k = 0; k < 4; ++k) {
      const int64_t name = node_name(m->tet[4 * t + k]);
      if (is_binary) put_int(f, (int32_t)name);
      else print(f, " %lld", (long long)name);
    }
    if (!is_binary) print(f, "\n");
  }
  print(f, "%s$EndElements\n", is_binary ? "\n" : "");
}

/* Numbers of a header line: ints, then sizes. */
static inline void msh_4_header(test_file *f, bool is_binary, int n_int, int n_size, const int64_t *v)
{
  for (int i = 0; i < n_int + n_size; ++i) {
    if (!is_binary) print(f, "%lld ", (long long)v[i]);
    else if (i < n_int) put_int(f, (int32_t)v[i]);
    else put_size(f, (uint64_t)v[i]);
  }
  if (!is_binary) print(f, "\n");
}

/* Two blocks of nodes, the first with a parameter behind each; between the sections some that do not matter. */
static inline void write_msh_4(const tet_mesh *m, bool is_binary, test_file *f)
{
  const triangle_mesh *s = m->surface;
  const int64_t        n = m->n_vertices, half = n / 2;
  const double         param = 0.25;
  print(f, "$MeshFormat\n4.1 %d 8\n", is_binary);
  if (is_binary) put_int(f, 1), print(f, "\n");
  print(f, "$EndMeshFormat\n$Entities\n");
  if (is_binary) put(f, "\0\n$EndEntit\n\xff\n", 14);
  else print(f, "0 0 0 1\n1 0 0 0 1 1 1 0 0\n");
  print(f, "$EndEntities\n$Nodes\n");
  msh_4_header(f, is_binary, 0, 4, (int64_t[]){2, n, node_name(0), node_name(n - 1)});
  for (int block = 0; block < 2; ++block) {
    const int64_t from = block ? half : 0, to = block ? n : half;
    msh_4_header(f, is_binary, 3, 1, (int64_t[]){1 + 2 * block, block ? 1 : -4, !block, to - from});
    for (int64_t i = from; i < to; ++i) msh_4_header(f, is_binary, 0, 1, (int64_t[]){node_name(i)});
    for (int64_t i = from; i < to; ++i) {
      const double *x = &m->x[3 * i];
      if (is_binary) put(f, x, 3 * sizeof *x);
      else print(f, "%.17g %.17g %.17g%s\n", x[0], x[1], x[2], block ? "" : " 0.25");
      if (is_binary && !block) put(f, &param, sizeof param);
    }
  }
  print(f, "%s$EndNodes\n$Elements\n", is_binary ? "\n" : "");
  msh_4_header(f, is_binary, 0, 4, (int64_t[]){2, s->n_triangles + m->n_tets, 1, 2000000});
  msh_4_header(f, is_binary, 3, 1, (int64_t[]){2, 7, 2, s->n_triangles});
  for (int64_t t = 0; t < s->n_triangles; ++t) {
    int64_t v[4] = {1000000 + t};
    for (int k = 0; k < 3; ++k) v[1 + k] = node_name(m->surface_vertex[s->tri[3 * t + k]]);
    msh_4_header(f, is_binary, 0, 4, v);
  }
  msh_4_header(f, is_binary, 3, 1, (int64_t[]){3, 1, 4, m->n_tets});
  for (int64_t t = 0; t < m->n_tets; ++t) {
    int64_t v[5] = {tet_name(t)};
    for (int k = 0; k < 4; ++k) v[1 + k] = node_name(m->tet[4 * t + k]);
    msh_4_header(f, is_binary, 0, 5, v);
  }
  print(f, "%s$EndElements\n$Periodic\n0\n$EndPeriodic\n", is_binary ? "\n" : "");
}

/* `first`: the number of the first point, 0 or 1, as TetGen can do both. */
static inline void write_tetgen(const tet_mesh *m, int first, test_file *node, test_file *ele, test_file *face)
{
  print(node, "# points\n%lld  3  1  1\n", (long long)m->n_vertices);
  for (int64_t i = 0; i < m->n_vertices; ++i)
    print(node, "%8lld  %.17g  %.17g  %.17g  0.5  -1%s\n", (long long)(i + first), m->x[3 * i], m->x[3 * i + 1], m->x[3 * i + 2],
          i % 7 ? "" : " # remark");
  print(ele, "%lld  4  0\n", (long long)m->n_tets);
  for (int64_t t = 0; t < m->n_tets; ++t) {
    const int32_t *v = &m->tet[4 * t];
    print(ele, "%lld  %d %d %d %d\n", (long long)(t + first), v[0] + first, v[1] + first, v[2] + first, v[3] + first);
  }
  print(ele, "# Generated by hand\n");
  print(face, "%lld  1\n", (long long)m->surface->n_triangles);
  for (int64_t t = 0; t < m->surface->n_triangles; ++t) {
    print(face, "%lld ", (long long)(t + first));
    for (int k = 0; k < 3; ++k) print(face, " %d", m->surface_vertex[m->surface->tri[3 * t + k]] + first);
    print(face, " 1\n");
  }
}

/* ---- .vtu ---- */

typedef enum { VTU_ASCII, VTU_INLINE, VTU_APPENDED_RAW, VTU_APPENDED_BASE64, VTU_ZLIB_INLINE, VTU_ZLIB_RAW, N_VTU_FORMS } vtu_form;

static inline void put_base64(test_file *f, const void *bytes, size_t n)
{
  static const char    letter[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const unsigned char *p        = bytes;
  for (size_t i = 0; i < n; i += 3) {
    const unsigned v    = (unsigned)p[i] << 16 | (i + 1 < n ? (unsigned)p[i + 1] << 8 : 0) | (i + 2 < n ? (unsigned)p[i + 2] : 0);
    const char     q[4] = {letter[v >> 18], letter[v >> 12 & 63], i + 1 < n ? letter[v >> 6 & 63] : '=', i + 2 < n ? letter[v & 63] : '='};
    put(f, q, 4);
  }
}
static inline void put_count(test_file *f, bool is_wide, uint64_t i)
{
  if (is_wide) put_size(f, i);
  else put_int(f, (int32_t)i);
}

/* The bytes of an array with their header; in base64, header and data apart if `is_split`. Blocks of 1000 bytes are compressed. */
static inline void put_array(test_file *f, vtu_form form, bool is_wide, bool is_split, const void *data, size_t n)
{
  const bool is_base64 = form == VTU_INLINE || form == VTU_APPENDED_BASE64 || form == VTU_ZLIB_INLINE;
  test_file  header = {0}, body = {0};
  if (form == VTU_ZLIB_INLINE || form == VTU_ZLIB_RAW) {
    const size_t n_blocks = (n + 999) / 1000;
    put_count(&header, is_wide, n_blocks), put_count(&header, is_wide, 1000), put_count(&header, is_wide, n % 1000);
    for (size_t b = 0; b < n_blocks; ++b) {
      unsigned char packed[2000];
      uLongf        length = sizeof packed;
      assert_int_equal(
          compress(packed, &length, (const unsigned char *)data + 1000 * b, b + 1 < n_blocks || n % 1000 == 0 ? 1000 : n % 1000), Z_OK);
      put_count(&header, is_wide, length);
      put(&body, packed, length);
    }
    is_split = true;
  } else {
    put_count(&header, is_wide, n);
    put(&body, data, n);
  }
  if (!is_split) put(&header, body.bytes, body.size), body.size = 0;
  if (is_base64) put_base64(f, header.bytes, header.size), put_base64(f, body.bytes, body.size);
  else put(f, header.bytes, header.size), put(f, body.bytes, body.size);
  test_file_free(&header);
  test_file_free(&body);
}

/* Tetrahedra and the surface's triangles, a line and a vertex before them. Offsets are 32 bits wide and types 8, as VTK has
 * them. */
static inline void write_vtu(const tet_mesh *m, vtu_form form, bool is_wide, bool is_split, test_file *f)
{
  const triangle_mesh *s     = m->surface;
  const int64_t        cells = 2 + s->n_triangles + m->n_tets, corners = 3 + 3 * s->n_triangles + 4 * m->n_tets;
  int64_t             *connectivity = malloc((size_t)corners * sizeof *connectivity), k = 0, c = 0;
  int32_t             *offsets  = malloc((size_t)cells * sizeof *offsets);
  uint8_t             *types    = malloc((size_t)cells);
  test_file            appended = {0};
  assert_true(connectivity && offsets && types);
  connectivity[k++] = 0, connectivity[k++] = 1, offsets[c] = (int32_t)k, types[c++] = 3;
  connectivity[k++] = 1, offsets[c] = (int32_t)k, types[c++] = 1;
  for (int64_t t = 0; t < m->n_tets; ++t) {
    for (int q = 0; q < 4; ++q) connectivity[k++] = m->tet[4 * t + q];
    offsets[c] = (int32_t)k, types[c++] = 10;
  }
  for (int64_t t = 0; t < s->n_triangles; ++t) {
    for (int q = 0; q < 3; ++q) connectivity[k++] = m->surface_vertex[s->tri[3 * t + q]];
    offsets[c] = (int32_t)k, types[c++] = 5;
  }
  const struct {
    const char *attributes;
    const void *data;
    size_t      size, n;
  } array[4]             = {{"type=\"Float64\" NumberOfComponents=\"3\" Name=\"Points\"", m->x, 8, 3 * (size_t)m->n_vertices},
                            {"type=\"Int64\" Name=\"connectivity\"", connectivity, 8, (size_t)corners},
                            {"type=\"Int32\" Name='offsets'", offsets, 4, (size_t)cells},
                            {"type=\"UInt8\" Name=\"types\"", types, 1, (size_t)cells}};
  const bool is_appended = form == VTU_APPENDED_RAW || form == VTU_APPENDED_BASE64 || form == VTU_ZLIB_RAW;
  print(f,
        "<?xml version=\"1.0\"?>\n<!-- > a comment < -->\n<VTKFile type=\"UnstructuredGrid\" version=\"1.0\" "
        "byte_order=\"LittleEndian\"%s%s>\n <UnstructuredGrid>\n",
        is_wide ? " header_type=\"UInt64\"" : "",
        form == VTU_ZLIB_INLINE || form == VTU_ZLIB_RAW ? " compressor=\"vtkZLibDataCompressor\"" : "");
  print(f, "  <FieldData>\n   <DataArray type=\"String\" Name=\"types\" format=\"ascii\"> 1 2 3 </DataArray>\n  </FieldData>\n");
  print(f,
        "  <Piece NumberOfPoints=\"%lld\" NumberOfCells=\"%lld\">\n   <PointData><DataArray type=\"Float32\" format=\"ascii\"> nan "
        "</DataArray></PointData>\n",
        (long long)m->n_vertices, (long long)cells);
  for (int a = 0; a < 4; ++a) {
    if (a < 2) print(f, "   <%s>\n", a ? "Cells" : "Points");
    if (is_appended) {
      print(f, "    <DataArray %s format=\"appended\" offset=\"%zu\"/>\n", array[a].attributes, appended.size);
      put_array(&appended, form, is_wide, is_split, array[a].data, array[a].n * array[a].size);
    } else {
      print(f, "    <DataArray %s format=\"%s\">\n", array[a].attributes, form == VTU_ASCII ? "ascii" : "binary");
      for (size_t i = 0; form == VTU_ASCII && i < array[a].n; ++i) {
        if (a == 0) print(f, "%.17g%c", m->x[i], i % 3 == 2 ? '\n' : ' ');
        else
          print(f, "%lld%c",
                a == 1   ? (long long)connectivity[i]
                : a == 2 ? (long long)offsets[i]
                         : (long long)types[i],
                i % 12 == 11 ? '\n' : ' ');
      }
      if (form != VTU_ASCII) put_array(f, form, is_wide, is_split, array[a].data, array[a].n * array[a].size);
      print(f, "\n    </DataArray>\n");
    }
    if (a == 0 || a == 3) print(f, "   </%s>\n", a ? "Cells" : "Points");
  }
  print(f, "  </Piece>\n </UnstructuredGrid>\n");
  if (is_appended) {
    print(f, " <AppendedData encoding=\"%s\">\n  _", form == VTU_APPENDED_BASE64 ? "base64" : "raw");
    put(f, appended.bytes, appended.size);
    print(f, "\n </AppendedData>\n");
  }
  print(f, "</VTKFile>\n");
  test_file_free(&appended);
  free(connectivity);
  free(offsets);
  free(types);
}
#endif
