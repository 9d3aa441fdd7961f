/* Tables of rejected keys and kinds, and of keys that have an effect only for some values of another key; one checker evaluates
 * them. */
#include "app/job/formulation_keys.h"
#include "sim/formulations.h"
#include <string.h>

#define OF(name) (1u << FORMULATION_##name)
#define RIGID    (OF(exact) | OF(monolith)) /* rigid contact, no springs */
#define ROWS     (RIGID | OF(convex))        /* contacts detected once per step, with circular friction cones */
#define GRANULAR (OF(penalty) | OF(exact) | OF(convex) | OF(hybrid)) /* formulations without a continuum on a staggered grid */

/* Key path, formulations that reject it, and the reason with a remedy. */
static const struct {
  unsigned    refused_by; /* bit mask OF(...) of formulations */
  const char *path, *why;
} keys[] = {
  {OF(hybrid), "contact.stiffness", "impulses have no springs; the stiffness inside the contact thickness is "
                                    "solver.hybrid.impulses.stiffness: remove it"},
  {OF(hybrid), "contact.pairs.stiffness", "impulses have no springs; the stiffness inside the contact thickness is "
                                          "solver.hybrid.impulses.stiffness: remove it (touch: false excludes a pair)"},
  {RIGID, "contact.stiffness", "contact is rigid, without springs: remove it (touch: false excludes a pair)"},
  {RIGID, "contact.pairs.stiffness", "contact is rigid, without springs: remove it (touch: false excludes a pair)"},
  {ROWS | OF(hybrid), "contact.pairs.friction_direction", "its friction cones are circular: remove friction_direction and "
                                                          "friction_transverse"},
  {ROWS | OF(hybrid), "contact.pairs.friction_transverse", "its friction cones are circular: remove friction_direction and "
                                                           "friction_transverse"},
  {ROWS | OF(hybrid), "contact.edges", "contact between edges is always included: remove it"},
  {ROWS | OF(hybrid), "contact.scheme", "contact forces are always those of the end of the step: remove it"},
  {ROWS | OF(hybrid), "contact.detection", "contacts are always detected at the start of a step: remove it"},
  {OF(exact) | OF(convex), "solver.linear", "its linear systems are factorised: remove it"},
  {OF(hybrid), "solver.linear", "its linear systems are symmetric positive definite: use solver.hybrid.linear"},
  {OF(monolith), "solver.linear", "the solvers of the grid are selected in solver.flow: remove it"},
  {OF(monolith), "solver.newton.tolerance", "its tolerance is solver.flow.tolerance: remove it"},
  {ROWS | OF(hybrid), "solver.newton.norm", "its tolerance refers to accelerations: remove it"},
  {OF(monolith), "solver.newton.stall_tolerance", "its tolerance is solver.flow.tolerance: remove it"},
  {OF(monolith), "solver.newton.max_iterations", "its maximum of outer iterations is solver.flow.max_outer: remove it"},
  {OF(monolith), "mpm", "granular and liquid bodies are of kind mac, and their grid is mac: remove it"},
  {OF(penalty) | OF(convex), "contact.overlap_share", "springs correct overlaps: remove it"},
  {OF(hybrid), "contact.overlap_share", "surfaces do not overlap: remove it"},
  {OF(hybrid), "contact.overlap_speed", "surfaces do not overlap: remove it"},
  {OF(penalty), "contact.overlap_speed", "springs correct overlaps: remove it"},
  {OF(convex), "contact.restitution", "restitution is determined by solver.convex.relaxation_time: remove it"},
  {OF(convex), "contact.pairs.restitution", "restitution is determined by solver.convex.relaxation_time: remove it"},
  {OF(convex), "output.fclib", "its contacts are compliant, which the file format does not support: remove it"},
  {OF(penalty) | OF(hybrid), "output.fclib", "it does not solve a friction problem: remove it"},
  {OF(monolith), "output.fclib", "friction of contacts is not a separate problem: remove it"},
  {OF(convex), "solver.friction", "impulses are computed by solver.convex: remove it"},
  {OF(convex), "solver.friction_stall_tolerance", "impulses are computed by solver.convex: remove it"},
  {OF(hybrid), "solver.friction", "impulses are computed pair by pair, see solver.hybrid.impulses: remove it"},
  {OF(hybrid), "solver.friction_stall_tolerance", "impulses are computed pair by pair, see solver.hybrid.impulses: remove it"},
  {RIGID | OF(penalty) | OF(convex), "solver.hybrid", "only formulation hybrid transfers contact through a grid: remove it"},
  {RIGID | OF(penalty) | OF(hybrid), "solver.convex", "only formulation convex solves a convex contact problem: remove it"},
  {OF(penalty), "solver.friction", "forces follow from the springs without a friction solver: remove it"},
  {OF(monolith), "solver.friction", "the friction solver of contacts is selected in solver.flow.friction: remove it"},
  {OF(monolith), "solver.friction_stall_tolerance", "its tolerance is solver.flow.tolerance: remove it"},
  {OF(penalty), "solver.friction_stall_tolerance", "forces follow from the springs without a friction solver: remove it"},
  {GRANULAR, "solver.flow", "only formulation monolith solves for the pressure of a continuum: remove it"},
  {GRANULAR, "mac", "only formulation monolith has a staggered grid: remove it"},
};

