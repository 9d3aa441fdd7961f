/* The mass points of which a body consists for the measures of particles: its particles, or the centres of mass of rigid bodies (one body, or
 * all copies of an entry). */
#ifndef SS_SIM_MEASURE_MEASURE_POINTS_H
#define SS_SIM_MEASURE_MEASURE_POINTS_H
#include "sim/scene/scene.h"

typedef struct {
  int64_t  n;
  double  *x[3], *v[3], *mass; /* [n] m, m/s, kg */
  int64_t *id;                 /* [n] identity, which does not change when particles are sorted */
  double   spacing;            /* typical distance of two points [m] */
} measure_points;

/* Arrays for rigid bodies; zero before the first use. */
typedef struct {
  int64_t  capacity;
  double  *x[3], *v[3], *mass;
  int64_t *id;
} measure_points_memory;

/* *out: the points of the bodies `of`, borrowed from the body or from `memory` until the next call. A body without particles that is not rigid has
 * none. */
PetscErrorCode measure_points_get(const scene *s, body_range of, measure_points_memory *memory, measure_points *out);
void           measure_points_free(measure_points_memory *memory);
#endif
