#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "bench_friction.h"
#include "core/memory.h"
#include "io/sealed_file.h"

/* --- figures of others -------------------------------------------------------------------------------------------------- */

enum { MAX_CELLS = 24 };

/* "2.43 ms (25)" as seconds and iterations; false for what is no time. */
static bool read_cell(const char *cell, double *seconds, double *iterations)
{
  char        *end;
  const double x = strtod(cell, &end);
  if (end == cell) return false;
  while (*end == ' ') ++end;
  const double unit = !strncmp(end, "ms", 2)                                    ? 1e-3
                      : !strncmp(end, "s", 1)                                   ? 1
                      : !strncmp(end, "us", 2) || !strncmp(end, "\302\265s", 3) ? 1e-6
                                                                                : 0;
  const char  *open = strchr(end, '(');
  *seconds          = x * unit;
  *iterations       = open ? strtod(open + 1, NULL) : NAN;
  return unit > 0;
}

/* Cells of a row of Markdown, in place. */
static int split(char *line, char *cell[MAX_CELLS])
{
  int n = 0;
  for (char *at = strtok(line, "|"); at && n < MAX_CELLS; at = strtok(NULL, "|")) {
    while (*at == ' ') ++at;
    for (size_t k = strlen(at); k > 0 && at[k - 1] == ' ';) at[--k] = 0;
    cell[n++] = at;
  }
  return n;
}

/* The cell of `problem` and `solver` in the table under "## Tolerance 1e-4". The file is read anew each time: it is short. */
static bool find_peer(const char *path, double tolerance, const char *problem, const char *solver, double *seconds, double *iterations)
{
  char  heading[32], line[2048], *cell[MAX_CELLS];
  int   column   = -1;
  bool  is_there = false, found = false;
  FILE *in = fopen(path, "r");
  snprintf(heading, sizeof heading, "## Tolerance 1e-%d", (int)lround(-log10(tolerance)));
  while (in && !found && fgets(line, sizeof line, in)) {
    line[strcspn(line, "\n")] = 0;
    if (line[0] == '#') is_there = !strcmp(line, heading);
    if (!is_there || line[0] != '|') continue;
    const int n = split(line, cell);
    if (n > 1 && !strcmp(cell[0], "problem")) {
      for (int k = 1; k < n; ++k)
        if (!strcmp(cell[k], solver)) column = k;
    } else if (column > 0 && column < n && !strcmp(cell[0], problem)) {
      found = read_cell(cell[column], seconds, iterations);
      break;
    }
  }
  if (in) fclose(in);
  return found;
}

