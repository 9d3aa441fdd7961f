/* FCLIB files: one frictional contact problem each, in HDF5 [Acary2014].
 *
 *   local    u = W r + q                          r, u: d per contact, normal first, d = 2 or 3
 *   global   M v = H r + f,  u = H^T v + w        H is n x (d n_contacts): its columns belong to contacts
 *
 * where u and r satisfy Coulomb's law with coefficient mu at each contact. fclib_matrix stores compressed columns with ascending rows, without duplicates
 * or zeros. Read as compressed rows, the arrays of H are the Jacobian H^T = du/dv, one row per component of u. M is symmetric; both triangles are stored.
 * W need not be symmetric. Problems with bilateral constraints (V, R, s; G, b) or rolling friction are rejected. */
#ifndef SS_IO_FCLIB_H
#define SS_IO_FCLIB_H
#include "core/error.h"

typedef struct {
  int64_t  n_rows, n_columns;
  int64_t *start; /* [n_columns + 1] */
  int32_t *row;   /* [start[n_columns]] */
  double  *value; /* [start[n_columns]] */
} fclib_matrix;

typedef struct {
  bool         is_global;
  int          dimension; /* d */
  int64_t      n_contacts;
  int64_t      n_dof;    /* n; for a local problem the number of unknowns v before the reduction to W, 0 if the file does not contain it */
  int64_t      n_bodies; /* 0 if the file does not contain it */
  fclib_matrix W;        /* local */
  fclib_matrix M, H;     /* global */
  double      *q;        /* local, [d n_contacts] */
  double      *f, *w;    /* global, [n_dof], [d n_contacts] */
  double      *mu;       /* [n_contacts] >= 0 */
  char        *title, *description, *math_info; /* NULL: none. Unchanged bytes of the file, in any encoding */
  bool         was_half_stored;                 /* the file contained one triangle of M only; fclib_read has added the other */
  bool         has_solution;                    /* the file contains a solution; it is not verified */
  int64_t      n_guesses;                       /* number of initial guesses in the file */
} fclib_problem;

typedef struct {
  const double *v;     /* [n_dof], global; NULL: not written */
  const double *u, *r; /* [d n_contacts] */
} fclib_state;

/* Read and check everything except solution and guesses; free *out with fclib_clear. PETSC_ERR_USER_INPUT with file, object and entry for: another
 * kind of file, inconsistent sizes, indices out of range, values that are not finite, mu < 0, empty contacts. Corrections appear in the log. */
PetscErrorCode fclib_read(const char *path, fclib_problem *out);
void           fclib_clear(fclib_problem *p);
/* Read the impulses r [d n_contacts] of initial guess number `guess` (1 ... n_guesses), or of the solution (guess 0). All values must be finite. */
PetscErrorCode fclib_read_guess(const char *path, const fclib_problem *p, int64_t guess, double *r);
/* Read `path` in a child process, because libhdf5 crashes on some damaged files. PETSC_ERR_FILE_READ if the child crashes or takes longer than `seconds`.
 * Call before OpenMP threads have been started. */
PetscErrorCode fclib_check_readable(const char *path, int seconds);

/* Write `path` as a new file; after a failure no file remains. solution NULL: none; guesses [n_guesses]. Arguments are borrowed and not checked. */
PetscErrorCode fclib_write(const char *path, const fclib_problem *p, const fclib_state *solution, int n_guesses,
                           const fclib_state *guesses);

/* y = A x */
void fclib_apply(const fclib_matrix *A, const double *x, double *y);
/* max |a_ij - a_ji| / max |a_ij| of a square matrix */
double fclib_asymmetry(const fclib_matrix *A);
/* Copy `text` to out [room] as one line of printable UTF-8; other bytes are replaced by '?'. Longer texts are truncated. */
void fclib_clean_text(const char *text, size_t room, char *out);
#endif
