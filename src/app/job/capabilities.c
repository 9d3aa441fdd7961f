#include "app/job/capabilities.h"
#include "discretize/body_kinds.h"
#include "sim/formulations.h"
#include <string.h>

static bool is_listed(const char *list, const char *word)
{
  const size_t length = strlen(word);
  for (const char *at = list; (at = strstr(at, word)); at += length)
    if ((at == list || at[-1] == ' ') && (at[length] == '\0' || at[length] == ' ')) return true;
  return false;
}

/* "penalty, exact or convex": the formulations that support a kind of body, or that read a block of `solver:`. */
static void list_users(const char *word, bool is_kind, char *out, size_t size)
{
  const char *names[N_FORMULATIONS];
  int         n = 0;
  for (int i = 0; i < N_FORMULATIONS; ++i) {
    const scene_formulation *f = &formulations[i]->scene;
    if (is_listed(is_kind ? f->kinds : f->solver, word)) names[n++] = f->name;
  }
  key_words_join(out, size, n, names, " or ");
}

static bool is_body_kind(const char *word)
{
  for (const body_kind *const *k = body_kinds; *k; ++k)
    if (strcmp((*k)->name, word) == 0) return true;
  return false;
}

static void check_kinds(const scene_formulation *f, const document_node *root, diagnostics *d)
{
  char                 path[300], others[200];
  const document_node *bodies = document_find(root, "bodies");
  for (int i = 0; bodies && i < bodies->n; ++i) {
    const document_node *kind = bodies->value[i]->kind == DOCUMENT_MAPPING ? document_find(bodies->value[i], "kind") : NULL;
    if (!kind || !kind->text || is_listed(f->kinds, kind->text)) continue;
    if (!is_body_kind(kind->text)) continue; /* reported by the key table */
    list_users(kind->text, true, others, sizeof others);
    snprintf(path, sizeof path, "bodies.%.200s.kind", bodies->key[i]);
    diagnostics_add(d, kind->mark, path, "formulation %s does not support kind %s: %s; use formulation %s", f->name, kind->text,
                    f->kinds_reason, *others ? others : "(none supports it)");
  }
}

/* Blocks of `solver:` that other formulations read: report (notices), or remove (NULL). */
static void visit_solver(const scene_formulation *f, document_node *root, diagnostics *notices)
{
  char           path[100], others[200];
  document_node *solver = NULL;
  for (int i = 0; root->kind == DOCUMENT_MAPPING && i < root->n; ++i)
    if (strcmp(root->key[i], "solver") == 0) solver = root->value[i];
  for (int i = solver && solver->kind == DOCUMENT_MAPPING ? solver->n - 1 : -1; i >= 0; --i) {
    if (is_listed(f->solver, solver->key[i])) continue;
    list_users(solver->key[i], false, others, sizeof others);
    if (!*others) continue;
    snprintf(path, sizeof path, "solver.%.80s", solver->key[i]);
    if (notices) diagnostics_add(notices, solver->key_mark[i], path, "not used by formulation %s, only by %s", f->name, others);
    else document_remove(solver, i);
  }
}

/* Follow the names of `path` from `node`, through every entry of lists, to the key: report it (d), or remove it (d NULL). The name * is every key. */
static void visit_key(document_node *node, const char *path, const char *at, const char *message, diagnostics *d)
{
  char         name[64], here[220];
  const char  *dot    = strchr(path, '.');
  const size_t length = dot ? (size_t)(dot - path) : strlen(path);
  for (int i = 0; i < node->n && node->kind == DOCUMENT_SEQUENCE; ++i) {
    snprintf(here, sizeof here, "%.150s[%d]", at, i);
    visit_key(node->value[i], path, here, message, d);
  }
  const bool is_any = length == 1 && *path == '*';
  for (int i = 0; i < node->n && node->kind == DOCUMENT_MAPPING; ++i) {
    if (!is_any && (strncmp(node->key[i], path, length) != 0 || node->key[i][length] != '\0')) continue;
    snprintf(name, sizeof name, "%s", node->key[i]);
    snprintf(here, sizeof here, "%.150s%s%.60s", at, *at ? "." : "", name);
    if (dot) visit_key(node->value[i], dot + 1, here, message, d);
    else if (d) diagnostics_add(d, node->value[i]->mark, here, "%s", message);
    else document_remove(node, i);
    if (!is_any) return;
  }
}

void capabilities_check(const scene_formulation *f, document_node *root, diagnostics *d, diagnostics *notices)
{
  char message[400];
  check_kinds(f, root, d);
  visit_solver(f, root, notices);
  for (const unused_key *k = f->unused; k && k->path; ++k) {
    snprintf(message, sizeof message, "%s formulation %s: %s%s", k->is_notice ? "not used by" : "not supported by", f->name, k->reason,
             k->is_notice ? "" : "; remove it");
    visit_key(root, k->path, "", message, k->is_notice ? notices : d);
  }
}

void capabilities_prune(const scene_formulation *f, document_node *resolved)
{
  visit_solver(f, resolved, NULL);
  for (const unused_key *k = f->unused; k && k->path; ++k) visit_key(resolved, k->path, "", "", NULL);
}
