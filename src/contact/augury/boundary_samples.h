/* Sample points on boundary elements. If a triangle is larger than the grid cells, its corners alone would leave gaps through which
 * others can pass. Each such triangle gets additional points at most about a quarter of a cell apart [MarquezRazonEtAl2023, sec.
 * 6.1]. They are fixed by barycentric coordinates, with masses that preserve the triangle's mass and centre of mass, separately for
 * the corners and for the points, in every shape of the triangle. Used by augury and pic_contact. */
#ifndef SS_CONTACT_AUGURY_BOUNDARY_SAMPLES_H
#define SS_CONTACT_AUGURY_BOUNDARY_SAMPLES_H
#include "core/error.h"

/* A boundary, borrowed. Corner i of element e has mass[node] over the number of elements at that node. */
typedef struct {
  int64_t        n_nodes, n_elements;
  const int32_t *element; /* [n_elements][3] nodes; oriented outwards */
  const double  *mass;    /* [n_nodes] full nodal masses, including the interior [kg] */
  bool           is_bare; /* corners only, no additional points */
} augury_boundary;

typedef struct {
  int64_t  n;         /* points of all elements, besides corners */
  int64_t *start;     /* [n_elements + 1] */
  double (*place)[3]; /* [n] barycentric coordinates */
  double *weight;     /* [n] >= 0, sum 1 in an element: its share of the points' mass */
  double *corner;     /* [n_elements] 0 < s <= 1: the corners' share of the element's mass; 1 without points */
} boundary_samples;

/* Mass of corner i of element e: share[e][i]. *share [n_elements][3], for the caller to free. */
PetscErrorCode boundary_corner_masses(const augury_boundary *b, double (**share)[3]);
/* Create samples for a grid of cells dx [m] and the shape x [n_nodes][3]. The same `round` gives the same random points. Elements
 * whose longest side is at most a quarter of a cell have no points. An element without area, or one far too large for the cells, is
 * rejected by name: PETSC_ERR_USER_INPUT. */
PetscErrorCode boundary_samples_create(const augury_boundary *b, const double *x, double dx, uint64_t round, boundary_samples *out);
/* Resample elements with is_new [n_elements] for their shape in x; the others keep their points. */
PetscErrorCode boundary_samples_renew(const augury_boundary *b, const double *x, double dx, uint64_t round, const bool *is_new,
                                      boundary_samples *s);
void           boundary_samples_destroy(boundary_samples *s);

/* Weights with a given mean: w_j > 0, sum w_j = 1, sum w_j y_j = 0, of largest entropy. These are the local maximum-entropy
 * functions [ArroyoOrtiz2006] without the locality term: as even as the mean permits. y [n][2] in any linear coordinates of the
 * plane; the weights do not depend on the choice. w [n] out. Returns false, with w undefined, if the origin is not well inside the
 * convex hull of the points or the iteration loses accuracy to round-off. */
bool max_entropy_weights(int n, const double (*y)[2], double *w);
#endif
