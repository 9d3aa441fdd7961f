/* Status of a time step: accepted, or the reason for its rejection. A rejected step is not an error: after a negative code the run loop
 * restores the state before the step and retries with smaller steps. Set by bodies, contact and solvers. */
#ifndef SS_DISCRETIZE_BODY_STEP_STATUS_H
#define SS_DISCRETIZE_BODY_STEP_STATUS_H
#include <stdint.h>

/* clang-format off */
#define STEP_STATUS_TABLE(X)                                                                   \
  X(STEP_OK, 0, "accepted")                                                                    \
  X(STEP_NOT_CONVERGED, -1, "the nonlinear solver did not converge")                                         \
  X(STEP_NOT_FINITE, -2, "a value became infinite or not a number")                            \
  X(STEP_INVERTED, -3, "an element or particle was inverted")                             \
  X(STEP_CFL_VIOLATED, -4, "a particle or body would move farther in one step than its grid allows")                       \
  X(STEP_OUT_OF_GRID, -5, "a particle left the largest grid that can be addressed")             \
  X(STEP_INTERRUPTED, -6, "interrupted, so that the state before it can be saved in time")                           \
  X(STEP_FRICTION_NOT_CONVERGED, -7, "the friction solver did not converge")                   \
  X(STEP_ROTATION_TOO_LARGE, -8, "a particle rotated too far in one step for its material law") \
  X(STEP_COLLISION_UNRESOLVED, -9, "colliding surfaces could not be separated")                                   \
  X(STEP_BAD_EXPRESSION, -10, "an expression of time became infinite or not a number") \
  X(STEP_NOT_DEFINITE, -11, "a matrix of the step is not positive definite: masses and stiffnesses differ by too many orders of magnitude")
/* clang-format on */
typedef enum {
#define X(name, number, text) name = number,
  STEP_STATUS_TABLE(X)
#undef X
} step_code;

/* `body` is borrowed (a name owned by the scene), NULL if unknown. `where` is the smallest index of a point of that body that
 * violates the condition, -1 if unknown; the report is therefore independent of the number of threads. */
typedef struct {
  step_code   code;
  const char *body;
  int64_t     where;
} step_status;

static inline const char *step_code_text(step_code code)
{
  switch (code) {
#define X(name, number, text)                                                                                                              \
  case name: return text;
    STEP_STATUS_TABLE(X)
#undef X
  }
  return "unknown";
}
#endif
