/* Spin rate of the contacts of each pair by least squares, and a table of angles, sorted by pair; see patch_spins.h. */
#include "sim/step/patch_spins.h"
#include <stdio.h>
#include <string.h>
#include "core/math3.h"
#include "core/memory.h"
#include "core/warning_list.h"

#define LEAST_SPIN 0.05 /* [rad] spin of a patch that is reported; bodies that fall over spin on their corners by less */

/* ---- table of angles ---- */

void patch_spins_destroy(patch_spins *m)
{
  MEMORY_FREE(&m->pair, &m->angle);
  m->n = m->capacity = 0;
}

static PetscErrorCode resize(void *context, int64_t n_rows)
{
  patch_spins *m = context;
  PetscFunctionBegin;
  PetscCall(MEMORY_RESERVE("spin of patches", n_rows, &m->capacity, ARRAY(m->pair, 1), ARRAY(m->angle, 1)));
  m->n = n_rows;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode restored(void *context)
{
  const patch_spins *m = context;
  PetscFunctionBegin;
  for (int64_t i = 0; i < m->n; ++i)
    PetscCheck(isfinite(m->angle[i]) && (i == 0 || m->pair[i - 1] < m->pair[i]), PETSC_COMM_SELF, PETSC_ERR_FILE_UNEXPECTED,
               "contact/spins: row %lld is not finite, or not in ascending order of pairs", (long long)i);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode patch_spins_fields(patch_spins *m, field_table *table)
{
  field_group *group;
  PetscFunctionBegin;
  PetscCall(field_table_add_group(table, "contact/spins", FIELD_GROUP_PLAIN, &m->n, m, &group));
  group->resize   = resize;
  group->restored = restored;
  PetscCall(field_table_add(table, group, "pair", "1", FIELD_U64, 1, &m->pair, FIELD_CHECKPOINT, "identity of the two solids"));
  PetscCall(field_table_add(table, group, "angle", "rad", FIELD_F64, 1, &m->angle, FIELD_CHECKPOINT,
                            "angle by which they spun on points at the border of their patch"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Add to the angle of a pair; *total: the sum. */
static PetscErrorCode add_angle(patch_spins *m, uint64_t pair, double angle, double *total)
{
  int64_t lo = 0, hi = m->n;
  PetscFunctionBegin;
  while (lo < hi) {
    const int64_t mid = lo + (hi - lo) / 2;
    if (m->pair[mid] < pair) lo = mid + 1;
    else hi = mid;
  }
  if (lo == m->n || m->pair[lo] != pair) {
    PetscCall(resize(m, m->n + 1));
    memmove(m->pair + lo + 1, m->pair + lo, (size_t)(m->n - 1 - lo) * sizeof *m->pair);
    memmove(m->angle + lo + 1, m->angle + lo, (size_t)(m->n - 1 - lo) * sizeof *m->angle);
    m->pair[lo] = pair, m->angle[lo] = 0.0;
  }
  *total = m->angle[lo] += angle;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- spin of a step ---- */

/* Rate of rotation about the normal [rad/s] of the contacts first <= i < end that have a force, from their sliding velocities v: the
 * least squares solution of v - mean = w x (x - mean). 0 unless there are at least three of these contacts, all of which slide, in
 * different directions. */
static double spin_rate(const step_contacts *c, const step_layout *l, const double *impulse, const double *velocity, int64_t first,
                        int64_t end)
{
  const contact_spot *spots = step_contacts_spots(c);
  double  sum[3] = {0.0, 0.0, 0.0}, x_mean[3] = {0.0, 0.0, 0.0}, v_mean[3] = {0.0, 0.0, 0.0}, moment[3] = {0.0, 0.0, 0.0}, square = 0.0;
  double  load = 0.0;
  int64_t n    = 0;
  for (int pass = 0; pass < 2; ++pass) { /* means, then moments about them */
    for (int64_t i = first; i < end; ++i) {
      const double *r = impulse + 3 * i, *u = velocity + 3 * i, speed = hypot(u[1], u[2]), along[3] = {0.0, u[1], u[2]};
      double        v[3], arm[3], part[3];
      if (!(r[0] > 0.0) || !(c->mu[i] > 0.0)) continue;
      if (speed * l->dt <= STEP_LEAST_SLIP || convex_contact_is_area(&spots[i])) return 0.0; /* sticks somewhere, or represents an area */
      m3_mulv_t(v, c->rows.frame + 9 * i, along);
      if (pass == 0) {
        v3_axpy(sum, r[0] / speed, v);
        v3_axpy(x_mean, 1.0, spots[i].b.x);
        v3_axpy(v_mean, 1.0, v);
        load += r[0], ++n;
      } else {
        v3_sub(arm, spots[i].b.x, x_mean);
        v3_sub(v, v, v_mean);
        v3_cross(part, arm, v);
        v3_axpy(moment, 1.0, part);
        square += v3_dot(arm, arm);
      }
    }
    if (pass == 0 && (n < 3 || v3_norm(sum) > 0.9 * load)) return 0.0;
    if (pass == 0) v3_scale(x_mean, 1.0 / (double)n, x_mean), v3_scale(v_mean, 1.0 / (double)n, v_mean);
  }
  return square > 0.0 ? v3_norm(moment) / square : 0.0;
}

/* Add the spin of the contacts first <= i < end of one pair of solids, and warn. */
static PetscErrorCode update_pair(patch_spins *m, const step_contacts *c, const step_layout *l, const double *impulse,
                                  const double *velocity, int64_t first, int64_t end)
{
  const contact_spot *spots = step_contacts_spots(c);
  double              total = 0.0;
  PetscFunctionBegin;
  if (spots[first].key[0] >> 56 != DETECTOR_CONVEX || end - first < 3) PetscFunctionReturn(PETSC_SUCCESS);
  const double rate = spin_rate(c, l, impulse, velocity, first, end);
  if (!(rate > 0.0)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(add_angle(m, spots[first].key[0], rate * l->dt, &total));
  if (total < LEAST_SPIN) PetscFunctionReturn(PETSC_SUCCESS);
  const scene *s = l->scene;
  char         pair[160];
  snprintf(pair, sizeof pair, "%.64s, %.64s", scene_shared_name(s, spots[first].body_a), scene_shared_name(s, spots[first].body_b));
  warning_list_add(s->warnings, "few-contact-points", pair,
                   "the bodies spin on each other, and their patch is represented by points at its border, which resist spin more than a "
                   "uniform load; give one of the bodies contact_points: 100");
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode patch_spins_update(patch_spins *m, const step_contacts *c, const step_layout *l, const double *impulse,
                                  const double *velocity)
{
  const contact_spot *spots = step_contacts_spots(c);
  PetscFunctionBegin;
  for (int64_t first = 0, end; first < c->rows.n; first = end) {
    for (end = first + 1; end < c->rows.n && spots[end].key[0] == spots[first].key[0];) ++end;
    PetscCall(update_pair(m, c, l, impulse, velocity, first, end));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
