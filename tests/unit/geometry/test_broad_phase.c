/* The broad phase against double loops over all pairs, on any number of threads, over many steps. */
#include "test.h"
#include "geometry/collision/broad_phase.h"
#include "core/random.h"
#include "core/team.h"
#include <string.h>

/* Sheets of m x m quadrilaterals, one body each; every triangle edge is listed once. */
enum { M = 10, SHEETS = 3, V = (M + 1) * (M + 1), T = 2 * M * M, E = 3 * M * M + 2 * M };

typedef struct {
  int32_t triangle[3 * T * SHEETS], edge[2 * E * SHEETS], body[V * SHEETS];
  double  x0[3 * V * SHEETS], x1[3 * V * SHEETS];
  bool    can_touch[SHEETS * SHEETS];
} scene;

static void scene_topology(scene *s)
{
  int64_t t = 0, e = 0;
  for (int sheet = 0; sheet < SHEETS; ++sheet)
    for (int i = 0; i <= M; ++i)
      for (int j = 0; j <= M; ++j) {
        const int32_t v = sheet * V + i * (M + 1) + j, right = v + M + 1, up = v + 1;
        s->body[v] = sheet;
        if (i < M) s->edge[2 * e] = v, s->edge[2 * e++ + 1] = right;
        if (j < M) s->edge[2 * e] = v, s->edge[2 * e++ + 1] = up;
        if (i == M || j == M) continue;
        s->edge[2 * e] = v, s->edge[2 * e++ + 1] = right + 1;
        memcpy(&s->triangle[3 * t++], (int32_t[]){v, right, right + 1}, 3 * sizeof(int32_t));
        memcpy(&s->triangle[3 * t++], (int32_t[]){v, right + 1, up}, 3 * sizeof(int32_t));
      }
  assert_int_equal(t, T * SHEETS);
  assert_int_equal(e, E * SHEETS);
}

/* Randomly deformed sheets that approach each other with increasing `step` and move with `speed`. */
static void scene_positions(scene *s, int step, double speed)
{
  for (int64_t v = 0; v < V * SHEETS; ++v) {
    const int64_t in = v % V, i = in / (M + 1), j = in % (M + 1);
    const double  x[3] = {(double)i / M, (double)j / M, 0.1 * (double)(v / V) / (1.0 + step)};
    for (int k = 0; k < 3; ++k) {
      s->x0[3 * v + k] = x[k] + (0.03 + 0.05 * step) * random_range(3, (uint64_t)(3 * v + k), (uint64_t)step, -1.0, 1.0);
      s->x1[3 * v + k] = s->x0[3 * v + k] + speed * random_range(4, (uint64_t)(3 * v + k), (uint64_t)step, -1.0, 1.0);
    }
  }
}

static bool boxes_overlap(const scene *s, const int32_t *p, int np, const int32_t *q, int nq, double margin)
{
  for (int k = 0; k < 3; ++k) {
    double lo[2] = {INFINITY, INFINITY}, hi[2] = {-INFINITY, -INFINITY};
    for (int i = 0; i < np + nq; ++i) {
      const int     side = i >= np;
      const int32_t v    = side ? q[i - np] : p[i];
      lo[side]           = fmin(lo[side], fmin(s->x0[3 * v + k], s->x1[3 * v + k]));
      hi[side]           = fmax(hi[side], fmax(s->x0[3 * v + k], s->x1[3 * v + k]));
    }
    if (lo[0] - hi[1] > margin || lo[1] - hi[0] > margin) return false;
  }
  for (int i = 0; i < np; ++i)
    for (int j = 0; j < nq; ++j)
      if (p[i] == q[j]) return false;
  return s->can_touch[s->body[p[0]] * SHEETS + s->body[q[0]]];
}

