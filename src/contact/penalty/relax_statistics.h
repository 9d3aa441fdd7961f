/* How relaxations on triangle meshes go: how many places each visits, and in which order [DingSchroeder2020, sec. 4]. */
#ifndef SS_CONTACT_PENALTY_RELAX_STATISTICS_H
#define SS_CONTACT_PENALTY_RELAX_STATISTICS_H
#include "contact/penalty/mesh_relaxation.h"

/* The places of a chain (mesh_relax_place), four bits each, the first highest: 0x122 is 1-2-2. Chains of more than sixteen places keep
 * the last sixteen. */
typedef uint64_t relax_chain;
relax_chain      relax_chain_of(const mesh_relaxation *r);
/* "1-2-2"; text [2 * 16]. */
void relax_chain_text(relax_chain chain, char *text);

enum { RELAX_STATISTICS_CHAINS = 24 };
typedef struct {
  int64_t n;              /* relaxations */
  int64_t n_at_start;     /* that ended in the place they began in */
  int64_t n_capped;       /* that gave up, see RELAX_MESH_MAX_MOVES */
  int64_t longest;        /* places in the longest chain */
  int64_t n_other;        /* of kinds for which the list below had no room */
  int     n_chains;
  struct {
    relax_chain chain;
    int64_t     n;
  } kind[RELAX_STATISTICS_CHAINS]; /* in the order they were first met */
} relax_statistics;

void relax_statistics_add(relax_statistics *s, relax_chain chain, int n_places, bool is_capped);
void relax_statistics_merge(relax_statistics *s, const relax_statistics *more);
#endif
