/* State of one solve, shared by all files of the granular solver: unknowns, velocities, scales, scratch memory, and the functions that
 * update velocities and gradients (formulas: granular_problem.h). The state includes the support: the pressure in the cone condition of
 * the stress, updated by Anderson acceleration or damping. This header also defines the interface of stress solvers. */
#ifndef SS_OPTIM_GRANULAR_GRANULAR_STATE_H
#define SS_OPTIM_GRANULAR_GRANULAR_STATE_H
#include "core/memory.h"
#include "core/team.h"
#include "optim/granular/granular_problem.h"
#include "optim/friction/anderson.h"
#include "optim/friction/friction_problem.h"
#include <math.h>
#include <string.h>

enum {
  GRANULAR_COMPONENTS = 5,
  GRANULAR_BODY       = 6,   /* velocity components of a body */
  GRANULAR_PARALLEL   = 2000 /* shorter loops run on one thread, which is faster than starting the team of threads */
};
#define GRANULAR_CHUNK 64            /* cells or faces of one partial sum: small enough to balance the threads */
#define GRANULAR_INNER 0.1           /* tolerance of inner iterations over the outer tolerance */
#define GRANULAR_YIELD_PRESSURE 0.05 /* fraction of the largest p; yield is evaluated only in cells with a larger p */
#define GRANULAR_P_MIN 1e-6          /* fraction of pressure_scale; stress is 0 where p + c is below it */
#define GRANULAR_REDUNDANT 1e-3      /* relative shift of the diagonals of lambda and z (proximal term), for redundant contacts */

/* A coupling F with orderings for its two products, F v (by sample) and F^T x (by body). */
typedef struct {
  const granular_coupling *c;
  int64_t                  n_rows;    /* number of samples with entries in F */
  int64_t                 *row_start; /* [n_rows + 1] first entry of each of these samples */
  int64_t                 *order;     /* [n] entries sorted by body */
  int64_t                  n_chunks;
  int64_t                 *chunk_start; /* [n_chunks + 1] index in `order`; all entries of a chunk belong to one body */
  int32_t                 *chunk_body;  /* [n_chunks] */
  double (*part)[GRANULAR_BODY];        /* [n_chunks] partial sums */
} granular_coupled;

typedef struct granular_solver {
  const granular_problem *f;
  const granular_options *o;
  granular_state         *x;
  granular_report        *r;
  granular_solvers        solvers;
  arena                  *memory;         /* of this solve */
  double                 *u, *v;          /* velocities at the current p, s, lambda, z: x->u, x->v */
  double                 *face_weight;    /* [n_faces] weight * mobility, diagonal of A_pp between G and G^T */
  double                 *face;           /* [n_faces] scratch */
  double (*wrench)[GRANULAR_BODY], *rate; /* [n_bodies], [n_bodies][6] scratch */
  granular_coupled F_p, F_s;
  double          *alpha, *radius;                       /* [n_cells] alpha; radius of the cone, see granular_radii */
  double           p_ref, lambda_ref, alpha_max, mu_max; /* scales of the unknowns */
  double          *lo_p, *b_p, *diagonal_p;              /* [n_cells] quadratic program of p */
  grid_matrix      A_pp;                                 /* Hessian block of p without bodies */
  double          *diagonal_s;                           /* [n_stress] diagonal of A_ss, bodies included */
  double          *g_s;                                  /* [n_stress] scratch: gradient */
  double          *b_n, *diagonal_n, *shifted_n, *lo_n;  /* [n_contacts] quadratic program of lambda; shifted_n: with GRANULAR_REDUNDANT */
  double          *diagonal_t;                           /* [n_contacts] half the trace of the block of z */
  double           alpha_bar[2];                         /* step lengths of MPRGP for p and lambda */
  double  *support, *damped_support, *one; /* [n_cells] support [Pa], its damped update (input of Anderson), weights of its norm (all 1) */
  anderson past;                           /* earlier supports */
  double   min_support_error;              /* smallest max |p - support| since the last reset of `past` [Pa] */
  double   least_support_error;            /* smallest max |p - support| of all iterations [Pa] */
  int64_t  n_idle;                         /* iterations since then */
  int      n_grown;                        /* number of outer iterations with a larger change than the previous one */
  bool     is_accelerated;                 /* the support is extrapolated (Anderson) */
  bool     is_unified;                     /* p and lambda are solved together from now on */
  struct granular_unified  *unified;       /* arrays of the unified solve; NULL before the first one */
  struct granular_friction *friction;      /* NULL: no contacts */
  struct granular_settle   *settle;        /* NULL: no contacts, or a coupling without the final contact solve */
  const friction_options   *coulomb;       /* options of the final contact solve */
  void                     *stress;        /* data of the stress solver */
} granular_solver;

#define GRANULAR_PRAGMA(text) _Pragma(#text)
#define GRANULAR_FOR(i, n)                                                                                                                 \
  GRANULAR_PRAGMA(omp parallel for schedule(static) if ((n) >= GRANULAR_PARALLEL))                                                         \
  for (int64_t i = 0; i < (n); ++i)
