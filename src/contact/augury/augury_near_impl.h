/* Parts of augury_near.h: elements that take part (augury_near.c), the continuum's nodes about them (augury_near_continuum.c), and
 * what nodes are judged by (augury_near_nodes.c). */
#ifndef SS_CONTACT_AUGURY_AUGURY_NEAR_IMPL_H
#define SS_CONTACT_AUGURY_AUGURY_NEAR_IMPL_H
#include "contact/augury/augury_near.h"
#include "contact/augury/node_set.h"
#include "geometry/primitive/box_tree.h"
#include "core/math3.h"

#define REACH 3.0  /* cells along each axis within which two points share a node */
#define FACING 0.2 /* least cosine between a side's normal and the way to what it faces */
/* The same for an open surface and itself: what is bent by less than 60 degrees over the grid's reach does not face itself. */
#define FACING_OPEN 0.5
#define MARGIN 1e-9 /* of bounds, for rounding */

/* Of an element as it is: half of all that is asked of pairs. */
typedef struct {
  double center[3], normal[3], size; /* size: |normal|, twice the area */
  double radius;                     /* of all corners about the centre [m] */
  double v[3], spread;               /* mean velocity of the corners, and how far any is from it [m/s] */
  bool   is_open;
} element_side;

struct augury_near {
  augury_boundary b;
  const int32_t  *body;
  double          dx;
  box_tree        tree;
  double         *box[6]; /* [n_elements] */
  element_side   *side;   /* [n_elements], after augury_near_find */
  bool           *is_met; /* [n_elements] */
  int32_t        *witness; /* [n_elements] what each met last, -1: nothing; looked at before all others, which changes no bit */
  int32_t        *closest; /* [n_nodes] the same of what each node is held back from */
  bool           *is_near; /* [n_nodes] of elements that are met */
  augury_choice   choice;
  double          distance, time; /* of AUGURY_MEETING */
  double          needless;       /* of boxes, to find what that meets [m] */
  const bool     *is_open; /* NULL: none */
  int64_t         n_bodies;
  const bool     *meets;   /* [n_bodies][n_bodies]; NULL: all */
  augury_continuum continuum; /* n = 0: none */
  bool           *is_wanted; /* [n_nodes] of active elements */
  node_set        nodes;   /* of the continuum, about the boundary */
  int32_t        *which;   /* [nodes.n] in the continuum */
  uint64_t       *keys;
  int64_t         which_capacity, keys_capacity;
};

/* A walk over the continuum's nodes in a box. */
typedef struct {
  const augury_near *a;
  int64_t            low[3], high[3], block[3], at;
  uint64_t           left; /* of the block under way */
} node_walk;
/* The continuum's nodes within the box of all elements, for walks. */
PetscErrorCode augury_near_gather(augury_near *a);
void           node_walk_begin(node_walk *w, const augury_near *a, const double min[3], const double max[3]);
/* The next one's index in the continuum, or -1. */
int64_t node_walk_next(node_walk *w);

static inline bool is_open(const augury_near *a, const int32_t *node)
{
  return a->is_open && (a->is_open[node[0]] || a->is_open[node[1]] || a->is_open[node[2]]);
}

static inline void side_of(const double *x, const int32_t *node, double center[3], double normal[3])
{
  double p[3], q[3];
  for (int k = 0; k < 3; ++k)
    center[k] = (x[3 * (int64_t)node[0] + k] + x[3 * (int64_t)node[1] + k] + x[3 * (int64_t)node[2] + k]) / 3.0;
  v3_sub(p, x + 3 * (int64_t)node[1], x + 3 * (int64_t)node[0]);
  v3_sub(q, x + 3 * (int64_t)node[2], x + 3 * (int64_t)node[0]);
  v3_cross(normal, p, q);
}

/* Is d in front of a side with this normal, or behind it, which counts for open ones alone? */
static inline bool is_facing(bool is_open, double least, const double normal[3], const double d[3])
{
  const double along = v3_dot(normal, d);
  return (is_open ? fabs(along) : along) > least * v3_norm(d) * v3_norm(normal);
}
static inline double least_of(bool is_open) { return is_open ? FACING_OPEN : FACING; }

static inline bool overlap(const augury_near *a, int64_t e, const double min[3], const double max[3])
{
  for (int k = 0; k < 3; ++k)
    if (a->box[k][e] > max[k] || a->box[3 + k][e] < min[k]) return false;
  return true;
}

static inline bool meet(const augury_near *a, int32_t p, int32_t q) { return !a->meets || a->meets[a->n_bodies * p + q]; }

/* Over all elements with something within the distance [m] of a place. Their boxes being wider than they are, what is asked of
 * these may have its least above its most. */
static inline void walk_within(const augury_near *a, const double *x, double distance, box_walk *w)
{
  const double half = distance * (1.0 + MARGIN) - 0.5 * REACH * a->dx;
  double       min[3], max[3];
  for (int k = 0; k < 3; ++k) {
    const double slack = MARGIN * (a->dx + fabs(x[k]));
    min[k] = x[k] - half - slack, max[k] = x[k] + half + slack;
  }
  box_walk_begin(w, &a->tree, min, max);
}
#endif
