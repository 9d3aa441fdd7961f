/* The equations of a whole penalty step, with sand, walls, a ball, and a block that both meet: H against finite differences of
 * g, its adjoint, and the same bits on any number of threads. */
#include "test.h"
#include <stdio.h>
#include <string.h>
#include "contact/mesh_contact.h"
#include "contact/penalty_pairs.h"
#include "core/math3.h"
#include "core/random.h"
#include "core/team.h"
#include "optim/mat_block3.h"
#include "optim/optim.h"
#include "sim/penalty_matrix.h"

static const double DT = 2.0e-3;

/* A bed that stands on the floor of a tank; a ball half a centimetre deep in the bed, the wall and a block, which turns by the
 * other rotation rule and hangs on a spring. */
static void write_job(const char *model, const char *extra, char *text, size_t size)
{
  snprintf(text, size,
           "stickslip: 1\n"
           "name: test\n"
           "gravity: [0, 0, -9.81]\n"
           "time: {end: 0.1, step: 2.0e-3}\n"
           "materials:\n"
           "  sand:  {density: 1600, youngs_modulus: 1.0e6, poisson_ratio: 0.3, model: %s}\n"
           "  steel: {model: rigid, density: 2000}\n"
           "bodies:\n"
           "  bed:   {kind: mpm, material: sand, spacing: 0.1, particles_per_cell: 8, shape: {box: {min: [0, 0, 0], max: [0.5, 0.4, 0.2]}}}\n"
           "  ball:  {kind: rigid, material: steel, shape: {sphere: {center: [0.095, 0.15, 0.265], radius: 0.1}}, angular_velocity: [1, -2, 3]}\n"
           "  block: {kind: rigid, material: steel, rotation: midpoint, shape: {box: {min: [0.17, 0.05, 0.18], max: [0.37, 0.25, 0.3]}},\n"
           "          anchors: [{point: [0.37, 0.25, 0.3], stiffness: 1000, damping: 3}], angular_velocity: [0.5, 1, -1]}\n"
           "  tank:  {kind: static, shape: {container: {min: [0.02, 0, 0.02], max: [0.5, 0.4, 2]}}}\n"
           "contact: {friction: 0.3, stiffness: 1.0e4}\n"
           "%s\n",
           model, extra);
}
#define SAND "drucker_prager, friction_angle_deg: 30"

typedef struct {
  diagnostics   *d;
  job           *j;
  scene         *s;
  penalty_system p;
  int64_t        n; /* numbers in the global vector */
  double        *z, *g;
} world;

static double *numbers(int64_t n)
{
  double *x;
  assert_ok(memory_alloc("test", n, sizeof *x, &x));
  return x;
}

static double *random_numbers(int64_t n, uint64_t stream, double scale)
{
  double *x = numbers(n);
  for (int64_t i = 0; i < n; ++i) x[i] = random_range(7, (uint64_t)i, stream, -scale, scale);
  return x;
}

/* z so that v = v0 + shift + noise for every node and linear block; angular blocks get the noise alone. */
static void set_velocity(world *w, const double shift[3], double noise, uint64_t stream)
{
  w->n = 3 * w->p.n_blocks;
  memory_free(&w->z);
  memory_free(&w->g);
  w->z = random_numbers(w->n, stream, noise);
  w->g = numbers(w->n);
  for (int k = 0; k < w->s->n_systems; ++k) {
    const body *b = w->s->systems[k];
    const bool  is_rigid = b->ops->points == POINT_RIGID;
    for (int64_t i = 0; i < (is_rigid ? 1 : b->n_blocks); ++i)
      for (int c = 0; c < 3; ++c) w->z[3 * (b->first_block + i) + c] += shift[c];
  }
}

static void begin(world *w, double t)
{
  step_verdict verdict = {STEP_OK, NULL, -1};
  assert_ok(penalty_system_begin(&w->p, t, DT, &verdict));
  assert_int_equal(verdict.code, STEP_OK);
}

static void evaluate(world *w, const double *z, double *g, bool with_tangent)
{
  assert_ok(penalty_system_evaluate(&w->p, z, g, with_tangent));
  assert_int_equal(w->p.verdict.code, STEP_OK);
}

