/* Log messages on stderr. On a terminal: plain lines, and one progress line that is rewritten in place. In a batch log: every line has a time stamp,
 * and progress is a normal line, at most one per log_interval seconds.
 *
 * Serial code only. Before log_open: not quiet, verbosity 0. */
#ifndef SS_CORE_LOG_H
#define SS_CORE_LOG_H
#include <stdbool.h>
#include <stdio.h>

/* quiet: warnings only. verbosity 0: info and progress, 1 or more (-v): also log_debug. */
void log_open(bool quiet, int verbosity);
/* Write to another stream (borrowed; NULL: stderr), in the format for a terminal or for a file. log_open determines this for stderr itself. */
void log_redirect(FILE *out, bool is_terminal);
/* Seconds between progress lines in a batch log (default 30). On a terminal there are at most ten per second. */
void log_interval(double seconds);
int  log_verbosity(void); /* -1 when quiet */

void log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_warn(const char *format, ...) __attribute__((format(printf, 1, 2))); /* adds "warning: " */
void log_debug(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Print the latest progress line if it has been withheld, and end the line: call after the loop. */
void log_progress_end(void);
#endif
