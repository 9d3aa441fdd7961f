/* Active elements for augury contact, see augury_near.h: a box tree over boundary elements and the nodes of the continuum. */
#include "contact/augury/augury_near.h"
#include "contact/augury/node_set.h"
#include "geometry/primitive/box_tree.h"
#include "geometry/primitive/triangle_nearest.h"
#include "core/math3.h"
#include "core/memory.h"

/* ---- data and shared helpers ---- */

/* Sections: active elements; nodes of the continuum near them; sides and directions at nodes. */

#define REACH 3.0  /* distance in cells along each axis below which two points can share a grid node */
#define FACING 0.2 /* smallest cosine between the normal of a side and the direction to an element that it faces */
/* FACING for self-contact of an open surface: parts bent by less than 60 degrees within reach do not face each other. */
#define FACING_OPEN 0.5
#define MARGIN 1e-9 /* relative margin of bounds for round-off */

/* Geometry of an element in its current shape. */
typedef struct {
  double center[3], normal[3], size; /* size: |normal|, twice the area */
  double radius;                     /* largest distance of a corner from the centre [m] */
  double v[3], spread;               /* mean velocity of the corners, and largest deviation of a corner from it [m/s] */
  bool   is_open;
} element_side;

struct augury_near {
  augury_boundary     b;
  const int32_t      *body;
  double              dx;
  box_tree            tree;
  double             *box[6];       /* [n_elements] */
  element_side       *side;         /* [n_elements], after augury_near_find */
  bool               *is_met;       /* [n_elements] */
  int32_t            *last_partner; /* [n_elements] partner found last, -1: none; tested first, which does not change the result */
  int32_t            *closest;      /* [n_nodes] closest element of the last augury_near_towards, tested first */
  bool               *is_near;      /* [n_nodes] nodes of elements with is_met */
  augury_choice       choice;
  double              distance, time; /* of AUGURY_COLLIDING */
  double              box_excess;     /* part of the extension of element boxes that no partner can reach [m] */
  const bool         *is_open;        /* NULL: none */
  int64_t             n_bodies;
  const pair_classes *pairs;
  const bool         *can_touch; /* [n_slots]; NULL: all */
  augury_continuum    continuum; /* n = 0: none */
  bool               *is_wanted; /* [n_nodes] nodes of active elements */
  node_set            nodes;     /* nodes of the continuum near the boundary */
  int32_t            *which;     /* [nodes.n] index of each of these nodes in the continuum */
  uint64_t           *keys;
  int64_t             which_capacity, keys_capacity;
};

/* Iterator over the nodes of the continuum in a box. */
typedef struct {
  const augury_near *a;
  int64_t            low[3], high[3], block[3], at;
  uint64_t           left; /* remaining nodes of the current block, as bits */
} node_walk;

static inline bool is_open(const augury_near *a, const int32_t *node)
{
  return a->is_open && (a->is_open[node[0]] || a->is_open[node[1]] || a->is_open[node[2]]);
}

static inline void side_of(const double *x, const int32_t *node, double center[3], double normal[3])
{
  double p[3], q[3];
  for (int k = 0; k < 3; ++k) center[k] = (x[3 * (int64_t)node[0] + k] + x[3 * (int64_t)node[1] + k] + x[3 * (int64_t)node[2] + k]) / 3.0;
  v3_sub(p, x + 3 * (int64_t)node[1], x + 3 * (int64_t)node[0]);
  v3_sub(q, x + 3 * (int64_t)node[2], x + 3 * (int64_t)node[0]);
  v3_cross(normal, p, q);
}

/* Whether direction d is in front of a side with this normal; for an open surface also whether it is behind it. */
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

static inline bool bodies_interact(const augury_near *a, int32_t p, int32_t q)
{
  return !a->can_touch || a->can_touch[pair_slot(a->pairs, a->n_bodies, p, q)];
}

/* Begin an iteration over all elements with a point within the distance [m] of x. Element boxes are larger by `needless` than required;
 * the query box is reduced by this length and may be inverted. */
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

/* ---- grid nodes of the continuum ---- */

#define MOST_CELLS 1048576.0

/* Convert a box [m] to a box of node indices. */
static void nodes_of(const augury_near *a, const double min[3], const double max[3], int64_t low[3], int64_t high[3])
{
  for (int k = 0; k < 3; ++k) {
    low[k]  = (int64_t)ceil(fmax(-MOST_CELLS, fmin(MOST_CELLS, min[k] / a->dx)));
    high[k] = (int64_t)floor(fmax(-MOST_CELLS, fmin(MOST_CELLS, max[k] / a->dx)));
  }
}

