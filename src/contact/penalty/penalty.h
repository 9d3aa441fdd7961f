/* Penalty contact with sliding attachments between contact points and level sets [DingSchroeder2020]. Caller: the `penalty` step.
 *
 * A pair is (point of a body, level set of an object). Its force on the point is f = k (Y - Z), Y = P(X, Z), and -f acts at Y on
 * the object. The attachment X is stored in the object's frame and is state; Z is the point. The relaxation P is in
 * penalty_relaxation.h. A point that starts the step inside an object has the closest surface point as its X. A point that
 * penetrates during the step has no X yet. It takes Y = closest point of the evaluated state, so that its force is normal and g
 * remains a function of z alone; X <- Y when the step is accepted. */
#ifndef SS_CONTACT_PENALTY_PENALTY_H
#define SS_CONTACT_PENALTY_PENALTY_H
#include "contact/detection/contact_record.h"
#include "contact/penalty/penalty_options.h"
#include "core/field_table.h"

typedef struct penalty_contact penalty_contact;

/* law [n_bodies][n_bodies], symmetric, copied. */
PetscErrorCode penalty_contact_create(int n_bodies, const contact_law *law, penalty_contact **out);
void           penalty_contact_destroy(penalty_contact **c);

/* Add triangle surfaces for contact with points, see penalty_mesh.h. Call once, before fields and the first step. */
PetscErrorCode penalty_contact_add_meshes(penalty_contact *c, int n, const contact_mesh *meshes);

/* Enable contacts between edges of these surfaces, see penalty_edges.h. Call once, after add_meshes, before fields and the first
 * step; only for CONTACT_IMPLICIT. */
PetscErrorCode penalty_contact_add_edges(penalty_contact *c);

/* Default CONTACT_IMPLICIT; restitution acts only there. Call after add_meshes, before the first step. */
void penalty_contact_set_scheme(penalty_contact *c, contact_scheme scheme);

/* Speed that bodies gain per second without contact, default 9.81 m/s^2, > 0. Approach speeds below this times the step count as
 * resting, see restitution.h. Call after add_meshes, before the first step. */
void penalty_contact_set_acceleration(penalty_contact *c, double g0);

/* Find every candidate pair of this step: stored attachments, and points within `margin` of a level set [m].
 * frames0: poses at the start of the step. All arrays borrowed until end_step. n_blocks: of the global vector. */
PetscErrorCode penalty_contact_begin_step(penalty_contact *c, int n_sources, const contact_source *sources, int n_objects,
                                          const contact_object *objects, int n_frames, const rigid_frame *frames0, double dt, double margin,
                                          int64_t n_blocks);
/* g [n_blocks][3] -= dt * forces (angular blocks: torques) at velocities v [n_blocks][3] and the poses that result from them. */
PetscErrorCode penalty_contact_residual(penalty_contact *c, const double *v, const rigid_frame *frames, double *g, bool with_tangent,
                                        step_status *status);
/* y += H_contact x or its transpose, at the last residual(with_tangent = true). */
PetscErrorCode penalty_contact_tangent(const penalty_contact *c, const double *x, double *y, bool is_transposed);
PetscErrorCode penalty_contact_block_diagonal(const penalty_contact *c, double *d); /* [n_blocks][9] += */
/* Couplings (row, col) of global blocks that pairs of this step may add to the tangent, with rigid blocks on at least one side
 * (the others are couplings of the bodies, see body.h); unordered, may repeat. Allocated: free both with memory_free. */
PetscErrorCode penalty_contact_couplings(const penalty_contact *c, int64_t *n, int32_t **row, int32_t **col);
/* H += the tangent at the last residual(with_tangent = true); the pattern of H includes the couplings of bodies and contact.
 * Same bits on any number of threads. */
PetscErrorCode penalty_contact_assemble(const penalty_contact *c, const block_rows *H);
/* Evaluate the state that is about to be accepted. Call before the bodies' end_step: until then their points have the positions of
 * the start of the step. Changes no data that outlasts the step, which may still be rejected. */
PetscErrorCode penalty_contact_settle(penalty_contact *c, const double *v, const rigid_frame *frames);
/* Accept the evaluated state: inactive pairs are deleted, the others get X <- Y. */
PetscErrorCode penalty_contact_end_step(penalty_contact *c, const double *v, const rigid_frame *frames, contact_summary *out);
/* Return the active pairs, and the forces between bodies, of the last end_step. Borrowed for the lifetime of `c`. */
void penalty_contact_record(const penalty_contact *c, const contact_points **points, const contact_forces **forces);
/* Attachments as state (checkpoint), and contact points with forces for frames. */
PetscErrorCode penalty_contact_fields(penalty_contact *c, field_table *table);
#endif
