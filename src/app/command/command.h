/* The commands of the program: parsing of a command line, execution, exit code.
 * Called by main, and in forked processes for the cases of a sweep. */
#ifndef SS_APP_COMMAND_COMMAND_H
#define SS_APP_COMMAND_COMMAND_H
#include "app/command/command_line.h"

/* Parses argv[1..]: returns the command and fills `line`. Options with a single dash are options of PETSc. Those of solvers
 * of a job become values of --set, so that they are checked and recorded; others are copied to petsc_argv [argc + 1]. Returns NULL
 * after an error message, or after --help or --version (then *code = SS_EXIT_OK). */
const command *command_parse(int argc, char **argv, command_line *line, int *petsc_argc, char **petsc_argv, exit_code *code);
/* Number of OpenMP threads: the option --threads, OMP_NUM_THREADS, the cores of the SLURM task, or 0 (all CPUs), in this order.
 * Prints a message and returns false if --threads is malformed. */
bool command_threads(const command_line *line, int64_t *n);
/* True if the command creates solvers of PETSc. */
bool command_uses_petsc(const command *c);
/* Value of OMP_PLACES for this command, or NULL: see allocation_places. */
const char *command_places(const command *c, int64_t threads);
/* Executes the command: opens the log, sets threads and signal handlers, calls its function and reports its error. */
exit_code command_execute(const command *c, command_line *line, int64_t threads);
#endif
