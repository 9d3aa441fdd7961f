/* Impulses are found by binary search on their keys. Forces, points and the summary are computed in one pass over the contacts. */
#include "sim/step/step_record.h"
#include "contact/detection/contact_keys.h"
#include "core/math3.h"
#include "core/memory.h"
#include "optim/friction/cone.h"
#include <string.h>

/* ==== impulses of the last step ==== */

static void step_impulses_destroy(step_impulses *m)
{
  MEMORY_FREE(&m->key, &m->force);
  m->n = m->capacity = 0;
}

static PetscErrorCode resize(void *context, int64_t n_rows)
{
  step_impulses *m = context;
  PetscFunctionBegin;
  PetscCall(MEMORY_RESERVE("known impulses", n_rows, &m->capacity, ARRAY(m->key, 2), ARRAY(m->force, 3)));
  m->n = n_rows;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Stored impulse of a contact; -1: none. */
static int64_t find_impulse(const step_impulses *m, const contact_spot *s)
{
  return contact_keys_find(m->n, m->key, s->was[0] != 0 ? s->was : s->key);
}

/* Guess of the contacts first <= i < end of one pair of bodies. */
static void guess_pair(const step_impulses *m, const contact_jacobian *j, const contact_spot *spots, int64_t first, int64_t end, double dt,
                       double *r)
{
  const uint64_t pair[2] = {spots[first].key[0], 0};
  double         rest[3] = {0.0, 0.0, 0.0};
  int64_t        n_new = 0, n_lost = 0; /* contacts without a stored force; stored forces without a contact */
  for (int64_t k = contact_keys_lower_bound(m->n, m->key, pair); k < m->n && m->key[2 * k] == pair[0]; ++k, ++n_lost)
    v3_axpy(rest, 1.0, m->force + 3 * k);
  for (int64_t i = first; i < end; ++i) {
    const int64_t at = find_impulse(m, &spots[i]);
    if (at < 0) ++n_new;
    else v3_axpy(rest, -1.0, m->force + 3 * at), --n_lost;
  }
  if (n_lost <= 0) v3_set(rest, 0.0, 0.0, 0.0); /* only rounding errors are left */
  for (int64_t i = first; i < end; ++i) {
    const int64_t at    = find_impulse(m, &spots[i]);
    const double *force = at < 0 ? rest : m->force + 3 * at;
    m3_mulv(r + 3 * i, j->frame + 9 * i, force);
    v3_scale(r + 3 * i, at < 0 ? dt / (double)n_new : dt, r + 3 * i);
    if (at < 0 && !(r[3 * i] > 0.0)) v3_set(r + 3 * i, 0.0, 0.0, 0.0);
  }
}

void step_impulses_guess(const step_impulses *m, const contact_jacobian *j, const contact_spot *spots, double dt, double *r)
{
  for (int64_t first = 0, end; first < j->n; first = end) {
    for (end = first + 1; end < j->n && spots[end].key[0] == spots[first].key[0];) ++end;
    guess_pair(m, j, spots, first, end, dt, r);
  }
}

/* Replace the stored impulses by those of this step that are not 0. */
static PetscErrorCode step_impulses_remember(step_impulses *m, const contact_jacobian *j, const contact_spot *spots, double dt,
                                             const double *r)
{
  PetscFunctionBegin;
  PetscCall(resize(m, j->n));
  m->n = 0;
  for (int64_t i = 0; i < j->n; ++i) {
    double *force = m->force + 3 * m->n;
    if (!(v3_dot(r + 3 * i, r + 3 * i) > 0.0)) continue;
    memcpy(m->key + 2 * m->n++, spots[i].key, sizeof spots[i].key);
    m3_mulv_t(force, j->frame + 9 * i, r + 3 * i);
    v3_scale(force, 1.0 / dt, force);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode step_impulses_insert(step_impulses *m, int64_t n, const uint64_t *key, const double *force)
{
  int64_t old = m->n - 1, more = n - 1;
  PetscFunctionBegin;
  PetscCall(resize(m, m->n + n));
  for (int64_t at = m->n - 1; more >= 0; --at) { /* merged from the end, in place */
    const bool      is_old = old >= 0 && contact_keys_compare(m->key + 2 * old, key + 2 * more) > 0;
    const uint64_t *from   = is_old ? m->key + 2 * old : key + 2 * more;
    m->key[2 * at] = from[0], m->key[2 * at + 1] = from[1];
    v3_copy(m->force + 3 * at, is_old ? m->force + 3 * old : force + 3 * more);
    if (is_old) --old;
    else --more;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

void step_impulses_remove(step_impulses *m, int64_t n, const uint64_t *key)
{
  int64_t kept = 0;
  for (int64_t k = 0, i = 0; k < m->n; ++k) {
    while (i < n && contact_keys_compare(key + 2 * i, m->key + 2 * k) < 0) ++i;
    if (i < n && contact_keys_compare(key + 2 * i, m->key + 2 * k) == 0) continue;
    m->key[2 * kept] = m->key[2 * k], m->key[2 * kept + 1] = m->key[2 * k + 1];
    v3_copy(m->force + 3 * kept++, m->force + 3 * k);
  }
  m->n = kept;
}

/* ---- checkpoint state ------------------------------------------------------------------------------------------------ */

/* Checkpoint files are untrusted: the keys must be in order for the binary search. */
static PetscErrorCode restored(void *context)
{
  const step_impulses *m = context;
  PetscFunctionBegin;
  for (int64_t i = 0; i < m->n; ++i) {
    PetscCheck(isfinite(v3_norm(m->force + 3 * i)), PETSC_COMM_SELF, PETSC_ERR_FILE_UNEXPECTED, "contact/impulses: row %lld is not finite",
               (long long)i);
  }
  PetscCall(contact_keys_check("contact/impulses", m->n, m->key));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Register group "contact/impulses" of checkpoints; restored data must be sorted and finite. `m` must not move while the table
 * exists. */
static PetscErrorCode step_impulses_fields(step_impulses *m, field_table *table)
{
  field_group *group;
  PetscFunctionBegin;
  PetscCall(contact_keys_add_group(table, "contact/impulses", &m->n, &m->key, m, resize, restored, &group));
  PetscCall(field_table_add(table, group, "force", "N", FIELD_F64, 3, &m->force, FIELD_CHECKPOINT,
                            "mean force of the last step on its first body"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ==== record ==== */

void step_record_destroy(step_record *r)
{
  step_impulses_destroy(&r->known);
  patch_spins_destroy(&r->spins);
  contact_points_destroy(&r->points);
  contact_forces_destroy(&r->forces);
  memory_free(&r->row);
  r->row_capacity = 0;
}

void step_record_attach(const step_record *r, formulation *f) { f->points = &r->points, f->forces = &r->forces; }

PetscErrorCode step_record_fields(step_record *r, field_table *table)
{
  PetscFunctionBegin;
  PetscCall(step_impulses_fields(&r->known, table));
  PetscCall(patch_spins_fields(&r->spins, table));
  PetscCall(contact_points_fields(&r->points, table));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ==== report ==== */

/* Position of the contact at the end of the step on the touched body: moved with a rigid body of the pair if there is one, else
 * unchanged. */
static void end_position(const step_contacts *c, const step_layout *l, const contact_spot *s, double gap, double x[3])
{
  const int32_t bodies[2] = {s->body_b, s->body_a};
  v3_copy(x, s->b.x);
  for (int k = 0; k < 2; ++k) {
    if (c->frame[bodies[k]] < 0) continue;
    const rigid_frame *f0 = &l->frames0[c->frame[bodies[k]]], *f1 = &l->frames[c->frame[bodies[k]]];
    double             X[3];
    rigid_frame_to_local(f0, s->b.x, X);
    rigid_frame_to_world(f1, X, x);
    break;
  }
  if (s->b.kind == FEATURE_FRAME) v3_axpy(x, -gap, s->normal);
}

/* Sliding distance up to which contact i sticks [m]. */
static double least_slip(const step_outcome *law, int64_t i, double dt)
{
  return law->creep ? fmax(STEP_LEAST_SLIP, 2.0 * law->creep[i] * dt) : STEP_LEAST_SLIP;
}

/* Add one active contact to the summary. */
static void add_to_summary(const step_outcome *law, int64_t i, double mu, double dt, contact_summary *sum, double *excess, double *miss)
{
  const double *r = law->r + 3 * i, *u = law->u + 3 * i, *W = law->scale + 9 * i;
  const double  r_T = hypot(r[1], r[2]), u_T = hypot(u[1], u[2]), rho = 3.0 / (W[0] + W[4] + W[8]);
  double        map[3];
  if (law->x) cone_natural_map_of(mu, rho, law->x + 3 * i, r, map);
  else cone_natural_map(mu, rho, u, r, map);
  *miss   = fmax(*miss, v3_norm(map));
  *excess = fmax(*excess, r_T - mu * r[0]);
  sum->friction_work_done -= r[1] * u[1] + r[2] * u[2];
  if (u_T * dt <= least_slip(law, i, dt)) return;
  const double angle = atan2(fabs(r[1] * u[2] - r[2] * u[1]), -(r[1] * u[1] + r[2] * u[2])), half = sin(0.5 * angle);
  sum->friction_work_deficit += 2.0 * r_T * u_T * half * half;
  if (r_T <= 1e-12 * r[0]) return; /* direction undefined */
  sum->friction_angle_error = fmax(sum->friction_angle_error, angle);
}

/* Sliding speed according to the contact law. */
static double sliding_speed(const step_outcome *law, int64_t i)
{
  const double *x = law->x ? law->x : law->u;
  return hypot(x[3 * i + 1], x[3 * i + 2]);
}

/* Record the contacts of bodies at rest, whose forces have not changed. */
static PetscErrorCode record_resting(const resting_contacts *resting, step_record *record, contact_summary *sum)
{
  contact_points      *points = &record->points;
  contact_group_force *group  = NULL;
  PetscFunctionBegin;
  for (int64_t k = 0; k < resting->n; ++k) {
    const int32_t a = resting_contacts_body_a(resting, k), b = resting_contacts_body_b(resting, k);
    v3_copy(points->position + 3 * k, resting->position + 3 * k);
    v3_copy(points->force + 3 * k, resting->force + 3 * k);
    v3_copy(points->normal + 3 * k, resting->normal + 3 * k);
    points->gap[k]         = resting->gap[k];
    points->source_body[k] = a, points->object_body[k] = b;
    points->is_sliding[k] = 0;
    record->row[k]        = -1;
    sum->contact_depth    = fmax(sum->contact_depth, -resting->gap[k]);
    sum->contact_energy += resting->energy[k];
    if (!group || group->source_body != a || group->object_body != b) PetscCall(contact_forces_open(&record->forces, a, b, &group));
    contact_group_add(group, resting->position + 3 * k, resting->force + 3 * k);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode step_contact_report(const step_contacts *c, const step_layout *l, const step_outcome *law, const resting_contacts *resting,
                                   step_record *record, contact_summary *out)
{
  contact_points      *points = &record->points;
  contact_forces      *forces = &record->forces;
  const contact_spot  *spots  = step_contacts_spots(c);
  contact_summary      sum    = {0};
  double               most = 0.0, size = 0.0, excess = 0.0, miss = 0.0;
  int64_t              p     = resting ? resting->n : 0;
  contact_group_force *group = NULL;
  PetscFunctionBegin;
  forces->n = 0;
  PetscCall(contact_points_reserve(points, c->rows.n + p));
  PetscCall(memory_reserve("contact points", c->rows.n + p, sizeof *record->row, &record->row_capacity, &record->row));
  if (resting) PetscCall(record_resting(resting, record, &sum));
  PetscCall(patch_spins_update(&record->spins, c, l, law->r, law->u));
  for (int64_t i = 0; i < c->rows.n; ++i) {
    const double *own = law->r + 3 * i, *u = law->u + 3 * i;
    /* Positions at the end of the step follow from the velocity without the shift. */
    const double gap = spots[i].gap + l->dt * (u[0] - c->shift[i]);
    add_to_summary(law, i, c->mu[i], l->dt, &sum, &excess, &miss);
    sum.contact_depth = fmax(sum.contact_depth, -gap);
    if (!(own[0] > 0.0)) continue;
    double *x = points->position + 3 * p, *f = points->force + 3 * p;
    end_position(c, l, &spots[i], gap, x);
    m3_mulv_t(f, c->rows.frame + 9 * i, own);
    v3_scale(f, 1.0 / l->dt, f);
    v3_copy(points->normal + 3 * p, spots[i].normal);
    points->gap[p]         = gap;
    points->source_body[p] = spots[i].body_a;
    points->object_body[p] = spots[i].body_b;
    points->is_sliding[p]  = sliding_speed(law, i) * l->dt > least_slip(law, i, l->dt);
    if (!points->is_sliding[p]) sum.creep = fmax(sum.creep, hypot(u[1], u[2]));
    sum.sliding += points->is_sliding[p];
    most = fmax(most, own[0]);
    size = fmax(size, c->mu[i] > CONE_STEEP ? v3_norm(own) : own[0]); /* friction may exceed the normal force by orders of magnitude */
    if (!group || group->source_body != spots[i].body_a ||
        group->object_body != spots[i].body_b) /* contacts are sorted by bodies within each detector */
      PetscCall(contact_forces_open(forces, spots[i].body_a, spots[i].body_b, &group));
    contact_group_add(group, spots[i].b.x, f); /* where the impulse acted: angular momentum balances */
    record->row[p++] = i;
  }
  points->n = sum.contacts = p;
  if (most > 0.0) sum.cone_violation = fmax(0.0, excess) / size, sum.contact_law_error = miss / size;
  *out = sum;
  PetscCall(step_impulses_remember(&record->known, &c->rows, spots, l->dt, law->r));
  PetscFunctionReturn(PETSC_SUCCESS);
}
