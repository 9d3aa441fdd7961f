/* Implementation: see run_overlaps.h. */
#include "app/run/run_overlaps.h"
#include "contact/detection/contact_detectors.h"
#include "core/log.h"
#include "sim/hybrid/hybrid_contact.h"
#include "sim/penalty/penalty_keys.h"
#include "sim/scene/scene_overlaps.h"
#include "sim/step/solver_options.h"
#include <math.h>
#include <string.h>

static const double DEEP = 0.1, MISSED = 2.0, NOTICEABLE = 1e-3;

/* Number of the contact points of a pair, and depth of the deepest one. */
static int64_t count_points(const contact_points_view *p, int a, int b, double *depth)
{
  int64_t n = 0;
  *depth    = 0.0;
  for (int64_t i = 0; i < p->n; ++i) {
    if (!((p->source_body[i] == a && p->object_body[i] == b) || (p->source_body[i] == b && p->object_body[i] == a))) continue;
    *depth = fmax(*depth, -p->gap[i]);
    ++n;
  }
  return n;
}

/* Whether the detector of convex solids finds the contacts of the pair. They include the deepest place at the start of the step; other
 * depths at its end are errors of the time step, not of the number of points. */
static bool has_deepest_point(const scene *s, const formulation *f, const scene_overlap *p)
{
  const solver_options *o = s->options->solver;
  if (strcmp(f->ops->scene.name, "hybrid") == 0 && hybrid_contact_method(s, o->hybrid) != HYBRID_CONTACT_COULOMB) return false;
  return contact_spring_detectors_of(s->bodies[p->a].body, s->bodies[p->b].body, o->penalty->rigid_detector == PENALTY_DETECTOR_CONVEX) &
         1u << DETECTOR_CONVEX;
}

static void warn_about(const scene *s, const formulation *f, const scene_overlap *p, double t)
{
  const double size = fmin(scene_overlaps_size(s->overlaps, p->a), scene_overlaps_size(s->overlaps, p->b));
  const char  *one = s->bodies[p->a].name, *two = s->bodies[p->b].name;
  char         subject[220];
  double       depth;
  if (!isfinite(size) || scene_law(s, p->a, p->b)->may_overlap) return;
  if (p->at.depth <= NOTICEABLE * size) return;
  snprintf(subject, sizeof subject, "%.100s, %.100s", one, two);
  if (p->at.depth > DEEP * size)
    warning_list_add(s->warnings, "deep-overlap", subject,
                     "overlap by %.3g m at t = %.6g s, more than a tenth of the size or spacing of %.3g m; a stiffer contact, a smaller "
                     "time.step or a finer surface reduces it",
                     p->at.depth, t, size);
  /* Contacts may be those of the start of the step, so the depth of that time is compared. The points include only those with a force, so
   * separating bodies may overlap without points. */
  const bool separates = p->at.depth < p->before;
  if (p->a == p->b || separates || has_deepest_point(s, f, p)) return;
  const contact_points_view points = contact_points_get(f->points);
  const int64_t             n      = count_points(&points, p->a, p->b, &depth);
  if (p->before - depth > NOTICEABLE * size && p->before > MISSED * depth)
    warning_list_add(
        s->warnings, "few-contact-points", subject,
        "overlap by %.3g m at t = %.6g s, but the deepest of their %lld contact points has a depth of %.3g m: no point is near "
        "the deepest part of the patch; use a smaller surface_spacing or spacing",
        p->at.depth, t, (long long)n, depth);
}

/* Self-contact of a surface has no overlap of two shapes: the depth of its contact points counts. */
static void add_self_contact(const formulation *f, step_report *report)
{
  const contact_points_view p = contact_points_get(f->points);
  for (int64_t i = 0; i < p.n; ++i) {
    if (p.source_body[i] != p.object_body[i] || !(-p.gap[i] > report->contact.penetration)) continue;
    report->contact.penetration = -p.gap[i];
    report->penetration_body_a = report->penetration_body_b = p.source_body[i];
  }
}

PetscErrorCode run_overlaps_record(scene *s, const formulation *f, double t, double dt, step_report *report)
{
  const scene_overlap *list, *deepest = NULL;
  int64_t              n;
  PetscFunctionBegin;
  const int known = warning_list_count(s->warnings);
  PetscCall(scene_overlaps_find(s->overlaps, t, false, &n, &list));
  for (int64_t k = 0; k < n; ++k) {
    if (!deepest || list[k].at.depth > deepest->at.depth) deepest = &list[k];
    warn_about(s, f, &list[k], t);
  }
  if (warning_list_count(s->warnings) > known) log_progress_end(), (void)warning_list_log(s->warnings, known);
  scene_overlaps_relax(s->overlaps, dt);
  report->contact.penetration = deepest ? deepest->at.depth : 0.0;
  report->penetration_body_a  = deepest ? deepest->a : -1;
  report->penetration_body_b  = deepest ? deepest->b : -1;
  add_self_contact(f, report);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode run_overlaps_resume(scene *s, double t)
{
  const scene_overlap *list;
  int64_t              n;
  PetscFunctionBegin;
  PetscCall(scene_overlaps_find(s->overlaps, t, false, &n, &list));
  PetscFunctionReturn(PETSC_SUCCESS);
}
