/* Candidate pairs of points and level sets, see contact_search.h: a tree of the boxes of objects, and spheres around clusters of points. */
#include "contact/detection/contact_search.h"
#include "core/math3.h"
#include "core/memory.h"
#include "geometry/primitive/box_tree.h"
#include <stdlib.h>

/* A cluster is near an object if no coordinate of its centre in the frame of the object is farther than `reach` beyond the bounds: at most 3^1/2 reach. */
static const double NEAR = 1.7320509;

/* A cluster of points of one source; computed once per step. */
typedef struct {
  double  center[3], radius;
  int64_t first, end;
  int32_t i_source;
} cluster;

/* A cluster near an object. hit: index of the flag of its first point; offset: index of its first candidate. */
typedef struct {
  int32_t i_cluster, i_object;
  int64_t hit, n_hits, offset;
} near_pair;

struct contact_search {
  int64_t            n, capacity;
  contact_candidate *candidate;
  int64_t            n_clusters, cluster_capacity;
  cluster           *cluster;
  int64_t           *start; /* [n_clusters + 1] first pair of each cluster */
  int64_t            n_pairs, pair_capacity;
  near_pair         *pair;
  int64_t            hit_capacity;
  uint8_t           *hit; /* true: the point of a pair is near the object */
  int64_t            known_capacity;
  uint8_t           *is_seen; /* [rows of the pair table] */
  /* Objects with bounds, in a tree of their boxes in world axes, and the others. */
  int64_t  n_bounded, n_unbounded, object_capacity;
  int32_t *bounded, *unbounded;
  double  *box[6]; /* [n_bounded] */
  box_tree tree;
};

