/* Key tables of solver.hybrid. */
#include "sim/hybrid/hybrid_keys.h"
#include "contact/augury/augury_near.h"
#include <math.h>

static const char *const transfers[] = {
    [HYBRID_TRANSFER_AUGURY] = "augury", [HYBRID_TRANSFER_PIC] = "pic", [HYBRID_TRANSFER_NONE] = "none", NULL};
static const char *const transfer_help[] = {
    "augury: boundaries, resampled where they are coarse, are transferred to the grid and back; changes against separation are "
    "undone [MarquezRazonEtAl2023]; preserves linear and angular momentum",
    "each boundary has its own velocity field on the grid; where several approach each other they take the common velocity along "
    "the normal [HegemannEtAl2013], once, without iteration",
    "no transfer: geometric impulses only"};
static const char *const choices[] = {[AUGURY_ALL] = "near", [AUGURY_APPROACHING] = "approaching", [AUGURY_COLLIDING] = "colliding", NULL};
static const char *const choice_help[] = {
    "everything within three cells of another body, also separating surfaces, as published: without iterations bodies in contact "
    "stick together",
    "the approaching part of that: the grid decelerates over three cells, so that slow bodies come to rest in it and do not rebound",
    "the part of that which would be within the thickness after two more steps: bodies keep their speed until they are about to "
    "touch"};
static const char *const directions[]     = {[HYBRID_COHESION_NEAREST] = "nearest", [HYBRID_COHESION_NORMAL] = "normal", NULL};
static const char *const direction_help[] = {"towards the nearest point of the other body", "along the area-weighted normal of the "
                                                                                            "node, as published: nodes on edges and "
                                                                                            "of thin bodies have normals that point "
                                                                                            "sideways, and stick to bodies ahead of "
                                                                                            "them"};
/* clang-format off */
static const key_spec hybrid_grid_expert_keys[] = {
  {.name = "iterations", .type = KEY_INT, .offset = offsetof(hybrid_grid, max_iterations), .fallback = "5", .min = 0, .max = 1000,
   .only_if = {"^transfer", "augury"}, .help = "maximum number of augury iterations: each undoes part of the grid's changes against separation; 0: all changes "
           "remain, and bodies stick"},
  {.name = "region", .type = KEY_ENUM, .offset = offsetof(hybrid_grid, region), .choices = choices, .choice_help = choice_help, .fallback = "approaching",
   .only_if = {"^transfer", "!none"}, .help = "parts of boundaries whose velocities the grid changes, with their surroundings"},
  {.name = "damps_sliding", .type = KEY_BOOL, .offset = offsetof(hybrid_grid, damps_sliding), .fallback = "true",
   .only_if = {"^transfer", "augury"}, .help = "augury: true: where boundaries approach, the grid's change of their sliding velocity remains, too; fewer collisions "
           "remain, but sliding is decelerated. false: only changes normal to the boundary remain"},
  {.name = "cohesion", .type = KEY_ENUM, .offset = offsetof(hybrid_grid, cohesion), .choices = directions, .choice_help = direction_help, .fallback = "nearest",
   .only_if = {"^transfer", "augury"}, .help = "augury: direction along which a cohesive velocity change is undone"},
  {.name = "resampling", .type = KEY_BOOL, .offset = offsetof(hybrid_grid, resampling), .fallback = "true",
   .only_if = {"^transfer", "augury"}, .help = "augury: triangles with edges longer than a quarter of a cell are sampled with points; false: only their corners are "
           "transferred, and features smaller than triangles pass through"},
  {.name = NULL}};
static const key_table hybrid_grid_expert_table = {.name = "solver.hybrid.grid.expert", .help = "Parameters of the transfer through the grid.", .size = sizeof(hybrid_grid), .keys = hybrid_grid_expert_keys};

