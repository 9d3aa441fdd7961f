/* Implementation of super_helix.h: shape, Jacobians, forces and products with the tangent. */
#include "discretize/rod/super_helix.h"
#include "core/math3.h"
#include "core/memory.h"
#include "discretize/rod/cayley.h"
#include "discretize/rod/super_helix_element.h"

enum { POINTS = SUPER_HELIX_POINTS, ROOT = SUPER_HELIX_ROOT };

PetscErrorCode super_helix_create(int32_t n, const double *length, double mass_per_length, double spin_inertia, super_helix *out)
{
  PetscFunctionBegin;
  PetscCheck(n >= 1, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "a strand of %d elements; expected at least 1", (int)n);
  *out                = (super_helix){.n = n, .mass_per_length = mass_per_length, .spin_inertia = spin_inertia};
  const int64_t links = n + ROOT, points = (int64_t)POINTS * n;
  const struct {
    double **array;
    int64_t  size;
  } parts[]    = {{&out->length, n},           {&out->frame, 9 * (n + 1)}, {&out->end, 3 * links},      {&out->turn, 9 * links},
                  {&out->shift, 9 * links},    {&out->point, 3 * points},  {&out->arm, 9 * points},     {&out->point_mass, points},
                  {&out->momentum, 9 * links}, {&out->moment, 9 * links},  {&out->diagonal, 9 * links}, {&out->spin_after, links}};
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
    const double own          = spin_inertia * length[e];
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

/* o [9] = shift + turn x arm, column by column: the motion of a point at `arm` from the end of the link. */
static void add_arm(double *o, const double *shift, const double *turn, const double arm[3])
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
    add_arm(J[a], h->shift + 9 * a, h->turn + 9 * a, arm);
  }
  helix_element_at(&here, kappa + 3 * e, s);
  helix_element_motion(&here, Q);
  m3_mul(shift, h->frame + 9 * e, Q);
  m3_mul(turn, h->frame + 9 * e, here.turn);
  super_helix_at(h, kappa, e, s, axis, NULL);
  v3_sub(arm, x, axis);
  add_arm(J[ROOT + e], shift, turn, arm);
}

/* ---- J and its transpose ------------------------------------------------------------------------------------------------- */

/* Add the rates of the rigid piece that link a carries: the velocity of its point at the root's position, and its angular velocity. */
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

void super_helix_sample(const super_helix *h, const double *kappa, const double *u, int64_t n, const int32_t *e, const double *s, double *x,
                        double *v)
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

/* out += generalised force on link a from the force f and its moment about the root on everything that the link carries. */
static void add_link_force(const super_helix *h, int32_t a, const double f[3], const double moment[3], double *out)
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
    add_link_force(h, ROOT + e, sum, moment, out);
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
  add_link_force(h, 1, sum, moment, out);
  add_link_force(h, 0, sum, moment, out);
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

/* H = a M + b G for a chain of links, G = d(J^T f)/d(unknowns) at fixed forces f.
 *
 * Points carried by link j move, per unit of its unknowns, by v + w x y (columns of shift, turn; y from its end). For i < j link i rotates all that
 * link j moves, rigidly: d^2 r / du_i du_j = w_i x dr/du_j. So with sums over all points p that j moves,
 *
 *   P_j = sum m_p dr_p/du_j,   L_j = sum m_p (r_p - root) x dr_p/du_j,   C_j = sum dr_p/du_j x f_p,   W_j = a L_j + b C_j,
 *   H_ij = a v_i^T P_j + w_i^T (W_j - (end_i - root) x a P_j)
 *
 * The sums over the points carried by j take their mass, first and second moments and the moments of f, passed from tip to root as by composite
 * bodies: linear in n. A product takes sums over i < j and over j > i, each linear as well. */

/* Sums over points at positions y relative to a reference point: mass, sum m y, sum m y y^T, sum f, sum y f^T. */
typedef struct {
  double mass, first[3], second[9], force[3], virial[9];
} composite;

static void composite_add(composite *c, const double y[3], double m, const double f[3])
{
  double outer[9];
  c->mass += m;
  v3_axpy(c->first, m, y);
  m3_outer(outer, y, y);
  m3_axpy(c->second, m, outer);
  v3_axpy(c->force, 1.0, f);
  m3_outer(outer, y, f);
  m3_axpy(c->virial, 1.0, outer);
}

