/* Drucker-Prager sand: return mapping in closed form, derivative in every branch, simple shear, volume correction, cohesion. */
#include "material_fixture.h"

#define ELASTIC "density: 1600 youngs_modulus: 1e7 poisson_ratio: 0.3 "
static const double E = 1e7, NU = 0.3;

static material *make(const char *text)
{
  material *m;
  assert_ok(material_from_text("drucker_prager", text, &m));
  return m;
}

/* Principal Kirchhoff stress p_i sigma_i of diagonal F = exp(e). For law B it is that of the returned state. */
static void kirchhoff(const material *m, const double e[3], const double *history, double tau[3])
{
  double F[9] = {exp(e[0]), 0, 0, 0, exp(e[1]), 0, 0, 0, exp(e[2])}, P[9];
  assert_int_equal(material_stress(m, 1, 1, NULL, F, history, P, NULL, NULL, NULL, NULL, NULL), 1);
  for (int k = 0; k < 3; ++k) tau[k] = P[4 * k] * F[4 * k];
}

static double deviator(const double t[3])
{
  const double mean = (t[0] + t[1] + t[2]) / 3;
  return sqrt((t[0] - mean) * (t[0] - mean) + (t[1] - mean) * (t[1] - mean) + (t[2] - mean) * (t[2] - mean));
}

/* Random strains: never outside the cone |dev tau| + alpha tr tau <= 0; on it exactly where the trial was outside; the
 * elastic law inside; free beyond the tip. */
static void stress_stays_in_the_cone(void **state)
{
  (void)state;
  const double phi = 30 * M_PI / 180, alpha = sqrt(2.0 / 3) * 2 * sin(phi) / (3 - sin(phi));
  const double mu = E / (2 * (1 + NU)), lambda = E * NU / ((1 + NU) * (1 - 2 * NU));
  material    *m     = make(ELASTIC "friction_angle_deg: 30 ");
  int          n_tip = 0, n_elastic = 0, n_cone = 0;
  for (int sample = 0; sample < 2000; ++sample) {
    double e[3], tau[3], trial[3], size = 0.0;
    for (int k = 0; k < 3; ++k) e[k] = 0.01 * random_unit() - 0.005, size = fmax(size, fabs(e[k]));
    const double trace = e[0] + e[1] + e[2];
    for (int k = 0; k < 3; ++k) trial[k] = 2 * mu * e[k] + lambda * trace;
    const double outside = deviator(trial) + alpha * (trial[0] + trial[1] + trial[2]), round_off = 64 * DBL_EPSILON * E;
    kirchhoff(m, e, (const double[2]){0, 0}, tau);
    if (trace > 0) {
      ++n_tip;
      for (int k = 0; k < 3; ++k) assert_true(tau[k] == 0.0);
    } else if (outside <= 0) {
      ++n_elastic;
      for (int k = 0; k < 3; ++k) assert_close(tau[k], trial[k], round_off);
    } else {
      ++n_cone;
      assert_close(deviator(tau) + alpha * (tau[0] + tau[1] + tau[2]), 0.0, round_off);
      assert_close(tau[0] + tau[1] + tau[2], trial[0] + trial[1] + trial[2], round_off); /* volume kept */
    }
  }
  assert_true(n_tip > 100 && n_elastic > 100 && n_cone > 100);
  material_destroy(&m);
}

static const char *const variants[] = {
    ELASTIC "friction_angle_deg: 30 ",
    ELASTIC "hardening_deg: 35,9,0.2,10 ",
    ELASTIC "shear_friction: 0.6 cohesion: 2e4 ",
};
enum { N_VARIANTS = sizeof variants / sizeof *variants };

/* Logarithmic strains: elastic, cone, tip; equal, close and distinct; small ones near the apex; large ones. */
static const double strains[][3] = {
    {-0.010, -0.011, -0.012},      /* elastic */
    {-0.01, -0.01, -0.01},         /* elastic, equal: pure compression */
    {-0.01, -0.01, -0.012},        /* elastic, two equal */
    {0.010, -0.010, -0.020},       /* cone */
    {0.010, -0.015, -0.015},       /* cone, two equal */
    {0.006, 0.006, -0.030},        /* cone, two equal */
    {0.006, 0.006 - 1e-9, -0.030}, /* cone, two close */
    {0.006, 0.006 - 1e-6, -0.030},
    {0.3, -0.2, -0.4},         /* cone, far */
    {0.001, -0.0004, -0.0007}, /* cone, near the apex */
    {0.01, 0.005, -0.002},     /* tip, or elastic with cohesion */
    {0.03, 0.02, 0.01},        /* tip */
    {0.02, 0.02, 0.02},        /* tip, equal */
};

