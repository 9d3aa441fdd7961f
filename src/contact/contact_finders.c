#include "contact/contact_finders.h"
#include "contact/convex_contact.h"

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

unsigned contact_finders_of(const body *a, const body *b)
{
  const bool fibres_a = has_segments(a), fibres_b = has_segments(b);
  unsigned   finders = 0;
  if (fibres_a && fibres_b) finders |= 1u << FINDER_FIBRE;
  if (a == b) return finders;
  if (convex_contact_takes(a, b)) return 1u << FINDER_CONVEX;
  for (int side = 0; side < 2; ++side) {
    const body *one = side == 0 ? a : b, *two = side == 0 ? b : a;
    const bool  is_fibre = side == 0 ? fibres_a : fibres_b;
    if (!has_level_sets(two)) continue;
    if (is_fibre) finders |= 1u << FINDER_FIBRE_OBJECT;
    else if (one->ops->points != POINT_NONE) finders |= 1u << FINDER_POINT;
  }
  return finders;
}

const char *contact_finder_text(contact_finder finder)
{
  static const char *const text[CONTACT_N_FINDERS] = {[FINDER_POINT]         = "points and level sets",
                                                      [FINDER_CONVEX]        = "convex solids",
                                                      [FINDER_FIBRE]         = "fibres and fibres",
                                                      [FINDER_FIBRE_OBJECT]  = "fibres and level sets",
                                                      [FINDER_SURFACE_POINT] = "points and triangles",
                                                      [FINDER_SURFACE_EDGE]  = "edges and edges"};
  return text[finder];
}
