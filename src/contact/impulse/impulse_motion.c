#include "contact/impulse/impulses_internal.h"
#include "core/eigen3.h"
#include "core/math3.h"
#include "core/quaternion.h"

#define FLAT 1e-12     /* of the largest moment of inertia: about such an axis a zone does not turn */
#define AGREEMENT 1e-9 /* of the speeds of what is held, to be one rigid motion */
#define NEW_ROW 1e-10  /* of its mobility, that a held component must have left to say something new */
#define LARGEST_TURN 3.0 /* rad; the straight ways of a turn by pi pass through its axis */

void impulse_turn(const double w[3], double dt, bool is_cayley, double A[9])
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

/* ---- ends of ways ---- */

PetscErrorCode impulse_motion_begin(impulses *a)
{
  const impulse_scene *c = &a->scene;
  PetscFunctionBegin;
  for (int32_t r = 0; r < c->n_rigid; ++r) {
    const impulse_rigid *b = &a->step->rigid[r];
    PetscCheck(b->inverse_mass > 0.0 || !does_turn(b), PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "rigid body %d turns but does not move: impulses know no such thing", (int)r);
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

static void place_all(impulses *a)
{
  const impulse_scene *c  = &a->scene;
  const impulse_step  *s  = a->step;
  const double         dt = s->dt;
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < c->surfaces.n_vertices; ++i) {
    const int32_t r = c->rigid ? c->rigid[i] : -1;
    const double *x0 = s->x0 + 3 * i;
    double       *x1 = a->x1 + 3 * i;
    if (r >= 0 && c->place) {
      v3_copy(x1, a->x1_before + 3 * i); /* unless it is placed anew below */
    } else if (r >= 0) {
      double way[3], arm[3];
      v3_sub(arm, x0, s->rigid[r].center);
      m3_mulv(way, a->turn + 9 * (int64_t)r, arm);
      v3_axpy(way, 1.0, s->rigid[r].v);
      for (int k = 0; k < 3; ++k) x1[k] = x0[k] + dt * way[k];
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
    if (memcmp(placed, motion, sizeof motion) == 0) continue;
    memcpy(placed, motion, sizeof motion);
    c->place(c->context, r, motion, motion + 3, a->x1);
  }
}

void impulse_motion_ends(impulses *a, double *change, double *listed_change)
{
  double largest = 0.0, largest_listed = 0.0;
  double *const before = a->x1;
  a->x1        = a->x1_before;
  a->x1_before = before;
  place_all(a);
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
  double center[3], V[3], W[3], A[9]; /* velocities over the step are V + A r */
  double inverse_mass, inverse_inertia[9]; /* of what was fitted */
  bool   is_held, is_partly_held, has_rigid, does_turn;
} zone_motion;

typedef enum { UNIT_VERTEX, UNIT_RIGID, UNIT_WALL } unit_kind;
static unit_kind kind_of(const impulses *a, int64_t unit, int64_t *i)
{
  const int64_t n = a->scene.surfaces.n_vertices, n_rigid = a->scene.n_rigid;
  *i = unit < n ? unit : unit < n + n_rigid ? unit - n : unit - n - n_rigid;
  return unit < n ? UNIT_VERTEX : unit < n + n_rigid ? UNIT_RIGID : UNIT_WALL;
}

/* What a unit weighs: mass, place, velocity, and of rigid bodies the inertia and spin of their own. What is held weighs 1 among
 * its like and nothing among others; a wall nothing at all. */
typedef struct {
  double        mass, inertia[9], spin[3];
  const double *x, *v;
} unit_weight;

static void weigh(const impulses *a, int64_t unit, bool of_held, unit_weight *w)
{
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
    if (of_held || b->inverse_mass == 0.0) break; /* a held one gives its motion itself */
    w->mass = 1.0 / b->inverse_mass;
    if (does_turn(b)) {
      m3_inverse(w->inertia, b->inverse_inertia);
      m3_mulv(w->spin, w->inertia, b->w);
    }
    break;
  default: break;
  }
}

/* The rigid motion that has the momenta of the units, about their center of mass. */
static void fit(const impulses *a, const int32_t *unit, int64_t n, bool of_held, zone_motion *m)
{
  double      mass = 0.0, l[3] = {0.0, 0.0, 0.0}, inertia[9] = {0.0}, lambda[3], Q[9], r[3], u[3], turn[3];
  unit_weight w;
  for (int64_t k = 0; k < n; ++k) {
    weigh(a, unit[k], of_held, &w);
    if (w.mass == 0.0) continue;
    mass += w.mass;
    v3_axpy(m->center, w.mass, w.x);
    v3_axpy(m->V, w.mass, w.v);
  }
  v3_scale(m->center, 1.0 / mass, m->center);
  v3_scale(m->V, 1.0 / mass, m->V);
  for (int64_t k = 0; k < n; ++k) {
    weigh(a, unit[k], of_held, &w);
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

/* y [6] = what impulse x [3] at the center and x + 3 about it change of V, W. */
static void respond(const zone_motion *m, const double *x, double *y)
{
  v3_scale(y, m->inverse_mass, x);
  m3_mulv(y + 3, m->inverse_inertia, x + 3);
}
static double dot6(const double *x, const double *y) { return v3_dot(x, y) + v3_dot(x + 3, y + 3); }

/* The motion nearest to the fitted one, in the energy of the difference, that gives held components their velocities: each is a row
 * over (V, W), made orthogonal to those before it; what contradicts
 * those before it is left as it is: the zone is not rigid then, and is looked at once more in the end. */
static void respect_components(const impulses *a, const int32_t *unit, int64_t n, zone_motion *m)
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
      respond(m, c, y);
      const double whole = dot6(c, y);
      for (int p = 0; p < n_rows; ++p) {
        const double part = dot6(c, response[p]) / dot6(row[p], response[p]);
        for (int q = 0; q < 6; ++q) c[q] -= part * row[p][q];
      }
      respond(m, c, y);
      if (!(dot6(c, y) > NEW_ROW * whole)) continue;
      memcpy(row[n_rows], c, sizeof c), memcpy(response[n_rows], y, sizeof y);
      ++n_rows;
      /* The velocity that is missing, once all rows before it are satisfied. */
      v3_cross(spin, m->W, r);
      const double missing = a->step->v[3 * i + k] - m->V[k] - spin[k];
      v3_axpy(m->V, missing / dot6(c, y), y), v3_axpy(m->W, missing / dot6(c, y), y + 3);
    }
  }
}

