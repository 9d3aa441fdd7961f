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

/* One number of /sys/devices/system/cpu/cpuN/topology; `fallback` where there is none. */
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

/* The process may use all places, though its first thread is bound to the first of them. */
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
    *c = (sweep_cpu){i, topology_number(i, "physical_package_id", 0), topology_number(i, "core_id", i), 0};
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
  const int64_t n_wanted = (int64_t)n_slots * per_slot;
  qsort(cpus, (size_t)n, sizeof *cpus, n_wanted <= n_cores ? by_thread : by_core);
  return n_wanted <= n;
}

/* --- a case as a process ------------------------------------------------------------------------------------------ */

typedef struct {
  const char *dir;       /* of the sweep */
  int         threads;   /* of OpenMP */
  int         n_cpus;    /* to be bound to these; 0: wherever the kernel likes */
  int         cpu[64];   /* [n_cpus]; more threads than that are not bound */
  bool        has_picture;
  case_executor *execute; /* of a forked case */
  bool        is_fresh;  /* a new start of the program; else a fork of this process, which has started MPI and PETSc already */
} sweep_case_options;

/* A case under way. The kernel's lock on its log.txt decides between sweeps who runs it: it is held here and by the case itself, so
 * that it outlives either of them. */
typedef struct {
  pid_t pid; /* 0: none */
  int   log;
} sweep_child;

#define FLUSHES_AFTER 5.0 /* s: what a power cut may cost a case that has only begun */
enum { PATH_SIZE = 4300, MAX_WORDS = 2 * SWEEP_MAX_NAMES + 32 };

/* --- the command line ------------------------------------------------------------------------------------------------ */

typedef struct {
  int   n;
  char *word[MAX_WORDS];
  char  dir[PATH_SIZE], threads[16];
} case_words;

static void add(case_words *w, const char *word)
{
  if (w->n + 1 < MAX_WORDS) w->word[w->n++] = (char *)word;
}

static void fill_words(const sweep_plan *plan, const sweep_case *c, const sweep_case_options *o, case_words *w)
{
  memset(w, 0, sizeof *w);
  sweep_folder_case(o->dir, c->number, sizeof w->dir, w->dir);
  snprintf(w->threads, sizeof w->threads, "%d", o->threads);
  add(w, "stickslip"), add(w, "run"), add(w, plan->base);
  for (int i = 0; i < c->n_overrides; ++i) add(w, "--set"), add(w, c->overrides[i]);
  add(w, "--out"), add(w, w->dir), add(w, "--continue");
  add(w, "--threads"), add(w, w->threads);
  if (!o->has_picture) add(w, "--no-picture");
}

/* As one would type it. */
static void log_words(int fd, const case_words *w)
{
  char         stamp[32];
  const time_t now = time(NULL);
  struct tm    t;
  strftime(stamp, sizeof stamp, "%Y-%m-%d %H:%M:%S", localtime_r(&now, &t));
  dprintf(fd, "%s %s:", stamp, version_text());
  for (int i = 0; i < w->n; ++i) {
    const bool is_plain = strspn(w->word[i], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+./=:,") == strlen(w->word[i]);
    dprintf(fd, is_plain ? " %s" : " '%s'", w->word[i]);
  }
  dprintf(fd, "\n");
}

/* --- its process ----------------------------------------------------------------------------------------------------- */

static void bind_to(const sweep_case_options *o)
{
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int i = 0; i < o->n_cpus; ++i) CPU_SET(o->cpu[i], &set);
  if (o->n_cpus > 0) (void)sched_setaffinity(0, sizeof set, &set);
}

/* The kernel kills the largest process when memory is out: let it be a case, never the sweep that would continue the others. */
static void volunteer_for_oom(void)
{
  const int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  (void)!write(fd, "300", 3);
  close(fd);
}

static void forget_handlers(void)
{
  const int numbers[] = {SIGCHLD, SIGINT, SIGTERM, SIGUSR1, SIGUSR2};
  sigset_t  none;
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i) signal(numbers[i], SIG_DFL);
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
}

