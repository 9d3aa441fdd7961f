#include "discretize/rod/super_helix.h"
#include "core/math3.h"
#include "core/memory.h"
#include "discretize/rod/cayley.h"
#include "discretize/rod/super_helix_element.h"

enum { POINTS = SUPER_HELIX_POINTS, ROOT = SUPER_HELIX_ROOT };

PetscErrorCode super_helix_create(int32_t n, const double *length, double mass_per_length, double spin_inertia, super_helix *out)
{
  PetscFunctionBegin;
  PetscCheck(n >= 1, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "a strand of %d elements", (int)n);
  *out = (super_helix){.n = n, .mass_per_length = mass_per_length, .spin_inertia = spin_inertia};
  const int64_t links = n + ROOT, points = (int64_t)POINTS * n;
  const struct {
    double **array;
    int64_t  size;
  } parts[] = {{&out->length, n},          {&out->frame, 9 * (n + 1)},    {&out->end, 3 * links},      {&out->turn, 9 * links},  {&out->shift, 9 * links},
               {&out->point, 3 * points},  {&out->arm, 9 * points},       {&out->point_mass, points}, {&out->momentum, 9 * links}, {&out->moment, 9 * links},
               {&out->diagonal, 9 * links}, {&out->spin_after, links}};
  int64_t size = 0;
  for (size_t k = 0; k < sizeof parts / sizeof *parts; ++k) size += parts[k].size;
  PetscCall(memory_alloc("super-helix", size, sizeof(double), &out->slab));
  for (size_t k = 0, at = 0; k < sizeof parts / sizeof *parts; ++k) {
    *parts[k].array = out->slab + at;
    at += (size_t)parts[k].size;
  }
  double after = 0.0;
  memcpy(out->length, length, (size_t)n * sizeof *length);
  for (int32_t e = n - 1; e >= 0; --e) {
    const double own = spin_inertia * length[e];
    out->spin_after[ROOT + e] = after + 0.5 * own;
    after += own;
    for (int k = 0; k < POINTS; ++k) out->point_mass[POINTS * e + k] = helix_gauss_weight[k] * mass_per_length * length[e];
  }
  out->spin_after[0] = out->spin_after[1] = after;
  PetscFunctionReturn(PETSC_SUCCESS);
}

void super_helix_destroy(super_helix *h)
{
  memory_free(&h->slab);
  *h = (super_helix){0};
}

/* ---- shape ------------------------------------------------------------------------------------------------------------- */

void super_helix_shape(super_helix *h, const double r[3], const double R0[9], const double theta[3], const double *kappa)
{
  double turned[9];
  v3_copy(h->theta, theta);
  for (int k = 0; k < 3; ++k) h->axis[k] = R0[3 * k];
  cayley_rotation(turned, theta);
  m3_mul(h->frame, turned, R0);
  m3_identity(h->shift), m3_zero(h->turn);
  m3_zero(h->shift + 9), cayley_jacobian(h->turn + 9, theta);
  v3_copy(h->end, r), v3_copy(h->end + 3, r);
  for (int32_t e = 0; e < h->n; ++e) {
    const double *R = h->frame + 9 * e, *start = h->end + 3 * (ROOT + e - 1);
    const double *k = kappa + 3 * e;
    helix_element here;
    double        Q[9];
    for (int q = 0; q < POINTS; ++q) {
      const int64_t at = POINTS * (int64_t)e + q;
      helix_element_at(&here, k, helix_gauss_place[q] * h->length[e]);
      m3_mulv(h->point + 3 * at, R, here.place);
      v3_axpy(h->point + 3 * at, 1.0, start);
      helix_element_motion(&here, Q);
      m3_mul(h->arm + 9 * at, R, Q);
    }
    helix_element_at(&here, k, h->length[e]);
    m3_mulv(h->end + 3 * (ROOT + e), R, here.place);
    v3_axpy(h->end + 3 * (ROOT + e), 1.0, start);
    helix_element_motion(&here, Q);
    m3_mul(h->shift + 9 * (ROOT + e), R, Q);
    m3_mul(h->turn + 9 * (ROOT + e), R, here.turn);
    m3_mul(h->frame + 9 * (e + 1), R, here.frame);
  }
}

void super_helix_at(const super_helix *h, const double *kappa, int32_t e, double s, double x[3], double *R)
{
  helix_element here;
  helix_element_at(&here, kappa + 3 * e, s);
  m3_mulv(x, h->frame + 9 * e, here.place);
  v3_axpy(x, 1.0, h->end + 3 * (ROOT + e - 1));
  if (R) m3_mul(R, h->frame + 9 * e, here.frame);
}

/* o [9] = shift + turn x arm, column by column: what moves a point at `arm` from the end. */
static void carry(double *o, const double *shift, const double *turn, const double arm[3])
{
  for (int i = 0; i < 3; ++i) {
    const double t[3] = {turn[i], turn[3 + i], turn[6 + i]};
    double       c[3];
    v3_cross(c, t, arm);
    for (int k = 0; k < 3; ++k) o[3 * k + i] = shift[3 * k + i] + c[k];
  }
}

void super_helix_point_jacobian(const super_helix *h, const double *kappa, int32_t e, double s, const double x[3], double (*J)[9])
{
  helix_element here;
  double        Q[9], shift[9], turn[9], arm[3], axis[3];
  for (int32_t a = 0; a < ROOT + e; ++a) {
    v3_sub(arm, x, h->end + 3 * a);
    carry(J[a], h->shift + 9 * a, h->turn + 9 * a, arm);
  }
  helix_element_at(&here, kappa + 3 * e, s);
  helix_element_motion(&here, Q);
  m3_mul(shift, h->frame + 9 * e, Q);
  m3_mul(turn, h->frame + 9 * e, here.turn);
  super_helix_at(h, kappa, e, s, axis, NULL);
  v3_sub(arm, x, axis);
  carry(J[ROOT + e], shift, turn, arm);
}

