#include "discretize/rod/rod_strands.h"
#include "core/math3.h"
#include "core/memory.h"
#include "core/random.h"
#include "discretize/rod/rod_curve.h"

void rod_strands_destroy(rod_strands *s)
{
  void *arrays[] = {&s->node_start, &s->segment_start, &s->x, &s->length, &s->director, &s->end_tangent, &s->end_director, &s->segment, &s->strand};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; ++i) memory_free(arrays[i]);
  *s = (rod_strands){0};
}

/* R a with R = c I + [u] + u u^T / (1 + c), u = from x to, c = from.to; the last term is all that is delicate near c = -1. */
void rod_transport(const double from[3], const double to[3], const double a[3], double out[3])
{
  double       u[3], v[3];
  const double c = v3_dot(from, to);
  v3_cross(u, from, to);
  v3_cross(v, u, a);
  if (1.0 + c < 1e-12) { /* half a turn about a leaves it where it is, and normal to both */
    v3_copy(out, a);
    return;
  }
  const double s = v3_dot(u, a) / (1.0 + c), old[3] = {a[0], a[1], a[2]};
  for (int k = 0; k < 3; ++k) out[k] = c * old[k] + v[k] + s * u[k];
}

/* A chord of length l of a circle of this curvature turns by asin(curvature l / 2) from its tangents. */
double rod_turning(double curvature, double before, double after)
{
  return asin(fmin(1.0, 0.5 * curvature * before)) + asin(fmin(1.0, 0.5 * curvature * after));
}

/* Against round-off along many segments: normal to t again, and of unit length. */
static void straighten(const double t[3], double a[3])
{
  v3_axpy(a, -v3_dot(t, a), t);
  v3_scale(a, 1.0 / v3_norm(a), a);
}

/* ---- copies -------------------------------------------------------------------------------------------------------------------- */

typedef struct {
  double  key; /* squared distance from the middle, as the ellipse measures it, then number */
  int64_t number;
  double  at[2];
} strand_place;

static int compare(const void *a, const void *b)
{
  const strand_place *p = a, *q = b;
  if (p->key != q->key) return p->key < q->key ? -1 : 1;
  return (p->number > q->number) - (p->number < q->number);
}

static void set_place(const rod_copies_spec *c, double p, double q, int64_t number, strand_place *place)
{
  *place = (strand_place){(p / c->aspect) * (p / c->aspect) + q * q, number, {p, q}};
}

/* Those `count` of n places that lie closest to the middle, brought into an ellipse of half axes aspect and 1: the outermost on its rim, or not at all if
 * inside already and may_stay. */
static void take_nearest(const rod_copies_spec *c, bool may_stay, int64_t n, strand_place *place, double *at)
{
  qsort(place, (size_t)n, sizeof *place, compare);
  const double outermost = sqrt(place[c->count - 1].key), scale = outermost > 0.0 && !(may_stay && outermost <= 1.0) ? 1.0 / outermost : 1.0;
  for (int64_t k = 0; k < c->count; ++k)
    for (int i = 0; i < 2; ++i) at[2 * k + i] = scale * place[k].at[i];
}

