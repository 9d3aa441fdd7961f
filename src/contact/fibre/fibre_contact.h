/* Where fibres touch fibres: round ones, that is segments with a radius, in strands. Contacts for the exact law.
 *
 * Two strands touch where their distance has a local minimum along both that is below the sum of their radii plus a margin. A
 * minimum at a shared end of two segments is one of the strand's vertices and found once. Where strands lie along each other,
 * minima say little, for they wander; so a vertex is a contact, too, where its distance to the other strand is less than
 * FIBRE_FLAT radii above the nearest on the segments at it, and a minimum between vertices is none where that is so towards
 * either side. Two strands with m and n vertices side by side thus touch at about m + n points, crossed ones at one. Contacts
 * nearer to each other than half the sum of radii along both strands are one, the nearest.
 *
 * Points of a strand that are less than pi radii of arc apart do not touch: the inside of a bend.
 *
 * If positions at the end of the step are known, what comes together on straight ways until then is found as well
 * (geometry/collision/ccd.h: nothing is missed), unless it touches already; its place and normal are those of the moment, its gap is along
 * that normal. Held there, the two cannot pass.
 *
 * What is found, and its order, depends neither on the number of threads nor on what was asked before. Source: none but
 * [BertailsEtAl2011] for capsules and their half-open ranges. */
#ifndef SS_CONTACT_FIBRE_FIBRE_CONTACT_H
#define SS_CONTACT_FIBRE_FIBRE_CONTACT_H
#include "geometry/collision/broad_phase.h"
#include "core/error.h"
#include <math.h>

#define FIBRE_FLAT 0.05

/* Everything that may touch. All borrowed while the finder is created, and copied. The segments of one strand are in a row, each
 * beginning where the last ended; a strand may end where it began. Two rows have different numbers, or bodies. */
typedef struct {
  int64_t        n_nodes, n_segments; /* at most INT32_MAX, INT32_MAX / 4 */
  const int32_t *segment;             /* [n_segments][2] nodes */
  const int32_t *strand;              /* [n_segments] */
  const double  *radius;              /* [n_segments] > 0 [m] */
  int32_t        n_bodies;
  const int32_t *body;  /* [n_segments] */
  const bool    *meets; /* [n_bodies][n_bodies] symmetric; the diagonal says which meet themselves */
} fibre_set;

/* A feature of a strand is the inside of a segment, its first vertex, or the last vertex of all. Together with `is_swept` two
 * features are unique among the contacts of a state, and persist. */
typedef enum { FIBRE_INSIDE, FIBRE_FIRST, FIBRE_LAST } fibre_feature;
typedef struct {
  int32_t segment[2]; /* a < b */
  uint8_t feature[2]; /* fibre_feature */
  bool    is_swept;   /* not within reach yet, found on the way */
  double  at[2];      /* along the segments, in [0, 1); 1 is for FIBRE_LAST alone */
  double  axis[2][3]; /* the points on the axes [m] */
  double  normal[3];  /* unit, from b to a */
  double  gap;        /* normal . (axis a - axis b) - radii [m] */
} fibre_spot;

typedef struct fibre_contact fibre_contact;
/* Fields are read by fibre_object.c, fibre_points.c and fibre_scene.c. */
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
/* Fails with PETSC_ERR_ARG_OUTOFRANGE on nodes, bodies or radii that cannot be. */
PetscErrorCode fibre_contact_create(const fibre_set *set, fibre_contact **out);
void           fibre_contact_destroy(fibre_contact **c);
/* Contacts at x0, and on the way to x1 (NULL: none), [n_nodes][3] each; within `margin` >= 0 of touching [m]. Ascending by
 * segments, then features. *out is owned by c, until the next run. *bad: the first node that is not finite, and then nothing has
 * happened; or -1. */
PetscErrorCode fibre_contact_run(fibre_contact *c, const double *x0, const double *x1, double margin, int64_t *n,
                                 const fibre_spot **out, int64_t *bad);
/* Once more with other x1, for what comes together on the way: pairs of which a segment `moves` [n_segments], being led elsewhere
 * than in the run before. Without what is within a radius, along both strands, of one of `found` [n_found], as run gives them. */
PetscErrorCode fibre_contact_run_again(fibre_contact *c, const double *x0, const double *x1, double margin, const bool *moves,
                                       int64_t n_found, const fibre_spot *found, int64_t *n, const fibre_spot **out, int64_t *bad);
/* Axes that have come through each other look as if they touched from the other side. Turn those spots [n] whose normal points
 * against that of the nearest of `last` [n_last] on the same or neighbouring segments, within half the radii of crossing. Both
 * as run gives them. */
void fibre_contact_keep_sides(const fibre_contact *c, int64_t n_last, const fibre_spot *last, int64_t n, fibre_spot *spot);
/* For each spot the one of `last` that it was, or -1: the same features, else the nearest within a segment's length on the same
 * or neighbouring segments of both strands. None is given twice. For warm starts. Both as run gives them. */
PetscErrorCode fibre_contact_match(const fibre_contact *c, int64_t n_last, const fibre_spot *last, int64_t n,
                                   const fibre_spot *spot, int64_t *from);
/* Two spots of one state, or states, by segments and features. */
int fibre_spot_compare(const fibre_spot *a, const fibre_spot *b);
#endif