/* ---- J and its transpose ------------------------------------------------------------------------------------------------- */

/* Rates of the rigid piece that link a carries, seen from the root: linear += what moves its point at the root's place, angular. */
static void add_link(const super_helix *h, int32_t a, const double *u, double linear[3], double angular[3])
{
  double v[3], w[3], arm[3], c[3];
  m3_mulv(v, h->shift + 9 * a, u + 3 * a);
  m3_mulv(w, h->turn + 9 * a, u + 3 * a);
  v3_sub(arm, h->end + 3 * a, h->end);
  v3_cross(c, w, arm);
  for (int k = 0; k < 3; ++k) linear[k] += v[k] - c[k], angular[k] += w[k];
}

void super_helix_rates(const super_helix *h, const double *u, double *v)
{
  double linear[3] = {0.0}, angular[3] = {0.0};
  add_link(h, 0, u, linear, angular);
  add_link(h, 1, u, linear, angular);
  for (int32_t e = 0; e < h->n; ++e) {
    for (int64_t q = POINTS * (int64_t)e; q < POINTS * (int64_t)(e + 1); ++q) {
      double arm[3], c[3];
      v3_sub(arm, h->point + 3 * q, h->end);
      v3_cross(c, angular, arm);
      m3_mulv(v + 3 * q, h->arm + 9 * q, u + 3 * (ROOT + e));
      for (int k = 0; k < 3; ++k) v[3 * q + k] += linear[k] + c[k];
    }
    add_link(h, ROOT + e, u, linear, angular);
  }
}

void super_helix_sample(const super_helix *h, const double *kappa, const double *u, int64_t n, const int32_t *e, const double *s, double *x, double *v)
{
  double  linear[3] = {0.0}, angular[3] = {0.0};
  int32_t next = 0; /* link */
  for (int64_t i = 0; i < n; ++i) {
    helix_element here;
    double        Q[9], arm[3], c[3], own[3];
    for (; next < ROOT + e[i]; ++next) add_link(h, next, u, linear, angular);
    helix_element_at(&here, kappa + 3 * e[i], s[i]);
    helix_element_motion(&here, Q);
    m3_mulv(x + 3 * i, h->frame + 9 * e[i], here.place);
    v3_axpy(x + 3 * i, 1.0, h->end + 3 * (ROOT + e[i] - 1));
    m3_mulv(own, Q, u + 3 * (ROOT + e[i]));
    m3_mulv(v + 3 * i, h->frame + 9 * e[i], own);
    v3_sub(arm, x + 3 * i, h->end);
    v3_cross(c, angular, arm);
    for (int k = 0; k < 3; ++k) v[3 * i + k] += linear[k] + c[k];
  }
}

/* out += what the force f and its moment about the root, on all that link a carries, do on the link. */
static void take_link(const super_helix *h, int32_t a, const double f[3], const double moment[3], double *out)
{
  double term[3], arm[3], about[3];
  v3_sub(arm, h->end + 3 * a, h->end);
  v3_cross(about, arm, f);
  v3_sub(about, moment, about);
  m3_mulv_t(term, h->shift + 9 * a, f);
  v3_axpy(out + 3 * a, 1.0, term);
  m3_mulv_t(term, h->turn + 9 * a, about);
  v3_axpy(out + 3 * a, 1.0, term);
}

void super_helix_forces(const super_helix *h, const super_helix_load *load, double *out)
{
  const double *f = load->f;
  double        sum[3], moment[3], reach[3];
  v3_copy(sum, load->tip);
  v3_sub(reach, h->end + 3 * (h->n + ROOT - 1), h->end);
  v3_cross(moment, reach, sum);
  v3_axpy(moment, 1.0, load->moment);
  for (int32_t e = h->n - 1; e >= 0; --e) {
    take_link(h, ROOT + e, sum, moment, out);
    for (int64_t q = POINTS * (int64_t)e; q < POINTS * (int64_t)(e + 1); ++q) {
      double arm[3], term[3];
      v3_sub(arm, h->point + 3 * q, h->end);
      v3_cross(term, arm, f + 3 * q);
      v3_axpy(moment, 1.0, term);
      v3_axpy(sum, 1.0, f + 3 * q);
      m3_mulv_t(term, h->arm + 9 * q, f + 3 * q);
      v3_axpy(out + 3 * (ROOT + e), 1.0, term);
    }
  }
  take_link(h, 1, sum, moment, out);
  take_link(h, 0, sum, moment, out);
}

double super_helix_spin(const super_helix *h, double a, const double *u, double *out)
{
  double rate = v3_dot(h->axis, u + 3), energy = 0.0, after = 0.0;
  for (int32_t e = 0; e < h->n; ++e) {
    const double d = h->length[e] * u[3 * (ROOT + e)], middle = rate + 0.5 * d;
    energy += 0.5 * h->spin_inertia * h->length[e] * (middle * middle + d * d / 12.0);
    rate += d;
  }
  if (!out) return energy;
  for (int32_t e = h->n - 1; e >= 0; --e) {
    const double d = h->length[e] * u[3 * (ROOT + e)], own = h->spin_inertia * h->length[e];
    rate -= d;
    out[3 * (ROOT + e)] += a * h->length[e] * (after + own * (0.5 * (rate + 0.5 * d) + d / 12.0));
    after += own * (rate + 0.5 * d);
  }
  v3_axpy(out + 3, a * after, h->axis);
  return energy;
}
