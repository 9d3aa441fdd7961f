/* The search against the obvious double loop, and its order. */
#include "test.h"
#include "contact/detection/contact_search.h"
#include "contact_bodies.h"
#include <omp.h>

enum { N_POINTS = 700, N_BODIES = 4 };

typedef struct {
  mock_body      cloud, box;
  level_set     *phi[3];
  contact_source sources[2];
  contact_object objects[3];
  int32_t        key[3];
  rigid_frame    frames[2];
  bool           may_touch[N_BODIES * N_BODIES];
  search_problem problem;
} scene;

static void scene_create(scene *s)
{
  uint64_t state = 3;
  double   J[9];
  memset(s, 0, sizeof *s);
  mock_create(&s->cloud, "cloud", false, N_POINTS, 1, N_POINTS);
  mock_create(&s->box, "box", true, N_POINTS / 2, 0, 2);
  for (int64_t i = 0; i < N_POINTS; ++i) { /* along a line, so that clusters are small against the scene */
    v3_set(s->cloud.x + 3 * i, -3.0 + 6.0 * (double)i / N_POINTS, mock_random(&state, -0.2, 0.2), mock_random(&state, -0.1, 0.3));
    if (i < N_POINTS / 2) mock_random_vector(&state, s->box.x + 3 * i, 2.0);
  }
  assert_ok(level_set_sphere((double[3]){0.5, 0.0, 0.0}, 0.7, &s->phi[0]));
  assert_ok(level_set_plane((double[3]){0.0, 0.0, 1.0}, 0.0, &s->phi[1]));
  assert_ok(level_set_box((double[3]){-2.0, -1.0, -1.0}, (double[3]){-1.0, 1.0, 0.1}, &s->phi[2]));
  s->frames[0] = mock_frame((double[3]){0.1, 0.2, 0.3}, -1);
  mock_exponential((double[3]){0.2, 0.1, -0.3}, s->frames[0].R, J);
  s->frames[1]  = mock_frame((double[3]){0.0, 0.0, 0.0}, -1);
  s->sources[0] = (contact_source){&s->cloud.base, -1, 2}; /* not in order of body number */
  s->sources[1] = (contact_source){&s->box.base, 0, 1};
  s->objects[0] = (contact_object){s->phi[0], 0, 1};
  s->objects[1] = (contact_object){s->phi[1], 1, 0};
  s->objects[2] = (contact_object){s->phi[2], 1, 3};
  for (int j = 0; j < 3; ++j) s->key[j] = s->objects[j].body_id;
  for (int i = 0; i < N_BODIES * N_BODIES; ++i) s->may_touch[i] = true;
  s->may_touch[N_BODIES * 1 + 3] = s->may_touch[N_BODIES * 3 + 1] = false;
  s->problem = (search_problem){2, 3, 2, N_BODIES, s->sources, s->objects, s->key, s->frames, s->may_touch, 0.15, NULL, NULL, NULL};
}

static void scene_destroy(scene *s)
{
  mock_destroy(&s->cloud);
  mock_destroy(&s->box);
  for (int j = 0; j < 3; ++j) level_set_destroy(&s->phi[j]);
}

static double distance(const scene *s, int object, const double *x)
{
  const rigid_frame *f = &s->frames[s->objects[object].frame];
  double             d[3], b[3];
  v3_sub(d, x, f->c);
  m3_mulv_t(b, f->R, d);
  return level_set_value(s->phi[object], b);
}

