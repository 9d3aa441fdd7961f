/* What tests of rods share: a body from the text of its job entry, random states, and its forces and tangents against finite differences. */
#ifndef SS_TESTS_ROD_FIXTURE_H
#define SS_TESTS_ROD_FIXTURE_H
#include "test.h"
#include <string.h>
#include "core/math3.h"
#include "discretize/body_kinds.h"
#include "discretize/material/material_registry.h"
#include "discretize/rod/rod_body.h"
#include "discretize/material/elastic.h"
#include "io/yaml.h"

typedef struct {
  document    *doc;
  diagnostics *d;
  material    *material;
  body        *base;
  rod_body    *b; /* the same; NULL after errors, which are in d */
} rod_case;

static uint64_t      rod_random_state;
static inline double rod_uniform(double lo, double hi) /* splitmix64 */
{
  uint64_t x = (rod_random_state += 0x9e3779b97f4a7c15ull);
  x          = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x          = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return lo + (hi - lo) * (double)((x ^ (x >> 31)) >> 11) * 0x1p-53;
}

/* text: what stands below bodies.strand, without kind and material: E = 1e6 Pa, nu = 0.25, 1000 kg/m^3. */
static inline void rod_case_open(const char *text, const double gravity[3], rod_case *c)
{
  static const double             none[3] = {0.0};
  static const elastic_parameters jelly   = {.density = 1000.0, .youngs_modulus = 1e6, .poisson_ratio = 0.25};
  const material_law             *law     = NULL;
  const void                     *spec;
  char                            whole[4096];
  body_world                      w = {.time_step = 0.01};
  *c                                = (rod_case){0};
  for (int i = 0; material_laws[i]; ++i)
    if (!strcmp(material_laws[i]->name, "linear_corotated")) law = material_laws[i];
  assert_ok(document_create(&c->doc));
  assert_ok(diagnostics_create(&c->d));
  snprintf(whole, sizeof whole, "{material: jelly, %s}", text);
  assert_ok(yaml_read_text("test", whole, strlen(whole), c->doc, c->d));
  assert_ok(key_table_read(&rod_body_table, c->doc, document_root(c->doc), "bodies.strand", c->d, &spec));
  for (int i = 0; i < diagnostics_count(c->d); ++i) print_message("%s\n", diagnostics_text(c->d, i));
  assert_int_equal(diagnostics_count(c->d), 0);
  assert_ok(material_create("jelly", law, &jelly, jelly.density, &c->material));
  v3_copy(w.gravity, gravity ? gravity : none);
  const body_request r = {.name = "strand", .path = "bodies.strand", .spec = spec, .material = c->material, .node = document_root(c->doc)};
  assert_ok(rod_body_kind.create(&r, &w, c->d, &c->base));
  c->b = (rod_body *)c->base;
}

static inline void rod_case_close(rod_case *c)
{
  if (c->base) c->base->ops->destroy(&c->base);
  material_destroy(&c->material);
  diagnostics_destroy(&c->d);
  document_destroy(&c->doc);
}

static inline void rod_begin(rod_body *b, double t, double dt)
{
  int64_t     n_blocks;
  step_status status = {STEP_OK, NULL, -1};
  assert_ok(b->base.ops->begin_step(&b->base, t, dt, &n_blocks, &status));
  assert_int_equal(status.code, STEP_OK);
  assert_int_equal(n_blocks, b->n_blocks);
  b->base.n_blocks = n_blocks;
}

static inline void rod_residual_at(rod_body *b, const double *u, double *g, bool with_tangent)
{
  step_status status = {STEP_OK, NULL, -1};
  memset(g, 0, (size_t)(3 * b->n_blocks) * sizeof *g);
  assert_ok(b->base.ops->residual(&b->base, u, g, with_tangent, &status));
  assert_int_equal(status.code, STEP_OK);
}

/* Take a step with these rates, for any forces. */
static inline void rod_accept(rod_body *b, const double *u)
{
  step_status status = {STEP_OK, NULL, -1};
  assert_ok(b->base.ops->end_step(&b->base, u, &status));
}

static inline double rod_elastic(const rod_body *b)
{
  const double none[3] = {0.0};
  body_totals  sum;
  assert_ok(b->base.ops->totals(&b->base, none, &sum));
  return sum.elastic;
}

/* In a step from where b is, around rates u: H d and H^T d against central differences of g along a random d, block_diagonal, and the pattern. */
static inline void rod_check_derivatives(rod_body *b, const double *u, double tolerance)
{
  const int n = 3 * (int)b->n_blocks;
  double   *w = malloc(sizeof *w * (size_t)n), *d = malloc(sizeof *w * (size_t)n), *y = calloc((size_t)n, sizeof *w),
         *yt      = calloc((size_t)n, sizeof *w);
  double      *g0 = malloc(sizeof *w * (size_t)n), *g1 = malloc(sizeof *w * (size_t)n), scale = 0.0, left = 0.0, right = 0.0;
  const double h = 1e-6;
  for (int i = 0; i < n; ++i) d[i] = rod_uniform(-1.0, 1.0);
  rod_residual_at(b, u, g0, true);
  assert_ok(b->base.ops->tangent(&b->base, d, y, false));
  for (int i = 0; i < n; ++i) w[i] = u[i] - h * d[i];
  rod_residual_at(b, w, g0, false);
  for (int i = 0; i < n; ++i) w[i] = u[i] + h * d[i];
  rod_residual_at(b, w, g1, false);
  for (int i = 0; i < n; ++i) scale = fmax(scale, fabs(y[i]));
  for (int i = 0; i < n; ++i) assert_close((g1[i] - g0[i]) / (2.0 * h), y[i], tolerance * scale);
  for (int i = 0; i < n; ++i) w[i] = rod_uniform(-1.0, 1.0);
  assert_ok(b->base.ops->tangent(&b->base, w, yt, true));
  for (int i = 0; i < n; ++i) left += w[i] * y[i], right += yt[i] * d[i];
  assert_close(left, right, 1e-12 * n * scale);
  double *diagonal = calloc((size_t)(3 * n), sizeof *diagonal);
  assert_ok(b->base.ops->block_diagonal(&b->base, diagonal));
  for (int i = 0; i < n; ++i) {
    memset(w, 0, sizeof *w * (size_t)n);
    memset(g1, 0, sizeof *w * (size_t)n);
    w[i] = 1.0;
    assert_ok(b->base.ops->tangent(&b->base, w, g1, false));
    for (int k = 0; k < 3; ++k) assert_close(diagonal[9 * (i / 3) + 3 * k + i % 3], g1[3 * (i / 3) + k], 1e-14 * scale);
  }
  free(diagonal), free(w), free(d), free(y), free(yt), free(g0), free(g1);
}
#endif
