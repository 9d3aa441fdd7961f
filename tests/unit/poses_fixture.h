/* A table of n bodies as poses of shapes, as rigid_table registers it: spheres, and two shapes of 3 and 4 vertices; and a body that
 * does not move. */
#ifndef SS_TESTS_POSES_FIXTURE_H
#define SS_TESTS_POSES_FIXTURE_H
#include "io_fixture.h"

typedef struct {
  int64_t      n, n_text, n_vertices;
  double      *x, *q, *v, *w, *radius, *vertex;
  int32_t     *number, *shape, *vertex_shape, triangles[5][3];
  uint8_t     *text;
  char       **name;
  field_table *table;
} poses;

static const char *poses_name(const void *context, int64_t row) { return ((const poses *)context)->name[row]; }

static inline void poses_fill(poses *p, double seed)
{
  for (int64_t i = 0; i < p->n; ++i) {
    for (int k = 0; k < 3; ++k)
      p->x[3 * i + k] = seed + (double)(3 * i + k), p->v[3 * i + k] = -seed * (double)i, p->w[3 * i + k] = seed + k;
    p->q[4 * i] = cos(seed), p->q[4 * i + 1] = sin(seed), p->q[4 * i + 2] = p->q[4 * i + 3] = 0.0;
  }
}

static inline poses *poses_create(int64_t n, double seed)
{
  static const int32_t triangles[5][3] = {{0, 1, 2}, {3, 4, 5}, {3, 5, 6}, {3, 6, 4}, {4, 6, 5}}, owner[7] = {0, 0, 0, 1, 1, 1, 1};
  const int            state = FIELD_CHECKPOINT | FIELD_FRAME, constant = FIELD_FRAME | FIELD_CONSTANT;
  poses               *p = NULL;
  field_group         *g;
  assert_ok(memory_alloc("test", 1, sizeof *p, &p));
  p->n = n, p->n_vertices = 7;
  assert_ok(MEMORY_ALLOC("test", ARRAY(p->x, 3 * n), ARRAY(p->q, 4 * n), ARRAY(p->v, 3 * n), ARRAY(p->w, 3 * n), ARRAY(p->radius, n),
                         ARRAY(p->number, n), ARRAY(p->shape, n), ARRAY(p->text, 10 * n), ARRAY(p->name, n), ARRAY(p->vertex, 21),
                         ARRAY(p->vertex_shape, 7)));
  memcpy(p->triangles, triangles, sizeof triangles);
  memcpy(p->vertex_shape, owner, sizeof owner);
  for (int k = 0; k < 21; ++k) p->vertex[k] = 0.5 * k;
  for (int64_t i = 0; i < n; ++i) {
    char name[16];
    p->number[i] = (int32_t)i + 1, p->shape[i] = (int32_t)(i % 3) - 1, p->radius[i] = 0.25 * (double)(1 + i);
    const int length = snprintf(name, sizeof name, "b%lld", (long long)i);
    assert_ok(memory_copy("test", length + 1, 1, name, &p->name[i]));
    memcpy(p->text + p->n_text, name, (size_t)length);
    p->text[p->n_text + length] = '\n';
    p->n_text += length + 1;
  }
  poses_fill(p, seed);
  assert_ok(field_table_create(&p->table));
  assert_ok(field_table_add_group(p->table, "rigid/bodies", FIELD_GROUP_POSES, &p->n, p, &g));
  g->is_fixed = true, g->old_prefix = "state/", g->old_name = poses_name;
  assert_ok(field_table_add(p->table, g, "position", "m", FIELD_F64, 3, &p->x, state, "centre"));
  assert_ok(field_table_add(p->table, g, "orientation", "1", FIELD_F64, 4, &p->q, state, "quaternion"));
  assert_ok(field_table_add(p->table, g, "velocity", "m/s", FIELD_F64, 3, &p->v, state | FIELD_RATE, "velocity"));
  assert_ok(field_table_add(p->table, g, "angular_velocity", "rad/s", FIELD_F64, 3, &p->w, state | FIELD_RATE, "angular velocity"));
  assert_ok(field_table_add(p->table, g, "body", "1", FIELD_I32, 1, &p->number, constant, "number"));
  assert_ok(field_table_add(p->table, g, "shape", "1", FIELD_I32, 1, &p->shape, constant, "shape"));
  assert_ok(field_table_add(p->table, g, "radius", "m", FIELD_F64, 1, &p->radius, constant, "radius"));
  assert_ok(field_table_add_group(p->table, "rigid/names", FIELD_GROUP_PLAIN, &p->n_text, p, &g));
  g->is_fixed = true;
  assert_ok(field_table_add(p->table, g, "text", "1", FIELD_U8, 1, &p->text, constant | FIELD_CHECKPOINT, "names"));
  assert_ok(field_table_add_group(p->table, "rigid/shapes", FIELD_GROUP_SHAPES, &p->n_vertices, p, &g));
  g->is_fixed = true, g->triangles = p->triangles[0], g->n_triangles = 5;
  assert_ok(field_table_add(p->table, g, "position", "m", FIELD_F64, 3, &p->vertex, constant, "vertices"));
  assert_ok(field_table_add(p->table, g, "shape", "1", FIELD_I32, 1, &p->vertex_shape, constant, "shape"));
  assert_ok(field_table_add_group(p->table, "bodies/wall", FIELD_GROUP_SURFACE, &p->n_vertices, p, &g)); /* constant, too */
  g->is_fixed = true, g->triangles = p->triangles[0], g->n_triangles = 5;
  assert_ok(field_table_add(p->table, g, "position", "m", FIELD_F64, 3, &p->vertex, constant, "vertices"));
  return p;
}

static inline void poses_destroy(poses **p)
{
  for (int64_t i = 0; i < (*p)->n; ++i) memory_free(&(*p)->name[i]);
  field_table_destroy(&(*p)->table);
  MEMORY_FREE(&(*p)->x, &(*p)->q, &(*p)->v, &(*p)->w, &(*p)->radius, &(*p)->number, &(*p)->shape, &(*p)->text, &(*p)->name, &(*p)->vertex,
              &(*p)->vertex_shape, p);
}
#endif
