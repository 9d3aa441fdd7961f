/* Continuous collision detection on queries with known results, in the format of [Wang2021]'s benchmark.
 *   bench_ccd FOLDER    every *.csv below whose path names edge-edge or vertex-face; without a folder: random queries
 * A query is 8 lines "xn,xd,yn,yd,zn,zd,truth": rational coordinates n/d of its four points at t = 0, then at t = 1. Points whose
 * coordinates are no doubles are rounded, and their query's separation is widened by what that may move.
 *
 * Then what is asked of both queries on such data, false positives, mean and median time, and whether it is met: [Wang2021]'s tolerance
 * delta is ours. Exits with 1 if a collision was missed or the data cannot be read. "beyond" counts, with a separation, collisions reported
 * where the truth without separation is none. "excess": the longest distance at a reported time of impact, less the separation. */
#define _GNU_SOURCE /* nftw */
#include "geometry/collision/ccd.h"
#include "core/memory.h"
#include "core/random.h"
#include <errno.h>
#include <float.h>
#include <ftw.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct {
  double x[2][12], widening;
  bool   is_edges, collides;
} query;

typedef struct {
  char   *name;
  query  *q;
  int64_t n, n_rounded;
} query_file;

/* ---- exact decimals: only to find out whether n / d is a double ---- */

enum { LIMBS = 20, FILES_MAX = 4096 };
typedef struct {
  uint32_t limb[LIMBS];
  bool     overflows;
} integer;

static void integer_times(integer *a, uint32_t m, uint32_t add)
{
  uint64_t carry = add;
  for (int i = 0; i < LIMBS; ++i) {
    carry += (uint64_t)a->limb[i] * m;
    a->limb[i] = (uint32_t)carry;
    carry >>= 32;
  }
  a->overflows |= carry != 0;
}
static void integer_shift(integer *a, int bits)
{
  for (; bits >= 31; bits -= 31) integer_times(a, 1u << 31, 0);
  integer_times(a, 1u << bits, 0);
}
/* a times m < 2^64 */
static integer integer_product(const integer *a, uint64_t m)
{
  integer  low = *a, high = *a;
  uint64_t carry = 0;
  integer_times(&low, (uint32_t)m, 0);
  integer_times(&high, (uint32_t)(m >> 32), 0);
  integer_shift(&high, 32);
  for (int i = 0; i < LIMBS; ++i) {
    carry += (uint64_t)low.limb[i] + high.limb[i];
    low.limb[i] = (uint32_t)carry;
    carry >>= 32;
  }
  low.overflows |= high.overflows || carry != 0;
  return low;
}

/* Optional sign and digits up to `end`; NULL unless that is all there is. */
static const char *integer_read(const char *s, char end, bool *is_negative, integer *a)
{
  memset(a, 0, sizeof *a);
  *is_negative = *s == '-';
  s += *s == '-' || *s == '+';
  if (*s < '0' || *s > '9') return NULL;
  for (; *s >= '0' && *s <= '9'; ++s) integer_times(a, 10, (uint32_t)(*s - '0'));
  return *s == end && !a->overflows ? s + 1 : NULL;
}

/* n/d, with the end of each; *radius grows if it is no double. NULL if it is no number. */
static const char *coordinate_read(const char *s, double *value, double *radius)
{
  integer     n, d, product;
  bool        n_negative, d_negative;
  int         e;
  const char *den  = integer_read(s, ',', &n_negative, &n);
  const char *rest = den ? integer_read(den, ',', &d_negative, &d) : NULL;
  if (!rest) return NULL;
  *value = strtod(s, NULL) / strtod(den, NULL);
  if (!isfinite(*value)) return NULL;
  const double mantissa = frexp(fabs(*value), &e) * 0x1p53;
  product               = integer_product(&d, (uint64_t)mantissa);
  e -= 53;
  integer_shift(e < 0 ? &n : &product, abs(e) < 4096 ? abs(e) : 4096);
  const bool is_exact = !n.overflows && !product.overflows && !memcmp(n.limb, product.limb, sizeof n.limb);
  if (!is_exact) *radius = fmax(*radius, 2.0 * DBL_EPSILON * fabs(*value) + DBL_TRUE_MIN); /* three roundings to nearest */
  return rest;
}

