#include "sim/monolith/monolith_record.h"
#include "core/math3.h"
#include "core/memory.h"
#include "discretize/particles/particles.h"

/* Which bodies of kind mac there are, and what share of the mass of every cell is whose. */
typedef struct {
  int     n, *body; /* [n] numbers in the scene */
  double *share;    /* [n_cells][n]; NULL: there is but one */
} owners;

static void owners_free(owners *o)
{
  memory_free(&o->body);
  memory_free(&o->share);
}

static void weigh(const mac_state *state, const particles *p, const int32_t *cell_of, int n, double *share)
{
  for (int64_t i = 0; i < p->n; ++i) {
    int32_t at[3];
    for (int k = 0; k < 3; ++k) at[k] = mac_grid_index(&state->grid, k, p->x[k][i]);
    const int64_t slot = mac_grid_slot(&state->grid, at[0], at[1], at[2]);
    if (slot >= 0 && cell_of[slot] >= 0) share[(int64_t)n * cell_of[slot]] += p->mass[i];
  }
}

static PetscErrorCode owners_find(const monolith_flow *f, const mac_state *state, const scene *s, owners *o)
{
  const mac_system *y = f->system;
  PetscFunctionBegin;
  *o = (owners){0};
  PetscCall(memory_alloc("continua", s->n_bodies, sizeof *o->body, &o->body));
  for (int i = 0; i < s->n_bodies; ++i)
    if (s->bodies[i].kind->ops->carrier) o->body[o->n++] = i;
  if (o->n < 2) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(memory_alloc("continua", o->n * y->n_cells, sizeof *o->share, &o->share));
  for (int m = 0; m < o->n; ++m) weigh(state, particles_of(s->bodies[o->body[m]].body), y->cell_of, o->n, o->share + m);
  for (int64_t i = 0; i < y->n_cells; ++i) {
    double sum = 0.0;
    for (int m = 0; m < o->n; ++m) sum += o->share[o->n * i + m];
    for (int m = 0; m < o->n; ++m) o->share[o->n * i + m] = sum > 0.0 ? o->share[o->n * i + m] / sum : m == 0;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* wrench [n_solids][n_owners][6] += coupling times x, split by the mass of the sample's first cell. */
static void split_coupling(const mac_coupling *c, const double *x, const mac_system *y, bool is_stress, const owners *o,
                           double (*wrench)[6])
{
  for (int64_t e = 0; e < c->n; ++e) {
    const int32_t sample = c->sample[e], cell = is_stress ? y->sample_cells[sample][0] : sample;
    for (int m = 0; m < o->n; ++m) {
      const double part = (o->share ? o->share[(int64_t)o->n * cell + m] : 1.0) * x[sample];
      for (int j = 0; j < 6; ++j) wrench[o->n * c->solid[e] + m][j] += part * c->wrench[e][j];
    }
  }
}

/* A force and a moment about the origin of its frame, of body `from` on a solid. */
static PetscErrorCode add_wrench(const mac_solid *solid, int from, double scale, const double w[6], contact_forces *forces)
{
  double               moment[3];
  contact_group_force *group;
  PetscFunctionBegin;
  PetscCall(contact_forces_find(forces, solid->body, from, &group));
  v3_axpy(group->force, scale, w);
  v3_cross(moment, solid->frame.c, w);
  v3_axpy(group->moment, scale, moment);
  v3_axpy(group->moment, scale, w + 3);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode add_forces(const monolith_solids *solids, const owners *o, const double (*wrench)[6], contact_forces *forces)
{
  PetscFunctionBegin;
  for (int k = 0; k < solids->n; ++k)
    for (int m = 0; m < o->n; ++m) PetscCall(add_wrench(&solids->solid[k], o->body[m], 1.0, wrench[o->n * k + m], forces));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode monolith_record_hits(const scene *s, const monolith_solids *solids, double dt, const double (*impulse)[6],
                                    contact_forces *forces)
{
  PetscFunctionBegin;
  for (int k = 0; k < solids->n; ++k) {
    int from = 0;
    while (!s->bodies[from].kind->ops->carrier || s->laws[from * s->n_bodies + solids->solid[k].body].never_touch) ++from;
    PetscCall(add_wrench(&solids->solid[k], from, 1.0 / dt, impulse[k], forces));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode monolith_record_forces(const monolith_flow *f, const mac_state *state, const scene *s, const monolith_solids *solids,
                                      contact_forces *forces)
{
  owners          o;
  double        (*wrench)[6] = NULL;
  PetscFunctionBegin;
  PetscErrorCode code = owners_find(f, state, s, &o);
  if (!code) code = memory_alloc("forces on solids", (int64_t)o.n * solids->n, sizeof *wrench, &wrench);
  if (!code) {
    split_coupling(&f->system->F_p, f->x.p, f->system, false, &o, wrench);
    split_coupling(&f->system->F_s, f->x.s, f->system, true, &o, wrench);
    code = add_forces(solids, &o, (const double(*)[6])wrench, forces);
  }
  memory_free(&wrench);
  owners_free(&o);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the report -------------------------------------------------------------------------------------------------------- */

/* What the continuum takes up outside of solids; cells of a liquid by how far their centres are from the surface. */
static double volume_of(const mac_system *y, const mac_grid *g)
{
  double sum = 0.0;
  for (int64_t i = 0; i < g->n_slots; ++i) {
    int32_t ijk[3];
    mac_grid_cell(g, i, ijk);
    if (!mac_grid_is_inside(g, ijk)) continue;
    const double filled = y->has_ghosts ? fmin(fmax(0.5 - y->weights.center[i] / y->h, 0.0), 1.0) : y->weights.cell_liquid[i];
    sum += filled * y->weights.cell_fluid[i];
  }
  return sum * y->h * y->h * y->h;
}

/* Mass above what cells hold at rest. */
static double excess_of(const monolith_flow *f, const mac_state *state)
{
  const mac_system *y   = f->system;
  double            sum = 0.0, all = 0.0;
  for (int64_t i = 0; i < y->n_cells; ++i) {
    const double rho = state->rho[y->cell_slot[i]], at_rest = y->rest_density[i];
    all += rho;
    sum += fmax(0.0, rho - at_rest);
  }
  return all > 0.0 ? sum / all : 0.0;
}

void monolith_record_report(const monolith_flow *f, const mac_state *state, const flow_report *flow, step_report *out)
{
  continuum_report *c = &out->continuum;
  out->newton_iterations = flow->outer;
  out->linear_iterations = flow->p_iterations + flow->pn_iterations;
  out->fallbacks         = flow->became_unified;
  out->residual          = flow->change;
  c->cells = f->problem.n_cells, c->stresses = f->problem.n_stress;
  c->stress_iterations       = flow->s_iterations;
  c->contact_iterations      = flow->n_iterations + flow->t_iterations;
  c->error                   = flow->kkt.kkt;
  c->yield                   = flow->kkt.yield;
  c->complementarity         = flow->kkt.complementarity;
  c->contact_complementarity = flow->kkt.contact_complementarity;
  c->volume_rate             = flow->kkt.volume_rate;
  if (!state) return;
  c->excess = excess_of(f, state);
  c->volume = volume_of(f->system, &state->grid);
}
