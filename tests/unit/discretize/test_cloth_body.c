/* Cloth: springs and hinges against finite differences, conservation, and plates and rods. */
#include "nodal_fixture.h"
#include <float.h>
#include "core/quaternion.h"
#include "discretize/cloth/cloth_mesh.h"
#include "discretize/cloth/hinges.h"
#include "discretize/cloth/springs.h"

typedef struct {
  double stretch, shear, across, bending, beta;
} stiffnesses;

/* n x m cells of size 0.1 in the plane z = 0, its nodes then moved by up to jitter; 1 g each. */
static nodal_body *make(int64_t n, int64_t m, double jitter, stiffnesses k)
{
  const int64_t  cells[2]  = {n, m};
  const double   corner[3] = {1.0, 2.0, 0.0}, u[3] = {0.1 * (double)n, 0.0, 0.0}, v[3] = {0.0, 0.1 * (double)m, 0.0};
  triangle_mesh *mesh;
  cloth_links    l;
  nodal_body    *b;
  assert_ok(cloth_sheet(corner, u, v, cells, &mesh));
  for (int64_t i = 0; i < 3 * mesh->n_vertices; ++i) mesh->x[i] += jitter * uniform(-1.0, 1.0);
  double *mass = malloc(sizeof *mass * (size_t)mesh->n_vertices);
  for (int64_t i = 0; i < mesh->n_vertices; ++i) mass[i] = 1e-3;
  assert_ok(nodal_body_create("sheet", mesh->n_vertices, mesh->x, mass, &b));
  assert_ok(cloth_links_create(mesh, cells, &l));
  if (k.stretch > 0.0) assert_ok(springs_add(b, "springs", k.stretch, k.beta, l.n_stretch, l.stretch));
  if (k.shear > 0.0) assert_ok(springs_add(b, "shear springs", k.shear, k.beta, l.n_shear, l.shear));
  if (k.across > 0.0) assert_ok(springs_add(b, "bending springs", k.across, k.beta, l.n_across, l.across));
  if (k.bending > 0.0) assert_ok(hinges_add(b, k.bending, k.beta, l.n_hinges, l.hinge));
  assert_ok(nodal_body_finish(b));
  cloth_links_destroy(&l);
  triangle_mesh_destroy(&mesh);
  free(mass);
  return b;
}

static void destroy(nodal_body *b)
{
  body *base = &b->base;
  base->ops->destroy(&base);
}

static double energy_of(const nodal_body *b)
{
  const double none[3] = {0.0};
  body_totals  sum;
  assert_ok(b->base.ops->totals(&b->base, none, &sum));
  return sum.elastic;
}

static const stiffnesses kinds[] = {{414.0, 300.0, 83.0, 0.0, 0.0},
                                    {0.0, 0.0, 0.0, 2.0, 0.0},
                                    {414.0, 300.0, 83.0, 0.0, 0.02},
                                    {0.0, 0.0, 0.0, 2.0, 0.02},
                                    {414.0, 414.0, 83.0, 0.5, 0.01}};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

/* From rest shapes that are flat and crumpled, with springs under tension and compression and hinges to both sides. */
static void test_derivatives(void **unused)
{
  (void)unused;
  state = 11;
  for (int i = 0; i < N_KINDS; ++i)
    for (int crumpled = 0; crumpled < 2; ++crumpled) {
      nodal_body *b = make(3, 4, crumpled ? 0.02 : 0.0, kinds[i]);
      random_state(b, 0.02, 1.0);
      check_derivatives(b);
      destroy(b);
    }
  assert_no_leak();
}

static void begin(nodal_body *b, double dt)
{
  int64_t     n_blocks;
  step_status status = {STEP_OK, NULL, -1};
  assert_ok(b->base.ops->begin_step(&b->base, 0.0, dt, &n_blocks, &status));
}

static void test_balance(void **unused)
{
  (void)unused;
  state = 12;
  for (int i = 0; i < N_KINDS; ++i) {
    nodal_body *b = make(4, 3, 0.01, kinds[i]);
    random_state(b, 0.02, 0.0);
    begin(b, 1.0);
    check_balance(b);
    destroy(b);
  }
  assert_no_leak();
}

