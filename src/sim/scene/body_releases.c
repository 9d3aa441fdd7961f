/* Implementation: an array sorted by time and number. Bodies of the array that do not wait have been released. */
#include "sim/scene/body_releases.h"
#include <stdlib.h>
#include "core/memory.h"
#include "core/sort.h"
#include "discretize/rigid/rigid_body.h"

static const double ROUNDING = 1e-6; /* of the smaller body: depth up to which two bodies only touch */

typedef struct {
  double  time;
  int32_t body;
} planned;

struct body_releases {
  int          n_bodies;
  body *const *body; /* [n_bodies] owned copy of the list */
  int64_t      n, n_done;
  planned     *plan;  /* [n]; the first n_done have been released */
  int32_t     *list;  /* [n] due bodies, then those that are released */
  int32_t     *place; /* [n_bodies] 1 + index in `list` */
  bool        *is_blocked;
};

static int compare_plans(const void *x, const void *y)
{
  const planned *a = x, *b = y;
  if (a->time != b->time) return a->time < b->time ? -1 : 1;
  return (a->body > b->body) - (a->body < b->body);
}

PetscErrorCode body_releases_create(int n_bodies, body *const *bodies, body_releases **out)
{
  body_releases *r;
  int64_t        n = 0;
  PetscFunctionBegin;
  *out = NULL;
  for (int i = 0; i < n_bodies; ++i) n += bodies[i]->is_waiting;
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(memory_alloc("releases", 1, sizeof *r, &r));
  *out        = r;
  r->n_bodies = n_bodies;
  PetscCall(memory_copy("releases", n_bodies, sizeof *bodies, bodies, &r->body));
  PetscCall(MEMORY_ALLOC("releases", ARRAY(r->plan, n), ARRAY(r->list, n), ARRAY(r->place, n_bodies), ARRAY(r->is_blocked, n)));
  for (int i = 0; i < n_bodies; ++i)
    if (bodies[i]->is_waiting) r->plan[r->n++] = (planned){rigid_body_dynamic(bodies[i])->release, i};
  qsort(r->plan, (size_t)n, sizeof *r->plan, compare_plans);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void body_releases_destroy(body_releases **r)
{
  if (*r) MEMORY_FREE(&(*r)->body, &(*r)->plan, &(*r)->list, &(*r)->place, &(*r)->is_blocked, r);
}

/* Set r->list and r->place; returns the number of due bodies. */
static int64_t list_due(body_releases *r, double t)
{
  int64_t n = 0;
  while (r->n_done < r->n && !r->body[r->plan[r->n_done].body]->is_waiting) ++r->n_done;
  for (int64_t k = r->n_done; k < r->n && r->plan[k].time <= t + 1e-12 * fabs(t); ++k) {
    const int32_t i = r->plan[k].body;
    if (!r->body[i]->is_waiting) continue;
    r->is_blocked[n] = false;
    r->list[n++]     = i;
    r->place[i]      = (int32_t)n;
  }
  return n;
}

/* Set r->is_blocked from the overlaps [n] of due bodies. */
static PetscErrorCode block(body_releases *r, const scene_overlaps *o, int64_t n, const scene_overlap *pair)
{
  uint64_t *key __attribute__((cleanup(memory_free))) = NULL; /* two due bodies: place of the later one << 32 | place of the earlier one */
  int32_t  *order __attribute__((cleanup(memory_free))) = NULL;
  int64_t   n_keys                                      = 0;
  PetscFunctionBegin;
  PetscCall(MEMORY_ALLOC("releases", ARRAY(key, n), ARRAY(order, n)));
  for (int64_t k = 0; k < n; ++k) {
    const int32_t a = r->place[pair[k].a], b = r->place[pair[k].b];
    if (!(pair[k].at.depth > ROUNDING * fmin(scene_overlaps_size(o, pair[k].a), scene_overlaps_size(o, pair[k].b)))) continue;
    if (a > 0 && b > 0) key[n_keys++] = (uint64_t)(a > b ? a : b) << 32 | (uint64_t)(a > b ? b : a);
    else r->is_blocked[(a > 0 ? a : b) - 1] = true;
  }
  PetscCall(sort_keys(n_keys, 64, key, order));
  for (int64_t k = 0; k < n_keys; ++k)
    if (!r->is_blocked[(key[k] & UINT32_MAX) - 1]) r->is_blocked[(key[k] >> 32) - 1] = true;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode body_releases_find(body_releases *r, double t, scene_overlaps *o, int64_t *n, const int32_t **list, int32_t *blocked)
{
  const int64_t  n_due                                       = list_due(r, t);
  scene_overlap *found __attribute__((cleanup(memory_free))) = NULL;
  int64_t        n_found                                     = 0;
  PetscFunctionBegin;
  *n = 0, *list = r->list, *blocked = -1;
  if (n_due == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscErrorCode code = scene_overlaps_find_waiting(o, t, n_due, r->list, &n_found, &found);
  if (!code) code = block(r, o, n_found, found);
  for (int64_t k = 0; k < n_due; ++k) {
    const int32_t i = r->list[k];
    r->place[i]     = 0;
    if (!r->is_blocked[k]) r->list[(*n)++] = i;
    else if (*blocked < 0) *blocked = i;
  }
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode body_releases_first(body_releases *r, const void *const *group, int64_t *n, const int32_t **list)
{
  typedef struct {
    const void *group;
    double      time;
  } first_time;
  first_time *first __attribute__((cleanup(memory_free))) = NULL;
  int64_t     n_groups = 0, capacity = 0;
  PetscFunctionBegin;
  *n = 0, *list = r->list;
  for (int64_t k = 0; k < r->n; ++k) {
    int64_t g = 0;
    while (g < n_groups && first[g].group != group[r->plan[k].body]) ++g;
    if (g == n_groups) {
      PetscCall(memory_reserve("releases", ++n_groups, sizeof *first, &capacity, &first));
      first[g] = (first_time){group[r->plan[k].body], r->plan[k].time};
    }
    if (r->plan[k].time == first[g].time) r->list[(*n)++] = r->plan[k].body;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
