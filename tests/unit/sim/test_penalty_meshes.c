/* The equations of a whole penalty step with points in contact with triangle surfaces, deformable and rigid: H against finite
 * differences of g, its adjoint, momentum, and the same bits for any number of threads. */
#include "penalty_fixture.h"
#include "contact/penalty/penalty_mesh.h"

/* ---- deforming surfaces ---------------------------------------------------------------------------------------------- */

/* A soft block whose bottom is moved, and, just above it, another one (turned), a ball and sand. */
static const char mesh_job[] =
    "stickslip: 1\n"
    "name: test\n"
    "gravity: [0, 0, -9.81]\n"
    "time: {end: 0.1, step: 2.0e-3}\n"
    "materials:\n"
    "  jelly: {density: 1000, youngs_modulus: 1.0e5, poisson_ratio: 0.3, model: fixed_corotated}\n"
    "  steel: {model: rigid, density: 2000}\n"
    "bodies:\n"
    "  low:  {kind: fem, material: jelly, shape: {box: {min: [0, 0, 0], max: [0.4, 0.4, 0.2]}}, spacing: 0.1, damping: {mass: 1, "
    "stiffness: 1.0e-3},\n"
    "         hold: [{inside: {box: {min: [-1, -1, -1], max: [1, 1, 0]}}, axes: [x, z], motion: {velocity: [0.1, 0, 0.2]}}]}\n"
    "  high: {kind: fem, material: jelly, shape: {box: {min: [0.05, 0.05, 0.2015], max: [0.21, 0.23, 0.3]}, rotate_deg: 20, about: [0.1, "
    "0.1, 0]}, spacing: 0.06}\n"
    "  sand: {kind: mpm, material: jelly, spacing: 0.1, shape: {box: {min: [0.05, 0.26, 0.18], max: [0.35, 0.36, 0.24]}}}\n"
    "  ball: {kind: rigid, material: steel, surface_spacing: 0.01, shape: {sphere: {center: [0.32, 0.12, 0.2495], radius: 0.05}}, "
    "angular_velocity: [1, -2, 3]}\n"
    "contact: {initial_overlap: preload, friction: 0.3, stiffness: 1.0e4, pairs: [{between: [low, low]}]}\n";

enum { N_BODIES = 8 }; /* at most */
/* Contact of vertices with triangles also between convex bodies. */
#define VERTICES "penalty: {edges: false, expert: {rigid_detector: vertices}}"

/* z so that v = v0 + noise, and all bodies except the first also move by shift. */
static void set_upper_velocity(world *w, const double shift[3], double noise, uint64_t stream)
{
  set_velocity(w, shift, noise, stream);
  const body *low = w->s->bodies[0].body;
  for (int64_t i = 0; i < (low->ops->points == POINT_RIGID ? 1 : low->n_blocks); ++i)
    for (int c = 0; c < 3; ++c) w->z[3 * (low->first_block + i) + c] -= shift[c];
}

/* The upper bodies descend in a step, and move up and sideways in the next. */
/* Optional parts of contact laws besides stiffness and friction. */
static const contact_law plain = {0}, damped = {.damping = 0.7}, elliptical = {.friction_across = 0.7, .direction = {1.0, 0.4, 0.3}};

static void open_world(const char *text, contact_scheme scheme, const contact_law *more, world *w)
{
  step_status     status = {STEP_OK, NULL, -1};
  contact_summary summary;
  const double    down[3] = {0.0, 0.0, -1.5}, aside[3] = {0.35, 0.2, 1.4};
  read_world(text, w);
  penalty_contact_set_scheme(w->p.contact, scheme);
  for (int64_t i = 0; i < w->s->pairs->n_slots; ++i) {
    w->p.contact->law[i].damping         = more->damping;
    w->p.contact->law[i].friction_across = more->friction_across;
    v3_copy(w->p.contact->law[i].direction, more->direction);
  }
  begin(w, 0.0);
  set_upper_velocity(w, down, 0.1, 1);
  evaluate(w, w->z, w->g, false);
  assert_ok(penalty_system_end(&w->p, w->z, &status, &summary));
  assert_int_equal(status.code, STEP_OK);
  begin(w, DT);
  set_upper_velocity(w, aside, 0.4, 2);
  evaluate(w, w->z, w->g, true);
}

