/* Common parts of tests of whole penalty steps: the equations of a job's scene, and their tangent against finite differences. */
#ifndef SS_TESTS_PENALTY_FIXTURE_H
#define SS_TESTS_PENALTY_FIXTURE_H
#include "test.h"
#include <stdio.h>
#include <string.h>
#include "contact/penalty/penalty_mesh.h"
#include "app/job/job.h"
#include "contact/penalty/penalty_pairs.h"
#include "core/math3.h"
#include "core/random.h"
#include "core/team.h"
#include "optim/linear/mat_block3.h"
#include "optim/optim.h"
#include "sim/formulations.h"
#include "sim/penalty/penalty_system.h"

static const double DT = 2.0e-3;

typedef struct {
  diagnostics   *d;
  job           *j;
  scene         *s;
  penalty_system p;
  int64_t        n; /* numbers in the global vector */
  double        *z, *g;
} world;

static inline double *numbers(int64_t n)
{
  double *x;
  assert_ok(memory_alloc("test", n, sizeof *x, &x));
  return x;
}

static inline double *random_numbers(int64_t n, uint64_t stream, double scale)
{
  double *x = numbers(n);
  for (int64_t i = 0; i < n; ++i) x[i] = random_range(7, (uint64_t)i, stream, -scale, scale);
  return x;
}

/* z so that v = v0 + shift + noise for every node and linear block; angular blocks get the noise alone. */
static inline void set_velocity(world *w, const double shift[3], double noise, uint64_t stream)
{
  w->n = 3 * w->p.layout.n_blocks;
  memory_free(&w->z);
  memory_free(&w->g);
  w->z = random_numbers(w->n, stream, noise);
  w->g = numbers(w->n);
  for (int k = 0; k < w->s->n_systems; ++k) {
    const body *b        = w->s->systems[k];
    const bool  is_rigid = b->ops->points == POINT_RIGID;
    for (int64_t i = 0; i < (is_rigid ? 1 : b->n_blocks); ++i)
      for (int c = 0; c < 3; ++c) w->z[3 * (b->first_block + i) + c] += shift[c];
  }
}

/* The scene of a job, before its first step. */
static inline void read_world(const char *text, world *w)
{
  memset(w, 0, sizeof *w);
  assert_ok(diagnostics_create(&w->d));
  assert_ok(job_read_text("job", text, 0, NULL, w->d, &w->j));
  if (w->j) assert_ok(scene_create(PETSC_COMM_SELF, &w->j->scene, w->d, &w->s));
  if (diagnostics_count(w->d)) fail_msg("%s", diagnostics_text(w->d, 0));
  assert_ok(penalty_system_create(w->s, &w->p));
  penalty_system_want_single(&w->p);
}

static inline void begin(world *w, double t)
{
  step_status status = {STEP_OK, NULL, -1};
  assert_ok(step_layout_begin(&w->p.layout, t, DT, &status));
  assert_ok(penalty_system_begin(&w->p));
  assert_int_equal(status.code, STEP_OK);
}

static inline void evaluate(world *w, const double *z, double *g, bool with_tangent)
{
  assert_ok(penalty_system_evaluate(&w->p, z, g, with_tangent));
  assert_int_equal(w->p.status.code, STEP_OK);
}

/* Of all it knows; the end of most tests. */
static inline void close_world(world *w)
{
  memory_free(&w->z);
  memory_free(&w->g);
  penalty_system_destroy(&w->p);
  scene_destroy(&w->s);
  job_destroy(&w->j);
  diagnostics_destroy(&w->d);
}

static inline double norm(int64_t n, const double *x) { return sqrt(team_dot(n, x, x)); }

/* |H x - (g(z + e x) - g(z - e x)) / 2e| / |H x|, for x on all systems (only < 0) or one of them. */
static inline double slope_error(world *w, double e, int only)
{
  double *x = random_numbers(w->n, 3, 1.0), *y = numbers(w->n), *plus = numbers(w->n), *minus = numbers(w->n), *z = numbers(w->n);
  for (int k = 0; k < w->s->n_systems && only >= 0; ++k) {
    const body *b = w->s->systems[k];
    if (k != only) memset(x + 3 * b->first_block, 0, (size_t)(3 * b->n_blocks) * sizeof *x);
  }
  evaluate(w, w->z, w->g, true);
  assert_ok(penalty_system_product(&w->p, x, y, false));
  for (int64_t i = 0; i < w->n; ++i) z[i] = w->z[i] + e * x[i];
  evaluate(w, z, plus, false);
  for (int64_t i = 0; i < w->n; ++i) z[i] = w->z[i] - e * x[i];
  evaluate(w, z, minus, false);
  for (int64_t i = 0; i < w->n; ++i) plus[i] = (plus[i] - minus[i]) / (2.0 * e) - y[i];
  const double error = norm(w->n, plus) / norm(w->n, y);
  memory_free(&x);
  memory_free(&y);
  memory_free(&plus);
  memory_free(&minus);
  memory_free(&z);
  return error;
}

