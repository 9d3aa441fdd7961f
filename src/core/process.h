/* Robustness of the process against its environment (closed streams, lost readers and terminals, resource limits, crashes), and commands run through
 * the shell. main calls the process_ functions. */
#ifndef SS_CORE_PROCESS_H
#define SS_CORE_PROCESS_H
#include <stdbool.h>
#include "core/text.h"

/* Call first in main. If standard input, output or error is closed, open /dev/null in its place; otherwise the next file opened, perhaps a checkpoint,
 * would get its descriptor and receive all messages. Also stores whether SIGHUP is ignored (nohup). */
void process_secure_streams(void);
/* Call after libraries have installed their handlers. SIGPIPE (a log pipe without reader) and SIGXFSZ (file size limit) are ignored, so that the write
 * fails with an error instead; SIGHUP remains ignored if it was. */
void process_ignore_signals(void);
bool process_ignores_hangup(void);
/* Call after PetscInitialize, whose crash handler allocates memory and calls MPI: after a crash inside malloc it would deadlock. Install a handler that
 * prints one line and lets the signal end the process; it calls only async-signal-safe functions. */
void process_die_of_crashes(void);
/* Whether all of standard output has been written. A reader that closed the pipe is not a failure. *error: errno of the failure. */
bool process_output_is_whole(int *error);
/* Whether an address space limit (ulimit -v) leaves room to start MPI and PETSc; without room they would abort the process. */
bool process_has_room(void);
/* Request that the process exits without the clean-up of libraries, because a library is in a state in which its clean-up would crash. */
void process_skip_clean_up(void);
bool process_skips_clean_up(void);

/* Append a word to a shell command, quoted where necessary. */
void shell_append_word(text_buffer *b, const char *word);
/* Run a shell command. *code is its exit code; -1: killed or not started. *output is its standard output, never NULL; memory_free(*output). Standard
 * error is included only if the command redirects it. */
PetscErrorCode shell_run(const char *command, int *code, char **output);
/* Truncate a text after its first line. */
void shell_first_line(char *text);
#endif
