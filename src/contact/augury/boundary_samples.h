/* Sample points on boundary elements (triangles). Between the corners of a triangle larger than the grid cells there would be gaps without
 * grid contact. Each such triangle has additional points at distances of about a quarter of a cell or less [MarquezRazonEtAl2023, sec.
 * 6.1]. They are fixed by barycentric coordinates. Their masses are chosen so that the centre of mass of the points is that of the
 * triangle in every deformed shape; the total mass does not change. Used by augury and pic_contact. */
#ifndef SS_CONTACT_AUGURY_BOUNDARY_SAMPLES_H
#define SS_CONTACT_AUGURY_BOUNDARY_SAMPLES_H
#include "core/error.h"

/* A boundary; the arrays are borrowed. The mass of a corner is the mass of its node, divided by the number of elements at this node. */
typedef struct {
  int64_t        n_nodes, n_elements;
  const int32_t *element; /* [n_elements][3] nodes; oriented outwards */
  const double  *mass;    /* [n_nodes] full nodal masses, including the interior [kg] */
  bool           is_bare; /* true: no additional points */
} augury_boundary;

typedef struct {
  int64_t  n;         /* number of additional points of all elements */
  int64_t *start;     /* [n_elements + 1] first point of each element */
  double (*place)[3]; /* [n] barycentric coordinates */
  double *weight;     /* [n] >= 0, sum 1 in each element: mass of the point relative to that of all points of the element */
  double *corner;     /* [n_elements] 0 < s <= 1: mass of the corners relative to the mass of the element; 1 without points */
} boundary_samples;

/* Compute the mass of corner i of element e, (*share)[e][i] [kg]; *share [n_elements][3], memory_free(share). */
PetscErrorCode boundary_corner_masses(const augury_boundary *b, double (**share)[3]);
/* Create samples for a grid of cells dx [m] and the node positions x [n_nodes][3]. `round`: seed of the random points. Elements whose
 * longest side is at most a quarter of a cell have no points. PETSC_ERR_USER_INPUT with the number of the element for an element without
 * area or an element that needs too many points. */
PetscErrorCode boundary_samples_create(const augury_boundary *b, const double *x, double dx, uint64_t round, boundary_samples *out);
/* Resample the elements with is_new [n_elements] at the node positions x; the points of the others do not change. */
PetscErrorCode boundary_samples_renew(const augury_boundary *b, const double *x, double dx, uint64_t round, const bool *is_new,
                                      boundary_samples *s);
void           boundary_samples_destroy(boundary_samples *s);

/* Weights of points with mean 0: w [n] of maximum entropy with w_j > 0, sum w_j = 1, sum w_j y_j = 0. These are the local maximum-entropy
 * functions [ArroyoOrtiz2006] without the locality term. y [n][2] in any linear coordinates of the plane; the weights do not depend on the
 * coordinates. Returns false, with w undefined, if the origin is outside the convex hull of the points or too close to its border, or if
 * round-off prevents convergence. */
bool max_entropy_weights(int n, const double (*y)[2], double *w);
#endif
