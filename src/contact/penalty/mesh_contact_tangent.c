/* The exact linearisation of the pairs, as mesh_contact_force.c kept it: products with vectors, and blocks of a matrix. penalty-relaxation.md,
 * sections 4 to 6.
 *
 * With p = u_0 - sum_i w_i u_i, the motion of the point against the place it hangs on for test motions u_0 of the point and u_i of the
 * corners, a pair adds u . g = -dt p . f, f = k (Y - Z), and for increments q_j of the point (0) and the nodes its attachment met
 *
 *   df = k ( sum_j B_j q_j - q_0 ),   dp = -sum_i u_i sum_j d_ij . q_j,   u . dg = -dt ( p . df + f . dp )
 *
 * With a gain of the spring (restitution.h), whose gradient by the motion of the point against the place it hung on first is s, k has that gain,
 * and df has k (Y - Z)/gain s . (q_0 - sum_i w0_i q_i) as well: B_j takes it in.
 *
 * Where friction or all of f lags, that part is constant and acts at a constant place: f in dp is the spring that is left.
 *
 * Rigid points, and rigid surfaces, whose nodes move as one so that B_0 says it all: rigid_sides.h.                            */
#include "contact/penalty/mesh_pairs.h"
#include "core/math3.h"
#include "core/memory.h"

/* ---- products -------------------------------------------------------------------------------------------------------------------- */

/* A pair with a deforming surface: force and torques of its point, as rigid_sides_product, and forces on its nodes. */
static void product(const mesh_contact *c, int64_t i, const double *x)
{
  const mesh_linear *l    = &c->linear[i];
  const int32_t     *node = mesh_linear_node(l);
  const rigid_motion m    = rigid_sides_motion(&c->sides, i);
  double            *to = c->node_force + 3 * l->first, q[3], df[3], dw[3], nodes[3] = {0.0, 0.0, 0.0};
  rigid_sides_approach(&c->sides, i, &m, q);
  for (int k = 0; k < 3; ++k) dw[k] = v3_dot(mesh_linear_d(l, k, 0), q);
  for (int j = 1; j <= l->n_nodes; ++j) {
    double move[3], term[3];
    v3_scale(move, c->dt, x + 3 * mesh_contact_node_block(c, l, node[j - 1]));
    m3_mulv(term, mesh_linear_B(l, j), move);
    v3_axpy(nodes, 1.0, term);
    for (int k = 0; k < 3; ++k) dw[k] += v3_dot(mesh_linear_d(l, k, j), move);
    v3_set(to + 3 * (j - 1), 0.0, 0.0, 0.0);
  }
  m3_mulv(df, c->sides.K + 9 * i, q);
  v3_axpy(df, l->k, nodes);
  rigid_sides_react(&c->sides, i, &m, q, df);
  for (int k = 0; k < 3 && l->n_nodes > 0; ++k) {
    v3_axpy(to + 3 * (l->corner[k] - 1), l->weight[k], df);
    v3_axpy(to + 3 * (l->corner[k] - 1), dw[k], l->spring);
  }
}

static void product_transposed(const mesh_contact *c, int64_t i, const double *x)
{
  const mesh_linear *l    = &c->linear[i];
  const int32_t     *node = mesh_linear_node(l);
  const rigid_motion m    = rigid_sides_motion(&c->sides, i);
  double            *to = c->node_force + 3 * l->first, p[3], h[3], F[3], uf[3] = {0.0, 0.0, 0.0};
  rigid_sides_approach(&c->sides, i, &m, p);
  for (int k = 0; k < 3 && l->n_nodes > 0; ++k) {
    const double *u = x + 3 * mesh_contact_node_block(c, l, node[l->corner[k] - 1]);
    v3_axpy(p, -c->dt * l->weight[k], u);
    uf[k] = c->dt * v3_dot(u, l->spring);
  }
  m3_mulv_t(h, c->sides.K + 9 * i, p);
  v3_scale(F, -1.0, h);
  for (int k = 0; k < 3; ++k) v3_axpy(F, uf[k], mesh_linear_d(l, k, 0));
  rigid_sides_react_transposed(&c->sides, i, &m, p, h, F);
  for (int j = 1; j <= l->n_nodes; ++j) {
    double *out = to + 3 * (j - 1);
    m3_mulv_t(out, mesh_linear_B(l, j), p);
    v3_scale(out, -l->k, out);
    for (int k = 0; k < 3; ++k) v3_axpy(out, uf[k], mesh_linear_d(l, k, j));
  }
}

