/* Quantities of granular matter made of rigid bodies: coordination, packing, stress and fabric, from the centres of mass and the contact
 * points of the last step. Contact points of the same two bodies count as one contact if their normals are parallel (a face), and as
 * several otherwise (a ball in a corner). */
#include "core/eigen3.h"
#include "core/memory.h"
#include "core/quaternion.h"
#include "core/sort.h"
#include "discretize/rigid/rigid_body.h"
#include "geometry/primitive/volume_in_box.h"
#include "sim/measure/measure_quantity.h"

/* The dynamic rigid body i, if it belongs to the measured ones and its centre is in the measured box; else NULL. */
static const rigid_body *grain(const measure_moment *now, const measure *k, int i)
{
  const measure_box *box = k->spec->within;
  if (k->bodies.n > 0 && !body_range_has(k->bodies, i)) return NULL;
  const rigid_body *b = rigid_body_dynamic(now->scene->bodies[i].body);
  if (b && b->base.is_waiting) return NULL;
  for (int q = 0; box && b && q < 3; ++q)
    if (!(b->c[q] >= box->min[q] && b->c[q] <= box->max[q])) return NULL;
  return b;
}

static double box_volume(const measure_box *box)
{
  return (box->max[0] - box->min[0]) * (box->max[1] - box->min[1]) * (box->max[2] - box->min[2]);
}

/* ==== contact network ==== */

static const double PARALLEL = 0.9; /* smallest cosine of the angle between two normals of one contact */
static const double NEGLIGIBLE =
    1e-9; /* share of the largest force below which a force is a rounding error: bodies that touch without load are no contact */

/* Contacts of different bodies, ascending by pair. */
typedef struct {
  int64_t   n;
  uint64_t *key;   /* [n] smaller body << 32 | larger body */
  int32_t  *point; /* [n] contact point with the smallest number */
} network;

static void network_free(network *w) { MEMORY_FREE(&w->key, &w->point); }

/* Normal of a contact point, from the smaller to the larger body, or the reverse, for all points of a pair. */
static void pair_normal(const contact_points_view *p, int32_t i, double n[3])
{
  v3_scale(n, p->source_body[i] < p->object_body[i] ? 1.0 : -1.0, p->normal + 3 * (int64_t)i);
}

/* True if the point belongs to one of the last contacts of the network. */
static bool is_in_network(const contact_points_view *p, const network *w, uint64_t key, int32_t point)
{
  double n[3], other[3];
  pair_normal(p, point, n);
  for (int64_t c = w->n; c-- > 0 && w->key[c] == key;) {
    pair_normal(p, w->point[c], other);
    if (v3_dot(n, other) > PARALLEL) return true;
  }
  return false;
}

