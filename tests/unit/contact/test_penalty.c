/* Penalty contact: the full derivative against differences of g in every combination of point, object and state; momenta; the
 * adjoint; threads; attachments as state. */
#include "test.h"
#include "contact/penalty/penalty_pairs.h"
#include "contact_bodies.h"
#include <float.h>
#include <omp.h>

enum { CLOUD, VERTICES, BALL, GROUND, N_BODIES };
enum { FRAME_VERTICES, FRAME_BALL, FRAME_GROUND, N_FRAMES };
static const double DT = 0.1, MARGIN = 0.6;

/* A cloud and a rigid body with vertices (the points), a ball that moves and a tilted ground with a bump that do not (the
 * objects). Points lie around one of the objects, some in, some out. */
typedef struct {
  mock_body        cloud, vertices, ball, ground;
  level_set       *phi[3];
  contact_source   sources[2];
  contact_object   objects[3];
  rigid_frame      frames0[N_FRAMES], frames[N_FRAMES];
  contact_law      law[N_BODIES * N_BODIES];
  int64_t          n_blocks;
  double          *v, *g, *x, *y;
  penalty_contact *contact;
} world;

static void near_surface(uint64_t *state, const level_set *s, const rigid_frame *f, double *x)
{
  double b[3], g[3];
  mock_random_vector(state, b, 0.9);
  const double phi  = level_set_eval(s, b, g, NULL);
  const double want = mock_random(state, -0.12, 0.06);
  v3_axpy(b, want - phi, g);
  m3_mulv(x, f->R, b);
  v3_axpy(x, 1.0, f->c);
}

/* `point` bodies only touch `object` bodies, unless -1. */
static void world_create_law(world *w, int64_t n_points, int n_weights, int point, int object, const contact_law *law, uint64_t seed)
{
  uint64_t      state          = seed;
  const int64_t n_cloud_blocks = n_weights == 1 ? n_points : 10;
  double        J[9], t[3];
  memset(w, 0, sizeof *w);
  mock_create(&w->cloud, "cloud", false, n_points, n_weights, n_cloud_blocks);
  mock_create(&w->vertices, "vertices", true, n_points, 0, 2);
  mock_create(&w->ball, "ball", true, 0, 0, 2);
  mock_create(&w->ground, "ground", true, 0, 0, 0);
  if (n_weights == 1)
    for (int64_t i = 0; i < n_points; ++i) w->cloud.block[i] = (int32_t)i, w->cloud.weight[i] = 1.0;
  else mock_random_rows(&w->cloud, &state);
  w->vertices.base.first_block = n_cloud_blocks;
  w->ball.base.first_block     = n_cloud_blocks + 2;
  w->n_blocks                  = n_cloud_blocks + 4;
  w->frames0[FRAME_VERTICES]   = mock_frame((double[3]){0.1, 0.4, 0.2}, n_cloud_blocks);
  w->frames0[FRAME_BALL]       = mock_frame((double[3]){-0.2, 0.1, 0.3}, n_cloud_blocks + 2);
  w->frames0[FRAME_GROUND]     = mock_frame((double[3]){0.3, 0.2, -0.1}, -1);
  for (int f = 0; f < N_FRAMES; ++f) {
    mock_random_vector(&state, t, 1.0);
    mock_exponential(t, w->frames0[f].R, J);
  }
  assert_ok(level_set_sphere((double[3]){0.15, -0.1, 0.05}, 0.8, &w->phi[0]));
  assert_ok(level_set_plane((double[3]){0.2, 0.1, 1.0}, -0.1, &w->phi[1]));
  assert_ok(level_set_sphere((double[3]){0.0, 0.1, -0.7}, 0.9, &w->phi[2]));
  w->sources[0] = (contact_source){&w->cloud.base, -1, CLOUD};
  w->sources[1] = (contact_source){&w->vertices.base, FRAME_VERTICES, VERTICES};
  w->objects[0] = (contact_object){w->phi[0], FRAME_BALL, BALL};
  w->objects[1] = (contact_object){w->phi[1], FRAME_GROUND, GROUND};
  w->objects[2] = (contact_object){w->phi[2], FRAME_GROUND, GROUND};
  for (int64_t i = 0; i < n_points; ++i) {
    const int to = object == BALL ? 0 : object == GROUND ? 1 + (int)(i % 2) : (int)(i % 3);
    near_surface(&state, w->phi[to], &w->frames0[w->objects[to].frame], w->cloud.x + 3 * i);
    near_surface(&state, w->phi[to], &w->frames0[w->objects[to].frame], w->vertices.x + 3 * i);
  }
  for (int a = 0; a < N_BODIES; ++a)
    for (int b = 0; b < N_BODIES; ++b)
      if ((point < 0 || a == point || b == point) && (object < 0 || a == object || b == object))
        w->law[N_BODIES * a + b] = *law, w->law[N_BODIES * a + b].stiffness = 900.0 + 40.0 * (a + b);
  assert_ok(penalty_contact_create(N_BODIES, NULL, w->law, &w->contact));
  assert_ok(memory_alloc("v", 3 * w->n_blocks, sizeof(double), &w->v));
  assert_ok(memory_alloc("g", 3 * w->n_blocks, sizeof(double), &w->g));
  assert_ok(memory_alloc("x", 3 * w->n_blocks, sizeof(double), &w->x));
  assert_ok(memory_alloc("y", 3 * w->n_blocks, sizeof(double), &w->y));
}

