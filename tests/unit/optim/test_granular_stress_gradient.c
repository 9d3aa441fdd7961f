/* Projected gradient of stress against the same method written in full vectors, on more samples than one chunk of a sum; chunks
 * of coupled samples; options of another method. */
#include "flow_fixture.h"
#include "optim/granular/granular_stress_gradient.h"

static bool is_lower_half(const int p[3], const int n[3]) { return 2 * p[1] < n[1]; }

static const double TOO_SMALL = 0.02; /* L to begin with */

typedef struct {
  fixture         w;
  double         *p_known, *s_known;
  arena          *memory;
  granular_solver S;
  granular_report r;
} scene;

/* Except for its last cell, the first chunk has no friction: code that queries only a first chunk, or all but its end, finds
 * none there. */
static void scene_create(scene *t, bool is_orthonormal, int64_t iterations)
{
  const fixture_spec spec  = {.n              = {12, 14, 12},
                              .h              = 0.05,
                              .dt             = 0.02,
                              .rho            = 1600,
                              .M              = 0.5,
                              .is_orthonormal = is_orthonormal,
                              .is_open_wall   = true,
                              .tilt           = 0.3,
                              .is_material    = is_lower_half};
  uint64_t           count = 0;
  *t                       = (scene){0};
  fixture_create(&t->w, &spec);
  const int64_t n = t->w.f.n_cells;
  assert_true(n > GRANULAR_CHUNK + 100 && n % GRANULAR_CHUNK != 0);
  assert_ok(memory_alloc("test", n, sizeof(double), &t->p_known));
  assert_ok(memory_alloc("test", t->w.f.n_stress, sizeof(double), &t->s_known));
  fixture_complicate(&t->w, t->p_known, t->s_known, &count);
  for (int64_t c = 0; c < GRANULAR_CHUNK - 1; ++c) t->w.alpha[c] = 0.0;
  for (int b = 0; b < 2; ++b) /* so heavy that L is not theirs alone to say */
    for (int i = 0; i < 36; ++i) t->w.inverse_mass[b][i] *= 1e-4;
  t->w.gradient.max_iterations = iterations, t->w.o.tolerance = 1e-12;
  assert_ok(arena_create(1 << 16, &t->memory));
  assert_ok(granular_solver_create(&t->S, &t->w.f, &t->w.o, t->memory, &t->w.x, &t->r));
  t->r.is_finite = true, t->S.p_ref = t->w.f.pressure_scale, t->S.alpha_max = sqrt(2.0) * spec.M;
  granular_velocities(&t->S);
  granular_radii(&t->S);
  assert_ok(granular_stress_gradient.create(&t->S));
}
static void scene_destroy(scene *t)
{
  granular_stress_gradient.destroy(&t->S);
  granular_solver_destroy(&t->S);
  arena_destroy(&t->memory);
  memory_free(&t->p_known), memory_free(&t->s_known);
  fixture_destroy(&t->w);
}

static double in_norm(bool is_orthonormal, const double *a, const double *b) /* a^T N b of one cell */
{
  double sum[5];
  for (int e = 0; e < 5; ++e) sum[e] = a[e] + b[e];
  return 0.5 * (granular_norm2(is_orthonormal, sum) - granular_norm2(is_orthonormal, a) - granular_norm2(is_orthonormal, b));
}
static void project(const scene *t, double *s)
{
  for (int64_t c = 0; c < t->w.f.n_cells; ++c) {
    const double size   = sqrt(granular_norm2(t->w.f.is_orthonormal, s + 5 * c)),
                 shrink = size > t->S.radius[c] ? t->S.radius[c] / size : 1.0;
    for (int e = 0; e < 5; ++e) s[5 * c + e] *= shrink;
  }
}
static void gradient_at(scene *t, const double *s, double *g)
{
  memcpy(t->w.x.s, s, (size_t)t->w.f.n_stress * sizeof *s);
  granular_velocities(&t->S);
  granular_gradient_s(&t->S, g);
}

