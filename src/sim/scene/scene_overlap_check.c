/* Implementation: scene_overlaps_find at t = 0, tolerances, messages. */
#include "sim/scene/scene_overlap_check.h"
#include "core/math3.h"
#include "core/memory.h"
#include "discretize/articulated/articulated_body.h"
#include "discretize/rigid/rigid_body.h"
#include "sim/scene/body_releases.h"
#include "sim/scene/scene_overlaps.h"

enum { SHOWN = 20 };                                                               /* pairs with a message of their own */
static const double ROUNDING = 1e-6, SAMPLED = 1e-3, CHORD = 2e-2, LARGEST = 5e-2; /* of the smaller body; CHORD: of the spacing */

/* True if a joint connects the two links. */
static bool are_joined(const scene *s, int a, int b)
{
  if (s->bodies[a].whole < 0 || s->bodies[a].whole != s->bodies[b].whole) return false;
  if (s->bodies[a].kind != &articulated_link_kind || s->bodies[b].kind != &articulated_link_kind) return false;
  const articulated_link *p = (const articulated_link *)s->bodies[a].body, *q = (const articulated_link *)s->bodies[b].body;
  if (p->tree->tree.parent[p->index] == q->index || q->tree->tree.parent[q->index] == p->index) return true;
  for (int k = 0; k < p->tree->n_pins; ++k) {
    const articulated_pin *pin = &p->tree->pin[k];
    if ((pin->one == p->index && pin->other == q->index) || (pin->one == q->index && pin->other == p->index)) return true;
  }
  return false;
}