static void world_create(world *w, int64_t n_points, int n_weights, int point, int object, double mu, uint64_t seed)
{
  world_create_law(w, n_points, n_weights, point, object, &(contact_law){.friction = mu}, seed);
}

static void world_destroy(world *w)
{
  penalty_contact_destroy(&w->contact);
  mock_destroy(&w->cloud);
  mock_destroy(&w->vertices);
  mock_destroy(&w->ball);
  mock_destroy(&w->ground);
  for (int i = 0; i < 3; ++i) level_set_destroy(&w->phi[i]);
  memory_free(&w->v);
  memory_free(&w->g);
  memory_free(&w->x);
  memory_free(&w->y);
}

static void begin(world *w)
{
  assert_ok(penalty_contact_begin_step(w->contact, 2, w->sources, 3, w->objects, N_FRAMES, w->frames0, DT, MARGIN, w->n_blocks));
}
static void pose(world *w)
{
  for (int f = 0; f < N_FRAMES; ++f) mock_move_frame(&w->frames0[f], DT, w->v, &w->frames[f]);
}
static void residual(world *w, bool with_tangent, double *g)
{
  step_status status = {STEP_OK, NULL, -1};
  memset(g, 0, (size_t)w->n_blocks * 3 * sizeof *g);
  pose(w);
  assert_ok(penalty_contact_residual(w->contact, w->v, w->frames, g, with_tangent, &status));
  assert_int_equal(status.code, STEP_OK);
}
static void end(world *w, contact_summary *out)
{
  pose(w);
  assert_ok(penalty_contact_settle(w->contact, w->v, w->frames));
  assert_ok(penalty_contact_end_step(w->contact, w->v, w->frames, out));
}
static void random_velocity(world *w, uint64_t seed, double size)
{
  for (int64_t i = 0; i < 3 * w->n_blocks; ++i) w->v[i] = mock_random(&seed, -size, size);
}
/* One step at rest (attachments of all points inside), then the same points at a random velocity in an open step: some
 * attached, some new; after the motion they stick, slide, touch for the first time or are apart. */
static void world_settle(world *w, uint64_t seed)
{
  memset(w->v, 0, (size_t)w->n_blocks * 3 * sizeof(double));
  begin(w);
  end(w, NULL);
  begin(w);
  random_velocity(w, seed, 0.5);
}
static void count_states(const world *w, int count[4])
{
  for (int s = 0; s < 4; ++s) count[s] = 0;
  for (int64_t i = 0; i < w->contact->n; ++i) ++count[w->contact->state[i]];
}

