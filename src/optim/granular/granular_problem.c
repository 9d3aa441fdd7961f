/* Key tables of `solver.monolith`, used by the job reader, the reference pages and the tests. */
#include "optim/granular/granular_problem.h"
#include <stddef.h>

static const char *const couplings[] = {
#define X(symbol, name, help) name,
    GRANULAR_COUPLING_TABLE(X)
#undef X
        NULL};
static const char *const coupling_help[] = {
#define X(symbol, name, help) help,
    GRANULAR_COUPLING_TABLE(X)
#undef X
        NULL};
static const char *const stresses[] = {
#define X(symbol, name, solver, help) name,
    GRANULAR_STRESS_TABLE(X)
#undef X
        NULL};
static const char *const stress_help[] = {
#define X(symbol, name, solver, help) help,
    GRANULAR_STRESS_TABLE(X)
#undef X
        NULL};
static const char *const frictions[] = {
#define X(symbol, name, help) name,
    GRANULAR_FRICTION_TABLE(X)
#undef X
        NULL};
static const char *const friction_help[] = {
#define X(symbol, name, help) help,
    GRANULAR_FRICTION_TABLE(X)
#undef X
        NULL};

/* clang-format off */
static const key_spec  gradient_keys[] = {
  {.name = "max_iterations", .type = KEY_INT, .offset = offsetof(granular_gradient_options, max_iterations),
   .fallback = "200", .min = 1, .max = 1e9, .help = "maximum number of iterations of one stress solve"},
                                          {.name = NULL}};
static const key_table gradient_table = {.name = "solver.monolith.expert.projected_gradient", .help = "Stress by accelerated projected gradient.",
                                         .size = sizeof(granular_gradient_options), .keys = gradient_keys};

static const key_spec lagrangian_keys[] = {
  {.name = "iterations", .type = KEY_INT, .offset = offsetof(granular_lagrangian_options, iterations), .fallback = "1",
   .min = 1, .max = 1000, .help = "Newton steps of each component per outer iteration"},
  {.name = "damping", .type = KEY_REAL, .offset = offsetof(granular_lagrangian_options, damping), .fallback = "0.5",
   .min = 1e-6, .max = 1, .only_if = {"line_search", "false"}, .help = "damping factor: step length of a Newton step"},
  {.name = "auxiliary_pyramid", .type = KEY_BOOL, .offset = offsetof(granular_lagrangian_options, has_pyramid),
   .fallback = "true", .help = "whether Newton steps are bounded by a box around the cone"},
  {.name = "kappa", .type = KEY_REAL, .offset = offsetof(granular_lagrangian_options, kappa), .fallback = "3", .min = 0,
   .max = INFINITY, .is_open = true, .only_if = {"auxiliary_pyramid", "true"},
   .help = "width of that box over the width of the cone; 1 is the tightest and cuts off a part of the cone of the components "
           "sxx, szz"},
  {.name = "mu", .type = KEY_REAL, .offset = offsetof(granular_lagrangian_options, mu), .unit = "W", .is_optional = true,
   .min = 0, .max = INFINITY, .is_open = true,
   .help = "one penalty for all cells, as published; because of its unit, good values depend on size and material"},
  {.name = "line_search", .type = KEY_BOOL, .offset = offsetof(granular_lagrangian_options, has_line_search),
   .fallback = "false",
   .help = "backtracking line search on the energy instead of the damping; the published comparison finds the damping better"},
    {.name = NULL}};
static const key_table lagrangian_table = {.name = "solver.monolith.expert.augmented_lagrangian",
                                           .help = "Stress by augmented Lagrangian and inexact projected Newton.",
                                           .size = sizeof(granular_lagrangian_options),
                                           .keys = lagrangian_keys};

static const key_spec friction_keys[] = {
  {.name = "method", .type = KEY_ENUM, .offset = offsetof(granular_friction_options, method), .choices = frictions,
   .choice_help = friction_help, .fallback = "projected_gradient",
   .help = "solver of the tangential forces of rigid contacts"},
  {.name = "max_iterations", .type = KEY_INT, .offset = offsetof(granular_friction_options, max_iterations),
   .fallback = "200", .min = 1, .max = 1e9, .help = "maximum number of iterations of one solve for the tangential forces"},
    {.name = NULL}};
