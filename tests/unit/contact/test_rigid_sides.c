/* Forces and torques of pairs on points and rigid bodies, and their derivatives, against the formulas of rigid_sides.h written out as a dense
 * matrix: product, transposed product, diagonal blocks, couplings and assembled matrix. */
#include "test.h"
#include "contact_bodies.h"
#include "contact/rows/rigid_sides.h"
#include <string.h>

enum { N_PAIRS = 40, N_WEIGHTS = 3, N_CLOUD = 8, FIRST = 3, FRAMES = 4, N_BLOCKS = FIRST + N_CLOUD + 6, N = 3 * N_BLOCKS };
static const double DT = 0.05;

typedef struct {
  mock_body         cloud, boxes[FRAMES];
  contact_source    sources[1 + FRAMES];
  contact_candidate candidate[N_PAIRS];
  rigid_frame       frames[FRAMES];
  contact_rows     *rows;
  rigid_sides       s;
} world;

/* Points of a cloud or of rigid bodies against rigid bodies. Frame 0 has no unknowns. Some pairs are not active. */
static void create(world *w, uint64_t seed)
{
  static const int64_t block[FRAMES] = {-1, FIRST + N_CLOUD, 0, FIRST + N_CLOUD + 2}; /* block 2 and the last two belong to other bodies */
  uint64_t             state         = seed;
  memset(w, 0, sizeof *w);
  mock_create(&w->cloud, "cloud", false, N_PAIRS, N_WEIGHTS, N_CLOUD);
  mock_random_rows(&w->cloud, &state);
  w->cloud.base.first_block = FIRST;
  w->sources[0]             = (contact_source){&w->cloud.base, -1, 0};
  for (int f = 0; f < FRAMES; ++f) {
    double c[3], turn[3], Jl[9];
    mock_create(&w->boxes[f], "box", true, N_PAIRS, 0, 2);
    w->sources[1 + f] = (contact_source){&w->boxes[f].base, f, 1 + f};
    mock_random_vector(&state, c, 1.0);
    mock_random_vector(&state, turn, 0.8);
    w->frames[f] = mock_frame(c, block[f]);
    mock_exponential(turn, w->frames[f].R, Jl);
    m3_copy(w->frames[f].Jl, Jl);
  }
  assert_ok(contact_rows_create(&w->rows));
  assert_ok(rigid_sides_create(&w->s));
  for (int i = 0; i < N_PAIRS; ++i) {
    w->candidate[i].i_source = i % 3 == 0 ? 0 : 1 + i % FRAMES;
    w->candidate[i].i_point  = (i * 7) % N_PAIRS;
  }
  assert_ok(contact_rows_build(w->rows, N_PAIRS, w->candidate, w->sources, N_BLOCKS));
  assert_ok(rigid_sides_begin(&w->s, DT, FRAMES, w->frames));
  assert_ok(rigid_sides_reserve(&w->s, N_PAIRS));
  for (int i = 0; i < N_PAIRS; ++i) {
    const int32_t source = i % 3 == 0 ? -1 : i % FRAMES;
    int32_t       object = (i / 4) % FRAMES;
    if (object == source) object = (object + 1) % FRAMES;
    rigid_sides_add(&w->s, i, source, object);
    assert_int_equal(w->s.is_active[i], 0);
    for (int k = 0; k < 9; ++k)
      assert_close(w->s.K[9 * i + k] + (k < 3 ? fabs(w->s.f[3 * i + k]) + fabs(w->s.Z[3 * i + k]) : 0.0), 0.0, 0.0);
    if (i % 7 == 3) continue;
    w->s.is_active[i] = 1;
    mock_random_vector(&state, w->s.Z + 3 * i, 2.0);
    mock_random_vector(&state, w->s.f + 3 * i, 3.0);
    for (int k = 0; k < 3; ++k) mock_random_vector(&state, w->s.K + 9 * i + 3 * k, 5.0);
  }
  assert_ok(rigid_sides_list(&w->s, N_PAIRS));
}
static void destroy(world *w)
{
  rigid_sides_destroy(&w->s);
  contact_rows_destroy(&w->rows);
  mock_destroy(&w->cloud);
  for (int f = 0; f < FRAMES; ++f) mock_destroy(&w->boxes[f]);
}

