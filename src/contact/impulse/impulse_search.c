/* Which pairs meet on their ways through the step. Between two searches of one step few vertices change: pairs stay those that the
 * broad phase found with some slack while it lasts, and only those with a vertex that changed are asked again. What is found is the
 * same as without all this.
 *
 * Two balls of 101,400 triangles, two edges into each other in one step: 0.55 million queries in three searches without slack, 82
 * million with a slack of four times the last change, which is an edge: hence its bound (November 2026). */
#include "geometry/collision/ccd.h"
#include "contact/impulse/impulses_internal.h"
#include "core/math3.h"
#include "core/memory.h"
#include <float.h>

#define CERTAINTY 0.1 /* of the separation: what detection may be off */
#define SLACK 4.0     /* of the last change: of boxes that are kept; half of it is what they bear */
#define MOST_SLACK 0.05 /* of the mean edge */
#define NOISE (64.0 * DBL_EPSILON) /* of coordinates: what rounding may do to the height above a wall */

/* What one search looks at. */
typedef struct {
  impulses     *a;
  const double *x0, *x1;
  ccd_limits    limits;
  meeting_kind  kind;
  bool          is_first; /* else pairs without a change are what they were: */
  bool          is_listed_anew; /* by a->before, else by their flags */
} search;

static void nodes_of(const search *s, int64_t i, int32_t node[4])
{
  const broad_phase_surfaces *b = &s->a->scene.surfaces;
  const broad_phase_pair      p = s->a->list[s->kind].pair[i];
  if (s->kind == MEETING_EDGE_EDGE) {
    node[0] = b->edge[2 * (int64_t)p.first], node[1] = b->edge[2 * (int64_t)p.first + 1];
    node[2] = b->edge[2 * (int64_t)p.second], node[3] = b->edge[2 * (int64_t)p.second + 1];
  } else {
    node[0] = b->point ? b->point[p.first] : p.first;
    for (int k = 0; k < 3; ++k) node[1 + k] = b->triangle[3 * (int64_t)p.second + k];
  }
}

/* Pairs that nothing could be done about, or that move as one. */
static bool is_idle(const impulses *a, const int32_t node[4])
{
  bool          is_held = true, is_one = true;
  const int32_t leader = a->leader[node[0]];
  for (int k = 0; k < 4; ++k) is_held = is_held && a->is_held[node[k]], is_one = is_one && a->leader[node[k]] == leader;
  return is_held || is_one;
}

static bool query(const search *s, const int32_t node[4], ccd_hit *hit)
{
  double     x0[12], x1[12];
  ccd_limits limits   = s->limits;
  const bool is_edges = s->kind == MEETING_EDGE_EDGE;
  for (int k = 0; k < 4; ++k) v3_copy(x0 + 3 * k, s->x0 + 3 * (int64_t)node[k]), v3_copy(x1 + 3 * k, s->x1 + 3 * (int64_t)node[k]);
  if (ccd_corners_are_apart(x0, x1, is_edges ? 2 : 1, limits.separation + limits.tolerance)) return false;
  for (int k = 0;; ++k) {
    if (!(is_edges ? ccd_edge_edge_near(x0, x1, &limits, hit) : ccd_point_triangle_near(x0, x1, &limits, hit))) return false;
    if (s->x0 == s->x1 || hit->t > 0.0 || limits.separation == 0.0 || k > 0) return true;
    limits.separation = 0.5 * hit->distance,
    limits.tolerance  = CERTAINTY * limits.separation; /* already so near: half of that, then */
  }
}

/* From the centers of what carries the features to their places at the beginning. */
static void arms(const impulses *a, meeting *m, int n_nodes, int n_first, const double *x0)
{
  for (int side = 0; side < 2; ++side) {
    double       *arm = m->arm[side];
    const int32_t r   = m->side[side];
    v3_set(arm, 0.0, 0.0, 0.0);
    if (r < 0) continue;
    for (int k = side == 0 ? 0 : n_first; k < (side == 0 ? n_first : n_nodes); ++k)
      v3_axpy(arm, fabs(m->weight[k]), x0 + 3 * (int64_t)m->node[k]);
    v3_axpy(arm, -1.0, a->step->rigid[r].center);
  }
}

