/* Implementation: penalty.c (points and level sets), penalty_mesh.c (points and triangles) and penalty_edges.c (edges) of contact/penalty. */
#include "sim/penalty/penalty_detectors.h"
#include "sim/penalty/penalty_keys.h"
#include "sim/step/solver_options.h"

enum { PENALTY_LEVEL_SETS, PENALTY_TRIANGLES, PENALTY_EDGES, PENALTY_N_DETECTORS };
static const char *const texts[PENALTY_N_DETECTORS] = {"points and level sets", "points and triangles", "edges and edges"};

static bool has_triangles(const body *b)
{
  body_surface s = {0};
  if (b->ops->surface) b->ops->surface(b, &s);
  return s.n_triangles > 0;
}

static bool has_level_sets(const body *b)
{
  int n = 0;
  if (b->ops->level_sets) (void)b->ops->level_sets(b, &n);
  return n > 0;
}

static unsigned penalty_detectors_of(const scene *s, int i, int j)
{
  unsigned found = 0;
  for (int side = 0; side < 2; ++side) {
    const body *one = s->bodies[side ? j : i].body, *two = s->bodies[side ? i : j].body;
    if (one->ops->points == POINT_NONE) continue;
    if (i != j && has_level_sets(two)) found |= 1u << PENALTY_LEVEL_SETS;
    if (has_triangles(two)) found |= 1u << PENALTY_TRIANGLES;
    if (s->options->solver->penalty->edges && has_triangles(one) && has_triangles(two)) found |= 1u << PENALTY_EDGES;
  }
  return found;
}

const detector_list penalty_detectors = {PENALTY_N_DETECTORS, texts, penalty_detectors_of};
