/* Implementation: hexahedral cells ("bricks"), each cut into five tetrahedra.
 *
 * The corners of a brick are coloured like a chessboard. Its four even corners form the central tetrahedron; each odd corner forms
 * a tetrahedron with its three neighbours. Two adjacent bricks then cut their common side along the same diagonal, between its even
 * corners. This only requires that all corners can be coloured consistently; the bricks may be deformed.
 *
 * Round solids consist of an inner square or cube with n bricks per side, surrounded by m layers of bricks ("O-grid"). No brick has
 * more than one side on the round surface; a brick with two such sides would be nearly flat. */
#include "geometry/tet_mesh/tet_mesh_primitives.h"
#include "core/math3.h"
#include "core/memory.h"

enum { MAX_TETS = 40000000 };

/* Half the side of the inner square (cube) for radius 1, and the bulge of its sides. Among all pairs in steps of 0.05 and 0.1,
 * these give the largest minimum dihedral angle over spacings from 0.6 to 0.1 radii: 31 degrees (square) and 32 degrees (cube). */
static const double SQUARE_HALF = 0.55, SQUARE_BULGE = 0.4, CUBE_HALF = 0.45, CUBE_BULGE = 0.5;

static PetscErrorCode check_sizes(const char *what, int n, const double *length, double spacing)
{
  bool is_good = isfinite(spacing) && spacing > 0.0;
  PetscFunctionBegin;
  for (int i = 0; i < n; ++i) is_good = is_good && isfinite(length[i]) && length[i] > 0.0;
  PetscCheck(is_good, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "a tetrahedral mesh of a %s needs finite, positive sizes and a positive spacing", what);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode check_bricks(double n_bricks, double spacing)
{
  PetscFunctionBegin;
  PetscCheck(5.0 * n_bricks <= MAX_TETS, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "the mesh would need %.0f tetrahedra at spacing %g m (at most %d): choose a larger spacing", 5.0 * n_bricks, spacing,
             MAX_TETS);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Corner c of a brick is (c & 1, c >> 1 & 1, c >> 2) in its right-handed axes. */
static void add_brick(tet_mesh *m, int64_t *at, const int64_t v[8], bool first_is_odd)
{
  static const int middle[2][4] = {{0, 5, 3, 6}, {1, 2, 4, 7}};
  int32_t         *tet          = &m->tet[4 * (*at)];
  for (int i = 0; i < 4; ++i) *tet++ = (int32_t)v[middle[first_is_odd][i]];
  for (int c = 0; c < 8; ++c) {
    /* an odd number of axes points backwards from this corner: mirrored orientation */
    const int turned = (c ^ c >> 1 ^ c >> 2) & 1;
    if (turned == first_is_odd) continue;
    *tet++ = (int32_t)v[c];
    *tet++ = (int32_t)v[c ^ (turned ? 2 : 1)];
    *tet++ = (int32_t)v[c ^ (turned ? 1 : 2)];
    *tet++ = (int32_t)v[c ^ 4];
  }
  *at += 5;
}

static PetscErrorCode tet_mesh_primitives_finish(tet_mesh *m, tet_mesh **out)
{
  PetscFunctionBegin;
  const PetscErrorCode code = tet_mesh_finish(m);
  if (code) tet_mesh_destroy(&m);
  PetscCall(code);
  *out = m;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- box ---- */

PetscErrorCode tet_mesh_box(const double min[3], const double max[3], double spacing, tet_mesh **out)
{
  tet_mesh *m = NULL;
  double    size[3], cells[3];
  int64_t   n[3], at = 0;
  PetscFunctionBegin;
  v3_sub(size, max, min);
  PetscCall(check_sizes("box", 3, size, spacing));
  for (int k = 0; k < 3; ++k) cells[k] = fmax(1.0, ceil(size[k] / spacing - 1e-9));
  PetscCall(check_bricks(cells[0] * cells[1] * cells[2], spacing));
  for (int k = 0; k < 3; ++k) n[k] = (int64_t)cells[k];
  PetscCall(tet_mesh_create((n[0] + 1) * (n[1] + 1) * (n[2] + 1), 5 * n[0] * n[1] * n[2], &m));
#define POINT(i, j, k) (((i) * (n[1] + 1) + (j)) * (n[2] + 1) + (k))
  for (int64_t i = 0; i <= n[0]; ++i)
    for (int64_t j = 0; j <= n[1]; ++j)
      for (int64_t k = 0; k <= n[2]; ++k) {
        const int64_t l[3] = {i, j, k};
        for (int q = 0; q < 3; ++q) m->x[3 * POINT(i, j, k) + q] = l[q] == n[q] ? max[q] : min[q] + size[q] * (double)l[q] / (double)n[q];
      }
  for (int64_t i = 0; i < n[0]; ++i)
    for (int64_t j = 0; j < n[1]; ++j)
      for (int64_t k = 0; k < n[2]; ++k) {
        int64_t v[8];
        for (int c = 0; c < 8; ++c) v[c] = POINT(i + (c & 1), j + (c >> 1 & 1), k + (c >> 2));
        add_brick(m, &at, v, (i + j + k) % 2);
      }
#undef POINT
  PetscCall(tet_mesh_primitives_finish(m, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- round solids ---- */

/* For s in the square or cube [-1, 1]^dim: its position in the inner block of a solid of radius 1, and the intersection of the ray
 * through it with the circle or sphere. The angles on the circle or sphere are equally spaced along every side. */
static void block_point(int dim, const double *s, double half, double bulge, double *inner, double *round)
{
  double rho = 0.0, length = 0.0;
  for (int k = 0; k < dim; ++k) rho = fmax(rho, fabs(s[k]));
  for (int k = 0; k < dim; ++k) {
    round[k] = rho > 0.0 ? tan(0.25 * M_PI * s[k] / rho) : 0.0;
    length += round[k] * round[k];
  }
  length = sqrt(length);
  for (int k = 0; k < dim; ++k) {
    round[k] = length > 0.0 ? round[k] / length : 0.0;
    inner[k] = half * ((1.0 - bulge * rho) * s[k] + bulge * rho * rho * round[k]);
  }
}

static void counts_of_block(double radius, double spacing, double half, double *side, double *layers)
{
  *side   = fmax(2.0, ceil(0.5 * M_PI * radius / spacing - 1e-9)); /* with one brick per side the layers would be too flat */
  *layers = fmax(1.0, floor((1.0 - half) / (1.45 / *side) + 0.5));
}

/* A disc of radius 1 in counter-clockwise quadrilaterals; is_odd is the chessboard colour of a point. */
typedef struct {
  int64_t  n_points, n_quads;
  double  *x;      /* [n_points][2] */
  bool    *is_odd; /* [n_points] */
  int32_t *quad;   /* [n_quads][4] */
} disc;

static void disc_free(disc *d) { MEMORY_FREE(&d->x, &d->is_odd, &d->quad); }

/* Point q of the 4 n around the square, counter-clockwise from corner (0, 0): lattice coordinates. */
static void square_border(int64_t n, int64_t q, int64_t *i, int64_t *j)
{
  const int64_t side = q / n, along = q % n;
  *i = side == 0 ? along : side == 1 ? n : side == 2 ? n - along : 0;
  *j = side == 0 ? 0 : side == 1 ? along : side == 2 ? n : n - along;
}

static void disc_fill(disc *d, int64_t n, int64_t layers)
{
  const int64_t square = (n + 1) * (n + 1);
  int64_t       at     = 0;
  double        round[2];
  for (int64_t i = 0; i <= n; ++i)
    for (int64_t j = 0; j <= n; ++j) {
      const double  s[2] = {2.0 * (double)i / (double)n - 1.0, 2.0 * (double)j / (double)n - 1.0};
      const int64_t p    = i * (n + 1) + j;
      block_point(2, s, SQUARE_HALF, SQUARE_BULGE, &d->x[2 * p], round);
      d->is_odd[p] = (i + j) % 2;
      if (i == n || j == n) continue;
      const int32_t quad[4] = {(int32_t)p, (int32_t)(p + n + 1), (int32_t)(p + n + 2), (int32_t)(p + 1)};
      memcpy(&d->quad[4 * at++], quad, sizeof quad);
    }
#define RING(l, q) ((l) == 0 ? border[(q) % (4 * n) == (q0) % (4 * n) ? 0 : 1] : square + ((l)-1) * 4 * n + (q) % (4 * n))
  for (int64_t q0 = 0; q0 < 4 * n; ++q0) {
    int64_t i, j, border[2];
    for (int k = 1; k >= 0; --k) square_border(n, (q0 + k) % (4 * n), &i, &j), border[k] = i * (n + 1) + j;
    const double s[2] = {2.0 * (double)i / (double)n - 1.0, 2.0 * (double)j / (double)n - 1.0};
    double       inner[2];
    block_point(2, s, SQUARE_HALF, SQUARE_BULGE, inner, round);
    for (int64_t l = 1; l <= layers; ++l) {
      const int64_t p = RING(l, q0);
      const double  w = (double)l / (double)layers;
      for (int k = 0; k < 2; ++k) d->x[2 * p + k] = l == layers ? round[k] : (1.0 - w) * inner[k] + w * round[k];
      d->is_odd[p]          = (i + j + l) % 2;
      const int32_t quad[4] = {(int32_t)RING(l - 1, q0), (int32_t)p, (int32_t)RING(l, q0 + 1), (int32_t)RING(l - 1, q0 + 1)};
      memcpy(&d->quad[4 * at++], quad, sizeof quad);
    }
  }
#undef RING
}

static PetscErrorCode disc_create(int64_t n, int64_t layers, disc *d)
{
  PetscFunctionBegin;
  *d = (disc){.n_points = (n + 1) * (n + 1) + 4 * n * layers, .n_quads = n * n + 4 * n * layers};
  PetscCall(MEMORY_ALLOC("disc", ARRAY(d->x, 2 * d->n_points), ARRAY(d->is_odd, d->n_points), ARRAY(d->quad, 4 * d->n_quads)));
  disc_fill(d, n, layers);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bricks between n copies of the disc in a row; if is_ring (n even), also between the last and the first. Points are numbered copy
 * by copy. */
static void stack_discs(const disc *d, int64_t n, bool is_ring, tet_mesh *m)
{
  int64_t at = 0;
  for (int64_t l = 0; l + !is_ring < n; ++l)
    for (int64_t q = 0; q < d->n_quads; ++q) {
      const int32_t *p   = &d->quad[4 * q];
      const int64_t  low = l * d->n_points, high = (l + 1) % n * d->n_points;
      const int64_t  v[8] = {low + p[0], low + p[1], low + p[3], low + p[2], high + p[0], high + p[1], high + p[3], high + p[2]};
      add_brick(m, &at, v, d->is_odd[p[0]] ^ (l & 1));
    }
}

/* Normalise a and compute unit vectors e1, e2 with (e1, e2, a) right-handed. */
static void frame_of_axis(const double *axis, double *a, double *e1, double *e2)
{
  int k = 0;
  v3_scale(a, 1.0 / v3_norm(axis), axis);
  for (int i = 1; i < 3; ++i)
    if (fabs(a[i]) < fabs(a[k])) k = i;
  for (int i = 0; i < 3; ++i) e1[i] = (i == k) - a[k] * a[i];
  v3_scale(e1, 1.0 / v3_norm(e1), e1);
  v3_cross(e2, a, e1);
}

PetscErrorCode tet_mesh_cylinder(const double a[3], const double b[3], double radius, double spacing, tet_mesh **out)
{
  tet_mesh *m = NULL;
  disc      d = {0};
  double    along[3], axis[3], e1[3], e2[3], side, layers;
  PetscFunctionBegin;
  v3_sub(along, b, a);
  const double size[2] = {radius, v3_norm(along)};
  PetscCall(check_sizes("cylinder", 2, size, spacing));
  counts_of_block(radius, spacing, SQUARE_HALF, &side, &layers);
  const double up = fmax(1.0, ceil(size[1] / spacing - 1e-9));
  PetscCall(check_bricks(side * (side + 4.0 * layers) * up, spacing));
  frame_of_axis(along, axis, e1, e2);
  const int64_t n = (int64_t)up + 1;
  PetscCall(disc_create((int64_t)side, (int64_t)layers, &d));
  PetscCall(tet_mesh_create(n * d.n_points, 5 * (n - 1) * d.n_quads, &m));
  for (int64_t l = 0; l < n; ++l)
    for (int64_t p = 0; p < d.n_points; ++p)
      for (int k = 0; k < 3; ++k)
        m->x[3 * (l * d.n_points + p) + k] = a[k] + along[k] * (double)l / up + radius * (d.x[2 * p] * e1[k] + d.x[2 * p + 1] * e2[k]);
  stack_discs(&d, n, false, m);
  disc_free(&d);
  PetscCall(tet_mesh_primitives_finish(m, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tet_mesh_torus(const double center[3], const double axis[3], double major, double minor, double spacing, tet_mesh **out)
{
  tet_mesh *m = NULL;
  disc      d = {0};
  double    a[3], e1[3], e2[3], side, layers;
  PetscFunctionBegin;
  const double size[4] = {major, minor, v3_norm(axis), major - minor};
  PetscCall(check_sizes("torus (the minor radius below the major one)", 4, size, spacing));
  counts_of_block(minor, spacing, SQUARE_HALF, &side, &layers);
  const double around = 2.0 * fmax(5.0, ceil(M_PI * major / spacing - 1e-9)); /* even, so that the chessboard colouring closes */
  PetscCall(check_bricks(side * (side + 4.0 * layers) * around, spacing));
  frame_of_axis(axis, a, e1, e2);
  const int64_t n = (int64_t)around;
  PetscCall(disc_create((int64_t)side, (int64_t)layers, &d));
  PetscCall(tet_mesh_create(n * d.n_points, 5 * n * d.n_quads, &m));
  for (int64_t l = 0; l < n; ++l) {
    const double angle = 2.0 * M_PI * (double)l / around;
    double       e[3];
    for (int k = 0; k < 3; ++k) e[k] = cos(angle) * e1[k] + sin(angle) * e2[k];
    /* disc coordinates: outward, then against the axis; with the direction of rotation they are right-handed */
    for (int64_t p = 0; p < d.n_points; ++p)
      for (int k = 0; k < 3; ++k)
        m->x[3 * (l * d.n_points + p) + k] = center[k] + (major + minor * d.x[2 * p]) * e[k] - minor * d.x[2 * p + 1] * a[k];
  }
  stack_discs(&d, n, true, m);
  disc_free(&d);
  PetscCall(tet_mesh_primitives_finish(m, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- ball: a cube of bricks, and layers on its sides ---- */

typedef struct {
  int64_t  n, layers, n_border; /* bricks per side, layers, points on the surface of the cube: 6 n^2 + 2 */
  int32_t *border;              /* [(n + 1)^3] number of a point among those on the cube's surface */
} ball;

static int64_t ball_point(const ball *b, int64_t layer, const int64_t l[3])
{
  const int64_t p = (l[0] * (b->n + 1) + l[1]) * (b->n + 1) + l[2];
  return layer == 0 ? p : (b->n + 1) * (b->n + 1) * (b->n + 1) + (layer - 1) * b->n_border + b->border[p];
}

static void ball_points(const ball *b, const double center[3], double radius, tet_mesh *m)
{
  const int64_t n = b->n;
  int64_t       l[3];
  for (l[0] = 0; l[0] <= n; ++l[0])
    for (l[1] = 0; l[1] <= n; ++l[1])
      for (l[2] = 0; l[2] <= n; ++l[2]) {
        double s[3], inner[3], round[3];
        bool   is_border = false;
        for (int k = 0; k < 3; ++k) s[k] = 2.0 * (double)l[k] / (double)n - 1.0, is_border = is_border || l[k] == 0 || l[k] == n;
        block_point(3, s, CUBE_HALF, CUBE_BULGE, inner, round);
        for (int64_t layer = 0; layer <= (is_border ? b->layers : 0); ++layer) {
          const double w = (double)layer / (double)b->layers;
          double      *x = &m->x[3 * ball_point(b, layer, l)];
          for (int k = 0; k < 3; ++k) x[k] = center[k] + radius * (layer == b->layers ? round[k] : (1.0 - w) * inner[k] + w * round[k]);
        }
      }
}

static void ball_bricks(const ball *b, tet_mesh *m)
{
  const int64_t n  = b->n;
  int64_t       at = 0, l[3], v[8];
  for (l[0] = 0; l[0] < n; ++l[0])
    for (l[1] = 0; l[1] < n; ++l[1])
      for (l[2] = 0; l[2] < n; ++l[2]) {
        for (int c = 0; c < 8; ++c) v[c] = ball_point(b, 0, (int64_t[]){l[0] + (c & 1), l[1] + (c >> 1 & 1), l[2] + (c >> 2)});
        add_brick(m, &at, v, (l[0] + l[1] + l[2]) % 2);
      }
  for (int side = 0; side < 6; ++side) { /* axes u, w of this side and the outward direction are right-handed */
    const int axis = side / 2, u = (axis + 1 + side % 2) % 3, w = (axis + 2 - side % 2) % 3;
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j)
        for (int64_t layer = 0; layer < b->layers; ++layer) {
          for (int c = 0; c < 8; ++c) {
            l[axis] = side % 2 ? 0 : n, l[u] = i + (c & 1), l[w] = j + (c >> 1 & 1);
            v[c] = ball_point(b, layer + (c >> 2), l);
          }
          add_brick(m, &at, v, ((side % 2 ? 0 : n) + i + j + layer) % 2);
        }
  }
}

PetscErrorCode tet_mesh_sphere(const double center[3], double radius, double spacing, tet_mesh **out)
{
  tet_mesh *m = NULL;
  ball      b = {0};
  double    side, layers;
  PetscFunctionBegin;
  PetscCall(check_sizes("sphere", 1, &radius, spacing));
  counts_of_block(radius, spacing, CUBE_HALF, &side, &layers);
  PetscCall(check_bricks(side * side * (side + 6.0 * layers), spacing));
  b.n = (int64_t)side, b.layers = (int64_t)layers;
  const int64_t n = b.n, n_cube = (n + 1) * (n + 1) * (n + 1);
  PetscCall(memory_alloc("ball", n_cube, sizeof *b.border, &b.border));
  for (int64_t p = 0; p < n_cube; ++p) {
    const int64_t i = p / ((n + 1) * (n + 1)), j = p / (n + 1) % (n + 1), k = p % (n + 1);
    if (i % n == 0 || j % n == 0 || k % n == 0) b.border[p] = (int32_t)b.n_border++;
  }
  PetscCall(tet_mesh_create(n_cube + b.layers * b.n_border, 5 * n * n * (n + 6 * b.layers), &m));
  ball_points(&b, center, radius, m);
  ball_bricks(&b, m);
  memory_free(&b.border);
  PetscCall(tet_mesh_primitives_finish(m, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ==== graded sphere ==== */

/* Conformal map of the unit ball onto itself that concentrates vertices at the pole e:
 *
 *   y = [ (1 + 2 a.x + x.x) a + (1 - a.a) x ] / (1 + 2 a.x + a.a x.x)         a = t e, t = (f - 1) / (f + 1), f the grading factor
 *
 * It moves the centre to a. Lengths near x are scaled by (1 - a.a) / (1 + 2 a.x + a.a x.x), which is 1/f at e and f at -e. */
PetscErrorCode tet_mesh_grade_sphere(const double center[3], double radius, const double direction[3], double factor, tet_mesh *m)
{
  const double length = v3_norm(direction), t = (factor - 1.0) / (factor + 1.0);
  double       a[3];
  PetscFunctionBegin;
  PetscCheck(length > 0.0 && isfinite(length) && isfinite(factor) && factor >= 1.0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "a graded sphere needs a direction that is not zero and a factor of at least 1");
  v3_scale(a, t / length, direction);
  for (int64_t i = 0; i < m->n_vertices; ++i) {
    double x[3], y[3], *const p = &m->x[3 * i];
    v3_sub(x, p, center);
    v3_scale(x, 1.0 / radius, x);
    const double ax = v3_dot(a, x), xx = v3_dot(x, x), below = 1.0 + 2.0 * ax + t * t * xx;
    v3_scale(y, (1.0 - t * t) / below, x);
    v3_axpy(y, (1.0 + 2.0 * ax + xx) / below, a);
    v3_copy(p, center);
    v3_axpy(p, radius, y);
  }
  PetscCall(tet_mesh_finish(m));
  PetscFunctionReturn(PETSC_SUCCESS);
}
