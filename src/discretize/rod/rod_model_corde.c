/* Rod model CORDE: points and quaternions (corde.h). Blocks of a strand alternate: node, segment, node, segment, ... The unknowns
 * are positions, and rotations theta of the segments' frames since the start of the step. The rates of theta are angular
 * velocities in world axes; q of these blocks is zero between steps.
 *
 * A joint connects two frames. A joint between two segments extends over half of each. A joint between a clamp and the adjacent
 * segment extends over half of that segment, so that the clamp prescribes the direction at the end point itself.
 *
 * Stiffness damping resists the change of a strain since the start of the step. Its energy (beta / dt) K / 2 |u - u_start|^2 adds to K / 2 |u -
 * rest|^2; together they are a stiffer spring with another rest strain. Rigid motions are not damped, however fast they rotate. */
#include "core/math3.h"
#include "core/memory.h"
#include "discretize/rod/cayley.h"
#include "discretize/rod/corde.h"
#include "discretize/rod/rod_body.h"
#include <string.h>

typedef struct {
  int64_t n_segments, n_joints;
  double *orientation;   /* [n_segments][4] quaternion; columns of its matrix: tangent, director, and their cross product */
  double *strain, *rest; /* [n_joints][3] at the start of the step, and natural [1/m] */
} corde_state;

/* ---- joints -------------------------------------------------------------------------------------------------------------- */

/* Joint k = 0 ... m of a strand of m segments lies at the start of segment k. */
typedef struct {
  int64_t index, side[2]; /* its number; segments before and after it, -1: a clamp */
  double  length;
} joint;

static bool joint_at(const rod_body *b, int64_t strand, int64_t k, joint *j)
{
  const rod_strands *s     = &b->strands;
  const int64_t      first = s->segment_start[strand], m = s->segment_start[strand + 1] - first;
  *j = (joint){first + strand + k, {first + k - 1, first + k}, 0.0};
  if (s->is_closed) {
    if (k == m) return false;
    if (k == 0) j->side[0] = first + m - 1;
  } else if (k == 0 || k == m) {
    if (b->end[k > 0].held != ROD_END_CLAMPED) return false;
    j->side[k > 0] = -1;
  }
  for (int i = 0; i < 2; ++i)
    if (j->side[i] >= 0) j->length += 0.5 * s->length[j->side[i]];
  return true;
}

static int64_t block_of_segment(const rod_body *b, int64_t segment)
{
  const int64_t strand = b->strands.strand[segment];
  return b->block_start[strand] + 2 * (segment - b->strands.segment_start[strand]) + 1;
}

/* The frames before and after a joint; one of them may be that of the clamp at the end of the step. Signs of quaternions are continuous along a
 * strand. At a clamp, and at the closing joint of a loop (where the sign may flip), the closer of the two signs is used. */
static void joint_frames(const rod_body *b, int64_t strand, const joint *j, double q[2][4])
{
  const corde_state *c = b->state;
  for (int i = 0; i < 2; ++i) {
    const rod_clamp *clamp = &b->clamp[2 * strand + i];
    if (j->side[i] >= 0) memcpy(q[i], c->orientation + 4 * j->side[i], sizeof q[i]);
    else rod_frame_quaternion(q[i], clamp->tangent, clamp->director);
  }
  const bool is_chained = j->side[0] >= 0 && j->side[1] == j->side[0] + 1;
  if (!is_chained && quaternion_dot(q[0], q[1]) < 0.0)
    for (int k = 0; k < 4; ++k) q[1][k] = -q[1][k];
}

static void measure_strains(rod_body *b, int64_t strand, double *strain)
{
  const double  none[3] = {0.0};
  const int64_t m       = b->strands.segment_start[strand + 1] - b->strands.segment_start[strand];
  joint         j;
  double        q[2][4];
  for (int64_t k = 0; k <= m; ++k) {
    if (!joint_at(b, strand, k, &j)) continue;
    joint_frames(b, strand, &j, q);
    corde_curvature(q[0], none, q[1], none, j.length, strain + 3 * j.index);
  }
}

/* ---- creation ------------------------------------------------------------------------------------------------------------ */

