/* W as a sum over groups of contacts that act on the same body: W = sum_g P_g^T W_g P_g. A sweep over contacts updates one state
 * vector per group. A change of one impulse affects only the groups of that contact, in long columns without indices. Contacts
 * without a common group are independent and can be updated in parallel. Used by splitting.c.
 *
 * Three representations of a group of m contacts:
 *   columns     state = W_g r_g, 3m numbers; a change of r_a adds three columns of W_g
 *   unknowns    state = v, the t unknowns of the body with contacts; u = H v; a change of r_a adds three columns of M^-1 H_a^T.
 *               For bodies with many contacts and few unknowns
 *   sparse      state = W r of all contacts; columns of blocks. For stored W whose contacts form no groups
 * For systems a group consists of components of M with the same contacts; for stored blocks it is a clique of a cover of the graph
 * of W. */
#ifndef SS_OPTIM_FRICTION_CONTACT_GROUPS_H
#define SS_OPTIM_FRICTION_CONTACT_GROUPS_H
#include "optim/friction/delassus.h"

/* One contact in one group. */
typedef struct {
  int64_t state;      /* first number of the group's state, a multiple of 4 */
  int64_t column;     /* first of three columns in `value`, each of `length` numbers */
  int64_t jacobian;   /* first entry of H_a in `h_value` / 3 and `h_index` */
  int32_t length;     /* of a column, a multiple of 4; 0: sparse, n_jacobian blocks in `h_index`, their values [][12] in `value` */
  int32_t position;   /* of u_a in the state; unused for unknowns */
  int32_t n_jacobian; /* 0: columns */
  int32_t group;
} group_side;

typedef struct contact_groups {
  int64_t     n, n_groups;
  int64_t    *side_start; /* [n+1] */
  group_side *side;
  double     *value;   /* columns */
  double     *h_value; /* [][3] H by columns: what one unknown adds to u_a */
  int32_t    *h_index; /* which unknown, counted within the state */
  int64_t     n_state, n_value, n_jacobian;
} contact_groups;

/* Create the groups of w; assembles the blocks of W if they are needed. Fails only if memory allocation fails. */
PetscErrorCode contact_groups_create(delassus *w, contact_groups *out);
void           contact_groups_destroy(contact_groups *g);
/* The groups of w, created at the first call and owned by w. */
PetscErrorCode contact_groups_of(delassus *w, const contact_groups **out);

/* Add the contribution of one group to the velocity u of the contact. */
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

/* Update the state of a group after a change d of r_a. */
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
