/* Trees of rigid links in reduced coordinates: poses of the links for given joint positions, mass matrix, velocities and forces.
 * Used by articulated_body.c.
 *
 * Positions X of links are given in world coordinates with all joints at zero. At other joint positions a point of link i is at
 * x = R_i X + p_i, the motion of its joint followed by that of its parent. For a joint at point a, with axis n and two axes e, f normal to it
 * (all with joints at zero):
 *
 *    type        positions                        rates, in the parent's axes
 *    revolute    angle                            about n
 *    prismatic   length                           along n
 *    ball        quaternion (w, x, y, z)          angular velocity
 *    free        displacement, quaternion         velocity of the point a, angular velocity
 *    planar      lengths along e and f, angle     along e, f (of a), about n
 *    fixed       none                             none
 *
 * Quaternions have no singular poses. Each rate of a joint is `factor` times one of n_v independent velocities v. This is the velocity of
 * the joint itself. If the joint mimics another joint, it is the velocity of that other joint. The column S_k is the spatial motion
 * (spatial.h) of all links carried by the joint, for rate k = 1. Source: [Featherstone2008]. */
#ifndef SS_DISCRETIZE_ARTICULATED_ARTICULATED_TREE_H
#define SS_DISCRETIZE_ARTICULATED_ARTICULATED_TREE_H
#include "core/error.h"
#include "discretize/articulated/spatial.h"

typedef enum { JOINT_REVOLUTE, JOINT_PRISMATIC, JOINT_BALL, JOINT_FREE, JOINT_FIXED, JOINT_PLANAR } joint_type;
int joint_type_rates(joint_type t); /* number of rates of a joint */

typedef struct {
  int     n, n_q, n_rates, n_v;    /* links, positions, rates, independent velocities */
  int    *parent;                  /* [n] parent[i] < i; -1: the world */
  int    *type;                    /* [n] joint_type of the joint that carries link i */
  int    *q_start, *rate_start;    /* [n + 1] */
  double *anchor, *axes;           /* [n][3] point a; [n][9] rows n, e, f */
  double *mass, *center, *inertia; /* [n] masses, [n][3] centres of mass, [n][9] inertia about the centres, with joints at zero */
  int    *dof;                     /* [n_rates] the independent velocity of each rate */
  double *factor, *offset;         /* [n_rates] rate = factor v[dof]; position = factor q + offset, for joints that mimic */
  int    *leader;                  /* [n_rates] the rate whose independent velocity is used: k itself, unless the joint mimics
                                      another joint */
  /* Work arrays of one evaluation. */
  spatial_inertia *composite;      /* [n] */
  double          *motion, *force; /* [n][6] */
  double          *full;           /* [n_rates]^2 */
} articulated_tree;

/* Allocate n links with joints of the types type [n]. Every rate has its own independent velocity, factor 1; other data are zero.
 * articulated_tree_destroy accepts a zeroed struct. */
PetscErrorCode articulated_tree_create(int n, const int *type, articulated_tree *t);
void           articulated_tree_destroy(articulated_tree *t);
/* Number the independent velocities again after changes of `leader`. A leader must be its own leader. */
void articulated_tree_number(articulated_tree *t);
/* Set axes (rows n, e, f) from a direction of any length > 0. e is the coordinate axis with the largest angle to n (the first, if angles
 * are equal), made orthogonal to n. */
void articulated_axes(const double direction[3], double axes[9]);

/* Set q [n_q] to all joints at zero: positions 0, quaternions (1, 0, 0, 0). */
void articulated_tree_rest(const articulated_tree *t, double *q);
/* q1 [n_q] = joint positions after a time dt from q [n_q] with independent velocities v [n_v]. Positions of joints that mimic are computed
 * from those of their leaders. q1 must differ from q. */
void articulated_tree_advance(const articulated_tree *t, const double *q, const double *v, double dt, double *q1);
/* Poses R [n][9], p [n][3] of the links for joint positions q. */
void articulated_tree_pose(const articulated_tree *t, const double *q, double *R, double *p);
/* Pose of one link, computed along its chain to the root. */
void articulated_tree_link_pose(const articulated_tree *t, const double *q, int link, double R[9], double p[3]);
/* S [n_rates][6] for joint positions q and the poses R, p of articulated_tree_pose. */
void articulated_tree_columns(const articulated_tree *t, const double *q, const double *R, const double *p, double *S);
/* Spatial velocities V [n][6] of the links for independent velocities v [n_v]. */
void articulated_tree_velocities(const articulated_tree *t, const double *S, const double *v, double *V);
/* Mass matrix M [n_v][n_v] by the composite rigid body algorithm. Uses the work arrays of t. */
void articulated_tree_mass_matrix(articulated_tree *t, const double *R, const double *p, const double *S, double *M);
/* tau [n_v] = M a + bias: generalised forces that give independent accelerations a [n_v] (NULL: zero) under gravity, by the recursive
 * Newton-Euler algorithm. Uses the work arrays of t. */
void articulated_tree_inverse_dynamics(articulated_tree *t, const double *R, const double *p, const double *S, const double *v,
                                       const double *a, const double gravity[3], double *tau);
/* tau [n_v] += sum of J^T F: generalised forces of the spatial forces F [n][6] on the links. Overwrites F with the forces that the joints
 * transmit. */
void articulated_tree_project(const articulated_tree *t, const double *S, double *F, double *tau);
/* J [3][n_v]: the point at x of a link has the velocity J v. link -1: the world, J = 0. */
void articulated_tree_point_jacobian(const articulated_tree *t, const double *S, int link, const double x[3], double *J);
#endif
