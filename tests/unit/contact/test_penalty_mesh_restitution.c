/* Coefficient of restitution of a point on a triangle that deforms, is fixed, or moves as a rigid body: the force of each step in closed form, its
 * moment, and the tangent against finite differences. */
#include "test.h"
#include "contact_bodies.h"
#include "contact/penalty/penalty_mesh.h"
#include "contact/penalty/penalty_pairs.h"
#include <string.h>

static const double DT = 1e-3, STIFFNESS = 500.0, E = 0.4;
enum { DEFORMS, FIXED, RIGID, N_KINDS, MOST_BLOCKS = 4 };

typedef struct {
  mock_body    points; /* first: a pointer to one is a pointer to the other */
  body_ops     ops;
  body_surface surface;
} plate;
static const int32_t corners[3] = {0, 1, 2};
static const double  corner[9]  = {-1.0, -1.0, 0.0, 2.0, -0.5, 0.0, 0.1, 1.5, 0.0}; /* the normal is z */
static void          plate_surface(const body *b, body_surface *out) { *out = ((const plate *)b)->surface; }

typedef struct {
  int              kind;
  mock_body        point;
  plate            plate;
  double           own[9];
  contact_law      law[4];
  contact_source   source;
  rigid_frame      frame0, frame;
  penalty_contact *contact;
  int64_t          n; /* numbers */
  double           v[3 * MOST_BLOCKS], g[3 * MOST_BLOCKS];
} world;

static double       R[9];
static const double AT[2] = {0.3, 0.2}; /* of the point above the plate */

static void create(world *w, int kind, double gap)
{
  const double centre[3] = {0.7, -0.4, 0.3};
  memset(w, 0, sizeof *w);
  w->kind = kind;
  mock_create(&w->point, "point", false, 1, 1, 1);
  w->point.weight[0] = 1.0;
  m3_mulv(w->point.x, R, (const double[3]){AT[0], AT[1], gap});
  mock_create(&w->plate.points, "plate", kind != DEFORMS, 3, 1, kind == DEFORMS ? 3 : kind == FIXED ? 0 : 2);
  w->plate.ops                     = *w->plate.points.base.ops;
  w->plate.ops.surface             = plate_surface;
  w->plate.points.base.ops         = &w->plate.ops;
  w->plate.points.base.first_block = 1;
  for (int i = 0; i < 3; ++i) m3_mulv(w->plate.points.x + 3 * i, R, corner + 3 * i);
  w->frame0 = w->frame = mock_frame(centre, kind == FIXED ? -1 : 1);
  for (int i = 0; i < 3; ++i) v3_sub(w->own + 3 * i, w->plate.points.x + 3 * i, centre);
  w->plate.surface =
      (body_surface){.n_nodes = 3, .n_triangles = 1, .triangles = corners, .x = kind == DEFORMS ? w->plate.points.x : w->own};
  w->n = 3 * (1 + w->plate.points.base.n_blocks);
  for (int k = 0; k < 4; ++k)
    w->law[k] = (contact_law){.stiffness = k == 1 || k == 2 ? STIFFNESS : 0.0, .friction = 5.0, .damping = restitution_damping(E)};
  w->source               = (contact_source){&w->point.base, -1, 0};
  const contact_mesh mesh = {&w->plate.points.base, kind == DEFORMS ? -1 : 0, 1};
  assert_ok(penalty_contact_create(2, NULL, w->law, &w->contact));
  assert_ok(penalty_contact_add_meshes(w->contact, 1, &mesh));
}
static void destroy(world *w)
{
  penalty_contact_destroy(&w->contact);
  mock_destroy(&w->point);
  mock_destroy(&w->plate.points);
}
static void begin(world *w)
{
  assert_ok(penalty_contact_begin_step(w->contact, 1, &w->source, 0, NULL, w->kind == DEFORMS ? 0 : 1, &w->frame0, DT, 0.1, w->n / 3));
}
static void residual(world *w, bool with_tangent)
{
  step_status status = {STEP_OK, NULL, -1};
  memset(w->g, 0, sizeof w->g);
  mock_move_frame(&w->frame0, DT, w->v, &w->frame);
  assert_ok(penalty_contact_residual(w->contact, w->v, &w->frame, w->g, with_tangent, &status));
  assert_int_equal(status.code, STEP_OK);
}
static void end(world *w)
{
  contact_summary summary;
  residual(w, false);
  assert_ok(penalty_contact_settle(w->contact, w->v, &w->frame));
  assert_ok(penalty_contact_end_step(w->contact, w->v, &w->frame, &summary));
  v3_axpy(w->point.x, DT, w->v);
  for (int i = 0; i < 3 && w->kind == DEFORMS; ++i) v3_axpy(w->plate.points.x + 3 * i, DT, w->v + 3 * (1 + i));
  w->frame0 = w->frame;
}
static void check_tangent(world *w)
{
  const double h = 1e-6;
  double       x[3 * MOST_BLOCKS], at[3 * MOST_BLOCKS], Hx[3 * MOST_BLOCKS] = {0.0}, y[3 * MOST_BLOCKS], Hty[3 * MOST_BLOCKS] = {0.0},
                                                         low[3 * MOST_BLOCKS], size = 0.0, left = 0.0, right = 0.0;
  memcpy(at, w->v, sizeof at);
  for (int i = 0; i < w->n; ++i) x[i] = cos(3.0 * i + 1.0), y[i] = sin(2.0 * i);
  residual(w, true);
  assert_ok(penalty_contact_tangent(w->contact, x, Hx, false));
  assert_ok(penalty_contact_tangent(w->contact, y, Hty, true));
  for (int side = -1; side < 2; side += 2) {
    for (int i = 0; i < w->n; ++i) w->v[i] = at[i] + side * h * x[i];
    residual(w, false);
    if (side < 0) memcpy(low, w->g, sizeof low);
  }
  for (int i = 0; i < w->n; ++i) size = fmax(size, fabs(Hx[i])), left += y[i] * Hx[i], right += x[i] * Hty[i];
  for (int i = 0; i < w->n; ++i) assert_close((w->g[i] - low[i]) / (2.0 * h), Hx[i], 3e-6 * size);
  assert_true(size > 0.0);
  assert_close(left, right, 1e-12 * size * w->n);
  memcpy(w->v, at, sizeof at);
  residual(w, true);
}

