/* The summary of a step against the Coulomb return written out by hand: a point on a plane and on a sphere that sticks, slides
 * or has just arrived, and the natural map for a force that violates the law. */
#include "test.h"
#include <float.h>
#include "contact/penalty/penalty_mesh.h"
#include "contact/penalty/penalty_pairs.h"
#include "core/field_table.h"
#include "contact_bodies.h"

enum { POINT, GROUND };
static const double K = 1e4, MU = 0.4, DT = 0.01, DEPTH = 2e-3, RADIUS = 0.5;

typedef struct {
  mock_body        point;
  level_set       *phi;
  contact_source   source;
  contact_object   object;
  rigid_frame      frame;
  penalty_contact *contact;
  double           n[3], along[3], v[3];
} world;

static void begin(world *w) { assert_ok(penalty_contact_begin_step(w->contact, 1, &w->source, 1, &w->object, 1, &w->frame, DT, 0.05, 1)); }
static contact_summary end(world *w)
{
  contact_summary out;
  assert_ok(penalty_contact_settle(w->contact, w->v, &w->frame));
  assert_ok(penalty_contact_end_step(w->contact, w->v, &w->frame, &out));
  v3_axpy(w->point.x, DT, w->v);
  return out;
}

/* The point lies DEPTH below the surface, its attachment right above it, in a frame that is turned and moved. */
static void world_create(world *w, bool is_curved)
{
  const double t[3] = {0.3, -0.7, 1.1}, up[3] = {0, 0, 1}, side[3] = {0.6, 0.8, 0};
  double       J[9], b[3];
  memset(w, 0, sizeof *w);
  mock_create(&w->point, "point", false, 1, 1, 1);
  w->point.weight[0] = 1.0;
  w->frame           = mock_frame((double[3]){0.2, -0.4, 0.1}, -1);
  mock_exponential(t, w->frame.R, J);
  if (is_curved) assert_ok(level_set_sphere((double[3]){0, 0, -RADIUS}, RADIUS, &w->phi));
  else assert_ok(level_set_plane(up, 0.0, &w->phi));
  m3_mulv(w->n, w->frame.R, up);
  m3_mulv(w->along, w->frame.R, side);
  v3_scale(b, -DEPTH, w->n);
  v3_add(w->point.x, w->frame.c, b);
  w->source                = (contact_source){&w->point.base, -1, POINT};
  w->object                = (contact_object){w->phi, 0, GROUND};
  const contact_law law[4] = {{.stiffness = 0}, {.stiffness = K, .friction = MU}, {.stiffness = K, .friction = MU}, {.stiffness = 0}};
  assert_ok(penalty_contact_create(2, NULL, law, &w->contact));
  begin(w);
  end(w);
}
static void world_destroy(world *w)
{
  penalty_contact_destroy(&w->contact);
  level_set_destroy(&w->phi);
  mock_destroy(&w->point);
}

/* Moves by `down` against the normal and `aside` along the surface; the force must be the trial's, cut off at the cone. */
static void check_plane(double aside, double down)
{
  world w;
  world_create(&w, false);
  v3_scale(w.v, aside / DT, w.along);
  v3_axpy(w.v, -down / DT, w.n);
  begin(&w);
  const contact_summary s   = end(&w);
  const double          f_n = K * (DEPTH + down), trial = K * aside, f_t = fmin(trial, MU * f_n);
  double                expected[3], miss[3];
  v3_scale(expected, f_n, w.n);
  v3_axpy(expected, -f_t, w.along);
  v3_sub(miss, w.contact->f, expected);
  assert_close(v3_norm(miss), 0.0, 1e-12 * f_n);
  assert_close(s.contact_law_error, 0.0, 1e-12);
  assert_true(s.contact_law_error_curved == 0.0);
  assert_int_equal(s.sliding, trial > MU * f_n);
  assert_close(s.contact_energy, 0.5 * (f_n * f_n + f_t * f_t) / K, 1e-12 * f_n);
  assert_close(s.contact_depth, DEPTH + down, 1e-15);
  world_destroy(&w);
}

