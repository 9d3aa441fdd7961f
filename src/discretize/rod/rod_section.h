/* Stiffness and mass of a rod's cross-section, and quaternion frames of sections. Used by rod_kind.c and the rod models. */
#ifndef SS_DISCRETIZE_ROD_ROD_SECTION_H
#define SS_DISCRETIZE_ROD_ROD_SECTION_H
#include "core/quaternion.h"
#include "discretize/material/material.h"
#include "discretize/rod/rod_keys.h"

typedef struct {
  double stretch;            /* E A [N] */
  double bending[2];         /* E I [N m^2]: bending towards the director; bending perpendicular to it */
  double twist;              /* G J [N m^2], J the torsion constant of [SaintVenant1855] */
  double mass_per_length;    /* [kg/m] */
  double shear;              /* G A [N] */
  double inertia[2];         /* second moments of the mass per length, along the director and perpendicular to it [kg m] */
  double inertia_per_length; /* about the axis: sum of both [kg m] */
  double radius;             /* for contact: the smaller half width [m] */
} rod_section;

/* Compute section properties from the shape of the section and the elastic material m. Values given in `stiffness` replace them. */
void rod_section_of(const rod_section_spec *section, const rod_stiffness_spec *stiffness, const material *m, rod_section *out);
/* Torsion constant of a rectangle with these sides [m^4]. */
double rod_torsion_of_rectangle(double side, double other);

/* Frames of a section as quaternions. The columns of the rotation matrix are the tangent, the director, and the cross product of both.
 * Strains have the same order: twist, curvature about the director, curvature about the third axis (bending towards the director). */

/* q: frame with tangent and director, which are orthogonal unit vectors. */
static inline void rod_frame_quaternion(double q[4], const double tangent[3], const double director[3])
{
  double R[9], across[3];
  v3_cross(across, tangent, director);
  for (int k = 0; k < 3; ++k) R[3 * k] = tangent[k], R[3 * k + 1] = director[k], R[3 * k + 2] = across[k];
  quaternion_from_matrix(q, R);
}

/* K: stiffnesses of the three strains [N m^2]. */
static inline void rod_frame_stiffness(double K[3], const rod_section *s) { v3_set(K, s->twist, s->bending[1], s->bending[0]); }

/* strain in: strains of the initial shape [1/m]; out: natural strains, as given by the job. */
static inline void rod_frame_natural(double strain[3], const rod_natural_spec *n)
{
  if (n->shape == ROD_NATURAL_STRAIGHT) v3_set(strain, 0.0, 0.0, 0.0);
  if (!isnan(n->curvature[0])) strain[2] = n->curvature[0], strain[1] = -n->curvature[1];
  if (!isnan(n->twist)) strain[0] = n->twist;
}
#endif
