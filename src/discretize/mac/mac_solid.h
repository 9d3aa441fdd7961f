/* Rigid bodies of the scene as solids that displace the continuum on the staggered grid: signed distance and bounds. */
#ifndef SS_DISCRETIZE_MAC_MAC_SOLID_H
#define SS_DISCRETIZE_MAC_MAC_SOLID_H
#include "discretize/mac/mac_grid.h"
#include "geometry/level_set/level_set.h"
#include "discretize/body/body.h"

typedef struct {
  int               body;       /* number in the scene */
  int               n;          /* number of level sets */
  level_set *const *sets;       /* [n] borrowed, fixed to the frame; the solid is their union */
  rigid_frame       frame;      /* pose at the start of the step; v, w: velocity of a prescribed motion */
  bool              is_unknown; /* dynamic body: its velocity is an unknown */
  double friction; /* with the continuum: shear stress at the surface is at most friction * p; INFINITY: friction of the material */
} mac_solid;

/* A solid with its bounds in world coordinates [m]. On a periodic grid distances are those to the image nearest to a point; solids
 * longer than a period have no images. */
typedef struct {
  const mac_solid *solid;
  double           low[3], high[3]; /* may be infinite */
  double           period[3];       /* 0: no images along this axis */
} mac_placed;

/* Compute bounds and periods of a solid (borrowed) on grid g. */
mac_placed mac_solid_placed(const mac_solid *s, const mac_grid *g);
/* arm = x - origin of the frame of the nearest image. */
void mac_placed_arm(const mac_placed *p, const double x[3], double arm[3]);
/* Returns the signed distance of x [m], negative inside; INFINITY for a solid without level sets. */
double mac_placed_distance(const mac_placed *p, const double x[3]);
/* The same; sets its gradient in world axes. */
double mac_placed_gradient(const mac_placed *p, const double x[3], double gradient[3]);
/* Returns true if the cube with centre x and side 2 half lies outside the bounds of the solid and its images. */
bool mac_placed_is_outside(const mac_placed *p, const double x[3], double half);
#endif
