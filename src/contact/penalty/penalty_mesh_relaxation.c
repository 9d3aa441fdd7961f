/* Relaxation on a triangle mesh, see penalty_mesh_relaxation.h: the state machine and its derivatives. */
#include "contact/penalty/penalty_mesh_relaxation.h"
#include "core/math3.h"
#include <float.h>

/* ---- spring force in the plane of a triangle ---- */

/* Direction and friction limit of the spring force of a point at Z on its attachment, in the plane of a triangle and along
 * edges. Notation: beta are the weights of the attachment, lambda those of W, the point of the plane nearest to Z. */

typedef struct {
  const triangle_topology *mesh;
  const double            *x, *Z;
  const relax_cone        *cone;
  const double            *rest; /* undeformed vertices, on which the direction of the cone is defined; not used for circles */
} pulled_surface;

/* Metric of the friction ellipse in a triangle: components perpendicular to the unit vector t = (c_1 e_1 + c_2 e_2)/length are multiplied by
 * `stretch`; c == 0: all components. */
typedef struct {
  double stretch, c[3] /* by corner, sum 0 */, t[3], length;
} pull_metric;

typedef struct {
  double      n[3], dual[3][3];                     /* unit normal; gradients of the weights in the plane */
  double      phi, lambda[3], delta[3], q[3], r, s; /* r: length of q */
  pull_metric m;
  bool        is_sliding;
} triangle_pull;

/* ---- friction ellipse and normals ---- */

/* n += unit normal of a triangle, multiplied by its angle at corner `corner` if that is >= 0. */
static void pull_add_normal(const pulled_surface *s, int32_t triangle, int corner_for_angle, double n[3])
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

static pull_metric pull_metric_of(const pulled_surface *s, const double *const P[3], const int32_t v[3])
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

