/* Conversion between FCLIB problems and the solvers' data; rank of W. */
#include "app/friction/friction_case.h"
#include <math.h>
#include <string.h>
#include "core/memory.h"

enum { VET_SECONDS = 60 }; /* time limit of the check in a child process */

void friction_case_clear(friction_case *c)
{
  fclib_clear(&c->file);
  delassus_destroy(&c->W);
  MEMORY_FREE(&c->q, &c->mu, &c->f);
  memset(c, 0, sizeof *c);
}

double friction_case_nu(const friction_case *c)
{
  return c->n_dof > 0 ? (double)(c->file.dimension * c->file.n_contacts) / (double)c->n_dof : NAN;
}

/* Converts [n][d] of the file to [n][3], and back. */
static void expand_to_3d(const friction_case *c, const double *from, double *to)
{
  const int d = c->file.dimension;
  for (int64_t a = 0; a < c->file.n_contacts; ++a)
    for (int i = 0; i < 3; ++i) to[3 * a + i] = i < d ? from[d * a + i] : 0;
}
static void reduce_to_file(const friction_case *c, const double *from, double *to)
{
  const int d = c->file.dimension;
  for (int64_t a = 0; a < c->file.n_contacts; ++a)
    for (int i = 0; i < d; ++i) to[d * a + i] = from[3 * a + i];
}

/* --- local problems: W in blocks ---------------------------------------------------------------------------------------- */

typedef struct {
  int64_t  n;
  int64_t *start;        /* [n + 1] */
  int64_t *slot, *stamp; /* [n]: index of the block of a row in the current column, valid if its stamp is that column */
  int32_t *col;
  double  *value; /* [start[n]][9] */
} block_rows;

static void blocks_clear(block_rows *b) { MEMORY_FREE(&b->start, &b->slot, &b->stamp, &b->col, &b->value); }

/* Counts the blocks of each block row in next[] (if value is NULL), or fills them starting at next[]. */
static void visit_blocks(const fclib_matrix *W, int d, block_rows *b, int64_t *next)
{
  for (int64_t a = 0; a < b->n; ++a) b->stamp[a] = -1;
  for (int64_t j = 0; j < d * b->n; ++j)
    for (int64_t k = W->start[j]; k < W->start[j + 1]; ++k) {
      const int64_t a = W->row[k] / d, column = j / d;
      if (b->stamp[a] != column) b->slot[a] = next[a]++;
      b->stamp[a] = column;
      if (!b->value) continue;
      b->col[b->slot[a]]                                     = (int32_t)column;
      b->value[9 * b->slot[a] + 3 * (W->row[k] % d) + j % d] = W->value[k];
    }
}

/* Sets the diagonal entry of the third direction of plane contacts to a positive number of the size of the block. */
static void set_plane_diagonal(block_rows *b)
{
  for (int64_t a = 0; a < b->n; ++a)
    for (int64_t k = b->start[a]; k < b->start[a + 1]; ++k)
      if (b->col[k] == a) b->value[9 * k + 8] = b->value[9 * k + 4] > 0 ? b->value[9 * k + 4] : b->value[9 * k];
}

