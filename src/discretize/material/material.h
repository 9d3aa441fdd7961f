/* Materials: constitutive laws, one file each. A law is written in principal stretches, or as a function of the deformation
 * gradients at the start and the end of the step (material_step). Called by the bodies of kinds mpm and fem.
 *
 * Every law is isotropic. With the trial deformation gradient F = U diag(sigma) V^T (U, V rotations) a law in principal stretches
 * gives
 *   P = U diag(p(sigma)) V^T                 first Piola-Kirchhoff stress
 * and its exact derivative needs only dp/dsigma [3][3] (not symmetric where a return mapping yields) and the quotients (p_r -
 * p_c)/(sigma_r - sigma_c) and (p_r + p_c)/(sigma_r + sigma_c). Laws work on arrays, so that their loops vectorise; the law is
 * selected once per batch, never per particle. */
#ifndef SS_DISCRETIZE_MATERIAL_MATERIAL_H
#define SS_DISCRETIZE_MATERIAL_MATERIAL_H
#include "core/error.h"
#include "core/key_table.h"
#include "discretize/material/flow.h"

enum { MATERIAL_MAX_STATE = 4 };
enum { MATERIAL_BATCH = 64, MATERIAL_LANES = 8 }; /* points per call at most: work space is on the stack */
typedef double material_row[MATERIAL_BATCH];

/* Diagnostics of an accepted step, maximum over all points. overshoot: trial stress relative to the yield surface before the return
 * (1: not outside). turn: angle between the rotations of the gradient before and after the step [rad]. 0: not reported. */
typedef struct {
  double overshoot, turn;
} material_step_maxima;

static inline void material_step_maxima_merge(material_step_maxima *m, const material_step_maxima *by)
{
  m->overshoot = by->overshoot > m->overshoot ? by->overshoot : m->overshoot;
  m->turn      = by->turn > m->turn ? by->turn : m->turn;
}

/* Laws that depend on the gradient F [9] and on the gradient at the start of the step, `start` [9] (on its rotation or its volume
 * only). They work on rows, see below. */
typedef struct {
  bool   has_rotation; /* the law uses the rotation of `start`; another gradient may be passed, see body_ops.relinearise */
  bool   is_convex;    /* the tangent is symmetric and positive semi-definite wherever it exists */
  double largest_turn; /* [rad] largest rotation in a step; beyond it the results of accept are invalid and the step is rejected */
  /* P [9]; NaN if the law is not defined at F. If U is not NULL, also the spectral tangent, with V = 1. */
  void (*stress)(const void *constants, int64_t n, const material_row *start, const material_row *F, const material_row *state,
                 material_row *P, material_row *U, material_row *dp, material_row *a, material_row *b);
  /* After the step: F and history in place. overshoot as in material_step_maxima; chord = |R - R_start|_F = 2 sqrt 2 sin(turn/2). */
  void (*accept)(const void *constants, int64_t n, const material_row *start, material_row *F, material_row *state, double *overshoot,
                 double *chord);
} material_step;

/* The functions of a law work on rows, x[component][point], of n points, n a multiple of MATERIAL_LANES up to MATERIAL_BATCH (the
 * callers below pad with points at rest). Every point is processed by the same vector code, so its result has the same bits at
 * every position. sigma has the order and signs of svd3. Results for stretches outside the domain of the law are undefined. */
