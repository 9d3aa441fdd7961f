/* The table of commands, help, parsing of the command line and execution. */
#include "app/command/command.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "core/diagnostics.h"
#include "core/log.h"
#include "core/process.h"
#include "core/stop.h"
#include "core/team.h"
#include "core/version.h"
#include "io/library_versions.h"
#include "app/run/allocation.h"

/* --- the commands ------------------------------------------------------------------------------------------------- */

extern const command command_run_entry, command_resume_entry, command_check_entry, command_info_entry, command_diff_entry,
    command_render_entry, command_schema_entry, command_completion_entry, command_manual_entry;
extern const command command_friction_entry;
extern const command command_report_entry, command_sweep_report_entry;
extern const command command_sweep_entry, command_sweep_run_entry, command_sweep_status_entry, command_sweep_retry_entry,
    command_sweep_gather_entry;

/* In the order of the help. Actions (names of two words) follow their command. */
static const command *const commands[] = {&command_run_entry,          &command_resume_entry,      &command_check_entry,
                                          &command_info_entry,         &command_diff_entry,        &command_render_entry,
                                          &command_report_entry,       &command_sweep_entry,       &command_sweep_run_entry,
                                          &command_sweep_status_entry, &command_sweep_retry_entry, &command_sweep_gather_entry,
                                          &command_sweep_report_entry, &command_friction_entry,    &command_schema_entry,
                                          &command_completion_entry,   &command_manual_entry,      NULL};

/* --- help --------------------------------------------------------------------------------------------------------- */

static const command_option *find_option(const command_option *options, const char *text, size_t length)
{
  for (const command_option *o = options; o && o->name; ++o)
    if (strlen(o->name) == length && strncmp(o->name, text, length) == 0) return o;
  return NULL;
}

static void print_options(const command_option *options)
{
  for (const command_option *o = options; o && o->name; ++o) {
    char left[256];
    snprintf(left, sizeof left, "%s%s%s", o->name, o->argument ? " " : "", o->argument ? o->argument : "");
    printf("  %-24s %s%s\n", left, o->help, o->is_repeatable ? " (repeatable)" : "");
  }
}

static void print_actions(const char *name, bool is_usage)
{
  bool any = false;
  for (const command *const *k = commands; *k; ++k) {
    const char *word = command_action(*k, name);
    if (!word) continue;
    any = true;
    if (is_usage) printf("       stickslip %s %s\n", (*k)->name, (*k)->arguments);
    else printf("  %-24s %s\n", word, (*k)->summary);
  }
  if (any && !is_usage) printf("\nHelp for an action: `stickslip %s ACTION --help`\n\n", name);
}

static bool accepts_petsc_options(const command *c)
{
  return c == &command_run_entry || c == &command_resume_entry || c == &command_check_entry || c == &command_friction_entry;
}

bool command_uses_petsc(const command *c) { return accepts_petsc_options(c) || c == &command_sweep_entry || c == &command_sweep_run_entry; }

static void print_help(const command *c)
{
  if (c) {
    printf("usage: stickslip %s %s [options]%s\n", c->name, c->arguments, accepts_petsc_options(c) ? " [-petsc_options ...]" : "");
    print_actions(c->name, true);
    printf("\n%s\n\n", c->help);
    print_actions(c->name, false);
    print_options(c->options);
    print_options(command_common_options);
    return;
  }
  printf("stickslip %s: batch solver for frictional contact\n\nusage: stickslip COMMAND [arguments]\n\n", version_text());
  for (const command *const *k = commands; *k; ++k)
    if (!command_action(*k, NULL)) printf("  %-12s %s\n", (*k)->name, (*k)->summary);
  printf("\nHelp for a command: `stickslip COMMAND --help`\n\nExit codes:\n");
#define X(name, number, text) printf("  %3d  %s\n", number, text);
  EXIT_CODE_TABLE(X)
#undef X
}

/* The first line can be parsed by programs; the others help in error reports. */
static void print_version(void)
{
  char text[4096];
  printf("stickslip %s\n", version_text());
  version_describe(sizeof text, text);
  printf("%s", text);
  library_versions(sizeof text, text);
  printf("%s\n", text);
}

static const command *find_action(const command *c, const char *word)
{
  for (const command *const *k = commands; c && word && *k; ++k) {
    const char *action = command_action(*k, c->name);
    if (action && strcmp(action, word) == 0) return *k;
  }
  return NULL;
}

/* Suggests the action of `c` with the most similar name. */
static void suggest_action(const command *c, const char *word)
{
  const char *names[64];
  int         n = 0;
  for (const command *const *k = commands; *k && n < 64; ++k) {
    const char *action = command_action(*k, c->name);
    if (action) names[n++] = action;
  }
  const char *nearest = diagnostics_nearest(word, n, names);
  if (nearest) fprintf(stderr, "stickslip %s %s: did you mean \"%s %s\"?\n", c->name, word, c->name, nearest);
}

