/* Drucker-Prager sand. Source: [Klar2016] with the volume correction of [Tampubolon2017].
 *
 * Trial state with stretches sigma. The history is constant: q (hardening) and v_c (logarithmic volume gained during separation):
 *   e = log sigma + v_c/3,  t = tr e - e_c,  dev = e - tr e/3,  n = dev/|dev|,  c = alpha (3 lambda + 2 mu)/(2 mu)
 *   tip      t > 0:                 H = e_c/3
 *   elastic  |dev| + c t <= 0:      H = e
 *   cone     else:                  H = tr e/3 - c t n            (volume kept)
 *   tau_i = 2 mu H_i + lambda tr H,  psi = mu |H|^2 + lambda/2 (tr H)^2
 * All three cases have the form H = w + r dev with tr H = 3 w and r = 0, 1, -c t/|dev|, which the loops below compute.
 *
 * Yield condition |dev tau| + alpha (tr tau - 3 s) <= 0 with the tensile strength s; e_c = 3 s/(3 lambda + 2 mu). In simple shear without
 * dilation the shear stress is M (sigma_n + s), M = 3 alpha/sqrt 2. The key shear_friction is M, the key cohesion is M s, and the key
 * friction_angle_deg is the angle phi of triaxial compression, alpha = sqrt(2/3) 2 sin phi/(3 - sin phi).
 *
 * When the step is accepted:
 *   elastic stretches <- exp H
 *   v_c <- v_c + tr log sigma - tr H     tip: separated grains must first close by this volume before they have pressure again;
 *                                        elastic and cone: the volume is conserved, v_c is added to H and becomes 0
 *   q   <- q + 0, |log sigma - H|, |dev| + c t              for elastic, tip, cone
 *   phi = h0 + (h1 q - h3) exp(-h2 q)                       if hardening_deg is given
 * The next step starts from log sigma = H and the new v_c, i.e. from the same e and the same stress. Therefore the stress does not change
 * when the step is accepted, and a second return mapping has no effect.
 *
 * Differences from [Klar2016]: there, |dev| = 0 under compression is the tip, so that exactly isotropic states lose their pressure; here
 * they are elastic. There, hardening at the tip is |e|, which with v_c would grow in every step of separation; here it is the strain of
 * the step. Cohesion is an addition: separated grains (v_c > 0) have no cohesion until they have closed again, so that a cycle of opening
 * and closing does not gain energy. */
#include "core/memory.h"
#include "discretize/material/elastic.h"
#include "discretize/material/material.h"

typedef struct {
  elastic_parameters elastic;
  double             friction_angle_deg, shear_friction, hardening_deg[4], cohesion;
  bool               volume_correction;
} parameters;

typedef struct {
  elastic_constants elastic;
  bool              has_hardening, has_volume_correction;
  double            alpha;          /* without hardening */
  double            h0, h1, h2, h3; /* with; h0, h1, h3 in radians */
  double            cohesion;
} constants_sand;

enum { STATE_HARDENING, STATE_VOLUME };

/* clang-format off */
static const key_spec keys[] = {
    ELASTIC_KEYS,
  {.name = "friction_angle_deg", .type = KEY_REAL, .offset = offsetof(parameters, friction_angle_deg), .unit = "degrees",
   .is_optional = true, .max = 90.0, .is_open = true, .help = "constant friction angle in triaxial compression"},
  {.name = "shear_friction", .type = KEY_REAL, .offset = offsetof(parameters, shear_friction), .unit = "1",
   .is_optional = true, .max = INFINITY, .is_open = true,
   .help = "instead of the angle: shear stress over normal stress in steady simple shear, the tangent of the slope at which it flows"},
  {.name = "hardening_deg", .type = KEY_REALS, .count = 4, .offset = offsetof(parameters, hardening_deg),
   .unit = "degrees, degrees, 1, degrees", .is_optional = true,
   .help = "instead of a constant angle: [h0, h1, h2, h3], angle h0 + (h1 q - h3) exp(-h2 q) of the plastic strain q"},
  {.name = "cohesion", .type = KEY_REAL, .offset = offsetof(parameters, cohesion), .unit = "Pa", .fallback = "0", .min = 0.0,
   .max = INFINITY, .help = "shear strength without normal stress; zero while grains are separated"},
  {.name = "volume_correction", .type = KEY_BOOL, .offset = offsetof(parameters, volume_correction), .fallback = "true",
   .help = "true: separated grains carry pressure again only after their volume has decreased by the volume gained in separation"},
    {0}};
/* clang-format on */

