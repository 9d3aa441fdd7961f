/* Convex contact: laws against their definition, the solver against certificates and an independent one, reduction, threads. */
#include <float.h>
#include "sap_fixture.h"
#include "core/team.h"
#include "optim/friction/cone.h"
#include "optim/optim.h"
#include "optim/sap/sap_system.h"

static const sap_options exact_search = {SAP_SEARCH_EXACT, 1e-10, 200};

/* ---- one contact ---- */

static sap_contact random_contact(uint64_t seed, sap_model model)
{
  const sap_parameters step = {.dt                       = 0.01,
                               .relaxation               = 0.02 * random_u01(seed, 0, 1),
                               .min_contact_period       = 1.0,
                               .stiction_tolerance       = pow(10, -3.0 * random_u01(seed, 1, 1)),
                               .overlap_correction_speed = INFINITY,
                               .dissipation              = 10.0 * random_u01(seed, 2, 1),
                               .slip                     = 1e-2};
  const sap_source     s    = {.mu           = random_index(seed, 3, 1, 8) ? 2.0 * random_u01(seed, 4, 1) : 0.0,
                               .gap          = random_range(seed, 5, 1, -2e-3, 5e-4),
                               .stiffness    = pow(10.0, 1.0 + 5.0 * random_u01(seed, 6, 1)),
                               .w            = 0.5 + random_u01(seed, 7, 1),
                               .normal_speed = random_range(seed, 8, 1, -0.2, 0.1)};
  return sap_contact_make(model, &step, &s);
}

static void velocity_of(uint64_t seed, double u[3])
{
  for (int i = 0; i < 3; ++i) u[i] = random_range(seed, (uint64_t)i, 2, -0.2, 0.2);
}

/* K ∋ r  _|_  x = u - bias + R r ∈ K*: the conditions of the projection in the norm of R. */
static void regularised_law_is_a_complementarity(void **state)
{
  int seen[3] = {0};
  (void)state;
  for (uint64_t seed = 0; seed < test_samples(3000); ++seed) {
    const sap_contact c = random_contact(seed, SAP_REGULARISED);
    double            u[3], r[3];
    velocity_of(seed, u);
    sap_law_regularised(&c, u, r, NULL);
    const double x[3] = {u[0] - c.bias + c.R_n * r[0], u[1] + c.R_t * r[1], u[2] + c.R_t * r[2]};
    const double size = v3_norm(r) + 1.0;
    assert_true(hypot(r[1], r[2]) <= c.mu * r[0] + 1e-13 * size);
    assert_true(c.mu * hypot(x[1], x[2]) <= x[0] + 1e-13 * size);
    assert_close(v3_dot(r, x), 0.0, 1e-13 * size * size);
    seen[r[0] <= 0.0 ? 0 : sap_law_slides(&c, r) ? 1 : 2]++;
  }
  for (int k = 0; k < 3; ++k) assert_true(seen[k] > test_samples(100)); /* open, slides, sticks */
  assert_no_leak();
}

/* Inverse of the law at r: u itself if it slides with the same speed, and one value of u if it sticks. */
static void velocities_are_found_back(void **state)
{
  int seen[3] = {0};
  (void)state;
  for (uint64_t seed = 0; seed < test_samples(3000); ++seed) {
    const sap_contact c = random_contact(seed, SAP_REGULARISED);
    double            u[3], r[3], there[3], again[3];
    velocity_of(seed, u);
    sap_law_regularised(&c, u, r, NULL);
    const int piece = r[0] <= 0.0 ? 0 : c.mu > 0.0 ? 1 + sap_law_slides(&c, r) : 0;
    ++seen[piece];
    if (piece == 0) continue;
    const double speed = hypot(u[1], u[2]), near = 1e-12 * (1.0 + c.mu * speed + fabs(c.bias));
    sap_law_velocity(&c, r, speed, there);
    for (int i = 0; i < 3; ++i) assert_close(there[i], u[i], near + (piece == 2 ? 1e-6 * c.R_t * c.mu * r[0] * (1.0 + c.mu) : 0.0));
    sap_law_velocity(&c, r, 0.0, there); /* as slowly as it can */
    sap_law_regularised(&c, there, again, NULL);
    for (int i = 0; i < 3; ++i) assert_close(again[i], r[i], 1e-9 * v3_norm(r));
  }
  for (int k = 1; k < 3; ++k) assert_true(seen[k] > test_samples(100));
  assert_no_leak();
}

/* Stops, springs, motors at and below their limits, empty rows. */
static constraint random_constraint(uint64_t seed)
{
  constraint c = constraint_none();
  for (int i = 0; i < 3; ++i) {
    const int    kind = (int)random_index(seed, (uint64_t)i, 30, 5);
    const double most = 1e-2 * random_u01(seed, (uint64_t)i, 31);
    c.bias[i]         = random_range(seed, (uint64_t)i, 32, -0.1, 0.1);
    c.R[i]            = pow(10.0, random_range(seed, (uint64_t)i, 33, -2.0, 1.0));
    c.lower[i]        = kind == 0 || kind == 4 ? 0.0 : kind == 3 ? -most : -INFINITY;
    c.upper[i]        = kind == 1 || kind == 4 ? 0.0 : kind == 3 ? most : INFINITY;
  }
  return c;
}

/* r = -dl/du and slope = -dr/du by central differences, which are exact where no bound is passed (l is of second degree), and
 * within the change of slope where one is; l is never below its tangent. */
static void constraints_are_derivatives(void **state)
{
  int seen[2] = {0};
  (void)state;
  for (uint64_t seed = 0; seed < test_samples(2000); ++seed) {
    const constraint c = random_constraint(seed);
    double           u[3], r[3], slope[3], low[3], high[3], at[3];
    velocity_of(seed + 500, u);
    const double here = constraint_law(&c, u, r, slope), h = 1e-5;
    for (int i = 0; i < 3; ++i) {
      double v[3] = {u[0], u[1], u[2]};
      assert_true(r[i] >= c.lower[i] && r[i] <= c.upper[i]);
      v[i]              = u[i] + h;
      const double up   = constraint_law(&c, v, high, NULL);
      v[i]              = u[i] - h;
      const double down = constraint_law(&c, v, low, NULL), stiff = 1.0 / c.R[i];
      const double bend = h * stiff + 1e-9 * (fabs(here) + fabs(r[i]) + 1.0);
      assert_close((up - down) / (2 * h), -r[i], fabs(high[i] - r[i] + low[i] - r[i]) + bend * 1e-2);
      const bool is_smooth = (low[i] == high[i]) || fabs(low[i] - high[i] - 2 * h * stiff) < 1e-9 * h * stiff + 1e-14 * fabs(r[i]);
      if (is_smooth) assert_close(-(high[i] - low[i]) / (2 * h), slope[i], 1e-6 * stiff + 1e-9);
      ++seen[slope[i] > 0.0];
    }
    velocity_of(seed + 900, at);
    double there = here;
    for (int i = 0; i < 3; ++i) there -= r[i] * (at[i] - u[i]);
    assert_true(constraint_law(&c, at, low, NULL) >= there - 1e-12 * (1.0 + fabs(here) + fabs(there)));
  }
  assert_true(seen[0] > test_samples(500) && seen[1] > test_samples(500));
  assert_no_leak();
}

typedef double (*law)(const sap_contact *, const double *, double *, double *);

/* What differences of a law may be off by at u: sums of the sizes of what l and r are made of, which rounding errors are parts of,
 * and bounds of third derivatives of l and of second ones of r, where no kink is near. rho: what it bends over across the normal
 * [m/s]. */