/* Normal force `f` on the point above AT, its reaction on the corners, or on the rigid body with its moment. */
static void check_force(const world *w, double f)
{
  double force[3], arm[3], torque[3], x[3];
  m3_mulv(force, R, (const double[3]){0.0, 0.0, f});
  for (int k = 0; k < 3; ++k) assert_close(w->g[k], -DT * force[k], 1e-10 * DT * STIFFNESS);
  if (w->kind == DEFORMS) { /* barycentric coordinates of AT */
    const double *a = corner, *b = corner + 3, *c = corner + 6, area = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
    const double  u = ((AT[0] - a[0]) * (c[1] - a[1]) - (AT[1] - a[1]) * (c[0] - a[0])) / area,
                 t = ((b[0] - a[0]) * (AT[1] - a[1]) - (b[1] - a[1]) * (AT[0] - a[0])) / area, weight[3] = {1.0 - u - t, u, t};
    for (int i = 0; i < 3; ++i)
      for (int k = 0; k < 3; ++k) assert_close(w->g[3 + 3 * i + k], DT * weight[i] * force[k], 1e-10 * DT * STIFFNESS);
  } else if (w->kind == RIGID) {
    v3_copy(x, w->point.x);
    v3_axpy(x, DT, w->v);
    v3_sub(arm, x, w->frame.c);
    v3_cross(torque, arm, force);
    for (int k = 0; k < 3; ++k) {
      assert_close(w->g[3 + k], DT * force[k], 1e-10 * DT * STIFFNESS);
      assert_close(w->g[6 + k], DT * torque[k], 1e-10 * DT * STIFFNESS);
    }
  }
}

/* Steps with given compression speeds. The gain of the spring is 1 + a w/v, with the largest speed v of earlier steps, at least g dt, and between 0 and 1 + a.
 * The point moves by a share of the speed, the plate by the rest, and both drift together along x
 * and move together along the normal. */
static void forces_of_a_bounce(void **unused)
{
  (void)unused;
  static const double turns[3][3] = {{0, 0, 0}, {0.5, -0.9, 0.3}, {-1.2, 0.4, 2.0}}, gap = 4e-4;
  static const double speed[2][6] = {{2.0, 1.2, 0.3, -0.5, -1.0, -1.8}, {1.0, 1.8, 0.6, -0.2, -1.0, -2.0}};
  const double        a           = restitution_damping(E);
  for (int turn = 0; turn < 3; ++turn)
    for (int kind = 0; kind < N_KINDS; ++kind)
      for (int q = 0; q < 6; ++q) {
        const double carry = kind == FIXED ? 0.0 : 30.0 * (q / 2 - 1); /* normal velocity of both */
        world        w;
        double       depth = -gap, most = 9.81 * DT, Jl[9];
        mock_exponential(turns[turn], R, Jl);
        create(&w, kind, gap);
        for (int step = 0; step < 6; ++step) {
          const double rate = speed[q % 2][step], share = kind == FIXED ? 1.0 : 0.7, drift = kind == FIXED ? 0.0 : 0.4;
          double       up[3], down[3];
          begin(&w);
          m3_mulv(down, R, (const double[3]){drift, 0.0, carry - share * rate});
          m3_mulv(up, R, (const double[3]){drift, 0.0, carry + (1.0 - share) * rate});
          v3_copy(w.v, down);
          for (int i = 0; i < (kind == DEFORMS ? 3 : kind == RIGID); ++i) v3_copy(w.v + 3 + 3 * i, up);
          depth += DT * rate;
          const double gain = fmin(1.0 + a, fmax(0.0, 1.0 + a * rate / most));
          residual(&w, true);
          check_force(&w, depth > 0.0 ? gain * STIFFNESS * depth : 0.0);
          const mesh_pair *p = w.contact->mesh->pair;
          assert_int_equal(w.contact->mesh->n, 1);
          assert_close(p->bounce.rate, rate, 1e-9);
          if (depth > 0.0 && gain > 0.0 && rate < 0.99 * most) check_tangent(&w); /* not at a kink of the gain */
          most = fmax(most, rate);
          end(&w);
        }
        destroy(&w);
      }
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(forces_of_a_bounce))