/* Natural strains: those of the initial shape, replaced by the job's curvature and twist. A uniform curvature k rotates the frame
 * by |k| l over a length l, which is a strain of (4 / l) tan(|k| l / 4). */
static void set_rest(rod_body *b, int64_t strand)
{
  corde_state  *c = b->state;
  const int64_t m = b->strands.segment_start[strand + 1] - b->strands.segment_start[strand];
  joint         j;
  measure_strains(b, strand, c->rest);
  for (int64_t k = 0; k <= m; ++k) {
    if (!joint_at(b, strand, k, &j)) continue;
    double      *rest  = c->rest + 3 * j.index;
    const double drawn = 0.25 * j.length * v3_norm(rest);
    if (drawn > 0.0) v3_scale(rest, atan(drawn) / drawn, rest); /* curvature */
    rod_frame_natural(rest, &b->natural);
    const double wanted = 0.25 * j.length * v3_norm(rest);
    if (wanted > 0.0) v3_scale(rest, tan(wanted) / wanted, rest);
  }
}

/* Moments of inertia of the mass of a segment along the director and across it [kg m^2]. */
static void spread_of(const rod_body *b, int64_t segment, double c[2])
{
  for (int k = 0; k < 2; ++k) c[k] = b->section.inertia[k] * b->strands.length[segment];
}

static void set_inertia(rod_body *b, int64_t segment)
{
  const corde_state *s  = b->state;
  double            *to = b->inertia + 3 * block_of_segment(b, segment), R[9], c[2];
  quaternion_to_matrix(R, s->orientation + 4 * segment);
  spread_of(b, segment, c);
  for (int k = 0; k < 3; ++k) to[k] = c[0] * (1.0 - R[3 * k + 1] * R[3 * k + 1]) + c[1] * (1.0 - R[3 * k + 2] * R[3 * k + 2]);
}

static PetscErrorCode corde_lay_out(rod_body *b, int64_t strand)
{
  const rod_strands *s     = &b->strands;
  const int64_t      first = s->node_start[strand], n = s->node_start[strand + 1] - first,
                m = s->segment_start[strand + 1] - s->segment_start[strand];
  joint j;
  PetscFunctionBegin;
  b->block_start[strand + 1] = b->block_start[strand] + n + m;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t block      = b->block_start[strand] + 2 * i;
    b->node_block[first + i] = (int32_t)block;
    v3_copy(b->q + 3 * block, b->x + 3 * (first + i));
    v3_copy(b->u + 3 * block, b->v + 3 * (first + i));
    for (int k = 0; k < 3; ++k) b->inertia[3 * block + k] = b->mass[first + i];
    PetscCall(rod_body_couple(b, block, block));
  }
  for (int64_t k = s->segment_start[strand]; k < s->segment_start[strand + 1]; ++k) {
    const int64_t own = block_of_segment(b, k), from = b->node_block[s->segment[2 * k]], to = b->node_block[s->segment[2 * k + 1]];
    PetscCall(rod_body_couple(b, own, own));
    PetscCall(rod_body_couple(b, own, from));
    PetscCall(rod_body_couple(b, own, to));
    PetscCall(rod_body_couple(b, from, to));
  }
  for (int64_t k = 0; k <= m; ++k)
    if (joint_at(b, strand, k, &j) && j.side[0] >= 0 && j.side[1] >= 0)
      PetscCall(rod_body_couple(b, block_of_segment(b, j.side[0]), block_of_segment(b, j.side[1])));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void set_frames(rod_body *b, int64_t strand)
{
  const rod_strands *s = &b->strands;
  corde_state       *c = b->state;
  for (int64_t k = s->segment_start[strand]; k < s->segment_start[strand + 1]; ++k) {
    const int32_t *node = s->segment + 2 * k;
    double         tangent[3], slip[3], *q = c->orientation + 4 * k, *w = b->u + 3 * block_of_segment(b, k);
    v3_sub(tangent, b->x + 3 * (int64_t)node[1], b->x + 3 * (int64_t)node[0]);
    v3_scale(tangent, 1.0 / s->length[k], tangent);
    rod_frame_quaternion(q, tangent, s->director + 3 * k);
    if (k > s->segment_start[strand] && quaternion_dot(q, q - 4) < 0.0)
      for (int i = 0; i < 4; ++i) q[i] = -q[i];
    /* The segment rotates with its nodes, without spin about its axis. */
    v3_sub(slip, b->v + 3 * (int64_t)node[1], b->v + 3 * (int64_t)node[0]);
    v3_cross(w, tangent, slip);
    v3_scale(w, 1.0 / s->length[k], w);
    set_inertia(b, k);
  }
}

