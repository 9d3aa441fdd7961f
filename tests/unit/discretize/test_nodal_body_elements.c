/* Nodal bodies and tetrahedra against finite differences, patch tests and conservation. */
#include "nodal_fixture.h"
#include "core/math3.h"
#include "core/quaternion.h"
#include "core/team.h"
#include "discretize/fem/tetrahedra.h"
#include "discretize/material/material_registry.h"

/* m^3 cubes of size h, five or six tetrahedra do not matter here: six around the diagonal of each. */
static void block_mesh(int m, double h, double jitter, int64_t *n_nodes, double **x, int64_t *n_tets, int32_t **tet)
{
  static const int way[6][2] = {{1, 2}, {2, 1}, {0, 2}, {2, 0}, {0, 1}, {1, 0}}; /* first two steps from corner to corner */
  const int        s         = m + 1;
  int64_t          k         = 0;
  *n_nodes                   = s * s * s;
  *n_tets                    = 6 * m * m * m;
  *x                         = malloc(sizeof(double) * 3 * (size_t)*n_nodes);
  *tet                       = malloc(sizeof(int32_t) * 4 * (size_t)*n_tets);
  for (int64_t i = 0; i < *n_nodes; ++i) {
    const double at[3] = {(double)(i % s), (double)(i / s % s), (double)(i / (s * s))};
    for (int j = 0; j < 3; ++j) (*x)[3 * i + j] = h * (at[j] + jitter * uniform(-1.0, 1.0));
  }
  for (int64_t c = 0; c < m * m * m; ++c) {
    const int step[3] = {1, s, s * s}, base = (int)(c % m) + s * (int)(c / m % m) + s * s * (int)(c / (m * m));
    for (int w = 0; w < 6; ++w) {
      int32_t *t = *tet + 4 * k++;
      double   e[9];
      t[0] = base;
      t[1] = base + step[way[w][0]];
      t[2] = t[1] + step[way[w][1]];
      t[3] = base + step[0] + step[1] + step[2];
      for (int a = 0; a < 3; ++a) v3_sub(e + 3 * a, *x + 3 * t[a + 1], *x + 3 * t[0]);
      if (m3_det(e) < 0.0) {
        const int32_t swap = t[1];
        t[1] = t[2], t[2] = swap;
      }
    }
  }
}

typedef struct {
  double density, E, nu;
} parameters;

static void make(const material_law *law, int m, double jitter, double beta, material **mat, nodal_body **b)
{
  const parameters p = {1000.0, 1e4, 0.3};
  int64_t          n_nodes, n_tets;
  double          *x, *mass;
  int32_t         *tet;
  assert_ok(material_create("jelly", law, &p, p.density, mat));
  block_mesh(m, 0.1, jitter, &n_nodes, &x, &n_tets, &tet);
  mass = calloc((size_t)n_nodes, sizeof *mass);
  lump_tetrahedra(n_tets, tet, x, p.density, mass);
  assert_ok(nodal_body_create("block", n_nodes, x, mass, b));
  assert_ok(tetrahedra_add(*b, *mat, NODAL_DAMPING_SPATIAL, beta, n_tets, tet));
  free(x);
  free(mass);
  free(tet);
}

static void check_tangent(const material_law *law, double beta)
{
  material   *mat;
  nodal_body *b;
  make(law, 2, 0.1, beta, &mat, &b);
  b->mass_damping = beta > 0.0 ? 0.7 : 0.0;
  assert_ok(nodal_body_finish(b));
  random_state(b, 0.02, 1.0);
  check_derivatives(b);
  body *base = &b->base;
  base->ops->destroy(&base);
  material_destroy(&mat);
}

static void test_tangent(void **unused)
{
  (void)unused;
  state = 1;
  check_tangent(&material_law_linear_corotated, 0.02);
  check_tangent(&material_law_fixed_corotated, 0.0);
  check_tangent(&material_law_neo_hookean, 0.0);
  check_tangent(&material_law_fixed_corotated, 0.02);
  assert_no_leak();
}

/* Forces are minus the gradient of the energy; they balance; damping takes energy out, and none from a rigid motion. */
static void test_forces(void **unused)
{
  (void)unused;
  material   *mat;
  nodal_body *b;
  int64_t     n_blocks;
  step_status status = {STEP_OK, NULL, -1};
  state              = 2;
  make(&material_law_neo_hookean, 3, 0.1, 0.0, &mat, &b);
  assert_ok(nodal_body_finish(b));
  const int n    = 3 * (int)b->n_nodes;
  double   *zero = calloc((size_t)n, sizeof *zero), *g = malloc(sizeof *g * (size_t)n);
  random_state(b, 0.01, 0.0);
  assert_ok(b->base.ops->begin_step(&b->base, 0.0, 1.0, &n_blocks, &status));
  check_balance(b);
  /* E03: uniform strain leaves inner nodes in balance, a rotation all of them. */
  const double A[9] = {1.1, 0.2, -0.1, 0.0, 0.9, 0.15, 0.05, 0.1, 1.05};
  double       R[9];
  const double axis[3] = {0.3, -1.2, 0.7};
  rotation_exp(R, axis);
  for (int pass = 0; pass < 2; ++pass) {
    for (int i = 0; i < n; i += 3) m3_mulv(b->x + i, pass ? R : A, b->rest + i);
    residual(b, zero, g, false);
    for (int i = 0; i < n; i += 3) {
      bool      is_inner = true;
      const int s[3]     = {(i / 3) % 4, (i / 3) / 4 % 4, (i / 3) / 16};
      for (int k = 0; k < 3; ++k) is_inner = is_inner && s[k] > 0 && s[k] < 3;
      if (is_inner || pass == 1)
        for (int k = 0; k < 3; ++k) assert_close(g[i + k], 0.0, pass ? 1e-12 : 1e-11); /* E h^2 = 100 N */
    }
  }
  free(zero), free(g);
  body *base = &b->base;
  base->ops->destroy(&base);
  material_destroy(&mat);
  assert_no_leak();
}