/* One step into everything that is near, so that there are attachments and plastic strain; then to the middle of the next. */
static void open_world(const char *text, world *w)
{
  step_verdict    verdict = {STEP_OK, NULL, -1};
  contact_summary summary;
  const double    down[3] = {-1.5, -0.5, -2.5}, on[3] = {1.5, 0.4, 6.0};
  memset(w, 0, sizeof *w);
  assert_ok(diagnostics_create(&w->d));
  assert_ok(job_read_text("job", text, 0, NULL, w->d, &w->j));
  if (w->j) assert_ok(scene_create(PETSC_COMM_SELF, w->j, w->d, &w->s));
  if (diagnostics_count(w->d)) fail_msg("%s", diagnostics_text(w->d, 0));
  assert_ok(penalty_system_create(w->s, &w->p));
  begin(w, 0.0);
  set_velocity(w, down, 0.5, 1);
  evaluate(w, w->z, w->g, false);
  assert_ok(penalty_system_end(&w->p, w->z, &verdict, &summary));
  assert_int_equal(verdict.code, STEP_OK);
  begin(w, DT);
  set_velocity(w, on, 1.0, 2);
  evaluate(w, w->z, w->g, true);
}

static void close_world(world *w)
{
  memory_free(&w->z);
  memory_free(&w->g);
  penalty_system_destroy(&w->p);
  scene_destroy(&w->s);
  job_destroy(&w->j);
  diagnostics_destroy(&w->d);
  assert_no_leak();
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

static double norm(int64_t n, const double *x) { return sqrt(team_dot(n, x, x)); }

/* |H x - (g(z + e x) - g(z - e x)) / 2e| / |H x|, for x on all systems (only < 0) or one of them. */
static double slope_error(world *w, double e, int only)
{
  double *x = random_numbers(w->n, 3, 1.0), *y = numbers(w->n), *plus = numbers(w->n), *minus = numbers(w->n), *z = numbers(w->n);
  for (int k = 0; k < w->s->n_systems && only >= 0; ++k) {
    const body *b = w->s->systems[k];
    if (k != only) memset(x + 3 * b->first_block, 0, (size_t)(3 * b->n_blocks) * sizeof *x);
  }
  evaluate(w, w->z, w->g, true);
  assert_ok(penalty_system_product(&w->p, x, y, false));
  for (int64_t i = 0; i < w->n; ++i) z[i] = w->z[i] + e * x[i];
  evaluate(w, z, plus, false);
  for (int64_t i = 0; i < w->n; ++i) z[i] = w->z[i] - e * x[i];
  evaluate(w, z, minus, false);
  for (int64_t i = 0; i < w->n; ++i) plus[i] = (plus[i] - minus[i]) / (2.0 * e) - y[i];
  const double error = norm(w->n, plus) / norm(w->n, y);
  memory_free(&x);
  memory_free(&y);
  memory_free(&plus);
  memory_free(&minus);
  memory_free(&z);
  return error;
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
                (int)sand.stick, (int)sand.slide, (int)sand.separated, (int)rigid.first, (int)rigid.stick, (int)rigid.slide, (int)rigid.separated);
  assert_true(sand.stick > 3 && sand.slide > 3 && sand.separated > 3);
  assert_true(rigid.stick > 5 && rigid.slide > 5 && rigid.separated > 0);
  assert_true(is_plastic ? asymmetry(&w) > 1.0e-3 : asymmetry(&w) < 1.0e-13);
  for (int only = -1; only < w.s->n_systems; ++only) {
    const double error = slope_error(&w, 1.0e-5, only);
    print_message("%s, system %d: %.2e\n", model, only, error);
    assert_close(error, 0.0, 1.0e-6);
  }
  close_world(&w);
}
static void test_slope_elastic(void **state) { (void)state, check_slopes("fixed_corotated", "", false); }
static void test_slope_sand(void **state) { (void)state, check_slopes(SAND, "", true); }
static void test_slope_walls(void **state)
{
  (void)state;
  check_slopes(SAND, "mpm: {kernel: cubic, walls: [{axis: x, side: upper, at: 0.5}, {axis: z, side: lower, at: 0, kind: stick}]}", true);
}

