/* The two inner operations of the affine transfer: mass and momentum of particles to a tile of nodes, velocity and affine velocity back.
 *
 * A particle's velocity at node (i, j, k) of its stencil is linear in i, j, k, so that it is reached by additions, and all components
 * share the weights: w (A + i B + j C + k D) instead of a product of weights and arms for each component. Back, sums along an axis give
 * the moment about the stencil's second node by additions, too: p_0 + (p_1 + (p_2 + p_3)) with p_k = w_k v_k passes the partial sums of
 * which sum (k - 1) p_k = (p_2 + p_3) + p_3 - p_0 is made. Additions have units of their own beside those of multiply-adds on most
 * machines: to the grid a cubic stencil costs 46 multiply-adds and 26 additions of vectors (88 multiply-adds as tile_scatter does it),
 * and back 108 and 63 for a component (192 as tile_gather does it).                                                             */
#ifndef SS_DISCRETIZE_MPM_MPM_AFFINE_H
#define SS_DISCRETIZE_MPM_MPM_AFFINE_H
#include "discretize/mpm/mpm_kernel.h"

/* ---- to the grid ----------------------------------------------------------------------------------------------------------- */

/* Rows of four nodes in z, one or two of them, neighbours in y, of one particle; components that fit into registers at once. */
#if defined(__AVX512F__)
enum { PLANE_ROWS = 2, PLANE_COMPONENTS = 4 };
typedef double plane __attribute__((vector_size(64)));
#define PLANE_Z(a, b, c, d) ((plane){a, b, c, d, a, b, c, d})
#define PLANE_Y(a, b) ((plane){a, a, a, a, b, b, b, b})
LANES_INLINE plane plane_rows(double a, double b) { return _mm512_mask_blend_pd(0xF0, _mm512_set1_pd(a), _mm512_set1_pd(b)); }
LANES_INLINE row4  plane_row(plane x, int row) { return row ? _mm512_extractf64x4_pd(x, 1) : _mm512_castpd512_pd256(x); }
#else
enum { PLANE_ROWS = 1, PLANE_COMPONENTS = 2 };
typedef row4 plane;
#define PLANE_Z(a, b, c, d) ((plane){a, b, c, d})
#define PLANE_Y(a, b) ((plane){a, a, a, a})
LANES_INLINE plane plane_rows(double a, double b) { return (void)b, (plane){a, a, a, a}; }
LANES_INLINE row4  plane_row(plane x, int row) { return (void)row, x; }
#endif

/* The particles of a group, as they act on nodes (i, j, k) of their stencil: weight x_i y_j z_k, velocity
 * value + i slope[3c] + j slope[3c + 1] + k slope[3c + 2]. */
typedef struct {
  double x[STENCIL_MAX][LANES];                    /* with the mass in it; lanes without a particle are never read */
  double y[STENCIL_MAX + PLANE_ROWS - 1][LANES]; /* 0 beyond the stencil */
  plane  z[LANES];
  double value[3][LANES], slope[9][LANES];         /* m/s */
} affine_points;

/* Weights in z at s, as in kernel_row: those that vanish do so exactly. */
LANES_INLINE plane plane_weights(const int K, double s)
{
  plane p;
  if (K == 3) {
    p = PLANE_Z(1.5, -1.0, -0.5, 0.0) + s * PLANE_Z(-1.0, 1.0, 1.0, 0.0);
    return PLANE_Z(0.0, 0.75, 0.0, 0.0) + PLANE_Z(0.5, -1.0, 0.5, 0.0) * p * p;
  }
  p = PLANE_Z(2.0, -1.0, 2.0, -1.0) + s * PLANE_Z(-1.0, 1.0, -1.0, 1.0);
  return PLANE_Z(0.0, 2.0 / 3.0, 2.0 / 3.0, 0.0) +
         p * p * (PLANE_Z(0.0, -1.0, -1.0, 0.0) + PLANE_Z(1.0 / 6.0, 0.5, 0.5, 1.0 / 6.0) * p);
}

/* At s from their base node; C [9] is the affine velocity [1/s], NULL: none (constant). */
LANES_INLINE void affine_points_set(const int K, const lanes s[3], lanes mass, const lanes v[3], const lanes *C, double h,
                                    affine_points *a)
{
  lanes  n[STENCIL_MAX];
  double at[LANES];
  KERNEL_WEIGHTS(K, s[0], n);
#pragma GCC unroll 4
  for (int i = 0; i < K; ++i) lanes_store(a->x[i], mass * n[i]);
  KERNEL_WEIGHTS(K, s[1], n);
#pragma GCC unroll 5
  for (int j = 0; j < STENCIL_MAX + PLANE_ROWS - 1; ++j) lanes_store(a->y[j], j < K ? n[j] : (lanes){0});
  lanes_store(at, s[2]);
#pragma GCC unroll 8
  for (int l = 0; l < LANES; ++l) a->z[l] = plane_weights(K, at[l]);
#pragma GCC unroll 3
  for (int c = 0; c < 3; ++c) {
    lanes value = v[c];
    for (int d = 0; d < 3 && C; ++d) {
      const lanes slope = C[3 * c + d] * h;
      lanes_store(a->slope[3 * c + d], slope);
      value -= slope * s[d];
    }
    lanes_store(a->value[c], value);
  }
}

