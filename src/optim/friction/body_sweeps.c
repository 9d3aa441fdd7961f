#include "optim/friction/body_sweeps.h"
#include "core/disjoint_sets.h"
#include "core/math3.h"
#include "core/memory.h"
#include "core/stop.h"
#include "core/team.h"
#include "core/timer.h"
#include "optim/friction/cone.h"
#include "optim/friction/one_contact.h"
#include <omp.h>
#include <string.h>

enum {
  LANES       = 8,   /* contacts of a block: one vector of 512 bits */
  WIDTH       = 6,   /* unknowns of a body; */
  STRIDE      = 8,   /* its velocity is one vector */
  COLOURS     = 64,  /* bits of a mask; contacts of bodies with more contacts are blocks of one contact, in sequence */
  ROOT_STEPS  = 8,   /* Newton steps for the sliding coefficient in a visit; with two, more sweeps are needed */
  CHECK_EVERY = 64,  /* sweeps between exact evaluations of the error; a multiple of */
  FULL_EVERY  = 8,   /* every eighth sweep visits all blocks, the others those with impulses */
  THREADED    = 500, /* contacts of an island that is solved by all threads */
  MOST_LEAST  = 500, /* largest number of sweeps beyond the tolerance */
  MOST_SWEEPS = 20000,
};
/* The error is evaluated again with other sums (friction_solve), which must not reject by rounding. */
static const double ROUNDING = 1e-6;
/* Stages of the iteration. The directions are abandoned when |d|^2 grows by more than 5 %: with 1, a fifth more sweeps are needed. After PATIENCE
 * checks without a smaller error they are abandoned when it grows at all, then always: where contacts keep changing between stick and slip, only sweeps
 * without extrapolation converge, slowly and not monotonically, and under-relaxation helps. ACCURATE: stage of the sweeps beyond the tolerance, whose
 * extrapolation comes closest to the exact solution. */
enum { N_STAGES = 3, ACCURATE = 1 };
static const double GROWTH[N_STAGES] = {1.05, 1.0, 0.0}, RELAXATION[N_STAGES] = {1.0, 1.0, 0.7};
static const int    PATIENCE[N_STAGES] = {8, 8, 64};
static const double ROOT =
    1e-4; /* square of the relative change at which an iteration for the sliding coefficient, which converges quadratically, ends */
static const double SOFTEST = 1e6;  /* largest tangential compliance, relative to 1/rho */
static const double TIGHT   = 1e-8; /* error relative to the tolerance at which an island needs no further sweeps */

/* Eight numbers, one for each contact of a block. Vectors are a GCC extension: each operator acts on all lanes. Comparisons give masks of zeros and ones. */
typedef double  lanes __attribute__((vector_size(LANES * sizeof(double)), aligned(sizeof(double))));
typedef int64_t mask __attribute__((vector_size(LANES * sizeof(int64_t)), aligned(sizeof(int64_t))));
#define INLINE static inline __attribute__((always_inline))

/* Eight contacts without a common body. The tangents are rotated as in one_contact. Empty lanes act on no body. */
typedef struct {
  int32_t body[2][LANES]; /* n_bodies: none */
  int32_t contact[LANES]; /* -1: empty */
  lanes   G[2][3][WIDTH];
  lanes   q[3], r[3], change[3], direction[3]; /* change and direction: d and p */
  lanes   alpha;                               /* sliding coefficient */
  lanes   compliance[2], entry;                /* w_nn, slope, s and rho include the compliance, w_tt does not */
  lanes   w_nn, inverse, w_nt[2], w_tt[3], slope[2], s[4], mu, rho, softness, limit; /* softness: 1/rho */
  lanes   turn[2];                                                                   /* cosine and sine of the rotation of the tangents */
  lanes   best[3];
  bool    has_entry;
  bool    is_idle; /* no contact has an impulse or approaches */
} contact_block;

typedef struct {
  int64_t         n_contacts, first_body, end_body; /* in the order of the islands */
  int64_t         first_colour, end_colour;         /* ranges in colour_start */
  int64_t         iterations, n_above;
  double          error; /* the smallest one; n_above: contacts above the tolerance there */
  friction_status status;
} island;

typedef struct {
  const friction_problem *p;
  const friction_options *o;
  double                  end; /* time limit */
  int64_t                 n_bodies, n_islands, n_colours, n_blocks;
  island                 *island;
  int64_t                *work;                     /* [n_bodies + 1] sums of the work of the contacts of the bodies before */
  int32_t                *home;                     /* [n_blocks] a body of each block */
  int64_t                *colour_start;             /* [n_colours + 1] blocks */
  contact_block          *block;                    /* [n_blocks] */
  lanes                  *square, *ratio;           /* [n_blocks] see sweep_block */
  double                 *error;                    /* [n_blocks] largest error over its limit */
  int32_t                *n_above;                  /* [n_blocks] contacts above the tolerance */
  double                 *w, *before, *w_direction; /* [n_bodies + 1][STRIDE] scaled velocities, at the start of a sweep, of p */
} sweeps;

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
  const sparse_rows *M, *H;
  const int32_t     *body_of;             /* [n_dof] */
  int64_t            n, n_bodies;         /* contacts; all bodies */
  int64_t           *first_dof;           /* [n_bodies + 1] */
  int32_t           *touched, *n_touched; /* [n][2], [n] bodies of each contact */
  int64_t           *up;                  /* [n_bodies] disjoint sets */
  int32_t           *position;            /* [n_bodies] number of the body in the order of the islands; -1: no contact */
  int32_t           *near;                /* [n] smallest position of the bodies of each contact */
  int32_t           *by_place;            /* [n] contacts in the order of `near` */
  int32_t           *island_of, *colour;  /* [n] of each contact */
  int32_t           *order;               /* [n] contacts by island and colour */
  int64_t           *first_contact;       /* [n_blocks + 1] ranges in order */
  uint64_t          *mask;                /* [n_bodies] colours in use */
  double            *L;                   /* [n_bodies][WIDTH][WIDTH] */
} setup;

