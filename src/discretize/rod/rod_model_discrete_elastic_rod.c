/* Discrete elastic rods [Bergou2008], [Bergou2010]. The unknowns are the nodes, and per edge the angle theta of the material
 * frame against a reference frame. The reference frame follows the direction of its edge from step to step by parallel transport.
 *
 *    E = sum over edges of ES l (|e|/l - 1)^2 / 2 + sum over vertices of (B_1 (kappa_1 - k_1)^2 + B_2 (kappa_2 - k_2)^2 + C (m - m0)^2) / (2 L)
 *
 * L is half the sum of the lengths of the two edges. m = theta_1 - theta_0 + the twist of the reference frames, on the branch it had at the start
 * of the step. A clamp is a vertex as well, between the clamp's direction and director and the first edge, with half the length of this edge.
 * Therefore the clamp prescribes the direction at the end point itself, and the discretisation is of second order in l.
 *
 * Stiffness damping beta acts on strains, -beta c (strain - strain at the start) / dt. This equals a stiffer spring with another
 * rest strain; rigid rotation is not damped.
 *
 * Forces are evaluated in the frames at the end of the step. Frames transported from the start of the step rotate by an additional -(kappa b of the
 * old and the new direction).de / (2 |e|) that the derivatives of the strains do not contain. The tangent includes this term; hence it is exact and
 * not symmetric. If it must be definite, it is the Gauss-Newton part, with a projected stretch term.
 *
 * Blocks: groups of three nodes, with their three angles in one block between them: x0 x1 (theta0 theta1 theta2) x2 x3 x4 (theta3
 * ...) x5. Coupled blocks are at most four apart. Angles that do not exist, up to two at the end of a strand, stay at zero. */
#include "core/math3.h"
#include "core/memory.h"
#include "discretize/rod/der_vertex.h"
#include "discretize/rod/rod_body.h"
#include "discretize/rod/rod_spring.h"

enum { DER_VERTEX_BLOCKS = 5 }; /* nodes before, at, after; angles before, after */

typedef struct {
  /* Per segment. */
  double *frame; /* [n_segments][3] first director of the reference, at the start of the step */
  double *t;     /* [n_segments][3] unit direction at the start of the step */
  /* Per node; a free end is not a vertex. */
  double  *stiffness; /* [n_nodes][3] of kappa_1, kappa_2, twist [J]; -1 at free ends */
  double  *natural;   /* [n_nodes][3] */
  double  *twist;     /* [n_nodes] twist of the reference frames at the start of the step, on any branch */
  double  *start;     /* [n_nodes][3] strains at the start of the step */
  double  *stretched; /* [n_segments] stretch at the start of the step */
  bool     by_angle;  /* bending strains are angles, not 2 tan of half the angle */
  double  *director;  /* [n_nodes][3] for frames: first axis of the section, of the edge after the node */
  int32_t *slot;      /* [n_nodes][DER_VERTEX_BLOCKS^2] positions of the vertex's blocks in the matrix; -1: absent */
} der;

static inline der *der_of(const rod_body *b) { return b->state; }

/* Number of blocks of a strand with n nodes; block of its node i and of the angle of its edge j, relative to its first block. */
static inline int64_t der_count_blocks(int64_t n, bool is_closed)
{
  const int64_t edges = is_closed ? n : n - 1;
  return n + (edges + 2) / 3;
}
static inline int64_t der_node_block(int64_t i, int64_t n, bool is_closed)
{
  const int64_t natural = 4 * (i / 3) + (i % 3 == 2 ? 3 : i % 3), last = der_count_blocks(n, is_closed) - 1;
  return natural < last ? natural : last;
}
static inline int64_t der_angle_block(int64_t j, int64_t n, bool is_closed)
{
  const int64_t natural = 4 * (j / 3) + 2, last = der_count_blocks(n, is_closed) - 1;
  return natural < last ? natural : last;
}

/* One strand, with indices of its first node, edge and block. */
typedef struct {
  const rod_body *b;
  der            *d;
  int64_t         s, n, n_edges, first_node, first_edge, first_block;
  bool            is_closed;
} der_strand;

