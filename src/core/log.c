/* Log messages, see log.h. On a terminal the progress line is erased before each message and written again after it. */
#include "core/log.h"
#include "core/timer.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { LINE_SIZE = 1024 };
static const double TERMINAL_INTERVAL = 0.1;

static struct {
  FILE  *out;                                /* NULL: stderr */
  bool   is_terminal, has_line, is_withheld; /* has_line: the terminal shows a progress line */
  int    level;                              /* -1 quiet */
  double interval, last_progress;
  char   progress[LINE_SIZE]; /* the latest, printed or withheld */
} state = {.interval = 30.0, .last_progress = -1e30};

static FILE *stream(void) { return state.out ? state.out : stderr; }

void log_redirect(FILE *out, bool is_terminal)
{
  log_progress_end();
  state.out           = out;
  state.is_terminal   = is_terminal;
  state.last_progress = -1e30;
}

void log_open(bool quiet, int verbosity)
{
  const char *term = getenv("TERM");
  log_redirect(NULL, isatty(STDERR_FILENO) && !(term && strcmp(term, "dumb") == 0));
  state.level = quiet ? -1 : verbosity;
}

void log_interval(double seconds) { state.interval = seconds; }
int  log_verbosity(void) { return state.level; }

static void time_stamp(FILE *out)
{
  char         text[32];
  const time_t now = time(NULL);
  struct tm    local;
  if (localtime_r(&now, &local) && strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &local)) fprintf(out, "%s ", text);
}

/* Width of the terminal: a longer progress line would wrap and could not be rewritten. */
static int terminal_columns(void)
{
  struct winsize size;
  if (ioctl(fileno(stream()), TIOCGWINSZ, &size) == 0 && size.ws_col > 1) return size.ws_col - 1;
  return 79;
}

static void show_progress(void)
{
  FILE *out = stream();
  if (state.is_terminal) {
    fprintf(out, "\r\033[K%.*s", terminal_columns(), state.progress);
    state.has_line = true;
  } else {
    time_stamp(out);
    fprintf(out, "%s\n", state.progress);
  }
  fflush(out);
  state.is_withheld   = false;
  state.last_progress = timer_now();
}

static void write_message(const char *prefix, const char *format, va_list arguments)
{
  FILE *out = stream();
  if (state.has_line) fputs("\r\033[K", out);
  if (!state.is_terminal) time_stamp(out);
  fputs(prefix, out);
  vfprintf(out, format, arguments);
  fputc('\n', out);
  if (state.has_line) fprintf(out, "%.*s", terminal_columns(), state.progress); /* the progress line stays at the bottom */
  fflush(out);
}

static void write_line(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void write_line(const char *format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  write_message("", format, arguments);
  va_end(arguments);
}

void log_info(const char *format, ...)
{
  va_list arguments;
  if (state.level < 0) return;
  va_start(arguments, format);
  write_message("", format, arguments);
  va_end(arguments);
}

void log_warn(const char *format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  write_message("warning: ", format, arguments);
  va_end(arguments);
}

void log_alert(const char *format, ...)
{
  va_list arguments;
  char    line[LINE_SIZE];
  va_start(arguments, format);
  (void)vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  if (state.is_terminal) write_line("\033[31m%s\033[0m", line);
  else write_line("%s", line);
}

void log_debug(const char *format, ...)
{
  va_list arguments;
  if (state.level < 1) return;
  va_start(arguments, format);
  write_message("", format, arguments);
  va_end(arguments);
}

void log_progress(const char *format, ...)
{
  va_list arguments;
  if (state.level < 0) return;
  va_start(arguments, format);
  vsnprintf(state.progress, sizeof state.progress, format, arguments);
  va_end(arguments);
  state.is_withheld = true;
  if (timer_now() - state.last_progress >= (state.is_terminal ? TERMINAL_INTERVAL : state.interval)) show_progress();
}

void log_progress_end(void)
{
  if (state.is_withheld) show_progress();
  if (state.has_line) fputc('\n', stream());
  if (state.has_line) fflush(stream());
  state.has_line = false;
}
