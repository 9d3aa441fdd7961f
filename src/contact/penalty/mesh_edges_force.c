/* Forces of pairs of edges and their exact linearisation.
 *
 * With weights c_e >= 0 of the nodes e = 0 ... 3 of chain a, and c_e <= 0 of the nodes 4 ... 7 of chain b, which add up to 1 and
 * -1,
 *
 *   Y = -sum_e c_e x_e,   f = k Y,   F_e = c_e f on node e,   dF_e = c_e k dY + f dc_e
 *
 * where dY and dc_e follow from the relaxation on the differences x_4 ... x_7 less x_0 ... x_3. Nodes move by themselves, or
 * with a rigid body: dx = dc + dtheta x arm, the torque arm x F then also turns. */
#include "contact/penalty/mesh_edges.h"
#include "contact/penalty/mesh_pairs.h"
#include "core/math3.h"
#include <string.h>

enum { ENDS = 2 * EDGE_CHAIN };

/* ---- what the nodes hang on -------------------------------------------------------------------------------------------------- */

typedef struct {
  const rigid_frame *frame[2];     /* of the chains' bodies; NULL: nodes */
  double             arm[ENDS][9]; /* [x - c] of rigid ones */
} edge_bodies;

static void find_bodies(const mesh_contact *c, const edge_contact *p, const rigid_frame *frames, edge_bodies *out)
{
  for (int e = 0; e < ENDS; ++e) {
    const int frame = c->mesh[p->name.mesh[e / EDGE_CHAIN]].frame;
    double    arm[3];
    out->frame[e / EDGE_CHAIN] = frame >= 0 ? &frames[frame] : NULL;
    if (frame < 0) continue;
    v3_sub(arm, p->x + 3 * e, frames[frame].c);
    m3_skew(out->arm[e], arm);
  }
}

/* How block 4 k + i of the pair, k the chain of node e, takes what the node feels; false: not at all. */
static bool lever(const edge_bodies *b, int e, int i, double L[9])
{
  const bool is_rigid = b->frame[e / EDGE_CHAIN] != NULL;
  if (is_rigid ? i > 1 : i != e % EDGE_CHAIN) return false;
  if (is_rigid && i == 1) m3_copy(L, b->arm[e]);
  else m3_identity(L);
  return true;
}

/* How node e moves with block 4 k + i, but for dt. */
static bool motion(const edge_bodies *b, int e, int i, double S[9])
{
  const rigid_frame *frame = b->frame[e / EDGE_CHAIN];
  if (!lever(b, e, i, S)) return false;
  if (!frame || i == 0) return true;
  double A[9];
  m3_mul(A, S, frame->Jl);
  for (int k = 0; k < 9; ++k) S[k] = -A[k];
  return true;
}

/* ---- evaluation -------------------------------------------------------------------------------------------------------------- */

/* Weights of the nodes, and their gradients by the nodes [3]; dY by the nodes [9]; who moves anything, who is moved. */
typedef struct {
  double c[ENDS], dc[ENDS][ENDS][3], dY[ENDS][9];
  bool   is_col[ENDS], is_row[ENDS];
} end_weights;

static void weigh(const triangle_topology *t, const mesh_relaxation *r, end_weights *w)
{
  memset(w, 0, sizeof *w);
  for (int k = 0; k < 3; ++k) {
    const int corner = t->tri[3 * r->at.triangle + k], a = edge_patch_a(corner), b = EDGE_CHAIN + edge_patch_b(corner);
    w->c[a] += r->at.weight[k];
    w->c[b] -= r->at.weight[k];
    w->is_row[a] = w->is_row[b] = true;
  }
}

static void differentiate(const triangle_topology *t, const double corners[48], const mesh_relaxation *r, end_weights *w)
{
  for (int j = 1; j <= r->n_nodes; ++j) {
    const int moved[2] = {edge_patch_a(r->node[j - 1]), EDGE_CHAIN + edge_patch_b(r->node[j - 1])};
    double    block[9];
    mesh_relaxation_block(t, corners, r, j, block);
    for (int m = 0; m < 2; ++m) {
      const double sign = m == 0 ? -1.0 : 1.0;
      w->is_col[moved[m]] = true;
      m3_axpy(w->dY[moved[m]], sign, block);
      for (int k = 0; k < 3; ++k) {
        const int corner = t->tri[3 * r->at.triangle + k];
        v3_axpy(w->dc[edge_patch_a(corner)][moved[m]], sign, r->d_weight[k] + 3 * j);
        v3_axpy(w->dc[EDGE_CHAIN + edge_patch_b(corner)][moved[m]], -sign, r->d_weight[k] + 3 * j);
      }
    }
  }
}