static const key_table friction_table = {.name = "solver.monolith.expert.friction",
                                         .help = "Tangential forces of rigid contacts.",
                                         .size = sizeof(granular_friction_options),
                                         .keys = friction_keys};

static const key_spec monolith_expert_keys[] = {
  {.name = "component_solver", .type = KEY_TABLE, .offset = offsetof(granular_options, boxes),
   .fallback = "{method: mprgp, tolerance: 1.0e-2}", .table = &bounds_options_table,
   .only_if = {"^stress", "augmented_lagrangian pyramid sp"},
   .help = "solver of the stress components, for stress: augmented_lagrangian, pyramid and sp"},
  {.name = "projected_gradient", .type = KEY_TABLE, .offset = offsetof(granular_options, gradient), .fallback = "{}",
   .table = &gradient_table, .only_if = {"^stress", "projected_gradient"}, .help = "options of stress: projected_gradient"},
  {.name = "augmented_lagrangian", .type = KEY_TABLE, .offset = offsetof(granular_options, lagrangian), .fallback = "{}",
   .table = &lagrangian_table, .only_if = {"^stress", "augmented_lagrangian"},
   .help = "options of stress: augmented_lagrangian"},
  {.name = "pyramid_width", .type = KEY_REAL, .offset = offsetof(granular_options, pyramid_width), .fallback = "1", .min = 0,
   .max = INFINITY, .is_open = true, .only_if = {"^stress", "pyramid sp"},
   .help = "stress: pyramid and sp: bound of a component over alpha p/sqrt(2), where a single shear component reaches the cone; the "
           "published value is sqrt(2)"},
  {.name = "friction", .type = KEY_TABLE, .offset = offsetof(granular_options, friction), .fallback = "{}",
   .table = &friction_table, .help = "options for the tangential forces of rigid contacts"},
  {.name = NULL}};
static const key_table monolith_expert_table = {.name = "solver.monolith.expert", .help = "Parameters of the solvers of stress and friction, and published alternatives.", .size = sizeof(granular_options), .keys = monolith_expert_keys};

static const key_spec keys[] = {
  {.name = "coupling", .type = KEY_ENUM, .offset = offsetof(granular_options, coupling), .choices = couplings,
   .choice_help = coupling_help, .fallback = "monolithic",
   .help = "order in which pressure, stress and rigid contacts are solved; use the first two, the others are for comparison"},
  {.name = "stress", .type = KEY_ENUM, .offset = offsetof(granular_options, stress), .choices = stresses,
   .choice_help = stress_help, .fallback = "projected_gradient", .help = "solver of the frictional stress"},
  {.name = "tolerance", .type = KEY_REAL, .offset = offsetof(granular_options, tolerance), .fallback = "1.0e-3", .min = 0,
   .max = 1, .is_open = true,
   .help = "convergence tolerance: largest change of pressure, stress and forces in an outer iteration, over their scales and "
           "before damping. With projected_gradient stress must also exceed its bound by at most twice this fraction"},
  /* Measured: a box that hits a plane with friction 1e8 (1e12) needs 38 (42) iterations in one of 300 steps, 387 (391) in all. A few grains
   * between a ball and an oblique plane (tests/unit/sim/test_monolith_momentum.c) need at most 112 in 57 of 60 steps, and in two more than 1000. */
  {.name = "max_outer_iterations", .type = KEY_INT, .offset = offsetof(granular_options, max_outer_iterations), .fallback = "200",
   .min = 1, .max = 1e6, .help = "maximum number of outer iterations (staggered projections) in a time step"},
  {.name = "pressure", .type = KEY_TABLE, .offset = offsetof(granular_options, pressure), .fallback = "{}",
   .table = &bounds_options_table, .help = "solver of pressure and normal forces"},
  {.name = "expert", .type = KEY_PART, .table = &monolith_expert_table, .fallback = "{}", .help = "keys for experts"},
    {.name = NULL}};
/* clang-format on */
const key_table granular_options_table = {.name = "solver.monolith",
                                          .help = "Pressure, frictional stress and rigid contact of a continuum on a staggered grid.",
                                          .size = sizeof(granular_options),
                                          .keys = keys};
