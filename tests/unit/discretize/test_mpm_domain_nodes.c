/* What an MPM domain hands to others on its grid: nodes, masses, the way out. */
#include "discretize/mpm/mpm_domain.h"
#include "mpm_fixture.h"

static const double no_gravity[3] = {0, 0, 0};

typedef struct {
  int32_t (*node)[3];
  double *mass, (*outward)[3];
} handed;

static handed get(mpm_domain *d, int64_t n)
{
  handed o;
  assert_ok(memory_alloc("nodes", n, sizeof *o.node, &o.node));
  assert_ok(memory_alloc("nodes", n, sizeof *o.mass, &o.mass));
  assert_ok(memory_alloc("nodes", n, sizeof *o.outward, &o.outward));
  assert_ok(mpm_domain_get_nodes(d, o.node, o.mass, o.outward));
  return o;
}
static void put_away(handed *o) { memory_free(&o->node), memory_free(&o->mass), memory_free(&o->outward); }

/* Against textbook splines, node by node; and what follows from theirs: sum_i grad w_i = 0, sum_i x_i grad w_i = 1. */
static void gradients_are_those_of_the_splines(void **state)
{
  (void)state;
  toy_constants    k;
  material         soft      = toy_material(1000.0, 2e4, 3e4, 0.0, &k);
  const mpm_kernel kernels[] = {MPM_QUADRATIC, MPM_CUBIC};
  for (int c = 0; c < 2; ++c) {
    mpm_domain     *d     = fixture_cloud(&soft, 2, 300, 0.1, kernels[c], (mpm_transfer){.is_apic = true}, no_gravity);
    const int64_t   n     = fixture_begin(&d->base, 0.0, 1e-3);
    const mpm_grid *g     = d->grid;
    handed          o     = get(d, n);
    double          worst = 0.0, sum[3] = {0, 0, 0}, moment[9] = {0}, total = 0.0, mass = 0.0, largest = 0.0;
    for (int64_t i = 0; i < n; ++i) {
      double expected[3] = {0, 0, 0}, m = 0.0;
      for (int b = 0; b < 2; ++b) {
        const particles *p = d->bodies.particles[b];
        for (int64_t q = 0; q < p->n; ++q) {
          double x[3], gradient[3], arm[3];
          particle_at(p, q, x);
          m += p->mass[q] * node_weight(g, i, x, gradient, arm);
          v3_axpy(expected, p->mass[q], gradient);
        }
      }
      mass += m;
      assert_close(o.mass[i], m, 1e-13 * (m + d->bodies.particles[0]->mass[0])); /* next to nothing at the rim */
      for (int a = 0; a < 3; ++a) {
        worst   = fmax(worst, fabs(expected[a] - o.outward[i][a]));
        largest = fmax(largest, fabs(expected[a]));
        sum[a] += o.outward[i][a];
        for (int e = 0; e < 3; ++e) moment[3 * a + e] += g->h * o.node[i][a] * o.outward[i][e];
      }
    }
    for (int b = 0; b < 2; ++b)
      for (int64_t q = 0; q < d->bodies.particles[b]->n; ++q) total += d->bodies.particles[b]->mass[q];
    assert_close(mass, total, 1e-12 * total);
    assert_true(worst < 1e-13 * largest);
    assert_true(v3_norm(sum) < 1e-12 * largest);
    for (int a = 0; a < 9; ++a) assert_close(moment[a], a % 4 == 0 ? total : 0.0, 1e-12 * total);
    put_away(&o);
    mpm_domain_destroy(&d);
  }
  assert_no_leak();
}

/* A block: on its faces the gradient points out of it; with a mirror through its middle, as without one. */
static void outward_direction_is_correct(void **state)
{
  (void)state;
  toy_constants k;
  material      soft = toy_material(1000.0, 2e4, 3e4, 0.0, &k);
  const double  h    = 0.1;
  double        x[2][3 * 8 * 8 * 8], found[2][2] = {{0}};
  for (int mirrored = 0; mirrored < 2; ++mirrored) {
    int64_t n = 0;
    for (int i = mirrored ? 4 : 0; i < 8; ++i)
      for (int j = 0; j < 64; ++j, ++n) {
        x[mirrored][3 * n] = h * (-1.75 + 0.5 * i), x[mirrored][3 * n + 1] = h * (0.25 + 0.5 * (j / 8)),
                        x[mirrored][3 * n + 2] = h * (0.25 + 0.5 * (j % 8));
      }
    int                 index;
    mpm_domain         *d;
    const particle_seed seed = {.n = n, .x = x[mirrored], .volume_each = h * h * h / 8.0};
    assert_ok(mpm_domain_create(h, MPM_QUADRATIC, (mpm_transfer){.is_apic = true}, no_gravity, &d));
    assert_ok(mpm_domain_add_body(d, "block", &soft, &seed, &index));
    if (mirrored) assert_ok(mpm_domain_add_wall(d, 0, -1, 0.0, MPM_WALL_SLIP));
    const int64_t n_nodes = fixture_begin(&d->base, 0.0, 1e-3);
    handed        o       = get(d, n_nodes);
    int           seen    = 0;
    for (int64_t i = 0; i < n_nodes; ++i) {
      const int32_t *at = o.node[i];
      if (at[1] != 2 || at[2] != 2) continue;
      const double along = o.outward[i][0], across = fmax(fabs(o.outward[i][1]), fabs(o.outward[i][2]));
      assert_true(across < 1e-10 * o.mass[i] / h);
      if (at[0] == 2) assert_true(h * along > 0.5 * o.mass[i]); /* its face */
      if (at[0] == 0) assert_true(fabs(h * along) < 1e-10 * o.mass[i]);
      if (at[0] == 1 || at[0] == 2) found[mirrored][at[0] - 1] = along, ++seen;
    }
    assert_int_equal(seen, 2);
    put_away(&o);
    mpm_domain_destroy(&d);
  }
  for (int q = 0; q < 2; ++q) assert_close(found[1][q], found[0][q], 1e-12 * fabs(found[0][1]));
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(gradients_are_those_of_the_splines), cmocka_unit_test(outward_direction_is_correct))
