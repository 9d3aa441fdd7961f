/* A staggered grid with particles on it, for tests: a function defines the region of the material, 2x2x2 particles per cell. */
#ifndef SS_TESTS_MAC_FIXTURE_H
#define SS_TESTS_MAC_FIXTURE_H
#include "core/math3.h"
#include "core/random.h"
#include "discretize/mac/mac_system.h"

typedef struct {
  mac_state     s;
  int64_t       n;
  double       *x[3];
  const double *set[1][3];
  mac_options   o;
} mac_scene;

static const mac_wall MAC_ALL_ROUGH[3][2] = {
    {MAC_WALL_ROUGH, MAC_WALL_ROUGH}, {MAC_WALL_ROUGH, MAC_WALL_ROUGH}, {MAC_WALL_ROUGH, MAC_WALL_ROUGH}};
static const mac_wall MAC_ALL_SMOOTH[3][2] = {
    {MAC_WALL_SMOOTH, MAC_WALL_SMOOTH}, {MAC_WALL_SMOOTH, MAC_WALL_SMOOTH}, {MAC_WALL_SMOOTH, MAC_WALL_SMOOTH}};
static const mac_wall MAC_ALL_OPEN[3][2] = {{MAC_WALL_OPEN, MAC_WALL_OPEN}, {MAC_WALL_OPEN, MAC_WALL_OPEN}, {MAC_WALL_OPEN, MAC_WALL_OPEN}};
static const mac_wall MAC_ALL_PERIODIC[3][2] = {
    {MAC_WALL_PERIODIC, MAC_WALL_PERIODIC}, {MAC_WALL_PERIODIC, MAC_WALL_PERIODIC}, {MAC_WALL_PERIODIC, MAC_WALL_PERIODIC}};

typedef struct {
  double  h, min[3];
  int32_t n[3];
  const mac_wall (*wall)[2];
  bool (*is_filled)(const double x[3]); /* NULL: everywhere */
  double density, friction, jitter;     /* jitter in h/2, 0 ... 1 */
} mac_scene_spec;

/* Components xx, yy, zz, xy, xz, yz of a stress given by five numbers in a basis. */
static inline void mac_stress_tensor(int basis, const double c[MAC_STRESSES], double s[6])
{
  if (basis == MAC_ORTHONORMAL) s[0] = c[0] / sqrt(2.0) + c[1] / sqrt(6.0), s[1] = -2.0 * c[1] / sqrt(6.0), s[2] = -s[0] - s[1];
  else s[0] = c[0], s[1] = -c[0] - c[1], s[2] = c[1];
  for (int m = 2; m < MAC_STRESSES; ++m) s[m + 1] = c[m] * (basis == MAC_ORTHONORMAL ? sqrt(0.5) : 1.0);
}

static inline mac_options mac_default_options(void) { return (mac_options){.wall_friction = NAN}; }

/* mirrored at walls, wrapped where periodic; -1: gone */
static inline int32_t mac_fold(const mac_grid *g, int axis, int32_t i, bool is_face)
{
  if (mac_grid_is_periodic(g, axis)) return (i + g->n[axis]) % g->n[axis];
  if (is_face) return i < 0 || i > g->n[axis] ? -1 : i;
  return i < 0                               ? (g->wall[axis][0] == MAC_WALL_OPEN ? -1 : 0)
         : i < g->n[axis]                    ? i
         : g->wall[axis][1] == MAC_WALL_OPEN ? -1
                                             : g->n[axis] - 1;
}
static inline void mac_spread(mac_scene *c, int64_t p, int axis, double mass, double *to)
{
  const mac_grid *g = &c->s.grid;
  int32_t         base[3];
  double          f[3];
  for (int a = 0; a < 3; ++a) {
    const double at = (c->x[a][p] - g->min[a]) / g->h - (a == axis ? 0.0 : 0.5);
    base[a] = (int32_t)floor(at), f[a] = at - base[a];
  }
  for (int q = 0; q < 8; ++q) {
    const int d[3] = {q >> 2, (q >> 1) & 1, q & 1};
    double    w    = mass;
    int32_t   at[3];
    bool      is_gone = false;
    for (int a = 0; a < 3; ++a)
      w *= d[a] ? f[a] : 1.0 - f[a], at[a] = mac_fold(g, a, base[a] + d[a], a == axis), is_gone = is_gone || at[a] < 0;
    const int64_t slot = is_gone ? -1 : mac_grid_slot(g, at[0], at[1], at[2]);
    if (slot >= 0) to[slot] += w;
  }
}

