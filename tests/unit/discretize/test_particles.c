/* Particles: initial velocities and identities, permutations, sources, positions at the start by identity. */
#include "core/math3.h"
#include "core/memory.h"
#include "discretize/material/material_registry.h"
#include "discretize/particles/particles.h"
#include "discretize/particles/particle_source.h"
#include "test.h"
#include <string.h>
#include "vector_field_fixture.h"

/* After a rigid move by u the displacement error against u is zero, against 0 it is |u|. */
static void displacement_from_origins(void **state)
{
  (void)state;
  const double        x[9] = {0.1, 0.1, 0.1, 0.2, 0.1, 0.1, 0.1, 0.3, 0.2}, u[3] = {0.01, -0.02, 0.02};
  const particle_seed seed = {.n = 3, .x = x, .volume_each = 1e-3};
  particle_origins    o;
  particles          *p;
  int64_t             next_id = 0;
  assert_ok(particles_create(NULL, &p));
  assert_ok(particle_seed_add(&seed, "b", 1000.0, true, &next_id, p));
  assert_int_equal(next_id, 3);
  assert_close(p->mass[2], 1.0, 1e-15);
  assert_ok(particle_origins_create(1, &p, &o));
  for (int64_t i = 0; i < p->n; ++i)
    for (int k = 0; k < 3; ++k) p->x[k][i] += u[k];
  vector_field *moved = field_of("0.01", "-0.02", "0.02"), *still = field_of("0", "0", "0");
  assert_close(particle_origins_error(p, moved, 0.0, false), 0.0, 1e-16);
  assert_close(particle_origins_error(p, still, 0.0, false), 0.03, 1e-16);
  assert_close(particle_origins_error(p, moved, 0.0, true), 0.03, 1e-16);
  vector_field_destroy(&moved), vector_field_destroy(&still);
  memory_free(&o.x);
  particles_destroy(&p);
  assert_no_leak();
}

