/* Implementation of rod_body.h: the body_ops of rods, and functions shared by all rod models. */
#include "discretize/rod/rod_body.h"
#include "core/math3.h"
#include "core/memory.h"
#include <string.h>

/* Bodies with at most this number of nodes run on one thread. */
enum { SERIAL_NODES = 512 };

static const rod_body *const_rod(const body *b) { return (const rod_body *)b; }

/* ---- functions for models ------------------------------------------------------------------------------------------------ */

PetscErrorCode rod_body_set_blocks(rod_body *b, int64_t n_blocks)
{
  PetscFunctionBegin;
  PetscCheck(n_blocks <= INT32_MAX / 3, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: %lld blocks of unknowns: expected at most 715 million",
             b->base.name, (long long)n_blocks);
  b->n_blocks       = n_blocks;
  double **arrays[] = {&b->q, &b->u, &b->inertia, &b->trial, &b->wanted};
  for (size_t k = 0; k < sizeof arrays / sizeof *arrays; ++k)
    PetscCall(memory_alloc("rod unknowns", 3 * n_blocks, sizeof(double), arrays[k]));
  PetscCall(MEMORY_ALLOC("rod unknowns", ARRAY(b->is_prescribed, 3 * n_blocks), ARRAY(b->block_start, b->strands.n_strands + 1)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode rod_body_couple(rod_body *b, int64_t i, int64_t j)
{
  PetscFunctionBegin;
  PetscCall(memory_reserve("rod matrix pattern", b->n_pairs + 2, sizeof *b->pair, &b->pair_capacity, &b->pair));
  b->pair[b->n_pairs++] = block_pair(i, j);
  if (i != j) b->pair[b->n_pairs++] = block_pair(j, i);
  PetscFunctionReturn(PETSC_SUCCESS);
}

double *rod_body_block(const rod_body *b, int64_t i, int64_t j)
{
  const block_rows own = {b->n_blocks, b->row_start, b->col, b->value};
  return block_rows_at(&own, i, j);
}

static void rod_destroy(body **out)
{
  if (!out || !*out) return;
  rod_body *b = (rod_body *)*out;
  if (b->model && b->state) b->model->destroy(b);
  for (int h = 0; h < b->n_holds; ++h) nodal_constraint_destroy(&b->holds[h]);
  for (int k = 0; k < 2; ++k) motion_destroy(&b->end[k].motion);
  rod_strands_destroy(&b->strands);
  MEMORY_FREE(&b->x, &b->v, &b->mass, &b->radius, &b->node_radius, &b->node_block, &b->block_start, &b->q, &b->u, &b->inertia, &b->pair,
              &b->row_start, &b->col, &b->transposed, &b->value, &b->holds, &b->is_prescribed, &b->wanted, &b->prescribed,
              &b->prescribed_velocity, &b->trial, &b->place, &b->clamp, &b->cluster_center, &b->cluster_radius, out);
}

/* ---- step ---------------------------------------------------------------------------------------------------------------- */

/* Prescribed positions and directions of the ends at time t. */
static void place_ends(rod_body *b, double t)
{
  const rod_strands *s = &b->strands;
  for (int k = 0; k < 2 && !s->is_closed; ++k) {
    rigid_frame frame;
    if (b->end[k].held == ROD_END_FREE) continue;
    motion_frame(b->end[k].motion, t, &frame);
    for (int64_t i = 0; i < s->n_strands; ++i) {
      const int64_t node = k == 0 ? s->node_start[i] : s->node_start[i + 1] - 1;
      rod_clamp    *c    = &b->clamp[2 * i + k];
      rigid_frame_to_world(&frame, s->x + 3 * node, b->place + 3 * node);
      m3_mulv(c->tangent, frame.R, s->end_tangent + 6 * i + 3 * k);
      m3_mulv(c->director, frame.R, s->end_director + 6 * i + 3 * k);
    }
  }
}

static void gather_prescribed(rod_body *b)
{
  for (int64_t i = 0; i < b->strands.n_nodes && b->node_block; ++i)
    for (int k = 0; k < 3; ++k) {
      const int64_t c = 3 * (int64_t)b->node_block[i] + k;
      if (b->is_prescribed[c]) b->wanted[c] = (b->place[3 * i + k] - b->x[3 * i + k]) / b->dt;
    }
  for (int64_t i = 0; i < b->n_prescribed; ++i) b->prescribed_velocity[i] = b->wanted[b->prescribed[i]];
}

static void bound_clusters(rod_body *b)
{
  const int64_t n_nodes = b->strands.n_nodes, n = (n_nodes + ROD_CLUSTER - 1) / ROD_CLUSTER;
#pragma omp parallel for schedule(static) if (n_nodes > SERIAL_NODES)
  for (int64_t c = 0; c < n; ++c) {
    const int64_t first = c * ROD_CLUSTER, end = first + ROD_CLUSTER < n_nodes ? first + ROD_CLUSTER : n_nodes;
    double        min[3] = {INFINITY, INFINITY, INFINITY}, max[3] = {-INFINITY, -INFINITY, -INFINITY}, half[3];
    for (int64_t i = first; i < end; ++i)
      for (int k = 0; k < 3; ++k) min[k] = fmin(min[k], b->x[3 * i + k]), max[k] = fmax(max[k], b->x[3 * i + k]);
    for (int k = 0; k < 3; ++k) b->cluster_center[3 * c + k] = 0.5 * (min[k] + max[k]), half[k] = 0.5 * (max[k] - min[k]);
    b->cluster_radius[c] = v3_norm(half) * (1.0 + 1e-12);
  }
}

static PetscErrorCode rod_begin_step(body *base, double t, double dt, int64_t *n_blocks, step_status *status)
{
  rod_body *b = (rod_body *)base;
  PetscFunctionBegin;
  (void)status;
  b->t = t, b->dt = dt;
  *n_blocks = b->n_blocks;
  nodal_constraints_place(b->n_holds, b->holds, b->strands.x, b->x, t + dt, b->place);
  place_ends(b, t + dt);
  if (b->model->begin_step)
#pragma omp parallel for schedule(static) if (b->strands.n_nodes > SERIAL_NODES)
    for (int64_t s = 0; s < b->strands.n_strands; ++s) b->model->begin_step(b, s);
  gather_prescribed(b);
  bound_clusters(b);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode rod_velocity(const body *base, double *v0)
{
  const rod_body *b = const_rod(base);
  memcpy(v0, b->u, (size_t)(3 * b->n_blocks) * sizeof *v0);
  return PETSC_SUCCESS;
}

static PetscErrorCode rod_mass(const body *base, double *scale)
{
  const rod_body *b = const_rod(base);
  memcpy(scale, b->inertia, (size_t)(3 * b->n_blocks) * sizeof *scale);
  return PETSC_SUCCESS;
}

static int64_t rod_prescribed(const body *base, const int64_t **dof, const double **velocity)
{
  const rod_body *b = const_rod(base);
  *dof              = b->prescribed;
  *velocity         = b->prescribed_velocity;
  return b->n_prescribed;
}

static PetscErrorCode rod_residual(body *base, const double *u, double *g, bool with_tangent, step_status *status)
{
  rod_body     *b         = (rod_body *)base;
  const int64_t n_strands = b->strands.n_strands;
  int64_t       bad       = n_strands;
  PetscFunctionBegin;
#pragma omp parallel for schedule(static) reduction(min : bad) if (b->strands.n_nodes > SERIAL_NODES)
  for (int64_t s = 0; s < n_strands; ++s) {
    const int64_t first = b->block_start[s], end = b->block_start[s + 1];
    double        sum = 0.0;
    for (int64_t i = 3 * first; i < 3 * end; ++i) {
      b->trial[i] = b->q[i] + b->dt * u[i];
      sum += 0.0 * b->trial[i];
    }
    if (with_tangent && !b->model->fill)
      memset(b->value + 9 * b->row_start[first], 0, (size_t)(9 * (b->row_start[end] - b->row_start[first])) * sizeof *b->value);
    if (sum == 0.0 && b->model->residual(b, s, u, g, with_tangent)) {
      /* Finite unknowns may be so large that forces or the tangent overflow. */
      for (int64_t i = 3 * first; i < 3 * end; ++i) sum += 0.0 * g[i];
      for (int64_t i = 9 * b->row_start[first]; with_tangent && i < 9 * b->row_start[end]; ++i) sum += 0.0 * b->value[i];
    } else sum = NAN;
    if (sum != 0.0) bad = s < bad ? s : bad;
  }
  if (with_tangent) b->is_filled = false;
  if (bad < n_strands) *status = (step_status){STEP_NOT_FINITE, base->name, bad};
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Compute the matrix of models that do not write it in `residual`. */
static void update_matrix(const rod_body *from)
{
  rod_body *b = (rod_body *)from; /* only the cached matrix changes, not the state */
  if (!b->model->fill || b->is_filled) return;
#pragma omp parallel for schedule(static) if (b->n_blocks > SERIAL_NODES)
  for (int64_t s = 0; s < b->strands.n_strands; ++s) b->model->fill(b, s);
  b->is_filled = true;
}

static PetscErrorCode rod_tangent(const body *base, const double *x, double *y, bool is_transposed)
{
  const rod_body *b = const_rod(base);
  if (b->model->product) {
#pragma omp parallel for schedule(static) if (b->n_blocks > SERIAL_NODES)
    for (int64_t s = 0; s < b->strands.n_strands; ++s) b->model->product(b, s, x, y, is_transposed);
    return PETSC_SUCCESS;
  }
#pragma omp parallel for schedule(static) if (b->n_blocks > SERIAL_NODES)
  for (int64_t i = 0; i < b->n_blocks; ++i) {
    double term[3];
    for (int64_t j = b->row_start[i]; j < b->row_start[i + 1]; ++j) {
      const double *from = x + 3 * (int64_t)b->col[j];
      if (is_transposed) m3_mulv_t(term, b->value + 9 * (int64_t)b->transposed[j], from);
      else m3_mulv(term, b->value + 9 * j, from);
      v3_axpy(y + 3 * i, 1.0, term);
    }
  }
  return PETSC_SUCCESS;
}

static PetscErrorCode rod_block_diagonal(const body *base, double *d)
{
  const rod_body *b = const_rod(base);
  update_matrix(b);
#pragma omp parallel for schedule(static) if (b->n_blocks > SERIAL_NODES)
  for (int64_t i = 0; i < b->n_blocks; ++i) m3_axpy(d + 9 * i, 1.0, rod_body_block(b, i, i));
  return PETSC_SUCCESS;
}

static int rod_couplings(const body *base, int64_t block, int32_t *other)
{
  const rod_body *b = const_rod(base);
  const int64_t   n = b->row_start[block + 1] - b->row_start[block];
  memcpy(other, b->col + b->row_start[block], (size_t)n * sizeof *other);
  return (int)n;
}

static PetscErrorCode rod_assemble(const body *base, const block_rows *H)
{
  const rod_body *b = const_rod(base);
  update_matrix(b);
#pragma omp parallel for schedule(static) if (b->n_blocks > SERIAL_NODES)
  for (int64_t i = 0; i < b->n_blocks; ++i)
    for (int64_t j = b->row_start[i]; j < b->row_start[i + 1]; ++j)
      m3_axpy(block_rows_at(H, base->first_block + i, base->first_block + b->col[j]), 1.0, b->value + 9 * j);
  return PETSC_SUCCESS;
}

static void rod_set_definite(body *base, bool is_wanted) { ((rod_body *)base)->is_definite = is_wanted; }

static PetscErrorCode rod_end_step(body *base, const double *u, step_status *status)
{
  rod_body *b = (rod_body *)base;
  (void)status;
#pragma omp parallel for schedule(static) if (b->strands.n_nodes > SERIAL_NODES)
  for (int64_t s = 0; s < b->strands.n_strands; ++s) b->model->end_step(b, s, u);
  return PETSC_SUCCESS;
}

/* ---- totals, description, fields ------------------------------------------------------------------------------------------ */

static PetscErrorCode rod_totals(const body *base, const double gravity[3], body_totals *out)
{
  const rod_body *b = const_rod(base);
  memset(out, 0, sizeof *out);
  for (int64_t s = 0; s < b->strands.n_strands && b->model->totals; ++s) b->model->totals(b, s, gravity, out);
  for (int64_t i = 0; i < b->strands.n_nodes && !b->model->totals; ++i)
    body_totals_add(out, b->mass[i], b->x + 3 * i, b->v + 3 * i, gravity);
  v3_scale(out->center, 1.0 / out->mass, out->center);
  for (int64_t s = 0; s < b->strands.n_strands; ++s) {
    out->elastic += b->model->energy(b, s);
    if (b->model->spin) b->model->spin(b, s, out);
  }
  return PETSC_SUCCESS;
}

static double rod_length(const body *base)
{
  const rod_body *b        = const_rod(base);
  double          shortest = INFINITY;
  for (int64_t j = 0; j < b->strands.n_segments; ++j) shortest = fmin(shortest, b->strands.length[j]);
  return shortest;
}

static void rod_describe(const body *base, FILE *out)
{
  const rod_body    *b      = const_rod(base);
  const rod_strands *s      = &b->strands;
  double             length = 0.0;
  for (int64_t j = 0; j < s->n_segments; ++j) length += s->length[j];
  fprintf(out, "%s, %lld %s%s of %lld nodes, %.4g m in all, stretch %.4g N, bending %.4g and %.4g N m^2, twist %.4g N m^2", b->model->name,
          (long long)s->n_strands, s->is_closed ? "loop" : "strand", s->n_strands == 1 ? "" : "s", (long long)s->n_nodes, length,
          b->section.stretch, b->section.bending[0], b->section.bending[1], b->section.twist);
  if (b->n_prescribed) fprintf(out, ", %lld prescribed components", (long long)b->n_prescribed);
}

static PetscErrorCode rod_restored(void *context)
{
  rod_body *b = context;
  for (int64_t s = 0; s < b->strands.n_strands; ++s) b->model->restored(b, s);
  return PETSC_SUCCESS;
}

PetscErrorCode rod_body_add_group(rod_body *b, const char *name, int64_t *n, field_table *table, field_group **group)
{
  char path[96];
  PetscFunctionBegin;
  snprintf(path, sizeof path, "bodies/%s/%s", b->base.name, name);
  PetscCall(field_table_add_group(table, path, FIELD_GROUP_PLAIN, n, b, group));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode rod_fields(body *base, field_table *table)
{
  rod_body    *b = (rod_body *)base;
  field_group *group;
  char         name[96];
  PetscFunctionBegin;
  snprintf(name, sizeof name, "bodies/%s", base->name);
  PetscCall(field_table_add_group(table, name, FIELD_GROUP_FIBRES, &b->strands.n_nodes, b, &group));
  group->segments   = b->strands.segment;
  group->n_segments = b->strands.n_segments;
  PetscCall(field_table_add(table, group, "position", "m", FIELD_F64, 3, &b->x, FIELD_FRAME | FIELD_DERIVED, "position of the nodes"));
  PetscCall(field_table_add(table, group, "velocity", "m/s", FIELD_F64, 3, &b->v, FIELD_FRAME | FIELD_DERIVED, "velocity of the nodes"));
  PetscCall(
      field_table_add(table, group, "radius", "m", FIELD_F64, 1, &b->node_radius, FIELD_FRAME | FIELD_DERIVED, "radius of the strand"));
  if (b->model->fields) PetscCall(b->model->fields(b, table));
  /* Last group: rod_restored computes the nodes from it after all fields have been read. */
  PetscCall(rod_body_add_group(b, "unknowns", &b->n_blocks, table, &group));
  PetscCall(field_table_add(table, group, "coordinate", "", FIELD_F64, 3, &b->q, FIELD_CHECKPOINT,
                            "coordinates of the strands, defined by the model"));
  PetscCall(field_table_add(table, group, "rate", "", FIELD_F64, 3, &b->u, FIELD_CHECKPOINT | FIELD_RATE, "rates of these coordinates"));
  group->restored = rod_restored;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void rod_nodes(const body *base, body_nodes *out)
{
  const rod_body *b = const_rod(base);
  *out              = (body_nodes){b->strands.n_nodes, b->x, b->v, b->strands.x, b->mass};
}

static void rod_segments(const body *base, body_segments *out)
{
  const rod_body *b = const_rod(base);
  *out              = (body_segments){b->strands.n_nodes, b->strands.n_segments,       b->strands.segment, b->strands.strand, b->x,
                                      b->radius,          !b->model->location_jacobian};
}

/* ---- contact ------------------------------------------------------------------------------------------------------------ */

static int64_t rod_n_clusters(const body *base)
{
  const rod_body *b = const_rod(base);
  return b->node_block ? (b->strands.n_nodes + ROD_CLUSTER - 1) / ROD_CLUSTER : 0;
}

static void rod_cluster(const body *base, int64_t i, double center[3], double *radius, int64_t *first, int64_t *end)
{
  const rod_body *b = const_rod(base);
  v3_copy(center, b->cluster_center + 3 * i);
  *radius = b->cluster_radius[i];
  *first  = i * ROD_CLUSTER;
  *end    = *first + ROD_CLUSTER < b->strands.n_nodes ? *first + ROD_CLUSTER : b->strands.n_nodes;
}

static int64_t rod_point(const body *base, int64_t i, double x[3])
{
  v3_copy(x, const_rod(base)->x + 3 * i);
  return i;
}

static int rod_point_row(const body *base, int64_t i, int32_t *block, double *weight)
{
  block[0]  = const_rod(base)->node_block[i];
  weight[0] = 1.0;
  return 1;
}

static int rod_spot_jacobian(const body *base, const body_contact_location *spot, int32_t *block, double (*J)[9])
{
  const rod_body *b = const_rod(base);
  if (b->model->location_jacobian) return b->model->location_jacobian(b, spot, block, J);
  if (spot->kind == FEATURE_POINT) {
    block[0] = b->node_block[spot->index];
    m3_identity(J[0]);
    return 1;
  }
  const int32_t *node = b->strands.segment + 2 * spot->index;
  for (int k = 0; k < 2; ++k) {
    block[k] = b->node_block[node[k]];
    m3_identity(J[k]);
    const double w = k == 0 ? 1.0 - spot->w[0] : spot->w[0];
    for (int i = 0; i < 9; ++i) J[k][i] *= w;
  }
  return 2;
}

const body_ops rod_body_ops = {.kind              = "rod",
                               .begin_step        = rod_begin_step,
                               .velocity          = rod_velocity,
                               .mass              = rod_mass,
                               .residual          = rod_residual,
                               .tangent           = rod_tangent,
                               .block_diagonal    = rod_block_diagonal,
                               .end_step          = rod_end_step,
                               .totals            = rod_totals,
                               .fields            = rod_fields,
                               .points            = POINT_WEIGHTED,
                               .n_clusters        = rod_n_clusters,
                               .cluster           = rod_cluster,
                               .point             = rod_point,
                               .point_row         = rod_point_row,
                               .destroy           = rod_destroy,
                               .length            = rod_length,
                               .describe          = rod_describe,
                               .nodes             = rod_nodes,
                               .segments          = rod_segments,
                               .location_jacobian = rod_spot_jacobian,
                               .prescribed        = rod_prescribed,
                               .couplings         = rod_couplings,
                               .assemble          = rod_assemble,
                               .set_definite      = rod_set_definite};
