#include "discretize/nodal/nodal_momentum.h"
#include "core/math3.h"

enum { SERIAL_NODES = 1024 };

bool nodal_body_add_rigid_velocity(nodal_body *b, const double V[3], const double W[3], const double center[3])
{
  if (b->n_prescribed > 0) return false;
#pragma omp parallel for schedule(static) if (b->n_nodes > SERIAL_NODES)
  for (int64_t i = 0; i < b->n_nodes; ++i) {
    double arm[3], turn[3];
    v3_sub(arm, b->x + 3 * i, center);
    v3_cross(turn, W, arm);
    v3_add(turn, turn, V); /* one addition to v: a field that cancels itself leaves v as it is */
    v3_axpy(b->v + 3 * i, 1.0, turn);
  }
  return true;
}

/* On one thread, as totals are: the order of the sum is that of the nodes. */
void nodal_body_inertia(const nodal_body *b, const double center[3], double inertia[9])
{
  m3_zero(inertia);
  for (int64_t i = 0; i < b->n_nodes; ++i) {
    const double m = b->mass[i];
    double       r[3], rr[9];
    v3_sub(r, b->x + 3 * i, center);
    m3_outer(rr, r, r);
    const double trace = m3_trace(rr);
    m3_axpy(inertia, -m, rr);
    for (int k = 0; k < 9; k += 4) inertia[k] += m * trace;
  }
}
