/* The team of OpenMP threads, and sums whose bits do not depend on its size.
 *
 * Work is cut into chunks whose borders depend on the problem size alone; each chunk is summed by one thread, and the
 * partial sums are added in index order.                                                                           */
#ifndef SS_CORE_TEAM_H
#define SS_CORE_TEAM_H
#include <stdint.h>

enum { TEAM_CHUNK = 4096 }; /* items per chunk of the reductions below */

void team_set_threads(int n); /* n <= 0: as many as the allocation offers (omp_get_num_procs) */
int  team_threads(void);
/* libgomp binds the first thread to the first place as it is loaded, where OMP_PROC_BIND, OMP_PLACES or GOMP_CPU_AFFINITY ask for
 * places. CPUs of all places, in their order: their number, of which at most `most` are written to cpu[]; 0 where there are no places. */
int  team_place_cpus(int most, int *cpu);
/* Undo that: this thread may use the CPUs of all places. What is started from here, with exec or fork, finds them all again. */
void team_leave_place(void);

static inline int64_t team_chunks(int64_t n) { return (n + TEAM_CHUNK - 1) / TEAM_CHUNK; }

double team_sum(int64_t n, const double *x);
double team_dot(int64_t n, const double *x, const double *y);
double team_max_abs(int64_t n, const double *x); /* 0 for n == 0; NaN if any entry is NaN */
double team_max_difference(int64_t n, const double *x, const double *y); /* of |x - y|, likewise */
/* m dot products against the same y in one sweep of y: out[k] = x[k] . y */
void team_mdot(int64_t n, int m, const double *const *x, const double *y, double *out);
/* The smallest index whose entry is not finite, or n. */
int64_t team_first_not_finite(int64_t n, const double *x);
#endif
