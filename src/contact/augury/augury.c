/* Augury contact, see augury.h: transfers between boundary and grid, and the augury iteration. Caller: the `hybrid` step. */
#include "contact/augury/augury.h"
#include "contact/augury/augury_stencil.h"
#include "discretize/mpm/mpm_lanes.h"
#include "core/math3.h"
#include "core/memory.h"
#include "core/team.h"

/* ---- data ---- */

/* Sections: layout of a step; the operator RSA; the augury iteration. */

enum { AUGURY_FEW = 256 }; /* loops over fewer elements or nodes run on one thread */

/* Vectors have four entries, of which the last is 0; matrices are stored by columns. */
typedef struct {
  row4 x, v, A[3];
} augury_point; /* v(y) = v + A (y - x) */
typedef struct {
  row4 center;
  row4 Z[6];    /* factors of s_00, s_11, s_22, s_12, s_02, s_01: v_k - A_k (x_l - center); for k != l the sum of both */
  row4 A[3][3]; /* of the corners, including the spin that corrects angular momentum */
} augury_patch;
typedef struct {
  row4 V, W; /* V + W x (y - center) */
} augury_rigid;

struct augury {
  augury_boundary  b;
  double           dx;
  boundary_samples samples;
  uint64_t         round;
  bool            *is_new;         /* [n_elements] work space */
  double          *size;           /* [n_elements] area at the time of sampling [m^2] */
  double          *sampled;        /* [n_elements] mass of the points */
  double (*defect)[6];             /* [n_elements] */
  double (*share)[3];              /* [n_elements][3] masses of corners */
  int64_t         *incident_start; /* [n_nodes + 1] */
  int32_t         *incident;       /* 3 element + corner */
  augury_continuum continuum;      /* n = 0: none */
  /* data of one step */
  double  *x;                  /* [n_nodes][3] */
  int64_t  n_acting, n_taking; /* numbers of active elements and of their nodes */
  int32_t *acting;             /* [n_elements] active elements */
  int32_t *rank;               /* [n_elements] index in `acting`, -1: inactive */
  int32_t *taking;             /* [n_nodes] nodes of active elements */
  int32_t *point_of;           /* [n_nodes] index in `taking`, -1: none */
  double  *mass, *corners;     /* [n_taking] mass of active corners, and the fraction of it at the corners of elements
                                    * with points */
  double (*inverse)[9];        /* [n_acting] inverse inertia of the corners on the grid */
  augury_stencil stencil;
  double        *node_mass[2]; /* [nodes of the grid] mass with sample points, and of corners only; 0 if negligible */
  int64_t        nodes_capacity;
  int64_t        n_met;  /* number of continuum nodes at grid nodes of the boundary */
  int32_t       *met;    /* [n_met] these nodes */
  int32_t       *met_at; /* [nodes of the grid] index in `met`, -1: none */
  int64_t        met_at_capacity, met_capacity;
  /* data of one application of RSA */
  row4         *grid;  /* [nodes of the grid] velocity */
  augury_point *point; /* [n_taking] */
  augury_patch *patch; /* [n_acting] */
  augury_rigid *rigid; /* [n_acting] */
  /* data of the augury iteration */
  double *before, *dv, *dA;  /* [n_nodes][3], [n_nodes][3], [n_nodes][9]: set for nodes of active elements */
  double *u, *u_before, *du; /* [n_met][3] */
  double (*outward)[3];      /* [n_met] outward direction; 0: unknown */
};

static inline row4 row4_of(const double *v) { return (row4){v[0], v[1], v[2], 0.0}; }
static inline void row4_to(double *v, row4 r) { v[0] = r[0], v[1] = r[1], v[2] = r[2]; }

/* ---- transfer to the grid and back (RSA) ---- */

/* RSA = G2P o DS o P2G o RS [MarquezRazonEtAl2023, sec. 6]. */

/* ---- RS: velocities of nodes and elements ------------------------------------------------------------------------------- */