/* T[row][col] += scale L K S. */
static void add_block(edge_contact *p, int row, int col, double scale, const double L[9], const double K[9], const double S[9])
{
  const uint64_t bit = (uint64_t)1 << (8 * row + col);
  double         LK[9], LKS[9];
  if (p->block[row] < 0 || p->block[col] < 0) return;
  if (!(p->filled & bit)) m3_zero(p->T[row][col]);
  p->filled |= bit;
  m3_mul(LK, L, K);
  m3_mul(LKS, LK, S);
  m3_axpy(p->T[row][col], scale, LKS);
}

static void linearize(const mesh_contact *c, edge_contact *p, const edge_bodies *bodies, const end_weights *w)
{
  const double scale = -c->dt * c->dt;
  for (int e = 0; e < ENDS; ++e) {
    const int chain = EDGE_CHAIN * (e / EDGE_CHAIN);
    for (int q = 0; q < ENDS && w->is_row[e]; ++q) {
      double K[9], L[9], S[9];
      if (!w->is_col[q]) continue;
      m3_outer(K, p->f, w->dc[e][q]);
      m3_axpy(K, p->k * w->c[e], w->dY[q]);
      for (int i = 0; i < EDGE_CHAIN; ++i)
        for (int j = 0; j < EDGE_CHAIN; ++j)
          if (lever(bodies, e, i, L) && motion(bodies, q, j, S))
            add_block(p, chain + i, EDGE_CHAIN * (q / EDGE_CHAIN) + j, scale, L, K, S);
    }
    if (!bodies->frame[e / EDGE_CHAIN] || !w->is_row[e]) continue;
    double F[3], skew[9]; /* (dtheta x arm) x F = [F] [arm] dtheta */
    v3_scale(F, w->c[e], p->f);
    m3_skew(skew, F);
    add_block(p, chain + 1, chain + 1, scale, skew, bodies->arm[e], bodies->frame[e / EDGE_CHAIN]->Jl);
  }
}

static void gather(const mesh_contact *c, edge_contact *p)
{
  for (int e = 0; e < ENDS; ++e) {
    const int32_t node = p->node[e / EDGE_CHAIN][e % EDGE_CHAIN];
    if (node < 0) v3_set(p->x + 3 * e, 0.0, 0.0, 0.0);
    else v3_copy(p->x + 3 * e, c->mesh[p->name.mesh[e / EDGE_CHAIN]].x + 3 * (int64_t)node);
  }
}

static void evaluate_pair(const mesh_contact *c, edge_contact *p, const rigid_frame *frames, bool with_tangent)
{
  static const double      origin[3] = {0.0, 0.0, 0.0};
  const triangle_topology *t = c->edges->patch[p->patch].topology;
  double                   corners[3 * EDGE_CORNERS];
  mesh_relaxation          r;
  end_weights              w;
  edge_bodies              bodies;
  gather(c, p);
  edge_patch_corners(p->x, p->x + 12, corners);
  relax_mesh(t, corners, p->mu, &p->X, origin, with_tangent, &r);
  weigh(t, &r, &w);
  v3_scale(p->normal, p->side, r.normal);
  const int last = r.place[r.n_places - 1];
  p->is_active   = p->is_reached && v3_dot(r.Y, p->normal) > 0.0;
  p->at          = r.at;
  p->is_on_face  = last == ON_TRIANGLE || last == ENTERED;
  p->is_sliding  = p->is_active && !mesh_attachment_equal(&r.at, &p->X);
  v3_scale(p->f, p->is_active ? p->k : 0.0, r.Y);
  v3_set(p->P, 0.0, 0.0, 0.0);
  v3_set(p->Q, 0.0, 0.0, 0.0);
  for (int i = 0; i < EDGE_CHAIN; ++i) {
    v3_axpy(p->P, w.c[i], p->x + 3 * i);
    v3_axpy(p->Q, -w.c[EDGE_CHAIN + i], p->x + 12 + 3 * i);
  }
  memset(p->push, 0, sizeof p->push);
  if (with_tangent) p->filled = 0;
  if (!p->is_active) return;
  find_bodies(c, p, frames, &bodies);
  for (int e = 0; e < ENDS; ++e)
    for (int i = 0; i < EDGE_CHAIN && w.is_row[e]; ++i) {
      double L[9], F[3];
      if (!lever(&bodies, e, i, L)) continue;
      m3_mulv(F, L, p->f);
      v3_axpy(p->push[EDGE_CHAIN * (e / EDGE_CHAIN) + i], w.c[e], F);
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
    for (int r = 0; r < ENDS && p->is_active; ++r)
      if (p->block[r] >= 0) v3_axpy(g + 3 * p->block[r], -c->dt, p->push[r]);
  }
}

