/* Chunks of the fused passes over vectors: borders and sums depend on n alone, so the bits do not depend on the number of threads.
 * */
#ifndef SS_OPTIM_BOUNDS_BOUNDS_VECTOR_H
#define SS_OPTIM_BOUNDS_BOUNDS_VECTOR_H
#include "core/team.h"
#include <math.h>

/* Short chunks, and a team from 2048 unknowns on: a pass on one thread would cost little, but leave all vectors with that
 * thread. */
enum { BOX_CHUNK = 512, BOX_PARALLEL = 2048, BOX_SUMS = 4 /* partial sums a chunk */ };
typedef double box_part[BOX_SUMS];

static inline int64_t box_chunks(int64_t n) { return (n + BOX_CHUNK - 1) / BOX_CHUNK; }
static inline int64_t box_chunk_end(int64_t c, int64_t n) { return (c + 1) * BOX_CHUNK < n ? (c + 1) * BOX_CHUNK : n; }
static inline double  box_add(const box_part *part, int64_t n_chunks, int k)
{
  double sum = 0.0;
  for (int64_t c = 0; c < n_chunks; ++c) sum += part[c][k];
  return sum;
}
/* What is no number stays none. */
static inline double box_clip(double x, double lo, double hi) { return x < lo ? lo : x > hi ? hi : x; }
/* for (i in chunk c), over all chunks on the team: a loop over chunks with its body, e.g.
 *   BOX_CHUNKS(n) { BOX_RANGE(c, n); for (int64_t i = first; i < last; ++i) ... }   */
#define BOX_PRAGMA(text) _Pragma(#text)
#define BOX_CHUNKS(n)                                                                          \
  BOX_PRAGMA(omp parallel for schedule(static) if ((n) >= BOX_PARALLEL))                       \
  for (int64_t c = 0; c < box_chunks(n); ++c)
#define BOX_RANGE(n) const int64_t first = c * BOX_CHUNK, last = box_chunk_end(c, n)
#endif
