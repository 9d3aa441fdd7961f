/* stickslip itself: the jobs of the stacks and validation case A01, step by step through the library. Run from the top folder.
 * With --scenes: only print the scenes, for engines that are not driven from C. */
#include <stdlib.h>
#include "app/job/job.h"
#include "core/log.h"
#include "core/math3.h"
#include "core/quaternion.h"
#include "core/team.h"
#include "discretize/rigid/rigid_body.h"
#include "scene.h"
#include "sim/formulations.h"
#include "sim/scene/scene.h"

static const char *const paths[OTHER_SCENES] = {"jobs/penalty/stack_ten.yaml",    "jobs/penalty/stack_ten_random.yaml",
                                                "jobs/penalty/stack_five.yaml",   "jobs/penalty/stack_five_random.yaml",
                                                "validation/cases/A01/case.yaml", "validation/cases/A01/case.yaml"};

/* As the time loop does: what fails is taken in halves. */
static PetscErrorCode advance(formulation *f, double t, double dt, int halvings)
{
  step_status status;
  step_report report;
  PetscFunctionBegin;
  PetscCall(f->ops->step(f, t, dt, &status, &report));
  if (status.code == STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(halvings > 0, PETSC_COMM_SELF, PETSC_ERR_CONV_FAILED, "the step at %g s failed in its smallest parts, too", t);
  PetscCall(advance(f, t, 0.5 * dt, halvings - 1));
  PetscCall(advance(f, t + 0.5 * dt, 0.5 * dt, halvings - 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where the scene's cubes are, in its own axes: x downhill, z off the floor. */
static PetscErrorCode measure(const scene *world, const other_scene *s, double t, bool is_end, other_result *result)
{
  const double theta = s->is_slope ? atan(0.11) : 0.0;
  double       turn[9], angle[3] = {0.0, -theta, 0.0};
  int          i_cube = 0;
  PetscFunctionBegin;
  rotation_exp(turn, angle);
  for (int i = 0; i < world->n_bodies; ++i) {
    const rigid_body *b = rigid_body_of(world->bodies[i].body);
    double            R[9], x[3], v[3], up[3];
    if (!b || b->kind != RIGID_DYNAMIC) continue;
    quaternion_to_matrix(R, b->q);
    /* A body's axes are those of the job, whichever way its shape lies in them at the start: the cube's own is up0 there. */
    double up0[3], lies[9], moved[3];
    quaternion_to_matrix(lies, s->box[i_cube].q);
    if (s->is_slope) v3_set(up0, turn[6], turn[7], turn[8]);
    else v3_set(up0, lies[2], lies[5], lies[8]);
    v3_sub(moved, b->c, s->is_slope ? b->origin : (const double[3]){0.0, 0.0, 0.0});
    m3_mulv(x, turn, moved);
    m3_mulv(v, turn, b->v);
    m3_mulv(moved, R, up0);
    m3_mulv(up, turn, moved);
    if (++i_cube == s->n) other_note_top(result, s, t, x), result->speed = v[0];
    if (is_end) other_note_up(result, up);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode simulate(const other_scene *s, const char *path)
{
  diagnostics *d;
  job         *j;
  scene       *world;
  formulation *f;
  char         friction[64];
  other_result result;
  PetscFunctionBegin;
  snprintf(friction, sizeof friction, "contact.friction=%.17g", s->friction);
  const char *set[1] = {friction};
  PetscCall(diagnostics_create(&d));
  PetscCall(job_read(path, 1, set, d, &j));
  PetscCall(diagnostics_close(d, stderr));
  diagnostics_destroy(&d);
  PetscCall(diagnostics_create(&d));
  PetscCall(scene_create(PETSC_COMM_SELF, &j->scene, d, &world));
  PetscCall(diagnostics_close(d, stderr));
  diagnostics_destroy(&d);
  PetscCall(formulation_create(&penalty_formulation, world, &f));
  PetscCall(f->ops->fields(f, world->fields));
  const long n = lround(s->end / s->dt);
  other_start(&result);
  for (long k = 1; k <= n; ++k) {
    PetscCall(advance(f, (double)(k - 1) * s->dt, s->dt, 6));
    if (other_wants(&result, s, (double)k * s->dt)) PetscCall(measure(world, s, (double)k * s->dt, k == n, &result));
  }
  other_print("stickslip, penalty", s, &result);
  formulation_destroy(&f);
  scene_destroy(&world);
  job_destroy(&j);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void print_scene(const other_scene *s)
{
  printf("%s;%d;%d;%.17g;%.17g;%.17g;%.17g;%.17g;%.17g;%.17g;%.17g;%.17g", s->name, s->n, s->is_slope, s->half, s->friction, s->gravity[0],
         s->gravity[1], s->gravity[2], s->dt, s->end, s->expected[0], s->expected[1]);
  for (int i = 0; i < s->n; ++i) {
    const other_box *b = &s->box[i];
    printf(";%.17g", b->mass);
    for (int k = 0; k < 3; ++k) printf(";%.17g", b->x[k]);
    for (int k = 0; k < 4; ++k) printf(";%.17g", b->q[k]);
    for (int k = 0; k < 3; ++k) printf(";%.17g", b->v[k]);
  }
  printf("\n");
}

int main(int argc, char **argv)
{
  const bool     only_print = argc > 1 && strcmp(argv[1], "--scenes") == 0;
  int            none       = 1;
  PetscErrorCode error      = 0;
  setenv("OMPI_MCA_ess_singleton_isolated", "1", 0);
  setenv("OMPI_MCA_pml", "ob1", 0);
  setenv("OMPI_MCA_btl", "self", 0);
  setenv("OPENBLAS_NUM_THREADS", "1", 0);
  if (!only_print && (PetscInitialize(&none, &argv, NULL, NULL) || error_install())) return 1;
  log_open(true, 0);
  team_set_threads(1); /* as the others */
  for (int i = 0; i < OTHER_SCENES && !error; ++i) {
    other_scene s;
    other_make(&s, i);
    if (only_print) print_scene(&s);
    else error = simulate(&s, paths[i]);
  }
  if (error) (void)error_report(stderr, error, true);
  return (!only_print && PetscFinalize()) || error ? 1 : 0;
}
