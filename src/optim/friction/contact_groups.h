/* The Delassus matrix W as a sum over groups of contacts on the same body: W = sum_g P_g^T W_g P_g, where P_g selects the contacts of
 * group g. A sweep over contacts stores one state vector per group. A change of one impulse updates only the states of the groups of that
 * contact. Contacts without a common group are independent and can be updated in parallel. Used by splitting.c.
 *
 * Three representations of a group of m contacts:
 *   columns     state = W_g r_g, 3m numbers; a change of r_a adds three columns of W_g
 *   unknowns    state = v, the velocities of those unknowns of the body that contacts act on; u = H v; a change of r_a adds three columns
 *               of M^-1 H_a^T. For bodies with many contacts and few unknowns
 *   sparse      state = W r of all contacts; a change of r_a adds a column of 3x3 blocks. For stored W without groups
 * If M and H are given, a group is a set of components of M with the same contacts. If blocks of W are stored, it is a set of contacts
 * that are all coupled with each other (a clique of the graph of W). */
#ifndef SS_OPTIM_FRICTION_CONTACT_GROUPS_H
#define SS_OPTIM_FRICTION_CONTACT_GROUPS_H
#include "optim/friction/delassus.h"

/* One contact a in one group. */
typedef struct {
  int64_t state;      /* index of the group's state in the vector of all states, a multiple of 4 */
  int64_t column;     /* index in contact_groups.value of three columns of `length` numbers */
  int64_t jacobian;   /* index in h_index and h_value of the first entry of H_a */
  int32_t length;     /* length of a column, a multiple of 4; 0: sparse, n_jacobian blocks: rows in h_index, values [][12] in `value` */
  int32_t position;   /* index of u_a in the group's state; unused for unknowns */
  int32_t n_jacobian; /* number of entries of H_a, or of blocks; 0: columns */
  int32_t group;      /* number of the group */
} group_side;

typedef struct contact_groups {
  int64_t     n, n_groups;                  /* contacts, groups */
  int64_t    *side_start;                   /* [n+1] range of each contact in `side` */
  group_side *side;                         /* ascending by group */
  double     *value;                        /* [n_value] columns */
  double     *h_value;                      /* [n_jacobian][3] H by columns: contribution of one unknown to u_a */
  int32_t    *h_index;                      /* [n_jacobian] index of the unknown in the group's state */
  int64_t     n_state, n_value, n_jacobian; /* lengths of the vector of all states, value, h_index */
} contact_groups;

/* Create the groups of w. Assembles the blocks of W if they are needed. Fails only if memory allocation fails. */
PetscErrorCode contact_groups_create(delassus *w, contact_groups *out);
void           contact_groups_destroy(contact_groups *g);
/* Borrow the groups of w, which are created by the first call and owned by w. */
PetscErrorCode contact_groups_of(delassus *w, const contact_groups **out);

/* Add the contribution of one group to the relative velocity u of the contact. state: vector of all states. */
static inline void group_side_gather(const contact_groups *restrict g, const group_side *s, const double *restrict state, double u[3])
{
  const double *const x = state + s->state;
  if (s->n_jacobian == 0 || s->length == 0) {
    const double *const at = x + s->position;
    u[0] += at[0], u[1] += at[1], u[2] += at[2];
    return;
  }
  const double *const restrict h      = g->h_value + 3 * s->jacobian;
  const int32_t *const restrict index = g->h_index + s->jacobian;
  for (int32_t k = 0; k < s->n_jacobian; ++k) {
    const double v = x[index[k]];
    u[0] += h[3 * k] * v, u[1] += h[3 * k + 1] * v, u[2] += h[3 * k + 2] * v;
  }
}

/* Update the state of a group after a change d [3] of the impulse r_a. state: vector of all states. */
static inline void group_side_add_impulse(const contact_groups *restrict g, const group_side *s, double *restrict state, const double d[3])
{
  double *const restrict x       = state + s->state;
  const double *const restrict w = g->value + s->column;
  const double d0 = d[0], d1 = d[1], d2 = d[2];
  if (s->length > 0) {
    const int32_t n = s->length;
#pragma omp simd
    for (int32_t i = 0; i < n; ++i) x[i] += w[i] * d0 + w[n + i] * d1 + w[2 * n + i] * d2;
    return;
  }
  const int32_t *const restrict index = g->h_index + s->jacobian;
  for (int32_t k = 0; k < s->n_jacobian; ++k) {
    double *const restrict y       = x + 4 * (int64_t)index[k];
    const double *const restrict b = w + 12 * (int64_t)k;
#pragma omp simd
    for (int i = 0; i < 4; ++i) y[i] += b[i] * d0 + b[4 + i] * d1 + b[8 + i] * d2;
  }
}
#endif