static bool is_within(const int32_t node[3], const int64_t low[3], const int64_t high[3])
{
  return node[0] >= low[0] && node[0] <= high[0] && node[1] >= low[1] && node[1] <= high[1] && node[2] >= low[2] && node[2] <= high[2];
}

static uint64_t key_of(const node_set *s, const int32_t node[3])
{
  return node_set_key(s, node_set_block_of(node[0]), node_set_block_of(node[1]), node_set_block_of(node[2]));
}

/* Store the nodes of the continuum within the bounding box of all elements in a->nodes. */
static PetscErrorCode augury_near_gather(augury_near *a)
{
  const augury_continuum *c      = &a->continuum;
  double                  min[3] = {INFINITY, INFINITY, INFINITY}, max[3] = {-INFINITY, -INFINITY, -INFINITY};
  int64_t                 low[3], high[3], first[3], last[3], n = 0;
  PetscFunctionBegin;
  a->nodes.n = a->nodes.n_blocks = 0;
  if (c->n == 0 || a->b.n_elements == 0) PetscFunctionReturn(PETSC_SUCCESS);
  for (int64_t e = 0; e < a->b.n_elements; ++e)
    for (int k = 0; k < 3; ++k) min[k] = fmin(min[k], a->box[k][e]), max[k] = fmax(max[k], a->box[3 + k][e]);
  nodes_of(a, min, max, low, high);
  for (int k = 0; k < 3; ++k) first[k] = node_set_block_of(low[k]), last[k] = node_set_block_of(high[k]);
  node_set_reset(&a->nodes, first, last);
  PetscCall(memory_reserve("nodes of a continuum", c->n, sizeof *a->keys, &a->keys_capacity, &a->keys));
  for (int64_t i = 0; i < c->n; ++i)
    if (is_within(c->node[i], low, high)) a->keys[n++] = key_of(&a->nodes, c->node[i]);
  PetscCall(node_set_blocks(&a->nodes, n, a->keys));
  for (int64_t i = 0; i < c->n; ++i)
    if (is_within(c->node[i], low, high))
      a->nodes.mask[node_set_find_block(&a->nodes, key_of(&a->nodes, c->node[i]))] |=
          (uint64_t)1 << node_set_bit(c->node[i][0], c->node[i][1], c->node[i][2]);
  node_set_count(&a->nodes);
  PetscCall(memory_reserve("nodes of a continuum", a->nodes.n, sizeof *a->which, &a->which_capacity, &a->which));
  for (int64_t i = 0; i < c->n; ++i)
    if (is_within(c->node[i], low, high)) a->which[node_set_find(&a->nodes, c->node[i])] = (int32_t)i;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void node_walk_begin(node_walk *w, const augury_near *a, const double min[3], const double max[3])
{
  *w = (node_walk){.a = a};
  nodes_of(a, min, max, w->low, w->high);
  for (int k = 0; k < 3; ++k) { /* within the bounds of the set */
    const int64_t first = NODE_SET_SIDE * a->nodes.low[k], last = first + NODE_SET_SIDE * a->nodes.side[k] - 1;
    if (w->low[k] < first) w->low[k] = first;
    if (w->high[k] > last) w->high[k] = last;
    w->block[k] = node_set_block_of(w->low[k]);
  }
  --w->block[2];
}

static bool next_block(node_walk *w)
{
  for (int k = 2; k >= 0; --k) {
    if (++w->block[k] <= node_set_block_of(w->high[k])) return true;
    w->block[k] = node_set_block_of(w->low[k]);
  }
  return false;
}

/* Index of the next node in the continuum, or -1 at the end. */
static int64_t node_walk_next(node_walk *w)
{
  const node_set *s = &w->a->nodes;
  if (s->n == 0 || w->low[0] > w->high[0] || w->low[1] > w->high[1] || w->low[2] > w->high[2]) return -1;
  for (;;) {
    while (w->left == 0) {
      if (!next_block(w)) return -1;
      w->at   = node_set_find_block(s, node_set_key(s, w->block[0], w->block[1], w->block[2]));
      w->left = w->at < 0 ? 0 : s->mask[w->at];
    }
    const int bit = __builtin_ctzll(w->left);
    w->left &= w->left - 1;
    const int32_t i = w->a->which[node_set_number(s, w->at, bit)];
    if (is_within(w->a->continuum.node[i], w->low, w->high)) return i;
  }
}

/* ---- active elements ---- */

PetscErrorCode augury_near_create(const augury_boundary *b, const int32_t *body, double dx, augury_near **out)
{
  PetscFunctionBegin;
  PetscCall(memory_alloc("elements near others", 1, sizeof **out, out));
  augury_near *a = *out;
  a->b = *b, a->body = body, a->dx = dx, a->choice = AUGURY_APPROACHING;
  PetscErrorCode code = box_tree_create(b->n_elements, &a->tree);
  for (int k = 0; k < 6 && !code; ++k) code = memory_alloc("boxes of elements", b->n_elements, sizeof *a->box[k], &a->box[k]);
  if (!code)
    code = MEMORY_ALLOC("augury near", ARRAY(a->side, b->n_elements), ARRAY(a->is_met, b->n_elements), ARRAY(a->is_near, b->n_nodes),
                        ARRAY(a->is_wanted, b->n_nodes), ARRAY(a->last_partner, b->n_elements), ARRAY(a->closest, b->n_nodes));
  for (int64_t e = 0; e < b->n_elements && !code; ++e) a->last_partner[e] = -1;
  for (int64_t i = 0; i < b->n_nodes && !code; ++i) a->closest[i] = -1;
  if (code) augury_near_destroy(out);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void augury_near_destroy(augury_near **a)
{
  if (!*a) return;
  box_tree_clear(&(*a)->tree);
  for (int k = 0; k < 6; ++k) memory_free(&(*a)->box[k]);
  MEMORY_FREE(&(*a)->side, &(*a)->is_met, &(*a)->is_near, &(*a)->is_wanted, &(*a)->last_partner, &(*a)->closest, &(*a)->which, &(*a)->keys);
  node_set_clear(&(*a)->nodes);
  memory_free(a);
}

void augury_near_set_choice(augury_near *a, augury_choice choice, double distance, double time)
{
  a->choice = choice, a->distance = distance, a->time = time;
}
void augury_near_set_open(augury_near *a, const bool *is_open) { a->is_open = is_open; }
void augury_near_set_can_touch(augury_near *a, int64_t n_bodies, const pair_classes *pairs, const bool *can_touch)
{
  a->n_bodies = n_bodies, a->pairs = pairs, a->can_touch = can_touch;
}
void augury_near_set_continuum(augury_near *a, const augury_continuum *c) { a->continuum = c ? *c : (augury_continuum){0}; }

static bool share_a_node(const int32_t *p, const int32_t *q)
{
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j)
      if (p[i] == q[j]) return true;
  return false;
}

/* As is_facing, for an element and the direction d with |d|^2 = square. */
static bool is_in_view(const element_side *s, double sign, const double d[3], double square)
{
  double along = sign * v3_dot(s->normal, d);
  if (s->is_open) along = fabs(along);
  const double least = least_of(s->is_open) * s->size;
  return along > 0.0 && along * along > least * least * square;
}

static inline bool face(const augury_near *a, int64_t e, int64_t f)
{
  const element_side *p = &a->side[e], *q = &a->side[f];
  double              d[3];
  v3_sub(d, q->center, p->center);
  const double square = v3_dot(d, d);
  return is_in_view(p, 1.0, d, square) && is_in_view(q, -1.0, d, square);
}

/* True if any corner of one triangle approaches any corner of the other. */
static bool close_in(const double *x, const double *v, const int32_t *p, const int32_t *q)
{
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      double d[3], u[3];
      v3_sub(d, x + 3 * (int64_t)q[j], x + 3 * (int64_t)p[i]);
      v3_sub(u, v + 3 * (int64_t)q[j], v + 3 * (int64_t)p[i]);
      if (v3_dot(u, d) < 0.0) return true;
    }
  return false;
}