/* Error of column j of H against a central difference, or -1 if a pair changes its state within the step. */
static double column_error(world *w, int64_t j, double step, const double *column)
{
  const double  v0 = w->v[j];
  const int64_t n = 3 * w->n_blocks, m = w->contact->n;
  double        worst = 0.0;
  uint8_t      *states;
  bool          is_smooth;
  assert_ok(memory_alloc("states", m, 1, &states));
  w->v[j] = v0 + step;
  residual(w, false, w->x);
  memcpy(states, w->contact->state, (size_t)m);
  w->v[j] = v0 - step;
  residual(w, false, w->y);
  is_smooth = memcmp(states, w->contact->state, (size_t)m) == 0;
  w->v[j]   = v0;
  for (int64_t i = 0; i < n; ++i) worst = fmax(worst, fabs((w->x[i] - w->y[i]) / (2.0 * step) - column[i]));
  memory_free(&states);
  return is_smooth ? worst : -1.0;
}

static void check_derivative(contact_scheme scheme, int point, int object, const contact_law *law, const int least[4])
{
  world   w;
  int     count[4] = {0}, n_smooth = 0, n_order = 0;
  double *column, *unit, scale = 0.0, coarse = 0.0, fine = 0.0;
  world_create_law(&w, 48, 5, point, object, law, 11);
  penalty_contact_set_scheme(w.contact, scheme);
  world_settle(&w, 5);
  const int64_t n        = 3 * w.n_blocks;
  int           n_damped = 0;
  assert_ok(memory_alloc("column", n, sizeof(double), &column));
  assert_ok(memory_alloc("unit", n, sizeof(double), &unit));
  residual(&w, true, w.g);
  count_states(&w, count);
  for (int s = 0; s < 4; ++s)
    if (count[s] < least[s]) fail_msg("point %d, object %d: only %d pairs in state %d", point, object, count[s], s);
  for (int64_t i = 0; i < w.contact->n; ++i)
    n_damped += w.contact->state[i] != RELAX_INACTIVE && w.contact->gain[i] != 1.0 && w.contact->gain[i] > 0.0;
  if (law->damping > 0.0 ? n_damped < 8 : n_damped > 0) fail_msg("%d pairs with damping %g follow their rate", n_damped, law->damping);
  for (int64_t j = 0; j < n; ++j) {
    memset(column, 0, (size_t)n * sizeof(double));
    unit[j] = 1.0;
    assert_ok(penalty_contact_tangent(w.contact, unit, column, false));
    unit[j] = 0.0;
    for (int64_t i = 0; i < n; ++i) scale = fmax(scale, fabs(column[i]));
    const double e  = column_error(&w, j, 1e-5, column);
    const double e1 = column_error(&w, j, 1e-3, column), e2 = column_error(&w, j, 5e-4, column);
    if (e >= 0.0) assert_close(e, 0.0, 1e-6 * fmax(scale, 1.0));
    n_smooth += e >= 0.0;
    if (e1 > 1e-8 && e2 >= 0.0) ++n_order, coarse += e1, fine += e2;
  }
  const bool is_constant = scheme == CONTACT_LAGGED_CONTACT && point == CLOUD && object == GROUND;
  if (is_constant) assert_true(scale == 0.0);
  else assert_true(scale > 1.0);
  assert_true(n_smooth > (int)(0.9 * (double)n));
  if (law->friction > 0.0 && scheme == CONTACT_IMPLICIT) { /* without friction g is all but linear, and the error is round-off */
    assert_true(n_order >= 3);
    assert_close(coarse / fine, 4.0, 0.2);
  }
  memory_free(&column);
  memory_free(&unit);
  world_destroy(&w);
}

