#include "contact/augury/augury_impl.h"
#include "core/memory.h"
#include "core/team.h"

#define MOST_CELLS 1048576.0 /* 2^20 from the origin, as grids of the material point method */
/* An element may double its area before its points are drawn anew. */
#define MOST_GROWTH 2.0

/* ---- what stays ------------------------------------------------------------------------------------------------------- */

static double area_of(const augury_boundary *b, const double *x, int64_t e)
{
  const int32_t *node = b->element + 3 * e;
  double         p[3], q[3], n[3];
  v3_sub(p, x + 3 * (int64_t)node[1], x + 3 * (int64_t)node[0]);
  v3_sub(q, x + 3 * (int64_t)node[2], x + 3 * (int64_t)node[0]);
  v3_cross(n, p, q);
  return 0.5 * v3_norm(n);
}

static double element_mass(const augury *a, int64_t e) { return a->share[e][0] + a->share[e][1] + a->share[e][2]; }

/* Moments of an element's points and, negative, of its corners, as if both weighed as much as the element: by these alone linear
 * interpolation changes its angular momentum [eq. 10], in every shape that it takes. */
static void measure_defect(augury *a, int64_t e)
{
  const boundary_samples *s = &a->samples;
  double                 *q = a->defect[e];
  for (int k = 0; k < 6; ++k) q[k] = k < 3 ? -a->share[e][k] : 0.0;
  for (int64_t j = s->start[e]; j < s->start[e + 1]; ++j) {
    const double *l = s->place[j], m = element_mass(a, e) * s->weight[j];
    for (int k = 0; k < 3; ++k) q[k] += m * l[k] * l[k], q[3 + k] += m * l[(k + 1) % 3] * l[(k + 2) % 3];
  }
}

static void measure_points(augury *a, const double *x, int64_t e)
{
  a->size[e]    = area_of(&a->b, x, e);
  a->sampled[e] = (1.0 - a->samples.corner[e]) * element_mass(a, e);
  measure_defect(a, e);
}

/* Masses of nodes may have changed since the last step: those of the elements that take part follow. */
static void reweigh(augury *a)
{
#pragma omp parallel for schedule(static) if (a->n_acting > AUGURY_FEW)
  for (int64_t r = 0; r < a->n_acting; ++r) {
    const int64_t e       = a->acting[r];
    bool          is_same = true;
    for (int k = 0; k < 3; ++k) {
      const int32_t i    = a->b.element[3 * e + k];
      const double  mass = a->b.mass[i] / (double)(a->incident_start[i + 1] - a->incident_start[i]);
      is_same            = is_same && mass == a->share[e][k];
      a->share[e][k]     = mass;
    }
    if (is_same) continue;
    a->sampled[e] = (1.0 - a->samples.corner[e]) * element_mass(a, e);
    measure_defect(a, e);
  }
}

