/* Is a triangle mesh the closed, oriented surface of something? */
#include "core/math3.h"
#include "core/memory.h"
#include "geometry/triangle_mesh/triangle_mesh.h"

/* A triangle's side from a to b, kept with its ends in order; `forward` if a < b. */
typedef struct {
  int32_t low, high, triangle, forward;
} edge_use;

static int compare_uses(const void *a, const void *b)
{
  const edge_use *p = a, *q = b;
  if (p->low != q->low) return p->low < q->low ? -1 : 1;
  if (p->high != q->high) return p->high < q->high ? -1 : 1;
  return (p->triangle > q->triangle) - (p->triangle < q->triangle);
}

static int32_t find_root(int32_t *parent, int32_t i)
{
  while (parent[i] != i) i = parent[i] = parent[parent[i]];
  return i;
}

static void join(int32_t *parent, int32_t a, int32_t b)
{
  a = find_root(parent, a), b = find_root(parent, b);
  if (a < b) parent[b] = a;
  else parent[a] = b;
}

static int32_t corner_of(const triangle_mesh *m, int32_t triangle, int32_t vertex)
{
  for (int32_t i = 0; i < 3; ++i)
    if (m->tri[3 * (int64_t)triangle + i] == vertex) return 3 * triangle + i;
  return 3 * triangle;
}

static void check_vertices_and_indices(const triangle_mesh *m, triangle_mesh_defects *d)
{
  for (int64_t i = 0; i < m->n_vertices; ++i)
    if (!isfinite(m->x[3 * i]) || !isfinite(m->x[3 * i + 1]) || !isfinite(m->x[3 * i + 2]))
      if (d->n_not_finite++ == 0) d->first_not_finite = i;
  for (int64_t t = 0; t < m->n_triangles; ++t) {
    bool is_bad = false;
    for (int i = 0; i < 3; ++i) is_bad = is_bad || m->tri[3 * t + i] < 0 || m->tri[3 * t + i] >= m->n_vertices;
    if (is_bad && d->n_bad_index++ == 0) d->first_bad_index = t;
  }
}

static void check_areas(const triangle_mesh *m, triangle_mesh_defects *d)
{
  for (int64_t t = 0; t < m->n_triangles; ++t) {
    const int32_t *v = &m->tri[3 * t];
    double         e[3][3], n[3], longest = 0.0;
    for (int i = 0; i < 3; ++i) {
      v3_sub(e[i], &m->x[3 * (int64_t)v[(i + 1) % 3]], &m->x[3 * (int64_t)v[i]]);
      longest = fmax(longest, v3_dot(e[i], e[i]));
    }
    v3_cross(n, e[0], e[1]);
    if (v[0] == v[1] || v[1] == v[2] || v[2] == v[0] || !(v3_norm(n) > 1e-12 * longest))
      if (d->n_degenerate++ == 0) d->first_degenerate = t;
  }
}

/* Edges: each should be used once in each direction. Triangles that share one belong to one part; their corners at its
 * ends belong to one fan. */
static void check_edges(const triangle_mesh *m, edge_use *use, int32_t *fan, int32_t *part, triangle_mesh_defects *d)
{
  const int64_t n = 3 * m->n_triangles;
  for (int64_t i = 0; i < n; ++i) {
    const int32_t a = m->tri[i], b = m->tri[i - i % 3 + (i + 1) % 3];
    use[i] = (edge_use){a < b ? a : b, a < b ? b : a, (int32_t)(i / 3), a < b};
    fan[i] = (int32_t)i;
  }
  for (int64_t t = 0; t < m->n_triangles; ++t) part[t] = (int32_t)t;
  if (n) qsort(use, (size_t)n, sizeof *use, compare_uses); /* no triangles, no array */
  for (int64_t i = 0, end; i < n; i = end) {
    for (end = i + 1; end < n && use[end].low == use[i].low && use[end].high == use[i].high;) ++end;
    int64_t *first = NULL;
    if (end - i == 1 && d->n_open++ == 0) first = d->first_open;
    if (end - i > 2 && d->n_crowded++ == 0) first = d->first_crowded;
    if (end - i == 2 && use[i].forward == use[i + 1].forward && d->n_misoriented++ == 0) first = d->first_misoriented;
    if (first) first[0] = use[i].low, first[1] = use[i].high;
    for (int64_t j = i + 1; j < end; ++j) {
      join(part, use[i].triangle, use[j].triangle);
      join(fan, corner_of(m, use[i].triangle, use[i].low), corner_of(m, use[j].triangle, use[i].low));
      join(fan, corner_of(m, use[i].triangle, use[i].high), corner_of(m, use[j].triangle, use[i].high));
    }
  }
}

