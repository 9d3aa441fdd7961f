/* Each loop over a chunk updates iterate, gradient and norms together, because memory bandwidth limits the speed of large programs. */
#include "optim/bounds/mprgp.h"
#include "core/memory.h"
#include "optim/bounds/bounds_face.h"
#include <string.h>

enum { ITERATIONS = 5000, POWER_STEPS = 10 };
static const double SWITCH = 10.0; /* expansion by whole steps while |nu| exceeds so many times its target */

typedef struct {
  const bounds_qp     *q;
  int64_t              n, n_chunks;
  double              *x, *g, *p, *Ap, *z, *phi, *lo, *hi, *before;
  double              *per_d, *w; /* 1/diagonal; the metric: 1/diagonal, without preconditioner 1/largest diagonal */
  uint8_t             *is_free;
  bounds_partial_sums *part;
  bounds_face         *face;
  double               alpha;               /* fixed step length, relative to the metric w */
  double               nu2, beta2, reduced; /* |nu|_D^2, |beta|_w^2, (reduced free gradient) . w (free gradient) */
} mprgp;

static void mprgp_free(mprgp *m)
{
  double **const vectors[] = {&m->g, &m->p, &m->Ap, &m->z, &m->phi, &m->per_d, &m->lo, &m->hi, &m->before};
  if (m->w != m->per_d) memory_free(&m->w);
  for (size_t k = 0; k < sizeof vectors / sizeof *vectors; ++k) memory_free(vectors[k]);
  MEMORY_FREE(&m->is_free, &m->part);
  bounds_face_destroy(&m->face);
}

