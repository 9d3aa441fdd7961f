/* Intersections of edges and triangles: against tests of all pairs, on surfaces with known results, and on any number of
 * threads. */
#include "test.h"
#include "geometry/collision/intersections.h"
#include "core/math3.h"
#include "core/random.h"
#include "core/team.h"
#include "geometry/primitive/segment_triangle.h"
#include "geometry/triangle_mesh/triangle_mesh_primitives.h"
#include "geometry/triangle_mesh/triangle_topology.h"
#include <string.h>

/* ---- a soup of triangles
 * ------------------------------------------------------------------------------------------------------ */

enum { N_BODIES = 4, N_TRIANGLES = 600, N_VERTICES = 900 };
typedef struct {
  broad_phase_surfaces s;
  int32_t              edge[6 * N_TRIANGLES], triangle[3 * N_TRIANGLES], body[N_VERTICES];
  bool                 can_touch[N_BODIES * N_BODIES];
  double               x[3 * N_VERTICES];
} soup;

/* Small triangles on a lattice, so that many touch. */
static void make_soup(soup *q)
{
  for (int i = 0; i < N_VERTICES; ++i) {
    q->body[i] = i * N_BODIES / N_VERTICES;
    for (int k = 0; k < 3; ++k)
      q->x[3 * i + k] =
          0.25 * ((double)random_index(5, (uint64_t)i / 12, (uint64_t)k, 12) + (double)random_index(6, (uint64_t)i, (uint64_t)k, 4));
  }
  for (int t = 0; t < N_TRIANGLES; ++t) { /* corners close to each other, of one body */
    const int first = (int)random_index(7, (uint64_t)t, 0, N_VERTICES / 12) * 12;
    for (int k = 0; k < 3; ++k)
      q->triangle[3 * t + k] =
          first + (int)((random_index(7, (uint64_t)t, 1, 12) + (uint64_t)k * (1 + random_index(7, (uint64_t)t, 2, 5))) % 12);
    for (int k = 0; k < 3; ++k)
      q->edge[6 * t + 2 * k] = q->triangle[3 * t + k], q->edge[6 * t + 2 * k + 1] = q->triangle[3 * t + (k + 1) % 3];
  }
  for (int i = 0; i < N_VERTICES; ++i) q->body[i] = q->body[i / 12 * 12];
  for (int i = 0; i < N_BODIES; ++i)
    for (int j = 0; j <= i; ++j) q->can_touch[i * N_BODIES + j] = q->can_touch[j * N_BODIES + i] = (i + 2 * j) % 5 != 1;
  q->s = (broad_phase_surfaces){.n_vertices  = N_VERTICES,
                                .n_edges     = 3 * N_TRIANGLES,
                                .n_triangles = N_TRIANGLES,
                                .edge        = q->edge,
                                .triangle    = q->triangle,
                                .n_bodies    = N_BODIES,
                                .body        = q->body,
                                .can_touch   = q->can_touch};
}

static segment_intersection ask(const soup *q, int e, int t)
{
  const int32_t *edge = q->edge + 2 * e, *c = q->triangle + 3 * t;
  const double  *x[3]   = {q->x + 3 * c[0], q->x + 3 * c[1], q->x + 3 * c[2]};
  int            shared = 0;
  if (!q->can_touch[q->body[edge[0]] * N_BODIES + q->body[c[0]]]) return SEGMENT_APART;
  for (int i = 0; i < 2; ++i)
    for (int k = 0; k < 3; ++k) shared += edge[i] == c[k];
  if (shared == 2) return SEGMENT_APART;
  for (int i = 0; i < 2 && shared == 1; ++i)
    for (int k = 0; k < 3; ++k)
      if (edge[i] == c[k]) return segment_intersects_adjacent_triangle(x[k], q->x + 3 * edge[1 - i], x[(k + 1) % 3], x[(k + 2) % 3]);
  return segment_intersects_triangle(q->x + 3 * edge[0], q->x + 3 * edge[1], x[0], x[1], x[2]);
}

