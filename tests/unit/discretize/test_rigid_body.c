/* Rigid bodies: mass, derivatives, conservation, springs, and the two classical tops. */
#include "discretize/rigid/rigid_table.h"
#include "rigid_fixture.h"
#include "temporary.h"
#include <string.h>
#include <unistd.h>

static double sample(int i, double size) /* some numbers without pattern */ { return size * sin(12.9898 * (i + 1) + 0.3 * i * i); }

static void test_tables(void **state)
{
  (void)state;
  const key_table *table[] = {&rigid_body_table, &kinematic_body_table, &static_body_table, &motion_table};
  diagnostics     *d       = NULL;
  assert_ok(diagnostics_create(&d));
  for (int i = 0; i < 4; ++i) assert_ok(key_table_validate(table[i], d));
  if (diagnostics_count(d)) fail_msg("%s", diagnostics_text(d, 0));
  diagnostics_destroy(&d);
  assert_no_leak();
}

static void test_mass(void **state)
{
  (void)state;
  document    *doc     = NULL;
  const double zero[3] = {0, 0, -9.81};
  body_totals  totals;
  assert_ok(document_create(&doc));
  rigid_body *b = rigid_from_text(
      RIGID_DYNAMIC, "{material: m, shape: {sphere: {center: [1, 2, 3], radius: 0.5}}, velocity: [1, 0, 0], angular_velocity: [0, 0, 2]}",
      1000.0, doc, NULL);
  const double m = 1000.0 * M_PI / 6.0;
  assert_close(b->mass, m, 1e-12 * m);
  for (int k = 0; k < 9; ++k) assert_close(b->inertia[k], k % 4 ? 0.0 : 0.1 * m, 1e-13 * m);
  assert_ok(b->base.ops->totals(&b->base, zero, &totals));
  assert_close(totals.kinetic, 0.5 * m + 0.5 * 0.1 * m * 4.0, 1e-12 * m);
  assert_close(totals.potential, m * 9.81 * 3.0, 1e-11 * m);
  assert_close(totals.momentum[0], m, 1e-12 * m);
  assert_close(totals.angular_momentum[0], 0.0, 1e-12 * m);
  assert_close(totals.angular_momentum[1], 3.0 * m, 1e-12 * m); /* z p_x */
  assert_close(totals.angular_momentum[2], -2.0 * m + 0.2 * m, 1e-12 * m);
  /* surface and level set are in the body frame, about the centre of mass */
  assert_close(b->radius, 0.5, 1e-12);
  assert_close(level_set_value(b->level_sets[0], (const double[3]){0, 0, 0.75}), 0.25, 1e-15);
  rigid_body_destroy(&b);
  b = rigid_from_text(RIGID_DYNAMIC, "{material: m, mass: 2, inertia: [1, 2, 3], shape: {box: {min: [0, 0, 0], max: [1, 1, 1]}}}", 5.0, doc,
                      NULL);
  assert_close(b->mass, 2.0, 0.0);
  for (int k = 0; k < 9; ++k) assert_close(b->inertia[k], k % 4 ? 0.0 : 1.0 + k / 4, 0.0);
  assert_int_equal(b->n_vertices, 8);
  rigid_body_destroy(&b);
  b = rigid_from_text(RIGID_DYNAMIC, "{material: m, mass: 2, shape: {box: {min: [0, 0, 0], max: [1, 2, 3]}}}", 5.0, doc, NULL);
  assert_close(b->inertia[0], 2.0 / 12.0 * 13.0, 1e-14); /* given mass, the shape's inertia */
  rigid_body_destroy(&b);
  b = rigid_from_text(
      RIGID_DYNAMIC,
      "{material: m, mass: 2, inertia: [1, 1, 1], center_of_mass: [1, 2, 2.9], shape: {sphere: {center: [1, 2, 3], radius: 0.5}}}", 5.0,
      doc, NULL);
  assert_close(b->c[2], 2.9, 0.0); /* loaded below its centre: the surface is about that */
  assert_close(b->radius, 0.6, 1e-3);
  assert_close(level_set_value(b->level_sets[0], (const double[3]){0, 0, 0.1}), -0.5, 1e-15);
  assert_close(b->solids[0].center[2], 0.1, 1e-15);
  rigid_body_destroy(&b);
  document_destroy(&doc);
  assert_no_leak();
}