static void derivative(void **state)
{
  (void)state;
  static const double histories[][2] = {{0, 0}, {0.7, 0}, {0, 0.004}, {0.1, 0.05}};
  for (int v = 0; v < N_VARIANTS; ++v) {
    material *m = make(variants[v]);
    for (int i = 0; i < (int)(sizeof strains / sizeof *strains); ++i)
      for (int h = 0; h < 4; ++h) {
        double s[3], size = 0.0;
        for (int k = 0; k < 3; ++k) s[k] = exp(strains[i][k]), size = fmax(size, fabs(strains[i][k]));
        /* the cone curves on the scale of the deviator; the elastic law on 1 */
        assert_derivative(m, s, histories[h], fmin(2e-3 * size, 1e-4), 2 * E);
      }
    material_destroy(&m);
  }
}

/* At rest the tangent is elastic or free, and finite. */
static void derivative_at_rest(void **state)
{
  (void)state;
  for (int v = 0; v < N_VARIANTS; ++v) {
    material *m = make(variants[v]);
    double    I9[9];
    m3_identity(I9);
    const response r = respond(m, I9, (const double[2]){0, 0});
    for (int k = 0; k < 9; ++k) assert_true(r.P[k] == 0.0 && isfinite(r.dp[k]));
    for (int k = 0; k < 3; ++k) assert_close(r.a[k], E / (1 + NU), 1e-9 * E); /* 2 mu */
    for (int k = 0; k < 3; ++k) assert_close(r.b[k], 0.0, 1e-12 * E);         /* turning costs nothing */
    material_destroy(&m);
  }
}

/* The tangent is symmetric inside the cone and not on it. */
static void asymmetry(void **state)
{
  (void)state;
  material *m = make(variants[0]);
  for (int i = 0; i < 4; i += 3) {
    double         F[9] = {exp(strains[i][0]), 0, 0, 0, exp(strains[i][1]), 0, 0, 0, exp(strains[i][2])}, skew = 0.0;
    const response r = respond(m, F, (const double[2]){0, 0});
    for (int k = 0; k < 3; ++k)
      for (int l = 0; l < k; ++l) skew = fmax(skew, fabs(r.dp[3 * k + l] - r.dp[3 * l + k]));
    if (i == 0) assert_close(skew, 0.0, 1e-12 * E);
    else assert_true(skew > 0.05 * E);
  }
  material_destroy(&m);
}

/* Stress with frozen history and the accepted state agree: the Kirchhoff stress of the trial equals that of the returned state
 * with the updated volume gain; returning again changes nothing; energy is that of the returned state. */
static void return_agrees_with_stress(void **state)
{
  (void)state;
  for (int v = 0; v < N_VARIANTS; ++v)
    for (int i = 0; i < (int)(sizeof strains / sizeof *strains); ++i)
      for (int h = 0; h < 2; ++h) {
        material    *m = make(variants[v]);
        double       s[3], F[9], G[9], P[9], before[9], after[9], psi[2], history[2] = {0.0, h * 0.004}, again[2];
        const double q = history[0];
        for (int k = 0; k < 3; ++k) s[k] = exp(strains[i][k]);
        random_gradient(s, F);
        material_stress(m, 1, 1, NULL, F, history, P, NULL, NULL, NULL, NULL, NULL);
        m3_mul_nt(before, P, F);
        material_energy(m, 1, 1, F, history, &psi[0]);
        const bool was_apart = history[1] > 0;
        assert_int_equal(material_accept(m, 1, 1, NULL, F, history, NULL), 1);
        memcpy(G, F, sizeof G), memcpy(again, history, sizeof again);
        again[0] = q; /* the history the step was computed with */
        material_stress(m, 1, 1, NULL, F, again, P, NULL, NULL, NULL, NULL, NULL);
        m3_mul_nt(after, P, F);
        material_energy(m, 1, 1, F, again, &psi[1]);
        /* with cohesion the bond opens (stress drops to 0) or heals once the step is accepted: see cohesion_never_increases_energy */
        const bool is_bond_same = v != 2 || was_apart == (history[1] > 0);
        for (int k = 0; k < 9 && is_bond_same; ++k) assert_close(after[k], before[k], 1e-13 * E);
        if (is_bond_same) assert_close(psi[1], psi[0], 1e-13 * E);
        if (is_bond_same) {
          assert_int_equal(material_accept(m, 1, 1, NULL, F, again, NULL), 1);
          for (int k = 0; k < 9; ++k) assert_close(F[k], G[k], 1e-14);
          assert_close(again[0], q, 1e-14);
          assert_close(again[1], history[1], 1e-14);
        }
        material_destroy(&m);
      }
}

/* Simple shear at constant normal stress, without dilation: tau/sigma_n -> M (validation target E17). Increments of shear on F,
 * normal strain found by Newton's method from the material's own derivative, return after each step. */