static const command *find_command(const char *name)
{
  const char *names[64];
  int         n = 0;
  for (const command *const *k = commands; *k; ++k) {
    if (command_action(*k, NULL)) continue;
    if (strcmp((*k)->name, name) == 0) return *k;
    names[n++] = (*k)->name;
  }
  const char *nearest = diagnostics_nearest(name, n, names);
  fprintf(stderr, "stickslip: unknown command \"%s\"%s%s%s; `stickslip --help` lists the commands\n", name,
          nearest ? "; did you mean \"" : "", nearest ? nearest : "", nearest ? "\"?" : "");
  return NULL;
}

/* Parses one --option with its value, given as "=value" or as the next word. */
static bool parse_option(const command *c, int argc, char **argv, int *i, command_line *line)
{
  const char           *text   = argv[*i];
  const char           *equals = strchr(text, '=');
  const size_t          length = equals ? (size_t)(equals - text) : strlen(text);
  const command_option *o      = find_option(c->options, text, length);
  if (!o) o = find_option(command_common_options, text, length);
  if (!o) {
    fprintf(stderr, "stickslip %s: unknown option %.*s; `stickslip %s --help` lists the options\n", c->name, (int)length, text, c->name);
    return false;
  }
  if (!o->argument && equals) {
    fprintf(stderr, "stickslip %s: option %s has no value\n", c->name, o->name);
    return false;
  }
  if (o->argument && !equals && *i + 1 >= argc) {
    fprintf(stderr, "stickslip %s: option %s requires a value: %s\n", c->name, o->name, o->argument);
    return false;
  }
  if (line->n_options >= COMMAND_MAX_VALUES) {
    fprintf(stderr, "stickslip: more than %d options\n", COMMAND_MAX_VALUES);
    return false;
  }
  line->option[line->n_options]  = o;
  line->value[line->n_options++] = o->argument ? (equals ? equals + 1 : argv[++*i]) : NULL;
  return true;
}

/* Options that PETSc reads when it starts. They observe the program and do not change results, so they are not part of the job. */
static bool is_process_option(const char *name)
{
  static const char *const names[] = {"-log_view",     "-log_trace",    "-options_left",      "-options_view",
                                      "-info",         "-memory_view",  "-malloc_view",       "-malloc_dump",
                                      "-malloc_debug", "-objects_dump", "-start_in_debugger", "-on_error_attach_debugger",
                                      "-fp_trap"};
  for (size_t k = 0; k < sizeof names / sizeof *names; ++k)
    if (strcmp(name, names[k]) == 0) return true;
  return false;
}

/* Record an option of PETSc as --set solver.petsc.NAME="VALUE", so that it is checked and becomes part of the job. */
static bool add_petsc_option(const command *c, const char *name, const char *value, command_line *line)
{
  const command_option *set = find_option(c->options, "--set", 5);
  if (!accepts_petsc_options(c)) {
    fprintf(stderr, "stickslip %s: unknown option %s; `stickslip %s --help` lists the options\n", c->name, name, c->name);
    return false;
  }
  const size_t used = line->petsc_size, room = sizeof line->petsc - used;
  const int    n = value ? snprintf(line->petsc + used, room, "solver.petsc.%s=\"%s\"", name + 1, value)
                         : snprintf(line->petsc + used, room, "solver.petsc.%s=~", name + 1);
  if (n < 0 || (size_t)n >= room || line->n_options >= COMMAND_MAX_VALUES || (value && strpbrk(value, "\"\\"))) {
    fprintf(stderr, "stickslip %s: option %s: too long, or its value contains quotes; use solver.petsc in the job\n", c->name, name);
    return false;
  }
  line->option[line->n_options]  = set;
  line->value[line->n_options++] = line->petsc + used;
  line->petsc_size += (size_t)n + 1;
  return true;
}

static exit_code execute_forked(int argc, char **argv);

