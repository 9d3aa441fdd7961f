/* Job keys of MPM: bodies of kind mpm, and the grid they share. */
#ifndef SS_DISCRETIZE_MPM_MPM_KEYS_H
#define SS_DISCRETIZE_MPM_MPM_KEYS_H
#include "core/key_table.h"
#include "discretize/mpm/mpm_domain.h"
#include "discretize/particles/particle_keys.h"

/* bodies.NAME with kind: mpm */
typedef struct {
  particle_body_spec fill; /* first */
  double             spacing;
} mpm_body_spec;
extern const key_table mpm_body_table;

/* `mpm:` of the job */
typedef struct mpm_options {
  int      kernel, transfer, gradient; /* 0: quadratic, 1: cubic; 0: APIC, 1: PIC/FLIP; 0: spline, 1: affine */
  double   flip, light_nodes, rest_speed; /* light_nodes NaN: as the materials and the formulation ask for */
  key_list walls, body_force; /* of mpm_wall_spec; of const char * */
} mpm_options;
typedef struct {
  int    axis, side, kind;
  double at;
} mpm_wall_spec;
extern const key_table mpm_options_table;
#endif