/* Increments dx of the point, dc and dt of a body at the increment DT x of the unknowns. */
static void point_increment(const world *w, int i, const double *x, double dx[3])
{
  v3_set(dx, 0.0, 0.0, 0.0);
  for (int k = 0; k < N_WEIGHTS; ++k) {
    const int64_t at = w->candidate[i].i_point * N_WEIGHTS + k;
    v3_axpy(dx, DT * w->cloud.weight[at], x + 3 * (FIRST + w->cloud.block[at]));
  }
}
static void body_increment(const world *w, int frame, const double *x, double dc[3], double dt[3])
{
  const rigid_frame *f = &w->frames[frame];
  v3_set(dc, 0.0, 0.0, 0.0), v3_set(dt, 0.0, 0.0, 0.0);
  if (f->block < 0) return;
  v3_scale(dc, DT, x + 3 * f->block);
  m3_mulv(dt, f->Jl, x + 3 * f->block + 3);
  v3_scale(dt, DT, dt);
}
static void add_force(const world *w, int i, double scale, const double f[3], double *y)
{
  for (int k = 0; k < N_WEIGHTS; ++k) {
    const int64_t at = w->candidate[i].i_point * N_WEIGHTS + k;
    v3_axpy(y + 3 * (FIRST + w->cloud.block[at]), scale * w->cloud.weight[at], f);
  }
}

/* y -= DT x derivative of forces and torques along x; by the formulas of rigid_sides.h. */
static void add_derivative(const world *w, const double *x, double *y)
{
  for (int i = 0; i < N_PAIRS; ++i) {
    const int     p = w->s.source[i], o = w->s.object[i];
    const double *Z = w->s.Z + 3 * i, *f = w->s.f + 3 * i;
    double        a[3], b[3], dZ[3], dc[3], dt[3], dc_p[3], dt_p[3], t[3], d[3], rel[3], df[3], torque[3];
    if (!w->s.is_active[i]) continue;
    v3_sub(b, Z, w->frames[o].c);
    body_increment(w, o, x, dc, dt);
    if (p >= 0) {
      v3_sub(a, Z, w->frames[p].c);
      body_increment(w, p, x, dc_p, dt_p);
      v3_cross(dZ, dt_p, a);
      v3_add(dZ, dZ, dc_p);
    } else point_increment(w, i, x, dZ);
    v3_sub(d, dZ, dc);
    v3_cross(t, dt, b);
    v3_sub(rel, d, t);
    m3_mulv(df, w->s.K + 9 * i, rel);
    v3_cross(t, dt, f);
    v3_add(df, df, t);
    if (p < 0) add_force(w, i, -DT, df, y);
    else if (w->frames[p].block >= 0) {
      v3_axpy(y + 3 * w->frames[p].block, -DT, df);
      v3_cross(torque, a, df);
      v3_cross(t, dt_p, a);
      v3_cross(rel, t, f);
      v3_add(torque, torque, rel);
      v3_axpy(y + 3 * w->frames[p].block + 3, -DT, torque);
    }
    if (w->frames[o].block < 0) continue;
    v3_axpy(y + 3 * w->frames[o].block, DT, df);
    v3_cross(torque, b, df);
    v3_cross(t, d, f);
    v3_add(torque, torque, t);
    v3_axpy(y + 3 * w->frames[o].block + 3, DT, torque);
  }
}

static void product(world *w, const double *x, bool is_transposed, double *y)
{
  rigid_sides_gather(&w->s, w->rows, x, is_transposed);
  for (int i = 0; i < N_PAIRS; ++i) {
    if (!w->s.is_active[i]) rigid_sides_rest(&w->s, i);
    else if (is_transposed) rigid_sides_product_transposed(&w->s, i);
    else rigid_sides_product(&w->s, i);
  }
  rigid_sides_scatter(&w->s, w->rows, is_transposed, y);
}

static double H[N][N]; /* [column][row] */