/* A cloud of particles of different volumes that turns about its centre of mass; then particles with given velocities and identities. */
static void seeds_move_like_a_rigid_body(void **state)
{
  (void)state;
  const double x[12] = {0.1, 0.1, 0.1, 0.2, 0.1, 0.1, 0.1, 0.3, 0.2, 0.4, -0.2, 0.3}, volume[4] = {1e-3, 2e-3, 3e-3, 4e-3},
               v[6]         = {1, 2, 3, 4, 5, 6};
  const int64_t       id[2] = {9, 7};
  const particle_seed whole = {.n = 4, .x = x, .volume = volume, .velocity = {1, 2, 3}, .angular_velocity = {3, -2, 1}},
                      given = {.n = 2, .x = x, .v = v, .volume = volume, .id = id, .angular_velocity = {3, -2, 1}},
                      more  = {.n = 1, .x = x, .volume_each = 5e-3};
  for (int with_affine = 0; with_affine < 2; ++with_affine) {
    particles *p;
    int64_t    next_id     = 3;
    double     momentum[3] = {0}, spin[3] = {0}, center[3] = {0}, mass = 0.0, inertia[9] = {0}, expected[3];
    assert_ok(particles_create(NULL, &p));
    assert_ok(particle_seed_add(&whole, "b", 500.0, with_affine, &next_id, p));
    assert_int_equal(next_id, 7);
    for (int64_t i = 0; i < 4; ++i) {
      assert_close(p->mass[i], 500.0 * volume[i], 1e-15);
      assert_int_equal(p->id[i], 3 + i);
      mass += p->mass[i];
      for (int k = 0; k < 3; ++k) center[k] += p->mass[i] * x[3 * i + k], momentum[k] += p->mass[i] * p->v[k][i];
    }
    v3_scale(center, 1.0 / mass, center);
    for (int64_t i = 0; i < 4; ++i) { /* angular momentum about the centre is that of the spin of a rigid body */
      double arm[3], l[3];
      v3_sub(arm, x + 3 * i, center);
      v3_cross(l, arm, (const double[3]){p->v[0][i], p->v[1][i], p->v[2][i]});
      v3_axpy(spin, p->mass[i], l);
      for (int k = 0; k < 9; ++k) inertia[k] += p->mass[i] * ((k % 4 ? 0.0 : v3_dot(arm, arm)) - arm[k / 3] * arm[k % 3]);
      const double C[9] = {0, -1, -2, 1, 0, -3, 2, 3, 0}; /* C r = (3, -2, 1) x r */
      for (int k = 0; k < 9; ++k) assert_close(p->C[k][i], with_affine ? C[k] : 0.0, 0.0);
    }
    m3_mulv(expected, inertia, whole.angular_velocity);
    for (int k = 0; k < 3; ++k) {
      assert_close(momentum[k], mass * whole.velocity[k], 1e-14);
      assert_close(spin[k], expected[k], 1e-14);
    }
    assert_ok(particle_seed_add(&given, "b", 500.0, with_affine, &next_id, p));
    assert_int_equal(next_id, 10);
    assert_ok(particle_seed_add(&more, "b", 500.0, with_affine, &next_id, p));
    assert_int_equal(next_id, 11);
    assert_int_equal(p->n, 7);
    assert_true(p->id[4] == 9 && p->id[5] == 7 && p->id[6] == 10);
    for (int k = 0; k < 3; ++k)
      assert_true(p->v[k][4] == v[k] && p->v[k][5] == v[3 + k] && p->x[k][6] == x[k] && p->v[k][6] == 0.0 && p->C[k][5] == 0.0);
    assert_close(p->mass[6], 2.5, 1e-15);
    assert_int_equal(particles_next_id(p, 0), 11);
    assert_int_equal(particles_next_id(p, 20), 20);
    particles_destroy(&p);
  }
  const double        nothing[1] = {0.0};
  const particle_seed empty      = {.n = 1, .x = x, .volume = nothing};
  particles          *p;
  int64_t             next_id = 0;
  assert_ok(particles_create(NULL, &p));
  assert_true(particle_seed_add(&empty, "b", 500.0, false, &next_id, p));
  assert_non_null(strstr(error_message(), "body b: particle 0 has no volume"));
  error_clear();
  particles_destroy(&p);
  assert_no_leak();
}

/* Releases at start, start + every, ... before the end, each once, for steps that hit these times and for others. None at the start of the run. */
static void releases_are_due_once(void **state)
{
  (void)state;
  static const struct {
    particle_release_schedule schedule;
    double                    dt;
    int                       expected;
  } cases[]         = {{{0.1, 0.35, 0.1}, 0.05, 3}, {{0.1, 0.3, 0.1}, 0.05, 2}, {{0.0, 0.35, 0.1}, 0.1, 3}, {{0.0, 10.0, 0.1}, 0.03, 9},
                       {{0.25, 0.6, 0.1}, 0.1, 4},  {{0.5, 0.5, 0.1}, 0.1, 0},  {{0.1, 0.35, 0.1}, 0.1, 3}, {{0.7, 0.7001, 1.0}, 0.07, 1}};
  const double x[3] = {5.0, 5.0, 5.0};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
    const particle_seed seed = {.n = 1, .x = x, .volume_each = 1.0};
    level_set          *spout;
    particle_source    *s;
    int                 n = 0, n_steps = (int)lround(0.99 / cases[k].dt);
    assert_ok(level_set_sphere((const double[3]){0, 0, 0}, 1.0, &spout));
    assert_ok(particle_source_create(&seed, &cases[k].schedule, &spout, &s));
    assert_null(spout);
    for (int i = 1; i <= n_steps; ++i) {
      const double t    = i * cases[k].dt;
      const int    due  = particle_source_is_due(s, "b", t, cases[k].dt, 0, NULL);
      double       next = INFINITY; /* a release in this step: start + j every in (t - dt, t] */
      for (int j = 0; j < 100; ++j) {
        const double at = cases[k].schedule.start + j * cases[k].schedule.every;
        if (at < cases[k].schedule.end - 1e-9 && at > t - cases[k].dt + 1e-9 && at < t + 1e-9) next = at;
      }
      assert_int_equal(due, isfinite(next));
      n += due;
    }
    assert_int_equal(n, cases[k].expected);
    particle_source_destroy(&s);
  }
  assert_no_leak();
}