/* Active pairs by kind of point, and how many of them slide. */
static void count_mesh_pairs(const world *w, int by_source[N_BODIES], int *n_sliding)
{
  const mesh_contact *m = w->p.contact->mesh;
  *n_sliding            = 0;
  for (int i = 0; i < N_BODIES; ++i) by_source[i] = 0;
  for (int64_t i = 0; i < mesh_contact_n_pairs(m); ++i) {
    mesh_pair_view q;
    mesh_contact_pair(m, i, &q);
    if (!q.is_active) continue;
    ++by_source[q.source_body];
    *n_sliding += q.is_sliding;
  }
}

/* Active pairs whose spring follows its rate, short of limits. */
static int count_damped(const world *w)
{
  const mesh_contact *m = w->p.contact->mesh;
  int                 n = 0;
  for (int64_t i = 0; i < m->n; ++i) n += m->pair[i].is_active && v3_norm(m->pair[i].gain_slope) > 0.0;
  return n;
}

static void check_slope_meshes(contact_scheme scheme, const contact_law *more)
{
  world w;
  int   pairs[N_BODIES], n_sliding;
  open_world(mesh_job, scheme, more, &w);
  count_mesh_pairs(&w, pairs, &n_sliding);
  print_message("active: low %d, high %d, sand %d, ball %d; %d slide\n", pairs[0], pairs[1], pairs[2], pairs[3], n_sliding);
  assert_true(pairs[1] > 0 && pairs[2] > 3 && pairs[3] > 3 && n_sliding > 3);
  assert_true(w.p.layout.n_prescribed > 20);
  assert_true(more->damping > 0.0 ? count_damped(&w) > 10 : count_damped(&w) == 0);
  check_derivatives(&w);
  evaluate(&w, w.z, w.g, true);
  check_adjoint(&w, 5);
  close_world(&w);
  assert_no_leak();
}

/* Each evaluation counts, and the step's summary has them all. */
static void test_mesh_statistics(void **state)
{
  (void)state;
  world           w;
  step_status     status = {STEP_OK, NULL, -1};
  contact_summary summary;
  open_world(mesh_job, CONTACT_IMPLICIT, &plain, &w);
  const relax_statistics once = *mesh_contact_statistics(w.p.contact->mesh);
  assert_true(once.n > 0 && once.n_at_start > 0 && once.n_at_start < once.n && once.longest > 1);
  evaluate(&w, w.z, w.g, false);
  assert_int_equal(mesh_contact_statistics(w.p.contact->mesh)->n, 2 * once.n);
  assert_ok(penalty_system_end(&w.p, w.z, &status, &summary)); /* evaluates once more */
  assert_int_equal(status.code, STEP_OK);
  assert_int_equal(summary.relaxation_chains.n, 3 * once.n);
  assert_int_equal(summary.relaxation_chains.n_at_start, 3 * once.n_at_start);
  assert_int_equal(summary.relaxation_chains.longest, once.longest);
  assert_int_equal(summary.relaxations, 3 * once.n);
  assert_int_equal(summary.relaxations_moved, 3 * (once.n - once.n_at_start));
  assert_int_equal(summary.relaxation_max_features, once.longest);
  begin(&w, 2.0 * DT);
  assert_int_equal(mesh_contact_statistics(w.p.contact->mesh)->n, 0);
  close_world(&w);
  assert_no_leak();
}

static void test_slope_meshes(void **state)
{
  (void)state;
  for (int scheme = CONTACT_IMPLICIT; scheme <= CONTACT_LAGGED_CONTACT; ++scheme) check_slope_meshes((contact_scheme)scheme, &plain);
  check_slope_meshes(CONTACT_IMPLICIT, &damped);
  check_slope_meshes(CONTACT_IMPLICIT, &elliptical);
}