static void derivatives(void **unused)
{
  (void)unused;
  for (uint64_t seed = 1; seed < 6; ++seed) {
    world    w;
    uint64_t state = 77 + seed;
    double   x[N], y[N], z[N], d[9 * N_BLOCKS];
    create(&w, seed);
    for (int j = 0; j < N; ++j) {
      memset(x, 0, sizeof x), memset(H[j], 0, sizeof H[j]);
      x[j] = 1.0;
      add_derivative(&w, x, H[j]);
    }
    for (int i = 0; i < N; ++i) x[i] = mock_random(&state, -1.0, 1.0);
    for (int is_transposed = 0; is_transposed < 2; ++is_transposed) {
      for (int i = 0; i < N; ++i) y[i] = z[i] = 0.25 * i;
      product(&w, x, is_transposed, y);
      for (int i = 0; i < N; ++i)
        for (int j = 0; j < N; ++j) z[i] += (is_transposed ? H[i][j] : H[j][i]) * x[j];
      for (int i = 0; i < N; ++i) assert_close(y[i], z[i], 1e-13 * 100);
    }
    for (int i = 0; i < 9 * N_BLOCKS; ++i) d[i] = 0.5;
    rigid_sides_block_diagonal(&w.s, w.rows, d);
    for (int i = 0; i < 9 * N_BLOCKS; ++i) assert_close(d[i], 0.5 + H[3 * (i / 9) + i % 3][3 * (i / 9) + i / 3 % 3], 1e-13 * 100);
    /* the matrix on the pattern of the couplings and of weighted points */
    int64_t  n = 1, row_start[N_BLOCKS + 1];
    int32_t *row, *col, all[N_BLOCKS * N_BLOCKS];
    bool     has[N_BLOCKS][N_BLOCKS] = {{false}};
    assert_ok(MEMORY_ALLOC("couplings", ARRAY(row, 1), ARRAY(col, 1))); /* appended to one of another module */
    assert_ok(rigid_sides_couplings(&w.s, w.rows, N_BLOCKS, &n, &row, &col));
    assert_true(n > 1 && row[0] == 0 && col[0] == 0);
    for (int64_t k = 1; k < n; ++k) has[row[k]][col[k]] = true;
    for (int i = 0; i < N_BLOCKS; ++i) /* all but those of one body, and of one point with itself */
      for (int j = 0; j < N_BLOCKS; ++j)
        for (int e = 0; e < 9; ++e) {
          const bool is_own = (i >= FIRST && i < FIRST + N_CLOUD && j >= FIRST && j < FIRST + N_CLOUD) || (i < 2 && j < 2) ||
                              (i >= FIRST + N_CLOUD && j >= FIRST + N_CLOUD && (i - FIRST - N_CLOUD) / 2 == (j - FIRST - N_CLOUD) / 2);
          if (H[3 * j + e % 3][3 * i + e / 3] != 0.0 && !is_own) assert_true(has[i][j]);
        }
    memory_free(&row), memory_free(&col);
    static double value[9 * N_BLOCKS * N_BLOCKS];
    for (int i = 0; i <= N_BLOCKS; ++i) row_start[i] = (int64_t)i * N_BLOCKS;
    for (int i = 0; i < N_BLOCKS * N_BLOCKS; ++i) all[i] = i % N_BLOCKS;
    memset(value, 0, sizeof value);
    const block_rows M = {N_BLOCKS, row_start, all, value};
    assert_ok(rigid_sides_assemble(&w.s, w.rows, N_BLOCKS, &M));
    for (int i = 0; i < N; ++i)
      for (int j = 0; j < N; ++j) assert_close(value[9 * (N_BLOCKS * (i / 3) + j / 3) + 3 * (i % 3) + j % 3], H[j][i], 1e-13 * 100);
    destroy(&w);
  }
  assert_no_leak();
}

/* Forces at another pose than that of the derivatives. Sum and moment of all pairs between bodies with unknowns are zero. */
static void forces(void **unused)
{
  (void)unused;
  world       w;
  uint64_t    state = 5;
  rigid_frame frames[FRAMES];
  double      y[N] = {0.0}, z[N] = {0.0}, Z[3 * N_PAIRS], f[3 * N_PAIRS];
  create(&w, 9);
  memcpy(frames, w.frames, sizeof frames);
  for (int k = 0; k < FRAMES; ++k) mock_random_vector(&state, frames[k].c, 1.0);
  for (int i = 0; i < N_PAIRS; ++i) {
    mock_random_vector(&state, Z + 3 * i, 2.0);
    mock_random_vector(&state, f + 3 * i, 3.0);
    rigid_sides_apply(&w.s, i, frames, Z + 3 * i, f + 3 * i);
    for (int side = 0; side < 2; ++side) {
      const int    frame = side ? w.s.object[i] : w.s.source[i];
      const double sign  = side ? DT : -DT;
      double       arm[3], torque[3];
      if (frame < 0) add_force(&w, i, sign, f + 3 * i, z);
      if (frame < 0 || frames[frame].block < 0) continue;
      v3_sub(arm, Z + 3 * i, frames[frame].c);
      v3_cross(torque, arm, f + 3 * i);
      v3_axpy(z + 3 * frames[frame].block, sign, f + 3 * i);
      v3_axpy(z + 3 * frames[frame].block + 3, sign, torque);
    }
  }
  rigid_sides_scatter(&w.s, w.rows, false, y);
  for (int i = 0; i < N; ++i) assert_close(y[i], z[i], 1e-13 * 10);
  destroy(&w);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(derivatives), cmocka_unit_test(forces))
