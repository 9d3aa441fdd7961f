/* Quadratic programs in a box: min 1/2 x^T A x - b^T x, lo <= x <= hi, A symmetric positive semidefinite and applied as an
 * operator.
 *
 * With g = A x - b the projected gradient is nu = g where x is between its bounds, min(g, 0) at the lower, max(g, 0) at the upper
 * bound; nu = 0 is optimality. It is measured in the norm of the inverse diagonal, |nu|_D = |D^-1/2 nu|, which does not change with
 * the unit of an unknown.
 *
 * A new solver is a file and a line of BOX_SOLVER_TABLE, a new preconditioner one of BOX_PRECONDITIONER_TABLE. */
#ifndef SS_OPTIM_BOUNDS_BOUNDS_QP_H
#define SS_OPTIM_BOUNDS_BOUNDS_QP_H
#include "core/key_table.h"
#include "optim/bounds/grid_matrix.h"

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
extern const key_table box_options_table; /* of struct box_options */
/* The defaults, which stand in the table alone. `owner` owns the storage. */
PetscErrorCode box_options_defaults(document *owner, const box_options **out);

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

/* Solve by o->method. x [n]: in any start, feasible or not; out the answer, feasible always (but for `cg`, which knows no bounds).
 * The verdict is BOX_OK only if the projected gradient, evaluated afresh, is small enough; of `cg` the gradient. Fails on bad input
 * (sizes, lo > hi, values that are not finite; x is then what it was) and when memory does. */
PetscErrorCode box_solve(const box_qp *q, const box_options *o, double *x, box_result *r);
/* |nu|_D of a feasible x and the number of unknowns at bounds, from one product. scratch [n] gets g = A x - b. */
double box_residual(const box_qp *q, const double *x, double *scratch, int64_t *n_bound);

/* A solver: brings the feasible x to r->target if it can and keeps it feasible; box_solve does the rest. */
typedef PetscErrorCode (*box_solve_function)(const box_qp *q, const box_options *o, double *x, box_result *r);
#define BOX_SOLVER_TABLE(X)                                                                                                            \
  X(MPRGP, "mprgp", box_solve_mprgp, "modified proportioning with reduced gradient projections: faces change by whole steps of conjugate gradients while |nu| is above ten times its target [TakahashiBatty2021]") \
  X(MPRGP_ORIGINAL, "mprgp_original", box_solve_mprgp_original, "the same with fixed short steps throughout [DostalSchoeberl2005]") \
  X(ACTIVE_SET, "active_set", box_solve_active_set, "primal-dual active sets, conjugate gradients on the rest: the quickest from a good start; mprgp takes over if the sets cycle") \
  X(CG, "cg", box_solve_cg, "conjugate gradients without any bounds, for comparison") \
  X(ADMM, "admm", box_solve_admm, "alternating direction method of multipliers [BoydEtAl2011], for comparison: 100 outer iterations unless told otherwise") \
  X(INTERIOR_POINT, "interior_point", box_solve_interior_point, "primal interior point with a logarithmic barrier [ForsgrenEtAl2002], for comparison: 100 outer iterations unless told otherwise") \
  X(AUGMENTED_LAGRANGIAN, "augmented_lagrangian", box_solve_augmented_lagrangian, "multipliers and penalties, a Newton step each [NocedalWright2006], for comparison: 100 outer iterations unless told otherwise") \
  X(TAO, "tao", box_solve_tao, "PETSc's Tao, of the type that <prefix>tao_type of the block petsc picks: bnls by default, bntr, gpcg, blmvm, bqpip, mprgp, activeset") \
  X(SNESVI, "snesvi", box_solve_snesvi, "PETSc's SNES for variational inequalities: Newton on reduced spaces, its systems solved by cg and icc to a tenth unless the block petsc says otherwise")
enum {
#define X(symbol, name, solve, help) BOX_METHOD_##symbol,
  BOX_SOLVER_TABLE(X)
#undef X
  BOX_N_METHODS
};
enum {
#define X(symbol, name, help) BOX_PRECONDITIONER_##symbol,
  BOX_PRECONDITIONER_TABLE(X)
#undef X
  BOX_N_PRECONDITIONERS
};
typedef struct {
  const char        *name, *help;
  box_solve_function solve;
} box_solver;
extern const box_solver box_solvers[BOX_N_METHODS + 1]; /* name NULL ends it */
#define X(symbol, name, solve, help) PetscErrorCode solve(const box_qp *q, const box_options *o, double *x, box_result *r);
BOX_SOLVER_TABLE(X)
#undef X
#endif
