#include "sim/measure/measure.h"
#include <string.h>
#include <stdlib.h>
#include "core/math3.h"
#include "core/memory.h"
#include "core/quaternion.h"
#include "discretize/fem/tetrahedra.h"
#include "discretize/fem/tetrahedra_error.h"
#include "discretize/mpm/mpm_body.h"
#include "discretize/nodal/nodal_body.h"
#include "discretize/rigid/rigid_body.h"
#include "io/history.h"
#include "sim/measure/flank.h"
#include "sim/measure/patch.h"
#include "sim/scene/scene.h"

#define QUANTITY_TABLE(X)                                                                             \
  X(position, "m", "centre of mass")                                                                  \
  X(velocity, "m/s", "velocity of the centre of mass: momentum / mass")                               \
  X(point, "m", "where the point of a rigid body now is that was at `point` when the run began; of a body made of nodes: of the node " \
                   "that was closest to it")                                                          \
  X(stress, "Pa", "in a body of kind fem: normal stress along `direction`, positive where pulled, around the node that was closest to `point` when the " \
                "run began")                                                                              \
  X(angular_velocity, "rad/s", "of a rigid body")                                                     \
  X(angular_momentum, "N m s", "about the origin; of all bodies if none is named")                    \
  X(momentum, "N s", "of a body; of all if none is named")                                            \
  X(kinetic_energy, "J", "of a body; of all if none is named")                                        \
  X(mechanical_energy, "J", "kinetic, elastic, gravitational and contact springs, of everything")     \
  X(contact_force, "N", "on a body, from `other` or from all")                                        \
  X(contact_moment, "N m", "about the origin, on a body, from `other` or from all")                   \
  X(contact_extent, "m", "where `fraction` of the normal contact force on a body, from `other` or from all, has been met along `direction`; without " \
                    "one, going outwards from the vertical axis through `point`: 1 is the outermost contact")  \
  X(sticking, "1", "share of the normal contact force on a body, from `other` or from all, that is carried by contacts that stick") \
  X(penetration, "m", "deepest penetration of any active contact")                                    \
  X(contacts, "1", "active contacts")                                                                 \
  X(self_crossing, "m", "how deep the surface of a body made of nodes passes through itself: how far the worst edge that goes through a triangle " \
                           "would have to be moved to come out, which is at most what fits into the triangle; found from the geometry alone")     \
  X(extent, "m", "quantile `fraction` of a body's particles or nodes along `direction`; without one, of their distance from the vertical axis " \
                    "through `point`: 1 is the front")                                                \
  X(slope, "rad", "of a heap's flank, from its highest particles: down along `direction`; without one, away from the vertical axis " \
                     "through `point`, which is on the ground")                                       \
  X(velocity_error, "m/s", "rms of velocity - `expected`, by mass: over a body's particles, the nodes of a cloth, the volume of a body of kind fem") \
  X(displacement_error, "m", "rms of displacement - `expected` over the same")                        \
  X(gradient_error, "1", "rms over the volume of a body of kind fem of all nine components of the displacement gradient - that of `expected`") \
  X(mass_beyond, "kg", "mass of a body's particles with direction . (x - point) > 0")                 \
  X(tilt, "rad", "angle between `direction` fixed in a rigid body and the same direction at the start")
typedef enum {
#define X(name, unit, help) QUANTITY_##name,
  QUANTITY_TABLE(X)
#undef X
  N_QUANTITIES
} quantity;
static const char *const quantity_names[] = {
#define X(name, unit, help) #name,
  QUANTITY_TABLE(X)
#undef X
  NULL};
static const char *const quantity_units[] = {
#define X(name, unit, help) unit,
  QUANTITY_TABLE(X)
#undef X
};

