/* Job keys of the staggered grid: bodies of kind mac, and the `mac:` entry of the shared grid. */
#ifndef SS_DISCRETIZE_MAC_MAC_KEYS_H
#define SS_DISCRETIZE_MAC_MAC_KEYS_H
#include "core/key_table.h"
#include "discretize/mac/mac_grid.h"
#include "discretize/particles/particle_fill.h"

typedef enum { MAC_FRACTIONS_AUTO, MAC_FRACTIONS_VOLUME, MAC_FRACTIONS_AREA, MAC_FRACTIONS_VOXEL, MAC_FRACTIONS_GHOST } mac_fractions;
typedef enum { MAC_COLOCATED, MAC_STAGGERED } mac_arrangement;
typedef enum { MAC_ORTHONORMAL, MAC_COMPONENTS } mac_basis;

/* Job entry bodies.NAME of kind mac. */
typedef struct {
  particle_body_spec fill;
} mac_body_spec;
extern const key_table mac_body_table;

typedef struct {
  double min[3], max[3];
} mac_box;

typedef struct {
  int side[3][2]; /* axis, lower/upper side: mac_wall */
} mac_walls;

/* Job entry `mac:`, common to all mac bodies. Comments begin with the module that reads the member. */
typedef struct mac_options {
  const mac_box   *domain;
  double           spacing;
  const mac_walls *walls;
  double           wall_friction;       /* system: shear bound of rough walls, wall_friction * p; NaN: the material's own friction */
  double           cfl;                 /* domain: largest number of cells that a particle may cross in a step */
  int              fractions;           /* system: mac_fractions; auto: volume for granular, area for liquid */
  int              arrangement;         /* system: mac_arrangement */
  int              basis;               /* system: mac_basis */
  double           hourglass;           /* formulation: see mac_hourglass.h */
  int64_t          position_correction; /* domain: iterations per frame, see mac_correction.h */
} mac_options;
extern const key_table mac_options_table;
#endif
