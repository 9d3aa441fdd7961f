#include "contact/augury/augury.h"
#include "core/math3.h"
#include "core/memory.h"
#include "core/team.h"
#include "discretize/mpm/mpm_transfer.h"

/* An element may double its area before its points are drawn anew. */
#define MOST_GROWTH 2.0

/* Points that go to the grid and back, in an order of the grid's own. */
typedef struct {
  particles *p;
  mpm_grid  *grid;
  int32_t   *place;   /* [n] of point i among the sorted */
  int64_t    capacity;
} cloud;

struct augury {
  augury_boundary  b;
  double           dx;
  boundary_samples samples;
  uint64_t         round;
  double          *size;            /* [n_elements] area for which the points were drawn */
  double         (*share)[3];       /* [n_elements][3] masses of corners */
  int64_t         *incident_start;  /* [n_nodes + 1] */
  int32_t         *incident;        /* 3 element + corner */
  /* of the step */
  double          *x;        /* [n_nodes][3] */
  bool            *is_active;/* [n_elements] */
  double          *mass;     /* [n_nodes] of active corners */
  int32_t         *point_of; /* [n_nodes] place among the nodes that take part, -1: none */
  int64_t          n_taking; /* nodes that take part */
  int32_t         *taking;   /* [n_nodes] these */
  int64_t         *first;    /* [n_elements + 1] first of its points among the active ones' */
  double         (*center)[3]; /* [n_elements] */
  double         (*inverse)[9]; /* [n_elements] inverse inertia of the corners on the grid */
  cloud            fine, coarse; /* nodes and points of elements; nodes alone */
  double         (*V)[3], (*W)[3]; /* [n_elements] rigid motion that an element's share of momentum is made */
  double          *dv, *dA;  /* [n_nodes][3], [n_nodes][9] */
};

/* ---- clouds on a grid ------------------------------------------------------------------------------------------------- */