static inline void mac_scene_create(mac_scene *c, const mac_scene_spec *m)
{
  const double h = m->h, mass = m->density * h * h * h / 8.0;
  *c = (mac_scene){.o = mac_default_options()};
  for (int pass = 0; pass < 2; ++pass) {
    c->n = 0;
    for (int32_t i = 0; i < 2 * m->n[0]; ++i)
      for (int32_t j = 0; j < 2 * m->n[1]; ++j)
        for (int32_t k = 0; k < 2 * m->n[2]; ++k) {
          double         x[3] = {m->min[0] + 0.5 * h * (i + 0.5), m->min[1] + 0.5 * h * (j + 0.5), m->min[2] + 0.5 * h * (k + 0.5)};
          const uint64_t id   = (uint64_t)((i * 4096 + j) * 4096 + k);
          if (m->is_filled && !m->is_filled(x)) continue;
          for (int a = 0; pass && a < 3; ++a) c->x[a][c->n] = x[a] + 0.25 * h * random_range(1, id, (uint64_t)a, -m->jitter, m->jitter);
          ++c->n;
        }
    for (int a = 0; !pass && a < 3; ++a) {
      assert_ok(memory_alloc("x", c->n, sizeof(double), &c->x[a]));
      c->set[0][a] = c->x[a];
    }
  }
  c->s.n_sets = 1, c->s.n = &c->n, c->s.x = c->set;
  assert_ok(mac_grid_create(h, m->min, m->n, m->wall, &c->s.grid));
  assert_ok(mac_grid_build(&c->s.grid, 1, c->s.n, c->s.x, MAC_REACH));
  const int64_t  n     = c->s.grid.n_slots;
  double **const all[] = {&c->s.mass[0], &c->s.mass[1], &c->s.mass[2],      &c->s.u[0],     &c->s.u[1],
                          &c->s.u[2],    &c->s.rho,     &c->s.rest_density, &c->s.friction, &c->s.cohesion};
  for (size_t q = 0; q < sizeof all / sizeof *all; ++q) assert_ok(memory_alloc("state", n, sizeof(double), all[q]));
  for (int64_t p = 0; p < c->n; ++p) {
    for (int a = 0; a < 3; ++a) mac_spread(c, p, a, mass, c->s.mass[a]);
    mac_spread(c, p, -1, mass / (h * h * h), c->s.rho);
  }
  for (int64_t q = 0; q < n; ++q)
    if (c->s.rho[q] > 0.0) c->s.rest_density[q] = m->density, c->s.friction[q] = m->friction;
}
static inline void mac_scene_destroy(mac_scene *c)
{
  double **const all[] = {&c->s.mass[0],      &c->s.mass[1],  &c->s.mass[2],  &c->s.u[0], &c->s.u[1], &c->s.u[2], &c->s.rho,
                          &c->s.rest_density, &c->s.friction, &c->s.cohesion, &c->x[0],   &c->x[1],   &c->x[2]};
  for (size_t q = 0; q < sizeof all / sizeof *all; ++q) memory_free(all[q]);
  mac_grid_destroy(&c->s.grid);
}

/* Where samples are. */
static inline void mac_cell_center(const mac_grid *g, int64_t slot, double x[3])
{
  int32_t ijk[3];
  mac_grid_cell(g, slot, ijk);
  for (int a = 0; a < 3; ++a) x[a] = g->min[a] + g->h * (ijk[a] + 0.5);
}
static inline void mac_face_center(const mac_grid *g, int64_t slot, int axis, double x[3])
{
  mac_cell_center(g, slot, x);
  x[axis] -= 0.5 * g->h;
}
static inline rigid_frame mac_frame_at(double x, double y, double z)
{
  rigid_frame f = {.c = {x, y, z}, .block = -1};
  m3_identity(f.R), m3_identity(f.Jl);
  return f;
}
#endif
