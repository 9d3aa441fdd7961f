#include "friction_fixture.h"
#include "core/math3.h"
#include "core/team.h"
#include "optim/friction/splitting.h"
#include <string.h>

/* The same scene with W as stored blocks. */
static delassus *stored_copy(delassus *w)
{
  const int64_t *start;
  const int32_t *col;
  const double  *value;
  delassus      *out;
  assert_ok(delassus_blocks(w, &start, &col, &value));
  assert_ok(delassus_create_blocks(delassus_n_contacts(w), start, col, value, delassus_n_dof(w), &out));
  return out;
}

/* The assembled states of groups equal W r + q, for every storage of the groups. */
static void check_state(const friction_problem *p, int64_t *n_groups, int64_t *n_unknowns)
{
  sweeper s;
  double *r, *u, *wanted, *back;
  assert_ok(memory_alloc("r", 3 * p->n, sizeof *r, &r));
  assert_ok(memory_alloc("u", 3 * p->n, sizeof *u, &u));
  assert_ok(memory_alloc("wanted", 3 * p->n, sizeof *u, &wanted));
  assert_ok(memory_alloc("back", 3 * p->n, sizeof *u, &back));
  for (int64_t i = 0; i < 3 * p->n; ++i) r[i] = i % 7 == 0 ? 0.0 : scene_random(5, 9, (uint64_t)i);
  assert_ok(sweeper_create(p, SPLITTING_LOCAL_EXACT, &s));
  sweeper_set_impulses(&s, r);
  sweeper_get_solution(&s, back, u);
  delassus_apply(p->W, r, wanted);
  for (int64_t i = 0; i < 3 * p->n; ++i) {
    assert_close(u[i], wanted[i] + p->q[i], 1e-12 * (double)p->n);
    assert_true(back[i] == r[i]);
  }
  *n_groups = s.groups->n_groups, *n_unknowns = s.groups->n_jacobian;
  sweeper_destroy(&s);
  memory_free(&r), memory_free(&u), memory_free(&wanted), memory_free(&back);
}
static void groups_add_up_to_W(void **state)
{
  const struct {
    int64_t n_bodies, size, width, n;
  } c[] = {{5, 6, 5, 40}, {5, 6, 0, 12}, {6, 60, 10, 20}, {4, 40, 6, 90}, {6, 1, 0, 9}};
  (void)state;
  for (int k = 0; k < 5; ++k) {
    contact_scene s;
    delassus     *w;
    int64_t       n_groups, n_unknowns;
    scene_create((uint64_t)k, c[k].n_bodies, c[k].size, c[k].width, c[k].n, 0.4, &s);
    assert_ok(delassus_create_system(&s.M, &s.H, &w));
    friction_problem p = {.W = w, .n = s.n, .q = s.q, .mu = s.mu};
    check_state(&p, &n_groups, &n_unknowns);
    assert_true(k == 1 || n_groups <= c[k].n_bodies);  /* diagonal mass falls into unknowns */
    if (k == 0 || k == 3) assert_true(n_unknowns > 0); /* many contacts on few unknowns */
    if (k == 2) assert_int_equal(n_unknowns, 0);
    delassus *stored = stored_copy(w);
    p.W              = stored;
    check_state(&p, &n_groups, &n_unknowns);
    delassus_destroy(&w), delassus_destroy(&stored);
    scene_destroy(&s);
  }
  assert_no_leak();
}

