/* Vec type "threaded": a vector of PETSc type seq or mpi whose arithmetic runs on the team of threads (core/team.h).
 *
 * Debian's PETSc does vector arithmetic on one thread, and GMRES spends most of its time there. Only the arithmetic operations are
 * replaced; storage, VecGetArray, VecPlaceArray, viewers and scatters are those of PETSc. Sums run over chunks whose borders depend on
 * the local length alone, so every result has the same bits on any number of threads.                                 */
#ifndef SS_OPTIM_LINEAR_VEC_THREADED_H
#define SS_OPTIM_LINEAR_VEC_THREADED_H
#include <petscvec.h>

#define VECTHREADED "threaded"

PetscErrorCode VecCreate_Threaded(Vec v); /* for VecRegister; use VecSetType(v, VECTHREADED) */
/* Create a zero vector of n_local local entries. The caller destroys it. */
PetscErrorCode vec_threaded_create(MPI_Comm comm, PetscInt n_local, Vec *v);
#endif