static const key_spec measure_keys[] = {
  {.name = "quantity", .type = KEY_ENUM, .offset = offsetof(job_measure, quantity), .choices = quantity_names,
   .help = "what is recorded; a vector is recorded along direction, or as its norm if none is given"},
  {.name = "body", .type = KEY_STRING, .offset = offsetof(job_measure, body), .fallback = "\"\"", .help = "of which body"},
  {.name = "other", .type = KEY_STRING, .offset = offsetof(job_measure, other), .fallback = "\"\"", .help = "the other body, where two matter"},
  {.name = "direction", .type = KEY_REALS, .count = 3, .offset = offsetof(job_measure, direction), .is_optional = true, .help = "made a unit vector"},
  {.name = "point", .type = KEY_REALS, .count = 3, .offset = offsetof(job_measure, point), .unit = "m", .fallback = "[0, 0, 0]", .help = "see the quantity"},
  {.name = "fraction", .type = KEY_REAL, .offset = offsetof(job_measure, fraction), .fallback = "1", .min = 0, .max = 1, .help = "of extent and contact_extent"},
  {.name = "expected", .type = KEY_STRINGS, .offset = offsetof(job_measure, expected), .is_optional = true,
   .help = "three expressions in X, Y, Z (initial position), x, y, z (position) and t"},
  {.name = "every", .type = KEY_REAL, .offset = offsetof(job_measure, every), .unit = "s", .fallback = "0", .min = 0, .max = INFINITY,
   .help = "time between records; 0: every step"},
  {.name = NULL}};
const key_table measure_table = {.name = "measure",
                                 .help = "A quantity of the run, recorded as a table measure/NAME.csv of time and value:"
#define X(name, unit, help) " `" #name "` [" unit "]: " help ";"
                                         QUANTITY_TABLE(X)
#undef X
                                         " particles lie a quarter of a grid cell or so inside the surface of what they stand for.",
                                 .size = sizeof(job_measure),
                                 .keys = measure_keys};

typedef struct {
  const job_measure *spec;
  int                body, other;
  double             direction[3];
  bool               has_direction;
  int64_t            node; /* of quantity point, on a body made of nodes */
  vector_field    *expected;
  history           *table;
  measure_statistics statistics;
} measure;

struct measures {
  scene       *scene;
  formulation *formulation;
  int          n;
  measure     *m;
  double      *scratch; /* for quantiles */
  int64_t      n_scratch;
};

/* What each quantity cannot do without. */
static bool wants_rigid(int q) { return q == QUANTITY_angular_velocity || q == QUANTITY_tilt; }
static bool wants_expected(int q) { return q == QUANTITY_velocity_error || q == QUANTITY_displacement_error || q == QUANTITY_gradient_error; }
static bool wants_particles(int q) { return q == QUANTITY_slope || q == QUANTITY_mass_beyond; }
static bool wants_fem(int q) { return q == QUANTITY_stress || q == QUANTITY_gradient_error; }
static bool wants_body(int q)
{
  return wants_rigid(q) || q == QUANTITY_point || wants_fem(q) || wants_expected(q) || q == QUANTITY_self_crossing || q == QUANTITY_extent || wants_particles(q) || q == QUANTITY_position || q == QUANTITY_velocity || q == QUANTITY_contact_force ||
         q == QUANTITY_contact_moment || q == QUANTITY_contact_extent || q == QUANTITY_sticking;
}
static bool wants_direction(int q) { return q == QUANTITY_stress || q == QUANTITY_mass_beyond || q == QUANTITY_tilt; }

static void complain_about_name(const scene *s, const key_item *item, const char *path, const char *key, const char *name, diagnostics *d)
{
  const char *names[256];
  int         n = 0;
  for (; n < s->n_bodies && n < 256; ++n) names[n] = s->bodies[n].name;
  const char *nearest = diagnostics_nearest(name, n, names);
  diagnostics_add_under(d, item->node, path, key, "no body is called \"%s\"%s%s%s", name, nearest ? "; did you mean \"" : "", nearest ? nearest : "",
                        nearest ? "\"?" : "; give a name of bodies:");
}

