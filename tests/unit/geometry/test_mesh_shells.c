/* Shells of closed surfaces: outer shells and cavities are accepted; duplicated, nested and inverted shells are counted. */
#include "test.h"
#include "geometry/triangle_mesh/mesh_shells.h"
#include "geometry/triangle_mesh/triangle_mesh_primitives.h"
#include <string.h>

/* Append box [lo, hi]^3 + shift e_x to a mesh. */
static void add_box(triangle_mesh **m, double lo, double hi, double shift, bool is_flipped)
{
  const double   min[3] = {lo + shift, lo, lo}, max[3] = {hi + shift, hi, hi};
  triangle_mesh *box, *both;
  assert_int_equal(triangle_mesh_box(min, max, 0.0, &box), 0);
  if (is_flipped) triangle_mesh_flip(box);
  if (!*m) {
    *m = box;
    return;
  }
  assert_int_equal(triangle_mesh_create((*m)->n_vertices + box->n_vertices, (*m)->n_triangles + box->n_triangles, &both), 0);
  memcpy(both->x, (*m)->x, 3 * (size_t)(*m)->n_vertices * sizeof *both->x);
  memcpy(both->x + 3 * (*m)->n_vertices, box->x, 3 * (size_t)box->n_vertices * sizeof *both->x);
  memcpy(both->tri, (*m)->tri, 3 * (size_t)(*m)->n_triangles * sizeof *both->tri);
  for (int64_t k = 0; k < 3 * box->n_triangles; ++k) both->tri[3 * (*m)->n_triangles + k] = box->tri[k] + (int32_t)(*m)->n_vertices;
  triangle_mesh_destroy(&box);
  triangle_mesh_destroy(m);
  *m = both;
}

static void expect(triangle_mesh *m, int64_t n_wrong, int64_t winding, const char *text)
{
  int64_t n, w = 1;
  double  at[3];
  char    message[512];
  assert_int_equal(mesh_shells_check(m, &n, at, &w), 0);
  assert_int_equal(n, n_wrong);
  assert_int_equal(w, winding);
  assert_int_equal(mesh_shells_text(m, sizeof message, message), 0);
  if (*text) assert_non_null(strstr(message, text));
  else assert_string_equal(message, "");
}

static void correct_shells(void **unused)
{
  (void)unused;
  triangle_mesh *m = NULL;
  add_box(&m, 0.0, 1.0, 0.0, false);
  expect(m, 0, 1, "");
  add_box(&m, 0.0, 1.0, 1.0, false); /* touches the first one in a face */
  add_box(&m, 0.1, 0.9, 0.0, true);  /* a cavity */
  add_box(&m, 0.2, 0.8, 0.0, false); /* a solid in the cavity */
  expect(m, 0, 1, "");
  triangle_mesh_destroy(&m);
  assert_no_leak();
}

static void wrong_shells(void **unused)
{
  (void)unused;
  triangle_mesh *m = NULL;
  add_box(&m, 0.0, 1.0, 0.0, false);
  add_box(&m, 0.0, 1.0, 0.0, false); /* duplicated */
  expect(m, 2, 2, "duplicated or nested");
  add_box(&m, 0.3, 0.5, 0.0, false); /* nested in both */
  expect(m, 3, 2, "duplicated or nested");
  triangle_mesh_destroy(&m);
  add_box(&m, 0.0, 1.0, 0.0, false);
  add_box(&m, 0.3, 0.5, 0.0, false);
  expect(m, 1, 2, "their mass would count 2 times");
  triangle_mesh_destroy(&m);
  add_box(&m, 0.0, 1.0, 0.0, false);
  add_box(&m, 0.0, 0.5, 2.0, true); /* inside out, beside the other one */
  expect(m, 1, 0, "inside out");
  triangle_mesh_destroy(&m);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(correct_shells), cmocka_unit_test(wrong_shells))
