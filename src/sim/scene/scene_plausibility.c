/* Checks of plausibility, see scene_plausibility.h. Limits are named constants; each check states its inequality. */
#include "sim/scene/scene_plausibility.h"
#include "core/key_text.h"
#include "core/math3.h"
#include "core/memory.h"
#include "core/sort.h"
#include "discretize/mac/mac_side.h"
#include "discretize/particles/particles.h"
#include "discretize/rigid/rigid_body.h"
#include "geometry/convex/convex_pose.h"
#include "geometry/convex/convex_solid.h"
#include "geometry/primitive/box_tree.h"
#include "sim/scene/contact_stiffness.h"
#include <stdlib.h>
#include <string.h>

/* The scene that is being checked. */
typedef struct {
  scene       *s;
  body_survey *body; /* [n_bodies] */
  double       down[3], g, dt, end, least_size;
  /* Bodies on which others can fall: a tree of the bounds along two horizontal directions and gravity, and bodies without such bounds. */
  double   side[2][3];
  int32_t *bounded, *unbounded, *plane; /* [n_bounded], [n_unbounded], [n_planes]; plane: obstacles with half-spaces */
  int      n_bounded, n_unbounded, n_planes;
  double  *box[6]; /* [n_bounded] */
  box_tree tree;
} subject;

static const char *path_of(const subject *c, int i, size_t size, char *path)
{
  snprintf(path, size, "bodies.%s", scene_shared_name(c->s, i));
  return path;
}
#define PATH(i) path_of(c, i, 300, (char[300]){0})

static const char *pair_of(const subject *c, int i, int j, size_t size, char *text)
{
  snprintf(text, size, "%s, %s", scene_shared_name(c->s, i), scene_shared_name(c->s, j));
  return text;
}
#define PAIR(i, j) pair_of(c, i, j, 500, (char[500]){0})

/* The subject of a warning; from the eleventh entry of a code on one common subject, so that a heap of equal bodies gives a short list. */
enum { MAX_PER_CODE = 10 };
static const char *limited(const subject *c, const char *code, const char *of)
{
  int n = 0;
  for (int i = 0; i < warning_list_count(c->s->warnings); ++i) n += strcmp(warning_list_code(c->s->warnings, i), code) == 0;
  return n < MAX_PER_CODE ? of : "further bodies, the first of them";
}

/* Contact of the two is possible. */
static bool may_touch(const subject *c, int i, int j)
{
  const contact_law *law = scene_law(c->s, i, j);
  return i != j && !law->never_touch;
}

static bool is_spring(const subject *c) { return !c->s->options->formulation->is_rigid; }

/* --- positions ---------------------------------------------------------------------------------------------------- */

/* Half-spaces of obstacle j; *n 0: it has none. */
static const convex_solid *half_spaces(const subject *c, int j, int *n)
{
  const body         *b     = c->s->bodies[j].body;
  const convex_solid *solid = !c->body[j].is_free && b->ops->solids ? b->ops->solids(b, n) : NULL;
  if (!solid) *n = 0;
  return solid;
}

/* A half-space in world axes at the start. */
static void half_space_in_world(const subject *c, int j, const convex_solid *solid, double normal[3], double *offset)
{
  const body *b = c->s->bodies[j].body;
  rigid_frame f;
  v3_copy(normal, solid->normal);
  *offset = solid->offset;
  if (!b->ops->frame) return;
  b->ops->frame(b, 0.0, 0.0, NULL, &f);
  m3_mulv(normal, f.R, solid->normal);
  *offset += v3_dot(normal, f.c);
}

