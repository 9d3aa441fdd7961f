/* Implementation: box tree over the bounds of bodies, then overlap_pair_find for each candidate pair. Candidates are processed in chunks, and a search at
 * the start ends early if there are very many overlaps, so that memory and time are proportional to the number of bodies. */
#include "sim/scene/scene_overlaps.h"
#include "core/math3.h"
#include "core/memory.h"
#include "contact/detection/contact_stages.h"
#include "geometry/primitive/box_tree.h"
#include <stdlib.h>

struct scene_overlaps {
  int            n_bodies, n_bounded, n_unbounded;
  overlap_shape *shape;               /* [n_bodies] */
  int32_t       *bounded, *unbounded; /* bodies with finite and with infinite bounds at the last placement */
  double        *box[6];              /* [n_bodies] */
  bool          *is_prepared;         /* [n_bodies] the vertices are those of the last placement */
  bool          *is_sought;     /* [n_bodies] waiting bodies, of which only the overlaps are found; NULL: all bodies that do not wait */
  bool           is_known;      /* `before` has the depths of all pairs that have not moved since */
  bool           is_incomplete; /* the last search found more than MOST_PER_BODY overlaps per body */
  int64_t        n, n_kept, capacity, n_before, before_capacity; /* list [n_kept]: overlaps, up to n: candidates */
  scene_overlap *list, *before;                                  /* of the last search; of the search before */
  overlap_scene  scene;
  contact_rests  rest;
};

