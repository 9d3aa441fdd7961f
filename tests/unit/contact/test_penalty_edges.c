/* Contacts between edges: a corrugated sheet on another one, rotated by a right angle, so that ridges cross. The tangent against
 * finite differences, its adjoint, diagonal and matrix; momentum; threads; stored attachments. */
#include "test.h"
#include "contact_bodies.h"
#include "contact/penalty/penalty_edges.h"
#include "contact/penalty/penalty_mesh.h"
#include "contact/penalty/penalty_pairs.h"
#include "core/field_table.h"
#include "core/random.h"
#include "core/team.h"
#include <string.h>

static const double DT = 1e-3;

/* A mock body whose points are the nodes of a surface, which deforms or is rigid. */
typedef struct {
  mock_body    points; /* first: a pointer to one is a pointer to the other */
  body_ops     ops;
  body_surface surface;
  int32_t     *triangle;
  double      *own; /* of a rigid one: in its frame */
} sheet;

static void sheet_surface(const body *b, body_surface *out) { *out = ((const sheet *)b)->surface; }

static bool has_swapped_nodes;

/* m x m quads over the unit square, turned a bit about the vertical; ridges of height 0.5 / m along one axis, at `z`, up or down. */
static void sheet_create(sheet *s, int m, bool is_low, bool is_rigid, double z)
{
  const int64_t n = (int64_t)(m + 1) * (m + 1);
  mock_create(&s->points, is_low ? "low" : "high", is_rigid, n, 1, is_rigid ? 2 : n);
  s->ops             = *s->points.base.ops;
  s->ops.surface     = sheet_surface;
  s->points.base.ops = &s->ops;
  assert_ok(memory_alloc("sheet", 6 * m * m, sizeof *s->triangle, &s->triangle));
  for (int64_t i = 0; i < n; ++i) {
    const double a = (double)(i % (m + 1)) / m, b = (double)(i / (m + 1)) / m, turn = is_low ? 0.0 : 0.17;
    const double x = is_low ? a : a + 0.013, y = is_low ? b : b - 0.037;
    const bool   is_ridge = (is_low ? i % (m + 1) : i / (m + 1)) % 2;
    v3_set(s->points.x + 3 * i, cos(turn) * x - sin(turn) * y, sin(turn) * x + cos(turn) * y,
           z + (is_ridge == is_low ? 0.0
                : is_low           ? -0.5
                                   : 0.5) /
                   m);
    for (int k = 0; k < 3; ++k) s->points.x[3 * i + k] += 1e-3 / m * random_range(5, (uint64_t)i, (uint64_t)(3 * is_low + k), -1.0, 1.0);
    s->points.id[i] = i;
    if (!is_rigid) s->points.block[i] = (int32_t)i, s->points.weight[i] = 1.0;
  }
  for (int j = 0, k = 0; j < m; ++j)
    for (int i = 0; i < m; ++i) {
      const int32_t first = j * (m + 1) + i, quad[6] = {first, first + 1, first + m + 2, first, first + m + 2, first + m + 1};
      for (int l = 0; l < 6; ++l) s->triangle[k++] = is_low ? quad[l] : quad[l - l % 3 + 2 - l % 3]; /* high faces down */
    }
  for (int k = 2 * m * m - 1; k > 0; --k) { /* in any order and direction of edges */
    const int other = (int)random_index(9, (uint64_t)k, is_low, (uint64_t)k + 1);
    for (int l = 0; l < 3; ++l) {
      const int32_t swap         = s->triangle[3 * k + l];
      s->triangle[3 * k + l]     = s->triangle[3 * other + l];
      s->triangle[3 * other + l] = swap;
    }
  }
  if (has_swapped_nodes) { /* the first number to a node in the middle of a ridge */
    const int32_t node = is_low ? (m / 2) * (m + 1) + m / 2 - 1 : (m / 2 - 1) * (m + 1) + m / 2;
    for (int k = 0; k < 3; ++k) {
      const double x            = s->points.x[k];
      s->points.x[k]            = s->points.x[3 * node + k];
      s->points.x[3 * node + k] = x;
    }
    for (int k = 0; k < 6 * m * m; ++k) s->triangle[k] = s->triangle[k] == 0 ? node : s->triangle[k] == node ? 0 : s->triangle[k];
  }
  s->surface = (body_surface){.n_nodes = n, .n_triangles = 2 * m * m, .triangles = s->triangle, .x = s->points.x};
  if (!is_rigid) return;
  assert_ok(memory_alloc("sheet", 3 * n, sizeof(double), &s->own));
  memcpy(s->own, s->points.x, (size_t)(3 * n) * sizeof(double)); /* the frame starts at the origin */
  s->surface.x = s->own;
}

