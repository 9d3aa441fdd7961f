/* Texts about steps that did not converge: which tolerance was exceeded, by how much, and in which body. Called by run.c. */
#ifndef SS_APP_RUN_RUN_TOLERANCE_H
#define SS_APP_RUN_RUN_TOLERANCE_H
#include "sim/step/formulation.h"
#include "sim/step/solver_options.h"

/* Key of the tolerance of `residual` of this formulation, and its value. */
const char *run_tolerance_key(const formulation_ops *ops);
double      run_tolerance(const formulation_ops *ops, const solver_options *o);
/* Unit of `residual` in messages: "in units of acceleration_scale", "N s", or "" for a relative value. */
const char *run_residual_unit(const formulation_ops *ops, const solver_options *o);
/* Explain a rejected attempt: "the nonlinear solver did not converge in body rope: residual 0.3 ..., accepted up to 0.01 = 10 *
 * solver.newton.tolerance". Other reasons than convergence: their text and body. */
void run_explain_rejection(const formulation_ops *ops, const solver_options *o, const step_status *status, const step_report *report,
                           size_t size, char *text);
#endif
