/* Penalty springs on contact rows, see penalty_rows.h: detection, sums over the blocks of the global vector, report, state. */
#include "contact/penalty/penalty_rows.h"
#include "contact/detection/contact_keys.h"
#include "contact/detection/contact_search.h"
#include "contact/detection/convex_contact.h"
#include "contact/detection/obstacle_edges.h"
#include "contact/penalty/penalty_row_law.h"
#include "contact/rows/contact_jacobian.h"
#include "core/math3.h"
#include "core/memory.h"
#include <string.h>

/* Contacts with force at the end of the last step, ascending by key (state). */
typedef struct {
  int64_t   n, capacity;
  uint64_t *key;        /* [n][2] as in contact_spot */
  double   *elongation; /* [n][3] in the frame of the second body [m] */
  double   *position;   /* [n][3] in the frame of the second body [m] */
  double   *speed;      /* [n] approach speed, see restitution.h [m/s] */
} spring_memory;

struct penalty_rows {
  int                  n_bodies;
  body               **body;
  int32_t             *frame;
  const pair_classes  *pairs;
  contact_law         *law;   /* [n_slots]; never_touch of pairs without contact here */
  const contact_rests *rests; /* borrowed; NULL: none */
  contact_scheme       scheme;
  double               acceleration;
  convex_contact      *convex;
  obstacle_edges      *edges;
  spring_memory        known;

  /* Data of one step. */
  rows_step        step;
  contact_set     *set;
  contact_jacobian rows;
  int64_t          capacity;
  row_spring      *spring; /* [n] */
  double          *work;   /* [n][3] */
  /* Entries of the rows by block: entry[touched_start[t] ...] of block touched[t], ascending by contact. */
  int64_t  n_touched, touched_capacity, entry_capacity;
  int32_t *touched, *entry_contact; /* [n_touched], [n_entries] contact of each entry of `rows` */
  int64_t *touched_start, *entry;   /* [n_touched + 1], [n_entries] */

  /* Results of the last residual. */
  row_force *force; /* [n] */
  double    *u;     /* [n][3] relative velocity in the contact frame */
  double    *K;     /* [n][9] of the last residual with tangent */
};

/* ---- creation -------------------------------------------------------------------------------------------------------- */

