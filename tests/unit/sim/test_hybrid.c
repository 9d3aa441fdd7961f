/* Steps of formulation `hybrid`: linear and angular momentum through contact, free motion without contact, and no intersections. */
#include "formulation_fixture.h"
#include <stdio.h>
#include "contact/impulse/impulses.h"
#include "core/math3.h"
#include "core/team.h"
#include "discretize/nodal/nodal_body.h"
#include "sim/scene/scene_surfaces.h"

#define HEAD                                                                                                                               \
  "stickslip: 1\nname: test\nformulation: hybrid\ngravity: [0, 0, 0]\n"                                                                    \
  "materials:\n  rubber: {model: fixed_corotated, density: 1000, youngs_modulus: 5.0e4, poisson_ratio: 0.3}\n"
#define BLOCKS                                                                                                                             \
  "bodies:\n"                                                                                                                              \
  "  left: {kind: fem, material: rubber, spacing: 0.1, shape: {box: {min: [-0.25, -0.1, -0.1], max: [-0.05, 0.1, 0.1]}}, "                 \
  "velocity: [1, 0.1, 0], angular_velocity: [0, 0, 4]}\n"                                                                                  \
  "  right: {kind: fem, material: rubber, spacing: 0.1, shape: {box: {min: [0.02, -0.05, -0.12], max: [0.22, 0.15, 0.08]}}, "              \
  "velocity: [-1, 0, 0.2], angular_velocity: [1, 0, 0]}\n"

static const nodal_body *nodal(const world *w, const char *name) { return nodal_body_of(w->s->bodies[scene_find_body(w->s, name)].body); }

/* P, L about the origin, including the affine parts. */
static void momenta(world *w, double P[3], double L[3])
{
  body_totals sum;
  assert_ok(scene_totals(w->s, &sum));
  v3_copy(P, sum.momentum);
  const double affine[3] = {w->report.affine_angular_momentum_x, w->report.affine_angular_momentum_y, w->report.affine_angular_momentum_z};
  for (int k = 0; k < 3; ++k) L[k] = sum.angular_momentum[k] + affine[k];
}

static double change(const double a[3], const double b[3])
{
  double d[3];
  v3_sub(d, a, b);
  return v3_norm(d);
}

/* Features that collide on the trajectory from one end of a step to the other, or intersect at its end. */
typedef struct {
  scene_surfaces *f;
  impulses       *way;
  double         *inverse_mass, *x0, *x1;
} witness;

static void call(world *w, witness *e)
{
  assert_ok(scene_surfaces_create(w->s, &e->f));
  const int64_t n = e->f->n_vertices;
  e->inverse_mass = calloc((size_t)n, sizeof(double));
  e->x0 = calloc((size_t)(3 * n), sizeof(double)), e->x1 = calloc((size_t)(3 * n), sizeof(double));
  for (int64_t i = 0; i < n; ++i) e->inverse_mass[i] = 1.0;
  const impulse_scene all = {.surfaces = scene_surfaces_broad(e->f), .inverse_mass = e->inverse_mass};
  assert_ok(impulses_create(&all, &e->way));
  assert_ok(scene_surfaces_place(e->f, w->s, 0.0, e->x0));
}

static void see(world *w, witness *e, double t)
{
  int64_t n;
  assert_ok(scene_surfaces_place(e->f, w->s, t, e->x1));
  assert_ok(impulses_count_collisions(e->way, e->x0, e->x1, &n));
  assert_int_equal(n, 0);
  memcpy(e->x0, e->x1, (size_t)(3 * e->f->n_vertices) * sizeof(double));
}

static void dismiss(witness *e)
{
  impulses_destroy(&e->way);
  scene_surfaces_destroy(&e->f);
  free(e->inverse_mass), free(e->x0), free(e->x1);
}

/* Collision of two rotating blocks: error of momentum; angular momentum over all steps, or over those with contact only, because
 * backward Euler loses some of it in free flight. */
