/* Bodies of kind mpm from entries of a job: particles, the shared grid, its walls and options, body forces, the text of each error. */
#include "material_fixture.h"
#include "core/diagnostics.h"
#include "core/document.h"
#include "core/memory.h"
#include "discretize/body_kinds.h"
#include "discretize/mpm/mpm_body.h"

/* Two bodies in the boxes [0, 0.4] x [0, 0.4] x [0, 0.2] and the same 1 m above, grid spacing 0.1 m. */
#define LOW "{material: m, shape: {box: {min: [0, 0, 0], max: [0.4, 0.4, 0.2]}}, spacing: 0.1"
#define HIGH "{material: m, shape: {box: {min: [0, 0, 1], max: [0.4, 0.4, 1.2]}}, spacing: 0.1"

typedef struct {
  document    *doc;
  diagnostics *d;
  material    *m;
  body_world   w;
  body        *body[2];
} world;

static const void *read(world *w, const key_table *table, const char *text, const char *path, document_node **node)
{
  const void *out;
  assert_ok(document_read_flow(w->doc, text, (document_mark){"job.yaml", 9, 5}, node));
  assert_ok(key_table_read(table, w->doc, *node, path, w->d, &out));
  return out;
}

/* The entry `mpm:`, and one or two bodies of rubber or sand. The caller sets has_light_nodes before. */
static void start(world *w, const char *mpm, bool is_sand, const char *first, const char *second)
{
  static const char *const names[] = {"one", "two"}, *const paths[] = {"bodies.one", "bodies.two"};
  const char *const texts[] = {first, second};
  document_node    *node;
  char              job[600];
  assert_ok(document_create(&w->doc));
  assert_ok(diagnostics_create(&w->d));
  assert_ok(material_from_text(is_sand ? "drucker_prager" : "neo_hookean",
                               is_sand ? "density: 1600 youngs_modulus: 1e6 poisson_ratio: 0.3 friction_angle_deg: 30 "
                                       : "density: 500 youngs_modulus: 1e6 poisson_ratio: 0.3 ",
                               &w->m));
  snprintf(job, sizeof job, "{mpm: %s}", mpm);
  assert_ok(document_read_flow(w->doc, job, (document_mark){"job.yaml", 2, 1}, &node));
  w->w.job         = node;
  w->w.gravity[2]  = -10.0;
  w->w.time_step   = 1e-3;
  w->w.mpm_options = read(w, &mpm_options_table, mpm, "mpm", &node);
  for (int k = 0; k < 2 && texts[k]; ++k) {
    body_request r = {.name = names[k], .path = paths[k], .material = w->m};
    r.spec         = read(w, &mpm_body_table, texts[k], paths[k], &node);
    r.node         = node;
    assert_ok(mpm_body_kind.create(&r, &w->w, w->d, &w->body[k]));
  }
  assert_ok(mpm_body_kind.finish(&w->w, w->d));
}
static void accept(world *w, const char *mpm, bool is_sand, const char *first, const char *second)
{
  start(w, mpm, is_sand, first, second);
  if (diagnostics_count(w->d)) fail_msg("%s", diagnostics_text(w->d, 0));
}
static void stop(world *w)
{
  mpm_body_kind.release(&w->w);
  assert_null(w->w.mpm);
  material_destroy(&w->m);
  diagnostics_destroy(&w->d);
  document_destroy(&w->doc);
}

