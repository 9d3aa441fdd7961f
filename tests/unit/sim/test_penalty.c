/* The equations of a whole penalty step with sand, walls, a ball and a block in contact with both: H against finite differences
 * of g, its adjoint, and the same bits for any number of threads. */
#include "penalty_fixture.h"

/* Contact of vertices with level sets also between rigid bodies; convex solids: test_penalty_solids.c. A bed that stands on the floor of a tank; a ball half a centimetre deep in the bed, the wall and a block, which turns by the
 * other rotation rule and hangs on a spring. */
static void write_job(const char *model, const char *extra, char *text, size_t size)
{
  snprintf(
      text, size,
      "stickslip: 1\n"
      "name: test\n"
      "gravity: [0, 0, -9.81]\n"
      "time: {end: 0.1, step: 2.0e-3}\n"
      "materials:\n"
      "  sand:  {density: 1600, youngs_modulus: 1.0e6, poisson_ratio: 0.3, model: %s}\n"
      "  steel: {model: rigid, density: 2000}\n"
      "bodies:\n"
      "  bed:   {kind: mpm, material: sand, spacing: 0.1, particles_per_cell: 8, shape: {box: {min: [0, 0, 0], max: [0.5, 0.4, 0.2]}}}\n"
      "  ball:  {kind: rigid, material: steel, shape: {sphere: {center: [0.095, 0.15, 0.265], radius: 0.1}}, angular_velocity: [1, -2, "
      "3]}\n"
      "  block: {kind: rigid, material: steel, rotation: midpoint, shape: {box: {min: [0.17, 0.05, 0.18], max: [0.37, 0.25, 0.3]}},\n"
      "          anchors: [{point: [0.37, 0.25, 0.3], stiffness: 1000, damping: 3}], angular_velocity: [0.5, 1, -1]}\n"
      "  tank:  {kind: static, shape: {container: {min: [0.02, 0, 0.02], max: [0.5, 0.4, 2]}}}\n"
      "contact: {initial_overlap: preload, friction: 0.3, stiffness: 1.0e4}\n"
      "%s\n%s\n",
      model, strstr(extra, "solver:") ? "" : "solver: {penalty: {expert: {rigid_detector: vertices}}}", extra);
}
#define SAND "drucker_prager, friction_angle_deg: 30"

/* One step into everything nearby, so that there are attachments and plastic strain; then to the middle of the next. */
static void open_world(const char *text, world *w)
{
  step_status     status = {STEP_OK, NULL, -1};
  contact_summary summary;
  const double    down[3] = {-1.5, -0.5, -2.5}, on[3] = {1.5, 0.4, 6.0};
  read_world(text, w);
  begin(w, 0.0);
  set_velocity(w, down, 0.5, 1);
  evaluate(w, w->z, w->g, false);
  assert_ok(penalty_system_end(&w->p, w->z, &status, &summary));
  assert_int_equal(status.code, STEP_OK);
  begin(w, DT);
  set_velocity(w, on, 1.0, 2);
  evaluate(w, w->z, w->g, true);
}

/* Pairs of the last evaluation by state; separated: attached, but now outside. */
typedef struct {
  int64_t first, stick, slide, separated;
} state_count;
static state_count count_states(const world *w, bool of_weighted_points)
{
  const penalty_contact *c   = w->p.contact;
  state_count            sum = {0, 0, 0, 0};
  for (int64_t i = 0; i < c->n; ++i) {
    if ((c->sides.source[i] < 0) != of_weighted_points) continue;
    sum.first += c->state[i] == RELAX_FIRST;
    sum.stick += c->state[i] == RELAX_STICK;
    sum.slide += c->state[i] == RELAX_SLIDE;
    sum.separated += c->state[i] == RELAX_INACTIVE && c->candidate[i].attachment >= 0;
  }
  return sum;
}