static void check_momentum(const char *options, bool by_contact, double P_error, double L_error)
{
  world   w;
  witness e;
  char    text[3000];
  double  P0[3], L0[3], P[3], L[3], L_before[3], lost = 0.0;
  int64_t points = 0;
  snprintf(text, sizeof text,
           HEAD "time: {end: 1, step: 4.0e-3}\n" BLOCKS "contact: {friction: 0}\nsolver: {newton: {tolerance: 1.0e-9}, hybrid: %s}\n",
           options);
  open_world(text, &w);
  call(&w, &e);
  body_totals sum;
  assert_ok(scene_totals(w.s, &sum));
  const double kinetic = sum.kinetic;
  step(&w);
  see(&w, &e, 0.0);
  momenta(&w, P0, L0);
  for (int k = 0; k < 60; ++k) {
    momenta(&w, P, L_before);
    step(&w);
    see(&w, &e, 0.0);
    points += w.report.transfer_points;
    momenta(&w, P, L);
    if (w.report.transfer_points > 0 || !by_contact) lost += change(L, L_before);
  }
  assert_true(points > 0 || strstr(options, "none"));
  assert_true(nodal(&w, "left")->v[0] < 0.5); /* they have collided */
  assert_close(change(P, P0), 0.0, P_error * 8.0);
  assert_close(by_contact ? lost : change(L, L0), 0.0, L_error * 8.0);
  assert_ok(scene_totals(w.s, &sum));
  assert_true(sum.kinetic + sum.elastic < kinetic);
  dismiss(&e);
  close_world(&w);
}

static void test_momentum(void **state)
{
  (void)state;
  check_momentum("{integrator: symplectic}", false, 1e-12, 1e-10);
  check_momentum("{integrator: symplectic, grid: {expert: {damps_sliding: false}}}", false, 1e-12, 1e-10);
  check_momentum("{contact: impulses, momentum_correction: rigid}", true, 1e-12, 1e-10);
  check_momentum("{contact: impulses, momentum_correction: linear}", true, 1e-12, 1.0);
  check_momentum("{contact: impulses, momentum_correction: rigid, expert: {prescribed_nodes: contact}}", true, 1e-12, 1e-10);
  assert_no_leak();
}

/* The reported forces between two bodies equal the changes of their momenta, for all kinds of bodies. */
static void check_force(const char *other, double dt, const char *options)
{
  world  w;
  char   text[3000];
  double most = 0.0;
  snprintf(
      text, sizeof text,
      HEAD
      "  wood: {model: rigid, density: 400}\ntime: {end: 1, step: %g}\nbodies:\n"
      "  ball: {kind: fem, material: rubber, spacing: 0.05, shape: {sphere: {center: [0, 0, 0.15], radius: 0.1}}, velocity: [0.3, 0, -2], "
      "angular_velocity: [0, 3, 0]}\n%s"
      "contact: {friction: 0.3}\nsolver: {newton: {tolerance: 1.0e-9}, hybrid: %s}\n",
      dt, other, options);
  open_world(text, &w);
  for (int k = 0; k * dt < 0.1; ++k) {
    body_totals before, after;
    double      force[3], moment[3];
    assert_ok(scene_body_totals(w.s, 0, &before));
    step(&w);
    assert_ok(scene_body_totals(w.s, 0, &after));
    contact_forces_between(w.f->forces, 0, 1, force, moment);
    for (int i = 0; i < 3; ++i) assert_close(dt * force[i], after.momentum[i] - before.momentum[i], 1e-10 * 8.0);
    most = fmax(most, v3_norm(force));
    assert_true(w.report.contact.cone_violation < 1e-12);
  }
  assert_true(most > 10.0);
  close_world(&w);
}