/* A loose heap of edges: most nodes there follow others. */
static void test_slope_light(void **state)
{
  (void)state;
  check_slopes(SAND, "mpm: {light_nodes: 0.3}", true);
  check_slopes("fixed_corotated", "mpm: {light_nodes: 0.3}", false);
}

static void test_adjoint(void **state)
{
  (void)state;
  char  text[4096];
  world w;
  write_job(SAND, "", text, sizeof text);
  open_world(text, &w);
  double *x = random_numbers(w.n, 4, 1.0), *y = random_numbers(w.n, 5, 1.0), *Hx = numbers(w.n), *Hty = numbers(w.n);
  assert_ok(penalty_system_product(&w.p, x, Hx, false));
  assert_ok(penalty_system_product(&w.p, y, Hty, true));
  assert_close(team_dot(w.n, y, Hx), team_dot(w.n, x, Hty), 1.0e-13 * norm(w.n, y) * norm(w.n, Hx));
  memory_free(&x);
  memory_free(&y);
  memory_free(&Hx);
  memory_free(&Hty);
  close_world(&w);
}

/* The assembled matrix and the products that need none are the same map. */
static void check_matrix(const char *model, const char *extra)
{
  char  text[4096];
  world w;
  Mat   P = NULL;
  Vec   in, out;
  write_job(model, extra, text, sizeof text);
  open_world(text, &w);
  double *x = random_numbers(w.n, 8, 1.0), *y = numbers(w.n), *z = numbers(w.n);
  assert_ok(optim_register_all());
  for (int repeat = 0; repeat < 2; ++repeat) { /* the second time into the first one's matrix */
    Mat before = P;
    assert_ok(penalty_matrix_lay_out(&w.p, &P));
    assert_true(repeat == 0 || P == before);
    assert_ok(penalty_matrix_assemble(&w.p, P));
  }
  assert_ok(VecCreateSeqWithArray(PETSC_COMM_SELF, 3, (PetscInt)w.n, x, &in));
  assert_ok(VecCreateSeqWithArray(PETSC_COMM_SELF, 3, (PetscInt)w.n, z, &out));
  for (int is_transposed = 0; is_transposed < 2; ++is_transposed) {
    assert_ok(penalty_system_product(&w.p, x, y, is_transposed));
    assert_ok(is_transposed ? MatMultTranspose(P, in, out) : MatMult(P, in, out));
    for (int k = -1; k < w.s->n_systems; ++k) { /* all rows, then those of each system */
      const int64_t first = k < 0 ? 0 : 3 * w.s->systems[k]->first_block, n = k < 0 ? w.n : 3 * w.s->systems[k]->n_blocks;
      double        difference = 0.0;
      for (int64_t i = first; i < first + n; ++i) difference += (z[i] - y[i]) * (z[i] - y[i]);
      const double error = sqrt(difference) / norm(n, y + first);
      print_message("%s%s system %d: %.2e\n", model, is_transposed ? ", transposed," : ",", k, error);
      assert_close(error, 0.0, 1.0e-12);
    }
  }
  assert_ok(VecDestroy(&in));
  assert_ok(VecDestroy(&out));
  assert_ok(MatDestroy(&P));
  memory_free(&x);
  memory_free(&y);
  memory_free(&z);
  close_world(&w);
}
#define PERIODIC "walls: [{axis: y, side: lower, at: 0, kind: periodic}, {axis: y, side: upper, at: 0.4, kind: periodic}, {axis: z, side: lower, at: 0}]"
static void test_matrix_periodic(void **state) { (void)state, check_matrix(SAND, "mpm: {" PERIODIC "}"), check_matrix(SAND, "mpm: {kernel: cubic, " PERIODIC "}"); }
#define WALLS "walls: [{axis: x, side: upper, at: 0.5}, {axis: z, side: lower, at: 0, kind: stick}]"
static void test_matrix_elastic(void **state) { (void)state, check_matrix("fixed_corotated", ""); }
static void test_matrix_sand(void **state) { (void)state, check_matrix(SAND, ""); }
static void test_matrix_cubic(void **state) { (void)state, check_matrix(SAND, "mpm: {kernel: cubic}"); }
static void test_matrix_walls(void **state) { (void)state, check_matrix(SAND, "mpm: {" WALLS "}"), check_matrix(SAND, "mpm: {kernel: cubic, " WALLS "}"); }

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
  "  low:  {kind: fem, material: jelly, shape: {box: {min: [0, 0, 0], max: [0.4, 0.4, 0.2]}}, spacing: 0.1, damping: {mass: 1, stiffness: 1.0e-3},\n"
  "         hold: [{inside: {box: {min: [-1, -1, -1], max: [1, 1, 0]}}, axes: [x, z], motion: {velocity: [0.1, 0, 0.2]}}]}\n"
  "  high: {kind: fem, material: jelly, shape: {box: {min: [0.05, 0.05, 0.2015], max: [0.21, 0.23, 0.3]}, rotate_deg: 20, about: [0.1, 0.1, 0]}, spacing: 0.06}\n"
  "  sand: {kind: mpm, material: jelly, spacing: 0.1, shape: {box: {min: [0.05, 0.26, 0.18], max: [0.35, 0.36, 0.24]}}}\n"
  "  ball: {kind: rigid, material: steel, surface_spacing: 0.01, shape: {sphere: {center: [0.32, 0.12, 0.2495], radius: 0.05}}, angular_velocity: [1, -2, 3]}\n"
  "contact: {friction: 0.3, stiffness: 1.0e4, pairs: [{between: [low, low]}]}\n";