static void derivative(void **unused)
{
  (void)unused;
  const int all[4] = {3, 0, 3, 3}, frictionless[4] = {3, 0, 0, 3};
  for (int point = CLOUD; point <= VERTICES; ++point)
    for (int object = BALL; object <= GROUND; ++object) {
      const contact_law round = {.friction = 0.9}, none = {0},
                        ellipse = {.friction = 0.9, .friction_across = 2.0, .direction = {0.3, -1.0, 0.2}};
      const contact_law damped  = {.friction = 0.9, .damping = 0.7};
      check_derivative(CONTACT_IMPLICIT, point, object, &round, all);
      check_derivative(CONTACT_IMPLICIT, point, object, &none, frictionless);
      check_derivative(CONTACT_IMPLICIT, point, object, &ellipse, all);
      check_derivative(CONTACT_IMPLICIT, point, object, &damped, all);
      check_derivative(CONTACT_LAGGED_FRICTION, point, object, &round, all);
      check_derivative(CONTACT_LAGGED_CONTACT, point, object, &round, all);
    }
  assert_no_leak();
}

/* One step of the same world in a scheme: g at a random velocity, or at rest. Without friction: mu 0. */
static double *lagged_residual(contact_scheme scheme, double mu, bool at_rest, int64_t *n)
{
  world   w;
  double *g;
  world_create(&w, 60, 3, CLOUD, GROUND, 0.9, 11);
  memset(w.v, 0, (size_t)w.n_blocks * 3 * sizeof(double));
  begin(&w);
  random_velocity(&w, 8, 0.6);
  end(&w, NULL); /* attachments that have slid */
  for (int i = 0; i < N_BODIES * N_BODIES; ++i) w.contact->law[i].friction = mu;
  penalty_contact_set_scheme(w.contact, scheme);
  begin(&w);
  random_velocity(&w, 5, at_rest ? 0.0 : 0.5);
  *n = 3 * w.n_blocks;
  assert_ok(memory_alloc("g", *n, sizeof(double), &g));
  residual(&w, false, g);
  world_destroy(&w);
  return g;
}

/* Against fixed objects, lagged contact is the implicit force of the point at rest. Lagged friction is the implicit force
 * without friction plus, for any velocity, the friction at rest. */
static void schemes_lag_their_forces(void **unused)
{
  (void)unused;
  int64_t n;
  double *rest = lagged_residual(CONTACT_IMPLICIT, 0.9, true, &n), *rest_normal = lagged_residual(CONTACT_IMPLICIT, 0.0, true, &n);
  double *normal = lagged_residual(CONTACT_IMPLICIT, 0.0, false, &n), *implicit = lagged_residual(CONTACT_IMPLICIT, 0.9, false, &n);
  double *contact  = lagged_residual(CONTACT_LAGGED_CONTACT, 0.9, false, &n),
         *friction = lagged_residual(CONTACT_LAGGED_FRICTION, 0.9, false, &n);
  double size = 0.0, frictional = 0.0, moved = 0.0;
  for (int64_t i = 0; i < n; ++i) {
    size       = fmax(size, fabs(rest[i]));
    frictional = fmax(frictional, fabs(rest[i] - rest_normal[i]));
    moved      = fmax(moved, fabs(implicit[i] - friction[i]));
  }
  assert_true(size > 1.0 && frictional > 1e-3 * size && moved > 1e-2 * size);
  for (int64_t i = 0; i < n; ++i) {
    assert_close(contact[i], rest[i], 64.0 * DBL_EPSILON * size);
    assert_close(friction[i], normal[i] + rest[i] - rest_normal[i], 64.0 * DBL_EPSILON * size);
  }
  double *all[] = {rest, rest_normal, normal, implicit, contact, friction};
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i) memory_free(&all[i]);
  assert_no_leak();
}