static void test_forces(void **state)
{
  (void)state;
  static const char *const others[] = {
      "  block: {kind: fem, material: rubber, spacing: 0.1, shape: {box: {min: [-0.2, -0.2, -0.2], max: [0.2, 0.2, 0]}}}\n",
      "  crate: {kind: rigid, material: wood, contact_surface: mesh, surface_spacing: 0.07, shape: {box: {min: [-0.1, -0.1, -0.1], max: "
      "[0.1, 0.15, 0]}}}\n",
      "  sheet: {kind: cloth, sheet: {corner: [-0.2, -0.2, 0], u: [0.4, 0, 0], v: [0, 0.4, 0], cells: [6, 6]}, mass_per_area: 20, stretch: "
      "1000}\n"};
  for (int k = 0; k < test_samples(3); ++k) {
    check_force(others[k], 4e-3, "{contact: impulses, momentum_correction: linear, grid: {spacing: 0.04}}");
    check_force(others[k], 4e-3, "{contact: impulses, momentum_correction: linear, grid: {transfer: none}}");
  }
  if (test_samples(5) == 5) check_force(others[0], 8e-4, "{integrator: symplectic}");
  check_force("  floor: {kind: static, shape: {plane: {normal: [0, 0, 1]}}}\n", 4e-3, "{contact: impulses, momentum_correction: linear}");
  for (int k = 0; k < 3; ++k) check_force(others[k], 4e-3, "{contact: coulomb}");
  check_force("  floor: {kind: static, shape: {plane: {normal: [0, 0, 1]}}}\n", 4e-3, "{}");
  assert_no_leak();
}

/* A stiff ball, in which sound travels farther in a step than the node spacing, hits an obstacle: constraining its surface takes
 * more momentum than stopping it. The forces are reported, momentum is preserved, and the energy does not grow. */
static double energy_at_most(const char *other, bool is_held, double dt, const char *holds, const char *fix)
{
  world       w;
  char        text[3000];
  body_totals sum, ball;
  double      P0[3], P[3], L[3], before, told = 0.0, most = 0.0, force[3], moment[3];
  snprintf(text, sizeof text,
           HEAD "  stiff: {model: fixed_corotated, density: 1000, youngs_modulus: 2.0e6, poisson_ratio: 0.3}\n"
                "  stone: {model: rigid, density: 2000}\ntime: {end: 1, step: %g}\nbodies:\n"
                "  ball: {kind: fem, material: stiff, spacing: 0.03, shape: {sphere: {center: [0, 0, 0.105], radius: 0.1}}, "
                "velocity: [0.3, 0.1, -1]}\n%s"
                "contact: {friction: 0}\nsolver: {newton: {tolerance: 1.0e-7}, hybrid: {contact: impulses, grid: {transfer: none}, "
                "impulses: {thickness: 1.0e-4}, expert: {prescribed_nodes: %s}, momentum_correction: %s}}\n",
           dt, other, holds, fix);
  open_world(text, &w);
  assert_ok(scene_totals(w.s, &sum));
  before = sum.kinetic + sum.elastic;
  momenta(&w, P0, L);
  assert_ok(scene_body_totals(w.s, 0, &ball));
  const double sank = ball.momentum[2];
  for (int k = 0; k * dt < 0.025; ++k) {
    step(&w);
    assert_ok(scene_totals(w.s, &sum));
    most = fmax(most, (sum.kinetic + sum.elastic) / before);
    contact_forces_between(w.f->forces, 0, 1, force, moment);
    told += dt * force[2];
  }
  momenta(&w, P, L);
  assert_ok(scene_body_totals(w.s, 0, &ball));
  print_message("ball, steps of %g s, %s held, momentum_correction: %s: %.6f of the energy at most, change of its momentum %.6f N s, told "
                "%.6f, lost %.1e\n",
                dt, holds, fix, most, ball.momentum[2] - sank, told, change(P, P0));
  assert_true(told > 1.5 * -sank); /* it comes back */
  if (strcmp(fix, "none")) assert_close(told, ball.momentum[2] - sank, 1e-10);
  for (int k = 0; k < (is_held ? 2 : 3) && strcmp(fix, "none"); ++k) assert_close(P[k], P0[k], 1e-10);
  close_world(&w);
  return most;
}

