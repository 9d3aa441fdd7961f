/* The sparse grid of MPM bodies: layout of clusters and nodes, look-up of nodes, stencils, sums of tiles, particles out of range. */
#include "mpm_fixture.h"
#include <float.h>

static const double       no_gravity[3] = {0, 0, 0};
static const mpm_transfer apic          = {.is_apic = true};
static const mpm_kernel   kernels[]     = {MPM_QUADRATIC, MPM_CUBIC};
enum { N = 400 };
static const double  H = 0.1;
static toy_constants constants;
static material      stuff;

static int setup(void **state)
{
  (void)state;
  stuff = toy_material(1300.0, 1e5, 2e5, 0.0, &constants);
  return 0;
}

static void grid_layout_is_sound(void **state)
{
  (void)state;
  for (int c = 0; c < 2; ++c) {
    mpm_domain *d = fixture_cloud(&stuff, 2, N, 0.1, kernels[c], apic, no_gravity);
    fixture_begin(&d->base, 0.0, 1e-3);
    const mpm_grid *g    = d->grid;
    int64_t         seen = 0;
    for (int64_t q = 0; q < g->n_clusters; ++q) {
      const mpm_cluster *cl = &g->cluster[q];
      const particles   *p  = d->bodies.particles[cl->body];
      assert_int_equal(cl->first, p->batches[cl->first_batch].particle);
      assert_int_equal(cl->end, p->batches[cl->end_batch].particle);
      for (int32_t b = cl->first_batch; b < cl->end_batch; ++b)
        assert_in_range(p->batches[b + 1].particle - p->batches[b].particle, 1, MATERIAL_BATCH);
      for (int32_t i = p->batches[cl->first_batch].group; i < p->batches[cl->end_batch].group; ++i)
        for (int l = 0; l < p->groups[i].n; ++l) {
          double x[3], base[3];
          particle_at(p, p->groups[i].first + l, x);
          mpm_grid_cell(g->kernel, cl, p->groups[i].cell, base);
          for (int k = 0; k < 3; ++k) assert_true(kernel_base(g->kernel, x[k] / g->h) == base[k]);
          assert_true(hypot(hypot(x[0] - cl->center[0], x[1] - cl->center[1]), x[2] - cl->center[2]) <= cl->radius * (1 + 1e-15));
          ++seen;
        }
    }
    assert_int_equal(seen, 2 * N);
    for (int64_t i = 0; i < g->n_dofs; ++i) { /* every node is there once: its own number leads back to it */
      assert_int_equal(g->node_dof[g->dof_node[i]], i);
      assert_true(g->mass[i] > 0.0);
    }
    mpm_domain_destroy(&d);
    assert_no_leak();
  }
}

/* Every node of the box of blocks, and two layers around it: found if and only if it is a dof, and then as this dof. */
static void nodes_are_found(void **state)
{
  (void)state;
  for (int c = 0; c < 2; ++c) {
    mpm_domain *d = fixture_cloud(&stuff, 1, N, H, kernels[c], apic, no_gravity);
    fixture_begin(&d->base, 0.0, 1e-3);
    const mpm_grid *g = d->grid;
    int64_t         n = 0, n_blocks = 0, node[3], back[3];
    for (int64_t i = 0; i < g->n_dofs; ++i) {
      mpm_grid_node(g, i, node);
      assert_int_equal(mpm_grid_find(g, node), i);
    }
    for (node[0] = 4 * g->low[0] - 2; node[0] < 4 * (g->low[0] + g->side[0]) + 2; ++node[0])
      for (node[1] = 4 * g->low[1] - 2; node[1] < 4 * (g->low[1] + g->side[1]) + 2; ++node[1])
        for (node[2] = 4 * g->low[2] - 2; node[2] < 4 * (g->low[2] + g->side[2]) + 2; ++node[2]) {
          const int32_t dof   = mpm_grid_find(g, node);
          const int64_t block = mpm_grid_find_block(g, node);
          bool          is_in = true;
          for (int k = 0; k < 3; ++k) is_in = is_in && node[k] >= 4 * g->low[k] && node[k] < 4 * (g->low[k] + g->side[k]);
          assert_true(block < g->n_blocks && (is_in || block < 0) && (dof < 0 || block >= 0));
          n_blocks += block >= 0;
          n += dof >= 0;
          if (dof < 0) continue;
          mpm_grid_node(g, dof, back);
          assert_memory_equal(node, back, sizeof node);
        }
    assert_int_equal(n, g->n_dofs);
    assert_int_equal(n_blocks, 64 * g->n_blocks);
    mpm_domain_destroy(&d);
  }
}

