/* Isosurface stuffing: the paper's angles for every phase of the surface in the lattice, vertices on the surface, second order. */
#include "core/math3.h"
#include "core/random.h"
#include "core/team.h"
#include "geometry/tet_mesh/tet_mesh_stuffing.h"
#include "test.h"
#include "tet_mesh_quality.h"
#include <float.h>
#include <string.h>

/* [LabelleShewchuk2007]: with these alphas all dihedral angles are between 10.7 and 164.8 degrees. */
static const double ANGLE_MIN = 10.7, ANGLE_MAX = 164.8;

enum { SPHERE, TORUS, BOX, CYLINDER, N_SHAPES };

static level_set *shape_of(int kind)
{
  const double origin[3] = {0.2, -0.1, 0.3}, size[3] = {1.2, 1.2, 1.2}, axis[3] = {1, 2, 3}, end[3] = {0.7, 0.9, 1.8};
  level_set   *s = NULL;
  if (kind == SPHERE) assert_ok(level_set_sphere(origin, 1.0, &s));
  if (kind == TORUS) assert_ok(level_set_torus(origin, axis, 1.0, 0.4, &s));
  if (kind == BOX) assert_ok(level_set_box(origin, size, &s));
  if (kind == CYLINDER) assert_ok(level_set_cylinder(origin, end, 0.7, &s));
  return s;
}
static const double volume_of[N_SHAPES] = {4.0 / 3.0 * M_PI, 2.0 * M_PI *M_PI * 0.16, 1.0 * 1.3 * 0.9, M_PI * 0.49 * 1.8708286933869707};

static tet_mesh *stuff(const level_set *s, double spacing, const double *shift)
{
  double    min[3], max[3];
  tet_mesh *m = NULL;
  level_set_bounds(s, min, max);
  assert_ok(tet_mesh_from_level_set(s, min, max, spacing, shift, &m));
  return m;
}

static void random_shift(uint64_t i, double *shift)
{
  for (uint64_t k = 0; k < 3; ++k) shift[k] = random_u01(3, i, k);
}

/* 20 lattices for each shape, from two cells across the thinnest part to six. tet_mesh_from_level_set also checks that all
 * tetrahedra are valid; the Euler characteristic of the boundary shows that there are no wrong holes or handles. */
static void test_angles(void **state)
{
  (void)state;
  double lowest = 180.0, highest = 0.0, worst = 0.0;
  for (int kind = 0; kind < N_SHAPES; ++kind) {
    level_set *s = shape_of(kind);
    for (uint64_t i = 0; i < 20; ++i) {
      tet_mesh_quality q;
      double           shift[3];
      random_shift(i, shift);
      tet_mesh *m = stuff(s, random_range(4, i, 0, 0.13, 0.35), shift);
      assert_ok(tet_mesh_measure(m, &q));
      assert_true(q.min_dihedral_deg > ANGLE_MIN && q.max_dihedral_deg < ANGLE_MAX);
      assert_true(q.min_volume > 0.0);
      assert_int_equal(q.euler, kind == TORUS ? 0 : 2);
      for (int64_t v = 0; v < m->surface->n_vertices; ++v) /* bisected to 1e-13 of an edge */
        worst = fmax(worst, fabs(level_set_value(s, &m->surface->x[3 * v])));
      lowest = fmin(lowest, q.min_dihedral_deg), highest = fmax(highest, q.max_dihedral_deg);
      tet_mesh_destroy(&m);
    }
    level_set_destroy(&s);
  }
  assert_close(worst, 0.0, 1e-13);
  assert_true(lowest < 15.0 && highest > 150.0); /* the angles approach the bounds, so the test is demanding */
  assert_no_leak();
}

/* A ball whose surface is ruffled on the scale of the lattice, so that cut points on neighbouring edges are almost independent
 * and approach the limits given by alpha. */
typedef struct {
  level_set base;
  uint64_t  seed;
  double    spacing, amplitude;
} ruffled_ball;

static double ruffled_eval(const level_set *s, const double x[3], double *gradient, double *hessian)
{
  const ruffled_ball *r   = (const ruffled_ball *)s;
  double              sum = 0.0;
  (void)gradient, (void)hessian;
  for (uint64_t i = 0; i < 4; ++i) {
    double phase = random_range(r->seed, i, 3, 0.0, 2.0 * M_PI);
    for (uint64_t k = 0; k < 3; ++k) phase += random_range(r->seed, i, k, -9.0, 9.0) * x[k] / r->spacing;
    sum += sin(phase);
  }
  return v3_norm(x) - 1.0 + r->amplitude * r->spacing * sum;
}
static const level_set_kind kind_ruffled = {.eval = ruffled_eval};

