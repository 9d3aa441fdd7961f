/* The same bits on one, two and three threads with every solver: every stack, with bodies, contacts and rates of prescribed
 * solids. */
#include "core/team.h"
#include "flow_fixture.h"
#include "optim/granular/granular_stress_gradient.h"
#include "optim/optim.h"

static bool is_heap(const int p[3], const int n[3]) { return 2 * p[1] < n[1]; }

typedef struct {
  fixture w;
  double *p_known, *s_known, *p, *s, lambda[3], z[6], *u, v[12]; /* the guess, and the solution on one thread */
  double *answer_p, *answer_s;
} scene;

static void scene_create(scene *t, bool is_staggered)
{
  const fixture_spec spec  = {.n              = {18, 26, 18},
                              .h              = 0.05,
                              .dt             = 0.02,
                              .rho            = 1600,
                              .M              = 0.5,
                              .is_staggered   = is_staggered,
                              .is_orthonormal = !is_staggered,
                              .is_open_wall   = true,
                              .tilt           = 0.2,
                              .is_material    = is_heap};
  uint64_t           count = 0;
  *t                       = (scene){0};
  fixture_create(&t->w, &spec);
  const int64_t n_p = t->w.f.n_cells, n_s = t->w.f.n_stress;
  assert_true(n_p > 4000); /* every loop is shared out */
  double **const of_p[] = {&t->p_known, &t->p, &t->answer_p}, **const of_s[] = {&t->s_known, &t->s, &t->answer_s};
  for (int k = 0; k < 3; ++k) {
    assert_ok(memory_alloc("test", n_p, sizeof(double), of_p[k]));
    assert_ok(memory_alloc("test", n_s, sizeof(double), of_s[k]));
  }
  assert_ok(memory_alloc("test", t->w.f.n_faces, sizeof(double), &t->u));
  fixture_complicate(&t->w, t->p_known, t->s_known, &count);
  memcpy(t->p, t->w.x.p, (size_t)n_p * sizeof(double)), memcpy(t->s, t->w.x.s, (size_t)n_s * sizeof(double));
  memcpy(t->lambda, t->w.x.lambda, sizeof t->lambda), memcpy(t->z, t->w.x.z, sizeof t->z);
  t->w.o.max_outer_iterations  = 1;
  t->w.gradient.max_iterations = t->w.pressure.max_iterations = 3;
  t->w.boxes.max_iterations = t->w.friction.max_iterations = 2;
}

static void scene_destroy(scene *t)
{
  double **const arrays[] = {&t->p_known, &t->p, &t->answer_p, &t->s_known, &t->s, &t->answer_s, &t->u};
  for (size_t k = 0; k < sizeof arrays / sizeof *arrays; ++k) memory_free(arrays[k]);
  fixture_destroy(&t->w);
}

static void expect_same_bits(scene *t, const char *what, int which)
{
  fixture *w = &t->w;
  for (int threads = 1; threads <= 3; ++threads) {
    granular_report r;
    fixture_forget(w);
    memcpy(w->x.p, t->p, (size_t)w->f.n_cells * sizeof(double));
    memcpy(w->x.s, t->s, (size_t)w->f.n_stress * sizeof(double));
    memcpy(w->x.lambda, t->lambda, sizeof t->lambda), memcpy(w->x.z, t->z, sizeof t->z);
    team_set_threads(threads);
    assert_ok(granular_solve(&w->f, &w->o, NULL, &w->x, &r));
    team_set_threads(1);
    assert_true(r.is_finite && r.outer > 0);
    const struct {
      void       *first;
      const void *now;
      size_t      size;
    } pairs[] = {{t->answer_p, w->x.p, (size_t)w->f.n_cells * sizeof(double)},
                 {t->answer_s, w->x.s, (size_t)w->f.n_stress * sizeof(double)},
                 {t->u, w->x.u, (size_t)w->f.n_faces * sizeof(double)},
                 {t->v, w->x.v, sizeof t->v}};
    for (int k = 0; k < 4; ++k) {
      if (threads == 1) memcpy(pairs[k].first, pairs[k].now, pairs[k].size);
      if (memcmp(pairs[k].first, pairs[k].now, pairs[k].size) != 0)
        fail_msg("%s %d: array %d is another one on %d threads", what, which, k, threads);
    }
  }
}

