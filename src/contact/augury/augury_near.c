#include "contact/augury/augury_near_impl.h"
#include "core/memory.h"
#include "geometry/primitive/triangle_nearest.h"

PetscErrorCode augury_near_create(const augury_boundary *b, const int32_t *body, double dx, augury_near **out)
{
  PetscFunctionBegin;
  PetscCall(memory_alloc("elements near others", 1, sizeof **out, out));
  augury_near *a = *out;
  a->b = *b, a->body = body, a->dx = dx, a->choice = AUGURY_CLOSING;
  PetscErrorCode code = box_tree_create(b->n_elements, &a->tree);
  for (int k = 0; k < 6 && !code; ++k) code = memory_alloc("boxes of elements", b->n_elements, sizeof *a->box[k], &a->box[k]);
  if (!code) code = memory_alloc("sides of elements", b->n_elements, sizeof *a->side, &a->side);
  if (!code) code = memory_alloc("elements near others", b->n_elements, sizeof *a->is_met, &a->is_met);
  if (!code) code = memory_alloc("elements near others", b->n_nodes, sizeof *a->is_near, &a->is_near);
  if (!code) code = memory_alloc("elements near others", b->n_nodes, sizeof *a->is_wanted, &a->is_wanted);
  if (!code) code = memory_alloc("elements met before", b->n_elements, sizeof *a->witness, &a->witness);
  if (!code) code = memory_alloc("elements met before", b->n_nodes, sizeof *a->closest, &a->closest);
  for (int64_t e = 0; e < b->n_elements && !code; ++e) a->witness[e] = -1;
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
  memory_free(&(*a)->side);
  memory_free(&(*a)->is_met);
  memory_free(&(*a)->is_near);
  memory_free(&(*a)->is_wanted);
  memory_free(&(*a)->witness);
  memory_free(&(*a)->closest);
  memory_free(&(*a)->which);
  memory_free(&(*a)->keys);
  node_set_clear(&(*a)->nodes);
  memory_free(a);
}

void augury_near_set_choice(augury_near *a, augury_choice choice, double distance, double time)
{
  a->choice = choice, a->distance = distance, a->time = time;
}
void augury_near_set_open(augury_near *a, const bool *is_open) { a->is_open = is_open; }
void augury_near_set_meets(augury_near *a, int64_t n_bodies, const bool *meets) { a->n_bodies = n_bodies, a->meets = meets; }
void augury_near_set_continuum(augury_near *a, const augury_continuum *c) { a->continuum = c ? *c : (augury_continuum){0}; }

static bool share_a_node(const int32_t *p, const int32_t *q)
{
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j)
      if (p[i] == q[j]) return true;
  return false;
}

/* The same of an element along d, whose square is `square`. */
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
  double      d[3];
  v3_sub(d, q->center, p->center);
  const double square = v3_dot(d, d);
  return is_in_view(p, 1.0, d, square) && is_in_view(q, -1.0, d, square);
}

/* Does any corner of one come nearer to any of the other? */
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

/* Will corner p of one have come within the distance of the other? */
static bool arrives(const augury_near *a, const double *x, const double *v, int32_t p, const int32_t *node)
{
  double w[3], d[3], u[3];
  (void)triangle_nearest(x + 3 * (int64_t)node[0], x + 3 * (int64_t)node[1], x + 3 * (int64_t)node[2], x + 3 * (int64_t)p, w);
  v3_scale(d, -1.0, x + 3 * (int64_t)p);
  v3_scale(u, -1.0, v + 3 * (int64_t)p);
  for (int k = 0; k < 3; ++k) v3_axpy(d, w[k], x + 3 * (int64_t)node[k]), v3_axpy(u, w[k], v + 3 * (int64_t)node[k]);
  const double gap = v3_norm(d), change = v3_dot(u, d); /* of gap^2 / 2 */
  return change < 0.0 && gap * (gap - a->distance) < -a->time * change;
}

/* Are the elements too far apart for that, however their corners go within what bounds them? */
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

/* What bounds the corners of an element, places and velocities. */
static void bound(const augury_near *a, const double *x, const double *v, int64_t e, element_side *s)
{
  const int32_t *node = a->b.element + 3 * e;
  double         places = 0.0, velocities = 0.0;
  for (int k = 0; k < 3; ++k)
    s->v[k] = (v[3 * (int64_t)node[0] + k] + v[3 * (int64_t)node[1] + k] + v[3 * (int64_t)node[2] + k]) / 3.0;
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
    bound(a, x, v, e, &a->side[e]);
  }
  box_tree_fit(&a->tree, a->box);
}

