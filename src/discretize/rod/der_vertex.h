/* A vertex of a discrete elastic rod: curvatures and twist between two edges, with two derivatives [Bergou2008], [Bergou2010].
 *
 *   kappa b = 2 t0 x t1 / (1 + t0.t1)      kappa_1 = (m2_0 + m2_1).kappa b / 2     kappa_2 = -(m1_0 + m1_1).kappa b / 2
 *
 * Derivatives are by (e0 [3], e1 [3], theta_0, theta_1), the frames being carried along with the change of their tangents by the smallest rotation.
 * That transport has curvature, hence second derivatives by one edge are not symmetric: their skew part is d strain / d theta_j [t_j]x / (2 |e_j|^2),
 * which is left out here (der_vertex_hessian gives the symmetric part), and put in by who needs it. */
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

/* Fill v from v->e; false where the curve turns back (chi = 0). */
int der_vertex_set(der_vertex *v);
/* Of kappa_1, kappa_2 and the twist. */
void der_vertex_gradient(const der_vertex *v, double g[DER_STRAINS][DER_VARIABLES]);
/* H += sum_k weight[k] d^2 strain_k, symmetric part. */
void der_vertex_hessian(const der_vertex *v, const double weight[DER_STRAINS], double H[DER_VARIABLES][DER_VARIABLES]);

/* Bends by their angle phi in place of 2 tan(phi / 2): s = kappa h with |s| = 2 atan(|kappa| / 2), J [k][l] = ds_k/dkappa_l, and
 * D [l][m] = sum_k moment[k] d^2 s_k / dkappa_l dkappa_m, unless moment is NULL. */
void der_bend_angle(const double kappa[2], double s[2], double J[2][2], const double moment[2], double D[2][2]);
#endif
