/* Processes of cases, the queue of cases, signals, and the distribution of CPUs. */
#define _GNU_SOURCE
#include "app/sweep/sweep_local.h"
#include <errno.h>
#include <fcntl.h>
#include <petscsnes.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "core/log.h"
#include "core/memory.h"
#include "core/process.h"
#include "core/regular_file.h"
#include "core/stop.h"
#include "core/team.h"
#include "core/timer.h"
#include "io/file.h"
#include "core/version.h"
#include "io/sealed_file.h"
#include "io/table_file.h"
#include "app/run/allocation.h"
#include "app/run/run_result.h"
#include "app/sweep/sweep_folder.h"

/* --- cores -------------------------------------------------------------------------------------------------------- */

/* A number in /sys/devices/system/cpu/cpuN/topology; `fallback` if it does not exist. */
static int topology_number(int cpu, const char *name, int fallback)
{
  char path[128];
  int  value;
  snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/%s", cpu, name);
  FILE *in = fopen(path, "re");
  if (!in) return fallback;
  if (fscanf(in, "%d", &value) != 1) value = fallback;
  fclose(in);
  return value;
}

/* The process may use all places of OMP_PLACES, although its first thread is bound to the first place. */
static void add_places(cpu_set_t *set)
{
  int       cpu[SWEEP_CORES_MAX];
  const int n = team_place_cpus(SWEEP_CORES_MAX, cpu);
  for (int i = 0; i < n && i < SWEEP_CORES_MAX; ++i)
    if (cpu[i] >= 0 && cpu[i] < CPU_SETSIZE) CPU_SET(cpu[i], set);
}

int sweep_cores_find(sweep_cpu *cpus)
{
  cpu_set_t set;
  int       n = 0;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set)) CPU_SET(0, &set);
  add_places(&set);
  for (int i = 0; i < CPU_SETSIZE && n < SWEEP_CORES_MAX; ++i) {
    if (!CPU_ISSET(i, &set)) continue;
    sweep_cpu *c = &cpus[n];
    *c           = (sweep_cpu){i, topology_number(i, "physical_package_id", 0), topology_number(i, "core_id", i), 0};
    for (int k = 0; k < n; ++k) c->thread += cpus[k].package == c->package && cpus[k].core == c->core;
    ++n;
  }
  return n;
}

static int by_core(const void *a, const void *b)
{
  const sweep_cpu *x = a, *y = b;
  if (x->package != y->package) return x->package < y->package ? -1 : 1;
  if (x->core != y->core) return x->core < y->core ? -1 : 1;
  return (x->cpu > y->cpu) - (x->cpu < y->cpu);
}

static int by_thread(const void *a, const void *b)
{
  const sweep_cpu *x = a, *y = b;
  if (x->thread != y->thread) return x->thread < y->thread ? -1 : 1;
  return by_core(a, b);
}

bool sweep_cores_split(int n, sweep_cpu *cpus, int n_slots, int per_slot)
{
  int n_cores = 0;
  for (int i = 0; i < n; ++i) n_cores += cpus[i].thread == 0;
  const int64_t n_used = (int64_t)n_slots * per_slot;
  qsort(cpus, (size_t)n, sizeof *cpus, n_used <= n_cores ? by_thread : by_core);
  return n_used <= n;
}

/* --- a case as a process ------------------------------------------------------------------------------------------ */

typedef struct {
  const char    *dir;     /* sweep folder */
  int            threads; /* OpenMP threads */
  int            n_cpus;  /* number of CPUs to bind the case to; 0: not bound */
  int            cpu[64]; /* [n_cpus]; cases with more threads are not bound */
  bool           has_picture, is_strict;
  case_executor *execute;  /* executes a forked case */
  bool           is_fresh; /* start a new process; false: fork this process, in which MPI and PETSc are initialised */
} sweep_case_options;

/* A running case. An flock on its log.txt prevents two sweeps from running the same case. Both this process and the case hold
 * it, so that it remains if one of them ends. */
typedef struct {
  pid_t pid; /* 0: none */
  int   log;
} sweep_child;

