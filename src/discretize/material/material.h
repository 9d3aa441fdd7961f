/* Materials: constitutive laws, one file each. A law is written in principal stretches, or as a function of the deformation
 * gradients at the start and the end of the step (material_step). Called by the bodies of kinds mpm and fem.
 *
 * Every law is isotropic. With the trial deformation gradient F = U diag(sigma) V^T (U, V rotations) a law in principal stretches gives
 *   P = U diag(p(sigma)) V^T                 first Piola-Kirchhoff stress
 * The exact derivative of P needs only dp/dsigma [3][3] (not symmetric during plastic flow) and, for the pairs r, c, the quotients
 * (p_r - p_c)/(sigma_r - sigma_c) and (p_r + p_c)/(sigma_r + sigma_c). These numbers with U and V are called the spectral tangent. Laws
 * process arrays of points, so that their loops vectorise; the law is selected once per batch. */
#ifndef SS_DISCRETIZE_MATERIAL_MATERIAL_H
#define SS_DISCRETIZE_MATERIAL_MATERIAL_H
#include "core/error.h"
#include "core/key_table.h"
#include "discretize/material/flow.h"

enum { MATERIAL_MAX_STATE = 4 };
enum { MATERIAL_BATCH = 64, MATERIAL_LANES = 8 }; /* largest number of points per call; points per vector */
typedef double material_row[MATERIAL_BATCH];      /* one number of each point */

/* Diagnostics of an accepted step, maxima over all points. overshoot: trial stress over yield stress before the return mapping (1: not
 * above). turn: angle between the rotations of the gradient before and after the step [rad]. 0: not reported. */
typedef struct {
  double overshoot, turn;
} material_step_maxima;

/* *m = maxima of *m and *by. */
static inline void material_step_maxima_merge(material_step_maxima *m, const material_step_maxima *by)
{
  m->overshoot = by->overshoot > m->overshoot ? by->overshoot : m->overshoot;
  m->turn      = by->turn > m->turn ? by->turn : m->turn;
}

/* Functions of a law that depends on the gradient F [9] and on the rotation or the volume of the gradient at the start of the step,
 * `start` [9]. Arguments are rows, see material_law. */
typedef struct {
  bool   has_rotation; /* the law uses the rotation of `start`; another gradient may be passed, see body_ops.relinearise */
  bool   is_convex;    /* the tangent is symmetric and positive semi-definite for all F at which the law is defined */
  double largest_turn; /* largest rotation in a step [rad]; if it is exceeded, results of accept are invalid and the step is rejected */
  /* P [9]; NaN if the law is not defined at F. If U is not NULL, also the spectral tangent, with V = 1. */
  void (*stress)(const void *constants, int64_t n, const material_row *start, const material_row *F, const material_row *state,
                 material_row *P, material_row *U, material_row *dp, material_row *a, material_row *b);
  /* Accept the step: update F and history in place. overshoot as in material_step_maxima; chord = |R - R_start|_F = 2 sqrt 2 sin(turn/2). */
  void (*accept)(const void *constants, int64_t n, const material_row *start, material_row *F, material_row *state, double *overshoot,
                 double *chord);
} material_step;

/* A constitutive law. Arguments of its functions are rows x[component][point] of n points; n is a multiple of MATERIAL_LANES up to
 * MATERIAL_BATCH (the functions of material.c pad with undeformed points). Every point is processed by the same vector code, so its result
 * has the same bits at every position. Stretches sigma have the order and signs of svd3 (core/svd3.h). Results for stretches outside the
 * domain of the law are undefined. */