static inline der_strand der_strand_of(const rod_body *b, int64_t s)
{
  const rod_strands *r = &b->strands;
  const int64_t      n = r->node_start[s + 1] - r->node_start[s];
  return (der_strand){b, der_of(b), s, n, r->is_closed ? n : n - 1, r->node_start[s], r->segment_start[s], b->block_start[s], r->is_closed};
}
/* Component of theta_j among the unknowns. */
static inline int64_t der_angle_at(const der_strand *w, int64_t j)
{
  return 3 * (w->first_block + der_angle_block(j, w->n, w->is_closed)) + j % 3;
}
static inline int64_t       der_block_of(const der_strand *w, int64_t i) { return w->first_block + der_node_block(i, w->n, w->is_closed); }
static inline const double *der_node_at(const der_strand *w, const double *q, int64_t i) { return q + 3 * der_block_of(w, i); }
static inline bool          der_is_vertex(const der_strand *w, int64_t i) { return w->d->stiffness[3 * (w->first_node + i)] >= 0.0; }
/* Edges before and after node i; -1: the clamp. */
static inline void der_edges_at(const der_strand *w, int64_t i, int64_t edge[2])
{
  edge[0] = i > 0 ? i - 1 : w->is_closed ? w->n - 1 : -1;
  edge[1] = i < w->n_edges ? i : -1;
}

/* An edge with its frames at coordinates q. */
typedef struct {
  der_edge e;
  double   reference[3]; /* first director of the reference frame */
} der_posed;

/* Frames of edge j at coordinates q. Returns false where the edge has no length. */
static bool der_pose_edge(const der_strand *w, const double *q, int64_t j, der_posed *out)
{
  double        d[3], second[3];
  const int64_t k = w->first_edge + j;
  v3_sub(d, der_node_at(w, q, (j + 1) % w->n), der_node_at(w, q, j));
  out->e.length = v3_norm(d);
  if (!(out->e.length > 1e-9 * w->b->strands.length[k])) return false;
  v3_scale(out->e.t, 1.0 / out->e.length, d);
  v3_copy(out->reference, w->d->frame + 3 * k);
  rod_transport(w->d->t + 3 * k, out->e.t, out->reference, out->reference);
  v3_cross(second, out->e.t, out->reference);
  const double theta = q[der_angle_at(w, j)], c = cos(theta), s = sin(theta);
  for (int i = 0; i < 3; ++i) {
    out->e.m1[i] = c * out->reference[i] + s * second[i];
    out->e.m2[i] = -s * out->reference[i] + c * second[i];
  }
  return true;
}

/* The edge that represents a clamp: k = 0 before the first edge, 1 after the last. */
static void pose_clamp(const der_strand *w, int k, der_posed *out)
{
  const rod_clamp *c = &w->b->clamp[2 * w->s + k];
  out->e.length      = 1.0; /* any value: no derivative with respect to it is used */
  v3_copy(out->e.t, c->tangent);
  v3_copy(out->e.m1, c->director);
  v3_copy(out->reference, c->director);
  v3_cross(out->e.m2, out->e.t, out->e.m1);
}

/* Angle from the transported first reference frame to the second one, on the branch closest to `near`. */
static double reference_twist(const der_posed e[2], double near)
{
  double carried[3], cross[3];
  rod_transport(e[0].e.t, e[1].e.t, e[0].reference, carried);
  v3_cross(cross, carried, e[1].reference);
  const double angle = atan2(v3_dot(cross, e[1].e.t), v3_dot(carried, e[1].reference));
  return near + remainder(angle - near, 2.0 * M_PI);
}

/* Vertex i at coordinates q with its strains; *twist is that of the reference frames. Returns false where an edge has no length
 * or the curve reverses its direction. */
static bool der_pose_vertex(const der_strand *w, const double *q, int64_t i, der_vertex *v, double strain[DER_STRAINS], double *twist)
{
  int64_t   edge[2];
  der_posed e[2];
  der_edges_at(w, i, edge);
  for (int k = 0; k < 2; ++k) {
    if (edge[k] < 0) pose_clamp(w, k, &e[k]);
    else if (!der_pose_edge(w, q, edge[k], &e[k])) return false;
    v->e[k] = e[k].e;
  }
  if (!der_vertex_set(v)) return false;
  *twist    = reference_twist(e, w->d->twist[w->first_node + i]);
  strain[0] = v->kappa[0], strain[1] = v->kappa[1];
  if (w->d->by_angle) {
    double J[2][2];
    der_bend_angle(v->kappa, strain, J, NULL, NULL);
  }
  strain[2] = (edge[1] < 0 ? 0.0 : q[der_angle_at(w, edge[1])]) - (edge[0] < 0 ? 0.0 : q[der_angle_at(w, edge[0])]) + *twist;
  return true;
}

