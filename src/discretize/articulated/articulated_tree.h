/* Trees of rigid links in reduced coordinates: where joints put the links, and what that makes of masses, velocities and forces.
 *
 * Everything is drawn once, in world coordinates and with all joints at zero. Link i is then a rigid displacement of its drawing,
 * x = R_i X + p_i, by its joint on top of its parent's. With the joint at a (drawn), axis n and two axes e, f across it:
 *
 *   type        positions                        rates, the parent's axes
 *   revolute    angle                            about n
 *   prismatic   length                           along n
 *   ball        quaternion (w, x, y, z)          angular velocity
 *   free        displacement, quaternion         velocity of the point a, angular velocity
 *   planar      lengths along e and f, angle     along e, f (of a), about n
 *   fixed       none                             none
 *
 * Quaternions have no singular poses. Rates of joints are `factor` times one of n_v independent velocities v: one each, but for
 * joints that mimic others. A column S_k is the spatial motion (spatial.h) of the links beyond for a unit of rate k.
 * Source: [Featherstone2008]; convex-mpm-rigid.md, section 10. */
#ifndef SS_DISCRETIZE_ARTICULATED_ARTICULATED_TREE_H
#define SS_DISCRETIZE_ARTICULATED_ARTICULATED_TREE_H
#include "core/error.h"
#include "discretize/articulated/spatial.h"

typedef enum { JOINT_REVOLUTE, JOINT_PRISMATIC, JOINT_BALL, JOINT_FREE, JOINT_FIXED, JOINT_PLANAR } joint_type;
/* Number of rates of a joint. */
int joint_type_rates(joint_type t);

typedef struct {
  int     n, n_q, n_rates, n_v;    /* links, positions, rates, independent velocities */
  int    *parent;                  /* [n] parent[i] < i; -1: the world */
  int    *type;                    /* [n] joint_type of the joint that carries link i */
  int    *q_start, *rate_start;    /* [n + 1] */
  double *anchor, *axes;           /* [n][3] a; [n][9] rows n, e, f */
  double *mass, *center, *inertia; /* [n], [n][3], [n][9] about the centre; of links, as drawn */
  int    *dof;                     /* [n_rates] the independent velocity that a rate goes with */
  double *factor, *offset;         /* [n_rates] rate = factor v[dof]; position = factor q + offset, of joints that mimic */
  int    *leader;                  /* [n_rates] the rate that has it for its own: k itself where nothing is mimicked */
  /* Work of one evaluation. */
  spatial_inertia *composite;      /* [n] */
  double          *motion, *force; /* [n][6] */
  double          *full;           /* [n_rates]^2 */
} articulated_tree;

/* Room for n links with joints of these types, one after another; everything else zero, dof and leader one to one, factor 1.
 * Destroy copes with zeros. */
PetscErrorCode articulated_tree_create(int n, const int *type, articulated_tree *t);
void           articulated_tree_destroy(articulated_tree *t);
/* After some rates have got another `leader` (whose own leader is itself): number the independent velocities. */
void articulated_tree_number(articulated_tree *t);
/* n, e and f from a direction of any length > 0: e is the coordinate axis farthest from n, the first of equals, made square to
 * it. */
void articulated_axes(const double direction[3], double axes[9]);

/* All positions 0, quaternions 1. */
void articulated_tree_rest(const articulated_tree *t, double *q);
/* q1 [n_q] = q after dt with independent velocities v. Of followers, from their leaders'. May not alias. */
void articulated_tree_advance(const articulated_tree *t, const double *q, const double *v, double dt, double *q1);
/* Where joint positions q put the links: R [n][9], p [n][3]. */
void articulated_tree_pose(const articulated_tree *t, const double *q, double *R, double *p);
/* Of one link alone, by way of the links it hangs on. */
void articulated_tree_link_pose(const articulated_tree *t, const double *q, int link, double R[9], double p[3]);
/* S [n_rates][6] in that pose. */
void articulated_tree_columns(const articulated_tree *t, const double *q, const double *R, const double *p, double *S);
/* Spatial velocities V [n][6] of the links. */
void articulated_tree_velocities(const articulated_tree *t, const double *S, const double *v, double *V);
/* M [n_v][n_v], by composite rigid bodies; uses t's work arrays. */
void articulated_tree_mass_matrix(articulated_tree *t, const double *R, const double *p, const double *S, double *M);
/* tau [n_v]: what moves the tree with independent accelerations a (NULL: none) under gravity, by recursive Newton-Euler: M a +
 * bias. Uses t's work arrays. */
void articulated_tree_inverse_dynamics(articulated_tree *t, const double *R, const double *p, const double *S,
                                       const double *v, const double *a, const double gravity[3], double *tau);
/* tau [n_v] += what forces F [n][6] on the links do: sum of J^T F. F is used up: it ends with what passes through each link's
 * joint. */
void articulated_tree_project(const articulated_tree *t, const double *S, double *F, double *tau);
/* J [3][n_v]: velocity of the point of a link (-1: of the world, 0) that is at x. */
void articulated_tree_point_jacobian(const articulated_tree *t, const double *S, int link, const double x[3], double *J);
#endif
