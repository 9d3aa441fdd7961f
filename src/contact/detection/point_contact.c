/* Contacts of points with level sets, see point_contact.h: candidate pairs, contacts at the current position, swept contacts. */
#include "contact/detection/point_contact.h"
#include "contact/detection/contact_scene.h"
#include "contact/detection/contact_search.h"
#include "core/math3.h"
#include "core/memory.h"

/* ---- trajectory of a point against a level set: conservative advancement along x0 + s d, 0 <= s <= 1 ---- */

/* Smallest advance in multiples of the tolerance, so that the iteration ends for trajectories along the surface. */
enum { STRIDE = 4 };
/* Tolerance of the distance, as a fraction of the length of the trajectory. The remaining gap follows from value and normal. */
static const double near_enough = 1e-3;
/* Cosine between two normals above which both belong to the same side of the solid. */
static const double same_side = 0.9;

/* Clip the trajectory to the bounding box of the solid, because level set values outside it are not lower bounds of the distance. */
static bool clip(const level_set *s, const double x0[3], const double d[3], double *first, double *last)
{
  double min[3], max[3];
  level_set_bounds(s, min, max);
  for (int k = 0; k < 3; ++k) {
    const double low = (min[k] - x0[k]) / d[k], high = (max[k] - x0[k]) / d[k];
    if (d[k] == 0.0 && (x0[k] < min[k] || x0[k] > max[k])) return false;
    if (d[k] == 0.0) continue;
    *first = fmax(*first, fmin(low, high));
    *last  = fmin(*last, fmax(low, high));
  }
  return *first <= *last;
}

/* Whether a contact with the plane of normal `held` at distance phi from x0 already prevents the entry at `place`. */
static bool is_held(const double x0[3], double phi, const double *held, const double place[3], const double normal[3], double slack)
{
  double d[3];
  if (!held || v3_dot(held, normal) < same_side) return false;
  v3_sub(d, place, x0);
  return v3_dot(held, d) + phi < slack;
}

bool point_sweep(const level_set *s, const double x0[3], const double x1[3], double phi, const double *held, double place[3],
                 double normal[3], double *gap)
{
  double d[3], at, last = 1.0;
  v3_sub(d, x1, x0);
  const double length = v3_norm(d), closing = held ? -v3_dot(held, d) : 0.0, near = near_enough * length;
  if (!(length > phi)) return false;
  at = phi / length;
  if (closing > 0.0) last = fmin(last, phi / closing * (1.0 - 1e-6));
  if (!clip(s, x0, d, &at, &last)) return false;
  while (at <= last) {
    for (int i = 0; i < 3; ++i) place[i] = x0[i] + at * d[i];
    const double value = level_set_eval(s, place, normal, NULL), size = v3_norm(normal);
    if (value <= near && size > 0.0) {
      v3_scale(normal, 1.0 / size, normal);
      v3_axpy(place, -value, normal);
      *gap = value - at * v3_dot(normal, d);
      if (v3_dot(normal, d) < 0.0 && *gap > 0.0 && !is_held(x0, phi, held, place, normal, 2.0 * near)) return true;
    }
    at += fmax(value, value <= near ? STRIDE * near : 0.0) / length;
  }
  return false;
}

/* ---- the detector ---- */

struct point_contact {
  contact_search *search;
  int64_t         object_capacity, source_capacity, reach_capacity;
  int32_t        *key;                 /* [n_objects] */
  rigid_frame    *object_end;          /* [n_objects] */
  double         *object_displacement; /* [n_objects] largest displacement over the step */
  rigid_frame    *source_end;          /* [n_sources] pose at the end of the step of sources with a pose */
  double        **v;                   /* [n_sources] velocities of the other sources during detection */
  double         *source_displacement; /* [n_sources] largest displacement over the step */
};