/* ---- forces and tangents --------------------------------------------------------------------------------------------------- */

/* Block (p, q) of the tangent += s M. */
static void add_block(const rod_body *b, int64_t p, int64_t q, double s, const double M[9]) { m3_axpy(rod_body_block(b, p, q), s, M); }

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

/* Additional rotation of a frame transported from the start of the step, compared with transport at its end: psi.de about the edge. */
static void transport_correction(const der_strand *w, int64_t j, const der_edge *e, double psi[3])
{
  const double *t0 = w->d->t + 3 * (w->first_edge + j);
  v3_cross(psi, t0, e->t);
  v3_scale(psi, -1.0 / ((1.0 + v3_dot(t0, e->t)) * e->length), psi);
}

/* Chain rule from kappa to bending angles: gradients, and the moments of kappa_1 and kappa_2 that correspond to `moment`; H +=
 * the second derivative of the map, unless H is NULL. */
static void convert_to_angles(const der_vertex *v, const double moment[DER_STRAINS], double g[DER_STRAINS][DER_VARIABLES],
                              double weight[DER_STRAINS], double (*H)[DER_VARIABLES])
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

/* Complete H with respect to (e0, e1, theta0, theta1) from its Gauss-Newton part to the exact derivative. */
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
    transport_correction(w, edge[j], &v->e[j], psi);
    for (int i = 0; i < DER_VARIABLES; ++i)
      for (int k = 0; k < 3; ++k) H[i][3 * j + k] += H[i][6 + j] * psi[k];
  }
}

/* Coefficients of the nodes before, at and after the vertex in the two edges. */
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
      double *column = b->value + 9 * (int64_t)slot[DER_VERTEX_BLOCKS * p + 3 + j],
             *row    = b->value + 9 * (int64_t)slot[DER_VERTEX_BLOCKS * (3 + j) + p];
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
    double        strain[DER_STRAINS], twist, gradient[DER_STRAINS][DER_VARIABLES], moment[DER_STRAINS], weight[DER_STRAINS],
        f[DER_VARIABLES]                   = {0.0};
    double H[DER_VARIABLES][DER_VARIABLES] = {{0.0}};
    if (!der_is_vertex(w, i)) continue;
    if (!der_pose_vertex(w, b->trial, i, &v, strain, &twist)) return false;
    der_vertex_gradient(&v, gradient);
    der_edges_at(w, i, edge);
    for (int k = 0; k < DER_STRAINS; ++k)
      weight[k] = moment[k] =
          factor * w->d->stiffness[3 * at + k] * (strain[k] - rod_damped_rest(share, w->d->natural[3 * at + k], w->d->start[3 * at + k]));
    if (w->d->by_angle) convert_to_angles(&v, moment, gradient, weight, with_tangent && !b->is_definite ? H : NULL);
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

