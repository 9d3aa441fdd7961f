/* Light nodes: selection of dependent nodes and leaders, exact linear velocities, moving nodes stay independent, same bits on
 * any number of threads. */
#include "mpm_fixture.h"
#include "discretize/mpm/mpm_light.h"

static const double       no_gravity[3] = {0, 0, 0};
static const mpm_transfer apic          = {.is_apic = true};
static const mpm_kernel   kernels[]     = {MPM_QUADRATIC, MPM_CUBIC};
enum { N = 300 };
static const double  SHARE = 0.3;
static toy_constants constants;
static material      stuff;

static int setup(void **state)
{
  (void)state;
  stuff = toy_material(1300.0, 1e5, 2e5, 0.0, &constants);
  return 0;
}

static mpm_domain *cloud(int c, double share)
{
  mpm_domain *d = fixture_cloud(&stuff, 2, N, 0.1, kernels[c], apic, no_gravity);
  mpm_domain_set_light_nodes(d, share, INFINITY);
  fixture_begin(&d->base, 0.0, 1e-3);
  return d;
}

static bool is_light(const mpm_grid *g, int64_t i)
{
  int64_t node[3], near[3];
  double  heaviest = 0.0;
  mpm_grid_node(g, i, node);
  for (int q = 0; q < 27; ++q) {
    for (int k = 0; k < 3; ++k) near[k] = node[k] + (k == 0 ? q / 9 : k == 1 ? q / 3 % 3 : q % 3) - 1;
    const int32_t other = mpm_grid_find(g, near);
    if (other >= 0) heaviest = fmax(heaviest, g->mass[other]);
  }
  return g->mass[i] < SHARE * heaviest;
}

/* Only light nodes are dependent, only others are leaders, and every node that can be dependent is. */
static void light_nodes_depend_on_heavy_ones(void **state)
{
  (void)state;
  for (int c = 0; c < 2; ++c) {
    mpm_domain                 *d = cloud(c, SHARE);
    const mpm_grid             *g = d->grid;
    const body_dependent_block *f;
    const int64_t               n       = d->base.ops->followers(&d->base, &f);
    double                     *sum     = fixture_vector(g->n_dofs);
    int64_t                     n_light = 0, n_follow = 0;
    for (int64_t k = 0; k < n; ++k) {
      assert_true(is_light(g, f[k].block) && !is_light(g, f[k].leader));
      sum[f[k].block] += f[k].weight;
    }
    for (int64_t i = 0; i < g->n_dofs; ++i) {
      n_light += is_light(g, i);
      n_follow += sum[i] != 0.0;
      if (sum[i] != 0.0) assert_close(sum[i], 1.0, 1e-15);
    }
    assert_in_range(n_light, g->n_dofs / 10, g->n_dofs);
    assert_in_range(n_follow, n_light * 9 / 10, n_light);
    memory_free(&sum);
    mpm_domain_destroy(&d);
    assert_no_leak();
  }
}

/* With two leaders, a linear velocity is reproduced exactly; with one, a constant is. */
static void linear_velocities_are_exact(void **state)
{
  (void)state;
  for (int c = 0; c < 2; ++c) {
    mpm_domain                 *d = cloud(c, SHARE);
    const mpm_grid             *g = d->grid;
    const body_dependent_block *f;
    const int64_t               n       = d->base.ops->followers(&d->base, &f);
    int64_t                     n_pairs = 0;
    for (int64_t k = 0; k < n; ++k) {
      int64_t own[3], near[3], far[3];
      if (k + 1 == n || f[k + 1].block != f[k].block) {
        assert_true(f[k].weight == 1.0);
        continue;
      }
      mpm_grid_node(g, f[k].block, own);
      mpm_grid_node(g, f[k].leader, near);
      mpm_grid_node(g, f[k + 1].leader, far);
      for (int a = 0; a < 3; ++a) assert_true(f[k].weight * (double)near[a] + f[k + 1].weight * (double)far[a] == (double)own[a]);
      ++k, ++n_pairs;
    }
    assert_in_range(n_pairs, n / 3, n);
    mpm_domain_destroy(&d);
    assert_no_leak();
  }
}

/* Mass of the node at `steps` times direction q from node `at`, over the squared length of the direction; 0 for light and missing nodes. */
static double worth_of(const mpm_grid *g, const int64_t at[3], int q, int steps)
{
  const int dir[3] = {q / 9 - 1, q / 3 % 3 - 1, q % 3 - 1}, length2 = dir[0] * dir[0] + dir[1] * dir[1] + dir[2] * dir[2];
  int64_t   node[3];
  for (int k = 0; k < 3; ++k) node[k] = at[k] + steps * dir[k];
  const int32_t dof = length2 ? mpm_grid_find(g, node) : -1;
  return dof < 0 || is_light(g, dof) ? 0.0 : g->mass[dof] / length2;
}