/* The gain of the points equals the loss of the object: linear and about the origin. 16 eps of the sum of exchanged momenta. */
static void momentum(void **unused)
{
  (void)unused;
  for (int point = CLOUD; point <= VERTICES; ++point) {
    world w;
    int   count[4];
    world_create_law(&w, 60, 1, point, BALL, &(contact_law){.friction = 0.5, .damping = point == VERTICES ? 0.7 : 0.0}, 21);
    world_settle(&w, 3);
    residual(&w, false, w.g);
    count_states(&w, count);
    assert_true(count[RELAX_INACTIVE] > 0 && count[RELAX_STICK] > 0 && count[RELAX_SLIDE] > 0);
    double total[3] = {0.0}, moment[3] = {0.0}, size = 0.0;
    for (int64_t b = 0; b < w.n_blocks; ++b) {
      const double *g = w.g + 3 * b;
      double        Z[3], t[3];
      const bool    is_angular = b == w.vertices.base.first_block + 1 || b == w.ball.base.first_block + 1;
      size += v3_norm(g);
      if (is_angular) {
        v3_add(moment, moment, g);
        continue;
      }
      if (b < w.cloud.base.n_blocks) {
        v3_copy(Z, w.cloud.x + 3 * b);
        v3_axpy(Z, DT, w.v + 3 * b);
      } else v3_copy(Z, w.frames[b == w.ball.base.first_block ? FRAME_BALL : FRAME_VERTICES].c);
      v3_cross(t, Z, g);
      v3_add(moment, moment, t);
      v3_add(total, total, g);
    }
    for (int i = 0; i < 3; ++i) {
      assert_close(total[i], 0.0, 16.0 * DBL_EPSILON * size);
      assert_close(moment[i], 0.0, 16.0 * DBL_EPSILON * size);
    }
    /* The same through the sums per pair of bodies. */
    double          f[3], m[3], f2[3], m2[3], arm[3];
    contact_summary summary;
    end(&w, &summary);
    assert_int_equal(summary.contacts, count[1] + count[2] + count[3]);
    assert_int_equal(summary.sliding, count[3]);
    contact_force(w.contact, BALL, point, f, m);
    contact_force(w.contact, point, -1, f2, m2);
    v3_cross(arm, w.frames[FRAME_BALL].c, f);
    for (int i = 0; i < 3; ++i) {
      assert_close(f[i], -w.g[3 * w.ball.base.first_block + i] / DT, 1e-13 * size / DT);
      assert_close(m[i] - arm[i], -w.g[3 * w.ball.base.first_block + 3 + i] / DT, 1e-13 * size / DT);
      assert_true(f[i] == -f2[i] && m[i] == -m2[i]);
    }
    contact_force(w.contact, BALL, GROUND, f, m);
    assert_true(v3_norm(f) == 0.0 && v3_norm(m) == 0.0);
    world_destroy(&w);
  }
  assert_no_leak();
}

/* y.(H x) = x.(H^T y); evaluations without derivatives leave the last derivative alone; diagonal blocks are H's. */
static void products(void **unused)
{
  (void)unused;
  world    w;
  uint64_t state = 77;
  double  *Hx, *Hy, *d, forward = 0.0, backward = 0.0, size = 0.0;
  world_create(&w, 300, 6, -1, -1, 0.4, 5);
  world_settle(&w, 9);
  const int64_t n = 3 * w.n_blocks;
  assert_ok(memory_alloc("Hx", n, sizeof(double), &Hx));
  assert_ok(memory_alloc("Hy", n, sizeof(double), &Hy));
  assert_ok(memory_alloc("d", 3 * n, sizeof(double), &d));
  residual(&w, true, w.g);
  random_velocity(&w, 1234, 2.0);
  residual(&w, false, w.g);
  for (int64_t i = 0; i < n; ++i) w.x[i] = mock_random(&state, -1.0, 1.0), w.y[i] = mock_random(&state, -1.0, 1.0);
  assert_ok(penalty_contact_tangent(w.contact, w.x, Hx, false));
  assert_ok(penalty_contact_tangent(w.contact, w.y, Hy, true));
  for (int64_t i = 0; i < n; ++i) {
    forward += w.y[i] * Hx[i];
    backward += w.x[i] * Hy[i];
    size += fabs(w.y[i] * Hx[i]) + fabs(w.x[i] * Hy[i]);
  }
  assert_close(forward, backward, 64.0 * DBL_EPSILON * size);
  random_velocity(&w, 9, 0.5);
  residual(&w, true, w.g); /* back to where Hx was taken: same bits */
  memset(w.y, 0, (size_t)n * sizeof(double));
  assert_ok(penalty_contact_tangent(w.contact, w.x, w.y, false));
  assert_memory_equal(w.y, Hx, (size_t)n * sizeof(double));

  assert_ok(penalty_contact_block_diagonal(w.contact, d));
  for (int64_t j = 0; j < n; ++j) {
    memset(w.x, 0, (size_t)n * sizeof(double));
    memset(w.y, 0, (size_t)n * sizeof(double));
    w.x[j] = 1.0;
    assert_ok(penalty_contact_tangent(w.contact, w.x, w.y, false));
    for (int64_t i = 3 * (j / 3); i < 3 * (j / 3) + 3; ++i)
      assert_close(d[9 * (j / 3) + 3 * (i % 3) + j % 3], w.y[i], 1e-12 * fmax(1.0, fabs(w.y[i])) * 100.0);
  }
  memory_free(&Hx);
  memory_free(&Hy);
  memory_free(&d);
  world_destroy(&w);
  assert_no_leak();
}

