#include "discretize/fem/tetrahedra.h"
#include "core/math3.h"
#include "core/memory.h"
#include "discretize/fem/tetrahedra_damping.h"
#include "discretize/fem/tetrahedra_lanes.h"
#include <string.h>

typedef struct {
  const material    *material;
  bool               is_definite; /* what of the tangent would not be is left out */
  int64_t            n;
  double            *volume;      /* [n] */
  double            *gradient[9]; /* gradients of the shape functions of corners 1, 2, 3 (corner 0: minus their sum), [3 corner + k][n] */
  double            *start[9];    /* deformation gradient at the start of the step, if the law asks for it */
  tetrahedra_damping damping;
} tetrahedra;

/* Volume and gradients from corner positions x [12]; the determinant of the edges is 6 V. */
static double shape_gradients(const double x[12], double gradient[9])
{
  double edge[9], inverse[9];
  for (int a = 0; a < 3; ++a)
    for (int k = 0; k < 3; ++k) edge[3 * k + a] = x[3 * (a + 1) + k] - x[k];
  const double det = m3_inverse(inverse, edge);
  for (int k = 0; k < 9; ++k) gradient[k] = inverse[k]; /* row a of the inverse is grad N_(a+1) */
  return det / 6.0;
}

void tetrahedra_lump(int64_t n, const int32_t *node, const double *x, double density, double *mass)
{
  for (int64_t e = 0; e < n; ++e) {
    double c[12], gradient[9];
    tetrahedra_corners(node + 4 * e, x, c);
    const double quarter = 0.25 * density * fabs(shape_gradients(c, gradient));
    for (int a = 0; a < 4; ++a) mass[node[4 * e + a]] += quarter;
  }
}

/* ---- one batch --------------------------------------------------------------------------------------------------------- */

/* Of F of element e alone, from its corners c [12]. */
static double gradient_entry(const tetrahedra *t, int64_t e, const double c[12], int i, int j)
{
  double sum = 0.0;
  for (int a = 0; a < 3; ++a) sum += (c[3 * (a + 1) + i] - c[i]) * t->gradient[3 * a + j][e];
  return sum;
}

/* S_(ai)(bj) += dt^2 V e_i . dP(e_j (x) grad N_b) grad N_a, in principal axes: with h_a = V^T grad N_a and M = U^T dF V,
 * M_rc = U_jr (h_b)_c and e_i . U X V^T grad N_a = sum_r U_ir (X h_a)_r. */
static void add_stiffness(const tetrahedra *t, int64_t first, int64_t n, double dt, const element_row *U, const element_row *V, const element_row *dp,
                          const element_row *ta, const element_row *tb, element_row *S)
{
#pragma omp simd
  for (int64_t e = 0; e < n; ++e) {
    const double scale = dt * dt * t->volume[first + e];
    double       u[9], h[9], d[9], mean[3], half[3];
    for (int k = 0; k < 9; ++k) u[k] = U[k][e], d[k] = dp[k][e];
    for (int a = 0; a < 3; ++a)
      for (int c = 0; c < 3; ++c)
        h[3 * a + c] = V[c][e] * t->gradient[3 * a][first + e] + V[3 + c][e] * t->gradient[3 * a + 1][first + e] +
                       V[6 + c][e] * t->gradient[3 * a + 2][first + e];
    for (int k = 0; k < 3; ++k) mean[k] = 0.5 * (ta[k][e] + tb[k][e]), half[k] = 0.5 * (ta[k][e] - tb[k][e]);
    for (int b = 0; b < 3; ++b)
      for (int j = 0; j < 3; ++j) {
        const double *uj = u + 3 * j, *hb = h + 3 * b;
        double        X[9];
        for (int r = 0; r < 3; ++r) X[4 * r] = d[3 * r] * uj[0] * hb[0] + d[3 * r + 1] * uj[1] * hb[1] + d[3 * r + 2] * uj[2] * hb[2];
        for (int r = 0; r < 3; ++r)
          for (int c = 0; c < 3; ++c)
            if (r != c) X[3 * r + c] = mean[3 - r - c] * uj[r] * hb[c] + half[3 - r - c] * uj[c] * hb[r];
        for (int a = 0; a < 3; ++a) {
          double y[3];
          for (int r = 0; r < 3; ++r) y[r] = X[3 * r] * h[3 * a] + X[3 * r + 1] * h[3 * a + 1] + X[3 * r + 2] * h[3 * a + 2];
          for (int i = 0; i < 3; ++i)
            S[9 * (4 * (a + 1) + b + 1) + 3 * i + j][e] = scale * (u[3 * i] * y[0] + u[3 * i + 1] * y[1] + u[3 * i + 2] * y[2]);
        }
      }
  }
}

