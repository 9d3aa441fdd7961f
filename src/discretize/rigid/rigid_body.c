#include "discretize/rigid/rigid_body.h"
#include <string.h>
#include "core/math3.h"
#include "core/memory.h"
#include "core/quaternion.h"

/* --- building -------------------------------------------------------------------------------------------------------- */

/* Bounding spheres of runs of vertices; the surface comes sorted along a space-filling curve, so runs are compact. */
static PetscErrorCode build_clusters(rigid_body *b)
{
  PetscFunctionBegin;
  const int64_t n = b->surface ? b->surface->n_vertices : 0;
  b->n_vertices   = n;
  b->n_clusters   = (int)((n + RIGID_CLUSTER - 1) / RIGID_CLUSTER);
  PetscCall(memory_alloc("surface clusters", 3 * (int64_t)b->n_clusters, sizeof(double), &b->cluster_center));
  PetscCall(memory_alloc("surface clusters", b->n_clusters, sizeof(double), &b->cluster_radius));
  PetscCall(memory_alloc("surface positions", 3 * n, sizeof(double), &b->position));
  for (int i = 0; i < b->n_clusters; ++i) {
    const int64_t lo = (int64_t)i * RIGID_CLUSTER, hi = lo + RIGID_CLUSTER < n ? lo + RIGID_CLUSTER : n;
    double       *center = b->cluster_center + 3 * i;
    for (int64_t k = lo; k < hi; ++k) v3_axpy(center, 1.0 / (double)(hi - lo), b->surface->x + 3 * k);
    for (int64_t k = lo; k < hi; ++k) {
      double arm[3];
      v3_sub(arm, b->surface->x + 3 * k, center);
      b->cluster_radius[i] = fmax(b->cluster_radius[i], v3_norm(arm));
    }
  }
  for (int64_t k = 0; k < n; ++k) b->radius = fmax(b->radius, v3_norm(b->surface->x + 3 * k));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void set_mass(rigid_body *b, const rigid_body_spec *spec, double density, const mass_properties *unit, const document_node *node,
                     const char *path, diagnostics *d)
{
  b->mass = isfinite(spec->mass) ? spec->mass : density * unit->volume;
  for (int i = 0; i < 9; ++i) b->inertia[i] = unit->inertia[i] * b->mass / unit->volume;
  if (isfinite(spec->inertia[0])) {
    const double *moment = spec->inertia;
    if (moment[0] > moment[1] + moment[2] || moment[1] > moment[0] + moment[2] || moment[2] > moment[0] + moment[1])
      diagnostics_add_under(d, node, path, "inertia", "no body has these moments (%g, %g, %g): each must be at most the sum of the others", moment[0], moment[1], moment[2]);
    m3_zero(b->inertia);
    for (int i = 0; i < 3; ++i) b->inertia[4 * i] = moment[i];
  }
}

/* Take the shape's parts over into the body frame, whose origin is at b->c. */
static PetscErrorCode take_shape(rigid_body *b, shape *s)
{
  PetscFunctionBegin;
  const double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, back[3] = {-b->c[0], -b->c[1], -b->c[2]};
  PetscCall(memory_alloc("level sets", s->n_pieces, sizeof(level_set *), &b->level_sets));
  for (int i = 0; i < s->n_pieces && b->contact_surface == RIGID_CONTACT_LEVEL_SET; ++i) {
    if (b->kind == RIGID_DYNAMIC) PetscCall(level_set_transform(s->piece[i], back, identity, &b->level_sets[i]));
    else b->level_sets[i] = s->piece[i];
    s->piece[i] = NULL;
    ++b->n_level_sets;
  }
  b->n_solids = s->n_solids, b->solids = s->solid;
  s->n_solids = 0, s->solid = NULL;
  for (int i = 0; i < b->n_solids; ++i) convex_solid_move(&b->solids[i], back);
  b->surface = s->surface ? s->surface : s->outline;
  if (s->surface) s->surface = NULL;
  else s->outline = NULL;
  if (b->surface) triangle_mesh_transform(b->surface, back, identity);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode take_anchors(rigid_body *b, const rigid_body_spec *spec)
{
  PetscFunctionBegin;
  PetscCall(memory_alloc("anchors", spec->anchors.n, sizeof(rigid_anchor), &b->anchors));
  for (int i = 0; i < spec->anchors.n; ++i) {
    const rigid_anchor_spec *a = spec->anchors.item[i].value;
    rigid_anchor            *o = &b->anchors[b->n_anchors++];
    v3_sub(o->a, a->point, b->c);
    v3_copy(o->to, isfinite(a->to[0]) ? a->to : a->point);
    o->stiffness = a->stiffness;
    o->damping   = a->damping;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode fill(rigid_body *b, const rigid_body_spec *spec, double density, const document_node *node, const char *path, diagnostics *d)
{
  PetscFunctionBegin;
  shape *s;
  char   shape_path[300], motion_path[300];
  snprintf(shape_path, sizeof shape_path, "%s.shape", path);
  snprintf(motion_path, sizeof motion_path, "%s.motion", path);
  const bool is_mesh = b->contact_surface == RIGID_CONTACT_MESH;
  if (is_mesh) PetscCall(shape_create_surface(spec->shape, document_find(node, "shape"), shape_path, d, spec->surface_spacing, &s));
  else PetscCall(shape_create(spec->shape, document_find(node, "shape"), shape_path, d, spec->surface_spacing, &s));
  if (b->kind != RIGID_DYNAMIC) PetscCall(motion_create(spec->motion, document_find(node, "motion"), motion_path, d, &b->motion));
  if (!s) PetscFunctionReturn(PETSC_SUCCESS);
  if (b->kind == RIGID_DYNAMIC && !s->is_bounded) {
    diagnostics_add_under(d, node, path, "shape", "has no volume, so a rigid body cannot be made of it; kind: static can");
  } else if (is_mesh && !s->surface) {
    diagnostics_add_under(d, node, path, "contact_surface",
                          "mesh: this shape goes on without end, so no triangles enclose it; give a box instead of a plane, or contact_surface: level_set");
  } else {
    if (b->kind == RIGID_DYNAMIC) {
      set_mass(b, spec, density, &s->mass, node, path, d);
      const bool is_loaded = isfinite(spec->center_of_mass[0]);
      if (is_loaded && !isfinite(spec->inertia[0]))
        diagnostics_add_under(d, node, path, "center_of_mass", "says where the mass is, not how it is spread: give `inertia`, about this point, too");
      v3_copy(b->c, is_loaded ? spec->center_of_mass : s->mass.center);
      v3_copy(b->origin, b->c);
    }
    PetscCall(take_shape(b, s));
    PetscCall(take_anchors(b, spec));
    PetscCall(build_clusters(b));
  }
  shape_destroy(&s);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode rigid_body_create(const char *name, rigid_kind kind, const rigid_body_spec *spec, double density, const document_node *node,
                                 const char *path, diagnostics *d, rigid_body **out)
{
  PetscFunctionBegin;
  rigid_body *b;
  const int   before = diagnostics_count(d);
  PetscCall(memory_alloc("rigid body", 1, sizeof *b, &b));
  *out            = b;
  b->base.ops     = kind == RIGID_DYNAMIC ? &rigid_body_ops : &rigid_obstacle_ops;
  b->base.name    = name;
  b->kind         = kind;
  b->rotation     = spec->rotation;
  b->contact_surface = (rigid_contact)spec->contact_surface;
  b->one          = 1;
  PetscCall(memory_alloc("rigid state", 3, sizeof(double), &b->c));
  PetscCall(memory_alloc("rigid state", 4, sizeof(double), &b->q));
  PetscCall(memory_alloc("rigid state", 3, sizeof(double), &b->v));
  PetscCall(memory_alloc("rigid state", 3, sizeof(double), &b->w));
  quaternion_identity(b->q);
  if (kind == RIGID_DYNAMIC) {
    v3_copy(b->v, spec->velocity);
    v3_copy(b->w, spec->angular_velocity);
    v3_copy(b->force, spec->force);
    v3_copy(b->torque, spec->torque);
  }
  PetscCall(fill(b, spec, density, node, path, d));
  if (diagnostics_count(d) > before) rigid_body_destroy(out);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void rigid_body_destroy(rigid_body **out)
{
  rigid_body *b = *out;
  if (!b) return;
  motion_destroy(&b->motion);
  for (int i = 0; i < b->n_level_sets; ++i) level_set_destroy(&b->level_sets[i]);
  memory_free(&b->level_sets);
  for (int i = 0; i < b->n_solids; ++i) convex_solid_clear(&b->solids[i]);
  memory_free(&b->solids);
  triangle_mesh_destroy(&b->surface);
  memory_free(&b->cluster_center);
  memory_free(&b->cluster_radius);
  memory_free(&b->position);
  memory_free(&b->anchors);
  memory_free(&b->c);
  memory_free(&b->q);
  memory_free(&b->v);
  memory_free(&b->w);
  memory_free(out);
}

void rigid_body_destroy_base(body **base)
{
  rigid_body *b = (rigid_body *)*base;
  rigid_body_destroy(&b);
  *base = NULL;
}

void rigid_body_set_gravity(rigid_body *b, const double gravity[3]) { v3_copy(b->gravity, gravity); }

void rigid_body_prescribed_frame(const rigid_body *b, double t, rigid_frame *frame) { motion_frame(b->motion, t, frame); }

void rigid_body_move_to(rigid_body *b, double t)
{
  rigid_frame f;
  motion_frame(b->motion, t, &f);
  v3_copy(b->c, f.c);
  v3_copy(b->v, f.v);
  v3_copy(b->w, f.w);
  quaternion_from_matrix(b->q, f.R);
}

/* Whoever shows the surface of a rigid body begins with one. */
rigid_body *rigid_body_of(body *b) { return b->ops->surface == rigid_body_surface ? (rigid_body *)b : NULL; }

void rigid_body_follow(const rigid_body *b, const double x0[3], double x[3])
{
  double R[9], a[3];
  v3_sub(a, x0, b->origin);
  quaternion_to_matrix(R, b->q);
  m3_mulv(x, R, a);
  v3_axpy(x, 1.0, b->c);
}

void rigid_body_displace(rigid_body *b, const double move[6])
{
  double turn[4], q[4];
  v3_axpy(b->c, 1.0, move);
  quaternion_exp(turn, move + 3);
  quaternion_multiply(q, turn, b->q);
  quaternion_normalise(q);
  memcpy(b->q, q, sizeof q);
}

void rigid_body_hit(rigid_body *b, const double impulse[6])
{
  double R[9], local[3], inverse[9], turn[3], dw[3];
  v3_axpy(b->v, 1.0 / b->mass, impulse);
  quaternion_to_matrix(R, b->q);
  m3_mulv_t(local, R, impulse + 3);
  m3_inverse(inverse, b->inertia);
  m3_mulv(turn, inverse, local);
  m3_mulv(dw, R, turn);
  v3_add(b->w, b->w, dw);
}

/* --- fields ---------------------------------------------------------------------------------------------------------- */

static PetscErrorCode refresh(void *context)
{
  PetscFunctionBegin;
  rigid_body   *b = context;
  const int64_t n = b->n_vertices;
  double        R[9];
  quaternion_to_matrix(R, b->q);
  for (int64_t i = 0; i < n; ++i) {
    m3_mulv(b->position + 3 * i, R, b->surface->x + 3 * i);
    v3_axpy(b->position + 3 * i, 1.0, b->c);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode rigid_body_fields(body *base, field_table *table)
{
  PetscFunctionBegin;
  rigid_body  *b = (rigid_body *)base;
  field_group *g;
  char         name[96];
  const int    kept = b->kind == RIGID_DYNAMIC ? FIELD_CHECKPOINT : 0;
  if (kept) {
    snprintf(name, sizeof name, "state/%s", b->base.name);
    PetscCall(field_table_add_group(table, name, FIELD_GROUP_PLAIN, &b->one, b, &g));
    PetscCall(field_table_add(table, g, "position", "m", FIELD_F64, 3, &b->c, kept, "centre of mass"));
    PetscCall(field_table_add(table, g, "orientation", "1", FIELD_F64, 4, &b->q, kept, "unit quaternion (w, x, y, z), body to world"));
    PetscCall(field_table_add(table, g, "velocity", "m/s", FIELD_F64, 3, &b->v, kept, "of the centre of mass"));
    PetscCall(field_table_add(table, g, "angular_velocity", "rad/s", FIELD_F64, 3, &b->w, kept, "in world axes"));
  }
  if (!b->surface) PetscFunctionReturn(PETSC_SUCCESS);
  snprintf(name, sizeof name, "bodies/%s", b->base.name);
  PetscCall(field_table_add_group(table, name, FIELD_GROUP_SURFACE, &b->n_vertices, b, &g));
  g->refresh     = refresh;
  g->triangles   = b->surface->tri;
  g->n_triangles = b->surface->n_triangles;
  PetscCall(field_table_add(table, g, "position", "m", FIELD_F64, 3, &b->position, FIELD_FRAME | FIELD_DERIVED, "surface vertices"));
  PetscFunctionReturn(PETSC_SUCCESS);
}