static void test_energy(void **state)
{
  (void)state;
  const char *slab    = "  slab: {kind: rigid, material: stone, contact_surface: mesh, surface_spacing: 0.1, "
                        "shape: {box: {min: [-0.2, -0.2, -0.4], max: [0.2, 0.2, 0]}}}\n";
  const char *floor   = "  floor: {kind: static, shape: {plane: {normal: [0, 0, 1]}}}\n";
  const bool  has_all = test_samples(5) == 5; /* under AddressSanitizer only the longest steps */
  if (has_all) {
    assert_true(energy_at_most(floor, true, 2.5e-4, "surface", "linear") < 1.0 + 1e-6);
    assert_true(energy_at_most(slab, false, 2.5e-4, "surface", "rigid") <
                energy_at_most(slab, false, 2.5e-4, "surface", "none") + 0.02); /* body by body 1.4 */
  }
  for (int k = has_all ? 2 : 8; k <= 8; k *= 2) /* sound travels 22 to 90 mm; with all surface nodes prescribed 1.06, 1.46, 2.73 */
    assert_true(energy_at_most(floor, true, 2.5e-4 * k, "contact", "linear") < 1.0 + 1e-6);
  assert_true(energy_at_most(slab, false, 1e-3, "contact", "linear") < 1.1); /* 1.79 */
  assert_no_leak();
}

/* In free flight backward Euler changes angular momentum by dt sum m v' x v, with v' at the end of the step, and by nothing
 * else. */
static void test_backward_euler(void **state)
{
  (void)state;
  world  w;
  double P0[3], L0[3], P[3], L[3], expected[3] = {0.0, 0.0, 0.0};
  open_world(HEAD "time: {end: 1, step: 4.0e-3}\nbodies:\n"
                  "  one: {kind: fem, material: rubber, spacing: 0.1, shape: {box: {min: [-0.25, -0.1, -0.1], max: [-0.05, 0.1, 0.1]}}, "
                  "velocity: [1, 0.1, 0], angular_velocity: [0, 0, 9]}\nsolver: {newton: {tolerance: 1.0e-10}}\n",
             &w);
  for (int k = 0; k < 20; ++k) step(&w);
  const nodal_body *b = nodal(&w, "one");
  double           *v = malloc((size_t)(3 * b->n_nodes) * sizeof *v);
  memcpy(v, b->v, (size_t)(3 * b->n_nodes) * sizeof *v);
  momenta(&w, P0, L0);
  step(&w);
  assert_int_equal(w.report.transfer_points, 0);
  for (int64_t i = 0; i < b->n_nodes; ++i) {
    double moment[3];
    v3_cross(moment, b->v + 3 * i, v + 3 * i);
    v3_axpy(expected, 4e-3 * b->mass[i], moment);
  }
  momenta(&w, P, L);
  assert_close(change(P, P0), 0.0, 1e-9);
  assert_true(v3_norm(expected) > 1e-5);
  v3_axpy(expected, 1.0, L0);
  assert_close(change(L, expected), 0.0, 1e-9);
  free(v);
  close_world(&w);
  assert_no_leak();
}

/* Mass damping in explicit steps acts at their end: v / (1 + alpha dt) in each. */
static void test_mass_damping(void **state)
{
  (void)state;
  world w;
  open_world(
      HEAD "time: {end: 1, step: 1.0e-3}\nbodies:\n"
           "  one: {kind: fem, material: rubber, spacing: 0.1, damping: {mass: 50}, shape: {box: {min: [0, 0, 0], max: [0.2, 0.2, 0.2]}}, "
           "velocity: [1, 0.1, 0]}\nsolver: {hybrid: {integrator: symplectic}}\n",
      &w);
  for (int k = 0; k < 20; ++k) step(&w);
  const nodal_body *b = nodal(&w, "one");
  const double      v = pow(1.05, -20.0);
  for (int64_t i = 0; i < b->n_nodes; ++i) {
    assert_close(b->v[3 * i], v, 1e-12);
    assert_close(b->v[3 * i + 1], 0.1 * v, 1e-12);
  }
  close_world(&w);
  assert_no_leak();
}

