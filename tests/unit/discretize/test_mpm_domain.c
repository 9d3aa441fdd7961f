/* The MPM domain as a body: whole steps against closed forms and conservation, walls, contact points, sources, restart. */
#include "mpm_fixture.h"
#include "material_fixture.h"

static const double       no_gravity[3] = {0, 0, 0};
static const mpm_transfer apic          = {.is_apic = true};
static const mpm_kernel   kernels[]     = {MPM_QUADRATIC, MPM_CUBIC};
static toy_constants      soft_constants;
static material           soft;

static int setup(void **state)
{
  (void)state;
  soft = toy_material(1000.0, 2e4, 3e4, 0.0, &soft_constants);
  return 0;
}

static void run_step(body *b, double t, double dt) { fixture_step(b, t, dt, 1e-11); }

/* A bar of n cells along x, 2 x 2 x 2 particles per cell, one cell wide. Caller frees x. */
static particle_seed bar(int n, double h, double **x)
{
  assert_ok(memory_alloc("bar", 3 * 8 * n, sizeof **x, x));
  for (int i = 0; i < 8 * n; ++i) {
    (*x)[3 * i]     = h * (0.25 + 0.5 * (i / 4));
    (*x)[3 * i + 1] = h * (0.25 + 0.5 * (i / 2 % 2));
    (*x)[3 * i + 2] = h * (0.25 + 0.5 * (i % 2));
  }
  return (particle_seed){.n = 8 * n, .x = *x, .volume_each = h * h * h / 8.0};
}
static void smooth_sides(mpm_domain *d, double h)
{
  for (int axis = 1; axis < 3; ++axis) {
    assert_ok(mpm_domain_add_wall(d, axis, -1, 0.0, MPM_WALL_SLIP));
    assert_ok(mpm_domain_add_wall(d, axis, 1, h, MPM_WALL_SLIP));
  }
}

/* No force but gravity: backward Euler gives v = g t exactly and x = g t (t + dt)/2, for any motion of the grid. */
static void free_fall_is_exact(void **state)
{
  (void)state;
  const double gravity[3] = {1.0, -2.0, -9.81}, dt = 1e-2;
  for (int c = 0; c < 4; ++c) {
    double             *x, worst = 0.0;
    int                 index;
    mpm_domain         *d;
    const particle_seed seed = bar(3, 0.1, &x);
    assert_ok(mpm_domain_create(0.1, kernels[c & 1], c & 2 ? (mpm_transfer){.is_apic = false, .flip = 0.9} : apic, gravity, &d));
    assert_ok(mpm_domain_add_body(d, "bar", &soft, &seed, &index));
    for (int s = 0; s < 10; ++s) run_step(&d->base, s * dt, dt);
    const particles *p = d->bodies.particles[0];
    for (int64_t i = 0; i < p->n; ++i)
      for (int k = 0; k < 3; ++k) {
        worst = fmax(worst, fabs(p->v[k][i] - gravity[k] * 0.1));
        worst = fmax(worst, fabs(p->x[k][i] - x[3 * p->id[i] + k] - gravity[k] * 0.5 * 0.1 * 0.11));
      }
    assert_close(worst, 0.0, 1e-12);
    memory_free(&x);
    mpm_domain_destroy(&d);
    assert_no_leak();
  }
}

/* Internal forces and transfers keep momentum to rounding. Moments vanish about the moved nodes x + dt v, while momentum is
 * counted at x: one step changes angular momentum by -dt^2 sum v x f, so halving dt quarters it (E10: O(dt) overall).      */
