/* The topology is built once: nodes are numbered body by body, edges are sorted and deduplicated. */
#include "sim/scene/scene_surfaces.h"
#include "contact/detection/obstacle_edges.h"
#include "discretize/rigid/rigid_body.h"
#include "core/math3.h"
#include "core/memory.h"
#include "core/sort.h"
#include <string.h>

static body_surface surface_of(const scene *s, int i)
{
  const body  *b   = s->bodies[i].body;
  body_surface one = {0};
  if (b->ops->surface) b->ops->surface(b, &one);
  if (one.n_triangles == 0) one.n_nodes = 0;
  return one;
}

/* Pairs with the law `never_touch` are excluded; neither the stiffness (rigid contact has none) nor the kinds alone decide this. */
static void set_meets(scene_surfaces *f, const scene *s)
{
  for (int64_t i = 0; i < s->pairs->n_slots; ++i) f->can_touch[i] = !s->laws[i].never_touch && s->laws[i].stiffness != 0.0;
}

/* Number the nodes of body i that belong to triangles; vertex [n_nodes]: zero in, vertex + 1 out. is_excluded: of its triangles. */
static void number_nodes(scene_surfaces *f, int i, const body_surface *one, const bool *is_excluded, int32_t *vertex)
{
  int64_t at = f->first_vertex[i], t = 3 * f->first_triangle[i];
  for (int64_t k = 0; k < 3 * one->n_triangles; ++k)
    if (!is_excluded || !is_excluded[k / 3]) vertex[one->triangles[k]] = 1;
  for (int64_t k = 0; k < one->n_nodes; ++k) {
    if (!vertex[k]) continue;
    f->body[at] = i;
    f->node[at] = (int32_t)k;
    vertex[k]   = (int32_t)++at;
  }
  for (int64_t k = 0; k < 3 * one->n_triangles; ++k)
    if (!is_excluded || !is_excluded[k / 3]) f->triangle[t++] = vertex[one->triangles[k]] - 1;
  f->first_vertex[i + 1] = at;
}

