/* What may begin to touch: points near triangles from the broad phase, and which of them do on the way to a trial state, by continuous
 * collision detection. */
#include "geometry/collision/ccd.h"
#include "contact/penalty/mesh_pairs.h"
#include "core/math3.h"
#include "core/memory.h"
#include "geometry/triangle_mesh/triangle_bvh.h"
#include <stdlib.h>
#include <string.h>

/* Collisions closer than this part of a triangle's longest edge count: well above round-off, far below any penetration. */
#define CCD_TOLERANCE 1e-10

/* A list of near points and triangles for the whole step pays while it is no longer than this many times what there is of both: going through
 * it costs as much then as looking where a state really takes them. Line searches into stiff contact try states far from the step's start, whose
 * margin would hold nearly all triangles for nearly all points, in each evaluation of the rest of the step. */
enum { LISTED_PER_PRIMITIVE = 4 };

/* Where point p of the list is at velocities v. */
static void point_at(const mesh_contact *c, int64_t p, const double *v, const rigid_frame *frames, double Z[3])
{
  const contact_source *s  = &c->sources[c->point_source[p]];
  const double         *x0 = c->vertex_x + 3 * (int64_t)c->point_vertex[p];
  if (s->b->ops->points == POINT_RIGID) {
    const rigid_frame *before = &c->frames0[s->frame], *now = &frames[s->frame];
    double             arm[3], own[3];
    v3_sub(arm, x0, before->c);
    m3_mulv_t(own, before->R, arm);
    m3_mulv(Z, now->R, own);
    v3_axpy(Z, 1.0, now->c);
    return;
  }
  v3_copy(Z, x0);
  for (int64_t k = c->point_row[p]; k < c->point_row[p + 1]; ++k) v3_axpy(Z, c->dt * c->row_weight[k], v + 3 * (int64_t)c->row_block[k]);
}

/* ---- near ones --------------------------------------------------------------------------------------------------------------- */

