/* Tables of solvers and of keys, and friction_solve. Jobs and the command line use the same key table. */
#include "optim/friction/friction.h"
#include "core/memory.h"
#include "core/timer.h"
#include "optim/friction/admm.h"
#include "optim/friction/automatic.h"
#include "optim/friction/gradient.h"
#include "optim/friction/interior_point.h"
#include "optim/friction/newton.h"
#include "optim/friction/newton_prox.h"
#include "optim/friction/splitting.h"
#include <math.h>
#include <stddef.h>

static const char *const methods[] = {
#define X(symbol, name, solve, help) name,
    FRICTION_SOLVER_TABLE(X)
#undef X
        NULL};
static const char *const method_help[] = {
#define X(symbol, name, solve, help) help,
    FRICTION_SOLVER_TABLE(X)
#undef X
        NULL};
const friction_solver friction_solvers[FRICTION_N_METHODS + 1] = {
#define X(symbol, name, solve, help) {name, help, solve},
    FRICTION_SOLVER_TABLE(X)
#undef X
        {NULL, NULL, NULL}};

static const char *const errors[]     = {"both", "scaled", "siconos", "absolute", NULL};
static const char *const error_help[] = {
    "the larger of scaled and siconos",
    "natural map with rho_a = 3/trace(W_aa) relative to the larger of r and q, in the energy norm: independent of the unit of mass",
    "natural map relative to the largest of the norms of q, r and u, as in Siconos", "absolute norm of the natural map", NULL};

static const char *const searches[]    = {"full", "goldstein_price", NULL};
static const char *const search_help[] = {"whole steps: the merit may rise across a kink; the best impulses are kept",
                                          "as published: 1/2 |f|^2 falls enough and not too little for the length of the step", NULL};
static const char *const locals[]      = {"exact", "fischer_burmeister", NULL};
static const char *const local_help[]  = {"exact solution: separation, stick, or slip by its scalar equation",
                                          "Newton's method on the Fischer-Burmeister function, enumeration where it fails [Daviet2011]",
                                          NULL};

/* clang-format off */
static const key_spec friction_expert_keys[] = {
  {.name = "line_search", .type = KEY_ENUM, .offset = offsetof(friction_options, line_search), .choices = searches, .choice_help = search_help, .fallback = "full",
   .only_if = {"^method", "newton"}, .help = "line search of Newton's method"},
  {.name = "merit", .type = KEY_REAL, .offset = offsetof(friction_options, merit), .unit = "(N s)^2", .fallback = "0", .min = 0, .max = INFINITY,
   .only_if = {"^method", "newton"}, .help = "stop at this value of 1/2 |f|^2, the published criterion [BertailsEtAl2011]; 0: stop by the error tolerance only"},
  {.name = "local_solver", .type = KEY_ENUM, .offset = offsetof(friction_options, local_solver), .choices = locals, .choice_help = local_help, .fallback = "exact",
   .only_if = {"^method", "splitting"}, .help = "solver of a single contact"},
  {.name = NULL}};
static const key_table friction_expert_table = {.name = "friction.expert", .help = "Published variants of newton and splitting, for comparison.", .size = sizeof(friction_options), .keys = friction_expert_keys};

static const key_spec keys[] = {
  {.name = "method", .type = KEY_ENUM, .offset = offsetof(friction_options, method), .choices = methods, .choice_help = method_help, .fallback = "automatic",
   .help = "solver of the contact impulses with exact Coulomb friction"},
  {.name = "tolerance", .type = KEY_REAL, .offset = offsetof(friction_options, tolerance), .is_optional = true, .min = 0, .max = 1, .is_open = true,
   .help = "convergence tolerance on the error; 1e-8 if not given, but formulation exact without deformable bodies then uses solver.exact.max_creep"},
  {.name = "error", .type = KEY_ENUM, .offset = offsetof(friction_options, error), .choices = errors, .choice_help = error_help, .fallback = "both",
   .help = "error norm that the tolerance refers to"},
  {.name = "max_iterations", .type = KEY_INT, .offset = offsetof(friction_options, max_iterations), .fallback = "0", .min = 0, .max = 1e9,
   .help = "largest number of outer iterations; 0: default of the method, or none with a time_limit"},
  {.name = "time_limit", .type = KEY_REAL, .offset = offsetof(friction_options, time_limit), .unit = "s", .fallback = "0", .min = 0, .max = INFINITY,
   .help = "limit on the wall time of one solve, after which the best impulses so far are used; 0: none. A run that reaches it is not reproducible bit for bit"},
  {.name = "expert", .type = KEY_PART, .table = &friction_expert_table, .fallback = "{}", .help = "keys for experts"},
  {.name = NULL}};
/* clang-format on */
const key_table friction_options_table = {.name = "friction",
                                          .help = "Solver of the contact impulses with exact Coulomb friction.",
                                          .size = sizeof(friction_options),
                                          .keys = keys};

PetscErrorCode friction_options_defaults(document *owner, const friction_options **out)
{
  const void *read = NULL;
  PetscFunctionBegin;
  *out = NULL;
  PetscCall(key_table_read(&friction_options_table, owner, NULL, "friction", NULL, &read));
  *out = read;
  PetscFunctionReturn(PETSC_SUCCESS);
}

double friction_tolerance(const friction_options *o) { return isnan(o->tolerance) ? 1e-8 : o->tolerance; }

PetscErrorCode friction_solve(const friction_problem *p, const friction_options *o, double *r, double *u, friction_result *out)
{
  const double     begin = timer_now();
  friction_options own   = *o;
  PetscFunctionBegin;
  own.tolerance = friction_tolerance(o);
  *out          = (friction_result){.method = friction_solvers[o->method].name};
  PetscCall(friction_problem_check(p, r));
  if (p->n > 0) PetscCall(friction_solvers[o->method].solve(p, &own, r, u, out));
  friction_errors(p, r, u, &out->absolute, &out->siconos, &out->scaled, NULL);
  if (p->speed_limit) out->speed = friction_speed_error(p, r, u, &out->residual_speed);
  if (out->status == FRICTION_OK && !(friction_result_error(out, own.error) <= own.tolerance)) out->status = FRICTION_STALLED;
  out->seconds = timer_now() - begin;
  PetscFunctionReturn(PETSC_SUCCESS);
}
