/* Impulses of pairs, one after the other: each sees what those before it did. */
#include "contact/impulse/impulses_internal.h"
#include "core/math3.h"

#define OVERLAP_SPEED 0.1 /* of the overlap, that the spring may take back in a step [BridsonEtAl2002, sec. 7.1] */
#define SETTLED 1e-3      /* of the speed at first: friction on rigid bodies changes the normal velocity, which is pushed again */
enum { SWEEPS = 8, FEW = 256 /* are not worth a team */, FEW_OF_A_COLOUR = 64 };

static int n_first_of(const meeting *m) { return m->kind == MEETING_EDGE_EDGE ? 2 : 1; }

static impulse_law law_of(const impulses *a, const meeting *m)
{
  const broad_phase_surfaces *b = &a->scene.surfaces;
  if (!a->scene.law) return (impulse_law){0.0, 0.0};
  if (b->n_bodies == 0) return a->scene.law[0];
  const int32_t second = m->kind == MEETING_POINT_WALL ? a->step->wall[m->second].body : b->body[m->node[3]];
  return a->scene.law[(int64_t)b->body[m->node[0]] * b->n_bodies + second];
}

/* Of the first feature against the second: over the step, and at its beginning (now, may be NULL). They differ by turns. */
static void relative_velocity(const impulses *a, const meeting *m, double over[3], double now[3])
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

/* Of the square of d, what lies in components that are free. */
static double free_share(const impulses *a, int32_t node, const double d[3])
{
  if (!a->scene.held_axes) return v3_dot(d, d);
  double sum = 0.0;
  for (int k = 0; k < 3; ++k) sum += a->scene.held_axes[node] >> k & 1 ? 0.0 : d[k] * d[k];
  return sum;
}

/* Pairs whose friction changes their normal velocity. */
static bool is_coupled(const impulses *a, const meeting *m)
{
  bool is_partly_held = false;
  for (int k = 0; k < 4 && a->scene.held_axes; ++k) {
    const unsigned held = a->scene.held_axes[m->node[k]];
    is_partly_held = is_partly_held || (held != 0 && held != 7);
  }
  return m->side[0] >= 0 || m->side[1] >= 0 || is_partly_held;
}

/* Velocity along d that an impulse of 1 along d makes; 0: nothing can move. */
static double mobility(const impulses *a, const meeting *m, const double d[3])
{
  const int n_first = n_first_of(m);
  double    sum = 0.0, turn[3], w[3];
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

/* What is held may be shared by pairs on other threads: it is not even written. */
static void push(impulses *a, const meeting *m, double j, const double d[3])
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
        const unsigned held = held_components(&a->scene, m->node[k]);
        const double   share = j * m->weight[k] * a->scene.inverse_mass[m->node[k]];
        for (int i = 0; i < 3; ++i)
          if (!(held >> i & 1)) a->step->v[3 * (int64_t)m->node[k] + i] += share * d[i];
      }
    }
  }
}

static void press(impulses *a, meeting *m, double j, double lightness)
{
  double over[3], now[3];
  relative_velocity(a, m, over, now);
  m->work[0] += j * (v3_dot(now, m->normal) + 0.5 * j * lightness);
  m->j += j;
  push(a, m, j, m->normal);
}

/* Friction that goes with what pressed so far. */
static void rub(impulses *a, meeting *m, double friction)
{
  double       over[3], now[3], d[3];
  const double most = friction * m->j - v3_norm(m->friction);
  if (!(most > 0.0)) return;
  relative_velocity(a, m, over, now);
  for (int k = 0; k < 3; ++k) d[k] = over[k] - v3_dot(over, m->normal) * m->normal[k];
  const double slip = v3_norm(d);
  if (!(slip > 0.0)) return;
  v3_scale(d, 1.0 / slip, d);
  const double lightness = mobility(a, m, d);
  if (!(lightness > 0.0)) return;
  const double f = fmin(most, slip / lightness);
  m->is_sliding  = most < slip / lightness;
  m->work[1] += f * (-v3_dot(now, d) + 0.5 * f * lightness);
  v3_axpy(m->friction, -f, d);
  push(a, m, -f, d);
}

/* One pair within the thickness: it stops closing, and a spring takes back at most part of the overlap. */
static void keep_off(impulses *a, meeting *m)
{
  const impulse_options *o         = a->options;
  const double           lightness = mobility(a, m, m->normal), overlap = o->thickness - m->gap, dt = a->step->dt;
  const double           most      = OVERLAP_SPEED * overlap / dt;
  double                 u[3], j = 0.0;
  if (!(lightness > 0.0)) return;
  relative_velocity(a, m, u, NULL);
  double speed = v3_dot(u, m->normal);
  if (speed < 0.0) j = -speed / lightness, speed = 0.0;
  if (speed < most) j += fmin(dt * o->stiffness * overlap, (most - speed) / lightness);
  if (!(j > 0.0)) return;
  press(a, m, j, lightness);
  rub(a, m, law_of(a, m).friction);
}

/* One pair whose ways meet. */
static void hold_off(impulses *a, meeting *m)
{
  const impulse_law law       = law_of(a, m);
  const double      lightness = mobility(a, m, m->normal);
  double            u[3], first = 0.0;
  if (!(lightness > 0.0)) return;
  for (int sweep = 0; sweep < SWEEPS; ++sweep) {
    relative_velocity(a, m, u, NULL);
    const double speed = v3_dot(u, m->normal);
    if (!(speed < SETTLED * first)) return;
    press(a, m, -(sweep == 0 ? 1.0 + law.restitution : 1.0) * speed / lightness, lightness);
    rub(a, m, law.friction);
    if (!is_coupled(a, m)) return;
    if (sweep == 0) first = speed;
  }
}

PetscErrorCode impulse_apply(impulses *a, bool is_near, int64_t *n_pushed)
{
  void (*const take)(impulses *, meeting *) = is_near ? keep_off : hold_off;
  int64_t start[IMPULSE_COLOURS + 1], n = 0;
  PetscFunctionBegin;
  if (a->n < FEW) {
    for (int64_t i = 0; i < a->n; ++i) take(a, &a->found[i]);
  } else {
    PetscCall(impulse_colour(a, start));
    for (int c = 0; c < IMPULSE_COLOURS; ++c) {
      const int64_t from = start[c], to = start[c + 1];
#pragma omp parallel for schedule(static) if (c < IMPULSE_COLOURS - 1 && to - from > FEW_OF_A_COLOUR)
      for (int64_t i = from; i < to; ++i) take(a, &a->found[a->order[i]]);
    }
  }
  for (int64_t i = 0; i < a->n; ++i) {
    const meeting *m = &a->found[i];
    n += m->j > 0.0;
    a->report->normal_work += m->work[0], a->report->friction_work += m->work[1];
  }
  *n_pushed = n;
  PetscCall(impulse_contacts_keep(a));
  PetscFunctionReturn(PETSC_SUCCESS);
}