/* Move the reference point by -d, so that y grows by d. */
static void composite_move(composite *c, const double d[3])
{
  double outer[9], other[9];
  m3_outer(outer, c->first, d);
  m3_transpose(other, outer);
  m3_axpy(c->second, 1.0, outer);
  m3_axpy(c->second, 1.0, other);
  m3_outer(outer, d, d);
  m3_axpy(c->second, c->mass, outer);
  m3_outer(outer, d, c->force);
  m3_axpy(c->virial, 1.0, outer);
  v3_axpy(c->first, c->mass, d);
}

/* sum y x f */
static void composite_torque(const composite *c, double t[3])
{
  const double *Y = c->virial;
  v3_set(t, Y[5] - Y[7], Y[6] - Y[2], Y[1] - Y[3]);
}

static void super_helix_column(double o[3], const double *m, int i) { v3_set(o, m[i], m[3 + i], m[6 + i]); }

/* Column i of momentum P, moment L about the root and C (see above) of everything that the link carries. The own points of an
 * element are added elsewhere. */
static void carried_column(const super_helix *h, int32_t link, const composite *c, int i, double P[3], double L[3], double C[3])
{
  double v[3], w[3], d[3], term[3], about[3];
  super_helix_column(v, h->shift + 9 * link, i);
  super_helix_column(w, h->turn + 9 * link, i);
  v3_sub(d, h->end + 3 * link, h->end);
  v3_cross(P, w, c->first);
  v3_axpy(P, c->mass, v);
  v3_cross(L, d, P);
  v3_cross(term, c->first, v);
  v3_axpy(L, 1.0, term);
  m3_mulv(about, c->second, w);
  for (int k = 0; k < 3; ++k) L[k] += m3_trace(c->second) * w[k] - about[k];
  v3_cross(C, v, c->force);
  m3_mulv(about, c->virial, w);
  for (int k = 0; k < 3; ++k) C[k] += about[k] - m3_trace(c->virial) * w[k];
}

/* D [9] += a M + b G of the link with itself, including the links that it carries; second [9]: contribution of second
 * derivatives of its own motion to G. */
static void carried_diagonal(const super_helix *h, int32_t link, const composite *c, double a, double b, const double *second, double *D)
{
  double Pc[3][3], L[3], C[3], v[3][3], w[3][3], Yw[3], d[3], about[3];
  v3_sub(d, h->end + 3 * link, h->end);
  for (int i = 0; i < 3; ++i) super_helix_column(v[i], h->shift + 9 * link, i), super_helix_column(w[i], h->turn + 9 * link, i);
  for (int j = 0; j < 3; ++j) {
    carried_column(h, link, c, j, Pc[j], L, C);
    v3_cross(about, d, Pc[j]);
    v3_sub(L, L, about);
    m3_mulv(Yw, c->virial, w[j]);
    for (int i = 0; i < 3; ++i)
      D[3 * i + j] += a * (v3_dot(v[i], Pc[j]) + v3_dot(w[i], L)) +
                      b * (second[3 * i + j] + v3_dot(w[i], Yw) - v3_dot(w[i], w[j]) * m3_trace(c->virial));
  }
}

/* Columns of P and W, and the diagonal block, from everything that the link carries. */
static void prepare_carried(super_helix *h, int32_t link, const composite *c, double a, double b, const double *second)
{
  double *P = h->momentum + 9 * link, *W = h->moment + 9 * link;
  for (int i = 0; i < 3; ++i) {
    double p[3], l[3], turned[3];
    carried_column(h, link, c, i, p, l, turned);
    for (int k = 0; k < 3; ++k) {
      P[3 * k + i] = a * p[k];
      W[3 * k + i] = a * l[k] + b * turned[k];
    }
  }
  m3_zero(h->diagonal + 9 * link);
  carried_diagonal(h, link, c, a, b, second, h->diagonal + 9 * link);
}

/* Contribution of second derivatives of an element's own motion to its block of G: from its end, and from the rotation of the
 * links that it carries. */
