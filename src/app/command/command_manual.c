/* The command manual (man pages). Commands, options, exit codes, keys and files are printed from their tables. The texts on signals
 * and environment variables are in this file. */
#include <string.h>
#include "core/key_table_manual.h"
#include "core/memory.h"
#include "core/text.h"
#include "core/version.h"
#include "app/command/command_line.h"
#include "app/command/command_reference.h"
#include "app/run/run_result.h"

/* --- manual ------------------------------------------------------------------------------------------------------- */

typedef struct {
  const char *name, *text;
} manual_entry;

static const manual_entry signals[] = {
    {"SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU",
     "finish the step, write a checkpoint and exit with code 75. A second SIGTERM or SIGINT abandons the current step "
     "and saves the state before it. The step is also abandoned if it lasts too long for the 30 seconds between "
     "SIGTERM and SIGKILL. A third SIGINT exits at once; the last checkpoint remains valid."},
    {"SIGHUP", "finish the step, write a checkpoint and exit with code 75; ignored under nohup."},
    {"SIGPIPE, SIGXFSZ", "are reported as errors of the write operation."},
    {"SIGKILL", "loses the steps since the last checkpoint; files are renamed to their final names when they are complete."},
    {"no signal",
     "In a SLURM job a run also writes a checkpoint and exits with code 75 if the remaining time is too short for more steps."},
    {NULL, NULL}};

/* clang-format off */
static const manual_entry environment[] = {
  {"OMP_NUM_THREADS", "number of threads, unless --threads is given"},
  {"SLURM_CPUS_PER_TASK, SLURM_CPUS_ON_NODE, SLURM_NTASKS, SLURM_JOB_NUM_NODES", "number of threads if neither --threads nor OMP_NUM_THREADS is given: the cores of the task"},
  {"SLURM_MEM_PER_NODE, SLURM_MEM_PER_CPU", "memory of the allocation; a warning is logged before it is used up"},
  {"SLURM_JOB_ID, SLURM_JOB_END_TIME, SLURM_RESTART_COUNT", "remaining time of the job, and whether it was requeued"},
  {"SLURM_ARRAY_JOB_ID, SLURM_ARRAY_TASK_ID", "the task of an array that is requeued"},
  {"OMP_PLACES, OMP_PROC_BIND, GOMP_CPU_AFFINITY", "places of threads. If none of them is set, threads are bound to the cores of the task if it has its own cores"},
  {"GOMP_SPINCOUNT, OMP_WAIT_POLICY", "how long waiting threads spin. If neither is set, the program executes itself again with GOMP_SPINCOUNT=10000 "
                                      "(0.35 ms) if each thread has a free core at program start, otherwise 1000; the default would take CPU time from other processes"},
  {"OMPI_COMM_WORLD_SIZE, PMIX_RANK, PMI_RANK", "set by an MPI launcher: MPI then starts with its network. Without a launcher, unnecessary parts of Open MPI are disabled to start faster"},
  {"HDF5_USE_FILE_LOCKING", "set to FALSE by the program unless you set it, because network file systems often do not support locks"},
  {"OPENBLAS_NUM_THREADS", "set to 1 by the program unless you set it, because more threads would change the last bits of sums"},
  {"HOME", "replaces ~ at the start of paths in a job; $NAME and ${NAME} are replaced by other variables"},
  {"PATH", "search path of other programs: SLURM commands, and gnuplot for plots"},
  {"TERM", "whether warnings are coloured"},
  {NULL, NULL}};
/* clang-format on */

static void append_heading(text_buffer *b, const char *page, char section, const char *group, const char *summary)
{
  text_printf(b, ".TH ");
  text_troff(b, page);
  text_printf(b, " %c \"\" \"stickslip %s\" \"%s\"\n.SH NAME\n", section, version_number(), group);
  text_troff(b, page);
  text_printf(b, " \\- ");
  text_troff(b, summary);
  text_put(b, "\n");
}

