/* Velocities and impulses of contacts with given rows: closed form for two contacts, adjoint maps, the same bits on any number of threads. Rows of points,
 * triangles, segments, rigid bodies and walls against the velocities of these places. */
#include "contact/rows/contact_jacobian.h"
#include "core/math3.h"
#include "core/random.h"
#include "core/team.h"
#include "test.h"
#include "contact_bodies.h"
#include <string.h>

enum { N = 600, N_BLOCKS = 200 }; /* more contacts than a serial loop treats */

static int64_t start[N + 1];
static int32_t block[2 * N];
static double  value[18 * N], known[3 * N], u[3 * N], other[3 * N], r[3 * N], v[3 * N_BLOCKS], y[3 * N_BLOCKS];

static void fill(double *x, int64_t n, uint64_t stream)
{
  for (int64_t i = 0; i < n; ++i) x[i] = random_range(17, (uint64_t)i, stream, -1.0, 1.0);
}

/* One row with a block, one with two, and so on: u = sum E v + known. Impulses with every combination of components that are 0. */
static void test_velocity(void **state)
{
  (void)state;
  contact_jacobian j = {.n = N, .start = start, .block = block, .value = value, .known = known};
  fill(value, 18 * N, 1), fill(known, 3 * N, 2), fill(r, 3 * N, 3), fill(v, 3 * N_BLOCKS, 4);
  for (int64_t i = 0; i < N; ++i) {
    start[i + 1] = start[i] + 1 + i % 2;
    for (int64_t e = start[i]; e < start[i + 1]; ++e) block[e] = (int32_t)((7 * i + 50 * (e - start[i])) % N_BLOCKS);
  }
  for (int64_t i = 0; i < 3 * N; ++i)
    if (i / 3 % 8 >> i % 3 & 1) r[i] = 0.0;
  j.n_entries = start[N];
  for (int n_threads = 1; n_threads <= 7; n_threads += 3) {
    team_set_threads(n_threads);
    memset(u, 0, sizeof u);
    contact_jacobian_velocity(&j, v, u);
    if (n_threads == 1) memcpy(other, u, sizeof u);
    else assert_memory_equal(u, other, sizeof u);
  }
  double work = 0.0, back = 0.0;
  for (int64_t i = 0; i < N; ++i) {
    double sum[3], term[3];
    v3_copy(sum, known + 3 * i);
    for (int64_t e = start[i]; e < start[i + 1]; ++e) {
      m3_mulv(term, value + 9 * e, v + 3 * (int64_t)block[e]);
      v3_add(sum, sum, term);
    }
    for (int k = 0; k < 3; ++k) {
      assert_close(u[3 * i + k], sum[k], 1e-14);
      work += r[3 * i + k] * (u[3 * i + k] - known[3 * i + k]);
    }
  }
  fill(y, 3 * N_BLOCKS, 5);
  for (int64_t i = 0; i < 3 * N_BLOCKS; ++i) back -= v[i] * y[i];
  contact_jacobian_scatter(&j, 2.0, r, y); /* the transpose */
  for (int64_t i = 0; i < 3 * N_BLOCKS; ++i) back += v[i] * y[i];
  assert_close(back, 2.0 * work, 1e-11); /* sums of 1800 terms of size 1 */
  assert_no_leak();
}

/* ---- rows of bodies -------------------------------------------------------------------------------------------------- */

enum { CLOUD, BALL, WALL, SHEET, FIBRE, N_BODIES, N_POINTS = 20, N_NODES = 6, N_SPOTS = 300 };

typedef struct {
  body          base;
  body_surface  surface;
  body_segments segments;
} mesh_body;
static PetscErrorCode never_called(body *b, const double *w, double *g, bool with_tangent, step_status *status)
{
  (void)b, (void)w, (void)g, (void)with_tangent, (void)status;
  return PETSC_ERR_PLIB;
}
static void surface_of(const body *b, body_surface *out) { *out = ((const mesh_body *)b)->surface; }
static void segments_of(const body *b, body_segments *out) { *out = ((const mesh_body *)b)->segments; }