/* The coefficient of friction along a side of a triangle. */
static double pull_edge_friction(const pulled_surface *s, int32_t triangle, int side)
{
  const triangle_topology *t    = s->mesh;
  const double             mu   = s->cone->mu;
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

/* The pull at weights beta of the triangle with corners v at P. False for a triangle without area. */
static bool pull_in_triangle(const pulled_surface *s, const double *P[3], const int32_t v[3], const double beta[3], triangle_pull *p)
{
  const double *Z = s->Z, mu = s->cone->mu;
  double        e1[3], e2[3], b[3], cross[3];
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

/* dr = u . dq + turn . d(length t), r^2 = a^2 |q|^2 + (1 - a^2) (q . t)^2; without a direction u = a q/|q|. */
static void pull_gradient_of_length(const triangle_pull *p, double u[3], double turn[3])
{
  const double a2 = p->m.stretch * p->m.stretch, along = v3_dot(p->q, p->m.t), share = (1.0 - a2) * along / p->r;
  v3_scale(u, a2 / p->r, p->q);
  v3_axpy(u, share, p->m.t);
  v3_scale(turn, share / p->m.length, p->q);
  v3_axpy(turn, -share * along / p->m.length, p->m.t);
}

/* ---- relaxation over triangles, edges and vertices ---- */

/* beta are the weights of the attachment, lambda those of W, the point of the plane nearest to Z, delta = beta - lambda.
 * Gradients are stored as dense rows over the columns (Z, nodes of the chain so far): nearly every relaxation ends in its first
 * triangle with twelve of them. */

/* Well above round-off; otherwise an attachment at a vertex could cycle. */
static const double vertex_tolerance = 1e-12;
static const double corner_tolerance = 128.0 * DBL_EPSILON;

typedef struct {
  pulled_surface   on;
  bool             is_bounded, with_derivatives; /* is_bounded: attachments slide along the border, contact does not end there */
  mesh_relaxation *out;
  int              entry; /* side of entry, -1: none */
  int              side;  /* in ALONG_EDGE: the edge, as a side of the triangle */
} walk;

static const double *corner(const walk *w, int i) { return w->on.x + 3 * (int64_t)w->on.mesh->tri[3 * (int64_t)w->out->at.triangle + i]; }

int mesh_relaxation_column(mesh_relaxation *r, int32_t node)
{
  for (int j = 0; j < r->n_nodes; ++j)
    if (r->node[j] == node) return j + 1;
  r->node[r->n_nodes] = node;
  for (int i = 0; i < 3; ++i) v3_set(r->d_weight[i] + 3 * (r->n_nodes + 1), 0.0, 0.0, 0.0);
  return ++r->n_nodes;
}

static void corner_columns(walk *w, int col[3])
{
  for (int i = 0; i < 3; ++i) col[i] = mesh_relaxation_column(w->out, w->on.mesh->tri[3 * (int64_t)w->out->at.triangle + i]);
}

/* At a vertex the attachment is a material point: its weights are constant. */
static void forget_derivatives(walk *w)
{
  w->out->n_nodes = 0;
  for (int i = 0; i < 3; ++i) v3_set(w->out->d_weight[i], 0.0, 0.0, 0.0);
}

/* ---- in a triangle ----------------------------------------------------------------------------------------------------- */

/* d_weight <- gradient of beta^ = lambda + s (beta - lambda), from that of beta. */
static void differentiate_triangle(walk *w, const double *P[3], const triangle_pull *p)
{
  mesh_relaxation *r = w->out;
  int              col[3];
  double           lambda[3][12], h[12], dr[12], u[3], turn[3];
  if (!p->is_sliding) return;
  corner_columns(w, col);
  const int n = 3 * (r->n_nodes + 1);
  pull_gradient_of_length(p, u, turn);
  const double side = p->phi < 0.0 ? -1.0 : 1.0;
  for (int a = 0; a < 3; ++a) {
    v3_copy(lambda[a], p->dual[a]);
    for (int i = 0; i < 3; ++i) {
      v3_scale(lambda[a] + 3 + 3 * i, -p->lambda[i], p->dual[a]);
      v3_axpy(lambda[a] + 3 + 3 * i, p->phi * v3_dot(p->dual[a], p->dual[i]), p->n);
    }
  }
  v3_scale(h, side, p->n);
  v3_set(dr, 0.0, 0.0, 0.0);
  for (int i = 0; i < 3; ++i) {
    v3_scale(h + 3 + 3 * i, -side * p->lambda[i], p->n);
    v3_scale(dr + 3 + 3 * i, p->delta[i], u);
    v3_axpy(dr + 3 + 3 * i, p->m.c[i], turn);
  }
  /* dr also contains the gradient of delta, multiplied by the corner positions along u; as its sum is zero, the origin is arbitrary */
  const double along[3] = {0.0, v3_dot(u, P[1]) - v3_dot(u, P[0]), v3_dot(u, P[2]) - v3_dot(u, P[0])};
  double       ds[3 * (RELAX_MESH_MAX_NODES + 1)];
  for (int j = 0; j < n; ++j) ds[j] = -p->s / p->r * (along[1] * r->d_weight[1][j] + along[2] * r->d_weight[2][j]);
  for (int block = 0; block < 4; ++block) {
    const int at = block == 0 ? 0 : 3 * col[block - 1];
    for (int j = 0; j < 3; ++j) {
      const int k = 3 * block + j;
      ds[at + j] += (w->on.cone->mu * h[k] - p->s * (dr[k] - along[1] * lambda[1][k] - along[2] * lambda[2][k])) / p->r;
    }
  }
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < n; ++j) r->d_weight[i][j] = p->s * r->d_weight[i][j] + p->delta[i] * ds[j];
    for (int block = 0; block < 4; ++block)
      for (int j = 0; j < 3; ++j) r->d_weight[i][(block == 0 ? 0 : 3 * col[block - 1]) + j] += (1.0 - p->s) * lambda[i][3 * block + j];
  }
}

/* Weights where the path from beta to beta^ (gradients: `before`, d_weight) crosses side i: beta + t (beta^ - beta), t = beta_i
 * / (beta_i - beta^_i). */