static const key_spec grid_keys[] = {
  {.name = "spacing", .type = KEY_REAL, .offset = offsetof(hybrid_grid, spacing), .unit = "m", .min = 0, .max = INFINITY, .is_open = true,
   .is_optional = true,
   .only_if = {"transfer", "augury pic"}, .help = "cell size of the contact grid; recommended: half to twice the edge length of boundaries. If not given: that of bodies "
           "of kind mpm, if there are any, which share their grid; else the mean edge of all deformable boundaries"},
  {.name = "transfer", .type = KEY_ENUM, .offset = offsetof(hybrid_grid, transfer), .choices = transfers, .choice_help = transfer_help,
   .fallback = "augury", .help = "what the grid does"},
  {.name = "expert", .type = KEY_PART, .table = &hybrid_grid_expert_table, .fallback = "{}", .help = "keys for experts"},
  {.name = NULL}};
static const key_table grid_table = {.name = "solver.hybrid.grid", .help = "Contact by transfer through a grid.", .size = sizeof(hybrid_grid), .keys = grid_keys};

static const key_spec impulse_expert_keys[] = {
  {.name = "stiffness", .type = KEY_REAL, .offset = offsetof(hybrid_impulses, stiffness), .unit = "N/m", .min = 0, .max = INFINITY,
   .is_optional = true,
   .only_if = {"^enabled", "true"}, .help = "stiffness per pair of features of the spring that separates surfaces to the thickness; it corrects at most a tenth of "
           "the missing distance per step. If not given: the stiffness for that limit"},
  {.name = "iterations", .type = KEY_INT, .offset = offsetof(hybrid_impulses, max_iterations), .fallback = "100", .min = 0, .max = 100000,
   .only_if = {"^enabled", "true"}, .help = "maximum number of iterations pair by pair; pairs that still collide then move rigidly together in this step"},
  {.name = NULL}};
static const key_table impulse_expert_table = {.name = "solver.hybrid.impulses.expert", .help = "Parameters of the geometric impulses.", .size = sizeof(hybrid_impulses), .keys = impulse_expert_keys};

static const key_spec impulse_keys[] = {
  {.name = "enabled", .type = KEY_BOOL, .offset = offsetof(hybrid_impulses, is_on), .fallback = "true",
   .help = "false: surfaces may pass through each other where the grid does not prevent it"},
  {.name = "thickness", .type = KEY_REAL, .offset = offsetof(hybrid_impulses, thickness), .unit = "m", .min = 0, .max = INFINITY, .is_optional = true,
   .only_if = {"enabled", "true"}, .help = "surfaces closer than this stop approaching and are separated slowly. If not given: a thousandth of the mean edge or of the smallest body (contact: coulomb), or a twentieth (contact: impulses)"},
  {.name = "expert", .type = KEY_PART, .table = &impulse_expert_table, .fallback = "{}", .help = "keys for experts"},
  {.name = NULL}};
/* clang-format on */
static const key_table impulse_table = {.name = "solver.hybrid.impulses",
                                        .help = "Geometric impulses, which leave surfaces "
                                                "separate.",
                                        .size = sizeof(hybrid_impulses),
                                        .keys = impulse_keys};

static const char *const contacts[] = {
    [HYBRID_CONTACT_AUTO] = "auto", [HYBRID_CONTACT_COULOMB] = "coulomb", [HYBRID_CONTACT_IMPULSES] = "impulses", NULL};
static const char *const contact_help[] = {
    "coulomb; impulses if there are bodies of kind mpm or the integrator is symplectic",
    "bodies and contact forces are solved together and satisfy the laws of Signorini and Coulomb, as in formulation exact; "
    "impulses and prescribed surfaces act only where surfaces would still collide",
    "as published: free motion, transfer through the grid, impulses between surface nodes, and a second motion with prescribed "
    "surfaces. Friction is limited by the impulses of surface nodes: resting bodies creep, and the grid adds friction"};
