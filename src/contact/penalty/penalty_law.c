/* The force of one pair in the frame of the object, where it depends on nothing but the point's position Z there:
 *
 *   implicit          f = k (Y - Z)                                   Y = P(X, Z), the relaxed attachment
 *   lagged friction   f = k (W - Z) + k (Y0 - W0)                     W: closest point; Y0, W0: those of the start of the step
 *   lagged contact    f = k (Y0 - Z0)
 *
 * A coefficient of restitution lets the implicit spring follow its rate w = (phi0 - phi)/dt, phi0 at the start of the step: f = gain(w) k (Y - Z). */
#include "contact/penalty/penalty_pairs.h"
#include "core/math3.h"

static const relax_cone frictionless = {.mu = 0.0};

/* f += k (Y - Z), K += k (dY/dZ - I) */
static void add_spring(double k, const double *Y, const double *Z, const double *Y_Z, double *f, double *K)
{
  for (int j = 0; j < 3; ++j) f[j] += k * (Y[j] - Z[j]);
  if (!K) return;
  for (int j = 0; j < 9; ++j) K[j] += k * (Y_Z[j] - (j % 4 == 0));
}

/* f *= gain, K with it. */
static void follow_rate(const penalty_contact *c, int64_t i, const level_set *phi, const double *Z, double *f, double *K)
{
  double slope, g[3], outer[9];
  c->bounce[i].rate = (c->phi0[i] - level_set_eval(phi, Z, g, NULL)) / c->dt;
  c->gain[i]        = restitution_gain(&c->bounce[i], c->acceleration * c->dt, &slope);
  if (K) {
    m3_outer(outer, f, g);
    for (int j = 0; j < 9; ++j) K[j] = c->gain[i] * K[j] - slope / c->dt * outer[j];
  }
  v3_scale(f, c->gain[i], f);
}

relax_state penalty_law(const penalty_contact *c, int64_t i, const double Z_b[3], double Y_b[3], double f_b[3], double *K_b)
{
  const level_set  *phi = c->objects[c->candidate[i].i_object].phi;
  const double     *X   = c->has_X[i] ? c->X + 3 * i : NULL;
  double            A[9], W[3];
  const relax_state state = relax_level_set(phi, &c->cone[i], X, Z_b, Y_b, K_b ? A : NULL, NULL);
  if (c->scheme == CONTACT_IMPLICIT) v3_set(f_b, 0.0, 0.0, 0.0);
  else v3_copy(f_b, c->lagged + 3 * i);
  if (K_b) m3_zero(K_b);
  if (state == RELAX_INACTIVE || c->scheme == CONTACT_LAGGED_CONTACT) return state;
  if (c->scheme == CONTACT_IMPLICIT) {
    add_spring(c->k[i], Y_b, Z_b, A, f_b, K_b);
    if (c->bounce[i].damping > 0.0) follow_rate(c, i, phi, Z_b, f_b, K_b);
  } else if (relax_level_set(phi, &frictionless, NULL, Z_b, W, K_b ? A : NULL, NULL) != RELAX_INACTIVE)
    add_spring(c->k[i], W, Z_b, A, f_b, K_b);
  return state;
}

void penalty_law_start(penalty_contact *c, int64_t i, const double Z_b[3])
{
  const level_set *phi = c->objects[c->candidate[i].i_object].phi;
  double          *f   = c->lagged + 3 * i, Y[3], W[3];
  v3_set(f, 0.0, 0.0, 0.0);
  c->gain[i] = 1.0;
  if (c->bounce[i].damping > 0.0) c->phi0[i] = level_set_value(phi, Z_b);
  if (c->scheme == CONTACT_IMPLICIT || !c->has_X[i]) return;
  if (relax_level_set(phi, &c->cone[i], c->X + 3 * i, Z_b, Y, NULL, NULL) == RELAX_INACTIVE) return;
  if (c->scheme == CONTACT_LAGGED_CONTACT) add_spring(c->k[i], Y, Z_b, NULL, f, NULL);
  else if (relax_level_set(phi, &frictionless, NULL, Z_b, W, NULL, NULL) != RELAX_INACTIVE) add_spring(c->k[i], Y, W, NULL, f, NULL);
}