static void test_errors(void **state)
{
  (void)state;
  static const struct {
    rigid_kind  kind;
    const char *text, *expected;
  } bad[] = {
      {RIGID_DYNAMIC, "{material: m, shape: {plane: {}}}", "job.yaml:3:1: bodies.b.shape: has no volume"},
      {RIGID_DYNAMIC, "{material: m, shape: {box: {min: [0, 0, 0], max: [1, 1, 0]}}}", "bodies.b.shape.box.max"},
      {RIGID_DYNAMIC, "{material: m, shape: {sphere: {center: [0, 0, 0], radius: 1}}, inertia: [1, 1, 3]}",
       "inertia: no body has these moments"},
      {RIGID_DYNAMIC, "{material: m, shape: {sphere: {center: [0, 0, 0], radius: 1}}, mass: 0}", "bodies.b.mass"},
      {RIGID_DYNAMIC, "{material: m, shape: {sphere: {center: [0, 0, 0], radius: 1}}, rotation: mid}", "bodies.b.rotation"},
      {RIGID_DYNAMIC, "{material: m, shape: {sphere: {center: [0, 0, 0], radius: 1}}, center_of_mass: [0, 0, 0.1]}",
       "bodies.b.center_of_mass: requires `inertia`"},
      {RIGID_DYNAMIC, "{material: m}", "shape"},
      {RIGID_STATIC, "{shape: {plane: {}}, velocity: [0, 0, 1]}", "velocity"},
      {RIGID_KINEMATIC, "{shape: {plane: {}}}", "motion"},
      {RIGID_STATIC, "{contact_surface: mesh, shape: {plane: {}}}",
       "job.yaml:3:1: bodies.b.contact_surface: mesh: this shape is unbounded"},
      {RIGID_KINEMATIC, "{contact_surface: mesh, motion: {}, shape: {container: {min: [0, 0, 0], max: [1, 1, 1]}}}",
       "bodies.b.contact_surface: mesh"},
      {RIGID_STATIC, "{contact_surface: mesh, shape: {difference: {from: {plane: {}}, minus: [{sphere: {center: [0, 0, 0], radius: 1}}]}}}",
       "give a box instead"},
      {RIGID_DYNAMIC, "{material: m, contact_surface: mesh, shape: {plane: {}}}", "bodies.b.shape: has no volume"},
      {RIGID_STATIC, "{contact_surface: meshes, shape: {box: {min: [0, 0, 0], max: [1, 1, 1]}}}", "did you mean \"mesh\""},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
    document    *doc = NULL;
    diagnostics *d   = NULL;
    assert_ok(document_create(&doc));
    assert_ok(diagnostics_create(&d));
    rigid_body *b = rigid_from_text(bad[i].kind, bad[i].text, 1.0, doc, d);
    assert_null(b);
    assert_true(diagnostics_count(d) >= 1);
    if (!strstr(diagnostics_text(d, 0), bad[i].expected))
      fail_msg("\"%s\" does not contain \"%s\"", diagnostics_text(d, 0), bad[i].expected);
    diagnostics_destroy(&d);
    document_destroy(&doc);
  }
  assert_no_leak();
}

/* Either level sets or triangles, the latter in the body's frame; a box has twelve if it is not told to have more. */
static void test_contact_surface(void **state)
{
  (void)state;
  for (rigid_kind kind = RIGID_DYNAMIC; kind <= RIGID_STATIC; ++kind)
    for (int is_mesh = 0; is_mesh < 2; ++is_mesh) {
      document    *doc = NULL;
      body_surface s;
      char         text[256];
      int          n;
      double       low[3] = {INFINITY, INFINITY, INFINITY};
      snprintf(text, sizeof text, "{%s%s%sshape: {box: {min: [1, 2, 3], max: [2, 4, 6]}}}", kind == RIGID_DYNAMIC ? "material: m, " : "",
               kind == RIGID_KINEMATIC ? "motion: {}, " : "", is_mesh ? "contact_surface: mesh, " : "");
      assert_ok(document_create(&doc));
      rigid_body *b = rigid_from_text(kind, text, 1.0, doc, NULL);
      (void)b->base.ops->level_sets(&b->base, &n);
      b->base.ops->surface(&b->base, &s);
      assert_int_equal(n, !is_mesh);
      assert_int_equal(s.n_triangles, is_mesh ? 12 : 0);
      assert_int_equal(s.n_nodes, is_mesh ? 8 : 0);
      for (int64_t i = 0; i < s.n_nodes; ++i)
        for (int k = 0; k < 3; ++k) low[k] = fmin(low[k], s.x[3 * i + k]);
      for (int k = 0; k < 3 && is_mesh; ++k) assert_close(low[k], kind == RIGID_DYNAMIC ? -0.5 * (k + 1) : 1.0 + k, 1e-15);
      rigid_body_destroy(&b);
      document_destroy(&doc);
    }
  assert_no_leak();
}

/* A mesh from a file that is not convex has vertices at distances of at most 1/16 of its size on its surface, as contact points of a body that
 * moves by forces; a convex mesh and one with a given spacing or for contact of triangles keep theirs. */