static int64_t evaluate(const void *context, int64_t first, int64_t n, double dt, const element_row *x, const element_row *v, element_row *f,
                        element_row *S)
{
  const tetrahedra *t = context;
  element_row       F[9], start[9], P[9], U[9], V[9], dp[9], a[3], b[3];
  tetrahedra_gradients(t->gradient, first, n, x, F);
  for (int k = 0; k < 9 && t->start[0]; ++k) memcpy(start[k], t->start[k] + first, (size_t)n * sizeof(double));
  const int64_t bad = material_stress(t->material, n, ELEMENT_BATCH, t->start[0] ? start[0] : NULL, F[0], NULL, P[0], S ? U[0] : NULL, S ? V[0] : NULL, S ? dp[0] : NULL,
                                      S ? a[0] : NULL, S ? b[0] : NULL);
  if (bad < n) return bad;
  memset(f, 0, 12 * sizeof *f);
  tetrahedra_corner_forces(n, t->volume, t->gradient, first, (const element_row *)P, f);
  if (S && t->is_definite) material_tangent_project(t->material, n, ELEMENT_BATCH, dp[0], a[0], b[0]);
  if (S)
    add_stiffness(t, first, n, dt, (const element_row *)U, (const element_row *)V, (const element_row *)dp, (const element_row *)a,
                  (const element_row *)b, S);
  tetrahedra_damping_add(&t->damping, first, n, dt, v, f, S);
  element_balance(4, n, f, S);
  return n;
}

static void energy(const void *context, int64_t first, int64_t n, const element_row *x, double *out)
{
  const tetrahedra *t = context;
  element_row       F[9];
  tetrahedra_gradients(t->gradient, first, n, x, F);
  material_energy(t->material, n, ELEMENT_BATCH, F[0], NULL, out);
  for (int64_t e = 0; e < n; ++e) out[e] *= t->volume[first + e];
}

static void keep_start(tetrahedra *t, int64_t n, const int32_t *node, const double *x)
{
#pragma omp parallel for schedule(static)
  for (int64_t e = 0; e < n; ++e) {
    double c[12];
    tetrahedra_corners(node + 4 * e, x, c);
    for (int k = 0; k < 9; ++k) t->start[k][e] = gradient_entry(t, e, c, k / 3, k % 3);
  }
}

static bool relinearise(void *context, int64_t n, const int32_t *node, const double *x)
{
  tetrahedra *t = context;
  if (t->start[0]) keep_start(t, n, node, x);
  return t->start[0] != NULL;
}

static void begin_step(void *context, int64_t n, const int32_t *node, const double *x, const double *v)
{
  tetrahedra *t = context;
  (void)v;
  if (t->start[0]) keep_start(t, n, node, x);
  tetrahedra_damping_begin(&t->damping, node, x);
}

static void set_definite(void *context, bool is_wanted) { ((tetrahedra *)context)->is_definite = is_wanted; }

static void destroy(void **context)
{
  tetrahedra *t = *context;
  tetrahedra_damping_destroy(&t->damping);
  memory_free(&t->volume);
  for (int k = 0; k < 9; ++k) {
    memory_free(&t->gradient[k]);
    memory_free(&t->start[k]);
  }
  memory_free(context);
}