/* One paragraph per line of the text. */
static void append_paragraphs(text_buffer *b, const char *text)
{
  for (const char *line = text; *line;) {
    const size_t n          = strcspn(line, "\n");
    char         part[2048] = {0};
    memcpy(part, line, n < sizeof part ? n : sizeof part - 1);
    if (n) {
      if (line != text) text_printf(b, ".PP\n");
      text_troff(b, part);
      text_put(b, "\n");
    }
    line += n + (line[n] == '\n');
  }
}

static void append_tagged(text_buffer *b, const char *bold, const char *italic, const char *text)
{
  text_printf(b, ".TP\n\\fB");
  text_troff(b, bold);
  text_printf(b, "\\fR");
  if (italic && *italic) {
    text_printf(b, " \\fI");
    text_troff(b, italic);
    text_printf(b, "\\fR");
  }
  text_put(b, "\n");
  text_troff(b, text);
  text_put(b, "\n");
}

static void append_entries(text_buffer *b, const char *title, const manual_entry *e)
{
  text_printf(b, ".SH %s\n", title);
  for (; e->name; ++e) append_tagged(b, e->name, NULL, e->text);
}

static void append_options(text_buffer *b, const command_option *o)
{
  for (; o->name; ++o) {
    char help[1024];
    (void)snprintf(help, sizeof help, "%s%s", o->help, o->is_repeatable ? " (repeatable)" : "");
    append_tagged(b, o->name, o->argument, help);
  }
}

static void append_exit_codes(text_buffer *b)
{
  text_printf(b, ".SH EXIT STATUS\n");
#define X(name, number, text) append_tagged(b, #number, NULL, text);
  EXIT_CODE_TABLE(X)
#undef X
}

/* "stickslip-sweep-status" of "sweep status" */
static const char *page_name(const command *c, char *out, size_t size)
{
  (void)snprintf(out, size, "stickslip-%s", c->name);
  for (char *p = out; *p; ++p) *p = *p == ' ' ? '-' : *p;
  return out;
}

static void append_program_page(text_buffer *b, const command *const *commands)
{
  char page[64];
  append_heading(b, "stickslip", '1', "User Commands", "batch solver for frictional contact");
  text_printf(b,
              ".SH SYNOPSIS\n.B stickslip\n.I command\n.RI [ arguments \"] [\" options \"] [\" \\-petsc_options ...]\n.SH DESCRIPTION\n");
  append_paragraphs(
      b, "Reads a job in YAML (stickslip-job(5)), advances its bodies in time with Coulomb friction between them, and writes "
         "checkpoints, frames for ParaView, tables and a picture into a run directory.\n"
         "A run may be killed at any time and resumed with bit-identical results. Results do not depend on the number of threads.");
  text_printf(b, ".SH COMMANDS\nEach command has its own page, stickslip\\-\\fIcommand\\fR(1).\n");
  for (const command *const *c = commands; *c; ++c) append_tagged(b, (*c)->name, (*c)->arguments, (*c)->summary);
  text_printf(
      b,
      ".SH OPTIONS\nOptions of all commands. Options with a single dash belong to PETSc: \\-snes_monitor, \\-ksp_monitor, \\-log_view.\n");
  append_options(b, command_common_options);
  append_entries(b, "SIGNALS", signals);
  append_exit_codes(b);
  append_entries(b, "ENVIRONMENT", environment);
  text_printf(b, ".SH FILES\nIn a run directory:\n");
  for (const run_file *f = run_files; f->name; ++f) append_tagged(b, f->name, NULL, f->content);
  text_printf(b, ".SH SEE ALSO\n");
  for (const command *const *c = commands; *c; ++c) {
    text_printf(b, ".BR ");
    text_troff(b, page_name(*c, page, sizeof page));
    text_printf(b, " (1),\n");
  }
  for (const command_file *f = command_files; f->name; ++f) text_printf(b, ".BR stickslip\\-%s (5)%s\n", f->name, f[1].name ? "," : "");
}