/* v.(H x) = (H^T v).x, and the blocks of the diagonal against columns of H, every `stride`th. At the last evaluation with derivatives. */
static inline void check_adjoint(world *w, int64_t stride)
{
  double *x = random_numbers(w->n, 4, 1.0), *y = random_numbers(w->n, 5, 1.0), *Hx = numbers(w->n), *Hty = numbers(w->n),
         *d = numbers(3 * w->n);
  assert_ok(penalty_system_product(&w->p, x, Hx, false));
  assert_ok(penalty_system_product(&w->p, y, Hty, true));
  assert_close(team_dot(w->n, y, Hx), team_dot(w->n, x, Hty), 1.0e-13 * norm(w->n, y) * norm(w->n, Hx));
  assert_ok(penalty_system_block_diagonal(&w->p, d));
  const double scale = norm(w->n, Hx) / norm(w->n, x);
  for (int64_t i = 0; i < w->n; i += stride) {
    memset(x, 0, (size_t)w->n * sizeof *x);
    x[i] = 1.0;
    assert_ok(penalty_system_product(&w->p, x, Hx, false));
    for (int k = 0; k < 3; ++k) assert_close(d[9 * (i / 3) + 3 * k + i % 3], Hx[3 * (i / 3) + k], 1.0e-12 * scale);
  }
  memory_free(&x);
  memory_free(&y);
  memory_free(&Hx);
  memory_free(&Hty);
  memory_free(&d);
}

/* H against finite differences, on all systems together and on each alone. */
static inline void check_derivatives(world *w)
{
  for (int only = -1; only < w->s->n_systems; ++only) {
    const double error = slope_error(w, 1.0e-5, only);
    print_message("system %d: %.2e\n", only, error);
    assert_close(error, 0.0, 1.0e-6);
  }
}

/* The assembled matrix P, or its transpose, against the matrix-free products: all rows, then those of each system. */
static inline void check_matrix_product(world *w, Mat P, double tolerance)
{
  double *x = random_numbers(w->n, 8, 1.0), *y = numbers(w->n), *z = numbers(w->n);
  Vec     in, out;
  assert_ok(VecCreateSeqWithArray(PETSC_COMM_SELF, 3, (PetscInt)w->n, x, &in));
  assert_ok(VecCreateSeqWithArray(PETSC_COMM_SELF, 3, (PetscInt)w->n, z, &out));
  for (int is_transposed = 0; is_transposed < 2; ++is_transposed) {
    assert_ok(penalty_system_product(&w->p, x, y, is_transposed));
    assert_ok(is_transposed ? MatMultTranspose(P, in, out) : MatMult(P, in, out));
    for (int k = -1; k < w->s->n_systems; ++k) {
      const int64_t first = k < 0 ? 0 : 3 * w->s->systems[k]->first_block, n = k < 0 ? w->n : 3 * w->s->systems[k]->n_blocks;
      double        difference = 0.0;
      for (int64_t i = first; i < first + n; ++i) difference += (z[i] - y[i]) * (z[i] - y[i]);
      const double error = sqrt(difference) / norm(n, y + first);
      print_message("matrix%s system %d: %.2e\n", is_transposed ? ", transposed," : ",", k, error);
      assert_close(error, 0.0, tolerance);
    }
  }
  assert_ok(VecDestroy(&in));
  assert_ok(VecDestroy(&out));
  memory_free(&x);
  memory_free(&y);
  memory_free(&z);
}

/* What `make` returns [*n], to be freed, is the same on one, two and three threads, to the last bit. */
static inline void check_threads(double *(*make)(const void *context, int64_t *n), const void *context)
{
  int64_t n, m;
  team_set_threads(1);
  double *one = make(context, &n);
  for (int t = 2; t <= 3; ++t) {
    team_set_threads(t);
    double *more = make(context, &m);
    assert_int_equal(n, m);
    assert_memory_equal(one, more, (size_t)n * sizeof *one);
    memory_free(&more);
  }
  memory_free(&one);
  team_set_threads(0);
  assert_no_leak();
}

/* g, H x, H^T x, H x in single precision, and the matrix, one after the other; at the last evaluation with derivatives. */
static inline double *everything_of(world *w, int64_t *n)
{
  Mat         P = NULL;
  block3_view view;
  assert_ok(optim_register_all());
  assert_ok(penalty_matrix_lay_out(&w->p, &P));
  assert_ok(penalty_matrix_assemble(&w->p, P));
  assert_ok(mat_block3_get(P, &view));
  const int64_t n_values = 9 * view.row_start[view.n];
  double       *all = numbers(4 * w->n + n_values), *x = random_numbers(w->n, 6, 1.0);
  memcpy(all + 4 * w->n, view.value, (size_t)n_values * sizeof *all);
  assert_ok(MatDestroy(&P));
  memcpy(all, w->g, (size_t)w->n * sizeof *all);
  assert_ok(penalty_system_product(&w->p, x, all + w->n, false));
  assert_ok(penalty_system_product(&w->p, x, all + 2 * w->n, true));
  assert_ok(penalty_system_product_single(&w->p, x, all + 3 * w->n));
  memory_free(&x);
  *n = 4 * w->n + n_values;
  return all;
}
#endif