static void test_mesh_points(void **state)
{
  (void)state;
  /* an L-shaped prism of length 2 along z, and a tetrahedron of size 2 */
  static const double outline[6][2] = {{0, 0}, {2, 0}, {2, 1}, {1, 1}, {1, 2}, {0, 2}};
  static const int    cap[4][3]     = {{0, 1, 2}, {0, 2, 3}, {0, 3, 4}, {0, 4, 5}};
  char                name[TEMPORARY_ROOM];
  for (int is_convex = 0; is_convex < 2; ++is_convex) {
    const int file = mkstemps(temporary_name(name, ".obj"), 4);
    assert_true(file >= 0);
    FILE *f = fdopen(file, "w");
    if (is_convex) (void)fprintf(f, "v 0 0 0\nv 2 0 0\nv 0 2 0\nv 0 0 2\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n");
    for (int k = 0; k < 12 && !is_convex; ++k) (void)fprintf(f, "v %g %g %d\n", outline[k % 6][0], outline[k % 6][1], k < 6 ? 0 : 2);
    for (int k = 0; k < 4 && !is_convex; ++k)
      (void)fprintf(f, "f %d %d %d\nf %d %d %d\n", cap[k][0] + 1, cap[k][2] + 1, cap[k][1] + 1, cap[k][0] + 7, cap[k][1] + 7,
                    cap[k][2] + 7);
    for (int k = 0; k < 6 && !is_convex; ++k)
      (void)fprintf(f, "f %d %d %d\nf %d %d %d\n", k + 1, (k + 1) % 6 + 1, (k + 1) % 6 + 7, k + 1, (k + 1) % 6 + 7, k + 7);
    (void)fclose(f);
    for (int way = 0; way < 3; ++way) { /* as it is, for triangles, of a static body */
      document  *doc = NULL;
      char       text[TEMPORARY_ROOM + 200];
      double     longest    = 0.0;
      const bool is_sampled = !is_convex && way == 0;
      snprintf(text, sizeof text, "{%s%sshape: {mesh: {file: \"%s\"}}}", way < 2 ? "material: m, " : "",
               way == 1 ? "contact_surface: mesh, " : "", name);
      assert_ok(document_create(&doc));
      rigid_body          *b = rigid_from_text(way < 2 ? RIGID_DYNAMIC : RIGID_STATIC, text, 1.0, doc, NULL);
      const triangle_mesh *t = b->surface;
      for (int64_t k = 0; t && k < 3 * t->n_triangles; ++k) {
        double e[3];
        v3_sub(e, t->x + 3 * t->tri[k], t->x + 3 * t->tri[k % 3 == 2 ? k - 2 : k + 1]);
        longest = fmax(longest, v3_norm(e));
      }
      if (is_sampled) assert_true(t->n_vertices > 500 && longest <= 2.0 / 16.0 + 1e-12);
      else if (t && way < 2) assert_true(t->n_vertices == (is_convex ? 4 : 12) && longest >= 2.0);
      if (way == 0) assert_close(b->mass, is_convex ? 8.0 / 6.0 : 6.0, 1e-9);
      rigid_body_destroy(&b);
      document_destroy(&doc);
    }
    assert_int_equal(unlink(name), 0);
  }
  assert_no_leak();
}

enum { N_ROTATIONS = 3 };
static const char *const rotation_names[N_ROTATIONS] = {
    [RIGID_CONSERVING] = "conserving", [RIGID_BACKWARD_EULER] = "backward_euler", [RIGID_MIDPOINT] = "midpoint"};

static rigid_body *tumbling(int rotation, bool has_anchors, document *doc)
{
  char text[1024];
  snprintf(text, sizeof text,
           "{material: m, rotation: %s, mass: 1.7, inertia: [0.2, 0.3, 0.4], shape: {box: {min: [0, 0, 0], max: [0.4, 0.7, 0.9]}}, "
           "velocity: [0.3, -0.2, 0.5], angular_velocity: [2, -3, 1.5], force: [1, 2, -1], torque: [0.3, -0.1, 0.2]%s}",
           rotation_names[rotation],
           has_anchors
               ? ", anchors: [{point: [0, 0, 0], stiffness: 40}, {point: [0.4, 0.1, 0.2], to: [1, 0, 0.5], stiffness: 25, damping: 3}]"
               : "");
  rigid_body  *b          = rigid_from_text(RIGID_DYNAMIC, text, 1.0, doc, NULL);
  const double gravity[3] = {0.1, 0.2, -9.81};
  rigid_body_set_gravity(b, gravity);
  return b;
}