/* The bodies of a scene: blocks of the cloud from 3 on, the ball from 8 on, the sheet from 12 on, the fibre from 20 on; the wall has none. */
typedef struct {
  mock_body     cloud, ball, wall;
  mesh_body     sheet, fibre;
  body_ops      ops[N_BODIES];
  body         *list[N_BODIES];
  int32_t       frame[N_BODIES];
  rigid_frame   frames[2], end[2];
  contact_scene scene;
} world;

static const int32_t triangles[12] = {0, 1, 2, 2, 1, 3, 3, 4, 2, 5, 4, 3}, segments[10] = {0, 1, 1, 2, 2, 3, 3, 4, 4, 5};

static void world_create(world *w)
{
  uint64_t state = 9;
  double   J[9];
  memset(w, 0, sizeof *w);
  mock_create(&w->cloud, "cloud", false, N_POINTS, 3, 5);
  mock_random_rows(&w->cloud, &state);
  mock_create(&w->ball, "ball", true, 0, 0, 2);
  mock_create(&w->wall, "wall", true, 0, 0, 0);
  w->ops[CLOUD] = mock_weighted_ops, w->ops[BALL] = w->ops[WALL] = mock_rigid_ops;
  w->ops[SHEET] = (body_ops){.kind = "sheet", .surface = surface_of}, w->ops[FIBRE] = (body_ops){.kind = "fibre", .segments = segments_of};
  w->sheet.surface              = (body_surface){.n_nodes = N_NODES, .n_triangles = 4, .triangles = triangles};
  w->fibre.segments             = (body_segments){.n_nodes = N_NODES, .n_segments = 5, .segment = segments};
  body *const   list[N_BODIES]  = {&w->cloud.base, &w->ball.base, &w->wall.base, &w->sheet.base, &w->fibre.base};
  const int64_t first[N_BODIES] = {3, 8, 0, 12, 20}, n[N_BODIES] = {5, 2, 0, N_NODES, N_NODES};
  for (int i = 0; i < N_BODIES; ++i) {
    w->list[i] = list[i], w->frame[i] = -1;
    if (i != WALL) w->ops[i].residual = never_called;
    list[i]->ops = &w->ops[i], list[i]->first_block = first[i], list[i]->n_blocks = n[i];
  }
  w->frame[BALL] = 1, w->frame[WALL] = 0;
  w->frames[0] = mock_frame((const double[3]){0.5, -0.25, 1.0}, -1);
  w->frames[1] = mock_frame((const double[3]){-1.0, 0.5, 0.25}, 8);
  mock_exponential((const double[3]){0.3, -0.2, 0.5}, w->frames[0].R, J);
  memcpy(w->end, w->frames, sizeof w->end);
  v3_set(w->end[0].c, 0.6, -0.2, 0.9);
  mock_exponential((const double[3]){0.35, -0.1, 0.45}, w->end[0].R, J);
  w->scene = (contact_scene){.n_bodies = N_BODIES, .body = w->list, .frame = w->frame, .frames = w->frames, .end = w->end, .dt = 0.1};
}

static void world_destroy(world *w)
{
  mock_destroy(&w->cloud), mock_destroy(&w->ball), mock_destroy(&w->wall);
  assert_no_leak();
}

static body_contact_location location(int i_body, uint64_t *state)
{
  body_contact_location at = {.kind = i_body == CLOUD   ? FEATURE_POINT
                                      : i_body == SHEET ? FEATURE_TRIANGLE
                                      : i_body == FIBRE ? FEATURE_SEGMENT
                                                        : FEATURE_FRAME};
  mock_random_vector(state, at.x, 2.0);
  at.index = (int64_t)mock_random(state, 0.0, i_body == CLOUD ? N_POINTS : i_body == SHEET ? 4.0 : 5.0);
  if (i_body == SHEET) at.w[0] = mock_random(state, 0.0, 0.5), at.w[1] = mock_random(state, 0.0, 0.5), at.w[2] = 1.0 - at.w[0] - at.w[1];
  if (i_body == FIBRE) at.w[0] = mock_random(state, 0.0, 1.0);
  return at;
}