/* Whether corner p of one element comes within a->distance of the other element during a->time. */
static bool arrives(const augury_near *a, const double *x, const double *v, int32_t p, const int32_t *node)
{
  double w[3], d[3], u[3];
  (void)triangle_nearest(x + 3 * (int64_t)node[0], x + 3 * (int64_t)node[1], x + 3 * (int64_t)node[2], x + 3 * (int64_t)p, w);
  v3_scale(d, -1.0, x + 3 * (int64_t)p);
  v3_scale(u, -1.0, v + 3 * (int64_t)p);
  for (int k = 0; k < 3; ++k) v3_axpy(d, w[k], x + 3 * (int64_t)node[k]), v3_axpy(u, w[k], v + 3 * (int64_t)node[k]);
  const double gap = v3_norm(d), change = v3_dot(u, d); /* rate of gap^2 / 2 */
  return change < 0.0 && gap * (gap - a->distance) < -a->time * change;
}

/* Whether the bounds of corner positions and velocities exclude contact of the elements. */
static bool are_far(const augury_near *a, int64_t e, int64_t f)
{
  const element_side *p = &a->side[e], *q = &a->side[f];
  double              d[3], u[3];
  v3_sub(d, q->center, p->center);
  v3_sub(u, q->v, p->v);
  const double reach = p->radius + q->radius + a->distance + a->time * (v3_norm(u) + p->spread + q->spread);
  return v3_dot(d, d) > reach * reach * (1.0 + MARGIN);
}

