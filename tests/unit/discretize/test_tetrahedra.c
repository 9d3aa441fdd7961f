/* Tetrahedra as a method: the patch test on an irregular mesh (E03), and the order at which errors vanish (E04). */
#include "nodal_fixture.h"
#include "core/quaternion.h"
#include "discretize/fem/tetrahedra.h"
#include "geometry/tet_mesh/tet_mesh_primitives.h"
#include "discretize/material/material_registry.h"
#include "geometry/tet_mesh/tet_mesh.h"

typedef struct {
  double density, E, nu;
} parameters;
static const parameters jelly = {1000.0, 1e4, 0.3};

/* A unit cube of `cells` cells along each edge, vertices displaced by up to `jitter` cells, those of the surface only if
 * requested. The mass is negligible: the solution is an equilibrium. */
typedef struct {
  tet_mesh   *mesh;
  material   *mat;
  nodal_body *b;
  int         n;        /* unknowns, 3 per vertex */
  uint8_t    *is_outer; /* per vertex */
} cube;

static void cube_create(cube *c, const material_law *law, int cells, double jitter, bool is_outside_jittered)
{
  const double min[3] = {0.0, 0.0, 0.0}, max[3] = {1.0, 1.0, 1.0};
  assert_ok(tet_mesh_box(min, max, 1.0 / cells, &c->mesh));
  const int64_t n_vertices = c->mesh->n_vertices;
  double       *mass       = malloc((size_t)n_vertices * sizeof *mass);
  c->is_outer              = calloc((size_t)n_vertices, 1);
  for (int64_t i = 0; i < c->mesh->surface->n_vertices; ++i) c->is_outer[c->mesh->surface_vertex[i]] = 1;
  for (int64_t i = 0; i < n_vertices; ++i) {
    mass[i] = 1e-12;
    for (int k = 0; k < 3; ++k)
      if (!c->is_outer[i] || is_outside_jittered) c->mesh->x[3 * i + k] += jitter / cells * uniform(-1.0, 1.0);
  }
  assert_ok(tet_mesh_finish(c->mesh));
  assert_ok(tet_mesh_require("cube", c->mesh, false, NULL));
  assert_ok(material_create("jelly", law, &jelly, jelly.density, &c->mat));
  assert_ok(nodal_body_create("cube", n_vertices, c->mesh->x, mass, &c->b));
  assert_ok(tetrahedra_add(c->b, c->mat, NODAL_DAMPING_SPATIAL, 0.0, c->mesh->n_tets, c->mesh->tet));
  assert_ok(nodal_body_finish(c->b));
  c->n = 3 * (int)n_vertices;
  free(mass);
}

static void cube_destroy(cube *c)
{
  body *base = &c->b->base;
  base->ops->destroy(&base);
  material_destroy(&c->mat);
  tet_mesh_destroy(&c->mesh);
  free(c->is_outer);
}

/* Minus the forces of the elements at b->x; a step of dt 1 from rest. */
static void internal(cube *c, double *g)
{
  int64_t     n_blocks;
  step_status status = {STEP_OK, NULL, -1};
  assert_ok(c->b->base.ops->begin_step(&c->b->base, 0.0, 1.0, &n_blocks, &status));
  residual(c->b, c->b->v, g, true); /* v is zero */
}

/* Residual of `load` (NULL: none) and the inner forces at inner vertices; its largest component. */
static double imbalance(cube *c, const double *load, double *r)
{
  double largest = 0.0;
  internal(c, r);
  for (int i = 0; i < c->n; ++i) {
    r[i]    = c->is_outer[i / 3] ? 0.0 : (load ? load[i] : 0.0) - r[i];
    largest = fmax(largest, fabs(r[i]));
  }
  return largest;
}

static double dot(int n, const double *a, const double *b)
{
  double s = 0.0;
  for (int i = 0; i < n; ++i) s += a[i] * b[i];
  return s;
}

