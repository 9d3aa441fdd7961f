/* The operators of the staggered grid: what linear fields give, duality, momentum, statics, forces on solids. */
#include "test.h"
#include "core/memory.h"
#include "core/team.h"
#include "mac_fixture.h"
#include <string.h>

enum { N = 14 };
static bool           everywhere(const double x[3]) { return x[0] == x[0]; }
static mac_scene_spec scene_spec(const mac_wall (*wall)[2])
{
  return (mac_scene_spec){.h         = 0.05,
                          .min       = {-0.2, 0.1, 0.3},
                          .n         = {N, N + 1, N + 2},
                          .wall      = wall,
                          .is_filled = everywhere,
                          .density   = 1500.0,
                          .friction  = 0.5,
                          .jitter    = 0.6};
}
static bool is_inner(const mac_grid *g, const int32_t ijk[3], int layers)
{
  for (int a = 0; a < 3; ++a)
    if (ijk[a] < layers || ijk[a] >= g->n[a] - layers) return false;
  return true;
}
static double *doubles(int64_t n)
{
  double *x = NULL;
  assert_ok(memory_alloc("test", n, sizeof *x, &x));
  return x;
}

/* -grad p and div s of linear fields at faces inside, in every arrangement and basis */
static void linear_fields(int arrangement, int basis)
{
  static const double slope[3]              = {3.0, -5.0, 7.0},
                      rate[MAC_STRESSES][3] = {{1.0, 2.0, 3.0}, {-2.0, 1.0, 4.0}, {3.0, 1.0, -2.0}, {1.0, -4.0, 2.0}, {2.0, 5.0, 1.0}};
  mac_scene      c;
  mac_scene_spec m = scene_spec(MAC_ALL_ROUGH);
  mac_system     y = {0};
  mac_scene_create(&c, &m);
  c.o.arrangement = arrangement, c.o.basis = basis;
  assert_ok(mac_system_assemble(&c.s, &c.o, 0, NULL, 0.01, &y));
  assert_int_equal(y.n_cells, (int64_t)N * (N + 1) * (N + 2));
  if (arrangement == MAC_COLOCATED) assert_int_equal(y.n_stress, 5 * y.n_cells);
  double *p = doubles(y.n_cells), *s = doubles(y.n_stress), *force_p = doubles(y.n_faces), *force_s = doubles(y.n_faces);
  for (int64_t i = 0; i < y.n_cells; ++i) {
    double x[3];
    mac_cell_center(&c.s.grid, y.cell_slot[i], x);
    p[i] = 11.0 + v3_dot(slope, x);
  }
  for (int64_t i = 0; i < y.n_stress; ++i) {
    double x[3];
    mac_cell_center(&c.s.grid, y.stress_slot[i], x);
    const int o = 4 - y.component[i];
    for (int a = 0; arrangement == MAC_STAGGERED && y.component[i] > 1 && a < 3; ++a) x[a] -= a == o ? 0.0 : 0.5 * c.s.grid.h;
    s[i] = 2.0 + v3_dot(rate[y.component[i]], x);
    if (arrangement == MAC_COLOCATED) continue;
    /* Its cells surround it; unused entries follow. */
    double  mean[3] = {0.0, 0.0, 0.0}, center[3];
    int     n       = 0, is_inside;
    int32_t ijk[3];
    for (; n < 4 && y.sample_cells[i][n] >= 0; ++n) {
      mac_cell_center(&c.s.grid, y.cell_slot[y.sample_cells[i][n]], center);
      v3_axpy(mean, 1.0, center);
    }
    for (int q = n; q < 4; ++q) assert_int_equal(y.sample_cells[i][q], -1);
    mac_grid_cell(&c.s.grid, y.stress_slot[i], ijk);
    is_inside = is_inner(&c.s.grid, ijk, 2);
    if (y.component[i] < 2 || is_inside) assert_int_equal(n, y.component[i] < 2 ? 1 : 4);
    for (int a = 0; a < 3 && (y.component[i] < 2 || is_inside); ++a) assert_close(mean[a] / n, x[a], 1e-14);
  }
  sparse_rows_apply(&y.GT, p, force_p);
  sparse_rows_apply(&y.DT, s, force_s);
  double gradient[3][6], expected[3] = {0};
  for (int b = 0; b < 3; ++b) {
    double five[MAC_STRESSES];
    for (int q = 0; q < MAC_STRESSES; ++q) five[q] = rate[q][b];
    mac_stress_tensor(basis, five, gradient[b]);
  }
  static const int place[3][3] = {{0, 3, 4}, {3, 1, 5}, {4, 5, 2}}; /* of xx yy zz xy xz yz */
  for (int a = 0; a < 3; ++a)
    for (int b = 0; b < 3; ++b) expected[a] -= gradient[b][place[a][b]];
  int64_t n_tested = 0;
  for (int64_t f = 0; f < y.n_faces; ++f) {
    int32_t ijk[3];
    mac_grid_cell(&c.s.grid, y.face_slot[f], ijk);
    if (!is_inner(&c.s.grid, ijk, 2)) continue;
    assert_close(force_p[f], slope[y.face_axis[f]], 1e-11);
    assert_close(force_s[f], expected[y.face_axis[f]], 1e-11);
    ++n_tested;
  }
  assert_true(n_tested > 2000);
  memory_free(&p), memory_free(&s), memory_free(&force_p), memory_free(&force_s);
  mac_system_destroy(&y), mac_scene_destroy(&c);
}
static void linear_fields_give_constant_forces(void **unused)
{
  (void)unused;
  for (int arrangement = 0; arrangement < 2; ++arrangement)
    for (int basis = 0; basis < 2; ++basis) linear_fields(arrangement, basis);
  assert_no_leak();
}

/* Uniform pressure gives no force on an immersed body; a linear one gives the force of Archimedes' law. */
static void force_of_pressure(const mac_system *y, int32_t solid, double constant, const double slope[3], const mac_grid *g,
                              double total[6])
{
  for (int d = 0; d < 6; ++d) total[d] = 0.0;
  for (int64_t q = 0; q < y->F_p.n; ++q) {
    double x[3];
    if (y->F_p.solid[q] != solid) continue;
    mac_cell_center(g, y->cell_slot[y->F_p.sample[q]], x);
    for (int d = 0; d < 6; ++d) total[d] += (constant + v3_dot(slope, x)) * y->F_p.wrench[q][d];
  }
}
static void archimedes(void **unused)
{
  (void)unused;
  static const double none[3] = {0}, slope[3] = {300.0, -200.0, 500.0}, half[3] = {0.11, 0.08, 0.06};
  double              previous = 0.0;
  for (int level = 0; level < 3; ++level) {
    const int32_t  n = 12 << level;
    mac_scene      c;
    mac_scene_spec m = {.h = 0.6 / n, .n = {n, n, n}, .wall = MAC_ALL_ROUGH, .density = 1000.0, .friction = 0.4};
    mac_system     y = {0};
    level_set     *box;
    mac_scene_create(&c, &m);
    assert_ok(level_set_box((double[3]){-half[0], -half[1], -half[2]}, half, &box));
    mac_solid    solid = {.n = 1, .sets = &box, .frame = mac_frame_at(0.31, 0.287, 0.305), .is_unknown = true, .friction = INFINITY};
    const double angle = 0.5;
    solid.frame.R[0] = solid.frame.R[4] = cos(angle), solid.frame.R[1] = -sin(angle), solid.frame.R[3] = sin(angle);
    assert_ok(mac_system_assemble(&c.s, &c.o, 1, &solid, 0.01, &y));
    double uniform[6], linear[6], error = 0.0;
    force_of_pressure(&y, 0, 1e4, none, &c.s.grid, uniform);
    force_of_pressure(&y, 0, 0.0, slope, &c.s.grid, linear);
    for (int d = 0; d < 6; ++d) assert_close(uniform[d], 0.0, 1e-10);
    const double volume = 8.0 * half[0] * half[1] * half[2];
    for (int d = 0; d < 3; ++d) error = fmax(error, fabs(linear[d] + volume * slope[d]) / (volume * 500.0));
    for (int d = 3; d < 6; ++d) error = fmax(error, fabs(linear[d]) / (volume * 500.0 * 0.1));
    print_message("h = %g: error %.3g\n", m.h, error);
    assert_true(error < 0.6 * c.s.grid.h * c.s.grid.h / (half[2] * half[2]));
    if (level > 0) assert_true(error < previous / 3.0);
    previous = error;
    mac_system_destroy(&y), level_set_destroy(&box), mac_scene_destroy(&c);
  }
  assert_no_leak();
}

