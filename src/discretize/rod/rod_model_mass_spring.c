/* Rod model mass_spring: implicit mass-spring strands whose only unknowns are the nodes. Every force comes from a spring on a
 * vector d that is linear in the nodes:
 *
 *    c (|d| - rest)^2 / 2      d = sum of weight_k x_k, at most three nodes
 *
 * Segments: d = e, c = ES / l, rest l. Bending: d = e1 / l1 - e0 / l0, c = B / L, where L is half of both lengths. For equal
 * segments this is B / l^3 |x_- - 2 x + x_+|^2 / 2, with a constant matrix. A natural curvature sets the rest length of d; its
 * direction is not prescribed. At a clamp, the direction of the clamp replaces one edge, and L is half of the remaining edge.
 *
 * Springs over two and three segments are those of [SelleEtAl2008]. They and the rest lengths of d are the only resistance to
 * out-of-plane bending and torsion, so that straight strands have no resistance to twist. */
#include "core/math3.h"
#include "core/memory.h"
#include "discretize/rod/rod_body.h"
#include "discretize/rod/rod_spring.h"
#include <string.h>

enum { SPRING_NODES = 3 };

typedef struct {
  int32_t node[SPRING_NODES]; /* -1: fewer than three nodes */
  int32_t clamp;              /* index in b->clamp, whose tangent is added to d with factor clamp_sign; -1: none */
  double  weight[SPRING_NODES], clamp_sign, c, rest;
} strand_spring;

typedef struct {
  int64_t        n, capacity;
  strand_spring *spring; /* [n] springs, strand by strand */
  int64_t       *start;  /* [n_strands + 1] first spring of each strand */
  double        *length; /* [n] |d| at the end of the last step */
} springs;

static springs *of(const rod_body *b) { return b->state; }

static void spring_vector(const rod_body *b, const strand_spring *s, const double *x, double d[3])
{
  v3_set(d, 0.0, 0.0, 0.0);
  for (int k = 0; k < SPRING_NODES && s->node[k] >= 0; ++k) v3_axpy(d, s->weight[k], x + 3 * (int64_t)s->node[k]);
  if (s->clamp >= 0) v3_axpy(d, s->clamp_sign, b->clamp[s->clamp].tangent);
}

/* ---- creation ------------------------------------------------------------------------------------------------------------ */

static void springs_destroy(rod_body *b)
{
  springs *s = of(b);
  MEMORY_FREE(&s->spring, &s->start, &s->length, &b->state);
}