static const char *const integrators[]     = {[HYBRID_BACKWARD_EULER] = "backward_euler", [HYBRID_SYMPLECTIC] = "symplectic", NULL};
static const char *const integrator_help[] = {
    "implicit, for steps of any length; vibrations lose angular momentum with the length of the step",
    "explicit, for nodes: forces of the start of the step, which must be shorter than the travel time of sound through an element; "
    "preserves linear and angular momentum to rounding; does not support stiffness damping"};
static const char *const fixes[] = {
    [HYBRID_CORRECTION_NONE] = "none", [HYBRID_CORRECTION_LINEAR] = "linear", [HYBRID_CORRECTION_RIGID] = "rigid", NULL};
static const char *const fix_help[] = {
    "the boundary motion is prescribed in the second solve, and the momentum of the constraint forces is lost",
    "velocities of bodies in contact, deformable and rigid, are shifted together until they have the momentum that they had before; "
    "if they also touch constrained or static bodies, only in directions without a reaction: in none, or tangentially to "
    "half-spaces without friction",
    "shifted and rotated: groups without constrained bodies also keep their angular momentum, which also undoes the loss by "
    "backward Euler. Velocities then differ slightly from displacement over step"};
static const char *const held[]      = {[HYBRID_PRESCRIBED_CONTACT] = "contact", [HYBRID_PRESCRIBED_SURFACE] = "surface", NULL};
static const char *const held_help[] = {
    "nodes whose velocity contact has changed; if free nodes then collide, contact is repeated, at most three times, then all are "
    "prescribed. Long steps of stiff bodies on static ones gain no energy; needs more iterations",
    "all nodes of surfaces, as published: surfaces next to a contact continue with their free motion, which adds energy if sound "
    "travels farther in a step than the contact is wide"};
/* clang-format off */
static const key_spec hybrid_expert_keys[] = {
  {.name = "prescribed_nodes", .type = KEY_ENUM, .offset = offsetof(hybrid_options, prescribed_nodes), .choices = held, .choice_help = held_help, .fallback = "surface",
   .only_if = {"^integrator", "backward_euler"}, .help = "implicit steps: nodes of surfaces whose motion is prescribed in the second solve"},
  {.name = NULL}};
static const key_table hybrid_expert_table = {.name = "solver.hybrid.expert", .help = "A published alternative.", .size = sizeof(hybrid_options), .keys = hybrid_expert_keys};

static const key_spec keys[] = {
  {.name = "contact", .type = KEY_ENUM, .offset = offsetof(hybrid_options, contact), .choices = contacts, .choice_help = contact_help,
   .fallback = "auto", .help = "method of contact"},
  {.name = "integrator", .type = KEY_ENUM, .offset = offsetof(hybrid_options, integrator), .choices = integrators,
   .choice_help = integrator_help, .fallback = "backward_euler", .help = "time integrator of bodies made of nodes"},
  {.name = "grid", .type = KEY_TABLE, .offset = offsetof(hybrid_options, grid), .table = &grid_table, .fallback = "{}", .only_if = {"contact", "auto impulses"}, .help = "contact through a grid"},
  {.name = "impulses", .type = KEY_TABLE, .offset = offsetof(hybrid_options, impulses), .table = &impulse_table, .fallback = "{}",
   .help = "geometric impulses, which prevent intersections"},
  {.name = "momentum_correction", .type = KEY_ENUM, .offset = offsetof(hybrid_options, momentum_correction), .choices = fixes, .choice_help = fix_help,
   .fallback = "linear", .help = "correction of momentum of bodies made of nodes, at the end of each step"},
  {.name = "expert", .type = KEY_PART, .table = &hybrid_expert_table, .fallback = "{}", .help = "keys for experts"},
  {.name = NULL}};
/* clang-format on */
const key_table hybrid_options_table = {.name = "solver.hybrid",
                                        .help = "Contact of formulation hybrid: transfer through a grid, "
                                                "then geometric impulses.",
                                        .size = sizeof(hybrid_options),
                                        .keys = keys};