static void test_every_pair(void **state)
{
  static soup         q;
  intersections      *f;
  const intersection *list;
  int64_t             bad, n, at = 0, seen[3] = {0}, shared = 0;
  (void)state;
  make_soup(&q);
  assert_ok(intersections_create(&q.s, &f));
  assert_ok(intersections_find(f, q.x, &bad, &n, &list));
  assert_int_equal(bad, -1);
  for (int e = 0; e < 3 * N_TRIANGLES; ++e)
    for (int t = 0; t < N_TRIANGLES; ++t) {
      const segment_intersection m = ask(&q, e, t);
      ++seen[m];
      if (m == SEGMENT_APART) continue;
      for (int k = 0; k < 3; ++k) shared += q.edge[2 * e] == q.triangle[3 * t + k] || q.edge[2 * e + 1] == q.triangle[3 * t + k];
      if (at >= n || list[at].edge != e || list[at].triangle != t || list[at].passes != (m == SEGMENT_CROSSES))
        fail_msg("edge %d and triangle %d are not found", e, t);
      ++at;
    }
  assert_int_equal(at, n);
  for (int k = 0; k < 3; ++k) assert_true(seen[k] > 100);
  assert_true(shared > 10);
  intersection *first = NULL;
  assert_ok(memory_alloc("test", n, sizeof *first, &first));
  memcpy(first, list, (size_t)n * sizeof *first);
  const int64_t n_first = n;
  for (int threads = 1; threads <= 7; threads += 3) {
    team_set_threads(threads);
    assert_ok(intersections_find(f, q.x, &bad, &n, &list));
    assert_int_equal(n, n_first);
    for (int64_t i = 0; i < n; ++i)
      assert_true(list[i].edge == first[i].edge && list[i].triangle == first[i].triangle && list[i].passes == first[i].passes);
  }
  team_set_threads(0);
  memory_free(&first);
  intersections_destroy(&f);
  intersections_destroy(&f);
  assert_no_leak();
}

/* ---- surfaces
 * --------------------------------------------------------------------------------------------------------------------- */

typedef struct {
  int64_t passing, touching;
} pair_counts;

/* Intersections of two meshes, in this order, each its own body; b NULL: of a with itself. */
static pair_counts count(const triangle_mesh *a, const triangle_mesh *b)
{
  const triangle_mesh *mesh[2]      = {a, b};
  const bool           can_touch[4] = {!b, b != NULL, b != NULL, false};
  const int64_t        n_parts = b ? 2 : 1, n_vertices = a->n_vertices + (b ? b->n_vertices : 0),
                n_triangles = a->n_triangles + (b ? b->n_triangles : 0);
  triangle_topology  *topology;
  intersections      *f;
  const intersection *list;
  int64_t             bad, n, at = 0, corner = 0;
  int32_t            *body, *tri;
  double             *x;
  pair_counts         out = {0};
  assert_ok(memory_alloc("test", n_vertices, sizeof *body, &body));
  assert_ok(memory_alloc("test", 3 * n_triangles, sizeof *tri, &tri));
  assert_ok(memory_alloc("test", 3 * n_vertices, sizeof *x, &x));
  for (int64_t k = 0; k < n_parts; ++k) {
    for (int64_t i = 0; i < 3 * mesh[k]->n_triangles; ++i) tri[corner++] = mesh[k]->tri[i] + (int32_t)at;
    for (int64_t i = 0; i < mesh[k]->n_vertices; ++i, ++at) body[at] = (int32_t)k, v3_copy(x + 3 * at, mesh[k]->x + 3 * i);
  }
  assert_ok(triangle_topology_create(n_vertices, n_triangles, tri, &topology));
  const broad_phase_surfaces s = {.n_vertices  = n_vertices,
                                  .n_edges     = topology->n_edges,
                                  .n_triangles = n_triangles,
                                  .edge        = topology->edge,
                                  .triangle    = tri,
                                  .n_bodies    = 2,
                                  .body        = body,
                                  .can_touch   = can_touch};
  assert_ok(intersections_create(&s, &f));
  assert_ok(intersections_find(f, x, &bad, &n, &list));
  for (int64_t i = 0; i < n; ++i) ++*(list[i].passes ? &out.passing : &out.touching);
  intersections_destroy(&f);
  triangle_topology_destroy(&topology);
  memory_free(&body);
  memory_free(&tri);
  memory_free(&x);
  return out;
}

static triangle_mesh *box(double x, double y, double z, double size, double spacing)
{
  const double   min[3] = {x, y, z}, max[3] = {x + size, y + size, z + size};
  triangle_mesh *m;
  assert_ok(triangle_mesh_box(min, max, spacing, &m));
  return m;
}