/* At every particle: weights of the splines, which sum to one and interpolate its place; with an offset b those of the affine
 * transfer, w (1 + (x_i - x) b/D), which interpolate x + b. */
static void stencils_are_the_weights(void **state)
{
  const double offset[3] = {0.013, -0.021, 0.008}, zero[3] = {0.0, 0.0, 0.0};
  (void)state;
  for (int c = 0; c < 2; ++c) {
    mpm_domain *d = fixture_cloud(&stuff, 2, N, H, kernels[c], apic, no_gravity);
    fixture_begin(&d->base, 0.0, 1e-3);
    const mpm_grid *g = d->grid;
    const double    D = c ? H * H / 3.0 : H * H / 4.0;
    for (int64_t q = 0; q < g->n_clusters; ++q)
      for (int32_t p = g->cluster[q].first; p < g->cluster[q].end; ++p)
        for (int k = 0; k < 2; ++k) {
          int32_t dof[64];
          double  weight[64], x[3], sum = 0.0, mean[3] = {0.0};
          particle_at(d->bodies.particles[g->cluster[q].body], p, x);
          const int n = mpm_grid_stencil(g, &g->cluster[q], x, k ? offset : NULL, dof, weight);
          assert_int_equal(n, c ? 64 : 27);
          for (int i = 0; i < n; ++i) {
            double       gradient[3], arm[3];
            const double w = node_weight(g, dof[i], x, gradient, arm);
            assert_close(weight[i], w * (1.0 + v3_dot(arm, k ? offset : zero) / D), 1e-14);
            sum += weight[i];
            for (int a = 0; a < 3; ++a) mean[a] += weight[i] * (x[a] + arm[a]);
          }
          assert_close(sum, 1.0, 1e-14);
          for (int a = 0; a < 3; ++a) assert_close(mean[a], x[a] + (k ? offset[a] : 0.0), 1e-14);
        }
    mpm_domain_destroy(&d);
  }
}

/* Random numbers in all tiles: sums over the tiles that contain a node; nodes with more mass than the threshold become dofs with
 * velocity momentum/mass. */