/* The same for kinds of bodies. */
static const struct {
  unsigned    refused_by;
  const char *kind, *why;
} kinds[] = {
  {GRANULAR, "mac", "only formulation monolith solves for its pressure: use that formulation, or kind mpm"},
  {OF(monolith), "mpm", "its grid has no elastic stress: use kind mac, or formulation penalty or exact"},
  {OF(monolith), "fem", "its bodies are rigid: use kind rigid, or formulation penalty or exact"},
  {OF(monolith), "cloth", "its bodies are rigid: use formulation penalty or exact"},
  {OF(monolith), "rod", "its bodies are rigid: use formulation penalty or exact"},
  {OF(monolith), "articulated", "its bodies have six velocities, not joint velocities: use formulation exact or convex"},
  {OF(hybrid), "rod", "impulses act on triangle surfaces, and rods have none: use formulation exact, convex or penalty"},
  {OF(hybrid), "articulated", "impulses act on bodies with six velocities, not on joints: use formulation exact or convex"},
  {OF(penalty), "articulated", "its springs act on bodies with six velocities, not on joints: use formulation exact or convex"},
};

/* Keys that have an effect only for some values of another key: that key, and these values. */
typedef struct {
  const char *path, *other, *values; /* "!a b": any value but a and b; "none": not given; NULL: end of the table */
} key_part;
static const key_part law_parts[] = {
  {"contact.overlap_speed", "solver.convex.law", "regularised"},
  {"solver.convex.relaxation_time", "solver.convex.law", "regularised"},
  {"solver.convex.coulomb_passes", "solver.convex.law", "regularised"},
  {"solver.convex.dissipation", "solver.convex.law", "lagged"},
  {"solver.convex.slip_speed", "solver.convex.law", "lagged"},
  {NULL, NULL, NULL},
};
#define GRID(k)     "solver.hybrid.grid." k, "solver.hybrid.grid.transfer", "augury"
#define IMPULSES(k) "solver.hybrid.impulses." k, "solver.hybrid.impulses.enabled", "true"
static const key_part hybrid_parts[] = {
  {GRID("iterations")},
  {GRID("tolerance")},
  {GRID("hinders_sliding")},
  {GRID("resampling")},
  {"solver.hybrid.grid.spacing", "solver.hybrid.grid.transfer", "augury pic"},
  {IMPULSES("thickness")},
  {IMPULSES("stiffness")},
  {IMPULSES("iterations")},
  {NULL, NULL, NULL},
};
#define STRESS(name)  "solver.flow.stress", name
#define BOXES         "augmented_lagrangian pyramid sp"
#define METHOD(of)    "solver.flow." of ".method"
#define LAGRANGIAN(k) "solver.flow.augmented_lagrangian." k
static const key_part flow_parts[] = {
  {"mac.flip", "mac.transfer", "pic_flip"},
  {"mac.hourglass", "mac.arrangement", "colocated"},
  {"mac.ghost_fraction", "mac.fractions", "auto ghost area"},
  {"mac.position_correction.radius", "mac.position_correction.iterations", "!0"},
  {"mac.position_correction.step", "mac.position_correction.iterations", "!0"},
  {"solver.flow.sweeps", "solver.flow.coupling", "monolithic"},
  {"solver.flow.projected_gradient", STRESS("projected_gradient")},
  {"solver.flow.augmented_lagrangian", STRESS("augmented_lagrangian")},
  {LAGRANGIAN("kappa"), LAGRANGIAN("auxiliary_pyramid"), "!false"},
  {LAGRANGIAN("damping"), LAGRANGIAN("line_search"), "!true"},
  {LAGRANGIAN("beta"), LAGRANGIAN("mu"), "none"},
  {"solver.flow.pyramid", STRESS("pyramid sp")},
  {"solver.flow.pyramid.damping", STRESS("pyramid")},
  {"solver.flow.pyramid.shift", STRESS("sp")},
  {"solver.flow.boxes", STRESS(BOXES)},
  {"solver.flow.friction.kappa", "solver.flow.friction.method", "newton"},
  {"solver.flow.friction.beta", "solver.flow.friction.method", "newton"},
  {"solver.flow.pressure.gamma", METHOD("pressure"), "mprgp mprgp_original"},
  {"solver.flow.pressure.trials", METHOD("pressure"), "interior_point augmented_lagrangian"},
  {"solver.flow.pressure.nested", METHOD("pressure"), "mprgp active_set"},
  {"solver.flow.pressure.preconditioner", METHOD("pressure"), "!tao"},
  {"solver.flow.boxes.gamma", METHOD("boxes"), "mprgp mprgp_original"},
  {"solver.flow.boxes.trials", METHOD("boxes"), "interior_point augmented_lagrangian"},
  {"solver.flow.boxes.nested", METHOD("boxes"), "mprgp active_set"},
  {"solver.flow.boxes.preconditioner", METHOD("boxes"), "!tao"},
  {NULL, NULL, NULL},
};

