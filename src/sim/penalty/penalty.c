/* The formulation `penalty`: backward Euler with sliding attachment points, solved by the stabilised Newton method
 * [DingSchroeder2020]. The equations are in penalty_system.c; this file sets up the PETSc objects (SNES, KSP, matrix shells) and
 * converts their results into a step status. */
#include "core/memory.h"
#include "core/stop.h"
#include "discretize/body/body_stages.h"
#include "sim/step/step_stages.h"
#include "discretize/particles/particles.h"
#include "optim/linear/linear_solver.h"
#include "optim/linear/mat_block3.h"
#include "optim/linear/pc_metis_schwarz.h"
#include "optim/newton/snes_stabilized.h"
#include "sim/step/step_creep.h"
#include "sim/step/step_frame.h"
#include "sim/step/solver_options.h"
#include "sim/penalty/penalty_detectors.h"
#include "sim/penalty/penalty_keys.h"
#include "sim/penalty/penalty_sweeps.h"
#include "sim/penalty/penalty_system.h"

static const double FIRST_TOLERANCE = 1e-3; /* of the first linear solve of a step, if the job does not set solver.linear.tolerance */

typedef struct {
  formulation    base;
  newton_options newton;
  int            norm;   /* solver.penalty.expert.norm */
  linear_options linear; /* with auto replaced by the choice for this scene */
  penalty_system system;
  int64_t        n_work;
  double        *work; /* [n_work][3] residual of evaluations that only need the tangent */
  /* PETSc objects, created again when the number of unknowns changes. */
  SNES    snes;
  Vec     z, g, dinv, columns;
  Mat     H;
  Mat     H_single;     /* the same in single precision for the linear solves, if the job selects it */
  Mat     P;            /* assembled tangent, if the preconditioner needs one */
  bool    is_assembled; /* P has been assembled in this step */
  bool    is_precise;   /* the tolerance of snes is smaller than that of the job */
  int64_t n_petsc;
} penalty;