PetscErrorCode contact_search_create(contact_search **out)
{
  PetscFunctionBeginUser;
  PetscCall(memory_alloc("contact search", 1, sizeof **out, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void contact_search_destroy(contact_search **s)
{
  if (!s || !*s) return;
  box_tree_clear(&(*s)->tree);
  for (int k = 0; k < 6; ++k) memory_free(&(*s)->box[k]);
  MEMORY_FREE(&(*s)->candidate, &(*s)->cluster, &(*s)->start, &(*s)->pair, &(*s)->hit, &(*s)->is_seen, &(*s)->bounded, &(*s)->unbounded, s);
}

PetscErrorCode contact_search_number(int n_bodies, int n_objects, const contact_object *objects, int32_t *key)
{
  int32_t *count; /* [n_bodies] level sets of each body so far */
  PetscFunctionBeginUser;
  PetscCall(memory_alloc("contact objects", n_bodies, sizeof *count, &count));
  int64_t largest = 0;
  for (int j = 0; j < n_objects; ++j) {
    const int64_t own = objects[j].body_id + (int64_t)n_bodies * count[objects[j].body_id]++;
    largest           = own > largest ? own : largest;
    key[j]            = (int32_t)own;
  }
  memory_free(&count);
  PetscCheck(
      largest <= INT32_MAX, PETSC_COMM_SELF, PETSC_ERR_SUP,
      "%d bodies with level sets exceed the range of contact keys; at most %d products of bodies and level sets per body are supported",
      n_bodies, INT32_MAX);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- objects ---- */

/* The box of an object in world axes, slightly enlarged against rounding; false: it has no bounds, or its pose is not finite. */
static bool object_box(const search_problem *q, int j, double min[3], double max[3])
{
  const rigid_frame *f = &q->frames[q->objects[j].frame];
  double             lo[3], hi[3], most = 0.0;
  level_set_bounds(q->objects[j].phi, lo, hi);
  for (int k = 0; k < 3; ++k) {
    if (!isfinite(lo[k]) || !isfinite(hi[k])) return false;
    min[k] = INFINITY, max[k] = -INFINITY;
  }
  for (int c = 0; c < 8; ++c) {
    const double corner[3] = {c & 1 ? hi[0] : lo[0], c & 2 ? hi[1] : lo[1], c & 4 ? hi[2] : lo[2]};
    double x[3];
    rigid_frame_to_world(f, corner, x);
    for (int k = 0; k < 3; ++k) min[k] = fmin(min[k], x[k]), max[k] = fmax(max[k], x[k]), most = fmax(most, fabs(x[k]));
  }
  const double more      = NEAR * (q->object_reach ? q->object_reach[j] : 0.0) + 1e-12 * most;
  bool         is_finite = true;
  for (int k = 0; k < 3; ++k) {
    min[k] -= more, max[k] += more;
    is_finite = is_finite && isfinite(min[k]) && isfinite(max[k]);
  }
  return is_finite;
}

/* Objects that sources can touch, in the tree or in the list of unbounded ones. */
static PetscErrorCode place_objects(contact_search *s, const search_problem *q)
{
  int64_t capacity = s->object_capacity;
  PetscFunctionBeginUser;
  PetscCall(MEMORY_RESERVE("contact objects", q->n_objects, &s->object_capacity, ARRAY(s->bounded, 1), ARRAY(s->unbounded, 1)));
  for (int k = 0; k < 6; ++k) {
    int64_t own = capacity;
    PetscCall(memory_reserve("contact objects", q->n_objects, sizeof *s->box[k], &own, &s->box[k]));
  }
  s->n_bounded = s->n_unbounded = 0;
  for (int j = 0; j < q->n_objects; ++j) {
    double min[3], max[3];
    SS_ASSERT(q->objects[j].frame >= 0 && q->objects[j].frame < q->n_frames);
    if (!object_box(q, j, min, max)) {
      s->unbounded[s->n_unbounded++] = j;
      continue;
    }
    for (int k = 0; k < 3; ++k) s->box[k][s->n_bounded] = min[k], s->box[3 + k][s->n_bounded] = max[k];
    s->bounded[s->n_bounded++] = j;
  }
  if (s->tree.n != s->n_bounded) {
    box_tree_clear(&s->tree);
    s->tree = (box_tree){0};
    PetscCall(box_tree_create(s->n_bounded, &s->tree));
  }
  box_tree_fit(&s->tree, s->box);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- clusters near objects ---- */

static bool may_touch(const search_problem *q, int i_source, int i_object)
{
  const int from = q->sources[i_source].body_id, to = q->objects[i_object].body_id;
  return from != to && q->may_touch[pair_slot(q->pairs, q->n_bodies, from, to)];
}

static double reach_of(const search_problem *q, int i_source, int i_object)
{
  return q->object_reach ? fmax(q->margin, q->source_reach[i_source] + q->object_reach[i_object]) : q->margin;
}

/* List the clusters of all sources that can touch anything. */
static PetscErrorCode collect_clusters(contact_search *s, const search_problem *q)
{
  int64_t n = 0;
  PetscFunctionBeginUser;
  for (int pass = 0; pass < 2; ++pass) {
    n = 0;
    for (int i = 0; i < q->n_sources; ++i) {
      const body *b = q->sources[i].b;
      if (b->ops->points == POINT_NONE || !pair_classes_has_partner(q->pairs, q->n_bodies, q->may_touch, q->sources[i].body_id)) continue;
      const int64_t own = b->ops->n_clusters(b);
      for (int64_t k = 0; k < own && pass == 1; ++k) s->cluster[n + k] = (cluster){.first = k, .i_source = i};
      n += own;
    }
    if (pass == 0) {
      PetscCheck(n < INT32_MAX, PETSC_COMM_SELF, PETSC_ERR_SUP, "%lld clusters of contact points; at most %d are supported", (long long)n,
                 INT32_MAX - 1);
      PetscCall(MEMORY_RESERVE("contact clusters", n + 1, &s->cluster_capacity, ARRAY(s->cluster, 1), ARRAY(s->start, 1)));
    }
  }
  s->n_clusters    = n;
  cluster *const c = s->cluster;
#pragma omp parallel for schedule(static) if (n > CONTACT_SERIAL_CLUSTERS)
  for (int64_t i = 0; i < n; ++i) {
    const body *b = q->sources[c[i].i_source].b;
    b->ops->cluster(b, c[i].first, c[i].center, &c[i].radius, &c[i].first, &c[i].end);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Test with the bounding box of a level set. It takes less time than an evaluation and, unlike a sampled level set, is exact far away. */
static bool is_far(const double min[3], const double max[3], const double x[3], double reach)
{
  for (int k = 0; k < 3; ++k)
    if (x[k] < min[k] - reach || x[k] > max[k] + reach) return true;
  return false;
}

static bool is_cluster_near(const search_problem *q, const cluster *c, int j)
{
  const level_set *phi = q->objects[j].phi;
  double           min[3], max[3], x_b[3];
  if (c->end <= c->first || !may_touch(q, c->i_source, j)) return false;
  level_set_bounds(phi, min, max);
  rigid_frame_to_local(&q->frames[q->objects[j].frame], c->center, x_b);
  const double reach = c->radius + reach_of(q, c->i_source, j);
  return !is_far(min, max, x_b, reach) && !(level_set_value(phi, x_b) > reach);
}

/* Objects near cluster i. out NULL: only their number is returned. */
static int64_t list_near(const contact_search *s, const search_problem *q, int64_t i, near_pair *out)
{
  const cluster *c    = &s->cluster[i];
  const double   more = NEAR * (c->radius + fmax(q->margin, q->source_reach ? q->source_reach[c->i_source] : 0.0));
  int64_t        n    = 0;
  double         min[3], max[3];
  box_walk       walk;
  int32_t        found[BOX_TREE_WIDTH];
  for (int64_t k = 0; k < s->n_unbounded; ++k) {
    if (!is_cluster_near(q, c, s->unbounded[k])) continue;
    if (out) out[n] = (near_pair){.i_cluster = (int32_t)i, .i_object = s->unbounded[k]};
    ++n;
  }
  for (int k = 0; k < 3; ++k) min[k] = c->center[k] - more, max[k] = c->center[k] + more;
  box_walk_begin(&walk, &s->tree, min, max);
  for (int m = box_walk_next(&walk, found); m > 0; m = box_walk_next(&walk, found))
    for (int k = 0; k < m; ++k) {
      const int32_t j = s->bounded[found[k]];
      if (!is_cluster_near(q, c, j)) continue;
      if (out) out[n] = (near_pair){.i_cluster = (int32_t)i, .i_object = j};
      ++n;
    }
  return n;
}

static PetscErrorCode find_pairs(contact_search *s, const search_problem *q)
{
  const int64_t n     = s->n_clusters;
  int64_t       total = 0;
  PetscFunctionBeginUser;
#pragma omp parallel for schedule(dynamic, 16) if (n > CONTACT_SERIAL_CLUSTERS)
  for (int64_t i = 0; i < n; ++i) s->start[i + 1] = list_near(s, q, i, NULL);
  s->start[0] = 0;
  for (int64_t i = 0; i < n; ++i) s->start[i + 1] += s->start[i];
  s->n_pairs = s->start[n];
  PetscCall(memory_reserve("contact clusters", s->n_pairs, sizeof *s->pair, &s->pair_capacity, &s->pair));
#pragma omp parallel for schedule(dynamic, 16) if (n > CONTACT_SERIAL_CLUSTERS)
  for (int64_t i = 0; i < n; ++i)
    if (s->start[i + 1] > s->start[i]) (void)list_near(s, q, i, s->pair + s->start[i]);
  for (int64_t k = 0; k < s->n_pairs; ++k) {
    s->pair[k].hit = total;
    total += s->cluster[s->pair[k].i_cluster].end - s->cluster[s->pair[k].i_cluster].first;
  }
  PetscCall(memory_reserve("contact hits", total, sizeof *s->hit, &s->hit_capacity, &s->hit));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- points near objects ---- */

static void mark_hits(contact_search *s, const search_problem *q, near_pair *pair)
{
  const cluster     *c     = &s->cluster[pair->i_cluster];
  const body        *b     = q->sources[c->i_source].b;
  const rigid_frame *frame = &q->frames[q->objects[pair->i_object].frame];
  const level_set   *phi   = q->objects[pair->i_object].phi;
  const double       reach = reach_of(q, c->i_source, pair->i_object);
  double             min[3], max[3];
  level_set_bounds(phi, min, max);
  pair->n_hits = 0;
  for (int64_t p = c->first; p < c->end; ++p) {
    double x[3], x_b[3];
    b->ops->point(b, p, x);
    rigid_frame_to_local(frame, x, x_b);
    uint8_t *hit = &s->hit[pair->hit + p - c->first];
    *hit         = !is_far(min, max, x_b, reach) && level_set_value(phi, x_b) <= reach;
    pair->n_hits += *hit;
  }
}

static contact_candidate make_candidate(const search_problem *q, const pair_table *known, int i_source, int i_object, int64_t p)
{
  const contact_source *source = &q->sources[i_source];
  contact_candidate     out    = {{source->body_id, q->object_key[i_object], 0}, i_source, i_object, p, -1, {0}};
  out.key.point                = source->b->ops->point(source->b, p, out.x);
  if (known) out.attachment = pair_table_find(known, out.key);
  return out;
}

static int compare_candidates(const void *a, const void *b)
{
  return pair_key_compare(&((const contact_candidate *)a)->key, &((const contact_candidate *)b)->key);
}

static PetscErrorCode list_candidates(contact_search *s, const search_problem *q, const pair_table *known)
{
  const int64_t n = s->n_pairs;
  PetscFunctionBeginUser;
#pragma omp parallel for schedule(dynamic, 16) if (n > CONTACT_SERIAL_CLUSTERS)
  for (int64_t k = 0; k < n; ++k) mark_hits(s, q, &s->pair[k]);
  s->n = 0;
  for (int64_t k = 0; k < n; ++k) {
    s->pair[k].offset = s->n;
    s->n += s->pair[k].n_hits;
  }
  PetscCall(memory_reserve("contact candidates", s->n, sizeof *s->candidate, &s->capacity, &s->candidate));
#pragma omp parallel for schedule(dynamic, 16) if (n > CONTACT_SERIAL_CLUSTERS)
  for (int64_t k = 0; k < n; ++k) {
    const near_pair *pair = &s->pair[k];
    const cluster   *c    = &s->cluster[pair->i_cluster];
    if (pair->n_hits == 0) continue;
    for (int64_t p = c->first, at = pair->offset; p < c->end; ++p)
      if (s->hit[pair->hit + p - c->first]) s->candidate[at++] = make_candidate(q, known, c->i_source, pair->i_object, p);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

double contact_search_reach(const body *b, const double origin[3])
{
  double reach = 0.0;
  for (int64_t i = 0, n = b->ops->n_clusters(b); i < n; ++i) {
    double  center[3], radius, arm[3];
    int64_t first, end;
    b->ops->cluster(b, i, center, &radius, &first, &end);
    v3_sub(arm, center, origin);
    reach = fmax(reach, v3_norm(arm) + radius);
  }
  return reach;
}

/* Objects of one source with known pairs that were not found: is_listed [n_objects]. False: there are none. Rows of the table are sorted by source. */
static bool list_unseen(const contact_search *s, const search_problem *q, const pair_table *known, int i_source, bool *is_listed)
{
  const int32_t source = q->sources[i_source].body_id;
  int64_t       lo = 0, hi = pair_table_size(known);
  bool          is_any = false;
  while (lo < hi) {
    const int64_t mid = lo + (hi - lo) / 2;
    if (pair_table_key(known, mid).source < source) lo = mid + 1;
    else hi = mid;
  }
  for (; lo < pair_table_size(known) && pair_table_key(known, lo).source == source; ++lo) {
    if (s->is_seen[lo]) continue;
    for (int j = 0; j < q->n_objects; ++j)
      if (q->object_key[j] == pair_table_key(known, lo).object && may_touch(q, i_source, j)) is_listed[j] = is_any = true;
  }
  return is_any;
}

/* Add known pairs whose points are beyond the margin, for example after a user has moved a body. This is rare, so all points are searched. */
static PetscErrorCode add_unseen(contact_search *s, const search_problem *q, const pair_table *known)
{
  const int64_t n_known = pair_table_size(known);
  int64_t       n_seen  = 0;
  bool         *is_listed;
  PetscFunctionBeginUser;
  PetscCall(memory_reserve("known contacts", n_known, sizeof *s->is_seen, &s->known_capacity, &s->is_seen));
  for (int64_t i = 0; i < n_known; ++i) s->is_seen[i] = 0;
  for (int64_t i = 0; i < s->n; ++i)
    if (s->candidate[i].attachment >= 0) ++n_seen, s->is_seen[s->candidate[i].attachment] = 1;
  if (n_seen == n_known) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(memory_reserve("contact candidates", s->n + n_known - n_seen, sizeof *s->candidate, &s->capacity, &s->candidate));
  PetscCall(memory_alloc("known contacts", q->n_objects, sizeof *is_listed, &is_listed));
  for (int i = 0; i < q->n_sources; ++i) {
    const body *b = q->sources[i].b;
    if (b->ops->points == POINT_NONE || !list_unseen(s, q, known, i, is_listed)) continue;
    for (int j = 0; j < q->n_objects; ++j) {
      if (!is_listed[j]) continue;
      is_listed[j] = false;
      for (int64_t k = 0; k < b->ops->n_clusters(b); ++k) {
        cluster c;
        b->ops->cluster(b, k, c.center, &c.radius, &c.first, &c.end);
        for (int64_t p = c.first; p < c.end; ++p) {
          const contact_candidate found = make_candidate(q, known, i, j, p);
          if (found.attachment < 0 || s->is_seen[found.attachment]) continue;
          s->is_seen[found.attachment] = 1;
          s->candidate[s->n++]         = found;
        }
      }
    }
  }
  memory_free(&is_listed);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode contact_search_run(contact_search *s, const search_problem *q, const pair_table *known, int64_t *n, contact_candidate **out)
{
  PetscFunctionBeginUser;
  s->n = 0;
  PetscCall(collect_clusters(s, q));
  if (s->n_clusters > 0) {
    PetscCall(place_objects(s, q));
    PetscCall(find_pairs(s, q));
    PetscCall(list_candidates(s, q, known));
  }
  if (known) PetscCall(add_unseen(s, q, known));
  if (s->n > 1) qsort(s->candidate, (size_t)s->n, sizeof *s->candidate, compare_candidates);
  *n   = s->n;
  *out = s->candidate;
  PetscFunctionReturn(PETSC_SUCCESS);
}