static bool will_meet(const augury_near *a, const double *x, const double *v, const int32_t *p, const int32_t *q)
{
  for (int i = 0; i < 3; ++i)
    if (arrives(a, x, v, p[i], q) || arrives(a, x, v, q[i], p)) return true;
  return false;
}

/* Bounds of the positions and velocities of an element's corners. */
static void augury_near_bound(const augury_near *a, const double *x, const double *v, int64_t e, element_side *s)
{
  const int32_t *node   = a->b.element + 3 * e;
  double         places = 0.0, velocities = 0.0;
  for (int k = 0; k < 3; ++k) s->v[k] = (v[3 * (int64_t)node[0] + k] + v[3 * (int64_t)node[1] + k] + v[3 * (int64_t)node[2] + k]) / 3.0;
  for (int i = 0; i < 3; ++i) {
    double d[3], u[3];
    v3_sub(d, x + 3 * (int64_t)node[i], s->center);
    v3_sub(u, v + 3 * (int64_t)node[i], s->v);
    places = fmax(places, v3_dot(d, d)), velocities = fmax(velocities, v3_dot(u, u));
  }
  s->radius = sqrt(places), s->spread = sqrt(velocities);
}

static void fit(augury_near *a, const double *x, const double *v)
{
#pragma omp parallel for schedule(static)
  for (int64_t e = 0; e < a->b.n_elements; ++e) {
    const int32_t *node = a->b.element + 3 * e;
    for (int k = 0; k < 3; ++k) {
      const double p = x[3 * (int64_t)node[0] + k], q = x[3 * (int64_t)node[1] + k], r = x[3 * (int64_t)node[2] + k];
      a->box[k][e]     = fmin(p, fmin(q, r)) - 0.5 * REACH * a->dx;
      a->box[3 + k][e] = fmax(p, fmax(q, r)) + 0.5 * REACH * a->dx;
    }
    side_of(x, node, a->side[e].center, a->side[e].normal);
    a->side[e].size    = v3_norm(a->side[e].normal);
    a->side[e].is_open = is_open(a, node);
    augury_near_bound(a, x, v, e, &a->side[e]);
  }
  box_tree_fit(&a->tree, a->box);
}

/* Whether elements e and f, whose boxes overlap, interact (augury_near_find). Symmetric in e and f. */
static bool elements_interact(const augury_near *a, const double *x, const double *v, int64_t e, int64_t f)
{
  const int32_t *node = a->b.element + 3 * e, *there = a->b.element + 3 * f;
  const bool     is_own = a->body[node[0]] == a->body[there[0]];
  if (!bodies_interact(a, a->body[node[0]], a->body[there[0]])) return false;
  if (a->choice == AUGURY_COLLIDING && are_far(a, e, f)) return false;
  if (is_own && (!face(a, e, f) || share_a_node(node, there))) return false;
  if (a->choice == AUGURY_ALL) return true;
  return close_in(x, v, node, there) && (a->choice == AUGURY_APPROACHING || will_meet(a, x, v, node, there));
}

/* How far element boxes may shrink without losing a partner: a partner has a corner within distance + time |u|, with u at most
 * twice the largest speed. Boxes extend by half the grid's reach. */
static double box_excess(const augury_near *a)
{
  double speed = 0.0;
  if (a->choice != AUGURY_COLLIDING) return 0.0;
  for (int64_t e = 0; e < a->b.n_elements; ++e) speed = fmax(speed, v3_norm(a->side[e].v) + a->side[e].spread);
  const double least = (a->distance + 2.0 * a->time * speed) * (1.0 + MARGIN) + MARGIN * a->dx;
  return fmax(0.0, REACH * a->dx - least);
}

