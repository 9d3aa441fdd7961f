/* Implementation: input check and error norms. Sums run over chunks whose borders depend on n alone. */
#include "optim/friction/friction_problem.h"
#include "core/math3.h"
#include "optim/friction/cone.h"
#include <inttypes.h>
#include <stdio.h>

const char *friction_status_text(friction_status v)
{
  switch (v) {
#define X(name, text)                                                                                                                      \
  case name: return text;
    FRICTION_STATUS_TABLE(X)
#undef X
  }
  return "unknown";
}

/* Error message for an invalid contact a. Separate from is_valid_contact because formatting numbers takes longer than solving a small problem. */
static PetscErrorCode report_invalid_contact(const friction_problem *p, const double *r, int64_t a)
{
  const double *w = delassus_diagonal(p->W) + 9 * a;
  char          text[32];
  PetscFunctionBegin;
  snprintf(text, sizeof text, "%g", p->mu[a]);
  PetscCheck(isfinite(p->mu[a]) && p->mu[a] >= 0.0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "contact %" PRId64 ": the friction coefficient is %s, expected a finite number of at least 0", a, text);
  for (int i = 0; i < 3; ++i) {
    PetscCheck(isfinite(p->q[3 * a + i]), PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
               "contact %" PRId64 ": the free velocity q is not finite; check for bodies whose velocities or forces diverge", a);
    PetscCheck(isfinite(r[3 * a + i]), PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
               "contact %" PRId64 ": the initial guess of the impulse is not finite; start from zero", a);
  }
  for (int e = 0; e < 9; ++e)
    PetscCheck(isfinite(w[e]), PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "contact %" PRId64 ": its block of W is not finite", a);
  snprintf(text, sizeof text, "%g", w[0]);
  PetscCheck(w[0] > 0.0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "contact %" PRId64 ": its normal impulse does not change its normal velocity (W_NN = %s, expected more than 0); remove "
             "contacts between immovable bodies",
             a, text);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline bool is_valid_contact(const friction_problem *p, const double *r, int64_t a)
{
  const double *w     = delassus_diagonal(p->W) + 9 * a;
  bool          is_ok = isfinite(p->mu[a]) && p->mu[a] >= 0.0 && w[0] > 0.0;
  for (int i = 0; i < 3; ++i) is_ok = is_ok && isfinite(p->q[3 * a + i]) && isfinite(r[3 * a + i]);
  for (int e = 0; e < 9; ++e) is_ok = is_ok && isfinite(w[e]);
  return is_ok;
}

int64_t friction_most_iterations(const friction_options *o, int64_t most)
{
  return o->max_iterations > 0 ? o->max_iterations : o->time_limit > 0.0 ? INT64_MAX : most;
}

PetscErrorCode friction_problem_check(const friction_problem *p, const double *r)
{
  PetscFunctionBegin;
  PetscCheck(p->n == delassus_n_contacts(p->W), PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "%" PRId64 " contacts, but W has %" PRId64 "; both numbers must agree", p->n, delassus_n_contacts(p->W));
  for (int64_t a = 0; a < p->n; ++a)
    if (!is_valid_contact(p, r, a)) PetscCall(report_invalid_contact(p, r, a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void friction_velocity(const friction_problem *p, const double *r, double *u)
{
  delassus_apply(p->W, r, u);
  for (int64_t i = 0; i < 3 * p->n; ++i) u[i] += p->q[i];
}

typedef struct {
  double F, r, u, q, scaled_F, scaled_r, scaled_q; /* sums of squares */
} sums;

static void add_contact(const friction_problem *p, int64_t a, const double *r, const double *u, sums *s, double *share)
{
  const double rho = 3.0 / m3_trace(delassus_diagonal(p->W) + 9 * a), *const q = p->q + 3 * a;
  double F[3], scaled[3];
  cone_natural_map(p->mu[a], 1.0, u, r, F);
  cone_natural_map(p->mu[a], rho, u, r, scaled);
  s->F += v3_dot(F, F), s->r += v3_dot(r, r), s->u += v3_dot(u, u), s->q += v3_dot(q, q);
  const double square = v3_dot(scaled, scaled) / rho;
  s->scaled_F += square, s->scaled_r += v3_dot(r, r) / rho, s->scaled_q += v3_dot(q, q) * rho;
  if (share) *share = square;
}

/* At most 64 chunks, whose borders depend on n alone. */
enum { CHUNKS = 64, CHUNK_LEAST = 64, PARALLEL_CONTACTS = 512 };

static sums add_chunk(const friction_problem *p, int64_t first, int64_t last, const double *r, const double *u, double *per_contact)
{
  sums s = {0};
  for (int64_t a = first; a < last; ++a) add_contact(p, a, r + 3 * a, u + 3 * a, &s, per_contact ? per_contact + a : NULL);
  return s;
}

static double divide_or_infinity(double above, double below) { return below > 0.0 ? above / below : above > 0.0 ? INFINITY : above; }
static double larger(double a, double b) { return a > b ? a : b; }

void friction_errors(const friction_problem *p, const double *r, const double *u, double *absolute, double *siconos, double *scaled,
                     double *per_contact)
{
  const int64_t size_even = (p->n + CHUNKS - 1) / CHUNKS, length = size_even > CHUNK_LEAST ? size_even : CHUNK_LEAST;
  const int64_t n_chunks = (p->n + length - 1) / length;
  sums          part[CHUNKS], t = {0};
  if (p->n < PARALLEL_CONTACTS) { /* a parallel region calls the operating system, even for one thread */
    for (int64_t c = 0; c < n_chunks; ++c)
      part[c] = add_chunk(p, c * length, (c + 1) * length < p->n ? (c + 1) * length : p->n, r, u, per_contact);
  } else {
#pragma omp parallel for schedule(static)
    for (int64_t c = 0; c < n_chunks; ++c)
      part[c] = add_chunk(p, c * length, (c + 1) * length < p->n ? (c + 1) * length : p->n, r, u, per_contact);
  }
  for (int64_t c = 0; c < n_chunks; ++c) {
    const sums s = part[c];
    t.F += s.F, t.r += s.r, t.u += s.u, t.q += s.q, t.scaled_F += s.scaled_F, t.scaled_r += s.scaled_r, t.scaled_q += s.scaled_q;
  }
  const double size = sqrt(larger(t.q, larger(t.r, t.u))), scaled_size = sqrt(larger(t.scaled_r, t.scaled_q));
  if (absolute) *absolute = sqrt(t.F);
  if (siconos) *siconos = divide_or_infinity(sqrt(t.F), size);
  if (scaled) *scaled = divide_or_infinity(sqrt(t.scaled_F), scaled_size);
  for (int64_t a = 0; per_contact && a < p->n; ++a) per_contact[a] = divide_or_infinity(sqrt(per_contact[a]), scaled_size);
}

double friction_speed_limit(const friction_problem *p, int64_t a, double rho, const double r[3])
{
  return friction_speed_limit_of(p->speed_limit[a], v3_norm(r) / rho, p->load_speed);
}

double friction_speed_error(const friction_problem *p, const double *r, const double *u, double *speed)
{
  double most = 0.0, fastest = 0.0;
  bool   is_nan = false;
  /* the maximum does not depend on the order */
#pragma omp parallel for schedule(static) reduction(max : most, fastest) reduction(|| : is_nan) if (p->n >= PARALLEL_CONTACTS)
  for (int64_t a = 0; a < p->n; ++a) {
    const double rho = 3.0 / m3_trace(delassus_diagonal(p->W) + 9 * a);
    double       F[3];
    cone_natural_map(p->mu[a], rho, u + 3 * a, r + 3 * a, F);
    const double E = v3_norm(F) / rho;
    is_nan         = is_nan || !(E < INFINITY);
    fastest        = fmax(fastest, E);
    most           = fmax(most, E / friction_speed_limit(p, a, rho, r + 3 * a));
  }
  if (speed) *speed = is_nan ? NAN : fastest;
  return is_nan ? NAN : most;
}

double friction_error(const friction_problem *p, int kind, const double *r, const double *u)
{
  friction_result e = {0};
  if (kind == FRICTION_ERROR_SPEED) return friction_speed_error(p, r, u, NULL);
  friction_errors(p, r, u, &e.absolute, &e.siconos, &e.scaled, NULL);
  return friction_result_error(&e, kind);
}

double friction_result_error(const friction_result *answer, int kind)
{
  switch (kind) {
  case FRICTION_ERROR_SCALED: return answer->scaled;
  case FRICTION_ERROR_SICONOS: return answer->siconos;
  case FRICTION_ERROR_ABSOLUTE: return answer->absolute;
  case FRICTION_ERROR_SPEED: return answer->speed;
  default: return isnan(answer->siconos) ? answer->siconos : larger(answer->siconos, answer->scaled); /* NaN if either is NaN */
  }
}