static PetscErrorCode make_blocks(const fclib_problem *file, block_rows *b)
{
  int64_t *next __attribute__((cleanup(memory_free))) = NULL;

  PetscFunctionBegin;
  b->n = file->n_contacts;
  PetscCall(MEMORY_ALLOC("blocks of W", ARRAY(b->start, b->n + 1), ARRAY(b->slot, b->n), ARRAY(b->stamp, b->n), ARRAY(next, b->n)));
  visit_blocks(&file->W, file->dimension, b, next);
  for (int64_t a = 0; a < b->n; ++a) b->start[a + 1] = b->start[a] + next[a], next[a] = b->start[a];
  PetscCall(MEMORY_ALLOC("blocks of W", ARRAY(b->col, b->start[b->n]), ARRAY(b->value, 9 * (b->start[b->n]))));
  visit_blocks(&file->W, file->dimension, b, next);
  if (file->dimension == 2) set_plane_diagonal(b);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode prepare_local(friction_case *c)
{
  block_rows b __attribute__((cleanup(blocks_clear))) = {0};

  PetscFunctionBegin;
  PetscCall(make_blocks(&c->file, &b));
  PetscCall(delassus_create_blocks(b.n, b.start, b.col, b.value, c->n_dof, &c->W));
  expand_to_3d(c, c->file.q, c->q);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- global problems ---------------------------------------------------------------------------------------------------- */

typedef struct {
  int64_t  n;
  int32_t *row, *col;
  double  *value;
} triplets;

static void           triplets_clear(triplets *t) { MEMORY_FREE(&t->row, &t->col, &t->value); }
static PetscErrorCode triplets_allocate(triplets *t, int64_t n)
{
  PetscFunctionBegin;
  PetscCall(MEMORY_ALLOC("plane problem", ARRAY(t->row, n), ARRAY(t->col, n), ARRAY(t->value, n)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
static void add_triplet(triplets *t, int64_t row, int64_t col, double value)
{
  t->row[t->n] = (int32_t)row, t->col[t->n] = (int32_t)col, t->value[t->n++] = value;
}

/* The file stores columns. Columns of the symmetric M are its rows; columns of the file's H are rows of our H. */
static sparse_rows view_as_rows(const fclib_matrix *A) { return (sparse_rows){A->n_columns, A->n_rows, A->start, A->row, A->value}; }

/* Adds to each plane contact a third direction with its own mass. */
static PetscErrorCode add_third_direction(const fclib_problem *p, sparse_rows *M, sparse_rows *H)
{
  triplets      m __attribute__((cleanup(triplets_clear))) = {0}, h __attribute__((cleanup(triplets_clear))) = {0};
  const int64_t n = p->n_dof, n_c = p->n_contacts;
  double        mass = 0;

  PetscFunctionBegin;
  PetscCall(triplets_allocate(&m, p->M.start[n] + n_c));
  PetscCall(triplets_allocate(&h, p->H.start[2 * n_c] + n_c));
  for (int64_t j = 0; j < n; ++j)
    for (int64_t k = p->M.start[j]; k < p->M.start[j + 1]; ++k) {
      add_triplet(&m, j, p->M.row[k], p->M.value[k]);
      if (p->M.row[k] == j) mass += p->M.value[k] / (double)n;
    }
  for (int64_t a = 0; a < n_c; ++a) {
    add_triplet(&m, n + a, n + a, mass > 0 ? mass : 1);
    add_triplet(&h, 3 * a + 2, n + a, 1);
    for (int64_t j = 2 * a; j < 2 * a + 2; ++j)
      for (int64_t k = p->H.start[j]; k < p->H.start[j + 1]; ++k) add_triplet(&h, 3 * a + (j - 2 * a), p->H.row[k], p->H.value[k]);
  }
  PetscCall(sparse_rows_from_triplets("M", n + n_c, n + n_c, m.n, m.row, m.col, m.value, M));
  PetscCall(sparse_rows_from_triplets("H", 3 * n_c, n + n_c, h.n, h.row, h.col, h.value, H));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Free velocity q = w + H M^-1 f, with the sign of f in the file. */
static PetscErrorCode compute_free_velocity(friction_case *c)
{
  const int64_t n = delassus_n_dof(c->W), m = 3 * c->file.n_contacts;
  double       *v __attribute__((cleanup(memory_free))) = NULL, *u __attribute__((cleanup(memory_free))) = NULL;

  PetscFunctionBegin;
  PetscCall(MEMORY_ALLOC("free velocity", ARRAY(c->f, n), ARRAY(v, n), ARRAY(u, m)));
  memcpy(c->f, c->file.f, (size_t)c->file.n_dof * sizeof *c->f);
  PetscCall(delassus_solve(c->W, c->f, v));
  sparse_rows_apply(delassus_jacobian(c->W), v, u);
  expand_to_3d(c, c->file.w, c->q);
  for (int64_t i = 0; i < m; ++i) c->q[i] += u[i];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode prepare_global(friction_case *c)
{
  const bool     is_plane = c->file.dimension == 2;
  sparse_rows    M = view_as_rows(&c->file.M), H = view_as_rows(&c->file.H);
  PetscErrorCode code = PETSC_SUCCESS;

  PetscFunctionBegin;
  if (is_plane) M = H = (sparse_rows){0};
  if (is_plane) code = add_third_direction(&c->file, &M, &H);
  if (!code) code = delassus_create_system(&M, &H, &c->W);
  if (is_plane) sparse_rows_destroy(&M), sparse_rows_destroy(&H);
  PetscCall(code);
  PetscCall(compute_free_velocity(c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- the case ----------------------------------------------------------------------------------------------------------- */

static PetscErrorCode prepare_problem(friction_case *c)
{
  const int64_t n = c->file.n_contacts;

  PetscFunctionBegin;
  c->n_dof = c->file.n_dof > 0 ? c->file.n_dof : c->file.dimension == 3 ? 6 * c->file.n_bodies : 3 * c->file.n_bodies;
  PetscCall(MEMORY_ALLOC("friction case", ARRAY(c->q, 3 * n), ARRAY(c->mu, n)));
  memcpy(c->mu, c->file.mu, (size_t)n * sizeof *c->mu);
  if (c->file.is_global) PetscCall(prepare_global(c));
  else PetscCall(prepare_local(c));
  c->problem = (friction_problem){.W = c->W, .n = n, .q = c->q, .mu = c->mu};
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode friction_case_add_path(const char *path, PetscErrorCode code)
{
  char words[1024];

  PetscFunctionBegin;
  if (!code) PetscFunctionReturn(PETSC_SUCCESS);
  if (code != PETSC_ERR_MAT_CH_ZRPVT && error_exit_code(code) != SS_EXIT_BAD_INPUT) PetscCall(code);
  if (!strncmp(error_message(), path, strlen(path))) PetscCall(code);
  (void)snprintf(words, sizeof words, "%s", error_message());
  error_clear();
  SETERRQ(PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: %s", path, words);
}

PetscErrorCode friction_case_read(const char *path, friction_case *out)
{
  PetscFunctionBegin;
  memset(out, 0, sizeof *out);
  PetscCall(fclib_check_readable(path, VET_SECONDS));
  PetscCall(fclib_read(path, &out->file));
  const PetscErrorCode code = prepare_problem(out);
  if (code) friction_case_clear(out);
  PetscCall(friction_case_add_path(path, code));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode friction_case_guess(const char *path, const friction_case *c, int64_t guess, double *r)
{
  double *stored __attribute__((cleanup(memory_free))) = NULL;

  PetscFunctionBegin;
  PetscCall(memory_alloc("guess", c->file.dimension * c->file.n_contacts, sizeof *stored, &stored));
  PetscCall(fclib_read_guess(path, &c->file, guess, stored));
  expand_to_3d(c, stored, r);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Velocities v and u for impulses r, in the dimensions of the file. */
typedef struct {
  double *v, *u, *r, *space; /* space: [n][3] */
} state;

static void state_clear(state *s) { MEMORY_FREE(&s->v, &s->u, &s->r, &s->space); }

static PetscErrorCode compute_state(const friction_case *c, const double *r, state *s)
{
  const int64_t m = c->file.dimension * c->file.n_contacts, n = delassus_n_dof(c->W);

  PetscFunctionBegin;
  PetscCall(MEMORY_ALLOC("solution", ARRAY(s->u, m), ARRAY(s->r, m), ARRAY(s->space, 3 * c->file.n_contacts)));
  delassus_apply(c->W, r, s->space);
  for (int64_t i = 0; i < 3 * c->file.n_contacts; ++i) s->space[i] += c->q[i];
  reduce_to_file(c, s->space, s->u);
  reduce_to_file(c, r, s->r);
  if (!c->file.is_global) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(memory_alloc("solution", n, sizeof *s->v, &s->v));
  fclib_apply(&c->file.H, s->r, s->v);
  for (int64_t i = 0; i < n; ++i) s->v[i] += c->f[i];
  PetscCall(delassus_solve(c->W, s->v, s->v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode friction_case_write(const friction_case *c, const char *path, const double *solution, int n_guesses,
                                   const double *const *guesses)
{
  state       of[1 + FRICTION_CASE_GUESSES] = {0};
  fclib_state written[1 + FRICTION_CASE_GUESSES];

  PetscFunctionBegin;
  SS_ASSERT(n_guesses <= FRICTION_CASE_GUESSES);
  PetscErrorCode code = solution ? compute_state(c, solution, &of[0]) : PETSC_SUCCESS;
  for (int i = 0; i < n_guesses && !code; ++i) code = compute_state(c, guesses[i], &of[1 + i]);
  for (int i = 0; i <= n_guesses; ++i) written[i] = (fclib_state){of[i].v, of[i].u, of[i].r};
  if (!code) code = fclib_write(path, &c->file, solution ? &written[0] : NULL, n_guesses, &written[1]);
  for (int i = 0; i <= n_guesses; ++i) state_clear(&of[i]);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- rank --------------------------------------------------------------------------------------------------------------- */

/* Rank of A [m][m] by pivoted Cholesky factorisation. A is overwritten; rows and columns without pivot contain the Schur
 * complement. */
static int64_t cholesky_rank(int64_t m, double *A, bool *is_done)
{
  double first = 0;
  for (int64_t rank = 0; rank < m; ++rank) {
    int64_t p = -1;
    for (int64_t i = 0; i < m; ++i)
      if (!is_done[i] && (p < 0 || A[m * i + i] > A[m * p + p])) p = i;
    const double pivot = A[m * p + p];
    if (rank == 0) first = pivot;
    if (!(pivot > 1e-10 * first)) return rank;
    is_done[p] = true;
    for (int64_t i = 0; i < m; ++i) {
      const double factor = A[m * p + i] / pivot;
      if (is_done[i] || factor == 0) continue;
      for (int64_t j = 0; j < m; ++j) A[m * i + j] -= factor * A[m * p + j];
    }
  }
  return m;
}

PetscErrorCode friction_case_rank(friction_case *c, int64_t limit, int64_t *rank)
{
  const int64_t  n = c->file.n_contacts, m = 3 * n;
  const int64_t *start;
  const int32_t *col;
  const double  *value;
  double        *A __attribute__((cleanup(memory_free)))       = NULL;
  bool          *is_done __attribute__((cleanup(memory_free))) = NULL;

  PetscFunctionBegin;
  *rank = -1;
  if (m > limit) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MEMORY_ALLOC("rank of W", ARRAY(A, m * m), ARRAY(is_done, m)));
  PetscCall(delassus_blocks(c->W, &start, &col, &value));
  for (int64_t a = 0; a < n; ++a)
    for (int64_t k = start[a]; k < start[a + 1]; ++k)
      for (int e = 0; e < 9; ++e) {
        const int64_t i = 3 * a + e / 3, j = 3 * (int64_t)col[k] + e % 3;
        A[m * i + j] += 0.5 * value[9 * k + e];
        A[m * j + i] += 0.5 * value[9 * k + e];
      }
  *rank = cholesky_rank(m, A, is_done) - (c->file.dimension == 2 ? n : 0); /* without the added directions of plane problems */
  PetscFunctionReturn(PETSC_SUCCESS);
}
