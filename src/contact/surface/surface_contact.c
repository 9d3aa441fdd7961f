#include "contact/surface/surface_contact_internal.h"
#include "core/math3.h"
#include "core/memory.h"
#include <stdlib.h>

enum { CHUNK = 128, SERIAL_LIMIT = 512 };

/* ---- creation ---- */

void surface_contact_destroy(surface_contact **out)
{
  if (!out || !*out) return;
  surface_contact *c        = *out;
  void            *arrays[] = {&c->point,    &c->segment, &c->body, &c->meets, &c->is_closed,
                               &c->is_rigid, &c->radius,  &c->rest, &c->flags, &c->spot};
  for (size_t k = 0; k < sizeof arrays / sizeof *arrays; ++k) memory_free(arrays[k]);
  triangle_topology_destroy(&c->topology);
  broad_phase_destroy(&c->broad);
  memory_free(out);
}

static PetscErrorCode copy(int64_t n, size_t size, const void *from, void *to)
{
  PetscFunctionBegin;
  PetscCall(memory_alloc("surface contacts", n, size, to));
  if (n > 0) memcpy(*(void **)to, from, (size_t)n * size);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode create_broad_phase(surface_contact *c)
{
  const int64_t  n_edges = c->topology->n_edges;
  int32_t       *edge;
  PetscErrorCode code;
  PetscFunctionBegin;
  PetscCall(memory_alloc("surface contacts", 2 * (n_edges + c->n_segments), sizeof *edge, &edge));
  if (n_edges > 0) memcpy(edge, c->topology->edge, 2 * (size_t)n_edges * sizeof *edge);
  if (c->n_segments > 0) memcpy(edge + 2 * n_edges, c->segment, 2 * (size_t)c->n_segments * sizeof *edge);
  const broad_phase_surfaces all = {c->n_vertices, c->n_points, n_edges + c->n_segments, c->topology->n_triangles,
                                    c->point,      edge,        c->topology->tri,        c->n_bodies,
                                    c->body,       c->meets};
  code                           = broad_phase_create(&all, &c->broad);
  memory_free(&edge);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode fill(const surface_set *s, surface_contact *c)
{
  const int64_t n = s->n_vertices;
  PetscFunctionBegin;
  c->n_vertices = n, c->n_points = s->n_points, c->n_segments = s->n_segments, c->n_bodies = s->n_bodies;
  PetscCall(copy(s->n_points, sizeof *c->point, s->point, &c->point));
  PetscCall(copy(2 * s->n_segments, sizeof *c->segment, s->segment, &c->segment));
  PetscCall(copy(n, sizeof *c->body, s->body, &c->body));
  PetscCall(copy((int64_t)s->n_bodies * s->n_bodies, sizeof *c->meets, s->meets, &c->meets));
  PetscCall(copy(s->n_points + s->n_segments, sizeof *c->radius, s->radius, &c->radius));
  PetscCall(copy(s->n_bodies, sizeof *c->is_rigid, s->is_rigid, &c->is_rigid));
  PetscCall(copy(s->rest ? 3 * n : 0, sizeof *c->rest, s->rest, &c->rest));
  PetscCall(memory_alloc("surface contacts", s->n_bodies, sizeof *c->is_closed, &c->is_closed));
  for (int64_t i = 0; i < s->n_points + s->n_segments; ++i) {
    PetscCheck(s->radius[i] >= 0.0 && isfinite(s->radius[i]), PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "a radius must be a number >= 0");
    c->thickest = fmax(c->thickest, s->radius[i]);
  }
  PetscCall(triangle_topology_create(n, s->n_triangles, s->triangle, &c->topology));
  PetscCall(create_broad_phase(c)); /* checks all vertices and bodies */
  for (int32_t i = 0; i < s->n_bodies; ++i) c->is_closed[i] = true;
  for (int64_t e = 0; e < c->topology->n_edges; ++e)
    if (c->topology->edge_triangle[2 * e + 1] < 0) c->is_closed[c->body[c->topology->edge[2 * e]]] = false;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode surface_contact_create(const surface_set *set, surface_contact **out)
{
  surface_contact *c = NULL;
  PetscFunctionBegin;
  PetscCall(memory_alloc("surface contacts", 1, sizeof *c, &c));
  const PetscErrorCode code = fill(set, c);
  if (code) surface_contact_destroy(&c);
  PetscCall(code);
  *out = c;
  PetscFunctionReturn(PETSC_SUCCESS);
}

const triangle_topology *surface_contact_topology(const surface_contact *c) { return c->topology; }

/* ---- what points and edges both ask ---- */

static void combine(const double *x, int n, const int32_t *vertex, const double *weight, double out[3])
{
  v3_set(out, 0.0, 0.0, 0.0);
  for (int k = 0; k < n; ++k) v3_axpy(out, weight[k], surface_at(x, vertex[k]));
}

bool surface_has_folded(const surface_contact *c, int n_first, const int32_t *first, const double *weight_first, int n_second,
                        const int32_t *second, const double *weight_second, double distance)
{
  double a[3], b[3];
  SS_ASSERT(c->rest);
  combine(c->rest, n_first, first, weight_first, a);
  combine(c->rest, n_second, second, weight_second, b);
  v3_sub(a, a, b);
  return distance < 0.5 * v3_norm(a);
}

void surface_vertex_normal(const surface_contact *c, const double *x, int32_t vertex, double out[3])
{
  const triangle_topology *o = c->topology;
  v3_set(out, 0.0, 0.0, 0.0);
  for (int32_t k = o->fan_start[vertex]; k < o->fan_start[vertex + 1]; ++k) {
    const int32_t *t = o->tri + 3 * (int64_t)o->fan[k];
    const int      i = t[0] == vertex ? 0 : t[1] == vertex ? 1 : 2;
    double         e[3], f[3], n[3];
    v3_sub(e, surface_at(x, t[(i + 1) % 3]), surface_at(x, vertex));
    v3_sub(f, surface_at(x, t[(i + 2) % 3]), surface_at(x, vertex));
    v3_cross(n, e, f);
    const double length = v3_norm(n);
    if (length > 0.0) v3_axpy(out, atan2(length, v3_dot(e, f)) / length, n);
  }
}

/* ---- search ---- */

/* Mean length of the surfaces' edges; as they are now, in chunks of fixed size. */
static double mean_edge(const surface_contact *c, const double *x)
{
  const int64_t n   = c->topology->n_edges;
  double        sum = 0.0;
  for (int64_t e = 0; e < n; ++e) {
    double d[3];
    v3_sub(d, surface_at(x, c->topology->edge[2 * e]), surface_at(x, c->topology->edge[2 * e + 1]));
    sum += v3_norm(d);
  }
  return n > 0 ? sum / (double)n : 0.0;
}

typedef bool make_spot(const surface_contact *c, int32_t first, int32_t second, surface_spot *out);

static PetscErrorCode collect(surface_contact *c, int64_t n, const broad_phase_pair *pair, make_spot *make)
{
  PetscFunctionBegin;
  PetscCall(memory_reserve("surface contacts", n, sizeof *c->flags, &c->flag_capacity, &c->flags));
  uint8_t *const flags = c->flags;
  int64_t        total = 0;
#pragma omp parallel for schedule(dynamic, CHUNK) reduction(+ : total) if (n > SERIAL_LIMIT)
  for (int64_t k = 0; k < n; ++k) {
    surface_spot spot;
    flags[k] = make(c, pair[k].first, pair[k].second, &spot);
    total += flags[k];
  }
  PetscCall(memory_reserve("surface contacts", c->n_spots + total, sizeof *c->spot, &c->spot_capacity, &c->spot));
  for (int64_t k = 0; k < n; ++k)
    if (flags[k]) make(c, pair[k].first, pair[k].second, &c->spot[c->n_spots++]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static int by_feature(const void *a, const void *b)
{
  const surface_spot *p = a, *q = b;
  if (p->kind != q->kind) return p->kind < q->kind ? -1 : 1;
  if (p->first != q->first) return p->first < q->first ? -1 : 1;
  const int32_t i = p->kind == SURFACE_POINT ? p->feature : p->second, j = q->kind == SURFACE_POINT ? q->feature : q->second;
  if (i != j) return i < j ? -1 : 1;
  return (int)p->is_swept - (int)q->is_swept;
}

/* Of spots [n] of one point and one body: what is inside it touches at its nearest point alone; what is outside, nowhere from
 * inside. What touches needs nobody on the way. Returns how many are left. */
static int64_t reduce_point(surface_spot *spot, int64_t n, double radius)
{
  int64_t nearest = 0, m = 0;
  bool    any_touches = false;
  for (int64_t k = 0; k < n; ++k) any_touches |= !spot[k].is_swept;
  for (int64_t k = 1; k < n; ++k)
    if (spot[k].is_swept <= spot[nearest].is_swept &&
        (spot[k].is_swept < spot[nearest].is_swept || fabs(spot[k].gap + radius) < fabs(spot[nearest].gap + radius)))
      nearest = k;
  const bool is_inside = any_touches && spot[nearest].gap + radius < 0.0;
  for (int64_t k = 0; k < n; ++k) {
    const bool stays = !any_touches ? k == nearest : is_inside ? k == nearest : !spot[k].is_swept && spot[k].gap + radius >= 0.0;
    if (stays) spot[m++] = spot[k];
  }
  return m;
}

static void reduce_points(surface_contact *c)
{
  int64_t m = 0;
  for (int64_t k = 0, end; k < c->n_spots; k = end) {
    const int32_t point = c->spot[k].first, body = surface_body_of_triangle(c, c->spot[k].second);
    const double  skin = surface_point_skin(c, point, c->spot[k].second);
    for (end = k + 1; end < c->n_spots && c->spot[end].first == point && surface_body_of_triangle(c, c->spot[end].second) == body;
         ++end) {}
    const int64_t left = reduce_point(c->spot + k, end - k, c->radius[point] + skin);
    memmove(c->spot + m, c->spot + k, (size_t)left * sizeof *c->spot);
    m += left;
  }
  c->n_spots = m;
}

PetscErrorCode surface_contact_run(surface_contact *c, const double *x0, const double *x1, double margin, int64_t *n,
                                   const surface_spot **out, int64_t *bad)
{
  int64_t                 n_pairs;
  const broad_phase_pair *pair;
  PetscFunctionBegin;
  const double edge = mean_edge(c, x0);
  c->skin           = SURFACE_SKIN * edge;
  c->margin         = fmin(margin, 0.5 * edge);
  PetscCall(broad_phase_update(c->broad, x0, x1 ? x1 : x0, isfinite(edge) ? c->margin + c->skin + c->thickest : 0.0, bad));
  if (*bad >= 0) PetscFunctionReturn(PETSC_SUCCESS);
  c->x0 = x0, c->x1 = x1, c->n_spots = 0;
  PetscCall(broad_phase_point_triangle(c->broad, &n_pairs, &pair));
  PetscCall(collect(c, n_pairs, pair, surface_point_spot));
  reduce_points(c);
  PetscCall(broad_phase_edge_edge(c->broad, &n_pairs, &pair));
  PetscCall(collect(c, n_pairs, pair, surface_edge_spot));
  if (c->n_spots > 1) qsort(c->spot, (size_t)c->n_spots, sizeof *c->spot, by_feature);
  c->x0 = c->x1 = NULL;
  *n            = c->n_spots;
  *out          = c->spot;
  PetscFunctionReturn(PETSC_SUCCESS);
}
