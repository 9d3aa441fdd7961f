/* Search for further errors by repeated reduction of the job, see run_errors.h.
 *
 * Each round reads the reduced job and builds the run. Every error has the position of a node. reduce_at removes the smallest entry that contains
 * this node and can be absent: a body, a material with the bodies that consist of it, a pair, a measure, a block of `solver`. Required values are
 * replaced. References to removed names are removed, too, so that they cause no errors of their own. */
#include "app/run/run_errors.h"
#include <stdio.h>
#include <string.h>
#include "app/job/job.h"
#include "app/run/run.h"
#include "core/memory.h"

enum { MAX_ROUNDS = 8, MAX_DEPTH = 64 };

typedef struct {
  document            *doc;
  document_node       *root;  /* the reduced job */
  const document_node *given; /* the complete job */
} reduction;

static document_node *child_of(document_node *mapping, const char *key)
{
  for (int i = 0; mapping && mapping->kind == DOCUMENT_MAPPING && i < mapping->n; ++i)
    if (strcmp(mapping->key[i], key) == 0) return mapping->value[i];
  return NULL;
}

static bool remove_key(document_node *mapping, const char *key)
{
  for (int i = 0; mapping && mapping->kind == DOCUMENT_MAPPING && i < mapping->n; ++i)
    if (strcmp(mapping->key[i], key) == 0) return document_remove(mapping, i), true;
  return false;
}

