/* Implementation of nodal_body.h: creation, residual, tangent, and body_ops of bodies made of mass points. */
#include "discretize/nodal/nodal_body.h"
#include "core/math3.h"
#include "core/memory.h"
#include "core/sort.h"
#include <string.h>

/* Loops over no more nodes than this stay on one thread. */
enum { SERIAL_NODES = 1024 };

static const nodal_body *const_nodal(const body *b) { return (const nodal_body *)b; }

/* ---- making one -------------------------------------------------------------------------------------------------------- */

PetscErrorCode nodal_body_create(const char *name, int64_t n, const double *x, const double *mass, nodal_body **out)
{
  nodal_body *b;
  PetscFunctionBegin;
  PetscCheck(n > 0 && n <= INT32_MAX / 3, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "%lld nodes: expected 1 to 715 million", (long long)n);
  PetscCall(memory_alloc("nodal body", 1, sizeof *b, out));
  b                 = *out;
  b->base.ops       = &nodal_body_ops;
  b->base.name      = name;
  b->n_nodes        = n;
  double **arrays[] = {&b->x, &b->v, &b->rest, &b->trial};
  for (size_t k = 0; k < sizeof arrays / sizeof *arrays; ++k) PetscCall(memory_alloc("node state", 3 * n, sizeof(double), arrays[k]));
  PetscCall(memory_alloc("node masses", n, sizeof *b->mass, &b->mass));
  memcpy(b->x, x, (size_t)(3 * n) * sizeof *x);
  memcpy(b->rest, x, (size_t)(3 * n) * sizeof *x);
  memcpy(b->mass, mass, (size_t)n * sizeof *mass);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode nodal_body_add_set(nodal_body *b, const element_ops *ops, int64_t n, const int32_t *node, element_set **set)
{
  PetscFunctionBegin;
  PetscCheck(
      b->n_sets < NODAL_MAX_SETS, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
      "bodies.%s: more than %d sets of elements (tetrahedra, springs, hinges, and one set per entry of `pressure`); remove pressures",
      b->base.name, NODAL_MAX_SETS);
  *set = &b->sets[b->n_sets];
  PetscCall(element_set_create(ops, n, node, b->n_nodes, *set));
  ++b->n_sets;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode nodal_body_add_constraint(nodal_body *b, const nodal_constraint *hold)
{
  PetscFunctionBegin;
  PetscCall(memory_resize("holds", b->n_holds + 1, sizeof *b->holds, &b->holds));
  b->holds[b->n_holds++] = *hold;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode nodal_body_set_load(nodal_body *b, vector_field *f)
{
  PetscFunctionBegin;
  b->load = f;
  PetscCall(memory_alloc("node loads", 3 * b->n_nodes, sizeof *b->loaded, &b->loaded));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Position on a coarse curve through the bounding box: near in the curve is near in space. */
static uint64_t curve_key(const double x[3], const double min[3], double scale)
{
  uint64_t key = 0;
  for (int bit = 15; bit >= 0; --bit)
    for (int k = 0; k < 3; ++k) key = key << 1 | (((uint64_t)((x[k] - min[k]) * scale) >> bit) & 1u);
  return key;
}

static PetscErrorCode sort_surface(nodal_body *b)
{
  double    min[3] = {INFINITY, INFINITY, INFINITY}, max[3] = {-INFINITY, -INFINITY, -INFINITY}, size = 0.0;
  uint64_t *key;
  int32_t  *perm, *old;
  PetscFunctionBegin;
  for (int64_t i = 0; i < b->n_surface; ++i)
    for (int k = 0; k < 3; ++k) {
      min[k] = fmin(min[k], b->rest[3 * (int64_t)b->surface[i] + k]);
      max[k] = fmax(max[k], b->rest[3 * (int64_t)b->surface[i] + k]);
    }
  for (int k = 0; k < 3; ++k) size = fmax(size, max[k] - min[k]);
  PetscCall(MEMORY_ALLOC("surface order", ARRAY(key, b->n_surface), ARRAY(perm, b->n_surface), ARRAY(old, b->n_surface)));
  for (int64_t i = 0; i < b->n_surface; ++i) key[i] = size > 0.0 ? curve_key(b->rest + 3 * (int64_t)b->surface[i], min, 65535.0 / size) : 0;
  PetscCall(sort_keys(b->n_surface, 48, key, perm));
  memcpy(old, b->surface, (size_t)b->n_surface * sizeof *old);
  for (int64_t i = 0; i < b->n_surface; ++i) b->surface[i] = old[perm[i]];
  MEMORY_FREE(&key, &perm, &old);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode nodal_body_set_surface(nodal_body *b, int64_t n_triangles, const int32_t *triangles)
{
  uint8_t *is_on;
  PetscFunctionBegin;
  b->n_triangles = n_triangles;
  PetscCall(MEMORY_ALLOC("nodal body", ARRAY(b->triangles, 3 * n_triangles), ARRAY(is_on, b->n_nodes)));
  for (int64_t i = 0; i < 3 * n_triangles; ++i) {
    b->triangles[i]     = triangles[i];
    is_on[triangles[i]] = 1;
  }
  for (int64_t i = 0; i < b->n_nodes; ++i) b->n_surface += is_on[i];
  PetscCall(memory_alloc("surface nodes", b->n_surface, sizeof *b->surface, &b->surface));
  for (int64_t i = 0, j = 0; i < b->n_nodes; ++i)
    if (is_on[i]) b->surface[j++] = (int32_t)i;
  memory_free(&is_on);
  PetscCall(sort_surface(b));
  const int64_t n_clusters = (b->n_surface + NODAL_CLUSTER - 1) / NODAL_CLUSTER;
  PetscCall(MEMORY_ALLOC("surface clusters", ARRAY(b->cluster_center, 3 * n_clusters), ARRAY(b->cluster_radius, n_clusters)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Blocks (row, column) of all sets and the diagonal. */
static PetscErrorCode lay_out_matrix(nodal_body *b)
{
  int64_t   n = b->n_nodes;
  uint64_t *pair;
  PetscFunctionBegin;
  for (int s = 0; s < b->n_sets; ++s) n += b->sets[s].n * b->sets[s].ops->n_nodes * b->sets[s].ops->n_nodes;
  PetscCall(memory_alloc("matrix pattern", n, sizeof *pair, &pair));
  int64_t at = 0;
  for (int64_t i = 0; i < b->n_nodes; ++i) pair[at++] = block_pair(i, i);
  for (int s = 0; s < b->n_sets; ++s) {
    const int c = b->sets[s].ops->n_nodes;
    for (int64_t e = 0; e < b->sets[s].n; ++e)
      for (int i = 0; i < c * c; ++i) {
        const int32_t *node = b->sets[s].node + c * e;
        pair[at++]          = block_pair(node[i / c], node[i % c]);
      }
  }
  PetscCall(block_matrix_create(b->n_nodes, n, pair, &b->row_start, &b->col, &b->transposed, &b->value));
  memory_free(&pair);
  for (int s = 0; s < b->n_sets; ++s) PetscCall(element_set_locate(&b->sets[s], b->row_start, b->col));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode lay_out_holds(nodal_body *b)
{
  uint8_t *is_held;
  PetscFunctionBegin;
  PetscCall(memory_alloc("held components", 3 * b->n_nodes, 1, &is_held));
  nodal_constraints_mark(b->n_holds, b->holds, is_held);
  for (int64_t i = 0; i < 3 * b->n_nodes; ++i) b->n_prescribed += is_held[i];
  PetscCall(MEMORY_ALLOC("nodal body", ARRAY(b->prescribed, b->n_prescribed), ARRAY(b->prescribed_velocity, b->n_prescribed)));
  for (int64_t i = 0, j = 0; i < 3 * b->n_nodes; ++i)
    if (is_held[i]) b->prescribed[j++] = i;
  memory_free(&is_held);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static double shortest_edge(const nodal_body *b)
{
  double shortest = INFINITY, edge[3];
  for (int64_t i = 0; i < 3 * b->n_triangles; ++i) {
    v3_sub(edge, b->rest + 3 * (int64_t)b->triangles[i], b->rest + 3 * (int64_t)b->triangles[i - i % 3 + (i + 1) % 3]);
    shortest = fmin(shortest, v3_norm(edge));
  }
  return shortest;
}

PetscErrorCode nodal_body_finish(nodal_body *b)
{
  PetscFunctionBegin;
  b->length = shortest_edge(b);
  PetscCall(lay_out_matrix(b));
  PetscCall(lay_out_holds(b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void nodal_destroy(body **out)
{
  if (!out || !*out) return;
  nodal_body *b = (nodal_body *)*out;
  for (int s = 0; s < b->n_sets; ++s) element_set_destroy(&b->sets[s]);
  for (int h = 0; h < b->n_holds; ++h) nodal_constraint_destroy(&b->holds[h]);
  vector_field_destroy(&b->load);
  MEMORY_FREE(&b->loaded, &b->x, &b->v, &b->rest, &b->mass, &b->holds, &b->surface, &b->triangles, &b->row_start, &b->col, &b->transposed,
              &b->value, &b->prescribed, &b->prescribed_velocity, &b->trial, &b->cluster_center, &b->cluster_radius, out);
}

/* ---- the step ---------------------------------------------------------------------------------------------------------- */

/* Velocities that move constrained components from their current to their prescribed positions at t + dt. */
static PetscErrorCode prescribe(nodal_body *b, double t, double dt)
{
  double *place;
  PetscFunctionBegin;
  if (b->n_prescribed == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(memory_alloc("held places", 3 * b->n_nodes, sizeof *place, &place));
  nodal_constraints_place(b->n_holds, b->holds, b->rest, b->x, t + dt, place);
  for (int64_t i = 0; i < b->n_prescribed; ++i) {
    const int64_t k           = b->prescribed[i];
    b->prescribed_velocity[i] = (place[k] - b->x[k]) / dt;
  }
  memory_free(&place);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void bound_clusters(nodal_body *b)
{
  const int64_t n = (b->n_surface + NODAL_CLUSTER - 1) / NODAL_CLUSTER;
#pragma omp parallel for schedule(static) if (b->n_surface > SERIAL_NODES)
  for (int64_t c = 0; c < n; ++c) {
    const int64_t first = c * NODAL_CLUSTER, end = first + NODAL_CLUSTER < b->n_surface ? first + NODAL_CLUSTER : b->n_surface;
    double        min[3] = {INFINITY, INFINITY, INFINITY}, max[3] = {-INFINITY, -INFINITY, -INFINITY}, radius = 0.0;
    double       *center = b->cluster_center + 3 * c, arm[3];
    for (int64_t i = first; i < end; ++i)
      for (int k = 0; k < 3; ++k) {
        min[k] = fmin(min[k], b->x[3 * (int64_t)b->surface[i] + k]);
        max[k] = fmax(max[k], b->x[3 * (int64_t)b->surface[i] + k]);
      }
    for (int k = 0; k < 3; ++k) center[k] = 0.5 * (min[k] + max[k]);
    for (int64_t i = first; i < end; ++i) {
      v3_sub(arm, b->x + 3 * (int64_t)b->surface[i], center);
      radius = fmax(radius, v3_dot(arm, arm));
    }
    b->cluster_radius[c] = sqrt(radius) * (1.0 + 1e-12);
  }
}

static PetscErrorCode nodal_begin_step(body *base, double t, double dt, int64_t *n_blocks, step_status *status)
{
  nodal_body *b = (nodal_body *)base;
  PetscFunctionBegin;
  (void)status;
  b->dt     = dt;
  *n_blocks = b->n_nodes;
  PetscCall(prescribe(b, t, dt));
  if (b->load)
#pragma omp parallel for schedule(static) if (b->n_nodes > SERIAL_NODES)
    for (int64_t i = 0; i < b->n_nodes; ++i) vector_field_at(b->load, b->rest + 3 * i, b->x + 3 * i, t + dt, b->loaded + 3 * i);
  bound_clusters(b);
  for (int s = 0; s < b->n_sets; ++s)
    if (b->sets[s].ops->begin_step) b->sets[s].ops->begin_step(b->sets[s].context, b->sets[s].n, b->sets[s].node, b->x, b->v);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode nodal_velocity(const body *base, double *v0)
{
  const nodal_body *b = const_nodal(base);
  memcpy(v0, b->v, (size_t)(3 * b->n_nodes) * sizeof *v0);
  return PETSC_SUCCESS;
}

static PetscErrorCode nodal_mass(const body *base, double *scale)
{
  const nodal_body *b = const_nodal(base);
  for (int64_t i = 0; i < 3 * b->n_nodes; ++i) scale[i] = b->mass[i / 3];
  return PETSC_SUCCESS;
}

static int64_t nodal_prescribed(const body *base, const int64_t **dof, const double **velocity)
{
  const nodal_body *b = const_nodal(base);
  *dof                = b->prescribed;
  *velocity           = b->prescribed_velocity;
  return b->n_prescribed;
}

static PetscErrorCode nodal_residual(body *base, const double *v, double *g, bool with_tangent, step_status *status)
{
  nodal_body   *b  = (nodal_body *)base;
  const int64_t n  = b->n_nodes;
  const double  dt = b->dt, damping = 1.0 + dt * b->mass_damping;
  int64_t       bad = n;
  PetscFunctionBegin;
#pragma omp                   parallel for schedule(static) reduction(min : bad) if (n > SERIAL_NODES)
  for (int64_t i = 0; i < n; ++i) {
                      double sum = 0.0;
                      for (int k = 0; k < 3; ++k) {
                        const int64_t j = 3 * i + k;
                        b->trial[j]     = b->x[j] + dt * v[j];
                        g[j] += b->mass[i] * (damping * v[j] - b->v[j] - dt * (b->gravity[k] + (b->loaded ? b->loaded[j] : 0.0)));
                        sum += 0.0 * b->trial[j];
    }
                      if (sum != 0.0 && i < bad) bad = i;
  }
                    if (bad < n) {
                      *status = (step_status){STEP_NOT_FINITE, base->name, bad};
                      PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (with_tangent) {
                      const int64_t m = 9 * b->row_start[n];
#pragma omp parallel for simd schedule(static) if (n > SERIAL_NODES)
    for (int64_t i = 0; i < m; ++i) b->value[i] = 0.0;
  }
  for (int s = 0; s < b->n_sets; ++s) {
                      const int64_t failed = element_set_add(&b->sets[s], dt, b->trial, v, g, with_tangent ? b->value : NULL);
                      if (failed < 0) continue;
    *status = (step_status){STEP_INVERTED, base->name, failed};
                      PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static bool nodal_relinearise(body *base, const double *v)
{
  nodal_body *b       = (nodal_body *)base;
  bool        has_any = false;
#pragma omp parallel for schedule(static) if (b->n_nodes > SERIAL_NODES)
  for (int64_t j = 0; j < 3 * b->n_nodes; ++j) b->trial[j] = b->x[j] + b->dt * v[j];
  for (int s = 0; s < b->n_sets; ++s) {
    const element_set *set = &b->sets[s];
    if (set->ops->relinearise) has_any |= set->ops->relinearise(set->context, set->n, set->node, b->trial);
  }
  return has_any;
}

static PetscErrorCode nodal_tangent(const body *base, const double *x, double *y, bool is_transposed)
{
  const nodal_body *b       = const_nodal(base);
  const double      damping = 1.0 + b->dt * b->mass_damping;
#pragma omp parallel for schedule(static) if (b->n_nodes > SERIAL_NODES)
  for (int64_t i = 0; i < b->n_nodes; ++i) {
    double sum[3] = {0.0, 0.0, 0.0}, term[3];
    for (int64_t j = b->row_start[i]; j < b->row_start[i + 1]; ++j) {
      const double *from = x + 3 * (int64_t)b->col[j];
      if (is_transposed) m3_mulv_t(term, b->value + 9 * (int64_t)b->transposed[j], from);
      else m3_mulv(term, b->value + 9 * j, from);
      for (int k = 0; k < 3; ++k) sum[k] += term[k];
    }
    for (int k = 0; k < 3; ++k) y[3 * i + k] += sum[k] + b->mass[i] * damping * x[3 * i + k];
  }
  return PETSC_SUCCESS;
}

static PetscErrorCode nodal_block_diagonal(const body *base, double *d)
{
  const nodal_body *b       = const_nodal(base);
  const double      damping = 1.0 + b->dt * b->mass_damping;
  const block_rows  own     = {b->n_nodes, b->row_start, b->col, b->value};
#pragma omp parallel for schedule(static) if (b->n_nodes > SERIAL_NODES)
  for (int64_t i = 0; i < b->n_nodes; ++i) {
    m3_axpy(d + 9 * i, 1.0, block_rows_at(&own, i, i));
    for (int k = 0; k < 9; k += 4) d[9 * i + k] += b->mass[i] * damping;
  }
  return PETSC_SUCCESS;
}

static int nodal_couplings(const body *base, int64_t block, int32_t *other)
{
  const nodal_body *b = const_nodal(base);
  const int64_t     n = b->row_start[block + 1] - b->row_start[block];
  memcpy(other, b->col + b->row_start[block], (size_t)n * sizeof *other);
  return (int)n;
}

static PetscErrorCode nodal_assemble(const body *base, const block_rows *H)
{
  const nodal_body *b       = const_nodal(base);
  const double      damping = 1.0 + b->dt * b->mass_damping;
#pragma omp parallel for schedule(static) if (b->n_nodes > SERIAL_NODES)
  for (int64_t i = 0; i < b->n_nodes; ++i) {
    for (int64_t j = b->row_start[i]; j < b->row_start[i + 1]; ++j)
      m3_axpy(block_rows_at(H, base->first_block + i, base->first_block + b->col[j]), 1.0, b->value + 9 * j);
    double *diagonal = block_rows_at(H, base->first_block + i, base->first_block + i);
    for (int k = 0; k < 9; k += 4) diagonal[k] += b->mass[i] * damping;
  }
  return PETSC_SUCCESS;
}

static void nodal_set_definite(body *base, bool is_wanted)
{
  nodal_body *b = (nodal_body *)base;
  for (int s = 0; s < b->n_sets; ++s)
    if (b->sets[s].ops->set_definite) b->sets[s].ops->set_definite(b->sets[s].context, is_wanted);
}

static PetscErrorCode nodal_end_step(body *base, const double *v, step_status *status)
{
  nodal_body *b = (nodal_body *)base;
  (void)status;
#pragma omp parallel for simd schedule(static) if (b->n_nodes > SERIAL_NODES)
  for (int64_t i = 0; i < 3 * b->n_nodes; ++i) {
    b->x[i] += b->dt * v[i];
    b->v[i] = v[i];
  }
  return PETSC_SUCCESS;
}

/* ---- looking at it ------------------------------------------------------------------------------------------------------- */

static PetscErrorCode nodal_totals(const body *base, const double gravity[3], body_totals *out)
{
  const nodal_body *b = const_nodal(base);
  memset(out, 0, sizeof *out);
  for (int64_t i = 0; i < b->n_nodes; ++i) body_totals_add(out, b->mass[i], b->x + 3 * i, b->v + 3 * i, gravity);
  v3_scale(out->center, 1.0 / out->mass, out->center);
  for (int s = 0; s < b->n_sets; ++s) out->elastic += element_set_energy(&b->sets[s], b->x);
  return PETSC_SUCCESS;
}

static double nodal_length(const body *base) { return const_nodal(base)->length; }

static void nodal_describe(const body *base, FILE *out)
{
  const nodal_body *b = const_nodal(base);
  fprintf(out, "%lld nodes, ", (long long)b->n_nodes);
  for (int s = 0; s < b->n_sets; ++s) fprintf(out, "%lld %s, ", (long long)b->sets[s].n, b->sets[s].ops->name);
  fprintf(out, "%lld surface triangles", (long long)b->n_triangles);
  if (b->n_prescribed) fprintf(out, ", %lld components held", (long long)b->n_prescribed);
}

static PetscErrorCode nodal_fields(body *base, field_table *table)
{
  nodal_body  *b = (nodal_body *)base;
  field_group *group;
  char         name[96];
  PetscFunctionBegin;
  snprintf(name, sizeof name, "bodies/%s", base->name);
  PetscCall(field_table_add_group(table, name, b->n_triangles > 0 ? FIELD_GROUP_SURFACE : FIELD_GROUP_POINTS, &b->n_nodes, b, &group));
  group->triangles   = b->triangles;
  group->n_triangles = b->n_triangles;
  PetscCall(field_table_add(table, group, "position", "m", FIELD_F64, 3, &b->x, FIELD_CHECKPOINT | FIELD_FRAME, "position of the nodes"));
  PetscCall(field_table_add(table, group, "velocity", "m/s", FIELD_F64, 3, &b->v, FIELD_CHECKPOINT | FIELD_FRAME | FIELD_RATE,
                            "velocity of the nodes"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- contact points -------------------------------------------------------------------------------------------------------- */

static int64_t nodal_n_clusters(const body *base) { return (const_nodal(base)->n_surface + NODAL_CLUSTER - 1) / NODAL_CLUSTER; }

static void nodal_cluster(const body *base, int64_t i, double center[3], double *radius, int64_t *first, int64_t *end)
{
  const nodal_body *b = const_nodal(base);
  v3_copy(center, b->cluster_center + 3 * i);
  *radius = b->cluster_radius[i];
  *first  = i * NODAL_CLUSTER;
  *end    = *first + NODAL_CLUSTER < b->n_surface ? *first + NODAL_CLUSTER : b->n_surface;
}

static int64_t nodal_point(const body *base, int64_t i, double x[3])
{
  const nodal_body *b = const_nodal(base);
  v3_copy(x, b->x + 3 * (int64_t)b->surface[i]);
  return b->surface[i];
}

static int nodal_point_row(const body *base, int64_t i, int32_t *block, double *weight)
{
  block[0]  = const_nodal(base)->surface[i];
  weight[0] = 1.0;
  return 1;
}

static void nodal_surface(const body *base, body_surface *out)
{
  const nodal_body *b = const_nodal(base);
  *out                = (body_surface){b->n_nodes, b->n_triangles, b->triangles, b->x, b->rest};
}

static void nodal_nodes(const body *base, body_nodes *out)
{
  const nodal_body *b = const_nodal(base);
  *out                = (body_nodes){b->n_nodes, b->x, b->v, b->rest, b->mass};
}

const body_ops nodal_body_ops = {.kind           = "nodes",
                                 .begin_step     = nodal_begin_step,
                                 .velocity       = nodal_velocity,
                                 .mass           = nodal_mass,
                                 .residual       = nodal_residual,
                                 .tangent        = nodal_tangent,
                                 .block_diagonal = nodal_block_diagonal,
                                 .end_step       = nodal_end_step,
                                 .totals         = nodal_totals,
                                 .fields         = nodal_fields,
                                 .points         = POINT_WEIGHTED,
                                 .n_clusters     = nodal_n_clusters,
                                 .cluster        = nodal_cluster,
                                 .point          = nodal_point,
                                 .point_row      = nodal_point_row,
                                 .destroy        = nodal_destroy,
                                 .surface        = nodal_surface,
                                 .nodes          = nodal_nodes,
                                 .length         = nodal_length,
                                 .describe       = nodal_describe,
                                 .prescribed     = nodal_prescribed,
                                 .couplings      = nodal_couplings,
                                 .assemble       = nodal_assemble,
                                 .set_definite   = nodal_set_definite,
                                 .relinearise    = nodal_relinearise};

/* --- momenta --- */

bool nodal_body_add_rigid_velocity(nodal_body *b, const double V[3], const double W[3], const double center[3])
{
  if (b->n_prescribed > 0) return false;
#pragma omp parallel for schedule(static) if (b->n_nodes > SERIAL_NODES)
  for (int64_t i = 0; i < b->n_nodes; ++i) {
    double arm[3], turn[3];
    v3_sub(arm, b->x + 3 * i, center);
    v3_cross(turn, W, arm);
    v3_add(turn, turn, V); /* one addition to v: a field that cancels itself leaves v as it is */
    v3_axpy(b->v + 3 * i, 1.0, turn);
  }
  return true;
}

/* On one thread, as totals are: the order of the sum is that of the nodes. */
void nodal_body_inertia(const nodal_body *b, const double center[3], double inertia[9])
{
  m3_zero(inertia);
  for (int64_t i = 0; i < b->n_nodes; ++i) {
    const double m = b->mass[i];
    double       r[3], rr[9];
    v3_sub(r, b->x + 3 * i, center);
    m3_outer(rr, r, r);
    const double trace = m3_trace(rr);
    m3_axpy(inertia, -m, rr);
    for (int k = 0; k < 9; k += 4) inertia[k] += m * trace;
  }
}
