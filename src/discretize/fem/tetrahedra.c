/* Implementation of tetrahedra.h: forces, tangents and damping of linear tetrahedra, vectorised over elements. */
#include "discretize/fem/tetrahedra.h"
#include "core/math3.h"
#include "core/memory.h"
#include "core/svd3.h"
#include <string.h>

/* Shared by loops over batches of tetrahedra. Rows are [component][element of the batch]; per-element data of a set are component-major, gradient[3
 * a + k][element]: component k of the gradient of the shape function of corner a + 1. Corner 0 has minus the sum of the others. */

/* x [12] of one element's corners. */
static inline void tetrahedra_corners(const int32_t *node, const double *x, double out[12])
{
  for (int a = 0; a < 4; ++a) v3_copy(out + 3 * a, x + 3 * (int64_t)node[a]);
}

/* G = sum_a (x_a - x_0) gradient_a: the deformation gradient of positions x [12], its rate of velocities. n <= ELEMENT_BATCH.
 * F = 1 + sum_a (u_a - u_0) gradient_a would lose nothing near rest, but needs displacements; differences of positions do. */
static void tetrahedra_gradients(double *const *gradient, int64_t first, int64_t n, const element_row *x, element_row *G)
{
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      const double *restrict g0 = gradient[j] + first, *restrict g1 = gradient[3 + j] + first, *restrict g2 = gradient[6 + j] + first;
#pragma omp simd
      for (int64_t e = 0; e < n; ++e)
        G[3 * i + j][e] = (x[3 + i][e] - x[i][e]) * g0[e] + (x[6 + i][e] - x[i][e]) * g1[e] + (x[9 + i][e] - x[i][e]) * g2[e];
    }
}

/* f of corners 1, 2, 3 -= volume P gradient. */
static void tetrahedra_corner_forces(int64_t n, const double *restrict volume, double *const *gradient, int64_t first, const element_row *P,
                                     element_row *f)
{
  for (int i = 0; i < 3; ++i) {
    for (int a = 0; a < 3; ++a) {
      const double *restrict g0 = gradient[3 * a] + first, *restrict g1 = gradient[3 * a + 1] + first,
                             *restrict g2 = gradient[3 * a + 2] + first;
#pragma omp simd
      for (int64_t e = 0; e < n; ++e)
        f[3 * (a + 1) + i][e] -= volume[first + e] * (P[3 * i][e] * g0[e] + P[3 * i + 1][e] * g1[e] + P[3 * i + 2][e] * g2[e]);
    }
  }
}

/* ==== damping =============================================================================================================== */

/* Stiffness-proportional damping of linear tetrahedra: f = -K v, with K >= 0 symmetric, computed at the start of the step and constant during it.
 *
 *   spatial  f_a = -beta v (2 mu D + lambda tr(D) 1) grad n_a    D = sym(sum_b v_b (x) grad n_b); v, n_a: of the element as it is
 *   polar    f   = -beta sum V G^T dP/dF(R) G v                  dP/dF(R) : X = R (2 mu sym(R^T X) + lambda tr(R^T X) 1)
 *   green    f   = -dE_v/dv, E_v = beta/2 sum V E' : C : E'      E' = sym(F^T F'), F' = G v = sum_b v_b (x) grad N_b
 *
 * V, grad N_a are those of the undeformed element, R the rotation of the polar decomposition of F, mu and lambda of small strains,
 * C : E = 2 mu E + lambda tr(E) 1. If F is a rotation, all are beta K of the undeformed solid, rotated with it; a mode of
 * angular frequency omega then has damping ratio beta omega / 2. All conserve linear momentum and only lose energy. Spatial and green
 * are zero for rigid motions and conserve angular momentum. Polar does not if F is no rotation: its torque is linear in the strain.
 * Polar and green stay bounded for flat or inverted elements; spatial grows without bound as an element becomes flat.
 *
 * Source: [MarquezRazonEtAl2023, sec. 8] (polar, with the opposite sign of K: as printed it increases energy); the green form is derived here. */
