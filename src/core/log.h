/* Log messages on stderr. On a terminal, messages are plain lines, and one progress line is rewritten in place. Otherwise (batch log) every line has a
 * time stamp, and progress is a normal line, at most one per interval (log_interval).
 *
 * A record is a second copy of all messages in the format of a batch log, independent of quiet: log.txt of a run. Messages before its file is known are
 * kept in memory.
 *
 * Call from serial code only. Before log_open the settings are: not quiet, verbosity 0. */
#ifndef SS_CORE_LOG_H
#define SS_CORE_LOG_H
#include <stdbool.h>
#include <stdio.h>

/* Set what is printed. quiet: warnings only. verbosity 0: also info and progress; 1 or more (-v): also log_debug. */
void log_open(bool quiet, int verbosity);
/* Write to another stream (borrowed; NULL: stderr), in the format of a terminal or of a batch log. log_open detects the format for stderr. */
void log_redirect(FILE *out, bool is_terminal);
/* Seconds between progress lines in a batch log (default 30). On a terminal there are at most ten per second. */
void log_interval(double seconds);
int  log_verbosity(void); /* -1: quiet */

void log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));  /* adds "warning: " */
void log_alert(const char *format, ...) __attribute__((format(printf, 1, 2))); /* also if quiet; red on a terminal */
void log_debug(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* End of progress: print the latest progress line if the interval has suppressed it, and a line break. Call after the time loop. */
void log_progress_end(void);
/* Forget the latest progress line, in a forked process: it is that of the parent. */
void log_progress_forget(void);

/* Begin a record, kept in memory. */
void log_record_begin(void);
/* Write the kept messages to `out` and continue the record there; takes ownership. NULL: end the record and drop its kept messages. */
void log_record_to(FILE *out);
/* Add a line with a time stamp to the record only, or lines without. */
void log_record_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_record_text(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_record_end(void);
#endif