/* Does element e meet f, whose box overlaps its own? The same if asked the other way round. */
static bool meets(const augury_near *a, const double *x, const double *v, int64_t e, int64_t f)
{
  const int32_t *node = a->b.element + 3 * e, *there = a->b.element + 3 * f;
  const bool     is_own = a->body[node[0]] == a->body[there[0]];
  if (!meet(a, a->body[node[0]], a->body[there[0]])) return false;
  if (a->choice == AUGURY_MEETING && are_far(a, e, f)) return false;
  if (is_own && (!face(a, e, f) || share_a_node(node, there))) return false;
  if (a->choice == AUGURY_ALL) return true;
  return close_in(x, v, node, there) && (a->choice == AUGURY_CLOSING || will_meet(a, x, v, node, there));
}

/* How far the box of an element may shrink without losing what it meets: of what it will meet a corner is within
 * distance + time |u| of it, u at most twice the largest speed. Boxes reach half the grid's way. */
static double needless(const augury_near *a)
{
  double speed = 0.0;
  if (a->choice != AUGURY_MEETING) return 0.0;
  for (int64_t e = 0; e < a->b.n_elements; ++e) speed = fmax(speed, v3_norm(a->side[e].v) + a->side[e].spread);
  const double least = (a->distance + 2.0 * a->time * speed) * (1.0 + MARGIN) + MARGIN * a->dx;
  return fmax(0.0, REACH * a->dx - least);
}

static bool is_met(const augury_near *a, const double *x, const double *v, int64_t e)
{
  double        min[3] = {a->box[0][e], a->box[1][e], a->box[2][e]}, max[3] = {a->box[3][e], a->box[4][e], a->box[5][e]};
  const int32_t before = a->witness[e];
  box_walk      w;
  int32_t       other[BOX_TREE_WIDTH];
  if (before >= 0 && overlap(a, before, min, max) && meets(a, x, v, e, before)) return true;
  for (int k = 0; k < 3 && a->needless > 0.0; ++k) {
    const double slack = MARGIN * (fabs(min[k]) + fabs(max[k]));
    min[k] += a->needless - slack, max[k] -= a->needless - slack; /* the least may end above the most */
  }
  box_walk_begin(&w, &a->tree, min, max);
  for (int n = box_walk_next(&w, other); n > 0; n = box_walk_next(&w, other))
    for (int k = 0; k < n; ++k)
      if (meets(a, x, v, e, other[k])) {
        a->witness[e] = other[k];
        return true;
      }
  return false;
}

/* The nearest so far of what element e sees, by centres; of equally near ones the first body. */
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
  if (!meet(a, a->body[node[0]], body)) return;
  if (body == a->body[node[0]] && (!face(a, e, f) || share_a_node(node, there))) return;
  best->square = square, best->body = body;
}

int32_t augury_near_other(const augury_near *a, int64_t e)
{
  const double  min[3] = {a->box[0][e], a->box[1][e], a->box[2][e]}, max[3] = {a->box[3][e], a->box[4][e], a->box[5][e]};
  const int32_t before = a->witness[e];
  nearest_body  best   = {INFINITY, -1};
  int32_t       other[BOX_TREE_WIDTH];
  box_walk      w;
  if (before >= 0 && overlap(a, before, min, max)) see(a, e, before, &best);
  walk_within(a, a->side[e].center, sqrt(best.square), &w);
  for (int k = 0; k < 3; ++k) w.min[k] = fmax(w.min[k], min[k]), w.max[k] = fmin(w.max[k], max[k]);
  for (int n = box_walk_next(&w, other); n > 0; n = box_walk_next(&w, other))
    for (int k = 0; k < n; ++k)
      see(a, e, other[k], &best);
  return best.body;
}

/* ---- the continuum ------------------------------------------------------------------------------------------------------ */

/* Does a corner of the element move into the continuum at its node i? */
static bool closes_on(const augury_near *a, const double *x, const double *v, const int32_t *node, int64_t i)
{
  double    out[3], center[3], u[3];
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
  a->needless = needless(a);
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
