/* Saddle-point form of the Newton systems (newton_matrix.h), for many contacts on few bodies of many degrees of freedom. W is not needed:
 *
 *   [ M           -H^T          ] [dv]   [ 0 ]
 *   [ A H     B + alpha A       ] [dr] = [ g ]
 *
 * The second block row and column contain the active contacts. The matrix is factored by sparse LU with pivoting; the ordering is reused
 * while the active contacts are the same. */
#include "optim/friction/newton_matrix.h"
#include "core/math3.h"
#include "core/memory.h"
#include "optim/friction/friction_problem.h"
#include "optim/friction/sparse_direct.h"
#include <petscmat.h>
#include <string.h>

typedef struct newton_saddle newton_saddle;

struct newton_saddle {
  const friction_problem *p;
  const sparse_rows      *M, *H;
  sparse_rows             HT; /* H^T */
  sparse_rows             matrix;
  sparse_direct          *factor;    /* of the active contacts in `member`, NULL: none yet */
  bool                   *is_member; /* [n] */
  int32_t                *place;     /* [n] of a member among members */
  int64_t                 n_members;
  double                 *x; /* [n_dof + 3 n] */
};

static void newton_saddle_destroy(newton_saddle **s)
{
  if (!*s) return;
  sparse_direct_destroy(&(*s)->factor);
  sparse_rows_destroy(&(*s)->HT);
  sparse_rows_destroy(&(*s)->matrix);
  MEMORY_FREE(&(*s)->is_member, &(*s)->place, &(*s)->x, s);
}