/* Parallel copy with the static schedule of the loops that read `to`. For n = 0 the arrays may be NULL. */
static inline void   granular_copy(double *restrict to, const double *restrict from, int64_t n) { GRANULAR_FOR(i, n) to[i] = from[i]; }
static inline double granular_row(const sparse_rows *a, int64_t i, const double *restrict x) /* returns (a x)_i */
{
  double sum = 0.0;
  for (int64_t k = a->start[i]; k < a->start[i + 1]; ++k) sum += a->value[k] * x[a->col[k]];
  return sum;
}
static inline void granular_add_matrix_product(const double *restrict m, const double *restrict x, double *restrict y) /* y += m x, 6x6 */
{
  for (int i = 0; i < GRANULAR_BODY; ++i)
    for (int j = 0; j < GRANULAR_BODY; ++j) y[i] += m[GRANULAR_BODY * i + j] * x[j];
}
static inline double granular_cohesion(const granular_problem *f, int64_t c) { return f->cohesion ? f->cohesion[c] : 0.0; }
/* Set S->wrench and S->rate of all bodies to 0. */
static inline void granular_clear_bodies(granular_solver *S)
{
  if (S->f->n_bodies == 0) return;
  memset(S->wrench, 0, (size_t)S->f->n_bodies * sizeof *S->wrench);
  memset(S->rate, 0, (size_t)(GRANULAR_BODY * S->f->n_bodies) * sizeof *S->rate);
}
/* Returns |s|_F^2 of the five components of a cell; is_orthonormal: see granular_problem. */
static inline double granular_norm2(bool is_orthonormal, const double s[5])
{
  const double shear = s[2] * s[2] + s[3] * s[3] + s[4] * s[4];
  return is_orthonormal ? s[0] * s[0] + s[1] * s[1] + shear : 2.0 * (s[0] * s[0] + s[1] * s[1] + s[0] * s[1] + shear);
}
/* t = N^-1 g, where N is the matrix of that norm: |s|_F^2 = s^T N s. */
static inline void granular_apply_norm_inverse(bool is_orthonormal, const double g[5], double t[5])
{
  if (is_orthonormal) memcpy(t, g, 5 * sizeof *t);
  else {
    t[0] = (2.0 * g[0] - g[1]) / 3.0, t[1] = (2.0 * g[1] - g[0]) / 3.0;
    for (int e = 2; e < 5; ++e) t[e] = 0.5 * g[e];
  }
}

/* Validate the input and compute all constants of a solve. The arguments are borrowed. Errors: invalid input, out of memory. */
PetscErrorCode granular_solver_create(granular_solver *S, const granular_problem *f, const granular_options *o, arena *memory,
                                      granular_state *x, granular_report *r);
void           granular_solver_destroy(granular_solver *S); /* frees memory outside the arena */

PetscErrorCode granular_coupled_create(granular_solver *S, const granular_coupling *c, granular_coupled *out);
void granular_coupled_force(const granular_coupled *k, const double *restrict x, double (*wrench)[GRANULAR_BODY]); /* wrench = F^T x */
void granular_coupled_rate(const granular_coupled *k, const double *restrict v, double *restrict g);               /* g += F v */
void granular_coupled_diagonal(const granular_problem *f, const granular_coupled *k, double *diagonal); /* += diag(F inverse_mass F^T) */
void granular_apply_wrench(const granular_problem *f, double sign, double (*wrench)[GRANULAR_BODY],
                           double *v); /* v += sign inverse_mass wrench */
/* Update u and v for p + sign dp; s + sign ds; lambda + sign d_lambda, z + sign d_z. granular_velocities recomputes u and v. */
void granular_change_p(granular_solver *S, double sign, const double *dp);
void granular_change_s(granular_solver *S, double sign, const double *ds);
void granular_change_contacts(granular_solver *S, double sign, const double *d_lambda, const double *d_z); /* either may be NULL */
void granular_velocities(granular_solver *S);
/* Gradients of J at the current u and v. */
void granular_gradient_p(granular_solver *S, double *g);
void granular_gradient_s(granular_solver *S, double *g);
void granular_gradient_contacts(const granular_problem *f, const double *v, double *g_lambda, double *g_z); /* either may be NULL */
/* wrench += B^T (lambda, z) */
void granular_contact_force(const granular_problem *f, const double *lambda, const double *z, double (*wrench)[GRANULAR_BODY]);
void granular_radii(granular_solver *S); /* radius = alpha (support + c), or 0 if support + c is below GRANULAR_P_MIN pressure_scale */

/* Updates of the support. Call granular_support_start before the first outer iteration, and granular_support_update after each one, with its change
 * and that of the previous one (`before`). Before the last iteration the support is not extrapolated, because it could overshoot. */
PetscErrorCode granular_support_create(granular_solver *S);
PetscErrorCode granular_support_start(granular_solver *S, bool is_accelerated);
double         granular_support_error(const granular_solver *S); /* max |p - support| [Pa] */
void           granular_support_update(granular_solver *S, double change, double before, bool is_next_last);

/* Interface of a stress solver. create allocates S->stress; solve minimises J over s with the other unknowns constant. */
typedef struct {
  PetscErrorCode (*create)(granular_solver *S);
  PetscErrorCode (*solve)(granular_solver *S,
                          double *undamped); /* *undamped: largest entry of the last step before damping [Pa], 0 if there is no damping */
  void (*destroy)(granular_solver *S);
  bool is_in_cone; /* solve returns s in the cone of the support; s can leave the cone of p only because p changes later */
} granular_stress_solver;
#endif
