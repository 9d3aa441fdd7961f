#include "flow_fixture.h"

static void the_table_is_sound(void **state)
{
  diagnostics *d;
  (void)state;
  assert_ok(diagnostics_create(&d));
  assert_ok(key_table_validate(&granular_options_table, d));
  if (diagnostics_count(d)) fail_msg("%s", diagnostics_text(d, 0));
  diagnostics_destroy(&d);
  assert_no_leak();
}

static bool is_lower_half(const int p[3], const int n[3]) { return 2 * p[1] < n[1]; }

/* Liquid at rest: p = rho g (depth - h/2) from the surface, exactly; stress is there but may carry nothing. */
static void a_hydrostatic_column_is_exact(void **state)
{
  (void)state;
  const fixture_spec spec = {
      .n = {3, 12, 2}, .h = 0.05, .dt = 0.02, .rho = 1000, .M = 0, .is_orthonormal = true, .is_material = is_lower_half};
  fixture w;
  fixture_create(&w, &spec);
  fixture_tighten(&w, 1e-12);
  const granular_report r = fixture_solve(&w);
  assert_true(r.is_converged);
  for (int64_t c = 0; c < w.f.n_cells; ++c) /* the surface lies half a cell above the last one's centre, where p = 0 is one cell up */
    assert_close(w.x.p[c], spec.rho * FIXTURE_G * spec.h * (6 - w.ijk[c][1]), 1e-10 * spec.rho * FIXTURE_G * 0.3);
  for (int64_t i = 0; i < w.f.n_faces; ++i) assert_close(w.x.u[i], 0.0, 1e-12);
  assert_true(r.kkt.kkt < 1e-11 && r.kkt.energy < 0.0);
  fixture_destroy(&w);
  assert_no_leak();
}

/* Gravity upwards: without cohesion the liquid leaves, with it the pressure is negative down to -c. */
static void cohesion_lets_a_liquid_hang(void **state)
{
  (void)state;
  for (int is_cohesive = 0; is_cohesive < 2; ++is_cohesive) {
    const fixture_spec spec = {.n              = {3, 12, 2},
                               .h              = 0.05,
                               .dt             = 0.02,
                               .rho            = 1000,
                               .M              = 0,
                               .tilt           = acos(-1.0),
                               .is_orthonormal = true,
                               .is_material    = is_lower_half};
    fixture            w;
    fixture_create(&w, &spec);
    fixture_tighten(&w, 1e-12);
    double cohesion[36];
    for (int c = 0; c < 36; ++c) cohesion[c] = is_cohesive ? 1e4 : 0.0;
    assert_int_equal(w.f.n_cells, 36);
    w.f.cohesion            = cohesion;
    const granular_report r = fixture_solve(&w);
    assert_true(r.is_converged && r.kkt.kkt < 1e-10);
    for (int64_t c = 0; c < w.f.n_cells; ++c)
      assert_close(w.x.p[c], is_cohesive ? -spec.rho * FIXTURE_G * spec.h * (6 - w.ijk[c][1]) : 0.0, 1e-10 * spec.rho * FIXTURE_G * 0.3);
    fixture_destroy(&w);
  }
  assert_no_leak();
}

/* A heap of sand, warm and cold, in both bases. */
static void sand_is_solved_to_the_tolerance(void **state)
{
  (void)state;
  for (int basis = 0; basis < 2; ++basis) {
    const fixture_spec spec = {.n              = {8, 8, 8},
                               .h              = 0.05,
                               .dt             = 0.02,
                               .rho            = 1600,
                               .M              = 0.5,
                               .is_orthonormal = basis == 0,
                               .is_open_wall   = true,
                               .tilt           = 0.3,
                               .is_material    = is_lower_half};
    fixture            w;
    fixture_create(&w, &spec);
    fixture_tighten(&w, 1e-8);
    const granular_report r = fixture_solve(&w);
    assert_true(r.is_converged);
    assert_true(r.kkt.kkt < 1e-7 && r.kkt.energy < 0.0);
    assert_true(r.kkt.yield < 1.0 + 1e-6);
    fixture_destroy(&w);
  }
  assert_no_leak();
}

