#include "optim/friction/friction.h"
#include "core/math3.h"
#include "core/memory.h"
#include "core/timer.h"
#include <inttypes.h>

const char *friction_verdict_text(friction_verdict v)
{
  switch (v) {
#define X(name, text) case name: return text;
    FRICTION_VERDICT_TABLE(X)
#undef X
  }
  return "unknown";
}

/* What is wrong with contact a; writing numbers for contacts that are right would take longer than solving small problems. */
static PetscErrorCode refuse_contact(const friction_problem *p, const double *r, int64_t a)
{
  const double *w = delassus_diagonal(p->W) + 9 * a;
  char          text[32];
  PetscFunctionBegin;
  snprintf(text, sizeof text, "%g", p->mu[a]);
  PetscCheck(isfinite(p->mu[a]) && p->mu[a] >= 0.0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "contact %" PRId64 ": the friction coefficient is %s, expected a finite number of at least 0", a, text);
  for (int i = 0; i < 3; ++i) {
    PetscCheck(isfinite(p->q[3 * a + i]), PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
               "contact %" PRId64 ": the free velocity q is not finite; look for bodies whose velocity or forces ran away", a);
    PetscCheck(isfinite(r[3 * a + i]), PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
               "contact %" PRId64 ": the guess for the impulse is not finite; start from zero", a);
  }
  for (int e = 0; e < 9; ++e)
    PetscCheck(isfinite(w[e]), PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "contact %" PRId64 ": its block of W is not finite", a);
  snprintf(text, sizeof text, "%g", w[0]);
  PetscCheck(w[0] > 0.0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "contact %" PRId64 ": no impulse of its own pushes it apart (W_NN = %s, expected more than 0); do its bodies move at all? Leave such a contact out", a,
             text);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline bool is_right(const friction_problem *p, const double *r, int64_t a)
{
  const double *w    = delassus_diagonal(p->W) + 9 * a;
  bool          is_ok = isfinite(p->mu[a]) && p->mu[a] >= 0.0 && w[0] > 0.0;
  for (int i = 0; i < 3; ++i) is_ok = is_ok && isfinite(p->q[3 * a + i]) && isfinite(r[3 * a + i]);
  for (int e = 0; e < 9; ++e) is_ok = is_ok && isfinite(w[e]);
  return is_ok;
}

PetscErrorCode friction_problem_check(const friction_problem *p, const double *r)
{
  PetscFunctionBegin;
  PetscCheck(p->n == delassus_n_contacts(p->W), PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "%" PRId64 " contacts, but W has %" PRId64 "; both must agree", p->n, delassus_n_contacts(p->W));
  for (int64_t a = 0; a < p->n; ++a)
    if (!is_right(p, r, a)) PetscCall(refuse_contact(p, r, a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode friction_solve(const friction_problem *p, const friction_options *o, double *r, double *u, friction_result *out)
{
  const double begin = timer_now();
  PetscFunctionBegin;
  *out = (friction_result){.method = friction_solvers[o->method].name};
  PetscCall(friction_problem_check(p, r));
  if (p->n > 0) PetscCall(friction_solvers[o->method].solve(p, o, r, u, out));
  friction_errors(p, r, u, &out->absolute, &out->siconos, &out->scaled, NULL);
  if (out->verdict == FRICTION_OK && !(friction_result_error(out, o->error) <= o->tolerance)) out->verdict = FRICTION_STALLED;
  out->seconds = timer_now() - begin;
  PetscFunctionReturn(PETSC_SUCCESS);
}
