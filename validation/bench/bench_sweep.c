/* What a sweep of tiny cases loses: a ball that slides for a few steps, a thousand times, side by side on this machine.
 *
 *   bench_sweep [CASES [WORKERS]]      1000 of the row that counts, fewer of the others; a case a CPU
 *
 * stepping     wall time inside steps, from summary.txt (all stages but checkpoints, frames and tables), mean of the cases
 * run          wall time of the time loop with all it writes, from result.yaml
 * CPU          user and system time of everything, the sweep itself too, divided by the cases
 * lost         1 - (sum of run) / (wall time x workers): start, scene, folder, end, queue
 * lost+files   1 - (sum of stepping) / (wall time x workers): that, and all that is written
 * lost CPU     CPU of a case of one step / CPU of a case: the same in CPU time, which other work on the machine disturbs less
 *
 * The row of "fresh" starts the program anew for each case, as a shell loop would. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "core/memory.h"
#include "core/timer.h"
#include "app/run/run_result.h"

static char program[4096], work[512];

static bool write_file(const char *name, const char *format, long long a, long long b)
{
  char path[600];
  snprintf(path, sizeof path, "%s/%s", work, name);
  FILE *out = fopen(path, "w");
  if (!out) return false;
  fprintf(out, format, a, b);
  return fclose(out) == 0;
}

static const char job_text[] =
    "stickslip: 1\nname: slide\ntime: {end: %lld.0e-6, step: 1.0e-5}\n"
    "materials: {steel: {model: rigid, density: 3000}}\n"
    "bodies:\n"
    "  ball: {kind: rigid, material: steel, shape: {sphere: {center: [0, 0, 0.05], radius: 0.05}}, velocity: [1, 0, 0]}\n"
    "  floor: {kind: static, shape: {plane: {point: [0, 0, 0], normal: [0, 0, 1]}}}\n"
    "contact: {friction: 0.3, stiffness: 1.0e4}\n"
    "output: {history_every: %lld}\n"
    "measure: {way: {quantity: position, body: ball, direction: [1, 0, 0], every: 1.0e-3}}\n";
static const char sweep_text[] =
    "sweep: 1\nname: slides\nbase: slide.yaml\nvary: {mu: {range: {from: 0.1, to: 0.5, count: %lld}}}\nset: {contact.friction: mu}\n";

/* "name  12.3 %  0.456 ...": the seconds of a stage of summary.txt; 0 if it is not there. */
static double stage(const char *text, const char *name)
{
  double      share, seconds;
  const char *line = strstr(text, name);
  return line && sscanf(line + strlen(name), "%lf %% %lf", &share, &seconds) == 2 ? seconds : 0.0;
}

/* False if the case is not finished. */
static bool read_case(long long number, double *stepping, double *run)
{
  char              folder[600], path[640], text[8192] = "";
  document         *owner;
  const run_result *r;
  snprintf(folder, sizeof folder, "%s/sweep/cases/%06lld", work, number);
  snprintf(path, sizeof path, "%s/summary.txt", folder);
  if (run_result_read(folder, &owner, &r) || !r) return false;
  const bool is_finished = r->status == RUN_FINISHED;
  *run += r->seconds;
  document_destroy(&owner);
  FILE *in = fopen(path, "r");
  if (!in) return false;
  text[fread(text, 1, sizeof text - 1, in)] = 0;
  fclose(in);
  const char *table = strstr(text, "\nstage");
  if (!table) return false;
  *stepping += stage(table, "\ntotal") - stage(table, "\ncheckpoint") - stage(table, "\nframes and history");
  return is_finished;
}

