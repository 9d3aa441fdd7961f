/* Springs between two cubes: forces by hand, balance of momentum, derivatives, friction springs that persist, report, checkpoints. */
#include "contact/penalty/penalty_rows.h"
#include "test.h"
#include "contact_bodies.h"
#include "core/diagnostics.h"
#include "core/random.h"
#include "discretize/rigid/rigid_body.h"
#include <string.h>

/* Cubes of 0.2 m, the first one on top. Each has two blocks. */
enum { N_BLOCKS = 4, N = 3 * N_BLOCKS, CORNERS = 4 };
static const double DT = 0.01, STIFFNESS = 1e4, FRICTION = 0.5, DEPTH = 2e-3;

typedef struct {
  rigid_body   *rigid[2];
  body         *body[2];
  rigid_frame   frames[2], end[2];
  penalty_rows *rows;
} world;

static void open_world_law(world *w, double friction_across)
{
  static const shape_box_spec cube     = {{-0.1, -0.1, -0.1}, {0.1, 0.1, 0.1}};
  static const int32_t        frame[2] = {0, 1};
  const shape_spec            box      = {.box = &cube, .axis = {0, 0, 1}};
  const rigid_body_spec       spec     = {.shape = &box, .surface_spacing = NAN, .mass = NAN, .inertia = {NAN}, .center_of_mass = {NAN}};
  const triangle_mesh *const  none[2]  = {NULL, NULL};
  contact_law                 law[4];
  diagnostics                *d = NULL;
  memset(w, 0, sizeof *w);
  assert_ok(diagnostics_create(&d));
  for (int i = 0; i < 2; ++i) {
    assert_ok(rigid_body_create(i ? "low" : "high", RIGID_DYNAMIC, &spec, 1000.0, NULL, "bodies.cube", d, &w->rigid[i]));
    w->body[i]              = &w->rigid[i]->base;
    w->body[i]->first_block = 2 * i;
  }
  assert_int_equal(diagnostics_count(d), 0);
  diagnostics_destroy(&d);
  for (int i = 0; i < 4; ++i)
    law[i] = (contact_law){.stiffness = STIFFNESS, .friction = FRICTION, .friction_across = friction_across, .direction = {1.0}};
  assert_ok(penalty_rows_create(2, w->body, frame, NULL, law, true, none, &w->rows));
}
static void open_world(world *w) { open_world_law(w, 0.0); }
static void close_world(world *w)
{
  penalty_rows_destroy(&w->rows);
  for (int i = 0; i < 2; ++i) rigid_body_destroy(&w->rigid[i]);
  assert_no_leak();
}

/* The upper cube is shifted along x and overlaps the lower one by `depth`. */
static void begin(world *w, double shift, double depth)
{
  w->frames[0] = mock_frame((const double[3]){shift, 0.03, 0.2 - depth}, 0);
  w->frames[1] = mock_frame((const double[3]){0.0, 0.0, 0.0}, 2);
  memcpy(w->end, w->frames, sizeof w->end);
  const rows_step step = {
      .frames = w->frames, .end = w->end, .dt = DT, .gravity = {0, 0, -9.81}, .margin = 0.01, .length = 0.2, .n_blocks = N_BLOCKS};
  assert_ok(penalty_rows_begin(w->rows, &step));
  assert_int_equal(penalty_rows_size(w->rows), CORNERS);
}
static void evaluate(world *w, const double *v, double *g, bool with_tangent)
{
  const char *bad = "";
  memset(g, 0, N * sizeof *g);
  assert_ok(penalty_rows_residual(w->rows, v, g, with_tangent, &bad));
  assert_null(bad);
}

/* Linear and angular momentum that the impulses -g transfer add up to zero. */
static void assert_balance(const world *w, const double *g)
{
  for (int k = 0; k < 3; ++k) {
    double moment = 0.0;
    assert_close(g[k] + g[6 + k], 0.0, 1e-14);
    for (int b = 0; b < 2; ++b) {
      double t[3];
      v3_cross(t, w->frames[b].c, g + 6 * b);
      moment += t[k] + g[6 * b + 3 + k];
    }
    assert_close(moment, 0.0, 1e-14);
  }
}