/* Pairs that begin in the step, with much friction: their attachments are the points of entry, which depend on the point and on the deforming surface. */
static void test_slope_of_new_pairs(void **state)
{
  const double down[3] = {0.5, 0.3, -1.5};
  world        w;
  int          n_deforming = 0;
  (void)state;
  read_world(mesh_job, &w);
  for (int64_t i = 0; i < w.s->pairs->n_slots; ++i) w.p.contact->law[i].friction = 3.0;
  begin(&w, 0.0);
  set_upper_velocity(&w, down, 0.1, 1);
  evaluate(&w, w.z, w.g, true);
  const mesh_contact *m = w.p.contact->mesh;
  for (int64_t i = 0; i < m->n; ++i)
    n_deforming += m->pair[i].is_new && m->pair[i].is_active && !m->pair[i].is_sliding && m->pair[i].object_frame < 0;
  print_message("new pairs that stick to deforming surfaces: %d\n", n_deforming);
  assert_true(n_deforming > 5);
  check_derivatives(&w);
  evaluate(&w, w.z, w.g, true);
  check_adjoint(&w, 5);
  close_world(&w);
  assert_no_leak();
}

/* Contact alone changes neither momentum nor angular momentum: sums of g with and without it over what may move freely. */
static void check_mesh_momentum(const contact_law *more)
{
  world  w;
  double sum[3] = {0.0}, moment[3] = {0.0}, size = 0.0;
  open_world(mesh_job, CONTACT_IMPLICIT, more, &w);
  const penalty_contact *c      = w.p.contact;
  double                *g      = numbers(w.n);
  step_status            status = {STEP_OK, NULL, -1};
  assert_ok(penalty_contact_residual(w.p.contact, w.p.layout.v, w.p.layout.frames, g, false, &status));
  for (int64_t i = 0; i < w.n; ++i) size += fabs(g[i]);
  for (int k = 0; k < w.s->n_systems; ++k) {
    const body *b = w.s->systems[k];
    for (int64_t i = 0; i < (b->ops->points == POINT_RIGID ? 1 : b->n_blocks); ++i) v3_axpy(sum, 1.0, g + 3 * (b->first_block + i));
  }
  assert_true(size > 1e-4);
  for (int k = 0; k < 3; ++k) assert_close(sum[k], 0.0, 1e-14 * size);
  /* pair by pair: f at Z and -f spread over the corners around Y, f along Y - Z */
  for (int64_t i = 0; i < mesh_contact_n_pairs(c->mesh); ++i) {
    mesh_pair_view q;
    double         arm[3], t[3];
    mesh_contact_pair(c->mesh, i, &q);
    v3_sub(arm, q.Z, q.Y);
    v3_cross(t, arm, q.f);
    v3_axpy(moment, 1.0, t);
  }
  for (int k = 0; k < 3; ++k) assert_close(moment[k], 0.0, 1e-14 * size);
  memory_free(&g);
  close_world(&w);
  assert_no_leak();
}

static void test_mesh_momentum(void **state)
{
  (void)state, check_mesh_momentum(&plain), check_mesh_momentum(&damped), check_mesh_momentum(&elliptical);
}

/* A ball that crosses a block's face within one step, from farther away than the initial motion suggests: its vertices are
 * detected where they enter. A departing ball is not. */
static void open_ball_world(double z, world *w)
{
  static const char *const format =
      "stickslip: 1\nname: test\ngravity: [0, 0, 0]\ntime: {end: 0.1, step: 2.0e-3}\n"
      "materials: {jelly: {density: 1000, youngs_modulus: 1.0e5, poisson_ratio: 0.3, model: fixed_corotated}, steel: {model: rigid, "
      "density: 2000}}\n"
      "bodies:\n"
      "  block: {kind: fem, material: jelly, shape: {box: {min: [0, 0, 0], max: [0.4, 0.4, 0.2]}}, spacing: 0.1,\n"
      "          hold: [{inside: {box: {min: [-1, -1, -1], max: [1, 1, 1]}}}]}\n"
      "  ball:  {kind: rigid, material: steel, shape: {sphere: {center: [0.21, 0.19, %g], radius: 0.05}}}\n"
      "contact: {initial_overlap: preload, friction: 0.3, stiffness: 1.0e4}\nsolver: {newton: {acceleration_scale: 10}, " VERTICES "}\n";
  char text[2048];
  snprintf(text, sizeof text, format, z);
  read_world(text, w);
  begin(w, 0.0);
  w->n = 3 * w->p.layout.n_blocks;
  w->z = numbers(w->n);
  w->g = numbers(w->n);
}