typedef struct {
  double energy, impulse, third, fourth;
} law_size;

static law_size size_of_law(sap_model model, const sap_contact *c, const double u[3], const double r[3], double size, double rho)
{
  if (model == SAP_REGULARISED) {
    /* of second degree in bias - u_N + mu |u_T|: only |u_T| has third derivatives, up to 1.2 / |u_T|^2 */
    const double reach = fabs(c->bias) + fabs(u[0]) + fabs(u[1]) + fabs(u[2]);
    return (law_size){2.0 * v3_norm(r) * reach, 4.0 * size * reach, 6.0 * size / rho, 30.0 * size / (rho * rho)};
  }
  const double k = c->stiffness, d = c->dissipation, v = fabs(u[0]), force = fabs(c->force), soft = hypot(rho, c->slip);
  return (law_size){c->dt * v * (force + k * v) * (1.0 + d * v) + c->limit * (soft + c->slip) + v3_norm(r) * v3_norm(u),
                    c->dt * (force + k * v) * (1.0 + d * v) + c->limit + size * v3_norm(u),
                    fmax(2.0 * d * k * c->dt, 1.2 * c->limit / (soft * soft)), 12.0 * c->limit / (soft * soft * soft)};
}

/* 0 open, 1 slides, 2 sticks or has a normal force only: laws have kinks between these. */
static int piece_of(sap_model model, const sap_contact *c, const double r[3])
{
  return r[0] <= 0.0 ? 0 : model == SAP_REGULARISED && sap_law_slides(c, r) ? 1 : 2;
}

static double largest(const double G[9], double size)
{
  for (int k = 0; k < 9; ++k) size = fmax(size, fabs(G[k]));
  return size;
}

/* r = -dl/du and G = -dr/du by central differences with the step that takes most from both of their errors, eps^(1/3) of what the
 * law bends over. What they may be off by is h^2/6 of the next derivative and the rounding errors of some ten operations over h;
 * over a kink, of r, h times the larger G, and of G anything. */
static void laws_are_derivatives(void **state)
{
  const law      laws[2] = {sap_law_regularised, sap_law_lagged};
  const char    *asked   = getenv("SAP_PROBLEMS");
  const uint64_t n       = 600 + (asked ? strtoull(asked, NULL, 10) : 0);
  const double   eps     = 8.0 * DBL_EPSILON;
  uint64_t       tested  = 0;
  (void)state;
  for (int model = 0; model < 2; ++model)
    for (uint64_t seed = 0; seed < n; ++seed) {
      const sap_contact c = random_contact(seed, (sap_model)model);
      double            u[3], r[3], G[9], low[3], high[3], any[9];
      velocity_of(seed + 7000, u);
      laws[model](&c, u, r, G);
      const double rho = hypot(u[1], u[2]), h = cbrt(DBL_EPSILON) * rho, size = largest(G, 0.0);
      for (int i = 0; i < 3; ++i) {
        double v[3]         = {u[0], u[1], u[2]}, g_low[9], g_high[9];
        v[i]                = u[i] + h;
        const double up     = laws[model](&c, v, high, g_high);
        v[i]                = u[i] - h;
        const double   down = laws[model](&c, v, low, g_low), most = largest(g_low, largest(g_high, size));
        const int      here      = piece_of((sap_model)model, &c, r);
        const bool     is_smooth = piece_of((sap_model)model, &c, high) == here && piece_of((sap_model)model, &c, low) == here;
        const law_size s         = size_of_law((sap_model)model, &c, u, r, most, rho);
        assert_close((up - down) / (2 * h), -r[i], h * h / 6.0 * s.third + eps * s.energy / h + (is_smooth ? 0.0 : most * h));
        for (int k = 0; k < 3 && is_smooth; ++k)
          assert_close(-(high[k] - low[k]) / (2 * h), G[3 * k + i], h * h / 6.0 * s.fourth + eps * s.impulse / h);
        tested += is_smooth && size > 0.0;
      }
      for (int k = 0; k < 9; ++k) {
        assert_close(G[k], G[3 * (k % 3) + k / 3], 1e-14 * size);
        any[k] = random_range(seed, (uint64_t)k, 3, -1.0, 1.0);
      }
      for (int k = 0; k < 3; ++k) { /* positive semidefinite */
        const double *x   = any + 3 * k;
        double        sum = 0.0;
        for (int i = 0; i < 9; ++i) sum += x[i / 3] * G[i] * x[i % 3];
        assert_true(sum >= -1e-14 * size);
      }
    }
  assert_true(tested > 3 * n);
  assert_no_leak();
}

/* Spring and damper of the user's, in closed form; and no spring's period below min_contact_period dt. */
static void compliance_is_the_springs(void **state)
{
  const sap_parameters step = {.dt                       = 0.01,
                               .relaxation               = 0.02,
                               .min_contact_period       = 1.0,
                               .stiction_tolerance       = 1e-3,
                               .overlap_correction_speed = INFINITY,
                               .slip                     = 1e-4};
  const sap_source     soft = {.mu = 0.5, .gap = -1e-3, .stiffness = 200.0, .w = 1.0};
  const sap_source     hard = {.mu = 0.5, .gap = -1e-3, .stiffness = INFINITY, .w = 2.0};
  const double         u[3] = {-0.02, 0.0, 0.0};
  double               r[3];
  sap_contact          c = sap_contact_make(SAP_REGULARISED, &step, &soft);
  (void)state;
  sap_law_regularised(&c, u, r, NULL); /* r/dt = -k (gap + dt u) - relaxation k u */
  assert_close(r[0], 0.01 * (-200.0 * (-1e-3 + 0.01 * -0.02) - 0.02 * 200.0 * -0.02), 1e-15);
  /* k_eff = 1/(R dt (dt + relaxation)); without damper, period 2 pi (m/k)^1/2 = dt */
  c = sap_contact_make(SAP_REGULARISED, &step, &hard);
  assert_close(2.0 * M_PI * sqrt(0.01 * 0.01 * c.R_n / 2.0), 0.01, 1e-15);
  const sap_source open     = {.mu = 0.5, .gap = 1e-3, .stiffness = 200.0, .w = 1.0};
  const double     touch[3] = {-0.1, 0.3, 0.0}, past[3] = {-0.11, 0.0, 0.0};
  c = sap_contact_make(SAP_REGULARISED, &step, &open); /* an open gap closes exactly, without a damper that would act before */
  sap_law_regularised(&c, (double[3]){-0.1, 0.0, 0.0}, r, NULL);
  assert_close(r[0], 0.0, 1e-15);
  sap_law_regularised(&c, past, r, NULL);
  assert_close(r[0], 0.01 * 200.0 * 0.01 * 0.01, 1e-15);
  c = sap_contact_make(SAP_LAGGED, &step, &open); /* no normal impulse in the last step: no friction */
  sap_law_lagged(&c, touch, r, NULL);
  assert_close(r[1], 0.0, 0.0);
  assert_no_leak();
}