static void end_second(const super_helix *h, int32_t e, const double *kappa, const composite *c, const double moment[3], double second[9])
{
  const double *R = h->frame + 9 * e;
  helix_element end;
  double        torque[3], f[3], t[3];
  composite_torque(c, torque);
  v3_axpy(torque, 1.0, moment);
  m3_mulv_t(f, R, c->force);
  m3_mulv_t(t, R, torque);
  helix_element_at(&end, kappa + 3 * e, h->length[e]);
  m3_zero(second);
  helix_element_second(&end, f, second);
  for (int i = 0; i < 3; ++i) {
    const double unit[3] = {i == 0, i == 1, i == 2};
    double       B[9], row[3];
    helix_element_derivative(&end, unit, B);
    m3_mulv_t(row, B, t);
    for (int j = 0; j < 3; ++j) second[3 * i + j] += row[j];
  }
}

/* The same for the element's own points, which move with the element only. */
static void prepare_own(super_helix *h, int32_t e, const double *kappa, double a, double b, const double *f)
{
  const int64_t link = ROOT + e;
  double       *P = h->momentum + 9 * link, *W = h->moment + 9 * link, *D = h->diagonal + 9 * link;
  for (int q = 0; q < POINTS; ++q) {
    const int64_t at = POINTS * (int64_t)e + q;
    const double *Z = h->arm + 9 * at, m = h->point_mass[at];
    double        arm[3], z[3], L[3], turned[3], square[9], local[3], second[9] = {0.0};
    helix_element here;
    v3_sub(arm, h->point + 3 * at, h->end);
    for (int i = 0; i < 3; ++i) {
      super_helix_column(z, Z, i);
      v3_cross(L, arm, z);
      v3_cross(turned, z, f + 3 * at);
      for (int k = 0; k < 3; ++k) {
        P[3 * k + i] += a * m * z[k];
        W[3 * k + i] += a * m * L[k] + b * turned[k];
      }
    }
    m3_mul_tn(square, Z, Z);
    m3_axpy(D, a * m, square);
    m3_mulv_t(local, h->frame + 9 * (int64_t)e, f + 3 * at);
    helix_element_at(&here, kappa + 3 * (int64_t)e, helix_gauss_place[q] * h->length[e]);
    helix_element_second(&here, local, second);
    m3_axpy(D, b, second);
  }
}

/* Rates of spin about the tangent, of everything after the link, per unit of its unknowns. */
static void spin_of(const super_helix *h, int32_t link, double s[3])
{
  if (link >= ROOT) v3_set(s, h->length[link - ROOT], 0.0, 0.0);
  else if (link == 1) v3_copy(s, h->axis);
  else v3_set(s, 0.0, 0.0, 0.0);
}

static void add_spin(super_helix *h, int32_t link, double a)
{
  double inertia = h->spin_after[link], s[3], outer[9];
  /* The own element: its mean square rotation is a third of that of its end; half of it is already included. */
  if (link >= ROOT) inertia -= h->spin_inertia * h->length[link - ROOT] * (1.0 / 2 - 1.0 / 3);
  spin_of(h, link, s);
  m3_outer(outer, s, s);
  m3_axpy(h->diagonal + 9 * link, a * inertia, outer);
}

void super_helix_prepare(super_helix *h, const double *kappa, double a, double b, const super_helix_load *load)
{
  const double *f = load->f;
  composite     c = {0};
  double        second[9], y[3], torque[3];
  h->mass_factor = a;
  v3_copy(c.force, load->tip);
  v3_scale(h->couple, b, load->moment);
  for (int32_t e = h->n - 1; e >= 0; --e) {
    const int32_t link  = ROOT + e;
    const double *start = h->end + 3 * (link - 1);
    end_second(h, e, kappa, &c, load->moment, second);
    prepare_carried(h, link, &c, a, b, second);
    prepare_own(h, e, kappa, a, b, f);
    add_spin(h, link, a);
    v3_sub(y, h->end + 3 * link, start);
    composite_move(&c, y);
    for (int64_t q = POINTS * (int64_t)e; q < POINTS * (int64_t)(e + 1); ++q) {
      v3_sub(y, h->point + 3 * q, start);
      composite_add(&c, y, h->point_mass[q], f + 3 * q);
    }
  }
  composite_torque(&c, torque);
  v3_axpy(torque, 1.0, load->moment);
  cayley_second(second, h->theta, torque);
  prepare_carried(h, 1, &c, a, b, second);
  add_spin(h, 1, a);
  m3_zero(second);
  prepare_carried(h, 0, &c, a, b, second);
}

