/* Material points of a scene on the grid that boundaries go through: their grid's nodes take part as they are, past the paper's
 * outlook [MarquezRazonEtAl2023, sec. 11]. */
#ifndef SS_SIM_HYBRID_HYBRID_CONTINUUM_H
#define SS_SIM_HYBRID_HYBRID_CONTINUUM_H
#include "contact/augury/augury_continuum.h"
#include "sim/step/step_layout.h"

typedef struct {
  body   *system; /* of all bodies of kind mpm; NULL: there are none */
  int64_t capacity[4];
  int32_t (*node)[3];        /* [n] */
  double *mass;              /* [n] */
  double (*outward)[3];      /* [n] */
  double          *velocity; /* [n][3] */
  augury_continuum view;
  bool             is_met; /* in the step under way */
} hybrid_continuum;

void hybrid_continuum_create(const scene *s, hybrid_continuum *c);
void hybrid_continuum_destroy(hybrid_continuum *c);
/* The nodes of the step that `l` has begun, with velocities from l->v. */
PetscErrorCode hybrid_continuum_begin(hybrid_continuum *c, const step_layout *l);
/* Velocities from l->v once more. */
void hybrid_continuum_restore(hybrid_continuum *c, const step_layout *l);
#endif
