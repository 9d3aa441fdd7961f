/* What displaces the continuum in a scene: rigid bodies and obstacles with level sets, as the staggered grid wants them, step by
 * step. Those that may not touch any body of kind mac are left out. */
#ifndef SS_SIM_MONOLITH_MONOLITH_SOLIDS_H
#define SS_SIM_MONOLITH_MONOLITH_SOLIDS_H
#include "discretize/mac/mac_solid.h"
#include "sim/scene/scene.h"

typedef struct {
  int        n;
  mac_solid *solid;   /* [n] in the order of the scene's bodies */
  int32_t   *unknown; /* [n] which of the bodies that are solved for, -1: none */
} monolith_solids;

/* Complaints about laws that one grid cannot keep apart. */
PetscErrorCode monolith_solids_check(const scene *s, diagnostics *d);
PetscErrorCode monolith_solids_create(const scene *s, monolith_solids *out); /* in place */
void           monolith_solids_destroy(monolith_solids *s);
/* Where they are now, and how fast: frames by scene_body.frame. */
void monolith_solids_place(monolith_solids *s, const scene *of, const rigid_frame *frames);
#endif
