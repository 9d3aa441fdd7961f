#include "discretize/body/body_nodes.h"
#include "core/math3.h"

double body_nodes_error(const body *b, const vector_field *f, double t, bool is_velocity)
{
  body_nodes n;
  double     mass = 0.0, sum = 0.0;
  b->ops->nodes(b, &n);
  for (int64_t i = 0; i < n.n; ++i) {
    double e[3], expected[3];
    vector_field_at(f, n.rest + 3 * i, n.x + 3 * i, t, expected);
    if (is_velocity) v3_copy(e, n.v + 3 * i);
    else v3_sub(e, n.x + 3 * i, n.rest + 3 * i);
    v3_axpy(e, -1.0, expected);
    sum += n.mass[i] * v3_dot(e, e);
    mass += n.mass[i];
  }
  return sqrt(sum / mass);
}