static PetscErrorCode lay_grid(const rod_copies_spec *c, double *at)
{
  const int64_t reach_q = (int64_t)ceil(sqrt((double)c->count / (M_PI * c->aspect))) + 2;
  const int64_t reach_p = (int64_t)ceil(sqrt((double)c->count * c->aspect / M_PI)) + 2, side = 2 * reach_q + 1, n = side * (2 * reach_p + 1);
  strand_place *place;
  PetscFunctionBegin;
  PetscCall(memory_alloc("grid of strands", n, sizeof *place, &place));
  for (int64_t k = 0; k < n; ++k) {
    const int64_t p = k / side - reach_p, q = k % side - reach_q;
    set_place(c, (double)p, (double)q, k, place + k);
  }
  take_nearest(c, false, n, place, at);
  memory_free(&place);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Vogel's: the k-th at radius sqrt(k + 1/2), turned by the golden angle, so that each has the same area; `count` of them have that of the ellipse. */
static PetscErrorCode lay_disc(const rod_copies_spec *c, double *at)
{
  const double  reach = sqrt((double)c->count * c->aspect) + (c->aspect > 1.0 ? 4.0 : 0.0); /* a margin: not just `count` lie inside */
  const int64_t n     = c->aspect > 1.0 ? (int64_t)ceil(reach * reach) : c->count;
  strand_place *place;
  PetscFunctionBegin;
  PetscCall(memory_alloc("disc of strands", n, sizeof *place, &place));
  for (int64_t k = 0; k < n; ++k) {
    const double phi = (double)k * M_PI * (3.0 - sqrt(5.0)), r = c->count == 1 ? 0.0 : sqrt(c->aspect * ((double)k + 0.5) / (double)c->count);
    set_place(c, r * cos(phi), r * sin(phi), k, place + k);
  }
  take_nearest(c, true, n, place, at);
  memory_free(&place);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void lay_random(const rod_copies_spec *c, double *at)
{
  for (int64_t k = 0; k < c->count; ++k) {
    const double r = sqrt(random_u01((uint64_t)c->seed, (uint64_t)k, 0)), phi = 2.0 * M_PI * random_u01((uint64_t)c->seed, (uint64_t)k, 1);
    at[2 * k] = c->aspect * r * cos(phi), at[2 * k + 1] = r * sin(phi);
  }
}

/* Places at [count][2] in an ellipse of half axes aspect and 1. */
static PetscErrorCode lay_places(const rod_copies_spec *c, double *at)
{
  PetscFunctionBegin;
  if (c->pattern == ROD_COPIES_GRID) PetscCall(lay_grid(c, at));
  else if (c->pattern == ROD_COPIES_DISC) PetscCall(lay_disc(c, at));
  else lay_random(c, at);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Unit directions of the longer and of the shorter axis; false if there are none. */
static bool frame_of_places(const rod_copies_spec *c, const rod_curve *curve, double e1[3], double e2[3])
{
  const double x[3] = {1.0, 0.0, 0.0}, y[3] = {0.0, 1.0, 0.0};
  double       n[3];
  v3_copy(n, isfinite(c->normal[0]) ? c->normal : curve->tangent);
  v3_scale(n, 1.0 / v3_norm(n), n);
  v3_copy(e1, isfinite(c->along[0]) ? c->along : fabs(n[0]) < 0.9 ? x : y);
  v3_scale(e1, 1.0 / v3_norm(e1), e1);
  if (!(fabs(v3_dot(n, e1)) < 1.0 - 1e-12)) return false;
  straighten(n, e1);
  v3_cross(e2, n, e1);
  return true;
}

/* Curves in place of the first one: copies of it, shifted in the plane of e1 and e2. */
static PetscErrorCode copy_curve(const rod_copies_spec *c, const double e1[3], const double e2[3], rod_curve *curve)
{
  double   *at;
  rod_curve many = {.n_curves = c->count};
  PetscFunctionBegin;
  const int64_t m = curve->start[1];
  PetscCall(memory_alloc("copies", 2 * c->count, sizeof *at, &at));
  PetscCall(lay_places(c, at));
  PetscCall(memory_alloc("rod curves", c->count + 1, sizeof *many.start, &many.start));
  PetscCall(memory_alloc("rod curves", 3 * m * c->count, sizeof *many.x, &many.x));
  PetscCall(memory_alloc("rod curves", 6 * c->count, sizeof *many.tangent, &many.tangent));
  PetscCall(memory_alloc("rod curves", 3 * c->count, sizeof *many.director, &many.director));
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

static PetscErrorCode allocate(const rod_curve *c, bool is_closed, rod_strands *s)
{
  PetscFunctionBegin;
  s->is_closed  = is_closed;
  s->n_strands  = c->n_curves;
  s->n_nodes    = c->start[c->n_curves];
  s->n_segments = is_closed ? s->n_nodes : s->n_nodes - s->n_strands;
  PetscCheck(s->n_nodes <= INT32_MAX / 3, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%lld nodes: expected at most 715 million", (long long)s->n_nodes);
  PetscCall(memory_alloc("strands", s->n_strands + 1, sizeof(int64_t), &s->node_start));
  PetscCall(memory_alloc("strands", s->n_strands + 1, sizeof(int64_t), &s->segment_start));
  PetscCall(memory_alloc("strands", 3 * s->n_nodes, sizeof(double), &s->x));
  PetscCall(memory_alloc("strands", s->n_segments, sizeof(double), &s->length));
  PetscCall(memory_alloc("strands", 3 * s->n_segments, sizeof(double), &s->director));
  PetscCall(memory_alloc("strands", 6 * s->n_strands, sizeof(double), &s->end_tangent));
  PetscCall(memory_alloc("strands", 6 * s->n_strands, sizeof(double), &s->end_director));
  PetscCall(memory_alloc("strands", 2 * s->n_segments, sizeof(int32_t), &s->segment));
  PetscCall(memory_alloc("strands", s->n_segments, sizeof(int32_t), &s->strand));
  for (int64_t i = 0; i <= s->n_strands; ++i) {
    s->node_start[i]    = c->start[i];
    s->segment_start[i] = is_closed ? c->start[i] : c->start[i] - i;
  }
  memcpy(s->x, c->x, (size_t)(3 * s->n_nodes) * sizeof *s->x);
  memcpy(s->end_tangent, c->tangent, (size_t)(6 * s->n_strands) * sizeof *s->end_tangent);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Lengths and directors of one strand; the number of a segment without length, or one that turns back on the one before, else -1. */
static int64_t follow(rod_strands *s, int64_t strand, const double director[3])
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
    straighten(t[1], a);
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
    diagnostics_add_under(d, node, path, "copies", "of one curve only: this file has %lld", (long long)curve.n_curves);
  else if (spec->copies && isfinite(spec->copies->normal[0]) && !(v3_norm(spec->copies->normal) > 0.0))
    diagnostics_add_under(d, node, path, "copies.normal", "is the zero vector: there is no plane to place the strands in");
  else if (spec->copies && !frame_of_places(spec->copies, &curve, e1, e2))
    diagnostics_add_under(d, node, path, "copies.along", "is zero or normal to the plane of the strands' starts: give a direction in it");
  else {
    if (spec->copies) PetscCall(copy_curve(spec->copies, e1, e2, &curve));
    PetscCall(allocate(&curve, spec->closed, out));
    int64_t bad = -1, s = 0;
    for (; s < out->n_strands && bad < 0; ++s) bad = follow(out, s, curve.director + 3 * s);
    *is_made = bad < 0;
    if (bad >= 0)
      diagnostics_add_under(d, node, path, "curve", "segment %lld of strand %lld has no length or turns back on the one before: move its points apart",
                            (long long)bad + 1, (long long)s);
  }
  rod_curve_destroy(&curve);
  if (!*is_made) rod_strands_destroy(out);
  PetscFunctionReturn(PETSC_SUCCESS);
}
