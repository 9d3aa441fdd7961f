#include "contact/penalty/mesh_pairs.h"
#include "core/math3.h"
#include "core/memory.h"
#include "core/timer.h"
#include <stdlib.h>
#include <string.h>

static void fix_to_frame(contact_surface *s, const body_surface *b)
{
  double min[3] = {INFINITY, INFINITY, INFINITY}, max[3] = {-INFINITY, -INFINITY, -INFINITY}, arm[3];
  s->own = b->x;
  for (int64_t i = 0; i < 3 * b->n_nodes; ++i) min[i % 3] = fmin(min[i % 3], b->x[i]), max[i % 3] = fmax(max[i % 3], b->x[i]);
  for (int k = 0; k < 3; ++k) s->center[k] = 0.5 * (min[k] + max[k]);
  for (int64_t i = 0; i < b->n_nodes; ++i) {
    v3_sub(arm, b->x + 3 * i, s->center);
    s->radius = fmax(s->radius, v3_norm(arm));
  }
}

PetscErrorCode mesh_contact_create(int n_bodies, const contact_law *law, int n, const contact_mesh *meshes, mesh_contact **out)
{
  PetscFunctionBegin;
  PetscCall(memory_alloc("mesh contact", 1, sizeof **out, out));
  mesh_contact *c = *out;
  c->n_bodies     = n_bodies;
  c->law          = law;
  c->is_fresh     = true;
  c->acceleration = 9.81;
  PetscCall(memory_alloc("contact surfaces", n, sizeof *c->mesh, &c->mesh));
  PetscCall(contact_rows_create(&c->rows));
  PetscCall(contact_rows_create(&c->node_rows));
  PetscCall(rigid_sides_create(&c->sides));
  for (int m = 0; m < n; ++m) {
    contact_surface *s = &c->mesh[c->n_meshes++];
    body_surface     b;
    s->b       = meshes[m].b;
    s->body_id = meshes[m].body_id;
    s->frame   = meshes[m].frame;
    s->b->ops->surface(s->b, &b);
    s->rest = b.rest;
    PetscCall(triangle_topology_create(b.n_nodes, b.n_triangles, b.triangles, &s->topology));
    s->is_closed = 2 * s->topology->n_edges == 3 * s->topology->n_triangles;
    PetscCall(memory_alloc("surface nodes", 3 * b.n_nodes, sizeof(double), &s->x0));
    PetscCall(memory_alloc("surface nodes", 3 * b.n_nodes, sizeof(double), &s->x));
    if (s->frame >= 0) fix_to_frame(s, &b);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

void mesh_contact_set_scheme(mesh_contact *c, contact_scheme scheme) { c->scheme = scheme; }

void mesh_contact_set_detection(mesh_contact *c, contact_detection detection) { c->detection = detection; }

void mesh_contact_set_acceleration(mesh_contact *c, double g0) { c->acceleration = g0; }

PetscErrorCode mesh_contact_add_edges(mesh_contact *c)
{
  PetscFunctionBegin;
  PetscCall(mesh_edges_create(c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void forget_spilled(mesh_contact *c, int64_t i)
{
  memory_free(&c->linear[i].spilled);
  memory_free(&c->linear[i].spilled_node);
}

void mesh_contact_destroy(mesh_contact **out)
{
  if (!out || !*out) return;
  mesh_contact *c = *out;
  mesh_edges_destroy(&c->edges);
  for (int m = 0; m < c->n_meshes; ++m) {
    triangle_topology_destroy(&c->mesh[m].topology);
    memory_free(&c->mesh[m].x0);
    memory_free(&c->mesh[m].x);
  }
  for (int64_t i = 0; i < c->capacity; ++i) forget_spilled(c, i);
  contact_rows_destroy(&c->rows);
  contact_rows_destroy(&c->node_rows);
  rigid_sides_destroy(&c->sides);
  broad_phase_destroy(&c->broad);
  void *arrays[] = {&c->mesh, &c->known, &c->stored_source, &c->stored_object, &c->stored_triangle, &c->stored_side, &c->stored_point,
                    &c->stored_weight, &c->stored_speed, &c->frames0, &c->candidate, &c->hit_time, &c->hit, &c->pair, &c->linear,
                    &c->row_list, &c->vertex_x, &c->vertex_end, &c->vertex_body, &c->point_vertex, &c->point_source, &c->point_index, &c->point_id, &c->point_end,
                    &c->point_row, &c->row_block, &c->row_weight, &c->node_force_block, &c->node_force};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; ++i) memory_free(arrays[i]);
  memory_free(out);
}

/* ---- pairs ------------------------------------------------------------------------------------------------------------------ */

static PetscErrorCode reserve_pairs(mesh_contact *c, int64_t n)
{
  PetscFunctionBegin;
  PetscCall(rigid_sides_reserve(&c->sides, n));
  if (n <= c->capacity) PetscFunctionReturn(PETSC_SUCCESS);
  const int64_t m = n + n / 2 + 16;
  PetscCall(memory_resize("mesh pairs", m, sizeof *c->pair, &c->pair));
  PetscCall(memory_resize("mesh pair derivatives", m, sizeof *c->linear, &c->linear));
  PetscCall(memory_resize("mesh pair rows", m, sizeof *c->row_list, &c->row_list));
  for (int64_t i = c->capacity; i < m; ++i) c->linear[i] = (mesh_linear){0};
  c->capacity = m;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mesh_contact_add(mesh_contact *c, int32_t i_source, int64_t i_point, int64_t id, const double x0[3], int32_t i_mesh,
                                const mesh_attachment *X, int32_t side)
{
  PetscFunctionBegin;
  PetscCall(reserve_pairs(c, c->n + 1));
  const contact_source *source = &c->sources[i_source];
  const contact_law    *law    = &c->law[(int64_t)source->body_id * c->n_bodies + c->mesh[i_mesh].body_id];
  mesh_pair            *p      = &c->pair[c->n];
  *p   = (mesh_pair){.X = *X, .at = *X, .side = side, .is_reached = true, .k = law->stiffness, .gain = 1.0};
  p->cone           = (relax_cone){law->friction, law->friction_across, {law->direction[0], law->direction[1], law->direction[2]}};
  p->bounce.damping = law->damping;
  p->q = (contact_candidate){.key      = {source->body_id, c->mesh[i_mesh].body_id, id},
                             .i_source = i_source,
                             .i_object = i_mesh,
                             .i_point  = i_point,
                             .attachment = -1};
  v3_copy(p->q.x, x0);
  p->source_frame = source->b->ops->points == POINT_RIGID ? source->frame : -1;
  p->object_frame = c->mesh[i_mesh].frame;
  v3_copy(p->origin, x0);
  if (p->source_frame >= 0) {
    const rigid_frame *frame = &c->frames0[p->source_frame];
    double             arm[3];
    v3_sub(arm, x0, frame->c);
    m3_mulv_t(p->origin, frame->R, arm);
  }
  forget_spilled(c, c->n);
  rigid_sides_add(&c->sides, c->n, p->source_frame, p->object_frame);
  c->row_list[c->n++]       = p->q;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mesh_contact_list(mesh_contact *c)
{
  PetscFunctionBegin;
  PetscCall(contact_rows_build(c->rows, c->n, c->row_list, c->sources, c->n_blocks));
  PetscCall(rigid_sides_list(&c->sides, c->n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void mesh_contact_pose(const contact_surface *s, const rigid_frame *frame, double *x)
{
  const int64_t n = s->topology->n_vertices;
#pragma omp parallel for schedule(static) if (n > 4096)
  for (int64_t i = 0; i < n; ++i) {
    m3_mulv(x + 3 * i, frame->R, s->own + 3 * i);
    v3_axpy(x + 3 * i, 1.0, frame->c);
  }
}

static int compare_memory(const void *a, const void *b)
{
  const mesh_memory *p = a, *q = b;
  if (p->source != q->source) return p->source < q->source ? -1 : 1;
  if (p->point != q->point) return p->point < q->point ? -1 : 1;
  return (p->object > q->object) - (p->object < q->object);
}

/* Pairs that are remembered. Points of bodies whose points come and go are looked up by identity. */
static PetscErrorCode recall(mesh_contact *c)
{
  PetscFunctionBegin;
  for (int s = 0; s < c->n_sources; ++s) {
    const body *b = c->sources[s].b;
    mesh_memory key = {.source = c->sources[s].body_id};
    int64_t     first = 0, end, clusters = b->ops->n_clusters(b);
    while (first < c->n_known && c->known[first].source < key.source) ++first;
    for (end = first; end < c->n_known && c->known[end].source == key.source;) ++end;
    for (int64_t k = 0; k < clusters && end > first; ++k) {
      double  center[3], radius, x[3];
      int64_t from, to;
      b->ops->cluster(b, k, center, &radius, &from, &to);
      for (int64_t i = from; i < to; ++i) {
        int64_t lo = first, hi = end;
        key.point  = b->ops->point(b, i, x);
        while (lo < hi) {
          const int64_t mid = lo + (hi - lo) / 2;
          if (c->known[mid].point < key.point) lo = mid + 1;
          else hi = mid;
        }
        for (; lo < end && c->known[lo].point == key.point; ++lo)
          for (int m = 0; m < c->n_meshes; ++m)
            if (c->mesh[m].body_id == c->known[lo].object) {
              PetscCall(mesh_contact_add(c, s, i, key.point, x, m, &c->known[lo].at, c->known[lo].side));
              c->pair[c->n - 1].bounce.speed = c->known[lo].speed;
            }
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mesh_contact_begin_step(mesh_contact *c, int n_sources, const contact_source *sources, int n_frames,
                                       const rigid_frame *frames0, double dt, double margin, int64_t n_blocks)
{
  PetscFunctionBegin;
  c->n_sources = n_sources;
  c->sources   = sources;
  c->n_frames  = n_frames;
  c->dt        = dt;
  c->margin = c->first_margin = margin;
  c->n_blocks  = n_blocks;
  c->n         = 0;
  c->statistics = (relax_statistics){0};
  if (n_frames > c->frame_capacity) {
    c->frame_capacity = n_frames;
    PetscCall(memory_resize("frames", n_frames, sizeof *c->frames0, &c->frames0));
  }
  if (n_frames > 0) memcpy(c->frames0, frames0, (size_t)n_frames * sizeof *frames0);
  PetscCall(rigid_sides_begin(&c->sides, dt, n_frames, frames0));
  for (int m = 0; m < c->n_meshes; ++m) {
    contact_surface *to = &c->mesh[m];
    body_surface     s;
    to->b->ops->surface(to->b, &s);
    if (to->frame < 0) memcpy(to->x0, s.x, (size_t)(3 * s.n_nodes) * sizeof(double));
    else mesh_contact_pose(to, &frames0[to->frame], to->x0);
  }
  PetscCall(recall(c));
  PetscCall(mesh_contact_search(c));
  if (c->is_fresh) PetscCall(mesh_contact_find_inside(c));
  for (int64_t i = 0; i < c->n && c->scheme != CONTACT_IMPLICIT; ++i) mesh_contact_start(c, i);
  PetscCall(mesh_contact_list(c));
  if (c->edges) PetscCall(mesh_edges_begin_step(c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode reserve_known(mesh_contact *c, int64_t n)
{
  PetscFunctionBegin;
  if (n <= c->known_capacity) PetscFunctionReturn(PETSC_SUCCESS);
  c->known_capacity = n + n / 2;
  PetscCall(memory_resize("mesh attachments", c->known_capacity, sizeof *c->known, &c->known));
  int32_t **numbers[] = {&c->stored_source, &c->stored_object, &c->stored_triangle, &c->stored_side};
  for (int k = 0; k < 4; ++k) PetscCall(memory_resize("mesh attachments", c->known_capacity, sizeof(int32_t), numbers[k]));
  PetscCall(memory_resize("mesh attachments", c->known_capacity, sizeof(int64_t), &c->stored_point));
  PetscCall(memory_resize("mesh attachments", 3 * c->known_capacity, sizeof(double), &c->stored_weight));
  PetscCall(memory_resize("mesh attachments", c->known_capacity, sizeof(double), &c->stored_speed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mesh_contact_settle(mesh_contact *c, const double *v, const rigid_frame *frames)
{
  double *unused = NULL;
  int     bad_source;
  int64_t bad_point;
  PetscFunctionBegin;
  PetscCall(mesh_contact_residual(c, v, frames, unused, false, &bad_source, &bad_point));
  PetscCheck(bad_source < 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "a state was accepted that is not finite");
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mesh_contact_end_step(mesh_contact *c)
{
  PetscFunctionBegin;
  PetscCall(reserve_known(c, c->n));
  c->n_known = 0;
  for (int64_t i = 0; i < c->n; ++i) {
    const mesh_pair *p = &c->pair[i];
    if (p->is_active) c->known[c->n_known++] = (mesh_memory){p->q.key.source, p->q.key.object, p->q.key.point, p->at, p->side, restitution_speed(&p->bounce)};
  }
  if (c->n_known > 0) qsort(c->known, (size_t)c->n_known, sizeof *c->known, compare_memory);
  for (int64_t i = 0; i < c->n_known; ++i) {
    const mesh_memory *k  = &c->known[i];
    c->stored_source[i]   = k->source;
    c->stored_object[i]   = k->object;
    c->stored_triangle[i] = k->at.triangle;
    c->stored_side[i]     = k->side;
    c->stored_point[i]    = k->point;
    c->stored_speed[i]    = k->speed;
    v3_copy(c->stored_weight + 3 * i, k->at.weight);
  }
  c->is_fresh = false;
  if (c->edges) PetscCall(mesh_edges_end_step(c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- looking at it ------------------------------------------------------------------------------------------------------------- */

int64_t mesh_contact_n_pairs(const mesh_contact *c) { return c->n + (c->edges ? c->edges->n : 0); }

void mesh_contact_pair(const mesh_contact *c, int64_t i, mesh_pair_view *out)
{
  if (i >= c->n) {
    mesh_edges_pair(c, i - c->n, out);
    return;
  }
  const mesh_pair *p = &c->pair[i];
  *out = (mesh_pair_view){p->q.key.source, p->q.key.object, p->q.key.point, p->is_active || v3_dot(p->f, p->f) > 0.0, p->is_sliding, p->is_on_triangle, p->k, p->gain,
                          p->cone, {0.0}, {0.0}, {0.0}, {0.0}, {0.0}, {0.0}};
  const contact_surface *s = &c->mesh[p->q.i_object];
  out->cone                = relax_mesh_cone_in(s->topology, s->x, &p->cone, s->rest, p->at.triangle);
  const int32_t         *X = s->topology->tri + 3 * (int64_t)p->X.triangle, *Y = s->topology->tri + 3 * (int64_t)p->at.triangle;
  double                 e1[3], e2[3];
  for (int k = 0; k < 3; ++k) v3_axpy(out->X, p->X.weight[k], s->x + 3 * (int64_t)X[k]);
  v3_sub(e1, s->x + 3 * (int64_t)Y[1], s->x + 3 * (int64_t)Y[0]);
  v3_sub(e2, s->x + 3 * (int64_t)Y[2], s->x + 3 * (int64_t)Y[0]);
  v3_cross(out->plane, e1, e2);
  const double length = v3_norm(out->plane);
  if (length > 0.0) v3_scale(out->plane, p->side / length, out->plane);
  v3_copy(out->Z, p->Z);
  v3_copy(out->Y, p->Y);
  v3_copy(out->f, p->f);
  v3_copy(out->normal, p->normal);
}

const relax_statistics *mesh_contact_statistics(const mesh_contact *c) { return &c->statistics; }

static PetscErrorCode resize(void *context, int64_t n)
{
  mesh_contact *c = context;
  PetscFunctionBegin;
  PetscCall(reserve_known(c, n));
  c->n_known = n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Files are not trusted. */
static bool makes_sense(const mesh_contact *c, int64_t i)
{
  const mesh_memory *k    = &c->known[i];
  const double      *w    = k->at.weight;
  int                mesh = -1;
  for (int m = 0; m < c->n_meshes; ++m)
    if (c->mesh[m].body_id == k->object) mesh = m;
  return mesh >= 0 && k->source >= 0 && k->source < c->n_bodies && k->at.triangle >= 0 &&
         k->at.triangle < c->mesh[mesh].topology->n_triangles && w[0] >= 0.0 && w[1] >= 0.0 && w[2] >= 0.0 &&
         fabs(w[0] + w[1] + w[2] - 1.0) < 1e-9 && isfinite(k->speed) &&
         (k->side == 1 || k->side == -1) && (i == 0 || compare_memory(k - 1, k) < 0);
}

static PetscErrorCode restored(void *context)
{
  mesh_contact *c = context;
  PetscFunctionBegin;
  c->is_fresh = false;
  for (int64_t i = 0; i < c->n_known; ++i) {
    const double *w = c->stored_weight + 3 * i;
    c->known[i] = (mesh_memory){c->stored_source[i], c->stored_object[i], c->stored_point[i], {c->stored_triangle[i], {w[0], w[1], w[2]}},
                                c->stored_side[i], c->stored_speed[i]};
    PetscCheck(makes_sense(c, i), PETSC_COMM_SELF, PETSC_ERR_FILE_UNEXPECTED, "attachment %lld to a surface makes no sense", (long long)i);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mesh_contact_fields(mesh_contact *c, field_table *table)
{
  const int    flags = FIELD_CHECKPOINT;
  field_group *g;
  PetscFunctionBegin;
  PetscCall(field_table_add_group(table, "contact/mesh_attachments", FIELD_GROUP_PLAIN, &c->n_known, c, &g));
  g->resize   = resize;
  g->restored = restored;
  PetscCall(field_table_add(table, g, "source", "1", FIELD_I32, 1, &c->stored_source, flags, "body that owns the point"));
  PetscCall(field_table_add(table, g, "object", "1", FIELD_I32, 1, &c->stored_object, flags, "body that is touched"));
  PetscCall(field_table_add(table, g, "point", "1", FIELD_I64, 1, &c->stored_point, flags, "the point's identity in its body"));
  PetscCall(field_table_add(table, g, "triangle", "1", FIELD_I32, 1, &c->stored_triangle, flags, "triangle of the surface"));
  PetscCall(field_table_add(table, g, "weights", "1", FIELD_F64, 3, &c->stored_weight, flags, "of the triangle's corners"));
  PetscCall(field_table_add(table, g, "side", "1", FIELD_I32, 1, &c->stored_side, flags, "1: came from outside, -1: from the back"));
  PetscCall(field_table_add(table, g, "speed", "m/s", FIELD_F64, 1, &c->stored_speed, flags, "fastest approach since the pair came to be; 0 without restitution"));
  if (c->edges) PetscCall(mesh_edges_fields(c, table));
  PetscFunctionReturn(PETSC_SUCCESS);
}
