/* The last one-step problem of a step, kept so that it can be written as an FCLIB file: M v + f = H^T r, u = H v + w, with guess
 * and solution. */
#ifndef SS_SIM_EXACT_EXACT_DUMP_H
#define SS_SIM_EXACT_EXACT_DUMP_H
#include "optim/friction/delassus.h"

typedef struct {
  sparse_rows M, H;
  int64_t     n_contacts;       /* 0: there is none */
  double     *f, *w, *mu;       /* f with FCLIB's sign, M v = H^T r + f */
  double     *guess, *guess_u, *r, *u, *v;
} exact_dump;

void exact_dump_destroy(exact_dump *d);
/* Before the solve: system, right side and guess. v_free [n]: the solution without impulses, M v_free = f; q [n_contacts][3] = H
 * v_free + w. */
PetscErrorCode exact_dump_problem(exact_dump *d, const delassus *W, int64_t n_contacts, const double *v_free, const double *q,
                                  const double *mu, const double *guess);
/* After it. */
void exact_dump_solution(exact_dump *d, const double *r, const double *u, const double *v);
/* `title` for the file. Nothing if there is no problem. */
PetscErrorCode exact_dump_write(const exact_dump *d, const char *title, const char *path);
#endif
