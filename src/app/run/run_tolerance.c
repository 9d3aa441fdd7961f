/* Implementation of run_tolerance.h: errors and tolerances of the step by formulation. */
#include "app/run/run_tolerance.h"
#include <math.h>
#include <stdio.h>
#include "sim/convex/convex_keys.h"
#include "sim/exact/exact_keys.h"
#include "sim/penalty/penalty_keys.h"

static bool is_monolith(const formulation_ops *ops) { return ops->report & REPORT_GRANULAR; }

const char *run_tolerance_key(const formulation_ops *ops)
{
  return is_monolith(ops) ? "solver.monolith.tolerance" : "solver.newton.tolerance";
}

double run_tolerance(const formulation_ops *ops, const solver_options *o)
{
  return is_monolith(ops) ? o->monolith->tolerance : o->newton->tolerance;
}

const char *run_residual_unit(const formulation_ops *ops, const solver_options *o)
{
  return is_monolith(ops) ? "of the scale of the solution" : penalty_norm_unit(o->penalty);
}

/* An error, and the largest one that is accepted. */
typedef struct {
  const char *what;             /* "residual" */
  double      error;            /* infinite: unknown */
  const char *unit;             /* "" : none */
  double      tolerance, given; /* given: tolerance for solvers that stall; NaN: not given in the job */
  const char *tolerance_key, *given_key;
} rejected_error;

static double reported_friction_error(const friction_options *o, const step_report *report)
{
  switch (o->error) {
  case FRICTION_ERROR_SCALED: return report->friction_error;
  case FRICTION_ERROR_SICONOS: return report->friction_error_siconos;
  case FRICTION_ERROR_ABSOLUTE: return report->friction_error_absolute;
  default: return fmax(report->friction_error, report->friction_error_siconos);
  }
}

static rejected_error contact_error(const formulation_ops *ops, const solver_options *o, const step_report *report)
{
  if (ops->report & REPORT_CONVEX)
    return (rejected_error){"error of the contact problem",        report->gradient,           "",
                            sap_tolerance(&o->convex->sap),        o->convex->stall_tolerance, "solver.convex.tolerance",
                            "solver.convex.expert.stall_tolerance"};
  if (report->friction_speed_ratio > 0.0)
    return (rejected_error){"velocity error of the friction problem",
                            report->friction_speed_ratio,
                            "times the accepted one",
                            1.0,
                            NAN,
                            "solver.exact.max_creep",
                            "solver.exact.max_creep"};
  return (rejected_error){"error of the friction problem",
                          reported_friction_error(o->friction, report),
                          "",
                          solver_friction_tolerance(o->friction),
                          o->exact->friction_stall_tolerance,
                          "solver.friction.tolerance",
                          "solver.exact.expert.friction_stall_tolerance"};
}

static rejected_error residual_error(const formulation_ops *ops, const solver_options *o, const step_report *report)
{
  return (rejected_error){"residual",
                          report->residual,
                          run_residual_unit(ops, o),
                          run_tolerance(ops, o),
                          o->newton->stall_tolerance, /* NaN under monolith, which removes the key */
                          run_tolerance_key(ops),
                          "solver.newton.stall_tolerance"};
}

void run_explain_rejection(const formulation_ops *ops, const solver_options *o, const step_status *status, const step_report *report,
                           size_t size, char *text)
{
  const bool  is_friction = status->code == STEP_FRICTION_NOT_CONVERGED, is_residual = status->code == STEP_NOT_CONVERGED;
  const char *name = status->body ? status->body : is_residual ? report->residual_body : NULL;
  int         n    = snprintf(text, size, "%s%s%s", step_code_text(status->code), name ? " in body " : "", name ? name : "");
  if ((!is_friction && !is_residual) || n < 0 || (size_t)n >= size) return;
  const rejected_error e = is_friction ? contact_error(ops, o, report) : residual_error(ops, o, report);
  if (isfinite(e.error)) n += snprintf(text + n, size - (size_t)n, ": %s %.3g%s%s", e.what, e.error, *e.unit ? " " : "", e.unit);
  else n += snprintf(text + n, size - (size_t)n, ": %s unknown", e.what);
  if ((size_t)n >= size) return;
  if (isnan(e.given) && is_friction)
    snprintf(text + n, size - (size_t)n, ", accepted up to %.3g, see %s", solver_contact_stall_tolerance(e.given, e.tolerance),
             e.given_key);
  else if (isnan(e.given))
    snprintf(text + n, size - (size_t)n, ", accepted up to %.3g = 10 * %s", solver_stall_tolerance(e.given, e.tolerance), e.tolerance_key);
  else snprintf(text + n, size - (size_t)n, ", accepted up to %s %.3g", e.given_key, e.given);
}