/* z so that v = v0 + noise, and what is not `low` also moves by shift. */
static void set_upper_velocity(world *w, const double shift[3], double noise, uint64_t stream)
{
  set_velocity(w, shift, noise, stream);
  const body *low = w->s->bodies[0].body;
  for (int64_t i = 0; i < low->n_blocks; ++i)
    for (int c = 0; c < 3; ++c) w->z[3 * (low->first_block + i) + c] -= shift[c];
}

static void open_mesh_world(world *w, contact_scheme scheme)
{
  step_verdict    verdict = {STEP_OK, NULL, -1};
  contact_summary summary;
  const double    down[3] = {0.0, 0.0, -1.5}, aside[3] = {0.35, 0.2, 1.4};
  memset(w, 0, sizeof *w);
  assert_ok(diagnostics_create(&w->d));
  assert_ok(job_read_text("job", mesh_job, 0, NULL, w->d, &w->j));
  if (w->j) assert_ok(scene_create(PETSC_COMM_SELF, w->j, w->d, &w->s));
  if (diagnostics_count(w->d)) fail_msg("%s", diagnostics_text(w->d, 0));
  assert_ok(penalty_system_create(w->s, &w->p));
  penalty_contact_set_scheme(w->p.contact, scheme);
  begin(w, 0.0);
  set_upper_velocity(w, down, 0.1, 1);
  evaluate(w, w->z, w->g, false);
  assert_ok(penalty_system_end(&w->p, w->z, &verdict, &summary));
  assert_int_equal(verdict.code, STEP_OK);
  begin(w, DT);
  set_upper_velocity(w, aside, 0.4, 2);
  evaluate(w, w->z, w->g, true);
}

/* Active pairs by kind of point, and how many of them slide. */
static void count_mesh_pairs(const world *w, int by_source[4], int *n_sliding)
{
  const mesh_contact *m = w->p.contact->mesh;
  *n_sliding = 0;
  for (int i = 0; i < 4; ++i) by_source[i] = 0;
  for (int64_t i = 0; i < mesh_contact_n_pairs(m); ++i) {
    mesh_pair_view q;
    mesh_contact_pair(m, i, &q);
    if (!q.is_active) continue;
    ++by_source[q.source_body];
    *n_sliding += q.is_sliding;
  }
}

