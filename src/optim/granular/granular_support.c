/* The pressure whose cone bounds stress, `support`. An outer iteration takes it to the pressure that comes out; what is sought is
 * their fixed point.
 *
 * Support that is that pressure each time is slow where arches form: more pressure holds up more weight, a hundredth of it more each
 * time, and in a silo, where that leaves less pressure below, iterations overshoot each other. Where stress ends in the cone of the
 * support, iterations are extrapolated. Published solvers of stress end anywhere and have memory of their own: there support goes
 * a half, then a quarter of the way once the change has grown a few times. Fixed points stay what they are. */
#include "optim/granular/granular_impl.h"

enum { MEMORY = 5 };
enum { GROWN_HALF = 2, GROWN_QUARTER = 10 }; /* times that the change of an outer iteration has grown */
#define MIXED 0.7       /* of the way to p, from the point that is extrapolated to: 0.5 is slower in heaps, 1 does not settle in silos */
#define SHRINK_MOST 0.7 /* and its inverse, of an extrapolation: past no support at all, where nothing changes any more, it does not find back */
#define WORSE_MAX 2.0   /* miss over the least one, above which what was learnt is forgotten */

PetscErrorCode flow_support_create(flow_solver *S)
{
  PetscFunctionBegin;
  PetscCall(flow_array(S, "flow support", S->f->n_cells, sizeof(double), &S->support));
  PetscCall(flow_array(S, "flow support led to", S->f->n_cells, sizeof(double), &S->led_to));
  PetscCall(flow_array(S, "flow weights of support", S->f->n_cells, sizeof(double), &S->one));
  for (int64_t c = 0; c < S->f->n_cells; ++c) S->one[c] = 1.0;
  flow_copy(S->support, S->x->p, S->f->n_cells);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode flow_support_begin(flow_solver *S, bool is_accelerated)
{
  PetscFunctionBegin;
  if (is_accelerated && !S->past.f) PetscCall(anderson_create(S->f->n_cells, MEMORY, &S->past));
  anderson_forget(&S->past);
  S->is_accelerated = is_accelerated, S->least_miss = INFINITY, S->n_grown = 0;
  flow_copy(S->support, S->x->p, S->f->n_cells);
  PetscFunctionReturn(PETSC_SUCCESS);
}

double flow_support_miss(const flow_solver *S) { return team_max_difference(S->f->n_cells, S->x->p, S->support); }

static void extrapolate(flow_solver *S)
{
  const double miss = flow_support_miss(S);
  if (miss > WORSE_MAX * S->least_miss) {
    anderson_forget(&S->past);
    S->least_miss = miss;
  }
  S->least_miss = fmin(S->least_miss, miss);
  FLOW_FOR(c, S->f->n_cells) S->led_to[c] = S->support[c] + MIXED * (S->x->p[c] - S->support[c]);
  anderson_step(&S->past, S->support, S->led_to, S->one, S->support);
  FLOW_FOR(c, S->f->n_cells) {
    const double lo = S->lo_p[c], size = S->led_to[c] - lo;
    S->support[c] = lo + fmin(size / SHRINK_MOST, fmax(SHRINK_MOST * size, S->support[c] - lo));
  }
}

void flow_support_follow(flow_solver *S, double change, double before, bool is_next_last)
{
  S->n_grown += change > before;
  if (S->is_accelerated && !is_next_last) extrapolate(S);
  else {
    const double part = S->is_accelerated || S->n_grown < GROWN_HALF ? 1.0 : S->n_grown < GROWN_QUARTER ? 0.5 : 0.25;
    FLOW_FOR(c, S->f->n_cells) S->support[c] = part < 1.0 ? S->support[c] + part * (S->x->p[c] - S->support[c]) : S->x->p[c];
  }
}
