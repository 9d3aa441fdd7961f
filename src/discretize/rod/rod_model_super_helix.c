/* Rod model super_helix (super_helix.h). Blocks of a strand: position of its root, rotation theta of its root since the start of
 * the step (q is zero between steps), then twist and curvatures of each element.
 *
 * A step minimises the following function, where r_p are the Gauss points at its end, and r0_p, w_p their positions and velocities at its start:
 *
 *    sum_p m_p / (2 dt^2) |r_p - r0_p - dt w_p|^2 + elastic energy - work of loads
 *
 * This is backward Euler for the points. The positions contain the effects that other methods add as gyroscopic terms. Then w_p =
 * (r_p - r0_p) / dt. Nodes are samples of the curve for contact, pictures and measures. */
#include "core/math3.h"
#include "core/memory.h"
#include "discretize/rod/cayley.h"
#include "discretize/rod/rod_body.h"
#include "discretize/rod/super_helix.h"
#include <string.h>

enum { POINTS = SUPER_HELIX_POINTS, ROOT = SUPER_HELIX_ROOT, MAX_ELEMENTS = LOCATION_MAX_BLOCKS - ROOT };

typedef struct {
  int32_t      n; /* elements per strand */
  int64_t      n_strands, n_points;
  super_helix *start, *trial, *tangent; /* [n_strands] shapes at the start of the step, at the last evaluation, at the last
                                           evaluation with tangent */
  double      *root;                    /* [n_strands][4] quaternion of the root's frame: tangent, director, and their cross product */
  double      *point_velocity;          /* [n_points][3] w_p */
  double      *force, *change;          /* [n_points][3], [n_strands][n + 2][3] work arrays */
  double      *natural;                 /* [n_strands][n][3] 1/m */
  int32_t     *node_element;            /* [n_nodes] positions of the nodes: element, and arc length from its start */
  double      *node_arc;
} helix_state;

static int64_t unknowns_of(const rod_body *b, int64_t strand) { return 3 * b->block_start[strand]; }
static double *kappa_of(const rod_body *b, int64_t strand, double *q) { return q + unknowns_of(b, strand) + 3 * ROOT; }
/* ---- creation -------------------------------------------------------------------------------------------------------------- */

static double angle_between(const double a[3], const double b[3])
{
  double c[3];
  v3_cross(c, a, b);
  return atan2(v3_norm(c), v3_dot(a, b));
}

/* Lengths of segments along the curve through the nodes: chord (x / sin x), where x is half of the angle between the tangents at
 * the ends of the chord. The tangent at a node bisects its chords. Exact for circles. */
static void measure_along(rod_strands *s, int64_t strand)
{
  const int64_t first = s->segment_start[strand], end = s->segment_start[strand + 1];
  double        before[3], here[3], after[3];
  v3_copy(here, s->end_tangent + 6 * strand);
  double turned = 0.0, half = 0.0;
  for (int64_t k = first; k < end; ++k) {
    v3_copy(before, here);
    v3_sub(here, s->x + 3 * (int64_t)s->segment[2 * k + 1], s->x + 3 * (int64_t)s->segment[2 * k]);
    v3_scale(here, 1.0 / v3_norm(here), here);
    if (k == first) turned = angle_between(before, here);
    if (k + 1 < end) {
      const int64_t next = k + 1;
      v3_sub(after, s->x + 3 * (int64_t)s->segment[2 * next + 1], s->x + 3 * (int64_t)s->segment[2 * next]);
      v3_scale(after, 1.0 / v3_norm(after), after);
      half = 0.5 * angle_between(here, after);
    } else half = angle_between(here, s->end_tangent + 6 * strand + 3);
    const double x = 0.5 * (turned + half);
    if (x > 0.0) s->length[k] *= x / sin(x);
    turned = half;
  }
}

