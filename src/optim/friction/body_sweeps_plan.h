/* Islands, colours and blocks of contacts of Gauss-Seidel sweeps on body velocities (body_sweeps.h), and the sweeps over them in double and in single
 * precision. */
#ifndef SS_OPTIM_FRICTION_BODY_SWEEPS_PLAN_H
#define SS_OPTIM_FRICTION_BODY_SWEEPS_PLAN_H
#include "optim/friction/friction_problem.h"

enum {
  SWEEP_LANES    = 8,   /* contacts of a block */
  SWEEP_WIDTH    = 6,   /* unknowns of a body */
  SWEEP_THREADED = 500, /* contacts of an island that is solved by all threads */
};

typedef struct {
  int64_t         n_contacts, first_body, end_body; /* in the order of the islands */
  int64_t         first_colour, end_colour;         /* ranges in colour_start */
  int64_t         iterations, n_above;
  double          error; /* the smallest one, over the accepted creep; n_above: contacts above the tolerance there */
  friction_status status;
  bool            is_waiting; /* the next pass solves it */
} body_island;

typedef struct {
  const friction_problem *p;
  const friction_options *o;
  const sparse_rows      *M, *H;
  const int32_t          *body_of;                /* [n_dof] */
  double                  end;                    /* time limit */
  int64_t                 n_all_bodies, n_bodies; /* n_bodies: bodies with contacts */
  int64_t                 n_islands, n_colours, n_blocks;
  int64_t                *first_dof;           /* [n_all_bodies + 1] */
  int32_t                *touched, *n_touched; /* [n][2], [n] bodies of each contact */
  int32_t                *position;            /* [n_all_bodies] number of the body in the order of the islands; -1: no contact */
  double                 *L;                   /* [n_all_bodies][WIDTH][WIDTH] Cholesky factors of the blocks of M */
  body_island            *island;
  int64_t                *work;          /* [n_bodies + 1] sums of the work of the contacts of the bodies before */
  int64_t                *colour_start;  /* [n_colours + 1] blocks */
  int32_t                *order;         /* [n] contacts by island and colour */
  int64_t                *first_contact; /* [n_blocks + 1] ranges in order */
  int32_t                *home, *owner;  /* [n_blocks] a body and the island of each block */
} sweep_plan;

/* Largest number of sweeps of an island, in both passes together. */
static inline int64_t sweep_most(const friction_options *o) { return friction_most_iterations(o, 20000); }

/* Solve all islands with is_waiting: sweep them from r [n][3], impulses [N s], until their errors are at most the tolerance. Sets r, and adds to iterations
 * and sets n_above, error and status of these islands; r of an island whose values are not finite is unchanged. In single precision the tolerance is 2 %
 * smaller, and an island whose accepted creep approaches the rounding errors ends with FRICTION_STALLED. Error: out of memory. */
PetscErrorCode sweep_pass_double(sweep_plan *s, double *r);
PetscErrorCode sweep_pass_float(sweep_plan *s, double *r);

/* Single precision suffices for an accepted creep above this share of the velocity |r_a|/rho_a that the impulse of a contact causes. Its rounding errors are
 * a hundredth of that. */
#define SWEEP_FINEST 1e-5
#endif