/* A ring of contacts with blocks on random diagonals: cliques of two waste too much, so it is stored as one sparse group. */
static void what_has_no_groups_is_sparse(void **state)
{
  enum { N = 40 };
  int64_t   start[N + 1] = {0}, n_groups, n_unknowns;
  int32_t   col[7 * N];
  double    value[7 * N * 9], q[3 * N] = {0}, mu[N];
  delassus *w;
  (void)state;
  const int step[7] = {0, 3, 7, 16, N - 3, N - 7, N - 16};
  for (int a = 0; a < N; ++a) {
    mu[a] = 0.5;
    for (int k = 0; k < 7; ++k) {
      col[7 * a + k] = (a + step[k]) % N;
      for (int e = 0; e < 9; ++e)
        value[9 * (7 * a + k) + e] = 0.1 * scene_random(1, 2, (uint64_t)(9 * (7 * a + k) + e)) + (k == 0 && e % 4 == 0 ? 2.0 : 0.0);
    }
    start[a + 1] = 7 * (a + 1);
  }
  assert_ok(delassus_create_blocks(N, start, col, value, 0, &w));
  const friction_problem p = {.W = w, .n = N, .q = q, .mu = mu};
  check_state(&p, &n_groups, &n_unknowns);
  assert_int_equal(n_groups, 1);
  assert_int_equal(n_unknowns, 7 * N);
  delassus_destroy(&w);
  assert_no_leak();
}

/* Contacts that are coupled by any one number of their block share a group. */
static void one_number_couples_contacts(void **state)
{
  (void)state;
  for (int e = 0; e < 9; ++e) {
    const int64_t  start[3]  = {0, 2, 4};
    const int32_t  col[4]    = {0, 1, 0, 1};
    double         value[36] = {0.0}, impulse[3] = {0.0}, u[3] = {0.0}, *states;
    delassus      *w;
    contact_groups g;
    for (int k = 0; k < 9; k += 4) value[k] = value[27 + k] = 2.0;
    value[9 + e] = value[18 + 3 * (e % 3) + e / 3] = 0.5;
    assert_ok(delassus_create_blocks(2, start, col, value, 0, &w));
    assert_ok(contact_groups_create(w, &g));
    assert_ok(memory_alloc("states", g.n_state, sizeof *states, &states));
    impulse[e % 3] = 1.0;
    for (int64_t i = g.side_start[1]; i < g.side_start[2]; ++i) group_side_add_impulse(&g, &g.side[i], states, impulse);
    for (int64_t i = g.side_start[0]; i < g.side_start[1]; ++i) group_side_gather(&g, &g.side[i], states, u);
    for (int k = 0; k < 3; ++k) assert_close(u[k], k == e / 3 ? 0.5 : 0.0, 1e-15);
    memory_free(&states);
    contact_groups_destroy(&g);
    delassus_destroy(&w);
  }
  assert_no_leak();
}

/* Every contact once; tasks of one round share no group. */
static void tasks_of_a_round_do_not_meet(void **state)
{
  contact_scene  s;
  delassus      *w;
  contact_groups g;
  contact_plan   plan;
  (void)state;
  scene_create(2, 60, 12, 4, 700, 0.4, &s);
  assert_ok(delassus_create_system(&s.M, &s.H, &w));
  assert_ok(contact_groups_create(w, &g));
  assert_true(contact_plan_parts(&g) >= 4);
  for (int64_t parts = 2; parts <= 16; parts *= 2) {
    int *owner, *seen;
    assert_ok(contact_plan_create(&g, parts, &plan));
    assert_ok(memory_alloc("owner", g.n_groups, sizeof *owner, &owner));
    assert_ok(memory_alloc("seen", s.n, sizeof *seen, &seen));
    assert_true(plan.n_tasks > parts);
    assert_int_equal(plan.round_start[plan.n_rounds], plan.n_tasks);
    assert_int_equal(plan.task_start[plan.n_tasks], s.n);
    for (int64_t round = 0; round < plan.n_rounds; ++round) {
      memset(owner, 0, (size_t)g.n_groups * sizeof *owner);
      for (int64_t task = plan.round_start[round]; task < plan.round_start[round + 1]; ++task)
        for (int64_t k = plan.task_start[task]; k < plan.task_start[task + 1]; ++k) {
          const int32_t a = plan.order[k];
          ++seen[a];
          for (int64_t i = g.side_start[a]; i < g.side_start[a + 1]; ++i) {
            int *who = owner + g.side[i].group;
            assert_true(*who == 0 || *who == (int)task + 1);
            *who = (int)task + 1;
          }
        }
    }
    for (int64_t a = 0; a < s.n; ++a) assert_int_equal(seen[a], 1);
    memory_free(&owner), memory_free(&seen);
    contact_plan_destroy(&plan);
  }
  contact_groups_destroy(&g);
  delassus_destroy(&w);
  scene_destroy(&s);
  assert_no_leak();
}