static void force_is_the_coulomb_return(void **unused)
{
  (void)unused;
  for (int i = 0; i < 20; ++i) check_plane(1e-4 * i, 5e-5 * (i % 3));
  assert_no_leak();
}

/* On a sphere the chord between X and W sags by s (1 - s) r^2 / 2 R below it, to leading order; K minus that is Y. */
static void natural_map_of_a_curved_surface(void **unused)
{
  (void)unused;
  for (int i = 1; i <= 3; ++i) {
    world w;
    world_create(&w, true);
    const double r    = 0.01 * i; /* along a great circle, at constant depth */
    const double turn = r / RADIUS, below = RADIUS - DEPTH;
    v3_scale(w.v, below * sin(turn) / DT, w.along);
    v3_axpy(w.v, -below * (1.0 - cos(turn)) / DT, w.n);
    begin(&w);
    const contact_summary s     = end(&w);
    const double          share = MU * DEPTH / r;
    assert_int_equal(s.sliding, 1);
    assert_true(s.contact_law_error == 0.0);
    assert_close(s.contact_law_error_curved / (share * (1.0 - share) * r * r / (2.0 * RADIUS) / DEPTH), 1.0, 0.02);
    world_destroy(&w);
  }
  assert_no_leak();
}

/* An error delta of the force gives the error delta: the projection does not reduce it, not even along the cone. */
static void error_of_a_force_is_reported(void **unused)
{
  (void)unused;
  const double offset[3][3] = {{1e-6, 0, 0}, {0, 1e-6, 0}, {0, 0, 1e-6}};
  for (int i = 0; i < 3; ++i)
    for (int is_sliding = 0; is_sliding < 2; ++is_sliding)
      for (int is_disturbed = 0; is_disturbed < 2; ++is_disturbed) {
        world           w;
        contact_summary s;
        world_create(&w, false);
        v3_scale(w.v, (is_sliding ? 3e-3 : 3e-4) / DT, w.along);
        begin(&w);
        assert_ok(penalty_contact_settle(w.contact, w.v, &w.frame));
        if (is_disturbed) v3_axpy(w.contact->f, w.contact->k[0], offset[i]);
        const double scale = v3_dot(w.contact->f, w.n); /* the largest f_n, disturbed too */
        assert_ok(penalty_contact_end_step(w.contact, w.v, &w.frame, &s));
        assert_int_equal(s.sliding, is_sliding);
        if (is_disturbed) assert_close(s.contact_law_error, w.contact->k[0] * 1e-6 / scale, 1e-9);
        else assert_close(s.contact_law_error, 0.0, 1e-12);
        world_destroy(&w);
      }
  assert_no_leak();
}

/* ---- on triangles ------------------------------------------------------------------------------------------------------------- */

/* A square of two triangles over an open roof of two more: nodes 0 1 2 3 at z = 0, 4 and 5 beyond the edge x = 1, lower by `drop`. */
static const int32_t roof[12] = {0, 1, 2, 0, 2, 3, 1, 4, 5, 1, 5, 2};
static double        roof_x[18];
static void          roof_surface(const body *b, body_surface *out)
{
  (void)b;
  *out = (body_surface){.n_nodes = 6, .n_triangles = 4, .triangles = roof, .x = roof_x, .rest = roof_x};
}
static const body_ops roof_ops = {.kind = "roof", .surface = roof_surface};

