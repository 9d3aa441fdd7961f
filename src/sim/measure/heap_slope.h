/* Slope of the free surface of a heap, from its particles. Used by measure angle_of_repose.
 *
 * The surface is represented by the highest particle of every vertical column of width `width`. A line is fitted to these particles
 * between the outermost column with 4/5 of the height and the outermost column with 1/5, which excludes the rounded top and the thin
 * toe. A second pass measures heights perpendicular to the first line; otherwise the upper edge of each column would represent it on
 * steep slopes. All columns have the same weight. Error for a cone with a radius of 20 columns: 0.2 degrees (unit test). Valid for a
 * heap at rest: falling particles count as surface. */
#ifndef SS_SIM_MEASURE_HEAP_SLOPE_H
#define SS_SIM_MEASURE_HEAP_SLOPE_H
#include "core/error.h"

typedef struct {
  double up[3];    /* unit vector */
  double point[3]; /* on the ground [m]; for a round heap, on its axis */
  double along[3]; /* unit vector down the slope of a plane heap; only its horizontal part is used */
  bool   is_round; /* else: the slope descends away from the vertical axis through `point` */
  double width;    /* of a column [m] */
} heap_frame;

/* Angle of the slope below the horizontal [rad] for n particles at x[3][n] m. NaN if the slope has fewer than three columns, or if
 * `along` is vertical. Error: out of memory. */
PetscErrorCode heap_slope_angle(int64_t n, double *const x[3], const heap_frame *f, double *angle);
#endif
