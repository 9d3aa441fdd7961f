/* Signals and file descriptors of the process, and shell commands (popen), see process.h. */
#include "core/process.h"
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static bool is_hangup_ignored, is_clean_up_skipped;

void process_secure_streams(void)
{
  struct sigaction hangup;

  for (int fd = open("/dev/null", O_RDWR); fd >= 0; fd = open("/dev/null", O_RDWR))
    if (fd > STDERR_FILENO) { /* the lowest free number: all below are open now */
      close(fd);
      break;
    }
  is_hangup_ignored = !sigaction(SIGHUP, NULL, &hangup) && hangup.sa_handler == SIG_IGN;
}

void process_ignore_signals(void)
{
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
  if (is_hangup_ignored) signal(SIGHUP, SIG_IGN);
}

bool process_ignores_hangup(void) { return is_hangup_ignored; }

static void report_crash(int number)
{
  static const char begin[] = "stickslip: crashed (signal ", end[] = "): a bug, please report it; checkpoints written before are good\n";
  char              digits[2] = {(char)('0' + number / 10 % 10), (char)('0' + number % 10)};
  if (write(STDERR_FILENO, begin, sizeof begin - 1) > 0 && write(STDERR_FILENO, digits, sizeof digits) > 0)
    (void)!write(STDERR_FILENO, end, sizeof end - 1);
  raise(number);
}

void process_die_of_crashes(void)
{
  static char      stack[1 << 14]; /* a separate stack, because the crash may be a stack overflow */
  static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS};
  const stack_t    own       = {.ss_sp = stack, .ss_size = sizeof stack};
  struct sigaction action    = {.sa_handler = report_crash, .sa_flags = (int)(SA_ONSTACK | SA_RESETHAND | SA_NODEFER)};
#ifdef __SANITIZE_ADDRESS__
  return; /* the sanitizer's report contains more */
#endif
  sigemptyset(&action.sa_mask);
  sigaltstack(&own, NULL);
  for (size_t i = 0; i < sizeof crashes / sizeof *crashes; ++i) sigaction(crashes[i], &action, NULL);
}

bool process_output_is_whole(int *error)
{
  struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};

  errno = 0;
  if (!fflush(stdout) && !ferror(stdout)) return true;
  *error = errno ? errno : EIO; /* the reason of an earlier failure is not available */
  return poll(&out, 1, 0) > 0 && out.revents & (POLLERR | POLLHUP);
}

bool process_has_room(void)
{
  const size_t  room = (size_t)192 << 20; /* twice the 64 MB that malloc reserves per thread, plus the memory of MPI and PETSc */
  struct rlimit limit;

  if (getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur == RLIM_INFINITY) return true;
  void *p = mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return p != MAP_FAILED && !munmap(p, room);
}

/* Stack in bytes. All tests run with 256 kB and fail with 128 kB (November 2026). */
static const rlim_t LEAST_STACK = (rlim_t)512 << 10, USUAL_STACK = (rlim_t)8 << 20;

/* Bytes of "64K", "1M", "512" (kB), as OpenMP defines OMP_STACKSIZE; INFINITY if the text is not valid, because then libgomp ignores it. */
static double parse_stack_size(const char *text)
{
  char        *end;
  const double value = strtod(text, &end);
  double       unit  = 1024.0;
  if (end == text || !(value > 0.0)) return INFINITY;
  end += strspn(end, " \t");
  switch (*end) {
  case 'b':
  case 'B': unit = 1.0; break;
  case 'm':
  case 'M': unit = 1048576.0; break;
  case 'g':
  case 'G': unit = 1073741824.0; break;
  default: break;
  }
  return unit * value;
}

bool process_has_stack(bool *is_raised, size_t size, char *message)
{
  static const char *const variables[] = {"OMP_STACKSIZE", "GOMP_STACKSIZE"};
  struct rlimit            limit;

  *is_raised = false;
  for (int i = 0; i < 2; ++i) {
    const char *text = getenv(variables[i]);
    if (!text || parse_stack_size(text) >= (double)LEAST_STACK) continue;
    snprintf(message, size, "%s=%.40s is too small for the stacks of threads: at least %d kB are needed; unset it, or set %s=8M",
             variables[i], text, (int)(LEAST_STACK >> 10), variables[i]);
    return false;
  }
  if (getrlimit(RLIMIT_STACK, &limit) || limit.rlim_cur >= LEAST_STACK) return true; /* RLIM_INFINITY is the largest number */
  const rlim_t was = limit.rlim_cur;
  limit.rlim_cur   = limit.rlim_max < USUAL_STACK ? limit.rlim_max : USUAL_STACK;
  *is_raised       = limit.rlim_cur >= LEAST_STACK && !setrlimit(RLIMIT_STACK, &limit);
  if (*is_raised) return true;
  snprintf(message, size, "the stack of %d kB is too small: at least %d kB are needed; raise the limit (ulimit -s 8192)", (int)(was >> 10),
           (int)(LEAST_STACK >> 10));
  return false;
}

void process_skip_clean_up(void) { is_clean_up_skipped = true; }
bool process_skips_clean_up(void) { return is_clean_up_skipped; }

void shell_append_word(text_buffer *b, const char *word)
{
  const char *plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+.,:/=@%";
  if (*word && strspn(word, plain) == strlen(word)) {
    text_put(b, word);
    return;
  }
  text_put(b, "'");
  text_escape(b, word, '\'', "'\\''");
  text_put(b, "'");
}

void process_append_arguments(text_buffer *b)
{
  char  *word     = NULL;
  size_t capacity = 0;
  FILE  *in       = fopen("/proc/self/cmdline", "re");
  for (int i = 0; in && getdelim(&word, &capacity, '\0', in) > 0; ++i) {
    if (i == 0) continue;
    text_put(b, " ");
    shell_append_word(b, word);
  }
  free(word);
  if (in) fclose(in);
}

PetscErrorCode shell_run(const char *command, int *code, char **output)
{
  PetscFunctionBegin;
  char        part[4096];
  text_buffer b  = {0};
  FILE       *in = popen(command, "re");
  *code          = -1;
  text_put(&b, ""); /* a command that prints nothing has the output "" */
  while (in && fgets(part, sizeof part, in)) text_put(&b, part);
  const int status = in ? pclose(in) : -1;
  if (status >= 0 && WIFEXITED(status)) *code = WEXITSTATUS(status);
  PetscCall(text_take(&b, output));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void shell_first_line(char *text) { text[strcspn(text, "\n")] = '\0'; }
