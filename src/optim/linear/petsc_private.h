/* PETSc's implementation headers, which new PETSc types need. Three compiler warnings are disabled because these headers cause them. */
#ifndef SS_OPTIM_LINEAR_PETSC_PRIVATE_H
#define SS_OPTIM_LINEAR_PETSC_PRIVATE_H
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wsign-compare"
#include <petsc/private/vecimpl.h>
#include <petsc/private/matimpl.h>
#include <petsc/private/pcimpl.h>
#include <petsc/private/kspimpl.h>
#include <petsc/private/snesimpl.h>
#include <petsc/private/taoimpl.h>
#pragma GCC diagnostic pop
#endif