static PetscErrorCode network_create(const contact_points_view *p, network *w)
{
  PetscFunctionBegin;
  *w = (network){0};
  PetscCall(MEMORY_ALLOC("contact network", ARRAY(w->key, p->n), ARRAY(w->point, p->n)));
  double largest = 0.0;
  for (int64_t i = 0; i < p->n; ++i) {
    const uint64_t a = (uint32_t)p->source_body[i], b = (uint32_t)p->object_body[i];
    w->key[i] = a < b ? a << 32 | b : b << 32 | a;
    largest   = fmax(largest, v3_norm(p->force + 3 * i));
  }
  PetscCall(sort_keys(p->n, 64, w->key, w->point));
  for (int64_t i = 0; i < p->n; ++i) {
    const uint64_t key = w->key[i];
    if (v3_norm(p->force + 3 * (int64_t)w->point[i]) < NEGLIGIBLE * largest) continue;
    if (key >> 32 == (key & UINT32_MAX) || is_in_network(p, w, key, w->point[i])) continue;
    w->key[w->n] = key, w->point[w->n++] = w->point[i];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Contacts that carry a rigid body at least: the normal forces alone must balance gravity and all other loads, or friction helps. */
static int contacts_needed(const contact_points_view *p)
{
  for (int64_t i = 0; i < p->n; ++i) {
    const double *f = p->force + 3 * i, *n = p->normal + 3 * i, normal = v3_dot(f, n);
    double        t[3];
    v3_copy(t, f);
    v3_axpy(t, -normal, n);
    if (v3_norm(t) > 1e-9 * fabs(normal)) return 2;
  }
  return 4;
}

/* Number of contacts degree [n_bodies] of each body, after the rattlers have been removed one after the other: bodies with fewer than
 * `needed` contacts with bodies that are not removed. A removed body has degree -1; bodies that are not dynamic and rigid stay. */
static PetscErrorCode count_contacts(const scene *s, const network *w, int needed, int *degree)
{
  int64_t *start;
  int     *partner, *removed, n_removed = 0;
  PetscFunctionBegin;
  PetscCall(MEMORY_ALLOC("contact network", ARRAY(start, s->n_bodies + 2), ARRAY(partner, 2 * w->n), ARRAY(removed, s->n_bodies)));
  for (int64_t i = 0; i < w->n; ++i) ++start[(w->key[i] >> 32) + 2], ++start[(w->key[i] & UINT32_MAX) + 2];
  for (int i = 0; i < s->n_bodies; ++i) degree[i] = (int)start[i + 2], start[i + 2] += start[i + 1];
  for (int64_t i = 0; i < w->n; ++i) {
    const int a = (int)(w->key[i] >> 32), b = (int)(w->key[i] & UINT32_MAX);
    partner[start[a + 1]++] = b, partner[start[b + 1]++] = a;
  }
  for (int i = 0; i < s->n_bodies; ++i)
    if (degree[i] < needed && rigid_body_dynamic(s->bodies[i].body)) removed[n_removed++] = i, degree[i] = -1;
  for (int r = 0; r < n_removed; ++r)
    for (int64_t q = start[removed[r]]; q < start[removed[r] + 1]; ++q) {
      const int other = partner[q];
      if (degree[other] > 0 && --degree[other] < needed && rigid_body_dynamic(s->bodies[other].body))
        removed[n_removed++] = other, degree[other] = -1;
    }
  MEMORY_FREE(&start, &partner, &removed);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode mean_contacts(const measure_moment *now, const measure *k, bool has_rattlers, double *value)
{
  const contact_points_view p = contact_points_get(now->formulation->points);
  const scene              *s = now->scene;
  network                   w;
  int                      *degree, n = 0;
  double                    sum = 0.0;
  PetscFunctionBegin;
  PetscCall(network_create(&p, &w));
  PetscCall(memory_alloc("contact network", s->n_bodies, sizeof *degree, &degree));
  PetscCall(count_contacts(s, &w, has_rattlers ? 0 : contacts_needed(&p), degree));
  for (int i = 0; i < s->n_bodies; ++i)
    if (degree[i] >= 0 && grain(now, k, i)) sum += degree[i], ++n;
  if (n > 0) *value = sum / n;
  network_free(&w);
  memory_free(&degree);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode measure_coordination_number(const measure_moment *now, measure *k, double *value)
{
  return mean_contacts(now, k, true, value);
}

PetscErrorCode measure_mechanical_coordination_number(const measure_moment *now, measure *k, double *value)
{
  return mean_contacts(now, k, false, value);
}

/* ==== tensors ==== */

/* value [7]: the component along the measured direction, or `scalar` if none is given; then xx, yy, zz, yz, zx, xy of the symmetric part. */
static void put_tensor(const measure *k, const double t[9], double scalar, double *value)
{
  double along[3];
  m3_mulv(along, t, k->direction);
  value[0] = k->has_direction ? v3_dot(k->direction, along) : scalar;
  for (int q = 0; q < 3; ++q)
    value[1 + q] = t[4 * q], value[4 + q] = 0.5 * (t[3 * ((q + 1) % 3) + (q + 2) % 3] + t[3 * ((q + 2) % 3) + (q + 1) % 3]);
}

PetscErrorCode measure_contact_stress(const measure_moment *now, measure *k, double *value)
{
  const contact_points_view p      = contact_points_get(now->formulation->points);
  const double              volume = box_volume(k->spec->within);
  double                    t[9]   = {0.0};
  for (int64_t i = 0; i < p.n; ++i)
    for (int side = 0; side < 2; ++side) {
      const rigid_body *b = grain(now, k, side == 0 ? p.source_body[i] : p.object_body[i]);
      double            arm[3], one[9];
      if (!b || p.source_body[i] == p.object_body[i]) continue;
      v3_sub(arm, p.position + 3 * i, b->c);
      m3_outer(one, p.force + 3 * i, arm);
      m3_axpy(t, (side == 0 ? -1.0 : 1.0) / volume, one);
    }
  put_tensor(k, t, m3_trace(t) / 3.0, value);
  return PETSC_SUCCESS;
}

PetscErrorCode measure_fabric(const measure_moment *now, measure *k, double *value)
{
  const contact_points_view p = contact_points_get(now->formulation->points);
  network                   w;
  int64_t                   n    = 0;
  double                    t[9] = {0.0}, lambda[3], Q[9];
  PetscFunctionBegin;
  PetscCall(network_create(&p, &w));
  for (int64_t i = 0; i < w.n; ++i) {
    double one[9];
    if (!grain(now, k, (int)(w.key[i] >> 32)) && !grain(now, k, (int)(w.key[i] & UINT32_MAX))) continue;
    m3_outer(one, p.normal + 3 * (int64_t)w.point[i], p.normal + 3 * (int64_t)w.point[i]);
    m3_axpy(t, 1.0, one);
    ++n;
  }
  network_free(&w);
  for (int q = 0; q < 7; ++q) value[q] = NAN;
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  for (int q = 0; q < 9; ++q) t[q] /= (double)n;
  eigen3_symmetric(t, lambda, Q);
  put_tensor(k, t, lambda[0] - lambda[2], value);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ==== packing ==== */

/* Volume of body b in the box; x: scratch [n_vertices][3]. Round bodies: the share of the volume inside their triangle surface. */
static double volume_in_box(const rigid_body *b, const measure_box *box, double *x)
{
  const bool is_ball   = b->n_solids == 1 && b->solids[0].kind == CONVEX_SPHERE;
  bool       is_inside = true, is_outside = false;
  double     R[9];
  for (int q = 0; q < 3; ++q) {
    is_inside  = is_inside && b->c[q] - b->radius >= box->min[q] && b->c[q] + b->radius <= box->max[q];
    is_outside = is_outside || b->c[q] + b->radius <= box->min[q] || b->c[q] - b->radius >= box->max[q];
  }
  if (is_inside || is_outside) return is_inside ? b->volume : 0.0;
  if (is_ball) return ball_volume_in_box(b->c, b->solids[0].radius, box->min, box->max);
  const triangle_mesh *m       = b->surface;
  const double         huge[3] = {INFINITY, INFINITY, INFINITY}, lowest[3] = {-INFINITY, -INFINITY, b->c[2] - 2.0 * b->radius},
               highest[3] = {huge[0], huge[1], b->c[2] + 2.0 * b->radius};
  quaternion_to_matrix(R, b->q);
  for (int64_t i = 0; i < m->n_vertices; ++i) {
    m3_mulv(x + 3 * i, R, m->x + 3 * i);
    v3_axpy(x + 3 * i, 1.0, b->c);
  }
  const double whole = mesh_volume_in_box(m->n_triangles, m->tri, x, lowest, highest);
  return b->volume * mesh_volume_in_box(m->n_triangles, m->tri, x, box->min, box->max) / whole;
}

PetscErrorCode measure_packing_fraction(const measure_moment *now, measure *k, double *value)
{
  const scene *s = now->scene;
  double      *x = NULL, sum = 0.0;
  int64_t      n_x = 0;
  PetscFunctionBegin;
  for (int i = 0; i < s->n_bodies; ++i) {
    const rigid_body *b = k->bodies.n == 0 || body_range_has(k->bodies, i) ? rigid_body_dynamic(s->bodies[i].body) : NULL;
    if (!b || b->base.is_waiting) continue;
    PetscCall(memory_reserve("packing", 3 * b->n_vertices, sizeof *x, &n_x, &x));
    sum += volume_in_box(b, k->spec->within, x);
  }
  memory_free(&x);
  *value = sum / box_volume(k->spec->within);
  PetscFunctionReturn(PETSC_SUCCESS);
}
