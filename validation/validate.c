/* Runs cases with known results, compares measured quantities with expected values, and prints one table.
 *
 * A case is a folder with case.yaml (a job) and reference.yaml (expected values, their source, and the comparison). A check
 * reads a series (a measure of the job, or history.COLUMN), reduces it to one number, and compares it with a target and its
 * tolerance, or with a bound. `compute` may use the names of earlier checks. See validation/README.md. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <dirent.h>
#include <unistd.h>
#include "core/expression.h"
#include "core/key_table.h"
#include "core/memory.h"
#include "core/timer.h"
#include "io/yaml.h"

typedef struct {
  key_list    set;
  int64_t     exit_code;
  const char *job;
} case_run;
typedef struct {
  const char *name, *run, *series, *compute, *note;
  int         reduce;
  double      at, level, window[2];
  double      target, tolerance, absolute, below, above;
} case_check;
typedef struct {
  const char *id, *title, *source, *reference;
  int         cost;
  key_list    runs, checks;
} case_reference;

/* clang-format off */
#define REDUCE_TABLE(X)                                                                                  \
  X(at, "value at time `at`, interpolated")          X(last, "last value")                               \
  X(max, "largest in the window")                    X(min, "smallest in the window")                    \
  X(max_abs, "largest magnitude in the window")      X(mean, "mean over the window")                     \
  X(range, "largest - smallest in the window")       X(rate, "least-squares slope in the window")        \
  X(first_below, "first time the series is <= level") X(first_above, "first time the series is >= level") \
  X(rise, "largest rise above any earlier value")    X(period, "mean time between upward crossings of level") \
  X(change, "last - first in the window")            X(sum, "sum of all rows")                           \
  X(deviation, "root mean square of what differs from the mean in the window")                           \
  X(argmax, "time of the largest value in the window") X(settled, "time after which it stays within level * (last - first) of the last value") \
  X(onset, "time when a change sets in: its rate, extended to zero in a line from where it first is 50 % of the largest through 10 %")
/* clang-format on */
enum {
#define X(name, help) REDUCE_##name,
  REDUCE_TABLE(X)
#undef X
};
static const char *const reduce_names[] = {
#define X(name, help) #name,
    REDUCE_TABLE(X)
#undef X
        NULL};
static const char *const costs[] = {"short", "long", NULL};

/* clang-format off */
#define OPTIONAL_REAL(m, text) {.name = #m, .type = KEY_REAL, .offset = offsetof(case_check, m), .is_optional = true, .help = text}
static const key_spec run_keys[] = {
  {.name = "set", .type = KEY_STRINGS, .offset = offsetof(case_run, set), .is_optional = true, .help = "overrides, as for --set"},
  {.name = "exit_code", .type = KEY_INT, .offset = offsetof(case_run, exit_code), .fallback = "0", .help = "how the run must end"},
  {.name = "job", .type = KEY_STRING, .offset = offsetof(case_run, job), .fallback = "case.yaml", .help = "job file in the case's folder"},
  {.name = NULL}};
static const key_table run_table = {.name = "runs", .size = sizeof(case_run), .keys = run_keys, .help = "Variants of the case."};
static const key_spec  check_keys[] = {
  {.name = "name", .type = KEY_STRING, .offset = offsetof(case_check, name), .help = "of this number"},
  {.name = "run", .type = KEY_STRING, .offset = offsetof(case_check, run), .fallback = "", .help = "which run; the first if not given; all: the largest of all runs"},
  {.name = "series", .type = KEY_STRING, .offset = offsetof(case_check, series), .fallback = "", .help = "measure name or history.COLUMN"},
  {.name = "compute", .type = KEY_STRING, .offset = offsetof(case_check, compute), .fallback = "", .help = "expression of earlier names, instead of a series"},
  {.name = "note", .type = KEY_STRING, .offset = offsetof(case_check, note), .fallback = "", .help = "for the reader of the table"},
  {.name = "reduce", .type = KEY_ENUM, .offset = offsetof(case_check, reduce), .choices = reduce_names, .fallback = "last", .help = "series to number"},
  OPTIONAL_REAL(at, "time for reduce: at"),
  OPTIONAL_REAL(level, "for crossings"),
  {.name = "window", .type = KEY_REALS, .count = 2, .offset = offsetof(case_check, window), .is_optional = true, .help = "times; all if not given"},
  OPTIONAL_REAL(target, "what it should be"),
  OPTIONAL_REAL(tolerance, "relative to the target"),
  OPTIONAL_REAL(absolute, "absolute tolerance"),
  OPTIONAL_REAL(below, "instead of a target: must be <= this"),
  OPTIONAL_REAL(above, "must be >= this"),
  {.name = NULL}};
