/* Key tables, reading and writing of result.yaml, machine.yaml and stages.csv. */
#include "app/run/run_result.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "core/machine.h"
#include "core/memory.h"
#include "core/text.h"
#include "core/version.h"
#include "io/checksum.h"
#include "io/library_versions.h"
#include "io/sealed_file.h"
#include "io/yaml.h"

/* --- result.yaml -------------------------------------------------------------------------------------------------- */

const char *const run_status_names[] = {
#define X(name, text, style) [name] = text,
    RUN_STATUS_TABLE(X)
#undef X
        NULL};
const char *const run_status_styles[] = {
#define X(name, text, style) [name] = style,
    RUN_STATUS_TABLE(X)
#undef X
};

bool run_status_is_finished(int status) { return status == RUN_FINISHED || status == RUN_SEE_QUALITY; }

#define OF(member) .name = #member, .offset = offsetof(run_result, member)
#define OF_MEASURE(member) .name = #member, .offset = offsetof(run_result_measure, member)
static const key_spec measure_keys[] = {
    {OF_MEASURE(unit), .type = KEY_STRING, .fallback = "\"\"", .help = "unit of the values below; 1: dimensionless"},
    {OF_MEASURE(n), .type = KEY_INT, .fallback = "0", .min = 0, .max = INFINITY, .help = "number of finite records"},
    {OF_MEASURE(last), .type = KEY_REAL, .is_optional = true, .help = "value of the last record; absent if it was not finite"},
    {OF_MEASURE(min), .type = KEY_REAL, .is_optional = true, .help = "smallest value"},
    {OF_MEASURE(max), .type = KEY_REAL, .is_optional = true, .help = "largest value"},
    {OF_MEASURE(mean), .type = KEY_REAL, .is_optional = true, .help = "mean of the finite records"},
    {OF_MEASURE(time_of_min), .type = KEY_REAL, .unit = "s", .is_optional = true, .help = "when the smallest was first reached"},
    {OF_MEASURE(time_of_max), .type = KEY_REAL, .unit = "s", .is_optional = true, .help = "when the largest was first reached"},
    {.name = NULL}};
static const key_table measure_result_table = {.name = "result.measures",
                                               .help = "Statistics of one measure over the whole run.",
                                               .size = sizeof(run_result_measure),
                                               .keys = measure_keys};
static const key_spec  result_keys[]        = {
            {OF(result), .type = KEY_INT, .min = 1, .max = RUN_RESULT_FORMAT, .help = "format of this file"},
            {OF(status), .type = KEY_ENUM, .choices = run_status_names,
             .help = "running: started and not ended, or killed; finished, see quality: an entry of the quality block exceeds its bound"},
            {OF(job), .type = KEY_STRING, .help = "name of the job"},
            {OF(reason), .type = KEY_STRING, .fallback = "\"\"", .help = "why the run ended"},
            {OF(exit_code), .type = KEY_INT, .min = -1, .max = 255, .help = "exit code of the program; -1 while it is running"},
            {OF(program), .type = KEY_STRING, .help = "version and source revision"},
            {OF(host), .type = KEY_STRING, .help = "host of the last start"},
            {OF(threads), .type = KEY_INT, .help = "threads of the last start"},
            {OF(starts), .type = KEY_INT, .min = 1, .max = INFINITY, .help = "1 + number of resumes"},
            {OF(begun), .type = KEY_STRING, .help = "date of the first start, UTC"},
            {OF(updated), .type = KEY_STRING, .help = "date when this file was written, UTC"},
            {OF(step), .type = KEY_INT, .min = 0, .max = INFINITY, .help = "completed time steps"},
            {OF(retries), .type = KEY_INT, .min = 0, .max = INFINITY, .help = "repeated attempts of steps"},
            {OF(time), .type = KEY_REAL, .unit = "s", .help = "simulated time"},
            {OF(seconds), .type = KEY_REAL, .unit = "s", .help = "wall time of all starts"},
            {OF(user_seconds), .type = KEY_REAL, .unit = "s", .help = "CPU time of all starts"},
            {OF(peak_resident_memory), .type = KEY_REAL, .unit = "byte", .help = "largest resident memory of all starts"},
            {OF(newton), .type = KEY_INT, .min = 0, .max = INFINITY, .help = "Newton iterations"},
            {OF(linear), .type = KEY_INT, .min = 0, .max = INFINITY, .help = "iterations of the linear solver"},
            {OF(contacts), .type = KEY_INT, .min = 0, .max = INFINITY, .help = "active contacts after the last step"},
            {OF(max_penetration), .type = KEY_REAL, .unit = "m", .help = "largest penetration depth of all steps"},
            {OF(quality), .type = KEY_TABLE, .table = &run_quality_table, .is_optional = true,
             .help = "numbers that show whether the results can be trusted"},
            {OF(measures), .type = KEY_NAMED, .table = &measure_result_table, .is_optional = true, .help = "results of the measures of the job"},
            {.name = NULL}};