/* At rest: the force of each corner is k times the depth. With an approach speed the depth grows within the step; friction opposes sliding, and is
 * limited by the cone. */
static void test_forces(void **state)
{
  (void)state;
  world  w;
  double v[N] = {0.0}, g[N];
  open_world(&w);
  begin(&w, 0.05, DEPTH);
  evaluate(&w, v, g, false);
  assert_close(g[2], -DT * CORNERS * STIFFNESS * DEPTH, 1e-12);
  assert_close(g[0], 0.0, 1e-12);
  assert_balance(&w, g);
  v[2] = -0.1, v[0] = 0.02; /* by 1e-3 down, 2e-4 to the side */
  evaluate(&w, v, g, false);
  assert_close(g[2], -DT * CORNERS * STIFFNESS * (DEPTH + 1e-3), 1e-12);
  assert_close(g[0], DT * CORNERS * STIFFNESS * 2e-4, 1e-12);
  assert_balance(&w, g);
  v[0] = 1.0;
  evaluate(&w, v, g, false);
  assert_close(g[0], FRICTION * DT * CORNERS * STIFFNESS * (DEPTH + 1e-3), 1e-12);
  assert_balance(&w, g);
  v[2] = 0.3; /* separates within the step */
  evaluate(&w, v, g, false);
  for (int i = 0; i < N; ++i) assert_true(g[i] == 0.0);
  v[2]            = NAN;
  const char *bad = NULL;
  assert_ok(penalty_rows_residual(w.rows, v, g, false, &bad));
  assert_non_null(bad);
  close_world(&w);
}

/* Products, transposed products, diagonal blocks and the assembled matrix are the derivative of the residual, for sticking and sliding contacts. */
static void test_derivatives(void **state)
{
  (void)state;
  for (int slides = 0; slides < 2; ++slides) {
    world  w;
    double v[N], x[N], z[N], y[N] = {0.0}, t[N] = {0.0}, plus[N], minus[N], g[N], d[9 * N_BLOCKS] = {0.0},
                             value[9 * N_BLOCKS * N_BLOCKS] = {0.0};
    int64_t      row_start[N_BLOCKS + 1], n      = 0;
    int32_t      col[N_BLOCKS * N_BLOCKS], *rows = NULL, *cols = NULL;
    bool         is_coupled[N_BLOCKS * N_BLOCKS] = {false};
    const double eps                             = 1e-5;
    open_world(&w);
    begin(&w, 0.05, DEPTH);
    for (int i = 0; i < N; ++i) {
      v[i] = random_range(3, (uint64_t)i, 0, -0.01, 0.01), x[i] = random_range(3, (uint64_t)i, 1, -1.0, 1.0);
      z[i] = random_range(3, (uint64_t)i, 2, -1.0, 1.0);
    }
    if (slides) v[0] += 1.0;
    for (int side = -1; side < 2; side += 2) {
      double u[N];
      for (int i = 0; i < N; ++i) u[i] = v[i] + side * eps * x[i];
      evaluate(&w, u, side < 0 ? minus : plus, false);
    }
    evaluate(&w, v, g, true);
    penalty_rows_tangent(w.rows, x, y, false);
    penalty_rows_tangent(w.rows, z, t, true);
    double size = 0.0, forth = 0.0, back = 0.0;
    for (int i = 0; i < N; ++i) size = fmax(size, fabs(y[i])), forth += z[i] * y[i], back += x[i] * t[i];
    for (int i = 0; i < N; ++i) assert_close((plus[i] - minus[i]) / (2.0 * eps), y[i], 1e-6 * size);
    assert_close(forth, back, 1e-13 * size);
    for (int b = 0; b <= N_BLOCKS; ++b) row_start[b] = b * N_BLOCKS;
    for (int k = 0; k < N_BLOCKS * N_BLOCKS; ++k) col[k] = k % N_BLOCKS;
    const block_rows H = {N_BLOCKS, row_start, col, value};
    penalty_rows_assemble(w.rows, &H);
    penalty_rows_block_diagonal(w.rows, d);
    assert_ok(penalty_rows_couplings(w.rows, &n, &rows, &cols));
    for (int64_t k = 0; k < n; ++k) is_coupled[rows[k] * N_BLOCKS + cols[k]] = true;
    for (int b = 0; b < N_BLOCKS; ++b) {
      double sum[3] = {0.0, 0.0, 0.0}, term[3];
      for (int c = 0; c < N_BLOCKS; ++c) {
        const double *block = value + 9 * (b * N_BLOCKS + c);
        m3_mulv(term, block, x + 3 * c);
        v3_add(sum, sum, term);
        for (int k = 0; k < 9; ++k) assert_true(is_coupled[b * N_BLOCKS + c] || block[k] == 0.0);
        for (int k = 0; k < 9 && b == c; ++k) assert_close(block[k], d[9 * b + k], 1e-13 * size);
      }
      for (int k = 0; k < 3; ++k) assert_close(sum[k], y[3 * b + k], 1e-13 * size);
    }
    memory_free(&rows), memory_free(&cols);
    close_world(&w);
  }
}

