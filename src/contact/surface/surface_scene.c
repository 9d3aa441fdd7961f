/* Contacts of all surfaces of a scene, see surface_scene.h: layout of bodies in the arrays of surface_contact.h. */
#include "contact/surface/surface_scene.h"
#include "contact/detection/contact_scene.h"
#include "contact/surface/surface_contact.h"
#include "core/math3.h"
#include "core/memory.h"
#include <string.h>

/* Ranges of one body in the arrays of all bodies. The vertices of a body without triangles are its points or the nodes of its
 * fibres. */
typedef struct {
  body_surface  surface;
  body_segments fibres;
  int64_t       n_points; /* number of points in this step; 0 if the body has fibres instead */
  int64_t       first_vertex, n_vertices, first_triangle, first_point, first_segment;
} surface_part;

struct surface_scene {
  int                 n_bodies;
  const pair_classes *pairs;
  bool               *can_touch;   /* [n_slots] */
  bool               *has_partner; /* [n_bodies] some pair of the body has contact */
  surface_part       *part;        /* [n_bodies] */
  int32_t           **used;        /* [n_bodies] nodes of triangles */
  int64_t            *n_used;
  int32_t           **triangle; /* [n_bodies] one triangle at each of these nodes */
  surface_contact    *contact;
  int64_t             n_vertices, n_points, n_segments, n_triangles;
  int64_t            *id;      /* [n_points] persistent identity */
  int64_t            *index;   /* [n_points] current index of the point in its body; for fibres, of the segment */
  double             *radius;  /* [n_points + n_segments] */
  double             *x0, *x1; /* [n_vertices][3] */
  int64_t             n_found;
  const surface_spot *found; /* [n_found] of the last search, owned by `contact` */
  surface_sides       sides;
};

static void surface_scene_clear(surface_scene *f)
{
  MEMORY_FREE(&f->id, &f->index, &f->radius, &f->x0, &f->x1);
  f->n_found = 0;
  surface_contact_destroy(&f->contact);
}

void surface_scene_destroy(surface_scene **f)
{
  if (!f || !*f) return;
  surface_scene_clear(*f);
  surface_sides_free(&(*f)->sides);
  for (int i = 0; i < (*f)->n_bodies; ++i) memory_free(&(*f)->used[i]), memory_free(&(*f)->triangle[i]);
  MEMORY_FREE(&(*f)->used, &(*f)->triangle, &(*f)->n_used, &(*f)->can_touch, &(*f)->has_partner, &(*f)->part, f);
}

static body_surface surface_of(const body *b)
{
  body_surface s = {0};
  if (b->ops->surface) b->ops->surface(b, &s);
  return s;
}

