/* Table of all dynamic rigid bodies, see rigid_table.h. Shapes are found through a hash table over vertices rounded to a millionth of the body's
 * radius; rounding errors move a vertex across a rounding boundary rarely, and then the shape is only stored twice. */
#include "discretize/rigid/rigid_table.h"
#include <math.h>
#include <string.h>
#include "core/memory.h"
#include "core/quaternion.h"

struct rigid_table {
  int64_t      n;
  rigid_body **body;           /* [n], borrowed */
  double      *c, *q, *v, *w;  /* [n][3], q [n][4] */
  int32_t     *number, *shape; /* [n] */
  double      *radius, *size;  /* [n], [n][3] */
  int64_t      n_text;
  uint8_t     *text; /* [n_text] names, each followed by a line feed */
  /* shapes */
  int64_t               n_shapes, n_vertices, n_triangles, capacity;
  const triangle_mesh **mesh;            /* [n_shapes] of the first body with this shape */
  double               *vertex;          /* [n_vertices][3] */
  int32_t              *vertex_shape;    /* [n_vertices] */
  int32_t              *shape_triangles; /* [n_triangles][3] */
  /* surfaces in world coordinates */
  bool     has_spheres;
  int64_t  n_points, n_cells;
  double  *point;      /* [n_points][3] */
  int32_t *point_body; /* [n_points] number of the body in the scene */
  int32_t *cell;       /* [n_cells][3] */
};

/* --- shapes ---------------------------------------------------------------------------------------------------------- */

/* A sphere about the centre of mass whose contact surface is exact. */
static bool is_sphere(const rigid_body *b)
{
  return b->contact_surface == RIGID_CONTACT_LEVEL_SET && b->n_solids == 1 && b->solids[0].kind == CONVEX_SPHERE &&
         v3_norm(b->solids[0].from) <= 1e-9 * b->solids[0].radius;
}

static uint64_t mix_hash(uint64_t hash, uint64_t word)
{
  hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
  return hash ^ (hash >> 29);
}

static uint64_t hash_mesh(const triangle_mesh *m, double radius)
{
  uint64_t hash = mix_hash((uint64_t)m->n_vertices, (uint64_t)m->n_triangles);
  for (int64_t i = 0; i < 3 * m->n_vertices; ++i) hash = mix_hash(hash, (uint64_t)llround(1e6 * m->x[i] / radius));
  for (int64_t i = 0; i < 3 * m->n_triangles; ++i) hash = mix_hash(hash, (uint64_t)m->tri[i]);
  return hash;
}

static bool is_same_mesh(const triangle_mesh *a, const triangle_mesh *b, double radius)
{
  if (a->n_vertices != b->n_vertices || a->n_triangles != b->n_triangles) return false;
  for (int64_t i = 0; i < 3 * a->n_vertices; ++i)
    if (!(fabs(a->x[i] - b->x[i]) <= 1e-9 * radius)) return false;
  return memcmp(a->tri, b->tri, (size_t)(3 * a->n_triangles) * sizeof *a->tri) == 0;
}

