/* The Delassus operator W = H M^-1 H^T of n contacts: products, or 3x3 blocks; never stored dense. Contact vectors are [n][3],
 * normal first; blocks are row-major [9]. An operator contains work vectors, so only one thread at a time may use it. It is
 * threaded inside, with the same bits on any number of threads. Used by all solvers of this folder. */
#ifndef SS_OPTIM_FRICTION_DELASSUS_H
#define SS_OPTIM_FRICTION_DELASSUS_H
#include "optim/friction/mass_factor.h"
#include "core/sparse_rows.h"
#include "optim/linear/linear_solver.h"

typedef struct delassus delassus;

/* From stored blocks, not necessarily symmetric: compressed rows of blocks, columns in any order, each once.
 *   start [n_contacts+1], col [start[n_contacts]], value [start[n_contacts]][9]; copied
 *   n_dof  number of unknowns of the underlying system, 0: unknown
 * PETSC_ERR_USER_INPUT names row and column of an index that is out of range or repeated, of a value that is not finite, or of a
 * missing diagonal block. */
PetscErrorCode delassus_create_blocks(int64_t n_contacts, const int64_t *start, const int32_t *col, const double *value, int64_t n_dof,
                                      delassus **out);
/* From the one-step problem M v + f = H^T r, u = H v + w: M [n_dof x n_dof] symmetric positive definite with both triangles, H
 * [3 n_contacts x n_dof]; both are copied. Each connected component of M is factored by a method chosen from its structure
 * (mass_factor.h). Errors as mass_factor_create. */
PetscErrorCode delassus_create_system(const sparse_rows *M, const sparse_rows *H, delassus **out);
void           delassus_destroy(delassus **w);
int64_t        delassus_n_contacts(const delassus *w);
int64_t        delassus_n_dof(const delassus *w); /* 0: unknown */
/* Mean number of contacts that share a body with a contact, including itself. This is an upper bound of the blocks per row of W;
 * nothing is assembled. */
double delassus_coupling(const delassus *w);
/* Approximate number of multiplications of a product with W. */
double delassus_work(const delassus *w);
/* u = W r; r and u must differ. Systems use H^T, M^-1 and H, or the assembled blocks if these exist and are cheaper. */
void          delassus_apply(const delassus *w, const double *r, double *u);
const double *delassus_diagonal(const delassus *w); /* [n_contacts][9] W_aa */
/* All blocks of W, columns ascending, exactly symmetric for systems. Systems assemble them at the first call. Borrowed. */
PetscErrorCode delassus_blocks(delassus *w, const int64_t **start, const int32_t **col, const double **value);
/* Systems only, NULL for stored blocks: M and H as given, and the factor of M. */
const sparse_rows *delassus_mass(const delassus *w);
const sparse_rows *delassus_jacobian(const delassus *w);
const mass_factor *delassus_factor(const delassus *w);
/* Systems only: y = M^-1 x, [n_dof]; y may be x. By the KSP of delassus_set_solvers, if there is one. */
PetscErrorCode delassus_solve(const delassus *w, const double *x, double *y);
/* Linear solvers, borrowed: of M in delassus_solve, and of the matrices of Newton's method on contacts. NULL: the factors alone. Products
 * with W always use the factor of M. */
void           delassus_set_solvers(delassus *w, linear_solver *motion, linear_solver *contact);
linear_solver *delassus_contact_solver(const delassus *w);

/* Systems only: incidence of contacts and components of M, borrowed. */
typedef struct {
  const delassus    *w;
  int64_t            n_dof;
  const mass_factor *factor;
  sparse_rows        Hp, HpT;                    /* H with its columns in places of the factor, and its transpose */
  const int64_t     *touch_start, *member_start; /* [n+1], [n_components+1] */
  const int32_t     *touch, *member;             /* components each contact touches, ascending; contacts on each component, ascending */
} delassus_incidence;
delassus_incidence delassus_incidence_of(const delassus *w);
/* y [n_c][3] = M_c^-1 H_a^T in places of component c; values at places without contacts are undefined. May be called on any
 * thread. */
void delassus_response_of(const delassus *w, int64_t c, int64_t a, double *y);
/* First entry of row i of H at or after a place. */
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
/* Attach one object derived from W; W owns it from now on, and delassus_destroy calls `destroy`. delassus_attached returns NULL
 * if there is none. Used to cache contact groups. */
void  delassus_attach(delassus *w, void *object, void (*destroy)(void *object));
void *delassus_attached(const delassus *w);
#endif