static void setup_free(setup *t)
{
  MEMORY_FREE(&t->first_dof, &t->touched, &t->n_touched, &t->up, &t->position, &t->near, &t->by_place, &t->island_of, &t->colour, &t->order,
              &t->first_contact, &t->mask, &t->L);
}

static void list_touched(setup *t)
{
  for (int64_t i = 0, k = 0; i < t->H->n_cols; ++i)
    while (k <= t->body_of[i]) t->first_dof[k++] = i;
  t->first_dof[t->n_bodies] = t->H->n_cols;
#pragma omp parallel for schedule(static) if (t->n >= THREADED)
  for (int64_t a = 0; a < t->n; ++a) t->n_touched[a] = touched_bodies(t->H, t->body_of, a, t->touched + 2 * a);
}

/* Islands are numbered by their smallest contact. */
static int64_t number_islands(setup *t)
{
  int64_t n_islands = 0;
  disjoint_sets_init(t->n_bodies, t->up);
  for (int64_t c = 0; c < t->n_bodies; ++c) t->position[c] = -1;
  for (int64_t a = 0; a < t->n; ++a)
    if (t->n_touched[a] == 2) disjoint_sets_join(t->up, t->touched[2 * a], t->touched[2 * a + 1]);
  for (int64_t a = 0; a < t->n; ++a) {
    const int64_t root = disjoint_sets_find(t->up, t->touched[2 * a]);
    if (t->position[root] < 0) t->position[root] = (int32_t)n_islands++;
    t->island_of[a] = t->position[root];
  }
  return n_islands;
}

/* The least colour that is free at both bodies; COLOURS if there is none. */
static void colour_contacts(setup *t)
{
  memset(t->mask, 0, (size_t)t->n_bodies * sizeof *t->mask);
  for (int64_t a = 0; a < t->n; ++a) {
    uint64_t used = 0;
    for (int k = 0; k < t->n_touched[a]; ++k) used |= t->mask[t->touched[2 * a + k]];
    const int32_t colour = ~used ? __builtin_ctzll(~used) : COLOURS;
    t->colour[a]         = colour;
    for (int k = 0; colour < COLOURS && k < t->n_touched[a]; ++k) t->mask[t->touched[2 * a + k]] |= (uint64_t)1 << colour;
  }
}

/* Number the bodies of all islands from neighbour to neighbour (breadth first), so that threads that work on different ranges of bodies share few of
 * them. */