/* Forces on the ends. A moment acts as a pair of forces on the last edge, and its remaining component M.t acts on the angle of the edge. */
static bool add_end_loads(const rod_body *b, const der_strand *w, double *g, bool with_tangent)
{
  for (int k = 0; k < 2; ++k) {
    const double *M = b->end[k].moment, dt = b->dt;
    const int64_t j = k == 0 ? 0 : w->n_edges - 1, p = der_block_of(w, j), q = der_block_of(w, j + 1), c = der_angle_at(w, j),
                  block = c / 3;
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

/* rod_model.residual */
static bool der_residual(rod_body *b, int64_t s, const double *u, double *g, bool with_tangent)
{
  const der_strand w = der_strand_of(b, s);
  add_inertia(b, &w, u, g, with_tangent);
  return add_stretch(b, &w, g, with_tangent) && add_vertices(b, &w, g, with_tangent) &&
         (w.is_closed || add_end_loads(b, &w, g, with_tangent));
}

/* ---- creation -------------------------------------------------------------------------------------------------------------- */

static PetscErrorCode allocate_state(rod_body *b, const rod_body_spec *spec)
{
  der *d;
  PetscFunctionBegin;
  PetscCall(memory_alloc("discrete elastic rods", 1, sizeof *d, &d));
  d->by_angle     = spec->bends == ROD_BENDS_ANGLE;
  b->state        = d;
  const int64_t n = b->strands.n_nodes, m = b->strands.n_segments;
  PetscCall(MEMORY_ALLOC("rod model discrete elastic rod", ARRAY(d->frame, 3 * m), ARRAY(d->t, 3 * m), ARRAY(d->stretched, m),
                         ARRAY(d->stiffness, 3 * n), ARRAY(d->natural, 3 * n), ARRAY(d->start, 3 * n), ARRAY(d->twist, n),
                         ARRAY(d->director, 3 * n), ARRAY(b->node_block, n)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void der_destroy(rod_body *b)
{
  der *d = der_of(b);
  MEMORY_FREE(&d->frame, &d->t, &d->stiffness, &d->natural, &d->twist, &d->start, &d->stretched, &d->slot, &d->director, &b->state);
}

/* Initial coordinates, inertia and frames of one strand. The section rotates with the body's initial angular velocity. */
static void set_strand(rod_body *b, const der_strand *w, const double spin[3])
{
  const rod_strands *r = &b->strands;
  for (int64_t i = 0; i < w->n; ++i) {
    const int64_t at                 = der_block_of(w, i);
    b->node_block[w->first_node + i] = (int32_t)at;
    v3_copy(b->q + 3 * at, b->x + 3 * (w->first_node + i));
    v3_copy(b->u + 3 * at, b->v + 3 * (w->first_node + i));
    v3_set(b->inertia + 3 * at, b->mass[w->first_node + i], b->mass[w->first_node + i], b->mass[w->first_node + i]);
  }
  for (int64_t j = 0; j < w->n_edges; ++j) {
    const int64_t k = w->first_edge + j;
    double       *t = w->d->t + 3 * k;
    v3_sub(t, b->x + 3 * (int64_t)r->segment[2 * k + 1], b->x + 3 * (int64_t)r->segment[2 * k]);
    v3_scale(t, 1.0 / v3_norm(t), t);
    v3_copy(w->d->frame + 3 * k, r->director + 3 * k);
    b->inertia[der_angle_at(w, j)] = b->section.inertia_per_length * r->length[k];
    b->u[der_angle_at(w, j)]       = v3_dot(spin, t);
  }
  for (int64_t c = 3 * w->first_block; c < 3 * b->block_start[w->s + 1]; ++c)
    if (b->inertia[c] == 0.0) b->inertia[c] = b->section.inertia_per_length * r->length[w->first_edge];
}

/* Stiffness and natural strains of the vertices of one strand. */
static bool set_vertices(rod_body *b, const der_strand *w)
{
  const rod_natural_spec *natural = &b->natural;
  for (int64_t i = 0; i < w->n; ++i) {
    const int64_t at = w->first_node + i;
    int64_t       edge[2];
    double        strain[DER_STRAINS], *rest = w->d->natural + 3 * at;
    der_vertex    v;
    der_edges_at(w, i, edge);
    const double l[2] = {edge[0] < 0 ? 0.0 : b->strands.length[w->first_edge + edge[0]],
                         edge[1] < 0 ? 0.0 : b->strands.length[w->first_edge + edge[1]]};
    const double L = 0.5 * (l[0] + l[1]), whole = hypot(natural->curvature[0], natural->curvature[1]);
    const double phi     = whole > 0.0 ? rod_chord_angle(whole, l[0], l[1]) : 0.0; /* bending strain of a circular arc, per curvature: */
    const double share   = whole > 0.0 ? (w->d->by_angle ? phi : 2.0 * tan(0.5 * phi)) / whole : L;
    const bool   is_free = (edge[0] < 0 && b->end[0].held != ROD_END_CLAMPED) || (edge[1] < 0 && b->end[1].held != ROD_END_CLAMPED);
    for (int k = 0; k < 3; ++k) w->d->stiffness[3 * at + k] = is_free ? -1.0 : (k < 2 ? b->section.bending[k] : b->section.twist) / L;
    if (is_free) continue;
    if (!der_pose_vertex(w, b->q, i, &v, strain, &w->d->twist[at])) return false;
    for (int k = 0; k < 3; ++k) {
      const double given = k < 2 ? natural->curvature[k] : natural->twist;
      rest[k]            = !isnan(given) ? given * (k < 2 ? share : L) : natural->shape == ROD_NATURAL_AS_DRAWN ? strain[k] : 0.0;
    }
  }
  return true;
}

/* Store the strains at b->q for damping and energy, because the clamps move in the next step. */
static void store_strains(rod_body *b, const der_strand *w)
{
  der_vertex v;
  double     twist;
  for (int64_t j = 0; j < w->n_edges; ++j) {
    double d[3];
    v3_sub(d, der_node_at(w, b->q, (j + 1) % w->n), der_node_at(w, b->q, j));
    w->d->stretched[w->first_edge + j] = v3_norm(d) / b->strands.length[w->first_edge + j] - 1.0;
  }
  for (int64_t i = 0; i < w->n; ++i)
    if (der_is_vertex(w, i)) (void)der_pose_vertex(w, b->q, i, &v, w->d->start + 3 * (w->first_node + i), &twist);
}

/* Blocks of the vertex at node i; -1: absent. */
static void blocks_of_vertex(const der_strand *w, int64_t i, int64_t block[DER_VERTEX_BLOCKS])
{
  int64_t edge[2];
  der_edges_at(w, i, edge);
  block[0] = edge[0] < 0 ? -1 : der_block_of(w, edge[0]);
  block[1] = der_block_of(w, i);
  block[2] = edge[1] < 0 ? -1 : der_block_of(w, (i + 1) % w->n);
  for (int k = 0; k < 2; ++k) block[3 + k] = edge[k] < 0 ? -1 : w->first_block + der_angle_block(edge[k], w->n, w->is_closed);
}

static PetscErrorCode der_create(rod_body *b, const body_request *r, diagnostics *d)
{
  const rod_body_spec *spec     = r->spec;
  int64_t              n_blocks = 0;
  PetscFunctionBegin;
  PetscCall(allocate_state(b, spec));
  for (int64_t s = 0; s < b->strands.n_strands; ++s)
    n_blocks += der_count_blocks(b->strands.node_start[s + 1] - b->strands.node_start[s], b->strands.is_closed);
  PetscCall(rod_body_set_blocks(b, n_blocks));
  for (int64_t s = 0; s < b->strands.n_strands; ++s) {
    b->block_start[s + 1] =
        b->block_start[s] + der_count_blocks(b->strands.node_start[s + 1] - b->strands.node_start[s], b->strands.is_closed);
    const der_strand w = der_strand_of(b, s);
    set_strand(b, &w, spec->angular_velocity);
    if (!set_vertices(b, &w)) {
      diagnostics_add_under(d, r->node, r->path, "curve", "strand %lld reverses its direction: move its points apart", (long long)s + 1);
      PetscFunctionReturn(PETSC_SUCCESS);
    }
    store_strains(b, &w);
    for (int64_t i = w.first_block; i < b->block_start[s + 1]; ++i) PetscCall(rod_body_couple(b, i, i));
    for (int64_t i = 0; i < w.n; ++i) {
      int64_t block[DER_VERTEX_BLOCKS];
      blocks_of_vertex(&w, i, block);
      for (int p = 0; p < DER_VERTEX_BLOCKS; ++p)
        for (int q = 0; q < p; ++q)
          if (block[p] >= 0 && block[q] >= 0) PetscCall(rod_body_couple(b, block[p], block[q]));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode der_finish(rod_body *b)
{
  der *d = der_of(b);
  enum { SLOTS = DER_VERTEX_BLOCKS * DER_VERTEX_BLOCKS };
  PetscFunctionBegin;
  PetscCall(memory_alloc("rod matrix", SLOTS * b->strands.n_nodes, sizeof *d->slot, &d->slot));
  for (int64_t s = 0; s < b->strands.n_strands; ++s) {
    const der_strand w = der_strand_of(b, s);
    for (int64_t i = 0; i < w.n; ++i) {
      int64_t  block[DER_VERTEX_BLOCKS];
      int32_t *slot = d->slot + SLOTS * (w.first_node + i);
      blocks_of_vertex(&w, i, block);
      for (int p = 0; p < DER_VERTEX_BLOCKS; ++p)
        for (int q = 0; q < DER_VERTEX_BLOCKS; ++q)
          slot[DER_VERTEX_BLOCKS * p + q] =
              block[p] < 0 || block[q] < 0 ? -1 : (int32_t)((rod_body_block(b, block[p], block[q]) - b->value) / 9);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- step ------------------------------------------------------------------------------------------------------------------ */

static void update_nodes(rod_body *b, const der_strand *w)
{
  for (int64_t i = 0; i < w->n; ++i) {
    v3_copy(b->x + 3 * (w->first_node + i), der_node_at(w, b->q, i));
    v3_copy(b->v + 3 * (w->first_node + i), der_node_at(w, b->u, i));
  }
}

static void der_end_step(rod_body *b, int64_t s, const double *u)
{
  const der_strand w = der_strand_of(b, s);
  der_posed        e;
  der_vertex       v;
  double           strain[DER_STRAINS];
  for (int64_t c = 3 * w.first_block; c < 3 * b->block_start[s + 1]; ++c) {
    b->q[c] += b->dt * u[c];
    b->u[c] = u[c];
  }
  for (int64_t i = 0; i < w.n; ++i)
    if (der_is_vertex(&w, i)) (void)der_pose_vertex(&w, b->q, i, &v, strain, &w.d->twist[w.first_node + i]);
  for (int64_t j = 0; j < w.n_edges; ++j) {
    double *frame = w.d->frame + 3 * (w.first_edge + j);
    if (!der_pose_edge(&w, b->q, j, &e)) continue;
    v3_copy(w.d->t + 3 * (w.first_edge + j), e.e.t);
    v3_copy(frame, e.reference);
    v3_axpy(frame, -v3_dot(frame, e.e.t), e.e.t); /* round-off would accumulate otherwise */
    v3_scale(frame, 1.0 / v3_norm(frame), frame);
  }
  store_strains(b, &w);
  update_nodes(b, &w);
}

/* ---- energy, fields -------------------------------------------------------------------------------------------------------- */

static void der_restored(rod_body *b, int64_t s)
{
  const der_strand w = der_strand_of(b, s);
  update_nodes(b, &w);
}

/* From the stored strains: those of clamped ends depend on the pose of the clamps at the end of the last step. */
static double der_energy(const rod_body *b, int64_t s)
{
  const der_strand w   = der_strand_of(b, s);
  double           sum = 0.0;
  for (int64_t j = w.first_edge; j < w.first_edge + w.n_edges; ++j)
    sum += 0.5 * b->section.stretch * b->strands.length[j] * w.d->stretched[j] * w.d->stretched[j];
  for (int64_t i = 0; i < w.n; ++i)
    for (int64_t k = 3 * (w.first_node + i); k < 3 * (w.first_node + i) + 3 && der_is_vertex(&w, i); ++k) {
      const double strain = w.d->start[k] - w.d->natural[k];
      sum += 0.5 * w.d->stiffness[k] * strain * strain;
    }
  return sum;
}

static void der_spin(const rod_body *b, int64_t s, body_totals *out)
{
  const der_strand w = der_strand_of(b, s);
  for (int64_t j = 0; j < w.n_edges; ++j) {
    const int64_t c = der_angle_at(&w, j);
    out->kinetic += 0.5 * b->inertia[c] * b->u[c] * b->u[c];
    v3_axpy(out->angular_momentum, b->inertia[c] * b->u[c], w.d->t + 3 * (w.first_edge + j));
  }
}

/* Compute the directors before a frame is written. */
static PetscErrorCode refresh_directors(void *context)
{
  const rod_body *b = context;
  for (int64_t s = 0; s < b->strands.n_strands; ++s) {
    const der_strand w = der_strand_of(b, s);
    for (int64_t i = 0; i < w.n; ++i) {
      der_posed e;
      if (der_pose_edge(&w, b->q, i < w.n_edges ? i : w.n_edges - 1, &e)) v3_copy(w.d->director + 3 * (w.first_node + i), e.e.m1);
    }
  }
  return PETSC_SUCCESS;
}

static PetscErrorCode der_fields(rod_body *b, field_table *table)
{
  der         *d = der_of(b);
  field_group *group;
  char         name[96];
  PetscFunctionBegin;
  snprintf(name, sizeof name, "bodies/%s", b->base.name);
  group = field_table_find_group(table, name);
  PetscCall(field_table_add(table, group, "strain", "1", FIELD_F64, 3, &d->start, FIELD_CHECKPOINT | FIELD_FRAME,
                            "bends towards the director and across it, twist [rad], each over the length that the node represents"));
  PetscCall(
      field_table_add(table, group, "director", "1", FIELD_F64, 3, &d->director, FIELD_FRAME | FIELD_DERIVED, "first axis of the section"));
  group->refresh = refresh_directors;
  PetscCall(
      field_table_add(table, group, "reference_twist", "rad", FIELD_F64, 1, &d->twist, FIELD_CHECKPOINT, "twist of the reference frames"));
  PetscCall(rod_body_add_group(b, "segments", &b->strands.n_segments, table, &group));
  PetscCall(field_table_add(table, group, "direction", "1", FIELD_F64, 3, &d->t, FIELD_CHECKPOINT, "direction of the segment"));
  PetscCall(
      field_table_add(table, group, "reference", "1", FIELD_F64, 3, &d->frame, FIELD_CHECKPOINT, "first director of the reference frame"));
  PetscCall(field_table_add(table, group, "stretch", "1", FIELD_F64, 1, &d->stretched, FIELD_CHECKPOINT, "strain along the segment"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- contact --------------------------------------------------------------------------------------------------------------- */

/* Jacobian of a contact spot on the surface of a segment. The spot translates with the axis. It rotates about the axis at the rate of the segment's
 * angle, t x r. It rotates with the two nodes, of relative velocity d, by (d (t.r) - t (d.r)) / |e|. Hence fibres can roll. */
static int der_spot_jacobian(const rod_body *b, const body_contact_location *spot, int32_t *block, double (*J)[9])
{
  if (spot->kind == FEATURE_POINT) {
    block[0] = b->node_block[spot->index];
    m3_identity(J[0]);
    return 1;
  }
  const der_strand w     = der_strand_of(b, b->strands.strand[spot->index]);
  const int32_t   *node  = b->strands.segment + 2 * spot->index;
  const double     at[2] = {1.0 - spot->w[0], spot->w[0]}, *t = w.d->t + 3 * spot->index;
  const int64_t    angle = der_angle_at(&w, spot->index - w.first_edge);
  double           arm[3], e[3], turn[9], spin[3];
  v3_copy(arm, spot->x);
  for (int k = 0; k < 2; ++k) v3_axpy(arm, -at[k], b->x + 3 * (int64_t)node[k]);
  v3_sub(e, b->x + 3 * (int64_t)node[1], b->x + 3 * (int64_t)node[0]);
  const double over = 1.0 / v3_norm(e), along = v3_dot(t, arm);
  for (int i = 0; i < 9; ++i) turn[i] = over * ((i % 4 == 0 ? along : 0.0) - t[i / 3] * arm[i % 3]);
  for (int k = 0; k < 2; ++k) {
    block[k] = b->node_block[node[k]];
    for (int i = 0; i < 9; ++i) J[k][i] = (i % 4 == 0 ? at[k] : 0.0) + (k == 0 ? -turn[i] : turn[i]);
  }
  v3_cross(spin, t, arm);
  block[2] = (int32_t)(angle / 3);
  m3_zero(J[2]);
  for (int i = 0; i < 3; ++i) J[2][3 * i + angle % 3] = spin[i];
  return 3;
}

const rod_model rod_model_discrete_elastic_rod = {.name              = "discrete_elastic_rod",
                                                  .create            = der_create,
                                                  .finish            = der_finish,
                                                  .residual          = der_residual,
                                                  .end_step          = der_end_step,
                                                  .restored          = der_restored,
                                                  .energy            = der_energy,
                                                  .spin              = der_spin,
                                                  .fields            = der_fields,
                                                  .location_jacobian = der_spot_jacobian,
                                                  .destroy           = der_destroy};
