#include "box_fixture.h"
#include "optim/bounds/bounds_face.h"
#include "optim/bounds/bounds_levels.h"
#include "optim/bounds/bounds_sweeps.h"

/* A ball in a periodic box of odd length: neighbours of one colour, cells without a partner in their aggregate. */
static bool in_ball(int i, int j, int k) { return (i - 5) * (i - 5) + (j - 6) * (j - 6) + (k - 8) * (k - 8) < 40 || k < 3; }

typedef struct {
  grid_matrix a;
  bounds_qp   q;
  uint8_t    *is_free;
  double     *x, *y, *mx, *my;
} face_case;

static void open_case(face_case *s, int which)
{
  if (which == 0) lattice_fill(19, 17, 21, 0, true, true, NULL, &s->a);
  else if (which == 1) lattice_fill(11, 13, 15, 7, true, true, in_ball, &s->a);
  else lattice_fill(16, 16, 16, 3, false, false, NULL, &s->a); /* singular when all are free */
  s->q = (bounds_qp){.n = s->a.n, .diagonal = s->a.diagonal, .apply = grid_matrix_apply, .context = &s->a, .grid = &s->a};
  double **const vectors[] = {&s->x, &s->y, &s->mx, &s->my};
  for (int k = 0; k < 4; ++k) assert_ok(memory_alloc("test", s->a.n, sizeof(double), vectors[k]));
  assert_ok(memory_alloc("test", s->a.n, 1, &s->is_free));
  for (int64_t i = 0; i < s->a.n; ++i) {
    s->is_free[i] = random_range(1, (uint64_t)i, 0, 0, 1) < (which == 2 ? 2.0 : 0.8);
    s->x[i]       = s->is_free[i] ? random_range(2, (uint64_t)i, 0, -1, 1) : 0.0;
    s->y[i]       = s->is_free[i] ? random_range(3, (uint64_t)i, 0, -1, 1) : 0.0;
  }
}

static void close_case(face_case *s)
{
  grid_matrix_destroy(&s->a);
  memory_free(&s->x), memory_free(&s->y), memory_free(&s->mx), memory_free(&s->my), memory_free(&s->is_free);
}

/* y.(M x) = x.(M y), x.(M x) > 0, zero outside, the same bits on 1, 2, 3 threads. Multigrid works in single precision: adjoint to
 * some 1e-6 of |x||My|, the others to rounding in double. */
static void symmetric_positive_and_bits(void **state)
{
  (void)state;
  for (int which = 0; which < 3; ++which)
    for (int kind = 0; kind < BOUNDS_N_PRECONDITIONERS; ++kind) {
      face_case s;
      double   *first;
      open_case(&s, which);
      assert_ok(memory_alloc("test", s.a.n, sizeof(double), &first));
      for (int threads = 1; threads <= 3; ++threads) {
        bounds_face *f = NULL;
        team_set_threads(threads);
        assert_ok(bounds_face_create(&s.q, kind, &f));
        bounds_face_update(f, s.is_free);
        bounds_face_apply(f, s.x, s.mx);
        bounds_face_apply(f, s.y, s.my);
        if (threads == 1) memcpy(first, s.mx, (size_t)s.a.n * sizeof *first);
        assert_int_equal(memcmp(first, s.mx, (size_t)s.a.n * sizeof *first), 0);
        const double scale = sqrt(team_dot(s.a.n, s.x, s.x) * team_dot(s.a.n, s.my, s.my));
        assert_close(team_dot(s.a.n, s.y, s.mx) / scale, team_dot(s.a.n, s.x, s.my) / scale,
                     kind == BOUNDS_PRECONDITIONER_MULTIGRID ? 2e-6 : 1e-13);
        assert_true(team_dot(s.a.n, s.x, s.mx) > 0.0);
        for (int64_t i = 0; i < s.a.n; ++i) assert_true(s.is_free[i] || s.mx[i] == 0.0);
        bounds_face_destroy(&f);
      }
      memory_free(&first);
      close_case(&s);
    }
  team_set_threads(0);
  assert_no_leak();
}

/* (E + L) E^-1 (E + L^T) z = r, to the single precision of what sweeps read; with neighbours by their sides, and where a periodic
 * border gives a cell more than three on one. */
