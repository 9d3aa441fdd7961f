/* Exact predicates on the positions of scene_surfaces_place, and the messages of the initial check. */
#include "sim/scene/scene_intersections.h"
#include "core/math3.h"
#include "core/memory.h"
#include "core/sort.h"
#include "geometry/primitive/orient3d.h"
#include "geometry/primitive/winding.h"
#include <string.h>

enum { SHOWN = 3 }; /* features that a message lists per pair */

static PetscErrorCode create(const scene *s, bool all_selves, scene_intersections **out)
{
  scene_intersections *f;
  PetscFunctionBegin;
  PetscCall(memory_alloc("intersections", 1, sizeof *f, &f));
  *out = f;
  PetscCall(scene_surfaces_create(s, &f->surfaces));
  const int64_t n = f->surfaces->n_bodies;
  PetscCall(memory_alloc("intersections", 3 * f->surfaces->n_vertices, sizeof *f->x, &f->x));
  PetscCall(memory_copy("intersections", s->pairs->n_slots, sizeof *f->can_touch, f->surfaces->can_touch, &f->can_touch));
  for (int32_t i = 0; i < n && all_selves; ++i) f->can_touch[pair_slot(s->pairs, n, i, i)] |= !f->surfaces->is_rigid[i];
  broad_phase_surfaces all = scene_surfaces_broad(f->surfaces);
  all.can_touch            = f->can_touch;
  PetscCall(intersections_create(&all, &f->finder));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode scene_intersections_create(const scene *s, scene_intersections **out)
{
  PetscFunctionBegin;
  PetscCall(create(s, true, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void scene_intersections_destroy(scene_intersections **f)
{
  if (!f || !*f) return;
  intersections_destroy(&(*f)->finder);
  scene_surfaces_destroy(&(*f)->surfaces);
  MEMORY_FREE(&(*f)->can_touch, &(*f)->x, &(*f)->sunk, f);
}

PetscErrorCode scene_intersections_find(scene_intersections *f, const scene *s, double t, int64_t *bad, int64_t *n,
                                        const intersection **list)
{
  PetscFunctionBegin;
  PetscCall(scene_surfaces_place(f->surfaces, s, t, f->x));
  PetscCall(intersections_find(f->finder, f->x, bad, n, list));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Count the vertices beyond the plane that may touch body i; list them in `out` if it is not NULL. */
static int64_t count_vertices_beyond(const scene_intersections *f, int i, const double *normal, const double *point,
                                     scene_vertex_beyond *out)
{
  const scene_surfaces *all = f->surfaces;
  int64_t               n   = 0;
  for (int64_t k = 0; k < all->n_vertices; ++k) {
    if (!f->can_touch[pair_slot(all->pairs, all->n_bodies, all->body[k], i)] || orient3d_plane_side(normal, point, f->x + 3 * k) >= 0)
      continue;
    if (out) out[n] = (scene_vertex_beyond){(int32_t)k, i};
    ++n;
  }
  return n;
}

PetscErrorCode scene_intersections_beyond(scene_intersections *f, const scene *s, double t, int64_t *n, const scene_vertex_beyond **list)
{
  PetscFunctionBegin;
  *n = 0;
  for (int i = 0; i < s->n_bodies; ++i) {
    const body         *b        = s->bodies[i].body;
    int                 n_solids = 0;
    const convex_solid *solid    = b->ops->solids && b->ops->frame ? b->ops->solids(b, &n_solids) : NULL;
    for (int k = 0; solid && k < n_solids; ++k) {
      rigid_frame pose;
      double      normal[3], point[3];
      if (solid[k].kind != CONVEX_HALF_SPACE) continue;
      b->ops->frame(b, t, 0.0, NULL, &pose);
      m3_mulv(normal, pose.R, solid[k].normal);
      v3_copy(point, pose.c);
      v3_axpy(point, solid[k].offset, normal);
      const int64_t more = count_vertices_beyond(f, i, normal, point, NULL);
      PetscCall(memory_reserve("intersections", *n + more, sizeof *f->sunk, &f->capacity, &f->sunk));
      if (more > 0) *n += count_vertices_beyond(f, i, normal, point, f->sunk + *n);
    }
  }
  *list = f->sunk;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- check of the initial state -------------------------------------------------------------------------------------------- */

/* Intersections of one pair of bodies. */
typedef struct {
  int64_t n, n_beyond;
  int     n_shown;
  char    text[SHOWN * 160];
} pair_intersections;

/* Intersection point of the edge with the triangle's plane, or the edge's middle if it lies in the plane. */
static void place_of(const scene_intersections *f, const intersection *i, double out[3])
{
  const int32_t *e = f->surfaces->edge + 2 * (int64_t)i->edge, *t = f->surfaces->triangle + 3 * (int64_t)i->triangle;
  const double  *p = f->x + 3 * (int64_t)e[0], *q = f->x + 3 * (int64_t)e[1], *a = f->x + 3 * (int64_t)t[0];
  double         u[3], v[3], n[3], from[3], to[3];
  v3_sub(u, f->x + 3 * (int64_t)t[1], a), v3_sub(v, f->x + 3 * (int64_t)t[2], a);
  v3_cross(n, u, v);
  v3_sub(from, p, a), v3_sub(to, q, a);
  const double hp = v3_dot(n, from), hq = v3_dot(n, to), s = hp / (hp - hq);
  for (int k = 0; k < 3; ++k) out[k] = p[k] + (s >= 0.0 && s <= 1.0 ? s : 0.5) * (q[k] - p[k]);
}

static void describe(const scene *s, const scene_intersections *f, const intersection *i, pair_intersections *m)
{
  const scene_surfaces *all = f->surfaces;
  const int32_t        *e   = all->edge + 2 * (int64_t)i->edge;
  const int32_t         of = all->body[e[0]], in = all->body[all->triangle[3 * (int64_t)i->triangle]];
  const size_t          used = strlen(m->text);
  double                x[3];
  if (m->n_shown++ >= SHOWN) return;
  place_of(f, i, x);
  snprintf(m->text + used, sizeof m->text - used, "%s edge %d-%d of \"%.40s\" and triangle %lld of \"%.40s\" at (%.5g, %.5g, %.5g)",
           used > 0 ? "," : "", all->node[e[0]], all->node[e[1]], s->bodies[of].name, (long long)(i->triangle - all->first_triangle[in]),
           s->bodies[in].name, x[0], x[1], x[2]);
}

static void describe_vertex_beyond(const scene *s, const scene_intersections *f, const scene_vertex_beyond *i, pair_intersections *m)
{
  const scene_surfaces *all  = f->surfaces;
  const double         *x    = f->x + 3 * (int64_t)i->vertex;
  const size_t          used = strlen(m->text);
  if (m->n_shown++ >= SHOWN) return;
  snprintf(m->text + used, sizeof m->text - used, "%s node %d of \"%.40s\" beyond \"%.40s\" at (%.5g, %.5g, %.5g)", used > 0 ? "," : "",
           all->node[i->vertex], s->bodies[all->body[i->vertex]].name, s->bodies[i->body].name, x[0], x[1], x[2]);
}

/* remedy in messages; its arguments are the names of the two bodies */
#define PERMIT "permit it: contact.pairs: [{between: [%.90s, %.90s], initial_overlap: permit}]"

static void report_pair(const scene *s, int a, int b, const pair_intersections *m, diagnostics *d)
{
  const document_node *bodies = document_find(s->options->root, "bodies");
  const int            whole  = s->bodies[a].whole >= 0 ? s->bodies[a].whole : a;
  char                 path[300], other[100] = "itself", how_many[100];
  snprintf(path, sizeof path, "bodies.%.250s", s->bodies[whole].name);
  if (a != b) snprintf(other, sizeof other, "\"%.90s\"", s->bodies[b].name);
  if (m->n_beyond > 0) snprintf(how_many, sizeof how_many, "with %lld nodes beyond its plane,", (long long)m->n_beyond);
  else snprintf(how_many, sizeof how_many, "in %lld pairs of an edge and a triangle (touching counts),", (long long)m->n);
  diagnostics_add_under(d, document_find(bodies, s->bodies[whole].name), path, NULL,
                        "its surface intersects %s at the start of the run %s%s%s. %s, or " PERMIT, other, how_many, m->text,
                        m->n + m->n_beyond > SHOWN ? " and others" : "", a != b ? "Move one of them away" : "Untangle it",
                        s->bodies[a].name, s->bodies[b].name);
}

/* Connected surfaces: root [n_vertices] = lowest vertex of each vertex's component. */
static void find_components(const scene_surfaces *f, int32_t *root)
{
  for (int64_t k = 0; k < f->n_vertices; ++k) root[k] = (int32_t)k;
  for (int64_t e = 0; e < f->n_edges; ++e) {
    int32_t a = f->edge[2 * e], b = f->edge[2 * e + 1];
    while (root[a] != a) a = root[a] = root[root[a]];
    while (root[b] != b) b = root[b] = root[root[b]];
    if (a != b) root[a > b ? a : b] = a > b ? b : a;
  }
}

static bool is_closed(const scene_surfaces *f, int i)
{
  const int64_t n_triangles = f->first_triangle[i + 1] - f->first_triangle[i];
  return n_triangles > 0 && 2 * (f->first_edge[i + 1] - f->first_edge[i]) == 3 * n_triangles;
}

static void compute_bounding_box(const scene_intersections *f, int i, double box[6])
{
  for (int c = 0; c < 3; ++c) box[c] = INFINITY, box[3 + c] = -INFINITY;
  for (int64_t k = f->surfaces->first_vertex[i]; k < f->surfaces->first_vertex[i + 1]; ++k)
    for (int c = 0; c < 3; ++c) box[c] = fmin(box[c], f->x[3 * k + c]), box[3 + c] = fmax(box[3 + c], f->x[3 * k + c]);
}

static bool is_in_box(const double *x, const double box[6])
{
  return x[0] >= box[0] && x[1] >= box[1] && x[2] >= box[2] && x[0] <= box[3] && x[1] <= box[4] && x[2] <= box[5];
}

/* A vertex of body a inside body b, whose surfaces do not intersect; -1: there is none. One vertex per connected surface
 * suffices. A surface that is oriented inwards, like surrounding walls, has winding number -1 around its free space. */
static int64_t vertex_within(const scene_intersections *f, const int32_t *root, const double box_b[6], int a, int b)
{
  const scene_surfaces *all   = f->surfaces;
  const int64_t         first = all->first_triangle[b], n = all->first_triangle[b + 1] - first;
  int64_t               winding;
  for (int64_t k = all->first_vertex[a]; k < all->first_vertex[a + 1]; ++k)
    if (root[k] == k && is_in_box(f->x + 3 * k, box_b) && winding_number(n, all->triangle + 3 * first, f->x, f->x + 3 * k, &winding) &&
        winding > 0)
      return k;
  return -1;
}

/* All pairs of bodies with intersections, in ascending order of (a, b), a <= b. */
typedef struct {
  int64_t             n;
  uint64_t           *key; /* [n] */
  pair_intersections *of;  /* [n] */
} pair_list;

static uint64_t pair_key_of(int32_t a, int32_t b) { return (uint64_t)(a < b ? a : b) << 32 | (uint64_t)(a < b ? b : a); }

/* NULL: the two bodies have no intersections. */
static pair_intersections *pair_of(const pair_list *p, int32_t a, int32_t b)
{
  const uint64_t key = pair_key_of(a, b);
  int64_t        lo = 0, hi = p->n;
  while (lo < hi) {
    const int64_t mid = lo + (hi - lo) / 2;
    if (p->key[mid] < key) lo = mid + 1;
    else hi = mid;
  }
  return lo < p->n && p->key[lo] == key ? &p->of[lo] : NULL;
}

static void bodies_of(const scene_intersections *f, const intersection *i, int32_t of[2])
{
  of[0] = f->surfaces->body[f->surfaces->edge[2 * (int64_t)i->edge]],
  of[1] = f->surfaces->body[f->surfaces->triangle[3 * (int64_t)i->triangle]];
}

static PetscErrorCode list_pairs(const scene_intersections *f, int64_t n, const intersection *list, int64_t n_beyond,
                                 const scene_vertex_beyond *sunk, pair_list *p)
{
  int32_t *order;
  PetscFunctionBegin;
  *p = (pair_list){0};
  PetscCall(MEMORY_ALLOC("intersections", ARRAY(p->key, n + n_beyond), ARRAY(order, n + n_beyond)));
  for (int64_t i = 0; i < n + n_beyond; ++i) {
    int32_t of[2];
    if (i < n) bodies_of(f, &list[i], of);
    else of[0] = f->surfaces->body[sunk[i - n].vertex], of[1] = sunk[i - n].body;
    p->key[i] = pair_key_of(of[0], of[1]);
  }
  const PetscErrorCode code = sort_keys(n + n_beyond, 64, p->key, order);
  memory_free(&order);
  PetscCall(code);
  for (int64_t i = 0; i < n + n_beyond; ++i)
    if (i == 0 || p->key[i] != p->key[p->n - 1]) p->key[p->n++] = p->key[i];
  PetscCall(memory_alloc("intersections", p->n, sizeof *p->of, &p->of));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Report bodies that are completely inside another solid. */
static PetscErrorCode check_within(const scene *s, const scene_intersections *f, const pair_list *pairs, diagnostics *d)
{
  const document_node *bodies = document_find(s->options->root, "bodies");
  const int            n      = s->n_bodies;
  int32_t             *root;
  PetscFunctionBegin;
  PetscCall(memory_alloc("intersections", f->surfaces->n_vertices, sizeof *root, &root));
  find_components(f->surfaces, root);
  for (int b = 0; b < n; ++b) {
    double box[6];
    compute_bounding_box(f, b, box);
    for (int a = 0; a < n && is_closed(f->surfaces, b); ++a) {
      if (a == b || !f->can_touch[pair_slot(s->pairs, n, a, b)] || scene_law(s, a, b)->may_overlap || pair_of(pairs, a, b)) continue;
      const int64_t k     = vertex_within(f, root, box, a, b);
      const int     whole = s->bodies[a].whole >= 0 ? s->bodies[a].whole : a;
      char          path[300];
      if (k < 0) continue;
      snprintf(path, sizeof path, "bodies.%.250s", s->bodies[whole].name);
      diagnostics_add_under(
          d, document_find(bodies, s->bodies[whole].name), path, NULL,
          "is inside \"%s\" at the start of the run, node %d of \"%s\" at (%.5g, %.5g, %.5g). Move one of them away, or " PERMIT,
          s->bodies[b].name, f->surfaces->node[k], s->bodies[a].name, f->x[3 * k], f->x[3 * k + 1], f->x[3 * k + 2], s->bodies[b].name,
          s->bodies[a].name);
    }
  }
  memory_free(&root);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode scene_intersections_check(const scene *s, diagnostics *d)
{
  scene_intersections       *f;
  const intersection        *list;
  const scene_vertex_beyond *sunk;
  int64_t                    n, n_beyond, bad;
  pair_list                  pairs;
  PetscFunctionBegin;
  PetscCall(create(s, false, &f));
  PetscCall(scene_intersections_find(f, s, 0.0, &bad, &n, &list));
  PetscCall(scene_intersections_beyond(f, s, 0.0, &n_beyond, &sunk));
  PetscCall(list_pairs(f, n, list, n_beyond, sunk, &pairs));
  for (int64_t i = 0; i < n; ++i) {
    int32_t of[2];
    bodies_of(f, &list[i], of);
    pair_intersections *m = pair_of(&pairs, of[0], of[1]);
    ++m->n;
    describe(s, f, &list[i], m);
  }
  for (int64_t i = 0; i < n_beyond; ++i) {
    pair_intersections *m = pair_of(&pairs, f->surfaces->body[sunk[i].vertex], sunk[i].body);
    ++m->n_beyond;
    describe_vertex_beyond(s, f, &sunk[i], m);
  }
  for (int64_t i = 0; i < pairs.n; ++i) {
    const int32_t a = (int32_t)(pairs.key[i] >> 32), b = (int32_t)(pairs.key[i] & UINT32_MAX);
    if (!scene_law(s, a, b)->may_overlap) report_pair(s, a, b, &pairs.of[i], d);
  }
  PetscCall(check_within(s, f, &pairs, d));
  MEMORY_FREE(&pairs.key, &pairs.of);
  scene_intersections_destroy(&f);
  PetscFunctionReturn(PETSC_SUCCESS);
}