/* The point enters from above by DEPTH, then moves by `aside` to the side: a new pair, so X is at the entry. */
static contact_summary slide_on_roof(double drop, double x, double aside, double extra)
{
  const double      nodes[18] = {0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 2, 0, -drop, 2, 1, -drop};
  body              b         = {.ops = &roof_ops, .name = "roof"};
  world             w;
  contact_summary   s;
  const contact_law law[4] = {{.stiffness = 0}, {.stiffness = K, .friction = MU}, {.stiffness = K, .friction = MU}, {.stiffness = 0}};
  memset(&w, 0, sizeof w);
  memcpy(roof_x, nodes, sizeof nodes);
  mock_create(&w.point, "point", false, 1, 1, 1);
  w.point.weight[0] = 1.0;
  w.frame           = mock_frame((double[3]){0.0, 0.0, 0.0}, -1);
  v3_set(w.point.x, x, 0.3, 1e-6);
  w.source                = (contact_source){&w.point.base, -1, POINT};
  const contact_mesh mesh = {&b, 0, GROUND};
  assert_ok(penalty_contact_create(2, NULL, law, &w.contact));
  assert_ok(penalty_contact_add_meshes(w.contact, 1, &mesh));
  const double steps[2][3] = {{0.0, 0.0, -DEPTH - 1e-6}, {0.8 * aside, 0.6 * aside, 0.0}};
  for (int i = 0; i < 2; ++i) {
    v3_scale(w.v, 1.0 / DT, steps[i]);
    assert_ok(penalty_contact_begin_step(w.contact, 1, &w.source, 0, NULL, 1, &w.frame, DT, 0.05, 1));
    assert_ok(penalty_contact_settle(w.contact, w.v, &w.frame));
    if (i == 1) w.contact->mesh->pair[0].f[0] += extra;
    assert_ok(penalty_contact_end_step(w.contact, w.v, &w.frame, &s));
    v3_axpy(w.point.x, DT, w.v);
    assert_int_equal(s.contacts, 1);
  }
  penalty_contact_destroy(&w.contact);
  mock_destroy(&w.point);
  return s;
}

/* Flat pairs satisfy the law to round-off, also across triangles; disturbed ones report the error. */
static void forces_on_triangles_satisfy_the_law(void **unused)
{
  (void)unused;
  for (int i = 0; i < 10; ++i) {
    const double          aside = 1e-3 * i, stuck = MU * DEPTH; /* the diagonal is where x = y */
    const contact_summary s = slide_on_roof(0.5, 0.297, aside, 0.0), off = slide_on_roof(0.5, 0.297, aside, 1e-3 * K * DEPTH);
    assert_int_equal(s.sliding, aside > stuck);
    assert_close(s.contact_law_error, 0.0, 1e-12);
    assert_true(s.contact_law_error_curved == 0.0);
    assert_close(s.slip_angle_error, 0.0, 1e-9);
    assert_close(off.contact_law_error, 1e-3, 1e-9);
    const double stretch = fmin(aside, stuck);
    assert_close(s.friction_work_done, MU * K * DEPTH * (aside - stretch), 1e-12);
    assert_close(s.contact_energy, 0.5 * K * (DEPTH * DEPTH + stretch * stretch), 1e-12);
    assert_close(s.contact_depth, DEPTH, 1e-15);
    assert_close(s.cone_violation, 0.0, 1e-12);
    assert_close(s.start_energy, 0.0, 0.0);
  }
  /* Over the ridge the law starts at the edge: the motion to it is visible, but not as an error of flat contact. */
  const contact_summary s = slide_on_roof(0.5, 0.99, 0.015, 0.0);
  assert_true(s.contacts == 1 && s.contact_law_error == 0.0 && s.contact_law_error_curved > 1e-6);
  /* without a bend there is no ridge */
  assert_true(slide_on_roof(0.0, 0.99, 0.02, 0.0).contact_law_error_curved == 0.0);
  assert_no_leak();
}

