/* A global linear system A x = b, solved by a KSP of PETSc with its own options prefix. The caller gives products with A, its own
 * factorisation or preconditioner, and the entries of A if they exist. The factorisation is a PC of a registered type
 * (LINEAR_PC_TABLE), so that -<prefix>pc_type and -<prefix>ksp_type can replace it. The object lives as long as the formulation; the
 * system changes. Serial code: no function may be called in a parallel region. Used by sap, friction and sim. */
#ifndef SS_OPTIM_LINEAR_LINEAR_SOLVER_H
#define SS_OPTIM_LINEAR_LINEAR_SOLVER_H
#include "core/sparse_rows.h"
#include <petscksp.h>

/* PC types that apply the factorisation of the caller. */
#define PCMASSFACTOR "massfactor"     /* optim/friction/mass_factor.h */
#define PCMULTIFRONTAL "multifrontal" /* optim/multifrontal */
#define PCSAPBLOCKS "sapblocks"       /* optim/sap/sap_cg.h */
#define PCFRICTIONLU "frictionlu"     /* optim/friction/newton_matrix.h */
#define PCSPARSEDIRECT "sparsedirect" /* optim/friction/sparse_direct.h */
#define PCFACE "face"                 /* optim/bounds/bounds_face.h */
#define LINEAR_PC_TABLE(X) X(PCFACE) X(PCMASSFACTOR) X(PCMULTIFRONTAL) X(PCSAPBLOCKS) X(PCFRICTIONLU) X(PCSPARSEDIRECT)

typedef struct {
  const char *ksp, *pc; /* default types; pc is one of LINEAR_PC_TABLE */
  int64_t     n;
  void       *context;
  PetscErrorCode (*product)(void *context, const double *x, double *y);      /* y = A x; NULL: by the entries */
  PetscErrorCode (*precondition)(void *context, const double *r, double *z); /* the PC `pc` */
  const sparse_rows *A;                                                      /* [n x n] entries, for other PC types; NULL: there are none */
  int64_t            restart;                                                /* of GMRES; 0: PETSc's default */
  /* D^2 [n]: residual norms are |D (b - A x)|. `weighted` is the KSP type that evaluates this norm itself; other types solve the scaled
   * system D A D y = D b, x = D y, and GMRES D A x = D b. NULL: D = 1. */
  const double *weight;
  const char   *weighted;
  const double *diagonal; /* [n] of A, for PCs of PETSc; NULL: unknown */
} linear_system;

typedef struct linear_solver linear_solver;
PetscErrorCode               linear_solver_create(MPI_Comm comm, const char *prefix, linear_solver **out);
void                         linear_solver_destroy(linear_solver **s);
/* The system of the next solves, copied; what it points to is borrowed until the next call. Call again when values change. */
PetscErrorCode linear_solver_set(linear_solver *s, const linear_system *system);
/* The context of the system whose operator is A. Fails with PETSC_ERR_SUP if A does not belong to a linear_solver. */
PetscErrorCode linear_solver_context(Mat A, void *context);
/* Is the KSP of this type? After linear_solver_set. */
PetscErrorCode linear_solver_is(const linear_solver *s, const char *ksp_type, bool *is);
/* Stop when the residual norm is below max(relative |b|, absolute), or after `most` iterations. Options of PETSc have priority. Default:
 * relative 1e-12. */
PetscErrorCode linear_solver_set_tolerance(linear_solver *s, double relative, double absolute, int64_t most);
/* x = A^-1 b, [n]; x may be b. Both are NULL for a KSP type that takes them from the context of the system. Ends early when stop_is_urgent. *iterations may be NULL. */
PetscErrorCode linear_solver_solve(linear_solver *s, const double *b, double *x, int64_t *iterations);

KSPConvergedReason linear_solver_reason(const linear_solver *s); /* of the last solve */

/* Extend the convergence test of a KSP: the solve ends when stop_is_urgent. */
PetscErrorCode linear_solver_make_stoppable(KSP ksp);
/* For KSP types of ours that work on the data of the caller, in KSPCreate: set the operations. The residual is that of b - A x.
 * linear_solver_require_pc fails with PETSC_ERR_SUP unless the KSP has this PC type. */
PetscErrorCode linear_solver_set_ksp(KSP ksp, PetscErrorCode (*set_up)(KSP), PetscErrorCode (*solve)(KSP));
PetscErrorCode linear_solver_require_pc(KSP ksp, const char *pc_type);
PetscErrorCode linear_solver_register(void); /* the PC types, and the Vec type of the solvers */
/* Create a solver for a unit matrix of two unknowns with these default types, set it up with PETSc's options and destroy it. */
PetscErrorCode linear_solver_probe(const char *prefix, const char *ksp, const char *pc, bool has_entries, bool has_diagonal);
#endif
