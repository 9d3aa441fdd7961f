/* After the outer iterations the contacts are solved again, for the current p and s and to a much smaller tolerance. The cost is low,
 * because contacts are few. The final body velocities then satisfy Coulomb's law, for any residual of the continuum.
 *
 * Alternating solves for normal and tangential forces cannot reach this accuracy: self-balanced tangential forces hardly move bodies,
 * so their gradients are small. Therefore optim/friction solves the contacts as exact Coulomb friction, with u = W r + q,
 * W = B inverse_mass B^T and r = (lambda, z).
 *
 * Only a few of thousands of candidate contacts carry force. W couples all contacts of a body and would be a full matrix. Therefore the
 * problem is restricted to contacts that carry force or would penetrate. Contacts that would penetrate under its solution are added,
 * until there are none. All other contacts have no force and separate. */
#include "optim/granular/granular_settle.h"
#include "core/memory.h"
#include "optim/friction/friction.h"
#include <math.h>

#define TOLERANCE 1e-11 /* of the friction problem; also of the relative change of the forces by one update of the bodies' velocities */
#define ENOUGH 1e-9     /* accepted residual of fast friction methods; slower methods are tried only above it */
enum { ROUNDS = 12, MAX_ADDITIONS = 50 };

typedef struct granular_settle {
  int64_t   n_part;
  int64_t  *part;           /* [n_part] contacts of the reduced problem, ascending */
  bool     *is_in;          /* [n_contacts] whether a contact is in the reduced problem */
  delassus *W;              /* of the reduced problem; NULL: not created yet */
  double   *mu, *r, *u, *q; /* of the reduced problem: [n_part] mu, [n_part][3] r, u, q; allocated for all contacts */
  double   *g_n, *g_z;      /* [n_contacts] opening velocity, [n_contacts][2] sliding velocity */
  double   *own;            /* [n_contacts] diagonal of W: opening velocity by a unit of the contact's own normal force */
  double   *before, *now;   /* [n_contacts][3] forces before and after a round */
} granular_settle;

static bool share_a_body(const granular_contact *a, const granular_contact *b)
{
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j)
      if (a->body[i] >= 0 && a->body[i] == b->body[j]) return true;
  return false;
}

/* Block W_ab, [9]: change of the relative velocity at contact a by unit forces at contact b. */
static void fill_block(const granular_problem *f, const granular_contact *a, const granular_contact *b, double *out)
{
  for (int k = 0; k < 9; ++k) out[k] = 0.0;
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j) {
      if (a->body[i] < 0 || a->body[i] != b->body[j]) continue;
      for (int col = 0; col < 3; ++col) {
        double moved[GRANULAR_BODY] = {0.0};
        granular_add_matrix_product(f->inverse_mass[a->body[i]], b->row[col][j], moved);
        for (int row = 0; row < 3; ++row)
          for (int d = 0; d < GRANULAR_BODY; ++d) out[3 * row + col] += a->row[row][i][d] * moved[d];
      }
    }
}

