#include "discretize/fem/tetrahedra_damping.h"
#include "core/memory.h"
#include "core/svd3.h"
#include "discretize/fem/tetrahedra_lanes.h"

PetscErrorCode tetrahedra_damping_create(tetrahedra_damping *d)
{
  PetscFunctionBegin;
  if (!(d->beta > 0.0)) PetscFunctionReturn(PETSC_SUCCESS);
  if (d->form == NODAL_DAMPING_SPATIAL) PetscCall(memory_alloc("damping of tetrahedra", d->n, sizeof(double), &d->start_volume));
  for (int k = 0; k < 9; ++k) PetscCall(memory_alloc("damping of tetrahedra", d->n, sizeof(double), &d->start[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void tetrahedra_damping_destroy(tetrahedra_damping *d)
{
  memory_free(&d->start_volume);
  for (int k = 0; k < 9; ++k) memory_free(&d->start[k]);
}

/* ---- the start of a step -------------------------------------------------------------------------------------------------- */

/* Volumes and gradients of elements as they are: row a of the inverse of the edges is grad n_(a+1), their determinant 6 v. */
static void take_shapes(tetrahedra_damping *d, const int32_t *node, const double *x)
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

/* q_a = R grad N_a, R = U V^T: what dP/dF(R) does to v with grad N_a, the spatial viscosity does with q_a. */
static void turn_gradients(tetrahedra_damping *d, int64_t first, int64_t n, const element_row *F)
{
  element_row U[9], sigma[3], V[9];
  svd3_batch(n, ELEMENT_BATCH, F[0], U[0], sigma[0], V[0]);
#pragma omp simd
  for (int64_t e = 0; e < n; ++e)
    for (int i = 0; i < 3; ++i) {
      double R[3];
      for (int j = 0; j < 3; ++j)
        R[j] = U[3 * i][e] * V[3 * j][e] + U[3 * i + 1][e] * V[3 * j + 1][e] + U[3 * i + 2][e] * V[3 * j + 2][e];
      for (int a = 0; a < 3; ++a) {
        double sum = 0.0;
        for (int j = 0; j < 3; ++j) sum += R[j] * d->gradient[3 * a + j][first + e];
        d->start[3 * a + i][first + e] = sum;
      }
    }
}

static void take_deformations(tetrahedra_damping *d, const int32_t *node, const double *x)
{
#pragma omp parallel for schedule(static)
  for (int64_t first = 0; first < d->n; first += ELEMENT_BATCH) {
    const int64_t n = d->n - first < ELEMENT_BATCH ? d->n - first : ELEMENT_BATCH;
    element_row   X[12], F[9];
    for (int64_t e = 0; e < n; ++e)
      for (int a = 0; a < 4; ++a)
        for (int k = 0; k < 3; ++k) X[3 * a + k][e] = x[3 * (int64_t)node[4 * (first + e) + a] + k];
    tetrahedra_gradients(d->gradient, first, n, (const element_row *)X, F);
    if (d->form == NODAL_DAMPING_POLAR)
      turn_gradients(d, first, n, (const element_row *)F);
    else
      for (int k = 0; k < 9; ++k) memcpy(d->start[k] + first, F[k], (size_t)n * sizeof(double));
  }
}

void tetrahedra_damping_begin(tetrahedra_damping *d, const int32_t *node, const double *x)
{
  if (!(d->beta > 0.0)) return;
  if (d->form == NODAL_DAMPING_SPATIAL)
    take_shapes(d, node, x);
  else
    take_deformations(d, node, x);
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

/* Block (a, b) of S += weight (mu q_b q_a^T + lambda q_a q_b^T), q_a = q[3 a ..]: what both viscosities have in common. */
static void add_dyads(const tetrahedra_damping *d, int a, int b, int64_t n, const double *restrict weight, const element_row *q,
                      element_row *S)
{
  const double mu = d->mu, lambda = d->lambda;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      const double *restrict ai = q[3 * a + i], *restrict aj = q[3 * a + j], *restrict bi = q[3 * b + i],
                             *restrict bj = q[3 * b + j];
      double *restrict s = S[9 * (4 * (a + 1) + b + 1) + 3 * i + j];
#pragma omp simd
      for (int64_t e = 0; e < n; ++e) s[e] += weight[e] * (mu * (bi[e] * aj[e]) + lambda * (ai[e] * bj[e]));
    }
}

/* S += dt beta v ( mu (q_a.q_b 1 + q_b q_a^T) + lambda q_a q_b^T ) */
static void add_viscosity(const tetrahedra_damping *d, const double *restrict volume, int64_t first, int64_t n, double dt,
                          element_row *S)
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

void tetrahedra_damping_add(const tetrahedra_damping *d, int64_t first, int64_t n, double dt, const element_row *v, element_row *f,
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
