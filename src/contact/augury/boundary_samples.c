/* Sample points on boundary elements, see boundary_samples.h. */
#include "contact/augury/boundary_samples.h"
#include "core/math3.h"
#include "core/memory.h"
#include "core/random.h"
#include "core/team.h"
#include <inttypes.h>
#include <math.h>
#include <omp.h>

/* ---- maximum-entropy weights ---- */

enum { MOST_STEPS = 60, MOST_HALVINGS = 60 };
#define MEAN_ERROR 1e-15 /* error of the mean relative to the extent of the points */

/* log sum_j exp(-l . y_j); w [n]: the terms divided by their sum. */
static double log_partition(int n, const double (*y)[2], const double l[2], double *w)
{
  double top = -INFINITY, sum = 0.0;
  for (int j = 0; j < n; ++j) top = fmax(top, -(l[0] * y[j][0] + l[1] * y[j][1]));
  for (int j = 0; j < n; ++j) sum += w[j] = exp(-(l[0] * y[j][0] + l[1] * y[j][1]) - top);
  for (int j = 0; j < n; ++j) w[j] /= sum;
  return top + log(sum); // cppcheck-suppress invalidFunctionArg; a term of the sum is exp(0)
}

bool max_entropy_weights(int n, const double (*y)[2], double *w)
{
  double l[2] = {0.0, 0.0}, size = 0.0, value = log_partition(n, y, l, w);
  for (int j = 0; j < n; ++j) size = fmax(size, hypot(y[j][0], y[j][1]));
  for (int step = 0; step < MOST_STEPS; ++step) {
    double r[2] = {0.0, 0.0}, H[3] = {0.0, 0.0, 0.0};
    for (int j = 0; j < n; ++j) {
      r[0] += w[j] * y[j][0], r[1] += w[j] * y[j][1];
      H[0] += w[j] * y[j][0] * y[j][0], H[1] += w[j] * y[j][0] * y[j][1], H[2] += w[j] * y[j][1] * y[j][1];
    }
    H[0] -= r[0] * r[0], H[1] -= r[0] * r[1], H[2] -= r[1] * r[1];
    const double error = hypot(r[0], r[1]), det = H[0] * H[2] - H[1] * H[1];
    if (error <= MEAN_ERROR * size) return true;
    if (!(det > 0.0)) return false;
    const double d[2]  = {(H[2] * r[0] - H[1] * r[1]) / det, (H[0] * r[1] - H[1] * r[0]) / det}; /* gradient of log Z is -r */
    double       share = 1.0;
    for (int k = 0;; ++k, share *= 0.5) {
      const double trial[2] = {l[0] + share * d[0], l[1] + share * d[1]}, there = log_partition(n, y, trial, w);
      const bool   is_round_off = fabs(there - value) <= 1e-14 * fmax(1.0, fabs(value));
      if (there < value || is_round_off) {
        l[0] = trial[0], l[1] = trial[1], value = there;
        break;
      }
      if (k == MOST_HALVINGS) return false;
    }
    if (step + 1 == MOST_STEPS) return error <= 1e3 * MEAN_ERROR * size;
  }
  return false;
}

/* ---- sampling ---- */

/* Minimum distance of random points ("darts") in cells. Their mean distance is then at most a quarter of a cell. */
#define RADIUS 0.2
#define SPACING 0.25
#define PACKING 0.7 /* approximate number of darts per area radius^2 */
enum { MOST_POINTS = 1024, WANTED_POINTS = 512, LEAST_DARTS = 60, DARTS_PER_POINT = 30, STREAM_DART = 0x617567 };

