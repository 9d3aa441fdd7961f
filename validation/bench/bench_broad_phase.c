/* Speed of the broad phase and what it leaves to continuous collision detection: a crumpling sheet of m x m quads.
 *   bench_broad_phase [m, default 200]
 * Seconds are the best of several steps. */
#include "geometry/collision/broad_phase.h"
#include "geometry/collision/ccd.h"
#include "core/memory.h"
#include "core/random.h"
#include "core/team.h"
#include "core/timer.h"
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  int64_t  m, n_vertices, n_edges, n_triangles;
  int32_t *edge, *triangle;
  double  *x0, *x1;
} sheet;

static PetscErrorCode sheet_create(int64_t m, sheet *s)
{
  int64_t e = 0, t = 0;
  PetscFunctionBegin;
  *s = (sheet){.m = m, .n_vertices = (m + 1) * (m + 1), .n_edges = 3 * m * m + 2 * m, .n_triangles = 2 * m * m};
  PetscCall(memory_alloc("bench", 2 * s->n_edges, sizeof *s->edge, &s->edge));
  PetscCall(memory_alloc("bench", 3 * s->n_triangles, sizeof *s->triangle, &s->triangle));
  PetscCall(memory_alloc("bench", 3 * s->n_vertices, sizeof *s->x0, &s->x0));
  PetscCall(memory_alloc("bench", 3 * s->n_vertices, sizeof *s->x1, &s->x1));
  for (int64_t i = 0; i <= m; ++i)
    for (int64_t j = 0; j <= m; ++j) {
      const int32_t v = (int32_t)(i * (m + 1) + j), right = v + (int32_t)m + 1, up = v + 1;
      if (i < m) s->edge[2 * e] = v, s->edge[2 * e++ + 1] = right;
      if (j < m) s->edge[2 * e] = v, s->edge[2 * e++ + 1] = up;
      if (i == m || j == m) continue;
      s->edge[2 * e] = v, s->edge[2 * e++ + 1] = right + 1;
      memcpy(&s->triangle[3 * t++], (int32_t[]){v, right, right + 1}, 3 * sizeof(int32_t));
      memcpy(&s->triangle[3 * t++], (int32_t[]){v, right + 1, up}, 3 * sizeof(int32_t));
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void sheet_clear(sheet *s)
{
  memory_free(&s->edge);
  memory_free(&s->triangle);
  memory_free(&s->x0);
  memory_free(&s->x1);
}

/* Folded along a coil whose turns are one edge apart, with noise; a step moves everything by a third of an edge. */
static void sheet_move(sheet *s, int step)
{
  const double h = 1.0 / (double)s->m;
  for (int64_t v = 0; v < s->n_vertices; ++v) {
    const double a = 20.0 * (double)(v / (s->m + 1)) * h + 0.01 * step, r = 0.02 + h * a / (2.0 * M_PI);
    const double x[3] = {r * cos(a), r * sin(a), (double)(v % (s->m + 1)) * h};
    for (int k = 0; k < 3; ++k) {
      s->x0[3 * v + k] = x[k] + 0.1 * h * random_range(1, (uint64_t)(3 * v + k), (uint64_t)step, -1.0, 1.0);
      s->x1[3 * v + k] = s->x0[3 * v + k] + 0.3 * h * random_range(2, (uint64_t)(3 * v + k), (uint64_t)step, -1.0, 1.0);
    }
  }
}

static void gather(const double *x, const int32_t *v, int n, double *out)
{
  for (int i = 0; i < n; ++i) memcpy(out + 3 * i, x + 3 * (int64_t)v[i], 3 * sizeof *out);
}

static int64_t narrow(const sheet *s, bool is_edges, int64_t n, const broad_phase_pair *pair)
{
  const ccd_limits limits = {0.0, 1e-6 / (double)s->m};
  int64_t          hits   = 0;
#pragma omp parallel for schedule(dynamic, 256) reduction(+ : hits)
  for (int64_t i = 0; i < n; ++i) {
    double         x0[12], x1[12];
    const int32_t  p = pair[i].first, *a = is_edges ? &s->edge[2 * (int64_t)p] : &p;
    const int32_t *b  = is_edges ? &s->edge[2 * (int64_t)pair[i].second] : &s->triangle[3 * (int64_t)pair[i].second];
    const int      na = is_edges ? 2 : 1;
    gather(s->x0, a, na, x0), gather(s->x0, b, 4 - na, x0 + 3 * na);
    gather(s->x1, a, na, x1), gather(s->x1, b, 4 - na, x1 + 3 * na);
    hits += (is_edges ? ccd_edge_edge_conservative : ccd_point_triangle_conservative)(x0, x1, &limits, NULL);
  }
  return hits;
}

typedef struct {
  double  update, find[2], narrow[2];
  int64_t pairs[2], hits[2];
} timing;

static PetscErrorCode one_step(broad_phase *b, const sheet *s, timing *best)
{
  const broad_phase_pair *pair;
  int64_t                 bad;
  double                  t = timer_now();
  PetscFunctionBegin;
  PetscCall(broad_phase_update(b, s->x0, s->x1, 0.0, &bad));
  best->update = fmin(best->update, timer_now() - t);
  for (int kind = 0; kind < 2; ++kind) {
    t = timer_now();
    PetscCall((kind ? broad_phase_edge_edge : broad_phase_point_triangle)(b, &best->pairs[kind], &pair));
    best->find[kind]   = fmin(best->find[kind], timer_now() - t);
    t                  = timer_now();
    best->hits[kind]   = narrow(s, kind, best->pairs[kind], pair);
    best->narrow[kind] = fmin(best->narrow[kind], timer_now() - t);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode run(int64_t m)
{
  sheet        s;
  broad_phase *b;
  PetscFunctionBegin;
  PetscCall(sheet_create(m, &s));
  const broad_phase_surfaces surfaces = {.n_vertices  = s.n_vertices,
                                         .n_points    = s.n_vertices,
                                         .n_edges     = s.n_edges,
                                         .n_triangles = s.n_triangles,
                                         .edge        = s.edge,
                                         .triangle    = s.triangle};
  printf("%lld vertices, %lld edges, %lld triangles\n%8s %10s %6s %10s %10s %10s %10s\n", (long long)s.n_vertices, (long long)s.n_edges,
         (long long)s.n_triangles, "threads", "update ms", "kind", "pairs", "find ms", "CCD ms", "collide");
  for (int threads = 1; threads <= omp_get_num_procs(); threads *= 2) {
    timing best = {INFINITY, {INFINITY, INFINITY}, {INFINITY, INFINITY}, {0, 0}, {0, 0}};
    team_set_threads(threads);
    PetscCall(broad_phase_create(&surfaces, &b));
    for (int step = 0; step < 5; ++step) {
      sheet_move(&s, step);
      PetscCall(one_step(b, &s, &best));
    }
    for (int kind = 0; kind < 2; ++kind)
      printf("%8d %10.2f %6s %10lld %10.2f %10.2f %10lld\n", threads, 1e3 * best.update, kind ? "e-e" : "p-t", (long long)best.pairs[kind],
             1e3 * best.find[kind], 1e3 * best.narrow[kind], (long long)best.hits[kind]);
    broad_phase_destroy(&b);
  }
  sheet_clear(&s);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const long m = argc > 1 ? strtol(argv[1], NULL, 10) : 200;
  return m < 2 || m > 10000 || run(m) != PETSC_SUCCESS;
}