/* A point that is in contact already does not hide the collision of a second, fast one from a distance beyond the search margin. */
static void fast_points_collide_next_to_known_pairs(void **unused)
{
  (void)unused;
  const double nodes[18] = {0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 2, 0, 0, 2, 1, 0}, fall[2][2] = {{DEPTH + 1e-6, 0.0}, {0.0, 1.0 + DEPTH}};
  body         b            = {.ops = &roof_ops, .name = "roof", .n_blocks = 6, .first_block = 2};
  const contact_mesh mesh   = {&b, 0, GROUND};
  const contact_law  law[4] = {{.stiffness = 0}, {.stiffness = K, .friction = MU}, {.stiffness = K, .friction = MU}, {.stiffness = 0}};
  const rigid_frame  frame  = mock_frame((double[3]){0.0, 0.0, 0.0}, -1);
  penalty_contact   *contact;
  contact_summary    s;
  mock_body          cloud;
  memcpy(roof_x, nodes, sizeof nodes);
  mock_create(&cloud, "cloud", false, 2, 1, 2);
  const contact_source source = {&cloud.base, -1, POINT};
  for (int i = 0; i < 2; ++i) {
    cloud.weight[i] = 1.0, cloud.block[i] = i;
    v3_set(cloud.x + 3 * i, 0.3 + 0.4 * i, 0.3, i ? 1.0 : 1e-6);
  }
  assert_ok(penalty_contact_create(2, NULL, law, &contact));
  assert_ok(penalty_contact_add_meshes(contact, 1, &mesh));
  for (int step = 0; step < 2; ++step) {
    double      v[24] = {0.0}, g[24] = {0.0};
    step_status status = {STEP_OK, NULL, -1};
    for (int i = 0; i < 2; ++i) v[3 * i + 2] = -fall[step][i] / DT;
    assert_ok(penalty_contact_begin_step(contact, 1, &source, 0, NULL, 1, &frame, DT, 0.05, 8));
    assert_ok(penalty_contact_residual(contact, v, &frame, g, true, &status));
    assert_int_equal(status.code, STEP_OK);
    assert_ok(penalty_contact_settle(contact, v, &frame));
    assert_ok(penalty_contact_end_step(contact, v, &frame, &s));
    for (int i = 0; i < 2; ++i) v3_axpy(cloud.x + 3 * i, DT, v + 3 * i);
    assert_int_equal(s.contacts, 1 + step);
  }
  penalty_contact_destroy(&contact);
  mock_destroy(&cloud);
  assert_no_leak();
}

/* A lagged force of a point on a rigid surface rotates with it: derivatives by its rotation, although no spring acts in this step. */
static void lagged_forces_rotate_with_the_surface(void **unused)
{
  (void)unused;
  const double       nodes[18] = {0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 2, 0, 0, 2, 1, 0}, h = 1e-6;
  body               b      = {.ops = &roof_ops, .name = "roof"};
  const contact_mesh mesh   = {&b, 0, GROUND};
  const contact_law  law[4] = {{.stiffness = 0}, {.stiffness = K, .friction = MU}, {.stiffness = K, .friction = MU}, {.stiffness = 0}};
  const rigid_frame  start  = mock_frame((double[3]){0.2, 0.1, -0.3}, 1);
  rigid_frame        frame;
  penalty_contact   *contact;
  mock_body          point;
  double             v[9] = {0.0}, d[9], g[2][9], y[9] = {0.0}, size = 0.0;
  step_status        status = {STEP_OK, NULL, -1};
  memcpy(roof_x, nodes, sizeof nodes);
  mock_create(&point, "point", false, 1, 1, 1);
  point.weight[0] = 1.0;
  v3_set(point.x, 0.2 + 0.297, 0.1 + 0.3, -0.3 + 1e-6);
  v[2]                        = -(DEPTH + 1e-6) / DT;
  const contact_source source = {&point.base, -1, POINT};
  assert_ok(penalty_contact_create(2, NULL, law, &contact));
  assert_ok(penalty_contact_add_meshes(contact, 1, &mesh));
  penalty_contact_set_scheme(contact, CONTACT_LAGGED_CONTACT);
  for (int step = 0; step < 2; ++step) { /* in the first one the point enters */
    assert_ok(penalty_contact_begin_step(contact, 1, &source, 0, NULL, 1, &start, DT, 0.05, 3));
    mock_move_frame(&start, DT, v, &frame);
    if (step > 0) break;
    assert_ok(penalty_contact_settle(contact, v, &frame));
    assert_ok(penalty_contact_end_step(contact, v, &frame, NULL));
    v3_axpy(point.x, DT, v);
    v[2] = 0.0;
  }
  for (int i = 0; i < 9; ++i) d[i] = cos(3.0 * i);
  memset(g, 0, sizeof g);
  assert_ok(penalty_contact_residual(contact, v, &frame, g[0], true, &status));
  assert_true(fabs(g[0][2]) > 0.5 * DT * K * DEPTH);
  assert_ok(penalty_contact_tangent(contact, d, y, false));
  memset(g, 0, sizeof g);
  for (int side = 0; side < 2; ++side) {
    double moved[9];
    for (int i = 0; i < 9; ++i) moved[i] = v[i] + (side ? h : -h) * d[i];
    mock_move_frame(&start, DT, moved, &frame);
    assert_ok(penalty_contact_residual(contact, moved, &frame, g[side], false, &status));
  }
  for (int i = 0; i < 9; ++i) size = fmax(size, fabs(y[i]));
  assert_true(size > 0.01 * DT * DT * K * DEPTH);
  for (int i = 0; i < 9; ++i) assert_close((g[1][i] - g[0][i]) / (2.0 * h), y[i], 1e-6 * size);
  penalty_contact_destroy(&contact);
  mock_destroy(&point);
  assert_no_leak();
}

