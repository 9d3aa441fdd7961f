/* Rigid bodies of the scene as solids that displace the continuum on the staggered grid: signed distance and bounds. */
#ifndef SS_DISCRETIZE_MAC_MAC_SOLID_H
#define SS_DISCRETIZE_MAC_MAC_SOLID_H
#include "discretize/mac/mac_grid.h"
#include "geometry/level_set/level_set.h"
#include "discretize/body/body.h"

typedef struct {
  int               body; /* number in the scene */
  int               n;    /* level sets, fixed to the frame; the solid is their union */
  level_set *const *sets;
  rigid_frame       frame;      /* at the start of the step; v, w: its velocity, if prescribed */
  bool              is_unknown; /* dynamic: its velocity is solved for */
  double friction; /* between it and the continuum: shear stress at its surface is at most friction * p; INFINITY: the material's own */
} mac_solid;

/* A solid with its bounds in world coordinates [m]. On a periodic grid distances are those to the image nearest to a point; solids
 * longer than a period have no images. */
typedef struct {
  const mac_solid *solid;
  double           low[3], high[3]; /* may be infinite */
  double           period[3];       /* 0: no images along this axis */
} mac_placed;

mac_placed mac_solid_placed(const mac_solid *s, const mac_grid *g);
/* x - origin of the frame, of the nearest image. */
void mac_placed_arm(const mac_placed *p, const double x[3], double arm[3]);
/* Signed distance, negative inside; INFINITY for a solid without level sets. */
double mac_placed_distance(const mac_placed *p, const double x[3]);
/* The same with its gradient, in world axes. */
double mac_placed_gradient(const mac_placed *p, const double x[3], double gradient[3]);
/* Whether a cube around x, `half` to every side, lies outside the bounds. */
bool mac_placed_is_outside(const mac_placed *p, const double x[3], double half);
#endif