static void load_point(augury *a, int64_t q, const double *v, const double *A)
{
  const int64_t i = a->taking[q];
  augury_point *p = &a->point[q];
  p->x            = row4_of(a->x + 3 * i);
  p->v            = row4_of(v + 3 * i);
  for (int c = 0; c < 3; ++c) p->A[c] = (row4){A[9 * i + c], A[9 * i + 3 + c], A[9 * i + 6 + c], 0.0};
}

/* Spin of the points that corrects the error of linear interpolation in the angular momentum of an element [eq. 10]: the sum of
 * r_k x v_l, weighted by the defects of the moments (measure_defect). The mass fraction 1 - s of the points cancels. */
static void mending_spin(const augury *a, int64_t e, const row4 r[3], const augury_point *const p[3], double spin[3])
{
  static const int pair[6][2] = {{0, 0}, {1, 1}, {2, 2}, {1, 2}, {0, 2}, {0, 1}};
  double           sum[3]     = {0.0, 0.0, 0.0};
  for (int q = 0; q < 6; ++q)
    for (int turn = 0; turn < (q < 3 ? 1 : 2); ++turn) {
      double c[3], u[3], l[3];
      row4_to(c, r[pair[q][turn]]), row4_to(u, p[pair[q][1 - turn]]->v);
      v3_cross(l, c, u);
      v3_axpy(sum, a->defect[e][q], l);
    }
  v3_scale(spin, -2.0 / (a->dx * a->dx * (a->share[e][0] + a->share[e][1] + a->share[e][2])), sum);
}

static void load_patch(augury *a, int64_t rank)
{
  const int64_t       e    = a->acting[rank];
  const int32_t      *node = a->b.element + 3 * e;
  const augury_point *p[3];
  augury_patch       *t = &a->patch[rank];
  row4                r[3];
  double              w[3];
  if (a->sampled[e] <= 0.0) return; /* corners alone */
  for (int k = 0; k < 3; ++k) p[k] = &a->point[a->point_of[node[k]]], r[k] = p[k]->x - t->center;
  mending_spin(a, e, r, p, w);
  const row4 spin[3] = {{0.0, w[2], -w[1], 0.0}, {-w[2], 0.0, w[0], 0.0}, {w[1], -w[0], 0.0, 0.0}};
  row4       z[3][3];
  for (int k = 0; k < 3; ++k) {
    for (int c = 0; c < 3; ++c) t->A[k][c] = p[k]->A[c] + spin[c];
    for (int l = 0; l < 3; ++l) z[k][l] = p[k]->v - (t->A[k][0] * r[l][0] + t->A[k][1] * r[l][1] + t->A[k][2] * r[l][2]);
  }
  for (int k = 0; k < 3; ++k) t->Z[k] = z[k][k], t->Z[3 + k] = z[(k + 1) % 3][(k + 2) % 3] + z[(k + 2) % 3][(k + 1) % 3];
}

/* ---- the grid ---------------------------------------------------------------------------------------------------------- */

/* Momentum at a grid node of the points, which have the masses `mass`. */
static row4 points_momentum(const augury *a, const double *mass, int64_t i, row4 x)
{
  const augury_stencil *s = &a->stencil;
  row4                  p = {0.0};
  for (int64_t k = s->points_start[i]; k < s->points_start[i + 1]; ++k) {
    const augury_point *q = &a->point[s->at_point[k]];
    const row4          r = x - q->x;
    p += s->at_weight[k] * mass[s->at_point[k]] * (q->v + q->A[0] * r[0] + q->A[1] * r[1] + q->A[2] * r[2]);
  }
  return p;
}

static row4 patches_momentum(const augury *a, int64_t i, row4 x)
{
  const augury_stencil *s = &a->stencil;
  row4                  p = {0.0};
  for (int64_t k = s->patches_start[i]; k < s->patches_start[i + 1]; ++k) {
    const augury_patch *t = &a->patch[s->at_patch[k]];
    const double       *m = s->at_moment[k], share[3] = {m[0] + m[4] + m[5], m[1] + m[3] + m[5], m[2] + m[3] + m[4]};
    const row4          r = x - t->center;
    for (int q = 0; q < 6; ++q) p += m[q] * t->Z[q];
    for (int c = 0; c < 3; ++c) p += r[c] * (share[0] * t->A[0][c] + share[1] * t->A[1][c] + share[2] * t->A[2][c]);
  }
  return p;
}