/* ---- files ---- */

static char *names[FILES_MAX];
static int   n_names;

static int collect(const char *path, const struct stat *st, int type, struct FTW *at)
{
  const char *dot = strrchr(path, '.');
  (void)st, (void)at;
  if (type == FTW_F && dot && !strcmp(dot, ".csv") && (strstr(path, "edge-edge") || strstr(path, "vertex-face")) && n_names < FILES_MAX)
    names[n_names++] = strdup(path);
  return 0;
}
static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* 0, or the number of the line that is wrong. */
static int64_t lines_read(FILE *f, bool is_edges, query_file *out)
{
  char    line[1024];
  int64_t number = 0, n_lines = 0, capacity = 0;
  double  radius = 0.0;
  while (fgets(line, sizeof line, f)) {
    ++number;
    const size_t blank = strspn(line, " \t\r\n");
    if (line[0] == '#' || line[blank] == 0) continue;
    const int corner = (int)(n_lines % 8);
    if (corner == 0) {
      if (out->n == capacity) {
        capacity = capacity ? 2 * capacity : 256;
        if (memory_resize("queries", capacity, sizeof *out->q, &out->q)) return number;
      }
      out->q[out->n++] = (query){.is_edges = is_edges};
      radius           = 0.0;
    }
    query      *q = &out->q[out->n - 1];
    const char *s = line;
    for (int k = 0; k < 3 && s; ++k) s = coordinate_read(s, &q->x[corner / 4][3 * (corner % 4) + k], &radius);
    if (!s || (s[0] != '0' && s[0] != '1') || s[1 + strspn(s + 1, " \t\r\n")] != 0) return number;
    if (corner > 0 && q->collides != (s[0] == '1')) return number;
    q->collides = s[0] == '1';
    q->widening = 4.0 * radius; /* two points, each moved by sqrt(3) radius at most */
    out->n_rounded += corner == 7 && radius > 0.0;
    ++n_lines;
  }
  return n_lines % 8 || ferror(f) ? number + 1 : 0;
}

static bool file_read(char *name, query_file *out)
{
  FILE *f = fopen(name, "r");
  *out    = (query_file){.name = name};
  if (!f) {
    fprintf(stderr, "%s: %s\n", name, strerror(errno));
    return false;
  }
  const int64_t bad = lines_read(f, strstr(name, "edge-edge") != NULL, out);
  fclose(f);
  if (bad) fprintf(stderr, "%s:%lld: expected xn,xd,yn,yd,zn,zd,truth, 8 lines a query of one truth\n", name, (long long)bad);
  return bad == 0;
}

/* ---- measuring ---- */

typedef struct {
  int64_t n, colliding, missed, alarms, late, pieces, pieces_max;
  double  seconds, excess;
} tally;

static bool ask(const query *q, const ccd_limits *l, ccd_hit *hit)
{
  const ccd_limits wide = {l->separation + q->widening, l->tolerance};
  return (q->is_edges ? ccd_edge_edge : ccd_point_triangle)(q->x[0], q->x[1], &wide, hit);
}

