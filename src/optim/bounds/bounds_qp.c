#include "optim/bounds/bounds_qp.h"
#include "core/memory.h"
#include "optim/bounds/bounds_nested.h"
#include "optim/bounds/bounds_vector.h"
#include <inttypes.h>
#include <stddef.h>

enum { ROUNDS = 3 };

const char *box_verdict_text(box_verdict v)
{
  switch (v) {
#define X(name, text) case name: return text;
    BOX_VERDICT_TABLE(X)
#undef X
  }
  return "unknown";
}

static const char *const methods[] = {
#define X(symbol, name, solve, help) name,
  BOX_SOLVER_TABLE(X)
#undef X
  NULL};
static const char *const method_help[] = {
#define X(symbol, name, solve, help) help,
  BOX_SOLVER_TABLE(X)
#undef X
  NULL};
static const char *const preconditioners[] = {
#define X(symbol, name, help) name,
  BOX_PRECONDITIONER_TABLE(X)
#undef X
  NULL};
static const char *const preconditioner_help[] = {
#define X(symbol, name, help) help,
  BOX_PRECONDITIONER_TABLE(X)
#undef X
  NULL};
const box_solver box_solvers[BOX_N_METHODS + 1] = {
#define X(symbol, name, solve, help) {name, help, solve},
  BOX_SOLVER_TABLE(X)
#undef X
  {NULL, NULL, NULL}};

static const key_spec keys[] = {
    {.name        = "method",
     .type        = KEY_ENUM,
     .offset      = offsetof(box_options, method),
     .choices     = methods,
     .choice_help = method_help,
     .fallback    = "active_set",
     .help        = "how the quadratic program with bounds is solved"},
    {.name        = "preconditioner",
     .type        = KEY_ENUM,
     .offset      = offsetof(box_options, preconditioner),
     .choices     = preconditioners,
     .choice_help = preconditioner_help,
     .fallback    = "multigrid",
     .help        = "of the unknowns between their bounds"},
    {.name     = "tolerance",
     .type     = KEY_REAL,
     .offset   = offsetof(box_options, tolerance),
     .fallback = "1.0e-4",
     .min      = 0,
     .max      = 1,
     .help     = "projected gradient over the right-hand side, in the norm of the inverse diagonal, at which it counts as solved"},
    {.name     = "absolute",
     .type     = KEY_REAL,
     .offset   = offsetof(box_options, absolute),
     .fallback = "0",
     .min      = 0,
     .max      = INFINITY,
     .help =
         "projected gradient at which it counts as solved whatever the right-hand side; in the square root of the unit of energy"},
    {.name     = "max_iterations",
     .type     = KEY_INT,
     .offset   = offsetof(box_options, max_iterations),
     .fallback = "0",
     .min      = 0,
     .max      = 1e9,
     .help     = "0: the method's own limit"},
    {.name     = "gamma",
     .type     = KEY_REAL,
     .offset   = offsetof(box_options, gamma),
     .fallback = "1",
     .min      = 0,
     .max      = INFINITY,
     .is_open  = true,
     .help     = "of mprgp: bounds are released when their share of the gradient exceeds gamma times the free one"},
    {.name     = "trials",
     .type     = KEY_INT,
     .offset   = offsetof(box_options, trials),
     .fallback = "1",
     .min      = 1,
     .max      = 100,
     .help     = "of interior_point and augmented_lagrangian: step lengths tried at most"},
    {.name     = "nested",
     .type     = KEY_BOOL,
     .offset   = offsetof(box_options, is_nested),
     .fallback = "true",
     .help = "with multigrid, mprgp and active_set start from the program on coarser grids where the start given is far from the "
             "answer"},
    {.name     = "prefix",
     .type     = KEY_STRING,
     .offset   = offsetof(box_options, prefix),
     .fallback = "pressure_",
     .help =
         "of PETSc's options that tao and snesvi read: with pressure_ the key pressure_tao_type of the block petsc picks its type"},
    {.name = NULL}};
const key_table box_options_table = {
    .name = "box", .help = "Quadratic programs with bounds, pressure among them.", .size = sizeof(box_options), .keys = keys};

