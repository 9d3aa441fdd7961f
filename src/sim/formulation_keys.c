#include "sim/formulation_keys.h"
#include "sim/formulation.h"
#include <string.h>

#define OF(name) (1u << FORMULATION_##name)

/* Where it stands below the job, who cannot use it, and why. */
static const struct {
  unsigned    refused_by; /* OF(...) of formulations */
  const char *path, *why;
} keys[] = {
  {OF(exact), "contact.stiffness", "contact is rigid and knows no springs: leave it out (touch: false keeps a pair apart)"},
  {OF(exact), "contact.pairs.stiffness", "contact is rigid and knows no springs: leave it out (touch: false keeps a pair apart)"},
  {OF(exact), "contact.pairs.friction_direction", "the cone of friction is round: leave out friction_direction and friction_transverse"},
  {OF(exact), "contact.pairs.friction_transverse", "the cone of friction is round: leave out friction_direction and friction_transverse"},
  {OF(exact), "contact.edges", "edges need no asking: leave it out"},
  {OF(exact), "contact.scheme", "contact forces are those of the end of the step: leave it out"},
  {OF(exact), "contact.detection", "contacts are found once, as a step begins: leave it out"},
  {OF(exact), "solver.linear", "its linear systems are factorised: leave it out"},
  {OF(penalty), "contact.overlap_share", "springs push overlaps apart: leave it out"},
  {OF(penalty), "contact.overlap_speed", "springs push overlaps apart: leave it out"},
  {OF(penalty), "output.fclib", "no problem of friction is solved: leave it out"},
  {OF(penalty), "solver.friction", "forces follow from the springs, no solver finds impulses: leave it out"},
  {OF(penalty), "solver.friction_stall_tolerance", "forces follow from the springs, no solver finds impulses: leave it out"},
  {OF(penalty) | OF(exact), "solver.flow", "only formulation monolith solves for a continuum's pressure: leave it out"},
  {OF(penalty) | OF(exact), "mac", "only formulation monolith has a staggered grid: leave it out"},
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
  for (size_t k = 0; k < sizeof keys / sizeof *keys; ++k)
    if (keys[k].refused_by & 1u << index) visit(root, keys[k].path, "", formulation_names[index], keys[k].why, d);
}

void formulation_keys_check(document_node *root, int index, diagnostics *d) { visit_all(root, index, d); }

void formulation_keys_prune(document_node *root, int index) { visit_all(root, index, NULL); }