/* Rotation vectors per time, and the w that turns by as much under cay. */
static double cayley_factor(double angle) { return angle < 1e-4 ? 1.0 + angle * angle / 12.0 : tan(0.5 * angle) / (0.5 * angle); }
static double exponential_factor(double w_dt) { return w_dt < 1e-4 ? 1.0 - w_dt * w_dt / 12.0 : 2.0 * atan(0.5 * w_dt) / w_dt; }

/* The motion of a zone: that of a wall or a held body in it, else of its held vertices, else of all. */
static void lead(const impulses *a, const int32_t *unit, int64_t n, zone_motion *m)
{
  const double dt = a->step->dt;
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
  if (is_fitted) fit(a, unit, n, has_held_vertex, m);
  if (m->is_partly_held && !m->is_held) respect_components(a, unit, n, m);
  if (m->has_rigid) impulse_turn(m->W, dt, false, m->A);
  else m3_skew(m->A, m->W);
}

static void velocity(const zone_motion *m, const double x[3], double v[3])
{
  double r[3];
  v3_sub(r, x, m->center);
  m3_mulv(v, m->A, r);
  v3_axpy(v, 1.0, m->V);
}

static double difference(const double *a, const double *b) { return hypot(hypot(a[0] - b[0], a[1] - b[1]), a[2] - b[2]); }