PetscErrorCode penalty_rows_create(int n_bodies, body *const *bodies, const int32_t *frame, const pair_classes *pairs,
                                   const contact_law *law, bool uses_solids, const triangle_mesh *const *surface, penalty_rows **out)
{
  penalty_rows *r;
  const int64_t n = n_bodies, n_slots = pair_n_slots(pairs, n);
  PetscFunctionBeginUser;
  PetscCall(memory_alloc("penalty rows", 1, sizeof *r, &r));
  *out            = r;
  r->n_bodies     = n_bodies;
  r->pairs        = pairs;
  r->acceleration = 9.81;
  PetscCheck(n_bodies < CONTACT_MAX_BODIES, PETSC_COMM_SELF, PETSC_ERR_SUP, "%d bodies exceed the range of contact keys", n_bodies);
  PetscCall(MEMORY_ALLOC("penalty rows", ARRAY(r->body, n), ARRAY(r->frame, n), ARRAY(r->law, n_slots)));
  for (int64_t i = 0; i < n; ++i) r->body[i] = bodies[i], r->frame[i] = frame[i];
  for (int64_t i = 0; i < n_slots; ++i) {
    r->law[i] = law[i];
    r->law[i].never_touch |= !uses_solids || !(law[i].stiffness > 0.0);
  }
  PetscCall(convex_contact_create(n_bodies, r->body, &r->convex));
  PetscCall(obstacle_edges_create(n_bodies, r->body, surface, &r->edges));
  PetscCall(contact_set_create(&r->set));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void penalty_rows_destroy(penalty_rows **out)
{
  if (!out || !*out) return;
  penalty_rows *r = *out;
  convex_contact_destroy(&r->convex);
  obstacle_edges_destroy(&r->edges);
  contact_set_destroy(&r->set);
  contact_jacobian_destroy(&r->rows);
  MEMORY_FREE(&r->known.key, &r->known.elongation, &r->known.position, &r->known.speed);
  MEMORY_FREE(&r->body, &r->frame, &r->law, &r->spring, &r->work, &r->touched, &r->touched_start, &r->entry, &r->entry_contact, &r->force,
              &r->u, &r->K, out);
}

void penalty_rows_set_scheme(penalty_rows *r, contact_scheme scheme) { r->scheme = scheme; }
void penalty_rows_set_acceleration(penalty_rows *r, double g0) { r->acceleration = g0; }
void penalty_rows_set_rests(penalty_rows *r, const contact_rests *rests) { r->rests = rests; }

int64_t penalty_rows_size(const penalty_rows *r) { return r->rows.n; }

/* ---- state ----------------------------------------------------------------------------------------------------------- */

/* The vanished contact of the same bodies that is closest to x [3], in the frame of the second body; -1: none. */
static int64_t nearest_vanished(const spring_memory *m, const contact_set *set, const uint64_t key[2], const double x[3])
{
  const uint64_t first[2] = {key[0], 0};
  double         least    = INFINITY, d[3];
  int64_t        nearest  = -1;
  for (int64_t i = contact_keys_lower_bound(m->n, m->key, first); i < m->n && m->key[2 * i] == key[0]; ++i) {
    v3_sub(d, m->position + 3 * i, x);
    if (v3_dot(d, d) >= least || contact_set_has(set, m->key + 2 * i)) continue;
    least   = v3_dot(d, d);
    nearest = i;
  }
  return nearest;
}

static PetscErrorCode resize_memory(void *context, int64_t n)
{
  spring_memory *m = context;
  PetscFunctionBegin;
  PetscCall(MEMORY_RESERVE("contact springs", n, &m->capacity, ARRAY(m->key, 2), ARRAY(m->elongation, 3), ARRAY(m->position, 3),
                           ARRAY(m->speed, 1)));
  m->n = n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Checkpoint files are untrusted: the keys must be in order for the binary search. */
static PetscErrorCode check_memory(void *context)
{
  const spring_memory *m = context;
  PetscFunctionBegin;
  for (int64_t i = 0; i < m->n; ++i) {
    PetscCheck(isfinite(v3_norm(m->elongation + 3 * i)) && isfinite(v3_norm(m->position + 3 * i)) && isfinite(m->speed[i]), PETSC_COMM_SELF,
               PETSC_ERR_FILE_UNEXPECTED, "contact/springs: row %lld is not finite", (long long)i);
  }
  PetscCall(contact_keys_check("contact/springs", m->n, m->key));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode penalty_rows_fields(penalty_rows *r, field_table *table)
{
  spring_memory *m = &r->known;
  field_group   *group;
  PetscFunctionBeginUser;
  PetscCall(contact_keys_add_group(table, "contact/springs", &m->n, &m->key, m, resize_memory, check_memory, &group));
  PetscCall(field_table_add(table, group, "elongation", "m", FIELD_F64, 3, &m->elongation, FIELD_CHECKPOINT,
                            "elongation of the friction spring in the frame of the second body"));
  PetscCall(field_table_add(table, group, "position", "m", FIELD_F64, 3, &m->position, FIELD_CHECKPOINT,
                            "contact point in the frame of the second body"));
  PetscCall(field_table_add(table, group, "speed", "m/s", FIELD_F64, 1, &m->speed, FIELD_CHECKPOINT | FIELD_RATE,
                            "largest approach speed so far; 0 without restitution"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- begin of a step ------------------------------------------------------------------------------------------------- */

static const rigid_frame *frame_of(const penalty_rows *r, const rigid_frame *frames, int32_t i_body)
{
  static const rigid_frame world = {.R = {1, 0, 0, 0, 1, 0, 0, 0, 1}};
  return r->frame[i_body] >= 0 ? &frames[r->frame[i_body]] : &world;
}

/* Elongation e0 in the contact frame E of the stored vector [3]. Its tangential part keeps the length, unless the normal has turned by more than 60
 * degrees: the normal of a rolling body rotates in every step, its friction spring must not shorten. */
static void transport_elongation(const double *stored, const rigid_frame *b, const double *E, double *e0)
{
  double e[3];
  m3_mulv(e, b->R, stored);
  m3_mulv(e0, E, e);
  e0[0]               = 0.0;
  const double length = v3_norm(e), kept = v3_norm(e0);
  if (kept > 0.5 * length) v3_scale(e0, length / kept, e0);
}

static void prepare_spring(penalty_rows *r, const contact_scene *scene, int64_t i)
{
  const contact_spot *spot = contact_set_get(r->set) + i;
  const contact_law  *law  = contact_scene_law(scene, spot->body_a, spot->body_b);
  const double       *E    = r->rows.frame + 9 * i;
  const rigid_frame  *b    = frame_of(r, scene->frames, spot->body_b);
  row_spring         *s    = &r->spring[i];
  *s                       = (row_spring){.k      = law->stiffness,
                                          .gap    = spot->gap + contact_rest_depth(r->rests, spot->body_a, spot->body_b),
                                          .scheme = r->scheme,
                                          .dt     = scene->dt,
                                          .v_rest = r->acceleration * scene->dt,
                                          .cone   = {.mu = law->friction, .mu_across = law->friction_across},
                                          .bounce = {.damping = law->damping}};
  if (law->friction_across > 0.0) {
    const bool         is_first = !contact_scene_moves(scene, spot->body_a);
    const rigid_frame *surface  = is_first ? frame_of(r, scene->frames, spot->body_a) : b;
    double             world[3];
    m3_mulv(world, surface->R, law->direction);
    m3_mulv(s->cone.direction, E, world);
  }
  int64_t at = contact_keys_find(r->known.n, r->known.key, spot->key);
  if (at >= 0) s->bounce.speed = r->known.speed[at];
  else if (s->gap < 0.0) {
    double x[3];
    rigid_frame_to_local(b, spot->b.x, x);
    at = nearest_vanished(&r->known, r->set, spot->key, x);
  }
  if (at >= 0) transport_elongation(r->known.elongation + 3 * at, b, E, s->e0);
  s->is_new = at < 0;
  s->enters = at < 0 && s->gap > 0.0;
  row_spring_start(s, !s->enters);
}

/* List the entries of the rows by block. */
static PetscErrorCode list_touched(penalty_rows *r)
{
  const contact_jacobian *j = &r->rows;
  int64_t                *count;
  PetscFunctionBegin;
  PetscCall(MEMORY_RESERVE("penalty rows", j->n_entries, &r->entry_capacity, ARRAY(r->entry, 1), ARRAY(r->entry_contact, 1)));
  PetscCall(memory_alloc("penalty rows", r->step.n_blocks + 1, sizeof *count, &count));
  r->n_touched = 0;
  for (int64_t e = 0; e < j->n_entries; ++e) r->n_touched += count[j->block[e]]++ == 0;
  PetscErrorCode code =
      MEMORY_RESERVE("penalty rows", r->n_touched + 1, &r->touched_capacity, ARRAY(r->touched, 1), ARRAY(r->touched_start, 1));
  if (!code) {
    int64_t t = 0, at = 0;
    for (int64_t b = 0; b < r->step.n_blocks; ++b) { /* count becomes the position of the next entry */
      const int64_t n = count[b];
      if (n == 0) continue;
      r->touched[t]         = (int32_t)b;
      r->touched_start[t++] = at;
      count[b]              = at;
      at += n;
    }
    r->touched_start[t] = at;
    for (int64_t i = 0; i < j->n; ++i)
      for (int64_t e = j->start[i]; e < j->start[i + 1]; ++e) r->entry_contact[e] = (int32_t)i, r->entry[count[j->block[e]]++] = e;
  }
  memory_free(&count);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode penalty_rows_begin(penalty_rows *r, const rows_step *step)
{
  PetscFunctionBeginUser;
  r->step                   = *step;
  const contact_scene scene = {.n_bodies = r->n_bodies,
                               .body     = r->body,
                               .frame    = r->frame,
                               .frames   = step->frames,
                               .end      = step->end,
                               .law      = r->law,
                               .pairs    = r->pairs,
                               .dt       = step->dt,
                               .gravity  = {step->gravity[0], step->gravity[1], step->gravity[2]},
                               .margin   = step->margin,
                               .length   = step->length};
  contact_set_clear(r->set);
  PetscCall(convex_contact_find(r->convex, &scene, r->set));
  PetscCall(obstacle_edges_find(r->edges, &scene, r->set));
  PetscCall(contact_set_sort(r->set));
  const int64_t n = contact_set_size(r->set);
  PetscCheck(n < INT32_MAX, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "%lld contacts; at most %d are supported: choose a coarser spacing of particles or surface points", (long long)n,
             INT32_MAX - 1);
  PetscCall(contact_jacobian_build(&r->rows, &scene, n, contact_set_get(r->set)));
  PetscCall(MEMORY_RESERVE("penalty rows", n, &r->capacity, ARRAY(r->spring, 1), ARRAY(r->work, 3), ARRAY(r->force, 1), ARRAY(r->u, 3),
                           ARRAY(r->K, 9)));
#pragma omp parallel for schedule(static) if (n > CONTACT_SERIAL)
  for (int64_t i = 0; i < n; ++i) {
    prepare_spring(r, &scene, i);
    m3_zero(r->K + 9 * i);
  }
  PetscCall(list_touched(r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- residual and tangent -------------------------------------------------------------------------------------------- */

/* y += scale sum E^T r over the entries of each block, r [n][3]. */
static void scatter_rows(const penalty_rows *r, double scale, const double *from, double *y)
{
  const contact_jacobian *j = &r->rows;
#pragma omp parallel for schedule(static) if (j->n > CONTACT_SERIAL)
  for (int64_t t = 0; t < r->n_touched; ++t) {
    double sum[3] = {0.0, 0.0, 0.0}, term[3];
    for (int64_t q = r->touched_start[t]; q < r->touched_start[t + 1]; ++q) {
      const int64_t e = r->entry[q];
      m3_mulv_t(term, j->value + 9 * e, from + 3 * (int64_t)r->entry_contact[e]);
      v3_axpy(sum, 1.0, term);
    }
    v3_axpy(y + 3 * (int64_t)r->touched[t], scale, sum);
  }
}

/* Evaluate all contacts. Returns the first contact with a value that is not finite, or the number of contacts. */
static int64_t evaluate_rows(penalty_rows *r, const double *v, bool with_tangent)
{
  const int64_t n     = r->rows.n;
  int64_t       first = n;
  contact_jacobian_velocity(&r->rows, v, r->u);
#pragma omp parallel for schedule(static) if (n > CONTACT_SERIAL) reduction(min : first)
  for (int64_t i = 0; i < n; ++i) {
    double x[3];
    v3_scale(x, r->step.dt, r->u + 3 * i);
    row_spring_evaluate(&r->spring[i], x, &r->force[i], with_tangent ? r->K + 9 * i : NULL);
    v3_copy(r->work + 3 * i, r->force[i].f);
    if (!isfinite(v3_norm(r->force[i].f)) && i < first) first = i;
  }
  return first;
}

PetscErrorCode penalty_rows_residual(penalty_rows *r, const double *v, double *g, bool with_tangent, const char **bad)
{
  PetscFunctionBeginUser;
  const int64_t first = evaluate_rows(r, v, with_tangent);
  *bad                = first < r->rows.n ? r->body[contact_set_get(r->set)[first].body_a]->name : NULL;
  if (!*bad) scatter_rows(r, -r->step.dt, r->work, g);
  PetscFunctionReturn(PETSC_SUCCESS);
}

const contact_jacobian *penalty_rows_coulomb(const penalty_rows *r, double *shift, double *compliance, double *entry, double *mu,
                                             double *impulse)
{
  for (int64_t i = 0; i < r->rows.n; ++i) {
    const row_spring *s = &r->spring[i];
    v3_scale(shift + 3 * i, 1.0 / s->dt, s->e0);
    shift[3 * i]      = s->gap / s->dt;
    compliance[2 * i] = compliance[2 * i + 1] = 1.0 / (s->k * s->dt * s->dt);
    entry[i]                                  = s->enters ? s->gap / s->dt : 0.0;
    mu[i]                                     = s->cone.mu;
    v3_scale(impulse + 3 * i, -s->k * s->dt, s->e0);
    impulse[3 * i] = s->k * s->dt * fmax(0.0, -s->gap);
  }
  return &r->rows;
}

void penalty_rows_evaluate(penalty_rows *r, const double *v) { (void)evaluate_rows(r, v, false); }

void penalty_rows_tangent(const penalty_rows *r, const double *x, double *y, bool is_transposed)
{
  const contact_jacobian *j = &r->rows;
  const int64_t           n = j->n;
#pragma omp parallel for schedule(static) if (n > CONTACT_SERIAL)
  for (int64_t i = 0; i < n; ++i) {
    double u[3] = {0.0, 0.0, 0.0}, term[3];
    for (int64_t e = j->start[i]; e < j->start[i + 1]; ++e) {
      m3_mulv(term, j->value + 9 * e, x + 3 * (int64_t)j->block[e]);
      v3_axpy(u, 1.0, term);
    }
    if (is_transposed) m3_mulv_t(r->work + 3 * i, r->K + 9 * i, u);
    else m3_mulv(r->work + 3 * i, r->K + 9 * i, u);
  }
  scatter_rows(r, r->step.dt * r->step.dt, r->work, y);
}

/* to += dt^2 E_e^T K E_other for two entries of one contact. */
static void add_block(const penalty_rows *r, int64_t e, int64_t other, double *to)
{
  const double *E = r->rows.value;
  double        KE[9], B[9];
  m3_mul(KE, r->K + 9 * (int64_t)r->entry_contact[e], E + 9 * other);
  m3_mul_tn(B, E + 9 * e, KE);
  m3_axpy(to, r->step.dt * r->step.dt, B);
}

void penalty_rows_block_diagonal(const penalty_rows *r, double *d)
{
#pragma omp parallel for schedule(static) if (r->rows.n > CONTACT_SERIAL)
  for (int64_t t = 0; t < r->n_touched; ++t)
    for (int64_t q = r->touched_start[t]; q < r->touched_start[t + 1]; ++q)
      add_block(r, r->entry[q], r->entry[q], d + 9 * (int64_t)r->touched[t]);
}

PetscErrorCode penalty_rows_couplings(const penalty_rows *r, int64_t *n, int32_t **row, int32_t **col)
{
  const contact_jacobian *j    = &r->rows;
  int64_t                 more = 0;
  PetscFunctionBeginUser;
  for (int64_t i = 0; i < j->n; ++i) more += (j->start[i + 1] - j->start[i]) * (j->start[i + 1] - j->start[i]);
  PetscCall(MEMORY_RESIZE("contact couplings", ARRAY(*row, *n + more), ARRAY(*col, *n + more)));
  for (int64_t i = 0; i < j->n; ++i)
    for (int64_t e = j->start[i]; e < j->start[i + 1]; ++e)
      for (int64_t f = j->start[i]; f < j->start[i + 1]; ++f) (*row)[*n] = j->block[e], (*col)[(*n)++] = j->block[f];
  PetscFunctionReturn(PETSC_SUCCESS);
}

void penalty_rows_assemble(const penalty_rows *r, const block_rows *H)
{
  const contact_jacobian *j = &r->rows;
#pragma omp parallel for schedule(dynamic, 16) if (j->n > CONTACT_SERIAL)
  for (int64_t t = 0; t < r->n_touched; ++t)
    for (int64_t q = r->touched_start[t]; q < r->touched_start[t + 1]; ++q) {
      const int64_t e = r->entry[q], i = r->entry_contact[e];
      for (int64_t f = j->start[i]; f < j->start[i + 1]; ++f) add_block(r, e, f, block_rows_at(H, r->touched[t], j->block[f]));
    }
}

/* ---- end of a step --------------------------------------------------------------------------------------------------- */

/* Contact point at the end of the step, moved with the second body. */
static void end_position(const penalty_rows *r, const contact_spot *spot, const rigid_frame *end, double local[3], double x[3])
{
  rigid_frame_to_local(frame_of(r, r->step.frames, spot->body_b), spot->b.x, local);
  rigid_frame_to_world(frame_of(r, end, spot->body_b), local, x);
}

static bool has_force(const row_force *f) { return f->is_active || v3_dot(f->f, f->f) > 0.0; }

/* Difference of the force of contact i from the law at the end of the step [N]; it is 0 up to round-off for CONTACT_IMPLICIT. */
static double law_error(const row_spring *s, const row_force *f)
{
  double miss[3];
  for (int k = 0; k < 3; ++k) miss[k] = f->f[k] + s->k * f->gain * f->e[k];
  miss[0] -= s->k * f->gain * fmax(0.0, f->depth);
  return v3_norm(miss);
}

/* Angle between friction and the direction opposite to the velocity u_T at the end of the step; 0 without friction or motion. */
static double velocity_angle(const row_force *f, const double *u, double dt)
{
  const double f_T = hypot(f->f[1], f->f[2]), u_T = hypot(u[1], u[2]);
  if (f_T <= 1e-12 * v3_norm(f->f) || u_T * dt <= 1e-9) return 0.0;
  return atan2(fabs(f->f[1] * u[2] - f->f[2] * u[1]), -(f->f[1] * u[1] + f->f[2] * u[2]));
}

PetscErrorCode penalty_rows_report(const penalty_rows *r, const rigid_frame *end, contact_points *points, contact_forces *forces,
                                   int64_t *p, contact_summary *sum, double *max_f_n, double *max_excess)
{
  static const double  normal[3] = {1.0, 0.0, 0.0};
  contact_group_force *group     = NULL;
  PetscFunctionBeginUser;
  for (int64_t i = 0; i < r->rows.n; ++i) {
    const contact_spot *spot    = contact_set_get(r->set) + i;
    const row_spring   *s       = &r->spring[i];
    const row_force    *law     = &r->force[i];
    double             *f       = points->force + 3 * *p, local[3];
    const double        f_T[3]  = {0.0, law->f[1], law->f[2]};
    const double        shorter = contact_rest_reduction(r->rests, spot->body_a, spot->body_b);
    if (s->is_new) sum->start_energy += contact_spring_energy(s->k, s->gap);
    sum->correction_work += contact_spring_energy(s->k, s->gap) - contact_spring_energy(s->k, s->gap + shorter);
    if (!has_force(law)) continue;
    end_position(r, spot, end, local, points->position + 3 * *p);
    m3_mulv_t(f, r->rows.frame + 9 * i, law->f);
    v3_copy(points->normal + 3 * *p, spot->normal);
    points->gap[*p]         = -law->depth;
    points->source_body[*p] = spot->body_a;
    points->object_body[*p] = spot->body_b;
    points->is_sliding[*p]  = law->is_sliding;
    sum->sliding += law->is_sliding;
    sum->contact_energy += 0.5 * s->k * (fmax(0.0, law->depth) * law->depth + v3_dot(law->e, law->e));
    sum->friction_work_done -= v3_dot(f_T, law->slip);
    sum->penetration       = fmax(sum->penetration, law->depth);
    sum->contact_law_error = fmax(sum->contact_law_error, law_error(s, law));
    if (law->is_sliding) sum->friction_angle_error = fmax(sum->friction_angle_error, velocity_angle(law, r->u + 3 * i, r->step.dt));
    *max_f_n    = fmax(*max_f_n, law->f[0]);
    *max_excess = fmax(*max_excess, relax_cone_length(&s->cone, normal, f_T) - s->cone.mu * law->f[0]);
    if (!group || group->source_body != spot->body_a || group->object_body != spot->body_b) /* sorted by bodies */
      PetscCall(contact_forces_open(forces, spot->body_a, spot->body_b, &group));
    contact_group_add(group, spot->a.x, f);
    ++*p;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode penalty_rows_end(penalty_rows *r, const rigid_frame *end)
{
  spring_memory *m = &r->known;
  PetscFunctionBeginUser;
  PetscCall(resize_memory(m, r->rows.n));
  m->n = 0;
  for (int64_t i = 0; i < r->rows.n; ++i) {
    const contact_spot *spot = contact_set_get(r->set) + i;
    const row_force    *law  = &r->force[i];
    const rigid_frame  *b    = frame_of(r, end, spot->body_b);
    double              e[3], x[3];
    if (!law->is_active) continue;
    restitution bounce = r->spring[i].bounce;
    bounce.rate        = law->rate;
    memcpy(m->key + 2 * m->n, spot->key, sizeof spot->key);
    m3_mulv_t(e, r->rows.frame + 9 * i, law->e);
    m3_mulv_t(m->elongation + 3 * m->n, b->R, e);
    end_position(r, spot, end, m->position + 3 * m->n, x);
    m->speed[m->n++] = restitution_speed(&bounce);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
