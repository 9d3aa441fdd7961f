#include "sim/formulation_keys.h"
#include "sim/formulation.h"
#include <string.h>

#define OF(name) (1u << FORMULATION_##name)
#define RIGID    (OF(exact) | OF(monolith)) /* contact knows no springs */
#define ROWS     (RIGID | OF(convex))        /* found once a step, under round cones */

/* Where it stands below the job, who cannot use it, and why. */
static const struct {
  unsigned    refused_by; /* OF(...) of formulations */
  const char *path, *why;
} keys[] = {
  {RIGID, "contact.stiffness", "contact is rigid and knows no springs: leave it out (touch: false keeps a pair apart)"},
  {RIGID, "contact.pairs.stiffness", "contact is rigid and knows no springs: leave it out (touch: false keeps a pair apart)"},
  {ROWS, "contact.pairs.friction_direction", "the cone of friction is round: leave out friction_direction and friction_transverse"},
  {ROWS, "contact.pairs.friction_transverse", "the cone of friction is round: leave out friction_direction and friction_transverse"},
  {ROWS, "contact.edges", "edges need no asking: leave it out"},
  {ROWS, "contact.scheme", "contact forces are those of the end of the step: leave it out"},
  {ROWS, "contact.detection", "contacts are found once, as a step begins: leave it out"},
  {OF(exact) | OF(convex), "solver.linear", "its linear systems are factorised: leave it out"},
  {OF(monolith), "solver.linear", "solvers of the grid are chosen in solver.flow: leave it out"},
  {OF(monolith), "solver.newton.tolerance", "what counts as solved is solver.flow.tolerance: leave it out"},
  {OF(monolith), "solver.newton.stall_tolerance", "what counts as solved is solver.flow.tolerance: leave it out"},
  {OF(monolith), "solver.newton.max_iterations", "how often pressure and friction are solved for is solver.flow.max_outer: leave it out"},
  {OF(monolith), "mpm", "granular and liquid bodies are of kind mac, their grid is mac: leave it out"},
  {OF(penalty) | OF(convex), "contact.overlap_share", "springs push overlaps apart: leave it out"},
  {OF(penalty) | OF(convex), "contact.overlap_speed", "springs push overlaps apart: leave it out"},
  {OF(convex), "contact.restitution", "what contact gives back is up to solver.convex.relaxation_time: leave it out"},
  {OF(convex), "contact.pairs.restitution", "what contact gives back is up to solver.convex.relaxation_time: leave it out"},
  {OF(convex), "output.fclib", "its contacts give way, which the files do not know of: leave it out"},
  {OF(penalty), "output.fclib", "no problem of friction is solved: leave it out"},
  {OF(monolith), "output.fclib", "friction of contacts is no problem of its own: leave it out"},
  {OF(convex), "solver.friction", "impulses are found by solver.convex: leave it out"},
  {OF(convex), "solver.friction_stall_tolerance", "impulses are found by solver.convex: leave it out"},
  {RIGID | OF(penalty), "solver.convex", "only formulation convex solves a convex problem of contact: leave it out"},
  {OF(penalty), "solver.friction", "forces follow from the springs, no solver finds impulses: leave it out"},
  {OF(monolith), "solver.friction", "friction of contacts is chosen in solver.flow.friction: leave it out"},
  {OF(monolith), "solver.friction_stall_tolerance", "what counts as solved is solver.flow.tolerance: leave it out"},
  {OF(penalty), "solver.friction_stall_tolerance", "forces follow from the springs, no solver finds impulses: leave it out"},
  {OF(penalty) | OF(exact) | OF(convex), "solver.flow", "only formulation monolith solves for a continuum's pressure: leave it out"},
  {OF(penalty) | OF(exact) | OF(convex), "mac", "only formulation monolith has a staggered grid: leave it out"},
};

/* The same for kinds of bodies. */
static const struct {
  unsigned    refused_by;
  const char *kind, *why;
} kinds[] = {
  {OF(penalty) | OF(exact) | OF(convex), "mac", "its pressure is solved for by formulation monolith: take that, or kind mpm"},
  {OF(monolith), "mpm", "its grid carries no elastic stress: take kind mac, or formulation penalty or exact"},
  {OF(monolith), "fem", "bodies in it are rigid: take kind rigid, or formulation penalty or exact"},
  {OF(monolith), "cloth", "bodies in it are rigid: take formulation penalty or exact"},
  {OF(monolith), "rod", "bodies in it are rigid: take formulation penalty or exact"},
  {OF(monolith), "articulated", "bodies in it have six velocities, not those of joints: take formulation exact or convex"},
  {OF(penalty), "articulated", "its springs push bodies with six velocities, not joints: take formulation exact or convex"},
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

/* Bodies of kinds that it cannot step. */
static void check_kinds(const document_node *root, int index, diagnostics *d)
{
  char                 path[300];
  const document_node *bodies = document_find(root, "bodies");
  for (int i = 0; bodies && i < bodies->n; ++i) {
    const document_node *kind = bodies->value[i]->kind == DOCUMENT_MAPPING ? document_find(bodies->value[i], "kind") : NULL;
    for (size_t k = 0; kind && kind->text && k < sizeof kinds / sizeof *kinds; ++k) {
      if (!(kinds[k].refused_by & 1u << index) || strcmp(kind->text, kinds[k].kind) != 0) continue;
      snprintf(path, sizeof path, "bodies.%.200s.kind", bodies->key[i]);
      diagnostics_add(d, kind->mark, path, "formulation %s cannot use kind %s: %s", formulation_names[index], kinds[k].kind, kinds[k].why);
    }
  }
}

static void visit_all(document_node *root, int index, diagnostics *d)
{
  for (size_t k = 0; k < sizeof keys / sizeof *keys; ++k)
    if (keys[k].refused_by & 1u << index) visit(root, keys[k].path, "", formulation_names[index], keys[k].why, d);
}

void formulation_keys_check(document_node *root, int index, diagnostics *d)
{
  visit_all(root, index, d);
  check_kinds(root, index, d);
}

void formulation_keys_prune(document_node *root, int index) { visit_all(root, index, NULL); }
