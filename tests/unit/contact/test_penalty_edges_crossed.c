/* Contacts of single pairs of edges, whose forces and depths are known: roofs of two triangles whose ridges cross. Edges that have crossed
 * without a collision; overlap at the start of a run; rigid bodies without unknowns; the two edges in one surface. */
#include "test.h"
#include "contact_bodies.h"
#include "contact/penalty/penalty_edges.h"
#include "contact/penalty/penalty_mesh.h"
#include "contact/penalty/penalty_pairs.h"
#include "core/field_table.h"
#include <string.h>

static const double DT = 1e-3, STIFFNESS = 300.0, HALF = 0.6; /* HALF: half the length of upper ridges; lower ones have length 2 */
enum { PLACES = 4, ROOF = 4, MOST_BODIES = 3 };

/* A body of roofs, one at each of some places 10 m apart along x. Lower roofs: ridge along x at z = 0. Upper roofs: upside down, ridge along y
 * at z = gap, moved by (0.2, 0.1). The scene is rotated by R. */
typedef struct {
  mock_body    points; /* first: a pointer to one is a pointer to the other */
  body_ops     ops;
  body_surface surface;
  int32_t      triangle[2 * PLACES * 2 * 3];
  int          n_roofs;
} roofs;

static double R[9];

static void roofs_surface(const body *b, body_surface *out) { *out = ((const roofs *)b)->surface; }

static void place_node(roofs *r, int64_t i, double x, double y, double z) { m3_mulv(r->points.x + 3 * i, R, (const double[3]){x, y, z}); }

static void create(roofs *r, const char *name, int n_roofs, int64_t first_block)
{
  memset(r, 0, sizeof *r);
  mock_create(&r->points, name, false, (int64_t)ROOF * n_roofs, 1, (int64_t)ROOF * n_roofs);
  r->points.base.first_block = first_block;
  r->ops                     = *r->points.base.ops;
  r->ops.surface             = roofs_surface;
  r->points.base.ops         = &r->ops;
  r->n_roofs                 = n_roofs;
  for (int i = 0; i < ROOF * n_roofs; ++i) r->points.id[i] = i, r->points.block[i] = i, r->points.weight[i] = 1.0;
  for (int k = 0; k < n_roofs; ++k) {
    const int32_t first = ROOF * k, roof[6] = {first, first + 1, first + 2, first + 1, first, first + 3};
    memcpy(r->triangle + 6 * k, roof, sizeof roof);
  }
  r->surface = (body_surface){.n_nodes = (int64_t)ROOF * n_roofs, .n_triangles = 2 * n_roofs, .triangles = r->triangle, .x = r->points.x};
}

static void put_lower(roofs *r, int roof, int place)
{
  const double x[ROOF][3] = {{-1, 0, 0}, {1, 0, 0}, {0, 1, -1}, {0, -1, -1}};
  for (int i = 0; i < ROOF; ++i) place_node(r, ROOF * roof + i, 10.0 * place + x[i][0], x[i][1], x[i][2]);
}
/* is_spike: one end of the ridge is its lowest point. */
static void put_upper(roofs *r, int roof, int place, double gap, bool is_spike)
{
  const double x[ROOF][3] = {{0, is_spike ? -0.3 : -HALF, 0}, {0, HALF, is_spike}, {1, 0, 1}, {-1, 0, 1}};
  for (int i = 0; i < ROOF; ++i) place_node(r, ROOF * roof + i, 10.0 * place + x[i][0] + 0.2, x[i][1] + 0.1, x[i][2] + gap);
}

typedef struct {
  int              n_bodies;
  roofs            body[MOST_BODIES];
  contact_law      law[MOST_BODIES * MOST_BODIES];
  contact_rests    rests;
  int32_t          rest_pair[2 * MOST_BODIES * MOST_BODIES];
  double           rest_depth[MOST_BODIES * MOST_BODIES], rest_reduction[MOST_BODIES * MOST_BODIES];
  contact_source   sources[MOST_BODIES];
  contact_mesh     meshes[MOST_BODIES];
  bool             is_fixed; /* body 0 is rigid and without unknowns, in frame 0 */
  int              n_frames;
  rigid_frame      frames[1];
  penalty_contact *contact;
  int64_t          n; /* numbers */
  double           v[3 * MOST_BODIES * PLACES * ROOF], g[3 * MOST_BODIES * PLACES * ROOF];
} world;

