#include "sim/formulation_keys.h"
#include "sim/formulation.h"
#include <string.h>

/* Where it stands below the job, and why others than its own formulations cannot use it. */
typedef struct {
  bool        is_rigid; /* its own are those without springs at contacts, or those with them */
  const char *path, *why;
} own_key;

static const own_key keys[] = {
  {false, "contact.stiffness", "contact is rigid and knows no springs: leave it out (touch: false keeps a pair apart)"},
  {false, "contact.pairs.stiffness", "contact is rigid and knows no springs: leave it out (touch: false keeps a pair apart)"},
  {false, "contact.pairs.friction_direction", "the cone of friction is round: leave out friction_direction and friction_transverse"},
  {false, "contact.pairs.friction_transverse", "the cone of friction is round: leave out friction_direction and friction_transverse"},
  {false, "contact.edges", "edges need no asking: leave it out"},
  {false, "contact.scheme", "contact forces are those of the end of the step: leave it out"},
  {false, "contact.detection", "contacts are found once, as a step begins: leave it out"},
  {false, "solver.linear", "its linear systems are factorised: leave it out"},
  {true, "contact.overlap_share", "springs push overlaps apart: leave it out"},
  {true, "contact.overlap_speed", "springs push overlaps apart: leave it out"},
  {true, "output.fclib", "no problem of friction is solved: leave it out"},
  {true, "solver.friction", "forces follow from the springs, no solver finds impulses: leave it out"},
  {true, "solver.friction_stall_tolerance", "forces follow from the springs, no solver finds impulses: leave it out"},
};

/* Down from `node` along the names of `path`, through every item of lists, to where it stands: complain of it (d), or take it out (d NULL). */
static void visit(document_node *node, const char *path, const char *at, const char *user, const char *why, diagnostics *d)
{
  char         name[64], here[220];
  const char  *dot    = strchr(path, '.');
  const size_t length = dot ? (size_t)(dot - path) : strlen(path);
  for (int i = 0; i < node->n && node->kind == DOCUMENT_SEQUENCE; ++i) {
    snprintf(here, sizeof here, "%.150s[%d]", at, i);
    visit(node->value[i], path, here, user, why, d);
  }
  for (int i = 0; i < node->n && node->kind == DOCUMENT_MAPPING; ++i) {
    if (strncmp(node->key[i], path, length) != 0 || node->key[i][length] != '\0') continue;
    snprintf(name, sizeof name, "%s", node->key[i]);
    snprintf(here, sizeof here, "%.150s%s%.60s", at, *at ? "." : "", name);
    if (dot) visit(node->value[i], dot + 1, here, user, why, d);
    else if (d) diagnostics_add(d, node->value[i]->mark, here, "formulation %s cannot use it: %s", user, why);
    else document_remove(node, i);
    return;
  }
}

static void visit_all(document_node *root, int index, diagnostics *d)
{
  const formulation_ops *f = formulations[index];
  for (size_t k = 0; k < sizeof keys / sizeof *keys; ++k)
    if (keys[k].is_rigid != f->is_rigid) visit(root, keys[k].path, "", f->name, keys[k].why, d);
}

void formulation_keys_check(document_node *root, int index, diagnostics *d) { visit_all(root, index, d); }

void formulation_keys_prune(document_node *root, int index) { visit_all(root, index, NULL); }
