/* The forms of stiffness damping of tetrahedra: against their derivation, against each other, and the conservation laws of each. */
#include "nodal_fixture.h"
#include "polar3.h"
#include "stress_differential.h"
#include "core/quaternion.h"
#include "core/team.h"
#include "discretize/fem/tetrahedra.h"
#include "geometry/tet_mesh/tet_mesh_primitives.h"
#include "discretize/material/material_registry.h"
#include "geometry/tet_mesh/tet_mesh.h"
#include <petscblaslapack.h>

typedef struct {
  double density, E, nu;
} parameters;
static const parameters jelly = {1000.0, 1e4, 0.3};
static const double     beta  = 0.4; /* with dt below 40 times what the elastic forces add to the tangent */
static const double     dt    = 0.01;
enum { N_FORMS = 3 };

/* The same mesh and material twice, with damping and without: the difference is the damping. */
typedef struct {
  material   *mat;
  nodal_body *damped, *bare;
  int         n; /* unknowns */
} pair;

static void pair_create(pair *p, const material_law *law, nodal_damping_form form, int64_t n_nodes, const double *x, int64_t n_tets,
                        const int32_t *tet)
{
  double *mass = calloc((size_t)n_nodes, sizeof *mass);
  assert_ok(material_create("jelly", law, &jelly, jelly.density, &p->mat));
  lump_tetrahedra(n_tets, tet, x, jelly.density, mass);
  for (int k = 0; k < 2; ++k) {
    nodal_body **b = k ? &p->damped : &p->bare;
    assert_ok(nodal_body_create("block", n_nodes, x, mass, b));
    assert_ok(tetrahedra_add(*b, p->mat, form, k ? beta : 0.0, n_tets, tet));
    assert_ok(nodal_body_finish(*b));
  }
  p->n = 3 * (int)n_nodes;
  free(mass);
}

/* A cube of 3 cells a side, 64 nodes, moved. */
static void block(pair *p, const material_law *law, nodal_damping_form form)
{
  const double min[3] = {-0.5, -0.5, -0.5}, max[3] = {0.5, 0.5, 0.5};
  tet_mesh    *m;
  assert_ok(tet_mesh_box(min, max, 1.0 / 3.0, &m));
  for (int64_t i = 0; i < 3 * m->n_vertices; ++i) m->x[i] += 0.03 * uniform(-1.0, 1.0);
  pair_create(p, law, form, m->n_vertices, m->x, m->n_tets, m->tet);
  tet_mesh_destroy(&m);
}

static void pair_destroy(pair *p)
{
  body *a = &p->damped->base, *b = &p->bare->base;
  a->ops->destroy(&a);
  b->ops->destroy(&b);
  material_destroy(&p->mat);
}

/* Both begin a step at x. */
static void begin(pair *p, const double *x)
{
  for (int k = 0; k < 2; ++k) {
    nodal_body *b      = k ? p->damped : p->bare;
    step_status status = {STEP_OK, NULL, -1};
    int64_t     n_blocks;
    memcpy(b->x, x, (size_t)p->n * sizeof *x);
    assert_ok(b->base.ops->begin_step(&b->base, 0.0, dt, &n_blocks, &status));
  }
}

/* f [n] = -K v by the residuals of both: forces at the end of the step are those of x + dt v in either. */
static void damping_force(pair *p, const double *v, double *f)
{
  double *bare = malloc((size_t)p->n * sizeof *bare);
  residual(p->damped, v, f, false);
  residual(p->bare, v, bare, false);
  for (int i = 0; i < p->n; ++i) f[i] = -(f[i] - bare[i]) / dt;
  free(bare);
}

/* x = A rest + noise */
static void deform(const pair *p, const double A[9], double noise, double *x)
{
  for (int i = 0; i < p->n; i += 3) {
    m3_mulv(x + i, A, p->damped->rest + i);
    for (int k = 0; k < 3; ++k) x[i + k] += noise * uniform(-1.0, 1.0);
  }
}

static void rotation(double R[9])
{
  const double axis[3] = {uniform(-2.0, 2.0), uniform(-2.0, 2.0), uniform(-2.0, 2.0)};
  rotation_exp(R, axis);
}

static const double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};

/* ---- forces and tangent ----------------------------------------------------------------------------------------------------- */

/* The whole tangent, of which damping is most, against differences of the residual. */
static void test_tangent(void **unused)
{
  (void)unused;
  state = 41;
  for (int form = 0; form < N_FORMS; ++form) {
    pair p;
    block(&p, &material_law_fixed_corotated, (nodal_damping_form)form);
    random_state(p.damped, 0.05, 1.0);
    check_derivatives(p.damped);
    pair_destroy(&p);
  }
  assert_no_leak();
}

