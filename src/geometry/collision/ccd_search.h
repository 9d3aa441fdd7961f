/* The search for the first collision, for the queries of ccd.h, in the arithmetic given by the macros below. ccd.c includes this file
 * twice: in double precision for all queries, and in quadruple precision for the few queries that round-off does not permit to decide.
 *
 *   CCD(name)       the name in this arithmetic
 *   CCD_REAL        the type; CCD_SQRT(x) is its square root, accurate to a few U
 *   U               unit round-off
 *   FLOOR           smallest distance distinguished from 0, relative to the largest coordinate difference; after PATIENCE intervals
 *                   SETTLE is used instead
 *   PIECES_MAX      maximum number of time intervals
 *
 * Both queries have the same form. The differences between points of the two primitives form a parallelogram (edges) or a triangle
 * q + u e1 + v e2, affine in (u, v) and in t; its point closest to the origin gives the distance. All differences are scaled by a power
 * of two so that the largest coordinate of a corner is in [1/2, 1).
 *
 * Round-off bounds. A corner at time t is fl((1 - t) c0 + t c1) of differences c that were rounded once. Its error is at most 4 U:
 * U each from the difference, 1 - t, the product and the sum. Its product with n adds 3 U |n|_1; DIRECTION_ERROR exceeds these 7 U.
 * An edge at time t has an error of 4 U E, with E its largest coordinate at any time. Components of e1 x e2, at most 2 E1 E2, have
 * an error of 16 U E1 E2 from the factors and 4 U E1 E2 from the operations; the mean of two adds 2 U E1 E2. The product with q
 * (largest coordinate Q) gives (3 (22 + 8) U + 18 U) Q E1 E2, and the weighted mean of two of these adds 18 U Q E1 E2: 126 in total.
 * CUBIC_ERROR contains a margin for the subtractions that follow. */
/* clang-format off: clang-format reads CCD(shape) *p as a product */
#define DIRECTION_ERROR (10.0 * U)
#define CUBIC_ERROR (200.0 * U)
#define NORMAL_ERROR (64.0 * U)   /* of |e1 x e2| per E1 E2: sqrt(3) 22 and the error of the norm */
#define FRACTION_ERROR (16.0 * U) /* of a quotient of differences, and of the abscissae 1/3, 2/3 */
#define TIME_ERROR (4.0 * U)      /* of a + (b - a) fraction */
#define UNIT_ERROR (16.0 * U)     /* of the length of a unit vector, and of products with the separation */
#define UNDERFLOW 0x1p-900        /* far larger than the error of triple products by underflow */
#define FLAT (1e8 * U * U)        /* squared sine of the angle below which the normal is not used */

typedef struct {
  CCD_REAL corner[3][LANES]; /* corner[k][i]: component k of corner i; corner 3 of a triangle repeats corner 0 */
  CCD_REAL edge[2][3];
} CCD(shape);

typedef struct {
  CCD(shape) at[2];                              /* at t = 0 and t = 1 */
  bool     is_square;                            /* the differences form a parallelogram, not a triangle */
  CCD_REAL separation;                           /* minimum separation; a smaller distance is a collision */
  CCD_REAL near, settle;                         /* distance that is reported as a collision; the same after PATIENCE intervals */
  CCD_REAL cubic_error, normal_error, width_min; /* width_min: length below which an interval is not divided */
} CCD(problem);

typedef struct {
  CCD_REAL u, v, distance, n[3]; /* n: unit direction from the origin to the nearest point */
} CCD(nearest);

