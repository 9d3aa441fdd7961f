/* Implementation of springs.h: linear springs between pairs of nodes. */
#include "discretize/cloth/springs.h"
#include "core/math3.h"
#include "core/memory.h"

/* Shorter than this part of its rest length a spring has no direction. */
#define SHORTEST 1e-9

typedef struct {
  element_ops ops; /* with the name of this set */
  double      k, beta;
  bool        is_definite;  /* omit the negative stiffness of compression */
  double     *length;       /* [n] m */
  double     *direction[3]; /* [n] at the start of the step, if beta > 0 */
} springs;

static int64_t springs_evaluate(const void *context, int64_t first, int64_t n, double dt, const element_row *x, const element_row *v,
                                element_row *f, element_row *S)
{
  const springs *s = context;
  const double   k = s->k, damping = s->beta * s->k;
  element_row    u[3], over_length, strain; /* 1 / L, L / L0 - 1 */
  for (int64_t e = 0; e < n; ++e) {
    const double d[3] = {x[3][e] - x[0][e], x[4][e] - x[1][e], x[5][e] - x[2][e]}, L = v3_norm(d);
    if (!(L > SHORTEST * s->length[first + e])) return e;
    over_length[e] = 1.0 / L;
    strain[e]      = L / s->length[first + e] - 1.0;
    for (int i = 0; i < 3; ++i) u[i][e] = d[i] / L;
  }
  for (int i = 0; i < 3; ++i)
    for (int64_t e = 0; e < n; ++e) f[3 + i][e] = -k * strain[e] * u[i][e];
  if (damping > 0.0)
    for (int64_t e = 0; e < n; ++e) {
      double rate = 0.0;
      for (int i = 0; i < 3; ++i) rate += s->direction[i][first + e] * (v[3 + i][e] - v[i][e]);
      for (int i = 0; i < 3; ++i) f[3 + i][e] -= damping / s->length[first + e] * rate * s->direction[i][first + e];
    }
  if (S)
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) {
        double *const S_11 = S[27 + 3 * i + j];
        for (int64_t e = 0; e < n; ++e) {
          const double along = k / s->length[first + e], pull = k * strain[e] * over_length[e];
          const double across = s->is_definite ? fmax(0.0, pull) : pull;
          S_11[e]             = dt * dt * ((along - across) * u[i][e] * u[j][e] + (i == j ? across : 0.0));
        }
        for (int64_t e = 0; e < n && damping > 0.0; ++e)
          S_11[e] += dt * damping / s->length[first + e] * s->direction[i][first + e] * s->direction[j][first + e];
      }
  element_balance(2, n, f, S);
  return n;
}

static void springs_stored_energy(const void *context, int64_t first, int64_t n, const element_row *x, double *out)
{
  const springs *s = context;
  for (int64_t e = 0; e < n; ++e) {
    const double d[3] = {x[3][e] - x[0][e], x[4][e] - x[1][e], x[5][e] - x[2][e]}, strain = v3_norm(d) / s->length[first + e] - 1.0;
    out[e] = 0.5 * s->k * s->length[first + e] * strain * strain;
  }
}

static void begin_step(void *context, int64_t n, const int32_t *node, const double *x, const double *v)
{
  springs *s = context;
  (void)v;
  if (!(s->beta > 0.0)) return;
#pragma omp parallel for schedule(static)
  for (int64_t e = 0; e < n; ++e) {
    double d[3];
    v3_sub(d, x + 3 * (int64_t)node[2 * e + 1], x + 3 * (int64_t)node[2 * e]);
    const double L = v3_norm(d);
    for (int i = 0; i < 3; ++i) s->direction[i][e] = L > 0.0 ? d[i] / L : 0.0;
  }
}

static void set_definite(void *context, bool is_wanted) { ((springs *)context)->is_definite = is_wanted; }

static void springs_free(void **context)
{
  springs *s = *context;
  memory_free(&s->length);
  for (int i = 0; i < 3; ++i) memory_free(&s->direction[i]);
  memory_free(context);
}

PetscErrorCode springs_add(nodal_body *b, const char *name, double k, double beta, int64_t n, const int32_t *node)
{
  element_set *set;
  springs     *s;
  PetscFunctionBegin;
  PetscCall(memory_alloc("springs", 1, sizeof *s, &s));
  s->k    = k;
  s->beta = beta;
  s->ops  = (element_ops){.name         = name,
                          .n_nodes      = 2,
                          .begin_step   = begin_step,
                          .evaluate     = springs_evaluate,
                          .energy       = springs_stored_energy,
                          .destroy      = springs_free,
                          .set_definite = set_definite};
  PetscCall(nodal_body_add_set(b, &s->ops, n, node, &set));
  set->context = s;
  PetscCall(memory_alloc("springs", n, sizeof(double), &s->length));
  for (int i = 0; i < 3 && beta > 0.0; ++i) PetscCall(memory_alloc("springs", n, sizeof(double), &s->direction[i]));
  for (int64_t e = 0; e < n; ++e) {
    double d[3];
    v3_sub(d, b->rest + 3 * (int64_t)set->node[2 * e + 1], b->rest + 3 * (int64_t)set->node[2 * e]);
    s->length[e] = v3_norm(d);
    PetscCheck(s->length[e] > 0.0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
               "one of the %s of %s, between nodes %d and %d, has no length; merge the nodes", name, b->base.name, (int)set->node[2 * e],
               (int)set->node[2 * e + 1]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
