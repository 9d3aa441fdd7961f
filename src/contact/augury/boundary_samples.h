/* Boundary elements as clouds of points: where a triangle is larger than the cells of a grid, its corners alone would leave holes
 * for others to slip through. Each such triangle has, besides its corners, points about a quarter of a cell apart or less
 * [MarquezRazonEtAl2023, sec. 6.1; hybrid, sec. 7], fixed to it by barycentric coordinates, with masses that keep its mass and its
 * centre of mass, apart of the corners' and of the points' own, in every shape that the triangle takes. */
#ifndef SS_CONTACT_AUGURY_BOUNDARY_SAMPLES_H
#define SS_CONTACT_AUGURY_BOUNDARY_SAMPLES_H
#include "core/error.h"

/* A boundary, borrowed. Corner i of element e has mass[node] over the number of elements at that node. */
typedef struct {
  int64_t        n_nodes, n_elements;
  const int32_t *element; /* [n_elements][3] nodes; oriented outwards */
  const double  *mass;    /* [n_nodes] whole masses of the nodes, also of what lies within [kg] */
  bool           is_bare; /* corners alone stand for it: no points besides */
} augury_boundary;

typedef struct {
  int64_t  n;        /* points of all elements, besides corners */
  int64_t *start;    /* [n_elements + 1] */
  double (*place)[3]; /* [n] barycentric coordinates */
  double  *weight;   /* [n] >= 0, sum 1 in an element: its share of the points' mass */
  double  *corner;   /* [n_elements] 0 < s <= 1: the corners' share of the element's mass; 1 without points */
} boundary_samples;

/* Mass of corner i of element e: share[e][i]. *share [n_elements][3], for the caller to free. */
PetscErrorCode boundary_corner_masses(const augury_boundary *b, double (**share)[3]);
/* For a grid of cells dx [m] and the shape x [n_nodes][3]; drawn anew with another `round`, the same with the same. Elements whose
 * longest side is at most a quarter of a cell have no points. An element without area, or one that cells are far too small for, is
 * refused by name: PETSC_ERR_USER_INPUT. */
PetscErrorCode boundary_samples_create(const augury_boundary *b, const double *x, double dx, uint64_t round, boundary_samples *out);
/* Elements [n_elements] that have changed are sampled anew for their shape in x, the others keep their points. */
PetscErrorCode boundary_samples_renew(const augury_boundary *b, const double *x, double dx, uint64_t round, const bool *is_new,
                                      boundary_samples *s);
void           boundary_samples_destroy(boundary_samples *s);

/* Weights that place a given mean: w_j > 0, sum w_j = 1, sum w_j y_j = 0, and of all such weights those of largest entropy, the
 * local maximum-entropy functions [ArroyoOrtiz2006] without locality [hybrid, sec. 7]: as even as the mean lets them be.
 * y [n][2] in any linear coordinates of the plane, of which the weights do not depend; w [n] out. False if the origin is not well
 * within the hull of the points, or memory of the iteration is lost in round-off: w means nothing then. */
bool max_entropy_weights(int n, const double (*y)[2], double *w);
#endif
