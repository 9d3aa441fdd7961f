/* Gauss-Seidel sweeps over the islands of a plan, in the precision REAL. Included by body_sweeps_double.c and body_sweeps_float.c, which define REAL,
 * INTEGER (of the same size), PASS (the function that this file defines) and IS_SINGLE.
 *
 * In single precision a sweep reads half the bytes, and divisions and roots take a third of the time. The impulses of an island are scaled with a power of
 * four, so that W is of order one: the numbers in the blocks are then velocities, whatever the masses are. */
#include "core/math3.h"
#include "core/memory.h"
#include "core/stop.h"
#include "core/team.h"
#include "core/timer.h"
#include "optim/friction/body_sweeps_plan.h"
#include "optim/friction/cone.h"
#include "optim/friction/one_contact.h"
#include <omp.h>
#include <string.h>

enum {
  LANES       = SWEEP_LANES, /* a block: one or two vectors */
  WIDTH       = SWEEP_WIDTH,
  STRIDE      = 8,   /* the velocity of a body is one vector */
  ROOT_STEPS  = 8,   /* Newton steps for the sliding coefficient in a visit; with two, more sweeps are needed */
  CHECK_EVERY = 64,  /* sweeps between exact evaluations of the error; a multiple of */
  FULL_EVERY  = 8,   /* every eighth sweep visits all blocks, the others those with impulses */
  MOST_LEAST  = 500, /* largest number of sweeps beyond the tolerance */
  MOST_SWEEPS = 20000,
};
/* The error is evaluated again with other sums and in double precision (friction_solve), which must not reject by rounding. */
static const double ROUNDING = IS_SINGLE ? 2e-2 : 1e-6;
/* Stages of the iteration. The directions are abandoned when |d|^2 grows by more than 5 %: with 1, a fifth more sweeps are needed. After PATIENCE
 * checks without a smaller error they are abandoned when it grows at all, then always: where contacts keep changing between stick and slip, only sweeps
 * without extrapolation converge, slowly and not monotonically, and under-relaxation helps. ACCURATE: stage of the sweeps beyond the tolerance, whose
 * extrapolation comes closest to the exact solution. */
enum { N_STAGES = 3, ACCURATE = 1 };
static const double GROWTH[N_STAGES] = {1.05, 1.0, 0.0}, RELAXATION[N_STAGES] = {1.0, 1.0, 0.7};
static const int    PATIENCE[N_STAGES] = {8, 8, 64};
static const REAL   ROOT =
    (REAL)1e-4; /* square of the relative change at which an iteration for the sliding coefficient, which converges quadratically, ends */
static const REAL   SOFTEST = (REAL)1e6; /* largest tangential compliance, relative to 1/rho */
static const double TIGHT   = 1e-8;      /* error relative to the tolerance at which an island needs no further sweeps */

/* Eight numbers, one for each contact of a block. Vectors are a GCC extension: each operator acts on all lanes. Comparisons give masks of zeros and ones. */
typedef REAL    lanes __attribute__((vector_size(LANES * sizeof(REAL)), aligned(sizeof(REAL))));
typedef INTEGER mask __attribute__((vector_size(LANES * sizeof(INTEGER)), aligned(sizeof(INTEGER))));
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
  double  turn[2][LANES];                                                            /* cosine and sine of the rotation of the tangents */
  lanes   best[3];
  bool    has_entry;
  bool    is_idle; /* no contact has an impulse or approaches */
} contact_block;

typedef struct {
  sweep_plan             *plan;
  const friction_problem *p;
  const friction_options *o;
  team_barrier            barrier;
  double                 *scale;                    /* [n_islands] of the impulses */
  contact_block          *block;                    /* [n_blocks] */
  lanes                  *square, *ratio;           /* [n_blocks] see sweep_block */
  double                 *error;                    /* [n_blocks] largest error over its limit */
  int32_t                *n_above;                  /* [n_blocks] contacts above the tolerance */
  bool                   *is_fine;                  /* [n_blocks] an accepted velocity approaches the rounding errors */
  REAL                   *w, *before, *w_direction; /* [n_bodies + 1][STRIDE] scaled velocities, at the start of a sweep, of p */
} sweeps;

/* ---- set-up ---- */

/* G [3][WIDTH] of contact a and body c: row i solves L g = E_i. */
static void scaled_jacobian(const sweep_plan *t, int64_t a, int32_t c, double *G)
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

