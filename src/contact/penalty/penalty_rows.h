/* Penalty springs at the contacts of convex solids: the contact law of formulation `penalty` for contacts given as rows of blocks.
 *
 * The detectors find the contacts of a step once, at its start (convex_contact.h, edge_contact.h). With u = H v, the relative velocity in the
 * contact frame of a row (contact_jacobian.h), n its normal and T its tangential part, a contact has at the end of the step
 *
 *   depth       h = -(g0 + dt u_n)                       g0: gap at the start of the step, plus its rest depth (contact_rests)
 *   elongation  d = e0 + s dt u_T,  e = c d              e0: elongation at the start; s = 1; c = min(1, mu h / |d|), Coulomb's cone
 *   force       f = k G (h n - e)  for h > 0, else 0     on the first body, -f on the second; G: gain of restitution.h, or 1
 *
 * which on a plane is the relaxation of penalty_relaxation.h. A contact that closes during the step starts its friction spring at the point of
 * entry: s = h / (g0 + h) is the fraction of the step after the gap has closed. |d| is the length in the metric of an elliptic cone.
 * Its direction is an axis of the body without unknowns, or of the second body if both have unknowns.
 *
 * Both forces act at one point, with lever arms at the start of the step, so that linear and angular momentum are conserved to round-off.
 * Only contacts on the path of bodies faster than the search distance act at two points (convex_contact.h).
 *
 * State between steps: e of every contact with h > 0, by its key, in the frame of the second body. If a contact with an overlap is new, and a contact
 * of the same two bodies has vanished (clipping of faces selects other features), it inherits the elongation of the nearest vanished one.
 * Caller: penalty.c. */
#ifndef SS_CONTACT_PENALTY_PENALTY_ROWS_H
#define SS_CONTACT_PENALTY_PENALTY_ROWS_H
#include "contact/detection/contact_record.h"
#include "contact/penalty/penalty_options.h"
#include "contact/rows/contact_jacobian.h"
#include "core/field_table.h"
#include "geometry/triangle_mesh/triangle_mesh.h"

typedef struct penalty_rows penalty_rows;

/* Data of one step. All borrowed until penalty_rows_end. */
typedef struct {
  const rigid_frame *frames, *end; /* poses at the start; at the end of the step, valid for bodies without unknowns */
  double             dt, gravity[3];
  double             margin, length; /* as in contact_scene */
  int64_t            n_blocks;       /* of the global vector */
} rows_step;

/* Create for the bodies [n_bodies] (borrowed) with the poses frame [n_bodies] (index, -1: none) and the contact laws law [n_slots] of `pairs`, which
 * are copied. uses_solids: pairs of bodies that both consist of convex solids get the contacts of these solids, and those of obstacle_edges.h the
 * contacts of edges and vertices of the obstacle; surface [n_bodies] as there. */
PetscErrorCode penalty_rows_create(int n_bodies, body *const *bodies, const int32_t *frame, const pair_classes *pairs,
                                   const contact_law *law, bool uses_solids, const triangle_mesh *const *surface, penalty_rows **out);
void           penalty_rows_destroy(penalty_rows **r);
void           penalty_rows_set_scheme(penalty_rows *r, contact_scheme scheme);
void           penalty_rows_set_acceleration(penalty_rows *r, double g0); /* as penalty_contact_set_acceleration */

void penalty_rows_set_rests(penalty_rows *r, const contact_rests *rests); /* as penalty_contact_set_rests */

/* Detect the contacts of a step. */
PetscErrorCode penalty_rows_begin(penalty_rows *r, const rows_step *step);
/* g [n_blocks][3] -= dt H^T f at velocities v [n_blocks][3]; with_tangent: also the derivatives for the functions below. *bad: name of the first body
 * of a contact with a value that is not finite, or NULL; g is changed only if it is NULL. */
PetscErrorCode penalty_rows_residual(penalty_rows *r, const double *v, double *g, bool with_tangent, const char **bad);
/* Evaluate the forces at v for penalty_rows_report and penalty_rows_end. */
void penalty_rows_evaluate(penalty_rows *r, const double *v);
/* y += dt^2 H^T K H x or its transpose, K = -df/d(dt u) at the last residual with tangent. */
void penalty_rows_tangent(const penalty_rows *r, const double *x, double *y, bool is_transposed);
/* d [n_blocks][9] += diagonal blocks of the tangent. */
void penalty_rows_block_diagonal(const penalty_rows *r, double *d);
/* Append the couplings of blocks to *row, *col [*n]; unordered, may repeat. */
PetscErrorCode penalty_rows_couplings(const penalty_rows *r, int64_t *n, int32_t **row, int32_t **col);
/* H += tangent; its pattern includes the couplings. */
void penalty_rows_assemble(const penalty_rows *r, const block_rows *H);

/* The contact law as Coulomb's law with compliance for the impulses r = dt f (friction_problem.h), in contact frames; n: penalty_rows_size. The gain of
 * restitution is 1, and cones are circles of mu. Returns the rows, borrowed.
 *   shift [n][3]       added to the relative velocity [m/s]
 *   compliance [n][2]  of normal and tangents [1/kg]
 *   entry [n]          speed at which the gap of a new contact closes at the end of the step, 0 for others [m/s]
 *   mu [n], impulse [n][3]  friction; impulses of the springs as they are at the start of the step, an initial guess [N s] */
const contact_jacobian *penalty_rows_coulomb(const penalty_rows *r, double *shift, double *compliance, double *entry, double *mu,
                                             double *impulse);

int64_t penalty_rows_size(const penalty_rows *r); /* contacts of this step, with or without force */
/* Report the contacts with force of the last evaluation, at the poses `end` of its velocities: contact points from *p on, forces between bodies,
 * values of the summary. max_f_n, max_excess: largest normal force; largest friction beyond the cone [N]. */
PetscErrorCode penalty_rows_report(const penalty_rows *r, const rigid_frame *end, contact_points *points, contact_forces *forces,
                                   int64_t *p, contact_summary *sum, double *max_f_n, double *max_excess);
/* Make the state of the last evaluation that of the next step. `end`: as in penalty_rows_report. */
PetscErrorCode penalty_rows_end(penalty_rows *r, const rigid_frame *end);
/* Register the state "contact/springs" in checkpoints. */
PetscErrorCode penalty_rows_fields(penalty_rows *r, field_table *table);
#endif