static const key_table check_table = {.name = "checks", .size = sizeof(case_check), .keys = check_keys, .help = "What is compared."};
static const key_spec  reference_keys[] = {
  {.name = "id", .type = KEY_STRING, .offset = offsetof(case_reference, id), .help = "of the target"},
  {.name = "title", .type = KEY_STRING, .offset = offsetof(case_reference, title), .help = "one line"},
  {.name = "source", .type = KEY_STRING, .offset = offsetof(case_reference, source), .help = "where the numbers come from"},
  {.name = "reference", .type = KEY_STRING, .offset = offsetof(case_reference, reference), .fallback = "", .help = "derivation or citation"},
  {.name = "cost", .type = KEY_ENUM, .offset = offsetof(case_reference, cost), .choices = costs, .help = "short runs in CI"},
  {.name = "runs", .type = KEY_NAMED, .offset = offsetof(case_reference, runs), .table = &run_table, .min = 1, .max = 64, .help = "variants"},
  {.name = "checks", .type = KEY_LIST, .offset = offsetof(case_reference, checks), .table = &check_table, .min = 1, .max = 128, .help = "what is compared"},
  {.name = NULL}};
/* clang-format on */
static const key_table reference_table = {
    .name = "reference", .size = sizeof(case_reference), .keys = reference_keys, .help = "A known result."};

/* --- series ---------------------------------------------------------------------------------------------------------- */

typedef struct {
  int64_t n;
  double *t, *y;
} series;

/* Column `name` and column "time" of a CSV whose header is "name [unit],...". */
static bool series_read(const char *path, const char *name, series *s)
{
  FILE  *f        = fopen(path, "r");
  char  *line     = NULL;
  size_t capacity = 0;
  int    t_column = -1, y_column = -1, column = 0;
  memset(s, 0, sizeof *s);
  if (!f) return false;
  int64_t room = 0;
  while (getline(&line, &capacity, f) > 0) {
    char *save = line; /* fields may be empty */
    column     = 0;
    double t = NAN, y = NAN;
    for (char *w = strsep(&save, ",\n"); w; w = strsep(&save, ",\n"), ++column) {
      if (y_column < 0 || t_column < 0) {
        while (*w == ' ' || *w == '"' || *w == '#') ++w;
        const size_t n = strcspn(w, " [(\"");
        if (n == 4 && strncmp(w, "time", 4) == 0) t_column = column;
        if (n == strlen(name) && strncmp(w, name, n) == 0) y_column = column;
      } else {
        if (column == t_column) t = *w ? strtod(w, NULL) : NAN;
        if (column == y_column) y = *w ? strtod(w, NULL) : NAN;
      }
    }
    if (isnan(t)) {
      if (t_column < 0 || y_column < 0) break;
      continue;
    }
    if (s->n == room) {
      room = room ? 2 * room : 1024;
      s->t = realloc(s->t, (size_t)room * sizeof(double));
      s->y = realloc(s->y, (size_t)room * sizeof(double));
      if (!s->t || !s->y) abort();
    }
    s->t[s->n] = t, s->y[s->n++] = y;
  }
  free(line);
  fclose(f);
  return s->n > 0;
}

static double crossing(const series *s, double level, bool upward, double from, double *next)
{
  for (int64_t i = 1; i < s->n; ++i) {
    if (s->t[i] <= from) continue;
    const double a = s->y[i - 1] - level, b = s->y[i] - level;
    if (upward ? (a < 0 && b >= 0) : (a > 0 && b <= 0)) {
      const double t = s->t[i - 1] + (s->t[i] - s->t[i - 1]) * a / (a - b);
      if (next) *next = s->t[i];
      return t;
    }
  }
  return NAN;
}

