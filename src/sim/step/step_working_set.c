/* The rows of included contacts are copied to contiguous arrays whenever the set changes. */
#include "sim/step/step_working_set.h"
#include "core/math3.h"
#include "core/memory.h"
#include <string.h>

void step_working_set_destroy(step_working_set *s)
{
  contact_jacobian_destroy(&s->rows);
  MEMORY_FREE(&s->contact, &s->is_in, &s->shift, &s->mu, &s->r, &s->u, &s->q, &s->r_all);
  s->n = s->n_all = 0;
}

static PetscErrorCode make_room(const step_contacts *c, step_working_set *s)
{
  const int64_t n = c->rows.n, n_entries = c->rows.start ? c->rows.start[n] : 0;
  PetscFunctionBegin;
  s->n_all = n;
  PetscCall(MEMORY_ALLOC("working set", ARRAY(s->contact, n), ARRAY(s->is_in, n), ARRAY(s->shift, n), ARRAY(s->mu, n)));
  double **const vectors[] = {&s->r, &s->u, &s->q, &s->r_all};
  for (int k = 0; k < 4; ++k) PetscCall(memory_alloc("working set", 3 * n, sizeof(double), vectors[k]));
  PetscCall(MEMORY_ALLOC("working set", ARRAY(s->rows.start, n + 1), ARRAY(s->rows.block, n_entries), ARRAY(s->rows.value, 9 * n_entries),
                         ARRAY(s->rows.known, 3 * n)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Build the rows and indices of the included contacts. */
static void pack(const step_contacts *c, step_working_set *s)
{
  int64_t n = 0, at = 0;
  for (int64_t i = 0; i < s->n_all; ++i) {
    if (!s->is_in[i]) continue;
    const int64_t first = c->rows.start[i], count = c->rows.start[i + 1] - first;
    memcpy(s->rows.block + at, c->rows.block + first, (size_t)count * sizeof *s->rows.block);
    memcpy(s->rows.value + 9 * at, c->rows.value + 9 * first, (size_t)(9 * count) * sizeof *s->rows.value);
    v3_copy(s->rows.known + 3 * n, c->rows.known + 3 * i);
    v3_copy(s->r + 3 * n, s->r_all + 3 * i);
    s->shift[n] = c->shift[i], s->mu[n] = c->mu[i];
    at += count;
    s->contact[n++]  = (int32_t)i;
    s->rows.start[n] = at;
  }
  s->n = s->rows.n = n;
}

PetscErrorCode step_working_set_create(const step_contacts *c, const double *v, const double *r_all, bool includes_all, step_working_set *s)
{
  PetscFunctionBegin;
  PetscCall(make_room(c, s));
  if (s->n_all > 0) memcpy(s->r_all, r_all, (size_t)(3 * s->n_all) * sizeof *r_all);
  contact_jacobian_velocity(&c->rows, v, s->q);
  for (int64_t i = 0; i < s->n_all; ++i)
    s->is_in[i] = includes_all || s->n_all <= WORKING_SET_FEW || r_all[3 * i] > 0.0 || s->q[3 * i] + c->shift[i] <= 0.0;
  pack(c, s);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode step_working_set_join(step_working_set *s, const step_contacts *c, const double *v, double speed, int64_t *n_joined)
{
  double *u = NULL;
  PetscFunctionBegin;
  *n_joined = 0;
  if (s->n == s->n_all) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(memory_alloc("velocities of contacts", 3 * s->n_all, sizeof *u, &u));
  contact_jacobian_velocity(&c->rows, v, u);
  for (int64_t i = 0; i < s->n_all; ++i) {
    if (s->is_in[i] || !(u[3 * i] + c->shift[i] < -speed)) continue;
    s->is_in[i] = true;
    ++*n_joined;
  }
  memory_free(&u);
  if (*n_joined == 0) PetscFunctionReturn(PETSC_SUCCESS);
  for (int64_t k = 0; k < s->n; ++k) v3_copy(s->r_all + 3 * s->contact[k], s->r + 3 * k);
  pack(c, s);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode step_working_set_extend(step_working_set *s, const step_contacts *c, int64_t n_old, const uint64_t *key)
{
  const contact_spot *spot = step_contacts_spots(c);
  step_working_set    more = {0};
  PetscFunctionBegin;
  const PetscErrorCode code = make_room(c, &more);
  for (int64_t k = 0; k < s->n; ++k) v3_copy(s->r_all + 3 * s->contact[k], s->r + 3 * k);
  for (int64_t i = 0, old = 0; i < more.n_all && !code; ++i) { /* both ascending */
    const bool is_old = old < n_old && key[2 * old] == spot[i].key[0] && key[2 * old + 1] == spot[i].key[1];
    more.is_in[i]     = !is_old || s->is_in[old];
    if (is_old) v3_copy(more.r_all + 3 * i, s->r_all + 3 * old++);
  }
  if (!code) pack(c, &more);
  step_working_set_destroy(s);
  *s = more;
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void step_working_set_spread(const step_working_set *s, const step_contacts *c, const double *v, double *r, double *u)
{
  contact_jacobian_velocity(&c->rows, v, u);
  for (int64_t i = 0; i < s->n_all; ++i) {
    u[3 * i] += c->shift[i];
    v3_set(r + 3 * i, 0.0, 0.0, 0.0);
  }
  for (int64_t k = 0; k < s->n; ++k) {
    v3_copy(r + 3 * s->contact[k], s->r + 3 * k);
    v3_copy(u + 3 * s->contact[k], s->u + 3 * k);
  }
}