static void stresses_and_couplings(void **state)
{
  (void)state;
  for (int is_staggered = 0; is_staggered < 2; ++is_staggered) {
    scene t;
    scene_create(&t, is_staggered);
    for (int stress = GRANULAR_STRESS_GRADIENT; stress <= GRANULAR_STRESS_SP; ++stress) {
      t.w.o.stress = stress;
      expect_same_bits(&t, is_staggered ? "staggered stress" : "stress", stress);
    }
    t.w.o.stress = GRANULAR_STRESS_LAGRANGIAN, t.w.lagrangian.has_line_search = true;
    expect_same_bits(&t, "line search", is_staggered);
    t.w.o.stress = GRANULAR_STRESS_GRADIENT, t.w.friction.method = GRANULAR_FRICTION_NEWTON;
    for (int coupling = GRANULAR_MONOLITHIC; coupling <= GRANULAR_C_PF && !is_staggered; ++coupling) {
      t.w.o.coupling = coupling;
      expect_same_bits(&t, "coupling", coupling);
    }
    scene_destroy(&t);
  }
  assert_no_leak();
}

/* The first stress step is far too long; its curvature, a sum over chunks, gives the permitted length. */
static void step_of_stress(scene *t, int try)
{
  granular_solver S;
  granular_report r = {.is_finite = true};
  arena          *memory;
  double          undamped;
  assert_ok(arena_create(1 << 20, &memory));
  memcpy(t->w.x.p, t->p, (size_t)t->w.f.n_cells * sizeof(double));
  for (int64_t i = 0; i < t->w.f.n_stress; ++i) t->w.x.s[i] = (1.0 - 0.01 * try) * t->s[i];
  assert_ok(granular_solver_create(&S, &t->w.f, &t->w.o, memory, &t->w.x, &r));
  S.p_ref = t->w.f.pressure_scale, S.alpha_max = 1.0;
  granular_velocities(&S), granular_radii(&S);
  assert_ok(granular_stress_gradient.create(&S));
  ((granular_gradient *)S.stress)->L = 1e-3;
  assert_ok(granular_stress_gradient.solve(&S, &undamped));
  assert_true(r.products > r.s_iterations);
  granular_stress_gradient.destroy(&S);
  granular_solver_destroy(&S);
  arena_destroy(&memory);
}
static void lengths_of_steps(void **state)
{
  enum { TRIES = 20 }; /* another order changes one sum in three */
  (void)state;
  scene t;
  scene_create(&t, false);
  t.w.gradient.max_iterations = 2, t.w.o.tolerance = 1e-12;
  for (int try = 0; try < TRIES; ++try)
    for (int threads = 1; threads <= 3; ++threads) {
      team_set_threads(threads);
      step_of_stress(&t, try);
      team_set_threads(1);
      if (threads == 1) memcpy(t.answer_s, t.w.x.s, (size_t)t.w.f.n_stress * sizeof(double));
      assert_memory_equal(t.answer_s, t.w.x.s, (size_t)t.w.f.n_stress * sizeof(double));
    }
  scene_destroy(&t);
  assert_no_leak();
}

static void pressures(void **state)
{
  scene t;
  (void)state;
  assert_ok(optim_register_all());
  scene_create(&t, false);
  t.w.f.F_p.n = t.w.f.F_s.n = t.w.f.n_contacts = t.w.f.n_bodies = 0;            /* snesvi needs an assembled matrix: no floating bodies */
  t.w.o.coupling                                                = GRANULAR_P_C; /* no stress */
  for (int method = 0; method < BOUNDS_N_METHODS; ++method) {
    t.w.pressure.method = method;
    expect_same_bits(&t, "pressure", method);
  }
  t.w.pressure.method = BOUNDS_METHOD_MPRGP;
  for (int kind = 0; kind < BOUNDS_N_PRECONDITIONERS; ++kind) {
    t.w.pressure.preconditioner = kind;
    expect_same_bits(&t, "preconditioner", kind);
  }
  scene_destroy(&t);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(stresses_and_couplings), cmocka_unit_test(lengths_of_steps), cmocka_unit_test(pressures))