static void test_damping(void **unused)
{
  (void)unused;
  material   *mat;
  nodal_body *b;
  int64_t     n_blocks;
  step_status status = {STEP_OK, NULL, -1};
  state              = 3;
  make(&material_law_fixed_corotated, 2, 0.1, 0.05, &mat, &b);
  assert_ok(nodal_body_finish(b));
  const int    n  = 3 * (int)b->n_nodes;
  const double dt = 1e-9; /* positions stay: the damping alone is seen as g(v) - g(0) */
  double      *v = malloc(sizeof *v * (size_t)n), *g = malloc(sizeof *g * (size_t)n), *g0 = malloc(sizeof *g * (size_t)n),
         *zero = calloc((size_t)n, sizeof *g);
  for (int pass = 0; pass < 2; ++pass) {
    const double w[3] = {0.3, 0.1, -0.4}, u[3] = {1.0, 2.0, 3.0};
    double       power = 0.0, size = 0.0;
    random_state(b, 0.02, 0.0);
    for (int i = 0; i < n; i += 3) {
      v3_cross(v + i, w, b->x + i);
      v3_axpy(v + i, 1.0, u);
      for (int k = 0; k < 3 && pass == 0; ++k) v[i + k] = uniform(-1.0, 1.0);
    }
    assert_ok(b->base.ops->begin_step(&b->base, 0.0, dt, &n_blocks, &status));
    residual(b, zero, g0, false);
    residual(b, v, g, false);
    for (int i = 0; i < n; ++i) {
      const double f = -(g[i] - g0[i] - b->mass[i / 3] * v[i]) / dt;
      power += f * v[i];
      size += fabs(f * v[i]);
    }
    if (pass == 0) assert_true(power < -1.0);
    else assert_close(power, 0.0, 1e-3); /* of elastic forces moving by dt v; against power < -1 above */
  }
  free(v), free(g), free(g0), free(zero);
  body *base = &b->base;
  base->ops->destroy(&base);
  material_destroy(&mat);
  assert_no_leak();
}

/* Held components: the velocity that gets them where the motion has them; colours: no two groups of elements of one share a node; the same bits on 1, 2, 3
 * threads. */
static void test_holds_colors_threads(void **unused)
{
  (void)unused;
  material        *mat;
  nodal_body      *b;
  int64_t          n_blocks;
  step_status      status = {STEP_OK, NULL, -1};
  nodal_constraint held   = {.n = 2, .axis = {true, false, true}};
  const int64_t   *dof;
  const double    *velocity;
  state = 4;
  make(&material_law_fixed_corotated, 4, 0.1, 0.01, &mat, &b);
  assert_ok(memory_alloc("held", 2, sizeof *held.node, &held.node));
  held.node[0] = 7, held.node[1] = 3;
  assert_ok(nodal_body_add_constraint(b, &held));
  assert_ok(nodal_body_finish(b));
  random_state(b, 0.02, 1.0);
  assert_ok(b->base.ops->begin_step(&b->base, 0.0, 0.01, &n_blocks, &status));
  assert_int_equal(b->base.ops->prescribed(&b->base, &dof, &velocity), 4);
  const int64_t expected[4] = {9, 11, 21, 23};
  for (int i = 0; i < 4; ++i) {
    assert_int_equal(dof[i], expected[i]);
    assert_close(b->x[dof[i]] + 0.01 * velocity[i], b->rest[dof[i]], 1e-16);
  }
  const element_set *set  = &b->sets[0];
  int32_t           *last = malloc(sizeof *last * (size_t)b->n_nodes);
  assert_int_equal(set->group_start[set->color_start[set->n_colors]], set->n);
  for (int c = 0; c < set->n_colors; ++c) {
    for (int64_t i = 0; i < b->n_nodes; ++i) last[i] = -1;
    for (int64_t k = set->color_start[c]; k < set->color_start[c + 1]; ++k)
      for (int64_t a = 4 * set->group_start[k]; a < 4 * set->group_start[k + 1]; ++a) {
        assert_true(last[set->node[a]] == -1 || last[set->node[a]] == k);
        last[set->node[a]] = (int32_t)k;
      }
  }
  free(last);
  const int n = 3 * (int)b->n_nodes;
  double   *g[3], *value[3];
  for (int t = 0; t < 3; ++t) {
    g[t]     = malloc(sizeof(double) * (size_t)n);
    value[t] = malloc(sizeof(double) * 9 * (size_t)b->row_start[b->n_nodes]);
    team_set_threads(t + 1);
    residual(b, b->v, g[t], true);
    memcpy(value[t], b->value, sizeof(double) * 9 * (size_t)b->row_start[b->n_nodes]);
    assert_memory_equal(g[t], g[0], sizeof(double) * (size_t)n);
    assert_memory_equal(value[t], value[0], sizeof(double) * 9 * (size_t)b->row_start[b->n_nodes]);
  }
  team_set_threads(0);
  for (int t = 0; t < 3; ++t) free(g[t]), free(value[t]);
  body *base = &b->base;
  base->ops->destroy(&base);
  material_destroy(&mat);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_tangent), cmocka_unit_test(test_forces), cmocka_unit_test(test_damping),
          cmocka_unit_test(test_holds_colors_threads))
