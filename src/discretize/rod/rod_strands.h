/* The strands of a rod at the start of the run: nodes, the segments between them, and twist-free directors along the curve.
 * Created from the job keys `curve`, `closed`, `segments`, `director` and `copies`. */
#ifndef SS_DISCRETIZE_ROD_ROD_STRANDS_H
#define SS_DISCRETIZE_ROD_ROD_STRANDS_H
#include "core/diagnostics.h"
#include "discretize/rod/rod_keys.h"

/* Strand s has nodes node_start[s] ... node_start[s + 1] - 1 and segments segment_start[s] ... segment_start[s + 1] - 1, each
 * from one node to the next. A closed strand also has a segment from the last node to the first. The struct owns its arrays. */
typedef struct {
  bool     is_closed;
  int64_t  n_strands, n_nodes, n_segments;
  int64_t *node_start, *segment_start; /* [n_strands + 1] */
  double  *x;                          /* [n_nodes][3] m */
  double  *length;                     /* [n_segments] m */
  double  *director;                   /* [n_segments][3] unit, normal to the segment */
  double  *end_tangent, *end_director; /* [n_strands][2][3] of the smooth curve at start and end, unit vectors; both tangents
                                          point from start to end */
  int32_t *segment, *strand;           /* [n_segments][2], [n_segments]: see body_segments */
} rod_strands;

/* Create the strands of one body. User errors are reported to `d`; then *is_made is false. `node` and `path` belong to bodies.NAME. */
PetscErrorCode rod_strands_create(const rod_body_spec *spec, const document_node *node, const char *path, diagnostics *d, rod_strands *out,
                                  bool *is_made);
void           rod_strands_destroy(rod_strands *s);

/* Parallel transport: out = `a`, rotated by the smallest rotation that moves the unit vector `from` to the unit vector `to`. `a` is normal
 * to `from`; out may be a. If `from` and `to` are opposite: half a turn about a. */
void rod_transport(const double from[3], const double to[3], const double a[3], double out[3]);
/* Angle [rad] between two consecutive chords, of lengths `before` and `after`, of a circle with this curvature. A length of 0 represents
 * the tangent. */
double rod_chord_angle(double curvature, double before, double after);
#endif
