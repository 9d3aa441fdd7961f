/* Implementation: parameters of contacts, both laws, and their evaluation for all terms. */
#include "optim/sap/sap_law.h"
#include <float.h>
#include <math.h>
#include <string.h>

/* The stiffest spring whose period with the mass 1/w is min_contact_period dt: R_N = beta^2 w / (4 pi^2). */
static double rigid_floor(const sap_parameters *p, double w)
{
  return p->min_contact_period * p->min_contact_period * w / (4.0 * M_PI * M_PI);
}

/* Smallest factor on R_n by the limit of the separation speed. A smaller one makes the contact too stiff for double precision. */
static const double least_share = 1e-6;

sap_contact sap_contact_make(sap_model model, const sap_parameters *p, const sap_source *s)
{
  const double delay = s->gap > 0.0 ? 0.0 : p->relaxation, time = p->dt * (p->dt + delay);
  sap_contact  c = {.mu = s->mu, .dt = p->dt};
  c.R_n          = fmax(rigid_floor(p, s->w), 1.0 / (time * s->stiffness));
  c.R_t          = p->stiction_tolerance * s->w;
  c.bias         = -s->gap / (p->dt + delay);
  if (model == SAP_REGULARISED && c.R_n == rigid_floor(p, s->w)) {
    const double sinks = c.R_n / s->w * (c.bias - s->normal_speed), most = fmax(s->gap > 0.0 ? 0.0 : c.bias, sinks);
    const double share = most > p->overlap_correction_speed ? fmax(least_share, p->overlap_correction_speed / most) : 1.0;
    c.R_n *= share;
    if (!(s->gap > 0.0)) c.bias *= share;
  }
  if (model != SAP_LAGGED) return c;
  c.stiffness   = 1.0 / (p->dt * p->dt * fmax(rigid_floor(p, s->w), 1.0 / (p->dt * p->dt * s->stiffness)));
  c.force       = -c.stiffness * s->gap;
  c.dissipation = p->dissipation;
  c.limit       = s->mu * p->dt * fmax(0.0, c.force) * fmax(0.0, 1.0 - p->dissipation * s->normal_speed);
  c.slip        = fmax(p->slip, p->stiction_tolerance * s->w * c.limit);
  return c;
}

double sap_law_regularised(const sap_contact *c, const double u[3], double r[3], double G[9])
{
  const double y_n = (c->bias - u[0]) / c->R_n, y_1 = -u[1] / c->R_t, y_2 = -u[2] / c->R_t, y_t = sqrt(y_1 * y_1 + y_2 * y_2), mu = c->mu,
               hat = mu * c->R_t / c->R_n;
  r[0] = r[1] = r[2] = 0.0;
  if (G) memset(G, 0, 9 * sizeof *G);
  if (mu > 0.0 && y_t <= mu * y_n) { /* sticks */
    r[0] = y_n, r[1] = y_1, r[2] = y_2;
    if (G) G[0] = 1.0 / c->R_n, G[4] = G[8] = 1.0 / c->R_t;
  } else if (y_n > -hat * y_t) { /* slides; without friction: in contact */
    /* mu^2 may overflow: for mu > 1 numerators and denominators are divided by mu, or mu^2 */
    const double ratio = c->R_t / c->R_n, f = mu > 1.0 ? 1.0 / mu / (1.0 / mu + hat) : 1.0 / (1.0 + mu * hat),
                 mu_f = mu > 1.0 ? 1.0 / (1.0 / mu + hat) : mu * f, t_1 = y_t > 0.0 ? y_1 / y_t : 0.0, t_2 = y_t > 0.0 ? y_2 / y_t : 0.0;
    r[0] = mu > 1.0 ? (y_n / mu + ratio * y_t) / (1.0 / mu + hat) : f * (y_n + hat * y_t);
    r[1] = mu * r[0] * t_1, r[2] = mu * r[0] * t_2;
    if (G) {
      const double across = y_t > 0.0 ? mu * r[0] / y_t / c->R_t : 0.0, along = mu_f * ratio * mu / c->R_t;
      G[0] = f / c->R_n;
      G[1] = G[3] = mu_f * t_1 / c->R_n;
      G[2] = G[6] = mu_f * t_2 / c->R_n;
      G[4]        = across * t_2 * t_2 + along * t_1 * t_1;
      G[8]        = across * t_1 * t_1 + along * t_2 * t_2;
      G[5] = G[7] = (along - across) * t_1 * t_2;
    }
  }
  return 0.5 * (c->R_n * r[0] * r[0] + c->R_t * (r[1] * r[1] + r[2] * r[2]));
}