static double sheared_friction(const char *text)
{
  material    *m       = make(text);
  const double sigma_n = 1.0; /* 1e-7 E: rotation of the stress by elastic strain must not show */
  double       F[9], history[2] = {0, 0}, ratio = 0.0;
  const double strain = -sigma_n / E * (1 - 2 * NU);
  m3_identity(F);
  F[0] = F[4] = F[8] = exp(strain); /* isotropic pressure sigma_n */
  for (int step = 0; step < 400; ++step) {
    double   normal = 0.0, G[9], stress[9];
    response r;
    for (int newton = 0; newton < 8; ++newton) {
      const double step_gradient[9] = {1, 2e-8, 0, 0, 1 + normal, 0, 0, 0, 1};
      m3_mul(G, step_gradient, F);
      r = respond(m, G, history);
      m3_mul_nt(stress, r.P, G); /* Kirchhoff; J = 1 to 1e-7 */
      double       dF[9], dP[9], d1[9], d2[9];
      const double direction[9] = {0, 0, 0, 0, 1, 0, 0, 0, 0};
      m3_mul(dF, direction, F);
      stress_differential(1, 0, r.U, r.V, r.dp, r.a, r.b, dF, false, dP);
      m3_mul_nt(d1, dP, G), m3_mul_nt(d2, r.P, dF);
      normal -= (stress[4] + sigma_n) / (d1[4] + d2[4]);
    }
    assert_close(stress[4], -sigma_n, 1e-7);
    ratio = stress[1] / sigma_n;
    memcpy(F, G, sizeof F);
    assert_int_equal(material_accept(m, 1, 1, NULL, F, history, NULL), 1);
  }
  material_destroy(&m);
  return ratio;
}

static void simple_shear(void **state)
{
  (void)state;
  const double s = sin(30 * M_PI / 180);
  assert_close(sheared_friction(ELASTIC "shear_friction: 0.601 "), 0.601, 1e-6);
  assert_close(sheared_friction(ELASTIC "friction_angle_deg: 30 "), 2 * sqrt(3.0) * s / (3 - s), 1e-6); /* 0.693 */
  assert_close(sheared_friction(ELASTIC "shear_friction: 0.4 cohesion: 0.25 "), 0.4 + 0.25, 1e-6);
}

/* phi(q) = h0 + (h1 q - h3) exp(-h2 q), seen through the yield stress; and what a step adds to q. */
static void hardening(void **state)
{
  (void)state;
  material *m = make(ELASTIC "hardening_deg: 35,9,0.2,10 ");
  for (double q = 0.0; q < 20.0; q += 0.7) {
    const double phi = (35 + (9 * q - 10) * exp(-0.2 * q)) * M_PI / 180, alpha = sqrt(2.0 / 3) * 2 * sin(phi) / (3 - sin(phi));
    double       tau[3];
    kirchhoff(m, (const double[3]){0.3, -0.1, -0.3}, (const double[2]){q, 0}, tau);
    assert_close(deviator(tau) / -(tau[0] + tau[1] + tau[2]), alpha, 1e-12);
  }
  /* cone: q grows by |e - H|; tip: by |e|; elastic: not at all */
  const int branch[3] = {0, 3, 11};
  for (int i = 0; i < 3; ++i) {
    const double *e    = strains[branch[i]];
    double        F[9] = {exp(e[0]), 0, 0, 0, exp(e[1]), 0, 0, 0, exp(e[2])}, history[2] = {0, 0}, flow = 0.0;
    assert_int_equal(material_accept(m, 1, 1, NULL, F, history, NULL), 1);
    for (int k = 0; k < 3; ++k) flow += (e[k] - log(F[4 * k])) * (e[k] - log(F[4 * k]));
    assert_close(history[0], sqrt(flow), 1e-15);
    assert_true((i == 0) == (history[0] == 0.0));
  }
  material_destroy(&m);
  /* with cohesion the tip is at a tensile strain */
  m                 = make(ELASTIC "shear_friction: 0.5 cohesion: 1e4 ");
  double       F[9] = {exp(0.02), 0, 0, 0, exp(0.01), 0, 0, 0, exp(0.03)}, history[2] = {0, 0};
  const double tip = 1e4 / 0.5 * (1 - 2 * NU) / E;
  assert_int_equal(material_accept(m, 1, 1, NULL, F, history, NULL), 1);
  for (int k = 0; k < 3; ++k) assert_close(log(F[4 * k]), tip, 1e-15);
  assert_close(history[0], hypot(hypot(0.02 - tip, 0.01 - tip), 0.03 - tip), 1e-15);
  material_destroy(&m);
}

static void stretch(double *F, double factor)
{
  for (int k = 0; k < 9; ++k) F[k] *= factor;
}

