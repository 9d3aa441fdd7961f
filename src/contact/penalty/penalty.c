#include "contact/penalty/penalty_pairs.h"
#include "core/math3.h"
#include "core/memory.h"
#include "contact/detection/contact_stages.h"
#include <string.h>

PetscErrorCode penalty_contact_create(int n_bodies, const contact_law *law, penalty_contact **out)
{
  PetscFunctionBeginUser;
  PetscCall(memory_alloc("penalty contact", 1, sizeof **out, out));
  penalty_contact *c = *out;
  c->n_bodies        = n_bodies;
  c->acceleration    = 9.81;
  PetscCall(memory_alloc("contact laws", (int64_t)n_bodies * n_bodies, sizeof *c->law, &c->law));
  PetscCall(memory_alloc("contact laws", (int64_t)n_bodies * n_bodies, sizeof *c->may_touch, &c->may_touch));
  if (n_bodies > 0) memcpy(c->law, law, (size_t)n_bodies * (size_t)n_bodies * sizeof *law);
  for (int64_t i = 0; i < (int64_t)n_bodies * n_bodies; ++i) c->may_touch[i] = law[i].stiffness > 0.0;
  PetscCall(pair_table_create(&c->known));
  PetscCall(contact_search_create(&c->search));
  PetscCall(contact_rows_create(&c->rows));
  PetscCall(rigid_sides_create(&c->sides));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void penalty_contact_destroy(penalty_contact **out)
{
  if (!out || !*out) return;
  penalty_contact *c = *out;
  mesh_contact_destroy(&c->mesh);
  pair_table_destroy(&c->known);
  contact_search_destroy(&c->search);
  contact_rows_destroy(&c->rows);
  rigid_sides_destroy(&c->sides);
  contact_points_destroy(&c->points);
  contact_forces_destroy(&c->forces);
  void *arrays[] = {&c->law, &c->may_touch, &c->object_key, &c->origin, &c->X, &c->k, &c->cone, &c->bounce, &c->phi0, &c->gain, &c->lagged, &c->state, &c->Z, &c->Y_b, &c->f, &c->has_X};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; ++i) memory_free(arrays[i]);
  memory_free(out);
}

