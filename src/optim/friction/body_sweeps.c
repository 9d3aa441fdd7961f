#include "optim/friction/body_sweeps.h"
#include "core/disjoint_sets.h"
#include "core/math3.h"
#include "core/memory.h"
#include "core/timer.h"
#include "optim/friction/body_sweeps_plan.h"
#include "optim/friction/cone.h"
#include <string.h>

enum {
  LANES    = SWEEP_LANES,
  WIDTH    = SWEEP_WIDTH,
  THREADED = SWEEP_THREADED,
  COLOURS  = 64, /* bits of a mask; contacts of bodies with more contacts are blocks of one contact, in sequence */
};

/* The bodies of contact a, ascending; returns their number. Writes two at most. */
static int touched_bodies(const sparse_rows *H, const int32_t *body, int64_t a, int32_t touched[2])
{
  int n = 0;
  for (int64_t k = H->start[3 * a]; k < H->start[3 * a + 3]; ++k) {
    const int32_t b = body[H->col[k]];
    if ((n > 0 && touched[0] == b) || (n > 1 && touched[1] == b)) continue;
    if (n == 2) return 3;
    touched[n++] = b;
  }
  if (n == 2 && touched[0] > touched[1]) {
    const int32_t first = touched[1];
    touched[1] = touched[0], touched[0] = first;
  }
  return n;
}

bool body_sweeps_apply(const delassus *w)
{
  const int32_t     *body = delassus_bodies(w);
  const sparse_rows *M = delassus_mass(w), *H = delassus_jacobian(w);
  if (!body) return false;
  for (int64_t i = 0; i < M->n_rows; ++i) {
    if (i >= WIDTH && body[i - WIDTH] == body[i]) return false;
    for (int64_t k = M->start[i]; k < M->start[i + 1]; ++k)
      if (body[M->col[k]] != body[i]) return false;
  }
  for (int64_t a = 0; a < delassus_n_contacts(w); ++a) {
    int32_t touched[2];
    if (touched_bodies(H, body, a, touched) > 2) return false;
  }
  return true;
}

/* ---- set-up ---- */

/* Temporary arrays of the set-up. */
typedef struct {
  int64_t  *up;                 /* [n_all_bodies] disjoint sets */
  int32_t  *near;               /* [n] smallest position of the bodies of each contact */
  int32_t  *by_place;           /* [n] contacts in the order of `near` */
  int32_t  *island_of, *colour; /* [n] of each contact */
  uint64_t *mask;               /* [n_all_bodies] colours in use */
} setup;

static void setup_free(setup *t) { MEMORY_FREE(&t->up, &t->near, &t->by_place, &t->island_of, &t->colour, &t->mask); }

static void list_touched(sweep_plan *s)
{
  for (int64_t i = 0, k = 0; i < s->H->n_cols; ++i)
    while (k <= s->body_of[i]) s->first_dof[k++] = i;
  s->first_dof[s->n_all_bodies] = s->H->n_cols;
#pragma omp parallel for schedule(static) if (s->p->n >= THREADED)
  for (int64_t a = 0; a < s->p->n; ++a) s->n_touched[a] = touched_bodies(s->H, s->body_of, a, s->touched + 2 * a);
}

/* Islands are numbered by their smallest contact. */
static int64_t number_islands(const sweep_plan *s, setup *t)
{
  int64_t n_islands = 0;
  disjoint_sets_init(s->n_all_bodies, t->up);
  for (int64_t c = 0; c < s->n_all_bodies; ++c) s->position[c] = -1;
  for (int64_t a = 0; a < s->p->n; ++a)
    if (s->n_touched[a] == 2) disjoint_sets_join(t->up, s->touched[2 * a], s->touched[2 * a + 1]);
  for (int64_t a = 0; a < s->p->n; ++a) {
    const int64_t root = disjoint_sets_find(t->up, s->touched[2 * a]);
    if (s->position[root] < 0) s->position[root] = (int32_t)n_islands++;
    t->island_of[a] = s->position[root];
  }
  return n_islands;
}