/* Two steps: the friction spring of the first one acts in the second one, also after its state was copied through the fields of checkpoints. */
static void test_memory(void **state)
{
  (void)state;
  for (int is_copied = 0; is_copied < 2; ++is_copied) {
    world           w, other;
    field_table    *table[2] = {NULL, NULL};
    contact_points  points   = {0};
    contact_forces  forces   = {0};
    contact_summary sum      = {0};
    double          v[N] = {0.0}, g[N], max_f_n = 0.0, max_excess = -INFINITY;
    int64_t         p = 0;
    open_world(&w);
    begin(&w, 0.05, DEPTH);
    v[0] = 0.02;
    evaluate(&w, v, g, false);
    penalty_rows_evaluate(w.rows, v);
    v3_axpy(w.end[0].c, DT, v);
    assert_ok(contact_points_reserve(&points, CORNERS));
    assert_ok(penalty_rows_report(w.rows, w.end, &points, &forces, &p, &sum, &max_f_n, &max_excess));
    assert_int_equal(p, CORNERS);
    assert_close(sum.penetration, DEPTH, 1e-15);
    assert_close(sum.contact_energy, CORNERS * 0.5 * STIFFNESS * (DEPTH * DEPTH + 4e-8), 1e-12);
    assert_close(max_f_n, STIFFNESS * DEPTH, 1e-10);
    assert_close(max_excess, STIFFNESS * (2e-4 - FRICTION * DEPTH), 1e-10);
    assert_close(sum.contact_law_error, 0.0, 1e-10);
    assert_int_equal((int)sum.sliding, 0);
    assert_int_equal(forces.n, 1);
    const double sign = forces.group[0].source_body == 0 ? 1.0 : -1.0;
    assert_close(sign * forces.group[0].force[2], CORNERS * STIFFNESS * DEPTH, 1e-9);
    assert_close(sign * forces.group[0].force[0], -CORNERS * STIFFNESS * 2e-4, 1e-9);
    for (int i = 0; i < CORNERS; ++i) assert_close(points.gap[i], -DEPTH, 1e-15);
    assert_ok(penalty_rows_end(w.rows, w.end));
    world *next = &w;
    if (is_copied) {
      field_snapshot *copy = NULL;
      open_world(&other);
      for (int k = 0; k < 2; ++k) {
        assert_ok(field_table_create(&table[k]));
        assert_ok(penalty_rows_fields(k ? other.rows : w.rows, table[k]));
      }
      assert_ok(field_snapshot_create(&copy));
      assert_ok(field_snapshot_take(copy, table[0]));
      assert_ok(field_snapshot_restore(copy, table[1]));
      field_snapshot_destroy(&copy);
      next = &other;
    }
    begin(next, 0.05 + 2e-4, DEPTH);
    v[0] = 0.0;
    evaluate(next, v, g, false);
    assert_close(g[0], DT * CORNERS * STIFFNESS * 2e-4, 1e-11);
    assert_balance(next, g);
    contact_points_destroy(&points);
    contact_forces_destroy(&forces);
    for (int k = 0; k < 2; ++k) field_table_destroy(&table[k]);
    if (is_copied) penalty_rows_destroy(&other.rows), rigid_body_destroy(&other.rigid[0]), rigid_body_destroy(&other.rigid[1]);
    close_world(&w);
  }
}