static const element_ops ops = {.name       = "tetrahedra",
                                .n_nodes    = 4,
                                .begin_step = begin_step,
                                .evaluate   = evaluate,
                                .energy     = energy,
                                .destroy    = destroy,
                                .set_definite = set_definite,
                                .relinearise  = relinearise};

/* ---- making them --------------------------------------------------------------------------------------------------------- */

static PetscErrorCode allocate(tetrahedra *t)
{
  PetscFunctionBegin;
  PetscCall(memory_alloc("tetrahedra", t->n, sizeof(double), &t->volume));
  for (int k = 0; k < 9; ++k) PetscCall(memory_alloc("tetrahedra", t->n, sizeof(double), &t->gradient[k]));
  for (int k = 0; k < 9 && t->material->law->step; ++k) PetscCall(memory_alloc("tetrahedra", t->n, sizeof(double), &t->start[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tetrahedra_add(nodal_body *b, const material *m, double beta, int64_t n, const int32_t *node)
{
  return tetrahedra_add_damped(b, m, NODAL_DAMPING_SPATIAL, beta, n, node);
}

PetscErrorCode tetrahedra_add_damped(nodal_body *b, const material *m, nodal_damping_form form, double beta, int64_t n, const int32_t *node)
{
  element_set *set;
  tetrahedra  *t;
  PetscFunctionBegin;
  SS_ASSERT(m->law && m->law->n_state == 0);
  PetscCall(nodal_body_add_set(b, &ops, n, node, &set));
  PetscCall(memory_alloc("tetrahedra", 1, sizeof *t, &t));
  set->context = t;
  *t           = (tetrahedra){.material = m, .n = n};
  PetscCall(allocate(t));
  t->damping = (tetrahedra_damping){.form = form, .beta = beta, .n = n, .volume = t->volume, .gradient = t->gradient};
  material_small_strain(m, &t->damping.mu, &t->damping.lambda);
  PetscCall(tetrahedra_damping_create(&t->damping));
  for (int64_t e = 0; e < n; ++e) {
    double c[12], gradient[9];
    tetrahedra_corners(set->node + 4 * e, b->rest, c);
    t->volume[e] = shape_gradients(c, gradient);
    PetscCheck(t->volume[e] > 0.0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "tetrahedron %d of %s has volume %g m^3: expected more than 0",
               (int)set->original[e], b->base.name, t->volume[e]);
    for (int k = 0; k < 9; ++k) t->gradient[k][e] = gradient[k];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- what others want to know ---------------------------------------------------------------------------------------------- */

/* P F^T / J of element e of a set, times its volume. */
static bool add_cauchy(const tetrahedra *t, int64_t e, const double c[12], double sigma[9], double *volume)
{
  double F[9], P[9], S[9];
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) F[3 * i + j] = gradient_entry(t, e, c, i, j);
  const double J = m3_det(F);
  if (!(J > 0.0) || material_stress(t->material, 1, 1, NULL, F, NULL, P, NULL, NULL, NULL, NULL, NULL) < 1) return false;
  m3_mul_nt(S, P, F);
  m3_axpy(sigma, t->volume[e] / J, S);
  *volume += t->volume[e];
  return true;
}

const element_set *tetrahedra_of(const nodal_body *b)
{
  for (int s = 0; s < b->n_sets; ++s)
    if (b->sets[s].ops == &ops) return &b->sets[s];
  return NULL;
}

bool tetrahedra_stress(const nodal_body *b, int64_t node, double sigma[9])
{
  const element_set *set    = tetrahedra_of(b);
  double             volume = 0.0, c[12];
  m3_zero(sigma);
  for (int64_t e = 0; set && e < set->n; ++e) {
    const int32_t *v = set->node + 4 * e;
    if (v[0] != node && v[1] != node && v[2] != node && v[3] != node) continue;
    tetrahedra_corners(v, b->x, c);
    if (!add_cauchy(set->context, e, c, sigma, &volume)) return false;
  }
  if (!(volume > 0.0)) return false;
  for (int k = 0; k < 9; ++k) sigma[k] /= volume;
  return true;
}
