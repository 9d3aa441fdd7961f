/* Robustness of the process against its environment (closed streams, pipes without reader, closed terminals, resource limits, crashes), and execution
 * of shell commands. main calls the process_ functions. */
#ifndef SS_CORE_PROCESS_H
#define SS_CORE_PROCESS_H
#include <stdbool.h>
#include "core/text.h"

/* Open /dev/null for each of standard input, output and error that is closed. Otherwise the next file opened, for example a checkpoint, would get this
 * descriptor and receive all messages. Also record whether SIGHUP is ignored (nohup). Call first in main. */
void process_secure_streams(void);
/* Ignore SIGPIPE (a pipe without reader) and SIGXFSZ (file size limit), so that the write returns an error instead. Ignore SIGHUP if it was ignored at
 * the start. Call after libraries have installed their handlers. */
void process_ignore_signals(void);
bool process_ignores_hangup(void); /* whether SIGHUP was ignored at the start of the program */
/* Install a crash handler that prints one line and lets the signal end the process. It calls only async-signal-safe functions. PETSc's crash handler
 * allocates memory and calls MPI; after a crash inside malloc it would deadlock. Call after PetscInitialize. */
void process_die_of_crashes(void);
/* Whether standard output has been written completely. A pipe closed by its reader is not a failure. *error: errno of the failure. */
bool process_output_is_whole(int *error);
/* Whether the address space limit (ulimit -v) is large enough to start MPI and PETSc; otherwise they would abort the process. */
bool process_has_room(void);
/* Whether the stacks of the process and of its threads are large enough. A limit of the process below the need is raised where the hard limit permits;
 * then *is_raised = true, and threads get larger stacks only after the program has executed itself again. If false: message [size] with the remedy. */
bool process_has_stack(bool *is_raised, size_t size, char *message);
/* Request that the process exits without the clean-up functions of libraries. Called when the clean-up of a library would crash. */
void process_skip_clean_up(void);
bool process_skips_clean_up(void); /* whether this was requested */

/* Append the arguments of this process (without the name of the program), as words of a shell, each after a blank. Appends nothing without /proc. */
void process_append_arguments(text_buffer *b);
/* Append a word to a shell command, in quotes if it contains special characters. */
void shell_append_word(text_buffer *b, const char *word);
/* Run a shell command and wait for its end. *code is its exit code; -1: killed or not started. *output is its standard output, never NULL;
 * memory_free(*output). Standard error is part of it only if the command redirects it. */
PetscErrorCode shell_run(const char *command, int *code, char **output);
/* Truncate a text after its first line. */
void shell_first_line(char *text);
#endif