/* Number of active pairs of the ball's vertices at the speed `speed`. */
static int active_of_ball(double z, double speed)
{
  world w;
  int   n = 0;
  open_ball_world(z, &w);
  w.z[3 * w.s->bodies[1].body->first_block + 2] = speed;
  evaluate(&w, w.z, w.g, true);
  const mesh_contact *m = w.p.contact->mesh;
  for (int64_t i = 0; i < m->n; ++i) n += m->pair[i].q.key.source == 1 && m->pair[i].is_active;
  close_world(&w);
  assert_no_leak();
  return n;
}

static void test_detects_fast_bodies(void **state)
{
  (void)state;
  assert_int_equal(active_of_ball(0.35, -40.0), 0);  /* 0.08 m: stays 0.02 m above */
  assert_true(active_of_ball(0.35, -55.0) > 3);      /* 0.01 m deep */
  assert_true(active_of_ball(0.35, -90.0) > 50);     /* completely inside */
  assert_true(active_of_ball(0.249, 0.0) > 0);       /* inside from the start */
  assert_int_equal(active_of_ball(-0.06, -50.0), 0); /* below, moving away */
}

/* In a repeated search from farther away, existing pairs stay single, whether they were detected outside or started inside. */
static void test_pairs_stay_single(void **state)
{
  (void)state;
  const double speeds[] = {-1.0, -25.0, -90.0};
  for (int is_inside = 0; is_inside < 2; ++is_inside) {
    world          w;
    mesh_pair_view q, other;
    open_ball_world(is_inside ? 0.249 : 0.295, &w);
    const mesh_contact *m      = w.p.contact->mesh;
    int64_t             before = 0;
    for (int k = 0; k < 3; ++k) {
      w.z[3 * w.s->bodies[1].body->first_block + 2] = speeds[k];
      evaluate(&w, w.z, w.g, true);
      const int64_t n = mesh_contact_n_pairs(m);
      assert_true(k == 0 ? is_inside == (n > 0) : n > before);
      before = n;
    }
    for (int64_t i = 0; i < before; ++i)
      for (int64_t j = 0; j < i; ++j) {
        mesh_contact_pair(m, i, &q);
        mesh_contact_pair(m, j, &other);
        assert_true(q.source_body != other.source_body || q.object_body != other.object_body || q.point != other.point);
      }
    close_world(&w);
    assert_no_leak();
  }
}

/* ---- rigid surfaces -------------------------------------------------------------------------------------------------- */

/* The same on a rigid block of small triangles that rotates and stands on a table; the ball has triangles as well. %s:
 * constraint of the block. */
static const char rigid_job[] =
    "stickslip: 1\n"
    "name: test\n"
    "gravity: [0, 0, -9.81]\n"
    "time: {end: 0.1, step: 2.0e-3}\n"
    "materials:\n"
    "  jelly: {density: 1000, youngs_modulus: 1.0e5, poisson_ratio: 0.3, model: fixed_corotated}\n"
    "  steel: {model: rigid, density: 2000}\n"
    "bodies:\n"
    "  rock:  {%s, contact_surface: mesh, surface_spacing: 0.025, shape: {box: {min: [0, 0, 0], max: [0.4, 0.4, 0.2]}}}\n"
    "  high:  {kind: fem, material: jelly, shape: {box: {min: [0.05, 0.05, 0.2015], max: [0.21, 0.23, 0.3]}, rotate_deg: 20, about: [0.1, "
    "0.1, 0]}, spacing: 0.06}\n"
    "  ball:  {kind: rigid, material: steel, contact_surface: mesh, surface_spacing: 0.01, shape: {sphere: {center: [0.32, 0.12, 0.2495], "
    "radius: 0.05}},\n"
    "          angular_velocity: [1, -2, 3]}\n"
    "%s"
    "contact: {initial_overlap: preload, friction: %g, stiffness: 1.0e4}\nsolver: {" VERTICES "}\n";
