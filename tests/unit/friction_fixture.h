/* Random one-step problems of contact: bodies with dense, banded or diagonal mass, contacts between them or with the ground. */
#ifndef SS_TESTS_FRICTION_FIXTURE_H
#define SS_TESTS_FRICTION_FIXTURE_H
#include "core/random.h"
#include "optim/friction/friction.h"
#include "test.h"

typedef struct {
  int64_t     n_bodies, body_size, width, n; /* width: half bandwidth of each body's mass; n contacts */
  sparse_rows M, H;
  double     *q, *mu;
} contact_scene;

static inline double scene_random(uint64_t seed, uint64_t stream, uint64_t id) { return random_range(seed, id, stream, -1.0, 1.0); }

/* Mass: 1 on the diagonal plus small symmetric couplings within `width`, so that it dominates. Contact a joins body a mod n_bodies and a random
 * other one, or none (ground); normal velocities tend to close. */
static inline void scene_create(uint64_t seed, int64_t n_bodies, int64_t body_size, int64_t width, int64_t n, double friction,
                                contact_scene *s)
{
  const int64_t n_dof = n_bodies * body_size, most = n_dof * (2 * width + 1), per_row = 2 * (body_size < 6 ? body_size : 6);
  int32_t      *row, *col;
  double       *value;
  int64_t       k    = 0;
  *s                 = (contact_scene){.n_bodies = n_bodies, .body_size = body_size, .width = width, .n = n};
  const int64_t room = most > 3 * n * per_row ? most : 3 * n * per_row;
  assert_ok(memory_alloc("rows", room, sizeof *row, &row));
  assert_ok(memory_alloc("columns", room, sizeof *col, &col));
  assert_ok(memory_alloc("values", room, sizeof *value, &value));
  for (int64_t i = 0; i < n_dof; ++i)
    for (int64_t j = i - width; j <= i + width; ++j) {
      if (j < 0 || j >= n_dof || i / body_size != j / body_size) continue;
      const int64_t low = i < j ? i : j, apart = i < j ? j - i : i - j;
      row[k] = (int32_t)i, col[k] = (int32_t)j;
      value[k++] = i == j ? 1.5 + 0.5 * scene_random(seed, 1, (uint64_t)i)
                          : 0.4 / (double)width * scene_random(seed, 2, (uint64_t)(low * (width + 1) + apart));
    }
  assert_ok(sparse_rows_from_triplets("mass", n_dof, n_dof, k, row, col, value, &s->M));
  k = 0;
  for (int64_t a = 0; a < n; ++a) {
    const int64_t one = a % n_bodies, two = (int64_t)random_index(seed, (uint64_t)a, 3, (uint64_t)n_bodies + 1);
    for (int side = 0; side < 2; ++side) {
      const int64_t body = side ? two : one;
      if (body == n_bodies || (side && two == one)) continue;
      const int64_t size = body_size < 6 ? body_size : 6,
                    from = body * body_size + (int64_t)random_index(seed, (uint64_t)(2 * a + side), 4, (uint64_t)(body_size - size + 1));
      for (int i = 0; i < 3; ++i)
        for (int64_t j = 0; j < size; ++j) {
          row[k] = (int32_t)(3 * a + i), col[k] = (int32_t)(from + j);
          value[k] = scene_random(seed, 5, (uint64_t)k);
          ++k;
        }
    }
  }
  assert_ok(sparse_rows_from_triplets("Jacobian", 3 * n, n_dof, k, row, col, value, &s->H));
  memory_free(&row), memory_free(&col), memory_free(&value);
  assert_ok(memory_alloc("free velocities", 3 * n, sizeof *s->q, &s->q));
  assert_ok(memory_alloc("friction coefficients", n, sizeof *s->mu, &s->mu));
  double *v;
  assert_ok(memory_alloc("free motion", n_dof, sizeof *v, &v)); /* q = H v: contacts can be opened, so there is a solution */
  for (int64_t i = 0; i < n_dof; ++i) v[i] = scene_random(seed, 6, (uint64_t)i);
  sparse_rows_apply(&s->H, v, s->q);
  for (int64_t a = 0; a < n; ++a) s->mu[a] = friction;
  memory_free(&v);
}

static inline void scene_destroy(contact_scene *s)
{
  sparse_rows_destroy(&s->M), sparse_rows_destroy(&s->H);
  memory_free(&s->q), memory_free(&s->mu);
}

/* The default options, in a document that the caller destroys. */
static inline friction_options scene_options(document **owner)
{
  const friction_options *o;
  assert_ok(document_create(owner));
  assert_ok(friction_options_defaults(*owner, &o));
  friction_options own = *o;
  own.tolerance        = friction_tolerance(o);
  return own;
}
#endif