/* |H x - H^T x| / |H x| of the first system alone: sand, whose law has a symmetric derivative until it yields. */
static double asymmetry(const world *w)
{
  const body   *b = w->s->systems[0];
  const int64_t n = 3 * b->n_blocks;
  double       *x = random_numbers(n, 3, 1.0), *y = numbers(n), *yt = numbers(n);
  assert_ok(b->ops->tangent(b, x, y, false));
  assert_ok(b->ops->tangent(b, x, yt, true));
  for (int64_t i = 0; i < n; ++i) yt[i] -= y[i];
  const double ratio = norm(n, yt) / norm(n, y);
  memory_free(&x);
  memory_free(&y);
  memory_free(&yt);
  return ratio;
}

/* Speeds are of order 1 m/s, so the step moves points by 1e-3 m and strains by 1e-2; +- 1e-5 of that is far from the curvature of
 * every law and far above round-off (1e-16 / 1e-5). The states are fixed by the seeds: no pair of them has a kink in between. */
static void check_slopes(const char *model, const char *extra, bool is_plastic)
{
  char  text[4096];
  world w;
  write_job(model, extra, text, sizeof text);
  open_world(text, &w);
  const state_count sand = count_states(&w, true), rigid = count_states(&w, false);
  print_message("sand:  %d first, %d stick, %d slide, %d separated\nrigid: %d first, %d stick, %d slide, %d separated\n", (int)sand.first,
                (int)sand.stick, (int)sand.slide, (int)sand.separated, (int)rigid.first, (int)rigid.stick, (int)rigid.slide,
                (int)rigid.separated);
  assert_true(sand.stick > 3 && sand.slide > 3 && sand.separated > 3);
  assert_true(rigid.stick > 5 && rigid.slide > 5 && rigid.separated > 0);
  assert_true(is_plastic ? asymmetry(&w) > 1.0e-3 : asymmetry(&w) < 1.0e-13);
  check_derivatives(&w);
  close_world(&w);
  assert_no_leak();
}
static void test_slope_elastic(void **state) { (void)state, check_slopes("fixed_corotated", "", false); }
static void test_slope_sand(void **state) { (void)state, check_slopes(SAND, "", true); }
static void test_slope_walls(void **state)
{
  (void)state;
  check_slopes(SAND, "mpm: {kernel: cubic, walls: [{axis: x, side: upper, at: 0.5}, {axis: z, side: lower, at: 0, kind: stick}]}", true);
}

/* A loose heap: most nodes at its edge are dependent. */
static void test_slope_light(void **state)
{
  (void)state;
  check_slopes(SAND, "mpm: {expert: {light_node_mass_fraction: 0.3, light_node_rest_speed: 1e9}}", true);
  check_slopes("fixed_corotated", "mpm: {expert: {light_node_mass_fraction: 0.3, light_node_rest_speed: 1e9}}", false);
  check_slopes(SAND,
               "mpm: {expert: {light_node_mass_fraction: 0.3, light_node_rest_speed: 1e9}, walls: [{axis: x, side: upper, at: 0.5}, {axis: "
               "z, side: lower, at: 0, kind: stick}]}",
               true);
}

/* Sand at rest has dependent nodes by default; other bodies, and preconditioners that do not support them, have none. */
static void test_light_by_default(void **state)
{
  (void)state;
  static const struct {
    const char *model, *extra;
    bool        has_any;
  } row[] = {{SAND, "", true},
             {SAND, "mpm: {expert: {light_node_mass_fraction: 0}}", false},
             {SAND, "mpm: {expert: {light_node_rest_speed: 0}}", false},
             {SAND, "solver: {linear: {preconditioner: metis_schwarz}}", false},
             {"fixed_corotated", "", false},
             {"fixed_corotated", "mpm: {expert: {light_node_mass_fraction: 0.1}}", true}};
  for (int i = 0; i < (int)(sizeof row / sizeof *row); ++i) {
    char  text[4096];
    world w;
    write_job(row[i].model, row[i].extra, text, sizeof text);
    read_world(text, &w);
    begin(&w, 0.0);
    if ((w.p.layout.dependent.n > 0) != row[i].has_any)
      fail_msg("%s, %s: %d entries", row[i].model, row[i].extra, (int)w.p.layout.dependent.n);
    close_world(&w);
    assert_no_leak();
  }
}

