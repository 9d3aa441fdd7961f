#include <unistd.h>
#include "core/memory.h"
#include "io/fclib_matrix.h"
#include "io/sealed_file.h"

static PetscErrorCode put_reals(const char *path, hid_t group, const char *name, int64_t n, const double *x)
{
  PetscFunctionBegin;
  PetscCall(h5_array_write(path, group, name, H5T_NATIVE_DOUBLE, H5T_IEEE_F64LE, n, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode put_whole(const char *path, hid_t group, const char *name, int64_t x)
{
  PetscFunctionBegin;
  PetscCall(h5_array_write(path, group, name, H5T_NATIVE_INT64, H5T_STD_I32LE, 1, &x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* nu = 3 n_c / n cannot be known from W alone: n goes along. */
static PetscErrorCode write_info(const char *path, hid_t top, const fclib_problem *p)
{
  H5_SCOPE(scope);
  hid_t info;

  PetscFunctionBegin;
  PetscCall(h5_make_group(&scope, path, top, "info", &info));
  PetscCall(h5_text_write(path, info, "title", p->title ? p->title : ""));
  PetscCall(h5_text_write(path, info, "description", p->description ? p->description : ""));
  PetscCall(h5_text_write(path, info, "math_info", p->math_info ? p->math_info : ""));
  if (p->n_dof > 0 && !p->is_global)
    PetscCall(h5_put_numbers(path, info, "numberOfDegreeOfFreedom", H5T_NATIVE_INT64, H5T_STD_I32LE, 1, &p->n_dof));
  if (p->n_bodies > 0) PetscCall(h5_put_numbers(path, info, "numberOfInvolvedDS", H5T_NATIVE_INT64, H5T_STD_I64LE, 1, &p->n_bodies));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode write_problem(const char *path, hid_t file, const fclib_problem *p)
{
  H5_SCOPE(scope);
  const int64_t m = p->dimension * p->n_contacts;
  hid_t         top, vectors;

  PetscFunctionBegin;
  PetscCall(h5_make_group(&scope, path, file, p->is_global ? "fclib_global" : "fclib_local", &top));
  PetscCall(put_whole(path, top, "spacedim", p->dimension));
  PetscCall(h5_make_group(&scope, path, top, "vectors", &vectors));
  if (p->is_global) {
    PetscCall(fclib_matrix_write(path, top, "M", &p->M));
    PetscCall(fclib_matrix_write(path, top, "H", &p->H));
    PetscCall(put_reals(path, vectors, "f", p->n_dof, p->f));
    PetscCall(put_reals(path, vectors, "w", m, p->w));
  } else {
    PetscCall(fclib_matrix_write(path, top, "W", &p->W));
    PetscCall(put_reals(path, vectors, "q", m, p->q));
  }
  PetscCall(put_reals(path, vectors, "mu", p->n_contacts, p->mu));
  PetscCall(write_info(path, top, p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode write_state(const char *path, hid_t location, const char *name, const fclib_problem *p, const fclib_state *s)
{
  H5_SCOPE(scope);
  const int64_t m = p->dimension * p->n_contacts;
  hid_t         group;

  PetscFunctionBegin;
  PetscCall(h5_make_group(&scope, path, location, name, &group));
  if (p->is_global && s->v) PetscCall(put_reals(path, group, "v", p->n_dof, s->v));
  PetscCall(put_reals(path, group, "u", m, s->u));
  PetscCall(put_reals(path, group, "r", m, s->r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode write_file(const char *path, const fclib_problem *p, const fclib_state *solution, int n_guesses,
                                 const fclib_state *guesses)
{
  H5_SCOPE(scope);
  hid_t file, group;
  char  name[16];

  PetscFunctionBegin;
  PetscCall(h5_create_for_all(&scope, path, &file));
  PetscCall(write_problem(path, file, p));
  if (solution) PetscCall(write_state(path, file, "solution", p, solution));
  if (n_guesses > 0) {
    PetscCall(h5_make_group(&scope, path, file, "guesses", &group));
    PetscCall(put_whole(path, group, "number_of_guesses", n_guesses));
    for (int i = 0; i < n_guesses; ++i) {
      (void)snprintf(name, sizeof name, "%d", i + 1);
      PetscCall(write_state(path, group, name, p, &guesses[i]));
    }
    H5_CALL(path, h5_release(&scope, group));
  }
  H5_CALL(path, h5_release(&scope, file)); /* closing flushes: here a full disk shows */
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode fclib_write(const char *path, const fclib_problem *p, const fclib_state *solution, int n_guesses, const fclib_state *guesses)
{
  char *temporary __attribute__((cleanup(memory_free))) = NULL;

  PetscFunctionBegin;
  PetscCall(sealed_file_temporary(path, &temporary));
  const PetscErrorCode code = write_file(temporary, p, solution, n_guesses, guesses);
  if (code) unlink(temporary);
  PetscCall(code);
  PetscCall(file_publish(temporary, path));
  PetscFunctionReturn(PETSC_SUCCESS);
}
