/* The flank of a heap: the slope of its free surface, measured on its particles.
 *
 * The highest particle of every vertical column of grid width stands for the surface there, and a line is fitted to these
 * over the middle of the flank: from where the heap is last 4/5 as high as its top to where it is last 1/5 as high, which leaves out
 * the rounded top and the thin toe. "Highest" is measured square to the line, in a second pass, so that steep columns are not
 * read at their upper edge. All columns count alike; a cone of 20 columns in radius is read to 0.2 degrees (its unit test). For a
 * heap at rest: while sand still falls, the top is the sand in the air.                                                   */
#ifndef SS_SIM_MEASURE_FLANK_H
#define SS_SIM_MEASURE_FLANK_H
#include "core/error.h"

typedef struct {
  double up[3];       /* unit vector */
  double point[3];    /* of the ground [m]; of a round heap, on its axis */
  double along[3];    /* unit vector down the slope, if the heap is plane; only its horizontal part counts */
  bool   is_round;    /* else: down the slope is away from the vertical axis through `point` */
  double width;       /* of a column [m] */
} flank_frame;

/* Angle of the flank below the horizontal [rad] of n particles at x; NaN if fewer than three columns make it up, or if
 * `along` is vertical. */
PetscErrorCode flank_slope(int64_t n, double *const x[3], const flank_frame *f, double *angle);
#endif
