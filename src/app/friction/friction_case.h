/* A friction problem read from an FCLIB file for the solvers of optim/friction, and writing of solutions to such files.
 *
 * The solvers use three components per contact. Plane problems (two components) get a third, tangential component with a
 * positive diagonal entry of W, no other entries and zero free velocity. Its impulse and velocity are 0 in every solution, so
 * the solution is that of the plane problem. Called by the command friction and by benchmarks. */
#ifndef SS_APP_FRICTION_FRICTION_CASE_H
#define SS_APP_FRICTION_FRICTION_CASE_H
#include "io/fclib.h"
#include "optim/friction/friction.h"

typedef struct {
  fclib_problem    file;
  friction_problem problem; /* refers to arrays of this struct */
  delassus        *W;
  double          *q, *mu; /* [n][3], [n] */
  double          *f;      /* global problem: f in M v = H r + f, [delassus_n_dof], H of FCLIB; NULL: local problem */
  int64_t          n_dof;  /* degrees of freedom; for files with only the number of bodies: 6 per body (3 in the plane); 0: unknown */
} friction_case;

/* Reads and checks a file, then factors M (global problem) or sorts W into blocks (local problem). The file is first opened in a
 * child process, because damaged files can crash libhdf5. */
PetscErrorCode friction_case_read(const char *path, friction_case *out);
/* Converts an error of a solver about the problem to PETSC_ERR_USER_INPUT with the file name. Other codes are returned
 * unchanged. */
PetscErrorCode friction_case_add_path(const char *path, PetscErrorCode code);
void           friction_case_clear(friction_case *c);
/* Ratio of constraints to degrees of freedom, 3 n_contacts / n_dof (2 n_contacts / n_dof in the plane); NaN if n_dof is unknown. */
double friction_case_nu(const friction_case *c);
/* Rank of the symmetric part of W by pivoted Cholesky factorisation with pivots above 1e-10 of the first; -1 if W has more than
 * `limit` rows. */
PetscErrorCode friction_case_rank(friction_case *c, int64_t limit, int64_t *rank);
/* Reads impulses r [n_contacts][3] from the file: initial guess number `guess`, counted from 1; 0: the solution. */
PetscErrorCode friction_case_guess(const char *path, const friction_case *c, int64_t guess, double *r);
/* Writes the problem with a solution (NULL: none) and n_guesses initial guesses, all as impulses [n_contacts][3]; u and v are
 * computed from them. */
enum { FRICTION_CASE_GUESSES = 2 };
PetscErrorCode friction_case_write(const friction_case *c, const char *path, const double *solution, int n_guesses,
                                   const double *const *guesses);
#endif