typedef struct {
  nodal_damping_form form;
  double             beta, mu, lambda; /* s, Pa, Pa; beta 0: no damping, and no arrays */
  int64_t            n;
  const double      *volume;       /* [n] at rest; borrowed */
  double *const     *gradient;     /* [9][n] the same of grad N of corners 1, 2, 3; borrowed */
  double            *start_volume; /* spatial: [n] at the start of the step */
  double            *start[9];     /* [n] at the start of the step: grad n_a (spatial), R grad N_a (polar), F (green) */
} tetrahedra_damping;

/* Form, beta, mu, lambda, n and borrowed pointers are set in *d, the rest is zero. */
static PetscErrorCode tetrahedra_damping_create(tetrahedra_damping *d)
{
  PetscFunctionBegin;
  if (!(d->beta > 0.0)) PetscFunctionReturn(PETSC_SUCCESS);
  if (d->form == NODAL_DAMPING_SPATIAL) PetscCall(memory_alloc("damping of tetrahedra", d->n, sizeof(double), &d->start_volume));
  for (int k = 0; k < 9; ++k) PetscCall(memory_alloc("damping of tetrahedra", d->n, sizeof(double), &d->start[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void tetrahedra_damping_destroy(tetrahedra_damping *d)
{
  memory_free(&d->start_volume);
  for (int k = 0; k < 9; ++k) memory_free(&d->start[k]);
}

/* ---- the start of a step -------------------------------------------------------------------------------------------------- */

/* Volumes and gradients of elements as they are: row a of the inverse of the edges is grad n_(a+1), their determinant 6 v. */
static void compute_element_shapes(tetrahedra_damping *d, const int32_t *node, const double *x)
{
#pragma omp parallel for schedule(static)
  for (int64_t e = 0; e < d->n; ++e) {
    double c[12], edge[9], inverse[9];
    tetrahedra_corners(node + 4 * e, x, c);
    for (int a = 0; a < 3; ++a)
      for (int k = 0; k < 3; ++k) edge[3 * k + a] = c[3 * (a + 1) + k] - c[k];
    d->start_volume[e] = fabs(m3_inverse(inverse, edge)) / 6.0; /* an inverted element still only loses energy */
    for (int k = 0; k < 9; ++k) d->start[k][e] = inverse[k];
  }
}

/* q_a = R grad N_a, R = U V^T: dP/dF(R) acts on v with grad N_a as the spatial viscosity does with q_a. */
static void turn_gradients(tetrahedra_damping *d, int64_t first, int64_t n, const element_row *F)
{
  element_row U[9], sigma[3], V[9];
  svd3_batch(n, ELEMENT_BATCH, F[0], U[0], sigma[0], V[0]);
#pragma omp simd
  for (int64_t e = 0; e < n; ++e)
    for (int i = 0; i < 3; ++i) {
      double R[3];
      for (int j = 0; j < 3; ++j) R[j] = U[3 * i][e] * V[3 * j][e] + U[3 * i + 1][e] * V[3 * j + 1][e] + U[3 * i + 2][e] * V[3 * j + 2][e];
      for (int a = 0; a < 3; ++a) {
        double sum = 0.0;
        for (int j = 0; j < 3; ++j) sum += R[j] * d->gradient[3 * a + j][first + e];
        d->start[3 * a + i][first + e] = sum;
      }
    }
}

static void compute_deformations(tetrahedra_damping *d, const int32_t *node, const double *x)
{
#pragma omp parallel for schedule(static)
  for (int64_t first = 0; first < d->n; first += ELEMENT_BATCH) {
    const int64_t n = d->n - first < ELEMENT_BATCH ? d->n - first : ELEMENT_BATCH;
    element_row   X[12], F[9];
    for (int64_t e = 0; e < n; ++e)
      for (int a = 0; a < 4; ++a)
        for (int k = 0; k < 3; ++k) X[3 * a + k][e] = x[3 * (int64_t)node[4 * (first + e) + a] + k];
    tetrahedra_gradients(d->gradient, first, n, (const element_row *)X, F);
    if (d->form == NODAL_DAMPING_POLAR) turn_gradients(d, first, n, (const element_row *)F);
    else
      for (int k = 0; k < 9; ++k) memcpy(d->start[k] + first, F[k], (size_t)n * sizeof(double));
  }
}

/* Take in where nodes x [..][3] of elements node [n][4] are. */
static void tetrahedra_damping_begin(tetrahedra_damping *d, const int32_t *node, const double *x)
{
  if (!(d->beta > 0.0)) return;
  if (d->form == NODAL_DAMPING_SPATIAL) compute_element_shapes(d, node, x);
  else compute_deformations(d, node, x);
}

/* ---- spatial, polar: an isotropic viscosity, gradients q_a ------------------------------------------------------------------ */

/* beta (2 mu D + lambda tr(D) 1), D the symmetric part of L */
static void isotropic_stress(const tetrahedra_damping *d, int64_t n, const element_row *L, element_row *stress)
{
  const double mu = d->beta * d->mu, lambda = d->beta * d->lambda;
#pragma omp simd
  for (int64_t e = 0; e < n; ++e) {
    const double bulk = lambda * (L[0][e] + L[4][e] + L[8][e]);
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) stress[3 * i + j][e] = mu * (L[3 * i + j][e] + L[3 * j + i][e]) + (i == j ? bulk : 0.0);
  }
}

/* Block (a, b) of S += weight (mu q_b q_a^T + lambda q_a q_b^T), q_a = q[3 a ..]: common to both viscosities. */
static void add_dyads(const tetrahedra_damping *d, int a, int b, int64_t n, const double *restrict weight, const element_row *q,
                      element_row *S)
{
  const double mu = d->mu, lambda = d->lambda;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      const double *restrict ai = q[3 * a + i], *restrict aj = q[3 * a + j], *restrict bi = q[3 * b + i], *restrict bj = q[3 * b + j];
      double *restrict s = S[9 * (4 * (a + 1) + b + 1) + 3 * i + j];
#pragma omp simd
      for (int64_t e = 0; e < n; ++e) s[e] += weight[e] * (mu * (bi[e] * aj[e]) + lambda * (ai[e] * bj[e]));
    }
}

/* S += dt beta v ( mu (q_a.q_b 1 + q_b q_a^T) + lambda q_a q_b^T ) */
static void add_viscosity(const tetrahedra_damping *d, const double *restrict volume, int64_t first, int64_t n, double dt, element_row *S)
{
  const double scale = dt * d->beta, mu = d->mu;
  element_row  weight, q[9];
  for (int64_t e = 0; e < n; ++e) weight[e] = scale * volume[first + e];
  for (int k = 0; k < 9; ++k) memcpy(q[k], d->start[k] + first, (size_t)n * sizeof(double));
  for (int a = 0; a < 3; ++a)
    for (int b = 0; b < 3; ++b) {
      const element_row *qa = q + 3 * a, *qb = q + 3 * b;
      double *restrict xx = S[9 * (4 * (a + 1) + b + 1)], *restrict yy = S[9 * (4 * (a + 1) + b + 1) + 4],
                       *restrict zz = S[9 * (4 * (a + 1) + b + 1) + 8];
#pragma omp simd
      for (int64_t e = 0; e < n; ++e) {
        const double dot = weight[e] * mu * (qa[0][e] * qb[0][e] + qa[1][e] * qb[1][e] + qa[2][e] * qb[2][e]);
        xx[e] += dot, yy[e] += dot, zz[e] += dot;
      }
      add_dyads(d, a, b, n, weight, (const element_row *)q, S);
    }
}

/* ---- green ------------------------------------------------------------------------------------------------------------------ */

/* P = F C : sym(F^T F') beta */
static void green_stress(const tetrahedra_damping *d, int64_t first, int64_t n, const element_row *rate, element_row *P)
{
  element_row A[9], T[9];
#pragma omp simd
  for (int64_t e = 0; e < n; ++e)
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) {
        double sum = 0.0;
        for (int k = 0; k < 3; ++k) sum += d->start[3 * k + i][first + e] * rate[3 * k + j][e];
        A[3 * i + j][e] = sum;
      }
  isotropic_stress(d, n, (const element_row *)A, T);
#pragma omp simd
  for (int64_t e = 0; e < n; ++e)
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) {
        double sum = 0.0;
        for (int k = 0; k < 3; ++k) sum += d->start[3 * i + k][first + e] * T[3 * k + j][e];
        P[3 * i + j][e] = sum;
      }
}

