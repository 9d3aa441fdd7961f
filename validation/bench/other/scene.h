/* Scenes that several engines are asked to simulate, and what is measured of them. For C and C++; every engine is a program of its own.
 *
 *   stacks  cubes of 0.1 m, each `ratio` times as heavy as the one below, aligned (just touching) or placed at random: moved by up to 2 mm,
 *           turned by 1 degree, 2.5 mm apart; the numbers of jobs/penalty/stack_*_random.yaml. Friction 0.5, dt 10 ms, 10 s
 *   slope   A01: a cube on an incline with tan 0.11 (gravity is tilted), 0.1 m/s downhill. With friction 0.1 it slides, x(1) = 0.14876 m and
 *           v(1) = 0.19751 m/s; with 0.125 it stops, at x = 0.03418 m. dt 1 ms, 1 s                                        */
#ifndef SS_BENCH_OTHER_SCENE_H
#define SS_BENCH_OTHER_SCENE_H
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "core/random.h"

enum { OTHER_MAX_BOXES = 10, OTHER_SCENES = 6 };

typedef struct {
  double mass, x[3], q[4], v[3]; /* q: (w, x, y, z) */
} other_box;

typedef struct {
  char      name[48];
  int       n;
  bool      is_slope;
  double    half, friction, gravity[3], dt, end;
  double    expected[2]; /* stacks: height of the top cube; slope: x and v at the end */
  other_box box[OTHER_MAX_BOXES];
} other_scene;

static inline void other_stack(other_scene *s, int n, double ratio, bool is_random)
{
  memset(s, 0, sizeof *s);
  snprintf(s->name, sizeof s->name, "%d cubes, x%g, %s", n, ratio, is_random ? "random" : "aligned");
  s->n = n, s->half = 0.05, s->friction = 0.5, s->dt = 0.01, s->end = 10.0;
  s->gravity[2]  = -9.81;
  s->expected[0] = 0.1 * n - 0.05;
  for (int i = 0; i < n; ++i) {
    other_box *b = &s->box[i];
    b->mass      = i == 0 ? 1.0 : ratio * s->box[i - 1].mass;
    b->x[2]      = 0.05 + 0.1 * i;
    b->q[0]      = 1.0;
    if (!is_random) continue;
    double axis[3];
    random_direction(1, (uint64_t)i, 2, axis);
    for (int k = 0; k < 2; ++k) b->x[k] = random_range(1, (uint64_t)i, (uint64_t)k, -2e-3, 2e-3);
    b->x[2] += 2.5e-3 * (i + 1);
    b->q[0] = cos(M_PI / 360.0);
    for (int k = 0; k < 3; ++k) b->q[k + 1] = sin(M_PI / 360.0) * axis[k];
  }
}

static inline void other_slope(other_scene *s, double friction)
{
  memset(s, 0, sizeof *s);
  const double c = 1.0 / sqrt(1.0 + 0.11 * 0.11), a = 9.81 * c * (0.11 - friction), stop = a < 0.0 ? -0.1 / a : 2.0,
               t = stop < 1.0 ? stop : 1.0;
  snprintf(s->name, sizeof s->name, "slope, mu %g", friction);
  s->n = 1, s->is_slope = true, s->half = 0.05, s->friction = friction, s->dt = 0.001, s->end = 1.0;
  s->gravity[0] = 9.81 * 0.11 * c, s->gravity[2] = -9.81 * c;
  s->box[0].mass = 1.0, s->box[0].x[2] = 0.05, s->box[0].q[0] = 1.0, s->box[0].v[0] = 0.1;
  s->expected[0] = 0.1 * t + 0.5 * a * t * t;
  s->expected[1] = stop < 1.0 ? 0.0 : 0.1 + a;
}

static inline void other_make(other_scene *s, int i)
{
  if (i < 4) other_stack(s, i < 2 ? 10 : 5, i < 2 ? 2.0 : 5.0, i % 2);
  else other_slope(s, i == 4 ? 0.1 : 0.125);
}

/* What became of a scene: positions of the top cube half way and at the end, tilts at the end, processor time. */
typedef struct {
  double  middle[3], end[3], speed, tilt_deg, seconds;
  long    steps;
  clock_t since;
} other_result;

static inline void other_start(other_result *r)
{
  memset(r, 0, sizeof *r);
  r->since = clock();
}
/* Once per step taken, with the time it leads to: true if the engine is to be asked for the top cube's place. */
static inline bool other_wants(other_result *r, const other_scene *s, double t)
{
  ++r->steps;
  if (t > s->end - 0.5 * s->dt) r->seconds = (double)(clock() - r->since) / CLOCKS_PER_SEC;
  return fabs(t - 0.5 * s->end) < 0.5 * s->dt || t > s->end - 0.5 * s->dt;
}
static inline void other_note_top(other_result *r, const other_scene *s, double t, const double x[3])
{
  memcpy(t < 0.75 * s->end ? r->middle : r->end, x, 3 * sizeof *x);
}
/* up: z axis of a cube at the end, in the world. */
static inline void other_note_up(other_result *r, const double up[3])
{
  r->tilt_deg = fmax(r->tilt_deg, atan2(hypot(up[0], up[1]), up[2]) * 180.0 / M_PI);
}

static inline void other_print(const char *engine, const other_scene *s, const other_result *r)
{
  const double us = 1e6 * r->seconds / (double)r->steps;
  if (s->is_slope) {
    printf("| %-22s | %-44s | x %+9.3f %% | v %+10.4f mm/s | %7.3f | %9.1f |\n", s->name, engine,
           100.0 * (r->end[0] / s->expected[0] - 1.0), 1e3 * (r->speed - s->expected[1]), r->tilt_deg, us);
  } else if (!(fabs(r->end[2] - s->expected[0]) < 0.02)) { /* or not a number */
    printf("| %-22s | %-44s | %-11s | %-17s | %7s | %9.1f |\n", s->name, engine, "fell", "", "", us);
  } else {
    printf("| %-22s | %-44s | %+8.3f mm | %12.2e mm   | %7.3f | %9.1f |\n", s->name, engine, 1e3 * (r->end[2] - s->expected[0]),
           1e3 * hypot(r->end[0] - r->middle[0], r->end[1] - r->middle[1]), r->tilt_deg, us);
  }
  fflush(stdout);
}
#endif