/* As drawn nothing pulls, at all; turned and moved as a whole only round-off does, and damping takes nothing from a rigid motion. */
static void test_rigid_motion(void **unused)
{
  (void)unused;
  const double axis[3] = {0.3, -1.2, 0.7}, w[3] = {0.3, 0.1, -0.4}, shift[3] = {1.0, -2.0, 0.5}, dt = 1e-9;
  double       R[9];
  rotation_exp(R, axis);
  state = 13;
  for (int i = 0; i < N_KINDS; ++i)
    for (int crumpled = 0; crumpled < 2; ++crumpled) {
      nodal_body *b = make(3, 3, crumpled ? 0.01 : 0.0, kinds[i]);
      const int   n = 3 * (int)b->n_nodes;
      double     *v = calloc((size_t)n, sizeof *v), *g = malloc(sizeof *g * (size_t)n);
      begin(b, 1.0);
      residual(b, v, g, false);
      for (int j = 0; j < n; ++j) assert_true(g[j] == 0.0);
      assert_true(energy_of(b) == 0.0);
      for (int j = 0; j < n; j += 3) {
        m3_mulv(b->x + j, R, b->rest + j);
        v3_axpy(b->x + j, 1.0, shift);
      }
      begin(b, 1.0);
      residual(b, v, g, false);
      const double scale = (414.0 + 2.0 / 0.1) / 0.1 * 4.0; /* stiffness times positions of some m */
      for (int j = 0; j < n; ++j) assert_close(g[j], 0.0, 64 * DBL_EPSILON * scale);
      for (int j = 0; j < n; j += 3) v3_cross(v + j, w, b->x + j);
      begin(b, dt); /* b->v = 0 */
      residual(b, v, g, false);
      for (int j = 0; j < n; ++j) assert_close((g[j] - b->mass[j / 3] * v[j]) / dt, 0.0, 1e-4 * kinds[N_KINDS - 1].stretch);
      free(v), free(g);
      destroy(b);
    }
  assert_no_leak();
}

static void test_damping_takes_energy(void **unused)
{
  (void)unused;
  state = 14;
  for (int i = 2; i < N_KINDS; ++i) {
    nodal_body  *b  = make(3, 3, 0.0, kinds[i]);
    const int    n  = 3 * (int)b->n_nodes;
    const double dt = 1e-9; /* positions stay: the rest of g(v) - g(0) is inertia and damping */
    double      *v = calloc((size_t)n, sizeof *v), *g = malloc(sizeof *g * (size_t)n), *g0 = malloc(sizeof *g * (size_t)n), power = 0.0;
    random_state(b, 0.02, 0.0);
    begin(b, dt);
    residual(b, v, g0, false);
    for (int j = 0; j < n; ++j) v[j] = uniform(-1.0, 1.0);
    residual(b, v, g, false);
    for (int j = 0; j < n; ++j) power -= (g[j] - g0[j] - b->mass[j / 3] * v[j]) / dt * v[j];
    assert_true(power < -1.0);
    free(v), free(g), free(g0);
    destroy(b);
  }
  assert_no_leak();
}

/* k eps^2 / 2 per length, however the rod is cut. */
static void test_stretch_is_independent_of_the_mesh(void **unused)
{
  (void)unused;
  const stiffnesses k = {414.0, 0.0, 0.0, 0.0, 0.0};
  for (int m = 1; m <= 8; m *= 2) {
    const double   u[3] = {0.5, 0.0, 0.0}, v[3] = {0.0, 0.01, 0.0}, corner[3] = {0.0};
    const int64_t  cells[2] = {m, 1};
    triangle_mesh *mesh;
    cloth_links    l;
    nodal_body    *b;
    double         mass[18];
    for (int i = 0; i < 18; ++i) mass[i] = 1.0;
    assert_ok(cloth_sheet(corner, u, v, cells, &mesh));
    assert_ok(nodal_body_create("rod", mesh->n_vertices, mesh->x, mass, &b));
    assert_ok(cloth_links_create(mesh, cells, &l));
    assert_ok(springs_add(b, "springs", k.stretch, 0.0, l.n_stretch, l.stretch));
    for (int64_t i = 0; i < b->n_nodes; ++i) b->x[3 * i] *= 1.1;
    assert_close(energy_of(b), 2.0 * 0.5 * k.stretch * 0.01 * 0.5, 1e-14);
    cloth_links_destroy(&l);
    triangle_mesh_destroy(&mesh);
    destroy(b);
  }
  assert_no_leak();
}

/* A sheet whose strips lie on a cylinder: facets of width h at angles phi = h / R have the energy B (1/R)^2 / 2 per area of a
 * plate. Each of the m (n - 1) folds represents a length h. The diagonals stay flat. Bent to either side. */
static void test_cylinder(void **unused)
{
  (void)unused;
  const double B = 0.7, h = 0.1, phi = 0.2;
  for (int sign = -1; sign <= 1; sign += 2) {
    nodal_body *b     = make(6, 3, 0.0, (stiffnesses){.bending = B});
    double      at[2] = {0.0, 0.0};
    for (int i = 0; i <= 6; ++i) {
      for (int j = 0; j <= 3; ++j) {
        b->x[3 * (i + 7 * j)]     = at[0];
        b->x[3 * (i + 7 * j) + 2] = sign * at[1];
      }
      at[0] += h * cos(phi * i);
      at[1] += h * sin(phi * i);
    }
    assert_close(energy_of(b), 0.5 * B * (phi / h) * (phi / h) * (5 * 3) * h * h, 1e-13);
    destroy(b);
  }
  assert_no_leak();
}