/* Everything that leaves contact, in one array of bits. */
static double *run_with_threads(int n_threads, int64_t *n_out)
{
  world w;
  omp_set_num_threads(n_threads);
  world_create(&w, 3000, 8, -1, -1, 0.4, 8);
  world_settle(&w, 4);
  const int64_t n = 3 * w.n_blocks;
  double       *out;
  *n_out = 6 * n + 6 + 4 * w.contact->n;
  assert_ok(memory_alloc("out", *n_out, sizeof(double), &out));
  residual(&w, true, out);
  assert_ok(penalty_contact_tangent(w.contact, w.v, out + n, false));
  assert_ok(penalty_contact_tangent(w.contact, w.v, out + 2 * n, true));
  assert_ok(penalty_contact_block_diagonal(w.contact, out + 3 * n));
  contact_summary s;
  const int64_t   m = w.contact->n;
  end(&w, &s);
  assert_true(s.contacts > 1000 && s.sliding > 300);
  const double sums[6] = {(double)s.contacts, (double)s.sliding,      s.contact_depth,
                          s.cone_violation,   s.friction_angle_error, s.slip_angle_error};
  memcpy(out + 6 * n, sums, sizeof sums);
  for (int64_t i = 0; i < pair_table_size(w.contact->known); ++i) {
    memcpy(out + 6 * n + 6 + 4 * i, pair_table_attachment(w.contact->known, i), 3 * sizeof(double));
    out[6 * n + 9 + 4 * i] = (double)pair_table_key(w.contact->known, i).point;
  }
  SS_ASSERT(pair_table_size(w.contact->known) <= m);
  (void)m;
  world_destroy(&w);
  return out;
}

static void threads_do_not_matter(void **unused)
{
  (void)unused;
  const int before = omp_get_max_threads();
  int64_t   n, n2;
  double   *one = run_with_threads(1, &n);
  for (int t = 2; t <= 3; ++t) {
    double *many = run_with_threads(t, &n2);
    assert_int_equal(n, n2);
    assert_memory_equal(one, many, (size_t)n * sizeof(double));
    memory_free(&many);
  }
  memory_free(&one);
  omp_set_num_threads(before);
  assert_no_leak();
}

static void non_finite_values_are_reported(void **unused)
{
  (void)unused;
  world w;
  world_create(&w, 40, 1, CLOUD, BALL, 0.4, 8);
  world_settle(&w, 4);
  step_status status = {STEP_OK, NULL, -1};
  w.v[3 * 17] = w.v[3 * 29 + 1] = NAN;
  pose(&w);
  assert_ok(penalty_contact_residual(w.contact, w.v, w.frames, w.g, true, &status));
  assert_int_equal(status.code, STEP_NOT_FINITE);
  assert_string_equal(status.body, "cloud");
  assert_int_equal(status.where, 17); /* identities are descending: 29 comes first in the list of pairs */
  world_destroy(&w);
  assert_no_leak();
}

static void *field_data(const field_group *g, const char *name) { return *field_group_find(g, name)->component[0]; }

