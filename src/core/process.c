#include "core/process.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
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

bool process_output_is_whole(int *error)
{
  struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};

  errno = 0;
  if (!fflush(stdout) && !ferror(stdout)) return true;
  *error = errno ? errno : EIO; /* an earlier failure's reason is gone */
  return poll(&out, 1, 0) > 0 && out.revents & (POLLERR | POLLHUP);
}

bool process_has_room(void)
{
  const size_t  room = (size_t)192 << 20; /* twice the 64 MB that malloc sets aside for a thread, and what they take themselves */
  struct rlimit limit;

  if (getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur == RLIM_INFINITY) return true;
  void *p = mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return p != MAP_FAILED && !munmap(p, room);
}

void process_skip_clean_up(void) { is_clean_up_skipped = true; }
bool process_skips_clean_up(void) { return is_clean_up_skipped; }
