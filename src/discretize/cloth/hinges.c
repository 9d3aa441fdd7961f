/* Implementation of hinges.h: bending hinges between triangles. */
#include "discretize/cloth/hinges.h"
#include "core/math3.h"
#include "core/memory.h"

/* Triangles with less than this part of the area of a square over the edge have no normal. */
#define THINNEST 1e-9

typedef struct {
  double  beta;
  bool    is_definite;      /* omit the stiffness due to the rotation of the gradient */
  double *stiffness, *rest; /* [n] c [J], theta0 */
  double *gradient[9];      /* [n] of theta by nodes 1, 2, 3 at the start of the step, if beta > 0 */
} hinges;

/* With e, a, b: from node 0 to nodes 1, 2, 3, and normals n1 = e x a, n2 = b x e (twice the areas),
 *
 *   d theta / da = -|e| n1 / |n1|^2,   d theta / db = -|e| n2 / |n2|^2,   d theta / de = -(s d theta/da + t d theta/db)
 *
 * where s = a.e / |e|^2 and t = b.e / |e|^2 are the feet of the other two nodes on the edge. gradient [9] by (e, a, b); hessian [9][9] row-major,
 * unless NULL. Returns false where a triangle has no area. */
static bool hinge_angle(const double e[3], const double a[3], const double b[3], double *theta, double *gradient, double *hessian)
{
  double       n1[3], n2[3], cross[3];
  const double ee = v3_dot(e, e), length = sqrt(ee);
  v3_cross(n1, e, a);
  v3_cross(n2, b, e);
  const double s1 = v3_dot(n1, n1), s2 = v3_dot(n2, n2), thinnest = THINNEST * THINNEST * ee * ee;
  if (!(ee > 0.0 && s1 > thinnest && s2 > thinnest)) return false;
  v3_cross(cross, n1, n2);
  *theta = atan2(v3_dot(cross, e) / length, v3_dot(n1, n2));
  if (!gradient) return true;
  double      *g_e = gradient, *g_a = gradient + 3, *g_b = gradient + 6;
  const double s = v3_dot(a, e) / ee, t = v3_dot(b, e) / ee;
  v3_scale(g_a, -length / s1, n1);
  v3_scale(g_b, -length / s2, n2);
  for (int i = 0; i < 3; ++i) g_e[i] = -(s * g_a[i] + t * g_b[i]);
  if (!hessian) return true;
  /* With P = d(n / |n|^2) / dn: H_aa = -|e| P1 [e]x, H_ae = |e| P1 [a]x - n1/|n1|^2 (e/|e|)^T, and so on. */
  double skew_e[9], skew_a[9], skew_b[9], P1[9], P2[9], aa[9], bb[9], ae[9], be[9];
  m3_skew(skew_e, e);
  m3_skew(skew_a, a);
  m3_skew(skew_b, b);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      P1[3 * i + j] = -length / s1 * ((i == j) - 2.0 * n1[i] * n1[j] / s1);
      P2[3 * i + j] = -length / s2 * ((i == j) - 2.0 * n2[i] * n2[j] / s2);
    }
  m3_mul(aa, P1, skew_e);
  m3_mul(ae, P1, skew_a);
  m3_mul(bb, P2, skew_e);
  m3_mul(be, P2, skew_b);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      const int    k  = 3 * i + j;
      const double ds = (a[j] - 2.0 * s * e[j]) / ee, dt = (b[j] - 2.0 * t * e[j]) / ee; /* by e */
      const double H_ae = g_a[i] * e[j] / ee - ae[k], H_be = g_b[i] * e[j] / ee + be[k];
      hessian[9 * (3 + i) + 3 + j] = aa[k];
      hessian[9 * (6 + i) + 6 + j] = -bb[k];
      hessian[9 * (3 + i) + 6 + j] = hessian[9 * (6 + i) + 3 + j] = 0.0;
      hessian[9 * (3 + i) + j] = hessian[9 * j + 3 + i] = H_ae;
      hessian[9 * (6 + i) + j] = hessian[9 * j + 6 + i] = H_be;
      hessian[9 * i + j]                                = -(g_a[i] * ds + s * H_ae + g_b[i] * dt + t * H_be);
    }
  return true;
}

/* The difference of two angles, between -pi and pi. */
static double angle_between(double to, double from)
{
  const double d = to - from;
  return d > M_PI ? d - 2.0 * M_PI : d < -M_PI ? d + 2.0 * M_PI : d;
}

static void arms(const element_row *x, int64_t e, double arm[9])
{
  for (int k = 0; k < 9; ++k) arm[k] = x[3 + k][e] - x[k % 3][e];
}