const key_table material_keys_drucker_prager = {
    .name = "materials.drucker_prager",
    .help = "Dry or slightly cohesive sand: elastic inside a friction cone, plastic flow on it without change of volume, no stress "
            "in tension. Give one of friction_angle_deg, shear_friction and hardening_deg.",
    .size = sizeof(parameters),
    .keys = keys};

LANE double alpha_of_sine(double s) { return 1.6329931618554521 /* 2 sqrt(2/3) */ * s / (3.0 - s); }

/* The angle's largest value over q >= 0 (its least is at q = 0): where the derivative of (h1 q - h3) exp(-h2 q) vanishes. */
static double largest_angle_deg(const double h[4])
{
  if (h[1] == 0.0) return h[2] > 0.0 ? h[0] : h[0] - h[3];
  if (h[2] == 0.0) return INFINITY;
  const double q = 1.0 / h[2] + h[3] / h[1];
  return h[0] + (h[1] * q - h[3]) * exp(-h[2] * q);
}

static PetscErrorCode drucker_prager_prepare(const void *from, void **out)
{
  const parameters *p = from;
  const double     *h = p->hardening_deg;
  constants_sand   *c;
  const bool        has_angle = !isnan(p->friction_angle_deg), has_shear = !isnan(p->shear_friction), has_hardening = !isnan(h[0]);
  PetscFunctionBeginUser;
  PetscCheck(has_angle + has_shear + has_hardening == 1, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "drucker_prager: give exactly one of friction_angle_deg, shear_friction and hardening_deg (%d are given)",
             has_angle + has_shear + has_hardening);
  if (has_hardening) {
    PetscCheck(h[0] > h[3] && h[1] >= 0.0 && h[2] >= 0.0 && h[3] >= 0.0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
               "drucker_prager: hardening_deg: expected h0 > h3 >= 0, h1 >= 0, h2 >= 0, so that the angle stays positive");
    PetscCheck(largest_angle_deg(h) < 90.0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
               "drucker_prager: hardening_deg: the angle grows to 90 degrees or more; lower h0 or h1, or raise h2");
  }
  PetscCall(memory_alloc("material drucker_prager", 1, sizeof *c, &c));
  const double degree = M_PI / 180.0;
  *c                  = (constants_sand){.elastic               = elastic_lame(&p->elastic),
                                         .has_hardening         = has_hardening,
                                         .has_volume_correction = p->volume_correction,
                                         .cohesion              = p->cohesion};
  if (has_angle) c->alpha = alpha_of_sine(sin(p->friction_angle_deg * degree));
  if (has_shear) c->alpha = M_SQRT2 / 3.0 * p->shear_friction;
  if (has_hardening) c->h0 = h[0] * degree, c->h1 = h[1] * degree, c->h2 = h[2], c->h3 = h[3] * degree;
  *out = c;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The returned state of a batch. H = w + r dev. Per point: */
typedef struct {
  double log_sigma[3][MATERIAL_BATCH];
  double dev[3][MATERIAL_BATCH], n[3][MATERIAL_BATCH]; /* trial deviator and its direction */
  double r[MATERIAL_BATCH], w[MATERIAL_BATCH];
  double kept[MATERIAL_BATCH];   /* 1: volume kept, tr H = tr e; 0: tip */
  double slope[MATERIAL_BATCH];  /* c on the cone, else 0 */
  double excess[MATERIAL_BATCH]; /* cone: |dev| + c t, else 0 */
} returned;

static void sand_alpha(const constants_sand *c, int64_t n, const material_row *restrict state, double *restrict alpha)
{
  if (c->has_hardening) {
    const double *restrict q = state[STATE_HARDENING];
    const double h0 = c->h0, h1 = c->h1, h2 = c->h2, h3 = c->h3;
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) alpha[i] = alpha_of_sine(lane_sin_quarter(h0 + (h1 * q[i] - h3) * lane_exp(-h2 * q[i])));
  } else {
    for (int64_t i = 0; i < n; ++i) alpha[i] = c->alpha;
  }
}

