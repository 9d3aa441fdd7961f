#include "optim/friction/newton_saddle.h"
#include "core/math3.h"
#include "core/memory.h"
#include "optim/friction/sparse_direct.h"
#include <string.h>

struct newton_saddle {
  const friction_problem *p;
  const sparse_rows      *M, *H;
  sparse_rows             HT;        /* H^T */
  sparse_rows             matrix;
  sparse_direct          *factor;    /* of the active contacts in `member`, NULL: none yet */
  bool                   *is_member; /* [n] */
  int32_t                *place;     /* [n] of a member among members */
  int64_t                 n_members;
  double                 *x;         /* [n_dof + 3 n] */
};

void newton_saddle_destroy(newton_saddle **s)
{
  if (!*s) return;
  sparse_direct_destroy(&(*s)->factor);
  sparse_rows_destroy(&(*s)->HT);
  sparse_rows_destroy(&(*s)->matrix);
  memory_free(&(*s)->is_member), memory_free(&(*s)->place), memory_free(&(*s)->x);
  memory_free(s);
}

PetscErrorCode newton_saddle_create(const friction_problem *p, newton_saddle **out)
{
  newton_saddle *s;
  PetscFunctionBegin;
  *out = NULL;
  PetscCall(memory_alloc("saddle system", 1, sizeof *s, &s));
  s->p = p, s->M = delassus_mass(p->W), s->H = delassus_jacobian(p->W);
  PetscErrorCode code = sparse_rows_transposed(s->H, &s->HT);
  if (!code) code = memory_alloc("saddle members", p->n, sizeof *s->is_member, &s->is_member);
  if (!code) code = memory_alloc("saddle places", p->n, sizeof *s->place, &s->place);
  if (!code) code = memory_alloc("saddle vector", s->M->n_rows + 3 * p->n, sizeof *s->x, &s->x);
  if (code) newton_saddle_destroy(&s);
  PetscCall(code);
  *out = s;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A_a H_a on the union of the three rows' columns, `at` -> the end of what was written; values alone if there is no room for
 * columns. */
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

/* Rows of M, then of contacts; the same places for the same members whatever the values. */
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
      at = contact_row(s, a, i, is_active[a] ? A + 9 * a : none, m->col, m->value, at);
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
             "the Newton system is too large to number; use the method splitting");
  s->n_members = n_members;
  s->matrix    = (sparse_rows){.n_rows = n_dof + 3 * n_members, .n_cols = n_dof + 3 * n_members};
  PetscCall(memory_alloc("saddle row starts", s->matrix.n_rows + 1, sizeof *s->matrix.start, &s->matrix.start));
  PetscCall(memory_alloc("saddle columns", room, sizeof *s->matrix.col, &s->matrix.col));
  PetscCall(memory_alloc("saddle values", room, sizeof *s->matrix.value, &s->matrix.value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode newton_saddle_factor(newton_saddle *s, double alpha, const double *A, const double *B, const bool *is_active,
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

PetscErrorCode newton_saddle_solve(newton_saddle *s, const double *g, double *d)
{
  const int64_t n_dof = s->M->n_rows;
  PetscFunctionBegin;
  memset(s->x, 0, (size_t)n_dof * sizeof *s->x);
  for (int64_t a = 0; a < s->p->n; ++a)
    if (s->is_member[a]) v3_copy(s->x + n_dof + 3 * s->place[a], g + 3 * a);
  PetscCall(sparse_direct_solve(s->factor, s->x, s->x));
  for (int64_t a = 0; a < s->p->n; ++a)
    if (s->is_member[a]) v3_copy(d + 3 * a, s->x + n_dof + 3 * s->place[a]);
  PetscFunctionReturn(PETSC_SUCCESS);
}