/* A single leader is the heaviest one for the square of its distance. */
static void single_leaders_are_near_and_heavy(void **state)
{
  (void)state;
  int64_t n_choices = 0;
  for (int c = 0; c < 2; ++c) {
    mpm_domain                 *d = cloud(c, SHARE);
    const mpm_grid             *g = d->grid;
    const body_dependent_block *f;
    const int64_t               n = d->base.ops->followers(&d->base, &f);
    for (int64_t k = 0; k < n; ++k) {
      int64_t own[3], near[3];
      double  best  = 0.0;
      int     steps = 0, n_best = 0;
      if ((k + 1 < n && f[k + 1].block == f[k].block) || (k > 0 && f[k - 1].block == f[k].block)) continue;
      mpm_grid_node(g, f[k].block, own);
      mpm_grid_node(g, f[k].leader, near);
      for (int a = 0; a < 3; ++a) steps = llabs(near[a] - own[a]) > steps ? (int)llabs(near[a] - own[a]) : steps;
      for (int q = 0; q < 27; ++q) n_best += worth_of(g, own, q, steps) > 0.0, best = fmax(best, worth_of(g, own, q, steps));
      const int q = (int)(9 * ((near[0] - own[0]) / steps + 1) + 3 * ((near[1] - own[1]) / steps + 1) + (near[2] - own[2]) / steps + 1);
      assert_close(worth_of(g, own, q, steps), best, 0.0);
      n_choices += n_best > 1;
    }
    mpm_domain_destroy(&d);
    assert_no_leak();
  }
  assert_true(n_choices > 5);
}

/* Mirrors: constrained or mirrored nodes are neither dependent nor leaders. A dependent node has the constraints of its leaders,
 * so a velocity that satisfies the mirrors still does. A node on a plane is light only if it would be with its full image. */
static void mirrors_are_satisfied(void **state)
{
  (void)state;
  for (int c = 0; c < 2; ++c) {
    mpm_domain                 *d = fixture_cloud(&stuff, 2, N, 0.1, kernels[c], apic, no_gravity);
    const body_dependent_block *f;
    double                      low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    int64_t                     n_follow_on_plane = 0;
    for (int b = 0; b < d->bodies.n; ++b)
      for (int64_t i = 0; i < d->bodies.particles[b]->n; ++i)
        for (int k = 0; k < 3; ++k)
          low[k] = fmin(low[k], d->bodies.particles[b]->x[k][i]), high[k] = fmax(high[k], d->bodies.particles[b]->x[k][i]);
    assert_ok(mpm_domain_add_wall(d, 0, -1, 0.1 * floor(low[0] / 0.1), MPM_WALL_SLIP));
    assert_ok(mpm_domain_add_wall(d, 1, 1, 0.1 * ceil(high[1] / 0.1), MPM_WALL_SLIP));
    assert_ok(mpm_domain_add_wall(d, 2, -1, 0.1 * floor(low[2] / 0.1), MPM_WALL_STICK));
    mpm_domain_set_light_nodes(d, SHARE, INFINITY);
    fixture_begin(&d->base, 0.0, 1e-3);
    const int64_t n = d->base.ops->followers(&d->base, &f);
    assert_in_range(n, d->grid->n_dofs / 20, 2 * d->grid->n_dofs);
    for (int64_t k = 0; k < n; ++k) {
      assert_true(d->walls.held[f[k].block] != 7 && d->walls.held[f[k].leader] == d->walls.held[f[k].block]);
      n_follow_on_plane += d->walls.held[f[k].block] != 0;
    }
    assert_true(n_follow_on_plane > 0);
    mpm_domain_destroy(&d);
    assert_no_leak();
  }
}

/* Half a bar before a mirror: its nodes are light where those of the whole bar are, on the plane, too. */
static int64_t light_in_bar(bool is_half)
{
  enum { SIDE = 8 };
  const double                h = 0.1, gap = 0.5 * h;
  double                     *x;
  int                         index;
  int64_t                     m = 0, n_light = 0;
  mpm_domain                 *d;
  const body_dependent_block *f;
  assert_ok(memory_alloc("x", 3 * 2 * SIDE * 4, sizeof *x, &x));
  for (int i = is_half ? 0 : -SIDE; i < SIDE; ++i)
    for (int k = 0; k < 4; ++k, ++m) v3_set(x + 3 * m, gap * (i + 0.5), gap * (k % 2 + 0.6), gap * (k / 2 + 0.6));
  const particle_seed seed = {.n = m, .x = x, .volume_each = gap * gap * gap};
  assert_ok(mpm_domain_create(h, MPM_QUADRATIC, apic, no_gravity, &d));
  assert_ok(mpm_domain_add_body(d, "bar", &stuff, &seed, &index));
  if (is_half) assert_ok(mpm_domain_add_wall(d, 0, -1, 0.0, MPM_WALL_SLIP));
  mpm_domain_set_light_nodes(d, 0.6, INFINITY); /* more than the half that lies before the mirror */
  fixture_begin(&d->base, 0.0, 1e-3);
  const int64_t n = d->base.ops->followers(&d->base, &f);
  for (int64_t k = 0; k < n; ++k) {
    int64_t node[3];
    mpm_grid_node(d->grid, f[k].block, node);
    n_light += node[0] >= 0 && node[0] < SIDE / 2 && (k == 0 || f[k].block != f[k - 1].block);
  }
  memory_free(&x);
  mpm_domain_destroy(&d);
  return n_light;
}
static void half_a_bar_has_the_light_nodes_of_the_whole(void **state)
{
  (void)state;
  const int64_t whole = light_in_bar(false);
  assert_in_range(whole, 4, 1000);
  assert_int_equal(light_in_bar(true), whole);
  assert_no_leak();
}

