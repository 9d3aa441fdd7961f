/* The pose of something rigid during a step: what contact needs to know of a level set's owner or a rigid body's vertices.
 *
 *   c [3]  origin (centre of mass for dynamic bodies)          R [9]  body to world
 *   v, w   velocity and angular velocity, world axes (for sliding directions and work)
 *   Jl [9] left Jacobian of the exponential map at dt w: world rotation increment per change of dt w
 * World, static bodies: identity, or the prescribed pose at the end of the step. block < 0: no unknowns.             */
#ifndef SS_DISCRETIZE_BODY_RIGID_FRAME_H
#define SS_DISCRETIZE_BODY_RIGID_FRAME_H
#include <stdint.h>
typedef struct {
  double  c[3], R[9], v[3], w[3], Jl[9];
  int64_t block; /* global index of the linear block (angular is block + 1), or -1 */
} rigid_frame;
#endif
