/* A command of the program (name, options, help, function) and the parsed command line that it receives. Each command_*.c
 * defines one or more commands; command.c collects them in a table, from which dispatch, --help, the man pages and shell
 * completion are made. */
#ifndef SS_APP_COMMAND_COMMAND_LINE_H
#define SS_APP_COMMAND_COMMAND_LINE_H
#include "core/error.h"

enum { COMMAND_MAX_VALUES = 256 };

typedef struct {
  const char *name;     /* "--out" */
  const char *argument; /* placeholder of the value, "DIR"; NULL: option without value */
  bool        is_repeatable;
  const char *help;
} command_option;

typedef struct command command;
/* The parsed command line: positional arguments, and pairs (option, value) in the given order. */
typedef struct {
  MPI_Comm              comm; /* set by command_execute: the processes that execute this command together */
  int                   n_positional, n_options;
  const char           *positional[COMMAND_MAX_VALUES];
  const command_option *option[COMMAND_MAX_VALUES];
  const char           *value[COMMAND_MAX_VALUES];
  char                  petsc[8192]; /* options of PETSc as texts of --set, separated by zeros */
  size_t                petsc_size;
  const command *const *commands;              /* all commands of the program, NULL-terminated: for the manual and completion */
  exit_code (*execute)(int argc, char **argv); /* executes another command line, in a process forked from this one */
} command_line;

/* A command whose name has two words, such as "sweep status", is an action of the command with the first word as its name. */
struct command {
  const char           *name, *arguments, *summary, *help;
  int                   min_positional, max_positional;
  const command_option *options; /* the last entry has name == NULL */
  PetscErrorCode (*run)(const command_line *line, exit_code *code);
};

extern const command_option command_common_options[]; /* options of every command */

/* The last given value of an option; "" for an option without value; NULL if the option was not given. */
const char *command_value(const command_line *line, const char *option);
/* Stores all values of a repeatable option in out [COMMAND_MAX_VALUES] and returns their number. */
int command_values(const command_line *line, const char *option, const char **out);
/* Changes of the job by the options --set and --no-warn, as texts "key.path=value" in out [COMMAND_MAX_VALUES]; returns their number. For an unknown
 * code of --no-warn: prints a message with the most similar code on stderr and returns -1. */
int command_overrides(const command_line *line, const char **out);
/* *out: value of an option as an integer in [min, max], or `fallback` if it was not given. For any other value: prints a message on
 * stderr and returns false. */
bool command_integer(const command_line *line, const char *option, int64_t min, int64_t max, int64_t fallback, int64_t *out);
/* The second word of the name of c ("status" of "sweep status") if c is an action of the command `name` ("sweep"; NULL: of any).
 * Otherwise NULL. */
const char *command_action(const command *c, const char *name);
#endif
