/* Implementation of material.h: evaluation of laws for batches of points, projection of tangents, creation of materials. */
#include "discretize/material/material.h"
#include "core/eigen3.h"
#include "core/math3.h"
#include "core/memory.h"
#include "core/svd3.h"
#include "discretize/material/elastic.h"

PetscErrorCode material_create(const char *name, const material_law *law, const void *parameters, double density, material **out)
{
  material *m;
  PetscFunctionBeginUser;
  *out = NULL;
  PetscCall(memory_alloc("material", 1, sizeof *m, &m));
  *m = (material){.name = name, .law = law, .density = density};
  if (law) {
    const PetscErrorCode code = law->prepare(parameters, &m->constants);
    if (code) material_destroy(&m);
    PetscCall(code);
  }
  *out = m;
  PetscFunctionReturn(PETSC_SUCCESS);
}

void material_destroy(material **m)
{
  if (!*m) return;
  MEMORY_FREE(&(*m)->constants, &(*m)->flow, m);
}

void material_small_strain(const material *m, double *mu, double *lambda)
{
  const elastic_constants *c = m->constants; /* every law's constants start with them */
  *mu                        = c->mu;
  *lambda                    = c->lambda;
}

/* Work rows of a batch with gather and scatter; rows are padded to a multiple of MATERIAL_LANES. */
typedef struct {
  int64_t      n, n_padded;
  material_row F[9], U[9], V[9], sigma[3], state[MATERIAL_MAX_STATE];
} batch;

static void copy_in(int n_rows, int64_t n, int64_t ld, const double *from, material_row *to)
{
  for (int k = 0; k < n_rows; ++k) memcpy(to[k], from + k * ld, (size_t)n * sizeof(double));
}

static void copy_out(int n_rows, int64_t n, int64_t ld, const material_row *from, double *to)
{
  for (int k = 0; k < n_rows; ++k) memcpy(to + k * ld, from[k], (size_t)n * sizeof(double));
}

/* Without the stretches. */
static void batch_load_rows(batch *x, const material_law *law, int64_t n, int64_t ld, const double *F, const double *state)
{
  SS_ASSERT(n <= MATERIAL_BATCH);
  x->n        = n;
  x->n_padded = (n + MATERIAL_LANES - 1) / MATERIAL_LANES * MATERIAL_LANES;
  copy_in(9, n, ld, F, x->F);
  copy_in(law->n_state, n, ld, state, x->state);
  for (int64_t i = n; i < x->n_padded; ++i) {
    for (int k = 0; k < 9; ++k) x->F[k][i] = k % 4 == 0;
    for (int k = 0; k < law->n_state; ++k) x->state[k][i] = law->state_initial[k];
  }
}

static void batch_load(batch *x, const material_law *law, int64_t n, int64_t ld, const double *F, const double *state)
{
  batch_load_rows(x, law, n, ld, F, state);
  svd3_batch(x->n_padded, MATERIAL_BATCH, x->F[0], x->U[0], x->sigma[0], x->V[0]);
}

/* Comparisons are false for not-a-number. */
LANE int is_bad(double least, double smallest, double largest) { return !(smallest > least && largest < INFINITY); }

static double least_stretch(const material_law *law) { return law->accepts_inverted ? -INFINITY : 0.0; }

static int64_t batch_first_bad(const batch *x, const material_law *law)
{
  const double least = least_stretch(law);
  int          n_bad = 0;
#pragma omp simd reduction(+ : n_bad)
  for (int64_t i = 0; i < x->n_padded; ++i) n_bad += is_bad(least, x->sigma[2][i], x->sigma[0][i]);
  if (n_bad > 0)
    for (int64_t i = 0; i < x->n; ++i)
      if (is_bad(least, x->sigma[2][i], x->sigma[0][i])) return i;
  return x->n;
}

/* M = U diag(s) V^T */
static void batch_compose(const batch *x, const material_row *restrict s, material_row *restrict M)
{
  const material_row *restrict U = x->U, *restrict V = x->V;
  for (int r = 0; r < 9; r += 3)
#pragma omp simd
    for (int64_t i = 0; i < x->n_padded; ++i) {
      const double t0 = U[r][i] * s[0][i], t1 = U[r + 1][i] * s[1][i], t2 = U[r + 2][i] * s[2][i];
      M[r][i]     = t0 * V[0][i] + t1 * V[1][i] + t2 * V[2][i];
      M[r + 1][i] = t0 * V[3][i] + t1 * V[4][i] + t2 * V[5][i];
      M[r + 2][i] = t0 * V[6][i] + t1 * V[7][i] + t2 * V[8][i];
    }
}