static bool is_column(const int p[3], const int n[3])
{
  return abs(2 * p[0] + 1 - n[0]) < n[0] / 2 && abs(2 * p[2] + 1 - n[2]) < n[2] / 2 && 2 * p[1] < n[1];
}
static const fixture_spec column = {
    .n = {8, 12, 8}, .h = 0.05, .dt = 0.02, .rho = 1600, .M = 0.5, .is_orthonormal = true, .is_open_wall = true, .is_material = is_column};

/* The report lists yielding where p is more than 5 % of its maximum. */
static void yield_is_reported_where_there_is_pressure(void **state)
{
  (void)state;
  fixture w;
  fixture_create(&w, &column);
  granular_kkt_report r;
  for (int64_t c = 0; c < w.f.n_cells; ++c) w.x.p[c] = 1000.0;
  w.x.p[0] = 40.0, w.x.s[2] = 1e4;
  assert_ok(granular_kkt(&w.f, &w.x, &r));
  assert_close(r.yield, 0.0, 1e-12);
  w.x.p[1] = 60.0, w.x.s[5 + 3] = 2.0 * w.alpha[1] * 60.0;
  assert_ok(granular_kkt(&w.f, &w.x, &r));
  assert_close(r.yield, 2.0, 1e-12);
  fixture_destroy(&w);
  assert_no_leak();
}

/* Small changes of p where p is small leave stress outside of its cone: that is not solved. */
static void what_counts_as_solved_is_in_the_cone(void **state)
{
  (void)state;
  for (int k = 0; k < 4; ++k) {
    const double tolerance = k < 2 ? 0.05 : 0.03;
    fixture_spec spec      = column;
    fixture      w;
    spec.tilt = 0.9, spec.M = k % 2 ? 0.7 : 1.0; /* steep and rough: small changes alone would end outside */
    fixture_create(&w, &spec);
    w.o.tolerance = tolerance, w.o.max_outer_iterations = 500;
    const granular_report r = fixture_solve(&w);
    assert_true(r.is_converged);
    assert_true(r.kkt.yield <= 1.0 + 2.0 * tolerance + 1e-9);
    fixture_destroy(&w);
  }
  assert_no_leak();
}

/* A free-standing column: with enough cohesion it does not move, with friction alone it collapses. */
static void cohesion_holds_what_friction_cannot(void **state)
{
  (void)state;
  for (int is_cohesive = 0; is_cohesive < 2; ++is_cohesive) {
    fixture w;
    fixture_create(&w, &column);
    fixture_tighten(&w, 1e-9);
    double *cohesion = NULL, fastest = 0.0, lowest = 0.0;
    assert_ok(memory_alloc("cohesion", w.f.n_cells, sizeof *cohesion, &cohesion));
    for (int64_t c = 0; c < w.f.n_cells; ++c) cohesion[c] = is_cohesive ? 8.0 * column.rho * FIXTURE_G * 0.3 : 0.0;
    w.f.cohesion            = cohesion;
    const granular_report r = fixture_solve(&w);
    assert_true(r.is_converged && r.kkt.kkt < 1e-7 && r.kkt.energy < 0.0);
    for (int64_t i = 0; i < w.f.n_faces; ++i) fastest = fmax(fastest, fabs(w.x.u[i]));
    for (int64_t c = 0; c < w.f.n_cells; ++c) lowest = fmin(lowest, w.x.p[c] + cohesion[c]);
    assert_true(lowest >= 0.0);
    if (is_cohesive) assert_close(fastest, 0.0, 1e-6 * column.dt * FIXTURE_G);
    else assert_true(fastest > 0.1 * column.dt * FIXTURE_G);
    memory_free(&cohesion);
    fixture_destroy(&w);
  }
  assert_no_leak();
}

/* A full box of sand rests, and pressure is hydrostatic on the average of every layer; the load on the walls is not unique. From
 * the solution, one iteration is enough. */
