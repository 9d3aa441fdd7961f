/* Table of all dynamic rigid bodies, see rigid_table.h. Arrays have room for all bodies; only the rows of bodies in the scene are used. Shapes are found through a hash table over vertices rounded to a millionth of the body's
 * radius; rounding errors move a vertex across a rounding boundary rarely, and then the shape is only stored twice. */
#include "discretize/rigid/rigid_table.h"
#include <math.h>
#include <string.h>
#include "core/memory.h"
#include "core/quaternion.h"

/* A body that is not in the scene at the start of the run. */
typedef struct {
  rigid_body *b;
  int32_t     number, shape;
  double      state[13]; /* c, q, v, w at its release */
} poured_body;

struct rigid_table {
  int64_t      n, n_first, n_all; /* rows in use, at the start of the run, and with all poured bodies */
  rigid_body **body;              /* [n], borrowed */
  double      *c, *q, *v, *w;     /* [n][3], q [n][4] */
  int32_t     *number, *shape;    /* [n] */
  double      *radius, *size;     /* [n], [n][3] */
  int64_t      n_text;
  uint8_t     *text; /* [n_text] names, each followed by a line feed */
  /* bodies that are released during the run */
  int64_t      n_poured;
  poured_body *poured;       /* [n_poured], ascending by number */
  int32_t     *first_number; /* [n_first] numbers of the first rows, which a restored file must have; NULL: no body is poured */
  void (*changed)(void *context);
  void *context;
  /* shapes */
  int64_t               n_shapes, n_vertices, n_triangles, capacity;
  const triangle_mesh **mesh;            /* [n_shapes] of the first body with this shape */
  double               *vertex;          /* [n_vertices][3] */
  int32_t              *vertex_shape;    /* [n_vertices] */
  int32_t              *shape_triangles; /* [n_triangles][3] */
  /* surfaces in world coordinates */
  bool         has_spheres;
  int64_t      n_points, n_cells;
  double      *point;      /* [n_points][3] */
  int32_t     *point_body; /* [n_points] number of the body in the scene */
  int32_t     *cell;       /* [n_cells][3] */
  field_group *surfaces;   /* group of the field table; NULL: none */
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
  while (n_slots < 2 * t->n_all) n_slots *= 2;
  int32_t *slot __attribute__((cleanup(memory_free))) = NULL; /* 1 + shape, 0: free; open addressing */
  PetscCall(memory_alloc("shapes", n_slots, sizeof *slot, &slot));
  for (int64_t i = 0; i < t->n_all; ++i) {
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

/* Room for the surfaces of all bodies. */
static PetscErrorCode create_surfaces(rigid_table *t)
{
  int64_t n = 0, n_others = 0, n_cells = 0;
  PetscFunctionBegin;
  for (int64_t i = 0; i < t->n_all; ++i) {
    const int64_t own = t->body[i]->surface ? t->body[i]->surface->n_vertices : 0;
    n += own;
    if (t->shape[i] >= 0) n_others += own;
  }
  t->has_spheres = n <= RIGID_TABLE_SURFACES;
  if (!t->has_spheres) n = n_others;
  if (n == 0 || n > RIGID_TABLE_OTHER_SURFACES) PetscFunctionReturn(PETSC_SUCCESS);
  for (int64_t i = 0; i < t->n_all; ++i) n_cells += surface_of(t, i) ? surface_of(t, i)->n_triangles : 0;
  PetscCall(check_count(n_cells));
  PetscCall(MEMORY_ALLOC("surfaces", ARRAY(t->point, 3 * n), ARRAY(t->point_body, n), ARRAY(t->cell, 3 * n_cells)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Append the surface of the body in row i. */
static void append_surface(rigid_table *t, int64_t i)
{
  const triangle_mesh *m = t->point ? surface_of(t, i) : NULL;
  if (!m) return;
  for (int64_t k = 0; k < m->n_vertices; ++k) t->point_body[t->n_points + k] = t->number[i];
  append_cells(m, &t->n_points, t->cell, &t->n_cells);
  if (t->surfaces) t->surfaces->n_triangles = t->n_cells;
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

/* Room for the names of all bodies. */
static PetscErrorCode create_names(rigid_table *t)
{
  int64_t n = 0;
  PetscFunctionBegin;
  for (int64_t i = 0; i < t->n_all; ++i) {
    PetscCall(field_table_check_name("body", t->body[i]->base.name));
    n += (int64_t)strlen(t->body[i]->base.name) + 1;
  }
  PetscCall(memory_alloc("names", n, 1, &t->text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void append_name(rigid_table *t, const char *name)
{
  const size_t length = strlen(name);
  memcpy(t->text + t->n_text, name, length);
  t->text[t->n_text + (int64_t)length] = '\n';
  t->n_text += (int64_t)length + 1;
}

/* The state of body b is at c, q, v and w from now on. */
static void set_state(rigid_body *b, double *c, double *q, double *v, double *w)
{
  if (!b->is_in_table) MEMORY_FREE(&b->c, &b->q, &b->v, &b->w);
  b->c = c, b->q = q, b->v = v, b->w = w;
  b->is_in_table = true;
}

static void move_state(rigid_body *b, double *c, double *q, double *v, double *w)
{
  v3_copy(c, b->c);
  memcpy(q, b->q, 4 * sizeof *q);
  v3_copy(v, b->v);
  v3_copy(w, b->w);
  set_state(b, c, q, v, w);
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

/* Complete row i, whose body, number and shape are known: size, name and surface. */
static void complete_row(rigid_table *t, int64_t i)
{
  set_size(t->body[i], &t->radius[i], t->size + 3 * i);
  append_name(t, t->body[i]->base.name);
  append_surface(t, i);
}

/* Bodies that wait follow the others. */
static void order_rows(rigid_table *t, int64_t n, rigid_body *const *bodies, const int32_t *number)
{
  int64_t row = 0;
  for (int pass = 0; pass < 2; ++pass) {
    for (int64_t i = 0; i < n; ++i)
      if (bodies[i]->base.is_waiting == (pass == 1)) t->body[row] = bodies[i], t->number[row++] = number[i];
    if (pass == 0) t->n = t->n_first = row;
  }
  t->n_all = n, t->n_poured = n - t->n;
}

static PetscErrorCode store_poured(rigid_table *t)
{
  PetscFunctionBegin;
  if (t->n_poured == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(memory_copy("rigid bodies", t->n, sizeof *t->first_number, t->number, &t->first_number));
  PetscCall(memory_alloc("rigid bodies", t->n_poured, sizeof *t->poured, &t->poured));
  for (int64_t k = 0; k < t->n_poured; ++k) {
    poured_body *p = &t->poured[k];
    *p             = (poured_body){.b = t->body[t->n + k], .number = t->number[t->n + k], .shape = t->shape[t->n + k]};
    move_state(p->b, p->state, p->state + 3, p->state + 7, p->state + 10);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode fill_table(rigid_table *t, int64_t n, rigid_body *const *bodies, const int32_t *number)
{
  PetscFunctionBegin;
  PetscCall(MEMORY_ALLOC("rigid bodies", ARRAY(t->body, n), ARRAY(t->c, 3 * n), ARRAY(t->q, 4 * n), ARRAY(t->v, 3 * n), ARRAY(t->w, 3 * n),
                         ARRAY(t->number, n), ARRAY(t->shape, n), ARRAY(t->radius, n), ARRAY(t->size, 3 * n)));
  order_rows(t, n, bodies, number);
  PetscCall(create_names(t));
  PetscCall(find_shapes(t));
  PetscCall(store_shapes(t));
  PetscCall(create_surfaces(t));
  for (int64_t i = 0; i < t->n; ++i) {
    complete_row(t, i);
    move_state(t->body[i], t->c + 3 * i, t->q + 4 * i, t->v + 3 * i, t->w + 3 * i);
  }
  PetscCall(store_poured(t));
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
              &(*t)->poured, &(*t)->first_number, &(*t)->mesh, &(*t)->vertex, &(*t)->vertex_shape, &(*t)->shape_triangles, &(*t)->point,
              &(*t)->point_body, &(*t)->cell, t);
}

/* --- poured bodies --------------------------------------------------------------------------------------------------- */

/* The body with this number that is not in the scene; NULL: there is none. */
static poured_body *find_waiting(const rigid_table *t, int32_t number)
{
  int64_t lo = 0, hi = t->n_poured;
  while (lo < hi) {
    const int64_t mid = lo + (hi - lo) / 2;
    if (t->poured[mid].number < number) lo = mid + 1;
    else hi = mid;
  }
  return lo < t->n_poured && t->poured[lo].number == number && t->poured[lo].b->base.is_waiting ? &t->poured[lo] : NULL;
}

/* Row i is that of body p from now on. */
static void set_row(rigid_table *t, int64_t i, const poured_body *p)
{
  t->body[i] = p->b, t->number[i] = p->number, t->shape[i] = p->shape;
  p->b->base.is_waiting = false;
  set_state(p->b, t->c + 3 * i, t->q + 4 * i, t->v + 3 * i, t->w + 3 * i);
  complete_row(t, i);
}

void rigid_table_release(rigid_table *t, int32_t number)
{
  const poured_body *p = find_waiting(t, number);
  const int64_t      i = t->n;
  SS_ASSERT(p);
  v3_copy(t->c + 3 * i, p->state);
  memcpy(t->q + 4 * i, p->state + 3, 4 * sizeof *t->q);
  v3_copy(t->v + 3 * i, p->state + 7);
  v3_copy(t->w + 3 * i, p->state + 10);
  set_row(t, t->n++, p);
}

void rigid_table_on_restore(rigid_table *t, void (*changed)(void *context), void *context) { t->changed = changed, t->context = context; }

static PetscErrorCode resize_rows(void *context, int64_t n_rows)
{
  rigid_table *t = context;
  PetscFunctionBegin;
  PetscCheck(n_rows >= t->n_first && n_rows <= t->n_all, PETSC_COMM_SELF, PETSC_ERR_FILE_READ,
             "group rigid/bodies has %lld rows, but the job has %lld rigid bodies, %lld of them at the start", (long long)n_rows,
             (long long)t->n_all, (long long)t->n_first);
  t->n = n_rows;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The restored numbers determine which poured bodies are in the scene, and their rows. */
static PetscErrorCode restore_rows(void *context)
{
  rigid_table *t = context;
  PetscFunctionBegin;
  for (int64_t k = 0; k < t->n_poured; ++k) {
    poured_body *p = &t->poured[k];
    set_state(p->b, p->state, p->state + 3, p->state + 7, p->state + 10);
    p->b->base.is_waiting = true;
  }
  t->n_text = t->n_points = t->n_cells = 0;
  for (int64_t i = 0; i < t->n; ++i) {
    const poured_body *p = i < t->n_first ? NULL : find_waiting(t, t->number[i]);
    PetscCheck(p || (i < t->n_first && t->number[i] == t->first_number[i]), PETSC_COMM_SELF, PETSC_ERR_FILE_READ,
               "group rigid/bodies: row %lld is body %d, which is not in the job or has another row, too", (long long)i, (int)t->number[i]);
    if (p) set_row(t, i, p);
    else complete_row(t, i);
  }
  if (t->changed) t->changed(t->context);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- fields ---------------------------------------------------------------------------------------------------------- */

static const char *row_name(const void *context, int64_t row) { return ((const rigid_table *)context)->body[row]->base.name; }

static PetscErrorCode add_bodies(rigid_table *t, field_table *fields)
{
  const bool   is_fixed = t->n_poured == 0;
  const int    state = FIELD_CHECKPOINT | FIELD_FRAME, constant = FIELD_FRAME | (is_fixed ? FIELD_CONSTANT : 0);
  field_group *g;
  PetscFunctionBegin;
  PetscCall(field_table_add_group(fields, "rigid/bodies", FIELD_GROUP_POSES, &t->n, t, &g));
  g->is_fixed = is_fixed;
  if (!is_fixed) g->resize = resize_rows, g->restored = restore_rows;
  g->old_prefix = "state/", g->old_name = row_name;
  PetscCall(field_table_add(fields, g, "position", "m", FIELD_F64, 3, &t->c, state, "centre of mass"));
  PetscCall(field_table_add(fields, g, "orientation", "1", FIELD_F64, 4, &t->q, state, "unit quaternion (w, x, y, z), body to world"));
  PetscCall(field_table_add(fields, g, "velocity", "m/s", FIELD_F64, 3, &t->v, state | FIELD_RATE, "velocity of the centre of mass"));
  PetscCall(
      field_table_add(fields, g, "angular_velocity", "rad/s", FIELD_F64, 3, &t->w, state | FIELD_RATE, "angular velocity in world axes"));
  PetscCall(field_table_add(fields, g, "body", "1", FIELD_I32, 1, &t->number, is_fixed ? constant : state, "number of the body"));
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
  g->is_fixed  = t->n_poured == 0;
  g->refresh   = refresh_surfaces;
  g->triangles = t->cell, g->n_triangles = t->n_cells;
  t->surfaces = g;
  PetscCall(field_table_add(fields, g, "position", "m", FIELD_F64, 3, &t->point, FIELD_FRAME | FIELD_DERIVED, "surface vertices"));
  PetscCall(field_table_add(fields, g, "body", "1", FIELD_I32, 1, &t->point_body, FIELD_FRAME | (g->is_fixed ? FIELD_CONSTANT : 0),
                            "number of the body of each vertex"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode rigid_table_fields(rigid_table *t, field_table *fields)
{
  field_group *g;
  PetscFunctionBegin;
  if (t->n_all == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(add_bodies(t, fields));
  PetscCall(field_table_add_group(fields, "rigid/names", FIELD_GROUP_PLAIN, &t->n_text, t, &g));
  g->is_fixed = t->n_poured == 0;
  PetscCall(field_table_add(fields, g, "text", "1", FIELD_U8, 1, &t->text,
                            FIELD_FRAME | (g->is_fixed ? FIELD_CHECKPOINT | FIELD_CONSTANT : 0),
                            "names of the bodies in the order of the rows, each followed by a line feed"));
  if (t->n_shapes > 0) PetscCall(add_shapes(t, fields));
  if (t->point) PetscCall(add_surfaces(t, fields));
  PetscFunctionReturn(PETSC_SUCCESS);
}
