/* Contact Jacobian in contact frames, see contact_jacobian.h. */
#include "contact/rows/contact_jacobian.h"
#include "contact/rows/axis_contact.h"
#include "core/math3.h"
#include "core/memory.h"

enum { CHUNK = 128, ROW_BLOCKS = 2 * LOCATION_MAX_BLOCKS };

/* Work space for one row. */
typedef struct {
  int     n;
  int32_t block[ROW_BLOCKS];
  double  J[ROW_BLOCKS][9]; /* first in world axes, then in the contact frame */
} spot_row;

void contact_jacobian_destroy(contact_jacobian *j)
{
  MEMORY_FREE(&j->frame, &j->known, &j->start, &j->block, &j->value, &j->scratch);
  *j = (contact_jacobian){0};
}

/* Set two tangents that form a right-handed frame with the unit vector frame[0..2]. */
static void complete_contact_frame(double frame[9])
{
  const double *n = frame;
  double       *s = frame + 3, *t = frame + 6;
  const int     k = fabs(n[0]) <= fabs(n[1]) ? (fabs(n[0]) <= fabs(n[2]) ? 0 : 2) : (fabs(n[1]) <= fabs(n[2]) ? 1 : 2);
  v3_scale(s, -n[k], n);
  s[k] += 1.0;
  v3_scale(s, 1.0 / v3_norm(s), s);
  v3_cross(t, n, s);
}

/* ---- the velocity of one spot ---------------------------------------------------------------------------------------- */

static int rigid_blocks(const rigid_frame *f, const double x[3], int32_t *block, double (*J)[9])
{
  double arm[3];
  v3_sub(arm, f->c, x); /* w x a = -a x w = [-a] w */
  block[0] = 0, block[1] = 1;
  m3_identity(J[0]);
  m3_skew(J[1], arm);
  return 2;
}

static int weighted_blocks(int n, const double *weight, double (*J)[9])
{
  for (int k = 0; k < n; ++k) {
    m3_zero(J[k]);
    for (int i = 0; i < 9; i += 4) J[k][i] = weight[k];
  }
  return n;
}

/* Blocks and weights of a location on a deforming body without location_jacobian. */
static int default_blocks(const body *b, const body_contact_location *spot, int32_t *block, double (*J)[9])
{
  double weight[POINT_MAX_WEIGHTS];
  int    n = 0;
  if (spot->kind == FEATURE_POINT) {
    n = b->ops->point_row_beside && v3_dot(spot->w, spot->w) > 0.0 ? b->ops->point_row_beside(b, spot->index, spot->w, block, weight)
                                                                   : b->ops->point_row(b, spot->index, block, weight);
  } else if (spot->kind == FEATURE_SEGMENT) {
    body_segments s;
    b->ops->segments(b, &s);
    n         = 2;
    weight[0] = 1.0 - spot->w[0], weight[1] = spot->w[0];
    for (int k = 0; k < 2; ++k) block[k] = s.segment[2 * spot->index + k];
  } else if (spot->kind == FEATURE_TRIANGLE) {
    body_surface s;
    b->ops->surface(b, &s);
    n = 3;
    for (int k = 0; k < 3; ++k) block[k] = s.triangles[3 * spot->index + k], weight[k] = spot->w[k];
    if (spot->is_beside) {
      double X[9];
      for (int k = 0; k < 3; ++k) v3_copy(X + 3 * k, s.x + 3 * (int64_t)block[k]);
      if (axis_contact_beside_triangle(X, spot->x, J)) return 3;
    }
  }
  return weighted_blocks(n, weight, J);
}

/* Velocity of the point at x of a prescribed motion: displacement over the step, divided by dt. */
static void prescribed_velocity(const contact_scene *s, int32_t i, const double x[3], double v[3])
{
  const rigid_frame *f0 = &s->frames[s->frame[i]], *f1 = &s->end[s->frame[i]];
  double             X[3], x0[3], x1[3];
  rigid_frame_to_local(f0, x, X);
  m3_mulv(x0, f0->R, X); /* both positions are computed from X, so that the velocity of a body at rest is exactly zero */
  m3_mulv(x1, f1->R, X);
  for (int k = 0; k < 3; ++k) v[k] = ((f1->c[k] - f0->c[k]) + (x1[k] - x0[k])) / s->dt;
}

/* Add `sign` times the velocity of a spot, into row and known (world). */
static void add_spot(const contact_scene *s, int32_t i_body, const body_contact_location *spot, double sign, spot_row *row, double known[3])
{
  body *const       b      = s->body[i_body];
  const body *const system = body_moving_system(b);
  int32_t          *block  = row->block + row->n;
  double(*J)[9]            = row->J + row->n;
  if (!system) {
    double v[3];
    prescribed_velocity(s, i_body, spot->x, v);
    v3_axpy(known, sign, v);
    return;
  }
  const int n = b->ops->location_jacobian ? b->ops->location_jacobian(b, spot, block, J)
                : s->frame[i_body] >= 0   ? rigid_blocks(&s->frames[s->frame[i_body]], spot->x, block, J)
                                          : default_blocks(b, spot, block, J);
  SS_ASSERT(n >= 0 && n <= LOCATION_MAX_BLOCKS);
  for (int k = 0; k < n; ++k) {
    block[k] += (int32_t)system->first_block;
    for (int e = 0; e < 9; ++e) J[k][e] *= sign;
  }
  row->n += n;
}

