/* info, diff, schema: commands that only read. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "core/key_table_manual.h"
#include "core/memory.h"
#include "io/checkpoint.h"
#include "app/command/command.h"
#include "app/command/command_list.h"
#include "app/command/command_file.h"

/* A checkpoint file, or a run directory that stands for its newest valid one. memory_free(*path). */
static PetscErrorCode checkpoint_of(const char *text, char **path)
{
  PetscFunctionBegin;
  struct stat status;
  PetscCheck(stat(text, &status) == 0, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "%s: no such file or directory", text);
  *path = NULL;
  if (S_ISDIR(status.st_mode)) {
    char dir[4200];
    snprintf(dir, sizeof dir, "%s/checkpoints", text);
    PetscCall(checkpoint_newest(stat(dir, &status) == 0 ? dir : text, path));
    PetscCheck(*path, PETSC_COMM_SELF, PETSC_ERR_FILE_READ, "%s: holds no valid checkpoint", text);
  } else {
    PetscCall(memory_alloc("path", (int64_t)strlen(text) + 1, 1, path));
    strcpy(*path, text);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const command_option no_options[] = {{NULL, NULL, false, NULL}};

static PetscErrorCode command_info(const command_line *line, exit_code *code)
{
  PetscFunctionBegin;
  char *path;
  (void)code;
  PetscCall(checkpoint_of(line->positional[0], &path));
  PetscCall(checkpoint_info(path, stdout));
  memory_free(&path);
  PetscFunctionReturn(PETSC_SUCCESS);
}
const command command_info_entry = {"info", "DIR|CHECKPOINT.h5", "what a checkpoint holds",
  "Prints job, step, time, versions and every field with its shape, range and checksum state.", 1, 1, no_options, command_info};

static const command_option diff_options[] = {{"--tolerance", "X", false, "relative differences up to X count as equal; default 0: bit for bit"},
                                              {NULL, NULL, false, NULL}};
static PetscErrorCode command_diff(const command_line *line, exit_code *code)
{
  PetscFunctionBegin;
  const char *text = command_value(line, "--tolerance");
  char       *end  = NULL, *a, *b;
  double      tolerance = text ? strtod(text, &end) : 0.0;
  int         n;
  if (text && (*end || !(tolerance >= 0))) {
    fprintf(stderr, "stickslip diff: --tolerance %s: expected a number >= 0\n", text);
    *code = SS_EXIT_BAD_INPUT;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(checkpoint_of(line->positional[0], &a));
  PetscCall(checkpoint_of(line->positional[1], &b));
  PetscCall(checkpoint_diff(a, b, tolerance, stdout, &n));
  if (n) *code = SS_EXIT_DIFFERENT;
  memory_free(&a);
  memory_free(&b);
  PetscFunctionReturn(PETSC_SUCCESS);
}
const command command_diff_entry = {"diff", "DIR|CHECKPOINT.h5 DIR|CHECKPOINT.h5", "compare two checkpoints, field by field",
  "Takes checkpoint files or run directories. Leaves with code 5 if anything differs.", 2, 2, diff_options, command_diff};

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