/* The edges of all triangles, sorted by their vertices, without duplicates. */
static PetscErrorCode list_edges(scene_surfaces *f)
{
  const int64_t n = 3 * f->n_triangles;
  uint64_t     *key;
  int32_t      *order;
  PetscFunctionBegin;
  PetscCall(MEMORY_ALLOC("surface edges", ARRAY(key, n), ARRAY(order, n)));
  for (int64_t k = 0; k < n; ++k) {
    const int32_t a = f->triangle[k], b = f->triangle[k % 3 == 2 ? k - 2 : k + 1];
    key[k] = (uint64_t)(a < b ? a : b) << 32 | (uint64_t)(a < b ? b : a);
  }
  PetscCall(sort_keys(n, 64, key, order));
  for (int64_t k = 0; k < n; ++k) f->n_edges += k == 0 || key[k] != key[k - 1];
  PetscCall(memory_alloc("surface edges", 2 * f->n_edges, sizeof *f->edge, &f->edge));
  for (int64_t k = 0, e = 0; k < n; ++k) {
    if (k > 0 && key[k] == key[k - 1]) continue;
    f->edge[2 * e]     = (int32_t)(key[k] >> 32);
    f->edge[2 * e + 1] = (int32_t)(key[k] & UINT32_MAX);
    ++f->first_edge[f->body[f->edge[2 * e]] + 1];
    ++e;
  }
  for (int i = 0; i < f->n_bodies; ++i) f->first_edge[i + 1] += f->first_edge[i];
  MEMORY_FREE(&key, &order);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static int64_t count_kept(const body_surface *one, const bool *is_excluded)
{
  int64_t n = 0;
  for (int64_t t = 0; t < one->n_triangles; ++t) n += !is_excluded || !is_excluded[t];
  return n;
}

PetscErrorCode scene_surfaces_create(const scene *s, scene_surfaces **out)
{
  PetscFunctionBegin;
  PetscCall(scene_surfaces_create_without(s, NULL, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode scene_surfaces_create_without(const scene *s, const bool *is_excluded, scene_surfaces **out)
{
  const int64_t   n       = s->n_bodies;
  int64_t         n_nodes = 0, most = 0, at = 0;
  scene_surfaces *f;
  int32_t        *vertex;
  PetscFunctionBegin;
  *out = NULL;
  PetscCall(memory_alloc("surfaces", 1, sizeof *f, &f));
  *out        = f;
  f->n_bodies = (int32_t)n;
  f->pairs    = s->pairs;
  PetscCall(MEMORY_ALLOC("surfaces", ARRAY(f->first_vertex, n + 1), ARRAY(f->first_edge, n + 1), ARRAY(f->first_triangle, n + 1),
                         ARRAY(f->is_rigid, n), ARRAY(f->can_touch, s->pairs->n_slots)));
  set_meets(f, s);
  for (int i = 0; i < n; ++i) {
    const body_surface one   = surface_of(s, i);
    f->is_rigid[i]           = s->bodies[i].frame >= 0;
    f->first_triangle[i + 1] = f->first_triangle[i] + count_kept(&one, is_excluded ? is_excluded + at : NULL);
    at += one.n_triangles;
    n_nodes += one.n_nodes;
    most = one.n_nodes > most ? one.n_nodes : most;
  }
  f->n_triangles = f->first_triangle[n];
  PetscCheck(n_nodes < INT32_MAX && 3 * f->n_triangles < INT32_MAX, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "surfaces with %lld nodes and %lld triangles are too large: use coarser meshes", (long long)n_nodes,
             (long long)f->n_triangles);
  PetscCall(MEMORY_ALLOC("scene surfaces", ARRAY(f->body, n_nodes), ARRAY(f->node, n_nodes), ARRAY(f->triangle, 3 * f->n_triangles),
                         ARRAY(vertex, most)));
  at = 0;
  for (int i = 0; i < n; ++i) {
    const body_surface one = surface_of(s, i);
    if (one.n_nodes > 0) memset(vertex, 0, (size_t)one.n_nodes * sizeof *vertex);
    number_nodes(f, i, &one, is_excluded ? is_excluded + at : NULL, vertex);
    at += one.n_triangles;
  }
  memory_free(&vertex);
  f->n_vertices = f->first_vertex[n];
  PetscCall(list_edges(f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void scene_surfaces_destroy(scene_surfaces **out)
{
  if (!out || !*out) return;
  scene_surfaces *f = *out;
  MEMORY_FREE(&f->first_vertex, &f->first_edge, &f->first_triangle, &f->body, &f->node, &f->edge, &f->triangle, &f->is_rigid, &f->can_touch,
              out);
}

PetscErrorCode scene_surfaces_place(const scene_surfaces *f, const scene *s, double t, double *x)
{
  PetscFunctionBegin;
  for (int i = 0; i < f->n_bodies; ++i) {
    const body_surface one = surface_of(s, i);
    rigid_frame        pose;
    if (one.n_nodes == 0) continue;
    if (f->is_rigid[i]) s->bodies[i].body->ops->frame(s->bodies[i].body, t, 0.0, NULL, &pose);
    for (int64_t k = f->first_vertex[i]; k < f->first_vertex[i + 1]; ++k) {
      const double *own = one.x + 3 * (int64_t)f->node[k];
      if (!f->is_rigid[i]) v3_copy(x + 3 * k, own);
      else m3_mulv(x + 3 * k, pose.R, own), v3_axpy(x + 3 * k, 1.0, pose.c);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode scene_surfaces_rest(const scene_surfaces *f, const scene *s, double *x)
{
  PetscFunctionBegin;
  for (int i = 0; i < f->n_bodies; ++i) {
    const body_surface one = surface_of(s, i);
    if (one.n_nodes == 0) continue;
    for (int64_t k = f->first_vertex[i]; k < f->first_vertex[i + 1]; ++k) v3_copy(x + 3 * k, one.rest + 3 * (int64_t)f->node[k]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

broad_phase_surfaces scene_surfaces_broad(const scene_surfaces *f)
{
  return (broad_phase_surfaces){.n_vertices  = f->n_vertices,
                                .n_points    = f->n_vertices,
                                .n_edges     = f->n_edges,
                                .n_triangles = f->n_triangles,
                                .edge        = f->edge,
                                .triangle    = f->triangle,
                                .n_bodies    = f->n_bodies,
                                .body        = f->body,
                                .can_touch   = f->can_touch,
                                .pairs       = f->pairs};
}

PetscErrorCode scene_obstacle_surfaces(const scene *s, const triangle_mesh **out)
{
  PetscFunctionBegin;
  for (int i = 0; i < s->n_bodies; ++i) PetscCall(rigid_body_closed_surface(s->bodies[i].body, &out[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

bool scene_obstacle_edges(const scene *s, int i, int j)
{
  for (int side = 0; side < 2; ++side) {
    const triangle_mesh *surface = NULL;
    body                *moving = s->bodies[side ? j : i].body, *obstacle = s->bodies[side ? i : j].body;
    if (obstacle_edges_takes(moving, obstacle) && !rigid_body_closed_surface(obstacle, &surface) && surface) return true;
  }
  return false;
}
