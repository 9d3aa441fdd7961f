/* The strands of a rod as drawn: nodes, segments between them, and directors that follow the curve without twist. */
#ifndef SS_DISCRETIZE_ROD_ROD_STRANDS_H
#define SS_DISCRETIZE_ROD_ROD_STRANDS_H
#include "core/diagnostics.h"
#include "discretize/rod/rod_keys.h"

/* Strand s has nodes node_start[s] ... node_start[s + 1] - 1 and segments segment_start[s] ...: from node to node, of a closed one
 * also from the last to the first. Owned. */
typedef struct {
  bool     is_closed;
  int64_t  n_strands, n_nodes, n_segments;
  int64_t *node_start, *segment_start; /* [n_strands + 1] */
  double  *x;                          /* [n_nodes][3] m */
  double  *length;                     /* [n_segments] m */
  double  *director;                   /* [n_segments][3] unit, normal to the segment */
  double  *end_tangent, *end_director; /* [n_strands][2][3] of the curve itself at start and end, unit; both point on along it */
  int32_t *segment, *strand;           /* [n_segments][2], [n_segments]: see body_segments */
} rod_strands;

/* The user's mistakes go to `d`, then *is_made is false. node, path: of bodies.NAME. */
PetscErrorCode rod_strands_create(const rod_body_spec *spec, const document_node *node, const char *path, diagnostics *d, rod_strands *out,
                                  bool *is_made);
void           rod_strands_destroy(rod_strands *s);

/* Carry `a`, normal to the unit vector `from`, to `to` by the smallest rotation; may alias. Opposite vectors: half a turn about a. */
void rod_transport(const double from[3], const double to[3], const double a[3], double out[3]);
/* The angle between chords of these lengths of a circle of this curvature, one after the other; a length of 0 stands for the tangent. */
double rod_turning(double curvature, double before, double after);
#endif
