/* Implementation: exact integrals over tetrahedra, and the parallel-axis theorem. */
#include "geometry/primitive/mass_properties.h"
#include "core/math3.h"

/* For a tetrahedron of volume V with corners v_q about a reference point, and s their sum,
 *   int x = V s / 4,   int x x^T = V/20 ( s s^T + sum_q v_q v_q^T ). */
void mass_sum_add(mass_sum *s, double volume, int n_corners, const double (*corner)[3])
{
  double v[5][3], *sum = v[n_corners];
  v3_set(sum, 0.0, 0.0, 0.0);
  for (int q = 0; q < n_corners; ++q) {
    v3_copy(v[q], corner[q]);
    v3_add(sum, sum, v[q]);
  }
  s->volume += volume;
  v3_axpy(s->first, 0.25 * volume, sum);
  for (int q = 0; q <= n_corners; ++q)
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) s->second[3 * i + j] += volume / 20.0 * v[q][i] * v[q][j];
}

mass_properties mass_sum_properties(const mass_sum *s, const double origin[3])
{
  mass_properties p         = {.volume = s->volume};
  double          center[3] = {s->first[0], s->first[1], s->first[2]}, second[9];
  if (p.volume != 0.0) v3_scale(center, 1.0 / p.volume, center);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) second[3 * i + j] = s->second[3 * i + j] - p.volume * center[i] * center[j];
  const double trace = m3_trace(second);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) p.inertia[3 * i + j] = (i == j) * trace - 0.5 * (second[3 * i + j] + second[3 * j + i]);
  v3_add(p.center, origin, center);
  return p;
}

mass_properties mass_properties_transform(const mass_properties *p, const double c[3], const double R[9])
{
  mass_properties q = *p;
  double          t[9], r[3];
  m3_mulv(r, R, p->center);
  v3_add(q.center, c, r);
  m3_mul(t, R, p->inertia);
  m3_mul_nt(q.inertia, t, R);
  for (int i = 0; i < 3; ++i) /* restore exact symmetry */
    for (int j = 0; j < i; ++j) q.inertia[3 * i + j] = q.inertia[3 * j + i] = 0.5 * (q.inertia[3 * i + j] + q.inertia[3 * j + i]);
  return q;
}