const command *command_parse(int argc, char **argv, command_line *line, int *petsc_argc, char **petsc_argv, exit_code *code)
{
  memset(line, 0, sizeof *line);
  line->commands = commands;
  line->execute  = execute_forked;
  *code          = SS_EXIT_BAD_INPUT;
  *petsc_argc    = 0;
  petsc_argv[0]  = argv[0];
  *petsc_argc    = 1;
  if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
    const command *about  = argc > 2 ? find_command(argv[2]) : NULL;
    const command *action = argc > 3 ? find_action(about, argv[3]) : NULL;
    if (action) about = action;
    if (argc <= 2 || about) {
      print_help(about);
      *code = argc < 2 ? SS_EXIT_BAD_INPUT : SS_EXIT_OK;
    }
    return NULL;
  }
  if (strcmp(argv[1], "--version") == 0) {
    print_version();
    *code = SS_EXIT_OK;
    return NULL;
  }
  const command *c      = find_command(argv[1]);
  const command *action = find_action(c, argc > 2 ? argv[2] : NULL);
  if (action) c = action;
  if (!c) return NULL;
  for (int i = action ? 3 : 2; i < argc; ++i) {
    const char *a = argv[i];
    if ((strncmp(a, "--", 2) == 0 && a[2]) || find_option(c->options, a, strlen(a))) {
      if (!parse_option(c, argc, argv, &i, line)) return NULL;
    } else if (a[0] == '-' && a[1] && !strchr("0123456789.", a[1])) {
      /* option of PETSc, and its value if the next word is not an option; -1e-3 is a value */
      const bool  has_value = i + 1 < argc && (argv[i + 1][0] != '-' || strchr("0123456789.", argv[i + 1][1]));
      const char *value     = has_value ? argv[++i] : NULL;
      if (is_process_option(a) || c == &command_friction_entry) {
        petsc_argv[(*petsc_argc)++] = (char *)a;
        if (value) petsc_argv[(*petsc_argc)++] = (char *)value;
      } else if (!add_petsc_option(c, a, value, line)) return NULL;
    } else if (line->n_positional == COMMAND_MAX_VALUES) {
      fprintf(stderr, "stickslip %s: more than %d arguments; call it several times\n", c->name, COMMAND_MAX_VALUES);
      return NULL;
    } else {
      line->positional[line->n_positional++] = a;
    }
  }
  if (command_value(line, "--help") || command_value(line, "--version")) {
    if (command_value(line, "--help")) print_help(c);
    else print_version();
    *code = SS_EXIT_OK;
    return NULL;
  }
  if (line->n_positional < c->min_positional || line->n_positional > c->max_positional) {
    if (line->n_positional > c->max_positional) suggest_action(c, line->positional[0]);
    fprintf(stderr, "usage: stickslip %s %s [options]\nHelp: `stickslip %s --help`\n", c->name, c->arguments, c->name);
    return NULL;
  }
  return c;
}

/* --- execution ---------------------------------------------------------------------------------------------------- */

bool command_threads(const command_line *line, int64_t *n)
{
  const char *omp = getenv("OMP_NUM_THREADS");
  allocation  given;
  allocation_read(&given);
  return command_integer(line, "--threads", 1, 4096, omp ? strtoll(omp, NULL, 10) : given.cores, n);
}

const char *command_places(const command *c, int64_t threads)
{
  allocation given;
  allocation_read(&given);
  return c == &command_run_entry || c == &command_resume_entry ? allocation_places(&given, threads) : NULL;
}

/* Commands such as schema only print: if stdout could not be written (full disk), the command has failed. */
static exit_code check_output(exit_code code)
{
  int error;
  if (process_output_is_whole(&error) || code != SS_EXIT_OK) return code;
  fprintf(stderr, "stickslip: cannot write the output: %s\n", strerror(error));
  return SS_EXIT_ENVIRONMENT;
}

/* Warn of options of PETSc on the command line of `friction` that no solver has read; those of runs are checked before. */
static PetscErrorCode report_unread_options(void)
{
  PetscInt n;
  char   **names, **values, text[256];
  PetscFunctionBegin;
  PetscCall(PetscOptionsLeftGet(NULL, &n, &names, &values));
  for (PetscInt i = 0; i < n; ++i) {
    snprintf(text, sizeof text, "-%s", names[i]);
    if (!is_process_option(text)) log_warn("option %s: no solver has read it; docs/reference/petsc.md lists the options", text);
  }
  PetscCall(PetscOptionsLeftRestore(NULL, &n, &names, &values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

exit_code command_execute(const command *c, command_line *line, int64_t threads)
{
  const bool is_verbose = command_value(line, "--verbose");
  exit_code  code       = SS_EXIT_OK;
  log_open(command_value(line, "--quiet"), is_verbose);
  team_set_threads((int)threads);
  stop_install();
  line->comm           = PETSC_COMM_SELF; /* each process is a separate run */
  PetscErrorCode error = c->run(line, &code);
  if (!error && c == &command_friction_entry) error = report_unread_options();
  if (error) log_record_text("stickslip: %s\n", error_message());
  log_record_end();
  if (error) code = error_report(stderr, error, is_verbose);
  return check_output(code);
}

/* Executes a command line in a process forked from one that has initialised MPI and PETSc but has no OpenMP threads; this saves
 * the 50 ms of initialisation. argv as for main, without PETSc options. The caller must end with _exit(), because exit handlers
 * belong to the parent. */
static exit_code execute_forked(int argc, char **argv)
{
  static command_line line;
  exit_code           code;
  int                 n_petsc;
  int64_t             threads;
  char              **petsc = calloc((size_t)argc + 1, sizeof *petsc);
  if (!petsc) return SS_EXIT_ENVIRONMENT;
  const command *c = command_parse(argc, argv, &line, &n_petsc, petsc, &code);
  free(petsc);
  if (!c || !command_threads(&line, &threads)) return SS_EXIT_BAD_INPUT;
  stop_reset(); /* signals that the parent has received do not apply to this process */
  code = command_execute(c, &line, threads);
  if (process_skips_clean_up()) return code;
  PetscBeganMPI = PETSC_FALSE; /* MPI's progress thread exists only in the parent; MPI_Finalize would wait for it forever */
  if (PetscFinalize() && code == SS_EXIT_OK) code = SS_EXIT_ENVIRONMENT;
  return code;
}