static void start(world *w, double mu, double rest_overlap)
{
  for (int b = 0; b < w->n_bodies; ++b) {
    const int frame = w->is_fixed && b == 0 ? 0 : -1;
    w->sources[b]   = (contact_source){&w->body[b].points.base, frame, b};
    w->meshes[b]    = (contact_mesh){&w->body[b].points.base, frame, b};
    for (int q = 0; q < w->n_bodies; ++q)
      w->law[b * w->n_bodies + q] =
          b == q && w->n_bodies > 1 ? (contact_law){.friction = mu} : (contact_law){.stiffness = STIFFNESS, .friction = mu};
  }
  w->rests = (contact_rests){0, w->rest_pair, w->rest_depth, w->rest_reduction};
  for (int32_t b = 0; b < w->n_bodies; ++b)
    for (int32_t q = w->n_bodies > 1 ? b + 1 : b; q < w->n_bodies; ++q, ++w->rests.n) {
      w->rest_pair[2 * w->rests.n]     = b;
      w->rest_pair[2 * w->rests.n + 1] = q;
      w->rest_depth[w->rests.n]        = rest_overlap;
    }
  assert_ok(penalty_contact_create(w->n_bodies, NULL, w->law, &w->contact));
  assert_ok(penalty_contact_add_meshes(w->contact, w->n_bodies, w->meshes));
  assert_ok(penalty_contact_add_edges(w->contact));
  penalty_contact_set_rests(w->contact, &w->rests);
}
static void destroy(world *w)
{
  penalty_contact_destroy(&w->contact);
  for (int b = 0; b < w->n_bodies; ++b) mock_destroy(&w->body[b].points);
}
static double margin = 0.7;
static void   begin(world *w)
{
  assert_ok(penalty_contact_begin_step(w->contact, w->n_bodies, w->sources, 0, NULL, w->n_frames, w->frames, DT, margin, w->n / 3));
}
static void residual(world *w)
{
  step_status status = {STEP_OK, NULL, -1};
  memset(w->g, 0, sizeof w->g);
  assert_ok(penalty_contact_residual(w->contact, w->v, w->frames, w->g, false, &status));
  assert_int_equal(status.code, STEP_OK);
}
/* Velocity of a roof so that it moves by d, before the rotation of the scene. */
static void move(world *w, int b, int roof, double dx, double dy, double dz)
{
  for (int i = 0; i < ROOF; ++i) {
    double *v = w->v + 3 * (w->body[b].points.base.first_block + ROOF * roof + i);
    m3_mulv(v, R, (const double[3]){dx / DT, dy / DT, dz / DT});
  }
}
static contact_summary summary; /* of the last step */
static void            end(world *w)
{
  residual(w);
  assert_ok(penalty_contact_settle(w->contact, w->v, w->frames));
  assert_ok(penalty_contact_end_step(w->contact, w->v, w->frames, &summary));
  for (int b = 0; b < w->n_bodies; ++b)
    for (int64_t i = 0; i < w->body[b].points.n; ++i)
      v3_axpy(w->body[b].points.x + 3 * i, DT, w->v + 3 * (w->body[b].points.base.first_block + i));
  memset(w->v, 0, sizeof w->v);
}
static const mesh_edges *edges_of(const world *w) { return w->contact->mesh->edges; }

/* Force on an edge node by the scene's axes. */
static void check_node(const world *w, int64_t block, const double share, const double force[3])
{
  double expected[3];
  m3_mulv(expected, R, force);
  for (int k = 0; k < 3; ++k) assert_close(w->g[3 * block + k], -DT * share * expected[k], 1e-12 * STIFFNESS * DT);
}

/* The only force is `force` on the upper roof, at its position t along the ridge and s along the lower one. */
static void check_forces(const world *w, int64_t lower, int64_t upper, double s, double t, const double force[3])
{
  const double none[3] = {0.0, 0.0, 0.0};
  check_node(w, lower, s - 1.0, force), check_node(w, lower + 1, -s, force);
  check_node(w, upper, 1.0 - t, force), check_node(w, upper + 1, t, force);
  for (int i = 2; i < ROOF; ++i) check_node(w, lower + i, 1.0, none), check_node(w, upper + i, 1.0, none);
}

static void rotate(int k)
{
  const double turns[4][3] = {{0, 0, 0}, {0.3, -0.8, 0.5}, {1.3, 1.2, -0.4}, {-0.9, 0.2, 2.0}};
  double       Jl[9];
  mock_exponential(turns[k], R, Jl);
}

/* ---- depth limit of crossed edges --------------------------------------------------------------------------------------------- */

enum { EDGES, EDGES_ASIDE, POINT, N_SPRINGS };

/* Springs at places 0 and 1 between bodies 0 and 1, a longer one at place 3 between bodies 0 and 2. Then the upper roof at place 2 is put to a
 * depth of `factor` times the longest spring of bodies 0 and 1. Number of pairs of edges with it. */
static int pairs_at_depth(const int kind[2], const double length[2], bool is_swapped, double factor)
{
  world     w     = {.n_bodies = MOST_BODIES};
  const int lower = is_swapped ? 1 : 0, upper = 1 - lower;
  double    longest = 0.0;
  create(&w.body[lower], "lower", PLACES, 0);
  create(&w.body[upper], "upper", PLACES - 1, (int64_t)ROOF * PLACES);
  create(&w.body[2], "third", 1, (int64_t)ROOF * (2 * PLACES - 1));
  w.n = (int64_t)3 * ROOF * (2 * PLACES);
  for (int k = 0; k < PLACES; ++k) put_lower(&w.body[lower], k, k);
  put_upper(&w.body[upper], 2, 2, 5.0, false);
  put_upper(&w.body[2], 0, 3, 0.05, false);
  for (int k = 0; k < 2; ++k) {
    if (kind[k] == POINT) { /* a flat roof */
      place_node(&w.body[lower], (int64_t)ROOF * k + 2, 10.0 * k, 1.0, 0.0);
      place_node(&w.body[lower], (int64_t)ROOF * k + 3, 10.0 * k, -1.0, 0.0);
    }
    put_upper(&w.body[upper], k, k, 0.05, kind[k] == POINT);
  }
  start(&w, 10.0, 0.0);
  begin(&w);
  for (int k = 0; k < 2; ++k) {
    const double aside = kind[k] == EDGES_ASIDE ? 0.07 : 0.0, down = 0.05 + length[k], entry = 0.05 / down;
    move(&w, upper, k, aside, -2.0 * aside, -down);
    longest = fmax(longest, hypot(length[k], (1.0 - entry) * aside * sqrt(5.0)));
  }
  move(&w, 2, 0, 0.0, 0.0, -0.05 - 0.3);
  end(&w);
  put_upper(&w.body[upper], 2, 2, -factor * longest, false);
  begin(&w);
  int n = 0;
  for (int64_t i = 0; i < edges_of(&w)->n; ++i) {
    const edge_contact *p = &edges_of(&w)->pair[i];
    n += p->star[upper].node[0] >= ROOF * 2 && w.contact->mesh->mesh[p->name.mesh[1]].body_id != 2;
  }
  assert_int_equal(edges_of(&w)->n - n, 1 + (kind[0] != POINT) + (kind[1] != POINT));
  destroy(&w);
  return n;
}