/* <G u, p> = <u, GT p>; a rigid motion strains nothing inside. */
static void transposes_and_rigid_motions(void **unused)
{
  (void)unused;
  static const double spin[3] = {1.0, -2.0, 0.7}, shift[3] = {3.0, 4.0, -1.0};
  mac_scene           c;
  mac_scene_spec      m = scene_spec(MAC_ALL_ROUGH);
  mac_system          y = {0};
  mac_scene_create(&c, &m);
  assert_ok(mac_system_assemble(&c.s, &c.o, 0, NULL, 0.01, &y));
  double *u = doubles(y.n_faces), *s = doubles(y.n_stress), *strain = doubles(y.n_stress), *force = doubles(y.n_faces),
         *p = doubles(y.n_cells), *divergence = doubles(y.n_cells), left = 0.0, right = 0.0, scale = 0.0;
  for (int64_t i = 0; i < y.n_stress; ++i) s[i] = random_range(3, (uint64_t)i, 0, -1.0, 1.0);
  for (int64_t f = 0; f < y.n_faces; ++f) u[f] = random_range(3, (uint64_t)f, 1, -1.0, 1.0);
  for (int64_t i = 0; i < y.n_cells; ++i) p[i] = random_range(3, (uint64_t)i, 2, -1.0, 1.0);
  sparse_rows_apply(&y.D, u, strain), sparse_rows_apply(&y.DT, s, force);
  for (int64_t i = 0; i < y.n_stress; ++i) left += s[i] * strain[i], scale += fabs(s[i] * strain[i]);
  for (int64_t f = 0; f < y.n_faces; ++f) right += u[f] * force[f];
  assert_close(left, right, 1e-14 * scale);
  sparse_rows_apply(&y.G, u, divergence), sparse_rows_apply(&y.GT, p, force);
  left = right = scale = 0.0;
  for (int64_t i = 0; i < y.n_cells; ++i) left += p[i] * divergence[i], scale += fabs(p[i] * divergence[i]);
  for (int64_t f = 0; f < y.n_faces; ++f) right += u[f] * force[f];
  assert_close(left, right, 1e-14 * scale);
  for (int64_t f = 0; f < y.n_faces; ++f) {
    double x[3], w[3];
    mac_face_center(&c.s.grid, y.face_slot[f], y.face_axis[f], x);
    v3_cross(w, spin, x);
    u[f] = shift[y.face_axis[f]] + w[y.face_axis[f]];
  }
  sparse_rows_apply(&y.D, u, strain), sparse_rows_apply(&y.G, u, divergence);
  int64_t n_moving = 0;
  for (int64_t i = 0; i < y.n_cells; ++i)
    for (int q = 0; q < MAC_STRESSES; ++q)
      if (is_inner(&c.s.grid, y.ijk[i], 1)) {
        assert_close(divergence[i], 0.0, 1e-11);
        assert_close(strain[5 * i + q], 0.0, 1e-11);
      } else n_moving += fabs(strain[5 * i + q]) > 1.0; /* against walls that stand still */
  assert_true(n_moving > y.n_cells / 10);
  memory_free(&u), memory_free(&s), memory_free(&strain), memory_free(&force), memory_free(&p), memory_free(&divergence);
  mac_system_destroy(&y), mac_scene_destroy(&c);
  assert_no_leak();
}

/* A uniform sliding over the floor strains the lowest layer by u/h, mu/M of it (a wall's own friction), or not at all. */
static double strain_at_floor(mac_wall floor, double wall_friction)
{
  mac_wall wall[3][2];
  memcpy(wall, MAC_ALL_ROUGH, sizeof wall);
  wall[2][0] = floor;
  mac_scene      c;
  mac_scene_spec m = scene_spec((const mac_wall(*)[2])wall);
  mac_system     y = {0};
  mac_scene_create(&c, &m);
  c.o.basis = MAC_COMPONENTS, c.o.wall_friction = wall_friction;
  assert_ok(mac_system_assemble(&c.s, &c.o, 0, NULL, 0.01, &y));
  double *u = doubles(y.n_faces), *strain = doubles(y.n_stress), answer = -1.0;
  for (int64_t f = 0; f < y.n_faces; ++f) u[f] = y.face_axis[f] == 0 ? c.s.grid.h : 0.0;
  sparse_rows_apply(&y.D, u, strain);
  for (int64_t i = 0; i < y.n_cells; ++i)
    if (y.ijk[i][0] == N / 2 && y.ijk[i][1] == N / 2 && y.ijk[i][2] == 0) answer = strain[5 * i + 3];
  memory_free(&u), memory_free(&strain);
  mac_system_destroy(&y), mac_scene_destroy(&c);
  return answer;
}
static void wall_friction_stops_sliding(void **unused)
{
  (void)unused;
  assert_close(strain_at_floor(MAC_WALL_ROUGH, NAN), 1.0, 1e-12);
  assert_close(strain_at_floor(MAC_WALL_ROUGH, 0.2), 0.4, 1e-12); /* M = 0.5 */
  assert_close(strain_at_floor(MAC_WALL_ROUGH, 0.7), 1.0, 1e-12);
  assert_close(strain_at_floor(MAC_WALL_SMOOTH, NAN), 0.0, 1e-12);
  assert_no_leak();
}

/* All six sides have the same boundary condition, and no cell beyond any of them is unknown. */
static void all_sides_have_the_same_boundary_condition(void **unused)
{
  (void)unused;
  mac_scene      c;
  mac_scene_spec m = scene_spec(MAC_ALL_ROUGH);
  mac_system     y = {0};
  mac_scene_create(&c, &m);
  c.o.basis = MAC_COMPONENTS;
  assert_ok(mac_system_assemble(&c.s, &c.o, 0, NULL, 0.01, &y));
  for (int64_t f = 0; f < y.n_faces; ++f) assert_true(mac_grid_has_face(&c.s.grid, y.face_axis[f], y.face_slot[f]));
  double *u = doubles(y.n_faces), *strain = doubles(y.n_stress);
  for (int side = 0; side < 12; ++side) { /* axis of the wall, lower or upper, one of two directions along it */
    const int axis = side / 4, t = (axis + 1 + side % 2) % 3, is_upper = side / 2 % 2, component = 4 - (3 - axis - t);
    int32_t   at[3]    = {N / 2, N / 2, N / 2};
    at[axis]           = is_upper ? c.s.grid.n[axis] - 1 : 0;
    const int64_t slot = mac_grid_slot(&c.s.grid, at[0], at[1], at[2]);
    for (int64_t f = 0; f < y.n_faces; ++f) u[f] = y.face_axis[f] == t ? c.s.grid.h : 0.0;
    sparse_rows_apply(&y.D, u, strain);
    assert_close(strain[5 * y.cell_of[slot] + component], is_upper ? -1.0 : 1.0, 1e-12);
  }
  memory_free(&u), memory_free(&strain);
  mac_system_destroy(&y), mac_scene_destroy(&c);
  assert_no_leak();
}