/* Velocities of the grid nodes, from boundary and continuum; the continuum nodes u receive these velocities. */
static void to_grid(augury *a, bool has_patches, double *u)
{
  const double *mass = a->node_mass[has_patches ? 0 : 1], *own = has_patches ? a->corners : a->mass;
#pragma omp parallel for schedule(dynamic, 64) if (a->n_taking > AUGURY_FEW)
  for (int64_t i = 0; i < a->stencil.set.n; ++i) {
    const row4 x = row4_load(a->stencil.x[i]);
    if (!(mass[i] > 0.0)) {
      a->grid[i] = (row4){0.0};
      continue;
    }
    row4 p = points_momentum(a, own, i, x);
    if (has_patches) p += patches_momentum(a, i, x);
    const int64_t at = a->met_at[i];
    if (at < 0) {
      a->grid[i] = p / mass[i];
      continue;
    }
    const double there = a->continuum.mass[a->met[at]];
    a->grid[i]         = (p + there * row4_of(u + 3 * at)) / (mass[i] + there);
    row4_to(u + 3 * at, a->grid[i]);
  }
}

static void from_grid(const augury *a, int64_t q, augury_point *p)
{
  const augury_stencil *s     = &a->stencil;
  const double          scale = 4.0 / (a->dx * a->dx);
  p->v = p->A[0] = p->A[1] = p->A[2] = (row4){0.0};
  for (int k = 0; k < STENCIL_NODES; ++k) {
    const int64_t i = s->point_node[q][k];
    const row4    r = row4_load(s->x[i]) - p->x, u = s->point_weight[q][k] * a->grid[i];
    p->v += u;
    for (int c = 0; c < 3; ++c) p->A[c] += r[c] * u;
  }
  for (int c = 0; c < 3; ++c) p->A[c] *= scale;
}

/* ---- DS: elements made rigid -------------------------------------------------------------------------------------------- */

static row4 cross(row4 a, row4 b) { return (row4){a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0], 0.0}; }

/* Rigid motion of an element about its centre from its part of the grid momentum. */
static void downsample(augury *a, int64_t rank)
{
  const int64_t         e      = a->acting[rank];
  const augury_stencil *s      = &a->stencil;
  const row4            center = a->patch[rank].center;
  const double          spin   = 0.25 * a->dx * a->dx;
  row4                  p = {0.0}, T[3] = {{0.0}}; /* momentum, and its moments about `center` */
  for (int64_t k = s->patch_start[rank]; k < s->patch_start[rank + 1]; ++k) {
    const int64_t i  = s->patch_node[k];
    const row4    mu = s->patch_mass[k] * a->grid[i], r = row4_load(s->x[i]) - center;
    p += mu;
    for (int c = 0; c < 3; ++c) T[c] += r[c] * mu;
  }
  row4 l = {T[1][2] - T[2][1], T[2][0] - T[0][2], T[0][1] - T[1][0], 0.0};
  for (int k = 0; k < 3; ++k) {
    const augury_point *q = &a->point[a->point_of[a->b.element[3 * e + k]]];
    const double        m = a->samples.corner[e] * a->share[e][k];
    const row4          w = {q->A[1][2] - q->A[2][1], q->A[2][0] - q->A[0][2], q->A[0][1] - q->A[1][0], 0.0};
    p += m * q->v;
    l += m * (cross(q->x - center, q->v) + spin * w);
  }
  const double *m  = a->inverse[rank];
  a->rigid[rank].V = p / (a->share[e][0] + a->share[e][1] + a->share[e][2]);
  a->rigid[rank].W = (row4){m[0], m[3], m[6], 0.0} * l[0] + (row4){m[1], m[4], m[7], 0.0} * l[1] + (row4){m[2], m[5], m[8], 0.0} * l[2];
}

