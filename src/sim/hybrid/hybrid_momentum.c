/* Heaps are connected groups of bodies in contact. Each gets one rigid velocity field, from its missing momenta and its inertia. */
#include "sim/hybrid/hybrid_momentum.h"
#include "core/math3.h"
#include "core/memory.h"
#include "core/quaternion.h"
#include "discretize/nodal/nodal_body.h"
#include "discretize/rigid/rigid_body.h"
#include "sim/hybrid/hybrid_keys.h"

typedef enum { PART_FREE, PART_ANCHOR, PART_CONTINUUM } part;

struct hybrid_heap {
  bool   has_nodes, has_anchor, has_continuum;
  int    n_axes; /* directions in which constrained bodies can give momentum */
  double axis[3][3];
  double mass, first[3], P[3], L[3]; /* P, L: missing momentum, L about the origin; first: sum of mass times position */
};

PetscErrorCode hybrid_momentum_create(const scene *s, hybrid_momentum *m)
{
  PetscFunctionBegin;
  m->n = s->n_bodies;
  PetscCall(
      MEMORY_ALLOC("momenta", ARRAY(m->P, m->n), ARRAY(m->L, m->n), ARRAY(m->gained, m->n), ARRAY(m->heap_of, m->n), ARRAY(m->heap, m->n)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void hybrid_momentum_destroy(hybrid_momentum *m) { MEMORY_FREE(&m->P, &m->L, &m->gained, &m->heap_of, &m->heap); }

/* P, L += mass (v, x x v) */
static void add_momentum(double mass, const double *x, const double *v, double P[3], double L[3])
{
  double moment[3];
  v3_cross(moment, x, v);
  v3_axpy(P, mass, v);
  v3_axpy(L, mass, moment);
}

void hybrid_momentum_begin(hybrid_momentum *m, const step_layout *l)
{
  for (int i = 0; i < m->n; ++i) {
    const nodal_body *b         = nodal_body_of(l->scene->bodies[i].body);
    double            unused[3] = {0.0, 0.0, 0.0};
    v3_set(m->P[i], 0.0, 0.0, 0.0), v3_set(m->L[i], 0.0, 0.0, 0.0);
    for (int64_t k = 0; b && k < b->n_nodes; ++k) {
      double v[3];
      v3_copy(v, b->v + 3 * k);
      v3_axpy(v, l->dt, b->gravity);
      add_momentum(b->mass[k], b->x + 3 * k, v, unused, m->L[i]);
      v3_axpy(m->P[i], b->mass[k], l->v + 3 * (b->base.first_block + k));
    }
  }
}

void hybrid_momentum_evaluate(hybrid_momentum *m, const step_layout *l)
{
  for (int i = 0; i < m->n; ++i) {
    const nodal_body *b    = nodal_body_of(l->scene->bodies[i].body);
    double            P[3] = {0.0, 0.0, 0.0};
    for (int64_t k = 0; b && k < b->n_nodes; ++k) v3_axpy(P, b->mass[k], b->v + 3 * k);
    v3_sub(m->gained[i], P, m->P[i]);
  }
}

/* ---- heaps --------------------------------------------------------------------------------------------------------------- */

static part role_of(const scene *s, int i)
{
  const body *b = s->bodies[i].body;
  if (s->bodies[i].kind->ops->carrier) return PART_CONTINUUM;
  if (nodal_body_of(b)) return nodal_body_of(b)->n_prescribed > 0 ? PART_ANCHOR : PART_FREE;
  return b->ops == &rigid_body_ops ? PART_FREE : PART_ANCHOR;
}

static void add_axis(hybrid_heap *h, const double n[3])
{
  double e[3];
  v3_copy(e, n);
  for (int pass = 0; pass < 2; ++pass) /* twice is enough for orthogonality to rounding */
    for (int k = 0; k < h->n_axes; ++k) v3_axpy(e, -v3_dot(e, h->axis[k]), h->axis[k]);
  const double length = v3_norm(e);
  if (h->n_axes == 3 || !(length > 1e-6 * v3_norm(n))) return;
  v3_scale(h->axis[h->n_axes++], 1.0 / length, e);
}

/* Half-spaces without friction react along their normals only; other constrained or static bodies react in any direction. */
static void add_reaction_directions(hybrid_heap *h, const hybrid_contact *c, const scene *s, int anchor, int other)
{
  bool is_wall  = false;
  h->has_anchor = true;
  for (int k = 0; k < c->n_walls && scene_law(s, anchor, other)->friction == 0.0; ++k) {
    if (c->wall[k].body != anchor) continue;
    add_axis(h, c->wall[k].normal);
    is_wall = true;
  }
  for (int k = 0; k < 3 && !is_wall; ++k) {
    double e[3] = {0.0, 0.0, 0.0};
    e[k]        = 1.0;
    add_axis(h, e);
  }
}

static void find_heaps(hybrid_momentum *m, const hybrid_contact *c, const contact_forces *met, const scene *s)
{
  bool is_changed = true;
  for (int i = 0; i < m->n; ++i) m->heap_of[i] = i, m->heap[i] = (hybrid_heap){0};
  while (is_changed) { /* connected bodies get one label, the lowest index; constrained bodies do not connect others */
    is_changed = false;
    for (int64_t p = 0; p < met->n; ++p) {
      const int on = met->group[p].source_body, by = met->group[p].object_body;
      if (role_of(s, on) != PART_FREE || role_of(s, by) != PART_FREE) continue;
      int32_t *a = &m->heap_of[on], *b = &m->heap_of[by];
      is_changed = is_changed || *a != *b;
      if (*a < *b) *b = *a;
      else *a = *b;
    }
  }
  for (int64_t p = 0; p < met->n; ++p)
    for (int side = 0; side < 2; ++side) {
      const int  on    = side == 0 ? met->group[p].source_body : met->group[p].object_body;
      const int  by    = side == 0 ? met->group[p].object_body : met->group[p].source_body;
      const part other = role_of(s, by);
      if (role_of(s, on) != PART_FREE) continue;
      hybrid_heap *h = &m->heap[m->heap_of[on]];
      if (other == PART_CONTINUUM) h->has_continuum = true;
      if (other == PART_ANCHOR) add_reaction_directions(h, c, s, by, on);
    }
  for (int i = 0; i < m->n; ++i) /* bodies in contact with a continuum are corrected individually */
    if (m->heap[m->heap_of[i]].has_continuum) m->heap_of[i] = i;
  for (int i = 0; i < m->n; ++i)
    if (m->heap[i].has_continuum) m->heap[i] = (hybrid_heap){0};
}

/* ---- correction ------------------------------------------------------------------------------------------------------------ */

/* Momentum that body i, made of nodes, lacks compared with part 2 of the step. */
static void add_missing(const hybrid_momentum *m, int i, const hybrid_boundary *b, const nodal_body *own, hybrid_heap *h)
{
  const scene_surfaces *f    = b->surfaces;
  double                P[3] = {0.0, 0.0, 0.0}, L[3] = {0.0, 0.0, 0.0};
  v3_axpy(h->P, 1.0, m->P[i]), v3_axpy(h->L, 1.0, m->L[i]);
  for (int64_t k = f->first_vertex[i]; k < f->first_vertex[i + 1]; ++k) {
    add_momentum(b->mass[k], b->x0 + 3 * k, b->gain + 3 * k, h->P, h->L);
  }
  for (int64_t k = 0; k < own->n_nodes; ++k) {
    add_momentum(own->mass[k], own->x + 3 * k, own->v + 3 * k, P, L);
    v3_axpy(h->first, own->mass[k], own->x + 3 * k);
    h->mass += own->mass[k];
  }
  v3_axpy(h->P, -1.0, P), v3_axpy(h->L, -1.0, L);
  h->has_nodes = true;
}

/* inertia += inertia of a rigid body about `center`. */
static void add_rigid_inertia(const rigid_body *r, const double center[3], double inertia[9])
{
  double R[9], half[9], own[9], arm[3], rr[9];
  quaternion_to_matrix(R, r->q);
  m3_mul(half, R, r->inertia);
  m3_mul_nt(own, half, R);
  v3_sub(arm, r->c, center);
  m3_outer(rr, arm, arm);
  const double trace = m3_trace(rr);
  m3_axpy(inertia, 1.0, own), m3_axpy(inertia, -r->mass, rr);
  for (int k = 0; k < 9; k += 4) inertia[k] += r->mass * trace;
}

static void angular_velocity_of(const hybrid_momentum *m, int root, const scene *s, const double center[3], const double L[3], double W[3])
{
  double inertia[9], inverse[9];
  m3_zero(inertia);
  for (int i = 0; i < m->n; ++i) {
    if (m->heap_of[i] != root) continue;
    const nodal_body *own = nodal_body_of(s->bodies[i].body);
    const rigid_body *r   = rigid_body_dynamic(s->bodies[i].body);
    double            its[9];
    if (own) nodal_body_inertia(own, center, its), m3_axpy(inertia, 1.0, its);
    if (r) add_rigid_inertia(r, center, inertia);
  }
  if (m3_inverse(inverse, inertia) > 0.0) m3_mulv(W, inverse, L);
}

static void add_rigid_field(const hybrid_momentum *m, int root, scene *s, const double V[3], const double W[3], const double center[3])
{
  for (int i = 0; i < m->n; ++i) {
    if (m->heap_of[i] != root) continue;
    nodal_body *own = nodal_body_of(s->bodies[i].body) ? (nodal_body *)s->bodies[i].body : NULL;
    rigid_body *r   = rigid_body_dynamic(s->bodies[i].body);
    double      arm[3], v[3];
    if (own) (void)nodal_body_add_rigid_velocity(own, V, W, center);
    if (!r) continue;
    v3_sub(arm, r->c, center);
    v3_cross(v, W, arm);
    v3_axpy(v, 1.0, V);
    v3_axpy(r->v, 1.0, v);
    v3_axpy(r->w, 1.0, W);
  }
}

static void restore_heap(const hybrid_momentum *m, int root, int fix, scene *s)
{
  const hybrid_heap *h = &m->heap[root];
  double             center[3], P[3], L[3], V[3], W[3] = {0.0, 0.0, 0.0}, moment[3];
  v3_scale(center, 1.0 / h->mass, h->first);
  v3_copy(P, h->P), v3_copy(L, h->L);
  v3_cross(moment, center, P);
  v3_axpy(L, -1.0, moment); /* about the centre */
  for (int k = 0; k < h->n_axes; ++k) v3_axpy(P, -v3_dot(P, h->axis[k]), h->axis[k]);
  v3_scale(V, 1.0 / h->mass, P);
  if (fix == HYBRID_CORRECTION_RIGID && !h->has_anchor) angular_velocity_of(m, root, s, center, L, W);
  add_rigid_field(m, root, s, V, W, center);
}

void hybrid_momentum_restore(hybrid_momentum *m, int fix, const hybrid_contact *c, const contact_forces *met, step_layout *l)
{
  scene *s = l->scene;
  if (fix == HYBRID_CORRECTION_NONE) return;
  find_heaps(m, c, met, s);
  for (int i = 0; i < m->n; ++i) {
    if (role_of(s, i) != PART_FREE) continue;
    hybrid_heap      *h   = &m->heap[m->heap_of[i]];
    const nodal_body *own = nodal_body_of(s->bodies[i].body);
    const rigid_body *r   = rigid_body_dynamic(s->bodies[i].body); /* its motion is that of part 2 */
    if (own) add_missing(m, i, &c->boundary, own, h);
    if (r) h->mass += r->mass, v3_axpy(h->first, r->mass, r->c);
  }
  for (int i = 0; i < m->n; ++i)
    if (m->heap[i].has_nodes && m->heap[i].n_axes < 3) restore_heap(m, i, fix, s);
}