/* Definition of a damping form for one element at deformation F with the rate L = F': the power v.K v, by formulas without
 * nodes. */
static double power(nodal_damping_form form, const material *m, double volume, const double F[9], const double L[9])
{
  double mu, lambda, D[9], E[9], R[9], sum = 0.0;
  material_small_strain(m, &mu, &lambda);
  if (form == NODAL_DAMPING_POLAR) { /* X : dP/dF(R) : X by the law's own tangent at R */
    double P[9], U[9], V[9], dp[9], a[3], b[3], dP[9];
    polar3(F, R, NULL);
    assert_int_equal(material_stress(m, 1, 1, NULL, R, NULL, P, U, V, dp, a, b), 1);
    stress_differential(1, 0, U, V, dp, a, b, L, false, dP);
    for (int k = 0; k < 9; ++k) sum += L[k] * dP[k];
    return beta * volume * sum;
  }
  if (form == NODAL_DAMPING_GREEN) m3_mul_tn(D, F, L); /* F^T F' */
  else {
    double inverse[9];
    volume *= fabs(m3_inverse(inverse, F));
    m3_mul(D, L, inverse); /* grad v */
  }
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) E[3 * i + j] = 0.5 * (D[3 * i + j] + D[3 * j + i]);
  for (int k = 0; k < 9; ++k) sum += 2.0 * mu * E[k] * E[k];
  return beta * volume * (sum + lambda * m3_trace(E) * m3_trace(E));
}

static const double  corner[12]   = {0.1, 0.0, -0.1, 1.0, 0.2, 0.0, -0.1, 0.9, 0.1, 0.2, 0.1, 1.1};
static const int32_t corner_of[4] = {0, 1, 2, 3};

/* K of one element, dense [12][12], from the tangents of both bodies. */
static void dense(pair *p, double K[144])
{
  double v[12] = {0.0}, a[12], b[12];
  residual(p->damped, v, a, true);
  residual(p->bare, v, b, true);
  for (int j = 0; j < 12; ++j) {
    memset(a, 0, sizeof a);
    memset(b, 0, sizeof b);
    memset(v, 0, sizeof v);
    v[j] = 1.0;
    assert_ok(p->damped->base.ops->tangent(&p->damped->base, v, a, false));
    assert_ok(p->bare->base.ops->tangent(&p->bare->base, v, b, false));
    for (int i = 0; i < 12; ++i) K[12 * i + j] = (a[i] - b[i]) / dt;
  }
}

static void eigenvalues(const double K[144], double lambda[12])
{
  double       a[144], work[64];
  PetscBLASInt n = 12, size = 64, info;
  memcpy(a, K, sizeof a);
  LAPACKsyev_("N", "U", &n, a, &n, lambda, work, &size, &info);
  assert_int_equal(info, 0);
}

/* One element in various states: v.K v equals the power of the form, for random v; K is symmetric, and its gradient in v is the
 * force; no eigenvalue is negative, and six are zero: three translations and three infinitesimal rotations (more for a flat
 * element). */
