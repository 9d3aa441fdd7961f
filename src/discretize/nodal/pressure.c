#include "discretize/nodal/pressure.h"
#include "core/math3.h"
#include "core/memory.h"

typedef struct {
  double p;
  bool   is_definite; /* its stiffness, which is not even symmetric, is left out */
} pressure;

/* A n = (x1 x x2 + x2 x x0 + x0 x x1) / 2: its derivative along x_b is [x_c - x_a] / 2, with (a, b, c) a turn of (0, 1, 2). */
static int64_t evaluate(const void *context, int64_t first, int64_t n, double dt, const element_row *x, const element_row *v, element_row *f,
                        element_row *S)
{
  const double p = ((const pressure *)context)->p, stiffness = ((const pressure *)context)->is_definite ? 0.0 : p;
  (void)first, (void)v;
  for (int64_t e = 0; e < n; ++e) {
    double X[3][3], e1[3], e2[3], area[3];
    for (int a = 0; a < 3; ++a)
      for (int k = 0; k < 3; ++k) X[a][k] = x[3 * a + k][e];
    v3_sub(e1, X[1], X[0]);
    v3_sub(e2, X[2], X[0]);
    v3_cross(area, e1, e2);
    for (int a = 0; a < 3; ++a)
      for (int k = 0; k < 3; ++k) f[3 * a + k][e] = -p / 6.0 * area[k];
    if (!S) continue;
    for (int b = 0; b < 3; ++b) {
      double side[3], D[9];
      v3_sub(side, X[(b + 2) % 3], X[(b + 1) % 3]);
      m3_skew(D, side); /* d(2 A n)/dx_b */
      for (int a = 0; a < 3; ++a)
        for (int k = 0; k < 9; ++k) S[9 * (3 * a + b) + k][e] = dt * dt * stiffness / 6.0 * D[k];
    }
  }
  return n;
}

static void set_definite(void *context, bool is_wanted) { ((pressure *)context)->is_definite = is_wanted; }

static void destroy(void **context) { memory_free(context); }

static const element_ops ops = {.name = "pressure", .n_nodes = 3, .evaluate = evaluate, .destroy = destroy, .set_definite = set_definite};

PetscErrorCode pressure_add(nodal_body *b, double p, int64_t n, const int32_t *triangles)
{
  element_set *set;
  pressure    *c;
  PetscFunctionBegin;
  PetscCall(nodal_body_add_set(b, &ops, n, triangles, &set));
  PetscCall(memory_alloc("pressure", 1, sizeof *c, &c));
  c->p         = p;
  set->context = c;
  PetscFunctionReturn(PETSC_SUCCESS);
}
