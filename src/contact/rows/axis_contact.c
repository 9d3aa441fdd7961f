/* Line of action of contacts of fibres that do not rotate about their axis, see axis_contact.h. */
#include "contact/rows/axis_contact.h"
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
    if (is_a == is_b) continue;
    point_on_axis(is_a ? a : b, is_a ? p->a.w[0] : p->b.w[0], x);
    move_to(s, p->body_a, &p->a, x);
    move_to(s, p->body_b, &p->b, x);
  }
}

bool axis_contact_is_double(const contact_scene *s, const contact_spot *spot, double x[12])
{
  return axis_of(s, spot->body_a, &spot->a, x) && axis_of(s, spot->body_b, &spot->b, x + 6);
}

/* Share of the moment along the axes that is transferred between segments at an angle with this sine: smooth between the bounds. */
static double transferred_share(double sine)
{
  const double z = fmin(fmax((sine - AXIS_PARALLEL) / (AXIS_CROSSING - AXIS_PARALLEL), 0.0), 1.0);
  return z * z * (3.0 - 2.0 * z);
}

void axis_contact_crossing(const double x[12], double at_a, double at_b, const double point[3], double (*J)[9])
{
  double e[2][3], length[2], q[2][3], k[3], part[9]; /* q . f: moment of f along the axis */
  for (int i = 0; i < 2; ++i) {
    const double at[2] = {1.0 - (i == 0 ? at_a : at_b), i == 0 ? at_a : at_b}, sign = i == 0 ? 1.0 : -1.0;
    double       arm[3], on_axis[3], turn[9];
    point_on_axis(x + 6 * i, at[1], on_axis);
    v3_sub(arm, point, on_axis);
    v3_sub(e[i], x + 6 * i + 3, x + 6 * i);
    length[i] = v3_norm(e[i]);
    v3_scale(e[i], 1.0 / length[i], e[i]);
    v3_cross(q[i], e[i], arm);
    const double along = v3_dot(e[i], arm);
    for (int j = 0; j < 9; ++j) turn[j] = ((j % 4 == 0 ? along : 0.0) - e[i][j / 3] * arm[j % 3]) / length[i]; /* rotation across */
    for (int n = 0; n < 2; ++n)
      for (int j = 0; j < 9; ++j) J[2 * i + n][j] = sign * ((j % 4 == 0 ? at[n] : 0.0) + (n == 0 ? -turn[j] : turn[j]));
  }
  v3_cross(k, e[0], e[1]);
  const double sine = v3_norm(k), cosine = v3_dot(e[0], e[1]), share = transferred_share(sine);
  if (share == 0.0) return;
  v3_scale(k, 1.0 / sine, k);
  for (int i = 0; i < 2; ++i) {
    double g[3]; /* force along k on the second node, its opposite on the first one, by contact force */
    v3_scale(g, cosine, q[i]);
    v3_axpy(g, -1.0, q[1 - i]);
    v3_scale(g, -share / (sine * length[i]), g);
    m3_outer(part, g, k);
    m3_axpy(J[2 * i + 1], 1.0, part);
    m3_axpy(J[2 * i], -1.0, part);
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
