/* Line search by parts of a scene: which parts exist, which went too far, and their step lengths. */
#include "test.h"
#include "sim/step/step_line_search.h"

enum { LONG = 8, N = 3 * LONG + 4 }; /* three strands, and four single unknowns */

/* One contact, on the first three unknowns. */
static void make(delassus **W, bool with_single)
{
  int32_t     row[4 * N], col[4 * N], h_row[3] = {0, 1, 2}, h_col[3] = {0, 1, 2};
  double      value[4 * N], one[3] = {1, 1, 1};
  const int   n = with_single ? N : 3 * LONG;
  int64_t     k = 0;
  sparse_rows M, H;
  for (int i = 0; i < n; ++i) {
    row[k] = col[k] = i, value[k++] = 2.5;
    if (i >= 3 * LONG || i % LONG == LONG - 1) continue;
    row[k] = i, col[k] = i + 1, value[k++] = -1.0;
    row[k] = i + 1, col[k] = i, value[k++] = -1.0;
  }
  assert_ok(sparse_rows_from_triplets("M", n, n, k, row, col, value, &M));
  assert_ok(sparse_rows_from_triplets("H", 3, n, 3, h_row, h_col, one, &H));
  assert_ok(delassus_create_system(&M, &H, W));
  sparse_rows_destroy(&M);
  sparse_rows_destroy(&H);
}

static void parts(void **state)
{
  (void)state;
  for (int with_single = 0; with_single < 2; ++with_single) {
    delassus        *W;
    step_line_search w;
    make(&W, with_single);
    assert_ok(step_line_search_create_parts(W, &w));
    assert_int_equal(w.n_parts, 3 + with_single);
    for (int i = 0; i < w.n; ++i) {
      assert_in_range(w.part[i], 0, w.n_parts - 1);
      for (int j = 0; j < i; ++j) {
        const int a = i < 3 * LONG ? i / LONG : 3, b = j < 3 * LONG ? j / LONG : 3;
        assert_int_equal(w.part[i] == w.part[j], a == b);
      }
    }
    step_line_search_destroy(&w);
    delassus_destroy(&W);
  }
  assert_no_leak();
}

/* Residual when every unknown of part p has moved by the share s of a direction of length 1: s - 1 + hard[p] s^3, like a spring
 * stretched sideways. */
static const double hard[4] = {0.0, 40.0, 0.1, 0.0};
static void         left_at(const step_line_search *w, const int *strand, const double *y, double *left)
{
  for (int i = 0; i < w->n; ++i) left[i] = y[i] - 1.0 + hard[strand[i]] * y[i] * y[i] * y[i];
}

static void each_for_itself(void **state)
{
  (void)state;
  delassus        *W;
  step_line_search w;
  double           start[N] = {0.0}, dy[N], y[N], left[N], scale[N];
  int              strand[N];
  make(&W, true);
  assert_ok(step_line_search_create_parts(W, &w));
  for (int i = 0; i < N; ++i) strand[i] = i < 3 * LONG ? i / LONG : 3, dy[i] = scale[i] = 1.0;
  left_at(&w, strand, start, left);
  step_line_search_start(&w, dy, left);
  for (int i = 0; i < N; ++i) y[i] = 1.0;
  left_at(&w, strand, y, left);
  assert_int_equal(step_line_search_select(&w, dy, left, scale), 1);
  int trials = 0;
  while (w.n_selected > 0 && trials < 20) {
    step_line_search_next(&w, trials++);
    step_line_search_point(&w, start, dy, y);
    for (int i = 0; i < N; ++i)
      if (strand[i] != 1) assert_true(y[i] == 1.0); /* parts that did not go too far take the full step */
    left_at(&w, strand, y, left);
    step_line_search_update(&w, dy, left);
  }
  assert_int_equal(w.n_selected, 0);
  for (int i = LONG; i < 2 * LONG; ++i) {
    assert_true(y[i] == y[LONG]);
    assert_true(fabs(y[i] - 1.0 + 40.0 * y[i] * y[i] * y[i]) <= STEP_SLOPE_FRACTION); /* the slope per unknown was -1 */
  }
  step_line_search_destroy(&w);
  delassus_destroy(&W);
  assert_no_leak();
}

/* Invalid states count as too far, and step lengths decrease until a state is valid. Parts with a small share of the residual
 * are unchanged. */
static void cannot_be(void **state)
{
  (void)state;
  delassus        *W;
  step_line_search w;
  double           start[N] = {0.0}, dy[N], y[N], left[N], scale[N];
  make(&W, true);
  assert_ok(step_line_search_create_parts(W, &w));
  for (int i = 0; i < N; ++i) dy[i] = 1.0, left[i] = -1.0, scale[i] = 1.0;
  step_line_search_start(&w, dy, left);
  for (int i = 0; i < N; ++i) left[i] = i < LONG ? 100.0 : 1.0; /* all too far, one of them by a large factor */
  assert_int_equal(step_line_search_select(&w, dy, left, scale), 1);
  for (int k = 0; k < 3; ++k) {
    step_line_search_next(&w, k);
    step_line_search_point(&w, start, dy, y);
    assert_true(y[0] > 0.0 && y[0] <= pow(0.5, k) && y[LONG] == 1.0);
    assert_int_equal(step_line_search_update(&w, dy, NULL), 1);
  }
  step_line_search_next(&w, 3);
  for (int i = 0; i < N; ++i) left[i] = 0.0;
  assert_int_equal(step_line_search_update(&w, dy, left), 0);
  step_line_search_destroy(&w);
  delassus_destroy(&W);
  assert_no_leak();
}

