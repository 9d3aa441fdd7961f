#include "sim/hybrid/hybrid_check.h"
#include "sim/hybrid/hybrid_keys.h"
#include "sim/step/solver_options.h"
#include "core/math3.h"
#include "discretize/fem/tetrahedra.h"
#include "discretize/mpm/mpm_body.h"
#include "discretize/mpm/mpm_grid.h"
#include "discretize/nodal/nodal_keys.h"
#include "sim/hybrid/hybrid_contact.h"
#include "sim/scene/scene_intersections.h"

static const document_node *node_of(const scene *s, int i)
{
  return document_find(document_find(s->options->root, "bodies"), s->bodies[i].name);
}

static bool has_triangles(const body *b)
{
  body_surface f = {0};
  if (b->ops->surface) b->ops->surface(b, &f);
  return f.n_triangles > 0;
}

static bool has_any_triangles(const scene *s)
{
  for (int i = 0; i < s->n_bodies; ++i)
    if (has_triangles(s->bodies[i].body)) return true;
  return false;
}

const convex_solid *hybrid_half_spaces(const body *b, int *n)
{
  const convex_solid *solid = b->ops->solids ? b->ops->solids(b, n) : NULL;
  if (!solid) *n = 0;
  for (int k = 0; k < *n; ++k)
    if (solid[k].kind != CONVEX_HALF_SPACE) return *n = 0, NULL;
  return *n > 0 ? solid : NULL;
}

/* Something with a pose has to be a surface, or planes where surfaces meet it. */
static void check_surface(const scene *s, int i, diagnostics *d)
{
  const body *b = s->bodies[i].body;
  char        path[300];
  int         n;
  if (!b->ops->frame || b->ops->is_shapeless || has_triangles(b)) return;
  const bool is_plane = hybrid_half_spaces(b, &n) != NULL;
  for (int j = 0; j < s->n_bodies; ++j) {
    const bool is_continuum = s->bodies[j].kind->ops->carrier != NULL;
    if (j == i || s->laws[i * s->n_bodies + j].never_touch || !(is_continuum || (has_triangles(s->bodies[j].body) && !is_plane)))
      continue;
    snprintf(path, sizeof path, "bodies.%.200s", s->bodies[i].name);
    diagnostics_add_under(d, node_of(s, i), path, NULL,
                          "may touch \"%s\", but formulation hybrid keeps %s, and it has no triangles: say contact_surface: "
                          "mesh%s, or touch: false under contact.pairs",
                          s->bodies[j].name,
                          is_continuum ? "material points off triangles, on the grid" : "triangles off triangles and planes",
                          is_plane ? " (of a box, or let mpm.walls bound the grid)" : "");
    return;
  }
}

/* One grid for all. */
static void check_grid(const scene *s, diagnostics *d)
{
  const document_node *root = s->options->root, *solver = document_find(root, "solver");
  const document_node *grid = document_find(solver ? document_find(solver, "hybrid") : NULL, "grid");
  const hybrid_grid   *o    = s->options->solver->hybrid->grid;
  if (!s->world.mpm) return;
  const double spacing = mpm_domain_grid(s->world.mpm->domain)->h;
  if (isfinite(o->spacing) && o->spacing != spacing)
    diagnostics_add_under(d, grid, "solver.hybrid.grid", "spacing",
                          "%g m: bodies of kind mpm meet surfaces on their own grid of cells of %g m: leave it out", o->spacing,
                          spacing);
  if (o->transfer != HYBRID_TRANSFER_AUGURY && has_any_triangles(s))
    diagnostics_add_under(d, grid ? grid : root, "solver.hybrid.grid", "transfer",
                          "bodies of kind mpm meet surfaces through augury alone: leave it out");
  if (s->options->mpm->light_nodes > 0.0 && has_any_triangles(s))
    diagnostics_add_under(d, document_find(root, "mpm"), "mpm", "light_nodes",
                          "nodes that follow others cannot take what contact gives them: leave it out");
}

/* The smallest altitude of any tetrahedron of b at rest [m]. */
static double least_altitude(const nodal_body *b)
{
  const element_set *set   = tetrahedra_of(b);
  double             least = INFINITY;
  for (int64_t e = 0; set && e < set->n; ++e) {
    double edge[3][3], normal[3], area = 0.0;
    for (int k = 0; k < 3; ++k)
      v3_sub(edge[k], b->rest + 3 * (int64_t)set->node[4 * e + k + 1], b->rest + 3 * (int64_t)set->node[4 * e]);
    for (int k = 0; k < 3; ++k) v3_cross(normal, edge[k], edge[(k + 1) % 3]), area = fmax(area, v3_norm(normal));
    const double six = fabs(v3_dot(normal, edge[1])); /* 6 V: edge[2] x edge[0] . edge[1] */
    for (int k = 0; k < 2; ++k) v3_axpy(edge[k], -1.0, edge[2]);
    v3_cross(normal, edge[0], edge[1]);
    least = fmin(least, six / fmax(area, v3_norm(normal)));
  }
  return least;
}

