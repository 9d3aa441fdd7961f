/* Contact data of the last accepted step, see contact_record.h. */
#include "contact/detection/contact_record.h"
#include "core/math3.h"
#include "core/memory.h"

void contact_points_destroy(contact_points *p)
{
  MEMORY_FREE(&p->position, &p->force, &p->normal, &p->gap, &p->source_body, &p->object_body, &p->is_sliding);
  p->n = p->capacity = 0;
}

PetscErrorCode contact_points_reserve(contact_points *p, int64_t n)
{
  PetscFunctionBeginUser;
  PetscCall(MEMORY_RESERVE("contact points", n, &p->capacity, ARRAY(p->position, 3), ARRAY(p->force, 3), ARRAY(p->normal, 3),
                           ARRAY(p->gap, 1), ARRAY(p->source_body, 1), ARRAY(p->object_body, 1), ARRAY(p->is_sliding, 1)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode contact_points_append(contact_points *p, const contact_points *more)
{
  PetscFunctionBeginUser;
  PetscCall(contact_points_reserve(p, p->n + more->n));
  for (int64_t i = 0; i < more->n; ++i, ++p->n) {
    for (int k = 0; k < 3; ++k) {
      p->position[3 * p->n + k] = more->position[3 * i + k];
      p->force[3 * p->n + k]    = more->force[3 * i + k];
      p->normal[3 * p->n + k]   = more->normal[3 * i + k];
    }
    p->gap[p->n]         = more->gap[i];
    p->source_body[p->n] = more->source_body[i], p->object_body[p->n] = more->object_body[i];
    p->is_sliding[p->n] = more->is_sliding[i];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode contact_points_fields(contact_points *p, field_table *table)
{
  const int    flags = FIELD_FRAME | FIELD_DERIVED; /* updated at the end of each step: no refresh() is needed */
  field_group *group;
  PetscFunctionBeginUser;
  PetscCall(field_table_add_group(table, "contact/points", FIELD_GROUP_POINTS, &p->n, p, &group));
  PetscCall(field_table_add(table, group, "position", "m", FIELD_F64, 3, &p->position, flags, "attachment on the surface"));
  PetscCall(field_table_add(table, group, "force", "N", FIELD_F64, 3, &p->force, flags, "force on the point"));
  PetscCall(field_table_add(table, group, "normal", "1", FIELD_F64, 3, &p->normal, flags, "outward normal of the object"));
  PetscCall(field_table_add(table, group, "gap", "m", FIELD_F64, 1, &p->gap, flags, "distance of the point, negative inside"));
  PetscCall(field_table_add(table, group, "source", "1", FIELD_I32, 1, &p->source_body, flags, "body that owns the point"));
  PetscCall(field_table_add(table, group, "object", "1", FIELD_I32, 1, &p->object_body, flags, "body with the surface"));
  PetscCall(field_table_add(table, group, "sliding", "1", FIELD_U8, 1, &p->is_sliding, flags, "1: slides, 0: sticks"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

contact_points_view contact_points_get(const contact_points *p)
{
  return (contact_points_view){p->n, p->position, p->force, p->normal, p->gap, p->source_body, p->object_body, p->is_sliding};
}

/* ---- forces between bodies ------------------------------------------------------------------------------------------- */

void contact_forces_destroy(contact_forces *f)
{
  memory_free(&f->group);
  f->n = f->capacity = 0;
}

PetscErrorCode contact_forces_open(contact_forces *f, int source_body, int object_body, contact_group_force **out)
{
  PetscFunctionBeginUser;
  PetscCall(memory_reserve("contact groups", f->n + 1, sizeof *f->group, &f->capacity, &f->group));
  *out  = &f->group[f->n++];
  **out = (contact_group_force){source_body, object_body, {0}, {0}};
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode contact_forces_find(contact_forces *f, int source_body, int object_body, contact_group_force **out)
{
  PetscFunctionBeginUser;
  for (int64_t i = 0; i < f->n; ++i)
    if (f->group[i].source_body == source_body && f->group[i].object_body == object_body) {
      *out = &f->group[i];
      PetscFunctionReturn(PETSC_SUCCESS);
    }
  PetscCall(contact_forces_open(f, source_body, object_body, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode contact_forces_merge(contact_forces *f, const contact_forces *more)
{
  PetscFunctionBegin;
  for (int64_t i = 0; i < more->n; ++i) {
    contact_group_force *g;
    PetscCall(contact_forces_find(f, more->group[i].source_body, more->group[i].object_body, &g));
    v3_axpy(g->force, 1.0, more->group[i].force);
    v3_axpy(g->moment, 1.0, more->group[i].moment);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode contact_forces_append(contact_forces *f, const contact_forces *more, double factor)
{
  PetscFunctionBegin;
  PetscCall(memory_reserve("contact groups", f->n + more->n, sizeof *f->group, &f->capacity, &f->group));
  for (int64_t i = 0; i < more->n; ++i) {
    contact_group_force *g = &f->group[f->n++];
    *g                     = more->group[i];
    v3_scale(g->force, factor, g->force);
    v3_scale(g->moment, factor, g->moment);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

void contact_group_add(contact_group_force *g, const double x[3], const double force[3])
{
  double moment[3];
  v3_cross(moment, x, force);
  v3_axpy(g->force, 1.0, force);
  v3_axpy(g->moment, 1.0, moment);
}

void contact_forces_between(const contact_forces *f, int on, int from, double force[3], double moment[3])
{
  v3_set(force, 0.0, 0.0, 0.0);
  v3_set(moment, 0.0, 0.0, 0.0);
  for (int64_t i = 0; i < f->n; ++i) {
    const contact_group_force *g    = &f->group[i];
    double                     sign = 0.0;
    if (g->source_body == on && (from < 0 || g->object_body == from)) sign = 1.0;
    if (g->object_body == on && (from < 0 || g->source_body == from)) sign = -1.0;
    v3_axpy(force, sign, g->force);
    v3_axpy(moment, sign, g->moment);
  }
}

/* ---- statistics of relaxations --------------------------------------------------------------------------------------- */

void relax_chain_text(relax_chain chain, char *text)
{
  int n = 1;
  while (n < 16 && chain >> (4 * n)) ++n;
  for (int i = 0; i < n; ++i) {
    *text++ = (char)('0' + (chain >> (4 * (n - 1 - i)) & 15));
    *text++ = i + 1 < n ? '-' : '\0';
  }
}

static void contact_record_count(relax_statistics *s, relax_chain chain, int64_t n)
{
  int i = 0;
  while (i < s->n_chains && s->kind[i].chain != chain) ++i;
  if (i == RELAX_STATISTICS_CHAINS) {
    s->n_other += n;
    return;
  }
  if (i == s->n_chains) {
    s->kind[i].chain = chain;
    s->kind[i].n     = 0;
    ++s->n_chains;
  }
  s->kind[i].n += n;
}

void relax_statistics_add(relax_statistics *s, relax_chain chain, int n_places, bool is_capped)
{
  ++s->n;
  s->n_at_start += n_places == 1;
  s->n_capped += is_capped;
  if (n_places > s->longest) s->longest = n_places;
  contact_record_count(s, chain, 1);
}

void relax_statistics_merge(relax_statistics *s, const relax_statistics *more)
{
  s->n += more->n;
  s->n_at_start += more->n_at_start;
  s->n_capped += more->n_capped;
  s->n_other += more->n_other;
  if (more->longest > s->longest) s->longest = more->longest;
  for (int i = 0; i < more->n_chains; ++i) contact_record_count(s, more->kind[i].chain, more->kind[i].n);
}