static void test_adjoint(void **state)
{
  (void)state;
  char  text[4096];
  world w;
  write_job(SAND, "", text, sizeof text);
  open_world(text, &w);
  check_adjoint(&w, 101);
  close_world(&w);
  assert_no_leak();
}

/* The assembled matrix and the matrix-free products are the same map. */
static void check_matrix(const char *model, const char *extra)
{
  char  text[4096];
  world w;
  Mat   P = NULL;
  write_job(model, extra, text, sizeof text);
  open_world(text, &w);
  assert_ok(optim_register_all());
  for (int repeat = 0; repeat < 2; ++repeat) { /* the second time into the first one's matrix */
    Mat before = P;
    assert_ok(penalty_matrix_lay_out(&w.p, &P));
    assert_true(repeat == 0 || P == before);
    assert_ok(penalty_matrix_assemble(&w.p, P));
  }
  check_matrix_product(&w, P, 1.0e-12);
  assert_ok(MatDestroy(&P));
  close_world(&w);
  assert_no_leak();
}
#define PERIODIC                                                                                                                           \
  "walls: [{axis: y, side: lower, at: 0, kind: periodic}, {axis: y, side: upper, at: 0.4, kind: periodic}, {axis: z, side: lower, at: 0}]"
static void test_matrix_periodic(void **state)
{
  (void)state, check_matrix(SAND, "mpm: {" PERIODIC "}"), check_matrix(SAND, "mpm: {kernel: cubic, " PERIODIC "}");
}
#define WALLS "walls: [{axis: x, side: upper, at: 0.5}, {axis: z, side: lower, at: 0, kind: stick}]"
static void test_matrix_elastic(void **state) { (void)state, check_matrix("fixed_corotated", ""); }
static void test_matrix_sand(void **state) { (void)state, check_matrix(SAND, ""); }
static void test_matrix_cubic(void **state) { (void)state, check_matrix(SAND, "mpm: {kernel: cubic}"); }
static void test_matrix_walls(void **state)
{
  (void)state, check_matrix(SAND, "mpm: {" WALLS "}"), check_matrix(SAND, "mpm: {kernel: cubic, " WALLS "}");
}

static double *everything(const void *text, int64_t *n)
{
  world w;
  open_world(text, &w);
  double *all = everything_of(&w, n);
  close_world(&w);
  return all;
}

static void test_threads(void **state)
{
  (void)state;
  char text[4096];
  write_job(SAND, "", text, sizeof text);
  check_threads(everything, text);
}

/* GMRES iterations of three steps in which a stiff bed settles under a ball. */
static int64_t iterations(const char *bed, const char *preconditioner, const char *refresh)
{
  char         text[4096];
  diagnostics *d;
  job         *j   = NULL;
  scene       *s   = NULL;
  formulation *f   = NULL;
  int64_t      sum = 0;
  snprintf(text, sizeof text,
           "stickslip: 1\n"
           "name: test\n"
           "time: {end: 0.1, step: 1.0e-3}\n"
           "materials:\n"
           "  sand:  {density: 1600, youngs_modulus: 3.537e7, poisson_ratio: 0.3, model: " SAND "}\n"
           "  jelly: {density: 1000, youngs_modulus: 1.0e6, poisson_ratio: 0.45, model: fixed_corotated}\n"
           "  steel: {model: rigid, density: 7800}\n"
           "bodies:\n"
           "  bed:   {kind: %s, shape: {box: {min: [0, 0, 0], max: [0.12, 0.12, 0.08]}}}\n"
           "  ball:  {kind: rigid, material: steel, shape: {sphere: {center: [0.06, 0.06, 0.125], radius: 0.05}}, velocity: [0, 0, -1]}\n"
           "  tank:  {kind: static, shape: {container: {min: [0, 0, 0.001], max: [0.12, 0.12, 2]}}}\n"
           "contact: {initial_overlap: preload, friction: 0.3, stiffness: 1.0e4}\n"
           "solver: {linear: {preconditioner: %s, %smax_iterations: 400, restart: 100}}\n",
           bed, preconditioner, strcmp(preconditioner, "block_diagonal") ? refresh : "");
  assert_ok(diagnostics_create(&d));
  assert_ok(job_read_text("job", text, 0, NULL, d, &j));
  if (j) assert_ok(scene_create(PETSC_COMM_SELF, &j->scene, d, &s));
  if (diagnostics_count(d)) fail_msg("%s", diagnostics_text(d, 0));
  assert_ok(formulation_create(&penalty_formulation, s, &f));
  for (int step = 0; step < 3; ++step) {
    step_status status;
    step_report report;
    assert_ok(f->ops->step(f, 1.0e-3 * step, 1.0e-3, &status, &report));
    assert_int_equal(status.code, STEP_OK);
    assert_true(report.residual <= 1e-3);
    sum += report.linear_iterations;
  }
  formulation_destroy(&f);
  scene_destroy(&s);
  job_destroy(&j);
  diagnostics_destroy(&d);
  assert_no_leak();
  return sum;
}

