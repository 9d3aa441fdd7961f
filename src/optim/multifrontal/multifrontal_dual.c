#include "optim/multifrontal/multifrontal_dual.h"
#include "core/memory.h"
#include <math.h>
#include <petscsys.h>
#include <petscblaslapack.h>
#include <string.h>

enum { BATCH = 96 }; /* columns of J^T that go through the factor side by side */
static const double MOST_BYTES = 5e8;

struct multifrontal_dual {
  const multifrontal_factor *f;
  const multifrontal_terms  *t;
  int64_t                    n, n_late;
  int32_t                   *slot; /* [t->n] first of a term's three columns over three, -1: none yet */
  int64_t                    n_slots, capacity;
  double                    *V; /* [3 n_slots][n] L^-1 J^T, in places */
  double                    *W; /* [3 n_slots][3 capacity] lower triangle by columns */
  int64_t                    n_acting;
  int32_t                   *acting; /* [t->n] */
  double                    *B;      /* [n_acting][9] lower triangles, rows of G's factor */
  double                    *K;      /* [3 n_acting][3 n_acting] */
  double                    *y;      /* [3 n_acting] */
  double                    *x;      /* [n] */
  int64_t                    K_capacity;
};

void multifrontal_dual_destroy(multifrontal_dual **d)
{
  if (!*d) return;
  MEMORY_FREE(&(*d)->slot, &(*d)->V, &(*d)->W, &(*d)->acting, &(*d)->B, &(*d)->K, &(*d)->y, &(*d)->x, d);
}

