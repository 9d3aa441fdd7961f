/* What was done to each pair, over all passes of a solve. */
#include "contact/impulse/impulses_internal.h"
#include "core/math3.h"
#include "core/memory.h"
#include "core/sort.h"

PetscErrorCode impulse_contacts_keep(impulses *a)
{
  PetscFunctionBegin;
  PetscCall(memory_reserve("impulses", a->n_given + a->n, sizeof *a->given, &a->given_capacity, &a->given));
  for (int64_t i = 0; i < a->n; ++i)
    if (a->found[i].j > 0.0) a->given[a->n_given++] = a->found[i];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One impulse more on the same pair; its features are those of the last. */
static void add(impulse_contact *c, const meeting *m)
{
  c->pressed += m->j;
  v3_axpy(c->normal, m->j, m->normal);
  v3_axpy(c->friction, 1.0, m->friction);
  c->is_sliding = m->is_sliding;
}

static void finish(const impulses *a, impulse_contact *c, const meeting *m)
{
  const broad_phase_surfaces *b       = &a->scene.surfaces;
  const bool                  is_wall = m->kind == MEETING_POINT_WALL;
  const int                   n_first = m->kind == MEETING_EDGE_EDGE ? 2 : 1;
  double                      first[3] = {0.0, 0.0, 0.0}, second[3] = {0.0, 0.0, 0.0}, apart[3];
  for (int k = 0; k < 3; ++k) c->impulse[k] = c->normal[k] + c->friction[k];
  const double size = v3_norm(c->normal);
  v3_scale(c->normal, size > 0.0 ? 1.0 / size : 0.0, c->normal);
  for (int k = 0; k < 4; ++k) v3_axpy(k < n_first ? first : second, fabs(m->weight[k]), a->x1 + 3 * (int64_t)m->node[k]);
  if (is_wall) {
    const impulse_wall *w = &a->step->wall[m->second];
    for (int k = 0; k < 3; ++k) apart[k] = first[k] - w->point[k] - a->step->dt * w->v[k];
    c->gap = v3_dot(apart, w->normal);
    v3_copy(second, first);
    v3_axpy(second, -c->gap, w->normal);
  } else {
    v3_sub(apart, first, second);
    c->gap = v3_dot(apart, c->normal);
  }
  v3_copy(c->place, second);
  c->body[0] = b->n_bodies ? b->body[m->node[0]] : 0;
  c->body[1] = is_wall ? a->step->wall[m->second].body : b->n_bodies ? b->body[m->node[3]] : 0;
}

PetscErrorCode impulse_contacts_gather(impulses *a)
{
  const int64_t n    = a->n_given;
  uint64_t     *key  = NULL;
  int32_t      *perm = NULL;
  PetscFunctionBegin;
  a->n_contacts = 0;
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(memory_reserve("contacts", n, sizeof *a->contact, &a->contact_capacity, &a->contact));
  PetscErrorCode code = memory_alloc("contacts", n, sizeof *key, &key);
  if (!code) code = memory_alloc("contacts", n, sizeof *perm, &perm);
  for (int64_t i = 0; i < n && !code; ++i) key[i] = meeting_key(a->given[i].kind, a->given[i].first, a->given[i].second);
  if (!code) code = sort_keys(n, 64, key, perm);
  for (int64_t i = 0; i < n && !code; ++i) {
    if (i == 0 || key[i] != key[i - 1]) a->contact[a->n_contacts++] = (impulse_contact){0};
    add(&a->contact[a->n_contacts - 1], &a->given[perm[i]]);
    if (i + 1 == n || key[i + 1] != key[i]) finish(a, &a->contact[a->n_contacts - 1], &a->given[perm[i]]);
  }
  memory_free(&key), memory_free(&perm);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
