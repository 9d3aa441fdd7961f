/* Volume, centre and inertia of bodies of unit density, summed up over simplices. */
#ifndef SS_GEOMETRY_PRIMITIVE_MASS_PROPERTIES_H
#define SS_GEOMETRY_PRIMITIVE_MASS_PROPERTIES_H

/* Volume [m^3], centre [m], and inertia about the centre for unit density [m^5]; symmetric, row-major. */
typedef struct {
  double volume, center[3], inertia[9];
} mass_properties;
/* The same body in another pose, x -> c + R x. */
mass_properties mass_properties_transform(const mass_properties *p, const double c[3], const double R[9]);

/* Integrals of 1, x and x x^T about a reference point; begin with zeros. */
typedef struct {
  double volume, first[3], second[9];
} mass_sum;
/* Add a tetrahedron of signed volume: corner [n_corners][3] about the reference point, which is the fourth if there are three. */
void mass_sum_add(mass_sum *s, double volume, int n_corners, const double (*corner)[3]);
/* What was added up about the reference point `origin`. */
mass_properties mass_sum_properties(const mass_sum *s, const double origin[3]);
#endif
