#include "optim/friction/splitting.h"
#include "core/math3.h"
#include "core/memory.h"
#include "core/stop.h"
#include "core/timer.h"
#include "optim/friction/cone.h"
#include "optim/friction/friction.h"
#include <stddef.h>

static const key_spec keys[] = {
  {.name = "check_every", .type = KEY_INT, .offset = offsetof(friction_splitting_options, check_every), .fallback = "25", .min = 1, .max = 1000000,
   .help = "sweeps between evaluations of the error, each of which costs as much as a sweep"},
  {.name = NULL}};
const key_table friction_splitting_table = {.name = "friction.splitting", .help = "Block Gauss-Seidel over contacts.",
                                            .size = sizeof(friction_splitting_options), .keys = keys};

/* A step of projected gradient for one contact. */
static void solve_one(const double *w, const double *b, double mu, double *r)
{
  const double rho = 3.0 / m3_trace(w);
  for (int k = 0; k < 30; ++k) {
    double u[3], F[3];
    m3_mulv(u, w, r);
    v3_add(u, u, b);
    cone_natural_map(mu, rho, u, r, F);
    v3_sub(r, r, F);
  }
}

PetscErrorCode friction_solve_splitting(const friction_problem *p, const friction_options *o, double *r, double *u, friction_result *out)
{
  const int64_t *start, n_sweeps = o->max_iterations > 0 ? o->max_iterations : 100000;
  const int32_t *col;
  const double  *value, end = o->time_limit > 0.0 ? timer_now() + o->time_limit : INFINITY;
  PetscFunctionBegin;
  PetscCall(delassus_blocks(p->W, &start, &col, &value));
  out->verdict = FRICTION_ITERATIONS;
  for (out->iterations = 0;; ++out->iterations) {
    if (out->iterations % o->splitting->check_every == 0 || out->iterations == n_sweeps) {
      delassus_apply(p->W, r, u);
      for (int64_t i = 0; i < 3 * p->n; ++i) u[i] += p->q[i];
      if (friction_error(p, o->error, r, u) <= o->tolerance) out->verdict = FRICTION_OK;
      else if (timer_now() > end) out->verdict = FRICTION_TIME;
      else if (stop_is_urgent()) out->verdict = FRICTION_STOPPED;
      else if (out->iterations < n_sweeps) goto sweep;
      break;
    }
sweep:
    for (int64_t a = 0; a < p->n; ++a) {
      double b[3], v[3];
      v3_copy(b, p->q + 3 * a);
      for (int64_t k = start[a]; k < start[a + 1]; ++k) {
        if (col[k] == a) continue;
        m3_mulv(v, value + 9 * k, r + 3 * (int64_t)col[k]);
        v3_add(b, b, v);
      }
      solve_one(delassus_diagonal(p->W) + 9 * a, b, p->mu[a], r + 3 * a);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