static inline CCD_REAL CCD(dot)(const CCD_REAL *a, const CCD_REAL *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
static inline CCD_REAL CCD(max)(CCD_REAL a, CCD_REAL b) { return a > b ? a : b; }
static inline CCD_REAL CCD(min)(CCD_REAL a, CCD_REAL b) { return a < b ? a : b; }
static inline CCD_REAL CCD(abs)(CCD_REAL a) { return a < 0 ? -a : a; }
static inline void     CCD(axpy)(CCD_REAL *y, CCD_REAL s, const CCD_REAL *x)
{
  for (int k = 0; k < 3; ++k) y[k] += s * x[k];
}
static inline void CCD(cross)(CCD_REAL *o, const CCD_REAL *a, const CCD_REAL *b)
{
  o[0] = a[1] * b[2] - a[2] * b[1];
  o[1] = a[2] * b[0] - a[0] * b[2];
  o[2] = a[0] * b[1] - a[1] * b[0];
}

static void CCD(shape_at)(const CCD(problem) * p, CCD_REAL t, CCD(shape) * out)
{
  const CCD_REAL w = 1 - t;
  for (int k = 0; k < 3; ++k)
    for (int i = 0; i < LANES; ++i) out->corner[k][i] = w * p->at[0].corner[k][i] + t * p->at[1].corner[k][i];
  for (int i = 0; i < 2; ++i)
    for (int k = 0; k < 3; ++k) out->edge[i][k] = w * p->at[0].edge[i][k] + t * p->at[1].edge[i][k];
}

/* ---- the closest point at one time: its direction gives the separating plane; the proofs do not depend on its accuracy ---- */

/* Closest point of the segment o + s e to the origin; stored in `best` if it is closer. */
static void CCD(try_segment)(const CCD_REAL *o, const CCD_REAL *e, CCD_REAL u0, CCD_REAL v0, CCD_REAL du, CCD_REAL dv, CCD(nearest) * best)
{
  const CCD_REAL ee = CCD(dot)(e, e), oe = -CCD(dot)(o, e);
  const CCD_REAL s    = oe > 0 ? (oe < ee ? oe / ee : 1) : 0;
  CCD_REAL       x[3] = {o[0] + s * e[0], o[1] + s * e[1], o[2] + s * e[2]};
  const CCD_REAL d    = CCD_SQRT(CCD(dot)(x, x));
  if (!(d < best->distance)) return;
  best->distance = d, best->u = u0 + s * du, best->v = v0 + s * dv;
  /* Make the direction perpendicular to the edge up to round-off. Otherwise, at very small distances, an end of the edge would lie on
   * the wrong side of the plane. The worst hand-made query of [Wang2021] at tolerance 0 then takes 11 intervals instead of 35. */
  if (s > 0 && s < 1) CCD(axpy)(x, -CCD(dot)(x, e) / ee, e);
  for (int k = 0; k < 3; ++k) best->n[k] = x[k];
}

static void CCD(nearest_on_rim)(const CCD_REAL *q, const CCD_REAL *e1, const CCD_REAL *e2, bool is_square, CCD(nearest) * out)
{
  const CCD_REAL a[3] = {q[0] + e1[0], q[1] + e1[1], q[2] + e1[2]}, b[3] = {q[0] + e2[0], q[1] + e2[1], q[2] + e2[2]};
  *out = (CCD(nearest)){.distance = INFINITY};
  CCD(try_segment)(q, e1, 0, 0, 1, 0, out);
  CCD(try_segment)(q, e2, 0, 0, 0, 1, out);
  if (is_square) {
    CCD(try_segment)(a, e2, 1, 0, 0, 1, out);
    CCD(try_segment)(b, e1, 0, 1, 1, 0, out);
  } else {
    const CCD_REAL e[3] = {e2[0] - e1[0], e2[1] - e1[1], e2[2] - e1[2]};
    CCD(try_segment)(a, e, 1, 0, -1, 1, out);
  }
  const CCD_REAL length = CCD_SQRT(CCD(dot)(out->n, out->n)), inverse = length > 0 ? 1 / length : 0;
  for (int k = 0; k < 3; ++k) out->n[k] *= inverse;
}

/* u, v of the orthogonal projection of the origin onto the plane x + u e1 + v e2, N = e1 x e2. */
static void CCD(foot)(const CCD_REAL *x, const CCD_REAL *e1, const CCD_REAL *e2, const CCD_REAL *N, CCD_REAL *u, CCD_REAL *v)
{
  CCD_REAL       x1[3], x2[3];
  const CCD_REAL NN = CCD(dot)(N, N);
  CCD(cross)(x1, x, e1);
  CCD(cross)(x2, x, e2);
  *u = -CCD(dot)(x2, N) / NN;
  *v = CCD(dot)(x1, N) / NN;
}

static void CCD(nearest_point)(const CCD(shape) * s, bool is_square, CCD(nearest) * out)
{
  const CCD_REAL q[3] = {s->corner[0][0], s->corner[1][0], s->corner[2][0]}, *e1 = s->edge[0], *e2 = s->edge[1];
  CCD_REAL       N[3], u = 0, v = 0;
  CCD(cross)(N, e1, e2);
  const CCD_REAL NN = CCD(dot)(N, N), squares = CCD(dot)(e1, e1) * CCD(dot)(e2, e2);
  bool           is_inside = NN > FLAT * squares;
  if (is_inside) {
    CCD(foot)(q, e1, e2, N, &u, &v);
    is_inside = u > 0 && v > 0 && (is_square ? u < 1 && v < 1 : u + v < 1);
  }
  if (!is_inside) {
    CCD(nearest_on_rim)(q, e1, e2, is_square, out);
    return;
  }
  CCD_REAL x[3] = {q[0], q[1], q[2]};
  CCD(axpy)(x, u, e1);
  CCD(axpy)(x, v, e2);
  if (NN < 1e-6 * squares) { /* needles: project once more from the point itself to remove the round-off along the plane */
    CCD_REAL du, dv;
    CCD(foot)(x, e1, e2, N, &du, &dv);
    CCD(axpy)(x, du, e1);
    CCD(axpy)(x, dv, e2);
    u += du, v += dv;
  }
  const CCD_REAL scale = (CCD(dot)(q, N) < 0 ? -1 : 1) / CCD_SQRT(NN);
  out->u = u, out->v = v, out->distance = CCD_SQRT(CCD(dot)(x, x));
  for (int k = 0; k < 3; ++k) out->n[k] = scale * N[k];
}

/* ---- proofs: [lo, hi] is the part of a time interval [a, b], in fractions of its length, that is not proved free; lo > hi: the
 * whole interval is free ---- */

/* Separating plane with unit normal n at distance `separation` from the origin: the heights of the corners above it are linear in t. */
static void CCD(clip_by_plane)(const CCD(problem) * p, const CCD_REAL *n, const CCD(shape) * a, const CCD(shape) * b, CCD_REAL *lo,
                               CCD_REAL *hi)
{
  const CCD_REAL height = DIRECTION_ERROR * (CCD(abs)(n[0]) + CCD(abs)(n[1]) + CCD(abs)(n[2])) + p->separation;
  CCD_REAL       fa[LANES], fb[LANES], min_a = INFINITY, min_b = INFINITY, up = 2, down = 2;
  for (int i = 0; i < LANES; ++i) {
    fa[i] = n[0] * a->corner[0][i] + n[1] * a->corner[1][i] + n[2] * a->corner[2][i] - height;
    fb[i] = n[0] * b->corner[0][i] + n[1] * b->corner[1][i] + n[2] * b->corner[2][i] - height;
  }
  for (int i = 0; i < LANES; ++i) min_a = CCD(min)(fa[i], min_a), min_b = CCD(min)(fb[i], min_b);
  if (min_a > 0) {
    for (int i = 0; i < LANES; ++i)
      if (fb[i] <= 0) up = CCD(min)(up, fa[i] / (fa[i] - fb[i]));
    *lo = CCD(max)(*lo, up - FRACTION_ERROR);
  }
  if (min_b > 0) {
    for (int i = 0; i < LANES; ++i)
      if (fa[i] <= 0) down = CCD(min)(down, fb[i] / (fb[i] - fa[i]));
    *hi = CCD(min)(*hi, 1 - (down - FRACTION_ERROR));
  }
}

/* Lower bound of the fraction of the interval in which a cubic with Bernstein coefficients c has the sign of c[0], by the convex hull
 * of the control polygon. 2: in the whole interval. */
static CCD_REAL CCD(cubic_keeps_sign)(const CCD_REAL c[4], CCD_REAL error)
{
  CCD_REAL g[4], first = 2;
  for (int i = 0; i < 4; ++i) g[i] = (c[0] < 0 ? -c[i] : c[i]) - error;
  if (!(g[0] > 0)) return 0;
  for (int i = 0; i < 3; ++i)
    for (int j = i + 1; j < 4; ++j)
      if (g[i] > 0 && g[j] <= 0) first = CCD(min)(first, (i + (j - i) * (g[i] / (g[i] - g[j]))) / 3);
  return first - FRACTION_ERROR;
}

/* Coplanarity cubic det(e1, e2, q), the distance of the planes or lines times |e1 x e2|, by its Bernstein coefficients on [a,
 * b]. */
static void CCD(clip_by_cubic)(const CCD(problem) * p, const CCD(shape) * a, const CCD(shape) * b, CCD_REAL *lo, CCD_REAL *hi)
{
  const CCD_REAL qa[3] = {a->corner[0][0], a->corner[1][0], a->corner[2][0]};
  const CCD_REAL qb[3] = {b->corner[0][0], b->corner[1][0], b->corner[2][0]};
  CCD_REAL       N[3][3], mixed[3], c[4], error = p->cubic_error;
  CCD(cross)(N[0], a->edge[0], a->edge[1]);
  CCD(cross)(N[1], a->edge[0], b->edge[1]);
  CCD(cross)(mixed, b->edge[0], a->edge[1]);
  CCD(cross)(N[2], b->edge[0], b->edge[1]);
  for (int k = 0; k < 3; ++k) N[1][k] = (N[1][k] + mixed[k]) / 2;
  c[0] = CCD(dot)(N[0], qa);
  c[1] = (CCD(dot)(N[0], qb) + 2 * CCD(dot)(N[1], qa)) / 3;
  c[2] = (CCD(dot)(N[2], qa) + 2 * CCD(dot)(N[1], qb)) / 3;
  c[3] = CCD(dot)(N[2], qb);
  if (p->separation > 0) { /* the distance is det / |N|, and |N|^2 is at most its largest control value */
    const CCD_REAL NN = CCD(max)(CCD(max)(CCD(dot)(N[0], N[0]), CCD(dot)(N[1], N[1])), CCD(dot)(N[2], N[2]));
    error += p->separation * (CCD_SQRT(NN) * (1 + UNIT_ERROR) + p->normal_error);
  }
  const CCD_REAL back[4] = {c[3], c[2], c[1], c[0]};
  *lo                    = CCD(max)(*lo, CCD(cubic_keeps_sign)(c, error));
  *hi                    = CCD(min)(*hi, 1 - CCD(cubic_keeps_sign)(back, error));
}

/* Narrow [lo, hi] by both proofs. n is the direction to the closest point at time ta. */
static void CCD(clip)(const CCD(problem) * p, const CCD_REAL *n, const CCD(shape) * a, CCD_REAL ta, CCD_REAL tb, CCD_REAL *lo, CCD_REAL *hi)
{
  CCD(shape) b, middle;
  CCD(nearest) near;
  CCD(shape_at)(p, tb, &b);
  *lo = 0, *hi = 1;
  CCD(clip_by_plane)(p, n, a, &b, lo, hi);
  if (*lo <= *hi) CCD(clip_by_cubic)(p, a, &b, lo, hi);
  if (*lo > *hi || *hi - *lo < 0.5) return;
  CCD(shape_at)(p, ta + (*lo + *hi) / 2 * (tb - ta), &middle);
  CCD(nearest_point)(&middle, p->is_square, &near);
  CCD(clip_by_plane)(p, near.n, a, &b, lo, hi);
  if (*lo > *hi || *hi - *lo < 0.5) return;
  CCD(nearest_point)(&b, p->is_square, &near);
  CCD(clip_by_plane)(p, near.n, a, &b, lo, hi);
}

/* ---- the search ---- */

/* Examine time intervals in ascending order, starting at *t. The part of [a, b] that is not proved free is examined next; it is bisected
 * if it is longer than half of [a, b]. Returns false if all intervals are proved free. Otherwise no collision occurs before *t, and
 * *near is the closest point at *t. A distance of NaN counts as a collision. */
static bool CCD(search)(const CCD(problem) * p, CCD_REAL *t, CCD(nearest) * near, int *pieces)
{
  CCD_REAL a = *t, b = 1, rest[STACK][2];
  int      n_rest = 0;
  for (int piece = 1;; ++piece) {
    CCD(shape) shape;
    CCD_REAL lo, hi;
    *t = a;
    ++*pieces;
    CCD(shape_at)(p, a, &shape);
    CCD(nearest_point)(&shape, p->is_square, near);
    if (!(near->distance > (piece > PATIENCE ? p->settle : p->near)) || piece == PIECES_MAX || n_rest == STACK) return true;
    CCD(clip)(p, near->n, &shape, a, b, &lo, &hi);
    if (lo > hi) {
      if (n_rest == 0) return false;
      --n_rest;
      a = rest[n_rest][0], b = rest[n_rest][1];
      continue;
    }
    if (b - a <= p->width_min) return true;
    const CCD_REAL width = b - a, left = a + width * lo - TIME_ERROR, right = a + width * hi + TIME_ERROR;
    if (lo > 0 && left > a) a = left;
    if (hi < 1 && right < b) b = right;
    if (b - a > width / 2) {
      const CCD_REAL middle = (a + b) / 2;
      rest[n_rest][0] = middle, rest[n_rest++][1] = b;
      b = middle;
    }
  }
}

static void CCD(shape_fill)(CCD(shape) * s, const double *x, const ccd_layout *l, const ccd_scale *scale)
{
  /* the scaled difference is exact where the unscaled one would underflow */
  const CCD_REAL before = scale->before, after = scale->after;
  for (int i = 0; i < LANES; ++i)
    for (int k = 0; k < 3; ++k) s->corner[k][i] = (before * x[3 * l->plus[i] + k] - before * x[3 * l->minus[i] + k]) * after;
  for (int i = 0; i < 2; ++i)
    for (int k = 0; k < 3; ++k) s->edge[i][k] = (before * x[3 * l->to[i] + k] - before * x[3 * l->from[i] + k]) * after;
}

static void CCD(problem_fill)(CCD(problem) * p, const double *x0, const double *x1, const ccd_layout *l, const ccd_scale *scale,
                              const ccd_limits *limits)
{
  const CCD_REAL separation = (CCD_REAL)limits->separation * scale->before * scale->after;
  const CCD_REAL tolerance  = CCD(max)((CCD_REAL)limits->tolerance * scale->before * scale->after, FLOOR);
  CCD_REAL       q = 0, e[2] = {0, 0}, speed = 0;
  CCD(shape_fill)(&p->at[0], x0, l, scale);
  CCD(shape_fill)(&p->at[1], x1, l, scale);
  for (int s = 0; s < 2; ++s)
    for (int k = 0; k < 3; ++k) {
      q = CCD(max)(q, CCD(abs)(p->at[s].corner[k][0]));
      for (int i = 0; i < 2; ++i) e[i] = CCD(max)(e[i], CCD(abs)(p->at[s].edge[i][k]));
      for (int i = 0; i < LANES; ++i) speed = CCD(max)(speed, CCD(abs)(p->at[1].corner[k][i] - p->at[0].corner[k][i]));
    }
  p->is_square    = l->is_square;
  p->cubic_error  = CUBIC_ERROR * q * e[0] * e[1] + UNDERFLOW;
  p->normal_error = NORMAL_ERROR * e[0] * e[1] + UNDERFLOW;
  p->separation   = separation * (1 + UNIT_ERROR);
  p->near         = separation + tolerance;
  p->settle       = separation + CCD(max)(tolerance, SETTLE);
  /* In exact arithmetic an interval is never shorter than tolerance / speed; a shorter one means that round-off prevents
   * progress. */
  p->width_min = CCD(max)(tolerance / (16 * speed + 8 * tolerance), 16.0 * U);
}

/* Fill `hit`; the time is rounded down. */
static bool CCD(report)(const CCD(problem) * p, CCD_REAL t, const CCD(nearest) * near, const ccd_scale *scale, int pieces, ccd_hit *hit)
{
  const double rounded = (double)t;
  *hit = (ccd_hit){.t = rounded > t ? nextafter(rounded, 0.0) : rounded, .u = (double)near->u, .v = (double)near->v, .pieces = pieces};
  hit->distance   = (double)near->distance / scale->after / scale->before;
  hit->is_certain = near->distance <= p->settle;
  for (int k = 0; k < 3; ++k) hit->normal[k] = (double)(p->is_square ? near->n[k] : -near->n[k]);
  return true;
}

#undef DIRECTION_ERROR
#undef CUBIC_ERROR
#undef NORMAL_ERROR
#undef FRACTION_ERROR
#undef TIME_ERROR
#undef UNIT_ERROR
#undef UNDERFLOW
#undef FLAT
/* clang-format on */
