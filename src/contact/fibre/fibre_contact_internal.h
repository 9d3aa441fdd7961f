/* Private to fibre_contact*.c. */
#ifndef SS_CONTACT_FIBRE_FIBRE_CONTACT_INTERNAL_H
#define SS_CONTACT_FIBRE_FIBRE_CONTACT_INTERNAL_H
#include "geometry/collision/broad_phase.h"
#include "contact/fibre/fibre_contact.h"
#include "geometry/primitive/segment_pair.h"
#include <math.h>

struct fibre_contact {
  int64_t      n_nodes, n_segments;
  int32_t     *segment, *strand, *body;
  int32_t     *previous, *next; /* [n_segments] along the strand, -1: none */
  double      *radius, thickest;
  broad_phase *broad;
  /* Of the last run. */
  const double      *x0, *x1; /* borrowed while it lasts */
  double             margin;
  double            *arc;  /* [n_segments + 1] where each begins, going on over strands */
  double            *turn; /* [n_segments] length of its strand if that is closed, else INFINITY */
  int64_t            pair_capacity, spot_capacity, item_capacity, start_capacity, n_spots;
  uint8_t           *flags; /* [pairs] which spots each has */
  fibre_spot        *spot;
  int64_t           *start; /* of chunks of pairs, or strands: the first of their spots */
  struct fibre_item *item;  /* of thinning */
};

static inline void fibre_corners(const fibre_contact *c, const double *x, int32_t i, double out[6])
{
  for (int e = 0; e < 2; ++e)
    for (int k = 0; k < 3; ++k) out[3 * e + k] = x[3 * (int64_t)c->segment[2 * (int64_t)i + e] + k];
}
static inline double fibre_arc(const fibre_contact *c, int32_t i, double s) { return c->arc[i] + s * (c->arc[i + 1] - c->arc[i]); }
/* Along one strand; INFINITY between two. */
static inline double fibre_arc_between(const fibre_contact *c, int32_t i, double s, int32_t j, double t)
{
  if (c->strand[i] != c->strand[j]) return INFINITY;
  const double d = fabs(fibre_arc(c, i, s) - fibre_arc(c, j, t));
  return fmin(d, c->turn[i] - d);
}
/* Two spots of one state, or states, by segments and features. */
int fibre_spot_compare(const fibre_spot *a, const fibre_spot *b);

/* fibre_contact_pair.c: which spots the segments i < j have, and those [at most FIBRE_SPOTS]; returns how many. */
enum { FIBRE_SPOTS = 6 };
uint8_t fibre_pair_flags(const fibre_contact *c, int32_t i, int32_t j);
uint8_t fibre_pair_swept(const fibre_contact *c, int32_t i, int32_t j); /* of those on the way alone */
int     fibre_pair_spots(const fibre_contact *c, int32_t i, int32_t j, uint8_t flags, fibre_spot *out);
/* fibre_contact_thin.c: of c->spot [n_spots], ascending by the strand of the first segment, leave one where several are near
 * each other, sorted. */
PetscErrorCode fibre_contact_thin(fibre_contact *c);
/* fibre_contact_match.c: of c->spot leave what is not within a radius of one of `found`, along both strands. */
void fibre_contact_drop_near(fibre_contact *c, int64_t n_found, const fibre_spot *found);
#endif