/* Newton's method with conjugate gradients, outer vertices staying where they are. */
static void equilibrate(cube *c, const double *load, double tolerance)
{
  const size_t size = (size_t)c->n * sizeof(double);
  double      *r = malloc(size), *d = malloc(size), *p = malloc(size), *q = malloc(size);
  int          newton = 0;
  while (imbalance(c, load, r) > tolerance && newton++ < 12) {
    double       rr     = dot(c->n, r, r);
    const double enough = 1e-16 * rr;
    memset(d, 0, size);
    memcpy(p, r, size);
    for (int k = 0; k < 1000 && rr > enough; ++k) {
      memset(q, 0, size);
      assert_ok(c->b->base.ops->tangent(&c->b->base, p, q, false));
      for (int i = 0; i < c->n; ++i)
        if (c->is_outer[i / 3]) q[i] = 0.0;
      const double a = rr / dot(c->n, p, q);
      for (int i = 0; i < c->n; ++i) d[i] += a * p[i], r[i] -= a * q[i];
      const double next = dot(c->n, r, r);
      for (int i = 0; i < c->n; ++i) p[i] = r[i] + next / rr * p[i];
      rr = next;
    }
    for (int i = 0; i < c->n; ++i) c->b->x[i] += d[i];
  }
  assert_true(newton < 12);
  free(r), free(d), free(p), free(q);
}

/* E03. With the surface displaced by an affine map the inside follows, from wherever it starts; the stress is that of the map in every
 * element, or else forces on the surface would not be those of a constant stress, -P N A / 3 from each triangle. A rotation costs nothing. */
static void check_patch(const material_law *law)
{
  const double A[9] = {1.1, 0.2, -0.1, 0.0, 0.9, 0.15, 0.05, 0.1, 1.05}, shift[3] = {0.3, -0.2, 0.1}, axis[3] = {0.9, -1.7, 1.4};
  double       R[9], RA[9], F[9], P[9], error = 0.0, wrong = 0.0;
  cube         c;
  cube_create(&c, law, 4, 0.2, true);
  double *g = malloc((size_t)c.n * sizeof *g);
  rotation_exp(R, axis);
  m3_mul(RA, R, A);
  for (int pass = 0; pass < 2; ++pass) {
    memcpy(F, pass ? R : RA, sizeof F);
    assert_int_equal(material_stress(c.mat, 1, 1, NULL, F, NULL, P, NULL, NULL, NULL, NULL, NULL), 1);
    for (int i = 0; i < c.n / 3; ++i) {
      m3_mulv(c.b->x + 3 * i, F, c.b->rest + 3 * i);
      v3_axpy(c.b->x + 3 * i, 1.0, shift);
      for (int k = 0; k < 3 && !c.is_outer[i]; ++k) c.b->x[3 * i + k] += 0.02 * uniform(-1.0, 1.0);
    }
    equilibrate(&c, NULL, 1e-11);
    for (int i = 0; i < c.n / 3; ++i) {
      double x[3];
      m3_mulv(x, F, c.b->rest + 3 * i);
      for (int k = 0; k < 3; ++k) error = fmax(error, fabs(c.b->x[3 * i + k] - x[k] - shift[k]));
    }
    double cauchy[9], sigma[9];
    m3_mul_nt(cauchy, P, F);
    for (int i = 0; i < c.n / 3; ++i) {
      assert_true(tetrahedra_stress(c.b, i, sigma));
      for (int k = 0; k < 9; ++k) assert_close(sigma[k], cauchy[k] / m3_det(F), 1e-10 * 0.2 * jelly.E);
    }
    internal(&c, g);
    for (int64_t t = 0; t < c.mesh->surface->n_triangles; ++t) {
      int64_t at[3];
      double  e1[3], e2[3], area[3], f[3];
      for (int k = 0; k < 3; ++k) at[k] = c.mesh->surface_vertex[c.mesh->surface->tri[3 * t + k]];
      v3_sub(e1, c.b->rest + 3 * at[1], c.b->rest + 3 * at[0]);
      v3_sub(e2, c.b->rest + 3 * at[2], c.b->rest + 3 * at[0]);
      v3_cross(area, e1, e2);
      m3_mulv(f, P, area);
      for (int k = 0; k < 3; ++k) v3_axpy(g + 3 * at[k], -1.0 / 6.0, f);
    }
    for (int i = 0; i < c.n; ++i) wrong = fmax(wrong, fabs(g[i]));
    assert_close(error, 0.0, 1e-12);
    assert_close(wrong, 0.0,
                 pass ? 1e-12 * jelly.E : 1e-10 * 0.0625 * 0.2 * jelly.E); /* a rotation; stress times a vertex's share of a side */
  }
  free(g);
  cube_destroy(&c);
}

