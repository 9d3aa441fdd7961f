/* A command line from its words to its exit code, in a process where PETSc has been started. */
#ifndef SS_APP_COMMAND_COMMAND_EXECUTE_H
#define SS_APP_COMMAND_COMMAND_EXECUTE_H
#include "app/command/command.h"

/* OpenMP threads that it may use: the option, else OMP_NUM_THREADS, else what the batch system gave, else 0: all there are; false after
 * saying what is wrong with --threads. */
bool command_threads(const command_line *line, int64_t *n);
/* OMP_PLACES for it, or NULL: see allocation_places. */
const char *command_places(const command *c, int64_t threads);
/* Open the log, set threads and signals, run the command, report its error. */
exit_code command_execute(const command *c, command_line *line, int64_t threads);
/* The same in a process forked from one that has started everything but threads of OpenMP, to save the child the 50 ms which that takes.
 * argv as for main; no words for PETSc. Leave with _exit() after it: what would be undone at exit() belongs to the parent. */
exit_code command_execute_forked(int argc, char **argv);
#endif