static void differentiate_exit(mesh_relaxation *r, double (*before)[3 * (RELAX_MESH_MAX_NODES + 1)], const double beta[3],
                               const double hat[3], int i)
{
  const int    n   = 3 * (r->n_nodes + 1);
  const double gap = beta[i] - hat[i], t = beta[i] / gap;
  for (int j = 0; j < n; ++j) {
    const double dt = (beta[i] * r->d_weight[i][j] - hat[i] * before[i][j]) / (gap * gap);
    for (int k = 0; k < 3; ++k)
      if (k != i) r->d_weight[k][j] = before[k][j] + t * (r->d_weight[k][j] - before[k][j]) + (hat[k] - beta[k]) * dt;
    r->d_weight[i][j] = 0.0;
  }
}

/* Continue in the neighbour across side i, with the two weights and their gradients. */
static void cross_side(walk *w, int i)
{
  mesh_relaxation *r    = w->out;
  const int64_t    from = 3 * (int64_t)r->at.triangle;
  const int        side = w->on.mesh->neighbor_side[from + i], n = 3 * (r->n_nodes + 1);
  const double     first = r->at.weight[(i + 1) % 3], second = r->at.weight[(i + 2) % 3];
  double           carried[2][3 * (RELAX_MESH_MAX_NODES + 1)];
  r->at.triangle               = w->on.mesh->neighbor[from + i];
  r->at.weight[side]           = 0.0;
  r->at.weight[(side + 1) % 3] = second; /* the neighbour has the opposite direction along the side */
  r->at.weight[(side + 2) % 3] = first;
  w->entry                     = side;
  if (!w->with_derivatives) return;
  for (int k = 0; k < 2; ++k) memcpy(carried[k], r->d_weight[(i + 1 + k) % 3], (size_t)n * sizeof(double));
  memset(r->d_weight[side], 0, (size_t)n * sizeof(double));
  memcpy(r->d_weight[(side + 1) % 3], carried[1], (size_t)n * sizeof(double));
  memcpy(r->d_weight[(side + 2) % 3], carried[0], (size_t)n * sizeof(double));
}

/* The attachment becomes corner v of its triangle. */
static void snap_to_corner(walk *w, int v)
{
  for (int i = 0; i < 3; ++i) w->out->at.weight[i] = i == v;
  forget_derivatives(w);
}

/* States ON_TRIANGLE and ENTERED. Returns the next state; 0: the attachment has reached its final position. */
static int walk_triangle(walk *w, bool was_entered)
{
  mesh_relaxation *r    = w->out;
  const double    *P[3] = {corner(w, 0), corner(w, 1), corner(w, 2)};
  double           hat[3], beta[3], before[3][3 * (RELAX_MESH_MAX_NODES + 1)], t = INFINITY;
  triangle_pull    p;
  int              exit = -1, top = 0;
  v3_copy(beta, r->at.weight);
  if (!pull_in_triangle(&w->on, P, w->on.mesh->tri + 3 * (int64_t)r->at.triangle, beta, &p) || !p.is_sliding) return 0;
  for (int i = 0; i < 3; ++i) hat[i] = p.lambda[i] + p.s * p.delta[i];
  for (int i = 0; i < 3; ++i) {
    if (!(hat[i] < 0.0) || !(beta[i] / (beta[i] - hat[i]) < t)) continue;
    t    = beta[i] / (beta[i] - hat[i]);
    exit = i;
  }
  if (w->with_derivatives) {
    int col[3];
    corner_columns(w, col);
    if (exit >= 0)
      for (int i = 0; i < 3; ++i) memcpy(before[i], r->d_weight[i], 3 * ((size_t)r->n_nodes + 1) * sizeof(double));
    differentiate_triangle(w, P, &p);
    if (exit >= 0) differentiate_exit(r, before, beta, hat, exit);
  }
  if (exit < 0) {
    v3_copy(r->at.weight, hat);
    return 0;
  }
  for (int i = 0; i < 3; ++i) {
    r->at.weight[i] = i == exit ? 0.0 : fmax(0.0, beta[i] + t * (hat[i] - beta[i]));
    if (r->at.weight[i] > r->at.weight[top]) top = i;
  }
  if (r->at.weight[top] > 1.0 - corner_tolerance) {
    snap_to_corner(w, top);
    return AT_VERTEX;
  }
  const bool is_border = w->on.mesh->neighbor[3 * (int64_t)r->at.triangle + exit] < 0;
  if (is_border && !w->is_bounded && p.lambda[exit] < -vertex_tolerance) return PAST_BORDER;
  if (is_border || (was_entered && exit == w->entry)) {
    w->side = exit;
    return ALONG_EDGE;
  }
  cross_side(w, exit);
  return ENTERED;
}