#define MOVING "kind: rigid, material: steel, angular_velocity: [0.5, -0.3, 2]"
#define DRIVEN "kind: kinematic, motion: {velocity: [0.1, 0, 0.2], angular_velocity: [0.2, 0.1, -0.5], pivot: [0.2, 0.2, 0.1]}"
#define SAND "  sand:  {kind: mpm, material: jelly, spacing: 0.1, shape: {box: {min: [0.05, 0.26, 0.18], max: [0.35, 0.36, 0.24]}}}\n"
#define TABLE "  table: {kind: static, contact_surface: mesh, shape: {box: {min: [-1, -1, -0.3], max: [1, 1, 0.001]}}}\n"
static void open_rigid_world(const char *held, const char *more, double friction, contact_scheme scheme, const contact_law *law, world *w)
{
  char text[4096];
  snprintf(text, sizeof text, rigid_job, held, more, friction);
  open_world(text, scheme, law, w);
}

static void check_slope_rigid(const char *held, const char *more, double friction, contact_scheme scheme, const contact_law *law)
{
  world w;
  int   pairs[N_BODIES], n_sliding, n_active = 0;
  open_rigid_world(held, more, friction, scheme, law, &w);
  count_mesh_pairs(&w, pairs, &n_sliding);
  for (int i = 0; i < N_BODIES; ++i) n_active += pairs[i];
  const int longest = (int)mesh_contact_statistics(w.p.contact->mesh)->longest;
  print_message("friction %g: active: rock %d, high %d, ball %d, sand %d; %d slide; %d places at most\n", friction, pairs[0], pairs[1],
                pairs[2], pairs[3], n_sliding, longest);
  assert_true(pairs[1] > 3 && pairs[2] > 3 && pairs[3] > 3);
  assert_true(friction > 10.0 ? n_sliding == 0 : friction == 0.0 ? n_sliding > 10 : n_sliding > 3 && n_active - n_sliding > 3);
  assert_true(friction > 0.0 || longest > 1);
  assert_true(law->damping > 0.0 ? count_damped(&w) > 10 : count_damped(&w) == 0);
  check_derivatives(&w);
  evaluate(&w, w.z, w.g, true);
  check_adjoint(&w, 31);
  close_world(&w);
  assert_no_leak();
}

static void test_slope_rigid(void **state)
{
  (void)state;
  static const double frictions[] = {0.3, 100.0, 0.0};
  for (int i = 0; i < 3; ++i) {
    check_slope_rigid(MOVING, SAND TABLE, frictions[i], CONTACT_IMPLICIT, &plain);
    check_slope_rigid(DRIVEN, SAND, frictions[i], CONTACT_IMPLICIT, &plain);
  }
  check_slope_rigid(MOVING, SAND TABLE, 0.3, CONTACT_LAGGED_FRICTION, &plain);
  check_slope_rigid(MOVING, SAND TABLE, 0.3, CONTACT_LAGGED_CONTACT, &plain);
  check_slope_rigid(MOVING, SAND TABLE, 0.3, CONTACT_IMPLICIT, &damped);
  check_slope_rigid(DRIVEN, SAND, 0.3, CONTACT_IMPLICIT, &damped);
  check_slope_rigid(MOVING, SAND TABLE, 0.3, CONTACT_IMPLICIT, &elliptical);
  check_slope_rigid(DRIVEN, SAND, 0.3, CONTACT_IMPLICIT, &elliptical);
}

/* A block, a ball and jelly, all free: the sums of the contact contributions to g, with moments about the origin for the current
 * positions. */
