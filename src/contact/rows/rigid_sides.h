/* Contributions of contact pairs to the two blocks (linear, angular) of rigid bodies, for any contact law.
 *
 * A pair consists of a point at Z with force f (source) and an object with force -f. The point is a weighted sum of blocks (rows.h) or
 * fixed to a rigid body (centre c', a = Z - c'). The object is a rigid body (centre c, b = Z - c); the caller treats other objects.
 * Increments: dZ of the point; dc and dt (rotation) of the object; dt' (rotation) of the source. K = df/dZ for a fixed object. World axes:
 *
 *   df          = K (dZ - dc - dt x b) + dt x f                the force rotates with the object
 *   d(a x f)    = a x df + (dt' x a) x f
 *   d(b x f)    = b x df + (dZ - dc) x f                       b x f = (Y - c) x f, because f is along Y - Z
 *
 * Both torques use the lever arm to Z, so that the moments of a pair cancel to round-off for any stiffness. Caller: penalty contact.
 *
 * In each evaluation or tangent product, three vectors of a pair are added to the global vector:
 *
 *   force [3]          dt w_k force to block k of a weighted point (rows.h), dt force to the linear block of a rigid one,
 *                      -dt force to the linear block of the object
 *   torque_source [3]  dt torque to the angular block of a rigid point's body
 *   torque_object [3]  dt torque to the angular block of the object                                                    */
#ifndef SS_CONTACT_ROWS_RIGID_SIDES_H
#define SS_CONTACT_ROWS_RIGID_SIDES_H
#include "contact/rows/rows.h"
#include "contact/rows/wrenches.h"
#include "core/math3.h"

typedef struct {
  int64_t  n, capacity, frame_capacity;
  int      n_frames;
  double   dt;
  int32_t *source, *object; /* [n] frame of the point and of the object; -1: a weighted point, an object that is not rigid */

  /* The last evaluation with derivatives; evaluations without derivatives do not change it. */
  uint8_t     *is_active; /* 0: f and K are zero */
  double      *Z, *f;     /* [n][3] position of the point [m], force on it [N] */
  double      *K;         /* [n][9] df/dZ [N/m] */
  rigid_frame *frames;    /* [n_frames] */

  /* Work space of one evaluation or product. */
  double           *force, *torque_source, *torque_object; /* [n][3] */
  double           *linear, *angular;                      /* [n_frames][3] dt x */
  contact_wrenches *wrenches;
} rigid_sides;

PetscErrorCode rigid_sides_create(rigid_sides *s); /* *s must be zeroed */
void           rigid_sides_destroy(rigid_sides *s);
/* Begin a step of length dt [s] without pairs. frames0 [n_frames]: poses of the rigid bodies at its start. Error: out of memory. */
PetscErrorCode rigid_sides_begin(rigid_sides *s, double dt, int n_frames, const rigid_frame *frames0);
/* Reserve memory for n pairs; existing pairs do not change. */
PetscErrorCode rigid_sides_reserve(rigid_sides *s, int64_t n);
/* Build the lists of pairs per body. Call after `source` and `object` of all n pairs are set, before the next rigid_sides_scatter. */
PetscErrorCode rigid_sides_list(rigid_sides *s, int64_t n);
/* Add a pair without force; the next evaluation with derivatives sets it. */
void rigid_sides_add(rigid_sides *s, int64_t i, int32_t source, int32_t object);

/* Set force and torques of pair i for the residual g, from the position Z of the point and the force f on the point. */
void rigid_sides_apply(const rigid_sides *s, int64_t i, const rigid_frame *frames, const double Z[3], const double f[3]);
/* Add force and torques of all pairs to y. is_transposed: for products with H^T, in which rotation blocks are multiplied by J_l^T. */
void rigid_sides_scatter(const rigid_sides *s, const contact_rows *rows, bool is_transposed, double *y);

/* Begin a product: compute the increments dt x of the bodies (linear, angular), and of weighted points (in `force`). */
void rigid_sides_gather(const rigid_sides *s, const contact_rows *rows, const double *x, bool is_transposed);
/* Compute force and torques of pair i in a product with H or H^T, from the increments of rigid_sides_gather. The object is rigid or fixed. */
void rigid_sides_product(const rigid_sides *s, int64_t i);
void rigid_sides_product_transposed(const rigid_sides *s, int64_t i);