/* Points of clouds before and after those of a rigid body: collisions are detected for the motion of their own blocks. The last one rises. */
static void points_of_several_bodies_keep_their_rows(void **unused)
{
  (void)unused;
  enum { FIRST, RIGID, LAST, ROOF, N_BODIES, N_BLOCKS = 5 };
  const double       nodes[18] = {0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 2, 0, 0, 2, 1, 0};
  body               b         = {.ops = &roof_ops, .name = "roof"};
  const contact_mesh mesh      = {&b, 1, ROOF};
  contact_law        law[N_BODIES * N_BODIES];
  rigid_frame        frames0[2] = {mock_frame((double[3]){0.5, 0.3, 0.0}, 2), mock_frame((double[3]){0.0, 0.0, 0.0}, -1)}, frames[2];
  mock_body          points[3];
  contact_source     source[3];
  penalty_contact   *contact;
  double             v[3 * N_BLOCKS] = {0.0}, g[3 * N_BLOCKS] = {0.0};
  step_status        status = {STEP_OK, NULL, -1};
  memcpy(roof_x, nodes, sizeof nodes);
  memset(law, 0, sizeof law);
  for (int i = 0; i < ROOF; ++i) law[N_BODIES * i + ROOF].stiffness = law[N_BODIES * ROOF + i].stiffness = K;
  for (int i = 0; i < 3; ++i) {
    mock_create(&points[i], "points", i == RIGID, 1, i == RIGID ? 0 : 1, i == LAST ? 1 : 2);
    points[i].base.first_block = 2 * i;
    if (i != RIGID) points[i].block[0] = i == FIRST, points[i].weight[0] = 1.0; /* the second block of the first body */
    v3_set(points[i].x, 0.3 + 0.2 * i, 0.3, 1e-6);
    source[i]                           = (contact_source){&points[i].base, i == RIGID ? 0 : -1, i};
    v[3 * (i == FIRST ? 1 : 2 * i) + 2] = (i == LAST ? DEPTH : -(DEPTH + 1e-6)) / DT;
  }
  assert_ok(penalty_contact_create(N_BODIES, NULL, law, &contact));
  assert_ok(penalty_contact_add_meshes(contact, 1, &mesh));
  assert_ok(penalty_contact_begin_step(contact, 3, source, 0, NULL, 2, frames0, DT, 0.05, N_BLOCKS));
  for (int i = 0; i < 2; ++i) mock_move_frame(&frames0[i], DT, v, &frames[i]);
  assert_ok(penalty_contact_residual(contact, v, frames, g, true, &status));
  assert_int_equal(status.code, STEP_OK);
  for (int i = 0; i < 3 * N_BLOCKS; ++i) /* blocks 1 and 2 */
    assert_close(g[i], i == 5 || i == 8 ? -DT * K * DEPTH : 0.0, 1e-9 * DT * K * DEPTH);
  penalty_contact_destroy(&contact);
  for (int i = 0; i < 3; ++i) mock_destroy(&points[i]);
  assert_no_leak();
}

