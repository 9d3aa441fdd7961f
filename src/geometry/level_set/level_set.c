#include "geometry/level_set/level_set.h"
#include "core/math3.h"
#include "core/memory.h"
#include "geometry/level_set/level_set_kind.h"

double level_set_value(const level_set *s, const double x[3]) { return s->kind->eval(s, x, NULL, NULL); }

double level_set_eval(const level_set *s, const double x[3], double gradient[3], double hessian[9])
{
  return s->kind->eval(s, x, gradient, hessian);
}

void level_set_bounds(const level_set *s, double min[3], double max[3]) { s->kind->bounds(s, min, max); }

void level_set_destroy(level_set **s)
{
  if (!s || !*s) return;
  if ((*s)->kind->destroy) (*s)->kind->destroy(*s);
  memory_free(s);
}

/* ---- boolean combinations: phi = sign * min_i(sign * phi_i), sign = +1 union, -1 intersection ---- */

typedef struct {
  level_set   base;
  double      sign;
  int         n;
  level_set **child;
  double    (*box)[2][3]; /* [n] of a union: bounds of the children; else NULL */
} level_set_boolean;

/* Squared distance to a box; 0 inside. Nothing in it is nearer. */
static double square_to_box(const double box[2][3], const double x[3])
{
  double sum = 0.0;
  for (int k = 0; k < 3; ++k) {
    const double below = box[0][k] - x[k], above = x[k] - box[1][k], out = below > 0.0 ? below : above > 0.0 ? above : 0.0;
    sum += out * out;
  }
  return sum;
}

static int nearest_box(const level_set_boolean *b, const double x[3])
{
  double least = INFINITY;
  int    nearest = 0;
  for (int i = 0; i < b->n; ++i) {
    const double square = square_to_box((const double(*)[3])b->box[i], x);
    if (square < least) least = square, nearest = i;
  }
  return nearest;
}

/* Than what is `best` away: no need to look closer. */
static bool is_farther(const level_set_boolean *b, int i, const double x[3], double best)
{
  const double square = square_to_box((const double(*)[3])b->box[i], x);
  return square > 0.0 && (best <= 0.0 || square > best * best);
}

/* Derivatives are those of the active branch; on a tie the first child wins, so that the choice does not depend on
 * anything but x. Distances stay exact only on one side (min of distances: outside a union, inside an intersection),
 * and everywhere a lower bound of the true distance in absolute value. */
static double boolean_eval(const level_set *s, const double x[3], double *gradient, double *hessian)
{
  const level_set_boolean *b      = (const level_set_boolean *)s;
  int                      active = b->box ? nearest_box(b, x) : 0;
  double                   best   = b->sign * level_set_value(b->child[active], x);
  for (int i = 0, first = active; i < b->n; ++i) {
    if (i == first || (b->box && is_farther(b, i, x, best))) continue;
    const double v = b->sign * level_set_value(b->child[i], x);
    if (v < best || (v == best && i < active)) best = v, active = i;
  }
  if (gradient || hessian) (void)level_set_eval(b->child[active], x, gradient, hessian);
  return b->sign * best;
}

static void boolean_bounds(const level_set *s, double min[3], double max[3])
{
  const level_set_boolean *b = (const level_set_boolean *)s;
  level_set_bounds(b->child[0], min, max);
  for (int i = 1; i < b->n; ++i) {
    double lo[3], hi[3];
    level_set_bounds(b->child[i], lo, hi);
    for (int k = 0; k < 3; ++k) {
      min[k] = b->sign > 0.0 ? fmin(min[k], lo[k]) : fmax(min[k], lo[k]);
      max[k] = b->sign > 0.0 ? fmax(max[k], hi[k]) : fmin(max[k], hi[k]);
    }
  }
}

static void boolean_destroy(level_set *s)
{
  level_set_boolean *b = (level_set_boolean *)s;
  for (int i = 0; i < b->n; ++i) level_set_destroy(&b->child[i]);
  memory_free(&b->child);
  memory_free(&b->box);
}

static const level_set_kind kind_boolean = {boolean_eval, boolean_bounds, boolean_destroy};