/* The least colour that is free at both bodies; COLOURS if there is none. */
static void colour_contacts(const sweep_plan *s, setup *t)
{
  memset(t->mask, 0, (size_t)s->n_all_bodies * sizeof *t->mask);
  for (int64_t a = 0; a < s->p->n; ++a) {
    uint64_t used = 0;
    for (int k = 0; k < s->n_touched[a]; ++k) used |= t->mask[s->touched[2 * a + k]];
    const int32_t colour = ~used ? __builtin_ctzll(~used) : COLOURS;
    t->colour[a]         = colour;
    for (int k = 0; colour < COLOURS && k < s->n_touched[a]; ++k) t->mask[s->touched[2 * a + k]] |= (uint64_t)1 << colour;
  }
}

/* Number the bodies of all islands from neighbour to neighbour (breadth first), so that threads that work on different ranges of bodies share few of
 * them. */
static PetscErrorCode number_bodies(sweep_plan *s, setup *t)
{
  int64_t *start     = NULL;
  int32_t *neighbour = NULL, *queue = NULL; /* queue: bodies by position */
  PetscFunctionBegin;
  PetscErrorCode code =
      MEMORY_ALLOC("neighbours", ARRAY(start, s->n_all_bodies + 2), ARRAY(neighbour, 2 * s->p->n), ARRAY(queue, s->n_all_bodies));
  for (int64_t a = 0; a < s->p->n && !code; ++a)
    for (int k = 0; k < 2 && s->n_touched[a] == 2; ++k) ++start[s->touched[2 * a + k] + 2];
  for (int64_t c = 0; c < s->n_all_bodies && !code; ++c) start[c + 2] += start[c + 1], s->position[c] = -1;
  for (int64_t a = 0; a < s->p->n && !code; ++a)
    for (int k = 0; k < 2 && s->n_touched[a] == 2; ++k) neighbour[start[s->touched[2 * a + k] + 1]++] = s->touched[2 * a + 1 - k];
  for (int64_t a = 0; a < s->p->n && !code; ++a) { /* islands are numbered by their smallest contact */
    body_island  *own  = s->island + t->island_of[a];
    const int32_t root = s->touched[2 * a];
    ++own->n_contacts;
    if (s->position[root] >= 0) continue;
    own->first_body   = s->n_bodies;
    s->position[root] = (int32_t)s->n_bodies, queue[s->n_bodies++] = root;
    for (int64_t at = own->first_body; at < s->n_bodies; ++at)
      for (int64_t k = start[queue[at]]; k < start[queue[at] + 1]; ++k)
        if (s->position[neighbour[k]] < 0) s->position[neighbour[k]] = (int32_t)s->n_bodies, queue[s->n_bodies++] = neighbour[k];
    own->end_body = s->n_bodies;
  }
  MEMORY_FREE(&start, &neighbour, &queue);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sort the contacts by the smallest position of their bodies, and sum their work. A contact with an impulse takes about four times as long. */
static PetscErrorCode place_contacts(sweep_plan *s, setup *t, const double *r)
{
  int64_t *start = NULL;
  PetscFunctionBegin;
  PetscCall(MEMORY_ALLOC("places", ARRAY(start, s->n_bodies + 1), ARRAY(s->work, s->n_bodies + 1)));
  for (int64_t a = 0; a < s->p->n; ++a) {
    const int32_t one = s->position[s->touched[2 * a]], two = s->position[s->touched[2 * a + s->n_touched[a] - 1]];
    t->near[a] = one < two ? one : two;
    ++start[t->near[a] + 1];
    s->work[t->near[a] + 1] += r[3 * a] > 0.0 ? 4 : 1;
  }
  for (int64_t c = 0; c < s->n_bodies; ++c) start[c + 1] += start[c], s->work[c + 1] += s->work[c];
  for (int64_t a = 0; a < s->p->n; ++a) t->by_place[start[t->near[a]]++] = (int32_t)a;
  memory_free(&start);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* 0: slides, 1: sticks, 2: open in the initial guess. Only blocks with a sliding contact need roots and divisions, and blocks of open contacts are skipped. */
static int guessed_state(const friction_problem *p, int64_t a, const double *r)
{
  const double limit = p->mu[a] * r[3 * a] * (1.0 - 1e-6);
  return !(r[3 * a] > 0.0) ? 2 : r[3 * a + 1] * r[3 * a + 1] + r[3 * a + 2] * r[3 * a + 2] < limit * limit ? 1 : 0;
}

/* Order the contacts by island, colour, guessed state and place. */
static PetscErrorCode order_contacts(sweep_plan *s, setup *t, const double *r)
{
  const int64_t n_keys = s->n_islands * (COLOURS + 1);
  int64_t      *start, at = 0;
  PetscFunctionBegin;
  PetscCall(memory_alloc("islands", n_keys + 2, sizeof *start, &start));
  for (int64_t a = 0; a < s->p->n; ++a) ++start[(int64_t)t->island_of[a] * (COLOURS + 1) + t->colour[a] + 2];
  for (int64_t k = 0; k < n_keys; ++k) start[k + 2] += start[k + 1];
  for (int state = 0; state < 3; ++state)
    for (int64_t k = 0; k < s->p->n; ++k) {
      const int32_t a = t->by_place[k];
      if (guessed_state(s->p, a, r) == state) s->order[start[(int64_t)t->island_of[a] * (COLOURS + 1) + t->colour[a] + 1]++] = a;
    }
  for (int64_t i = 0; i < s->n_islands; ++i) {
    s->island[i].first_colour = s->n_colours;
    for (int64_t c = 0; c <= COLOURS; ++c) {
      const int64_t count = start[i * (COLOURS + 1) + c + 1] - start[i * (COLOURS + 1) + c];
      for (int64_t k = 0; k < count; k += c < COLOURS ? LANES : 1) {
        s->first_contact[s->n_blocks++] = at + k;
        if (c == COLOURS || k + LANES >= count) s->colour_start[++s->n_colours] = s->n_blocks; /* c == COLOURS: a colour for each contact */
      }
      at += count;
    }
    s->island[i].end_colour = s->n_colours;
  }
  s->first_contact[s->n_blocks] = at;
  memory_free(&start);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Cholesky factors L of the blocks of M; unused rows are those of the identity. */
static void factor_bodies(sweep_plan *s)
{
#pragma omp parallel for schedule(static) if (s->n_all_bodies >= THREADED)
  for (int64_t c = 0; c < s->n_all_bodies; ++c) {
    const int64_t first = s->first_dof[c], n = s->first_dof[c + 1] - first;
    double       *L = s->L + c * WIDTH * WIDTH;
    memset(L, 0, WIDTH * WIDTH * sizeof *L);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t k = s->M->start[first + i]; k < s->M->start[first + i + 1]; ++k) L[i * WIDTH + s->M->col[k] - first] = s->M->value[k];
    for (int64_t i = n; i < WIDTH; ++i) L[i * WIDTH + i] = 1.0;
    for (int j = 0; j < WIDTH; ++j) {
      for (int k = 0; k < j; ++k)
        for (int i = j; i < WIDTH; ++i) L[i * WIDTH + j] -= L[i * WIDTH + k] * L[j * WIDTH + k];
      const double d = sqrt(L[j * WIDTH + j]);
      for (int i = j; i < WIDTH; ++i) L[i * WIDTH + j] = i == j ? d : L[i * WIDTH + j] / d;
    }
  }
}

static void plan_free(sweep_plan *s)
{
  MEMORY_FREE(&s->first_dof, &s->touched, &s->n_touched, &s->position, &s->L, &s->island, &s->work, &s->colour_start, &s->order,
              &s->first_contact, &s->home, &s->owner);
}

static PetscErrorCode plan_create(sweep_plan *s, const double *r)
{
  const int64_t n = s->p->n;
  setup         t = {0};
  PetscFunctionBegin;
  s->M = delassus_mass(s->p->W), s->H = delassus_jacobian(s->p->W), s->body_of = delassus_bodies(s->p->W);
  s->n_all_bodies = (int64_t)s->body_of[s->H->n_cols - 1] + 1;
  PetscErrorCode code =
      MEMORY_ALLOC("islands", ARRAY(s->first_dof, s->n_all_bodies + 1), ARRAY(s->touched, 2 * n), ARRAY(s->n_touched, n),
                   ARRAY(t.up, s->n_all_bodies), ARRAY(s->position, s->n_all_bodies), ARRAY(t.near, n), ARRAY(t.by_place, n),
                   ARRAY(t.island_of, n), ARRAY(t.colour, n), ARRAY(s->order, n), ARRAY(s->first_contact, n + 1), ARRAY(s->home, n),
                   ARRAY(s->owner, n), ARRAY(t.mask, s->n_all_bodies), ARRAY(s->L, s->n_all_bodies * WIDTH * WIDTH));
  if (!code) {
    list_touched(s);
    s->n_islands = number_islands(s, &t);
    code         = MEMORY_ALLOC("islands", ARRAY(s->island, s->n_islands), ARRAY(s->colour_start, n + 1));
  }
  if (!code) {
    colour_contacts(s, &t);
    code = number_bodies(s, &t);
  }
  if (!code) code = place_contacts(s, &t, r);
  if (!code) code = order_contacts(s, &t, r);
  if (!code) {
    for (int64_t i = 0; i < s->n_blocks; ++i) {
      const int32_t a = s->order[s->first_contact[i]];
      s->home[i] = t.near[a], s->owner[i] = t.island_of[a];
    }
    factor_bodies(s);
  }
  setup_free(&t);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- solution ---- */

/* Contact in the order of the islands, from colour_start. */
static int64_t first_of(const sweep_plan *s, int64_t colour) { return s->first_contact[s->colour_start[colour]]; }

/* 3/tr W_aa with the compliance. */
static double contact_rho(const friction_problem *p, int64_t a)
{
  return 3.0 / (m3_trace(delassus_diagonal(p->W) + 9 * a) + (p->compliance ? p->compliance[2 * a] + 2.0 * p->compliance[2 * a + 1] : 0.0));
}

/* Error of contact a over its limit for given u = W r + q, with the compliance. */
static double contact_error(const friction_problem *p, int64_t a, const double *r, const double *u)
{
  const double *own = r + 3 * a, rho = contact_rho(p, a), soft_n = p->compliance ? p->compliance[2 * a] : 0.0,
               soft_t = (p->compliance ? p->compliance[2 * a + 1] : 0.0) + (p->entry && own[0] > 0.0 ? p->entry[a] / own[0] : 0.0),
               v[3]   = {u[3 * a] + soft_n * own[0], u[3 * a + 1] + soft_t * own[1], u[3 * a + 2] + soft_t * own[2]};
  double F[3];
  cone_natural_map(p->mu[a], rho, v, own, F);
  return v3_norm(F) / (rho * friction_speed_limit(p, a, rho, own));
}

/* Largest error of the contacts of an island over its limit for u = W r + q; NaN if a value is NaN. *n_above: contacts above the tolerance. */
static double island_error(const sweep_plan *s, const body_island *k, const double *r, const double *u, int64_t *n_above)
{
  double most = 0.0;
  *n_above    = 0;
  for (int64_t at = first_of(s, k->first_colour); at < first_of(s, k->end_colour); ++at) {
    const double error = contact_error(s->p, s->order[at], r, u);
    *n_above += !(error <= s->o->tolerance);
    most = !(error <= most) ? error : most; /* keeps NaN */
    if (isnan(most)) break;
  }
  return most;
}

/* True if the accepted creep of all contacts of an island is far above the rounding errors of single precision. */
static bool suffices_single(const sweep_plan *s, const body_island *k, const double *r)
{
  double smallest = INFINITY, largest = 0.0;
  for (int64_t at = first_of(s, k->first_colour); at < first_of(s, k->end_colour); ++at) {
    const int64_t a   = s->order[at];
    const double  rho = contact_rho(s->p, a);
    smallest          = fmin(smallest, friction_speed_limit(s->p, a, rho, r + 3 * a));
    largest           = fmax(largest, fmax(v3_norm(s->p->q + 3 * a), v3_norm(r + 3 * a) / rho));
  }
  return s->o->tolerance * smallest >= SWEEP_FINEST * largest;
}

/* Choose the islands of the pass in single precision. Islands whose initial guess is already a solution are at rest: the least number of sweeps makes them
 * more accurate from step to step, in double precision. Small islands are solved far beyond the tolerance, also in double precision. */
static bool choose_single(sweep_plan *s, const double *r, const double *u)
{
  bool any = false;
  for (int64_t i = 0; i < s->n_islands; ++i) {
    body_island *k = s->island + i;
    int64_t      n_above;
    k->is_waiting = k->n_contacts >= THREADED && suffices_single(s, k, r) && !(island_error(s, k, r, u, &n_above) <= s->o->tolerance);
    any |= k->is_waiting;
  }
  return any;
}

/* Choose the islands of the pass in double precision: all others, and those of the first pass that are not solved because of rounding errors. Their error is
 * that of u = W r + q, which is in double precision. */
static bool choose_double(sweep_plan *s, const double *r, const double *u)
{
  bool any = false;
  for (int64_t i = 0; i < s->n_islands; ++i) {
    body_island *k = s->island + i;
    if (k->is_waiting) {
      k->error              = island_error(s, k, r, u, &k->n_above);
      const bool is_solved  = k->error <= s->o->tolerance,
                 is_rounded = k->status == FRICTION_OK || k->status == FRICTION_STALLED || k->status == FRICTION_NOT_FINITE;
      if (is_solved) k->status = FRICTION_OK;
      k->is_waiting = !is_solved && is_rounded && k->iterations < sweep_most(s->o);
      if (!is_solved && !k->is_waiting && is_rounded) k->status = FRICTION_ITERATIONS;
    } else k->is_waiting = true;
    any |= k->is_waiting;
  }
  return any;
}

PetscErrorCode body_sweeps_solve(const friction_problem *p, const friction_options *o, double *r, double *u, friction_result *out)
{
  sweep_plan s = {.p = p, .o = o, .end = o->time_limit > 0.0 ? timer_now() + o->time_limit : INFINITY};
  PetscFunctionBegin;
  PetscErrorCode code = plan_create(&s, r);
  if (!code) friction_velocity(p, r, u);
  if (!code && choose_single(&s, r, u)) {
    code = sweep_pass_float(&s, r);
    if (!code) friction_velocity(p, r, u);
  }
  if (!code && choose_double(&s, r, u)) {
    code = sweep_pass_double(&s, r);
    if (!code) friction_velocity(p, r, u);
  }
  if (!code) {
    out->status = FRICTION_OK, out->speed = 0.0, out->n_above = 0;
    for (int64_t i = 0; i < s.n_islands; ++i) { /* the worst island */
      const body_island *k = s.island + i;
      out->iterations      = k->iterations > out->iterations ? k->iterations : out->iterations;
      out->n_above += k->n_above;
      out->speed = !(k->error <= out->speed) ? k->error : out->speed; /* keeps NaN */
      if (k->status != FRICTION_OK && (out->status == FRICTION_OK || k->status > out->status)) out->status = k->status;
    }
  }
  plan_free(&s);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