static void describe(const search *s, int64_t i, const int32_t node[4], const ccd_hit *hit, meeting *m)
{
  const impulses        *a       = s->a;
  const broad_phase_pair p       = a->list[s->kind].pair[i];
  const int              n_first = s->kind == MEETING_EDGE_EDGE ? 2 : 1;
  *m = (meeting){.first = p.first, .second = p.second, .kind = s->kind, .gap = hit->distance, .side = {-1, -1}};
  memcpy(m->node, node, sizeof m->node);
  v3_copy(m->normal, hit->normal);
  if (n_first == 2) m->weight[0] = 1.0 - hit->u, m->weight[1] = hit->u, m->weight[2] = hit->v - 1.0, m->weight[3] = -hit->v;
  else m->weight[0] = 1.0, m->weight[1] = hit->u + hit->v - 1.0, m->weight[2] = -hit->u, m->weight[3] = -hit->v;
  if (!a->scene.rigid || !a->step) return;
  m->side[0] = a->scene.rigid[node[0]], m->side[1] = a->scene.rigid[node[3]];
  arms(a, m, 4, n_first, s->x0);
}

/* Did the pair meet in the search before? */
static bool met_before(const search *s, broad_phase_pair p)
{
  const uint64_t *key  = s->a->before, wanted = meeting_key(s->kind, p.first, p.second);
  int64_t         from = 0, to = s->a->n_before;
  while (from < to) {
    const int64_t middle = from + (to - from) / 2;
    if (key[middle] < wanted) from = middle + 1;
    else to = middle;
  }
  return from < s->a->n_before && key[from] == wanted;
}

