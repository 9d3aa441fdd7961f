/* Quadratic programs in a box: min 1/2 x^T A x - b^T x, lo <= x <= hi, A symmetric positive semidefinite and applied as an
 * operator.
 *
 * With g = A x - b the projected gradient is nu = g where x is between its bounds, min(g, 0) at the lower, max(g, 0) at the upper
 * bound; nu = 0 is optimality. It is measured in the norm of the inverse diagonal, |nu|_D = |D^-1/2 nu|, which does not change with
 * the unit of an unknown. */
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
  grid_matrix  *grid;          /* a part of A on the first grid->n <= n unknowns, which ssor, mic and multigrid work on, the others being scaled by
                                  their diagonal; NULL: those fall back to jacobi. Keeps coarse cells between solves */
} box_qp;

/* Why a solver came back. Not errors: x holds the best iterate in every case. */
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
  int         method;         /* index into box_solvers */
  int         preconditioner; /* BOX_PRECONDITIONER_... */
  double      tolerance;      /* solved if |nu|_D <= max(tolerance |b|_D, absolute) */
  double      absolute;
  int64_t     max_iterations; /* 0: the method's own */
  double      gamma;          /* Gamma of MPRGP: bounds are released when |beta| > Gamma |reduced free gradient| */
  int64_t     trials;         /* step lengths that interior_point and augmented_lagrangian try at most */
  bool        is_nested;      /* start from coarser grids where x is far from the answer; mprgp and active_set with multigrid */
  const char *prefix;         /* of PETSc's options, for tao and snesvi */
} box_options;
enum {
#define X(symbol, name, help) BOX_PRECONDITIONER_##symbol,
  BOX_PRECONDITIONER_TABLE(X)
#undef X
  BOX_N_PRECONDITIONERS
};

typedef struct {
  box_verdict verdict;
  int64_t     iterations; /* steps of the linear solver or of MPRGP, whichever cost a preconditioner or a product each */
  int64_t     products;   /* with A */
  int64_t     coarse_products; /* with coarser ones, of a nested start */
  int64_t     outer;      /* of methods with an outer loop; mprgp: changes of the face */
  int64_t     n_bound;    /* unknowns at a bound */
  double      residual;   /* |nu|_D of the answer, from a product of its own */
  double      target;     /* what it had to come down to */
  double      alpha_bar;  /* in/out: fixed step 1.9/|A|_D of MPRGP, worth keeping from one solve to the next; 0: estimate */
} box_result;

/* |nu|_D of a feasible x and the number of unknowns at bounds, from one product. scratch [n] gets g = A x - b. */
double box_residual(const box_qp *q, const double *x, double *scratch, int64_t *n_bound);


/* A solver: brings the feasible x to r->target if it can and keeps it feasible; box_solve does the rest. */
typedef PetscErrorCode (*box_solve_function)(const box_qp *q, const box_options *o, double *x, box_result *r);
/* Run a solver on a program: check the input, move x [n] into its bounds, set r->target, call `start` if it is not NULL, then the solver until
 * the residual, evaluated afresh, is small enough, at most three times. is_unbounded: the solver ignores bounds, and its residual is the
 * gradient. See box_solve. */
PetscErrorCode box_solve_with(box_solve_function start, box_solve_function solver, bool is_unbounded, const box_qp *q, const box_options *o,
                              double *x, box_result *r);
/* g = A x - b; counts a product. */
void box_gradient(const box_qp *q, const double *restrict x, double *restrict g, box_result *r);

/* Chunks of the fused passes over vectors: borders and sums depend on n alone, so the bits do not depend on the number of threads.
 * */
/* Short chunks, and a team from 2048 unknowns on: a pass on one thread would cost little, but leave all vectors with that
 * thread. */
enum { BOX_CHUNK = 512, BOX_PARALLEL = 2048, BOX_SUMS = 4 /* partial sums a chunk */ };
typedef double box_part[BOX_SUMS];

static inline int64_t box_chunks(int64_t n) { return (n + BOX_CHUNK - 1) / BOX_CHUNK; }
static inline int64_t box_chunk_end(int64_t c, int64_t n) { return (c + 1) * BOX_CHUNK < n ? (c + 1) * BOX_CHUNK : n; }
static inline double  box_add(const box_part *part, int64_t n_chunks, int k)
{
  double sum = 0.0;
  for (int64_t c = 0; c < n_chunks; ++c) sum += part[c][k];
  return sum;
}
/* What is no number stays none. */
static inline double box_clip(double x, double lo, double hi) { return x < lo ? lo : x > hi ? hi : x; }
/* for (i in chunk c), over all chunks on the team: a loop over chunks with its body, e.g.
 *   BOX_CHUNKS(n) { BOX_RANGE(c, n); for (int64_t i = first; i < last; ++i) ... }   */
#define BOX_PRAGMA(text) _Pragma(#text)
#define BOX_CHUNKS(n)                                                                          \
  BOX_PRAGMA(omp parallel for schedule(static) if ((n) >= BOX_PARALLEL))                       \
  for (int64_t c = 0; c < box_chunks(n); ++c)
#define BOX_RANGE(n) const int64_t first = c * BOX_CHUNK, last = box_chunk_end(c, n)
#endif
