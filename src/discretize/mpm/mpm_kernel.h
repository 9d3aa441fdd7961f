/* B-spline kernels, and the two inner operations of MPM: interpolate values of a tile of nodes at particles (tile_gather), and add values
 * of particles to a tile (tile_scatter). mpm_transfer.c has special versions for the affine transfer.
 *
 * The stencil of a particle has K nodes per axis: 3 for quadratic, 4 for cubic splines. It starts at the base node, floor(x/h - 1/2) or
 * floor(x/h) - 1. Particles with the same base node form a cell. K is the first argument of each function, a constant after inlining, so
 * that every loop is unrolled. A tile contains the nodes in the stencils of one block of 4x4x4 cells: T = 4 + K - 1 per axis, stored as
 * [component][T][T][TILE_Z]. The z axis is padded, so that a row of 4 nodes may be read from any cell.                     */
#ifndef SS_DISCRETIZE_MPM_MPM_KERNEL_H
#define SS_DISCRETIZE_MPM_MPM_KERNEL_H
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "discretize/mpm/mpm_lanes.h"

typedef enum { MPM_QUADRATIC = 3, MPM_CUBIC = 4 } mpm_kernel; /* value: nodes per axis */

enum { BLOCK_SIDE = 4, BLOCK_NODES = 64, TILE_Z = 8, TILE_MAX_SIDE = 7, STENCIL_MAX = 4 };
#define TILE_SIDE(K) (BLOCK_SIDE + (K)-1)
#define TILE_NODES(K) (TILE_SIDE(K) * TILE_SIDE(K) * TILE_Z) /* doubles per component */
#define TILE_MAX_NODES (TILE_MAX_SIDE * TILE_MAX_SIDE * TILE_Z)

/* Coordinate of the base node in units of h. */
static inline double kernel_base(mpm_kernel kernel, double x_over_h)
{
  return kernel == MPM_QUADRATIC ? floor(x_over_h - 0.5) : floor(x_over_h) - 1.0;
}
/* Returns D in sum_i w_i (x_i - x)(x_i - x)^T = D I, which is h^2/4 or h^2/3 for every x: the inertia of the affine transfer [m^2]. */
static inline double kernel_inertia(mpm_kernel kernel, double h) { return h * h / (kernel == MPM_QUADRATIC ? 4.0 : 3.0); }

/* Weights n[k], and derivatives g[k] of the weights in units of 1/h, at s = x/h - base. The type of s is double or lanes. */
#define KERNEL_WEIGHTS(K, s, n)                                                                                                            \
  do {                                                                                                                                     \
    if ((K) == 3) {                                                                                                                        \
      (n)[0] = 0.5 * (1.5 - (s)) * (1.5 - (s));                                                                                            \
      (n)[1] = 0.75 - ((s)-1.0) * ((s)-1.0);                                                                                               \
      (n)[2] = 0.5 * ((s)-0.5) * ((s)-0.5);                                                                                                \
    } else {                                                                                                                               \
      (n)[0] = (2.0 - (s)) * (2.0 - (s)) * (2.0 - (s)) * (lanes_real)(1.0 / 6.0);                                                          \
      (n)[3] = ((s)-1.0) * ((s)-1.0) * ((s)-1.0) * (lanes_real)(1.0 / 6.0);                                                                \
      (n)[1] = (lanes_real)(2.0 / 3.0) - ((s)-1.0) * ((s)-1.0) * (1.5 - 0.5 * (s));                                                        \
      (n)[2] = (lanes_real)(2.0 / 3.0) - (2.0 - (s)) * (2.0 - (s)) * (0.5 * (s));                                                          \
    }                                                                                                                                      \
  } while (0)
#define KERNEL_DERIVATIVES(K, s, g)                                                                                                        \
  do {                                                                                                                                     \
    if ((K) == 3) {                                                                                                                        \
      (g)[0] = (s)-1.5;                                                                                                                    \
      (g)[1] = 2.0 - 2.0 * (s);                                                                                                            \
      (g)[2] = (s)-0.5;                                                                                                                    \
    } else {                                                                                                                               \
      (g)[0] = (lanes_real)-0.5 * (2.0 - (s)) * (2.0 - (s));                                                                               \
      (g)[3] = 0.5 * ((s)-1.0) * ((s)-1.0);                                                                                                \
      (g)[1] = ((s)-1.0) * (1.5 * (s)-3.5);                                                                                                \
      (g)[2] = (2.0 - (s)) * (1.5 * (s)-1.0);                                                                                              \
    }                                                                                                                                      \
  } while (0)

