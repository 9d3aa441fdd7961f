/* What a solve holds: its memory, the fixed parts of its matrices, and a look at the input before anything is done. */
#include "optim/granular/granular_impl.h"
#include <inttypes.h>

enum { FIRST_CHUNK = 1 << 20 };

struct flow_work {
  arena                  *memory;
  document               *owner; /* of coulomb */
  const friction_options *coulomb;
};

PetscErrorCode flow_work_create(flow_work **out)
{
  PetscFunctionBegin;
  *out = NULL;
  PetscCall(memory_alloc("flow work", 1, sizeof **out, out));
  PetscErrorCode code = arena_create(FIRST_CHUNK, &(*out)->memory);
  if (!code) code = document_create(&(*out)->owner);
  if (!code) code = friction_options_defaults((*out)->owner, &(*out)->coulomb);
  if (code) flow_work_destroy(out);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
void flow_work_destroy(flow_work **w)
{
  if (!*w) return;
  arena_destroy(&(*w)->memory);
  document_destroy(&(*w)->owner);
  memory_free(w);
}
arena *flow_work_memory(flow_work *w)
{
  arena_reset(w->memory);
  return w->memory;
}

const friction_options *flow_work_coulomb(const flow_work *w) { return w->coulomb; }

PetscErrorCode flow_array(flow_solver *S, const char *tag, int64_t n, size_t size, void *out)
{
  PetscFunctionBegin;
  PetscCall(arena_alloc(S->memory, tag, n, size, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode check_finite(const char *name, int64_t n, const double *x)
{
  PetscFunctionBegin;
  const int64_t bad = x ? team_first_not_finite(n, x) : n;
  PetscCheck(bad == n, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "flow: %s[%" PRId64 "] is not a finite number", name, bad);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode check_coupling(const char *name, const flow_coupling *c, int64_t n_samples, int64_t n_bodies)
{
  PetscFunctionBegin;
  for (int64_t k = 0; k < c->n; ++k) {
    PetscCheck(c->sample[k] >= 0 && c->sample[k] < n_samples && c->body[k] >= 0 && c->body[k] < n_bodies, PETSC_COMM_SELF,
               PETSC_ERR_USER_INPUT,
               "flow: entry %" PRId64 " of %s couples sample %" PRId32 " of %" PRId64 " with body %" PRId32 " of %" PRId64, k, name,
               c->sample[k], n_samples, c->body[k], n_bodies);
    PetscCheck(k == 0 || c->sample[k] >= c->sample[k - 1], PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
               "flow: entry %" PRId64 " of %s has sample %" PRId32 " after %" PRId32 "; samples must not fall", k, name,
               c->sample[k], c->sample[k - 1]);
  }
  PetscCall(check_finite(name, c->n * FLOW_BODY, c->n ? c->wrench[0] : NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode check(const flow_problem *f)
{
  PetscFunctionBegin;
  PetscCheck(f->G->n_rows == f->n_cells && f->G->n_cols == f->n_faces && f->GT->n_rows == f->n_faces && f->GT->n_cols == f->n_cells,
             PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "flow: G has %" PRId64 " rows and %" PRId64 " columns, expected %" PRId64 " cells and %" PRId64 " faces", f->G->n_rows,
             f->G->n_cols, f->n_cells, f->n_faces);
  PetscCheck(f->n_stress == 0 || (f->D->n_rows == f->n_stress && f->D->n_cols == f->n_faces && f->DT->n_rows == f->n_faces),
             PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "flow: D does not fit the %" PRId64 " stress samples and %" PRId64 " faces",
             f->n_stress, f->n_faces);
  PetscCheck(f->is_staggered || f->n_stress == 0 || f->n_stress == FLOW_COMPONENTS * f->n_cells, PETSC_COMM_SELF,
             PETSC_ERR_USER_INPUT, "flow: %" PRId64 " stress samples at %" PRId64 " cells, expected 5 a cell or none", f->n_stress,
             f->n_cells);
  PetscCall(check_finite("u*", f->n_faces, f->u_star));
  PetscCall(check_finite("v*", FLOW_BODY * f->n_bodies, f->v_star));
  PetscCall(check_finite("mobility", f->n_faces, f->mobility));
  PetscCall(check_finite("weight", f->n_faces, f->weight));
  for (int64_t i = 0; i < f->n_faces; ++i)
    PetscCheck(f->mobility[i] > 0.0 && f->weight[i] >= 0.0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
               "flow: face %" PRId64 " has mobility %g and weight %g, expected > 0 and >= 0", i, f->mobility[i], f->weight[i]);
  PetscCall(check_coupling("F_p", &f->F_p, f->n_cells, f->n_bodies));
  PetscCall(check_coupling("F_s", &f->F_s, f->n_stress, f->n_bodies));
  for (int64_t j = 0; j < f->n_contacts; ++j)
    PetscCheck(f->contact[j].body[0] < f->n_bodies && f->contact[j].body[1] < f->n_bodies && f->contact[j].mu >= 0.0,
               PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
               "flow: contact %" PRId64 " is between bodies %" PRId32 " and %" PRId32 " of %" PRId64 " and has mu = %g", j,
               f->contact[j].body[0], f->contact[j].body[1], f->n_bodies, f->contact[j].mu);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* diag of (rows) diag(face_weight) (rows)^T */
static void diagonal_of(const sparse_rows *rows, const double *face_weight, double *diagonal)
{
  FLOW_FOR(i, rows->n_rows) {
    double sum = 0.0;
    for (int64_t k = rows->start[i]; k < rows->start[i + 1]; ++k)
      sum += rows->value[k] * rows->value[k] * face_weight[rows->col[k]];
    diagonal[i] = sum;
  }
}

static PetscErrorCode create_contacts(flow_solver *S)
{
  const flow_problem *f = S->f;
  PetscFunctionBegin;
  PetscCall(flow_array(S, "flow b of lambda", f->n_contacts, sizeof(double), &S->b_n));
  PetscCall(flow_array(S, "flow diagonal of lambda", f->n_contacts, sizeof(double), &S->diagonal_n));
  PetscCall(flow_array(S, "flow shifted diagonal", f->n_contacts, sizeof(double), &S->shifted_n));
  PetscCall(flow_array(S, "flow bounds of lambda", f->n_contacts, sizeof(double), &S->lo_n));
  PetscCall(flow_array(S, "flow diagonal of z", f->n_contacts, sizeof(double), &S->diagonal_t));
  for (int64_t j = 0; j < f->n_contacts; ++j) {
    double sum[3] = {0.0};
    for (int side = 0; side < 2; ++side)
      if (f->contact[j].body[side] >= 0)
        for (int k = 0; k < 3; ++k) {
          double moved[FLOW_BODY] = {0.0};
          flow_mulv(f->inverse_mass[f->contact[j].body[side]], f->contact[j].row[k][side], moved);
          for (int d = 0; d < FLOW_BODY; ++d) sum[k] += f->contact[j].row[k][side][d] * moved[d];
        }
    PetscCheck(sum[0] > 0.0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
               "flow: contact %" PRId64 " cannot be pushed apart: both bodies are prescribed", j);
    S->diagonal_n[j] = sum[0], S->shifted_n[j] = (1.0 + FLOW_REDUNDANT) * sum[0], S->diagonal_t[j] = 0.5 * (sum[1] + sum[2]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode create_pressure(flow_solver *S)
{
  const flow_problem *f = S->f;
  PetscFunctionBegin;
  PetscCall(grid_matrix_create(f->G, f->GT, S->face_weight, f->ijk, &S->A_pp));
  PetscCall(flow_array(S, "flow lower bound", f->n_cells, sizeof(double), &S->lo_p));
  PetscCall(flow_array(S, "flow b of p", f->n_cells, sizeof(double), &S->b_p));
  PetscCall(flow_array(S, "flow diagonal of p", f->n_cells, sizeof(double), &S->diagonal_p));
  flow_copy(S->diagonal_p, S->A_pp.diagonal, f->n_cells);
  flow_coupled_diagonal(f, &S->F_p, S->diagonal_p);
  for (int64_t c = 0; c < f->n_cells; ++c) S->lo_p[c] = -flow_cohesion(f, c);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode flow_solver_create(flow_solver *S, const flow_problem *f, const flow_options *o, arena *memory, flow_state *x,
                                  flow_report *r)
{
  PetscFunctionBegin;
  *S = (flow_solver){.f = f, .o = o, .memory = memory, .x = x, .r = r, .u = x->u, .v = x->v};
  PetscCall(check(f));
  PetscCall(check_finite("p", f->n_cells, x->p));
  PetscCall(check_finite("s", f->n_stress, x->s));
  PetscCall(check_finite("lambda", f->n_contacts, x->lambda));
  PetscCall(check_finite("z", 2 * f->n_contacts, x->z));
  PetscCall(flow_array(S, "flow face weights", f->n_faces, sizeof(double), &S->face_weight));
  for (int64_t i = 0; i < f->n_faces; ++i) S->face_weight[i] = f->weight[i] * f->mobility[i];
  PetscCall(flow_array(S, "flow faces", f->n_faces, sizeof(double), &S->face));
  PetscCall(flow_array(S, "flow wrenches", f->n_bodies, sizeof *S->wrench, &S->wrench));
  PetscCall(flow_array(S, "flow rates", FLOW_BODY * f->n_bodies, sizeof(double), &S->rate));
  PetscCall(flow_coupled_create(S, &f->F_p, &S->F_p));
  PetscCall(flow_coupled_create(S, &f->F_s, &S->F_s));
  PetscCall(flow_array(S, "flow alpha", f->n_cells, sizeof(double), &S->alpha));
  PetscCall(flow_array(S, "flow radii", f->n_cells, sizeof(double), &S->radius));
  PetscCall(flow_support_create(S));
  if (f->alpha) flow_copy(S->alpha, f->alpha, f->n_cells);
  PetscCall(create_contacts(S));
  PetscCall(create_pressure(S));
  PetscCall(flow_array(S, "flow diagonal of s", f->n_stress, sizeof(double), &S->diagonal_s));
  PetscCall(flow_array(S, "flow gradient of s", f->n_stress, sizeof(double), &S->g_s));
  if (f->n_stress > 0) {
    diagonal_of(f->D, S->face_weight, S->diagonal_s);
    flow_coupled_diagonal(f, &S->F_s, S->diagonal_s);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

void flow_solver_destroy(flow_solver *S)
{
  grid_matrix_destroy(&S->A_pp);
  anderson_destroy(&S->past);
}
