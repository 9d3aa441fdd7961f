/* Materials: constitutive laws, one file each, written in principal stretches, or in the step that leads there (material_step).
 *
 * Every law here is isotropic. With the trial deformation gradient F = U diag(sigma) V^T (U, V rotations) the first kind says
 *   P = U diag(p(sigma)) V^T                 first Piola-Kirchhoff stress
 * and its exact derivative needs only dp/dsigma [3][3] (not symmetric where a return mapping yields) and the differences
 * and sums of penalty-relaxation.md, section 10. Laws see arrays, so that their loops vectorise; the kind of law is
 * decided once per body, never per particle.                                                                            */
#ifndef SS_DISCRETIZE_MATERIAL_MATERIAL_H
#define SS_DISCRETIZE_MATERIAL_MATERIAL_H
#include "core/error.h"
#include "core/key_table.h"
#include "discretize/material/flow.h"

enum { MATERIAL_MAX_STATE = 4 };
enum { MATERIAL_BATCH = 64, MATERIAL_LANES = 8 }; /* points per call at most: work space is on the stack */
typedef double material_row[MATERIAL_BATCH];

/* What accepting a step says of it, the largest of all points: by how much stress had left the yield surface before it was returned
 * (1: not at all), and the angle between the rotations of the gradient before and after [rad]. 0: not known of any. */
typedef struct {
  double overshoot, turn;
} material_marks;

static inline void material_marks_raise(material_marks *m, const material_marks *by)
{
  m->overshoot = by->overshoot > m->overshoot ? by->overshoot : m->overshoot;
  m->turn      = by->turn > m->turn ? by->turn : m->turn;
}

/* Laws that are functions of the gradient F [9] and of the one that the step started from, `start` [9]: of its rotation, that is,
 * or of its volume alone. On rows as below. */
typedef struct {
  bool   has_rotation; /* what it wants of `start` is its rotation; another's will do: see body_ops.relinearise */
  bool   is_convex;    /* the tangent is symmetric and positive semi-definite wherever there is one */
  double largest_turn; /* [rad] of a step; with more accept means nothing, and the step is refused */
  /* P [9]; not a number where the law cannot take F. Unless U is NULL the spectral tangent, with V = 1. */
  void (*stress)(const void *constants, int64_t n, const material_row *start, const material_row *F, const material_row *state,
                 material_row *P, material_row *U, material_row *dp, material_row *a, material_row *b);
  /* After the step: F and history in place. overshoot as in material_marks; chord = |R - R_start|_F = 2 sqrt 2 sin(turn/2). */
  void (*accept)(const void *constants, int64_t n, const material_row *start, material_row *F, material_row *state,
                 double *overshoot, double *chord);
} material_step;

/* The functions of a law work on rows, x[component][point], of n points, n a multiple of MATERIAL_LANES up to MATERIAL_BATCH (the
 * callers below pad with points at rest): every point takes the same vector code, so its result has the same bits wherever it
 * stands. sigma has svd3's order and sign; results for stretches that the law cannot take mean nothing. */