/* All points of a body lie behind a half-space, deeper than its size: this is no overlap but a wrong position. */
static PetscErrorCode check_behind_planes(const subject *c, int i)
{
  int64_t n                                       = 0;
  double *x __attribute__((cleanup(memory_free))) = NULL;
  PetscFunctionBegin;
  if (!c->body[i].is_free || c->body[i].n_points == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(body_survey_points(c->s->bodies[i].body, &n, &x));
  for (int q = 0; q < c->n_planes; ++q) {
    const int           j        = c->plane[q];
    int                 n_solids = 0;
    const convex_solid *solid    = half_spaces(c, j, &n_solids);
    for (int k = 0; k < n_solids; ++k) {
      double normal[3], offset, highest = -INFINITY;
      if (solid[k].kind != CONVEX_HALF_SPACE || scene_law(c->s, i, j)->never_touch) continue;
      half_space_in_world(c, j, &solid[k], normal, &offset);
      for (int64_t p = 0; p < n; ++p) highest = fmax(highest, v3_dot(x + 3 * p, normal) - offset);
      if (highest >= 0.0) continue;
      warning_list_add(
          c->s->warnings, "below-plane", limited(c, "below-plane", PAIR(i, j)),
          "%s starts completely behind a plane of %s, at least %.3g m from its surface; the free side of the plane is in direction "
          "(%.3g, %.3g, %.3g)",
          c->s->bodies[i].name, c->s->bodies[j].name, -highest, normal[0], normal[1], normal[2]);
      break;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Range of the bounds of a body along a direction; infinite components of unbounded bodies with a zero factor do not count. */
static void range_along(const body_survey *b, const double d[3], double *lo, double *hi)
{
  *lo = *hi = 0.0;
  for (int a = 0; a < 3; ++a) {
    if (fabs(d[a]) < 1e-12) continue;
    *lo += fmin(d[a] * b->min[a], d[a] * b->max[a]);
    *hi += fmax(d[a] * b->min[a], d[a] * b->max[a]);
  }
}

/* Displacement along gravity during the run without contact. */
static double fall_of(const subject *c, int i) { return v3_dot(c->body[i].v, c->down) * c->end + 0.5 * c->g * c->end * c->end; }

/* Bodies with prescribed motion can be anywhere later. */
static bool is_kinematic(const subject *c, int j)
{
  const rigid_body *r = c->s->bodies[j].body->ops->frame ? rigid_body_of(c->s->bodies[j].body) : NULL;
  return r && r->kind == RIGID_KINEMATIC;
}

/* Horizontal distance of body i from a body on which it can fall. */
static double drift_of(const subject *c, int i)
{
  const body_survey *a     = &c->body[i];
  double             along = v3_dot(a->v, c->down), horizontal[3];
  for (int k = 0; k < 3; ++k) horizontal[k] = a->v[k] - along * c->down[k];
  return v3_norm(horizontal) * c->end + 0.1 * a->reach;
}

/* True if body i can hit body j on its fall: j is below or next to it within the distance, and the projections overlap. Bodies with prescribed
 * motion can be anywhere later, so they always count. */
static bool falls_on(const subject *c, int i, int j, double fall)
{
  const body_survey *a = &c->body[i], *b = &c->body[j];
  double             horizontal[3], top_a, low_a, top_b, low_b;
  int                n_solids = 0;
  if (is_kinematic(c, j)) return true;
  const convex_solid *solid = half_spaces(c, j, &n_solids);
  double              along = v3_dot(a->v, c->down);
  for (int k = 0; k < 3; ++k) horizontal[k] = a->v[k] - along * c->down[k];
  for (int k = 0; k < n_solids; ++k) {
    double normal[3], offset, lo, hi;
    if (solid[k].kind != CONVEX_HALF_SPACE) continue;
    half_space_in_world(c, j, &solid[k], normal, &offset);
    range_along(a, normal, &lo, &hi);
    const double approach = -v3_dot(normal, c->down) * fall - fmin(0.0, v3_dot(normal, horizontal)) * c->end;
    if (lo - offset <= approach && v3_dot(normal, c->down) < -1e-3) return true;
    if (v3_dot(normal, c->down) < 1e-3 && lo - offset < 0.1 * a->reach) return true; /* a wall next to it: wedged by friction */
  }
  if (n_solids > 0 && solid[0].kind == CONVEX_HALF_SPACE) return false;
  const double drift = drift_of(c, i);
  for (int k = 0; k < 2; ++k) {
    double lo_a, hi_a, lo_b, hi_b;
    range_along(a, c->side[k], &lo_a, &hi_a);
    range_along(b, c->side[k], &lo_b, &hi_b);
    if (hi_a + drift < lo_b || lo_a - drift > hi_b) return false;
  }
  range_along(a, c->down, &top_a, &low_a);
  range_along(b, c->down, &top_b, &low_b);
  return low_b > top_a - 0.1 * a->reach && top_b < low_a + fall;
}

/* Begin an iteration over the bounded bodies on which body i can fall, and some others. */
static void walk_below(const subject *c, int i, double fall, box_walk *walk)
{
  const double drift = drift_of(c, i);
  double       min[3], max[3];
  for (int k = 0; k < 3; ++k) range_along(&c->body[i], k < 2 ? c->side[k] : c->down, &min[k], &max[k]);
  for (int k = 0; k < 2; ++k) min[k] -= drift, max[k] += drift;
  min[2] -= 0.1 * c->body[i].reach, max[2] += fall;
  box_walk_begin(walk, &c->tree, min, max);
}

static PetscErrorCode create_subject(scene *s, subject *c)
{
  const int n = s->n_bodies;
  PetscFunctionBegin;
  *c   = (subject){.s = s, .dt = s->options->time->step, .end = s->options->time->end, .least_size = INFINITY};
  c->g = body_survey_down(s->gravity, c->down);
  v3_cross(c->side[0], c->down, fabs(c->down[0]) < 0.9 ? (const double[3]){1, 0, 0} : (const double[3]){0, 1, 0});
  v3_scale(c->side[0], 1.0 / v3_norm(c->side[0]), c->side[0]);
  v3_cross(c->side[1], c->down, c->side[0]);
  PetscCall(scene_survey(s, &c->body));
  PetscCall(MEMORY_ALLOC("plausibility", ARRAY(c->bounded, n), ARRAY(c->unbounded, n), ARRAY(c->plane, n)));
  for (int k = 0; k < 6; ++k) PetscCall(memory_alloc("plausibility", n, sizeof *c->box[k], &c->box[k]));
  for (int i = 0; i < n; ++i) {
    int                 n_solids   = 0;
    const convex_solid *solid      = half_spaces(c, i, &n_solids);
    bool                is_bounded = !is_kinematic(c, i), has_plane = false;
    for (int k = 0; k < 3; ++k) {
      double *lo = &c->box[k][c->n_bounded], *hi = &c->box[3 + k][c->n_bounded];
      range_along(&c->body[i], k < 2 ? c->side[k] : c->down, lo, hi);
      is_bounded = is_bounded && isfinite(*lo) && isfinite(*hi);
    }
    for (int k = 0; k < n_solids; ++k) has_plane = has_plane || solid[k].kind == CONVEX_HALF_SPACE;
    if (has_plane) c->plane[c->n_planes++] = i;
    c->least_size = fmin(c->least_size, c->body[i].size);
    if (s->bodies[i].body->is_waiting) continue; /* nothing falls on it */
    if (is_bounded && !has_plane) c->bounded[c->n_bounded++] = i;
    else c->unbounded[c->n_unbounded++] = i;
  }
  PetscCall(box_tree_create(c->n_bounded, &c->tree));
  box_tree_fit(&c->tree, c->box);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void clear_subject(subject *c)
{
  for (int k = 0; k < 6; ++k) memory_free(&c->box[k]);
  box_tree_clear(&c->tree);
  MEMORY_FREE(&c->body, &c->bounded, &c->unbounded, &c->plane);
}

/* The job gives material on a grid its own support: walls of the grid. */
static bool has_grid_walls(const subject *c, int i)
{
  const scene_options *o = c->s->options;
  if (!particles_of(c->s->bodies[i].body)) return false;
  return o->mac || (o->mpm && o->mpm->walls.n > 0);
}

/* Whether supported body j supports body i. */
static bool supports(const subject *c, const bool *is_supported, int i, int j, double fall)
{
  return is_supported[j] && may_touch(c, i, j) && (c->body[j].is_free || !c->s->bodies[j].kind->ops->parts) && falls_on(c, i, j, fall);
}

static bool find_support(const subject *c, const bool *is_supported, int i)
{
  const double fall = fmax(fall_of(c, i), 2.0 * c->body[i].reach);
  box_walk     walk;
  int32_t      found[BOX_TREE_WIDTH];
  for (int k = 0; k < c->n_unbounded; ++k)
    if (supports(c, is_supported, i, c->unbounded[k], fall)) return true;
  walk_below(c, i, fall, &walk);
  for (int m = box_walk_next(&walk, found); m > 0; m = box_walk_next(&walk, found))
    for (int k = 0; k < m; ++k)
      if (supports(c, is_supported, i, c->bounded[found[k]], fall)) return true;
  return false;
}

typedef struct {
  double  low; /* along gravity */
  int32_t body;
} low_body;

static int compare_lows(const void *x, const void *y)
{
  const low_body *a = x, *b = y;
  if (a->low != b->low) return a->low > b->low ? -1 : 1;
  return (a->body > b->body) - (a->body < b->body);
}

/* Bodies without support fall through the whole scene. Support is transferred from body to body, the lowest first, until nothing changes. */
static PetscErrorCode check_support(const subject *c)
{
  const int n = c->s->n_bodies;
  bool     *is_supported;
  low_body *order;
  PetscFunctionBegin;
  if (c->g == 0.0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MEMORY_ALLOC("plausibility", ARRAY(is_supported, n), ARRAY(order, n)));
  for (int i = 0; i < n; ++i) {
    double high;
    range_along(&c->body[i], c->down, &high, &order[i].low);
    order[i].body = i;
  }
  if (n > 1) qsort(order, (size_t)n, sizeof *order, compare_lows);
  for (int i = 0; i < n; ++i)
    is_supported[i] = !c->body[i].is_free || c->body[i].is_held || c->body[i].n_points == 0 || has_grid_walls(c, i);
  for (bool is_changed = true; is_changed;) {
    is_changed = false;
    for (int k = 0; k < n; ++k) {
      const int i = order[k].body;
      if (is_supported[i]) continue;
      is_supported[i] = find_support(c, is_supported, i);
      is_changed |= is_supported[i];
    }
  }
  for (int i = 0; i < n; ++i)
    if (!is_supported[i] && fall_of(c, i) > 4.0 * c->body[i].reach)
      warning_list_add(
          c->s->warnings, "unsupported-body", limited(c, "unsupported-body", PATH(i)),
          "nothing is below it: it falls %.3g m during the run of %g s; add an obstacle, or ignore this warning if a free fall is intended",
          fall_of(c, i), c->end);
  MEMORY_FREE(&is_supported, &order);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- steps --------------------------------------------------------------------------------------------------------- */

/* speed * step > size / 2 of the smaller body of a pair. The formulations exact and convex search the whole displacement against obstacles. */
static void check_speed(const subject *c, int i)
{
  const body_survey *b     = &c->body[i];
  const double       speed = v3_norm(b->v) + b->tip_speed;
  double             least = b->size;
  int                other = -1;
  if (!b->is_free || b->n_points == 0) return;
  if (particles_of(c->s->bodies[i].body) && !c->s->options->mac && speed * c->dt > b->spacing) {
    warning_list_add(c->s->warnings, "fast-body", limited(c, "fast-body", PATH(i)),
                     "its particles move %.3g m in a step of %g s, more than their distance %.3g m; choose a step of at most %.2g s",
                     speed * c->dt, c->dt, b->spacing, 0.5 * b->spacing / speed);
    return;
  }
  if (!(speed * c->dt > 0.5 * c->least_size)) return; /* of any body */
  for (int j = 0; j < c->s->n_bodies; ++j) {
    if (!may_touch(c, i, j) || (!is_spring(c) && !c->body[j].is_free)) continue;
    if (other < 0) other = i;
    if (c->body[j].size < least) least = c->body[j].size, other = j;
    if (least <= c->least_size) break; /* no other body is smaller */
  }
  if (other < 0 || !(speed * c->dt > 0.5 * least)) return;
  warning_list_add(c->s->warnings, "fast-body", limited(c, "fast-body", PATH(i)),
                   "moves %.3g m in a step of %g s, more than half of the smallest extent %.3g m of %s, so contacts can be missed; choose "
                   "a step of at most "
                   "%.2g s",
                   speed * c->dt, c->dt, least, c->s->bodies[other].name, 0.25 * least / speed);
}

/* g step^2 > extent or spacing: a body at rest jumps by more than its size between two steps. */
static void check_gravity_step(const subject *c, int i)
{
  const body_survey *b        = &c->body[i];
  const bool         is_curve = c->s->bodies[i].body && c->s->bodies[i].body->ops->segments;
  const double       h        = is_curve ? 2.0 * b->reach : fmin(b->size, particles_of(c->s->bodies[i].body) ? b->spacing : INFINITY);
  if (!b->is_free || b->is_held || b->n_points == 0 || !(c->g * c->dt * c->dt > h)) return;
  warning_list_add(c->s->warnings, "step-gravity", limited(c, "step-gravity", PATH(i)),
                   "falls %.3g m in its first step of %g s, more than its extent or spacing %.3g m; choose a step of at most %.2g s",
                   c->g * c->dt * c->dt, c->dt, h, sqrt(0.01 * h / c->g));
}

/* step > SOUND_PERIODS * 2 L / c: the slowest oscillation of the body disappears within a step. */
static const double SOUND_PERIODS = 20.0;
static void         check_sound_step(const subject *c, int i)
{
  const body_survey *b = &c->body[i];
  const material    *m = c->s->bodies[i].material;
  if (!b->is_free || b->is_held || b->n_points == 0 || !m || !m->law || !m->law->wave_speed || m->law->is_liquid || m->law->is_granular)
    return;
  if (c->s->bodies[i].kind->material != BODY_MATERIAL_WITH_LAW || c->s->bodies[i].body->ops->segments) return;
  const double speed = m->law->wave_speed(m->constants, m->density), period = 4.0 * b->reach / speed;
  if (!isfinite(speed) || !(speed > 0.0) || !(c->dt > SOUND_PERIODS * period)) return;
  warning_list_add(c->s->warnings, "step-sound", limited(c, "step-sound", PATH(i)),
                   "sound crosses it in %.2g s, and the step is %g s: elastic oscillations are damped within one step, so impacts lose "
                   "their energy; if impacts matter, choose a step of at most %.2g s",
                   0.5 * period, c->dt, 0.5 * period);
}

/* --- contact stiffness -------------------------------------------------------------------------------------------- */

static const double SOFT     = 0.1; /* static penetration over size of the smaller body */
static const double STIFF    = 1e9; /* k step^2 / m */
static const double RESOLVED = 0.2; /* step over sqrt(m/k) with a coefficient of restitution, see contact.restitution */

enum { IS_SOFT = 1, IS_STIFF = 2, IS_UNRESOLVED = 4 };
/* Warnings about the stiffness of a pair as bits. */
static unsigned stiffness_warnings(const subject *c, int i, int j)
{
  const contact_law *law     = scene_law(c->s, i, j);
  const int          carried = contact_carried_body(c->body, i, j);
  const double       h = fmin(c->body[i].size, c->body[j].size), k = law->stiffness;
  unsigned           found = 0;
  if (carried < 0 || !(k > 0.0) || c->body[carried].n_points == 0) return 0;
  const body_survey *b = &c->body[carried];
  if (c->g > 0.0 && b->load / ((double)b->n_bottom * k) > SOFT * h) found |= IS_SOFT;
  if (is_spring(c) && k * c->dt * c->dt > STIFF * (b->mass / (double)b->n_bottom)) found |= IS_STIFF;
  if (is_spring(c) && law->restitution > 0.0 && c->dt > RESOLVED * sqrt(b->mass / ((double)b->n_bottom * k))) found |= IS_UNRESOLVED;
  return found;
}

static void check_stiffness(const subject *c, int i, int j)
{
  const contact_law *law     = scene_law(c->s, i, j);
  const int          carried = contact_carried_body(c->body, i, j);
  const double       h = fmin(c->body[i].size, c->body[j].size), k = law->stiffness;
  const unsigned     found = stiffness_warnings(c, i, j);
  if (!found) return;
  const body_survey *b = &c->body[carried];
  const double       m = b->mass / (double)b->n_bottom, depth = b->load / ((double)b->n_bottom * k),
               suggested = contact_stiffness_of(c->body, i, j);
  if (found & IS_SOFT)
    warning_list_add(c->s->warnings, "soft-contact", limited(c, "soft-contact", PAIR(i, j)),
                     "a load of %.3g N on %lld contact points of stiffness %.3g N/m gives a static penetration of %.2g m, %.0f %% of the "
                     "smaller extent %.3g m; "
                     "%.2g N/m limits it to 1 %%",
                     b->load, (long long)b->n_bottom, k, depth, fmin(999.0, 100.0 * depth / h), h,
                     isfinite(suggested) ? suggested : 100.0 * k * depth / h);
  if (found & IS_STIFF)
    warning_list_add(c->s->warnings, "stiff-contact", limited(c, "stiff-contact", PAIR(i, j)),
                     "the stiffness %.3g N/m times step^2 exceeds the mass per contact point %.2g kg by a factor of %.1g, which the linear "
                     "solver cannot resolve; "
                     "%.2g N/m limits the static penetration to 1 %%",
                     k, m, k * c->dt * c->dt / m, suggested);
  if (found & IS_UNRESOLVED)
    warning_list_add(c->s->warnings, "step-contact", limited(c, "step-contact", PAIR(i, j)),
                     "the step %g s does not resolve a collision of duration sqrt(m/k) = %.2g s, so the coefficient of restitution %g is "
                     "not attained; choose a "
                     "step of at most %.2g s",
                     c->dt, sqrt(b->mass / ((double)b->n_bottom * k)), law->restitution,
                     RESOLVED * sqrt(b->mass / ((double)b->n_bottom * k)));
}

/* --- resolution --------------------------------------------------------------------------------------------------- */

/* Distance of points over thickness of the other body. */
static const double COARSE = 2.0;
/* The points of i detect j only if they are not farther apart than j is thick; tested in both directions where j has points, too. */
static void check_contact_spacing(const subject *c, int i, int j)
{
  const body_survey *a = &c->body[i], *b = &c->body[j];
  if (c->s->bodies[i].body->ops->frame) return; /* pairs of rigid surfaces have their own detectors */
  if (!is_spring(c) || a->n_points == 0 || b->n_points == 0 || !isfinite(a->spacing) || !isfinite(b->size)) return;
  const bool a_detects   = a->is_free && c->s->bodies[i].body->ops->points != POINT_NONE,
             b_detects   = b->is_free && c->s->bodies[j].body->ops->points != POINT_NONE;
  const bool a_is_coarse = a->spacing > COARSE * b->size, b_is_coarse = b->spacing > COARSE * a->size;
  if (!a_is_coarse || !a_detects || (b_detects && !b_is_coarse)) return;
  warning_list_add(c->s->warnings, "coarse-contact", limited(c, "coarse-contact", PAIR(i, j)),
                   "the contact points of %s are %.3g m apart, but the smallest extent of %s is %.3g m, so it can pass between them; "
                   "choose a finer spacing of %s",
                   c->s->bodies[i].name, a->spacing, c->s->bodies[j].name, b->size, c->s->bodies[i].name);
}

/* --- number of contact points ------------------------------------------------------------------------------------- */

/* The only solid of body i; NULL: it has none, or several. */
static const convex_solid *single_solid(const subject *c, int i, bool *has_solids)
{
  const body         *b     = c->s->bodies[i].body;
  int                 n     = 0;
  const convex_solid *solid = b->ops->frame && b->ops->solids ? b->ops->solids(b, &n) : NULL;
  *has_solids               = n > 0;
  return n == 1 ? solid : NULL;
}

/* Points of body i within 2 % of its size of the lowest one along `down`. */
static PetscErrorCode count_lowest(const subject *c, int i, const double down[3], int64_t *count)
{
  int64_t n                                       = 0;
  double  lowest                                  = -INFINITY;
  double *x __attribute__((cleanup(memory_free))) = NULL;
  PetscFunctionBegin;
  *count = 0;
  PetscCall(body_survey_points(c->s->bodies[i].body, &n, &x));
  for (int64_t k = 0; k < n; ++k) lowest = fmax(lowest, v3_dot(x + 3 * k, down));
  for (int64_t k = 0; k < n; ++k) *count += v3_dot(x + 3 * k, down) >= lowest - 0.02 * c->body[i].size;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Contact points of body i at rest on body j: the points of its lowest layer along gravity, or along the normal of a half-space. Pairs of convex solids:
 * 1 of a sphere, 2 of a capsule, at most CONVEX_MAX_CLIPPED of others, or the number that the job gives. */
static PetscErrorCode predict_points(const subject *c, int i, int j, int64_t *count)
{
  bool                has_own, has_other;
  const convex_solid *own = single_solid(c, i, &has_own), *other = single_solid(c, j, &has_other);
  PetscFunctionBegin;
  *count = c->body[i].n_bottom;
  if (other && other->kind == CONVEX_HALF_SPACE && c->body[i].n_points > 0) {
    double normal[3], offset, down[3];
    half_space_in_world(c, j, other, normal, &offset);
    v3_scale(down, -1.0, normal);
    PetscCall(count_lowest(c, i, down, count));
  }
  if (!has_own || !has_other) PetscFunctionReturn(PETSC_SUCCESS);
  const int64_t given = own && other ? (own->area_points > other->area_points ? own->area_points : other->area_points) : 0;
  if (own && own->kind == CONVEX_SPHERE) *count = 1;
  else if (own && own->kind == CONVEX_CAPSULE) *count = *count > 2 ? 2 : *count;
  else if (given > 0 && *count >= 3) *count = given;
  else if (*count > CONVEX_MAX_CLIPPED) *count = CONVEX_MAX_CLIPPED;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Radius of the sphere, cylinder or capsule of the job; 0: none. */
static double radius_of_shape(const subject *c, int i)
{
  static const char *const round[] = {"sphere", "cylinder", "capsule"};
  const document_node     *form = document_find(document_find(document_find(c->s->options->root, "bodies"), c->s->bodies[i].name), "shape");
  for (size_t k = 0; k < sizeof round / sizeof *round; ++k) {
    const document_node *radius = document_find(document_find(form, round[k]), "radius");
    double               r      = 0.0;
    if (radius && radius->text && key_text_real(radius->text, &r) == KEY_TEXT_OK) return r;
  }
  return 0.0;
}

/* Overlap of a curved body of radius r and a deformable surface before a contact point of either touches the other. The deepest place of the curved
 * body is at most s/3^1/2 from the nearest point if triangles have edges s: depth s^2/(6 r). The bound is that of deep overlaps, because the
 * estimate is that of the worst position. */
static const double MISSED_DEPTH = 0.1;
static void         check_contact_points(const subject *c, int i, int j)
{
  const body              *soft    = c->s->bodies[i].body;
  body_surface             surface = {0};
  const scene_formulation *f       = c->s->options->formulation;
  /* triangles against triangles detect everything */
  if (soft->ops->frame || !c->s->bodies[j].body->ops->frame || !soft->ops->surface || f->checks_surfaces) return;
  const double r = radius_of_shape(c, j), s = fmin(c->body[i].spacing, c->body[j].spacing), h = fmin(c->body[i].spacing, c->body[j].size);
  if (!(r > 0.0)) return;
  soft->ops->surface(soft, &surface);
  const double missed = s * s / (6.0 * r);
  if (surface.n_triangles == 0 || !(missed > MISSED_DEPTH * h)) return;
  warning_list_add(
      c->s->warnings, "few-contact-points", limited(c, "few-contact-points", PAIR(j, i)),
      "the contact points are %.3g m apart, so %s, of radius %.3g m, and %s overlap by up to %.2g m before a point touches, %.1g of the "
      "smaller size or spacing; choose a spacing of %s, or a surface_spacing of %s, of at most %.2g m",
      s, c->s->bodies[j].name, r, c->s->bodies[i].name, missed, missed / h, c->s->bodies[i].name, c->s->bodies[j].name,
      sqrt(6.0 * r * MISSED_DEPTH * h));
}

static const double COARSEST_EDGE = 0.9; /* of the radius: the surface deviates by h^2/(8 R) = 10 % of R */
static void         check_curvature(const subject *c, int i)
{
  const body  *b = c->s->bodies[i].body;
  const double r = radius_of_shape(c, i), h = c->body[i].spacing;
  int          n = 0;
  if (!(r > 0.0) || particles_of(b) || !isfinite(h) || h <= COARSEST_EDGE * r) return;
  if (b->ops->solids && b->ops->solids(b, &n) && n > 0 && !is_spring(c)) return; /* exact geometry */
  warning_list_add(c->s->warnings, "coarse-curvature", limited(c, "coarse-curvature", PATH(i)),
                   "the edges of its surface have a mean length of %.3g m, more than %g of its radius %.3g m, so the surface deviates by "
                   "%.0f %% of the radius; "
                   "choose a spacing of at most %.2g m",
                   h, COARSEST_EDGE, r, fmin(999.0, 100.0 * h * h / (8.0 * r * r)), 0.4 * r);
}

/* --- materials ---------------------------------------------------------------------------------------------------- */

static bool is_used_by(const subject *c, const material *m, bool with_law)
{
  for (int i = 0; i < c->s->n_bodies; ++i) {
    const scene_body *b = &c->s->bodies[i];
    if (b->material == m && (!with_law || b->kind->material == BODY_MATERIAL_WITH_LAW || b->kind->material == BODY_MATERIAL_FLOWS))
      return true;
  }
  return false;
}

static void check_materials(const subject *c)
{
  char path[300];
  for (int k = 0; k < c->s->n_materials; ++k) {
    const material *m = c->s->materials[k];
    snprintf(path, sizeof path, "materials.%s", m->name);
    if (!is_used_by(c, m, false))
      warning_list_add(c->s->warnings, "unused-parameter", path, "no body has this material; remove it, or name it in a body");
    else if ((m->law || m->flow) && !is_used_by(c, m, true))
      warning_list_add(
          c->s->warnings, "unused-parameter", path,
          "only rigid bodies, cloth or obstacles have this material. They use at most its density, so its other parameters have "
          "no effect; use model: rigid, or a deformable kind of body");
  }
}

/* --- time --------------------------------------------------------------------------------------------------------- */

static void check_time(const subject *c)
{
  const time_options *t = c->s->options->time;
  if (t->frame > t->end * (1.0 + 1e-9))
    warning_list_add(c->s->warnings, "frame-interval", "time.frame",
                     "the interval %g s exceeds the duration %g s, so only the first and the last frame are written", t->frame, t->end);
  else if (t->frame > 0.0 && t->end / t->frame > 1e5)
    warning_list_add(c->s->warnings, "frame-interval", "time.frame", "%.3g frames are written; a longer interval saves disk space",
                     t->end / t->frame);
  if (t->end / t->step < 1.5)
    warning_list_add(c->s->warnings, "duration", "time", "the run has only %.0f step: time.end %g s, time.step %g s; correct one of them",
                     nearbyint(t->end / t->step), t->end, t->step);
  else if (t->end / t->step > 1e8)
    warning_list_add(c->s->warnings, "duration", "time", "the run has %.2g steps: time.end %g s, time.step %g s; correct one of them",
                     t->end / t->step, t->end, t->step);
}

/* --- pairs --------------------------------------------------------------------------------------------------------- */

/* Pairs that may deserve a warning. */
typedef struct {
  const subject *c;
  int64_t        n, capacity;
  uint64_t      *key; /* [n] body i << 32 | body j, i < j */
  PetscErrorCode code;
} pair_list;

/* Further pairs are not examined. */
enum { MAX_PAIRS_LISTED = 1000000 };

static bool list_pair(void *context, int32_t i, int32_t j)
{
  pair_list *l = context;
  l->code      = memory_reserve("plausibility", l->n + 1, sizeof *l->key, &l->capacity, &l->key);
  if (l->code || i == j) return !l->code;
  l->key[l->n++] = (uint64_t)(i < j ? i : j) << 32 | (uint64_t)(i < j ? j : i);
  return l->n < MAX_PAIRS_LISTED;
}

static bool list_stiffness(void *context, int32_t i, int32_t j)
{
  pair_list *l = context;
  return stiffness_warnings(l->c, i < j ? i : j, i < j ? j : i) ? list_pair(context, i, j) : true;
}

/* Bounds of a slot for its stiffness: whether the step can be too long for some pair. */
static bool may_be_stiff(const subject *c, int64_t slot)
{
  const contact_law *law = &c->s->laws[slot];
  const int32_t     *of[2];
  int32_t            n[2];
  double             lightest = INFINITY;
  if (!is_spring(c)) return false;
  pair_classes_members(c->s->pairs, slot, &n[0], &of[0], &n[1], &of[1]);
  for (int side = 0; side < 2; ++side)
    for (int32_t k = 0; k < n[side]; ++k) {
      const body_survey *b = &c->body[of[side][k]];
      if (b->is_free && b->mass > 0.0) lightest = fmin(lightest, b->mass / (double)b->n_bottom);
    }
  const double step2 = c->dt * c->dt * (1.0 + 1e-9);
  return law->stiffness * step2 > STIFF * lightest || (law->restitution > 0.0 && law->stiffness * step2 > RESOLVED * RESOLVED * lightest);
}

/* List the pairs i < j for which check_pair can warn. Only pairs with a deformable body, and pairs whose static stiffness or step is critical by bounds
 * of their classes, are examined. */
static PetscErrorCode list_pairs(const subject *c, pair_list *l)
{
  const pair_classes *p = c->s->pairs;
  bool               *is_listed;
  PetscFunctionBegin;
  PetscCall(memory_alloc("plausibility", p->n_slots, sizeof *is_listed, &is_listed));
  for (int64_t slot = 0; slot < p->n_slots && !l->code; ++slot) {
    const contact_law *law = &c->s->laws[slot];
    int32_t            of[2];
    if (!pair_example(p, p->n, slot, of) || of[0] == of[1] || law->never_touch) continue;
    is_listed[slot] = !c->s->bodies[of[0]].body->ops->frame || !c->s->bodies[of[1]].body->ops->frame;
    if (is_listed[slot] || !(law->stiffness > 0.0)) continue;
    const double limit = may_be_stiff(c, slot) ? 0.0 : SOFT / CONTACT_STATIC_SHARE * law->stiffness * (1.0 - 1e-9);
    l->code            = contact_stiffness_visit(c->body, p, slot, limit, list_stiffness, l);
  }
  if (!l->code) pair_classes_visit(p, is_listed, list_pair, l);
  memory_free(&is_listed);
  PetscCall(l->code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode check_pairs(const subject *c)
{
  pair_list l     = {.c = c};
  int32_t  *order = NULL;
  PetscFunctionBegin;
  PetscErrorCode code = list_pairs(c, &l);
  if (!code) code = memory_alloc("plausibility", l.n, sizeof *order, &order);
  if (!code) code = sort_keys(l.n, 64, l.key, order);
  for (int64_t k = 0; k < l.n && !code; ++k) {
    const int i = (int)(l.key[k] >> 32), j = (int)(l.key[k] & UINT32_MAX);
    if (k > 0 && l.key[k] == l.key[k - 1]) continue;
    check_stiffness(c, i, j);
    check_contact_spacing(c, i, j);
    check_contact_spacing(c, j, i);
    check_contact_points(c, i, j);
    check_contact_points(c, j, i);
  }
  MEMORY_FREE(&l.key, &order);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode check_all(subject *c)
{
  const int n = c->s->n_bodies;
  PetscFunctionBegin;
  check_time(c);
  check_materials(c);
  for (int i = 0; i < n; ++i) {
    if (c->s->bodies[i].kind == &mac_side_kind) continue;
    PetscCall(check_behind_planes(c, i));
    check_speed(c, i);
    check_gravity_step(c, i);
    check_sound_step(c, i);
    check_curvature(c, i);
  }
  PetscCall(check_support(c));
  PetscCall(check_pairs(c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode scene_check_plausibility(scene *s)
{
  subject c;
  PetscFunctionBegin;
  PetscErrorCode error = create_subject(s, &c);
  if (!error) error = check_all(&c);
  clear_subject(&c);
  PetscCall(error);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Pairs listed by name. */
enum { MAX_LISTED = 20 };

static PetscErrorCode describe_contacts(const subject *c, FILE *out)
{
  int64_t  n = 0, count, capacity = 0;
  int32_t *below __attribute__((cleanup(memory_free))) = NULL;
  PetscFunctionBegin;
  for (int i = 0; i < c->s->n_bodies; ++i) {
    const double fall    = fmax(fall_of(c, i), 2.0 * c->body[i].reach);
    int64_t      n_below = c->n_unbounded;
    box_walk     walk;
    int32_t      found[BOX_TREE_WIDTH];
    if (c->body[i].n_points == 0 || particles_of(c->s->bodies[i].body) || c->s->bodies[i].body->is_waiting) continue;
    PetscCall(memory_reserve("plausibility", n_below, sizeof *below, &capacity, &below));
    for (int k = 0; k < c->n_unbounded; ++k) below[k] = c->unbounded[k];
    walk_below(c, i, fall, &walk);
    for (int m = box_walk_next(&walk, found); m > 0; m = box_walk_next(&walk, found)) {
      PetscCall(memory_reserve("plausibility", n_below + m, sizeof *below, &capacity, &below));
      for (int k = 0; k < m; ++k) below[n_below++] = c->bounded[found[k]];
    }
    if (n_below > 1 && n < MAX_LISTED) qsort(below, (size_t)n_below, sizeof *below, sort_compare_int32);
    for (int64_t k = 0; k < n_below; ++k) {
      const int j = below[k];
      if (!may_touch(c, i, j) || contact_carried_body(c->body, i, j) != i || !falls_on(c, i, j, fall)) continue;
      if (n++ >= MAX_LISTED) continue;
      PetscCall(predict_points(c, i, j, &count));
      fprintf(out, "%s%s on %s %lld", n == 1 ? "  predicted contact points at rest: " : ", ", c->s->bodies[i].name, c->s->bodies[j].name,
              (long long)count);
    }
  }
  if (n > MAX_LISTED) fprintf(out, " and %lld further pairs", (long long)n - MAX_LISTED);
  if (n > 0) fprintf(out, "\n");
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode scene_describe_contacts(const scene *s, FILE *out)
{
  subject c;
  PetscFunctionBegin;
  PetscErrorCode error = create_subject((scene *)s, &c);
  if (!error) error = describe_contacts(&c, out);
  clear_subject(&c);
  PetscCall(error);
  PetscFunctionReturn(PETSC_SUCCESS);
}
