/* Bodies of kind mac from a job: their particles, errors and their messages, sources, fields restored from checkpoints. */
#include "test.h"
#include <string.h>
#include "app/job/job.h"
#include "core/diagnostics.h"
#include "core/field_table.h"
#include "discretize/mac/mac_body.h"
#include "discretize/mac/mac_domain.h"
#include "discretize/mac/mac_transfer.h"
#include "sim/scene/scene.h"

static const char *const text =
    "stickslip: 1\nname: heap\nformulation: monolith\ngravity: [0, -9.81, 0]\ntime: {end: 1, step: 0.02}\n"
    "mac: {domain: {min: [-1, 0, 0], max: [1, 1, 0.8]}, spacing: 0.05}\n"
    "materials: {sand: {model: granular, density: 1600, friction_angle_deg: 30}, water: {model: liquid, density: 1000}, "
    "steel: {model: rigid, density: 7800}, soft: {model: neo_hookean, density: 1000, youngs_modulus: 1e5, poisson_ratio: 0.3}}\n"
    "bodies:\n"
    "  one: {kind: mac, material: sand, shape: {box: {min: [-0.5, 0, 0.2], max: [0, 0.5, 0.6]}}}\n"
    "  two: {kind: mac, material: water, shape: {box: {min: [0, 0, 0.2], max: [0.4, 0.5, 0.6]}}}\n";

typedef struct {
  diagnostics *d;
  job         *j;
  scene       *s;
} world;

/* NULL where the job or its scene was rejected; w->d then has the reason. */
static scene *start(world *w, int n, const char *const *sets)
{
  *w = (world){0};
  assert_ok(diagnostics_create(&w->d));
  assert_ok(job_read_text("job", text, n, sets, w->d, &w->j));
  if (w->j) assert_ok(scene_create(PETSC_COMM_SELF, &w->j->scene, w->d, &w->s));
  return w->s;
}
static void stop(world *w)
{
  scene_destroy(&w->s);
  job_destroy(&w->j);
  diagnostics_destroy(&w->d);
}

static void bodies_are_created_from_a_job(void **state)
{
  (void)state;
  world       w;
  body_totals sum;
  if (!start(&w, 0, NULL)) fail_msg("%s", diagnostics_text(w.d, 0));
  const particles *one = particles_of(w.s->bodies[0].body), *two = particles_of(w.s->bodies[1].body);
  assert_int_equal(one->n, 8 * 10 * 10 * 8);
  assert_int_equal(two->n, 8 * 8 * 10 * 8);
  assert_ok(scene_body_totals(w.s, 0, &sum));
  assert_close(sum.mass, 1600 * 0.5 * 0.5 * 0.4, 1e-9);
  assert_int_equal(one->id[one->n - 1] + 1, two->id[0]); /* unique over both */
  mac_domain *d = mac_domain_of(w.s->bodies[0].body);
  assert_ptr_equal(d, mac_domain_of(w.s->bodies[1].body));
  assert_ptr_equal(d, mac_domain_of(&d->base));
  assert_close(d->bodies.materials[0]->flow->friction, 0.5, 1e-15);
  assert_true(d->bodies.materials[1]->flow->is_liquid && d->bodies.materials[1]->flow->friction == 0.0);
  assert_null(one->volume);
  stop(&w);
  assert_no_leak();
}