/* out += sign times the velocity of a location at the global velocity g. */
static void add_velocity(const world *w, int i_body, const body_contact_location *at, double sign, const double *g, double out[3])
{
  double t[3], arm[3];
  if (i_body == CLOUD)
    for (int k = 0; k < 3; ++k)
      v3_axpy(out, sign * w->cloud.weight[3 * at->index + k], g + 3 * (3 + (int64_t)w->cloud.block[3 * at->index + k]));
  if (i_body == SHEET)
    for (int k = 0; k < 3; ++k) v3_axpy(out, sign * at->w[k], g + 3 * (12 + (int64_t)triangles[3 * at->index + k]));
  if (i_body == FIBRE)
    for (int k = 0; k < 2; ++k) v3_axpy(out, sign * (k ? at->w[0] : 1.0 - at->w[0]), g + 3 * (20 + (int64_t)segments[2 * at->index + k]));
  if (i_body == BALL) {
    v3_sub(arm, at->x, w->frames[1].c);
    v3_cross(t, g + 3 * 9, arm);
    v3_axpy(out, sign, g + 3 * 8);
    v3_axpy(out, sign, t);
  }
  if (i_body == WALL) {
    double X[3], x[3];
    rigid_frame_to_local(&w->frames[0], at->x, X);
    rigid_frame_to_world(&w->end[0], X, x);
    v3_sub(t, x, at->x);
    v3_axpy(out, sign / 0.1, t);
  }
}

/* Contacts of all pairs of bodies, also of a body with itself: velocities in right-handed frames whose first axis is the normal; blocks ascend. */
static void test_build(void **state)
{
  (void)state;
  static contact_spot spots[N_SPOTS];
  static double       frames[9 * N_SPOTS], velocities[3 * N_SPOTS];
  world               w;
  uint64_t            random = 3;
  contact_jacobian    j      = {0};
  world_create(&w);
  for (int i = 0; i < N_SPOTS; ++i) {
    contact_spot *p = &spots[i];
    p->body_a = i % N_BODIES, p->body_b = i / N_BODIES % N_BODIES;
    p->a = location(p->body_a, &random), p->b = location(p->body_b, &random);
    mock_random_vector(&random, p->normal, 1.0);
    if (i % 7 == 0) v3_set(p->normal, i % 3 == 0, i % 3 == 1, i % 3 == 2);
    v3_scale(p->normal, 1.0 / v3_norm(p->normal), p->normal);
  }
  fill(v, 3 * N_BLOCKS, 6);
  for (int n_threads = 1; n_threads <= 3; ++n_threads) {
    team_set_threads(n_threads);
    assert_ok(contact_jacobian_build(&j, &w.scene, N_SPOTS, spots));
    assert_int_equal(j.n, N_SPOTS);
    contact_jacobian_velocity(&j, v, u);
    if (n_threads == 1) memcpy(frames, j.frame, sizeof frames), memcpy(velocities, u, sizeof velocities);
    assert_memory_equal(frames, j.frame, sizeof frames);
    assert_memory_equal(velocities, u, sizeof velocities);
  }
  team_set_threads(0);
  for (int i = 0; i < N_SPOTS; ++i) {
    const contact_spot *p      = &spots[i];
    const double       *E      = j.frame + 9 * i;
    double              sum[3] = {0}, one[3] = {0}, two[3], t[3];
    for (int k = 0; k < 3; ++k) assert_true(E[k] == p->normal[k]);
    for (int k = 0; k < 9; ++k) assert_close(v3_dot(E + 3 * (k / 3), E + 3 * (k % 3)), k % 4 == 0, 1e-15);
    v3_cross(t, E, E + 3);
    assert_close(v3_dot(t, E + 6), 1.0, 1e-15);
    add_velocity(&w, p->body_a, &p->a, 1.0, v, one);
    contact_spot_velocity(&w.scene, p->body_a, &p->a, v, two);
    for (int k = 0; k < 3; ++k) assert_close(one[k], two[k], 1e-13);
    v3_copy(sum, one);
    add_velocity(&w, p->body_b, &p->b, -1.0, v, sum);
    m3_mulv(t, E, sum);
    for (int k = 0; k < 3; ++k) assert_close(u[3 * i + k], t[k], 1e-13);
    for (int64_t e = j.start[i] + 1; e < j.start[i + 1]; ++e) assert_true(j.block[e] > j.block[e - 1]);
  }
  assert_int_equal(j.n_entries, j.start[N_SPOTS]);
  contact_jacobian_destroy(&j);
  world_destroy(&w);
}

TEST_MAIN(cmocka_unit_test(test_velocity), cmocka_unit_test(test_build))
