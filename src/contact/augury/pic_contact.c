/* Grid contact with one velocity field per body, see pic_contact.h. */
#include "contact/augury/pic_contact.h"
#include "core/math3.h"
#include "core/memory.h"
#include "core/sort.h"

enum { AXIS_BITS = 18, BODY_BITS = 10, NODES = 27 };

/* A particle: a corner, or a point within an element. */
typedef struct {
  int32_t corner[3];
  double  weight[3], x[3], mass;
} point;

struct pic_contact {
  augury_boundary     b;
  const int32_t      *body;
  int32_t             n_bodies;
  const pair_classes *pairs;
  const bool         *can_touch;
  double              dx;
  boundary_samples    samples;
  double (*share)[3]; /* [n_elements][3] */
  int64_t   n, points_capacity, capacity;
  point    *points; /* [n] */
  uint64_t *key;    /* [27 n] node and body of each entry */
  int32_t  *order;  /* [27 n] */
  double   *gained; /* [27 n][3] change of velocity of the entry's body at its node */
};

PetscErrorCode pic_contact_create(const augury_boundary *b, const int32_t *body, int32_t n_bodies, const pair_classes *pairs,
                                  const bool *can_touch, const double *x, double dx, pic_contact **out)
{
  PetscFunctionBegin;
  *out = NULL;
  PetscCheck(n_bodies <= 1 << BODY_BITS, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "%d bodies with surfaces: at most %d are supported by transfer: pic; use transfer: augury", (int)n_bodies, 1 << BODY_BITS);
  PetscCall(memory_alloc("contact by PIC", 1, sizeof **out, out));
  pic_contact *p      = *out;
  *p                  = (pic_contact){.b = *b, .body = body, .n_bodies = n_bodies, .pairs = pairs, .can_touch = can_touch, .dx = dx};
  PetscErrorCode code = boundary_corner_masses(b, &p->share);
  if (!code) code = boundary_samples_create(b, x, dx, 0, &p->samples);
  if (code) pic_contact_destroy(out);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void pic_contact_destroy(pic_contact **out)
{
  if (!*out) return;
  pic_contact *p = *out;
  boundary_samples_destroy(&p->samples);
  MEMORY_FREE(&p->share, &p->points, &p->key, &p->order, &p->gained, out);
}

int64_t pic_contact_n_points(const pic_contact *p) { return p->n; }

static void pic_contact_add(pic_contact *p, const double *x, const int32_t corner[3], const double weight[3], double mass)
{
  point *to = &p->points[p->n++];
  v3_set(to->x, 0.0, 0.0, 0.0);
  for (int i = 0; i < 3; ++i) {
    to->corner[i] = corner[i], to->weight[i] = weight[i];
    v3_axpy(to->x, weight[i], x + 3 * (int64_t)corner[i]);
  }
  to->mass = mass;
}

/* A node with several elements has one particle per element. */
static PetscErrorCode build_node_layout(pic_contact *p, const double *x, const bool *is_active)
{
  const boundary_samples *s = &p->samples;
  PetscFunctionBegin;
  PetscCall(memory_reserve("contact by PIC", 3 * p->b.n_elements + s->n, sizeof *p->points, &p->points_capacity, &p->points));
  p->n = 0;
  for (int64_t e = 0; e < p->b.n_elements; ++e) {
    const int32_t *node = p->b.element + 3 * e;
    const double   mass = p->share[e][0] + p->share[e][1] + p->share[e][2];
    if (!is_active[e]) continue;
    for (int i = 0; i < 3; ++i) {
      const double weight[3] = {i == 0, i == 1, i == 2};
      pic_contact_add(p, x, node, weight, s->corner[e] * p->share[e][i]);
    }
    for (int64_t j = s->start[e]; j < s->start[e + 1]; ++j)
      pic_contact_add(p, x, node, s->place[j], (1.0 - s->corner[e]) * mass * s->weight[j]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Quadratic splines of one axis at x: first node, weights, derivatives [1/m]. */
static int64_t splines(double x, double dx, double w[3], double d[3])
{
  const double first = floor(x / dx - 0.5), f = x / dx - first;
  w[0] = 0.5 * (1.5 - f) * (1.5 - f), w[1] = 0.75 - (f - 1.0) * (f - 1.0), w[2] = 0.5 * (f - 0.5) * (f - 0.5);
  d[0] = (f - 1.5) / dx, d[1] = -2.0 * (f - 1.0) / dx, d[2] = (f - 0.5) / dx;
  return (int64_t)first;
}

/* The 27 entries of a point: weight, gradient in x, and, unless NULL, keys. */
static bool stencil(const pic_contact *p, const point *q, double w[NODES], double (*gradient)[3], uint64_t *key)
{
  double        s[3][3], d[3][3];
  int64_t       first[3];
  const int64_t half = 1 << (AXIS_BITS - 1);
  for (int k = 0; k < 3; ++k) {
    first[k] = splines(q->x[k], p->dx, s[k], d[k]) + half;
    if (!(first[k] >= 0 && first[k] + 2 < 2 * half)) return false;
  }
  for (int e = 0; e < NODES; ++e) {
    const int i = e / 9, j = e / 3 % 3, k = e % 3;
    w[e] = s[0][i] * s[1][j] * s[2][k];
    v3_set(gradient[e], d[0][i] * s[1][j] * s[2][k], s[0][i] * d[1][j] * s[2][k], s[0][i] * s[1][j] * d[2][k]);
    if (key)
      key[e] = (((uint64_t)(first[0] + i) << AXIS_BITS | (uint64_t)(first[1] + j)) << AXIS_BITS | (uint64_t)(first[2] + k)) << BODY_BITS |
               (uint64_t)p->body[q->corner[0]];
  }
  return true;
}

static void velocity_of(const point *q, const double *v, double u[3])
{
  v3_set(u, 0.0, 0.0, 0.0);
  for (int i = 0; i < 3; ++i) v3_axpy(u, q->weight[i], v + 3 * (int64_t)q->corner[i]);
}

/* One body at one node. */
typedef struct {
  int64_t first, end; /* entries, in order */
  int32_t body;
  double  mass, momentum[3], outward[3];
} share;

static void sum_entries(const pic_contact *p, const double *v, share *s)
{
  s->mass = 0.0;
  v3_set(s->momentum, 0.0, 0.0, 0.0), v3_set(s->outward, 0.0, 0.0, 0.0);
  for (int64_t i = s->first; i < s->end; ++i) {
    const point *q = &p->points[p->order[i] / NODES];
    double       w[NODES], gradient[NODES][3], u[3];
    const int    e = p->order[i] % NODES;
    (void)stencil(p, q, w, gradient, NULL);
    velocity_of(q, v, u);
    s->mass += q->mass * w[e];
    v3_axpy(s->momentum, q->mass * w[e], u);
    v3_axpy(s->outward, q->mass, gradient[e]);
  }
}

/* Bodies s [n] at one node: a body that the common velocity moves inwards takes that velocity along its own normal. */
static void resolve_node(pic_contact *p, int n, const share *s)
{
  for (int a = 0; a < n; ++a) {
    double mass = s[a].mass, change[3], n_out[3];
    v3_copy(change, s[a].momentum);
    for (int b = 0; b < n; ++b)
      if (b != a && p->can_touch[pair_slot(p->pairs, p->n_bodies, s[a].body, s[b].body)])
        mass += s[b].mass, v3_axpy(change, 1.0, s[b].momentum);
    v3_scale(change, 1.0 / mass, change);
    v3_axpy(change, -1.0 / s[a].mass, s[a].momentum);
    const double length = v3_norm(s[a].outward);
    if (!(length > 0.0) || mass == s[a].mass) continue;
    v3_scale(n_out, 1.0 / length, s[a].outward);
    const double inwards = v3_dot(change, n_out);
    for (int64_t i = s[a].first; inwards < 0.0 && i < s[a].end; ++i) v3_scale(p->gained + 3 * (int64_t)p->order[i], inwards, n_out);
  }
}

static void visit_nodes(pic_contact *p, const double *v)
{
  enum { MOST = 32 }; /* largest number of bodies at one node; nodes with more are not changed */
  const int64_t n = NODES * p->n;
  for (int64_t i = 0; i < n;) {
    share   s[MOST];
    int     m   = 0;
    int64_t end = i;
    while (end < n && p->key[end] >> BODY_BITS == p->key[i] >> BODY_BITS) {
      const int64_t first = end;
      while (end < n && p->key[end] == p->key[first]) ++end;
      if (m < MOST) s[m++] = (share){.first = first, .end = end, .body = (int32_t)(p->key[first] & ((1u << BODY_BITS) - 1))};
    }
    for (int a = 0; a < m && m > 1; ++a) sum_entries(p, v, &s[a]);
    if (m > 1) resolve_node(p, m, s);
    i = end;
  }
}

/* Transfer the velocity changes of nodes to the corners of each point. */
static void transfer_changes_back(const pic_contact *p, double *v)
{
  for (int64_t i = 0; i < p->n; ++i) {
    const point *q = &p->points[i];
    double       w[NODES], gradient[NODES][3], u[3] = {0.0, 0.0, 0.0};
    if (!stencil(p, q, w, gradient, NULL)) continue;
    for (int e = 0; e < NODES; ++e) v3_axpy(u, w[e], p->gained + 3 * (NODES * i + e));
    for (int k = 0; k < 3; ++k) v3_axpy(v + 3 * (int64_t)q->corner[k], q->weight[k] * q->mass / p->b.mass[q->corner[k]], u);
  }
}

PetscErrorCode pic_contact_solve(pic_contact *p, const double *x, const bool *is_active, double *v)
{
  int64_t bad;
  PetscFunctionBegin;
  PetscCall(build_node_layout(p, x, is_active));
  const int64_t n = NODES * p->n;
  bad             = p->n;
  PetscCall(MEMORY_RESERVE("contact by PIC", n, &p->capacity, ARRAY(p->key, 1), ARRAY(p->order, 1), ARRAY(p->gained, 3)));
#pragma omp parallel for schedule(static) reduction(min : bad)
  for (int64_t i = 0; i < p->n; ++i) {
    double w[NODES], gradient[NODES][3];
    if (!stencil(p, &p->points[i], w, gradient, p->key + NODES * i) && i < bad) bad = i;
    for (int64_t k = 3 * NODES * i; k < 3 * NODES * (i + 1); ++k) p->gained[k] = 0.0;
  }
  PetscCheck(bad == p->n, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "a boundary at (%g, %g, %g) m is more than %d cells of %g m away from the origin; move the scene or use larger cells",
             p->points[bad].x[0], p->points[bad].x[1], p->points[bad].x[2], 1 << (AXIS_BITS - 1), p->dx);
  PetscCall(sort_keys(n, 3 * AXIS_BITS + BODY_BITS, p->key, p->order));
  visit_nodes(p, v);
  transfer_changes_back(p, v);
  PetscFunctionReturn(PETSC_SUCCESS);
}