/* The pairs are exactly those of the double loop, in the same order. */
static void assert_all_pairs(const scene *s, bool is_edges, double margin, int64_t n, const broad_phase_pair *pair)
{
  const int32_t n_first = is_edges ? E * SHEETS : V * SHEETS, n_second = is_edges ? E * SHEETS : T * SHEETS;
  int64_t       at = 0;
  for (int32_t i = 0; i < n_first; ++i)
    for (int32_t j = is_edges ? i + 1 : 0; j < n_second; ++j) {
      const int32_t *q = is_edges ? &s->edge[2 * j] : &s->triangle[3 * j];
      if (!boxes_overlap(s, is_edges ? &s->edge[2 * i] : &i, is_edges ? 2 : 1, q, is_edges ? 2 : 3, margin)) continue;
      if (at >= n || pair[at].first != i || pair[at].second != j) fail_msg("pair (%d, %d) is missing at %lld", i, j, (long long)at);
      ++at;
    }
  assert_int_equal(at, n);
}

static broad_phase_surfaces surfaces_of(const scene *s, bool has_bodies)
{
  return (broad_phase_surfaces){.n_vertices  = V * SHEETS,
                                .n_points    = V * SHEETS,
                                .n_edges     = E * SHEETS,
                                .n_triangles = T * SHEETS,
                                .edge        = s->edge,
                                .triangle    = s->triangle,
                                .n_bodies    = has_bodies ? SHEETS : 0,
                                .body        = has_bodies ? s->body : NULL,
                                .can_touch   = has_bodies ? s->can_touch : NULL};
}

static scene S;

static void equals_double_loop(void **unused)
{
  (void)unused;
  static const bool       all[SHEETS * SHEETS] = {1, 1, 1, 1, 1, 1, 1, 1, 1}, some[SHEETS * SHEETS] = {0, 1, 0, 1, 1, 1, 0, 1, 0};
  broad_phase            *b;
  int64_t                 n, bad, most = 0;
  const broad_phase_pair *pair;
  scene_topology(&S);
  for (int has_bodies = 0; has_bodies < 2; ++has_bodies) {
    memcpy(S.can_touch, has_bodies ? some : all, sizeof S.can_touch);
    const broad_phase_surfaces surfaces = surfaces_of(&S, has_bodies);
    assert_ok(broad_phase_create(&surfaces, &b));
    assert_ok(broad_phase_edge_edge(b, &n, &pair)); /* no pairs before the first update */
    assert_int_equal(n, 0);
    for (int step = 0; step < 4; ++step) {
      const double margin = step % 2 ? 0.01 : 0.0;
      scene_positions(&S, step == 3 ? 0 : step, 0.02 * step);
      assert_ok(broad_phase_update(b, S.x0, S.x1, margin, &bad));
      assert_int_equal(bad, -1);
      assert_ok(broad_phase_point_triangle(b, &n, &pair));
      assert_all_pairs(&S, false, margin, n, pair);
      assert_ok(broad_phase_edge_edge(b, &n, &pair));
      assert_all_pairs(&S, true, margin, n, pair);
      for (int64_t i = 0, run = 0; i < n; ++i) run = i && pair[i].first == pair[i - 1].first ? run + 1 : 1, most = run > most ? run : most;
    }
    assert_true(broad_phase_rebuilds(b) > 2); /* the deformation made the trees loose */
    broad_phase_destroy(&b);
  }
  assert_true(most > 16); /* more than the slots of the first traversal */
  assert_no_leak();
}

/* The pairs do not depend on the number of threads or on the age of the tree. */
static void same_on_any_threads_and_age(void **unused)
{
  (void)unused;
  const broad_phase_surfaces surfaces = surfaces_of(&S, false);
  broad_phase               *old, *fresh;
  broad_phase_pair          *kept = NULL;
  const broad_phase_pair    *pair;
  int64_t                    n, n_kept = 0, bad;
  scene_topology(&S);
  scene_positions(&S, 2, 0.3);
  assert_ok(broad_phase_create(&surfaces, &old));
  assert_ok(broad_phase_update(old, S.x0, S.x1, 0.0, &bad));
  scene_positions(&S, 0, 0.01); /* closer together: the old order is kept */
  assert_ok(broad_phase_update(old, S.x0, S.x1, 0.0, &bad));
  assert_int_equal(broad_phase_rebuilds(old), 2);
  for (int threads = 0; threads < 4; ++threads) {
    team_set_threads((int[]){1, 2, 3, 7}[threads]);
    assert_ok(broad_phase_create(&surfaces, &fresh));
    assert_ok(broad_phase_update(fresh, S.x0, S.x1, 0.0, &bad));
    for (int age = 0; age < 2; ++age) {
      assert_ok(broad_phase_edge_edge(age ? old : fresh, &n, &pair));
      assert_true(n > 500);
      if (!kept) {
        assert_ok(memory_alloc("test", n, sizeof *kept, &kept));
        memcpy(kept, pair, (size_t)n * sizeof *kept), n_kept = n;
      }
      assert_int_equal(n, n_kept);
      assert_memory_equal(pair, kept, (size_t)n * sizeof *pair);
    }
    broad_phase_destroy(&fresh);
  }
  team_set_threads(0);
  memory_free(&kept);
  broad_phase_destroy(&old);
  assert_no_leak();
}

