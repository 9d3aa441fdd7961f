#include "sim/monolith/monolith_flow.h"
#include "core/math3.h"
#include "core/memory.h"

/* ---- couplings --------------------------------------------------------------------------------------------------------- */

static void coupling_free(monolith_coupling *c)
{
  memory_free(&c->sample);
  memory_free(&c->body);
  memory_free(&c->wrench);
}

/* known [n_samples] gets what prescribed solids do. */
static PetscErrorCode split(const mac_coupling *all, const monolith_solids *solids, monolith_coupling *own, double *known)
{
  int64_t n = 0;
  PetscFunctionBegin;
  PetscCall(memory_alloc("couplings of bodies", all->n, sizeof *own->sample, &own->sample));
  PetscCall(memory_alloc("couplings of bodies", all->n, sizeof *own->body, &own->body));
  PetscCall(memory_alloc("couplings of bodies", all->n, sizeof *own->wrench, &own->wrench));
  for (int64_t e = 0; e < all->n; ++e) {
    const int32_t      k     = all->solid[e];
    const rigid_frame *frame = &solids->solid[k].frame;
    if (solids->unknown[k] < 0) {
      known[all->sample[e]] += v3_dot(all->wrench[e], frame->v) + v3_dot(all->wrench[e] + 3, frame->w);
      continue;
    }
    own->sample[n] = all->sample[e], own->body[n] = solids->unknown[k];
    for (int j = 0; j < 6; ++j) own->wrench[n][j] = all->wrench[e][j];
    ++n;
  }
  own->view = (flow_coupling){n, own->sample, own->body, (const double(*)[6])own->wrench};
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* wrench [.][6] += coupling times x, entry by entry in order. */
static void add_coupling(int64_t n, const int32_t *sample, const int32_t *to, const double (*row)[6], const double *x,
                         double (*wrench)[6])
{
  for (int64_t e = 0; e < n; ++e)
    for (int j = 0; j < 6; ++j) wrench[to[e]][j] += row[e][j] * x[sample[e]];
}

void monolith_flow_wrench(const monolith_flow *f, const monolith_contacts *contacts, double (*wrench)[6])
{
  const flow_coupling *p = &f->F_p.view, *s = &f->F_s.view;
  for (int64_t r = 0; r < f->problem.n_bodies; ++r)
    for (int j = 0; j < 6; ++j) wrench[r][j] = 0.0;
  add_coupling(p->n, p->sample, p->body, p->wrench, f->x.p, wrench);
  add_coupling(s->n, s->sample, s->body, s->wrench, f->x.s, wrench);
  monolith_contacts_add(contacts, f->x.lambda, f->x.z, wrench);
}

/* ---- the problem ------------------------------------------------------------------------------------------------------- */

static PetscErrorCode allocate(monolith_flow *f)
{
  const flow_problem *q = &f->problem;
  PetscFunctionBegin;
  PetscCall(memory_alloc("pressure", q->n_cells, sizeof(double), &f->x.p));
  PetscCall(memory_alloc("pressure", q->n_cells, sizeof(double), &f->p_known));
  PetscCall(memory_alloc("pressure", q->n_cells, sizeof(double), &f->alpha));
  PetscCall(memory_alloc("stress", q->n_cells, sizeof(double), &f->x.multiplier));
  PetscCall(memory_alloc("stress", q->n_stress, sizeof(double), &f->x.s));
  PetscCall(memory_alloc("stress", q->n_stress, sizeof(double), &f->s_known));
  PetscCall(memory_alloc("contact forces", q->n_contacts, sizeof(double), &f->x.lambda));
  PetscCall(memory_alloc("contact forces", 2 * q->n_contacts, sizeof(double), &f->x.z));
  PetscCall(memory_alloc("velocities of faces", q->n_faces, sizeof(double), &f->x.u));
  PetscCall(memory_alloc("velocities of bodies", 6 * q->n_bodies, sizeof(double), &f->x.v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a cell's weight adds to pressure, and what a contact carries of the weight of all bodies. Without gravity, by the scale of
 * accelerations that the job names or 9.81 m/s^2. */
static void set_scales(monolith_flow *f, const step_layout *l, const monolith_bodies *bodies)
{
  const double g       = l->acceleration_scale;
  double       density = 0.0, mass = 0.0;
  for (int64_t i = 0; i < f->system->n_cells; ++i) density = fmax(density, f->system->rest_density[i]);
  for (int64_t r = 0; r < bodies->n; ++r) mass += l->scale[6 * r];
  f->problem.pressure_scale = density * g * f->system->h;
  f->problem.contact_scale  = f->problem.n_contacts > 0 ? mass * g / (double)f->problem.n_contacts : 0.0;
}

PetscErrorCode monolith_flow_set_up(monolith_flow *f, const mac_system *y, const step_layout *l, monolith_bodies *bodies,
                                    const monolith_contacts *contacts, const monolith_solids *solids)
{
  PetscFunctionBegin;
  f->system  = y;
  f->problem = (flow_problem){.n_faces        = y->n_faces,
                              .n_cells        = y->n_cells,
                              .n_stress       = y->n_stress,
                              .n_bodies       = bodies->n,
                              .n_contacts     = contacts->n,
                              .u_star         = y->u,
                              .v_star         = (const double *)bodies->v_free,
                              .mobility       = y->mobility,
                              .weight         = y->weight,
                              .G              = &y->G,
                              .GT             = &y->GT,
                              .D              = &y->D,
                              .DT             = &y->DT,
                              .ijk            = (const int32_t(*)[3])y->ijk,
                              .inverse_mass   = (const double(*)[36])bodies->inverse_mass,
                              .contact        = contacts->contact,
                              .is_staggered   = y->arrangement == MAC_STAGGERED,
                              .is_orthonormal = y->basis == MAC_ORTHONORMAL,
                              .component      = y->component,
                              .sample_cells   = (const int32_t(*)[4])y->sample_cells,
                              .cohesion       = y->cohesion,
                              .update_bodies  = monolith_bodies_relinearize,
                              .bodies_context = bodies};
  PetscCall(allocate(f));
  PetscCall(split(&y->F_p, solids, &f->F_p, f->p_known));
  PetscCall(split(&y->F_s, solids, &f->F_s, f->s_known));
  for (int64_t i = 0; i < y->n_cells; ++i) f->alpha[i] = M_SQRT2 * y->friction[i];
  f->problem.F_p = f->F_p.view, f->problem.F_s = f->F_s.view;
  f->problem.p_known = f->p_known, f->problem.s_known = f->s_known;
  f->problem.alpha = f->alpha;
  set_scales(f, l, bodies);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void monolith_flow_destroy(monolith_flow *f)
{
  void *arrays[] = {&f->x.p,     &f->p_known,  &f->alpha, &f->x.multiplier, &f->x.s,
                    &f->s_known, &f->x.lambda, &f->x.z,   &f->x.u,          &f->x.v};
  for (size_t k = 0; k < sizeof arrays / sizeof *arrays; ++k) memory_free(arrays[k]);
  coupling_free(&f->F_p);
  coupling_free(&f->F_s);
}