PetscErrorCode multifrontal_dual_create(const multifrontal_factor *f, const multifrontal_terms *t, multifrontal_dual **out)
{
  multifrontal_dual *d;
  bool              *is_late = NULL;
  PetscFunctionBegin;
  PetscCall(memory_alloc("terms by themselves", 1, sizeof *d, &d));
  d->f = f, d->t = t, d->n = multifrontal_factor_size(f);
  PetscErrorCode code = MEMORY_ALLOC("terms by themselves", ARRAY(d->slot, t->n), ARRAY(d->acting, t->n), ARRAY(d->B, 9 * t->n),
                                     ARRAY(d->y, 3 * t->n), ARRAY(d->x, d->n), ARRAY(is_late, d->n));
  for (int64_t a = 0; a < t->n && !code; ++a) d->slot[a] = -1;
  if (!code) multifrontal_factor_late(f, is_late);
  for (int64_t i = 0; i < d->n && !code; ++i) d->n_late += is_late[i];
  memory_free(&is_late);
  if (code) multifrontal_dual_destroy(&d);
  PetscCall(code);
  *out = d;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static bool acts(const double G[9]) { return G[0] != 0.0 || G[4] != 0.0 || G[8] != 0.0; }

void multifrontal_dual_work(const multifrontal_dual *d, const double *G, double *now, double *missing)
{
  int64_t n_acting = 0, n_new = 0;
  for (int64_t a = 0; a < d->t->n; ++a)
    if (acts(G + 9 * a)) ++n_acting, n_new += d->slot[a] < 0;
  const double m = 3.0 * (double)n_acting, all = 3.0 * (double)(d->n_slots + n_new);
  *now     = m * m * m / 6.0 + 2.0 * m * m;
  *missing = 3.0 * (double)n_new * (multifrontal_factor_entries_late(d->f) + all * (double)d->n);
  if (8.0 * 1.5 * all * ((double)d->n + 1.5 * all) + 8.0 * m * m > MOST_BYTES) *now = INFINITY;
}

/* ---- rows of W ---- */

static PetscErrorCode reserve(multifrontal_dual *d, int64_t n_slots)
{
  PetscFunctionBegin;
  if (n_slots <= d->capacity) PetscFunctionReturn(PETSC_SUCCESS);
  const int64_t capacity = n_slots + n_slots / 2, old = d->capacity;
  double       *W;
  PetscCall(memory_resize("terms by themselves", 3 * capacity * d->n, sizeof *d->V, &d->V));
  PetscCall(memory_alloc("terms by themselves", 9 * capacity * capacity, sizeof *W, &W));
  for (int64_t j = 0; j < 3 * d->n_slots; ++j) memcpy(W + 3 * capacity * j, d->W + 3 * old * j, (size_t)(3 * d->n_slots) * sizeof *W);
  memory_free(&d->W);
  d->W = W, d->capacity = capacity;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* V and W of `n_new` terms that come after the ones there are. */
static PetscErrorCode append(multifrontal_dual *d, int64_t n_new, const int32_t *term)
{
  const int32_t     *place = multifrontal_factor_place(d->f);
  const PetscBLASInt n = (PetscBLASInt)d->n, old = (PetscBLASInt)(3 * d->n_slots), more = (PetscBLASInt)(3 * n_new);
  PetscFunctionBegin;
  PetscCall(reserve(d, d->n_slots + n_new));
  double *const to = d->V + (int64_t)old * d->n;
  memset(to, 0, (size_t)(3 * n_new * d->n) * sizeof *to);
  for (int64_t q = 0; q < n_new; ++q) {
    const int64_t a = term[q];
    d->slot[a]      = (int32_t)(d->n_slots + q);
    for (int64_t e = d->t->start[a]; e < d->t->start[a + 1]; ++e)
      for (int k = 0; k < 3; ++k) to[(3 * q + k) * d->n + place[d->t->column[e]]] = d->t->value[3 * e + k];
  }
  for (int64_t q = 0; q < 3 * n_new; q += BATCH)
    PetscCall(multifrontal_forward_late(d->f, 3 * n_new - q < BATCH ? 3 * n_new - q : BATCH, to + q * d->n));
  const double       one = 1.0, zero = 0.0;
  const PetscBLASInt ld = (PetscBLASInt)(3 * d->capacity);
  if (old > 0) BLASgemm_("T", "N", &more, &old, &n, &one, to, &n, d->V, &n, &zero, d->W + old, &ld);
  BLASsyrk_("L", "T", &more, &n, &one, to, &n, &zero, d->W + (int64_t)old * ld + old, &ld);
  d->n_slots += n_new;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- one G ---- */

/* Lower B with B B^T = G, positive semidefinite; rows and columns of zeros stay. */
static void root_of(const double G[9], double B[9])
{
  const double least = 1e-15 * (G[0] + G[4] + G[8]);
  memset(B, 0, 9 * sizeof *B);
  for (int j = 0; j < 3; ++j) {
    double pivot = G[4 * j];
    for (int k = 0; k < j; ++k) pivot -= B[3 * j + k] * B[3 * j + k];
    if (!(pivot > least)) continue;
    B[4 * j] = sqrt(pivot);
    for (int i = j + 1; i < 3; ++i) {
      double sum = G[3 * i + j];
      for (int k = 0; k < j; ++k) sum -= B[3 * i + k] * B[3 * j + k];
      B[3 * i + j] = sum / B[4 * j];
    }
  }
}

/* Block (p, q) of K = 1 + B^T W B, p >= q by slots of the acting terms: K's columns are in the order of `acting`. */
static void fill_block(const multifrontal_dual *d, int64_t p, int64_t q, double *K, int64_t m)
{
  const int64_t       s_p = d->slot[d->acting[p]], s_q = d->slot[d->acting[q]], ld = 3 * d->capacity;
  const double *const B_p = d->B + 9 * p, *const B_q = d->B + 9 * q;
  double W[9], WB[9];
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      const int64_t row = 3 * s_p + i, col = 3 * s_q + j;
      W[3 * i + j] = row >= col ? d->W[col * ld + row] : d->W[row * ld + col];
    }
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) WB[3 * i + j] = W[3 * i] * B_q[j] + W[3 * i + 1] * B_q[3 + j] + W[3 * i + 2] * B_q[6 + j];
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j)
      K[(3 * q + j) * m + 3 * p + i] = B_p[i] * WB[j] + B_p[3 + i] * WB[3 + j] + B_p[6 + i] * WB[6 + j] + (p == q && i == j ? 1.0 : 0.0);
}