static PetscErrorCode corde_create(rod_body *b, const body_request *r, diagnostics *d)
{
  const rod_strands *s = &b->strands;
  corde_state       *c;
  PetscFunctionBegin;
  (void)r;
  (void)d;
  PetscCall(memory_alloc("rod model", 1, sizeof *c, &b->state));
  c             = b->state;
  c->n_segments = s->n_segments;
  c->n_joints   = s->n_segments + s->n_strands;
  PetscCall(MEMORY_ALLOC("rod model corde", ARRAY(c->orientation, 4 * c->n_segments), ARRAY(c->strain, 3 * c->n_joints),
                         ARRAY(c->rest, 3 * c->n_joints), ARRAY(b->node_block, s->n_nodes)));
  PetscCall(rod_body_set_blocks(b, s->n_nodes + s->n_segments));
  for (int64_t i = 0; i < s->n_strands; ++i) {
    PetscCall(corde_lay_out(b, i));
    set_frames(b, i);
    set_rest(b, i);
    measure_strains(b, i, c->strain);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void corde_destroy(rod_body *b)
{
  corde_state *c = b->state;
  MEMORY_FREE(&c->orientation, &c->strain, &c->rest, &b->state);
}

/* ---- step ---------------------------------------------------------------------------------------------------------------- */

/* Add an energy of n blocks: g -= dt f, and dg/du to the matrix; gradient [3 n], hessian [3 n][3 n] or NULL. */
static void add_energy(rod_body *b, int n, const int64_t *block, const double *gradient, const double *hessian, double *g)
{
  const double dt = b->dt;
  for (int p = 0; p < n; ++p) v3_axpy(g + 3 * block[p], dt, gradient + 3 * p);
  for (int p = 0; p < n && hessian; ++p)
    for (int q = 0; q < n; ++q) {
      double *to = rod_body_block(b, block[p], block[q]);
      for (int k = 0; k < 9; ++k) to[k] += dt * dt * hessian[3 * n * (3 * p + k / 3) + 3 * q + k % 3];
    }
}

/* Stretch energy, and the energy that aligns frame and edge. */
static void add_segment(rod_body *b, int64_t k, double *g, bool with_tangent)
{
  const corde_state *c      = b->state;
  const double       length = b->strands.length[k], more = b->stiffness_damping / b->dt;
  const int64_t      own     = block_of_segment(b, k);
  const int64_t      block[] = {b->node_block[b->strands.segment[2 * k]], b->node_block[b->strands.segment[2 * k + 1]], own};
  double             e[3], e0[3], d0[3], stretch[3], S[9], tie[6], T[36], sum[9], H[81];
  const double       axis[3] = {1.0, 0.0, 0.0};
  v3_sub(e, b->trial + 3 * block[1], b->trial + 3 * block[0]);
  v3_sub(e0, b->q + 3 * block[1], b->q + 3 * block[0]);
  quaternion_rotate(d0, c->orientation + 4 * k, axis);
  /* Stiffness K (1 + beta / dt) with a rest length between the natural length and the length at the start of the step. */
  const double rest = (length + more * v3_norm(e0)) / (1.0 + more);
  corde_stretch(e, rest, b->section.stretch * (1.0 + more) * rest / length, b->is_definite, stretch, with_tangent ? S : NULL);
  corde_parallel(e, d0, b->trial + 3 * own, b->section.shear * length, b->is_definite, tie, with_tangent ? T : NULL);
  for (int i = 0; i < 3; ++i) {
    sum[3 + i] = stretch[i] + tie[i];
    sum[i]     = -sum[3 + i];
    sum[6 + i] = tie[3 + i];
  }
  /* Derivatives with respect to (e, theta) become derivatives with respect to the nodes and theta; signs of e. */
  static const double sign[3] = {-1.0, 1.0, 1.0};
  for (int i = 0; i < 81 && with_tangent; ++i) {
    const int p = i / 27, q = i % 9 / 3, row = i / 9 % 3, col = i % 3;
    H[i] = sign[p] * sign[q] * (T[6 * (3 * (p == 2) + row) + 3 * (q == 2) + col] + (p < 2 && q < 2 ? S[3 * row + col] : 0.0));
  }
  add_energy(b, 3, block, sum, with_tangent ? H : NULL, g);
}

static void add_spread(rod_body *b, int64_t k, double *g, bool with_tangent)
{
  const corde_state *s    = b->state;
  const double       drag = 1.0 + b->dt * b->mass_damping;
  const int64_t      own  = block_of_segment(b, k);
  double             R[9], c[2], d0[3], was[3], target[3], gradient[3], H[9];
  quaternion_to_matrix(R, s->orientation + 4 * k);
  spread_of(b, k, c);
  for (int i = 0; i < 2; ++i) {
    v3_set(d0, R[1 + i], R[4 + i], R[7 + i]);
    v3_cross(was, b->u + 3 * own, d0);
    v3_copy(target, d0);
    v3_axpy(target, b->dt / drag, was);
    corde_director(d0, target, b->trial + 3 * own, c[i] * drag, b->is_definite, gradient, with_tangent ? H : NULL);
    v3_axpy(g + 3 * own, 1.0 / b->dt, gradient);
    if (with_tangent) m3_axpy(rod_body_block(b, own, own), 1.0, H);
  }
}

static bool add_joint(rod_body *b, int64_t strand, const joint *j, double *g, bool with_tangent)
{
  const corde_state *c    = b->state;
  const double       more = b->stiffness_damping / b->dt;
  double             q[2][4], theta[2][3] = {{0.0}}, K[3], rest[3], gradient[6], H[36], half[9];
  joint_frames(b, strand, j, q);
  for (int i = 0; i < 2; ++i)
    if (j->side[i] >= 0) v3_copy(theta[i], b->trial + 3 * block_of_segment(b, j->side[i]));
  rod_frame_stiffness(K, &b->section);
  for (int k = 0; k < 3; ++k) {
    rest[k] = (c->rest[3 * j->index + k] + more * c->strain[3 * j->index + k]) / (1.0 + more);
    K[k] *= 1.0 + more;
  }
  const double energy = corde_bend(q[0], theta[0], q[1], theta[1], j->length, K, rest, b->is_definite, gradient, with_tangent ? H : NULL);
  if (!isfinite(energy)) return false;
  if (j->side[0] >= 0 && j->side[1] >= 0) {
    const int64_t block[] = {block_of_segment(b, j->side[0]), block_of_segment(b, j->side[1])};
    add_energy(b, 2, block, gradient, with_tangent ? H : NULL, g);
  } else {
    const int     i     = j->side[1] >= 0;
    const int64_t block = block_of_segment(b, j->side[i]);
    for (int k = 0; k < 9 && with_tangent; ++k) half[k] = H[6 * (3 * i + k / 3) + 3 * i + k % 3];
    add_energy(b, 1, &block, gradient + 3 * i, with_tangent ? half : NULL, g);
  }
  return true;
}

/* Forces and moments on the ends. A moment that is constant in space has no potential; its contribution to the tangent is not symmetric. */
static void add_loads(rod_body *b, int64_t strand, double *g, bool with_tangent)
{
  const rod_strands *s = &b->strands;
  for (int k = 0; k < 2 && !s->is_closed; ++k) {
    const int64_t node    = k == 0 ? s->node_start[strand] : s->node_start[strand + 1] - 1;
    const int64_t segment = k == 0 ? s->segment_start[strand] : s->segment_start[strand + 1] - 1, own = block_of_segment(b, segment);
    const double *moment = b->end[k].moment;
    double        J[9], H[9], load[3];
    v3_axpy(g + 3 * (int64_t)b->node_block[node], -b->dt, b->end[k].force);
    if (!(v3_norm(moment) > 0.0)) continue;
    cayley_jacobian(J, b->trial + 3 * own);
    m3_mulv_t(load, J, moment);
    v3_axpy(g + 3 * own, -b->dt, load);
    if (!with_tangent || b->is_definite) continue;
    cayley_second(H, b->trial + 3 * own, moment);
    m3_axpy(rod_body_block(b, own, own), -b->dt * b->dt, H);
  }
}

static bool corde_residual(rod_body *b, int64_t strand, const double *u, double *g, bool with_tangent)
{
  const rod_strands *s    = &b->strands;
  const double       drag = 1.0 + b->dt * b->mass_damping;
  const int64_t      m    = s->segment_start[strand + 1] - s->segment_start[strand];
  joint              j;
  for (int64_t i = s->node_start[strand]; i < s->node_start[strand + 1]; ++i) {
    const int64_t block = b->node_block[i];
    for (int k = 0; k < 3; ++k) g[3 * block + k] += b->mass[i] * (drag * u[3 * block + k] - b->u[3 * block + k] - b->dt * b->gravity[k]);
    if (!with_tangent) continue;
    double *to = rod_body_block(b, block, block);
    for (int k = 0; k < 9; k += 4) to[k] += b->mass[i] * drag;
  }
  for (int64_t k = s->segment_start[strand]; k < s->segment_start[strand + 1]; ++k) {
    add_segment(b, k, g, with_tangent);
    add_spread(b, k, g, with_tangent);
  }
  for (int64_t k = 0; k <= m; ++k)
    if (joint_at(b, strand, k, &j) && !add_joint(b, strand, &j, g, with_tangent)) return false;
  add_loads(b, strand, g, with_tangent);
  return true;
}

static void corde_end_step(rod_body *b, int64_t strand, const double *u)
{
  const rod_strands *s = &b->strands;
  corde_state       *c = b->state;
  for (int64_t i = s->node_start[strand]; i < s->node_start[strand + 1]; ++i) {
    const int64_t block = b->node_block[i];
    v3_axpy(b->q + 3 * block, b->dt, u + 3 * block);
    v3_copy(b->x + 3 * i, b->q + 3 * block);
    v3_copy(b->v + 3 * i, u + 3 * block);
  }
  for (int64_t k = s->segment_start[strand]; k < s->segment_start[strand + 1]; ++k) {
    double theta[3], turn[4], q[4];
    v3_scale(theta, b->dt, u + 3 * block_of_segment(b, k));
    cayley_quaternion(turn, theta);
    quaternion_multiply(q, turn, c->orientation + 4 * k);
    quaternion_normalise(q);
    memcpy(c->orientation + 4 * k, q, sizeof q);
    set_inertia(b, k);
  }
  memcpy(b->u + 3 * b->block_start[strand], u + 3 * b->block_start[strand],
         (size_t)(3 * (b->block_start[strand + 1] - b->block_start[strand])) * sizeof *u);
  measure_strains(b, strand, c->strain);
}

static void corde_restored(rod_body *b, int64_t strand)
{
  const rod_strands *s = &b->strands;
  for (int64_t i = s->node_start[strand]; i < s->node_start[strand + 1]; ++i) {
    v3_copy(b->x + 3 * i, b->q + 3 * (int64_t)b->node_block[i]);
    v3_copy(b->v + 3 * i, b->u + 3 * (int64_t)b->node_block[i]);
  }
  for (int64_t k = s->segment_start[strand]; k < s->segment_start[strand + 1]; ++k) set_inertia(b, k);
}

/* ---- energy, totals, fields ------------------------------------------------------------------------------------------------- */

static double corde_energy(const rod_body *b, int64_t strand)
{
  const rod_strands *s       = &b->strands;
  const corde_state *c       = b->state;
  const double       axis[3] = {1.0, 0.0, 0.0}, none[3] = {0.0};
  const int64_t      m   = s->segment_start[strand + 1] - s->segment_start[strand];
  double             sum = 0.0, e[3], d0[3], K[3];
  joint              j;
  for (int64_t k = s->segment_start[strand]; k < s->segment_start[strand + 1]; ++k) {
    v3_sub(e, b->x + 3 * (int64_t)s->segment[2 * k + 1], b->x + 3 * (int64_t)s->segment[2 * k]);
    quaternion_rotate(d0, c->orientation + 4 * k, axis);
    sum += corde_stretch(e, s->length[k], b->section.stretch, false, NULL, NULL);
    sum += corde_parallel(e, d0, none, b->section.shear * s->length[k], false, NULL, NULL);
  }
  rod_frame_stiffness(K, &b->section);
  for (int64_t k = 0; k <= m; ++k) {
    if (!joint_at(b, strand, k, &j)) continue;
    for (int i = 0; i < 3; ++i) {
      const double off = c->strain[3 * j.index + i] - c->rest[3 * j.index + i];
      sum += 0.5 * j.length * K[i] * off * off;
    }
  }
  return sum;
}

static void corde_spin(const rod_body *b, int64_t strand, body_totals *out)
{
  const rod_strands *s     = &b->strands;
  const corde_state *state = b->state;
  for (int64_t k = s->segment_start[strand]; k < s->segment_start[strand + 1]; ++k) {
    double R[9], c[2], d[3], v[3], moment[3];
    quaternion_to_matrix(R, state->orientation + 4 * k);
    spread_of(b, k, c);
    for (int i = 0; i < 2; ++i) {
      v3_set(d, R[1 + i], R[4 + i], R[7 + i]);
      v3_cross(v, b->u + 3 * block_of_segment(b, k), d);
      v3_cross(moment, d, v);
      out->kinetic += 0.5 * c[i] * v3_dot(v, v);
      v3_axpy(out->angular_momentum, c[i], moment);
    }
  }
}

static PetscErrorCode corde_fields(rod_body *b, field_table *table)
{
  corde_state *c = b->state;
  field_group *group;
  PetscFunctionBegin;
  PetscCall(rod_body_add_group(b, "segments", &c->n_segments, table, &group));
  PetscCall(field_table_add(table, group, "orientation", "", FIELD_F64, 4, &c->orientation, FIELD_CHECKPOINT,
                            "quaternions of the segments' frames"));
  PetscCall(rod_body_add_group(b, "joints", &c->n_joints, table, &group));
  PetscCall(
      field_table_add(table, group, "strain", "1/m", FIELD_F64, 3, &c->strain, FIELD_CHECKPOINT, "twist and curvatures between frames"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A point off the axis of a segment translates with the axis and rotates with the frame. */
static int corde_spot_jacobian(const rod_body *b, const body_contact_location *spot, int32_t *block, double (*J)[9])
{
  if (spot->kind == FEATURE_POINT) {
    block[0] = b->node_block[spot->index];
    m3_identity(J[0]);
    return 1;
  }
  const int32_t *node = b->strands.segment + 2 * spot->index;
  const double   w[2] = {1.0 - spot->w[0], spot->w[0]};
  double         arm[3];
  v3_copy(arm, spot->x);
  for (int k = 0; k < 2; ++k) {
    block[k] = b->node_block[node[k]];
    m3_zero(J[k]);
    for (int i = 0; i < 9; i += 4) J[k][i] = w[k];
    v3_axpy(arm, -w[k], b->x + 3 * (int64_t)node[k]);
  }
  block[2] = (int32_t)block_of_segment(b, spot->index);
  m3_skew(J[2], arm);
  for (int i = 0; i < 9; ++i) J[2][i] = -J[2][i]; /* omega x arm */
  return 3;
}

const rod_model rod_model_corde = {.name              = "corde",
                                   .create            = corde_create,
                                   .residual          = corde_residual,
                                   .end_step          = corde_end_step,
                                   .restored          = corde_restored,
                                   .energy            = corde_energy,
                                   .spin              = corde_spin,
                                   .fields            = corde_fields,
                                   .location_jacobian = corde_spot_jacobian,
                                   .destroy           = corde_destroy};