static void check_fans(const triangle_mesh *m, int32_t *fan, int32_t *part, int32_t *n_fans, triangle_mesh_defects *d)
{
  for (int64_t i = 0; i < 3 * m->n_triangles; ++i)
    if (find_root(fan, (int32_t)i) == i) ++n_fans[m->tri[i]];
  for (int64_t i = 0; i < m->n_vertices; ++i) {
    d->n_unused += n_fans[i] == 0;
    if (n_fans[i] > 1 && d->n_pinched++ == 0) d->first_pinched = i;
  }
  for (int64_t t = 0; t < m->n_triangles; ++t) d->n_parts += find_root(part, (int32_t)t) == t;
}

PetscErrorCode triangle_mesh_check(const triangle_mesh *m, triangle_mesh_defects *out)
{
  edge_use *use = NULL;
  int32_t  *fan = NULL, *part = NULL, *n_fans = NULL;
  PetscFunctionBegin;
  *out                  = (triangle_mesh_defects){0};
  out->first_not_finite = out->first_bad_index = out->first_degenerate = out->first_pinched = -1;
  for (int i = 0; i < 2; ++i) out->first_open[i] = out->first_crowded[i] = out->first_misoriented[i] = -1;
  PetscCheck(m->n_triangles <= INT32_MAX / 3, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "a mesh of %lld triangles is too large (at most 715 million)", (long long)m->n_triangles);
  check_vertices_and_indices(m, out);
  if (out->n_not_finite || out->n_bad_index) PetscFunctionReturn(PETSC_SUCCESS);
  check_areas(m, out);
  PetscCall(memory_alloc("mesh edges", 3 * m->n_triangles, sizeof *use, &use));
  PetscCall(memory_alloc("mesh fans", 3 * m->n_triangles, sizeof *fan, &fan));
  PetscCall(memory_alloc("mesh parts", m->n_triangles, sizeof *part, &part));
  PetscCall(memory_alloc("mesh fans", m->n_vertices, sizeof *n_fans, &n_fans));
  check_edges(m, use, fan, part, out);
  check_fans(m, fan, part, n_fans, out);
  out->volume = triangle_mesh_mass(m).volume;
  memory_free(&use);
  memory_free(&fan);
  memory_free(&part);
  memory_free(&n_fans);
  PetscFunctionReturn(PETSC_SUCCESS);
}

bool triangle_mesh_is_sound(const triangle_mesh_defects *d)
{
  return !d->n_not_finite && !d->n_bad_index && !d->n_degenerate && !d->n_open && !d->n_crowded && !d->n_misoriented &&
         !d->n_pinched && d->volume > 0.0;
}

/* "(0.1, 0, 2)": files count from 0, from 1, or not at all, and unused vertices are gone by now; a place can be looked up. */
typedef struct {
  char text[80];
} place_text;
static place_text place_of(const triangle_mesh *m, int64_t vertex)
{
  place_text p;
  (void)snprintf(p.text, sizeof p.text, "(%.7g, %.7g, %.7g)", m->x[3 * vertex], m->x[3 * vertex + 1], m->x[3 * vertex + 2]);
  return p;
}

void triangle_mesh_defects_text(const triangle_mesh *m, const triangle_mesh_defects *d, size_t size, char *text)
{
#define SAY(...) ((void)snprintf(text, size, __VA_ARGS__))
#define AT(vertex) place_of(m, vertex).text
#define N(n) ((long long)d->n)
  if (size) text[0] = '\0';
  if (d->n_not_finite) SAY("%lld vertices are not finite numbers, the first is vertex %lld", N(n_not_finite), N(first_not_finite));
  else if (d->n_bad_index) SAY("%lld triangles name vertices that do not exist, the first is triangle %lld", N(n_bad_index), N(first_bad_index));
  else if (d->n_degenerate) SAY("%lld triangles have no area, the first has a corner at %s; remove them or merge their vertices", N(n_degenerate), AT(m->tri[3 * d->first_degenerate]));
  else if (d->n_crowded) SAY("%lld edges have more than two triangles, the first is from %s to %s: not the surface of one solid; remove what is listed twice or lies inside", N(n_crowded), AT(d->first_crowded[0]), AT(d->first_crowded[1]));
  else if (d->n_open) SAY("the surface is open: %lld edges have only one triangle, the first is from %s to %s; close the holes", N(n_open), AT(d->first_open[0]), AT(d->first_open[1]));
  else if (d->n_misoriented) SAY("neighbouring triangles disagree about which side is outside at %lld edges, the first is from %s to %s; make the orientation consistent", N(n_misoriented), AT(d->first_misoriented[0]), AT(d->first_misoriented[1]));
  else if (d->n_pinched) SAY("the surface touches itself at %lld vertices, the first is at %s; separate the parts", N(n_pinched), AT(d->first_pinched));
  else if (d->volume < 0.0) SAY("the surface is inside out (volume %g m^3): turn its triangles over", d->volume);
  else if (!(d->volume > 0.0)) SAY("the surface encloses nothing");
#undef N
#undef AT
#undef SAY
}