/* The frame of the initial curve at arc length `at`: given at both ends and in the middle of segments, interpolated by shortest arcs. */
static void drawn_frame(const rod_strands *s, int64_t strand, double at, double q[4])
{
  const int64_t first = s->segment_start[strand], end = s->segment_start[strand + 1];
  double        from[4], to[4], here = 0.0, there = 0.0, passed = 0.0;
  rod_frame_quaternion(to, s->end_tangent + 6 * strand, s->end_director + 6 * strand);
  for (int64_t k = first;; ++k) { /* up to `end` */
    memcpy(from, to, sizeof from);
    here = there;
    if (k < end) {
      double tangent[3];
      v3_sub(tangent, s->x + 3 * (int64_t)s->segment[2 * k + 1], s->x + 3 * (int64_t)s->segment[2 * k]);
      v3_scale(tangent, 1.0 / v3_norm(tangent), tangent);
      there = passed + 0.5 * s->length[k];
      passed += s->length[k];
      rod_frame_quaternion(to, tangent, s->director + 3 * k);
    } else {
      there = passed;
      rod_frame_quaternion(to, s->end_tangent + 6 * strand + 3, s->end_director + 6 * strand + 3);
    }
    if (at <= there || k == end) break;
  }
  quaternion_slerp(q, from, to, fmin((at - here) / (there - here), 1.0));
}

/* Curvatures between consecutive frames of the initial curve, and natural curvatures. */
static void set_curvatures(rod_body *b, int64_t strand)
{
  helix_state *h     = b->state;
  double      *kappa = kappa_of(b, strand, b->q), *natural = h->natural + 3 * h->n * strand, at = 0.0, from[4], to[4];
  drawn_frame(&b->strands, strand, 0.0, to);
  memcpy(h->root + 4 * strand, to, sizeof to);
  for (int32_t e = 0; e < h->n; ++e) {
    double       inverse[4], turn[4];
    const double length = h->start[strand].length[e];
    memcpy(from, to, sizeof from);
    at += length;
    drawn_frame(&b->strands, strand, at, to);
    quaternion_conjugate(inverse, from);
    quaternion_multiply(turn, inverse, to);
    quaternion_log(kappa + 3 * e, turn);
    v3_scale(kappa + 3 * e, 1.0 / length, kappa + 3 * e);
    v3_copy(natural + 3 * e, kappa + 3 * e);
    rod_frame_natural(natural + 3 * e, &b->natural);
  }
}

