/* The Delassus operator W = H M^-1 H^T of n contacts [1/kg], given by stored 3x3 blocks or by a "system" of M and H. It is never stored as
 * a dense matrix. Contact vectors are [n][3], normal first; blocks are row-major [9]. An operator contains work vectors, so only one
 * thread at a time may call its functions. They use all threads, with the same bits on any number. Used by all solvers of this folder. */
#ifndef SS_OPTIM_FRICTION_DELASSUS_H
#define SS_OPTIM_FRICTION_DELASSUS_H
#include "optim/friction/mass_factor.h"
#include "core/sparse_rows.h"
#include "optim/linear/linear_solver.h"

typedef struct delassus delassus;

/* Create an operator from compressed rows of blocks, not necessarily symmetric. Columns of a row may have any order; each occurs once.
 *   start [n_contacts+1], col [start[n_contacts]], value [start[n_contacts]][9]; copied
 *   n_dof  number of unknowns of the underlying system, 0: unknown
 * PETSC_ERR_USER_INPUT with row and column if an index is out of range or repeated, a value is not finite, or a diagonal block is missing. */
PetscErrorCode delassus_create_blocks(int64_t n_contacts, const int64_t *start, const int32_t *col, const double *value, int64_t n_dof,
                                      delassus **out);
/* Create an operator from the system of one time step, M v + f = H^T r, u = H v + w, with velocities v, impulses r and relative
 * velocities u. M [n_dof x n_dof] symmetric positive definite with both triangles, H [3 n_contacts x n_dof]; both are copied. M is
 * factored (mass_factor.h). Errors as mass_factor_create. */
PetscErrorCode delassus_create_system(const sparse_rows *M, const sparse_rows *H, delassus **out);
void           delassus_destroy(delassus **w);
int64_t        delassus_n_contacts(const delassus *w);
int64_t        delassus_n_dof(const delassus *w); /* number of unknowns; 0: unknown */
/* Mean number of contacts that share a body with a contact, including itself. This is an upper bound of the mean number of blocks per
 * row of W. No block is assembled. */
double delassus_coupling(const delassus *w);
/* Approximate number of multiplications of a product with W. */
double delassus_work(const delassus *w);
/* u = W r, both [n][3] and not the same array. A system multiplies by H^T, M^-1 and H, or by assembled blocks if these cost less. */
void          delassus_apply(const delassus *w, const double *r, double *u);
const double *delassus_diagonal(const delassus *w); /* [n_contacts][9] W_aa */
/* Borrow all blocks of W in compressed rows, columns ascending. A system assembles them in the first call; they are exactly symmetric. */
PetscErrorCode delassus_blocks(delassus *w, const int64_t **start, const int32_t **col, const double **value);
/* Borrow M, H and the factor of M of a system. NULL for stored blocks. */
const sparse_rows *delassus_mass(const delassus *w);
const sparse_rows *delassus_jacobian(const delassus *w);
const mass_factor *delassus_factor(const delassus *w);
/* For systems only: y = M^-1 x, [n_dof]; y may be x. Uses the KSP of delassus_set_solvers, if it is set. */
PetscErrorCode delassus_solve(const delassus *w, const double *x, double *y);
/* For systems only: the rigid body of each unknown, body [n_dof] (borrowed, ascending), for body_sweeps.h. NULL: none are known. */
void           delassus_set_bodies(delassus *w, const int32_t *body);
const int32_t *delassus_bodies(const delassus *w);
/* Set two linear solvers (borrowed): `motion` for M in delassus_solve, `contact` for the matrices of Newton's method on contacts. NULL: use
 * the factor directly. Products with W always use the factor of M. */
void           delassus_set_solvers(delassus *w, linear_solver *motion, linear_solver *contact);
linear_solver *delassus_contact_solver(const delassus *w);

/* For systems only: incidence of contacts and connected components of M. All arrays are borrowed. A place is a position in the ordering of
 * the factor (mass_factor.h). */
typedef struct {
  const delassus    *w;
  int64_t            n_dof;
  const mass_factor *factor;
  sparse_rows        Hp, HpT;                    /* H with its columns ordered by places, and its transpose */
  const int64_t     *touch_start, *member_start; /* [n+1], [n_components+1] ranges in touch and member */
  const int32_t     *touch, *member;             /* components on which each contact acts; contacts of each component; both ascending */
} delassus_incidence;
delassus_incidence delassus_incidence_of(const delassus *w);
/* y [n_c][3] = M_c^-1 H_a^T for contact a and component c of n_c places. Values at places without contacts are undefined. May be called
 * on any thread. */
void delassus_response_of(const delassus *w, int64_t c, int64_t a, double *y);
/* Index of the first entry of row i of h whose column is at least `place`. */
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
/* Attach one object that was derived from W. W then owns it; delassus_destroy calls `destroy`. delassus_attached returns the object, NULL
 * if there is none. Used to cache contact groups. */
void  delassus_attach(delassus *w, void *object, void (*destroy)(void *object));
void *delassus_attached(const delassus *w);
#endif
