#include "app/run/run_result.h"
#include <string.h>
#include "core/memory.h"
#include "core/text.h"
#include "io/checksum.h"
#include "io/sealed_file.h"
#include "io/yaml.h"

const char *const run_status_names[] = {
#define X(name, text) [name] = text,
  RUN_STATUS_TABLE(X)
#undef X
  NULL};

#define OF(member) .name = #member, .offset = offsetof(run_result, member)
#define OF_MEASURE(member) .name = #member, .offset = offsetof(run_result_measure, member)
static const key_spec measure_keys[] = {
  {OF_MEASURE(unit), .type = KEY_STRING, .fallback = "\"\"", .help = "of the numbers below; 1 for none"},
  {OF_MEASURE(n), .type = KEY_INT, .fallback = "0", .min = 0, .max = INFINITY, .help = "finite records"},
  {OF_MEASURE(last), .type = KEY_REAL, .is_optional = true, .help = "value of the last record; absent if it was not finite"},
  {OF_MEASURE(min), .type = KEY_REAL, .is_optional = true, .help = "smallest"},
  {OF_MEASURE(max), .type = KEY_REAL, .is_optional = true, .help = "largest"},
  {OF_MEASURE(mean), .type = KEY_REAL, .is_optional = true, .help = "over the records"},
  {OF_MEASURE(time_of_min), .type = KEY_REAL, .unit = "s", .is_optional = true, .help = "when the smallest was first reached"},
  {OF_MEASURE(time_of_max), .type = KEY_REAL, .unit = "s", .is_optional = true, .help = "when the largest was first reached"},
  {.name = NULL}};
static const key_table measure_result_table = {
  .name = "result.measures", .help = "One measure over the whole run.", .size = sizeof(run_result_measure), .keys = measure_keys};
static const key_spec result_keys[] = {
  {OF(result), .type = KEY_INT, .min = 1, .max = RUN_RESULT_FORMAT, .help = "format of this file"},
  {OF(status), .type = KEY_ENUM, .choices = run_status_names, .help = "running: begun and not ended, or killed"},
  {OF(job), .type = KEY_STRING, .help = "name of the job"},
  {OF(reason), .type = KEY_STRING, .fallback = "\"\"", .help = "why it ended"},
  {OF(exit_code), .type = KEY_INT, .min = -1, .max = 255, .help = "of the program; -1 while it runs"},
  {OF(program), .type = KEY_STRING, .help = "version and source revision"},
  {OF(host), .type = KEY_STRING, .help = "where it ran last"},
  {OF(threads), .type = KEY_INT, .help = "of the last start"},
  {OF(starts), .type = KEY_INT, .min = 1, .max = INFINITY, .help = "1 and the number of resumes"},
  {OF(begun), .type = KEY_STRING, .help = "first start, UTC"},
  {OF(updated), .type = KEY_STRING, .help = "when this was written, UTC"},
  {OF(step), .type = KEY_INT, .min = 0, .max = INFINITY, .help = "whole steps done"},
  {OF(retries), .type = KEY_INT, .min = 0, .max = INFINITY, .help = "steps that were retried"},
  {OF(time), .type = KEY_REAL, .unit = "s", .help = "simulated"},
  {OF(seconds), .type = KEY_REAL, .unit = "s", .help = "on the clock, over all starts"},
  {OF(user_seconds), .type = KEY_REAL, .unit = "s", .help = "CPU time over all starts"},
  {OF(peak_memory), .type = KEY_REAL, .unit = "byte", .help = "resident, the largest of all starts"},
  {OF(newton), .type = KEY_INT, .min = 0, .max = INFINITY, .help = "Newton iterations"},
  {OF(linear), .type = KEY_INT, .min = 0, .max = INFINITY, .help = "iterations of the linear solver"},
  {OF(contacts), .type = KEY_INT, .min = 0, .max = INFINITY, .help = "active after the last step"},
  {OF(max_penetration), .type = KEY_REAL, .unit = "m", .help = "of all steps"},
  {OF(measures), .type = KEY_NAMED, .table = &measure_result_table, .is_optional = true, .help = "the job's measures"},
  {.name = NULL}};
const key_table run_result_table = {
  .name = "result", .help = "What became of a run: DIR/result.yaml.", .size = sizeof(run_result), .keys = result_keys};

static void path_of(const char *dir, size_t size, char *path) { snprintf(path, size, "%s/result.yaml", dir); }

/* The last line of the file. */
static const char SEAL[] = "checksum: ";
enum { SEAL_LINE = sizeof SEAL - 1 + CHECKSUM_TEXT }; /* with its newline in place of the 0 */

static void seal_of(const char *text, size_t n, char line[SEAL_LINE + 1])
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

static PetscErrorCode text_of(const run_result *r, text_buffer *b)
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
  seal_of(text, strlen(text), line);
  code = text_append(b, text, (int64_t)strlen(text));
  memory_free(&text);
  PetscCall(code);
  PetscCall(text_append(b, line, SEAL_LINE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode run_result_write(const char *dir, const run_result *r)
{
  text_buffer b = {0};
  char        path[4400];

  PetscFunctionBegin;
  path_of(dir, sizeof path, path);
  PetscErrorCode code = text_of(r, &b);
  if (!code) code = file_replace_text(path, (size_t)b.n, b.data);
  memory_free(&b.data);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is wrong goes to `problem`, "" if nothing. */
static PetscErrorCode read_sealed(const char *path, const char *text, size_t n, document *doc, const run_result **out, size_t size, char *problem)
{
  char         line[SEAL_LINE + 1];
  const void  *read = NULL;
  diagnostics *d;

  PetscFunctionBegin;
  if (n >= SEAL_LINE) seal_of(text, n - SEAL_LINE, line);
  if (n < SEAL_LINE || memcmp(text + n - SEAL_LINE, line, SEAL_LINE)) {
    snprintf(problem, size, "%.1200s: is damaged or was edited: its checksum does not fit", path);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(diagnostics_create(&d));
  PetscErrorCode code = yaml_read_text(path, text, n - SEAL_LINE, doc, d);
  if (!code) code = key_table_read(&run_result_table, doc, document_root(doc), "", d, &read);
  if (!code && diagnostics_count(d)) snprintf(problem, size, "%s; was it written by a newer stickslip?", diagnostics_text(d, 0));
  diagnostics_destroy(&d);
  PetscCall(code);
  *out = read;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode run_result_read(const char *dir, document **owner, const run_result **out)
{
  char   path[4400], problem[1500] = "", *text = NULL;
  size_t n;

  PetscFunctionBegin;
  *owner = NULL, *out = NULL;
  path_of(dir, sizeof path, path);
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
