/* Key table of solver.penalty, and checks of its options against the scene. */
#include "sim/penalty/penalty_keys.h"
#include "contact/detection/convex_contact.h"
#include "contact/penalty/penalty_options.h"
#include "core/memory.h"
#include "core/warning_list.h"
#include "sim/scene/scene.h"
#include "sim/scene/scene_surfaces.h"
#include "sim/step/solver_options.h"
#include "sim/scene/scene_overlap_check.h"
#include <math.h>
#include <stdio.h>

static const char *const norms[]   = {[PENALTY_NORM_ACCELERATION] = "acceleration", [PENALTY_NORM_IMPULSE] = "impulse", NULL};
static const char *const schemes[] = {
    [CONTACT_IMPLICIT] = "implicit", [CONTACT_LAGGED_FRICTION] = "lagged_friction", [CONTACT_LAGGED_CONTACT] = "lagged_contact", NULL};
static const char *const detectors[] = {[PENALTY_DETECTOR_CONVEX] = "convex", [PENALTY_DETECTOR_VERTICES] = "vertices", NULL};
static const char *const edges[]     = {[PENALTY_EDGES_AUTO] = "auto", [PENALTY_EDGES_ON] = "true", [PENALTY_EDGES_OFF] = "false", NULL};
/* clang-format off */
static const key_spec penalty_expert_keys[] = {
  {.name = "norm", .type = KEY_ENUM, .offset = offsetof(penalty_options, norm), .choices = norms, .fallback = "acceleration",
   .help = "residual norm of solver.newton.tolerance. acceleration: as in all formulations. impulse: as published, the Euclidean norm of the "
           "residual of all momentum equations [N s] (rotation: N m s), or of its product with the transposed tangent [kg], whichever is "
           "smaller; this norm grows with the number of equations"},
  {.name = "scheme", .type = KEY_ENUM, .offset = offsetof(penalty_options, scheme), .choices = schemes, .fallback = "implicit",
   .help = "time level of the contact forces, for comparison. lagged_friction: friction of the start of the step; lagged_contact: "
           "all contact forces of the start of the step; stacks creep, and steps longer than 2 sqrt(m/k) are unstable"},
  {.name = "rigid_detector", .type = KEY_ENUM, .offset = offsetof(penalty_options, rigid_detector), .choices = detectors, .fallback = "convex",
   .help = "contact points of two rigid bodies that both consist of convex solids. convex: corners, edges and faces of these solids, as in "
           "formulation exact, also if contact_surface is mesh. vertices: as published, only the surface vertices of one body against the level set or "
           "the triangles of the other; bodies whose edges cross, or whose corners lie beside each other, pass through each other"},
  {.name = NULL}};
static const key_table penalty_expert_table = {.name = "solver.penalty.expert", .help = "Published alternatives, for comparison.", .size = sizeof(penalty_options), .keys = penalty_expert_keys};