/* Set t->shape and t->mesh. */
static PetscErrorCode find_shapes(rigid_table *t)
{
  int64_t n_slots = 16;
  PetscFunctionBegin;
  while (n_slots < 2 * t->n) n_slots *= 2;
  int32_t *slot __attribute__((cleanup(memory_free))) = NULL; /* 1 + shape, 0: free; open addressing */
  PetscCall(memory_alloc("shapes", n_slots, sizeof *slot, &slot));
  for (int64_t i = 0; i < t->n; ++i) {
    const rigid_body *b = t->body[i];
    t->shape[i]         = -1;
    if (is_sphere(b) || !b->surface) continue;
    int64_t at = (int64_t)(hash_mesh(b->surface, b->radius) & (uint64_t)(n_slots - 1));
    while (slot[at] && !is_same_mesh(t->mesh[slot[at] - 1], b->surface, b->radius)) at = (at + 1) & (n_slots - 1);
    if (!slot[at]) {
      PetscCall(memory_reserve("shapes", t->n_shapes + 1, sizeof *t->mesh, &t->capacity, &t->mesh));
      t->mesh[t->n_shapes] = b->surface;
      slot[at]             = (int32_t)++t->n_shapes;
    }
    t->shape[i] = slot[at] - 1;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Append a copy of mesh m, whose vertices become the rows from *n_vertices on. */
static void append_cells(const triangle_mesh *m, int64_t *n_vertices, int32_t *cell, int64_t *n_cells)
{
  for (int64_t k = 0; k < 3 * m->n_triangles; ++k) cell[3 * *n_cells + k] = (int32_t)(*n_vertices + m->tri[k]);
  *n_vertices += m->n_vertices;
  *n_cells += m->n_triangles;
}

static PetscErrorCode check_count(int64_t n)
{
  PetscFunctionBegin;
  PetscCheck(n <= INT32_MAX, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "the surfaces of the rigid bodies have %lld vertices or triangles, at most %d are possible: choose a larger surface_spacing",
             (long long)n, INT32_MAX);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode store_shapes(rigid_table *t)
{
  int64_t n = 0, n_cells = 0;
  PetscFunctionBegin;
  for (int64_t k = 0; k < t->n_shapes; ++k) n += t->mesh[k]->n_vertices, n_cells += t->mesh[k]->n_triangles;
  PetscCall(check_count(n > n_cells ? n : n_cells));
  PetscCall(MEMORY_ALLOC("shapes", ARRAY(t->vertex, 3 * n), ARRAY(t->vertex_shape, n), ARRAY(t->shape_triangles, 3 * n_cells)));
  for (int64_t k = 0; k < t->n_shapes; ++k) {
    const triangle_mesh *m = t->mesh[k];
    memcpy(t->vertex + 3 * t->n_vertices, m->x, (size_t)(3 * m->n_vertices) * sizeof *m->x);
    for (int64_t i = 0; i < m->n_vertices; ++i) t->vertex_shape[t->n_vertices + i] = (int32_t)k;
    append_cells(m, &t->n_vertices, t->shape_triangles, &t->n_triangles);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- surfaces for ParaView ------------------------------------------------------------------------------------------- */

/* The surface of a body that the group "rigid/surfaces" contains; NULL: none. */
static const triangle_mesh *surface_of(const rigid_table *t, int64_t i)
{
  return t->shape[i] >= 0 || t->has_spheres ? t->body[i]->surface : NULL;
}

static PetscErrorCode create_surfaces(rigid_table *t)
{
  int64_t n = 0, n_others = 0, n_cells = 0;
  PetscFunctionBegin;
  for (int64_t i = 0; i < t->n; ++i) {
    const int64_t own = t->body[i]->surface ? t->body[i]->surface->n_vertices : 0;
    n += own;
    if (t->shape[i] >= 0) n_others += own;
  }
  t->has_spheres = n <= RIGID_TABLE_SURFACES;
  if (!t->has_spheres) n = n_others;
  if (n == 0 || n > RIGID_TABLE_OTHER_SURFACES) PetscFunctionReturn(PETSC_SUCCESS);
  for (int64_t i = 0; i < t->n; ++i) n_cells += surface_of(t, i) ? surface_of(t, i)->n_triangles : 0;
  PetscCall(check_count(n_cells));
  PetscCall(MEMORY_ALLOC("surfaces", ARRAY(t->point, 3 * n), ARRAY(t->point_body, n), ARRAY(t->cell, 3 * n_cells)));
  for (int64_t i = 0; i < t->n; ++i) {
    const triangle_mesh *m = surface_of(t, i);
    if (!m) continue;
    for (int64_t k = 0; k < m->n_vertices; ++k) t->point_body[t->n_points + k] = t->number[i];
    append_cells(m, &t->n_points, t->cell, &t->n_cells);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode refresh_surfaces(void *context)
{
  PetscFunctionBegin;
  const rigid_table *t = context;
  double            *x = t->point;
  for (int64_t i = 0; i < t->n; ++i) {
    const triangle_mesh *m = surface_of(t, i);
    double               R[9];
    if (!m) continue;
    quaternion_to_matrix(R, t->q + 4 * i);
    for (int64_t k = 0; k < m->n_vertices; ++k, x += 3) {
      m3_mulv(x, R, m->x + 3 * k);
      v3_axpy(x, 1.0, t->c + 3 * i);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- the table ------------------------------------------------------------------------------------------------------- */

static PetscErrorCode store_names(rigid_table *t)
{
  PetscFunctionBegin;
  for (int64_t i = 0; i < t->n; ++i) {
    PetscCall(field_table_check_name("body", t->body[i]->base.name));
    t->n_text += (int64_t)strlen(t->body[i]->base.name) + 1;
  }
  PetscCall(memory_alloc("names", t->n_text, 1, &t->text));
  uint8_t *to = t->text;
  for (int64_t i = 0; i < t->n; ++i) {
    const size_t length = strlen(t->body[i]->base.name);
    memcpy(to, t->body[i]->base.name, length);
    to[length] = '\n';
    to += length + 1;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void move_state(rigid_body *b, double *c, double *q, double *v, double *w)
{
  v3_copy(c, b->c);
  memcpy(q, b->q, 4 * sizeof *q);
  v3_copy(v, b->v);
  v3_copy(w, b->w);
  MEMORY_FREE(&b->c, &b->q, &b->v, &b->w);
  b->c = c, b->q = q, b->v = v, b->w = w;
  b->is_in_table = true;
}

static void set_size(const rigid_body *b, double *radius, double size[3])
{
  *radius = is_sphere(b) ? b->solids[0].radius : b->radius;
  if (is_sphere(b)) {
    v3_set(size, 2.0 * *radius, 2.0 * *radius, 2.0 * *radius);
  } else if (b->surface) {
    double min[3], max[3];
    triangle_mesh_bounds(b->surface, min, max);
    v3_sub(size, max, min);
  }
}

static PetscErrorCode fill_table(rigid_table *t, int64_t n, rigid_body *const *bodies, const int32_t *number)
{
  PetscFunctionBegin;
  t->n = n;
  PetscCall(MEMORY_ALLOC("rigid bodies", ARRAY(t->body, n), ARRAY(t->c, 3 * n), ARRAY(t->q, 4 * n), ARRAY(t->v, 3 * n), ARRAY(t->w, 3 * n),
                         ARRAY(t->number, n), ARRAY(t->shape, n), ARRAY(t->radius, n), ARRAY(t->size, 3 * n)));
  for (int64_t i = 0; i < n; ++i) {
    t->body[i]   = bodies[i];
    t->number[i] = number[i];
    set_size(bodies[i], &t->radius[i], t->size + 3 * i);
  }
  PetscCall(store_names(t));
  PetscCall(find_shapes(t));
  PetscCall(store_shapes(t));
  PetscCall(create_surfaces(t));
  for (int64_t i = 0; i < n; ++i) move_state(bodies[i], t->c + 3 * i, t->q + 4 * i, t->v + 3 * i, t->w + 3 * i);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode rigid_table_create(int64_t n, rigid_body *const *bodies, const int32_t *number, rigid_table **out)
{
  PetscFunctionBegin;
  PetscCall(memory_alloc("rigid bodies", 1, sizeof **out, out));
  const PetscErrorCode code = fill_table(*out, n, bodies, number);
  if (code) rigid_table_destroy(out);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void rigid_table_destroy(rigid_table **t)
{
  if (!*t) return;
  MEMORY_FREE(&(*t)->body, &(*t)->c, &(*t)->q, &(*t)->v, &(*t)->w, &(*t)->number, &(*t)->shape, &(*t)->radius, &(*t)->size, &(*t)->text,
              &(*t)->mesh, &(*t)->vertex, &(*t)->vertex_shape, &(*t)->shape_triangles, &(*t)->point, &(*t)->point_body, &(*t)->cell, t);
}

/* --- fields ---------------------------------------------------------------------------------------------------------- */

static const char *row_name(const void *context, int64_t row) { return ((const rigid_table *)context)->body[row]->base.name; }

static PetscErrorCode add_bodies(rigid_table *t, field_table *fields)
{
  const int    state = FIELD_CHECKPOINT | FIELD_FRAME, constant = FIELD_FRAME | FIELD_CONSTANT;
  field_group *g;
  PetscFunctionBegin;
  PetscCall(field_table_add_group(fields, "rigid/bodies", FIELD_GROUP_POSES, &t->n, t, &g));
  g->is_fixed   = true;
  g->old_prefix = "state/", g->old_name = row_name;
  PetscCall(field_table_add(fields, g, "position", "m", FIELD_F64, 3, &t->c, state, "centre of mass"));
  PetscCall(field_table_add(fields, g, "orientation", "1", FIELD_F64, 4, &t->q, state, "unit quaternion (w, x, y, z), body to world"));
  PetscCall(field_table_add(fields, g, "velocity", "m/s", FIELD_F64, 3, &t->v, state | FIELD_RATE, "velocity of the centre of mass"));
  PetscCall(
      field_table_add(fields, g, "angular_velocity", "rad/s", FIELD_F64, 3, &t->w, state | FIELD_RATE, "angular velocity in world axes"));
  PetscCall(field_table_add(fields, g, "body", "1", FIELD_I32, 1, &t->number, constant, "number of the body"));
  PetscCall(field_table_add(fields, g, "shape", "1", FIELD_I32, 1, &t->shape, constant, "shape in rigid/shapes; -1: sphere"));
  PetscCall(field_table_add(fields, g, "radius", "m", FIELD_F64, 1, &t->radius, constant,
                            "radius of a sphere; of other shapes: largest distance of a vertex from the centre of mass"));
  PetscCall(field_table_add(fields, g, "size", "m", FIELD_F64, 3, &t->size, constant, "extents of the shape along the body axes"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode add_shapes(rigid_table *t, field_table *fields)
{
  const int    constant = FIELD_FRAME | FIELD_CONSTANT;
  field_group *g;
  PetscFunctionBegin;
  PetscCall(field_table_add_group(fields, "rigid/shapes", FIELD_GROUP_SHAPES, &t->n_vertices, t, &g));
  g->is_fixed  = true;
  g->triangles = t->shape_triangles, g->n_triangles = t->n_triangles;
  PetscCall(field_table_add(fields, g, "position", "m", FIELD_F64, 3, &t->vertex, constant, "surface vertices in body axes"));
  PetscCall(field_table_add(fields, g, "shape", "1", FIELD_I32, 1, &t->vertex_shape, constant, "number of the shape of each vertex"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode add_surfaces(rigid_table *t, field_table *fields)
{
  field_group *g;
  PetscFunctionBegin;
  PetscCall(field_table_add_group(fields, "rigid/surfaces", FIELD_GROUP_SURFACE, &t->n_points, t, &g));
  g->is_fixed  = true;
  g->refresh   = refresh_surfaces;
  g->triangles = t->cell, g->n_triangles = t->n_cells;
  PetscCall(field_table_add(fields, g, "position", "m", FIELD_F64, 3, &t->point, FIELD_FRAME | FIELD_DERIVED, "surface vertices"));
  PetscCall(field_table_add(fields, g, "body", "1", FIELD_I32, 1, &t->point_body, FIELD_FRAME | FIELD_CONSTANT,
                            "number of the body of each vertex"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode rigid_table_fields(rigid_table *t, field_table *fields)
{
  field_group *g;
  PetscFunctionBegin;
  if (t->n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(add_bodies(t, fields));
  PetscCall(field_table_add_group(fields, "rigid/names", FIELD_GROUP_PLAIN, &t->n_text, t, &g));
  g->is_fixed = true;
  PetscCall(field_table_add(fields, g, "text", "1", FIELD_U8, 1, &t->text, FIELD_CHECKPOINT | FIELD_FRAME | FIELD_CONSTANT,
                            "names of the bodies in the order of the rows, each followed by a line feed"));
  if (t->n_shapes > 0) PetscCall(add_shapes(t, fields));
  if (t->n_points > 0) PetscCall(add_surfaces(t, fields));
  PetscFunctionReturn(PETSC_SUCCESS);
}
