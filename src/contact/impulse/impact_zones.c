#include "contact/impulse/impact_zones.h"
#include "core/eigen3.h"
#include "core/math3.h"
#include "core/memory.h"

#define FLAT 1e-12      /* of the largest moment of inertia: about such an axis a zone does not turn */
#define AGREEMENT 1e-9  /* of the speeds of held nodes, to be one rigid motion */

PetscErrorCode impact_zones_create(int64_t n, impact_zones *z)
{
  PetscFunctionBegin;
  z->n = n;
  PetscCall(memory_alloc("impact zones", n, sizeof *z->parent, &z->parent));
  PetscCall(memory_alloc("impact zones", n, sizeof *z->order, &z->order));
  PetscCall(memory_alloc("impact zones", n + 1, sizeof *z->start, &z->start));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void impact_zones_destroy(impact_zones *z) { memory_free(&z->parent), memory_free(&z->order), memory_free(&z->start); }

void impact_zones_clear(impact_zones *z)
{
  for (int64_t i = 0; i < z->n; ++i) z->parent[i] = (int32_t)i;
  z->n_zones = 0;
}

int32_t impact_zones_find(impact_zones *z, int32_t node)
{
  while (z->parent[node] != node) node = z->parent[node] = z->parent[z->parent[node]];
  return node;
}

/* The lowest node leads, so that zones are the same in whatever order they were merged. */
void impact_zones_merge(impact_zones *z, int32_t a, int32_t b)
{
  a = impact_zones_find(z, a), b = impact_zones_find(z, b);
  if (a < b) z->parent[b] = a;
  else z->parent[a] = b;
}

/* Nodes by zone, of zones of two and more. */
static void sort(impact_zones *z)
{
  int32_t *count = z->start; /* by leader, then start of its zone */
  for (int64_t i = 0; i <= z->n; ++i) count[i] = 0;
  for (int64_t i = 0; i < z->n; ++i) ++count[impact_zones_find(z, (int32_t)i)];
  int32_t at = 0;
  for (int64_t i = 0; i < z->n; ++i) {
    const int32_t n = count[i];
    count[i]        = n > 1 ? at : -1;
    at += n > 1 ? n : 0;
  }
  for (int64_t i = 0; i < z->n; ++i) {
    const int32_t lead = z->parent[i] == (int32_t)i ? (int32_t)i : impact_zones_find(z, (int32_t)i);
    if (count[lead] >= 0) z->order[count[lead]++] = (int32_t)i;
  }
  /* The leaders, ascending, stand first in their zones: starts of zones from the order itself. */
  z->n_zones = 0;
  for (int32_t k = 0; k < at; ++k)
    if (k == 0 || impact_zones_find(z, z->order[k]) != impact_zones_find(z, z->order[k - 1])) z->start[z->n_zones++] = k;
  z->start[z->n_zones] = at;
}

typedef struct {
  double center[3], V[3], W[3];
} rigid_motion;

/* Of nodes with these masses; held ones alone, with masses of one, if is_held. */
static void fit(const int32_t *node, int64_t n, const double *inverse_mass, bool is_held, const double *x, const double *v,
                rigid_motion *m)
{
  double mass = 0.0, l[3] = {0.0, 0.0, 0.0}, inertia[9] = {0.0}, lambda[3], Q[9], r[3], u[3], turn[3];
  *m = (rigid_motion){{0.0}, {0.0}, {0.0}};
  for (int64_t k = 0; k < n; ++k) {
    const double w = is_held ? inverse_mass[node[k]] == 0.0 : 1.0 / inverse_mass[node[k]];
    mass += w;
    v3_axpy(m->center, w, x + 3 * (int64_t)node[k]);
    v3_axpy(m->V, w, v + 3 * (int64_t)node[k]);
  }
  v3_scale(m->center, 1.0 / mass, m->center);
  v3_scale(m->V, 1.0 / mass, m->V);
  for (int64_t k = 0; k < n; ++k) {
    const double w = is_held ? inverse_mass[node[k]] == 0.0 : 1.0 / inverse_mass[node[k]];
    v3_sub(r, x + 3 * (int64_t)node[k], m->center);
    v3_sub(u, v + 3 * (int64_t)node[k], m->V);
    v3_cross(turn, r, u);
    v3_axpy(l, w, turn);
    for (int p = 0; p < 3; ++p)
      for (int q = 0; q < 3; ++q) inertia[3 * p + q] += w * ((p == q ? v3_dot(r, r) : 0.0) - r[p] * r[q]);
  }
  eigen3_symmetric(inertia, lambda, Q);
  for (int k = 0; k < 3; ++k) {
    const double axis[3] = {Q[k], Q[3 + k], Q[6 + k]};
    if (lambda[k] > FLAT * lambda[0]) v3_axpy(m->W, v3_dot(axis, l) / lambda[k], axis);
  }
}

static void velocity(const rigid_motion *m, const double x[3], double v[3])
{
  double r[3];
  v3_sub(r, x, m->center);
  v3_cross(v, m->W, r);
  v3_axpy(v, 1.0, m->V);
}

static bool obeys(const rigid_motion *m, const int32_t *node, int64_t n, const double *inverse_mass, const double *x,
                  const double *v)
{
  double worst = 0.0, speed = 0.0, u[3];
  for (int64_t k = 0; k < n; ++k) {
    if (inverse_mass[node[k]] > 0.0) continue;
    velocity(m, x + 3 * (int64_t)node[k], u);
    v3_axpy(u, -1.0, v + 3 * (int64_t)node[k]);
    worst = fmax(worst, v3_norm(u)), speed = fmax(speed, v3_norm(v + 3 * (int64_t)node[k]));
  }
  return worst <= AGREEMENT * speed;
}

void impact_zones_move(impact_zones *z, const double *inverse_mass, const double *x, double *v, step_verdict *verdict)
{
  sort(z);
  for (int64_t zone = 0; zone < z->n_zones; ++zone) {
    const int32_t *node = z->order + z->start[zone];
    const int64_t  n    = z->start[zone + 1] - z->start[zone];
    rigid_motion   m;
    bool           is_held = false;
    for (int64_t k = 0; k < n; ++k) is_held = is_held || inverse_mass[node[k]] == 0.0;
    fit(node, n, inverse_mass, is_held, x, v, &m);
    if (is_held && !obeys(&m, node, n, inverse_mass, x, v)) {
      *verdict = (step_verdict){STEP_NOT_CONVERGED, NULL, node[0]};
      return;
    }
    for (int64_t k = 0; k < n; ++k)
      if (inverse_mass[node[k]] > 0.0) velocity(&m, x + 3 * (int64_t)node[k], v + 3 * (int64_t)node[k]);
  }
}
