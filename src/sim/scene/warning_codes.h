/* The table of all codes of warnings (core/warning_list.h) with their meaning.
 *
 * The job key ignore_warnings, the option --no-warn and docs/reference/warnings.md are generated from this table. Every call of warning_list_add uses a
 * code of the table. Used by scene, formulations, run loop and commands. */
#ifndef SS_SIM_SCENE_WARNING_CODES_H
#define SS_SIM_SCENE_WARNING_CODES_H

/* X(code, place where it is detected, meaning and remedy) */
/* clang-format off */
#define WARNING_CODE_TABLE(X)                                                                                                               \
  X("below-plane", "start", "a body starts completely behind a plane, a wall of a container or a side of the grid: move it to the free side")   \
  X("unsupported-body", "start, run", "nothing is below a body within its fall during the run, or a rigid body has fallen out of the scene: add an obstacle, close the hole, or check positions and gravity") \
  X("fast-body", "start", "a body moves farther in one step than half of the smallest feature that it can collide with: choose a shorter step") \
  X("step-gravity", "start", "gravity displaces a body at rest in one step by more than its size or the spacing: choose a shorter step") \
  X("step-sound", "start", "the step is so much longer than the oscillations of an elastic body that they are damped within a step: choose a shorter step if vibrations or impacts matter") \
  X("step-contact", "start", "the step does not resolve the damper of a coefficient of restitution: choose a step shorter than sqrt(m/k)/5") \
  X("stiff-contact", "start", "the contact stiffness exceeds the inertia of a body per step by more than a factor of 1e9, so that the equations are ill-conditioned: choose a smaller stiffness or step") \
  X("soft-contact", "start", "the expected static penetration W/(n k) exceeds a tenth of the smaller body: choose a larger stiffness") \
  X("unused-parameter", "start", "no body uses a material or its mechanical parameters: remove them, or choose another kind of body") \
  X("coarse-contact", "start", "the contact points of a body are farther apart than twice the thickness of a body that they have to detect: choose a finer spacing") \
  X("coarse-curvature", "start", "the edges of a mesh exceed 0.9 radii of the curved surface that it represents: choose a finer spacing") \
  X("frame-interval", "start", "the interval of frames gives no frame, or more than 100,000 frames: change time.frame") \
  X("duration", "start", "the run has fewer than 2 or more than 1e8 steps: check time.end and time.step") \
  X("within-thickness", "start", "under hybrid, bodies start closer than the thickness of impulses, so contact moves them apart: move them, or set a smaller thickness")   \
  X("few-vertices", "start", "contact with an obstacle that is no union of convex solids acts only at the few vertices of a body: set surface_spacing, or make the obstacle a union")   \
  X("edges-pass", "start", "edges of rigid triangle surfaces pass through each other, because restitution, friction_direction or lagged forces exclude contact of edges: use convex solids, or remove these keys")   \
  X("until-not-finite", "run", "an expression of until is infinite or undefined although its measures are finite: correct the expression")   \
  X("deep-overlap", "run", "bodies overlap by more than a tenth of the spacing or of the body: choose a larger stiffness or a shorter step") \
  X("pour-blocked", "run", "the place of a poured body is occupied at its time, so that it is released later: pour more slowly")   \
  X("few-contact-points", "start, run", "a pair of bodies has too few contact points for its size: choose a finer spacing") \
  X("rotation-step", "start", "a body rotates by a large angle per step with an integrator that dissipates: use rotation: conserving or a shorter step")
/* clang-format on */

/* One row of the table. */
typedef struct {
  const char *code, *place, *help; /* place: "start", "run" or both */
} warning_code;
extern const warning_code warning_codes[];      /* ends with code NULL */
extern const char *const  warning_code_names[]; /* the codes, NULL-terminated: choices of ignore_warnings */
#endif
