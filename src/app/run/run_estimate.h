/* Estimate of the memory and the CPU time of a run, for `check`.
 *
 * memory = M0 + F live:  live is the size of all arrays of the complete run in memory (scene, formulation, output state), M0 the resident memory of the
 *   program with its libraries, F the ratio of the peak during steps to these arrays. At least 100 rigid bodies, and no other bodies with unknowns:
 *   M0 + bodies (memory of a body + 2.4 memory of a contact).
 * CPU time = steps (T0 + T1 units):  units are particles, three for each node of a deformable body, one for each node of a curve, and twenty for each
 *   rigid body.
 * memory of a rigid body = its part of the arrays, if all bodies with unknowns are rigid, + work arrays of a step; memory of a contact: work arrays of a
 *   step. Under convex the factor of the contact problem is not included; it grows with the number of contacts.
 * The constants per formulation are measured (run_estimate.c). Both are estimates within a factor of 3; the number of contacts and iterations, which
 * is not known before the run, can change the time further. */
#ifndef SS_APP_RUN_RUN_ESTIMATE_H
#define SS_APP_RUN_RUN_ESTIMATE_H
#include "app/run/run.h"
#include <stdio.h>

typedef struct {
  double memory;  /* peak resident memory [byte] */
  double seconds; /* CPU time on one core [s] */
  double units;   /* see above */
  double rigid_body,
      contact; /* memory of a rigid body and of a contact of one [byte]; NaN: other bodies have unknowns, or the number is not known */
} run_estimate;

/* `r`: built by run_build in this process, which has built nothing else. */
void run_estimate_of(const run *r, run_estimate *out);
/* Print the line of `check`. */
void run_estimate_print(const run *r, FILE *out);
#endif