/* For any pressure and stress, forces and moments on the material and the bodies in it add up to zero. */
static bool blob(const double x[3]) { return fabs(x[0] - 0.5) < 0.26 && fabs(x[1] - 0.5) < 0.21 && x[2] > 0.3 && x[2] < 0.65 + 0.1 * x[0]; }
static void momentum_is_conserved(void **unused)
{
  (void)unused;
  for (int kind = 0; kind < 3; ++kind) {
    mac_scene      c;
    mac_scene_spec m = {
        .h = 1.0 / 24, .n = {24, 24, 24}, .wall = MAC_ALL_OPEN, .is_filled = blob, .density = 1600.0, .friction = 0.5, .jitter = 0.8};
    mac_system y = {0};
    level_set *ball, *box;
    mac_scene_create(&c, &m);
    c.o.arrangement = kind == 1, c.o.basis = kind == 1;
    if (kind == 2) c.o.fractions = MAC_FRACTIONS_AREA;
    assert_ok(level_set_sphere((double[3]){0.01, 0.0, 0.02}, 0.1, &ball));
    assert_ok(level_set_box((double[3]){-0.15, -0.012, -0.1}, (double[3]){0.15, 0.012, 0.1}, &box)); /* thinner than a cell */
    mac_solid    solid[2] = {{.n = 1, .sets = &ball, .frame = mac_frame_at(0.45, 0.52, 0.6), .is_unknown = true, .friction = 0.1},
                             {.n = 1, .sets = &box, .frame = mac_frame_at(0.55, 0.53, 0.5), .friction = INFINITY}};
    const double angle    = 0.4;
    solid[1].frame.R[0] = solid[1].frame.R[8] = cos(angle), solid[1].frame.R[2] = sin(angle), solid[1].frame.R[6] = -sin(angle);
    assert_ok(mac_system_assemble(&c.s, &c.o, 2, solid, 0.01, &y));
    double *p = doubles(y.n_cells), *s = doubles(y.n_stress), *fp = doubles(y.n_faces), *fs = doubles(y.n_faces), total[6] = {0},
           scale = 0.0;
    for (int64_t i = 0; i < y.n_cells; ++i) p[i] = random_range(5, (uint64_t)i, 0, 0.0, 1.0);
    for (int64_t i = 0; i < y.n_stress; ++i) s[i] = random_range(5, (uint64_t)i, 1, -1.0, 1.0);
    sparse_rows_apply(&y.GT, p, fp), sparse_rows_apply(&y.DT, s, fs);
    for (int64_t f = 0; f < y.n_faces; ++f) {
      double x[3], force[3] = {0}, moment[3];
      mac_face_center(&c.s.grid, y.face_slot[f], y.face_axis[f], x);
      force[y.face_axis[f]] = -y.weight[f] * (fp[f] + fs[f]);
      v3_cross(moment, x, force);
      for (int a = 0; a < 3; ++a) total[a] += force[a], total[3 + a] += moment[a], scale += fabs(force[a]);
    }
    for (int which = 0; which < 2; ++which) {
      const mac_coupling *F = which ? &y.F_s : &y.F_p;
      assert_true(F->n > 50);
      for (int64_t q = 0; q < F->n; ++q) {
        const double *w = F->wrench[q], value = which ? s[F->sample[q]] : p[F->sample[q]];
        double        moment[3];
        v3_cross(moment, solid[F->solid[q]].frame.c, w); /* from its origin to the world's */
        for (int a = 0; a < 3; ++a) total[a] += value * w[a], total[3 + a] += value * (w[3 + a] + moment[a]);
        if (q) assert_true(F->sample[q] > F->sample[q - 1] || (F->sample[q] == F->sample[q - 1] && F->solid[q] > F->solid[q - 1]));
      }
    }
    for (int d = 0; d < 6; ++d) assert_close(total[d], 0.0, 1e-13 * scale);
    memory_free(&p), memory_free(&s), memory_free(&fp), memory_free(&fs);
    mac_system_destroy(&y), level_set_destroy(&ball), level_set_destroy(&box), mac_scene_destroy(&c);
  }
  assert_no_leak();
}

/* Conjugate gradients on G diag(weight mobility) GT p = G (weight u*), Jacobi-scaled. */
static void project(const mac_system *y, double *p, double *u)
{
  double *r = doubles(y->n_cells), *z = doubles(y->n_cells), *d = doubles(y->n_cells), *q = doubles(y->n_cells),
         *diagonal = doubles(y->n_cells), *f = doubles(y->n_faces), rz = 0.0, first = 0.0;
  for (int64_t i = 0; i < y->n_cells; ++i)
    for (int64_t k = y->G.start[i]; k < y->G.start[i + 1]; ++k)
      diagonal[i] += y->G.value[k] * y->G.value[k] * y->weight[y->G.col[k]] * y->mobility[y->G.col[k]];
  for (int64_t k = 0; k < y->n_faces; ++k) f[k] = y->weight[k] * y->u[k];
  sparse_rows_apply(&y->G, f, r);
  for (int64_t i = 0; i < y->n_cells; ++i) d[i] = z[i] = r[i] / diagonal[i], rz += r[i] * z[i], p[i] = 0.0;
  first = rz;
  for (int it = 0; it < 2000 && rz > 1e-30 * first; ++it) {
    double dq = 0.0, next = 0.0;
    sparse_rows_apply(&y->GT, d, f);
    for (int64_t k = 0; k < y->n_faces; ++k) f[k] *= y->weight[k] * y->mobility[k];
    sparse_rows_apply(&y->G, f, q);
    for (int64_t i = 0; i < y->n_cells; ++i) dq += d[i] * q[i];
    for (int64_t i = 0; i < y->n_cells; ++i) p[i] += rz / dq * d[i], r[i] -= rz / dq * q[i], z[i] = r[i] / diagonal[i], next += r[i] * z[i];
    for (int64_t i = 0; i < y->n_cells; ++i) d[i] = z[i] + next / rz * d[i];
    rz = next;
  }
  sparse_rows_apply(&y->GT, p, f);
  for (int64_t k = 0; k < y->n_faces; ++k) u[k] = y->u[k] - y->mobility[k] * f[k];
  memory_free(&r), memory_free(&z), memory_free(&d), memory_free(&q), memory_free(&diagonal), memory_free(&f);
}

/* Water and sand at rest over a floor, of the box or of a solid anywhere in its cell, oblique too: nothing moves, and p grows by
 * rho g h per layer. */