static void crossed_edges_are_found_up_to_twice_the_longest_spring(void **unused)
{
  (void)unused;
  const double lengths[2][2] = {{0.03, 0.05}, {0.06, 0.02}};
  for (int turn = 0; turn < 4; ++turn) {
    rotate(turn);
    for (int kinds = 0; kinds < N_SPRINGS * N_SPRINGS; ++kinds)
      for (int l = 0; l < 4; ++l) {
        const int kind[2] = {kinds % N_SPRINGS, kinds / N_SPRINGS};
        assert_int_equal(pairs_at_depth(kind, lengths[l % 2], l > 1, 1.999), 1);
        assert_int_equal(pairs_at_depth(kind, lengths[l % 2], l > 1, 2.001), 0);
      }
  }
  assert_no_leak();
}

/* ---- start of a run ----------------------------------------------------------------------------------------------------------- */

static void create_two(world *w, double mu, double rest_overlap, double gap)
{
  memset(w, 0, sizeof *w);
  w->n_bodies = 2;
  create(&w->body[0], "lower", 1, 0);
  create(&w->body[1], "upper", 1, ROOF);
  w->n = (int64_t)3 * 2 * ROOF;
  put_lower(&w->body[0], 0, 0);
  put_upper(&w->body[1], 0, 0, gap, false);
  start(w, mu, rest_overlap);
  begin(w);
}

/* Before the first step, edges with an overlap of a tenth of the shorter edge, or of the permitted overlap, have contact. The force begins at
 * the permitted overlap, or at the overlap if it is smaller. */
static void crossed_edges_at_the_start(void **unused)
{
  (void)unused;
  const double s = 0.6, t = (HALF - 0.1) / (2.0 * HALF), limit = 0.1 * 2.0 * HALF;
  world        w;
  for (int turn = 0; turn < 4; ++turn)
    for (int k = 0; k < 6; ++k) {
      const double rest[6] = {0.0, 0.0, 0.05, 0.3, 0.3, 0.3}, depth[6] = {0.99 * limit, 1.01 * limit, 0.08, 0.08, 0.299, 0.301};
      margin              = k == 4 ? 0.1 : 0.7; /* permitted overlaps are found beyond it */
      const bool is_found = k != 1 && k != 5;
      rotate(turn);
      create_two(&w, 0.4, rest[k], -depth[k]);
      assert_int_equal(edges_of(&w)->n, is_found);
      residual(&w);
      check_forces(&w, 0, ROOF, s, t, (const double[3]){0.0, 0.0, is_found ? STIFFNESS * (depth[k] - fmin(depth[k], rest[k])) : 0.0});
      end(&w); /* without motion */
      assert_close(summary.start_energy, is_found ? 0.5 * STIFFNESS * pow(depth[k] - fmin(depth[k], rest[k]), 2) : 0.0, 1e-12 * STIFFNESS);
      begin(&w);    /* the pair is known: no new energy */
      if (k == 3) { /* the overlap grows by 0.02, within the cone */
        move(&w, 1, 0, 0.005, -0.003, -0.02);
        residual(&w);
        check_forces(&w, 0, ROOF, s, t, (const double[3]){-STIFFNESS * 0.005, STIFFNESS * 0.003, STIFFNESS * 0.02});
      }
      end(&w);
      assert_close(summary.start_energy, 0.0, 0.0);
      destroy(&w);
    }
  assert_no_leak();
}

/* Two pairs that have slid to the same edges become one pair of the next step. */
static void pairs_of_the_same_edges_become_one(void **unused)
{
  (void)unused;
  world w = {.n_bodies = 2};
  rotate(0);
  create(&w.body[0], "lower", 2, 0);
  create(&w.body[1], "upper", 2, (int64_t)ROOF * 2);
  w.n = (int64_t)3 * ROOF * 4;
  for (int k = 0; k < 2; ++k) put_lower(&w.body[0], k, k), put_upper(&w.body[1], k, k, -0.05, false);
  start(&w, 0.4, 0.0);
  begin(&w);
  assert_int_equal(edges_of(&w)->n, 2);
  residual(&w);
  assert_ok(penalty_contact_settle(w.contact, w.v, w.frames));
  w.contact->mesh->edges->pair[1] = w.contact->mesh->edges->pair[0];
  assert_ok(penalty_contact_end_step(w.contact, w.v, w.frames, &summary));
  assert_int_equal(edges_of(&w)->n_known, 1);
  destroy(&w);
  assert_no_leak();
}