static void steps_conserve_momentum(void **state)
{
  (void)state;
  for (int c = 0; c < 2; ++c) {
    double drift[2] = {0, 0};
    for (int half = 0; half < 2; ++half) {
      mpm_domain  *d  = fixture_cloud(&soft, 2, 250, 0.1, kernels[c], apic, no_gravity);
      const double dt = half ? 1e-4 : 2e-4;
      body_totals  before, after;
      body        *b = &d->base;
      assert_ok(b->ops->totals(b, no_gravity, &before));
      run_step(b, 0.0, dt);
      assert_ok(b->ops->totals(b, no_gravity, &after));
      for (int k = 0; k < 3; ++k) {
        assert_close(after.momentum[k] / after.mass, before.momentum[k] / after.mass, 1e-12);
        drift[half] = fmax(drift[half], fabs(after.angular_momentum[k] - before.angular_momentum[k]) / after.mass);
      }
      assert_true(after.kinetic + after.elastic <= (before.kinetic + before.elastic) * (1 + 1e-12)); /* E12 */
      mpm_domain_destroy(&d);
    }
    assert_close(log2(drift[0] / drift[1]), 2.0, 0.1);
    assert_no_leak();
  }
}

/* E05, short: a bar fixed at x = 0 with smooth sides, first axial mode; period 4 L sqrt(rho/E) = 10 s, mean velocity
 * amplitude v0 2/pi. Backward Euler damps by (1 + (w dt)^2)^(-1/2) per step and stretches the phase to atan(w dt)/dt. */
static void bar_vibrates_in_its_first_mode(void **state)
{
  (void)state;
  const double  L = 25.0, dt = 0.05, omega = M_PI / (2.0 * L) * sqrt(100.0 / 1.0);
  toy_constants constants;
  for (int c = 0; c < 2; ++c) {
    const material m = toy_material(1.0, 50.0, 0.0, 0.0, &constants); /* nu = 0: E = 2 mu */
    double        *x, *v;
    int            index, n_steps = 50; /* a quarter period */
    mpm_domain    *d;
    particle_seed  seed = bar(25, 1.0, &x);
    assert_ok(memory_alloc("v", 3 * seed.n, sizeof *v, &v));
    for (int64_t i = 0; i < seed.n; ++i) v[3 * i] = 0.1 * sin(M_PI * x[3 * i] / (2.0 * L));
    seed.v = v;
    assert_ok(mpm_domain_create(1.0, kernels[c], apic, no_gravity, &d));
    assert_ok(mpm_domain_add_body(d, "bar", &m, &seed, &index));
    assert_ok(mpm_domain_add_wall(d, 0, -1, 0.0, MPM_WALL_STICK));
    smooth_sides(d, 1.0);
    body       *b = &d->base;
    body_totals sums;
    double      worst = 0.0;
    assert_ok(b->ops->totals(b, no_gravity, &sums));
    assert_close(sums.momentum[0] / sums.mass, 0.2 / M_PI, 1e-4);
    for (int s = 1; s <= n_steps; ++s) {
      run_step(b, (s - 1) * dt, dt);
      assert_ok(b->ops->totals(b, no_gravity, &sums));
      const double expected = 0.2 / M_PI * pow(1.0 + omega * omega * dt * dt, -0.5 * s) * cos(s * atan(omega * dt));
      worst                 = fmax(worst, fabs(sums.momentum[0] / sums.mass - expected));
    }
    assert_close(worst / (0.2 / M_PI), 0.0, 5e-3); /* (pi h/2L)^2 = 4e-3 from space, v0/c = 1 % of strain squared; 1 % is E05's band */
    memory_free(&x);
    memory_free(&v);
    mpm_domain_destroy(&d);
    assert_no_leak();
  }
}