static friction_options splitting_options(document **owner)
{
  friction_options o = scene_options(owner);
  o.method           = FRICTION_METHOD_SPLITTING;
  return o;
}

/* is_accelerated false: plain sweeps. */
static friction_result solve_scene(const contact_scene *s, const friction_options *o, bool is_stored, bool is_accelerated, double *r,
                                   double *u)
{
  delassus       *w, *stored = NULL;
  friction_result out = {0};
  assert_ok(delassus_create_system(&s->M, &s->H, &w));
  if (is_stored) stored = stored_copy(w);
  const friction_problem p = {.W = is_stored ? stored : w, .n = s->n, .q = s->q, .mu = s->mu};
  if (is_accelerated) assert_ok(friction_solve(&p, o, r, u, &out));
  else {
    assert_ok(splitting_run(&p, o, false, NULL, NULL, r, u, &out));
    friction_errors(&p, r, u, &out.absolute, &out.siconos, &out.scaled, NULL);
  }
  delassus_destroy(&w), delassus_destroy(&stored);
  return out;
}

/* Plain and accelerated sweeps and both local solvers agree on u, which is unique where W is regular and friction small, and Coulomb's law is satisfied line by line. */
static void every_variant_finds_the_solution(void **state)
{
  contact_scene s;
  document     *doc;
  double       *r, *u, *first;
  (void)state;
  friction_options o = splitting_options(&doc);
  o.tolerance        = 1e-10;
  scene_create(4, 30, 40, 6, 200, 0.3, &s);
  assert_ok(memory_alloc("r", 3 * s.n, sizeof *r, &r));
  assert_ok(memory_alloc("u", 3 * s.n, sizeof *u, &u));
  assert_ok(memory_alloc("first", 3 * s.n, sizeof *u, &first));
  for (int k = 0; k < 6; ++k) {
    const bool is_stored = k % 2, is_accelerated = k / 2 != 1;
    o.local_solver = k / 2 == 2 ? SPLITTING_LOCAL_FISCHER_BURMEISTER : SPLITTING_LOCAL_EXACT;
    memset(r, 0, (size_t)s.n * 3 * sizeof *r);
    const friction_result out = solve_scene(&s, &o, is_stored, is_accelerated, r, u);
    assert_int_equal(out.status, FRICTION_OK);
    assert_true(out.scaled <= 1e-10);
    if (k == 0) memcpy(first, u, (size_t)s.n * 3 * sizeof *u);
    if (k == 4) assert_memory_not_equal(first, u, (size_t)s.n * 3 * sizeof *u); /* another local solver, other rounding errors */
    double worst = 0.0;
    for (int64_t i = 0; i < 3 * s.n; ++i) worst = fmax(worst, fabs(u[i] - first[i]));
    assert_close(worst, 0.0, 1e-7);
    for (int64_t a = 0; a < s.n; ++a) { /* the law itself */
      const double *ra = r + 3 * a, *ua = u + 3 * a, t = hypot(ra[1], ra[2]);
      assert_true(ra[0] >= 0.0 && t <= s.mu[a] * ra[0] * (1.0 + 1e-12) && ua[0] >= -1e-7);
      assert_close(ra[0] * ua[0], 0.0, 1e-7);
      if (t < 0.99 * s.mu[a] * ra[0]) assert_close(hypot(ua[1], ua[2]), 0.0, 1e-6);
    }
    /* from its own solution it converges at once */
    const friction_result again = solve_scene(&s, &o, is_stored, is_accelerated, r, u);
    assert_int_equal(again.iterations, 0);
  }
  memory_free(&r), memory_free(&u), memory_free(&first);
  scene_destroy(&s);
  document_destroy(&doc);
  assert_no_leak();
}

