/* Where on a body a contact acts, and the fibres of a body: what finders of contacts ask of bodies, and what they get. */
#ifndef SS_DISCRETIZE_BODY_BODY_SPOT_H
#define SS_DISCRETIZE_BODY_BODY_SPOT_H
#include <stdint.h>

typedef enum {
  FEATURE_POINT,    /* a contact point of the body, body_ops.point_row */
  FEATURE_SEGMENT,  /* of a fibre, body_ops.segments */
  FEATURE_TRIANGLE, /* of its surface, body_ops.surface */
  FEATURE_FRAME     /* of something rigid, body_ops.frame */
} feature_kind;

typedef struct {
  feature_kind kind;
  int64_t      index; /* of the point, segment or triangle in its body; unused with FEATURE_FRAME */
  double       w[3];  /* POINT: from the point to where its body is touched, of bodies with point_row_beside; SEGMENT: w[0] is where along it, in [0, 1), the spot lies beside x_0 + w[0] (x_1 - x_0); TRIANGLE: barycentric */
  double       x[3];  /* where the contact acts, world, at the start of the step [m] */
} body_spot;

/* Borrowed from the body. The segments of one strand are consecutive, in order along it; a closed strand ends at its first node. */
typedef struct {
  int64_t        n_nodes, n_segments;
  const int32_t *segment; /* [n_segments][2] nodes, never changes */
  const int32_t *strand;  /* [n_segments] */
  const double  *x;       /* [n_nodes][3] at the start of the step [m] */
  const double  *radius;  /* [n_segments] [m] */
} body_segments;
#endif