static bool is_met(const augury_near *a, const double *x, const double *v, int64_t e)
{
  double        min[3] = {a->box[0][e], a->box[1][e], a->box[2][e]}, max[3] = {a->box[3][e], a->box[4][e], a->box[5][e]};
  const int32_t before = a->last_partner[e];
  box_walk      w;
  int32_t       other[BOX_TREE_WIDTH];
  if (before >= 0 && overlap(a, before, min, max) && elements_interact(a, x, v, e, before)) return true;
  for (int k = 0; k < 3 && a->box_excess > 0.0; ++k) {
    const double slack = MARGIN * (fabs(min[k]) + fabs(max[k]));
    min[k] += a->box_excess - slack, max[k] -= a->box_excess - slack; /* the box may be inverted */
  }
  box_walk_begin(&w, &a->tree, min, max);
  for (int n = box_walk_next(&w, other); n > 0; n = box_walk_next(&w, other))
    for (int k = 0; k < n; ++k)
      if (elements_interact(a, x, v, e, other[k])) {
        a->last_partner[e] = other[k];
        return true;
      }
  return false;
}

/* Body of the element nearest to element e among those processed so far, by distance of centres; for equal distances the lowest body. */
typedef struct {
  double  square; /* of the distance */
  int32_t body;   /* -1: none */
} nearest_body;

static void see(const augury_near *a, int64_t e, int64_t f, nearest_body *best)
{
  const int32_t *node = a->b.element + 3 * e, *there = a->b.element + 3 * f;
  const int32_t  body = a->body[there[0]];
  double         d[3];
  v3_sub(d, a->side[f].center, a->side[e].center);
  const double square = v3_dot(d, d);
  if (square > best->square || (square == best->square && body >= best->body)) return;
  if (!bodies_interact(a, a->body[node[0]], body)) return;
  if (body == a->body[node[0]] && (!face(a, e, f) || share_a_node(node, there))) return;
  best->square = square, best->body = body;
}

int32_t augury_near_other(const augury_near *a, int64_t e)
{
  const double  min[3] = {a->box[0][e], a->box[1][e], a->box[2][e]}, max[3] = {a->box[3][e], a->box[4][e], a->box[5][e]};
  const int32_t before = a->last_partner[e];
  nearest_body  best   = {INFINITY, -1};
  int32_t       other[BOX_TREE_WIDTH];
  box_walk      w;
  if (before >= 0 && overlap(a, before, min, max)) see(a, e, before, &best);
  walk_within(a, a->side[e].center, sqrt(best.square), &w);
  for (int k = 0; k < 3; ++k) w.min[k] = fmax(w.min[k], min[k]), w.max[k] = fmin(w.max[k], max[k]);
  for (int n = box_walk_next(&w, other); n > 0; n = box_walk_next(&w, other))
    for (int k = 0; k < n; ++k) see(a, e, other[k], &best);
  return best.body;
}

/* ---- the continuum ------------------------------------------------------------------------------------------------------ */

/* Whether a corner of the element moves into the continuum at node i. */
static bool closes_on(const augury_near *a, const double *x, const double *v, const int32_t *node, int64_t i)
{
  double     out[3], center[3], u[3];
  const bool is_known = augury_continuum_outward(&a->continuum, i, a->dx, out), has_none = !is_known && is_open(a, node);
  if (!is_known) {
    side_of(x, node, center, out);
    v3_scale(out, -1.0, out);
  }
  for (int k = 0; k < 3; ++k) {
    v3_sub(u, v + 3 * (int64_t)node[k], a->continuum.velocity + 3 * i);
    if (has_none ? v3_dot(u, u) > 0.0 : v3_dot(u, out) < 0.0) return true;
  }
  return false;
}

static bool is_met_by_continuum(const augury_near *a, const double *x, const double *v, int64_t e)
{
  const double min[3] = {a->box[0][e], a->box[1][e], a->box[2][e]}, max[3] = {a->box[3][e], a->box[4][e], a->box[5][e]};
  node_walk    w;
  node_walk_begin(&w, a, min, max);
  for (int64_t i = node_walk_next(&w); i >= 0; i = node_walk_next(&w))
    if (closes_on(a, x, v, a->b.element + 3 * e, i)) return true;
  return false;
}

