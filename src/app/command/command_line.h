/* The commands of the program, one table from which dispatch, --help, the man page and shell completion are read. */
#ifndef SS_APP_COMMAND_COMMAND_LINE_H
#define SS_APP_COMMAND_COMMAND_LINE_H
#include "core/error.h"

enum { COMMAND_MAX_VALUES = 256 };

typedef struct {
  const char *name;     /* "--out" */
  const char *argument; /* "DIR"; NULL: a flag */
  bool        is_repeatable;
  const char *help;
} command_option;

/* What the command line said: positional arguments, and (option, value) in order. */
typedef struct command command;
typedef struct {
  MPI_Comm              comm; /* set by main: the processes that run this command together */
  int                   n_positional, n_options;
  const char           *positional[COMMAND_MAX_VALUES];
  const command_option *option[COMMAND_MAX_VALUES];
  const char           *value[COMMAND_MAX_VALUES];
  const command *const *commands; /* all commands of the program, NULL-terminated: for help, manual and completion */
  exit_code (*execute)(int argc, char **argv); /* executes another command line in a process forked from this one */
} command_line;

/* A name of two words, "sweep status", is an action of the command of its first word: a command of its own in all other respects. */
struct command {
  const char           *name, *arguments, *summary, *help;
  int                   min_positional, max_positional;
  const command_option *options; /* ends with name == NULL */
  PetscErrorCode (*run)(const command_line *line, exit_code *code);
};

extern const command_option command_common_options[]; /* understood by every command */

const char *command_value(const command_line *line, const char *option); /* last given, or NULL */
/* All values of a repeatable option: their number; values into out. */
int  command_values(const command_line *line, const char *option, const char **out);
/* Whole number or real in range, else a message on stderr and false. */
bool command_integer(const command_line *line, const char *option, int64_t min, int64_t max, int64_t fallback, int64_t *out);
/* "status" if c is "sweep status" and `name` is "sweep"; NULL: no action of that command. Of NULL: is it an action at all? */
const char *command_action(const command *c, const char *name);
#endif