/* Factors of the tensor product along each axis: the weight n and a second factor e. KERNEL_GRADIENT: e is the derivative of n, for
 * gradients and forces. KERNEL_AFFINE: e = n (x_i - x_p), for affine transfers. `scale` of kernel_at converts e from units of h. */
typedef struct {
  lanes n[3][STENCIL_MAX], e[3][STENCIL_MAX];
} kernel_lanes;
typedef enum { KERNEL_GRADIENT, KERNEL_AFFINE } kernel_factor;

LANES_INLINE void kernel_at(const int K, const kernel_factor factor, const lanes s[3], lanes_real scale, kernel_lanes *w)
{
#pragma GCC unroll 3
  for (int d = 0; d < 3; ++d) {
    lanes g[STENCIL_MAX];
    KERNEL_WEIGHTS(K, s[d], w->n[d]);
    KERNEL_DERIVATIVES(K, s[d], g);
#pragma GCC unroll 4
    for (int k = 0; k < K; ++k) w->e[d][k] = factor == KERNEL_GRADIENT ? g[k] * scale : w->n[d][k] * ((lanes_real)k - s[d]) * scale;
  }
}

/* value[c] = sum_i n_x n_y n_z t_i, derivative[3*c + d] = the same with e instead of n along axis d. t points to component 0 at the base
 * node of the cell. The sums run over one axis after the other: K^2 (2K + 3) + 4K multiply-adds per component. Either output may be NULL
 * (a compile-time constant). */
LANES_INLINE void tile_gather(const int K, const int n_components, const lanes_real *t, const kernel_lanes *w, lanes *value,
                              lanes *derivative)
{
#pragma GCC unroll 3
  for (int c = 0; c < n_components; ++c) {
    const lanes_real *tc = t + c * TILE_NODES(K);
    lanes             v = {0}, dx = {0}, dy = {0}, dz = {0};
#pragma GCC unroll 4
    for (int i = 0; i < K; ++i) {
      lanes a = {0}, ay = {0}, az = {0};
#pragma GCC unroll 4
      for (int j = 0; j < K; ++j) {
        const lanes_real *row = tc + (i * TILE_SIDE(K) + j) * TILE_Z;
        lanes             s = row[0] * w->n[2][0], sz = row[0] * w->e[2][0];
#pragma GCC unroll 4
        for (int k = 1; k < K; ++k) {
          s += row[k] * w->n[2][k];
          sz += row[k] * w->e[2][k];
        }
        a += s * w->n[1][j];
        ay += s * w->e[1][j];
        az += sz * w->n[1][j];
      }
      v += a * w->n[0][i];
      dx += a * w->e[0][i];
      dy += ay * w->n[0][i];
      dz += az * w->n[0][i];
    }
    if (value) value[c] = v;
    if (derivative) derivative[3 * c] = dx, derivative[3 * c + 1] = dy, derivative[3 * c + 2] = dz;
  }
}

/* The transpose of tile_gather: add value and derivative of n particles, one per lane, to a tile. scatter_rows_set computes the
 * coefficients of the K x K rows (x, y) of nodes for all lanes at once. tile_scatter then adds the rows of four nodes in z, particle by
 * particle, to registers, which are stored once per group. So no sums over lanes are necessary. Lanes without a particle must be 0. */
typedef struct {
  lanes_real s[3][STENCIL_MAX * STENCIL_MAX][LANES], t[3][STENCIL_MAX * STENCIL_MAX][LANES]; /* factors of n_z and e_z */
} scatter_rows;

LANES_INLINE void scatter_rows_set(const int K, const kernel_lanes *w, const lanes *value, const lanes *derivative, scatter_rows *r)
{
#pragma GCC unroll 4
  for (int i = 0; i < K; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < K; ++j) {
      const lanes nn = w->n[0][i] * w->n[1][j], en = w->e[0][i] * w->n[1][j], ne = w->n[0][i] * w->e[1][j];
#pragma GCC unroll 3
      for (int c = 0; c < 3; ++c) {
        lanes s = {0};
        if (value) s = nn * value[c];
        if (derivative) {
          s += en * derivative[3 * c] + ne * derivative[3 * c + 1];
          lanes_store(r->t[c][K * i + j], nn * derivative[3 * c + 2]);
        }
        lanes_store(r->s[c][K * i + j], s);
      }
    }
}