/* Do the held ones all move so? Of those that keep components alone it is seen in the end. */
static bool obeys(const impulses *a, const zone_motion *m, const int32_t *unit, int64_t n)
{
  double       worst = 0.0, speed = v3_norm(m->V), worst_turn = 0.0, u[3], w[3];
  const double turn = v3_norm(m->W);
  for (int64_t k = 0; k < n; ++k) {
    int64_t              i;
    const impulse_rigid *b;
    switch (kind_of(a, unit[k], &i)) {
    case UNIT_VERTEX:
      if (!a->is_held[i]) break;
      velocity(m, a->step->x0 + 3 * i, u);
      worst = fmax(worst, difference(u, a->step->v + 3 * i)), speed = fmax(speed, v3_norm(a->step->v + 3 * i));
      break;
    case UNIT_RIGID:
      b = &a->step->rigid[i];
      if (b->inverse_mass > 0.0) {
        if (!does_turn(b)) worst_turn = fmax(worst_turn, fmax(turn, v3_norm(b->w)));
        break;
      }
      velocity(m, b->center, u);
      worst = fmax(worst, difference(u, b->v)), speed = fmax(speed, v3_norm(b->v));
      v3_scale(w, b->is_cayley ? exponential_factor(a->step->dt * v3_norm(b->w)) : 1.0, b->w);
      worst_turn = fmax(worst_turn, difference(w, m->W));
      break;
    case UNIT_WALL:
      worst = fmax(worst, difference(m->V, a->step->wall[i].v)), worst_turn = fmax(worst_turn, turn);
      break;
    }
  }
  return worst <= AGREEMENT * speed && worst_turn <= AGREEMENT * turn;
}

static double kinetic(const impulses *a, const int32_t *unit, int64_t n)
{
  double      sum = 0.0;
  unit_weight w;
  for (int64_t k = 0; k < n; ++k) {
    int64_t i;
    weigh(a, unit[k], false, &w);
    if (w.mass > 0.0) sum += 0.5 * w.mass * v3_dot(w.v, w.v);
    if (kind_of(a, unit[k], &i) == UNIT_RIGID) sum += 0.5 * v3_dot(w.spin, a->step->rigid[i].w);
  }
  return sum;
}

static void follow(impulses *a, const zone_motion *m, int64_t unit)
{
  const double   dt = a->step->dt;
  double         v[3];
  impulse_rigid *b;
  int64_t        i;
  switch (kind_of(a, unit, &i)) {
  case UNIT_VERTEX:
    velocity(m, a->step->x0 + 3 * i, v);
    for (int k = 0; k < 3; ++k)
      if (!(held_components(&a->scene, i) >> k & 1)) a->step->v[3 * i + k] = v[k];
    break;
  case UNIT_RIGID:
    b = &a->step->rigid[i];
    if (b->inverse_mass == 0.0) break;
    velocity(m, b->center, b->v);
    v3_scale(b->w, b->is_cayley ? cayley_factor(dt * v3_norm(m->W)) : 1.0, m->W);
    impulse_turn(b->w, dt, b->is_cayley, a->turn + 9 * i);
    break;
  default: break;
  }
}

void impulse_motion_of_zones(impulses *a, step_verdict *verdict)
{
  impact_zones_sort(&a->zones);
  for (int64_t zone = 0; zone < a->zones.n_zones; ++zone) {
    const int32_t *unit = a->zones.order + a->zones.start[zone];
    const int64_t  n    = a->zones.start[zone + 1] - a->zones.start[zone];
    zone_motion    m;
    lead(a, unit, n, &m);
    if ((m.is_held || !m.does_turn) && !obeys(a, &m, unit, n)) *verdict = (step_verdict){STEP_IMPACT, NULL, -1};
    if (m.has_rigid && !(a->step->dt * v3_norm(m.W) < LARGEST_TURN)) *verdict = (step_verdict){STEP_IMPACT, NULL, -1};
    if (verdict->code != STEP_OK) {
      verdict->where = unit[0] < a->scene.surfaces.n_vertices ? unit[0] : -1;
      return;
    }
    a->report->zone_work -= kinetic(a, unit, n);
    for (int64_t k = 0; k < n; ++k) follow(a, &m, unit[k]);
    a->report->zone_work += kinetic(a, unit, n);
  }
}
