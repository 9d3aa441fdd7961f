/* Implementation: adaptive quadrature of high order [Saye2015].
 *
 * Cells of a cubic grid that do not contain the surface are entirely inside or outside. In all other cells, lines are placed at the Gauss
 * points of two directions; they run along the third, which is closest to the surface normal. The ends of the inside part of a line are
 * computed by root search, and the moments along the line are integrated exactly. As a function of the two other directions, the
 * length of the inside part has kinks where the surface leaves the cell through the faces at the ends of the lines. These kinks are
 * found as roots on the faces and edges of the cell, and the Gauss rule is applied between them, so that smooth surfaces are
 * integrated with high order. Cells that contain a sharp edge of the shape are subdivided further; there are few of them.
 * In each block, unions and intersections are evaluated without the shapes that are too far away to form the surface there
 * (level_set_within). */
#include "geometry/level_set/level_set_mass.h"
#include "core/math3.h"

enum { MAX_GAUSS = 4, MAX_PIECES = 4, EDGE_LEVELS = 4 };

/* Quadrature rule of a cell: Gauss points per direction and interval, and number of intervals that are searched for one root each.
 * Cells at sharp edges use fewer points, because they are small. */
typedef struct {
  int    n_gauss, n_pieces;
  double point[MAX_GAUSS], weight[MAX_GAUSS];
} cell_rule;
static const cell_rule RULE_SMOOTH = {4,
                                      4,
                                      {0.06943184420297371, 0.33000947820757187, 0.66999052179242813, 0.93056815579702629},
                                      {0.17392742256872693, 0.32607257743127307, 0.32607257743127307, 0.17392742256872693}};
static const cell_rule RULE_EDGE   = {2, 2, {0.21132486540518712, 0.78867513459481288}, {0.5, 0.5}};

/* Integrals of 1, x_k and x_i x_j (xx yy zz yz xz xy); positions relative to the centre of the bounds. */
typedef struct {
  double m[10];
} moments;

static void add_products(moments *q, double volume, const double *x)
{
  q->m[0] += volume;
  for (int k = 0; k < 3; ++k) q->m[1 + k] += volume * x[k], q->m[4 + k] += volume * x[k] * x[k];
  q->m[7] += volume * x[1] * x[2], q->m[8] += volume * x[0] * x[2], q->m[9] += volume * x[0] * x[1];
}

static void add_cube(moments *q, const double *corner, double h)
{
  double c[3];
  for (int k = 0; k < 3; ++k) c[k] = corner[k] + 0.5 * h;
  add_products(q, h * h * h, c);
  for (int k = 0; k < 3; ++k) q->m[4 + k] += h * h * h * h * h / 12.0;
}

/* Add the part from a to b of a line along `axis` through x, with cross-section `area`. */
static void add_segment(moments *q, const double *x, int axis, double a, double b, double area)
{
  double c[3];
  v3_copy(c, x);
  c[axis] = 0.5 * (a + b);
  add_products(q, area * (b - a), c);
  q->m[4 + axis] += area * (b - a) * (b - a) * (b - a) / 12.0;
}

typedef struct {
  const level_set *phi;
  double           origin[3]; /* origin of the relative positions */
} integrand;

static double value_at(const integrand *f, const double *x)
{
  double y[3];
  v3_add(y, f->origin, x);
  return level_set_value(f->phi, y);
}

/* Value with the sign of phi */
static double implicit_at(const integrand *f, const double *x)
{
  double y[3];
  v3_add(y, f->origin, x);
  return level_set_implicit(f->phi, y);
}

/* Root of phi along an axis in [a, b] with phi(a) phi(b) < 0, by the Illinois variant of the secant method. */
static double root_along(const integrand *f, double *x, int axis, double a, double fa, double b, double fb, double tolerance)
{
  for (int i = 0; i < 60 && fabs(b - a) > tolerance; ++i) {
    const double t = (a * fb - b * fa) / (fb - fa);
    x[axis]        = t;
    const double v = implicit_at(f, x);
    if (fabs(v) <= 1e-3 * tolerance) return t;
    if ((v < 0.0) != (fb < 0.0)) a = b, fa = fb;
    else fa *= 0.5;
    b = t, fb = v;
  }
  return b;
}