/* Held components end with exactly zero velocity, and a bar pressed on a slip wall still slides along it. */
static void walls_hold(void **state)
{
  (void)state;
  double             *x;
  int                 index;
  mpm_domain         *d;
  const double        gravity[3] = {0.5, 0.0, -9.81};
  const particle_seed seed       = bar(4, 0.1, &x);
  assert_ok(mpm_domain_create(0.1, MPM_QUADRATIC, apic, gravity, &d));
  assert_ok(mpm_domain_add_body(d, "bar", &soft, &seed, &index));
  assert_ok(mpm_domain_add_wall(d, 2, -1, 0.0, MPM_WALL_SLIP));
  smooth_sides(d, 0.1);
  for (int s = 0; s < 20; ++s) run_step(&d->base, s * 5e-3, 5e-3);
  const particles *p       = d->bodies.particles[0];
  double           mean[3] = {0, 0, 0};
  for (int64_t i = 0; i < p->n; ++i)
    for (int k = 0; k < 3; ++k) mean[k] += p->v[k][i] / (double)p->n;
  assert_close(mean[0], 0.5 * 0.1, 1e-10);
  assert_close(mean[1], 0.0, 1e-12);
  assert_true(fabs(mean[2]) < 0.05);
  memory_free(&x);
  mpm_domain_destroy(&d);
  assert_no_leak();
}

/* One step of the same scene on 1, 2 and 3 threads, and after a restore into another domain: the same bits. */
static void *snapshot(mpm_domain *d, int64_t *bytes)
{
  uint64_t *all;
  int64_t   at = 0;
  *bytes       = 0;
  for (int b = 0; b < d->bodies.n; ++b) *bytes += 8 * PARTICLES_MAX_ARRAYS * d->bodies.particles[b]->n;
  assert_ok(memory_alloc("snapshot", *bytes, 1, &all));
  for (int b = 0; b < d->bodies.n; ++b) {
    void    **arrays[PARTICLES_MAX_ARRAYS];
    const int n = particles_arrays(d->bodies.particles[b], arrays);
    for (int a = 0; a < n; ++a, at += d->bodies.particles[b]->n) memcpy(all + at, *arrays[a], 8 * (size_t)d->bodies.particles[b]->n);
  }
  return all;
}
static void two_rough_steps(mpm_domain *d)
{
  body       *b      = &d->base;
  step_status status = {STEP_OK, NULL, -1};
  for (int s = 0; s < 2; ++s) {
    const int64_t n = 3 * fixture_begin(b, 0.0, 1e-3);
    double *v = fixture_vector(n), *g = fixture_vector(n), *y = fixture_vector(n), *m = fixture_vector(n), *blocks = fixture_vector(3 * n);
    assert_ok(b->ops->velocity(b, v));
    assert_ok(b->ops->mass(b, m));
    assert_ok(b->ops->residual(b, v, g, true, &status));
    assert_ok(b->ops->tangent(b, g, y, s == 0));
    assert_ok(b->ops->block_diagonal(b, blocks));
    for (int64_t i = 0; i < n; ++i) v[i] += 1e-3 * (y[i] / m[i] - g[i] / fabs(blocks[3 * i + i % 3]));
    assert_ok(b->ops->residual(b, v, g, false, &status));
    assert_ok(b->ops->end_step(b, v, &status));
    assert_int_equal(status.code, STEP_OK);
    double *all[] = {v, g, y, m, blocks};
    for (int a = 0; a < 5; ++a) memory_free(&all[a]);
  }
}
static void force(void *context, double t, int64_t n, const double *const x[3], const int64_t *id, double *const a[3])
{
  (void)context;
  for (int64_t i = 0; i < n; ++i) a[0][i] = x[1][i] + t, a[1][i] = -x[2][i], a[2][i] = 0.01 * (double)id[i];
}
static void threads_do_not_change_bits(void **state)
{
  (void)state;
  material *sand;
  assert_ok(material_from_text("drucker_prager", "density: 1600 youngs_modulus: 1e6 poisson_ratio: 0.3 friction_angle_deg: 30 ", &sand));
  for (int c = 0; c < 2; ++c) {
    void   *first = NULL;
    int64_t bytes = 0;
    for (int threads = 1; threads <= 3; ++threads) {
      team_set_threads(threads);
      mpm_domain *d = fixture_cloud(sand, 2, 3000, 0.05, kernels[c], apic, no_gravity);
      mpm_domain_set_body_force(d, force, NULL);
      two_rough_steps(d);
      void *own = snapshot(d, &bytes);
      if (threads == 1) first = own;
      else assert_memory_equal(first, own, (size_t)bytes);
      if (threads > 1) memory_free(&own);
      mpm_domain_destroy(&d);
    }
    memory_free(&first);
  }
  team_set_threads(0);
  material_destroy(&sand);
  assert_no_leak();
}

