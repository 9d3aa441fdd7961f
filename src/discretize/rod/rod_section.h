/* Stiffness and mass of a rod's section. */
#ifndef SS_DISCRETIZE_ROD_ROD_SECTION_H
#define SS_DISCRETIZE_ROD_ROD_SECTION_H
#include "discretize/material/material.h"
#include "discretize/rod/rod_keys.h"

typedef struct {
  double stretch;            /* E A [N] */
  double bending[2];         /* of bends towards the director and across it, E I [N m^2] */
  double twist;              /* G J [N m^2], J the torsion constant of [SaintVenant1855] */
  double mass_per_length;    /* [kg/m] */
  double shear;              /* G A [N] */
  double inertia[2];         /* of the mass, spread along the director and across it, per length [kg m] */
  double inertia_per_length; /* about the axis: their sum [kg m] */
  double radius;             /* the smaller half width, of contacts [m] */
} rod_section;

/* What `stiffness` gives takes the place of what section and elastic material say. */
void rod_section_of(const rod_section_spec *section, const rod_stiffness_spec *stiffness, const material *m, rod_section *out);
/* Torsion constant of a rectangle with these sides [m^4]. */
double rod_torsion_of_rectangle(double side, double other);
#endif
