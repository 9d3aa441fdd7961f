/* Key table of solver.penalty, and checks of its options against the scene. */
#include "sim/penalty/penalty_keys.h"
#include "contact/penalty/penalty_options.h"
#include "sim/scene/scene.h"
#include "sim/step/solver_options.h"
#include "sim/scene/scene_overlap_check.h"
#include <math.h>

static const char *const norms[]   = {[PENALTY_NORM_ACCELERATION] = "acceleration", [PENALTY_NORM_IMPULSE] = "impulse", NULL};
static const char *const schemes[] = {
    [CONTACT_IMPLICIT] = "implicit", [CONTACT_LAGGED_FRICTION] = "lagged_friction", [CONTACT_LAGGED_CONTACT] = "lagged_contact", NULL};
/* clang-format off */
static const key_spec penalty_expert_keys[] = {
  {.name = "norm", .type = KEY_ENUM, .offset = offsetof(penalty_options, norm), .choices = norms, .fallback = "acceleration",
   .help = "residual norm of solver.newton.tolerance. acceleration: as in all formulations. impulse: as published, the Euclidean norm of the "
           "residual of all momentum equations [N s] (rotation: N m s), or of its product with the transposed tangent [kg], whichever is "
           "smaller; this norm grows with the number of equations"},
  {.name = "scheme", .type = KEY_ENUM, .offset = offsetof(penalty_options, scheme), .choices = schemes, .fallback = "implicit",
   .help = "time level of the contact forces, for comparison. lagged_friction: friction of the start of the step; lagged_contact: "
           "all contact forces of the start of the step; stacks creep, and steps longer than 2 sqrt(m/k) are unstable"},
  {.name = NULL}};
static const key_table penalty_expert_table = {.name = "solver.penalty.expert", .help = "Published alternatives, for comparison.", .size = sizeof(penalty_options), .keys = penalty_expert_keys};

static const key_spec    keys[]       = {
  {.name = "edges", .type = KEY_BOOL, .offset = offsetof(penalty_options, edges), .fallback = "false",
   .help = "contact between edges of triangle surfaces, not only between points and triangles: for corners, bars and crossing "
           "folds; other formulations always include it"},
  {.name = "expert", .type = KEY_PART, .table = &penalty_expert_table, .fallback = "{}", .help = "keys for experts"},
  {.name = NULL}};
/* clang-format on */
const key_table penalty_options_table = {.name = "solver.penalty",
                                         .help = "Contact forces and residual norm of formulation penalty.",
                                         .size = sizeof(penalty_options),
                                         .keys = keys};

const char *penalty_norm_unit(const penalty_options *o)
{
  return o->norm == PENALTY_NORM_IMPULSE ? "N s" : "in units of acceleration_scale";
}

/* The first pair of bodies with triangle surfaces and a contact law for which `is_bad` is true; NULL: any. */
static const contact_law *find_surface_pair(const scene *s, bool (*is_bad)(const contact_law *law), const char **one, const char **other)
{
  for (int i = 0; i < s->n_meshes; ++i)
    for (int j = i; j < s->n_meshes; ++j) {
      const int          a = s->meshes[i].body_id, b = s->meshes[j].body_id;
      const contact_law *law = &s->laws[a * s->n_bodies + b];
      *one = s->bodies[a].name, *other = s->bodies[b].name;
      if (law->stiffness > 0.0 && (!is_bad || is_bad(law))) return law;
    }
  return NULL;
}
static bool is_elliptic(const contact_law *law) { return law->friction_across > 0.0; }

PetscErrorCode penalty_check(const scene *s, diagnostics *d)
{
  PetscFunctionBegin;
  PetscCall(scene_overlap_check(s, d));
  const penalty_options *o      = s->options->solver->penalty;
  const document_node   *solver = document_find(s->options->root, "solver");
  const char            *one, *other;
  bool                   has_restitution = false;
  for (int i = 0; i < s->n_bodies * s->n_bodies; ++i) has_restitution |= s->laws[i].stiffness > 0.0 && s->laws[i].restitution > 0.0;
  if (o->scheme != CONTACT_IMPLICIT && has_restitution)
    diagnostics_add_under(
        d, solver, "solver", "penalty.expert.scheme",
        "contact.restitution needs scheme: implicit, because lagged forces do not depend on the rate; remove one of them");
  if (!o->edges) PetscFunctionReturn(PETSC_SUCCESS);
#define REPORT_ERROR(...) diagnostics_add_under(d, solver, "solver", "penalty.edges", __VA_ARGS__)
  if (!find_surface_pair(s, NULL, &one, &other))
    REPORT_ERROR("no two triangle surfaces may touch here (fem, cloth, or a rigid body with contact_surface: mesh); remove it");
  if (find_surface_pair(s, is_elliptic, &one, &other))
    REPORT_ERROR("\"%s\" and \"%s\": contact between edges does not support friction_direction; remove one of them", one, other);
  if (has_restitution)
    REPORT_ERROR("not supported together with contact.restitution, because the springs of edges have no damper; remove one of them");
  if (o->scheme != CONTACT_IMPLICIT)
    REPORT_ERROR("contact between edges supports only scheme: implicit; remove it, or solver.penalty.expert.scheme");
#undef REPORT_ERROR
  PetscFunctionReturn(PETSC_SUCCESS);
}