/* The depth without force decreases with the overlap, and never grows again. */
static void the_rest_depth_decreases(void **unused)
{
  (void)unused;
  for (int turn = 0; turn < 4; ++turn) {
    world        w;
    const double dz[5] = {-0.02, 0.05, -0.01, 0.03, 0.06}, left[5] = {0.1, 0.07, 0.07, 0.05, -1.0};
    rotate(turn);
    create_two(&w, 0.4, 0.2, -0.1);
    for (int step = 0; step < 5; ++step) {
      if (step) begin(&w);
      assert_int_equal(edges_of(&w)->n, 1);
      move(&w, 1, 0, 0.0, 0.0, dz[step]);
      end(&w);
      assert_int_equal(edges_of(&w)->n_known, left[step] > 0.0);
      if (left[step] > 0.0) assert_close(edges_of(&w)->known[0].rest, left[step], 1e-12);
    }
    destroy(&w);
  }
  assert_no_leak();
}

/* ---- forces ------------------------------------------------------------------------------------------------------------------- */

static void check_vector(const double found[3], const double in_scene[3])
{
  double x[3];
  m3_mulv(x, R, in_scene);
  for (int k = 0; k < 3; ++k) assert_close(found[k], x[k], 1e-12);
}

/* Product of the tangent at w->v with x against central differences of the residual. */
static void check_tangent(world *w)
{
  enum { MOST = sizeof w->v / sizeof *w->v };
  const double h = 1e-7 / DT;
  double       x[MOST], Hx[MOST] = {0.0}, at[MOST], before[MOST], size = 0.0;
  step_status  status = {STEP_OK, NULL, -1};
  memcpy(at, w->v, sizeof at);
  for (int64_t i = 0; i < w->n; ++i) x[i] = cos(5.0 * (double)i);
  memset(w->g, 0, sizeof w->g);
  assert_ok(penalty_contact_residual(w->contact, w->v, w->frames, w->g, true, &status));
  assert_ok(penalty_contact_tangent(w->contact, x, Hx, false));
  for (int side = -1; side < 2; side += 2) {
    for (int64_t i = 0; i < w->n; ++i) w->v[i] = at[i] + side * h * x[i];
    residual(w);
    if (side < 0) memcpy(before, w->g, sizeof before);
  }
  for (int64_t i = 0; i < w->n; ++i) size = fmax(size, fabs(Hx[i]));
  for (int64_t i = 0; i < w->n; ++i) assert_close((w->g[i] - before[i]) / (2.0 * h), Hx[i], 1e-6 * size);
  assert_true(size > 0.01 * STIFFNESS * DT * DT);
  memcpy(w->v, at, sizeof at);
}

/* The spring of a new pair begins where the edges touch in the evaluated state, independently of earlier ones. Within the cone it has the force
 * k d, with the displacement d since then; without friction only the normal part. The sum and position of forces are the same in the next step. */
static void the_force_of_a_pair(void **unused)
{
  (void)unused;
  for (int turn = 0; turn < 4; ++turn)
    for (int is_rough = 0; is_rough < 2; ++is_rough) {
      const double gap = 0.05, down = 0.08, dx = 0.012, dy = -0.02, rest = 1.0 - gap / down;
      const double s = 0.6 + 0.5 * dx * (is_rough ? 1.0 - rest : 1.0), t = (HALF - 0.1 - dy * (is_rough ? 1.0 - rest : 1.0)) / (2.0 * HALF);
      const double force[3] = {is_rough ? -STIFFNESS * dx * rest : 0.0, is_rough ? -STIFFNESS * dy * rest : 0.0, STIFFNESS * (down - gap)};
      world        w;
      rotate(turn);
      create_two(&w, is_rough ? 2.0 : 0.0, 0.0, gap);
      assert_int_equal(edges_of(&w)->n, 0);
      move(&w, 1, 0, -0.1, 0.06, -2.0 * down); /* other states of the same step: another place, and before the edges touch */
      residual(&w);
      move(&w, 1, 0, dx, dy, -0.9 * gap);
      residual(&w);
      check_forces(&w, 0, ROOF, s, t, (const double[3]){0.0, 0.0, 0.0});
      move(&w, 1, 0, dx, dy, -down);
      residual(&w);
      check_forces(&w, 0, ROOF, s, t, force);
      mesh_pair_view q;
      mesh_contact_pair(w.contact->mesh, mesh_contact_n_pairs(w.contact->mesh) - 1, &q);
      assert_true(q.is_active && q.is_on_triangle && q.point == -1 && q.source_body == 0 && q.object_body == 1);
      assert_true(q.is_sliding == !is_rough);
      assert_close(q.stiffness, STIFFNESS, 0.0);
      assert_close(q.cone.mu, is_rough ? 2.0 : 0.0, 0.0);
      const double normal[3] = {0.0, 0.0, -1.0}, on_lower[3] = {2.0 * s - 1.0, 0.0, 0.0},
                   on_upper[3] = {0.2 + dx, 0.1 + dy - HALF + 2.0 * HALF * t, gap - down};
      check_tangent(&w);
      check_vector(q.normal, normal), check_vector(q.Z, on_lower), check_vector(q.Y, on_upper);
      end(&w);
      begin(&w);
      assert_int_equal(edges_of(&w)->n, 1);
      residual(&w);
      check_forces(&w, 0, ROOF, s, t, force);
      move(&w, 1, 0, 0.003, 0.002, -0.001);
      check_tangent(&w);
      move(&w, 1, 0, 0.0, 0.0, down - gap + 1e-6); /* separated */
      residual(&w);
      check_forces(&w, 0, ROOF, s, t, (const double[3]){0.0, 0.0, 0.0});
      end(&w);
      assert_int_equal(edges_of(&w)->n_known, 0);
      destroy(&w);
    }
  assert_no_leak();
}

