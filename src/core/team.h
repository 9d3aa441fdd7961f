/* Number and binding of OpenMP threads, and reductions whose bits do not depend on the number of threads.
 *
 * A vector is divided into chunks whose limits depend on its length alone. Each chunk is summed by one thread; the partial sums are then added
 * in index order. */
#ifndef SS_CORE_TEAM_H
#define SS_CORE_TEAM_H
#include <stdatomic.h>
#include <stdint.h>

enum { TEAM_CHUNK = 4096 }; /* items per chunk of the reductions below */

void team_set_threads(int n); /* n <= 0: all processors of the allocation (omp_get_num_procs) */
int  team_threads(void);
/* CPUs of all OpenMP places, in the order of the places: writes at most `most` of them to cpu[] and returns the total number; 0 if there are no places.
 * Places are defined by OMP_PROC_BIND, OMP_PLACES or GOMP_CPU_AFFINITY. libgomp, when it is loaded, binds the first thread to the first place. */
int team_place_cpus(int most, int *cpu);
/* Undo this binding: the calling thread, and processes that it starts by exec or fork, may use the CPUs of all places. */
void team_leave_place(void);

/* A barrier for phases of microseconds: one of OpenMP takes longer than the phases, and on a busy machine much longer. Initial value: zeros. */
typedef struct {
  _Alignas(64) atomic_int n_waiting;
  atomic_uint phase;
} team_barrier;
/* Wait until n threads have called this function. */
void team_barrier_wait(team_barrier *b, int n);

static inline int64_t team_chunks(int64_t n) { return (n + TEAM_CHUNK - 1) / TEAM_CHUNK; }

double team_sum(int64_t n, const double *x);
double team_dot(int64_t n, const double *x, const double *y);
double team_max_abs(int64_t n, const double *x);                         /* max |x_i|; 0 for n == 0; NaN if any entry is NaN */
double team_max_difference(int64_t n, const double *x, const double *y); /* max |x_i - y_i|; 0 for n == 0; NaN if any entry is NaN */
/* m dot products with the same vector y, which is read once: out[k] = x[k] . y; x: m pointers to [n]. */
void team_mdot(int64_t n, int m, const double *const *x, const double *y, double *out);
/* Smallest index of an entry that is not finite; n if all are finite. */
int64_t team_first_not_finite(int64_t n, const double *x);
#endif
