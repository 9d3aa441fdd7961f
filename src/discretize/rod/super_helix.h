/* Super-helices: inextensible strands whose twist and curvatures are constant on each of n elements [BertailsEtAl2006]. Used by
 * rod_model_super_helix.c.
 *
 * A strand is a chain of n + 2 links with three unknowns each. The first link is the position of the root (start of the strand), the
 * second its rotation. Each element is a link with the unknowns kappa_0, kappa_1, kappa_2: twist and curvatures about the directors d_0
 * (the tangent), d_1, d_2. A change of one link moves all later links as one rigid piece ("carried piece"). Therefore the cost of all
 * operations except the dense matrix is linear in n: positions, J x, J^T f, products with the mass matrix and with the tangent.
 *
 * At arc length s of an element that starts at r with frame R: R(s) = R exp(s [kappa]x) and r(s) = r + R A(s) e_0, where A(s) = s + s^2
 * C_2 [kappa]x + s^3 C_3 [kappa]x^2 with Stumpff functions C_k of (s |kappa|)^2 (super_helix_element.h). This is exact for every curvature,
 * also for a straight element. A change of kappa rotates the frame by R A(s) dkappa and moves the curve by R d(A(s) e_0)/dkappa dkappa.
 *
 * Masses are at Gauss points, SUPER_HELIX_POINTS per element. In addition to the published model, the section has a rotational inertia
 * about the tangent (spin). Its rotation rate is that of the root plus the integral of the rate of kappa_0. Without it a straight strand
 * would have no inertia in twist. */
#ifndef SS_DISCRETIZE_ROD_SUPER_HELIX_H
#define SS_DISCRETIZE_ROD_SUPER_HELIX_H
#include "core/error.h"
#include <stdbool.h>

enum { SUPER_HELIX_POINTS = 4, SUPER_HELIX_ROOT = 2 }; /* Gauss points of an element; links before the first element */

/* One strand. Arrays by link have n + 2 entries. Column i of a link's matrices is the effect of its i-th unknown. World axes. */
typedef struct {
  int32_t n;               /* elements, >= 1 */
  double *length;          /* [n] m */
  double  mass_per_length; /* kg/m */
  double  spin_inertia;    /* about the tangent, per length [kg m] */
  /* Shape, set by super_helix_shape. */
  double *frame;        /* [n + 1][9] frames at the starts of the elements and at the tip: rotation matrices with columns d_0,
                              d_1, d_2 */
  double *end;          /* [n + 2][3] point where the carried piece of each link begins: the root twice, then the ends of the
                              elements */
  double *turn, *shift; /* [n + 2][9] rotation of the carried piece, and translation of `end`, per change of the link's unknowns */
  double  theta[3];     /* of the root */
  double  axis[3];      /* d_0 of R0, the spin axis of the root */
  double *point, *arm;  /* [4 n][3] Gauss points, [4 n][9] their derivatives with respect to kappa of their element */
  double *point_mass;   /* [4 n] kg */
  /* Tangent, set by super_helix_prepare. */
  double *momentum, *moment, *diagonal; /* [n + 2][9] terms of H for each link */
  double *spin_after;                   /* [n + 2] spin inertia of the carried piece, including half of the link's own element [kg m^2] */
  double  mass_factor;                  /* a of super_helix_prepare */
  double  couple[3];                    /* b times the moment at the tip */
  double *slab;                         /* storage of all arrays above */
} super_helix;

/* Create a strand of n elements with lengths [n], which are copied. Fails only if memory allocation fails. */
PetscErrorCode super_helix_create(int32_t n, const double *length, double mass_per_length, double spin_inertia, super_helix *out);
void           super_helix_destroy(super_helix *h);

/* Set the shape from curvatures kappa [n][3] [1/m] and the root at r [3] with frame cay(theta) R0 (cayley.h). The unknown of the root's
 * rotation is theta [3]. */
void super_helix_shape(super_helix *h, const double r[3], const double R0[9], const double theta[3], const double *kappa);
/* Point x and frame R [9] (may be NULL) at arc length s of element e. */
void super_helix_at(const super_helix *h, const double *kappa, int32_t e, double s, double x[3], double *R);
/* J [e + 3][9], row-major: derivative of a point x, fixed to the section at arc length s of element e, with respect to the unknowns of
 * links 0 ... e + 2. */
void super_helix_point_jacobian(const super_helix *h, const double *kappa, int32_t e, double s, const double x[3], double (*J)[9]);

/* v [4 n][3] = J u: velocities of the Gauss points for rates u [n + 2][3]. */
void super_helix_rates(const super_helix *h, const double *u, double *v);
/* Sample n points in ascending order, at arc lengths s [n] of elements e [n]: positions x [n][3] and velocities J u, v [n][3]. */
void super_helix_sample(const super_helix *h, const double *kappa, const double *u, int64_t n, const int32_t *e, const double *s, double *x,
                        double *v);
/* Loads: forces f [4 n][3] at the Gauss points, a force and a moment at the tip. */
typedef struct {
  const double *f;
  double        tip[3], moment[3];
} super_helix_load;
/* out [n + 2][3] += J^T f, where the moment acts on the rotations. */
void super_helix_forces(const super_helix *h, const super_helix_load *load, double *out);
/* Kinetic energy of spin with rates u [J], and out [n + 2][3] += a times its derivative. out may be NULL. */
double super_helix_spin(const super_helix *h, double a, const double *u, double *out);

/* Prepare products with H = a M + b d(J^T f)/d(unknowns) at a fixed load, M = J^T m J and spin. */
void super_helix_prepare(super_helix *h, const double *kappa, double a, double b, const super_helix_load *load);
/* out [n + 2][3] += H u or H^T u. H is symmetric except for the term of the moment, which is constant in space and has no potential. */
void super_helix_product(const super_helix *h, const double *u, double *out, bool is_transposed);
/* Block (row, col) of H, in constant time, after super_helix_prepare. */
void super_helix_block(const super_helix *h, int32_t row, int32_t col, double block[9]);
#endif
