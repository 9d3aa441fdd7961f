/* Copies of the matrices and vectors of a linearised step, and their conversion to the FCLIB format. */
#include "sim/exact/exact_export.h"
#include "core/memory.h"
#include "io/fclib.h"
#include <string.h>

void exact_export_destroy(exact_export *d)
{
  sparse_rows_destroy(&d->M);
  sparse_rows_destroy(&d->H);
  MEMORY_FREE(&d->f, &d->w, &d->mu, &d->guess, &d->guess_u, &d->r, &d->u, &d->v);
  d->n_contacts = 0;
}

/* Copy without stored zeros, as FCLIB requires. */
static PetscErrorCode copy_rows(const sparse_rows *from, sparse_rows *to)
{
  PetscFunctionBegin;
  PetscCall(sparse_rows_create("friction problem", from->n_rows, from->n_cols, from->start, from->col, from->value, to));
  int64_t n = 0, first = 0;
  for (int64_t i = 0; i < to->n_rows; ++i) {
    const int64_t end = to->start[i + 1];
    for (int64_t k = first; k < end; ++k)
      if (to->value[k] != 0.0) to->col[n] = to->col[k], to->value[n++] = to->value[k];
    first            = end;
    to->start[i + 1] = n;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode exact_export_problem(exact_export *d, const delassus *W, int64_t n_contacts, const double *v_free, const double *q,
                                    const double *mu, const double *guess)
{
  const sparse_rows *M = delassus_mass(W), *H = delassus_jacobian(W);
  PetscFunctionBegin;
  exact_export_destroy(d);
  PetscCall(copy_rows(M, &d->M));
  PetscCall(copy_rows(H, &d->H));
  PetscCall(memory_copy("friction problem", M->n_rows, sizeof *d->f, NULL, &d->f));
  PetscCall(memory_copy("friction problem", M->n_rows, sizeof *d->v, NULL, &d->v));
  PetscCall(memory_copy("friction problem", 3 * n_contacts, sizeof *d->w, NULL, &d->w));
  PetscCall(memory_copy("friction problem", 3 * n_contacts, sizeof *d->r, NULL, &d->r));
  PetscCall(memory_copy("friction problem", 3 * n_contacts, sizeof *d->u, NULL, &d->u));
  PetscCall(memory_copy("friction problem", 3 * n_contacts, sizeof *d->guess, guess, &d->guess));
  PetscCall(memory_copy("friction problem", 3 * n_contacts, sizeof *d->guess_u, NULL, &d->guess_u));
  PetscCall(memory_copy("friction problem", n_contacts, sizeof *d->mu, mu, &d->mu));
  delassus_apply(W, guess, d->guess_u);
  for (int64_t i = 0; i < 3 * n_contacts; ++i) d->guess_u[i] += q[i];
  sparse_rows_apply(M, v_free, d->f);
  sparse_rows_apply(H, v_free, d->w);
  for (int64_t i = 0; i < 3 * n_contacts; ++i) d->w[i] = q[i] - d->w[i];
  d->n_contacts = n_contacts;
  PetscFunctionReturn(PETSC_SUCCESS);
}

void exact_export_solution(exact_export *d, const double *r, const double *u, const double *v)
{
  memcpy(d->r, r, (size_t)(3 * d->n_contacts) * sizeof *r);
  memcpy(d->u, u, (size_t)(3 * d->n_contacts) * sizeof *u);
  memcpy(d->v, v, (size_t)d->M.n_rows * sizeof *v);
}

PetscErrorCode exact_export_write(const exact_export *d, const char *title, const char *path)
{
  PetscFunctionBegin;
  if (d->n_contacts == 0) PetscFunctionReturn(PETSC_SUCCESS);
  /* M is symmetric, and FCLIB's H is the transpose of ours: its compressed columns are our compressed rows. */
  const fclib_problem p = {
      .is_global   = true,
      .dimension   = 3,
      .n_contacts  = d->n_contacts,
      .n_dof       = d->M.n_rows,
      .M           = {d->M.n_rows, d->M.n_cols, d->M.start, d->M.col, d->M.value},
      .H           = {d->H.n_cols, d->H.n_rows, d->H.start, d->H.col, d->H.value},
      .f           = d->f,
      .w           = d->w,
      .mu          = d->mu,
      .title       = (char *)title,
      .description = (char *)"one step of stickslip, formulation exact: v free velocities, u with the terms of gaps and impacts in w"};
  const fclib_state solution = {d->v, d->u, d->r}, guess = {NULL, d->guess_u, d->guess};
  PetscCall(fclib_write(path, &p, &solution, 1, &guess));
  PetscFunctionReturn(PETSC_SUCCESS);
}