static pair_counts count_boxes(double x, double y, double z, double size)
{
  triangle_mesh    *a = box(0, 0, 0, 1, 0.25), *b = box(x, y, z, size, 0.25 * size);
  const pair_counts one = count(a, b), two = count(b, a);
  assert_int_equal(one.passing, two.passing); /* independent of the order */
  assert_int_equal(one.touching, two.touching);
  triangle_mesh_destroy(&a);
  triangle_mesh_destroy(&b);
  return one;
}

static void assert_counts(pair_counts t, bool passes, bool touches)
{
  if ((t.passing > 0) != passes || (t.touching > 0) != touches)
    fail_msg("%lld pass, %lld touch", (long long)t.passing, (long long)t.touching);
}

static void test_boxes(void **state)
{
  (void)state;
  assert_counts(count_boxes(2, 0, 0, 1), false, false);
  assert_counts(count_boxes(1, 0.1, 0.1, 0.5), true, true); /* face on face: edges of one cross the rim of the other's sides */
  assert_counts(count_boxes(nextafter(1.0, 2.0), 0.1, 0.1, 0.5), false, false); /* separated by one unit in the last place */
  assert_counts(count_boxes(1, 1, 1, 1), false, true);                          /* corner on corner */
  assert_counts(count_boxes(0.25, 0.25, 0.25, 0.5), false, false);              /* inside: the surfaces do not intersect */
  assert_counts(count_boxes(0.93, 0.31, 0.47, 0.3), true, false);               /* half inside */
  const pair_counts sliver = count_boxes(nextafter(1.0, 0.0), 0.13, 0.17, 0.5); /* overlap by one unit in the last place */
  assert_true(sliver.passing > 0);
  triangle_mesh *a = box(0, 0, 0, 1, 0.25);
  assert_counts(count(a, NULL), false, false); /* coplanar triangles of a face do not intersect */
  for (int64_t i = 0; i < a->n_vertices; ++i)
    if (a->x[3 * i] == 0.5 && a->x[3 * i + 1] == 0.5 && a->x[3 * i + 2] == 0.0) a->x[3 * i + 2] = 1.25;
  assert_true(count(a, NULL).passing > 0); /* its bottom moved through its top */
  triangle_mesh_destroy(&a);
  assert_no_leak();
}

/* A strip of two triangles: flat, folded to a right angle, and folded flat onto itself, which is detected by an edge from a shared
 * corner. */
static void test_fold(void **state)
{
  static int32_t tri[6] = {0, 1, 2, 1, 0, 3};
  static double  x[12]  = {0, 0, 0, 1, 0, 0, 0.5, 1, 0, 0.5, -1, 0};
  triangle_mesh  strip  = {.n_vertices = 4, .n_triangles = 2, .x = x, .tri = tri};
  (void)state;
  assert_counts(count(&strip, NULL), false, false);
  x[10] = 0.0, x[11] = 1.0;
  assert_counts(count(&strip, NULL), false, false);
  x[10] = 0.75, x[11] = 0.0;
  assert_counts(count(&strip, NULL), false, true);
  x[11] = 0x1p-1000;
  assert_counts(count(&strip, NULL), false, false);
  assert_no_leak();
}

/* ---- invalid input
 * ------------------------------------------------------------------------------------------------------------- */

static void test_bad(void **state)
{
  static soup         q;
  intersections      *f;
  const intersection *list;
  int64_t             bad, n;
  (void)state;
  make_soup(&q);
  assert_ok(intersections_create(&q.s, &f));
  q.x[3 * 17 + 1] = NAN;
  assert_ok(intersections_find(f, q.x, &bad, &n, &list));
  assert_int_equal(bad, 17);
  assert_int_equal(n, 0);
  intersections_destroy(&f);
  q.triangle[5] = N_VERTICES;
  assert_int_equal(intersections_create(&q.s, &f), PETSC_ERR_ARG_OUTOFRANGE);
  assert_null(f);
  error_clear();
  q.s.n_triangles = q.s.n_edges = 0;
  assert_ok(intersections_create(&q.s, &f));
  assert_ok(intersections_find(f, q.x, &bad, &n, &list));
  assert_int_equal(n, 0);
  intersections_destroy(&f);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_every_pair), cmocka_unit_test(test_boxes), cmocka_unit_test(test_fold), cmocka_unit_test(test_bad))