PetscErrorCode penalty_contact_add_meshes(penalty_contact *c, int n, const contact_mesh *meshes)
{
  PetscFunctionBeginUser;
  if (n > 0) PetscCall(mesh_contact_create(c->n_bodies, c->law, n, meshes, &c->mesh));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode penalty_contact_add_edges(penalty_contact *c)
{
  PetscFunctionBeginUser;
  if (c->mesh) PetscCall(mesh_contact_add_edges(c->mesh));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void penalty_contact_set_scheme(penalty_contact *c, contact_scheme scheme)
{
  c->scheme = scheme;
  if (c->mesh) mesh_contact_set_scheme(c->mesh, scheme);
}

void penalty_contact_set_detection(penalty_contact *c, contact_detection detection)
{
  if (c->mesh) mesh_contact_set_detection(c->mesh, detection);
}

PetscErrorCode penalty_contact_expect(penalty_contact *c, const double *v, const rigid_frame *frames)
{
  PetscFunctionBeginUser;
  if (c->mesh) PetscCall(mesh_contact_expect(c->mesh, v, frames));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void penalty_contact_set_acceleration(penalty_contact *c, double g0)
{
  c->acceleration = g0;
  if (c->mesh) mesh_contact_set_acceleration(c->mesh, g0);
}

static PetscErrorCode reserve_objects(penalty_contact *c)
{
  PetscFunctionBeginUser;
  if (c->n_objects > c->object_capacity) {
    c->object_capacity = c->n_objects;
    PetscCall(memory_resize("contact objects", c->n_objects, sizeof *c->object_key, &c->object_key));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode reserve_pairs(penalty_contact *c, int64_t n)
{
  PetscFunctionBeginUser;
  if (n <= c->capacity) PetscFunctionReturn(PETSC_SUCCESS);
  const int64_t m = n + n / 2;
  PetscCall(memory_resize("pair origin", 3 * m, sizeof(double), &c->origin));
  PetscCall(memory_resize("pair X", 3 * m, sizeof(double), &c->X));
  PetscCall(memory_resize("pair stiffness", m, sizeof(double), &c->k));
  PetscCall(memory_resize("pair friction", m, sizeof *c->cone, &c->cone));
  PetscCall(memory_resize("pair restitution", m, sizeof *c->bounce, &c->bounce));
  PetscCall(memory_resize("pair level set", m, sizeof(double), &c->phi0));
  PetscCall(memory_resize("pair gain", m, sizeof(double), &c->gain));
  PetscCall(memory_resize("pair lagged force", 3 * m, sizeof(double), &c->lagged));
  PetscCall(memory_resize("pair state", m, 1, &c->state));
  PetscCall(memory_resize("pair Z", 3 * m, sizeof(double), &c->Z));
  PetscCall(memory_resize("pair Y", 3 * m, sizeof(double), &c->Y_b));
  PetscCall(memory_resize("pair f", 3 * m, sizeof(double), &c->f));
  PetscCall(memory_resize("pair has X", m, 1, &c->has_X));
  c->capacity = m;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void prepare_pair(penalty_contact *c, int64_t i, const rigid_frame *frames0)
{
  const contact_candidate *q      = &c->candidate[i];
  const contact_source    *source = &c->sources[q->i_source];
  const contact_object    *object = &c->objects[q->i_object];
  const contact_law       *law    = &c->law[(int64_t)source->body_id * c->n_bodies + object->body_id];
  c->k[i]                         = law->stiffness;
  c->cone[i]                      = (relax_cone){law->friction, law->friction_across, {law->direction[0], law->direction[1], law->direction[2]}};
  c->bounce[i]                    = (restitution){.damping = law->damping};
  rigid_sides_add(&c->sides, i, source->b->ops->points == POINT_RIGID ? source->frame : -1, object->frame);
  if (c->sides.source[i] < 0) v3_copy(c->origin + 3 * i, q->x);
  else {
    double arm[3];
    v3_sub(arm, q->x, frames0[source->frame].c);
    m3_mulv_t(c->origin + 3 * i, frames0[source->frame].R, arm);
  }
  const rigid_frame *o = &frames0[object->frame];
  double             b[3], x_b[3];
  v3_sub(b, q->x, o->c);
  m3_mulv_t(x_b, o->R, b);
  c->has_X[i] = q->attachment >= 0;
  if (c->has_X[i]) {
    v3_copy(c->X + 3 * i, pair_table_attachment(c->known, q->attachment));
    c->bounce[i].speed = pair_table_speed(c->known, q->attachment);
  }
  /* A point that starts the step inside, as when a job places bodies in contact, was detected there: it has its attachment
   * from the start, and friction in its first step. */
  else c->has_X[i] = relax_level_set(object->phi, &c->cone[i], NULL, x_b, c->X + 3 * i, NULL, NULL) != RELAX_INACTIVE;
  penalty_law_start(c, i, x_b);
}

PetscErrorCode penalty_contact_begin_step(penalty_contact *c, int n_sources, const contact_source *sources, int n_objects,
                                          const contact_object *objects, int n_frames, const rigid_frame *frames0, double dt,
                                          double margin, int64_t n_blocks)
{
  contact_candidate *found;
  PetscFunctionBeginUser;
  timer_begin(TIMER_CONTACT_SEARCH);
  c->n_sources = n_sources;
  c->sources   = sources;
  c->n_objects = n_objects;
  c->objects   = objects;
  c->n_frames  = n_frames;
  c->dt        = dt;
  c->n_blocks  = n_blocks;
  PetscCall(reserve_objects(c));
  contact_search_number(c->n_bodies, c->n_objects, c->objects, c->object_key);
  const search_problem problem = {n_sources, n_objects, n_frames, c->n_bodies, sources, objects, c->object_key,
                                  frames0,   c->may_touch, margin, NULL};
  PetscCall(contact_search_run(c->search, &problem, c->known, &c->n, &found));
  PetscCheck(c->n < INT32_MAX, PETSC_COMM_SELF, PETSC_ERR_SUP, "%lld contact pairs: more than can be numbered", (long long)c->n);
  c->candidate = found;
  PetscCall(reserve_pairs(c, c->n));
  PetscCall(rigid_sides_begin(&c->sides, dt, n_frames, frames0));
  PetscCall(rigid_sides_reserve(&c->sides, c->n));
  const int64_t n = c->n;
#pragma omp parallel for schedule(static) if (n > CONTACT_SERIAL)
  for (int64_t i = 0; i < n; ++i) prepare_pair(c, i, frames0);
  PetscCall(contact_rows_build(c->rows, n, c->candidate, sources, n_blocks));
  PetscCall(rigid_sides_list(&c->sides, n));
  if (c->mesh) PetscCall(mesh_contact_begin_step(c->mesh, n_sources, sources, n_frames, frames0, dt, margin, n_blocks));
  c->is_open = true;
  timer_end(TIMER_CONTACT_SEARCH);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Inactive pairs are forgotten, X <- Y for the others. */
static PetscErrorCode remember(penalty_contact *c)
{
  pair_key *key;
  double   *X, *speed;
  int64_t   m = 0;
  PetscFunctionBeginUser;
  PetscCall(memory_alloc("accepted pairs", c->n, sizeof *key, &key));
  PetscCall(memory_alloc("accepted attachments", 3 * c->n, sizeof *X, &X));
  PetscCall(memory_alloc("accepted speeds", c->n, sizeof *speed, &speed));
  for (int64_t i = 0; i < c->n; ++i) {
    if (c->state[i] == RELAX_INACTIVE) continue;
    key[m]   = c->candidate[i].key;
    speed[m] = restitution_speed(&c->bounce[i]);
    v3_copy(X + 3 * m++, c->Y_b + 3 * i);
  }
  PetscCall(pair_table_replace(c->known, m, key, X, speed));
  memory_free(&speed);
  memory_free(&key);
  memory_free(&X);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode penalty_contact_settle(penalty_contact *c, const double *v, const rigid_frame *frames)
{
  PetscFunctionBeginUser;
  SS_ASSERT(c->is_open);
  timer_begin(TIMER_CONTACT_FORCE);
  penalty_evaluate(c, v, frames, false);
  PetscCheck(penalty_first_not_finite(c) < 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "a state was accepted that is not finite");
  if (c->mesh) PetscCall(mesh_contact_settle(c->mesh, v, frames));
  timer_end(TIMER_CONTACT_FORCE);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode penalty_contact_end_step(penalty_contact *c, const double *v, const rigid_frame *frames, contact_summary *out)
{
  PetscFunctionBeginUser;
  SS_ASSERT(c->is_open);
  timer_begin(TIMER_CONTACT_FORCE);
  if (c->mesh) PetscCall(mesh_contact_end_step(c->mesh));
  PetscCall(penalty_report(c, v, frames, out));
  PetscCall(remember(c));
  c->is_open = false;
  timer_end(TIMER_CONTACT_FORCE);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode penalty_contact_force(const penalty_contact *c, int on, int from, double force[3], double moment[3])
{
  PetscFunctionBeginUser;
  contact_forces_between(&c->forces, on, from, force, moment);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode penalty_contact_fields(penalty_contact *c, field_table *table)
{
  PetscFunctionBeginUser;
  PetscCall(pair_table_fields(c->known, c->n_bodies, table));
  if (c->mesh) PetscCall(mesh_contact_fields(c->mesh, table));
  PetscCall(contact_points_fields(&c->points, table));
  PetscFunctionReturn(PETSC_SUCCESS);
}
