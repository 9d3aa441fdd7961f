/* Volume, centre of mass and inertia of solids of unit density, as sums over tetrahedra. Used by triangle meshes, level sets and
 * shapes. */
#ifndef SS_GEOMETRY_PRIMITIVE_MASS_PROPERTIES_H
#define SS_GEOMETRY_PRIMITIVE_MASS_PROPERTIES_H

/* Volume [m^3], centre of mass [m], and inertia tensor about the centre for unit density [m^5], symmetric, row-major. */
typedef struct {
  double volume, center[3], inertia[9];
} mass_properties;
/* Mass properties of the solid after the rigid motion x -> c + R x. */
mass_properties mass_properties_transform(const mass_properties *p, const double c[3], const double R[9]);

/* Integrals of 1, x and x x^T over a solid, with x relative to a reference point. Initialise with zeros. */
typedef struct {
  double volume, first[3], second[9];
} mass_sum;
/* Add a tetrahedron with signed `volume`. corner [n_corners][3] relative to the reference point; if n_corners is 3, the reference point
 * is the fourth corner. */
void mass_sum_add(mass_sum *s, double volume, int n_corners, const double (*corner)[3]);
/* Mass properties from the integrals about the reference point `origin`. */
mass_properties mass_sum_properties(const mass_sum *s, const double origin[3]);
#endif