typedef struct {
  sheet            low, high;
  contact_law      law[4];
  contact_source   sources[2];
  contact_mesh     meshes[2];
  int              n_frames;
  rigid_frame      frames0[2], frames[2]; /* of rigid sheets */
  penalty_contact *contact;
  int64_t          n; /* numbers */
  double          *v, *g;
} world;

static void begin(world *w)
{
  assert_ok(penalty_contact_begin_step(w->contact, 2, w->sources, 0, NULL, w->n_frames, w->frames0, DT, 0.01, w->n / 3));
}

static void move_frames(world *w, const double *v)
{
  for (int k = 0; k < w->n_frames; ++k) mock_move_frame(&w->frames0[k], DT, v, &w->frames[k]);
}

static void residual(world *w, const double *v, double *g, bool with_tangent)
{
  step_status status = {STEP_OK, NULL, -1};
  memset(g, 0, (size_t)w->n * sizeof *g);
  move_frames(w, v);
  assert_ok(penalty_contact_residual(w->contact, v, w->frames, g, with_tangent, &status));
  assert_int_equal(status.code, STEP_OK);
}

static void advance(world *w, contact_summary *summary)
{
  move_frames(w, w->v);
  assert_ok(penalty_contact_settle(w->contact, w->v, w->frames));
  assert_ok(penalty_contact_end_step(w->contact, w->v, w->frames, summary));
  sheet *both[2] = {&w->low, &w->high};
  for (int k = 0; k < 2; ++k) {
    double   *x     = both[k]->points.x;
    const int frame = w->sources[k].frame;
    for (int64_t i = 0; i < both[k]->points.n; ++i) {
      if (frame < 0) {
        v3_axpy(x + 3 * i, DT, w->v + 3 * (both[k]->points.base.first_block + i));
        continue;
      }
      m3_mulv(x + 3 * i, w->frames[frame].R, both[k]->own + 3 * i);
      v3_axpy(x + 3 * i, 1.0, w->frames[frame].c);
    }
  }
  memcpy(w->frames0, w->frames, sizeof w->frames0);
}

/* high moves by d, all nodes by noise; rigid bodies also rotate. */
static void set_motion(world *w, const double d[3], double noise, uint64_t stream)
{
  const int64_t first = w->high.points.base.first_block;
  for (int64_t i = 0; i < w->n; ++i)
    w->v[i] = random_range(6, (uint64_t)i, stream, -noise, noise) / DT +
              (i >= 3 * first && !(w->sources[1].frame >= 0 && i >= 3 * first + 3) ? d[i % 3] / DT : 0.0);
}

/* rigid: 0: none, 1: high, 2: both. */
static void create(world *w, int m, double mu, int rigid)
{
  sheet *both[2] = {&w->low, &w->high};
  for (int k = 0; k < 2; ++k) {
    const bool is_rigid = rigid > 1 - k;
    sheet_create(both[k], m, k == 0, is_rigid, k == 0 ? 0.0 : 0.04 / m);
    both[k]->points.base.first_block = w->n / 3;
    w->sources[k]                    = (contact_source){&both[k]->points.base, is_rigid ? w->n_frames : -1, k};
    w->meshes[k]                     = (contact_mesh){&both[k]->points.base, is_rigid ? w->n_frames : -1, k};
    if (is_rigid) w->frames0[w->n_frames++] = mock_frame((const double[3]){0.0, 0.0, 0.0}, w->n / 3);
    w->n += 3 * both[k]->points.base.n_blocks;
  }
  for (int i = 0; i < 4; ++i) w->law[i] = (contact_law){.stiffness = i == 1 || i == 2 ? 300.0 : 0.0, .friction = mu};
  assert_ok(memory_alloc("test", w->n, sizeof(double), &w->v));
  assert_ok(memory_alloc("test", w->n, sizeof(double), &w->g));
  assert_ok(penalty_contact_create(2, NULL, w->law, &w->contact));
  assert_ok(penalty_contact_add_meshes(w->contact, 2, w->meshes));
  assert_ok(penalty_contact_add_edges(w->contact));
}