static void check_slope_meshes(contact_scheme scheme)
{
  world w;
  int   pairs[4], n_sliding;
  open_mesh_world(&w, scheme);
  count_mesh_pairs(&w, pairs, &n_sliding);
  print_message("active: low %d, high %d, sand %d, ball %d; %d slide\n", pairs[0], pairs[1], pairs[2], pairs[3], n_sliding);
  assert_true(pairs[1] > 0 && pairs[2] > 3 && pairs[3] > 3 && n_sliding > 3);
  assert_true(w.p.n_prescribed > 20);
  for (int only = -1; only < w.s->n_systems; ++only) {
    const double error = slope_error(&w, 1.0e-5, only);
    print_message("system %d: %.2e\n", only, error);
    assert_close(error, 0.0, 1.0e-6);
  }
  double *x = random_numbers(w.n, 4, 1.0), *y = random_numbers(w.n, 5, 1.0), *Hx = numbers(w.n), *Hty = numbers(w.n), *d = numbers(3 * w.n);
  evaluate(&w, w.z, w.g, true);
  assert_ok(penalty_system_product(&w.p, x, Hx, false));
  assert_ok(penalty_system_product(&w.p, y, Hty, true));
  assert_close(team_dot(w.n, y, Hx), team_dot(w.n, x, Hty), 1.0e-13 * norm(w.n, y) * norm(w.n, Hx));
  /* diagonal blocks: columns of H one by one */
  assert_ok(penalty_system_block_diagonal(&w.p, d));
  const double scale = norm(w.n, Hx) / norm(w.n, x);
  for (int64_t i = 0; i < w.n; i += 5) {
    memset(x, 0, (size_t)w.n * sizeof *x);
    x[i] = 1.0;
    assert_ok(penalty_system_product(&w.p, x, Hx, false));
    for (int k = 0; k < 3; ++k) assert_close(d[9 * (i / 3) + 3 * k + i % 3], Hx[3 * (i / 3) + k], 1.0e-12 * scale);
  }
  memory_free(&x);
  memory_free(&y);
  memory_free(&Hx);
  memory_free(&Hty);
  memory_free(&d);
  close_world(&w);
}

/* Each evaluation counts, and the step's summary has them all. */
static void test_mesh_statistics(void **state)
{
  (void)state;
  world           w;
  step_verdict    verdict = {STEP_OK, NULL, -1};
  contact_summary summary;
  open_mesh_world(&w, CONTACT_IMPLICIT);
  const relax_statistics once = *mesh_contact_statistics(w.p.contact->mesh);
  assert_true(once.n > 0 && once.n_at_start > 0 && once.n_at_start < once.n && once.longest > 1);
  evaluate(&w, w.z, w.g, false);
  assert_int_equal(mesh_contact_statistics(w.p.contact->mesh)->n, 2 * once.n);
  assert_ok(penalty_system_end(&w.p, w.z, &verdict, &summary)); /* evaluates once more */
  assert_int_equal(verdict.code, STEP_OK);
  assert_int_equal(summary.relaxations.n, 3 * once.n);
  assert_int_equal(summary.relaxations.n_at_start, 3 * once.n_at_start);
  assert_int_equal(summary.relaxations.longest, once.longest);
  begin(&w, 2.0 * DT);
  assert_int_equal(mesh_contact_statistics(w.p.contact->mesh)->n, 0);
  close_world(&w);
}

static void test_slope_meshes(void **state)
{
  (void)state;
  for (int scheme = CONTACT_IMPLICIT; scheme <= CONTACT_LAGGED_CONTACT; ++scheme) check_slope_meshes((contact_scheme)scheme);
}

/* Contact alone changes neither momentum nor angular momentum: sums of g with and without it over what may move freely. */
static void test_mesh_momentum(void **state)
{
  (void)state;
  world  w;
  double sum[3] = {0.0}, moment[3] = {0.0}, size = 0.0;
  open_mesh_world(&w, CONTACT_IMPLICIT);
  const penalty_contact *c = w.p.contact;
  double                *g = numbers(w.n);
  step_verdict           verdict = {STEP_OK, NULL, -1};
  assert_ok(penalty_contact_residual(w.p.contact, w.p.v, w.p.frames, g, false, &verdict));
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
}