/* A case shorter than FLUSHES_AFTER: the newest checkpoint and the result reach the disk now, the rest when the sweep ends. */
static PetscErrorCode flush_end(const char *folder)
{
  char path[PATH_SIZE + 16];

  PetscFunctionBegin;
  if (!flush_is_put_off()) PetscFunctionReturn(PETSC_SUCCESS);
  snprintf(path, sizeof path, "%s/result.yaml", folder);
  PetscCall(flush_later(path, true));
  PetscCall(flush_now(true));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* In the child. If the sweep dies the case stops as if asked to: with a checkpoint, to be resumed. */
static void become(const case_words *w, const sweep_case_options *o, int log, pid_t parent) __attribute__((noreturn));
static void become(const case_words *w, const sweep_case_options *o, int log, pid_t parent)
{
  setpgid(0, 0);
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (nothing >= 0) dup2(nothing, STDIN_FILENO);
  dup2(log, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(SS_EXIT_REQUEUE);
  volunteer_for_oom();
  bind_to(o);
  forget_handlers();
  if (o->is_fresh) {
    char          path[4096]; /* by its real name, or process lists would call it "exe" */
    const ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    path[n > 0 ? n : 0] = 0;
    execv(path, w->word);
    dprintf(STDERR_FILENO, "stickslip: cannot start itself again: %s\n", strerror(errno));
    _exit(SS_EXIT_ENVIRONMENT);
  }
  flush_put_off(FLUSHES_AFTER);
  const exit_code code = o->execute(w->n, (char **)w->word);
  fflush(NULL);
  _exit((int)(flush_end(w->dir) && code == SS_EXIT_OK ? SS_EXIT_ENVIRONMENT : code));
}

/* Its log, locked; -1 and no error if another process holds it. */
static PetscErrorCode open_log(const char *dir, int64_t number, int *fd)
{
  char folder[PATH_SIZE], path[PATH_SIZE + 16];

  PetscFunctionBegin;
  sweep_folder_case(dir, number, sizeof folder, folder);
  PetscCall(file_make_directory(folder));
  snprintf(path, sizeof path, "%s/log.txt", folder);
  *fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  PetscCheck(*fd >= 0, PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "cannot write %s: %s", path, strerror(errno));
  /* Where the file system knows no locks, run.lock alone decides: the second one is refused a little later. */
  if (flock(*fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) {
    close(*fd);
    *fd = -1;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode start(const sweep_plan *plan, const sweep_case *c, const sweep_case_options *o, int log, pid_t *pid)
{
  char       why[256];
  case_state state;
  sigset_t   all, before;
  static case_words words;

  PetscFunctionBegin;
  PetscCall(sweep_folder_state(o->dir, c->number, &state, why, sizeof why));
  if (state != CASE_WAITING && state != CASE_STOPPED) PetscFunctionReturn(PETSC_SUCCESS);
  fill_words(plan, c, o, &words);
  log_words(log, &words);
  fflush(NULL); /* or the child would print it a second time */
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before); /* until the child has dropped our handlers */
  const pid_t parent = getpid();
  *pid               = fork();
  if (*pid == 0) become(&words, o, log, parent);
  const int error = errno;
  sigprocmask(SIG_SETMASK, &before, NULL);
  PetscCheck(*pid > 0, PETSC_COMM_SELF, PETSC_ERR_SYS, "cannot start a process for case %lld: %s", (long long)c->number, strerror(error));
  setpgid(*pid, *pid); /* here and there: whoever comes first */
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void close_child(sweep_child *child)
{
  if (child->log >= 0) close(child->log);
  *child = (sweep_child){0, -1};
}

static PetscErrorCode sweep_case_start(const sweep_plan *plan, const sweep_case *c, const sweep_case_options *o, sweep_child *child)
{
  PetscFunctionBegin;
  *child = (sweep_child){0, -1};
  PetscCall(open_log(o->dir, c->number, &child->log));
  if (child->log < 0) PetscFunctionReturn(PETSC_SUCCESS);
  const PetscErrorCode code = start(plan, c, o, child->log, &child->pid);
  if (child->pid <= 0) close_child(child);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- its end --------------------------------------------------------------------------------------------------------- */

/* What the exit says of the case, and in words. */
static case_state judge(const char *dir, int64_t number, int status, int *code, size_t size, char *why)
{
  if (WIFSIGNALED(status)) {
    const int s = WTERMSIG(status);
    *code  = 128 + s;
    snprintf(why, size, "killed by signal %d (%s)%s", s, strsignal(s), s == SIGKILL ? ": by hand, or memory ran out" : "");
    return s == SIGKILL || s == SIGTERM || s == SIGINT || s == SIGUSR1 || s == SIGUSR2 || s == SIGHUP ? CASE_STOPPED : CASE_FAILED;
  }
  *code = WEXITSTATUS(status);
  why[0]     = 0;
  if (*code == SS_EXIT_OK) return CASE_FINISHED;
  if (*code == SS_EXIT_REQUEUE) return CASE_STOPPED;
  char words[512];
  sweep_folder_last_message(dir, number, sizeof words, words);
  snprintf(why, size, "exit code %d%s%s", *code, *words ? ": " : "", words);
  return CASE_FAILED;
}

static void now_text(size_t size, char *text)
{
  const time_t now = time(NULL);
  struct tm    t;
  strftime(text, size, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &t));
}

/* For the case that never came to write one. */
static run_result empty_result(const sweep_plan *plan, const char *now)
{
  return (run_result){.result = RUN_RESULT_FORMAT, .job = plan->name, .program = version_text(), .host = "", .begun = now, .starts = 1};
}

static PetscErrorCode note_end(const sweep_plan *plan, const char *folder, case_state state, int code, size_t size, char *why)
{
  char              now[32];
  const run_result *was = NULL;
  document *owner __attribute__((cleanup(document_destroy))) = NULL;

  PetscFunctionBegin;
  if (run_result_read(folder, &owner, &was)) { /* damaged: written anew */
    error_clear();
    was = NULL;
  }
  if (was && was->status == RUN_FAILED && was->exit_code == code) { /* it has said so itself, and better */
    snprintf(why, size, "%s", was->reason);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  now_text(sizeof now, now);
  run_result r = was ? *was : empty_result(plan, now);
  r.status     = state == CASE_STOPPED ? RUN_STOPPED : RUN_FAILED;
  r.reason     = why;
  r.exit_code  = code;
  r.updated    = now;
  PetscCall(run_result_write(folder, &r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode sweep_case_end(const sweep_plan *plan, const sweep_case *c, const char *dir, int wait_status, sweep_child *child,
                              case_state *state, size_t size, char *why)
{
  char           folder[PATH_SIZE];
  int            exit_number;
  PetscErrorCode code = PETSC_SUCCESS;

  PetscFunctionBegin;
  *state = judge(dir, c->number, wait_status, &exit_number, size, why);
  sweep_folder_case(dir, c->number, sizeof folder, folder);
  if (exit_number != SS_EXIT_OK && exit_number != SS_EXIT_REQUEUE) code = note_end(plan, folder, *state, exit_number, size, why);
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
  int64_t             n_queue, next; /* next: the first that has not been begun here */
  const sweep_case  **queue;
  int64_t            *n_tries;       /* [n_queue] */
  int                 n_slots;
  sweep_slot         *slots;
  sweep_case_options *options;       /* [n_slots] */
  int64_t             n_run, n_running, n_state[CASE_FINISHED + 1];
  double              begun;
  int                 signal; /* that asked to stop, or 0 */
  double              end;    /* of the batch job, on timer_now's clock: INFINITY where it is not known */
} sweep_queue;

/* --- signals --------------------------------------------------------------------------------------------------------- */

/* MPI's thread may be the one that gets a signal: so a handler, and a pipe that the loop waits at. */
static int signal_pipe[2] = {-1, -1};
static const int signals_heard[] = {SIGCHLD, SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGHUP};
enum { N_SIGNALS = sizeof signals_heard / sizeof *signals_heard };

static void on_signal(int number)
{
  const int           error = errno;
  const unsigned char byte  = (unsigned char)number;
  (void)!write(signal_pipe[1], &byte, 1);
  errno = error;
}

static PetscErrorCode listen_to_signals(struct sigaction before[N_SIGNALS])
{
  PetscFunctionBegin;
  PetscCheck(!pipe2(signal_pipe, O_CLOEXEC | O_NONBLOCK), PETSC_COMM_SELF, PETSC_ERR_SYS, "cannot open a pipe: %s", strerror(errno));
  for (int i = 0; i < N_SIGNALS; ++i) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(signals_heard[i], NULL, &before[i]);
    /* nohup: a terminal that closes is nobody's business */
    if (signals_heard[i] != SIGHUP || before[i].sa_handler != SIG_IGN) sigaction(signals_heard[i], &action, NULL);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void stop_listening(const struct sigaction before[N_SIGNALS])
{
  for (int i = 0; i < N_SIGNALS; ++i) sigaction(signals_heard[i], &before[i], NULL);
  for (int i = 0; i < 2; ++i) {
    if (signal_pipe[i] >= 0) close(signal_pipe[i]);
    signal_pipe[i] = -1;
  }
}

/* A second one is passed on as well: it drops the step that is under way, a third one INT ends cases at once (core/stop.h). */
static void pass_on(sweep_queue *q, int number)
{
  if (!q->signal) {
    log_info("signal %d: %lld cases write a checkpoint and stop", number, (long long)q->n_running);
    q->signal = number;
  }
  for (int i = 0; i < q->n_slots; ++i)
    if (q->slots[i].child.pid > 0) kill(-q->slots[i].child.pid, number);
}

/* Sleep until something happens, a second at most. */
static void wait_for_signals(sweep_queue *q)
{
  unsigned char bytes[64];
  struct pollfd in = {.fd = signal_pipe[0], .events = POLLIN};
  if (poll(&in, 1, 1000) <= 0) return;
  const ssize_t n = read(signal_pipe[0], bytes, sizeof bytes);
  for (ssize_t i = 0; i < n; ++i)
    if (bytes[i] != SIGCHLD) pass_on(q, bytes[i]);
}

/* --- the queue ------------------------------------------------------------------------------------------------------- */

static void show_progress(const sweep_queue *q)
{
  const int64_t n_done = q->next - q->n_running, n_left = q->n_queue - n_done;
  const double  wall   = timer_now() - q->begun;
  const int64_t eta    = q->n_run > 0 ? (int64_t)(wall / (double)q->n_run * (double)n_left) : 0;
  log_progress("%lld of %lld cases done, %lld running, %lld failed  ETA %lld:%02lld:%02lld", (long long)n_done, (long long)q->n_queue,
               (long long)q->n_running, (long long)q->n_state[CASE_FAILED], (long long)(eta / 3600), (long long)(eta / 60 % 60),
               (long long)(eta % 60));
}

/* A case begun now would have to leave at once. */
static bool is_late(const sweep_queue *q) { return q->end - timer_now() < 3.0 * ALLOCATION_SPARE; }

/* The next case that is to be run in this slot; none if the queue is empty. */
static PetscErrorCode fill_slot(sweep_queue *q, int i_slot)
{
  PetscFunctionBegin;
  sweep_slot *s = &q->slots[i_slot];
  while (s->child.pid == 0 && q->next < q->n_queue && !q->signal && !is_late(q)) {
    s->i_queue = q->next++;
    s->c       = q->queue[s->i_queue];
    PetscCall(sweep_case_start(q->plan, s->c, &q->options[i_slot], &s->child));
    if (s->child.pid > 0) ++q->n_running, ++q->n_tries[s->i_queue];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* resources.retries: what was killed or stopped by itself gets another try, at once. */
static PetscErrorCode try_again(sweep_queue *q, int i_slot, bool *is_running)
{
  PetscFunctionBegin;
  sweep_slot *s = &q->slots[i_slot];
  *is_running   = false;
  if (q->signal || is_late(q) || q->n_tries[s->i_queue] > q->plan->resources.retries) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(sweep_case_start(q->plan, s->c, &q->options[i_slot], &s->child));
  *is_running = s->child.pid > 0;
  if (*is_running) ++q->n_running, ++q->n_tries[s->i_queue];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode reap(sweep_queue *q)
{
  int status;

  PetscFunctionBegin;
  for (int i = 0; i < q->n_slots; ++i) {
    sweep_slot *s = &q->slots[i];
    case_state  state;
    char        why[1024], words[256];
    bool        goes_on = false;
    if (s->child.pid <= 0 || waitpid(s->child.pid, &status, WNOHANG) != s->child.pid) continue;
    const int64_t number = s->c->number;
    --q->n_running;
    PetscCall(sweep_case_end(q->plan, s->c, q->dir, status, &s->child, &state, sizeof why, why));
    if (state == CASE_FAILED || (state == CASE_STOPPED && !q->signal))
      log_warn("case %lld (%s) %s: %s; see %s/cases/%06lld/log.txt", (long long)number,
               sweep_case_words(q->plan, s->c, sizeof words, words), state == CASE_FAILED ? "failed" : "stopped", why, q->dir, (long long)number);
    if (state == CASE_STOPPED) PetscCall(try_again(q, i, &goes_on));
    if (!goes_on) ++q->n_run, ++q->n_state[state];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a library sets up at its first call, every forked case would set up again: so PETSc makes a solver and HDF5 a file, once, before the
 * first fork. That also finds out early whether the folder can be written at all. */
static PetscErrorCode rehearse(const char *dir)
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

static PetscErrorCode work(sweep_queue *q)
{
  PetscFunctionBegin;
  if (q->n_queue > 0 && !q->options[0].is_fresh) PetscCall(rehearse(q->dir));
  for (;;) {
    PetscCall(reap(q));
    for (int i = 0; i < q->n_slots; ++i)
      if (q->slots[i].child.pid == 0) PetscCall(fill_slot(q, i));
    if (q->n_running == 0) break;
    show_progress(q);
    wait_for_signals(q);
  }
  log_progress_end();
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- before and after ------------------------------------------------------------------------------------------------ */

/* A fork copies the calling thread alone. The idle thread of an MPI that talks to nobody is not missed; that of one with a launcher would be.
 * Threads of OpenMP there are none, because nothing before has run on more than one (sweep commands see to that), unless libgomp was told
 * to bind threads as it was loaded. */
static bool may_fork(void)
{
  return !getenv("OMPI_COMM_WORLD_SIZE") && !getenv("PMIX_RANK") && !getenv("PMI_RANK") && !getenv("OMP_PLACES") && !getenv("OMP_PROC_BIND");
}

static PetscErrorCode make_slots(sweep_queue *q, const sweep_local_options *o)
{
  static sweep_cpu       cpus[SWEEP_CORES_MAX];
  const int              n_found = sweep_cores_find(cpus);
  allocation             given;
  const sweep_resources *r      = &q->plan->resources;
  int64_t                n = o->n_at_once, threads = o->threads > 0 ? o->threads : r->cores;

  PetscFunctionBegin;
  allocation_read(&given);
  const int n_cpus = given.cores > 0 && given.cores < n_found ? (int)given.cores : n_found;
  if (n <= 0) n = r->concurrent > 0 ? r->concurrent : n_cpus;
  if (o->n_at_once <= 0 && threads > 0 && n > n_cpus / threads) n = n_cpus / threads;
  if (n > q->n_queue) n = q->n_queue;
  if (n < 1) n = 1;
  if (threads <= 0) threads = n_cpus / n > 0 ? n_cpus / n : 1;
  q->n_slots          = (int)n;
  /* Fewer than there are: the batch system says how many are ours, but not which. */
  const bool is_bound = n_cpus == n_found && sweep_cores_split(n_cpus, cpus, (int)n, (int)threads);
  if (n * threads > n_cpus)
    log_warn("%lld cases of %lld threads share %d CPUs; -j %lld would give each its own", (long long)n, (long long)threads, n_cpus,
             (long long)(n_cpus / threads > 0 ? n_cpus / threads : 1));
  PetscCall(memory_alloc("sweep slots", n, sizeof *q->slots, &q->slots));
  PetscCall(memory_alloc("sweep slots", n, sizeof *q->options, &q->options));
  const bool is_fresh = o->is_fresh || !may_fork();
  for (int i = 0; i < n; ++i) {
    sweep_case_options *c = &q->options[i];
    *c = (sweep_case_options){.dir = q->dir, .threads = (int)threads, .has_picture = o->has_picture, .execute = o->execute, .is_fresh = is_fresh};
    if (is_bound && threads <= (int64_t)(sizeof c->cpu / sizeof *c->cpu)) c->n_cpus = (int)threads;
    for (int k = 0; k < c->n_cpus; ++k) c->cpu[k] = cpus[i * threads + k].cpu;
  }
  log_debug("%lld cases at a time, %lld threads each%s, %s", (long long)n, (long long)threads, is_bound ? ", on CPUs of their own" : "",
            is_fresh ? "started anew" : "forked");
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
  PetscCall(memory_alloc("sweep queue", n, sizeof *q->queue, &q->queue));
  PetscCall(memory_alloc("sweep queue", n, sizeof *q->n_tries, &q->n_tries));
  for (int64_t i = 0; i < n; ++i) {
    char              why[64];
    case_state        state;
    const sweep_case *c = o->n > 0 ? find_case(q->plan, o->numbers[i]) : &q->plan->cases[i];
    PetscCheck(c, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: has no case %lld; cases.csv lists them", q->dir, (long long)o->numbers[i]);
    PetscCall(sweep_folder_state(q->dir, c->number, &state, why, sizeof why));
    if (state == CASE_WAITING || state == CASE_STOPPED) q->queue[q->n_queue++] = c;
    else ++q->n_state[state];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void destroy_queue(sweep_queue *q)
{
  memory_free(&q->queue);
  memory_free(&q->n_tries);
  memory_free(&q->slots);
  memory_free(&q->options);
  sweep_plan_destroy(&q->plan);
}

static void say_end(const sweep_queue *q, exit_code *code)
{
  const int64_t n_stopped = q->n_state[CASE_STOPPED] + q->n_queue - q->next, n_failed = q->n_state[CASE_FAILED];
  log_info("%s: %lld cases finished, %lld failed, %lld to be continued, %lld run elsewhere; %.1f s%s", q->dir,
           (long long)q->n_state[CASE_FINISHED], (long long)n_failed, (long long)n_stopped, (long long)q->n_state[CASE_RUNNING],
           timer_now() - q->begun, n_failed > 0 ? "; `stickslip sweep status` says why, `sweep retry` tries them again" : "");
  *code = n_stopped > 0 ? SS_EXIT_REQUEUE : n_failed > 0 ? SS_EXIT_STEP_FAILED : SS_EXIT_OK;
}

PetscErrorCode sweep_local(const char *dir, const sweep_local_options *o, exit_code *code)
{
  struct sigaction before[N_SIGNALS];
  sweep_queue q __attribute__((cleanup(destroy_queue))) = {.dir = dir, .begun = timer_now()};

  PetscFunctionBegin;
  team_set_threads(1); /* for what is left to do here; see may_fork */
  PetscCall(sweep_folder_read(dir, &q.plan));
  PetscCall(make_queue(&q, o));
  PetscCall(make_slots(&q, o));
  allocation given;
  allocation_read(&given);
  q.end = timer_now() + allocation_time_left(&given);
  PetscCall(listen_to_signals(before));
  q.signal = stop_signal(); /* while the queue was made */
  PetscErrorCode error = work(&q);
  if (error) { /* ours, not the cases': let them stop */
    pass_on(&q, SIGTERM);
    while (q.n_running > 0 && !reap(&q)) wait_for_signals(&q);
  }
  stop_listening(before);
  if (q.n_run > 0) flush_file_system(dir); /* short cases leave that to us */
  if (o->signal) *o->signal = q.signal;
  PetscCall(error);
  say_end(&q, code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode sweep_task_numbers(const char *dir, int64_t task, int64_t size, int64_t *n, int64_t **numbers)
{
  sweep_plan *plan __attribute__((cleanup(sweep_plan_destroy))) = NULL;

  PetscFunctionBegin;
  PetscCall(sweep_folder_read(dir, &plan));
  if (size <= 0) size = plan->resources.cases_per_task > 0 ? plan->resources.cases_per_task : 1;
  const int64_t first = (task - 1) * size;
  PetscCheck(first < plan->n_cases, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: has no task %lld: %lld cases, %lld a task", dir,
             (long long)task, (long long)plan->n_cases, (long long)size);
  *n = first + size < plan->n_cases ? size : plan->n_cases - first;
  PetscCall(memory_alloc("sweep task", *n, sizeof **numbers, numbers));
  for (int64_t i = 0; i < *n; ++i) (*numbers)[i] = plan->cases[first + i].number;
  PetscFunctionReturn(PETSC_SUCCESS);
}