static void sand_return(const constants_sand *constants, int64_t n, const material_row *restrict sigma, const material_row *restrict state,
                        returned *restrict out)
{
  const double stiff = (3.0 * constants->elastic.lambda + 2.0 * constants->elastic.mu), mu2 = 2.0 * constants->elastic.mu;
  const double cohesion = constants->cohesion * M_SQRT2 / stiff; /* e_c = cohesion/alpha */
  double       alpha[MATERIAL_BATCH];
  const double *restrict volume = state[STATE_VOLUME];
  sand_alpha(constants, n, state, alpha);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const double l0 = lane_log(sigma[0][i]), l1 = lane_log(sigma[1][i]), l2 = lane_log(sigma[2][i]);
    const double gap = volume[i], mean = (l0 + l1 + l2) / 3.0;
    const double d0 = l0 - mean, d1 = l1 - mean, d2 = l2 - mean, trace = 3.0 * mean + gap;
    const double tip = gap > 0.0 ? 0.0 : cohesion / alpha[i], t = trace - tip, c = alpha[i] * stiff / mu2;
    const double size = sqrt(d0 * d0 + d1 * d1 + d2 * d2), excess = size + c * t, inverse = 1.0 / (size > 0.0 ? size : 1.0);
    const int    is_tip = t > 0.0, is_cone = excess > 0.0 && !is_tip;
    out->log_sigma[0][i] = l0, out->log_sigma[1][i] = l1, out->log_sigma[2][i] = l2;
    out->dev[0][i] = d0, out->dev[1][i] = d1, out->dev[2][i] = d2;
    out->n[0][i] = d0 * inverse, out->n[1][i] = d1 * inverse, out->n[2][i] = d2 * inverse;
    out->r[i]      = is_tip ? 0.0 : (is_cone ? -c * t * inverse : 1.0);
    out->w[i]      = (is_tip ? tip : trace) / 3.0;
    out->kept[i]   = is_tip ? 0.0 : 1.0;
    out->slope[i]  = is_cone ? c : 0.0;
    out->excess[i] = is_cone ? excess : 0.0;
  }
}

/* (log x - log y)/(x - y), given both logarithms: a series of 2 atanh z, z = (x - y)/(x + y), where they are close. */
LANE double log_slope(double x, double y, double log_x, double log_y)
{
  const double sum = x + y, z = (x - y) / sum, u = z * z, difference = x - y;
  const double tail   = 1.0 / 9 + u * (1.0 / 11 + u * (1.0 / 13 + u * (1.0 / 15)));
  const double series = 1.0 + u * (1.0 / 3 + u * (1.0 / 5 + u * (1.0 / 7 + u * tail)));
  const double far    = (log_x - log_y) / (difference == 0.0 ? 1.0 : difference);
  return u < 0.01 ? 2.0 * series / sum : far;
}

/* dH_i/dlog(sigma_j) = r (delta_ij - 1/3) - [cone] r n_i n_j + kept/3 - slope n_i; the stress needs dtau_ij = 2 mu dH_ij + lambda kept. */
LANE double return_slope(double is_diagonal, double r, double r_cone, double ni, double nj, double w, double slope)
{
  return r * (is_diagonal - 1.0 / 3) - r_cone * ni * nj + w * (1.0 / 3) - slope * ni;
}

/* Kirchhoff stress of the returned state, as Piola stress with the trial gradient: p_i = tau_i/sigma_i. Differences: (tau_i - tau_j)/(sigma_i - sigma_j) = 2 mu r log_slope, so that
 * a = 2 mu r log_slope/sigma_i - tau_j/(sigma_i sigma_j): no limit to take. */
static void stress_of_returned(const elastic_constants c, int64_t n, const material_row *restrict sigma, const returned *restrict x,
                               material_row *restrict p, material_row *restrict dp, material_row *restrict a, material_row *restrict b)
{
  const double mu2 = 2.0 * c.mu, bulk3 = 3.0 * c.lambda + mu2;
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const double s0 = sigma[0][i], s1 = sigma[1][i], s2 = sigma[2][i], i0 = 1.0 / s0, i1 = 1.0 / s1, i2 = 1.0 / s2;
    const double r = x->r[i], pressure = bulk3 * x->w[i];
    const double p0 = (pressure + mu2 * r * x->dev[0][i]) * i0, p1 = (pressure + mu2 * r * x->dev[1][i]) * i1,
                 p2 = (pressure + mu2 * r * x->dev[2][i]) * i2;
    p[0][i] = p0, p[1][i] = p1, p[2][i] = p2;
    if (dp) {
      const double w = x->kept[i], slope = x->slope[i], rc = slope > 0.0 ? r : 0.0, lw = c.lambda * w;
      const double n0 = x->n[0][i], n1 = x->n[1][i], n2 = x->n[2][i];
      dp[0][i]        = ((mu2 * return_slope(1.0, r, rc, n0, n0, w, slope) + lw) * i0 - p0) * i0;
      dp[4][i]        = ((mu2 * return_slope(1.0, r, rc, n1, n1, w, slope) + lw) * i1 - p1) * i1;
      dp[8][i]        = ((mu2 * return_slope(1.0, r, rc, n2, n2, w, slope) + lw) * i2 - p2) * i2;
      dp[1][i]        = (mu2 * return_slope(0.0, r, rc, n0, n1, w, slope) + lw) * i0 * i1;
      dp[2][i]        = (mu2 * return_slope(0.0, r, rc, n0, n2, w, slope) + lw) * i0 * i2;
      dp[3][i]        = (mu2 * return_slope(0.0, r, rc, n1, n0, w, slope) + lw) * i1 * i0;
      dp[5][i]        = (mu2 * return_slope(0.0, r, rc, n1, n2, w, slope) + lw) * i1 * i2;
      dp[6][i]        = (mu2 * return_slope(0.0, r, rc, n2, n0, w, slope) + lw) * i2 * i0;
      dp[7][i]        = (mu2 * return_slope(0.0, r, rc, n2, n1, w, slope) + lw) * i2 * i1;
      const double l0 = x->log_sigma[0][i], l1 = x->log_sigma[1][i], l2 = x->log_sigma[2][i];
      a[0][i] = (mu2 * r * log_slope(s1, s2, l1, l2) - p2) * i1;
      a[1][i] = (mu2 * r * log_slope(s0, s2, l0, l2) - p2) * i0;
      a[2][i] = (mu2 * r * log_slope(s0, s1, l0, l1) - p1) * i0;
      b[0][i] = (p1 + p2) / (s1 + s2), b[1][i] = (p0 + p2) / (s0 + s2), b[2][i] = (p0 + p1) / (s0 + s1);
    }
  }
}