static PetscErrorCode penalty_function(SNES snes, Vec z, Vec g, void *context)
{
  PetscFunctionBegin;
  penalty           *p = context;
  const PetscScalar *z_array;
  PetscScalar       *g_array;
  PetscBool          needs_tangent;
  if (stop_is_urgent()) { /* then every trial fails, and the solver returns within the iteration */
    PetscCall(SNESSetFunctionDomainError(snes));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(SNESStabilizedExpectsTangent(snes, &needs_tangent));
  PetscCall(VecGetArrayRead(z, &z_array));
  PetscCall(VecGetArray(g, &g_array));
  PetscCall(penalty_system_evaluate(&p->system, z_array, g_array, needs_tangent));
  PetscCall(VecRestoreArray(g, &g_array));
  PetscCall(VecRestoreArrayRead(z, &z_array));
  if (p->system.status.code != STEP_OK) PetscCall(SNESSetFunctionDomainError(snes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix of bodies made of nodes is available at low cost; one that couples grid nodes is large. */
static int preconditioner_of(const scene *s, int requested)
{
  bool has_nodes = false;
  if (requested != LINEAR_PRECONDITIONER_AUTO) return requested;
  for (int i = 0; i < s->n_bodies; ++i) {
    if (particles_of(s->bodies[i].body)) return LINEAR_PRECONDITIONER_BLOCK_DIAGONAL;
    has_nodes = has_nodes || (s->bodies[i].body->ops->nodes && s->bodies[i].body->ops->assemble);
  }
  return has_nodes ? LINEAR_PRECONDITIONER_METIS_SCHWARZ : LINEAR_PRECONDITIONER_BLOCK_DIAGONAL;
}

static bool needs_matrix(const penalty *p) { return p->linear.preconditioner == LINEAR_PRECONDITIONER_METIS_SCHWARZ; }

/* Assemble P as often as the job specifies; in between the preconditioner is reused. */
static PetscErrorCode refresh_matrix(penalty *p)
{
  PetscFunctionBegin;
  const bool keep = p->is_assembled && p->linear.refresh == LINEAR_REFRESH_STEP;
  KSP        ksp;
  PetscCall(SNESGetKSP(p->snes, &ksp));
  PetscCall(KSPSetReusePreconditioner(ksp, keep ? PETSC_TRUE : PETSC_FALSE));
  if (!keep) PetscCall(penalty_matrix_assemble(&p->system, p->P));
  p->is_assembled = true;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The solver requests H only where it has just evaluated g; usually that evaluation has prepared the tangent. */
static PetscErrorCode penalty_jacobian(SNES snes, Vec z, Mat H, Mat P, void *context)
{
  PetscFunctionBegin;
  penalty *p = context;
  (void)snes, (void)P;
  if (!p->system.has_tangent) {
    const PetscScalar *z_array;
    if (p->n_work < p->system.layout.n_blocks) {
      memory_free(&p->work);
      PetscCall(memory_alloc("penalty residual", 3 * p->system.layout.capacity, sizeof(double), &p->work));
      p->n_work = p->system.layout.capacity;
    }
    PetscCall(VecGetArrayRead(z, &z_array));
    PetscCall(penalty_system_evaluate(&p->system, z_array, p->work, true));
    PetscCall(VecRestoreArrayRead(z, &z_array));
  }
  if (needs_matrix(p) && p->system.status.code == STEP_OK) PetscCall(refresh_matrix(p));
  PetscCall(MatAssemblyBegin(H, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(H, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

enum { PRODUCT, PRODUCT_TRANSPOSED, PRODUCT_SINGLE };

static PetscErrorCode tangent_product(Mat H, Vec x, Vec y, int kind)
{
  PetscFunctionBegin;
  penalty           *p;
  const PetscScalar *x_array;
  PetscScalar       *y_array;
  PetscCall(MatShellGetContext(H, &p));
  timer_begin(TIMER_OPERATOR);
  PetscCall(VecGetArrayRead(x, &x_array));
  PetscCall(VecGetArray(y, &y_array));
  if (kind == PRODUCT_SINGLE) PetscCall(penalty_system_product_single(&p->system, x_array, y_array));
  else PetscCall(penalty_system_product(&p->system, x_array, y_array, kind == PRODUCT_TRANSPOSED));
  PetscCall(VecRestoreArray(y, &y_array));
  PetscCall(VecRestoreArrayRead(x, &x_array));
  timer_end(TIMER_OPERATOR);
  PetscFunctionReturn(PETSC_SUCCESS);
}
static PetscErrorCode tangent_mult(Mat H, Vec x, Vec y) { return tangent_product(H, x, y, PRODUCT); }
static PetscErrorCode tangent_mult_transpose(Mat H, Vec x, Vec y) { return tangent_product(H, x, y, PRODUCT_TRANSPOSED); }
static PetscErrorCode tangent_mult_single(Mat H, Vec x, Vec y) { return tangent_product(H, x, y, PRODUCT_SINGLE); }

static PetscErrorCode tangent_block_diagonal(Mat H, PetscScalar *d)
{
  PetscFunctionBegin;
  penalty *p;
  PetscCall(MatShellGetContext(H, &p));
  PetscCall(penalty_system_block_diagonal(&p->system, d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode petsc_destroy(penalty *p)
{
  PetscFunctionBegin;
  PetscCall(SNESDestroy(&p->snes));
  PetscCall(MatDestroy(&p->H));
  PetscCall(MatDestroy(&p->H_single));
  PetscCall(VecDestroy(&p->z));
  PetscCall(VecDestroy(&p->g));
  PetscCall(VecDestroy(&p->dinv));
  PetscCall(VecDestroy(&p->columns));
  p->n_petsc = -1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode penalty_set_definite(SNES snes, PetscBool is_wanted, void *context)
{
  (void)snes;
  penalty_system_set_definite(&((penalty *)context)->system, is_wanted);
  return PETSC_SUCCESS;
}

/* Job keys become PETSc's defaults; the options database (the job's petsc: block, the command line) has priority. */
static PetscErrorCode petsc_create(penalty *p)
{
  PetscFunctionBegin;
  static const char *const pc_types[] = {NULL, "blockdiagonal", PCMETISSCHWARZ, PCNONE}; /* by LINEAR_PRECONDITIONER_... */
  const newton_options    *newton     = &p->newton;
  const linear_options    *linear     = &p->linear;
  PetscInt                 n;
  PetscCall(PetscIntCast(3 * p->system.layout.n_blocks, &n));
  PetscCall(VecCreate(p->system.layout.scene->comm, &p->z));
  PetscCall(VecSetSizes(p->z, n, n));
  PetscCall(VecSetBlockSize(p->z, 3));
  PetscCall(VecSetType(p->z, "threaded"));
  PetscCall(VecDuplicate(p->z, &p->g));
  PetscCall(VecDuplicate(p->z, &p->dinv));
  PetscCall(VecDuplicate(p->z, &p->columns));
  PetscCall(MatCreateShell(p->system.layout.scene->comm, n, n, n, n, p, &p->H));
  PetscCall(MatShellSetOperation(p->H, MATOP_MULT, (void (*)(void))tangent_mult));
  PetscCall(MatShellSetOperation(p->H, MATOP_MULT_TRANSPOSE, (void (*)(void))tangent_mult_transpose));
  PetscCall(PetscObjectComposeFunction((PetscObject)p->H, SS_MAT_GET_BLOCK_DIAGONAL3, tangent_block_diagonal));
  PetscCall(MatShellSetVecType(p->H, "threaded"));
  if (linear->precision == LINEAR_PRECISION_SINGLE) {
    PetscCall(MatCreateShell(p->system.layout.scene->comm, n, n, n, n, p, &p->H_single));
    PetscCall(MatShellSetOperation(p->H_single, MATOP_MULT, (void (*)(void))tangent_mult_single));
    PetscCall(MatShellSetVecType(p->H_single, "threaded"));
  }

  PetscCall(SNESCreate(p->system.layout.scene->comm, &p->snes));
  PetscCall(SNESSetOptionsPrefix(p->snes, "penalty_"));
  PetscCall(SNESSetType(p->snes, SNESSTABILIZED));
  PetscCall(SNESSetFunction(p->snes, p->g, penalty_function, p));
  if (p->norm == PENALTY_NORM_ACCELERATION) { /* otherwise the equations and the merit function are not scaled */
    PetscCall(SNESStabilizedSetScaling(p->snes, p->dinv));
    PetscCall(SNESStabilizedSetColumnScaling(p->snes, p->columns));
  } else { /* as published: min(|g|, |H^T g|) < tau, H in kg */
    PetscCall(SNESStabilizedSetGradientTolerance(p->snes, newton->tolerance));
  }
  PetscCall(SNESStabilizedSetSolveMatrix(p->snes, p->H_single));
  PetscCall(SNESStabilizedSetDefinite(p->snes, penalty_set_definite, p));
  PetscCall(SNESSetTolerances(p->snes, newton->tolerance, 0.0, 0.0, (PetscInt)newton->max_iterations, PETSC_MAX_INT));
  KSP ksp;
  PC  pc;
  PetscCall(SNESGetKSP(p->snes, &ksp));
  PetscCall(KSPSetType(ksp, KSPGMRES));
  PetscCall(KSPSetPCSide(ksp, PC_RIGHT));
  PetscCall(KSPSetTolerances(ksp, FIRST_TOLERANCE, PETSC_DEFAULT, PETSC_DEFAULT, (PetscInt)linear->max_iterations));
  if (!isnan(linear->tolerance)) PetscCall(SNESStabilizedSetForcing(p->snes, linear->tolerance));
  PetscCall(KSPGMRESSetRestart(ksp, (PetscInt)linear->restart));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, pc_types[linear->preconditioner]));
  PetscCall(SNESSetFromOptions(p->snes));
  PetscBool is_stabilized;
  PetscCall(PetscObjectTypeCompare((PetscObject)p->snes, SNESSTABILIZED, &is_stabilized));
  PetscCheck(is_stabilized, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "formulation penalty supports only SNES type " SNESSTABILIZED);
  PetscCall(linear_solver_make_stoppable(ksp));
  p->n_petsc = p->system.layout.n_blocks;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode copy_to(Vec to, const double *from, int64_t n_blocks)
{
  PetscFunctionBegin;
  PetscScalar *array;
  PetscCall(VecGetArrayWrite(to, &array));
  memcpy(array, from, (size_t)(3 * n_blocks) * sizeof *array);
  PetscCall(VecRestoreArrayWrite(to, &array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Name the body with the largest residual at the result; the solver has evaluated it there. */
static PetscErrorCode find_residual_body(penalty *p, step_report *report)
{
  const PetscScalar *g;
  PetscFunctionBegin;
  PetscCall(VecGetArrayRead(p->g, &g));
  report->residual_body = step_layout_largest_residual(&p->system.layout, g);
  PetscCall(VecRestoreArrayRead(p->g, &g));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Set p->z to the initial guess. The published norm counts the published iterations, from z = 0. In steps with few contacts, one iteration makes the solution more
 * accurate than the tolerance at no cost. */
static PetscErrorCode set_initial_guess(penalty *p, double tolerance, step_report *report)
{
  penalty_sweeps_result guess;
  PetscScalar          *z;
  PetscFunctionBegin;
  PetscCall(SNESStabilizedSetAcceptsStart(p->snes, PETSC_FALSE));
  PetscCall(VecZeroEntries(p->z));
  if (p->norm != PENALTY_NORM_ACCELERATION) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecGetArray(p->z, &z));
  PetscCall(penalty_sweeps_guess(&p->system, tolerance, z, &guess));
  PetscCall(VecRestoreArray(p->z, &z));
  PetscCall(SNESStabilizedSetAcceptsStart(p->snes, guess.n_contacts > STEP_CREEP_FEW ? PETSC_TRUE : PETSC_FALSE));
  report->inner_iterations = guess.n_sweeps;
  report->evaluations      = guess.n_evaluations;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode solve_newton(penalty *p, step_status *status, step_report *report)
{
  PetscFunctionBegin;
  if (p->n_petsc != p->system.layout.n_blocks) {
    PetscCall(petsc_destroy(p));
    PetscCall(petsc_create(p));
  }
  if (needs_matrix(p)) PetscCall(penalty_matrix_lay_out(&p->system, &p->P));
  p->is_assembled = false;
  PetscCall(SNESSetJacobian(p->snes, p->H, p->P ? p->P : p->H, penalty_jacobian, p));
  PetscCall(copy_to(p->dinv, p->system.layout.inverse_scale, p->system.layout.n_blocks));
  PetscCall(copy_to(p->columns, p->system.layout.column_scale, p->system.layout.n_blocks));
  const PetscReal tolerance = step_layout_tolerance(&p->system.layout, p->newton.tolerance);
  if (tolerance < p->newton.tolerance || p->is_precise)
    PetscCall(SNESSetTolerances(p->snes, tolerance, 0.0, 0.0, (PetscInt)p->newton.max_iterations, PETSC_MAX_INT));
  p->is_precise = tolerance < p->newton.tolerance;
  PetscCall(set_initial_guess(p, tolerance, report));
  timer_begin(TIMER_NEWTON);
  PetscCall(SNESSolve(p->snes, NULL, p->z));
  timer_end(TIMER_NEWTON);

  SNESConvergedReason      reason;
  SNESStabilizedStatistics count;
  PetscCall(SNESGetConvergedReason(p->snes, &reason));
  PetscCall(SNESStabilizedGetStatistics(p->snes, &count));
  report->newton_iterations = count.n_newton;
  report->linear_iterations = count.n_linear;
  report->evaluations += count.n_residuals;
  report->gradient_directions = count.n_fallbacks;
  report->residual            = count.norm;
  report->gradient            = count.gradient_norm;
  PetscCall(find_residual_body(p, report));
  /* The published norm is the smaller one of |g| and its gradient. */
  const double residual = p->norm == PENALTY_NORM_IMPULSE ? fmin(count.norm, count.gradient_norm) : count.norm;
  report->unconverged   = !(residual <= p->newton.tolerance);
  const bool is_strict  = p->system.layout.repeats_stalled && isnan(p->newton.stall_tolerance);
  const bool is_root    = reason == SNES_CONVERGED_FNORM_ABS || (p->norm == PENALTY_NORM_IMPULSE && reason > 0);
  if (stop_is_urgent()) {
    *status = (step_status){STEP_INTERRUPTED, NULL, -1};
  } else if (reason == SNES_DIVERGED_FUNCTION_DOMAIN || reason == SNES_DIVERGED_FNORM_NAN) {
    *status = p->system.status.code != STEP_OK ? p->system.status : (step_status){STEP_NOT_FINITE, NULL, -1};
  } else if (!is_root && !p->system.layout.accepts_unconverged &&
             !(residual <= (is_strict ? p->newton.tolerance : solver_stall_tolerance(p->newton.stall_tolerance, p->newton.tolerance)))) {
    /* Following the paper, a line search that stalls near the root at high stiffness is accepted up to newton.stall_tolerance. A
     * stationary point of |g|^2 that is no root is not a solution either. */
    *status = (step_status){STEP_NOT_CONVERGED, report->residual_body, -1};
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode penalty_try(void *context, step_status *status, step_report *report)
{
  PetscFunctionBegin;
  penalty           *p = context;
  const PetscScalar *z = NULL;
  PetscCall(penalty_system_begin(&p->system));
  if (p->system.layout.n_blocks > 0) {
    PetscCall(solve_newton(p, status, report));
    if (status->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(VecGetArrayRead(p->z, &z));
  }
  PetscCall(penalty_system_end(&p->system, z, status, &report->contact));
  if (z) PetscCall(VecRestoreArrayRead(p->z, &z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode penalty_step(formulation *f, double t, double dt, step_status *status, step_report *report)
{
  PetscFunctionBegin;
  const step_attempt own = {.attempt = penalty_try, .context = f};
  PetscCall(step_run_attempt(f, &((penalty *)f)->system.layout, t, dt, &own, status, report));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode penalty_fields(formulation *f, field_table *table)
{
  return penalty_contact_fields(((penalty *)f)->system.contact, table);
}

static void penalty_destroy(formulation *f)
{
  penalty *p = (penalty *)f;
  (void)petsc_destroy(p);
  (void)MatDestroy(&p->P);
  penalty_system_destroy(&p->system);
  memory_free(&p->work);
}

static PetscErrorCode copy_vector(Mat A, Vec x, Vec y)
{
  (void)A;
  return VecCopy(x, y);
}
static PetscErrorCode unit_blocks(Mat A, PetscScalar *d)
{
  PetscInt n;
  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(A, &n, NULL));
  for (PetscInt i = 0; i < 3 * n; ++i) d[i] = i % 9 % 4 == 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Set up the linear solver of p, created for unit matrices in the formats that a step would use. */
static PetscErrorCode probe_linear_solver(penalty *p)
{
  const int64_t row_start[] = {0, 1, 2};
  const int32_t col[]       = {0, 1};
  KSP           ksp;
  PetscFunctionBegin;
  PetscCall(MatShellSetOperation(p->H, MATOP_MULT, (void (*)(void))copy_vector));
  PetscCall(MatShellSetOperation(p->H, MATOP_MULT_TRANSPOSE, (void (*)(void))copy_vector));
  PetscCall(PetscObjectComposeFunction((PetscObject)p->H, SS_MAT_GET_BLOCK_DIAGONAL3, unit_blocks));
  if (needs_matrix(p)) {
    PetscCall(mat_block3_create(p->system.layout.scene->comm, p->system.layout.n_blocks, row_start, col, NULL, false, &p->P));
    double *value;
    PetscCall(mat_block3_values(p->P, &value));
    for (int k = 0; k < 18; ++k) value[k] = k % 9 % 4 == 0;
    PetscCall(MatAssemblyBegin(p->P, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(p->P, MAT_FINAL_ASSEMBLY));
  }
  PetscCall(SNESGetKSP(p->snes, &ksp));
  PetscCall(KSPSetOperators(ksp, p->H, p->P ? p->P : p->H));
  PetscCall(KSPSetUp(ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode penalty_probe(const scene *s)
{
  penalty p = {.newton = *s->options->solver->newton, .linear = *s->options->solver->linear, .n_petsc = -1};
  PetscFunctionBegin;
  p.system.layout.scene    = (scene *)s;
  p.system.layout.n_blocks = 2;
  p.linear.preconditioner  = preconditioner_of(s, p.linear.preconditioner);
  PetscErrorCode code      = petsc_create(&p);
  if (!code) code = probe_linear_solver(&p);
  PetscCall(petsc_destroy(&p));
  PetscCall(MatDestroy(&p.P));
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode penalty_create(scene *s, formulation *f)
{
  PetscFunctionBegin;
  penalty *p = (penalty *)f;
  p->n_petsc = -1;
  PetscCall(penalty_system_create(s, &p->system));
  p->newton                = *s->options->solver->newton;
  p->norm                  = s->options->solver->penalty->norm;
  p->linear                = *s->options->solver->linear;
  p->linear.preconditioner = preconditioner_of(s, p->linear.preconditioner);
  if (p->linear.precision == LINEAR_PRECISION_SINGLE) penalty_system_want_single(&p->system);
  penalty_contact_record(p->system.contact, &p->base.points, &p->base.forces);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode penalty_describe(const scene *s, FILE *out)
{
  fprintf(out, "formulation penalty: contact springs with sliding attachments; contacts are detected between\n");
  return detector_list_print(&penalty_detectors, s, out);
}

static const unused_key unused[]            = {{"contact.skip_resting", "all bodies are solved in each step", true},
                                               {"contact.overlap_correction", "springs correct overlaps", true},
                                               {"output.fclib", "it does not solve a friction problem", true},
                                               {.path = NULL}};
const formulation_ops   penalty_formulation = {
      .scene.name         = "penalty",
      .scene.kinds        = "mpm fem cloth rod rigid kinematic static",
      .scene.kinds_reason = "its springs act on nodes, particles and rigid bodies",
      .scene.solver       = "newton linear penalty petsc",
      .scene.unused       = unused,
      .scene.check        = penalty_check,
      .scene.describe     = penalty_describe,
      .outer              = "Newton",
      .inner              = "GMRES",
      .report = REPORT_OUTER | REPORT_EVALUATIONS | REPORT_LINEAR | REPORT_INNER | REPORT_GRADIENT | REPORT_TOLERANCE | REPORT_CONTACT |
                REPORT_CONTACT_LAW | REPORT_SPRINGS,
      .scene.has_light_nodes = true,
      .remedy                = "a softer contact.stiffness",
      .size                  = sizeof(penalty),
      .create                = penalty_create,
      .probe                 = penalty_probe,
      .step                  = penalty_step,
      .fields                = penalty_fields,
      .destroy               = penalty_destroy,
};