void contact_spot_velocity(const contact_scene *s, int32_t i_body, const body_contact_location *spot, const double *v, double out[3])
{
  spot_row row;
  double   term[3];
  row.n = 0;
  v3_set(out, 0.0, 0.0, 0.0);
  add_spot(s, i_body, spot, 1.0, &row, out);
  for (int k = 0; k < row.n; ++k) {
    m3_mulv(term, row.J[k], v + 3 * (int64_t)row.block[k]);
    v3_axpy(out, 1.0, term);
  }
}

/* Sort the blocks in ascending order and add repeated blocks. The insertion sort is stable, so that the order of sums is fixed. */
static void merge_blocks(spot_row *row)
{
  int m = 0;
  for (int k = 0; k < row->n; ++k) {
    const int32_t block = row->block[k];
    double        J[9];
    m3_copy(J, row->J[k]);
    int at = m;
    while (at > 0 && row->block[at - 1] > block) --at;
    if (at > 0 && row->block[at - 1] == block) {
      m3_axpy(row->J[at - 1], 1.0, J);
      continue;
    }
    for (int i = m; i > at; --i) {
      row->block[i] = row->block[i - 1];
      m3_copy(row->J[i], row->J[i - 1]);
    }
    row->block[at] = block;
    m3_copy(row->J[at], J);
    ++m;
  }
  row->n = m;
}

static void build_row(const contact_scene *s, const contact_spot *spot, double frame[9], double known[3], spot_row *row)
{
  double v[3] = {0.0, 0.0, 0.0}, E[9], nodes[12];
  row->n      = 0;
  v3_copy(frame, spot->normal);
  complete_contact_frame(frame);
  add_spot(s, spot->body_a, &spot->a, 1.0, row, v);
  add_spot(s, spot->body_b, &spot->b, -1.0, row, v);
  if (row->n == 4 && axis_contact_is_double(s, spot, nodes)) axis_contact_crossing(nodes, spot->a.w[0], spot->b.w[0], spot->a.x, row->J);
  merge_blocks(row);
  m3_mulv(known, frame, v);
  for (int k = 0; k < row->n; ++k) {
    m3_mul(E, frame, row->J[k]);
    m3_copy(row->J[k], E);
  }
}

/* ---- all contacts ----------------------------------------------------------------------------------------------------- */

static PetscErrorCode reserve_entries(contact_jacobian *j, int64_t n)
{
  PetscFunctionBeginUser;
  PetscCall(MEMORY_RESERVE("contact rows", n, &j->entry_capacity, ARRAY(j->block, 1), ARRAY(j->value, 9)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode contact_jacobian_reserve(contact_jacobian *j, int64_t n)
{
  PetscFunctionBeginUser;
  if (!j->scratch) PetscCall(memory_alloc("contact rows", CHUNK, sizeof(spot_row), &j->scratch));
  PetscCall(MEMORY_RESERVE("contact rows", n + 1, &j->capacity, ARRAY(j->frame, 9), ARRAY(j->known, 3), ARRAY(j->start, 1)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode contact_jacobian_build(contact_jacobian *j, const contact_scene *s, int64_t n, const contact_spot *spots)
{
  PetscFunctionBeginUser;
  PetscCall(contact_jacobian_reserve(j, n));
  spot_row *const row = j->scratch;
  j->n = n, j->n_entries = 0;
  j->start[0] = 0;
  for (int64_t first = 0; first < n; first += CHUNK) {
    const int64_t m = n - first < CHUNK ? n - first : CHUNK;
#pragma omp parallel for schedule(dynamic, 8) if (m > 16)
    for (int64_t i = 0; i < m; ++i) build_row(s, &spots[first + i], j->frame + 9 * (first + i), j->known + 3 * (first + i), &row[i]);
    for (int64_t i = 0; i < m; ++i) j->start[first + i + 1] = j->n_entries += row[i].n;
    PetscCall(reserve_entries(j, j->n_entries));
    for (int64_t i = 0; i < m; ++i)
      for (int k = 0; k < row[i].n; ++k) {
        const int64_t e = j->start[first + i] + k;
        j->block[e]     = row[i].block[k];
        m3_copy(j->value + 9 * e, row[i].J[k]);
      }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

void contact_jacobian_velocity(const contact_jacobian *j, const double *v, double *u)
{
  const int64_t n = j->n;
#pragma omp parallel for schedule(static) if (n > 256)
  for (int64_t i = 0; i < n; ++i) {
    double sum[3], term[3];
    v3_copy(sum, j->known + 3 * i);
    for (int64_t e = j->start[i]; e < j->start[i + 1]; ++e) {
      m3_mulv(term, j->value + 9 * e, v + 3 * (int64_t)j->block[e]);
      v3_axpy(sum, 1.0, term);
    }
    v3_copy(u + 3 * i, sum);
  }
}

void contact_jacobian_scatter(const contact_jacobian *j, double scale, const double *r, double *y)
{
  for (int64_t i = 0; i < j->n; ++i) {
    const double *own = r + 3 * i;
    double        term[3];
    if (own[0] == 0.0 && own[1] == 0.0 && own[2] == 0.0) continue;
    for (int64_t e = j->start[i]; e < j->start[i + 1]; ++e) {
      m3_mulv_t(term, j->value + 9 * e, own);
      v3_axpy(y + 3 * (int64_t)j->block[e], scale, term);
    }
  }
}