static bool pool(const double x[3]) { return x[2] < 0.5; }
static bool over_slope(const double x[3]) { return x[2] < 0.5 && 0.28 * x[0] + 0.96 * x[2] > 0.17; }
static bool over_floor(const double x[3]) { return x[2] < 0.5 && x[2] > 0.14; }
static void rests(bool (*is_filled)(const double x[3]), double friction, const double normal[3], double offset)
{
  static const double g = 9.81, rho = 1000.0, dt = 0.002;
  mac_scene           c;
  mac_scene_spec m = {.h = 1.0 / 16, .n = {16, 5, 16}, .wall = MAC_ALL_ROUGH, .is_filled = is_filled, .density = rho, .friction = friction};
  mac_system     y = {0};
  level_set     *plane = NULL;
  mac_solid      solid = {.n = 1, .sets = &plane, .frame = mac_frame_at(0.0, 0.0, 0.0), .friction = INFINITY};
  mac_scene_create(&c, &m);
  if (normal) assert_ok(level_set_plane(normal, offset, &plane));
  const double fall[3] = {0.0, 0.0, -dt * g};
  mac_state_accelerate(&c.s, fall);
  assert_ok(mac_system_assemble(&c.s, &c.o, normal ? 1 : 0, &solid, dt, &y));
  double *p = doubles(y.n_cells), *u = doubles(y.n_faces);
  project(&y, p, u);
  for (int64_t f = 0; f < y.n_faces; ++f) assert_close(u[f] / (dt * g), 0.0, 1e-10);
  int64_t n_tested = 0;
  for (int64_t i = 0; i < y.n_cells; ++i) { /* against the cell above, or the surface above it */
    const int32_t *at = y.ijk[i], up = c.s.grid.n[2];
    const int64_t  above = mac_grid_slot(&c.s.grid, at[0], at[1], at[2] + 1);
    if (above < 0 || at[2] + 1 >= up || y.face_of[2][above] < 0) continue;
    const int32_t face         = y.face_of[2][above];
    const double  weight_above = dt / y.mobility[face] * g * m.h; /* rho W_L g h */
    const double  p_above      = y.cell_of[above] >= 0 ? p[y.cell_of[above]] : 0.0;
    assert_close(p[i] - p_above, weight_above, 1e-10 * rho * g * 0.5);
    if (y.cell_of[above] >= 0 && friction == 0.0) assert_close(weight_above, rho * g * m.h, 1e-9);
    ++n_tested;
  }
  assert_true(n_tested > 300);
  memory_free(&p), memory_free(&u);
  mac_system_destroy(&y), level_set_destroy(&plane), mac_scene_destroy(&c);
}
static void hydrostatics(void **unused)
{
  (void)unused;
  static const double slope[3] = {0.28, 0.0, 0.96}, up[3] = {0.0, 0.0, 1.0};
  rests(pool, 0.0, NULL, 0.0);
  rests(pool, 0.5, NULL, 0.0);
  rests(over_slope, 0.0, slope, 0.17);
  for (int q = 0; q < 5; ++q) rests(over_floor, 0.0, up, (2.0 + 0.25 * q) / 16.0); /* at borders of cells, and in both halves */
  assert_no_leak();
}

static void same_matrix(const sparse_rows *a, const sparse_rows *b)
{
  assert_int_equal(a->n_rows, b->n_rows);
  assert_memory_equal(a->start, b->start, (size_t)(a->n_rows + 1) * sizeof *a->start);
  assert_memory_equal(a->col, b->col, (size_t)a->start[a->n_rows] * sizeof *a->col);
  assert_memory_equal(a->value, b->value, (size_t)a->start[a->n_rows] * sizeof *a->value);
}
static void same_coupling(const mac_coupling *a, const mac_coupling *b)
{
  assert_int_equal(a->n, b->n);
  assert_memory_equal(a->sample, b->sample, (size_t)a->n * sizeof *a->sample);
  assert_memory_equal(a->solid, b->solid, (size_t)a->n * sizeof *a->solid);
  assert_memory_equal(a->wrench, b->wrench, (size_t)a->n * sizeof *a->wrench);
}
static void is_transpose(const sparse_rows *a, const sparse_rows *of)
{
  sparse_rows t = {0};
  assert_ok(sparse_rows_transposed(of, &t));
  same_matrix(a, &t);
  sparse_rows_destroy(&t);
}
static void the_same_bits_on_any_number_of_threads(void **unused)
{
  (void)unused;
  for (int kind = 0; kind < 4; ++kind) {
    mac_scene      c[3];
    mac_system     y[3] = {{0}};
    level_set     *ball;
    mac_scene_spec m = {.h         = 1.0 / 24,
                        .n         = {24, 24, 24},
                        .wall      = kind & 1 ? MAC_ALL_PERIODIC : MAC_ALL_ROUGH,
                        .is_filled = blob,
                        .density   = 1600.0,
                        .friction  = 0.5,
                        .jitter    = 0.8};
    assert_ok(level_set_sphere((double[3]){0.0, 0.0, 0.0}, 0.1, &ball));
    const mac_solid solid = {.n = 1, .sets = &ball, .frame = mac_frame_at(0.45, 0.52, 0.6), .friction = 0.2};
    for (int t = 0; t < 3; ++t) {
      team_set_threads(t + 1);
      mac_scene_create(&c[t], &m);
      c[t].o.arrangement = kind == 1;
      for (int again = 0; again <= t; ++again)
        assert_ok(mac_system_assemble(&c[t].s, &c[t].o, 1, &solid, 0.01, &y[t])); /* into what is there */
      same_matrix(&y[t].G, &y[0].G), same_matrix(&y[t].GT, &y[0].GT), same_matrix(&y[t].D, &y[0].D), same_matrix(&y[t].DT, &y[0].DT);
      is_transpose(&y[t].GT, &y[t].G), is_transpose(&y[t].DT, &y[t].D);
      same_coupling(&y[t].F_p, &y[0].F_p), same_coupling(&y[t].F_s, &y[0].F_s);
      assert_memory_equal(y[t].mobility, y[0].mobility, (size_t)y[0].n_faces * sizeof *y[0].mobility);
      assert_memory_equal(y[t].weight, y[0].weight, (size_t)y[0].n_faces * sizeof *y[0].weight);
      assert_memory_equal(y[t].u, y[0].u, (size_t)y[0].n_faces * sizeof *y[0].u);
      for (int a = 0; a < 3; ++a) assert_memory_equal(c[t].s.u[a], c[0].s.u[a], (size_t)c[0].s.grid.n_slots * sizeof(double));
    }
    team_set_threads(1);
    for (int t = 0; t < 3; ++t) mac_system_destroy(&y[t]), mac_scene_destroy(&c[t]);
    level_set_destroy(&ball);
  }
  assert_no_leak();
}

/* A slab on a solid plane, anywhere in its cell and oblique, under hydrostatic pressure at yield in simple shear along the
 * plane: the shear force on the plane is the material's own M p, or that of a smaller wall friction, within 2 % of M. */
static double shear_on_plane(double slope, double offset, double friction, double *pressure)
{
  const double   normal[3] = {-sin(slope), 0.0, cos(slope)}, along[3] = {cos(slope), 0.0, sin(slope)};
  mac_scene      c;
  mac_scene_spec m = {.h = 1.0 / 12, .n = {16, 6, 12}, .wall = MAC_ALL_SMOOTH, .density = 1600.0, .friction = 0.5};
  mac_system     y = {0};
  level_set     *plane;
  double         total[6] = {0}, tensor[3][3];
  mac_scene_create(&c, &m);
  assert_ok(level_set_plane(normal, offset, &plane));
  const mac_solid solid = {.n = 1, .sets = &plane, .frame = mac_frame_at(0.0, 0.0, 0.0), .friction = friction};
  assert_ok(mac_system_assemble(&c.s, &c.o, 1, &solid, 0.01, &y));
  for (int a = 0; a < 3; ++a) /* p = 1, s = M (n t + t n) */
    for (int b = 0; b < 3; ++b) tensor[a][b] = 0.5 * (normal[a] * along[b] + along[a] * normal[b]);
  *pressure = 0.0;
  for (int64_t q = 0; q < y.F_p.n; ++q) { /* away from the ends */
    const int32_t *at = y.ijk[y.F_p.sample[q]];
    if (at[0] >= 4 && at[0] < 12) *pressure -= v3_dot(normal, y.F_p.wrench[q]);
  }
  for (int64_t q = 0; q < y.F_s.n; ++q) {
    const int64_t  i                  = y.F_s.sample[q];
    double         unit[MAC_STRESSES] = {0}, e[6];
    const int32_t *at                 = y.ijk[i / 5];
    if (at[0] < 4 || at[0] >= 12 || !(y.friction[i / 5] > 0.0)) continue;
    unit[y.component[i]] = 1.0;
    mac_stress_tensor(y.basis, unit, e);
    const double five = e[0] * tensor[0][0] + e[1] * tensor[1][1] + e[2] * tensor[2][2] +
                        2.0 * (e[3] * tensor[0][1] + e[4] * tensor[0][2] + e[5] * tensor[1][2]);
    for (int d = 0; d < 6; ++d) total[d] += five * y.F_s.wrench[q][d];
  }
  mac_system_destroy(&y), level_set_destroy(&plane), mac_scene_destroy(&c);
  return v3_dot(along, total);
}
static void friction_of_solids_stops_sliding(void **unused)
{
  (void)unused;
  for (int tilt = 0; tilt < 3; ++tilt)
    for (int q = 0; q < 5; ++q) {
      const double slope = 0.2 * tilt, offset = (2.2 + 0.2 * q) / 12.0;
      double       pressure, own              = shear_on_plane(slope, offset, INFINITY, &pressure), less, none;
      less = shear_on_plane(slope, offset, 0.2, &pressure), none = shear_on_plane(slope, offset, 0.0, &pressure);
      assert_close(own / pressure, 0.5, slope > 0.0 ? 0.015 : 1e-12);
      assert_close(less / pressure, 0.2, slope > 0.0 ? 0.01 : 1e-12);
      assert_close(none / pressure, 0.0, slope > 0.0 ? 0.01 : 1e-12);
    }
  assert_no_leak();
}