static void equals_double_loop(void **unused)
{
  (void)unused;
  scene              s;
  contact_search    *search;
  pair_table        *known;
  contact_candidate *found;
  int64_t            n, expected = 0, near[2][3] = {{0}};
  scene_create(&s);
  assert_ok(contact_search_create(&search));
  assert_ok(pair_table_create(&known));
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j) {
      const mock_body *b = i ? &s.box : &s.cloud;
      if (i == 1 && j != 1) continue; /* its own level set; a pair without stiffness */
      for (int64_t p = 0; p < b->n; ++p) near[i][j] += distance(&s, j, b->x + 3 * p) <= 0.15;
      assert_true(near[i][j] > 20);
      expected += near[i][j];
    }
  for (int threads = 1; threads <= 3; ++threads) {
    omp_set_num_threads(threads);
    assert_ok(contact_search_run(search, &s.problem, known, &n, &found));
    assert_int_equal(n, expected);
    for (int64_t i = 0; i < n; ++i) {
      const mock_body *b = found[i].i_source ? &s.box : &s.cloud;
      assert_true(distance(&s, found[i].i_object, found[i].x) <= 0.15);
      assert_memory_equal(found[i].x, b->x + 3 * found[i].i_point, 3 * sizeof(double));
      assert_int_equal(found[i].key.point, b->id[found[i].i_point]);
      assert_int_equal(found[i].attachment, -1);
      if (i > 0) assert_true(pair_key_compare(&found[i - 1].key, &found[i].key) < 0);
    }
  }
  assert_int_equal(found[0].i_source, 1); /* body 1 before body 2 */
  omp_set_num_threads(2);
  contact_search_destroy(&search);
  pair_table_destroy(&known);
  scene_destroy(&s);
  assert_no_leak();
}

/* Bodies with one point and without points. */
static void single_points_are_found(void **unused)
{
  (void)unused;
  scene              s;
  contact_search    *search;
  pair_table        *known;
  contact_candidate *found;
  int64_t            n;
  scene_create(&s);
  s.cloud.n = 1, s.box.n = 0;
  v3_set(s.cloud.x, -2.9, 0.0, 0.01);
  assert_ok(contact_search_create(&search));
  assert_ok(pair_table_create(&known));
  assert_ok(contact_search_run(search, &s.problem, known, &n, &found));
  assert_int_equal(n, 1); /* with the plane */
  assert_true(found[0].i_source == 0 && found[0].i_object == 1);
  contact_search_destroy(&search);
  pair_table_destroy(&known);
  scene_destroy(&s);
  assert_no_leak();
}

static void known_pairs_stay(void **unused)
{
  (void)unused;
  scene              s;
  contact_search    *search;
  pair_table        *known;
  contact_candidate *found;
  int64_t            n, without;
  int                seen[3] = {0};
  /* Near the plane; far from the box; a point that does not exist any more; a pair without stiffness. */
  const pair_key key[4] = {{2, 0, 1000 - 40}, {2, 3, 1000 - 690}, {2, 0, 123456}, {1, 3, 1000}};
  const double   X[12]  = {1.0, 0.0, 0.0, 2.0, 0.0, 0.0, 3.0, 0.0, 0.0, 4.0, 0.0, 0.0};
  scene_create(&s);
  assert_true(distance(&s, 2, s.cloud.x + 3 * 690) > 1.0);
  v3_set(s.cloud.x + 3 * 40, -2.9, 0.0, 0.01);
  assert_ok(contact_search_create(&search));
  assert_ok(pair_table_create(&known));
  assert_ok(contact_search_run(search, &s.problem, known, &without, &found));
  assert_ok(pair_table_replace(known, 4, key, X, (const double[4]){0.0}));
  assert_ok(contact_search_run(search, &s.problem, known, &n, &found));
  assert_int_equal(n, without + 1);
  for (int64_t i = 0; i < n; ++i) {
    if (i > 0) assert_true(pair_key_compare(&found[i - 1].key, &found[i].key) < 0);
    if (found[i].attachment >= 0) ++seen[(int)pair_table_attachment(known, found[i].attachment)[0] - 1];
  }
  assert_true(seen[0] == 1 && seen[1] == 1 && seen[2] == 0);
  contact_search_destroy(&search);
  pair_table_destroy(&known);
  scene_destroy(&s);
  assert_no_leak();
}