/* Velocity and affine matrix of a node from those of its elements. */
static void augury_combine(augury *a, int64_t q)
{
  const int64_t i = a->taking[q];
  augury_point *p = &a->point[q];
  row4          w = {0.0};
  p->v            = (row4){0.0};
  for (int64_t k = a->incident_start[i]; k < a->incident_start[i + 1]; ++k) {
    const int64_t e = a->incident[k] / 3, rank = a->rank[e];
    if (rank < 0) continue;
    const double part = a->share[e][a->incident[k] % 3] / a->mass[q];
    p->v += part * (a->rigid[rank].V + cross(a->rigid[rank].W, p->x - a->patch[rank].center));
    w += part * a->rigid[rank].W;
  }
  p->A[0] = (row4){0.0, w[2], -w[1], 0.0}, p->A[1] = (row4){-w[2], 0.0, w[0], 0.0}, p->A[2] = (row4){w[1], -w[0], 0.0, 0.0};
}

/* ---- the operator RSA ---------------------------------------------------------------------------------------------------------- */

static void augury_blend(const augury *a, int64_t q, double *v, double *A)
{
  const int64_t i    = a->taking[q];
  const double  part = a->mass[q] / a->b.mass[i];
  for (int k = 0; k < 3; ++k) v[3 * i + k] += part * (a->point[q].v[k] - v[3 * i + k]);
  for (int k = 0; k < 9; ++k) A[9 * i + k] += part * (a->point[q].A[k % 3][k / 3] - A[9 * i + k]);
}

/* RSA of v [n_nodes][3], A [n_nodes][9], u [n_met][3], in place. */
static void augury_transfer(augury *a, double *v, double *A, double *u)
{
#pragma omp parallel for schedule(static) if (a->n_taking > AUGURY_FEW)
  for (int64_t q = 0; q < a->n_taking; ++q) load_point(a, q, v, A);
#pragma omp parallel for schedule(static) if (a->n_acting > AUGURY_FEW)
  for (int64_t r = 0; r < a->n_acting; ++r) load_patch(a, r);
  to_grid(a, true, u);
#pragma omp parallel for schedule(static) if (a->n_taking > AUGURY_FEW)
  for (int64_t q = 0; q < a->n_taking; ++q) from_grid(a, q, &a->point[q]);
#pragma omp parallel for schedule(static) if (a->n_acting > AUGURY_FEW)
  for (int64_t r = 0; r < a->n_acting; ++r) downsample(a, r);
#pragma omp parallel for schedule(static) if (a->n_taking > AUGURY_FEW)
  for (int64_t q = 0; q < a->n_taking; ++q) augury_combine(a, q);
  to_grid(a, false, u);
#pragma omp parallel for schedule(static) if (a->n_taking > AUGURY_FEW)
  for (int64_t q = 0; q < a->n_taking; ++q) {
    from_grid(a, q, &a->point[q]);
    augury_blend(a, q, v, A);
  }
}

/* Copy the velocities of the shared continuum nodes to u [n_met][3] (take), or from u to the continuum (give). */
static void augury_take_continuum(const augury *a, double *u)
{
  for (int64_t k = 0; k < a->n_met; ++k) v3_copy(u + 3 * k, a->continuum.velocity + 3 * (int64_t)a->met[k]);
}
static void augury_give_continuum(const augury *a, const double *u)
{
  for (int64_t k = 0; k < a->n_met; ++k) v3_copy(a->continuum.velocity + 3 * (int64_t)a->met[k], u + 3 * k);
}

