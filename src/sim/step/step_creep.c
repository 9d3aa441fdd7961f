#include "sim/step/step_creep.h"
#include "core/math3.h"
#include "core/memory.h"
#include "sim/scene/scene_size.h"

/* [1/s] of the size of the smaller body; share of the rms relative velocity of the contacts */
static const double CREEP = 1e-5, RELATIVE = 1e-2;
/* Of the speed that gravity adds in a step, in the search for a static equilibrium. */
static const double PRECISE = 1e-6;

bool step_creep_is_rigid(const scene *s)
{
  for (int i = 0; i < s->n_systems; ++i)
    if (s->systems[i]->ops->points != POINT_RIGID && !s->systems[i]->ops->is_reduced) return false;
  return true;
}

bool step_creep_applies(const scene *s, double max_creep, const friction_options *o)
{
  return step_creep_is_rigid(s) && (isnan(max_creep) ? isnan(o->tolerance) : max_creep > 0.0);
}

PetscErrorCode step_creep_create(const scene *s, double max_creep, step_creep *c)
{
  PetscFunctionBegin;
  *c = (step_creep){.max_creep = max_creep};
  PetscCall(memory_alloc("sizes of bodies", s->n_bodies, sizeof *c->size, &c->size));
  for (int i = 0; i < s->n_bodies; ++i) c->size[i] = scene_body_size(s, i);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void step_creep_destroy(step_creep *c) { memory_free(&c->size); }

PetscErrorCode step_creep_limits(const step_creep *c, const step_contacts *contacts, const step_layout *l, double **limit)
{
  const int64_t       n    = step_contacts_size(contacts);
  const contact_spot *spot = step_contacts_spots(contacts);
  double             *u = NULL, square = 0.0;
  PetscFunctionBegin;
  PetscCall(memory_alloc("accepted creep", n, sizeof **limit, limit));
  PetscCall(memory_alloc("velocities of contacts", 3 * n, sizeof *u, &u));
  contact_jacobian_velocity(&contacts->rows, l->v0, u);
  for (int64_t i = 0; i < n; ++i) square += v3_dot(u + 3 * i, u + 3 * i);
  memory_free(&u);
  const double relative = RELATIVE * sqrt(square / fmax(1.0, (double)n));
  for (int64_t i = 0; i < n; ++i) {
    const double size = fmin(c->size[spot[i].body_a], c->size[spot[i].body_b]), of_size = isfinite(size) ? CREEP * size : 0.0;
    (*limit)[i] = isnan(c->max_creep) ? fmax(fmax(of_size, relative), STEP_LEAST_SLIP / l->dt) : c->max_creep;
    if (l->is_precise) (*limit)[i] = fmin((*limit)[i], PRECISE * l->acceleration_scale * l->dt);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

void step_creep_add_slack(const step_creep *c, const double *limit, const double *guess, step_contacts *contacts)
{
  const contact_spot *spot = step_contacts_spots(contacts);
  for (int64_t i = 0; i < step_contacts_size(contacts); ++i) {
    if (!(guess[3 * i] > 0.0)) continue;
    const double slack = fmin(limit[i], CREEP * fmin(c->size[spot[i].body_a], c->size[spot[i].body_b]));
    contacts->shift[i] -= fmax(-slack, fmin(contacts->shift[i], slack));
  }
}

PetscErrorCode step_creep_bodies(const step_unknowns *u, const step_layout *l, int32_t **of_unknown)
{
  const scene *s = l->scene;
  int32_t      k = 0;
  PetscFunctionBegin;
  PetscCall(memory_alloc("bodies of the unknowns", u->n, sizeof **of_unknown, of_unknown));
  for (int64_t i = 0; i < u->n; ++i) {
    const int64_t block = (u->is_all ? i : u->own[i]) / 3;
    while (k + 1 < s->n_systems && s->systems[k + 1]->first_block <= block) ++k;
    (*of_unknown)[i] = k;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
