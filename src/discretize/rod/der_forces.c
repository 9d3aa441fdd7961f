/* Forces of discrete elastic rods, and their tangents. */
#include "core/math3.h"
#include "discretize/rod/der_strand.h"
#include "discretize/rod/rod_spring.h"

/* Block (p, q) of the tangent += s M. */
static void add_block(const rod_body *b, int64_t p, int64_t q, double s, const double M[9])
{
  m3_axpy(rod_body_block(b, p, q), s, M);
}

static void add_inertia(const rod_body *b, const der_strand *w, const double *u, double *g, bool with_tangent)
{
  const double damping = 1.0 + b->dt * b->mass_damping;
  for (int64_t i = w->first_block; i < b->block_start[w->s + 1]; ++i) {
    double *diagonal = with_tangent ? rod_body_block(b, i, i) : NULL;
    for (int k = 0; k < 3; ++k) {
      const int64_t c = 3 * i + k;
      g[c] += b->inertia[c] * (damping * u[c] - b->u[c]);
      if (diagonal) diagonal[4 * k] += b->inertia[c] * damping;
    }
  }
  for (int64_t i = 0; i < w->n; ++i) v3_axpy(g + 3 * der_block_of(w, i), -b->dt * b->mass[w->first_node + i], b->gravity);
}

static bool add_stretch(const rod_body *b, const der_strand *w, double *g, bool with_tangent)
{
  const double share = b->stiffness_damping / b->dt;
  for (int64_t j = 0; j < w->n_edges; ++j) {
    const int64_t p = der_block_of(w, j), q = der_block_of(w, (j + 1) % w->n), k = w->first_edge + j;
    const double  l = b->strands.length[k], rest = l * rod_damped_rest(share, 1.0, 1.0 + w->d->stretched[k]);
    double        d[3], f[3], K[9];
    v3_sub(d, b->trial + 3 * q, b->trial + 3 * p);
    if (!(v3_norm(d) > 1e-9 * l)) return false;
    rod_spring(d, b->section.stretch * (1.0 + share) / l, rest, b->is_definite, f, with_tangent ? K : NULL);
    v3_axpy(g + 3 * q, b->dt, f);
    v3_axpy(g + 3 * p, -b->dt, f);
    if (!with_tangent) continue;
    add_block(b, p, p, b->dt * b->dt, K);
    add_block(b, q, q, b->dt * b->dt, K);
    add_block(b, p, q, -b->dt * b->dt, K);
    add_block(b, q, p, -b->dt * b->dt, K);
  }
  return true;
}

/* What frames carried from the start of the step turn by, beyond what their transport at its end says: psi'.de about the edge. */
static void carried_turn(const der_strand *w, int64_t j, const der_edge *e, double psi[3])
{
  const double *t0 = w->d->t + 3 * (w->first_edge + j);
  v3_cross(psi, t0, e->t);
  v3_scale(psi, -1.0 / ((1.0 + v3_dot(t0, e->t)) * e->length), psi);
}

/* From kappa to what bends are measured by: gradients, and the moments of kappa_1 and kappa_2 that those of `moment` are; H += what that map's own curvature
 * gives, unless NULL. */
static void measure_by_angle(const der_vertex *v, const double moment[DER_STRAINS], double g[DER_STRAINS][DER_VARIABLES], double weight[DER_STRAINS],
                             double (*H)[DER_VARIABLES])
{
  double s[2], J[2][2], D[2][2];
  der_bend_angle(v->kappa, s, J, moment, D);
  for (int l = 0; l < 2; ++l) weight[l] = moment[0] * J[0][l] + moment[1] * J[1][l];
  for (int p = 0; p < DER_VARIABLES && H; ++p)
    for (int q = 0; q < DER_VARIABLES; ++q)
      for (int l = 0; l < 2; ++l) H[p][q] += (D[l][0] * g[0][q] + D[l][1] * g[1][q]) * g[l][p];
  for (int p = 0; p < DER_VARIABLES; ++p) {
    const double g0 = g[0][p], g1 = g[1][p];
    for (int k = 0; k < 2; ++k) g[k][p] = J[k][0] * g0 + J[k][1] * g1;
  }
}

