/* Implementation: isosurface stuffing on a uniform body-centred cubic lattice [LabelleShewchuk2007].
 *
 * The lattice points are the corners ("even" points) and the centres ("odd" points) of cubes. All tetrahedra are congruent. Each has a
 * long edge between two even points and a long edge between two odd points, which are perpendicular and as long as a cube edge, and
 * four short edges.
 * 1. A cut point is computed on every edge along which phi changes its sign.
 * 2. A lattice point with a cut point closer than alpha edge lengths is moved ("warped") onto the closest one and is then a point of
 *    the surface. Its other cut points are discarded. All remaining cut points are at least this distance from the lattice points.
 * 3. The mesh consists of the inside parts of all tetrahedra: a complete tetrahedron, or the part up to its cut points. Quadrilaterals
 *    on its faces are split by a rule that depends on the face only, so that neighbours agree.
 * The values of alpha are those of the paper; with them the angle bounds hold for any position of the surface in the lattice. */
#include "geometry/tet_mesh/tet_mesh_stuffing.h"
#include "core/math3.h"
#include "core/memory.h"

enum { MAX_POINTS = 40000000, N_LONG = 3, N_DIRECTIONS = 11 };
static const double ALPHA_LONG = 0.24999, ALPHA_SHORT = 0.41189;

typedef struct {
  const level_set *phi;
  double           origin[3], h; /* position of even point (0, 0, 0); edge of a cube */
  /* even points per direction; their total number. There are as many odd points, half a cube higher */
  int64_t  n[3], n_grid;
  int8_t  *side;      /* [2 n_grid] -1 inside, 0 on the surface, 1 outside */
  double  *value;     /* [2 n_grid] values of phi */
  int32_t *first_cut; /* [2 n_grid + 1] first cut point of the edges that start at each point */
  uint8_t *direction; /* [cuts] direction of the edge */
  double  *cut;       /* [cuts] position on the edge, 0 ... 1 from its start */
  double  *warp;      /* [2 n_grid][3] positions after warping; NULL before */
  int32_t *number;    /* [2 n_grid + cuts] vertex number in the mesh, -1: not used */
} lattice;

static void lattice_free(lattice *l) { MEMORY_FREE(&l->side, &l->value, &l->first_cut, &l->direction, &l->cut, &l->warp, &l->number); }

/* ---- lattice: coordinates in half cubes; even points have even coordinates, odd points have odd ones ---- */

static int64_t point_at(const lattice *l, const int64_t c[3]) /* -1: outside the lattice */
{
  const int64_t is_odd = c[0] & 1;
  for (int k = 0; k < 3; ++k)
    if (c[k] < is_odd || c[k] >= 2 * l->n[k]) return -1;
  return is_odd * l->n_grid + ((c[0] >> 1) * l->n[1] + (c[1] >> 1)) * l->n[2] + (c[2] >> 1);
}

static void point_coordinates(const lattice *l, int64_t p, int64_t c[3])
{
  const int64_t is_odd = p >= l->n_grid, q = p - is_odd * l->n_grid;
  c[0] = 2 * (q / (l->n[1] * l->n[2])) + is_odd;
  c[1] = 2 * (q / l->n[2] % l->n[1]) + is_odd;
  c[2] = 2 * (q % l->n[2]) + is_odd;
}

static void point_position(const lattice *l, int64_t p, double x[3])
{
  int64_t c[3];
  point_coordinates(l, p, c);
  for (int k = 0; k < 3; ++k) x[k] = l->origin[k] + 0.5 * l->h * (double)c[k];
}

/* Edges: the long ones start at the lower end, along axis 0, 1, 2; the short ones at the even end, direction 3 + (bits of the axes
 * along which they go upward). */
static int64_t edge_end(const lattice *l, int64_t p, int direction)
{
  int64_t c[3];
  point_coordinates(l, p, c);
  if (direction < N_LONG) c[direction] += 2;
  else
    for (int k = 0; k < 3; ++k) c[k] += (direction - N_LONG) >> k & 1 ? 1 : -1;
  return point_at(l, c);
}
static int n_directions(const lattice *l, int64_t p) { return p < l->n_grid ? N_DIRECTIONS : N_LONG; }

