/* Gauss-Seidel sweeps on body velocities in single precision. */
#define REAL float
#define INTEGER int32_t
#define IS_SINGLE true
#define PASS sweep_pass_float
#include "optim/friction/body_sweeps_pass.inc"
