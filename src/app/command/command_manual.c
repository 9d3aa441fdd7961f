/* manual, schema: the man pages and the references of all keys. Commands, options, exit codes and job keys come from their tables; what only people
 * know stands here. */
#include <string.h>
#include "core/memory.h"
#include "core/text.h"
#include "core/version.h"
#include "app/command/command_line.h"
#include "app/job/job.h"
#include "app/run/run_result.h"
#include "app/sweep/sweep_keys.h"

/* The files in YAML that people and programs write or read, each with the table that reads it: for `schema` and the man pages. */
typedef struct {
  const char      *name;    /* "job" */
  const char      *summary; /* a line */
  const char      *help;    /* a paragraph */
  const key_table *table;
} command_file;

static const command_file command_files[] = {
  {"job", "the job file of stickslip",
   "A job is a YAML file in SI units. Anchors, aliases, merge keys and `!include FILE` may be used. Unknown keys are errors.", &job_table},
  {"sweep", "the sweep file of stickslip",
   "A sweep file names a job and what varies in it; `stickslip sweep` makes cases of it. Unknown keys are errors.", &sweep_file_table},
  {"result", "what became of a run of stickslip",
   "result.yaml in a run directory is written for programs: when the run starts, at its checkpoints and when it ends, always as a whole.",
   &run_result_table},
  {NULL, NULL, NULL, NULL}};

static const command_file *command_file_find(const char *name)
{
  for (const command_file *f = command_files; f->name; ++f)
    if (!strcmp(f->name, name)) return f;
  return NULL;
}

/* --- schema ------------------------------------------------------------------------------------------------------- */

static const command_option schema_options[] = {{"--format", "markdown|man|json", false, "default: markdown"}, {NULL, NULL, false, NULL}};
static PetscErrorCode command_schema(const command_line *line, exit_code *code)
{
  PetscFunctionBegin;
  const char         *format = command_value(line, "--format"), *kind = line->n_positional ? line->positional[0] : "job";
  const command_file *file   = command_file_find(kind);
  char               *text   = NULL;
  if (!file) fprintf(stderr, "stickslip schema %s: expected job, sweep or result\n", kind);
  else if (!format || strcmp(format, "markdown") == 0) PetscCall(key_table_manual_markdown(file->table, &text));
  else if (strcmp(format, "json") == 0) PetscCall(key_table_json_schema(file->table, &text));
  else if (strcmp(format, "man") == 0) PetscCall(key_table_man_page(file->table, &text));
  else fprintf(stderr, "stickslip schema: --format %s: expected markdown, man or json\n", format);
  if (text) fputs(text, stdout);
  else *code = SS_EXIT_BAD_INPUT;
  memory_free(&text);
  PetscFunctionReturn(PETSC_SUCCESS);
}
const command command_schema_entry = {"schema", "[job|sweep|result]", "the reference of all keys: of jobs, sweeps and results",
  "Printed from the tables that the program itself reads these files with: as Markdown, a man page, or JSON Schema for editors.", 0, 1,
  schema_options, command_schema};

/* --- manual ------------------------------------------------------------------------------------------------------- */

typedef struct {
  const char *name, *text;
} manual_entry;

static const manual_entry signals[] = {
  {"SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU", "finish the step, write a checkpoint, leave with code 75. A second SIGTERM or SIGINT drops the step under way "
                                                 "and saves the state before it, and so does a step that after SIGTERM lasts longer than the 30 seconds until "
                                                 "SIGKILL allow. A third SIGINT leaves at once; the last checkpoint stays good."},
  {"SIGHUP", "the same, but not under nohup."},
  {"SIGPIPE, SIGXFSZ", "are errors of the write concerned."},
  {"SIGKILL", "costs the steps since the last checkpoint, nothing more: files appear under their names only when they are whole."},
  {"no signal at all", "In a SLURM job a run also leaves with code 75, after a checkpoint, when too little time is left for more steps."},
  {NULL, NULL}};

static const manual_entry environment[] = {
  {"OMP_NUM_THREADS", "threads, unless --threads is given"},
  {"SLURM_CPUS_PER_TASK, SLURM_CPUS_ON_NODE, SLURM_NTASKS, SLURM_JOB_NUM_NODES", "threads, where neither --threads nor OMP_NUM_THREADS says: the task's cores"},
  {"SLURM_MEM_PER_NODE, SLURM_MEM_PER_CPU", "the memory of the allocation: a warning comes before it is used up"},
  {"SLURM_JOB_ID, SLURM_JOB_END_TIME, SLURM_RESTART_COUNT", "how much time is left to the job, and whether it was requeued"},
  {"SLURM_ARRAY_JOB_ID, SLURM_ARRAY_TASK_ID", "which task of an array is to be requeued"},
  {"OMP_PLACES, OMP_PROC_BIND, GOMP_CPU_AFFINITY", "places of threads. With none of them set, threads are bound where the task has cores of its own"},
  {"GOMP_SPINCOUNT, OMP_WAIT_POLICY", "how long threads wait awake for each other. With neither set the program starts itself again with GOMP_SPINCOUNT=10000, "
                                      "0.35 ms, where there is a core for each thread as it starts, and 1000 where others run: the default steals their time"},
  {"OMPI_COMM_WORLD_SIZE, PMIX_RANK, PMI_RANK", "set by a launcher of MPI: then MPI starts with its network. Without one, parts of Open MPI that only cost time are left out"},
  {"HDF5_USE_FILE_LOCKING", "set to FALSE by the program unless you set it: network file systems often have no locks"},
  {"OPENBLAS_NUM_THREADS", "set to 1 by the program unless you set it: more would change the last bits of sums"},
  {"HOME", "stands for ~ at the start of paths in a job; $NAME and ${NAME} stand for other variables"},
  {"PATH", "where other programs are looked for: those of SLURM, and gnuplot for plots"},
  {"TERM", "whether warnings are in colour"},
  {NULL, NULL}};