PetscErrorCode boundary_corner_masses(const augury_boundary *b, double (**share)[3])
{
  int32_t *n_elements;
  PetscFunctionBegin;
  PetscCall(memory_alloc("elements of nodes", b->n_nodes, sizeof *n_elements, &n_elements));
  PetscErrorCode code = memory_alloc("masses of corners", b->n_elements, sizeof **share, share);
  for (int64_t k = 0; k < 3 * b->n_elements && !code; ++k) ++n_elements[b->element[k]];
  for (int64_t k = 0; k < 3 * b->n_elements && !code; ++k) (*share)[k / 3][k % 3] = b->mass[b->element[k]] / n_elements[b->element[k]];
  memory_free(&n_elements);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The points of one triangle: first the three points halfway between centre of mass and corners, which guarantee that the centre of mass
 * is inside their convex hull; then darts. */
typedef struct {
  const double *corner[3];
  double        center[3]; /* barycentric */
  double        radius;
  int           n, most;
  double (*place)[3], (*at)[3];
} cloud;

static void boundary_samples_add(cloud *c, const double place[3])
{
  double *at = c->at[c->n];
  v3_copy(c->place[c->n++], place);
  for (int k = 0; k < 3; ++k) at[k] = place[0] * c->corner[0][k] + place[1] * c->corner[1][k] + place[2] * c->corner[2][k];
}

static bool is_free(const cloud *c, const double place[3])
{
  double at[3];
  for (int k = 0; k < 3; ++k) at[k] = place[0] * c->corner[0][k] + place[1] * c->corner[1][k] + place[2] * c->corner[2][k];
  for (int j = -3; j < c->n; ++j) {
    double d[3];
    v3_sub(d, at, j < 0 ? c->corner[j + 3] : c->at[j]);
    if (v3_dot(d, d) < c->radius * c->radius) return false;
  }
  return true;
}

static void boundary_samples_fill(cloud *c, double area, uint64_t element, uint64_t round)
{
  const double wanted = PACKING * area / (c->radius * c->radius);
  const int    darts  = (int)fmin(LEAST_DARTS + DARTS_PER_POINT * wanted, 1e6);
  for (int i = 0; i < 3; ++i) {
    double half[3];
    for (int k = 0; k < 3; ++k) half[k] = 0.5 * (c->center[k] + (i == k));
    boundary_samples_add(c, half);
  }
  for (int q = 0; q < darts && c->n < c->most; ++q) {
    uint64_t bits[2];
    random_bits(round, element, STREAM_DART + ((uint64_t)q << 24), bits);
    double a = random_unit_interval(bits[0]), b = random_unit_interval(bits[1]);
    if (a + b > 1.0) a = 1.0 - a, b = 1.0 - b;
    const double place[3] = {1.0 - a - b, a, b};
    if (is_free(c, place)) boundary_samples_add(c, place);
  }
}

/* Weights w [n] of the cloud. If the iteration fails (mass ratios of corners of 10^14), only the halfway points have weights, in closed
 * form: sum_i c_i (c + e_i)/2 = c. */
static void boundary_samples_weigh(const cloud *c, double (*y)[2], double *w)
{
  for (int j = 0; j < c->n; ++j)
    for (int k = 0; k < 2; ++k) y[j][k] = c->center[k + 1] - c->place[j][k + 1];
  if (max_entropy_weights(c->n, (const double(*)[2])y, w)) return;
  for (int j = 0; j < c->n; ++j) w[j] = j < 3 ? c->center[j] : 0.0;
}

static PetscErrorCode check_size(double area, double longest, double dx, int64_t e, const int32_t node[3])
{
  PetscFunctionBegin;
  PetscCheck(area > 1e-12 * longest * longest, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "boundary triangle %" PRId64 " of nodes %d, %d, %d has no area: mend the mesh", e, node[0], node[1], node[2]);
  const double wanted = PACKING * area / (RADIUS * RADIUS * dx * dx);
  PetscCheck(wanted < WANTED_POINTS, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "boundary triangle %" PRId64 " of nodes %d, %d, %d would need %.3g points for cells of %g m, at most %d: expected a "
             "finer mesh, or cells of at least %.3g m",
             e, node[0], node[1], node[2], wanted, dx, WANTED_POINTS, dx * sqrt(wanted / WANTED_POINTS));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static double boundary_samples_measure(const augury_boundary *b, const double *x, int64_t e, double *longest, double *round)
{
  const int32_t *node = b->element + 3 * e;
  double         side[3][3], normal[3];
  *longest = *round = 0.0;
  for (int i = 0; i < 3; ++i) {
    v3_sub(side[i], x + 3 * (int64_t)node[(i + 1) % 3], x + 3 * (int64_t)node[i]);
    *longest = fmax(*longest, v3_norm(side[i]));
    *round += v3_norm(side[i]);
  }
  v3_cross(normal, side[0], side[1]);
  return 0.5 * v3_norm(normal);
}

/* Upper bound of the number of points of element e: points with minimum distance r in a convex plane region number at most
 * 2/sqrt(3) area/r^2 + perimeter/(2 r) + 1 [Oler1961]. */
static int64_t most_points(double area, double longest, double round, double dx)
{
  const double r = RADIUS * dx, most = 3.0 + 2.0 / sqrt(3.0) * area / (r * r) + 0.5 * round / r + 2.0;
  return longest > SPACING * dx ? (int64_t)fmin(most, MOST_POINTS) : 0;
}

/* Compute the points of element e; returns their number. y [MOST_POINTS][2] and at [MOST_POINTS + 3][3] are work space. */
static int sample(const augury_boundary *b, const double *x, double dx, uint64_t round, const double share[3], int64_t e, int64_t most,
                  double (*y)[2], double (*at)[3], double (*place)[3], double *weight)
{
  const int32_t *node = b->element + 3 * e;
  const double   mass = share[0] + share[1] + share[2];
  double         longest, length;
  cloud          c = {.radius = RADIUS * dx, .most = (int)most, .place = place, .at = at};
  for (int i = 0; i < 3; ++i) c.corner[i] = x + 3 * (int64_t)node[i], c.center[i] = share[i] / mass;
  boundary_samples_fill(&c, boundary_samples_measure(b, x, e, &longest, &length), (uint64_t)e, round);
  boundary_samples_weigh(&c, y, weight);
  return c.n;
}

/* Storage range of each element's points, start [n_elements + 1], including elements that keep their points. */
static PetscErrorCode boundary_samples_reserve(const augury_boundary *b, const double *x, double dx, const boundary_samples *old,
                                               const bool *is_new, int64_t *start)
{
  PetscFunctionBegin;
  start[0] = 0;
  for (int64_t e = 0; e < b->n_elements; ++e) {
    if (!is_new || is_new[e]) {
      double       longest, round;
      const double area = boundary_samples_measure(b, x, e, &longest, &round);
      PetscCall(check_size(area, longest, b->is_bare ? INFINITY : dx, e, b->element + 3 * e));
      start[e + 1] = start[e] + (b->is_bare ? 0 : most_points(area, longest, round, dx));
    } else start[e + 1] = start[e] + old->start[e + 1] - old->start[e];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sample all elements into `loose`: n[e] points from loose->start[e] on. */
static void sample_all(const augury_boundary *b, const double *x, double dx, uint64_t round, const boundary_samples *old,
                       const bool *is_new, const double (*share)[3], double (*work)[5], boundary_samples *loose, int32_t *n)
{
#pragma omp parallel for schedule(dynamic, 16)
  for (int64_t e = 0; e < b->n_elements; ++e) {
    const int64_t at = loose->start[e], most = loose->start[e + 1] - at;
    double       *own = work[(int64_t)omp_get_thread_num() * (MOST_POINTS + 3)];
    n[e]              = (int32_t)most;
    if (most > 0 && is_new && !is_new[e]) {
      memcpy(loose->place + at, old->place + old->start[e], (size_t)most * sizeof *loose->place);
      memcpy(loose->weight + at, old->weight + old->start[e], (size_t)most * sizeof *loose->weight);
    } else if (most > 0)
      n[e] = sample(b, x, dx, round, share[e], e, most, (double(*)[2])own, (double(*)[3])(own + 2 * MOST_POINTS), loose->place + at,
                    loose->weight + at);
    loose->corner[e] = n[e] > 0 ? 3.0 / (3.0 + n[e]) : 1.0; /* a corner has the same mean mass as a point */
  }
}

/* Remove the gaps between the points of successive elements, in place. */
static PetscErrorCode close_gaps(int64_t n_elements, const int32_t *n, boundary_samples *s)
{
  PetscFunctionBegin;
  s->n = 0;
  for (int64_t e = 0; e < n_elements; ++e) {
    if (n[e] > 0) { /* without points the arrays can be NULL */
      memmove(s->place + s->n, s->place + s->start[e], (size_t)n[e] * sizeof *s->place);
      memmove(s->weight + s->n, s->weight + s->start[e], (size_t)n[e] * sizeof *s->weight);
    }
    s->start[e] = s->n;
    s->n += n[e];
  }
  s->start[n_elements] = s->n;
  PetscCall(MEMORY_RESIZE("boundary samples", ARRAY(s->place, s->n), ARRAY(s->weight, s->n)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode make(const augury_boundary *b, const double *x, double dx, uint64_t round, const boundary_samples *old,
                           const bool *is_new, boundary_samples *out)
{
  double(*share)[3] = NULL, (*work)[5] = NULL;
  int32_t *n = NULL;
  PetscFunctionBegin;
  *out                = (boundary_samples){0};
  PetscErrorCode code = boundary_corner_masses(b, &share);
  if (!code)
    code = MEMORY_ALLOC("boundary samples", ARRAY(out->start, b->n_elements + 1), ARRAY(out->corner, b->n_elements),
                        ARRAY(n, b->n_elements), ARRAY(work, team_threads() * (MOST_POINTS + 3)));
  if (!code) code = boundary_samples_reserve(b, x, dx, old, is_new, out->start);
  if (!code)
    code = MEMORY_ALLOC("boundary samples", ARRAY(out->place, out->start[b->n_elements]), ARRAY(out->weight, out->start[b->n_elements]));
  if (!code) sample_all(b, x, dx, round, old, is_new, (const double(*)[3])share, work, out, n);
  if (!code) code = close_gaps(b->n_elements, n, out);
  MEMORY_FREE(&share, &work, &n);
  if (code) boundary_samples_destroy(out);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode boundary_samples_create(const augury_boundary *b, const double *x, double dx, uint64_t round, boundary_samples *out)
{
  PetscFunctionBegin;
  PetscCall(make(b, x, dx, round, NULL, NULL, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode boundary_samples_renew(const augury_boundary *b, const double *x, double dx, uint64_t round, const bool *is_new,
                                      boundary_samples *s)
{
  boundary_samples renewed;
  PetscFunctionBegin;
  PetscCall(make(b, x, dx, round, s, is_new, &renewed));
  boundary_samples_destroy(s);
  *s = renewed;
  PetscFunctionReturn(PETSC_SUCCESS);
}

void boundary_samples_destroy(boundary_samples *s)
{
  MEMORY_FREE(&s->start, &s->place, &s->weight, &s->corner);
  s->n = 0;
}