/* Deep overlaps separate no faster than overlap_correction_speed, with the same load at rest; a given stiffness gives its own force. */
static void overlaps_part_slowly(void **state)
{
  const sap_parameters step = {
      .dt = 0.01, .relaxation = 0.02, .min_contact_period = 1.0, .stiction_tolerance = 1e-3, .overlap_correction_speed = 0.1, .slip = 1e-4};
  sap_parameters free = step, held = step;
  double         r[3], all[3];
  const double   rest[3] = {0.0, 0.0, 0.0}, out[3] = {0.1, 0.0, 0.0};
  (void)state;
  free.overlap_correction_speed = INFINITY, held.overlap_correction_speed = 0.0;
  for (int k = 0; k < 4; ++k) {
    const double      gap      = (double[]){1e-3, -1e-3, -0.0299, -0.5}[k];
    const sap_source  hard     = {.mu = 0.5, .gap = gap, .stiffness = INFINITY, .w = 2.0};
    const sap_source  soft     = {.mu = 0.5, .gap = gap, .stiffness = 200.0, .w = 2.0};
    const sap_contact c        = sap_contact_make(SAP_REGULARISED, &step, &hard);
    const sap_contact as_it_is = sap_contact_make(SAP_REGULARISED, &free, &hard);
    const sap_contact spring   = sap_contact_make(SAP_REGULARISED, &step, &soft);
    const sap_contact still    = sap_contact_make(SAP_REGULARISED, &held, &hard);
    assert_close(c.bias, gap > 0.0 ? -gap / 0.01 : gap < -3e-3 ? 0.1 : -gap / 0.03, 1e-15);
    assert_close(spring.bias, as_it_is.bias, 0.0);
    assert_close(c.R_t, as_it_is.R_t, 0.0);
    sap_law_regularised(&c, rest, r, NULL);
    sap_law_regularised(&as_it_is, rest, all, NULL);
    assert_close(r[0], all[0], 1e-12 * fabs(all[0]));
    sap_law_regularised(&c, out, r, NULL);
    assert_close(r[0], 0.0, 1e-12 * fabs(all[0]));
    if (gap < 0.0) assert_close(still.bias, 1e-6 * as_it_is.bias, 1e-15);
  }
  assert_no_leak();
}

/* ---- the solver ---- */

/* Gap between the cost and its dual, gamma . (bias - u_free) - 1/2 gamma . (W + R) gamma, over the cost of the start: half of the
 * squared errors of velocities and impulses, each in its norm, is at most that [J]. */
static double duality_gap(sap_case *c, const double *v, const double *r)
{
  const int64_t n = c->scene.n, n_dof = c->scene.M.n_rows;
  double       *Wr, *x, primal = 0.0, dual = 0.0, kinetic = 0.0;
  assert_ok(memory_alloc("W r", 3 * n, sizeof *Wr, &Wr));
  assert_ok(memory_alloc("x", n_dof, sizeof *x, &x));
  delassus_apply(c->w, r, Wr);
  for (int64_t i = 0; i < n_dof; ++i) {
    double sum = 0.0;
    for (int64_t k = c->scene.M.start[i]; k < c->scene.M.start[i + 1]; ++k)
      sum += c->scene.M.value[k] * (v[c->scene.M.col[k]] - c->v_free[c->scene.M.col[k]]);
    primal += 0.5 * sum * (v[i] - c->v_free[i]);
    kinetic += 0.5 * c->v_free[i] * c->v_free[i];
  }
  for (int64_t a = 0; a < n; ++a) {
    const sap_contact *k    = c->contact + a;
    double             u[3] = {0}, any[3];
    for (int i = 0; i < 3; ++i) {
      for (int64_t e = c->scene.H.start[3 * a + i]; e < c->scene.H.start[3 * a + i + 1]; ++e)
        u[i] += c->scene.H.value[e] * v[c->scene.H.col[e]];
      const double R = i ? k->R_t : k->R_n, ri = r[3 * a + i];
      dual += ri * ((i ? 0.0 : k->bias) - c->scene.q[3 * a + i]) - 0.5 * ri * (Wr[3 * a + i] + R * ri);
    }
    primal += sap_law_regularised(k, u, any, NULL);
  }
  memory_free(&Wr), memory_free(&x);
  return (primal - dual) / fmax(kinetic, primal);
}

/* Of row i of a term: compliance and bias. */
static void row_of(const sap_terms *t, int64_t a, int i, double *R, double *bias)
{
  if (a < t->n_contacts) *R = i ? t->contact[a].R_t : t->contact[a].R_n, *bias = i ? 0.0 : t->contact[a].bias;
  else *R = t->constraint[a - t->n_contacts].R[i], *bias = t->constraint[a - t->n_contacts].bias[i];
}

/* Projected gradient with momentum on the dual, min 1/2 g . (W + R) g + g . (u_free - bias) over the cones and between the bounds
 * of constraints: shares nothing with the solver but the problem. */
static void solve_dual(sap_case *c, double *g)
{
  const int64_t n = c->scene.n;
  double       *y, *grad, *last, t = 1.0, L = 0.0;
  assert_ok(memory_alloc("y", 3 * n, sizeof *y, &y));
  assert_ok(memory_alloc("gradient", 3 * n, sizeof *grad, &grad));
  assert_ok(memory_alloc("last", 3 * n, sizeof *last, &last));
  for (int64_t i = 0; i < 3 * n; ++i) g[i] = 0.0, y[i] = 1.0 + 0.1 * (double)(i % 7);
  for (int k = 0; k < 60; ++k) { /* largest eigenvalue */
    delassus_apply(c->w, y, grad);
    double norm = 0.0;
    for (int64_t i = 0; i < 3 * n; ++i) {
      double R, bias;
      row_of(&c->p.terms, i / 3, (int)(i % 3), &R, &bias);
      grad[i] += R * y[i], norm += grad[i] * grad[i];
    }
    L = sqrt(norm);
    for (int64_t i = 0; i < 3 * n; ++i) y[i] = grad[i] / L;
  }
  L *= 1.02;
  memset(y, 0, (size_t)(3 * n) * sizeof *y);
  for (int k = 0; k < 60000; ++k) {
    double moved = 0.0, size = 0.0, uphill = 0.0;
    delassus_apply(c->w, y, grad);
    memcpy(last, g, (size_t)(3 * n) * sizeof *g);
    for (int64_t a = 0; a < n; ++a) {
      double z[3];
      for (int i = 0; i < 3; ++i) {
        double R, bias;
        row_of(&c->p.terms, a, i, &R, &bias);
        grad[3 * a + i] += R * y[3 * a + i] + c->scene.q[3 * a + i] - bias;
        z[i] = y[3 * a + i] - grad[3 * a + i] / L;
      }
      if (a < c->p.terms.n_contacts) cone_project(c->contact[a].mu, z, g + 3 * a);
      for (int i = 0; i < 3 && a >= c->p.terms.n_contacts; ++i) {
        const constraint *row = c->p.terms.constraint + a - c->p.terms.n_contacts;
        g[3 * a + i]          = fmin(fmax(z[i], row->lower[i]), row->upper[i]);
      }
      for (int i = 0; i < 3; ++i) {
        const double d = g[3 * a + i] - last[3 * a + i];
        moved += d * d, size += g[3 * a + i] * g[3 * a + i], uphill += (y[3 * a + i] - g[3 * a + i]) * d;
      }
    }
    if (moved <= 1e-30 * size) break;
    const double next = uphill > 0.0 ? 1.0 : 0.5 * (1.0 + sqrt(1.0 + 4.0 * t * t)), beta = uphill > 0.0 ? 0.0 : (t - 1.0) / next;
    for (int64_t i = 0; i < 3 * n; ++i) y[i] = g[i] + beta * (g[i] - last[i]);
    t = next;
  }
  memory_free(&y), memory_free(&grad), memory_free(&last);
}

/* sap_error of any velocities and impulses: the relative error of momentum if the impulses obey the law, and of the law if momentum is satisfied.
 * Neither depends on the units of mass, time and length. */
