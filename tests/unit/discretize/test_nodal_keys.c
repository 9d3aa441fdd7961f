/* Job keys of bodies of nodes: initial velocity, damping coefficient, pressure on a surface and its tangent. */
#include "nodal_fixture.h"
#include "vector_field_fixture.h"
#include "discretize/nodal/nodal_keys.h"
#include "geometry/tet_mesh/tet_mesh.h"
#include "geometry/tet_mesh/tet_mesh_primitives.h"

static const nodal_damping_spec none = {.stiffness = NAN, .ratio = NAN, .frequency = NAN, .form = -1};

/* A box of 3 x 2 x 2 cells with different masses, its surface, and what `spec` adds. */
static nodal_body *make(const nodal_spec *spec)
{
  const double min[3] = {0.3, -0.2, 0.1}, max[3] = {0.9, 0.2, 0.5};
  double       mass[36];
  int32_t     *triangles;
  tet_mesh    *m;
  nodal_body  *b;
  diagnostics *d;
  state = 5;
  assert_ok(tet_mesh_box(min, max, 0.2, &m));
  assert_int_equal(m->n_vertices, 36);
  for (int i = 0; i < 36; ++i) mass[i] = uniform(0.5, 1.5);
  assert_ok(nodal_body_create("box", 36, m->x, mass, &b));
  triangles = malloc(sizeof *triangles * (size_t)(3 * m->surface->n_triangles));
  for (int64_t i = 0; i < 3 * m->surface->n_triangles; ++i) triangles[i] = m->surface_vertex[m->surface->tri[i]];
  assert_ok(nodal_body_set_surface(b, m->surface->n_triangles, triangles));
  free(triangles);
  tet_mesh_destroy(&m);
  assert_ok(diagnostics_create(&d));
  assert_ok(nodal_body_configure(b, spec, &nowhere, "bodies.box", d));
  assert_int_equal(diagnostics_count(d), 0);
  diagnostics_destroy(&d);
  assert_ok(nodal_body_finish(b));
  return b;
}
static void destroy(nodal_body *b)
{
  body *base = &b->base;
  base->ops->destroy(&base);
}

/* The velocity of the centre of mass, and a rotation about it. */
static void the_initial_velocity_is_rigid(void **unused)
{
  (void)unused;
  nodal_damping_spec damping = none;
  damping.mass               = 0.7;
  const nodal_spec spec      = {.velocity = {1.0, -2.0, 3.0}, .angular_velocity = {0.4, 0.5, -0.7}, .damping = &damping};
  nodal_body      *b         = make(&spec);
  double           mass = 0.0, momentum[3] = {0.0}, center[3] = {0.0};
  for (int64_t i = 0; i < b->n_nodes; ++i)
    mass += b->mass[i], v3_axpy(momentum, b->mass[i], b->v + 3 * i), v3_axpy(center, b->mass[i], b->x + 3 * i);
  for (int k = 0; k < 3; ++k) assert_close(momentum[k] / mass, spec.velocity[k], 1e-14);
  for (int64_t i = 0; i < b->n_nodes; ++i) {
    double arm[3], v[3];
    for (int k = 0; k < 3; ++k) arm[k] = b->x[3 * i + k] - center[k] / mass;
    v3_cross(v, spec.angular_velocity, arm);
    for (int k = 0; k < 3; ++k) assert_close(b->v[3 * i + k], spec.velocity[k] + v[k], 1e-14);
  }
  assert_close(b->mass_damping, 0.7, 0.0);
  destroy(b);
  assert_no_leak();
}

/* Volume enclosed by the surface at x [n][3]; its gradient by the positions is the area vector of each node. */
static double volume_of(const nodal_body *b, const double *x)
{
  double six = 0.0;
  for (int64_t t = 0; t < b->n_triangles; ++t) {
    const int32_t *c = b->triangles + 3 * t;
    double         n[3];
    v3_cross(n, x + 3 * c[1], x + 3 * c[2]);
    six += v3_dot(x + 3 * c[0], n);
  }
  return six / 6.0;
}

/* On a closed surface a pressure p > 0 compresses: its forces are -p dV/dx, and two pressures add up. With zero forces otherwise the residual at
 * the velocity v is m (v - v0) - dt f(x0 + dt v). */
