#include "app/sweep/sweep_build.h"
#include <string.h>
#include "core/memory.h"
#include "io/yaml.h"
#include "app/job/job.h"

static bool is_of_job(const char *name)
{
  if (strpbrk(name, ".[")) return true;
  for (const key_spec *k = job_table.keys; k->name; ++k)
    if (!strcmp(k->name, name)) return true;
  return false;
}

/* What --set takes, as long as the text "key=value" and the header of a table stay readable. */
bool sweep_build_is_job_key(const char *name) { return is_of_job(name) && !name[strcspn(name, "=,\"\t\r\n")] && strlen(name) <= 200; }

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"

static bool is_name(const char *name)
{
  return sweep_build_is_job_key(name) ||
         (*name && strchr(LETTERS, *name) && strlen(name) <= 64 && !name[strspn(name, LETTERS "0123456789")]);
}

int sweep_build_add_parameter(sweep_build *b, const char *name, document_mark mark)
{
  static const char *const reserved[] = {"number", "id"};
  if (!is_name(name)) {
    diagnostics_add(b->d, mark, name, "expected a name of letters, digits and _, or a key of the job such as time.end or contact.pairs[0].friction");
    return -1;
  }
  for (size_t i = 0; i < sizeof reserved / sizeof *reserved; ++i)
    if (!strcmp(name, reserved[i])) {
      diagnostics_add(b->d, mark, name, "this name is the sweep's own: every table of cases has a column \"%s\"; choose another", name);
      return -1;
    }
  for (int i = 0; i < b->n_parameters; ++i)
    if (!strcmp(name, b->parameter[i].name)) {
      diagnostics_add(b->d, mark, name, "there is a parameter of this name already, in line %d", b->parameter[i].mark.line);
      return -1;
    }
  if (b->n_parameters == SWEEP_MAX_NAMES) {
    diagnostics_add(b->d, mark, name, "more than %d parameters", SWEEP_MAX_NAMES);
    return -1;
  }
  b->parameter[b->n_parameters] = (build_parameter){.name = name, .mark = mark, .is_key = sweep_build_is_job_key(name), .is_numeric = true};
  return b->n_parameters++;
}

/* Texts that go to sbatch: said here what it would refuse, or a shell would make something else of. */
static void check_resources(sweep_build *b)
{
  const document_node   *node = document_find(b->root, "resources");
  const sweep_resources *r    = b->file->resources;
  const char            *names[2][2] = {{"partition", r->partition}, {"account", r->account}};
  if (r->memory) {
    const size_t n = strspn(r->memory, "0123456789");
    if (n == 0 || n > 9 || (r->memory[n] && (!strchr("KMGT", r->memory[n]) || r->memory[n + 1])))
      diagnostics_add_under(b->d, node, "resources", "memory", "expected megabytes, or a number with K, M, G or T, such as 2G; got \"%s\"", r->memory);
  }
  if (r->time && (!*r->time || r->time[strspn(r->time, "0123456789:-")] || strlen(r->time) > 20))
    diagnostics_add_under(b->d, node, "resources", "time", "expected minutes, hours:minutes:seconds or days-hours:minutes:seconds, got \"%s\"", r->time);
  for (int i = 0; i < 2; ++i)
    if (names[i][1] && (!*names[i][1] || names[i][1][strspn(names[i][1], LETTERS "0123456789-.,@")]))
      diagnostics_add_under(b->d, node, "resources", names[i][0], "expected a name that SLURM knows, got \"%s\"", names[i][1]);
}

static void check_head(sweep_build *b)
{
  const sweep_file    *f    = b->file;
  const document_node *name = document_find(b->root, "name"), *base = document_find(b->root, "base");
  if (name && f->name && !job_name_is_sound(f->name))
    diagnostics_add(b->d, name->mark, "name", "expected " JOB_NAME_WORDS ", got \"%s\"", f->name);
  if (f->base && f->job) diagnostics_add(b->d, base->mark, "base", "the job stands under \"job\" as well; only one of the two can be");
  if (!document_find(b->root, "base") && !document_find(b->root, "job"))
    diagnostics_add(b->d, b->root->mark, "base", "missing: the path of the job to vary (or the job itself, under \"job\")");
  if (!f->vary && !f->repeat) diagnostics_add(b->d, b->root->mark, "vary", "missing: nothing varies, and nothing repeats");
}

PetscErrorCode sweep_build_read(const char *path, bool is_copy, diagnostics *d, sweep_build **out)
{
  const void *file;

  PetscFunctionBegin;
  PetscCall(memory_alloc("sweep", 1, sizeof **out, out));
  sweep_build *b = *out;
  b->d           = d;
  PetscCall(document_create(&b->doc));
  PetscCall(yaml_read_file(path, b->doc, d));
  b->root = document_root(b->doc);
  b->path = document_intern(b->doc, path);
  PetscCheck(b->path, PETSC_COMM_SELF, PETSC_ERR_MEM, "no memory for a path");
  document_node *base = (document_node *)document_find(b->root, "base");
  if (is_copy && base && base->kind == DOCUMENT_SCALAR) base->text = "base.yaml"; /* its variables may mean nothing here */
  PetscCall(key_table_read(&sweep_file_table, b->doc, b->root, "", d, &file));
  b->file = file;
  if (!b->root || b->root->kind != DOCUMENT_MAPPING) PetscFunctionReturn(PETSC_SUCCESS);
  check_head(b);
  check_resources(b);
  PetscCall(sweep_dimensions_read(b));
  PetscCall(sweep_formulas_read(b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void sweep_build_destroy(sweep_build **b)
{
  if (!*b) return;
  for (int i = 0; i < SWEEP_MAX_NAMES; ++i) expression_destroy(&(*b)->let[i]);
  for (int i = 0; i < (*b)->n_where; ++i) expression_destroy(&(*b)->where[i]);
  for (int i = 0; i < (*b)->n_formulas; ++i) expression_destroy(&(*b)->formula[i].e);
  memory_free(&(*b)->formula);
  document_destroy(&(*b)->doc);
  memory_free(b);
}
