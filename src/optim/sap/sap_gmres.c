#include "optim/sap/sap_cg_impl.h"
#include "optim/linear/vec_threaded.h"
#include <math.h>
#include <petscksp.h>
#include <string.h>

enum { RESTART = 50 };

/* PETSc's GMRES on D H, D b, so that the norm that it minimises is ours. */
typedef struct {
  sap_cg *c;
  double *root; /* [n] D */
  Vec     b, x;
  Mat     A;
  KSP     ksp;
} gmres;

static PetscErrorCode product(Mat A, Vec x, Vec y)
{
  gmres        *g;
  const double *from;
  double       *to;
  PetscFunctionBegin;
  PetscCall(MatShellGetContext(A, &g));
  sap_cg *c = g->c;
  PetscCall(VecGetArrayRead(x, &from));
  PetscCall(VecGetArray(y, &to));
  PetscCall(c->o->product(c->o->context, from, c->Ap));
  sap_cg_add_terms(c, from, c->Ap, to);
  #pragma omp parallel for schedule(static) if (c->n >= SAP_CG_PARALLEL)
  for (int64_t i = 0; i < c->n; ++i) to[i] *= g->root[i];
  PetscCall(VecRestoreArray(y, &to));
  PetscCall(VecRestoreArrayRead(x, &from));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode precondition(PC pc, Vec x, Vec y)
{
  gmres        *g;
  const double *from;
  double       *to;
  PetscFunctionBegin;
  PetscCall(PCShellGetContext(pc, &g));
  sap_cg *c = g->c;
  PetscCall(VecGetArrayRead(x, &from));
  PetscCall(VecGetArray(y, &to));
  #pragma omp parallel for schedule(static) if (c->n >= SAP_CG_PARALLEL)
  for (int64_t i = 0; i < c->n; ++i) c->r[i] = from[i] / g->root[i];
  sap_cg_precondition(c, c->r, to);
  PetscCall(VecRestoreArray(y, &to));
  PetscCall(VecRestoreArrayRead(x, &from));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode set_up(gmres *g, double tolerance, int64_t most)
{
  const PetscInt n = (PetscInt)g->c->n;
  PC             pc;
  PetscFunctionBegin;
  PetscCall(vec_threaded_create(PETSC_COMM_SELF, n, &g->x));
  PetscCall(VecDuplicate(g->x, &g->b));
  PetscCall(MatCreateShell(PETSC_COMM_SELF, n, n, n, n, g, &g->A));
  PetscCall(MatShellSetOperation(g->A, MATOP_MULT, (void (*)(void))product));
  PetscCall(MatShellSetVecType(g->A, VECTHREADED));
  PetscCall(KSPCreate(PETSC_COMM_SELF, &g->ksp));
  PetscCall(KSPSetType(g->ksp, KSPGMRES));
  PetscCall(KSPGMRESSetRestart(g->ksp, RESTART));
  PetscCall(KSPSetPCSide(g->ksp, PC_RIGHT));
  PetscCall(KSPSetTolerances(g->ksp, SAP_CG_ROUNDING, tolerance, PETSC_DEFAULT, (PetscInt)most));
  PetscCall(KSPSetOperators(g->ksp, g->A, g->A));
  PetscCall(KSPGetPC(g->ksp, &pc));
  PetscCall(PCSetType(pc, PCSHELL));
  PetscCall(PCShellSetContext(pc, g));
  PetscCall(PCShellSetApply(pc, precondition));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode solve(gmres *g, const double *b, double *x, int64_t *iterations)
{
  double       *to;
  const double *from;
  PetscInt      n_its;
  PetscFunctionBegin;
  PetscCall(VecGetArray(g->b, &to));
  for (int64_t i = 0; i < g->c->n; ++i) to[i] = g->root[i] * b[i];
  PetscCall(VecRestoreArray(g->b, &to));
  PetscCall(KSPSolve(g->ksp, g->b, g->x));
  PetscCall(KSPGetIterationNumber(g->ksp, &n_its));
  *iterations = n_its;
  PetscCall(VecGetArrayRead(g->x, &from));
  memcpy(x, from, (size_t)g->c->n * sizeof *x);
  PetscCall(VecRestoreArrayRead(g->x, &from));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode sap_gmres_solve(sap_cg *c, const double *b, double tolerance, int64_t most_iterations, double *x, double *Ax,
                               int64_t *iterations)
{
  gmres g = {.c = c, .root = c->p};
  PetscFunctionBegin;
  for (int64_t i = 0; i < c->n; ++i) g.root[i] = sqrt(c->inverse[i]);
  PetscErrorCode code = set_up(&g, tolerance, most_iterations);
  if (!code) code = solve(&g, b, x, iterations);
  if (!code) code = c->o->product(c->o->context, x, Ax);
  PetscCall(KSPDestroy(&g.ksp));
  PetscCall(MatDestroy(&g.A));
  PetscCall(VecDestroy(&g.b));
  PetscCall(VecDestroy(&g.x));
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