static const key_spec    keys[]       = {
  {.name = "edges", .type = KEY_ENUM, .offset = offsetof(penalty_options, edges), .choices = edges, .fallback = "auto",
   .help = "contact between edges of triangle surfaces, not only between points and triangles: for corners, bars and crossing "
           "folds; other formulations always include it. auto: true if two rigid bodies with contact_surface: mesh may touch that are not "
           "unions of convex solids"},
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

/* True if the contact of bodies a and b is that of their convex solids instead of their surfaces. */
static bool uses_solids(const scene *s, int a, int b)
{
  return s->options->solver->penalty->rigid_detector == PENALTY_DETECTOR_CONVEX &&
         convex_contact_takes(s->bodies[a].body, s->bodies[b].body);
}

/* True if body i is one of scene.meshes. */
static bool has_surface(const scene *s, int i)
{
  body_surface surface = {0};
  if (s->bodies[i].body->ops->surface) s->bodies[i].body->ops->surface(s->bodies[i].body, &surface);
  return surface.n_triangles > 0;
}

/* The first pair of bodies with triangle surfaces in contact, and a contact law for which `is_bad` is true; NULL: any. */
static const contact_law *find_surface_pair(const scene *s, bool (*is_bad)(const contact_law *law), const char **one, const char **other)
{
  const contact_law *found = NULL;
  int32_t            of[2], least[2] = {0, 0};
  for (int64_t k = 0; k < s->pairs->n_slots; ++k) {
    const contact_law *law = &s->laws[k];
    if (!pair_example(s->pairs, s->n_bodies, k, of) || !(law->stiffness > 0.0) || (is_bad && !is_bad(law))) continue;
    if (!has_surface(s, of[0]) || !has_surface(s, of[1]) || uses_solids(s, of[0], of[1])) continue;
    if (of[0] > of[1] || (found && (of[0] > least[0] || (of[0] == least[0] && of[1] >= least[1])))) continue;
    found = law, least[0] = of[0], least[1] = of[1];
  }
  *one = s->bodies[least[0]].name, *other = s->bodies[least[1]].name;
  return found;
}
static bool is_elliptic(const contact_law *law) { return law->friction_across > 0.0; }

static bool has_restitution(const scene *s)
{
  for (int64_t i = 0; i < s->pairs->n_slots; ++i)
    if (s->laws[i].stiffness > 0.0 && s->laws[i].restitution > 0.0) return true;
  return false;
}

/* True if two rigid bodies, one of which moves, are in contact with their triangle surfaces. */
static bool has_rigid_surface_pair(const scene *s)
{
  int32_t of[2];
  for (int64_t k = 0; k < s->pairs->n_slots; ++k) {
    if (!pair_example(s->pairs, s->n_bodies, k, of) || of[0] == of[1] || !(s->laws[k].stiffness > 0.0)) continue;
    if (!has_surface(s, of[0]) || !has_surface(s, of[1]) || uses_solids(s, of[0], of[1])) continue;
    if (s->bodies[of[0]].frame >= 0 && s->bodies[of[1]].frame >= 0 &&
        (body_system(s->bodies[of[0]].body) || body_system(s->bodies[of[1]].body)))
      return true;
  }
  return false;
}

bool penalty_has_edges(const scene *s)
{
  const penalty_options *o = s->options->solver->penalty;
  const char            *one, *other;
  if (o->edges != PENALTY_EDGES_AUTO) return o->edges == PENALTY_EDGES_ON;
  return has_rigid_surface_pair(s) && o->scheme == CONTACT_IMPLICIT && !has_restitution(s) &&
         !find_surface_pair(s, is_elliptic, &one, &other);
}

static int count_solids(const body *b)
{
  int n = 0;
  if (b->ops->solids) (void)b->ops->solids(b, &n);
  return n;
}

static int64_t count_points(const body *b)
{
  int64_t n = 0;
  for (int64_t i = 0; i < b->ops->n_clusters(b); ++i) {
    double  center[3], radius;
    int64_t first, end;
    b->ops->cluster(b, i, center, &radius, &first, &end);
    n += end - first;
  }
  return n;
}

enum { FEW_VERTICES = 64 };

/* Warn if a rigid body with few vertices touches an obstacle that is not a union of convex solids, and obstacle_edges.h does not find the contacts of
 * its edges and vertices. A ridge between the vertices of the body would pass through its faces. */
static PetscErrorCode warn_about_few_vertices(const scene *s)
{
  int32_t *obstacle;
  int      n = 0;
  PetscFunctionBegin;
  PetscCall(memory_alloc("obstacles", s->n_bodies, sizeof *obstacle, &obstacle));
  for (int j = 0; j < s->n_bodies; ++j)
    if (s->bodies[j].frame >= 0 && !body_system(s->bodies[j].body) && count_solids(s->bodies[j].body) == 0) obstacle[n++] = j;
  for (int i = 0; i < s->n_bodies && n > 0; ++i)
    for (int k = 0; k < n; ++k) {
      const int   j = obstacle[k];
      const body *b = s->bodies[i].body;
      char        pair[256];
      if (b->ops->points != POINT_RIGID) break;
      if (!(scene_law(s, i, j)->stiffness > 0.0) || count_points(b) >= FEW_VERTICES) continue;
      if (s->options->solver->penalty->rigid_detector == PENALTY_DETECTOR_CONVEX && scene_obstacle_edges(s, i, j)) continue;
      (void)snprintf(pair, sizeof pair, "bodies.%s", s->bodies[i].name);
      warning_list_add(
          s->warnings, "few-vertices", pair,
          "contact with \"%s\", which is not a union of convex solids, acts only at the %lld vertices of this body; ridges of the obstacle "
          "pass between them: set surface_spacing, or make the obstacle a union",
          s->bodies[j].name, (long long)count_points(b));
    }
  memory_free(&obstacle);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode penalty_check(const scene *s, diagnostics *d)
{
  PetscFunctionBegin;
  PetscCall(scene_overlap_check(s, d));
  const penalty_options *o      = s->options->solver->penalty;
  const document_node   *solver = document_find(s->options->root, "solver");
  const char            *one, *other;
  PetscCall(warn_about_few_vertices(s));
  if (o->scheme != CONTACT_IMPLICIT && has_restitution(s))
    diagnostics_add_under(
        d, solver, "solver", "penalty.expert.scheme",
        "contact.restitution needs scheme: implicit, because lagged forces do not depend on the rate; remove one of them");
  if (o->edges == PENALTY_EDGES_AUTO && has_rigid_surface_pair(s) && !penalty_has_edges(s))
    warning_list_add(s->warnings, "edges-pass", "solver.penalty.edges",
                     "edges of rigid triangle surfaces pass through each other, because contact between edges supports neither "
                     "contact.restitution, friction_direction nor lagged forces; use convex solids, or remove these keys");
  if (o->edges != PENALTY_EDGES_ON) PetscFunctionReturn(PETSC_SUCCESS);
#define REPORT_ERROR(...) diagnostics_add_under(d, solver, "solver", "penalty.edges", __VA_ARGS__)
  if (!find_surface_pair(s, NULL, &one, &other))
    REPORT_ERROR(
        "no two triangle surfaces may touch here (fem, cloth, or rigid bodies with contact_surface: mesh that are not convex); remove it");
  if (find_surface_pair(s, is_elliptic, &one, &other))
    REPORT_ERROR("\"%s\" and \"%s\": contact between edges does not support friction_direction; remove one of them", one, other);
  if (has_restitution(s))
    REPORT_ERROR("not supported together with contact.restitution, because the springs of edges have no damper; remove one of them");
  if (o->scheme != CONTACT_IMPLICIT)
    REPORT_ERROR("contact between edges supports only scheme: implicit; remove it, or solver.penalty.expert.scheme");
#undef REPORT_ERROR
  PetscFunctionReturn(PETSC_SUCCESS);
}