static void add_line(moments *q, const integrand *f, int n_pieces, double *x, int axis, double from, double h, double area)
{
  double a  = from;
  x[axis]   = a;
  double fa = implicit_at(f, x);
  for (int i = 1; i <= n_pieces; ++i) {
    const double b  = from + h * (double)i / n_pieces;
    x[axis]         = b;
    const double fb = implicit_at(f, x);
    if (fa < 0.0 && fb < 0.0) add_segment(q, x, axis, a, b, area);
    else if ((fa < 0.0) != (fb < 0.0)) {
      const double r = root_along(f, x, axis, a, fa, b, fb, 1e-13 * h);
      if (fa < 0.0) add_segment(q, x, axis, a, r, area);
      else add_segment(q, x, axis, r, b, area);
    }
    a = b, fa = fb;
  }
}

enum { MAX_BREAKS = 4 * MAX_PIECES + 2 };

/* Append to list[0..n) the roots of phi along an axis through `at`, from a to b. Returns the new length. */
static int add_breaks(const integrand *f, int n_pieces, const double *at, int axis, double a, double b, int n, double *list)
{
  double x[3], t0 = a;
  v3_copy(x, at);
  x[axis]   = a;
  double f0 = implicit_at(f, x);
  for (int i = 1; i <= n_pieces; ++i) {
    const double t1 = a + (b - a) * (double)i / n_pieces;
    x[axis]         = t1;
    const double f1 = implicit_at(f, x);
    if ((f0 < 0.0) != (f1 < 0.0)) list[n++] = root_along(f, x, axis, t0, f0, t1, f1, 1e-12 * (b - a));
    t0 = t1, f0 = f1;
  }
  return n;
}

static void sort_breaks(int n, double *list)
{
  for (int i = 1; i < n; ++i)
    for (int j = i; j > 0 && list[j] < list[j - 1]; --j) {
      const double swap = list[j];
      list[j] = list[j - 1], list[j - 1] = swap;
    }
}

static void add_cut_cell(moments *q, const integrand *f, const cell_rule *rule, const double *corner, double h)
{
  double c[3], g[3], x[3] = {0.0}, outer[MAX_BREAKS], inner[MAX_BREAKS];
  int    w = 0, n = 2;
  for (int k = 0; k < 3; ++k) c[k] = f->origin[k] + corner[k] + 0.5 * h;
  (void)level_set_eval(f->phi, c, g, NULL);
  for (int k = 1; k < 3; ++k)
    if (fabs(g[k]) > fabs(g[w]) * (1.0 + 1e-9)) w = k;
  const int u = (w + 1) % 3, v = (w + 2) % 3;
  outer[0] = corner[u], outer[1] = corner[u] + h;
  for (int i = 0; i < 4; ++i) {
    x[v] = corner[v] + h * (i & 1), x[w] = corner[w] + h * (i >> 1);
    n = add_breaks(f, rule->n_pieces, x, u, corner[u], corner[u] + h, n, outer);
  }
  sort_breaks(n, outer);
  for (int a = 0; a + 1 < n; ++a)
    for (int i = 0; i < rule->n_gauss && outer[a + 1] > outer[a]; ++i) {
      const double width = (outer[a + 1] - outer[a]) * rule->weight[i];
      int          m     = 2;
      x[u]               = outer[a] + (outer[a + 1] - outer[a]) * rule->point[i];
      inner[0] = corner[v], inner[1] = corner[v] + h;
      for (int s = 0; s < 2; ++s) {
        x[w] = corner[w] + h * s;
        m    = add_breaks(f, rule->n_pieces, x, v, corner[v], corner[v] + h, m, inner);
      }
      sort_breaks(m, inner);
      for (int b = 0; b + 1 < m; ++b)
        for (int j = 0; j < rule->n_gauss && inner[b + 1] > inner[b]; ++j) {
          x[v] = inner[b] + (inner[b + 1] - inner[b]) * rule->point[j];
          add_line(q, f, rule->n_pieces, x, w, corner[w], h, width * (inner[b + 1] - inner[b]) * rule->weight[j]);
        }
    }
}

/* True if the direction of the gradient varies by more than 20 degrees within the cell, more than for a smooth surface at this
 * scale. */
