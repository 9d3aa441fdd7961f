/* H = a M + b G for a chain of links, G = d(J^T f)/d(unknowns) at fixed forces f.
 *
 * What link j carries moves, per unit of its unknowns, by v + w x y (columns of shift, turn; y from its end). For i < j link i turns all that
 * link j moves, rigidly: d^2 r / du_i du_j = w_i x dr/du_j. So with sums over all points p that j moves,
 *
 *   P_j = sum m_p dr_p/du_j,   L_j = sum m_p (r_p - root) x dr_p/du_j,   C_j = sum dr_p/du_j x f_p,   W_j = a L_j + b C_j,
 *   H_ij = a v_i^T P_j + w_i^T (W_j - (end_i - root) x a P_j)
 *
 * The sums over what j carries take its mass, first and second moments and the moments of f, passed from tip to root as by composite
 * bodies: linear in n. A product takes sums over i < j and over j > i, each linear as well. */
#include "core/math3.h"
#include "discretize/rod/cayley.h"
#include "discretize/rod/super_helix.h"
#include "discretize/rod/super_helix_element.h"

enum { POINTS = SUPER_HELIX_POINTS, ROOT = SUPER_HELIX_ROOT };

/* Sums over points at y from a place: mass, sum m y, sum m y y^T, sum f, sum y f^T. */
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

/* The place moves by -d: y grows by d. */
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

static void column(double o[3], const double *m, int i) { v3_set(o, m[i], m[3 + i], m[6 + i]); }

/* Columns i of momentum P, moment L about the root and C (see above), of all that the link carries; the own points of an element come on top. */
static void carried_column(const super_helix *h, int32_t link, const composite *c, int i, double P[3], double L[3], double C[3])
{
  double v[3], w[3], d[3], term[3], about[3];
  column(v, h->shift + 9 * link, i);
  column(w, h->turn + 9 * link, i);
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

/* D [9] += a M + b G of the link with itself, from what it carries; second [9]: what second derivatives of its own motion add to G. */
static void carried_diagonal(const super_helix *h, int32_t link, const composite *c, double a, double b, const double *second, double *D)
{
  double Pc[3][3], L[3], C[3], v[3][3], w[3][3], Yw[3], d[3], about[3];
  v3_sub(d, h->end + 3 * link, h->end);
  for (int i = 0; i < 3; ++i) column(v[i], h->shift + 9 * link, i), column(w[i], h->turn + 9 * link, i);
  for (int j = 0; j < 3; ++j) {
    carried_column(h, link, c, j, Pc[j], L, C);
    v3_cross(about, d, Pc[j]);
    v3_sub(L, L, about);
    m3_mulv(Yw, c->virial, w[j]);
    for (int i = 0; i < 3; ++i)
      D[3 * i + j] += a * (v3_dot(v[i], Pc[j]) + v3_dot(w[i], L)) + b * (second[3 * i + j] + v3_dot(w[i], Yw) - v3_dot(w[i], w[j]) * m3_trace(c->virial));
  }
}

/* Columns of P and W, and the diagonal block, as far as what the link carries goes. */
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

/* What second derivatives of an element's own motion add to its block of G: by its end, and by the turning of what it carries. */
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

/* The same of the element's own points: they move with it, and nothing else of it does. */
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
      column(z, Z, i);
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

/* How fast a link's unknowns spin what comes after it about the tangent. */
static void spin_of(const super_helix *h, int32_t link, double s[3])
{
  if (link >= ROOT) v3_set(s, h->length[link - ROOT], 0.0, 0.0);
  else if (link == 1) v3_copy(s, h->axis);
  else v3_set(s, 0.0, 0.0, 0.0);
}

static void add_spin(super_helix *h, int32_t link, double a)
{
  double inertia = h->spin_after[link], s[3], outer[9];
  /* Of the own element, which turns by a third of the square of what its end does; half of it is in already. */
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
  const int32_t links = h->n + ROOT;
  double        linear[3] = {0.0}, angular[3] = {0.0}, spin = 0.0, term[3], s[3];
  /* From root to tip: what links before do to this one, and its own block. */
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
    if (!is_transposed) { /* the turning of w_j by links before: (w_i x w_j) . couple */
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
  /* From tip to root: what links after do to this one. */
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
