/* Bound-constrained quadratic programs: min 1/2 x^T A x - b^T x, lo <= x <= hi. A is symmetric positive semidefinite and given
 * by its products.
 *
 * Let g = A x - b. The projected gradient nu is g where x lies between its bounds, min(g, 0) at the lower and max(g, 0) at the
 * upper bound. nu = 0 is the optimality condition. The error norm is |nu|_D = |D^-1/2 nu|, D = diag(A); it does not depend on
 * the units of the unknowns.
 *
 * This header defines problem, options and result, which all solvers share. Solvers are called through bounds_qp.h. */
#ifndef SS_OPTIM_BOUNDS_BOUNDS_PROBLEM_H
#define SS_OPTIM_BOUNDS_BOUNDS_PROBLEM_H
#include "core/team.h"
#include "optim/bounds/grid_matrix.h"
#include <math.h>

typedef struct box_qp {
  int64_t n;
  void  (*apply)(void *context, const double *restrict x, double *restrict y); /* y = A x; the same bits on any number of threads */
  void   *context;
  const double *diagonal;      /* [n] of A, > 0 */
  const double *b, *lo, *hi;   /* [n]; lo <= hi; infinite or the array NULL: no bound */
  grid_matrix  *grid;          /* the part of A that belongs to the first grid->n <= n unknowns; ssor, mic and multigrid are
                                * built from it, and the other unknowns are scaled by their diagonal. NULL: ssor, mic and
                                * multigrid are replaced by jacobi. Stores the coarse levels between solves */
} box_qp;

/* Outcome of a solve. These are not errors: x contains the best iterate in every case. */
#define BOX_VERDICT_TABLE(X)                                                                   \
  X(BOX_OK, "solved")                                                                          \
  X(BOX_ITERATIONS, "too many iterations")                                                     \
  X(BOX_STALLED, "no further progress")                                                        \
  X(BOX_UNBOUNDED, "a direction without curvature and without a bound goes downhill for ever") \
  X(BOX_NOT_FINITE, "a value became infinite or not a number")
typedef enum {
#define X(name, text) name,
  BOX_VERDICT_TABLE(X)
#undef X
} box_verdict;
const char *box_verdict_text(box_verdict v);

#define BOX_PRECONDITIONER_TABLE(X)                                                                                                   \
  X(NONE, "none", "none")                                                                                                             \
  X(JACOBI, "jacobi", "the diagonal") \
  X(SSOR, "ssor", "symmetric successive over-relaxation of the grid's part; serial")                                                   \
  X(MIC, "mic", "modified incomplete Cholesky factor of the grid's part, made anew for each face; serial")                             \
  X(MULTIGRID, "multigrid", "one V-cycle on aggregates of cells of the grid's part, made anew for each face; runs on all threads")

typedef struct box_options {
  int         method;         /* BOX_METHOD_..., index into box_solvers */
  int         preconditioner; /* BOX_PRECONDITIONER_... */
  double      tolerance;      /* converged if |nu|_D <= max(tolerance |b|_D, absolute) */
  double      absolute;
  int64_t     max_iterations; /* 0: default of the method */
  double      gamma;          /* Gamma of MPRGP: constraints are released when |beta| > Gamma |reduced free gradient| */
  int64_t     trials;         /* largest number of step lengths tried by interior_point and augmented_lagrangian */
  bool        is_nested;      /* compute an initial guess on coarser grids if x is far from the solution; mprgp and active_set
                               * with multigrid */
  const char *prefix;         /* options prefix of the PETSc objects of tao and snesvi */
} box_options;
enum {
#define X(symbol, name, help) BOX_PRECONDITIONER_##symbol,
  BOX_PRECONDITIONER_TABLE(X)
#undef X
  BOX_N_PRECONDITIONERS
};

typedef struct {
  box_verdict verdict;
  int64_t     iterations; /* iterations of the linear solver or of MPRGP; each costs one product or one application of the
                           * preconditioner */
  int64_t     products;   /* number of products with A */
  int64_t     coarse_products; /* number of products with coarser matrices during a nested start */
  int64_t     outer;      /* outer iterations; mprgp: changes of the active set */
  int64_t     n_bound;    /* number of unknowns at a bound */
  double      residual;   /* |nu|_D of the solution, from a separate product */
  double      target;     /* tolerance on |nu|_D */
  double      alpha_bar;  /* in/out: fixed step 1.9/|A|_D of MPRGP; pass it from one solve to the next to save its estimate. 0:
                           * estimate it */
} box_result;

/* Returns |nu|_D of a feasible x, from one product. *n_bound (may be NULL): number of unknowns at bounds. scratch [n] receives g
 * = A x - b. */
double box_residual(const box_qp *q, const double *x, double *scratch, int64_t *n_bound);


/* Interface of a solver: reduce |nu|_D of the feasible x to r->target and keep x feasible. box_solve_with checks input and
 * result. */
typedef PetscErrorCode (*box_solve_function)(const box_qp *q, const box_options *o, double *x, box_result *r);
/* Run one solver. Checks the input, projects x [n] onto the bounds and sets r->target. Then calls `start` (if not NULL, to
 * improve the initial guess) and the solver, at most three times, until the recomputed residual is within the target.
 * is_unbounded: the solver ignores the bounds; its residual is the gradient. Called by box_solve, by the nested start and by the
 * Tao types. Errors as box_solve. */
PetscErrorCode box_solve_with(box_solve_function start, box_solve_function solver, bool is_unbounded, const box_qp *q, const box_options *o,
                              double *x, box_result *r);
/* g = A x - b; increments r->products. */
void box_gradient(const box_qp *q, const double *restrict x, double *restrict g, box_result *r);

/* Loops over vectors are cut into chunks. Borders and partial sums depend on n alone, so the bits do not depend on the number of
 * threads. */
/* Short chunks, and threads from 2048 unknowns on: a serial pass would be fast but would move all vectors into the cache of one
 * core. */
enum { BOX_CHUNK = 512, BOX_PARALLEL = 2048, BOX_SUMS = 4 /* partial sums per chunk */ };
typedef double box_part[BOX_SUMS];

static inline int64_t box_chunks(int64_t n) { return (n + BOX_CHUNK - 1) / BOX_CHUNK; }
static inline int64_t box_chunk_end(int64_t c, int64_t n) { return (c + 1) * BOX_CHUNK < n ? (c + 1) * BOX_CHUNK : n; }
static inline double  box_add(const box_part *part, int64_t n_chunks, int k)
{
  double sum = 0.0;
  for (int64_t c = 0; c < n_chunks; ++c) sum += part[c][k];
  return sum;
}
/* Returns x limited to [lo, hi]; NaN remains NaN. */
static inline double box_clip(double x, double lo, double hi) { return x < lo ? lo : x > hi ? hi : x; }
/* Loop over all chunks in parallel; the body handles one chunk:
 *   BOX_CHUNKS(n) { BOX_RANGE(n); for (int64_t i = first; i < last; ++i) ... }   */
#define BOX_PRAGMA(text) _Pragma(#text)
#define BOX_CHUNKS(n)                                                                          \
  BOX_PRAGMA(omp parallel for schedule(static) if ((n) >= BOX_PARALLEL))                       \
  for (int64_t c = 0; c < box_chunks(n); ++c)
#define BOX_RANGE(n) const int64_t first = c * BOX_CHUNK, last = box_chunk_end(c, n)
#endif