/* ---- chains of edges ---------------------------------------------------------------------------------------------------------- */

enum { LINKS = 3, RIDGE_NODES = 3 * (LINKS + 1) };

/* Roofs with a ridge of three edges in line: nodes 0 to 3 on the ridge, along x or, upside down at z = gap, along y; then those of both eaves.
 * is_reversed: the triangles at the middle edge in reverse order, so that the edge has the opposite direction. */
static void create_ridge(roofs *r, bool is_upper, int64_t first_block, double gap, bool is_reversed)
{
  const double length = is_upper ? 2.0 * HALF : 2.0;
  memset(r, 0, sizeof *r);
  mock_create(&r->points, is_upper ? "upper" : "lower", false, RIDGE_NODES, 1, RIDGE_NODES);
  r->points.base.first_block = first_block;
  r->ops                     = *r->points.base.ops;
  r->ops.surface             = roofs_surface;
  r->points.base.ops         = &r->ops;
  for (int i = 0; i < RIDGE_NODES; ++i) {
    const int    row   = i / (LINKS + 1);
    const double along = length * (i % (LINKS + 1) - 0.5 * LINKS), across = row == 0 ? 0.0 : row == 1 ? 1.0 : -1.0;
    if (is_upper) place_node(r, i, across + 0.2, along + 0.1, gap + fabs(across));
    else place_node(r, i, along, across, -fabs(across));
    r->points.id[i] = i, r->points.block[i] = i, r->points.weight[i] = 1.0;
  }
  for (int32_t k = 0; k < LINKS; ++k) {
    const int32_t left = k + LINKS + 1, right = left + LINKS + 1;
    const int32_t roof[4][3] = {{k, k + 1, left + 1}, {k, left + 1, left}, {k + 1, k, right}, {k + 1, right, right + 1}};
    for (int t = 0; t < 4; ++t)
      for (int q = 0; q < 3; ++q) /* x and y exchanged and z reversed: the orientation is the same */
        r->triangle[12 * k + 3 * t + q] = roof[is_reversed && k == 1 ? (t + 2) % 4 : t][q];
  }
  r->surface = (body_surface){.n_nodes = RIDGE_NODES, .n_triangles = 4 * LINKS, .triangles = r->triangle, .x = r->points.x};
}

/* Weight of ridge node i at a position along the ridge in edges from its middle. */
static double hat(int i, double at) { return fmax(0.0, 1.0 - fabs(at + 0.5 * LINKS - i)); }

/* Without friction the contact slides to the crossing of both ridges, also over the ends of edges. The forces are those of linear interpolation
 * between the nodes. In the next step it is found at the same place. */
static void a_contact_slides_along_chains(void **unused)
{
  (void)unused;
  const double to[][2] = {{0.0, 0.0}, {0.9, 0.2}, {-1.3, 0.1}, {0.2, 0.8}, {-0.3, -0.6}, {1.1, 0.9}, {-1.4, -0.8}, {1.2, -0.9}};
  for (int q = 0; q < 8; ++q)
    for (int turn = 0; turn < 4; ++turn)
      for (size_t k = 0; k < sizeof to / sizeof *to; ++k) {
        const double gap = 0.05, down = 0.08, depth = down - gap;
        const double at[2] = {(0.2 + to[k][0]) / 2.0, (-0.1 - to[k][1]) / (2.0 * HALF)};
        world        w     = {.n_bodies = 2, .n = (int64_t)6 * RIDGE_NODES};
        double       force[3];
        rotate(turn);
        create_ridge(&w.body[0], q & 4, 0, q & 4 ? gap : 0.0, q & 1);
        create_ridge(&w.body[1], !(q & 4), RIDGE_NODES, q & 4 ? 0.0 : gap, q & 2);
        const int     upper       = q & 4 ? 0 : 1;
        const int64_t first_upper = upper ? RIDGE_NODES : 0, first_lower = upper ? 0 : RIDGE_NODES;
        start(&w, 0.0, 0.0);
        begin(&w);
        m3_mulv(force, R, (const double[3]){0.0, 0.0, STIFFNESS * depth});
        for (int step = 0; step < 4; ++step) { /* touch, slide, stay, slide back half of it */
          const double part[4] = {0.0, 1.0, 0.0, -0.5}, sum[4] = {0.0, 1.0, 1.0, 0.5}, dz = step ? 0.0 : -down;
          const double now[2] = {0.1 + sum[step] * (at[0] - 0.1), -0.1 / (2.0 * HALF) + sum[step] * (at[1] + 0.1 / (2.0 * HALF))};
          if (step) begin(&w);
          for (int i = 0; i < RIDGE_NODES; ++i)
            m3_mulv(w.v + 3 * (first_upper + i), R, (const double[3]){part[step] * to[k][0] / DT, part[step] * to[k][1] / DT, dz / DT});
          residual(&w);
          for (int i = 0; i < RIDGE_NODES; ++i)
            for (int a = 0; a < 3; ++a) {
              const double up = i <= LINKS ? hat(i, now[1]) : 0.0, low = i <= LINKS ? hat(i, now[0]) : 0.0;
              assert_close(w.g[3 * (first_upper + i) + a], -DT * up * force[a], 1e-12 * STIFFNESS * DT);
              assert_close(w.g[3 * (first_lower + i) + a], DT * low * force[a], 1e-12 * STIFFNESS * DT);
            }
          assert_int_equal(edges_of(&w)->n, 1);
          const edge_contact *p = edges_of(&w)->pair;
          for (int c = 0; c < 2; ++c) { /* the chain: adjacent nodes, in the direction of the edge */
            const int middle = (int)floor(now[(c == 0) == (upper == 0)] + 0.5 * LINKS), forward = p->node[c][2] > p->node[c][1];
            if (step != 1 && step != 3) assert_int_equal(p->node[c][1] + p->node[c][2], 2 * middle + 1);
            for (int i = 0; i < 3; ++i)
              if (p->node[c][i] >= 0 && p->node[c][i + 1] >= 0) assert_int_equal(p->node[c][i + 1] - p->node[c][i], forward ? 1 : -1);
            assert_int_equal(p->node[c][0], p->node[c][1] == (forward ? 0 : LINKS) ? -1 : p->node[c][1] + (forward ? -1 : 1));
            assert_int_equal(p->node[c][3], p->node[c][2] == (forward ? LINKS : 0) ? -1 : p->node[c][2] + (forward ? 1 : -1));
          }
          end(&w);
        }
        destroy(&w);
      }
  assert_no_leak();
}

