/* The penalty formulation: backward Euler with sliding attachments, solved by the stabilised Newton method.
 * Source: [DingSchroeder2020]; scaling and termination: penalty-relaxation.md, section 9.
 *
 * Residual scaling. With D_i = sqrt(m_i M_b) dt g0 (m_i: lumped mass of the degree of freedom, M_b: mass of its system, g0: a
 * reference acceleration) the norm |D^-1 g| of a system's slice is its mass-weighted root-mean-square acceleration error in
 * units of g0, so the Newton tolerance is a relative force error. For a rigid body this is the note's diag(M) dt g0 (its angular
 * rows measured at the radius of gyration). On a grid diag(M) itself would let the almost empty nodes at a body's edge
 * rule the norm: there internal force over mass grows without bound as the weight goes to zero, over sqrt(mass) it does not. */
#include "contact/penalty.h"
#include "core/math3.h"
#include "core/memory.h"
#include "core/timer.h"
#include "optim/optim.h"
#include "optim/snes_stabilized.h"
#include "sim/formulation.h"
#include "sim/scene.h"

typedef struct {
  formulation      base;
  scene           *scene;
  penalty_contact *contact;
  rigid_frame     *frames0, *frames;
  double           t, dt; /* of the step under way */
  /* The global vector of this step; arrays grow and are kept. */
  int64_t n_blocks, capacity;
  double *v0, *v, *scale, *inverse_scale, *column_scale, *work;
  bool    has_tangent; /* the tangent belongs to the last residual */
  /* PETSc objects, made anew when the number of unknowns changes. */
  SNES         snes;
  Vec          z, g, dinv, columns;
  Mat          H;
  int64_t      n_petsc;
  step_verdict verdict; /* of the last residual evaluation */
} penalty;

