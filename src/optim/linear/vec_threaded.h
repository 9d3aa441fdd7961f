/* Vec type "threaded": PETSc's seq or mpi vector whose arithmetic runs on the team of threads.
 *
 * Debian's PETSc does vector arithmetic on one thread; GMRES spends most of its time there. The storage stays PETSc's own
 * (VecGetArray, VecPlaceArray, viewers, scatters all as usual); only the operations are replaced. Sums are cut by the
 * local length alone (core/team.h), so every result has the same bits on any number of threads.                        */
#ifndef SS_OPTIM_LINEAR_VEC_THREADED_H
#define SS_OPTIM_LINEAR_VEC_THREADED_H
#include <petscvec.h>

#define VECTHREADED "threaded"

PetscErrorCode VecCreate_Threaded(Vec v); /* for VecRegister; use VecSetType(v, VECTHREADED) */
/* A vector of n local entries, zeroed. The caller destroys it. */
PetscErrorCode vec_threaded_create(MPI_Comm comm, PetscInt n_local, Vec *v);
#endif