static void test_one_element(void **unused)
{
  (void)unused;
  double edge[9], inverse[9], worst = 0.0;
  for (int a = 0; a < 3; ++a)
    for (int k = 0; k < 3; ++k) edge[3 * k + a] = corner[3 * (a + 1) + k] - corner[k];
  const double volume = m3_inverse(inverse, edge) / 6.0;
  state               = 42;
  for (int form = 0; form < N_FORMS; ++form) {
    pair p;
    pair_create(&p, &material_law_fixed_corotated, (nodal_damping_form)form, 4, corner, 1, corner_of);
    for (int sample = 0; sample < 300; ++sample) {
      const int kind = sample % 3; /* moderate; compressed to a tenth along one axis; inverted */
      double    A[9], U[9], V[9], F[9], S[9] = {1.0 + 0.3 * uniform(-1, 1), 0, 0, 0, 1.0 + 0.3 * uniform(-1, 1), 0, 0, 0, 1.0};
      double    x[12], v[12], f[12], K[144], lambda[12], L[9], largest = 0.0, work = 0.0, quadratic = 0.0;
      S[8] = kind == 0 ? 0.8 : kind == 1 ? 0.1 : -0.4;
      rotation(U), rotation(V);
      m3_mul(A, U, S);
      m3_mul_nt(F, A, V);
      deform(&p, F, 0.0, x);
      begin(&p, x);
      dense(&p, K);
      for (int i = 0; i < 144; ++i) largest = fmax(largest, fabs(K[i]));
      for (int i = 0; i < 144; ++i) assert_close(K[i], K[12 * (i % 12) + i / 12], 1e-14 * largest); /* of the elastic tangent next to it */
      for (int i = 0; i < 12; ++i) v[i] = uniform(-1.0, 1.0);
      damping_force(&p, v, f);
      double moving[9];
      for (int a = 0; a < 3; ++a)
        for (int k = 0; k < 3; ++k) moving[3 * k + a] = v[3 * (a + 1) + k] - v[k];
      m3_mul(L, moving, inverse);
      for (int i = 0; i < 12; ++i) {
        double Kv = 0.0;
        for (int j = 0; j < 12; ++j) Kv += K[12 * i + j] * v[j];
        assert_close(f[i], -Kv, 1e-13 * largest);
        work -= f[i] * v[i], quadratic += v[i] * Kv;
      }
      const double expected = power((nodal_damping_form)form, p.mat, volume, F, L);
      assert_close(work, expected, 1e-12 * largest);
      assert_close(quadratic, expected, 1e-12 * largest);
      eigenvalues(K, lambda);
      for (int i = 0; i < 6; ++i) assert_close(lambda[i], 0.0, 1e-14 * 12.0 * lambda[11]);
      if (kind != 1) assert_true(lambda[6] > 1e-3 * lambda[11]);
      worst = fmin(worst, lambda[0] / lambda[11]);
    }
    pair_destroy(&p);
  }
  print_message("smallest eigenvalue over the largest: %.2g\n", worst);
  assert_no_leak();
}

/* A block in random states, elements inverted among them: v.f <= 0 for any v. */
static void test_dissipates(void **unused)
{
  (void)unused;
  state = 43;
  for (int form = 0; form < N_FORMS; ++form) {
    pair p;
    block(&p, &material_law_fixed_corotated, (nodal_damping_form)form);
    double *x = malloc(sizeof *x * (size_t)p.n), *v = malloc(sizeof *x * (size_t)p.n), *f = malloc(sizeof *x * (size_t)p.n);
    for (int sample = 0; sample < 100; ++sample) {
      double R[9], sum = 0.0, size = 0.0;
      rotation(R);
      deform(&p, R, 0.2, x); /* cells of 0.33: many elements are turned inside out */
      begin(&p, x);
      for (int i = 0; i < p.n; ++i) v[i] = uniform(-1.0, 1.0);
      damping_force(&p, v, f);
      for (int i = 0; i < p.n; ++i) sum += f[i] * v[i], size += fabs(f[i] * v[i]);
      assert_true(sum < -1e-3 * size);
    }
    free(x), free(v), free(f);
    pair_destroy(&p);
  }
  assert_no_leak();
}

/* ---- agreement -------------------------------------------------------------------------------------------------------------- */

/* Where F is a rotation all three are beta K, K the elastic stiffness there: then a mode of frequency omega has damping ratio beta
 * omega / 2. Of every law, each of which has its own K away from rotations. */
static void test_turned(void **unused)
{
  (void)unused;
  const material_law *laws[] = {&material_law_fixed_corotated, &material_law_neo_hookean, &material_law_linear_corotated};
  state                      = 44;
  for (int l = 0; l < 3; ++l) {
    double *first = NULL;
    for (int form = 0; form < N_FORMS; ++form) {
      pair     p;
      double   R[9], scale = 0.0;
      uint64_t keep = state;
      block(&p, laws[l], (nodal_damping_form)form);
      const size_t size = sizeof(double) * (size_t)p.n;
      double      *x = malloc(size), *v = malloc(size), *f = malloc(size), *Kv = calloc((size_t)p.n, sizeof *Kv);
      rotation(R);
      deform(&p, R, 0.0, x);
      begin(&p, x);
      memset(v, 0, size);
      residual(p.bare, v, f, true); /* the elastic tangent at x */
      damping_force(&p, v, f);
      for (int i = 0; i < p.n; ++i) assert_close(f[i], 0.0, 0.0);
      for (int i = 0; i < p.n; ++i) v[i] = uniform(-1.0, 1.0);
      assert_ok(p.bare->base.ops->tangent(&p.bare->base, v, Kv, false));
      damping_force(&p, v, f);
      for (int i = 0; i < p.n; ++i) {
        Kv[i] = (Kv[i] - p.bare->mass[i / 3] * v[i]) / (dt * dt);
        scale = fmax(scale, fabs(Kv[i]));
      }
      for (int i = 0; i < p.n; ++i) assert_close(f[i], -beta * Kv[i], 1e-11 * beta * scale);
      if (!first) {
        first = f, f = NULL;
        state = keep; /* the next has the same mesh, rotation and velocities */
      } else {
        for (int i = 0; i < p.n; ++i) assert_close(f[i], first[i], 1e-12 * beta * scale);
        if (form + 1 < N_FORMS) state = keep;
      }
      free(x), free(v), free(f), free(Kv);
      pair_destroy(&p);
    }
    free(first);
  }
  assert_no_leak();
}