static void errors_are_relative(void **state)
{
  (void)state;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    sap_case c;
    double   change[3] = {0.0}, error, miss = 0.0, size = 0.0;
    sap_case_random(&c, seed, SAP_REGULARISED);
    const sparse_rows *A = c.p.A, *J = c.p.J;
    double            *predicted;
    assert_ok(memory_alloc("predicted", A->n_rows, sizeof *predicted, &predicted));
    for (int is_law = 0; is_law < 2; ++is_law) {
      for (int64_t i = 0; i < A->n_rows; ++i) c.v[i] = c.v_free[i] + 0.1 * scene_random(seed, 40, (uint64_t)i), predicted[i] = 0.0;
      for (int64_t a = 0; a < c.scene.n; ++a) {
        double u[3];
        for (int i = 0; i < 3; ++i) {
          u[i] = c.known[3 * a + i];
          for (int64_t k = J->start[3 * a + i]; k < J->start[3 * a + i + 1]; ++k) u[i] += J->value[k] * c.v[J->col[k]];
        }
        sap_law_regularised(c.contact + a, u, c.r + 3 * a, NULL);
        if (is_law) c.r[3 * a] += 0.1 / c.contact[a].R_n * 1e-3, c.r[3 * a + 1] -= 1e-4;
      }
      for (int64_t i = 0; i < J->n_rows; ++i)
        for (int64_t k = J->start[i]; k < J->start[i + 1]; ++k) predicted[J->col[k]] += J->value[k] * c.r[i];
      memset(change, 0, sizeof change);
      for (int64_t i = 0; i < A->n_rows && !is_law; ++i) {
        double moved = 0.0, all = 0.0, diagonal = 0.0;
        for (int64_t k = A->start[i]; k < A->start[i + 1]; ++k) {
          moved += A->value[k] * (c.v[A->col[k]] - c.v_free[A->col[k]]), all += A->value[k] * c.v[A->col[k]];
          diagonal += A->col[k] == i ? A->value[k] : 0.0;
        }
        change[0] += pow(moved - predicted[i], 2) / diagonal, change[1] += all * all / diagonal,
            change[2] += predicted[i] * predicted[i] / diagonal;
      }
      if (is_law) { /* v = v_free + A^-1 J^T r */
        const int32_t *place = mass_factor_place(c.p.factor);
        for (int64_t i = 0; i < A->n_rows; ++i) c.v[place[i]] = predicted[i];
        memcpy(predicted, c.v, (size_t)A->n_rows * sizeof *predicted);
        mass_factor_solve_places(c.p.factor, predicted);
        for (int64_t i = 0; i < A->n_rows; ++i) c.v[i] = c.v_free[i] + predicted[place[i]];
        miss = size = 0.0;
        for (int64_t a = 0; a < c.scene.n; ++a) {
          double u[3], r[3];
          for (int i = 0; i < 3; ++i) {
            u[i] = c.known[3 * a + i];
            for (int64_t k = J->start[3 * a + i]; k < J->start[3 * a + i + 1]; ++k) u[i] += J->value[k] * c.v[J->col[k]];
          }
          sap_law_regularised(c.contact + a, u, r, NULL);
          for (int i = 0; i < 3; ++i) {
            const double R = i == 0 ? c.contact[a].R_n : c.contact[a].R_t;
            miss += R * pow(r[i] - c.r[3 * a + i], 2), size += R * pow(c.r[3 * a + i], 2);
          }
        }
      }
      assert_ok(sap_error(&c.p, c.v, c.r, &error));
      const double expected = is_law ? sqrt(miss / size) : sqrt(change[0] / fmax(change[1], change[2]));
      assert_true(expected > 1e-6);
      assert_close(error / expected, 1.0, 1e-6);
    }
    memory_free(&predicted);
    sap_case_destroy(&c);
  }
  assert_no_leak();
}

static void agrees_with_an_independent_solver(void **state)
{
  (void)state;
  for (uint64_t seed = 0; seed < 24; ++seed) {
    sap_case   c;
    sap_result out;
    double    *g, error, size = 0.0, miss = 0.0;
    sap_case_create(&c, 900 + seed, 3, 6, 5, 2 + (int64_t)(seed % 9), SAP_REGULARISED, 3.0);
    assert_ok(memory_alloc("dual", 3 * c.scene.n, sizeof *g, &g));
    assert_ok(sap_solve(&c.p, &exact_search, c.v, c.r, c.u, &out));
    assert_int_equal(out.status, SAP_OK);
    assert_ok(sap_error(&c.p, c.v, c.r, &error));
    assert_close(error, 0.0, 1e-7); /* the law's impulses change by 1/R over rounding in u */
    solve_dual(&c, g);
    for (int64_t i = 0; i < 3 * c.scene.n; ++i) size = fmax(size, fabs(g[i])), miss = fmax(miss, fabs(g[i] - c.r[i]));
    assert_close(miss, 0.0, 1e-6 * size);
    assert_close(duality_gap(&c, c.v, c.r), 0.0, 1e-13);
    memory_free(&g);
    sap_case_destroy(&c);
  }
  assert_no_leak();
}

/* x = A^-1 b by elimination with pivots; false: singular. */
static bool eliminate(int n, double *A, double *x)
{
  for (int k = 0; k < n; ++k) {
    int best = k;
    for (int r = k + 1; r < n; ++r)
      if (fabs(A[n * r + k]) > fabs(A[n * best + k])) best = r;
    if (A[n * best + k] == 0.0) return false;
    for (int c = 0; c < n; ++c) {
      const double t = A[n * k + c];
      A[n * k + c] = A[n * best + c], A[n * best + c] = t;
    }
    const double t = x[k];
    x[k] = x[best], x[best] = t;
    for (int r = k + 1; r < n; ++r) {
      const double f = A[n * r + k] / A[n * k + k];
      for (int c = k; c < n; ++c) A[n * r + c] -= f * A[n * k + c];
      x[r] -= f * x[k];
    }
  }
  for (int r = n - 1; r >= 0; --r) {
    for (int c = r + 1; c < n; ++c) x[r] -= A[n * r + c] * x[c];
    x[r] /= A[n * r + r];
  }
  return true;
}

/* Enumerate which normals are active; the correct choice satisfies (W + R) r = bias - u_free where r > 0, and u >= bias where r
 * = 0. This is the whole problem without friction. g [n] normal impulses. */
static void try_all(const sap_case *c, const double *W, double *g)
{
  const int n     = (int)c->scene.n;
  int       found = 0;
  for (int choice = 0; choice < 1 << n; ++choice) {
    double A[64], x[8], r[8] = {0};
    int    at[8], m = 0;
    bool   is_right = true;
    for (int i = 0; i < n; ++i)
      if (choice >> i & 1) at[m++] = i;
    for (int i = 0; i < m; ++i) {
      for (int j = 0; j < m; ++j) A[m * i + j] = W[n * at[i] + at[j]] + (i == j ? c->contact[at[i]].R_n : 0.0);
      x[i] = c->contact[at[i]].bias - c->scene.q[3 * at[i]];
    }
    if (!eliminate(m, A, x)) continue;
    for (int i = 0; i < m; ++i) r[at[i]] = x[i], is_right = is_right && x[i] > 0.0;
    for (int i = 0; i < n && is_right; ++i) {
      double u = c->scene.q[3 * i] - c->contact[i].bias;
      for (int j = 0; j < n; ++j) u += W[n * i + j] * r[j];
      is_right = r[i] > 0.0 || u >= 0.0;
    }
    if (!is_right) continue;
    ++found;
    memcpy(g, r, (size_t)n * sizeof *g);
  }
  assert_int_equal(found, 1);
}