/* H against central differences of g, whose error must fall as h^2; transposed products and diagonal blocks agree with H. */
static void test_tangent(void **state)
{
  (void)state;
  for (int rotation = 0; rotation < N_ROTATIONS; ++rotation)
    for (int has_anchors = 0; has_anchors < 2; ++has_anchors) {
      document   *doc    = NULL;
      step_status status = {0};
      int64_t     n;
      double      v[6], H[6][6], error[2] = {0}, size = 0.0, diagonal[18] = {0};
      assert_ok(document_create(&doc));
      rigid_body     *b   = tumbling(rotation, has_anchors, doc);
      const body_ops *ops = b->base.ops;
      for (int i = 0; i < 3; ++i) (void)rigid_advance(b, 0.0, 0.05); /* away from the identity */
      assert_ok(ops->begin_step(&b->base, 0.0, 0.1, &n, &status));
      for (int i = 0; i < 6; ++i) v[i] = sample(i, 3.0);
      double g[6] = {0};
      assert_ok(ops->residual(&b->base, v, g, true, &status));
      for (int j = 0; j < 6; ++j) {
        double x[6] = {0}, y[6] = {0}, yt[6] = {0};
        x[j] = 1.0;
        assert_ok(ops->tangent(&b->base, x, y, false));
        assert_ok(ops->tangent(&b->base, x, yt, true));
        for (int i = 0; i < 6; ++i) H[i][j] = y[i], size = fmax(size, fabs(y[i]));
        for (int i = 0; i < j; ++i) assert_close(yt[i], H[j][i], 0.0);
      }
      assert_ok(ops->block_diagonal(&b->base, diagonal));
      for (int i = 0; i < 6; ++i)
        for (int j = 0; j < 6; ++j)
          if (i / 3 == j / 3) assert_close(diagonal[9 * (i / 3) + 3 * (i % 3) + j % 3], H[i][j], 0.0);
      for (int pass = 0; pass < 2; ++pass) {
        const double h = pass ? 5e-3 : 1e-2;
        for (int j = 0; j < 6; ++j) {
          double p[6], m[6], gp[6] = {0}, gm[6] = {0};
          memcpy(p, v, sizeof v), memcpy(m, v, sizeof v);
          p[j] += h, m[j] -= h;
          assert_ok(ops->residual(&b->base, p, gp, false, &status));
          assert_ok(ops->residual(&b->base, m, gm, false, &status));
          for (int i = 0; i < 6; ++i) error[pass] = fmax(error[pass], fabs((gp[i] - gm[i]) / (2 * h) - H[i][j]) / size);
        }
      }
      assert_true(error[1] < 1e-6);
      assert_close(error[0] / error[1], 4.0, 0.1);
      rigid_body_destroy(&b);
      document_destroy(&doc);
    }
  assert_no_leak();
}

/* The body adds its mass to rows and columns 3 and 4 of a matrix of 6 x 6 blocks that already contains the contribution of another body. */
static void check_assembled(rigid_body *b, const double H[36])
{
  enum { FIRST = 3, N = 6 };
  int64_t row_start[N + 1];
  int32_t col[N * N], other[BODY_MAX_COUPLINGS];
  double  value[9 * N * N];
  for (int i = 0; i <= N; ++i) row_start[i] = (int64_t)i * N;
  for (int i = 0; i < N * N; ++i) col[i] = i % N;
  for (int i = 0; i < 9 * N * N; ++i) value[i] = 0.5;
  const block_rows A  = {N, row_start, col, value};
  b->base.first_block = FIRST;
  assert_ok(b->base.ops->assemble(&b->base, &A));
  for (int i = 0; i < 3 * N; ++i)
    for (int j = 0; j < 3 * N; ++j) {
      const int    p = i - 3 * FIRST, q = j - 3 * FIRST;
      const double own = p >= 0 && p < 6 && q >= 0 && q < 6 ? H[6 * p + q] : 0.0;
      assert_close(value[9 * (N * (i / 3) + j / 3) + 3 * (i % 3) + j % 3], 0.5 + own, 1e-12 * (1.0 + fabs(own)));
    }
  for (int block = 0; block < 2; ++block) {
    assert_int_equal(b->base.ops->couplings(&b->base, block, other), 2);
    assert_true(other[0] == 0 && other[1] == 1);
  }
}

/* The definite tangent: mass, inertia in the axes of the world (twice that at the start of the step with the midpoint rule), and dt^2 k B^T B
 * with B = (1, -[a]) for each anchor. It is symmetric and does not change forces. */
static void test_definite_tangent(void **state)
{
  (void)state;
  for (int rotation = 0; rotation < N_ROTATIONS; ++rotation)
    for (int has_anchors = 0; has_anchors < 2; ++has_anchors) {
      document    *doc    = NULL;
      step_status  status = {0};
      int64_t      n;
      double       v[6], g[2][6] = {{0}}, H[36] = {0}, RI[9], W[9];
      const double dt = 0.1;
      rigid_frame  f;
      assert_ok(document_create(&doc));
      rigid_body     *b   = tumbling(rotation, has_anchors, doc);
      const body_ops *ops = b->base.ops;
      for (int i = 0; i < 3; ++i) (void)rigid_advance(b, 0.0, 0.05);
      assert_ok(ops->begin_step(&b->base, 0.0, dt, &n, &status));
      for (int i = 0; i < 6; ++i) v[i] = sample(i, 3.0);
      assert_ok(ops->residual(&b->base, v, g[0], true, &status));
      ops->set_definite(&b->base, true);
      assert_ok(ops->residual(&b->base, v, g[1], true, &status));
      assert_memory_equal(g[0], g[1], sizeof *g);
      rigid_body_frame(b, v, dt, &f);
      const bool    is_midpoint = b->rotation == RIGID_MIDPOINT;
      const double *R           = is_midpoint ? b->R0 : f.R;
      m3_mul(RI, R, b->inertia);
      m3_mul_nt(W, RI, R);
      for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j)
          H[6 * i + j] = i == j ? b->mass : 0.0, H[6 * (3 + i) + 3 + j] = (is_midpoint ? 2.0 : 1.0) * W[3 * i + j];
      for (int q = 0; q < b->n_anchors; ++q) {
        const double k = b->anchors[q].stiffness + b->anchors[q].damping / dt;
        double       a[3], A[9], B[18];
        m3_mulv(a, f.R, b->anchors[q].a);
        m3_skew(A, a);
        for (int i = 0; i < 3; ++i)
          for (int j = 0; j < 3; ++j) B[6 * i + j] = i == j, B[6 * i + 3 + j] = -A[3 * i + j];
        for (int i = 0; i < 6; ++i)
          for (int j = 0; j < 6; ++j)
            for (int l = 0; l < 3; ++l) H[6 * i + j] += dt * dt * k * B[6 * l + i] * B[6 * l + j];
      }
      for (int j = 0; j < 6; ++j) {
        double x[6] = {0}, y[6] = {0};
        x[j] = 1.0;
        assert_ok(ops->tangent(&b->base, x, y, false));
        for (int i = 0; i < 6; ++i) assert_close(y[i], H[6 * i + j], 1e-12 * (1.0 + fabs(H[6 * i + j])));
      }
      check_assembled(b, H);
      rigid_body_destroy(&b);
      document_destroy(&doc);
    }
  assert_no_leak();
}

