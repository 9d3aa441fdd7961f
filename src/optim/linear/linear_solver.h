/* Solver of a global linear system A x = b by a KSP of PETSc with its own options prefix. The caller provides products with A, its own
 * factorisation or preconditioner, and the entries of A if they are stored. The factorisation is available as a PC type of
 * LINEAR_PC_TABLE. PETSc's options -<prefix>pc_type and -<prefix>ksp_type select other types. One solver is used for a sequence of
 * systems (linear_solver_set). No function may be called in a parallel region. Used by bounds, friction, granular, sap and sim. */
#ifndef SS_OPTIM_LINEAR_LINEAR_SOLVER_H
#define SS_OPTIM_LINEAR_LINEAR_SOLVER_H
#include "core/sparse_rows.h"
#include <petscksp.h>

/* PC types that call `precondition` of the system. The comment names the header of the factorisation or preconditioner. */
#define PCMASSFACTOR "massfactor"     /* optim/friction/mass_factor.h */
#define PCMULTIFRONTAL "multifrontal" /* optim/multifrontal */
#define PCSAPBLOCKS "sapblocks"       /* optim/sap/sap_cg.h */
#define PCFRICTIONLU "frictionlu"     /* optim/friction/newton_matrix.h */
#define PCSPARSEDIRECT "sparsedirect" /* optim/friction/sparse_direct.h */
#define PCFACE "face"                 /* optim/bounds/bounds_face.h */
#define LINEAR_PC_TABLE(X) X(PCFACE) X(PCMASSFACTOR) X(PCMULTIFRONTAL) X(PCSAPBLOCKS) X(PCFRICTIONLU) X(PCSPARSEDIRECT)

typedef struct {
  const char *ksp, *pc;                                                      /* default types; pc is one of LINEAR_PC_TABLE */
  int64_t     n;                                                             /* unknowns */
  void       *context;                                                       /* first argument of the two functions */
  PetscErrorCode (*product)(void *context, const double *x, double *y);      /* y = A x; NULL: computed from the entries A */
  PetscErrorCode (*precondition)(void *context, const double *r, double *z); /* z = M^-1 r for PC type `pc` */
  const sparse_rows *A;                                                      /* [n x n] entries, for other PC types; NULL: not stored */
  int64_t            restart;                                                /* GMRES iterations between restarts; 0: PETSc's default */
  /* weight [n] is the diagonal of D^2; residual norms are |D (b - A x)|. NULL: D = 1. `weighted` is the KSP type that evaluates this
   * norm itself. GMRES solves D A x = D b instead, all other types solve D A D y = D b with x = D y. */
  const double *weight;
  const char   *weighted;
  const double *diagonal; /* [n] diagonal of A, for PC types of PETSc such as jacobi; NULL: not available */
} linear_system;

typedef struct linear_solver linear_solver;
PetscErrorCode               linear_solver_create(MPI_Comm comm, const char *prefix, linear_solver **out);
void                         linear_solver_destroy(linear_solver **s);
/* Set the system of the next solves. The struct is copied; its arrays are borrowed until the next call. Call again when values change. */
PetscErrorCode linear_solver_set(linear_solver *s, const linear_system *system);
/* Write the context of the system whose operator is A to the pointer that `context` points to. PETSC_ERR_SUP if A does not belong to a
 * linear_solver. */
PetscErrorCode linear_solver_context(Mat A, void *context);
/* *is: the KSP has this type. Call after linear_solver_set. */
PetscErrorCode linear_solver_is(const linear_solver *s, const char *ksp_type, bool *is);
/* Stop when the residual norm is below max(relative |b|, absolute), or after `most` iterations. Options of PETSc have priority. Default:
 * relative 1e-12. */
PetscErrorCode linear_solver_set_tolerance(linear_solver *s, double relative, double absolute, int64_t most);
/* x = A^-1 b, [n], from the initial guess 0; x may be b. Both are NULL for a KSP type that finds them in the context of the system. The
 * solve ends early if stop_is_urgent() is true (core/stop.h). `iterations` may be NULL. */
PetscErrorCode linear_solver_solve(linear_solver *s, const double *b, double *x, int64_t *iterations);

KSPConvergedReason linear_solver_reason(const linear_solver *s); /* why the last solve ended */

/* Extend the convergence test of a KSP: the solve also ends if stop_is_urgent() is true. */
PetscErrorCode linear_solver_make_stoppable(KSP ksp);
/* For the KSP types of stickslip. linear_solver_set_ksp sets the operations of a new KSP, whose norm is that of the residual b - A x.
 * linear_solver_require_pc fails with PETSC_ERR_SUP unless the KSP has this PC type. */
PetscErrorCode linear_solver_set_ksp(KSP ksp, PetscErrorCode (*set_up)(KSP), PetscErrorCode (*solve)(KSP));
PetscErrorCode linear_solver_require_pc(KSP ksp, const char *pc_type);
PetscErrorCode linear_solver_register(void); /* register the PC types of LINEAR_PC_TABLE and Vec type threaded */
/* Check PETSc's options of a prefix: set up a solver with these default types for a unit matrix of two unknowns, and destroy it. */
PetscErrorCode linear_solver_probe(const char *prefix, const char *ksp, const char *pc, bool has_entries, bool has_diagonal);
#endif
