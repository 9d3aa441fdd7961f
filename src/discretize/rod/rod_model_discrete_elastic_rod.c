/* Discrete elastic rods [Bergou2008], [Bergou2010]: nodes, and per edge the angle theta of the material frame against a reference frame
 * that is carried from step to step along the change of its edge's direction by the smallest rotation.
 *
 *   E = sum over edges of ES l (|e|/l - 1)^2 / 2 + sum over vertices of (B_1 (kappa_1 - k_1)^2 + B_2 (kappa_2 - k_2)^2 + C (m - m0)^2) / (2 L)
 *
 * L: half the lengths of the two edges; m = theta_1 - theta_0 + the twist of the reference frames, on the branch it had at the start of the
 * step. A clamp is a vertex too, between its own direction and director and the first edge, half of which it owns: so the clamped direction holds
 * at the end itself, and everything is of second order in l.
 *
 * Stiffness damping beta acts on strains, -beta c (strain - strain at the start) / dt: that is a stiffer spring with its rest moved, and turning
 * costs nothing.
 *
 * Forces are taken in the frames at the end of the step. Frames that are carried from the start of the step turn by more than the
 * strains' own derivatives know: by -(kappa b of the old and the new direction).de / (2 |e|); the tangent has that, and so is exact and
 * not symmetric. When it is to be definite it is the Gauss-Newton part, with stretch projected.
 *
 * Blocks: nodes in threes, with their three angles between: x0 x1 (theta0 theta1 theta2) x2 x3 x4 (theta3 ...) x5: no two further apart than four
 * are coupled. Angles that do not exist, up to two at the end of a strand, rest.                                              */
#include "core/math3.h"
#include "core/memory.h"
#include "discretize/rod/der_strand.h"
#include "discretize/rod/rod_model.h"
#include <string.h>

/* ---- making one ---------------------------------------------------------------------------------------------------------------- */

static PetscErrorCode allocate(rod_body *b, const rod_body_spec *spec)
{
  der *d;
  PetscFunctionBegin;
  PetscCall(memory_alloc("discrete elastic rods", 1, sizeof *d, &d));
  d->by_angle = spec->bends == ROD_BENDS_ANGLE;
  b->state = d;
  const int64_t n = b->strands.n_nodes, m = b->strands.n_segments;
  PetscCall(memory_alloc("rod frames", 3 * m, sizeof(double), &d->frame));
  PetscCall(memory_alloc("rod frames", 3 * m, sizeof(double), &d->t));
  PetscCall(memory_alloc("rod strains", m, sizeof(double), &d->stretched));
  PetscCall(memory_alloc("rod stiffness", 3 * n, sizeof(double), &d->stiffness));
  PetscCall(memory_alloc("rod strains", 3 * n, sizeof(double), &d->natural));
  PetscCall(memory_alloc("rod strains", 3 * n, sizeof(double), &d->start));
  PetscCall(memory_alloc("rod frames", n, sizeof(double), &d->twist));
  PetscCall(memory_alloc("rod frames", 3 * n, sizeof(double), &d->director));
  PetscCall(memory_alloc("rod nodes", n, sizeof *b->node_block, &b->node_block));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void der_destroy(rod_body *b)
{
  der  *d        = der_of(b);
  void *arrays[] = {&d->frame, &d->t, &d->stiffness, &d->natural, &d->twist, &d->start, &d->stretched, &d->slot, &d->director};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; ++i) memory_free(arrays[i]);
  memory_free(&b->state);
}

/* Coordinates, inertia and frames of one strand at the start. The section spins with what the body does. */
static void set_strand(rod_body *b, const der_strand *w, const double spin[3])
{
  const rod_strands *r = &b->strands;
  for (int64_t i = 0; i < w->n; ++i) {
    const int64_t at = der_block_of(w, i);
    b->node_block[w->first_node + i] = (int32_t)at;
    v3_copy(b->q + 3 * at, b->x + 3 * (w->first_node + i));
    v3_copy(b->u + 3 * at, b->v + 3 * (w->first_node + i));
    v3_set(b->inertia + 3 * at, b->mass[w->first_node + i], b->mass[w->first_node + i], b->mass[w->first_node + i]);
  }
  for (int64_t j = 0; j < w->n_edges; ++j) {
    const int64_t k = w->first_edge + j;
    double       *t = w->d->t + 3 * k;
    v3_sub(t, b->x + 3 * (int64_t)r->segment[2 * k + 1], b->x + 3 * (int64_t)r->segment[2 * k]);
    v3_scale(t, 1.0 / v3_norm(t), t);
    v3_copy(w->d->frame + 3 * k, r->director + 3 * k);
    b->inertia[der_angle_at(w, j)] = b->section.inertia_per_length * r->length[k];
    b->u[der_angle_at(w, j)]       = v3_dot(spin, t);
  }
  for (int64_t c = 3 * w->first_block; c < 3 * b->block_start[w->s + 1]; ++c)
    if (b->inertia[c] == 0.0) b->inertia[c] = b->section.inertia_per_length * r->length[w->first_edge];
}

