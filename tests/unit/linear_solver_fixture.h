/* Linear solvers with given options of PETSc, for tests. */
#ifndef SS_TESTS_LINEAR_SOLVER_FIXTURE_H
#define SS_TESTS_LINEAR_SOLVER_FIXTURE_H
#include "optim/linear/linear_solver.h"
#include "optim/optim.h"
#include "test.h"

/* A linear solver with the prefix test_ and these options of PETSc. */
static inline linear_solver *create_with(const char *options)
{
  linear_solver *s;
  assert_ok(optim_register_all());
  assert_ok(PetscOptionsInsertString(NULL, options));
  assert_ok(linear_solver_create(PETSC_COMM_SELF, "test_", &s));
  return s;
}

static inline void destroy_with(linear_solver *s)
{
  linear_solver_destroy(&s);
  assert_ok(PetscOptionsClear(NULL));
}
#endif
