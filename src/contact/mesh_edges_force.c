/* Forces of pairs of edges and their exact linearisation.
 *
 * With weights c_e > 0 of the ends e = 0, 1 of edge a, and c_e < 0 of the ends 2, 3 of edge b, which add up to 1 and -1,
 *
 *   Y = -sum_e c_e x_e,   f = k Y,   F_e = c_e f on end e,   dF_e = c_e k dY + f dc_e
 *
 * where dY and dc_e follow from the relaxation on the parallelogram of differences, whose corners are x_2, x_3 less x_0, x_1. Ends move with
 * their nodes, or with a rigid body: dx = dc + dtheta x arm, the torque arm x F then also turns.                                  */
#include "contact/mesh_edges.h"
#include "contact/mesh_pairs.h"
#include "core/math3.h"
#include <string.h>

enum { ENDS = 4 };

/* ---- what the ends hang on ------------------------------------------------------------------------------------------------------ */

typedef struct {
  const rigid_frame *frame[2]; /* of the edges' bodies; NULL: nodes */
  double             arm[ENDS][9]; /* [x - c] of rigid ends */
} edge_bodies;

static void find_bodies(const mesh_contact *c, const edge_contact *p, const rigid_frame *frames, edge_bodies *out)
{
  for (int k = 0; k < 2; ++k) {
    const int frame = c->mesh[p->name.mesh[k]].frame;
    out->frame[k]   = frame >= 0 ? &frames[frame] : NULL;
    for (int e = 2 * k; e < 2 * k + 2 && frame >= 0; ++e) {
      double arm[3];
      v3_sub(arm, p->ends + 3 * e, out->frame[k]->c);
      m3_skew(out->arm[e], arm);
    }
  }
}

/* How block 2 k + i of the pair, k the edge of `end`, takes what end `end` feels; false: not at all. */
static bool lever(const edge_bodies *b, int end, int i, double L[9])
{
  if (!b->frame[end / 2]) {
    if (end % 2 != i) return false;
    m3_identity(L);
  } else if (i == 0) m3_identity(L);
  else m3_copy(L, b->arm[end]);
  return true;
}

/* How end `end` moves with block 2 k + i, but for dt. */
static bool motion(const edge_bodies *b, int end, int i, double S[9])
{
  if (!lever(b, end, i, S)) return false;
  if (!b->frame[end / 2] || i == 0) return true;
  double A[9];
  m3_mul(A, S, b->frame[end / 2]->Jl);
  for (int e = 0; e < 9; ++e) S[e] = -A[e];
  return true;
}

/* ---- evaluation ----------------------------------------------------------------------------------------------------------------- */

/* Weights of the ends, and their gradients by the ends [3]; dY by the ends [9]. */
typedef struct {
  double c[ENDS], dc[ENDS][ENDS][3], dY[ENDS][9];
} end_weights;

static void weigh(const triangle_topology *t, const mesh_relaxation *r, double c[ENDS])
{
  memset(c, 0, ENDS * sizeof *c);
  for (int k = 0; k < 3; ++k) {
    const int corner = t->tri[3 * r->at.triangle + k];
    c[edge_pair_end_a(corner)] += r->at.weight[k];
    c[2 + edge_pair_end_b(corner)] -= r->at.weight[k];
  }
}

static void differentiate(const triangle_topology *t, const double corners[12], const mesh_relaxation *r, end_weights *w)
{
  memset(w->dc, 0, sizeof w->dc);
  memset(w->dY, 0, sizeof w->dY);
  for (int j = 1; j <= r->n_nodes; ++j) {
    const int moved[2] = {edge_pair_end_a(r->node[j - 1]), 2 + edge_pair_end_b(r->node[j - 1])};
    double    block[9];
    mesh_relaxation_block(t, corners, r, j, block);
    for (int m = 0; m < 2; ++m) {
      const double sign = m == 0 ? -1.0 : 1.0;
      m3_axpy(w->dY[moved[m]], sign, block);
      for (int k = 0; k < 3; ++k) {
        const int corner = t->tri[3 * r->at.triangle + k];
        v3_axpy(w->dc[edge_pair_end_a(corner)][moved[m]], sign, r->d_weight[k] + 3 * j);
        v3_axpy(w->dc[2 + edge_pair_end_b(corner)][moved[m]], -sign, r->d_weight[k] + 3 * j);
      }
    }
  }
}