/* ---- along an edge ------------------------------------------------------------------------------------------------------ */

static void differentiate_edge(walk *w, int a, int b, const double e[3], const double m[3], double u_W, double pull /* mu, against the direction of
                                                                                                                     * sliding */)
{
  mesh_relaxation *r = w->out;
  int              col[3];
  double           du[3][3]; /* by Z, A, B */
  const double     ee = v3_dot(e, e), length = sqrt(ee), h = v3_norm(m);
  forget_derivatives(w); /* the weights no longer depend on the previous places */
  corner_columns(w, col);
  for (int j = 0; j < 3; ++j) {
    du[0][j] = e[j] / ee;
    du[1][j] = (-(1.0 - u_W) * e[j] - m[j]) / ee;
    du[2][j] = (-u_W * e[j] + m[j]) / ee;
    if (h > 0.0) {
      const double f = pull / length, g = h / ee;
      du[0][j] += f * m[j] / h;
      du[1][j] += f * (-(1.0 - u_W) * m[j] / h + g * e[j]);
      du[2][j] += f * (-u_W * m[j] / h - g * e[j]);
    }
  }
  const int at[3] = {0, 3 * col[a], 3 * col[b]};
  for (int block = 0; block < 3; ++block)
    for (int j = 0; j < 3; ++j) {
      r->d_weight[a][at[block] + j] = -du[block][j];
      r->d_weight[b][at[block] + j] = du[block][j];
    }
}

/* State ALONG_EDGE: the complete force component perpendicular to the edge is the normal force. */
static int walk_edge(walk *w)
{
  mesh_relaxation *r = w->out;
  const int        a = (w->side + 1) % 3, b = (w->side + 2) % 3;
  const double    *A = corner(w, a), *B = corner(w, b);
  double           e[3], z[3], m[3];
  v3_sub(e, B, A);
  v3_sub(z, w->on.Z, A);
  const double ee = v3_dot(e, e);
  if (!(ee > DBL_MIN)) return 0;
  const double u = r->at.weight[b], u_W = v3_dot(z, e) / ee;
  v3_copy(m, z);
  v3_axpy(m, -u_W, e);
  const double mu = pull_edge_friction(&w->on, r->at.triangle, w->side), reach = mu * v3_norm(m) / sqrt(ee);
  if (!(fabs(u - u_W) > reach)) return 0;
  const double sigma = u > u_W ? 1.0 : -1.0, hat = u_W + sigma * reach;
  if (hat < 0.0 || hat > 1.0) {
    snap_to_corner(w, hat < 0.0 ? a : b);
    return AT_VERTEX;
  }
  r->at.weight[w->side] = 0.0;
  r->at.weight[a]       = 1.0 - hat;
  r->at.weight[b]       = hat;
  if (w->with_derivatives) differentiate_edge(w, a, b, e, m, u_W, sigma * mu);
  return 0;
}

/* ---- at a vertex --------------------------------------------------------------------------------------------------------- */

static void stand_on(walk *w, int32_t triangle, int v)
{
  w->out->at.triangle = triangle;
  for (int i = 0; i < 3; ++i) w->out->at.weight[i] = i == v;
}

