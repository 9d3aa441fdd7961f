/* Implementation: sorting of faces, storage, derived volumes and surface, and detection of defects. */
#include "geometry/tet_mesh/tet_mesh.h"
#include "core/math3.h"
#include "core/memory.h"
#include "core/sort.h"
#include "geometry/primitive/vertex_merge.h"

/* Face i is opposite to corner i; its corners are listed counter-clockwise seen from outside a positive tetrahedron. */
static const int TET_FACE[4][3] = {{1, 2, 3}, {0, 3, 2}, {0, 1, 3}, {0, 2, 1}};

/* v: vertices of face 4 t + i in ascending order. Returns true if the outward order is an odd permutation of it. */
static inline bool tet_face_sorted(const tet_mesh *m, int32_t face, int32_t v[3])
{
  bool is_odd = false;
  for (int k = 0; k < 3; ++k) v[k] = m->tet[4 * (int64_t)(face / 4) + TET_FACE[face % 4][k]];
  for (int pass = 0; pass < 3; ++pass) {
    const int k = pass % 2;
    if (v[k] > v[k + 1]) {
      const int32_t swap = v[k];
      v[k] = v[k + 1], v[k + 1] = swap, is_odd = !is_odd;
    }
  }
  return is_odd;
}

/* Sort all faces by their vertices, then by face number; equal faces become neighbours. face [4 n_tets] is allocated here. Three
 * numbers of 31 bits do not fit into one key, so the faces are sorted by the last vertex first, then stably by the first two. */