/* Constrained nodes stay at their prescribed positions in any collision. */
static void test_held(void **state)
{
  (void)state;
  world   w;
  witness e;
  open_world(
      HEAD
      "time: {end: 1, step: 4.0e-3}\nbodies:\n"
      "  ball: {kind: fem, material: rubber, spacing: 0.05, shape: {sphere: {center: [0, 0, 0.18], radius: 0.1}}, velocity: [0, 0, -2]}\n"
      "  block: {kind: fem, material: rubber, spacing: 0.1, shape: {box: {min: [-0.2, -0.2, -0.2], max: [0.2, 0.2, 0]}}, "
      "hold: [{inside: {box: {min: [-1, -1, -1], max: [1, 1, -0.05]}}}]}\n"
      "contact: {friction: 0.5}\nsolver: {hybrid: {contact: impulses, grid: {spacing: 0.02}}}\n",
      &w);
  call(&w, &e);
  const nodal_body *b = nodal(&w, "block"), *ball = nodal(&w, "ball");
  double            lowest = INFINITY;
  for (int k = 0; k < 60; ++k) {
    step(&w);
    see(&w, &e, 0.0);
    for (int64_t i = 0; i < ball->n_nodes; ++i) lowest = fmin(lowest, ball->x[3 * i + 2]);
  }
  for (int64_t i = 0; i < b->n_nodes; ++i)
    if (b->rest[3 * i + 2] < -0.05) assert_memory_equal(b->x + 3 * i, b->rest + 3 * i, 3 * sizeof(double));
  assert_true(lowest < 0.01);
  assert_true(lowest > -0.1);
  dismiss(&e);
  close_world(&w);
  assert_no_leak();
}

/* Colliding blocks, one of them constrained along two axes at its side, so that unknowns are not whole nodes. */
static void run_motion(int threads, double *x, int64_t most, int64_t *inner)
{
  world       w;
  const char *text =
      HEAD "time: {end: 1, step: 4.0e-3}\nbodies:\n"
           "  left: {kind: fem, material: rubber, spacing: 0.03, shape: {box: {min: [-0.25, -0.1, -0.1], max: [-0.05, 0.1, 0.1]}}, "
           "velocity: [1, 0.1, 0]}\n"
           "  right: {kind: fem, material: rubber, spacing: 0.03, damping: {stiffness: 0.01}, shape: {box: {min: [0, -0.05, -0.12], "
           "max: [0.2, 0.15, 0.08]}}, "
           "hold: [{inside: {box: {min: [0.19, -1, -1], max: [1, 1, 1]}}, axes: [x, z]}]}\n"
           "contact: {friction: 0.3}\nsolver: {newton: {tolerance: 1.0e-8}, hybrid: {contact: impulses}}\n";
  team_set_threads(threads);
  open_world(text, &w);
  bool has_met = false;
  *inner       = 0;
  for (int k = 0; k < 20; ++k) {
    step(&w);
    has_met |= w.report.transfer_points > 0;
    *inner += w.report.inner_iterations;
    assert_true(w.report.residual <= 1e-8);
  }
  const nodal_body *right = nodal(&w, "right");
  assert_true(has_met && 3 * right->n_nodes <= most);
  memcpy(x, right->x, (size_t)(3 * right->n_nodes) * sizeof *x);
  close_world(&w);
  team_set_threads(1);
}

/* Implicit motion by conjugate gradients gives the same bits for any number of threads. */
static void test_motion(void **state)
{
  enum { MOST = 6000 };
  (void)state;
  double *one = calloc(MOST, sizeof(double)), *three = calloc(MOST, sizeof(double));
  int64_t inner;
  run_motion(1, one, MOST, &inner);
  assert_true(inner > 100);
  run_motion(3, three, MOST, &inner);
  assert_memory_equal(one, three, MOST * sizeof(double));
  free(one), free(three);
  assert_no_leak();
}

/* Two rigid cubes, whose free spin preserves angular momentum, collide off centre through the grid alone: momenta are preserved,
 * and the cubes are decelerated. */