static PetscErrorCode remember_pairs(impulses *a)
{
  PetscFunctionBegin;
  PetscCall(memory_reserve("pairs that met", a->n, sizeof *a->before, &a->before_capacity, &a->before));
  a->n_before = 0;
  for (int64_t i = 0; i < a->n; ++i)
    if (a->found[i].kind != MEETING_POINT_WALL)
      a->before[a->n_before++] = meeting_key(a->found[i].kind, a->found[i].first, a->found[i].second);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Pairs of one kind that meet, added to a->found in their order. */
static PetscErrorCode look(search *s)
{
  impulses       *a     = s->a;
  candidate_list *list  = &a->list[s->kind];
  int64_t         n_hit = 0, n_asked = 0, n = 0;
  PetscFunctionBegin;
  PetscCall(memory_reserve("pairs that meet", list->n, sizeof *list->flag, &list->n_flags, &list->flag));
#pragma omp parallel for schedule(dynamic, 256) reduction(+ : n_hit, n_asked)
  for (int64_t i = 0; i < list->n; ++i) {
    int32_t node[4];
    ccd_hit hit;
    nodes_of(s, i, node);
    bool is_new = s->is_first;
    for (int k = 0; k < 4; ++k) is_new = is_new || a->is_changed[node[k]];
    if (is_idle(a, node)) list->flag[i] = false;
    else if (is_new) list->flag[i] = query(s, node, &hit), ++n_asked;
    else if (s->is_listed_anew) list->flag[i] = met_before(s, list->pair[i]);
    n_hit += list->flag[i];
  }
  if (a->report) a->report->n_queries += n_asked;
  PetscCall(memory_reserve("pairs that meet", n_hit, sizeof *a->index, &a->n_index, &a->index));
  PetscCall(memory_reserve("pairs that meet", a->n + n_hit, sizeof *a->found, &a->capacity, &a->found));
  for (int64_t i = 0; i < list->n; ++i)
    if (list->flag[i]) a->index[n++] = i;
#pragma omp parallel for schedule(dynamic, 16)
  for (int64_t k = 0; k < n_hit; ++k) {
    int32_t node[4];
    ccd_hit hit;
    nodes_of(s, a->index[k], node);
    (void)query(s, node, &hit);
    describe(s, a->index[k], node, &hit, &a->found[a->n + k]);
  }
  a->n += n_hit;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- walls ---- */

/* Is the vertex nearer to the wall at the beginning, or if x1 is not x0 behind it at the end, than it may be? */
static bool is_behind(const search *s, const impulse_wall *w, int32_t vertex, double *gap)
{
  const double *x0 = s->x0 + 3 * (int64_t)vertex, *x1 = s->x1 + 3 * (int64_t)vertex, dt = s->a->step->dt;
  double        d0[3], d1[3], size = 0.0;
  for (int k = 0; k < 3; ++k) {
    const double p0 = w->point[k], p1 = p0 + dt * w->v[k];
    d0[k] = x0[k] - p0, d1[k] = x1[k] - p1;
    size += fabs(x0[k]) + fabs(x1[k]) + fabs(p0) + fabs(p1);
  }
  *gap = v3_dot(w->normal, d0);
  if (s->x0 == s->x1) return *gap < s->limits.separation;
  return v3_dot(w->normal, d1) < (*gap > NOISE * size ? fmin(s->limits.separation, 0.5 * *gap) : *gap - NOISE * size);
}

static PetscErrorCode look_at_walls(search *s)
{
  impulses                   *a = s->a;
  const broad_phase_surfaces *b = &a->scene.surfaces;
  candidate_list             *list = &a->list[MEETING_POINT_WALL]; /* of flags alone */
  PetscFunctionBegin;
  if (a->scene.n_walls == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(memory_reserve("points behind walls", b->n_points, sizeof *list->flag, &list->n_flags, &list->flag));
  for (int32_t w = 0; w < a->scene.n_walls; ++w) {
    const impulse_wall *wall   = &a->step->wall[w];
    const int32_t       leader = impact_zones_find(&a->zones, (int32_t)(b->n_vertices + a->scene.n_rigid + w));
    int64_t             n_hit  = 0;
#pragma omp parallel for schedule(static) reduction(+ : n_hit)
    for (int64_t i = 0; i < b->n_points; ++i) {
      const int32_t v = b->point ? b->point[i] : (int32_t)i;
      double        gap;
      const bool    meets = b->n_bodies == 0 || b->meets[(int64_t)b->body[v] * b->n_bodies + wall->body];
      list->flag[i] = meets && !a->is_held[v] && a->leader[v] != leader && is_behind(s, wall, v, &gap);
      n_hit += list->flag[i];
    }
    PetscCall(memory_reserve("pairs that meet", a->n + n_hit, sizeof *a->found, &a->capacity, &a->found));
    for (int64_t i = 0; i < b->n_points && n_hit > 0; ++i) {
      if (!list->flag[i]) continue;
      const int32_t v = b->point ? b->point[i] : (int32_t)i;
      meeting      *m = &a->found[a->n++];
      *m = (meeting){.node = {v, v, v, v}, .first = v, .second = w, .kind = MEETING_POINT_WALL, .weight = {1.0}, .side = {-1, -2}};
      (void)is_behind(s, wall, v, &m->gap);
      v3_copy(m->normal, wall->normal);
      if (a->scene.rigid) m->side[0] = a->scene.rigid[v];
      arms(a, m, 1, 1, s->x0);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- both ---- */

static PetscErrorCode look_at_all(search *s)
{
  PetscFunctionBegin;
  s->a->n = 0;
  s->kind = MEETING_POINT_TRIANGLE;
  PetscCall(look(s));
  s->kind = MEETING_EDGE_EDGE;
  PetscCall(look(s));
  if (s->a->step) PetscCall(look_at_walls(s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode list_pairs(impulses *a, const double *x0, const double *x1, double margin, int64_t *bad)
{
  candidate_list *points = &a->list[MEETING_POINT_TRIANGLE], *edges = &a->list[MEETING_EDGE_EDGE];
  PetscFunctionBegin;
  PetscCall(broad_phase_update(a->broad, x0, x1, margin, bad));
  if (*bad >= 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(broad_phase_point_triangle(a->broad, &points->n, &points->pair));
  PetscCall(broad_phase_edge_edge(a->broad, &edges->n, &edges->pair));
  if (a->report) ++a->report->n_searches;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode impulse_search_all(impulses *a, const double *x0, const double *x1, double separation, int64_t *bad)
{
  search s = {.a = a, .x0 = x0, .x1 = x1, .limits = {separation, CERTAINTY * separation}, .is_first = true};
  PetscFunctionBegin;
  a->n = 0, a->slack = -1.0;
  PetscCall(list_pairs(a, x0, x1, separation + s.limits.tolerance, bad));
  if (*bad < 0) PetscCall(look_at_all(&s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode impulse_search_again(impulses *a, double separation, int64_t *bad)
{
  double change, listed_change;
  PetscFunctionBegin;
  *bad = -1;
  impulse_motion_ends(a, &change, &listed_change);
  search s = {.a = a, .x0 = a->step->x0, .x1 = a->x1, .limits = {separation, CERTAINTY * separation}};
  if (a->options->is_thorough || !(2.0 * listed_change <= a->slack * (1.0 - 1e-9))) {
    s.is_first = a->options->is_thorough || a->slack < 0.0, s.is_listed_anew = true;
    a->slack   = s.is_first ? 0.0 : fmin(SLACK * change, MOST_SLACK * a->edge);
    PetscCall(remember_pairs(a));
    PetscCall(list_pairs(a, s.x0, s.x1, separation + s.limits.tolerance + a->slack, bad));
    if (*bad >= 0) PetscFunctionReturn(PETSC_SUCCESS);
    memcpy(a->x1_listed, a->x1, 3 * (size_t)a->scene.surfaces.n_vertices * sizeof *a->x1);
  }
  PetscCall(look_at_all(&s));
  PetscFunctionReturn(PETSC_SUCCESS);
}