static void pressure_has_the_potential_p_V(void **unused)
{
  (void)unused;
  nodal_pressure_spec one = {.value = 5.0}, two = {.value = -2.0};
  key_item            items[2] = {{.value = &one}, {.value = &two}};
  const nodal_spec    spec     = {.damping = &none, .pressure = {2, items}};
  nodal_body         *b        = make(&spec);
  const double        dt = 0.1, h = 1e-5;
  int64_t             n_blocks;
  step_status         status = {STEP_OK, NULL, -1};
  double              v[3 * 36], g[3 * 36], x[3 * 36];
  assert_int_equal(b->n_sets, 2);
  random_state(b, 0.03, 1.0);
  assert_ok(b->base.ops->begin_step(&b->base, 0.0, dt, &n_blocks, &status));
  for (int i = 0; i < 3 * 36; ++i) v[i] = uniform(-0.5, 0.5), x[i] = b->x[i] + dt * v[i];
  residual(b, v, g, false);
  assert_true(volume_of(b, x) > 0.05);
  for (int i = 0; i < 3 * 36; ++i) {
    const double here = x[i];
    x[i]              = here + h;
    double slope      = volume_of(b, x);
    x[i]              = here - h;
    slope             = (slope - volume_of(b, x)) / (2.0 * h);
    x[i]              = here;
    assert_close(g[i], b->mass[i / 3] * (v[i] - b->v[i]) + dt * (one.value + two.value) * slope, 1e-10);
  }
  check_derivatives(b);
  b->base.ops->set_definite(&b->base, true); /* without the stiffness of pressures, which can be negative: masses remain */
  residual(b, v, g, true);
  for (int i = 0; i < 3 * 36; ++i) x[i] = uniform(-1.0, 1.0), g[i] = 0.0;
  assert_ok(b->base.ops->tangent(&b->base, x, g, false));
  for (int i = 0; i < 3 * 36; ++i) assert_close(g[i], b->mass[i / 3] * x[i], 1e-13);
  destroy(b);
  assert_no_leak();
}

/* With `inside`, the pressure acts on the triangles whose three corners are in the shape: here those of the side x = 0.9, but not those that reach
 * from its edges to x = 0.7. */
static void pressure_inside_a_shape(void **unused)
{
  (void)unused;
  const shape_box_spec side   = {{0.8, -1.0, -1.0}, {1.0, 1.0, 1.0}};
  const shape_spec     form   = {.box = &side, .axis = {0, 0, 1}};
  nodal_pressure_spec  one    = {.value = 5.0, .inside = &form};
  key_item             item   = {.value = &one, .node = &nowhere};
  const nodal_spec     spec   = {.damping = &none, .pressure = {1, &item}};
  nodal_body          *b      = make(&spec);
  step_status          status = {STEP_OK, NULL, -1};
  int64_t              n_blocks;
  double               v[3 * 36], g[3 * 36], sum[3] = {0.0};
  assert_ok(b->base.ops->begin_step(&b->base, 0.0, 0.1, &n_blocks, &status));
  memcpy(v, b->v, sizeof v);
  residual(b, v, g, false);
  for (int i = 0; i < 36; ++i) {
    if (b->x[3 * i] < 0.8) assert_close(v3_norm(g + 3 * i), 0.0, 0.0);
    v3_add(sum, sum, g + 3 * i);
  }
  assert_close(sum[0], 0.1 * 5.0 * 0.4 * 0.4, 1e-13); /* - dt f: the force p A points inwards */
  assert_close(hypot(sum[1], sum[2]), 0.0, 1e-14);
  destroy(b);
  assert_no_leak();
}

/* The coefficient, or one error for each mistake. */
static void damping_coefficients(void **unused)
{
  (void)unused;
  static const struct {
    double      stiffness, ratio, frequency;
    int         form;
    const char *formless;
    double      beta;
    int         n_errors;
  } rows[] = {{NAN, NAN, NAN, -1, NULL, 0.0, 0},
              {0.25, NAN, NAN, -1, NULL, 0.25, 0},
              {0.25, NAN, NAN, 1, NULL, 0.25, 0},
              {NAN, 0.1, 4.0, -1, "cloth", 0.1 / (4.0 * M_PI), 0},
              {NAN, 0.1, 4.0, 0, NULL, 0.1 / (4.0 * M_PI), 0},
              {0.25, NAN, NAN, 0, "cloth", 0.25, 1},
              {NAN, NAN, NAN, 0, NULL, 0.0, 1},
              {NAN, NAN, NAN, 0, "cloth", 0.0, 1},
              {0.25, 0.1, NAN, -1, NULL, 0.0, 1},
              {0.25, NAN, 4.0, -1, NULL, 0.0, 1},
              {0.25, 0.1, 4.0, -1, NULL, 0.0, 1},
              {NAN, 0.1, NAN, -1, NULL, 0.0, 1},
              {NAN, NAN, 4.0, -1, NULL, 0.0, 1},
              {NAN, 0.1, NAN, 2, "rod", 0.0, 2}};
  for (size_t k = 0; k < sizeof rows / sizeof *rows; ++k) {
    const nodal_damping_spec spec = {
        .stiffness = rows[k].stiffness, .ratio = rows[k].ratio, .frequency = rows[k].frequency, .form = rows[k].form};
    diagnostics *d;
    assert_ok(diagnostics_create(&d));
    assert_close(nodal_damping_beta(&spec, rows[k].formless, &nowhere, "bodies.box", d), rows[k].beta, 1e-15);
    if (diagnostics_count(d) != rows[k].n_errors)
      fail_msg("row %d: %d errors, expected %d", (int)k, diagnostics_count(d), rows[k].n_errors);
    diagnostics_destroy(&d);
  }
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(the_initial_velocity_is_rigid), cmocka_unit_test(pressure_has_the_potential_p_V),
          cmocka_unit_test(pressure_inside_a_shape), cmocka_unit_test(damping_coefficients))