static void test_cubes(void **state)
{
  (void)state;
  static const char *const grids[] = {"{spacing: 0.1}", "{spacing: 0.1, expert: {damps_sliding: false}}", "{spacing: 0.25}"};
  for (int c = 0; c < 3; ++c) {
    world       w;
    char        text[3000];
    body_totals sum, next;
    double      P0[3], L0[3], P[3], L[3], energy;
    int         n_met = 0;
    snprintf(
        text, sizeof text,
        HEAD
        "  wood: {model: rigid, density: 400}\ntime: {end: 1, step: 4.0e-3}\nbodies:\n"
        "  a: {kind: rigid, material: wood, contact_surface: mesh, surface_spacing: 0.1, shape: {box: {min: [-0.45, -0.1, -0.1], max: "
        "[-0.15, 0.2, 0.2]}}, velocity: [1, 0.1, 0]}\n"
        "  b: {kind: rigid, material: wood, contact_surface: mesh, surface_spacing: 0.1, shape: {box: {min: [0.12, -0.05, -0.15], max: "
        "[0.32, 0.15, 0.05]}}, velocity: [-1, 0, 0.2]}\n"
        "contact: {friction: 0}\nsolver: {hybrid: {contact: impulses, grid: %s, impulses: {enabled: false}}}\n",
        grids[c]);
    open_world(text, &w);
    step(&w);
    assert_ok(scene_totals(w.s, &sum));
    momenta(&w, P0, L0);
    energy = sum.kinetic;
    for (int k = 0; k < 60; ++k) {
      step(&w);
      assert_ok(scene_totals(w.s, &next));
      n_met += w.report.transfer_points > 0;
      assert_true(next.kinetic <= energy * (1 + 2e-3)); /* the small contribution of affine parts */
      energy = next.kinetic;
    }
    momenta(&w, P, L);
    print_message("cubes, grid %s: %d steps with contact, %.3f of the energy is left; P %.2g, L %.2g\n", grids[c], n_met,
                  energy / sum.kinetic, change(P, P0), change(L, L0));
    assert_true(n_met > 5);
    assert_true(energy < 0.5 * sum.kinetic);
    assert_close(change(P, P0), 0.0, 1e-12 * 10.0);
    assert_close(change(L, L0), 0.0, 1e-12 * 10.0);
    close_world(&w);
  }
  assert_no_leak();
}

#define DISC(NAME, X, Y, V)                                                                                                                \
  "  " NAME ": {kind: fem, material: rubber, spacing: 0.1, shape: {cylinder: {from: [" X ", " Y ", 0], to: [" X ", " Y ", 0.1], "          \
  "radius: 0.4}}, velocity: [" V ", 0, 0], hold: [{inside: {box: {min: [-2, -2, -1], max: [2, 2, 1]}}, axes: [z]}]}\n"

/* Slabs in plane motion: contact acts only on their rims, and the energy hardly grows although a step is nearly as long as the
 * travel time of sound through an element; if the faces took part, it grew to 1.5 times. */
static void test_plane(void **state)
{
  (void)state;
  static const char *const options[] = {"{contact: impulses, grid: {transfer: none}}",
                                        "{contact: impulses, grid: {spacing: 0.1, expert: {region: colliding}}}"};
  for (int c = 0; c < 2; ++c) {
    world       w;
    witness     e;
    char        text[3000];
    body_totals sum;
    double      most = 0.0, least = INFINITY, first;
    snprintf(text, sizeof text,
             HEAD "time: {end: 1, step: 8.0e-3}\nbodies:\n" DISC("left", "-0.405", "0", "0.25")
                 DISC("right", "0.405", "0.1", "-0.25") "contact: {friction: 0}\nsolver: {newton: {tolerance: 1.0e-9}, hybrid: %s}\n",
             options[c]);
    open_world(text, &w);
    call(&w, &e);
    assert_ok(scene_totals(w.s, &sum));
    first = sum.kinetic;
    for (int k = 0; k < 60; ++k) {
      step(&w);
      see(&w, &e, 0.0); /* all faces, including those without contact */
      assert_ok(scene_totals(w.s, &sum));
      most  = fmax(most, (sum.kinetic + sum.elastic) / first);
      least = fmin(least, sum.kinetic / first);
    }
    print_message("slabs, %s: %.6f of the energy at most, %.3f at last, %.3f kinetic at least\n", options[c], most,
                  (sum.kinetic + sum.elastic) / first, least);
    assert_true(least < 0.6); /* they have met */
    assert_true(most < 1.1);
    dismiss(&e);
    close_world(&w);
  }
  assert_no_leak();
}

