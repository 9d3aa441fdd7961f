/* Geometric impulses, see impulses.h: near pass, collision pass and zones pass of one step. Data: a list of `colliding_pair`,
 * and a union-find structure of the units that move together (impact zones). Caller: the `hybrid` step. */
#include "contact/impulse/impulses.h"
#include "geometry/collision/ccd.h"
#include "core/eigen3.h"
#include "core/error.h"
#include "core/math3.h"
#include "core/memory.h"
#include "core/quaternion.h"
#include "core/sort.h"
#include "core/stop.h"
#include <float.h>

/* ---- impact zones ---- */

/* Sets of units with a common rigid motion, as a union-find structure. */

typedef struct {
  int64_t  n;
  int32_t *parent; /* [n] parent of each unit; the root of a set is its leader */
  int32_t *order;  /* [n] units sorted by zone, ascending in each zone */
  int32_t *start;  /* [n + 1] first entry in `order` of each of the n_zones zones with more than one unit */
  int64_t  n_zones;
} impact_zones;

/* ---- union-find ---- */

static PetscErrorCode impact_zones_create(int64_t n, impact_zones *z)
{
  PetscFunctionBegin;
  z->n = n;
  PetscCall(MEMORY_ALLOC("impact zones", ARRAY(z->parent, n), ARRAY(z->order, n), ARRAY(z->start, n + 1)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void impact_zones_destroy(impact_zones *z) { memory_free(&z->parent), memory_free(&z->order), memory_free(&z->start); }

/* Make each unit a set of its own. */
static void impact_zones_clear(impact_zones *z)
{
  for (int64_t i = 0; i < z->n; ++i) z->parent[i] = (int32_t)i;
  z->n_zones = 0;
}

static int32_t impact_zones_find(impact_zones *z, int32_t unit)
{
  while (z->parent[unit] != unit) unit = z->parent[unit] = z->parent[z->parent[unit]];
  return unit;
}

/* The lowest unit becomes the leader, so that zones do not depend on the order of merging. */
static void impact_zones_merge(impact_zones *z, int32_t a, int32_t b)
{
  a = impact_zones_find(z, a), b = impact_zones_find(z, b);
  if (a < b) z->parent[b] = a;
  else z->parent[a] = b;
}

/* Fill order, start and n_zones. */
static void impact_zones_sort(impact_zones *z)
{
  int32_t *count = z->start; /* first the size of the set of each leader, then the start of its zone */
  for (int64_t i = 0; i <= z->n; ++i) count[i] = 0;
  for (int64_t i = 0; i < z->n; ++i) ++count[impact_zones_find(z, (int32_t)i)];
  int32_t at = 0;
  for (int64_t i = 0; i < z->n; ++i) {
    const int32_t n = count[i];
    count[i]        = n > 1 ? at : -1;
    at += n > 1 ? n : 0;
  }
  for (int64_t i = 0; i < z->n; ++i) {
    const int32_t choose_zone_motion = z->parent[i] == (int32_t)i ? (int32_t)i : impact_zones_find(z, (int32_t)i);
    if (count[choose_zone_motion] >= 0) z->order[count[choose_zone_motion]++] = (int32_t)i;
  }
  /* The leader is the first entry of each zone in the ascending order. */
  z->n_zones = 0;
  for (int32_t k = 0; k < at; ++k)
    if (k == 0 || impact_zones_find(z, z->order[k]) != impact_zones_find(z, z->order[k - 1])) z->start[z->n_zones++] = k;
  z->start[z->n_zones] = at;
}

/* ---- data ---- */

/* A unit is a vertex of no rigid body, a rigid body, or a wall; it moves independently of other units. Units are numbered in this
 * order. */

typedef enum { PAIR_POINT_TRIANGLE, PAIR_EDGE_EDGE, PAIR_POINT_WALL } pair_kind;

/* Two colliding features: gap = normal . (sum of weight x). For a point and a wall, weight[0] is 1 and the other vertices are
 * unused. */
typedef struct {
  int32_t   node[4], side[2]; /* side: rigid body of the first and of the second feature; -1: none; -2: a wall */
  int32_t   first, second;    /* numbers of the two features, or of vertex and wall */
  pair_kind kind;
  double    weight[4], normal[3], gap;
  double    arm[2][3];               /* from the center of the rigid body to the contact point of the feature, at the start of the step */
  double    j, friction[3], work[2]; /* sum of the impulses applied so far: normal, friction; work of each */
  bool      is_sliding;
} colliding_pair;

/* Sort key of a pair of features; it ascends in the order of the search. */
static inline uint64_t meeting_key(pair_kind kind, int32_t first, int32_t second)
{
  return (uint64_t)kind << 62 | (uint64_t)(uint32_t)first << 31 | (uint64_t)(uint32_t)second;
}

/* Bits of the constrained velocity components of a vertex of no rigid body. */
static inline unsigned held_components(const impulse_scene *c, int64_t i)
{
  return c->inverse_mass[i] == 0.0 ? 7 : c->held_axes ? c->held_axes[i] : 0;
}

/* Pairs of one kind from the broad phase; valid while vertices move less than its slack. */
typedef struct {
  int64_t                 n, n_flags;
  const broad_phase_pair *pair; /* owned by the broad phase */
  uint8_t                *flag; /* [n] the pair collides */
} candidate_list;

struct impulses {
  impulse_scene    scene;
  broad_phase     *broad;
  int64_t          n_units;
  double          *x1;                   /* [n_vertices][3] */
  double          *x1_before;            /* x1 at the previous search */
  double          *x1_listed;            /* x1 at the last broad phase */
  int32_t         *unit, *leader;        /* [n_vertices] unit of each vertex, and the leader of its zone (the unit itself outside of
                                  * zones) */
  uint8_t         *is_held, *is_changed; /* [n_vertices] the unit is constrained; the end position changed since the previous
                                         * search */
  double          *turn;                 /* [n_rigid][9] A: mean velocities in the step are v + A r, r at the start of the step */
  double          *placed;               /* [n_rigid][6] motion v, w from which x1 of the vertices of the body was computed */
  impact_zones     zones;
  candidate_list   list[3]; /* by pair_kind; for walls only the flags are used */
  double           slack;   /* displacement of vertices up to which the lists are valid [m]; < 0: the lists are empty */
  double           edge;    /* mean length of edges at the beginning of the step */
  int64_t          n_before, before_capacity;
  uint64_t        *before; /* [n_before] colliding pairs of features of the previous search, ascending */
  int64_t          n, capacity;
  colliding_pair  *found;          /* [n] */
  int64_t         *index, n_index; /* scratch of searches */
  uint64_t        *used;           /* [n_units] bits of the colours used by pairs of each unit */
  int32_t         *order, *colour; /* [n] permutation and colour of `found` */
  int64_t          order_capacity;
  int64_t          n_given, given_capacity;
  colliding_pair  *given; /* [n_given] pairs that received impulses, in order of application */
  int64_t          n_contacts, contact_capacity;
  impulse_contact *contact;
  /* The current solve. */
  const impulse_step    *step;
  const impulse_options *options;
  impulse_report        *report;
};

/* ---- colouring ---- */

enum { IMPULSE_COLOURS = 64 }; /* the last colour is for pairs that must be processed serially */

/* ---- trajectories and motion of zones ---- */

#define FLAT 1e-12       /* relative to the largest moment of inertia: a zone does not rotate about an axis below this */
#define AGREEMENT 1e-9   /* relative speed difference within which constrained members have one rigid motion */
#define NEW_ROW 1e-10    /* relative mobility below which a constraint row is linearly dependent on the rows before it */
#define LARGEST_TURN 3.0 /* rad; at pi the straight trajectories pass through the axis of rotation */

/* A [9] with exp(dt [w]) = 1 + dt A, or cay. */
static void impulse_turn(const double w[3], double dt, bool is_cayley, double A[9])
{
  double       K[9], K2[9], c1, c2;
  const double angle = dt * v3_norm(w);
  m3_skew(K, w);
  m3_mul(K2, K, K);
  m3_zero(A);
  if (is_cayley) {
    const double s = 1.0 / (1.0 + 0.25 * angle * angle);
    m3_axpy(A, s, K);
    m3_axpy(A, 0.5 * s * dt, K2);
    return;
  }
  rotation_coefficients(angle, &c1, &c2);
  m3_axpy(A, 1.0 - c2 * angle * angle, K); /* sine / angle */
  m3_axpy(A, c1 * dt, K2);
}

static bool does_turn(const impulse_rigid *b)
{
  for (int k = 0; k < 9; ++k)
    if (b->inverse_inertia[k] != 0.0) return true;
  return false;
}

/* ---- end positions ---- */

/* Prepare units and constraint flags for the step. */
static PetscErrorCode impulse_motion_begin(impulses *a)
{
  const impulse_scene *c = &a->scene;
  PetscFunctionBegin;
  for (int32_t r = 0; r < c->n_rigid; ++r) {
    const impulse_rigid *b = &a->step->rigid[r];
    PetscCheck(b->inverse_mass > 0.0 || !does_turn(b), PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "rigid body %d can rotate but not translate; impulses do not support this", (int)r);
    PetscCheck(!does_turn(b) || m3_det(b->inverse_inertia) > 0.0, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "rigid body %d: the inverse of its inertia is neither 0 nor positive definite", (int)r);
    impulse_turn(b->w, a->step->dt, b->is_cayley, a->turn + 9 * r);
    for (int k = 0; k < 6; ++k) a->placed[6 * r + k] = NAN;
  }
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < c->surfaces.n_vertices; ++i) {
    const int32_t r = c->rigid ? c->rigid[i] : -1;
    a->is_held[i]   = r < 0 ? held_components(c, i) == 7 : a->step->rigid[r].inverse_mass == 0.0;
    a->leader[i]    = a->unit[i];
  }
  double length = 0.0, d[3];
  for (int64_t i = 0; i < c->surfaces.n_edges; ++i) {
    v3_sub(d, a->step->x0 + 3 * (int64_t)c->surfaces.edge[2 * i], a->step->x0 + 3 * (int64_t)c->surfaces.edge[2 * i + 1]);
    length += v3_norm(d);
  }
  a->edge  = c->surfaces.n_edges > 0 ? length / (double)c->surfaces.n_edges : 0.0;
  a->slack = -1.0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void compute_end_positions(impulses *a)
{
  const impulse_scene *c  = &a->scene;
  const impulse_step  *s  = a->step;
  const double         dt = s->dt;
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < c->surfaces.n_vertices; ++i) {
    const int32_t r  = c->rigid ? c->rigid[i] : -1;
    const double *x0 = s->x0 + 3 * i;
    double       *x1 = a->x1 + 3 * i;
    if (r >= 0 && c->place) {
      v3_copy(x1, a->x1_before + 3 * i); /* overwritten below if the body has moved */
    } else if (r >= 0) {
      double velocity[3], arm[3];
      v3_sub(arm, x0, s->rigid[r].center);
      m3_mulv(velocity, a->turn + 9 * (int64_t)r, arm);
      v3_axpy(velocity, 1.0, s->rigid[r].v);
      for (int k = 0; k < 3; ++k) x1[k] = x0[k] + dt * velocity[k];
    } else if (s->held_x1 && a->is_held[i]) {
      v3_copy(x1, s->held_x1 + 3 * i);
    } else {
      for (int k = 0; k < 3; ++k) x1[k] = x0[k] + dt * s->v[3 * i + k];
    }
  }
  for (int32_t r = 0; r < c->n_rigid && c->place; ++r) {
    double *placed = a->placed + 6 * (int64_t)r;
    double  motion[6];
    v3_copy(motion, s->rigid[r].v), v3_copy(motion + 3, s->rigid[r].w);
    if (memcmp(placed, motion, sizeof motion) == 0) continue; /* NOLINT(bugprone-suspicious-memory-comparison): compares bits */
    memcpy(placed, motion, sizeof motion);
    c->place(c->context, r, motion, motion + 3, a->x1);
  }
}

/* Compute x1 of all vertices and is_changed against the previous search. Output: the largest change of a coordinate since the
 * previous search, and since the last broad phase. */
static void impulse_motion_ends(impulses *a, double *change, double *listed_change)
{
  double        largest = 0.0, largest_listed = 0.0;
  double *const before = a->x1;
  a->x1                = a->x1_before;
  a->x1_before         = before;
  compute_end_positions(a);
#pragma omp parallel for schedule(static) reduction(max : largest, largest_listed)
  for (int64_t i = 0; i < a->scene.surfaces.n_vertices; ++i) {
    const double *x1 = a->x1 + 3 * i, *x = a->x1_before + 3 * i, *y = a->x1_listed + 3 * i;
    a->is_changed[i] = !(x1[0] == x[0] && x1[1] == x[1] && x1[2] == x[2]);
    for (int k = 0; k < 3; ++k) {
      largest        = fmax(largest, fabs(x1[k] - x[k]));
      largest_listed = fmax(largest_listed, fabs(x1[k] - y[k]));
    }
  }
  *change = largest, *listed_change = largest_listed;
}

/* ---- zones ---- */

typedef struct {
  double center[3], V[3], W[3], A[9];      /* mean velocities in the step are V + A r */
  double inverse_mass, inverse_inertia[9]; /* of the members to which the motion is fitted */
  bool   is_held, is_partly_held, has_rigid, does_turn;
} zone_motion;

typedef enum { UNIT_VERTEX, UNIT_RIGID, UNIT_WALL } unit_kind;
static unit_kind kind_of(const impulses *a, int64_t unit, int64_t *i)
{
  const int64_t n = a->scene.surfaces.n_vertices, n_rigid = a->scene.n_rigid;
  *i = unit < n ? unit : unit < n + n_rigid ? unit - n : unit - n - n_rigid;
  return unit < n ? UNIT_VERTEX : unit < n + n_rigid ? UNIT_RIGID : UNIT_WALL;
}

/* Mass, position and velocity of a unit for the fit; rigid bodies also have inertia and angular momentum. If the zone is fitted
 * to its constrained members, these have weight 1 and free ones 0. Walls always have weight 0. */
typedef struct {
  double        mass, inertia[9], spin[3];
  const double *x, *v;
} unit_weight;

static void unit_inertia(const impulses *a, int64_t unit, bool of_held, unit_weight *w)
{
  static const double  zero[3] = {0.0, 0.0, 0.0};
  int64_t              i;
  const impulse_rigid *b;
  memset(w, 0, sizeof *w);
  switch (kind_of(a, unit, &i)) {
  case UNIT_VERTEX:
    w->x = a->step->x0 + 3 * i, w->v = a->step->v + 3 * i;
    w->mass = of_held ? a->is_held[i] : a->is_held[i] ? 0.0 : 1.0 / a->scene.inverse_mass[i];
    break;
  case UNIT_RIGID:
    b    = &a->step->rigid[i];
    w->x = b->center, w->v = b->v;
    if (of_held || b->inverse_mass == 0.0) break; /* a constrained body prescribes the motion directly */
    w->mass = 1.0 / b->inverse_mass;
    if (does_turn(b)) {
      m3_inverse(w->inertia, b->inverse_inertia);
      m3_mulv(w->spin, w->inertia, b->w);
    }
    break;
  default: w->x = w->v = zero;
  }
}

/* The rigid motion with the total momentum and angular momentum of the units, about their center of mass. */
static void fit_rigid_motion(const impulses *a, const int32_t *unit, int64_t n, bool of_held, zone_motion *m)
{
  double      mass = 0.0, l[3] = {0.0, 0.0, 0.0}, inertia[9] = {0.0}, lambda[3], Q[9], r[3], u[3], turn[3];
  unit_weight w;
  for (int64_t k = 0; k < n; ++k) {
    unit_inertia(a, unit[k], of_held, &w);
    if (w.mass == 0.0) continue;
    mass += w.mass;
    v3_axpy(m->center, w.mass, w.x);
    v3_axpy(m->V, w.mass, w.v);
  }
  v3_scale(m->center, 1.0 / mass, m->center);
  v3_scale(m->V, 1.0 / mass, m->V);
  for (int64_t k = 0; k < n; ++k) {
    unit_inertia(a, unit[k], of_held, &w);
    if (w.mass == 0.0) continue;
    v3_sub(r, w.x, m->center);
    v3_sub(u, w.v, m->V);
    v3_cross(turn, r, u);
    v3_axpy(l, w.mass, turn);
    v3_axpy(l, 1.0, w.spin);
    m3_axpy(inertia, 1.0, w.inertia);
    for (int p = 0; p < 3; ++p)
      for (int q = 0; q < 3; ++q) inertia[3 * p + q] += w.mass * ((p == q ? v3_dot(r, r) : 0.0) - r[p] * r[q]);
  }
  m->inverse_mass = 1.0 / mass;
  if (!m->does_turn) return;
  eigen3_symmetric(inertia, lambda, Q);
  for (int k = 0; k < 3; ++k) {
    const double axis[3] = {Q[k], Q[3 + k], Q[6 + k]};
    if (!(lambda[k] > FLAT * lambda[0])) continue;
    v3_axpy(m->W, v3_dot(axis, l) / lambda[k], axis);
    for (int p = 0; p < 3; ++p)
      for (int q = 0; q < 3; ++q) m->inverse_inertia[3 * p + q] += axis[p] * axis[q] / lambda[k];
  }
}

/* y [6] = change of V, W due to the impulse x [3] at the center and the angular impulse x + 3. */
static void zone_impulse_response(const zone_motion *m, const double *x, double *y)
{
  v3_scale(y, m->inverse_mass, x);
  m3_mulv(y + 3, m->inverse_inertia, x + 3);
}
static double dot6(const double *x, const double *y) { return v3_dot(x, y) + v3_dot(x + 3, y + 3); }

/* Project the fitted motion, in the kinetic energy of the difference, onto the motions that keep constrained velocity
 * components. Each constraint is a row over (V, W), orthogonalised against the rows before it. Rows that contradict earlier ones
 * are skipped: the zone is then not rigid, and check_zones tests it after the solve. */
static void project_onto_constraints(const impulses *a, const int32_t *unit, int64_t n, zone_motion *m)
{
  double row[6][6], response[6][6], c[6], y[6];
  int    n_rows = 0;
  for (int64_t u = 0; u < n && n_rows < 6; ++u) {
    int64_t i;
    if (kind_of(a, unit[u], &i) != UNIT_VERTEX) continue;
    const unsigned held = held_components(&a->scene, i);
    for (int k = 0; k < 3 && n_rows < 6; ++k) {
      double r[3], spin[3], e[3] = {k == 0, k == 1, k == 2};
      if (!(held >> k & 1)) continue;
      v3_sub(r, a->step->x0 + 3 * i, m->center);
      v3_copy(c, e);
      v3_cross(c + 3, r, e);
      zone_impulse_response(m, c, y);
      const double whole = dot6(c, y);
      for (int p = 0; p < n_rows; ++p) {
        const double part = dot6(c, response[p]) / dot6(row[p], response[p]);
        for (int q = 0; q < 6; ++q) c[q] -= part * row[p][q];
      }
      zone_impulse_response(m, c, y);
      if (!(dot6(c, y) > NEW_ROW * whole)) continue;
      memcpy(row[n_rows], c, sizeof c), memcpy(response[n_rows], y, sizeof y);
      ++n_rows;
      /* velocity error of this row, with all rows before it satisfied */
      v3_cross(spin, m->W, r);
      const double missing = a->step->v[3 * i + k] - m->V[k] - spin[k];
      v3_axpy(m->V, missing / dot6(c, y), y), v3_axpy(m->W, missing / dot6(c, y), y + 3);
    }
  }
}

/* Conversion between the rotation vector per time and the w that gives the same rotation with cay. */
static double cayley_factor(double angle) { return angle < 1e-4 ? 1.0 + angle * angle / 12.0 : tan(0.5 * angle) / (0.5 * angle); }
static double exponential_factor(double w_dt) { return w_dt < 1e-4 ? 1.0 - w_dt * w_dt / 12.0 : 2.0 * atan(0.5 * w_dt) / w_dt; }

/* Choose the motion of a zone: that of a wall or a constrained body in it, else of its constrained vertices, else of all
 * members. */
static void choose_zone_motion(const impulses *a, const int32_t *unit, int64_t n, zone_motion *m)
{
  const double dt        = a->step->dt;
  bool         is_fitted = true, has_held_vertex = false;
  *m = (zone_motion){.does_turn = true};
  for (int64_t k = 0; k < n; ++k) {
    int64_t              i;
    const impulse_rigid *b;
    switch (kind_of(a, unit[k], &i)) {
    case UNIT_VERTEX:
      has_held_vertex   = has_held_vertex || a->is_held[i];
      m->is_partly_held = m->is_partly_held || held_components(&a->scene, i);
      break;
    case UNIT_RIGID:
      b            = &a->step->rigid[i];
      m->has_rigid = true;
      if (b->inverse_mass > 0.0) {
        m->does_turn = m->does_turn && does_turn(b);
      } else if (is_fitted) {
        is_fitted = false;
        v3_copy(m->center, b->center), v3_copy(m->V, b->v);
        v3_scale(m->W, b->is_cayley ? exponential_factor(dt * v3_norm(b->w)) : 1.0, b->w);
      }
      break;
    case UNIT_WALL:
      if (is_fitted) v3_copy(m->center, a->step->wall[i].point), v3_copy(m->V, a->step->wall[i].v);
      is_fitted = false;
      break;
    }
  }
  m->is_held = has_held_vertex || !is_fitted;
  if (is_fitted) fit_rigid_motion(a, unit, n, has_held_vertex, m);
  if (m->is_partly_held && !m->is_held) project_onto_constraints(a, unit, n, m);
  if (m->has_rigid) impulse_turn(m->W, dt, false, m->A);
  else m3_skew(m->A, m->W);
}

static void zone_velocity(const zone_motion *m, const double x[3], double v[3])
{
  double r[3];
  v3_sub(r, x, m->center);
  m3_mulv(v, m->A, r);
  v3_axpy(v, 1.0, m->V);
}

static double vector_distance(const double *a, const double *b) { return hypot(hypot(a[0] - b[0], a[1] - b[1]), a[2] - b[2]); }

/* Whether all constrained members move with the zone. check_zones tests vertices with single constrained components. */
static bool constrained_members_agree(const impulses *a, const zone_motion *m, const int32_t *unit, int64_t n)
{
  double       worst = 0.0, speed = v3_norm(m->V), worst_turn = 0.0, u[3], w[3];
  const double turn = v3_norm(m->W);
  for (int64_t k = 0; k < n; ++k) {
    int64_t              i;
    const impulse_rigid *b;
    switch (kind_of(a, unit[k], &i)) {
    case UNIT_VERTEX:
      if (!a->is_held[i]) break;
      zone_velocity(m, a->step->x0 + 3 * i, u);
      worst = fmax(worst, vector_distance(u, a->step->v + 3 * i)), speed = fmax(speed, v3_norm(a->step->v + 3 * i));
      break;
    case UNIT_RIGID:
      b = &a->step->rigid[i];
      if (b->inverse_mass > 0.0) {
        if (!does_turn(b)) worst_turn = fmax(worst_turn, fmax(turn, v3_norm(b->w)));
        break;
      }
      zone_velocity(m, b->center, u);
      worst = fmax(worst, vector_distance(u, b->v)), speed = fmax(speed, v3_norm(b->v));
      v3_scale(w, b->is_cayley ? exponential_factor(a->step->dt * v3_norm(b->w)) : 1.0, b->w);
      worst_turn = fmax(worst_turn, vector_distance(w, m->W));
      break;
    case UNIT_WALL: worst = fmax(worst, vector_distance(m->V, a->step->wall[i].v)), worst_turn = fmax(worst_turn, turn); break;
    }
  }
  return worst <= AGREEMENT * speed && worst_turn <= AGREEMENT * turn;
}

static double kinetic_energy(const impulses *a, const int32_t *unit, int64_t n)
{
  double      sum = 0.0;
  unit_weight w;
  for (int64_t k = 0; k < n; ++k) {
    int64_t i;
    unit_inertia(a, unit[k], false, &w);
    if (w.mass > 0.0) sum += 0.5 * w.mass * v3_dot(w.v, w.v);
    if (kind_of(a, unit[k], &i) == UNIT_RIGID) sum += 0.5 * v3_dot(w.spin, a->step->rigid[i].w);
  }
  return sum;
}

static void apply_zone_motion(impulses *a, const zone_motion *m, int64_t unit)
{
  const double   dt = a->step->dt;
  double         v[3];
  impulse_rigid *b;
  int64_t        i;
  switch (kind_of(a, unit, &i)) {
  case UNIT_VERTEX:
    zone_velocity(m, a->step->x0 + 3 * i, v);
    for (int k = 0; k < 3; ++k)
      if (!(held_components(&a->scene, i) >> k & 1)) a->step->v[3 * i + k] = v[k];
    break;
  case UNIT_RIGID:
    b = &a->step->rigid[i];
    if (b->inverse_mass == 0.0) break;
    zone_velocity(m, b->center, b->v);
    v3_scale(b->w, b->is_cayley ? cayley_factor(dt * v3_norm(m->W)) : 1.0, m->W);
    impulse_turn(b->w, dt, b->is_cayley, a->turn + 9 * i);
    break;
  default: break;
  }
}

/* Set the velocities of the members of each zone to their common rigid motion. */
static void impulse_motion_of_zones(impulses *a, step_status *status)
{
  impact_zones_sort(&a->zones);
  for (int64_t zone = 0; zone < a->zones.n_zones; ++zone) {
    const int32_t *unit = a->zones.order + a->zones.start[zone];
    const int64_t  n    = a->zones.start[zone + 1] - a->zones.start[zone];
    zone_motion    m;
    choose_zone_motion(a, unit, n, &m);
    if ((m.is_held || !m.does_turn) && !constrained_members_agree(a, &m, unit, n))
      *status = (step_status){STEP_COLLISION_UNRESOLVED, NULL, -1};
    if (m.has_rigid && !(a->step->dt * v3_norm(m.W) < LARGEST_TURN)) *status = (step_status){STEP_COLLISION_UNRESOLVED, NULL, -1};
    if (status->code != STEP_OK) {
      status->where = unit[0] < a->scene.surfaces.n_vertices ? unit[0] : -1;
      return;
    }
    a->report->zone_work -= kinetic_energy(a, unit, n);
    for (int64_t k = 0; k < n; ++k) apply_zone_motion(a, &m, unit[k]);
    a->report->zone_work += kinetic_energy(a, unit, n);
  }
}

/* ---- search for colliding pairs ---- */

/* Finds pairs that collide on their trajectories during the step. Between two searches of one step only few vertices change. The pairs of
 * the broad phase are therefore reused while vertices move less than a slack, and only pairs with a changed vertex are tested again. The
 * result is the same as without this reuse.
 *
 * Measured with two balls of 101,400 triangles that move into each other by two edges in one step (November 2026): 0.55 million
 * queries in three searches without slack, 82 million with a slack of four times the last change, which is one edge. Hence
 * MOST_SLACK. */

#define CERTAINTY 0.1              /* relative to the separation: error bound of the collision detection */
#define SLACK 4.0                  /* boxes grow by this multiple of the last change; motion up to half of it is allowed */
#define MOST_SLACK 0.05            /* relative to the mean edge */
#define NOISE (64.0 * DBL_EPSILON) /* relative to coordinates: rounding error of the height above a wall */

/* One search. */
typedef struct {
  impulses     *a;
  const double *x0, *x1;
  ccd_limits    limits;
  pair_kind     kind;
  bool          is_first;       /* test all pairs; otherwise the result of the previous search is used for pairs without a changed vertex */
  bool          is_listed_anew; /* previous results are read from a->before, otherwise from the flags */
} search;

static void nodes_of(const search *s, int64_t i, int32_t node[4])
{
  const broad_phase_surfaces *b = &s->a->scene.surfaces;
  const broad_phase_pair      p = s->a->list[s->kind].pair[i];
  if (s->kind == PAIR_EDGE_EDGE) {
    node[0] = b->edge[2 * (int64_t)p.first], node[1] = b->edge[2 * (int64_t)p.first + 1];
    node[2] = b->edge[2 * (int64_t)p.second], node[3] = b->edge[2 * (int64_t)p.second + 1];
  } else {
    node[0] = b->point ? b->point[p.first] : p.first;
    for (int k = 0; k < 3; ++k) node[1 + k] = b->triangle[3 * (int64_t)p.second + k];
  }
}

/* Whether a pair has no free vertices, or belongs to one zone. */
static bool is_idle(const impulses *a, const int32_t node[4])
{
  bool          is_held = true, is_one = true;
  const int32_t leader = a->leader[node[0]];
  for (int k = 0; k < 4; ++k) is_held = is_held && a->is_held[node[k]], is_one = is_one && a->leader[node[k]] == leader;
  return is_held || is_one;
}

static bool pair_collides(const search *s, const int32_t node[4], ccd_hit *hit)
{
  double     x0[12], x1[12];
  ccd_limits limits   = s->limits;
  const bool is_edges = s->kind == PAIR_EDGE_EDGE;
  for (int k = 0; k < 4; ++k) v3_copy(x0 + 3 * k, s->x0 + 3 * (int64_t)node[k]), v3_copy(x1 + 3 * k, s->x1 + 3 * (int64_t)node[k]);
  if (ccd_corners_are_apart(x0, x1, is_edges ? 2 : 1, limits.separation + limits.tolerance)) return false;
  for (int k = 0;; ++k) {
    if (!(is_edges ? ccd_edge_edge_conservative(x0, x1, &limits, hit) : ccd_point_triangle_conservative(x0, x1, &limits, hit)))
      return false;
    if (s->x0 == s->x1 || hit->t > 0.0 || limits.separation == 0.0 || k > 0) return true;
    limits.separation = 0.5 * hit->distance,
    limits.tolerance  = CERTAINTY * limits.separation; /* the initial distance is less than the separation: use half of it */
  }
}

/* Set the lever arms from the centers of the rigid bodies to the contact points of the features at the start of the step. */
static void set_arms(const impulses *a, colliding_pair *m, int n_nodes, int n_first, const double *x0)
{
  for (int side = 0; side < 2; ++side) {
    double       *arm = m->arm[side];
    const int32_t r   = m->side[side];
    v3_set(arm, 0.0, 0.0, 0.0);
    if (r < 0) continue;
    for (int k = side == 0 ? 0 : n_first; k < (side == 0 ? n_first : n_nodes); ++k)
      v3_axpy(arm, fabs(m->weight[k]), x0 + 3 * (int64_t)m->node[k]);
    v3_axpy(arm, -1.0, a->step->rigid[r].center);
  }
}

static void impulses_describe(const search *s, int64_t i, const int32_t node[4], const ccd_hit *hit, colliding_pair *m)
{
  const impulses        *a       = s->a;
  const broad_phase_pair p       = a->list[s->kind].pair[i];
  const int              n_first = s->kind == PAIR_EDGE_EDGE ? 2 : 1;
  *m = (colliding_pair){.first = p.first, .second = p.second, .kind = s->kind, .gap = hit->distance, .side = {-1, -1}};
  memcpy(m->node, node, sizeof m->node);
  v3_copy(m->normal, hit->normal);
  if (n_first == 2) m->weight[0] = 1.0 - hit->u, m->weight[1] = hit->u, m->weight[2] = hit->v - 1.0, m->weight[3] = -hit->v;
  else m->weight[0] = 1.0, m->weight[1] = hit->u + hit->v - 1.0, m->weight[2] = -hit->u, m->weight[3] = -hit->v;
  if (!a->scene.rigid || !a->step) return;
  m->side[0] = a->scene.rigid[node[0]], m->side[1] = a->scene.rigid[node[3]];
  set_arms(a, m, 4, n_first, s->x0);
}

/* Whether the pair collided in the previous search. */
static bool met_before(const search *s, broad_phase_pair p)
{
  const uint64_t *key = s->a->before, sought = meeting_key(s->kind, p.first, p.second);
  int64_t         from = 0, to = s->a->n_before;
  while (from < to) {
    const int64_t middle = from + (to - from) / 2;
    if (key[middle] < sought) from = middle + 1;
    else to = middle;
  }
  return from < s->a->n_before && key[from] == sought;
}

static PetscErrorCode remember_pairs(impulses *a)
{
  PetscFunctionBegin;
  PetscCall(memory_reserve("colliding pairs", a->n, sizeof *a->before, &a->before_capacity, &a->before));
  a->n_before = 0;
  for (int64_t i = 0; i < a->n; ++i)
    if (a->found[i].kind != PAIR_POINT_WALL)
      a->before[a->n_before++] = meeting_key(a->found[i].kind, a->found[i].first, a->found[i].second);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Append the colliding pairs of one kind to a->found in their order. */
static PetscErrorCode find_colliding_pairs(search *s)
{
  impulses       *a     = s->a;
  candidate_list *list  = &a->list[s->kind];
  int64_t         n_hit = 0, n_queried = 0, n = 0;
  PetscFunctionBegin;
  PetscCall(memory_reserve("colliding pairs", list->n, sizeof *list->flag, &list->n_flags, &list->flag));
#pragma omp parallel for schedule(dynamic, 256) reduction(+ : n_hit, n_queried)
  for (int64_t i = 0; i < list->n; ++i) {
    int32_t node[4];
    ccd_hit hit;
    nodes_of(s, i, node);
    bool is_new = s->is_first;
    for (int k = 0; k < 4; ++k) is_new = is_new || a->is_changed[node[k]];
    if (is_idle(a, node)) list->flag[i] = false;
    else if (is_new) list->flag[i] = pair_collides(s, node, &hit), ++n_queried;
    else if (s->is_listed_anew) list->flag[i] = met_before(s, list->pair[i]);
    n_hit += list->flag[i];
  }
  if (a->report) a->report->n_queries += n_queried;
  PetscCall(memory_reserve("colliding pairs", n_hit, sizeof *a->index, &a->n_index, &a->index));
  PetscCall(memory_reserve("colliding pairs", a->n + n_hit, sizeof *a->found, &a->capacity, &a->found));
  for (int64_t i = 0; i < list->n; ++i)
    if (list->flag[i]) a->index[n++] = i;
#pragma omp parallel for schedule(dynamic, 16)
  for (int64_t k = 0; k < n_hit; ++k) {
    int32_t node[4];
    ccd_hit hit;
    nodes_of(s, a->index[k], node);
    (void)pair_collides(s, node, &hit);
    impulses_describe(s, a->index[k], node, &hit, &a->found[a->n + k]);
  }
  a->n += n_hit;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- walls ---- */

/* Whether the vertex is closer to the wall than the separation, at the start of the step or (x1 != x0) at its end. */
static bool is_behind(const search *s, const impulse_wall *w, int32_t vertex, double *gap)
{
  const double *x0 = s->x0 + 3 * (int64_t)vertex, *x1 = s->x1 + 3 * (int64_t)vertex, dt = s->a->step->dt;
  double        d0[3], d1[3], size                                                      = 0.0;
  for (int k = 0; k < 3; ++k) {
    const double p0 = w->point[k], p1 = p0 + dt * w->v[k];
    d0[k] = x0[k] - p0, d1[k] = x1[k] - p1;
    size += fabs(x0[k]) + fabs(x1[k]) + fabs(p0) + fabs(p1);
  }
  *gap = v3_dot(w->normal, d0);
  if (s->x0 == s->x1) return *gap < s->limits.separation;
  return v3_dot(w->normal, d1) < (*gap > NOISE * size ? fmin(s->limits.separation, 0.5 * *gap) : *gap - NOISE * size);
}

static PetscErrorCode find_wall_collisions(search *s)
{
  impulses                   *a    = s->a;
  const broad_phase_surfaces *b    = &a->scene.surfaces;
  candidate_list             *list = &a->list[PAIR_POINT_WALL]; /* only flags are used */
  PetscFunctionBegin;
  if (a->scene.n_walls == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(memory_reserve("points behind walls", b->n_points, sizeof *list->flag, &list->n_flags, &list->flag));
  for (int32_t w = 0; w < a->scene.n_walls; ++w) {
    const impulse_wall *wall   = &a->step->wall[w];
    const int32_t       leader = impact_zones_find(&a->zones, (int32_t)(b->n_vertices + a->scene.n_rigid + w));
    int64_t             n_hit  = 0;
#pragma omp parallel for schedule(static) reduction(+ : n_hit)
    for (int64_t i = 0; i < b->n_points; ++i) {
      const int32_t v = b->point ? b->point[i] : (int32_t)i;
      double        gap;
      const bool    has_contact = b->n_bodies == 0 || b->can_touch[pair_slot(b->pairs, b->n_bodies, b->body[v], wall->body)];
      list->flag[i]             = has_contact && !a->is_held[v] && a->leader[v] != leader && is_behind(s, wall, v, &gap);
      n_hit += list->flag[i];
    }
    PetscCall(memory_reserve("colliding pairs", a->n + n_hit, sizeof *a->found, &a->capacity, &a->found));
    for (int64_t i = 0; i < b->n_points && n_hit > 0; ++i) {
      if (!list->flag[i]) continue;
      const int32_t   v = b->point ? b->point[i] : (int32_t)i;
      colliding_pair *m = &a->found[a->n++];
      *m = (colliding_pair){.node = {v, v, v, v}, .first = v, .second = w, .kind = PAIR_POINT_WALL, .weight = {1.0}, .side = {-1, -2}};
      (void)is_behind(s, wall, v, &m->gap);
      v3_copy(m->normal, wall->normal);
      if (a->scene.rigid) m->side[0] = a->scene.rigid[v];
      set_arms(a, m, 1, 1, s->x0);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- all kinds of pairs ---- */

static PetscErrorCode find_all_collisions(search *s)
{
  PetscFunctionBegin;
  s->a->n = 0;
  s->kind = PAIR_POINT_TRIANGLE;
  PetscCall(find_colliding_pairs(s));
  s->kind = PAIR_EDGE_EDGE;
  PetscCall(find_colliding_pairs(s));
  if (s->a->step) PetscCall(find_wall_collisions(s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode list_pairs(impulses *a, const double *x0, const double *x1, double margin, int64_t *bad)
{
  candidate_list *points = &a->list[PAIR_POINT_TRIANGLE], *edges = &a->list[PAIR_EDGE_EDGE];
  PetscFunctionBegin;
  PetscCall(broad_phase_update(a->broad, x0, x1, margin, bad));
  if (*bad >= 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(broad_phase_point_triangle(a->broad, &points->n, &points->pair));
  PetscCall(broad_phase_edge_edge(a->broad, &edges->n, &edges->pair));
  if (a->report) ++a->report->n_searches;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Append to a->found all pairs whose distance falls below `separation` between x0 and x1. *bad: first vertex that is not finite,
 * or -1. */
static PetscErrorCode impulse_search_all(impulses *a, const double *x0, const double *x1, double separation, int64_t *bad)
{
  search s = {.a = a, .x0 = x0, .x1 = x1, .limits = {separation, CERTAINTY * separation}, .is_first = true};
  PetscFunctionBegin;
  a->n = 0, a->slack = -1.0;
  PetscCall(list_pairs(a, x0, x1, separation + s.limits.tolerance, bad));
  if (*bad < 0) PetscCall(find_all_collisions(&s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* As impulse_search_all for the step from x0 to a->x1; only pairs with changed vertices are tested. */
static PetscErrorCode impulse_search_again(impulses *a, double separation, int64_t *bad)
{
  double change, listed_change;
  PetscFunctionBegin;
  *bad = -1;
  impulse_motion_ends(a, &change, &listed_change);
  search s = {.a = a, .x0 = a->step->x0, .x1 = a->x1, .limits = {separation, CERTAINTY * separation}};
  if (a->options->is_thorough || !(2.0 * listed_change <= a->slack * (1.0 - 1e-9))) {
    s.is_first = a->options->is_thorough || a->slack < 0.0, s.is_listed_anew = true;
    a->slack = s.is_first ? 0.0 : fmin(SLACK * change, MOST_SLACK * a->edge);
    PetscCall(remember_pairs(a));
    PetscCall(list_pairs(a, s.x0, s.x1, separation + s.limits.tolerance + a->slack, bad));
    if (*bad >= 0) PetscFunctionReturn(PETSC_SUCCESS);
    memcpy(a->x1_listed, a->x1, 3 * (size_t)a->scene.surfaces.n_vertices * sizeof *a->x1);
  }
  PetscCall(find_all_collisions(&s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- colouring of pairs ---- */

/* Pairs of one colour share no moving unit, so that threads can process them in parallel. Colours are assigned greedily in the
 * order of the pairs and depend only on the pairs. A pair without a free colour has the last one. */

enum { LAST = IMPULSE_COLOURS - 1 };

static int units_of(const impulses *a, const colliding_pair *m, int32_t unit[4])
{
  int n = 0;
  for (int k = 0; k < (m->kind == PAIR_POINT_WALL ? 1 : 4); ++k)
    if (!a->is_held[m->node[k]]) unit[n++] = a->unit[m->node[k]];
  return n;
}

/* Fill a->order with the pairs sorted by colour; start [IMPULSE_COLOURS + 1]. */
static PetscErrorCode impulse_colour(impulses *a, int64_t *start)
{
  int64_t count[IMPULSE_COLOURS] = {0};
  int32_t unit[4];
  PetscFunctionBegin;
  PetscCall(MEMORY_RESERVE("order of pairs", a->n, &a->order_capacity, ARRAY(a->order, 1), ARRAY(a->colour, 1)));
  for (int64_t i = 0; i < a->n; ++i) {
    const int n    = units_of(a, &a->found[i], unit);
    uint64_t  used = 0;
    for (int k = 0; k < n; ++k) used |= a->used[unit[k]];
    const uint64_t left = ~used & ~(UINT64_C(1) << LAST);
    const int      c    = left ? __builtin_ctzll(left) : LAST;
    for (int k = 0; k < n; ++k) a->used[unit[k]] |= UINT64_C(1) << c;
    a->colour[i] = c;
    ++count[c];
  }
  start[0] = 0;
  for (int c = 0; c < IMPULSE_COLOURS; ++c) start[c + 1] = start[c] + count[c], count[c] = start[c];
  for (int64_t i = 0; i < a->n; ++i) {
    const int n = units_of(a, &a->found[i], unit);
    for (int k = 0; k < n; ++k) a->used[unit[k]] = 0;
    a->order[count[a->colour[i]]++] = (int32_t)i;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- record of contacts ---- */

/* Total impulse of each pair over all passes of a solve. */

static PetscErrorCode impulse_contacts_keep(impulses *a)
{
  PetscFunctionBegin;
  PetscCall(memory_reserve("impulses", a->n_given + a->n, sizeof *a->given, &a->given_capacity, &a->given));
  for (int64_t i = 0; i < a->n; ++i)
    if (a->found[i].j > 0.0) a->given[a->n_given++] = a->found[i];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Add one more impulse to the record of a pair; its features are those of the last impulse. */
static void add_impulse(impulse_contact *c, const colliding_pair *m)
{
  c->pressed += m->j;
  v3_axpy(c->normal, m->j, m->normal);
  v3_axpy(c->friction, 1.0, m->friction);
  c->is_sliding = m->is_sliding;
}

static void impulses_finish(const impulses *a, impulse_contact *c, const colliding_pair *m)
{
  const broad_phase_surfaces *b        = &a->scene.surfaces;
  const bool                  is_wall  = m->kind == PAIR_POINT_WALL;
  const int                   n_first  = m->kind == PAIR_EDGE_EDGE ? 2 : 1;
  double                      first[3] = {0.0, 0.0, 0.0}, second[3] = {0.0, 0.0, 0.0}, apart[3];
  for (int k = 0; k < 3; ++k) c->impulse[k] = c->normal[k] + c->friction[k];
  const double size = v3_norm(c->normal);
  v3_scale(c->normal, size > 0.0 ? 1.0 / size : 0.0, c->normal);
  for (int k = 0; k < 4; ++k) v3_axpy(k < n_first ? first : second, fabs(m->weight[k]), a->x1 + 3 * (int64_t)m->node[k]);
  if (is_wall) {
    const impulse_wall *w = &a->step->wall[m->second];
    for (int k = 0; k < 3; ++k) apart[k] = first[k] - w->point[k] - a->step->dt * w->v[k];
    c->gap = v3_dot(apart, w->normal);
    v3_copy(second, first);
    v3_axpy(second, -c->gap, w->normal);
  } else {
    v3_sub(apart, first, second);
    c->gap = v3_dot(apart, c->normal);
  }
  v3_copy(c->place, second);
  c->body[0] = b->n_bodies ? b->body[m->node[0]] : 0;
  c->body[1] = is_wall ? a->step->wall[m->second].body : b->n_bodies ? b->body[m->node[3]] : 0;
}

static PetscErrorCode impulse_contacts_gather(impulses *a)
{
  const int64_t n    = a->n_given;
  uint64_t     *key  = NULL;
  int32_t      *perm = NULL;
  PetscFunctionBegin;
  a->n_contacts = 0;
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(memory_reserve("contacts", n, sizeof *a->contact, &a->contact_capacity, &a->contact));
  PetscErrorCode code = MEMORY_ALLOC("contacts", ARRAY(key, n), ARRAY(perm, n));
  for (int64_t i = 0; i < n && !code; ++i) key[i] = meeting_key(a->given[i].kind, a->given[i].first, a->given[i].second);
  if (!code) code = sort_keys(n, 64, key, perm);
  for (int64_t i = 0; i < n && !code; ++i) {
    if (i == 0 || key[i] != key[i - 1]) a->contact[a->n_contacts++] = (impulse_contact){0};
    add_impulse(&a->contact[a->n_contacts - 1], &a->given[perm[i]]);
    if (i + 1 == n || key[i + 1] != key[i]) impulses_finish(a, &a->contact[a->n_contacts - 1], &a->given[perm[i]]);
  }
  MEMORY_FREE(&key, &perm);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- impulses on pairs ---- */

/* Sequential impulses (Gauss-Seidel): each pair uses the velocities changed by the pairs before it. */

#define OVERLAP_SPEED 0.1 /* largest fraction of the overlap that the spring corrects in one step [BridsonEtAl2002, sec. 7.1] */
#define SETTLED 1e-3      /* iteration of friction on rigid bodies: relative change of the normal velocity at which it ends */
enum { SWEEPS = 8, FEW = 256 /* fewer pairs are processed serially */, FEW_OF_A_COLOUR = 64 };

static int n_first_of(const colliding_pair *m) { return m->kind == PAIR_EDGE_EDGE ? 2 : 1; }

static impulse_law law_of(const impulses *a, const colliding_pair *m)
{
  const broad_phase_surfaces *b = &a->scene.surfaces;
  if (!a->scene.law) return (impulse_law){0.0, 0.0};
  if (b->n_bodies == 0) return a->scene.law[0];
  const int32_t second = m->kind == PAIR_POINT_WALL ? a->step->wall[m->second].body : b->body[m->node[3]];
  return a->scene.law[pair_slot(b->pairs, b->n_bodies, b->body[m->node[0]], second)];
}

/* Velocity of the first feature relative to the second: mean in the step (`over`), and at the start of the step (`now`, may be NULL). They
 * differ if a body rotates. */
static void relative_velocity(const impulses *a, const colliding_pair *m, double over[3], double now[3])
{
  const int n_first = n_first_of(m);
  double    u[3];
  v3_set(over, 0.0, 0.0, 0.0);
  if (now) v3_set(now, 0.0, 0.0, 0.0);
  for (int side = 0; side < 2; ++side) {
    const int32_t r    = m->side[side];
    const double  sign = side == 0 ? 1.0 : -1.0;
    if (r >= 0) {
      const impulse_rigid *b = &a->step->rigid[r];
      m3_mulv(u, a->turn + 9 * (int64_t)r, m->arm[side]);
      v3_axpy(u, 1.0, b->v);
      v3_axpy(over, sign, u);
      v3_cross(u, b->w, m->arm[side]);
      v3_axpy(u, 1.0, b->v);
      if (now) v3_axpy(now, sign, u);
    } else if (r == -2) {
      v3_axpy(over, sign, a->step->wall[m->second].v);
      if (now) v3_axpy(now, sign, a->step->wall[m->second].v);
    } else {
      for (int k = side == 0 ? 0 : n_first; k < (side == 0 ? n_first : 4); ++k) {
        v3_axpy(over, m->weight[k], a->step->v + 3 * (int64_t)m->node[k]);
        if (now) v3_axpy(now, m->weight[k], a->step->v + 3 * (int64_t)m->node[k]);
      }
    }
  }
}

/* Sum of d_k^2 over the free velocity components k of a vertex. */
static double free_share(const impulses *a, int32_t node, const double d[3])
{
  if (!a->scene.held_axes) return v3_dot(d, d);
  double sum = 0.0;
  for (int k = 0; k < 3; ++k) sum += a->scene.held_axes[node] >> k & 1 ? 0.0 : d[k] * d[k];
  return sum;
}

/* Whether friction changes the normal velocity of the pair. */
static bool is_coupled(const impulses *a, const colliding_pair *m)
{
  bool is_partly_held = false;
  for (int k = 0; k < 4 && a->scene.held_axes; ++k) {
    const unsigned held = a->scene.held_axes[m->node[k]];
    is_partly_held      = is_partly_held || (held != 0 && held != 7);
  }
  return m->side[0] >= 0 || m->side[1] >= 0 || is_partly_held;
}

/* Velocity along d per unit impulse along d; 0: neither side can move. */
static double mobility(const impulses *a, const colliding_pair *m, const double d[3])
{
  const int n_first = n_first_of(m);
  double    sum     = 0.0, turn[3], w[3];
  for (int side = 0; side < 2; ++side) {
    const int32_t r = m->side[side];
    if (r >= 0) {
      const impulse_rigid *b = &a->step->rigid[r];
      v3_cross(turn, m->arm[side], d);
      m3_mulv(w, b->inverse_inertia, turn);
      sum += b->inverse_mass + v3_dot(turn, w);
    } else if (r == -1) {
      for (int k = side == 0 ? 0 : n_first; k < (side == 0 ? n_first : 4); ++k)
        sum += m->weight[k] * m->weight[k] * a->scene.inverse_mass[m->node[k]] * free_share(a, m->node[k], d);
    }
  }
  return sum;
}

/* Apply impulse j d. Constrained units may be shared by pairs on other threads and are therefore not written. */
static void apply_impulse(impulses *a, const colliding_pair *m, double j, const double d[3])
{
  const int n_first = n_first_of(m);
  double    turn[3], w[3];
  for (int side = 0; side < 2; ++side) {
    const int32_t r    = m->side[side];
    const double  sign = side == 0 ? 1.0 : -1.0;
    if (r >= 0) {
      impulse_rigid *b = &a->step->rigid[r];
      if (b->inverse_mass == 0.0) continue;
      v3_cross(turn, m->arm[side], d);
      m3_mulv(w, b->inverse_inertia, turn);
      v3_axpy(b->v, sign * j * b->inverse_mass, d);
      v3_axpy(b->w, sign * j, w);
      impulse_turn(b->w, a->step->dt, b->is_cayley, a->turn + 9 * (int64_t)r);
    } else if (r == -1) {
      for (int k = side == 0 ? 0 : n_first; k < (side == 0 ? n_first : 4); ++k) {
        const unsigned held  = held_components(&a->scene, m->node[k]);
        const double   share = j * m->weight[k] * a->scene.inverse_mass[m->node[k]];
        for (int i = 0; i < 3; ++i)
          if (!(held >> i & 1)) a->step->v[3 * (int64_t)m->node[k] + i] += share * d[i];
      }
    }
  }
}

static void apply_normal_impulse(impulses *a, colliding_pair *m, double j, double inverse_effective_mass)
{
  double over[3], now[3];
  relative_velocity(a, m, over, now);
  m->work[0] += j * (v3_dot(now, m->normal) + 0.5 * j * inverse_effective_mass);
  m->j += j;
  apply_impulse(a, m, j, m->normal);
}

/* Apply friction, limited by the cone of the normal impulse applied so far. */
static void apply_friction_impulse(impulses *a, colliding_pair *m, double friction)
{
  double       over[3], now[3], d[3];
  const double limit = friction * m->j - v3_norm(m->friction);
  if (!(limit > 0.0)) return;
  relative_velocity(a, m, over, now);
  for (int k = 0; k < 3; ++k) d[k] = over[k] - v3_dot(over, m->normal) * m->normal[k];
  const double slip = v3_norm(d);
  if (!(slip > 0.0)) return;
  v3_scale(d, 1.0 / slip, d);
  const double inverse_effective_mass = mobility(a, m, d);
  if (!(inverse_effective_mass > 0.0)) return;
  const double f = fmin(limit, slip / inverse_effective_mass);
  m->is_sliding  = limit < slip / inverse_effective_mass;
  m->work[1] += f * (-v3_dot(now, d) + 0.5 * f * inverse_effective_mass);
  v3_axpy(m->friction, -f, d);
  apply_impulse(a, m, -f, d);
}

/* Near pass, one pair: an impulse that stops the approach, and a spring that corrects at most a fraction of the overlap. */
static void resolve_near_pair(impulses *a, colliding_pair *m)
{
  const impulse_options *o                      = a->options;
  const double           inverse_effective_mass = mobility(a, m, m->normal), overlap = o->thickness - m->gap, dt = a->step->dt;
  const double           limit = OVERLAP_SPEED * overlap / dt;
  double                 u[3], j = 0.0;
  if (!(inverse_effective_mass > 0.0)) return;
  relative_velocity(a, m, u, NULL);
  double speed = v3_dot(u, m->normal);
  if (speed < 0.0) j = -speed / inverse_effective_mass, speed = 0.0;
  if (speed < limit) j += fmin(dt * o->stiffness * overlap, (limit - speed) / inverse_effective_mass);
  if (!(j > 0.0)) return;
  apply_normal_impulse(a, m, j, inverse_effective_mass);
  apply_friction_impulse(a, m, law_of(a, m).friction);
}

/* Collision pass, one pair: normal impulse with restitution, and friction. */
static void resolve_collision(impulses *a, colliding_pair *m)
{
  const impulse_law law                    = law_of(a, m);
  const double      inverse_effective_mass = mobility(a, m, m->normal);
  double            u[3], first = 0.0;
  if (!(inverse_effective_mass > 0.0)) return;
  for (int sweep = 0; sweep < SWEEPS; ++sweep) {
    relative_velocity(a, m, u, NULL);
    const double speed = v3_dot(u, m->normal);
    if (!(speed < SETTLED * first)) return;
    apply_normal_impulse(a, m, -(sweep == 0 ? 1.0 + law.restitution : 1.0) * speed / inverse_effective_mass, inverse_effective_mass);
    apply_friction_impulse(a, m, law.friction);
    if (!is_coupled(a, m)) return;
    if (sweep == 0) first = speed;
  }
}

/* Process all pairs found, as near pairs or as colliding pairs. *n_pushed: number of pairs with an impulse. */
static PetscErrorCode impulse_apply(impulses *a, bool is_near, int64_t *n_pushed)
{
  void (*const resolve_pair)(impulses *, colliding_pair *) = is_near ? resolve_near_pair : resolve_collision;
  int64_t start[IMPULSE_COLOURS + 1], n = 0;
  PetscFunctionBegin;
  if (a->n < FEW) {
    for (int64_t i = 0; i < a->n; ++i) resolve_pair(a, &a->found[i]);
  } else {
    PetscCall(impulse_colour(a, start));
    for (int c = 0; c < IMPULSE_COLOURS; ++c) {
      const int64_t from = start[c], to = start[c + 1];
#pragma omp parallel for schedule(static) if (c < IMPULSE_COLOURS - 1 && to - from > FEW_OF_A_COLOUR)
      for (int64_t i = from; i < to; ++i) resolve_pair(a, &a->found[a->order[i]]);
    }
  }
  for (int64_t i = 0; i < a->n; ++i) {
    const colliding_pair *m = &a->found[i];
    n += m->j > 0.0;
    a->report->normal_work += m->work[0], a->report->friction_work += m->work[1];
  }
  *n_pushed = n;
  PetscCall(impulse_contacts_keep(a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- creation and solve ---- */

#define APART 1e-3 /* minimum distance of pairs, relative to the thickness */

/* ---- creation ---- */

/* Assign each vertex to its own unit, or to its rigid body. An edge or triangle must belong to one body. */
static PetscErrorCode fill_units(impulses *a)
{
  const impulse_scene        *c = &a->scene;
  const broad_phase_surfaces *b = &c->surfaces;
  PetscFunctionBegin;
  for (int64_t i = 0; i < b->n_vertices; ++i) {
    const int32_t r = c->rigid ? c->rigid[i] : -1;
    PetscCheck(r >= -1 && r < c->n_rigid, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "vertex %lld has rigid body %d; expected -1 or more, less than %d", (long long)i, (int)r, (int)c->n_rigid);
    a->unit[i] = a->leader[i] = r < 0 ? (int32_t)i : (int32_t)(b->n_vertices + r);
    a->is_held[i]             = r < 0 && c->inverse_mass[i] == 0.0;
  }
  if (!c->rigid) PetscFunctionReturn(PETSC_SUCCESS);
  for (int64_t i = 0; i < 2 * b->n_edges; ++i)
    PetscCheck(c->rigid[b->edge[i]] == c->rigid[b->edge[i - i % 2]], PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "edge %lld: only one end belongs to its rigid body; expected both ends", (long long)(i / 2));
  for (int64_t i = 0; i < 3 * b->n_triangles; ++i)
    PetscCheck(c->rigid[b->triangle[i]] == c->rigid[b->triangle[i - i % 3]], PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "triangle %lld: only some corners belong to its rigid body; expected all three", (long long)(i / 3));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Create the broad phase without pairs of features of the same rigid body, which cannot collide. */
static PetscErrorCode create_broad_phase(impulses *a)
{
  const impulse_scene *c = &a->scene;
  broad_phase_surfaces b = c->surfaces;
  const int64_t        n = b.n_bodies;
  bool                *can_touch;
  int32_t             *carrier; /* [n] rigid body of all vertices of a body; -1: none; -2: no vertex processed */
  PetscFunctionBegin;
  if (!c->rigid || n == 0) {
    PetscCall(broad_phase_create(&b, &a->broad));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(memory_copy("broad phase", pair_n_slots(b.pairs, n), sizeof *can_touch, b.can_touch, &can_touch));
  PetscErrorCode code = memory_alloc("broad phase", n, sizeof *carrier, &carrier);
  if (!code) {
    for (int64_t k = 0; k < n; ++k) carrier[k] = -2;
    for (int64_t i = 0; i < b.n_vertices; ++i) {
      int32_t *const of = b.body[i] >= 0 && b.body[i] < n ? &carrier[b.body[i]] : NULL;
      if (of) *of = *of == -2 || *of == c->rigid[i] ? c->rigid[i] : -1;
    }
    for (int32_t k = 0; k < n; ++k)
      if (carrier[k] >= 0) can_touch[pair_slot(b.pairs, n, k, k)] = false;
    b.can_touch = can_touch;
    code        = broad_phase_create(&b, &a->broad);
  }
  MEMORY_FREE(&can_touch, &carrier);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode impulses_fill(const impulse_scene *scene, impulses *a)
{
  const int64_t n = scene->surfaces.n_vertices;
  PetscFunctionBegin;
  a->scene   = *scene;
  a->n_units = n + scene->n_rigid + scene->n_walls;
  PetscCheck(a->n_units <= INT32_MAX, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "%lld vertices, rigid bodies and walls; at most 2147483647 are supported", (long long)a->n_units);
  PetscCall(create_broad_phase(a));
  PetscCall(impact_zones_create(a->n_units, &a->zones));
  impact_zones_clear(&a->zones);
  PetscCall(MEMORY_ALLOC("impulses", ARRAY(a->x1, 3 * n), ARRAY(a->x1_before, 3 * n), ARRAY(a->x1_listed, 3 * n), ARRAY(a->unit, n),
                         ARRAY(a->leader, n), ARRAY(a->is_held, n), ARRAY(a->is_changed, n), ARRAY(a->turn, 9 * (int64_t)scene->n_rigid),
                         ARRAY(a->placed, 6 * (int64_t)scene->n_rigid), ARRAY(a->used, a->n_units)));
  PetscCall(fill_units(a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode impulses_create(const impulse_scene *scene, impulses **out)
{
  PetscFunctionBegin;
  PetscCall(memory_alloc("impulses", 1, sizeof **out, out));
  const PetscErrorCode code = impulses_fill(scene, *out);
  if (code) impulses_destroy(out);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void impulses_destroy(impulses **out)
{
  if (!out || !*out) return;
  impulses *a = *out;
  broad_phase_destroy(&a->broad);
  impact_zones_destroy(&a->zones);
  MEMORY_FREE(&a->x1, &a->x1_before, &a->x1_listed, &a->unit, &a->leader, &a->is_held, &a->is_changed, &a->turn, &a->placed, &a->used);
  for (int k = 0; k < 3; ++k) memory_free(&a->list[k].flag);
  MEMORY_FREE(&a->found, &a->index, &a->order, &a->colour, &a->given, &a->contact, &a->before, out);
}

/* ---- the passes ---- */

static void set_not_finite(int64_t vertex, step_status *status)
{
  if (vertex >= 0) *status = (step_status){STEP_NOT_FINITE, NULL, vertex};
}

/* Merge the units of colliding pairs into rigid zones until no collision remains. Each round merges at least two units, so it
 * terminates. */
static PetscErrorCode rigid_zones(impulses *a, double separation, step_status *status)
{
  const int64_t first_rigid = a->scene.surfaces.n_vertices, first_wall = first_rigid + a->scene.n_rigid;
  int64_t       bad;
  PetscFunctionBegin;
  while (a->n > 0 && status->code == STEP_OK) {
    ++a->report->n_zone_rounds;
    for (int64_t i = 0; i < a->n; ++i) {
      const colliding_pair *m = &a->found[i];
      for (int k = 1; k < 4; ++k) impact_zones_merge(&a->zones, a->unit[m->node[0]], a->unit[m->node[k]]);
      if (m->kind == PAIR_POINT_WALL) impact_zones_merge(&a->zones, a->unit[m->node[0]], (int32_t)(first_wall + m->second));
    }
    for (int64_t i = 0; i < first_rigid; ++i) a->leader[i] = impact_zones_find(&a->zones, a->unit[i]);
    impulse_motion_of_zones(a, status);
    if (status->code != STEP_OK) break;
    PetscCall(impulse_search_again(a, separation, &bad));
    set_not_finite(bad, status);
  }
  a->report->n_zones      = a->zones.n_zones;
  a->report->n_zone_nodes = a->zones.n_zones > 0 ? a->zones.start[a->zones.n_zones] : 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode near_pass(impulses *a, step_status *status)
{
  int64_t bad;
  PetscFunctionBegin;
  PetscCall(impulse_search_all(a, a->step->x0, a->step->x0, a->options->thickness, &bad));
  set_not_finite(bad, status);
  if (bad < 0) PetscCall(impulse_apply(a, true, &a->report->n_near));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode collision_pass(impulses *a, step_status *status)
{
  const double    separation = APART * a->options->thickness;
  impulse_report *out        = a->report;
  int64_t         bad, n_pushed = 1;
  PetscFunctionBegin;
  a->slack = -1.0;
  while (n_pushed > 0) {
    PetscCall(impulse_search_again(a, separation, &bad));
    set_not_finite(bad, status);
    if (bad >= 0 || a->n == 0) PetscFunctionReturn(PETSC_SUCCESS);
    if (stop_is_urgent()) {
      *status = (step_status){STEP_INTERRUPTED, NULL, -1};
      PetscFunctionReturn(PETSC_SUCCESS);
    }
    out->n_collisions += a->n;
    n_pushed = 0;
    if (out->n_iterations++ < a->options->max_iterations) PetscCall(impulse_apply(a, false, &n_pushed));
  }
  PetscCall(rigid_zones(a, separation, status));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Velocities of the vertices of rigid bodies from their end positions. */
static void carried_velocities(impulses *a)
{
  const impulse_step *s = a->step;
  if (!a->scene.rigid) return;
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < a->scene.surfaces.n_vertices; ++i)
    for (int k = 0; k < 3 && a->scene.rigid[i] >= 0; ++k) s->v[3 * i + k] = (a->x1[3 * i + k] - s->x0[3 * i + k]) / s->dt;
}

/* A zone in which only some vertices have constrained components may not be rigid: test for collisions inside zones. */
static PetscErrorCode check_zones(impulses *a, step_status *status)
{
  int64_t bad;
  PetscFunctionBegin;
  if (!a->scene.held_axes || a->report->n_zones == 0) PetscFunctionReturn(PETSC_SUCCESS);
  for (int64_t i = 0; i < a->scene.surfaces.n_vertices; ++i) a->leader[i] = a->unit[i];
  PetscCall(impulse_search_all(a, a->step->x0, a->x1, 0.0, &bad));
  if (a->n > 0) *status = (step_status){STEP_COLLISION_UNRESOLVED, NULL, -1};
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode solve_impulses(impulses *a, step_status *status)
{
  PetscFunctionBegin;
  impact_zones_clear(&a->zones);
  PetscCall(impulse_motion_begin(a));
  if (a->options->thickness > 0.0 && !a->options->skips_near) PetscCall(near_pass(a, status));
  if (status->code == STEP_OK) PetscCall(collision_pass(a, status));
  if (status->code == STEP_OK) PetscCall(impulse_contacts_gather(a));
  if (status->code == STEP_OK) PetscCall(check_zones(a, status));
  if (status->code == STEP_OK) carried_velocities(a);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode impulses_solve(impulses *a, const impulse_options *o, const impulse_step *step, step_status *status, impulse_report *out)
{
  PetscFunctionBegin;
  *out       = (impulse_report){0};
  a->step    = step;
  a->options = o, a->report = out;
  a->n_given = a->n_contacts = 0;
  const PetscErrorCode code  = solve_impulses(a, status);
  a->step = NULL, a->options = NULL, a->report = NULL;
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode impulses_find_near(impulses *a, double distance, const impulse_step *step, int64_t *n, impulse_near **list)
{
  const broad_phase_surfaces *b = &a->scene.surfaces;
  int64_t                     bad;
  PetscFunctionBegin;
  *n = 0, *list = NULL;
  a->step = step;
  impact_zones_clear(&a->zones);
  for (int64_t i = 0; i < b->n_vertices; ++i) a->leader[i] = a->unit[i];
  const PetscErrorCode code = impulse_search_all(a, step->x0, step->x0, distance, &bad);
  a->step                   = NULL;
  PetscCall(code);
  if (bad >= 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(memory_alloc("near pairs", a->n, sizeof **list, list));
  for (int64_t i = 0; i < a->n; ++i) {
    const colliding_pair *m  = &a->found[i];
    impulse_near         *to = &(*list)[i];
    to->gap                  = m->gap;
    to->body[0]              = b->n_bodies ? b->body[m->node[0]] : 0;
    to->body[1]              = m->kind == PAIR_POINT_WALL ? step->wall[m->second].body : b->n_bodies ? b->body[m->node[3]] : 0;
    v3_set(to->place, 0.0, 0.0, 0.0);
    for (int k = 0; k < n_first_of(m); ++k) v3_axpy(to->place, fabs(m->weight[k]), step->x0 + 3 * (int64_t)m->node[k]);
  }
  *n = a->n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- results ---- */

const double *impulses_ends(const impulses *a) { return a->x1; }

const impulse_contact *impulses_contacts(const impulses *a, int64_t *n)
{
  *n = a->n_contacts;
  return a->contact;
}

PetscErrorCode impulses_count_collisions(impulses *a, const double *x0, const double *x1, int64_t *n)
{
  int64_t bad;
  PetscFunctionBegin;
  for (int64_t i = 0; i < a->scene.surfaces.n_vertices; ++i) a->leader[i] = a->unit[i];
  PetscCall(impulse_search_all(a, x0, x1, 0.0, &bad));
  PetscCheck(bad < 0, PETSC_COMM_SELF, PETSC_ERR_FP, "vertex %lld of the surfaces is not finite", (long long)bad);
  *n = a->n;
  PetscFunctionReturn(PETSC_SUCCESS);
}
