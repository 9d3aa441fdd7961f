/* Speed of finding contacts of fibres with fibres: wavy strands of 20 segments side by side, about as dense as they can lie.
 * bench_fibres [strands, default 5000] Half as many and twice as many tell whether time grows with the number of strands.
 * Seconds are the best of several steps, of which each moves all strands; "moving": what comes together on the way is found,
 * too. */
#include "contact/fibre/fibre_contact.h"
#include "core/memory.h"
#include "core/random.h"
#include "core/team.h"
#include "core/timer.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { SEGMENTS = 20, STEPS = 5 };
static const double radius = 4e-5, length = 4e-3, motion = 2e-5;

typedef struct {
  int64_t  n;
  int32_t *segment, *strand, *body;
  double  *thickness, *x0, *x1;
} wisp;

static PetscErrorCode wisp_create(int64_t n, wisp *w)
{
  PetscFunctionBegin;
  *w = (wisp){.n = n};
  PetscCall(memory_alloc("bench", 2 * n * SEGMENTS, sizeof *w->segment, &w->segment));
  PetscCall(memory_alloc("bench", n * SEGMENTS, sizeof *w->strand, &w->strand));
  PetscCall(memory_alloc("bench", n * SEGMENTS, sizeof *w->body, &w->body));
  PetscCall(memory_alloc("bench", n * SEGMENTS, sizeof *w->thickness, &w->thickness));
  PetscCall(memory_alloc("bench", 3 * n * (SEGMENTS + 1), sizeof *w->x0, &w->x0));
  PetscCall(memory_alloc("bench", 3 * n * (SEGMENTS + 1), sizeof *w->x1, &w->x1));
  for (int64_t i = 0; i < n * SEGMENTS; ++i) {
    w->strand[i]          = (int32_t)(i / SEGMENTS);
    w->segment[2 * i]     = (int32_t)(i + i / SEGMENTS);
    w->segment[2 * i + 1] = w->segment[2 * i] + 1;
    w->thickness[i]       = radius;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void wisp_clear(wisp *w)
{
  memory_free(&w->segment);
  memory_free(&w->strand);
  memory_free(&w->body);
  memory_free(&w->thickness);
  memory_free(&w->x0);
  memory_free(&w->x1);
}

/* On a lattice, each with waves of its own of one radius. */
static void wisp_move(wisp *w, int step)
{
  const int64_t side = (int64_t)ceil(sqrt((double)w->n));
  for (int64_t i = 0; i < w->n; ++i)
    for (int j = 0; j <= SEGMENTS; ++j)
      for (int k = 0; k < 3; ++k) {
        const int64_t at    = 3 * (i * (SEGMENTS + 1) + j) + k;
        const double  phase = random_range(1, (uint64_t)(3 * i + k), 0, 0.0, 2.0 * M_PI);
        const double  place = k == 2 ? length * j : 2.2 * radius * (double)(k ? i / side : i % side);
        const double  wave  = radius * sin(0.7 * j + phase) + motion * random_range(2, (uint64_t)at, (uint64_t)step, -1.0, 1.0);
        w->x0[at]           = place + wave;
        w->x1[at]           = w->x0[at] + motion * random_range(3, (uint64_t)at, (uint64_t)step, -1.0, 1.0);
      }
}

static PetscErrorCode measure(int64_t n, int threads, bool is_moving, double *seconds)
{
  const bool        can_touch = true;
  wisp              w;
  fibre_contact    *c;
  const fibre_spot *spot;
  int64_t           n_spots = 0, n_swept = 0, bad;
  PetscFunctionBegin;
  PetscCall(wisp_create(n, &w));
  const fibre_set set = {.n_nodes    = n * (SEGMENTS + 1),
                         .n_segments = n * SEGMENTS,
                         .segment    = w.segment,
                         .strand     = w.strand,
                         .radius     = w.thickness,
                         .n_bodies   = 1,
                         .body       = w.body,
                         .can_touch  = &can_touch};
  team_set_threads(threads);
  PetscCall(fibre_contact_create(&set, &c));
  *seconds = INFINITY;
  for (int step = 0; step < STEPS; ++step) {
    wisp_move(&w, step);
    const double begin = timer_now();
    PetscCall(fibre_contact_run(c, w.x0, is_moving ? w.x1 : NULL, 0.1 * radius, &n_spots, &spot, &bad));
    *seconds = fmin(*seconds, timer_now() - begin);
  }
  for (int64_t k = 0; k < n_spots; ++k) n_swept += spot[k].is_swept;
  printf("%8lld strands, %d threads, %-8s %8lld contacts (%lld on the way) %8.4f s %7.0f ns a segment\n", (long long)n, threads,
         is_moving ? "moving:" : "at rest:", (long long)n_spots, (long long)n_swept, *seconds, 1e9 * *seconds / (double)(n * SEGMENTS));
  fibre_contact_destroy(&c);
  wisp_clear(&w);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const int64_t n = argc > 1 ? atoll(argv[1]) : 5000;
  double        seconds;
  if (PetscInitialize(&argc, &argv, NULL, NULL)) return 1;
  for (int is_moving = 0; is_moving < 2; ++is_moving)
    for (int threads = 1; threads <= 2; ++threads)
      for (int64_t m = n / 2; m <= 2 * n; m *= 2)
        if (measure(m, threads, is_moving, &seconds)) return 1;
  return PetscFinalize();
}
