#include "sim/monolith/monolith_check.h"
#include "core/math3.h"
#include "discretize/mac/mac_side.h"
#include "discretize/rigid/rigid_body.h"
#include "sim/monolith/monolith_solids.h"
#include "sim/step/step_finders.h"

#define OVERLAP 0.02 /* of a body's radius: less than this is pushed apart as it goes */
enum { MOST_CUTS = 10 };

static const document_node *node_of(const scene *s, int i)
{
  return document_find(document_find(s->options->root, "bodies"), s->bodies[i].name);
}

/* The dynamic rigid body i; NULL if it is none. */
static rigid_body *dynamic(const scene *s, int i)
{
  return body_system(s->bodies[i].body) ? rigid_body_of(s->bodies[i].body) : NULL;
}

static bool has_continuum(const scene *s)
{
  for (int i = 0; i < s->n_bodies; ++i)
    if (s->bodies[i].kind->ops->carrier) return true;
  return false;
}

/* ---- outside ----------------------------------------------------------------------------------------------------------- */

static void check_place(const scene *s, int i, diagnostics *d)
{
  const rigid_body *b   = dynamic(s, i);
  const mac_box    *box = s->options->mac->domain;
  char              path[300];
  for (int k = 0; k < 3 && b; ++k) {
    if (b->c[k] + b->radius > box->min[k] && b->c[k] - b->radius < box->max[k]) continue;
    snprintf(path, sizeof path, "bodies.%s", s->bodies[i].name);
    diagnostics_add_under(d, node_of(s, i), path, NULL,
                          "starts outside mac.domain: its centre (%g, %g, %g) m and radius %g m leave %c from %g to %g m; move it, "
                          "or make the domain larger",
                          b->c[0], b->c[1], b->c[2], b->radius, "xyz"[k], box -> min[k], box -> max[k]);
    return;
  }
}

/* ---- in each other ----------------------------------------------------------------------------------------------------- */

/* The deepest point of a triangle in a level set, as far as it is deeper than *most. Distances change by no more than the way: what
 * is not deep enough around the centre is left out, the rest is cut in four. */
static void dip(const level_set *set, const double x[3][3], double nearly, int levels, double *most)
{
  double center[3], radius2 = 0.0, middle[3][3];
  for (int a = 0; a < 3; ++a) center[a] = (x[0][a] + x[1][a] + x[2][a]) / 3.0;
  for (int k = 0; k < 3; ++k) {
    double d[3];
    v3_sub(d, x[k], center);
    radius2 = fmax(radius2, v3_dot(d, d));
    for (int a = 0; a < 3; ++a) middle[k][a] = 0.5 * (x[k][a] + x[(k + 1) % 3][a]);
  }
  const double depth = -level_set_value(set, center), radius = sqrt(radius2);
  *most = fmax(*most, depth);
  if (levels == 0 || depth + radius <= fmax(*most, 0.0) + nearly) return;
  dip(set, (const double(*)[3])middle, nearly, levels - 1, most);
  for (int k = 0; k < 3; ++k) {
    double corner[3][3];
    v3_copy(corner[0], x[k]), v3_copy(corner[1], middle[k]), v3_copy(corner[2], middle[(k + 2) % 3]);
    dip(set, (const double(*)[3])corner, nearly, levels - 1, most);
  }
}

/* How deep the surface of a is in the level sets of b: vertices, edges and faces. */
static double depth_in(const rigid_body *a, const scene_body *b)
{
  rigid_frame       fa, fb;
  int               n    = 0;
  double            most = 0.0;
  level_set *const *sets = b->body->ops->level_sets ? b->body->ops->level_sets(b->body, &n) : NULL;
  if (n == 0 || !a->surface) return 0.0;
  a->base.ops->frame(&a->base, 0.0, 0.0, NULL, &fa);
  b->body->ops->frame(b->body, 0.0, 0.0, NULL, &fb);
  for (int k = 0; k < n; ++k)
    for (int64_t t = 0; t < a->surface->n_triangles; ++t) {
      double at[3][3];
      for (int q = 0; q < 3; ++q) {
        double x[3], arm[3];
        m3_mulv(x, fa.R, a->surface->x + 3 * a->surface->tri[3 * t + q]);
        v3_axpy(x, 1.0, fa.c);
        v3_sub(arm, x, fb.c);
        m3_mulv_t(at[q], fb.R, arm);
        most = fmax(most, -level_set_value(sets[k], at[q]));
      }
      dip(sets[k], (const double(*)[3])at, 1e-3 * a->radius, MOST_CUTS, &most);
    }
  return most;
}

