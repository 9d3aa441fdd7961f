/* Bodies of kind mpm, created from a job: shapes filled with particles on one grid, with initial velocities, body forces and
 * sources. Caller: the table of body kinds (discretize/body_kinds.c). */
#ifndef SS_DISCRETIZE_MPM_MPM_BODY_H
#define SS_DISCRETIZE_MPM_MPM_BODY_H
#include "core/key_table.h"
#include "discretize/body/body_kind.h"
#include "discretize/mpm/mpm_domain.h"
#include "discretize/particles/particle_fill.h"

/* Job entry bodies.NAME of kind mpm. */
typedef struct {
  particle_body_spec fill; /* first */
  double             spacing;
} mpm_body_spec;

/* Job entry `mpm:`, common to all mpm bodies. */
typedef struct mpm_options {
  int    kernel, transfer, gradient; /* 0: quadratic, 1: cubic; 0: APIC, 1: PIC/FLIP; 0: spline, 1: affine */
  double flip, light_node_mass_fraction,
      light_node_rest_speed;  /* light_node_mass_fraction NaN: chosen from the materials and the formulation */
  key_list walls, body_force; /* list of mpm_wall_spec; three expressions */
} mpm_options;
typedef struct {
  int    axis, side, kind;
  double at;
} mpm_wall_spec;
extern const key_table mpm_options_table;

/* Data shared by all mpm bodies of a scene. */
typedef struct mpm_world {
  mpm_domain      *domain;
  vector_field    *body_force; /* [m/s^2]; NULL: none */
  particle_origins origins;    /* stored if body_force is given or body_world.keeps_origins is set */
} mpm_world;
#endif