/* H by (e0, e1, theta0, theta1), from the Gauss-Newton part to all of it. */
static void complete_hessian(const der_strand *w, const int64_t edge[2], const der_vertex *v, const double weight[DER_STRAINS],
                             const double f[DER_VARIABLES], double H[DER_VARIABLES][DER_VARIABLES])
{
  der_vertex_hessian(v, weight, H);
  for (int j = 0; j < 2; ++j) {
    double       skew[9], psi[3];
    const double torque = f[6 + j];
    if (edge[j] < 0) continue;
    m3_skew(skew, v->e[j].t);
    for (int i = 0; i < 9; ++i) H[3 * j + i / 3][3 * j + i % 3] += 0.5 * torque / (v->e[j].length * v->e[j].length) * skew[i];
    carried_turn(w, edge[j], &v->e[j], psi);
    for (int i = 0; i < DER_VARIABLES; ++i)
      for (int k = 0; k < 3; ++k) H[i][3 * j + k] += H[i][6 + j] * psi[k];
  }
}

/* Nodes before, at and after in terms of the two edges. */
static const double edge_sign[3][2] = {{-1.0, 0.0}, {1.0, -1.0}, {0.0, 1.0}};

static void add_vertex_tangent(const rod_body *b, const int32_t *slot, const int64_t edge[2], double H[DER_VARIABLES][DER_VARIABLES])
{
  const double s = b->dt * b->dt;
  for (int p = 0; p < 3; ++p)
    for (int q = 0; q < 3; ++q) {
      if (slot[DER_VERTEX_BLOCKS * p + q] < 0) continue;
      double *to = b->value + 9 * (int64_t)slot[DER_VERTEX_BLOCKS * p + q];
      for (int i = 0; i < 9; ++i) {
        double sum = 0.0;
        for (int a = 0; a < 2; ++a)
          for (int c = 0; c < 2; ++c)
            if (edge[a] >= 0 && edge[c] >= 0) sum += edge_sign[p][a] * edge_sign[q][c] * H[3 * a + i / 3][3 * c + i % 3];
        to[i] += s * sum;
      }
    }
  for (int j = 0; j < 2; ++j) {
    if (edge[j] < 0) continue;
    const int c = (int)(edge[j] % 3);
    for (int p = 0; p < 3; ++p) {
      if (slot[DER_VERTEX_BLOCKS * p + 3 + j] < 0) continue;
      double *column = b->value + 9 * (int64_t)slot[DER_VERTEX_BLOCKS * p + 3 + j], *row = b->value + 9 * (int64_t)slot[DER_VERTEX_BLOCKS * (3 + j) + p];
      for (int a = 0; a < 2; ++a)
        for (int i = 0; i < 3 && edge[a] >= 0; ++i) {
          column[3 * i + c] += s * edge_sign[p][a] * H[3 * a + i][6 + j];
          row[3 * c + i] += s * edge_sign[p][a] * H[6 + j][3 * a + i];
        }
    }
    for (int k = 0; k < 2; ++k)
      if (edge[k] >= 0) b->value[9 * (int64_t)slot[DER_VERTEX_BLOCKS * (3 + j) + 3 + k] + 3 * c + edge[k] % 3] += s * H[6 + j][6 + k];
  }
}

