/* Contacts in the end. They are few: for the p and s at hand they are found to far more than the outer tolerance, so that Coulomb's
 * law holds of the velocities that bodies take, whatever the rest still lacks.
 *
 * Sweeps of normal and tangential forces do not do for that: tangential forces that hold each other hardly move bodies, and
 * gradients along them are as small. It is the problem of exact Coulomb friction of optim/friction, with u = W r + q, W = B
 * inverse_mass B^T and r = (lambda, z). */
#include "optim/flow/flow_settle.h"

#define TOLERANCE 1e-11 /* of the law; and, over their scales, of what the bodies' own equations change in the forces */
#define ENOUGH 1e-9     /* where quick methods end, others are tried only above this */
enum { ROUNDS = 12 };

typedef struct flow_settle {
  delassus *W;
  double   *mu, *r, *u, *q, *before; /* [n_contacts] friction, the others [n_contacts][3] */
} flow_settle;

static bool share_a_body(const flow_contact *a, const flow_contact *b)
{
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j)
      if (a->body[i] >= 0 && a->body[i] == b->body[j]) return true;
  return false;
}

/* W_ab, [9]: what a unit of each force at b does to the relative velocity at a. */
static void block(const flow_problem *f, const flow_contact *a, const flow_contact *b, double *out)
{
  for (int k = 0; k < 9; ++k) out[k] = 0.0;
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j) {
      if (a->body[i] < 0 || a->body[i] != b->body[j]) continue;
      for (int col = 0; col < 3; ++col) {
        double moved[FLOW_BODY] = {0.0};
        flow_mulv(f->inverse_mass[a->body[i]], b->row[col][j], moved);
        for (int row = 0; row < 3; ++row)
          for (int d = 0; d < FLOW_BODY; ++d) out[3 * row + col] += a->row[row][i][d] * moved[d];
      }
    }
}

static PetscErrorCode operator(flow_solver *S, flow_settle *w)
{
  const flow_problem *f = S->f;
  const int64_t       n = f->n_contacts;
  int64_t            *start, n_blocks = 0;
  int32_t            *col;
  double             *value;
  PetscFunctionBegin;
  PetscCall(flow_array(S, "flow contact blocks", n + 1, sizeof *start, &start));
  for (int64_t a = 0; a < n; ++a) {
    start[a] = n_blocks;
    for (int64_t b = 0; b < n; ++b) n_blocks += share_a_body(&f->contact[a], &f->contact[b]);
  }
  start[n] = n_blocks;
  PetscCall(flow_array(S, "flow contact blocks", n_blocks, sizeof *col, &col));
  PetscCall(flow_array(S, "flow contact blocks", 9 * n_blocks, sizeof *value, &value));
  for (int64_t a = 0, k = 0; a < n; ++a)
    for (int64_t b = 0; b < n; ++b)
      if (share_a_body(&f->contact[a], &f->contact[b])) block(f, &f->contact[a], &f->contact[b], value + 9 * k), col[k++] = (int32_t)b;
  PetscCall(delassus_create_blocks(n, start, col, value, FLOW_BODY * f->n_bodies, &w->W));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode flow_settle_create(flow_solver *S)
{
  const int64_t n = S->f->n_contacts;
  flow_settle  *w;
  PetscFunctionBegin;
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(flow_array(S, "flow settled contacts", 1, sizeof *w, &w));
  S->settle = w, w->W = NULL;
  double **const vectors[] = {&w->r, &w->u, &w->q, &w->before};
  for (size_t k = 0; k < sizeof vectors / sizeof *vectors; ++k)
    PetscCall(flow_array(S, "flow settled contacts", 3 * n, sizeof(double), vectors[k]));
  PetscCall(flow_array(S, "flow settled contacts", n, sizeof(double), &w->mu));
  for (int64_t j = 0; j < n; ++j) w->mu[j] = S->f->contact[j].mu;
  PetscCall(operator(S, w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void flow_settle_destroy(flow_solver *S)
{
  if (S->settle) delassus_destroy(&S->settle->W);
}

/* Velocities by the bodies' own equations, about the forces at hand: from round to round they miss O(dt w) of what they missed. */
static PetscErrorCode update_bodies(flow_solver *S)
{
  const flow_problem *f = S->f;
  PetscFunctionBegin;
  if (!f->update_bodies) PetscFunctionReturn(PETSC_SUCCESS);
  flow_clear_bodies(S);
  flow_coupled_force(&S->F_p, S->x->p, S->wrench);
  if (f->n_stress > 0) flow_coupled_force(&S->F_s, S->x->s, S->wrench);
  flow_contact_force(f, S->x->lambda, S->x->z, S->wrench);
  PetscCall(f->update_bodies(f->bodies_context, (const double(*)[FLOW_BODY])S->wrench));
  flow_copy(S->v, f->v_star, FLOW_BODY * f->n_bodies);
  flow_push(f, 1.0, S->wrench, S->v);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void take(const flow_state *x, int64_t n, double *r)
{
  for (int64_t j = 0; j < n; ++j) r[3 * j] = x->lambda[j], r[3 * j + 1] = x->z[2 * j], r[3 * j + 2] = x->z[2 * j + 1];
}
static void give(const double *r, int64_t n, flow_state *x)
{
  for (int64_t j = 0; j < n; ++j) x->lambda[j] = r[3 * j], x->z[2 * j] = r[3 * j + 1], x->z[2 * j + 1] = r[3 * j + 2];
}

static PetscErrorCode solve(flow_solver *S, flow_settle *w)
{
  const int64_t          n       = S->f->n_contacts;
  const friction_problem problem = {w->W, n, w->q, w->mu};
  friction_options       o       = *S->coulomb;
  friction_result        answer;
  PetscFunctionBegin;
  o.tolerance = TOLERANCE, o.enough = ENOUGH;
  flow_change_contacts(S, -1.0, S->x->lambda, S->x->z);
  flow_gradient_contacts(S->f, S->v, S->b_n, w->u); /* normal, tangential */
  for (int64_t j = 0; j < n; ++j)
    w->q[3 * j] = S->b_n[j], w->q[3 * j + 1] = w->u[2 * j], w->q[3 * j + 2] = w->u[2 * j + 1];
  PetscCall(friction_solve(&problem, &o, w->r, w->u, &answer));
  S->r->t_iterations += answer.iterations;
  give(w->r, n, S->x);
  flow_change_contacts(S, 1.0, S->x->lambda, S->x->z);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode flow_settle_contacts(flow_solver *S)
{
  flow_settle  *w = S->settle;
  const int64_t n = S->f->n_contacts;
  PetscFunctionBegin;
  if (n == 0 || !S->r->is_finite) PetscFunctionReturn(PETSC_SUCCESS);
  take(S->x, n, w->r);
  for (int k = 0; k < ROUNDS; ++k) {
    double moved = 0.0, most = S->f->contact_scale;
    flow_copy(w->before, w->r, 3 * n);
    PetscCall(update_bodies(S));
    PetscCall(solve(S, w));
    for (int64_t i = 0; i < 3 * n; ++i) moved = fmax(moved, fabs(w->r[i] - w->before[i])), most = fmax(most, fabs(w->r[i]));
    if (!S->f->update_bodies || moved <= TOLERANCE * most) break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