static void destroy(world *w)
{
  penalty_contact_destroy(&w->contact);
  mock_destroy(&w->low.points);
  mock_destroy(&w->high.points);
  memory_free(&w->low.triangle);
  memory_free(&w->high.triangle);
  memory_free(&w->low.own);
  memory_free(&w->high.own);
  memory_free(&w->v);
  memory_free(&w->g);
}

/* One step down, then half of the next, with a sideways displacement `way`; 1 is about the limit of friction. */
static void open_world(world *w, int m, double mu, int rigid, double way)
{
  const double    down[3] = {0.0, 0.0, -0.1 / m}, aside[3] = {way * 0.015 / m, way * 0.01 / m, -0.02 / m};
  contact_summary summary;
  create(w, m, mu, rigid);
  begin(w);
  set_motion(w, down, 0.005 / m, 1);
  residual(w, w->v, w->g, false);
  advance(w, &summary);
  begin(w);
  set_motion(w, aside, 0.02 / m, 2);
  residual(w, w->v, w->g, true);
}

/* Active pairs of edges, of these sliding, and of these at an end. */
static int count(const world *w, int *sliding, int *at_end)
{
  int n    = 0;
  *sliding = *at_end = 0;
  for (int64_t i = 0; i < mesh_contact_n_pairs(w->contact->mesh); ++i) {
    mesh_pair_view q;
    mesh_contact_pair(w->contact->mesh, i, &q);
    if (q.point >= 0 || !q.is_active) continue;
    ++n;
    *sliding += q.is_sliding;
    *at_end += !q.is_on_triangle;
  }
  return n;
}

/* Active pairs that have moved to other edges within the step. */
static int count_moved_on(const world *w)
{
  const mesh_edges *e = w->contact->mesh->edges;
  int               n = 0;
  for (int64_t i = 0; i < e->n; ++i) n += e->pair[i].is_active && e->pair[i].at.triangle / 2 != e->patch[e->pair[i].patch].own;
  return n;
}

static double norm(int64_t n, const double *x) { return sqrt(team_dot(n, x, x)); }