/* Small problems without friction, up to 12 unknowns, against enumeration (validation target E15). */
static void agrees_with_trying_all(void **state)
{
  (void)state;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    sap_case   c;
    sap_result out;
    double     W[64], g[8], column[24], to[24], size = 0.0;
    sap_case_create(&c, 4000 + seed, 2, 6, 5, 2 + (int64_t)(seed % 7), SAP_REGULARISED, 3.0);
    const int n = (int)c.scene.n;
    for (int i = 0; i < n; ++i) c.contact[i].mu = 0.0;
    for (int j = 0; j < n; ++j) {
      memset(column, 0, sizeof column);
      column[3 * j] = 1.0;
      delassus_apply(c.w, column, to);
      for (int i = 0; i < n; ++i) W[n * i + j] = to[3 * i];
    }
    try_all(&c, W, g);
    assert_ok(sap_solve(&c.p, &(sap_options){SAP_SEARCH_EXACT, 1e-13, 200}, c.v, c.r, c.u, &out));
    for (int i = 0; i < n; ++i) size = fmax(size, fabs(g[i]));
    for (int i = 0; i < n; ++i) assert_close(c.r[3 * i], g[i], 1e-10 * size);
    for (int i = 0; i < n; ++i) assert_close(hypot(c.r[3 * i + 1], c.r[3 * i + 2]), 0.0, 0.0);
    sap_case_destroy(&c);
  }
  assert_no_leak();
}

/* The same with stops, motors and dry friction for a part of the rows. */
static void constraints_agree_with_an_independent_solver(void **state)
{
  (void)state;
  for (uint64_t seed = 0; seed < 8; ++seed) {
    enum { HELD = 4 };
    sap_case   c;
    sap_result out;
    constraint held[HELD];
    double    *g, error, size = 0.0, miss = 0.0;
    sap_case_create(&c, 300 + seed, 3, 6, 5, HELD + (int64_t)(seed % 6), SAP_REGULARISED, 3.0);
    for (uint64_t k = 0; k < HELD; ++k) held[k] = random_constraint(100 * seed + k);
    c.p.terms.n_contacts -= HELD, c.p.terms.n_constraints = HELD, c.p.terms.constraint = held;
    assert_ok(memory_alloc("dual", 3 * c.scene.n, sizeof *g, &g));
    assert_ok(sap_solve(&c.p, &exact_search, c.v, c.r, c.u, &out));
    assert_int_equal(out.status, SAP_OK);
    assert_ok(sap_error(&c.p, c.v, c.r, &error));
    assert_close(error, 0.0, 1e-7);
    solve_dual(&c, g);
    for (int64_t i = 0; i < 3 * c.scene.n; ++i) size = fmax(size, fabs(g[i])), miss = fmax(miss, fabs(g[i] - c.r[i]));
    assert_close(miss, 0.0, 1e-6 * size);
    memory_free(&g);
    sap_case_destroy(&c);
  }
  assert_no_leak();
}

/* Random problems, stiff to soft, friction 0 to 2, many over-constrained: 200, or SAP_PROBLEMS (`make bench-sap`: 10,000).
 * Counts the iterations of each in classes of 5. */
static void always_converges(void **state)
{
  const char       *asked = getenv("SAP_PROBLEMS");
  const uint64_t    n     = asked ? strtoull(asked, NULL, 10) : 200;
  const sap_options o     = {SAP_SEARCH_EXACT, 1e-8, 200};
  int64_t           most = 0, count[41] = {0}, sum = 0;
  double            gap = 0.0;
  (void)state;
  for (uint64_t seed = 0; seed < n; ++seed) {
    sap_case   c;
    sap_result out;
    sap_case_random(&c, seed, seed % 4 == 3 ? SAP_LAGGED : SAP_REGULARISED);
    assert_ok(sap_solve(&c.p, &o, c.v, c.r, c.u, &out));
    if (out.status != SAP_OK)
      fail_msg("problem %d: status %d after %d iterations, error %g", (int)seed, (int)out.status, (int)out.iterations, out.error);
    if (c.p.terms.model == SAP_REGULARISED) gap = fmax(gap, duality_gap(&c, c.v, c.r));
    most = out.iterations > most ? out.iterations : most;
    sum += out.iterations, ++count[out.iterations / 5];
    sap_case_destroy(&c);
  }
  if (asked)
    for (int k = 0; k <= most / 5; ++k) print_message("%3d-%3d iterations: %6d problems\n", 5 * k, 5 * k + 4, (int)count[k]);
  if (asked)
    print_message("all %d solved, %.1f iterations on average, at most %d; largest gap %.1e\n", (int)n, (double)sum / (double)n, (int)most,
                  gap);
  assert_close(gap, 0.0, 1e-12);
  assert_true(most <= 60);
  assert_no_leak();
}

/* From anywhere, by either search: the one minimum. */
static void minimum_is_unique(void **state)
{
  (void)state;
  for (int model = 0; model < 2; ++model) {
    sap_case   c;
    sap_result out;
    double    *first;
    sap_case_create(&c, 31, 8, 6, 5, 30, (sap_model)model, 6.0);
    const int64_t n = c.scene.M.n_rows;
    assert_ok(memory_alloc("first", n, sizeof *first, &first));
    for (int k = 0; k < 6; ++k) {
      sap_options o = exact_search;
      if (k >= 4) o.search = SAP_SEARCH_BACKTRACKING;
      for (int64_t i = 0; i < n; ++i) c.v[i] = k == 0 ? 0.0 : 10.0 * scene_random((uint64_t)k, 40, (uint64_t)i);
      assert_ok(sap_solve(&c.p, &o, c.v, c.r, c.u, &out));
      assert_int_equal(out.status, SAP_OK);
      if (k == 0) memcpy(first, c.v, (size_t)n * sizeof *first);
      for (int64_t i = 0; i < n; ++i) assert_close(c.v[i], first[i], 1e-7);
    }
    memory_free(&first);
    sap_case_destroy(&c);
  }
  assert_no_leak();
}

/* Long chains touched at few unknowns: the complement gives what the whole gives, and v obeys A (v - v_free) = J^T r to
 * rounding. */
static void reduction_changes_nothing(void **state)
{
  (void)state;
  sap_case   c, whole;
  sap_result out, full;
  double     worst = 0.0;
  sap_case_create(&c, 51, 2, 400, 8, 5, SAP_REGULARISED, 4.0);
  sap_case_create(&whole, 51, 2, 400, 8, 5, SAP_REGULARISED, 4.0);
  /* the same with zeros in H at all unknowns of touched bodies, so that nothing is reduced */
  sparse_rows all = {0}, wide = {0};
  int64_t     n = 0;
  int32_t    *row, *col;
  double     *zero;
  assert_ok(memory_alloc("row", 15 * 800, sizeof *row, &row));
  assert_ok(memory_alloc("col", 15 * 800, sizeof *col, &col));
  assert_ok(memory_alloc("zero", 15 * 800, sizeof *zero, &zero));
  for (int32_t i = 0; i < 15; ++i)
    for (int32_t j = 0; j < 800; ++j) row[n] = i, col[n++] = j;
  assert_ok(sparse_rows_from_triplets("zeros", 15, 800, n, row, col, zero, &all));
  assert_ok(sparse_rows_sum(1.0, &whole.scene.H, 1.0, &all, &wide));
  whole.p.J = &wide;
  assert_ok(sap_solve(&c.p, &exact_search, c.v, c.r, c.u, &out));
  assert_ok(sap_solve(&whole.p, &exact_search, whole.v, whole.r, whole.u, &full));
  assert_int_equal(out.status, SAP_OK);
  assert_true(out.n_unknowns < 100);
  assert_int_equal(full.n_unknowns, 800);
  for (int64_t i = 0; i < 800; ++i) worst = fmax(worst, fabs(c.v[i] - whole.v[i]));
  assert_close(worst, 0.0, 1e-8);
  for (int64_t i = 0; i < 800; ++i) {
    double sum = 0.0;
    for (int64_t k = c.scene.M.start[i]; k < c.scene.M.start[i + 1]; ++k)
      sum += c.scene.M.value[k] * (c.v[c.scene.M.col[k]] - c.v_free[c.scene.M.col[k]]);
    zero[i] = sum;
  }
  for (int64_t i = 0; i < 15; ++i)
    for (int64_t k = c.scene.H.start[i]; k < c.scene.H.start[i + 1]; ++k) zero[c.scene.H.col[k]] -= c.scene.H.value[k] * c.r[i];
  for (int64_t i = 0; i < 800; ++i) assert_close(zero[i], 0.0, 1e-13);
  memory_free(&row), memory_free(&col), memory_free(&zero);
  sparse_rows_destroy(&all), sparse_rows_destroy(&wide);
  sap_case_destroy(&c), sap_case_destroy(&whole);
  assert_no_leak();
}

