/* What a run says on stderr. On a terminal: plain lines and one progress line that is rewritten in place. In a batch log:
 * every line has a time stamp, and progress comes as a plain line, at most one per log_interval seconds.
 *
 * Serial code only. Before log_open: not quiet, verbosity 0. */
#ifndef SS_CORE_LOG_H
#define SS_CORE_LOG_H
#include <stdbool.h>
#include <stdio.h>

/* quiet: warnings only. verbosity 0: info and progress, 1 or more (-v): also log_debug. */
void log_open(bool quiet, int verbosity);
/* Write elsewhere (borrowed; NULL: stderr), as to a terminal or not. log_open asks stderr itself. */
void log_redirect(FILE *out, bool is_terminal);
/* Seconds between progress lines in a batch log; 30 at first. A terminal gets at most ten a second. */
void log_interval(double seconds);
int  log_verbosity(void); /* -1 when quiet */

void log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_warn(const char *format, ...) __attribute__((format(printf, 1, 2))); /* adds "warning: " */
void log_debug(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Show the last progress if it was held back, and end its line: call when the loop is over. */
void log_progress_end(void);
#endif