/* A ball that crosses a block's face within one step, from farther away than anything moves at first: its vertices are found where
 * they come in. One that leaves is not. */
static int pairs_of_ball(double z, double speed)
{
  static const char *const format =
    "stickslip: 1\nname: test\ngravity: [0, 0, 0]\ntime: {end: 0.1, step: 2.0e-3}\n"
    "solver: {newton: {acceleration_scale: 10}}\n"
    "materials: {jelly: {density: 1000, youngs_modulus: 1.0e5, poisson_ratio: 0.3, model: fixed_corotated}, steel: {model: rigid, density: 2000}}\n"
    "bodies:\n"
    "  block: {kind: fem, material: jelly, shape: {box: {min: [0, 0, 0], max: [0.4, 0.4, 0.2]}}, spacing: 0.1}\n"
    "  ball:  {kind: rigid, material: steel, shape: {sphere: {center: [0.21, 0.19, %g], radius: 0.05}}}\n"
    "contact: {friction: 0.3, stiffness: 1.0e4}\n";
  char   text[2048];
  world  w;
  int    n = 0;
  snprintf(text, sizeof text, format, z);
  memset(&w, 0, sizeof w);
  assert_ok(diagnostics_create(&w.d));
  assert_ok(job_read_text("job", text, 0, NULL, w.d, &w.j));
  if (w.j) assert_ok(scene_create(PETSC_COMM_SELF, w.j, w.d, &w.s));
  if (diagnostics_count(w.d)) fail_msg("%s", diagnostics_text(w.d, 0));
  assert_ok(penalty_system_create(w.s, &w.p));
  begin(&w, 0.0);
  w.n = 3 * w.p.n_blocks;
  w.z = numbers(w.n);
  w.g = numbers(w.n);
  w.z[3 * w.s->bodies[1].body->first_block + 2] = speed;
  evaluate(&w, w.z, w.g, true);
  const mesh_contact *m = w.p.contact->mesh;
  for (int64_t i = 0; i < mesh_contact_n_pairs(m); ++i) {
    mesh_pair_view q;
    mesh_contact_pair(m, i, &q);
    n += q.source_body == 1 && q.is_active;
  }
  close_world(&w);
  return n;
}

static void test_detects_fast_bodies(void **state)
{
  (void)state;
  assert_int_equal(pairs_of_ball(0.35, -40.0), 0);  /* 0.08 m: stays 0.02 m above */
  assert_true(pairs_of_ball(0.35, -55.0) > 3);      /* 0.01 m deep */
  assert_true(pairs_of_ball(0.35, -90.0) > 50);     /* altogether inside */
  assert_true(pairs_of_ball(0.249, 0.0) > 0);       /* inside from the start */
  assert_int_equal(pairs_of_ball(-0.06, -50.0), 0); /* below, going away */
}

/* g, H x, H^T x, and the matrix, one after the other. */
static double *everything(const char *text, int n_threads, int64_t *n)
{
  world w;
  team_set_threads(n_threads);
  open_world(text, &w);
  Mat         P = NULL;
  block3_view view;
  assert_ok(optim_register_all());
  assert_ok(penalty_matrix_lay_out(&w.p, &P));
  assert_ok(penalty_matrix_assemble(&w.p, P));
  assert_ok(mat_block3_get(P, &view));
  const int64_t n_values = 9 * view.row_start[view.n];
  double *all = numbers(3 * w.n + n_values), *x = random_numbers(w.n, 6, 1.0);
  memcpy(all + 3 * w.n, view.value, (size_t)n_values * sizeof *all);
  assert_ok(MatDestroy(&P));
  memcpy(all, w.g, (size_t)w.n * sizeof *all);
  assert_ok(penalty_system_product(&w.p, x, all + w.n, false));
  assert_ok(penalty_system_product(&w.p, x, all + 2 * w.n, true));
  memory_free(&x);
  *n = 3 * w.n + n_values;
  memory_free(&w.z);
  memory_free(&w.g);
  penalty_system_destroy(&w.p);
  scene_destroy(&w.s);
  job_destroy(&w.j);
  diagnostics_destroy(&w.d);
  return all;
}