/* A block that stands on the floor of the box and continues below it: uniform pressure gives a downward force of p times its
 * base, and no other force. */
static void bodies_on_the_floor(void **unused)
{
  (void)unused;
  static const double none[3] = {0};
  for (int q = 0; q < 3; ++q) {
    mac_scene      c;
    mac_scene_spec m = {.h = 0.05, .n = {16, 16, 12}, .wall = MAC_ALL_ROUGH, .density = 1000.0, .friction = q ? 0.4 : 0.0};
    mac_system     y = {0};
    level_set     *box;
    double         total[6];
    mac_scene_create(&c, &m);
    assert_ok(level_set_box((double[3]){-0.13, -0.1, -0.2}, (double[3]){0.13, 0.1, 0.1}, &box));
    const mac_solid solid = {
        .n = 1, .sets = &box, .frame = mac_frame_at(0.41, 0.377, q == 2 ? 0.2 : 0.12), .is_unknown = true, .friction = INFINITY};
    assert_ok(mac_system_assemble(&c.s, &c.o, 1, &solid, 0.01, &y));
    force_of_pressure(&y, 0, 1.0, none, &c.s.grid, total);
    for (int d = 0; d < 2; ++d) assert_close(total[d], 0.0, 1e-15);
    assert_close(total[2], -0.26 * 0.2,
                 q < 2 ? 0.25 * m.h * m.h : 0.1 * m.h * 0.92); /* its edges are rounded: four upright ones, or all around its base */
    for (int d = 3; d < 6; ++d) assert_close(total[d], 0.0, 0.05 * m.h * 0.26 * 0.2); /* lever arms are those of faces, cut or not */
    mac_system_destroy(&y), level_set_destroy(&box), mac_scene_destroy(&c);
  }
  assert_no_leak();
}

/* A tilted shell two cells thick contains the water: at rest it bears its weight, and only a trace acts across. */
static bool in_shell(const double x[3])
{
  const double angle = 0.3, d[3] = {x[0] - 0.5, x[1] - 0.5, x[2] - 0.5}, u = cos(angle) * d[0] + sin(angle) * d[2],
               w = cos(angle) * d[2] - sin(angle) * d[0];
  return fabs(u) < 0.25 && fabs(d[1]) < 0.25 && fabs(w) < 0.25 && x[2] < 0.5;
}
static void hollow_bodies_carry_their_content(void **unused)
{
  (void)unused;
  static const double g = 9.81, dt = 0.002, rho = 1000.0;
  mac_scene           c;
  mac_scene_spec      m = {.h = 1.0 / 32, .n = {32, 32, 32}, .wall = MAC_ALL_OPEN, .is_filled = in_shell, .density = rho};
  mac_system          y = {0};
  level_set          *outer, *inner, *shell;
  mac_scene_create(&c, &m);
  assert_ok(level_set_box((double[3]){-0.3125, -0.3125, -0.3125}, (double[3]){0.3125, 0.3125, 0.3125}, &outer));
  assert_ok(level_set_box((double[3]){-0.25, -0.25, -0.25}, (double[3]){0.25, 0.25, 0.25}, &inner));
  assert_ok(level_set_difference(outer, inner, &shell));
  mac_solid    solid = {.n = 1, .sets = &shell, .frame = mac_frame_at(0.5, 0.5, 0.5), .friction = INFINITY};
  const double angle = 0.3, fall[3] = {0.0, 0.0, -dt * g};
  solid.frame.R[0] = solid.frame.R[8] = cos(angle), solid.frame.R[2] = -sin(angle), solid.frame.R[6] = sin(angle);
  mac_state_accelerate(&c.s, fall);
  assert_ok(mac_system_assemble(&c.s, &c.o, 1, &solid, dt, &y));
  double *p = doubles(y.n_cells), *u = doubles(y.n_faces), total[6] = {0};
  project(&y, p, u);
  for (int64_t q = 0; q < y.F_p.n; ++q)
    for (int d = 0; d < 6; ++d) total[d] += p[y.F_p.sample[q]] * y.F_p.wrench[q][d];
  const double weight = rho * g * (double)c.n * m.h * m.h * m.h / 8.0;
  assert_close(total[2], -weight, 0.04 * weight);
  assert_close(total[0], 0.0, 0.01 * weight);
  assert_close(total[1], 0.0, 1e-9 * weight);
  memory_free(&p), memory_free(&u);
  mac_system_destroy(&y), level_set_destroy(&shell), mac_scene_destroy(&c);
  assert_no_leak();
}

/* Material on a rough wall is slowed by M times the momentum that its own faces bring to the wall: against its motion, to rest
 * and no further; not by smooth walls. */
static bool   thin(const double x[3]) { return x[2] < 0.1; }
static double speed_left(mac_wall floor, double fall, double wall_friction, double *direction)
{
  mac_wall wall[3][2];
  memcpy(wall, MAC_ALL_PERIODIC, sizeof wall);
  wall[2][0] = floor, wall[2][1] = MAC_WALL_SMOOTH;
  mac_scene      c;
  mac_scene_spec m = {.h = 0.1, .n = {8, 8, 8}, .wall = (const mac_wall(*)[2])wall, .is_filled = thin, .density = 1500.0, .friction = 0.5};
  mac_system     y = {0};
  mac_scene_create(&c, &m);
  c.o.wall_friction        = wall_friction;
  static const double u[3] = {0.3, 0.4, -1.0};
  for (int a = 0; a < 3; ++a)
    for (int64_t s = 0; s < c.s.grid.n_slots; ++s) c.s.u[a][s] = c.s.mass[a][s] > 0.0 ? u[a] * (a == 2 ? fall : 1.0) : 0.0;
  assert_ok(mac_system_assemble(&c.s, &c.o, 0, NULL, 0.01, &y));
  const int64_t slot    = mac_grid_slot(&c.s.grid, 0, 5, 0);
  const double  left[2] = {c.s.u[0][slot], c.s.u[1][slot]};
  *direction            = left[0] * u[1] - left[1] * u[0];
  mac_system_destroy(&y), mac_scene_destroy(&c);
  return hypot(left[0], left[1]);
}
static void walls_slow_material_that_lies_on_them(void **unused)
{
  (void)unused;
  static const double share = 0.5; /* of the layer's mass: on the wall's faces */
  double              direction;
  for (int upwards = 0; upwards < 2; ++upwards) {
    assert_close(speed_left(MAC_WALL_ROUGH, upwards ? -0.2 : 0.2, NAN, &direction), 0.5 - (upwards ? 0.0 : 0.5 * share * 0.2), 1e-12);
    assert_close(direction, 0.0, 1e-12);
  }
  assert_close(speed_left(MAC_WALL_ROUGH, 0.2, 0.3, &direction), 0.5 - 0.3 * share * 0.2, 1e-12);
  assert_close(speed_left(MAC_WALL_ROUGH, 0.2, 0.9, &direction), 0.5 - 0.5 * share * 0.2, 1e-12);
  assert_close(speed_left(MAC_WALL_ROUGH, 20.0, NAN, &direction), 0.0, 0.0);
  assert_close(speed_left(MAC_WALL_SMOOTH, 0.2, NAN, &direction), 0.5, 1e-15);
  assert_no_leak();
}