/* Adds components [first, end) of n particles, momentum (0 to 2) and mass (3), in rows j and its neighbours, to a tile. */
LANES_INLINE void affine_add_rows(const int K, const bool is_affine, const int first, const int end, const int j, const int n,
                                  const affine_points *a, double *tile)
{
  const plane y = PLANE_Y((double)j, (double)j + 1.0), z = PLANE_Z(0.0, 1.0, 2.0, 3.0);
  plane       sum[PLANE_COMPONENTS][STENCIL_MAX];
#pragma GCC unroll 16
  for (int q = 0; q < (end - first) * K; ++q) sum[q / K][q % K] = (plane){0};
  for (int l = 0; l < n; ++l) {
    const plane yz = plane_rows(a->y[j][l], a->y[j + PLANE_ROWS - 1][l]) * a->z[l];
    plane       w[STENCIL_MAX];
#pragma GCC unroll 4
    for (int i = 0; i < K; ++i) w[i] = a->x[i][l] * yz;
#pragma GCC unroll 4
    for (int c = first; c < end; ++c) {
      plane v = {0};
      if (c < 3 && is_affine)
        v = a->slope[3 * c + 2][l] * z + (a->slope[3 * c + 1][l] * y + a->value[c][l]);
#pragma GCC unroll 4
      for (int i = 0; i < K; ++i) {
        if (c == 3) sum[c - first][i] += w[i];
        else if (is_affine) sum[c - first][i] += w[i] * v;
        else sum[c - first][i] += w[i] * a->value[c][l];
        if (c < 3 && is_affine) v += a->slope[3 * c][l];
      }
    }
  }
#pragma GCC unroll 4
  for (int c = first; c < end; ++c)
#pragma GCC unroll 4
    for (int i = 0; i < K; ++i)
      for (int r = 0; r < PLANE_ROWS && j + r < K; ++r) {
        double *row = tile + c * TILE_NODES(K) + (i * TILE_SIDE(K) + j + r) * TILE_Z;
        row4_store(row, row4_load(row) + plane_row(sum[c - first][i], r));
      }
}

/* Adds momentum (components 0 to 2) and mass (3) of n particles to a tile; tile: component 0 at their base node. */
LANES_INLINE void affine_scatter(const int K, const bool is_affine, const int n, const affine_points *a, double *tile)
{
#pragma GCC unroll 4
  for (int j = 0; j < K; j += PLANE_ROWS)
#pragma GCC unroll 2
    for (int c = 0; c < 4; c += PLANE_COMPONENTS) affine_add_rows(K, is_affine, c, c + PLANE_COMPONENTS, j, n, a, tile);
}

/* ---- to the particles ------------------------------------------------------------------------------------------------------- */

/* A product that is made once for both its uses, not fused into each of them: additions have their own units. */
#if defined(__has_builtin) && __has_builtin(__builtin_assoc_barrier)
#define AFFINE_ONCE(x) __builtin_assoc_barrier(x)
#else
#define AFFINE_ONCE(x) (x)
#endif

/* *sum = sum p_k n_k, *moment = sum (k - 1) p_k n_k over K values; p: lanes or double [K]. */
#define AFFINE_MOMENT(K, p, n, sum, moment)                                     \
  do {                                                                          \
    const lanes first = AFFINE_ONCE((p)[0] * (n)[0]);                           \
    if ((K) == 3) {                                                             \
      const lanes last = (p)[2] * (n)[2];                                       \
      *(sum)    = first + ((p)[1] * (n)[1] + last);                             \
      *(moment) = last - first;                                                 \
    } else {                                                                    \
      const lanes last = (p)[(K)-1] * (n)[(K)-1], upper = (p)[2] * (n)[2] + last; \
      *(sum)    = first + ((p)[1] * (n)[1] + upper);                            \
      *(moment) = (upper + last) - first;                                       \
    }                                                                           \
  } while (0)

LANES_INLINE lanes affine_sum(const int K, const lanes *p, const lanes *n)
{
  lanes sum = p[0] * n[0];
#pragma GCC unroll 4
  for (int k = 1; k < K; ++k) sum += p[k] * n[k];
  return sum;
}

/* value[c] = sum_i w_i t_i, moment[3c + d] = scale sum_i w_i t_i (x_i - x)_d / h for points at s from their base node.
 * t: component 0 of a tile at that node. */
LANES_INLINE void affine_gather(const int K, const double *t, const lanes s[3], double scale, lanes value[3], lanes moment[9])
{
  lanes n[3][STENCIL_MAX];
#pragma GCC unroll 3
  for (int d = 0; d < 3; ++d) KERNEL_WEIGHTS(K, s[d], n[d]);
#pragma GCC unroll 3
  for (int c = 0; c < 3; ++c) {
    const double *tc = t + c * TILE_NODES(K);
    lanes         a[STENCIL_MAX] = {{0}}, ay[STENCIL_MAX] = {{0}}, az[STENCIL_MAX] = {{0}}, v = {0}, m = {0};
#pragma GCC unroll 4
    for (int i = 0; i < K; ++i) {
      lanes b[STENCIL_MAX] = {{0}}, bz[STENCIL_MAX] = {{0}};
#pragma GCC unroll 4
      for (int j = 0; j < K; ++j) {
        const double *row = tc + (i * TILE_SIDE(K) + j) * TILE_Z;
        AFFINE_MOMENT(K, row, n[2], &b[j], &bz[j]);
      }
      AFFINE_MOMENT(K, b, n[1], &a[i], &ay[i]);
      az[i] = affine_sum(K, bz, n[1]);
    }
    AFFINE_MOMENT(K, a, n[0], &v, &m);
    value[c]          = v;
    moment[3 * c]     = (m - (s[0] - 1.0) * v) * scale;
    moment[3 * c + 1] = (affine_sum(K, ay, n[0]) - (s[1] - 1.0) * v) * scale;
    moment[3 * c + 2] = (affine_sum(K, az, n[0]) - (s[2] - 1.0) * v) * scale;
  }
}
#endif