/* Largest diagonal entry of 1 + B^T W B. The identity subtracts two terms whose difference is smaller by about this factor, so six of 16
 * digits may be lost. Case C07-convex, whose factor is 4e7, needs the other factorisation. */
static const double STIFFEST = 1e6;

PetscErrorCode multifrontal_dual_set(multifrontal_dual *d, const double *G, bool *is_usable)
{
  int32_t *fresh;
  int64_t  n_fresh = 0;
  PetscFunctionBegin;
  PetscCall(memory_alloc("terms by themselves", d->t->n, sizeof *fresh, &fresh));
  d->n_acting = 0;
  for (int64_t a = 0; a < d->t->n; ++a) {
    if (!acts(G + 9 * a)) continue;
    if (d->slot[a] < 0) fresh[n_fresh++] = (int32_t)a;
    root_of(G + 9 * a, d->B + 9 * d->n_acting);
    d->acting[d->n_acting++] = (int32_t)a;
  }
  PetscErrorCode code = n_fresh > 0 ? append(d, n_fresh, fresh) : PETSC_SUCCESS;
  memory_free(&fresh);
  PetscCall(code);
  const int64_t m = 3 * d->n_acting;
  PetscCall(memory_reserve("terms by themselves", m * m, sizeof *d->K, &d->K_capacity, &d->K));
#pragma omp parallel for schedule(dynamic, 8) if (m > 192)
  for (int64_t q = 0; q < d->n_acting; ++q)
    for (int64_t p = q; p < d->n_acting; ++p) fill_block(d, p, q, d->K, m);
  const PetscBLASInt size = (PetscBLASInt)m;
  PetscBLASInt       info = 0;
  double             most = 0.0;
  for (int64_t i = 0; i < m; ++i) most = fmax(most, d->K[i * m + i]);
  if (m > 0 && most <= STIFFEST) LAPACKpotrf_("L", &size, d->K, &size, &info);
  *is_usable = info == 0 && most <= STIFFEST;
  PetscFunctionReturn(PETSC_SUCCESS);
}

void multifrontal_dual_solve(const multifrontal_dual *d, double *x)
{
  const int64_t      m    = 3 * d->n_acting;
  const PetscBLASInt size = (PetscBLASInt)m, one = 1;
  const double       unit = 1.0;
  double *const y = d->y, *const z = d->x;
  multifrontal_solve_plain_late(d->f, x);
  if (m == 0) return;
  for (int64_t q = 0; q < d->n_acting; ++q) { /* B^T J x */
    const int64_t a    = d->acting[q];
    double        u[3] = {0.0, 0.0, 0.0};
    for (int64_t e = d->t->start[a]; e < d->t->start[a + 1]; ++e)
      for (int k = 0; k < 3; ++k) u[k] += d->t->value[3 * e + k] * x[d->t->column[e]];
    for (int k = 0; k < 3; ++k) y[3 * q + k] = d->B[9 * q + k] * u[0] + d->B[9 * q + 3 + k] * u[1] + d->B[9 * q + 6 + k] * u[2];
  }
  BLAStrsm_("L", "L", "N", "N", &size, &one, &unit, d->K, &size, y, &size);
  BLAStrsm_("L", "L", "T", "N", &size, &one, &unit, d->K, &size, y, &size);
  memset(z, 0, (size_t)d->n * sizeof *z);
  for (int64_t q = 0; q < d->n_acting; ++q) { /* J^T B y */
    const int64_t a = d->acting[q];
    double        r[3];
    for (int k = 0; k < 3; ++k)
      r[k] = d->B[9 * q + 3 * k] * y[3 * q] + d->B[9 * q + 3 * k + 1] * y[3 * q + 1] + d->B[9 * q + 3 * k + 2] * y[3 * q + 2];
    for (int64_t e = d->t->start[a]; e < d->t->start[a + 1]; ++e)
      z[d->t->column[e]] += d->t->value[3 * e] * r[0] + d->t->value[3 * e + 1] * r[1] + d->t->value[3 * e + 2] * r[2];
  }
  multifrontal_solve_plain_late(d->f, z);
  for (int64_t i = 0; i < d->n; ++i) x[i] -= z[i];
}
