/* Grading a mesh of a ball: a conformal map of the ball onto itself draws vertices together at one of its poles.
 *
 *   y = [ (1 + 2 a.x + x.x) a + (1 - a.a) x ] / (1 + 2 a.x + a.a x.x)         unit ball, a = t e, t = (f - 1) / (f + 1)
 *
 * moves the centre to a; lengths about x grow by (1 - a.a) / (1 + 2 a.x + a.a x.x), which is 1/f at e and f at -e. */
#include "core/math3.h"
#include "geometry/tet_mesh/tet_mesh.h"

PetscErrorCode tet_mesh_grade_sphere(const double center[3], double radius, const double direction[3], double factor, tet_mesh *m)
{
  const double length = v3_norm(direction), t = (factor - 1.0) / (factor + 1.0);
  double       a[3];
  PetscFunctionBegin;
  PetscCheck(length > 0.0 && isfinite(length) && isfinite(factor) && factor >= 1.0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "a graded sphere wants a direction and a factor of 1 or more");
  v3_scale(a, t / length, direction);
  for (int64_t i = 0; i < m->n_vertices; ++i) {
    double x[3], y[3], *const p = &m->x[3 * i];
    v3_sub(x, p, center);
    v3_scale(x, 1.0 / radius, x);
    const double ax = v3_dot(a, x), xx = v3_dot(x, x), below = 1.0 + 2.0 * ax + t * t * xx;
    v3_scale(y, (1.0 - t * t) / below, x);
    v3_axpy(y, (1.0 + 2.0 * ax + xx) / below, a);
    v3_copy(p, center);
    v3_axpy(p, radius, y);
  }
  PetscCall(tet_mesh_finish(m));
  PetscFunctionReturn(PETSC_SUCCESS);
}