/* ---- momenta ---------------------------------------------------------------------------------------------------------------- */

static void add_torque(const double *x, const double *f, double torque[3], double *scale)
{
  double term[3];
  v3_cross(term, x, f);
  v3_axpy(torque, 1.0, term);
  *scale += v3_norm(x) * v3_norm(f);
}

/* Resultant of the damping force and its torque about the origin, over the sums of sizes. */
static void resultant(pair *p, const double *x, const double *v, double force[3], double torque[3], double *size)
{
  double *f = malloc(sizeof *f * (size_t)p->n), sizes = 0.0;
  v3_set(force, 0.0, 0.0, 0.0), v3_set(torque, 0.0, 0.0, 0.0);
  *size = 0.0;
  damping_force(p, v, f);
  for (int i = 0; i < p->n; i += 3) {
    v3_axpy(force, 1.0, f + i);
    add_torque(x + i, f + i, torque, size);
    sizes += v3_norm(f + i);
  }
  v3_scale(force, 1.0 / sizes, force);
  free(f);
}

/* The torque that polar has, by its own formula, summed over elements: -V eps_ijk (P F^T)_kj, P = beta dP/dF(R) : F'. */
static void polar_torque(const pair *p, const double *x, const double *v, double torque[3])
{
  const element_set *set = tetrahedra_of(p->damped);
  double             mu, lambda;
  material_small_strain(p->mat, &mu, &lambda);
  v3_set(torque, 0.0, 0.0, 0.0);
  for (int64_t e = 0; e < set->n; ++e) {
    const int32_t *c = set->node + 4 * e;
    double         rest[9], now[9], moving[9], inverse[9], F[9], L[9], R[9], A[9], T[9], P[9], M[9];
    for (int a = 0; a < 3; ++a)
      for (int k = 0; k < 3; ++k) {
        rest[3 * k + a]   = p->damped->rest[3 * c[a + 1] + k] - p->damped->rest[3 * c[0] + k];
        now[3 * k + a]    = x[3 * c[a + 1] + k] - x[3 * c[0] + k];
        moving[3 * k + a] = v[3 * c[a + 1] + k] - v[3 * c[0] + k];
      }
    const double volume = m3_inverse(inverse, rest) / 6.0;
    m3_mul(F, now, inverse);
    m3_mul(L, moving, inverse);
    polar3(F, R, NULL);
    m3_mul_tn(A, R, L);
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) T[3 * i + j] = mu * (A[3 * i + j] + A[3 * j + i]) + (i == j ? lambda * m3_trace(A) : 0.0);
    m3_mul(P, R, T);
    m3_mul_nt(M, P, F);
    for (int i = 0; i < 3; ++i) {
      const int j = (i + 1) % 3, k = (i + 2) % 3;
      torque[i] -= beta * volume * (M[3 * k + j] - M[3 * j + k]);
    }
  }
}

/* In deformed states all forms conserve linear momentum; spatial and green also angular momentum, and they are zero for a rigid
 * motion. Polar has a torque: that of its formula, and half of it for half the strain. */
