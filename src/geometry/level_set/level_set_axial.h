/* Points about an axis, for level sets of revolution; only files named level_set*.c include this. */
#ifndef SS_GEOMETRY_LEVEL_SET_LEVEL_SET_AXIAL_H
#define SS_GEOMETRY_LEVEL_SET_LEVEL_SET_AXIAL_H

/* Distance from the axis: rho with unit direction e, coordinate z along the axis; t = a x e. */
typedef struct {
  double rho, z, e[3], t[3];
} axial_point;

/* Where x is about the axis through c along the unit vector a; on the axis itself e is always the same. */
axial_point axial_locate(const double c[3], const double a[3], const double x[3]);
/* From derivatives in the half plane (rho, z) to three dimensions; f_rr = d2f/drho2 etc. gradient [3] or
 * hessian [9] may be NULL. */
void axial_derivatives(const double a[3], const axial_point *o, double f_r, double f_z, double f_rr, double f_rz, double f_zz,
                       double *gradient, double *hessian);
#endif