PetscErrorCode box_options_defaults(document *owner, const box_options **out)
{
  diagnostics *d = NULL;
  const void  *read = NULL;
  PetscFunctionBegin;
  *out = NULL;
  PetscCall(diagnostics_create(&d));
  const PetscErrorCode code = key_table_read(&box_options_table, owner, NULL, "box", d, &read);
  diagnostics_destroy(&d);
  PetscCall(code);
  *out = read;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* NULL, or the rule that an unknown breaks. */
static const char *fault_of(const box_qp *q, const double *x, int64_t i)
{
  const double lo = q->lo ? q->lo[i] : -INFINITY, hi = q->hi ? q->hi[i] : INFINITY;
  if (!(q->diagonal[i] > 0.0 && isfinite(q->diagonal[i]))) return "its diagonal must be a finite number above 0";
  if (!isfinite(q->b[i])) return "its right-hand side is not finite";
  if (!isfinite(x[i])) return "the value it starts from is not finite";
  if (!(lo <= hi) || lo == INFINITY || hi == -INFINITY) return "its bounds leave no room";
  return NULL;
}

double box_residual(const box_qp *q, const double *x, double *scratch, int64_t *n_bound)
{
  double  sum = 0.0;
  int64_t count = 0;
  q->apply(q->context, x, scratch);
  for (int64_t c = 0; c < box_chunks(q->n); ++c) {
    BOX_RANGE(q->n);
    double part = 0.0;
    for (int64_t i = first; i < last; ++i) {
      const bool   at_lo = q->lo && x[i] <= q->lo[i], at_hi = q->hi && x[i] >= q->hi[i];
      const double g = scratch[i] - q->b[i], up = g > 0.0 ? g : 0.0, down = g < 0.0 ? g : 0.0,
                   nu = at_lo && at_hi ? 0.0 : at_lo ? down : at_hi ? up : g;
      scratch[i]     = g;
      count += at_lo || at_hi;
      part += isnan(g) ? NAN : nu * nu / q->diagonal[i];
    }
    sum += part;
  }
  if (n_bound) *n_bound = count;
  return sqrt(sum);
}

/* |b| in the norm of the inverse diagonal; x into the box; *bad: the first unknown that breaks a rule, or n, as x was. */
static double begin(const box_qp *q, double *restrict x, box_part *part, int64_t *bad)
{
  const int64_t n = q->n, n_chunks = box_chunks(n);
  BOX_CHUNKS(n) {
    BOX_RANGE(n);
    double  sum   = 0.0;
    int64_t wrong = n;
    for (int64_t i = last - 1; i >= first; --i) {
      if (fault_of(q, x, i)) wrong = i;
      sum += q->b[i] * q->b[i] / q->diagonal[i];
    }
    for (int64_t i = first; i < last && wrong == n; ++i)
      x[i] = box_clip(x[i], q->lo ? q->lo[i] : -INFINITY, q->hi ? q->hi[i] : INFINITY);
    part[c][0] = sum, part[c][1] = (double)wrong;
  }
  *bad = n;
  for (int64_t c = n_chunks - 1; c >= 0; --c)
    if (part[c][1] < (double)n) *bad = (int64_t)part[c][1];
  return sqrt(box_add(part, n_chunks, 0));
}

PetscErrorCode box_solve(const box_qp *q, const box_options *o, double *x, box_result *r)
{
  const box_qp unbounded = {.n = q->n, .apply = q->apply, .context = q->context, .diagonal = q->diagonal, .b = q->b};
  double      *scratch   = NULL;
  box_part    *part      = NULL;
  int64_t      bad;
  PetscFunctionBegin;
  PetscCall(memory_alloc("partial sums of a quadratic program", box_chunks(q->n), sizeof *part, &part));
  const double size = begin(q, x, part, &bad);
  memory_free(&part);
  *r = (box_result){.alpha_bar = r->alpha_bar, .target = fmax(o->tolerance * size, o->absolute)};
  PetscCheck(bad == q->n, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "unknown %" PRId64 " of a quadratic program: %s", bad,
             fault_of(q, x, bad));
  if (q->n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(memory_alloc("gradient of a quadratic program", q->n, sizeof *scratch, &scratch));
  PetscErrorCode code     = PETSC_SUCCESS;
  const bool     takes_it = o->method == BOX_METHOD_MPRGP || o->method == BOX_METHOD_ACTIVE_SET;
  if (o->is_nested && takes_it && o->preconditioner == BOX_PRECONDITIONER_MULTIGRID) code = box_nested_start(q, o, x, r);
  for (int round = 0; round < ROUNDS && !code; ++round) { /* a residual that was carried along may have drifted from the true one */
    code = box_solvers[o->method].solve(q, o, x, r);
    if (code) break;
    r->residual = box_residual(o->method == BOX_METHOD_CG ? &unbounded : q, x, scratch, &r->n_bound);
    ++r->products;
    if (r->verdict != BOX_OK || !(r->residual > r->target)) break;
  }
  if (!isfinite(r->residual)) r->verdict = BOX_NOT_FINITE;
  else if (r->residual <= r->target) r->verdict = BOX_OK;
  else if (r->verdict == BOX_OK) r->verdict = BOX_STALLED;
  memory_free(&scratch);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
