/* Implementation: couplings with bodies, velocities and gradients of J, the support, then validation and setup of a solve. */
#include "optim/granular/granular_state.h"
#include <inttypes.h>

enum { COUPLED_CHUNK = 512 };

static void sort_by_body(const granular_coupling *c, int64_t n_bodies, int64_t *start, int64_t *order)
{
  for (int64_t k = 0; k < c->n; ++k) ++start[c->body[k] + 1];
  for (int64_t r = 0; r < n_bodies; ++r) start[r + 1] += start[r];
  for (int64_t k = 0; k < c->n; ++k) order[start[c->body[k]]++] = k;
  for (int64_t r = n_bodies; r > 0; --r) start[r] = start[r - 1];
  start[0] = 0;
}

PetscErrorCode granular_coupled_create(granular_solver *S, const granular_coupling *c, granular_coupled *out)
{
  const int64_t n_bodies = S->f->n_bodies;
  int64_t      *start    = NULL;
  PetscFunctionBegin;
  *out = (granular_coupled){.c = c};
  for (int64_t k = 0; k < c->n; ++k) out->n_rows += k == 0 || c->sample[k] != c->sample[k - 1];
  PetscCall(arena_alloc(S->memory, "coupled rows", out->n_rows + 1, sizeof(int64_t), &out->row_start));
  for (int64_t k = 0, row = 0; k < c->n; ++k)
    if (k == 0 || c->sample[k] != c->sample[k - 1]) out->row_start[row++] = k;
  out->row_start[out->n_rows] = c->n;

  PetscCall(ARENA_ALLOC(S->memory, "granular state", ARRAY(start, n_bodies + 1), ARRAY(out->order, c->n)));
  sort_by_body(c, n_bodies, start, out->order);
  for (int64_t b = 0; b < n_bodies; ++b) out->n_chunks += (start[b + 1] - start[b] + COUPLED_CHUNK - 1) / COUPLED_CHUNK;
  PetscCall(ARENA_ALLOC(S->memory, "granular state", ARRAY(out->chunk_start, out->n_chunks + 1), ARRAY(out->chunk_body, out->n_chunks),
                        ARRAY(out->part, out->n_chunks)));
  int64_t chunk = 0;
  for (int64_t b = 0; b < n_bodies; ++b)
    for (int64_t k = start[b]; k < start[b + 1]; k += COUPLED_CHUNK) out->chunk_start[chunk] = k, out->chunk_body[chunk++] = (int32_t)b;
  out->chunk_start[out->n_chunks] = c->n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

void granular_coupled_force(const granular_coupled *k, const double *restrict x, double (*wrench)[GRANULAR_BODY])
{
#pragma omp parallel for schedule(static) if (k->c->n >= GRANULAR_PARALLEL)
  for (int64_t chunk = 0; chunk < k->n_chunks; ++chunk) {
    double sum[GRANULAR_BODY] = {0.0};
    for (int64_t i = k->chunk_start[chunk]; i < k->chunk_start[chunk + 1]; ++i) {
      const int64_t entry = k->order[i];
      const double  value = x[k->c->sample[entry]];
      for (int d = 0; d < GRANULAR_BODY; ++d) sum[d] += k->c->wrench[entry][d] * value;
    }
    memcpy(k->part[chunk], sum, sizeof sum);
  }
  for (int64_t chunk = 0; chunk < k->n_chunks; ++chunk)
    for (int d = 0; d < GRANULAR_BODY; ++d) wrench[k->chunk_body[chunk]][d] += k->part[chunk][d];
}

void granular_coupled_rate(const granular_coupled *k, const double *restrict v, double *restrict g)
{
  GRANULAR_FOR(row, k->n_rows)
  {
    double sum = 0.0;
    for (int64_t i = k->row_start[row]; i < k->row_start[row + 1]; ++i) {
      const double *w = k->c->wrench[i], *of = v + GRANULAR_BODY * k->c->body[i];
      for (int d = 0; d < GRANULAR_BODY; ++d) sum += w[d] * of[d];
    }
    g[k->c->sample[k->row_start[row]]] += sum;
  }
}

void granular_coupled_diagonal(const granular_problem *f, const granular_coupled *k, double *diagonal)
{
  for (int64_t i = 0; i < k->c->n; ++i) {
    double moved[GRANULAR_BODY] = {0.0};
    granular_add_matrix_product(f->inverse_mass[k->c->body[i]], k->c->wrench[i], moved);
    for (int d = 0; d < GRANULAR_BODY; ++d) diagonal[k->c->sample[i]] += k->c->wrench[i][d] * moved[d];
  }
}

void granular_apply_wrench(const granular_problem *f, double sign, double (*wrench)[GRANULAR_BODY], double *v)
{
  for (int64_t b = 0; b < f->n_bodies; ++b) {
    double moved[GRANULAR_BODY] = {0.0};
    granular_add_matrix_product(f->inverse_mass[b], wrench[b], moved);
    for (int d = 0; d < GRANULAR_BODY; ++d) v[GRANULAR_BODY * b + d] += sign * moved[d];
  }
}

static void apply_change(granular_solver *S, const sparse_rows *transposed, const granular_coupled *coupled, double sign,
                         const double *restrict d)
{
  const granular_problem *f       = S->f;
  double *restrict u              = S->u;
  const double *restrict mobility = f->mobility;
  GRANULAR_FOR(i, f->n_faces) u[i] -= sign * mobility[i] * granular_row(transposed, i, d);
  if (coupled->n_rows == 0) return;
  granular_clear_bodies(S);
  granular_coupled_force(coupled, d, S->wrench);
  granular_apply_wrench(f, sign, S->wrench, S->v);
}
void granular_change_p(granular_solver *S, double sign, const double *dp) { apply_change(S, S->f->GT, &S->F_p, sign, dp); }
void granular_change_s(granular_solver *S, double sign, const double *ds)
{
  if (S->f->n_stress > 0) apply_change(S, S->f->DT, &S->F_s, sign, ds);
}

void granular_contact_force(const granular_problem *f, const double *lambda, const double *z, double (*wrench)[GRANULAR_BODY])
{
  for (int64_t j = 0; j < f->n_contacts; ++j) {
    const granular_contact *c        = &f->contact[j];
    const double            force[3] = {lambda ? lambda[j] : 0.0, z ? z[2 * j] : 0.0, z ? z[2 * j + 1] : 0.0};
    for (int side = 0; side < 2; ++side)
      if (c->body[side] >= 0)
        for (int k = 0; k < 3; ++k)
          for (int d = 0; d < GRANULAR_BODY; ++d) wrench[c->body[side]][d] += force[k] * c->row[k][side][d];
  }
}

void granular_change_contacts(granular_solver *S, double sign, const double *d_lambda, const double *d_z)
{
  if (S->f->n_contacts == 0) return;
  granular_clear_bodies(S);
  granular_contact_force(S->f, d_lambda, d_z, S->wrench);
  granular_apply_wrench(S->f, sign, S->wrench, S->v);
}

void granular_velocities(granular_solver *S)
{
  granular_copy(S->u, S->f->u_star, S->f->n_faces);
  granular_copy(S->v, S->f->v_star, GRANULAR_BODY * S->f->n_bodies);
  granular_change_p(S, 1.0, S->x->p);
  granular_change_s(S, 1.0, S->x->s);
  granular_change_contacts(S, 1.0, S->x->lambda, S->x->z);
}

static void compute_gradient(granular_solver *S, const sparse_rows *rows, const granular_coupled *coupled, const double *known,
                             double *restrict g)
{
  const granular_problem *f = S->f;
  double *restrict wu       = S->face;
  const double *restrict u = S->u, *restrict weight = f->weight;
  GRANULAR_FOR(i, f->n_faces) wu[i]  = weight[i] * u[i];
  GRANULAR_FOR(i, rows->n_rows) g[i] = (known ? known[i] : 0.0) - granular_row(rows, i, wu);
  granular_coupled_rate(coupled, S->v, g);
}
void granular_gradient_p(granular_solver *S, double *g) { compute_gradient(S, S->f->G, &S->F_p, S->f->p_known, g); }
void granular_gradient_s(granular_solver *S, double *g) { compute_gradient(S, S->f->D, &S->F_s, S->f->s_known, g); }

void granular_gradient_contacts(const granular_problem *f, const double *v, double *g_lambda, double *g_z)
{
  for (int64_t j = 0; j < f->n_contacts; ++j) {
    const granular_contact *c       = &f->contact[j];
    double                  rate[3] = {c->known[0], c->known[1], c->known[2]};
    for (int side = 0; side < 2; ++side)
      if (c->body[side] >= 0)
        for (int k = 0; k < 3; ++k)
          for (int d = 0; d < GRANULAR_BODY; ++d) rate[k] += c->row[k][side][d] * v[GRANULAR_BODY * c->body[side] + d];
    if (g_lambda) g_lambda[j] = rate[0];
    if (g_z) g_z[2 * j] = rate[1], g_z[2 * j + 1] = rate[2];
  }
}

void granular_radii(granular_solver *S)
{
  const double p_min = GRANULAR_P_MIN * S->f->pressure_scale;
  GRANULAR_FOR(c, S->f->n_cells)
  {
    const double support = S->support[c] + granular_cohesion(S->f, c);
    S->radius[c]         = support > p_min ? S->alpha[c] * support : 0.0;
  }
}

/* The support is the pressure whose cone bounds the stress. An outer iteration maps the support to a new pressure p; the solution is
 * a fixed point of this map.
 *
 * Plain iteration (support = p) converges slowly where arches form: more pressure carries more weight, one percent more in each
 * iteration. In a silo this lowers the pressure below, and the iterations overshoot. If the stress solver ends in the cone of the
 * support, the support is therefore extrapolated (Anderson). The published stress solvers do not end in the cone and keep multipliers
 * between iterations. For them the support moves by one half, later by one quarter of the distance to p, once the change has grown
 * GROWN_HALF or GROWN_QUARTER times. None of this changes the fixed points. */
enum { MEMORY = 5 };
enum { GROWN_HALF = 2, GROWN_QUARTER = 10 }; /* see n_grown */
#define MIXED 0.7                            /* damping: fraction of p - support; 0.5 is slower in heaps, 1 does not converge in silos */
#define SHRINK_MOST                                                                                                                        \
  0.7 /* bounds of the extrapolated support over damped_support: this and its inverse; from a support of 0 there is no return */
/* Iterations without a smaller max |p - support| after which the support moves by the fraction PLAIN towards p, without extrapolation, until the error is
 * smaller again. Sand in a rotating drum: the extrapolated iteration remains at an error of 0.03 p_max for 200 iterations, in steps of any length. With
 * PLAIN 0.3, 0.4, 0.5 and 0.7 it converges to 1e-3 after about 110 iterations. In a silo 0.3 and 0.4 converge, 0.5 does not. */
enum { IDLE_MAX = 25 };
#define PLAIN 0.4
#define WORSE_MAX 2.0 /* ratio of max |p - support| to its smallest value above which the Anderson history is cleared */

PetscErrorCode granular_support_create(granular_solver *S)
{
  PetscFunctionBegin;
  PetscCall(ARENA_ALLOC(S->memory, "granular state", ARRAY(S->support, S->f->n_cells), ARRAY(S->damped_support, S->f->n_cells),
                        ARRAY(S->one, S->f->n_cells)));
  for (int64_t c = 0; c < S->f->n_cells; ++c) S->one[c] = 1.0;
  granular_copy(S->support, S->x->p, S->f->n_cells);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode granular_support_start(granular_solver *S, bool is_accelerated)
{
  PetscFunctionBegin;
  if (is_accelerated && !S->past.f) PetscCall(anderson_create(S->f->n_cells, MEMORY, &S->past));
  anderson_reset(&S->past);
  S->is_accelerated = is_accelerated, S->min_support_error = S->least_support_error = INFINITY, S->n_grown = 0, S->n_idle = 0;
  granular_copy(S->support, S->x->p, S->f->n_cells);
  PetscFunctionReturn(PETSC_SUCCESS);
}

double granular_support_error(const granular_solver *S) { return team_max_difference(S->f->n_cells, S->x->p, S->support); }

static void extrapolate_support(granular_solver *S)
{
  const double miss      = granular_support_error(S);
  S->n_idle              = miss < S->least_support_error ? 0 : S->n_idle + 1;
  S->least_support_error = fmin(S->least_support_error, miss);
  if (S->n_idle >= IDLE_MAX) {
    anderson_reset(&S->past);
    GRANULAR_FOR(c, S->f->n_cells) S->support[c] += PLAIN * (S->x->p[c] - S->support[c]);
    return;
  }
  if (miss > WORSE_MAX * S->min_support_error) {
    anderson_reset(&S->past);
    S->min_support_error = miss;
  }
  S->min_support_error                                = fmin(S->min_support_error, miss);
  GRANULAR_FOR(c, S->f->n_cells) S->damped_support[c] = S->support[c] + MIXED * (S->x->p[c] - S->support[c]);
  anderson_step(&S->past, S->support, S->damped_support, S->one, S->support);
  GRANULAR_FOR(c, S->f->n_cells)
  {
    const double lo = S->lo_p[c], size = S->damped_support[c] - lo;
    S->support[c] = lo + fmin(size / SHRINK_MOST, fmax(SHRINK_MOST * size, S->support[c] - lo));
  }
}

void granular_support_update(granular_solver *S, double apply_change, double before, bool is_next_last)
{
  S->n_grown += apply_change > before;
  if (S->is_accelerated && !is_next_last) extrapolate_support(S);
  else {
    const double part = S->is_accelerated || S->n_grown < GROWN_HALF ? 1.0 : S->n_grown < GROWN_QUARTER ? 0.5 : 0.25;
    GRANULAR_FOR(c, S->f->n_cells) S->support[c] = part < 1.0 ? S->support[c] + part * (S->x->p[c] - S->support[c]) : S->x->p[c];
  }
}

/* Setup of a solve: memory, constant parts of the matrices, validation of the input. */

static PetscErrorCode check_finite(const char *name, int64_t n, const double *x)
{
  PetscFunctionBegin;
  const int64_t bad = x ? team_first_not_finite(n, x) : n;
  PetscCheck(bad == n, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "granular solver: %s[%" PRId64 "] is not a finite number", name, bad);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode check_coupling(const char *name, const granular_coupling *c, int64_t n_samples, int64_t n_bodies)
{
  PetscFunctionBegin;
  for (int64_t k = 0; k < c->n; ++k) {
    PetscCheck(c->sample[k] >= 0 && c->sample[k] < n_samples && c->body[k] >= 0 && c->body[k] < n_bodies, PETSC_COMM_SELF,
               PETSC_ERR_USER_INPUT,
               "granular solver: entry %" PRId64 " of %s couples sample %" PRId32 " of %" PRId64 " with body %" PRId32 " of %" PRId64, k,
               name, c->sample[k], n_samples, c->body[k], n_bodies);
    PetscCheck(k == 0 || c->sample[k] >= c->sample[k - 1], PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
               "granular solver: entry %" PRId64 " of %s has sample %" PRId32 " after %" PRId32 "; samples must be in ascending order", k,
               name, c->sample[k], c->sample[k - 1]);
  }
  PetscCall(check_finite(name, c->n * GRANULAR_BODY, c->n ? c->wrench[0] : NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode validate_problem(const granular_problem *f)
{
  PetscFunctionBegin;
  PetscCheck(f->G->n_rows == f->n_cells && f->G->n_cols == f->n_faces && f->GT->n_rows == f->n_faces && f->GT->n_cols == f->n_cells,
             PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "granular solver: G has %" PRId64 " rows and %" PRId64 " columns, expected %" PRId64 " cells and %" PRId64 " faces",
             f->G->n_rows, f->G->n_cols, f->n_cells, f->n_faces);
  PetscCheck(f->n_stress == 0 || (f->D->n_rows == f->n_stress && f->D->n_cols == f->n_faces && f->DT->n_rows == f->n_faces),
             PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "granular solver: D does not fit the %" PRId64 " stress samples and %" PRId64 " faces",
             f->n_stress, f->n_faces);
  PetscCheck(f->is_staggered || f->n_stress == 0 || f->n_stress == GRANULAR_COMPONENTS * f->n_cells, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "granular solver: %" PRId64 " stress samples at %" PRId64 " cells, expected 5 a cell or none", f->n_stress, f->n_cells);
  PetscCall(check_finite("u*", f->n_faces, f->u_star));
  PetscCall(check_finite("v*", GRANULAR_BODY * f->n_bodies, f->v_star));
  PetscCall(check_finite("mobility", f->n_faces, f->mobility));
  PetscCall(check_finite("weight", f->n_faces, f->weight));
  for (int64_t i = 0; i < f->n_faces; ++i)
    PetscCheck(f->mobility[i] > 0.0 && f->weight[i] >= 0.0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
               "granular solver: face %" PRId64 " has mobility %g and weight %g, expected > 0 and >= 0", i, f->mobility[i], f->weight[i]);
  PetscCall(check_coupling("F_p", &f->F_p, f->n_cells, f->n_bodies));
  PetscCall(check_coupling("F_s", &f->F_s, f->n_stress, f->n_bodies));
  for (int64_t j = 0; j < f->n_contacts; ++j)
    PetscCheck(f->contact[j].body[0] < f->n_bodies && f->contact[j].body[1] < f->n_bodies && f->contact[j].mu >= 0.0, PETSC_COMM_SELF,
               PETSC_ERR_USER_INPUT,
               "granular solver: contact %" PRId64 " is between bodies %" PRId32 " and %" PRId32 " of %" PRId64 " and has mu = %g", j,
               f->contact[j].body[0], f->contact[j].body[1], f->n_bodies, f->contact[j].mu);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* diag of (rows) diag(face_weight) (rows)^T */
static void compute_row_diagonal(const sparse_rows *rows, const double *face_weight, double *diagonal)
{
  GRANULAR_FOR(i, rows->n_rows)
  {
    double sum = 0.0;
    for (int64_t k = rows->start[i]; k < rows->start[i + 1]; ++k) sum += rows->value[k] * rows->value[k] * face_weight[rows->col[k]];
    diagonal[i] = sum;
  }
}

static PetscErrorCode create_contacts(granular_solver *S)
{
  const granular_problem *f = S->f;
  PetscFunctionBegin;
  PetscCall(ARENA_ALLOC(S->memory, "granular state", ARRAY(S->b_n, f->n_contacts), ARRAY(S->diagonal_n, f->n_contacts),
                        ARRAY(S->shifted_n, f->n_contacts), ARRAY(S->lo_n, f->n_contacts), ARRAY(S->diagonal_t, f->n_contacts)));
  for (int64_t j = 0; j < f->n_contacts; ++j) {
    double sum[3] = {0.0};
    for (int side = 0; side < 2; ++side)
      if (f->contact[j].body[side] >= 0)
        for (int k = 0; k < 3; ++k) {
          double moved[GRANULAR_BODY] = {0.0};
          granular_add_matrix_product(f->inverse_mass[f->contact[j].body[side]], f->contact[j].row[k][side], moved);
          for (int d = 0; d < GRANULAR_BODY; ++d) sum[k] += f->contact[j].row[k][side][d] * moved[d];
        }
    PetscCheck(sum[0] > 0.0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
               "granular solver: contact %" PRId64 " is between two prescribed bodies; at least one velocity must be unknown", j);
    S->diagonal_n[j] = sum[0], S->shifted_n[j] = (1.0 + GRANULAR_REDUNDANT) * sum[0], S->diagonal_t[j] = 0.5 * (sum[1] + sum[2]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode create_pressure(granular_solver *S)
{
  const granular_problem *f = S->f;
  PetscFunctionBegin;
  PetscCall(grid_matrix_create(f->G, f->GT, S->face_weight, f->ijk, &S->A_pp));
  PetscCall(
      ARENA_ALLOC(S->memory, "granular state", ARRAY(S->lo_p, f->n_cells), ARRAY(S->b_p, f->n_cells), ARRAY(S->diagonal_p, f->n_cells)));
  granular_copy(S->diagonal_p, S->A_pp.diagonal, f->n_cells);
  granular_coupled_diagonal(f, &S->F_p, S->diagonal_p);
  for (int64_t c = 0; c < f->n_cells; ++c) S->lo_p[c] = -granular_cohesion(f, c);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode granular_solver_create(granular_solver *S, const granular_problem *f, const granular_options *o, arena *memory,
                                      granular_state *x, granular_report *r)
{
  PetscFunctionBegin;
  *S = (granular_solver){.f = f, .o = o, .memory = memory, .x = x, .r = r, .u = x->u, .v = x->v};
  PetscCall(validate_problem(f));
  PetscCall(check_finite("p", f->n_cells, x->p));
  PetscCall(check_finite("s", f->n_stress, x->s));
  PetscCall(check_finite("lambda", f->n_contacts, x->lambda));
  PetscCall(check_finite("z", 2 * f->n_contacts, x->z));
  PetscCall(arena_alloc(S->memory, "granular face weights", f->n_faces, sizeof(double), &S->face_weight));
  for (int64_t i = 0; i < f->n_faces; ++i) S->face_weight[i] = f->weight[i] * f->mobility[i];
  PetscCall(ARENA_ALLOC(S->memory, "granular state", ARRAY(S->face, f->n_faces), ARRAY(S->wrench, f->n_bodies),
                        ARRAY(S->rate, GRANULAR_BODY * f->n_bodies)));
  PetscCall(granular_coupled_create(S, &f->F_p, &S->F_p));
  PetscCall(granular_coupled_create(S, &f->F_s, &S->F_s));
  PetscCall(ARENA_ALLOC(S->memory, "granular state", ARRAY(S->alpha, f->n_cells), ARRAY(S->radius, f->n_cells)));
  PetscCall(granular_support_create(S));
  if (f->alpha) granular_copy(S->alpha, f->alpha, f->n_cells);
  PetscCall(create_contacts(S));
  PetscCall(create_pressure(S));
  PetscCall(ARENA_ALLOC(S->memory, "granular state", ARRAY(S->diagonal_s, f->n_stress), ARRAY(S->g_s, f->n_stress)));
  if (f->n_stress > 0) {
    compute_row_diagonal(f->D, S->face_weight, S->diagonal_s);
    granular_coupled_diagonal(f, &S->F_s, S->diagonal_s);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

void granular_solver_destroy(granular_solver *S)
{
  grid_matrix_destroy(&S->A_pp);
  anderson_destroy(&S->past);
}
