/* Errors of a body of tetrahedra against fields known everywhere: integrals of polynomials in closed form, and errors of nodes alone. */
#include "nodal_fixture.h"
#include "vector_field_fixture.h"
#include "discretize/body/body.h"
#include "discretize/fem/tetrahedra.h"
#include "discretize/fem/tetrahedra_error.h"
#include "geometry/tet_mesh/tet_mesh_primitives.h"
#include "discretize/material/material_registry.h"
#include "geometry/tet_mesh/tet_mesh.h"

typedef struct {
  double density, E, nu;
} parameters;

/* A unit cube, 3 cells a side, its inner nodes moved about. */
static material   *jelly;
static nodal_body *make(void)
{
  const double     min[3] = {0.0, 0.0, 0.0}, max[3] = {1.0, 1.0, 1.0};
  const parameters p        = {10.0, 100.0, 0.3};
  double           mass[64] = {0.0};
  tet_mesh        *m;
  nodal_body      *b;
  state = 5;
  assert_ok(tet_mesh_box(min, max, 1.0 / 3.0, &m));
  for (int i = 0; i < 3 * 64; ++i)
    if (m->x[i] > 0.1 && m->x[i] < 0.9) m->x[i] += uniform(-0.05, 0.05);
  assert_ok(tet_mesh_finish(m));
  assert_ok(material_create("jelly", &material_law_neo_hookean, &p, p.density, &jelly));
  lump_tetrahedra(m->n_tets, m->tet, m->x, p.density, mass);
  assert_ok(nodal_body_create("cube", 64, m->x, mass, &b));
  assert_ok(tetrahedra_add(b, jelly, NODAL_DAMPING_SPATIAL, 0.0, m->n_tets, m->tet));
  assert_ok(nodal_body_finish(b));
  tet_mesh_destroy(&m);
  return b;
}

static void destroy(nodal_body *b)
{
  body *base = &b->base;
  base->ops->destroy(&base);
  material_destroy(&jelly);
  assert_no_leak();
}

static double error(const nodal_body *b, tetrahedra_quantity of, const char *x, const char *y, const char *z, double t)
{
  vector_field *f = field_of(x, y, z);
  double        e;
  assert_ok(tetrahedra_error(b, f, t, of, &e));
  vector_field_destroy(&f);
  return e;
}

/* A body at rest is off by the field itself: the integral of X^4 over the cube is 1/5, that of X^2 Y^2 1/9, and squares of cubics have degree 6. */
static void test_integrals(void **unused)
{
  (void)unused;
  nodal_body *b = make();
  assert_close(error(b, TETRAHEDRA_DISPLACEMENT, "X^2", "0", "0", 0.0), sqrt(1.0 / 5.0), 1e-14);
  assert_close(error(b, TETRAHEDRA_DISPLACEMENT, "0", "X*Y", "t", 2.0), sqrt(1.0 / 9.0 + 4.0), 1e-14);
  assert_close(error(b, TETRAHEDRA_VELOCITY, "0", "0", "Y^2", 0.0), sqrt(1.0 / 5.0), 1e-14);
  assert_close(error(b, TETRAHEDRA_DISPLACEMENT, "0", "0", "Z^3", 0.0), sqrt(1.0 / 7.0), 2e-6);
  assert_true(fabs(error(b, TETRAHEDRA_DISPLACEMENT, "0", "0", "Z^3", 0.0) - sqrt(1.0 / 7.0)) >
              1e-12); /* a rule of degree 6 would be another */
  /* grad (X Y, 0, Z^3/3) = (Y X 0; 0 0 0; 0 0 Z^2) */
  assert_close(error(b, TETRAHEDRA_GRADIENT, "X*Y", "0", "Z^3/3", 0.0), sqrt(2.0 / 3.0 + 1.0 / 5.0), 1e-14);
  destroy(b);
}

/* The error of linear motions is zero on any mesh, also for fields of the current position. */
static void test_linear(void **unused)
{
  (void)unused;
  nodal_body *b = make();
  for (int i = 0; i < 64; ++i) {
    const double *X = b->rest + 3 * i;
    v3_set(b->x + 3 * i, 1.2 * X[0] + 0.3 * X[1], 0.9 * X[1] + 1.0, X[2] - 0.5 * X[0]);
    v3_set(b->v + 3 * i, X[1], X[2], X[0]);
  }
  assert_close(error(b, TETRAHEDRA_DISPLACEMENT, "0.2*X + 0.3*Y", "1 - 0.1*Y", "-0.5*X", 0.0), 0.0, 1e-15);
  assert_close(error(b, TETRAHEDRA_GRADIENT, "0.2*X + 0.3*Y", "1 - 0.1*Y", "-0.5*X", 0.0), 0.0, 1e-14);
  assert_close(error(b, TETRAHEDRA_GRADIENT, "x - X", "(y - 1)/9 - 2*(y - 1)/9", "z - Z", 0.0), 0.0, 1e-14);
  assert_close(error(b, TETRAHEDRA_GRADIENT, "0.2*X", "0", "0", 0.0), sqrt(0.09 + 0.01 + 0.25), 1e-14);
  assert_close(error(b, TETRAHEDRA_VELOCITY, "Y", "Z", "X + 2*t", 0.5), 1.0, 1e-14);
  destroy(b);
}

/* Errors of nodes count by mass: moving one node by u gives |u| sqrt(m/M). */
static void test_nodes(void **unused)
{
  (void)unused;
  nodal_body   *b    = make();
  vector_field *none = field_of("0", "0", "0"), *moved = field_of("x - X", "y - Y", "z - Z");
  b->x[3 * 21] += 0.3, b->x[3 * 21 + 2] -= 0.4, b->v[3 * 33 + 1] = 2.0;
  assert_close(body_nodes_error(&b->base, none, 0.0, false), 0.5 * sqrt(b->mass[21] / 10.0), 1e-14);
  assert_close(body_nodes_error(&b->base, moved, 0.0, false), 0.0, 1e-15);
  assert_close(body_nodes_error(&b->base, none, 0.0, true), 2.0 * sqrt(b->mass[33] / 10.0), 1e-14);
  vector_field_destroy(&none), vector_field_destroy(&moved);
  destroy(b);
}

TEST_MAIN(cmocka_unit_test(test_integrals), cmocka_unit_test(test_linear), cmocka_unit_test(test_nodes))