/* The triangle at the vertex in which the tangential force exceeds friction most, or -1. */
static int32_t best_triangle(const walk *w, int32_t vertex)
{
  const triangle_topology *t      = w->on.mesh;
  int32_t                  best   = -1;
  double                   margin = 0.0;
  for (int32_t j = t->fan_start[vertex]; j < t->fan_start[vertex + 1]; ++j) {
    const int32_t *c       = t->tri + 3 * (int64_t)t->fan[j];
    const int      v       = triangle_topology_corner(t, t->fan[j], vertex);
    const double  *P[3]    = {w->on.x + 3 * (int64_t)c[0], w->on.x + 3 * (int64_t)c[1], w->on.x + 3 * (int64_t)c[2]};
    const double   beta[3] = {v == 0, v == 1, v == 2};
    triangle_pull  p;
    if (!pull_in_triangle(&w->on, P, c, beta, &p)) continue;
    const double h = w->on.cone->mu * fabs(p.phi);
    if (!(p.r > h * (1.0 + vertex_tolerance)) || !(p.lambda[(v + 1) % 3] > vertex_tolerance) || !(p.lambda[(v + 2) % 3] > vertex_tolerance))
      continue;
    if (best >= 0 && !(p.r - h > margin)) continue;
    best   = t->fan[j];
    margin = p.r - h;
  }
  return best;
}

/* The edge at the vertex along which the tangential force exceeds friction most: its triangle, or -1, and *side of this triangle. */
static int32_t best_edge(const walk *w, int32_t vertex, int *side)
{
  const triangle_topology *t      = w->on.mesh;
  int32_t                  best   = -1;
  double                   margin = 0.0, z[3];
  v3_sub(z, w->on.Z, w->on.x + 3 * (int64_t)vertex);
  for (int32_t j = t->fan_start[vertex]; j < t->fan_start[vertex + 1]; ++j) {
    const int v = triangle_topology_corner(t, t->fan[j], vertex);
    for (int k = 1; k < 3; ++k) {
      /* from corner v to corner v + k; the other corner is opposite. Each edge once: backwards only at a border. */
      const int     opposite = (v + 3 - k) % 3;
      const int64_t first    = 3 * (int64_t)t->fan[j];
      double        e[3], m[3];
      if (k == 2 && t->neighbor[first + opposite] >= 0) continue;
      v3_sub(e, w->on.x + 3 * (int64_t)t->tri[first + (v + k) % 3], w->on.x + 3 * (int64_t)vertex);
      const double length = v3_norm(e);
      if (!(length > DBL_MIN)) continue;
      const double along = v3_dot(z, e) / length;
      v3_copy(m, z);
      v3_axpy(m, -along / length, e);
      const double h = pull_edge_friction(&w->on, t->fan[j], opposite) * v3_norm(m);
      if (!(along > h * (1.0 + vertex_tolerance) + vertex_tolerance * length)) continue;
      if (best >= 0 && !(along - h > margin)) continue;
      best   = t->fan[j];
      *side  = opposite;
      margin = along - h;
    }
  }
  return best;
}

/* Whether contact ends at a border vertex from which the attachment cannot continue: the spring force exceeds friction in the plane of the
 * mean normal. */
static bool leaves_over_vertex(const walk *w, int32_t vertex)
{
  const triangle_topology *t         = w->on.mesh;
  double                   n[3]      = {0.0, 0.0, 0.0}, z[3];
  bool                     is_border = false;
  for (int32_t j = t->fan_start[vertex]; j < t->fan_start[vertex + 1]; ++j) {
    const int v = triangle_topology_corner(t, t->fan[j], vertex);
    for (int k = 1; k < 3; ++k) is_border |= t->neighbor[3 * (int64_t)t->fan[j] + (v + k) % 3] < 0;
    pull_add_normal(&w->on, t->fan[j], v, n);
  }
  const double length = v3_norm(n);
  if (!is_border || !(length > 0.0)) return false;
  v3_sub(z, w->on.Z, w->on.x + 3 * (int64_t)vertex);
  const double size = v3_norm(z), h = fabs(v3_dot(z, n)) / length, mu_across = w->on.cone->mu_across;
  const double mu = mu_across > 0.0 ? fmin(w->on.cone->mu, mu_across) : w->on.cone->mu;
  return sqrt(fmax(0.0, size * size - h * h)) > mu * h + vertex_tolerance * size;
}

