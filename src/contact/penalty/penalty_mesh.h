/* Penalty contact between points and triangle surfaces, deformable or rigid, with sliding attachments [DingSchroeder2020, sec. 2.1.3].
 *
 * A pair consists of a point Z of a body and a surface of a body, which may be the same body (self-contact). The force on the point is
 * f = k (Y - Z), multiplied by the gain of restitution.h if damping is set. The reaction -weight_i f acts on the corners of the triangle
 * that contains the attachment Y, or -f at Y on a rigid body. Every force evaluation detects pairs by continuous collision detection; they
 * exist for the rest of the step. Attachments of pairs that are active at the end of the step are state.
 *
 * penalty.h treats contacts of points with level sets; its functions call those of this file. */
#ifndef SS_CONTACT_PENALTY_PENALTY_MESH_H
#define SS_CONTACT_PENALTY_PENALTY_MESH_H
#include "contact/penalty/penalty_pairs.h"

/* Create with law [n_slots] of `pairs` (NULL: [n_bodies][n_bodies]), borrowed; pairs of a body with itself: self-contact, and meshes [n], copied: bodies with ops->surface. */
PetscErrorCode mesh_contact_create(int n_bodies, const pair_classes *pairs, const contact_law *law, int n, const contact_mesh *meshes,
                                   mesh_contact **out);
void           mesh_contact_destroy(mesh_contact **c);
/* Enable contacts between edges of the surfaces. Call once, before the first step; only for CONTACT_IMPLICIT. */
PetscErrorCode mesh_contact_add_edges(mesh_contact *c);
/* As penalty_contact_set_scheme. For CONTACT_LAGGED_CONTACT, contacts are detected once per step, not in every evaluation. */
void mesh_contact_set_scheme(mesh_contact *c, contact_scheme scheme);
/* As penalty_contact_set_rests. */
void mesh_contact_set_rests(mesh_contact *c, const contact_rests *rests);
/* As penalty_contact_set_acceleration. */
void mesh_contact_set_acceleration(mesh_contact *c, double g0);
/* As penalty_contact_begin_step. */
PetscErrorCode mesh_contact_begin_step(mesh_contact *c, int n_sources, const contact_source *sources, int n_frames,
                                       const rigid_frame *frames0, double dt, double margin, int64_t n_blocks);
/* Detect new contacts on the trajectories given by v, then g -= dt forces. *bad_source, *bad_point: source and point of a pair with a value
 * that is not finite; else -1. *bad_source = MESH_TOO_FAR: in a trial state (without tangent) the displacements are too large for contact
 * detection; g is then unchanged. */
enum { MESH_TOO_FAR = -2 };
PetscErrorCode mesh_contact_residual(mesh_contact *c, const double *v, const rigid_frame *frames, double *g, bool with_tangent,
                                     int *bad_source, int64_t *bad_point);
/* The following functions correspond to those of the same name in penalty.h. */
PetscErrorCode mesh_contact_tangent(const mesh_contact *c, const double *x, double *y, bool is_transposed);
PetscErrorCode mesh_contact_block_diagonal(const mesh_contact *c, double *d);
/* Add the blocks in the sparsity pattern of H. Other blocks are omitted: their effect on the preconditioner is small. */
PetscErrorCode mesh_contact_assemble(const mesh_contact *c, const block_rows *H);
PetscErrorCode mesh_contact_couplings(const mesh_contact *c, int64_t *n, int32_t **row, int32_t **col); /* appended */
PetscErrorCode mesh_contact_settle(mesh_contact *c, const double *v, const rigid_frame *frames);
PetscErrorCode mesh_contact_end_step(mesh_contact *c);
PetscErrorCode mesh_contact_fields(mesh_contact *c, field_table *table);

int64_t mesh_contact_n_pairs(const mesh_contact *c);
void    mesh_contact_pair(const mesh_contact *c, int64_t i, mesh_pair_view *out);
/* Energy at the start of the step of pairs that find_points_inside created in it [J]. */
double mesh_contact_start_energy(const mesh_contact *c);
/* Statistics of the relaxations in all evaluations since begin_step, of pairs that were in contact. */
const relax_statistics *mesh_contact_statistics(const mesh_contact *c);
#endif