static const manual_entry files[] = {
  {"job.yaml", "the job as it runs, with every default written out"},
  {"checkpoints/", "the state, in HDF5, sealed with checksums; the newest valid one is what resume takes"},
  {"frames.xmf, frames/", "for ParaView: open frames.xmf"},
  {"history.csv", "a line a step: energies, momenta, contacts, iterations, seconds"},
  {"measure/", "a table a measure of the job"},
  {"summary.txt", "iterations, contacts, where the time went"},
  {"result.yaml", "for programs: how the run stands or ended, its counts, the statistics of its measures"},
  {"machine.yaml, stages.csv", "for the report: what it ran on, and the time of each stage along the way"},
  {"report.html", "all of it on one page, for a browser"},
  {"still.png", "a picture of the end"},
  {"failure.txt", "after a step that failed for good: which, why, and what may help"},
  {NULL, NULL}};

static PetscErrorCode heading(text_buffer *b, const char *page, char section, const char *group, const char *summary)
{
  PetscFunctionBegin;
  PetscCall(text_printf(b, ".TH "));
  PetscCall(text_troff(b, page));
  PetscCall(text_printf(b, " %c \"\" \"stickslip %s\" \"%s\"\n.SH NAME\n", section, version_number(), group));
  PetscCall(text_troff(b, page));
  PetscCall(text_printf(b, " \\- "));
  PetscCall(text_troff(b, summary));
  PetscCall(text_append(b, "\n", 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A paragraph a line of the text. */
static PetscErrorCode paragraphs(text_buffer *b, const char *text)
{
  PetscFunctionBegin;
  for (const char *line = text; *line;) {
    const size_t n          = strcspn(line, "\n");
    char         part[2048] = {0};
    memcpy(part, line, n < sizeof part ? n : sizeof part - 1);
    if (n) {
      if (line != text) PetscCall(text_printf(b, ".PP\n"));
      PetscCall(text_troff(b, part));
      PetscCall(text_append(b, "\n", 1));
    }
    line += n + (line[n] == '\n');
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode tagged(text_buffer *b, const char *bold, const char *italic, const char *text)
{
  PetscFunctionBegin;
  PetscCall(text_printf(b, ".TP\n\\fB"));
  PetscCall(text_troff(b, bold));
  PetscCall(text_printf(b, "\\fR"));
  if (italic && *italic) {
    PetscCall(text_printf(b, " \\fI"));
    PetscCall(text_troff(b, italic));
    PetscCall(text_printf(b, "\\fR"));
  }
  PetscCall(text_append(b, "\n", 1));
  PetscCall(text_troff(b, text));
  PetscCall(text_append(b, "\n", 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode entries(text_buffer *b, const char *title, const manual_entry *e)
{
  PetscFunctionBegin;
  PetscCall(text_printf(b, ".SH %s\n", title));
  for (; e->name; ++e) PetscCall(tagged(b, e->name, NULL, e->text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode options(text_buffer *b, const command_option *o)
{
  PetscFunctionBegin;
  for (; o->name; ++o) {
    char help[1024];
    (void)snprintf(help, sizeof help, "%s%s", o->help, o->is_repeatable ? " (repeatable)" : "");
    PetscCall(tagged(b, o->name, o->argument, help));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode exit_codes(text_buffer *b)
{
  PetscFunctionBegin;
  PetscCall(text_printf(b, ".SH EXIT STATUS\n"));
#define X(name, number, text) PetscCall(tagged(b, #number, NULL, text));
  EXIT_CODE_TABLE(X)
#undef X
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* "stickslip-sweep-status" of "sweep status" */
static const char *page_name(const command *c, char *out, size_t size)
{
  (void)snprintf(out, size, "stickslip-%s", c->name);
  for (char *p = out; *p; ++p) *p = *p == ' ' ? '-' : *p;
  return out;
}

static PetscErrorCode program_page(text_buffer *b, const command *const *commands)
{
  char page[64];

  PetscFunctionBegin;
  PetscCall(heading(b, "stickslip", '1', "User Commands", "batch solver for frictional contact"));
  PetscCall(text_printf(b, ".SH SYNOPSIS\n.B stickslip\n.I command\n.RI [ arguments \"] [\" options \"] [\" \\-petsc_options ...]\n.SH DESCRIPTION\n"));
  PetscCall(paragraphs(b, "Reads a job in YAML (stickslip-job(5)), advances its bodies in time with Coulomb friction between them, and writes "
                          "checkpoints, frames for ParaView, tables and a picture into a run directory.\n"
                          "A run may be killed at any moment and resumed to the same bits; results are the same on any number of threads."));
  PetscCall(text_printf(b, ".SH COMMANDS\nEach has a page of its own, stickslip\\-\\fIcommand\\fR(1).\n"));
  for (const command *const *c = commands; *c; ++c) PetscCall(tagged(b, (*c)->name, (*c)->arguments, (*c)->summary));
  PetscCall(text_printf(b, ".SH OPTIONS\nOf every command. Options with a single dash belong to PETSc: \\-snes_monitor, \\-ksp_monitor, \\-log_view.\n"));
  PetscCall(options(b, command_common_options));
  PetscCall(entries(b, "SIGNALS", signals));
  PetscCall(exit_codes(b));
  PetscCall(entries(b, "ENVIRONMENT", environment));
  PetscCall(text_printf(b, ".SH FILES\nIn a run directory:\n"));
  for (const manual_entry *e = files; e->name; ++e) PetscCall(tagged(b, e->name, NULL, e->text));
  PetscCall(text_printf(b, ".SH SEE ALSO\n"));
  for (const command *const *c = commands; *c; ++c) {
    PetscCall(text_printf(b, ".BR "));
    PetscCall(text_troff(b, page_name(*c, page, sizeof page)));
    PetscCall(text_printf(b, " (1),\n"));
  }
  for (const command_file *f = command_files; f->name; ++f) PetscCall(text_printf(b, ".BR stickslip\\-%s (5)%s\n", f->name, f[1].name ? "," : ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode command_page(text_buffer *b, const command *c)
{
  char page[64];

  PetscFunctionBegin;
  PetscCall(heading(b, page_name(c, page, sizeof page), '1', "User Commands", c->summary));
  PetscCall(text_printf(b, ".SH SYNOPSIS\n\\fBstickslip %s\\fR \\fI", c->name));
  PetscCall(text_troff(b, c->arguments));
  PetscCall(text_printf(b, "\\fR [options]\n.SH DESCRIPTION\n"));
  PetscCall(paragraphs(b, c->help));
  PetscCall(text_printf(b, ".SH OPTIONS\n"));
  PetscCall(options(b, c->options));
  PetscCall(options(b, command_common_options));
  PetscCall(exit_codes(b));
  PetscCall(text_printf(b, ".SH SEE ALSO\n.BR stickslip (1),\n.BR stickslip\\-job (5)\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode file_page(text_buffer *b, const command_file *file)
{
  char *keys, page[64];

  PetscFunctionBegin;
  (void)snprintf(page, sizeof page, "stickslip-%s", file->name);
  PetscCall(heading(b, page, '5', "File Formats", file->summary));
  PetscCall(text_printf(b, ".SH DESCRIPTION\n"));
  PetscCall(paragraphs(b, file->help));
  PetscCall(text_printf(b, ".PP\nBelow are all keys, from the tables that the program itself reads such files with.\n.SH KEYS\n"));
  PetscCall(key_table_man_page(file->table, &keys));
  PetscCall(text_append(b, keys, (int64_t)strlen(keys)));
  memory_free(&keys);
  PetscCall(text_printf(b, ".SH SEE ALSO\n.BR stickslip (1),\n.BR stickslip\\-schema (1)\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const command_option manual_options[] = {{"--list", NULL, false, "the names of all pages, with their sections"}, {NULL, NULL, false, NULL}};

/* Is `page` this one, by its name with the section or, in short, without stickslip- and section? */
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
  if (is_list) PetscCall(text_printf(&b, "stickslip.1\n"));
  else if (!strcmp(page, "stickslip.1")) PetscCall(program_page(&b, line->commands));
  for (const command *const *c = line->commands; *c; ++c) {
    page_name(*c, name, sizeof name);
    if (is_list) PetscCall(text_printf(&b, "%s.1\n", name));
    else if (!b.n && is_page(page, name, '1')) PetscCall(command_page(&b, *c));
  }
  for (const command_file *f = command_files; f->name; ++f) {
    (void)snprintf(name, sizeof name, "stickslip-%s", f->name);
    if (is_list) PetscCall(text_printf(&b, "%s.5\n", name));
    else if (!b.n && is_page(page, name, '5')) PetscCall(file_page(&b, f));
  }
  if (b.n) {
    fputs(b.data, stdout);
  } else {
    fprintf(stderr, "stickslip manual: there is no page \"%s\"; `stickslip manual --list` names them\n", page);
    *code = SS_EXIT_BAD_INPUT;
  }
  memory_free(&b.data);
  PetscFunctionReturn(PETSC_SUCCESS);
}
const command command_manual_entry = {"manual", "[PAGE]", "print a man page: of the program, a command, or a kind of file",
  "PAGE is the name of a command, `job`, or a name that --list prints; without it the overview.\n"
  "`stickslip manual run | man -l -` shows it where no man pages are installed.", 0, 1, manual_options, command_manual};