static void check_overlap(const scene *s, int i, int j, diagnostics *d)
{
  const rigid_body *a = dynamic(s, i), *b = dynamic(s, j), *one = rigid_body_of(s->bodies[i].body),
                   *two = rigid_body_of(s->bodies[j].body);
  double            depth = 0.0, size = fmin(a ? a->radius : INFINITY, b ? b->radius : INFINITY);
  char              path[300];
  if ((!a && !b) || s->laws[i * s->n_bodies + j].never_touch) return;
  if (one) depth = fmax(depth, depth_in(one, &s->bodies[j]));
  if (two) depth = fmax(depth, depth_in(two, &s->bodies[i]));
  if (depth <= OVERLAP * size) return;
  snprintf(path, sizeof path, "bodies.%s", s->bodies[j].name);
  diagnostics_add_under(
      d, node_of(s, j), path, NULL,
      "starts %g m deep in \"%s\": rigid bodies may not overlap; move one of them, or say touch: false under contact.pairs", depth,
      s->bodies[i].name);
}

PetscErrorCode monolith_check(const scene *s, diagnostics *d)
{
  PetscFunctionBegin;
  for (int i = 0; i < s->n_bodies; ++i) {
    if (has_continuum(s)) check_place(s, i, d);
    for (int j = i + 1; j < s->n_bodies; ++j) check_overlap(s, i, j, d);
  }
  PetscCall(monolith_solids_check(s, d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- what it is -------------------------------------------------------------------------------------------------------- */

static PetscErrorCode describe_grid(const scene *s, FILE *out)
{
  const mac_options *o      = s->options->mac;
  double             volume = 0.0, n[3];
  PetscFunctionBegin;
  for (int i = 0; i < s->n_bodies; ++i) {
    body_totals sum;
    if (!s->bodies[i].kind->ops->carrier || !s->bodies[i].material) continue;
    PetscCall(scene_body_totals(s, i, &sum));
    volume += sum.mass / s->bodies[i].material->density;
  }
  for (int k = 0; k < 3; ++k) n[k] = nearbyint((o->domain->max[k] - o->domain->min[k]) / o->spacing);
  const double cells = volume / pow(o->spacing, 3);
  fprintf(out,
          "  grid of %.0f x %.0f x %.0f cells of %g m, of which about %.3g hold material: as many pressures, %.3g stresses, %.3g "
          "faces\n",
          n[0], n[1], n[2], o->spacing, cells, 5.0 * cells, 3.0 * cells);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode describe_solids(const scene *s, FILE *out)
{
  monolith_solids solids;
  PetscFunctionBegin;
  PetscCall(monolith_solids_create(s, &solids));
  for (int k = 0; k < solids.n; ++k) {
    const mac_solid *one = &solids.solid[k];
    fprintf(out, "%s%s (%s%s", k == 0 ? "  solids in it: " : ", ", s->bodies[one->body].name,
            one->is_unknown ? "moved by it, " : "", isfinite(one->friction) ? "friction " : "the material's own friction)");
    if (isfinite(one->friction)) fprintf(out, "%g)", one->friction);
  }
  if (solids.n > 0) fprintf(out, "\n");
  monolith_solids_destroy(&solids);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Which sides of the domain bodies meet, unless an obstacle is there. */
static void describe_walls(const scene *s, FILE *out)
{
  int n = 0;
  for (int i = 0; i < s->n_bodies; ++i)
    if (s->bodies[i].kind == &mac_side_kind) fprintf(out, "%s%s", n++ == 0 ? "  rigid bodies meet " : ", ", s->bodies[i].name);
  if (n > 0) fprintf(out, "\n");
}

PetscErrorCode monolith_describe(const scene *s, FILE *out)
{
  PetscFunctionBegin;
  fprintf(out, "formulation monolith: pressure, friction and contact of continuum and rigid bodies as one problem\n");
  if (has_continuum(s)) {
    PetscCall(describe_grid(s, out));
    PetscCall(describe_solids(s, out));
    describe_walls(s, out);
  }
  fprintf(out, "  contacts of rigid bodies are found between\n");
  PetscCall(step_finders_describe(s, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}