#define FLUSHES_AFTER 5.0 /* [s] for which a new case delays its flushes; a power failure loses at most this time */
enum { PATH_SIZE = 4300, MAX_WORDS = 2 * SWEEP_MAX_NAMES + 32 };

/* --- the command line ------------------------------------------------------------------------------------------------ */

typedef struct {
  int   n;
  char *word[MAX_WORDS];
  char  dir[PATH_SIZE], threads[16];
} case_words;

static void add_word(case_words *w, const char *word)
{
  if (w->n + 1 < MAX_WORDS) w->word[w->n++] = (char *)word;
}

static void fill_words(const sweep_plan *plan, const sweep_case *c, const sweep_case_options *o, case_words *w)
{
  memset(w, 0, sizeof *w);
  sweep_folder_case(o->dir, c->number, sizeof w->dir, w->dir);
  snprintf(w->threads, sizeof w->threads, "%d", o->threads);
  add_word(w, "stickslip"), add_word(w, "run"), add_word(w, plan->base);
  for (int i = 0; i < c->n_overrides; ++i) add_word(w, "--set"), add_word(w, c->overrides[i]);
  add_word(w, "--out"), add_word(w, w->dir), add_word(w, "--continue");
  add_word(w, "--threads"), add_word(w, w->threads);
  if (!o->has_picture) add_word(w, "--no-picture");
  if (o->is_strict) add_word(w, "--strict");
}

/* Writes the command line of the case to its log, as the words of a shell. */
static PetscErrorCode log_command_line(int fd, const case_words *w)
{
  char         stamp[32];
  char        *line __attribute__((cleanup(memory_free))) = NULL;
  text_buffer  b                                          = {0};
  const time_t now                                        = time(NULL);
  struct tm    t;

  PetscFunctionBegin;
  strftime(stamp, sizeof stamp, "%Y-%m-%d %H:%M:%S", localtime_r(&now, &t)); /* as core/log.c */
  text_printf(&b, "%s %s:", stamp, version_text());
  for (int i = 0; i < w->n; ++i) {
    text_put(&b, " ");
    shell_append_word(&b, w->word[i]);
  }
  PetscCall(text_take(&b, &line));
  dprintf(fd, "%s\n", line);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- its process ----------------------------------------------------------------------------------------------------- */

static void bind_to_cpus(const sweep_case_options *o)
{
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int i = 0; i < o->n_cpus; ++i) CPU_SET(o->cpu[i], &set);
  if (o->n_cpus > 0) (void)sched_setaffinity(0, sizeof set, &set);
}

/* If memory runs out, the kernel should kill a case and not the sweep, which continues the other cases. */
static void raise_oom_score(void)
{
  const int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  (void)!write(fd, "300", 3);
  close(fd);
}

static void reset_signal_handlers(void)
{
  const int numbers[] = {SIGCHLD, SIGINT, SIGTERM, SIGUSR1, SIGUSR2};
  sigset_t  none;
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i) signal(numbers[i], SIG_DFL);
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
}

/* For a case shorter than FLUSHES_AFTER: flushes the newest checkpoint and the result. The sweep flushes the other files at its
 * end. */
