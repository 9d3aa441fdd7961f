/* The command schema: references of keys, columns, files and fields, printed from the tables with which the program reads and
 * writes them. The pages of docs/reference are its output (config/reference.sh). */
#include <stdlib.h>
#include <string.h>
#include "core/key_table_manual.h"
#include "core/memory.h"
#include "core/text.h"
#include "discretize/rigid/rigid_table.h"
#include "optim/friction/friction.h"
#include "sim/scene/warning_codes.h"
#include "sim/formulations.h"
#include "app/command/command_line.h"
#include "app/command/command_reference.h"
#include "app/run/run.h"
#include "app/run/run_history.h"
#include "app/run/run_result.h"
#include "app/sweep/sweep_keys.h"

const command_file command_files[] = {
    {"job", "the job file of stickslip",
     "A job is a YAML file in SI units. Anchors, aliases, merge keys and `!include FILE` may be used. Unknown keys are errors.",
     &job_table},
    {"sweep", "the sweep file of stickslip",
     "A sweep file names a job and the parameters that vary; `stickslip sweep` expands it to cases. Unknown keys are errors.",
     &sweep_file_table},
    {"result", "the result file of a run of stickslip",
     "result.yaml in a run directory is for other programs. It is written when the run starts, at its checkpoints and when it "
     "ends, and is always replaced as a whole.",
     &run_result_table},
    {NULL, NULL, NULL, NULL}};

/* --- history.csv -------------------------------------------------------------------------------------------------- */

/* "all", "penalty, exact", or the condition for the scene. */
static void append_providers(text_buffer *b, int group)
{
  int n = 0;
  for (int f = 0; f < N_FORMULATIONS; ++f) n += (formulations[f]->report & group) != 0;
  if (group == REPORT_PLASTICITY) text_printf(b, "all, with these materials");
  else if (group == REPORT_RUN || n == N_FORMULATIONS) text_printf(b, "all");
  else
    for (int f = 0, at = 0; f < N_FORMULATIONS; ++f)
      if (formulations[f]->report & group) text_printf(b, "%s%s", at++ ? ", " : "", formulation_names[f]);
}

static void append_text_of_cell(text_buffer *b, const char *text)
{
  for (const char *c = text; *c; ++c) text_printf(b, "%s%c", strchr("|<>*_", *c) ? "\\" : "", *c);
}

static void print_history_reference(text_buffer *b)
{
  text_printf(
      b, "# Columns of history.csv\n\n"
         "A run writes one row per step, or per `output.history_every` steps. The header names each column with "
         "its unit: `penetration [m]`.\n"
         "A table has the columns that its formulation provides, in the order of this page. Find columns by "
         "name, because a later version may add some.\n"
         "A cell is empty if its quantity has no value in the step.\n\n"
         "If a step fails, it is repeated in substeps of half the length. The third column of this page states "
         "how the values of the substeps give the\n"
         "value of the step. Quantities of contacts and solvers are 0 in a step without them.\n\n"
         "`yield_overshoot` and `step_rotation` exist if the job has a material whose law depends on the state "
         "at the start of the step: `von_mises`,\n"
         "`linear_corotated` with `rotation: lagged`, or `tait_liquid`.\n"
         "Formulation `hybrid` with `contact: impulses` has no columns of the contact law, the contact problem and the friction solver.\n\n"
         "| column | unit | of substeps | formulations | meaning |\n|---|---|---|---|---|\n");
  for (int i = 0; i < HISTORY_N_QUANTITIES; ++i) {
    const report_quantity *q = &history_quantities[i];
    if (q->group == REPORT_INTERNAL) continue;
    text_printf(b, "| `%s` | %s | %s | ", q->name, strcmp(q->unit, "1") == 0 ? "" : q->unit, report_rule_names[q->rule]);
    append_providers(b, q->group);
    text_printf(b, " | ");
    append_text_of_cell(b, q->help);
    text_printf(b, " |\n");
  }
  text_printf(b, "\n## Fallbacks\n\nThe report page lists these columns as warnings if their sum over the run is not 0:");
  for (int i = 0, n = 0; i < HISTORY_N_QUANTITIES; ++i)
    if (history_quantities[i].rule == REPORT_FALLBACK) text_printf(b, "%s `%s`", n++ ? "," : "", history_quantities[i].name);
  text_printf(b, ".\n\n## friction_method\n\n| value | friction solver |\n|---|---|\n");
  for (int k = 0; k < FRICTION_N_METHODS; ++k) text_printf(b, "| %d | `%s` |\n", k, friction_solvers[k].name);
}

