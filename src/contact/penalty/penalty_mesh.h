/* Penalty contact between points and triangle surfaces, deforming or rigid, with sliding attachments [DingSchroeder2020], sec. 2.1.3.
 *
 * A pair is (point of a body, surface of a body; the same body if it meets itself). Its force on the point is f = k (Y - Z), times the gain of
 * restitution.h where wanted, and
 * -weight_i f acts on the corners of the triangle that carries Y, or -f at Y on a rigid body. Pairs are found by continuous collision detection in every evaluation
 * of the forces and then kept for the rest of the step; attachments that are still active at its end are state. Derivation:
 * penalty-relaxation.md, sections 4 to 6.
 *
 * The other half of penalty contact, points against level sets, is in penalty.h, whose functions call these.           */
#ifndef SS_CONTACT_PENALTY_PENALTY_MESH_H
#define SS_CONTACT_PENALTY_PENALTY_MESH_H
#include "contact/penalty/penalty_pairs.h"

/* law [n_bodies][n_bodies]: borrowed; the diagonal says which bodies meet themselves. meshes [n]: copied, bodies with ops->surface. */
PetscErrorCode mesh_contact_create(int n_bodies, const contact_law *law, int n, const contact_mesh *meshes, mesh_contact **out);
void           mesh_contact_destroy(mesh_contact **c);
/* Edges of the surfaces meet each other, too. Once, before the first step; under CONTACT_IMPLICIT alone. */
PetscErrorCode mesh_contact_add_edges(mesh_contact *c);
/* As penalty_contact_set_scheme. Where contact lags, surfaces are looked at once per step, not in every evaluation. */
void mesh_contact_set_scheme(mesh_contact *c, contact_scheme scheme);
/* As penalty_contact_set_acceleration. */
void mesh_contact_set_acceleration(mesh_contact *c, double g0);
/* As penalty_contact_set_detection and penalty_contact_expect. */
void           mesh_contact_set_detection(mesh_contact *c, contact_detection detection);
PetscErrorCode mesh_contact_expect(mesh_contact *c, const double *v, const rigid_frame *frames);
/* As penalty_contact_begin_step. */
PetscErrorCode mesh_contact_begin_step(mesh_contact *c, int n_sources, const contact_source *sources, int n_frames,
                                       const rigid_frame *frames0, double dt, double margin, int64_t n_blocks);
/* Find what begins to touch on the way to v, then g -= dt forces. *bad_source, *bad_point: of a pair that is not finite, else -1.
 * *bad_source MESH_TOO_FAR: a trial (no tangent wanted) moves things so far that looking for contacts is pointless; nothing was added. */
enum { MESH_TOO_FAR = -2 };
PetscErrorCode mesh_contact_residual(mesh_contact *c, const double *v, const rigid_frame *frames, double *g, bool with_tangent,
                                     int *bad_source, int64_t *bad_point);
/* The following as their namesakes in penalty.h. */
PetscErrorCode mesh_contact_tangent(const mesh_contact *c, const double *x, double *y, bool is_transposed);
PetscErrorCode mesh_contact_block_diagonal(const mesh_contact *c, double *d);
/* Adds what the pattern of H holds: a preconditioner loses little without the rest. */
PetscErrorCode mesh_contact_assemble(const mesh_contact *c, const block_rows *H);
PetscErrorCode mesh_contact_couplings(const mesh_contact *c, int64_t *n, int32_t **row, int32_t **col); /* appended */
PetscErrorCode mesh_contact_settle(mesh_contact *c, const double *v, const rigid_frame *frames);
PetscErrorCode mesh_contact_end_step(mesh_contact *c);
PetscErrorCode mesh_contact_fields(mesh_contact *c, field_table *table);

int64_t mesh_contact_n_pairs(const mesh_contact *c);
void    mesh_contact_pair(const mesh_contact *c, int64_t i, mesh_pair_view *out);
/* Relaxations since begin_step, of all evaluations: pairs whose path touches. */
const relax_statistics *mesh_contact_statistics(const mesh_contact *c);
#endif