/* Whether the tangential force points outwards across a border side. */
static bool leaves_over_side(const walk *w)
{
  const mesh_relaxation *r    = w->out;
  const double          *P[3] = {corner(w, 0), corner(w, 1), corner(w, 2)};
  triangle_pull          p;
  return w->on.mesh->neighbor[3 * (int64_t)r->at.triangle + w->side] < 0 &&
         pull_in_triangle(&w->on, P, w->on.mesh->tri + 3 * (int64_t)r->at.triangle, r->at.weight, &p) &&
         p.lambda[w->side] < -vertex_tolerance;
}

static int walk_vertex(walk *w)
{
  const mesh_attachment *at     = &w->out->at;
  const int              v      = at->weight[0] == 1.0 ? 0 : at->weight[1] == 1.0 ? 1 : 2;
  const int32_t          vertex = w->on.mesh->tri[3 * (int64_t)at->triangle + v], triangle = best_triangle(w, vertex);
  if (triangle >= 0) {
    stand_on(w, triangle, triangle_topology_corner(w->on.mesh, triangle, vertex));
    w->entry = -1;
    return ENTERED;
  }
  const int32_t edge = best_edge(w, vertex, &w->side);
  if (edge < 0) return !w->is_bounded && leaves_over_vertex(w, vertex) ? PAST_BORDER : 0;
  stand_on(w, edge, triangle_topology_corner(w->on.mesh, edge, vertex));
  return !w->is_bounded && leaves_over_side(w) ? PAST_BORDER : ALONG_EDGE;
}

/* ---- end of the path ---- */

/* Pseudo-normals; their sign separates inside from outside at the nearest point [BaerentzenAanaes2005]. */
static void normal_at_end(const walk *w, int place, double n[3])
{
  const triangle_topology *t     = w->on.mesh;
  const mesh_attachment   *at    = &w->out->at;
  const int64_t            first = 3 * (int64_t)at->triangle;
  v3_set(n, 0.0, 0.0, 0.0);
  if (place == AT_VERTEX) {
    const int32_t vertex = t->tri[first + (at->weight[0] == 1.0 ? 0 : at->weight[1] == 1.0 ? 1 : 2)];
    for (int32_t j = t->fan_start[vertex]; j < t->fan_start[vertex + 1]; ++j)
      pull_add_normal(&w->on, t->fan[j], triangle_topology_corner(t, t->fan[j], vertex), n);
  } else {
    pull_add_normal(&w->on, at->triangle, -1, n);
    if (place == ALONG_EDGE && t->neighbor[first + w->side] >= 0) pull_add_normal(&w->on, t->neighbor[first + w->side], -1, n);
  }
  const double length = v3_norm(n);
  if (length > 0.0) v3_scale(n, 1.0 / length, n);
}

void relax_mesh(const triangle_topology *mesh, const double *x, double mu, const mesh_attachment *X, const double Z[3],
                bool with_derivatives, mesh_relaxation *out)
{
  const relax_cone round = {.mu = mu};
  relax_mesh_cone(mesh, x, &round, x, X, Z, with_derivatives, out);
}

relax_cone relax_mesh_cone_in(const triangle_topology *mesh, const double *x, const relax_cone *cone, const double *rest, int32_t triangle)
{
  const pulled_surface on   = {.mesh = mesh, .x = x, .cone = cone, .rest = rest};
  const int32_t       *v    = mesh->tri + 3 * (int64_t)triangle;
  const double        *P[3] = {x + 3 * (int64_t)v[0], x + 3 * (int64_t)v[1], x + 3 * (int64_t)v[2]};
  const pull_metric    m    = pull_metric_of(&on, P, v);
  relax_cone           in   = *cone;
  if (v3_dot(m.t, m.t) > 0.0) v3_copy(in.direction, m.t);
  else v3_set(in.direction, 0.0, 0.0, 0.0), pull_add_normal(&on, triangle, -1, in.direction);
  return in;
}

void relax_mesh_cone(const triangle_topology *mesh, const double *x, const relax_cone *cone, const double *rest, const mesh_attachment *X,
                     const double Z[3], bool with_derivatives, mesh_relaxation *out)
{
  relax_mesh_cone_entering(mesh, x, cone, rest, X, NULL, Z, with_derivatives, out);
}