static void test_angles_of_rough_surfaces(void **state)
{
  (void)state;
  const double min[3] = {-1.2, -1.2, -1.2}, max[3] = {1.2, 1.2, 1.2};
  double       lowest = 180.0, highest = 0.0;
  int          n_refused = 0;
  for (uint64_t i = 0; i < 60; ++i) {
    const ruffled_ball ball = {{&kind_ruffled}, i, 0.25, 0.12};
    tet_mesh          *m    = NULL;
    tet_mesh_quality   q;
    if (tet_mesh_from_level_set(&ball.base, min, max, ball.spacing, NULL, &m)) {
      ++n_refused;
      error_clear();
      continue;
    }
    assert_ok(tet_mesh_measure(m, &q));
    lowest = fmin(lowest, q.min_dihedral_deg), highest = fmax(highest, q.max_dihedral_deg);
    tet_mesh_destroy(&m);
  }
  assert_true(lowest > ANGLE_MIN && highest < ANGLE_MAX);
  assert_true(n_refused < 6);
  assert_true(lowest < 14.0 && highest > 150.0);
  assert_no_leak();
}

/* Where the surface is smooth the volume's error falls as h^2; averaged over shifts, so that the lattice's phase cancels. */
static void test_volume_order(void **state)
{
  (void)state;
  const int smooth[2] = {SPHERE, TORUS};
  for (int j = 0; j < 2; ++j) {
    level_set *s        = shape_of(smooth[j]);
    double     error[2] = {0.0, 0.0};
    for (int level = 0; level < 2; ++level)
      for (uint64_t i = 0; i < 6; ++i) {
        double shift[3];
        random_shift(i, shift);
        tet_mesh *m = stuff(s, 0.24 / (1 << level), shift);
        error[level] += (volume_of[smooth[j]] - tet_mesh_mass(m).volume) / 6.0;
        assert_close(tet_mesh_mass(m).volume, triangle_mesh_mass(m->surface).volume, 1e-11);
        tet_mesh_destroy(&m);
      }
    assert_true(error[0] > 0.0);
    assert_close(log2(error[0] / error[1]), 2.0, 0.1);
    level_set_destroy(&s);
  }
  assert_no_leak();
}

/* A box that fits the lattice is cut exactly: five tenths on the lattice's faces, angles of 45 to 90 degrees. Sharp edges that do
 * not fit are cut off: by less than a strip of the spacing's width. A cylinder in general position: likewise. */
static void test_sharp_edges(void **state)
{
  (void)state;
  level_set       *box = shape_of(BOX), *cylinder = shape_of(CYLINDER);
  tet_mesh_quality q;
  const double     shift[3] = {0.3, 0.6, 0.2}, h = 0.1;
  tet_mesh        *m = stuff(box, h, NULL);
  assert_close(tet_mesh_mass(m).volume, volume_of[BOX], 1e-12);
  assert_ok(tet_mesh_measure(m, &q));
  assert_close(q.min_dihedral_deg, 45.0, 1e-9);
  assert_close(q.max_dihedral_deg, 90.0, 1e-9);
  tet_mesh_destroy(&m);
  m                 = stuff(box, h, shift);
  const double lost = volume_of[BOX] - tet_mesh_mass(m).volume;
  assert_true(lost > 0.0 && lost < 0.5 * h * h * 4.0 * (1.0 + 1.3 + 0.9)); /* a prism along every edge */
  tet_mesh_destroy(&m);
  m                 = stuff(cylinder, h, shift);
  const double less = volume_of[CYLINDER] - tet_mesh_mass(m).volume;
  assert_true(less > 0.0 && less < 0.5 * h * h * 2.0 * 2.0 * M_PI * 0.7 + 0.3 * h * h * volume_of[CYLINDER]);
  tet_mesh_destroy(&m);
  level_set_destroy(&box);
  level_set_destroy(&cylinder);
  assert_no_leak();
}