static void linearize(const mesh_contact *c, edge_contact *p, const edge_bodies *bodies, const end_weights *w)
{
  memset(p->T, 0, sizeof p->T);
  for (int e = 0; e < ENDS; ++e) {
    for (int q = 0; q < ENDS; ++q) {
      double K[9], L[9], S[9], LK[9], LKS[9];
      m3_outer(K, p->f, w->dc[e][q]);
      m3_axpy(K, p->k * w->c[e], w->dY[q]);
      for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j) {
          if (!lever(bodies, e, i, L) || !motion(bodies, q, j, S)) continue;
          m3_mul(LK, L, K);
          m3_mul(LKS, LK, S);
          m3_axpy(p->T[2 * (e / 2) + i][2 * (q / 2) + j], -c->dt * c->dt, LKS);
        }
    }
    if (!bodies->frame[e / 2]) continue;
    double F[3], skew[9], FA[9], FAJ[9]; /* (dtheta x arm) x F = [F] [arm] dtheta */
    v3_scale(F, w->c[e], p->f);
    m3_skew(skew, F);
    m3_mul(FA, skew, bodies->arm[e]);
    m3_mul(FAJ, FA, bodies->frame[e / 2]->Jl);
    m3_axpy(p->T[2 * (e / 2) + 1][2 * (e / 2) + 1], -c->dt * c->dt, FAJ);
  }
}

static void evaluate_pair(const mesh_contact *c, edge_contact *p, const rigid_frame *frames, bool with_tangent)
{
  static const double      origin[3] = {0.0, 0.0, 0.0};
  const triangle_topology *t = c->edges->parallelogram;
  double                   corners[12];
  mesh_relaxation          r;
  end_weights              w;
  edge_bodies              bodies;
  for (int e = 0; e < ENDS; ++e) v3_copy(p->ends + 3 * e, c->mesh[p->name.mesh[e / 2]].x + 3 * (int64_t)p->star[e / 2].node[e % 2]);
  edge_pair_corners(p->ends, p->ends + 6, corners);
  relax_mesh(t, corners, p->mu, &p->X, origin, with_tangent, &r);
  weigh(t, &r, w.c);
  v3_scale(p->normal, p->side, r.normal);
  const int last = r.place[r.n_places - 1];
  p->is_active   = p->is_reached && v3_dot(r.Y, p->normal) > 0.0;
  p->at          = r.at;
  p->is_on_face  = last == ON_TRIANGLE || last == ENTERED;
  p->is_sliding  = p->is_active && (r.at.triangle != p->X.triangle || memcmp(r.at.weight, p->X.weight, sizeof r.at.weight) != 0);
  v3_scale(p->f, p->is_active ? p->k : 0.0, r.Y);
  v3_set(p->P, 0.0, 0.0, 0.0);
  v3_set(p->Q, 0.0, 0.0, 0.0);
  for (int i = 0; i < 2; ++i) {
    v3_axpy(p->P, w.c[i], p->ends + 3 * i);
    v3_axpy(p->Q, -w.c[2 + i], p->ends + 6 + 3 * i);
  }
  memset(p->push, 0, sizeof p->push);
  if (with_tangent) p->is_linear = p->is_active;
  if (!p->is_active) return;
  find_bodies(c, p, frames, &bodies);
  for (int e = 0; e < ENDS; ++e)
    for (int i = 0; i < 2; ++i) {
      double L[9], F[3];
      if (!lever(&bodies, e, i, L)) continue;
      m3_mulv(F, L, p->f);
      v3_axpy(p->push[2 * (e / 2) + i], w.c[e], F);
    }
  if (!with_tangent) return;
  differentiate(t, corners, &r, &w);
  linearize(c, p, &bodies, &w);
}

void mesh_edges_evaluate(mesh_contact *c, const rigid_frame *frames, bool with_tangent)
{
  const int64_t       n    = c->edges->n;
  edge_contact *const pair = c->edges->pair;
#pragma omp parallel for schedule(dynamic, 16) if (n > CONTACT_SERIAL)
  for (int64_t i = 0; i < n; ++i) evaluate_pair(c, &pair[i], frames, with_tangent);
}

