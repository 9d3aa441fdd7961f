/* Candidate pairs of points and level sets, see contact_search.h: culling by spheres around clusters of points. */
#include "contact/detection/contact_search.h"
#include "core/math3.h"
#include "core/memory.h"
#include <stdlib.h>

/* The clusters of points of one source; computed once per step. */
typedef struct {
  double  center[3], radius;
  int64_t first, end;
  int64_t n_hits, offset; /* points near the current object: their number, and the index of the first in the result */
} cluster;

struct contact_search {
  int64_t            n, capacity;
  contact_candidate *candidate;
  int64_t            n_clusters, cluster_capacity;
  cluster           *cluster;
  int64_t            hit_capacity;
  uint8_t           *hit; /* [points of the source] true: the point is near the current object */
  int64_t            known_capacity;
  uint8_t           *is_seen; /* [rows of the pair table] */
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
  MEMORY_FREE(&(*s)->candidate, &(*s)->cluster, &(*s)->hit, &(*s)->is_seen, s);
}

void contact_search_number(int n_bodies, int n_objects, const contact_object *objects, int32_t *key)
{
  for (int j = 0; j < n_objects; ++j) {
    int earlier = 0;
    for (int i = 0; i < j; ++i) earlier += objects[i].body_id == objects[j].body_id;
    key[j] = objects[j].body_id + n_bodies * earlier;
  }
}

static PetscErrorCode collect_clusters(contact_search *s, const body *b, int64_t *n_points)
{
  PetscFunctionBeginUser;
  s->n_clusters = b->ops->n_clusters(b);
  PetscCall(memory_reserve("contact clusters", s->n_clusters, sizeof *s->cluster, &s->cluster_capacity, &s->cluster));
  const int64_t n       = s->n_clusters;
  cluster      *c       = s->cluster;
  int64_t       largest = 0;
#pragma omp parallel for schedule(static) if (n > CONTACT_SERIAL_CLUSTERS) reduction(max : largest)
  for (int64_t i = 0; i < n; ++i) {
    b->ops->cluster(b, i, c[i].center, &c[i].radius, &c[i].first, &c[i].end);
    if (c[i].end > largest) largest = c[i].end;
  }
  *n_points = largest;
  PetscCall(memory_reserve("contact hits", largest, sizeof *s->hit, &s->hit_capacity, &s->hit));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Test with the bounding box of a level set. It takes less time than an evaluation and, unlike a sampled level set, is exact far away. */
static bool is_far(const double min[3], const double max[3], const double x[3], double reach)
{
  for (int k = 0; k < 3; ++k)
    if (x[k] < min[k] - reach || x[k] > max[k] + reach) return true;
  return false;
}

static int64_t mark_hits(contact_search *s, const body *b, const level_set *phi, const rigid_frame *frame, double margin)
{
  const int64_t  n   = s->n_clusters;
  cluster *const c   = s->cluster;
  uint8_t *const hit = s->hit;
  double         min[3], max[3];
  level_set_bounds(phi, min, max);
#pragma omp parallel for schedule(dynamic, 16) if (n > CONTACT_SERIAL_CLUSTERS)
  for (int64_t i = 0; i < n; ++i) {
    double x[3], x_b[3];
    c[i].n_hits = 0;
    rigid_frame_to_local(frame, c[i].center, x_b);
    const double reach = c[i].radius + margin;
    if (is_far(min, max, x_b, reach) || level_set_value(phi, x_b) > reach) continue;
    for (int64_t p = c[i].first; p < c[i].end; ++p) {
      b->ops->point(b, p, x);
      rigid_frame_to_local(frame, x, x_b);
      hit[p] = !is_far(min, max, x_b, margin) && level_set_value(phi, x_b) <= margin;
      c[i].n_hits += hit[p];
    }
  }
  int64_t total = 0;
  for (int64_t i = 0; i < n; ++i) {
    c[i].offset = total;
    total += c[i].n_hits;
  }
  return total;
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

static PetscErrorCode search_pair(contact_search *s, const search_problem *q, const pair_table *known, int i_source, int i_object)
{
  const contact_object *object = &q->objects[i_object];
  const body           *b      = q->sources[i_source].b;
  PetscFunctionBeginUser;
  const double  margin = q->reach ? q->reach[(int64_t)i_source * q->n_objects + i_object] : q->margin;
  const int64_t total  = mark_hits(s, b, object->phi, &q->frames[object->frame], margin);
  PetscCall(memory_reserve("contact candidates", s->n + total, sizeof *s->candidate, &s->capacity, &s->candidate));
  contact_candidate *const out = s->candidate + s->n;
  const cluster *const     c   = s->cluster;
  const uint8_t *const     hit = s->hit;
  const int64_t            n   = s->n_clusters;
#pragma omp parallel for schedule(dynamic, 16) if (n > CONTACT_SERIAL_CLUSTERS)
  for (int64_t i = 0; i < n; ++i)
    if (c[i].n_hits > 0)
      for (int64_t p = c[i].first, at = c[i].offset; p < c[i].end; ++p)
        if (hit[p]) out[at++] = make_candidate(q, known, i_source, i_object, p);
  s->n += total;
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

static bool may_touch(const search_problem *q, int i_source, int i_object)
{
  const int from = q->sources[i_source].body_id, to = q->objects[i_object].body_id;
  return from != to && q->may_touch[pair_slot(q->pairs, q->n_bodies, from, to)];
}

/* Add known pairs whose points are beyond the margin, for example after a user has moved a body. This is rare, so all points are searched. */
static PetscErrorCode add_unseen(contact_search *s, const search_problem *q, const pair_table *known)
{
  PetscFunctionBeginUser;
  const int64_t n_known = pair_table_size(known);
  int64_t       n_seen  = 0;
  PetscCall(memory_reserve("known contacts", n_known, sizeof *s->is_seen, &s->known_capacity, &s->is_seen));
  for (int64_t i = 0; i < n_known; ++i) s->is_seen[i] = 0;
  for (int64_t i = 0; i < s->n; ++i)
    if (s->candidate[i].attachment >= 0) ++n_seen, s->is_seen[s->candidate[i].attachment] = 1;
  if (n_seen == n_known) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(memory_reserve("contact candidates", s->n + n_known - n_seen, sizeof *s->candidate, &s->capacity, &s->candidate));
  for (int i = 0; i < q->n_sources; ++i) {
    const body *b = q->sources[i].b;
    if (b->ops->points == POINT_NONE) continue;
    for (int j = 0; j < q->n_objects; ++j) {
      if (!may_touch(q, i, j)) continue;
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
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode contact_search_run(contact_search *s, const search_problem *q, const pair_table *known, int64_t *n, contact_candidate **out)
{
  PetscFunctionBeginUser;
  s->n = 0;
  for (int i = 0; i < q->n_sources; ++i) {
    const body *b        = q->sources[i].b;
    int64_t     n_points = 0;
    if (b->ops->points == POINT_NONE) continue;
    PetscCall(collect_clusters(s, b, &n_points));
    for (int j = 0; j < q->n_objects; ++j) {
      SS_ASSERT(q->objects[j].frame >= 0 && q->objects[j].frame < q->n_frames);
      if (n_points > 0 && may_touch(q, i, j)) PetscCall(search_pair(s, q, known, i, j));
    }
  }
  if (known) PetscCall(add_unseen(s, q, known));
  if (s->n > 1) qsort(s->candidate, (size_t)s->n, sizeof *s->candidate, compare_candidates);
  *n   = s->n;
  *out = s->candidate;
  PetscFunctionReturn(PETSC_SUCCESS);
}
