/* Gauss-Seidel sweeps on body velocities in double precision. */
#define REAL double
#define INTEGER int64_t
#define IS_SINGLE false
#define PASS sweep_pass_double
#include "optim/friction/body_sweeps_pass.inc"
