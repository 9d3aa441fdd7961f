/* Any bytes through the YAML reader and a job table. Whatever is accepted must survive being resolved, written and read again. */
#include "fuzz.h"
#include <string.h>
#include "core/memory.h"
#include "io/yaml.h"
#include "job_table.h"

static void fuzz_set_up(void) {}

static void read_again(const char *text)
{
  document       *doc;
  diagnostics    *d;
  const void     *job;
  document_node  *resolved;
  char           *twice;
  MUST(!document_create(&doc) && !diagnostics_create(&d));
  MUST(!yaml_read_text("again.yaml", text, strlen(text), doc, d));
  MUST(!key_table_read(&job_table, doc, document_root(doc), "", d, &job));
  if (diagnostics_count(d)) fprintf(stderr, "%s\n%s", diagnostics_text(d, 0), text);
  MUST(diagnostics_count(d) == 0);
  MUST(!key_table_resolve(&job_table, doc, document_root(doc), &resolved));
  MUST(!document_write(resolved, &twice));
  MUST(!strcmp(text, twice));
  memory_free(&twice);
  document_destroy(&doc);
  diagnostics_destroy(&d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
  document       *doc;
  diagnostics    *d;
  const void     *job;
  document_node  *node;
  char           *text;

  MUST(!document_create(&doc) && !diagnostics_create(&d));
  MUST(!yaml_read_text("fuzz.yaml", (const char *)data, n, doc, d));
  MUST(!key_table_read(&job_table, doc, document_root(doc), "", d, &job) && job);
  MUST(document_root(doc) || diagnostics_count(d));
  diagnostics_sort(d);
  for (int i = 0; i < diagnostics_count(d); ++i) MUST(strlen(diagnostics_text(d, i)) < 2048);
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
  MUST(memory_live() == 0);
  return 0;
}
