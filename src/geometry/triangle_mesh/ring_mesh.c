/* Implementation: tables of length and area along the meridian, numbers of vertices of the rings, zones of equal area per vertex, and strips of
 * triangles between neighbouring rings. */
#include "geometry/triangle_mesh/ring_mesh.h"
#include "core/math3.h"
#include "core/memory.h"

enum { MAX_VERTICES = 10000000, TABLE = 1024, SECTORS = 64 };

/* Integrals from 0 to t = k/TABLE along the meridian of a piece: its length (mean over the angle) [m], and area [m^2]. */
typedef struct {
  double length[TABLE + 1], area[TABLE + 1];
} meridian;

typedef struct {
  int     piece;
  double  t;
  int64_t n, first; /* vertices; 1: a pole */
} ring;

/* ---- tables ---------------------------------------------------------------------------------------------------------- */

/* Mean over the angle of |x_t|, and integral of the area element at t. */
static void densities(const ring_surface *s, int piece, double t, double *length, double *area)
{
  const int n = s->is_revolution ? 1 : SECTORS;
  *length = *area = 0.0;
  for (int k = 0; k < n; ++k) {
    double x[3], x_t[3], x_angle[3], normal[3];
    s->point(s->context, piece, t, 2.0 * M_PI * (k + 0.5) / n, x, x_t, x_angle);
    v3_cross(normal, x_angle, x_t);
    *length += v3_norm(x_t) / n;
    *area += 2.0 * M_PI * v3_norm(normal) / n;
  }
}

static void tabulate(const ring_surface *s, int piece, meridian *m)
{
  m->length[0] = m->area[0] = 0.0;
  for (int k = 0; k < TABLE; ++k) {
    double length, area;
    densities(s, piece, (k + 0.5) / TABLE, &length, &area);
    m->length[k + 1] = m->length[k] + length / TABLE;
    m->area[k + 1]   = m->area[k] + area / TABLE;
  }
}

/* Linear interpolation of y at value v of the increasing table x [TABLE + 1]; y NULL: of k/TABLE. */
static double look_up(const double *x, const double *y, double v)
{
  int low = 0, high = TABLE;
  while (high - low > 1) {
    const int mid = (low + high) / 2;
    if (x[mid] <= v) low = mid;
    else high = mid;
  }
  const double f = x[high] > x[low] ? fmin(fmax((v - x[low]) / (x[high] - x[low]), 0.0), 1.0) : 0.0;
  return y ? y[low] + f * (y[high] - y[low]) : (low + f) / TABLE;
}

/* ---- rings ----------------------------------------------------------------------------------------------------------- */

/* Length of the ring at t = end, 0 or 1, of a piece; 0: a pole. Only for surfaces of revolution, or poles. */
static double circumference(const ring_surface *s, int piece, double end)
{
  double x[3], x_t[3], x_angle[3];
  s->point(s->context, piece, end, 0.0, x, x_t, x_angle);
  return 2.0 * M_PI * v3_norm(x_angle);
}

/* Number of vertices of this ring; 1: a pole. A multiple of six, because flat caps have 6 j vertices in ring j, a pattern of nearly equilateral
 * triangles. */
static int64_t count_at_end(const ring_surface *s, int piece, double end, double spacing)
{
  const double around = circumference(s, piece, end);
  return around < 1e-9 * spacing ? 1 : 6 * (int64_t)fmax(1.0, round(around / (6.0 * spacing)));
}

/* Number of intervals between the rings of a piece: a flat cap has one per six vertices of its edge. */
static int64_t count_intervals(const ring_surface *s, int piece, const meridian *m, double spacing)
{
  const double  least = s->is_closed ? 3.0 : s->n_pieces == 1 ? 2.0 : 1.0, length = m->length[TABLE];
  const int64_t own = (int64_t)fmax(least, ceil(length / spacing - 1e-9));
  if (s->is_closed) return own;
  const double low = circumference(s, piece, 0.0), high = circumference(s, piece, 1.0);
  const bool   is_cap = fabs(fabs(high - low) - 2.0 * M_PI * length) < 1e-9 * length && fmin(low, high) < 1e-9 * spacing;
  return is_cap ? count_at_end(s, piece, low < high ? 1.0 : 0.0, spacing) / 6 : own;
}