/* A layer, 7 cells deep: edges on its surface, with no continuum on one side, carry no stress, so no faces beyond it are
 * unknown. Light faces there take the velocity of adjacent unknown faces, and material that falls towards the surface continues
 * to fall. */
static bool is_layer(const double x[3]) { return x[2] < 0.35; }
static void surfaces_are_free(void **unused)
{
  (void)unused;
  mac_scene      c;
  mac_scene_spec m     = {.h = 0.05, .n = {8, 8, 12}, .wall = MAC_ALL_ROUGH, .is_filled = is_layer, .density = 1500.0, .friction = 0.5};
  mac_system     y     = {0};
  int            n_top = 0, n_light = 0;
  mac_scene_create(&c, &m);
  const mac_grid *g = &c.s.grid;
  for (int64_t slot = 0; slot < g->n_slots; ++slot)
    for (int a = 0; a < 3; ++a)
      if (c.s.mass[a][slot] > 0.0) c.s.u[a][slot] = a == 2 ? -3.0 : 1.0;
  assert_ok(mac_system_assemble(&c.s, &c.o, 0, NULL, 0.01, &y));
  int32_t top = 0;
  for (int64_t i = 0; i < y.n_cells; ++i) top = y.ijk[i][2] > top ? y.ijk[i][2] : top;
  double *u = doubles(y.n_faces);
  for (int64_t f = 0; f < y.n_faces; ++f) u[f] = 7.0;
  mac_system_store_velocity(&y, u, &c.s);
  for (int32_t i = 2; i < 7; ++i) /* away from walls */
    for (int32_t j = 2; j < 7; ++j) {
      const int64_t above = mac_grid_slot(g, i, j, top + 1), far = mac_grid_slot(g, i, j, top + 2);
      for (int a = 0; a < 2; ++a) {
        assert_close(y.edge_weight[a][above], 0.0, 0.0);
        assert_true(y.edge_weight[a][mac_grid_slot(g, i, j, top)] > 0.0);
        assert_int_equal(y.face_of[a][above], -1);
        if (!(c.s.mass[a][above] > 0.0)) continue;
        assert_close(c.s.u[a][above], 7.0, 0.0);
        ++n_light;
      }
      if (far >= 0 && c.s.mass[2][far] > 0.0) assert_close(c.s.u[2][far], -3.0, 0.0);
      ++n_top;
    }
  assert_true(n_top == 25 && n_light == 50);
  memory_free(&u);
  mac_system_destroy(&y), mac_scene_destroy(&c);
  assert_no_leak();
}

/* Water up to half a cell above the highest active centre: the faces beyond are accelerated like those below, except those that
 * are faster already; a sheet that flies above is not. */
static bool up_to_the_half(const double x[3]) { return x[2] < 8.5 / 16 || (x[2] > 11.0 / 16 && x[2] < 11.5 / 16); }
static void crests_are_carried_at(double ahead)
{
  mac_scene      c;
  mac_scene_spec m = {.h = 1.0 / 16, .n = {16, 16, 16}, .wall = MAC_ALL_ROUGH, .is_filled = up_to_the_half, .density = 1000.0};
  mac_system     y = {0};
  mac_scene_create(&c, &m);
  c.o.fractions = MAC_FRACTIONS_AREA;
  for (int a = 0; a < 3; ++a)
    for (int64_t slot = 0; slot < c.s.grid.n_slots; ++slot) c.s.u[a][slot] = c.s.mass[a][slot] > 0.0 ? -2.0 : 0.0;
  assert_ok(mac_system_assemble(&c.s, &c.o, 0, NULL, 0.01, &y));
  for (int a = 0; a < 3; ++a)
    for (int64_t slot = 0; slot < c.s.grid.n_slots; ++slot)
      if (c.s.mass[a][slot] > 0.0 && y.face_of[a][slot] < 0) c.s.u[a][slot] += ahead;
  const double at_top = -2.0 + ahead + (ahead > 0.0 ? 0.0 : 0.75), beyond = -2.0 + ahead;
  double      *u = NULL;
  assert_ok(memory_alloc("u", y.n_faces, sizeof *u, &u));
  for (int64_t f = 0; f < y.n_faces; ++f) u[f] = y.u[f] + 0.75;
  mac_system_store_velocity(&y, u, &c.s);
  const struct {
    int     axis;
    int32_t k;
    double  u;
  } expected[] = {{2, 8, -1.25}, {2, 9, at_top}, {0, 7, -1.25}, {0, 8, at_top}, {2, 11, beyond}, {0, 11, beyond}};
  for (size_t q = 0; q < sizeof expected / sizeof *expected; ++q) {
    const int64_t slot = mac_grid_slot(&c.s.grid, 5, 6, expected[q].k);
    assert_true(slot >= 0);
    assert_int_equal(y.face_of[expected[q].axis][slot] >= 0, expected[q].k + (expected[q].axis == 0) < 9);
    assert_close(c.s.u[expected[q].axis][slot], expected[q].u, 1e-14);
  }
  memory_free(&u), mac_system_destroy(&y), mac_scene_destroy(&c);
}
static void faces_above_the_surface_are_accelerated(void **unused)
{
  (void)unused;
  crests_are_carried_at(0.0);
  crests_are_carried_at(-0.5);
  crests_are_carried_at(0.5);
  assert_no_leak();
}

/* --- which cells are active: dense and filled ones ------------------------------------------------------------------- */

/* A hill around a box, or without one. */
static const double block_half[3] = {0.26, 0.23, 0.17}, block_at[3] = {0.42, 0.47, 0.25};
static bool         has_block;
static bool         hill(const double x[3])
{
  bool is_in_block = has_block;
  for (int a = 0; a < 3; ++a) is_in_block = is_in_block && fabs(x[a] - block_at[a]) < block_half[a];
  return x[2] < 0.3 + 0.3 * x[0] && x[0] + x[1] < 1.3 && !is_in_block;
}