/* Cubes that slide within the step by x = (8, 6) mm, with a rest depth of 0.5 mm: h is 2.5 mm at the end, friction mu k h stretches the spring by mu h, and
 * the rest of |x| is slip. */
static void test_report_of_sliding(void **state)
{
  (void)state;
  world               w;
  contact_points      points  = {0};
  contact_forces      forces  = {0};
  contact_summary     sum     = {0};
  int32_t             pair[2] = {0, 1};
  double              depth = 5e-4, reduction = 2e-4, v[N] = {0.8, 0.6, -0.1}, max_f_n = 0.0, max_excess = -INFINITY;
  const contact_rests rests = {1, pair, &depth, &reduction};
  const double        h = DEPTH - depth + 1e-3, gap = DEPTH - depth;
  int64_t             p = 0;
  open_world(&w);
  penalty_rows_set_rests(w.rows, &rests);
  begin(&w, 0.05, DEPTH);
  penalty_rows_evaluate(w.rows, v);
  v3_axpy(w.end[0].c, DT, v);
  assert_ok(contact_points_reserve(&points, CORNERS));
  assert_ok(penalty_rows_report(w.rows, w.end, &points, &forces, &p, &sum, &max_f_n, &max_excess));
  assert_int_equal(p, CORNERS);
  assert_int_equal((int)sum.sliding, CORNERS);
  for (int i = 0; i < CORNERS; ++i) assert_true(points.is_sliding[i]);
  assert_close(sum.friction_work_done, CORNERS * FRICTION * STIFFNESS * h * (0.01 - FRICTION * h), 1e-12);
  assert_close(sum.contact_energy, CORNERS * 0.5 * STIFFNESS * h * h * (1.0 + FRICTION * FRICTION), 1e-12);
  assert_close(sum.start_energy, CORNERS * 0.5 * STIFFNESS * gap * gap, 1e-12);
  assert_close(sum.correction_work, CORNERS * 0.5 * STIFFNESS * (gap * gap - (gap - reduction) * (gap - reduction)), 1e-12);
  assert_close(sum.friction_angle_error, 0.0, 1e-12);
  assert_close(sum.contact_law_error, 0.0, 1e-9);
  assert_close(max_f_n, STIFFNESS * h, 1e-9);
  assert_close(max_excess, 0.0, 1e-9);
  assert_int_equal(forces.n, 1);
  const double sign = forces.group[0].source_body == 0 ? 1.0 : -1.0, along[3] = {-0.8 * FRICTION, -0.6 * FRICTION, 1.0};
  for (int k = 0; k < 3; ++k) assert_close(sign * forces.group[0].force[k], CORNERS * STIFFNESS * h * along[k], 1e-9);
  contact_points_destroy(&points);
  contact_forces_destroy(&forces);
  close_world(&w);
}

/* Friction 0.5 along the x axis of the lower cube, 1.25 across it. A quarter turn of that cube exchanges the two. */
static void test_elliptic_friction(void **state)
{
  (void)state;
  for (int is_turned = 0; is_turned < 2; ++is_turned)
    for (int axis = 0; axis < 2; ++axis) {
      world  w;
      double v[N] = {0.0}, g[N];
      open_world_law(&w, 1.25);
      w.frames[0]             = mock_frame((const double[3]){0.05, 0.03, 0.2 - DEPTH}, 0);
      w.frames[1]             = mock_frame((const double[3]){0.0, 0.0, 0.0}, 2);
      const double quarter[9] = {0, -1, 0, 1, 0, 0, 0, 0, 1};
      if (is_turned) m3_copy(w.frames[1].R, quarter);
      memcpy(w.end, w.frames, sizeof w.end);
      const rows_step step = {
          .frames = w.frames, .end = w.end, .dt = DT, .gravity = {0, 0, -9.81}, .margin = 0.01, .length = 0.2, .n_blocks = N_BLOCKS};
      assert_ok(penalty_rows_begin(w.rows, &step));
      assert_int_equal(penalty_rows_size(w.rows), CORNERS);
      v[axis] = 1.0;
      evaluate(&w, v, g, false);
      assert_close(g[axis], (is_turned == axis ? 0.5 : 1.25) * DT * CORNERS * STIFFNESS * DEPTH, 1e-12);
      assert_close(g[1 - axis], 0.0, 1e-12);
      assert_balance(&w, g);
      close_world(&w);
    }
}

