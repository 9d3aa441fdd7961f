/* Spring law of one contact, see penalty_row_law.h. */
#include "contact/penalty/penalty_row_law.h"
#include "core/math3.h"

static const double NORMAL[3] = {1.0, 0.0, 0.0};

/* e = c d, the elongation d moved back onto the cone for the depth h; m: gradient of its length r. Returns c; 1: the contact sticks. */
static double limit_elongation(const relax_cone *cone, double h, const double d[3], double e[3], double *r, double m[3])
{
  *r = relax_cone_length(cone, NORMAL, d);
  relax_cone_gradient(cone, NORMAL, d, *r, m);
  const double c = *r <= cone->mu * h && cone->mu > 0.0 ? 1.0 : *r > 0.0 ? cone->mu * h / *r : 0.0;
  v3_scale(e, c, d);
  return c;
}

void row_spring_start(row_spring *s, bool has_start)
{
  double r, m[3], e[3];
  v3_set(s->lagged, 0.0, 0.0, 0.0);
  if (s->scheme == CONTACT_IMPLICIT || !has_start || !(s->gap < 0.0)) return;
  (void)limit_elongation(&s->cone, -s->gap, s->e0, e, &r, m);
  v3_scale(s->lagged, -s->k, e);
  if (s->scheme == CONTACT_LAGGED_CONTACT) s->lagged[0] = -s->k * s->gap;
}

/* Normal force k G h n and, unless it is lagged, friction -k G e, with derivatives. share: s of penalty_rows.h, share_n = ds/dx_n. */
static void add_spring(const row_spring *s, const double x[3], double share, double share_n, double c, double r, const double m[3],
                       row_force *out, double *K)
{
  const double h = out->depth, mu = s->cone.mu;
  double       slope = 0.0;
  if (s->bounce.damping > 0.0) {
    restitution now = s->bounce;
    now.rate        = out->rate;
    out->gain       = restitution_gain(&now, s->v_rest, &slope);
  }
  const double kG = s->k * out->gain, kG_n = -s->k * slope / s->dt; /* d(kG)/dx_n, because the rate is -x_n/dt */
  out->f[0] += kG * h;
  if (K) K[0] += kG - kG_n * h;
  if (s->scheme != CONTACT_IMPLICIT) return;
  for (int i = 1; i < 3; ++i) out->f[i] -= kG * out->e[i];
  if (!K) return;
  const bool   sticks = !out->is_sliding;
  const double moved  = m[1] * x[1] + m[2] * x[2];
  for (int i = 1; i < 3; ++i) {
    /* e = c d, d = e0 + s x_T; sliding: c = mu h / r, dh = -dx_n */
    const double d = out->e[i] + out->slip[i], toward = sticks || !(r > 0.0) ? 0.0 : c / r * d;
    const double e_n = c * x[i] * share_n - toward * moved * share_n - (sticks || !(r > 0.0) ? 0.0 : mu / r * d);
    K[3 * i] += kG_n * out->e[i] + kG * e_n;
    for (int j = 1; j < 3; ++j) K[3 * i + j] += kG * share * ((i == j ? c : 0.0) - toward * m[j]);
  }
}

void row_spring_evaluate(const row_spring *s, const double x[3], row_force *out, double *K)
{
  double d[3], m[3], r, share = 1.0, share_n = 0.0;
  *out = (row_force){.depth = -(s->gap + x[0]), .gain = 1.0, .rate = -x[0] / s->dt};
  v3_copy(out->f, s->lagged);
  if (K) m3_zero(K);
  if (isnan(out->depth)) v3_copy(out->f, x);
  if (!(out->depth > 0.0)) return;
  out->is_active = true;
  if (s->enters) { /* x_n = -(gap + h) < 0 */
    share   = out->depth / (s->gap + out->depth);
    share_n = -s->gap / (x[0] * x[0]);
  }
  d[0] = 0.0;
  for (int i = 1; i < 3; ++i) d[i] = s->e0[i] + share * x[i];
  const double c  = limit_elongation(&s->cone, out->depth, d, out->e, &r, m);
  out->is_sliding = c < 1.0;
  v3_sub(out->slip, d, out->e);
  if (s->scheme != CONTACT_LAGGED_CONTACT) add_spring(s, x, share, share_n, c, r, m, out, K);
}