typedef struct material_law {
  const char      *name;    /* "drucker_prager": value of `model:` in a job */
  const key_table *keys;    /* its parameters in a job; the struct starts with `double density` [kg/m^3] */
  int              n_state; /* plastic history, doubles per point */
  const char      *state_name[MATERIAL_MAX_STATE], *state_unit[MATERIAL_MAX_STATE], *state_help[MATERIAL_MAX_STATE];
  double           state_initial[MATERIAL_MAX_STATE];
  bool             accepts_inverted; /* the law is defined for sigma[2] <= 0 */
  /* Compute derived constants (Lame parameters, ...) from the parameters of the job. The law allocates *constants with
   * memory_alloc.
   * Errors that the key table cannot express (e.g. keys that exclude each other) return PETSC_ERR_USER_INPUT with a message. */
  PetscErrorCode (*prepare)(const void *parameters, void **constants);
  /* One value of `model:` may represent several laws: returns the law selected by the parameters of the job. NULL: the law
   * itself. */
  const struct material_law *(*choose)(const void *parameters);
  const material_step *step;        /* instead of stress and plastic_return; or NULL */
  bool                 is_liquid;   /* stores no shear deformation */
  bool                 is_granular; /* loose grains: no tension, and friction that weight alone may overcome */
  /* Principal stress p at trial stretches sigma with the history frozen and, where dp != NULL, the spectral tangent:
   * dp[3*r + c] = dp_r/dsigma_c, and for the pair (r, c) without k
   *   a[k] = (p_r - p_c)/(sigma_r - sigma_c),   b[k] = (p_r + p_c)/(sigma_r + sigma_c) ,
   * in a form that does not divide by a quantity that may vanish. */
  void (*stress)(const void *constants, int64_t n, const material_row *sigma, const material_row *state, material_row *p, material_row *dp,
                 material_row *a, material_row *b);
  /* Energy density psi[i] [J/m^3 of undeformed volume] stored at these stretches, after their return. */
  void (*energy)(const void *constants, int64_t n, const material_row *sigma, const material_row *state, double *psi);
  /* After the accepted step: trial stretches and history -> returned elastic stretches and updated history, in place.
   * Stretches that need no return keep every bit. NULL: purely elastic. */
  void (*plastic_return)(const void *constants, int64_t n, material_row *sigma, material_row *state);
  /* Speed of pressure waves at rest [m/s], for step advice and scaling. */
  double (*wave_speed)(const void *constants, double density);
} material_law;

typedef struct {
  const char         *name; /* in the job; owned by the document */
  const material_law *law;  /* NULL: rigid, no deformation (then only density counts), or it flows */
  double              density;
  void               *constants; /* owned; of the law */
  material_flow      *flow;      /* owned; NULL: it does not flow */
} material;

/* Create a material. law NULL: rigid, `parameters` is not used. Fails if memory is exhausted, or with PETSC_ERR_USER_INPUT (see
 * prepare). */
PetscErrorCode material_create(const char *name, const material_law *law, const void *parameters, double density, material **out);
void           material_destroy(material **m);

/* Compute stress and tangent from F for n points, component-major arrays [k][ld]:
 *   start [9] deformation gradient at the start of the step, NULL: F itself;
 *   F [9] trial deformation gradient -> P [9] first Piola-Kirchhoff stress;
 *   U [9], V [9] rotations, dp [9], a [3], b [3]: the spectral tangent (a, b for pairs (1,2), (0,2), (0,1)); all five NULL
 *   if no tangent is requested.
 *   (U^T dP V)_ii = sum_j dp_ij M_jj, (U^T dP V)_ij = a_k (M_ij + M_ji)/2 + b_k (M_ij - M_ji)/2, M = U^T dF V, k = 3-i-j.
 * n is at most MATERIAL_BATCH. Returns the smallest index for which the law is undefined (inverted, not finite), or n. Results for
 * such an index are undefined. */
int64_t material_stress(const material *m, int64_t n, int64_t ld, const double *start, const double *F, const double *state, double *P,
                        double *U, double *V, double *dp, double *a, double *b);
/* The nearest spectral tangent that is symmetric and positive semi-definite: dp is the projection of its symmetric part, a and b
 * are not negative. n points from the outputs of material_stress with this law, in place. */
void material_tangent_project(const material *m, int64_t n, int64_t ld, double *dp, double *a, double *b);
/* Update F and history in place for an accepted step, n <= MATERIAL_BATCH; start as above. On success returns n, and *marks (may be
 * NULL) are raised to the values of these points. Otherwise returns the smallest invalid index, and nothing is changed. */
int64_t material_accept(const material *m, int64_t n, int64_t ld, const double *start, double *F, double *state,
                        material_step_maxima *marks);
/* Whether material_accept changes anything, and whether it may reject a state that material_stress accepted. */
static inline bool material_has_return(const material *m) { return m->law->plastic_return || m->law->step; }
static inline bool material_may_reject(const material *m) { return m->law->step && m->law->step->largest_turn < INFINITY; }
/* True for purely elastic solids: after unloading the body returns to its initial shape. */
static inline bool material_is_elastic(const material *m) { return m->law->n_state == 0 && !m->law->plastic_return && !m->law->is_liquid; }
/* Lame's parameters at small strains [Pa]; m must have a law. */
void material_small_strain(const material *m, double *mu, double *lambda);
/* Energy density psi[i] [J/m^3 of undeformed volume]; not a number where the law is undefined for F. */
void material_energy(const material *m, int64_t n, int64_t ld, const double *F, const double *state, double *psi);
#endif