/* S += dt beta V ( mu (grad N_a.grad N_b F F^T + q_b q_a^T) + lambda q_a q_b^T ), q_a = F grad N_a */
static void add_green_viscosity(const tetrahedra_damping *d, int64_t first, int64_t n, double dt, element_row *S)
{
  const double scale = dt * d->beta, mu = d->mu;
  element_row  weight, q[9], B[9];
  for (int64_t e = 0; e < n; ++e) weight[e] = scale * d->volume[first + e];
  for (int a = 0; a < 3; ++a)
    for (int i = 0; i < 3; ++i) {
      const double *restrict f0 = d->start[3 * i] + first, *restrict f1 = d->start[3 * i + 1] + first,
                             *restrict f2 = d->start[3 * i + 2] + first;
      const double *restrict g0 = d->gradient[3 * a] + first, *restrict g1 = d->gradient[3 * a + 1] + first,
                             *restrict g2 = d->gradient[3 * a + 2] + first;
      const double *restrict h0 = d->start[3 * a] + first, *restrict h1 = d->start[3 * a + 1] + first,
                             *restrict h2 = d->start[3 * a + 2] + first;
#pragma omp simd
      for (int64_t e = 0; e < n; ++e) {
        q[3 * a + i][e] = f0[e] * g0[e] + f1[e] * g1[e] + f2[e] * g2[e];
        B[3 * a + i][e] = f0[e] * h0[e] + f1[e] * h1[e] + f2[e] * h2[e];
      }
    }
  for (int a = 0; a < 3; ++a)
    for (int b = 0; b < 3; ++b) {
      element_row dot;
      for (int64_t e = 0; e < n; ++e) {
        double sum = 0.0;
        for (int k = 0; k < 3; ++k) sum += d->gradient[3 * a + k][first + e] * d->gradient[3 * b + k][first + e];
        dot[e] = weight[e] * mu * sum;
      }
      for (int k = 0; k < 9; ++k) {
        double *restrict s = S[9 * (4 * (a + 1) + b + 1) + k];
#pragma omp simd
        for (int64_t e = 0; e < n; ++e) s[e] += dot[e] * B[k][e];
      }
      add_dyads(d, a, b, n, weight, (const element_row *)q, S);
    }
}