/* --- files of a run ----------------------------------------------------------------------------------------------- */

static PetscErrorCode append_keys(text_buffer *b, const key_table *table)
{
  char *keys;
  PetscFunctionBegin;
  PetscCall(key_table_manual_markdown(table, &keys));
  text_printf(b, "\n%s", keys);
  memory_free(&keys);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void print_table_of_bodies(text_buffer *b)
{
  text_printf(
      b,
      "All bodies of kind `rigid` are one table: the group `rigid/bodies` has one row per body, and `rigid/names` one line per body "
      "in the same order.\n"
      "Names, shapes and sizes, and the surfaces of static bodies, are stored once, in `frames/constant.h5`, which has the same layout.\n"
      "Frames with the attribute `has_constants` cannot be read without it. Each `shape` is a part of the surface `rigid/shapes`, in body "
      "axes: the vertices of one shape are "
      "consecutive rows. Shape -1 is a sphere.\n\n"
      "ParaView shows the bodies as points (block `rigid.bodies`) and as surfaces (`rigid.surfaces`). Surfaces of spheres are "
      "omitted if all surfaces have more than %d\n"
      "vertices, all surfaces if the others have more than %d. Then draw the points: spheres as *Point Gaussian* with the array "
      "`radius`, boxes as *3D Glyphs* with orientation\n"
      "mode *Quaternion* by `orientation` and scale by the components of `size`. `render` draws all bodies.\n\n",
      RIGID_TABLE_SURFACES, RIGID_TABLE_OTHER_SURFACES);
}

static PetscErrorCode print_file_reference(text_buffer *b)
{
  PetscFunctionBegin;
  text_printf(b, "# Files of a run\n\nA run writes to `run/NAME/`, or to the directory of `--out`. Files are written "
                 "under a temporary name and renamed when they are complete.\n"
                 "Tables (`.csv`) are extended by whole lines.\n\n| file | content | written |\n|---|---|---|\n");
  for (const run_file *f = run_files; f->name; ++f) text_printf(b, "| `%s` | %s | %s |\n", f->name, f->content, f->written);
  text_printf(b,
              "\n## Tables\n\n"
              "| file | columns |\n|---|---|\n"
              "| `history.csv` | see [history.md](history.md) |\n"
              "| `measure/NAME.csv` | `step`, `time [s]`, and the value of the measure with its name and unit; `nan` if it has no value |\n"
              "| `stages.csv` | `stage`, `seconds [s]`, `calls`, `traffic [byte]`, `operations`; 0 if not counted |\n\n"
              "## summary.txt\n\n"
              "The first lines describe the last start: version, job, steps, wall time, threads, retries. `memory` has two numbers. "
              "The peak resident memory is that\n"
              "of the process, with libraries and program code, as the operating system reports it. Tracked allocations are the arrays "
              "that stickslip allocates itself.\n"
              "Then follow averages over the steps of that start, and the sum or maximum of each column of `history.csv` that is not 0. "
              "The last part lists the time of each stage.\n\n"
              "## Checkpoints and frames\n\n"
              "Checkpoints (`checkpoints/checkpoint_000000012.h5` after step 12) and frames (`frames/frame_000003.h5`) are HDF5 files with "
              "one layout:\n\n"
              "| object | content |\n|---|---|\n"
              "| attributes of `/` | `kind` (checkpoint, frame or constants), `program`, `job`, `formulation`, `step`, `time` [s] |\n"
              "| `/job` | the job with all defaults as text (checkpoints) |\n"
              "| `/fields/GROUP` | attributes `n_rows`, `geometry`, `n_fields`; names of groups may contain slashes: `bodies/bed` |\n"
              "| `/fields/GROUP/FIELD` | dataset of shape [n_rows] or [n_rows][components]; attributes `unit`, `help`, `checksum` |\n"
              "| `/topology/GROUP` | vertices of triangles or segments, counted from 0 in the rows of the group (frames) |\n\n");
  print_table_of_bodies(b);
  text_printf(b, "Groups and fields are listed in [fields.md](fields.md). `stickslip info DIR` lists those of a checkpoint with their "
                 "ranges.\n"
                 "The first 512 bytes are a text (`head -6 FILE`) with a checksum of the complete file. A damaged or edited file is "
                 "rejected.\n");
  PetscCall(append_keys(b, &run_result_table));
  PetscCall(append_keys(b, &run_machine_table));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- fields ------------------------------------------------------------------------------------------------------- */

typedef struct {
  char group[160], name[48], unit[32], help[300];
  int  type, n_components, flags, order;
} listed_field;

typedef struct {
  int64_t       n, capacity;
  listed_field *field;
} field_list;

/* "bodies/bed" -> "bodies/NAME (mpm)". Groups that do not contain the name of a body are unchanged. */
static void generic_group(const scene *s, const char *group, size_t size, char *text)
{
  const char *rest = strchr(group, '/');
  snprintf(text, size, "%s", group);
  if (strncmp(group, "bodies/", 7) != 0 && strncmp(group, "state/", 6) != 0) return;
  for (int i = 0; i < s->n_bodies; ++i) {
    const scene_body *b = &s->bodies[i];
    const size_t      n = strlen(b->name);
    if (strncmp(rest + 1, b->name, n) == 0 && (rest[1 + n] == '\0' || rest[1 + n] == '/'))
      snprintf(text, size, "%.*s/NAME%s (%s)", (int)(rest - group), group, rest + 1 + n, b->kind->name);
  }
}

static PetscErrorCode add_field(field_list *l, const char *group, const field *f)
{
  PetscFunctionBegin;
  for (int64_t i = 0; i < l->n; ++i)
    if (strcmp(l->field[i].group, group) == 0 && strcmp(l->field[i].name, f->name) == 0 && strcmp(l->field[i].help, f->help) == 0)
      PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(memory_reserve("fields", l->n + 1, sizeof *l->field, &l->capacity, &l->field));
  listed_field *own = &l->field[l->n];
  *own              = (listed_field){.type = f->type, .n_components = f->n_components, .flags = f->flags, .order = (int)l->n++};
  snprintf(own->group, sizeof own->group, "%s", group);
  snprintf(own->name, sizeof own->name, "%s", f->name);
  snprintf(own->unit, sizeof own->unit, "%s", strcmp(f->unit, "1") == 0 ? "" : f->unit);
  snprintf(own->help, sizeof own->help, "%s", f->help);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static int by_group(const void *a, const void *b)
{
  const listed_field *f = a, *g = b;
  const int           c = strcmp(f->group, g->group);
  return c ? c : f->order - g->order;
}

/* Build the scene of a job in memory; *out NULL after messages. */
static PetscErrorCode build_run(const command_line *line, const char *path, run **out)
{
  diagnostics *d __attribute__((cleanup(diagnostics_destroy))) = NULL;
  job         *j __attribute__((cleanup(job_destroy)))         = NULL;
  PetscFunctionBegin;
  *out = NULL;
  PetscCall(diagnostics_create(&d));
  PetscCall(job_read(path, 0, NULL, d, &j));
  const run_options options = {.comm = line->comm, .dir = ""};
  if (j) PetscCall(run_build(&j, &options, d, out));
  if (diagnostics_count(d)) run_destroy(out);
  for (int i = 0; i < diagnostics_count(d); ++i) fprintf(stderr, "%s\n", diagnostics_text(d, i));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void print_field_list(const field_list *l, text_buffer *b)
{
  static const char *const types[] = {"f64", "i32", "i64", "u64", "u8"};
  text_printf(b, "# Groups and fields of checkpoints and frames\n\n"
                 "The groups of `/fields` in the HDF5 files ([layout](files.md#checkpoints-and-frames)). NAME is the name "
                 "of a body; its kind is in parentheses. A body has the fields that its\n"
                 "material and options need. Checkpoints contain the fields marked c, frames those marked f. Fields marked k are "
                 "constant and are stored once, in `frames/constant.h5`.\n"
                 "Real numbers of frames have 32 bits unless `output.precision` is `double`.\n"
                 "A field with 3 components is a vector, with 9 a matrix by rows, with 4 a quaternion (real part first).\n\n"
                 "## Numbers of bodies\n\n"
                 "Integers that refer to bodies, such as `source` and `object` of `contact/points`, count the entries of "
                 "`bodies:` in the order of `job.yaml` from 0. The links of an articulated\n"
                 "body follow directly after it, and the walls of a `mac` grid come last. `contact/attachments/object` "
                 "counts objects: the bodies whose contact\n"
                 "surface is a level set.\n"
                 "`stickslip schema bodies --job run/NAME/job.yaml` prints both lists for a run.\n");
  for (int64_t i = 0; i < l->n; ++i) {
    const listed_field *f = &l->field[i];
    if (i == 0 || strcmp(f->group, l->field[i - 1].group) != 0)
      text_printf(b, "\n## %s\n\n| field | type | components | unit | in | meaning |\n|---|---|---|---|---|---|\n", f->group);
    text_printf(b, "| `%s` | %s | %d | %s | %s%s | ", f->name, types[f->type], f->n_components, f->unit,
                f->flags & FIELD_CHECKPOINT ? "c" : "",
                !(f->flags & FIELD_FRAME)   ? ""
                : f->flags & FIELD_CONSTANT ? "k"
                                            : "f");
    append_text_of_cell(b, f->help);
    text_printf(b, " |\n");
  }
}

/* Union of the fields of the scenes of all jobs on the command line. */
static PetscErrorCode print_field_reference(const command_line *line, text_buffer *b)
{
  field_list  l = {0};
  const char *jobs[COMMAND_MAX_VALUES];
  const int   n_jobs = command_values(line, "--job", jobs);
  PetscFunctionBegin;
  for (int k = 0; k < n_jobs; ++k) {
    run *r;
    PetscCall(build_run(line, jobs[k], &r));
    if (!r) {
      memory_free(&l.field);
      PetscFunctionReturn(PETSC_SUCCESS);
    }
    const field_table *t = run_scene(r)->fields;
    for (int i = 0; i < field_table_n_groups(t); ++i) {
      char               group[160];
      const field_group *g = field_table_group(t, i);
      generic_group(run_scene(r), g->name, sizeof group, group);
      for (int m = 0; m < g->n_fields; ++m) PetscCall(add_field(&l, group, &g->fields[m]));
    }
    run_destroy(&r);
  }
  if (l.n > 0) qsort(l.field, (size_t)l.n, sizeof *l.field, by_group);
  print_field_list(&l, b);
  memory_free(&l.field);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The numbers of the bodies and objects of one job. */
static PetscErrorCode print_body_reference(const command_line *line, text_buffer *b)
{
  run *r;
  PetscFunctionBegin;
  PetscCall(build_run(line, command_value(line, "--job"), &r));
  if (!r) PetscFunctionReturn(PETSC_SUCCESS);
  const scene *s = run_scene(r);
  text_printf(b, "| body | name | kind |\n|---|---|---|\n");
  for (int i = 0; i < s->n_bodies; ++i) text_printf(b, "| %d | `%s` | %s |\n", i, s->bodies[i].name, s->bodies[i].kind->name);
  text_printf(b, "\n| object | name |\n|---|---|\n");
  for (int i = 0; i < s->n_objects; ++i) text_printf(b, "| %d | `%s` |\n", i, s->bodies[s->objects[i].body_id].name);
  run_destroy(&r);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- warnings ----------------------------------------------------------------------------------------------------- */

static void print_warning_reference(text_buffer *b)
{
  text_printf(b, "# Warnings\n\nA warning reports an implausible job or result that is no error. `check` and `run` print warnings on "
                 "stderr with their code; the exit "
                 "code does not change.\n"
                 "`--no-warn CODE` ignores warnings of one code, in `check`, `run`, `resume` and `sweep`. The job key `ignore_warnings: "
                 "[CODE, CODE]` has the same "
                 "effect.\n\n"
                 "start: found by `check` and at the start of a run. run: found during the time steps.\n\n"
                 "| code | found | meaning and remedy |\n|---|---|---|\n");
  for (const warning_code *w = warning_codes; w->code; ++w) text_printf(b, "| `%s` | %s | %s |\n", w->code, w->place, w->help);
}

/* --- command ------------------------------------------------------------------------------------------------------ */

const command_file *command_file_find(const char *name)
{
  for (const command_file *f = command_files; f->name; ++f)
    if (!strcmp(f->name, name)) return f;
  return NULL;
}

static PetscErrorCode print_keys(const key_table *table, const char *format, bool is_expert, char **text)
{
  PetscFunctionBegin;
  if (is_expert) PetscCall(key_table_manual_expert(table, text));
  else if (!format || strcmp(format, "markdown") == 0) PetscCall(key_table_manual_markdown(table, text));
  else if (strcmp(format, "json") == 0) PetscCall(key_table_json_schema(table, text));
  else if (strcmp(format, "man") == 0) PetscCall(key_table_man_page(table, text));
  else fprintf(stderr, "stickslip schema: --format %s: expected markdown, man or json\n", format);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const command_option schema_options[] = {{"--format", "markdown|man|json", false, "output format of keys; default: markdown"},
                                                {"--expert", NULL, false, "only the blocks `expert:`, which the Markdown reference omits"},
                                                {"--job", "JOB.yaml", true, "a job whose fields or bodies are listed"},
                                                {NULL, NULL, false, NULL}};
static PetscErrorCode       command_schema(const command_line *line, exit_code *code)
{
  const char         *format = command_value(line, "--format"), *kind = line->n_positional ? line->positional[0] : "job";
  const command_file *file      = command_file_find(kind);
  const bool          has_jobs  = strcmp(kind, "fields") == 0 || strcmp(kind, "bodies") == 0;
  const bool          is_expert = command_value(line, "--expert") != NULL;
  text_buffer         b         = {0};
  PetscFunctionBegin;
  if ((format || is_expert) && !file)
    fprintf(stderr, "stickslip schema %s: %s needs job, sweep or result\n", kind, format ? "--format" : "--expert");
  else if (has_jobs != (command_value(line, "--job") != NULL))
    fprintf(stderr, "stickslip schema %s: --job %s\n", kind, has_jobs ? "is required" : "needs fields or bodies");
  else if (file) PetscCall(print_keys(file->table, format, is_expert, &b.data));
  else if (strcmp(kind, "history") == 0) print_history_reference(&b);
  else if (strcmp(kind, "warnings") == 0) print_warning_reference(&b);
  else if (strcmp(kind, "files") == 0) PetscCall(print_file_reference(&b));
  else if (strcmp(kind, "fields") == 0) PetscCall(print_field_reference(line, &b));
  else if (strcmp(kind, "bodies") == 0) PetscCall(print_body_reference(line, &b));
  else fprintf(stderr, "stickslip schema %s: expected job, sweep, result, history, warnings, files, fields or bodies\n", kind);
  PetscCall(b.code);
  if (b.data) fputs(b.data, stdout);
  else *code = SS_EXIT_BAD_INPUT;
  text_clear(&b);
  PetscFunctionReturn(PETSC_SUCCESS);
}
const command command_schema_entry = {
    "schema",
    "[job|sweep|result|history|warnings|files|fields|bodies]",
    "print references of keys, columns, files and fields",
    "job, sweep, result: the key tables with which the program reads these files, as Markdown, "
    "as a man page, or as JSON Schema for editors.\n"
    "history: the columns of history.csv. warnings: the codes of warnings. files: the files of a run directory. fields: the "
    "groups and fields of checkpoints and frames of these jobs.\n"
    "bodies: the numbers of the bodies of a job, as used in checkpoints and frames.",
    0,
    1,
    schema_options,
    command_schema};