static void sweeps_invert_their_factors(void **state)
{
  (void)state;
  for (int which = 0; which < 2; ++which) {
    face_case      s;
    bounds_sweeps *w = NULL;
    open_case(&s, which);
    assert_ok(bounds_sweeps_create(&s.a, &w));
    assert_int_equal(w->to[1] != NULL, which == 0);
    bounds_sweeps_mic(w, &s.a, s.is_free);
    bounds_sweeps_apply(w, &s.a, s.x, s.mx);
    for (int pass = 0; pass < 2; ++pass) /* mx -> my = E^-1 (E + L^T) mx -> mx = (E + L) my */
      for (int64_t i = 0; i < s.a.n; ++i) {
        const double e = w->inverse[i] > 0.0 ? w->unit / w->inverse[i] : 0.0, *from = pass ? s.my : s.mx;
        double       sum = e * from[i];
        for (int k = 0; k < 6; ++k) {
          const int32_t j = s.a.neighbor[i][k];
          if (j >= 0 && s.is_free[i] && (pass ? j < i : j > i)) sum += s.a.off[i][k] * from[j];
        }
        if (pass) s.mx[i] = sum;
        else s.my[i] = e > 0.0 ? sum / e : 0.0;
      }
    for (int64_t i = 0; i < s.a.n; ++i) assert_close(s.mx[i], s.x[i], which == 0 ? 1e-5 : 1e-12);
    bounds_sweeps_destroy(&w);
    close_case(&s);
  }
  assert_no_leak();
}

/* An updated face does not depend on the previous one: its results are those of a newly created face. */
static void an_update_forgets(void **state)
{
  (void)state;
  for (int kind = 0; kind < BOUNDS_N_PRECONDITIONERS; ++kind) {
    face_case    s;
    bounds_face *f = NULL, *fresh = NULL;
    open_case(&s, 0);
    assert_ok(bounds_face_create(&s.q, kind, &f));
    bounds_face_update(f, s.is_free);
    bounds_face_apply(f, s.x, s.mx);
    for (int64_t i = 5; i < s.a.n; i += s.a.n / 3) s.is_free[i] ^= 1; /* few: most of the coarse cells stay as they are */
    for (int64_t i = 0; i < s.a.n; ++i) s.x[i] = s.is_free[i] ? cos((double)i) : 0.0;
    bounds_face_update(f, s.is_free);
    bounds_face_apply(f, s.x, s.mx);
    bounds_face_destroy(&f);
    bounds_levels_destroy(&s.a.levels); /* which faces of one matrix share */
    assert_ok(bounds_face_create(&s.q, kind, &fresh));
    bounds_face_update(fresh, s.is_free);
    bounds_face_apply(fresh, s.x, s.my);
    assert_int_equal(memcmp(s.mx, s.my, (size_t)s.a.n * sizeof *s.mx), 0);
    bounds_face_destroy(&fresh);
    close_case(&s);
  }
  assert_no_leak();
}

/* Conjugate gradients to 1e-6 on cubes of 12, 24 and 48 cells an edge: with multigrid about as many steps on each, with the
 * diagonal alone twice as many each time. */
static void multigrid_takes_as_many_steps_on_all_sizes(void **state)
{
  int64_t steps[3][2];
  (void)state;
  for (int level = 0, n = 12; level < 3; ++level, n *= 2)
    for (int which = 0; which < 2; ++which) {
      grid_matrix   a;
      double       *x, *b;
      bounds_result r = {0};
      lattice_fill(n, n, n, 0, true, false, NULL, &a);
      const bounds_options o = box_defaults(BOUNDS_METHOD_CG, which ? BOUNDS_PRECONDITIONER_JACOBI : BOUNDS_PRECONDITIONER_MULTIGRID, 1e-6);
      assert_ok(memory_alloc("test", a.n, sizeof *x, &x));
      assert_ok(memory_alloc("test", a.n, sizeof *b, &b));
      for (int64_t i = 0; i < a.n; ++i) b[i] = random_range(2, (uint64_t)i, 0, 0, 1);
      const bounds_qp q = {.n = a.n, .apply = grid_matrix_apply, .context = &a, .diagonal = a.diagonal, .b = b, .grid = &a};
      assert_ok(bounds_solve(&q, &o, x, &r));
      assert_int_equal(r.status, BOUNDS_OK);
      steps[level][which] = r.iterations;
      grid_matrix_destroy(&a);
      memory_free(&x), memory_free(&b);
    }
  assert_true(steps[0][0] <= 10 && steps[2][0] <= steps[0][0] + 3);
  assert_true(steps[1][1] > 3 * steps[0][1] / 2 && steps[2][1] > 3 * steps[1][1] / 2);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(symmetric_positive_and_bits), cmocka_unit_test(sweeps_invert_their_factors), cmocka_unit_test(an_update_forgets),
          cmocka_unit_test(multigrid_takes_as_many_steps_on_all_sizes))