PetscErrorCode measures_check(const scene *s, diagnostics *d)
{
  PetscFunctionBegin;
  for (int i = 0; i < s->job->measure.n; ++i) {
    const key_item    *item = &s->job->measure.item[i];
    const job_measure *spec = item->value;
    const int          q    = spec->quantity;
    const int          b    = *spec->body ? scene_find_body(s, spec->body) : -1;
    char               path[256];
    snprintf(path, sizeof path, "measure.%s", item->name);
    if (*spec->body && b < 0) complain_about_name(s, item, path, "body", spec->body, d);
    if (*spec->other && scene_find_body(s, spec->other) < 0) complain_about_name(s, item, path, "other", spec->other, d);
    if (wants_body(q) && !*spec->body) diagnostics_add_under(d, item->node, path, NULL, "missing required key \"body\": quantity %s wants a body", quantity_names[q]);
    if (b >= 0 && wants_rigid(q) && !rigid_body_of(s->bodies[b].body)) diagnostics_add_under(d, item->node, path, "body", "quantity %s wants a rigid body", quantity_names[q]);
    if (b >= 0 && wants_particles(q) && !mpm_particles_of(s->bodies[b].body))
      diagnostics_add_under(d, item->node, path, "body", "quantity %s wants a body of kind mpm", quantity_names[q]);
    if (b >= 0 && q == QUANTITY_self_crossing && !nodal_body_of(s->bodies[b].body))
      diagnostics_add_under(d, item->node, path, "body", "quantity self_crossing wants a body of kind fem or cloth");
    if (b >= 0 && wants_fem(q) && s->bodies[b].kind != &fem_body_kind)
      diagnostics_add_under(d, item->node, path, "body", "quantity %s wants a body of kind fem", quantity_names[q]);
    if (b >= 0 && q == QUANTITY_point && !rigid_body_of(s->bodies[b].body) && !nodal_body_of(s->bodies[b].body))
      diagnostics_add_under(d, item->node, path, "body", "quantity point wants a rigid body, or one made of nodes");
    if (b >= 0 && (q == QUANTITY_extent || (wants_expected(q) && !wants_fem(q))) && !mpm_particles_of(s->bodies[b].body) && !nodal_body_of(s->bodies[b].body))
      diagnostics_add_under(d, item->node, path, "body", "quantity %s wants a body made of particles or nodes", quantity_names[q]);
    if (wants_direction(q) && !isfinite(spec->direction[0])) diagnostics_add_under(d, item->node, path, "direction", "missing: quantity %s wants a direction", quantity_names[q]);
    if (wants_expected(q)) {
      vector_field *compiled;
      PetscCall(vector_field_create(&spec->expected, item->node, path, d, &compiled));
      vector_field_destroy(&compiled);
    } else if (spec->expected.n > 0) diagnostics_add_under(d, item->node, path, "expected", "quantity %s does not use it; leave it out", quantity_names[q]);
    if (isfinite(spec->direction[0]) && v3_norm(spec->direction) == 0) diagnostics_add_under(d, item->node, path, "direction", "must not be the zero vector");
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where bodies rest is known at a resume, too. */
static int64_t node_closest_to(const nodal_body *b, const double x[3])
{
  int64_t best = 0;
  double  near = INFINITY, d[3];
  for (int64_t i = 0; i < b->n_nodes; ++i) {
    v3_sub(d, b->rest + 3 * i, x);
    if (v3_dot(d, d) < near) near = v3_dot(d, d), best = i;
  }
  return best;
}

/* What the rows that are kept came to. */
static PetscErrorCode read_back(const char *path, measure_statistics *s)
{
  int     n_columns;
  int64_t n_rows;
  double *rows;
  PetscFunctionBegin;
  PetscCall(history_read(path, &n_columns, &n_rows, &rows));
  for (int64_t i = 0; i < n_rows; ++i) measure_statistics_add(s, rows[i * n_columns + 1], rows[i * n_columns + 2]);
  memory_free(&rows);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* From one record to the next, at least 1. */
static int64_t steps_between(const scene *s, const job_measure *spec)
{
  const int64_t every = spec->every > 0 ? (int64_t)llround(spec->every / s->job->time->step) : 1;
  return every > 1 ? every : 1;
}

PetscErrorCode measures_open(scene *s, formulation *f, const char *dir, int64_t resume_step, measures **out)
{
  PetscFunctionBegin;
  measures *m;
  PetscCall(memory_alloc("measures", 1, sizeof *m, &m));
  *out           = m;
  m->scene       = s;
  m->formulation = f;
  m->n           = s->job->measure.n;
  PetscCall(memory_alloc("measures", m->n, sizeof *m->m, &m->m));
  for (int i = 0; i < m->n; ++i) {
    const key_item *item    = &s->job->measure.item[i];
    measure        *k       = &m->m[i];
    char            path[4400];
    k->spec          = item->value;
    k->body          = *k->spec->body ? scene_find_body(s, k->spec->body) : -1;
    k->other         = *k->spec->other ? scene_find_body(s, k->spec->other) : -1;
    k->has_direction = isfinite(k->spec->direction[0]);
    if (k->spec->expected.n > 0) {
      diagnostics *none;
      PetscCall(diagnostics_create(&none));
      PetscCall(vector_field_create(&k->spec->expected, item->node, item->name, none, &k->expected));
      diagnostics_destroy(&none);
    }
    if (k->has_direction) v3_scale(k->direction, 1.0 / v3_norm(k->spec->direction), k->spec->direction);
    if ((k->spec->quantity == QUANTITY_point || k->spec->quantity == QUANTITY_stress) && nodal_body_of(s->bodies[k->body].body))
      k->node = node_closest_to(nodal_body_of(s->bodies[k->body].body), k->spec->point);
    snprintf(path, sizeof path, "%s/measure/%s.csv", dir, item->name);
    const char *names[] = {"step", "time", item->name}, *units[] = {"1", "s", quantity_units[k->spec->quantity]};
    PetscCall(history_open(path, 3, names, units, resume_step, &k->table));
    (void)history_is_whole(k->table, resume_step, steps_between(s, k->spec));
    k->statistics = (measure_statistics)MEASURE_STATISTICS_NONE;
    if (resume_step >= 0) PetscCall(read_back(path, &k->statistics));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode measures_flush(measures *m)
{
  PetscFunctionBegin;
  for (int i = 0; i < m->n; ++i) PetscCall(history_flush(m->m[i].table));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const measure_statistics *measures_statistics(const measures *m, int i, const char **unit)
{
  *unit = quantity_units[m->m[i].spec->quantity];
  return &m->m[i].statistics;
}

PetscErrorCode measures_close(measures **m)
{
  PetscFunctionBegin;
  if (!*m) PetscFunctionReturn(PETSC_SUCCESS);
  for (int i = 0; i < (*m)->n; ++i) {
    PetscCall(history_close(&(*m)->m[i].table));
    vector_field_destroy(&(*m)->m[i].expected);
  }
  memory_free(&(*m)->m);
  memory_free(&(*m)->scratch);
  memory_free(m);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static double along(const measure *k, const double v[3]) { return k->has_direction ? v3_dot(k->direction, v) : v3_norm(v); }

static int compare_doubles(const void *a, const void *b)
{
  const double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

static void up_of(const scene *s, double up[3])
{
  const double g = v3_norm(s->gravity);
  v3_set(up, 0.0, 0.0, 1.0);
  if (g > 0.0) v3_scale(up, -1.0 / g, s->gravity);
}

static PetscErrorCode self_crossing(const nodal_body *b, double *value)
{
  const triangle_mesh surface = {.n_vertices = b->n_nodes, .n_triangles = b->n_triangles, .x = b->x, .tri = b->triangles};
  int64_t             n;
  int32_t             first[2];
  PetscFunctionBegin;
  PetscCall(triangle_mesh_crossings(&surface, &n, first, value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode slope(const measures *m, const measure *k, double *value)
{
  PetscFunctionBegin;
  body                *b    = m->scene->bodies[k->body].body, *grid = body_system(b);
  const mpm_particles *p    = mpm_particles_of(b);
  flank_frame          f    = {.is_round = !k->has_direction, .width = grid->ops->length(grid)};
  up_of(m->scene, f.up);
  v3_copy(f.point, k->spec->point);
  v3_copy(f.along, k->direction);
  PetscCall(flank_slope(p->n, p->x, &f, value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Distance from the vertical axis through the measure's point. */
static double distance_from_axis(const measure *k, const double up[3], const double x[3])
{
  double d[3];
  v3_sub(d, x, k->spec->point);
  v3_axpy(d, -v3_dot(d, up), up);
  return v3_norm(d);
}

/* Linear interpolation between order statistics, so that 1 is the maximum and 0 the minimum. */
static PetscErrorCode extent(measures *m, const measure *k, double *value)
{
  PetscFunctionBegin;
  const body          *b = m->scene->bodies[k->body].body;
  const nodal_body    *s = nodal_body_of(b);
  const mpm_particles *p = s ? NULL : mpm_particles_of(b);
  const int64_t        n = s ? s->n_nodes : p->n;
  double               up[3];
  *value = NAN;
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (n > m->n_scratch) {
    PetscCall(memory_resize("measure", n, sizeof(double), &m->scratch));
    m->n_scratch = n;
  }
  up_of(m->scene, up);
  for (int64_t i = 0; i < n; ++i) {
    double x[3];
    for (int q = 0; q < 3; ++q) x[q] = s ? s->x[3 * i + q] : p->x[q][i];
    m->scratch[i] = k->has_direction ? v3_dot(k->direction, x) : distance_from_axis(k, up, x);
  }
  qsort(m->scratch, (size_t)n, sizeof(double), compare_doubles);
  const double  at = k->spec->fraction * (double)(n - 1);
  const int64_t lo = (int64_t)at, hi = lo + 1 < n ? lo + 1 : lo;
  *value           = m->scratch[lo] + (at - (double)lo) * (m->scratch[hi] - m->scratch[lo]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode contact_extent(const measures *m, const measure *k, const contact_points_view *points, double *value)
{
  patch_frame f = {.on = k->body, .from = k->other, .is_round = !k->has_direction};
  PetscFunctionBegin;
  v3_copy(f.point, k->spec->point);
  v3_copy(f.along, k->direction);
  up_of(m->scene, f.up);
  PetscCall(patch_extent(points, &f, k->spec->fraction, value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static double mass_beyond(const measures *m, const measure *k)
{
  const mpm_particles *p   = mpm_particles_of(m->scene->bodies[k->body].body);
  double               sum = 0.0;
  for (int64_t i = 0; i < p->n; ++i) {
    const double x[3] = {p->x[0][i] - k->spec->point[0], p->x[1][i] - k->spec->point[1], p->x[2][i] - k->spec->point[2]};
    if (v3_dot(k->direction, x) > 0) sum += p->mass[i];
  }
  return sum;
}

static double rigid_value(const measure *k, const rigid_body *b)
{
  double R[9], w[3];
  switch ((quantity)k->spec->quantity) {
  case QUANTITY_angular_velocity: return along(k, b->w);
  default: /* tilt: every body starts unrotated */
    quaternion_to_matrix(R, b->q);
    m3_mulv(w, R, k->direction);
    const double c[3] = {k->direction[1] * w[2] - k->direction[2] * w[1], k->direction[2] * w[0] - k->direction[0] * w[2],
                         k->direction[0] * w[1] - k->direction[1] * w[0]};
    return atan2(v3_norm(c), v3_dot(k->direction, w));
  }
}

static double stress_value(const measure *k, body *b)
{
  double sigma[9], traction[3];
  if (!tetrahedra_stress(nodal_body_of(b), k->node, sigma)) return NAN;
  m3_mulv(traction, sigma, k->direction);
  return v3_dot(k->direction, traction);
}

static PetscErrorCode error_value(const measures *m, const measure *k, double t, double *value)
{
  const scene_body    *b           = &m->scene->bodies[k->body];
  const nodal_body    *nodal       = nodal_body_of(b->body);
  const bool           is_velocity = k->spec->quantity == QUANTITY_velocity_error;
  PetscFunctionBegin;
  if (b->kind == &fem_body_kind)
    PetscCall(tetrahedra_error(nodal, k->expected, t, is_velocity ? TETRAHEDRA_VELOCITY : k->spec->quantity == QUANTITY_gradient_error ? TETRAHEDRA_GRADIENT : TETRAHEDRA_DISPLACEMENT,
                               value));
  else if (nodal) *value = nodal_body_error(nodal, k->expected, t, is_velocity);
  else *value = particle_origins_error(&m->scene->world.mpm->origins, mpm_particles_of(b->body), k->expected, t, is_velocity);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static double point_value(const measure *k, body *b)
{
  const nodal_body *nodal = nodal_body_of(b);
  double            x[3];
  if (nodal) return along(k, nodal->x + 3 * k->node);
  rigid_body_follow(rigid_body_of(b), k->spec->point, x);
  return along(k, x);
}

static PetscErrorCode value_of(measures *m, const measure *k, double t, const step_report *report, double *value)
{
  PetscFunctionBegin;
  const quantity q = (quantity)k->spec->quantity;
  body_totals    sum;
  double         force[3], moment[3];
  contact_points_view points;
  *value = NAN;
  switch (q) {
  case QUANTITY_penetration: *value = report->contact.max_penetration; break;
  case QUANTITY_contacts: *value = (double)report->contact.n_active; break;
  case QUANTITY_contact_force:
  case QUANTITY_contact_moment:
    PetscCall(m->formulation->ops->contact_force(m->formulation, k->body, k->other, force, moment));
    *value = along(k, q == QUANTITY_contact_force ? force : moment);
    break;
  case QUANTITY_contact_extent:
    points = m->formulation->ops->contact_points(m->formulation);
    PetscCall(contact_extent(m, k, &points, value));
    break;
  case QUANTITY_sticking:
    points = m->formulation->ops->contact_points(m->formulation);
    *value = patch_sticking(&points, k->body, k->other);
    break;
  case QUANTITY_self_crossing: PetscCall(self_crossing(nodal_body_of(m->scene->bodies[k->body].body), value)); break;
  case QUANTITY_extent: PetscCall(extent(m, k, value)); break;
  case QUANTITY_slope: PetscCall(slope(m, k, value)); break;
  case QUANTITY_mass_beyond: *value = mass_beyond(m, k); break;
  case QUANTITY_velocity_error:
  case QUANTITY_displacement_error:
  case QUANTITY_gradient_error: PetscCall(error_value(m, k, t, value)); break;
  case QUANTITY_stress: *value = stress_value(k, m->scene->bodies[k->body].body); break;
  case QUANTITY_point: *value = point_value(k, m->scene->bodies[k->body].body); break;
  case QUANTITY_angular_velocity:
  case QUANTITY_tilt: *value = rigid_value(k, rigid_body_of(m->scene->bodies[k->body].body)); break;
  default:
    if (k->body >= 0) PetscCall(scene_body_totals(m->scene, k->body, &sum));
    else PetscCall(scene_totals(m->scene, &sum));
    if (q == QUANTITY_position) *value = along(k, sum.center);
    if (q == QUANTITY_velocity) {
      v3_scale(force, 1.0 / sum.mass, sum.momentum);
      *value = along(k, force);
    }
    if (q == QUANTITY_momentum) *value = along(k, sum.momentum);
    if (q == QUANTITY_angular_momentum) *value = along(k, sum.angular_momentum);
    if (q == QUANTITY_kinetic_energy) *value = sum.kinetic;
    if (q == QUANTITY_mechanical_energy) *value = sum.kinetic + sum.elastic + sum.potential + report->contact.stored_energy;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode measures_record(measures *m, int64_t step, double t, const step_report *report)
{
  PetscFunctionBegin;
  for (int i = 0; i < m->n; ++i) {
    measure *k = &m->m[i];
    double   value;
    if (step % steps_between(m->scene, k->spec) != 0) continue;
    PetscCall(value_of(m, k, t, report, &value));
    measure_statistics_add(&k->statistics, t, value);
    PetscCall(history_row(k->table, (const double[]){(double)step, t, value}));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