static PetscErrorCode boolean_create(double sign, int n, level_set **child, level_set **out)
{
  level_set_boolean *b = NULL;
  PetscFunctionBegin;
  PetscCheck(n >= 1, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "a union or intersection needs at least one shape");
  PetscCall(memory_alloc("level set", 1, sizeof *b, &b));
  b->base.kind = &kind_boolean;
  b->sign      = sign;
  {
    PetscErrorCode code = memory_alloc("level set children", n, sizeof *b->child, &b->child);
    if (!code && sign > 0.0) code = memory_alloc("level set bounds", n, sizeof *b->box, &b->box);
    if (code) memory_free(&b->child), memory_free(&b);
    PetscCall(code);
  }
  for (int i = 0; b->box && i < n; ++i) level_set_bounds(child[i], b->box[i][0], b->box[i][1]);
  b->n = n;
  for (int i = 0; i < n; ++i) b->child[i] = child[i];
  *out = &b->base;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode level_set_union(int n, level_set **child, level_set **out)
{
  PetscFunctionBegin;
  PetscCall(boolean_create(1.0, n, child, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode level_set_intersection(int n, level_set **child, level_set **out)
{
  PetscFunctionBegin;
  PetscCall(boolean_create(-1.0, n, child, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode level_set_difference(level_set *from, level_set *minus, level_set **out)
{
  level_set     *child[2] = {from, NULL};
  PetscErrorCode code;
  PetscFunctionBegin;
  PetscCall(level_set_complement(minus, &child[1]));
  code = level_set_intersection(2, child, out);
  if (code) memory_free(&child[1]); /* the wrapper alone: `minus` stays the caller's */
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- complement ---- */

typedef struct {
  level_set  base;
  level_set *child;
} level_set_negative;

static double negative_eval(const level_set *s, const double x[3], double *gradient, double *hessian)
{
  const double v = level_set_eval(((const level_set_negative *)s)->child, x, gradient, hessian);
  if (gradient) v3_scale(gradient, -1.0, gradient);
  if (hessian)
    for (int i = 0; i < 9; ++i) hessian[i] = -hessian[i];
  return -v;
}

static void negative_bounds(const level_set *s, double min[3], double max[3])
{
  (void)s; /* half-spaces apart, what is left after taking something bounded away is unbounded */
  for (int k = 0; k < 3; ++k) min[k] = -INFINITY, max[k] = INFINITY;
}

static void negative_destroy(level_set *s) { level_set_destroy(&((level_set_negative *)s)->child); }

static const level_set_kind kind_negative = {negative_eval, negative_bounds, negative_destroy};

PetscErrorCode level_set_complement(level_set *child, level_set **out)
{
  level_set_negative *c = NULL;
  PetscFunctionBegin;
  PetscCall(memory_alloc("level set", 1, sizeof *c, &c));
  c->base.kind = &kind_negative;
  c->child     = child;
  *out         = &c->base;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- pose ---- */

typedef struct {
  level_set  base;
  level_set *child;
  double     c[3], R[9];
} level_set_posed;

static double posed_eval(const level_set *s, const double x[3], double *gradient, double *hessian)
{
  const level_set_posed *p = (const level_set_posed *)s;
  double                 d[3], y[3], g[3], h[9];
  v3_sub(d, x, p->c);
  m3_mulv_t(y, p->R, d);
  const double v = level_set_eval(p->child, y, gradient ? g : NULL, hessian ? h : NULL);
  if (gradient) m3_mulv(gradient, p->R, g);
  if (hessian) {
    double t[9];
    m3_mul(t, p->R, h);
    m3_mul_nt(hessian, t, p->R);
  }
  return v;
}

static void posed_bounds(const level_set *s, double min[3], double max[3])
{
  const level_set_posed *p = (const level_set_posed *)s;
  double                 lo[3], hi[3];
  level_set_bounds(p->child, lo, hi);
  for (int i = 0; i < 3; ++i) {
    min[i] = max[i] = p->c[i];
    for (int j = 0; j < 3; ++j) {
      const double r = p->R[3 * i + j];
      if (r == 0.0) continue; /* 0 * infinity */
      min[i] += r > 0.0 ? r * lo[j] : r * hi[j];
      max[i] += r > 0.0 ? r * hi[j] : r * lo[j];
    }
  }
}

static void posed_destroy(level_set *s) { level_set_destroy(&((level_set_posed *)s)->child); }

static const level_set_kind kind_posed = {posed_eval, posed_bounds, posed_destroy};

PetscErrorCode level_set_transform(level_set *child, const double c[3], const double R[9], level_set **out)
{
  level_set_posed *p = NULL;
  double           rtr[9];
  PetscFunctionBegin;
  m3_mul_tn(rtr, R, R);
  for (int i = 0; i < 9; ++i)
    PetscCheck(fabs(rtr[i] - (i % 4 == 0)) < 1e-9, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG,
               "a level set can only be moved by a rotation; this matrix is not one");
  PetscCall(memory_alloc("level set", 1, sizeof *p, &p));
  p->base.kind = &kind_posed;
  p->child     = child;
  v3_copy(p->c, c);
  m3_copy(p->R, R);
  *out = &p->base;
  PetscFunctionReturn(PETSC_SUCCESS);
}