static PetscErrorCode trial_velocity(penalty *p, const double *z)
{
  PetscFunctionBegin;
  const int64_t n  = 3 * p->n_blocks;
  const double *v0 = p->v0;
  double       *v  = p->v;
#pragma omp parallel for simd schedule(static) if (n >= 4096)
  for (int64_t i = 0; i < n; ++i) v[i] = v0[i] + z[i];
  PetscCall(scene_frames(p->scene, p->t, p->dt, v, p->frames));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* g(z), with what the tangent needs; the verdict says whether it means anything. */
static PetscErrorCode evaluate(penalty *p, const double *z, double *g, bool with_tangent)
{
  PetscFunctionBegin;
  scene *s   = p->scene;
  p->verdict     = (step_verdict){STEP_OK, NULL, -1};
  p->has_tangent = with_tangent;
  PetscCall(trial_velocity(p, z));
  memset(g, 0, (size_t)(3 * p->n_blocks) * sizeof *g);
  for (int i = 0; i < s->n_systems && p->verdict.code == STEP_OK; ++i) {
    body         *b      = s->systems[i];
    const int64_t offset = 3 * b->first_block;
    PetscCall(b->ops->residual(b, p->v + offset, g + offset, with_tangent, &p->verdict));
  }
  if (p->verdict.code == STEP_OK) PetscCall(penalty_contact_residual(p->contact, p->v, p->frames, g, with_tangent, &p->verdict));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode penalty_function(SNES snes, Vec z, Vec g, void *context)
{
  PetscFunctionBegin;
  penalty           *p = context;
  const PetscScalar *z_array;
  PetscScalar       *g_array;
  PetscBool          wants_tangent;
  PetscCall(SNESStabilizedWantsTangent(snes, &wants_tangent));
  PetscCall(VecGetArrayRead(z, &z_array));
  PetscCall(VecGetArray(g, &g_array));
  PetscCall(evaluate(p, z_array, g_array, wants_tangent));
  PetscCall(VecRestoreArray(g, &g_array));
  PetscCall(VecRestoreArrayRead(z, &z_array));
  if (p->verdict.code != STEP_OK) PetscCall(SNESSetFunctionDomainError(snes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The solver asks for H only where it has just evaluated g; usually that evaluation knew and prepared it. */
static PetscErrorCode penalty_jacobian(SNES snes, Vec z, Mat H, Mat P, void *context)
{
  PetscFunctionBegin;
  penalty *p = context;
  (void)snes, (void)P;
  if (!p->has_tangent) {
    const PetscScalar *z_array;
    PetscCall(VecGetArrayRead(z, &z_array));
    PetscCall(evaluate(p, z_array, p->work, true));
    PetscCall(VecRestoreArrayRead(z, &z_array));
  }
  PetscCall(MatAssemblyBegin(H, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(H, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode tangent_product(Mat H, Vec x, Vec y, bool is_transposed)
{
  PetscFunctionBegin;
  penalty           *p;
  const PetscScalar *x_array;
  PetscScalar       *y_array;
  PetscCall(MatShellGetContext(H, &p));
  timer_begin(TIMER_OPERATOR);
  PetscCall(VecGetArrayRead(x, &x_array));
  PetscCall(VecGetArray(y, &y_array));
  memset(y_array, 0, (size_t)(3 * p->n_blocks) * sizeof *y_array);
  for (int i = 0; i < p->scene->n_systems; ++i) {
    const body *b = p->scene->systems[i];
    PetscCall(b->ops->tangent(b, x_array + 3 * b->first_block, y_array + 3 * b->first_block, is_transposed));
  }
  PetscCall(penalty_contact_tangent(p->contact, x_array, y_array, is_transposed));
  PetscCall(VecRestoreArray(y, &y_array));
  PetscCall(VecRestoreArrayRead(x, &x_array));
  timer_end(TIMER_OPERATOR);
  PetscFunctionReturn(PETSC_SUCCESS);
}
static PetscErrorCode tangent_mult(Mat H, Vec x, Vec y) { return tangent_product(H, x, y, false); }
static PetscErrorCode tangent_mult_transpose(Mat H, Vec x, Vec y) { return tangent_product(H, x, y, true); }

static PetscErrorCode tangent_block_diagonal(Mat H, PetscScalar *d)
{
  PetscFunctionBegin;
  penalty *p;
  PetscCall(MatShellGetContext(H, &p));
  memset(d, 0, (size_t)(9 * p->n_blocks) * sizeof *d);
  for (int i = 0; i < p->scene->n_systems; ++i) {
    const body *b = p->scene->systems[i];
    PetscCall(b->ops->block_diagonal(b, d + 9 * b->first_block));
  }
  PetscCall(penalty_contact_block_diagonal(p->contact, d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode petsc_destroy(penalty *p)
{
  PetscFunctionBegin;
  PetscCall(SNESDestroy(&p->snes));
  PetscCall(MatDestroy(&p->H));
  PetscCall(VecDestroy(&p->z));
  PetscCall(VecDestroy(&p->g));
  PetscCall(VecDestroy(&p->dinv));
  PetscCall(VecDestroy(&p->columns));
  p->n_petsc = -1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Job keys become PETSc's defaults; anything in the options database (the job's petsc: block, the command line) wins. */
static PetscErrorCode petsc_create(penalty *p)
{
  PetscFunctionBegin;
  const job_solver *o = p->scene->job->solver;
  PetscInt          n;
  PetscCall(PetscIntCast(3 * p->n_blocks, &n));
  PetscCall(VecCreate(PETSC_COMM_SELF, &p->z));
  PetscCall(VecSetSizes(p->z, n, n));
  PetscCall(VecSetBlockSize(p->z, 3));
  PetscCall(VecSetType(p->z, "threaded"));
  PetscCall(VecSetFromOptions(p->z));
  PetscCall(VecDuplicate(p->z, &p->g));
  PetscCall(VecDuplicate(p->z, &p->dinv));
  PetscCall(VecDuplicate(p->z, &p->columns));
  PetscCall(MatCreateShell(PETSC_COMM_SELF, n, n, n, n, p, &p->H));
  PetscCall(MatShellSetOperation(p->H, MATOP_MULT, (void (*)(void))tangent_mult));
  PetscCall(MatShellSetOperation(p->H, MATOP_MULT_TRANSPOSE, (void (*)(void))tangent_mult_transpose));
  PetscCall(PetscObjectComposeFunction((PetscObject)p->H, SS_MAT_GET_BLOCK_DIAGONAL3, tangent_block_diagonal));
  PetscCall(MatShellSetVecType(p->H, "threaded"));

  PetscCall(SNESCreate(PETSC_COMM_SELF, &p->snes));
  PetscCall(SNESSetType(p->snes, "stabilized"));
  PetscCall(SNESSetFunction(p->snes, p->g, penalty_function, p));
  PetscCall(SNESSetJacobian(p->snes, p->H, p->H, penalty_jacobian, p));
  PetscCall(SNESStabilizedSetScaling(p->snes, p->dinv));
  PetscCall(SNESStabilizedSetColumnScaling(p->snes, p->columns));
  PetscCall(SNESStabilizedSetForcing(p->snes, o->linear->tolerance));
  PetscCall(SNESSetTolerances(p->snes, o->newton->tolerance, 0.0, 0.0, (PetscInt)o->newton->max_iterations, PETSC_MAX_INT));
  KSP ksp;
  PC  pc;
  PetscCall(SNESGetKSP(p->snes, &ksp));
  PetscCall(KSPSetType(ksp, job_linear_methods[o->linear->method]));
  PetscCall(KSPSetPCSide(ksp, PC_RIGHT));
  PetscCall(KSPSetTolerances(ksp, o->linear->tolerance, PETSC_DEFAULT, PETSC_DEFAULT, (PetscInt)o->linear->max_iterations));
  PetscCall(KSPGMRESSetRestart(ksp, (PetscInt)o->linear->restart));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, o->linear->preconditioner == JOB_PRECONDITIONER_NONE ? PCNONE : "blockdiagonal"));
  PetscCall(SNESSetFromOptions(p->snes));
  p->n_petsc = p->n_blocks;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Lay out the global vector, gather v0 and the scaling. */
static PetscErrorCode begin_systems(penalty *p, step_verdict *verdict)
{
  PetscFunctionBegin;
  scene  *s = p->scene;
  int64_t n = 0;
  for (int i = 0; i < s->n_systems; ++i) {
    body *b        = s->systems[i];
    b->first_block = n;
    PetscCall(b->ops->begin_step(b, p->t, p->dt, &b->n_blocks, verdict));
    if (verdict->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
    n += b->n_blocks;
  }
  p->n_blocks = n;
  if (n > p->capacity) {
    p->capacity = n + n / 8;
    double **arrays[] = {&p->v0, &p->v, &p->scale, &p->inverse_scale, &p->column_scale, &p->work};
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; ++k) {
      memory_free(arrays[k]);
      PetscCall(memory_alloc("global vectors", 3 * p->capacity, sizeof(double), arrays[k]));
    }
  }
  const double g0 = s->job->acceleration_scale;
  for (int i = 0; i < s->n_systems; ++i) {
    const body   *b      = s->systems[i];
    const int64_t offset = 3 * b->first_block, m = 3 * b->n_blocks;
    body_totals   totals;
    PetscCall(b->ops->velocity(b, p->v0 + offset));
    PetscCall(b->ops->mass(b, p->scale + offset));
    PetscCall(b->ops->totals(b, s->gravity, &totals));
    for (int64_t k = offset; k < offset + m; ++k) {
      p->inverse_scale[k] = 1.0 / (sqrt(p->scale[k] * totals.mass) * p->dt * g0);
      p->column_scale[k]  = sqrt(totals.mass / p->scale[k]) * p->dt * g0; /* makes D^-1 H C = I + dt^2 M^-1/2 K M^-1/2 */
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How far a point may come towards an object within the step: twice what the fastest thing moves now, what gravity adds, and a
 * little for what neighbours push. A point that still gets past is found at the start of the next step, being inside by then. */
static double search_margin(const penalty *p)
{
  const scene *s     = p->scene;
  double       speed = 0.0;
  for (int64_t i = 0; i < p->n_blocks; ++i) speed = fmax(speed, v3_norm(p->v0 + 3 * i));
  for (int i = 0; i < s->n_frames; ++i) speed = fmax(speed, v3_norm(p->frames0[i].v));
  return fmin(2.0 * p->dt * (speed + p->dt * v3_norm(s->gravity)), 4.0 * s->length_scale) + 0.1 * s->length_scale;
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

static PetscErrorCode solve(penalty *p, step_verdict *verdict, step_report *report)
{
  PetscFunctionBegin;
  if (p->n_petsc != p->n_blocks) {
    PetscCall(petsc_destroy(p));
    PetscCall(petsc_create(p));
  }
  PetscCall(copy_to(p->dinv, p->inverse_scale, p->n_blocks));
  PetscCall(copy_to(p->columns, p->column_scale, p->n_blocks));
  PetscCall(VecZeroEntries(p->z));
  timer_begin(TIMER_NEWTON);
  PetscCall(SNESSolve(p->snes, NULL, p->z));
  timer_end(TIMER_NEWTON);

  SNESConvergedReason      reason;
  SNESStabilizedStatistics count;
  PetscCall(SNESGetConvergedReason(p->snes, &reason));
  PetscCall(SNESStabilizedGetStatistics(p->snes, &count));
  report->newton_iterations = count.n_newton;
  report->linear_iterations = count.n_linear;
  report->evaluations       = count.n_residuals;
  report->fallbacks         = count.n_fallbacks;
  report->residual          = count.norm;
  report->gradient          = count.gradient_norm;
  if (reason == SNES_DIVERGED_FUNCTION_DOMAIN || reason == SNES_DIVERGED_FNORM_NAN) {
    *verdict = p->verdict.code != STEP_OK ? p->verdict : (step_verdict){STEP_NOT_FINITE, NULL, -1};
  } else if (reason < 0 && !(report->residual <= p->scene->job->solver->newton->stall_tolerance)) {
    /* The paper's experience: a search that stalls near the root at high stiffness is no reason to stop. How near is the job's. */
    *verdict = (step_verdict){STEP_NOT_CONVERGED, NULL, -1};
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode penalty_step(formulation *f, double t, double dt, step_verdict *verdict, step_report *report)
{
  PetscFunctionBegin;
  penalty *p = (penalty *)f;
  scene   *s = p->scene;
  *verdict   = (step_verdict){STEP_OK, NULL, -1};
  memset(report, 0, sizeof *report);
  p->t = t, p->dt = dt;
  PetscCall(begin_systems(p, verdict));
  if (verdict->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(scene_frames(s, t, dt, NULL, p->frames0));
  PetscCall(penalty_contact_begin_step(p->contact, s->n_sources, s->sources, s->n_objects, s->objects, s->n_frames, p->frames0, dt,
                                       search_margin(p), p->n_blocks));
  if (p->n_blocks > 0) {
    PetscCall(solve(p, verdict, report));
    if (verdict->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
    const PetscScalar *z;
    PetscCall(VecGetArrayRead(p->z, &z));
    PetscCall(trial_velocity(p, z));
    PetscCall(VecRestoreArrayRead(p->z, &z));
  }
  /* The grid comes first in the list and alone may refuse (CFL), before anything has changed. */
  for (int i = 0; i < s->n_systems; ++i) {
    body *b = s->systems[i];
    PetscCall(b->ops->end_step(b, p->v + 3 * b->first_block, verdict));
    if (verdict->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(penalty_contact_end_step(p->contact, p->v, p->frames, &report->contact));
  PetscCall(scene_set_time(s, t + dt));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode penalty_force_between(const formulation *f, int on, int from, double force[3], double moment[3])
{
  return penalty_contact_force(((const penalty *)f)->contact, on, from, force, moment);
}
static PetscErrorCode penalty_fields(formulation *f, field_table *table)
{
  return penalty_contact_fields(((penalty *)f)->contact, table);
}

static void penalty_destroy(formulation **f)
{
  penalty *p = (penalty *)*f;
  if (!p) return;
  (void)petsc_destroy(p);
  penalty_contact_destroy(&p->contact);
  memory_free(&p->frames0);
  memory_free(&p->frames);
  memory_free(&p->v0);
  memory_free(&p->v);
  memory_free(&p->scale);
  memory_free(&p->inverse_scale);
  memory_free(&p->column_scale);
  memory_free(&p->work);
  memory_free(&p);
  *f = NULL;
}

static PetscErrorCode penalty_create(scene *s, formulation **out)
{
  PetscFunctionBegin;
  penalty *p;
  PetscCall(memory_alloc("penalty formulation", 1, sizeof *p, &p));
  p->base.ops = &penalty_formulation;
  p->scene    = s;
  p->n_petsc  = -1;
  *out        = &p->base;
  PetscCall(optim_register_all());
  PetscCall(memory_alloc("frames", s->n_frames, sizeof(rigid_frame), &p->frames0));
  PetscCall(memory_alloc("frames", s->n_frames, sizeof(rigid_frame), &p->frames));
  PetscCall(penalty_contact_create(s->n_bodies, s->laws, &p->contact));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const formulation_ops penalty_formulation = {
  .name          = "penalty",
  .create        = penalty_create,
  .step          = penalty_step,
  .contact_force = penalty_force_between,
  .fields        = penalty_fields,
  .destroy       = penalty_destroy,
};