/* Jl turns a change of u into a turn of R, and the frame at the end of a step is where end_step goes. */
static void test_frame(void **state)
{
  (void)state;
  for (int rotation = 0; rotation < N_ROTATIONS; ++rotation) {
    document    *doc = NULL;
    const double dt = 0.1, h = 1e-6;
    double       vu[6];
    rigid_frame  f, p, m;
    assert_ok(document_create(&doc));
    rigid_body *b = tumbling(rotation, false, doc);
    (void)rigid_advance(b, 0.0, 0.05);
    for (int i = 0; i < 6; ++i) vu[i] = sample(i, 3.0);
    rigid_body_frame(b, vu, dt, &f);
    for (int j = 0; j < 3; ++j) {
      double up[6], um[6], dR[9], turn[9];
      memcpy(up, vu, sizeof vu), memcpy(um, vu, sizeof vu);
      up[3 + j] += h, um[3 + j] -= h;
      rigid_body_frame(b, up, dt, &p);
      rigid_body_frame(b, um, dt, &m);
      for (int i = 0; i < 9; ++i) dR[i] = (p.R[i] - m.R[i]) / (2 * h * dt);
      m3_mul_nt(turn, dR, f.R); /* = [Jl e_j] */
      assert_close(turn[7], f.Jl[j], 1e-8);
      assert_close(turn[2], f.Jl[3 + j], 1e-8);
      assert_close(turn[3], f.Jl[6 + j], 1e-8);
    }
    step_status status = {0};
    int64_t     n;
    assert_ok(b->base.ops->begin_step(&b->base, 0.0, dt, &n, &status));
    assert_ok(b->base.ops->end_step(&b->base, vu, &status));
    rigid_body_frame(b, NULL, 0.0, &p);
    for (int i = 0; i < 9; ++i) assert_close(p.R[i], f.R[i], 1e-15);
    for (int i = 0; i < 3; ++i) assert_close(p.c[i], f.c[i], 0.0);
    assert_close(quaternion_dot(b->q, b->q), 1.0, 1e-15);
    rigid_body_destroy(&b);
    document_destroy(&doc);
  }
  assert_no_leak();
}

/* Without forces linear and angular momentum stay to round-off, which adds up like the number of steps at worst; backward Euler
 * loses energy, the other integrators keep it. With a constant force momentum grows by exactly dt times it. */
static void test_momentum(void **state)
{
  (void)state;
  const double none[3] = {0};
  for (int rotation = 0; rotation < N_ROTATIONS; ++rotation) {
    document   *doc = NULL;
    body_totals first, last;
    assert_ok(document_create(&doc));
    rigid_body *b = tumbling(rotation, false, doc);
    for (int k = 0; k < 3; ++k) b->force[k] = b->torque[k] = b->gravity[k] = 0.0;
    assert_ok(b->base.ops->totals(&b->base, none, &first));
    for (int i = 0; i < 1000; ++i) (void)rigid_advance(b, 0.0, 0.02);
    assert_ok(b->base.ops->totals(&b->base, none, &last));
    for (int k = 0; k < 3; ++k) {
      assert_close(last.momentum[k], first.momentum[k], 1e-14);
      assert_close(last.angular_momentum[k], first.angular_momentum[k], 1e-12); /* 1000 steps of 1e-15; orbital part x p included */
    }
    if (rotation == RIGID_MIDPOINT) assert_close(last.kinetic, first.kinetic, 1e-12);
    else if (rotation == RIGID_CONSERVING) assert_close(last.kinetic, first.kinetic, 1e-7); /* 4 digits below the angle of 75 rad */
    else assert_true(last.kinetic < 0.999 * first.kinetic);
    b->force[1] = 2.0, b->gravity[2] = -10.0;
    (void)rigid_advance(b, 0.0, 0.02);
    assert_close(b->mass * b->v[1], last.momentum[1] + 0.04, 1e-14);
    assert_close(b->mass * b->v[2], last.momentum[2] - 0.2 * b->mass, 1e-14);
    rigid_body_destroy(&b);
    document_destroy(&doc);
  }
  assert_no_leak();
}