/* Stiffness and natural strains of the vertices of one strand. */
static bool set_vertices(rod_body *b, const der_strand *w)
{
  const rod_natural_spec *natural = &b->natural;
  for (int64_t i = 0; i < w->n; ++i) {
    const int64_t at = w->first_node + i;
    int64_t       edge[2];
    double        strain[DER_STRAINS], *rest = w->d->natural + 3 * at;
    der_vertex    v;
    der_edges_at(w, i, edge);
    const double l[2] = {edge[0] < 0 ? 0.0 : b->strands.length[w->first_edge + edge[0]], edge[1] < 0 ? 0.0 : b->strands.length[w->first_edge + edge[1]]};
    const double L = 0.5 * (l[0] + l[1]), whole = hypot(natural->curvature[0], natural->curvature[1]);
    const double phi   = whole > 0.0 ? rod_turning(whole, l[0], l[1]) : 0.0; /* strain of a circle, per curvature: */
    const double share = whole > 0.0 ? (w->d->by_angle ? phi : 2.0 * tan(0.5 * phi)) / whole : L;
    const bool is_free = (edge[0] < 0 && b->end[0].held != ROD_END_CLAMPED) || (edge[1] < 0 && b->end[1].held != ROD_END_CLAMPED);
    for (int k = 0; k < 3; ++k) w->d->stiffness[3 * at + k] = is_free ? -1.0 : (k < 2 ? b->section.bending[k] : b->section.twist) / L;
    if (is_free) continue;
    if (!der_pose_vertex(w, b->q, i, &v, strain, &w->d->twist[at])) return false;
    for (int k = 0; k < 3; ++k) {
      const double given = k < 2 ? natural->curvature[k] : natural->twist;
      rest[k]            = !isnan(given) ? given * (k < 2 ? share : L) : natural->shape == ROD_NATURAL_AS_DRAWN ? strain[k] : 0.0;
    }
  }
  return true;
}

/* Strains at b->q, kept for damping and energy: in the next step clamps are elsewhere. */
static void keep_strains(rod_body *b, const der_strand *w)
{
  der_vertex v;
  double     twist;
  for (int64_t j = 0; j < w->n_edges; ++j) {
    double d[3];
    v3_sub(d, der_node_at(w, b->q, (j + 1) % w->n), der_node_at(w, b->q, j));
    w->d->stretched[w->first_edge + j] = v3_norm(d) / b->strands.length[w->first_edge + j] - 1.0;
  }
  for (int64_t i = 0; i < w->n; ++i)
    if (der_is_vertex(w, i)) (void)der_pose_vertex(w, b->q, i, &v, w->d->start + 3 * (w->first_node + i), &twist);
}

/* Blocks of the vertex at node i; -1: not there. */
static void blocks_of_vertex(const der_strand *w, int64_t i, int64_t block[DER_VERTEX_BLOCKS])
{
  int64_t edge[2];
  der_edges_at(w, i, edge);
  block[0] = edge[0] < 0 ? -1 : der_block_of(w, edge[0]);
  block[1] = der_block_of(w, i);
  block[2] = edge[1] < 0 ? -1 : der_block_of(w, (i + 1) % w->n);
  for (int k = 0; k < 2; ++k) block[3 + k] = edge[k] < 0 ? -1 : w->first_block + der_angle_block(edge[k], w->n, w->is_closed);
}

