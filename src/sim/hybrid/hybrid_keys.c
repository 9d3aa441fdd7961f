#include "sim/hybrid/hybrid_keys.h"
#include "contact/augury/augury_near.h"
#include "sim/step/step_motion.h"
#include <math.h>

static const char *const transfers[] = {[HYBRID_TRANSFER_AUGURY] = "augury", [HYBRID_TRANSFER_PIC] = "pic", [HYBRID_TRANSFER_NONE] = "none", NULL};
static const char *const transfer_help[] = {
  "boundaries, resampled where they are coarse, go to the grid and back; what that did against separation is taken back "
  "[MarquezRazonEtAl2023]; keeps linear and angular momentum",
  "each body's boundary has velocities of its own on the grid, and where those of several close in on each other they take the common "
  "one, along the normal [HegemannEtAl2013]: once, without iteration",
  "nothing: geometric impulses alone"};
static const char *const choices[] = {[AUGURY_ALL] = "near", [AUGURY_CLOSING] = "closing", [AUGURY_MEETING] = "meeting", NULL};
static const char *const choice_help[] = {
  "all that is within three cells of something else, also what parts, as published: without iterations what has met sticks together",
  "of that, what closes in: the grid brakes over three cells, so that slow bodies come to rest in it and do not rebound",
  "of that, what would be within the thickness after two steps more: bodies keep their speed until they are about to touch"};
static const char *const ways[] = {[HYBRID_JUDGED_NEAREST] = "nearest", [HYBRID_JUDGED_NORMAL] = "normal", NULL};
static const char *const way_help[] = {"towards the nearest place of what a node meets", "along the node's normal, weighted by areas, as published: nodes of edges and of thin bodies have "
                                       "normals that point aside, and stick to what is ahead of them"};
static const key_spec grid_keys[] = {
  {.name = "spacing", .type = KEY_REAL, .offset = offsetof(hybrid_grid, spacing), .unit = "m", .min = 0, .max = INFINITY, .is_open = true,
   .is_optional = true,
   .help = "cells of the grid that contact goes through; half to twice the edges of boundaries is right. If not given: that of bodies of kind mpm, where there are "
           "such, which share their grid, else the mean edge of all boundaries that deform"},
  {.name = "transfer", .type = KEY_ENUM, .offset = offsetof(hybrid_grid, transfer), .choices = transfers, .choice_help = transfer_help,
   .fallback = "augury", .help = "what the grid does"},
  {.name = "iterations", .type = KEY_INT, .offset = offsetof(hybrid_grid, max_iterations), .fallback = "5", .min = 0, .max = 1000,
   .help = "of augury, at most: each takes back part of what the grid did against separation; 0: all of that stays, and bodies stick"},
  {.name = "tolerance", .type = KEY_REAL, .offset = offsetof(hybrid_grid, tolerance), .fallback = "1.0e-3", .min = 0, .max = 1,
   .help = "of augury: what may be left to take back, over the largest velocity of boundaries"},
  {.name = "hinders_sliding", .type = KEY_BOOL, .offset = offsetof(hybrid_grid, hinders_sliding), .fallback = "true",
   .help = "of augury: where boundaries close in, the grid's hold on their sliding stays, too; fewer collisions are left, and sliding is braked. "
           "false: only what is normal to boundaries stays"},
  {.name = "acts_on", .type = KEY_ENUM, .offset = offsetof(hybrid_grid, acts_on), .choices = choices, .choice_help = choice_help, .fallback = "closing",
   .help = "which parts of boundaries the grid changes the velocities of, with what is around them"},
  {.name = "cohesion", .type = KEY_ENUM, .offset = offsetof(hybrid_grid, cohesion), .choices = ways, .choice_help = way_help, .fallback = "nearest",
   .help = "of augury: the way along which a change of velocity is one that holds surfaces together, and is taken back"},
  {.name = "resampling", .type = KEY_BOOL, .offset = offsetof(hybrid_grid, resampling), .fallback = "true",
   .help = "of augury: triangles with sides above a quarter of a cell are filled with points; false: only their corners go to the grid, "
           "and what is finer than triangles slips through"},
  {.name = NULL}};
static const key_table grid_table = {.name = "solver.hybrid.grid", .help = "Contact through a grid.", .size = sizeof(hybrid_grid), .keys = grid_keys};

