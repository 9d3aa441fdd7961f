/* Couplings are divided into those of unknown bodies and known contributions of solids with prescribed motion. */
#include "sim/monolith/monolith_flow.h"
#include "core/math3.h"
#include "core/memory.h"
#include "discretize/particles/particles.h"

/* ---- couplings --------------------------------------------------------------------------------------------------------- */

static void coupling_free(monolith_coupling *c) { MEMORY_FREE(&c->sample, &c->body, &c->wrench); }

/* Split the couplings: known [n_samples] gets the contribution of solids with prescribed motion. */
static PetscErrorCode divide_couplings(const mac_coupling *all, const monolith_solids *solids, monolith_coupling *own, double *known)
{
  int64_t n = 0;
  PetscFunctionBegin;
  PetscCall(MEMORY_ALLOC("couplings of bodies", ARRAY(own->sample, all->n), ARRAY(own->body, all->n), ARRAY(own->wrench, all->n)));
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
  own->view = (granular_coupling){n, own->sample, own->body, (const double(*)[6])own->wrench};
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* wrench [.][6] += coupling times x, entry by entry in order. */
static void add_coupling(int64_t n, const int32_t *sample, const int32_t *to, const double (*row)[6], const double *x, double (*wrench)[6])
{
  for (int64_t e = 0; e < n; ++e)
    for (int j = 0; j < 6; ++j) wrench[to[e]][j] += row[e][j] * x[sample[e]];
}

void monolith_flow_wrench(const monolith_flow *f, const monolith_contacts *contacts, double (*wrench)[6])
{
  const granular_coupling *p = &f->F_p.view, *s = &f->F_s.view;
  for (int64_t r = 0; r < f->problem.n_bodies; ++r)
    for (int j = 0; j < 6; ++j) wrench[r][j] = 0.0;
  add_coupling(p->n, p->sample, p->body, p->wrench, f->x.p, wrench);
  add_coupling(s->n, s->sample, s->body, s->wrench, f->x.s, wrench);
  monolith_contacts_add(contacts, f->x.lambda, f->x.z, wrench);
}

/* ---- the problem ------------------------------------------------------------------------------------------------------- */

static PetscErrorCode allocate(monolith_flow *f)
{
  const granular_problem *q = &f->problem;
  PetscFunctionBegin;
  PetscCall(MEMORY_ALLOC("monolith flow", ARRAY(f->x.p, q->n_cells), ARRAY(f->p_known, q->n_cells), ARRAY(f->alpha, q->n_cells),
                         ARRAY(f->x.multiplier, q->n_cells), ARRAY(f->x.s, q->n_stress), ARRAY(f->s_known, q->n_stress),
                         ARRAY(f->x.lambda, q->n_contacts), ARRAY(f->x.z, 2 * q->n_contacts), ARRAY(f->x.u, q->n_faces),
                         ARRAY(f->x.v, 6 * q->n_bodies)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Scales of pressure (weight of one cell) and of contact forces (mean weight per contact). They use acceleration_scale, which is
 * 9.81 m/s^2 without gravity unless it is given. */
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
  f->problem = (granular_problem){.n_faces        = y->n_faces,
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
  PetscCall(divide_couplings(&y->F_p, solids, &f->F_p, f->p_known));
  PetscCall(divide_couplings(&y->F_s, solids, &f->F_s, f->s_known));
  for (int64_t i = 0; i < y->n_cells; ++i) f->alpha[i] = M_SQRT2 * y->friction[i];
  f->problem.F_p = f->F_p.view, f->problem.F_s = f->F_s.view;
  f->problem.p_known = f->p_known, f->problem.s_known = f->s_known;
  f->problem.alpha = f->alpha;
  set_scales(f, l, bodies);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void monolith_flow_destroy(monolith_flow *f)
{
  MEMORY_FREE(&f->x.p, &f->p_known, &f->alpha, &f->x.multiplier, &f->x.s, &f->s_known, &f->x.lambda, &f->x.z, &f->x.u, &f->x.v);
  coupling_free(&f->F_p);
  coupling_free(&f->F_s);
}

/* ==== solids ==== */

static bool is_continuum(const scene_body *b) { return b->kind->ops->carrier != NULL; }

static const contact_law *law_of(const scene *s, int i, int j) { return scene_law(s, i, j); }

/* True if j is a solid for some continuum. *one: the first continuum that it touches; -1: none. */
static bool is_solid_for_continuum(const scene *s, int j, int *one)
{
  int n = 0;
  *one  = -1;
  if (is_continuum(&s->bodies[j]) || !s->bodies[j].body->ops->level_sets) return false;
  (void)s->bodies[j].body->ops->level_sets(s->bodies[j].body, &n);
  for (int i = s->n_bodies - 1; i >= 0 && n > 0; --i)
    if (is_continuum(&s->bodies[i]) && !law_of(s, i, j)->never_touch) *one = i;
  return *one >= 0;
}

PetscErrorCode monolith_solids_check(const scene *s, diagnostics *d)
{
  PetscFunctionBegin;
  const document_node *root = s->options->root, *where = document_find(root, "contact");
  for (int j = 0; j < s->n_bodies; ++j) {
    int one;
    if (!is_solid_for_continuum(s, j, &one)) continue;
    for (int i = 0; i < s->n_bodies; ++i) {
      const contact_law *a = law_of(s, one, j), *b = law_of(s, i, j);
      if (!is_continuum(&s->bodies[i]) || (a->never_touch == b->never_touch && a->friction == b->friction)) continue;
      diagnostics_add(d, (where ? where : root)->mark, "contact.pairs",
                      "\"%s\" has different contact laws with \"%s\" and \"%s\": bodies of kind mac are one continuum on one "
                      "grid; give both the same `friction` and `contact`",
                      s->bodies[j].name, s->bodies[one].name, s->bodies[i].name);
      break;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode monolith_solids_create(const scene *s, monolith_solids *out)
{
  int one;
  PetscFunctionBegin;
  *out = (monolith_solids){0};
  PetscCall(MEMORY_ALLOC("solids", ARRAY(out->solid, s->n_bodies), ARRAY(out->unknown, s->n_bodies)));
  for (int j = 0; j < s->n_bodies; ++j) {
    if (!is_solid_for_continuum(s, j, &one)) continue;
    mac_solid *solid       = &out->solid[out->n];
    body      *b           = s->bodies[j].body;
    *solid                 = (mac_solid){.body = j, .is_unknown = body_system(b) != NULL, .friction = law_of(s, one, j)->friction};
    solid->sets            = b->ops->level_sets(b, &solid->n);
    out->unknown[out->n++] = -1;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

void monolith_solids_destroy(monolith_solids *s)
{
  MEMORY_FREE(&s->solid, &s->unknown);
  s->n = 0;
}

void monolith_solids_place(monolith_solids *s, const scene *of, const rigid_frame *frames)
{
  for (int k = 0; k < s->n; ++k) {
    const scene_body *b = &of->bodies[s->solid[k].body];
    s->solid[k].frame   = frames[b->frame];
    s->unknown[k]       = s->solid[k].is_unknown ? (int32_t)(b->body->first_block / 2) : -1;
  }
}

/* ==== record ==== */

/* The bodies of kind mac, and the share of each in the mass of every cell. */
typedef struct {
  int     n, *body; /* [n] indices in the scene */
  double *share;    /* [n_cells][n]; NULL: there is only one */
} owners;

static void owners_free(owners *o) { MEMORY_FREE(&o->body, &o->share); }

static void add_mass_shares(const mac_state *state, const particles *p, const int32_t *cell_of, int n, double *share)
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
  for (int m = 0; m < o->n; ++m) add_mass_shares(state, particles_of(s->bodies[o->body[m]].body), y->cell_of, o->n, o->share + m);
  for (int64_t i = 0; i < y->n_cells; ++i) {
    double sum = 0.0;
    for (int m = 0; m < o->n; ++m) sum += o->share[o->n * i + m];
    for (int m = 0; m < o->n; ++m) o->share[o->n * i + m] = sum > 0.0 ? o->share[o->n * i + m] / sum : m == 0;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* wrench [n_solids][n_owners][6] += coupling times x, divided by the masses in the first cell of the sample. */
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

/* Add a force and a moment about the origin of its frame, of body `from` on a solid. */
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
    while (!s->bodies[from].kind->ops->carrier || scene_law(s, from, solids->solid[k].body)->never_touch) ++from;
    PetscCall(add_wrench(&solids->solid[k], from, 1.0 / dt, impulse[k], forces));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode monolith_record_forces(const monolith_flow *f, const mac_state *state, const scene *s, const monolith_solids *solids,
                                      contact_forces *forces)
{
  owners o;
  double(*wrench)[6] = NULL;
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

/* ---- report ------------------------------------------------------------------------------------------------------------ */

/* Volume of the continuum outside of solids; for a liquid from the distances of cell centres to the surface. */
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

/* Mass in excess of the rest mass of the cells. */
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

void monolith_record_report(const monolith_flow *f, const mac_state *state, const granular_report *flow, step_report *out)
{
  out->newton_iterations = flow->outer;
  out->linear_iterations = flow->p_iterations + flow->pn_iterations;
  out->unified_solves    = flow->became_unified;
  out->residual          = flow->change;
  out->unconverged       = !flow->is_converged;
  out->pressure_unknowns = f->problem.n_cells, out->stress_unknowns = f->problem.n_stress;
  out->stress_iterations       = flow->s_iterations;
  out->contact_iterations      = flow->n_iterations + flow->t_iterations;
  out->coupling_error          = flow->kkt.kkt;
  out->yield_ratio             = flow->kkt.yield;
  out->complementarity         = flow->kkt.complementarity;
  out->contact_complementarity = flow->kkt.contact_complementarity;
  out->volume_rate             = flow->kkt.volume_rate;
  if (!state) return;
  out->excess_mass_fraction = excess_of(f, state);
  out->volume               = volume_of(f->system, &state->grid);
}