static PetscErrorCode tet_faces_sort(const tet_mesh *m, int32_t **face)
{
  const int64_t n    = 4 * m->n_tets;
  uint64_t     *key  = NULL;
  int32_t      *perm = NULL, *first = NULL;
  PetscFunctionBegin;
  PetscCall(MEMORY_ALLOC("mesh faces", ARRAY(key, n), ARRAY(first, n), ARRAY(perm, n)));
  for (int64_t i = 0; i < n; ++i) {
    int32_t v[3];
    (void)tet_face_sorted(m, (int32_t)i, v);
    key[i] = (uint64_t)v[2];
  }
  PetscCall(sort_keys(n, 32, key, first));
  for (int64_t i = 0; i < n; ++i) {
    int32_t v[3];
    (void)tet_face_sorted(m, first[i], v);
    key[i] = (uint64_t)v[0] << 32 | (uint64_t)v[1];
  }
  PetscCall(sort_keys(n, 64, key, perm));
  for (int64_t i = 0; i < n; ++i) perm[i] = first[perm[i]];
  MEMORY_FREE(&key, &first);
  *face = perm;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* End of the run of equal faces that starts at `at`. */
static int64_t tet_faces_run(const tet_mesh *m, const int32_t *face, int64_t at)
{
  const int64_t n = 4 * m->n_tets;
  int32_t       a[3], b[3];
  int64_t       end = at + 1;
  (void)tet_face_sorted(m, face[at], a);
  for (; end < n; ++end) {
    (void)tet_face_sorted(m, face[end], b);
    if (a[0] != b[0] || a[1] != b[1] || a[2] != b[2]) break;
  }
  return end;
}

/* Faces with a single tetrahedron, ascending: tri [n][3] oriented outwards, tet [n]. Allocates both. */
static PetscErrorCode tet_faces_boundary(const tet_mesh *m, int64_t *n_out, int32_t **tri, int32_t **tet)
{
  int32_t *face        = NULL;
  bool    *is_boundary = NULL;
  int64_t  n           = 0;
  PetscFunctionBegin;
  PetscCall(tet_faces_sort(m, &face));
  PetscCall(memory_alloc("mesh faces", 4 * m->n_tets, sizeof *is_boundary, &is_boundary));
  for (int64_t i = 0, end; i < 4 * m->n_tets; i = end) {
    end = tet_faces_run(m, face, i);
    if (end == i + 1) is_boundary[face[i]] = true, ++n;
  }
  PetscCall(MEMORY_ALLOC("mesh surface", ARRAY(*tri, 3 * n), ARRAY(*tet, n)));
  *n_out = n;
  n      = 0;
  for (int64_t f = 0; f < 4 * m->n_tets; ++f) {
    if (!is_boundary[f]) continue;
    for (int k = 0; k < 3; ++k) (*tri)[3 * n + k] = m->tet[4 * (f / 4) + TET_FACE[f % 4][k]];
    (*tet)[n++] = (int32_t)(f / 4);
  }
  MEMORY_FREE(&face, &is_boundary);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Triangle mesh of these boundary faces; vertex [surface vertices] maps its vertices to those of m. Allocates both. */
static PetscErrorCode tet_faces_surface(const tet_mesh *m, int64_t n, const int32_t *tri, triangle_mesh **surface, int32_t **vertex)
{
  int32_t       *number = NULL;
  triangle_mesh *s      = NULL;
  int64_t        n_used = 0;
  PetscFunctionBegin;
  PetscCall(memory_alloc("mesh surface", m->n_vertices, sizeof *number, &number));
  for (int64_t i = 0; i < 3 * n; ++i) number[tri[i]] = 1;
  for (int64_t i = 0; i < m->n_vertices; ++i) n_used += number[i];
  PetscCall(triangle_mesh_create(n_used, n, &s));
  PetscCall(memory_alloc("mesh surface", n_used, sizeof **vertex, vertex));
  n_used = 0;
  for (int64_t i = 0; i < m->n_vertices; ++i) {
    if (!number[i]) continue;
    v3_copy(&s->x[3 * n_used], &m->x[3 * i]);
    (*vertex)[n_used] = (int32_t)i;
    number[i]         = (int32_t)n_used++;
  }
  for (int64_t i = 0; i < 3 * n; ++i) s->tri[i] = number[tri[i]];
  memory_free(&number);
  *surface = s;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ==== mesh ==== */

PetscErrorCode tet_mesh_create(int64_t n_vertices, int64_t n_tets, tet_mesh **out)
{
  tet_mesh      *m    = NULL;
  PetscErrorCode code = PETSC_SUCCESS;
  PetscFunctionBegin;
  PetscCheck(n_vertices >= 0 && n_tets >= 0 && n_vertices <= INT32_MAX && n_tets <= INT32_MAX / 4, PETSC_COMM_SELF,
             PETSC_ERR_ARG_OUTOFRANGE, "a tetrahedral mesh has %lld vertices and %lld tetrahedra; at most %d and %d are possible",
             (long long)n_vertices, (long long)n_tets, INT32_MAX, INT32_MAX / 4);
  PetscCall(memory_alloc("tetrahedral mesh", 1, sizeof *m, &m));
  code = memory_alloc("mesh vertices", 3 * n_vertices, sizeof *m->x, &m->x);
  if (!code) code = memory_alloc("mesh tetrahedra", 4 * n_tets, sizeof *m->tet, &m->tet);
  if (code) tet_mesh_destroy(&m);
  PetscCall(code);
  m->n_vertices = n_vertices;
  m->n_tets     = n_tets;
  *out          = m;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void drop_derived(tet_mesh *m)
{
  MEMORY_FREE(&m->volume, &m->vertex_volume);
  triangle_mesh_destroy(&m->surface);
  MEMORY_FREE(&m->surface_vertex, &m->surface_tet);
}

void tet_mesh_destroy(tet_mesh **m)
{
  if (!m || !*m) return;
  drop_derived(*m);
  MEMORY_FREE(&(*m)->x, &(*m)->tet, m);
}

double tet_mesh_signed_volume(const double *x, const int32_t tet[4])
{
  double e[3][3], n[3];
  for (int i = 0; i < 3; ++i) v3_sub(e[i], &x[3 * (int64_t)tet[i + 1]], &x[3 * (int64_t)tet[0]]);
  v3_cross(n, e[0], e[1]);
  return v3_dot(n, e[2]) / 6.0;
}

static void fill_volumes(tet_mesh *m)
{
#pragma omp parallel for schedule(static)
  for (int64_t t = 0; t < m->n_tets; ++t) m->volume[t] = tet_mesh_signed_volume(m->x, &m->tet[4 * t]);
  for (int64_t i = 0; i < m->n_vertices; ++i) m->vertex_volume[i] = 0.0;
  for (int64_t t = 0; t < m->n_tets; ++t) /* serial, in order; runs once per mesh */
    for (int i = 0; i < 4; ++i) m->vertex_volume[m->tet[4 * t + i]] += 0.25 * m->volume[t];
}

PetscErrorCode tet_mesh_finish(tet_mesh *m)
{
  int32_t *tri = NULL;
  int64_t  n   = 0;
  PetscFunctionBegin;
  drop_derived(m);
  PetscCall(MEMORY_ALLOC("mesh volumes", ARRAY(m->volume, m->n_tets), ARRAY(m->vertex_volume, m->n_vertices)));
  fill_volumes(m);
  PetscCall(tet_faces_boundary(m, &n, &tri, &m->surface_tet));
  PetscCall(tet_faces_surface(m, n, tri, &m->surface, &m->surface_vertex));
  memory_free(&tri);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void tet_mesh_transform(tet_mesh *m, const double c[3], const double R[9])
{
  for (int64_t i = 0; i < m->n_vertices; ++i) {
    double y[3];
    m3_mulv(y, R, &m->x[3 * i]);
    v3_add(&m->x[3 * i], c, y);
  }
  if (m->surface) {
    triangle_mesh_transform(m->surface, c, R);
    fill_volumes(m);
  }
}

void tet_mesh_scale(tet_mesh *m, double factor)
{
  for (int64_t i = 0; i < 3 * m->n_vertices; ++i) m->x[i] *= factor;
  if (m->surface) {
    triangle_mesh_scale(m->surface, factor);
    fill_volumes(m);
  }
}

PetscErrorCode tet_mesh_compact(tet_mesh *m, int32_t *new_index)
{
  int32_t *own = NULL;
  int64_t  n   = 0;
  PetscFunctionBegin;
  PetscCall(memory_alloc("mesh renumbering", m->n_vertices, sizeof *own, &own));
  for (int64_t i = 0; i < 4 * m->n_tets; ++i) own[m->tet[i]] = 1;
  for (int64_t i = 0; i < m->n_vertices; ++i) {
    if (own[i]) v3_copy(&m->x[3 * n], &m->x[3 * i]); /* in place: vertices only move down */
    own[i] = own[i] ? (int32_t)n++ : -1;
    if (new_index) new_index[i] = own[i];
  }
  for (int64_t i = 0; i < 4 * m->n_tets; ++i) m->tet[i] = own[m->tet[i]];
  memory_free(&own);
  drop_derived(m);
  m->n_vertices = n;
  PetscCall(memory_resize("mesh vertices", 3 * n, sizeof *m->x, &m->x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ==== defects ==== */

static const double NO_VOLUME = 1e-9, SAME_PLACE = 1e-9; /* of the longest edge cubed; of the mesh's size */

/* Count a defect; true for the first one, which is recorded in *first. */
static bool count_defect(int64_t *n, int64_t *first, int64_t which)
{
  if ((*n)++ > 0) return false;
  *first = which;
  return true;
}

static void check_vertices_and_indices(const tet_mesh *m, tet_mesh_defects *d)
{
  for (int64_t i = 0; i < m->n_vertices; ++i)
    if (!isfinite(m->x[3 * i]) || !isfinite(m->x[3 * i + 1]) || !isfinite(m->x[3 * i + 2]))
      (void)count_defect(&d->n_not_finite, &d->first_not_finite, i);
  for (int64_t t = 0; t < m->n_tets; ++t) {
    bool is_bad = false;
    for (int i = 0; i < 4; ++i) is_bad = is_bad || m->tet[4 * t + i] < 0 || m->tet[4 * t + i] >= m->n_vertices;
    if (is_bad) (void)count_defect(&d->n_bad_index, &d->first_bad_index, t);
  }
}

static bool is_degenerate(const double *x, const int32_t *v)
{
  double longest = 0.0;
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < i; ++j) {
      double e[3];
      if (v[i] == v[j]) return true;
      v3_sub(e, &x[3 * (int64_t)v[i]], &x[3 * (int64_t)v[j]]);
      longest = fmax(longest, v3_norm(e));
    }
  return !(fabs(tet_mesh_signed_volume(x, v)) > NO_VOLUME * longest * longest * longest);
}

static PetscErrorCode check_places(const tet_mesh *m, tet_mesh_defects *d)
{
  double   lo[3] = {INFINITY, INFINITY, INFINITY}, hi[3] = {-INFINITY, -INFINITY, -INFINITY}, size = 0.0, far = 0.0;
  int32_t *kept = NULL, *original = NULL;
  int64_t  n_kept = 0, n = 0;
  PetscFunctionBegin;
  for (int64_t i = 0; i < m->n_vertices; ++i)
    for (int k = 0; k < 3; ++k) lo[k] = fmin(lo[k], m->x[3 * i + k]), hi[k] = fmax(hi[k], m->x[3 * i + k]);
  for (int k = 0; k < 3; ++k) size = fmax(size, hi[k] - lo[k]), far = fmax(far, fmax(fabs(lo[k]), fabs(hi[k])));
  PetscCall(MEMORY_ALLOC("mesh check", ARRAY(kept, m->n_vertices), ARRAY(original, m->n_vertices)));
  if (m->n_vertices) PetscCall(vertex_merge(m->n_vertices, m->x, fmax(fmax(SAME_PLACE * size, 1e-15 * far), 1e-300), kept, &n_kept));
  for (int64_t i = 0; i < m->n_vertices; ++i) {
    if (kept[i] == n) original[n++] = (int32_t)i;
    else if (count_defect(&d->n_duplicate, &d->first_duplicate[0], original[kept[i]])) d->first_duplicate[1] = i;
  }
  MEMORY_FREE(&kept, &original);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode check_unused(const tet_mesh *m, tet_mesh_defects *d)
{
  bool *is_used = NULL;
  PetscFunctionBegin;
  PetscCall(memory_alloc("mesh check", m->n_vertices, sizeof *is_used, &is_used));
  for (int64_t i = 0; i < 4 * m->n_tets; ++i) is_used[m->tet[i]] = true;
  for (int64_t i = 0; i < m->n_vertices; ++i)
    if (!is_used[i]) (void)count_defect(&d->n_unused, &d->first_unused, i);
  memory_free(&is_used);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- components and orientation: a union-find structure that stores relative orientation ---- */

typedef struct {
  int32_t *parent;
  bool    *is_mirrored; /* relative to the parent */
} mirror_sets;

static int32_t find_root(mirror_sets *s, int32_t i, bool *is_mirrored)
{
  bool    m    = false;
  int32_t root = i;
  while (s->parent[root] != root) m ^= s->is_mirrored[root], root = s->parent[root];
  *is_mirrored = m;
  while (s->parent[i] != root && i != root) { /* path compression */
    const int32_t next = s->parent[i];
    const bool    rest = m ^ s->is_mirrored[i];
    s->parent[i]       = root;
    s->is_mirrored[i]  = m;
    m                  = rest;
    i                  = next;
  }
  return root;
}

/* Record that a and b have opposite (equal) orientations. False if this contradicts earlier records. The smaller root is kept. */
static bool unite_sets(mirror_sets *s, int32_t a, int32_t b, bool is_mirrored)
{
  bool          ma, mb;
  const int32_t ra = find_root(s, a, &ma), rb = find_root(s, b, &mb);
  if (ra == rb) return (ma ^ mb) == is_mirrored;
  const int32_t low = ra < rb ? ra : rb, high = ra < rb ? rb : ra;
  s->parent[high]      = low;
  s->is_mirrored[high] = ma ^ mb ^ is_mirrored;
  return true;
}

static void unite_neighbours(const tet_mesh *m, const int32_t *face, mirror_sets *s, tet_mesh_defects *d)
{
  for (int64_t i = 0, end; i < 4 * m->n_tets; i = end) {
    int32_t v[3];
    end = tet_faces_run(m, face, i);
    if (end - i > 2 && d->n_nonmanifold++ == 0) {
      (void)tet_face_sorted(m, face[i], v);
      for (int k = 0; k < 3; ++k) d->first_nonmanifold[k] = v[k];
    }
    if (end - i != 2) {
      for (int64_t j = i + 1; j < end; ++j) { /* non-manifold face: one component, but no information about orientation */
        bool          ma, mb;
        const int32_t a = face[i] / 4, b = face[j] / 4;
        if (find_root(s, a, &ma) != find_root(s, b, &mb)) (void)unite_sets(s, a, b, false);
      }
      continue;
    }
    /* two consistent neighbours list their common face in opposite orders */
    const bool is_mirrored = tet_face_sorted(m, face[i], v) == tet_face_sorted(m, face[i + 1], v);
    if (!unite_sets(s, face[i] / 4, face[i + 1] / 4, is_mirrored) && count_defect(&d->n_twisted, &d->first_twisted[0], face[i] / 4))
      d->first_twisted[1] = face[i + 1] / 4;
  }
}

/* turn [n_tets]: 1 for tetrahedra listed in the mirrored order. Also counts components and orientation conflicts. */
static PetscErrorCode find_orientation(const tet_mesh *m, uint8_t *turn, tet_mesh_defects *d)
{
  mirror_sets s    = {0};
  int32_t    *face = NULL;
  double     *sum  = NULL;
  PetscFunctionBegin;
  PetscCall(MEMORY_ALLOC("mesh parts", ARRAY(s.parent, m->n_tets), ARRAY(s.is_mirrored, m->n_tets), ARRAY(sum, m->n_tets)));
  for (int64_t t = 0; t < m->n_tets; ++t) s.parent[t] = (int32_t)t;
  PetscCall(tet_faces_sort(m, &face));
  unite_neighbours(m, face, &s, d);
  memory_free(&face);
  for (int64_t t = 0; t < m->n_tets; ++t) {
    bool          is_mirrored;
    const int32_t root = find_root(&s, (int32_t)t, &is_mirrored);
    sum[root] += (is_mirrored ? -1.0 : 1.0) * tet_mesh_signed_volume(m->x, &m->tet[4 * t]);
    if (root == t && d->n_parts++ == 1) d->first_other_part = t;
  }
  for (int64_t t = 0; t < m->n_tets; ++t) { /* the volume of a component is positive */
    bool          is_mirrored;
    const int32_t root = find_root(&s, (int32_t)t, &is_mirrored);
    turn[t]            = is_mirrored ^ (sum[root] < 0.0);
  }
  MEMORY_FREE(&s.parent, &s.is_mirrored, &sum);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode check_boundary(const tet_mesh *m, tet_mesh_defects *d)
{
  triangle_mesh        *surface = NULL;
  int32_t              *tri = NULL, *tet = NULL, *vertex = NULL;
  int64_t               n = 0;
  triangle_mesh_defects s;
  PetscFunctionBegin;
  PetscCall(tet_faces_boundary(m, &n, &tri, &tet));
  PetscCall(tet_faces_surface(m, n, tri, &surface, &vertex));
  PetscCall(triangle_mesh_check(surface, &s));
  d->n_touching = s.n_nonmanifold + s.n_pinched;
  if (s.n_nonmanifold) {
    for (int k = 0; k < 2; ++k) d->first_touching[k] = vertex[s.first_nonmanifold[k]];
  } else if (s.n_pinched) d->first_touching[0] = vertex[s.first_pinched];
  MEMORY_FREE(&tri, &tet, &vertex);
  triangle_mesh_destroy(&surface);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tet_mesh_check(const tet_mesh *m, tet_mesh_defects *d)
{
  uint8_t *turn = NULL;
  PetscFunctionBegin;
  *d                  = (tet_mesh_defects){0};
  d->first_not_finite = d->first_bad_index = d->first_degenerate = d->first_flipped = d->first_inverted = d->first_unused =
      d->first_other_part                                                                               = -1;
  for (int k = 0; k < 3; ++k) d->first_nonmanifold[k] = -1;
  for (int k = 0; k < 2; ++k) d->first_twisted[k] = d->first_duplicate[k] = d->first_touching[k] = -1;
  check_vertices_and_indices(m, d);
  if (d->n_not_finite || d->n_bad_index || m->n_tets == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(check_places(m, d));
  PetscCall(check_unused(m, d));
  PetscCall(memory_alloc("mesh orientation", m->n_tets, sizeof *turn, &turn));
  PetscCall(find_orientation(m, turn, d));
  for (int64_t t = 0; t < m->n_tets; ++t) {
    const bool is_negative = tet_mesh_signed_volume(m->x, &m->tet[4 * t]) < 0.0;
    if (is_degenerate(m->x, &m->tet[4 * t])) (void)count_defect(&d->n_degenerate, &d->first_degenerate, t);
    else if (is_negative != (bool)turn[t]) (void)count_defect(&d->n_inverted, &d->first_inverted, t);
    else if (is_negative) (void)count_defect(&d->n_flipped, &d->first_flipped, t);
  }
  memory_free(&turn);
  if (!d->n_nonmanifold) PetscCall(check_boundary(m, d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tet_mesh_orient(tet_mesh *m, int64_t *n_flipped)
{
  tet_mesh_defects d    = {0};
  uint8_t         *turn = NULL;
  int64_t          n    = 0;
  PetscFunctionBegin;
  PetscCall(memory_alloc("mesh orientation", m->n_tets, sizeof *turn, &turn));
  PetscCall(find_orientation(m, turn, &d));
  for (int64_t t = 0; t < m->n_tets; ++t) {
    if (!turn[t]) continue;
    int32_t      *v    = &m->tet[4 * t];
    const int32_t last = v[3];
    v[3] = v[2], v[2] = last, ++n;
  }
  memory_free(&turn);
  if (n_flipped) *n_flipped = n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

bool tet_mesh_is_sound(const tet_mesh_defects *d, bool allow_parts)
{
  return !d->n_not_finite && !d->n_bad_index && !d->n_degenerate && !d->n_nonmanifold && !d->n_twisted && !d->n_flipped && !d->n_inverted &&
         !d->n_duplicate && !d->n_unused && !d->n_touching && (d->n_parts == 1 || (allow_parts && d->n_parts > 1));
}

static void tet_mesh_defects_text(const tet_mesh_defects *d, bool allow_parts, const tet_mesh_names *names, size_t size, char *text)
{
#define SAY(...) ((void)snprintf(text, size, __VA_ARGS__))
#define VERTEX(i) ((long long)(names && names->vertex && (i) >= 0 ? names->vertex[i] : (i)))
#define TET(i) ((long long)(names && names->tet && (i) >= 0 ? names->tet[i] : (i)))
#define N(n) ((long long)d->n)
  if (size) text[0] = '\0';
  if (d->n_not_finite) SAY("%lld vertices are not finite numbers, the first is vertex %lld", N(n_not_finite), VERTEX(d->first_not_finite));
  else if (d->n_bad_index)
    SAY("%lld tetrahedra refer to vertices that do not exist, the first is tetrahedron %lld", N(n_bad_index), TET(d->first_bad_index));
  else if (d->n_parts == 0) SAY("there are no tetrahedra");
  else if (d->n_degenerate)
    SAY("%lld tetrahedra have no volume, the first is tetrahedron %lld; remesh, or optimise the mesh against slivers", N(n_degenerate),
        TET(d->first_degenerate));
  else if (d->n_duplicate)
    SAY("%lld vertices coincide with another vertex, the first is vertex %lld with vertex %lld; merge duplicate vertices", N(n_duplicate),
        VERTEX(d->first_duplicate[1]), VERTEX(d->first_duplicate[0]));
  else if (d->n_nonmanifold)
    SAY("%lld faces belong to more than two tetrahedra, the first has the vertices %lld, %lld and %lld; remove tetrahedra that overlap or "
        "are listed twice",
        N(n_nonmanifold), VERTEX(d->first_nonmanifold[0]), VERTEX(d->first_nonmanifold[1]), VERTEX(d->first_nonmanifold[2]));
  else if (d->n_twisted)
    SAY("tetrahedra %lld and %lld cannot be oriented consistently: the mesh is not orientable (%lld such pairs)", TET(d->first_twisted[0]),
        TET(d->first_twisted[1]), N(n_twisted));
  else if (d->n_inverted)
    SAY("%lld tetrahedra are inverted: they lie on the wrong side of a face, the first is tetrahedron %lld; untangle the mesh, remesh, or "
        "remove duplicate tetrahedra",
        N(n_inverted), TET(d->first_inverted));
  else if (d->n_flipped)
    SAY("%lld tetrahedra list their vertices in mirrored order, the first is tetrahedron %lld; swap two of its vertices", N(n_flipped),
        TET(d->first_flipped));
  else if (d->n_unused)
    SAY("%lld vertices belong to no tetrahedron and would have no mass, the first is vertex %lld; remove them", N(n_unused),
        VERTEX(d->first_unused));
  else if (d->n_touching && d->first_touching[1] >= 0)
    SAY("the boundary touches itself at %lld places, the first is the edge between vertices %lld and %lld; separate the parts, or connect "
        "them through faces",
        N(n_touching), VERTEX(d->first_touching[0]), VERTEX(d->first_touching[1]));
  else if (d->n_touching)
    SAY("the boundary touches itself at %lld vertices, the first is vertex %lld; separate the parts, or connect them through faces",
        N(n_touching), VERTEX(d->first_touching[0]));
  else if (d->n_parts > 1 && !allow_parts)
    SAY("%lld separate parts, tetrahedron %lld is not in the first; define each part as a separate body, or merge the vertices of their "
        "common faces",
        N(n_parts), TET(d->first_other_part));
#undef SAY
#undef VERTEX
#undef TET
#undef N
}

PetscErrorCode tet_mesh_require(const char *name, const tet_mesh *m, bool allow_parts, const tet_mesh_names *names)
{
  tet_mesh_defects d;
  char             text[512];
  PetscFunctionBegin;
  PetscCall(tet_mesh_check(m, &d));
  tet_mesh_defects_text(&d, allow_parts, names, sizeof text, text);
  PetscCheck(tet_mesh_is_sound(&d, allow_parts), PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: %s", name, text);
  PetscFunctionReturn(PETSC_SUCCESS);
}
