/* The Delassus operator W = H M^-1 H^T of n contacts: applied, or handed out in 3x3 blocks, never dense. Contact-sized vectors are
 * [n][3], normal first; blocks are row-major [9]. One thread at a time may use an operator (it holds work vectors); inside it is
 * threaded, with the same bits on any number of threads. */
#ifndef SS_OPTIM_FRICTION_DELASSUS_H
#define SS_OPTIM_FRICTION_DELASSUS_H
#include "optim/friction/mass_factor.h"
#include "core/sparse_rows.h"

typedef struct delassus delassus;

/* W as stored, which need not be symmetric: compressed rows of blocks, columns in any order, each once.
 *   start [n_contacts+1], col [start[n_contacts]], value [start[n_contacts]][9]; copied
 *   n_dof  of the system behind it, 0 unknown
 * PETSC_ERR_USER_INPUT naming row and column for indices out of range or repeated, values that are not finite, a missing diagonal. */
PetscErrorCode delassus_create_blocks(int64_t n_contacts, const int64_t *start, const int32_t *col, const double *value,
                                      int64_t n_dof, delassus **out);
/* From the one-step problem M v + f = H^T r, u = H v + w: M [n_dof x n_dof] symmetric positive definite with both triangles, H
 * [3 n_contacts x n_dof]; both copied. M falls into its connected components, each factored by what its structure suggests
 * (mass_factor.h). Fails as mass_factor_create does. */
PetscErrorCode delassus_create_system(const sparse_rows *M, const sparse_rows *H, delassus **out);
void           delassus_destroy(delassus **w);
int64_t        delassus_n_contacts(const delassus *w);
int64_t        delassus_n_dof(const delassus *w); /* 0: unknown */
/* Mean number of contacts that a contact shares a body with, itself included: blocks of W per row, at most (nothing is assembled). */
double delassus_coupling(const delassus *w);
/* Multiplications of a product with W, about. */
double delassus_work(const delassus *w);
/* u = W r. No aliasing. Systems go through H^T, M^-1, H, or through the blocks once they are there and cheaper. */
void          delassus_apply(const delassus *w, const double *r, double *u);
const double *delassus_diagonal(const delassus *w); /* [n_contacts][9] W_aa */
/* All blocks, columns ascending; of a system they are assembled at the first call, exactly symmetric. Borrowed. */
PetscErrorCode delassus_blocks(delassus *w, const int64_t **start, const int32_t **col, const double **value);
/* Systems alone, NULL for stored blocks: M and H as given, the factored M. */
const sparse_rows *delassus_mass(const delassus *w);
const sparse_rows *delassus_jacobian(const delassus *w);
const mass_factor *delassus_factor(const delassus *w);
/* Systems alone: y = M^-1 x, [n_dof]. x == y is fine. */
void delassus_solve(const delassus *w, const double *x, double *y);

/* Systems alone: which contact acts on which component of M, borrowed. */
typedef struct {
  const delassus    *w;
  int64_t            n_dof;
  const mass_factor *factor;
  sparse_rows        Hp, HpT;                   /* H with its columns in places of the factor, and its transpose */
  const int64_t     *touch_start, *member_start; /* [n+1], [n_components+1] */
  const int32_t     *touch, *member;            /* components each contact touches, ascending; contacts on each component, ascending */
} delassus_incidence;
delassus_incidence delassus_incidence_of(const delassus *w);
/* y [n_c][3] <- M_c^-1 H_a^T, in places of component c; of places that no contact touches it may say nothing. On any thread. */
void delassus_respond(const delassus *w, int64_t c, int64_t a, double *y);
/* First entry of row i of H at or behind a place. */
static inline int64_t delassus_row_from(const sparse_rows *h, int64_t i, int64_t place)
{
  int64_t low = h->start[i], high = h->start[i + 1];
  while (low < high) {
    const int64_t middle = (low + high) / 2;
    if (h->col[middle] < place) low = middle + 1;
    else high = middle;
  }
  return low;
}
/* One object that was made from W and that W owns from now on: delassus_destroy calls `destroy`. NULL: none is attached. */
void  delassus_attach(delassus *w, void *object, void (*destroy)(void *object));
void *delassus_attached(const delassus *w);
#endif
