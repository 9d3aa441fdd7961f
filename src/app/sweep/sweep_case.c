#define _GNU_SOURCE /* sched_setaffinity */
#include "app/sweep/sweep_case.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "core/version.h"
#include "io/file.h"
#include "io/sealed_file.h"
#include "app/command/command_execute.h"
#include "app/run/run_result.h"

/* How a line of the log begins that the program prints as it fails; how PETSc speaks of a crash; the line with which a case starts. */
static const char OUR_MARK[] = "stickslip: ", CRASH_MARK[] = "Caught signal number", START_MARK[] = ": stickslip run ";

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
  const exit_code code = command_execute_forked(w->n, (char **)w->word);
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

PetscErrorCode sweep_case_start(const sweep_plan *plan, const sweep_case *c, const sweep_case_options *o, sweep_child *child)
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

/* Without time stamp. */
static char *line_text(char *line)
{
  int stamp = 0;
  if (sscanf(line, "%*4d-%*2d-%*2d %*2d:%*2d:%*2d %n", &stamp) < 0) stamp = 0;
  return line + stamp;
}

void sweep_case_last_words(const char *dir, int64_t number, size_t size, char *words)
{
  char folder[PATH_SIZE], path[PATH_SIZE + 16], tail[8192], *rest = tail;
  bool is_ours = false;
  words[0] = 0;
  sweep_folder_case(dir, number, sizeof folder, folder);
  snprintf(path, sizeof path, "%s/log.txt", folder);
  FILE *in = fopen(path, "re");
  if (!in) return;
  if (fseek(in, -(long)(sizeof tail - 1), SEEK_END)) rewind(in);
  tail[fread(tail, 1, sizeof tail - 1, in)] = 0;
  fclose(in);
  for (char *line; (line = strsep(&rest, "\n"));) {
    const char *text = line_text(line);
    if (!*text) continue;
    if (strstr(text, START_MARK)) { /* what came before is of an earlier start */
      words[0] = 0;
      is_ours  = false;
      continue;
    }
    const char *message = strstr(text, CRASH_MARK);
    if (!strncmp(text, OUR_MARK, sizeof OUR_MARK - 1)) message = text + sizeof OUR_MARK - 1;
    if (message || !is_ours) snprintf(words, size, "%s", message ? message : text);
    is_ours |= message != NULL;
  }
}

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
  sweep_case_last_words(dir, number, sizeof words, words);
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

PetscErrorCode sweep_case_end(const sweep_plan *plan, const sweep_case *c, const char *dir, int wait_status, sweep_child *child,
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