typedef struct material_law {
  const char      *name;    /* "drucker_prager": value of `model:` in a job */
  const key_table *keys;    /* its parameters in a job; the struct starts with `double density` [kg/m^3] */
  int              n_state; /* plastic history, doubles per point */
  const char      *state_name[MATERIAL_MAX_STATE], *state_unit[MATERIAL_MAX_STATE], *state_help[MATERIAL_MAX_STATE];
  double           state_initial[MATERIAL_MAX_STATE];
  bool             accepts_inverted; /* the law takes sigma[2] <= 0 */
  /* Derived constants from the parameters read (Lame parameters, ...): *constants is memory_alloc'ed by the law. Complaints
   * that the key table cannot express (e.g. which keys go together) go to PETSC_ERR_USER_INPUT with a message. */
  PetscErrorCode (*prepare)(const void *parameters, void **constants);
  /* A law may stand for several: which one all of these parameters, as a job gives them, ask for. NULL: itself. */
  const struct material_law *(*choose)(const void *parameters);
  const material_step       *step; /* instead of stress and plastic_return; or NULL */
  bool                       is_liquid; /* remembers no shape */
  bool                       is_granular; /* loose grains: no tension, and friction that weight alone may overcome */
  /* Principal stress p at trial stretches sigma with the history frozen and, where dp != NULL, the spectral tangent:
   * dp[3*r + c] = dp_r/dsigma_c, and for the pair (r, c) without k
   *   a[k] = (p_r - p_c)/(sigma_r - sigma_c),   b[k] = (p_r + p_c)/(sigma_r + sigma_c) ,
   * the law knowing how to write them without dividing by what may vanish. */
  void (*stress)(const void *constants, int64_t n, const material_row *sigma, const material_row *state, material_row *p,
                 material_row *dp, material_row *a, material_row *b);
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

/* law NULL: rigid, `parameters` is not looked at. Fails for lack of memory, or with PETSC_ERR_USER_INPUT (see prepare). */
PetscErrorCode material_create(const char *name, const material_law *law, const void *parameters, double density, material **out);
void           material_destroy(material **m);

/* From F to stress and tangent for n points, component-major arrays [k][ld]:
 *   start [9] deformation gradient at the start of the step, NULL: F itself;
 *   F [9] trial deformation gradient -> P [9] first Piola-Kirchhoff stress;
 *   U [9], V [9] rotations, dp [9], a [3], b [3]: the spectral tangent (a, b for pairs (1,2), (0,2), (0,1)); all five NULL
 *   if no tangent is wanted.
 *   (U^T dP V)_ii = sum_j dp_ij M_jj, (U^T dP V)_ij = a_k (M_ij + M_ji)/2 + b_k (M_ij - M_ji)/2, M = U^T dF V, k = 3-i-j.
 * n is at most MATERIAL_BATCH. Returns the smallest index the law cannot take (inverted, not finite), or n; what is written
 * for such an index means nothing. */
int64_t material_stress(const material *m, int64_t n, int64_t ld, const double *start, const double *F, const double *state,
                        double *P, double *U, double *V, double *dp, double *a, double *b);
/* The nearest spectral tangent that is symmetric and positive semi-definite: dp is the projection of its symmetric part, a and b are not
 * negative. n points from the outputs of material_stress with this law, in place. */
void material_tangent_project(const material *m, int64_t n, int64_t ld, double *dp, double *a, double *b);
/* dP = (dP/dF) : dF for one point, from the spectral tangent of point i; transposed: (dP/dF)^T : dF. Reference version; hot
 * loops have their own. */
void material_stress_differential(int64_t ld, int64_t i, const double *U, const double *V, const double *dp, const double *a,
                                  const double *b, const double dF[9], bool is_transposed, double dP[9]);
/* F and history after the accepted step, in place, n <= MATERIAL_BATCH; start as above. Returns the smallest bad index, then
 * nothing has changed; or n, and *marks (may be NULL) are raised to what they are here. */
int64_t material_accept(const material *m, int64_t n, int64_t ld, const double *start, double *F, double *state,
                        material_marks *marks);
/* Whether material_accept does anything, and whether it may refuse what material_stress has taken. */
static inline bool material_has_return(const material *m) { return m->law->plastic_return || m->law->step; }
static inline bool material_may_refuse(const material *m) { return m->law->step && m->law->step->largest_turn < INFINITY; }
/* It comes back to the shape that it had. */
static inline bool material_is_elastic(const material *m)
{
  return m->law->n_state == 0 && !m->law->plastic_return && !m->law->is_liquid;
}
/* Lame's parameters at small strains [Pa]; m must have a law. */
void material_small_strain(const material *m, double *mu, double *lambda);
/* psi[i] [J/m^3 of undeformed volume]; not a number where the law cannot take F. */
void material_energy(const material *m, int64_t n, int64_t ld, const double *F, const double *state, double *psi);
#endif