static void relax(const pulled_surface *on, bool is_bounded, const mesh_attachment *X, const double (*X_d)[12], bool with_derivatives,
                  mesh_relaxation *out)
{
  walk   w     = {*on, is_bounded, with_derivatives, out, -1, -1};
  int    place = ON_TRIANGLE, next = ON_TRIANGLE;
  double pull[3];
  out->at        = *X;
  out->n_places  = 0;
  out->is_capped = false;
  forget_derivatives(&w);
  if (with_derivatives && X_d) {
    int col[3];
    corner_columns(&w, col);
    for (int i = 0; i < 3; ++i) {
      v3_copy(out->d_weight[i], X_d[i]);
      for (int k = 0; k < 3; ++k) v3_copy(out->d_weight[i] + 3 * col[k], X_d[i] + 3 + 3 * k);
    }
  }
  while (next && out->n_places <= RELAX_MESH_MAX_MOVES) {
    place                       = next;
    out->place[out->n_places++] = (uint8_t)place;
    if (place == PAST_BORDER) next = 0;
    else if (place == AT_VERTEX) next = walk_vertex(&w);
    else if (place == ALONG_EDGE) next = walk_edge(&w);
    else next = walk_triangle(&w, place == ENTERED);
  }
  out->is_capped = next != 0;
  out->has_left  = place == PAST_BORDER;
  if (out->is_capped) forget_derivatives(&w);
  if (with_derivatives) {
    int col[3];
    corner_columns(&w, col);
  }
  v3_set(out->Y, 0.0, 0.0, 0.0);
  for (int i = 0; i < 3; ++i) v3_axpy(out->Y, out->at.weight[i], corner(&w, i));
  normal_at_end(&w, place, out->normal);
  v3_sub(pull, on->Z, out->Y);
  if (out->has_left || !(v3_dot(pull, out->normal) < 0.0)) out->state = RELAX_INACTIVE;
  else out->state = mesh_attachment_equal(&out->at, X) ? RELAX_STICK : RELAX_SLIDE;
}

void relax_mesh_cone_entering(const triangle_topology *mesh, const double *x, const relax_cone *cone, const double *rest,
                              const mesh_attachment *X, const double (*X_d)[12], const double Z[3], bool with_derivatives,
                              mesh_relaxation *out)
{
  relax(&(pulled_surface){mesh, x, Z, cone, rest}, false, X, X_d, with_derivatives, out);
}

void relax_mesh_bounded(const triangle_topology *mesh, const double *x, double mu, const mesh_attachment *X, const double (*X_d)[12],
                        const double Z[3], bool with_derivatives, mesh_relaxation *out)
{
  const relax_cone round = {.mu = mu};
  relax(&(pulled_surface){mesh, x, Z, &round, x}, true, X, X_d, with_derivatives, out);
}

void mesh_relaxation_block(const triangle_topology *mesh, const double *x, const mesh_relaxation *r, int j, double block[9])
{
  const int32_t *c = mesh->tri + 3 * (int64_t)r->at.triangle;
  m3_zero(block);
  for (int i = 0; i < 3; ++i) {
    double        arm[3]; /* the sum of the gradients is zero, so the origin is arbitrary; a near one avoids cancellation */
    const double *d = r->d_weight[i] + 3 * j;
    v3_sub(arm, x + 3 * (int64_t)c[i], x + 3 * (int64_t)c[0]);
    for (int a = 0; a < 3; ++a)
      for (int b = 0; b < 3; ++b) block[3 * a + b] += arm[a] * d[b];
    if (j > 0 && r->node[j - 1] == c[i])
      for (int a = 0; a < 3; ++a) block[4 * a] += r->at.weight[i];
  }
}

relax_chain relax_chain_of(const mesh_relaxation *r)
{
  relax_chain chain = 0;
  for (int i = 0; i < r->n_places; ++i) chain = chain << 4 | r->place[i];
  return chain;
}