/* E01: backward Euler on a spring shrinks the amplitude by (1 + (omega dt)^2)^(-1/2) a step and turns the phase by atan(omega dt). */
static void test_oscillator(void **state)
{
  (void)state;
  document *doc = NULL;
  assert_ok(document_create(&doc));
  rigid_body *b = rigid_from_text(RIGID_DYNAMIC,
                                  "{material: m, mass: 1, shape: {sphere: {center: [1, 0, 0], radius: 0.1}}, "
                                  "anchors: [{point: [1, 0, 0], to: [0, 0, 0], stiffness: 1}]}",
                                  1.0, doc, NULL);
  /* the discrete solution is the real part of z^n, z = 1/(1 - i omega dt), if it starts on it: v_0 = (x_0 - x_-1)/dt, x_-1 = 1 */
  body_totals  totals;
  const double none[3] = {0};
  assert_ok(b->base.ops->totals(&b->base, none, &totals));
  assert_close(totals.elastic, 0.5, 1e-15);
  b->v[0] = 0.0;
  for (int i = 0; i < 100; ++i) (void)rigid_advance(b, 0.1 * i, 0.1);
  /* x_n = Re(A z^n) with v_0 = 0: A = 1 (x - i v follows z exactly) */
  const double amplitude = pow(1.01, -50.0), phase = 100.0 * atan(0.1);
  assert_close(amplitude, 0.608039, 1e-6);
  assert_close(b->c[0], amplitude * cos(phase), 1e-10);
  assert_close(b->v[0], -amplitude * sin(phase), 1e-10);
  rigid_body_destroy(&b);
  document_destroy(&doc);
  assert_no_leak();
}

/* A27: I = (1, 2, 3), omega = (0.01, 1, 0.01): the middle axis turns over every 19.553 s; energy and momentum stay. `largest` is the
 * relative error of energy. */
static void check_flips(const char *rotation, double dt, double largest)
{
  document    *doc     = NULL;
  const double none[3] = {0};
  double       flip[8], worst = 0.0, before = 1.0;
  int          n_flips = 0;
  body_totals  totals;
  assert_ok(document_create(&doc));
  char text[256];
  snprintf(text, sizeof text,
           "{material: m, %s mass: 1, inertia: [1, 2, 3], angular_velocity: [0.01, 1, 0.01], "
           "shape: {box: {min: [0, 0, 0], max: [1, 1, 1]}}}",
           rotation);
  rigid_body *b = rigid_from_text(RIGID_DYNAMIC, text, 1.0, doc, NULL);
  for (int i = 0; i < (int)lround(100.0 / dt); ++i) {
    double R[9], W[3];
    (void)rigid_advance(b, i * dt, dt);
    quaternion_to_matrix(R, b->q);
    m3_mulv_t(W, R, b->w);
    if (W[1] * before < 0.0 && n_flips < 8) flip[n_flips++] = (i + W[1] / (before - W[1]) + 1.0) * dt;
    before = W[1];
    assert_ok(b->base.ops->totals(&b->base, none, &totals));
    worst = fmax(worst, fabs(totals.kinetic - 1.0002) / 1.0002);
  }
  const double L = 2.00025; /* to the digits given: sqrt(0.01^2 + 2^2 + 0.03^2) */
  assert_true(n_flips >= 4);
  for (int i = 1; i < n_flips; ++i) assert_close(flip[i] - flip[i - 1], 19.553, 0.005 * 19.553);
  assert_true(worst < largest);
  double R[9], spin[3], turned[3], world[3];
  quaternion_to_matrix(R, b->q);
  m3_mulv_t(spin, R, b->w);
  m3_mulv(turned, b->inertia, spin);
  m3_mulv(world, R, turned);
  assert_close(v3_norm(world), L, 1e-5);
  assert_close(world[0], 0.01, 1e-10);
  assert_close(world[1], 2.0, 1e-10);
  assert_close(world[2], 0.03, 1e-10);
  rigid_body_destroy(&b);
  document_destroy(&doc);
}

static void test_free_spin(void **state)
{
  (void)state;
  check_flips("", 0.01, 1e-10); /* the default */
  check_flips("", 0.1, 1e-8);
  check_flips("rotation: midpoint,", 0.01, 1e-10);
  assert_no_leak();
}

/* A torque that stops a body within a step leaves it at rest except for the change of W by the free rotation, which is of second order in
 * the angular velocity. A body whose pose is constrained by contact therefore comes to rest, and one at rest remains there to the bit. */
static void test_stop(void **state)
{
  (void)state;
  document    *doc     = NULL;
  const double none[3] = {0};
  step_status  status  = {0};
  int64_t      n;
  double       before = INFINITY;
  body_totals  totals;
  assert_ok(document_create(&doc));
  rigid_body *b = rigid_from_text(RIGID_DYNAMIC,
                                  "{material: m, mass: 1, inertia: [1, 2, 3], angular_velocity: [3, -5, 4], "
                                  "shape: {box: {min: [0, 0, 0], max: [1, 1, 1]}}}",
                                  1.0, doc, NULL);
  for (int i = 0; i < 8; ++i) {
    const double w = v3_norm(b->w), at_rest[6] = {0};
    assert_ok(b->base.ops->begin_step(&b->base, 0.0, 0.01, &n, &status));
    assert_ok(b->base.ops->end_step(&b->base, at_rest, &status));
    assert_ok(b->base.ops->totals(&b->base, none, &totals));
    assert_true(v3_norm(b->w) <= 0.01 * w * w); /* dt |W|^2/2 times (I3 - I2)/I1 and similar factors of at most 1 */
    assert_true(totals.kinetic == 0.0 || totals.kinetic < 1e-2 * before);
    before = totals.kinetic;
  }
  assert_true(totals.kinetic == 0.0); /* 7 -> 0.25 -> 3e-4 -> ... underflows */
  assert_true(b->q[0] == 1.0);
  rigid_body_destroy(&b);
  document_destroy(&doc);
  assert_no_leak();
}