/* Rows of `start`, padded like those of x. */
static void load_start(const batch *x, int64_t ld, const double *start, material_row *to)
{
  if (!start) {
    memcpy(to, x->F, sizeof x->F);
    return;
  }
  copy_in(9, x->n, ld, start, to);
  for (int64_t i = x->n; i < x->n_padded; ++i)
    for (int k = 0; k < 9; ++k) to[k][i] = k % 4 == 0;
}

/* The smallest index of a point with an entry that is not finite, or n. */
static int64_t first_not_finite(int n_rows, int64_t n, const material_row *row)
{
  double sum[MATERIAL_BATCH] = {0};
  for (int k = 0; k < n_rows; ++k)
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) sum[i] += 0.0 * row[k][i];
  int64_t i = 0;
  while (i < n && sum[i] == 0.0) ++i;
  return i;
}

static int64_t stress_of_step(const material *m, int64_t n, int64_t ld, const double *start, const double *F, const double *state,
                              double *P, double *U, double *V, double *dp, double *a, double *b)
{
  batch        x;
  material_row from[9], rows_P[9], rows_dp[9], rows_a[3], rows_b[3];
  batch_load_rows(&x, m->law, n, ld, F, state);
  load_start(&x, ld, start, from);
  m->law->step->stress(m->constants, x.n_padded, from, x.F, x.state, rows_P, U ? x.U : NULL, rows_dp, rows_a, rows_b);
  copy_out(9, n, ld, rows_P, P);
  if (U) {
    copy_out(9, n, ld, x.U, U), copy_out(9, n, ld, rows_dp, dp), copy_out(3, n, ld, rows_a, a), copy_out(3, n, ld, rows_b, b);
    for (int k = 0; k < 9; ++k)
      for (int64_t i = 0; i < n; ++i) V[k * ld + i] = k % 4 == 0;
  }
  return first_not_finite(9, n, rows_P);
}

int64_t material_stress(const material *m, int64_t n, int64_t ld, const double *start, const double *F, const double *state, double *P,
                        double *U, double *V, double *dp, double *a, double *b)
{
  batch        x;
  material_row p[3], rows_P[9], rows_dp[9], rows_a[3], rows_b[3];
  SS_ASSERT((!dp == !U) && (!dp == !V) && (!dp == !a) && (!dp == !b));
  if (m->law->step) return stress_of_step(m, n, ld, start, F, state, P, U, V, dp, a, b);
  batch_load(&x, m->law, n, ld, F, state);
  m->law->stress(m->constants, x.n_padded, x.sigma, x.state, p, dp ? rows_dp : NULL, rows_a, rows_b);
  batch_compose(&x, p, rows_P);
  copy_out(9, n, ld, rows_P, P);
  if (dp) {
    copy_out(9, n, ld, x.U, U), copy_out(9, n, ld, x.V, V);
    copy_out(9, n, ld, rows_dp, dp), copy_out(3, n, ld, rows_a, a), copy_out(3, n, ld, rows_b, b);
  }
  return batch_first_bad(&x, m->law);
}

/* Point i's dp without its negative part. */
static void project_stretches(int64_t ld, int64_t i, double *dp)
{
  double A[9], lambda[3], Q[9];
  for (int k = 0; k < 9; ++k) A[k] = dp[k * ld + i];
  eigen3_symmetric(A, lambda, Q);
  for (int k = 0; k < 3 && lambda[2] < 0.0; ++k) {
    if (lambda[k] >= 0.0) continue;
    for (int r = 0; r < 3; ++r)
      for (int c = 0; c < 3; ++c) A[3 * r + c] -= lambda[k] * Q[3 * r + k] * Q[3 * c + k];
  }
  for (int k = 0; k < 9; ++k) dp[k * ld + i] = A[k];
}

/* dp, a, b of n points made symmetric and no less than 0 where that takes no eigenvalues; is_open [n]: where it would, the leading
 * minors of dp not being positive by more than rounding. */