const key_table run_result_table = {
    .name = "result", .help = "The outcome of a run: DIR/result.yaml.", .size = sizeof(run_result), .keys = result_keys};

static void get_result_path(const char *dir, size_t size, char *path) { snprintf(path, size, "%s/result.yaml", dir); }

/* Begin of the last line of the file. */
static const char SEAL[] = "checksum: ";
enum { SEAL_LINE = sizeof SEAL - 1 + CHECKSUM_TEXT }; /* the newline takes the place of the terminating 0 */

static void compute_seal(const char *text, size_t n, char line[SEAL_LINE + 1])
{
  checksum c;
  uint64_t sum[CHECKSUM_WORDS];
  char     digits[CHECKSUM_TEXT];
  checksum_begin(&c);
  checksum_add(&c, text, n);
  checksum_end(&c, sum);
  checksum_text(sum, digits);
  snprintf(line, SEAL_LINE + 1, "%s%s\n", SEAL, digits);
}

static PetscErrorCode write_sealed_text(const run_result *r, text_buffer *b)
{
  document      *doc;
  document_node *root;
  char          *text = NULL, line[SEAL_LINE + 1];

  PetscFunctionBegin;
  PetscCall(document_create(&doc));
  PetscErrorCode code = key_table_write(&run_result_table, doc, r, &root);
  if (!code) code = document_write(root, &text);
  document_destroy(&doc);
  PetscCall(code);
  compute_seal(text, strlen(text), line);
  text_put(b, text);
  memory_free(&text);
  text_append(b, line, SEAL_LINE);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void run_result_now(char text[RUN_DATE])
{
  const time_t now = time(NULL);
  struct tm    utc;
  gmtime_r(&now, &utc);
  strftime(text, RUN_DATE, "%Y-%m-%dT%H:%M:%SZ", &utc);
}

PetscErrorCode run_result_write(const char *dir, const run_result *r)
{
  text_buffer b = {0};
  char        path[4400];

  PetscFunctionBegin;
  get_result_path(dir, sizeof path, path);
  PetscCall(write_sealed_text(r, &b));
  PetscCall(file_replace_with(path, &b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* `problem`: error message, or "". */
static PetscErrorCode read_sealed(const char *path, const char *text, size_t n, document *doc, const run_result **out, size_t size,
                                  char *problem)
{
  char         line[SEAL_LINE + 1];
  const void  *read                                            = NULL;
  diagnostics *d __attribute__((cleanup(diagnostics_destroy))) = NULL;

  PetscFunctionBegin;
  if (n >= SEAL_LINE) compute_seal(text, n - SEAL_LINE, line);
  if (n < SEAL_LINE || memcmp(text + n - SEAL_LINE, line, SEAL_LINE)) {
    snprintf(problem, size, "%.1200s: is damaged or was edited: its checksum does not match", path);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(diagnostics_create(&d));
  PetscCall(yaml_read_text(path, text, n - SEAL_LINE, doc, d));
  PetscCall(key_table_read(&run_result_table, doc, document_root(doc), "", d, &read));
  if (diagnostics_count(d)) snprintf(problem, size, "%s; was it written by a newer stickslip?", diagnostics_text(d, 0));
  *out = read;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode run_result_read(const char *dir, document **owner, const run_result **out)
{
  char   path[4400], problem[1500] = "", *text = NULL;
  size_t n;

  PetscFunctionBegin;
  *owner = NULL, *out = NULL;
  get_result_path(dir, sizeof path, path);
  PetscCall(file_read_text(path, &text, &n));
  if (!text) PetscFunctionReturn(PETSC_SUCCESS);
  PetscErrorCode code = document_create(owner);
  if (!code) code = read_sealed(path, text, n, *owner, out, sizeof problem, problem);
  memory_free(&text);
  if (code || *problem) document_destroy(owner), *out = NULL;
  PetscCall(code);
  PetscCheck(!*problem, PETSC_COMM_SELF, PETSC_ERR_FILE_READ, "%s", problem);
  PetscFunctionReturn(PETSC_SUCCESS);
}

const run_result_measure *run_result_find(const run_result *r, const char *measure)
{
  for (int i = 0; i < r->measures.n; ++i)
    if (strcmp(r->measures.item[i].name, measure) == 0) return r->measures.item[i].value;
  return NULL;
}

/* --- all files ------------------------------------------------------------------------------------------------------ */

const run_file run_files[] = {
    {"job.yaml", "the job with all defaults written out", "at the start"},
    {"checkpoints/", "the state in HDF5 with checksums; `resume` uses the newest valid one",
     "at intervals of output.checkpoint and output.checkpoint_wall, and at the end"},
    {"frames.xmf", "index of the frames for ParaView: open this file", "with each frame"},
    {"frames/", "one HDF5 file per frame: geometry and fields; `constant.h5`: their constant data",
     "at intervals of time.frame, at the start and at the end"},
    {"history.csv", "one row per step: energies, momenta, contacts, iterations", "after each step, or each output.history_every steps"},
    {"measure/NAME.csv", "one table per entry of measure: in the job", "after each step, or at intervals of the measure"},
    {"fclib/", "contact problems of formulation exact for `stickslip friction`", "each output.fclib steps"},
    {"result.yaml", "status, totals and statistics of the measures, for programs", "at the start, with each checkpoint and at the end"},
    {"summary.txt", "iterations, contacts, totals of the columns of history.csv, time by stage; of the last start", "at the end"},
    {"stages.csv", "time of each stage, of all starts", "with checkpoints and at the end"},
    {"machine.yaml", "program, libraries and machine", "at the start"},
    {"report.html", "all results on one page, for a browser", "at the end if gnuplot is installed, or by `report`"},
    {"still.png", "picture of the last frame", "at the end, or by `render`"},
    {"animation.png", "all frames", "by `render --animation`"},
    {"failure.txt", "the failed step, the reason, and possible remedies", "after a step failed at the smallest allowed size"},
    {"log.txt", "messages of the program with times, as in a batch log; `resume` and `--continue` append", "during the run"},
    {NULL, NULL, NULL}};

/* --- machine.yaml ------------------------------------------------------------------------------------------------- */

/* clang-format off */
#define TEXT(key, about) {.name = #key, .type = KEY_STRING, .offset = offsetof(run_machine, key), .fallback = "\"\"", .help = about}
static const key_spec machine_keys[] = {
  TEXT(built, "compiler, PETSc and MPI"), TEXT(libraries, "versions of HDF5 and libyaml"), TEXT(system, "operating system"), TEXT(processor, "processor model"),
  {.name = "processors", .type = KEY_INT, .offset = offsetof(run_machine, processors), .fallback = "0", .max = INFINITY, .help = "number of CPUs available to the run"},
  {.name = "memory", .type = KEY_REAL, .offset = offsetof(run_machine, memory), .fallback = "0", .max = INFINITY, .help = "memory of the machine in bytes"},
  {.name = NULL}};
/* clang-format on */
const key_table run_machine_table = {
    .name = "machine", .help = "Program, libraries and machine of a run.", .size = sizeof(run_machine), .keys = machine_keys};

PetscErrorCode run_machine_write(const char *dir)
{
  document      *doc __attribute__((cleanup(document_destroy))) = NULL;
  char          *text __attribute__((cleanup(memory_free)))     = NULL;
  char           path[4300], built[2048], libraries[256];
  document_node *root;
  machine        m;
  PetscFunctionBegin;
  machine_describe(&m);
  version_describe(sizeof built, built);
  library_versions(sizeof libraries, libraries);
  const run_machine here = {built, libraries, m.system, m.processor, m.n_processors, m.memory};
  PetscCall(document_create(&doc));
  PetscCall(key_table_write(&run_machine_table, doc, &here, &root));
  PetscCall(document_write(root, &text));
  snprintf(path, sizeof path, "%s/machine.yaml", dir);
  PetscCall(file_replace_text(path, strlen(text), text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode run_machine_read(const char *dir, document **owner, const run_machine **out)
{
  char         path[4300];
  diagnostics *d;
  const void  *value = NULL;
  PetscFunctionBegin;
  *owner = NULL, *out = NULL;
  snprintf(path, sizeof path, "%s/machine.yaml", dir);
  if (access(path, R_OK) != 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(diagnostics_create(&d));
  PetscErrorCode code = document_create(owner);
  if (!code) code = yaml_read_file(path, *owner, d);
  if (!code && diagnostics_count(d) == 0) code = key_table_read(&run_machine_table, *owner, document_root(*owner), "", d, &value);
  if (!code && diagnostics_count(d) == 0) *out = value;
  diagnostics_destroy(&d);
  if (!*out) document_destroy(owner);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- stages.csv --------------------------------------------------------------------------------------------------- */

#define HEADER "stage,seconds [s],calls,traffic [byte],operations\n"

void run_stages_add(run_stages *to, const char *name, const timer_record *record)
{
  int i = 0;
  while (i < to->n && strcmp(to->stage[i].name, name) != 0) ++i;
  if (i == RUN_STAGES_MAX) return;
  if (i == to->n) {
    memset(&to->stage[to->n++], 0, sizeof *to->stage);
    snprintf(to->stage[i].name, sizeof to->stage[i].name, "%s", name);
  }
  timer_record *sum = &to->stage[i].record;
  sum->seconds += record->seconds, sum->bytes += record->bytes, sum->flops += record->flops;
  sum->n_calls += record->n_calls;
}

PetscErrorCode run_stages_read(const char *dir, run_stages *out)
{
  char   path[4300];
  char  *text __attribute__((cleanup(memory_free))) = NULL;
  size_t n;
  PetscFunctionBegin;
  out->n = 0;
  snprintf(path, sizeof path, "%s/stages.csv", dir);
  PetscCall(file_read_text(path, &text, &n));
  if (!text || strncmp(text, HEADER, strlen(HEADER)) != 0) PetscFunctionReturn(PETSC_SUCCESS);
  for (const char *row = text + strlen(HEADER); strchr(row, '\n'); row = strchr(row, '\n') + 1) {
    char         name[48];
    timer_record r;
    long long    calls;
    if (sscanf(row, "%47[^,\n],%lf,%lld,%lf,%lf", name, &r.seconds, &calls, &r.bytes, &r.flops) != 5) continue;
    r.n_calls = calls;
    if (r.seconds >= 0 && r.bytes >= 0 && r.flops >= 0) run_stages_add(out, name, &r);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode run_stages_write(const char *dir, const run_stages *past)
{
  char        path[4300];
  text_buffer b   = {0};
  run_stages  all = *past;
  PetscFunctionBegin;
  for (int i = 0; i < timer_n_stages(); ++i) {
    const timer_stage  stage = timer_stage_at(i);
    const timer_record r     = timer_record_of(stage);
    if (r.n_calls > 0 || r.seconds > 0) run_stages_add(&all, timer_name(stage), &r);
  }
  snprintf(path, sizeof path, "%s/stages.csv", dir);
  text_put(&b, HEADER);
  for (int i = 0; i < all.n; ++i) {
    const timer_record *r = &all.stage[i].record;
    text_printf(&b, "%s,%.6f,%lld,%.17g,%.17g\n", all.stage[i].name, r->seconds, (long long)r->n_calls, r->bytes, r->flops);
  }
  PetscCall(file_replace_with(path, &b));
  PetscFunctionReturn(PETSC_SUCCESS);
}