static PetscErrorCode flush_short_case(const char *folder)
{
  char path[PATH_SIZE + 16];

  PetscFunctionBegin;
  if (!flush_is_deferred()) PetscFunctionReturn(PETSC_SUCCESS);
  snprintf(path, sizeof path, "%s/result.yaml", folder);
  PetscCall(flush_later(path, true));
  PetscCall(flush_now(true));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Executes the case in the child process. If the sweep dies, the case receives SIGTERM, writes a checkpoint and can be resumed. */
static void execute_child(const case_words *w, const sweep_case_options *o, int log, pid_t parent) __attribute__((noreturn));
static void execute_child(const case_words *w, const sweep_case_options *o, int log, pid_t parent)
{
  setpgid(0, 0);
  const int null_device = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (null_device >= 0) dup2(null_device, STDIN_FILENO);
  dup2(log, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  log_progress_forget(); /* otherwise the progress line of the sweep would be printed into the log of the case */
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(SS_EXIT_REQUEUE);
  raise_oom_score();
  bind_to_cpus(o);
  reset_signal_handlers();
  if (o->is_fresh) {
    char          path[4096]; /* resolved path; otherwise process lists show "exe" */
    const ssize_t n     = readlink("/proc/self/exe", path, sizeof path - 1);
    path[n > 0 ? n : 0] = 0;
    execv(path, w->word);
    dprintf(STDERR_FILENO, "stickslip: cannot start a new process: %s\n", strerror(errno));
    _exit(SS_EXIT_ENVIRONMENT);
  }
  flush_defer(FLUSHES_AFTER);
  const exit_code code = o->execute(w->n, (char **)w->word);
  fflush(NULL);
  _exit((int)(flush_short_case(w->dir) && code == SS_EXIT_OK ? SS_EXIT_ENVIRONMENT : code));
}

/* Opens and locks log.txt of the case; *fd = -1 without error if another process holds the lock. */
static PetscErrorCode open_case_log(const char *dir, int64_t number, int *fd)
{
  char        folder[PATH_SIZE], path[PATH_SIZE + 16];
  const char *why;

  PetscFunctionBegin;
  sweep_folder_case(dir, number, sizeof folder, folder);
  PetscCall(file_make_directory(folder));
  snprintf(path, sizeof path, "%s/log.txt", folder);
  *fd = regular_file_open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, &why);
  PetscCheck(*fd >= 0, PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "cannot write %s: %s%s", path, why, file_advice(errno));
  /* On file systems without locks, run.lock decides: the second process fails a little later. */
  if (flock(*fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) {
    close(*fd);
    *fd = -1;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode fork_case(const sweep_plan *plan, const sweep_case *c, const sweep_case_options *o, int log, pid_t *pid)
{
  char              why[256];
  case_state        state;
  sigset_t          all, before;
  static case_words words;

  PetscFunctionBegin;
  PetscCall(sweep_folder_state(o->dir, c->number, &state, why, sizeof why));
  if (state != CASE_WAITING && state != CASE_STOPPED) PetscFunctionReturn(PETSC_SUCCESS);
  fill_words(plan, c, o, &words);
  PetscCall(log_command_line(log, &words));
  fflush(NULL); /* otherwise the child would print buffered output again */
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before); /* until the child has reset its signal handlers */
  const pid_t parent = getpid();
  *pid               = fork();
  if (*pid == 0) execute_child(&words, o, log, parent);
  const int error = errno;
  sigprocmask(SIG_SETMASK, &before, NULL);
  PetscCheck(*pid > 0, PETSC_COMM_SELF, PETSC_ERR_SYS, "cannot start a process for case %lld: %s", (long long)c->number, strerror(error));
  setpgid(*pid, *pid); /* called in parent and child, because either may run first */
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void close_child(sweep_child *child)
{
  if (child->log >= 0) close(child->log);
  *child = (sweep_child){0, -1};
}

/* Starts or continues a case in its own process and process group; its output goes to log.txt. child->pid = 0 if there is
 * nothing to do: another sweep is running the case, or it is running, finished, or failed (needs a retry). */
static PetscErrorCode sweep_case_start(const sweep_plan *plan, const sweep_case *c, const sweep_case_options *o, sweep_child *child)
{
  PetscFunctionBegin;
  *child = (sweep_child){0, -1};
  PetscCall(open_case_log(o->dir, c->number, &child->log));
  if (child->log < 0) PetscFunctionReturn(PETSC_SUCCESS);
  const PetscErrorCode code = fork_case(plan, c, o, child->log, &child->pid);
  if (child->pid <= 0) close_child(child);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- its end --------------------------------------------------------------------------------------------------------- */

/* The state of a case from the status of waitpid(). `why`: the reason for users. */
static case_state evaluate_exit(const char *dir, int64_t number, int status, int *code, size_t size, char *why)
{
  if (WIFSIGNALED(status)) {
    const int s = WTERMSIG(status);
    *code       = 128 + s;
    snprintf(why, size, "killed by signal %d (%s)%s", s, strsignal(s), s == SIGKILL ? ": by a user, or out of memory" : "");
    return s == SIGKILL || s == SIGTERM || s == SIGINT || s == SIGUSR1 || s == SIGUSR2 || s == SIGHUP ? CASE_STOPPED : CASE_FAILED;
  }
  *code  = WEXITSTATUS(status);
  why[0] = 0;
  if (*code == SS_EXIT_OK || *code == SS_EXIT_QUALITY) return CASE_FINISHED;
  if (*code == SS_EXIT_REQUEUE) return CASE_STOPPED;
  char words[512];
  sweep_folder_error(dir, number, sizeof words, words);
  snprintf(why, size, "exit code %d%s%s", *code, *words ? ": " : "", words);
  return CASE_FAILED;
}

/* For a case that ended before it wrote a result. */
static run_result empty_result(const sweep_plan *plan, const char *now)
{
  return (run_result){.result = RUN_RESULT_FORMAT, .job = plan->name, .program = version_text(), .host = "", .begun = now, .starts = 1};
}

/* Records the end of a case in its result.yaml, unless the case has recorded the same failure itself. */
static PetscErrorCode record_case_end(const sweep_plan *plan, const char *folder, case_state state, int code, size_t size, char *why)
{
  char              now[RUN_DATE];
  const run_result *was                                              = NULL;
  document         *owner __attribute__((cleanup(document_destroy))) = NULL;

  PetscFunctionBegin;
  if (run_result_read(folder, &owner, &was)) { /* damaged: will be replaced */
    error_clear();
    was = NULL;
  }
  if (was && was->status == RUN_FAILED && was->exit_code == code) { /* keep the message of the case */
    snprintf(why, size, "%s", was->reason);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  run_result_now(now);
  run_result r = was ? *was : empty_result(plan, now);
  r.status     = state == CASE_STOPPED ? RUN_STOPPED : RUN_FAILED;
  r.reason     = why;
  r.exit_code  = code;
  r.updated    = now;
  PetscCall(run_result_write(folder, &r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Called when the process of a case has ended with `wait_status`. Records in result.yaml what the case could not record itself
 * (crash, kill, early error). `why`: one line for users, or "". */
static PetscErrorCode sweep_case_end(const sweep_plan *plan, const sweep_case *c, const char *dir, int wait_status, sweep_child *child,
                                     case_state *state, size_t size, char *why)
{
  char           folder[PATH_SIZE];
  int            exit_number;
  PetscErrorCode code = PETSC_SUCCESS;

  PetscFunctionBegin;
  *state = evaluate_exit(dir, c->number, wait_status, &exit_number, size, why);
  sweep_folder_case(dir, c->number, sizeof folder, folder);
  if (*state != CASE_FINISHED && exit_number != SS_EXIT_REQUEUE) code = record_case_end(plan, folder, *state, exit_number, size, why);
  close_child(child);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- the queue of cases ------------------------------------------------------------------------------------------- */

typedef struct {
  sweep_child       child;
  const sweep_case *c;
  int64_t           i_queue;
} sweep_slot;

typedef struct {
  const char         *dir;
  sweep_plan         *plan;
  int64_t             n_queue, next; /* next: index of the first case not yet started */
  const sweep_case  **queue;
  int64_t            *n_tries; /* [n_queue] */
  int                 n_slots;
  sweep_slot         *slots;
  sweep_case_options *options; /* [n_slots] */
  int64_t             n_run, n_running, n_state[CASE_FINISHED + 1];
  double              begun;
  int                 signal; /* the first signal that requested a stop, or 0 */
  double              end;    /* end of the batch job on timer_now()'s clock; INFINITY: unknown */
} sweep_queue;

/* --- signals --------------------------------------------------------------------------------------------------------- */

/* Signals may arrive on a thread of MPI. Therefore a handler writes them to a pipe, which the main loop polls. */
static int       signal_pipe[2]    = {-1, -1};
static const int handled_signals[] = {SIGCHLD, SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGHUP};
enum { N_SIGNALS = sizeof handled_signals / sizeof *handled_signals };

static void on_signal(int number)
{
  const int           error = errno;
  const unsigned char byte  = (unsigned char)number;
  (void)!write(signal_pipe[1], &byte, 1);
  errno = error;
}

static PetscErrorCode install_signal_handlers(struct sigaction before[N_SIGNALS])
{
  PetscFunctionBegin;
  PetscCheck(!pipe2(signal_pipe, O_CLOEXEC | O_NONBLOCK), PETSC_COMM_SELF, PETSC_ERR_SYS, "cannot open a pipe: %s", strerror(errno));
  for (int i = 0; i < N_SIGNALS; ++i) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(handled_signals[i], NULL, &before[i]);
    /* under nohup, SIGHUP stays ignored */
    if (handled_signals[i] != SIGHUP || before[i].sa_handler != SIG_IGN) sigaction(handled_signals[i], &action, NULL);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void restore_signal_handlers(const struct sigaction before[N_SIGNALS])
{
  for (int i = 0; i < N_SIGNALS; ++i) sigaction(handled_signals[i], &before[i], NULL);
  for (int i = 0; i < 2; ++i) {
    if (signal_pipe[i] >= 0) close(signal_pipe[i]);
    signal_pipe[i] = -1;
  }
}

/* Forwards a signal to all cases. A second signal makes them abandon the current step; a third SIGINT ends them at once
 * (core/stop.h). */
static void forward_signal(sweep_queue *q, int number)
{
  if (!q->signal) {
    log_info("signal %d: %lld cases write a checkpoint and stop", number, (long long)q->n_running);
    q->signal = number;
  }
  for (int i = 0; i < q->n_slots; ++i)
    if (q->slots[i].child.pid > 0) kill(-q->slots[i].child.pid, number);
}

/* Waits for a signal, at most one second. */
static void wait_for_signals(sweep_queue *q)
{
  unsigned char bytes[64];
  struct pollfd in = {.fd = signal_pipe[0], .events = POLLIN};
  if (poll(&in, 1, 1000) <= 0) return;
  const ssize_t n = read(signal_pipe[0], bytes, sizeof bytes);
  for (ssize_t i = 0; i < n; ++i)
    if (bytes[i] != SIGCHLD) forward_signal(q, bytes[i]);
}

/* --- the queue ------------------------------------------------------------------------------------------------------- */

static void show_sweep_progress(const sweep_queue *q)
{
  const int64_t n_done = q->next - q->n_running, n_left = q->n_queue - n_done;
  const double  wall          = timer_now() - q->begun;
  char          time_left[40] = ""; /* unknown until the first case has ended */
  if (q->n_run > 0) {
    const int64_t eta = (int64_t)(wall / (double)q->n_run * (double)n_left);
    snprintf(time_left, sizeof time_left, "  ETA %lld:%02lld:%02lld", (long long)(eta / 3600), (long long)(eta / 60 % 60),
             (long long)(eta % 60));
  }
  log_progress("%lld of %lld cases done, %lld running, %lld failed%s", (long long)n_done, (long long)q->n_queue, (long long)q->n_running,
               (long long)q->n_state[CASE_FAILED], time_left);
}

/* The remaining time is too short to start a case. */
static bool is_time_short(const sweep_queue *q) { return q->end - timer_now() < 3.0 * ALLOCATION_SPARE; }

/* Starts the next case of the queue in a free slot. */
static PetscErrorCode fill_slot(sweep_queue *q, int i_slot)
{
  PetscFunctionBegin;
  sweep_slot *s = &q->slots[i_slot];
  while (s->child.pid == 0 && q->next < q->n_queue && !q->signal && !is_time_short(q)) {
    s->i_queue = q->next++;
    s->c       = q->queue[s->i_queue];
    PetscCall(sweep_case_start(q->plan, s->c, &q->options[i_slot], &s->child));
    if (s->child.pid > 0) ++q->n_running, ++q->n_tries[s->i_queue];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* resources.retries: restarts a case that was killed or stopped without a request. */
static PetscErrorCode restart_case(sweep_queue *q, int i_slot, bool *is_running)
{
  PetscFunctionBegin;
  sweep_slot *s = &q->slots[i_slot];
  *is_running   = false;
  if (q->signal || is_time_short(q) || q->n_tries[s->i_queue] > q->plan->resources.retries) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(sweep_case_start(q->plan, s->c, &q->options[i_slot], &s->child));
  *is_running = s->child.pid > 0;
  if (*is_running) ++q->n_running, ++q->n_tries[s->i_queue];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collects the cases that have ended. */
static PetscErrorCode collect_ended_cases(sweep_queue *q)
{
  int status;

  PetscFunctionBegin;
  for (int i = 0; i < q->n_slots; ++i) {
    sweep_slot *s = &q->slots[i];
    case_state  state;
    char        why[1024], words[256];
    bool        is_restarted = false;
    if (s->child.pid <= 0 || waitpid(s->child.pid, &status, WNOHANG) != s->child.pid) continue;
    const int64_t number = s->c->number;
    --q->n_running;
    PetscCall(sweep_case_end(q->plan, s->c, q->dir, status, &s->child, &state, sizeof why, why));
    if (state == CASE_FAILED || (state == CASE_STOPPED && !q->signal))
      log_warn("case %lld (%s) %s: %s; see %s/cases/%06lld/log.txt", (long long)number, sweep_case_text(q->plan, s->c, sizeof words, words),
               state == CASE_FAILED ? "failed" : "stopped", why, q->dir, (long long)number);
    if (state == CASE_STOPPED) PetscCall(restart_case(q, i, &is_restarted));
    if (!is_restarted) ++q->n_run, ++q->n_state[state];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Libraries initialise tables at their first call, and every forked case would repeat that. Therefore create a PETSc solver and
 * an HDF5 file once before the first fork. This also detects early that the folder cannot be written. */
static PetscErrorCode initialise_libraries(const char *dir)
{
  char               path[4300];
  const int64_t      number = 0;
  const table_column column = {.name = "number", .type = TABLE_WHOLE, .whole = &number};
  SNES               snes;
  KSP                ksp;
  PC                 pc;
  DM                 dm;

  PetscFunctionBegin;
  PetscCall(SNESCreate(PETSC_COMM_SELF, &snes));
  PetscCall(SNESGetKSP(snes, &ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(SNESGetDM(snes, &dm));
  PetscCall(SNESDestroy(&snes));
  snprintf(path, sizeof path, "%s/.rehearsal.%ld.h5", dir, (long)getpid());
  PetscCall(table_write_h5(path, "", 1, 1, &column));
  unlink(path);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode run_queue(sweep_queue *q)
{
  PetscFunctionBegin;
  if (q->n_queue > 0 && !q->options[0].is_fresh) PetscCall(initialise_libraries(q->dir));
  for (;;) {
    PetscCall(collect_ended_cases(q));
    for (int i = 0; i < q->n_slots; ++i)
      if (q->slots[i].child.pid == 0) PetscCall(fill_slot(q, i));
    if (q->n_running == 0) break;
    show_sweep_progress(q);
    wait_for_signals(q);
  }
  log_progress_end();
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- preparation and end --------------------------------------------------------------------------------------------- */

/* fork() copies only the calling thread. A forked case can do without the idle progress thread of a serial MPI, but not without
 * that of an MPI with a launcher. There are no OpenMP threads, because the sweep commands use one thread only; but libgomp must
 * not bind threads (OMP_PLACES, OMP_PROC_BIND). */
static bool can_fork(void)
{
  return !getenv("OMPI_COMM_WORLD_SIZE") && !getenv("PMIX_RANK") && !getenv("PMI_RANK") && !getenv("OMP_PLACES") &&
         !getenv("OMP_PROC_BIND");
}

static PetscErrorCode make_slots(sweep_queue *q, const sweep_local_options *o)
{
  static sweep_cpu       cpus[SWEEP_CORES_MAX];
  const int              n_found = sweep_cores_find(cpus);
  allocation             given;
  const sweep_resources *r = &q->plan->resources;
  int64_t                n = o->n_at_once, threads = o->threads > 0 ? o->threads : r->cores;

  PetscFunctionBegin;
  allocation_read(&given);
  const int n_cpus = given.cores > 0 && given.cores < n_found ? (int)given.cores : n_found;
  if (n <= 0) n = r->concurrent > 0 ? r->concurrent : n_cpus;
  if (o->n_at_once <= 0 && threads > 0 && n > n_cpus / threads) n = n_cpus / threads;
  if (n > q->n_queue) n = q->n_queue;
  if (n < 1) n = 1;
  if (threads <= 0) threads = n_cpus / n > 0 ? n_cpus / n : 1;
  q->n_slots = (int)n;
  /* If fewer CPUs are allocated than visible, it is unknown which ones: do not bind. */
  const bool is_bound = n_cpus == n_found && sweep_cores_split(n_cpus, cpus, (int)n, (int)threads);
  if (n * threads > n_cpus)
    log_warn("%lld simultaneous cases with %lld threads each share %d CPUs; with -j %lld each thread has its own CPU", (long long)n,
             (long long)threads, n_cpus, (long long)(n_cpus / threads > 0 ? n_cpus / threads : 1));
  PetscCall(MEMORY_ALLOC("sweep slots", ARRAY(q->slots, n), ARRAY(q->options, n)));
  const bool is_fresh = o->is_fresh || !can_fork();
  for (int i = 0; i < n; ++i) {
    sweep_case_options *c = &q->options[i];
    *c                    = (sweep_case_options){.dir         = q->dir,
                                                 .threads     = (int)threads,
                                                 .has_picture = o->has_picture,
                                                 .is_strict   = o->is_strict,
                                                 .execute     = o->execute,
                                                 .is_fresh    = is_fresh};
    if (is_bound && threads <= (int64_t)(sizeof c->cpu / sizeof *c->cpu)) c->n_cpus = (int)threads;
    for (int k = 0; k < c->n_cpus; ++k) c->cpu[k] = cpus[i * threads + k].cpu;
  }
  log_debug("%lld simultaneous cases, %lld threads each%s, %s", (long long)n, (long long)threads,
            is_bound ? ", bound to separate CPUs" : "", is_fresh ? "as new processes" : "forked");
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const sweep_case *find_case(const sweep_plan *plan, int64_t number)
{
  for (int64_t i = 0; i < plan->n_cases; ++i)
    if (plan->cases[i].number == number) return &plan->cases[i];
  return NULL;
}

static PetscErrorCode make_queue(sweep_queue *q, const sweep_local_options *o)
{
  PetscFunctionBegin;
  const int64_t n = o->n > 0 ? o->n : q->plan->n_cases;
  PetscCall(MEMORY_ALLOC("sweep queue", ARRAY(q->queue, n), ARRAY(q->n_tries, n)));
  for (int64_t i = 0; i < n; ++i) {
    char              why[64];
    case_state        state;
    const sweep_case *c = o->n > 0 ? find_case(q->plan, o->numbers[i]) : &q->plan->cases[i];
    PetscCheck(c, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: has no case %lld; see cases.csv", q->dir, (long long)o->numbers[i]);
    PetscCall(sweep_folder_state(q->dir, c->number, &state, why, sizeof why));
    if (state == CASE_WAITING || state == CASE_STOPPED) q->queue[q->n_queue++] = c;
    else ++q->n_state[state];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void destroy_queue(sweep_queue *q)
{
  MEMORY_FREE(&q->queue, &q->n_tries, &q->slots, &q->options);
  sweep_plan_destroy(&q->plan);
}

/* Among the requested cases: the number of those with a bad entry in their quality block, and whether one of them is strict. */
static PetscErrorCode count_bad_quality(const sweep_queue *q, const sweep_local_options *o, int64_t *n_bad, bool *is_strict)
{
  PetscFunctionBegin;
  *n_bad     = 0;
  *is_strict = false;
  for (int64_t i = 0; i < (o->n > 0 ? o->n : q->plan->n_cases); ++i) {
    char              folder[PATH_SIZE];
    document         *owner;
    const run_result *r;
    sweep_folder_case(q->dir, o->n > 0 ? o->numbers[i] : q->plan->cases[i].number, sizeof folder, folder);
    if (run_result_read(folder, &owner, &r)) { /* damaged: counted as to be continued */
      error_clear();
      continue;
    }
    if (r && r->status == RUN_SEE_QUALITY) {
      ++*n_bad;
      *is_strict |= o->is_strict || r->exit_code == SS_EXIT_QUALITY;
    }
    document_destroy(&owner);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode report_end(const sweep_queue *q, const sweep_local_options *o, exit_code *code)
{
  int64_t n_bad;
  bool    is_strict;
  PetscFunctionBegin;
  PetscCall(count_bad_quality(q, o, &n_bad, &is_strict));
  const int64_t n_stopped = q->n_state[CASE_STOPPED] + q->n_queue - q->next, n_failed = q->n_state[CASE_FAILED];
  if (n_bad > 0)
    log_alert("%s: %lld cases: %s; see `stickslip sweep status %s --cases`", q->dir, (long long)n_bad, run_status_names[RUN_SEE_QUALITY],
              q->dir);
  log_info("%s: %lld cases finished, %lld failed, %lld to be continued, %lld running in other processes; %.1f s%s", q->dir,
           (long long)q->n_state[CASE_FINISHED], (long long)n_failed, (long long)n_stopped, (long long)q->n_state[CASE_RUNNING],
           timer_now() - q->begun, n_failed > 0 ? "; see `stickslip sweep status` for the reasons; run them again with `sweep retry`" : "");
  *code = n_stopped > 0 ? SS_EXIT_REQUEUE : n_failed > 0 ? SS_EXIT_STEP_FAILED : is_strict ? SS_EXIT_QUALITY : SS_EXIT_OK;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode sweep_local(const char *dir, const sweep_local_options *o, exit_code *code)
{
  struct sigaction before[N_SIGNALS];
  sweep_queue      q __attribute__((cleanup(destroy_queue))) = {.dir = dir, .begun = timer_now()};

  PetscFunctionBegin;
  team_set_threads(1); /* no OpenMP threads before fork; see can_fork */
  PetscCall(sweep_folder_read(dir, &q.plan));
  PetscCall(make_queue(&q, o));
  PetscCall(make_slots(&q, o));
  allocation given;
  allocation_read(&given);
  q.end = timer_now() + allocation_time_left(&given);
  PetscCall(install_signal_handlers(before));
  q.signal             = stop_signal(); /* a signal may have arrived before the handlers were installed */
  PetscErrorCode error = run_queue(&q);
  if (error) { /* an error of the sweep itself: stop the cases */
    forward_signal(&q, SIGTERM);
    while (q.n_running > 0 && !collect_ended_cases(&q)) wait_for_signals(&q);
  }
  restore_signal_handlers(before);
  if (q.n_run > 0) flush_file_system(dir); /* short cases have delayed their flushes */
  if (o->signal) *o->signal = q.signal;
  PetscCall(error);
  PetscCall(report_end(&q, o, code));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode sweep_task_numbers(const char *dir, int64_t task, int64_t size, int64_t *n, int64_t **numbers)
{
  sweep_plan *plan __attribute__((cleanup(sweep_plan_destroy))) = NULL;

  PetscFunctionBegin;
  PetscCall(sweep_folder_read(dir, &plan));
  if (size <= 0) size = plan->resources.cases_per_task > 0 ? plan->resources.cases_per_task : 1;
  const int64_t first = (task - 1) * size;
  PetscCheck(first < plan->n_cases, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: task %lld does not exist: %lld cases, %lld per task", dir,
             (long long)task, (long long)plan->n_cases, (long long)size);
  *n = first + size < plan->n_cases ? size : plan->n_cases - first;
  PetscCall(memory_alloc("sweep task", *n, sizeof **numbers, numbers));
  for (int64_t i = 0; i < *n; ++i) (*numbers)[i] = plan->cases[first + i].number;
  PetscFunctionReturn(PETSC_SUCCESS);
}