static void sand_in_a_box_rests(void **state)
{
  (void)state;
  const fixture_spec spec = {
      .n = {4, 6, 4}, .h = 0.05, .dt = 0.02, .rho = 1600, .M = 0.5, .is_orthonormal = true, .is_material = is_lower_half};
  fixture w;
  fixture_create(&w, &spec);
  fixture_tighten(&w, 1e-9);
  granular_report r = fixture_solve(&w);
  assert_true(r.is_converged && r.outer > 1);
  for (int64_t i = 0; i < w.f.n_faces; ++i) assert_close(w.x.u[i], 0.0, 1e-8);
  r = fixture_solve(&w);
  assert_int_equal(r.outer, 1);
  fixture_destroy(&w);
  assert_no_leak();
}

/* The floor of a silo sinks: friction at the walls is used up, and pressure and friction hang on each other all the way down. */
static void a_silo_settles(void **state)
{
  (void)state;
  const fixture_spec spec = {.n = {4, 16, 2}, .h = 0.05, .dt = 0.02, .rho = 1600, .M = 0.5, .is_orthonormal = true};
  fixture            w;
  double            *known = NULL;
  fixture_create(&w, &spec);
  fixture_tighten(&w, 1e-4);
  w.o.max_outer_iterations = 150; /* support as it comes: yield is 2 after 250, a quarter of the way each time: 118 */
  assert_ok(memory_alloc("known", w.f.n_cells, sizeof *known, &known));
  for (int64_t c = 0; c < w.f.n_cells; ++c) known[c] = w.ijk[c][1] == 0 ? 0.02 * spec.h * spec.h : 0.0;
  w.f.p_known             = known;
  const granular_report r = fixture_solve(&w);
  assert_true(r.is_converged && r.kkt.kkt < 1e-3 && r.kkt.yield < 1.0 + 1e-3);
  memory_free(&known);
  fixture_destroy(&w);
  assert_no_leak();
}

/* Data kept between solves are allocations only; results do not depend on them. */
static void kept_memory_changes_nothing(void **state)
{
  (void)state;
  fixture         w;
  granular_work  *kept;
  granular_report r;
  double         *s = NULL;
  fixture_create(&w, &column);
  assert_ok(granular_work_create(&kept));
  assert_ok(memory_alloc("s", w.f.n_stress, sizeof *s, &s));
  for (int round = 0; round < 3; ++round) {
    fixture_forget(&w);
    assert_ok(granular_solve(&w.f, &w.o, round ? kept : NULL, &w.x, &r));
    if (round == 0) memcpy(s, w.x.s, (size_t)w.f.n_stress * sizeof *s);
    assert_memory_equal(s, w.x.s, (size_t)w.f.n_stress * sizeof *s);
  }
  memory_free(&s);
  granular_work_destroy(&kept);
  fixture_destroy(&w);
  assert_no_leak();
}

/* Friction that depends on the flow: evaluated once per outer iteration, and the solution satisfies the last value. */
static void halve_alpha(void *context, const double *p, const double *u, double *alpha)
{
  fixture *w = context;
  (void)u;
  for (int64_t c = 0; c < w->f.n_cells; ++c) alpha[c] = p[c] > 500.0 ? 0.5 * w->alpha[c] : w->alpha[c];
  ++w->friction.max_iterations; /* not used, because there are no contacts */
}
static void friction_may_depend_on_the_flow(void **state)
{
  (void)state;
  fixture w;
  fixture_create(&w, &column);
  fixture_tighten(&w, 1e-8);
  w.f.update_alpha = halve_alpha, w.f.alpha_context = &w;
  const int64_t         before = w.friction.max_iterations;
  const granular_report r      = fixture_solve(&w);
  assert_true(r.is_converged && r.kkt.kkt < 1e-6);
  assert_int_equal(w.friction.max_iterations - before, r.outer);
  int64_t n_yielding = 0;
  for (int64_t c = 0; c < w.f.n_cells; ++c) {
    double size2 = 0.0;
    for (int e = 0; e < 5; ++e) size2 += w.x.s[5 * c + e] * w.x.s[5 * c + e];
    if (w.x.p[c] <= 510.0) continue;
    assert_true(sqrt(size2) <= 0.5 * w.alpha[c] * w.x.p[c] * (1.0 + 1e-6));
    n_yielding += sqrt(size2) > 0.499 * w.alpha[c] * w.x.p[c];
  }
  assert_true(n_yielding > 0);
  fixture_destroy(&w);
  assert_no_leak();
}

