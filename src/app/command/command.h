/* The commands of the program: one table that dispatch, --help, the man page and shell completion are made from. A command line from its
 * words to its exit code. Called by main and, for the cases of a sweep, in forked processes. */
#ifndef SS_APP_COMMAND_COMMAND_H
#define SS_APP_COMMAND_COMMAND_H
#include "app/command/command_line.h"

/* Parse argv[1..]: picks the command, fills the line; what belongs to PETSc (single dash) goes to petsc_argv.
 * Returns NULL after printing why, or after --help/--version (then *code = 0). */
const command *command_parse(int argc, char **argv, command_line *line, int *petsc_argc, char **petsc_argv, exit_code *code);
/* OpenMP threads that it may use: the option, else OMP_NUM_THREADS, else what the batch system gave, else 0: all there are; false after
 * saying what is wrong with --threads. */
bool command_threads(const command_line *line, int64_t *n);
/* OMP_PLACES for it, or NULL: see allocation_places. */
const char *command_places(const command *c, int64_t threads);
/* Open the log, set threads and signals, run the command, report its error. */
exit_code command_execute(const command *c, command_line *line, int64_t threads);
#endif