static void test_links(void **unused)
{
  (void)unused;
  const int64_t  n = 5, m = 4, cells[2] = {n, m};
  const double   corner[3] = {0.0}, u[3] = {5.0, 0.0, 0.0}, v[3] = {0.0, 4.0, 0.0};
  triangle_mesh *mesh;
  cloth_links    l;
  assert_ok(cloth_sheet(corner, u, v, cells, &mesh));
  assert_ok(cloth_links_create(mesh, cells, &l));
  assert_int_equal(l.n_stretch, n * (m + 1) + m * (n + 1));
  assert_int_equal(l.n_shear, 2 * n * m);
  assert_int_equal(l.n_across, n * (m - 1) + m * (n - 1));
  assert_int_equal(l.n_hinges, l.n_across + n * m);
  const int32_t *list[]  = {l.stretch, l.shear};
  const int64_t  count[] = {l.n_stretch, l.n_shear};
  for (int k = 0; k < 2; ++k)
    for (int64_t i = 0; i < count[k]; ++i) {
      double d[3];
      v3_sub(d, mesh->x + 3 * list[k][2 * i + 1], mesh->x + 3 * list[k][2 * i]);
      assert_close(v3_dot(d, d), k + 1.0, 1e-14);
    }
  for (int64_t i = 0; i < l.n_hinges; ++i) { /* both triangles face up, on either side of their edge */
    const int32_t *c = l.hinge + 4 * i;
    double         e[3], a[3], b[3], n1[3], n2[3];
    v3_sub(e, mesh->x + 3 * c[1], mesh->x + 3 * c[0]);
    v3_sub(a, mesh->x + 3 * c[2], mesh->x + 3 * c[0]);
    v3_sub(b, mesh->x + 3 * c[3], mesh->x + 3 * c[0]);
    v3_cross(n1, e, a);
    v3_cross(n2, b, e);
    assert_close(n1[2], 1.0, 1e-14);
    assert_close(n2[2], 1.0, 1e-14);
  }
  cloth_links_destroy(&l);
  assert_ok(cloth_links_create(mesh, NULL, &l)); /* any mesh: an edge is an edge */
  assert_int_equal(l.n_stretch, n * (m + 1) + m * (n + 1) + n * m);
  assert_int_equal(l.n_shear, 0);
  assert_int_equal(l.n_across, l.n_hinges);
  cloth_links_destroy(&l);
  triangle_mesh_destroy(&mesh);
  assert_no_leak();
}

/* What cannot be evaluated is named, not computed. */
static void test_collapse(void **unused)
{
  (void)unused;
  for (int kind = 0; kind < 2; ++kind) {
    nodal_body *b = make(1, 1, 0.0, kind ? (stiffnesses){.bending = 1.0} : (stiffnesses){.stretch = 1.0});
    double      g[12], v[12] = {0.0};
    step_status status = {STEP_OK, NULL, -1};
    begin(b, 1.0);
    for (int k = 0; k < 3; ++k) v[3 + k] = b->x[k] - b->x[3 + k]; /* node 1 to node 0 */
    assert_ok(b->base.ops->residual(&b->base, v, g, false, &status));
    assert_int_equal(status.code, STEP_INVERTED);
    assert_int_equal(status.where, 0);
    destroy(b);
  }
  const double  x[12] = {0, 0, 0, 1, 0, 0, 1, 0, 0, 2, 0, 0}, mass[4] = {1, 1, 1, 1};
  const int32_t node[4] = {1, 2, 0, 3};
  nodal_body   *b;
  assert_ok(nodal_body_create("rag", 4, x, mass, &b));
  assert_int_equal(springs_add(b, "springs", 1.0, 0.0, 1, node), PETSC_ERR_USER_INPUT);
  assert_non_null(strstr(error_message(), "one of the springs of rag, between nodes 1 and 2, has no length"));
  error_clear();
  assert_int_equal(hinges_add(b, 1.0, 0.0, 1, node), PETSC_ERR_USER_INPUT);
  assert_non_null(strstr(error_message(), "rag: a triangle at the edge of nodes 1 and 2 has no area"));
  error_clear();
  destroy(b);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_derivatives), cmocka_unit_test(test_balance), cmocka_unit_test(test_rigid_motion),
          cmocka_unit_test(test_damping_takes_energy), cmocka_unit_test(test_stretch_is_independent_of_the_mesh),
          cmocka_unit_test(test_cylinder), cmocka_unit_test(test_links), cmocka_unit_test(test_collapse))
