/* Implementation: first centrelines (points along the curve of the job), then copies of them, then the strands. */
#include "discretize/rod/rod_strands.h"
#include "core/math3.h"
#include "core/memory.h"
#include "core/random.h"
#include "geometry/import/mesh_import.h"

/* Curves as sequences of points, one after another. The struct owns its arrays. */
typedef struct {
  int64_t  n_curves;
  int64_t *start;    /* [n_curves + 1] first point of each curve */
  double  *x;        /* [points][3] m */
  double  *tangent;  /* [n_curves][2][3] unit tangents at both ends */
  double  *director; /* [n_curves][3] unit director at the start, normal to the tangent */
} rod_curve;

enum { MAX_SEGMENTS = 10000000 };

/* The body's job entry, and the list for error messages. */
typedef struct {
  const rod_body_spec *spec;
  const document_node *node;
  const char          *path;
  diagnostics         *d;
} curve_request;

static void rod_curve_destroy(rod_curve *c)
{
  MEMORY_FREE(&c->start, &c->x, &c->tangent, &c->director);
  *c = (rod_curve){0};
}

static PetscErrorCode allocate_curve(int64_t n_curves, int64_t n_points, rod_curve *c)
{
  PetscFunctionBegin;
  c->n_curves = n_curves;
  PetscCall(MEMORY_ALLOC("rod curves", ARRAY(c->start, n_curves + 1), ARRAY(c->x, 3 * n_points), ARRAY(c->tangent, 6 * n_curves),
                         ARRAY(c->director, 3 * n_curves)));
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

/* Remove the component of v along the unit vector t and normalise the rest; false if v is parallel to t. */
static bool make_normal(const double t[3], double v[3])
{
  const double before = v3_norm(v);
  v3_axpy(v, -v3_dot(t, v), t);
  return v3_norm(v) > 1e-9 * before && make_unit(v);
}

/* Director at the start: the job's; else `inside` if not NULL, else upwards; if that is parallel to the tangent, along x. */
static bool first_director(const curve_request *w, const double tangent[3], const double *inside, double director[3])
{
  const double up[3] = {0.0, 0.0, 1.0}, x[3] = {1.0, 0.0, 0.0};
  const bool   is_given = isfinite(w->spec->director[0]);
  v3_copy(director, is_given ? w->spec->director : inside ? inside : up);
  if (make_normal(tangent, director)) return true;
  if (is_given) {
    diagnostics_add_under(w->d, w->node, w->path, "director",
                          "is parallel to the start of the curve: give a direction that is not parallel");
    return false;
  }
  v3_copy(director, x);
  return make_normal(tangent, director);
}

/* Number of segments of a curve with this length; 0 after an error message. */
static int64_t count_segments(const curve_request *w, double length)
{
  const rod_body_spec *s = w->spec;
  if (s->segments == KEY_INT_ABSENT && isnan(s->segment_length)) {
    diagnostics_add_under(w->d, w->node, w->path, NULL,
                          "expected one of `segments` and `segment_length`, which set the resolution of the curve");
    return 0;
  }
  if (s->segments != KEY_INT_ABSENT) return s->segments;
  const double n = ceil(length / s->segment_length * (1.0 - 1e-12));
  if (n > MAX_SEGMENTS) {
    diagnostics_add_under(w->d, w->node, w->path, "segment_length",
                          "a curve of %g m would have %g segments: expected at most %d; increase it", length, n, MAX_SEGMENTS);
    return 0;
  }
  return n < 2.0 ? 2 : (int64_t)n;
}

/* ---- shapes of curves ---------------------------------------------------------------------------------------------------- */

/* Points of a helix about the axis through from + radius * towards, with total angle `angle` and total rise `climb`. An arc is a
 * helix without rise. */
static PetscErrorCode create_helix(const curve_request *w, const double from[3], const double axis[3], const double towards[3],
                                   double radius, double angle, double climb, bool is_left, rod_curve *c)
{
  const double  length = hypot(radius * angle, climb), sign = is_left ? -1.0 : 1.0;
  const int64_t n = count_segments(w, length);
  double        side[3];
  PetscFunctionBegin;
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(allocate_curve(1, w->spec->closed ? n : n + 1, c));
  v3_cross(side, towards, axis); /* initial direction of a right-handed helix */
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

static PetscErrorCode draw_arc(const curve_request *w, const rod_arc_spec *a, rod_curve *c)
{
  double tangent[3], towards[3], axis[3];
  PetscFunctionBegin;
  v3_copy(tangent, a->tangent);
  v3_copy(towards, a->towards);
  if (!make_unit(tangent) || !make_normal(tangent, towards)) {
    diagnostics_add_under(w->d, w->node, w->path, "curve.arc.towards",
                          "tangent and towards must be two directions that are not parallel, neither of them zero");
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (w->spec->closed && fabs(a->angle_deg - 360.0) > 1e-9) {
    diagnostics_add_under(w->d, w->node, w->path, "closed", "requires curve.arc.angle_deg: 360, got %g", a->angle_deg);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  v3_cross(axis, tangent, towards);
  PetscCall(create_helix(w, a->from, axis, towards, a->radius, a->angle_deg * M_PI / 180.0, 0.0, false, c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode draw_helix(const curve_request *w, const rod_helix_spec *h, rod_curve *c)
{
  double axis[3], towards[3];
  PetscFunctionBegin;
  v3_copy(axis, h->axis);
  v3_copy(towards, h->towards);
  if (!make_unit(axis) || !make_normal(axis, towards))
    diagnostics_add_under(w->d, w->node, w->path, "curve.helix.towards",
                          "axis and towards must be two directions that are not parallel, neither of them zero");
  else if (w->spec->closed)
    diagnostics_add_under(w->d, w->node, w->path, "closed", "has no effect on a helix, whose ends are apart; remove it");
  else PetscCall(create_helix(w, h->from, axis, towards, h->radius, 2.0 * M_PI * h->turns, fabs(h->pitch) * h->turns, h->pitch < 0.0, c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The end directions of a polyline are those of its first and last piece. */
static bool set_ends(const curve_request *w, int64_t i, rod_curve *c)
{
  const int64_t first = c->start[i], last = c->start[i + 1] - 1;
  double       *t = c->tangent + 6 * i;
  v3_sub(t, c->x + 3 * (first + 1), c->x + 3 * first);
  v3_sub(t + 3, c->x + 3 * last, c->x + 3 * (last - 1));
  if (!make_unit(t) || !make_unit(t + 3)) {
    diagnostics_add_under(w->d, w->node, w->path, "curve", "begins or ends with two equal points: a curve needs a direction at its ends");
    return false;
  }
  return first_director(w, t, NULL, c->director + 3 * i);
}

/* Points x at equal distances along the polyline `from` [m][3]: n + 1 points, or n if it is closed. */
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

/* Polyline through m given points; resampled if the job gives the number or length of segments. */
static PetscErrorCode draw_polyline(const curve_request *w, int64_t m, const double *from, rod_curve *c)
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
  PetscCall(allocate_curve(1, w->spec->closed ? n : n + 1, c));
  if (as_given) memcpy(c->x, from, (size_t)(3 * m) * sizeof *from);
  else resample(m, from, w->spec->closed, n, c->x);
  if (!set_ends(w, 0, c)) rod_curve_destroy(c);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode draw_points(const curve_request *w, const key_list *points, rod_curve *c)
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

static PetscErrorCode draw_file(const curve_request *w, const rod_file_spec *spec, rod_curve *c)
{
  mesh_lines lines = {0};
  PetscFunctionBegin;
  if (w->spec->segments != KEY_INT_ABSENT || !isnan(w->spec->segment_length) || w->spec->closed) {
    diagnostics_add_under(w->d, w->node, w->path,
                          w->spec->closed                       ? "closed"
                          : w->spec->segments != KEY_INT_ABSENT ? "segments"
                                                                : "segment_length",
                          "has no effect on strands from a file, which are open and keep their nodes; remove it");
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (!spec->path) PetscFunctionReturn(PETSC_SUCCESS); /* already reported by the key table */
  const PetscErrorCode code = mesh_import_lines(spec->path, &lines);
  if (diagnostics_take(w->d, w->node, w->path, "curve.file.path", code)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(code);
  PetscCall(allocate_curve(lines.n_lines, lines.start[lines.n_lines], c));
  memcpy(c->start, lines.start, (size_t)(lines.n_lines + 1) * sizeof *c->start);
  for (int64_t i = 0; i < 3 * c->start[c->n_curves]; ++i) c->x[i] = spec->scale * lines.x[i];
  mesh_lines_free(&lines);
  bool is_sound = true;
  for (int64_t i = 0; i < c->n_curves && is_sound; ++i) {
    is_sound = c->start[i + 1] - c->start[i] >= 3;
    if (!is_sound)
      diagnostics_add_under(w->d, w->node, w->path, "curve.file.path", "line %lld of the file has %lld vertices: a strand needs at least 3",
                            (long long)i + 1, (long long)(c->start[i + 1] - c->start[i]));
    is_sound = is_sound && set_ends(w, i, c);
  }
  if (!is_sound) rod_curve_destroy(c);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Create the curve of the job. User errors are reported to `d`; then *out is empty. The first point of a closed curve is not repeated. */
static PetscErrorCode rod_curve_create(const rod_body_spec *spec, const document_node *node, const char *path, diagnostics *d,
                                       rod_curve *out)
{
  const rod_curve_spec *c = spec->curve;
  const curve_request   w = {spec, node, path, d};
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
    if (spec->closed)
      diagnostics_add_under(d, node, path, "closed", "has no effect on a straight line, which does not end where it begins; remove it");
    else if (count_segments(&w, 1.0) > 0) PetscCall(draw_polyline(&w, 2, ends, out));
  } else if (c->arc) PetscCall(draw_arc(&w, c->arc, out));
  else if (c->helix) PetscCall(draw_helix(&w, c->helix, out));
  else if (c->file) PetscCall(draw_file(&w, c->file, out));
  else if (c->points.n >= 2) PetscCall(draw_points(&w, &c->points, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void rod_strands_destroy(rod_strands *s)
{
  MEMORY_FREE(&s->node_start, &s->segment_start, &s->x, &s->length, &s->director, &s->end_tangent, &s->end_director, &s->segment,
              &s->strand);
  *s = (rod_strands){0};
}

/* R a with R = c I + [u] + u u^T / (1 + c), u = from x to, c = from.to. Only the last term is ill-conditioned near c = -1. */
void rod_transport(const double from[3], const double to[3], const double a[3], double out[3])
{
  double       u[3], v[3];
  const double c = v3_dot(from, to);
  v3_cross(u, from, to);
  v3_cross(v, u, a);
  if (1.0 + c < 1e-12) { /* half a turn about a, which is normal to both vectors, does not change a */
    v3_copy(out, a);
    return;
  }
  const double s = v3_dot(u, a) / (1.0 + c), old[3] = {a[0], a[1], a[2]};
  for (int k = 0; k < 3; ++k) out[k] = c * old[k] + v[k] + s * u[k];
}

/* A chord of length l of a circle of this curvature makes an angle asin(curvature l / 2) with the tangents at its ends. */
double rod_chord_angle(double curvature, double before, double after)
{
  return asin(fmin(1.0, 0.5 * curvature * before)) + asin(fmin(1.0, 0.5 * curvature * after));
}

/* Remove round-off that accumulates over many segments: make a normal to t and of unit length. */
static void make_orthonormal(const double t[3], double a[3])
{
  v3_axpy(a, -v3_dot(t, a), t);
  v3_scale(a, 1.0 / v3_norm(a), a);
}

/* ---- copies -------------------------------------------------------------------------------------------------------------------- */

typedef struct {
  double  key; /* sort key: squared distance from the centre in the metric of the ellipse; ties by number */
  int64_t number;
  double  at[2];
} strand_place;

static int compare_places(const void *a, const void *b)
{
  const strand_place *p = a, *q = b;
  if (p->key != q->key) return p->key < q->key ? -1 : 1;
  return (p->number > q->number) - (p->number < q->number);
}

static void set_place(const rod_copies_spec *c, double p, double q, int64_t number, strand_place *place)
{
  *place = (strand_place){(p / c->aspect) * (p / c->aspect) + q * q, number, {p, q}};
}

/* Select the `count` of n positions that are closest to the centre. Scale them into an ellipse with semi-axes aspect and 1, so
 * that the outermost lies on its boundary. Without scaling if may_stay and all are inside. */
static void select_nearest(const rod_copies_spec *c, bool may_stay, int64_t n, strand_place *place, double *at)
{
  qsort(place, (size_t)n, sizeof *place, compare_places);
  const double outermost = sqrt(place[c->count - 1].key),
               scale     = outermost > 0.0 && !(may_stay && outermost <= 1.0) ? 1.0 / outermost : 1.0;
  for (int64_t k = 0; k < c->count; ++k)
    for (int i = 0; i < 2; ++i) at[2 * k + i] = scale * place[k].at[i];
}

static PetscErrorCode place_on_grid(const rod_copies_spec *c, double *at)
{
  const int64_t reach_q = (int64_t)ceil(sqrt((double)c->count / (M_PI * c->aspect))) + 2;
  const int64_t reach_p = (int64_t)ceil(sqrt((double)c->count * c->aspect / M_PI)) + 2, side = 2 * reach_q + 1,
                n = side * (2 * reach_p + 1);
  strand_place *place;
  PetscFunctionBegin;
  PetscCall(memory_alloc("grid of strands", n, sizeof *place, &place));
  for (int64_t k = 0; k < n; ++k) {
    const int64_t p = k / side - reach_p, q = k % side - reach_q;
    set_place(c, (double)p, (double)q, k, place + k);
  }
  select_nearest(c, false, n, place, at);
  memory_free(&place);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Vogel's spiral: position k is at radius sqrt(k + 1/2), rotated by the golden angle, so that all positions have the same area.
 * `count` of them have the area of the ellipse. */
static PetscErrorCode place_in_disc(const rod_copies_spec *c, double *at)
{
  const double  reach = sqrt((double)c->count * c->aspect) + (c->aspect > 1.0 ? 4.0 : 0.0); /* a margin, because the number of
                                                                                               positions inside the ellipse is
                                                                                               not exactly `count` */
  const int64_t n     = c->aspect > 1.0 ? (int64_t)ceil(reach * reach) : c->count;
  strand_place *place;
  PetscFunctionBegin;
  PetscCall(memory_alloc("disc of strands", n, sizeof *place, &place));
  for (int64_t k = 0; k < n; ++k) {
    const double phi = (double)k * M_PI * (3.0 - sqrt(5.0)),
                 r   = c->count == 1 ? 0.0 : sqrt(c->aspect * ((double)k + 0.5) / (double)c->count);
    set_place(c, r * cos(phi), r * sin(phi), k, place + k);
  }
  select_nearest(c, true, n, place, at);
  memory_free(&place);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void place_at_random(const rod_copies_spec *c, double *at)
{
  for (int64_t k = 0; k < c->count; ++k) {
    const double r = sqrt(random_u01((uint64_t)c->seed, (uint64_t)k, 0)), phi = 2.0 * M_PI * random_u01((uint64_t)c->seed, (uint64_t)k, 1);
    at[2 * k] = c->aspect * r * cos(phi), at[2 * k + 1] = r * sin(phi);
  }
}

/* Positions at [count][2] in an ellipse with semi-axes aspect and 1. */
static PetscErrorCode place_copies(const rod_copies_spec *c, double *at)
{
  PetscFunctionBegin;
  if (c->pattern == ROD_COPIES_GRID) PetscCall(place_on_grid(c, at));
  else if (c->pattern == ROD_COPIES_DISC) PetscCall(place_in_disc(c, at));
  else place_at_random(c, at);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Unit vectors e1, e2 of the longer and the shorter axis; false if the job's directions do not define them. */
static bool frame_of_places(const rod_copies_spec *c, const rod_curve *curve, double e1[3], double e2[3])
{
  const double x[3] = {1.0, 0.0, 0.0}, y[3] = {0.0, 1.0, 0.0};
  double       n[3];
  v3_copy(n, isfinite(c->normal[0]) ? c->normal : curve->tangent);
  v3_scale(n, 1.0 / v3_norm(n), n);
  v3_copy(e1, isfinite(c->along[0]) ? c->along : fabs(n[0]) < 0.9 ? x : y);
  v3_scale(e1, 1.0 / v3_norm(e1), e1);
  if (!(fabs(v3_dot(n, e1)) < 1.0 - 1e-12)) return false;
  make_orthonormal(n, e1);
  v3_cross(e2, n, e1);
  return true;
}

/* Replace the curve by translated copies of it in the plane of e1 and e2. */
static PetscErrorCode copy_curve(const rod_copies_spec *c, const double e1[3], const double e2[3], rod_curve *curve)
{
  double   *at;
  rod_curve many = {.n_curves = c->count};
  PetscFunctionBegin;
  const int64_t m = curve->start[1];
  PetscCall(memory_alloc("copies", 2 * c->count, sizeof *at, &at));
  PetscCall(place_copies(c, at));
  PetscCall(MEMORY_ALLOC("rod curves", ARRAY(many.start, c->count + 1), ARRAY(many.x, 3 * m * c->count), ARRAY(many.tangent, 6 * c->count),
                         ARRAY(many.director, 3 * c->count)));
  for (int64_t k = 0; k < c->count; ++k) {
    many.start[k + 1] = m * (k + 1);
    for (int64_t i = 0; i < m; ++i) {
      double *to = many.x + 3 * (m * k + i);
      v3_copy(to, curve->x + 3 * i);
      v3_axpy(to, c->radius * at[2 * k], e1);
      v3_axpy(to, c->radius * at[2 * k + 1], e2);
    }
    memcpy(many.tangent + 6 * k, curve->tangent, 6 * sizeof(double));
    v3_copy(many.director + 3 * k, curve->director);
  }
  memory_free(&at);
  rod_curve_destroy(curve);
  *curve = many;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- strands ------------------------------------------------------------------------------------------------------------------- */

static PetscErrorCode allocate_strands(const rod_curve *c, bool is_closed, rod_strands *s)
{
  PetscFunctionBegin;
  s->is_closed  = is_closed;
  s->n_strands  = c->n_curves;
  s->n_nodes    = c->start[c->n_curves];
  s->n_segments = is_closed ? s->n_nodes : s->n_nodes - s->n_strands;
  PetscCheck(s->n_nodes <= INT32_MAX / 3, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%lld nodes: expected at most 715 million",
             (long long)s->n_nodes);
  PetscCall(MEMORY_ALLOC("strands", ARRAY(s->node_start, s->n_strands + 1), ARRAY(s->segment_start, s->n_strands + 1),
                         ARRAY(s->x, 3 * s->n_nodes), ARRAY(s->length, s->n_segments), ARRAY(s->director, 3 * s->n_segments),
                         ARRAY(s->end_tangent, 6 * s->n_strands), ARRAY(s->end_director, 6 * s->n_strands),
                         ARRAY(s->segment, 2 * s->n_segments), ARRAY(s->strand, s->n_segments)));
  for (int64_t i = 0; i <= s->n_strands; ++i) {
    s->node_start[i]    = c->start[i];
    s->segment_start[i] = is_closed ? c->start[i] : c->start[i] - i;
  }
  memcpy(s->x, c->x, (size_t)(3 * s->n_nodes) * sizeof *s->x);
  memcpy(s->end_tangent, c->tangent, (size_t)(6 * s->n_strands) * sizeof *s->end_tangent);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Lengths and directors of the segments of one strand. Returns the number of the first segment that has zero length or reverses
 * the direction of the segment before, or -1. */
static int64_t set_segments(rod_strands *s, int64_t strand, const double director[3])
{
  const int64_t first = s->node_start[strand], n = s->node_start[strand + 1] - first;
  const double *before = s->end_tangent + 6 * strand;
  double        t[2][3], a[3];
  v3_copy(s->end_director + 6 * strand, director);
  v3_copy(a, director);
  v3_copy(t[1], before);
  for (int64_t j = s->segment_start[strand], k = 0; j < s->segment_start[strand + 1]; ++j, ++k) {
    s->segment[2 * j] = (int32_t)(first + k), s->segment[2 * j + 1] = (int32_t)(first + (k + 1) % n);
    s->strand[j] = (int32_t)strand;
    v3_copy(t[0], t[1]);
    v3_sub(t[1], s->x + 3 * (int64_t)s->segment[2 * j + 1], s->x + 3 * (int64_t)s->segment[2 * j]);
    s->length[j] = v3_norm(t[1]);
    if (!(s->length[j] > 0.0 && isfinite(s->length[j]))) return k;
    v3_scale(t[1], 1.0 / s->length[j], t[1]);
    if (v3_dot(t[0], t[1]) < -1.0 + 1e-9) return k;
    rod_transport(t[0], t[1], a, a);
    make_orthonormal(t[1], a);
    v3_copy(s->director + 3 * j, a);
  }
  rod_transport(t[1], s->end_tangent + 6 * strand + 3, a, s->end_director + 6 * strand + 3);
  return -1;
}

PetscErrorCode rod_strands_create(const rod_body_spec *spec, const document_node *node, const char *path, diagnostics *d, rod_strands *out,
                                  bool *is_made)
{
  rod_curve curve;
  double    e1[3] = {0.0}, e2[3] = {0.0};
  PetscFunctionBegin;
  *out     = (rod_strands){0};
  *is_made = false;
  PetscCall(rod_curve_create(spec, node, path, d, &curve));
  if (curve.n_curves == 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (spec->copies && curve.n_curves > 1)
    diagnostics_add_under(d, node, path, "copies", "can copy one curve only: this file has %lld", (long long)curve.n_curves);
  else if (spec->copies && isfinite(spec->copies->normal[0]) && !(v3_norm(spec->copies->normal) > 0.0))
    diagnostics_add_under(d, node, path, "copies.normal", "is the zero vector: expected the normal of the plane of the strands' starts");
  else if (spec->copies && !frame_of_places(spec->copies, &curve, e1, e2))
    diagnostics_add_under(d, node, path, "copies.along",
                          "is zero or normal to the plane of the strands' starts: give a direction in this plane");
  else {
    if (spec->copies) PetscCall(copy_curve(spec->copies, e1, e2, &curve));
    PetscCall(allocate_strands(&curve, spec->closed, out));
    int64_t bad = -1, s = 0;
    for (; s < out->n_strands && bad < 0; ++s) bad = set_segments(out, s, curve.director + 3 * s);
    *is_made = bad < 0;
    if (bad >= 0)
      diagnostics_add_under(
          d, node, path, "curve",
          "segment %lld of strand %lld has zero length or reverses the direction of the previous segment: move its points apart",
          (long long)bad + 1, (long long)s);
  }
  rod_curve_destroy(&curve);
  if (!*is_made) rod_strands_destroy(out);
  PetscFunctionReturn(PETSC_SUCCESS);
}