static void check_slope(double mu, int rigid, bool is_far)
{
  world w = {0};
  int   sliding, at_end;
  open_world(&w, 6, mu, rigid, is_far ? 30.0 : 1.0);
  const int n = count(&w, &sliding, &at_end), n_moved_on = count_moved_on(&w);
  print_message("%d rigid, mu %g: %d pairs of edges, %d slide, %d to other edges, %d at an end\n", rigid, mu, n, sliding, n_moved_on,
                at_end);
  assert_true(n > 5 && sliding > 3 && (is_far ? n_moved_on > 2 : mu == 0.0 || rigid || sliding < n));
  double *x, *v, *Hx, *g[2];
  double *all[5];
  for (int k = 0; k < 5; ++k) assert_ok(memory_alloc("test", w.n, sizeof(double), &all[k]));
  x = all[0], v = all[1], Hx = all[2], g[0] = all[3], g[1] = all[4];
  for (uint64_t round = 0; round < 4; ++round) {
    const double h = 1e-8 / DT;
    residual(&w, w.v, w.g, true);
    for (int64_t i = 0; i < w.n; ++i) x[i] = random_range(7, (uint64_t)i, round, -1.0, 1.0), Hx[i] = 0.0;
    assert_ok(penalty_contact_tangent(w.contact, x, Hx, false));
    for (int side = 0; side < 2; ++side) {
      for (int64_t i = 0; i < w.n; ++i) v[i] = w.v[i] + (side ? h : -h) * x[i];
      residual(&w, v, g[side], false);
    }
    for (int64_t i = 0; i < w.n; ++i) v[i] = (g[1][i] - g[0][i]) / (2.0 * h) - Hx[i];
    assert_close(norm(w.n, v) / norm(w.n, Hx), 0.0, 2e-7);
  }
  /* adjoint, diagonal and matrix */
  residual(&w, w.v, w.g, true);
  double *Hty = g[0], *y = g[1], *diagonal;
  for (int64_t i = 0; i < w.n; ++i) y[i] = random_range(8, (uint64_t)i, 0, -1.0, 1.0), Hty[i] = Hx[i] = 0.0;
  assert_ok(penalty_contact_tangent(w.contact, x, Hx, false));
  assert_ok(penalty_contact_tangent(w.contact, y, Hty, true));
  const double scale = norm(w.n, x) * norm(w.n, Hty);
  assert_close(team_dot(w.n, y, Hx), team_dot(w.n, x, Hty), 1e-14 * scale);
  const int64_t n_blocks = w.n / 3;
  block_rows    H        = {.n = n_blocks};
  int64_t      *start;
  int32_t      *col;
  assert_ok(memory_alloc("test", n_blocks + 1, sizeof *start, &start));
  assert_ok(memory_alloc("test", n_blocks * n_blocks, sizeof *col, &col));
  assert_ok(memory_alloc("test", 9 * n_blocks * n_blocks, sizeof(double), &H.value));
  assert_ok(memory_alloc("test", 9 * n_blocks, sizeof(double), &diagonal));
  for (int64_t i = 0; i <= n_blocks; ++i) start[i] = i * n_blocks;
  for (int64_t i = 0; i < n_blocks * n_blocks; ++i) col[i] = (int32_t)(i % n_blocks);
  H.row_start = start, H.col = col;
  assert_ok(penalty_contact_assemble(w.contact, &H));
  assert_ok(penalty_contact_block_diagonal(w.contact, diagonal));
  for (int64_t i = 0; i < n_blocks && rigid != 1; ++i) { /* the matrix omits rigid points against nodes, see penalty_mesh.h */
    double row[3] = {0.0, 0.0, 0.0};
    for (int64_t j = 0; j < n_blocks; ++j) {
      double term[3];
      m3_mulv(term, H.value + 9 * (i * n_blocks + j), x + 3 * j);
      v3_axpy(row, 1.0, term);
    }
    for (int k = 0; k < 3; ++k) assert_close(row[k], Hx[3 * i + k], 1e-14 * norm(w.n, Hx));
    for (int k = 0; k < 9; ++k) assert_close(diagonal[9 * i + k], H.value[9 * (i * n_blocks + i) + k], 1e-14 * norm(w.n, Hx));
  }
  int32_t *rows, *cols;
  int64_t  n_couplings, found = 0;
  assert_ok(penalty_contact_couplings(w.contact, &n_couplings, &rows, &cols));
  for (int64_t k = 0; k < n_couplings; ++k) found += rows[k] < w.high.points.base.first_block && cols[k] >= w.high.points.base.first_block;
  assert_true(found > 0);
  void *more[] = {&start, &col, &H.value, &diagonal, &rows, &cols};
  for (size_t k = 0; k < sizeof more / sizeof *more; ++k) memory_free(more[k]);
  for (int k = 0; k < 5; ++k) memory_free(&all[k]);
  destroy(&w);
}

static void test_slope(void **unused)
{
  (void)unused;
  for (int rigid = 0; rigid < 3; ++rigid) {
    check_slope(0.3, rigid, false);
    check_slope(0.0, rigid, false);
    check_slope(0.3, rigid, true);
  }
  assert_no_leak();
}

/* Sum of forces, and of moments about the origin, at the current positions of nodes; rigid bodies add force and torque. */
static void check_momentum(int rigid, bool is_far)
{
  world  w      = {0};
  double sum[3] = {0.0}, moment[3] = {0.0}, size = 0.0;
  int    sliding, at_end;
  open_world(&w, 8, 0.3, rigid, is_far ? 30.0 : 1.0);
  assert_true(count(&w, &sliding, &at_end) > 5);
  const sheet *both[2] = {&w.low, &w.high};
  for (int k = 0; k < 2; ++k) {
    const int frame = w.sources[k].frame;
    for (int64_t i = 0; i < (frame < 0 ? both[k]->points.n : 1); ++i) {
      const int64_t block = both[k]->points.base.first_block + i;
      double        x[3], t[3];
      v3_copy(x, frame < 0 ? both[k]->points.x + 3 * i : w.frames[frame].c);
      if (frame < 0) v3_axpy(x, DT, w.v + 3 * block);
      else v3_axpy(moment, 1.0, w.g + 3 * block + 3);
      v3_cross(t, x, w.g + 3 * block);
      v3_axpy(sum, 1.0, w.g + 3 * block);
      v3_axpy(moment, 1.0, t);
      size += v3_norm(w.g + 3 * block);
    }
  }
  for (int k = 0; k < 3; ++k) {
    assert_close(sum[k], 0.0, 1e-15 * size);
    assert_close(moment[k], 0.0, 4e-15 * size);
  }
  destroy(&w);
}