static void errors(void **state)
{
  (void)state;
  static const struct {
    const char *set, *says;
  } c[] = {
      {"bodies.one.shape={box: {min: [-1.1, 0, 0], max: [0, 0.5, 0.5]}}", "extends beyond mac.domain"},
      {"bodies.one.shape={sphere: {center: [-0.5, 0.5, 0.5], radius: 0.02}}", "contains no particle"},
      {"bodies.two.shape={box: {min: [-0.1, 0, 0.2], max: [0.4, 0.5, 0.6]}}", "\"one\" and \"two\" overlap: 160 cells"},
      {"bodies.one.particles_per_cell=9", "expected 1, 8, 27 or another cube, got 9"},
      {"materials.sand.density=0", "materials.sand.density"},
      {"materials.sand.shear_friction=0.3", "give exactly one of friction_angle_deg and shear_friction (both are given)"},
      {"materials.water={model: granular, density: 1, shear_friction: 0.3, inertial: {mu_2: 0.2, i_0: 0.3, grain_diameter: 1e-3, "
       "grain_density: 2500}}",
       "inertial.mu_2 = 0.2 is less than the friction coefficient 0.3 of slow flow; increase mu_2"},
      {"bodies.one.material=steel", "material \"steel\" is rigid; a body of kind mac needs one of model granular or liquid"},
      {"bodies.one.material=soft", "material \"soft\" is elastic; a body of kind mac needs one of model granular or liquid"},
      {"bodies.ball={kind: rigid, material: sand, shape: {sphere: {center: [0, 0.8, 0.4], radius: 0.1}}}",
       "material \"sand\" is granular; a body of kind rigid needs a solid"},
      {"mac.spacing=0.03", "does not divide the domain along x, 2 m: it gives 66.6667 cells"},
      {"mac.spacing=1e-7", "gives 2e+07 cells along x"},
      {"mac.domain.max=[1, -1, 0.8]", "max is not above min along y"},
      {"mac.walls={lower_x: periodic}", "is periodic on only one side of x"},
      {"mac={domain: {min: [-1, 0, 0], max: [1, 0.9, 0.8]}, spacing: 0.05, walls: {lower_y: periodic, upper_y: periodic}}",
       "expected a multiple of 4"},
      {"mac={domain: {min: [-1, 0, 0], max: [1, 1, 0.8]}, spacing: 0.05, wall_friction: 0.2, walls: {lower_x: smooth, upper_x: "
       "smooth, lower_y: smooth, upper_y: smooth, "
       "lower_z: smooth, upper_z: smooth}}",
       "has no effect without rough walls"},
      {"bodies={pin: {kind: static, shape: {sphere: {center: [0, 0, 0], radius: 0.1}}}}",
       "has no effect, because no bodies.NAME.kind is mac"},
  };
  for (size_t i = 0; i < sizeof c / sizeof *c; ++i) {
    world w;
    bool  is_said = false;
    if (start(&w, 1, &c[i].set)) fail_msg("accepted: %s", c[i].set);
    for (int k = 0; k < diagnostics_count(w.d); ++k) is_said = is_said || strstr(diagnostics_text(w.d, k), c[i].says);
    if (!is_said)
      fail_msg("%s: expected \"%s\", got \"%s\"", c[i].set, c[i].says, diagnostics_count(w.d) ? diagnostics_text(w.d, 0) : "nothing");
    stop(&w);
  }
  assert_no_leak();
}

/* A spout: nothing at the start, then one shape full each time there is room. */
static void pouring(void **state)
{
  (void)state;
  const char *const sets[] = {
      "bodies={one: {kind: mac, material: sand, shape: {box: {min: [-0.2, 0.8, 0.2], max: [0.2, 0.9, 0.6]}}, velocity: [0, -1, 0], "
      "pour: {start: 0.1, end: 0.35, every: 0.1}}}"};
  world w;
  if (!start(&w, 1, sets)) fail_msg("%s", diagnostics_text(w.d, 0));
  const particles *p = particles_of(w.s->bodies[0].body);
  int64_t          n[4];
  assert_int_equal(p->n, 0);
  for (int k = 0; k < 4; ++k) {
    for (int64_t i = 0; i < p->n; ++i) p->x[1][i] -= 0.1;
    assert_ok(scene_emit(w.s, 0.1 * (k + 1), 0.1));
    n[k] = p->n;
  }
  const int64_t each = 8 * 8 * 2 * 8;
  assert_true(n[0] == each && n[1] == 2 * each && n[2] == 3 * each && n[3] == 3 * each);
  stop(&w);
  assert_no_leak();
}

/* Particles start with the velocity of a field, and with its gradient as their affine velocity. */
static void velocity_fields(void **state)
{
  (void)state;
  const char *const set = "bodies.one.velocity_field=['3 * y - 2 * x * z', 'x^2', '5 * y * z']";
  world             w;
  if (!start(&w, 1, &set)) fail_msg("%s", diagnostics_text(w.d, 0));
  const particles *p = particles_of(w.s->bodies[0].body), *other = particles_of(w.s->bodies[1].body);
  for (int64_t i = 0; i < p->n; ++i) {
    const double x = p->x[0][i], y = p->x[1][i], z = p->x[2][i], v[3] = {3 * y - 2 * x * z, x * x, 5 * y * z},
                 C[9] = {-2 * z, 3, -2 * x, 2 * x, 0, 0, 0, 5 * z, 5 * y};
    for (int k = 0; k < 3; ++k) assert_close(p->v[k][i], v[k], 1e-14);
    for (int k = 0; k < 9; ++k) assert_close(p->C[k][i], C[k], 1e-14);
  }
  for (int64_t i = 0; i < other->n; ++i) assert_true(other->v[0][i] == 0.0 && other->C[1][i] == 0.0);
  stop(&w);
  assert_no_leak();
}

