#include "contact/penalty/mesh_pull.h"
#include "core/math3.h"
#include <float.h>

void pull_add_normal(const pulled_surface *s, int32_t triangle, int corner_for_angle, double n[3])
{
  const int32_t *c = s->mesh->tri + 3 * (int64_t)triangle;
  const double  *P[3];
  double         e1[3], e2[3], cross[3];
  const int      v = corner_for_angle < 0 ? 0 : corner_for_angle;
  for (int i = 0; i < 3; ++i) P[i] = s->x + 3 * (int64_t)c[(v + i) % 3];
  v3_sub(e1, P[1], P[0]);
  v3_sub(e2, P[2], P[0]);
  v3_cross(cross, e1, e2);
  const double length = v3_norm(cross);
  if (!(length > DBL_MIN)) return;
  v3_axpy(n, (corner_for_angle < 0 ? 1.0 : atan2(length, v3_dot(e1, e2))) / length, cross);
}

/* ---- the ellipse --------------------------------------------------------------------------------------------------------- */

static double stretch_all_round(const relax_cone *cone) { return fmax(1.0, cone->mu / cone->mu_across); }

pull_metric pull_metric_of(const pulled_surface *s, const double *const P[3], const int32_t v[3])
{
  pull_metric m = {1.0, {0.0, 0.0, 0.0}, {0.0, 0.0, 0.0}, 1.0};
  if (!(s->cone->mu_across > 0.0)) return m;
  double e1[3], e2[3], n[3], dual[3];
  v3_sub(e1, s->rest + 3 * (int64_t)v[1], s->rest + 3 * (int64_t)v[0]);
  v3_sub(e2, s->rest + 3 * (int64_t)v[2], s->rest + 3 * (int64_t)v[0]);
  v3_cross(n, e1, e2);
  const double nn = v3_dot(n, n), *d = s->cone->direction;
  m.stretch = stretch_all_round(s->cone);
  if (!(nn > DBL_MIN)) return m;
  v3_cross(dual, e2, n);
  const double c1 = v3_dot(dual, d) / nn;
  v3_cross(dual, n, e1);
  const double c2 = v3_dot(dual, d) / nn;
  double       laid[3], t[3];
  for (int j = 0; j < 3; ++j) {
    laid[j] = c1 * e1[j] + c2 * e2[j];
    t[j]    = c1 * (P[1][j] - P[0][j]) + c2 * (P[2][j] - P[0][j]);
  }
  const double length = v3_norm(t);
  if (!(v3_norm(laid) > RELAX_CONE_ALONG * v3_norm(d)) || !(length > DBL_MIN)) return m;
  m.stretch = s->cone->mu / s->cone->mu_across;
  m.c[0] = -c1 - c2, m.c[1] = c1, m.c[2] = c2;
  m.length = length;
  v3_scale(m.t, 1.0 / length, t);
  return m;
}

static double metric_length(const pull_metric *m, const double d[3])
{
  const double along = v3_dot(d, m->t), all = v3_dot(d, d);
  if (m->stretch == 1.0) return sqrt(all);
  return sqrt(fmax(0.0, m->stretch * m->stretch * (all - along * along)) + along * along);
}

double pull_edge_friction(const pulled_surface *s, int32_t triangle, int side)
{
  const triangle_topology *t = s->mesh;
  const double             mu = s->cone->mu;
  double                   n[3] = {0.0, 0.0, 0.0}, e[3], d[3];
  if (!(s->cone->mu_across > 0.0)) return mu;
  const pulled_surface at_rest = {.mesh = t, .x = s->rest};
  pull_add_normal(&at_rest, triangle, -1, n);
  if (t->neighbor[3 * (int64_t)triangle + side] >= 0) pull_add_normal(&at_rest, t->neighbor[3 * (int64_t)triangle + side], -1, n);
  const int32_t *v = t->tri + 3 * (int64_t)triangle;
  v3_sub(e, s->rest + 3 * (int64_t)v[(side + 2) % 3], s->rest + 3 * (int64_t)v[(side + 1) % 3]);
  const double length = v3_norm(e), nn = v3_dot(n, n);
  v3_copy(d, s->cone->direction);
  if (nn > 0.0) v3_axpy(d, -v3_dot(d, n) / nn, n);
  if (!(length > DBL_MIN) || !(v3_norm(d) > RELAX_CONE_ALONG * v3_norm(s->cone->direction))) return mu / stretch_all_round(s->cone);
  const double a = mu / s->cone->mu_across, cosine = v3_dot(d, e) / (length * v3_norm(d));
  return mu / sqrt(a * a * fmax(0.0, 1.0 - cosine * cosine) + cosine * cosine);
}

/* ---- in a triangle ----------------------------------------------------------------------------------------------------- */

bool pull_in_triangle(const pulled_surface *s, const double *P[3], const int32_t v[3], const double beta[3], triangle_pull *p)
{
  const double *Z = s->Z, mu = s->cone->mu;
  double e1[3], e2[3], b[3], cross[3];
  v3_sub(e1, P[1], P[0]);
  v3_sub(e2, P[2], P[0]);
  v3_sub(b, Z, P[0]);
  v3_cross(cross, e1, e2);
  const double twice_area = v3_norm(cross);
  if (!(twice_area > DBL_MIN)) return false;
  v3_scale(p->n, 1.0 / twice_area, cross);
  /* dual_2 = e2 x n / 2A, dual_3 = n x e1 / 2A, and they sum to zero with dual_1 */
  v3_cross(p->dual[1], e2, p->n);
  v3_cross(p->dual[2], p->n, e1);
  v3_scale(p->dual[1], 1.0 / twice_area, p->dual[1]);
  v3_scale(p->dual[2], 1.0 / twice_area, p->dual[2]);
  for (int j = 0; j < 3; ++j) p->dual[0][j] = -p->dual[1][j] - p->dual[2][j];
  p->phi       = v3_dot(p->n, b);
  p->lambda[1] = v3_dot(p->dual[1], b);
  p->lambda[2] = v3_dot(p->dual[2], b);
  p->lambda[0] = 1.0 - p->lambda[1] - p->lambda[2];
  for (int i = 0; i < 3; ++i) p->delta[i] = beta[i] - p->lambda[i];
  for (int j = 0; j < 3; ++j) p->q[j] = p->delta[1] * e1[j] + p->delta[2] * e2[j];
  p->m          = pull_metric_of(s, P, v);
  p->r          = metric_length(&p->m, p->q);
  p->is_sliding = p->r > mu * fabs(p->phi);
  p->s          = p->is_sliding ? mu * fabs(p->phi) / p->r : 1.0;
  return true;
}

void pull_gradient_of_length(const triangle_pull *p, double u[3], double turn[3])
{
  const double a2 = p->m.stretch * p->m.stretch, along = v3_dot(p->q, p->m.t), share = (1.0 - a2) * along / p->r;
  v3_scale(u, a2 / p->r, p->q);
  v3_axpy(u, share, p->m.t);
  v3_scale(turn, share / p->m.length, p->q);
  v3_axpy(turn, -share * along / p->m.length, p->m.t);
}