static void test_momenta(void **unused)
{
  (void)unused;
  state = 45;
  for (int form = 0; form < N_FORMS; ++form) {
    pair p;
    block(&p, &material_law_fixed_corotated, (nodal_damping_form)form);
    const size_t size = sizeof(double) * (size_t)p.n;
    double      *x = malloc(size), *v = malloc(size), *f = malloc(size);
    for (int sample = 0; sample < 100; ++sample) {
      double R[9], force[3], torque[3], scale, expected[3];
      rotation(R);
      deform(&p, R, 0.1, x);
      begin(&p, x);
      for (int i = 0; i < p.n; ++i) v[i] = uniform(-1.0, 1.0);
      resultant(&p, x, v, force, torque, &scale);
      assert_close(v3_norm(force), 0.0, 1e-13);
      if (form == NODAL_DAMPING_POLAR) {
        polar_torque(&p, x, v, expected);
        for (int k = 0; k < 3; ++k) assert_close(torque[k], expected[k], 1e-12 * scale);
        assert_true(v3_norm(torque) > 1e-4 * scale);
        continue;
      }
      assert_close(v3_norm(torque), 0.0, 1e-12 * scale); /* spatial: times the condition of F, up to a few hundred here */
      const double w[3] = {uniform(-1, 1), uniform(-1, 1), uniform(-1, 1)}, u[3] = {1.0, 2.0, 3.0};
      for (int i = 0; i < p.n; i += 3) {
        v3_cross(v + i, w, x + i);
        v3_axpy(v + i, 1.0, u);
      }
      damping_force(&p, v, f);
      for (int i = 0; i < p.n; ++i) assert_close(f[i], 0.0, 1e-12 * scale);
    }
    if (form == NODAL_DAMPING_POLAR) {
      double  torque[3][3], force[3], scale;
      double *shift = malloc(size);
      for (int i = 0; i < p.n; ++i) shift[i] = uniform(-1.0, 1.0), v[i] = uniform(-1.0, 1.0);
      for (int level = 0; level < 3; ++level) {
        for (int i = 0; i < p.n; ++i) x[i] = p.damped->rest[i] + (level == 0 ? 0.0 : 2e-4 / level) * shift[i];
        begin(&p, x);
        resultant(&p, x, v, force, torque[level], &scale);
      }
      assert_close(v3_norm(torque[0]), 0.0, 1e-12 * scale);
      for (int k = 0; k < 3; ++k) assert_close(torque[1][k], 2.0 * torque[2][k], 1e-2 * v3_norm(torque[1]));
      free(shift);
    }
    free(x), free(v), free(f);
    pair_destroy(&p);
  }
  assert_no_leak();
}

/* The same bits on 1, 2, 3 threads, of a body large enough for them. */
static void test_threads(void **unused)
{
  (void)unused;
  const double min[3] = {0.0, 0.0, 0.0}, max[3] = {1.0, 1.0, 1.0};
  state = 46;
  for (int form = 0; form < N_FORMS; ++form) {
    pair      p;
    tet_mesh *m;
    assert_ok(tet_mesh_box(min, max, 0.1, &m));
    pair_create(&p, &material_law_fixed_corotated, (nodal_damping_form)form, m->n_vertices, m->x, m->n_tets, m->tet);
    tet_mesh_destroy(&m);
    const size_t size = sizeof(double) * (size_t)p.n, values = 9 * sizeof(double) * (size_t)p.damped->row_start[p.damped->n_nodes];
    double      *x = malloc(size), *v = malloc(size), *g[3], *value[3];
    deform(&p, identity, 0.02, x);
    for (int i = 0; i < p.n; ++i) v[i] = uniform(-1.0, 1.0);
    for (int t = 0; t < 3; ++t) {
      g[t] = malloc(size), value[t] = malloc(values);
      team_set_threads(t + 1);
      begin(&p, x);
      residual(p.damped, v, g[t], true);
      memcpy(value[t], p.damped->value, values);
      assert_memory_equal(g[t], g[0], size);
      assert_memory_equal(value[t], value[0], values);
    }
    team_set_threads(0);
    for (int t = 0; t < 3; ++t) free(g[t]), free(value[t]);
    free(x), free(v);
    pair_destroy(&p);
  }
  assert_no_leak();
}

/* ---- keys -------------------------------------------------------------------------------------------------------------------- */

/* beta of a ratio at a frequency: ratio = beta omega / 2. Errors: tests/integration/test_bad_input.sh. */
static void test_beta(void **unused)
{
  (void)unused;
  diagnostics             *d;
  const nodal_damping_spec none    = {.stiffness = NAN, .ratio = NAN, .frequency = NAN, .form = -1};
  nodal_damping_spec       literal = none, relative = none;
  literal.stiffness  = 0.25;
  relative.ratio     = 0.05;
  relative.frequency = 2.5;
  assert_ok(diagnostics_create(&d));
  assert_close(nodal_damping_beta(&none, "cloth", NULL, "b", d), 0.0, 0.0);
  assert_close(nodal_damping_beta(&literal, NULL, NULL, "b", d), 0.25, 0.0);
  assert_close(nodal_damping_beta(&relative, "rod", NULL, "b", d) * 2.0 * M_PI * 2.5 / 2.0, 0.05, 1e-16);
  assert_int_equal(diagnostics_count(d), 0);
  diagnostics_destroy(&d);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_tangent), cmocka_unit_test(test_one_element), cmocka_unit_test(test_dissipates),
          cmocka_unit_test(test_turned), cmocka_unit_test(test_momenta), cmocka_unit_test(test_threads), cmocka_unit_test(test_beta))
