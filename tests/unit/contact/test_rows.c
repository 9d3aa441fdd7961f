/* Rows of blocks and sums over rigid bodies against dense loops; same bits on any number of threads. */
#include "test.h"
#include "contact/rows/rows.h"
#include "contact_bodies.h"
#include <float.h>
#include <omp.h>

enum { N_PAIRS = 900, N_WEIGHTS = 7, N_CLOUD = 60, FIRST = 5, N_BLOCKS = FIRST + N_CLOUD + 9 };

typedef struct {
  mock_body         cloud, box;
  contact_source    sources[2];
  contact_candidate candidate[N_PAIRS];
} scene;

/* Pairs of the cloud, with every third a pair of the box. */
static void scene_create(scene *s)
{
  uint64_t state = 9;
  memset(s, 0, sizeof *s);
  mock_create(&s->cloud, "cloud", false, N_PAIRS, N_WEIGHTS, N_CLOUD);
  mock_create(&s->box, "box", true, N_PAIRS, 0, 2);
  mock_random_rows(&s->cloud, &state);
  s->cloud.base.first_block = FIRST;
  s->sources[0]             = (contact_source){&s->cloud.base, -1, 0};
  s->sources[1]             = (contact_source){&s->box.base, 1, 1};
  for (int i = 0; i < N_PAIRS; ++i) {
    s->candidate[i].i_source = i % 3 == 2;
    s->candidate[i].i_object = i % 2;
    s->candidate[i].i_point  = (i * 77) % N_PAIRS;
  }
}
static void scene_destroy(scene *s)
{
  mock_destroy(&s->cloud);
  mock_destroy(&s->box);
}

static void rows_equal_dense(void **unused)
{
  (void)unused;
  scene         s;
  contact_rows *r;
  uint64_t      state = 4;
  scene_create(&s);
  static double  v[3 * N_BLOCKS], out[3 * N_PAIRS], y[3 * N_BLOCKS], z[3 * N_BLOCKS], m[9 * N_PAIRS], d[9 * N_BLOCKS], e[9 * N_BLOCKS];
  static uint8_t wanted[N_PAIRS];
  for (int i = 0; i < 3 * N_BLOCKS; ++i) v[i] = mock_random(&state, -1.0, 1.0), y[i] = z[i] = 0.25 * i;
  for (int i = 0; i < 9 * N_PAIRS; ++i) m[i] = mock_random(&state, -1.0, 1.0);
  for (int i = 0; i < N_PAIRS; ++i) wanted[i] = i % 5 != 0;
  for (int i = 0; i < 9 * N_BLOCKS; ++i) d[i] = e[i] = 0.5 * i;
  assert_ok(contact_rows_create(&r));
  for (int round = 0; round < 2; ++round) { /* once more on the same arrays */
    assert_ok(contact_rows_build(r, round ? N_PAIRS : 30, s.candidate, s.sources, N_BLOCKS));
    if (round == 0) assert_int_equal(contact_rows_n_entries(r), 20 * N_WEIGHTS);
  }
  assert_int_equal(contact_rows_get(r).n_touched, N_CLOUD);
  for (int i = 0; i < 3 * N_PAIRS; ++i) out[i] = 99.0;
  contact_rows_gather(r, 0.5, v, wanted, out);
  for (int i = 0; i < N_PAIRS; ++i)
    for (int k = 0; k < 3; ++k) {
      double sum = 0.0;
      for (int j = 0; j < N_WEIGHTS && i % 3 != 2; ++j) {
        const int64_t at = s.candidate[i].i_point * N_WEIGHTS + j;
        const double  w  = s.cloud.weight[at];
        const int64_t b  = FIRST + s.cloud.block[at];
        sum += 0.5 * w * v[3 * b + k];
        z[3 * b + k] += 2.0 * w * m[3 * i + k];
        for (int c = 0; c < 3; ++c) e[9 * b + 3 * k + c] += 3.0 * w * w * m[9 * i + 3 * k + c];
      }
      assert_close(out[3 * i + k], i % 5 ? sum : 99.0, 8.0 * DBL_EPSILON);
    }
  contact_rows_scatter(r, 2.0, m, y);
  contact_rows_scatter_squares(r, 3.0, m, d);
  for (int i = 0; i < 3 * N_BLOCKS; ++i) assert_close(y[i], z[i], 1e-13 * (1.0 + fabs(z[i])));
  for (int i = 0; i < 9 * N_BLOCKS; ++i) assert_close(d[i], e[i], 1e-13 * (1.0 + fabs(e[i])));
  contact_rows_destroy(&r);
  scene_destroy(&s);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(rows_equal_dense))