static void test_threads(void **state)
{
  (void)state;
  char    text[4096];
  int64_t n, m;
  write_job(SAND, "", text, sizeof text);
  double *one = everything(text, 1, &n);
  for (int t = 2; t <= 3; ++t) {
    double *more = everything(text, t, &m);
    assert_int_equal(n, m);
    assert_memory_equal(one, more, (size_t)n * sizeof *one);
    memory_free(&more);
  }
  memory_free(&one);
  team_set_threads(0);
  assert_no_leak();
}

/* GMRES iterations of three steps in which a stiff bed settles under a ball. */
static int64_t iterations(const char *preconditioner, const char *refresh)
{
  char         text[4096];
  diagnostics *d;
  job         *j = NULL;
  scene       *s = NULL;
  formulation *f = NULL;
  int64_t      sum = 0;
  snprintf(text, sizeof text,
           "stickslip: 1\n"
           "name: test\n"
           "time: {end: 0.1, step: 1.0e-3}\n"
           "materials:\n"
           "  sand:  {density: 1600, youngs_modulus: 3.537e7, poisson_ratio: 0.3, model: " SAND "}\n"
           "  steel: {model: rigid, density: 7800}\n"
           "bodies:\n"
           "  bed:   {kind: mpm, material: sand, spacing: 0.02, particles_per_cell: 8, shape: {box: {min: [0, 0, 0], max: [0.12, 0.12, 0.08]}}}\n"
           "  ball:  {kind: rigid, material: steel, shape: {sphere: {center: [0.06, 0.06, 0.125], radius: 0.05}}, velocity: [0, 0, -1]}\n"
           "  tank:  {kind: static, shape: {container: {min: [0, 0, 0.001], max: [0.12, 0.12, 2]}}}\n"
           "contact: {friction: 0.3, stiffness: 1.0e4}\n"
           "solver: {linear: {preconditioner: %s, refresh: %s, max_iterations: 400, restart: 100}}\n",
           preconditioner, refresh);
  assert_ok(diagnostics_create(&d));
  assert_ok(job_read_text("job", text, 0, NULL, d, &j));
  if (j) assert_ok(scene_create(PETSC_COMM_SELF, j, d, &s));
  if (diagnostics_count(d)) fail_msg("%s", diagnostics_text(d, 0));
  assert_ok(penalty_formulation.create(s, &f));
  for (int step = 0; step < 3; ++step) {
    step_verdict verdict;
    step_report  report;
    assert_ok(f->ops->step(f, 1.0e-3 * step, 1.0e-3, &verdict, &report));
    assert_int_equal(verdict.code, STEP_OK);
    sum += report.linear_iterations;
  }
  f->ops->destroy(&f);
  scene_destroy(&s);
  job_destroy(&j);
  diagnostics_destroy(&d);
  assert_no_leak();
  return sum;
}

static void test_iterations(void **state)
{
  (void)state;
  const int64_t block = iterations("block_diagonal", "step"), step = iterations("metis_schwarz", "step"), newton = iterations("metis_schwarz", "newton");
  print_message("GMRES iterations: block_diagonal %d, metis_schwarz per step %d, per Newton iteration %d\n", (int)block, (int)step, (int)newton);
  assert_true(newton < block);
}

TEST_MAIN(cmocka_unit_test(test_slope_elastic), cmocka_unit_test(test_slope_sand), cmocka_unit_test(test_slope_walls), cmocka_unit_test(test_slope_light),
          cmocka_unit_test(test_adjoint), cmocka_unit_test(test_mesh_statistics), cmocka_unit_test(test_slope_meshes), cmocka_unit_test(test_mesh_momentum),
          cmocka_unit_test(test_detects_fast_bodies), cmocka_unit_test(test_matrix_elastic), cmocka_unit_test(test_matrix_sand),
          cmocka_unit_test(test_matrix_cubic), cmocka_unit_test(test_matrix_walls), cmocka_unit_test(test_matrix_periodic), cmocka_unit_test(test_threads), cmocka_unit_test(test_iterations))
