/* Gauss-Seidel sweeps on the velocities of rigid bodies, in conjugate directions. W is never formed. For systems (delassus.h) in which M
 * consists of blocks of at most 6 unknowns (bodies) and a contact acts on at most two of them.
 *
 * With M_b = L_b L_b^T, w_b = L_b^T v_b and G_ab = E_ab L_b^-T (3x6), the relative velocity of contact a is u_a = q_a + sum_b G_ab w_b, an impulse r_a
 * adds G_ab^T r_a to w_b, and W_aa = sum_b G_ab G_ab^T. A visit of a contact solves Coulomb's law exactly for that contact (one_contact.h);
 * the compliance of the problem is added to W_aa, entry/r_N with the r_N of the last visit.
 *
 * Islands, the connected components of bodies and contacts, are solved one by one, each with its own convergence test, so that the bits of an island
 * do not depend on the rest of the scene. The contacts of an island are coloured: no two contacts of a colour act on the same body. Eight
 * contacts of a colour form a block and are solved by one vector instruction each; the blocks of a colour are distributed over threads by the place of
 * their bodies in the island (breadth first), so that threads share few bodies. Colours and blocks depend on the problem alone, so the bits are the same on
 * any number of threads.
 *
 * Sweeps are combined in conjugate directions (nonsmooth nonlinear conjugate gradients [SilcowitzEtAl2010]): with the change d_k of the impulses in sweep k,
 *   beta = min(|d_k|^2/|d_k-1|^2, 1),   r += beta p,   p = d_k + beta p;   p = 0 if |d_k|^2 grows by more than 5 %
 * in the norm of D^-1 = tr W_aa/3. Impulses may leave their cones between sweeps; each visit returns them. The velocities are extrapolated in the same way,
 * because they are linear in the impulses.
 *
 * If the error does not decrease for some hundred sweeps, the directions are abandoned more often, then always, with under-relaxation.
 *
 * Islands of at least 500 contacts are first swept in single precision, which takes half the time, if the accepted creep of each contact is above 1e-5 of the
 * velocities that the impulses cause. Rounding errors are then about one percent of the accepted creep. Sliding impulses are returned to the surfaces of their
 * cones in double precision. The result is accepted if the error of W r + q, in double precision, is within the tolerance. Otherwise the sweeps continue in
 * double precision.
 *
 * Blocks whose contacts are open and have no impulse are visited in every eighth sweep only. The error, on which convergence depends, is that of all contacts.
 * Called by automatic.c, convex.c and penalty_sweeps.c. */
#ifndef SS_OPTIM_FRICTION_BODY_SWEEPS_H
#define SS_OPTIM_FRICTION_BODY_SWEEPS_H
#include "optim/friction/friction_problem.h"

/* True if the sweeps are defined for w. */
bool body_sweeps_apply(const delassus *w);
/* A friction_solve_function for error kind speed: p->speed_limit must be given, body_sweeps_apply(p->W) must be true. Every island is swept until
 * its error is at most the tolerance, at least as often as o->least_work requires, at most 20,000 times by default. out->iterations: sweeps of the island that takes most; out->status and out->speed: those of the worst island, with compliance; out->n_above: contacts of all islands above the tolerance. */
PetscErrorCode body_sweeps_solve(const friction_problem *p, const friction_options *o, double *r, double *u, friction_result *out);
#endif
