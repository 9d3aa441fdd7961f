/* RSA = G2P o DS o P2G o RS [MarquezRazonEtAl2023, sec. 6]. */
#include "contact/augury/augury_impl.h"

/* ---- RS: velocities of nodes and elements ------------------------------------------------------------------------------- */

static void load_point(augury *a, int64_t q, const double *v, const double *A)
{
  const int64_t i = a->taking[q];
  augury_point *p = &a->point[q];
  p->x            = row4_of(a->x + 3 * i);
  p->v            = row4_of(v + 3 * i);
  for (int c = 0; c < 3; ++c) p->A[c] = (row4){A[9 * i + c], A[9 * i + 3 + c], A[9 * i + 6 + c], 0.0};
}

/* What linear interpolation takes from an element's angular momentum, of points as heavy as itself [eq. 10]: r_k x v_l summed by the
 * moments' defects; and the spin of the points that gives it back (their share 1 - s of the mass cancels). */
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

/* Momentum of points that have these masses. */
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

/* Velocities of the grid's nodes, with those of the continuum, which take them. */
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

static row4 cross(row4 a, row4 b)
{
  return (row4){a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0], 0.0};
}

/* An element's share of what is on the grid, as a rigid motion about its centre. */
static void downsample(augury *a, int64_t rank)
{
  const int64_t         e = a->acting[rank];
  const augury_stencil *s = &a->stencil;
  const row4            center = a->patch[rank].center;
  const double          spin   = 0.25 * a->dx * a->dx;
  row4                  p = {0.0}, T[3] = {{0.0}}; /* momentum, and moments r_c p */
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
  const double *m = a->inverse[rank];
  a->rigid[rank].V = p / (a->share[e][0] + a->share[e][1] + a->share[e][2]);
  a->rigid[rank].W = (row4){m[0], m[3], m[6], 0.0} * l[0] + (row4){m[1], m[4], m[7], 0.0} * l[1] + (row4){m[2], m[5], m[8], 0.0} * l[2];
}

/* Velocities of a node from those of its elements. */
static void combine(augury *a, int64_t q)
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

/* ---- all of it ---------------------------------------------------------------------------------------------------------- */

static void blend(const augury *a, int64_t q, double *v, double *A)
{
  const int64_t i    = a->taking[q];
  const double  part = a->mass[q] / a->b.mass[i];
  for (int k = 0; k < 3; ++k) v[3 * i + k] += part * (a->point[q].v[k] - v[3 * i + k]);
  for (int k = 0; k < 9; ++k) A[9 * i + k] += part * (a->point[q].A[k % 3][k / 3] - A[9 * i + k]);
}

void augury_transfer(augury *a, double *v, double *A, double *u)
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
  for (int64_t q = 0; q < a->n_taking; ++q) combine(a, q);
  to_grid(a, false, u);
#pragma omp parallel for schedule(static) if (a->n_taking > AUGURY_FEW)
  for (int64_t q = 0; q < a->n_taking; ++q) {
    from_grid(a, q, &a->point[q]);
    blend(a, q, v, A);
  }
}

void augury_take_continuum(const augury *a, double *u)
{
  for (int64_t k = 0; k < a->n_met; ++k) v3_copy(u + 3 * k, a->continuum.velocity + 3 * (int64_t)a->met[k]);
}
void augury_give_continuum(const augury *a, const double *u)
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
