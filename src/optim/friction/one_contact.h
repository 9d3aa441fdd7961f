/* One contact alone: u = W r + b with Coulomb's law, W 3x3 [Daviet2011, sec. 4], normal first. W should be positive definite; it
 * need not be symmetric. Pure functions of their arguments, for any thread.
 *
 * Eliminating the normal, u_N = 0, leaves S r_T + c = u_T = -alpha r_T, so r_T = -p/D with p = adj(S) c + alpha c, D = det(S +
 * alpha I): stick is alpha = 0, and sliding the alpha > 0 where friction uses up the cone,
 *
 *   f(alpha) = mu (w_NT . p - b_N D) - w_NN |p| = 0.
 *
 * b_N >= 0 is solved by r = 0. For b_N < 0, f(0) >= 0 means stick; else f(0) < 0 < f(infinity), so that sliding has a solution.
 * Squared, f = 0 is a quartic, whose other roots are not physical. */
#ifndef SS_OPTIM_FRICTION_ONE_CONTACT_H
#define SS_OPTIM_FRICTION_ONE_CONTACT_H
#include <math.h>
#include <stdbool.h>

/* What can be known of a contact before b is. */
typedef struct {
  double W[9];            /* as given */
  double mu, rho;         /* rho = 3/trace(W) */
  double w_nn, inverse;   /* W_NN and 1/W_NN */
  double w_nt[2];         /* W_NT */
  double slope[2];        /* W_TN/W_NN */
  double s[4], tau, delta; /* S = W_TT - W_TN W_NT/W_NN, kept positive definite; its trace and determinant */
  double stick;            /* -1/delta */
  double turn[2];          /* where S is nearly singular all this is in tangents turned to its axes, by this cosine and sine */
  bool   is_turned;
} one_contact;

/* W_NN > 0. Where S is not positive definite to round-off it is shifted until it is. */
void one_contact_prepare(const double W[9], double mu, one_contact *o);

/* The exact answer for b: r. *alpha in: a guess (of the last time, 0: none); out: the sliding coefficient, 0 unless it slides.
 * Newton on f from the guess, kept inside a bracket; any root will do, and the nearest is the most useful one in a sweep. */
void one_contact_solve(const one_contact *o, const double b[3], double *alpha, double r[3]);
/* The same by enumeration: the smallest root of the quartic that is one of f, polished. Slower, and independent of a guess. */
void one_contact_enumerate(const one_contact *o, const double b[3], double r[3]);
/* Newton with backtracking on the Fischer-Burmeister function of the friction cone from r; at most n_steps. True, and r the
 * answer, if |phi| <= tolerance (in units of r); else r is the best point found. *norm (may be NULL): |phi|. mu > 0. */
bool one_contact_newton(const one_contact *o, const double b[3], int n_steps, double tolerance, double r[3], double *norm);
/* The hybrid rule of [Daviet2011]: Newton from r; where that fails, enumeration; where that leaves a larger |phi|, Newton from
 * there. Tolerance relative to |r|. */
void one_contact_hybrid(const one_contact *o, const double b[3], double tolerance, double r[3]);

/* phi(x, rho y) = x + rho y - (x^2 + rho^2 y^2)^(1/2) in the Jordan algebra of the cone, x = (mu r_N, r_T), y = (û_N, mu û_T).
 * jacobian (may be NULL): d phi/d r, row-major, of a subgradient where phi is not smooth. */
void one_contact_fischer_burmeister(const one_contact *o, const double b[3], const double r[3], double phi[3], double jacobian[9]);
#endif