/* Every method ends near its tolerance on staggered stress, without more energy and with boxes or cones that hold about as well as
 * they can. */
static void staggered_stress_is_solved(void **state)
{
  (void)state;
  for (int method = GRANULAR_STRESS_GRADIENT; method <= GRANULAR_STRESS_SP; ++method) {
    fixture_spec spec = column;
    spec.is_staggered = true;
    fixture w;
    fixture_create(&w, &spec);
    w.o.stress = method, w.o.max_outer_iterations = 60, w.o.tolerance = 2e-2;
    const granular_report r = fixture_solve(&w);
    assert_true(r.kkt.energy < 0.0 && r.is_finite);
    if (method != GRANULAR_STRESS_LAGRANGIAN) assert_true(r.is_converged);
    if (method == GRANULAR_STRESS_GRADIENT) assert_true(r.kkt.yield < 1.05);
    double most = 0.0;
    for (int64_t i = 0; i < w.f.n_stress && method >= GRANULAR_STRESS_PYRAMID; ++i) {
      double bound = 0.0;
      int    n     = 0;
      for (int q = 0; q < 4; ++q)
        if (w.sample_cells[i][q] >= 0) bound += w.alpha[0] * w.x.p[w.sample_cells[i][q]], ++n;
      if (bound / n > 500.0) most = fmax(most, fabs(w.x.s[i]) / (bound / n));
    }
    assert_true(most < 1.2);
    if (method >= GRANULAR_STRESS_PYRAMID) assert_true(most > 0.9);
    fixture_destroy(&w);
  }
  assert_no_leak();
}

static void expect(const granular_problem *f, const fixture *w, const char *words)
{
  granular_report r;
  granular_state  x = w->x;
  assert_int_equal(granular_solve(f, &w->o, NULL, &x, &r), PETSC_ERR_USER_INPUT);
  if (!strstr(error_message(), words)) fail_msg("\"%s\" does not say \"%s\"", error_message(), words);
  error_clear();
}
static void bad_input_is_refused(void **state)
{
  (void)state;
  fixture w;
  fixture_create(&w, &column);
  fixture_add_body(&w, 1.0, 0.1);
  const int32_t    samples[2] = {5, 3}, outside[1] = {7};
  const double     wrench[2][6] = {{0}};
  granular_problem f            = w.f;
  w.u_star[17]                  = NAN;
  expect(&f, &w, "u*[17] is not a finite number");
  w.u_star[17] = 0.0, w.mobility[3] = 0.0;
  expect(&f, &w, "face 3 has mobility 0");
  w.mobility[3] = 1e-5;
  f.F_p         = (granular_coupling){1, samples, outside, wrench};
  expect(&f, &w, "with body 7 of 1");
  f.F_p = (granular_coupling){2, samples, (const int32_t[2]){0, 0}, wrench};
  expect(&f, &w, "samples must be in ascending order");
  f.F_p = (granular_coupling){0}, f.n_contacts = 1;
  w.contact[0] = (granular_contact){.body = {-1, -1}, .mu = 0.1};
  expect(&f, &w, "is between two prescribed bodies");
  f.n_contacts = 0, f.n_stress -= 5;
  expect(&f, &w, "D does not fit");
  fixture_destroy(&w);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(the_table_is_sound), cmocka_unit_test(a_hydrostatic_column_is_exact),
          cmocka_unit_test(sand_is_solved_to_the_tolerance), cmocka_unit_test(cohesion_lets_a_liquid_hang),
          cmocka_unit_test(yield_is_reported_where_there_is_pressure), cmocka_unit_test(what_counts_as_solved_is_in_the_cone),
          cmocka_unit_test(cohesion_holds_what_friction_cannot), cmocka_unit_test(sand_in_a_box_rests), cmocka_unit_test(a_silo_settles),
          cmocka_unit_test(kept_memory_changes_nothing), cmocka_unit_test(friction_may_depend_on_the_flow),
          cmocka_unit_test(staggered_stress_is_solved), cmocka_unit_test(bad_input_is_refused))