/* Follow the names of `path` from `node`, through every item of lists, to the key: complain about it (d), or remove it (d NULL). */
static void visit(document_node *node, const char *path, const char *at, const char *why, diagnostics *d)
{
  char         name[64], here[220];
  const char  *dot    = strchr(path, '.');
  const size_t length = dot ? (size_t)(dot - path) : strlen(path);
  for (int i = 0; i < node->n && node->kind == DOCUMENT_SEQUENCE; ++i) {
    snprintf(here, sizeof here, "%.150s[%d]", at, i);
    visit(node->value[i], path, here, why, d);
  }
  for (int i = 0; i < node->n && node->kind == DOCUMENT_MAPPING; ++i) {
    if (strncmp(node->key[i], path, length) != 0 || node->key[i][length] != '\0') continue;
    snprintf(name, sizeof name, "%s", node->key[i]);
    snprintf(here, sizeof here, "%.150s%s%.60s", at, *at ? "." : "", name);
    if (dot) visit(node->value[i], dot + 1, here, why, d);
    else if (d) diagnostics_add(d, node->value[i]->mark, here, "%s", why);
    else document_remove(node, i);
    return;
  }
}

/* Kinds of bodies that the formulation cannot step. */
static void check_kinds(const document_node *root, int index, diagnostics *d)
{
  char                 path[300];
  const document_node *bodies = document_find(root, "bodies");
  for (int i = 0; bodies && i < bodies->n; ++i) {
    const document_node *kind = bodies->value[i]->kind == DOCUMENT_MAPPING ? document_find(bodies->value[i], "kind") : NULL;
    for (size_t k = 0; kind && kind->text && k < sizeof kinds / sizeof *kinds; ++k) {
      if (!(kinds[k].refused_by & 1u << index) || strcmp(kind->text, kinds[k].kind) != 0) continue;
      snprintf(path, sizeof path, "bodies.%.200s.kind", bodies->key[i]);
      diagnostics_add(d, kind->mark, path, "formulation %s does not support kind %s: %s", formulation_names[index], kinds[k].kind, kinds[k].why);
    }
  }
}

/* The scalar at a dotted path, or "none". */
static const char *text_at(const document_node *root, const char *path)
{
  char name[64];
  for (const document_node *node = root; node; ++path) {
    const size_t length = strcspn(path, ".");
    snprintf(name, sizeof name, "%.*s", (int)length, path);
    node = node->kind == DOCUMENT_MAPPING ? document_find(node, name) : NULL;
    path += length;
    if (*path == '\0') return node && node->text ? node->text : "none";
  }
  return "none";
}

static bool is_listed(const char *list, const char *word)
{
  const size_t length = strlen(word);
  for (const char *at = list; (at = strstr(at, word)); at += length)
    if ((at == list || at[-1] == ' ') && (at[length] == '\0' || at[length] == ' ')) return true;
  return false;
}

/* Visit the keys that have no effect for the values in `resolved`, where defaults are written out. */
static void visit_parts(const key_part *part, document_node *root, const document_node *resolved, diagnostics *d)
{
  char why[400];
  for (; part->path; ++part) {
    const char *value = text_at(resolved, part->other), *values = part->values;
    const bool  is_not = *values == '!';
    if (is_listed(values + is_not, value) != is_not) continue;
    snprintf(why, sizeof why, "has no effect when %s is %s; remove it", part->other, value);
    visit(root, part->path, "", why, d);
  }
}

static void visit_all(document_node *root, int index, diagnostics *d)
{
  char why[400];
  for (size_t k = 0; k < sizeof keys / sizeof *keys; ++k) {
    if (!(keys[k].refused_by & 1u << index)) continue;
    snprintf(why, sizeof why, "formulation %s does not support it: %s", formulation_names[index], keys[k].why);
    visit(root, keys[k].path, "", why, d);
  }
}

void formulation_keys_check(document_node *root, int index, diagnostics *d)
{
  visit_all(root, index, d);
  check_kinds(root, index, d);
}

void formulation_keys_check_conditions(document_node *root, const document_node *resolved, int index, diagnostics *d)
{
  if (OF(monolith) & 1u << index) visit_parts(flow_parts, root, resolved, d);
  if (OF(convex) & 1u << index) visit_parts(law_parts, root, resolved, d);
  if (OF(hybrid) & 1u << index) visit_parts(hybrid_parts, root, resolved, d);
}

void formulation_keys_prune(document_node *resolved, int index)
{
  visit_all(resolved, index, NULL);
  formulation_keys_check_conditions(resolved, resolved, index, NULL);
}