/* scale: of the impulses, a power of four. */
static void fill_lane(const sweep_plan *t, int64_t a, double scale, const double *r, contact_block *b, int l)
{
  const friction_problem *p    = t->p;
  const double            part = 1.0 / scale, root = sqrt(part);
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
      for (int i = 0; i < 3; ++i) b->G[side][i][j][l] = (REAL)(root * column[i]);
      for (int i = 0; i < 9; ++i) W[i] += column[i / 3] * column[i % 3];
    }
  }
  for (int i = 0; i < 3; ++i) b->q[i][l] = (REAL)x[i], b->r[i][l] = (REAL)(scale * own[i]);
  b->w_tt[0][l] = (REAL)(part * W[4]), b->w_tt[1][l] = (REAL)(part * W[5]), b->w_tt[2][l] = (REAL)(part * W[8]);
  for (int i = 0; i < 2; ++i) b->w_nt[i][l] = (REAL)(part * one.w_nt[i]), b->slope[i][l] = (REAL)one.slope[i];
  for (int i = 0; i < 4; ++i) b->s[i][l] = (REAL)(part * one.s[i]);
  for (int i = 0; i < 2; ++i) b->compliance[i][l] = (REAL)(p->compliance ? part * p->compliance[2 * a + i] : 0.0);
  b->entry[l] = (REAL)(p->entry ? p->entry[a] : 0.0);
  b->has_entry |= b->entry[l] > (REAL)0.0;
  b->w_nn[l] = (REAL)(part * one.w_nn), b->inverse[l] = (REAL)(scale * one.inverse);
  b->mu[l] = (REAL)one.mu, b->rho[l] = (REAL)(scale * one.rho), b->softness[l] = (REAL)(part / one.rho),
  b->limit[l]   = (REAL)p->speed_limit[a];
  b->turn[0][l] = one.turn[0], b->turn[1][l] = one.turn[1];
}

static void fill_empty_lane(const sweep_plan *t, contact_block *b, int l)
{
  b->contact[l] = -1;
  b->body[0][l] = b->body[1][l] = (int32_t)t->n_bodies;
  b->q[0][l] = b->w_nn[l] = b->inverse[l] = b->s[0][l] = b->s[3][l] = b->rho[l] = b->softness[l] = b->limit[l] = 1.0; /* separated */
}

/* A power of four near 3/tr W_aa of the first contact: of an effective mass. Exact, so that scaling rounds nothing. */
static double impulse_scale(const sweep_plan *t, const body_island *k)
{
  const double *W = delassus_diagonal(t->p->W) + 9 * (int64_t)t->order[t->first_contact[t->colour_start[k->first_colour]]];
  return IS_SINGLE ? exp2(2.0 * round(0.5 * log2(m3_trace(W) / 3.0))) : 1.0;
}

/* Colours contain consecutive contacts. */
static void fill_blocks(sweeps *s, const double *r)
{
  const sweep_plan *t = s->plan;
  for (int64_t i = 0; i < t->n_islands; ++i) s->scale[i] = impulse_scale(t, t->island + i);
#pragma omp parallel for schedule(static) if (s->p->n >= SWEEP_THREADED)
  for (int64_t i = 0; i < t->n_blocks; ++i) {
    const int64_t first = t->first_contact[i], end = t->first_contact[i + 1];
    if (!t->island[t->owner[i]].is_waiting) continue;
    for (int l = 0; l < LANES; ++l) {
      fill_empty_lane(t, s->block + i, l);
      if (first + l < end) fill_lane(t, t->order[first + l], s->scale[t->owner[i]], r, s->block + i, l);
    }
  }
}

/* ---- sweeps ---- */