PetscErrorCode point_contact_create(point_contact **out)
{
  PetscFunctionBeginUser;
  PetscCall(memory_alloc("point contacts", 1, sizeof **out, out));
  PetscCall(contact_search_create(&(*out)->search));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void point_contact_destroy(point_contact **p)
{
  if (!p || !*p) return;
  contact_search_destroy(&(*p)->search);
  MEMORY_FREE(&(*p)->key, &(*p)->object_end, &(*p)->object_displacement, &(*p)->source_end, &(*p)->v, &(*p)->source_displacement, p);
}

enum { OBJECT_BITS = 12 }; /* level sets of one body */
static const uint64_t SWEPT = 1ull << 63;

/* ---- displacements over the step ---- */

static PetscErrorCode point_contact_reserve(point_contact *p, int n_sources, int n_objects)
{
  PetscFunctionBegin;
  PetscCall(MEMORY_RESERVE("contact objects", n_objects, &p->object_capacity, ARRAY(p->key, 1), ARRAY(p->object_end, 1),
                           ARRAY(p->object_displacement, 1)));
  PetscCall(MEMORY_RESERVE("contact sources", n_sources, &p->source_capacity, ARRAY(p->source_end, 1), ARRAY(p->v, 1),
                           ARRAY(p->source_displacement, 1)));
  for (int i = 0; i < n_sources; ++i) p->v[i] = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Largest distance of the solid from the origin of its frame; 0 for unbounded solids, which rotate slowly or are planes. */
static double extent(const level_set *phi)
{
  double min[3], max[3], sum = 0.0;
  level_set_bounds(phi, min, max);
  for (int k = 0; k < 3; ++k) sum += fmax(min[k] * min[k], max[k] * max[k]);
  return isfinite(sum) ? sqrt(sum) : 0.0;
}

static PetscErrorCode source_displacement(point_contact *p, const contact_scene *s, int i, const contact_source *source)
{
  const int32_t a = source->body_id;
  double        d[3], fastest = 0.0;
  PetscFunctionBegin;
  p->source_displacement[i] = 0.0;
  if (source->b->ops->points == POINT_NONE) PetscFunctionReturn(PETSC_SUCCESS);
  if (s->frame[a] >= 0) {
    const double turn         = contact_scene_motion(s, a, contact_search_reach(source->b, s->frames[s->frame[a]].c), d);
    p->source_displacement[i] = v3_norm(d) + turn;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(contact_scene_velocities(s, a, &p->v[i]));
  if (!p->v[i]) PetscFunctionReturn(PETSC_SUCCESS);
  const double *v = p->v[i];
  const int64_t n = body_system(s->body[a])->n_blocks;
#pragma omp parallel for schedule(static) reduction(max : fastest) if (n > CONTACT_SERIAL)
  for (int64_t k = 0; k < n; ++k) fastest = fmax(fastest, v3_dot(v + 3 * k, v + 3 * k));
  p->source_displacement[i] = s->dt * sqrt(fastest) + s->dt * s->dt * v3_norm(s->gravity);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Compute all displacement bounds. *is_fast: some bodies approach so fast that trajectories must be tested. */
static PetscErrorCode compute_displacements(point_contact *p, const contact_scene *s, int n_sources, const contact_source *sources,
                                            int n_objects, const contact_object *objects, bool *is_fast)
{
  double fastest[2] = {0.0, 0.0}, d[3];
  PetscFunctionBegin;
  for (int i = 0; i < n_sources; ++i) {
    PetscCall(source_displacement(p, s, i, &sources[i]));
    fastest[0] = fmax(fastest[0], p->source_displacement[i]);
  }
  for (int j = 0; j < n_objects; ++j) {
    const double turn         = contact_scene_motion(s, objects[j].body_id, extent(objects[j].phi), d);
    p->object_displacement[j] = v3_norm(d) + turn;
    fastest[1]                = fmax(fastest[1], p->object_displacement[j]);
  }
  *is_fast = fastest[0] + fastest[1] > 0.25 * s->length;
  if (!*is_fast) PetscFunctionReturn(PETSC_SUCCESS);
  for (int i = 0; i < n_sources; ++i)
    if (s->frame[sources[i].body_id] >= 0) PetscCall(contact_scene_end_frame(s, sources[i].body_id, &p->source_end[i]));
  for (int j = 0; j < n_objects; ++j) PetscCall(contact_scene_end_frame(s, objects[j].body_id, &p->object_end[j]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- contacts ---- */

static void to_frame(const rigid_frame *f, const double x[3], double out[3]) { rigid_frame_to_local(f, x, out); }

static void point_contact_describe(const contact_scene *s, const contact_candidate *c, const contact_source *source,
                                   const contact_object *object, contact_spot *out)
{
  const contact_law *law = contact_scene_law(s, source->body_id, object->body_id);
  out->key[0]            = contact_key(DETECTOR_POINT, source->body_id, object->body_id);
  out->key[1]            = (uint64_t)c->key.point << OBJECT_BITS | (uint64_t)(c->key.object / s->n_bodies);
  out->body_a            = source->body_id;
  out->body_b            = object->body_id;
  out->a                 = (body_contact_location){.kind = FEATURE_POINT, .index = c->i_point};
  out->b                 = (body_contact_location){.kind = FEATURE_FRAME};
  out->friction          = law->friction;
  out->restitution       = law->restitution;
  v3_copy(out->a.x, c->x);
  v3_copy(out->b.x, c->x);
}

/* Contact of a candidate. False if the gradient of the level set vanishes because several surface points are equally close. g: the
 * gradient in the frame of the object. */
static bool make_spot(const contact_scene *s, const contact_candidate *c, const contact_source *source, const contact_object *object,
                      double g[3], contact_spot *out)
{
  const rigid_frame *f = &s->frames[object->frame];
  double             x_b[3];
  to_frame(f, c->x, x_b);
  out->gap            = level_set_eval(object->phi, x_b, g, NULL);
  const double length = v3_norm(g);
  if (!(length > 0.0)) return false;
  v3_scale(g, 1.0 / length, g);
  m3_mulv(out->normal, f->R, g);
  v3_scale(out->normal, 1.0 / v3_norm(out->normal), out->normal);
  point_contact_describe(s, c, source, object, out);
  return true;
}

/* Contact on the trajectory of the point. The trajectory ends at the plane of the contact `near`, if that is within the margin. */
static bool make_swept(const point_contact *p, const contact_scene *s, const contact_candidate *c, const contact_source *source,
                       const contact_object *object, const contact_spot *near, const double g[3], contact_spot *out)
{
  const rigid_frame *f = &s->frames[object->frame];
  double             end[3], x0[3], x1[3], displacement[3], place[3], normal[3], gap;
  if (!(near->gap > 0.0)) return false;
  contact_scene_point_end(s, source->body_id, c->i_point, c->x, p->v[c->i_source], &p->source_end[c->i_source], end);
  to_frame(f, c->x, x0);
  to_frame(&p->object_end[c->i_object], end, x1);
  v3_sub(displacement, x1, x0);
  if (!(v3_norm(displacement) > 0.25 * s->length)) return false;
  if (!point_sweep(object->phi, x0, x1, near->gap, near->gap <= s->margin ? g : NULL, place, normal, &gap)) return false;
  point_contact_describe(s, c, source, object, out);
  out->key[1] |= SWEPT;
  out->gap = gap;
  m3_mulv(out->normal, f->R, normal);
  rigid_frame_to_world(f, place, out->b.x);
  return true;
}

static PetscErrorCode point_contact_append(point_contact *p, const contact_scene *s, const contact_source *sources,
                                           const contact_object *objects, bool is_fast, int64_t n, const contact_candidate *found,
                                           contact_set *set)
{
  const int     stride = is_fast ? 2 : 1;
  const int64_t before = contact_set_size(set);
  contact_spot *spot;
  PetscFunctionBegin;
  PetscCall(contact_set_append(set, stride * n, &spot));
#pragma omp parallel for schedule(static) if (n > CONTACT_SERIAL)
  for (int64_t i = 0; i < n; ++i) {
    const contact_source *source = &sources[found[i].i_source];
    const contact_object *object = &objects[found[i].i_object];
    contact_spot         *near = spot + stride * i, *swept = near + 1;
    double                g[3];
    const bool            is_one   = make_spot(s, &found[i], source, object, g, near);
    const bool            is_swept = is_one && is_fast && make_swept(p, s, &found[i], source, object, near, g, swept);
    if (!is_one || near->gap > s->margin) near->body_a = -1;
    if (is_fast && !is_swept) swept->body_a = -1;
  }
  int64_t m = 0;
  for (int64_t i = 0; i < stride * n; ++i)
    if (spot[i].body_a >= 0) spot[m++] = spot[i];
  contact_set_truncate(set, before + m);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode point_contact_find(point_contact *p, const contact_scene *s, int n_frames, int n_sources, const contact_source *sources,
                                  int n_objects, const contact_object *objects, const bool *may_touch, contact_set *set)
{
  contact_candidate *found;
  int64_t            n;
  bool               is_fast = false;
  PetscFunctionBeginUser;
  bool is_any = false;
  for (int64_t k = 0; k < pair_n_slots(s->pairs, s->n_bodies) && !is_any; ++k) is_any = may_touch[k];
  if (!is_any) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(point_contact_reserve(p, n_sources, n_objects));
  PetscCall(contact_search_number(s->n_bodies, n_objects, objects, p->key));
  PetscErrorCode       code    = compute_displacements(p, s, n_sources, sources, n_objects, objects, &is_fast);
  const search_problem problem = {n_sources,
                                  n_objects,
                                  n_frames,
                                  s->n_bodies,
                                  sources,
                                  objects,
                                  p->key,
                                  s->frames,
                                  may_touch,
                                  s->margin,
                                  is_fast ? p->source_displacement : NULL,
                                  is_fast ? p->object_displacement : NULL,
                                  s->pairs};
  if (!code) code = contact_search_run(p->search, &problem, NULL, &n, &found);
  if (!code) code = point_contact_append(p, s, sources, objects, is_fast, n, found, set);
  for (int i = 0; i < n_sources; ++i) memory_free(&p->v[i]);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