static void drucker_prager_stress(const void *constants, int64_t n, const material_row *sigma, const material_row *state, material_row *p,
                                  material_row *dp, material_row *a, material_row *b)
{
  const constants_sand *c = constants;
  returned              x;
  sand_return(c, n, sigma, state, &x);
  stress_of_returned(c->elastic, n, sigma, &x, p, dp, a, b);
}

/* Energy of the returned state: elastic energy that is released on unloading. */
static void drucker_prager_energy(const void *constants, int64_t n, const material_row *sigma, const material_row *state,
                                  double *restrict psi)
{
  const constants_sand *c  = constants;
  const double          mu = c->elastic.mu, lambda = c->elastic.lambda;
  returned              x;
  sand_return(c, n, sigma, state, &x);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const double d0 = x.r[i] * x.dev[0][i], d1 = x.r[i] * x.dev[1][i], d2 = x.r[i] * x.dev[2][i], w = x.w[i];
    psi[i] = mu * (d0 * d0 + d1 * d1 + d2 * d2) + (3.0 * mu + 4.5 * lambda) * w * w;
  }
}

static void plastic_return(const void *constants, int64_t n, material_row *restrict sigma, material_row *restrict state)
{
  const constants_sand *c                     = constants;
  const bool            has_volume_correction = c->has_volume_correction;
  double *restrict q = state[STATE_HARDENING], *restrict volume = state[STATE_VOLUME];
  returned x;
  sand_return(c, n, sigma, state, &x);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const double r = x.r[i], w = x.w[i], gap = volume[i];
    const double h0 = w + r * x.dev[0][i], h1 = w + r * x.dev[1][i], h2 = w + r * x.dev[2][i];
    const double l0 = x.log_sigma[0][i], l1 = x.log_sigma[1][i], l2 = x.log_sigma[2][i];
    const double j0 = l0 - h0, j1 = l1 - h1, j2 = l2 - h2;
    const double apart  = gap + l0 + l1 + l2 - 3.0 * w; /* zero but for round-off where volume is kept */
    const int    is_tip = x.kept[i] == 0.0, is_elastic = !is_tip && r == 1.0 && gap == 0.0;
    sigma[0][i] = is_elastic ? sigma[0][i] : lane_exp(h0); /* elastic: not a bit changes, so sand at rest cannot creep */
    sigma[1][i] = is_elastic ? sigma[1][i] : lane_exp(h1);
    sigma[2][i] = is_elastic ? sigma[2][i] : lane_exp(h2);
    q[i] += is_tip ? sqrt(j0 * j0 + j1 * j1 + j2 * j2) : x.excess[i];
    volume[i] = is_tip && has_volume_correction ? apart : 0.0;
  }
}

const material_law material_law_drucker_prager = {.name           = "drucker_prager",
                                                  .keys           = &material_keys_drucker_prager,
                                                  .n_state        = 2,
                                                  .state_name     = {"plastic_strain", "volume_gain"},
                                                  .state_unit     = {"1", "1"},
                                                  .state_help     = {"q: accumulated plastic strain, on which the friction angle depends",
                                                                     "v_c: logarithm of the volume gained while the grains are separated"},
                                                  .state_initial  = {0.0, 0.0},
                                                  .is_granular    = true,
                                                  .prepare        = drucker_prager_prepare,
                                                  .stress         = drucker_prager_stress,
                                                  .energy         = drucker_prager_energy,
                                                  .plastic_return = plastic_return,
                                                  .wave_speed     = elastic_wave_speed};