/* A checkpoint contains the complete state of the particles: after a restore, the next steps have the same bits. */
static void restored_state_continues_bit_for_bit(void **state)
{
  (void)state;
  world           w;
  step_status     v = {STEP_OK, NULL, -1};
  int64_t         n_blocks;
  field_snapshot *before;
  if (!start(&w, 0, NULL)) fail_msg("%s", diagnostics_text(w.d, 0));
  mac_domain *d = mac_domain_of(w.s->bodies[0].body);
  body       *b = &d->base;
  double      seen[2];
  assert_ok(field_snapshot_create(&before));
  for (int pass = 0; pass < 2; ++pass) {
    for (int step = 0; step < 4; ++step) {
      if (pass == 0 && step == 2) assert_ok(field_snapshot_take(before, w.s->fields));
      if (pass == 1 && step < 2) continue;
      assert_ok(b->ops->begin_step(b, 0.0, 0.02, &n_blocks, &v));
      for (int64_t i = 0; i < mac_domain_state(d)->grid.n_slots; ++i)
        mac_domain_state(d)->u[1][i] -= 0.02 * 9.81, mac_domain_state(d)->u[0][i] += 0.01 * (double)(i % 7);
      assert_ok(b->ops->end_step(b, NULL, &v));
      assert_int_equal(v.code, STEP_OK);
      assert_ok(mac_domain_correct_positions(d, 0, NULL, true, NULL));
    }
    seen[pass] = 0.0;
    for (int64_t i = 0; i < d->bodies.particles[0]->n; ++i)
      seen[pass] += d->bodies.particles[0]->x[0][i] * (double)(1 + d->bodies.particles[0]->id[i]);
    if (pass == 0) assert_ok(field_snapshot_restore(before, w.s->fields));
  }
  assert_true(seen[0] == seen[1]);
  field_snapshot_destroy(&before);
  stop(&w);
  assert_no_leak();
}

/* Kinetic energy of an affine velocity without mean velocity: 1/2 m C_aq^2 h^2 f (1 - f) for each of its nine entries, where f is the position of the
 * particle along q between two nodes: between faces for q = a, otherwise between points half a cell away. */
static void affine_velocity_has_energy(void **state)
{
  (void)state;
  world       w;
  body_totals sum;
  if (!start(&w, 0, NULL)) fail_msg("%s", diagnostics_text(w.d, 0));
  const particles *p      = particles_of(w.s->bodies[0].body);
  const double     min[3] = {-1, 0, 0}, h = 0.05;
  for (int k = 0; k < 3; ++k) memset(p->v[k], 0, (size_t)p->n * sizeof *p->v[k]);
  for (int entry = 0; entry < 9; ++entry) {
    for (int k = 0; k < 9; ++k)
      for (int64_t i = 0; i < p->n; ++i) p->C[k][i] = k == entry ? 2.0 : 0.0;
    assert_ok(scene_body_totals(w.s, 0, &sum));
    double energy = 0.0;
    for (int64_t i = 0; i < p->n; ++i) {
      const int    q = entry % 3;
      const double s = (p->x[q][i] - min[q]) / h + (entry / 3 == q ? 0.0 : 0.5), f = s - floor(s);
      energy += 0.5 * p->mass[i] * 4.0 * h * h * f * (1.0 - f);
    }
    assert_true(energy > 0.1);
    assert_close(sum.kinetic, energy, 1e-12 * (double)p->n);
  }
  stop(&w);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(bodies_are_created_from_a_job), cmocka_unit_test(affine_velocity_has_energy), cmocka_unit_test(errors),
          cmocka_unit_test(pouring), cmocka_unit_test(velocity_fields), cmocka_unit_test(restored_state_continues_bit_for_bit))
