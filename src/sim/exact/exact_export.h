/* Export of contact problems: a copy of the last linearised problem of formulation exact, written as an FCLIB file [Acary2014].
 * Used by exact.c if output.fclib is set. */
#ifndef SS_SIM_EXACT_EXACT_EXPORT_H
#define SS_SIM_EXACT_EXACT_EXPORT_H
#include "optim/friction/delassus.h"

/* Copy of a problem M v = H^T r + f, u = H v + w with Coulomb's law between u and r, its initial guess and its solution. The sign
 * of f is that of FCLIB. */
typedef struct {
  sparse_rows M, H;
  int64_t     n_contacts; /* 0: no problem stored */
  double     *f, *w, *mu; /* [n] N s, [n_contacts][3] m/s, [n_contacts] */
  double     *guess, *guess_u, *r, *u,
      *v; /* initial guess: impulses, contact velocities; solution: impulses, contact velocities (all [n_contacts][3]), velocities v [n] */
} exact_export;

/* Free the copy; accepts zeros. */
void exact_export_destroy(exact_export *d);
/* Before the solve: copy the system, its right side and the initial guess [n_contacts][3]. v_free [n]: the solution without
 * impulses, M v_free = f; q [n_contacts][3] = H v_free + w; mu [n_contacts]. Error: out of memory. */
PetscErrorCode exact_export_problem(exact_export *d, const delassus *W, int64_t n_contacts, const double *v_free, const double *q,
                                    const double *mu, const double *guess);
/* After the solve: copy impulses r and velocities u [n_contacts][3] of the contacts, and v [n]. */
void exact_export_solution(exact_export *d, const double *r, const double *u, const double *v);
/* Write an FCLIB file with the given title; nothing if no problem is stored. Errors: see fclib_write. */
PetscErrorCode exact_export_write(const exact_export *d, const char *title, const char *path);
#endif
