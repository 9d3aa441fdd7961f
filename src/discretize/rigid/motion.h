/* Prescribed motion of kinematic bodies and constrained nodes: pose and velocity as functions of time.
 *
 * A point at x in the rest pose moves to p + d(t) + R(t) (x - p), where p is the pivot. The displacement d and the rotation R are given
 * by constant velocities, keyframes, or expressions in t. Between two keyframes with the same rotation axis, the angle is interpolated,
 * full turns included. Between keyframes with different axes, the rotation follows the shortest arc.
 *
 * Linear interpolation has constant rates between keyframes. Smooth interpolation has a continuous velocity without overshoot and is at
 * rest at the first and the last keyframe. It uses monotone cubics [FritschButland1984] for each component of d, and for the rotation angle
 * where the rotation axis is the same in both adjacent intervals. At a keyframe where the axis changes, the rotation rate is zero. */
#ifndef SS_DISCRETIZE_RIGID_MOTION_H
#define SS_DISCRETIZE_RIGID_MOTION_H
#include "core/diagnostics.h"
#include "core/key_table.h"
#include "discretize/body/body.h"

enum { MOTION_LINEAR, MOTION_SMOOTH }; /* interpolation */
typedef struct {
  double time, translate[3], rotate_deg, axis[3];
} motion_key_spec;
typedef struct {
  key_list    translate; /* three expressions of t */
  const char *rotate_deg;
  double      axis[3];
} motion_expression_spec;
/* Job entry `motion:`. */
typedef struct {
  double                        pivot[3], velocity[3], angular_velocity[3];
  int                           interpolation;
  key_list                      keyframes;   /* list of motion_key_spec */
  const motion_expression_spec *expressions; /* NULL: not given */
} motion_spec;
extern const key_table motion_table;

typedef struct motion motion;
/* Create a motion from its job entry; spec NULL: the body is at rest. Invalid expressions or keyframes are reported to `d`; then *out is NULL. */
PetscErrorCode motion_create(const motion_spec *spec, const document_node *node, const char *path, diagnostics *d, motion **out);
void           motion_destroy(motion **m);
/* Pose and velocity at time t of a body whose rest coordinates are world coordinates. At negative times (search for the static equilibrium, sim/step)
 * the body is at rest in its pose of t = 0. Sets c, R, v (velocity of the frame's origin) and w
 * of *frame; Jl = I, block = -1. */
void motion_frame(const motion *m, double t, rigid_frame *frame);
#endif