/* Search of one part with direction 1 and slope -1 at the start; the slopes of the full step and of the trial points are given,
 * INFINITY: invalid state. Returns the step length of the trial point after them. */
static double search_share(step_line_search *w, int n, const double *slope)
{
  const double one = 1.0, start = -1.0;
  step_line_search_start(w, &one, &start);
  assert_int_equal(step_line_search_select(w, &one, isinf(slope[0]) ? NULL : slope, NULL), 1);
  for (int k = 1; k < n; ++k) {
    step_line_search_next(w, k - 1);
    assert_int_equal(step_line_search_update(w, &one, isinf(slope[k]) ? NULL : slope + k), 1);
  }
  step_line_search_next(w, n - 1);
  return w->share[0];
}

/* Step lengths: linear interpolation of the slope, at least a tenth of the interval from both ends, every third time and after
 * invalid states the middle. */
static void step_lengths(void **state)
{
  static const struct {
    int    n;
    double slope[4], share;
  } cases[] = {
      {1, {3.0}, 0.25},                         /* -1 + 4 s = 0 */
      {1, {99.0}, 0.1},                         /* 0.01 */
      {2, {0.6, -1000.0}, 0.625 + 0.9 * 0.375}, /* [0.625, 1]: 0.99978 */
      {2, {3.0, -0.75}, 0.4},                   /* [0.25, 1], slopes -0.75 and 3 */
      {2, {3.0, 1.0}, 0.125},                   /* [0, 0.25], slopes -1 and 1 */
      {2, {1e18, -1.0}, 0.55},                  /* [0.1, 1]: interpolation gives the lower end */
      {3, {3.0, 1.0, 1.0}, 0.0625},             /* [0, 0.125], the middle */
      {3, {3.0, 1.0, -0.6}, 0.1875},            /* [0.125, 0.25], the middle */
      {4, {3.0, 1.0, 3.0, 0.6}, 0.0625 / 1.6},  /* [0, 0.0625], slopes -1 and 0.6 */
      {1, {INFINITY}, 0.5},
      {2, {INFINITY, INFINITY}, 0.25},
      {2, {3.0, INFINITY}, 0.125},       /* [0, 0.25] */
      {2, {INFINITY, -0.75}, 0.75},      /* [0.5, 1] */
      {2, {INFINITY, 0.75}, 0.5 / 1.75}, /* [0, 0.5], slopes -1 and 0.75 */
  };
  step_line_search w;
  (void)state;
  assert_ok(step_line_search_create(1, &w));
  for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k)
    assert_close(search_share(&w, cases[k].n, cases[k].slope), cases[k].share, 1e-14);
  step_line_search_destroy(&w);
  assert_no_leak();
}

/* A line search ends where the slope is within half of that at the start, of either sign. A full step that did not go far enough
 * needs none. */
static void end_of_a_search(void **state)
{
  static const double one = 1.0, start = -1.0, full = 3.0, end[] = {-0.51, -0.49, 0.49, 0.51};
  step_line_search    w;
  (void)state;
  assert_ok(step_line_search_create(1, &w));
  step_line_search_start(&w, &one, &start);
  for (int k = 0; k < 4; ++k) {
    assert_int_equal(step_line_search_select(&w, &one, &end[k], NULL), k == 3);
    assert_int_equal(step_line_search_select(&w, &one, &full, NULL), 1);
    step_line_search_next(&w, 0);
    assert_int_equal(step_line_search_update(&w, &one, &end[k]), k == 0 || k == 3);
  }
  step_line_search_destroy(&w);
  assert_no_leak();
}

/* The residual of a part counts in units of its scale. */
static void residuals_are_scaled(void **state)
{
  (void)state;
  delassus        *W;
  step_line_search w;
  double           dy[N], left[N], scale[N];
  make(&W, false);
  assert_ok(step_line_search_create_parts(W, &w));
  for (int i = 0; i < w.n; ++i) dy[i] = 1.0, left[i] = -1.0, scale[i] = i < LONG ? 1.0 : 0.001;
  step_line_search_start(&w, dy, left);
  for (int i = 0; i < w.n; ++i) left[i] = i < LONG ? 1.0 : 100.0; /* scaled: 1 and 0.1 */
  assert_int_equal(step_line_search_select(&w, dy, left, scale), 1);
  assert_true(w.is_selected[w.part[0]]);
  step_line_search_destroy(&w);
  delassus_destroy(&W);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(parts), cmocka_unit_test(each_for_itself), cmocka_unit_test(cannot_be), cmocka_unit_test(step_lengths),
          cmocka_unit_test(end_of_a_search), cmocka_unit_test(residuals_are_scaled))
