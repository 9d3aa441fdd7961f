/* Bound-constrained quadratic programs: minimise 1/2 x^T A x - b^T x subject to lo <= x <= hi. A is symmetric positive semidefinite and
 * given by its products.
 *
 * Let g = A x - b. The projected gradient nu is g where x lies between its bounds, min(g, 0) at the lower bound and max(g, 0) at the upper bound.
 * The optimality condition is nu = 0. The error norm is |nu|_D = |D^-1/2 nu|, D = diag(A). It does not depend on the units of the unknowns.
 *
 * This header defines problem, options and result, which all solvers share. Solvers are called through bounds_qp.h. */
#ifndef SS_OPTIM_BOUNDS_BOUNDS_PROBLEM_H
#define SS_OPTIM_BOUNDS_BOUNDS_PROBLEM_H
#include "core/team.h"
#include "optim/bounds/grid_matrix.h"
#include "optim/linear/linear_solver.h"
#include <math.h>

typedef struct bounds_qp {
  int64_t n;                                                                  /* unknowns */
  void (*apply)(void *context, const double *restrict x, double *restrict y); /* y = A x; the same bits on any number of threads */
  void          *context;                                                     /* first argument of apply */
  const double  *diagonal;                                                    /* [n] diagonal of A, > 0 */
  const double  *b, *lo, *hi;                                                 /* [n]; lo <= hi; infinite or the array NULL: no bound */
  grid_matrix   *grid;   /* matrix of the first grid->n <= n unknowns, from which ssor, mic and multigrid are built; the other
                                * unknowns are scaled by their diagonal. NULL: jacobi replaces ssor, mic and multigrid. Stores the
                                * coarse levels between solves */
  linear_solver *solver; /* KSP of the linear systems on free unknowns (bounds_cg_solve); NULL: conjugate gradients without options */
} bounds_qp;

/* Outcome of a solve. These are not errors: x contains the best iterate in every case. */
/* clang-format off */
#define BOUNDS_STATUS_TABLE(X)                                                                   \
  X(BOUNDS_OK, "solved")                                                                          \
  X(BOUNDS_ITERATIONS, "too many iterations")                                                     \
  X(BOUNDS_STALLED, "no further progress")                                                        \
  X(BOUNDS_UNBOUNDED, "the objective is unbounded along a direction without curvature") \
  X(BOUNDS_NOT_FINITE, "a value became infinite or not a number")
/* clang-format on */
typedef enum {
#define X(name, text) name,
  BOUNDS_STATUS_TABLE(X)
#undef X
} bounds_status;
const char *bounds_status_text(bounds_status v);

/* clang-format off */
#define BOUNDS_PRECONDITIONER_TABLE(X)                                                                                                   \
  X(NONE, "none", "none")                                                                                                             \
  X(JACOBI, "jacobi", "the diagonal") \
  X(SSOR, "ssor", "symmetric successive over-relaxation of the grid unknowns; serial")                                                   \
  X(MIC, "mic", "modified incomplete Cholesky factor of the grid unknowns, recomputed when the active set changes; serial")                             \
  X(MULTIGRID, "multigrid", "one V-cycle on aggregates of grid cells, recomputed when the active set changes; runs on all threads")
/* clang-format on */

typedef struct bounds_options {
  int     method;         /* BOUNDS_METHOD_..., index into bounds_solvers */
  int     preconditioner; /* BOUNDS_PRECONDITIONER_... */
  double  tolerance;      /* converged if |nu|_D <= max(tolerance |b|_D, absolute) */
  double  absolute;       /* absolute tolerance, see above; no job key, set by the Tao types */
  int64_t max_iterations; /* 0: default of the method */
  int64_t trials;         /* largest number of step lengths tried by interior_point and augmented_lagrangian */
} bounds_options;
enum {
#define X(symbol, name, help) BOUNDS_PRECONDITIONER_##symbol,
  BOUNDS_PRECONDITIONER_TABLE(X)
#undef X
      BOUNDS_N_PRECONDITIONERS
};

