/* Frames of a section as quaternions: columns of the matrix are the tangent, the director, and across both; strains in the same order: twist,
 * curvature about the director, curvature about what is across (a bend towards the director). */
#ifndef SS_DISCRETIZE_ROD_ROD_FRAME_H
#define SS_DISCRETIZE_ROD_ROD_FRAME_H
#include "core/quaternion.h"
#include "discretize/rod/rod_keys.h"
#include "discretize/rod/rod_section.h"

/* tangent, director: unit, at a right angle. */
static inline void rod_frame_quaternion(double q[4], const double tangent[3], const double director[3])
{
  double R[9], across[3];
  v3_cross(across, tangent, director);
  for (int k = 0; k < 3; ++k) R[3 * k] = tangent[k], R[3 * k + 1] = director[k], R[3 * k + 2] = across[k];
  quaternion_from_matrix(q, R);
}

static inline void rod_frame_stiffness(double K[3], const rod_section *s) { v3_set(K, s->twist, s->bending[1], s->bending[0]); }

/* From twist and curvatures as drawn to those without load. */
static inline void rod_frame_natural(double strain[3], const rod_natural_spec *n)
{
  if (n->shape == ROD_NATURAL_STRAIGHT) v3_set(strain, 0.0, 0.0, 0.0);
  if (!isnan(n->curvature[0])) strain[2] = n->curvature[0], strain[1] = -n->curvature[1];
  if (!isnan(n->twist)) strain[0] = n->twist;
}
#endif