/* Multifrontal factorisation: the same solutions for any elimination order, on the complement or on all. */
static void fronts_change_nothing(void **state)
{
  (void)state;
  for (uint64_t seed = 0; seed < 12; ++seed) {
    sap_case             c;
    sap_result           out;
    sap_columns          J;
    multifrontal_tree   *tree;
    multifrontal_factor *front;
    double              *v, *r, size = 0.0;
    bool                 is_definite;
    const bool           is_chain = seed % 2;
    if (is_chain) sap_case_create(&c, 300 + seed, 3, 150, 6, 12, (sap_model)(seed % 4 / 2), 4.0);
    else sap_case_create(&c, 300 + seed, 9, 6, 5, 30, (sap_model)(seed % 4 / 2), 4.0);
    const int64_t n = c.scene.M.n_rows, m = c.scene.n;
    assert_ok(sap_solve(&c.p, &exact_search, c.v, c.r, c.u, &out));
    assert_int_equal(out.status, SAP_OK);
    assert_ok(memory_alloc("v", n, sizeof *v, &v));
    assert_ok(memory_alloc("r", 3 * m, sizeof *r, &r));
    memcpy(v, c.v, (size_t)n * sizeof *v), memcpy(r, c.r, (size_t)(3 * m) * sizeof *r);
    assert_ok(sap_columns_create(&c.scene.H, m, &J));
    const multifrontal_terms terms = sap_columns_view(&J);
    assert_ok(multifrontal_tree_create(&c.scene.M, &terms, 10.0, &tree));
    assert_ok(multifrontal_factor_create(tree, &front));
    assert_ok(multifrontal_factor_set(front, &c.scene.M, &is_definite));
    assert_true(is_definite);
    c.p.factor = NULL, c.p.front = front, c.p.columns = &terms;
    memset(c.v, 0, (size_t)n * sizeof *c.v);
    assert_ok(sap_solve(&c.p, &exact_search, c.v, c.r, c.u, &out));
    assert_int_equal(out.status, SAP_OK);
    if (is_chain) assert_true(out.n_unknowns < n);
    for (int64_t i = 0; i < 3 * m; ++i) size = fmax(size, fabs(r[i]));
    for (int64_t i = 0; i < n; ++i) assert_close(c.v[i], v[i], 1e-7);
    for (int64_t i = 0; i < 3 * m; ++i) assert_close(c.r[i], r[i], 1e-7 * size);
    /* A (v - v_free) = J^T r to rounding */
    double *x, *y;
    assert_ok(memory_alloc("x", n, sizeof *x, &x));
    assert_ok(memory_alloc("y", n, sizeof *y, &y));
    for (int64_t i = 0; i < n; ++i) x[i] = c.v[i] - c.v_free[i];
    sparse_rows_apply(&c.scene.M, x, y);
    for (int64_t a = 0; a < m; ++a)
      for (int64_t e = J.start[a]; e < J.start[a + 1]; ++e)
        for (int k = 0; k < 3; ++k) y[J.column[e]] -= J.value[3 * e + k] * c.r[3 * a + k];
    for (int64_t i = 0; i < n; ++i) assert_close(y[i], 0.0, 1e-12);
    memory_free(&v), memory_free(&r), memory_free(&x), memory_free(&y);
    multifrontal_factor_destroy(&front);
    multifrontal_tree_destroy(&tree);
    sap_columns_destroy(&J);
    sap_case_destroy(&c);
  }
  assert_no_leak();
}

/* With the impulses of the last step as initial guess, the solver needs less than half the iterations; with arbitrary ones it
 * converges to the same solution. */
static void what_pushed_before_is_a_start(void **state)
{
  int64_t iterations[2] = {0};
  (void)state;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    sap_case   c;
    sap_result out;
    double    *v, *known, *first;
    sap_case_create(&c, 500 + seed, 9, 6, 5, 60, SAP_REGULARISED, 6.0);
    const int64_t n = c.scene.M.n_rows, m = c.scene.n;
    for (int64_t a = 0; a < m; ++a) c.contact[a].R_t *= 1e-3, c.contact[a].mu += 1.0; /* much sticks */
    for (int64_t i = 0; i < n; ++i) c.v_free[i] *= 0.05;
    assert_ok(memory_alloc("v", n, sizeof *v, &v));
    assert_ok(memory_alloc("first", n, sizeof *first, &first));
    assert_ok(memory_alloc("known", 3 * m, sizeof *known, &known));
    assert_ok(sap_solve(&c.p, &exact_search, c.v, c.r, c.u, &out));
    memcpy(v, c.v, (size_t)n * sizeof *v), memcpy(known, c.r, (size_t)(3 * m) * sizeof *known);
    for (int64_t i = 0; i < n; ++i) c.v_free[i] += 1e-3 * scene_random(seed, 7, (uint64_t)i); /* the next step */
    for (int how = 0; how < 3; ++how) {
      c.p.predicted = how == 0 ? NULL : known;
      for (int64_t i = 0; i < m && how == 2; ++i) v3_set(known + 3 * i, i % 3 ? 1.0 : 0.0, 1e3, -2.0);
      for (int64_t i = 0; i < n; ++i) c.v[i] = v[i] + 1e-2 * scene_random(seed, 8, (uint64_t)i); /* nothing seems to stick */
      assert_ok(sap_solve(&c.p, &exact_search, c.v, c.r, c.u, &out));
      assert_int_equal(out.status, SAP_OK);
      if (how < 2) iterations[how] += out.iterations;
      for (int64_t i = 0; i < n && how > 0; ++i) assert_close(c.v[i], first[i], 1e-7);
      if (how == 0) memcpy(first, c.v, (size_t)n * sizeof *v);
    }
    memory_free(&v), memory_free(&known), memory_free(&first);
    sap_case_destroy(&c);
  }
  print_message("iterations: %d without, %d with a warm start\n", (int)iterations[0], (int)iterations[1]);
  assert_true(2 * iterations[1] < iterations[0]);
  assert_no_leak();
}

/* Where directions come from a matrix that differs from A, the updated product satisfies the tolerance although the true residual
 * does not. Each time the search restarts from the true residual and ends with a quarter of the error. */