typedef struct material_law {
  const char      *name;    /* value of `model:` in a job, e.g. "drucker_prager" */
  const key_table *keys;    /* parameters in a job; their struct starts with `double density` [kg/m^3] */
  int              n_state; /* number of history variables of plasticity per point */
  const char      *state_name[MATERIAL_MAX_STATE], *state_unit[MATERIAL_MAX_STATE], *state_help[MATERIAL_MAX_STATE];
  double           state_initial[MATERIAL_MAX_STATE];
  bool             accepts_inverted; /* the law is defined for sigma[2] <= 0 */
  /* Compute the constants of the law (Lame's constants, ...) from the parameters of the job; *constants is allocated with memory_alloc.
   * PETSC_ERR_USER_INPUT with a message for errors that the key table cannot check, e.g. keys that exclude each other. */
  PetscErrorCode (*prepare)(const void *parameters, void **constants);
  /* For a value of `model:` that represents several laws: returns the law selected by the parameters of the job. NULL: this law. */
  const struct material_law *(*choose)(const void *parameters);
  const material_step *step;        /* functions that replace stress and plastic_return; NULL: not used */
  bool                 is_liquid;   /* stores no shear deformation */
  bool                 is_granular; /* loose grains: no tension; they can slide under their own weight */
  /* Principal stress p at trial stretches sigma with constant history and, unless dp is NULL, the spectral tangent:
   * dp[3*r + c] = dp_r/dsigma_c, and for the pair (r, c) without k
   *   a[k] = (p_r - p_c)/(sigma_r - sigma_c),   b[k] = (p_r + p_c)/(sigma_r + sigma_c) ,
   * computed without a division by a quantity that may vanish. */
  void (*stress)(const void *constants, int64_t n, const material_row *sigma, const material_row *state, material_row *p, material_row *dp,
                 material_row *a, material_row *b);
  /* Energy density psi [J/m^3 of undeformed volume] stored at these stretches after the return mapping. */
  void (*energy)(const void *constants, int64_t n, const material_row *sigma, const material_row *state, double *psi);
  /* Called for an accepted step: replace trial stretches by elastic stretches (return mapping) and update the history, in place. Stretches
   * in the elastic range do not change by a bit. NULL: purely elastic. */
  void (*plastic_return)(const void *constants, int64_t n, material_row *sigma, material_row *state);
  /* Speed of pressure waves at rest [m/s], for recommended step sizes and for scales. */
  double (*wave_speed)(const void *constants, double density);
} material_law;

typedef struct {
  const char         *name;      /* in the job; owned by the document */
  const material_law *law;       /* NULL: rigid material (only the density is used), or flow is not NULL */
  double              density;   /* kg/m^3 */
  void               *constants; /* owned; constants of the law */
  material_flow      *flow;      /* owned; granular matter or liquid (flow.h); NULL: other material */
} material;

/* Create a material. law NULL: rigid, `parameters` is not used. Errors: out of memory, PETSC_ERR_USER_INPUT of material_law.prepare. */
PetscErrorCode material_create(const char *name, const material_law *law, const void *parameters, double density, material **out);
void           material_destroy(material **m);

/* Compute stress and tangent from F for n points. Arrays have the shape [number of components][ld]:
 *   start [9] deformation gradient at the start of the step, NULL: F itself;
 *   F [9] trial deformation gradient -> P [9] first Piola-Kirchhoff stress;
 *   U [9], V [9] rotations, dp [9], a [3], b [3]: the spectral tangent (a, b for pairs (1,2), (0,2), (0,1)); all five NULL
 *   if no tangent is requested.
 *   (U^T dP V)_ii = sum_j dp_ij M_jj, (U^T dP V)_ij = a_k (M_ij + M_ji)/2 + b_k (M_ij - M_ji)/2, M = U^T dF V, k = 3-i-j.
 * n is at most MATERIAL_BATCH. Returns the smallest index for which the law is not defined (inverted, not finite), or n. Results of such
 * points are undefined. */
int64_t material_stress(const material *m, int64_t n, int64_t ld, const double *start, const double *F, const double *state, double *P,
                        double *U, double *V, double *dp, double *a, double *b);
/* Replace the spectral tangent of n points, computed by material_stress, by the nearest one that is symmetric and positive semi-definite:
 * dp by the projection of its symmetric part, negative a and b by 0. */
void material_tangent_project(const material *m, int64_t n, int64_t ld, double *dp, double *a, double *b);
/* Update F and history in place for an accepted step, n <= MATERIAL_BATCH; start as above. On success returns n and sets *marks (may be
 * NULL) to the maxima of *marks and these points. Otherwise returns the smallest index that is not valid, and nothing is changed. */
int64_t material_accept(const material *m, int64_t n, int64_t ld, const double *start, double *F, double *state,
                        material_step_maxima *marks);
/* Return true if material_accept can change F or history; if it can reject a state for which material_stress is defined. */
static inline bool material_has_return(const material *m) { return m->law->plastic_return || m->law->step; }
static inline bool material_may_reject(const material *m) { return m->law->step && m->law->step->largest_turn < INFINITY; }
/* Returns true for purely elastic solids, which return to their initial shape after unloading. */
static inline bool material_is_elastic(const material *m) { return m->law->n_state == 0 && !m->law->plastic_return && !m->law->is_liquid; }
/* Lame's parameters at small strains [Pa]; m must have a law. */
void material_small_strain(const material *m, double *mu, double *lambda);
/* Energy density psi [n] [J/m^3 of undeformed volume]; NaN if the law is not defined for F. */
void material_energy(const material *m, int64_t n, int64_t ld, const double *F, const double *state, double *psi);
#endif