/* Pulled apart by 3 %, sand presses again only when it has closed by 3 %; without the correction at once. */
static void volume_correction(void **state)
{
  (void)state;
  for (int has = 0; has < 2; ++has) {
    material *m = make(has ? ELASTIC "friction_angle_deg: 30 " : ELASTIC "friction_angle_deg: 30 volume_correction: false ");
    double    F[9], P[9], history[2] = {0, 0}, log_size = 0.0;
    m3_identity(F);
    for (int step = 0; step < 60; ++step) { /* 30 steps out, 40 in */
      const double d = step < 30 ? 1e-3 : -1e-3;
      stretch(F, exp(d)), log_size += d;
      assert_int_equal(material_stress(m, 1, 1, NULL, F, history, P, NULL, NULL, NULL, NULL, NULL), 1);
      if (has || step < 30) assert_true(P[0] == 0.0 || fabs(P[0]) < 1e-12 * E);
      else assert_true(P[0] < 0.0);
      assert_int_equal(material_accept(m, 1, 1, NULL, F, history, NULL), 1);
      assert_close(history[1], has ? 3 * log_size : 0.0, 1e-14);
    }
    for (int step = 0; step < 10; ++step) stretch(F, exp(-1e-3)), material_accept(m, 1, 1, NULL, F, history, NULL);
    if (has) { /* closed and compressed by 1 %: the elastic stress of the whole motion */
      assert_int_equal(material_stress(m, 1, 1, NULL, F, history, P, NULL, NULL, NULL, NULL, NULL), 1);
      assert_close(P[0] * F[0], -0.01 * E / (1 - 2 * NU), 1e-10 * E);
      assert_close(history[1], 0.0, 1e-15);
    }
    material_destroy(&m);
  }
}

/* Tension reaches cohesion/M, then breaks; opening and closing again costs work and never gives any. */
static void cohesion_never_increases_energy(void **state)
{
  (void)state;
  material *m = make(ELASTIC "shear_friction: 0.5 cohesion: 1e4 ");
  double    F[9], history[2] = {0, 0}, work = 0.0, most = 0.0;
  m3_identity(F);
  for (int step = 0; step < 4000; ++step) {
    const double d = (step / 1000) % 2 == 0 ? 1e-5 : -1e-5; /* twice 1 % out and back; it breaks at 0.08 % */
    double       P[9];
    stretch(F, exp(d));
    assert_int_equal(material_stress(m, 1, 1, NULL, F, history, P, NULL, NULL, NULL, NULL, NULL), 1);
    /* no stress after separation until the gained volume is closed */
    if (history[1] + 3 * log(F[0]) > 0.0 && history[1] > 0.0) assert_true(P[0] == 0.0);
    work += 3 * P[0] * F[0] * d; /* Kirchhoff stress times logarithmic strain */
    most = fmax(most, P[0] * F[0]);
    assert_true(work > -1e-9 * E);
    assert_int_equal(material_accept(m, 1, 1, NULL, F, history, NULL), 1);
  }
  assert_close(most, 1e4 / 0.5, 1e-9 * E);
  assert_true(work > 0.0);
  material_destroy(&m);
}

static void bad_parameters_are_rejected(void **state)
{
  (void)state;
  static const char *const list[][2] = {
      {ELASTIC, "exactly one"},
      {ELASTIC "friction_angle_deg: 30 shear_friction: 0.6 ", "exactly one"},
      {ELASTIC "hardening_deg: 10,9,0.2,10 ", "h0 > h3"},
      {ELASTIC "hardening_deg: 35,-1,0.2,10 ", "h1 >= 0"},
      {ELASTIC "hardening_deg: 35,90,0.2,10 ", "90 degrees"},
      {ELASTIC "hardening_deg: 35,9,0,10 ", "90 degrees"},
      {ELASTIC "hardening_deg: 76.75,9,0.2,10 ", "90 degrees"}, /* 90.006 at q = 1/0.2 + 10/9 */
  };
  for (int i = 0; i < (int)(sizeof list / sizeof *list); ++i) {
    material *m = NULL;
    error_clear();
    assert_int_equal(material_from_text("drucker_prager", list[i][0], &m), PETSC_ERR_USER_INPUT);
    assert_null(m);
    if (!strstr(error_message(), list[i][1])) fail_msg("\"%s\" does not say \"%s\"", error_message(), list[i][1]);
  }
  error_clear();
  material *m = make(ELASTIC "hardening_deg: 76.74,9,0.2,10 "); /* 89.996 */
  material_destroy(&m);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(stress_stays_in_the_cone), cmocka_unit_test(derivative), cmocka_unit_test(derivative_at_rest),
          cmocka_unit_test(asymmetry), cmocka_unit_test(return_agrees_with_stress), cmocka_unit_test(simple_shear),
          cmocka_unit_test(hardening), cmocka_unit_test(volume_correction), cmocka_unit_test(cohesion_never_increases_energy),
          cmocka_unit_test(bad_parameters_are_rejected))