/* A28: disc m = 1, R = 0.05 on an arm of 0.1, spin 300 rad/s about its axis tilted by 30 degrees: steady precession at the smaller
 * root of I1 cos(t) P^2 - I3 w3 P + m g l = 0, I1 about the pivot. The pivot is a stiff spring. */
static double precession(int rotation, double dt, double seconds, double *tilt)
{
  document    *doc = NULL;
  char         text[512];
  const double theta = M_PI / 6.0, e[3] = {sin(theta), 0.0, cos(theta)}, half = 5e-4, arm = 0.1, spin = 300.0, rate = 2.8097;
  const double gravity[3] = {0, 0, -9.81};
  assert_ok(document_create(&doc));
  snprintf(text, sizeof text,
           "{material: m, rotation: %s, mass: 1, shape: {cylinder: {from: [%.17g, 0, %.17g], to: [%.17g, 0, %.17g], radius: 0.05}}, "
           "anchors: [{point: [0, 0, 0], stiffness: 1e6}]}",
           rotation_names[rotation], (arm - half) * e[0], (arm - half) * e[2], (arm + half) * e[0], (arm + half) * e[2]);
  rigid_body *b = rigid_from_text(RIGID_DYNAMIC, text, 1.0, doc, NULL);
  rigid_body_set_gravity(b, gravity);
  for (int k = 0; k < 3; ++k) b->w[k] = (spin - rate * cos(theta)) * e[k] + (k == 2 ? rate : 0.0);
  v3_cross(b->v, b->w, b->c);
  double    angle = 0.0, last = 0.0;
  const int n = (int)lround(seconds / dt);
  for (int i = 0; i < n; ++i) {
    (void)rigid_advance(b, i * dt, dt);
    const double now = atan2(b->c[1], b->c[0]);
    angle += remainder(now - last, 2.0 * M_PI);
    last = now;
  }
  *tilt = acos(b->c[2] / v3_norm(b->c)) * 180.0 / M_PI;
  rigid_body_destroy(&b);
  document_destroy(&doc);
  return angle / seconds;
}

static void test_heavy_top(void **state)
{
  (void)state;
  double tilt;
  for (int rotation = 0; rotation < N_ROTATIONS; ++rotation) {
    if (rotation == RIGID_BACKWARD_EULER) continue; /* with this step its top falls */
    const double rate = precession(rotation, 5e-4, 2.0, &tilt);
    assert_close(rate, 2.8097, 0.005 * 2.8097);
    assert_close(tilt, 30.0, 0.3);
  }
  assert_no_leak();
}

/* Points: clusters hold them all within their spheres, at their places; identities are distinct; frames follow the body. */
static void test_points_and_fields(void **state)
{
  (void)state;
  document    *doc    = NULL;
  field_table *table  = NULL;
  step_status  status = {0};
  int64_t      n, at = 0;
  double       mean_radius = 0.0;
  assert_ok(document_create(&doc));
  rigid_body *b =
      rigid_from_text(RIGID_DYNAMIC,
                      "{material: m, surface_spacing: 0.09, shape: {torus: {center: [1, 2, 3], major_radius: 1, minor_radius: 0.3}}, "
                      "angular_velocity: [1, 2, 3]}",
                      1.0, doc, NULL);
  for (int i = 0; i < 5; ++i) (void)rigid_advance(b, 0.0, 0.1);
  assert_ok(b->base.ops->begin_step(&b->base, 0.0, 0.1, &n, &status));
  assert_ok(field_table_create(&table));
  rigid_table *all = NULL;
  assert_ok(rigid_table_create(1, &b, (int32_t[]){0}, &all));
  assert_ok(rigid_table_fields(all, table));
  field_group *g = field_table_find_group(table, "rigid/surfaces");
  assert_non_null(g);
  assert_ok(g->refresh(g->context));
  const double *position = field_component(field_group_find(g, "position"), 0);
  for (int64_t i = 0; i < b->base.ops->n_clusters(&b->base); ++i) {
    double  center[3], radius, x[3], d[3];
    int64_t first, end;
    b->base.ops->cluster(&b->base, i, center, &radius, &first, &end);
    assert_int_equal(first, at);
    mean_radius += radius / (double)b->base.ops->n_clusters(&b->base);
    for (at = first; at < end; ++at) {
      assert_int_equal(b->base.ops->point(&b->base, at, x), at);
      v3_sub(d, x, center);
      assert_true(v3_norm(d) <= radius * (1.0 + 1e-12));
      for (int k = 0; k < 3; ++k) assert_close(position[3 * at + k], x[k], 1e-15);
      double back[3], local[3], R[9];
      rigid_body_current_point(
          b, (const double[3]){b->surface->x[3 * at] + 1, b->surface->x[3 * at + 1] + 2, b->surface->x[3 * at + 2] + 3}, back);
      for (int k = 0; k < 3; ++k) assert_close(back[k], x[k], 1e-14);
      v3_sub(d, x, b->c);
      quaternion_to_matrix(R, b->q);
      m3_mulv_t(local, R, d);
      assert_close(level_set_value(b->level_sets[0], local), 0.0, 1e-14);
    }
  }
  assert_int_equal(at, b->n_vertices);
  assert_true(mean_radius < 0.55); /* the whole torus has 1.3 */
  double v[6] = {0, 0, NAN, 0, 0, 0}, residual[6] = {0};
  assert_ok(b->base.ops->residual(&b->base, v, residual, false, &status));
  assert_int_equal(status.code, STEP_NOT_FINITE);
  assert_string_equal(status.body, "b");
  field_table_destroy(&table);
  body *base = &b->base;
  base->ops->destroy(&base);
  rigid_table_destroy(&all);
  document_destroy(&doc);
  assert_no_leak();
}