static const char sand_bed[] = "mpm, material: sand, spacing: 0.02, particles_per_cell: 8",
                  soft_bed[] = "fem, material: jelly, spacing: 0.02";

static void test_iterations(void **state)
{
  (void)state;
  const int64_t block  = iterations(sand_bed, "block_diagonal", "refresh: step, "),
                step   = iterations(sand_bed, "metis_schwarz", "refresh: step, "),
                newton = iterations(sand_bed, "metis_schwarz", "refresh: newton, ");
  print_message("GMRES iterations: block_diagonal %d, metis_schwarz per step %d, per Newton iteration %d\n", (int)block, (int)step,
                (int)newton);
  assert_true(newton < block);
}

/* By default the matrix of a solid is assembled, that of a grid is not. */
static void test_default_preconditioner(void **state)
{
  (void)state;
  const int64_t block = iterations(soft_bed, "block_diagonal", "refresh: newton, "),
                parts = iterations(soft_bed, "metis_schwarz", "refresh: newton, ");
  print_message("GMRES iterations on a solid: block_diagonal %d, metis_schwarz %d\n", (int)block, (int)parts);
  assert_true(parts < block);
  assert_int_equal(iterations(soft_bed, "auto", "refresh: newton, "), parts);
  assert_int_equal(iterations(sand_bed, "auto", "refresh: newton, "), iterations(sand_bed, "block_diagonal", "refresh: newton, "));
}

/* By default the linear solves are inexact, and need fewer iterations for the same residual of the step. */
static void test_inexact_linear_solves(void **state)
{
  (void)state;
  const int64_t inexact = iterations(soft_bed, "metis_schwarz", ""), fixed = iterations(soft_bed, "metis_schwarz", "tolerance: 1.0e-3, "),
                exact = iterations(soft_bed, "metis_schwarz", "tolerance: 1.0e-8, ");
  print_message("GMRES iterations: inexact %d, tolerance 1e-3 %d, 1e-8 %d\n", (int)inexact, (int)fixed, (int)exact);
  assert_true(inexact < fixed && fixed < exact);
}

TEST_MAIN(cmocka_unit_test(test_inexact_linear_solves), cmocka_unit_test(test_slope_elastic), cmocka_unit_test(test_slope_sand),
          cmocka_unit_test(test_slope_walls), cmocka_unit_test(test_slope_light), cmocka_unit_test(test_light_by_default),
          cmocka_unit_test(test_adjoint), cmocka_unit_test(test_matrix_elastic), cmocka_unit_test(test_matrix_sand),
          cmocka_unit_test(test_matrix_cubic), cmocka_unit_test(test_matrix_walls), cmocka_unit_test(test_matrix_periodic),
          cmocka_unit_test(test_threads), cmocka_unit_test(test_iterations), cmocka_unit_test(test_default_preconditioner))