/* A release is omitted if more than a twentieth of its particles would overlap with those of all bodies in the shape. */
static void releases_wait_for_room(void **state)
{
  (void)state;
  enum { N = 40 };
  static double                   x[3 * N];
  const particle_release_schedule schedule = {0.0, 10.0, 1.0};
  const particle_seed             seed     = {.n = N, .x = x, .volume_each = 1.0};
  level_set                      *spout;
  particle_source                *s;
  particles                      *set[2];
  for (int b = 0; b < 2; ++b) {
    assert_ok(particles_create(NULL, &set[b]));
    assert_ok(particles_resize(set[b], 3)); /* at the corners of the box of the ball, outside of it, at first */
    for (int i = 0; i < 3; ++i)
      for (int k = 0; k < 3; ++k) set[b]->x[k][i] = 0.9;
  }
  assert_ok(level_set_sphere((const double[3]){0, 0, 0}, 1.0, &spout));
  assert_ok(particle_source_create(&seed, &schedule, &spout, &s));
  for (int n_inside = 0; n_inside < 6; ++n_inside) {
    assert_int_equal(particle_source_is_due(s, "b", 3.0, 0.5, 2, set), n_inside <= 2);
    assert_false(particle_source_is_due(s, "b", 3.5, 0.5, 2, set));
    for (int k = 0; k < 3; ++k) set[n_inside % 2]->x[k][n_inside / 2] = k == n_inside % 3 ? 0.9 : 0.1; /* one more, near the surface */
  }
  particle_source_destroy(&s);
  for (int b = 0; b < 2; ++b) particles_destroy(&set[b]);
  assert_no_leak();
}

/* Every array follows an order, also the history; new particles are undeformed. */
static void permutations_move_all_arrays(void **state)
{
  (void)state;
  enum { N = 50 };
  for (int with_law = 0; with_law < 2; ++with_law) {
    const material_law *law = with_law ? &material_law_drucker_prager : NULL;
    particles          *p;
    void              **arrays[PARTICLES_MAX_ARRAYS];
    int32_t             order[N], same[N];
    assert_ok(particles_create(law, &p));
    assert_ok(particles_resize(p, N));
    const int n = particles_arrays(p, arrays);
    assert_int_equal(n, with_law ? 27 + law->n_state : 17);
    for (int i = 0; i < N && with_law; ++i)
      for (int k = 0; k < 9; ++k) assert_true(p->F[k][i] == (k % 4 == 0));
    for (int a = 0; a < n; ++a)
      for (int i = 0; i < N; ++i) ((double *)*arrays[a])[i] = 1000.0 * a + i;
    for (int i = 0; i < N; ++i) same[i] = i, order[i] = (7 * i + 3) % N;
    assert_false(particles_permute(p, same));
    assert_true(particles_permute(p, order));
    for (int a = 0; a < n; ++a)
      for (int i = 0; i < N; ++i) assert_true(((double *)*arrays[a])[i] == 1000.0 * a + order[i]);
    assert_ok(particles_resize(p, 2 * N)); /* grows, and keeps what there is */
    for (int a = 0; a < n; ++a)
      for (int i = 0; i < N; ++i) assert_true(((double *)*arrays[a])[i] == 1000.0 * a + order[i]);
    for (int i = N; i < 2 * N && with_law; ++i)
      for (int k = 0; k < 9; ++k) assert_true(p->F[k][i] == (k % 4 == 0));
    assert_close(particles_bytes(p), 8.0 * (n + 1) * (double)(p->capacity + PARTICLES_PADDING) / (2 * N), 1e-9);
    particles_destroy(&p);
  }
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(displacement_from_origins), cmocka_unit_test(seeds_move_like_a_rigid_body),
          cmocka_unit_test(releases_are_due_once), cmocka_unit_test(releases_wait_for_room), cmocka_unit_test(permutations_move_all_arrays))