/* Mass of body i; INFINITY for bodies without unknowns. */
static PetscErrorCode mass_of(const scene *s, int i, double *mass)
{
  body_totals sum = {0};
  PetscFunctionBegin;
  *mass = INFINITY;
  if (!body_system(s->bodies[i].body) || !s->bodies[i].body->ops->totals) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(scene_body_totals(s, i, &sum));
  *mass = sum.mass;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static bool is_sampled(const scene *s, int i)
{
  int         n = 0;
  const body *b = s->bodies[i].body;
  if (b->ops->solids) (void)b->ops->solids(b, &n);
  return n == 0 && !b->ops->segments && !b->ops->particles;
}

static double finite_or_zero(double x) { return isfinite(x) ? x : 0.0; }

/* Spacing of the segments or triangles of a deformable curve or surface; INFINITY for other bodies. */
static double chord_of(const scene *s, int i)
{
  const body *b = s->bodies[i].body;
  if (b->ops->frame || b->ops->particles || !b->ops->length || !(b->ops->segments || b->ops->surface)) return INFINITY;
  return b->ops->length(b);
}

/* Depth up to which an overlap is not reported. */
static PetscErrorCode tolerance_of(const scene *s, const scene_overlap *p, double *tolerance)
{
  const contact_law *law  = scene_law(s, p->a, p->b);
  const double       size = fmin(scene_overlaps_size(s->overlaps, p->a), scene_overlaps_size(s->overlaps, p->b));
  const double       g = v3_norm(s->gravity), dt = s->options->time->step;
  double             m_a, m_b;
  PetscFunctionBegin;
  PetscCall(mass_of(s, p->a, &m_a));
  PetscCall(mass_of(s, p->b, &m_b));
  double springs = g * dt * dt;
  if (law->stiffness > 0.0 && isfinite(law->stiffness) && isfinite(fmin(m_a, m_b)))
    springs = fmax(springs, fmin(m_a, m_b) * g / law->stiffness);
  *tolerance = fmax(ROUNDING * size, fmin(springs, LARGEST * size));
  if (is_sampled(s, p->a) || is_sampled(s, p->b)) *tolerance = fmax(*tolerance, SAMPLED * size);
  *tolerance = fmax(*tolerance, CHORD * finite_or_zero(fmin(chord_of(s, p->a), chord_of(s, p->b))));
  for (int side = 0; side < 2; ++side) {
    const int i = side ? p->b : p->a;
    if (!scene_overlaps_has_particles(s->overlaps, i)) continue;
    *tolerance = fmax(*tolerance, 0.5 * scene_overlaps_size(s->overlaps, i));
    if (s->options->formulation->touches_on_grid)
      *tolerance = fmax(*tolerance, body_system(s->bodies[i].body)->ops->length(s->bodies[i].body));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* True for triangle surfaces and half-spaces, see scene_intersections.h. */
static bool has_surface(const scene *s, int i)
{
  int                 n     = 0;
  const body         *b     = s->bodies[i].body;
  const convex_solid *solid = b->ops->solids ? b->ops->solids(b, &n) : NULL;
  body_surface        own   = {0};
  if (b->ops->surface) b->ops->surface(b, &own);
  return own.n_triangles > 0 || (n > 0 && solid[0].kind == CONVEX_HALF_SPACE);
}

static void report_overlap(const scene *s, const scene_overlap *p, diagnostics *d)
{
  /* the body that comes later in the job, or the one that can move */
  const int   a     = body_system(s->bodies[p->b].body) ? p->b : p->a;
  const int   b     = a == p->b ? p->a : p->b;
  const int   whole = s->bodies[a].whole >= 0 ? s->bodies[a].whole : a;
  const char *one = s->bodies[a].name, *two = s->bodies[b].name;
  char        path[300], remedy[300] = "contact.initial_overlap: permit"; /* for bodies that share a grid, without a law of their own */
  if (!scene_law(s, a, b)->never_touch)
    snprintf(remedy, sizeof remedy, "contact.pairs: [{between: [%.90s, %.90s], initial_overlap: permit}]", one, two);
  snprintf(path, sizeof path, "bodies.%.250s", s->bodies[whole].name);
  diagnostics_add_under(d, scene_body_node(s, whole), path, NULL,
                        "%s%.90s%soverlaps %s%.90s%s by %.3g m at (%.5g, %.5g, %.5g) at the start of the run. Move one of them away, or "
                        "permit it: %s",
                        whole == a ? "" : "its part ", whole == a ? "" : one, whole == a ? "" : " ", a == b ? "" : "\"",
                        a == b ? "itself" : two, a == b ? "" : "\"", p->at.depth, p->at.x[0], p->at.x[1], p->at.x[2], remedy);
}

/* Report bodies of the first release of an entry whose place overlaps a static obstacle, so that it is never free. */
static PetscErrorCode check_places(const scene *s, diagnostics *d)
{
  scene_overlap *list __attribute__((cleanup(memory_free)))  = NULL;
  const void   **entry __attribute__((cleanup(memory_free))) = NULL;
  const int32_t *first;
  int64_t        n, n_found, n_bad = 0;
  PetscFunctionBegin;
  if (!s->releases) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(memory_alloc("overlaps", s->n_bodies, sizeof *entry, &entry));
  for (int i = 0; i < s->n_bodies; ++i) entry[i] = s->bodies[i].entry;
  PetscCall(body_releases_first(s->releases, entry, &n, &first));
  PetscCall(scene_overlaps_find_waiting(s->overlaps, 0.0, n, first, &n_found, &list));
  for (int64_t k = 0; k < n_found && n_bad < SHOWN; ++k) {
    double            tolerance = 0.0;
    const int         other     = s->bodies[list[k].a].body->is_waiting ? list[k].b : list[k].a;
    const rigid_body *obstacle  = rigid_body_of(s->bodies[other].body);
    if (!obstacle || obstacle->kind != RIGID_STATIC) continue;
    PetscCall(tolerance_of(s, &list[k], &tolerance));
    if (!(list[k].at.depth > tolerance)) continue;
    report_overlap(s, &list[k], d);
    ++n_bad;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode scene_overlap_check(const scene *s, diagnostics *d)
{
  const scene_overlap *list;
  int64_t              n, n_bad = 0;
  PetscFunctionBegin;
  PetscCall(scene_overlaps_find(s->overlaps, 0.0, true, &n, &list));
  for (int64_t k = 0; k < n; ++k) {
    const scene_overlap *p         = &list[k];
    double               tolerance = 0.0;
    if (scene_law(s, p->a, p->b)->may_overlap || are_joined(s, p->a, p->b)) continue;
    if (s->options->formulation->touches_on_grid && s->bodies[p->a].frame >= 0 && s->bodies[p->b].frame >= 0)
      continue; /* checked by monolith.c */
    if (s->options->formulation->checks_surfaces && has_surface(s, p->a) && has_surface(s, p->b)) continue;
    PetscCall(tolerance_of(s, p, &tolerance));
    if (!(p->at.depth > tolerance)) continue;
    if (++n_bad <= SHOWN) report_overlap(s, p, d);
  }
  PetscCall(scene_overlaps_begin(s->overlaps, s->fields));
  if (n_bad > SHOWN)
    diagnostics_add_under(d, document_find(s->options->root, "bodies"), "bodies", NULL,
                          "%lld more pairs overlap at the start of the run. Move the bodies, or permit it for all: "
                          "contact.initial_overlap: permit",
                          (long long)(n_bad - SHOWN));
  if (scene_overlaps_are_too_many(s->overlaps))
    diagnostics_add_under(
        d, document_find(s->options->root, "bodies"), "bodies", NULL,
        "more than %lld pairs of bodies overlap at the start of the run; further ones were not searched. Distribute the bodies",
        (long long)n);
  PetscCall(check_places(s, d));
  PetscFunctionReturn(PETSC_SUCCESS);
}