/* Both roofs in one surface: the same forces, for any order of the edges. */
static void one_surface_touches_itself(void **unused)
{
  (void)unused;
  for (int order = 0; order < 2; ++order) {
    const double gap = 0.05, down = 0.08, dx = 0.012, dy = -0.02, rest = 1.0 - gap / down;
    const double s = 0.6 + 0.5 * dx * (1.0 - rest), t = (HALF - 0.1 - dy * (1.0 - rest)) / (2.0 * HALF);
    const double force[3] = {-STIFFNESS * dx * rest, -STIFFNESS * dy * rest, STIFFNESS * (down - gap)};
    world        w        = {.n_bodies = 1, .n = (int64_t)3 * 2 * ROOF};
    rotate(2);
    create(&w.body[0], "both", 2, 0);
    put_lower(&w.body[0], order, 0);
    put_upper(&w.body[0], 1 - order, 0, gap, false);
    start(&w, 2.0, 0.0);
    begin(&w);
    move(&w, 0, 1 - order, dx, dy, -down);
    residual(&w);
    check_forces(&w, (int64_t)ROOF * order, (int64_t)ROOF * (1 - order), s, t, force);
    end(&w);
    begin(&w);
    residual(&w);
    check_forces(&w, (int64_t)ROOF * order, (int64_t)ROOF * (1 - order), s, t, force);
    destroy(&w);
  }
  assert_no_leak();
}

/* An edge that continues to the end of the other edge of the pair: the chain ends before it, since a pair has no contact with itself. */
static void chains_do_not_contain_the_other_edge(void **unused)
{
  (void)unused;
  const double  x[9][3]        = {{-1, 0, 0},         {1, 0, 0},   {0, 1, -1},   {0, -1, -1},    {1.8, 0.45, 0.05},
                                  {-1.0, -0.6, 0.05}, {0, 0.9, 1}, {0.8, -1, 1}, {1.5, -0.5, -1}};
  const int32_t triangle[5][3] = {{0, 1, 2}, {1, 0, 3}, {5, 4, 7}, {4, 5, 6}, {1, 4, 8}};
  const double  down = 0.08, crossing = 0.6, s = 0.5 * (crossing + 1.0), t = (1.8 - crossing) / 2.8; /* t from node 4 */
  for (int order = 0; order < 4; ++order) { /* of the triangles at both edges, that is the direction of the edges */
    world  w = {.n_bodies = 1, .n = 27};
    roofs *r = &w.body[0];
    rotate(3);
    create(r, "both", 3, 0); /* room for 12 nodes */
    r->points.n = r->points.base.n_blocks = 9;
    for (int i = 0; i < 9; ++i) place_node(r, i, x[i][0], x[i][1], x[i][2]);
    for (int k = 0; k < 5; ++k)
      memcpy(r->triangle + 3 * k, triangle[k < 2 ? k ^ (order & 1) : k < 4 ? k ^ (order >> 1) : k], sizeof *triangle);
    r->surface = (body_surface){.n_nodes = 9, .n_triangles = 5, .triangles = r->triangle, .x = r->points.x};
    start(&w, 2.0, 0.0);
    begin(&w);
    for (int i = 4; i < 8; ++i) m3_mulv(w.v + 3 * i, R, (const double[3]){0.0, 0.0, -down / DT});
    residual(&w);
    assert_int_equal(edges_of(&w)->n, 1);
    for (int k = 0; k < 2; ++k)
      for (int i = 0; i < EDGE_CHAIN; i += EDGE_CHAIN - 1) assert_int_equal(edges_of(&w)->pair[0].node[k][i], -1);
    for (int i = 0; i < 9; ++i)
      check_node(&w, i,
                 i == 0   ? s - 1.0
                 : i == 1 ? -s
                 : i == 4 ? 1.0 - t
                 : i == 5 ? t
                          : 0.0,
                 (const double[3]){0, 0, STIFFNESS * (down - 0.05)});
    destroy(&w);
  }
  assert_no_leak();
}

