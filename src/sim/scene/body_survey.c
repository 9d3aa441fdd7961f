/* Summary of bodies, see body_survey.h. */
#include "sim/scene/body_survey.h"
#include "core/math3.h"
#include "core/memory.h"
#include "core/sort.h"
#include "discretize/particles/particles.h"
#include "discretize/rigid/rigid_body.h"
#include "geometry/primitive/box_tree.h"
#include <stdlib.h>
#include <string.h>

double body_survey_down(const double gravity[3], double down[3])
{
  const double g = v3_norm(gravity);
  if (g > 0.0) v3_scale(down, 1.0 / g, gravity);
  else down[0] = down[1] = 0.0, down[2] = -1.0;
  return g;
}

/* --- points ------------------------------------------------------------------------------------------------------- */

static PetscErrorCode rigid_points(const body *b, const rigid_body *r, int64_t *n, double **x)
{
  rigid_frame f;
  PetscFunctionBegin;
  if (!r->surface) PetscFunctionReturn(PETSC_SUCCESS);
  b->ops->frame(b, 0.0, 0.0, NULL, &f);
  *n = r->surface->n_vertices;
  PetscCall(memory_alloc("points of a body", *n, 3 * sizeof(double), x));
  for (int64_t i = 0; i < *n; ++i) rigid_frame_to_world(&f, r->surface->x + 3 * i, *x + 3 * i);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode body_survey_points(body *b, int64_t *n, double **x)
{
  const particles  *p       = b ? particles_of(b) : NULL;
  const rigid_body *r       = b && b->ops->frame ? rigid_body_of(b) : NULL;
  body_surface      surface = {0};
  PetscFunctionBegin;
  *n = 0;
  *x = NULL;
  if (!b || b->ops->parts) PetscFunctionReturn(PETSC_SUCCESS);
  if (r) PetscCall(rigid_points(b, r, n, x));
  if (p) {
    *n = p->n;
    PetscCall(memory_alloc("points of a body", *n, 3 * sizeof(double), x));
    for (int64_t k = 0; k < *n; ++k)
      for (int a = 0; a < 3; ++a) (*x)[3 * k + a] = p->x[a][k];
  }
  if (r || p) PetscFunctionReturn(PETSC_SUCCESS);
  if (b->ops->surface) b->ops->surface(b, &surface);
  if (surface.n_triangles > 0) { /* only nodes of triangles: inner nodes have no contact */
    uint8_t *is_used;
    PetscCall(MEMORY_ALLOC("points of a body", ARRAY(is_used, surface.n_nodes)));
    for (int64_t k = 0; k < 3 * surface.n_triangles; ++k) is_used[surface.triangles[k]] = 1;
    for (int64_t k = 0; k < surface.n_nodes; ++k) *n += is_used[k];
    const PetscErrorCode error = memory_alloc("points of a body", *n, 3 * sizeof(double), x);
    for (int64_t k = 0, at = 0; k < surface.n_nodes && !error; ++k)
      if (is_used[k]) v3_copy(*x + 3 * at++, surface.x + 3 * k);
    memory_free(&is_used);
    PetscCall(error);
  } else if (b->ops->nodes) {
    body_nodes nodes = {0};
    b->ops->nodes(b, &nodes);
    *n = nodes.n;
    PetscCall(memory_copy("points of a body", *n, 3 * sizeof(double), nodes.x, x));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- one body ----------------------------------------------------------------------------------------------------- */

static double mean_edge(int64_t n_triangles, const int32_t *t, const double *x)
{
  double sum = 0.0;
  for (int64_t k = 0; k < n_triangles; ++k)
    for (int e = 0; e < 3; ++e) {
      double d[3];
      v3_sub(d, x + 3 * (int64_t)t[3 * k + (e + 1) % 3], x + 3 * (int64_t)t[3 * k + e]);
      sum += v3_norm(d);
    }
  return n_triangles > 0 ? sum / (3.0 * (double)n_triangles) : INFINITY;
}

static double point_spacing(body *b)
{
  const particles  *p       = particles_of(b);
  const rigid_body *r       = b->ops->frame ? rigid_body_of(b) : NULL;
  body_surface      surface = {0};
  if (p) return p->n > 0 && p->volume ? cbrt(p->volume[0]) : body_system(b) ? body_system(b)->ops->length(body_system(b)) : INFINITY;
  if (r) return r->surface ? mean_edge(r->surface->n_triangles, r->surface->tri, r->surface->x) : INFINITY;
  if (b->ops->surface) b->ops->surface(b, &surface);
  if (surface.n_triangles > 0) return mean_edge(surface.n_triangles, surface.triangles, surface.x);
  return body_system(b) && body_system(b)->ops->length ? body_system(b)->ops->length(body_system(b)) : INFINITY;
}

/* Bounds of an obstacle without points: the union of its level sets. A level set with infinite bounds, such as a plane, makes them infinite. */
static void obstacle_bounds(const body *b, body_survey *out)
{
  int               n   = 0;
  level_set *const *phi = b->ops->level_sets ? b->ops->level_sets(b, &n) : NULL;
  rigid_frame       f;
  if (b->ops->frame) b->ops->frame(b, 0.0, 0.0, NULL, &f);
  for (int k = 0; k < n; ++k) {
    double lo[3], hi[3], corner[3], world[3];
    level_set_bounds(phi[k], lo, hi);
    for (int c = 0; c < 8; ++c) {
      for (int a = 0; a < 3; ++a) world[a] = corner[a] = c >> a & 1 ? hi[a] : lo[a];
      const bool is_finite = isfinite(corner[0]) && isfinite(corner[1]) && isfinite(corner[2]);
      if (is_finite && b->ops->frame) rigid_frame_to_world(&f, corner, world);
      for (int a = 0; a < 3; ++a) {
        out->min[a] = fmin(out->min[a], is_finite ? world[a] : -INFINITY);
        out->max[a] = fmax(out->max[a], is_finite ? world[a] : INFINITY);
      }
    }
  }
}

/* The extents without those that are flat: a sheet of cloth has no thickness. */
static double smallest_extent(const body_survey *b)
{
  double size = INFINITY, largest = 0.0;
  for (int a = 0; a < 3; ++a) largest = fmax(largest, b->max[a] - b->min[a]);
  for (int a = 0; a < 3; ++a)
    if (b->max[a] - b->min[a] > 1e-3 * largest) size = fmin(size, b->max[a] - b->min[a]);
  return size > 0.0 && isfinite(size) ? size : INFINITY;
}

/* Points of the lowest layer: within 2 % of the size for surfaces with exact faces, within half a spacing for particles. */
static int64_t count_bottom(const body_survey *b, bool has_particles, const double *x, const double down[3])
{
  double  lowest = -INFINITY;
  int64_t n      = 0;
  for (int64_t i = 0; i < b->n_points; ++i) lowest = fmax(lowest, v3_dot(x + 3 * i, down));
  const double layer = has_particles ? 0.5 * b->spacing : 0.02 * b->size;
  for (int64_t i = 0; i < b->n_points && isfinite(layer); ++i) n += v3_dot(x + 3 * i, down) >= lowest - layer;
  return n > 0 ? n : 1;
}

/* True if the entry of the job, or an entry below it, has one of the keys by which something outside of contact supports the body. */
static bool has_support_key(const document_node *node)
{
  static const char *const keys[] = {"hold",   "anchors", "support", "force", "pressure", "drive",
                                     "joints", "pour",    "source",  "start", "end"};
  for (int i = 0; node && i < node->n; ++i) {
    for (size_t k = 0; node->kind == DOCUMENT_MAPPING && k < sizeof keys / sizeof *keys; ++k)
      if (strcmp(node->key[i], keys[k]) == 0) return true;
    if (has_support_key(node->value[i])) return true;
  }
  return false;
}

static PetscErrorCode survey_motion(const survey_input *in, body *b, body_survey *out)
{
  body_totals sum = {0};
  PetscFunctionBegin;
  out->is_free = body_system(b) != NULL;
  if (out->is_free && b->ops->totals) {
    PetscCall(b->ops->totals(b, in->gravity, &sum));
    out->mass = sum.mass;
    if (sum.mass > 0.0) v3_scale(out->v, 1.0 / sum.mass, sum.momentum);
  } else if (b->ops->frame) {
    rigid_frame f;
    b->ops->frame(b, 0.0, in->step, NULL, &f);
    v3_copy(out->v, f.v);
  }
  const rigid_body *r = b->ops->frame ? rigid_body_of(b) : NULL;
  if (r && out->is_free && r->w) out->tip_speed = v3_norm(r->w) * r->radius;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode survey_body(const survey_input *in, int i, const double down[3], body_survey *out)
{
  body   *b                                       = in->body[i];
  double *x __attribute__((cleanup(memory_free))) = NULL;
  PetscFunctionBegin;
  *out = (body_survey){.n_bottom = 1, .size = INFINITY, .spacing = INFINITY, .is_rigid = b && b->ops->frame};
  for (int a = 0; a < 3; ++a) out->min[a] = INFINITY, out->max[a] = -INFINITY;
  if (!b || b->ops->parts || b->ops->is_shapeless) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(survey_motion(in, b, out));
  PetscCall(body_survey_points(b, &out->n_points, &x));
  if (!out->is_free && b->ops->level_sets) obstacle_bounds(b, out);
  for (int64_t k = 0; k < out->n_points && !(out->max[0] == INFINITY); ++k)
    for (int a = 0; a < 3; ++a) out->min[a] = fmin(out->min[a], x[3 * k + a]), out->max[a] = fmax(out->max[a], x[3 * k + a]);
  body_segments segments = {0};
  if (b->ops->segments) b->ops->segments(b, &segments);
  out->size = smallest_extent(out);
  if (segments.n_segments > 0) out->size = 2.0 * segments.radius[0];
  double diagonal[3];
  v3_sub(diagonal, out->max, out->min);
  out->reach    = 0.5 * v3_norm(diagonal);
  out->spacing  = point_spacing(b);
  out->n_bottom = count_bottom(out, particles_of(b) != NULL, x, down);
  out->is_held  = in->is_part[i] || has_support_key(in->entry[i]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- loads -------------------------------------------------------------------------------------------------------- */

/* Range of the body's bounds along direction d: *lo <= d . x <= *hi for all corners. */
static void range_along(const body_survey *b, const double d[3], double *lo, double *hi)
{
  *lo = *hi = 0.0;
  for (int a = 0; a < 3; ++a) {
    if (d[a] == 0.0) continue;
    *lo += fmin(d[a] * b->min[a], d[a] * b->max[a]);
    *hi += fmax(d[a] * b->min[a], d[a] * b->max[a]);
  }
}

static double middle_of(double lo, double hi) { return 0.5 * (lo + hi); }

/* Add the weights of the bodies above mover i: found [n_found] are movers whose boxes overlap its column. */
static void add_load(const body_survey *b, const int32_t *mover, double *const box[6], int i, int n_found, const int32_t *found, double g,
                     double *load)
{
  const double middle = middle_of(box[2][i], box[5][i]);
  for (int k = 0; k < n_found; ++k) {
    const int j = found[k];
    if (j != i && fmin(box[3][j], box[3][i]) > fmax(box[0][j], box[0][i]) && fmin(box[4][j], box[4][i]) > fmax(box[1][j], box[1][i]) &&
        middle_of(box[2][j], box[5][j]) < middle)
      *load += b[mover[j]].mass * g;
  }
}

/* Load of a body: its weight, and the weights of the bodies above whose projections along gravity overlap with that of the body, in the order of the
 * bodies. A tree of the bounds along two horizontal directions and gravity yields the column of each body. */
static PetscErrorCode add_loads(int n, body_survey *b, const double down[3], double g)
{
  double   e[2][3], *box[6] = {NULL}, top = INFINITY;
  int32_t *mover, *found = NULL;
  int64_t  capacity = 0;
  int      m        = 0;
  box_tree tree     = {0};
  PetscFunctionBegin;
  v3_cross(e[0], down, fabs(down[0]) < 0.9 ? (const double[3]){1, 0, 0} : (const double[3]){0, 1, 0});
  v3_scale(e[0], 1.0 / v3_norm(e[0]), e[0]);
  v3_cross(e[1], down, e[0]);
  const double *const axis[3] = {e[0], e[1], down};
  PetscCall(memory_alloc("survey", n, sizeof *mover, &mover));
  for (int i = 0; i < n; ++i) {
    b[i].load = b[i].mass * g;
    if (b[i].is_free && b[i].n_points > 0) mover[m++] = i;
  }
  PetscErrorCode code = box_tree_create(m, &tree);
  for (int k = 0; k < 6 && !code; ++k) code = memory_alloc("survey", m, sizeof *box[k], &box[k]);
  for (int i = 0; i < m && !code; ++i)
    for (int k = 0; k < 3; ++k) range_along(&b[mover[i]], axis[k], &box[k][i], &box[3 + k][i]);
  for (int i = 0; i < m && !code; ++i) top = fmin(top, box[2][i]);
  if (!code) box_tree_fit(&tree, box);
  for (int i = 0; i < m && !code; ++i) {
    box_walk walk;
    int32_t  some[BOX_TREE_WIDTH];
    int64_t  n_found = 0;
    box_walk_begin(&walk, &tree, (const double[3]){box[0][i], box[1][i], top},
                   (const double[3]){box[3][i], box[4][i], middle_of(box[2][i], box[5][i])});
    for (int k = box_walk_next(&walk, some); k > 0 && !code; k = box_walk_next(&walk, some)) {
      code = memory_reserve("survey", n_found + k, sizeof *found, &capacity, &found);
      for (int j = 0; j < k && !code; ++j) found[n_found++] = some[j];
    }
    if (n_found > 1) qsort(found, (size_t)n_found, sizeof *found, sort_compare_int32);
    if (!code) add_load(b, mover, box, i, (int)n_found, found, g, &b[mover[i]].load);
  }
  for (int k = 0; k < 6; ++k) memory_free(&box[k]);
  MEMORY_FREE(&mover, &found);
  box_tree_clear(&tree);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode body_survey_create(const survey_input *in, body_survey **survey)
{
  double down[3];
  PetscFunctionBegin;
  const double g = body_survey_down(in->gravity, down);
  PetscCall(memory_alloc("survey", in->n, sizeof **survey, survey));
  for (int i = 0; i < in->n; ++i) {
    const PetscErrorCode error = survey_body(in, i, down, &(*survey)[i]);
    if (error) memory_free(survey);
    PetscCall(error);
  }
  const PetscErrorCode error = add_loads(in->n, *survey, down, g > 0.0 ? g : in->acceleration_scale);
  if (error) memory_free(survey);
  PetscCall(error);
  PetscFunctionReturn(PETSC_SUCCESS);
}