/* d [n_blocks][9] += diagonal blocks of rows and rigid bodies. */
void rigid_sides_block_diagonal(const rigid_sides *s, const contact_rows *rows, double *d);
/* Append the couplings (row, column of blocks) of all pairs with their rigid objects to *row, *col [*n]; unordered, may repeat. */
PetscErrorCode rigid_sides_couplings(const rigid_sides *s, const contact_rows *rows, int64_t n_blocks, int64_t *n, int32_t **row,
                                     int32_t **col);
/* H += the tangent for fixed non-rigid objects; blocks of an object outside the pattern of H are omitted. */
PetscErrorCode rigid_sides_assemble(const rigid_sides *s, const contact_rows *rows, int64_t n_blocks, const block_rows *H);

/* ---- pieces of a product, for pairs whose object is not rigid but moves ------------------------------------------------------- */

/* Lever arms a, b of a pair, and the increments of both bodies (zero without a rigid body). */
typedef struct {
  double        a[3], b[3];
  const double *source_linear, *source_angular, *object_linear, *object_angular;
} rigid_motion;

static inline rigid_motion rigid_sides_motion(const rigid_sides *s, int64_t i)
{
  static const double zero[3] = {0.0, 0.0, 0.0};
  const int           p = s->source[i], o = s->object[i];
  rigid_motion        m = {{0.0}, {0.0}, zero, zero, zero, zero};
  if (o >= 0) {
    v3_sub(m.b, s->Z + 3 * i, s->frames[o].c);
    m.object_linear  = s->linear + 3 * o;
    m.object_angular = s->angular + 3 * o;
  }
  if (p >= 0) {
    v3_sub(m.a, s->Z + 3 * i, s->frames[p].c);
    m.source_linear  = s->linear + 3 * p;
    m.source_angular = s->angular + 3 * p;
  }
  return m;
}

/* Increment of the point relative to the centre of the object: d = dZ - dc. */
static inline void rigid_sides_approach(const rigid_sides *s, int64_t i, const rigid_motion *m, double d[3])
{
  if (s->source[i] >= 0) {
    v3_cross(d, m->source_angular, m->a);
    v3_add(d, m->source_linear, d);
  } else v3_copy(d, s->force + 3 * i);
  v3_sub(d, d, m->object_linear);
}

/* Set force and torques of pair i from df and d = dZ - dc. */
static inline void rigid_sides_react(const rigid_sides *s, int64_t i, const rigid_motion *m, const double d[3], const double df[3])
{
  const double *f  = s->f + 3 * i;
  double       *ts = s->torque_source + 3 * i, *to = s->torque_object + 3 * i, da[3], t[3];
  v3_scale(s->force + 3 * i, -1.0, df);
  v3_cross(da, m->source_angular, m->a);
  v3_cross(ts, m->a, df);
  v3_cross(t, da, f);
  for (int j = 0; j < 3; ++j) ts[j] = -(ts[j] + t[j]);
  v3_cross(to, m->b, df);
  v3_cross(t, d, f);
  v3_axpy(to, 1.0, t);
}

/* Transposed product: u', q' (source) and u, q (object) are the linear and angular entries of x.
 *   p = u' + q' x a - u - q x b,   h = K^T p,   F = f x q - h
 * Results: F for the point, -F for dc, b x h - f x p for dt of the object, a x (F - f x q') for dt' of the source.
 * For a non-rigid object, the caller subtracts its increments from p before the call, and adds its contribution to F. */
static inline void rigid_sides_react_transposed(const rigid_sides *s, int64_t i, const rigid_motion *m, const double p[3],
                                                const double h[3], const double F[3])
{
  const double *f  = s->f + 3 * i;
  double       *to = s->torque_object + 3 * i, t[3];
  v3_cross(to, m->b, h);
  v3_cross(t, f, p);
  v3_sub(to, to, t);
  v3_cross(t, f, m->source_angular);
  v3_sub(t, F, t);
  v3_cross(s->torque_source + 3 * i, m->a, t);
  v3_copy(s->force + 3 * i, F);
}

/* Set force and torques of pair i to zero. */
static inline void rigid_sides_rest(const rigid_sides *s, int64_t i)
{
  v3_set(s->force + 3 * i, 0.0, 0.0, 0.0);
  v3_set(s->torque_source + 3 * i, 0.0, 0.0, 0.0);
  v3_set(s->torque_object + 3 * i, 0.0, 0.0, 0.0);
}
#endif