/* The checkpoint of `source` into `target`, but for `left_out`. */
static void copy_attachments(field_table *source, field_table *target, const char *left_out)
{
  static const char *const names[] = {"source", "object", "point", "attachment", "speed"};
  field_group *from = field_table_find_group(source, "contact/attachments"), *to = field_table_find_group(target, "contact/attachments");
  assert_true(*from->n_rows > 100);
  assert_ok(to->resize(to->context, *from->n_rows));
  for (int k = 0; k < 5; ++k) {
    const field *f = field_group_find(from, names[k]);
    assert_true(f->flags & FIELD_CHECKPOINT);
    if (left_out && strcmp(left_out, names[k]) == 0) continue;
    memcpy(field_data(to, names[k]), field_data(from, names[k]),
           (size_t)*from->n_rows * (size_t)f->n_components * field_type_size(f->type));
  }
  assert_ok(to->restored(to->context));
}

static void world_create_pair(world w[2], field_table *t[2], double damping)
{
  for (int i = 0; i < 2; ++i) {
    world_create_law(&w[i], 200, 4, -1, -1, &(contact_law){.friction = 0.4, .damping = damping}, 8);
    penalty_contact_set_acceleration(w[i].contact, 1.0);
    assert_ok(field_table_create(&t[i]));
    assert_ok(penalty_contact_fields(w[i].contact, t[i]));
  }
  world_settle(&w[0], 6);
  end(&w[0], NULL); /* slid away from the closest points */
}

/* The approach speed of pairs is in the checkpoint: without it the next forces differ. */
static void speeds_are_state(void **unused)
{
  (void)unused;
  world        w[2];
  field_table *t[2];
  for (int has_speed = 0; has_speed < 2; ++has_speed) {
    world_create_pair(w, t, 0.7);
    copy_attachments(t[0], t[1], has_speed ? NULL : "speed");
    for (int i = 0; i < 2; ++i) {
      begin(&w[i]);
      random_velocity(&w[i], 31, 0.5);
      residual(&w[i], false, w[i].g);
    }
    const bool is_same = memcmp(w[0].g, w[1].g, (size_t)w[0].n_blocks * 3 * sizeof(double)) == 0;
    assert_int_equal(is_same, has_speed);
    for (int i = 0; i < 2; ++i) field_table_destroy(&t[i]), world_destroy(&w[i]);
  }
  assert_no_leak();
}

/* A run restored from its attachments continues with the same bits; damaged attachments are rejected. */
static void restored_attachments_continue_bit_for_bit(void **unused)
{
  (void)unused;
  world        w[2];
  field_table *t[2];
  world_create_pair(w, t, 0.0);
  copy_attachments(t[0], t[1], NULL);
  world       *a = &w[0], *b = &w[1];
  field_group *to = field_table_find_group(t[1], "contact/attachments");
  begin(a);
  begin(b);
  random_velocity(a, 31, 0.5);
  random_velocity(b, 31, 0.5);
  residual(a, false, a->g);
  residual(b, false, b->g);
  assert_memory_equal(a->g, b->g, (size_t)a->n_blocks * 3 * sizeof(double));

  double  *X = field_data(to, "attachment"), keep = X[4];
  int64_t *point = field_data(to, "point"), id = point[1];
  int32_t *source = field_data(to, "source"), body_id = source[3];
  X[4] = INFINITY;
  assert_int_not_equal(to->restored(to->context), 0);
  error_clear();
  X[4] = keep, point[1] = point[0];
  assert_int_not_equal(to->restored(to->context), 0);
  error_clear();
  point[1] = id, source[3] = N_BODIES;
  assert_int_not_equal(to->restored(to->context), 0);
  error_clear();
  source[3] = body_id;
  assert_ok(to->restored(to->context));

  contact_summary s;
  end(a, &s);
  const field_group *points = field_table_find_group(t[0], "contact/points");
  assert_int_equal(*points->n_rows, s.contacts);
  const double *gap = field_data(points, "gap"), *force = field_data(points, "force"), *normal = field_data(points, "normal");
  double        deepest = 0.0;
  for (int64_t i = 0; i < *points->n_rows; ++i) {
    deepest = fmax(deepest, -gap[i]);
    assert_close(v3_norm(normal + 3 * i), 1.0, 1e-14);
    assert_true(v3_dot(force + 3 * i, normal + 3 * i) > 0.0);
  }
  assert_true(deepest == s.contact_depth && deepest > 0.0);
  field_table_destroy(&t[0]);
  field_table_destroy(&t[1]);
  world_destroy(a);
  world_destroy(b);
  assert_no_leak();
}