static int ascending(const void *a, const void *b)
{
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* How much slower this machine, now, is than that of the figures: median over problems of the time an iteration of Siconos' NSGS takes. NaN if unknown. */
static double slowness(const friction_runs *runs, double tolerance, const char *peers)
{
  double  ratio[256], seconds, iterations;
  int64_t n = 0;
  for (int64_t i = 0; i < runs->n && n < 256; ++i) {
    const friction_run *r = &runs->run[i];
    if (!r->is_solved || strcmp(r->solver, "NSGS") || r->iterations < 1 ||
        !find_peer(peers, tolerance, r->problem, "NSGS", &seconds, &iterations))
      continue;
    ratio[n++] = (r->seconds / (double)r->iterations) / (seconds / iterations);
  }
  if (n == 0) return NAN;
  qsort(ratio, (size_t)n, sizeof *ratio, ascending);
  return ratio[n / 2];
}

/* --- targets ------------------------------------------------------------------------------------------------------------ */

static const char *own_solver(const friction_runs *runs, const char *part)
{
  for (int64_t i = 0; i < runs->n; ++i)
    if (!runs->run[i].is_peer && strstr(runs->run[i].solver, part)) return runs->run[i].solver;
  return NULL;
}

typedef struct {
  int    n, n_met;
  double worst;
  char   where[96];
} score;

static void judge(score *s, double ratio, double allowed, const char *problem)
{
  ++s->n;
  s->n_met += ratio <= allowed;
  if (s->n > 1 && ratio <= s->worst) return;
  s->worst = ratio;
  snprintf(s->where, sizeof s->where, "%s", problem);
}

static void tell(FILE *out, const char *target, const score *s)
{
  if (s->n == 0) fprintf(out, "- %s: nothing to compare with\n", target);
  else
    fprintf(out, "- %s: %s, on %d of %d rows; worst ratio %.2f (%s)\n", target, s->n_met == s->n ? "met" : "MISSED", s->n_met, s->n,
            s->worst, s->where);
}

/* So-Bogus has made its sweeps in 25s, with one evaluation of the error in each; its setting up is in its figure. */
static void judge_sweeps(const friction_runs *sweeps, const char *peers, double slow, FILE *out)
{
  char  text[140];
  score s = {0};
  for (int64_t i = 0; i < sweeps->n; ++i) {
    const friction_run *r = &sweeps->run[i];
    double              seconds, iterations;
    if (isfinite(r->seconds) && find_peer(peers, 1e-8, r->problem, "SoBogus GS", &seconds, &iterations))
      judge(&s, r->seconds / (slow * seconds / iterations), 1, r->problem);
  }
  snprintf(text, sizeof text, "1. a sweep of splitting takes at most as long as one of So-Bogus at 1e-8 (its figures times %.2f)", slow);
  tell(out, text, &s);
}

/* Whole solves, setting up and all. */
static void judge_splitting(const friction_runs *runs, double tolerance, const char *peers, double slow, FILE *out)
{
  char  text[140];
  score s = {0};
  for (int64_t i = 0; i < runs->n; ++i) {
    const friction_run *r = &runs->run[i];
    double              seconds, iterations;
    if (!strcmp(r->solver, "splitting") && find_peer(peers, tolerance, r->problem, "SoBogus GS", &seconds, &iterations))
      judge(&s, r->is_solved ? r->seconds / (slow * seconds) : INFINITY, 1, r->problem);
  }
  snprintf(text, sizeof text, "   the whole solve by splitting against So-Bogus' Gauss-Seidel, at %.0e", tolerance);
  tell(out, text, &s);
}

/* The best of some columns in one row; infinite if none solved it. */
static double best_of(const friction_runs *runs, const char *problem, const char *const *solvers)
{
  double best = INFINITY;
  for (; *solvers; ++solvers) {
    const friction_run *r = friction_runs_find(runs, problem, *solvers);
    if (r && r->is_solved) best = fmin(best, r->seconds);
  }
  return best;
}

static void judge_newton(const friction_runs *runs, FILE *out)
{
  static const char *const rivals[] = {"NSN_AC", "NSN_FB", "PROX", NULL};
  const char              *own      = own_solver(runs, "prox");
  score                    s        = {0};
  for (int64_t i = 0; own && i < runs->n; ++i) {
    const friction_run *r    = &runs->run[i];
    const double        best = best_of(runs, r->problem, rivals);
    if (!strcmp(r->solver, own) && isfinite(best)) judge(&s, r->is_solved ? r->seconds / best : INFINITY, 0.5, r->problem);
  }
  tell(out, "2. proximal Newton takes at most half of the best time of NSN_AC, NSN_FB and PROX, at 1e-8", &s);
}

/* whose 0: Siconos', 1: So-Bogus' by its figures, 2: our own others. */
static void judge_automatic(const friction_runs *runs, double tolerance, const char *peers, double slow, int whose, FILE *out)
{
  static const char *const of[] = {"Siconos", "So-Bogus, by its figures", "our own others"}, *const bogus[] = {"SoBogus GS",
                                                                                                               "SoBogus Cadoux-PG"};
  const char *own = own_solver(runs, "auto");
  char        text[140];
  score       s = {0};
  for (int64_t i = 0; own && i < runs->n; ++i) {
    const friction_run *r    = &runs->run[i];
    double              best = INFINITY, seconds, iterations;
    if (strcmp(r->solver, own)) continue;
    for (int64_t k = 0; whose != 1 && k < runs->n; ++k) {
      const friction_run *other = &runs->run[k];
      if (other->is_solved && other->is_peer == (whose == 0) && strcmp(other->solver, own) && !strcmp(other->problem, r->problem))
        best = fmin(best, other->seconds);
    }
    for (int k = 0; whose == 1 && k < 2; ++k)
      if (find_peer(peers, tolerance, r->problem, bogus[k], &seconds, &iterations)) best = fmin(best, slow * seconds);
    if (isfinite(best)) judge(&s, r->is_solved ? r->seconds / best : INFINITY, 1.5, r->problem);
  }
  snprintf(text, sizeof text, "3. automatic takes at most 1.5 times as long as the best of %s, at %.0e", of[whose], tolerance);
  tell(out, text, &s);
}

/* Problems that someone of ours, and someone of Siconos', solved. */
static PetscErrorCode count_solved(const friction_runs *runs, FILE *out)
{
  int64_t *first __attribute__((cleanup(memory_free))) = NULL;
  int      n_own = 0, n_peer = 0;

  PetscFunctionBegin;
  PetscCall(memory_alloc("targets", runs->n, sizeof *first, &first));
  const int64_t n = friction_runs_problems(runs, first);
  for (int64_t p = 0; p < n; ++p) {
    bool own = false, peer = false;
    for (int64_t i = 0; i < runs->n; ++i)
      if (runs->run[i].is_solved && !strcmp(runs->run[i].problem, runs->run[first[p]].problem))
        own |= !runs->run[i].is_peer, peer |= runs->run[i].is_peer;
    n_own += own, n_peer += peer;
  }
  fprintf(out, "- 4. two threads: for problems of 900 contacts or more, told above where there are any\n");
  fprintf(out, "- 5. solved to 1e-8 by some solver: ours %d of %lld, Siconos' %d (the target, 30, is of a set of 34)\n", n_own,
          (long long)n, n_peer);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode bench_targets(const friction_runs *loose, const friction_runs *tight, const friction_runs *sweeps, const char *peers,
                             FILE *out)
{
  const friction_runs *const runs[2]      = {loose, tight};
  static const double        tolerance[2] = {1e-4, 1e-8};

  PetscFunctionBegin;
  fprintf(out, "\nRelease targets\n\n");
  judge_sweeps(sweeps, peers, slowness(tight, 1e-8, peers), out);
  for (int k = 0; k < 2; ++k) judge_splitting(runs[k], tolerance[k], peers, slowness(runs[k], tolerance[k], peers), out);
  judge_newton(tight, out);
  for (int k = 0; k < 2; ++k)
    for (int whose = 0; whose < 3; ++whose)
      judge_automatic(runs[k], tolerance[k], peers, slowness(runs[k], tolerance[k], peers), whose, out);
  PetscCall(count_solved(tight, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}
