/* The geometry of one body at one time, for overlap depths of pairs (overlap_pair.h): convex solids, signed distance, surface triangles,
 * segments of fibres, and particles, all in world coordinates. Called by scene_overlaps.h. */
#ifndef SS_SIM_SCENE_OVERLAP_SHAPE_H
#define SS_SIM_SCENE_OVERLAP_SHAPE_H
#include "discretize/body/body.h"
#include "discretize/particles/particles.h"
#include "geometry/convex/convex_pose.h"
#include "geometry/triangle_mesh/triangle_bvh.h"

/* Pointers without "owned" are borrowed from the body. */
typedef struct {
  const body         *b;
  bool                is_posed;            /* level sets, solids and mesh are fixed to `pose` */
  bool                is_placed, is_still; /* still: the last placement has not changed the pose */
  rigid_frame         pose;
  int                 n_solids;
  const convex_solid *solid;
  convex_pose        *convex;   /* [n_solids] owned */
  double             *work;     /* owned: work space of `convex` */
  bool                is_walls; /* all solids are half-spaces */
  int                 n_phi;
  level_set *const   *phi;     /* [n_phi] in the axes of `pose` */
  double             *phi_box; /* [n_phi][6] owned: bounds in the axes of `pose` */
  triangle_mesh      *mesh;    /* surface in the axes of `pose`, borrowed; or in world coordinates, owned; NULL: none */
  bool                is_closed;
  triangle_bvh       *bvh; /* owned: of `mesh`; NULL unless overlap_shape_prepare_inside has been called */
  double          *x; /* [mesh->n_vertices][3] owned: vertices in world coordinates, NULL until prepared; mesh->x if the body has no pose */
  body_segments    fibres;
  double          *thin; /* [n_segments] owned: zeros, the radii of fibres whose contact acts on the axis; else NULL */
  const particles *particles;
  double           min[3], max[3]; /* bounds in world coordinates; infinite for half-spaces [m] */
  double           size;           /* smallest extent of a solid; spacing, diameter of fibres or of particles otherwise [m] */
} overlap_shape;

/* is_thick: fibres have their radius; false: contact acts on their axes (formulation penalty). Describe body b, which outlives *out; free it with overlap_shape_clear. like: shape of another
 * body that may have the same surface, such as the copy before; NULL: none. */
PetscErrorCode overlap_shape_create(const body *b, bool is_thick, const overlap_shape *like, overlap_shape *out);
void           overlap_shape_clear(overlap_shape *s);
/* Set poses, positions and bounds between two steps; bodies with prescribed motion are placed for time t. */
PetscErrorCode overlap_shape_place(overlap_shape *s, double t);
/* Prepare overlap_shape_distance. Does nothing if the body has level sets, or no closed surface. */
PetscErrorCode overlap_shape_prepare_inside(overlap_shape *s);
/* World positions s->x of the vertices of bodies with a pose, for the current placement. Error: out of memory. */
PetscErrorCode overlap_shape_prepare_vertices(overlap_shape *s);
/* True if overlap_shape_distance is available after the preparation: level sets other than half-spaces, or a closed surface. */
bool overlap_shape_has_inside(const overlap_shape *s);
/* Signed distance of x [3] from the surface, negative inside [m], if it is below `limit`; otherwise any number that is not below it. *hint: -1 at first,
 * then passed on. Thread-safe. */
double overlap_shape_distance(const overlap_shape *s, const double x[3], double limit, int32_t *hint);
#endif