/* A tolerance below rounding: Newton's method stalls at 1e-15. The step is accepted within stall_tolerance, and reported. */
static void test_unsolved_steps_are_reported(void **state)
{
  static const char *const tolerances[] = {"1.0e-3", "1.0e-30"};
  (void)state;
  for (int k = 0; k < 2; ++k) {
    world w;
    char  text[3000];
    snprintf(text, sizeof text,
             HEAD "time: {end: 1, step: 4.0e-3}\n" BLOCKS
                  "contact: {friction: 0}\nsolver: {newton: {tolerance: %s, stall_tolerance: 0.1}}\n",
             tolerances[k]);
    open_world(text, &w);
    step(&w);
    assert_int_equal(w.report.unconverged, k);
    assert_true(w.report.residual <= (k ? 1e-9 : 1e-3));
    close_world(&w);
  }
  assert_no_leak();
}

/* contact: coulomb. A ball hits a light sheet so fast that linearised contacts do not prevent all collisions; impulses do. Surfaces never
 * collide on their trajectories, energy does not grow, friction stays in the cone, and linear momentum is conserved although the motion
 * of surfaces is prescribed after impulses. */
static void test_coulomb_steps_with_collisions(void **state)
{
  world       w;
  witness     e;
  body_totals sum;
  double      P0[3], P[3], L[3], energy;
  int64_t     n_collisions = 0, n_contacts = 0;
  (void)state;
  open_world(HEAD
             "time: {end: 1, step: 4.0e-3}\nbodies:\n"
             "  ball: {kind: fem, material: rubber, spacing: 0.05, shape: {sphere: {center: [0, 0, 0.11], radius: 0.1}}, velocity: [1, 0, "
             "-4], angular_velocity: [0, 20, 0]}\n"
             "  sheet: {kind: cloth, sheet: {corner: [-0.2, -0.2, 0], u: [0.4, 0, 0], v: [0, 0.4, 0], cells: [6, 6]}, mass_per_area: 2, "
             "stretch: 500}\n"
             "contact: {friction: 0.3, pairs: [{between: [sheet, sheet]}]}\nsolver: {newton: {tolerance: 1.0e-9}}\n",
             &w);
  call(&w, &e);
  momenta(&w, P0, L);
  assert_ok(scene_totals(w.s, &sum));
  energy = sum.kinetic + sum.elastic;
  for (int k = 0; k < 40; ++k) {
    step(&w);
    see(&w, &e, 0.0);
    n_collisions += w.report.collisions, n_contacts += w.report.contact.contacts;
    assert_ok(scene_totals(w.s, &sum));
    if (w.report.collisions == 0) assert_true(sum.kinetic + sum.elastic <= energy * (1 + 1e-9)); /* backward Euler, inelastic contact */
    energy = sum.kinetic + sum.elastic;
    assert_true(w.report.contact.cone_violation < 1e-12);
  }
  momenta(&w, P, L);
  print_message("%lld contacts, %lld collisions\n", (long long)n_contacts, (long long)n_collisions);
  assert_true(n_contacts > 0 && n_collisions > 0);
  assert_close(change(P, P0), 0.0, 1e-9 * v3_norm(P0));
  dismiss(&e);
  close_world(&w);
  assert_no_leak();
}

