/* Penalty contact of points with triangle surfaces, see penalty_mesh.h: detection, relaxation, forces, derivatives, state. */
#include "contact/penalty/penalty_mesh.h"
#include "contact/penalty/penalty_edges.h"
#include "contact/penalty/penalty_mesh_entry.h"
#include "geometry/collision/ccd.h"
#include "geometry/triangle_mesh/triangle_bvh.h"
#include "core/math3.h"
#include "core/memory.h"
#include "contact/detection/contact_stages.h"
#include <stdlib.h>
#include <string.h>

/* Compute candidate[]: pairs within c->margin of each other at the start of the step. */
static PetscErrorCode search_candidates(mesh_contact *c);
/* In the first step of a run: create pairs for points that are inside closed surfaces. */
static PetscErrorCode find_points_inside(mesh_contact *c);
/* Lagged force of pair i at the positions at the start of the step, with X relaxed there. */
static void start_lagged_force(mesh_contact *c, int64_t i);
/* After a further search in a step: set `pair` of the candidates that are pairs already. */
static PetscErrorCode relink_candidates(mesh_contact *c);

/* Global block of a node of the surface of a pair. */
static inline int64_t node_block(const mesh_contact *c, const mesh_linear *l, int32_t node)
{
  return c->mesh[l->mesh].b->first_block + node;
}
static inline bool acts_on_nodes(const mesh_contact *c, int64_t i) { return c->sides.is_active[i] && c->sides.object[i] < 0; }

/* ---- creation ---------------------------------------------------------------------------------------------------------------- */

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

