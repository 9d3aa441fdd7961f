/* Islands at rest, see resting_islands.h: disjoint sets over the bodies of the scene, and kept contacts sorted by key. */
#include "sim/step/resting_islands.h"
#include "contact/detection/contact_keys.h"
#include "core/disjoint_sets.h"
#include "core/math3.h"
#include "core/memory.h"
#include "discretize/rigid/rigid_body.h"
#include "sim/step/step_creep.h"
#include <string.h>

enum { AT_REST = -1 }; /* value of resting_islands.quiet */

static body *body_of(const resting_islands *r, int32_t i) { return r->scene->bodies[i].body; }

PetscErrorCode resting_islands_create(scene *s, bool is_wanted, resting_islands *r)
{
  PetscFunctionBegin;
  *r = (resting_islands){0};
  if (!step_creep_is_rigid(s)) PetscFunctionReturn(PETSC_SUCCESS);
  r->scene     = s;
  r->is_wanted = is_wanted;
  r->n_bodies  = s->n_bodies;
  r->n_rows    = s->n_bodies;
  PetscCall(MEMORY_ALLOC("islands at rest", ARRAY(r->quiet, r->n_bodies)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void resting_islands_destroy(resting_islands *r)
{
  resting_contacts *c = &r->contacts;
  MEMORY_FREE(&r->quiet, &c->key, &c->position, &c->force, &c->normal, &c->gap, &c->energy);
  *r = (resting_islands){0};
}

/* ==== contacts of bodies at rest ==== */

static PetscErrorCode reserve(resting_contacts *c, int64_t n)
{
  PetscFunctionBegin;
  PetscCall(MEMORY_RESERVE("contacts at rest", n, &c->capacity, ARRAY(c->key, 2), ARRAY(c->position, 3), ARRAY(c->force, 3),
                           ARRAY(c->normal, 3), ARRAY(c->gap, 1), ARRAY(c->energy, 1)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void copy_row(resting_contacts *to, int64_t i, const resting_contacts *from, int64_t k)
{
  memmove(to->key + 2 * i, from->key + 2 * k, 2 * sizeof *to->key);
  v3_copy(to->position + 3 * i, from->position + 3 * k);
  v3_copy(to->force + 3 * i, from->force + 3 * k);
  v3_copy(to->normal + 3 * i, from->normal + 3 * k);
  to->gap[i] = from->gap[k], to->energy[i] = from->energy[k];
}

/* ==== checkpoint state ==== */

static PetscErrorCode resize_contacts(void *context, int64_t n)
{
  resting_islands *r = context;
  PetscFunctionBegin;
  PetscCall(reserve(&r->contacts, n));
  r->contacts.n = n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Set the flags of the bodies, and the lists of the scene. */
static PetscErrorCode restored_bodies(void *context)
{
  resting_islands *r = context;
  PetscFunctionBegin;
  r->n_resting = 0;
  for (int32_t i = 0; i < r->n_bodies; ++i) {
    PetscCheck(r->quiet[i] >= AT_REST && (r->quiet[i] != AT_REST || rigid_body_dynamic(body_of(r, i))), PETSC_COMM_SELF,
               PETSC_ERR_FILE_UNEXPECTED, "contact/rest: row %d has the count %d", i, r->quiet[i]);
    if (rigid_body_dynamic(body_of(r, i))) body_of(r, i)->is_resting = r->quiet[i] == AT_REST;
    r->n_resting += r->quiet[i] == AT_REST;
  }
  scene_list_present(r->scene);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode restored_contacts(void *context)
{
  const resting_islands  *r = context;
  const resting_contacts *c = &r->contacts;
  PetscFunctionBegin;
  PetscCall(contact_keys_check("contact/resting", c->n, c->key));
  for (int64_t k = 0; k < c->n; ++k)
    PetscCheck(resting_contacts_body_a(c, k) < r->n_bodies && resting_contacts_body_b(c, k) < r->n_bodies, PETSC_COMM_SELF,
               PETSC_ERR_FILE_UNEXPECTED, "contact/resting: row %lld names a body that does not exist", (long long)k);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode resting_islands_fields(resting_islands *r, field_table *table)
{
  field_group      *group;
  resting_contacts *c = &r->contacts;
  PetscFunctionBegin;
  if (!r->scene) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(field_table_add_group(table, "contact/rest", FIELD_GROUP_PLAIN, &r->n_rows, r, &group));
  group->restored = restored_bodies;
  PetscCall(field_table_add(table, group, "quiet_steps", "1", FIELD_I32, 1, &r->quiet, FIELD_CHECKPOINT,
                            "steps in which the body hardly moved; -1: at rest"));
  PetscCall(contact_keys_add_group(table, "contact/resting", &c->n, &c->key, r, resize_contacts, restored_contacts, &group));
  PetscCall(field_table_add(table, group, "position", "m", FIELD_F64, 3, &c->position, FIELD_CHECKPOINT, "contact of bodies at rest"));
  PetscCall(field_table_add(table, group, "force", "N", FIELD_F64, 3, &c->force, FIELD_CHECKPOINT, "force on its first body"));
  PetscCall(field_table_add(table, group, "normal", "1", FIELD_F64, 3, &c->normal, FIELD_CHECKPOINT, "from its second to its first body"));
  PetscCall(field_table_add(table, group, "gap", "m", FIELD_F64, 1, &c->gap, FIELD_CHECKPOINT, "distance of the surfaces"));
  PetscCall(field_table_add(table, group, "energy", "J", FIELD_F64, 1, &c->energy, FIELD_CHECKPOINT, "energy of its spring"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ==== wake ==== */

static bool moves_obstacle(const step_layout *l, int32_t i)
{
  const scene_body *b = &l->scene->bodies[i];
  if (body_system(b->body) || b->frame < 0) return false;
  return !rigid_frame_is_equal(&l->frames0[b->frame], &l->frames[b->frame]);
}

bool resting_islands_sees_motion(const resting_islands *r, const step_layout *l)
{
  for (int32_t i = 0; i < r->n_bodies && r->n_resting > 0; ++i)
    if (moves_obstacle(l, i)) return true;
  return false;
}

static bool disturbs(const resting_islands *r, const step_layout *l, int32_t i)
{
  return body_moving_system(body_of(r, i)) || moves_obstacle(l, i);
}

bool resting_islands_are_touched(const resting_islands *r, int64_t n, const contact_spot *spots, const step_layout *l)
{
  for (int64_t k = 0; k < n && r->n_resting > 0; ++k) {
    const int32_t a = spots[k].body_a, b = spots[k].body_b;
    if ((body_of(r, a)->is_resting && disturbs(r, l, b)) || (body_of(r, b)->is_resting && disturbs(r, l, a))) return true;
  }
  return false;
}

/* Move the contacts of bodies that are not at rest any more to *key and *force. */
static PetscErrorCode take_contacts(resting_islands *r, int64_t *m, uint64_t **key, double **force)
{
  resting_contacts *c    = &r->contacts;
  int64_t           kept = 0;
  PetscFunctionBegin;
  PetscCall(MEMORY_ALLOC("contacts", ARRAY(*key, 2 * c->n), ARRAY(*force, 3 * c->n)));
  for (int64_t k = 0; k < c->n; ++k) {
    if (body_of(r, resting_contacts_body_a(c, k))->is_resting || body_of(r, resting_contacts_body_b(c, k))->is_resting) {
      copy_row(c, kept++, c, k);
      continue;
    }
    memcpy(*key + 2 * *m, c->key + 2 * k, 2 * sizeof **key);
    v3_copy(*force + 3 * (*m)++, c->force + 3 * k);
  }
  c->n = kept;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Join the islands in up [n_bodies], and set is_disturbed [n_bodies] at the body with the smallest number of each island that contains a moving body or
 * touches a moving obstacle. */
static void find_disturbances(const resting_islands *r, int64_t n, const contact_spot *spots, const step_layout *l, int64_t *up,
                              bool *is_disturbed)
{
  for (int64_t k = 0; k < n; ++k)
    if (body_system(body_of(r, spots[k].body_a)) && body_system(body_of(r, spots[k].body_b)))
      disjoint_sets_join(up, spots[k].body_a, spots[k].body_b);
  for (int64_t k = 0; k < n; ++k)
    for (int side = 0; side < 2; ++side) {
      const int32_t own = side ? spots[k].body_b : spots[k].body_a, other = side ? spots[k].body_a : spots[k].body_b;
      if (body_system(body_of(r, own)) && (disturbs(r, l, own) || moves_obstacle(l, other)))
        is_disturbed[disjoint_sets_find(up, own)] = true;
    }
}

PetscErrorCode resting_islands_wake(resting_islands *r, bool all, int64_t n, const contact_spot *spots, const step_layout *l, bool *wakes,
                                    int64_t *m, uint64_t **key, double **force)
{
  int64_t *up;
  bool    *is_disturbed;
  PetscFunctionBegin;
  *wakes = false, *m = 0, *key = NULL, *force = NULL;
  PetscCall(MEMORY_ALLOC("islands", ARRAY(up, r->n_bodies), ARRAY(is_disturbed, r->n_bodies)));
  disjoint_sets_init(r->n_bodies, up);
  if (!all) find_disturbances(r, n, spots, l, up, is_disturbed);
  for (int32_t i = 0; i < r->n_bodies; ++i) {
    if (!body_of(r, i)->is_resting || !(all || is_disturbed[disjoint_sets_find(up, i)])) continue;
    body_of(r, i)->is_resting = false;
    r->quiet[i]               = 0;
    --r->n_resting;
    *wakes = true;
  }
  MEMORY_FREE(&up, &is_disturbed);
  if (!*wakes) PetscFunctionReturn(PETSC_SUCCESS);
  scene_list_present(r->scene);
  PetscCall(take_contacts(r, m, key, force));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ==== rest ==== */

/* Count the quiet steps of all bodies. *longest: the largest count. */
static void count_quiet_steps(resting_islands *r, const step_layout *l, int32_t *longest)
{
  const double unit = 1.0 / (l->acceleration_scale * l->dt);
  int32_t      most = 0;
#pragma omp parallel for schedule(static) reduction(max : most) if (r->scene->has_many_rigid)
  for (int32_t i = 0; i < r->n_bodies; ++i) {
    const rigid_body *b = rigid_body_dynamic(body_of(r, i));
    if (!b || b->base.is_resting || b->base.is_waiting) continue;
    const double speed = unit * fmax(v3_norm(b->v), b->radius * v3_norm(b->w));
    r->quiet[i]        = speed > RESTING_SPEED ? 0 : r->quiet[i] < RESTING_STEPS ? r->quiet[i] + 1 : RESTING_STEPS;
    most               = r->quiet[i] > most ? r->quiet[i] : most;
  }
  *longest = most;
}

/* Decide which islands are at rest. Results for an island are stored at its body with the smallest number, disjoint_sets_find(up, i): rests
 * [n_bodies] it is at rest, is_carried [n_bodies] an obstacle carries it; up [n_bodies] the islands as disjoint sets. */
static void judge_islands(const resting_islands *r, int64_t n, const contact_spot *spots, const step_layout *l,
                          const contact_points *points, const int64_t *row, int64_t *up, bool *rests, bool *is_carried)
{
  disjoint_sets_init(r->n_bodies, up);
  for (int32_t i = 0; i < r->n_bodies; ++i) rests[i] = true, is_carried[i] = false;
  for (int64_t k = 0; k < n; ++k)
    if (body_system(body_of(r, spots[k].body_a)) && body_system(body_of(r, spots[k].body_b)))
      disjoint_sets_join(up, spots[k].body_a, spots[k].body_b);
  for (int64_t k = 0; k < n; ++k)
    if (moves_obstacle(l, spots[k].body_a) || moves_obstacle(l, spots[k].body_b))
      rests[disjoint_sets_find(up, body_system(body_of(r, spots[k].body_a)) ? spots[k].body_a : spots[k].body_b)] = false;
  for (int64_t p = 0; p < points->n; ++p) {
    const int32_t a = points->source_body[p], b = points->object_body[p];
    if (row[p] < 0) continue;
    if (!body_system(body_of(r, b))) is_carried[disjoint_sets_find(up, a)] = true;
    if (!body_system(body_of(r, a))) is_carried[disjoint_sets_find(up, b)] = true;
  }
  for (int32_t i = 0; i < r->n_bodies; ++i)
    if (body_moving_system(body_of(r, i)) && r->quiet[i] < RESTING_STEPS) rests[disjoint_sets_find(up, i)] = false;
  for (int32_t i = 0; i < r->n_bodies; ++i) rests[i] = rests[i] && is_carried[i];
}

/* Insert the contacts of the new bodies at rest into r->contacts. */
static PetscErrorCode keep_contacts(resting_islands *r, const contact_spot *spots, const contact_points *points, const int64_t *row,
                                    const double *energy)
{
  resting_contacts old = r->contacts, all = {0};
  int64_t          k = 0;
  PetscFunctionBegin;
  PetscCall(reserve(&all, points->n));
  for (int64_t p = 0; p < points->n; ++p) { /* both lists are sorted by key; points of r->contacts are the first ones */
    if (row[p] < 0) continue;
    const contact_spot *s = &spots[row[p]];
    if (!body_of(r, s->body_a)->is_resting && !body_of(r, s->body_b)->is_resting) continue;
    while (k < old.n && contact_keys_compare(old.key + 2 * k, s->key) < 0) copy_row(&all, all.n++, &old, k++);
    memcpy(all.key + 2 * all.n, s->key, sizeof s->key);
    v3_copy(all.position + 3 * all.n, points->position + 3 * p);
    v3_copy(all.force + 3 * all.n, points->force + 3 * p);
    v3_copy(all.normal + 3 * all.n, points->normal + 3 * p);
    all.gap[all.n]      = points->gap[p];
    all.energy[all.n++] = energy ? energy[row[p]] : 0.0;
  }
  while (k < old.n) copy_row(&all, all.n++, &old, k++);
  MEMORY_FREE(&old.key, &old.position, &old.force, &old.normal, &old.gap, &old.energy);
  r->contacts = all;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode resting_islands_update(resting_islands *r, int64_t n, const contact_spot *spots, const step_layout *l,
                                      const contact_points *points, const int64_t *row, const double *energy)
{
  int64_t *up;
  bool    *rests, *is_carried, changed = false;
  int32_t  longest;
  PetscFunctionBegin;
  if (!r->is_wanted || l->is_precise)
    PetscFunctionReturn(PETSC_SUCCESS); /* precise: search of an equilibrium, which sets velocities itself */
  count_quiet_steps(r, l, &longest);
  if (longest < RESTING_STEPS) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MEMORY_ALLOC("islands", ARRAY(up, r->n_bodies), ARRAY(rests, r->n_bodies), ARRAY(is_carried, r->n_bodies)));
  judge_islands(r, n, spots, l, points, row, up, rests, is_carried);
  for (int32_t i = 0; i < r->n_bodies; ++i) {
    rigid_body *b = rigid_body_dynamic(body_of(r, i));
    if (!b || b->base.is_resting || b->base.is_waiting || !rests[disjoint_sets_find(up, i)]) continue;
    v3_set(b->v, 0.0, 0.0, 0.0);
    v3_set(b->w, 0.0, 0.0, 0.0);
    b->base.is_resting = true;
    r->quiet[i]        = AT_REST;
    ++r->n_resting;
    changed = true;
  }
  MEMORY_FREE(&up, &rests, &is_carried);
  if (!changed) PetscFunctionReturn(PETSC_SUCCESS);
  scene_list_present(r->scene);
  PetscCall(keep_contacts(r, spots, points, row, energy));
  PetscFunctionReturn(PETSC_SUCCESS);
}