static PetscErrorCode fill_reduced_operator(granular_solver *S, granular_settle *w, int64_t *start, int32_t *col, double *value)
{
  const granular_problem *f = S->f;
  PetscFunctionBegin;
  for (int64_t a = 0, k = 0; a < w->n_part; ++a)
    for (int64_t b = 0; b < w->n_part; ++b) {
      const granular_contact *at = &f->contact[w->part[a]], *of = &f->contact[w->part[b]];
      if (share_a_body(at, of)) fill_block(f, at, of, value + 9 * k), col[k++] = (int32_t)b;
    }
  PetscCall(delassus_create_blocks(w->n_part, start, col, value, GRANULAR_BODY * f->n_bodies, &w->W));
  delassus_set_solvers(w->W, NULL, S->solvers.friction);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode create_reduced_operator(granular_solver *S, granular_settle *w)
{
  const granular_problem *f     = S->f;
  int64_t                *start = NULL, n_blocks = 0;
  int32_t                *col   = NULL;
  double                 *value = NULL;
  PetscFunctionBegin;
  delassus_destroy(&w->W);
  if (w->n_part == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(memory_alloc("granular contact blocks", w->n_part + 1, sizeof *start, &start));
  for (int64_t a = 0; a < w->n_part; ++a) {
    start[a] = n_blocks;
    for (int64_t b = 0; b < w->n_part; ++b) n_blocks += share_a_body(&f->contact[w->part[a]], &f->contact[w->part[b]]);
  }
  start[w->n_part]    = n_blocks;
  PetscErrorCode code = MEMORY_ALLOC("granular contact blocks", ARRAY(col, n_blocks), ARRAY(value, 9 * n_blocks));
  if (!code) code = fill_reduced_operator(S, w, start, col, value);
  MEMORY_FREE(&start, &col, &value);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Add to the reduced problem all contacts that carry force or approach faster than the tolerance allows, at the current velocities.
 * Contacts are never removed. Returns the number of added contacts. */
static int64_t add_active_contacts(granular_solver *S, granular_settle *w)
{
  const int64_t n = S->f->n_contacts, n_before = w->n_part;
  double        most = S->f->contact_scale;
  granular_gradient_contacts(S->f, S->v, w->g_n, NULL);
  for (int64_t j = 0; j < n; ++j) most = fmax(most, S->x->lambda[j]);
  w->n_part = 0;
  for (int64_t j = 0; j < n; ++j) {
    const bool carries_force = S->x->lambda[j] != 0.0 || S->x->z[2 * j] != 0.0 || S->x->z[2 * j + 1] != 0.0;
    w->is_in[j]              = w->is_in[j] || carries_force || w->g_n[j] < -TOLERANCE * w->own[j] * most;
    if (w->is_in[j]) w->mu[w->n_part] = S->f->contact[j].mu, w->part[w->n_part++] = j;
  }
  return w->n_part - n_before;
}

PetscErrorCode granular_settle_create(granular_solver *S)
{
  const int64_t    n = S->f->n_contacts;
  granular_settle *w;
  PetscFunctionBegin;
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(arena_alloc(S->memory, "granular settled contacts", 1, sizeof *w, &w));
  *w                       = (granular_settle){0};
  S->settle                = w;
  double **const vectors[] = {&w->r, &w->u, &w->q, &w->before, &w->now};
  for (size_t k = 0; k < sizeof vectors / sizeof *vectors; ++k)
    PetscCall(arena_alloc(S->memory, "granular settled contacts", 3 * n, sizeof(double), vectors[k]));
  PetscCall(ARENA_ALLOC(S->memory, "granular settled contacts", ARRAY(w->mu, n), ARRAY(w->g_n, n), ARRAY(w->g_z, 2 * n), ARRAY(w->own, n),
                        ARRAY(w->part, n), ARRAY(w->is_in, n)));
  for (int64_t j = 0; j < n; ++j) {
    double own[9];
    fill_block(S->f, &S->f->contact[j], &S->f->contact[j], own);
    w->own[j] = own[0], w->is_in[j] = false;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

void granular_settle_destroy(granular_solver *S)
{
  if (S->settle) delassus_destroy(&S->settle->W);
}

/* Recompute the velocities from the bodies' own (nonlinear) equations of motion, linearised at the current forces. From round to
 * round the linearisation error falls by a factor of O(dt w), w the angular velocity. */
static PetscErrorCode update_body_velocities(granular_solver *S)
{
  const granular_problem *f = S->f;
  PetscFunctionBegin;
  if (!f->update_bodies) PetscFunctionReturn(PETSC_SUCCESS);
  granular_clear_bodies(S);
  granular_coupled_force(&S->F_p, S->x->p, S->wrench);
  if (f->n_stress > 0) granular_coupled_force(&S->F_s, S->x->s, S->wrench);
  granular_contact_force(f, S->x->lambda, S->x->z, S->wrench);
  PetscCall(f->update_bodies(f->bodies_context, (const double(*)[GRANULAR_BODY])S->wrench));
  granular_copy(S->v, f->v_star, GRANULAR_BODY * f->n_bodies);
  granular_apply_wrench(f, 1.0, S->wrench, S->v);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void gather_forces(const granular_state *x, int64_t n, double *r)
{
  for (int64_t j = 0; j < n; ++j) r[3 * j] = x->lambda[j], r[3 * j + 1] = x->z[2 * j], r[3 * j + 2] = x->z[2 * j + 1];
}

/* Solve the reduced problem; initial guess: the current forces. */
static PetscErrorCode solve_reduced_problem(granular_solver *S, granular_settle *w)
{
  const friction_problem problem = {.W = w->W, .n = w->n_part, .q = w->q, .mu = w->mu};
  friction_options       o       = *S->coulomb;
  friction_result        result;
  granular_state        *x = S->x;
  PetscFunctionBegin;
  o.tolerance = TOLERANCE, o.enough = ENOUGH;
  granular_change_contacts(S, -1.0, x->lambda, x->z);
  granular_gradient_contacts(S->f, S->v, w->g_n, w->g_z);
  for (int64_t k = 0; k < w->n_part; ++k) {
    const int64_t j = w->part[k];
    w->r[3 * k] = x->lambda[j], w->r[3 * k + 1] = x->z[2 * j], w->r[3 * k + 2] = x->z[2 * j + 1];
    w->q[3 * k] = w->g_n[j], w->q[3 * k + 1] = w->g_z[2 * j], w->q[3 * k + 2] = w->g_z[2 * j + 1];
  }
  PetscCall(friction_solve(&problem, &o, w->r, w->u, &result));
  S->r->t_iterations += result.iterations;
  for (int64_t k = 0; k < w->n_part; ++k) {
    const int64_t j = w->part[k];
    x->lambda[j] = w->r[3 * k], x->z[2 * j] = w->r[3 * k + 1], x->z[2 * j + 1] = w->r[3 * k + 2];
  }
  granular_change_contacts(S, 1.0, x->lambda, x->z);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode solve_contacts(granular_solver *S, granular_settle *w)
{
  PetscFunctionBegin;
  for (int k = 0; k < MAX_ADDITIONS; ++k) {
    if (add_active_contacts(S, w) > 0) PetscCall(create_reduced_operator(S, w));
    else if (k > 0) break;
    if (w->n_part == 0) break;
    PetscCall(solve_reduced_problem(S, w));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode granular_solve_contacts_accurately(granular_solver *S)
{
  granular_settle *w = S->settle;
  const int64_t    n = S->f->n_contacts;
  PetscFunctionBegin;
  if (n == 0 || !S->r->is_finite) PetscFunctionReturn(PETSC_SUCCESS);
  for (int k = 0; k < ROUNDS; ++k) {
    double moved = 0.0, most = S->f->contact_scale;
    gather_forces(S->x, n, w->before);
    PetscCall(update_body_velocities(S));
    PetscCall(solve_contacts(S, w));
    gather_forces(S->x, n, w->now);
    for (int64_t i = 0; i < 3 * n; ++i) moved = fmax(moved, fabs(w->now[i] - w->before[i])), most = fmax(most, fabs(w->now[i]));
    if (!S->f->update_bodies || moved <= TOLERANCE * most) break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
