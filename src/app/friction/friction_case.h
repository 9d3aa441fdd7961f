/* A problem out of an FCLIB file, ready for the solvers; and answers back into such files.
 *
 * Solvers know three components a contact. A file of two gets a third, tangential, with a positive diagonal of W and no other entry and no velocity: both of its
 * components are 0 in every solution, so the answer is that of the plane problem. */
#ifndef SS_APP_FRICTION_FRICTION_CASE_H
#define SS_APP_FRICTION_FRICTION_CASE_H
#include "io/fclib.h"
#include "optim/friction/friction.h"

typedef struct {
  fclib_problem    file;
  friction_problem problem; /* its arrays are the case's own */
  delassus        *W;
  double          *q, *mu;  /* [n][3], [n] */
  double          *f;       /* global: of M v = H r + f, [delassus_n_dof]; NULL: local */
  int64_t          n_dof;   /* of the system, 6 a body where the file only counts bodies; 0: unknown */
} friction_case;

/* Read, check, factor M or sort W into blocks. What libhdf5 would not survive is found out in a child process before. */
PetscErrorCode friction_case_read(const char *path, friction_case *out);
/* What solvers find wrong with a problem, with the file it stands in before it: PETSC_ERR_USER_INPUT. Other errors, and none, stay what they are. */
PetscErrorCode friction_case_blame(const char *path, PetscErrorCode code);
void           friction_case_clear(friction_case *c);
/* 3 n_c / n (2 n_c / n in the plane); NaN where n is unknown. */
double friction_case_nu(const friction_case *c);
/* Rank of W by Cholesky with pivots down to 1e-10 of the first, of its symmetric part; -1 for more than `limit` rows. */
PetscErrorCode friction_case_rank(friction_case *c, int64_t limit, int64_t *rank);
/* Guess 1 to n of the file, 0: what it calls its solution; r [n][3]. */
PetscErrorCode friction_case_guess(const char *path, const friction_case *c, int64_t guess, double *r);
/* The problem with impulses [n][3] as its solution (NULL: none) and as guesses, u and v computed from them afresh. */
enum { FRICTION_CASE_GUESSES = 2 };
PetscErrorCode friction_case_write(const friction_case *c, const char *path, const double *solution, int n_guesses, const double *const *guesses);
#endif