/* Of this thread: the machine may be shared. */
static double cpu_seconds(void)
{
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static tally measure(const query_file *f, const ccd_limits *l)
{
  tally out = {.n = f->n, .seconds = INFINITY};
  for (int64_t i = 0; i < f->n; ++i) {
    ccd_hit    hit, wider;
    const bool found = ask(&f->q[i], l, &hit);
    out.colliding += f->q[i].collides;
    out.missed += f->q[i].collides && !found;
    out.alarms += !f->q[i].collides && found;
    if (!found) continue;
    out.excess = fmax(out.excess, hit.distance - l->separation);
    out.pieces += hit.pieces;
    out.pieces_max        = hit.pieces > out.pieces_max ? hit.pieces : out.pieces_max;
    const ccd_limits more = {2.0 * l->separation + 1e-3, l->tolerance}; /* wider must not be later, but for the tolerance */
    out.late += !ask(&f->q[i], &more, &wider) || wider.t > hit.t;
  }
  int64_t   sink   = 0;
  const int rounds = (int)(20000 / (f->n + 1)) + 1;
  for (int repeat = 0; repeat < 5; ++repeat) {
    const double start = cpu_seconds();
    for (int r = 0; r < rounds; ++r)
      for (int64_t i = 0; i < f->n; ++i) {
        ccd_hit hit;
        sink += ask(&f->q[i], l, &hit);
      }
    out.seconds = fmin(out.seconds, (cpu_seconds() - start) / rounds);
  }
  if (sink < 0) printf("\n");
  return out;
}

static void print_row(const char *name, const tally *t)
{
  printf("%-44s %7lld %9lld %6lld %7lld %5lld %10.3f %7lld %9.2e\n", name, (long long)t->n, (long long)t->colliding, (long long)t->missed,
         (long long)t->alarms, (long long)t->late, t->n ? 1e6 * t->seconds / (double)t->n : 0.0, (long long)t->pieces_max, t->excess);
}

static void add(tally *sum, const tally *t)
{
  sum->n += t->n, sum->colliding += t->colliding, sum->missed += t->missed, sum->alarms += t->alarms, sum->late += t->late;
  sum->seconds += t->seconds, sum->excess = fmax(sum->excess, t->excess);
  sum->pieces_max = t->pieces_max > sum->pieces_max ? t->pieces_max : sum->pieces_max;
}

/* Returns how many collisions were missed or reported later than with a wider separation. */
static int64_t run_table(int n, const query_file *files, const ccd_limits *l)
{
  tally sums[2] = {{0}};
  printf("\nseparation %g, tolerance %g\n%-44s %7s %9s %6s %7s %5s %10s %7s %9s\n", l->separation, l->tolerance, "file", "queries",
         "colliding", "missed", l->separation > 0.0 ? "beyond" : "false", "late", "us/query", "pieces", "excess");
  for (int i = 0; i < n; ++i) {
    const tally t       = measure(&files[i], l);
    const char *name    = files[i].name;
    const char *slashes = name + strlen(name);
    for (int depth = 0; slashes > name && depth<3; depth += slashes> name && slashes[-1] == '/') --slashes;
    print_row(*slashes == '/' ? slashes + 1 : slashes, &t);
    add(&sums[files[i].n && files[i].q[0].is_edges], &t);
  }
  print_row("all vertex-face", &sums[0]);
  print_row("all edge-edge", &sums[1]);
  return sums[0].missed + sums[1].missed + sums[0].late + sums[1].late;
}

/* ---- what is asked ---- */

static double wall_seconds(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

enum { ROUNDS = 25 };

/* Each query timed by itself, all of them in turn, the clock included: the fastest of its rounds, of which others on the machine take
 * nothing. Mean and median over the queries of one kind. */
static bool time_apart(int n, const query_file *files, bool is_edges, const ccd_limits *l, double *mean, double *median)
{
  int64_t n_queries = 0, at = 0, sink = 0;
  double *seconds;
  for (int i = 0; i < n; ++i) n_queries += files[i].n && files[i].q[0].is_edges == is_edges ? files[i].n : 0;
  *mean = *median = 0.0;
  if (n_queries == 0) return true;
  if (memory_alloc("times", n_queries, sizeof *seconds, &seconds)) return false;
  for (int64_t k = 0; k < n_queries; ++k) seconds[k] = INFINITY;
  for (int round = 0; round < ROUNDS; ++round, at = 0)
    for (int i = 0; i < n; ++i)
      for (int64_t k = 0; k < files[i].n && files[i].q[0].is_edges == is_edges; ++k, ++at) {
        ccd_hit      hit;
        const double start = wall_seconds();
        sink += ask(&files[i].q[k], l, &hit);
        seconds[at] = fmin(seconds[at], wall_seconds() - start);
      }
  if (sink < 0) printf("\n");
  for (int64_t k = 0; k < n_queries; ++k) *mean += seconds[k] / (double)n_queries;
  qsort(seconds, (size_t)n_queries, sizeof *seconds, by_value);
  *median = seconds[n_queries / 2];
  memory_free(&seconds);
  return true;
}

static void count(int n, const query_file *files, bool is_edges, const ccd_limits *l, int64_t *missed, int64_t *alarms)
{
  *missed = *alarms = 0;
  for (int i = 0; i < n; ++i)
    for (int64_t k = 0; k < files[i].n && files[i].q[0].is_edges == is_edges; ++k) {
      const bool found = ask(&files[i].q[k], l, NULL);
      *missed += files[i].q[k].collides && !found;
      *alarms += !files[i].q[k].collides && found;
    }
}

static void print_bar(const char *what, const char *kind, double value, double bar, bool is_below)
{
  const bool is_met = is_below ? value < bar : value <= bar;
  printf("%-44s %-12s %10.3g %s %-6g %s\n", what, kind, value, is_below ? "<" : "<=", bar, is_met ? "met" : "MISSED");
}

static bool run_bars(int n, const query_file *files)
{
  static const char *const kinds[]      = {"vertex-face", "edge-edge"};
  static const double      alarm_bars[] = {56, 71}, mean_bars[] = {28, 73}, median_bars[] = {1.2, 1.6};
  static const ccd_limits  fine = {0.0, 1e-6}, coarse = {0.0, 1e-3};
  printf("\n%-44s %-12s %10s    %-6s\n", "asked", "", "measured", "bar");
  for (int kind = 0; kind < 2; ++kind) {
    int64_t missed[2], alarms[2];
    double  mean, median;
    count(n, files, kind == 1, &fine, &missed[0], &alarms[0]);
    count(n, files, kind == 1, &coarse, &missed[1], &alarms[1]);
    if (!time_apart(n, files, kind == 1, &coarse, &mean, &median)) return false;
    print_bar("false negatives, tolerance 1e-6 and 1e-3", kinds[kind], (double)(missed[0] + missed[1]), 0, false);
    print_bar("false positives, tolerance 1e-6", kinds[kind], (double)alarms[0], alarm_bars[kind], false);
    print_bar("mean [us], tolerance 1e-3", kinds[kind], 1e6 * mean, mean_bars[kind], true);
    print_bar("median [us], tolerance 1e-3", kinds[kind], 1e6 * median, median_bars[kind], true);
  }
  return true;
}

/* Features of size 1, at rest in the middle or passing by: nothing known but that nothing may crash. Half truths are none, so
 * that alarms count how many collide. */
static bool random_queries(bool is_edges, query_file *out)
{
  *out = (query_file){.name = is_edges ? "random/edge-edge" : "random/vertex-face", .n = 20000};
  if (memory_alloc("queries", out->n, sizeof *out->q, &out->q)) return false;
  for (int64_t i = 0; i < out->n; ++i) {
    out->q[i].is_edges = is_edges;
    for (int k = 0; k < 12; ++k) {
      out->q[i].x[0][k] = random_range(1, (uint64_t)i, (uint64_t)(24 * is_edges + k), -1.0, 1.0);
      out->q[i].x[1][k] = out->q[i].x[0][k] + random_range(2, (uint64_t)i, (uint64_t)(24 * is_edges + k), -0.5, 0.5);
    }
  }
  return true;
}

int main(int argc, char **argv)
{
  static const ccd_limits settings[] = {{0.0, 1e-3}, {0.0, 1e-6}, {0.0, 1e-10}, {0.0, 0.0}, {1e-3, 1e-6}, {1e-2, 1e-6}};
  static query_file       files[FILES_MAX];
  int64_t                 bad = 0, rounded = 0;
  int                     n = 2;
  if (argc > 1) {
    if (nftw(argv[1], collect, 16, FTW_PHYS)) return perror(argv[1]), 1;
    qsort(names, (size_t)n_names, sizeof *names, by_name);
    n = n_names;
    if (n == 0) return fprintf(stderr, "%s: no *.csv below a folder edge-edge or vertex-face\n", argv[1]), 1;
  }
  for (int i = 0; i < n; ++i) {
    if (!(argc > 1 ? file_read(names[i], &files[i]) : random_queries(i == 1, &files[i]))) return 1;
    rounded += files[i].n_rounded;
  }
  printf("%d files; %lld queries had coordinates that are no doubles\n", n, (long long)rounded);
  for (size_t s = 0; s < sizeof settings / sizeof *settings; ++s) bad += run_table(n, files, &settings[s]);
  if (argc > 1 && !run_bars(n, files)) return 1;
  for (int i = 0; i < n; ++i) memory_free(&files[i].q);
  for (int i = 0; i < n_names; ++i) free(names[i]);
  if (bad) printf("\n%lld collisions missed or late\n", (long long)bad);
  return bad != 0;
}