PetscErrorCode mesh_contact_create(int n_bodies, const pair_classes *pairs, const contact_law *law, int n, const contact_mesh *meshes,
                                   mesh_contact **out)
{
  PetscFunctionBegin;
  PetscCall(memory_alloc("mesh contact", 1, sizeof **out, out));
  mesh_contact *c = *out;
  c->n_bodies     = n_bodies;
  c->law          = law;
  c->pairs        = pairs;
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
    PetscCall(MEMORY_ALLOC("surface nodes", ARRAY(s->x0, 3 * b.n_nodes), ARRAY(s->x, 3 * b.n_nodes)));
    if (s->frame >= 0) fix_to_frame(s, &b);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

void mesh_contact_set_scheme(mesh_contact *c, contact_scheme scheme) { c->scheme = scheme; }

void mesh_contact_set_rests(mesh_contact *c, const contact_rests *rests) { c->rests = rests; }
void mesh_contact_set_acceleration(mesh_contact *c, double g0) { c->acceleration = g0; }

PetscErrorCode mesh_contact_add_edges(mesh_contact *c)
{
  PetscFunctionBegin;
  PetscCall(mesh_edges_create(c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void forget_spilled(mesh_contact *c, int64_t i) { MEMORY_FREE(&c->linear[i].spilled, &c->linear[i].spilled_node); }

void mesh_contact_destroy(mesh_contact **out)
{
  if (!out || !*out) return;
  mesh_contact *c = *out;
  mesh_edges_destroy(&c->edges);
  for (int m = 0; m < c->n_meshes; ++m) {
    triangle_topology_destroy(&c->mesh[m].topology);
    MEMORY_FREE(&c->mesh[m].x0, &c->mesh[m].x);
  }
  for (int64_t i = 0; i < c->capacity; ++i) forget_spilled(c, i);
  contact_rows_destroy(&c->rows);
  contact_rows_destroy(&c->node_rows);
  rigid_sides_destroy(&c->sides);
  broad_phase_destroy(&c->broad);
  MEMORY_FREE(&c->mesh, &c->known, &c->stored_source, &c->stored_object, &c->stored_triangle, &c->stored_side, &c->stored_point,
              &c->stored_weight, &c->stored_speed, &c->stored_rest, &c->frames0, &c->candidate, &c->hit_time, &c->hit, &c->pair, &c->linear,
              &c->row_list, &c->vertex_x, &c->vertex_end, &c->vertex_body, &c->point_vertex, &c->point_source, &c->point_index,
              &c->point_id, &c->point_end, &c->point_row, &c->row_block, &c->row_weight, &c->node_force_block, &c->node_force, out);
}

/* ---- pairs ------------------------------------------------------------------------------------------------------------------ */

static PetscErrorCode reserve_pairs(mesh_contact *c, int64_t n)
{
  PetscFunctionBegin;
  PetscCall(rigid_sides_reserve(&c->sides, n));
  PetscCall(MEMORY_RESERVE("mesh pairs", n, &c->capacity, ARRAY(c->pair, 1), ARRAY(c->linear, 1), ARRAY(c->row_list, 1)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The point of a pair at the start of the step, moved out of the surface along the normal of its triangle by the rest depth: there the
 * spring has no force. */
static void point_at_rest(const mesh_contact *c, const mesh_pair *p, const double x0[3], int32_t i_mesh, double x[3])
{
  const contact_surface *s = &c->mesh[i_mesh];
  const int32_t         *v = s->topology->tri + 3 * (int64_t)p->X.triangle;
  double                 e1[3], e2[3], n[3];
  v3_copy(x, x0);
  v3_sub(e1, s->x0 + 3 * (int64_t)v[1], s->x0 + 3 * (int64_t)v[0]);
  v3_sub(e2, s->x0 + 3 * (int64_t)v[2], s->x0 + 3 * (int64_t)v[0]);
  v3_cross(n, e1, e2);
  if (p->rest > 0.0 && v3_norm(n) > 0.0) v3_axpy(x, p->side * p->rest / v3_norm(n), n);
}

/* Append a pair. */
static PetscErrorCode add_pair(mesh_contact *c, int32_t i_source, int64_t i_point, int64_t id, const double x0[3], int32_t i_mesh,
                               const mesh_attachment *X, int32_t side, double rest)
{
  PetscFunctionBegin;
  PetscCall(reserve_pairs(c, c->n + 1));
  const contact_source *source = &c->sources[i_source];
  const contact_law    *law    = &c->law[pair_slot(c->pairs, c->n_bodies, source->body_id, c->mesh[i_mesh].body_id)];
  mesh_pair            *p      = &c->pair[c->n];
  *p                = (mesh_pair){.X = *X, .first = *X, .at = *X, .side = side, .is_reached = true, .k = law->stiffness, .gain = 1.0};
  p->cone           = (relax_cone){law->friction, law->friction_across, {law->direction[0], law->direction[1], law->direction[2]}};
  p->bounce.damping = law->damping;
  p->rest           = fmin(rest, contact_rest_depth(c->rests, source->body_id, c->mesh[i_mesh].body_id));
  p->q              = (contact_candidate){.key        = {source->body_id, c->mesh[i_mesh].body_id, id},
                                          .i_source   = i_source,
                                          .i_object   = i_mesh,
                                          .i_point    = i_point,
                                          .attachment = -1};
  point_at_rest(c, p, x0, i_mesh, p->q.x);
  p->source_frame = source->b->ops->points == POINT_RIGID ? source->frame : -1;
  p->object_frame = c->mesh[i_mesh].frame;
  v3_copy(p->origin, p->q.x);
  if (p->source_frame >= 0) {
    const rigid_frame *frame = &c->frames0[p->source_frame];
    rigid_frame_to_local(frame, p->q.x, p->origin);
  }
  forget_spilled(c, c->n);
  rigid_sides_add(&c->sides, c->n, p->source_frame, p->object_frame);
  c->row_list[c->n++] = p->q;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* After all pairs have been added: build their rows and the lists of rigid bodies. */
static PetscErrorCode list_pairs(mesh_contact *c)
{
  PetscFunctionBegin;
  PetscCall(contact_rows_build(c->rows, c->n, c->row_list, c->sources, c->n_blocks));
  PetscCall(rigid_sides_list(&c->sides, c->n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The nodes of a rigid surface [n_nodes][3] in a pose. */
static void pose_nodes(const contact_surface *s, const rigid_frame *frame, double *x)
{
  const int64_t n = s->topology->n_vertices;
#pragma omp parallel for schedule(static) if (n > 4096)
  for (int64_t i = 0; i < n; ++i) { rigid_frame_to_world(frame, s->own + 3 * i, x + 3 * i); }
}

static int compare_memory(const void *a, const void *b)
{
  const mesh_memory *p = a, *q = b;
  if (p->source != q->source) return p->source < q->source ? -1 : 1;
  if (p->point != q->point) return p->point < q->point ? -1 : 1;
  return (p->object > q->object) - (p->object < q->object);
}

/* Restore the stored pairs. Points of bodies with varying points are found by identity. */
static PetscErrorCode recall(mesh_contact *c)
{
  PetscFunctionBegin;
  for (int s = 0; s < c->n_sources; ++s) {
    const body *b     = c->sources[s].b;
    mesh_memory key   = {.source = c->sources[s].body_id};
    int64_t     first = 0, end, clusters = b->ops->n_clusters(b);
    while (first < c->n_known && c->known[first].source < key.source) ++first;
    for (end = first; end < c->n_known && c->known[end].source == key.source;) ++end;
    for (int64_t k = 0; k < clusters && end > first; ++k) {
      double  center[3], radius, x[3];
      int64_t from, to;
      b->ops->cluster(b, k, center, &radius, &from, &to);
      for (int64_t i = from; i < to; ++i) {
        int64_t lo = first, hi = end;
        key.point = b->ops->point(b, i, x);
        while (lo < hi) {
          const int64_t mid = lo + (hi - lo) / 2;
          if (c->known[mid].point < key.point) lo = mid + 1;
          else hi = mid;
        }
        for (; lo < end && c->known[lo].point == key.point; ++lo)
          for (int m = 0; m < c->n_meshes; ++m)
            if (c->mesh[m].body_id == c->known[lo].object) {
              PetscCall(add_pair(c, s, i, key.point, x, m, &c->known[lo].at, c->known[lo].side, c->known[lo].rest));
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
  c->n_blocks                 = n_blocks;
  c->n                        = 0;
  c->start_energy             = 0.0;
  c->statistics               = (relax_statistics){0};
  PetscCall(memory_reserve("frames", n_frames, sizeof *c->frames0, &c->frame_capacity, &c->frames0));
  if (n_frames > 0) memcpy(c->frames0, frames0, (size_t)n_frames * sizeof *frames0);
  PetscCall(rigid_sides_begin(&c->sides, dt, n_frames, frames0));
  for (int m = 0; m < c->n_meshes; ++m) {
    contact_surface *to = &c->mesh[m];
    body_surface     s;
    to->b->ops->surface(to->b, &s);
    if (to->frame < 0) memcpy(to->x0, s.x, (size_t)(3 * s.n_nodes) * sizeof(double));
    else pose_nodes(to, &frames0[to->frame], to->x0);
  }
  PetscCall(recall(c));
  PetscCall(search_candidates(c));
  if (c->is_fresh) PetscCall(find_points_inside(c));
  for (int64_t i = 0; i < c->n && c->scheme != CONTACT_IMPLICIT; ++i) start_lagged_force(c, i);
  PetscCall(list_pairs(c));
  if (c->edges) PetscCall(mesh_edges_begin_step(c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode penalty_mesh_resize(void *context, int64_t n)
{
  mesh_contact *c = context;
  PetscFunctionBegin;
  PetscCall(MEMORY_RESERVE("mesh attachments", n, &c->known_capacity, ARRAY(c->known, 1), ARRAY(c->stored_source, 1),
                           ARRAY(c->stored_object, 1), ARRAY(c->stored_triangle, 1), ARRAY(c->stored_side, 1), ARRAY(c->stored_point, 1),
                           ARRAY(c->stored_weight, 3), ARRAY(c->stored_speed, 1), ARRAY(c->stored_rest, 1)));
  c->n_known = n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mesh_contact_settle(mesh_contact *c, const double *v, const rigid_frame *frames)
{
  double *unused = NULL;
  int     bad_source;
  int64_t bad_point;
  PetscFunctionBegin;
  PetscCall(mesh_contact_residual(c, v, frames, unused, false, &bad_source, &bad_point));
  PetscCheck(bad_source < 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "the accepted state contains a value that is not finite");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Record of a pair for the next step; false: the pair is not stored. A point that is inside by at most the rest depth has no force, but
 * remains a pair: it has no further collision with the surface. */
static bool keep(const mesh_contact *c, const mesh_pair *p, mesh_memory *out)
{
  const contact_surface *s = &c->mesh[p->q.i_object];
  mesh_relaxation        r;
  double                 outward[3];
  *out = (mesh_memory){p->q.key.source, p->q.key.object, p->q.key.point, p->at, p->side, restitution_speed(&p->bounce), p->rest};
  if (p->is_active || !(p->rest > 0.0)) return p->is_active;
  relax_mesh(s->topology, s->x, 0.0, &p->X, p->Z, false, &r);
  v3_sub(outward, p->Z, r.Y);
  out->at = r.at;
  out->rest -= fmax(0.0, p->side * v3_dot(outward, r.normal));
  return out->rest > 0.0 && !r.has_left;
}

PetscErrorCode mesh_contact_end_step(mesh_contact *c)
{
  PetscFunctionBegin;
  PetscCall(penalty_mesh_resize(c, c->n));
  c->n_known = 0;
  for (int64_t i = 0; i < c->n; ++i) c->n_known += keep(c, &c->pair[i], &c->known[c->n_known]);
  if (c->n_known > 0) qsort(c->known, (size_t)c->n_known, sizeof *c->known, compare_memory);
  for (int64_t i = 0; i < c->n_known; ++i) {
    const mesh_memory *k  = &c->known[i];
    c->stored_source[i]   = k->source;
    c->stored_object[i]   = k->object;
    c->stored_triangle[i] = k->at.triangle;
    c->stored_side[i]     = k->side;
    c->stored_point[i]    = k->point;
    c->stored_speed[i]    = k->speed;
    c->stored_rest[i]     = k->rest;
    v3_copy(c->stored_weight + 3 * i, k->at.weight);
  }
  c->is_fresh = false;
  if (c->edges) PetscCall(mesh_edges_end_step(c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- results ------------------------------------------------------------------------------------------------------------- */

int64_t mesh_contact_n_pairs(const mesh_contact *c) { return c->n + (c->edges ? c->edges->n : 0); }

void mesh_contact_pair(const mesh_contact *c, int64_t i, mesh_pair_view *out)
{
  if (i >= c->n) {
    mesh_edges_pair(c, i - c->n, out);
    return;
  }
  const mesh_pair *p       = &c->pair[i];
  *out                     = (mesh_pair_view){p->q.key.source,
                                              p->q.key.object,
                                              p->q.key.point,
                                              p->is_active || v3_dot(p->f, p->f) > 0.0,
                                              p->is_sliding,
                                              p->is_on_triangle,
                                              p->k,
                                              p->gain,
                                              p->cone,
                                              {0.0},
                                              {0.0},
                                              {0.0},
                                              {0.0},
                                              {0.0},
                                              {0.0}};
  const contact_surface *s = &c->mesh[p->q.i_object];
  out->cone                = relax_mesh_cone_in(s->topology, s->x, &p->cone, s->rest, p->at.triangle);
  const int32_t *X = s->topology->tri + 3 * (int64_t)p->X.triangle, *Y = s->topology->tri + 3 * (int64_t)p->at.triangle;
  double         e1[3], e2[3];
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

double                  mesh_contact_start_energy(const mesh_contact *c) { return c->start_energy; }
const relax_statistics *mesh_contact_statistics(const mesh_contact *c) { return &c->statistics; }

/* Whether pair i of a checkpoint is valid; checkpoints are untrusted. */
static bool is_plausible_pair(const mesh_contact *c, int64_t i)
{
  const mesh_memory *k    = &c->known[i];
  const double      *w    = k->at.weight;
  int                mesh = -1;
  for (int m = 0; m < c->n_meshes; ++m)
    if (c->mesh[m].body_id == k->object) mesh = m;
  return mesh >= 0 && k->source >= 0 && k->source < c->n_bodies && k->at.triangle >= 0 &&
         k->at.triangle < c->mesh[mesh].topology->n_triangles && w[0] >= 0.0 && w[1] >= 0.0 && w[2] >= 0.0 &&
         fabs(w[0] + w[1] + w[2] - 1.0) < 1e-9 && isfinite(k->speed) && k->rest >= 0.0 && (k->side == 1 || k->side == -1) &&
         (i == 0 || compare_memory(k - 1, k) < 0);
}

static PetscErrorCode penalty_mesh_restored(void *context)
{
  mesh_contact *c = context;
  PetscFunctionBegin;
  c->is_fresh = false;
  for (int64_t i = 0; i < c->n_known; ++i) {
    const double *w = c->stored_weight + 3 * i;
    c->known[i] = (mesh_memory){c->stored_source[i], c->stored_object[i], c->stored_point[i], {c->stored_triangle[i], {w[0], w[1], w[2]}},
                                c->stored_side[i],   c->stored_speed[i],  c->stored_rest[i]};
    PetscCheck(is_plausible_pair(c, i), PETSC_COMM_SELF, PETSC_ERR_FILE_UNEXPECTED, "checkpoint: attachment %lld to a surface is invalid",
               (long long)i);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mesh_contact_fields(mesh_contact *c, field_table *table)
{
  const int    flags = FIELD_CHECKPOINT;
  field_group *g;
  PetscFunctionBegin;
  PetscCall(field_table_add_group(table, "contact/mesh_attachments", FIELD_GROUP_PLAIN, &c->n_known, c, &g));
  g->resize   = penalty_mesh_resize;
  g->restored = penalty_mesh_restored;
  PetscCall(field_table_add(table, g, "source", "1", FIELD_I32, 1, &c->stored_source, flags, "body that owns the point"));
  PetscCall(field_table_add(table, g, "object", "1", FIELD_I32, 1, &c->stored_object, flags, "body with the surface"));
  PetscCall(field_table_add(table, g, "point", "1", FIELD_I64, 1, &c->stored_point, flags, "identity of the point in its body"));
  PetscCall(field_table_add(table, g, "triangle", "1", FIELD_I32, 1, &c->stored_triangle, flags, "triangle of the surface"));
  PetscCall(field_table_add(table, g, "weights", "1", FIELD_F64, 3, &c->stored_weight, flags, "barycentric coordinates"));
  PetscCall(field_table_add(table, g, "side", "1", FIELD_I32, 1, &c->stored_side, flags, "1: came from outside, -1: from the back"));
  PetscCall(field_table_add(table, g, "speed", "m/s", FIELD_F64, 1, &c->stored_speed, flags,
                            "largest approach speed so far; 0 without restitution"));
  PetscCall(
      field_table_add(table, g, "rest", "m", FIELD_F64, 1, &c->stored_rest, flags, "depth at the start of the run, not yet corrected"));
  if (c->edges) PetscCall(mesh_edges_fields(c, table));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- detection of collisions ---- */

/* Candidates for new pairs: points near triangles from the broad phase, then continuous collision detection on the motion to a
 * trial state. */

/* Distance of a collision relative to the longest edge of the triangle: much larger than round-off, much smaller than any penetration. */
#define CCD_TOLERANCE 1e-10

/* Maximum length of the candidate list of a step, relative to the number of points and triangles. For longer lists, each evaluation
 * searches its own candidates, which takes no longer than testing the list. Line searches with stiff contact evaluate states far from the
 * start of the step; their margin would add nearly all pairs to the list for all further evaluations of the step. */
enum { LISTED_PER_PRIMITIVE = 4 };

/* Position of point p of the list at velocities v. */
static void point_at(const mesh_contact *c, int64_t p, const double *v, const rigid_frame *frames, double Z[3])
{
  const contact_source *s  = &c->sources[c->point_source[p]];
  const double         *x0 = c->vertex_x + 3 * (int64_t)c->point_vertex[p];
  if (s->b->ops->points == POINT_RIGID) {
    const rigid_frame *before = &c->frames0[s->frame], *now = &frames[s->frame];
    double             own[3];
    rigid_frame_to_local(before, x0, own);
    rigid_frame_to_world(now, own, Z);
    return;
  }
  v3_copy(Z, x0);
  for (int64_t k = c->point_row[p]; k < c->point_row[p + 1]; ++k) v3_axpy(Z, c->dt * c->row_weight[k], v + 3 * (int64_t)c->row_block[k]);
}

/* ---- candidates --------------------------------------------------------------------------------------------------------------- */

static PetscErrorCode add_vertex(mesh_contact *c, const double x[3], int32_t body_id)
{
  PetscFunctionBegin;
  PetscCall(MEMORY_RESERVE("surface vertices", c->n_vertices + 1, &c->vertex_capacity, ARRAY(c->vertex_x, 3), ARRAY(c->vertex_end, 3),
                           ARRAY(c->vertex_body, 1)));
  v3_copy(c->vertex_x + 3 * c->n_vertices, x);
  c->vertex_body[c->n_vertices++] = body_id;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Append the row (blocks and weights) of the next point. */
static PetscErrorCode add_row(mesh_contact *c, int32_t i_source, int64_t i_point)
{
  const body   *b  = c->sources[i_source].b;
  const int64_t at = c->n_points > 0 ? c->point_row[c->n_points] : 0;
  PetscFunctionBegin;
  c->point_row[c->n_points] = c->point_row[c->n_points + 1] = at;
  if (b->ops->points == POINT_RIGID) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(
      MEMORY_RESERVE("surface point rows", at + POINT_MAX_WEIGHTS, &c->row_capacity, ARRAY(c->row_block, 1), ARRAY(c->row_weight, 1)));
  const int n = b->ops->point_row(b, i_point, c->row_block + at, c->row_weight + at);
  for (int k = 0; k < n; ++k) c->row_block[at + k] += (int32_t)b->first_block;
  c->point_row[c->n_points + 1] = at + n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode add_point(mesh_contact *c, int64_t vertex, int32_t i_source, int64_t i_point, int64_t id)
{
  PetscFunctionBegin;
  PetscCall(MEMORY_RESERVE("surface points", c->n_points + 2, &c->point_capacity, ARRAY(c->point_vertex, 1), ARRAY(c->point_source, 1),
                           ARRAY(c->point_index, 1), ARRAY(c->point_id, 1), ARRAY(c->point_end, 3), ARRAY(c->point_row, 1)));
  PetscCall(add_row(c, i_source, i_point));
  c->point_vertex[c->n_points] = (int32_t)vertex;
  c->point_source[c->n_points] = i_source;
  c->point_index[c->n_points]  = i_point;
  c->point_id[c->n_points++]   = id;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void surface_bounds(const contact_surface *s, double min[3], double max[3])
{
  for (int k = 0; k < 3; ++k) min[k] = INFINITY, max[k] = -INFINITY;
  for (int64_t i = 0; i < 3 * s->topology->n_triangles; ++i)
    for (int k = 0; k < 3; ++k) {
      const double x = s->x0[3 * (int64_t)s->topology->tri[i] + k];
      min[k] = fmin(min[k], x), max[k] = fmax(max[k], x);
    }
}

/* True if the bounding sphere of the points of a source overlaps that of a surface with which contact is enabled. */
static bool may_meet(const mesh_contact *c, int i_source, const double center[3], double radius, const double (*bounds)[6])
{
  for (int m = 0; m < c->n_meshes; ++m) {
    double far2 = 0.0;
    if (!(c->law[pair_slot(c->pairs, c->n_bodies, c->sources[i_source].body_id, c->mesh[m].body_id)].stiffness > 0.0)) continue;
    for (int k = 0; k < 3; ++k) {
      const double gap = fmax(0.0, fmax(bounds[m][k] - center[k], center[k] - bounds[m][3 + k]));
      far2 += gap * gap;
    }
    if (sqrt(far2) <= radius + 2.0 * c->margin) return true;
  }
  return false;
}

static int find_mesh_of(const mesh_contact *c, const body *b)
{
  for (int m = 0; m < c->n_meshes; ++m)
    if (c->mesh[m].b == b) return m;
  return -1;
}

/* List all nodes of the surfaces, then the points of other bodies that are near a surface. */
static PetscErrorCode penalty_mesh_gather(mesh_contact *c)
{
  double(*bounds)[6];
  PetscFunctionBegin;
  c->n_vertices = c->n_points = 0;
  PetscCall(memory_alloc("surface bounds", c->n_meshes, sizeof *bounds, &bounds));
  for (int m = 0; m < c->n_meshes; ++m) {
    contact_surface *s = &c->mesh[m];
    surface_bounds(s, bounds[m], bounds[m] + 3);
    s->first_vertex = c->n_vertices;
    for (int64_t i = 0; i < s->topology->n_vertices; ++i) PetscCall(add_vertex(c, s->x0 + 3 * i, s->body_id));
  }
  for (int s = 0; s < c->n_sources; ++s) {
    const body   *b        = c->sources[s].b;
    const int     mesh     = find_mesh_of(c, b);
    const int64_t clusters = b->ops->n_clusters(b);
    for (int64_t k = 0; k < clusters; ++k) {
      double  center[3], radius, x[3];
      int64_t first, end;
      b->ops->cluster(b, k, center, &radius, &first, &end);
      if (!may_meet(c, s, center, radius, (const double(*)[6])bounds)) continue;
      for (int64_t i = first; i < end; ++i) {
        const int64_t id = b->ops->point(b, i, x);
        if (mesh < 0) PetscCall(add_vertex(c, x, c->sources[s].body_id));
        PetscCall(add_point(c, mesh < 0 ? c->n_vertices - 1 : c->mesh[mesh].first_vertex + id, s, i, id));
      }
    }
  }
  memory_free(&bounds);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static int64_t n_triangles(const mesh_contact *c)
{
  int64_t n = 0;
  for (int m = 0; m < c->n_meshes; ++m) n += c->mesh[m].topology->n_triangles;
  return n;
}

static PetscErrorCode build_broad_phase(mesh_contact *c)
{
  int32_t *triangle;
  bool    *can_touch;
  int64_t  n = n_triangles(c), at = 0;
  PetscFunctionBegin;
  PetscCall(memory_alloc("surface triangles", 3 * n, sizeof *triangle, &triangle));
  for (int m = 0; m < c->n_meshes; ++m)
    for (int64_t i = 0; i < 3 * c->mesh[m].topology->n_triangles; ++i)
      triangle[at++] = (int32_t)c->mesh[m].first_vertex + c->mesh[m].topology->tri[i];
  const int64_t n_slots = pair_n_slots(c->pairs, c->n_bodies);
  PetscCall(memory_alloc("pairs of bodies", n_slots, sizeof *can_touch, &can_touch));
  for (int64_t i = 0; i < n_slots; ++i) can_touch[i] = c->law[i].stiffness > 0.0;
  const broad_phase_surfaces s = {.n_vertices  = c->n_vertices,
                                  .n_points    = c->n_points,
                                  .n_triangles = n,
                                  .point       = c->point_vertex,
                                  .triangle    = triangle,
                                  .n_bodies    = c->n_bodies,
                                  .body        = c->vertex_body,
                                  .can_touch   = can_touch,
                                  .pairs       = c->pairs};
  broad_phase_destroy(&c->broad);
  PetscCall(broad_phase_create(&s, &c->broad));
  MEMORY_FREE(&triangle, &can_touch);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static bool is_known(const mesh_contact *c, int32_t source, int64_t point, int32_t object)
{
  int64_t lo = 0, hi = c->n_known;
  while (lo < hi) {
    const int64_t      mid = lo + (hi - lo) / 2;
    const mesh_memory *k   = &c->known[mid];
    if (k->source < source || (k->source == source && (k->point < point || (k->point == point && k->object < object)))) lo = mid + 1;
    else hi = mid;
  }
  return lo < c->n_known && c->known[lo].source == source && c->known[lo].point == point && c->known[lo].object == object;
}

static PetscErrorCode list_candidates(mesh_contact *c, int64_t n, const broad_phase_pair *near)
{
  PetscFunctionBegin;
  PetscCall(MEMORY_RESERVE("near triangles", n, &c->candidate_capacity, ARRAY(c->candidate, 1), ARRAY(c->hit_time, 1), ARRAY(c->hit, 1)));
  for (int64_t i = 0; i < n; ++i) {
    int     m        = 0;
    int64_t triangle = near[i].second;
    while (triangle >= c->mesh[m].topology->n_triangles) triangle -= c->mesh[m++].topology->n_triangles;
    const int32_t   p = near[i].first;
    mesh_candidate *q = &c->candidate[i];
    *q = (mesh_candidate){c->point_source[p], m, (int32_t)triangle, p, c->point_index[p], c->point_id[p], {0.0, 0.0, 0.0}, false, -1};
    v3_copy(q->x0, c->vertex_x + 3 * (int64_t)c->point_vertex[p]);
    const mesh_candidate *last    = q - 1; /* candidates of one point and surface are consecutive */
    const bool            is_same = i > 0 && last->i_source == q->i_source && last->id == q->id && last->i_mesh == q->i_mesh;
    q->is_known                   = is_same ? last->is_known : is_known(c, c->sources[q->i_source].body_id, q->id, c->mesh[m].body_id);
  }
  c->n_candidates = n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode search_candidates(mesh_contact *c)
{
  const broad_phase_pair *near;
  int64_t                 n, bad;
  PetscFunctionBegin;
  c->n_candidates = 0;
  c->is_swept     = false;
  PetscCall(penalty_mesh_gather(c));
  if (c->n_points == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(build_broad_phase(c));
  PetscCall(broad_phase_update(c->broad, c->vertex_x, c->vertex_x, c->margin, &bad));
  if (bad >= 0) PetscFunctionReturn(PETSC_SUCCESS); /* the bodies report values that are not finite */
  PetscCall(broad_phase_point_triangle(c->broad, &n, &near));
  c->is_swept = n > LISTED_PER_PRIMITIVE * (c->n_points + n_triangles(c));
  if (!c->is_swept) PetscCall(list_candidates(c, n, near));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Search the candidates of the state in point_end and mesh[].x. The collisions are bit-identical to those of the list with the margin. Earlier
 * pairs that are no candidates are not reached. */
static PetscErrorCode penalty_mesh_sweep(mesh_contact *c)
{
  const broad_phase_pair *near;
  int64_t                 n, bad;
  double                  longest = 0.0;
  PetscFunctionBegin;
  for (int m = 0; m < c->n_meshes; ++m) {
    const contact_surface *s = &c->mesh[m];
    double                 bounds[6], diagonal[3];
    memcpy(c->vertex_end + 3 * s->first_vertex, s->x, (size_t)(3 * s->topology->n_vertices) * sizeof(double));
    surface_bounds(s, bounds, bounds + 3);
    v3_sub(diagonal, bounds + 3, bounds);
    longest = fmax(longest, v3_norm(diagonal));
  }
  for (int64_t p = 0; p < c->n_points; ++p) v3_copy(c->vertex_end + 3 * (int64_t)c->point_vertex[p], c->point_end + 3 * p);
  c->n_candidates = 0;
  PetscCall(broad_phase_update(c->broad, c->vertex_x, c->vertex_end, 2.0 * CCD_TOLERANCE * longest, &bad));
  if (bad < 0) {
    PetscCall(broad_phase_point_triangle(c->broad, &n, &near));
    PetscCall(list_candidates(c, n, near));
  }
  PetscCall(relink_candidates(c));
  for (int64_t i = 0; i < c->n; ++i)
    if (c->pair[i].is_new) c->pair[i].is_reached = false;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- collisions --------------------------------------------------------------------------------------------------------- */

static void candidate_path(const mesh_contact *c, const mesh_candidate *q, double x0[12], double x1[12])
{
  const contact_surface *s      = &c->mesh[q->i_mesh];
  const int32_t         *corner = s->topology->tri + 3 * (int64_t)q->triangle;
  v3_copy(x0, q->x0);
  v3_copy(x1, c->point_end + 3 * (int64_t)q->point);
  for (int k = 0; k < 3; ++k) {
    v3_copy(x0 + 3 + 3 * k, s->x0 + 3 * (int64_t)corner[k]);
    v3_copy(x1 + 3 + 3 * k, s->x + 3 * (int64_t)corner[k]);
  }
}

/* Test whether the point collides with the triangle, and from which side: the sign of the relative motion along the normal at that time. */
static void try_candidate(mesh_contact *c, int64_t i)
{
  const mesh_candidate *q = &c->candidate[i];
  double                x0[12], x1[12], e1[3], e2[3], n[3], longest = 0.0, w[3], motion[3];
  ccd_hit               hit;
  c->hit_time[i] = INFINITY;
  if (q->is_known) return;
  candidate_path(c, q, x0, x1);
  v3_sub(e1, x0 + 6, x0 + 3);
  v3_sub(e2, x0 + 9, x0 + 3);
  longest                 = sqrt(fmax(v3_dot(e1, e1), v3_dot(e2, e2)));
  const ccd_limits limits = {.separation = 0.0, .tolerance = CCD_TOLERANCE * longest};
  if (ccd_boxes_are_apart(x0, x1, 1, limits.tolerance) || !ccd_point_triangle_conservative(x0, x1, &limits, &hit)) return;
  for (int k = 0; k < 3; ++k) {
    const int64_t a = 3 + k, b = 6 + k, d = 9 + k;
    e1[k] = (1.0 - hit.t) * (x0[b] - x0[a]) + hit.t * (x1[b] - x1[a]);
    e2[k] = (1.0 - hit.t) * (x0[d] - x0[a]) + hit.t * (x1[d] - x1[a]);
  }
  v3_cross(n, e1, e2);
  w[1] = fmin(fmax(hit.u, 0.0), 1.0);
  w[2] = fmin(fmax(hit.v, 0.0), 1.0 - w[1]);
  w[0] = 1.0 - w[1] - w[2];
  for (int k = 0; k < 3; ++k) {
    motion[k] = x1[k] - x0[k];
    for (int j = 0; j < 3; ++j) motion[k] -= w[j] * (x1[3 + 3 * j + k] - x0[3 + 3 * j + k]);
  }
  const double inward = -v3_dot(motion, n), way = v3_norm(motion);
  if (inward == 0.0 || (inward < 0.0 && c->mesh[q->i_mesh].is_closed)) return; /* the point moves out of the solid: no contact */
  const double head_on = fabs(inward) / (v3_norm(n) * way);
  v3_scale(n, (inward > 0.0 ? 1.0 : -1.0) / v3_norm(n), n);
  if (c->edges && mesh_edges_hold(c, c->sources[q->i_source].b, q->id, q->i_mesh, q->triangle, n)) return;
  c->hit_time[i] = hit.t;
  c->hit[i]      = (mesh_hit){inward > 0.0 ? 1 : -1, {w[0], w[1], w[2]}, head_on, 4.0 * limits.tolerance / way};
}

/* First collision of the candidates [i, end) of one point and one surface; infinite time: none. At an edge or a corner the point collides
 * with all adjacent triangles at the same time, and round-off determines the order, or whether it collides with a triangle that it moves
 * along. Then the triangle with the largest `head_on` is chosen. */
static int64_t first_hit(const mesh_contact *c, int64_t i, int64_t end)
{
  int64_t first = i, best;
  for (int64_t k = i + 1; k < end; ++k)
    if (c->hit_time[k] < c->hit_time[first]) first = k;
  if (!(c->hit_time[first] <= 1.0)) return first;
  best = first;
  for (int64_t k = i; k < end; ++k)
    if (c->hit_time[k] <= c->hit_time[first] + c->hit[first].rounding && c->hit[k].head_on > c->hit[best].head_on) best = k;
  return best;
}

static bool same_point(const mesh_candidate *a, const mesh_candidate *b)
{
  return a->i_source == b->i_source && a->id == b->id && a->i_mesh == b->i_mesh;
}

/* ---- point of entry ------------------------------------------------------------------------------------------------------ */

/* X: the point at which the trajectory of q to the evaluated state enters, with its gradients; h: the collision. */
static void find_entry(const mesh_contact *c, const mesh_candidate *q, const mesh_hit *h, double time, const rigid_frame *frames,
                       mesh_attachment *X, double X_d[3][12])
{
  const contact_surface *s      = &c->mesh[q->i_mesh];
  const int32_t         *corner = s->topology->tri + 3 * (int64_t)q->triangle;
  entry_path             p      = {.is_rigid = s->frame >= 0};
  v3_copy(p.from[0], q->x0);
  v3_copy(p.to[0], c->point_end + 3 * (int64_t)q->point);
  if (p.is_rigid) { /* relative to the surface: the force is a function of the position of the point in its axes */
    double own[3];
    rigid_frame_to_local(&c->frames0[s->frame], q->x0, own);
    rigid_frame_to_world(&frames[s->frame], own, p.from[0]);
  }
  for (int k = 0; k < 3; ++k) {
    v3_copy(p.to[1 + k], s->x + 3 * (int64_t)corner[k]);
    v3_copy(p.from[1 + k], p.is_rigid ? p.to[1 + k] : s->x0 + 3 * (int64_t)corner[k]);
  }
  *X = (mesh_attachment){q->triangle, {h->weight[0], h->weight[1], h->weight[2]}};
  mesh_entry_find(&p, time, X, X_d);
}

/* Create or update the pair of one point and one surface with candidates [i, end). `first`: the earliest collision; infinite time: none. */
static PetscErrorCode settle(mesh_contact *c, int64_t i, int64_t end, int64_t first, const rigid_frame *frames, bool is_late)
{
  const mesh_candidate *q = &c->candidate[first];
  const mesh_hit       *h = &c->hit[first];
  PetscFunctionBegin;
  mesh_pair *pair = q->pair >= 0 ? &c->pair[q->pair] : NULL;
  if (!(c->hit_time[first] <= 1.0)) {
    if (pair) pair->is_reached = false;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  mesh_attachment X;
  double          X_d[3][12];
  find_entry(c, q, h, c->hit_time[first], frames, &X, X_d);
  if (!pair) {
    for (int64_t k = i; k < end; ++k) c->candidate[k].pair = (int32_t)c->n;
    PetscCall(add_pair(c, q->i_source, q->i_point, q->id, q->x0, q->i_mesh, &X, h->side, 0.0));
    pair          = &c->pair[c->n - 1];
    pair->is_new  = true;
    pair->is_late = is_late;
  }
  pair->is_reached = true;
  if (pair->side != h->side) pair->first = X, pair->side = h->side;
  pair->X = X;
  memcpy(pair->X_d, X_d, sizeof X_d);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Detect new pairs on the trajectories given by v, and set is_reached of earlier pairs. mesh[].x must contain the nodes at v. is_late: value
 * of mesh_pair.is_late for new pairs. */
static PetscErrorCode detect_collisions(mesh_contact *c, const double *v, const rigid_frame *frames, bool is_late)
{
  const int64_t before   = c->n;
  const int64_t n_points = c->n_candidates > 0 || c->is_swept ? c->n_points : 0;
  PetscFunctionBegin;
#pragma omp parallel for schedule(static) if (n_points > CONTACT_SERIAL)
  for (int64_t p = 0; p < n_points; ++p) point_at(c, p, v, frames, c->point_end + 3 * p);
  if (c->is_swept) PetscCall(penalty_mesh_sweep(c));
  const int64_t n = c->n_candidates;
#pragma omp parallel for schedule(dynamic, 64) if (n > CONTACT_SERIAL)
  for (int64_t i = 0; i < n; ++i) try_candidate(c, i);
  for (int64_t i = 0, end; i < n; i = end) {
    for (end = i + 1; end < n && same_point(&c->candidate[i], &c->candidate[end]); ++end)
      ;
    if (!c->candidate[i].is_known) PetscCall(settle(c, i, end, first_hit(c, i, end), frames, is_late));
  }
  if (c->n > before) PetscCall(list_pairs(c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  int32_t source, object, pair;
  int64_t point;
} pair_place;

static int compare_place(const void *a, const void *b)
{
  const pair_place *p = a, *q = b;
  if (p->source != q->source) return p->source < q->source ? -1 : 1;
  if (p->object != q->object) return p->object < q->object ? -1 : 1;
  return (p->point > q->point) - (p->point < q->point);
}

static PetscErrorCode relink_candidates(mesh_contact *c)
{
  pair_place *place;
  PetscFunctionBegin;
  if (c->n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(memory_alloc("pairs by point", c->n, sizeof *place, &place));
  for (int64_t i = 0; i < c->n; ++i) {
    const contact_candidate *q = &c->pair[i].q;
    place[i]                   = (pair_place){q->i_source, q->i_object, (int32_t)i, q->key.point};
  }
  qsort(place, (size_t)c->n, sizeof *place, compare_place);
  const pair_place *at = NULL; /* of the previous candidate */
  for (int64_t k = 0; k < c->n_candidates; ++k) {
    mesh_candidate  *near = &c->candidate[k];
    const pair_place key  = {near->i_source, near->i_mesh, 0, near->id};
    if (k == 0 || !same_point(near, near - 1)) at = bsearch(&key, place, (size_t)c->n, sizeof *place, compare_place);
    if (!at) continue;
    if (c->pair[at->pair].is_new) near->pair = at->pair;
    else near->is_known = true;
  }
  memory_free(&place);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- points inside at the start -------------------------------------------------------------------------------------------- */

static void weights_of(const double *P, const double *Q, const double *R, const double x[3], double w[3])
{
  double e1[3], e2[3], b[3];
  v3_sub(e1, Q, P);
  v3_sub(e2, R, P);
  v3_sub(b, x, P);
  const double a11 = v3_dot(e1, e1), a12 = v3_dot(e1, e2), a22 = v3_dot(e2, e2), b1 = v3_dot(e1, b), b2 = v3_dot(e2, b);
  const double det = a11 * a22 - a12 * a12;
  w[1]             = fmin(fmax((a22 * b1 - a12 * b2) / det, 0.0), 1.0);
  w[2]             = fmin(fmax((a11 * b2 - a12 * b1) / det, 0.0), 1.0 - w[1]);
  w[0]             = 1.0 - w[1] - w[2];
}

static PetscErrorCode find_points_inside(mesh_contact *c)
{
  PetscFunctionBegin;
  for (int m = 0; m < c->n_meshes; ++m) {
    const contact_surface *s    = &c->mesh[m];
    triangle_mesh          mesh = {s->topology->n_vertices, s->topology->n_triangles, s->x0, s->topology->tri};
    triangle_bvh          *tree;
    if (!s->is_closed) continue;
    PetscCall(triangle_bvh_create(&mesh, &tree));
    for (int64_t p = 0; p < c->n_points; ++p) {
      const contact_source *source = &c->sources[c->point_source[p]];
      const double         *x      = c->vertex_x + 3 * (int64_t)c->point_vertex[p];
      int32_t               near   = -1;
      double                nearest[3];
      if (source->b == s->b || !(c->law[pair_slot(c->pairs, c->n_bodies, source->body_id, s->body_id)].stiffness > 0.0)) continue;
      const double depth = -triangle_bvh_distance(tree, x, &near, nearest);
      if (!(depth > 0.0)) continue;
      const int32_t  *v = s->topology->tri + 3 * (int64_t)near;
      mesh_attachment X = {near, {0.0, 0.0, 0.0}};
      weights_of(s->x0 + 3 * (int64_t)v[0], s->x0 + 3 * (int64_t)v[1], s->x0 + 3 * (int64_t)v[2], nearest, X.weight);
      PetscCall(add_pair(c, c->point_source[p], c->point_index[p], c->point_id[p], x, m, &X, 1, depth));
      const mesh_pair *added = &c->pair[c->n - 1];
      c->start_energy += 0.5 * added->k * (depth - added->rest) * (depth - added->rest);
    }
    triangle_bvh_destroy(&tree);
  }
  PetscCall(relink_candidates(c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- forces ---- */

/* Forces of the pairs, and the data of their linearisation for the section "tangent". */

/* A trial state of a line search whose displacements exceed this multiple of the largest motion at the start of the step is rejected
 * without collision detection, which would test nearly all points with all triangles. */
#define REFUSED_MARGINS 32.0

/* ---- evaluation ---------------------------------------------------------------------------------------------------------------- */

static bool is_same_pose(const rigid_frame *a, const rigid_frame *b)
{
  bool same = true;
  for (int k = 0; k < 3; ++k) same = same && a->c[k] == b->c[k];
  for (int k = 0; k < 9; ++k) same = same && a->R[k] == b->R[k];
  return same;
}

static void move_surfaces(mesh_contact *c, const double *v, const rigid_frame *frames)
{
  for (int m = 0; m < c->n_meshes; ++m) {
    contact_surface *s = &c->mesh[m];
    const int64_t    n = 3 * s->topology->n_vertices;
    if (s->frame < 0) {
      const double *from = v + 3 * s->b->first_block;
      for (int64_t i = 0; i < n; ++i) s->x[i] = s->x0[i] + c->dt * from[i];
    } else if (is_same_pose(&frames[s->frame], &c->frames0[s->frame])) memcpy(s->x, s->x0, (size_t)n * sizeof *s->x);
    else pose_nodes(s, &frames[s->frame], s->x);
  }
}

/* Upper bound of the displacement of vertices within `radius` of a point `center` of the body [m]. */
static double reach_of_frame(const mesh_contact *c, const rigid_frame *frames, int frame, const double center[3], double radius)
{
  const rigid_frame *before = &c->frames0[frame], *now = &frames[frame];
  double             from[3], to[3], turn[9];
  m3_mulv(from, before->R, center);
  m3_mulv(to, now->R, center);
  for (int k = 0; k < 3; ++k) to[k] += now->c[k] - from[k] - before->c[k];
  m3_copy(turn, now->R);
  m3_axpy(turn, -1.0, before->R);
  /* |turn x| <= |turn| |x| for a compatible matrix norm, here Frobenius' */
  return v3_norm(to) + radius * sqrt(v3_dot(turn, turn) + v3_dot(turn + 3, turn + 3) + v3_dot(turn + 6, turn + 6));
}

static double farthest_block(const mesh_contact *c, const double *v, const body *b)
{
  double far = 0.0;
  for (int64_t i = b->first_block; i < b->first_block + b->n_blocks; ++i) far = fmax(far, v3_norm(v + 3 * i));
  return c->dt * far;
}

/* Largest displacement in the step [m]; *of_unknowns: the same without bodies of prescribed motion. */
static double penalty_mesh_farthest(const mesh_contact *c, const double *v, const rigid_frame *frames, double *of_unknowns)
{
  double far = 0.0, prescribed = 0.0;
  for (int m = 0; m < c->n_meshes; ++m) {
    const contact_surface *s = &c->mesh[m];
    if (s->frame < 0) {
      far = fmax(far, farthest_block(c, v, s->b));
      continue;
    }
    double *const which = frames[s->frame].block < 0 ? &prescribed : &far;
    *which              = fmax(*which, reach_of_frame(c, frames, s->frame, s->center, s->radius));
  }
  for (int s = 0; s < c->n_sources; ++s) {
    const body *b = c->sources[s].b;
    if (b->ops->points != POINT_RIGID) {
      far = fmax(far, farthest_block(c, v, b));
      continue;
    }
    const rigid_frame *frame = &c->frames0[c->sources[s].frame];
    double             center[3], radius, own[3];
    int64_t            first, end;
    for (int64_t k = 0; k < b->ops->n_clusters(b); ++k) {
      b->ops->cluster(b, k, center, &radius, &first, &end);
      rigid_frame_to_local(frame, center, own);
      far = fmax(far, reach_of_frame(c, frames, c->sources[s].frame, own, radius));
    }
  }
  *of_unknowns = far;
  return fmax(far, prescribed);
}

/* Add the derivative of the gain with respect to the corners of the first triangle, which are among the nodes, to their B_j. */
static void add_gain(const contact_surface *s, const mesh_pair *p, mesh_relaxation *r, double *B)
{
  double pull[3], outer[9];
  v3_sub(pull, r->Y, p->Z);
  m3_outer(outer, pull, p->gain_slope);
  for (int k = 0; k < 3; ++k) {
    const int j = mesh_relaxation_column(r, s->topology->tri[3 * (int64_t)p->first.triangle + k]);
    m3_axpy(B + 9 * (j - 1), -p->first.weight[k] / p->gain, outer);
  }
}

/* Store K of the pair's rigid_sides, and the further derivatives of a deforming surface. */
static PetscErrorCode keep_derivatives(mesh_contact *c, int64_t i, mesh_relaxation *r, bool is_spring)
{
  mesh_linear           *l         = &c->linear[i];
  const mesh_pair       *p         = &c->pair[i];
  const contact_surface *s         = &c->mesh[p->q.i_object];
  double                *K         = c->sides.K + 9 * i;
  const bool             is_damped = v3_dot(p->gain_slope, p->gain_slope) > 0.0;
  PetscFunctionBegin;
  MEMORY_FREE(&l->spilled, &l->spilled_node);
  l->n_nodes = 0;
  if (!is_spring) { /* df = 0, and the weights are constant */
    m3_zero(K);
    memset(l->own, 0, 9 * sizeof(double));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  mesh_relaxation_block(s->topology, s->x, r, 0, K);
  for (int a = 0; a < 3; ++a)
    for (int b = 0; b < 3; ++b)
      K[3 * a + b] = l->k * (K[3 * a + b] - (a == b)) + (is_damped ? p->k * (r->Y[a] - p->Z[a]) * p->gain_slope[b] : 0.0);
  if (s->frame >= 0) PetscFunctionReturn(PETSC_SUCCESS);
  const int n = r->n_nodes + 1;
  l->n_nodes  = r->n_nodes;
  if (r->n_nodes > MESH_NODES) { PetscCall(MEMORY_ALLOC("long chains", ARRAY(l->spilled_node, r->n_nodes), ARRAY(l->spilled, 18 * n))); }
  int32_t *node = l->spilled_node ? l->spilled_node : l->own_node;
  double  *to   = l->spilled ? l->spilled : l->own;
  memcpy(node, r->node, (size_t)r->n_nodes * sizeof *node);
  for (int j = 1; j < n; ++j) {
    const int k = triangle_topology_corner(s->topology, r->at.triangle, node[j - 1]);
    if (k >= 0) l->corner[k] = j;
  }
  for (int j = 1; j < n; ++j) mesh_relaxation_block(s->topology, s->x, r, j, to + 9 * (j - 1));
  for (int k = 0; k < 3; ++k) memcpy(to + 9 * r->n_nodes + 3 * k * n, r->d_weight[k], (size_t)(3 * n) * sizeof(double));
  if (is_damped) add_gain(s, p, r, to);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Spring force of a pair at a relaxed attachment; false if the contact has ended. */
static bool spring_force(const mesh_pair *p, const double Z[3], const mesh_relaxation *r, double f[3])
{
  double pull[3], normal[3];
  v3_scale(normal, p->side, r->normal);
  v3_sub(pull, Z, r->Y);
  const bool is_active = !r->has_left && v3_dot(pull, normal) < 0.0;
  v3_scale(f, is_active ? -p->gain * p->k : 0.0, pull);
  return is_active;
}

static void start_lagged_force(mesh_contact *c, int64_t i)
{
  mesh_pair             *p = &c->pair[i];
  const contact_surface *s = &c->mesh[p->q.i_object];
  mesh_relaxation        r;
  double                 f[3], lagged[3];
  v3_set(p->lagged, 0.0, 0.0, 0.0);
  relax_mesh_cone(s->topology, s->x0, &p->cone, s->rest, &p->X, p->q.x, false, &r);
  if (!spring_force(p, p->q.x, &r, lagged)) return;
  p->X = p->first = r.at;
  if (c->scheme != CONTACT_LAGGED_CONTACT) {
    relax_mesh(s->topology, s->x0, 0.0, &p->X, p->q.x, false, &r);
    spring_force(p, p->q.x, &r, f);
    v3_sub(lagged, lagged, f);
  }
  if (p->object_frame < 0) v3_copy(p->lagged, lagged);
  else m3_mulv_t(p->lagged, c->frames0[p->object_frame].R, lagged);
}

/* Spring force of this evaluation. In: attachment relaxed with friction; out: as the scheme requires. True if derivatives are needed. */
static bool find_spring(const mesh_contact *c, mesh_pair *p, bool with_tangent, mesh_relaxation *r, double f[3])
{
  const contact_surface *s = &c->mesh[p->q.i_object];
  v3_set(f, 0.0, 0.0, 0.0);
  p->grip = p->X;
  if (c->scheme == CONTACT_LAGGED_CONTACT) return false;
  if (c->scheme == CONTACT_LAGGED_FRICTION) relax_mesh(s->topology, s->x, 0.0, &p->X, p->Z, with_tangent, r);
  p->grip = r->at;
  return spring_force(p, p->Z, r, f);
}

/* Spring rate and gain; called before the spring force. The rate is the displacement of the point relative to its first attachment, along
 * the normal of the triangle there, divided by dt. For a rigid object the reference position rotates with the object, so f is a function
 * of Z in its axes. For other objects it is the position at the start of the step; the error is of second order in the rotation. */
static void find_gain(const mesh_contact *c, mesh_pair *p, const rigid_frame *frames)
{
  const contact_surface *s    = &c->mesh[p->q.i_object];
  const int32_t         *v    = s->topology->tri + 3 * (int64_t)p->first.triangle;
  const int              o    = p->object_frame;
  const double          *from = o < 0 ? s->x0 : s->x;
  double                 e1[3], e2[3], n[3], carried[3], slope;
  v3_sub(e1, from + 3 * (int64_t)v[1], from + 3 * (int64_t)v[0]);
  v3_sub(e2, from + 3 * (int64_t)v[2], from + 3 * (int64_t)v[0]);
  v3_cross(n, e1, e2);
  const double twice_area = v3_norm(n);
  v3_scale(n, twice_area > 0.0 ? p->side / twice_area : 0.0, n);
  if (o >= 0) {
    double own[3];
    rigid_frame_to_local(&c->frames0[o], p->q.x, own);
    rigid_frame_to_world(&frames[o], own, carried);
  } else {
    v3_copy(carried, p->q.x);
    for (int k = 0; k < 3; ++k) {
      v3_axpy(carried, p->first.weight[k], s->x + 3 * (int64_t)v[k]);
      v3_axpy(carried, -p->first.weight[k], s->x0 + 3 * (int64_t)v[k]);
    }
  }
  p->bounce.rate = (v3_dot(n, carried) - v3_dot(n, p->Z)) / c->dt;
  p->gain        = restitution_gain(&p->bounce, c->acceleration * c->dt, &slope);
  v3_scale(p->gain_slope, -slope / c->dt, n);
}

/* Evaluate pair i; displacement [3] of a weighted point. True if the derivatives of the spring are needed. */
static bool evaluate_pair(mesh_contact *c, int64_t i, const double *displacement, const rigid_frame *frames, bool with_tangent,
                          mesh_relaxation *r)
{
  mesh_pair             *p = &c->pair[i];
  const contact_surface *s = &c->mesh[p->q.i_object];
  double                 spring[3];
  if (p->source_frame < 0) v3_add(p->Z, p->origin, displacement);
  else {
    rigid_frame_to_world(&frames[p->source_frame], p->origin, p->Z);
  }
  relax_mesh_cone_entering(s->topology, s->x, &p->cone, s->rest, &p->X, p->is_new ? (const double(*)[12])p->X_d : NULL, p->Z,
                           with_tangent && c->scheme == CONTACT_IMPLICIT, r);
  if (p->bounce.damping > 0.0 && c->scheme == CONTACT_IMPLICIT) {
    find_gain(c, p, frames);
    for (int k = 0; k < 3 && with_tangent && p->object_frame < 0; ++k)
      mesh_relaxation_column(r, s->topology->tri[3 * (int64_t)p->first.triangle + k]);
  }
  v3_copy(p->Y, r->Y);
  v3_scale(p->normal, p->side, r->normal);
  p->is_active         = spring_force(p, p->Z, r, spring) && p->is_reached;
  p->at                = r->at;
  p->n_places          = (uint8_t)r->n_places;
  p->last_place        = r->place[r->n_places - 1];
  p->chain             = relax_chain_of(r);
  p->is_capped         = r->is_capped;
  p->is_on_triangle    = p->last_place == ON_TRIANGLE || p->last_place == ENTERED;
  p->is_sliding        = p->is_active && !mesh_attachment_equal(&r->at, &p->X);
  const bool is_spring = find_spring(c, p, with_tangent, r, spring) && p->is_reached && !p->is_late;
  if (!is_spring) v3_set(spring, 0.0, 0.0, 0.0);
  if (p->object_frame < 0) v3_copy(p->f, p->lagged);
  else m3_mulv(p->f, frames[p->object_frame].R, p->lagged);
  v3_add(p->f, p->f, spring);
  if (!with_tangent) return is_spring;
  c->sides.is_active[i] = is_spring || v3_dot(p->f, p->f) > 0.0;
  v3_copy(c->sides.Z + 3 * i, p->Z);
  v3_copy(c->sides.f + 3 * i, p->f);
  m3_zero(c->sides.K + 9 * i);
  mesh_linear *l = &c->linear[i];
  l->mesh        = p->q.i_object;
  l->k           = p->gain * p->k;
  v3_copy(l->weight, p->grip.weight);
  v3_copy(l->spring, spring);
  return is_spring;
}

/* Whether the derivatives of a pair need allocated memory; such pairs are evaluated again, serially. */
static bool is_long(const mesh_contact *c, int64_t i, const mesh_relaxation *r)
{
  return c->pair[i].object_frame < 0 && r->n_nodes > MESH_NODES;
}

/* Assign each pair its own rows of node_force, so that products of all pairs can run in parallel. */
static PetscErrorCode list_nodes(mesh_contact *c)
{
  const int64_t before = c->n_node_forces;
  int64_t       n      = 0;
  PetscFunctionBegin;
  for (int64_t i = 0; i < c->n; ++i) {
    c->linear[i].first = n;
    if (acts_on_nodes(c, i)) n += c->linear[i].n_nodes;
  }
  c->n_node_forces = n;
  if (n == 0 && before == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MEMORY_RESERVE("forces on nodes", n, &c->node_force_capacity, ARRAY(c->node_force_block, 1), ARRAY(c->node_force, 3)));
  for (int64_t i = 0; i < c->n; ++i) {
    const mesh_linear *l    = &c->linear[i];
    const int32_t     *node = mesh_linear_node(l);
    for (int j = 0; acts_on_nodes(c, i) && j < l->n_nodes; ++j) c->node_force_block[l->first + j] = (int32_t)node_block(c, l, node[j]);
  }
  PetscCall(contact_rows_build_single(c->node_rows, n, c->node_force_block, c->n_blocks));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode penalty_mesh_evaluate(mesh_contact *c, const double *v, const rigid_frame *frames, bool with_tangent)
{
  const int64_t  n      = c->n;
  double *const  moved  = c->sides.force;
  PetscErrorCode failed = PETSC_SUCCESS;
  PetscFunctionBegin;
  contact_rows_gather(c->rows, c->dt, v, NULL, moved);
#pragma omp parallel for schedule(dynamic, 16) if (n > CONTACT_SERIAL)
  for (int64_t i = 0; i < n; ++i) {
    mesh_relaxation r;
    const bool      is_spring = evaluate_pair(c, i, moved + 3 * i, frames, with_tangent, &r);
    if (!with_tangent || !c->sides.is_active[i]) continue;
    if (is_spring && is_long(c, i, &r)) c->linear[i].n_nodes = -1;
    else if (keep_derivatives(c, i, &r, is_spring)) failed = PETSC_ERR_LIB;
  }
  PetscCall(failed);
  for (int64_t i = 0; i < n && with_tangent; ++i) {
    mesh_relaxation r;
    if (!c->sides.is_active[i] || c->linear[i].n_nodes >= 0) continue;
    const bool is_spring = evaluate_pair(c, i, moved + 3 * i, frames, true, &r);
    PetscCall(keep_derivatives(c, i, &r, is_spring));
  }
  if (with_tangent && c->n_frames > 0) memcpy(c->sides.frames, frames, (size_t)c->n_frames * sizeof *frames);
  if (with_tangent) PetscCall(list_nodes(c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void add_to_corners(const contact_surface *s, const mesh_attachment *at, double dt, const double f[3], double *g)
{
  for (int k = 0; k < 3; ++k) v3_axpy(g + 3 * (s->b->first_block + s->topology->tri[3 * (int64_t)at->triangle + k]), dt * at->weight[k], f);
}

/* Repeat the candidate search with a larger margin if points outside the current margin can collide. */
static PetscErrorCode extend_candidate_search(mesh_contact *c, double far)
{
  PetscFunctionBegin;
  if (!(2.0 * far > c->margin && far < INFINITY)) PetscFunctionReturn(PETSC_SUCCESS);
  c->margin = 4.0 * far;
  PetscCall(search_candidates(c));
  PetscCall(relink_candidates(c));
  if (c->edges) PetscCall(mesh_edges_search(c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mesh_contact_residual(mesh_contact *c, const double *v, const rigid_frame *frames, double *g, bool with_tangent,
                                     int *bad_source, int64_t *bad_point)
{
  PetscFunctionBegin;
  *bad_source = -1;
  *bad_point  = -1;
  move_surfaces(c, v, frames);
  /* without g (end of the step) no displacement check: every accepted state has been evaluated before, including detection */
  double       of_unknowns = 0.0;
  const double far         = g ? penalty_mesh_farthest(c, v, frames, &of_unknowns) : 0.0;
  if (!with_tangent && of_unknowns > REFUSED_MARGINS * c->first_margin) {
    *bad_source = MESH_TOO_FAR;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  timer_begin(TIMER_CONTACT_SEARCH);
  PetscCall(extend_candidate_search(c, far));
  const bool at_end_alone = c->scheme == CONTACT_LAGGED_CONTACT;
  if (c->edges) PetscCall(mesh_edges_detect(c)); /* first, because active edge pairs can replace contacts of points */
  if (!at_end_alone || !g) PetscCall(detect_collisions(c, v, frames, at_end_alone));
  timer_end(TIMER_CONTACT_SEARCH);
  PetscCall(penalty_mesh_evaluate(c, v, frames, with_tangent));
  if (c->edges) mesh_edges_evaluate(c, frames, with_tangent);
  for (int64_t i = 0; i < c->n; ++i)
    if (c->pair[i].is_reached) relax_statistics_add(&c->statistics, c->pair[i].chain, c->pair[i].n_places, c->pair[i].is_capped);
  for (int64_t i = 0; i < c->n && *bad_source < 0; ++i) {
    const mesh_pair *p   = &c->pair[i];
    double           sum = 0.0;
    for (int k = 0; k < 3; ++k) sum += 0.0 * p->Z[k] + 0.0 * p->f[k];
    if (sum != 0.0) *bad_source = p->q.i_source, *bad_point = p->q.i_point;
  }
  for (int m = 0; c->edges && m < c->n_sources && *bad_source < 0; ++m) /* to report the values that are not finite, by source and point */
    if (c->sources[m].body_id == mesh_edges_not_finite(c)) *bad_source = m;
  if (*bad_source >= 0 || !g) PetscFunctionReturn(PETSC_SUCCESS);
  if (c->edges) mesh_edges_residual(c, g);
  for (int64_t i = 0; i < c->n; ++i) rigid_sides_apply(&c->sides, i, frames, c->pair[i].Z, c->pair[i].f);
  rigid_sides_scatter(&c->sides, c->rows, false, g);
  for (int64_t i = 0; i < c->n; ++i) {
    const mesh_pair *p = &c->pair[i];
    if (p->object_frame >= 0 || v3_dot(p->f, p->f) == 0.0) continue;
    const contact_surface *s = &c->mesh[p->q.i_object];
    double                 spring[3];
    v3_sub(spring, p->f, p->lagged);
    add_to_corners(s, &p->grip, c->dt, spring, g);
    if (c->scheme != CONTACT_IMPLICIT) add_to_corners(s, &p->X, c->dt, p->lagged, g);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- tangent ---- */

/* The exact linearisation of the pairs, from the data stored by the forces: products with vectors, and blocks of a matrix.
 *
 * Test motions are u_0 of the point and u_i of the corners, and p = u_0 - sum_i w_i u_i is the motion of the point relative to its
 * attachment. A pair adds u . g = -dt p . f, f = k (Y - Z). For increments q_j of the point (0) and the nodes of the chain of its attachment
 *
 *   df = k ( sum_j B_j q_j - q_0 ),   dp = -sum_i u_i sum_j d_ij . q_j,   u . dg = -dt ( p . df + f . dp )
 *
 * With restitution.h, k includes the gain of the spring. Its gradient by the motion of the point relative to its first attachment is s, and
 * df has the additional term k (Y - Z)/gain s . (q_0 - sum_i w0_i q_i), which is part of B_j.
 *
 * For lagged schemes, the lagged part of f is constant and acts at a constant point: f in f . dp is the force of the spring only.
 *
 * Rigid points and rigid surfaces: rigid_sides.h. The nodes of a rigid surface move together, so B_0 is sufficient. */

/* ---- products -------------------------------------------------------------------------------------------------------------------- */

/* A pair with a deforming surface: force and torques of its point, as rigid_sides_product, and forces on its nodes. */
static void penalty_mesh_product(const mesh_contact *c, int64_t i, const double *x)
{
  const mesh_linear *l    = &c->linear[i];
  const int32_t     *node = mesh_linear_node(l);
  const rigid_motion m    = rigid_sides_motion(&c->sides, i);
  double            *to = c->node_force + 3 * l->first, q[3], df[3], dw[3], nodes[3] = {0.0, 0.0, 0.0};
  rigid_sides_approach(&c->sides, i, &m, q);
  for (int k = 0; k < 3; ++k) dw[k] = v3_dot(mesh_linear_d(l, k, 0), q);
  for (int j = 1; j <= l->n_nodes; ++j) {
    double move[3], term[3];
    v3_scale(move, c->dt, x + 3 * node_block(c, l, node[j - 1]));
    m3_mulv(term, mesh_linear_B(l, j), move);
    v3_axpy(nodes, 1.0, term);
    for (int k = 0; k < 3; ++k) dw[k] += v3_dot(mesh_linear_d(l, k, j), move);
    v3_set(to + 3 * (j - 1), 0.0, 0.0, 0.0);
  }
  m3_mulv(df, c->sides.K + 9 * i, q);
  v3_axpy(df, l->k, nodes);
  rigid_sides_react(&c->sides, i, &m, q, df);
  for (int k = 0; k < 3 && l->n_nodes > 0; ++k) {
    v3_axpy(to + 3 * (l->corner[k] - 1), l->weight[k], df);
    v3_axpy(to + 3 * (l->corner[k] - 1), dw[k], l->spring);
  }
}

static void product_transposed(const mesh_contact *c, int64_t i, const double *x)
{
  const mesh_linear *l    = &c->linear[i];
  const int32_t     *node = mesh_linear_node(l);
  const rigid_motion m    = rigid_sides_motion(&c->sides, i);
  double            *to = c->node_force + 3 * l->first, p[3], h[3], F[3], uf[3] = {0.0, 0.0, 0.0};
  rigid_sides_approach(&c->sides, i, &m, p);
  for (int k = 0; k < 3 && l->n_nodes > 0; ++k) {
    const double *u = x + 3 * node_block(c, l, node[l->corner[k] - 1]);
    v3_axpy(p, -c->dt * l->weight[k], u);
    uf[k] = c->dt * v3_dot(u, l->spring);
  }
  m3_mulv_t(h, c->sides.K + 9 * i, p);
  v3_scale(F, -1.0, h);
  for (int k = 0; k < 3; ++k) v3_axpy(F, uf[k], mesh_linear_d(l, k, 0));
  rigid_sides_react_transposed(&c->sides, i, &m, p, h, F);
  for (int j = 1; j <= l->n_nodes; ++j) {
    double *out = to + 3 * (j - 1);
    m3_mulv_t(out, mesh_linear_B(l, j), p);
    v3_scale(out, -l->k, out);
    for (int k = 0; k < 3; ++k) v3_axpy(out, uf[k], mesh_linear_d(l, k, j));
  }
}

PetscErrorCode mesh_contact_tangent(const mesh_contact *c, const double *x, double *y, bool is_transposed)
{
  const rigid_sides *s = &c->sides;
  const int64_t      n = c->n;
  PetscFunctionBegin;
  if (c->edges) mesh_edges_tangent(c, x, y, is_transposed);
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  rigid_sides_gather(s, c->rows, x, is_transposed);
#pragma omp parallel for schedule(static) if (n > CONTACT_SERIAL)
  for (int64_t i = 0; i < n; ++i) {
    if (!s->is_active[i]) rigid_sides_rest(s, i);
    else if (s->object[i] >= 0 && is_transposed) rigid_sides_product_transposed(s, i);
    else if (s->object[i] >= 0) rigid_sides_product(s, i);
    else if (is_transposed) product_transposed(c, i, x);
    else penalty_mesh_product(c, i, x);
  }
  rigid_sides_scatter(s, c->rows, is_transposed, y);
  if (c->n_node_forces > 0) contact_rows_scatter(c->node_rows, c->dt, c->node_force, y);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- blocks of a matrix ----------------------------------------------------------------------------------------------------------- */

/* dt^2 times the block of row `row` (0: the point, 1 + k: corner k of a deforming surface) and column j (0: the point, else node j - 1). */
static void pair_block(const mesh_contact *c, int64_t i, int row, int j, double block[9])
{
  const mesh_linear *l     = &c->linear[i];
  const double       scale = c->dt * c->dt * (row == 0 ? -1.0 : l->weight[row - 1]);
  if (j == 0) m3_copy(block, c->sides.K + 9 * i);
  else m3_copy(block, mesh_linear_B(l, j));
  for (int e = 0; e < 9; ++e) block[e] *= scale * (j == 0 ? 1.0 : l->k);
  if (row == 0) return;
  double outer[9];
  m3_outer(outer, l->spring, mesh_linear_d(l, row - 1, j));
  m3_axpy(block, c->dt * c->dt, outer);
}

PetscErrorCode mesh_contact_block_diagonal(const mesh_contact *c, double *d)
{
  PetscFunctionBegin;
  if (c->edges) mesh_edges_block_diagonal(c, d);
  if (c->n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  rigid_sides_block_diagonal(&c->sides, c->rows, d);
  for (int64_t i = 0; i < c->n; ++i) {
    const mesh_linear *l    = &c->linear[i];
    const int32_t     *node = mesh_linear_node(l);
    double             block[9];
    if (!acts_on_nodes(c, i)) continue;
    for (int k = 0; k < 3 && l->n_nodes > 0; ++k) {
      pair_block(c, i, 1 + k, l->corner[k], block);
      m3_axpy(d + 9 * node_block(c, l, node[l->corner[k] - 1]), 1.0, block);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void add_block_if_in_pattern(const block_rows *H, int64_t row, int64_t col, double scale, const double block[9])
{
  double *to = block_rows_find(H, row, col);
  if (to) m3_axpy(to, scale, block);
}

PetscErrorCode mesh_contact_assemble(const mesh_contact *c, const block_rows *H)
{
  const contact_rows_view rows = contact_rows_get(c->rows);
  PetscFunctionBegin;
  PetscCall(rigid_sides_assemble(&c->sides, c->rows, c->n_blocks, H));
  if (c->edges) mesh_edges_assemble(c, H);
  for (int64_t i = 0; i < c->n; ++i) {
    const mesh_linear *l     = &c->linear[i];
    const int32_t     *node  = mesh_linear_node(l);
    const int64_t      first = rows.start[i], end = rows.start[i + 1];
    double             block[9];
    if (!acts_on_nodes(c, i) || l->n_nodes == 0) continue;
    for (int row = 0; row < 4; ++row) {
      const int64_t corner = row == 0 ? -1 : node_block(c, l, node[l->corner[row - 1] - 1]);
      for (int j = row == 0; j <= l->n_nodes; ++j) {
        pair_block(c, i, row, j, block);
        if (row == 0) {
          for (int64_t p = first; p < end; ++p)
            add_block_if_in_pattern(H, rows.block[p], node_block(c, l, node[j - 1]), rows.weight[p], block);
        } else if (j == 0) {
          for (int64_t q = first; q < end; ++q) add_block_if_in_pattern(H, corner, rows.block[q], rows.weight[q], block);
        } else add_block_if_in_pattern(H, corner, node_block(c, l, node[j - 1]), 1.0, block);
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mesh_contact_couplings(const mesh_contact *c, int64_t *n, int32_t **row, int32_t **col)
{
  const contact_rows_view rows = contact_rows_get(c->rows);
  PetscFunctionBegin;
  PetscCall(rigid_sides_couplings(&c->sides, c->rows, c->n_blocks, n, row, col));
  int64_t room = *n + (c->edges ? 16 * c->edges->n : 0), m = *n;
  for (int64_t i = 0; i < c->n; ++i)
    if (c->sides.object[i] < 0) room += 6 * (rows.start[i + 1] - rows.start[i]) + 9;
  PetscCall(MEMORY_RESIZE("mesh couplings", ARRAY(*row, room), ARRAY(*col, room)));
  if (c->edges) mesh_edges_couplings(c, &m, *row, *col);
  for (int64_t i = 0; i < c->n; ++i) {
    const contact_surface *s      = &c->mesh[c->pair[i].q.i_object];
    const int32_t         *corner = s->topology->tri + 3 * (int64_t)c->pair[i].X.triangle;
    for (int k = 0; k < 3 && c->sides.object[i] < 0; ++k) {
      const int32_t a = (int32_t)s->b->first_block + corner[k];
      for (int64_t p = rows.start[i]; p < rows.start[i + 1]; ++p) {
        (*row)[m] = a, (*col)[m++] = rows.block[p];
        (*row)[m] = rows.block[p], (*col)[m++] = a;
      }
      for (int j = 0; j < 3; ++j) (*row)[m] = a, (*col)[m++] = (int32_t)s->b->first_block + corner[j];
    }
  }
  *n = m;
  PetscFunctionReturn(PETSC_SUCCESS);
}