static PetscErrorCode der_create(rod_body *b, const body_request *r, diagnostics *d)
{
  const rod_body_spec *spec     = r->spec;
  int64_t              n_blocks = 0;
  PetscFunctionBegin;
  PetscCall(allocate(b, spec));
  for (int64_t s = 0; s < b->strands.n_strands; ++s) n_blocks += der_count_blocks(b->strands.node_start[s + 1] - b->strands.node_start[s], b->strands.is_closed);
  PetscCall(rod_body_set_blocks(b, n_blocks));
  for (int64_t s = 0; s < b->strands.n_strands; ++s) {
    b->block_start[s + 1] = b->block_start[s] + der_count_blocks(b->strands.node_start[s + 1] - b->strands.node_start[s], b->strands.is_closed);
    const der_strand w   = der_strand_of(b, s);
    set_strand(b, &w, spec->angular_velocity);
    if (!set_vertices(b, &w)) {
      diagnostics_add_under(d, r->node, r->path, "curve", "strand %lld turns back on itself: move its points apart", (long long)s + 1);
      PetscFunctionReturn(PETSC_SUCCESS);
    }
    keep_strains(b, &w);
    for (int64_t i = w.first_block; i < b->block_start[s + 1]; ++i) PetscCall(rod_body_couple(b, i, i));
    for (int64_t i = 0; i < w.n; ++i) {
      int64_t block[DER_VERTEX_BLOCKS];
      blocks_of_vertex(&w, i, block);
      for (int p = 0; p < DER_VERTEX_BLOCKS; ++p)
        for (int q = 0; q < p; ++q)
          if (block[p] >= 0 && block[q] >= 0) PetscCall(rod_body_couple(b, block[p], block[q]));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode der_finish(rod_body *b)
{
  der *d = der_of(b);
  enum { SLOTS = DER_VERTEX_BLOCKS * DER_VERTEX_BLOCKS };
  PetscFunctionBegin;
  PetscCall(memory_alloc("rod matrix", SLOTS * b->strands.n_nodes, sizeof *d->slot, &d->slot));
  for (int64_t s = 0; s < b->strands.n_strands; ++s) {
    const der_strand w = der_strand_of(b, s);
    for (int64_t i = 0; i < w.n; ++i) {
      int64_t  block[DER_VERTEX_BLOCKS];
      int32_t *slot = d->slot + SLOTS * (w.first_node + i);
      blocks_of_vertex(&w, i, block);
      for (int p = 0; p < DER_VERTEX_BLOCKS; ++p)
        for (int q = 0; q < DER_VERTEX_BLOCKS; ++q)
          slot[DER_VERTEX_BLOCKS * p + q] =
              block[p] < 0 || block[q] < 0 ? -1 : (int32_t)((rod_body_block(b, block[p], block[q]) - b->value) / 9);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the step ------------------------------------------------------------------------------------------------------------------ */

static void show_nodes(rod_body *b, const der_strand *w)
{
  for (int64_t i = 0; i < w->n; ++i) {
    v3_copy(b->x + 3 * (w->first_node + i), der_node_at(w, b->q, i));
    v3_copy(b->v + 3 * (w->first_node + i), der_node_at(w, b->u, i));
  }
}

static void der_end_step(rod_body *b, int64_t s, const double *u)
{
  const der_strand w = der_strand_of(b, s);
  der_posed        e;
  der_vertex        v;
  double            strain[DER_STRAINS];
  for (int64_t c = 3 * w.first_block; c < 3 * b->block_start[s + 1]; ++c) {
    b->q[c] += b->dt * u[c];
    b->u[c] = u[c];
  }
  for (int64_t i = 0; i < w.n; ++i)
    if (der_is_vertex(&w, i)) (void)der_pose_vertex(&w, b->q, i, &v, strain, &w.d->twist[w.first_node + i]);
  for (int64_t j = 0; j < w.n_edges; ++j) {
    double *frame = w.d->frame + 3 * (w.first_edge + j);
    if (!der_pose_edge(&w, b->q, j, &e)) continue;
    v3_copy(w.d->t + 3 * (w.first_edge + j), e.e.t);
    v3_copy(frame, e.reference);
    v3_axpy(frame, -v3_dot(frame, e.e.t), e.e.t); /* round-off adds up otherwise */
    v3_scale(frame, 1.0 / v3_norm(frame), frame);
  }
  keep_strains(b, &w);
  show_nodes(b, &w);
}

/* ---- looking at it --------------------------------------------------------------------------------------------------------------- */

static void der_restored(rod_body *b, int64_t s)
{
  const der_strand w = der_strand_of(b, s);
  show_nodes(b, &w);
}

/* From the strains that are kept: those of clamped ends depend on where the clamps were. */
static double der_energy(const rod_body *b, int64_t s)
{
  const der_strand w   = der_strand_of(b, s);
  double            sum = 0.0;
  for (int64_t j = w.first_edge; j < w.first_edge + w.n_edges; ++j)
    sum += 0.5 * b->section.stretch * b->strands.length[j] * w.d->stretched[j] * w.d->stretched[j];
  for (int64_t i = 0; i < w.n; ++i)
    for (int64_t k = 3 * (w.first_node + i); k < 3 * (w.first_node + i) + 3 && der_is_vertex(&w, i); ++k) {
      const double strain = w.d->start[k] - w.d->natural[k];
      sum += 0.5 * w.d->stiffness[k] * strain * strain;
    }
  return sum;
}

static void der_spin(const rod_body *b, int64_t s, body_totals *out)
{
  const der_strand w = der_strand_of(b, s);
  for (int64_t j = 0; j < w.n_edges; ++j) {
    const int64_t c = der_angle_at(&w, j);
    out->kinetic += 0.5 * b->inertia[c] * b->u[c] * b->u[c];
    v3_axpy(out->angular_momentum, b->inertia[c] * b->u[c], w.d->t + 3 * (w.first_edge + j));
  }
}

/* Directors, before a frame is written. */
static PetscErrorCode refresh(void *context)
{
  const rod_body *b = context;
  for (int64_t s = 0; s < b->strands.n_strands; ++s) {
    const der_strand w = der_strand_of(b, s);
    for (int64_t i = 0; i < w.n; ++i) {
      der_posed e;
      if (der_pose_edge(&w, b->q, i < w.n_edges ? i : w.n_edges - 1, &e)) v3_copy(w.d->director + 3 * (w.first_node + i), e.e.m1);
    }
  }
  return PETSC_SUCCESS;
}

static PetscErrorCode der_fields(rod_body *b, field_table *table)
{
  der         *d = der_of(b);
  field_group *group;
  char         name[96];
  PetscFunctionBegin;
  snprintf(name, sizeof name, "bodies/%s", b->base.name);
  group = field_table_find_group(table, name);
  PetscCall(field_table_add(table, group, "strain", "1", FIELD_F64, 3, &d->start, FIELD_CHECKPOINT | FIELD_FRAME,
                            "bends towards the director and across it, twist [rad], each over the length that the node stands for"));
  PetscCall(field_table_add(table, group, "director", "1", FIELD_F64, 3, &d->director, FIELD_FRAME | FIELD_DERIVED, "first axis of the section"));
  group->refresh = refresh;
  PetscCall(field_table_add(table, group, "reference_twist", "rad", FIELD_F64, 1, &d->twist, FIELD_CHECKPOINT, "of the reference frames"));
  PetscCall(rod_body_add_group(b, "segments", &b->strands.n_segments, table, &group));
  PetscCall(field_table_add(table, group, "direction", "1", FIELD_F64, 3, &d->t, FIELD_CHECKPOINT, "of the segment"));
  PetscCall(field_table_add(table, group, "reference", "1", FIELD_F64, 3, &d->frame, FIELD_CHECKPOINT, "first director of the reference frame"));
  PetscCall(field_table_add(table, group, "stretch", "1", FIELD_F64, 1, &d->stretched, FIELD_CHECKPOINT, "strain along the segment"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- contact ---------------------------------------------------------------------------------------------------------------------- */

/* A spot beside a segment moves with the axis there, and with what the segment turns by: about itself at the rate of its angle, t x r, and with its two
 * nodes, of relative velocity d, by (d (t.r) - t (d.r)) / |e|. So fibres may roll. */
static int der_spot_jacobian(const rod_body *b, const body_spot *spot, int32_t *block, double (*J)[9])
{
  if (spot->kind == FEATURE_POINT) {
    block[0] = b->node_block[spot->index];
    m3_identity(J[0]);
    return 1;
  }
  const der_strand w    = der_strand_of(b, b->strands.strand[spot->index]);
  const int32_t    *node = b->strands.segment + 2 * spot->index;
  const double      at[2] = {1.0 - spot->w[0], spot->w[0]}, *t = w.d->t + 3 * spot->index;
  const int64_t     angle = der_angle_at(&w, spot->index - w.first_edge);
  double            arm[3], e[3], turn[9], spin[3];
  v3_copy(arm, spot->x);
  for (int k = 0; k < 2; ++k) v3_axpy(arm, -at[k], b->x + 3 * (int64_t)node[k]);
  v3_sub(e, b->x + 3 * (int64_t)node[1], b->x + 3 * (int64_t)node[0]);
  const double over = 1.0 / v3_norm(e), along = v3_dot(t, arm);
  for (int i = 0; i < 9; ++i) turn[i] = over * ((i % 4 == 0 ? along : 0.0) - t[i / 3] * arm[i % 3]);
  for (int k = 0; k < 2; ++k) {
    block[k] = b->node_block[node[k]];
    for (int i = 0; i < 9; ++i) J[k][i] = (i % 4 == 0 ? at[k] : 0.0) + (k == 0 ? -turn[i] : turn[i]);
  }
  v3_cross(spin, t, arm);
  block[2] = (int32_t)(angle / 3);
  m3_zero(J[2]);
  for (int i = 0; i < 3; ++i) J[2][3 * i + angle % 3] = spin[i];
  return 3;
}

const rod_model rod_model_discrete_elastic_rod = {.name      = "discrete_elastic_rod",
                                                  .create    = der_create,
                                                  .finish    = der_finish,
                                                  .residual  = der_residual,
                                                  .end_step  = der_end_step,
                                                  .restored  = der_restored,
                                                  .energy    = der_energy,
                                                  .spin      = der_spin,
                                                  .fields    = der_fields,
                                                  .spot_jacobian = der_spot_jacobian,
                                                  .destroy   = der_destroy};