static void project_plainly(int64_t n, int64_t ld, double *dp, double *a, double *b, int *is_open)
{
  static const double ROUNDING = 1e-12;
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    for (int k = 0; k < 3; ++k) {
      a[k * ld + i] = a[k * ld + i] > 0.0 ? a[k * ld + i] : 0.0;
      b[k * ld + i] = b[k * ld + i] > 0.0 ? b[k * ld + i] : 0.0;
    }
    const double xx = dp[i], yy = dp[4 * ld + i], zz = dp[8 * ld + i], xy = 0.5 * (dp[ld + i] + dp[3 * ld + i]),
                 xz = 0.5 * (dp[2 * ld + i] + dp[6 * ld + i]), yz = 0.5 * (dp[5 * ld + i] + dp[7 * ld + i]);
    dp[ld + i] = dp[3 * ld + i] = xy, dp[2 * ld + i] = dp[6 * ld + i] = xz, dp[5 * ld + i] = dp[7 * ld + i] = yz;
    const double minor = xx * yy - xy * xy, det = zz * minor - xx * yz * yz - yy * xz * xz + 2.0 * xy * yz * xz;
    is_open[i] = !((xx > 0.0) & (minor > ROUNDING * xx * yy) & (det > ROUNDING * xx * yy * zz));
  }
}

void material_tangent_project(const material *m, int64_t n, int64_t ld, double *dp, double *a, double *b)
{
  int is_open[MATERIAL_BATCH];
  if (m->law->step && m->law->step->is_convex) return;
  project_plainly(n, ld, dp, a, b, is_open);
  for (int64_t i = 0; i < n; ++i)
    if (is_open[i]) project_stretches(ld, i, dp);
}

static int64_t accept_step(const material *m, int64_t n, int64_t ld, const double *start, double *F, double *state,
                           material_step_maxima *marks)
{
  const material_step *step = m->law->step;
  batch                x;
  material_row         from[9], overshoot, chord;
  batch_load_rows(&x, m->law, n, ld, F, state);
  load_start(&x, ld, start, from);
  step->accept(m->constants, x.n_padded, from, x.F, x.state, overshoot, chord);
  const int64_t        bad  = first_not_finite(9, n, x.F);
  const double         most = 2.0 * M_SQRT2 * sin(0.5 * fmin(step->largest_turn, M_PI));
  material_step_maxima now  = {0.0, 0.0};
  for (int64_t i = 0; i < n; ++i) {
    if (i == bad || (step->largest_turn < M_PI && !(chord[i] <= most))) return i;
    now.overshoot = fmax(now.overshoot, overshoot[i]);
    now.turn      = fmax(now.turn, chord[i]);
  }
  if (marks) {
    marks->overshoot = fmax(marks->overshoot, now.overshoot);
    marks->turn      = fmax(marks->turn, 2.0 * asin(fmin(1.0, now.turn / (2.0 * M_SQRT2))));
  }
  copy_out(9, n, ld, x.F, F);
  copy_out(m->law->n_state, n, ld, x.state, state);
  return n;
}

int64_t material_accept(const material *m, int64_t n, int64_t ld, const double *start, double *F, double *state,
                        material_step_maxima *marks)
{
  batch        x;
  material_row trial[3], returned[9];
  if (m->law->step) return accept_step(m, n, ld, start, F, state, marks);
  if (!m->law->plastic_return) return n;
  batch_load(&x, m->law, n, ld, F, state);
  const int64_t bad = batch_first_bad(&x, m->law);
  if (bad < n) return bad;
  memcpy(trial, x.sigma, sizeof trial);
  m->law->plastic_return(m->constants, x.n_padded, x.sigma, x.state);
  batch_compose(&x, x.sigma, returned);
  /* Where nothing was returned F keeps its bits: at rest, decomposing and composing again would drift. */
  for (int k = 0; k < 9; ++k)
#pragma omp simd
    for (int64_t i = 0; i < x.n_padded; ++i) {
      const int is_same = x.sigma[0][i] == trial[0][i] && x.sigma[1][i] == trial[1][i] && x.sigma[2][i] == trial[2][i];
      x.F[k][i]         = is_same ? x.F[k][i] : returned[k][i];
    }
  copy_out(9, n, ld, x.F, F);
  copy_out(m->law->n_state, n, ld, x.state, state);
  return n;
}

void material_energy(const material *m, int64_t n, int64_t ld, const double *F, const double *state, double *psi)
{
  batch        x;
  material_row row;
  batch_load(&x, m->law, n, ld, F, state);
  m->law->energy(m->constants, x.n_padded, x.sigma, x.state, row);
  const double least = least_stretch(m->law);
  for (int64_t i = 0; i < n; ++i) psi[i] = is_bad(least, x.sigma[2][i], x.sigma[0][i]) ? NAN : row[i];
}