static int64_t hinges_evaluate(const void *context, int64_t first, int64_t n, double dt, const element_row *x, const element_row *v,
                               element_row *f, element_row *S)
{
  const hinges *h = context;
  for (int64_t e = 0; e < n; ++e) {
    const double c = h->stiffness[first + e];
    double       arm[9], g[9], H[81], g0[9], theta, rate = 0.0;
    arms(x, e, arm);
    const bool has_hessian = S && !h->is_definite;
    if (!hinge_angle(arm, arm + 3, arm + 6, &theta, g, has_hessian ? H : NULL)) return e;
    const double moment = c * angle_between(theta, h->rest[first + e]);
    for (int k = 0; k < 9 && h->beta > 0.0; ++k) {
      g0[k] = h->gradient[k][first + e];
      rate += g0[k] * (v[3 + k][e] - v[k % 3][e]);
    }
    for (int k = 0; k < 9; ++k) f[3 + k][e] = -moment * g[k] - (h->beta > 0.0 ? h->beta * c * rate * g0[k] : 0.0);
    for (int p = 0; p < 9 && S; ++p)
      for (int q = 0; q < 9; ++q) {
        double value = dt * dt * (c * g[p] * g[q] + (has_hessian ? moment * H[9 * p + q] : 0.0));
        if (h->beta > 0.0) value += dt * h->beta * c * g0[p] * g0[q];
        S[9 * (4 * (p / 3 + 1) + q / 3 + 1) + 3 * (p % 3) + q % 3][e] = value;
      }
  }
  element_balance(4, n, f, S);
  return n;
}

static void hinges_energy(const void *context, int64_t first, int64_t n, const element_row *x, double *out)
{
  const hinges *h = context;
  for (int64_t e = 0; e < n; ++e) {
    double arm[9], theta = 0.0;
    arms(x, e, arm);
    (void)hinge_angle(arm, arm + 3, arm + 6, &theta, NULL, NULL);
    const double d = angle_between(theta, h->rest[first + e]);
    out[e]         = 0.5 * h->stiffness[first + e] * d * d;
  }
}

static void arms_of(const int32_t *node, const double *x, double arm[9])
{
  for (int k = 0; k < 3; ++k) v3_sub(arm + 3 * k, x + 3 * (int64_t)node[k + 1], x + 3 * (int64_t)node[0]);
}

static void begin_step(void *context, int64_t n, const int32_t *node, const double *x, const double *v)
{
  hinges *h = context;
  (void)v;
  if (!(h->beta > 0.0)) return;
#pragma omp parallel for schedule(static)
  for (int64_t e = 0; e < n; ++e) {
    double arm[9], g[9], theta;
    arms_of(node + 4 * e, x, arm);
    const bool is_sound = hinge_angle(arm, arm + 3, arm + 6, &theta, g, NULL);
    for (int k = 0; k < 9; ++k) h->gradient[k][e] = is_sound ? g[k] : 0.0;
  }
}

static void set_definite(void *context, bool is_wanted) { ((hinges *)context)->is_definite = is_wanted; }

static void hinges_destroy(void **context)
{
  hinges *h = *context;
  MEMORY_FREE(&h->stiffness, &h->rest);
  for (int k = 0; k < 9; ++k) memory_free(&h->gradient[k]);
  memory_free(context);
}

/* clang-format off */
static const element_ops ops = {
    .name = "hinges", .n_nodes = 4, .begin_step = begin_step, .evaluate = hinges_evaluate, .energy = hinges_energy, .destroy = hinges_destroy, .set_definite = set_definite};
/* clang-format on */

PetscErrorCode hinges_add(nodal_body *b, double bending, double beta, int64_t n, const int32_t *node)
{
  element_set *set;
  hinges      *h;
  PetscFunctionBegin;
  PetscCall(nodal_body_add_set(b, &ops, n, node, &set));
  PetscCall(memory_alloc("hinges", 1, sizeof *h, &h));
  set->context = h;
  h->beta      = beta;
  PetscCall(MEMORY_ALLOC("hinges", ARRAY(h->stiffness, n), ARRAY(h->rest, n)));
  for (int k = 0; k < 9 && beta > 0.0; ++k) PetscCall(memory_alloc("hinges", n, sizeof(double), &h->gradient[k]));
  for (int64_t e = 0; e < n; ++e) {
    double arm[9], n1[3], n2[3];
    arms_of(set->node + 4 * e, b->rest, arm);
    PetscCheck(hinge_angle(arm, arm + 3, arm + 6, &h->rest[e], NULL, NULL), PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
               "%s: a triangle at the edge of nodes %d and %d has no area; repair the mesh", b->base.name, (int)set->node[4 * e],
               (int)set->node[4 * e + 1]);
    v3_cross(n1, arm, arm + 3);
    v3_cross(n2, arm + 6, arm);
    h->stiffness[e] = bending * v3_dot(arm, arm) / (0.5 * (v3_norm(n1) + v3_norm(n2)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
