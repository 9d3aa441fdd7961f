/* The function of Alart and Curnier, whose zeros are Coulomb's law [AlartCurnier1991; BertailsEtAl2011, sec. 4.1]. For one contact
 *
 *   f_N = max(0, r_N - rho_N u_N) - r_N,   f_T = P(r_T - rho_T u_T) - r_T,   P: projection onto the disc of radius mu R
 *
 * with its generalised Jacobian A = df/du, B = df/dr. At a kink the branch whose inequality is closed is used: inactive at
 * r_N = rho_N u_N, stick on the circle. */
#ifndef SS_OPTIM_FRICTION_ALART_CURNIER_H
#define SS_OPTIM_FRICTION_ALART_CURNIER_H
#include "optim/friction/friction_problem.h"

typedef enum {
  ALART_CURNIER_IMPULSE,  /* R = max(0, r_N): as published */
  ALART_CURNIER_AUGMENTED /* R = max(0, r_N - rho_N u_N): the same zeros; inactive contacts separate in one step */
} alart_curnier_radius;

/* rho = {rho_N, rho_T} = {1/W_NN, 2/trace W_TT}: the units of an inverse block, so that neither part of f outweighs the other. */
void alart_curnier_rho(const double W[9], double rho[2]);
/* One contact: f [3]; A, B [9] row-major. Returns false if the contact is inactive: f = -r, A = 0, B = -I, and d = -r needs no
 * equation. */
bool alart_curnier_contact(alart_curnier_radius radius, double mu, const double rho[2], const double u[3], const double r[3], double f[3],
                           double A[9], double B[9]);
/* All contacts: rho [n][2], f [n][3], A, B [n][9], is_active [n]. Returns 1/2 |f|^2. */
double alart_curnier(alart_curnier_radius radius, const friction_problem *p, const double *rho, const double *u, const double *r, double *f,
                     double *A, double *B, bool *is_active);
#endif