static bool add_vertices(const rod_body *b, const der_strand *w, double *g, bool with_tangent)
{
  const double share = b->stiffness_damping / b->dt, factor = 1.0 + share;
  for (int64_t i = 0; i < w->n; ++i) {
    const int64_t at = w->first_node + i;
    der_vertex    v;
    int64_t       edge[2];
    double        strain[DER_STRAINS], twist, gradient[DER_STRAINS][DER_VARIABLES], moment[DER_STRAINS], weight[DER_STRAINS], f[DER_VARIABLES] = {0.0};
    double        H[DER_VARIABLES][DER_VARIABLES] = {{0.0}};
    if (!der_is_vertex(w, i)) continue;
    if (!der_pose_vertex(w, b->trial, i, &v, strain, &twist)) return false;
    der_vertex_gradient(&v, gradient);
    der_edges_at(w, i, edge);
    for (int k = 0; k < DER_STRAINS; ++k)
      weight[k] = moment[k] = factor * w->d->stiffness[3 * at + k] * (strain[k] - rod_damped_rest(share, w->d->natural[3 * at + k], w->d->start[3 * at + k]));
    if (w->d->by_angle) measure_by_angle(&v, moment, gradient, weight, with_tangent && !b->is_definite ? H : NULL);
    for (int k = 0; k < DER_STRAINS; ++k)
      for (int p = 0; p < DER_VARIABLES; ++p) f[p] += moment[k] * gradient[k][p];
    for (int j = 0; j < 2; ++j) {
      if (edge[j] < 0) continue;
      v3_axpy(g + 3 * der_block_of(w, edge[j]), -b->dt, f + 3 * j);
      v3_axpy(g + 3 * der_block_of(w, (edge[j] + 1) % w->n), b->dt, f + 3 * j);
      g[der_angle_at(w, edge[j])] += b->dt * f[6 + j];
    }
    if (!with_tangent) continue;
    for (int p = 0; p < DER_VARIABLES; ++p)
      for (int q = 0; q < DER_VARIABLES; ++q)
        for (int k = 0; k < DER_STRAINS; ++k) H[p][q] += factor * w->d->stiffness[3 * at + k] * gradient[k][p] * gradient[k][q];
    if (!b->is_definite) complete_hessian(w, edge, &v, weight, f, H);
    add_vertex_tangent(b, w->d->slot + DER_VERTEX_BLOCKS * DER_VERTEX_BLOCKS * at, edge, H);
  }
  return true;
}

/* Forces on the ends; moments as pairs of forces on the last edge, and what is left, M.t, on its angle. */
static bool add_end_loads(const rod_body *b, const der_strand *w, double *g, bool with_tangent)
{
  for (int k = 0; k < 2; ++k) {
    const double *M = b->end[k].moment, dt = b->dt;
    const int64_t j = k == 0 ? 0 : w->n_edges - 1, p = der_block_of(w, j), q = der_block_of(w, j + 1), c = der_angle_at(w, j), block = c / 3;
    v3_axpy(g + 3 * (k == 0 ? p : q), -dt, b->end[k].force);
    if (!(v3_norm(M) > 0.0)) continue;
    double e[3], f[3], K[9];
    v3_sub(e, b->trial + 3 * q, b->trial + 3 * p);
    const double ee = v3_dot(e, e), L = sqrt(ee);
    if (!(ee > 0.0)) return false;
    rod_couple(M, e, f, with_tangent ? K : NULL);
    v3_axpy(g + 3 * q, -dt, f);
    v3_axpy(g + 3 * p, dt, f);
    g[c] -= dt * v3_dot(M, e) / L;
    if (!with_tangent || b->is_definite) continue;
    add_block(b, q, q, -dt * dt, K);
    add_block(b, p, p, -dt * dt, K);
    add_block(b, p, q, dt * dt, K);
    add_block(b, q, p, dt * dt, K);
    double *left = rod_body_block(b, block, p), *right = rod_body_block(b, block, q);
    for (int i = 0; i < 3; ++i) {
      const double slope = dt * dt * (M[i] - e[i] * v3_dot(M, e) / ee) / L;
      left[3 * (c % 3) + i] += slope, right[3 * (c % 3) + i] -= slope;
    }
  }
  return true;
}

bool der_residual(rod_body *b, int64_t s, const double *u, double *g, bool with_tangent)
{
  const der_strand w = der_strand_of(b, s);
  add_inertia(b, &w, u, g, with_tangent);
  return add_stretch(b, &w, g, with_tangent) && add_vertices(b, &w, g, with_tangent) && (w.is_closed || add_end_loads(b, &w, g, with_tangent));
}