/* Area of the piece between two lengths along the meridian; closed pieces continue beyond their ends. */
static double area_between(const meridian *m, double from, double to)
{
  const double L = m->length[TABLE], A = m->area[TABLE];
  const double a = floor(from / L), b = floor(to / L);
  return (b - a) * A + look_up(m->length, m->area, to - b * L) - look_up(m->length, m->area, from - a * L);
}

/* Set n of the rings 0 ... n_intervals of a piece; the first and the last one of an open piece are given. Vertices along a ring are about as far apart as
 * on the edges of the piece. */
static void count_vertices(const ring_surface *s, int piece, const meridian *m, int64_t n_intervals, double spacing, ring *r)
{
  const double step = m->length[TABLE] / (double)n_intervals;
  double       low = spacing, high = spacing; /* distances on the edges */
  if (!s->is_closed && r[0].n > 1) low = circumference(s, piece, 0.0) / (double)r[0].n;
  if (!s->is_closed && r[n_intervals].n > 1) high = circumference(s, piece, 1.0) / (double)r[n_intervals].n;
  if (!s->is_closed && r[0].n == 1) low = high;
  if (!s->is_closed && r[n_intervals].n == 1) high = low;
  for (int64_t j = s->is_closed ? 0 : 1; j < n_intervals; ++j) {
    const double area = area_between(m, ((double)j - 0.5) * step, ((double)j + 0.5) * step), f = (double)j / (double)n_intervals;
    r[j].n = (int64_t)fmax(3.0, round(area / (step * (low + f * (high - low)))));
  }
}

/* Cells of a ring in its piece. The cell of a pole between five or six neighbours is a polygon smaller than its zone, a disc. */
static double ring_share(const ring *r, bool is_end)
{
  static const double POLE = 1.25;
  return !is_end ? (double)r->n : r->n > 1 ? 0.5 * (double)r->n : POLE;
}

/* Area of the piece outside the polygon of a ring on its edge at t = end, 0 or 1: n segments of a circle, projected on the piece. */
static double area_outside(const ring_surface *s, int piece, double end, const meridian *m, int64_t n)
{
  static const double NEAR = 1e-3; /* for the slope of the radius by difference */
  double              x[3], x_t[3], x_angle[2][3];
  if (n == 1) return 0.0;
  s->point(s->context, piece, end, 0.0, x, x_t, x_angle[0]);
  s->point(s->context, piece, fabs(end - NEAR), 0.0, x, x_t, x_angle[1]);
  const double radius = v3_norm(x_angle[0]), slope = (radius - v3_norm(x_angle[1])) / (NEAR * m->length[TABLE]);
  return slope * radius * radius * (M_PI - 0.5 * (double)n * sin(2.0 * M_PI / (double)n));
}

/* Set t of the interior rings of a piece: the middle of zones whose area is proportional to n. */
static void place_rings(const ring_surface *s, int piece, const meridian *m, int64_t n_intervals, ring *r)
{
  const double  L = m->length[TABLE], A = m->area[TABLE];
  const bool    is_open = !s->is_closed;
  const int64_t last    = is_open ? n_intervals : n_intervals - 1;
  double        all = 0.0, sum = is_open ? 0.0 : -0.5 * (double)r[0].n, before = 0.0;
  for (int64_t j = 0; j <= last; ++j) all += ring_share(&r[j], is_open && (j == 0 || j == last));
  const double low  = is_open ? area_outside(s, piece, 0.0, m, r[0].n) : 0.0,
               high = is_open ? area_outside(s, piece, 1.0, m, r[last].n) : 0.0, cell = (A - low - high) / all;
  if (!is_open) before = look_up(m->area, m->length, A + cell * sum) - L;
  for (int64_t j = 0; j <= last; ++j) {
    sum += ring_share(&r[j], is_open && (j == 0 || j == last));
    const double after = look_up(m->area, m->length, fmin(A, low + cell * sum)), middle = 0.5 * (before + after);
    if (!is_open || (j > 0 && j < last)) r[j].t = look_up(m->length, NULL, middle < 0.0 ? middle + L : middle);
    before = after;
  }
}

