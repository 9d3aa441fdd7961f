/* Any bytes through the YAML reader and the program's own job table. Whatever is accepted must survive being resolved, written and
 * read again; the way the program itself reads a job must agree. */
#include "fuzz.h"
#include <string.h>
#include "core/memory.h"
#include "io/yaml.h"
#include "app/job/job.h"

static void fuzz_set_up(void) {}

static void read_again(const char *text)
{
  document      *doc;
  diagnostics   *d;
  const void    *read;
  document_node *resolved;
  char          *twice;
  MUST(!document_create(&doc) && !diagnostics_create(&d));
  MUST(!yaml_read_text("again.yaml", text, strlen(text), doc, d));
  MUST(!key_table_read(&job_table, doc, document_root(doc), "", d, &read));
  if (diagnostics_count(d)) fprintf(stderr, "%s\n%s", diagnostics_text(d, 0), text);
  MUST(diagnostics_count(d) == 0);
  MUST(!key_table_resolve(&job_table, doc, document_root(doc), &resolved));
  MUST(!document_write(resolved, &twice));
  MUST(!strcmp(text, twice));
  memory_free(&twice);
  document_destroy(&doc);
  diagnostics_destroy(&d);
}

static void check_messages(diagnostics *d)
{
  diagnostics_sort(d);
  for (int i = 0; i < diagnostics_count(d); ++i) MUST(strlen(diagnostics_text(d, i)) < 2048);
}

/* Every node of the document, complete or not. */
static void read_document(const uint8_t *data, size_t n)
{
  document      *doc;
  diagnostics   *d;
  const void    *read;
  document_node *node;
  char          *text;
  MUST(!document_create(&doc) && !diagnostics_create(&d));
  MUST(!yaml_read_text("fuzz.yaml", (const char *)data, n, doc, d));
  MUST(!key_table_read(&job_table, doc, document_root(doc), "", d, &read) && read);
  MUST(document_root(doc) || diagnostics_count(d));
  check_messages(d);
  if (document_root(doc)) {
    MUST(!key_table_resolve(&job_table, doc, document_root(doc), &node));
    MUST(!document_write(node, &text));
    if (diagnostics_count(d) == 0) read_again(text);
    memory_free(&text);
    /* the same bytes as a value and its beginning as a path of --set */
    char path[32] = "a";
    memcpy(path, data, n < sizeof path - 1 ? n : sizeof path - 1);
    MUST(!yaml_read_text_into("--set", (const char *)data, n, doc, d, &node));
    if (node) {
      const PetscErrorCode code = document_override(doc, path, node);
      MUST(code == PETSC_SUCCESS || code == PETSC_ERR_USER_INPUT);
      error_clear();
    }
  }
  document_destroy(&doc);
  diagnostics_destroy(&d);
}

/* As the program does, with the checks across keys: a job, or reasons why not. The job that a checkpoint would keep is one, too. */
static void read_job(const char *text, int n_overrides, const char *const *overrides)
{
  diagnostics *d;
  job         *j, *again;
  MUST(!diagnostics_create(&d));
  const PetscErrorCode code = job_read_text("fuzz.yaml", text, n_overrides, overrides, d, &j);
  MUST(code == PETSC_SUCCESS || code == PETSC_ERR_USER_INPUT);
  error_clear();
  check_messages(d);
  if (code == PETSC_SUCCESS) MUST((j != NULL) == (diagnostics_count(d) == 0));
  if (code == PETSC_SUCCESS && j) {
    MUST(!job_read_text("again.yaml", j->resolved, 0, NULL, d, &again));
    if (!again) fprintf(stderr, "%s\n%s", diagnostics_text(d, 0), j->resolved);
    MUST(again && !strcmp(j->resolved, again->resolved));
    job_destroy(&again);
    job_destroy(&j);
  }
  diagnostics_destroy(&d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
  static const char good[] = "stickslip: 1\nname: good\ntime: {end: 1, step: 0.1}\nbodies: {floor: {kind: static, shape: {plane: {}}}}\n";
  char             *text   = malloc(n + 1);
  MUST(text);
  memcpy(text, data, n);
  text[n] = '\0';
  read_document(data, n);
  read_job(text, 0, NULL);
  read_job(good, 1, (const char *const[]){text});
  free(text);
  MUST(memory_live() == 0);
  return 0;
}
