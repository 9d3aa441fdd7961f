/* Prescribed motion of kinematic bodies: pose and velocity as functions of time.
 *
 * A body drawn in the job at its place at rest moves by x -> p + d(t) + R(t) (x - p), p the pivot. d and R come from constant
 * velocities, from keyframes, or from expressions in t. Between keyframes rotations go by the angle that is written, several turns
 * included, where the axis stays the same, else by the shortest arc. Linear: at constant rates.
 * Smooth: without jumps in velocity, without overshoot; d by monotone cubics [FritschButland1984], component by component, R likewise
 * in the angle where the axis of rotation stays the same from one interval to the next, else pausing there; from and to rest. */
#ifndef SS_DISCRETIZE_RIGID_MOTION_H
#define SS_DISCRETIZE_RIGID_MOTION_H
#include "core/diagnostics.h"
#include "core/key_table.h"
#include "discretize/body/body.h"

enum { MOTION_LINEAR, MOTION_SMOOTH };
typedef struct {
  double time, translate[3], rotate_deg, axis[3];
} motion_key_spec;
typedef struct {
  key_list    translate; /* three texts */
  const char *rotate_deg;
  double      axis[3];
} motion_expression_spec;
typedef struct {
  double                        pivot[3], velocity[3], angular_velocity[3];
  int                           interpolation;
  key_list                      keyframes; /* of motion_key_spec */
  const motion_expression_spec *expressions;
} motion_spec;
extern const key_table motion_table;

typedef struct motion motion;
/* spec NULL: at rest. Mistakes in expressions or keyframes go to `d`, then *out is NULL. */
PetscErrorCode motion_create(const motion_spec *spec, const document_node *node, const char *path, diagnostics *d, motion **out);
void           motion_destroy(motion **m);
/* Pose of the body whose coordinates at rest are world coordinates: c, R, v (of the frame's origin), w; Jl = I, block = -1. */
void motion_frame(const motion *m, double t, rigid_frame *frame);
#endif