static void test_patch(void **unused)
{
  (void)unused;
  state = 11;
  check_patch(&material_law_linear_corotated);
  check_patch(&material_law_fixed_corotated);
  check_patch(&material_law_neo_hookean);
  assert_no_leak();
}

/* ---- E04 ------------------------------------------------------------------------------------------------------------------ */

static const double amplitude[3] = {0.08, -0.05, 0.06};

/* u_i = amplitude_i s, s = sin(pi x) sin(pi y) sin(pi z): zero on the surface. u [3], F [9] and the force per volume in equilibrium with
 * it, -Div P of
 *   P = mu F + (lambda log J - mu) F^-T
 * with H_ikj = amplitude_i d^2 s / dX_k dX_j; derived by hand, without code of the program. u, F or force may be NULL. */
static void manufactured(double mu, double lambda, const double X[3], double *u, double *F_out, double *force)
{
  double sine[3], cosine[3], s1[3], s2[9], F[9], inverse[9];
  for (int k = 0; k < 3; ++k) sine[k] = sin(M_PI * X[k]), cosine[k] = M_PI * cos(M_PI * X[k]);
  const double s = sine[0] * sine[1] * sine[2];
  for (int j = 0; j < 3; ++j) {
    const int k = (j + 1) % 3, l = (j + 2) % 3;
    s1[j]         = cosine[j] * sine[k] * sine[l];
    s2[4 * j]     = -M_PI * M_PI * s;
    s2[3 * j + k] = s2[3 * k + j] = cosine[j] * cosine[k] * sine[l];
  }
  for (int i = 0; i < 3; ++i) {
    if (u) u[i] = amplitude[i] * s;
    for (int j = 0; j < 3; ++j) F[3 * i + j] = (i == j) + amplitude[i] * s1[j];
  }
  if (F_out) memcpy(F_out, F, sizeof F);
  if (!force) return;
  const double m = mu - lambda * log(m3_inverse(inverse, F));
  for (int i = 0; i < 3; ++i) {
    double div = 0.0;
    for (int j = 0; j < 3; ++j) {
      div += mu * amplitude[i] * s2[4 * j];
      for (int k = 0; k < 3; ++k)
        for (int l = 0; l < 3; ++l) {
          const double h = amplitude[k] * s2[3 * l + j]; /* H_klj */
          div += lambda * inverse[3 * l + k] * h * inverse[3 * j + i] + m * inverse[3 * j + k] * h * inverse[3 * l + i];
        }
    }
    force[i] = -div;
  }
}

/* Gauss points on the unit tetrahedron, by collapsing a cube: exact for cubics. */
enum { N_GAUSS = 27 };
static void gauss_points(double barycentric[N_GAUSS][4], double weight[N_GAUSS])
{
  static const double at[3] = {0.1127016653792583, 0.5, 0.8872983346207417}, w[3] = {5.0 / 18.0, 4.0 / 9.0, 5.0 / 18.0};
  for (int q = 0; q < N_GAUSS; ++q) {
    const double a = at[q % 3], b = at[q / 3 % 3], c = at[q / 9];
    barycentric[q][0] = a;
    barycentric[q][1] = (1.0 - a) * b;
    barycentric[q][2] = (1.0 - a) * (1.0 - b) * c;
    barycentric[q][3] = (1.0 - a) * (1.0 - b) * (1.0 - c);
    weight[q]         = 6.0 * w[q % 3] * w[q / 3 % 3] * w[q / 9] * (1.0 - a) * (1.0 - a) * (1.0 - b); /* of the volume */
  }
}

