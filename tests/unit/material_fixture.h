/* For tests of constitutive laws: parameters by key, states by principal stretches, derivatives by finite differences. */
#ifndef SS_TESTS_TEST_MATERIAL_H
#define SS_TESTS_TEST_MATERIAL_H
#include "core/math3.h"
#include "core/quaternion.h"
#include "core/svd3.h"
#include "discretize/material/material_registry.h"
#include "stress_differential.h"
#include "test.h"
#include <float.h>

static uint64_t random_state = 88172645463325252u;
static double   random_unit(void) /* [-1, 1) */
{
  random_state ^= random_state << 13, random_state ^= random_state >> 7, random_state ^= random_state << 17;
  return (double)(random_state >> 11) * 0x1p-52 - 1.0;
}

static inline void random_rotation(double *R)
{
  rotation_exp(R, (const double[3]){2.0 * random_unit(), 2.0 * random_unit(), 2.0 * random_unit()});
}

/* F = U diag(s) V^T with random rotations */
static inline void random_gradient(const double s[3], double *F)
{
  double U[9], V[9], T[9];
  random_rotation(U), random_rotation(V);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) T[3 * i + j] = U[3 * i + j] * s[j];
  m3_mul_nt(F, T, V);
}

static inline const material_law *law_find(const char *name)
{
  for (int i = 0; material_laws[i]; ++i)
    if (strcmp(material_laws[i]->name, name) == 0) return material_laws[i];
  fail_msg("no law %s", name);
  return NULL;
}

/* Parameters as the key table describes them. `text` is "key: value key: value ..."; a list is "a,b,c,d". */
static inline const char *text_value(const char *text, const char *key, char *value)
{
  char pattern[64];
  snprintf(pattern, sizeof pattern, "%s: ", key);
  const char *at = strstr(text, pattern);
  if (!at) return NULL;
  sscanf(at + strlen(pattern), "%63s", value);
  return value;
}

static inline PetscErrorCode material_from_text(const char *name, const char *text, material **out)
{
  static _Alignas(16) char parameters[512];
  const material_law      *law = law_find(name);
  assert_true(law->keys->size <= sizeof parameters);
  memset(parameters, 0, sizeof parameters);
  for (const key_spec *k = law->keys->keys; k->name; ++k) {
    char        buffer[64];
    const char *value = text_value(text, k->name, buffer);
    void       *at    = parameters + k->offset;
    if (!value) value = k->fallback;
    assert_true(value || k->is_optional);
    switch (k->type) {
    case KEY_REAL: *(double *)at = value ? strtod(value, NULL) : NAN; break;
    case KEY_BOOL: *(bool *)at = strcmp(value, "true") == 0; break;
    case KEY_ENUM:
      for (int c = 0; k->choices[c]; ++c)
        if (strcmp(value, k->choices[c]) == 0) *(int *)at = c;
      break;
    case KEY_REALS:
      for (int c = 0; c < k->count; ++c) {
        ((double *)at)[c] = value ? strtod(value, NULL) : NAN;
        if (value && strchr(value, ',')) value = strchr(value, ',') + 1;
      }
      break;
    default: fail();
    }
  }
  if (law->choose) law = law->choose(parameters);
  return material_create(name, law, parameters, *(double *)(void *)parameters, out);
}

/* One point: everything material_stress gives. */
typedef struct {
  double P[9], U[9], V[9], dp[9], a[3], b[3];
} response;

static inline response respond(const material *m, const double *F, const double *state)
{
  response r;
  assert_int_equal(material_stress(m, 1, 1, NULL, F, state, r.P, r.U, r.V, r.dp, r.a, r.b), 1);
  return r;
}

static inline void stress_at(const material *m, const double *F, double h, const double *dF, const double *state, double *P)
{
  double G[9];
  for (int k = 0; k < 9; ++k) G[k] = F[k] + h * dF[k];
  assert_int_equal(material_stress(m, 1, 1, NULL, G, state, P, NULL, NULL, NULL, NULL, NULL), 1);
}

/* Fourth-order central difference of P in the direction dF. */
static inline void stress_difference(const material *m, const double *F, const double *dF, const double *state, double h, double *dP)
{
  double p1[9], p2[9], m1[9], m2[9];
  stress_at(m, F, h, dF, state, p1), stress_at(m, F, -h, dF, state, m1);
  stress_at(m, F, 2 * h, dF, state, p2), stress_at(m, F, -2 * h, dF, state, m2);
  for (int k = 0; k < 9; ++k) dP[k] = (8.0 * (p1[k] - m1[k]) - (p2[k] - m2[k])) / (12.0 * h);
}

static inline double norm9(const double *a)
{
  double s = 0.0;
  for (int k = 0; k < 9; ++k) s += a[k] * a[k];
  return sqrt(s);
}

/* dP against differences with step h, for random directions, relative to `modulus` (the size of dP/dF); and its adjoint. */
static inline void assert_derivative(const material *m, const double s[3], const double *state, double h, double modulus)
{
  for (int repeat = 0; repeat < 5; ++repeat) {
    double F[9], dF[9], expected[9], got[9], A[9], back[9], left = 0.0, right = 0.0;
    random_gradient(s, F);
    for (int k = 0; k < 9; ++k) dF[k] = random_unit(), A[k] = random_unit();
    const response r = respond(m, F, state);
    stress_difference(m, F, dF, state, h, expected);
    stress_differential(1, 0, r.U, r.V, r.dp, r.a, r.b, dF, false, got);
    for (int k = 0; k < 9; ++k)
      if (!(fabs(got[k] - expected[k]) <= 1e-6 * modulus * test_tolerance_scale()))
        fail_msg("dP[%d] = %.12g, differences %.12g, at stretches %.12g %.12g %.12g", k, got[k], expected[k], s[0], s[1], s[2]);
    stress_differential(1, 0, r.U, r.V, r.dp, r.a, r.b, A, true, back);
    for (int k = 0; k < 9; ++k) left += A[k] * got[k], right += back[k] * dF[k];
    assert_close(left, right, 64.0 * DBL_EPSILON * modulus * norm9(A) * norm9(dF));
  }
}
#endif