/* The field table contains the complete state: copied field by field into a new domain, the run continues with the same bits. */
/* Frames of a deformation without stress: pressure, shear stress and density of an inverted particle are not numbers, those of the particles before it are. */
static void impossible_states_are_visible(void **state)
{
  enum { BAD = 3 };
  (void)state;
  mpm_domain  *d = fixture_cloud(&soft, 1, 40, 0.1, MPM_QUADRATIC, apic, no_gravity);
  field_table *t;
  particles   *p = d->bodies.particles[0];
  assert_ok(field_table_create(&t));
  assert_ok(d->base.ops->fields(&d->base, t));
  field_group *g = field_table_group(t, 0);
  for (int bad = -1; bad <= BAD; bad += BAD + 1) {
    for (int64_t i = 0; i < p->n;
         ++i) /* a stretch s along x: neo-Hookean stress from its energy, mu (s - 1/s) + lambda log(s)/s over the section 1 */
      for (int k = 0; k < 9; ++k) p->F[k][i] = k == 0 ? 1.1 : k % 4 == 0;
    if (bad >= 0) p->F[0][bad] = -1.1;
    assert_ok(g->refresh(g->context));
    const double mu = 2e4, lambda = 3e4, l = lambda * log(1.1), s[3] = {mu * (1.1 - 1.0 / 1.1) + l / 1.1, l / 1.1, l / 1.1},
                 mean = (s[0] + s[1] + s[2]) / 3.0;
    for (int64_t i = 0; i < (bad < 0 ? p->n : bad); ++i) {
      assert_close(p->pressure[i], -mean, 1e-9);
      assert_close(p->shear[i], fabs(s[0] - s[1]), 1e-9);
      assert_close(p->density[i], p->mass[i] / (1.1 * p->volume[i]), 1e-9);
    }
    if (bad >= 0) assert_true(isnan(p->pressure[bad]) && isnan(p->shear[bad]));
  }
  field_table_destroy(&t);
  mpm_domain_destroy(&d);
  /* a liquid, whose formula gives a number */
  material *water;
  assert_ok(material_from_text("tait_liquid", "density: 1000 kappa: 1e5 gamma: 7 ", &water));
  d = fixture_cloud(water, 1, 40, 0.1, MPM_QUADRATIC, apic, no_gravity);
  p = d->bodies.particles[0];
  assert_ok(field_table_create(&t));
  assert_ok(d->base.ops->fields(&d->base, t));
  for (int64_t i = 0; i < p->n; ++i)
    for (int k = 0; k < 9; ++k) p->F[k][i] = k % 4 == 0;
  p->F[8][BAD] = -1.0;
  g            = field_table_group(t, 0);
  assert_ok(g->refresh(g->context));
  for (int64_t i = 0; i < BAD; ++i) assert_close(p->pressure[i], 0.0, 1e-9);
  assert_true(isnan(p->pressure[BAD]));
  field_table_destroy(&t);
  mpm_domain_destroy(&d);
  material_destroy(&water);
  assert_no_leak();
}