static bool has_edge(const integrand *f, const double *corner, double h)
{
  double x[3], g[3], g_corner[3];
  for (int k = 0; k < 3; ++k) x[k] = f->origin[k] + corner[k] + 0.5 * h;
  (void)level_set_eval(f->phi, x, g, NULL);
  for (int i = 0; i < 8; ++i) {
    for (int k = 0; k < 3; ++k) x[k] = f->origin[k] + corner[k] + h * (i >> k & 1);
    (void)level_set_eval(f->phi, x, g_corner, NULL);
    if (v3_dot(g, g_corner) < 0.94 * v3_norm(g) * v3_norm(g_corner)) return true; /* cos 20 degrees */
  }
  return false;
}

/* Integrate a block with a side of `size` cells: entirely inside, entirely outside, cut by the surface, or subdivided into eight.
 * `size` is a power of two; below 1 the cells at sharp edges are subdivided. */
static void add_block(moments *q, const integrand *all, const double *corner, double h, double size, level_set_pool *pool)
{
  double c[3], y[3];
  for (int k = 0; k < 3; ++k) c[k] = corner[k] + 0.5 * h * size;
  const double v = value_at(all, c), radius = 0.5 * sqrt(3.0) * h * size,
               reach = 1.02 * radius; /* 2 % for the errors of sampled level sets */
  if (v > reach) return;
  if (v < -reach) {
    add_cube(q, corner, h * size);
    return;
  }
  const int used  = pool->used;
  integrand block = *all, *const f = &block;
  v3_add(y, f->origin, c);
  f->phi = level_set_within(f->phi, y, radius, pool);
  if (size * (1 << EDGE_LEVELS) <= 1.0 || (size <= 1.0 && !has_edge(f, corner, h * size)))
    add_cut_cell(q, f, size >= 0.5 ? &RULE_SMOOTH : &RULE_EDGE, corner, h * size);
  else
    for (int i = 0; i < 8; ++i) {
      const double child[3] = {corner[0] + 0.5 * h * size * (i & 1), corner[1] + 0.5 * h * size * (i >> 1 & 1),
                               corner[2] + 0.5 * h * size * (i >> 2)};
      add_block(q, f, child, h, 0.5 * size, pool);
    }
  pool->used = used;
}

mass_properties level_set_mass(const level_set *phi, const double min[3], const double max[3], int cells_along_longest)
{
  enum { BLOCK = 8, MAX_BLOCKS = 64 };
  const integrand f    = {phi, {0.5 * (min[0] + max[0]), 0.5 * (min[1] + max[1]), 0.5 * (min[2] + max[2])}};
  double          size = 0.0;
  int             n[3];
  moments         part[MAX_BLOCKS], sum = {{0}};
  for (int k = 0; k < 3; ++k) size = fmax(size, max[k] - min[k]);
  int along      = (cells_along_longest + BLOCK - 1) / BLOCK;
  along          = along < 1 ? 1 : along > MAX_BLOCKS ? MAX_BLOCKS : along;
  const double h = 1.001 * size / (double)(along * BLOCK); /* so that faces of boxes do not coincide with faces of cells */
  for (int k = 0; k < 3; ++k) {
    n[k] = (int)ceil((max[k] - min[k]) / (h * BLOCK));
    n[k] = n[k] < 1 ? 1 : n[k];
  }
#pragma omp parallel for schedule(dynamic)
  for (int i = 0; i < n[0]; ++i) { /* slabs are summed in order below */
    level_set_pool pool;
    pool.used = 0;
    part[i]   = (moments){{0}};
    for (int j = 0; j < n[1]; ++j)
      for (int k = 0; k < n[2]; ++k) {
        const double corner[3] = {h * BLOCK * (i - 0.5 * n[0]), h * BLOCK * (j - 0.5 * n[1]), h * BLOCK * (k - 0.5 * n[2])};
        add_block(&part[i], &f, corner, h, BLOCK, &pool);
      }
  }
  for (int i = 0; i < n[0]; ++i)
    for (int k = 0; k < 10; ++k) sum.m[k] += part[i].m[k];
  mass_properties p = {.volume = sum.m[0]};
  if (!(p.volume > 0.0)) return p;
  double    c[3], s[9];
  const int at[9] = {4, 9, 8, 9, 5, 7, 8, 7, 6};
  for (int k = 0; k < 3; ++k) c[k] = sum.m[1 + k] / p.volume, p.center[k] = f.origin[k] + c[k];
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) s[3 * i + j] = sum.m[at[3 * i + j]] - p.volume * c[i] * c[j];
  for (int i = 0; i < 9; ++i) p.inertia[i] = (i % 4 == 0 ? m3_trace(s) : 0.0) - s[i];
  return p;
}
