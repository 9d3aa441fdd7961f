/* Penalty contact with sliding attachments between contact points and level sets [DingSchroeder2020]. Caller: the `penalty` step.
 *
 * A pair consists of a point of a body at Z and a level set of an object. The force on the point is f = k (Y - Z), and -f acts at Y on
 * the object. Y = P(X, Z) is the relaxed attachment (penalty_relaxation.h). The attachment X is state, stored in the frame of the object.
 * If a new pair's point is inside the object at the start of the step, X is the closest surface point. If it penetrates during the step,
 * there is no X, and Y is the surface point closest to Z, so that the force is normal and the residual depends on the velocities alone.
 * When the step is accepted, X is set to Y. */
#ifndef SS_CONTACT_PENALTY_PENALTY_H
#define SS_CONTACT_PENALTY_PENALTY_H
#include "contact/detection/contact_record.h"
#include "contact/penalty/penalty_options.h"
#include "contact/penalty/penalty_rows.h"
#include "core/field_table.h"

typedef struct penalty_contact penalty_contact;

/* Create with the contact laws law [n_slots] of `pairs`, symmetric, copied. pairs: borrowed; NULL: law is [n_bodies][n_bodies]. */
PetscErrorCode penalty_contact_create(int n_bodies, const pair_classes *pairs, const contact_law *law, penalty_contact **out);
void           penalty_contact_destroy(penalty_contact **c);

/* Select the detectors of pairs of rigid bodies. uses_solids: pairs that both consist of convex solids get the contacts of these solids (penalty_rows.h)
 * instead of those of their vertices with level sets or triangle surfaces. bodies [n_bodies]: borrowed; frame [n_bodies]: index of the pose, -1: none.
 * surface [n_bodies]: as in obstacle_edges_create.
 * Call once, before penalty_contact_add_meshes, penalty_contact_fields and the first step. */
PetscErrorCode penalty_contact_add_rigid_pairs(penalty_contact *c, body *const *bodies, const int32_t *frame, bool uses_solids,
                                               const triangle_mesh *const *surface);

/* Add triangle surfaces meshes [n] (copied) for contact with points, see penalty_mesh.h. Call once, before penalty_contact_fields. */
PetscErrorCode penalty_contact_add_meshes(penalty_contact *c, int n, const contact_mesh *meshes);

/* Enable contacts between edges of these surfaces, see penalty_edges.h. Call once, after penalty_contact_add_meshes, before
 * penalty_contact_fields and the first step; only for CONTACT_IMPLICIT. */
PetscErrorCode penalty_contact_add_edges(penalty_contact *c);

/* Set the scheme (penalty_options.h); default CONTACT_IMPLICIT, the only one with restitution. Call after penalty_contact_add_meshes, before
 * the first step. */
void penalty_contact_set_scheme(penalty_contact *c, contact_scheme scheme);

/* Set the acceleration of bodies without contact, g0 > 0 [m/s^2], default 9.81. Approach speeds below g0 dt are regarded as rest, see
 * restitution.h. Call after penalty_contact_add_meshes, before the first step. */
void penalty_contact_set_acceleration(penalty_contact *c, double g0);

/* Rest depths of the contact springs, borrowed; their values must not change during a step. NULL (initial state): none. */
void penalty_contact_set_rests(penalty_contact *c, const contact_rests *rests);
/* Begin a step: find all candidate pairs, i.e. the stored attachments and the points within `margin` [m] of a level set.
 * frames0: poses at the start of the step. The arrays are borrowed until end_step. n_blocks: number of blocks of the global vector. */
PetscErrorCode penalty_contact_begin_step(penalty_contact *c, int n_sources, const contact_source *sources, int n_objects,
                                          const contact_object *objects, int n_frames, const rigid_frame *frames0, double dt, double margin,
                                          int64_t n_blocks);
/* Detect the contacts of penalty_contact_add_rigid_pairs. Call after penalty_contact_begin_step. `step` is copied, its arrays are borrowed. */
PetscErrorCode penalty_contact_begin_rigid_pairs(penalty_contact *c, const rows_step *step);
/* g [n_blocks][3] -= dt * forces (angular blocks: torques) at velocities v [n_blocks][3] and the resulting poses `frames`. with_tangent:
 * also compute the derivatives for the functions below. *status: negative if a value is not finite or a displacement is too large. */
PetscErrorCode penalty_contact_residual(penalty_contact *c, const double *v, const rigid_frame *frames, double *g, bool with_tangent,
                                        step_status *status);
/* y += H x or H^T x, with the contact tangent H = dg/dv at the last penalty_contact_residual with with_tangent = true. */
PetscErrorCode penalty_contact_tangent(const penalty_contact *c, const double *x, double *y, bool is_transposed);
PetscErrorCode penalty_contact_block_diagonal(const penalty_contact *c, double *d); /* d [n_blocks][9] += diagonal blocks of H */
/* Couplings (row, col) of global blocks that pairs of this step may add to the tangent, with rigid blocks on at least one side
 * (the others are couplings of the bodies, see body.h); unordered, may repeat. Allocated: free both with memory_free. */
PetscErrorCode penalty_contact_couplings(const penalty_contact *c, int64_t *n, int32_t **row, int32_t **col);
/* Add the contact tangent to the matrix H, whose pattern includes the couplings of bodies and contact. The bits do not depend on the number
 * of threads. */
PetscErrorCode penalty_contact_assemble(const penalty_contact *c, const block_rows *H);
/* The springs of this step if all its candidate contacts are springs of penalty_rows.h with implicit forces; otherwise NULL. */
const penalty_rows *penalty_contact_springs_alone(const penalty_contact *c);
/* Evaluate the contacts at the end of the step, before its acceptance. Call before end_step of the bodies, because until then their points
 * have the positions at the start of the step. Does not change data of later steps, since the step may still be rejected. */
PetscErrorCode penalty_contact_settle(penalty_contact *c, const double *v, const rigid_frame *frames);
/* Accept the state evaluated by penalty_contact_settle: inactive pairs are deleted; X is set to Y in the others. *out: summary. */
PetscErrorCode penalty_contact_end_step(penalty_contact *c, const double *v, const rigid_frame *frames, contact_summary *out);
/* Return the active pairs, and the forces between bodies, of the last end_step. Borrowed for the lifetime of `c`. */
void penalty_contact_record(const penalty_contact *c, const contact_points **points, const contact_forces **forces);
/* Register the attachments (checkpoint), and the contact points with forces (frames). */
PetscErrorCode penalty_contact_fields(penalty_contact *c, field_table *table);
#endif