PetscErrorCode augury_apply(augury *a, double *v, double *A)
{
  PetscFunctionBegin;
  if (a->n_taking == 0) PetscFunctionReturn(PETSC_SUCCESS);
  augury_take_continuum(a, a->u);
  augury_transfer(a, v, A, a->u);
  augury_give_continuum(a, a->u);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- creation and layout of a step ---- */

#define MOST_CELLS 1048576.0 /* largest distance from the origin in cells, 2^20, as for grids of the material point method */
/* An element is resampled when its area has doubled. */
#define MOST_GROWTH 2.0

/* ---- part of the motion that is not transferred ---- */

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

/* Second moments of the points of an element minus those of its corners, each for the mass of the element. These differences determine
 * the change of angular momentum by linear interpolation [eq. 10], for every deformed shape. */
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

/* Update the masses of active elements from the masses of nodes, which may have changed since the last step. */
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

/* Resample the active elements whose area has grown by MOST_GROWTH. */
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
  PetscCall(MEMORY_ALLOC("elements of nodes", ARRAY(a->incident_start, b->n_nodes + 1), ARRAY(a->incident, 3 * b->n_elements)));
  for (int64_t k = 0; k < 3 * b->n_elements; ++k) ++a->incident_start[b->element[k] + 1];
  for (int64_t i = 0; i < b->n_nodes; ++i) a->incident_start[i + 1] += a->incident_start[i];
  for (int64_t k = 0; k < 3 * b->n_elements; ++k) a->incident[a->incident_start[b->element[k]]++] = (int32_t)k;
  for (int64_t i = b->n_nodes; i > 0; --i) a->incident_start[i] = a->incident_start[i - 1];
  a->incident_start[0] = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode augury_initialise(const augury_boundary *b, const double *x, double dx, augury *a)
{
  const int64_t n = b->n_nodes, m = b->n_elements;
  PetscFunctionBegin;
  a->b = *b, a->dx = dx;
  const struct {
    int64_t n;
    size_t  size;
    void   *to;
  } wanted[] = {{m, sizeof *a->size, &a->size},         {m, sizeof *a->sampled, &a->sampled}, {m, sizeof *a->defect, &a->defect},
                {3 * n, sizeof *a->x, &a->x},           {m, sizeof *a->acting, &a->acting},   {m, sizeof *a->rank, &a->rank},
                {m, sizeof *a->is_new, &a->is_new},     {n, sizeof *a->mass, &a->mass},       {n, sizeof *a->corners, &a->corners},
                {n, sizeof *a->point_of, &a->point_of}, {n, sizeof *a->taking, &a->taking},   {m, sizeof *a->inverse, &a->inverse},
                {m, sizeof *a->patch, &a->patch},       {m, sizeof *a->rigid, &a->rigid},     {n, sizeof *a->point, &a->point},
                {3 * n, sizeof *a->before, &a->before}, {3 * n, sizeof *a->dv, &a->dv},       {9 * n, sizeof *a->dA, &a->dA}};
  for (size_t k = 0; k < sizeof wanted / sizeof *wanted; ++k) PetscCall(memory_alloc("augury", wanted[k].n, wanted[k].size, wanted[k].to));
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
  const PetscErrorCode code = augury_initialise(b, x, dx, *out);
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
  MEMORY_FREE(&o->size, &o->sampled, &o->defect, &o->share, &o->incident_start, &o->incident, &o->x, &o->acting, &o->rank, &o->is_new,
              &o->mass, &o->corners, &o->point_of, &o->taking, &o->inverse, &o->patch, &o->rigid, &o->point, &o->before, &o->dv, &o->dA,
              &o->grid, &o->node_mass[0], &o->node_mass[1], &o->met, &o->met_at, &o->u, &o->u_before, &o->du, &o->outward, a);
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

/* List the active elements and their nodes, and compute the masses of these nodes. */
static void augury_choose(augury *a, const bool *is_active)
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

/* Masses of the grid nodes. Masses below the rounding error of the others become 0. */
static PetscErrorCode weigh_nodes(augury *a)
{
  const augury_stencil *s        = &a->stencil;
  const int64_t         n        = s->set.n;
  double                heaviest = 0.0;
  PetscFunctionBegin;
  PetscCall(
      MEMORY_RESERVE("masses of nodes", n, &a->nodes_capacity, ARRAY(a->node_mass[0], 1), ARRAY(a->node_mass[1], 1), ARRAY(a->grid, 1)));
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

/* List the nodes of the continuum that are also grid nodes of the boundary. */
static PetscErrorCode find_common_nodes(augury *a)
{
  const augury_continuum *c = &a->continuum;
  const int64_t           n = a->stencil.set.n;
  PetscFunctionBegin;
  a->n_met = 0;
  PetscCall(memory_reserve("nodes of a continuum", n, sizeof *a->met_at, &a->met_at_capacity, &a->met_at));
  for (int64_t i = 0; i < n; ++i) a->met_at[i] = -1;
  if (c->n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(memory_reserve("nodes of a continuum", n, sizeof *a->met, &a->met_capacity, &a->met));
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

/* The first node of an active element whose coordinates are not finite or too large, or n_nodes. */
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

static PetscErrorCode build_step_layout(augury *a)
{
  const stencil_parts in = {.dx        = a->dx,
                            .x         = a->x,
                            .element   = a->b.element,
                            .samples   = &a->samples,
                            .n_points  = a->n_taking,
                            .n_patches = a->n_acting,
                            .point     = a->taking,
                            .patch     = a->acting,
                            .mass      = a->sampled};
  PetscFunctionBegin;
#pragma omp parallel for schedule(static)
  for (int64_t r = 0; r < a->n_acting; ++r) measure_element(a, r);
  PetscCall(augury_stencil_make(&in, &a->stencil));
  PetscCall(weigh_nodes(a));
  PetscCall(find_common_nodes(a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode augury_begin(augury *a, const double *x, const bool *is_active, step_status *status)
{
  PetscFunctionBegin;
  a->n_acting = a->n_taking = a->n_met = 0;
  memcpy(a->x, x, (size_t)(3 * a->b.n_nodes) * sizeof *x);
  const int64_t bad = team_first_not_finite(3 * a->b.n_nodes, x);
  if (bad < 3 * a->b.n_nodes) {
    *status = (step_status){STEP_NOT_FINITE, NULL, bad / 3};
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  const int64_t beyond = first_beyond(a, is_active);
  if (beyond < a->b.n_nodes) {
    *status = (step_status){STEP_OUT_OF_GRID, NULL, beyond};
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(renew(a, x, is_active));
  augury_choose(a, is_active);
  if (a->n_taking > 0) PetscCall(build_step_layout(a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- augury iteration ---- */

/* The augury iteration [TupekEtAl2021; MarquezRazonEtAl2023, sec. 6.4]. */

/* Reduce the change dv to the part to be undone: all of it if it points outwards (attraction), otherwise nothing or its
 * tangential part. side = 0: no outside is known, and no change counts as outward. */
static void select_undone_change(bool accepts_sliding_change, const double normal[3], int side, double dv[3])
{
  const double out = v3_dot(dv, normal);
  if (side * out > 0.0) return;
  if (accepts_sliding_change) v3_set(dv, 0.0, 0.0, 0.0);
  else v3_axpy(dv, -out, normal);
}

static int side_of(const augury_options *o, int64_t i) { return o->side ? o->side[i] : 1; }

/* Outward direction of the continuum at its nodes in reach: its own, or opposite to the boundary's outward direction; 0 if
 * neither is known. */
static void find_outward(augury *a, const augury_options *o, const double *normal)
{
  const augury_stencil *s = &a->stencil;
#pragma omp parallel for schedule(static) if (a->n_met > AUGURY_FEW)
  for (int64_t i = 0; i < s->set.n; ++i) {
    const int64_t at = a->met_at[i];
    if (at < 0 || augury_continuum_outward(&a->continuum, a->met[at], a->dx, a->outward[at])) continue;
    double sum[3] = {0.0, 0.0, 0.0};
    for (int64_t k = s->points_start[i]; k < s->points_start[i + 1]; ++k) {
      const int64_t q = s->at_point[k], p = a->taking[q];
      v3_axpy(sum, -side_of(o, p) * s->at_weight[k] * a->mass[q], normal + 3 * p);
    }
    const double length = v3_norm(sum);
    v3_scale(a->outward[at], length > 0.0 ? 1.0 / length : 0.0, sum);
  }
}

static double largest(int64_t n, const int32_t *which, const double *v)
{
  double most = 0.0;
#pragma omp parallel for schedule(static) reduction(max : most) if (n > AUGURY_FEW)
  for (int64_t q = 0; q < n; ++q)
    for (int k = 0; k < 3; ++k) most = fmax(most, fabs(v[3 * (int64_t)which[q] + k]));
  return most;
}

/* Changes since `before` that are to be undone: dv of boundary nodes, du of continuum nodes. Returns the largest component. */
static double select_undone_changes(augury *a, const augury_options *o, const double *normal, const double *v)
{
#pragma omp parallel for schedule(static) if (a->n_taking > AUGURY_FEW)
  for (int64_t q = 0; q < a->n_taking; ++q) {
    const int64_t i = a->taking[q];
    v3_sub(a->dv + 3 * i, v + 3 * i, a->before + 3 * i);
    select_undone_change(o->accepts_sliding_change, (o->towards ? o->towards : normal) + 3 * i, side_of(o, i), a->dv + 3 * i);
  }
  for (int64_t k = 0; k < a->n_met; ++k) {
    const bool is_known = v3_dot(a->outward[k], a->outward[k]) > 0.0;
    v3_sub(a->du + 3 * k, a->u + 3 * k, a->u_before + 3 * k);
    if (is_known) select_undone_change(o->accepts_sliding_change, a->outward[k], 1, a->du + 3 * k);
    else v3_set(a->du + 3 * k, 0.0, 0.0, 0.0);
  }
  return fmax(largest(a->n_taking, a->taking, a->dv), team_max_abs(3 * a->n_met, a->du));
}

/* (v, A, u) += RSA (dv, 0, du) - (dv, 0, du) */
static void undo_changes(augury *a, double *v, double *A)
{
#pragma omp parallel for schedule(static) if (a->n_taking > AUGURY_FEW)
  for (int64_t q = 0; q < a->n_taking; ++q) {
    const int64_t i = a->taking[q];
    v3_axpy(v + 3 * i, -1.0, a->dv + 3 * i);
    memset(a->dA + 9 * i, 0, 9 * sizeof *a->dA);
  }
  for (int64_t k = 0; k < 3 * a->n_met; ++k) a->u[k] -= a->du[k];
  augury_transfer(a, a->dv, a->dA, a->du);
#pragma omp parallel for schedule(static) if (a->n_taking > AUGURY_FEW)
  for (int64_t q = 0; q < a->n_taking; ++q) {
    const int64_t i = a->taking[q];
    v3_axpy(v + 3 * i, 1.0, a->dv + 3 * i);
    m3_axpy(A + 9 * i, 1.0, a->dA + 9 * i);
  }
  for (int64_t k = 0; k < 3 * a->n_met; ++k) a->u[k] += a->du[k];
}

PetscErrorCode augury_solve(augury *a, const augury_options *o, const double *normal, double *v, double *A, augury_result *out)
{
  PetscFunctionBegin;
  *out = (augury_result){0, 0.0};
  if (a->n_taking == 0) PetscFunctionReturn(PETSC_SUCCESS);
  find_outward(a, o, normal);
  augury_take_continuum(a, a->u);
  for (int64_t q = 0; q < a->n_taking; ++q) v3_copy(a->before + 3 * (int64_t)a->taking[q], v + 3 * (int64_t)a->taking[q]);
  if (a->n_met > 0) memcpy(a->u_before, a->u, (size_t)(3 * a->n_met) * sizeof *a->u);
  const double enough = o->tolerance * fmax(largest(a->n_taking, a->taking, v), team_max_abs(3 * a->n_met, a->u));
  augury_transfer(a, v, A, a->u);
  for (;; ++out->iterations) {
    out->left = select_undone_changes(a, o, normal, v);
    if (out->left <= enough || out->iterations == o->max_iterations) break;
    undo_changes(a, v, A);
  }
  augury_give_continuum(a, a->u);
  PetscFunctionReturn(PETSC_SUCCESS);
}