PetscErrorCode mesh_contact_tangent(const mesh_contact *c, const double *x, double *y, bool is_transposed)
{
  const rigid_sides *s = &c->sides;
  const int64_t      n = c->n;
  PetscFunctionBegin;
  if (c->edges) mesh_edges_tangent(c, x, y, is_transposed);
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  rigid_sides_gather(s, c->rows, x, is_transposed);
#pragma omp parallel for schedule(static) if (n > CONTACT_SERIAL)
  for (int64_t i = 0; i < n; ++i) {
    if (!s->is_active[i]) rigid_sides_rest(s, i);
    else if (s->object[i] >= 0 && is_transposed) rigid_sides_product_transposed(s, i);
    else if (s->object[i] >= 0) rigid_sides_product(s, i);
    else if (is_transposed) product_transposed(c, i, x);
    else product(c, i, x);
  }
  rigid_sides_scatter(s, c->rows, is_transposed, y);
  if (c->n_node_forces > 0) contact_rows_scatter(c->node_rows, c->dt, c->node_force, y);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- blocks of a matrix ----------------------------------------------------------------------------------------------------------- */

/* dt^2 times the block of row `row` (0: the point, 1 + k: corner k of a deforming surface) and column j (0: the point, else node j - 1). */
static void pair_block(const mesh_contact *c, int64_t i, int row, int j, double block[9])
{
  const mesh_linear *l     = &c->linear[i];
  const double       scale = c->dt * c->dt * (row == 0 ? -1.0 : l->weight[row - 1]);
  if (j == 0) m3_copy(block, c->sides.K + 9 * i);
  else m3_copy(block, mesh_linear_B(l, j));
  for (int e = 0; e < 9; ++e) block[e] *= scale * (j == 0 ? 1.0 : l->k);
  if (row == 0) return;
  double outer[9];
  m3_outer(outer, l->spring, mesh_linear_d(l, row - 1, j));
  m3_axpy(block, c->dt * c->dt, outer);
}

PetscErrorCode mesh_contact_block_diagonal(const mesh_contact *c, double *d)
{
  PetscFunctionBegin;
  if (c->edges) mesh_edges_block_diagonal(c, d);
  if (c->n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  rigid_sides_block_diagonal(&c->sides, c->rows, d);
  for (int64_t i = 0; i < c->n; ++i) {
    const mesh_linear *l    = &c->linear[i];
    const int32_t     *node = mesh_linear_node(l);
    double             block[9];
    if (!mesh_contact_deforms(c, i)) continue;
    for (int k = 0; k < 3 && l->n_nodes > 0; ++k) {
      pair_block(c, i, 1 + k, l->corner[k], block);
      m3_axpy(d + 9 * mesh_contact_node_block(c, l, node[l->corner[k] - 1]), 1.0, block);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void add_if_there(const block_rows *H, int64_t row, int64_t col, double scale, const double block[9])
{
  double *to = block_rows_find(H, row, col);
  if (to) m3_axpy(to, scale, block);
}

PetscErrorCode mesh_contact_assemble(const mesh_contact *c, const block_rows *H)
{
  const contact_rows_view rows = contact_rows_get(c->rows);
  PetscFunctionBegin;
  PetscCall(rigid_sides_assemble(&c->sides, c->rows, c->n_blocks, H));
  if (c->edges) mesh_edges_assemble(c, H);
  for (int64_t i = 0; i < c->n; ++i) {
    const mesh_linear *l    = &c->linear[i];
    const int32_t     *node = mesh_linear_node(l);
    const int64_t      first = rows.start[i], end = rows.start[i + 1];
    double             block[9];
    if (!mesh_contact_deforms(c, i) || l->n_nodes == 0) continue;
    for (int row = 0; row < 4; ++row) {
      const int64_t corner = row == 0 ? -1 : mesh_contact_node_block(c, l, node[l->corner[row - 1] - 1]);
      for (int j = row == 0; j <= l->n_nodes; ++j) {
        pair_block(c, i, row, j, block);
        if (row == 0) {
          for (int64_t p = first; p < end; ++p) add_if_there(H, rows.block[p], mesh_contact_node_block(c, l, node[j - 1]), rows.weight[p], block);
        } else if (j == 0) {
          for (int64_t q = first; q < end; ++q) add_if_there(H, corner, rows.block[q], rows.weight[q], block);
        } else add_if_there(H, corner, mesh_contact_node_block(c, l, node[j - 1]), 1.0, block);
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mesh_contact_couplings(const mesh_contact *c, int64_t *n, int32_t **row, int32_t **col)
{
  const contact_rows_view rows = contact_rows_get(c->rows);
  PetscFunctionBegin;
  PetscCall(rigid_sides_couplings(&c->sides, c->rows, c->n_blocks, n, row, col));
  int64_t room = *n + (c->edges ? 16 * c->edges->n : 0), m = *n;
  for (int64_t i = 0; i < c->n; ++i)
    if (c->sides.object[i] < 0) room += 6 * (rows.start[i + 1] - rows.start[i]) + 9;
  PetscCall(memory_resize("mesh couplings", room, sizeof **row, row));
  PetscCall(memory_resize("mesh couplings", room, sizeof **col, col));
  if (c->edges) mesh_edges_couplings(c, &m, *row, *col);
  for (int64_t i = 0; i < c->n; ++i) {
    const contact_surface *s      = &c->mesh[c->pair[i].q.i_object];
    const int32_t         *corner = s->topology->tri + 3 * (int64_t)c->pair[i].X.triangle;
    for (int k = 0; k < 3 && c->sides.object[i] < 0; ++k) {
      const int32_t a = (int32_t)s->b->first_block + corner[k];
      for (int64_t p = rows.start[i]; p < rows.start[i + 1]; ++p) {
        (*row)[m] = a, (*col)[m++] = rows.block[p];
        (*row)[m] = rows.block[p], (*col)[m++] = a;
      }
      for (int j = 0; j < 3; ++j) (*row)[m] = a, (*col)[m++] = (int32_t)s->b->first_block + corner[j];
    }
  }
  *n = m;
  PetscFunctionReturn(PETSC_SUCCESS);
}