/* A contact that has slid beyond the end of a ridge by `beyond` at the given depth, without friction: whether it is stored. The sides of the
 * other roof descend from the ridge by `slope`. Ends: 0, 1: of the lower ridge, 2, 3: of the upper one. */
static bool stays_at_end(int last, bool is_swapped, double slope, double depth, double beyond)
{
  const int    lower = is_swapped, upper = 1 - lower, other = last < 2 ? upper : lower;
  world        w    = {.n_bodies = 2, .n = (int64_t)3 * 2 * ROOF};
  const double sign = last % 2 ? 1.0 : -1.0, gap = 0.05;
  create(&w.body[0], "first", 1, 0);
  create(&w.body[1], "second", 1, ROOF);
  const double aside[2]   = {last < 2 ? 0.7 * sign : 0.0, last < 2 ? 0.0 : -sign * 0.5 - 0.1}; /* 0.1 from the end */
  const double x[ROOF][3] = {{0.2 + aside[0], 0.1 - HALF + aside[1], gap},
                             {0.2 + aside[0], 0.1 + HALF + aside[1], gap},
                             {1.2 + aside[0], 0.1 + aside[1], gap + (other == upper ? slope : 1.0)},
                             {-0.8 + aside[0], 0.1 + aside[1], gap + (other == upper ? slope : 1.0)}};
  put_lower(&w.body[lower], 0, 0);
  for (int i = 0; i < ROOF; ++i) place_node(&w.body[upper], i, x[i][0], x[i][1], x[i][2]);
  if (other == lower)
    for (int i = 2; i < ROOF; ++i) place_node(&w.body[lower], i, 0.0, i == 2 ? 1.0 : -1.0, -slope);
  start(&w, 0.0, 0.0);
  begin(&w);
  move(&w, upper, 0, 0.0, 0.0, -gap - depth);
  end(&w);
  assert_int_equal(edges_of(&w)->n_known, 1);
  begin(&w);
  const double from = last < 2 ? 1.0 - fabs(0.2 + aside[0]) : 0.1, way = from + beyond;
  move(&w, upper, 0, last < 2 ? sign * way : 0.0, last < 2 ? 0.0 : -sign * way, 0.0);
  residual(&w);
  assert_true(edges_of(&w)->pair[0].is_active && !edges_of(&w)->pair[0].is_on_face);
  end(&w);
  const bool is_known = edges_of(&w)->n_known == 1;
  destroy(&w);
  return is_known;
}

/* At the end of a ridge the force is inclined. The pair is stored up to 45 degrees, and as long as the force acts towards the outside of the
 * other ridge. */
static void contacts_leave_at_ends(void **unused)
{
  (void)unused;
  const double depth = 0.03;
  for (int turn = 0; turn < 4; ++turn)
    for (int k = 0; k < 8; ++k)
      for (int is_steep = 0; is_steep < 2; ++is_steep) {
        const double slope = is_steep ? 3.0 : 0.4, limit = depth * (is_steep ? 1.0 : tan(atan(slope) + asin(EDGE_RISE)));
        rotate(turn);
        assert_true(stays_at_end(k % 4, k / 4, slope, depth, 0.99 * limit));
        assert_false(stays_at_end(k % 4, k / 4, slope, depth, 1.01 * limit));
      }
  assert_no_leak();
}

/* Couplings: the four ends of both edges. */
static void check_couplings(const world *w, int n, const int *block)
{
  int64_t  n_found;
  int32_t *row, *col;
  bool     has[4][4] = {{false}};
  assert_ok(penalty_contact_couplings(w->contact, &n_found, &row, &col));
  for (int64_t k = 0; k < n_found; ++k) {
    int at[2] = {-1, -1};
    for (int i = 0; i < n; ++i) at[0] = row[k] == block[i] ? i : at[0], at[1] = col[k] == block[i] ? i : at[1];
    assert_true(at[0] >= 0 && at[1] >= 0);
    has[at[0]][at[1]] = true;
  }
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) assert_true(has[i][j]);
  memory_free(&row), memory_free(&col);
}

/* A rigid body without unknowns, with its frame anywhere: the forces and the tangent of the other body are those of a deformable lower body
 * whose nodes are at rest. */