/* 8 particles per cell, rho V in mass; both on one grid, with identities over both. */
static void bodies_share_a_grid(void **state)
{
  (void)state;
  world w = {0};
  accept(&w, "{}", false, LOW "}", HIGH ", particles_per_cell: 27, seeding: lattice, velocity: [1, 2, 3]}");
  const mpm_domain *d   = w.w.mpm->domain;
  const particles  *one = d->bodies.particles[0], *two = d->bodies.particles[1];
  assert_int_equal(d->bodies.n, 2);
  assert_true(d->grid->h == 0.1 && d->grid->kernel == MPM_QUADRATIC && d->grid->gradient == KERNEL_GRADIENT && d->transfer.is_apic);
  assert_true(d->gravity[0] == 0.0 && d->gravity[2] == -10.0);
  assert_int_equal(d->walls.n_walls, 0);
  assert_true(one->n > 0.9 * 8 * 32 && one->n < 1.1 * 8 * 32); /* blue noise */
  assert_int_equal(two->n, 27 * 32);
  for (int k = 0; k < 2; ++k) {
    double           mass = 0.0;
    const particles *p    = d->bodies.particles[k];
    for (int64_t i = 0; i < p->n; ++i) {
      mass += p->mass[i];
      assert_int_equal(p->id[i], i + (k ? one->n : 0));
      assert_true(p->v[0][i] == k && p->v[1][i] == 2 * k && p->v[2][i] == 3 * k);
      assert_true(p->x[2][i] >= k && p->x[2][i] <= k + 0.2 && p->x[0][i] >= 0.0 && p->x[0][i] <= 0.4);
    }
    assert_close(mass, 500.0 * 0.4 * 0.4 * 0.2, 1e-12);
    assert_ptr_equal(particle_body_particles(w.body[k]), p);
    assert_ptr_equal(particle_body_carrier(w.body[k]), &d->base);
    assert_ptr_equal(w.body[k]->ops, mpm_body_kind.ops);
  }
  assert_null(one->origins); /* nothing uses them */
  stop(&w);
}

/* Every option arrives at the grid. */
static void options_arrive_at_the_grid(void **state)
{
  (void)state;
  world w = {0};
  accept(&w,
         "{kernel: cubic, transfer: pic_flip, flip: 0.75, expert: {gradient: affine, light_node_mass_fraction: 0.2, light_node_rest_speed: "
         "0.5}, walls: [{axis: z, side: lower, at: -0.1, kind: stick}, {axis: y, side: upper, at: 2}, {axis: x, side: lower, at: 0, kind: "
         "periodic}, {axis: x, side: upper, at: 0.4, kind: periodic}]}",
         false, LOW "}", NULL);
  const mpm_domain *d        = w.w.mpm->domain;
  const mpm_wall    walls[4] = {
         {2, -1, -0.1, MPM_WALL_STICK}, {1, 1, 2.0, MPM_WALL_SLIP}, {0, -1, 0.0, MPM_WALL_PERIODIC}, {0, 1, 0.4, MPM_WALL_PERIODIC}};
  assert_true(d->grid->kernel == MPM_CUBIC && d->grid->gradient == KERNEL_AFFINE && !d->transfer.is_apic && d->transfer.flip == 0.75);
  assert_true(d->light_share == 0.2 && d->rest_speed == 0.5);
  assert_int_equal(d->walls.n_walls, 4);
  for (int k = 0; k < 4; ++k) {
    const mpm_wall *a = &d->walls.wall[k], *b = &walls[k];
    assert_true(a->axis == b->axis && a->side == b->side && a->coordinate == b->coordinate && a->kind == b->kind);
  }
  stop(&w);
}

/* light_node_mass_fraction: 0.1 for sand where the formulation supports dependent nodes, else 0, unless given. */
static void light_nodes_are_for_sand(void **state)
{
  (void)state;
  for (int k = 0; k < 8; ++k) {
    const bool is_sand = k & 1, is_supported = k & 2, is_given = k & 4;
    world      w = {.w.has_light_nodes = is_supported};
    accept(&w, is_given ? "{expert: {light_node_mass_fraction: 0.05}}" : "{}", is_sand, LOW "}", NULL);
    assert_close(w.w.mpm->domain->light_share, is_given ? 0.05 : is_sand && is_supported ? 0.1 : 0.0, 0.0);
    stop(&w);
  }
}