/* Weights n_z and factors e_z of four nodes (the fourth is 0 for K = 3) at s[0 ... ROW_PARTICLES - 1]. The polynomials are expanded about
 * the end of each piece of the spline, so that weights are exactly 0 there and never negative. */
LANES_INLINE void kernel_row(const int K, const kernel_factor factor, const lanes_real *s_, lanes_real scale, rowz *n, rowz *e)
{
  const rowz s = rowz_spread(s_);
  rowz       p, g;
  if (K == 3) {
    p  = ROWZ(1.5, -1.0, -0.5, 0.0) + s * ROWZ(-1.0, 1.0, 1.0, 0.0);
    *n = ROWZ(0.0, 0.75, 0.0, 0.0) + ROWZ(0.5, -1.0, 0.5, 0.0) * p * p;
    g  = ROWZ(-1.0, -2.0, 1.0, 0.0) * p;
  } else {
    p  = ROWZ(2.0, -1.0, 2.0, -1.0) + s * ROWZ(-1.0, 1.0, -1.0, 1.0);
    *n = ROWZ(0.0, 2.0 / 3.0, 2.0 / 3.0, 0.0) + p * p * (ROWZ(0.0, -1.0, -1.0, 0.0) + ROWZ(1.0 / 6.0, 0.5, 0.5, 1.0 / 6.0) * p);
    g  = p * (ROWZ(0.0, -2.0, 2.0, 0.0) + ROWZ(-0.5, 1.5, -1.5, 0.5) * p);
  }
  *e = factor == KERNEL_GRADIENT ? g * scale : *n * (ROWZ(0.0, 1.0, 2.0, 3.0) - s) * scale;
}

/* Rows n, e of all particles of a group with positions s in z. */
enum { GROUP_ROWS = LANES / ROW_PARTICLES };
LANES_INLINE void kernel_rows(const int K, const kernel_factor factor, lanes s, lanes_real scale, rowz n[GROUP_ROWS], rowz e[GROUP_ROWS])
{
  lanes_real at[LANES];
  lanes_store(at, s);
#pragma GCC unroll 8
  for (int q = 0; q < GROUP_ROWS; ++q) kernel_row(K, factor, at + q * ROW_PARTICLES, scale, &n[q], &e[q]);
}

LANES_INLINE void scatter_component(const int K, const int n, const lanes_real (*s)[LANES], const lanes_real (*t)[LANES], const rowz *nz,
                                    const rowz *ez, lanes_real *tile)
{
  rowz sum[STENCIL_MAX * STENCIL_MAX];
#pragma GCC unroll 16
  for (int q = 0; q < K * K; ++q) sum[q] = (rowz){0};
  for (int l = 0; l < n; l += ROW_PARTICLES) {
    const rowz nl = nz[l / ROW_PARTICLES], el = t ? ez[l / ROW_PARTICLES] : nl;
#pragma GCC unroll 16
    for (int q = 0; q < K * K; ++q) {
      sum[q] += rowz_spread(&s[q][l]) * nl;
      if (t) sum[q] += rowz_spread(&t[q][l]) * el;
    }
  }
#pragma GCC unroll 16
  for (int q = 0; q < K * K; ++q) {
    lanes_real *row = tile + (q / K * TILE_SIDE(K) + q % K) * TILE_Z;
    row4_store(row, row4_load(row) + rowz_fold(sum[q]));
  }
}
/* Add n particles to a tile; `tile` points to component 0 at the base node of the cell. */
LANES_INLINE void tile_scatter(const int K, const int n, const bool has_derivative, const scatter_rows *r, const rowz *nz, const rowz *ez,
                               lanes_real *tile)
{
  for (int c = 0; c < 3; ++c) scatter_component(K, n, r->s[c], has_derivative ? r->t[c] : NULL, nz, ez, tile + c * TILE_NODES(K));
}
#endif