/* p->W a system; borrows p */
static PetscErrorCode newton_saddle_create(const friction_problem *p, newton_saddle **out)
{
  newton_saddle *s;
  PetscFunctionBegin;
  *out = NULL;
  PetscCall(memory_alloc("saddle system", 1, sizeof *s, &s));
  s->p = p, s->M = delassus_mass(p->W), s->H = delassus_jacobian(p->W);
  PetscErrorCode code = sparse_rows_transposed(s->H, &s->HT);
  if (!code) code = MEMORY_ALLOC("newton matrix", ARRAY(s->is_member, p->n), ARRAY(s->place, p->n), ARRAY(s->x, s->M->n_rows + 3 * p->n));
  if (code) newton_saddle_destroy(&s);
  PetscCall(code);
  *out = s;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A_a H_a on the union of the three rows' columns, `at` -> the end of what was written; values alone if there is no room for columns. */
static int64_t contact_row(const newton_saddle *s, int64_t a, int i, const double *A, int32_t *col, double *value, int64_t at)
{
  int64_t k[3], end[3];
  for (int j = 0; j < 3; ++j) k[j] = s->H->start[3 * a + j], end[j] = s->H->start[3 * a + j + 1];
  for (;;) {
    int32_t next = INT32_MAX;
    for (int j = 0; j < 3; ++j)
      if (k[j] < end[j] && s->H->col[k[j]] < next) next = s->H->col[k[j]];
    if (next == INT32_MAX) return at;
    double sum = 0.0;
    for (int j = 0; j < 3; ++j)
      if (k[j] < end[j] && s->H->col[k[j]] == next) sum += A[3 * i + j] * s->H->value[k[j]++];
    col[at] = next, value[at++] = sum;
  }
}

/* Rows of M, then of contacts. The sparsity pattern does not depend on the values. */
static void fill(newton_saddle *s, double alpha, const double *A, const double *B, const bool *is_active)
{
  const int64_t n_dof = s->M->n_rows;
  sparse_rows  *m     = &s->matrix;
  int64_t       at    = 0;
  for (int64_t j = 0; j < n_dof; ++j) {
    for (int64_t k = s->M->start[j]; k < s->M->start[j + 1]; ++k) m->col[at] = s->M->col[k], m->value[at++] = s->M->value[k];
    for (int64_t k = s->HT.start[j]; k < s->HT.start[j + 1]; ++k) {
      const int64_t a = s->HT.col[k] / 3;
      if (!s->is_member[a]) continue;
      m->col[at] = (int32_t)(n_dof + 3 * s->place[a] + s->HT.col[k] % 3), m->value[at++] = is_active[a] ? -s->HT.value[k] : 0.0;
    }
    m->start[j + 1] = at;
  }
  for (int64_t a = 0; a < s->p->n; ++a)
    for (int i = 0; i < 3 && s->is_member[a]; ++i) {
      static const double none[9] = {0};
      at                          = contact_row(s, a, i, is_active[a] ? A + 9 * a : none, m->col, m->value, at);
      for (int j = 0; j < 3; ++j) {
        m->col[at]     = (int32_t)(n_dof + 3 * s->place[a] + j);
        m->value[at++] = is_active[a] ? B[9 * a + 3 * i + j] + alpha * A[9 * a + 3 * i + j] : (double)(i == j);
      }
      m->start[n_dof + 3 * s->place[a] + i + 1] = at;
    }
}

static PetscErrorCode choose_members(newton_saddle *s, const bool *is_active)
{
  const int64_t n = s->p->n, n_dof = s->M->n_rows;
  int64_t       room = s->M->start[n_dof] + s->H->start[3 * n], n_members = 0;
  PetscFunctionBegin;
  sparse_direct_destroy(&s->factor);
  sparse_rows_destroy(&s->matrix);
  for (int64_t a = 0; a < n; ++a) {
    s->is_member[a] = is_active[a];
    s->place[a]     = (int32_t)n_members;
    n_members += is_active[a];
    if (is_active[a]) room += 3 * (s->H->start[3 * a + 3] - s->H->start[3 * a]) + 9;
  }
  PetscCheck(n_dof + 3 * n_members <= INT32_MAX, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "the Newton system exceeds the range of 32-bit indices; use method splitting");
  s->n_members = n_members;
  s->matrix    = (sparse_rows){.n_rows = n_dof + 3 * n_members, .n_cols = n_dof + 3 * n_members};
  PetscCall(MEMORY_ALLOC("newton matrix", ARRAY(s->matrix.start, s->matrix.n_rows + 1), ARRAY(s->matrix.col, room),
                         ARRAY(s->matrix.value, room)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A, B [n][9]. *is_solved false: singular. */
static PetscErrorCode newton_saddle_factor(newton_saddle *s, double alpha, const double *A, const double *B, const bool *is_active,
                                           bool *is_solved)
{
  int64_t n_active = 0;
  bool    serves   = s->factor != NULL;
  PetscFunctionBegin;
  for (int64_t a = 0; a < s->p->n; ++a) {
    n_active += is_active[a];
    if (is_active[a] && !s->is_member[a]) serves = false;
  }
  serves = serves && 10 * n_active >= 8 * s->n_members;
  if (!serves) PetscCall(choose_members(s, is_active));
  fill(s, alpha, A, B, is_active);
  if (s->factor) PetscCall(sparse_direct_refactor(s->factor, &s->matrix, is_solved));
  else PetscCall(sparse_direct_create(SPARSE_DIRECT_LU, &s->matrix, is_solved, &s->factor));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* g, d [n][3], read and written where contacts are active. g == d is fine. */
static PetscErrorCode newton_saddle_solve(newton_saddle *s, const double *g, double *d)
{
  const int64_t n_dof = s->M->n_rows;
  PetscFunctionBegin;
  memset(s->x, 0, (size_t)n_dof * sizeof *s->x);
  for (int64_t a = 0; a < s->p->n; ++a)
    if (s->is_member[a]) v3_copy(s->x + n_dof + 3 * s->place[a], g + 3 * a);
  PetscCall(sparse_direct_solve_by(delassus_contact_solver(s->p->W), s->factor, &s->matrix, s->x, s->x));
  for (int64_t a = 0; a < s->p->n; ++a)
    if (s->is_member[a]) v3_copy(d + 3 * a, s->x + n_dof + 3 * s->place[a]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

struct newton_matrix {
  const friction_problem *p;
  const int64_t          *w_start; /* W, borrowed */
  const int32_t          *w_col;
  const double           *w_value;
  int32_t                *place;     /* [n] row of a contact in the pattern, -1: not in it */
  bool                   *is_member; /* [n] */
  int64_t                 n_rows, n_blocks;
  int32_t                *contact; /* [n_rows] contact of a row */
  PetscInt               *start, *col;
  double                 *value; /* [n_blocks][9], of `matrix`: the columns of a block are contiguous */
  Mat                     matrix, factor;
  MatFactorInfo           info;
  Vec                     b, x;
  const double           *A, *B; /* borrowed from the last factorisation */
  const bool             *is_active;
  newton_saddle          *saddle; /* NULL until it is worth it */
  bool                    is_saddle;
  sparse_direct          *pivoted; /* used only where the block factors fail or an option requests it */
  bool                    is_pivoted, always_pivoted;
  double                 *rhs, *rest, *step; /* [3 n] */
  double                  alpha;
};

/* A residual above this of the right-hand side calls for a refinement, and above WORST after it for full pivoting. */
static const double GOOD = 1e-10, WORST = 1e-4;
/* W's entries over those of the saddle form, among active contacts, from which on the latter is factored: 4 lets all rigid sets
 * keep the block LU, five times faster there, and halves the time of wisps of fibres with 300 contacts and more. */
static const double DENSER = 4.0;

static void forget_pattern(newton_matrix *m)
{
  PetscCallAbort(PETSC_COMM_SELF, MatDestroy(&m->factor));
  PetscCallAbort(PETSC_COMM_SELF, MatDestroy(&m->matrix));
  PetscCallAbort(PETSC_COMM_SELF, VecDestroy(&m->b));
  PetscCallAbort(PETSC_COMM_SELF, VecDestroy(&m->x));
  sparse_direct_destroy(&m->pivoted);
}

void newton_matrix_destroy(newton_matrix **m)
{
  if (!*m) return;
  forget_pattern(*m);
  newton_saddle_destroy(&(*m)->saddle);
  MEMORY_FREE(&(*m)->place, &(*m)->is_member, &(*m)->contact, &(*m)->start, &(*m)->col, &(*m)->rhs, &(*m)->rest, &(*m)->step, m);
}

static PetscErrorCode allocate(newton_matrix *m, int64_t n)
{
  PetscBool named;
  PetscFunctionBegin;
  PetscCall(MEMORY_ALLOC("newton matrix", ARRAY(m->place, n), ARRAY(m->is_member, n), ARRAY(m->contact, n), ARRAY(m->start, n + 1),
                         ARRAY(m->rhs, 3 * n), ARRAY(m->rest, 3 * n), ARRAY(m->step, 3 * n)));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-friction_lu_type", &named));
  m->always_pivoted = named;
  m->n_rows         = -1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode newton_matrix_create(const friction_problem *p, newton_matrix **out)
{
  newton_matrix *m;
  PetscFunctionBegin;
  *out = NULL;
  PetscCall(memory_alloc("Newton system", 1, sizeof *m, &m));
  m->p                      = p;
  const PetscErrorCode code = allocate(m, p->n);
  if (code) newton_matrix_destroy(&m);
  PetscCall(code);
  *out = m;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* True while the pattern contains every active contact and not many others; then it is reused. */
static bool pattern_serves(const newton_matrix *m, const bool *is_active)
{
  int64_t n_active = 0;
  if (m->n_rows < 0) return false;
  for (int64_t a = 0; a < m->p->n; ++a) {
    if (is_active[a] && !m->is_member[a]) return false;
    n_active += is_active[a];
  }
  return 10 * n_active >= 8 * m->n_rows;
}

static PetscErrorCode build_pattern(newton_matrix *m, const bool *is_active)
{
  const int64_t n = m->p->n;
  PetscFunctionBegin;
  if (!m->w_start) PetscCall(delassus_blocks(m->p->W, &m->w_start, &m->w_col, &m->w_value));
  forget_pattern(m);
  m->n_rows = m->n_blocks = 0;
  for (int64_t a = 0; a < n; ++a) {
    m->is_member[a] = is_active[a];
    m->place[a]     = is_active[a] ? (int32_t)m->n_rows : -1;
    if (is_active[a]) m->contact[m->n_rows++] = (int32_t)a;
  }
  for (int64_t i = 0; i < m->n_rows; ++i)
    for (int64_t k = m->w_start[m->contact[i]]; k < m->w_start[m->contact[i] + 1]; ++k) m->n_blocks += m->is_member[m->w_col[k]];
  PetscCheck(m->n_blocks <= PETSC_MAX_INT / 9, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "%lld pairs of active contacts exceed the range of indices of this PETSc build; use method splitting", (long long)m->n_blocks);
  PetscCall(memory_resize("Newton columns", m->n_blocks, sizeof *m->col, &m->col));
  int64_t block = 0;
  for (int64_t i = 0; i < m->n_rows; ++i) {
    for (int64_t k = m->w_start[m->contact[i]]; k < m->w_start[m->contact[i] + 1]; ++k)
      if (m->is_member[m->w_col[k]]) m->col[block++] = m->place[m->w_col[k]];
    m->start[i + 1] = (PetscInt)block;
  }
  if (m->n_rows == 0) PetscFunctionReturn(PETSC_SUCCESS);
  const PetscInt size = (PetscInt)(3 * m->n_rows);
  PetscCall(MatCreate(PETSC_COMM_SELF, &m->matrix));
  PetscCall(MatSetSizes(m->matrix, size, size, size, size));
  PetscCall(MatSetType(m->matrix, MATSEQBAIJ));
  PetscCall(MatSeqBAIJSetPreallocationCSR(m->matrix, 3, m->start, m->col, NULL));
  PetscCall(MatSeqBAIJGetArray(m->matrix, &m->value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* value <- (A_a (W_ab + alpha delta_ab) + delta_ab B_a), and the identity for members that are not active. */
static void set_values(newton_matrix *m, double alpha, const double *A, const double *B, const bool *is_active)
{
  double *out = m->value, w[9], j[9];
  for (int64_t i = 0; i < m->n_rows; ++i) {
    const int64_t a = m->contact[i];
    for (int64_t k = m->w_start[a]; k < m->w_start[a + 1]; ++k) {
      const int64_t b = m->w_col[k];
      if (!m->is_member[b]) continue;
      m3_copy(w, m->w_value + 9 * k);
      for (int e = 0; e < 9 && b == a; e += 4) w[e] += alpha;
      m3_mul(j, A + 9 * a, w);
      for (int e = 0; e < 9 && b == a; ++e) j[e] += B[9 * a + e];
      if (!is_active[a] || !is_active[b]) {
        m3_zero(j);
        for (int e = 0; e < 9 && b == a; e += 4) j[e] = 1.0;
      }
      m3_transpose(out, j);
      out += 9;
    }
  }
}

static PetscErrorCode factor_blocks(newton_matrix *m, bool *is_solved)
{
  MatFactorError bad;
  PetscFunctionBegin;
  if (!m->factor) {
    IS row, col;
    PetscCall(MatGetFactor(m->matrix, MATSOLVERPETSC, MAT_FACTOR_LU, &m->factor));
    PetscCall(MatGetOrdering(m->matrix, MATORDERINGAMD, &row, &col));
    PetscCall(MatFactorInfoInitialize(&m->info));
    m->info.fill = 3.0;
    PetscCall(MatLUFactorSymbolic(m->factor, m->matrix, row, col, &m->info));
    PetscCall(ISDestroy(&row));
    PetscCall(ISDestroy(&col));
    PetscCall(MatCreateVecs(m->matrix, &m->x, &m->b));
  }
  PetscCall(MatFactorClearError(m->factor));
  const PetscErrorCode code = MatLUFactorNumeric(m->factor, m->matrix, &m->info);
  if (code == PETSC_ERR_MAT_LU_ZRPVT) {
    error_clear();
    *is_solved = false;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(code);
  PetscCall(MatFactorGetError(m->factor, &bad));
  *is_solved = bad == MAT_FACTOR_NOERROR;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same matrix in scalar rows. */
static PetscErrorCode scalar_rows(const newton_matrix *m, sparse_rows *out)
{
  const int64_t n = 3 * m->n_rows;
  PetscFunctionBegin;
  *out = (sparse_rows){.n_rows = n, .n_cols = n};
  PetscCall(MEMORY_ALLOC("newton matrix", ARRAY(out->start, n + 1), ARRAY(out->col, 9 * m->n_blocks), ARRAY(out->value, 9 * m->n_blocks)));
  int64_t at = 0;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t k = m->start[i / 3]; k < m->start[i / 3 + 1]; ++k)
      for (int j = 0; j < 3; ++j) out->col[at] = (int32_t)(3 * m->col[k] + j), out->value[at++] = m->value[9 * k + 3 * j + i % 3];
    out->start[i + 1] = at;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode factor_pivoted(newton_matrix *m, bool *is_solved)
{
  sparse_rows rows;
  PetscFunctionBegin;
  PetscErrorCode code = scalar_rows(m, &rows);
  if (!code)
    code = m->pivoted ? sparse_direct_refactor(m->pivoted, &rows, is_solved)
                      : sparse_direct_create(SPARSE_DIRECT_LU, &rows, is_solved, &m->pivoted);
  sparse_rows_destroy(&rows);
  PetscCall(code);
  m->is_pivoted = true;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The published rule compares 3 n_active with the degrees of freedom; what costs is how much they fill of W. */
static bool saddle_pays(const newton_matrix *m, const bool *is_active)
{
  const sparse_rows *M = delassus_mass(m->p->W), *H = delassus_jacobian(m->p->W);
  double             n_active = 0.0;
  if (!M) return false;
  for (int64_t a = 0; a < m->p->n; ++a) n_active += is_active[a];
  const double share = n_active / (double)m->p->n, of_W = 9.0 * delassus_coupling(m->p->W) * share * n_active;
  return of_W > DENSER * ((double)M->start[M->n_rows] + 2.0 * share * (double)H->start[H->n_rows] + 9.0 * n_active);
}

PetscErrorCode newton_matrix_factor(newton_matrix *m, double alpha, const double *A, const double *B, const bool *is_active,
                                    bool *is_solved)
{
  PetscFunctionBegin;
  *is_solved = true;
  m->A = A, m->B = B, m->is_active = is_active, m->alpha = alpha, m->is_pivoted = false;
  m->is_saddle = saddle_pays(m, is_active);
  if (m->is_saddle) {
    if (!m->saddle) PetscCall(newton_saddle_create(m->p, &m->saddle));
    PetscCall(newton_saddle_factor(m->saddle, alpha, A, B, is_active, is_solved));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (!pattern_serves(m, is_active)) PetscCall(build_pattern(m, is_active));
  if (m->n_rows == 0) PetscFunctionReturn(PETSC_SUCCESS);
  set_values(m, alpha, A, B, is_active);
  *is_solved = false;
  if (!m->always_pivoted) PetscCall(factor_blocks(m, is_solved));
  if (!*is_solved) PetscCall(factor_pivoted(m, is_solved));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = J x, [n_rows][3]. */
static PetscErrorCode multiply_blocks(void *context, const double *x, double *y)
{
  const newton_matrix *m = context;
  for (int64_t i = 0; i < m->n_rows; ++i) {
    double s[3] = {0.0, 0.0, 0.0};
    for (int64_t k = m->start[i]; k < m->start[i + 1]; ++k) {
      const double *v = m->value + 9 * k, *z = x + 3 * (int64_t)m->col[k];
      for (int e = 0; e < 3; ++e) s[e] += v[e] * z[0] + v[3 + e] * z[1] + v[6 + e] * z[2];
    }
    v3_copy(y + 3 * i, s);
  }
  return PETSC_SUCCESS;
}

static PetscErrorCode divide_by_factor(void *context, const double *b, double *x)
{
  newton_matrix *m = context;
  PetscFunctionBegin;
  if (m->is_pivoted) {
    PetscCall(sparse_direct_solve(m->pivoted, b, x));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(VecPlaceArray(m->b, b));
  PetscCall(VecPlaceArray(m->x, x));
  PetscCall(MatSolve(m->factor, m->b, m->x));
  PetscCall(VecResetArray(m->b));
  PetscCall(VecResetArray(m->x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode back_substitute(newton_matrix *m, const double *b, double *x)
{
  linear_solver      *solver = delassus_contact_solver(m->p->W);
  const linear_system system = {.ksp          = KSPPREONLY,
                                .pc           = PCFRICTIONLU,
                                .n            = 3 * m->n_rows,
                                .context      = m,
                                .product      = multiply_blocks,
                                .precondition = divide_by_factor};
  PetscFunctionBegin;
  if (solver) {
    PetscCall(linear_solver_set(solver, &system));
    PetscCall(linear_solver_solve(solver, b, x, NULL));
  } else PetscCall(divide_by_factor(m, b, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* rest = rhs - J step; the ratio of their largest entries. */
static double residual(newton_matrix *m, const double *x)
{
  double most = 0.0, size = 0.0;
  for (int64_t i = 0; i < m->n_rows; ++i) {
    double s[3];
    v3_copy(s, m->rhs + 3 * i);
    for (int e = 0; e < 3; ++e) size = fmax(size, fabs(s[e]));
    for (int64_t k = m->start[i]; k < m->start[i + 1]; ++k) {
      const double *v = m->value + 9 * k, *y = x + 3 * (int64_t)m->col[k];
      for (int e = 0; e < 3; ++e) s[e] -= v[e] * y[0] + v[3 + e] * y[1] + v[6 + e] * y[2];
    }
    for (int e = 0; e < 3; ++e) most = s[e] == s[e] ? fmax(most, fabs(s[e])) : INFINITY;
    v3_copy(m->rest + 3 * i, s);
  }
  return size > 0.0 ? most / size : most;
}

/* step <- J^-1 rhs, refined once where that helps. */
static PetscErrorCode solve_checked(newton_matrix *m, double *error)
{
  PetscFunctionBegin;
  PetscCall(back_substitute(m, m->rhs, m->step));
  *error = residual(m, m->step);
  if (*error > GOOD && *error < 1.0) {
    double *correction = NULL;
    PetscCall(memory_alloc("Newton refinement", 3 * m->n_rows, sizeof *correction, &correction));
    const PetscErrorCode code = back_substitute(m, m->rest, correction);
    for (int64_t i = 0; i < 3 * m->n_rows && !code; ++i) m->step[i] += correction[i];
    memory_free(&correction);
    PetscCall(code);
    *error = residual(m, m->step);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* rest = -f - A (W + alpha I) d - B d of active contacts, 0 of the others; the largest entry over that of f. */
static double saddle_residual(newton_matrix *m, const double *f, const double *d)
{
  double most = 0.0, size = 0.0;
  delassus_apply(m->p->W, d, m->rhs);
  for (int64_t a = 0; a < m->p->n; ++a) {
    double w[3], v[3], x[3] = {0.0, 0.0, 0.0};
    for (int e = 0; e < 3; ++e) w[e] = m->rhs[3 * a + e] + m->alpha * d[3 * a + e];
    m3_mulv(v, m->A + 9 * a, w);
    m3_mulv(w, m->B + 9 * a, d + 3 * a);
    for (int e = 0; e < 3 && m->is_active[a]; ++e) x[e] = -f[3 * a + e] - v[e] - w[e];
    for (int e = 0; e < 3; ++e) most = x[e] == x[e] ? fmax(most, fabs(x[e])) : INFINITY, size = fmax(size, fabs(f[3 * a + e]));
    v3_copy(m->rest + 3 * a, x);
  }
  return size > 0.0 ? most / size : most;
}

/* From d = f where contacts are not active and 0 elsewhere, by as many refinements as help, one at least. */
static PetscErrorCode solve_saddle(newton_matrix *m, const double *f, double *d, bool *is_solved)
{
  PetscFunctionBegin;
  for (int64_t a = 0; a < m->p->n; ++a)
    for (int e = 0; e < 3; ++e) d[3 * a + e] = m->is_active[a] ? 0.0 : f[3 * a + e];
  double error = saddle_residual(m, f, d);
  for (int k = 0; k < 2 && error > GOOD && error < INFINITY; ++k) {
    PetscCall(newton_saddle_solve(m->saddle, m->rest, m->step));
    for (int64_t a = 0; a < m->p->n; ++a)
      if (m->is_active[a]) v3_add(d + 3 * a, d + 3 * a, m->step + 3 * a);
    error = saddle_residual(m, f, d);
  }
  *is_solved = error < WORST;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode newton_matrix_solve(newton_matrix *m, const double *f, double *d, bool *is_solved)
{
  double error = 0.0;
  PetscFunctionBegin;
  if (m->is_saddle) {
    PetscCall(solve_saddle(m, f, d, is_solved));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (int64_t a = 0; a < m->p->n; ++a) /* d_a = f_a goes to the right-hand sides of the others */
    if (!m->is_active[a]) v3_copy(d + 3 * a, f + 3 * a);
  for (int64_t i = 0; i < m->n_rows; ++i) {
    const int64_t a    = m->contact[i];
    double        s[3] = {0.0, 0.0, 0.0}, v[3];
    for (int64_t k = m->w_start[a]; k < m->w_start[a + 1] && m->is_active[a]; ++k) {
      const int64_t b = m->w_col[k];
      if (m->is_active[b]) continue;
      m3_mulv(v, m->w_value + 9 * k, d + 3 * b);
      v3_add(s, s, v);
    }
    m3_mulv(v, m->A + 9 * a, s);
    for (int e = 0; e < 3; ++e) m->rhs[3 * i + e] = m->is_active[a] ? -f[3 * a + e] - v[e] : 0.0;
  }
  if (m->n_rows > 0) {
    PetscCall(solve_checked(m, &error));
    *is_solved = true;
    if (!(error < WORST) && !m->is_pivoted) {
      PetscCall(factor_pivoted(m, is_solved));
      if (*is_solved) PetscCall(solve_checked(m, &error));
    }
    *is_solved = *is_solved && error < WORST;
  } else *is_solved = true;
  for (int64_t i = 0; i < m->n_rows && *is_solved; ++i)
    if (m->is_active[m->contact[i]]) v3_copy(d + 3 * (int64_t)m->contact[i], m->step + 3 * i);
  PetscFunctionReturn(PETSC_SUCCESS);
}