static const int32_t tetrahedron[12] = {0, 2, 1, 0, 1, 3, 1, 2, 3, 2, 0, 3};
static const double  corner[12]      = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
static void          tetrahedron_surface(const body *b, body_surface *out)
{
  (void)b;
  *out = (body_surface){.n_nodes = 4, .n_triangles = 4, .triangles = tetrahedron, .x = corner, .rest = corner};
}
static const body_ops tetrahedron_ops = {.kind = "tetrahedron", .surface = tetrahedron_surface};

/* Points that start inside a closed surface are attached to its nearest point. */
static void points_inside_are_attached(void **unused)
{
  (void)unused;
  static const double inside[3][3]  = {{0.2, 0.3, 0.02}, {0.01, 0.6, 0.2}, {0.3, 0.02, 0.1}},
                      nearest[3][3] = {{0.2, 0.3, 0}, {0, 0.6, 0.2}, {0.3, 0, 0.1}};
  body               b              = {.ops = &tetrahedron_ops, .name = "tetrahedron"};
  const contact_mesh mesh           = {&b, 0, GROUND};
  const contact_law  law[4] = {{.stiffness = 0}, {.stiffness = K, .friction = MU}, {.stiffness = K, .friction = MU}, {.stiffness = 0}};
  const rigid_frame  frame  = mock_frame((double[3]){0.0, 0.0, 0.0}, -1);
  penalty_contact   *contact;
  mock_body          cloud;
  mock_create(&cloud, "cloud", false, 3, 1, 3);
  const contact_source source = {&cloud.base, -1, POINT};
  for (int i = 0; i < 3; ++i) cloud.weight[i] = 1.0, cloud.block[i] = i, v3_copy(cloud.x + 3 * i, inside[i]);
  assert_ok(penalty_contact_create(2, NULL, law, &contact));
  assert_ok(penalty_contact_add_meshes(contact, 1, &mesh));
  assert_ok(penalty_contact_begin_step(contact, 1, &source, 0, NULL, 1, &frame, DT, 0.05, 3));
  assert_int_equal(contact->mesh->n, 3);
  for (int64_t i = 0; i < 3; ++i) {
    const mesh_pair *p    = &contact->mesh->pair[i];
    double           x[3] = {0.0, 0.0, 0.0};
    for (int k = 0; k < 3; ++k) v3_axpy(x, p->X.weight[k], corner + 3 * tetrahedron[3 * p->X.triangle + k]);
    for (int k = 0; k < 3; ++k) assert_close(x[k], nearest[1000 - p->q.key.point][k], 1e-15);
  }
  /* depths of 0.02, 0.01 and 0.02: energy, forces and their moment */
  const double    v[9] = {0.0}, sum[3] = {-0.01, -0.02, -0.02};
  contact_summary s;
  double          f[3], m[3], moment[3] = {0.0, 0.0, 0.0};
  assert_ok(penalty_contact_settle(contact, v, &frame));
  assert_ok(penalty_contact_end_step(contact, v, &frame, &s));
  assert_int_equal(s.contacts, 3);
  assert_close(s.contact_depth, 0.02, 1e-15);
  assert_close(s.start_energy, 0.5 * K * 9e-4, 1e-12);
  assert_close(s.contact_energy, 0.5 * K * 9e-4, 1e-12);
  assert_close(s.friction_work_done, 0.0, 0.0);
  contact_force(contact, POINT, GROUND, f, m);
  for (int i = 0; i < 3; ++i) {
    double arm[3], own[3];
    v3_sub(own, nearest[i], inside[i]);
    v3_cross(arm, inside[i], own);
    v3_axpy(moment, K, arm);
  }
  for (int k = 0; k < 3; ++k) {
    assert_close(f[k], K * sum[k], 1e-10);
    assert_close(m[k], moment[k], 1e-10);
  }
  penalty_contact_destroy(&contact);
  mock_destroy(&cloud);
  assert_no_leak();
}