static const key_spec impulse_keys[] = {
  {.name = "enabled", .type = KEY_BOOL, .offset = offsetof(hybrid_impulses, is_on), .fallback = "true",
   .help = "false: surfaces may pass through each other where the grid does not keep them apart"},
  {.name = "thickness", .type = KEY_REAL, .offset = offsetof(hybrid_impulses, thickness), .unit = "m", .min = 0, .max = INFINITY, .is_optional = true,
   .help = "surfaces nearer than this no longer close in on each other, and are pushed apart gently. A twentieth of the mean edge if not given"},
  {.name = "stiffness", .type = KEY_REAL, .offset = offsetof(hybrid_impulses, stiffness), .unit = "N/m", .min = 0, .max = INFINITY,
   .is_optional = true,
   .help = "of the spring, per pair of features, that pushes them out of the thickness, by a tenth of what is missing in a step at most. If not given: as stiff as that"},
  {.name = "iterations", .type = KEY_INT, .offset = offsetof(hybrid_impulses, max_iterations), .fallback = "100", .min = 0, .max = 100000,
   .help = "pair by pair, at most; what still meets then moves rigidly together for this step"},
  {.name = NULL}};
static const key_table impulse_table = {.name = "solver.hybrid.impulses", .help = "Geometric impulses, which leave surfaces apart.",
                                        .size = sizeof(hybrid_impulses), .keys = impulse_keys};

static const char *const integrators[] = {[HYBRID_BACKWARD_EULER] = "backward_euler", [HYBRID_SYMPLECTIC] = "symplectic", NULL};
static const char *const integrator_help[] = {
  "implicit: steps as long as wanted; angular momentum of what vibrates is lost with the step's length",
  "explicit, of nodes: forces of the start of the step, which has to be shorter than sound takes through an element; keeps linear and angular "
  "momentum to rounding; knows no stiffness damping"};
static const char *const linears[] = {[MOTION_AUTO] = "auto", [MOTION_DIRECT] = "direct", [MOTION_ITERATIVE] = "iterative", NULL};
static const char *const fixes[]   = {[HYBRID_FIX_NONE] = "none", [HYBRID_FIX_LINEAR] = "linear", [HYBRID_FIX_RIGID] = "rigid", NULL};
static const char *const fix_help[] = {
  "the boundary's motion is prescribed where the interior is solved for, and whatever force that takes is lost",
  "velocities of bodies that meet, deformable and rigid, are shifted together until they have the momentum that they had before; where they also meet what is held or "
  "never moves, across what that can give: all ways, or along the normals of half-spaces without friction",
  "shifted and turned until what meets and is held by nothing has its angular momentum, too, which also takes back what backward Euler loses of it. Velocities "
  "then differ a little from displacement over step"};
static const char *const held[]     = {[HYBRID_HOLDS_TOUCHED] = "touched", [HYBRID_HOLDS_ALL] = "all", NULL};
static const char *const held_help[] = {
  "those whose velocity contact has changed; where others, free to move, then run into something, contact is asked again, three times at most, then all are held. Long steps of stiff bodies on what does not move gain no energy; takes more iterations",
  "all, as published: surfaces beside a contact go on as in free motion, which brings energy where sound goes farther in a step than contact is wide"};
static const key_spec keys[] = {
  {.name = "integrator", .type = KEY_ENUM, .offset = offsetof(hybrid_options, integrator), .choices = integrators,
   .choice_help = integrator_help, .fallback = "backward_euler", .help = "of bodies made of nodes"},
  {.name = "grid", .type = KEY_TABLE, .offset = offsetof(hybrid_options, grid), .table = &grid_table, .fallback = "{}", .help = "contact through a grid"},
  {.name = "impulses", .type = KEY_TABLE, .offset = offsetof(hybrid_options, impulses), .table = &impulse_table, .fallback = "{}",
   .help = "geometric impulses, after that"},
  {.name = "momentum_fix", .type = KEY_ENUM, .offset = offsetof(hybrid_options, momentum_fix), .choices = fixes, .choice_help = fix_help,
   .fallback = "linear", .help = "of bodies made of nodes, at the end of each step"},
  {.name = "holds", .type = KEY_ENUM, .offset = offsetof(hybrid_options, holds), .choices = held, .choice_help = held_help, .fallback = "all",
   .help = "of implicit steps: the nodes of surfaces whose motion is prescribed where the rest is solved for"},
  {.name = "linear", .type = KEY_ENUM, .offset = offsetof(hybrid_options, linear), .choices = linears, .fallback = "auto",
   .help = "how linear systems are solved: by factors (direct), by conjugate gradients (iterative), or by these unless they take more than 1000 iterations (auto)"},
  {.name = "allow_intersections", .type = KEY_BOOL, .offset = offsetof(hybrid_options, allow_intersections), .fallback = "false",
   .help = "surfaces may cut each other as the run starts; they stay as they are until they have come apart"},
  {.name = NULL}};
const key_table hybrid_options_table = {.name = "solver.hybrid", .help = "Contact of formulation hybrid: through a grid, then by impulses.",
                                        .size = sizeof(hybrid_options), .keys = keys};