/* A tree is sorted again after its boxes have been scattered, but not after a rigid motion. */
static void sorts_anew_when_loose(void **unused)
{
  (void)unused;
  const broad_phase_surfaces surfaces = surfaces_of(&S, false);
  broad_phase               *b;
  int64_t                    bad;
  scene_topology(&S);
  scene_positions(&S, 0, 0.0);
  assert_ok(broad_phase_create(&surfaces, &b));
  for (int step = 0; step < 5; ++step) {
    for (int64_t i = 0; i < 3 * V * SHEETS; ++i) S.x0[i] += 0.5, S.x1[i] += 0.5; /* as a whole */
    assert_ok(broad_phase_update(b, S.x0, S.x1, 0.0, &bad));
    assert_int_equal(broad_phase_rebuilds(b), 2);
  }
  for (int64_t v = 0; v < V * SHEETS; ++v) S.x0[3 * v] = S.x1[3 * v] = (double)(v * 389 % (V * SHEETS));
  assert_ok(broad_phase_update(b, S.x0, S.x1, 0.0, &bad));
  assert_int_equal(broad_phase_rebuilds(b), 4);
  broad_phase_destroy(&b);
  assert_no_leak();
}

static void bad_input(void **unused)
{
  (void)unused;
  broad_phase            *b = NULL;
  const broad_phase_pair *pair;
  int64_t                 bad, n, before;
  scene_topology(&S);
  scene_positions(&S, 1, 0.1);
  memset(S.can_touch, 1, sizeof S.can_touch);
  broad_phase_surfaces surfaces = surfaces_of(&S, true);
  assert_ok(broad_phase_create(&surfaces, &b));
  assert_ok(broad_phase_update(b, S.x0, S.x1, 0.0, &bad));
  assert_ok(broad_phase_point_triangle(b, &before, &pair));
  S.x1[3 * 17 + 2] = NAN, S.x0[3 * 20] = INFINITY;
  assert_ok(broad_phase_update(b, S.x0, S.x1, 0.0, &bad));
  assert_int_equal(bad, 17);
  assert_ok(broad_phase_point_triangle(b, &n, &pair));
  assert_int_equal(n, before);
  assert_int_equal(broad_phase_update(b, S.x0, S.x1, -1.0, &bad), PETSC_ERR_ARG_OUTOFRANGE);
  error_clear();
  broad_phase_destroy(&b);
  S.edge[5] = V * SHEETS;
  assert_int_equal(broad_phase_create(&surfaces, &b), PETSC_ERR_ARG_OUTOFRANGE);
  assert_non_null(strstr(error_message(), "edge 2 has vertex"));
  error_clear();
  scene_topology(&S);
  S.body[3] = 1;
  assert_int_equal(broad_phase_create(&surfaces, &b), PETSC_ERR_ARG_OUTOFRANGE);
  assert_non_null(strstr(error_message(), "vertices of different bodies"));
  error_clear();
  assert_null(b);
  surfaces = (broad_phase_surfaces){0}; /* no primitives */
  assert_ok(broad_phase_create(&surfaces, &b));
  assert_ok(broad_phase_update(b, S.x0, S.x1, 0.0, &bad));
  assert_ok(broad_phase_point_triangle(b, &n, &pair));
  assert_int_equal(n, 0);
  broad_phase_destroy(&b);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(equals_double_loop), cmocka_unit_test(same_on_any_threads_and_age), cmocka_unit_test(sorts_anew_when_loose),
          cmocka_unit_test(bad_input))
