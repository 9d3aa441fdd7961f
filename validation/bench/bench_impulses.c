/* Speed of geometric impulses: two balls that would go two edges into each other in one step, soft with soft, then rigid
 * with soft, then a soft one with a wall.
 *   bench_impulses [triangles in all, default 10000] [iterations of the second pass, default 100]
 * Balls are cubes of n x n squares a side blown up to radius 1, nodes with noise in place (a tenth of an edge) and velocity. */
#include "contact/impulse/impulses.h"
#include "core/math3.h"
#include "core/memory.h"
#include "core/random.h"
#include "core/team.h"
#include "core/timer.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const double DT = 0.01, GAP = 0.001; /* s, m */

typedef struct {
  int64_t  n, n_vertices, n_triangles, n_edges; /* of one ball */
  int32_t *number;                              /* [(n + 1)^3], -1: inside */
  int32_t *triangle, *edge, *body, *rigid;
  double  *x, *v, *inverse_mass;
} balls;

static PetscErrorCode balls_create(int64_t n, balls *b)
{
  PetscFunctionBegin;
  *b = (balls){.n = n, .n_vertices = 6 * n * n + 2, .n_triangles = 12 * n * n, .n_edges = 18 * n * n};
  PetscCall(memory_alloc("bench", (n + 1) * (n + 1) * (n + 1), sizeof *b->number, &b->number));
  PetscCall(memory_alloc("bench", 2 * 3 * b->n_triangles, sizeof *b->triangle, &b->triangle));
  PetscCall(memory_alloc("bench", 2 * 2 * b->n_edges, sizeof *b->edge, &b->edge));
  PetscCall(memory_alloc("bench", 2 * b->n_vertices, sizeof *b->body, &b->body));
  PetscCall(memory_alloc("bench", 2 * b->n_vertices, sizeof *b->rigid, &b->rigid));
  PetscCall(memory_alloc("bench", 6 * b->n_vertices, sizeof *b->x, &b->x));
  PetscCall(memory_alloc("bench", 6 * b->n_vertices, sizeof *b->v, &b->v));
  PetscCall(memory_alloc("bench", 2 * b->n_vertices, sizeof *b->inverse_mass, &b->inverse_mass));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void balls_destroy(balls *b)
{
  memory_free(&b->number), memory_free(&b->triangle), memory_free(&b->edge), memory_free(&b->body), memory_free(&b->rigid);
  memory_free(&b->x), memory_free(&b->v), memory_free(&b->inverse_mass);
}

static int64_t lattice(const balls *b, int64_t i, int64_t j, int64_t k) { return (i * (b->n + 1) + j) * (b->n + 1) + k; }

/* Vertices of ball `which` around (0, 0, z). */
static void place(balls *b, int which, double z)
{
  const int64_t n  = b->n;
  int32_t       at = 0;
  for (int64_t i = 0; i <= n; ++i)
    for (int64_t j = 0; j <= n; ++j)
      for (int64_t k = 0; k <= n; ++k) {
        const bool is_inside           = i % n && j % n && k % n;
        b->number[lattice(b, i, j, k)] = is_inside ? -1 : at;
        if (is_inside) continue;
        const int64_t v             = which * b->n_vertices + at++;
        const int64_t at_lattice[3] = {i, j, k};
        double       *x             = b->x + 3 * v, side[3];
        for (int d = 0; d < 3; ++d)
          side[d] = tan(0.25 * M_PI * (2.0 * (double)at_lattice[d] / (double)n - 1.0)) +
                    0.1 / (double)n * random_range(7, (uint64_t)(3 * v + d), 0, -1.0, 1.0);
        v3_scale(x, 1.0 / v3_norm(side), side);
        x[2] += z;
        b->body[v] = which, b->rigid[v] = -1, b->inverse_mass[v] = (double)b->n_vertices;
      }
}

static void connect(balls *b, int which)
{
  const int32_t from = (int32_t)(which * b->n_vertices), n = (int32_t)b->n;
  int32_t      *t = b->triangle + 3 * which * b->n_triangles, *e = b->edge + 2 * which * b->n_edges, *first = t;
  for (int face = 0; face < 6; ++face)
    for (int32_t a = 0; a < n; ++a)
      for (int32_t c = 0; c < n; ++c) {
        int32_t q[4];
        for (int d = 0; d < 4; ++d) {
          int64_t p[3];
          p[face % 3] = face < 3 ? 0 : n, p[(face + 1) % 3] = a + (d == 1 || d == 2), p[(face + 2) % 3] = c + (d >= 2);
          q[d] = from + b->number[lattice(b, p[0], p[1], p[2])];
        }
        const int32_t two[6] = {q[0], q[face < 3 ? 2 : 1], q[face < 3 ? 1 : 2], q[0], q[face < 3 ? 3 : 2], q[face < 3 ? 2 : 3]};
        memcpy(t, two, sizeof two);
        t += 6;
      }
  for (int32_t *k = first; k < t; k += 3)
    for (int i = 0; i < 3; ++i)
      if (k[i] < k[(i + 1) % 3]) e[0] = k[i], e[1] = k[(i + 1) % 3], e += 2;
}

/* kind 0: soft with soft; 1: the first is rigid; 2: the first alone, on a wall. */
static PetscErrorCode run(int64_t n, int kind, int64_t max_iterations)
{
  const char *const  names[]      = {"soft, soft", "rigid, soft", "soft, wall"};
  const bool         can_touch[9] = {true, true, true, true, true, true, true, true, true};
  const double       edge = M_PI / 2.0 / (double)n, speed = (GAP + 2.0 * edge) / DT;
  const impulse_wall wall = {.point = {0.0, 0.0, -1.0 - GAP}, .normal = {0.0, 0.0, 1.0}, .body = 2};
  impulse_rigid      rigid;
  impulse_law        law[9];
  balls              b;
  impulses          *a;
  PetscFunctionBegin;
  PetscCall(balls_create(n, &b));
  place(&b, 0, 0.0), connect(&b, 0);
  place(&b, 1, 2.0 + GAP), connect(&b, 1);
  for (int i = 0; i < 9; ++i) law[i] = (impulse_law){0.3, 0.0};
  for (int64_t i = 0; i < b.n_vertices && kind == 1; ++i) b.rigid[i] = 0;
  const int             n_balls = kind == 2 ? 1 : 2;
  const impulse_scene   scene   = {.surfaces     = {.n_vertices  = n_balls * b.n_vertices,
                                                    .n_points    = n_balls * b.n_vertices,
                                                    .n_edges     = n_balls * b.n_edges,
                                                    .n_triangles = n_balls * b.n_triangles,
                                                    .edge        = b.edge,
                                                    .triangle    = b.triangle,
                                                    .n_bodies    = 3,
                                                    .body        = b.body,
                                                    .can_touch   = can_touch},
                                   .inverse_mass = b.inverse_mass,
                                   .n_rigid      = kind == 1,
                                   .n_walls      = kind == 2,
                                   .rigid        = kind == 1 ? b.rigid : NULL,
                                   .law          = law};
  const impulse_options options = {.thickness = 0.05 * edge, .stiffness = INFINITY, .max_iterations = max_iterations};
  PetscCall(impulses_create(&scene, &a));
  for (int repeat = 0; repeat < 2; ++repeat) {
    impulse_report r;
    step_status    status = {STEP_OK, NULL, -1};
    rigid = (impulse_rigid){.inverse_mass = 1.0, .inverse_inertia = {2.5, 0, 0, 0, 2.5, 0, 0, 0, 2.5}, .v = {0.0, 0.0, 0.5 * speed}};
    for (int64_t i = 0; i < n_balls * b.n_vertices; ++i) {
      v3_set(b.v + 3 * i, 0.0, 0.0, kind == 2 ? -speed : i < b.n_vertices ? 0.5 * speed : -0.5 * speed);
      for (int d = 0; d < 3; ++d) b.v[3 * i + d] += 0.01 * speed * random_range(9, (uint64_t)(3 * i + d), 0, -1.0, 1.0);
    }
    const impulse_step step = {.dt = DT, .x0 = b.x, .v = b.v, .rigid = &rigid, .wall = &wall};
    const double       t    = timer_now();
    PetscCall(impulses_solve(a, &options, &step, &status, &r));
    const double seconds = timer_now() - t;
    if (repeat == 0) continue; /* the first one allocates */
    int64_t n_contacts;
    (void)impulses_contacts(a, &n_contacts);
    printf("%-12s %8lld triangles: %7.1f ms, %3lld iterations, %6.2f ms each; %lld colliding pairs, %lld near, %lld contacts, %lld "
           "queries, %lld searches; %lld zones of %lld in %lld rounds; %s\n",
           names[kind], (long long)(n_balls * b.n_triangles), 1e3 * seconds, (long long)r.n_iterations,
           1e3 * seconds / fmax(1.0, (double)(r.n_iterations + r.n_zone_rounds)), (long long)r.n_collisions, (long long)r.n_near,
           (long long)n_contacts, (long long)r.n_queries, (long long)r.n_searches, (long long)r.n_zones, (long long)r.n_zone_nodes,
           (long long)r.n_zone_rounds, step_code_text(status.code));
  }
  impulses_destroy(&a);
  balls_destroy(&b);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const double  n_triangles = argc > 1 ? atof(argv[1]) : 10000.0, max_iterations = argc > 2 ? atof(argv[2]) : 100.0;
  const int64_t n = (int64_t)fmax(2.0, round(sqrt(n_triangles / 24.0)));
  printf("geometric impulses, %d threads\n", team_threads());
  for (int kind = 0; kind < 3; ++kind)
    if (run(n, kind, (int64_t)max_iterations)) return fprintf(stderr, "bench_impulses: %s\n", error_message()), 1;
  return 0;
}