static PetscErrorCode add_spring(rod_body *b, const strand_spring *spring)
{
  springs *s = of(b);
  PetscFunctionBegin;
  PetscCall(memory_reserve("strand springs", s->n + 1, sizeof *s->spring, &s->capacity, &s->spring));
  s->spring[s->n++] = *spring;
  for (int p = 0; p < SPRING_NODES; ++p)
    for (int q = 0; q <= p; ++q)
      if (spring->node[p] >= 0 && spring->node[q] >= 0) PetscCall(rod_body_couple(b, spring->node[p], spring->node[q]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A spring from node p to node q with the initial distance as its rest length. */
static PetscErrorCode add_straight(rod_body *b, int64_t p, int64_t q, double force_per_strain)
{
  double d[3];
  PetscFunctionBegin;
  v3_sub(d, b->strands.x + 3 * q, b->strands.x + 3 * p);
  const double        l = v3_norm(d);
  const strand_spring s = {{(int32_t)p, (int32_t)q, -1}, -1, {-1.0, 1.0, 0.0}, 0.0, force_per_strain / l, l};
  if (l > 0.0) PetscCall(add_spring(b, &s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The bending spring at node i of a strand. Edges are numbered from the strand's first; -1: the clamp, or none. */
static PetscErrorCode add_bend(rod_body *b, int64_t strand, int64_t i)
{
  const rod_strands *r     = &b->strands;
  const int64_t      first = r->node_start[strand], n = r->node_start[strand + 1] - first,
                edges  = r->segment_start[strand + 1] - r->segment_start[strand];
  const int64_t before = i > 0 ? i - 1 : r->is_closed ? n - 1 : -1, after = i < edges ? i : -1;
  strand_spring s    = {.node = {(int32_t)(first + i), -1, -1}, .clamp = -1};
  double        l[2] = {0.0, 0.0}, d[3];
  int           m    = 1;
  PetscFunctionBegin;
  if ((before < 0 && b->end[0].held != ROD_END_CLAMPED) || (after < 0 && b->end[1].held != ROD_END_CLAMPED))
    PetscFunctionReturn(PETSC_SUCCESS);
  if (before < 0) s.clamp = (int32_t)(2 * strand), s.clamp_sign = -1.0;
  if (after < 0) s.clamp = (int32_t)(2 * strand + 1), s.clamp_sign = 1.0;
  for (int side = 0; side < 2; ++side) {
    const int64_t edge = side == 0 ? before : after;
    if (edge < 0) continue;
    l[side] = r->length[r->segment_start[strand] + edge];
    s.weight[0] -= 1.0 / l[side];
    s.node[m]     = (int32_t)(first + (side == 0 ? before : (i + 1) % n));
    s.weight[m++] = 1.0 / l[side];
  }
  s.c = 2.0 * b->section.bending[0] / (l[0] + l[1]);
  spring_vector(b, &s, r->x, d);
  const double given = hypot(b->natural.curvature[0], b->natural.curvature[1]);
  s.rest             = !isnan(given)                              ? 2.0 * sin(0.5 * rod_chord_angle(given, l[0], l[1]))
                       : b->natural.shape == ROD_NATURAL_AS_DRAWN ? v3_norm(d)
                                                                  : 0.0;
  if (s.rest < 1e-12) s.rest = 0.0; /* straight up to round-off */
  if (s.c > 0.0) PetscCall(add_spring(b, &s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Reject options that this model does not support. */
static void check_options(const rod_body *b, const body_request *r, diagnostics *d)
{
  const rod_body_spec *spec = r->spec;
  if (b->section.bending[0] != b->section.bending[1])
    diagnostics_add_under(d, r->node, r->path, "section",
                          "has bending stiffnesses %g and %g N m^2: mass_spring needs equal ones; give a circle, or stiffness.bending",
                          b->section.bending[0], b->section.bending[1]);
  if (!isnan(spec->stiffness->twist)) diagnostics_add_under(d, r->node, r->path, "stiffness.twist", "mass_spring has no twist; remove it");
  if (!isnan(spec->natural->twist)) diagnostics_add_under(d, r->node, r->path, "natural.twist", "mass_spring has no twist; remove it");
}

static PetscErrorCode springs_create(rod_body *b, const body_request *r, diagnostics *d)
{
  const rod_stiffness_spec *k = ((const rod_body_spec *)r->spec)->stiffness;
  const rod_strands        *w = &b->strands;
  springs                  *s;
  PetscFunctionBegin;
  PetscCall(memory_alloc("strand springs", 1, sizeof *s, &s));
  b->state = s;
  check_options(b, r, d);
  PetscCall(rod_body_set_blocks(b, w->n_nodes));
  PetscCall(MEMORY_ALLOC("rod model mass spring", ARRAY(s->start, w->n_strands + 1), ARRAY(b->node_block, w->n_nodes)));
  memcpy(b->block_start, w->node_start, (size_t)(w->n_strands + 1) * sizeof *b->block_start);
  memcpy(b->q, b->x, (size_t)(3 * w->n_nodes) * sizeof *b->q);
  memcpy(b->u, b->v, (size_t)(3 * w->n_nodes) * sizeof *b->u);
  for (int64_t i = 0; i < w->n_nodes; ++i) {
    b->node_block[i] = (int32_t)i;
    v3_set(b->inertia + 3 * i, b->mass[i], b->mass[i], b->mass[i]);
  }
  for (int64_t strand = 0; strand < w->n_strands; ++strand) {
    const int64_t first = w->node_start[strand], n = w->node_start[strand + 1] - first;
    for (int span = 1; span <= 3; ++span) {
      const double  stiffness = span == 1 ? b->section.stretch : span == 2 ? k->bend_springs : k->twist_springs;
      const int64_t ends      = w->is_closed && n > 2 * span   ? n
                                : w->is_closed && n < 2 * span ? 0
                                                               : n - span; /* no two springs have the same nodes */
      for (int64_t i = 0; i < ends && !isnan(stiffness); ++i) PetscCall(add_straight(b, first + i, first + (i + span) % n, stiffness));
    }
    for (int64_t i = 0; i < n; ++i) PetscCall(add_bend(b, strand, i));
    s->start[strand + 1] = s->n;
  }
  PetscCall(memory_alloc("strand springs", s->n, sizeof *s->length, &s->length));
  for (int64_t i = 0; i < s->n; ++i) {
    double e[3];
    spring_vector(b, &s->spring[i], b->q, e);
    s->length[i] = v3_norm(e);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- step ---------------------------------------------------------------------------------------------------------------- */

static void add_loads(const rod_body *b, int64_t strand, double *g, bool with_tangent)
{
  for (int k = 0; k < 2; ++k) {
    const double *M = b->end[k].moment, dt = b->dt;
    const int64_t end = k == 0 ? b->block_start[strand] : b->block_start[strand + 1] - 1, p = k == 0 ? end : end - 1, q = p + 1;
    double        e[3], f[3], K[9];
    v3_axpy(g + 3 * end, -dt, b->end[k].force);
    if (!(v3_norm(M) > 0.0)) continue;
    v3_sub(e, b->trial + 3 * q, b->trial + 3 * p);
    rod_couple(M, e, f, K);
    v3_axpy(g + 3 * q, -dt, f);
    v3_axpy(g + 3 * p, dt, f);
    if (!with_tangent || b->is_definite) continue;
    m3_axpy(rod_body_block(b, q, q), -dt * dt, K);
    m3_axpy(rod_body_block(b, p, p), -dt * dt, K);
    m3_axpy(rod_body_block(b, p, q), dt * dt, K);
    m3_axpy(rod_body_block(b, q, p), dt * dt, K);
  }
}

static bool springs_residual(rod_body *b, int64_t strand, const double *u, double *g, bool with_tangent)
{
  const springs *s       = of(b);
  const double   damping = 1.0 + b->dt * b->mass_damping, share = b->stiffness_damping / b->dt, dt = b->dt;
  for (int64_t i = b->block_start[strand]; i < b->block_start[strand + 1]; ++i) {
    const double m        = b->mass[i];
    double      *diagonal = with_tangent ? rod_body_block(b, i, i) : NULL;
    for (int k = 0; k < 3; ++k) {
      g[3 * i + k] += m * (damping * u[3 * i + k] - b->u[3 * i + k] - dt * b->gravity[k]);
      if (diagonal) diagonal[4 * k] += m * damping;
    }
  }
  for (int64_t i = s->start[strand]; i < s->start[strand + 1]; ++i) {
    const strand_spring *e = &s->spring[i];
    double               d[3], f[3], K[9];
    spring_vector(b, e, b->trial, d);
    rod_spring(d, e->c * (1.0 + share), rod_damped_rest(share, e->rest, s->length[i]), b->is_definite, f, with_tangent ? K : NULL);
    for (int p = 0; p < SPRING_NODES && e->node[p] >= 0; ++p) {
      v3_axpy(g + 3 * (int64_t)e->node[p], dt * e->weight[p], f);
      for (int q = 0; q < SPRING_NODES && with_tangent && e->node[q] >= 0; ++q)
        m3_axpy(rod_body_block(b, e->node[p], e->node[q]), dt * dt * e->weight[p] * e->weight[q], K);
    }
  }
  if (!b->strands.is_closed) add_loads(b, strand, g, with_tangent);
  return true;
}

static void show_nodes(rod_body *b, int64_t strand)
{
  const int64_t first = 3 * b->block_start[strand], n = 3 * b->block_start[strand + 1] - first;
  memcpy(b->x + first, b->q + first, (size_t)n * sizeof *b->x);
  memcpy(b->v + first, b->u + first, (size_t)n * sizeof *b->v);
}

static void springs_end_step(rod_body *b, int64_t strand, const double *u)
{
  springs *s = of(b);
  for (int64_t c = 3 * b->block_start[strand]; c < 3 * b->block_start[strand + 1]; ++c) {
    b->q[c] += b->dt * u[c];
    b->u[c] = u[c];
  }
  for (int64_t i = s->start[strand]; i < s->start[strand + 1]; ++i) {
    double d[3];
    spring_vector(b, &s->spring[i], b->q, d);
    s->length[i] = v3_norm(d);
  }
  show_nodes(b, strand);
}

static double springs_energy(const rod_body *b, int64_t strand)
{
  const springs *s   = of(b);
  double         sum = 0.0;
  for (int64_t i = s->start[strand]; i < s->start[strand + 1]; ++i) {
    const double stretch = s->length[i] - s->spring[i].rest;
    sum += 0.5 * s->spring[i].c * stretch * stretch;
  }
  return sum;
}

static PetscErrorCode springs_fields(rod_body *b, field_table *table)
{
  springs     *s = of(b);
  field_group *group;
  PetscFunctionBegin;
  PetscCall(rod_body_add_group(b, "springs", &s->n, table, &group));
  PetscCall(field_table_add(table, group, "length", "", FIELD_F64, 1, &s->length, FIELD_CHECKPOINT,
                            "length of the spring at the end of the last step"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const rod_model rod_model_mass_spring = {.name     = "mass_spring",
                                         .create   = springs_create,
                                         .residual = springs_residual,
                                         .end_step = springs_end_step,
                                         .restored = show_nodes,
                                         .energy   = springs_energy,
                                         .fields   = springs_fields,
                                         .destroy  = springs_destroy};