static void tiles_are_summed(void **state)
{
  enum { COMPONENTS = 4 };
  (void)state;
  for (int c = 0; c < 2; ++c) {
    const int    K = kernels[c], side = TILE_SIDE(K);
    mpm_domain  *d         = fixture_cloud(&stuff, 2, N, H, kernels[c], apic, no_gravity);
    const double threshold = 2.0;
    fixture_begin(&d->base, 0.0, 1e-3);
    mpm_grid     *g    = d->grid;
    const int64_t n    = 64 * g->n_blocks;
    double       *sums = fixture_vector(COMPONENTS * n), *out;
    int64_t       stride, n_heavy = 0, n_light = 0;
    assert_ok(mpm_grid_tiles(g, COMPONENTS, &stride));
    assert_int_equal(stride, COMPONENTS * TILE_NODES(K));
    for (int64_t i = 0; i < g->n_clusters * stride; ++i)
      g->tiles[i] = i % TILE_Z < side ? random_u01(41, (uint64_t)i, (uint64_t)c) : 0.0; /* the rest is padding */
    for (int64_t q = 0; q < g->n_clusters; ++q)
      for (int i = 0; i < side; ++i)
        for (int j = 0; j < side; ++j)
          for (int k = 0; k < side; ++k) {
            const mpm_cluster *cl      = &g->cluster[q];
            const int64_t      node[3] = {(int64_t)cl->base[0] + i, (int64_t)cl->base[1] + j, (int64_t)cl->base[2] + k};
            const int64_t      at      = 64 * mpm_grid_find_block(g, node) + 16 * (node[0] & 3) + 4 * (node[1] & 3) + (node[2] & 3);
            for (int a = 0; a < COMPONENTS; ++a)
              sums[COMPONENTS * at + a] += g->tiles[q * stride + a * TILE_NODES(K) + (i * side + j) * TILE_Z + k];
          }
    assert_ok(mpm_grid_activate(g, threshold));
    out = fixture_vector(COMPONENTS * g->n_dofs);
    mpm_grid_reduce(g, COMPONENTS, out);
    for (int64_t at = 0; at < n; ++at) {
      const int32_t dof  = g->node_dof[at];
      const double *sum  = sums + COMPONENTS * at;
      const bool    near = fabs(sum[3] - threshold) < 1e-12;
      assert_true(near || (dof >= 0) == (sum[3] > threshold));
      n_heavy += dof >= 0, n_light += dof < 0 && sum[3] > 0.0;
      if (dof < 0) continue;
      assert_int_equal(g->dof_node[dof], at);
      assert_close(g->mass[dof], sum[3], 64 * DBL_EPSILON * sum[3]);
      for (int a = 0; a < COMPONENTS; ++a) assert_close(out[COMPONENTS * dof + a], sum[a], 64 * DBL_EPSILON * sum[a]);
      for (int a = 0; a < 3; ++a) assert_close(g->velocity[3 * dof + a], sum[a] / sum[3], 64 * DBL_EPSILON * sum[a]);
    }
    assert_true(n_heavy == g->n_dofs && n_heavy > 100 && n_light > 100);
    memory_free(&sums), memory_free(&out);
    mpm_domain_destroy(&d);
  }
}

/* A particle that is not finite, or 2^20 cells or more from the origin: body and smallest index of the first such body. A spacing
 * that is none. */
static void places_out_of_range_are_reported(void **state)
{
  static const double far[] = {0x1p20, -0x1p20, INFINITY, NAN}, spacings[] = {0.0, -1.0, NAN, INFINITY};
  const char         *names[] = {"bed", "block"};
  (void)state;
  for (int k = 0; k < 4; ++k) {
    mpm_domain  *d      = fixture_cloud(&stuff, 2, N, H, MPM_QUADRATIC, apic, no_gravity);
    step_status  status = {STEP_OK, NULL, -1};
    particles  **p      = d->bodies.particles;
    const double last   = (0x1p20 - 1.0) * H;
    p[1]->x[2][7]       = last;
    assert_ok(mpm_grid_build(d->grid, 1, p, names, &status)); /* the other body alone */
    assert_int_equal(status.code, STEP_OK);
    p[1]->x[k % 3][30] = p[1]->x[0][200] = far[k] * H * (1.0 + DBL_EPSILON);
    assert_ok(mpm_grid_build(d->grid, 2, p, names, &status));
    assert_int_equal(status.code, STEP_OUT_OF_GRID);
    assert_string_equal(status.body, "block");
    assert_int_equal(status.where, 30);
    p[0]->x[1][350] = far[k] * H * (1.0 + DBL_EPSILON);
    status          = (step_status){STEP_OK, NULL, -1};
    assert_ok(mpm_grid_build(d->grid, 2, p, names, &status));
    assert_string_equal(status.body, "bed");
    assert_int_equal(status.where, 350);
    mpm_domain_destroy(&d);
    mpm_grid *g = NULL;
    assert_int_equal(mpm_grid_create(spacings[k], MPM_QUADRATIC, &g), PETSC_ERR_USER_INPUT);
    assert_null(g);
    error_clear();
  }
}

#define GRID_TEST(name) cmocka_unit_test_setup(name, setup)
TEST_MAIN(GRID_TEST(grid_layout_is_sound), GRID_TEST(nodes_are_found), GRID_TEST(stencils_are_the_weights), GRID_TEST(tiles_are_summed),
          GRID_TEST(places_out_of_range_are_reported))