static PetscErrorCode number_bodies(sweeps *s, setup *t)
{
  int64_t *start     = NULL;
  int32_t *neighbour = NULL, *queue = NULL; /* queue: bodies by position */
  PetscFunctionBegin;
  PetscErrorCode code = MEMORY_ALLOC("neighbours", ARRAY(start, t->n_bodies + 2), ARRAY(neighbour, 2 * t->n), ARRAY(queue, t->n_bodies));
  for (int64_t a = 0; a < t->n && !code; ++a)
    for (int k = 0; k < 2 && t->n_touched[a] == 2; ++k) ++start[t->touched[2 * a + k] + 2];
  for (int64_t c = 0; c < t->n_bodies && !code; ++c) start[c + 2] += start[c + 1], t->position[c] = -1;
  for (int64_t a = 0; a < t->n && !code; ++a)
    for (int k = 0; k < 2 && t->n_touched[a] == 2; ++k) neighbour[start[t->touched[2 * a + k] + 1]++] = t->touched[2 * a + 1 - k];
  for (int64_t a = 0; a < t->n && !code; ++a) { /* islands are numbered by their smallest contact */
    island       *own  = s->island + t->island_of[a];
    const int32_t root = t->touched[2 * a];
    ++own->n_contacts;
    if (t->position[root] >= 0) continue;
    own->first_body   = s->n_bodies;
    t->position[root] = (int32_t)s->n_bodies, queue[s->n_bodies++] = root;
    for (int64_t at = own->first_body; at < s->n_bodies; ++at)
      for (int64_t k = start[queue[at]]; k < start[queue[at] + 1]; ++k)
        if (t->position[neighbour[k]] < 0) t->position[neighbour[k]] = (int32_t)s->n_bodies, queue[s->n_bodies++] = neighbour[k];
    own->end_body = s->n_bodies;
  }
  MEMORY_FREE(&start, &neighbour, &queue);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sort the contacts by the smallest position of their bodies, and sum their work. A contact with an impulse takes about four times as long. */
static PetscErrorCode place_contacts(sweeps *s, setup *t, const double *r)
{
  int64_t *start = NULL;
  PetscFunctionBegin;
  PetscCall(MEMORY_ALLOC("places", ARRAY(start, s->n_bodies + 1), ARRAY(s->work, s->n_bodies + 1)));
  for (int64_t a = 0; a < t->n; ++a) {
    const int32_t one = t->position[t->touched[2 * a]], two = t->position[t->touched[2 * a + t->n_touched[a] - 1]];
    t->near[a] = one < two ? one : two;
    ++start[t->near[a] + 1];
    s->work[t->near[a] + 1] += r[3 * a] > 0.0 ? 4 : 1;
  }
  for (int64_t c = 0; c < s->n_bodies; ++c) start[c + 1] += start[c], s->work[c + 1] += s->work[c];
  for (int64_t a = 0; a < t->n; ++a) t->by_place[start[t->near[a]]++] = (int32_t)a;
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
static PetscErrorCode order_contacts(sweeps *s, setup *t, const double *r)
{
  const int64_t n_keys = s->n_islands * (COLOURS + 1);
  int64_t      *start, at = 0;
  PetscFunctionBegin;
  PetscCall(memory_alloc("islands", n_keys + 2, sizeof *start, &start));
  for (int64_t a = 0; a < t->n; ++a) ++start[(int64_t)t->island_of[a] * (COLOURS + 1) + t->colour[a] + 2];
  for (int64_t k = 0; k < n_keys; ++k) start[k + 2] += start[k + 1];
  for (int state = 0; state < 3; ++state)
    for (int64_t k = 0; k < t->n; ++k) {
      const int32_t a = t->by_place[k];
      if (guessed_state(s->p, a, r) == state) t->order[start[(int64_t)t->island_of[a] * (COLOURS + 1) + t->colour[a] + 1]++] = a;
    }
  for (int64_t i = 0; i < s->n_islands; ++i) {
    s->island[i].first_colour = s->n_colours;
    for (int64_t c = 0; c <= COLOURS; ++c) {
      const int64_t count = start[i * (COLOURS + 1) + c + 1] - start[i * (COLOURS + 1) + c];
      for (int64_t k = 0; k < count; k += c < COLOURS ? LANES : 1) {
        t->first_contact[s->n_blocks++] = at + k;
        if (c == COLOURS || k + LANES >= count) s->colour_start[++s->n_colours] = s->n_blocks; /* c == COLOURS: a colour for each contact */
      }
      at += count;
    }
    s->island[i].end_colour = s->n_colours;
  }
  t->first_contact[s->n_blocks] = at;
  memory_free(&start);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Cholesky factors L of the blocks of M; unused rows are those of the identity. */
static void factor_bodies(setup *t)
{
#pragma omp parallel for schedule(static) if (t->n_bodies >= THREADED)
  for (int64_t c = 0; c < t->n_bodies; ++c) {
    const int64_t first = t->first_dof[c], n = t->first_dof[c + 1] - first;
    double       *L = t->L + c * WIDTH * WIDTH;
    memset(L, 0, WIDTH * WIDTH * sizeof *L);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t k = t->M->start[first + i]; k < t->M->start[first + i + 1]; ++k) L[i * WIDTH + t->M->col[k] - first] = t->M->value[k];
    for (int64_t i = n; i < WIDTH; ++i) L[i * WIDTH + i] = 1.0;
    for (int j = 0; j < WIDTH; ++j) {
      for (int k = 0; k < j; ++k)
        for (int i = j; i < WIDTH; ++i) L[i * WIDTH + j] -= L[i * WIDTH + k] * L[j * WIDTH + k];
      const double d = sqrt(L[j * WIDTH + j]);
      for (int i = j; i < WIDTH; ++i) L[i * WIDTH + j] = i == j ? d : L[i * WIDTH + j] / d;
    }
  }
}

/* G [3][WIDTH] of contact a and body c: row i solves L g = E_i. */
static void scaled_jacobian(const setup *t, int64_t a, int32_t c, double *G)
{
  const double *L = t->L + (int64_t)c * WIDTH * WIDTH;
  memset(G, 0, 3 * WIDTH * sizeof *G);
  for (int i = 0; i < 3; ++i) {
    double *g = G + i * WIDTH;
    for (int64_t k = delassus_row_from(t->H, 3 * a + i, t->first_dof[c]);
         k < t->H->start[3 * a + i + 1] && t->H->col[k] < t->first_dof[c + 1]; ++k)
      g[t->H->col[k] - t->first_dof[c]] = t->H->value[k];
    for (int j = 0; j < WIDTH; ++j) {
      for (int k = 0; k < j; ++k) g[j] -= L[j * WIDTH + k] * g[k];
      g[j] /= L[j * WIDTH + j];
    }
  }
}

static inline void rotate_tangents(const one_contact *o, double x[3])
{
  const double one = o->turn[0] * x[1] + o->turn[1] * x[2], two = o->turn[0] * x[2] - o->turn[1] * x[1];
  x[1] = one, x[2] = two;
}

static void fill_lane(const sweeps *s, const setup *t, int64_t a, const double *r, contact_block *b, int l)
{
  const friction_problem *p = s->p;
  one_contact             one;
  double                  G[3 * WIDTH], x[3], own[3], W[9];
  m3_copy(W, delassus_diagonal(p->W) + 9 * a);
  if (p->compliance) W[0] += p->compliance[2 * a], W[4] += p->compliance[2 * a + 1], W[8] += p->compliance[2 * a + 1];
  one_contact_prepare(W, p->mu[a], &one);
  memset(W, 0, sizeof W);
  v3_copy(x, p->q + 3 * a);
  cone_project(p->mu[a], r + 3 * a, own);
  rotate_tangents(&one, x), rotate_tangents(&one, own);
  b->contact[l] = (int32_t)a;
  for (int side = 0; side < t->n_touched[a]; ++side) {
    b->body[side][l] = t->position[t->touched[2 * a + side]];
    scaled_jacobian(t, a, t->touched[2 * a + side], G);
    for (int j = 0; j < WIDTH; ++j) {
      double column[3] = {G[j], G[WIDTH + j], G[2 * WIDTH + j]};
      rotate_tangents(&one, column);
      for (int i = 0; i < 3; ++i) b->G[side][i][j][l] = column[i];
      for (int i = 0; i < 9; ++i) W[i] += column[i / 3] * column[i % 3];
    }
  }
  for (int i = 0; i < 3; ++i) b->q[i][l] = x[i], b->r[i][l] = own[i];
  b->w_tt[0][l] = W[4], b->w_tt[1][l] = W[5], b->w_tt[2][l] = W[8];
  for (int i = 0; i < 2; ++i) b->w_nt[i][l] = one.w_nt[i], b->slope[i][l] = one.slope[i];
  for (int i = 0; i < 4; ++i) b->s[i][l] = one.s[i];
  for (int i = 0; i < 2; ++i) b->compliance[i][l] = p->compliance ? p->compliance[2 * a + i] : 0.0;
  b->entry[l] = p->entry ? p->entry[a] : 0.0;
  b->has_entry |= b->entry[l] > 0.0;
  b->w_nn[l] = one.w_nn, b->inverse[l] = one.inverse;
  b->mu[l] = one.mu, b->rho[l] = one.rho, b->softness[l] = 1.0 / one.rho, b->limit[l] = p->speed_limit[a];
  b->turn[0][l] = one.turn[0], b->turn[1][l] = one.turn[1];
}

static void fill_empty_lane(const sweeps *s, contact_block *b, int l)
{
  b->contact[l] = -1;
  b->body[0][l] = b->body[1][l] = (int32_t)s->n_bodies;
  b->q[0][l] = b->w_nn[l] = b->inverse[l] = b->s[0][l] = b->s[3][l] = b->rho[l] = b->softness[l] = b->limit[l] = 1.0; /* separated */
}

/* Colours contain consecutive contacts. */
static void fill_blocks(sweeps *s, const setup *t, const double *r)
{
#pragma omp parallel for schedule(static) if (t->n >= THREADED)
  for (int64_t i = 0; i < s->n_blocks; ++i) {
    const int64_t first = t->first_contact[i], end = t->first_contact[i + 1];
    s->home[i] = t->near[t->order[first]];
    for (int l = 0; l < LANES; ++l) {
      fill_empty_lane(s, s->block + i, l);
      if (first + l < end) fill_lane(s, t, t->order[first + l], r, s->block + i, l);
    }
  }
}

static void sweeps_free(sweeps *s)
{
  MEMORY_FREE(&s->island, &s->work, &s->home, &s->colour_start, &s->block, &s->square, &s->ratio, &s->error, &s->n_above, &s->w, &s->before,
              &s->w_direction);
}

static PetscErrorCode sweeps_create(sweeps *s, const double *r)
{
  const delassus *W = s->p->W;
  setup           t = {.M = delassus_mass(W), .H = delassus_jacobian(W), .body_of = delassus_bodies(W), .n = s->p->n};
  PetscFunctionBegin;
  t.n_bodies          = (int64_t)t.body_of[t.H->n_cols - 1] + 1;
  PetscErrorCode code = MEMORY_ALLOC("islands", ARRAY(t.first_dof, t.n_bodies + 1), ARRAY(t.touched, 2 * t.n), ARRAY(t.n_touched, t.n),
                                     ARRAY(t.up, t.n_bodies), ARRAY(t.position, t.n_bodies), ARRAY(t.near, t.n), ARRAY(t.by_place, t.n),
                                     ARRAY(t.island_of, t.n), ARRAY(t.colour, t.n), ARRAY(t.order, t.n), ARRAY(t.first_contact, t.n + 1),
                                     ARRAY(t.mask, t.n_bodies), ARRAY(t.L, t.n_bodies * WIDTH * WIDTH));
  if (!code) {
    list_touched(&t);
    s->n_islands = number_islands(&t);
    code         = MEMORY_ALLOC("islands", ARRAY(s->island, s->n_islands), ARRAY(s->colour_start, t.n + 1));
  }
  if (!code) {
    colour_contacts(&t);
    code = number_bodies(s, &t);
  }
  if (!code) code = place_contacts(s, &t, r);
  if (!code) code = order_contacts(s, &t, r);
  if (!code)
    code = MEMORY_ALLOC("contact blocks", ARRAY(s->block, s->n_blocks), ARRAY(s->home, s->n_blocks), ARRAY(s->square, s->n_blocks),
                        ARRAY(s->ratio, s->n_blocks), ARRAY(s->error, s->n_blocks), ARRAY(s->n_above, s->n_blocks),
                        ARRAY(s->w, (s->n_bodies + 1) * STRIDE), ARRAY(s->before, (s->n_bodies + 1) * STRIDE),
                        ARRAY(s->w_direction, (s->n_bodies + 1) * STRIDE));
  if (!code) {
    factor_bodies(&t);
    fill_blocks(s, &t, r);
  }
  setup_free(&t);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- sweeps ---- */

INLINE lanes select_lanes(mask m, lanes a, lanes b) { return (lanes)((m & (mask)a) | (~m & (mask)b)); }
INLINE bool  any_lane(mask m)
{
  int64_t any = 0;
  for (int l = 0; l < LANES; ++l) any |= m[l];
  return any != 0;
}
INLINE lanes sqrt_lanes(lanes x)
{
  for (int l = 0; l < LANES; ++l) x[l] = sqrt(x[l]);
  return x;
}

/* Transpose an 8x8 matrix of eight vectors. */
INLINE void transpose(lanes x[LANES])
{
  lanes y[LANES], z[LANES];
  for (int i = 0; i < LANES; i += 2) {
    y[i]     = __builtin_shufflevector(x[i], x[i + 1], 0, 8, 2, 10, 4, 12, 6, 14);
    y[i + 1] = __builtin_shufflevector(x[i], x[i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
  }
  for (int i = 0; i < LANES; i += 4)
    for (int k = 0; k < 2; ++k) {
      z[i + k]     = __builtin_shufflevector(y[i + k], y[i + k + 2], 0, 1, 8, 9, 4, 5, 12, 13);
      z[i + k + 2] = __builtin_shufflevector(y[i + k], y[i + k + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    }
  for (int k = 0; k < 4; ++k) {
    x[k]     = __builtin_shufflevector(z[k], z[k + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    x[k + 4] = __builtin_shufflevector(z[k], z[k + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
}

/* The additional tangential compliance entry/r_N for the current r_N. */
INLINE lanes entry_compliance(const contact_block *b, lanes r_n)
{
  if (!b->has_entry) return (lanes){0};
  const lanes most = SOFTEST * b->softness, soft = b->entry / r_n;
  return select_lanes(b->entry > 0.0, select_lanes((r_n > 0.0) & (soft < most), soft, most), (lanes){0});
}

/* One Newton step for f(alpha) = 0 (one_contact.h); outside of its range alpha is doubled or halved. */
INLINE lanes root_step(const contact_block *b, const lanes a[2], const lanes c[2], lanes b_n, lanes tau, lanes delta, lanes alpha)
{
  const lanes p0 = a[0] + alpha * c[0], p1 = a[1] + alpha * c[1], size = sqrt_lanes(p0 * p0 + p1 * p1);
  /* both times |p|, which saves a division */
  const lanes f = (b->mu * (b->w_nt[0] * p0 + b->w_nt[1] * p1 - b_n * ((alpha + tau) * alpha + delta)) - b->w_nn * size) * size;
  const lanes slope =
      b->mu * (b->w_nt[0] * c[0] + b->w_nt[1] * c[1] - b_n * (2.0 * alpha + tau)) * size - b->w_nn * (p0 * c[0] + p1 * c[1]);
  const lanes next = alpha - f / slope;
  return select_lanes((slope > 0.0) & (next > 0.0), next, select_lanes(f < 0.0, 2.0 * alpha, 0.5 * alpha));
}

/* Add the contribution of one body of each contact to the relative velocities. */
INLINE void gather(const contact_block *b, int side, const double *w, lanes u[3])
{
  lanes x[LANES];
  for (int l = 0; l < LANES; ++l) x[l] = *(const lanes *)(w + (int64_t)STRIDE * b->body[side][l]);
  transpose(x);
  for (int i = 0; i < 3; ++i)
    for (int k = 0; k < WIDTH; ++k) u[i] += b->G[side][i][k] * x[k];
}

/* Add impulses d to the velocities of one body of each contact. */
INLINE void scatter(const contact_block *b, int side, const lanes d[3], double *w)
{
  lanes x[LANES];
  for (int k = 0; k < WIDTH; ++k) x[k] = b->G[side][0][k] * d[0] + b->G[side][1][k] * d[1] + b->G[side][2][k] * d[2];
  for (int k = WIDTH; k < LANES; ++k) x[k] = (lanes){0};
  transpose(x);
  for (int l = 0; l < LANES; ++l) *(lanes *)(w + (int64_t)STRIDE * b->body[side][l]) += x[l];
}

/* Factors of p and of d in the next p, and of d in the impulses. */
typedef struct {
  double beta, gain, relaxation;
} sweep_factors;

/* Extrapolate the impulses of a block, solve its contacts for the current velocities, and add the changes to the velocities. *square: |d|^2 of each
 * contact. *ratio (NULL: not wanted): square of the change over its limit. */
static void sweep_block(contact_block *restrict b, double *restrict w, sweep_factors f, double load_speed, lanes *square, lanes *ratio)
{
  lanes r[3], u[3], n[3], d[3];
  mask  is_busy = {0};
  for (int i = 0; i < 3; ++i) {
    const lanes ahead = f.beta * b->direction[i];
    b->direction[i]   = f.gain * b->change[i] + ahead;
    r[i]              = b->r[i] + ahead;
    u[i]              = b->q[i];
    is_busy |= (r[i] != 0.0) | (b->direction[i] != 0.0);
  }
  gather(b, 0, w, u);
  gather(b, 1, w, u);
  const lanes b_n     = u[0] - ((b->w_nn - b->compliance[0]) * r[0] + b->w_nt[0] * r[1] + b->w_nt[1] * r[2]);
  const mask  is_open = b_n >= 0.0;
  b->is_idle          = !any_lane(is_busy | ~is_open);
  if (b->is_idle) {
    for (int i = 0; i < 3; ++i) b->change[i] = b->r[i] = (lanes){0};
    *square = (lanes){0};
    if (ratio) *ratio = (lanes){0};
    return;
  }
  const lanes b_1  = u[1] - (b->w_nt[0] * r[0] + b->w_tt[0] * r[1] + b->w_tt[1] * r[2]);
  const lanes b_2  = u[2] - (b->w_nt[1] * r[0] + b->w_tt[1] * r[1] + b->w_tt[2] * r[2]);
  const lanes c[2] = {b_1 - b->slope[0] * b_n, b_2 - b->slope[1] * b_n};
  const lanes soft = entry_compliance(b, r[0]), s0 = b->s[0] + soft, s3 = b->s[3] + soft;
  const lanes tau = s0 + s3, delta = s0 * s3 - b->s[1] * b->s[2], stick = -1.0 / delta;
  const lanes a[2]   = {s3 * c[0] - b->s[1] * c[1], s0 * c[1] - b->s[2] * c[0]};
  const lanes reach  = b->mu * (b->w_nt[0] * a[0] + b->w_nt[1] * a[1] - b_n * delta);
  const mask  sticks = (reach >= 0.0) & (reach * reach >= b->w_nn * b->w_nn * (a[0] * a[0] + a[1] * a[1]));
  const mask  slides = ~(is_open | sticks);
  n[1] = stick * a[0], n[2] = stick * a[1];
  n[0] = -b->inverse * (b_n + b->w_nt[0] * n[1] + b->w_nt[1] * n[2]);
  if (any_lane(slides)) { /* half of the time of a visit */
    lanes alpha = select_lanes(b->alpha > 0.0, b->alpha, 0.5 * tau), s[3];
    mask  moves = slides;
    for (int k = 0; k < ROOT_STEPS && any_lane(moves); ++k) {
      const lanes next = root_step(b, a, c, b_n, tau, delta, alpha), change = next - alpha;
      moves = slides & (change * change > ROOT * next * next);
      alpha = next;
    }
    alpha             = select_lanes(slides & (alpha < 1e300), alpha, b->alpha);
    b->alpha          = alpha;
    const lanes scale = -1.0 / ((alpha + tau) * alpha + delta);
    s[1] = scale * (a[0] + alpha * c[0]), s[2] = scale * (a[1] + alpha * c[1]);
    s[0]          = -b->inverse * (b_n + b->w_nt[0] * s[1] + b->w_nt[1] * s[2]);
    s[0]          = select_lanes(s[0] < 0.0, (lanes){0}, s[0]);
    const lanes t = sqrt_lanes(s[1] * s[1] + s[2] * s[2]), bound = b->mu * s[0],
                part = select_lanes(t > bound, bound / t, (lanes){0} + 1.0);
    s[1] *= part, s[2] *= part;
    for (int i = 0; i < 3; ++i) n[i] = select_lanes(slides, s[i], n[i]);
  }
  for (int i = 0; i < 3; ++i) {
    n[i]         = select_lanes(is_open, (lanes){0}, f.relaxation < 1.0 ? r[i] + f.relaxation * (n[i] - r[i]) : n[i]);
    b->change[i] = d[i] = n[i] - r[i], b->r[i] = n[i];
  }
  scatter(b, 0, d, w);
  scatter(b, 1, d, w);
  const lanes d2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2], scaled = d2 * b->softness;
  *square = scaled;
  if (!ratio) return;
  const lanes load = (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]) * b->softness * b->softness, least = (lanes){0} + load_speed * load_speed;
  const lanes own  = FRICTION_IMPULSE_ACCURACY * FRICTION_IMPULSE_ACCURACY * select_lanes(load > least, load, least),
              most = b->limit * b->limit;
  *ratio           = scaled * b->softness / select_lanes(own < most, own, most);
}

/* A thread and its team. Every thread of the team calls the functions below with the same arguments otherwise. */
typedef struct {
  int           thread, n;
  team_barrier *barrier;
  int64_t       first_body, end_body; /* the bodies of this thread, and with them the blocks at home there */
} member;

static void wait_for_team(member m)
{
  if (m.n > 1) team_barrier_wait(m.barrier, m.n);
}

/* First body of a thread: equal work for all. */
static int64_t first_body(const sweeps *s, const island *k, int thread, int n_threads)
{
  const int64_t done = s->work[k->first_body], all = s->work[k->end_body] - done;
  int64_t       low = k->first_body, high = k->end_body;
  while (low < high) {
    const int64_t middle = (low + high) / 2;
    if (s->work[middle] - done < all * thread / n_threads) low = middle + 1;
    else high = middle;
  }
  return low;
}

static inline bool is_mine(const sweeps *s, member m, int64_t block)
{
  return s->home[block] >= m.first_body && s->home[block] < m.end_body;
}

/* One sweep over an island. *square, *ratio: |d|^2 and, if it is full, the largest change over its limit; the same bits for every thread. */
static void sweep_island(sweeps *s, const island *k, bool is_full, sweep_factors f, member m, double *square, double *ratio)
{
  for (int64_t i = STRIDE * m.first_body; i < STRIDE * m.end_body; ++i) {
    const double ahead = f.beta * s->w_direction[i];
    s->w_direction[i]  = f.gain * (s->w[i] - s->before[i]) + ahead;
    s->before[i]       = s->w[i] += ahead;
  }
  wait_for_team(m);
  for (int64_t c = k->first_colour; c < k->end_colour; ++c) {
    for (int64_t i = s->colour_start[c]; i < s->colour_start[c + 1]; ++i)
      if (is_mine(s, m, i) && (is_full || !s->block[i].is_idle))
        sweep_block(s->block + i, s->w, f, s->p->load_speed, s->square + i, is_full ? s->ratio + i : NULL);
    wait_for_team(m);
  }
  lanes sum = {0}, most = {0};
  for (int64_t i = s->colour_start[k->first_colour]; i < s->colour_start[k->end_colour]; ++i) {
    sum += s->square[i];
    if (is_full) most = select_lanes(s->ratio[i] > most, s->ratio[i], most);
  }
  *square = *ratio = 0.0;
  for (int l = 0; l < LANES; ++l) *square += sum[l], *ratio = most[l] > *ratio ? most[l] : *ratio;
  *ratio = sqrt(*ratio);
}

/* Recompute the velocities of an island from its impulses: rounding errors of many small changes must not decide convergence. */
static void refresh_island(sweeps *s, const island *k, member m)
{
  wait_for_team(m);
  memset(s->w + STRIDE * m.first_body, 0, (size_t)(STRIDE * (m.end_body - m.first_body)) * sizeof *s->w);
  wait_for_team(m);
  for (int64_t c = k->first_colour; c < k->end_colour; ++c) {
    const int64_t first = s->colour_start[c], end = s->colour_start[c + 1];
    for (int64_t i = first; i < end; ++i)
      if (is_mine(s, m, i))
        for (int side = 0; side < 2; ++side) scatter(s->block + i, side, s->block[i].r, s->w);
    wait_for_team(m);
  }
}

/* The error of an island. NaN: a value is not finite. *n_above: contacts above the tolerance. */
static double evaluate_error(sweeps *s, const island *k, member m, int64_t *n_above)
{
  const int64_t first = s->colour_start[k->first_colour], end = s->colour_start[k->end_colour];
  for (int64_t i = first; i < end; ++i)
    if (is_mine(s, m, i)) {
      const contact_block *b           = s->block + i;
      lanes                velocity[3] = {b->q[0], b->q[1], b->q[2]};
      double               most        = 0.0;
      s->n_above[i]                    = 0;
      gather(b, 0, s->w, velocity);
      gather(b, 1, s->w, velocity);
      for (int l = 0; l < LANES; ++l) {
        const double r[3] = {b->r[0][l], b->r[1][l], b->r[2][l]}, soft = b->compliance[1][l] + (r[0] > 0.0 ? b->entry[l] / r[0] : 0.0),
                     u[3] = {velocity[0][l] + b->compliance[0][l] * r[0], velocity[1][l] + soft * r[1], velocity[2][l] + soft * r[2]};
        double F[3];
        if (b->contact[l] < 0) continue;
        cone_natural_map(b->mu[l], b->rho[l], u, r, F);
        const double error = v3_norm(F) / (b->rho[l] * friction_speed_limit(s->p, b->contact[l], b->rho[l], r));
        s->n_above[i] += !(error <= s->o->tolerance);
        most = !(error <= most) ? error : most; /* keeps NaN */
        if (isnan(most)) break;
      }
      s->error[i] = most;
    }
  wait_for_team(m);
  double most = 0.0;
  *n_above    = 0;
  for (int64_t i = first; i < end && !isnan(most); ++i) most = !(s->error[i] <= most) ? s->error[i] : most;
  for (int64_t i = first; i < end; ++i) *n_above += s->n_above[i];
  wait_for_team(m);
  return most;
}

static void store_best(sweeps *s, const island *k, member m)
{
  const int64_t first = s->colour_start[k->first_colour], end = s->colour_start[k->end_colour];
  for (int64_t i = first; i < end; ++i)
    if (is_mine(s, m, i)) memcpy(s->block[i].best, s->block[i].r, sizeof s->block[i].best);
}

static int64_t least_sweeps(const sweeps *s, const island *k)
{
  const int64_t n = s->o->least_work / (k->n_contacts * k->n_contacts);
  return n < 1 ? 1 : n > MOST_LEAST ? MOST_LEAST : n;
}

/* Sweep an island until its error is at most the tolerance. */
static void solve_island(sweeps *s, island *k, member m)
{
  const int64_t least = least_sweeps(s, k), most = friction_most_iterations(s->o, MOST_SWEEPS);
  const double  tolerance = s->o->tolerance * (1.0 - ROUNDING);
  double        old = 0.0, best = INFINITY;
  sweep_factors f = {.relaxation = 1.0};
  int64_t       n = 0, best_above = k->n_contacts;
  int           n_worse = 0, stage = 0; /* checks since the smallest error */
  m.first_body = first_body(s, k, m.thread, m.n), m.end_body = m.thread + 1 < m.n ? first_body(s, k, m.thread + 1, m.n) : k->end_body;
  refresh_island(s, k, m);
  if (m.thread == 0) k->status = FRICTION_ITERATIONS;
  for (;;) {
    double     square, ratio;
    const bool is_full = n < FULL_EVERY || n % FULL_EVERY == 0;
    sweep_island(s, k, is_full, f, m, &square, &ratio);
    ++n;
    f.beta = old > 0.0 && square <= GROWTH[n < least ? ACCURATE : stage] * old ? fmin(square / old, 1.0) : 0.0;
    f.gain = f.beta > 0.0 ? 1.0 : 0.0, f.relaxation = RELAXATION[n < least ? ACCURATE : stage];
    old                 = square;
    const double wanted = n >= least ? tolerance : TIGHT * tolerance;
    if (!((is_full && ratio <= wanted) || n % CHECK_EVERY == 0 || n >= most || !isfinite(square))) continue;
    refresh_island(s, k, m);
    int64_t      n_above;
    const double error = evaluate_error(s, k, m, &n_above);
    if (error < best) best = error, best_above = n_above, n_worse = 0, store_best(s, k, m);
    else if (++n_worse == PATIENCE[stage]) n_worse = 0, stage = (stage + 1) % N_STAGES;
    if (m.thread == 0) {
      if (error <= wanted) k->status = FRICTION_OK;
      else if (!isfinite(error)) k->status = FRICTION_NOT_FINITE;
      else if (timer_now() > s->end) k->status = FRICTION_TIME;
      else if (stop_is_urgent()) k->status = FRICTION_STOPPED;
    }
    wait_for_team(m);
    const bool is_over = k->status != FRICTION_ITERATIONS || n >= most;
    wait_for_team(m);
    if (is_over) break;
  }
  if (m.thread == 0) k->iterations = n, k->error = best, k->n_above = best_above;
}

/* Small islands are distributed over the threads, each one is solved by one thread. Large ones are solved by all threads in turn. */
static void solve_islands(sweeps *s)
{
  const int n_threads = s->p->n < THREADED ? 1 : team_threads();
  if (n_threads == 1) {
    for (int64_t i = 0; i < s->n_islands; ++i) solve_island(s, s->island + i, (member){.n = 1});
    return;
  }
  team_barrier barrier = {0};
#pragma omp parallel num_threads(n_threads)
  {
    const member m = {.thread = omp_get_thread_num(), .n = omp_get_num_threads(), .barrier = &barrier};
    for (int64_t i = 0; i < s->n_islands; ++i)
      if (s->island[i].n_contacts >= THREADED) solve_island(s, s->island + i, m);
#pragma omp for schedule(dynamic, 1)
    for (int64_t i = 0; i < s->n_islands; ++i)
      if (s->island[i].n_contacts < THREADED) solve_island(s, s->island + i, (member){.n = 1});
  }
}

/* Copy the best impulses to the order of the problem, in the tangents of the problem. */
static void get_impulses(const sweeps *s, double *r)
{
  for (int64_t i = 0; i < s->n_blocks; ++i)
    for (int l = 0; l < LANES; ++l) {
      const contact_block *b = s->block + i;
      if (b->contact[l] < 0) continue;
      double *own = r + 3 * (int64_t)b->contact[l];
      v3_set(own, b->best[0][l], b->turn[0][l] * b->best[1][l] - b->turn[1][l] * b->best[2][l],
             b->turn[1][l] * b->best[1][l] + b->turn[0][l] * b->best[2][l]);
    }
}

PetscErrorCode body_sweeps_solve(const friction_problem *p, const friction_options *o, double *r, double *u, friction_result *out)
{
  sweeps s = {.p = p, .o = o, .end = o->time_limit > 0.0 ? timer_now() + o->time_limit : INFINITY};
  PetscFunctionBegin;
  PetscErrorCode code = sweeps_create(&s, r);
  if (!code) {
    solve_islands(&s);
    get_impulses(&s, r);
    friction_velocity(p, r, u);
    out->status = FRICTION_OK, out->speed = 0.0, out->n_above = 0;
    for (int64_t i = 0; i < s.n_islands; ++i) { /* the worst island */
      out->iterations = s.island[i].iterations > out->iterations ? s.island[i].iterations : out->iterations;
      out->n_above += s.island[i].n_above;
      out->speed = !(s.island[i].error <= out->speed) ? s.island[i].error : out->speed; /* keeps NaN */
      if (s.island[i].status != FRICTION_OK && (out->status == FRICTION_OK || s.island[i].status > out->status))
        out->status = s.island[i].status;
    }
  }
  sweeps_free(&s);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