static int call(const char *command, double *wall, double *cpu)
{
  struct rusage before, after;
  getrusage(RUSAGE_CHILDREN, &before);
  const double begun  = timer_now();
  const int    status = system(command);
  *wall               = timer_now() - begun;
  getrusage(RUSAGE_CHILDREN, &after);
  *cpu = (double)(after.ru_utime.tv_sec - before.ru_utime.tv_sec + after.ru_stime.tv_sec - before.ru_stime.tv_sec) +
         1e-6 * (double)(after.ru_utime.tv_usec - before.ru_utime.tv_usec + after.ru_stime.tv_usec - before.ru_stime.tv_usec);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* One row of the table. *cpu_of_one: CPU seconds of a case of one step, set by the row that has one. */
static bool row(long long n_cases, long long n_steps, int workers, bool is_fresh, double *cpu_of_one)
{
  char   command[6000];
  double wall, cpu, stepping = 0.0, run = 0.0;
  snprintf(command, sizeof command, "rm -rf %s/sweep", work);
  if (system(command)) return false;
  if (!write_file("slide.yaml", job_text, 10 * n_steps, n_steps < 100 ? 1 : 100) || !write_file("sweep.yaml", sweep_text, n_cases, 0))
    return false;
  snprintf(command, sizeof command, "'%s' sweep %s/sweep.yaml --out %s/sweep --quiet --no-warn duration", program, work, work);
  if (call(command, &wall, &cpu)) return false;
  snprintf(command, sizeof command, "'%s' sweep run %s/sweep -j %d --threads 1 --quiet%s", program, work, workers,
           is_fresh ? " --fresh" : "");
  if (call(command, &wall, &cpu)) return false;
  for (long long i = 1; i <= n_cases; ++i)
    if (!read_case(i, &stepping, &run)) return false;
  const double n = (double)n_cases, room = wall * workers;
  if (n_steps == 1 && !is_fresh) *cpu_of_one = cpu / n;
  printf("%-6s %6lld %7lld %8.2f %11.2f %9.2f %9.2f %7.1f %% %9.1f %% %8.1f %%\n", is_fresh ? "fresh" : "forked", n_cases, n_steps, wall,
         1e3 * stepping / n, 1e3 * run / n, 1e3 * cpu / n, 100.0 * (1.0 - run / room), 100.0 * (1.0 - stepping / room),
         100.0 * fmin(1.0, *cpu_of_one / (cpu / n)));
  fflush(stdout);
  return true;
}

int main(int argc, char **argv)
{
  const long long n       = argc > 1 ? strtoll(argv[1], NULL, 10) : 1000;
  const int       workers = argc > 2 ? (int)strtol(argv[2], NULL, 10) : (int)sysconf(_SC_NPROCESSORS_ONLN);
  const ssize_t   length  = readlink("/proc/self/exe", program, sizeof program - 32);
  if (n < 10 || workers < 1 || length <= 0) return fprintf(stderr, "usage: bench_sweep [CASES [WORKERS]]\n"), 2;
  program[length] = 0;
  for (int up = 0; up < 2; ++up) *strrchr(program, '/') = 0;
  strcat(program, "/stickslip");
  const char *base = getenv("TMPDIR");
  snprintf(work, sizeof work, "%.400s/bench-sweep-XXXXXX", base ? base : "/tmp");
  if (!mkdtemp(work)) return perror(work), 1;
  printf("%-6s %6s %7s %8s %11s %9s %9s %9s %11s %10s\n", "", "cases", "steps", "wall s", "stepping ms", "run ms", "CPU ms", "lost",
         "lost+files", "lost CPU");
  const struct {
    long long n_cases, n_steps;
    bool      is_fresh;
  } rows[]          = {{n / 5, 1, false}, {n / 5, 1000, false},   {n / 5, 4000, false},
                       {n, 10000, false}, {n / 10, 40000, false}, {n / 10, 10000, true}};
  double cpu_of_one = 0.0;
  bool   is_good    = true;
  for (size_t i = 0; i < sizeof rows / sizeof *rows && is_good; ++i)
    is_good = row(rows[i].n_cases, rows[i].n_steps, workers, rows[i].is_fresh, &cpu_of_one);
  char command[600];
  snprintf(command, sizeof command, "rm -rf %s", work);
  if (system(command) || !is_good) return fprintf(stderr, "bench_sweep: a sweep did not finish\n"), 1;
  return 0;
}