/* Root mean square of y - mean over the window, in two passes: ripples are far smaller than what they are on. */
static double deviation(const series *s, double lo, double hi, double mean)
{
  double sum = 0, n = 0;
  for (int64_t i = 0; i < s->n; ++i)
    if (s->t[i] >= lo && s->t[i] <= hi) sum += (s->y[i] - mean) * (s->y[i] - mean), n += 1;
  return sqrt(sum / n);
}

/* Read off the rate as a force is read off a velocity: by the line that its first rise follows. */
static double onset(const series *s)
{
  double largest = 0.0, t[2] = {NAN, NAN};
  for (int64_t i = 1; i < s->n; ++i) largest = fmax(largest, fabs(s->y[i] - s->y[i - 1]) / (s->t[i] - s->t[i - 1]));
  double before = 0.0, t_before = s->t[0];
  for (int64_t i = 1; i < s->n && isnan(t[1]); ++i) {
    const double now = fabs(s->y[i] - s->y[i - 1]) / (s->t[i] - s->t[i - 1]) / largest, t_now = 0.5 * (s->t[i] + s->t[i - 1]);
    for (int k = 0; k < 2; ++k) {
      const double level = k == 0 ? 0.1 : 0.5;
      if (isnan(t[k]) && now >= level) t[k] = t_before + (t_now - t_before) * (level - before) / (now - before);
    }
    before = now, t_before = t_now;
  }
  return 1.25 * t[0] - 0.25 * t[1];
}

static double reduce(const series *s, const case_check *c)
{
  const double lo = isfinite(c->window[0]) ? c->window[0] : -INFINITY, hi = isfinite(c->window[1]) ? c->window[1] : INFINITY;
  double       max = -INFINITY, min = INFINITY, max_abs = 0, sum = 0, first = NAN, last = NAN, st = 0, stt = 0, sty = 0, n = 0, rise = 0,
         t_max  = NAN;
  double lowest = INFINITY;
  for (int64_t i = 0; i < s->n; ++i) {
    const double t = s->t[i], y = s->y[i];
    if (t < lo || t > hi) continue;
    if (isnan(first)) first = y;
    if (y > max) max = y, t_max = t;
    min = fmin(min, y), max_abs = fmax(max_abs, fabs(y)), last = y;
    rise   = fmax(rise, y - lowest);
    lowest = fmin(lowest, y);
    n += 1, sum += y, st += t, stt += t * t, sty += t * y;
  }
  if (n == 0) return NAN;
  switch (c->reduce) {
  case REDUCE_at:
    for (int64_t i = 0; i < s->n; ++i) {
      if (fabs(s->t[i] - c->at) <= 1e-9 * fmax(1, fabs(c->at))) return s->y[i];
      if (i > 0 && s->t[i] > c->at && s->t[i - 1] < c->at)
        return s->y[i - 1] + (s->y[i] - s->y[i - 1]) * (c->at - s->t[i - 1]) / (s->t[i] - s->t[i - 1]);
    }
    return NAN;
  case REDUCE_last: return last;
  case REDUCE_max: return max;
  case REDUCE_min: return min;
  case REDUCE_max_abs: return max_abs;
  case REDUCE_mean: return sum / n;
  case REDUCE_deviation: return deviation(s, lo, hi, sum / n);
  case REDUCE_range: return max - min;
  case REDUCE_rate: return (sty - st * sum / n) / (stt - st * st / n);
  case REDUCE_first_below: return s->y[0] <= c->level ? s->t[0] : crossing(s, c->level, false, -INFINITY, NULL);
  case REDUCE_first_above: return s->y[0] >= c->level ? s->t[0] : crossing(s, c->level, true, -INFINITY, NULL);
  case REDUCE_rise: return rise;
  case REDUCE_change: return last - first;
  case REDUCE_onset: return onset(s);
  case REDUCE_sum: return sum;
  case REDUCE_argmax: return t_max;
  case REDUCE_settled: {
    double settled = NAN;
    for (int64_t i = s->n; i-- > 0 && fabs(s->y[i] - last) <= c->level * fabs(last - first);) settled = s->t[i];
    return settled;
  }
  case REDUCE_period: {
    double from = lo, begin = NAN, end = NAN;
    int    count = -1;
    for (;;) {
      const double t = crossing(s, c->level, true, from, &from);
      if (isnan(t) || t > hi) break;
      if (isnan(begin)) begin = t;
      end = t, ++count;
    }
    return count > 0 ? (end - begin) / count : NAN;
  }
  }
  return NAN;
}