PetscErrorCode augury_near_find(augury_near *a, const double *x, const double *v, bool *is_active, int64_t *n)
{
  PetscFunctionBegin;
  fit(a, x, v);
  PetscCall(augury_near_gather(a));
  a->box_excess = box_excess(a);
#pragma omp parallel for schedule(dynamic, 64)
  for (int64_t e = 0; e < a->b.n_elements; ++e) a->is_met[e] = is_met(a, x, v, e) || is_met_by_continuum(a, x, v, e);
  memset(a->is_near, 0, (size_t)a->b.n_nodes * sizeof *a->is_near);
  for (int64_t e = 0; e < a->b.n_elements; ++e)
    for (int i = 0; i < 3 && a->is_met[e]; ++i) a->is_near[a->b.element[3 * e + i]] = true;
  *n = 0;
  for (int64_t e = 0; e < a->b.n_elements; ++e) {
    const int32_t *node = a->b.element + 3 * e;
    is_active[e]        = a->is_near[node[0]] || a->is_near[node[1]] || a->is_near[node[2]];
    *n += is_active[e];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- inward sides and directions of nodes ---- */

#define ASIDE 0.2  /* smallest distance-weighted fraction of the continuum's mass on one side for which the continuum is on that side */
#define BEHIND 1.0 /* cells by which others on one side may be farther than those on the opposite side and still be considered */

/* ---- sides of open surfaces --------------------------------------------------------------------------------------------- */

/* Smallest distance of others in front of and behind a node; INFINITY: none. */
typedef struct {
  double any[2], closing[2];
} sides;

static void augury_near_count(sides *s, double along, double distance, bool is_closing)
{
  const int k = along > 0.0 ? 0 : 1;
  s->any[k]   = fmin(s->any[k], distance);
  if (is_closing) s->closing[k] = fmin(s->closing[k], distance);
}

/* Update the distances of node p by element f. */
static void count_element(const augury_near *a, const double *x, const double *v, const double *normal, int64_t p, int64_t f, sides *s)
{
  const int32_t *node = a->b.element + 3 * f;
  double         w[3], d[3], u[3], center[3], other[3];
  if (node[0] == p || node[1] == p || node[2] == p || !bodies_interact(a, a->body[p], a->body[node[0]])) return;
  (void)triangle_nearest(x + 3 * (int64_t)node[0], x + 3 * (int64_t)node[1], x + 3 * (int64_t)node[2], x + 3 * p, w);
  v3_scale(d, -1.0, x + 3 * p);
  v3_scale(u, -1.0, v + 3 * p);
  for (int k = 0; k < 3; ++k) v3_axpy(d, w[k], x + 3 * (int64_t)node[k]), v3_axpy(u, w[k], v + 3 * (int64_t)node[k]);
  const double length = v3_norm(d);
  side_of(x, node, center, other);
  if (length <= 1e-9 * a->dx) { /* distance zero: use the outside of a closed surface */
    if (is_open(a, node)) return;
    v3_scale(d, -1.0, other);
  }
  const bool is_own = a->body[p] == a->body[node[0]], is_closing = v3_dot(u, d) < 0.0;
  v3_scale(center, -1.0, d);
  if (is_own && !(is_closing && is_facing(true, FACING_OPEN, normal + 3 * p, d) &&
                  is_facing(is_open(a, node), least_of(is_open(a, node)), other, center)))
    return; /* same surface, bent but not face to face */
  if (is_facing(true, FACING, normal + 3 * p, d)) augury_near_count(s, v3_dot(normal + 3 * p, d), length, is_closing);
}

/* Update the distances of node p by the continuum: the side with most of its distance-weighted mass, and the other side if its fraction
 * is at least ASIDE. */
static void count_continuum(const augury_near *a, const double *x, const double *v, const double *normal, int64_t p, sides *s)
{
  const augury_continuum *c       = &a->continuum;
  double                  mass[2] = {0.0, 0.0}, least[2] = {INFINITY, INFINITY}, min[3], max[3];
  bool                    closes[2] = {false, false};
  node_walk               w;
  for (int k = 0; k < 3; ++k) min[k] = x[3 * p + k] - 0.5 * REACH * a->dx, max[k] = x[3 * p + k] + 0.5 * REACH * a->dx;
  node_walk_begin(&w, a, min, max);
  for (int64_t i = node_walk_next(&w); i >= 0; i = node_walk_next(&w)) {
    double d[3], u[3], out[3];
    for (int k = 0; k < 3; ++k) d[k] = a->dx * c->node[i][k] - x[3 * p + k];
    const double along = v3_dot(normal + 3 * p, d);
    const int    k     = along > 0.0 ? 0 : 1;
    v3_sub(u, v + 3 * p, c->velocity + 3 * i);
    if (!augury_continuum_outward(c, i, a->dx, out)) v3_scale(out, -1.0, d);
    mass[k] += c->mass[i] * fabs(along);
    least[k] = fmin(least[k], fabs(along));
    closes[k] |= v3_dot(u, out) < 0.0;
  }
  for (int k = 0; k < 2; ++k)
    if (mass[k] > 0.0 && mass[k] >= ASIDE * (mass[0] + mass[1])) augury_near_count(s, k == 0 ? 1.0 : -1.0, least[k], closes[k]);
}

/* 1: others are in front, -1: behind, 0: both or neither. */
static int8_t side_of_others(const augury_near *a, const double distance[2])
{
  const bool is_front = distance[0] < INFINITY && distance[0] <= distance[1] + BEHIND * a->dx,
             is_back  = distance[1] < INFINITY && distance[1] <= distance[0] + BEHIND * a->dx;
  return (int8_t)(is_front - is_back);
}

/* Begin an iteration over the elements within reach of a point. */
static void walk_around(const augury_near *a, const double *x, box_walk *w)
{
  double min[3], max[3];
  for (int k = 0; k < 3; ++k) min[k] = x[k] - 0.5 * REACH * a->dx, max[k] = x[k] + 0.5 * REACH * a->dx;
  box_walk_begin(w, &a->tree, min, max);
}

static int8_t side_at(const augury_near *a, const double *x, const double *v, const double *normal, int64_t p)
{
  sides    s = {{INFINITY, INFINITY}, {INFINITY, INFINITY}};
  int32_t  other[BOX_TREE_WIDTH];
  box_walk w;
  walk_around(a, x + 3 * p, &w);
  for (int n = box_walk_next(&w, other); n > 0; n = box_walk_next(&w, other))
    for (int k = 0; k < n; ++k) count_element(a, x, v, normal, p, other[k], &s);
  count_continuum(a, x, v, normal, p, &s);
  const bool closes = s.closing[0] < INFINITY || s.closing[1] < INFINITY;
  return side_of_others(a, closes ? s.closing : s.any);
}

void augury_near_sides(const augury_near *a, const double *x, const double *v, const double *normal, int8_t *side)
{
#pragma omp parallel for schedule(dynamic, 64)
  for (int64_t p = 0; p < a->b.n_nodes; ++p) {
    side[p] = 1;
    if (a->is_open && a->is_open[p]) side[p] = side_at(a, x, v, normal, p);
  }
}

/* ---- direction to the nearest body ---- */

typedef struct {
  double  distance, direction[3]; /* direction: unit vector */
  int64_t element;                /* -1: none */
} nearest;

/* Whether element f, at offset d from node p, interacts with p. outward [3]: outward direction of f at the closest point. */
static bool element_counts(const augury_near *a, const double *normal, int64_t p, const int32_t *node, const double d[3],
                           const double outward[3])
{
  double back[3];
  if (node[0] == p || node[1] == p || node[2] == p || !bodies_interact(a, a->body[p], a->body[node[0]])) return false;
  if (a->body[p] != a->body[node[0]]) return true;
  v3_scale(back, -1.0, d);
  return is_facing(false, FACING, normal + 3 * p, d) && is_facing(false, FACING, outward, back);
}

/* Whether all corners are behind the plane through a point with this normal, as for most elements near a node of the same surface. */
static bool is_behind(const double *x, const double normal[3], const double *at, const int32_t *node)
{
  for (int i = 0; i < 3; ++i) {
    double d[3];
    v3_sub(d, x + 3 * (int64_t)node[i], at);
    if (v3_dot(normal, d) > 0.0) return false;
  }
  return true;
}

static void update_nearest(const augury_near *a, const double *x, const double *normal, int64_t p, int64_t f, nearest *best)
{
  const int32_t *node = a->b.element + 3 * f;
  double         w[3], d[3], outward[3] = {0.0, 0.0, 0.0};
  v3_sub(d, a->side[f].center, x + 3 * p);
  const double reach = best->distance + a->side[f].radius;
  if (v3_dot(d, d) > reach * reach * (1.0 + MARGIN)) return;
  if (a->body[p] == a->body[node[0]] && is_behind(x, normal + 3 * p, x + 3 * p, node)) return;
  (void)triangle_nearest(x + 3 * (int64_t)node[0], x + 3 * (int64_t)node[1], x + 3 * (int64_t)node[2], x + 3 * p, w);
  v3_scale(d, -1.0, x + 3 * p);
  for (int k = 0; k < 3; ++k) v3_axpy(d, w[k], x + 3 * (int64_t)node[k]), v3_axpy(outward, w[k], normal + 3 * (int64_t)node[k]);
  const double distance = v3_norm(d), size = v3_norm(outward);
  const bool   is_touching = distance <= 1e-9 * a->dx;
  if (is_touching ? is_open(a, node) || !(size > 0.0) : false) return;
  if (distance > best->distance || (distance == best->distance && best->element >= 0 && f > best->element)) return;
  if (!element_counts(a, normal, p, node, d, outward)) return;
  best->distance = distance, best->element = f;
  if (is_touching) v3_scale(best->direction, -1.0 / size, outward);
  else v3_scale(best->direction, (!is_open(a, node) && v3_dot(d, outward) > 0.0 ? -1.0 : 1.0) / distance, d);
}

/* Direction into the continuum near node p, if it is known and the normal of the node points out of the continuum. For thin bodies, and
 * bodies of the size of a cell, nodes on the far side are thus stopped by the continuum in front of the body. */
static void into_continuum(const augury_near *a, const double *x, const double *normal, int64_t p, double towards[3])
{
  const augury_continuum *c      = &a->continuum;
  double                  out[3] = {0.0, 0.0, 0.0}, mass = 0.0, min[3], max[3];
  node_walk               w;
  for (int k = 0; k < 3; ++k) min[k] = x[3 * p + k] - 0.5 * REACH * a->dx, max[k] = x[3 * p + k] + 0.5 * REACH * a->dx;
  node_walk_begin(&w, a, min, max);
  for (int64_t i = node_walk_next(&w); i >= 0; i = node_walk_next(&w)) {
    double weight = 1.0;
    for (int k = 0; k < 3; ++k) weight *= fmax(0.0, 0.5 * REACH - fabs(c->node[i][k] - x[3 * p + k] / a->dx));
    v3_axpy(out, weight, c->outward[i]);
    mass += weight * c->mass[i];
  }
  const double length = v3_norm(out);
  if (!(a->dx * length >= AUGURY_SURE * mass) || !(mass > 0.0) || !(v3_dot(normal + 3 * p, out) > FACING * length)) return;
  v3_scale(towards, -1.0 / length, out);
}

static void towards_at(const augury_near *a, const double *x, const double *normal, int64_t p, double towards[3])
{
  nearest       best   = {.distance = INFINITY, .element = -1};
  const int32_t before = a->closest[p];
  int32_t       other[BOX_TREE_WIDTH];
  box_walk      w;
  walk_around(a, x + 3 * p, &w);
  if (before >= 0 && overlap(a, before, w.min, w.max)) update_nearest(a, x, normal, p, before, &best);
  if (best.distance < 0.99 * REACH * a->dx) walk_within(a, x + 3 * p, best.distance, &w);
  for (int n = box_walk_next(&w, other); n > 0; n = box_walk_next(&w, other))
    for (int k = 0; k < n; ++k) update_nearest(a, x, normal, p, other[k], &best);
  a->closest[p] = (int32_t)best.element;
  v3_copy(towards, best.element >= 0 ? best.direction : normal + 3 * p);
  if (best.element < 0) into_continuum(a, x, normal, p, towards);
}

void augury_near_towards(const augury_near *a, const double *x, const double *normal, const bool *is_active, double *towards)
{
  memset(a->is_wanted, 0, (size_t)a->b.n_nodes * sizeof *a->is_wanted);
  for (int64_t k = 0; k < 3 * a->b.n_elements; ++k)
    if (is_active[k / 3]) a->is_wanted[a->b.element[k]] = true;
#pragma omp parallel for schedule(dynamic, 64)
  for (int64_t p = 0; p < a->b.n_nodes; ++p) {
    if (a->is_wanted[p] && !(a->is_open && a->is_open[p])) towards_at(a, x, normal, p, towards + 3 * p);
    else v3_copy(towards + 3 * p, normal + 3 * p);
  }
}
