/* The process and its surroundings: streams that are closed, readers that have gone, a terminal that hangs up, limits that are hit. None of
 * them may cost a run its night. */
#ifndef SS_CORE_PROCESS_H
#define SS_CORE_PROCESS_H
#include <stdbool.h>
#include "core/text.h"

/* First thing in main: where standard input, output or error is closed, it becomes /dev/null. Else the next file opened, a checkpoint
 * perhaps, would get its number, and every message would be written into it. Remembers whether SIGHUP came ignored (nohup). */
void process_secure_streams(void);
/* After libraries have installed handlers of their own: a log pipe whose reader has gone (SIGPIPE) and the limit of a file's size
 * (SIGXFSZ) become errors of the write concerned; SIGHUP stays ignored where it was. */
void process_ignore_signals(void);
bool process_ignores_hangup(void);
/* After PetscInitialize, whose handler of crashes allocates memory and calls MPI: after a crash inside malloc it waits for itself for ever. The
 * process says in one line that it crashed, and dies of the signal. Only write() and its like are called. */
void process_die_of_crashes(void);
/* Has all of standard output been written? A reader that went away had enough: that is no failure. *error: errno of the failure. */
bool process_output_is_whole(int *error);
/* Where the memory of a process is limited (ulimit -v): is there room to start MPI and PETSc, which end the process in ways of their own when
 * there is not? */
bool process_has_room(void);
/* A library is left in a state over which its own clean-up would crash: the process is to end without it. */
void process_skip_clean_up(void);
bool process_skips_clean_up(void);

/* Commands of the machine, run through its shell. */

/* Append a word so that a shell reads it back as it is: quoted where it has to be. */
PetscErrorCode shell_append_word(text_buffer *b, const char *word);
/* Run a command: *code is its exit code (-1: it was killed, or could not be run), *output what it says (standard error is part of it only where the
 * command says so), never NULL; memory_free(*output). */
PetscErrorCode shell_run(const char *command, int *code, char **output);
/* The first line of a text ends where the text ends now. */
void shell_first_line(char *text);
#endif