/* The cut point between two neighbours on different sides of the surface. *from_a: its position on the edge, 0 ... 1 from a. */
static int64_t cut_between(const lattice *l, int64_t a, int64_t b, double *from_a)
{
  int64_t    ca[3], cb[3];
  const bool is_long   = (a < l->n_grid) == (b < l->n_grid);
  const bool a_first   = is_long ? a < b : a < l->n_grid;
  int        direction = 0;
  point_coordinates(l, a_first ? a : b, ca);
  point_coordinates(l, a_first ? b : a, cb);
  if (is_long)
    while (direction < 2 && ca[direction] == cb[direction]) ++direction;
  else {
    direction = N_LONG;
    for (int k = 0; k < 3; ++k) direction += (cb[k] > ca[k]) << k;
  }
  int64_t i = l->first_cut[a_first ? a : b];
  while (l->direction[i] != direction) ++i;
  if (from_a) *from_a = a_first ? l->cut[i] : 1.0 - l->cut[i];
  return i;
}

/* ---- 1: sides and cut points ---- */

static PetscErrorCode find_sides(lattice *l)
{
  const int64_t n   = 2 * l->n_grid;
  int64_t       bad = n;
  PetscFunctionBegin;
  PetscCall(MEMORY_ALLOC("mesh lattice", ARRAY(l->value, n), ARRAY(l->side, n)));
#pragma omp parallel for schedule(static) reduction(min : bad)
  for (int64_t p = 0; p < n; ++p) {
    double x[3];
    point_position(l, p, x);
    l->value[p] = level_set_value(l->phi, x);
    l->side[p]  = (int8_t)((l->value[p] > 0.0) - (l->value[p] < 0.0));
    if (!isfinite(l->value[p]) && p < bad) bad = p;
  }
  if (bad < n) {
    double x[3];
    point_position(l, bad, x);
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "the distance of the shape is not a finite number at (%g, %g, %g)", x[0], x[1], x[2]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A zero of phi between a (value f_a) and b (value f_b of opposite sign), by the Illinois variant of false position, until the
 * bracket is shorter than 1e-13 of the edge. */
static double find_zero(const level_set *phi, const double *a, const double *b, double f_a, double f_b)
{
  double lo = 0.0, hi = 1.0, f_lo = f_a, f_hi = f_b;
  int    kept = 0;
  for (int i = 0; i < 100 && hi - lo > 1e-13; ++i) {
    double t = (lo * f_hi - hi * f_lo) / (f_hi - f_lo), x[3];
    if (!(t > lo && t < hi) || i % 4 == 3) t = 0.5 * (lo + hi);
    for (int k = 0; k < 3; ++k) x[k] = (1.0 - t) * a[k] + t * b[k];
    const double f = level_set_value(phi, x);
    if (f == 0.0) return t;
    if ((f < 0.0) == (f_a < 0.0)) {
      lo = t, f_lo = f;
      if (kept == 1) f_hi *= 0.5;
      kept = 1;
    } else {
      hi = t, f_hi = f;
      if (kept == -1) f_lo *= 0.5;
      kept = -1;
    }
  }
  return 0.5 * (lo + hi);
}

static PetscErrorCode find_cuts(lattice *l)
{
  const int64_t n     = 2 * l->n_grid;
  int64_t       n_cut = 0;
  PetscFunctionBegin;
  PetscCall(memory_alloc("mesh lattice", n + 1, sizeof *l->first_cut, &l->first_cut));
  for (int pass = 0; pass < 2; ++pass) {
    n_cut = 0;
    for (int64_t p = 0; p < n; ++p) {
      l->first_cut[p] = (int32_t)n_cut;
      if (l->side[p] == 0) continue;
      for (int d = 0; d < n_directions(l, p); ++d) {
        const int64_t q = edge_end(l, p, d);
        if (q < 0 || l->side[p] * l->side[q] >= 0) continue;
        if (pass) l->direction[n_cut] = (uint8_t)d;
        PetscCheck(++n_cut < INT32_MAX / 4, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
                   "the surface cuts more than %d edges of the lattice of spacing %g m; increase the spacing", INT32_MAX / 4, l->h);
      }
    }
    l->first_cut[n] = (int32_t)n_cut;
    if (!pass) PetscCall(memory_alloc("mesh lattice", n_cut, sizeof *l->direction, &l->direction));
  }
  PetscCall(memory_alloc("mesh lattice", n_cut, sizeof *l->cut, &l->cut));
#pragma omp parallel for schedule(dynamic, 4096)
  for (int64_t p = 0; p < n; ++p)
    for (int32_t i = l->first_cut[p]; i < l->first_cut[p + 1]; ++i) {
      const int64_t q = edge_end(l, p, l->direction[i]);
      double        a[3], b[3];
      point_position(l, p, a);
      point_position(l, q, b);
      l->cut[i] = find_zero(l->phi, a, b, l->value[p], l->value[q]);
    }
  memory_free(&l->value);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- 2: warping ---- */

/* Move p onto its closest cut point if that is closer than alpha edge lengths. Called in order of p: a point warped before lies on
 * the surface, and the cut points on edges to it no longer count. */
static void warp_point(lattice *l, int64_t p)
{
  int64_t c[3], to = -1;
  double  nearest = INFINITY, where = 0.0, x[3], y[3];
  if (l->side[p] == 0) return;
  point_coordinates(l, p, c);
  for (int e = 0; e < 14; ++e) { /* three axes in both directions, eight diagonals */
    int64_t d[3] = {c[0], c[1], c[2]};
    double  t;
    if (e < 6) d[e / 2] += e % 2 ? -2 : 2;
    else
      for (int k = 0; k < 3; ++k) d[k] += (e - 6) >> k & 1 ? 1 : -1;
    const int64_t q = point_at(l, d);
    if (q < 0 || l->side[p] * l->side[q] >= 0) continue;
    (void)cut_between(l, p, q, &t);
    const double length = e < 6 ? 1.0 : 0.86602540378443865;
    if (t >= (e < 6 ? ALPHA_LONG : ALPHA_SHORT) || t * length >= nearest) continue;
    nearest = t * length, where = t, to = q;
  }
  if (to < 0) return;
  point_position(l, p, x);
  point_position(l, to, y);
  for (int k = 0; k < 3; ++k) l->warp[3 * p + k] = (1.0 - where) * x[k] + where * y[k];
  l->side[p] = 0;
}

static PetscErrorCode warp_points(lattice *l)
{
  const int64_t n = 2 * l->n_grid;
  PetscFunctionBegin;
  PetscCall(memory_alloc("mesh lattice", 3 * n, sizeof *l->warp, &l->warp));
#pragma omp parallel for schedule(static)
  for (int64_t p = 0; p < n; ++p) point_position(l, p, &l->warp[3 * p]);
  for (int64_t p = 0; p < n; ++p) warp_point(l, p);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- 3: stencils ---- */

typedef struct {
  int64_t  n;
  int64_t *corner; /* [n][4] number of a lattice point, or 2 n_grid + number of a cut point; NULL while counting */
} tet_list;

/* Append a tetrahedron; `is_turned`: its corners are given in mirrored order. */
static void add_tet(tet_list *list, int64_t a, int64_t b, int64_t c, int64_t d, bool is_turned)
{
  if (list->corner) {
    int64_t *t = &list->corner[4 * list->n];
    t[0] = a, t[1] = b, t[2] = is_turned ? d : c, t[3] = is_turned ? c : d;
  }
  ++list->n;
}

static int64_t cut_id(const lattice *l, int64_t a, int64_t b) { return 2 * l->n_grid + cut_between(l, a, b, NULL); }
static bool    is_long(const lattice *l, int64_t a, int64_t b) { return (a < l->n_grid) == (b < l->n_grid); }

/* A face with inside corners a, b and outside corner c leaves a quadrilateral. Returns true if it is split from a (to the cut point
 * between b and c), false if from b (to the cut point between a and c). If ac or bc is a long edge, the diagonal ends at the cut
 * point of that edge. If ab is the long edge, the diagonal starts at the one of a and b for which c lies lower in an even number of
 * coordinates; on the face across that edge it then starts at the other one. */
static bool cut_from_a(const lattice *l, int64_t a, int64_t b, int64_t c)
{
  int64_t ca[3], cc[3];
  if (!is_long(l, a, b)) return is_long(l, b, c);
  point_coordinates(l, a, ca);
  point_coordinates(l, c, cc);
  return ((cc[0] < ca[0]) + (cc[1] < ca[1]) + (cc[2] < ca[2])) % 2 == 0;
}

/* Split the prism between triangles A and B into three tetrahedra. bij: the side between edges i and j is split from A_i to B_j.
 * The three diagonals must not form a cycle. */
static void add_prism(tet_list *list, const int64_t *A, const int64_t *B, bool b01, bool b12, bool b02, bool is_turned)
{
  const int rank[3]  = {!b01 + !b02, b01 + !b12, b02 + b12};
  int       order[3] = {0};
  for (int i = 0; i < 3; ++i) order[rank[i]] = i;
  const int  p = order[0], q = order[1], r = order[2];
  const bool odd = ((q - p + 3) % 3 == 2) ^ is_turned;
  add_tet(list, A[p], A[q], A[r], B[r], odd);
  add_tet(list, A[p], A[q], B[q], B[r], !odd);
  add_tet(list, A[p], B[p], B[q], B[r], odd);
}

/* Append the inside part of the positive lattice tetrahedron with corners v. */
static void add_stencil(const lattice *l, const int64_t v[4], tet_list *list)
{
  int in[4], on[4], out[4], n_in = 0, n_on = 0, n_out = 0;
  for (int i = 0; i < 4; ++i) {
    if (l->side[v[i]] < 0) in[n_in++] = i;
    else if (l->side[v[i]] == 0) on[n_on++] = i;
    else out[n_out++] = i;
  }
  if (n_in == 0) return;
  /* the whole tetrahedron, or one corner of it: outside corners move to the cut points of their edges */
  if (n_in == 1 || n_out == 0) {
    int64_t w[4];
    for (int i = 0; i < 4; ++i) w[i] = l->side[v[i]] > 0 ? cut_id(l, v[in[0]], v[i]) : v[i];
    add_tet(list, w[0], w[1], w[2], w[3], false);
    return;
  }
  int s[4]; /* corners in the order inside, on the surface, outside; is_turned: this order mirrors the tetrahedron */
  for (int i = 0; i < 4; ++i) s[i] = i < n_in ? in[i] : i < n_in + n_on ? on[i - n_in] : out[i - n_in - n_on];
  bool is_turned = false;
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < i; ++j) is_turned ^= s[j] > s[i];
  const int64_t a = v[s[0]], b = v[s[1]];
  if (n_in == 2 && n_on == 1) { /* a pyramid over a quadrilateral */
    const int64_t z = v[s[2]], c = v[s[3]], ac = cut_id(l, a, c), bc = cut_id(l, b, c);
    const bool    from_a = cut_from_a(l, a, b, c);
    add_tet(list, a, b, z, from_a ? bc : ac, is_turned);
    add_tet(list, from_a ? a : ac, from_a ? bc : b, z, from_a ? ac : bc, is_turned);
  } else if (n_in == 2) { /* prism: edge ab and the four cut points */
    const int64_t c = v[s[2]], d = v[s[3]];
    const int64_t A[3] = {a, cut_id(l, a, c), cut_id(l, a, d)}, B[3] = {b, cut_id(l, b, c), cut_id(l, b, d)};
    const bool    b01 = cut_from_a(l, a, b, c), b02 = cut_from_a(l, a, b, d);
    /* the rule gives b01 != b02; with !b01 for the third side there is no cycle */
    add_prism(list, A, B, b01, !b01, b02, is_turned);
  } else { /* prism: triangle abc and its cut points */
    const int64_t c = v[s[2]], d = v[s[3]];
    const int64_t A[3] = {a, b, c}, B[3] = {cut_id(l, a, d), cut_id(l, b, d), cut_id(l, c, d)};
    add_prism(list, A, B, cut_from_a(l, a, b, d), cut_from_a(l, b, c, d), cut_from_a(l, a, c, d), is_turned);
  }
}

/* All lattice tetrahedra: around each long edge between even points there are four, each with a long edge between odd points. */
static void add_stencils(const lattice *l, tet_list *list)
{
  for (int64_t p = 0; p < l->n_grid; ++p)
    for (int axis = 0; axis < 3; ++axis) {
      int64_t c[3], ring[4];
      point_coordinates(l, p, c);
      const int     u = (axis + 1) % 3, w = (axis + 2) % 3;
      const int64_t q = edge_end(l, p, axis);
      if (q < 0) continue;
      for (int i = 0; i < 4; ++i) { /* counter-clockwise about the edge */
        int64_t d[3];
        d[axis] = c[axis] + 1, d[u] = c[u] + (i == 0 || i == 3 ? 1 : -1), d[w] = c[w] + (i < 2 ? 1 : -1);
        ring[i] = point_at(l, d);
      }
      for (int i = 0; i < 4; ++i) {
        const int64_t v[4] = {p, q, ring[i], ring[(i + 1) % 4]};
        if (v[2] >= 0 && v[3] >= 0) add_stencil(l, v, list);
      }
    }
}

/* ---- 4: the mesh ---- */

static void vertex_position(const lattice *l, int64_t id, const int64_t *start_of_cut, double *x)
{
  if (id < 2 * l->n_grid) {
    v3_copy(x, &l->warp[3 * id]);
    return;
  }
  const int64_t i = id - 2 * l->n_grid, p = start_of_cut[i], q = edge_end(l, p, l->direction[i]);
  double        a[3], b[3];
  point_position(l, p, a);
  point_position(l, q, b);
  for (int k = 0; k < 3; ++k) x[k] = (1.0 - l->cut[i]) * a[k] + l->cut[i] * b[k];
}

static PetscErrorCode build_mesh(lattice *l, tet_mesh **out)
{
  tet_list  list  = {0};
  tet_mesh *m     = NULL;
  int64_t  *start = NULL, n_vertices = 0;
  PetscFunctionBegin;
  add_stencils(l, &list);
  PetscCheck(list.n > 0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "no tetrahedron lies inside at spacing %g m: the shape is empty or thinner than the spacing; choose a smaller spacing", l->h);
  const int64_t n = 2 * l->n_grid, n_cut = l->first_cut[n];
  PetscCall(memory_alloc("mesh stencils", 4 * list.n, sizeof *list.corner, &list.corner));
  list.n = 0;
  add_stencils(l, &list);
  PetscCall(MEMORY_ALLOC("mesh lattice", ARRAY(l->number, n + n_cut), ARRAY(start, n_cut)));
  for (int64_t i = 0; i < 4 * list.n; ++i) l->number[list.corner[i]] = 1;
  for (int64_t i = 0; i < n + n_cut; ++i) l->number[i] = l->number[i] ? (int32_t)n_vertices++ : -1;
  for (int64_t p = 0; p < n; ++p)
    for (int32_t i = l->first_cut[p]; i < l->first_cut[p + 1]; ++i) start[i] = p;
  PetscCall(tet_mesh_create(n_vertices, list.n, &m));
  for (int64_t i = 0; i < n + n_cut; ++i)
    if (l->number[i] >= 0) vertex_position(l, i, start, &m->x[3 * (int64_t)l->number[i]]);
  for (int64_t i = 0; i < 4 * list.n; ++i) m->tet[i] = l->number[list.corner[i]];
  MEMORY_FREE(&start, &list.corner);
  PetscErrorCode code = tet_mesh_require("isosurface stuffing (choose a smaller spacing, or another lattice shift)", m, false, NULL);
  if (!code) code = tet_mesh_finish(m);
  if (code) tet_mesh_destroy(&m);
  PetscCall(code);
  *out = m;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode stuff_lattice(lattice *l, tet_mesh **out)
{
  PetscFunctionBegin;
  PetscCall(find_sides(l));
  PetscCall(find_cuts(l));
  PetscCall(warp_points(l));
  PetscCall(build_mesh(l, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tet_mesh_from_level_set(const level_set *phi, const double min[3], const double max[3], double spacing, const double *shift,
                                       tet_mesh **out)
{
  lattice l     = {.phi = phi, .h = spacing, .n_grid = 1};
  double  total = 2.0;
  PetscFunctionBegin;
  PetscCheck(isfinite(spacing) && spacing > 0.0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "a tetrahedral mesh needs a positive spacing");
  for (int k = 0; k < 3; ++k) {
    PetscCheck(isfinite(min[k]) && isfinite(max[k]) && min[k] < max[k], PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
               "only a bounded shape can be filled with tetrahedra (bounds %g ... %g along axis %d)", min[k], max[k], k);
    total *= ceil((max[k] - min[k]) / spacing) + 6.0;
  }
  PetscCheck(total <= MAX_POINTS, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "the lattice would need %.3g points at spacing %g m (at most %d): choose a larger spacing", total, spacing, MAX_POINTS);
  for (int k = 0; k < 3; ++k) { /* a margin of two cubes on all sides, so that the border of the lattice lies outside the shape */
    const double phase = shift ? shift[k] - floor(shift[k]) : 0.0;
    l.n[k]             = (int64_t)ceil((max[k] - min[k]) / spacing) + 6;
    l.origin[k]        = min[k] - spacing * (3.0 - phase);
    l.n_grid *= l.n[k];
  }
  const PetscErrorCode code = stuff_lattice(&l, out);
  lattice_free(&l);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
