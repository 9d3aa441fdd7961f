/* Velocities that the unknowns make, and gradients of J from them. */
#include "optim/granular/granular_impl.h"

enum { COUPLED_CHUNK = 512 };

static void sort_by_body(const flow_coupling *c, int64_t n_bodies, int64_t *start, int64_t *order)
{
  for (int64_t k = 0; k < c->n; ++k) ++start[c->body[k] + 1];
  for (int64_t r = 0; r < n_bodies; ++r) start[r + 1] += start[r];
  for (int64_t k = 0; k < c->n; ++k) order[start[c->body[k]]++] = k;
  for (int64_t r = n_bodies; r > 0; --r) start[r] = start[r - 1];
  start[0] = 0;
}

PetscErrorCode flow_coupled_create(flow_solver *S, const flow_coupling *c, flow_coupled *out)
{
  const int64_t n_bodies = S->f->n_bodies;
  int64_t      *start    = NULL;
  PetscFunctionBegin;
  *out = (flow_coupled){.c = c};
  for (int64_t k = 0; k < c->n; ++k) out->n_rows += k == 0 || c->sample[k] != c->sample[k - 1];
  PetscCall(flow_array(S, "coupled rows", out->n_rows + 1, sizeof(int64_t), &out->row_start));
  for (int64_t k = 0, row = 0; k < c->n; ++k)
    if (k == 0 || c->sample[k] != c->sample[k - 1]) out->row_start[row++] = k;
  out->row_start[out->n_rows] = c->n;

  PetscCall(flow_array(S, "coupled bodies", n_bodies + 1, sizeof(int64_t), &start));
  PetscCall(flow_array(S, "coupled order", c->n, sizeof(int64_t), &out->order));
  sort_by_body(c, n_bodies, start, out->order);
  for (int64_t b = 0; b < n_bodies; ++b) out->n_chunks += (start[b + 1] - start[b] + COUPLED_CHUNK - 1) / COUPLED_CHUNK;
  PetscCall(flow_array(S, "coupled chunks", out->n_chunks + 1, sizeof(int64_t), &out->chunk_start));
  PetscCall(flow_array(S, "coupled chunk bodies", out->n_chunks, sizeof(int32_t), &out->chunk_body));
  PetscCall(flow_array(S, "coupled parts", out->n_chunks, sizeof *out->part, &out->part));
  int64_t chunk = 0;
  for (int64_t b = 0; b < n_bodies; ++b)
    for (int64_t k = start[b]; k < start[b + 1]; k += COUPLED_CHUNK)
      out->chunk_start[chunk] = k, out->chunk_body[chunk++] = (int32_t)b;
  out->chunk_start[out->n_chunks] = c->n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

void flow_coupled_force(const flow_coupled *k, const double *restrict x, double (*wrench)[FLOW_BODY])
{
  #pragma omp parallel for schedule(static) if (k->c->n >= FLOW_PARALLEL)
  for (int64_t chunk = 0; chunk < k->n_chunks; ++chunk) {
    double sum[FLOW_BODY] = {0.0};
    for (int64_t i = k->chunk_start[chunk]; i < k->chunk_start[chunk + 1]; ++i) {
      const int64_t entry = k->order[i];
      const double  value = x[k->c->sample[entry]];
      for (int d = 0; d < FLOW_BODY; ++d) sum[d] += k->c->wrench[entry][d] * value;
    }
    memcpy(k->part[chunk], sum, sizeof sum);
  }
  for (int64_t chunk = 0; chunk < k->n_chunks; ++chunk)
    for (int d = 0; d < FLOW_BODY; ++d) wrench[k->chunk_body[chunk]][d] += k->part[chunk][d];
}

void flow_coupled_rate(const flow_coupled *k, const double *restrict v, double *restrict g)
{
  FLOW_FOR(row, k->n_rows) {
    double sum = 0.0;
    for (int64_t i = k->row_start[row]; i < k->row_start[row + 1]; ++i) {
      const double *w = k->c->wrench[i], *of = v + FLOW_BODY * k->c->body[i];
      for (int d = 0; d < FLOW_BODY; ++d) sum += w[d] * of[d];
    }
    g[k->c->sample[k->row_start[row]]] += sum;
  }
}

void flow_coupled_diagonal(const flow_problem *f, const flow_coupled *k, double *diagonal)
{
  for (int64_t i = 0; i < k->c->n; ++i) {
    double moved[FLOW_BODY] = {0.0};
    flow_mulv(f->inverse_mass[k->c->body[i]], k->c->wrench[i], moved);
    for (int d = 0; d < FLOW_BODY; ++d) diagonal[k->c->sample[i]] += k->c->wrench[i][d] * moved[d];
  }
}

void flow_push(const flow_problem *f, double sign, double (*wrench)[FLOW_BODY], double *v)
{
  for (int64_t b = 0; b < f->n_bodies; ++b) {
    double moved[FLOW_BODY] = {0.0};
    flow_mulv(f->inverse_mass[b], wrench[b], moved);
    for (int d = 0; d < FLOW_BODY; ++d) v[FLOW_BODY * b + d] += sign * moved[d];
  }
}

static void change(flow_solver *S, const sparse_rows *transposed, const flow_coupled *coupled, double sign,
                   const double *restrict d)
{
  const flow_problem *f = S->f;
  double *restrict    u = S->u;
  const double *restrict mobility = f->mobility;
  FLOW_FOR(i, f->n_faces) u[i] -= sign * mobility[i] * flow_row(transposed, i, d);
  if (coupled->n_rows == 0) return;
  flow_clear_bodies(S);
  flow_coupled_force(coupled, d, S->wrench);
  flow_push(f, sign, S->wrench, S->v);
}
void flow_change_p(flow_solver *S, double sign, const double *dp) { change(S, S->f->GT, &S->F_p, sign, dp); }
void flow_change_s(flow_solver *S, double sign, const double *ds)
{
  if (S->f->n_stress > 0) change(S, S->f->DT, &S->F_s, sign, ds);
}

void flow_contact_force(const flow_problem *f, const double *lambda, const double *z, double (*wrench)[FLOW_BODY])
{
  for (int64_t j = 0; j < f->n_contacts; ++j) {
    const flow_contact *c = &f->contact[j];
    const double force[3] = {lambda ? lambda[j] : 0.0, z ? z[2 * j] : 0.0, z ? z[2 * j + 1] : 0.0};
    for (int side = 0; side < 2; ++side)
      if (c->body[side] >= 0)
        for (int k = 0; k < 3; ++k)
          for (int d = 0; d < FLOW_BODY; ++d) wrench[c->body[side]][d] += force[k] * c->row[k][side][d];
  }
}

void flow_change_contacts(flow_solver *S, double sign, const double *d_lambda, const double *d_z)
{
  if (S->f->n_contacts == 0) return;
  flow_clear_bodies(S);
  flow_contact_force(S->f, d_lambda, d_z, S->wrench);
  flow_push(S->f, sign, S->wrench, S->v);
}

void flow_velocities(flow_solver *S)
{
  flow_copy(S->u, S->f->u_star, S->f->n_faces);
  flow_copy(S->v, S->f->v_star, FLOW_BODY * S->f->n_bodies);
  flow_change_p(S, 1.0, S->x->p);
  flow_change_s(S, 1.0, S->x->s);
  flow_change_contacts(S, 1.0, S->x->lambda, S->x->z);
}

static void gradient(flow_solver *S, const sparse_rows *rows, const flow_coupled *coupled, const double *known, double *restrict g)
{
  const flow_problem *f = S->f;
  double *restrict    wu = S->face;
  const double *restrict u = S->u, *restrict weight = f->weight;
  FLOW_FOR(i, f->n_faces) wu[i] = weight[i] * u[i];
  FLOW_FOR(i, rows->n_rows) g[i] = (known ? known[i] : 0.0) - flow_row(rows, i, wu);
  flow_coupled_rate(coupled, S->v, g);
}
void flow_gradient_p(flow_solver *S, double *g) { gradient(S, S->f->G, &S->F_p, S->f->p_known, g); }
void flow_gradient_s(flow_solver *S, double *g) { gradient(S, S->f->D, &S->F_s, S->f->s_known, g); }

void flow_gradient_contacts(const flow_problem *f, const double *v, double *g_lambda, double *g_z)
{
  for (int64_t j = 0; j < f->n_contacts; ++j) {
    const flow_contact *c = &f->contact[j];
    double rate[3] = {c->known[0], c->known[1], c->known[2]};
    for (int side = 0; side < 2; ++side)
      if (c->body[side] >= 0)
        for (int k = 0; k < 3; ++k)
          for (int d = 0; d < FLOW_BODY; ++d) rate[k] += c->row[k][side][d] * v[FLOW_BODY * c->body[side] + d];
    if (g_lambda) g_lambda[j] = rate[0];
    if (g_z) g_z[2 * j] = rate[1], g_z[2 * j + 1] = rate[2];
  }
}

void flow_radii(flow_solver *S)
{
  const double p_min = FLOW_P_MIN * S->f->pressure_scale;
  FLOW_FOR(c, S->f->n_cells) {
    const double support = S->support[c] + flow_cohesion(S->f, c);
    S->radius[c] = support > p_min ? S->alpha[c] * support : 0.0;
  }
}
