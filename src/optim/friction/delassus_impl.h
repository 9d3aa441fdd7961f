/* What the files of the Delassus operator share. */
#ifndef SS_OPTIM_FRICTION_DELASSUS_IMPL_H
#define SS_OPTIM_FRICTION_DELASSUS_IMPL_H
#include "optim/friction/delassus.h"

/* What contacts do to a component that a package factors, kept where contacts touch it: its solves are many at once and not
 * repeated. */
typedef struct {
  int64_t  n;     /* touched places, */
  int32_t *place; /* ascending; NULL: a component that is solved as it goes */
  double  *value; /* [members][n][3] of M_c^-1 H_a^T */
} delassus_response;

struct delassus {
  int64_t n, n_dof;
  double *diagonal; /* [n][9] */
  /* blocks; NULL until a system's are assembled */
  int64_t *start; /* [n+1] */
  int32_t *col;
  double  *value; /* [][9] */
  /* systems alone */
  sparse_rows  M, H;
  mass_factor *factor;
  sparse_rows  Hp, HpT;      /* H with its columns in places of the factor, and its transpose */
  int64_t     *touch_start;  /* [n+1] components each contact touches, */
  int32_t     *touch;        /* ascending */
  int64_t     *member_start; /* [n_components+1] contacts on each component, */
  int32_t     *member;       /* ascending */
  double      *work;         /* [n_dof] */
  double       solve_work;   /* multiplications of M^-1 */
  delassus_response *response; /* [n_components], NULL if all are solved as it goes */
  /* both, once asked for */
  struct contact_groups *groups;
};

static inline bool delassus_is_system(const delassus *w) { return w->factor != NULL; }
/* delassus_system.c */
PetscErrorCode delassus_incidence(delassus *w);
PetscErrorCode delassus_responses(delassus *w);
PetscErrorCode delassus_system_diagonal(delassus *w);
PetscErrorCode delassus_system_assemble(delassus *w);
void           delassus_system_apply(const delassus *w, const double *r, double *u);
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
#endif