/* The longest explicit step: what sound takes through the flattest element [s]. */
static double longest_step(const nodal_body *b, const material *m)
{
  double mu, lambda;
  material_small_strain(m, &mu, &lambda);
  return least_altitude(b) / sqrt((lambda + 2.0 * mu) / m->density);
}

static void check_explicit(const scene *s, int i, diagnostics *d)
{
  const nodal_body *b = nodal_body_of(s->bodies[i].body);
  const material   *m = s->bodies[i].material;
  char              path[300];
  if (!b || s->options->solver->hybrid->integrator != HYBRID_SYMPLECTIC) return;
  snprintf(path, sizeof path, "bodies.%.200s", s->bodies[i].name);
  const document_node     *damping = document_find(node_of(s, i), "damping");
  static const char *const keys[]  = {"stiffness", "ratio", NULL};
  for (int k = 0; damping && keys[k]; ++k)
    if (document_find(damping, keys[k]))
      diagnostics_add_under(d, node_of(s, i), path, "damping",
                            "integrator: symplectic takes forces of positions, and damping of mass: leave %s out, or take integrator: "
                            "backward_euler", keys[k]);
  if (!m || !tetrahedra_of(b)) return;
  const double longest = longest_step(b, m);
  if (s->options->time->step > longest)
    diagnostics_add_under(d, node_of(s, i), path, NULL,
                          "sound crosses its flattest tetrahedron, %g m high, in %g s, and an explicit step of %g s may blow up: "
                          "give time.step less than that, better half "
                          "of it, or take solver.hybrid.integrator: backward_euler",
                          least_altitude(b), longest, s->options->time->step);
}

/* Angular momentum that forces other than gravity's bring is not known apart from what backward Euler loses. */
static void check_fix(const scene *s, int i, diagnostics *d)
{
  const nodal_body *b = nodal_body_of(s->bodies[i].body);
  char              path[300];
  if (!b || s->options->solver->hybrid->momentum_fix != HYBRID_FIX_RIGID) return;
  static const char *const keys[] = {"load", "pressure", NULL};
  snprintf(path, sizeof path, "bodies.%.200s", s->bodies[i].name);
  for (int k = 0; keys[k]; ++k)
    if (document_find(node_of(s, i), keys[k]))
      diagnostics_add_under(
          d, node_of(s, i), path, keys[k],
          "turns the body by as much as solver.hybrid.momentum_fix: rigid does not know: take momentum_fix: linear");
  if (b->mass_damping > 0.0)
    diagnostics_add_under(
        d, node_of(s, i), path, "damping",
        "of mass takes angular momentum that solver.hybrid.momentum_fix: rigid would give back: take momentum_fix: linear");
}

/* Triangles that cannot be sampled for cells as small as asked. */
static PetscErrorCode check_cells(const scene *s, diagnostics *d)
{
  hybrid_contact c = {0};
  PetscFunctionBegin;
  const document_node *root = s->options->root, *solver = document_find(root, "solver");
  const document_node *grid = document_find(solver ? document_find(solver, "hybrid") : NULL, "grid");
  const PetscErrorCode code = hybrid_contact_create(s, s->options->solver->hybrid, &c);
  hybrid_contact_destroy(&c);
  if (!diagnostics_take(d, grid ? grid : root, "solver.hybrid.grid", "spacing", code)) PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode hybrid_check(const scene *s, diagnostics *d)
{
  PetscFunctionBegin;
  const int before = diagnostics_count(d);
  for (int i = 0; i < s->n_bodies; ++i) {
    check_surface(s, i, d);
    check_explicit(s, i, d);
    check_fix(s, i, d);
  }
  check_grid(s, d);
  if (diagnostics_count(d) == before) PetscCall(check_cells(s, d));
  /* Impulses keep apart what is apart. */
  if (!s->options->solver->hybrid->allow_intersections)
    PetscCall(scene_intersections_check(s, "say solver.hybrid.allow_intersections: true", d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode hybrid_describe(const scene *s, FILE *out)
{
  static const char *const words[] = {[HYBRID_TRANSFER_AUGURY] = "augury through a grid",
                                      [HYBRID_TRANSFER_PIC]    = "velocities of a grid",
                                      [HYBRID_TRANSFER_NONE]   = "nothing through a grid"};
  const hybrid_options    *o       = s->options->solver->hybrid;
  fprintf(out, "formulation hybrid: free motion, then %s, then %s, then motion with boundaries prescribed\n",
          words[o->grid->transfer], o->impulses->is_on ? "geometric impulses" : "no impulses");
  return PETSC_SUCCESS;
}
