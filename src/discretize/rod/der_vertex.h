/* A vertex of a discrete elastic rod: the curvatures and the twist between two edges, with first and second derivatives
 * [Bergou2008], [Bergou2010]. Used by rod_model_discrete_elastic_rod.c.
 *
 *    kappa b = 2 t0 x t1 / (1 + t0.t1)      kappa_1 = (m2_0 + m2_1).kappa b / 2     kappa_2 = -(m1_0 + m1_1).kappa b / 2
 *
 * e0, e1: edges with unit tangents t0, t1; m1_j, m2_j: material directors of edge j, rotated by theta_j about t_j against a reference
 * frame. Derivatives are with respect to (e0 [3], e1 [3], theta_0, theta_1). Reference frames follow their tangents by parallel transport
 * (the smallest rotation). Parallel transport has curvature, so second derivatives with respect to one edge are not symmetric. Their skew
 * part is d strain / d theta_j [t_j]x / (2 |e_j|^2). der_vertex_hessian does not contain it; the caller adds it if necessary. */
#ifndef SS_DISCRETIZE_ROD_DER_VERTEX_H
#define SS_DISCRETIZE_ROD_DER_VERTEX_H

enum { DER_STRAINS = 3, DER_VARIABLES = 8 }; /* kappa_1, kappa_2, twist */

/* An edge with its material frame. */
typedef struct {
  double length, t[3], m1[3], m2[3];
} der_edge;

/* Set e, then call der_vertex_set. */
typedef struct {
  der_edge e[2];
  double   chi, kb[3], tt[3]; /* 1 + t0.t1, curvature binormal kappa b, (t0 + t1) / chi */
  double   kappa[2];
} der_vertex;

/* Fill v from v->e. Returns 0 if the edges have opposite directions (chi = 0), otherwise 1. */
int der_vertex_set(der_vertex *v);
/* g: gradients of kappa_1, kappa_2 and the twist. */
void der_vertex_gradient(const der_vertex *v, double g[DER_STRAINS][DER_VARIABLES]);
/* H += sum_k weight[k] d^2 strain_k, symmetric part. */
void der_vertex_hessian(const der_vertex *v, const double weight[DER_STRAINS], double H[DER_VARIABLES][DER_VARIABLES]);

/* Replace the bending strain |kappa| = 2 tan(phi / 2) by the angle phi between the edges: s is parallel to kappa with |s| = phi. J [k][l] =
 * ds_k/dkappa_l. D [l][m] = sum_k moment[k] d^2 s_k / dkappa_l dkappa_m, unless moment is NULL. */
void der_bend_angle(const double kappa[2], double s[2], double J[2][2], const double moment[2], double D[2][2]);
#endif