static void fields_are_the_state(void **state)
{
  (void)state;
  material *sand;
  assert_ok(material_from_text("drucker_prager", "density: 1600 youngs_modulus: 1e6 poisson_ratio: 0.3 friction_angle_deg: 30 ", &sand));
  mpm_domain *a = fixture_cloud(sand, 2, 300, 0.1, MPM_QUADRATIC, apic, no_gravity),
             *b = fixture_cloud(sand, 2, 20, 0.1, MPM_QUADRATIC, apic, no_gravity);
  two_rough_steps(a);
  field_table *from, *to;
  assert_ok(field_table_create(&from));
  assert_ok(field_table_create(&to));
  assert_ok(a->base.ops->fields(&a->base, from));
  assert_ok(b->base.ops->fields(&b->base, to));
  assert_int_equal(field_table_n_groups(to), 2);
  for (int g = 0; g < 2; ++g) {
    field_group *gf = field_table_group(from, g), *gt = field_table_find_group(to, gf->name);
    assert_non_null(gt);
    assert_ok(gt->resize(gt->context, *gf->n_rows));
    for (int i = 0; i < gf->n_fields; ++i) {
      if (!(gf->fields[i].flags & FIELD_CHECKPOINT)) continue;
      const field *f = field_group_find(gt, gf->fields[i].name);
      assert_non_null(f);
      for (int c = 0; c < f->n_components; ++c) memcpy(*f->component[c], *gf->fields[i].component[c], 8 * (size_t)*gf->n_rows);
    }
    assert_ok(gt->restored(gt->context));
    assert_ok(gt->refresh(gt->context));
    const field *density = field_group_find(gt, "density");
    for (int64_t i = 0; i < *gt->n_rows; ++i) assert_true(((double *)*density->component[0])[i] > 0.0);
  }
  assert_int_equal(b->bodies.next_id, 600);
  two_rough_steps(a);
  two_rough_steps(b);
  int64_t bytes, bytes_b;
  void   *sa = snapshot(a, &bytes), *sb = snapshot(b, &bytes_b);
  assert_int_equal(bytes, bytes_b);
  assert_memory_equal(sa, sb, (size_t)bytes);
  memory_free(&sa);
  memory_free(&sb);
  field_table_destroy(&from);
  field_table_destroy(&to);
  mpm_domain_destroy(&a);
  mpm_domain_destroy(&b);
  material_destroy(&sand);
  assert_no_leak();
}

/* A row sums to one and has the place that it is for, so that it interpolates affine fields and a force there has its moment. */
static void assert_row(const mpm_domain *d, int m, const int32_t *block, const double *weight, const double place[3])
{
  double at[3] = {0, 0, 0}, sum = 0.0;
  for (int r = 0; r < m; ++r) {
    int64_t node[3];
    mpm_grid_node(d->grid, block[r], node);
    sum += weight[r];
    for (int e = 0; e < 3; ++e) at[e] += weight[r] * 0.1 * (double)node[e];
  }
  assert_close(sum, 1.0, 1e-14);
  for (int e = 0; e < 3; ++e) assert_close(at[e], place[e], 1e-14);
}

/* Adapters: every particle is in exactly one cluster, inside its sphere; rows sum to one and interpolate affine fields. */
static void contact_points_are_the_particles(void **state)
{
  const double beside[3] = {0.03, -0.05, 0.02};
  (void)state;
  for (int c = 0; c < 2; ++c) {
    mpm_domain *d       = fixture_cloud(&soft, 2, 300, 0.1, kernels[c], apic, no_gravity);
    d->base.first_block = 17;
    fixture_begin(&d->base, 0.0, 1e-3);
    for (int i = 0; i < 2; ++i) {
      const body   *b    = &d->bodies.body[i]->base;
      const int64_t n    = b->ops->n_clusters(b);
      int64_t       next = 0;
      assert_int_equal(b->first_block, 17);
      assert_string_equal(b->name, i ? "block" : "bed");
      for (int64_t q = 0; q < n; ++q) {
        double  center[3], radius;
        int64_t first, end;
        b->ops->cluster(b, q, center, &radius, &first, &end);
        assert_int_equal(first, next);
        next = end;
        for (int64_t k = first; k < end; ++k) {
          int32_t block[POINT_MAX_WEIGHTS];
          double  weight[POINT_MAX_WEIGHTS], x[3], place[3];
          assert_true(b->ops->point(b, k, x) / 300 == i);
          assert_true(hypot(hypot(x[0] - center[0], x[1] - center[1]), x[2] - center[2]) <= radius * (1 + 1e-15));
          assert_row(d, b->ops->point_row(b, k, block, weight), block, weight, x);
          v3_add(place, x, beside);
          assert_row(d, b->ops->point_row_beside(b, k, beside, block, weight), block, weight, place);
          assert_close(8.0 * pow(b->ops->point_radius(b, k), 3.0), particles_of(b)->volume[k], 1e-18); /* half the edge of its cube */
        }
      }
      assert_int_equal(next, 300);
    }
    mpm_domain_destroy(&d);
    assert_no_leak();
  }
}