static void append_command_page(text_buffer *b, const command *c)
{
  char page[64];
  append_heading(b, page_name(c, page, sizeof page), '1', "User Commands", c->summary);
  text_printf(b, ".SH SYNOPSIS\n\\fBstickslip %s\\fR \\fI", c->name);
  text_troff(b, c->arguments);
  text_printf(b, "\\fR [options]\n.SH DESCRIPTION\n");
  append_paragraphs(b, c->help);
  text_printf(b, ".SH OPTIONS\n");
  append_options(b, c->options);
  append_options(b, command_common_options);
  append_exit_codes(b);
  text_printf(b, ".SH SEE ALSO\n.BR stickslip (1),\n.BR stickslip\\-job (5)\n");
}

static PetscErrorCode append_file_page(text_buffer *b, const command_file *file)
{
  char *keys, page[64];

  PetscFunctionBegin;
  (void)snprintf(page, sizeof page, "stickslip-%s", file->name);
  append_heading(b, page, '5', "File Formats", file->summary);
  text_printf(b, ".SH DESCRIPTION\n");
  append_paragraphs(b, file->help);
  text_printf(b,
              ".PP\nAll keys are listed below. The list is printed from the tables with which the program reads these files.\n.SH KEYS\n");
  PetscCall(key_table_man_page(file->table, &keys));
  text_put(b, keys);
  memory_free(&keys);
  text_printf(b, ".SH SEE ALSO\n.BR stickslip (1),\n.BR stickslip\\-schema (1)\n");
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const command_option manual_options[] = {{"--list", NULL, false, "print the names of all pages with their sections"},
                                                {NULL, NULL, false, NULL}};

/* True if `page` is the name of this page: with its section, or in short form without "stickslip-" and section. */
static bool is_page(const char *page, const char *name, char section)
{
  char whole[80];
  (void)snprintf(whole, sizeof whole, "%s.%c", name, section);
  return !strcmp(page, whole) || !strcmp(page, name + strlen("stickslip-"));
}

static PetscErrorCode command_manual(const command_line *line, exit_code *code)
{
  const char *page    = line->n_positional ? line->positional[0] : "stickslip.1";
  const bool  is_list = command_value(line, "--list");
  text_buffer b       = {0};
  char        name[64];

  PetscFunctionBegin;
  if (is_list) text_printf(&b, "stickslip.1\n");
  else if (!strcmp(page, "stickslip.1")) append_program_page(&b, line->commands);
  for (const command *const *c = line->commands; *c; ++c) {
    page_name(*c, name, sizeof name);
    if (is_list) text_printf(&b, "%s.1\n", name);
    else if (!b.n && is_page(page, name, '1')) append_command_page(&b, *c);
  }
  for (const command_file *f = command_files; f->name; ++f) {
    (void)snprintf(name, sizeof name, "stickslip-%s", f->name);
    if (is_list) text_printf(&b, "%s.5\n", name);
    else if (!b.n && is_page(page, name, '5')) PetscCall(append_file_page(&b, f));
  }
  PetscCall(b.code);
  if (b.n) {
    fputs(b.data, stdout);
  } else {
    fprintf(stderr, "stickslip manual: unknown page \"%s\"; `stickslip manual --list` lists all pages\n", page);
    *code = SS_EXIT_BAD_INPUT;
  }
  text_clear(&b);
  PetscFunctionReturn(PETSC_SUCCESS);
}
/* clang-format off */
const command command_manual_entry = {"manual", "[PAGE]", "print the man page of the program, a command or a file format",
  "PAGE is the name of a command, `job`, or a name printed by --list; default: the overview.\n"
  "`stickslip manual run | man -l -` displays a page if the man pages are not installed.", 0, 1, manual_options, command_manual};
/* clang-format on */