static void no_dependent_nodes_by_default(void **state)
{
  (void)state;
  const body_dependent_block *f;
  mpm_domain                 *d = cloud(0, 0.0);
  assert_int_equal(d->base.ops->followers(&d->base, &f), 0);
  mpm_domain_destroy(&d);
  assert_no_leak();
}

/* With a speed limit, the dependent nodes are those that are slow and have slow leaders, a subset of those without limit; their
 * leaders are the same. */
static void moving_nodes_stay_independent(void **state)
{
  (void)state;
  const double gravity[3] = {0, 6.0, -8.0}, h = 0.1, dt = 2e-2, rest = 0.8 * sqrt(10.0 * h), own = rest + 2.0 * 10.0 * dt;
  for (int c = 0; c < 2; ++c) {
    const body_dependent_block *all, *f;
    mpm_domain                 *d = fixture_cloud(&stuff, 2, N, h, kernels[c], apic, gravity);
    int64_t                     m = 0, count[3] = {0, 0, 0}; /* dependent; too fast themselves; with fast leaders */
    mpm_domain_set_light_nodes(d, SHARE, INFINITY);
    fixture_begin(&d->base, 0.0, dt);
    const int64_t         n = d->base.ops->followers(&d->base, &all);
    body_dependent_block *before;
    assert_ok(memory_alloc("followers", n, sizeof *before, &before));
    memcpy(before, all, (size_t)n * sizeof *all);
    mpm_domain_set_light_nodes(d, SHARE, 0.8);
    fixture_begin(&d->base, 0.0, dt);
    const int64_t n_left = d->base.ops->followers(&d->base, &f);
    const double *v      = d->grid->velocity;
    for (int64_t k = 0, next; k < n; k = next) {
      bool leads = true;
      for (next = k; next < n && before[next].block == before[k].block; ++next) leads &= v3_norm(v + 3 * before[next].leader) < rest;
      const bool follows = v3_norm(v + 3 * before[k].block) < own;
      ++count[!leads ? 2 : !follows];
      if (!leads || !follows) continue;
      assert_true(m + next - k <= n_left);
      assert_memory_equal(f + m, before + k, (size_t)(next - k) * sizeof *f);
      m += next - k;
    }
    assert_int_equal(m, n_left);
    print_message("%d follow, %d too fast, %d led too fast\n", (int)count[0], (int)count[1], (int)count[2]);
    assert_true(count[0] > 5 && count[1] > 5 && count[2] > 5);
    memory_free(&before);
    mpm_domain_destroy(&d);
    assert_no_leak();
  }
}

static void threads_change_nothing(void **state)
{
  (void)state;
  mpm_domain                 *one, *three;
  const body_dependent_block *a, *b;
  team_set_threads(1);
  one = cloud(0, SHARE);
  team_set_threads(3);
  three           = cloud(0, SHARE);
  const int64_t n = one->base.ops->followers(&one->base, &a);
  assert_int_equal(n, three->base.ops->followers(&three->base, &b));
  assert_memory_equal(a, b, (size_t)n * sizeof *a);
  mpm_domain_destroy(&one);
  mpm_domain_destroy(&three);
  team_set_threads(2);
  assert_no_leak();
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(light_nodes_depend_on_heavy_ones),
                                     cmocka_unit_test(linear_velocities_are_exact),
                                     cmocka_unit_test(single_leaders_are_near_and_heavy),
                                     cmocka_unit_test(mirrors_are_satisfied),
                                     cmocka_unit_test(half_a_bar_has_the_light_nodes_of_the_whole),
                                     cmocka_unit_test(no_dependent_nodes_by_default),
                                     cmocka_unit_test(moving_nodes_stay_independent),
                                     cmocka_unit_test(threads_change_nothing)};
  return cmocka_run_group_tests(tests, setup, NULL);
}