int mesh_edges_not_finite(const mesh_contact *c)
{
  for (int64_t i = 0; i < c->edges->n; ++i) {
    const edge_contact *p   = &c->edges->pair[i];
    double              sum = 0.0;
    for (int k = 0; k < 3; ++k) sum += 0.0 * p->P[k] + 0.0 * p->f[k];
    if (sum != 0.0) return c->mesh[p->name.mesh[0]].body_id;
  }
  return -1;
}

void mesh_edges_residual(const mesh_contact *c, double *g)
{
  for (int64_t i = 0; i < c->edges->n; ++i) {
    const edge_contact *p = &c->edges->pair[i];
    for (int r = 0; r < 4 && p->is_active; ++r)
      if (p->block[r] >= 0) v3_axpy(g + 3 * p->block[r], -c->dt, p->push[r]);
  }
}

/* ---- products and blocks --------------------------------------------------------------------------------------------------------- */

void mesh_edges_tangent(const mesh_contact *c, const double *x, double *y, bool is_transposed)
{
  for (int64_t i = 0; i < c->edges->n; ++i) {
    const edge_contact *p = &c->edges->pair[i];
    for (int k = 0; k < 16 && p->is_linear; ++k) {
      const int64_t row = p->block[k / 4], col = p->block[k % 4];
      double        term[3];
      if (row < 0 || col < 0) continue;
      if (is_transposed) m3_mulv_t(term, p->T[k / 4][k % 4], x + 3 * row);
      else m3_mulv(term, p->T[k / 4][k % 4], x + 3 * col);
      v3_axpy(y + 3 * (is_transposed ? col : row), 1.0, term);
    }
  }
}

void mesh_edges_block_diagonal(const mesh_contact *c, double *d)
{
  for (int64_t i = 0; i < c->edges->n; ++i) {
    const edge_contact *p = &c->edges->pair[i];
    for (int r = 0; r < 4 && p->is_linear; ++r)
      if (p->block[r] >= 0) m3_axpy(d + 9 * p->block[r], 1.0, p->T[r][r]);
  }
}

void mesh_edges_assemble(const mesh_contact *c, const block_rows *H)
{
  for (int64_t i = 0; i < c->edges->n; ++i) {
    const edge_contact *p = &c->edges->pair[i];
    for (int k = 0; k < 16 && p->is_linear; ++k) {
      double *to = p->block[k / 4] < 0 || p->block[k % 4] < 0 ? NULL : block_rows_find(H, p->block[k / 4], p->block[k % 4]);
      if (to) m3_axpy(to, 1.0, p->T[k / 4][k % 4]);
    }
  }
}

void mesh_edges_couplings(const mesh_contact *c, int64_t *n, int32_t *row, int32_t *col)
{
  for (int64_t i = 0; i < c->edges->n; ++i) {
    const edge_contact *p = &c->edges->pair[i];
    for (int k = 0; k < 16; ++k)
      if (p->block[k / 4] >= 0 && p->block[k % 4] >= 0) row[*n] = (int32_t)p->block[k / 4], col[(*n)++] = (int32_t)p->block[k % 4];
  }
}

void mesh_edges_pair(const mesh_contact *c, int64_t i, mesh_pair_view *out)
{
  const edge_contact *p = &c->edges->pair[i];
  *out = (mesh_pair_view){.source_body = c->mesh[p->name.mesh[0]].body_id,
                          .object_body = c->mesh[p->name.mesh[1]].body_id,
                          .point       = -1,
                          .is_active = p->is_active, .is_sliding = p->is_sliding, .is_on_triangle = p->is_on_face,
                          .stiffness = p->k, .friction = p->mu};
  v3_copy(out->Z, p->P);
  v3_copy(out->Y, p->Q);
  v3_copy(out->f, p->f);
  v3_copy(out->plane, p->normal);
  double corners[12];
  edge_pair_corners(p->ends, p->ends + 6, corners);
  v3_copy(out->X, p->P);
  for (int k = 0; k < 3; ++k) v3_axpy(out->X, p->X.weight[k], corners + 3 * c->edges->parallelogram->tri[3 * p->X.triangle + k]);
  v3_copy(out->normal, p->normal);
}
