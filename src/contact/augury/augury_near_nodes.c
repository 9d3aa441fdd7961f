#include "contact/augury/augury_near_impl.h"
#include "geometry/primitive/triangle_nearest.h"

#define ASIDE 0.2  /* least part of a continuum's mass, by distance, that makes a side of it */
#define BEHIND 1.0 /* cells behind the nearest that others on the far side still count */

/* ---- sides of open surfaces --------------------------------------------------------------------------------------------- */

/* Nearest distance of others on either side, in front and behind; INFINITY: none. */
typedef struct {
  double any[2], closing[2];
} sides;

static void count(sides *s, double along, double distance, bool is_closing)
{
  const int k  = along > 0.0 ? 0 : 1;
  s->any[k]    = fmin(s->any[k], distance);
  if (is_closing) s->closing[k] = fmin(s->closing[k], distance);
}

/* Element f as seen from node p. */
static void count_element(const augury_near *a, const double *x, const double *v, const double *normal, int64_t p, int64_t f, sides *s)
{
  const int32_t *node = a->b.element + 3 * f;
  double         w[3], d[3], u[3], center[3], other[3];
  if (node[0] == p || node[1] == p || node[2] == p || !meet(a, a->body[p], a->body[node[0]])) return;
  (void)triangle_nearest(x + 3 * (int64_t)node[0], x + 3 * (int64_t)node[1], x + 3 * (int64_t)node[2], x + 3 * p, w);
  v3_scale(d, -1.0, x + 3 * p);
  v3_scale(u, -1.0, v + 3 * p);
  for (int k = 0; k < 3; ++k) v3_axpy(d, w[k], x + 3 * (int64_t)node[k]), v3_axpy(u, w[k], v + 3 * (int64_t)node[k]);
  const double length = v3_norm(d);
  side_of(x, node, center, other);
  if (length <= 1e-9 * a->dx) { /* they touch: what is behind a closed surface tells */
    if (is_open(a, node)) return;
    v3_scale(d, -1.0, other);
  }
  const bool is_own = a->body[p] == a->body[node[0]], is_closing = v3_dot(u, d) < 0.0;
  v3_scale(center, -1.0, d);
  if (is_own && !(is_closing && is_facing(true, FACING_OPEN, normal + 3 * p, d) &&
                  is_facing(is_open(a, node), least_of(is_open(a, node)), other, center)))
    return; /* merely bent */
  if (is_facing(true, FACING, normal + 3 * p, d)) count(s, v3_dot(normal + 3 * p, d), length, is_closing);
}

/* The continuum about node p: the way that most of its mass lies, by distance, and the other if that has a good part of it, too. */
static void count_continuum(const augury_near *a, const double *x, const double *v, const double *normal, int64_t p, sides *s)
{
  const augury_continuum *c = &a->continuum;
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
    if (mass[k] > 0.0 && mass[k] >= ASIDE * (mass[0] + mass[1])) count(s, k == 0 ? 1.0 : -1.0, least[k], closes[k]);
}

/* 1: others are in front, -1: behind, 0: both or neither. */
static int8_t verdict_of(const augury_near *a, const double distance[2])
{
  const bool is_front = distance[0] < INFINITY && distance[0] <= distance[1] + BEHIND * a->dx,
             is_back = distance[1] < INFINITY && distance[1] <= distance[0] + BEHIND * a->dx;
  return (int8_t)(is_front - is_back);
}

/* Over elements within the grid's reach of a place. */
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
  return verdict_of(a, closes ? s.closing : s.any);
}

void augury_near_sides(const augury_near *a, const double *x, const double *v, const double *normal, int8_t *side)
{
#pragma omp parallel for schedule(dynamic, 64)
  for (int64_t p = 0; p < a->b.n_nodes; ++p) {
    side[p] = 1;
    if (a->is_open && a->is_open[p]) side[p] = side_at(a, x, v, normal, p);
  }
}

/* ---- where a node would be held ------------------------------------------------------------------------------------------ */

typedef struct {
  double  distance, way[3]; /* way: of length 1 */
  int64_t element;          /* -1: none */
} nearest;

/* Is element f, at d from node p, of what p meets, outward [3] being the outside there? */
static bool counts(const augury_near *a, const double *normal, int64_t p, const int32_t *node, const double d[3], const double outward[3])
{
  double back[3];
  if (node[0] == p || node[1] == p || node[2] == p || !meet(a, a->body[p], a->body[node[0]])) return false;
  if (a->body[p] != a->body[node[0]]) return true;
  v3_scale(back, -1.0, d);
  return is_facing(false, FACING, normal + 3 * p, d) && is_facing(false, FACING, outward, back);
}

/* Are all corners behind a place with this normal? Most that is near a node of the same surface is. */
static bool is_behind(const double *x, const double normal[3], const double *at, const int32_t *node)
{
  for (int i = 0; i < 3; ++i) {
    double d[3];
    v3_sub(d, x + 3 * (int64_t)node[i], at);
    if (v3_dot(normal, d) > 0.0) return false;
  }
  return true;
}

static void consider(const augury_near *a, const double *x, const double *normal, int64_t p, int64_t f, nearest *best)
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
  if (!counts(a, normal, p, node, d, outward)) return;
  best->distance = distance, best->element = f;
  if (is_touching) v3_scale(best->way, -1.0 / size, outward);
  else v3_scale(best->way, (!is_open(a, node) && v3_dot(d, outward) > 0.0 ? -1.0 : 1.0) / distance, d);
}

/* The way into the continuum about node p, where that is known and the node's normal points out of it: of a body that is no larger than
 * cells, or a thin one, nodes of the far side are stopped by what is ahead of the near side. */
static void into_continuum(const augury_near *a, const double *x, const double *normal, int64_t p, double towards[3])
{
  const augury_continuum *c = &a->continuum;
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
  nearest       best = {.distance = INFINITY, .element = -1};
  const int32_t before = a->closest[p];
  int32_t       other[BOX_TREE_WIDTH];
  box_walk      w;
  walk_around(a, x + 3 * p, &w);
  if (before >= 0 && overlap(a, before, w.min, w.max)) consider(a, x, normal, p, before, &best);
  if (best.distance < 0.99 * REACH * a->dx) walk_within(a, x + 3 * p, best.distance, &w);
  for (int n = box_walk_next(&w, other); n > 0; n = box_walk_next(&w, other))
    for (int k = 0; k < n; ++k) consider(a, x, normal, p, other[k], &best);
  a->closest[p] = (int32_t)best.element;
  v3_copy(towards, best.element >= 0 ? best.way : normal + 3 * p);
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
