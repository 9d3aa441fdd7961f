/* A scene of the benchmark of piles (scene.awk), its times and its overlaps, for other engines. */
#ifndef SS_BENCH_PILE_H
#define SS_BENCH_PILE_H
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <vector>

struct pile {
  int                 n, is_cube;
  double              half, width;
  std::vector<double> x; /* [n][3] */
};

inline bool pile_read(const char *path, pile *p)
{
  FILE *f = std::fopen(path, "r");
  if (!f) return false;
  bool is_ok = std::fscanf(f, "%d %d %lf %lf", &p->n, &p->is_cube, &p->half, &p->width) == 4;
  p->x.resize(3 * static_cast<size_t>(p->n));
  for (double &v : p->x) is_ok = is_ok && std::fscanf(f, "%lf", &v) == 1;
  std::fclose(f);
  return is_ok;
}

inline double cpu_time()
{
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/* Largest overlap of balls with centres x [n][3] and with the box, in m. */
inline double overlap_of_balls(const pile &p, const std::vector<double> &x)
{
  double most = 0.0;
  for (int i = 0; i < p.n; ++i) {
    const double *a = &x[3 * static_cast<size_t>(i)];
    most            = std::max({most, p.half - a[2], p.half - a[0], p.half - a[1], a[0] + p.half - p.width, a[1] + p.half - p.width});
    for (int j = 0; j < i; ++j) {
      const double *b = &x[3 * static_cast<size_t>(j)];
      most            = std::max(most, 2.0 * p.half -
                                           std::sqrt((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]) + (a[2] - b[2]) * (a[2] - b[2])));
    }
  }
  return most;
}

enum { PILE_STEPS = 200, PILE_LATE = 20 };
/* step [PILE_STEPS] in s. */
inline void pile_print(const char *engine, const double *step, double overlap)
{
  double sum = 0.0, late = 0.0, worst = 0.0;
  for (int k = 0; k < PILE_STEPS; ++k)
    sum += step[k], late += k >= PILE_STEPS - PILE_LATE ? step[k] / PILE_LATE : 0.0, worst = std::max(worst, step[k]);
  std::printf("| %-36s | %10.3g | %10.3g | %10.3g | %10.3g | %10s | %10s | %10s |\n", engine, sum, 1e3 * late, 1e3 * worst, 1e3 * overlap,
              "", "", "");
}
#endif