/* With load: add the integral of force times shape function. Without: square errors of u and of its gradient. */
static void integrate(const cube *c, double *load, double *error0, double *error1)
{
  double barycentric[N_GAUSS][4], weight[N_GAUSS], mu, lambda;
  gauss_points(barycentric, weight);
  material_small_strain(c->mat, &mu, &lambda);
  for (int64_t t = 0; t < c->mesh->n_tets; ++t) {
    const int32_t *tet = c->mesh->tet + 4 * t;
    double         rest[9], now[9], inverse[9], F_h[9];
    for (int a = 0; a < 3; ++a)
      for (int k = 0; k < 3; ++k) {
        rest[3 * k + a] = c->b->rest[3 * tet[a + 1] + k] - c->b->rest[3 * tet[0] + k];
        now[3 * k + a]  = c->b->x[3 * tet[a + 1] + k] - c->b->x[3 * tet[0] + k];
      }
    m3_inverse(inverse, rest);
    m3_mul(F_h, now, inverse);
    for (int q = 0; q < N_GAUSS; ++q) {
      const double w    = weight[q] * c->mesh->volume[t];
      double       X[3] = {0.0}, u_h[3] = {0.0}, u[3], F[9], force[3];
      for (int a = 0; a < 4; ++a)
        for (int k = 0; k < 3; ++k) {
          X[k] += barycentric[q][a] * c->b->rest[3 * tet[a] + k];
          u_h[k] += barycentric[q][a] * (c->b->x[3 * tet[a] + k] - c->b->rest[3 * tet[a] + k]);
        }
      manufactured(mu, lambda, X, u, F, load ? force : NULL);
      for (int a = 0; a < 4 && load; ++a) v3_axpy(load + 3 * tet[a], w * barycentric[q][a], force);
      if (load) continue;
      for (int k = 0; k < 3; ++k) *error0 += w * (u_h[k] - u[k]) * (u_h[k] - u[k]);
      for (int k = 0; k < 9; ++k) *error1 += w * (F_h[k] - F[k]) * (F_h[k] - F[k]);
    }
  }
}

static void test_orders(void **unused)
{
  (void)unused;
  double error[3][2] = {{0.0}};
  state              = 12;
  for (int level = 0; level < 3; ++level) {
    cube c;
    cube_create(&c, &material_law_neo_hookean, 3 << level, 0.1, false);
    double *load = calloc((size_t)c.n, sizeof *load);
    integrate(&c, load, NULL, NULL);
    equilibrate(&c, load, 1e-7);
    integrate(&c, NULL, &error[level][0], &error[level][1]);
    for (int k = 0; k < 2; ++k) error[level][k] = sqrt(error[level][k]);
    free(load);
    cube_destroy(&c);
  }
  print_message("errors in L2: %.3g %.3g %.3g, orders %.3f %.3f; in H1: %.3g %.3g %.3g, orders %.3f %.3f\n", error[0][0], error[1][0],
                error[2][0], log2(error[0][0] / error[1][0]), log2(error[1][0] / error[2][0]), error[0][1], error[1][1], error[2][1],
                log2(error[0][1] / error[1][1]), log2(error[1][1] / error[2][1]));
  assert_close(log2(error[1][0] / error[2][0]), 2.0, 0.15);
  assert_close(log2(error[1][1] / error[2][1]), 1.0, 0.15);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_patch), cmocka_unit_test(test_orders))