static void what_was_carried_along_is_checked(void **state)
{
  (void)state;
  for (uint64_t seed = 0; seed < 8; ++seed) {
    sap_case             c;
    sap_result           out;
    sap_columns          J;
    sparse_rows          rough;
    multifrontal_tree   *tree;
    multifrontal_factor *front;
    double              *v, *value;
    bool                 is_definite;
    sap_case_create(&c, 700 + seed, 9, 6, 5, 30, SAP_REGULARISED, 2.0);
    const int64_t n = c.scene.M.n_rows;
    assert_ok(sap_solve(&c.p, &exact_search, c.v, c.r, c.u, &out));
    assert_int_equal(out.status, SAP_OK);
    assert_ok(memory_alloc("v", n, sizeof *v, &v));
    memcpy(v, c.v, (size_t)n * sizeof *v);
    assert_ok(sap_columns_create(&c.scene.H, c.scene.n, &J));
    const multifrontal_terms terms = sap_columns_view(&J);
    assert_ok(multifrontal_tree_create(&c.scene.M, &terms, 10.0, &tree));
    assert_ok(multifrontal_factor_create(tree, &front));
    assert_ok(multifrontal_factor_set(front, &c.scene.M, &is_definite));
    assert_true(is_definite);
    rough = c.scene.M;
    assert_ok(memory_alloc("values", rough.start[n], sizeof *value, &value));
    for (int64_t k = 0; k < rough.start[n]; ++k) value[k] = 1.3 * rough.value[k];
    rough.value = value;
    c.p.A = &rough, c.p.factor = NULL, c.p.front = front, c.p.columns = &terms;
    memset(c.v, 0, (size_t)n * sizeof *c.v);
    assert_ok(sap_solve(&c.p, &exact_search, c.v, c.r, c.u, &out));
    assert_int_equal(out.status, SAP_OK);
    for (int64_t i = 0; i < n; ++i) assert_close(c.v[i], v[i], 1e-7);
    memory_free(&v), memory_free(&value);
    multifrontal_factor_destroy(&front);
    multifrontal_tree_destroy(&tree);
    sap_columns_destroy(&J);
    sap_case_destroy(&c);
  }
  assert_no_leak();
}