/* A part of the lattice's period moves nothing but the origin; a whole period moves nothing. */
static void test_shift_and_threads(void **state)
{
  (void)state;
  level_set   *s        = shape_of(TORUS);
  const double shift[3] = {0.25, 0.5, 0.125}, period[3] = {1.25, -0.5, 7.125};
  tet_mesh    *m[4] = {NULL};
  for (int i = 0; i < 4; ++i) {
    team_set_threads(i == 0 ? 1 : i == 1 ? 2 : 7);
    m[i] = stuff(s, 0.15, i == 3 ? period : shift);
    assert_int_equal(m[i]->n_tets, m[0]->n_tets);
    assert_memory_equal(m[i]->x, m[0]->x, 3 * (size_t)m[0]->n_vertices * sizeof(double));
    assert_memory_equal(m[i]->tet, m[0]->tet, 4 * (size_t)m[0]->n_tets * sizeof(int32_t));
  }
  team_set_threads(0);
  for (int i = 0; i < 4; ++i) tet_mesh_destroy(&m[i]);
  level_set_destroy(&s);
  assert_no_leak();
}

/* Boolean combinations: a sphere with a hole through it is a torus to topology. */
static void test_csg(void **state)
{
  (void)state;
  const double     a[3] = {0, 0, -2}, b[3] = {0, 0, 2}, c[3] = {0};
  level_set       *ball = NULL, *drill = NULL, *ring = NULL;
  tet_mesh        *m = NULL;
  tet_mesh_quality q;
  const double     min[3] = {-1, -1, -1}, max[3] = {1, 1, 1};
  assert_ok(level_set_sphere(c, 1.0, &ball));
  assert_ok(level_set_cylinder(a, b, 0.5, &drill));
  assert_ok(level_set_difference(ball, drill, &ring));
  assert_ok(tet_mesh_from_level_set(ring, min, max, 0.08, NULL, &m));
  assert_ok(tet_mesh_measure(m, &q));
  assert_int_equal(q.euler, 0);
  assert_true(q.min_dihedral_deg > ANGLE_MIN && q.max_dihedral_deg < ANGLE_MAX);
  const double height = 2.0 * sqrt(0.75), exact = M_PI * height * height * height / 6.0; /* a bead of any radius */
  assert_close(tet_mesh_mass(m).volume, exact, 0.01 * exact);
  tet_mesh_destroy(&m);
  level_set_destroy(&ring);
  assert_no_leak();
}

static void test_errors(void **state)
{
  (void)state;
  const double c[3] = {0}, far[3] = {3, 0, 0}, min[3] = {-1, -1, -1}, max[3] = {4, 1, 1}, open[3] = {INFINITY, 1, 1};
  level_set   *one = NULL, *other = NULL, *both = NULL, *child[2];
  tet_mesh    *m = NULL;
  assert_ok(level_set_sphere(c, 1.0, &one));
  assert_ok(level_set_sphere(far, 1.0, &other));
  child[0] = one, child[1] = other;
  assert_ok(level_set_union(2, child, &both));
#define REFUSED(call, text)                                                                                                                \
  do {                                                                                                                                     \
    assert_int_equal(call, PETSC_ERR_USER_INPUT);                                                                                          \
    if (!strstr(error_message(), text)) fail_msg("\"%s\" does not contain \"%s\"", error_message(), text);                                 \
    error_clear();                                                                                                                         \
  } while (0)
  REFUSED(tet_mesh_from_level_set(both, min, max, 0.2, NULL, &m), "2 separate parts");
  REFUSED(tet_mesh_from_level_set(both, min, open, 0.2, NULL, &m), "only a bounded shape");
  REFUSED(tet_mesh_from_level_set(both, min, max, 0.0, NULL, &m), "positive spacing");
  REFUSED(tet_mesh_from_level_set(both, min, max, 0.001, NULL, &m), "choose a larger spacing");
  REFUSED(tet_mesh_from_level_set(both, (double[]){9, 9, 9}, (double[]){10, 10, 10}, 0.2, NULL, &m), "no tetrahedron lies inside");
  assert_null(m);
#undef REFUSED
  level_set_destroy(&both);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_angles), cmocka_unit_test(test_angles_of_rough_surfaces), cmocka_unit_test(test_volume_order),
          cmocka_unit_test(test_sharp_edges), cmocka_unit_test(test_shift_and_threads), cmocka_unit_test(test_csg),
          cmocka_unit_test(test_errors))
