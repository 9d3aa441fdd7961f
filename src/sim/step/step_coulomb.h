/* One step of backward Euler with rigid contact and exact Coulomb friction [BertailsEtAl2011].
 *
 * A step solves g(v) = H^T r, where (H v + w, r) satisfies Coulomb's law at every contact and g is the residual of the systems.
 * Contacts, their frames and H are those of the start of the step. Linearised at v_k:
 *
 *    M (v - v_k) + g(v_k) = H^T r,   u = H v + w = W r + q,   W = H M^-1 H^T,   q = H v_k + w - H M^-1 g(v_k)
 *
 * This is the paper's one-step problem with f = g(v_k) - M v_k. M is the symmetric positive definite part of the tangent. The
 * remainder stays in g, so repeated linearisation converges to the same step, until |D^-1 (g - H^T r)| is within the tolerance
 * (nonlinear.h). From the third linearisation on, the linearisation point is Anderson's combination of earlier ones; M and W
 * are reused while the iteration converges. The friction tolerance follows the outer residual (inexact Newton). Friction is solved for
 * the contacts of a working set (step_working_set.h). max_iterations: 1 accepts the first linearisation without a check, as the
 * paper does. Used by formulations exact and hybrid. */
#ifndef SS_SIM_STEP_STEP_COULOMB_H
#define SS_SIM_STEP_STEP_COULOMB_H
#include "optim/friction/delassus.h"
#include "sim/step/solver_options.h"
#include "sim/step/step_creep.h"
#include "sim/step/step_frame.h"
#include "sim/step/step_line_search.h"
#include "sim/step/step_working_set.h"

/* All pointers are borrowed. */
typedef struct {
  const newton_options   *newton;
  const friction_options *friction;
  double                  friction_stall_tolerance; /* a stalled friction problem is accepted up to this error */
  double                  creep_stall_tolerance;    /* the same where `creep` decides, relative to the accepted creep */
  const step_creep       *creep; /* accepted creep of rigid scenes (friction error of kind speed); NULL: the tolerance of `friction` */
  linear_solver          *motion_solver, *contact_solver; /* of M; of Newton's method on contacts */
  /* Called before and after each friction problem, arguments as exact_export_problem and exact_export_solution; NULL: none. */
  PetscErrorCode (*keep_problem)(void *context, const delassus *W, int64_t n, const double *v_free, const double *q, const double *mu,
                                 const double *guess);
  void (*keep_solution)(void *context, const double *r, const double *u, const double *v);
  void *context;
} step_coulomb_options;

/* Temporary data of one step: a problem of the nonlinear driver. */
typedef struct {
  step_frame                 *frame;
  const step_coulomb_options *options;
  step_report                *report;
  step_unknowns               unknowns;
  delassus                   *W; /* for the current matrix; NULL: none yet */
  int64_t                     n;
  double                     *g, *full;       /* [n_full] residual of the systems; work */
  double                     *y, *dy, *right; /* [n] free velocities, their change, P^T (g - H^T r) */
  bool                        has_tangent;    /* the systems have evaluated their tangents at y */
  step_working_set            set;
  step_line_search            search;      /* parts of the current matrix */
  int32_t                    *body;        /* [n] rigid body of each unknown, numbers of systems; NULL without options.creep */
  double                     *speed_limit; /* [set.n] accepted creep of the contacts [m/s]; NULL without options.creep */
  double                     *v_detected;  /* [n_full] velocities at the last contact detection */
  int                         n_detections;
} step_coulomb;

/* Detect the contacts of the step that frame->layout has begun, and solve the step: frame->layout.v and the poses are those of its
 * end. Fills in *p, which step_coulomb_destroy frees. The status is negative if the iteration does not converge. */
PetscErrorCode step_coulomb_solve(step_coulomb *p, step_frame *frame, const step_coulomb_options *options, step_status *status,
                                  step_report *report);
/* Make frame->layout.v permanent unless a body rejects it, and record the contacts and their impulses. */
PetscErrorCode step_coulomb_accept(step_coulomb *p, step_status *status);
void           step_coulomb_destroy(step_coulomb *p); /* accepts zeros */
/* Set up and destroy the linear solvers of a step; `motion` and `contact`: prefixes of their PETSc options. Called by
 * formulation_ops.probe. */
PetscErrorCode step_coulomb_probe(const char *motion, const char *contact, const friction_options *friction);
#endif