static PetscErrorCode add_vertex(mesh_contact *c, const double x[3], int32_t body_id)
{
  PetscFunctionBegin;
  if (c->n_vertices == c->vertex_capacity) {
    c->vertex_capacity = 2 * c->vertex_capacity + 1024;
    PetscCall(memory_resize("surface vertices", 3 * c->vertex_capacity, sizeof(double), &c->vertex_x));
    PetscCall(memory_resize("surface vertices", 3 * c->vertex_capacity, sizeof(double), &c->vertex_end));
    PetscCall(memory_resize("surface vertices", c->vertex_capacity, sizeof(int32_t), &c->vertex_body));
  }
  v3_copy(c->vertex_x + 3 * c->n_vertices, x);
  c->vertex_body[c->n_vertices++] = body_id;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The row of the next point. */
static PetscErrorCode add_row(mesh_contact *c, int32_t i_source, int64_t i_point)
{
  const body   *b  = c->sources[i_source].b;
  const int64_t at = c->n_points > 0 ? c->point_row[c->n_points] : 0;
  PetscFunctionBegin;
  c->point_row[c->n_points] = c->point_row[c->n_points + 1] = at;
  if (b->ops->points == POINT_RIGID) PetscFunctionReturn(PETSC_SUCCESS);
  if (at + POINT_MAX_WEIGHTS > c->row_capacity) {
    c->row_capacity = 2 * c->row_capacity + 1024;
    PetscCall(memory_resize("surface point rows", c->row_capacity, sizeof(int32_t), &c->row_block));
    PetscCall(memory_resize("surface point rows", c->row_capacity, sizeof(double), &c->row_weight));
  }
  const int n = b->ops->point_row(b, i_point, c->row_block + at, c->row_weight + at);
  for (int k = 0; k < n; ++k) c->row_block[at + k] += (int32_t)b->first_block;
  c->point_row[c->n_points + 1] = at + n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode add_point(mesh_contact *c, int64_t vertex, int32_t i_source, int64_t i_point, int64_t id)
{
  PetscFunctionBegin;
  if (c->n_points == c->point_capacity) {
    c->point_capacity = 2 * c->point_capacity + 1024;
    PetscCall(memory_resize("surface points", c->point_capacity, sizeof(int32_t), &c->point_vertex));
    PetscCall(memory_resize("surface points", c->point_capacity, sizeof(int32_t), &c->point_source));
    PetscCall(memory_resize("surface points", c->point_capacity, sizeof(int64_t), &c->point_index));
    PetscCall(memory_resize("surface points", c->point_capacity, sizeof(int64_t), &c->point_id));
    PetscCall(memory_resize("surface points", 3 * c->point_capacity, sizeof(double), &c->point_end));
    PetscCall(memory_resize("surface points", c->point_capacity + 1, sizeof(int64_t), &c->point_row));
  }
  PetscCall(add_row(c, i_source, i_point));
  c->point_vertex[c->n_points]  = (int32_t)vertex;
  c->point_source[c->n_points]  = i_source;
  c->point_index[c->n_points]   = i_point;
  c->point_id[c->n_points++]    = id;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void surface_bounds(const contact_surface *s, double min[3], double max[3])
{
  for (int k = 0; k < 3; ++k) min[k] = INFINITY, max[k] = -INFINITY;
  for (int64_t i = 0; i < 3 * s->topology->n_triangles; ++i)
    for (int k = 0; k < 3; ++k) {
      const double x = s->x0[3 * (int64_t)s->topology->tri[i] + k];
      min[k] = fmin(min[k], x), max[k] = fmax(max[k], x);
    }
}

/* Might a sphere around a source's points come near a surface that it meets? */
static bool may_meet(const mesh_contact *c, int i_source, const double center[3], double radius, const double (*bounds)[6])
{
  for (int m = 0; m < c->n_meshes; ++m) {
    double far2 = 0.0;
    if (!(c->law[(int64_t)c->sources[i_source].body_id * c->n_bodies + c->mesh[m].body_id].stiffness > 0.0)) continue;
    for (int k = 0; k < 3; ++k) {
      const double gap = fmax(0.0, fmax(bounds[m][k] - center[k], center[k] - bounds[m][3 + k]));
      far2 += gap * gap;
    }
    if (sqrt(far2) <= radius + 2.0 * c->margin) return true;
  }
  return false;
}

static int find_mesh_of(const mesh_contact *c, const body *b)
{
  for (int m = 0; m < c->n_meshes; ++m)
    if (c->mesh[m].b == b) return m;
  return -1;
}

/* All nodes of the surfaces, then those points of other bodies that are not far from all of them. */
static PetscErrorCode gather(mesh_contact *c)
{
  double (*bounds)[6];
  PetscFunctionBegin;
  c->n_vertices = c->n_points = 0;
  PetscCall(memory_alloc("surface bounds", c->n_meshes, sizeof *bounds, &bounds));
  for (int m = 0; m < c->n_meshes; ++m) {
    contact_surface *s = &c->mesh[m];
    surface_bounds(s, bounds[m], bounds[m] + 3);
    s->first_vertex = c->n_vertices;
    for (int64_t i = 0; i < s->topology->n_vertices; ++i) PetscCall(add_vertex(c, s->x0 + 3 * i, s->body_id));
  }
  for (int s = 0; s < c->n_sources; ++s) {
    const body   *b        = c->sources[s].b;
    const int     mesh     = find_mesh_of(c, b);
    const int64_t clusters = b->ops->n_clusters(b);
    for (int64_t k = 0; k < clusters; ++k) {
      double  center[3], radius, x[3];
      int64_t first, end;
      b->ops->cluster(b, k, center, &radius, &first, &end);
      if (!may_meet(c, s, center, radius, (const double (*)[6])bounds)) continue;
      for (int64_t i = first; i < end; ++i) {
        const int64_t id = b->ops->point(b, i, x);
        if (mesh < 0) PetscCall(add_vertex(c, x, c->sources[s].body_id));
        PetscCall(add_point(c, mesh < 0 ? c->n_vertices - 1 : c->mesh[mesh].first_vertex + id, s, i, id));
      }
    }
  }
  memory_free(&bounds);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static int64_t n_triangles(const mesh_contact *c)
{
  int64_t n = 0;
  for (int m = 0; m < c->n_meshes; ++m) n += c->mesh[m].topology->n_triangles;
  return n;
}

static PetscErrorCode build_broad_phase(mesh_contact *c)
{
  int32_t *triangle;
  bool    *meets;
  int64_t  n = n_triangles(c), at = 0;
  PetscFunctionBegin;
  PetscCall(memory_alloc("surface triangles", 3 * n, sizeof *triangle, &triangle));
  for (int m = 0; m < c->n_meshes; ++m)
    for (int64_t i = 0; i < 3 * c->mesh[m].topology->n_triangles; ++i)
      triangle[at++] = (int32_t)c->mesh[m].first_vertex + c->mesh[m].topology->tri[i];
  PetscCall(memory_alloc("meetings", (int64_t)c->n_bodies * c->n_bodies, sizeof *meets, &meets));
  for (int i = 0; i < c->n_bodies * c->n_bodies; ++i) meets[i] = c->law[i].stiffness > 0.0;
  const broad_phase_surfaces s = {.n_vertices  = c->n_vertices,
                                  .n_points    = c->n_points,
                                  .n_triangles = n,
                                  .point       = c->point_vertex,
                                  .triangle    = triangle,
                                  .n_bodies    = c->n_bodies,
                                  .body        = c->vertex_body,
                                  .meets       = meets};
  broad_phase_destroy(&c->broad);
  PetscCall(broad_phase_create(&s, &c->broad));
  memory_free(&triangle);
  memory_free(&meets);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static bool is_known(const mesh_contact *c, int32_t source, int64_t point, int32_t object)
{
  int64_t lo = 0, hi = c->n_known;
  while (lo < hi) {
    const int64_t      mid = lo + (hi - lo) / 2;
    const mesh_memory *k   = &c->known[mid];
    if (k->source < source || (k->source == source && (k->point < point || (k->point == point && k->object < object)))) lo = mid + 1;
    else hi = mid;
  }
  return lo < c->n_known && c->known[lo].source == source && c->known[lo].point == point && c->known[lo].object == object;
}

static PetscErrorCode list_candidates(mesh_contact *c, int64_t n, const broad_phase_pair *near)
{
  PetscFunctionBegin;
  if (n > c->candidate_capacity) {
    c->candidate_capacity = n + n / 2;
    PetscCall(memory_resize("near triangles", c->candidate_capacity, sizeof *c->candidate, &c->candidate));
    PetscCall(memory_resize("near triangles", c->candidate_capacity, sizeof *c->hit_time, &c->hit_time));
    PetscCall(memory_resize("near triangles", c->candidate_capacity, sizeof *c->hit, &c->hit));
  }
  for (int64_t i = 0; i < n; ++i) {
    int     m        = 0;
    int64_t triangle = near[i].second;
    while (triangle >= c->mesh[m].topology->n_triangles) triangle -= c->mesh[m++].topology->n_triangles;
    const int32_t   p = near[i].first;
    mesh_candidate *q = &c->candidate[i];
    *q = (mesh_candidate){c->point_source[p], m, (int32_t)triangle, p, c->point_index[p], c->point_id[p], {0.0, 0.0, 0.0}, false, -1};
    v3_copy(q->x0, c->vertex_x + 3 * (int64_t)c->point_vertex[p]);
    const mesh_candidate *last = q - 1; /* the same point and surface come in runs */
    const bool is_same = i > 0 && last->i_source == q->i_source && last->id == q->id && last->i_mesh == q->i_mesh;
    q->is_known        = is_same ? last->is_known : is_known(c, c->sources[q->i_source].body_id, q->id, c->mesh[m].body_id);
  }
  c->n_candidates = n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mesh_contact_search(mesh_contact *c)
{
  const broad_phase_pair *near;
  int64_t                 n, bad;
  PetscFunctionBegin;
  c->n_candidates = 0;
  c->is_swept     = false;
  PetscCall(gather(c));
  if (c->n_points == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(build_broad_phase(c));
  PetscCall(broad_phase_update(c->broad, c->vertex_x, c->vertex_x, c->margin, &bad));
  if (bad >= 0) PetscFunctionReturn(PETSC_SUCCESS); /* the systems will say so */
  PetscCall(broad_phase_point_triangle(c->broad, &n, &near));
  c->is_swept = n > LISTED_PER_PRIMITIVE * (c->n_points + n_triangles(c));
  if (!c->is_swept) PetscCall(list_candidates(c, n, near));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The candidates of the state that point_end and mesh[].x hold: the same hits as from the list of the margin, to the last bit. Pairs found before that
 * are not among them are not reached. */
static PetscErrorCode sweep(mesh_contact *c)
{
  const broad_phase_pair *near;
  int64_t                 n, bad;
  double                  longest = 0.0;
  PetscFunctionBegin;
  for (int m = 0; m < c->n_meshes; ++m) {
    const contact_surface *s = &c->mesh[m];
    double                 bounds[6], diagonal[3];
    memcpy(c->vertex_end + 3 * s->first_vertex, s->x, (size_t)(3 * s->topology->n_vertices) * sizeof(double));
    surface_bounds(s, bounds, bounds + 3);
    v3_sub(diagonal, bounds + 3, bounds);
    longest = fmax(longest, v3_norm(diagonal));
  }
  for (int64_t p = 0; p < c->n_points; ++p) v3_copy(c->vertex_end + 3 * (int64_t)c->point_vertex[p], c->point_end + 3 * p);
  c->n_candidates = 0;
  PetscCall(broad_phase_update(c->broad, c->vertex_x, c->vertex_end, 2.0 * CCD_TOLERANCE * longest, &bad));
  if (bad < 0) {
    PetscCall(broad_phase_point_triangle(c->broad, &n, &near));
    PetscCall(list_candidates(c, n, near));
  }
  PetscCall(mesh_contact_relink(c));
  for (int64_t i = 0; i < c->n; ++i)
    if (c->pair[i].is_new) c->pair[i].is_reached = false;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- those that collide --------------------------------------------------------------------------------------------------------- */

static void candidate_path(const mesh_contact *c, const mesh_candidate *q, double x0[12], double x1[12])
{
  const contact_surface *s      = &c->mesh[q->i_mesh];
  const int32_t         *corner = s->topology->tri + 3 * (int64_t)q->triangle;
  v3_copy(x0, q->x0);
  v3_copy(x1, c->point_end + 3 * (int64_t)q->point);
  for (int k = 0; k < 3; ++k) {
    v3_copy(x0 + 3 + 3 * k, s->x0 + 3 * (int64_t)corner[k]);
    v3_copy(x1 + 3 + 3 * k, s->x + 3 * (int64_t)corner[k]);
  }
}

/* Does the point come through the triangle, and from which side: the sign of its relative motion along the normal at that time. */
static void try_candidate(mesh_contact *c, int64_t i)
{
  const mesh_candidate *q = &c->candidate[i];
  double                x0[12], x1[12], e1[3], e2[3], n[3], longest = 0.0, w[3], motion[3];
  ccd_hit               hit;
  c->hit_time[i] = INFINITY;
  if (q->is_known) return;
  candidate_path(c, q, x0, x1);
  v3_sub(e1, x0 + 6, x0 + 3);
  v3_sub(e2, x0 + 9, x0 + 3);
  longest                 = sqrt(fmax(v3_dot(e1, e1), v3_dot(e2, e2)));
  const ccd_limits limits = {.separation = 0.0, .tolerance = CCD_TOLERANCE * longest};
  if (ccd_boxes_are_apart(x0, x1, 1, limits.tolerance) || !ccd_point_triangle_near(x0, x1, &limits, &hit)) return;
  for (int k = 0; k < 3; ++k) {
    const int64_t a = 3 + k, b = 6 + k, d = 9 + k;
    e1[k] = (1.0 - hit.t) * (x0[b] - x0[a]) + hit.t * (x1[b] - x1[a]);
    e2[k] = (1.0 - hit.t) * (x0[d] - x0[a]) + hit.t * (x1[d] - x1[a]);
  }
  v3_cross(n, e1, e2);
  w[1] = fmin(fmax(hit.u, 0.0), 1.0);
  w[2] = fmin(fmax(hit.v, 0.0), 1.0 - w[1]);
  w[0] = 1.0 - w[1] - w[2];
  for (int k = 0; k < 3; ++k) {
    motion[k] = x1[k] - x0[k];
    for (int j = 0; j < 3; ++j) motion[k] -= w[j] * (x1[3 + 3 * j + k] - x0[3 + 3 * j + k]);
  }
  const double inward = -v3_dot(motion, n), way = v3_norm(motion);
  if (inward == 0.0 || (inward < 0.0 && c->mesh[q->i_mesh].is_closed)) return; /* it comes out: nothing to register */
  const double head_on = fabs(inward) / (v3_norm(n) * way);
  v3_scale(n, (inward > 0.0 ? 1.0 : -1.0) / v3_norm(n), n);
  if (c->edges && mesh_edges_hold(c, c->sources[q->i_source].b, q->id, q->i_mesh, q->triangle, n)) return;
  c->hit_time[i] = hit.t;
  c->hit[i]      = (mesh_hit){inward > 0.0 ? 1 : -1, {w[0], w[1], w[2]}, head_on, 4.0 * limits.tolerance / way};
}

/* Of the candidates [i, end) of one point and one surface the one that collides first; infinite time: none does. Through an edge or a corner the point
 * comes into all triangles there at once, and only rounding tells which is earlier, or whether it comes in at all where it moves along one: it is the
 * one that it meets most head-on that holds it. */
static int64_t first_hit(const mesh_contact *c, int64_t i, int64_t end)
{
  int64_t first = i, best;
  for (int64_t k = i + 1; k < end; ++k)
    if (c->hit_time[k] < c->hit_time[first]) first = k;
  if (!(c->hit_time[first] <= 1.0)) return first;
  best = first;
  for (int64_t k = i; k < end; ++k)
    if (c->hit_time[k] <= c->hit_time[first] + c->hit[first].rounding && c->hit[k].head_on > c->hit[best].head_on) best = k;
  return best;
}

static bool same_point(const mesh_candidate *a, const mesh_candidate *b)
{
  return a->i_source == b->i_source && a->id == b->id && a->i_mesh == b->i_mesh;
}

/* The candidates [i, end) are those of one point and one surface, `first` the earliest that collides, infinite time: none does. */
static PetscErrorCode settle(mesh_contact *c, int64_t i, int64_t end, int64_t first, bool is_late)
{
  const mesh_candidate *q = &c->candidate[first];
  const mesh_hit       *h = &c->hit[first];
  PetscFunctionBegin;
  mesh_pair *before = q->pair >= 0 ? &c->pair[q->pair] : NULL;
  if (!(c->hit_time[first] <= 1.0)) {
    if (before) before->is_reached = false;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  const mesh_attachment X    = {q->triangle, {h->weight[0], h->weight[1], h->weight[2]}};
  const int32_t         side = h->side;
  if (before) { /* its first attachment stays, so that Newton iterates on one function, unless it comes from the other side now */
    before->is_reached = true;
    if (before->side != side) before->X = X, before->side = side;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (int64_t k = i; k < end; ++k) c->candidate[k].pair = (int32_t)c->n;
  PetscCall(mesh_contact_add(c, q->i_source, q->i_point, q->id, q->x0, q->i_mesh, &X, side));
  c->pair[c->n - 1].is_new  = true;
  c->pair[c->n - 1].is_late = is_late;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mesh_contact_detect(mesh_contact *c, const double *v, const rigid_frame *frames, bool is_late)
{
  const int64_t before   = c->n;
  const int64_t n_points = c->n_candidates > 0 || c->is_swept ? c->n_points : 0;
  PetscFunctionBegin;
#pragma omp parallel for schedule(static) if (n_points > CONTACT_SERIAL)
  for (int64_t p = 0; p < n_points; ++p) point_at(c, p, v, frames, c->point_end + 3 * p);
  if (c->is_swept) PetscCall(sweep(c));
  const int64_t n = c->n_candidates;
#pragma omp parallel for schedule(dynamic, 64) if (n > CONTACT_SERIAL)
  for (int64_t i = 0; i < n; ++i) try_candidate(c, i);
  for (int64_t i = 0, end; i < n; i = end) {
    for (end = i + 1; end < n && same_point(&c->candidate[i], &c->candidate[end]); ++end);
    if (!c->candidate[i].is_known) PetscCall(settle(c, i, end, first_hit(c, i, end), is_late));
  }
  if (c->n > before) PetscCall(mesh_contact_list(c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  int32_t source, object, pair;
  int64_t point;
} pair_place;

static int compare_place(const void *a, const void *b)
{
  const pair_place *p = a, *q = b;
  if (p->source != q->source) return p->source < q->source ? -1 : 1;
  if (p->object != q->object) return p->object < q->object ? -1 : 1;
  return (p->point > q->point) - (p->point < q->point);
}

PetscErrorCode mesh_contact_relink(mesh_contact *c)
{
  pair_place *place;
  PetscFunctionBegin;
  if (c->n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(memory_alloc("pairs by point", c->n, sizeof *place, &place));
  for (int64_t i = 0; i < c->n; ++i) {
    const contact_candidate *q = &c->pair[i].q;
    place[i]                   = (pair_place){q->i_source, q->i_object, (int32_t)i, q->key.point};
  }
  qsort(place, (size_t)c->n, sizeof *place, compare_place);
  const pair_place *at = NULL; /* of the candidate before */
  for (int64_t k = 0; k < c->n_candidates; ++k) {
    mesh_candidate  *near = &c->candidate[k];
    const pair_place key  = {near->i_source, near->i_mesh, 0, near->id};
    if (k == 0 || !same_point(near, near - 1)) at = bsearch(&key, place, (size_t)c->n, sizeof *place, compare_place);
    if (!at) continue;
    if (c->pair[at->pair].is_new) near->pair = at->pair;
    else near->is_known = true;
  }
  memory_free(&place);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- those that are inside from the start -------------------------------------------------------------------------------------------- */

static void weights_of(const double *P, const double *Q, const double *R, const double x[3], double w[3])
{
  double e1[3], e2[3], b[3];
  v3_sub(e1, Q, P);
  v3_sub(e2, R, P);
  v3_sub(b, x, P);
  const double a11 = v3_dot(e1, e1), a12 = v3_dot(e1, e2), a22 = v3_dot(e2, e2), b1 = v3_dot(e1, b), b2 = v3_dot(e2, b);
  const double det = a11 * a22 - a12 * a12;
  w[1] = fmin(fmax((a22 * b1 - a12 * b2) / det, 0.0), 1.0);
  w[2] = fmin(fmax((a11 * b2 - a12 * b1) / det, 0.0), 1.0 - w[1]);
  w[0] = 1.0 - w[1] - w[2];
}

PetscErrorCode mesh_contact_find_inside(mesh_contact *c)
{
  PetscFunctionBegin;
  for (int m = 0; m < c->n_meshes; ++m) {
    const contact_surface *s = &c->mesh[m];
    triangle_mesh          mesh = {s->topology->n_vertices, s->topology->n_triangles, s->x0, s->topology->tri};
    triangle_bvh          *tree;
    if (!s->is_closed) continue;
    PetscCall(triangle_bvh_create(&mesh, &tree));
    for (int64_t p = 0; p < c->n_points; ++p) {
      const contact_source *source = &c->sources[c->point_source[p]];
      const double         *x      = c->vertex_x + 3 * (int64_t)c->point_vertex[p];
      int32_t               near   = -1;
      double                nearest[3];
      if (source->b == s->b || !(c->law[(int64_t)source->body_id * c->n_bodies + s->body_id].stiffness > 0.0)) continue;
      if (!(triangle_bvh_distance(tree, x, &near, nearest) < 0.0)) continue;
      const int32_t  *v = s->topology->tri + 3 * (int64_t)near;
      mesh_attachment X = {near, {0.0, 0.0, 0.0}};
      weights_of(s->x0 + 3 * (int64_t)v[0], s->x0 + 3 * (int64_t)v[1], s->x0 + 3 * (int64_t)v[2], nearest, X.weight);
      PetscCall(mesh_contact_add(c, c->point_source[p], c->point_index[p], c->point_id[p], x, m, &X, 1));
    }
    triangle_bvh_destroy(&tree);
  }
  PetscCall(mesh_contact_relink(c));
  PetscFunctionReturn(PETSC_SUCCESS);
}
