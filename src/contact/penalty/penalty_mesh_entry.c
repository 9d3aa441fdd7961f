/* Implementation of penalty_mesh_entry.h: Newton's method for point(t) = sum_i w_i corner_i(t) in t, w_1, w_2. */
#include "contact/penalty/penalty_mesh_entry.h"
#include "core/math3.h"
#include <string.h>

/* Residual of point - sum weight_i corner_i = 0 at the time t, and its derivative J [9] by t, weight 1 and weight 2. */
static void entry_residual(const entry_path *p, double t, const double w[3], double F[3], double J[9])
{
  double at[4][3], move[4][3];
  for (int k = 0; k < 4; ++k) {
    v3_sub(move[k], p->to[k], p->from[k]);
    v3_copy(at[k], p->from[k]);
    v3_axpy(at[k], t, move[k]);
  }
  for (int j = 0; j < 3; ++j) {
    F[j]     = at[0][j] - w[0] * at[1][j] - w[1] * at[2][j] - w[2] * at[3][j];
    J[3 * j] = move[0][j] - w[0] * move[1][j] - w[1] * move[2][j] - w[2] * move[3][j];
    for (int k = 1; k < 3; ++k) J[3 * j + k] = at[1][j] - at[1 + k][j];
  }
}

void mesh_entry_find(const entry_path *p, double time, mesh_attachment *X, double X_d[3][12])
{
  enum { ITERATIONS = 3 };
  static const double GRAZING = 1e-9, BEYOND = 1e-6;
  double              t = time, w[3], F[3], J[9], inverse[9] = {0.0}, d[3];
  bool                is_regular = true;
  memset(X_d, 0, 3 * sizeof *X_d);
  v3_copy(w, X->weight);
  for (int k = 0; k <= ITERATIONS && is_regular; ++k) {
    entry_residual(p, t, w, F, J);
    double size[3] = {0.0, 0.0, 0.0}; /* lengths of the columns */
    for (int i = 0; i < 9; ++i) size[i % 3] += J[i] * J[i];
    is_regular = fabs(m3_det(J)) > GRAZING * sqrt(size[0] * size[1] * size[2]);
    if (!is_regular) break;
    (void)m3_inverse(inverse, J);
    if (k == ITERATIONS) break; /* the inverse at the solution */
    m3_mulv(d, inverse, F);
    t -= d[0], w[1] -= d[1], w[2] -= d[2], w[0] = 1.0 - w[1] - w[2];
  }
  for (int i = 0; i < 3; ++i) is_regular = is_regular && w[i] > -BEYOND;
  if (!is_regular) return;
  double sum = 0.0;
  for (int i = 0; i < 3; ++i) sum += X->weight[i] = fmax(0.0, w[i]);
  v3_scale(X->weight, 1.0 / sum, X->weight);
  /* J d(t, w_1, w_2) = -t (dZ - sum w_i dP_i) */
  for (int i = 1; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      X_d[i][j] = -t * inverse[3 * i + j];
      for (int k = 0; k < 3 && !p->is_rigid; ++k) X_d[i][3 + 3 * k + j] = t * w[k] * inverse[3 * i + j];
    }
  for (int j = 0; j < 12; ++j) X_d[0][j] = -X_d[1][j] - X_d[2][j];
}