/* Elements of equal length, positions of the nodes along the strand, masses by length. */
static PetscErrorCode create_elements(rod_body *b, int64_t strand, double *length)
{
  helix_state  *h     = b->state;
  rod_strands  *s     = &b->strands;
  const int64_t first = s->node_start[strand], last = s->node_start[strand + 1] - 1;
  double        total = 0.0, passed = 0.0;
  PetscFunctionBegin;
  measure_along(s, strand);
  for (int64_t i = first; i <= last; ++i) b->mass[i] = 0.0;
  for (int64_t k = s->segment_start[strand]; k < s->segment_start[strand + 1]; ++k) {
    total += s->length[k];
    for (int i = 0; i < 2; ++i) b->mass[s->segment[2 * k + i]] += 0.5 * b->section.mass_per_length * s->length[k];
  }
  for (int32_t e = 0; e < h->n; ++e) length[e] = total / h->n;
  for (int64_t i = first; i <= last; ++i) {
    const double at    = i == last ? h->n : passed / length[0];
    int32_t      e     = (int32_t)fmin(floor(at + 1e-9), h->n - 1.0);
    h->node_element[i] = e;
    h->node_arc[i]     = fmax((at - e) * length[0], 0.0);
    if (i < last) passed += s->length[s->segment_start[strand] + i - first];
  }
  super_helix *each[] = {&h->start[strand], &h->trial[strand], &h->tangent[strand]};
  for (int i = 0; i < 3; ++i)
    PetscCall(super_helix_create(h->n, length, b->section.mass_per_length, b->section.inertia_per_length, each[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void set_strand_shape(rod_body *b, super_helix *h, int64_t strand, const double *q)
{
  const helix_state *state = b->state;
  const double      *at    = q + unknowns_of(b, strand);
  double             R[9];
  quaternion_to_matrix(R, state->root + 4 * strand);
  super_helix_shape(h, at, R, at + 3, at + 3 * ROOT);
}

static void sample_nodes(rod_body *b, int64_t strand)
{
  helix_state  *h     = b->state;
  const int64_t first = b->strands.node_start[strand], n = b->strands.node_start[strand + 1] - first;
  super_helix_sample(&h->start[strand], kappa_of(b, strand, b->q), b->u + unknowns_of(b, strand), n, h->node_element + first,
                     h->node_arc + first, b->x + 3 * first, b->v + 3 * first);
}

/* Diagonal of the mass matrix for the initial shape. */
static void set_inertia(rod_body *b, int64_t strand)
{
  helix_state           *h   = b->state;
  super_helix           *now = &h->start[strand];
  double                *to = b->inertia + unknowns_of(b, strand), *none = h->force + 3 * POINTS * h->n * strand;
  const super_helix_load load = {.f = none};
  memset(none, 0, (size_t)(3 * POINTS * h->n) * sizeof *none);
  super_helix_prepare(now, kappa_of(b, strand, b->q), 1.0, 0.0, &load);
  for (int32_t k = 0; k < h->n + ROOT; ++k)
    for (int i = 0; i < 3; ++i) to[3 * k + i] = now->diagonal[9 * k + 4 * i];
}

/* Initial rates: those of a rigid body, even if the root is constrained. */
static void set_rates(rod_body *b, int64_t strand, const double spin[3])
{
  helix_state *h = b->state;
  double      *u = b->u + unknowns_of(b, strand);
  v3_copy(u, b->v + 3 * b->strands.node_start[strand]);
  v3_copy(u + 3, spin);
  super_helix_rates(&h->start[strand], u, h->point_velocity + 3 * POINTS * h->n * strand);
}

static bool check_job(const rod_body *b, int64_t n, const body_request *r, diagnostics *d)
{
  const int before = diagnostics_count(d);
  if (b->strands.is_closed)
    diagnostics_add_under(d, r->node, r->path, "closed",
                          "is not supported by model super_helix, whose tip is free; remove it or use another model");
  if (b->end[1].held != ROD_END_FREE)
    diagnostics_add_under(d, r->node, r->path, "end",
                          "model super_helix supports constraints at its start only; swap the ends or use another model");
  if (b->n_holds > 0)
    diagnostics_add_under(d, r->node, r->path, "hold",
                          "model super_helix supports constraints at its start only; use start or another model");
  if (n > MAX_ELEMENTS)
    diagnostics_add_under(d, r->node, r->path, "elements",
                          "%lld elements: expected at most %d, because the cost of a super_helix grows with their square", (long long)n,
                          MAX_ELEMENTS);
  return diagnostics_count(d) == before;
}

static PetscErrorCode rod_model_super_helix_couple(rod_body *b, int64_t strand)
{
  PetscFunctionBegin;
  for (int64_t i = b->block_start[strand]; i < b->block_start[strand + 1]; ++i)
    for (int64_t j = i; j < b->block_start[strand + 1]; ++j) PetscCall(rod_body_couple(b, i, j));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode rod_model_super_helix_allocate(rod_body *b, int64_t n)
{
  const rod_strands *s = &b->strands;
  helix_state       *h;
  PetscFunctionBegin;
  PetscCall(memory_alloc("rod model", 1, sizeof *h, &b->state));
  h            = b->state;
  h->n         = (int32_t)n;
  h->n_strands = s->n_strands;
  h->n_points  = POINTS * n * s->n_strands;
  PetscCall(MEMORY_ALLOC("rod model super helix", ARRAY(h->start, s->n_strands), ARRAY(h->trial, s->n_strands),
                         ARRAY(h->tangent, s->n_strands), ARRAY(h->root, 4 * s->n_strands), ARRAY(h->point_velocity, 3 * h->n_points),
                         ARRAY(h->force, 3 * h->n_points), ARRAY(h->change, 3 * (n + ROOT) * s->n_strands),
                         ARRAY(h->natural, 3 * n * s->n_strands), ARRAY(h->node_element, s->n_nodes), ARRAY(h->node_arc, s->n_nodes)));
  PetscCall(rod_body_set_blocks(b, (n + ROOT) * s->n_strands));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode helix_create(rod_body *b, const body_request *r, diagnostics *d)
{
  const rod_body_spec *spec = r->spec;
  const rod_strands   *s    = &b->strands;
  const int64_t        n    = spec->elements == KEY_INT_ABSENT ? s->segment_start[1] : spec->elements;
  double              *length;
  PetscFunctionBegin;
  if (!check_job(b, n, r, d)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(rod_model_super_helix_allocate(b, n));
  PetscCall(memory_alloc("super-helix elements", n, sizeof *length, &length));
  for (int64_t i = 0; i < s->n_strands; ++i) {
    helix_state *h        = b->state;
    b->block_start[i + 1] = b->block_start[i] + n + ROOT;
    PetscCall(create_elements(b, i, length));
    v3_copy(b->q + unknowns_of(b, i), b->x + 3 * s->node_start[i]);
    set_curvatures(b, i);
    set_strand_shape(b, &h->start[i], i, b->q);
    set_rates(b, i, spec->angular_velocity);
    sample_nodes(b, i);
    set_inertia(b, i);
    PetscCall(rod_model_super_helix_couple(b, i));
    for (int k = 0; k < 6; ++k)
      b->is_prescribed[unknowns_of(b, i) + k] = b->end[0].held == ROD_END_CLAMPED || (b->end[0].held == ROD_END_PINNED && k < 3);
  }
  memory_free(&length);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void helix_destroy(rod_body *b)
{
  helix_state *h = b->state;
  for (int64_t i = 0; i < h->n_strands; ++i) {
    if (h->start) super_helix_destroy(&h->start[i]);
    if (h->trial) super_helix_destroy(&h->trial[i]);
    if (h->tangent) super_helix_destroy(&h->tangent[i]);
  }
  MEMORY_FREE(&h->start, &h->trial, &h->tangent, &h->root, &h->point_velocity, &h->force, &h->change, &h->natural, &h->node_element,
              &h->node_arc, &b->state);
}

/* ---- step ------------------------------------------------------------------------------------------------------------------ */

/* Prescribed motion of the root, and the shape at the start of the step. */
static void helix_begin_step(rod_body *b, int64_t strand)
{
  helix_state     *h      = b->state;
  double          *wanted = b->wanted + unknowns_of(b, strand);
  const rod_clamp *clamp  = &b->clamp[2 * strand];
  double           to[4], inverse[4], turn[4];
  set_strand_shape(b, &h->start[strand], strand, b->q);
  set_inertia(b, strand);
  if (b->end[0].held == ROD_END_FREE) return;
  v3_sub(wanted, b->place + 3 * b->strands.node_start[strand], b->q + unknowns_of(b, strand));
  rod_frame_quaternion(to, clamp->tangent, clamp->director);
  quaternion_conjugate(inverse, h->root + 4 * strand);
  quaternion_multiply(turn, to, inverse);
  cayley_inverse(wanted + 3, turn);
  v3_scale(wanted, 1.0 / b->dt, wanted);
  v3_scale(wanted + 3, 1.0 / b->dt, wanted + 3);
}

/* Elastic and damping forces, which are diagonal in the unknowns. */
static void add_elastic(const rod_body *b, int64_t strand, const double *u, double *g)
{
  const helix_state *h       = b->state;
  const int64_t      first   = unknowns_of(b, strand) + 3 * ROOT;
  const double      *natural = h->natural + 3 * h->n * strand;
  double             K[3];
  rod_frame_stiffness(K, &b->section);
  for (int64_t i = 0; i < 3 * h->n; ++i)
    g[first + i] +=
        h->start[strand].length[i / 3] * K[i % 3] * b->dt * (b->trial[first + i] - natural[i] + b->stiffness_damping * u[first + i]);
}

/* Force and moment on the root. Those on the tip are part of super_helix_load. */
static void add_root_load(rod_body *b, int64_t strand, double *g, bool with_tangent)
{
  helix_state  *h      = b->state;
  const int64_t base   = unknowns_of(b, strand);
  const double *moment = b->end[0].moment;
  double        J[9], H[9], load[3];
  v3_axpy(g + base, -b->dt, b->end[0].force);
  cayley_jacobian(J, b->trial + base + 3);
  m3_mulv_t(load, J, moment);
  v3_axpy(g + base + 3, -b->dt, load);
  if (!with_tangent || b->is_definite) return;
  cayley_second(H, b->trial + base + 3, moment);
  m3_axpy(h->tangent[strand].diagonal + 9, -b->dt * b->dt, H);
}

static bool helix_residual(rod_body *b, int64_t strand, const double *u, double *g, bool with_tangent)
{
  helix_state       *h    = b->state;
  super_helix       *now  = with_tangent ? &h->tangent[strand] : &h->trial[strand];
  const super_helix *then = &h->start[strand];
  const double       dt = b->dt, drag = 1.0 + dt * b->mass_damping;
  const int64_t      base = unknowns_of(b, strand), first = 3 * POINTS * h->n * strand;
  double            *f = h->force + first, *change = h->change + base;
  super_helix_load   load = {.f = f};
  set_strand_shape(b, now, strand, b->trial);
  for (int64_t i = 0; i < 3 * POINTS * h->n; ++i)
    f[i] = now->point_mass[i / 3] * (drag * (now->point[i] - then->point[i]) / dt - h->point_velocity[first + i] - dt * b->gravity[i % 3]);
  v3_scale(load.tip, -dt, b->end[1].force);
  v3_scale(load.moment, -dt, b->end[1].moment);
  super_helix_forces(now, &load, g + base);
  for (int64_t i = 0; i < 3 * (h->n + ROOT); ++i) change[i] = drag * u[base + i] - b->u[base + i];
  (void)super_helix_spin(now, 1.0, change, g + base);
  add_elastic(b, strand, u, g);
  if (with_tangent) super_helix_prepare(now, b->trial + base + 3 * ROOT, drag, b->is_definite ? 0.0 : dt, &load);
  add_root_load(b, strand, g, with_tangent);
  return true;
}

/* Contribution of add_elastic to the diagonal, for the unknowns of element e. */
static void elastic_diagonal(const rod_body *b, int64_t strand, int32_t e, double d[3])
{
  const helix_state *h = b->state;
  rod_frame_stiffness(d, &b->section);
  v3_scale(d, h->start[strand].length[e] * b->dt * (b->dt + b->stiffness_damping), d);
}

static void helix_product(const rod_body *b, int64_t strand, const double *x, double *y, bool is_transposed)
{
  const helix_state *h    = b->state;
  const int64_t      base = unknowns_of(b, strand);
  double             d[3];
  super_helix_product(&h->tangent[strand], x + base, y + base, is_transposed);
  for (int32_t e = 0; e < h->n; ++e) {
    const int64_t at = base + 3 * (ROOT + (int64_t)e);
    elastic_diagonal(b, strand, e, d);
    for (int k = 0; k < 3; ++k) y[at + k] += d[k] * x[at + k];
  }
}

static void helix_fill(rod_body *b, int64_t strand)
{
  const helix_state *h     = b->state;
  const int32_t      links = h->n + ROOT;
  double            *to    = b->value + 9 * b->row_start[b->block_start[strand]], d[3];
  for (int32_t row = 0; row < links; ++row)
    for (int32_t col = 0; col < links; ++col, to += 9) {
      super_helix_block(&h->tangent[strand], row, col, to);
      if (row != col || row < ROOT) continue;
      elastic_diagonal(b, strand, row - ROOT, d);
      for (int k = 0; k < 3; ++k) to[4 * k] += d[k];
    }
}

static void helix_end_step(rod_body *b, int64_t strand, const double *u)
{
  helix_state  *h    = b->state;
  const int64_t base = unknowns_of(b, strand), first = 3 * POINTS * h->n * strand, n = 3 * (h->n + ROOT);
  double       *q = b->q + base, turn[4], root[4];
  for (int64_t i = 0; i < n; ++i) b->trial[base + i] = q[i] + b->dt * u[base + i];
  set_strand_shape(b, &h->trial[strand], strand, b->trial);
  for (int64_t i = 0; i < 3 * POINTS * h->n; ++i)
    h->point_velocity[first + i] = (h->trial[strand].point[i] - h->start[strand].point[i]) / b->dt;
  cayley_quaternion(turn, b->trial + base + 3);
  quaternion_multiply(root, turn, h->root + 4 * strand);
  quaternion_normalise(root);
  memcpy(h->root + 4 * strand, root, sizeof root);
  memcpy(q, b->trial + base, (size_t)n * sizeof *q);
  v3_set(q + 3, 0.0, 0.0, 0.0);
  memcpy(b->u + base, u + base, (size_t)n * sizeof *u);
  set_strand_shape(b, &h->start[strand], strand, b->q);
  sample_nodes(b, strand);
}

static void helix_restored(rod_body *b, int64_t strand)
{
  helix_state *h = b->state;
  set_strand_shape(b, &h->start[strand], strand, b->q);
  sample_nodes(b, strand);
}

/* ---- energy, totals, fields ------------------------------------------------------------------------------------------------- */

static double helix_energy(const rod_body *b, int64_t strand)
{
  const helix_state *h     = b->state;
  const double      *kappa = kappa_of(b, strand, b->q), *natural = h->natural + 3 * h->n * strand;
  double             K[3], sum                                   = 0.0;
  rod_frame_stiffness(K, &b->section);
  for (int64_t i = 0; i < 3 * h->n; ++i)
    sum += 0.5 * h->start[strand].length[i / 3] * K[i % 3] * (kappa[i] - natural[i]) * (kappa[i] - natural[i]);
  return sum;
}

/* Sums over the Gauss points, not over the nodes. */
static void helix_totals(const rod_body *b, int64_t strand, const double gravity[3], body_totals *out)
{
  const helix_state *h = b->state;
  const super_helix *s = &h->start[strand];
  const double      *w = h->point_velocity + 3 * POINTS * h->n * strand;
  for (int64_t i = 0; i < POINTS * (int64_t)h->n; ++i) body_totals_add(out, s->point_mass[i], s->point + 3 * i, w + 3 * i, gravity);
  out->kinetic += super_helix_spin(s, 0.0, b->u + unknowns_of(b, strand), NULL);
}

static PetscErrorCode helix_fields(rod_body *b, field_table *table)
{
  helix_state *h = b->state;
  field_group *group;
  PetscFunctionBegin;
  PetscCall(rod_body_add_group(b, "roots", &h->n_strands, table, &group));
  PetscCall(field_table_add(table, group, "orientation", "", FIELD_F64, 4, &h->root, FIELD_CHECKPOINT, "quaternions of the roots' frames"));
  PetscCall(rod_body_add_group(b, "points", &h->n_points, table, &group));
  PetscCall(field_table_add(table, group, "velocity", "m/s", FIELD_F64, 3, &h->point_velocity, FIELD_CHECKPOINT | FIELD_RATE,
                            "velocity of the Gauss points of elements"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static int helix_spot_jacobian(const rod_body *b, const body_contact_location *spot, int32_t *block, double (*J)[9])
{
  const helix_state *h       = b->state;
  const bool         is_node = spot->kind == FEATURE_POINT;
  const int32_t     *node    = is_node ? NULL : b->strands.segment + 2 * spot->index;
  const int64_t      from = is_node ? spot->index : node[0], to = is_node ? spot->index : node[1];
  int64_t            strand = 0;
  if (is_node)
    while (b->strands.node_start[strand + 1] <= from) ++strand;
  else strand = b->strands.strand[spot->index];
  const super_helix *s = &h->start[strand];
  const double       l = s->length[0], a = h->node_element[from] * l + h->node_arc[from], c = h->node_element[to] * l + h->node_arc[to];
  const double       at = is_node ? a : a + spot->w[0] * (c - a);
  const int32_t      e  = (int32_t)fmin(floor(at / l), h->n - 1.0);
  super_helix_point_jacobian(s, kappa_of(b, strand, b->q), e, at - e * l, spot->x, J);
  for (int32_t k = 0; k < e + ROOT + 1; ++k) block[k] = (int32_t)(b->block_start[strand] + k);
  return e + ROOT + 1;
}

const rod_model rod_model_super_helix = {.name              = "super_helix",
                                         .create            = helix_create,
                                         .begin_step        = helix_begin_step,
                                         .residual          = helix_residual,
                                         .product           = helix_product,
                                         .fill              = helix_fill,
                                         .end_step          = helix_end_step,
                                         .restored          = helix_restored,
                                         .energy            = helix_energy,
                                         .totals            = helix_totals,
                                         .fields            = helix_fields,
                                         .location_jacobian = helix_spot_jacobian,
                                         .destroy           = helix_destroy};
