#include "app/run/run_machine.h"
#include <math.h>
#include <string.h>
#include <unistd.h>
#include "core/machine.h"
#include "core/memory.h"
#include "core/version.h"
#include "io/library_versions.h"
#include "io/sealed_file.h"
#include "io/yaml.h"

#define TEXT(key, about) {.name = #key, .type = KEY_STRING, .offset = offsetof(run_machine, key), .fallback = "\"\"", .help = about}
static const key_spec machine_keys[] = {
  TEXT(built, "compiler, PETSc and MPI"), TEXT(libraries, "that read and write its files"), TEXT(system, "operating system"), TEXT(processor, "its processors"),
  {.name = "processors", .type = KEY_INT, .offset = offsetof(run_machine, processors), .fallback = "0", .max = INFINITY, .help = "that the run might use"},
  {.name = "memory", .type = KEY_REAL, .offset = offsetof(run_machine, memory), .fallback = "0", .max = INFINITY, .help = "of the machine, in bytes"},
  {.name = NULL}};
static const key_table machine_table = {.name = "machine", .help = "Where a run was started.", .size = sizeof(run_machine), .keys = machine_keys};

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
  PetscCall(key_table_write(&machine_table, doc, &here, &root));
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
  if (!code && diagnostics_count(d) == 0) code = key_table_read(&machine_table, *owner, document_root(*owner), "", d, &value);
  if (!code && diagnostics_count(d) == 0) *out = value;
  diagnostics_destroy(&d);
  if (!*out) document_destroy(owner);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