/* ---- products and blocks ----------------------------------------------------------------------------------------------------- */

void mesh_edges_tangent(const mesh_contact *c, const double *x, double *y, bool is_transposed)
{
  for (int64_t i = 0; i < c->edges->n; ++i) {
    const edge_contact *p = &c->edges->pair[i];
    for (uint64_t left = p->filled; left; left &= left - 1) {
      const int     k   = __builtin_ctzll(left);
      const int64_t row = p->block[k / 8], col = p->block[k % 8];
      double        term[3];
      if (is_transposed) m3_mulv_t(term, p->T[k / 8][k % 8], x + 3 * row);
      else m3_mulv(term, p->T[k / 8][k % 8], x + 3 * col);
      v3_axpy(y + 3 * (is_transposed ? col : row), 1.0, term);
    }
  }
}

void mesh_edges_block_diagonal(const mesh_contact *c, double *d)
{
  for (int64_t i = 0; i < c->edges->n; ++i) {
    const edge_contact *p = &c->edges->pair[i];
    for (int r = 0; r < ENDS; ++r)
      if (p->filled >> (9 * r) & 1) m3_axpy(d + 9 * p->block[r], 1.0, p->T[r][r]);
  }
}

void mesh_edges_assemble(const mesh_contact *c, const block_rows *H)
{
  for (int64_t i = 0; i < c->edges->n; ++i) {
    const edge_contact *p = &c->edges->pair[i];
    for (uint64_t left = p->filled; left; left &= left - 1) {
      const int k  = __builtin_ctzll(left);
      double   *to = block_rows_find(H, p->block[k / 8], p->block[k % 8]);
      if (to) m3_axpy(to, 1.0, p->T[k / 8][k % 8]);
    }
  }
}

/* Of the edges themselves: what they may slide onto is as good as not there for a preconditioner. */
void mesh_edges_couplings(const mesh_contact *c, int64_t *n, int32_t *row, int32_t *col)
{
  for (int64_t i = 0; i < c->edges->n; ++i) {
    const edge_contact *p = &c->edges->pair[i];
    int64_t             block[4];
    for (int k = 0; k < 4; ++k) block[k] = p->block[EDGE_CHAIN * (k / 2) + k % 2 + (c->mesh[p->name.mesh[k / 2]].frame < 0)];
    for (int k = 0; k < 16; ++k)
      if (block[k / 4] >= 0 && block[k % 4] >= 0) row[*n] = (int32_t)block[k / 4], col[(*n)++] = (int32_t)block[k % 4];
  }
}

void mesh_edges_pair(const mesh_contact *c, int64_t i, mesh_pair_view *out)
{
  const edge_contact *p = &c->edges->pair[i];
  *out = (mesh_pair_view){.source_body = c->mesh[p->name.mesh[0]].body_id,
                          .object_body = c->mesh[p->name.mesh[1]].body_id,
                          .point       = -1,
                          .is_active = p->is_active, .is_sliding = p->is_sliding, .is_on_triangle = p->is_on_face,
                          .stiffness = p->k, .gain = 1.0, .cone = {.mu = p->mu}};
  v3_copy(out->Z, p->P);
  v3_copy(out->Y, p->Q);
  v3_copy(out->f, p->f);
  v3_copy(out->plane, p->normal);
  double corners[3 * EDGE_CORNERS];
  edge_patch_corners(p->x, p->x + 12, corners);
  v3_copy(out->X, p->P);
  const int32_t *X = c->edges->patch[p->patch].topology->tri + 3 * p->X.triangle;
  for (int k = 0; k < 3; ++k) v3_axpy(out->X, p->X.weight[k], corners + 3 * X[k]);
  v3_copy(out->normal, p->normal);
}