static PetscErrorCode product_of(void *context, const double *x, double *y)
{
  PetscFunctionBegin;
  sparse_rows_apply(context, x, y);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A case for conjugate gradients. */
typedef struct {
  sap_columns        J;
  multifrontal_terms columns;
  sap_operator       o;
} by_products;

static void take_products(by_products *b, sap_case *c)
{
  assert_ok(sap_columns_create(&c->scene.H, c->scene.n, &b->J));
  b->columns   = sap_columns_view(&b->J);
  b->o         = (sap_operator){.context = &c->scene.M, .product = product_of, .A = &c->scene.M};
  c->p.factor  = NULL;
  c->p.columns = &b->columns;
  c->p.operator= & b->o;
}

/* H x = b to the tolerance, and A x with it; from the first iteration on a direction of descent. */
static void gradients_solve_to_the_tolerance(void **state)
{
  (void)state;
  for (uint64_t seed = 0; seed < 6; ++seed) {
    sap_case    c;
    by_products b;
    sap_cg     *cg;
    double     *x, *Ax, *y, *right, *G;
    int64_t     iterations;
    bool        is_definite;
    sap_case_create(&c, 600 + seed, 4, 120, 5, 14, SAP_REGULARISED, 4.0);
    take_products(&b, &c);
    const int64_t n = c.scene.M.n_rows, m = c.scene.n;
    double      **arrays[] = {&x, &Ax, &y, &right};
    for (int k = 0; k < 4; ++k) assert_ok(memory_alloc("x", n, sizeof(double), arrays[k]));
    assert_ok(memory_alloc("G", 9 * m, sizeof *G, &G));
    for (int64_t a = 0; a < m; ++a) {
      G[9 * a]     = a % 3 ? 1e2 : 0.0; /* some have no normal impulse */
      G[9 * a + 4] = G[9 * a + 8] = a % 3 ? 1e4 : 0.0;
    }
    for (int64_t i = 0; i < n; ++i) right[i] = scene_random(seed, 3, (uint64_t)i);
    assert_ok(sap_cg_create(&b.o, &b.columns, NULL, &cg));
    for (int with_terms = 0; with_terms < 2; ++with_terms) {
      if (with_terms) assert_ok(sap_cg_set(cg, G, &is_definite));
      for (int64_t most = 1; most <= 1000; most *= 1000) {
        double descent = 0.0, miss = 0.0, size = 0.0;
        assert_ok(sap_cg_solve(cg, right, 1e-10, most, x, Ax, &iterations));
        assert_true(iterations >= 1 && iterations <= (most == 1 ? 1 : 90)); /* stiffness of contact costs none */
        for (int64_t i = 0; i < n; ++i) descent += x[i] * right[i];
        assert_true(descent > 0.0);
        sparse_rows_apply(&c.scene.M, x, y);
        for (int64_t i = 0; i < n; ++i) assert_close(Ax[i], y[i], 1e-9);
        if (most == 1) continue;
        for (int64_t a = 0; a < m && with_terms; ++a) {
          double u[3] = {0};
          for (int64_t e = b.J.start[a]; e < b.J.start[a + 1]; ++e)
            for (int k = 0; k < 3; ++k) u[k] += b.J.value[3 * e + k] * x[b.J.column[e]];
          for (int64_t e = b.J.start[a]; e < b.J.start[a + 1]; ++e)
            for (int k = 0; k < 3; ++k) y[b.J.column[e]] += b.J.value[3 * e + k] * G[9 * a + 4 * k] * u[k];
        }
        for (int64_t i = 0; i < n; ++i)
          for (int64_t k = c.scene.M.start[i]; k < c.scene.M.start[i + 1]; ++k)
            if (c.scene.M.col[k] == i) miss += (y[i] - right[i]) * (y[i] - right[i]) / c.scene.M.value[k], size += right[i] * right[i];
        assert_true(sqrt(miss) <= 1e-9);
      }
    }
    memory_free(&x), memory_free(&Ax), memory_free(&y), memory_free(&right), memory_free(&G);
    sap_cg_destroy(&cg);
    sap_columns_destroy(&b.J);
    sap_case_destroy(&c);
  }
  assert_no_leak();
}

/* M + N, N skew and half as large: for which conjugate gradients fail. */
static PetscErrorCode skew_product_of(void *context, const double *x, double *y)
{
  const sparse_rows *M = context;
  PetscFunctionBegin;
  sparse_rows_apply(M, x, y);
  for (int64_t i = 0; i + 1 < M->n_rows; i += 2) {
    const double s = 0.5 * M->value[M->start[i]];
    y[i] += s * x[i + 1], y[i + 1] -= s * x[i];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static double weighed_norm(const sparse_rows *M, const double *x)
{
  double sum = 0.0;
  for (int64_t i = 0; i < M->n_rows; ++i)
    for (int64_t k = M->start[i]; k < M->start[i + 1]; ++k)
      if (M->col[k] == i) sum += x[i] * x[i] / M->value[k];
  return sqrt(sum);
}

/* H x = b to the tolerance where products are not symmetric, and A x with it; conjugate gradients do not converge. */
static void gmres_solves_what_is_not_symmetric(void **state)
{
  const double tolerance = 1e-8;
  (void)state;
  for (uint64_t seed = 0; seed < 4; ++seed) {
    sap_case    c;
    by_products b;
    sap_cg     *cg;
    double     *x, *Ax, *y, *right, *G, u[3];
    int64_t     iterations;
    bool        is_definite;
    assert_ok(optim_register_all());
    sap_case_create(&c, 640 + seed, 4, 120, 5, 14, SAP_REGULARISED, 4.0);
    take_products(&b, &c);
    b.o.product     = skew_product_of;
    const int64_t n = c.scene.M.n_rows, m = c.scene.n;
    double      **arrays[] = {&x, &Ax, &y, &right};
    for (int k = 0; k < 4; ++k) assert_ok(memory_alloc("x", n, sizeof(double), arrays[k]));
    assert_ok(memory_alloc("G", 9 * m, sizeof *G, &G));
    for (int64_t a = 0; a < m; ++a) G[9 * a] = 1e2, G[9 * a + 4] = G[9 * a + 8] = 1e4;
    for (int64_t i = 0; i < n; ++i) right[i] = scene_random(seed, 3, (uint64_t)i);
    assert_ok(sap_cg_create(&b.o, &b.columns, NULL, &cg));
    assert_ok(sap_cg_set(cg, G, &is_definite));
    for (int is_gmres = 0; is_gmres < 2; ++is_gmres) {
      assert_ok((is_gmres ? sap_gmres_solve : sap_cg_solve)(cg, right, tolerance, 200, x, Ax, &iterations));
      skew_product_of(&c.scene.M, x, y);
      for (int64_t i = 0; i < n; ++i) assert_close(Ax[i], y[i], is_gmres ? 1e-12 * (1.0 + fabs(y[i])) : INFINITY);
      for (int64_t a = 0; a < m; ++a) {
        for (int k = 0; k < 3; ++k) u[k] = 0.0;
        for (int64_t e = b.J.start[a]; e < b.J.start[a + 1]; ++e)
          for (int k = 0; k < 3; ++k) u[k] += b.J.value[3 * e + k] * x[b.J.column[e]];
        for (int64_t e = b.J.start[a]; e < b.J.start[a + 1]; ++e)
          for (int k = 0; k < 3; ++k) y[b.J.column[e]] += b.J.value[3 * e + k] * G[9 * a + 4 * k] * u[k];
      }
      for (int64_t i = 0; i < n; ++i) y[i] -= right[i];
      const double left = weighed_norm(&c.scene.M, y);
      if (is_gmres) assert_true(left <= 1.1 * tolerance && iterations < 200);
      else assert_true(left > 1e3 * tolerance);
    }
    memory_free(&x), memory_free(&Ax), memory_free(&y), memory_free(&right), memory_free(&G);
    sap_cg_destroy(&cg);
    sap_columns_destroy(&b.J);
    sap_case_destroy(&c);
  }
  assert_no_leak();
}

/* By products alone: the same minimum to the tolerance, from a random problem of the series (`make bench-sap`: all of them). */
static void gradients_find_the_minimum(void **state)
{
  const char       *asked = getenv("SAP_PROBLEMS");
  const uint64_t    n     = asked ? strtoull(asked, NULL, 10) : 60;
  const sap_options o     = {SAP_SEARCH_EXACT, 1e-8, 200};
  int64_t           most = 0, sum = 0, inner = 0;
  double            gap = 0.0;
  (void)state;
  for (uint64_t seed = 0; seed < n; ++seed) {
    sap_case    c;
    sap_result  out;
    by_products b;
    sap_case_random(&c, seed, seed % 4 == 3 ? SAP_LAGGED : SAP_REGULARISED);
    take_products(&b, &c);
    assert_ok(sap_solve(&c.p, &o, c.v, c.r, c.u, &out));
    if (out.status != SAP_OK)
      fail_msg("problem %d: status %d after %d iterations, error %g", (int)seed, (int)out.status, (int)out.iterations, out.error);
    if (c.p.terms.model == SAP_REGULARISED) gap = fmax(gap, duality_gap(&c, c.v, c.r));
    most = out.iterations > most ? out.iterations : most;
    sum += out.iterations, inner += out.inner;
    sap_columns_destroy(&b.J);
    sap_case_destroy(&c);
  }
  if (asked)
    print_message("by conjugate gradients: all %d solved, %.1f iterations on average, at most %d, %.1f inner ones each; largest gap %.1e\n",
                  (int)n, (double)sum / (double)n, (int)most, (double)inner / (double)(sum ? sum : 1), gap);
  assert_close(gap, 0.0, 1e-11);
  assert_true(most <= 60);
  assert_no_leak();
}

static void threads_change_no_bit(void **state)
{
  (void)state;
  double *r, *v;
  for (int k = 0; k < 3; ++k) {
    const int  threads[3] = {1, 2, 3};
    sap_case   c;
    sap_result out;
    team_set_threads(threads[k]);
    sap_case_create(&c, 77, 100, 6, 5, 520, SAP_REGULARISED, 3.0);
    if (k == 0) assert_ok(memory_alloc("r", 1560, sizeof *r, &r));
    if (k == 0) assert_ok(memory_alloc("v", 600, sizeof *v, &v));
    assert_ok(sap_solve(&c.p, &exact_search, c.v, c.r, c.u, &out));
    assert_int_equal(out.status, SAP_OK);
    if (k == 0) memcpy(r, c.r, 1560 * sizeof *r), memcpy(v, c.v, 600 * sizeof *v);
    assert_memory_equal(r, c.r, 1560 * sizeof *r);
    assert_memory_equal(v, c.v, 600 * sizeof *v);
    sap_case_destroy(&c);
  }
  team_set_threads(0);
  memory_free(&r), memory_free(&v);
  assert_no_leak();
}

/* Without contacts, and with contacts without impulses: the free velocities, after no or few iterations. */
static void nothing_to_do(void **state)
{
  (void)state;
  sap_case   c;
  sap_result out;
  sap_case_create(&c, 5, 4, 6, 5, 6, SAP_REGULARISED, 3.0);
  for (int64_t a = 0; a < 6; ++a) c.contact[a].bias = -1e3;
  assert_ok(sap_solve(&c.p, &exact_search, c.v, c.r, c.u, &out));
  assert_int_equal(out.status, SAP_OK);
  assert_in_range(out.iterations, 1, 1);
  for (int64_t i = 0; i < 24; ++i) assert_close(c.v[i], c.v_free[i], 1e-15);
  assert_ok(sap_solve(&c.p, &exact_search, c.v, c.r, c.u, &out));
  assert_in_range(out.iterations, 0, 0);
  c.scene.H.n_rows = 0, c.p.terms.n_contacts = 0;
  assert_ok(sap_solve(&c.p, &exact_search, c.v, c.r, c.u, &out));
  assert_int_equal(out.status, SAP_OK);
  c.scene.H.n_rows = 18;
  sap_case_destroy(&c);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(errors_are_relative), cmocka_unit_test(regularised_law_is_a_complementarity),
          cmocka_unit_test(laws_are_derivatives), cmocka_unit_test(constraints_are_derivatives),
          cmocka_unit_test(velocities_are_found_back), cmocka_unit_test(compliance_is_the_springs), cmocka_unit_test(overlaps_part_slowly),
          cmocka_unit_test(agrees_with_an_independent_solver), cmocka_unit_test(agrees_with_trying_all),
          cmocka_unit_test(constraints_agree_with_an_independent_solver), cmocka_unit_test(always_converges),
          cmocka_unit_test(minimum_is_unique), cmocka_unit_test(reduction_changes_nothing), cmocka_unit_test(fronts_change_nothing),
          cmocka_unit_test(what_pushed_before_is_a_start), cmocka_unit_test(what_was_carried_along_is_checked),
          cmocka_unit_test(gradients_solve_to_the_tolerance), cmocka_unit_test(gmres_solves_what_is_not_symmetric),
          cmocka_unit_test(gradients_find_the_minimum), cmocka_unit_test(threads_change_no_bit), cmocka_unit_test(nothing_to_do))
