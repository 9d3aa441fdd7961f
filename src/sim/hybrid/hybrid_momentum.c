#include "sim/hybrid/hybrid_momentum.h"
#include "core/math3.h"
#include "core/memory.h"
#include "discretize/nodal/nodal_momentum.h"
#include "sim/hybrid/hybrid_keys.h"

PetscErrorCode hybrid_momentum_create(const scene *s, hybrid_momentum *m)
{
  PetscFunctionBegin;
  m->n = s->n_bodies;
  PetscCall(memory_alloc("momenta", m->n, sizeof *m->P, &m->P));
  PetscCall(memory_alloc("momenta", m->n, sizeof *m->L, &m->L));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void hybrid_momentum_destroy(hybrid_momentum *m) { memory_free(&m->P), memory_free(&m->L); }

/* P, L += mass (v, x x v) */
static void add(double mass, const double *x, const double *v, double P[3], double L[3])
{
  double moment[3];
  v3_cross(moment, x, v);
  v3_axpy(P, mass, v);
  v3_axpy(L, mass, moment);
}

void hybrid_momentum_begin(hybrid_momentum *m, const step_layout *l)
{
  for (int i = 0; i < m->n; ++i) {
    const nodal_body *b = nodal_body_of(l->scene->bodies[i].body);
    double            unused[3] = {0.0, 0.0, 0.0};
    v3_set(m->P[i], 0.0, 0.0, 0.0), v3_set(m->L[i], 0.0, 0.0, 0.0);
    for (int64_t k = 0; b && k < b->n_nodes; ++k) {
      double v[3];
      v3_copy(v, b->v + 3 * k);
      v3_axpy(v, l->dt, b->gravity);
      add(b->mass[k], b->x + 3 * k, v, unused, m->L[i]);
      v3_axpy(m->P[i], b->mass[k], l->v + 3 * (b->base.first_block + k));
    }
  }
}

static void restore(const hybrid_momentum *m, int i, int fix, const hybrid_boundary *b, nodal_body *own)
{
  const scene_surfaces *f = b->surfaces;
  double                P[3], L[3], now_P[3] = {0.0, 0.0, 0.0}, now_L[3] = {0.0, 0.0, 0.0}, mass = 0.0, center[3] = {0.0, 0.0, 0.0};
  double                inertia[9], inverse[9], shift[3], turn[3] = {0.0, 0.0, 0.0}, moment[3];
  v3_copy(P, m->P[i]), v3_copy(L, m->L[i]);
  for (int64_t k = f->first_vertex[i]; k < f->first_vertex[i + 1]; ++k) {
    double change[3];
    v3_sub(change, b->v + 3 * k, b->v_free + 3 * k);
    add(b->mass[k], b->x0 + 3 * k, change, P, L);
  }
  for (int64_t k = 0; k < own->n_nodes; ++k) {
    add(own->mass[k], own->x + 3 * k, own->v + 3 * k, now_P, now_L);
    v3_axpy(center, own->mass[k], own->x + 3 * k);
    mass += own->mass[k];
  }
  v3_scale(center, 1.0 / mass, center);
  v3_axpy(P, -1.0, now_P), v3_axpy(L, -1.0, now_L); /* what is missing */
  v3_scale(shift, 1.0 / mass, P);
  v3_cross(moment, center, P);
  v3_axpy(L, -1.0, moment); /* about the centre */
  nodal_body_inertia(own, center, inertia);
  if (fix == HYBRID_FIX_RIGID && m3_inverse(inverse, inertia) > 0.0) m3_mulv(turn, inverse, L);
  (void)nodal_body_add_rigid_velocity(own, shift, turn, center);
}

void hybrid_momentum_restore(const hybrid_momentum *m, int fix, const hybrid_boundary *b, const step_layout *l)
{
  for (int i = 0; i < m->n && fix != HYBRID_FIX_NONE; ++i) {
    body *own = l->scene->bodies[i].body;
    if (nodal_body_of(own)) restore(m, i, fix, b, (nodal_body *)own);
  }
}
