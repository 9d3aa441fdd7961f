/* Solvers for a single contact: impulse r and relative velocity u = W r + b that satisfy Coulomb's law [Daviet2011, sec. 4]. W is 3x3,
 * normal first, positive definite, not necessarily symmetric. The functions may be called on any thread. Used by splitting.c.
 *
 * u_N = 0 gives r_N = -(b_N + w_NT . r_T)/w_NN. Then S r_T + c = u_T = -alpha r_T, with the Schur complement S = W_TT - w_TN w_NT/w_NN and
 * c = b_T - w_TN b_N/w_NN. Hence r_T = -p/D with p = adj(S) c + alpha c and D = det(S + alpha I). Stick has alpha = 0; slip has the
 * alpha > 0 at which |r_T| = mu r_N:
 *
 *   f(alpha) = mu (w_NT . p - b_N D) - w_NN |p| = 0.
 *
 * If b_N >= 0, the contact separates: r = 0. If b_N < 0 and f(0) >= 0, it sticks. Otherwise f(0) < 0 < f(infinity), so a slip solution
 * exists. Squaring the equation f = 0 gives a quartic with additional roots that are not solutions. */
#ifndef SS_OPTIM_FRICTION_ONE_CONTACT_H
#define SS_OPTIM_FRICTION_ONE_CONTACT_H
#include <math.h>
#include <stdbool.h>

/* Data of a contact that do not depend on b. */
typedef struct {
  double W[9];             /* row-major, as given */
  double mu, rho;          /* friction coefficient; 3/trace(W) */
  double w_nn, inverse;    /* W_NN and 1/W_NN */
  double w_nt[2];          /* W_NT */
  double slope[2];         /* W_TN/W_NN */
  double s[4], tau, delta; /* S = W_TT - W_TN W_NT/W_NN, kept positive definite; its trace and determinant */
  double stick;            /* -1/delta */
  double turn[2];          /* is_turned: cosine and sine of the rotation of the tangents to the principal axes of a nearly singular S */
  bool   is_turned;
} one_contact;

/* Compute the data of a contact, W_NN > 0. If S is not positive definite up to rounding errors, a shift is added to its diagonal. */
void one_contact_prepare(const double W[9], double mu, one_contact *o);

/* Compute the exact solution r for b by Newton's method on f, safeguarded by a bracket. *alpha in: initial guess, e.g. of the previous
 * sweep, 0: none; out: sliding coefficient, 0 unless the contact slips. If f has several roots, all are solutions; with the root nearest
 * to the initial guess the sweeps converge best. */
void one_contact_solve(const one_contact *o, const double b[3], double *alpha, double r[3]);
/* The same by enumeration of the roots of the quartic: takes the smallest one that is a root of f and refines it. Slower than
 * one_contact_solve, but needs no initial guess. */
void one_contact_enumerate(const one_contact *o, const double b[3], double r[3]);
/* Newton's method with backtracking on the Fischer-Burmeister function phi (below), from r, at most n_steps steps. Returns true if
 * |phi| <= tolerance [N s]; otherwise r is the best point found. mu > 0. */
bool one_contact_newton(const one_contact *o, const double b[3], int n_steps, double tolerance, double r[3]);
/* Hybrid method of [Daviet2011]: one_contact_newton from r; if it fails, one_contact_enumerate; if its |phi| exceeds the tolerance,
 * one_contact_newton from its result. Sets r to the result with the smallest |phi|. The tolerance is relative to |r| + rho |b|. */
void one_contact_hybrid(const one_contact *o, const double b[3], double tolerance, double r[3]);

/* phi(x, rho y) = x + rho y - (x^2 + rho^2 y^2)^(1/2) in the Jordan algebra of the cone, x = (mu r_N, r_T), y = (û_N, mu û_T),
 * û = u + (mu |u_T|, 0, 0).
 * jacobian (may be NULL): d phi/d r, row-major, of a subgradient where phi is not smooth. */
void one_contact_fischer_burmeister(const one_contact *o, const double b[3], const double r[3], double phi[3], double jacobian[9]);
#endif