static void test_rigid_momentum(void **state)
{
  (void)state;
  world  w;
  double sum[3] = {0.0}, moment[3] = {0.0}, size = 0.0;
  open_rigid_world(MOVING, "", 0.3, CONTACT_IMPLICIT, &damped, &w);
  double     *g      = numbers(w.n);
  step_status status = {STEP_OK, NULL, -1};
  assert_ok(penalty_contact_residual(w.p.contact, w.p.layout.v, w.p.layout.frames, g, false, &status));
  for (int k = 0; k < w.s->n_bodies; ++k) {
    const body  *b     = w.s->bodies[k].body;
    const int    frame = w.s->bodies[k].frame;
    body_surface s;
    b->ops->surface(b, &s);
    for (int64_t i = 0; i < (frame >= 0 ? 1 : b->n_blocks); ++i) {
      const double *f = g + 3 * (b->first_block + i);
      double        x[3], m[3];
      if (frame >= 0) v3_copy(x, w.p.layout.frames[frame].c);
      else {
        v3_copy(x, s.x + 3 * i);
        v3_axpy(x, DT, w.p.layout.v + 3 * (b->first_block + i));
      }
      v3_cross(m, x, f);
      v3_axpy(sum, 1.0, f);
      v3_axpy(moment, 1.0, m);
      if (frame >= 0) v3_axpy(moment, 1.0, f + 3);
      size += v3_norm(f);
    }
  }
  assert_true(size > 1e-4);
  for (int k = 0; k < 3; ++k) {
    assert_close(sum[k], 0.0, 1e-14 * size);
    assert_close(moment[k], 0.0, 1e-14 * size);
  }
  memory_free(&g);
  close_world(&w);
  assert_no_leak();
}

/* Candidates searched anew for every state give the same bits as those of the list with a margin, for any sequence of states in
 * a step. */
static void check_swept(const char *text)
{
  static const double to[][3] = {{0.0, 0.0, -2.5}, {0.0, 0.0, -0.3}, {0.0, 0.0, -1.5}, {0.0, 0.0, 0.5}, {0.3, 0.2, -0.8}, {0.0, 0.0, -1.5}};
  world               listed, swept;
  int                 n_new = 0;
  read_world(text, &listed);
  read_world(text, &swept);
  for (int step = 0; step < 2; ++step) {
    step_status     status = {STEP_OK, NULL, -1};
    contact_summary summary;
    begin(&listed, step * DT);
    begin(&swept, step * DT);
    const mesh_contact *a = listed.p.contact->mesh, *b = swept.p.contact->mesh;
    for (int k = 0; k < 6; ++k) { /* the first is farther than the others, so that no other triggers a longer search */
      swept.p.contact->mesh->is_swept = k > 0;
      set_upper_velocity(&listed, to[k], 0.1, (uint64_t)k);
      set_upper_velocity(&swept, to[k], 0.1, (uint64_t)k);
      evaluate(&listed, listed.z, listed.g, k % 2);
      evaluate(&swept, swept.z, swept.g, k % 2);
      assert_true(!a->is_swept && (k == 0 || (b->is_swept && b->n_candidates < a->n_candidates)));
      assert_int_equal(a->n, b->n);
      for (int64_t i = 0; i < a->n; ++i) {
        assert_true(mesh_attachment_equal(&a->pair[i].X, &b->pair[i].X) && a->pair[i].is_reached == b->pair[i].is_reached);
        n_new += a->pair[i].is_new && !a->pair[i].is_reached;
      }
      assert_memory_equal(listed.g, swept.g, (size_t)listed.n * sizeof(double));
    }
    assert_ok(penalty_system_end(&listed.p, listed.z, &status, &summary));
    assert_ok(penalty_system_end(&swept.p, swept.z, &status, &summary));
    assert_int_equal(a->n_known, b->n_known);
  }
  assert_true(n_new > 5); /* pairs that a state reached and the next one did not */
  close_world(&listed);
  close_world(&swept);
  assert_no_leak();
}

