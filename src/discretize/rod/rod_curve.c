#include "discretize/rod/rod_curve.h"
#include "core/math3.h"
#include "core/memory.h"
#include "geometry/import/mesh_import.h"

enum { MAX_SEGMENTS = 10000000 };

/* What is being drawn, and where complaints go. */
typedef struct {
  const rod_body_spec *spec;
  const document_node *node;
  const char          *path;
  diagnostics         *d;
} drawing;

void rod_curve_destroy(rod_curve *c)
{
  memory_free(&c->start);
  memory_free(&c->x);
  memory_free(&c->tangent);
  memory_free(&c->director);
  *c = (rod_curve){0};
}

static PetscErrorCode allocate(int64_t n_curves, int64_t n_points, rod_curve *c)
{
  PetscFunctionBegin;
  c->n_curves = n_curves;
  PetscCall(memory_alloc("rod curves", n_curves + 1, sizeof *c->start, &c->start));
  PetscCall(memory_alloc("rod curves", 3 * n_points, sizeof *c->x, &c->x));
  PetscCall(memory_alloc("rod curves", 6 * n_curves, sizeof *c->tangent, &c->tangent));
  PetscCall(memory_alloc("rod curves", 3 * n_curves, sizeof *c->director, &c->director));
  if (n_curves == 1) c->start[1] = n_points;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static bool make_unit(double v[3])
{
  const double norm = v3_norm(v);
  if (!(norm > 0.0 && isfinite(norm))) return false;
  v3_scale(v, 1.0 / norm, v);
  return true;
}

/* v less what of it lies along the unit vector t, made a unit vector; false if nothing is left. */
static bool make_normal(const double t[3], double v[3])
{
  const double before = v3_norm(v);
  v3_axpy(v, -v3_dot(t, v), t);
  return v3_norm(v) > 1e-9 * before && make_unit(v);
}

/* What the job says, else `inside` if there is one, else upwards, else along x. */
static bool first_director(const drawing *w, const double tangent[3], const double *inside, double director[3])
{
  const double up[3] = {0.0, 0.0, 1.0}, x[3] = {1.0, 0.0, 0.0};
  const bool   is_given = isfinite(w->spec->director[0]);
  v3_copy(director, is_given ? w->spec->director : inside ? inside : up);
  if (make_normal(tangent, director)) return true;
  if (is_given) {
    diagnostics_add_under(w->d, w->node, w->path, "director", "has no part that is normal to the start of the curve: give a direction across it");
    return false;
  }
  v3_copy(director, x);
  return make_normal(tangent, director);
}

/* How many segments a curve of this length gets; 0 after a complaint. */
static int64_t count_segments(const drawing *w, double length)
{
  const rod_body_spec *s = w->spec;
  if (s->segments == KEY_INT_ABSENT && isnan(s->segment_length)) {
    diagnostics_add_under(w->d, w->node, w->path, NULL, "expected one of `segments` and `segment_length`: how finely the curve is cut");
    return 0;
  }
  if (s->segments != KEY_INT_ABSENT) return s->segments;
  const double n = ceil(length / s->segment_length * (1.0 - 1e-12));
  if (n > MAX_SEGMENTS) {
    diagnostics_add_under(w->d, w->node, w->path, "segment_length", "a curve of %g m would have %g segments: expected at most %d", length, n, MAX_SEGMENTS);
    return 0;
  }
  return n < 2.0 ? 2 : (int64_t)n;
}

/* ---- the kinds of curves --------------------------------------------------------------------------------------------------- */

/* An arc is a helix that does not climb: about the axis from + radius * towards, by `angle` in all, climbing by `climb` in all. */
static PetscErrorCode wind(const drawing *w, const double from[3], const double axis[3], const double towards[3], double radius, double angle, double climb,
                           bool is_left, rod_curve *c)
{
  const double  length = hypot(radius * angle, climb), sign = is_left ? -1.0 : 1.0;
  const int64_t n      = count_segments(w, length);
  double        side[3];
  PetscFunctionBegin;
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(allocate(1, w->spec->closed ? n : n + 1, c));
  v3_cross(side, towards, axis); /* where a right-handed one sets out to */
  v3_scale(side, sign, side);
  for (int64_t i = 0; i < c->start[1]; ++i) {
    const double phi = angle * (double)i / (double)n;
    v3_copy(c->x + 3 * i, from);
    v3_axpy(c->x + 3 * i, 2.0 * radius * sin(0.5 * phi) * sin(0.5 * phi), towards);
    v3_axpy(c->x + 3 * i, radius * sin(phi), side);
    v3_axpy(c->x + 3 * i, climb * (double)i / (double)n, axis);
  }
  for (int k = 0; k < 2; ++k) {
    double      *t   = c->tangent + 3 * k;
    const double phi = k * angle;
    v3_scale(t, radius * angle * cos(phi), side);
    v3_axpy(t, radius * angle * sin(phi), towards);
    v3_axpy(t, climb, axis);
    (void)make_unit(t);
  }
  if (!first_director(w, c->tangent, towards, c->director)) rod_curve_destroy(c);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode draw_arc(const drawing *w, const rod_arc_spec *a, rod_curve *c)
{
  double tangent[3], towards[3], axis[3];
  PetscFunctionBegin;
  v3_copy(tangent, a->tangent);
  v3_copy(towards, a->towards);
  if (!make_unit(tangent) || !make_normal(tangent, towards)) {
    diagnostics_add_under(w->d, w->node, w->path, "curve.arc.towards", "tangent and towards must be two directions that are not parallel, neither of them zero");
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (w->spec->closed && fabs(a->angle_deg - 360.0) > 1e-9) {
    diagnostics_add_under(w->d, w->node, w->path, "closed", "an arc that is closed turns by 360 degrees, not by %g", a->angle_deg);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  v3_cross(axis, tangent, towards);
  PetscCall(wind(w, a->from, axis, towards, a->radius, a->angle_deg * M_PI / 180.0, 0.0, false, c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode draw_helix(const drawing *w, const rod_helix_spec *h, rod_curve *c)
{
  double axis[3], towards[3];
  PetscFunctionBegin;
  v3_copy(axis, h->axis);
  v3_copy(towards, h->towards);
  if (!make_unit(axis) || !make_normal(axis, towards))
    diagnostics_add_under(w->d, w->node, w->path, "curve.helix.towards", "axis and towards must be two directions that are not parallel, neither of them zero");
  else if (w->spec->closed)
    diagnostics_add_under(w->d, w->node, w->path, "closed", "a helix does not end where it begins; leave it out");
  else
    PetscCall(wind(w, h->from, axis, towards, h->radius, 2.0 * M_PI * h->turns, fabs(h->pitch) * h->turns, h->pitch < 0.0, c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Directions of the ends of a polyline are those of its first and last piece; of a closed one both are of the first. */
static bool set_ends(const drawing *w, int64_t i, rod_curve *c)
{
  const int64_t first = c->start[i], last = c->start[i + 1] - 1;
  double       *t = c->tangent + 6 * i;
  v3_sub(t, c->x + 3 * (first + 1), c->x + 3 * first);
  v3_sub(t + 3, c->x + 3 * last, c->x + 3 * (last - 1));
  if (!make_unit(t) || !make_unit(t + 3)) {
    diagnostics_add_under(w->d, w->node, w->path, "curve", "begins or ends with two points in one place: a curve needs a direction there");
    return false;
  }
  return first_director(w, t, NULL, c->director + 3 * i);
}

/* Points at equal distances along the polyline from [m][3], as many as x [n + 1][3] or, closed, [n][3] holds. */
static void resample(int64_t m, const double *from, bool is_closed, int64_t n, double *x)
{
  const int64_t pieces = is_closed ? m : m - 1;
  double        length = 0.0, passed = 0.0, d[3];
  for (int64_t i = 0; i < pieces; ++i) {
    v3_sub(d, from + 3 * ((i + 1) % m), from + 3 * i);
    length += v3_norm(d);
  }
  int64_t piece = 0;
  v3_sub(d, from + 3 * (1 % m), from);
  for (int64_t i = 0; i < (is_closed ? n : n + 1); ++i) {
    const double s = length * (double)i / (double)n;
    while (piece + 1 < pieces && s - passed >= v3_norm(d)) {
      passed += v3_norm(d);
      ++piece;
      v3_sub(d, from + 3 * ((piece + 1) % m), from + 3 * piece);
    }
    const double share = v3_norm(d) > 0.0 ? fmin((s - passed) / v3_norm(d), 1.0) : 0.0;
    v3_copy(x + 3 * i, from + 3 * piece);
    v3_axpy(x + 3 * i, share, d);
  }
}

/* m points given; cut anew if the job says how finely. */
static PetscErrorCode draw_polyline(const drawing *w, int64_t m, const double *from, rod_curve *c)
{
  double length = 0.0, d[3];
  PetscFunctionBegin;
  const bool as_given = w->spec->segments == KEY_INT_ABSENT && isnan(w->spec->segment_length);
  for (int64_t i = 0; i + 1 < m; ++i) {
    v3_sub(d, from + 3 * (i + 1), from + 3 * i);
    length += v3_norm(d);
  }
  if (w->spec->closed) {
    v3_sub(d, from, from + 3 * (m - 1));
    length += v3_norm(d);
  }
  const int64_t n = as_given ? (w->spec->closed ? m : m - 1) : count_segments(w, length);
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (n < 2) {
    diagnostics_add_under(w->d, w->node, w->path, NULL, "a strand needs at least 2 segments: give more points, or `segments`");
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(allocate(1, w->spec->closed ? n : n + 1, c));
  if (as_given) memcpy(c->x, from, (size_t)(3 * m) * sizeof *from);
  else resample(m, from, w->spec->closed, n, c->x);
  if (!set_ends(w, 0, c)) rod_curve_destroy(c);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode draw_points(const drawing *w, const key_list *points, rod_curve *c)
{
  double *x;
  PetscFunctionBegin;
  PetscCall(memory_alloc("rod points", 3 * points->n, sizeof *x, &x));
  for (int i = 0; i < points->n; ++i) v3_copy(x + 3 * (int64_t)i, ((const rod_point_spec *)points->item[i].value)->at);
  const PetscErrorCode code = draw_polyline(w, points->n, x, c);
  memory_free(&x);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode draw_file(const drawing *w, const rod_file_spec *spec, rod_curve *c)
{
  mesh_lines lines = {0};
  PetscFunctionBegin;
  if (w->spec->segments != KEY_INT_ABSENT || !isnan(w->spec->segment_length) || w->spec->closed) {
    diagnostics_add_under(w->d, w->node, w->path, w->spec->closed ? "closed" : w->spec->segments != KEY_INT_ABSENT ? "segments" : "segment_length",
                          "strands from a file are taken as they are, open; leave it out");
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (!spec->path) PetscFunctionReturn(PETSC_SUCCESS); /* the key table has complained */
  const PetscErrorCode code = mesh_import_lines(spec->path, &lines);
  if (diagnostics_take(w->d, w->node, w->path, "curve.file.path", code)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(code);
  PetscCall(allocate(lines.n_lines, lines.start[lines.n_lines], c));
  memcpy(c->start, lines.start, (size_t)(lines.n_lines + 1) * sizeof *c->start);
  for (int64_t i = 0; i < 3 * c->start[c->n_curves]; ++i) c->x[i] = spec->scale * lines.x[i];
  mesh_lines_free(&lines);
  bool is_sound = true;
  for (int64_t i = 0; i < c->n_curves && is_sound; ++i) {
    is_sound = c->start[i + 1] - c->start[i] >= 3;
    if (!is_sound) diagnostics_add_under(w->d, w->node, w->path, "curve.file.path", "line %lld of the file has %lld vertices: a strand needs at least 3",
                                         (long long)i + 1, (long long)(c->start[i + 1] - c->start[i]));
    is_sound = is_sound && set_ends(w, i, c);
  }
  if (!is_sound) rod_curve_destroy(c);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode rod_curve_create(const rod_body_spec *spec, const document_node *node, const char *path, diagnostics *d, rod_curve *out)
{
  const rod_curve_spec *c = spec->curve;
  const drawing         w = {spec, node, path, d};
  PetscFunctionBegin;
  *out = (rod_curve){0};
  if (spec->segments != KEY_INT_ABSENT && !isnan(spec->segment_length)) {
    diagnostics_add_under(d, node, path, "segment_length", "give segments or segment_length, not both");
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (spec->closed && spec->segments != KEY_INT_ABSENT && spec->segments < 3) {
    diagnostics_add_under(d, node, path, "segments", "a loop needs at least 3 segments");
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (c->line) {
    double ends[6];
    v3_copy(ends, c->line->from);
    v3_copy(ends + 3, c->line->to);
    if (spec->closed) diagnostics_add_under(d, node, path, "closed", "a straight line does not end where it begins; leave it out");
    else if (count_segments(&w, 1.0) > 0) PetscCall(draw_polyline(&w, 2, ends, out));
  } else if (c->arc) PetscCall(draw_arc(&w, c->arc, out));
  else if (c->helix) PetscCall(draw_helix(&w, c->helix, out));
  else if (c->file) PetscCall(draw_file(&w, c->file, out));
  else if (c->points.n >= 2) PetscCall(draw_points(&w, &c->points, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}