/* Friction and rest density of cells in solids are means of the cells with material around them. */
static void cells_in_solids_have_the_constants_around_them(void **unused)
{
  (void)unused;
  const double   normal[3] = {-0.28, 0.0, 0.96};
  mac_scene      c;
  mac_scene_spec m = {.h = 1.0 / 12, .n = {16, 6, 12}, .wall = MAC_ALL_SMOOTH, .density = 1600.0, .friction = 0.5};
  mac_system     y = {0};
  level_set     *plane;
  int            n_tested = 0, n_own = 0;
  mac_scene_create(&c, &m);
  assert_ok(level_set_plane(normal, 0.3, &plane));
  const mac_solid solid = {.n = 1, .sets = &plane, .frame = mac_frame_at(0.0, 0.0, 0.0), .friction = 0.3};
  const mac_grid *g     = &c.s.grid;
  for (int64_t i = 0; i < g->n_slots; ++i) {
    double x[3];
    mac_cell_center(g, i, x);
    const bool has      = v3_dot(normal, x) > 0.3;
    c.s.friction[i]     = has ? 0.1 + 0.01 * (double)(i % 7) : 0.0;
    c.s.rest_density[i] = has ? 0.3 + 0.05 * (double)(i % 11) : 0.0; /* material of any density, also below 1 */
  }
  assert_ok(mac_system_assemble(&c.s, &c.o, 1, &solid, 0.01, &y));
  for (int64_t i = 0; i < y.n_cells; ++i) {
    double         friction = 0.0, density = 0.0;
    int            n  = 0;
    const int32_t *at = y.ijk[i];
    if (y.weights.cell_fluid[y.cell_slot[i]] > 0.0 || c.s.rest_density[y.cell_slot[i]] > 0.0) continue;
    for (int a = -1; a <= 1; ++a)
      for (int b = -1; b <= 1; ++b)
        for (int d = -1; d <= 1; ++d) {
          const int64_t slot = mac_grid_slot(g, at[0] + a, at[1] + b, at[2] + d);
          if (slot < 0 || !(c.s.rest_density[slot] > 0.0)) continue;
          friction += c.s.friction[slot], density += c.s.rest_density[slot], ++n;
        }
    if (n == 0) continue;
    assert_close(y.friction[i], friction / n, 1e-15);
    assert_close(y.rest_density[i], density / n, 1e-12);
    ++n_tested;
  }
  assert_true(n_tested > 0);
  mac_system_destroy(&y);
  n_tested      = 0; /* faces: the cells at their sides, else all around; with ghost values its mobility is the step over this density */
  c.o.fractions = MAC_FRACTIONS_GHOST;
  assert_ok(mac_system_assemble(&c.s, &c.o, 1, &solid, 0.01, &y));
  for (int64_t f = 0; f < y.n_faces; ++f) {
    const int     axis = y.face_axis[f];
    const int64_t slot = y.face_slot[f];
    int32_t       at[3];
    double        density = 0.0;
    int           n       = 0;
    mac_grid_cell(g, slot, at);
    const int64_t before = mac_grid_slot(g, at[0] - (axis == 0), at[1] - (axis == 1), at[2] - (axis == 2));
    if (before < 0 || y.weights.face_liquid[axis][slot] < 1.0) continue;
    for (int q = 0; q < 2; ++q) {
      const double own = c.s.rest_density[q ? before : slot];
      if (own > 0.0) density += own, ++n, ++n_own;
    }
    for (int q = 0, n_next = n; q < 27 && n_next == 0; ++q) {
      const int64_t other = mac_grid_slot(g, at[0] + q / 9 - 1, at[1] + q / 3 % 3 - 1, at[2] + q % 3 - 1);
      if (other >= 0 && c.s.rest_density[other] > 0.0) density += c.s.rest_density[other], ++n;
    }
    if (n == 0) continue;
    assert_close(0.01 / y.mobility[f], density / n, 1e-12);
    n_tested += n > 1;
  }
  assert_true(n_tested > 0 && n_own > 0);
  mac_system_destroy(&y), level_set_destroy(&plane), mac_scene_destroy(&c);
}

/* Cells that a solid cuts are compared by the density in their open part; with ghost values density does not count. */
static void check_active_cells(bool has_solid, int fractions)
{
  int64_t        n_active = 0, n_empty = 0, n_sparse = 0, n_cut = 0, n_closed = 0;
  mac_scene      c;
  mac_scene_spec m = {
      .h = 0.1, .n = {10, 10, 10}, .wall = MAC_ALL_ROUGH, .is_filled = hill, .density = 1500.0, .friction = 0.5, .jitter = 0.8};
  mac_system y = {0};
  level_set *box;
  has_block = has_solid;
  mac_scene_create(&c, &m);
  c.o.fractions = fractions;
  for (int64_t s = 0; s < c.s.grid.n_slots; ++s)
    if (s % 7 == 0) c.s.rho[s] *= 0.45; /* some cells on both sides of the threshold */
  assert_ok(level_set_box((double[3]){-block_half[0], -block_half[1], -block_half[2]}, block_half, &box));
  const mac_solid solid = {
      .n = 1, .sets = &box, .frame = mac_frame_at(block_at[0], block_at[1], block_at[2]), .is_unknown = true, .friction = INFINITY};
  assert_ok(mac_system_assemble(&c.s, &c.o, has_solid, &solid, 0.01, &y));
  for (int64_t s = 0; s < c.s.grid.n_slots; ++s) {
    int32_t ijk[3];
    mac_grid_cell(&c.s.grid, s, ijk);
    bool         is_open = false;
    const double share   = c.s.rho[s] / 1500.0 + 1.0 - y.weights.cell_fluid[s];
    const bool   is_in = mac_grid_is_inside(&c.s.grid, ijk), is_dense = fractions == MAC_FRACTIONS_GHOST || share > 0.4,
               is_filled = y.weights.cell_liquid[s] > 0.01;
    for (int a = 0; a < 3 && is_in; ++a) {
      const int64_t upper = mac_grid_slot(&c.s.grid, ijk[0] + (a == 0), ijk[1] + (a == 1), ijk[2] + (a == 2));
      is_open             = is_open || y.weights.face_fluid[a][s] > 0.0 || (upper >= 0 && y.weights.face_fluid[a][upper] > 0.0);
    }
    assert_int_equal(y.cell_of[s] >= 0, is_in && is_dense && is_filled && is_open);
    n_active += y.cell_of[s] >= 0, n_empty += is_in && !is_filled, n_sparse += is_in && is_filled && !is_dense;
    n_cut += y.cell_of[s] >= 0 && c.s.rho[s] <= 0.4 * 1500.0, n_closed += is_in && is_dense && is_filled && !is_open;
  }
  mac_system_destroy(&y), mac_scene_destroy(&c), level_set_destroy(&box);
  assert_true(n_active > 100 && n_empty > 10);
  assert_true(fractions == MAC_FRACTIONS_GHOST ? n_cut > 0 : n_sparse > 10);
  assert_true(!has_solid || (n_cut > 10 && n_closed > 0));
}

static void dense_and_filled_cells_are_active(void **unused)
{
  (void)unused;
  check_active_cells(false, MAC_FRACTIONS_VOLUME);
  check_active_cells(true, MAC_FRACTIONS_VOLUME);
  check_active_cells(false, MAC_FRACTIONS_GHOST);
  assert_no_leak();
}

/* --- loans of mass --------------------------------------------------------------------------------------------------- */

static double momentum_of_axis(const mac_state *s, int axis)
{
  double sum = 0.0;
  for (int64_t i = 0; i < s->grid.n_slots; ++i) sum += s->mass[axis][i] * s->u[axis][i];
  return sum;
}

/* A full box in which a few faces have nearly no mass: each gets the smallest mass of 0.4 x 0.05 of a full face from its neighbours
 * along all axes, in equal parts, but nothing from another light face. Mass and momentum are conserved when masses are lent and,
 * after any change of the velocities, when they are returned. */