void super_helix_product(const super_helix *h, const double *u, double *out, bool is_transposed)
{
  const int32_t links     = h->n + ROOT;
  double        linear[3] = {0.0}, angular[3] = {0.0}, spin = 0.0, term[3], s[3];
  /* From root to tip: effect of the links before this one, and its own block. */
  for (int32_t j = 0; j < links; ++j) {
    double *o = out + 3 * j, v[3], w[3], arm[3], c[3];
    spin_of(h, j, s);
    m3_mulv_t(term, h->momentum + 9 * j, linear);
    v3_axpy(o, 1.0, term);
    m3_mulv_t(term, h->moment + 9 * j, angular);
    v3_axpy(o, 1.0, term);
    v3_axpy(o, h->mass_factor * spin * h->spin_after[j], s);
    if (is_transposed) m3_mulv_t(term, h->diagonal + 9 * j, u + 3 * j);
    else m3_mulv(term, h->diagonal + 9 * j, u + 3 * j);
    v3_axpy(o, 1.0, term);
    if (!is_transposed) { /* rotation of w_j by the links before: (w_i x w_j) . couple */
      v3_cross(c, h->couple, angular);
      m3_mulv_t(term, h->turn + 9 * j, c);
      v3_axpy(o, 1.0, term);
    }
    m3_mulv(v, h->shift + 9 * j, u + 3 * j);
    m3_mulv(w, h->turn + 9 * j, u + 3 * j);
    v3_sub(arm, h->end + 3 * j, h->end);
    v3_cross(c, w, arm);
    for (int k = 0; k < 3; ++k) linear[k] += v[k] - c[k], angular[k] += w[k];
    spin += v3_dot(s, u + 3 * j);
  }
  /* From tip to root: effect of the links after this one. */
  double P[3] = {0.0}, W[3] = {0.0}, after[3] = {0.0};
  spin = 0.0;
  for (int32_t i = links - 1; i >= 0; --i) {
    double *o = out + 3 * i, arm[3], about[3];
    v3_sub(arm, h->end + 3 * i, h->end);
    v3_cross(about, arm, P);
    v3_sub(about, W, about);
    m3_mulv_t(term, h->shift + 9 * i, P);
    v3_axpy(o, 1.0, term);
    m3_mulv_t(term, h->turn + 9 * i, about);
    v3_axpy(o, 1.0, term);
    if (is_transposed) {
      v3_cross(about, after, h->couple);
      m3_mulv_t(term, h->turn + 9 * i, about);
      v3_axpy(o, 1.0, term);
      m3_mulv(term, h->turn + 9 * i, u + 3 * i);
      v3_axpy(after, 1.0, term);
    }
    spin_of(h, i, s);
    v3_axpy(o, h->mass_factor * spin, s);
    m3_mulv(term, h->momentum + 9 * i, u + 3 * i);
    v3_axpy(P, 1.0, term);
    m3_mulv(term, h->moment + 9 * i, u + 3 * i);
    v3_axpy(W, 1.0, term);
    spin += h->spin_after[i] * v3_dot(s, u + 3 * i);
  }
}

void super_helix_block(const super_helix *h, int32_t row, int32_t col, double block[9])
{
  const int32_t i = row < col ? row : col, j = row < col ? col : row;
  double        upper[9], term[9], about[9], arm[3], si[3], sj[3];
  if (row == col) {
    m3_copy(block, h->diagonal + 9 * row);
    return;
  }
  v3_sub(arm, h->end + 3 * i, h->end);
  m3_skew(term, arm);
  m3_mul(about, term, h->momentum + 9 * j);
  for (int k = 0; k < 9; ++k) about[k] = h->moment[9 * j + k] - about[k];
  m3_mul_tn(upper, h->shift + 9 * i, h->momentum + 9 * j);
  m3_mul_tn(term, h->turn + 9 * i, about);
  m3_axpy(upper, 1.0, term);
  spin_of(h, i, si), spin_of(h, j, sj);
  m3_outer(term, si, sj);
  m3_axpy(upper, h->mass_factor * h->spin_after[j], term);
  if (row < col) {
    m3_copy(block, upper);
    return;
  }
  m3_transpose(block, upper);
  m3_skew(term, h->couple);
  m3_mul(about, term, h->turn + 9 * i);
  m3_mul_tn(term, h->turn + 9 * j, about);
  m3_axpy(block, 1.0, term);
}
