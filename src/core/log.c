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
  FILE  *record;              /* NULL: none */
  char  *kept;                /* [n_kept] text of a record that has no file yet; free() */
  size_t n_kept;
  bool   is_record_withheld; /* `progress` is not in the record */
  double last_record;        /* time of its last progress line */
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

static void record_progress(void)
{
  if (!state.record) return;
  time_stamp(state.record);
  fprintf(state.record, "%s\n", state.progress);
  fflush(state.record);
  state.is_record_withheld = false;
  state.last_record        = timer_now();
}

static void record_message(const char *prefix, const char *format, va_list arguments)
{
  if (!state.record) return;
  time_stamp(state.record);
  fputs(prefix, state.record);
  vfprintf(state.record, format, arguments);
  fputc('\n', state.record);
  fflush(state.record);
}

static FILE *begin_line(const char *prefix)
{
  FILE *out = stream();
  if (state.has_line) fputs("\r\033[K", out);
  if (!state.is_terminal) time_stamp(out);
  fputs(prefix, out);
  return out;
}

static void end_line(FILE *out)
{
  fputc('\n', out);
  if (state.has_line) fprintf(out, "%.*s", terminal_columns(), state.progress); /* the progress line stays at the bottom */
  fflush(out);
}

static void write_message(const char *prefix, bool is_printed, const char *format, va_list arguments)
{
  va_list again;
  va_copy(again, arguments);
  record_message(prefix, format, again);
  va_end(again);
  if (!is_printed) return;
  FILE *out = begin_line(prefix);
  vfprintf(out, format, arguments);
  end_line(out);
}

void log_info(const char *format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  write_message("", state.level >= 0, format, arguments);
  va_end(arguments);
}

void log_warn(const char *format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  write_message("warning: ", true, format, arguments);
  va_end(arguments);
}

/* Red on a terminal; the record contains the plain text. */
void log_alert(const char *format, ...)
{
  va_list arguments, again;
  char    line[LINE_SIZE];
  va_start(arguments, format);
  va_copy(again, arguments);
  record_message("", format, again);
  va_end(again);
  (void)vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  FILE *out = begin_line("");
  fprintf(out, state.is_terminal ? "\033[31m%s\033[0m" : "%s", line);
  end_line(out);
}

void log_debug(const char *format, ...)
{
  va_list arguments;
  if (state.level < 1) return;
  va_start(arguments, format);
  write_message("", true, format, arguments);
  va_end(arguments);
}

void log_progress(const char *format, ...)
{
  va_list arguments;
  if (state.level < 0 && !state.record) return;
  va_start(arguments, format);
  vsnprintf(state.progress, sizeof state.progress, format, arguments);
  va_end(arguments);
  state.is_record_withheld = state.record != NULL;
  if (state.record && timer_now() - state.last_record >= state.interval) record_progress();
  if (state.level < 0) return;
  state.is_withheld = true;
  if (timer_now() - state.last_progress >= (state.is_terminal ? TERMINAL_INTERVAL : state.interval)) show_progress();
}

void log_progress_end(void)
{
  if (state.is_record_withheld) record_progress();
  if (state.is_withheld) show_progress();
  if (state.has_line) fputc('\n', stream());
  if (state.has_line) fflush(stream());
  state.has_line = false;
}

void log_progress_forget(void) { state.is_withheld = state.has_line = state.is_record_withheld = false; }

void log_record_begin(void)
{
  log_record_end();
  state.record      = open_memstream(&state.kept, &state.n_kept); /* without memory: no record */
  state.last_record = -1e30;
}

static void drop_kept(void)
{
  free(state.kept);
  state.kept   = NULL;
  state.n_kept = 0;
}

void log_record_to(FILE *out)
{
  if (state.record) fclose(state.record);
  if (out && state.kept) fwrite(state.kept, 1, state.n_kept, out);
  if (out) fflush(out);
  drop_kept();
  state.record             = out;
  state.is_record_withheld = state.is_record_withheld && out;
}

void log_record_note(const char *format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  record_message("", format, arguments);
  va_end(arguments);
}

void log_record_text(const char *format, ...)
{
  va_list arguments;
  if (!state.record) return;
  va_start(arguments, format);
  vfprintf(state.record, format, arguments);
  va_end(arguments);
  fflush(state.record);
}

void log_record_end(void)
{
  if (state.is_record_withheld) record_progress();
  if (state.record) fclose(state.record);
  drop_kept();
  state.record             = NULL;
  state.is_record_withheld = false;
}