/* Many bodies that are sources and objects, half-spaces, pairs without contact, and margins by displacements, against a loop over everything. */
static void many_bodies(void **unused)
{
  enum { N = 60, POINTS = 40 };
  static mock_body      b[N];
  static level_set     *phi[N];
  static contact_source source[N];
  static contact_object object[N];
  static rigid_frame    frame[N];
  static int32_t        key[N], class_of[N];
  static double         source_reach[N], object_reach[N];
  contact_search       *search;
  contact_candidate    *found;
  pair_classes         *pairs;
  uint64_t              state       = 11;
  const int32_t         exception[] = {5, 6, 20, 41};
  (void)unused;
  for (int i = 0; i < N; ++i) {
    double center[3], w[3], J[9];
    mock_random_vector(&state, center, 1.0);
    mock_random_vector(&state, w, 3.0);
    frame[i] = mock_frame(center, -1);
    mock_exponential(w, frame[i].R, J);
    mock_create(&b[i], "b", true, POINTS, 0, (uint64_t)i);
    for (int p = 0; p < POINTS; ++p)
      for (int k = 0; k < 3; ++k) b[i].x[3 * p + k] = center[k] + mock_random(&state, -0.15, 0.15);
    if (i < 2) assert_ok(level_set_plane((double[3]){0.0, 0.0, 1.0}, 0.0, &phi[i]));
    else assert_ok(level_set_box((double[3]){-0.1, -0.2, -0.05}, (double[3]){0.1, 0.1, 0.05}, &phi[i]));
    source[i]         = (contact_source){&b[i].base, i, i};
    object[N - 1 - i] = (contact_object){phi[i], i, i};
    class_of[i]       = i % 3;
    source_reach[i] = mock_random(&state, 0.0, 0.1), object_reach[i] = mock_random(&state, 0.0, 0.1);
  }
  assert_ok(pair_classes_create(N, 3, class_of, NULL, 2, exception, &pairs));
  assert_ok(contact_search_number(N, N, object, key));
  assert_ok(contact_search_create(&search));
  bool *may_touch;
  assert_ok(memory_alloc("may touch", pairs->n_slots, sizeof *may_touch, &may_touch));
  for (int64_t k = 0; k < pairs->n_slots; ++k) may_touch[k] = k % 4 != 1;
  for (int is_fast = 0; is_fast < 2; ++is_fast) {
    const search_problem problem = {
        N, N, N, N, source, object, key, frame, may_touch, 0.05, is_fast ? source_reach : NULL, is_fast ? object_reach : NULL, pairs};
    for (int threads = 1; threads <= 3; ++threads) {
      int64_t n, at = 0, n_expected = 0;
      omp_set_num_threads(threads);
      assert_ok(contact_search_run(search, &problem, NULL, &n, &found));
      for (int i = 0; i < N; ++i)
        for (int j = N - 1; j >= 0; --j) { /* bodies in ascending order */
          const int    other  = object[j].body_id;
          const double margin = is_fast ? fmax(0.05, source_reach[i] + object_reach[j]) : 0.05;
          if (i == other || !may_touch[pair_slot(pairs, N, i, other)]) continue;
          for (int p = 0; p < POINTS; ++p) {
            double x_b[3];
            rigid_frame_to_local(&frame[other], b[i].x + 3 * p, x_b);
            if (level_set_value(phi[other], x_b) > margin) continue;
            ++n_expected;
          }
        }
      assert_true(n_expected > 500);
      assert_int_equal(n, n_expected);
      for (; at < n; ++at) {
        double    x_b[3];
        const int other = object[found[at].i_object].body_id;
        rigid_frame_to_local(&frame[other], found[at].x, x_b);
        assert_true(level_set_value(phi[other], x_b) <= (is_fast ? 0.2 : 0.05));
        assert_int_equal(found[at].key.object, other);
        if (at > 0) assert_true(pair_key_compare(&found[at - 1].key, &found[at].key) < 0);
      }
    }
  }
  omp_set_num_threads(2);
  memory_free(&may_touch);
  pair_classes_destroy(&pairs);
  contact_search_destroy(&search);
  for (int i = 0; i < N; ++i) mock_destroy(&b[i]), level_set_destroy(&phi[i]);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(many_bodies), cmocka_unit_test(equals_double_loop), cmocka_unit_test(single_points_are_found),
          cmocka_unit_test(known_pairs_stay))
