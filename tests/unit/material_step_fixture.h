/* For tests of laws that depend on the gradient at the start of the step (material_step). */
#ifndef SS_TESTS_MATERIAL_STEP_FIXTURE_H
#define SS_TESTS_MATERIAL_STEP_FIXTURE_H
#include "polar3.h"
#include "material_fixture.h"

#define ELASTIC "density: 1000 youngs_modulus: 1e5 poisson_ratio: 0.3 "
/* Young's modulus and Lame's parameters of these materials; yield_stress/(2 mu) of make_dough. */
static const double E = 1e5, MU = 1e5 / 2.6, LAMBDA = 3e4 / (1.3 * 0.4), RADIUS = 4e3 / (2e5 / 2.6);

static inline material *make(const char *name, const char *text)
{
  material *m;
  assert_ok(material_from_text(name, text, &m));
  return m;
}
static inline material *make_lagged(void) { return make("linear_corotated", ELASTIC "rotation: lagged "); }
static inline material *make_dough(void) { return make("von_mises", ELASTIC "yield_stress: 4e3 "); }
static inline material *make_liquid(void) { return make("tait_liquid", "density: 1000 kappa: 2e3 gamma: 7 "); }

static inline response respond_from(const material *m, const double *start, const double *F, const double *state)
{
  response r;
  assert_int_equal(material_stress(m, 1, 1, start, F, state, r.P, r.U, r.V, r.dp, r.a, r.b), 1);
  return r;
}

/* A start that is turned and strained, and where a step may lead. */
static inline void random_step(double strain, double *start, double *F)
{
  const double s[3] = {1.0 + strain * random_unit(), 1.0 + strain * random_unit(), 1.0 + strain * random_unit()};
  random_gradient(s, start);
  for (int k = 0; k < 9; ++k) F[k] = start[k] + strain * random_unit();
}
#endif
