/* Contacts between fibres with round cross sections, for rigid contact. A fibre (strand) is a chain of segments with a radius.
 *
 * Two strands have a contact at each local minimum of their distance that is below the sum of their radii plus a margin. A minimum
 * at a vertex shared by two segments counts once. The minima of nearly parallel strands are ill-conditioned. Therefore a vertex is a
 * contact, too, if its distance to the other strand is within FIBRE_FLAT radii of the smallest distance on its segments. A minimum
 * between two such vertices is then omitted. Two parallel strands with m and n vertices thus have about m + n contacts, crossing
 * strands have one. Contacts closer than half the sum of radii along both strands are merged; the nearest one remains.
 *
 * Points of a strand that are less than pi radii of arc apart do not touch: they are the inside of a bend.
 *
 * If positions at the end of the step are given, pairs that collide on straight trajectories are found as well (none is missed, see
 * geometry/collision/ccd.h), unless they touch already. Place and normal of such a swept contact are those of the moment of
 * collision; its gap is measured along that normal. Contacts at these places prevent the fibres from passing each other.
 *
 * The result and its order do not depend on the number of threads or on earlier calls. Source: none, except [BertailsEtAl2011] for
 * capsules and their half-open ranges. Caller: fibre_scene.h. */
#ifndef SS_CONTACT_FIBRE_FIBRE_CONTACT_H
#define SS_CONTACT_FIBRE_FIBRE_CONTACT_H
#include "geometry/collision/broad_phase.h"
#include "core/error.h"
#include <math.h>

#define FIBRE_FLAT 0.05

/* All segments that may touch. Borrowed during creation and copied. The segments of one strand are consecutive, each beginning
 * where the previous one ends; a strand may be closed. Two strands have different numbers or bodies. */
typedef struct {
  int64_t        n_nodes, n_segments; /* at most INT32_MAX, INT32_MAX / 4 */
  const int32_t *segment;             /* [n_segments][2] nodes */
  const int32_t *strand;              /* [n_segments] */
  const double  *radius;              /* [n_segments] > 0 [m] */
  int32_t        n_bodies;
  const int32_t *body;  /* [n_segments] */
  const bool    *meets; /* [n_bodies][n_bodies] symmetric; the diagonal enables self-contact */
} fibre_set;

/* A feature of a strand is the inside of a segment, its first vertex, or the last vertex of all. Together with `is_swept` two
 * features are unique among the contacts of a state, and persist. */
typedef enum { FIBRE_INSIDE, FIBRE_FIRST, FIBRE_LAST } fibre_feature;
typedef struct {
  int32_t segment[2]; /* a < b */
  uint8_t feature[2]; /* fibre_feature */
  bool    is_swept;   /* not within reach yet; collides during the step */
  double  at[2];      /* along the segments, in [0, 1); 1 for FIBRE_LAST only */
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
  const double      *x0, *x1; /* borrowed during the call */
  double             margin;
  double            *arc;  /* [n_segments + 1] arc length at the start of each segment, continued over strands */
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
/* Contacts at x0, and swept contacts from x0 to x1 (NULL: none), [n_nodes][3] each, within `margin` >= 0 of touching [m]. Ascending
 * by segments, then features. c owns *out until the next call. *bad: the first node that is not finite, in which case nothing is
 * computed; or -1. */
PetscErrorCode fibre_contact_run(fibre_contact *c, const double *x0, const double *x1, double margin, int64_t *n, const fibre_spot **out,
                                 int64_t *bad);
/* Repeat the search for swept contacts with other x1, for pairs with a segment in `moves` [n_segments], whose predicted motion
 * has changed. Contacts within a radius, along both strands, of one of `found` [n_found] are omitted. `found` has the order of
 * fibre_contact_run. */
PetscErrorCode fibre_contact_run_again(fibre_contact *c, const double *x0, const double *x1, double margin, const bool *moves,
                                       int64_t n_found, const fibre_spot *found, int64_t *n, const fibre_spot **out, int64_t *bad);
/* Correct the side of fibres that have passed through each other: reverse those spots [n] whose normal opposes that of the
 * nearest of `last` [n_last] on the same or neighbouring segments, if the axes are within half the radii of crossing. Both have
 * the order of fibre_contact_run. */
void fibre_contact_keep_sides(const fibre_contact *c, int64_t n_last, const fibre_spot *last, int64_t n, fibre_spot *spot);
/* Match contacts with the last step, for warm starts. For each spot: the index in `last` with the same features, otherwise the
 * nearest within a segment's length on the same or neighbouring segments of both strands, or -1. No index occurs twice. Both
 * have the order of fibre_contact_run. */
PetscErrorCode fibre_contact_match(const fibre_contact *c, int64_t n_last, const fibre_spot *last, int64_t n, const fibre_spot *spot,
                                   int64_t *from);
/* Two spots of one state, or states, by segments and features. */
int fibre_spot_compare(const fibre_spot *a, const fibre_spot *b);
#endif
