/* Contacts between fibres with round cross sections, for rigid contact. A fibre (strand) is a chain of straight segments with a radius.
 *
 * Two strands have a contact at each local minimum of their distance that is below the sum of their radii plus a margin. A minimum
 * at a vertex shared by two segments gives one contact. The minima of nearly parallel strands are ill-conditioned. Therefore a vertex is
 * also a contact if its distance to the other strand is within FIBRE_FLAT radii of the smallest distance on its segments; a minimum
 * between two such vertices is omitted. Two parallel strands with m and n vertices thus have about m + n contacts, crossing
 * strands have one. Of contacts closer than half the sum of radii along both strands, only the one with the smallest gap remains.
 *
 * Two points of one strand with an arc length of less than pi radii between them have no contact, because they are in the same bend.
 *
 * If positions at the end of the step are given, pairs that collide on straight trajectories have swept contacts (none is missed, see
 * geometry/collision/ccd.h), unless they are in contact already. Position and normal of a swept contact are those at the time of
 * collision; its gap is measured along that normal. These contacts prevent the fibres from passing through each other.
 *
 * The result and its order do not depend on the number of threads or on earlier calls. Segments are capsules with half-open ranges as in
 * [BertailsEtAl2011]; the other rules have no published source. Caller: fibre_scene.h. */
#ifndef SS_CONTACT_FIBRE_FIBRE_CONTACT_H
#define SS_CONTACT_FIBRE_FIBRE_CONTACT_H
#include "geometry/collision/broad_phase.h"
#include "core/pair_classes.h"
#include <math.h>

#define FIBRE_FLAT 0.05

/* All segments with contact. The arrays are copied. The segments of one strand are consecutive, and each begins at the end of the previous
 * one; a strand may be closed. Two strands differ in `strand` or in `body`. */
typedef struct {
  int64_t             n_nodes, n_segments; /* at most INT32_MAX, INT32_MAX / 4 */
  const int32_t      *segment;             /* [n_segments][2] nodes */
  const int32_t      *strand;              /* [n_segments] number of the strand */
  const double       *radius;              /* [n_segments] > 0 [m] */
  int32_t             n_bodies;
  const int32_t      *body;      /* [n_segments] */
  const bool         *can_touch; /* [n_slots] of `pairs`, symmetric; pairs of a body with itself: self-contact */
  const pair_classes *pairs;     /* borrowed; NULL: can_touch is [n_bodies][n_bodies] */
} fibre_set;

/* A feature of a strand is the inside of a segment, the first vertex of a segment, or the last vertex of the strand. The two segments, the
 * two features and `is_swept` identify a contact; a set of contacts contains each combination at most once. */
typedef enum { FIBRE_INSIDE, FIBRE_FIRST, FIBRE_LAST } fibre_feature;
typedef struct {
  int32_t segment[2]; /* a < b */
  uint8_t feature[2]; /* fibre_feature */
  bool    is_swept;   /* true: beyond the margin at the start of the step, collides during the step */
  double  at[2];      /* position along each segment, in [0, 1); 1 for FIBRE_LAST only */
  double  axis[2][3]; /* closest points of the two axes [m] */
  double  normal[3];  /* unit, from b to a */
  double  gap;        /* normal . (axis a - axis b) - radii [m] */
} fibre_spot;

typedef struct fibre_contact fibre_contact;
/* The fields are visible because fibre_object.c, fibre_points.c and fibre_scene.c read them. */
struct fibre_contact {
  int64_t      n_nodes, n_segments;
  int32_t     *segment, *strand, *body;
  int32_t     *previous, *next;  /* [n_segments] neighbours along the strand, -1: none */
  double      *radius, thickest; /* thickest: largest radius */
  broad_phase *broad;
  /* Data of the last run. */
  const double      *x0, *x1; /* borrowed during the call */
  double             margin;
  double            *arc;  /* [n_segments + 1] arc length at the start of each segment, continued over strands */
  double            *turn; /* [n_segments] length of its strand if that is closed, else INFINITY */
  int64_t            pair_capacity, spot_capacity, item_capacity, start_capacity, n_spots;
  uint8_t           *flags; /* [pairs] bits of the contacts that each pair has */
  fibre_spot        *spot;
  int64_t           *start; /* first spot of each chunk of pairs, or of each strand */
  struct fibre_item *item;  /* work space for the removal of contacts close to others */
};

static inline void fibre_corners(const fibre_contact *c, const double *x, int32_t i, double out[6])
{
  for (int e = 0; e < 2; ++e)
    for (int k = 0; k < 3; ++k) out[3 * e + k] = x[3 * (int64_t)c->segment[2 * (int64_t)i + e] + k];
}
static inline double fibre_arc(const fibre_contact *c, int32_t i, double s) { return c->arc[i] + s * (c->arc[i + 1] - c->arc[i]); }
/* Arc length between two points of one strand [m]; INFINITY if they are on different strands. */
static inline double fibre_arc_between(const fibre_contact *c, int32_t i, double s, int32_t j, double t)
{
  if (c->strand[i] != c->strand[j]) return INFINITY;
  const double d = fabs(fibre_arc(c, i, s) - fibre_arc(c, j, t));
  return fmin(d, c->turn[i] - d);
}
/* Errors: out of memory; PETSC_ERR_ARG_OUTOFRANGE if a node or body does not exist, or a radius is not positive. */
PetscErrorCode fibre_contact_create(const fibre_set *set, fibre_contact **out);
void           fibre_contact_destroy(fibre_contact **c);
/* Contacts with a gap of at most `margin` >= 0 [m] at x0, and swept contacts from x0 to x1 (NULL: none), [n_nodes][3] each: *out [*n],
 * sorted by segments, then features; owned by c until the next call. *bad: first node with a position that is not finite, in which case
 * *n = 0; else -1. */
PetscErrorCode fibre_contact_run(fibre_contact *c, const double *x0, const double *x1, double margin, int64_t *n, const fibre_spot **out,
                                 int64_t *bad);
/* Repeat the search for swept contacts with another x1, for pairs with a segment whose predicted motion has changed: moves [n_segments].
 * A contact within one radius, along both strands, of a contact in `found` [n_found] is omitted. `found` has the order of
 * fibre_contact_run. */
PetscErrorCode fibre_contact_run_again(fibre_contact *c, const double *x0, const double *x1, double margin, const bool *moves,
                                       int64_t n_found, const fibre_spot *found, int64_t *n, const fibre_spot **out, int64_t *bad);
/* Correct the normals of fibres whose axes have passed through each other. A contact spot[i], i < n, is reversed if its normal is opposite
 * to that of the nearest contact of the last step, last [n_last], on the same or neighbouring segments, and the distance of the axes is
 * less than half the sum of radii. Both lists have the order of fibre_contact_run. */
void fibre_contact_keep_sides(const fibre_contact *c, int64_t n_last, const fibre_spot *last, int64_t n, fibre_spot *spot);
/* Match contacts with those of the last step, for warm starts. from [n]: for each spot, the index in `last` with the same features;
 * otherwise that of the nearest within the length of a segment on the same or neighbouring segments of both strands; -1: none. No index
 * occurs twice. Both lists have the order of fibre_contact_run. */
PetscErrorCode fibre_contact_match(const fibre_contact *c, int64_t n_last, const fibre_spot *last, int64_t n, const fibre_spot *spot,
                                   int64_t *from);
/* Compare two spots by segments, then features: < 0, 0 or > 0. */
int fibre_spot_compare(const fibre_spot *a, const fibre_spot *b);
#endif