/* Elements that take part and have outgrown their points have others. */
static PetscErrorCode renew(augury *a, const double *x, const bool *is_active)
{
  int64_t n_new = 0;
  PetscFunctionBegin;
#pragma omp parallel for schedule(static) reduction(+ : n_new)
  for (int64_t e = 0; e < a->b.n_elements; ++e) {
    a->is_new[e] = (!is_active || is_active[e]) && area_of(&a->b, x, e) > MOST_GROWTH * a->size[e];
    n_new += a->is_new[e];
  }
  if (n_new == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(boundary_samples_renew(&a->b, x, a->dx, ++a->round, a->is_new, &a->samples));
  for (int64_t e = 0; e < a->b.n_elements; ++e)
    if (a->is_new[e]) measure_points(a, x, e);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode find_incident(augury *a)
{
  const augury_boundary *b = &a->b;
  PetscFunctionBegin;
  PetscCall(memory_alloc("elements of nodes", b->n_nodes + 1, sizeof *a->incident_start, &a->incident_start));
  PetscCall(memory_alloc("elements of nodes", 3 * b->n_elements, sizeof *a->incident, &a->incident));
  for (int64_t k = 0; k < 3 * b->n_elements; ++k) ++a->incident_start[b->element[k] + 1];
  for (int64_t i = 0; i < b->n_nodes; ++i) a->incident_start[i + 1] += a->incident_start[i];
  for (int64_t k = 0; k < 3 * b->n_elements; ++k) a->incident[a->incident_start[b->element[k]]++] = (int32_t)k;
  for (int64_t i = b->n_nodes; i > 0; --i) a->incident_start[i] = a->incident_start[i - 1];
  a->incident_start[0] = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode create(const augury_boundary *b, const double *x, double dx, augury *a)
{
  const int64_t n = b->n_nodes, m = b->n_elements;
  PetscFunctionBegin;
  a->b = *b, a->dx = dx;
  const struct { int64_t n; size_t size; void *to; } wanted[] = {
    {m, sizeof *a->size, &a->size},         {m, sizeof *a->sampled, &a->sampled}, {m, sizeof *a->defect, &a->defect},
    {3 * n, sizeof *a->x, &a->x},           {m, sizeof *a->acting, &a->acting},   {m, sizeof *a->rank, &a->rank},     {m, sizeof *a->is_new, &a->is_new},
    {n, sizeof *a->mass, &a->mass},         {n, sizeof *a->corners, &a->corners}, {n, sizeof *a->point_of, &a->point_of},
    {n, sizeof *a->taking, &a->taking},     {m, sizeof *a->inverse, &a->inverse}, {m, sizeof *a->patch, &a->patch},
    {m, sizeof *a->rigid, &a->rigid},       {n, sizeof *a->point, &a->point},     {3 * n, sizeof *a->before, &a->before},
    {3 * n, sizeof *a->dv, &a->dv},         {9 * n, sizeof *a->dA, &a->dA}};
  for (size_t k = 0; k < sizeof wanted / sizeof *wanted; ++k)
    PetscCall(memory_alloc("augury", wanted[k].n, wanted[k].size, wanted[k].to));
  PetscCall(boundary_corner_masses(b, &a->share));
  PetscCall(find_incident(a));
  PetscCall(boundary_samples_create(b, x, dx, 0, &a->samples));
  for (int64_t e = 0; e < m; ++e) measure_points(a, x, e);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode augury_create(const augury_boundary *b, const double *x, double dx, augury **out)
{
  PetscFunctionBegin;
  PetscCall(memory_alloc("augury", 1, sizeof **out, out));
  const PetscErrorCode code = create(b, x, dx, *out);
  if (code) augury_destroy(out);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void augury_destroy(augury **a)
{
  if (!*a) return;
  augury *o = *a;
  boundary_samples_destroy(&o->samples);
  augury_stencil_clear(&o->stencil);
  void *arrays[] = {&o->size,   &o->sampled, &o->defect,  &o->share,  &o->incident_start, &o->incident, &o->x,     &o->acting,
                    &o->rank, &o->is_new, &o->mass, &o->corners, &o->point_of, &o->taking,      &o->inverse,  &o->patch, &o->rigid,
                    &o->point,  &o->before,  &o->dv,      &o->dA,     &o->grid,           &o->node_mass[0], &o->node_mass[1], &o->met, &o->met_at,
                    &o->u,      &o->u_before, &o->du,     &o->outward};
  for (size_t k = 0; k < sizeof arrays / sizeof *arrays; ++k) memory_free(arrays[k]);
  memory_free(a);
}

void augury_set_continuum(augury *a, const augury_continuum *c) { a->continuum = c ? *c : (augury_continuum){0}; }

int64_t augury_n_points(const augury *a)
{
  int64_t n = a->n_taking;
  for (int64_t r = 0; r < a->n_acting; ++r) n += a->samples.start[a->acting[r] + 1] - a->samples.start[a->acting[r]];
  return n;
}
int64_t augury_n_met(const augury *a) { return a->n_met; }

/* ---- a step ----------------------------------------------------------------------------------------------------------- */

/* Centre of mass, and the inverse inertia of the corners' masses on the grid about it. */
static void measure_element(augury *a, int64_t r)
{
  const int64_t  e    = a->acting[r];
  const double   mass = element_mass(a, e);
  const int32_t *node = a->b.element + 3 * e;
  double         inertia[9], center[3] = {0.0, 0.0, 0.0};
  for (int i = 0; i < 3; ++i) v3_axpy(center, a->share[e][i] / mass, a->x + 3 * (int64_t)node[i]);
  m3_identity(inertia);
  for (int k = 0; k < 9; ++k) inertia[k] *= 0.5 * mass * a->dx * a->dx;
  for (int i = 0; i < 3; ++i) {
    double c[3];
    v3_sub(c, a->x + 3 * (int64_t)node[i], center);
    const double r2 = v3_dot(c, c);
    for (int p = 0; p < 3; ++p)
      for (int q = 0; q < 3; ++q) inertia[3 * p + q] += a->share[e][i] * ((p == q ? r2 : 0.0) - c[p] * c[q]);
  }
  m3_inverse(a->inverse[r], inertia);
  a->patch[r].center = (row4){center[0], center[1], center[2], 0.0};
}

/* Elements and nodes that take part, and the masses of the latter. */
static void choose(augury *a, const bool *is_active)
{
  const augury_boundary *b = &a->b;
  a->n_acting = a->n_taking = 0;
  for (int64_t e = 0; e < b->n_elements; ++e) {
    const bool is_acting = !is_active || is_active[e];
    a->rank[e]           = is_acting ? (int32_t)a->n_acting : -1;
    if (is_acting) a->acting[a->n_acting++] = (int32_t)e;
  }
  reweigh(a);
  for (int64_t i = 0; i < b->n_nodes; ++i) {
    double mass = 0.0, corners = 0.0;
    for (int64_t k = a->incident_start[i]; k < a->incident_start[i + 1]; ++k) {
      const int64_t e = a->incident[k] / 3;
      if (a->rank[e] < 0) continue;
      mass += a->share[e][a->incident[k] % 3];
      corners += a->samples.corner[e] * a->share[e][a->incident[k] % 3];
    }
    a->point_of[i] = mass > 0.0 ? (int32_t)a->n_taking : -1;
    if (!(mass > 0.0)) continue;
    a->mass[a->n_taking] = mass, a->corners[a->n_taking] = corners;
    a->taking[a->n_taking++] = (int32_t)i;
  }
}

/* Masses of the grid's nodes. What is lighter than any rounding error of others' weighs nothing. */
static PetscErrorCode weigh_nodes(augury *a)
{
  const augury_stencil *s = &a->stencil;
  const int64_t         n = s->set.n;
  double                heaviest = 0.0;
  PetscFunctionBegin;
  PetscCall(memory_reserve("masses of nodes", n, sizeof *a->node_mass[0], &a->nodes_capacity[0], &a->node_mass[0]));
  PetscCall(memory_reserve("masses of nodes", n, sizeof *a->node_mass[1], &a->nodes_capacity[1], &a->node_mass[1]));
  PetscCall(memory_reserve("velocities of nodes", n, sizeof *a->grid, &a->nodes_capacity[2], &a->grid));
#pragma omp parallel for schedule(static) reduction(max : heaviest)
  for (int64_t i = 0; i < n; ++i) {
    double fine = 0.0, coarse = 0.0;
    for (int64_t k = s->points_start[i]; k < s->points_start[i + 1]; ++k) {
      fine += s->at_weight[k] * a->corners[s->at_point[k]];
      coarse += s->at_weight[k] * a->mass[s->at_point[k]];
    }
    for (int64_t k = s->patches_start[i]; k < s->patches_start[i + 1]; ++k) {
      const double *m = s->at_moment[k];
      fine += m[0] + m[1] + m[2] + 2.0 * (m[3] + m[4] + m[5]);
    }
    a->node_mass[0][i] = fine, a->node_mass[1][i] = coarse;
    heaviest = fine > heaviest ? fine : heaviest;
  }
  for (int c = 0; c < 2; ++c)
    for (int64_t i = 0; i < n; ++i)
      if (!(a->node_mass[c][i] > 1e-30 * heaviest)) a->node_mass[c][i] = 0.0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Nodes of the continuum that are nodes of the boundary's grid, too. */
static PetscErrorCode meet_continuum(augury *a)
{
  const augury_continuum *c = &a->continuum;
  const int64_t           n = a->stencil.set.n;
  PetscFunctionBegin;
  a->n_met = 0;
  PetscCall(memory_reserve("nodes of a continuum", n, sizeof *a->met_at, &a->met_capacity[0], &a->met_at));
  for (int64_t i = 0; i < n; ++i) a->met_at[i] = -1;
  if (c->n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(memory_reserve("nodes of a continuum", n, sizeof *a->met, &a->met_capacity[1], &a->met));
#pragma omp parallel for schedule(static)
  for (int64_t k = 0; k < c->n; ++k) {
    const int32_t i = node_set_find(&a->stencil.set, c->node[k]);
    if (i >= 0 && a->node_mass[0][i] > 0.0) a->met_at[i] = (int32_t)k;
  }
  for (int64_t i = 0; i < n; ++i) {
    if (a->met_at[i] < 0) continue;
    a->met[a->n_met] = a->met_at[i];
    a->met_at[i]     = (int32_t)a->n_met++;
  }
  double **arrays[] = {&a->u, &a->u_before, &a->du};
  for (int k = 0; k < 3; ++k) {
    memory_free(arrays[k]);
    PetscCall(memory_alloc("nodes of a continuum", 3 * a->n_met, sizeof(double), arrays[k]));
  }
  memory_free(&a->outward);
  PetscCall(memory_alloc("nodes of a continuum", a->n_met, sizeof *a->outward, &a->outward));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The first node of the elements that take part which no grid can hold, or n_nodes. */
static int64_t first_beyond(const augury *a, const bool *is_active)
{
  int64_t bad = a->b.n_nodes;
#pragma omp parallel for schedule(static) reduction(min : bad)
  for (int64_t k = 0; k < 9 * a->b.n_elements; ++k) {
    const int64_t i = a->b.element[k / 3];
    if ((!is_active || is_active[k / 9]) && !(fabs(a->x[3 * i + k % 3]) < MOST_CELLS * a->dx) && i < bad) bad = i;
  }
  return bad;
}

static PetscErrorCode lay_out(augury *a)
{
  const stencil_parts in = {.dx = a->dx, .x = a->x, .element = a->b.element, .samples = &a->samples, .n_points = a->n_taking,
                            .n_patches = a->n_acting, .point = a->taking, .patch = a->acting, .mass = a->sampled};
  PetscFunctionBegin;
#pragma omp parallel for schedule(static)
  for (int64_t r = 0; r < a->n_acting; ++r) measure_element(a, r);
  PetscCall(augury_stencil_make(&in, &a->stencil));
  PetscCall(weigh_nodes(a));
  PetscCall(meet_continuum(a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode augury_begin(augury *a, const double *x, const bool *is_active, step_verdict *verdict)
{
  PetscFunctionBegin;
  a->n_acting = a->n_taking = a->n_met = 0;
  memcpy(a->x, x, (size_t)(3 * a->b.n_nodes) * sizeof *x);
  const int64_t bad = team_first_not_finite(3 * a->b.n_nodes, x);
  if (bad < 3 * a->b.n_nodes) {
    *verdict = (step_verdict){STEP_NOT_FINITE, NULL, bad / 3};
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  const int64_t beyond = first_beyond(a, is_active);
  if (beyond < a->b.n_nodes) {
    *verdict = (step_verdict){STEP_OUT_OF_GRID, NULL, beyond};
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(renew(a, x, is_active));
  choose(a, is_active);
  if (a->n_taking > 0) PetscCall(lay_out(a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- momenta ---------------------------------------------------------------------------------------------------------- */

static void add_momentum(const augury *a, int64_t i, const double origin[3], const double *v, const double *A, double P[3], double L[3])
{
  const double *B = A + 9 * i, spin[3] = {B[7] - B[5], B[2] - B[6], B[3] - B[1]};
  double        l[3], r[3];
  v3_sub(r, a->x + 3 * i, origin);
  v3_cross(l, r, v + 3 * i);
  v3_axpy(l, 0.25 * a->dx * a->dx, spin);
  v3_axpy(P, a->b.mass[i], v + 3 * i);
  v3_axpy(L, a->b.mass[i], l);
}

void augury_momentum(const augury *a, const double *v, const double *A, double P[3], double L[3])
{
  const double origin[3] = {0.0, 0.0, 0.0};
  v3_set(P, 0.0, 0.0, 0.0), v3_set(L, 0.0, 0.0, 0.0);
  for (int64_t i = 0; i < a->b.n_nodes; ++i) add_momentum(a, i, origin, v, A, P, L);
}

void augury_body_momenta(const augury *a, const int32_t *body, int64_t n_bodies, const double *origin, const double *v, const double *A,
                         double (*P)[3], double (*L)[3])
{
  for (int64_t k = 0; k < n_bodies; ++k) v3_set(P[k], 0.0, 0.0, 0.0), v3_set(L[k], 0.0, 0.0, 0.0);
  for (int64_t i = 0; i < a->b.n_nodes; ++i)
    if (body[i] >= 0) add_momentum(a, i, origin + 3 * (int64_t)body[i], v, A, P[body[i]], L[body[i]]);
}