/* ---- a batch ----------------------------------------------------------------------------------------------------------------- */

/* Add to forces and stiffness of a batch, of corners 1, 2, 3 (element_balance does the rest), as in element_ops.evaluate. */
static void tetrahedra_damping_add(const tetrahedra_damping *d, int64_t first, int64_t n, double dt, const element_row *v, element_row *f,
                                   element_row *S)
{
  element_row rate[9], stress[9];
  if (!(d->beta > 0.0)) return;
  if (d->form == NODAL_DAMPING_GREEN) {
    tetrahedra_gradients(d->gradient, first, n, v, rate);
    green_stress(d, first, n, (const element_row *)rate, stress);
    tetrahedra_corner_forces(n, d->volume, d->gradient, first, (const element_row *)stress, f);
    if (S) add_green_viscosity(d, first, n, dt, S);
    return;
  }
  const double *volume = d->form == NODAL_DAMPING_SPATIAL ? d->start_volume : d->volume;
  tetrahedra_gradients(d->start, first, n, v, rate);
  isotropic_stress(d, n, (const element_row *)rate, stress);
  tetrahedra_corner_forces(n, volume, d->start, first, (const element_row *)stress, f);
  if (S) add_viscosity(d, volume, first, n, dt, S);
}

/* ==== elements ============================================================================================================== */