static PetscErrorCode set_text(reduction *r, document_node *mapping, const char *key, const char *text)
{
  document_node *value;
  PetscFunctionBegin;
  (void)remove_key(mapping, key);
  PetscCall(document_read_flow(r->doc, text, (document_mark){0}, &value));
  PetscCall(document_append(r->doc, mapping, key, (document_mark){0}, value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- references to removed names ---------------------------------------------------------------------------------- */

static bool text_is(const document_node *node, const char *text) { return node && node->text && strcmp(node->text, text) == 0; }

/* `name` is an entry of bodies, or a link NAME.LINK of one. */
static bool is_body_of(const document_node *root, const char *name)
{
  const document_node *bodies = document_find(root, "bodies");
  char                 whole[256];
  (void)snprintf(whole, sizeof whole, "%.*s", (int)strcspn(name, "."), name);
  return document_find(bodies, name) || document_find(bodies, whole);
}

static bool is_material_in_use(const document_node *root, const char *name)
{
  const document_node *bodies = document_find(root, "bodies");
  for (int i = 0; bodies && bodies->kind == DOCUMENT_MAPPING && i < bodies->n; ++i)
    if (bodies->value[i]->kind == DOCUMENT_MAPPING && text_is(document_find(bodies->value[i], "material"), name)) return true;
  return false;
}

/* The complete job has this name, but the reduced one does not. */
static bool is_gone(const reduction *r, const char *name)
{
  const bool was = is_body_of(r->given, name) || is_material_in_use(r->given, name);
  return was && !is_body_of(r->root, name) && !is_material_in_use(r->root, name);
}

static bool names_gone(const reduction *r, const document_node *node)
{
  if (node->text && is_gone(r, node->text)) return true;
  for (int i = 0; i < node->n; ++i)
    if (names_gone(r, node->value[i])) return true;
  return false;
}

static void remove_references(const reduction *r)
{
  document_node *pairs = child_of(child_of(r->root, "contact"), "pairs"), *measure = child_of(r->root, "measure"),
                *transparent = child_of(child_of(r->root, "picture"), "transparent");
  bool is_changed            = false;
  for (int i = pairs ? pairs->n - 1 : -1; i >= 0; --i)
    if (names_gone(r, pairs->value[i])) document_remove(pairs, i);
  for (int i = transparent ? transparent->n - 1 : -1; i >= 0; --i)
    if (names_gone(r, transparent->value[i])) document_remove(transparent, i);
  for (int i = measure ? measure->n - 1 : -1; i >= 0; --i)
    if (names_gone(r, measure->value[i])) document_remove(measure, i), is_changed = true;
  if (is_changed) (void)remove_key(r->root, "until");
}

static void remove_bodies_of(const reduction *r, const char *of, const char *kind)
{
  document_node *bodies = child_of(r->root, "bodies");
  for (int i = bodies && bodies->kind == DOCUMENT_MAPPING ? bodies->n - 1 : -1; i >= 0; --i) {
    const document_node *b = bodies->value[i]->kind == DOCUMENT_MAPPING ? bodies->value[i] : NULL;
    if (b && ((of && text_is(document_find(b, "material"), of)) || (kind && text_is(document_find(b, "kind"), kind))))
      document_remove(bodies, i);
  }
}

/* --- one error ---------------------------------------------------------------------------------------------------- */

static bool same_place(document_mark a, document_mark b)
{
  return a.line > 0 && a.line == b.line && a.column == b.column && a.file && b.file && strcmp(a.file, b.file) == 0;
}

/* The deepest node at `mark`, as the chain of its ancestors: chain[0] is the root, at[i] the index of chain[i + 1] in chain[i]. Returns the number of
 * steps below the root; -1: no node is there. */
static int find_place(document_node *node, document_mark mark, int depth, document_node **chain, int *at)
{
  int found = same_place(node->mark, mark) ? depth : -1;
  if (depth >= MAX_DEPTH) return -1;
  chain[depth] = node;
  for (int i = 0; i < node->n; ++i) {
    document_node *below[MAX_DEPTH + 1];
    int            index[MAX_DEPTH + 1];
    int            deep = find_place(node->value[i], mark, depth + 1, below, index);
    if (deep < 0 && node->kind == DOCUMENT_MAPPING && same_place(node->key_mark[i], mark))
      deep = depth + 1, below[depth + 1] = node->value[i];
    if (deep < 0 || deep < found) continue;
    found     = deep;
    at[depth] = i;
    for (int k = depth + 1; k <= deep; ++k) chain[k] = below[k], at[k] = k < deep ? index[k] : -1;
    if (found > depth) break;
  }
  return found;
}

/* Errors of missing values refer to the root or to `contact` and name the key in their text. */
static PetscErrorCode add_missing(reduction *r, const char *text, bool *is_changed)
{
  static const struct {
    const char *text, *block, *key, *value;
  } missing[] = {{"contact.stiffness: missing", "contact", "stiffness", "1e5"},
                 {"contact.friction: missing", "contact", "friction", "0.5"},
                 {"missing required key \"end\"", "time", "end", "1"},
                 {"missing required key \"step\"", "time", "step", "1e-3"},
                 {"missing required key \"time\"", NULL, "time", "{end: 1, step: 1e-3}"},
                 {"missing required key \"name\"", NULL, "name", "unnamed"},
                 {"missing required key \"stickslip\"", NULL, "stickslip", "1"}};
  PetscFunctionBegin;
  for (size_t k = 0; k < sizeof missing / sizeof *missing; ++k) {
    if (!strstr(text, missing[k].text)) continue;
    document_node *block = missing[k].block ? child_of(r->root, missing[k].block) : r->root;
    if (!block || block->kind != DOCUMENT_MAPPING) {
      PetscCall(set_text(r, r->root, missing[k].block, "{}"));
      block = child_of(r->root, missing[k].block);
    }
    if (child_of(block, missing[k].key)) continue;
    PetscCall(set_text(r, block, missing[k].key, missing[k].value));
    *is_changed = true;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Remove or replace the entry that contains the error. *is_changed: something was changed. *is_fatal: no further check is possible. */
static PetscErrorCode reduce_at(reduction *r, document_mark mark, const char *text, bool *is_changed, bool *is_fatal)
{
  document_node *chain[MAX_DEPTH + 1];
  int            at[MAX_DEPTH + 1];
  char           name[256];
  PetscFunctionBegin;
  const int depth = find_place(r->root, mark, 0, chain, at);
  PetscCall(add_missing(r, text, is_changed));
  if (depth < 1 || chain[0] != r->root || chain[0]->kind != DOCUMENT_MAPPING) PetscFunctionReturn(PETSC_SUCCESS);
  const char          *block = r->root->key[at[0]], *entry = NULL;
  document_node *const value = chain[1];
  if (depth >= 2 && value->kind == DOCUMENT_MAPPING) entry = value->key[at[1]];
  if (entry) (void)snprintf(name, sizeof name, "%s", entry);
  if (strstr(text, ": missing")) PetscFunctionReturn(PETSC_SUCCESS);
  if (depth == 1 && strstr(text, "missing required key")) PetscFunctionReturn(PETSC_SUCCESS);
  *is_changed = true;
  if (strcmp(block, "formulation") == 0) *is_fatal = true;
  else if (!entry && (strcmp(block, "bodies") == 0 || strcmp(block, "contact") == 0)) *is_fatal = true;
  else if (strcmp(block, "bodies") == 0) document_remove(value, at[1]);
  else if (strcmp(block, "materials") == 0 && entry) document_remove(value, at[1]), remove_bodies_of(r, name, NULL);
  else if (strcmp(block, "mac") == 0) (void)remove_key(r->root, "mac"), remove_bodies_of(r, NULL, "mac");
  else if (strcmp(block, "measure") == 0 && entry) document_remove(value, at[1]), (void)remove_key(r->root, "until");
  else if (strcmp(block, "contact") == 0 && entry && strcmp(entry, "pairs") == 0 && depth >= 3 && chain[2]->kind == DOCUMENT_SEQUENCE)
    document_remove(chain[2], at[2]);
  else if (strcmp(block, "contact") == 0 && entry && strcmp(entry, "friction") == 0) PetscCall(set_text(r, value, "friction", "0.5"));
  else if (strcmp(block, "contact") == 0 && entry && strcmp(entry, "stiffness") == 0) PetscCall(set_text(r, value, "stiffness", "1e5"));
  else if (strcmp(block, "time") == 0 && entry && strcmp(entry, "end") == 0) PetscCall(set_text(r, value, "end", "1"));
  else if (strcmp(block, "time") == 0 && entry && strcmp(entry, "step") == 0) PetscCall(set_text(r, value, "step", "1e-3"));
  else if (strcmp(block, "time") == 0 && !entry) PetscCall(set_text(r, r->root, "time", "{end: 1, step: 1e-3}"));
  else if (strcmp(block, "name") == 0) PetscCall(set_text(r, r->root, "name", "unnamed"));
  else if (strcmp(block, "stickslip") == 0) PetscCall(set_text(r, r->root, "stickslip", "1"));
  else if (entry) document_remove(value, at[1]);
  else if (depth >= 2 && value->kind == DOCUMENT_SEQUENCE) document_remove(value, at[1]);
  else document_remove(r->root, at[0]);
  remove_references(r);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- rounds ------------------------------------------------------------------------------------------------------- */

static PetscErrorCode check_reduced(MPI_Comm comm, const reduction *r, diagnostics *d)
{
  document      *doc = NULL;
  document_node *copy;
  job           *j __attribute__((cleanup(job_destroy)))     = NULL;
  run           *built __attribute__((cleanup(run_destroy))) = NULL;
  PetscFunctionBegin;
  PetscCall(document_create(&doc));
  PetscCall(document_copy(doc, r->root, &copy));
  document_set_root(doc, copy);
  PetscCall(job_read_document(&doc, d, &j));
  const PetscErrorCode code = j ? run_build(&j, &(run_options){.comm = comm, .dir = "", .is_check = true}, d, &built) : PETSC_SUCCESS;
  if (code == PETSC_ERR_USER_INPUT) error_clear(); /* the complete job may not have this error */
  else PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode search(MPI_Comm comm, reduction *r, diagnostics *d)
{
  PetscFunctionBegin;
  for (int round = 0; round < MAX_ROUNDS; ++round) {
    diagnostics *found __attribute__((cleanup(diagnostics_destroy))) = NULL;
    bool         is_changed = false, is_fatal = false;
    PetscCall(diagnostics_create(&found));
    PetscCall(check_reduced(comm, r, found));
    diagnostics_merge(d, found);
    for (int i = 0; i < diagnostics_count(found) && !is_fatal; ++i)
      PetscCall(reduce_at(r, diagnostics_mark(found, i), diagnostics_text(found, i), &is_changed, &is_fatal));
    const document_node *bodies = document_find(r->root, "bodies");
    if (!is_changed || is_fatal || !bodies || bodies->kind != DOCUMENT_MAPPING || bodies->n == 0) break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode run_find_errors(MPI_Comm comm, const document_node *given, diagnostics *d)
{
  reduction r = {.given = given};
  PetscFunctionBegin;
  if (!given || given->kind != DOCUMENT_MAPPING) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(document_create(&r.doc));
  PetscErrorCode code = document_copy(r.doc, given, &r.root);
  if (!code) code = search(comm, &r, d);
  document_destroy(&r.doc);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
