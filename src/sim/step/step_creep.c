#include "sim/step/step_creep.h"
#include "core/disjoint_sets.h"
#include "core/math3.h"
#include "core/memory.h"
#include "sim/scene/scene_size.h"

/* [1/s] of the size of the smaller body; share of the rms relative velocity of the contacts */
static const double CREEP = 1e-5, RELATIVE = 1e-2;
/* Of the speed that gravity adds in a step: the accepted speed in the search for a static equilibrium; rms relative velocity up to which an island rests. */
static const double PRECISE = 1e-6, RESTS = 0.05;

bool step_creep_is_rigid(const scene *s)
{
  for (int i = 0; i < s->n_systems; ++i)
    if (s->systems[i]->ops->points != POINT_RIGID && !s->systems[i]->ops->is_reduced) return false;
  return true;
}

bool step_creep_applies(const scene *s, double max_creep, const friction_options *o)
{
  return step_creep_is_rigid(s) && (isnan(max_creep) ? isnan(o->tolerance) && o->error == FRICTION_ERROR_BOTH : max_creep > 0.0);
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

/* root [n] representative of the island of each contact: systems that are connected by contacts. Numbers of systems. */
static PetscErrorCode find_islands(const step_contacts *contacts, const scene *s, int64_t *root)
{
  const contact_jacobian *rows  = &contacts->rows;
  int64_t                *up    = NULL;
  int32_t                *owner = NULL;
  const int64_t n_blocks        = s->n_systems > 0 ? s->systems[s->n_systems - 1]->first_block + s->systems[s->n_systems - 1]->n_blocks : 0;
  PetscFunctionBegin;
  PetscCall(MEMORY_ALLOC("islands", ARRAY(up, s->n_systems), ARRAY(owner, n_blocks)));
  for (int k = 0; k < s->n_systems; ++k)
    for (int64_t i = 0; i < s->systems[k]->n_blocks; ++i) owner[s->systems[k]->first_block + i] = k;
  disjoint_sets_init(s->n_systems, up);
  for (int64_t a = 0; a < rows->n; ++a)
    for (int64_t k = rows->start[a] + 1; k < rows->start[a + 1]; ++k)
      disjoint_sets_join(up, owner[rows->block[rows->start[a]]], owner[rows->block[k]]);
  for (int64_t a = 0; a < rows->n; ++a) root[a] = disjoint_sets_find(up, owner[rows->block[rows->start[a]]]);
  MEMORY_FREE(&up, &owner);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* rms [n_systems] at the root of each island: rms relative velocity of its contacts at the start of the step [m/s]. */
static PetscErrorCode measure_islands(const step_contacts *contacts, const step_layout *l, const int64_t *root, double *rms)
{
  const int64_t n     = step_contacts_size(contacts);
  double       *u     = NULL;
  int64_t      *count = NULL;
  PetscFunctionBegin;
  PetscCall(MEMORY_ALLOC("islands", ARRAY(u, 3 * n), ARRAY(count, l->scene->n_systems)));
  contact_jacobian_velocity(&contacts->rows, l->v0, u);
  for (int64_t i = 0; i < n; ++i) rms[root[i]] += v3_dot(u + 3 * i, u + 3 * i), ++count[root[i]];
  for (int64_t i = 0; i < l->scene->n_systems; ++i) rms[i] = count[i] > 0 ? sqrt(rms[i] / (double)count[i]) : 0.0;
  MEMORY_FREE(&u, &count);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode step_creep_limits(const step_creep *c, const step_contacts *contacts, const step_layout *l, double **limit, bool *moves)
{
  const int64_t       n    = step_contacts_size(contacts);
  const contact_spot *spot = step_contacts_spots(contacts);
  int64_t            *root = NULL;
  double             *rms  = NULL;
  PetscFunctionBegin;
  PetscErrorCode code = MEMORY_ALLOC("accepted creep", ARRAY(*limit, n), ARRAY(root, n), ARRAY(rms, l->scene->n_systems));
  if (!code) code = find_islands(contacts, l->scene, root);
  if (!code) code = measure_islands(contacts, l, root, rms);
  if (moves) *moves = false;
  for (int64_t i = 0; i < n && !code; ++i) {
    const double size = fmin(c->size[spot[i].body_a], c->size[spot[i].body_b]), of_size = isfinite(size) ? CREEP * size : 0.0;
    (*limit)[i] = isnan(c->max_creep) ? fmax(fmax(of_size, RELATIVE * rms[root[i]]), STEP_LEAST_SLIP / l->dt) : c->max_creep;
    if (moves) *moves = *moves || rms[root[i]] > RESTS * l->acceleration_scale * l->dt;
    if (l->is_precise) (*limit)[i] = fmin((*limit)[i], PRECISE * l->acceleration_scale * l->dt);
  }
  MEMORY_FREE(&root, &rms);
  PetscCall(code);
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
