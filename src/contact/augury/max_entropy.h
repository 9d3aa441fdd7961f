/* Weights that place a given mean: w_j > 0, sum w_j = 1, sum w_j y_j = 0, and of all such weights those of largest entropy, the
 * local maximum-entropy functions [ArroyoOrtiz2006] without locality [hybrid, sec. 7]: as even as the mean lets them be. */
#ifndef SS_CONTACT_AUGURY_MAX_ENTROPY_H
#define SS_CONTACT_AUGURY_MAX_ENTROPY_H
#include <stdbool.h>

/* y [n][2] in any linear coordinates of the plane, of which the weights do not depend; w [n] out. False if the origin is not well
 * within the hull of the points, or memory of the iteration is lost in round-off: w means nothing then. */
bool max_entropy_weights(int n, const double (*y)[2], double *w);
#endif