typedef struct {
  const material    *material;
  bool               is_definite; /* omit the indefinite part of the tangent */
  int64_t            n;
  double            *volume;      /* [n] */
  double            *gradient[9]; /* gradients of the shape functions of corners 1, 2, 3 (corner 0: minus their sum), [3 corner + k][n] */
  double            *start[9];    /* deformation gradient at the start of the step, if the law uses it */
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
static void add_stiffness(const tetrahedra *t, int64_t first, int64_t n, double dt, const element_row *U, const element_row *V,
                          const element_row *dp, const element_row *ta, const element_row *tb, element_row *S)
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

static int64_t tetrahedra_evaluate(const void *context, int64_t first, int64_t n, double dt, const element_row *x, const element_row *v,
                                   element_row *f, element_row *S)
{
  const tetrahedra *t = context;
  element_row       F[9], start[9], P[9], U[9], V[9], dp[9], a[3], b[3];
  tetrahedra_gradients(t->gradient, first, n, x, F);
  for (int k = 0; k < 9 && t->start[0]; ++k) memcpy(start[k], t->start[k] + first, (size_t)n * sizeof(double));
  const int64_t bad = material_stress(t->material, n, ELEMENT_BATCH, t->start[0] ? start[0] : NULL, F[0], NULL, P[0], S ? U[0] : NULL,
                                      S ? V[0] : NULL, S ? dp[0] : NULL, S ? a[0] : NULL, S ? b[0] : NULL);
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

static void tetrahedra_energy(const void *context, int64_t first, int64_t n, const element_row *x, double *out)
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

static void tetrahedra_destroy(void **context)
{
  tetrahedra *t = *context;
  tetrahedra_damping_destroy(&t->damping);
  memory_free(&t->volume);
  for (int k = 0; k < 9; ++k) MEMORY_FREE(&t->gradient[k], &t->start[k]);
  memory_free(context);
}

static const element_ops ops = {.name         = "tetrahedra",
                                .n_nodes      = 4,
                                .begin_step   = begin_step,
                                .evaluate     = tetrahedra_evaluate,
                                .energy       = tetrahedra_energy,
                                .destroy      = tetrahedra_destroy,
                                .set_definite = set_definite,
                                .relinearise  = relinearise};

/* ---- making them --------------------------------------------------------------------------------------------------------- */

static PetscErrorCode tetrahedra_allocate(tetrahedra *t)
{
  PetscFunctionBegin;
  PetscCall(memory_alloc("tetrahedra", t->n, sizeof(double), &t->volume));
  for (int k = 0; k < 9; ++k) PetscCall(memory_alloc("tetrahedra", t->n, sizeof(double), &t->gradient[k]));
  for (int k = 0; k < 9 && t->material->law->step; ++k) PetscCall(memory_alloc("tetrahedra", t->n, sizeof(double), &t->start[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tetrahedra_add(nodal_body *b, const material *m, nodal_damping_form form, double beta, int64_t n, const int32_t *node)
{
  element_set *set;
  tetrahedra  *t;
  PetscFunctionBegin;
  SS_ASSERT(m->law && m->law->n_state == 0);
  PetscCall(nodal_body_add_set(b, &ops, n, node, &set));
  PetscCall(memory_alloc("tetrahedra", 1, sizeof *t, &t));
  set->context = t;
  *t           = (tetrahedra){.material = m, .n = n};
  PetscCall(tetrahedra_allocate(t));
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

/* ---- queries ---- */

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
