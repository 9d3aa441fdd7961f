/* Implementation: penalty_rows.c (convex solids, obstacle edges), penalty.c (points and level sets), penalty_mesh.c (points and triangles) and
 * penalty_edges.c (edges) of contact/penalty. */
#include "sim/penalty/penalty_detectors.h"
#include "contact/detection/contact_detectors.h"
#include "sim/penalty/penalty_keys.h"
#include "sim/scene/scene_surfaces.h"
#include "sim/step/solver_options.h"

enum { PENALTY_SOLIDS, PENALTY_LEVEL_SETS, PENALTY_TRIANGLES, PENALTY_EDGES, PENALTY_OBSTACLE_EDGES, PENALTY_N_DETECTORS };
static const char *const texts[PENALTY_N_DETECTORS] = {"convex solids", "points and level sets", "points and triangles", "edges and edges",
                                                       "obstacle edges and solids"};

static bool has_triangles(const body *b)
{
  body_surface s = {0};
  if (b->ops->surface) b->ops->surface(b, &s);
  return s.n_triangles > 0;
}

static unsigned penalty_detectors_of(const scene *s, int i, int j)
{
  const body    *a = s->bodies[i].body, *b = s->bodies[j].body;
  const unsigned found  = contact_spring_detectors_of(a, b, s->options->solver->penalty->rigid_detector == PENALTY_DETECTOR_CONVEX);
  unsigned       listed = 0;
  if (found & 1u << DETECTOR_CONVEX) return 1u << PENALTY_SOLIDS;
  if (found & 1u << DETECTOR_POINT) listed |= 1u << PENALTY_LEVEL_SETS;
  if (found & 1u << DETECTOR_SURFACE_POINT) listed |= 1u << PENALTY_TRIANGLES;
  if (listed && penalty_has_edges(s) && has_triangles(a) && has_triangles(b)) listed |= 1u << PENALTY_EDGES;
  if (s->options->solver->penalty->rigid_detector == PENALTY_DETECTOR_CONVEX && scene_obstacle_edges(s, i, j))
    listed |= 1u << PENALTY_OBSTACLE_EDGES;
  return listed;
}

const detector_list penalty_detectors = {PENALTY_N_DETECTORS, texts, penalty_detectors_of};
