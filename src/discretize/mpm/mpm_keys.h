/* Job keys of MPM: bodies of kind mpm, and the grid they share. */
#ifndef SS_DISCRETIZE_MPM_MPM_KEYS_H
#define SS_DISCRETIZE_MPM_MPM_KEYS_H
#include "core/key_table.h"
#include "discretize/mesh/shape.h"
#include "discretize/mpm/mpm_domain.h"

/* bodies.NAME with kind: mpm */
typedef struct {
  const char       *material; /* first, as in every kind */
  const shape_spec *shape;
  double            spacing;
  double            particles_per_cell;
  int               seeding;
  double            jitter;
  int64_t           seed;
  double            velocity[3], angular_velocity[3];
  key_list          velocity_field; /* of const char *: expressions, see vector_field.h; empty: none */
  const mpm_pour   *pour;           /* NULL: all particles are there from the start */
} mpm_body_spec;
extern const key_table mpm_body_table;

/* `mpm:` of the job */
typedef struct mpm_options {
  int      kernel, transfer; /* 0: quadratic, 1: cubic; 0: APIC, 1: PIC/FLIP */
  double   flip, light_nodes;
  key_list walls, body_force; /* of mpm_wall_spec; of const char * */
} mpm_options;
typedef struct {
  int    axis, side, kind;
  double at;
} mpm_wall_spec;
extern const key_table mpm_options_table;
#endif