/* contact: coulomb, the default. A soft block on a slope with friction below the critical value sticks: no creep at any step length. With
 * contact: impulses it creeps by about g dt / 2. */
static void test_block_sticks(void **state)
{
  static const double steps[] = {1e-3, 4e-3, 1.6e-2};
  (void)state;
  for (int k = 3 - test_samples(3); k < 3; ++k) {
    world  w;
    char   text[2000];
    double x = 0.0;
    snprintf(
        text, sizeof text,
        "stickslip: 1\nname: test\nformulation: hybrid\ngravity: [4.38716537, 0, -8.77433074]\ntime: {end: 1, step: %g}\n"
        "materials: {rubber: {model: fixed_corotated, density: 1000, youngs_modulus: 1.0e6, poisson_ratio: 0.3}}\nbodies:\n"
        "  block: {kind: fem, material: rubber, spacing: 0.05, shape: {box: {min: [-0.05, -0.05, 1.0e-4], max: [0.05, 0.05, 0.1001]}}}\n"
        "  floor: {kind: static, contact_surface: mesh, shape: {box: {min: [-1, -1, -0.2], max: [1, 1, 0]}}}\n"
        "contact: {friction: 0.52}\n",
        steps[k]);
    open_world(text, &w);
    for (double t = 0.0; t < 0.4; t += steps[k]) {
      step(&w);
      if (t < 0.2) x = nodal(&w, "block")->x[0];
    }
    print_message("steps of %g s: displacement %.3g m in 0.2 s\n", steps[k], nodal(&w, "block")->x[0] - x);
    assert_close(nodal(&w, "block")->x[0], x, 1e-6);
    close_world(&w);
  }
  assert_no_leak();
}

/* Bodies that start within the thickness are reported, with contact: impulses: a vertex above a half-space, and two boxes. */
static void test_near_bodies_are_reported(void **state)
{
  static const char *const methods[] = {"coulomb", "impulses"};
  (void)state;
  for (int k = 0; k < 2; ++k) {
    world w;
    char  text[2000];
    snprintf(text, sizeof text,
             HEAD
             "  wood: {model: rigid, density: 400}\ntime: {end: 1, step: 4.0e-3}\nbodies:\n"
             "  low: {kind: rigid, material: wood, contact_surface: mesh, shape: {box: {min: [0, 0, 0.002], max: [0.1, 0.1, 0.1]}}}\n"
             "  high: {kind: rigid, material: wood, contact_surface: mesh, shape: {box: {min: [0, 0, 0.1005], max: [0.1, 0.1, 0.2]}}}\n"
             "  far: {kind: rigid, material: wood, contact_surface: mesh, shape: {box: {min: [0.2, 0, 0.1], max: [0.3, 0.1, 0.2]}}}\n"
             "  floor: {kind: static, shape: {plane: {}}}\n"
             "contact: {friction: 0.3}\nsolver: {hybrid: {contact: %s, impulses: {thickness: 3.0e-3}}}\n",
             methods[k]);
    open_world(text, &w);
    assert_int_equal(warning_list_count(w.s->warnings), k == 0 ? 0 : 2);
    for (int i = 0; i < 2 && k == 1; ++i) {
      assert_string_equal(warning_list_code(w.s->warnings, i), "within-thickness");
      assert_non_null(
          strstr(warning_list_text(w.s->warnings, i), i == 0 ? "low, high: start 0.0005 m apart" : "low, floor: start 0.002 m apart"));
    }
    close_world(&w);
  }
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_motion), cmocka_unit_test(test_momentum), cmocka_unit_test(test_forces),
          cmocka_unit_test(test_coulomb_steps_with_collisions), cmocka_unit_test(test_block_sticks),
          cmocka_unit_test(test_near_bodies_are_reported), cmocka_unit_test(test_energy), cmocka_unit_test(test_mass_damping),
          cmocka_unit_test(test_backward_euler), cmocka_unit_test(test_held), cmocka_unit_test(test_cubes), cmocka_unit_test(test_plane),
          cmocka_unit_test(test_unsolved_steps_are_reported))