/* Points that stay in contact keep their pairs: no second pair is created, in any order of bodies and points. */
static void pairs_are_known_in_the_next_step(void **unused)
{
  (void)unused;
  enum { N = 5 };
  const double       nodes[18] = {0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 2, 0, 0, 2, 1, 0};
  body               b         = {.ops = &roof_ops, .name = "roof", .n_blocks = 6, .first_block = N};
  const contact_mesh mesh      = {&b, 0, GROUND};
  const contact_law  law[4]    = {{.stiffness = 0}, {.stiffness = K, .friction = MU}, {.stiffness = K, .friction = MU}, {.stiffness = 0}};
  const rigid_frame  frame     = mock_frame((double[3]){0.0, 0.0, 0.0}, -1);
  penalty_contact   *contact;
  contact_summary    s;
  mock_body          cloud;
  memcpy(roof_x, nodes, sizeof nodes);
  mock_create(&cloud, "cloud", false, N, 1, N);
  const contact_source source = {&cloud.base, -1, POINT};
  for (int i = 0; i < N; ++i) {
    cloud.weight[i] = 1.0, cloud.block[i] = i;
    v3_set(cloud.x + 3 * i, 0.2 + 0.15 * i, 0.3, 1e-6);
  }
  assert_ok(penalty_contact_create(2, NULL, law, &contact));
  assert_ok(penalty_contact_add_meshes(contact, 1, &mesh));
  for (int step = 0; step < 3; ++step) {
    double      v[3 * (N + 6)] = {0.0}, g[3 * (N + 6)] = {0.0};
    step_status status = {STEP_OK, NULL, -1};
    for (int i = 0; i < N; ++i) v[3 * i + 2] = -(DEPTH + 1e-6) / DT;
    assert_ok(penalty_contact_begin_step(contact, 1, &source, 0, NULL, 1, &frame, DT, 0.05, N + 6));
    for (int64_t i = 0; i < contact->mesh->n_candidates; ++i) assert_int_equal(contact->mesh->candidate[i].is_known, step > 0);
    assert_ok(penalty_contact_residual(contact, v, &frame, g, true, &status));
    assert_int_equal(status.code, STEP_OK);
    assert_ok(penalty_contact_settle(contact, v, &frame));
    assert_ok(penalty_contact_end_step(contact, v, &frame, &s));
    for (int i = 0; i < N; ++i) v3_axpy(cloud.x + 3 * i, DT, v + 3 * i);
    assert_int_equal(s.contacts, N);
  }
  penalty_contact_destroy(&contact);
  mock_destroy(&cloud);
  assert_no_leak();
}

/* Attachments of a checkpoint with one wrong value are rejected; values at the limits are accepted. */
static void wrong_attachments_are_rejected(void **unused)
{
  (void)unused;
  const contact_mesh mesh   = {&(body){.ops = &roof_ops, .name = "roof", .n_blocks = 6, .first_block = 0}, -1, GROUND};
  const contact_law  law[4] = {{.stiffness = 0}, {.stiffness = K, .friction = MU}, {.stiffness = K, .friction = MU}, {.stiffness = 0}};
  for (int k = 0; k < 22; ++k) {
    penalty_contact *contact;
    field_table     *table;
    assert_ok(penalty_contact_create(2, NULL, law, &contact));
    assert_ok(penalty_contact_add_meshes(contact, 1, &mesh));
    assert_ok(field_table_create(&table));
    assert_ok(penalty_contact_fields(contact, table));
    mesh_contact *c = contact->mesh;
    field_group  *g = field_table_find_group(table, "contact/mesh_attachments");
    assert_non_null(g);
    assert_ok(g->resize(g->context, 2));
    for (int i = 0; i < 2; ++i) {
      c->stored_source[i] = POINT, c->stored_object[i] = GROUND, c->stored_point[i] = 4 + i, c->stored_triangle[i] = i,
      c->stored_side[i] = 1 - 2 * i;
      v3_set(c->stored_weight + 3 * i, 0.5, 0.5 * i, 0.5 - 0.5 * i);
      c->stored_speed[i] = c->stored_rest[i] = 0.0;
    }
    const bool is_valid = k < 3;
    switch (k) {
    case 1: c->stored_triangle[1] = 3; break;
    case 2: c->stored_rest[0] = 1.0, c->stored_speed[1] = 2.0; break;
    case 3: c->stored_source[0] = -1; break;
    case 4: c->stored_source[1] = 2; break;
    case 5: c->stored_object[0] = POINT; break;
    case 6: c->stored_object[1] = -1; break;
    case 7: c->stored_triangle[0] = -1; break;
    case 8: c->stored_triangle[1] = 4; break;
    case 9: v3_set(c->stored_weight, -0.1, 0.6, 0.5); break;
    case 10: v3_set(c->stored_weight, 0.6, -0.1, 0.5); break;
    case 11: v3_set(c->stored_weight + 3, 0.6, 0.5, -0.1); break;
    case 12: v3_set(c->stored_weight + 3, 0.5, 0.5, 0.1); break;
    case 13: v3_set(c->stored_weight, 0.5, 0.3, 0.1); break;
    case 14: c->stored_weight[4] = NAN; break;
    case 15: c->stored_speed[0] = INFINITY; break;
    case 16: c->stored_speed[1] = NAN; break;
    case 17: c->stored_rest[1] = -1e-9; break;
    case 18: c->stored_side[0] = 0; break;
    case 19: c->stored_side[1] = 2; break;
    case 20: c->stored_point[1] = 4; break; /* twice the same */
    case 21: c->stored_point[1] = 3; break; /* not sorted */
    default: break;
    }
    const PetscErrorCode code = g->restored(g->context);
    if (code != (is_valid ? PETSC_SUCCESS : PETSC_ERR_FILE_UNEXPECTED)) fail_msg("case %d: code %d", k, (int)code);
    if (code) assert_non_null(strstr(error_message(), "to a surface is invalid"));
    error_clear();
    field_table_destroy(&table);
    penalty_contact_destroy(&contact);
  }
  assert_no_leak();
}