INLINE lanes select_lanes(mask m, lanes a, lanes b) { return (lanes)((m & (mask)a) | (~m & (mask)b)); }
INLINE bool  any_lane(mask m)
{
  INTEGER any = 0;
  for (int l = 0; l < LANES; ++l) any |= m[l];
  return any != 0;
}
INLINE lanes sqrt_lanes(lanes x)
{
  for (int l = 0; l < LANES; ++l) x[l] = IS_SINGLE ? (REAL)sqrtf((float)x[l]) : (REAL)sqrt((double)x[l]);
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
INLINE void gather(const contact_block *b, int side, const REAL *w, lanes u[3])
{
  lanes x[LANES];
  for (int l = 0; l < LANES; ++l) x[l] = *(const lanes *)(w + (int64_t)STRIDE * b->body[side][l]);
  transpose(x);
  for (int i = 0; i < 3; ++i)
    for (int k = 0; k < WIDTH; ++k) u[i] += b->G[side][i][k] * x[k];
}

/* Add impulses d to the velocities of one body of each contact. */
INLINE void scatter(const contact_block *b, int side, const lanes d[3], REAL *w)
{
  lanes x[LANES];
  for (int k = 0; k < WIDTH; ++k) x[k] = b->G[side][0][k] * d[0] + b->G[side][1][k] * d[1] + b->G[side][2][k] * d[2];
  for (int k = WIDTH; k < LANES; ++k) x[k] = (lanes){0};
  transpose(x);
  for (int l = 0; l < LANES; ++l) *(lanes *)(w + (int64_t)STRIDE * b->body[side][l]) += x[l];
}

/* Factors of p and of d in the next p, and of d in the impulses. */
typedef struct {
  REAL beta, gain, relaxation;
} sweep_factors;

/* Extrapolate the impulses of a block, solve its contacts for the current velocities, and add the changes to the velocities. *square: |d|^2 of each
 * contact. *ratio (NULL: not wanted): square of the change over its limit. */
static void sweep_block(contact_block *restrict b, REAL *restrict w, sweep_factors f, REAL load_speed, lanes *square, lanes *ratio)
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
  const lanes tau = s0 + s3, delta = s0 * s3 - b->s[1] * b->s[2], stick = (REAL)-1.0 / delta;
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
    alpha             = select_lanes(slides & (alpha < (REAL)(IS_SINGLE ? 1e30 : 1e300)), alpha, b->alpha);
    b->alpha          = alpha;
    const lanes scale = (REAL)-1.0 / ((alpha + tau) * alpha + delta);
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
  const lanes own  = (REAL)(FRICTION_IMPULSE_ACCURACY * FRICTION_IMPULSE_ACCURACY) * select_lanes(load > least, load, least),
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
static int64_t first_body(const sweeps *s, const body_island *k, int thread, int n_threads)
{
  const int64_t done = s->plan->work[k->first_body], all = s->plan->work[k->end_body] - done;
  int64_t       low = k->first_body, high = k->end_body;
  while (low < high) {
    const int64_t middle = (low + high) / 2;
    if (s->plan->work[middle] - done < all * thread / n_threads) low = middle + 1;
    else high = middle;
  }
  return low;
}

static inline bool is_mine(const sweeps *s, member m, int64_t block)
{
  return s->plan->home[block] >= m.first_body && s->plan->home[block] < m.end_body;
}

/* One sweep over an island. *square, *ratio: |d|^2 and, if it is full, the largest change over its limit; the same bits for every thread. */
static void sweep_island(sweeps *s, const body_island *k, bool is_full, sweep_factors f, member m, double *square, double *ratio)
{
  for (int64_t i = STRIDE * m.first_body; i < STRIDE * m.end_body; ++i) {
    const REAL ahead  = f.beta * s->w_direction[i];
    s->w_direction[i] = f.gain * (s->w[i] - s->before[i]) + ahead;
    s->before[i]      = s->w[i] += ahead;
  }
  wait_for_team(m);
  for (int64_t c = k->first_colour; c < k->end_colour; ++c) {
    for (int64_t i = s->plan->colour_start[c]; i < s->plan->colour_start[c + 1]; ++i)
      if (is_mine(s, m, i) && (is_full || !s->block[i].is_idle))
        sweep_block(s->block + i, s->w, f, (REAL)s->p->load_speed, s->square + i, is_full ? s->ratio + i : NULL);
    wait_for_team(m);
  }
  lanes sum = {0}, most = {0};
  for (int64_t i = s->plan->colour_start[k->first_colour]; i < s->plan->colour_start[k->end_colour]; ++i) {
    sum += s->square[i];
    if (is_full) most = select_lanes(s->ratio[i] > most, s->ratio[i], most);
  }
  *square = *ratio = 0.0;
  for (int l = 0; l < LANES; ++l) *square += sum[l], *ratio = most[l] > *ratio ? most[l] : *ratio;
  *ratio = sqrt(*ratio);
}

/* Recompute the velocities of an island from its impulses: rounding errors of many small changes must not decide convergence. */
static void refresh_island(sweeps *s, const body_island *k, member m)
{
  wait_for_team(m);
  memset(s->w + STRIDE * m.first_body, 0, (size_t)(STRIDE * (m.end_body - m.first_body)) * sizeof *s->w);
  wait_for_team(m);
  for (int64_t c = k->first_colour; c < k->end_colour; ++c) {
    const int64_t first = s->plan->colour_start[c], end = s->plan->colour_start[c + 1];
    for (int64_t i = first; i < end; ++i)
      if (is_mine(s, m, i))
        for (int side = 0; side < 2; ++side) scatter(s->block + i, side, s->block[i].r, s->w);
    wait_for_team(m);
  }
}

/* The error of an island. NaN: a value is not finite. *n_above: contacts above the tolerance. *is_fine: single precision does not suffice. */
static double evaluate_error(sweeps *s, const body_island *k, member m, int64_t *n_above, bool *is_fine)
{
  const int64_t first = s->plan->colour_start[k->first_colour], end = s->plan->colour_start[k->end_colour];
  for (int64_t i = first; i < end; ++i)
    if (is_mine(s, m, i)) {
      const contact_block *b           = s->block + i;
      lanes                velocity[3] = {b->q[0], b->q[1], b->q[2]};
      double               most        = 0.0;
      s->n_above[i]                    = 0;
      s->is_fine[i]                    = false;
      gather(b, 0, s->w, velocity);
      gather(b, 1, s->w, velocity);
      for (int l = 0; l < LANES; ++l) {
        const double r[3] = {b->r[0][l], b->r[1][l], b->r[2][l]}, soft = b->compliance[1][l] + (r[0] > 0.0 ? b->entry[l] / r[0] : 0.0),
                     u[3] = {velocity[0][l] + b->compliance[0][l] * r[0], velocity[1][l] + soft * r[1], velocity[2][l] + soft * r[2]};
        double F[3];
        if (b->contact[l] < 0) continue;
        cone_natural_map(b->mu[l], b->rho[l], u, r, F);
        const double limit = friction_speed_limit(s->p, b->contact[l], b->rho[l], r), error = v3_norm(F) / (b->rho[l] * limit);
        s->is_fine[i] |= limit * b->rho[l] < SWEEP_FINEST * v3_norm(r);
        s->n_above[i] += !(error <= s->o->tolerance);
        most = !(error <= most) ? error : most; /* keeps NaN */
        if (isnan(most)) break;
      }
      s->error[i] = most;
    }
  wait_for_team(m);
  double most = 0.0;
  *n_above    = 0;
  *is_fine    = false;
  for (int64_t i = first; i < end && !isnan(most); ++i) most = !(s->error[i] <= most) ? s->error[i] : most;
  for (int64_t i = first; i < end; ++i) *n_above += s->n_above[i], *is_fine |= s->is_fine[i];
  wait_for_team(m);
  return most;
}

static void store_best(sweeps *s, const body_island *k, member m)
{
  const int64_t first = s->plan->colour_start[k->first_colour], end = s->plan->colour_start[k->end_colour];
  for (int64_t i = first; i < end; ++i)
    if (is_mine(s, m, i)) memcpy(s->block[i].best, s->block[i].r, sizeof s->block[i].best);
}

static int64_t least_sweeps(const sweeps *s, const body_island *k)
{
  const int64_t n = s->o->least_work / (k->n_contacts * k->n_contacts);
  return n < 1 ? 1 : n > MOST_LEAST ? MOST_LEAST : n;
}

/* Sweep an island until its error is at most the tolerance. */
static void solve_island(sweeps *s, body_island *k, member m)
{
  const int64_t least = least_sweeps(s, k), most = friction_most_iterations(s->o, MOST_SWEEPS);
  const double  tolerance = s->o->tolerance * (1.0 - ROUNDING);
  double        old = 0.0, best = INFINITY;
  sweep_factors f = {.relaxation = (REAL)1.0};
  int64_t       n = k->iterations, best_above = k->n_contacts;
  int           n_worse = 0, stage = 0; /* checks since the smallest error */
  m.first_body = first_body(s, k, m.thread, m.n), m.end_body = m.thread + 1 < m.n ? first_body(s, k, m.thread + 1, m.n) : k->end_body;
  refresh_island(s, k, m);
  if (m.thread == 0) k->status = FRICTION_ITERATIONS;
  for (;;) {
    double     square, ratio;
    const bool is_full = n < FULL_EVERY || n % FULL_EVERY == 0;
    sweep_island(s, k, is_full, f, m, &square, &ratio);
    ++n;
    f.beta = (REAL)(old > 0.0 && square <= GROWTH[n < least ? ACCURATE : stage] * old ? fmin(square / old, 1.0) : 0.0);
    f.gain = f.beta > (REAL)0.0 ? (REAL)1.0 : (REAL)0.0, f.relaxation = (REAL)RELAXATION[n < least ? ACCURATE : stage];
    old                 = square;
    const double wanted = n >= least ? tolerance : TIGHT * tolerance;
    if (!((is_full && ratio <= wanted) || n % CHECK_EVERY == 0 || n >= most || !isfinite(square))) continue;
    refresh_island(s, k, m);
    int64_t      n_above;
    bool         is_fine;
    const double error = evaluate_error(s, k, m, &n_above, &is_fine);
    if (error < best) best = error, best_above = n_above, n_worse = 0, store_best(s, k, m);
    else if (++n_worse == PATIENCE[stage]) n_worse = 0, stage = (stage + 1) % N_STAGES;
    if (m.thread == 0) {
      if (error <= wanted) k->status = FRICTION_OK;
      else if (!isfinite(error)) k->status = FRICTION_NOT_FINITE;
      else if (IS_SINGLE && is_fine) k->status = FRICTION_STALLED;
      else if (timer_now() > s->plan->end) k->status = FRICTION_TIME;
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
  const sweep_plan *t         = s->plan;
  const int         n_threads = s->p->n < SWEEP_THREADED ? 1 : team_threads();
  if (n_threads == 1) {
    for (int64_t i = 0; i < t->n_islands; ++i)
      if (t->island[i].is_waiting) solve_island(s, t->island + i, (member){.n = 1});
    return;
  }
#pragma omp parallel num_threads(n_threads)
  {
    const member m = {.thread = omp_get_thread_num(), .n = omp_get_num_threads(), .barrier = &s->barrier};
    for (int64_t i = 0; i < t->n_islands; ++i)
      if (t->island[i].is_waiting && t->island[i].n_contacts >= SWEEP_THREADED) solve_island(s, t->island + i, m);
#pragma omp for schedule(dynamic, 1)
    for (int64_t i = 0; i < t->n_islands; ++i)
      if (t->island[i].is_waiting && t->island[i].n_contacts < SWEEP_THREADED) solve_island(s, t->island + i, (member){.n = 1});
  }
}

/* Return an impulse that single precision has rounded to the surface of its cone, if it is that close to it: it slides. */
static void return_to_cone(double mu, double r[3])
{
  const double bound = mu * r[0], size = sqrt(r[1] * r[1] + r[2] * r[2]);
  if (size > bound * (1.0 - 1e-6)) r[1] *= bound / size, r[2] *= bound / size;
}

/* Copy the best impulses of an island to the order of the problem, in the tangents and units of the problem. */
static void get_impulses(const sweeps *s, const body_island *k, double *r)
{
  const double part = 1.0 / s->scale[k - s->plan->island];
  for (int64_t i = s->plan->colour_start[k->first_colour]; i < s->plan->colour_start[k->end_colour]; ++i)
    for (int l = 0; l < LANES; ++l) {
      const contact_block *b = s->block + i;
      if (b->contact[l] < 0) continue;
      const double turn[2] = {b->turn[0][l], b->turn[1][l]};
      double       best[3] = {part * b->best[0][l], part * b->best[1][l], part * b->best[2][l]};
      if (IS_SINGLE) return_to_cone(s->p->mu[b->contact[l]], best);
      v3_set(r + 3 * (int64_t)b->contact[l], best[0], turn[0] * best[1] - turn[1] * best[2], turn[1] * best[1] + turn[0] * best[2]);
    }
}

PetscErrorCode PASS(sweep_plan *t, double *r)
{
  sweeps        s = {.plan = t, .p = t->p, .o = t->o};
  const int64_t n = t->n_bodies + 1;
  PetscFunctionBegin;
  PetscErrorCode code =
      MEMORY_ALLOC("contact blocks", ARRAY(s.scale, t->n_islands), ARRAY(s.block, t->n_blocks), ARRAY(s.square, t->n_blocks),
                   ARRAY(s.ratio, t->n_blocks), ARRAY(s.error, t->n_blocks), ARRAY(s.n_above, t->n_blocks), ARRAY(s.is_fine, t->n_blocks),
                   ARRAY(s.w, n * STRIDE), ARRAY(s.before, n * STRIDE), ARRAY(s.w_direction, n * STRIDE));
  if (!code) {
    fill_blocks(&s, r);
    solve_islands(&s);
    for (int64_t i = 0; i < t->n_islands; ++i)
      if (t->island[i].is_waiting && isfinite(t->island[i].error)) get_impulses(&s, t->island + i, r);
  }
  MEMORY_FREE(&s.scale, &s.block, &s.square, &s.ratio, &s.error, &s.n_above, &s.is_fine, &s.w, &s.before, &s.w_direction);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
