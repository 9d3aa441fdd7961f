/* Table of contact detectors by kinds of bodies, see contact_detectors.h. */
#include "contact/detection/contact_detectors.h"
#include "contact/detection/convex_contact.h"

static bool has_level_sets(const body *b)
{
  int n = 0;
  if (b->ops->level_sets) (void)b->ops->level_sets(b, &n);
  return n > 0;
}

static bool has_segments(const body *b)
{
  body_segments s = {0};
  if (b->ops->segments) b->ops->segments(b, &s);
  return s.n_segments > 0;
}

static bool has_triangles(const body *b)
{
  body_surface s = {0};
  if (b->ops->surface) b->ops->surface(b, &s);
  return s.n_triangles > 0;
}

/* Kinds of the convex solids of a body as bits 1 << kind. */
static unsigned solid_kinds(const body *b)
{
  int                 n     = 0;
  const convex_solid *solid = b->ops->solids ? b->ops->solids(b, &n) : NULL;
  unsigned            bits  = 0;
  for (int i = 0; i < n; ++i) bits |= 1u << solid[i].kind;
  return bits;
}

/* Whether the body consists of material points without a surface. */
static bool is_space(const body *b) { return b->ops->points != POINT_NONE && b->ops->point_radius; }

unsigned contact_traits_of(const body *b)
{
  const bool trait[] = {true,
                        body_system((body *)b) != NULL,
                        has_level_sets(b),
                        has_segments(b),
                        has_triangles(b),
                        b->ops->segments && b->ops->n_clusters && b->ops->n_clusters(b) > 0};
  unsigned   bits    = solid_kinds(b);
  for (size_t k = 0; k < sizeof trait / sizeof *trait; ++k) bits = bits << 1 | trait[k];
  return bits;
}

unsigned contact_detectors_of(const body *a, const body *b)
{
  const bool fibres_a = has_segments(a), fibres_b = has_segments(b);
  unsigned   finders = 0;
  if (!body_system((body *)a) && !body_system((body *)b)) return 0;
  if (fibres_a && fibres_b) finders |= 1u << DETECTOR_FIBRE;
  if (a == b) return has_triangles(a) && !a->ops->frame ? finders | 1u << DETECTOR_SURFACE_POINT | 1u << DETECTOR_SURFACE_EDGE : finders;
  if (convex_contact_takes(a, b)) return 1u << DETECTOR_CONVEX;
  for (int side = 0; side < 2; ++side) {
    const body *one = side == 0 ? a : b, *two = side == 0 ? b : a;
    const bool  is_fibre = side == 0 ? fibres_a : fibres_b;
    const bool  is_point = one->ops->points != POINT_NONE;
    if (has_triangles(two) && (is_fibre || is_point)) finders |= 1u << DETECTOR_SURFACE_POINT;
    if (has_triangles(two) && (is_fibre || has_triangles(one))) finders |= 1u << DETECTOR_SURFACE_EDGE;
    if (has_segments(two) && is_space(one)) finders |= 1u << DETECTOR_FIBRE_POINT;
    if (!has_level_sets(two)) continue;
    if (is_fibre) finders |= 1u << DETECTOR_FIBRE_OBJECT;
    else if (is_point) finders |= 1u << DETECTOR_POINT;
  }
  return finders;
}

unsigned contact_spring_detectors_of(const body *a, const body *b, bool uses_solids)
{
  unsigned detectors = 0;
  if (!body_system((body *)a) && !body_system((body *)b)) return 0;
  if (a == b) return has_triangles(a) && !a->ops->frame ? 1u << DETECTOR_SURFACE_POINT : 0;
  if (uses_solids && convex_contact_takes(a, b)) return 1u << DETECTOR_CONVEX;
  for (int side = 0; side < 2; ++side) {
    const body *one = side == 0 ? a : b, *two = side == 0 ? b : a;
    if (one->ops->points == POINT_NONE) continue;
    if (has_triangles(two)) detectors |= 1u << DETECTOR_SURFACE_POINT;
    if (has_level_sets(two)) detectors |= 1u << DETECTOR_POINT;
  }
  return detectors;
}

const char *contact_detector_text(contact_detector finder)
{
  static const char *const text[CONTACT_N_DETECTORS] = {[DETECTOR_POINT]         = "points and level sets",
                                                        [DETECTOR_CONVEX]        = "convex solids",
                                                        [DETECTOR_FIBRE]         = "fibres and fibres",
                                                        [DETECTOR_FIBRE_OBJECT]  = "fibres and level sets",
                                                        [DETECTOR_SURFACE_POINT] = "points and triangles",
                                                        [DETECTOR_SURFACE_EDGE]  = "edges and edges",
                                                        [DETECTOR_FIBRE_POINT]   = "material points and fibres",
                                                        [DETECTOR_OBSTACLE_EDGE] = "obstacle edges and solids"};
  return text[finder];
}