static PetscErrorCode cloud_create(double dx, cloud *c)
{
  PetscFunctionBegin;
  PetscCall(particles_create(NULL, &c->p));
  PetscCall(mpm_grid_create(dx, MPM_QUADRATIC, &c->grid));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void cloud_destroy(cloud *c)
{
  particles_destroy(&c->p);
  mpm_grid_destroy(&c->grid);
  memory_free(&c->place);
}

static PetscErrorCode cloud_resize(cloud *c, int64_t n)
{
  PetscFunctionBegin;
  PetscCall(particles_resize(c->p, n));
  PetscCall(memory_reserve("places of points", n, sizeof *c->place, &c->capacity, &c->place));
  for (int64_t i = 0; i < n; ++i) c->p->id[i] = i;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sort what has been placed. */
static PetscErrorCode cloud_sort(cloud *c, step_verdict *verdict)
{
  const char *const name = "boundary";
  PetscFunctionBegin;
  PetscCall(mpm_grid_build(c->grid, 1, &c->p, &name, verdict));
  for (int64_t i = 0; i < c->p->n; ++i) c->place[c->p->id[i]] = (int32_t)i;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void cloud_set(const cloud *c, int64_t i, const double v[3], const double A[9])
{
  const int64_t at = c->place[i];
  for (int k = 0; k < 3; ++k) c->p->v[k][at] = v[k];
  for (int k = 0; k < 9; ++k) c->p->C[k][at] = A[k];
}

static void cloud_get(const cloud *c, int64_t i, double v[3], double A[9])
{
  const int64_t at = c->place[i];
  for (int k = 0; k < 3; ++k) v[k] = c->p->v[k][at];
  for (int k = 0; k < 9; ++k) A[k] = c->p->C[k][at];
}

/* To the grid and back, where they are. */
static PetscErrorCode cloud_mix(cloud *c)
{
  const mpm_transfer apic = {.is_apic = true};
  PetscFunctionBegin;
  PetscCall(mpm_transfer_to_grid(c->grid, &c->p, apic));
  mpm_transfer_to_particles(c->grid, &c->p, apic, c->grid->velocity, 0.0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

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

static PetscErrorCode draw(augury *a, const double *x)
{
  boundary_samples drawn;
  PetscFunctionBegin;
  PetscCall(boundary_samples_create(&a->b, x, a->dx, a->round++, &drawn));
  boundary_samples_destroy(&a->samples);
  a->samples = drawn;
  for (int64_t e = 0; e < a->b.n_elements; ++e) a->size[e] = area_of(&a->b, x, e);
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
    {m, sizeof *a->size, &a->size},       {3 * n, sizeof *a->x, &a->x},         {m, sizeof *a->is_active, &a->is_active},
    {n, sizeof *a->mass, &a->mass},       {n, sizeof *a->point_of, &a->point_of}, {n, sizeof *a->taking, &a->taking},
    {m + 1, sizeof *a->first, &a->first}, {m, sizeof *a->center, &a->center},   {m, sizeof *a->inverse, &a->inverse},
    {m, sizeof *a->V, &a->V},             {m, sizeof *a->W, &a->W},             {3 * n, sizeof *a->dv, &a->dv},
    {9 * n, sizeof *a->dA, &a->dA}};
  for (size_t k = 0; k < sizeof wanted / sizeof *wanted; ++k)
    PetscCall(memory_alloc("augury", wanted[k].n, wanted[k].size, wanted[k].to));
  PetscCall(boundary_corner_masses(b, &a->share));
  PetscCall(find_incident(a));
  PetscCall(cloud_create(dx, &a->fine));
  PetscCall(cloud_create(dx, &a->coarse));
  PetscCall(draw(a, x));
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
  cloud_destroy(&o->fine);
  cloud_destroy(&o->coarse);
  void *arrays[] = {&o->size,   &o->share, &o->incident_start, &o->incident, &o->x, &o->is_active, &o->mass, &o->point_of,
                    &o->taking, &o->first, &o->center,         &o->inverse,  &o->V, &o->W,         &o->dv,   &o->dA};
  for (size_t k = 0; k < sizeof arrays / sizeof *arrays; ++k) memory_free(arrays[k]);
  memory_free(a);
}

int64_t augury_n_points(const augury *a) { return a->fine.p->n; }

/* ---- a step ----------------------------------------------------------------------------------------------------------- */

static double element_mass(const augury *a, int64_t e) { return a->share[e][0] + a->share[e][1] + a->share[e][2]; }

/* Centre of mass, and the inverse inertia of the corners' masses on the grid about it. */
static void measure_element(augury *a, int64_t e)
{
  const double   mass = element_mass(a, e);
  const int32_t *node = a->b.element + 3 * e;
  double         inertia[9];
  v3_set(a->center[e], 0.0, 0.0, 0.0);
  for (int i = 0; i < 3; ++i) v3_axpy(a->center[e], a->share[e][i] / mass, a->x + 3 * (int64_t)node[i]);
  m3_identity(inertia);
  for (int k = 0; k < 9; ++k) inertia[k] *= 0.5 * mass * a->dx * a->dx;
  for (int i = 0; i < 3; ++i) {
    double r[3];
    v3_sub(r, a->x + 3 * (int64_t)node[i], a->center[e]);
    const double r2 = v3_dot(r, r);
    for (int p = 0; p < 3; ++p)
      for (int q = 0; q < 3; ++q) inertia[3 * p + q] += a->share[e][i] * ((p == q ? r2 : 0.0) - r[p] * r[q]);
  }
  m3_inverse(a->inverse[e], inertia);
}

/* Nodes and elements that take part, and the masses of the former. */
static void choose(augury *a, const bool *is_active)
{
  const augury_boundary *b = &a->b;
  a->n_taking = 0;
  for (int64_t e = 0; e < b->n_elements; ++e) {
    a->is_active[e] = !is_active || is_active[e];
    a->first[e + 1] = a->first[e] + (a->is_active[e] ? a->samples.start[e + 1] - a->samples.start[e] : 0);
  }
  for (int64_t i = 0; i < b->n_nodes; ++i) {
    a->mass[i] = 0.0;
    for (int64_t k = a->incident_start[i]; k < a->incident_start[i + 1]; ++k)
      if (a->is_active[a->incident[k] / 3]) a->mass[i] += a->share[a->incident[k] / 3][a->incident[k] % 3];
    a->point_of[i] = a->mass[i] > 0.0 ? (int32_t)a->n_taking : -1;
    if (a->mass[i] > 0.0) a->taking[a->n_taking++] = (int32_t)i;
  }
}

static void put(cloud *c, int64_t i, const double x[3], double mass)
{
  for (int k = 0; k < 3; ++k) c->p->x[k][i] = x[k];
  c->p->mass[i] = mass;
}

/* Barycentric mean of what corners have. */
static void interpolate(int n, const double place[3], const int32_t node[3], const double *from, double *to)
{
  for (int k = 0; k < n; ++k)
    to[k] = place[0] * from[n * (int64_t)node[0] + k] + place[1] * from[n * (int64_t)node[1] + k] +
            place[2] * from[n * (int64_t)node[2] + k];
}

static PetscErrorCode lay_out(augury *a, step_verdict *verdict)
{
  const augury_boundary *b = &a->b;
  const boundary_samples *s = &a->samples;
  PetscFunctionBegin;
  PetscCall(cloud_resize(&a->coarse, a->n_taking));
  PetscCall(cloud_resize(&a->fine, a->n_taking + a->first[b->n_elements]));
  for (int64_t q = 0; q < a->n_taking; ++q) {
    const int64_t i = a->taking[q];
    double        corners = 0.0;
    for (int64_t k = a->incident_start[i]; k < a->incident_start[i + 1]; ++k) {
      const int64_t e = a->incident[k] / 3;
      if (a->is_active[e]) corners += s->corner[e] * a->share[e][a->incident[k] % 3];
    }
    put(&a->coarse, q, a->x + 3 * i, a->mass[i]);
    put(&a->fine, q, a->x + 3 * i, corners);
  }
#pragma omp parallel for schedule(static)
  for (int64_t e = 0; e < b->n_elements; ++e) {
    if (!a->is_active[e]) continue;
    measure_element(a, e);
    for (int64_t j = s->start[e], at = a->n_taking + a->first[e]; j < s->start[e + 1]; ++j, ++at) {
      double x[3];
      interpolate(3, s->place[j], b->element + 3 * e, a->x, x);
      put(&a->fine, at, x, (1.0 - s->corner[e]) * element_mass(a, e) * s->weight[j]);
    }
  }
  if (a->n_taking == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(cloud_sort(&a->coarse, verdict));
  if (verdict->code == STEP_OK) PetscCall(cloud_sort(&a->fine, verdict));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode augury_begin(augury *a, const double *x, const bool *is_active, step_verdict *verdict)
{
  PetscFunctionBegin;
  memcpy(a->x, x, (size_t)(3 * a->b.n_nodes) * sizeof *x);
  const int64_t bad = team_first_not_finite(3 * a->b.n_nodes, x);
  if (bad < 3 * a->b.n_nodes) {
    *verdict = (step_verdict){STEP_NOT_FINITE, NULL, bad / 3};
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (int64_t e = 0; e < a->b.n_elements; ++e)
    if (a->samples.start[e + 1] > a->samples.start[e] && area_of(&a->b, x, e) > MOST_GROWTH * a->size[e]) {
      PetscCall(draw(a, x));
      break;
    }
  choose(a, is_active);
  PetscCall(lay_out(a, verdict));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- RSA -------------------------------------------------------------------------------------------------------------- */

/* m r x v summed over an element's points and, negative, its corners, as if both weighed as much as the element: what linear
 * interpolation makes of its angular momentum [eq. 10]. */
static void angular_defect(const augury *a, int64_t e, const double *v, double dl[3])
{
  const boundary_samples *s    = &a->samples;
  const int32_t          *node = a->b.element + 3 * e;
  const double            mass = element_mass(a, e);
  double                  r[3], u[3], l[3];
  v3_set(dl, 0.0, 0.0, 0.0);
  for (int64_t j = s->start[e]; j < s->start[e + 1]; ++j) {
    interpolate(3, s->place[j], node, a->x, r);
    v3_axpy(r, -1.0, a->center[e]);
    interpolate(3, s->place[j], node, v, u);
    v3_cross(l, r, u);
    v3_axpy(dl, mass * s->weight[j], l);
  }
  for (int i = 0; i < 3; ++i) {
    v3_sub(r, a->x + 3 * (int64_t)node[i], a->center[e]);
    v3_cross(l, r, v + 3 * (int64_t)node[i]);
    v3_axpy(dl, -a->share[e][i], l);
  }
}

/* RS: velocities of the points from those of the nodes; a spin of the points mends the element's angular momentum. */
static void resample(augury *a, const double *v, const double *A)
{
  const boundary_samples *s = &a->samples;
#pragma omp parallel for schedule(static)
  for (int64_t q = 0; q < a->n_taking; ++q) cloud_set(&a->fine, q, v + 3 * (int64_t)a->taking[q], A + 9 * (int64_t)a->taking[q]);
#pragma omp parallel for schedule(static)
  for (int64_t e = 0; e < a->b.n_elements; ++e) {
    if (!a->is_active[e] || s->start[e] == s->start[e + 1]) continue;
    double dl[3], spin[9], u[3], B[9];
    angular_defect(a, e, v, dl);
    v3_scale(dl, -2.0 / (a->dx * a->dx * element_mass(a, e)), dl); /* share 1 - s of both cancels */
    m3_skew(spin, dl);
    for (int64_t j = s->start[e], at = a->n_taking + a->first[e]; j < s->start[e + 1]; ++j, ++at) {
      interpolate(3, s->place[j], a->b.element + 3 * e, v, u);
      interpolate(9, s->place[j], a->b.element + 3 * e, A, B);
      m3_axpy(B, 1.0, spin);
      cloud_set(&a->fine, at, u, B);
    }
  }
}

/* The momentum p and angular momentum l about `center` that a point of this mass takes from the grid. */
static void collect(const augury *a, const cloud *c, int64_t i, const double center[3], double mass, double p[3], double l[3])
{
  const int64_t at = c->place[i];
  double        u[3], B[9], r[3], turn[3];
  cloud_get(c, i, u, B);
  for (int k = 0; k < 3; ++k) r[k] = c->p->x[k][at] - center[k];
  v3_cross(turn, r, u);
  const double spin[3] = {B[7] - B[5], B[2] - B[6], B[3] - B[1]};
  v3_axpy(turn, 0.25 * a->dx * a->dx, spin);
  v3_axpy(p, mass, u);
  v3_axpy(l, mass, turn);
}

/* DS: each element's share of what is on the grid, as a rigid motion V + W x r about its centre; the nodes' velocities from
 * these. */
static void downsample(augury *a)
{
  const boundary_samples *s = &a->samples;
#pragma omp parallel for schedule(static)
  for (int64_t e = 0; e < a->b.n_elements; ++e) {
    if (!a->is_active[e]) continue;
    const double mass = element_mass(a, e);
    double       p[3] = {0.0, 0.0, 0.0}, l[3] = {0.0, 0.0, 0.0};
    for (int i = 0; i < 3; ++i)
      collect(a, &a->fine, a->point_of[a->b.element[3 * e + i]], a->center[e], s->corner[e] * a->share[e][i], p, l);
    for (int64_t j = s->start[e], at = a->n_taking + a->first[e]; j < s->start[e + 1]; ++j, ++at)
      collect(a, &a->fine, at, a->center[e], (1.0 - s->corner[e]) * mass * s->weight[j], p, l);
    v3_scale(a->V[e], 1.0 / mass, p);
    m3_mulv(a->W[e], a->inverse[e], l);
  }
#pragma omp parallel for schedule(static)
  for (int64_t q = 0; q < a->n_taking; ++q) {
    const int64_t i    = a->taking[q];
    double        v[3] = {0.0, 0.0, 0.0}, A[9] = {0.0};
    for (int64_t k = a->incident_start[i]; k < a->incident_start[i + 1]; ++k) {
      const int64_t e = a->incident[k] / 3;
      if (!a->is_active[e]) continue;
      const double part = a->share[e][a->incident[k] % 3] / a->mass[i];
      double       r[3], u[3], spin[9];
      v3_sub(r, a->x + 3 * i, a->center[e]);
      v3_cross(u, a->W[e], r);
      v3_axpy(v, part, a->V[e]);
      v3_axpy(v, part, u);
      m3_skew(spin, a->W[e]);
      m3_axpy(A, part, spin);
    }
    cloud_set(&a->coarse, q, v, A);
  }
}

PetscErrorCode augury_apply(augury *a, double *v, double *A)
{
  PetscFunctionBegin;
  if (a->n_taking == 0) PetscFunctionReturn(PETSC_SUCCESS);
  resample(a, v, A);
  PetscCall(cloud_mix(&a->fine));
  downsample(a);
  PetscCall(cloud_mix(&a->coarse));
#pragma omp parallel for schedule(static)
  for (int64_t q = 0; q < a->n_taking; ++q) {
    const int64_t i    = a->taking[q];
    const double  part = a->mass[i] / a->b.mass[i];
    double        u[3], B[9];
    cloud_get(&a->coarse, q, u, B);
    for (int k = 0; k < 3; ++k) v[3 * i + k] += part * (u[k] - v[3 * i + k]);
    for (int k = 0; k < 9; ++k) A[9 * i + k] += part * (B[k] - A[9 * i + k]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the augury iteration ---------------------------------------------------------------------------------------------- */

/* What of the change dv is to be taken back: all of it where it pulls outwards; else nothing, or its tangential part. */
static void judge(bool accepts_sliding_change, const double normal[3], double dv[3])
{
  const double out = v3_dot(dv, normal);
  if (out > 0.0) return;
  if (accepts_sliding_change) v3_set(dv, 0.0, 0.0, 0.0);
  else v3_axpy(dv, -out, normal);
}

PetscErrorCode augury_solve(augury *a, const augury_options *o, const double *normal, double *v, double *A, augury_result *out)
{
  const int64_t n = a->b.n_nodes;
  double       *before = NULL;
  PetscFunctionBegin;
  *out = (augury_result){0, 0.0};
  if (a->n_taking == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(memory_alloc("velocities before contact", 3 * n, sizeof *before, &before));
  memcpy(before, v, (size_t)(3 * n) * sizeof *v);
  const double   enough = o->tolerance * team_max_abs(3 * n, v);
  PetscErrorCode code   = augury_apply(a, v, A);
  for (; !code; ++out->iterations) {
    for (int64_t i = 0; i < n; ++i) {
      v3_sub(a->dv + 3 * i, v + 3 * i, before + 3 * i);
      judge(o->accepts_sliding_change, normal + 3 * i, a->dv + 3 * i);
    }
    out->left = team_max_abs(3 * n, a->dv);
    if (out->left <= enough || out->iterations == o->max_iterations) break;
    for (int64_t i = 0; i < 3 * n; ++i) v[i] -= a->dv[i];
    memset(a->dA, 0, (size_t)(9 * n) * sizeof *a->dA);
    code = augury_apply(a, a->dv, a->dA);
    for (int64_t i = 0; i < 3 * n; ++i) v[i] += a->dv[i];
    for (int64_t i = 0; i < 9 * n; ++i) A[i] += a->dA[i];
  }
  memory_free(&before);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void augury_momentum(const augury *a, const double *v, const double *A, double P[3], double L[3])
{
  v3_set(P, 0.0, 0.0, 0.0), v3_set(L, 0.0, 0.0, 0.0);
  for (int64_t i = 0; i < a->b.n_nodes; ++i) {
    const double *B = A + 9 * i, spin[3] = {B[7] - B[5], B[2] - B[6], B[3] - B[1]};
    double        l[3];
    v3_cross(l, a->x + 3 * i, v + 3 * i);
    v3_axpy(l, 0.25 * a->dx * a->dx, spin);
    v3_axpy(P, a->b.mass[i], v + 3 * i);
    v3_axpy(L, a->b.mass[i], l);
  }
}