/* An expression in position, initial position and time; initial positions are stored for it, or if the scene needs them. */
static void body_forces_are_evaluated(void **state)
{
  (void)state;
  for (int has_force = 0; has_force < 2; ++has_force) {
    world w = {.w.keeps_origins = !has_force};
    accept(&w, has_force ? "{body_force: [\"x + 10*Y\", \"y*t\", \"Z - z\"]}" : "{}", false, LOW "}", HIGH "}");
    mpm_world *mpm = w.w.mpm;
    particles *p   = mpm->domain->bodies.particles[1];
    double a[3][4], *const out[3] = {a[0], a[1], a[2]};
    assert_ptr_equal(p->origins, &mpm->origins);
    assert_int_equal(mpm->origins.n, mpm->domain->bodies.next_id);
    assert_int_equal(mpm->domain->body_force != NULL, has_force);
    for (int i = 0; i < 4 && has_force; ++i) p->x[0][i] += 0.5, p->x[1][i] += 0.25, p->x[2][i] += 2.0;
    if (has_force) mpm->domain->body_force(mpm->domain->body_force_context, 3.0, 4, (const double *const *)p->x, p->id, out);
    for (int i = 0; i < 4 && has_force; ++i) {
      const double *X = mpm->origins.x + 3 * p->id[i];
      assert_close(X[1], p->x[1][i] - 0.25, 1e-15);
      assert_close(a[0][i], p->x[0][i] + 10.0 * X[1], 1e-14);
      assert_close(a[1][i], 3.0 * p->x[1][i], 1e-14);
      assert_close(a[2][i], -2.0, 1e-14);
    }
    stop(&w);
  }
}

#define PARTNER "mpm.walls: a periodic wall requires one partner on the opposite side of its axis, a whole number of cells (4 or more) away"
static void errors_are_reported(void **state)
{
  static const struct {
    const char *mpm, *first, *second, *says;
    int         n; /* messages */
  } cases[] = {
      {"{}", LOW "}", "{material: m, shape: {box: {min: [0, 0, 1], max: [1, 1, 2]}}, spacing: 0.2}",
       "job.yaml:9:5: bodies.two.spacing: all MPM bodies share one grid: expected 0.1 m as for the bodies before, got 0.2 m", 1},
      {"{walls: [{axis: x, side: lower, at: 0, kind: periodic}]}", LOW "}", NULL, PARTNER, 1},
      {"{walls: [{axis: x, side: lower, at: 0, kind: periodic}, {axis: y, side: upper, at: 1, kind: periodic}]}", LOW "}", NULL, PARTNER,
       2},
      {"{walls: [{axis: x, side: lower, at: 0, kind: periodic}, {axis: x, side: upper, at: 1, kind: slip}]}", LOW "}", NULL, PARTNER, 1},
      {"{walls: [{axis: x, side: lower, at: 0, kind: periodic}, {axis: x, side: lower, at: 1, kind: periodic}]}", LOW "}", NULL, PARTNER,
       2},
      {"{walls: [{axis: x, side: lower, at: 0, kind: periodic}, {axis: x, side: upper, at: 0.45, kind: periodic}]}", LOW "}", NULL, PARTNER,
       2},
      {"{walls: [{axis: x, side: lower, at: 0, kind: periodic}, {axis: x, side: upper, at: 0.3, kind: periodic}]}", LOW "}", NULL, PARTNER,
       2},
      {"{walls: [{axis: x, side: lower, at: 1, kind: periodic}, {axis: x, side: upper, at: 0, kind: periodic}]}", LOW "}", NULL, PARTNER,
       2},
      {"{body_force: [\"0\", \"0\"]}", LOW "}", NULL, "mpm.body_force", 1},
      {"{body_force: [\"0\", \"q\", \"0\"]}", LOW "}", NULL, "mpm.body_force", 1},
      {"{body_force: [\"0\", \"0\", \"1\"]}", LOW ", velocity: [0, 0, -4], pour: {end: 1, every: 0.1}}", NULL,
       "mpm.body_force: initial positions (body_force, expected) cannot be used with pour", 1},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    world w = {0};
    start(&w, cases[i].mpm, false, cases[i].first, cases[i].second);
    if (diagnostics_count(w.d) != cases[i].n || !strstr(diagnostics_text(w.d, 0), cases[i].says))
      fail_msg("case %zu: expected %d times \"%s\", got %d, \"%s\"", i, cases[i].n, cases[i].says, diagnostics_count(w.d),
               diagnostics_count(w.d) ? diagnostics_text(w.d, 0) : "nothing");
    stop(&w);
  }
}

TEST_MAIN(cmocka_unit_test(bodies_share_a_grid), cmocka_unit_test(options_arrive_at_the_grid), cmocka_unit_test(light_nodes_are_for_sand),
          cmocka_unit_test(body_forces_are_evaluated), cmocka_unit_test(errors_are_reported))