/* A step that moves a particle by more than a cell, or inverts one, is rejected and changes nothing. */
static void rejected_steps_change_nothing(void **state)
{
  (void)state;
  mpm_domain   *d = fixture_cloud(&soft, 2, 300, 0.1, MPM_QUADRATIC, apic, no_gravity);
  body         *b = &d->base;
  const int64_t n = fixture_begin(b, 0.0, 1e-3);
  int64_t       bytes;
  void         *before = snapshot(d, &bytes);
  double       *v      = fixture_vector(3 * n);
  for (int64_t i = 0; i < n; ++i) v[3 * i] = 101.0;
  for (int kind = 0; kind < 2; ++kind) {
    step_status status = {STEP_OK, NULL, -1};
    assert_ok(b->ops->end_step(b, v, &status));
    assert_int_equal(status.code, kind ? STEP_INVERTED : STEP_CFL_VIOLATED);
    assert_non_null(status.body);
    void *after = snapshot(d, &bytes);
    assert_memory_equal(before, after, (size_t)bytes);
    memory_free(&after);
    for (int64_t i = 0; i < n; ++i) { /* flatten everything along x within the allowed speed: 1 + dt dv/dx < 0 */
      int64_t node[3];
      mpm_grid_node(d->grid, i, node);
      v[3 * i] = node[0] % 2 ? 99.0 : -99.0;
    }
  }
  memory_free(&before);
  memory_free(&v);
  d->bodies.particles[0]->x[1][42] = 1e9;
  step_status status               = {STEP_OK, NULL, -1};
  int64_t     blocks;
  assert_ok(b->ops->begin_step(b, 0.0, 1e-3, &blocks, &status));
  assert_int_equal(status.code, STEP_OUT_OF_GRID);
  assert_int_equal(status.where, 42);
  mpm_domain_destroy(&d);
  assert_no_leak();
}

static void clock_force(void *context, double t, int64_t n, const double *const x[3], const int64_t *id, double *const a[3])
{
  (void)context, (void)x, (void)id;
  for (int64_t i = 0; i < n; ++i) a[1][i] = t;
}

/* Gravity accelerates free particles; a body force that varies is evaluated at the end of the step; emitted particles add their
 * mass and momentum. */
static void forces_and_sources(void **state)
{
  (void)state;
  double             *x, far[3] = {3.0, 3.0, 3.0}, fast[3] = {0.0, 0.0, -2.0};
  int                 index;
  mpm_domain         *d;
  const particle_seed seed = bar(3, 0.1, &x);
  assert_ok(mpm_domain_create(0.1, MPM_QUADRATIC, apic, (const double[3]){2.0, 0.0, -1.0}, &d));
  assert_ok(mpm_domain_add_body(d, "bar", &soft, &seed, &index));
  run_step(&d->base, 0.0, 1e-2);
  assert_close(d->bodies.particles[0]->v[0][5], 0.02, 1e-14);
  assert_close(d->bodies.particles[0]->v[2][7], -0.01, 1e-14);
  const particle_seed drop = {.n = 1, .x = far, .v = fast, .volume_each = 1e-4};
  assert_ok(particle_bodies_emit(&d->bodies, 0, &drop));
  body_totals sums;
  assert_ok(d->bodies.body[0]->base.ops->totals(&d->bodies.body[0]->base, no_gravity, &sums));
  assert_close(sums.mass, 1000.0 * (24 * 1e-3 / 8 + 1e-4), 1e-12);
  run_step(&d->base, 0.0, 1e-2);
  const particles *p = d->bodies.particles[0];
  assert_int_equal(p->n, 25);
  for (int64_t i = 0; i < 25; ++i)
    if (p->id[i] == 24) assert_close(p->v[2][i], -2.01, 1e-13);
  mpm_domain_set_body_force(d, clock_force, NULL);
  run_step(&d->base, 0.3, 1e-2);
  assert_close(p->v[1][3], 1e-2 * 0.31, 1e-14);
  memory_free(&x);
  mpm_domain_destroy(&d);
  assert_no_leak();
}