static void test_swept(void **state)
{
  (void)state;
  char text[4096];
  check_swept(mesh_job);
  snprintf(text, sizeof text, rigid_job, MOVING, SAND TABLE, 0.3);
  check_swept(text);
}

/* Two soft slabs pressed on each other: hundreds of pairs with surfaces that deform. */
static const char slabs_job[] =
    "stickslip: 1\n"
    "name: test\n"
    "gravity: [0, 0, -9.81]\n"
    "time: {end: 0.1, step: 2.0e-3}\n"
    "materials: {jelly: {density: 1000, youngs_modulus: 1.0e5, poisson_ratio: 0.3, model: fixed_corotated}}\n"
    "bodies:\n"
    "  low:  {kind: fem, material: jelly, spacing: 0.025, shape: {box: {min: [0, 0, 0], max: [0.4, 0.4, 0.025]}}}\n"
    "  high: {kind: fem, material: jelly, spacing: 0.025, shape: {box: {min: [0.01, 0.005, 0.023], max: [0.41, 0.405, 0.048]}}}\n"
    "contact: {initial_overlap: preload, friction: 0.3, stiffness: 1.0e4}\nsolver: {" VERTICES "}\n";

static double *everything(const void *is_rigid, int64_t *n)
{
  world w;
  if (*(const bool *)is_rigid) open_rigid_world(MOVING, SAND TABLE, 0.3, CONTACT_IMPLICIT, &plain, &w);
  else open_world(slabs_job, CONTACT_IMPLICIT, &plain, &w);
  double *all = everything_of(&w, n);
  assert_true(mesh_contact_n_pairs(w.p.contact->mesh) > CONTACT_SERIAL); /* enough for parallel execution */
  close_world(&w);
  return all;
}

static void test_mesh_threads(void **state)
{
  (void)state;
  for (int i = 0; i < 2; ++i) check_threads(everything, &(bool){i > 0});
}

/* For rigid bodies alone the matrix is complete if every pair was known when the pattern was created. */
static void test_rigid_matrix(void **state)
{
  (void)state;
  static const char text[] = "stickslip: 1\nname: test\ngravity: [0, 0, -9.81]\ntime: {end: 0.1, step: 2.0e-3}\n"
                             "materials: {steel: {model: rigid, density: 2000}}\n"
                             "bodies:\n"
                             "  low:  {kind: rigid, material: steel, contact_surface: mesh, surface_spacing: 0.05, shape: {box: {min: [0, "
                             "0, 0], max: [0.4, 0.4, 0.2]}}, angular_velocity: [0.5, -0.3, 2]}\n"
                             "  high: {kind: rigid, material: steel, contact_surface: mesh, surface_spacing: 0.05, shape: {box: {min: "
                             "[0.05, 0.05, 0.199], max: [0.3, 0.3, 0.3]}}}\n" TABLE
                             "contact: {initial_overlap: preload, friction: 0.3, stiffness: 1.0e4}\nsolver: {" VERTICES "}\n";
  const double still[3] = {0.0, 0.0, 0.0};
  world        w;
  Mat          P = NULL;
  read_world(text, &w);
  begin(&w, 0.0);
  set_velocity(&w, still, 0.05, 1);
  evaluate(&w, w.z, w.g, true);
  assert_ok(optim_register_all());
  assert_ok(penalty_matrix_lay_out(&w.p, &P));
  assert_ok(penalty_matrix_assemble(&w.p, P));
  check_matrix_product(&w, P, 1.0e-13);
  assert_ok(MatDestroy(&P));
  close_world(&w);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_mesh_statistics), cmocka_unit_test(test_slope_meshes), cmocka_unit_test(test_mesh_momentum),
          cmocka_unit_test(test_detects_fast_bodies), cmocka_unit_test(test_pairs_stay_single), cmocka_unit_test(test_slope_rigid),
          cmocka_unit_test(test_swept), cmocka_unit_test(test_rigid_momentum), cmocka_unit_test(test_mesh_threads),
          cmocka_unit_test(test_rigid_matrix), cmocka_unit_test(test_slope_of_new_pairs))
