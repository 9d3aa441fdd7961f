#include "contact/point_contact.h"
#include "contact/search.h"
#include "core/math3.h"
#include "core/memory.h"

struct point_contact {
  contact_search *search;
  int             capacity;
  int32_t        *key; /* [n_objects] */
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
  memory_free(&(*p)->key);
  memory_free(p);
}

enum { OBJECT_BITS = 12 }; /* level sets of one body */

/* False where the level set has no direction: the point is as far from all of its surface, and nothing says where to. */
static bool make_spot(const contact_scene *s, const contact_candidate *c, const contact_source *source,
                      const contact_object *object, contact_spot *out)
{
  const rigid_frame *f   = &s->frames[object->frame];
  const contact_law *law = contact_scene_law(s, source->body_id, object->body_id);
  double             arm[3], x_b[3], g[3];
  v3_sub(arm, c->x, f->c);
  m3_mulv_t(x_b, f->R, arm);
  out->gap            = level_set_eval(object->phi, x_b, g, NULL);
  const double length = v3_norm(g);
  if (!(length > 0.0)) return false;
  m3_mulv(out->normal, f->R, g);
  v3_scale(out->normal, 1.0 / v3_norm(out->normal), out->normal);
  out->key[0]      = contact_key(FINDER_POINT, source->body_id, object->body_id);
  out->key[1]      = (uint64_t)c->key.point << OBJECT_BITS | (uint64_t)(c->key.object / s->n_bodies);
  out->body_a      = source->body_id;
  out->body_b      = object->body_id;
  out->a           = (body_spot){.kind = FEATURE_POINT, .index = c->i_point};
  out->b           = (body_spot){.kind = FEATURE_FRAME};
  out->friction    = law->friction;
  out->restitution = law->restitution;
  v3_copy(out->a.x, c->x);
  v3_copy(out->b.x, c->x);
  return true;
}

PetscErrorCode point_contact_find(point_contact *p, const contact_scene *s, int n_frames, int n_sources,
                                  const contact_source *sources, int n_objects, const contact_object *objects,
                                  const bool *may_touch, contact_set *set)
{
  contact_candidate *found;
  contact_spot      *spot;
  int64_t            n;
  PetscFunctionBeginUser;
  if (n_objects > p->capacity) {
    PetscCall(memory_resize("contact objects", n_objects, sizeof *p->key, &p->key));
    p->capacity = n_objects;
  }
  contact_search_number(s->n_bodies, n_objects, objects, p->key);
  const search_problem problem = {n_sources, n_objects, n_frames,  s->n_bodies, sources,
                                  objects,   p->key,    s->frames, may_touch,   s->margin};
  PetscCall(contact_search_run(p->search, &problem, NULL, &n, &found));
  const int64_t before = contact_set_size(set);
  PetscCall(contact_set_append(set, n, &spot));
#pragma omp parallel for schedule(static) if (n > CONTACT_SERIAL)
  for (int64_t i = 0; i < n; ++i)
    if (!make_spot(s, &found[i], &sources[found[i].i_source], &objects[found[i].i_object], &spot[i])) spot[i].body_a = -1;
  int64_t m = 0;
  for (int64_t i = 0; i < n; ++i)
    if (spot[i].body_a >= 0) spot[m++] = spot[i];
  contact_set_truncate(set, before + m);
  PetscFunctionReturn(PETSC_SUCCESS);
}
