/* Contact stiffness from limits of the penetration, see contact_stiffness.h. */
#include "sim/scene/contact_stiffness.h"
#include "core/math3.h"
#include "core/memory.h"
#include <stdlib.h>

static const double static_share = CONTACT_STATIC_SHARE, impact_share = 0.1; /* of h */

/* Distance of the points of a deformable body; INFINITY: none, or not smaller than the body. */
static double spacing_of(const body_survey *b) { return b->is_free && !b->is_rigid && b->spacing < 0.5 * b->size ? b->spacing : INFINITY; }

static double length_of_body(const body_survey *b) { return fmin(b->size, spacing_of(b)); }
static bool   can_be_carried(const body_survey *b) { return b->is_free && b->mass > 0.0; }

double contact_length_of(const body_survey *b, int i, int j)
{
  return fmin(fmin(b[i].size, b[j].size), fmin(spacing_of(&b[i]), spacing_of(&b[j])));
}

int contact_carried_body(const body_survey *b, int i, int j)
{
  const bool can_i = can_be_carried(&b[i]), can_j = can_be_carried(&b[j]);
  if (can_i && can_j) return b[i].load <= b[j].load ? i : j;
  return can_i ? i : can_j ? j : -1;
}

/* Largest force of an impact with speed v on a contact point of a deformable body [N]; INFINITY: rigid. */
static double largest_force(const body_survey *b, double v)
{
  return b->wave_speed > 0.0 && isfinite(b->spacing) ? b->density * b->wave_speed * (b->wave_speed + v) * b->spacing * b->spacing
                                                     : INFINITY;
}

double contact_stiffness_of(const body_survey *b, int i, int j)
{
  double       v[3];
  const int    carried = contact_carried_body(b, i, j);
  const double h       = contact_length_of(b, i, j);
  if (carried < 0 || !isfinite(h) || !(h > 0.0)) return NAN;
  v3_sub(v, b[i].v, b[j].v);
  const double n    = (double)b[carried].n_bottom,
               m    = fmin(b[i].is_free && b[i].mass > 0.0 ? b[i].mass : INFINITY, b[j].is_free && b[j].mass > 0.0 ? b[j].mass : INFINITY);
  const double most = fmin(largest_force(&b[i], v3_norm(v)), largest_force(&b[j], v3_norm(v))) / (impact_share * h);
  const double impact = fmin(m * v3_dot(v, v) / (n * impact_share * impact_share * h * h), most);
  const double k      = fmax(b[carried].load / (n * static_share * h), impact);
  return k > 0.0 && isfinite(k) ? k : NAN;
}

/* ---- the largest stiffness of many pairs ---- */

/* Bounds of a range of bodies. Loads, masses and points are those of bodies that can be carried. */
typedef struct {
  int32_t lo, hi; /* range in `order` */
  bool    has_carried, has_others;
  double  h, load, mass, n, v_min[3], v_max[3]; /* h, n: smallest; load, mass: largest */
} body_bounds;

enum { LEAF = 8 };

/* Bodies of one class in descending order of their loads, those of equal loads in ascending order of h, and a binary tree of their bounds: children of node k are 2 k + 1 and 2 k + 2. */
typedef struct {
  int32_t      n;
  int32_t     *order;
  body_bounds *node;
} bounds_tree;

typedef struct {
  float   load; /* rounded: loads that differ by rounding errors are equal */
  double  h;
  int32_t body;
} sized_body;

static int compare_sizes(const void *x, const void *y)
{
  const sized_body *a = x, *b = y;
  if (a->load != b->load) return a->load > b->load ? -1 : 1;
  if (a->h != b->h) return a->h < b->h ? -1 : 1;
  return (a->body > b->body) - (a->body < b->body);
}

static void set_bounds(const body_survey *s, bounds_tree *t, int64_t k, int32_t lo, int32_t hi)
{
  body_bounds *b = &t->node[k];
  *b             = (body_bounds){.lo = lo, .hi = hi, .h = INFINITY, .n = INFINITY};
  for (int a = 0; a < 3; ++a) b->v_min[a] = INFINITY, b->v_max[a] = -INFINITY;
  for (int32_t i = lo; i < hi; ++i) {
    const body_survey *of = &s[t->order[i]];
    b->h                  = fmin(b->h, length_of_body(of));
    for (int a = 0; a < 3; ++a) b->v_min[a] = fmin(b->v_min[a], of->v[a]), b->v_max[a] = fmax(b->v_max[a], of->v[a]);
    if (!can_be_carried(of)) b->has_others = true;
    else {
      b->has_carried = true;
      b->load = fmax(b->load, of->load), b->mass = fmax(b->mass, of->mass), b->n = fmin(b->n, (double)of->n_bottom);
    }
  }
  if (hi - lo <= LEAF) return;
  set_bounds(s, t, 2 * k + 1, lo, lo + (hi - lo) / 2);
  set_bounds(s, t, 2 * k + 2, lo + (hi - lo) / 2, hi);
}