/* ---- vertices -------------------------------------------------------------------------------------------------------- */

/* Angles of the vertices of a ring, which divide its area element equally. start: of the first vertex, in turns around the axis. */
static void find_angles(const ring_surface *s, const ring *r, double start, double *angle)
{
  double sum[TABLE + 1];
  if (s->is_revolution) {
    for (int64_t i = 0; i < r->n; ++i) angle[i] = 2.0 * M_PI * (start + (double)i / (double)r->n);
    return;
  }
  sum[0] = 0.0;
  for (int k = 0; k < TABLE; ++k) {
    double x[3], x_t[3], x_angle[3], normal[3];
    s->point(s->context, r->piece, r->t, 2.0 * M_PI * (k + 0.5) / TABLE, x, x_t, x_angle);
    v3_cross(normal, x_angle, x_t);
    sum[k + 1] = sum[k] + v3_norm(normal);
  }
  for (int64_t i = 0; i < r->n; ++i) angle[i] = 2.0 * M_PI * look_up(sum, NULL, sum[TABLE] * (start + (double)i / (double)r->n));
}

static void add_triangle(triangle_mesh *m, int64_t *at, int64_t a, int64_t b, int64_t c)
{
  m->tri[(*at)++] = (int32_t)a;
  m->tri[(*at)++] = (int32_t)b;
  m->tri[(*at)++] = (int32_t)c;
}

/* Angle of vertex i of a ring, i may exceed n by less than n. */
static double angle_at(const ring *r, const double *angle, int64_t i)
{
  return i < r->n ? angle[r->first + i] : angle[r->first + i - r->n] + 2.0 * M_PI;
}

/* The strip of triangles between ring a and the next ring b. At each step the shorter diagonal is chosen. */
static void join_rings(const ring *a, const ring *b, const double *angle, triangle_mesh *m, int64_t *at)
{
  int64_t i = 0, j = 0, j0 = 0;
  if (a->n == 1 || b->n == 1) {
    const ring *round = a->n == 1 ? b : a;
    for (int64_t k = 0; k < round->n; ++k) {
      const int64_t p = round->first + k, q = round->first + (k + 1) % round->n;
      if (a->n == 1) add_triangle(m, at, a->first, q, p);
      else add_triangle(m, at, b->first, p, q);
    }
    return;
  }
  const double start = angle[a->first]; /* the vertex of b nearest to that of a */
  double       least = INFINITY;
  for (int64_t k = 0; k < b->n; ++k) {
    double d = fabs(remainder(angle[b->first + k] - start, 2.0 * M_PI));
    if (d < least) least = d, j0 = k;
  }
  const double turn = 2.0 * M_PI * round((angle[b->first + j0] - start) / (2.0 * M_PI));
  while (i < a->n || j < b->n) {
    const double ai = angle_at(a, angle, i), bj = angle_at(b, angle, j0 + j) - turn;
    bool         along_a = j == b->n;
    if (i < a->n && j < b->n) {
      const double to_a = fabs(angle_at(a, angle, i + 1) - bj), to_b = fabs(angle_at(b, angle, j0 + j + 1) - turn - ai);
      along_a = to_a <= to_b;
    }
    const int64_t p = a->first + i % a->n, q = b->first + (j0 + j) % b->n;
    if (along_a) add_triangle(m, at, p, a->first + (i + 1) % a->n, q), ++i;
    else add_triangle(m, at, p, b->first + (j0 + j + 1) % b->n, q), ++j;
  }
}

/* ---- the surface ----------------------------------------------------------------------------------------------------- */

