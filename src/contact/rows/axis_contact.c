/* Line of action of contacts of fibres that do not rotate about their axis, see axis_contact.h. */
#include "contact/rows/axis_contact.h"
#include "core/eigen3.h"
#include "core/math3.h"

/* Axis of the segment of a location; false if it is not a segment of a fibre that contact forces act on the axis of. */
static bool axis_of(const contact_scene *s, int32_t i_body, const body_contact_location *at, double end[6])
{
  const body   *b   = s->body[i_body];
  body_segments own = {0};
  if (at->kind != FEATURE_SEGMENT || !b->ops->segments) return false;
  b->ops->segments(b, &own);
  for (int k = 0; k < 2 && own.on_axis; ++k) v3_copy(end + 3 * k, own.x + 3 * (int64_t)own.segment[2 * at->index + k]);
  return own.on_axis;
}

static void point_on_axis(const double end[6], double at, double x[3])
{
  for (int k = 0; k < 3; ++k) x[k] = (1.0 - at) * end[k] + at * end[3 + k];
}

/* The location of the other side is x. */
static void move_to(const contact_scene *s, int32_t i_body, body_contact_location *at, const double x[3])
{
  const body *b = s->body[i_body];
  v3_copy(at->x, x);
  if (at->kind == FEATURE_TRIANGLE) at->is_beside = true;
  if (at->kind == FEATURE_POINT && b->ops->point_row_beside) {
    double point[3];
    (void)b->ops->point(b, at->index, point);
    v3_sub(at->w, x, point);
  }
}

void axis_contact_place(const contact_scene *s, int64_t n, contact_spot *spots)
{
#pragma omp parallel for schedule(static) if (n > 256)
  for (int64_t i = 0; i < n; ++i) {
    contact_spot *p = &spots[i];
    double        a[6], b[6], x[3];
    const bool    is_a = axis_of(s, p->body_a, &p->a, a), is_b = axis_of(s, p->body_b, &p->b, b);
    if (is_a == is_b) continue; /* two axes: axis_contact_balance */
    point_on_axis(is_a ? a : b, is_a ? p->a.w[0] : p->b.w[0], x);
    move_to(s, p->body_a, &p->a, x);
    move_to(s, p->body_b, &p->b, x);
  }
}

bool axis_contact_is_double(const contact_scene *s, const contact_spot *spot, double x[12])
{
  return axis_of(s, spot->body_a, &spot->a, x) && axis_of(s, spot->body_b, &spot->b, x + 6);
}

void axis_contact_balance(const double x[12], double at_a, double at_b, double J[4][9])
{
  double center[3] = {0.0}, r[4][3], G[9] = {0.0}, A[9] = {0.0}, value[3], axis[9], term[9], skew[9], H[9] = {0.0}, d[3];
  for (int k = 0; k < 12; ++k) center[k % 3] += 0.25 * x[k];
  for (int k = 0; k < 4; ++k) { /* velocities of a rotation w: w x r = -[r] w */
    v3_sub(r[k], x + 3 * k, center);
    m3_skew(skew, r[k]);
    m3_mul(term, J[k], skew);
    m3_axpy(A, -1.0, term);
    m3_outer(term, r[k], r[k]);
    m3_axpy(G, -1.0, term);
    for (int i = 0; i < 9; i += 4) G[i] += v3_dot(r[k], r[k]);
  }
  eigen3_symmetric(G, value, axis);
  /* At parallel strands with distance |d| the moment of inertia about their direction is |d|^2, at others larger. */
  for (int k = 0; k < 3; ++k) d[k] = (1.0 - at_a) * x[k] + at_a * x[3 + k] - (1.0 - at_b) * x[6 + k] - at_b * x[9 + k];
  const double least = (1.0 + AXIS_LEVER * AXIS_LEVER) * v3_dot(d, d);
  for (int k = 0; k < 3; ++k) {
    const double e[3] = {axis[k], axis[3 + k], axis[6 + k]};
    if (!(value[k] > least)) continue;
    m3_outer(term, e, e);
    m3_axpy(H, 1.0 / value[k], term);
  }
  m3_mul(term, A, H);
  for (int k = 0; k < 4; ++k) { /* J -= A H R^T, R = -[r], R^T = [r] */
    double part[9];
    m3_skew(skew, r[k]);
    m3_mul(part, term, skew);
    m3_axpy(J[k], -1.0, part);
  }
}

bool axis_contact_beside_triangle(const double X[9], const double x[3], double (*J)[9])
{
  double e1[3], e2[3], n[3], d[3], g[3][3], beta[3];
  v3_sub(e1, X + 3, X);
  v3_sub(e2, X + 6, X);
  v3_sub(d, x, X);
  v3_cross(n, e1, e2);
  const double square = v3_dot(n, n);
  if (!(square > 0.0)) return false;
  v3_cross(g[1], e2, n); /* gradients of the barycentric coordinates, times square */
  v3_cross(g[2], n, e1);
  for (int i = 0; i < 3; ++i) g[0][i] = -g[1][i] - g[2][i];
  for (int k = 0; k < 3; ++k) beta[k] = v3_dot(g[k], d) / square + (k == 0);
  const double height = v3_dot(n, d) / sqrt(square); /* over the plane */
  for (int k = 0; k < 3; ++k)
    for (int i = 0; i < 9; ++i) J[k][i] = (i % 4 == 0 ? beta[k] : 0.0) - height / (sqrt(square) * square) * g[k][i / 3] * n[i % 3];
  return true;
}