static PetscErrorCode create_tree(const body_survey *s, int32_t n, const int32_t *member, bounds_tree *t)
{
  sized_body *list;
  int64_t     n_nodes = 1;
  PetscFunctionBegin;
  *t = (bounds_tree){.n = n};
  while (n_nodes * LEAF < 2 * (int64_t)n) n_nodes *= 2;
  PetscCall(MEMORY_ALLOC("contact stiffness", ARRAY(t->order, n), ARRAY(t->node, 2 * n_nodes), ARRAY(list, n)));
  for (int32_t i = 0; i < n; ++i) list[i] = (sized_body){(float)s[member[i]].load, length_of_body(&s[member[i]]), member[i]};
  if (n > 1) qsort(list, (size_t)n, sizeof *list, compare_sizes);
  for (int32_t i = 0; i < n; ++i) t->order[i] = list[i].body;
  set_bounds(s, t, 0, 0, n);
  memory_free(&list);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Upper bound of contact_stiffness_of for pairs of both ranges; -1: no pair has a value. The operations are those of contact_stiffness_of, so that
 * rounding preserves the bound. The limit by the wave speed is left out. */
static double largest_stiffness(const body_bounds *a, const body_bounds *b)
{
  const bool   is_mixed = a->has_others || b->has_others;
  const double h = fmin(a->h, b->h), n = fmin(a->n, b->n), load = is_mixed ? fmax(a->load, b->load) : fmin(a->load, b->load),
               mass = is_mixed ? fmax(a->mass, b->mass) : fmin(a->mass, b->mass);
  double speed2     = 0.0;
  if (!a->has_carried && !b->has_carried) return -1.0;
  for (int k = 0; k < 3; ++k) {
    const double most = fmax(fabs(a->v_max[k] - b->v_min[k]), fabs(b->v_max[k] - a->v_min[k]));
    speed2 += most * most * (1.0 + 1e-12);
  }
  return fmax(load / (n * static_share * h), mass * speed2 / (n * impact_share * impact_share * h * h));
}

typedef struct {
  const pair_classes *pairs;
  int64_t             slot;
  bounds_tree         a, b;
  const double       *limit; /* may grow during the search */
  bool (*visit)(void *context, int32_t i, int32_t j);
  void *context;
  bool  is_over;
} stiffness_search;

static void visit_pair(stiffness_search *q, int32_t i, int32_t j)
{
  if (!q->is_over && pair_slot(q->pairs, q->pairs->n, i, j) == q->slot) q->is_over = !q->visit(q->context, i, j);
}

static void search_nodes(stiffness_search *q, int64_t k, int64_t l)
{
  const body_bounds *a = &q->a.node[k], *b = &q->b.node[l];
  if (q->is_over || largest_stiffness(a, b) <= *q->limit) return;
  const int32_t n_a = a->hi - a->lo, n_b = b->hi - b->lo;
  if (n_a > LEAF && n_a >= n_b) {
    search_nodes(q, 2 * k + 1, l);
    search_nodes(q, 2 * k + 2, l);
  } else if (n_b > LEAF) {
    search_nodes(q, k, 2 * l + 1);
    search_nodes(q, k, 2 * l + 2);
  } else {
    for (int32_t i = a->lo; i < a->hi; ++i)
      for (int32_t j = b->lo; j < b->hi; ++j) visit_pair(q, q->a.order[i], q->b.order[j]);
  }
}

static PetscErrorCode search_slot(const body_survey *survey, stiffness_search *q)
{
  const int32_t *of_a, *of_b;
  int32_t        n_a, n_b;
  PetscFunctionBegin;
  if (q->pairs->count[q->slot] == 0) PetscFunctionReturn(PETSC_SUCCESS);
  pair_classes_members(q->pairs, q->slot, &n_a, &of_a, &n_b, &of_b);
  if (q->pairs->example[2 * q->slot] == q->pairs->example[2 * q->slot + 1]) { /* bodies with themselves */
    for (int32_t i = 0; i < n_a; ++i) visit_pair(q, of_a[i], of_a[i]);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscErrorCode code = create_tree(survey, n_a, of_a, &q->a);
  if (!code) code = create_tree(survey, n_b, of_b, &q->b);
  if (!code) search_nodes(q, 0, 0);
  MEMORY_FREE(&q->a.order, &q->a.node, &q->b.order, &q->b.node);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode contact_stiffness_visit(const body_survey *survey, const pair_classes *pairs, int64_t slot, double limit,
                                       bool (*visit)(void *context, int32_t i, int32_t j), void *context)
{
  stiffness_search q = {.pairs = pairs, .slot = slot, .limit = &limit, .visit = visit, .context = context};
  PetscFunctionBegin;
  PetscCall(search_slot(survey, &q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  const body_survey *survey;
  double             k; /* -1: no pair has a value yet */
} largest_value;

static bool raise_stiffness(void *context, int32_t i, int32_t j)
{
  largest_value *v = context;
  const double   k = contact_stiffness_of(v->survey, i < j ? i : j, i < j ? j : i);
  if (isfinite(k) && k > v->k) v->k = k;
  return true;
}

PetscErrorCode contact_stiffness_raise(const body_survey *survey, const pair_classes *pairs, int64_t slot, double *k)
{
  largest_value    v = {survey, isnan(*k) ? -1.0 : *k};
  stiffness_search q = {.pairs = pairs, .slot = slot, .limit = &v.k, .visit = raise_stiffness, .context = &v};
  PetscFunctionBegin;
  PetscCall(search_slot(survey, &q));
  if (v.k > 0.0) *k = v.k;
  PetscFunctionReturn(PETSC_SUCCESS);
}