static void the_force_on_a_fixed_body(void **unused)
{
  (void)unused;
  for (int turn = 0; turn < 4; ++turn) {
    const double gap = 0.05, down = 0.08, dx = 0.012, dy = -0.02, rest = 1.0 - gap / down, c[3] = {0.3, -0.2, 0.1};
    const double t               = (HALF - 0.1 - dy * (1.0 - rest)) / (2.0 * HALF);
    const double force[3]        = {-STIFFNESS * dx * rest, -STIFFNESS * dy * rest, STIFFNESS * (down - gap)};
    double       Hx[2][3 * ROOF] = {{0.0}}, own[3 * ROOF], way[3 * 2 * ROOF];
    for (int i = 0; i < 3 * 2 * ROOF; ++i) way[i] = i < 3 * ROOF ? 0.0 : sin(7.0 * i);
    rotate(turn);
    for (int is_fixed = 0; is_fixed < 2; ++is_fixed) {
      world         w     = {.n_bodies = 2};
      const int64_t upper = is_fixed ? 0 : ROOF;
      create(&w.body[0], "lower", 1, 0);
      create(&w.body[1], "upper", 1, upper);
      w.n = 3 * (upper + ROOF);
      put_lower(&w.body[0], 0, 0);
      put_upper(&w.body[1], 0, 0, gap, false);
      if (is_fixed) {
        w.body[0].ops                  = mock_rigid_ops;
        w.body[0].ops.surface          = roofs_surface;
        w.body[0].points.base.n_blocks = 0;
        for (int i = 0; i < ROOF; ++i) v3_sub(own + 3 * i, w.body[0].points.x + 3 * i, c);
        w.body[0].surface.x = own;
        w.n_frames = 1, w.frames[0] = mock_frame(c, -1);
        w.is_fixed = true;
      }
      start(&w, 2.0, 0.0);
      begin(&w);
      move(&w, 1, 0, dx, dy, -down);
      residual(&w);
      check_node(&w, upper, 1.0 - t, force), check_node(&w, upper + 1, t, force);
      for (int i = 2; i < ROOF; ++i) check_node(&w, upper + i, 0.0, force);
      if (is_fixed) check_couplings(&w, 2, (const int[]){0, 1});
      else check_couplings(&w, 4, (const int[]){0, 1, ROOF, ROOF + 1});
      step_status status = {STEP_OK, NULL, -1};
      assert_ok(penalty_contact_residual(w.contact, w.v, w.frames, w.g, true, &status));
      double y[3 * 2 * ROOF] = {0.0};
      assert_ok(penalty_contact_tangent(w.contact, way + 3 * ROOF - 3 * upper, y, false));
      memcpy(Hx[is_fixed], y + 3 * upper, sizeof *Hx);
      destroy(&w);
    }
    double size = 0.0;
    for (int i = 0; i < 3 * ROOF; ++i) {
      assert_close(Hx[1][i], Hx[0][i], 1e-12 * STIFFNESS * DT * DT);
      size = fmax(size, fabs(Hx[0][i]));
    }
    assert_true(size > 0.01 * STIFFNESS * DT * DT);
  }
  assert_no_leak();
}

/* Pairs of edges of a checkpoint with one wrong value are rejected; values at the limits are accepted. */
static void wrong_pairs_are_rejected(void **unused)
{
  (void)unused;
  rotate(0);
  for (int k = 0; k < 19; ++k) {
    world        w;
    field_table *table;
    create_two(&w, 0.4, 0.0, 5.0);
    assert_ok(field_table_create(&table));
    assert_ok(penalty_contact_fields(w.contact, table));
    mesh_edges        *e = w.contact->mesh->edges;
    const int          n = (int)w.contact->mesh->mesh[1].topology->n_edges;
    field_group *const g = field_table_find_group(table, "contact/edge_attachments");
    assert_non_null(g);
    assert_ok(g->resize(g->context, 2));
    for (int i = 0; i < 2; ++i) {
      e->stored_body[2 * i] = 0, e->stored_body[2 * i + 1] = 1;
      e->stored_edge[2 * i] = i, e->stored_edge[2 * i + 1] = 1;
      e->stored_at[2 * i] = 0.0, e->stored_at[2 * i + 1] = 1.0;
      e->stored_side[i] = 1 - 2 * i, e->stored_rest[i] = 0.0;
    }
    const bool is_valid = k < 3;
    switch (k) {
    case 1: e->stored_edge[3] = n - 1, e->stored_rest[0] = 2.0; break;
    case 2: e->stored_edge[2] = 0, e->stored_edge[3] = 2; break;
    case 3: e->stored_body[0] = 2; break;
    case 4: e->stored_body[3] = -1; break;
    case 5: e->stored_edge[1] = -1; break;
    case 6: e->stored_edge[3] = n; break;
    case 7: e->stored_edge[2] = n; break;
    case 8: e->stored_at[0] = -1e-9; break;
    case 9: e->stored_at[3] = 1.0 + 1e-9; break;
    case 10: e->stored_at[1] = NAN; break;
    case 11: e->stored_side[0] = 0; break;
    case 12: e->stored_side[1] = 2; break;
    case 13: e->stored_side[1] = -2; break;
    case 14: e->stored_rest[1] = -1e-9; break;
    case 15: e->stored_rest[0] = NAN; break;
    case 16: e->stored_edge[2] = 0; break;                        /* twice the same */
    case 17: e->stored_edge[2] = 0, e->stored_edge[3] = 0; break; /* not sorted */
    case 18: e->stored_edge[0] = 2; break;
    default: break;
    }
    const PetscErrorCode code = g->restored(g->context);
    if (code != (is_valid ? PETSC_SUCCESS : PETSC_ERR_FILE_UNEXPECTED)) fail_msg("case %d: code %d", k, (int)code);
    if (code) assert_non_null(strstr(error_message(), "of a pair of edges is invalid"));
    error_clear();
    field_table_destroy(&table);
    destroy(&w);
  }
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(wrong_pairs_are_rejected), cmocka_unit_test(chains_do_not_contain_the_other_edge),
          cmocka_unit_test(the_force_on_a_fixed_body), cmocka_unit_test(contacts_leave_at_ends), cmocka_unit_test(the_force_of_a_pair),
          cmocka_unit_test(a_contact_slides_along_chains), cmocka_unit_test(one_surface_touches_itself),
          cmocka_unit_test(crossed_edges_at_the_start), cmocka_unit_test(pairs_of_the_same_edges_become_one),
          cmocka_unit_test(the_rest_depth_decreases), cmocka_unit_test(crossed_edges_are_found_up_to_twice_the_longest_spring))