static void test_momentum(void **unused)
{
  (void)unused;
  for (int k = 0; k < 6; ++k) check_momentum(k % 3, k > 2);
  has_swapped_nodes = true;
  for (int k = 0; k < 2; ++k) check_momentum(k, false);
  has_swapped_nodes = false;
  assert_no_leak();
}

/* Ten steps of pushing and sliding, on some threads. At step `resumed` all is put into another contact by its fields. */
static double *slide(int n_threads, int resumed, int64_t *n, int *n_pairs)
{
  const double    down[3] = {0.0, 0.0, -0.1 / 12}, aside[3] = {0.03 / 12, -0.02 / 12, -0.0005 / 12};
  const int       steps = 10;
  world           w     = {0};
  contact_summary summary;
  int             sliding, at_end;
  double         *all;
  team_set_threads(n_threads);
  create(&w, 12, 0.2, 0);
  assert_ok(memory_alloc("test", 2 * steps * w.n, sizeof *all, &all));
  for (int step = 0; step < steps; ++step) {
    if (step == resumed) {
      penalty_contact *other;
      field_table     *tables[2];
      field_snapshot  *snapshot;
      assert_ok(penalty_contact_create(2, NULL, w.law, &other));
      assert_ok(penalty_contact_add_meshes(other, 2, w.meshes));
      assert_ok(penalty_contact_add_edges(other));
      for (int k = 0; k < 2; ++k) {
        assert_ok(field_table_create(&tables[k]));
        assert_ok(penalty_contact_fields(k ? other : w.contact, tables[k]));
      }
      assert_ok(field_snapshot_create(&snapshot));
      assert_ok(field_snapshot_take(snapshot, tables[0]));
      assert_ok(field_snapshot_restore(snapshot, tables[1]));
      field_snapshot_destroy(&snapshot);
      for (int k = 0; k < 2; ++k) field_table_destroy(&tables[k]);
      penalty_contact_destroy(&w.contact);
      w.contact = other;
    }
    begin(&w);
    set_motion(&w, step == 0 ? down : aside, 0.001 / 12, (uint64_t)step);
    residual(&w, w.v, w.g, true);
    memcpy(all + 2 * step * w.n, w.g, (size_t)w.n * sizeof *all);
    assert_ok(penalty_contact_tangent(w.contact, w.v, all + (2 * step + 1) * w.n, step % 2));
    advance(&w, &summary);
  }
  *n_pairs = count(&w, &sliding, &at_end);
  *n       = 2 * steps * w.n;
  destroy(&w);
  return all;
}

static void test_threads_and_memory(void **unused)
{
  (void)unused;
  int64_t n, m;
  int     n_pairs;
  double *one = slide(1, -1, &n, &n_pairs);
  print_message("%d pairs of edges\n", n_pairs);
  assert_true(n_pairs > 20);
  for (int k = 0; k < 4; ++k) {
    double *more = slide(k < 2 ? k + 2 : 1, k < 2 ? -1 : k, &m, &n_pairs);
    assert_int_equal(n, m);
    assert_memory_equal(one, more, (size_t)n * sizeof *one);
    memory_free(&more);
  }
  memory_free(&one);
  team_set_threads(0);
  assert_no_leak();
}

/* Edges of the ridges of both sheets that cross in plan, not within a quarter of their ends, and how many
 * of them are active pairs. */
