/* A vertex of a discrete elastic rod: the curvatures and the twist between two edges, with first and second derivatives
 * [Bergou2008], [Bergou2010]. Used by rod_model_discrete_elastic_rod.c.
 *
 *    kappa b = 2 t0 x t1 / (1 + t0.t1)      kappa_1 = (m2_0 + m2_1).kappa b / 2     kappa_2 = -(m1_0 + m1_1).kappa b / 2
 *
 * Derivatives are with respect to (e0 [3], e1 [3], theta_0, theta_1). The frames follow their tangents by parallel transport (the
 * smallest rotation). Parallel transport has curvature; hence second derivatives with respect to one edge are not symmetric. Their
 * skew part is d strain / d theta_j [t_j]x / (2 |e_j|^2). der_vertex_hessian leaves it out; the caller adds it where needed. */
#ifndef SS_DISCRETIZE_ROD_DER_VERTEX_H
#define SS_DISCRETIZE_ROD_DER_VERTEX_H

enum { DER_STRAINS = 3, DER_VARIABLES = 8 }; /* kappa_1, kappa_2, twist */

/* An edge with its material frame. */
typedef struct {
  double length, t[3], m1[3], m2[3];
} der_edge;

typedef struct {
  der_edge e[2];
  double   chi, kb[3], tt[3]; /* 1 + t0.t1, curvature binormal, (t0 + t1) / chi */
  double   kappa[2];
} der_vertex;

/* Fill v from v->e; returns false where the curve reverses its direction (chi = 0). */
int der_vertex_set(der_vertex *v);
/* Gradients of kappa_1, kappa_2 and the twist. */
void der_vertex_gradient(const der_vertex *v, double g[DER_STRAINS][DER_VARIABLES]);
/* H += sum_k weight[k] d^2 strain_k, symmetric part. */
void der_vertex_hessian(const der_vertex *v, const double weight[DER_STRAINS], double H[DER_VARIABLES][DER_VARIABLES]);

/* Replace the bending strain 2 tan(phi / 2) by the angle phi: s = kappa h with |s| = 2 atan(|kappa| / 2), J [k][l] =
 * ds_k/dkappa_l, and D [l][m] = sum_k moment[k] d^2 s_k / dkappa_l dkappa_m, unless moment is NULL. */
void der_bend_angle(const double kappa[2], double s[2], double J[2][2], const double moment[2], double D[2][2]);
#endif