/* One step in which the upper cube is pulled by 0.2 mm along x; its friction springs are then known. */
static void stretch(world *w)
{
  double v[N] = {0.02};
  begin(w, 0.05, DEPTH);
  penalty_rows_evaluate(w->rows, v);
  v3_axpy(w->end[0].c, DT, v);
  assert_ok(penalty_rows_end(w->rows, w->end));
}

/* A quarter turn of both cubes as one body turns the forces of their friction springs, and creates no contact. */
static void test_springs_turn_with_the_bodies(void **state)
{
  (void)state;
  world           w;
  contact_points  points     = {0};
  contact_forces  forces     = {0};
  contact_summary sum        = {0};
  const double    quarter[9] = {0, -1, 0, 1, 0, 0, 0, 0, 1};
  double          v[N] = {0.0}, g[N], max_f_n = 0.0, max_excess = 0.0;
  int64_t         p = 0;
  open_world(&w);
  stretch(&w);
  w.frames[0] = mock_frame((const double[3]){-0.03, 0.05 + 2e-4, 0.2 - DEPTH}, 0);
  w.frames[1] = mock_frame((const double[3]){0.0, 0.0, 0.0}, 2);
  for (int i = 0; i < 2; ++i) m3_copy(w.frames[i].R, quarter);
  memcpy(w.end, w.frames, sizeof w.end);
  const rows_step step = {
      .frames = w.frames, .end = w.end, .dt = DT, .gravity = {0, 0, -9.81}, .margin = 0.01, .length = 0.2, .n_blocks = N_BLOCKS};
  assert_ok(penalty_rows_begin(w.rows, &step));
  evaluate(&w, v, g, false);
  assert_close(g[0], 0.0, 1e-11);
  assert_close(g[1], DT * CORNERS * STIFFNESS * 2e-4, 1e-11);
  assert_close(g[2], -DT * CORNERS * STIFFNESS * DEPTH, 1e-11);
  assert_balance(&w, g);
  penalty_rows_evaluate(w.rows, v);
  assert_ok(contact_points_reserve(&points, CORNERS));
  assert_ok(penalty_rows_report(w.rows, w.end, &points, &forces, &p, &sum, &max_f_n, &max_excess));
  assert_close(sum.start_energy, 0.0, 0.0);
  contact_points_destroy(&points);
  contact_forces_destroy(&forces);
  close_world(&w);
}

/* Lagged contact: the force of the cubes at rest, for any velocity. Lagged friction: that of the friction springs at rest, and the normal force at the velocity. */
static void test_schemes(void **state)
{
  (void)state;
  for (int scheme = CONTACT_LAGGED_FRICTION; scheme <= CONTACT_LAGGED_CONTACT; ++scheme) {
    world  w;
    double v[N] = {1.0, -0.5, -0.1}, g[N];
    open_world(&w);
    stretch(&w);
    penalty_rows_set_scheme(w.rows, (contact_scheme)scheme);
    begin(&w, 0.05 + 2e-4, DEPTH);
    evaluate(&w, v, g, false);
    assert_close(g[0], DT * CORNERS * STIFFNESS * 2e-4, 1e-11);
    assert_close(g[1], 0.0, 1e-11);
    assert_close(g[2], -DT * CORNERS * STIFFNESS * (DEPTH + (scheme == CONTACT_LAGGED_FRICTION ? 1e-3 : 0.0)), 1e-11);
    assert_balance(&w, g);
    close_world(&w);
  }
}

TEST_MAIN(cmocka_unit_test(test_forces), cmocka_unit_test(test_derivatives), cmocka_unit_test(test_memory),
          cmocka_unit_test(test_report_of_sliding), cmocka_unit_test(test_elliptic_friction),
          cmocka_unit_test(test_springs_turn_with_the_bodies), cmocka_unit_test(test_schemes))