static PetscErrorCode mprgp_create(mprgp *m, const bounds_options *o)
{
  const bounds_qp *q         = m->q;
  double **const   vectors[] = {&m->g, &m->p, &m->Ap, &m->z, &m->phi, &m->per_d, &m->lo, &m->hi, &m->before};
  const bool       is_plain  = o->preconditioner == BOUNDS_PRECONDITIONER_NONE;
  PetscFunctionBegin;
  for (size_t k = 0; k < sizeof vectors / sizeof *vectors; ++k)
    PetscCall(memory_alloc("vector of a quadratic program", m->n, sizeof(double), vectors[k]));
  PetscCall(MEMORY_ALLOC("mprgp", ARRAY(m->is_free, m->n), ARRAY(m->part, m->n_chunks)));
  PetscCall(bounds_face_create(q, o->preconditioner, &m->face));
  m->w = m->per_d;
  if (is_plain) PetscCall(memory_alloc("metric of a quadratic program", m->n, sizeof(double), &m->w));
  double largest = 0.0;
  for (int64_t i = 0; i < m->n; ++i) largest = fmax(largest, q->diagonal[i]);
  BOUNDS_CHUNKS(m->n)
  {
    BOUNDS_RANGE(m->n);
    for (int64_t i = first; i < last; ++i) {
      m->lo[i]    = q->lo ? q->lo[i] : -INFINITY;
      m->hi[i]    = q->hi ? q->hi[i] : INFINITY;
      m->per_d[i] = 1.0 / q->diagonal[i];
      if (is_plain) m->w[i] = 1.0 / largest;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Free gradient phi, chopped gradient beta and their norms for one chunk. */
static inline void split_chunk(const mprgp *m, int64_t c)
{
  BOUNDS_RANGE(m->n);
  const double alpha       = m->alpha;
  const double *restrict x = m->x, *restrict g = m->g, *restrict w = m->w, *restrict lo = m->lo, *restrict hi = m->hi,
                         *restrict per_d = m->per_d;
  double *restrict phi                   = m->phi;
  uint8_t *restrict is_free              = m->is_free;
  double nu2 = 0.0, beta2 = 0.0, reduced = 0.0;
/* Neither fmin nor byte variables in this loop, so that the compiler vectorises it; otherwise it takes a quarter of a solve. */
#pragma omp simd reduction(+ : nu2, beta2, reduced)
  for (int64_t i = first; i < last; ++i) {
    const double from_lo = x[i] - lo[i], from_hi = hi[i] - x[i], up = g[i] > 0.0 ? g[i] : 0.0, down = g[i] < 0.0 ? g[i] : 0.0;
    const double f_lo = from_lo > 0.0 ? g[i] : 0.0, f = from_hi > 0.0 ? f_lo : 0.0;
    const double at_hi = from_lo > 0.0 ? up : 0.0, at_lo = from_lo > 0.0 ? 0.0 : down;
    const double beta = from_hi > 0.0 ? at_lo : at_hi;
    const double size = fabs(f), far = alpha * w[i] * size, room = f > 0.0 ? from_lo : from_hi;
    const double cut = far < room ? far : room; /* length of the fixed step along -w phi, limited by the bound */
    phi[i]           = f;
    nu2 += per_d[i] * (f + beta) * (f + beta);
    beta2 += w[i] * beta * beta;
    reduced += cut * size;
  }
  for (int64_t i = first; i < last; ++i) is_free[i] = (x[i] > lo[i]) & (x[i] < hi[i]);
  m->part[c][0] = nu2, m->part[c][1] = beta2, m->part[c][2] = reduced;
}

static void add_split(mprgp *m)
{
  m->nu2     = bounds_sum(m->part, m->n_chunks, 0);
  m->beta2   = bounds_sum(m->part, m->n_chunks, 1);
  m->reduced = bounds_sum(m->part, m->n_chunks, 2) / m->alpha;
}

static void gradient(mprgp *m, bounds_result *r)
{
  const int64_t n          = m->n;
  const double *restrict b = m->q->b;
  double *restrict g       = m->g;
  m->q->apply(m->q->context, m->x, g);
  ++r->products;
  BOUNDS_CHUNKS(n)
  {
    BOUNDS_RANGE(n);
    for (int64_t i = first; i < last; ++i) g[i] -= b[i];
    split_chunk(m, c);
  }
  add_split(m);
}

static double objective(mprgp *m, const double *x)
{
  const int64_t n          = m->n;
  const double *restrict b = m->q->b, *restrict g = m->g;
  BOUNDS_CHUNKS(n)
  {
    BOUNDS_RANGE(n);
    double sum = 0.0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = first; i < last; ++i) sum += x[i] * (g[i] - b[i]);
    m->part[c][0] = sum;
  }
  return 0.5 * bounds_sum(m->part, m->n_chunks, 0);
}

/* Estimate of |W A| by power iteration from a fixed rough vector, plus 20 % because the estimate may be too small by that much. */
static double norm_of_operator(mprgp *m, bounds_result *r)
{
  double norm = 0.0;
  for (int64_t i = 0; i < m->n; ++i) m->p[i] = 1.0 + (double)((uint64_t)i * 2654435761u % 1024u) / 1024.0 * (i % 2 ? -1.0 : 1.0);
  for (int k = 0; k < POWER_STEPS; ++k) {
    m->q->apply(m->q->context, m->p, m->Ap);
    ++r->products;
    for (int64_t i = 0; i < m->n; ++i) m->Ap[i] *= m->w[i];
    const double before = sqrt(team_dot(m->n, m->p, m->p)), after = sqrt(team_dot(m->n, m->Ap, m->Ap));
    if (!(after > 0.0 && isfinite(after))) return 1.0;
    norm = after / before;
    for (int64_t i = 0; i < m->n; ++i) m->p[i] = m->Ap[i] / after;
  }
  return 1.2 * norm;
}

/* Gershgorin's bound of the norm of the grid's part, without products. The rest of A may add to it; `fixed_step` detects a step
 * that is too long. */
static double norm_of_grid(const mprgp *m)
{
  const grid_matrix *a   = m->q->grid;
  double             max = 0.0;
  for (int64_t i = 0; i < a->n; ++i) {
    double sum = 0.0;
    for (int k = 0; k < 6; ++k) sum += fabs(a->off[i][k]);
    max = fmax(max, m->w[i] * (m->q->diagonal[i] + sum));
  }
  for (int64_t i = a->n; i < m->n; ++i) max = fmax(max, 1.0);
  return max;
}

/* x <- P(x - step p); the old x is stored in `before`. */
static void project_step(mprgp *m, double step, const double *restrict p)
{
  const int64_t n    = m->n;
  double *restrict x = m->x, *restrict before = m->before;
  const double *restrict lo = m->lo, *restrict hi = m->hi;
  BOUNDS_CHUNKS(n)
  {
    BOUNDS_RANGE(n);
    for (int64_t i = first; i < last; ++i) {
      const double xi = x[i], to = xi - step * p[i];
      before[i] = xi;
      x[i]      = to < lo[i] ? lo[i] : to > hi[i] ? hi[i] : to;
    }
  }
}

/* x <- x - step p, g <- g - step Ap, and the gradient split at the new x, chunk by chunk while the data are in the cache. */
static void apply_step(mprgp *m, double step)
{
  const int64_t n    = m->n;
  double *restrict x = m->x, *restrict g = m->g;
  const double *restrict p = m->p, *restrict Ap = m->Ap, *restrict lo = m->lo, *restrict hi = m->hi;
  BOUNDS_CHUNKS(n)
  {
    BOUNDS_RANGE(n);
    for (int64_t i = first; i < last; ++i) {
      const double to = x[i] - step * p[i]; /* rounding must not violate the bounds */
      x[i]            = to < lo[i] ? lo[i] : to > hi[i] ? hi[i] : to;
      g[i] -= step * Ap[i];
    }
    split_chunk(m, c);
  }
  add_split(m);
}

/* *a_cg: step length to the minimum along -p. *a_f: largest feasible step length. INFINITY if there is none. */
static void compute_step_lengths(mprgp *m, bounds_result *r, double *a_cg, double *a_f)
{
  const int64_t n = m->n;
  m->q->apply(m->q->context, m->p, m->Ap);
  ++r->products;
  const double *restrict x = m->x, *restrict g = m->g, *restrict p = m->p, *restrict Ap = m->Ap, *restrict lo = m->lo, *restrict hi = m->hi;
  BOUNDS_CHUNKS(n)
  {
    BOUNDS_RANGE(n);
    double pg = 0.0, pAp = 0.0, room = INFINITY;
#pragma omp simd reduction(+ : pg, pAp) reduction(min : room)
    for (int64_t i = first; i < last; ++i) {
      const double to = p[i] > 0.0 ? lo[i] : hi[i], limit = p[i] != 0.0 ? (x[i] - to) / p[i] : INFINITY;
      pg += p[i] * g[i];
      pAp += p[i] * Ap[i];
      room = limit < room ? limit : room;
    }
    m->part[c][0] = pg, m->part[c][1] = pAp, m->part[c][2] = room;
  }
  const double pAp = bounds_sum(m->part, m->n_chunks, 1);
  *a_cg            = pAp > 0.0 ? bounds_sum(m->part, m->n_chunks, 0) / pAp : INFINITY;
  *a_f             = INFINITY;
  for (int64_t c = 0; c < m->n_chunks; ++c) *a_f = fmin(*a_f, m->part[c][2]);
}

/* Update the preconditioner for the current free set and compute the first conjugate gradient direction. */
static void start_directions(mprgp *m)
{
  const int64_t n                 = m->n;
  double *restrict p              = m->p;
  const double *restrict z        = m->z;
  const uint8_t *restrict is_free = m->is_free;
  bounds_face_update(m->face, m->is_free);
  bounds_face_apply(m->face, m->phi, m->z);
  BOUNDS_CHUNKS(n)
  {
    BOUNDS_RANGE(n);
    for (int64_t i = first; i < last; ++i) p[i] = is_free[i] ? z[i] : 0.0;
  }
}

/* Next direction: z made conjugate to p. Unknowns that reached a bound since the last update of the preconditioner are excluded. */
static void update_direction(mprgp *m)
{
  const int64_t n    = m->n;
  double *restrict p = m->p, *restrict z = m->z;
  const double *restrict Ap       = m->Ap;
  const uint8_t *restrict is_free = m->is_free;
  bounds_face_apply(m->face, m->phi, m->z);
  BOUNDS_CHUNKS(n)
  {
    BOUNDS_RANGE(n);
    double zAp = 0.0, pAp = 0.0;
    for (int64_t i = first; i < last; ++i) z[i] = is_free[i] ? z[i] : 0.0;
#pragma omp simd reduction(+ : zAp, pAp)
    for (int64_t i = first; i < last; ++i) zAp += z[i] * Ap[i], pAp += p[i] * Ap[i];
    m->part[c][0] = zAp, m->part[c][1] = pAp;
  }
  const double beta = bounds_sum(m->part, m->n_chunks, 0) / bounds_sum(m->part, m->n_chunks, 1);
  BOUNDS_CHUNKS(n)
  {
    BOUNDS_RANGE(n);
    for (int64_t i = first; i < last; ++i) p[i] = is_free[i] ? z[i] - beta * p[i] : 0.0;
  }
}

static void restore_iterate(mprgp *m) { memcpy(m->x, m->before, (size_t)m->n * sizeof *m->x); }

/* x <- P(x - alpha w phi). If the objective does not decrease, alpha is too large: it is halved, also for later iterations. */
static void fixed_step(mprgp *m, bounds_result *r)
{
  const double  f = objective(m, m->x), slack = 1e-13 * fabs(f);
  const int64_t n = m->n;
  for (int64_t i = 0; i < n; ++i) m->z[i] = m->w[i] * m->phi[i];
  for (int k = 0;; ++k) {
    project_step(m, m->alpha, m->z);
    gradient(m, r);
    if (objective(m, m->x) <= f + slack || k == 30) return;
    restore_iterate(m);
    m->alpha *= 0.5;
  }
}

/* Expansion: unknowns reach bounds. A whole projected step if it lowers the objective; else the largest feasible step and a fixed step. */
static void expand_active_set(mprgp *m, bounds_result *r, bool is_whole, double a_cg, double a_f)
{
  if (is_whole && isfinite(a_cg)) {
    const double f = objective(m, m->x);
    project_step(m, a_cg, m->p);
    gradient(m, r);
    if (objective(m, m->x) <= f) return;
    restore_iterate(m);
    gradient(m, r);
  }
  apply_step(m, a_f);
  fixed_step(m, r);
}

/* Proportioning: release constraints by a step along the chopped gradient, to the minimum or to the nearest bound. False:
 * unbounded below. */
static bool release_constraints(mprgp *m, bounds_result *r)
{
  double a_cg, a_f;
  for (int64_t i = 0; i < m->n; ++i) {
    const bool at_lo = m->x[i] <= m->lo[i], at_hi = m->x[i] >= m->hi[i];
    m->p[i] = at_lo == at_hi ? 0.0 : m->w[i] * (at_lo ? fmin(m->g[i], 0.0) : fmax(m->g[i], 0.0));
  }
  compute_step_lengths(m, r, &a_cg, &a_f);
  const double step = fmin(a_cg, a_f);
  if (!isfinite(step)) return false;
  apply_step(m, step);
  return true;
}

static void run_mprgp_iterations(mprgp *m, const bounds_options *o, bounds_result *r, bool is_original)
{
  const int64_t max        = o->max_iterations > 0 ? o->max_iterations : ITERATIONS;
  bool          is_restart = true;
  while (!(sqrt(m->nu2) <= r->target)) {
    if (!isfinite(m->nu2)) {
      r->status = BOUNDS_NOT_FINITE;
      return;
    }
    if (r->iterations >= max) {
      r->status = BOUNDS_ITERATIONS;
      return;
    }
    ++r->iterations;
    if (m->beta2 > m->reduced) { /* Gamma = 1 in the paper's notation */
      ++r->outer;
      if (!release_constraints(m, r)) {
        r->status = BOUNDS_UNBOUNDED;
        return;
      }
      is_restart = true;
      continue;
    }
    double a_cg, a_f;
    if (is_restart) start_directions(m);
    else update_direction(m);
    compute_step_lengths(m, r, &a_cg, &a_f);
    if (!isfinite(a_cg) && !isfinite(a_f)) {
      r->status = BOUNDS_UNBOUNDED;
      return;
    }
    if (a_cg <= a_f) {
      apply_step(m, a_cg);
      is_restart = false;
    } else {
      ++r->outer;
      expand_active_set(m, r, !is_original && sqrt(m->nu2) > SWITCH * r->target, a_cg, a_f);
      is_restart = true;
    }
  }
}

/* Move unknowns at a bound with a negligible gradient slightly off it, so that they are free from the first iteration. Otherwise the free set grows
 * by one layer of cells per iteration, as inside a liquid in its first step. The displacement is negligible relative to the target. */
static void release_weak_constraints(mprgp *m, bounds_result *r)
{
  const double slight = 1e-3 * r->target / sqrt((double)m->n);
  int64_t      count  = 0;
  for (int64_t i = 0; i < m->n; ++i) {
    const double root = sqrt(m->q->diagonal[i]), by = slight / root;
    const bool   at_lo = m->x[i] <= m->lo[i], at_hi = m->x[i] >= m->hi[i];
    if (at_lo == at_hi || fabs(m->g[i]) > slight * root || !(m->hi[i] - m->lo[i] > by)) continue;
    m->x[i] += at_lo ? by : -by;
    ++count;
  }
  if (count > 0) gradient(m, r);
}

static PetscErrorCode solve_mprgp(const bounds_qp *q, const bounds_options *o, bool is_original, double *x, bounds_result *r)
{
  mprgp m = {.q = q, .n = q->n, .n_chunks = bounds_chunks(q->n), .x = x};
  PetscFunctionBegin;
  PetscErrorCode code = mprgp_create(&m, o);
  if (!code) {
    m.alpha = r->alpha_bar;
    if (!(m.alpha > 0.0)) m.alpha = 1.9 / (q->grid ? norm_of_grid(&m) : norm_of_operator(&m, r));
    gradient(&m, r);
    if (!is_original && sqrt(m.nu2) > r->target) release_weak_constraints(&m, r);
    run_mprgp_iterations(&m, o, r, is_original);
    r->alpha_bar = m.alpha;
  }
  mprgp_free(&m);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode bounds_solve_mprgp(const bounds_qp *q, const bounds_options *o, double *x, bounds_result *r)
{
  return solve_mprgp(q, o, false, x, r);
}
PetscErrorCode bounds_solve_mprgp_original(const bounds_qp *q, const bounds_options *o, double *x, bounds_result *r)
{
  return solve_mprgp(q, o, true, x, r);
}
