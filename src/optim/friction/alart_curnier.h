/* The function f(u, r) of Alart and Curnier. f = 0 exactly if u and r satisfy Coulomb's law [AlartCurnier1991; BertailsEtAl2011, sec. 4.1].
 * For one contact with relative velocity u and impulse r:
 *
 *   f_N = max(0, r_N - rho_N u_N) - r_N,   f_T = P(r_T - rho_T u_T) - r_T,   P: projection onto the disc of radius mu R
 *
 * Its generalised Jacobians are A = df/du and B = df/dr. At a kink a contact with r_N = rho_N u_N counts as inactive, and a contact on
 * the boundary of the disc counts as sticking. */
#ifndef SS_OPTIM_FRICTION_ALART_CURNIER_H
#define SS_OPTIM_FRICTION_ALART_CURNIER_H
#include "optim/friction/friction_problem.h"

typedef enum {
  ALART_CURNIER_IMPULSE,  /* R = max(0, r_N): as published */
  ALART_CURNIER_AUGMENTED /* R = max(0, r_N - rho_N u_N): the same zeros; inactive contacts separate in one step */
} alart_curnier_radius;

/* rho = {rho_N, rho_T} = {1/W_NN, 2/trace W_TT} [kg], from the diagonal block W [9] of a contact. f_N and f_T then have the same scale. */
void alart_curnier_rho(const double W[9], double rho[2]);
/* Evaluate one contact: f [3]; A, B [9] row-major. Returns false if the contact is inactive: f = -r, A = 0, B = -I. Its Newton step is
 * then -r, without an equation. */
bool alart_curnier_contact(alart_curnier_radius radius, double mu, const double rho[2], const double u[3], const double r[3], double f[3],
                           double A[9], double B[9]);
/* Evaluate all n contacts: rho [n][2], u, r, f [n][3], A, B [n][9], is_active [n]. Returns 1/2 |f|^2. */
double alart_curnier(alart_curnier_radius radius, const friction_problem *p, const double *rho, const double *u, const double *r, double *f,
                     double *A, double *B, bool *is_active);
#endif
