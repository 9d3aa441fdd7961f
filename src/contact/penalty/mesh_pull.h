/* Private to mesh_relaxation.c: how a point at Z pulls at its attachment in the plane of a triangle, and what friction has against it there and
 * along edges. Notation of penalty-relaxation.md, section 4. */
#ifndef SS_CONTACT_PENALTY_MESH_PULL_H
#define SS_CONTACT_PENALTY_MESH_PULL_H
#include "contact/penalty/relaxation.h"
#include "geometry/triangle_mesh/triangle_topology.h"

typedef struct {
  const triangle_topology *mesh;
  const double            *x, *Z;
  const relax_cone        *cone;
  const double            *rest; /* where the direction of the cone is laid; not used for circles */
} pulled_surface;

/* The metric in a triangle: |d| times `stretch` across the unit vector t = (c_1 e_1 + c_2 e_2)/length, |d| along it; c == 0: in every direction. */
typedef struct {
  double stretch, c[3] /* by corner, sum 0 */, t[3], length;
} pull_metric;

typedef struct {
  double n[3], dual[3][3]; /* unit normal; gradients of the weights in the plane */
  double phi, lambda[3], delta[3], q[3], r, s; /* r: length of q */
  pull_metric m;
  bool   is_sliding;
} triangle_pull;

/* n += unit normal of a triangle, times its angle at a corner unless that is < 0. */
void pull_add_normal(const pulled_surface *s, int32_t triangle, int corner_for_angle, double n[3]);
pull_metric pull_metric_of(const pulled_surface *s, const double *const P[3], const int32_t v[3]);
/* The coefficient of friction along a side of a triangle. */
double pull_edge_friction(const pulled_surface *s, int32_t triangle, int side);
/* The pull at weights beta of the triangle with corners v at P. False for a triangle without area. */
bool pull_in_triangle(const pulled_surface *s, const double *P[3], const int32_t v[3], const double beta[3], triangle_pull *p);
/* dr = u . dq + turn . d(length t), r^2 = a^2 |q|^2 + (1 - a^2) (q . t)^2; without a direction u = a q/|q|. */
void pull_gradient_of_length(const triangle_pull *p, double u[3], double turn[3]);
#endif
