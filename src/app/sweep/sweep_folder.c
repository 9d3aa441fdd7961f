/* Creating, comparing and reading the folder of a sweep, and the states of its cases. */
#include "app/sweep/sweep_folder.h"
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "core/csv.h"
#include "core/memory.h"
#include "core/regular_file.h"
#include "io/run_lock.h"
#include "io/sealed_file.h"
#include "io/yaml.h"
#include "app/job/job.h"
#include "app/run/run_result.h"

enum { COLUMN_PARAMETER = 2 }; /* number, id, then the parameters */

static bool has_file(const char *dir, const char *name)
{
  char path[4400];
  (void)snprintf(path, sizeof path, "%.4095s/%s", dir, name);
  return access(path, F_OK) == 0;
}

bool sweep_folder_exists(const char *dir) { return has_file(dir, "cases.csv"); }

void sweep_folder_case(const char *dir, int64_t number, size_t size, char *path)
{
  (void)snprintf(path, size, "%s/cases/%06lld", dir, (long long)number);
}

/* Reads the file DIR/NAME; memory_free(*text). */
static PetscErrorCode read_file(const char *dir, const char *name, char **path, char **text)
{
  size_t n;

  PetscFunctionBegin;
  PetscCall(file_format(path, "%s/%s", dir, name));
  PetscCall(file_read_text(*path, text, &n));
  PetscCheck(*text, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "%s: no such file; expected a sweep folder, got %s", *path, dir);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Settings as columns of cases.csv. */

static int find_name(int n, const char *const *names, const char *name)
{
  for (int i = 0; i < n; ++i)
    if (!strcmp(names[i], name)) return i;
  return -1;
}

/* A setting that is also a parameter has no column of its own. */
static bool has_column(const sweep_plan *plan, int i_setting)
{
  return find_name(plan->n_parameters, plan->parameter, plan->setting[i_setting]) < 0;
}

static const char *setting_value(const sweep_plan *plan, const sweep_case *c, int i)
{
  return c->overrides[i] + strlen(plan->setting[i]) + 1;
}

/* The table cases.csv. */

typedef struct {
  csv_table table;
  int       n_columns;
  int       parameter[SWEEP_MAX_NAMES], setting[SWEEP_MAX_NAMES]; /* column of each; -1 for settings without their own column */
} cases_file;

static const char *get_cell(const cases_file *f, int64_t row, int column) { return f->table.cell[row * f->table.n_columns + column]; }

static int find_case_column(const cases_file *f, const char *name)
{
  for (int i = 0; i < f->table.n_columns; ++i)
    if (!strcmp(get_cell(f, 0, i), name)) return i;
  return -1;
}

/* Finds the columns of all parameters and settings of the plan. True if the table has exactly these columns; otherwise the
 * differences are added to `d` (unless NULL). */
static bool match_columns(cases_file *f, const char *dir, const sweep_plan *plan, diagnostics *d)
{
  const document_mark none                              = {0};
  bool                is_known[2 * SWEEP_MAX_NAMES + 2] = {0}, is_same = true;

  for (int i = 0; i < plan->n_parameters + plan->n_settings; ++i) {
    const bool  is_parameter = i < plan->n_parameters;
    const int   k            = i - plan->n_parameters;
    const char *name         = is_parameter ? plan->parameter[i] : plan->setting[k];
    const int   column       = find_case_column(f, name);
    if (is_parameter) f->parameter[i] = column;
    else f->setting[k] = has_column(plan, k) ? column : -1;
    if (column >= 0) is_known[column] = true;
    else if (is_parameter || has_column(plan, k)) {
      is_same = false;
      if (d) diagnostics_add(d, none, dir, "cases.csv has no %s%s", is_parameter ? "parameter " : "", name);
    }
  }
  for (int i = COLUMN_PARAMETER; i < f->table.n_columns; ++i)
    if (!is_known[i]) {
      is_same = false;
      if (d) diagnostics_add(d, none, dir, "cases.csv has a column %s, which the sweep file does not contain any more", get_cell(f, 0, i));
    }
  return is_same;
}

static PetscErrorCode read_cases(const char *dir, cases_file *f)
{
  char *path __attribute__((cleanup(memory_free))) = NULL, *text __attribute__((cleanup(memory_free))) = NULL;

  PetscFunctionBegin;
  memset(f, 0, sizeof *f);
  PetscCall(read_file(dir, "cases.csv", &path, &text));
  PetscCall(csv_read(path, text, &f->table));
  bool is_good = f->table.n_rows > 0 && f->table.n_columns > COLUMN_PARAMETER && f->table.n_columns <= 2 * SWEEP_MAX_NAMES + 2 &&
                 !strcmp(get_cell(f, 0, 0), "number") && !strcmp(get_cell(f, 0, 1), "id");
  for (int64_t i = 1; i < f->table.n_rows && is_good; ++i) {
    char number[32];
    (void)snprintf(number, sizeof number, "%lld", (long long)i);
    is_good = !strcmp(get_cell(f, i, 0), number) && strlen(get_cell(f, i, 1)) == SWEEP_ID - 1;
    if (!is_good) break;
  }
  if (!is_good) csv_clear(&f->table);
  PetscCheck(is_good, PETSC_COMM_SELF, PETSC_ERR_FILE_READ,
             "%s: not a valid table of cases: expected the columns number and id, and rows numbered from 1", path);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void append_row(text_buffer *b, const sweep_plan *plan, const cases_file *f, int64_t number, const sweep_case *c)
{
  char        text[32];
  const char *of[2 * SWEEP_MAX_NAMES + 2] = {0};
  const int   n_columns                   = f->n_columns;
  (void)snprintf(text, sizeof text, "%lld", (long long)number);
  of[0] = number ? text : "number";
  of[1] = number ? c->id : "id";
  for (int i = 0; i < plan->n_parameters; ++i) of[f->parameter[i]] = number ? c->value[i] : plan->parameter[i];
  for (int i = 0; i < plan->n_settings; ++i)
    if (f->setting[i] >= 0) of[f->setting[i]] = number ? setting_value(plan, c, i) : plan->setting[i];
  for (int i = 0; i < n_columns; ++i) csv_append(b, of[i], i == 0);
  text_put(b, "\n");
}

/* Columns of a new folder, in the order of the plan. */
static void set_new_columns(cases_file *f, const sweep_plan *plan)
{
  f->n_columns = COLUMN_PARAMETER;
  for (int i = 0; i < plan->n_parameters; ++i) f->parameter[i] = f->n_columns++;
  for (int i = 0; i < plan->n_settings; ++i) f->setting[i] = has_column(plan, i) ? f->n_columns++ : -1;
}

/* Comparison of the folder with a plan. */

typedef struct {
  const char  *dir;
  diagnostics *d;
} base_differences;

static PetscErrorCode add_difference(const key_difference *k, void *context)
{
  const base_differences *b = context;
  diagnostics_add(b->d, (document_mark){0}, b->dir, "the base job differs: %s: %s -> %s", k->path, k->before ? k->before : "(not given)",
                  k->after ? k->after : "(not given)");
  return PETSC_SUCCESS;
}

/* Compares two jobs given by name and text. Defaults are written out first, so that an explicit default is not a difference. */
static PetscErrorCode compare_jobs(const char *const name[2], const char *const text[2], document *doc, diagnostics *quiet,
                                   base_differences *to)
{
  document_node *root[2], *whole[2];

  PetscFunctionBegin;
  for (int i = 0; i < 2; ++i) {
    PetscCall(yaml_read_text_into(name[i], text[i], strlen(text[i]), doc, quiet, &root[i]));
    PetscCheck(root[i] && root[i]->kind == DOCUMENT_MAPPING, PETSC_COMM_SELF, PETSC_ERR_FILE_READ,
               "%s: not a valid job; restore the original file", name[i]);
    PetscCall(key_table_resolve(&job_table, doc, root[i], &whole[i]));
  }
  PetscCall(key_table_compare(&job_table, whole[0], whole[1], add_difference, to));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode compare_base(const char *dir, const sweep_plan *plan, diagnostics *d)
{
  char            *path __attribute__((cleanup(memory_free))) = NULL, *text __attribute__((cleanup(memory_free))) = NULL;
  base_differences to                                                  = {dir, d};
  document        *doc __attribute__((cleanup(document_destroy)))      = NULL;
  diagnostics     *quiet __attribute__((cleanup(diagnostics_destroy))) = NULL;

  PetscFunctionBegin;
  PetscCall(read_file(dir, "base.yaml", &path, &text));
  if (!strcmp(text, plan->base_text)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(diagnostics_create(&quiet));
  PetscCall(document_create(&doc));
  PetscCall(compare_jobs((const char *const[]){path, plan->base}, (const char *const[]){text, plan->base_text}, doc, quiet, &to));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Hash table of the rows of cases.csv by id, with open addressing; 0: free. */
typedef struct {
  int64_t  capacity;
  int64_t *row;
} id_index;

static int64_t id_slot(const id_index *index, const cases_file *f, const char *id)
{
  uint64_t h = 14695981039346656037u;
  for (const char *c = id; *c; ++c) h = (h ^ (unsigned char)*c) * 1099511628211u;
  int64_t i = (int64_t)((h ^ h >> 32) & (uint64_t)(index->capacity - 1));
  while (index->row[i] && strcmp(get_cell(f, index->row[i], 1), id)) i = (i + 1) & (index->capacity - 1);
  return i;
}

static PetscErrorCode index_cases(const cases_file *f, id_index *index)
{
  PetscFunctionBegin;
  index->capacity = 16;
  while (index->capacity < 2 * f->table.n_rows) index->capacity *= 2;
  PetscCall(memory_alloc("sweep", index->capacity, sizeof *index->row, &index->row));
  for (int64_t i = 1; i < f->table.n_rows; ++i) index->row[id_slot(index, f, get_cell(f, i, 1))] = i;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Reports changed values of an existing case. */
static void compare_case(const cases_file *f, int64_t row, const char *dir, const sweep_plan *plan, const sweep_case *c, diagnostics *d)
{
  char words[160];
  for (int i = 0; i < plan->n_parameters + plan->n_settings; ++i) {
    const int   k      = i - plan->n_parameters;
    const int   column = k < 0 ? f->parameter[i] : f->setting[k];
    const char *is     = k < 0 ? c->value[i] : setting_value(plan, c, k);
    if (column < 0 || !strcmp(get_cell(f, row, column), is)) continue;
    diagnostics_add(d, (document_mark){0}, dir, "case %lld (%s) differs: %s: %.80s -> %.80s", (long long)row,
                    sweep_case_text(plan, c, sizeof words, words), k < 0 ? plan->parameter[i] : plan->setting[k], get_cell(f, row, column),
                    is);
  }
}

/* Updating the folder. */

typedef struct {
  cases_file  file;
  id_index    index;
  int64_t     n_new;
  text_buffer rows; /* the new table */
} update;

static void update_clear(update *u)
{
  csv_clear(&u->file.table);
  memory_free(&u->index.row);
  text_clear(&u->rows);
}

/* Compares an existing folder with the plan and counts the new cases. */
static PetscErrorCode compare_folder(const char *dir, const sweep_plan *plan, diagnostics *d, update *u)
{
  const int before = diagnostics_count(d);

  PetscFunctionBegin;
  PetscCall(read_cases(dir, &u->file));
  u->file.n_columns = u->file.table.n_columns;
  PetscCall(compare_base(dir, plan, d));
  const bool is_same = match_columns(&u->file, dir, plan, d);
  PetscCall(index_cases(&u->file, &u->index));
  for (int64_t i = 0; i < plan->n_cases && is_same; ++i) {
    const int64_t row = u->index.row[id_slot(&u->index, &u->file, plan->cases[i].id)];
    if (row) compare_case(&u->file, row, dir, plan, &plan->cases[i], d);
    else ++u->n_new;
  }
  if (diagnostics_count(d) > before)
    diagnostics_add(d, (document_mark){0}, dir,
                    "the folder would contain results of two different sweeps; choose another --out, or undo the change");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Writes the existing rows unchanged, then the new ones. */
static void write_rows(const sweep_plan *plan, update *u)
{
  const cases_file *f    = &u->file;
  int64_t           next = f->table.n_rows ? f->table.n_rows : 1;
  for (int64_t i = 0; i < f->table.n_rows; ++i) {
    for (int k = 0; k < f->table.n_columns; ++k) csv_append(&u->rows, get_cell(f, i, k), k == 0);
    text_put(&u->rows, "\n");
  }
  if (!f->table.n_rows) append_row(&u->rows, plan, f, 0, NULL);
  for (int64_t i = 0; i < plan->n_cases; ++i)
    if (!f->table.n_rows || !u->index.row[id_slot(&u->index, f, plan->cases[i].id)]) append_row(&u->rows, plan, f, next++, &plan->cases[i]);
}

static PetscErrorCode replace_file(const char *dir, const char *name, const char *text, int64_t n)
{
  char *path __attribute__((cleanup(memory_free))) = NULL;

  PetscFunctionBegin;
  PetscCall(file_format(&path, "%s/%s", dir, name));
  PetscCall(file_replace_text(path, (size_t)n, text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* cases.csv is written last, because the folder counts as a sweep if it exists. If the process is killed before, the next update
 * starts again. */
static PetscErrorCode write_folder(const char *dir, const sweep_plan *plan, bool is_new, update *u)
{
  PetscFunctionBegin;
  if (is_new) {
    set_new_columns(&u->file, plan);
    u->n_new = plan->n_cases;
    PetscCall(replace_file(dir, "base.yaml", plan->base_text, (int64_t)strlen(plan->base_text)));
  }
  PetscCall(replace_file(dir, "sweep.yaml", plan->text, (int64_t)strlen(plan->text)));
  if (u->n_new == 0) PetscFunctionReturn(PETSC_SUCCESS);
  write_rows(plan, u);
  PetscCall(u->rows.code);
  PetscCall(replace_file(dir, "cases.csv", u->rows.data, u->rows.n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode check_no_run(const char *dir)
{
  PetscFunctionBegin;
  PetscCheck(!has_file(dir, "job.yaml") && !has_file(dir, "checkpoints"), PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "%s contains a run, not a sweep; choose another --out", dir);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode update_locked(const char *dir, const sweep_plan *plan, bool is_writing, diagnostics *d, update *u)
{
  const bool is_new = !sweep_folder_exists(dir);
  const int  before = diagnostics_count(d);

  PetscFunctionBegin;
  if (is_new) PetscCall(check_no_run(dir));
  else PetscCall(compare_folder(dir, plan, d, u));
  if (diagnostics_count(d) > before) u->n_new = 0;
  else if (is_writing) PetscCall(write_folder(dir, plan, is_new, u));
  else if (is_new) u->n_new = plan->n_cases;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode sweep_folder_update(const char *dir, const sweep_plan *plan, diagnostics *d, int64_t *n_new)
{
  update    u = {0};
  run_lock *lock;

  PetscFunctionBegin;
  PetscCall(run_lock_acquire(dir, &lock));
  const PetscErrorCode code = update_locked(dir, plan, true, d, &u);
  *n_new                    = u.n_new;
  update_clear(&u);
  run_lock_release(&lock);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode sweep_folder_compare(const char *dir, const sweep_plan *plan, diagnostics *d, int64_t *n_new)
{
  update u = {0};

  PetscFunctionBegin;
  const PetscErrorCode code = update_locked(dir, plan, false, d, &u);
  *n_new                    = u.n_new;
  update_clear(&u);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Reading a sweep. */

static PetscErrorCode read_case_row(const cases_file *f, int64_t row, sweep_plan *plan, sweep_case *c)
{
  PetscFunctionBegin;
  c->number      = row;
  c->id          = document_intern(plan->owner, get_cell(f, row, 1));
  c->n_overrides = plan->n_settings;
  PetscCall(document_alloc(plan->owner, (size_t)(plan->n_parameters + 1) * sizeof *c->value, &c->value));
  PetscCall(document_alloc(plan->owner, (size_t)(plan->n_settings + 1) * sizeof *c->overrides, &c->overrides));
  for (int i = 0; i < plan->n_parameters; ++i) {
    c->value[i] = document_intern(plan->owner, get_cell(f, row, f->parameter[i]));
    PetscCheck(c->value[i], PETSC_COMM_SELF, PETSC_ERR_MEM,
               "out of memory: the table of cases does not fit; split the sweep or use a larger machine");
  }
  for (int i = 0; i < plan->n_settings; ++i) {
    const int   of   = find_name(plan->n_parameters, plan->parameter, plan->setting[i]);
    const char *text = of >= 0 ? c->value[of] : get_cell(f, row, f->setting[i]);
    char       *whole;
    PetscCall(document_alloc(plan->owner, strlen(plan->setting[i]) + strlen(text) + 2, &whole));
    (void)sprintf(whole, "%s=%s", plan->setting[i], text);
    c->overrides[i] = whole;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode read_rows(const char *dir, sweep_plan *plan, cases_file *f)
{
  PetscFunctionBegin;
  PetscCheck(match_columns(f, dir, plan, NULL), PETSC_COMM_SELF, PETSC_ERR_FILE_READ,
             "%s: cases.csv and sweep.yaml do not match; restore the file that was changed", dir);
  plan->n_cases = f->table.n_rows - 1;
  PetscCall(document_alloc(plan->owner, (size_t)(plan->n_cases + 1) * sizeof *plan->cases, &plan->cases));
  for (int64_t i = 0; i < plan->n_cases; ++i) PetscCall(read_case_row(f, i + 1, plan, &plan->cases[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode read_names(const char *dir, const char *path, sweep_plan **out)
{
  char        *base __attribute__((cleanup(memory_free))) = NULL, *text __attribute__((cleanup(memory_free))) = NULL;
  diagnostics *d;

  PetscFunctionBegin;
  PetscCall(diagnostics_create(&d));
  char           problem[500] = "";
  PetscErrorCode code         = sweep_plan_read_names(path, d, out);
  if (diagnostics_count(d)) (void)snprintf(problem, sizeof problem, "%s", diagnostics_text(d, 0));
  diagnostics_destroy(&d);
  PetscCall(code);
  PetscCheck(*out, PETSC_COMM_SELF, PETSC_ERR_FILE_READ, "%s", problem);
  PetscCall(read_file(dir, "base.yaml", &base, &text));
  (*out)->base      = document_intern((*out)->owner, base);
  (*out)->base_text = document_intern((*out)->owner, text);
  PetscCheck((*out)->base && (*out)->base_text, PETSC_COMM_SELF, PETSC_ERR_MEM,
             "out of memory: no space for a sweep; use a smaller scene or a larger machine");
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode sweep_folder_read(const char *dir, sweep_plan **out)
{
  char      *path __attribute__((cleanup(memory_free))) = NULL;
  cases_file f;

  PetscFunctionBegin;
  *out = NULL;
  PetscCall(file_format(&path, "%s/sweep.yaml", dir));
  PetscCheck(sweep_folder_exists(dir) && !access(path, R_OK), PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN,
             "%s is not a sweep folder: cases.csv or sweep.yaml is missing", dir);
  PetscCall(read_cases(dir, &f));
  PetscErrorCode code = read_names(dir, path, out);
  if (!code) code = read_rows(dir, *out, &f);
  csv_clear(&f.table);
  if (code) sweep_plan_destroy(out);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- the state of a case ------------------------------------------------------------------------------------------ */

static case_state convert_status(const run_result *r, bool is_held)
{
  if (is_held) return CASE_RUNNING;
  switch ((run_status)r->status) {
  case RUN_FINISHED:
  case RUN_SEE_QUALITY: return CASE_FINISHED;
  case RUN_FAILED: return CASE_FAILED;
  case RUN_RUNNING:
  case RUN_STOPPED: break;
  }
  return CASE_STOPPED;
}

PetscErrorCode sweep_folder_state(const char *dir, int64_t number, case_state *state, char *why, size_t size)
{
  char              path[4400];
  struct stat       about;
  document         *owner;
  const run_result *r;

  PetscFunctionBegin;
  *state = CASE_WAITING;
  why[0] = 0;
  sweep_folder_case(dir, number, sizeof path, path);
  if (stat(path, &about)) PetscFunctionReturn(PETSC_SUCCESS);
  /* Check the lock first: a run that ends now has written its result by the time it is read. */
  const bool     is_held = run_lock_is_held(path);
  PetscErrorCode code    = run_result_read(path, &owner, &r);
  if (code == PETSC_ERR_FILE_READ) { /* damaged result: the case can be continued from its checkpoints */
    *state = is_held ? CASE_RUNNING : CASE_STOPPED;
    (void)snprintf(why, size, "%s", error_message());
    error_clear();
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(code);
  if (!r) {
    *state = is_held ? CASE_RUNNING : CASE_WAITING;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  *state = convert_status(r, is_held);
  (void)snprintf(why, size, "%s", r->status == RUN_RUNNING && !is_held ? "killed, or the machine failed" : r->reason);
  document_destroy(&owner);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Begin of an error message of the program in the log; PETSc's message of a crash; part of the line at the start of a case. */
static const char OUR_MARK[] = "stickslip: ", CRASH_MARK[] = "Caught signal number", START_MARK[] = ": stickslip run ",
                  WARNING_MARK[] = "warning: ";

/* The line without its time stamp. */
static char *skip_time_stamp(char *line)
{
  int stamp = 0;
  if (sscanf(line, "%*4d-%*2d-%*2d %*2d:%*2d:%*2d %n", &stamp) < 0) stamp = 0;
  return line + stamp;
}

/* Reads the end of log.txt; false if there is none. */
static bool read_log_end(const char *dir, int64_t number, size_t size, char *tail)
{
  char        folder[4300], path[4320];
  const char *why;
  sweep_folder_case(dir, number, sizeof folder, folder);
  snprintf(path, sizeof path, "%s/log.txt", folder);
  FILE *in = regular_file_stream(path, "r", &why);
  if (!in) return false;
  if (fseek(in, -(long)(size - 1), SEEK_END)) rewind(in);
  tail[fread(tail, 1, size - 1, in)] = 0;
  fclose(in);
  return true;
}

void sweep_folder_error(const char *dir, int64_t number, size_t size, char *words)
{
  char    tail[8192], *rest = tail;
  bool    is_error = false, is_warning = false; /* of the last lines */
  int64_t n_more = 0;
  words[0]       = 0;
  if (!read_log_end(dir, number, sizeof tail, tail)) return;
  for (char *line; (line = strsep(&rest, "\n"));) {
    const char *text       = skip_time_stamp(line);
    const bool  is_stamped = text != line;
    if (!*text) continue;
    if (strstr(text, START_MARK)) { /* ignore messages of earlier starts */
      words[0] = 0;
      is_error = is_warning = false;
      n_more                = 0;
      continue;
    }
    const char *message = strstr(text, CRASH_MARK);
    if (!strncmp(text, OUR_MARK, sizeof OUR_MARK - 1)) message = text + sizeof OUR_MARK - 1;
    if (message) {
      snprintf(words, size, "%s", message);
      is_error = true;
    } else if (is_stamped) {
      is_warning = !strncmp(text, WARNING_MARK, sizeof WARNING_MARK - 1);
    } else if (!is_error && !is_warning) { /* diagnostics of the job have no time; further lines of a warning have none either */
      if (!*words) snprintf(words, size, "%s", text);
      else ++n_more;
    }
  }
  const size_t n = strlen(words);
  if (!is_error && n_more > 0) snprintf(words + n, size - n, " (%lld more lines in log.txt)", (long long)n_more);
}