/* Rotated by a quarter turn about the centre of mass and shifted: every point of the body moves accordingly, velocities do not
 * change. */
static void test_displace(void **state)
{
  (void)state;
  document *doc;
  assert_ok(document_create(&doc));
  rigid_body *b = rigid_from_text(
      RIGID_DYNAMIC, "{material: m, shape: {box: {min: [0, 0, 0], max: [2, 4, 6]}}, velocity: [1, 2, 3], angular_velocity: [3, 2, 1]}", 1.0,
      doc, NULL);
  const double move[6] = {10, 20, 30, 0, 0, M_PI / 2}, from[3] = {2, 2, 3};
  double       x[3];
  rigid_body_displace(b, move);
  rigid_body_current_point(b, from, x); /* (1, 0, 0) off the centre (1, 2, 3) */
  assert_close(x[0], 11.0, 1e-14);
  assert_close(x[1], 23.0, 1e-14);
  assert_close(x[2], 33.0, 1e-14);
  for (int k = 0; k < 3; ++k) {
    assert_close(b->v[k], 1.0 + k, 0.0);
    assert_close(b->w[k], 3.0 - k, 0.0);
  }
  /* hit: a brick of 2 x 4 x 6 (48 kg), by now 4 x 2 x 6, with 48 N s along y and a moment about x: 48 (2^2 + 6^2)/12 = 160 kg m^2 */
  rigid_body_apply_impulse(b, (const double[6]){0, 48, 0, 160, 0, 0});
  assert_close(b->v[1], 3.0, 1e-13);
  assert_close(b->w[0], 4.0, 1e-13);
  assert_close(b->w[1], 2.0, 1e-13);
  rigid_body_destroy(&b);
  document_destroy(&doc);
  assert_no_leak();
}

/* Closed surfaces are those of obstacles without convex solids. */
static void test_closed_surface(void **state)
{
  (void)state;
  static const struct {
    rigid_kind  kind;
    const char *keys;
    bool        has_surface;
  } cases[] = {{RIGID_STATIC, "{shape: {torus: {center: [1, 2, 3], major_radius: 1, minor_radius: 0.3}}}", true},
               {RIGID_STATIC, "{shape: {box: {min: [0, 0, 0], max: [2, 4, 6]}}}", false},
               {RIGID_STATIC, "{shape: {plane: {normal: [0, 0, 1]}}}", false},
               {RIGID_DYNAMIC, "{material: m, shape: {torus: {center: [1, 2, 3], major_radius: 1, minor_radius: 0.3}}}", false}};
  const triangle_mesh *surface;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    document *doc;
    assert_ok(document_create(&doc));
    rigid_body *b = rigid_from_text(cases[i].kind, cases[i].keys, 1.0, doc, NULL);
    assert_ok(rigid_body_closed_surface(&b->base, &surface));
    assert_ptr_equal(surface, cases[i].has_surface ? b->surface : NULL);
    rigid_body_destroy(&b);
    document_destroy(&doc);
  }
  assert_ok(rigid_body_closed_surface(NULL, &surface));
  assert_null(surface);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_tables), cmocka_unit_test(test_closed_surface), cmocka_unit_test(test_mass), cmocka_unit_test(test_errors),
          cmocka_unit_test(test_contact_surface), cmocka_unit_test(test_mesh_points), cmocka_unit_test(test_tangent),
          cmocka_unit_test(test_definite_tangent), cmocka_unit_test(test_frame), cmocka_unit_test(test_momentum),
          cmocka_unit_test(test_oscillator), cmocka_unit_test(test_free_spin), cmocka_unit_test(test_stop),
          cmocka_unit_test(test_heavy_top), cmocka_unit_test(test_points_and_fields), cmocka_unit_test(test_displace))