/* --- running --------------------------------------------------------------------------------------------------------- */

static const char *program = "build/stickslip", *cases_dir = "validation/cases", *out_dir = "build/validation", *only_class, *jobs = "1";

static int run_job(const char *folder, const case_run *r, const char *out, double *seconds)
{
  char        job[8400];
  const char *argv[64];
  int         n = 0;
  snprintf(job, sizeof job, "%s/%s", folder, r->job);
  argv[n++] = program, argv[n++] = "run", argv[n++] = job, argv[n++] = "--out", argv[n++] = out;
  argv[n++] = "--force", argv[n++] = "--quiet", argv[n++] = "--no-picture";
  for (int i = 0; i < r->set.n && n < 60; ++i) argv[n++] = "--set", argv[n++] = r->set.item[i].value;
  argv[n]         = NULL;
  const double t0 = timer_now();
  fflush(NULL);
  const pid_t pid = fork();
  if (pid == 0) {
    execv(program, (char *const *)argv);
    fprintf(stderr, "%s: %s\n", program, strerror(errno));
    _exit(127);
  }
  int status = -1;
  if (pid > 0) waitpid(pid, &status, 0);
  *seconds = timer_now() - t0;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static int   n_cases, n_passed, n_failed;
static FILE *table;
/* What nothing is expected of is reported alone, if it is a number. */
static void row(const char *id, const char *name, double value, const char *expected, double error, bool is_good, double seconds)
{
  const bool is_judged = *expected || !is_good;
  if (is_judged) *(is_good ? &n_passed : &n_failed) += 1;
  char text[512];
  snprintf(text, sizeof text, "| %-6s | %-34s | %14.7g | %-24s | %10.2e | %8.2f | %s |", id, name, value, expected, error, seconds,
           !is_judged ? "-   "
           : is_good  ? "ok  "
                      : "FAIL");
  printf("%s\n", text);
  if (table) fprintf(table, "%s\n", text);
  fflush(stdout);
}

static bool judge(const case_check *c, double value, char *expected, size_t size, double *error)
{
  bool is_good = isfinite(value);
  *error       = NAN;
  expected[0]  = '\0';
  if (isfinite(c->target)) {
    const double allowed = isfinite(c->absolute) ? c->absolute : c->tolerance * fabs(c->target);
    *error               = isfinite(c->absolute) || c->target == 0 ? value - c->target : (value - c->target) / fabs(c->target);
    is_good              = is_good && fabs(value - c->target) <= allowed;
    if (isfinite(c->absolute)) snprintf(expected, size, "%.7g +- %.2g", c->target, c->absolute);
    else snprintf(expected, size, "%.7g +- %.3g %%", c->target, 100 * c->tolerance);
  }
  size_t at = strlen(expected);
  if (isfinite(c->below)) is_good = is_good && value <= c->below, snprintf(expected + at, size - at, "%s<= %.4g", at ? ", " : "", c->below);
  at = strlen(expected);
  if (isfinite(c->above)) is_good = is_good && value >= c->above, snprintf(expected + at, size - at, "%s>= %.4g", at ? ", " : "", c->above);
  return is_good;
}

/* The number that one run's series comes to; NaN, and why, where it has none. */
static double measured(const case_reference *r, const case_check *c, const char *out, int i_run)
{
  char        path[4400];
  const char *column = c->series;
  double      value  = NAN;
  series      s;
  if (strncmp(column, "history.", 8) == 0) {
    column += 8;
    snprintf(path, sizeof path, "%s/%s/history.csv", out, r->runs.item[i_run].name);
  } else {
    snprintf(path, sizeof path, "%s/%s/measure/%s.csv", out, r->runs.item[i_run].name, column);
  }
  if (series_read(path, column, &s)) value = reduce(&s, c);
  else fprintf(stderr, "%s.%s: no series %s in %s\n", r->id, c->name, c->series, path);
  free(s.t);
  free(s.y);
  return value;
}

/* The largest of all runs, which *worst had; NaN if one has none. */
static double measured_in_all(const case_reference *r, const case_check *c, const char *out, int *worst)
{
  double most = -INFINITY;
  for (int i = 0; i < r->runs.n; ++i) {
    const double value = measured(r, c, out, i);
    if (!(value <= most)) most = value, *worst = i;
    if (isnan(value)) break;
  }
  return most;
}

static PetscErrorCode run_checks(const case_reference *r, const char *out, const double *seconds)
{
  PetscFunctionBegin;
  const char *names[128];
  double      values[128];
  int         n = 0;
  for (int i = 0; i < r->checks.n && n < 128; ++i) {
    const case_check *c     = r->checks.item[i].value;
    double            value = NAN, error;
    int               i_run = 0;
    if (*c->compute) {
      expression  *e;
      diagnostics *d;
      PetscCall(diagnostics_create(&d));
      char message[256] = "";
      PetscCall(expression_compile(c->compute, n, names, &e, NULL, message, sizeof message));
      if (e) value = expression_value(e, values);
      else fprintf(stderr, "%s.%s: compute: %s\n", r->id, c->name, message);
      expression_destroy(&e);
      diagnostics_destroy(&d);
    } else {
      const bool is_all = strcmp(c->run, "all") == 0;
      while (i_run < r->runs.n && *c->run && !is_all && strcmp(r->runs.item[i_run].name, c->run) != 0) ++i_run;
      if (is_all) value = measured_in_all(r, c, out, &i_run);
      else if (i_run < r->runs.n) value = measured(r, c, out, i_run);
      else fprintf(stderr, "%s.%s: no run %s\n", r->id, c->name, c->run), i_run = 0;
    }
    names[n] = c->name, values[n++] = value;
    const bool has_expectation = isfinite(c->target) || isfinite(c->below) || isfinite(c->above);
    char       expected[128]   = "";
    const bool is_good         = judge(c, value, expected, sizeof expected, &error);
    if (has_expectation || *c->note) row(r->id, c->name, value, expected, error, is_good, seconds[i_run]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode run_case(const char *name)
{
  PetscFunctionBegin;
  char         folder[4096], path[4200], out[4200];
  document    *doc;
  diagnostics *d;
  const void  *read = NULL;
  snprintf(folder, sizeof folder, "%s/%s", cases_dir, name);
  snprintf(path, sizeof path, "%s/reference.yaml", folder);
  snprintf(out, sizeof out, "%s/%s", out_dir, name);
  PetscCall(document_create(&doc));
  PetscCall(diagnostics_create(&d));
  PetscCall(yaml_read_file(path, doc, d));
  if (!diagnostics_count(d)) PetscCall(key_table_read(&reference_table, doc, document_root(doc), "", d, &read));
  if (diagnostics_count(d)) {
    diagnostics_sort(d);
    for (int i = 0; i < diagnostics_count(d); ++i) fprintf(stderr, "%s\n", diagnostics_text(d, i));
    row(name, "reference.yaml", NAN, "readable", NAN, false, 0);
    ++n_cases;
  } else {
    const case_reference *r = read;
    if (!only_class || strcmp(costs[r->cost], only_class) == 0) {
      double seconds[64] = {0};
      ++n_cases;
      for (int i = 0; i < r->runs.n && i < 64; ++i) {
        const case_run *k = r->runs.item[i].value;
        char            dir[4400];
        snprintf(dir, sizeof dir, "%s/%s", out, r->runs.item[i].name);
        const int code = run_job(folder, k, dir, &seconds[i]);
        if (code != k->exit_code) {
          char expected[64];
          snprintf(expected, sizeof expected, "exit code %lld", (long long)k->exit_code);
          row(r->id, r->runs.item[i].name, code, expected, NAN, false, seconds[i]);
        }
      }
      PetscCall(run_checks(r, out, seconds));
    }
  }
  diagnostics_destroy(&d);
  document_destroy(&doc);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static int is_case(const struct dirent *e) { return e->d_name[0] != '.'; }

/* A case is selected by its own name, and A01-plane also by A01. */
static bool is_selected(const char *name, const char *wanted)
{
  const size_t n = strlen(wanted);
  return strncmp(name, wanted, n) == 0 && (name[n] == '\0' || name[n] == '-');
}

/* Every name of the command line must select a case, so that a misspelt name is not a successful validation. */
static bool check_names(int n_wanted, char **wanted, int n, struct dirent **entries)
{
  bool is_good = true;
  for (int k = 0; k < n_wanted; ++k) {
    int i = 0;
    while (i < n && !is_selected(entries[i]->d_name, wanted[k])) ++i;
    if (i == n) fprintf(stderr, "validate: %s: no such case; `ls %s` lists all cases\n", wanted[k], cases_dir);
    is_good &= i < n;
  }
  return is_good;
}

static const char table_head[] =
    "| case   | quantity                           |       measured | expected                 |      error |  seconds | result  |\n"
    "|--------|------------------------------------|----------------|--------------------------|------------|----------|---------|\n";

typedef struct {
  pid_t pid;
  bool  has_ended;
  char  said[4400], counts[4400]; /* files: output of the case; numbers of cases, passed and failed checks */
} case_process;

/* Run a case in a process of its own, whose output goes to a file. */
static PetscErrorCode start_case(const char *name, case_process *c)
{
  PetscFunctionBegin;
  snprintf(c->said, sizeof c->said, "%s/.%s.said", out_dir, name);
  snprintf(c->counts, sizeof c->counts, "%s/.%s.counts", out_dir, name);
  (void)unlink(c->counts);
  fflush(NULL);
  c->pid = fork();
  PetscCheck(c->pid >= 0, PETSC_COMM_SELF, PETSC_ERR_SYS, "cannot start a process for the case %s: %s", name, strerror(errno));
  if (c->pid == 0) {
    if (!freopen(c->said, "w", stdout) || dup2(fileno(stdout), 2) < 0) _exit(1);
    table   = NULL; /* the parent copies the rows */
    n_cases = n_passed = n_failed = 0;
    if (run_case(name)) _exit(1);
    FILE *f = fopen(c->counts, "w");
    if (!f || fprintf(f, "%d %d %d\n", n_cases, n_passed, n_failed) < 0 || fclose(f) || fflush(stdout)) _exit(1);
    _exit(0);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Copy the output and rows of a case whose process has ended, and add its counts. A case without counts has failed. */
static void report_case(const char *name, case_process *c)
{
  char  line[1024];
  int   n[3] = {1, 0, 1};
  FILE *f;
  if ((f = fopen(c->said, "r")) != NULL) {
    while (fgets(line, sizeof line, f)) {
      fputs(line, *line == '|' ? stdout : stderr);
      if (table && *line == '|') fputs(line, table);
    }
    fclose(f);
  }
  f = fopen(c->counts, "r");
  if (!f || fscanf(f, "%d %d %d", &n[0], &n[1], &n[2]) != 3) fprintf(stderr, "validate: %s: its process failed\n", name);
  if (f) fclose(f);
  n_cases += n[0], n_passed += n[1], n_failed += n[2];
  fflush(stdout);
  (void)unlink(c->said);
  (void)unlink(c->counts);
}

/* Run the cases, at most n_at_once at a time; rows are in the order of the names. */
static PetscErrorCode run_cases(int n, char **names, int n_at_once)
{
  case_process *c = calloc((size_t)n + 1, sizeof *c);
  PetscFunctionBegin;
  PetscCheck(c, PETSC_COMM_SELF, PETSC_ERR_MEM, "out of memory");
  for (int n_started = 0, n_ended = 0, n_reported = 0; n_reported < n;) {
    for (; n_started < n && n_started < n_ended + n_at_once; ++n_started) PetscCall(start_case(names[n_started], &c[n_started]));
    const pid_t pid = waitpid(-1, NULL, 0);
    PetscCheck(pid >= 0 || errno == EINTR, PETSC_COMM_SELF, PETSC_ERR_SYS, "cannot wait for the processes of the cases: %s",
               strerror(errno));
    for (int i = n_reported; i < n_started; ++i)
      if (c[i].pid == pid) c[i].has_ended = true, ++n_ended;
    for (; n_reported < n && c[n_reported].has_ended; ++n_reported) report_case(names[n_reported], &c[n_reported]);
  }
  free(c);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* *is_good = false: the names select no case, or there is none. */
static PetscErrorCode validate(int n_wanted, char **wanted, bool *is_good)
{
  PetscFunctionBegin;
  struct dirent **entries;
  char            path[4200], **names;
  const int       n       = scandir(cases_dir, &entries, is_case, alphasort);
  int             n_names = 0;
  *is_good                = n >= 0 && check_names(n_wanted, wanted, n, entries);
  if (n < 0) fprintf(stderr, "validate: %s: %s; give the folder of the cases with --cases\n", cases_dir, strerror(errno));
  if (!*is_good) PetscFunctionReturn(PETSC_SUCCESS); /* the process ends here, so `entries` is not freed */
  (void)mkdir("build", 0777);
  (void)mkdir(out_dir, 0777);
  snprintf(path, sizeof path, "%s/table.md", out_dir);
  table = fopen(path, "w");
  fputs(table_head, stdout);
  if (table) fputs(table_head, table);
  names = calloc((size_t)n + 1, sizeof *names);
  PetscCheck(names, PETSC_COMM_SELF, PETSC_ERR_MEM, "out of memory");
  for (int i = 0; i < n; ++i) {
    bool is_wanted = n_wanted == 0;
    for (int k = 0; k < n_wanted; ++k) is_wanted |= is_selected(entries[i]->d_name, wanted[k]);
    if (is_wanted) names[n_names++] = entries[i]->d_name;
  }
  PetscCall(run_cases(n_names, names, atoi(jobs)));
  for (int i = 0; i < n; ++i) free(entries[i]);
  free(entries);
  free(names);
  if (table) fclose(table);
  *is_good = n_cases > 0;
  if (!*is_good)
    fprintf(stderr, "validate: no case was run: %s has none%s%s; give other names or another --class\n", cases_dir,
            only_class ? " of class " : "", only_class ? only_class : "");
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const char usage[] = "usage: validate [--program FILE] [--cases FOLDER] [--out FOLDER] [--class short|long] [--jobs N] [CASE ...]\n"
                            "Runs the cases of FOLDER, or only these, and prints a table of measured and expected values.\n"
                            "CASE: the name of a folder, or its part before a hyphen: A01 selects A01 and A01-plane.\n"
                            "--jobs: cases that run at the same time; the number of threads of each is then OMP_NUM_THREADS, or 1.\n"
                            "Exit code: 0 all passed, 1 a check failed, 2 the command line is wrong or no case was run.\n";

int main(int argc, char **argv)
{
  char **wanted   = calloc((size_t)argc + 1, sizeof *wanted);
  int    n_wanted = 0;
  for (int i = 1; i < argc; ++i) {
    const char **value = strcmp(argv[i], "--program") == 0 ? &program
                         : strcmp(argv[i], "--cases") == 0 ? &cases_dir
                         : strcmp(argv[i], "--out") == 0   ? &out_dir
                         : strcmp(argv[i], "--class") == 0 ? &only_class
                         : strcmp(argv[i], "--jobs") == 0  ? &jobs
                                                           : NULL;
    if (value && i + 1 < argc) {
      *value = argv[++i];
    } else if (*argv[i] == '-') {
      const bool is_help = strcmp(argv[i], "--help") == 0;
      if (!is_help) fprintf(stderr, "validate: %s %s\n", argv[i], value ? "needs a value" : "is not an option");
      fputs(usage, is_help ? stdout : stderr);
      free(wanted);
      return is_help ? 0 : 2;
    } else {
      wanted[n_wanted++] = argv[i];
    }
  }
  if (atoi(jobs) < 1 || atoi(jobs) > 1024) {
    fprintf(stderr, "validate: --jobs %s: expected a whole number from 1 to 1024\n", jobs);
    free(wanted);
    return SS_EXIT_BAD_INPUT;
  }
  if (atoi(jobs) > 1) setenv("OMP_NUM_THREADS", "1", 0);
  setenv("OMPI_MCA_ess_singleton_isolated", "1", 0);
  setenv("OMPI_MCA_pml", "ob1", 0);
  setenv("OMPI_MCA_btl", "self", 0);
  if (error_install()) return 1; /* no PetscInitialize: MPI must not be up across the forks */
  bool                 is_good;
  const PetscErrorCode error = validate(n_wanted, wanted, &is_good);
  free(wanted);
  if (error) return (int)error_report(stderr, error, true);
  if (!is_good) return SS_EXIT_BAD_INPUT;
  printf("%d passed, %d failed\n", n_passed, n_failed);
  return n_failed ? 1 : 0;
}