double sap_law_lagged(const sap_contact *c, const double u[3], double r[3], double G[9])
{
  const double k = c->dt * c->stiffness, d = c->dissipation, slope = -k;
  const double most = fmin(c->force / k, d > 0.0 ? 1.0 / d : INFINITY), v = fmin(u[0], most), change = slope * v;
  const double N    = c->dt * (v * (c->force + 0.5 * change) - 0.5 * d * v * v * (c->force + 2.0 / 3.0 * change));
  const double push = u[0] < most ? c->force + change : 0.0, damp = u[0] < most ? 1.0 - d * v : 0.0;
  const double soft = sqrt(u[1] * u[1] + u[2] * u[2] + c->slip * c->slip), t_1 = u[1] / soft, t_2 = u[2] / soft;
  r[0] = c->dt * push * damp;
  r[1] = -c->limit * t_1, r[2] = -c->limit * t_2;
  if (G) {
    memset(G, 0, 9 * sizeof *G);
    G[0] = c->dt * (k * damp + d * push);
    G[4] = c->limit / soft * (1.0 - t_1 * t_1);
    G[8] = c->limit / soft * (1.0 - t_2 * t_2);
    G[5] = G[7] = -c->limit / soft * t_1 * t_2;
  }
  return -N + c->limit * (soft - c->slip);
}

enum { PARALLEL_CONTACTS = 512 };

static void contact_laws(const sap_terms *t, const double *u, double *cost, double *r, double *G)
{
  const int64_t      n = t->n_contacts;
  const sap_contact *c = t->contact;
  if (t->model == SAP_REGULARISED) {
#pragma omp parallel for schedule(static) if (n >= PARALLEL_CONTACTS)
    for (int64_t a = 0; a < n; ++a) cost[a] = sap_law_regularised(c + a, u + 3 * a, r + 3 * a, G ? G + 9 * a : NULL);
  } else {
#pragma omp parallel for schedule(static) if (n >= PARALLEL_CONTACTS)
    for (int64_t a = 0; a < n; ++a) cost[a] = sap_law_lagged(c + a, u + 3 * a, r + 3 * a, G ? G + 9 * a : NULL);
  }
}

void sap_evaluate_terms(const sap_terms *t, const double *u, double *cost, double *r, double *G)
{
  const int64_t first = t->n_contacts, n = t->n_constraints;
  contact_laws(t, u, cost, r, G);
#pragma omp parallel for schedule(static) if (n >= PARALLEL_CONTACTS)
  for (int64_t a = 0; a < n; ++a) {
    double slope[3];
    cost[first + a] = constraint_law(t->constraint + a, u + 3 * (first + a), r + 3 * (first + a), slope);
    if (!G) continue;
    double *const g = G + 9 * (first + a);
    memset(g, 0, 9 * sizeof *g);
    for (int i = 0; i < 3; ++i) g[4 * i] = slope[i];
  }
}

int sap_law_slides(const sap_contact *c, const double r[3])
{
  return r[0] > 0.0 && hypot(r[1], r[2]) >= c->mu * r[0] * (1.0 - 64.0 * DBL_EPSILON);
}

void sap_law_velocity(const sap_contact *c, const double r[3], double speed, double u[3])
{
  const double size = hypot(r[1], r[2]), least = c->R_t * size;
  u[0] = c->bias - c->R_n * r[0];
  if (!sap_law_slides(c, r) || !(size > 0.0)) {
    u[1] = -c->R_t * r[1], u[2] = -c->R_t * r[2];
    return;
  }
  const double slides = fmax(speed, least * (1.0 + 1e-6));
  u[0] += c->mu * (slides - least);
  u[1] = -slides * r[1] / size, u[2] = -slides * r[2] / size;
}