/* A rejected step changes no stored state; separated pairs are removed. */
static void rejected_steps_change_no_attachment(void **unused)
{
  (void)unused;
  world w;
  world_create(&w, 100, 4, -1, -1, 0.4, 8);
  world_settle(&w, 6);
  const int64_t known = pair_table_size(w.contact->known);
  assert_true(known > 20);
  residual(&w, true, w.g);
  begin(&w);
  residual(&w, true, w.x);
  assert_memory_equal(w.g, w.x, (size_t)w.n_blocks * 3 * sizeof(double));
  assert_int_equal(pair_table_size(w.contact->known), known);
  for (int64_t i = 0; i < 200; ++i) { /* lift everything off */
    double *x = (i < 100 ? w.cloud.x : w.vertices.x) + 3 * (i % 100);
    v3_set(x, 40.0, 40.0, 90.0);
  }
  memset(w.v, 0, (size_t)w.n_blocks * 3 * sizeof(double));
  begin(&w);
  assert_int_equal(w.contact->n, known); /* still a candidate, though far away */
  contact_summary s;
  end(&w, &s);
  assert_int_equal(s.contacts, 0);
  assert_int_equal(pair_table_size(w.contact->known), 0);
  world_destroy(&w);
  assert_no_leak();
}

/* Points outside the objects get attachments at their points of entry in the step in which they enter: friction acts at once, on the cone if they slide. */
static void friction_acts_in_the_step_of_entry(void **unused)
{
  (void)unused;
  for (int point = CLOUD; point <= VERTICES; ++point) {
    world  w;
    int    n_entered = 0;
    double sum       = 0.0;
    world_create(&w, 60, 1, point, GROUND, 0.4, 11);
    begin(&w);
    random_velocity(&w, 8, 0.6);
    residual(&w, true, w.g);
    for (int64_t i = 0; i < w.contact->n; ++i) {
      double n[3], f_b[3], Z_b[3], f_t[3];
      if (w.contact->start[i] != START_OUTSIDE || w.contact->state[i] == RELAX_INACTIVE) continue;
      assert_int_not_equal(w.contact->state[i], RELAX_FIRST);
      const rigid_frame *o = &w.frames[w.contact->sides.object[i]];
      rigid_frame_to_local(o, w.contact->Z + 3 * i, Z_b);
      level_set_eval(w.contact->objects[w.contact->candidate[i].i_object].phi, Z_b, n, NULL);
      m3_mulv_t(f_b, o->R, w.contact->f + 3 * i);
      const double f_n = v3_dot(f_b, n);
      v3_copy(f_t, f_b);
      v3_axpy(f_t, -f_n, n);
      if (w.contact->state[i] == RELAX_SLIDE) assert_close(v3_norm(f_t) / f_n, 0.4, 0.02 /* curvature times sliding distance */);
      sum += v3_norm(f_t) / f_n;
      ++n_entered;
    }
    assert_true(n_entered > 1 && sum > 0.2 * n_entered);
    world_destroy(&w);
  }
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(derivative), cmocka_unit_test(schemes_lag_their_forces), cmocka_unit_test(momentum), cmocka_unit_test(products),
          cmocka_unit_test(threads_do_not_matter), cmocka_unit_test(non_finite_values_are_reported), cmocka_unit_test(speeds_are_state),
          cmocka_unit_test(restored_attachments_continue_bit_for_bit), cmocka_unit_test(rejected_steps_change_no_attachment),
          cmocka_unit_test(friction_acts_in_the_step_of_entry))