/* The tangent through a yielding law, in a state with elastic, cone and tip particles: central differences to 1e-6. */
static void sand_tangent_is_the_derivative(void **state)
{
  (void)state;
  material *sand;
  assert_ok(material_from_text("drucker_prager", "density: 1600 youngs_modulus: 1e5 poisson_ratio: 0.3 friction_angle_deg: 30 ", &sand));
  mpm_domain   *d = fixture_cloud(sand, 1, 300, 0.1, MPM_QUADRATIC, apic, no_gravity);
  body         *b = &d->base;
  particles    *p = d->bodies.particles[0];
  const int64_t n = 3 * fixture_begin(b, 0.0, 4e-3);
  for (int64_t i = 0; i < p->n; ++i) /* a third isotropically pressed (elastic), a third sheared (cone), a third apart (tip) */
    for (int k = 0; k < 9; ++k) p->F[k][i] = k % 4 ? (i % 3 == 1 ? 0.1 * p->F[k][i] : 0.0) : i % 3 == 2 ? 1.05 : 0.95;
  double *v = fixture_vector(n), *x = fixture_vector(n), *y = fixture_vector(n), *plus = fixture_vector(n), *minus = fixture_vector(n);
  fixture_random(n, x, 2, 1.0);
  step_status  status = {STEP_OK, NULL, -1};
  const double eps    = 1e-5;
  assert_ok(b->ops->residual(b, v, y, true, &status));
  memset(y, 0, (size_t)n * sizeof *y);
  assert_ok(b->ops->tangent(b, x, y, false));
  for (int64_t i = 0; i < n; ++i) v[i] = eps * x[i];
  assert_ok(b->ops->residual(b, v, plus, false, &status));
  for (int64_t i = 0; i < n; ++i) v[i] = -eps * x[i];
  assert_ok(b->ops->residual(b, v, minus, false, &status));
  assert_int_equal(status.code, STEP_OK);
  for (int64_t i = 0; i < n; ++i) plus[i] = (plus[i] - minus[i]) / (2.0 * eps);
  assert_close(distance(n, plus, y), 0.0, 1e-6);
  double *all[] = {v, x, y, plus, minus};
  for (int a = 0; a < 5; ++a) memory_free(&all[a]);
  mpm_domain_destroy(&d);
  material_destroy(&sand);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test_setup(free_fall_is_exact, setup), cmocka_unit_test_setup(steps_conserve_momentum, setup),
          cmocka_unit_test_setup(bar_vibrates_in_its_first_mode, setup), cmocka_unit_test_setup(walls_hold, setup),
          cmocka_unit_test_setup(threads_do_not_change_bits, setup), cmocka_unit_test_setup(fields_are_the_state, setup),
          cmocka_unit_test_setup(impossible_states_are_visible, setup), cmocka_unit_test_setup(contact_points_are_the_particles, setup),
          cmocka_unit_test_setup(rejected_steps_change_nothing, setup), cmocka_unit_test_setup(forces_and_sources, setup),
          cmocka_unit_test_setup(sand_tangent_is_the_derivative, setup))