/* List the nodes of triangles in ascending order, each with one of its triangles. */
static PetscErrorCode list_used(const body_surface *s, int32_t **used, int32_t **triangle, int64_t *n_used)
{
  int32_t *of; /* [n_nodes] triangle + 1 */
  PetscFunctionBegin;
  PetscCall(memory_alloc("surfaces", s->n_nodes, sizeof *of, &of));
  for (int64_t k = 3 * s->n_triangles - 1; k >= 0; --k) of[s->triangles[k]] = (int32_t)(k / 3 + 1);
  for (int64_t i = 0; i < s->n_nodes; ++i) *n_used += of[i] > 0;
  PetscCall(MEMORY_ALLOC("surfaces", ARRAY(*used, *n_used), ARRAY(*triangle, *n_used)));
  for (int64_t i = 0, m = 0; i < s->n_nodes; ++i)
    if (of[i] > 0) (*used)[m] = (int32_t)i, (*triangle)[m++] = of[i] - 1;
  memory_free(&of);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode surface_scene_create(int n_bodies, body *const *bodies, const pair_classes *pairs, const bool *can_touch,
                                    surface_scene **out)
{
  bool any = false;
  PetscFunctionBeginUser;
  *out = NULL;
  for (int i = 0; i < n_bodies && !any; ++i)
    any = surface_of(bodies[i]).n_triangles > 0 && pair_classes_has_partner(pairs, n_bodies, can_touch, i);
  if (!any) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(memory_alloc("surfaces", 1, sizeof **out, out));
  (*out)->n_bodies = n_bodies, (*out)->pairs = pairs;
  PetscCall(memory_copy("surfaces", pair_n_slots(pairs, n_bodies), sizeof *can_touch, can_touch, &(*out)->can_touch));
  PetscCall(MEMORY_ALLOC("surfaces", ARRAY((*out)->has_partner, n_bodies), ARRAY((*out)->part, n_bodies), ARRAY((*out)->used, n_bodies),
                         ARRAY((*out)->triangle, n_bodies), ARRAY((*out)->n_used, n_bodies)));
  for (int i = 0; i < n_bodies; ++i) {
    const body_surface s = surface_of(bodies[i]);
    if (s.n_triangles > 0) PetscCall(list_used(&s, &(*out)->used[i], &(*out)->triangle[i], &(*out)->n_used[i]));
    (*out)->has_partner[i] = pair_classes_has_partner(pairs, n_bodies, can_touch, i);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- features of this step ---- */

static int64_t count_points(const body *b)
{
  int64_t n = 0;
  for (int64_t k = 0, m = b->ops->n_clusters(b); k < m; ++k) {
    double  center[3], radius;
    int64_t first, end;
    b->ops->cluster(b, k, center, &radius, &first, &end);
    n = end > n ? end : n;
  }
  return n;
}

/* Compute the ranges of all bodies, surfaces first, so that the numbers of their features do not change. True if no range has changed since
 * the last step. */
static bool build_scene_layout(surface_scene *f, const contact_scene *s, int n_sources, const contact_source *sources)
{
  const int64_t old[4]  = {f->n_vertices, f->n_points, f->n_segments, f->n_triangles};
  bool          is_same = f->contact != NULL;
  int64_t      *n_points;
  f->n_vertices = f->n_points = f->n_segments = f->n_triangles = 0;
  for (int pass = 0; pass < 2; ++pass)
    for (int i = 0; i < f->n_bodies; ++i) {
      const body  *b = s->body[i];
      surface_part p = {.surface = surface_of(b)};
      if ((p.surface.n_triangles > 0) != (pass == 0)) continue;
      n_points = &p.n_points;
      if (f->has_partner[i]) {
        if (b->ops->segments) b->ops->segments(b, &p.fibres);
        for (int k = 0; k < n_sources && p.fibres.n_segments == 0; ++k)
          if (sources[k].body_id == i && b->ops->points != POINT_NONE) *n_points = count_points(b);
        if (pass == 0) *n_points = f->n_used[i];
      }
      p.first_vertex = f->n_vertices, p.first_triangle = f->n_triangles, p.first_point = f->n_points, p.first_segment = f->n_segments;
      p.n_vertices = p.surface.n_triangles > 0 ? p.surface.n_nodes : p.fibres.n_segments > 0 ? p.fibres.n_nodes : p.n_points;
      f->n_vertices += p.n_vertices;
      f->n_triangles += p.surface.n_triangles;
      f->n_points += p.fibres.n_segments > 0 ? p.fibres.n_nodes : p.n_points;
      f->n_segments += p.fibres.n_segments;
      is_same &= p.first_vertex == f->part[i].first_vertex && p.first_point == f->part[i].first_point && p.n_points == f->part[i].n_points;
      f->part[i] = p;
    }
  return is_same && old[0] == f->n_vertices && old[1] == f->n_points && old[2] == f->n_segments && old[3] == f->n_triangles;
}

/* Arrays of the set during its creation. */
typedef struct {
  int32_t *triangle, *point, *segment, *body;
  bool    *is_rigid;
  double  *rest;
} set_arrays;

static PetscErrorCode surface_scene_allocate(surface_scene *f, set_arrays *a)
{
  PetscFunctionBegin;
  PetscCall(MEMORY_ALLOC("surfaces", ARRAY(a->triangle, 3 * f->n_triangles), ARRAY(a->point, f->n_points),
                         ARRAY(a->segment, 2 * f->n_segments), ARRAY(a->body, f->n_vertices), ARRAY(a->is_rigid, f->n_bodies),
                         ARRAY(a->rest, 3 * f->n_vertices), ARRAY(f->id, f->n_points), ARRAY(f->index, f->n_points),
                         ARRAY(f->radius, f->n_points + f->n_segments), ARRAY(f->x0, 3 * f->n_vertices), ARRAY(f->x1, 3 * f->n_vertices)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void fill_part(surface_scene *f, const contact_scene *s, int i, set_arrays *a)
{
  const surface_part *p = &f->part[i];
  a->is_rigid[i]        = s->frame[i] >= 0;
  for (int64_t k = 0; k < p->n_vertices; ++k) a->body[p->first_vertex + k] = i;
  for (int64_t k = 0; k < 3 * p->surface.n_triangles; ++k)
    a->triangle[3 * p->first_triangle + k] = (int32_t)(p->first_vertex + p->surface.triangles[k]);
  if (p->surface.n_triangles > 0 && p->surface.rest)
    memcpy(a->rest + 3 * p->first_vertex, p->surface.rest, 3 * (size_t)p->surface.n_nodes * sizeof *a->rest);
  for (int64_t k = 0; k < p->n_points; ++k)
    a->point[p->first_point + k] = (int32_t)(p->first_vertex + (p->surface.n_triangles > 0 ? f->used[i][k] : k));
  for (int64_t k = 0; k < p->fibres.n_segments; ++k) {
    f->radius[f->n_points + p->first_segment + k] = p->fibres.radius[k];
    for (int e = 0; e < 2; ++e) {
      const int64_t node                         = p->fibres.segment[2 * k + e];
      a->segment[2 * (p->first_segment + k) + e] = (int32_t)(p->first_vertex + node);
      a->point[p->first_point + node]            = (int32_t)(p->first_vertex + node);
      f->radius[p->first_point + node]           = p->fibres.radius[k];
      f->id[p->first_point + node]               = node;
      f->index[p->first_point + node]            = 2 * k + e;
    }
  }
}

static PetscErrorCode surface_scene_gather(surface_scene *f, const contact_scene *s)
{
  set_arrays     a = {0};
  PetscErrorCode code;
  PetscFunctionBegin;
  surface_scene_clear(f);
  PetscCall(surface_scene_allocate(f, &a));
  for (int i = 0; i < f->n_bodies; ++i) fill_part(f, s, i, &a);
  const surface_set set = {f->n_vertices, f->n_triangles, f->n_points, f->n_segments, a.triangle, a.point, a.segment,
                           f->radius,     f->n_bodies,    a.body,      f->can_touch,  a.is_rigid, a.rest,  f->pairs};
  code                  = surface_contact_create(&set, &f->contact);
  MEMORY_FREE(&a.triangle, &a.point, &a.segment, &a.body, &a.is_rigid, &a.rest);
  PetscCall(code);
  surface_contact_use_sides(f->contact, &f->sides, f->id);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- positions ---- */

static void pose(const rigid_frame *frame, const double X[3], double x[3]) { rigid_frame_to_world(frame, X, x); }

/* Positions at the end of the step: velocity v and free fall. */
static void surface_scene_advance(const contact_scene *s, const double x0[3], const double *v, double x1[3])
{
  v3_copy(x1, x0);
  if (!v) return;
  v3_axpy(x1, s->dt, v);
  v3_axpy(x1, s->dt * s->dt, s->gravity);
}

static void place_points(surface_scene *f, const contact_scene *s, int i, const double *v, const rigid_frame *end)
{
  const body         *b = s->body[i];
  const surface_part *p = &f->part[i];
  for (int64_t k = 0; k < p->n_points && p->surface.n_triangles > 0; ++k) /* points of surfaces are nodes of triangles */
    f->id[p->first_point + k] = f->used[i][k], f->index[p->first_point + k] = k;
  for (int64_t k = 0; k < p->n_points && p->surface.n_triangles == 0; ++k) {
    double       *x0 = f->x0 + 3 * (p->first_vertex + k), *x1 = f->x1 + 3 * (p->first_vertex + k);
    const int64_t at = p->first_point + k;
    f->id[at]        = b->ops->point(b, k, x0);
    f->index[at]     = k;
    contact_scene_point_end(s, i, k, x0, v, end, x1);
  }
}

static void place_vertices(surface_scene *f, const contact_scene *s, int i, const double *v, const rigid_frame *end)
{
  const surface_part *p     = &f->part[i];
  body_nodes          nodes = {0};
  if (p->fibres.n_segments > 0 && s->body[i]->ops->nodes) s->body[i]->ops->nodes(s->body[i], &nodes);
  for (int64_t k = 0; k < (p->surface.n_triangles > 0 || p->fibres.n_segments > 0 ? p->n_vertices : 0); ++k) {
    double *x0 = f->x0 + 3 * (p->first_vertex + k), *x1 = f->x1 + 3 * (p->first_vertex + k);
    if (p->fibres.n_segments > 0) {
      v3_copy(x0, p->fibres.x + 3 * k);
      surface_scene_advance(s, x0, nodes.n == p->n_vertices ? nodes.v + 3 * k : NULL, x1);
    } else if (s->frame[i] >= 0) {
      pose(&s->frames[s->frame[i]], p->surface.x + 3 * k, x0);
      pose(end, p->surface.x + 3 * k, x1);
    } else {
      v3_copy(x0, p->surface.x + 3 * k);
      surface_scene_advance(s, x0, v ? v + 3 * k : NULL, x1);
    }
  }
}

static PetscErrorCode surface_scene_place(surface_scene *f, const contact_scene *s)
{
  PetscFunctionBegin;
  for (int i = 0; i < f->n_bodies; ++i) {
    double     *v   = NULL;
    rigid_frame end = {0};
    if (f->part[i].n_vertices == 0) continue;
    if (s->frame[i] >= 0) PetscCall(contact_scene_end_frame(s, i, &end));
    else PetscCall(contact_scene_velocities(s, i, &v));
    place_vertices(f, s, i, v, &end);
    place_points(f, s, i, v, &end);
    memory_free(&v);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- contacts -------------------------------------------------------------------------------------------------------- */

static int32_t body_of_vertex(const surface_scene *f, int64_t vertex)
{
  int i = 0;
  while (!(vertex >= f->part[i].first_vertex && vertex < f->part[i].first_vertex + f->part[i].n_vertices)) ++i;
  return i;
}

static body_contact_location on_triangle(const surface_scene *f, const contact_scene *s, int32_t i, int32_t triangle, const double w[3])
{
  if (s->frame[i] >= 0) return (body_contact_location){.kind = FEATURE_FRAME};
  return (body_contact_location){.kind = FEATURE_TRIANGLE, .index = triangle - f->part[i].first_triangle, .w = {w[0], w[1], w[2]}};
}

/* The position on an edge increases along the side of its first triangle, as in edge_star, and not from its lower to its higher vertex. */
static body_contact_location on_edge(const surface_scene *f, const contact_scene *s, int32_t i, int32_t edge, double at)
{
  const triangle_topology *o = surface_contact_topology(f->contact);
  if (edge >= o->n_edges)
    return (body_contact_location){.kind = FEATURE_SEGMENT, .index = edge - o->n_edges - f->part[i].first_segment, .w = {at}};
  const int32_t triangle = o->edge_triangle[2 * (int64_t)edge], *sides = o->side_edge + 3 * (int64_t)triangle;
  const int     side = sides[0] == edge ? 0 : sides[1] == edge ? 1 : 2;
  double        w[3] = {0};
  w[(side + 1) % 3] = 1.0 - at, w[(side + 2) % 3] = at;
  return on_triangle(f, s, i, triangle, w);
}

static body_contact_location at_point(const surface_scene *f, const contact_scene *s, int32_t i, int32_t point)
{
  const surface_part *p = &f->part[i];
  if (p->fibres.n_segments > 0) {
    const double at = (double)(f->index[point] % 2);
    return (body_contact_location){.kind = FEATURE_SEGMENT, .index = f->index[point] / 2, .w = {at}};
  }
  if (s->frame[i] >= 0) return (body_contact_location){.kind = FEATURE_FRAME};
  if (p->surface.n_triangles == 0) return (body_contact_location){.kind = FEATURE_POINT, .index = f->index[point]};
  const int32_t triangle = f->triangle[i][f->index[point]], node = f->used[i][f->index[point]];
  double        w[3];
  for (int k = 0; k < 3; ++k) w[k] = p->surface.triangles[3 * (int64_t)triangle + k] == node;
  return (body_contact_location){.kind = FEATURE_TRIANGLE, .index = triangle, .w = {w[0], w[1], w[2]}};
}

static void fill_spot(const surface_scene *f, const contact_scene *s, const surface_spot *p, contact_spot *out)
{
  const triangle_topology *o        = surface_contact_topology(f->contact);
  const bool               is_point = p->kind == SURFACE_POINT;
  double                   radius;
  if (is_point) {
    int32_t a = 0; /* body of the point */
    while (!(p->first >= f->part[a].first_point &&
             p->first < f->part[a].first_point + (f->part[a].fibres.n_segments > 0 ? f->part[a].fibres.n_nodes : f->part[a].n_points)))
      ++a;
    out->body_a = a;
    out->body_b = body_of_vertex(f, o->tri[3 * (int64_t)p->second]);
    out->a      = at_point(f, s, a, p->first);
    out->b      = on_triangle(f, s, out->body_b, p->second, p->weight);
    out->key[1] = (uint64_t)f->id[p->first] << 32 | (uint64_t)p->feature << 1 | p->is_swept;
    radius      = f->radius[p->first];
  } else {
    int32_t a = 0;
    if (p->first < o->n_edges) a = body_of_vertex(f, o->edge[2 * (int64_t)p->first]);
    else
      while (!(p->first - o->n_edges >= f->part[a].first_segment &&
               p->first - o->n_edges < f->part[a].first_segment + f->part[a].fibres.n_segments))
        ++a;
    out->body_a = a;
    out->body_b = body_of_vertex(f, o->edge[2 * (int64_t)p->second]);
    out->a      = on_edge(f, s, a, p->first, p->weight[0]);
    out->b      = on_edge(f, s, out->body_b, p->second, p->weight[1]);
    out->key[1] = (uint64_t)p->first << 32 | (uint64_t)p->second << 1 | p->is_swept;
    radius      = p->first < o->n_edges ? 0.0 : f->radius[f->n_points + p->first - o->n_edges];
  }
  const contact_law *law = contact_scene_law(s, out->body_a, out->body_b);
  out->key[0]            = contact_key(is_point ? DETECTOR_SURFACE_POINT : DETECTOR_SURFACE_EDGE, out->body_a, out->body_b);
  out->friction = law->friction, out->restitution = law->restitution, out->gap = p->gap;
  v3_copy(out->normal, p->normal);
  /* On deforming bodies a contact acts at the point of the feature; on rigid bodies at the common point. */
  const bool   a_is_rigid = out->a.kind == FEATURE_FRAME, b_is_rigid = out->b.kind == FEATURE_FRAME;
  const double share = a_is_rigid == b_is_rigid ? 0.5 : a_is_rigid ? 0.0 : 1.0;
  for (int k = 0; k < 3; ++k) out->a.x[k] = out->b.x[k] = share * (p->x[0][k] - radius * p->normal[k]) + (1.0 - share) * p->x[1][k];
}

PetscErrorCode surface_scene_find(surface_scene *f, const contact_scene *s, int n_sources, const contact_source *sources, contact_set *set,
                                  step_status *status)
{
  contact_spot *spot;
  int64_t       bad;
  PetscFunctionBeginUser;
  if (!f) PetscFunctionReturn(PETSC_SUCCESS);
  if (!build_scene_layout(f, s, n_sources, sources)) PetscCall(surface_scene_gather(f, s));
  PetscCall(surface_scene_place(f, s));
  PetscCall(surface_contact_run(f->contact, f->x0, f->x1, s->margin, &f->n_found, &f->found, &bad));
  if (bad >= 0) {
    const int32_t i = body_of_vertex(f, bad);
    *status         = (step_status){STEP_NOT_FINITE, s->body[i]->name, bad - f->part[i].first_vertex};
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(contact_set_append(set, f->n_found, &spot));
  for (int64_t k = 0; k < f->n_found; ++k) fill_spot(f, s, &f->found[k], &spot[k]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode surface_scene_accept(surface_scene *f)
{
  uint64_t *key;
  int32_t  *side;
  int64_t   n = 0;
  PetscFunctionBeginUser;
  if (!f || !f->contact) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MEMORY_ALLOC("sides of surfaces", ARRAY(key, 2 * f->n_found), ARRAY(side, f->n_found)));
  for (int64_t k = 0; k < f->n_found; ++k) {
    const surface_spot *p = &f->found[k];
    if (p->side == 0) continue;
    surface_contact_side_key(f->contact, p, key + 2 * n);
    side[n++] = p->side;
  }
  const PetscErrorCode code = surface_sides_set(&f->sides, n, key, side);
  MEMORY_FREE(&key, &side);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode surface_scene_fields(surface_scene *f, field_table *table)
{
  PetscFunctionBeginUser;
  if (f) PetscCall(surface_sides_fields(&f->sides, table));
  PetscFunctionReturn(PETSC_SUCCESS);
}