static void light_faces_borrow_mass(void **unused)
{
  static const int32_t light[][3] = {{4, 4, 4}, {4, 4, 5}, {2, 6, 6}, {7, 7, 2}, {7, 7, 3}, {7, 6, 3}};
  static const int     axis_of[] = {0, 0, 1, 2, 2, 2}, lenders[] = {5, 5, 6, 5, 4, 5};
  enum { N_LIGHT = sizeof axis_of / sizeof *axis_of };
  mac_scene      c;
  mac_scene_spec m = {.h = 0.1, .n = {10, 10, 10}, .wall = MAC_ALL_SMOOTH, .density = 1500.0, .friction = 0.5};
  mac_system     y = {0};
  double         before[3], mass[3] = {0.0}, lent[3] = {0.0};
  int64_t        n_loans = 0;
  (void)unused;
  mac_scene_create(&c, &m);
  for (int a = 0; a < 3; ++a)
    for (int64_t s = 0; s < c.s.grid.n_slots; ++s)
      c.s.u[a][s] = mac_grid_is_closed(&c.s.grid, a, s) ? 0.0 : random_range(4, (uint64_t)s, (uint64_t)a, -1.0, 1.0);
  for (int k = 0; k < N_LIGHT; ++k) c.s.mass[axis_of[k]][mac_grid_slot(&c.s.grid, light[k][0], light[k][1], light[k][2])] = 1e-4;
  for (int a = 0; a < 3; ++a) {
    before[a] = momentum_of_axis(&c.s, a);
    for (int64_t s = 0; s < c.s.grid.n_slots; ++s) mass[a] += c.s.mass[a][s];
  }
  assert_ok(mac_system_assemble(&c.s, &c.o, 0, NULL, 0.01, &y));
  for (int k = 0; k < N_LIGHT; ++k) {
    const int     a    = axis_of[k];
    const int32_t face = y.face_of[a][mac_grid_slot(&c.s.grid, light[k][0], light[k][1], light[k][2])];
    int           n    = 0;
    for (int64_t q = 0; q < y.n_loans; ++q) {
      if (y.loan[q].face != face) continue;
      ++n;
      assert_true(y.face_of[a][y.loan[q].lender] >= 0);
      for (int other = 0; other < N_LIGHT; ++other)
        if (axis_of[other] == a)
          assert_true(y.loan[q].lender != mac_grid_slot(&c.s.grid, light[other][0], light[other][1], light[other][2]));
    }
    assert_int_equal(n, lenders[k]);
    n_loans += n;
    assert_close(y.mass[a][y.face_slot[face]], 0.4 * 0.05 * 1500.0 * 1e-3, 1e-14);
  }
  assert_int_equal(y.n_loans, n_loans);
  double *u = doubles(y.n_faces), moved[3];
  for (int a = 0; a < 3; ++a) moved[a] = lent[a] = 0.0;
  for (int64_t f = 0; f < y.n_faces; ++f) {
    const int    a    = y.face_axis[f];
    const double here = y.mass[a][y.face_slot[f]];
    lent[a] += here * y.u[f];
    assert_close(y.mobility[f], y.dt * y.weight[f] / here, 1e-13 * y.mobility[f]);
    u[f] = y.u[f] + random_range(5, (uint64_t)f, 0, -1.0, 1.0); /* pressure and stress */
    moved[a] += here * u[f];
  }
  for (int a = 0; a < 3; ++a) {
    double now = 0.0;
    for (int64_t s = 0; s < c.s.grid.n_slots; ++s) now += y.mass[a][s];
    assert_close(now, mass[a], 1e-12 * mass[a]);
    assert_close(lent[a], before[a], 1e-12 * mass[a]);
  }
  mac_system_store_velocity(&y, u, &c.s);
  for (int a = 0; a < 3; ++a) assert_close(momentum_of_axis(&c.s, a), moved[a], 1e-12 * mass[a]);
  memory_free(&u), mac_system_destroy(&y), mac_scene_destroy(&c);
  assert_no_leak();
}

/* In a full periodic box all faces are alike: a face with nearly no mass borrows from all six neighbours, one of them at slot 0. */
static void faces_of_a_periodic_box_lend_alike(void **unused)
{
  (void)unused;
  for (int axis = 0; axis < 3; ++axis)
    for (int q = 0; q < 6; ++q) {
      mac_scene      c;
      mac_scene_spec m = {.h = 0.1, .n = {12, 12, 12}, .wall = MAC_ALL_PERIODIC, .density = 1500.0, .friction = 0.5};
      mac_system     y = {0};
      int32_t        at[3];
      int            n = 0, n_first = 0;
      mac_scene_create(&c, &m);
      mac_grid_cell(&c.s.grid, 0, at);
      at[q / 2] += q % 2 ? 1 : -1;
      const int64_t light   = mac_grid_slot(&c.s.grid, at[0], at[1], at[2]);
      c.s.mass[axis][light] = 1e-4;
      assert_ok(mac_system_assemble(&c.s, &c.o, 0, NULL, 0.01, &y));
      for (int64_t k = 0; k < y.n_loans; ++k)
        if (y.loan[k].face == y.face_of[axis][light]) ++n, n_first += y.loan[k].lender == 0;
      assert_int_equal(n, 6);
      assert_int_equal(n_first, 1);
      mac_system_destroy(&y), mac_scene_destroy(&c);
    }
  assert_no_leak();
}

/* A face in the middle of faces without mass borrows from the heaviest of the nearest faces with mass, at most three cells away; without
 * such a face it borrows nothing. */
static void distant_faces_lend_mass(void **unused)
{
  (void)unused;
  for (int axis = 0; axis < 3; ++axis)
    for (int reach = 1; reach <= 4; ++reach) { /* distance of the nearest faces with mass */
      mac_scene      c;
      mac_scene_spec m = {.h = 0.1, .n = {12, 12, 12}, .wall = MAC_ALL_SMOOTH, .density = 1500.0, .friction = 0.5};
      mac_system     y = {0};
      mac_scene_create(&c, &m);
      for (int32_t i = 0; i < 12; ++i)
        for (int32_t j = 0; j < 12; ++j)
          for (int32_t k = 0; k < 12; ++k)
            if (abs(i - 6) < reach && abs(j - 6) < reach && abs(k - 6) < reach) c.s.mass[axis][mac_grid_slot(&c.s.grid, i, j, k)] = 0.0;
      const int64_t middle = mac_grid_slot(&c.s.grid, 6, 6, 6), heaviest = mac_grid_slot(&c.s.grid, 6 - reach, 6 + reach, 7);
      c.s.mass[axis][heaviest] *= 1.01;
      assert_ok(mac_system_assemble(&c.s, &c.o, 0, NULL, 0.01, &y));
      int n = 0;
      for (int64_t q = 0; q < y.n_loans; ++q) {
        if (y.loan[q].face != y.face_of[axis][middle]) continue;
        if (reach > 1) assert_int_equal(y.loan[q].lender, heaviest);
        ++n;
      }
      assert_int_equal(n, reach == 1 ? 6 : reach <= 3); /* direct neighbours share */
      if (reach > 3) assert_close(y.mass[axis][middle], 0.0, 0.0);
      else assert_close(y.mass[axis][middle], 0.4 * 0.05 * 1500.0 * 1e-3, 1e-14);
      mac_system_destroy(&y), mac_scene_destroy(&c);
    }
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(distant_faces_lend_mass), cmocka_unit_test(faces_of_a_periodic_box_lend_alike),
          cmocka_unit_test(dense_and_filled_cells_are_active), cmocka_unit_test(light_faces_borrow_mass),
          cmocka_unit_test(surfaces_are_free), cmocka_unit_test(linear_fields_give_constant_forces), cmocka_unit_test(archimedes),
          cmocka_unit_test(transposes_and_rigid_motions), cmocka_unit_test(wall_friction_stops_sliding),
          cmocka_unit_test(all_sides_have_the_same_boundary_condition), cmocka_unit_test(momentum_is_conserved),
          cmocka_unit_test(hydrostatics), cmocka_unit_test(the_same_bits_on_any_number_of_threads),
          cmocka_unit_test(friction_of_solids_stops_sliding), cmocka_unit_test(bodies_on_the_floor),
          cmocka_unit_test(cells_in_solids_have_the_constants_around_them), cmocka_unit_test(hollow_bodies_carry_their_content),
          cmocka_unit_test(walls_slow_material_that_lies_on_them), cmocka_unit_test(faces_above_the_surface_are_accelerated))
