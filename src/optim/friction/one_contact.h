/* Solvers for a single contact: u = W r + b with Coulomb's law, W 3x3 [Daviet2011, sec. 4], normal first. W should be positive
 * definite; it need not be symmetric. Pure functions without state, for any thread. Used by the sweeps of splitting.c.
 *
 * Eliminating the normal impulse from u_N = 0 leaves S r_T + c = u_T = -alpha r_T. Hence r_T = -p/D with p = adj(S) c + alpha c and
 * D = det(S + alpha I). alpha = 0 is stick; slip has the alpha > 0 at which |r_T| reaches mu r_N:
 *
 *   f(alpha) = mu (w_NT . p - b_N D) - w_NN |p| = 0.
 *
 * b_N >= 0 gives r = 0. For b_N < 0, f(0) >= 0 means stick; otherwise f(0) < 0 < f(infinity), so a slip solution exists. The square
 * of f = 0 is a quartic, whose other roots are not physical. */
#ifndef SS_OPTIM_FRICTION_ONE_CONTACT_H
#define SS_OPTIM_FRICTION_ONE_CONTACT_H
#include <math.h>
#include <stdbool.h>

/* Data of a contact that do not depend on b. */
typedef struct {
  double W[9];             /* as given */
  double mu, rho;          /* rho = 3/trace(W) */
  double w_nn, inverse;    /* W_NN and 1/W_NN */
  double w_nt[2];          /* W_NT */
  double slope[2];         /* W_TN/W_NN */
  double s[4], tau, delta; /* S = W_TT - W_TN W_NT/W_NN, kept positive definite; its trace and determinant */
  double stick;            /* -1/delta */
  double turn[2];          /* if S is nearly singular, the data above use tangents rotated to its axes, by this cosine and sine */
  bool   is_turned;
} one_contact;

/* Precompute the data of a contact, W_NN > 0. If S is not positive definite to rounding, it is shifted until it is. */
void one_contact_prepare(const double W[9], double mu, one_contact *o);

/* Exact solution r for b. *alpha in: initial guess (of the previous visit; 0: none); out: sliding coefficient, 0 unless the
 * contact slips. Newton's method on f from the guess, safeguarded by a bracket. Any root is a solution; the one nearest to the
 * guess converges best within sweeps. */
void one_contact_solve(const one_contact *o, const double b[3], double *alpha, double r[3]);
/* The same by enumeration of the roots of the quartic: the smallest one that is a root of f, refined. Slower; needs no guess. */
void one_contact_enumerate(const one_contact *o, const double b[3], double r[3]);
/* Newton's method with backtracking on the Fischer-Burmeister function of the friction cone, from r, at most n_steps. Returns
 * true if |phi| <= tolerance (in units of r); else r is the best point found. mu > 0. */
bool one_contact_newton(const one_contact *o, const double b[3], int n_steps, double tolerance, double r[3]);
/* Hybrid method of [Daviet2011]: Newton from r; if it fails, enumeration; if that has a larger |phi|, Newton from its result.
 * Tolerance relative to |r|. */
void one_contact_hybrid(const one_contact *o, const double b[3], double tolerance, double r[3]);

/* phi(x, rho y) = x + rho y - (x^2 + rho^2 y^2)^(1/2) in the Jordan algebra of the cone, x = (mu r_N, r_T), y = (û_N, mu û_T).
 * jacobian (may be NULL): d phi/d r, row-major, of a subgradient where phi is not smooth. */
void one_contact_fischer_burmeister(const one_contact *o, const double b[3], const double r[3], double phi[3], double jacobian[9]);
#endif