PetscErrorCode scene_overlaps_create(const overlap_scene *s, body *const *bodies, scene_overlaps **out)
{
  scene_overlaps *o;
  const int       n = s->n_bodies;
  PetscFunctionBegin;
  PetscCall(memory_alloc("overlaps", 1, sizeof *o, &o));
  *out        = o;
  o->n_bodies = n;
  o->scene    = *s;
  PetscCall(MEMORY_ALLOC("overlaps", ARRAY(o->shape, n), ARRAY(o->bounded, n), ARRAY(o->unbounded, n), ARRAY(o->is_prepared, n)));
  for (int k = 0; k < 6; ++k) PetscCall(memory_alloc("overlaps", n, sizeof *o->box[k], &o->box[k]));
  for (int i = 0; i < n; ++i)
    PetscCall(overlap_shape_create(bodies[i], s->has_thick_fibres, i > 0 ? &o->shape[i - 1] : NULL, &o->shape[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void scene_overlaps_destroy(scene_overlaps **out)
{
  if (!out || !*out) return;
  scene_overlaps *o = *out;
  for (int i = 0; i < o->n_bodies && o->shape; ++i) overlap_shape_clear(&o->shape[i]);
  for (int k = 0; k < 6; ++k) memory_free(&o->box[k]);
  MEMORY_FREE(&o->shape, &o->bounded, &o->unbounded, &o->is_prepared, &o->list, &o->before, &o->rest.pair, &o->rest.depth,
              &o->rest.reduction, out);
}

static bool is_on_grid(const scene_overlaps *o, int a, int b)
{
  return o->scene.touches_on_grid && !o->shape[a].b->ops->carrier != !o->shape[b].b->ops->carrier;
}

static const contact_law *law_of(const scene_overlaps *o, int a, int b)
{
  return &o->scene.law[pair_slot(o->scene.pairs, o->n_bodies, a, b)];
}

static bool may_touch(const scene_overlaps *o, int a, int b, bool is_initial)
{
  const contact_law *law = law_of(o, a, b);
  if (o->is_sought && !o->is_sought[a] && !o->is_sought[b]) return false;
  if (is_initial && a != b && o->shape[a].particles && o->shape[b].particles) return true; /* contact through the grid, without a law */
  if (law->never_touch || law->stiffness == 0.0) return false;
  return is_initial || !is_on_grid(o, a, b);
}

static int compare_overlaps(const void *x, const void *y)
{
  const scene_overlap *p = x, *q = y;
  if (p->a != q->a) return p->a < q->a ? -1 : 1;
  return (p->b > q->b) - (p->b < q->b);
}

static PetscErrorCode add_candidate(scene_overlaps *o, int a, int b)
{
  PetscFunctionBegin;
  PetscCall(memory_reserve("overlaps", o->n + 1, sizeof *o->list, &o->capacity, &o->list));
  o->list[o->n++] = (scene_overlap){.a = a < b ? a : b, .b = a < b ? b : a};
  PetscFunctionReturn(PETSC_SUCCESS);
}

static bool is_present(const scene_overlaps *o, int i) { return !o->shape[i].b->is_waiting || (o->is_sought && o->is_sought[i]); }

static void place_boxes(scene_overlaps *o)
{
  o->n_bounded = o->n_unbounded = 0;
  for (int i = 0; i < o->n_bodies; ++i) {
    const overlap_shape *s = &o->shape[i];
    o->is_prepared[i]      = false;
    if (!is_present(o, i) || !(s->min[0] <= s->max[0])) continue; /* without a shape */
    bool is_bounded = true;
    for (int k = 0; k < 3; ++k) is_bounded = is_bounded && isfinite(s->min[k]) && isfinite(s->max[k]);
    if (!is_bounded) {
      o->unbounded[o->n_unbounded++] = i;
      continue;
    }
    for (int k = 0; k < 3; ++k) o->box[k][o->n_bounded] = s->min[k], o->box[3 + k][o->n_bounded] = s->max[k];
    o->bounded[o->n_bounded++] = i;
  }
}

enum { CANDIDATE_CHUNK = 1 << 18, MOST_PER_BODY = 20 };
enum { FEW_BODIES = 16 }; /* up to this number all pairs of boxes are compared: this takes less time than the creation of a tree */

static bool boxes_overlap(const overlap_shape *a, const overlap_shape *b)
{
  for (int k = 0; k < 3; ++k)
    if (a->min[k] > b->max[k] || a->max[k] < b->min[k]) return false;
  return true;
}

/* Pairs of bounded body i that may touch and whose bounds overlap, with unbounded bodies and bounded ones after it. tree NULL: all are compared. */
static PetscErrorCode find_candidates(scene_overlaps *o, const box_tree *tree, int i, bool is_initial)
{
  const int            a    = o->bounded[i];
  const overlap_shape *self = &o->shape[a];
  box_walk             walk;
  int32_t              found[BOX_TREE_WIDTH];
  PetscFunctionBegin;
  if (self->fibres.n_segments > 0 && may_touch(o, a, a, is_initial)) PetscCall(add_candidate(o, a, a));
  for (int k = 0; k < o->n_unbounded; ++k)
    if (may_touch(o, a, o->unbounded[k], is_initial)) PetscCall(add_candidate(o, a, o->unbounded[k]));
  for (int k = i + 1; !tree && k < o->n_bounded; ++k)
    if (may_touch(o, a, o->bounded[k], is_initial) && boxes_overlap(self, &o->shape[o->bounded[k]]))
      PetscCall(add_candidate(o, a, o->bounded[k]));
  if (!tree) PetscFunctionReturn(PETSC_SUCCESS);
  box_walk_begin(&walk, tree, self->min, self->max);
  for (int m = box_walk_next(&walk, found); m > 0; m = box_walk_next(&walk, found))
    for (int k = 0; k < m; ++k)
      if (found[k] > i && may_touch(o, a, o->bounded[found[k]], is_initial)) PetscCall(add_candidate(o, a, o->bounded[found[k]]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Both bodies consist of convex solids: their surfaces are not needed. */
static bool is_convex(const scene_overlaps *o, const scene_overlap *p)
{
  return o->shape[p->a].n_solids > 0 && o->shape[p->b].n_solids > 0;
}

static PetscErrorCode prepare_shapes(scene_overlaps *o)
{
  PetscFunctionBegin;
  for (int64_t k = o->n_kept; k < o->n; ++k) {
    const int of[2] = {o->list[k].a, o->list[k].b};
    if (is_convex(o, &o->list[k])) continue;
    for (int side = 0; side < 2; ++side) {
      if (o->is_prepared[of[side]]) continue;
      o->is_prepared[of[side]] = true;
      PetscCall(overlap_shape_prepare_vertices(&o->shape[of[side]]));
    }
    for (int side = 0; side < 2; ++side)
      if (!o->shape[of[1 - side]].is_walls) PetscCall(overlap_shape_prepare_inside(&o->shape[of[side]]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The list of the last search becomes the one of the search before. */
static void keep_list(scene_overlaps *o)
{
  scene_overlap *list     = o->before;
  const int64_t  capacity = o->before_capacity;
  o->before = o->list, o->n_before = o->n, o->before_capacity = o->capacity;
  o->list = list, o->n = 0, o->capacity = capacity;
}

/* Both lists are in ascending order. */
static void find_earlier_depths(scene_overlaps *o)
{
  int64_t j = 0;
  for (int64_t k = 0; k < o->n; ++k) {
    scene_overlap *p = &o->list[k];
    while (j < o->n_before && compare_overlaps(&o->before[j], p) < 0) ++j;
    p->before = j < o->n_before && compare_overlaps(&o->before[j], p) == 0 ? o->before[j].at.depth : 0.0;
  }
}

/* Row of bodies a and b in a list [n]; NULL: none. */
static const scene_overlap *find_in(int64_t n, const scene_overlap *list, int a, int b)
{
  const scene_overlap key = {.a = a < b ? a : b, .b = a < b ? b : a};
  return n > 0 ? bsearch(&key, list, (size_t)n, sizeof *list, compare_overlaps) : NULL;
}

/* Set the overlap of a pair that has not moved since the last search to that of the last search. */
static bool is_repeated(const scene_overlaps *o, scene_overlap *p)
{
  if (!o->is_known || !o->shape[p->a].is_still || !o->shape[p->b].is_still) return false;
  const scene_overlap *last = find_in(o->n_before, o->before, p->a, p->b);
  if (last) p->at = last->at;
  return true;
}

/* Keep those candidates that overlap. */
static PetscErrorCode keep_overlaps(scene_overlaps *o, bool is_initial)
{
  PetscFunctionBegin;
  PetscCall(prepare_shapes(o));
#pragma omp parallel for schedule(dynamic, 8) if (o->n - o->n_kept > 16)
  for (int64_t k = o->n_kept; k < o->n; ++k) {
    scene_overlap       *p = &o->list[k];
    const overlap_shape *a = &o->shape[p->a], *b = &o->shape[p->b];
    if (!is_repeated(o, p) && !overlap_pair_is_serial(a, b)) (void)overlap_pair_find(a, b, is_initial, is_initial, &p->at);
  }
  for (int64_t k = o->n_kept; k < o->n; ++k) {
    scene_overlap       *p = &o->list[k];
    const overlap_shape *a = &o->shape[p->a], *b = &o->shape[p->b];
    if (!is_repeated(o, p) && overlap_pair_is_serial(a, b)) PetscCall(overlap_pair_find(a, b, is_initial, is_initial, &p->at));
    if (p->at.depth > 0.0) o->list[o->n_kept++] = *p;
  }
  o->n = o->n_kept;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Fill o->list. */
static PetscErrorCode evaluate(scene_overlaps *o, double t, bool is_initial)
{
  box_tree      tree   = {0};
  const bool    is_few = o->n_bodies <= FEW_BODIES;
  const int64_t most   = is_initial ? (int64_t)MOST_PER_BODY * o->n_bodies + CANDIDATE_CHUNK : INT64_MAX;
  PetscFunctionBegin;
  o->n = o->n_kept = 0;
  for (int i = 0; i < o->n_bodies; ++i)
    if (is_present(o, i)) PetscCall(overlap_shape_place(&o->shape[i], t));
  place_boxes(o);
  PetscErrorCode code = is_few ? PETSC_SUCCESS : box_tree_create(o->n_bounded, &tree);
  if (!is_few && !code) box_tree_fit(&tree, o->box);
  for (int i = 0; i < o->n_bounded && !code && o->n_kept <= most; ++i) {
    code = find_candidates(o, is_few ? NULL : &tree, i, is_initial);
    if (!code && (o->n - o->n_kept >= CANDIDATE_CHUNK || i + 1 == o->n_bounded)) code = keep_overlaps(o, is_initial);
  }
  box_tree_clear(&tree);
  PetscCall(code);
  o->is_incomplete = o->n_kept > most;
  if (o->n > 1) qsort(o->list, (size_t)o->n, sizeof *o->list, compare_overlaps);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode scene_overlaps_find(scene_overlaps *o, double t, bool is_initial, int64_t *n, const scene_overlap **list)
{
  PetscFunctionBegin;
  timer_begin(TIMER_OVERLAPS);
  keep_list(o);
  if (is_initial) o->is_known = false; /* a thorough search finds more */
  PetscCall(evaluate(o, t, is_initial));
  o->is_known = !is_initial;
  find_earlier_depths(o);
  timer_end(TIMER_OVERLAPS);
  *n    = o->n;
  *list = o->list;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode scene_overlaps_find_waiting(scene_overlaps *o, double t, int64_t n, const int32_t *sought, int64_t *n_found,
                                           scene_overlap **list)
{
  const scene_overlaps last = *o;
  PetscFunctionBegin;
  *list = NULL, *n_found = 0;
  PetscCall(memory_alloc("overlaps", o->n_bodies, sizeof *o->is_sought, &o->is_sought));
  for (int64_t k = 0; k < n; ++k) o->is_sought[sought[k]] = true;
  o->list = NULL, o->n = o->capacity = 0;
  o->is_known = false; /* also in the next search: this one may have placed bodies */
  timer_begin(TIMER_OVERLAPS);
  const PetscErrorCode code = evaluate(o, t, true);
  timer_end(TIMER_OVERLAPS);
  *list = o->list, *n_found = o->n;
  o->list = last.list, o->n = last.n, o->capacity = last.capacity;
  memory_free(&o->is_sought);
  if (code) memory_free(list);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

bool scene_overlaps_are_too_many(const scene_overlaps *o) { return o->is_incomplete; }

int64_t scene_overlaps_list(const scene_overlaps *o, const scene_overlap **list)
{
  *list = o->list;
  return o->n;
}

double scene_overlaps_depth(const scene_overlaps *o, int on, int with)
{
  double deepest = 0.0;
  for (int64_t k = 0; k < o->n; ++k) {
    const scene_overlap *p = &o->list[k];
    if (on < 0 || (p->a == on && (with < 0 || p->b == with)) || (p->b == on && (with < 0 || p->a == with)))
      deepest = fmax(deepest, p->at.depth);
  }
  return deepest;
}

const overlap_shape *scene_overlaps_shape(const scene_overlaps *o, int i) { return &o->shape[i]; }
double               scene_overlaps_size(const scene_overlaps *o, int i) { return o->shape[i].size; }
bool                 scene_overlaps_has_particles(const scene_overlaps *o, int i) { return o->shape[i].particles != NULL; }
bool                 scene_overlaps_has_fibres(const scene_overlaps *o, int i) { return o->shape[i].fibres.n_segments > 0; }

/* Overlap of two bodies in the last search; NULL: none. */
static const scene_overlap *find_overlap(const scene_overlaps *o, int a, int b) { return find_in(o->n, o->list, a, b); }

/* ---- rest depths ---- */

const contact_rests *scene_overlaps_rests(const scene_overlaps *o) { return o->rest.n > 0 ? &o->rest : NULL; }

static bool has_rest(const scene_overlaps *o, const scene_overlap *p)
{
  const contact_law *law = law_of(o, p->a, p->b);
  return law->may_overlap && !law->is_preloaded;
}

PetscErrorCode scene_overlaps_begin(scene_overlaps *o, field_table *fields)
{
  field_group *group;
  PetscFunctionBegin;
  for (int64_t k = 0; k < o->n; ++k) o->rest.n += has_rest(o, &o->list[k]);
  if (o->rest.n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MEMORY_ALLOC("rest overlaps", ARRAY(o->rest.pair, 2 * o->rest.n), ARRAY(o->rest.depth, o->rest.n),
                         ARRAY(o->rest.reduction, o->rest.n)));
  for (int64_t k = 0, r = 0; k < o->n; ++k) {
    if (!has_rest(o, &o->list[k])) continue;
    o->rest.pair[2 * r] = o->list[k].a, o->rest.pair[2 * r + 1] = o->list[k].b;
    o->rest.depth[r++] = o->list[k].at.depth;
  }
  PetscCall(field_table_add_group(fields, "contact/rest_overlaps", FIELD_GROUP_PLAIN, &o->rest.n, o, &group));
  PetscCall(field_table_add(fields, group, "depth", "m", FIELD_F64, 1, &o->rest.depth, FIELD_CHECKPOINT,
                            "overlap at the start of the run that is not yet corrected"));
  PetscCall(field_table_add(fields, group, "reduction", "m", FIELD_F64, 1, &o->rest.reduction, FIELD_CHECKPOINT,
                            "reduction of this depth after the last step"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void scene_overlaps_relax(scene_overlaps *o, double dt)
{
  if (o->rest.n == 0) return;
  const double given = o->scene.overlap_correction_speed;
  const double speed = isfinite(given) ? given : o->scene.acceleration_scale * dt;
  for (int64_t r = 0; r < o->rest.n; ++r) {
    const scene_overlap *now    = find_overlap(o, o->rest.pair[2 * r], o->rest.pair[2 * r + 1]);
    const double         depth  = now ? now->at.depth : 0.0;
    const double         before = o->rest.depth[r];
    o->rest.depth[r]            = fmax(0.0, fmin(before - speed * dt, depth));
    o->rest.reduction[r]        = before - o->rest.depth[r];
  }
}

double scene_overlaps_reduction(const scene_overlaps *o, int a, int b)
{
  const scene_overlap *found = find_overlap(o, a, b);
  return found ? fmax(0.0, found->before - found->at.depth) : 0.0;
}