static void threads_change_no_bit(void **state)
{
  contact_scene s;
  document     *doc;
  double       *r[3], *u;
  const int     threads[3] = {1, 2, 3};
  int64_t       iterations[3];
  (void)state;
  friction_options o = splitting_options(&doc);
  scene_create(9, 80, 12, 6, 450, 0.3, &s);
  assert_ok(memory_alloc("u", 3 * s.n, sizeof *u, &u));
  for (int is_stored = 0; is_stored < 2; ++is_stored) {
    for (int t = 0; t < 3; ++t) {
      team_set_threads(threads[t]);
      assert_ok(memory_alloc("r", 3 * s.n, sizeof **r, &r[t]));
      const friction_result out = solve_scene(&s, &o, is_stored, true, r[t], u);
      assert_int_equal(out.status, FRICTION_OK);
      iterations[t] = out.iterations;
      assert_int_equal(iterations[t], iterations[0]);
      assert_memory_equal(r[t], r[0], (size_t)s.n * 3 * sizeof **r);
    }
    for (int t = 0; t < 3; ++t) memory_free(&r[t]);
  }
  team_set_threads(0);
  memory_free(&u);
  scene_destroy(&s);
  document_destroy(&doc);
  assert_no_leak();
}

static void limits_are_kept_and_the_best_comes_back(void **state)
{
  contact_scene s;
  document     *doc;
  double       *r, *u;
  (void)state;
  friction_options o = splitting_options(&doc);
  scene_create(4, 30, 40, 6, 200, 0.3, &s);
  assert_ok(memory_alloc("r", 3 * s.n, sizeof *r, &r));
  assert_ok(memory_alloc("u", 3 * s.n, sizeof *u, &u));
  o.tolerance = 1e-300, o.max_iterations = 3;
  friction_result out = solve_scene(&s, &o, false, true, r, u);
  assert_int_equal(out.status, FRICTION_ITERATIONS);
  assert_int_equal(out.iterations, 3);
  assert_true(out.scaled > 0.0 && out.scaled < 0.5);
  o.max_iterations = 0, o.time_limit = 0.02;
  out = solve_scene(&s, &o, false, true, r, u);
  assert_int_equal(out.status, FRICTION_TIME);
  assert_true(out.seconds < 1.0);
  assert_true(out.scaled < 0.5);
  memory_free(&r), memory_free(&u);
  scene_destroy(&s);
  document_destroy(&doc);
  assert_no_leak();
}

/* Accelerated errors can increase temporarily; the error of the returned result decreases with the limit of iterations. */
static void more_sweeps_are_never_worse(void **state)
{
  contact_scene s;
  document     *doc;
  double        r[3 * 60], u[3 * 60], last = INFINITY;
  (void)state;
  friction_options o = splitting_options(&doc);
  o.tolerance = 1e-12, o.error = FRICTION_ERROR_SCALED;
  scene_create(4, 8, 6, 5, 60, 0.9, &s);                                      /* redundant contacts */
  for (o.max_iterations = 8; o.max_iterations < 400; o.max_iterations += 8) { /* a period of the acceleration, where errors are evaluated */
    memset(r, 0, sizeof r);
    const friction_result out = solve_scene(&s, &o, true, true, r, u);
    assert_true(out.scaled <= last * (1.0 + 1e-6) + 1e-12);
    last = out.scaled;
  }
  scene_destroy(&s);
  document_destroy(&doc);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(one_number_couples_contacts), cmocka_unit_test(groups_add_up_to_W),
          cmocka_unit_test(what_has_no_groups_is_sparse), cmocka_unit_test(tasks_of_a_round_do_not_meet),
          cmocka_unit_test(every_variant_finds_the_solution), cmocka_unit_test(threads_change_no_bit),
          cmocka_unit_test(limits_are_kept_and_the_best_comes_back), cmocka_unit_test(more_sweeps_are_never_worse))