typedef struct {
  bounds_status status;
  int64_t       iterations;      /* iterations of the linear solver or of MPRGP; each costs one product or one application of the
                           * preconditioner */
  int64_t       products;        /* number of products with A */
  int64_t       coarse_products; /* number of products with coarser matrices during a nested start */
  int64_t       outer;           /* outer iterations; mprgp: changes of the active set */
  int64_t       n_bound;         /* number of unknowns at a bound */
  double        residual;        /* |nu|_D of the solution, from a separate product */
  double        target;          /* tolerance on |nu|_D */
  double        alpha_bar;       /* in/out: fixed step length 1.9/|A|_D of MPRGP. 0: the solve estimates it; pass the value to the next
                           * solve to save this estimate */
} bounds_result;

/* Returns |nu|_D of a feasible x [n]; computes one product with A. *n_bound (may be NULL): number of unknowns at bounds. scratch [n]
 * receives g = A x - b. */
double bounds_residual(const bounds_qp *q, const double *x, double *scratch, int64_t *n_bound);

/* Interface of a solver. x [n] in: feasible initial guess; out: feasible iterate with |nu|_D <= r->target, or the best iterate. Sets
 * r->status and counters. Error: out of memory. Called by bounds_solve_with, which checks input and result. */
typedef PetscErrorCode (*bounds_solve_function)(const bounds_qp *q, const bounds_options *o, double *x, bounds_result *r);
/* Run one solver: check the input, project x [n] onto the bounds, set r->target, and call `start` (may be NULL) to improve the initial
 * guess. Then call the solver, at most three times, until the recomputed residual is at most the target. is_unbounded: the solver
 * ignores the bounds, and its residual is g. Called by bounds_solve, bounds_nested_start and the Tao types. Errors as bounds_solve. */
PetscErrorCode bounds_solve_with(bounds_solve_function start, bounds_solve_function solver, bool is_unbounded, const bounds_qp *q,
                                 const bounds_options *o, double *x, bounds_result *r);
/* g [n] = A x - b; increments r->products. */
void bounds_gradient(const bounds_qp *q, const double *restrict x, double *restrict g, bounds_result *r);

/* Loops over vectors run in chunks. Chunk borders and partial sums depend on n alone, so the bits do not depend on the number of
 * threads. BOUNDS_CHUNK: entries per chunk. BOUNDS_PARALLEL: from this n on, loops use all threads. It is small, because a serial loop
 * would move all vectors into the cache of one core. */
enum { BOUNDS_CHUNK = 512, BOUNDS_PARALLEL = 2048, BOUNDS_SUMS = 4 /* partial sums per chunk */ };
typedef double bounds_partial_sums[BOUNDS_SUMS];

static inline int64_t bounds_chunks(int64_t n) { return (n + BOUNDS_CHUNK - 1) / BOUNDS_CHUNK; }
static inline int64_t bounds_chunk_end(int64_t c, int64_t n) { return (c + 1) * BOUNDS_CHUNK < n ? (c + 1) * BOUNDS_CHUNK : n; }
static inline double  bounds_sum(const bounds_partial_sums *part, int64_t n_chunks, int k)
{
  double sum = 0.0;
  for (int64_t c = 0; c < n_chunks; ++c) sum += part[c][k];
  return sum;
}
/* Returns x limited to [lo, hi]; NaN remains NaN. */
static inline double bounds_clamp(double x, double lo, double hi) { return x < lo ? lo : x > hi ? hi : x; }
/* Loop over all chunks in parallel; the body handles one chunk:
 *   BOUNDS_CHUNKS(n) { BOUNDS_RANGE(n); for (int64_t i = first; i < last; ++i) ... }   */
#define BOUNDS_PRAGMA(text) _Pragma(#text)
#define BOUNDS_CHUNKS(n)                                                                                                                   \
  BOUNDS_PRAGMA(omp parallel for schedule(static) if ((n) >= BOUNDS_PARALLEL))                                                             \
  for (int64_t c = 0; c < bounds_chunks(n); ++c)
#define BOUNDS_RANGE(n) const int64_t first = c * BOUNDS_CHUNK, last = bounds_chunk_end(c, n)
#endif