/* Compute the rings of vertices of all pieces in order. Two neighbouring pieces share the ring on the sharp edge between them. Returns the
 * number of rings; with rings = NULL, only this number is computed. */
static int64_t list_rings(const ring_surface *s, double spacing, meridian *m, ring *rings)
{
  int64_t at = 0; /* first ring of the piece */
  for (int i = 0; i < s->n_pieces; ++i) {
    tabulate(s, i, m);
    const int64_t n = count_intervals(s, i, m, spacing);
    if (rings) {
      for (int64_t j = i == 0 || s->is_closed ? 0 : 1; j < n + !s->is_closed; ++j)
        rings[at + j] = (ring){.piece = i, .t = (double)j / (double)n};
      if (!s->is_closed) {
        if (i == 0) rings[at].n = count_at_end(s, i, 0.0, spacing);
        rings[at + n].n = count_at_end(s, i, 1.0, spacing);
      }
      count_vertices(s, i, m, n, spacing, rings + at);
      place_rings(s, i, m, n, rings + at);
    }
    at += n;
  }
  return at + !s->is_closed;
}

static PetscErrorCode fill(const ring_surface *s, int64_t n_rings, const ring *r, triangle_mesh *m)
{
  double *angle, start = 0.0;
  int64_t at = 0;
  PetscFunctionBegin;
  PetscCall(memory_alloc("rings", m->n_vertices, sizeof *angle, &angle));
  for (int64_t i = 0; i < n_rings; ++i) {
    /* between the vertices of an equal ring; the first vertices of other rings lie on one meridian, which aligns the sectors of caps */
    if (i > 0 && r[i].n == r[i - 1].n) start = fmod(start + 0.5 / (double)r[i].n, 1.0 / (double)r[i].n);
    find_angles(s, &r[i], start, angle + r[i].first);
    for (int64_t k = r[i].first; k < r[i].first + r[i].n; ++k) {
      double unused[2][3];
      s->point(s->context, r[i].piece, r[i].t, angle[k], &m->x[3 * k], unused[0], unused[1]);
    }
  }
  for (int64_t i = 0; i + !s->is_closed < n_rings; ++i) join_rings(&r[i], &r[(i + 1) % n_rings], angle, m, &at);
  SS_ASSERT(at == 3 * m->n_triangles);
  memory_free(&angle);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode check_size(const ring_surface *s, double spacing, meridian *m)
{
  double area = 0.0, length = 0.0;
  PetscFunctionBegin;
  for (int i = 0; i < s->n_pieces; ++i) tabulate(s, i, m), area += m->area[TABLE], length += m->length[TABLE];
  const double n = area / (spacing * spacing) + length / spacing;
  PetscCheck(n <= MAX_VERTICES, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "the surface would need %.0f vertices (at most %d): choose a larger surface spacing", n, MAX_VERTICES);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ring_mesh_create(const ring_surface *s, double spacing, triangle_mesh **out)
{
  meridian *m;
  ring     *r          = NULL;
  int64_t   n_vertices = 0, n_triangles = 0;
  PetscFunctionBegin;
  PetscCall(memory_alloc("meridian", 1, sizeof *m, &m));
  PetscErrorCode code = check_size(s, spacing, m);
  if (!code) {
    const int64_t n = list_rings(s, spacing, m, NULL);
    code            = memory_alloc("rings", n, sizeof *r, &r);
    if (!code) {
      (void)list_rings(s, spacing, m, r);
      for (int64_t i = 0; i < n; ++i) {
        r[i].first = n_vertices;
        n_vertices += r[i].n;
        if (i + 1 < n || s->is_closed) n_triangles += (r[i].n > 1 ? r[i].n : 0) + (r[(i + 1) % n].n > 1 ? r[(i + 1) % n].n : 0);
      }
      code = triangle_mesh_create(n_vertices, n_triangles, out);
      if (!code) code = fill(s, n, r, *out);
    }
  }
  MEMORY_FREE(&m, &r);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