/* The method, step by step; returns how often L was too small. s in: initial guess, out: solution. */
static int written_out(scene *t, const double *metric, int64_t iterations, double *s)
{
  enum { OLD, Y, NEXT, G, G_NEXT, N_VECTORS };
  const int64_t n     = t->w.f.n_stress;
  const bool    ortho = t->w.f.is_orthonormal;
  double       *v[N_VECTORS], L = TOO_SMALL, momentum = 1.0, beta = 0.0, next_momentum, uphill;
  int           n_short = 0;
  for (int k = 0; k < N_VECTORS; ++k) assert_ok(memory_alloc("test", n, sizeof(double), &v[k]));
  project(t, s);
  memcpy(v[OLD], s, (size_t)n * sizeof *s);
  for (int64_t it = 0; it < iterations; ++it) {
    for (int64_t i = 0; i < n; ++i) v[Y][i] = s[i] + beta * (s[i] - v[OLD][i]);
    gradient_at(t, v[Y], v[G]);
    for (;;) {
      double size2 = 0.0, curvature = 0.0;
      uphill = 0.0;
      for (int64_t c = 0; c < n / 5; ++c) {
        double raised[5];
        granular_apply_norm_inverse(ortho, v[G] + 5 * c, raised);
        for (int e = 0; e < 5; ++e) v[NEXT][5 * c + e] = v[Y][5 * c + e] - raised[e] / (L * metric[c]);
      }
      project(t, v[NEXT]);
      gradient_at(t, v[NEXT], v[G_NEXT]);
      for (int64_t c = 0; c < n / 5; ++c) {
        double step[5], ahead[5];
        for (int e = 0; e < 5; ++e) {
          step[e] = v[NEXT][5 * c + e] - v[Y][5 * c + e], ahead[e] = v[NEXT][5 * c + e] - s[5 * c + e];
          curvature += step[e] * (v[G_NEXT][5 * c + e] - v[G][5 * c + e]);
        }
        size2 += metric[c] * in_norm(ortho, step, step);
        uphill -= metric[c] * in_norm(ortho, step, ahead);
      }
      next_momentum = 0.5 * (1.0 + sqrt(1.0 + 4.0 * momentum * momentum));
      assert_true(curvature <= size2 * (1.0 + 1e-9)); /* L = 1 is always enough */
      if (!(curvature > L * size2 * (1.0 + 1e-9)) || L >= 1.0) break;
      L = fmin(1.0, fmax(1.3 * L, curvature / size2));
      ++n_short;
    }
    beta     = uphill > 0.0 ? 0.0 : (momentum - 1.0) / next_momentum;
    momentum = uphill > 0.0 ? 1.0 : next_momentum;
    L *= 0.97;
    memcpy(v[OLD], s, (size_t)n * sizeof *s), memcpy(s, v[NEXT], (size_t)n * sizeof *s);
  }
  for (int k = 0; k < N_VECTORS; ++k) memory_free(&v[k]);
  return n_short;
}

static void the_method_is_what_it_says(void **state)
{
  static const int64_t counts[3] = {1, 2, 30};
  (void)state;
  for (int kind = 0; kind < 6; ++kind) {
    scene   t;
    double *s, *mine, undamped, most = 0.0, *u, v[12];
    scene_create(&t, kind & 1, counts[kind / 2]);
    const int64_t n = t.w.f.n_stress, n_faces = t.w.f.n_faces;
    assert_ok(memory_alloc("test", n, sizeof *s, &s));
    assert_ok(memory_alloc("test", n, sizeof *mine, &mine));
    assert_ok(memory_alloc("test", n_faces, sizeof *u, &u));
    memcpy(mine, t.w.x.s, (size_t)n * sizeof *mine);
    ((granular_gradient *)t.S.stress)->L = TOO_SMALL;
    assert_ok(granular_stress_gradient.solve(&t.S, &undamped));
    assert_int_equal(t.r.s_iterations, counts[kind / 2]);
    memcpy(s, t.w.x.s, (size_t)n * sizeof *s), memcpy(u, t.S.u, (size_t)n_faces * sizeof *u);
    memcpy(v, t.S.v, sizeof v);
    granular_velocities(&t.S); /* the velocities it leaves are those of the stress it leaves */
    for (int64_t i = 0; i < n_faces; ++i) assert_close(u[i], t.S.u[i], 1e-9);
    for (int i = 0; i < 12; ++i) assert_close(v[i], t.S.v[i], 1e-9);
    const int n_short = written_out(&t, ((granular_gradient *)t.S.stress)->metric, counts[kind / 2], mine);
    for (int64_t i = 0; i < n; ++i) most = fmax(most, fabs(s[i]));
    for (int64_t i = 0; i < n; ++i)
      if (!(fabs(s[i] - mine[i]) <= 1e-7 * most)) fail_msg("kind %d: s[%d] = %.12g, written out %.12g", kind, (int)i, s[i], mine[i]);
    assert_true(n_short > 0);
    memory_free(&s), memory_free(&mine), memory_free(&u);
    scene_destroy(&t);
  }
  assert_no_leak();
}

/* A value that is not finite ends the iteration, and is reported. */
static void values_that_are_not_finite_are_reported(void **state)
{
  scene  t;
  double undamped;
  (void)state;
  for (int kind = 0; kind < 2; ++kind) {
    scene_create(&t, kind, 30);
    t.w.x.s[7] = NAN;
    assert_ok(granular_stress_gradient.solve(&t.S, &undamped));
    assert_false(t.r.is_finite);
    assert_int_equal(t.r.s_iterations, 1);
    scene_destroy(&t);
  }
  assert_no_leak();
}

/* A wrench is the sum over all samples, however many chunks a body has. */
static void chunks_of_coupled_samples_add_up(void **state)
{
  scene t;
  (void)state;
  scene_create(&t, true, 1);
  const granular_coupling *F                         = &t.w.f.F_s;
  double                   wrench[FIXTURE_BODIES][6] = {{0}}, sum[FIXTURE_BODIES][6] = {{0}}, size[FIXTURE_BODIES][6] = {{0}};
  granular_coupled_force(&t.S.F_s, t.w.x.s, wrench);
  for (int64_t k = 0; k < F->n; ++k)
    for (int d = 0; d < 6; ++d) {
      const double part = F->wrench[k][d] * t.w.x.s[F->sample[k]];
      sum[F->body[k]][d] += part, size[F->body[k]][d] += fabs(part);
    }
  for (int b = 0; b < 2; ++b)
    for (int d = 0; d < 6; ++d) assert_close(wrench[b][d], sum[b][d], 1e-13 * size[b][d]);
  scene_destroy(&t);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(values_that_are_not_finite_are_reported), cmocka_unit_test(the_method_is_what_it_says),
          cmocka_unit_test(chunks_of_coupled_samples_add_up))