static int count_crossings(const world *w, int m, int *active)
{
  const mesh_contact *c = w->contact->mesh;
  int                 n = 0;
  *active               = 0;
  for (int j = 1; j < m; j += 2)
    for (int i = 0; i < m; ++i)
      for (int k = 0; k <= m; k += 2)
        for (int l = 0; l < m; ++l) {
          const double *a = w->low.points.x + 3 * (i * (m + 1) + j), *b = w->low.points.x + 3 * ((i + 1) * (m + 1) + j);
          const double *p = w->high.points.x + 3 * (k * (m + 1) + l), *q = w->high.points.x + 3 * (k * (m + 1) + l + 1);
          const double  e[2] = {b[0] - a[0], b[1] - a[1]}, f[2] = {q[0] - p[0], q[1] - p[1]}, d[2] = {p[0] - a[0], p[1] - a[1]};
          const double  det = e[0] * f[1] - e[1] * f[0], s = (d[0] * f[1] - d[1] * f[0]) / det, t = (d[0] * e[1] - d[1] * e[0]) / det;
          if (!(fabs(s - 0.5) < 0.36 && fabs(t - 0.5) < 0.36)) continue;
          ++n;
          for (int64_t x = 0; x < mesh_contact_n_pairs(c); ++x) {
            mesh_pair_view v;
            mesh_contact_pair(c, x, &v);
            const double middle[2] = {p[0] + t * f[0], p[1] + t * f[1]};
            if (v.point < 0 && v.is_active && hypot(v.Y[0] - middle[0], v.Y[1] - middle[1]) < 0.2 / m) ++*active;
          }
        }
  return n;
}

/* The longest spring between edges, neither at its end. */
static double longest_spring(const world *w)
{
  double longest = 0.0;
  for (int64_t i = 0; i < mesh_contact_n_pairs(w->contact->mesh); ++i) {
    mesh_pair_view q;
    double         d[3];
    mesh_contact_pair(w->contact->mesh, i, &q);
    v3_sub(d, q.Z, q.Y);
    if (q.point < 0 && q.is_active && q.is_on_triangle) longest = fmax(longest, v3_norm(d));
  }
  return longest;
}

/* Active points that are nodes within a ridge of their sheet, neither at an end of it. */
static int count_ridge_nodes(const world *w, int m)
{
  int n = 0;
  for (int64_t i = 0; i < mesh_contact_n_pairs(w->contact->mesh); ++i) {
    mesh_pair_view q;
    mesh_contact_pair(w->contact->mesh, i, &q);
    const int64_t across = q.source_body == 0 ? q.point % (m + 1) : q.point / (m + 1),
                  along  = q.source_body == 0 ? q.point / (m + 1) : q.point % (m + 1);
    n += q.point >= 0 && q.is_active && across % 2 == (q.source_body == 0) && along > 0 && along < m;
  }
  return n;
}

/* Ridges slide along themselves without friction, by four edges each way. Wherever two ridges cross there is a pair with the
 * initial depth, for any initial edges, also if the end of an edge has moved over the side of a ridge. Nodes do not
 * catch on ridges. */
static void test_slides_on(void **unused)
{
  (void)unused;
  const int       m       = 8;
  const double    down[3] = {0.0, 0.0, -0.1 / m};
  world           w       = {0};
  contact_summary summary;
  int             sum = 0, active;
  create(&w, m, 0.0, 0);
  for (int step = 0; step < 60; ++step) {
    const double angle = step < 30 ? 0.17 : 0.17 + 1.57, way = (step < 30 ? 1.0 : -1.0) * 0.13 / m,
                 aside[3] = {way * cos(angle), way * sin(angle), 0.0};
    begin(&w);
    set_motion(&w, step == 0 ? down : aside, 0.0, 1);
    residual(&w, w.v, w.g, false);
    advance(&w, &summary);
    const int n = count_crossings(&w, m, &active);
    if (active != n) fail_msg("step %d: %d crossings, %d pairs", step, n, active);
    assert_close(longest_spring(&w), 0.0605 / m, 0.003 / m); /* 0.06, and 1e-3 each of noise in both sheets */
    assert_int_equal(count_ridge_nodes(&w, m), 0);
    sum += n;
  }
  print_message("%d crossings of ridges\n", sum);
  assert_true(sum > 250);
  destroy(&w);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_slides_on), cmocka_unit_test(test_slope), cmocka_unit_test(test_momentum),
          cmocka_unit_test(test_threads_and_memory))