/* Of two triangles on the trajectory, the point collides with the first one, although the second one is hit more head-on. */
static void the_first_triangle_counts(void **unused)
{
  (void)unused;
  const double      nodes[18] = {0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 2, 0, -5, 2, 1, -5};
  const contact_law law[4]    = {{.stiffness = 0}, {.stiffness = K, .friction = MU}, {.stiffness = K, .friction = MU}, {.stiffness = 0}};
  body              b         = {.ops = &roof_ops, .name = "roof"};
  world             w;
  memset(&w, 0, sizeof w);
  memcpy(roof_x, nodes, sizeof nodes);
  mock_create(&w.point, "point", false, 1, 1, 1);
  w.point.weight[0] = 1.0;
  w.frame           = mock_frame((double[3]){0.0, 0.0, 0.0}, -1);
  v3_set(w.point.x, 0.8, 0.3, 0.05);
  w.source                = (contact_source){&w.point.base, -1, POINT};
  const contact_mesh mesh = {&b, 0, GROUND};
  assert_ok(penalty_contact_create(2, NULL, law, &w.contact));
  assert_ok(penalty_contact_add_meshes(w.contact, 1, &mesh));
  v3_set(w.v, 0.45 / DT, 0.0, -0.15 / DT); /* it crosses the square at x = 0.95, and the steep side of the roof at x = 1.003 */
  assert_ok(penalty_contact_begin_step(w.contact, 1, &w.source, 0, NULL, 1, &w.frame, DT, 1.0, 1));
  assert_ok(penalty_contact_settle(w.contact, w.v, &w.frame));
  assert_int_equal(w.contact->mesh->n, 1);
  assert_int_equal(w.contact->mesh->pair[0].X.triangle, 0);
  penalty_contact_destroy(&w.contact);
  mock_destroy(&w.point);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(points_inside_are_attached), cmocka_unit_test(pairs_are_known_in_the_next_step),
          cmocka_unit_test(wrong_attachments_are_rejected), cmocka_unit_test(the_first_triangle_counts),
          cmocka_unit_test(fast_points_collide_next_to_known_pairs), cmocka_unit_test(lagged_forces_rotate_with_the_surface),
          cmocka_unit_test(points_of_several_bodies_keep_their_rows), cmocka_unit_test(force_is_the_coulomb_return),
          cmocka_unit_test(natural_map_of_a_curved_surface), cmocka_unit_test(error_of_a_force_is_reported),
          cmocka_unit_test(forces_on_triangles_satisfy_the_law))
