/* Implementation of quality_monitor.h: state, energy balance, overlaps, and storage of warnings. */
#include "app/run/quality_monitor.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/math3.h"
#include "core/memory.h"
#include "sim/scene/fallen_bodies.h"
#include "sim/scene/scene_overlaps.h"
#include "sim/scene/scene_size.h"

/* State in checkpoints. Columns: member, type, field type, unit, help. A body is stored as its index; numbers from n_bodies on are systems that
 * are no body of the job, such as a shared grid. */
/* clang-format off */
#define QUALITY_STATE_TABLE(X)                                                                                             \
  X(steps_above, int64_t, FIELD_I64, "1", "steps accepted above a tolerance")                                              \
  X(residual, double, FIELD_F64, "1", "largest residual")                                                                  \
  X(residual_body, int64_t, FIELD_I64, "1", "body with the largest residual; -1: unknown")                                 \
  X(overlap, double, FIELD_F64, "m", "deepest overlap")                                                                    \
  X(overlap_a, int64_t, FIELD_I64, "1", "its first body")                                                                  \
  X(overlap_b, int64_t, FIELD_I64, "1", "its second body")                                                                 \
  X(ratio, double, FIELD_F64, "1", "largest overlap over the size of the smaller body")                                    \
  X(ratio_a, int64_t, FIELD_I64, "1", "its first body")                                                                    \
  X(ratio_b, int64_t, FIELD_I64, "1", "its second body")                                                                   \
  X(halvings, int64_t, FIELD_I64, "1", "failed attempts")                                                                  \
  X(relaxations, int64_t, FIELD_I64, "1", "steps of the search for the initial equilibrium; 0: none was computed")        \
  X(remaining_velocity, double, FIELD_F64, "m/s", "velocity after the last of these steps")                                \
  X(has_energy, int64_t, FIELD_I64, "1", "1: the energies below are defined, 2: after a step")                             \
  X(friction_work, double, FIELD_F64, "J", "energy dissipated by friction")                                                \
  X(correction_work, double, FIELD_F64, "J", "work of the correction of overlaps that the job permits at the start")       \
  X(least_energy, double, FIELD_F64, "J", "smallest energy so far")                                                        \
  X(increase, double, FIELD_F64, "J", "largest increase above an earlier minimum")                                         \
  X(exchanged, double, FIELD_F64, "J", "largest kinetic, elastic and contact energy")                                      \
  X(least_potential, double, FIELD_F64, "J", "smallest potential energy")                                                  \
  X(most_potential, double, FIELD_F64, "J", "largest potential energy")                                                    \
  X(floor, double, FIELD_F64, "J", "energy that gravity supplies in one step")
/* clang-format on */

typedef struct {
  double depth, ratio, correction_work;
  int    depth_of[2], ratio_of[2];
} overlap_record;

struct quality_monitor {
  scene             *scene;
  const formulation *formulation;
  char               external_work[200];
  double            *size; /* [n_bodies] m */
  overlap_record     step; /* of the accepted substeps of the current step */
#define X(member, type, field_type, unit, help) type *member;
  QUALITY_STATE_TABLE(X)
#undef X
  /* The warnings as text: code, subject and message of each, separated by unit separators and ended by a record separator. Stored because
   * warnings of earlier steps do not occur again after a resume. */
  int64_t  n_warning_bytes;
  uint8_t *warning_bytes;
  int      n_stored; /* warnings of the list in warning_bytes */
};

/* ==== external work ==== */

/* Keys that make bodies gain energy from outside, or whose energy is not in the sums. * is every entry; entries of lists are visited, too. */
static const char *const work_keys[] = {"bodies.*.motion",
                                        "bodies.*.hold.motion",
                                        "bodies.*.hold.displacement",
                                        "bodies.*.start.motion",
                                        "bodies.*.start.force",
                                        "bodies.*.start.moment",
                                        "bodies.*.end.motion",
                                        "bodies.*.end.force",
                                        "bodies.*.end.moment",
                                        "bodies.*.load",
                                        "bodies.*.pressure",
                                        "bodies.*.force",
                                        "bodies.*.torque",
                                        "bodies.*.pour",
                                        "bodies.*.copies.pour",
                                        "bodies.*.trajectory",
                                        "bodies.*.anchors",
                                        "bodies.*.links.*.force",
                                        "bodies.*.links.*.torque",
                                        "bodies.*.joints.*.motion",
                                        "bodies.*.joints.*.drive",
                                        "bodies.*.loops",
                                        "mpm.body_force",
                                        NULL};
/* The same with a value: particles that leave, or that continue at the opposite side, change the potential energy. */
static const char *const work_values[][2] = {
    {"mpm.walls.kind", "periodic"}, {"mac.walls.*", "periodic"}, {"mac.walls.*", "open"}, {NULL, NULL}};

static bool is_zero(const document_node *node)
{
  if (node->kind == DOCUMENT_SEQUENCE) {
    for (int i = 0; i < node->n; ++i)
      if (!is_zero(node->value[i])) return false;
    return true;
  }
  char        *end;
  const double value = node->text ? strtod(node->text, &end) : 1.0;
  return node->text && end != node->text && *end == '\0' && value == 0.0;
}

/* Whether the tree below `node` has the key `path` with a value that is not zero, or with this value. `at`: its path. */
static bool find_key(const document_node *node, const char *path, const char *value, char *at, size_t size, size_t n)
{
  const char  *dot    = strchr(path, '.');
  const size_t length = dot ? (size_t)(dot - path) : strlen(path);
  if (node->kind == DOCUMENT_SEQUENCE)
    for (int i = 0; i < node->n; ++i)
      if (find_key(node->value[i], path, value, at, size, n)) return true;
  for (int i = 0; node->kind == DOCUMENT_MAPPING && i < node->n; ++i) {
    const bool is_any = length == 1 && *path == '*';
    if (!is_any && (strncmp(node->key[i], path, length) != 0 || node->key[i][length] != '\0')) continue;
    const size_t more = n + (size_t)snprintf(at + n, size - n, "%s%.60s", n > 0 ? "." : "", node->key[i]);
    if (more >= size) return true;
    if (dot     ? find_key(node->value[i], dot + 1, value, at, size, more)
        : value ? node->value[i]->text && strcmp(node->value[i]->text, value) == 0
                : !is_zero(node->value[i]))
      return true;
    at[n] = '\0';
  }
  return false;
}

static void find_external_work(quality_monitor *m)
{
  const document_node *root = m->scene->options->root;
  const size_t         size = sizeof m->external_work;
  for (int i = 0; root && work_keys[i]; ++i)
    if (find_key(root, work_keys[i], NULL, m->external_work, size, 0)) return;
  for (int i = 0; root && work_values[i][0]; ++i)
    if (find_key(root, work_values[i][0], work_values[i][1], m->external_work, size, 0)) return;
}

const char *quality_monitor_external_work(const quality_monitor *m) { return m->external_work; }

/* ==== warnings ==== */

enum { END_OF_UNIT = 0x1f, END_OF_WARNING = 0x1e };

static PetscErrorCode resize_warnings(void *context, int64_t n_rows)
{
  quality_monitor *m = context;
  PetscFunctionBegin;
  PetscCall(memory_resize("warnings", n_rows, 1, &m->warning_bytes));
  m->n_warning_bytes = n_rows;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Text of warning i without its subject and code. */
static void get_message(const warning_list *w, int i, size_t size, char *text)
{
  const char  *full = warning_list_text(w, i), *subject = warning_list_subject(w, i);
  const size_t skip = strlen(subject) + 2, n = strlen(full), code = strlen(warning_list_code(w, i)) + 3;
  snprintf(text, size, "%.*s", n > skip + code ? (int)(n - skip - code) : 0, full + (n > skip ? skip : n));
}

/* Append the warnings that are new since the last call to warning_bytes. */
PetscErrorCode quality_monitor_store_warnings(quality_monitor *m)
{
  const warning_list *w = m->scene->warnings;
  char                message[1024], text[1600];
  PetscFunctionBegin;
  for (; m->n_stored < warning_list_count(w); ++m->n_stored) {
    get_message(w, m->n_stored, sizeof message, message);
    const int     n  = snprintf(text, sizeof text, "%.60s%c%.300s%c%.1000s%c", warning_list_code(w, m->n_stored), END_OF_UNIT,
                                warning_list_subject(w, m->n_stored), END_OF_UNIT, message, END_OF_WARNING);
    const int64_t at = m->n_warning_bytes;
    PetscCall(resize_warnings(m, at + n));
    memcpy(m->warning_bytes + at, text, (size_t)n);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Add the stored warnings to the list of the scene; it already contains those that the checks have found again. Damaged text is skipped. */
static PetscErrorCode restore_warnings(void *context)
{
  quality_monitor *m  = context;
  const uint8_t   *at = m->warning_bytes, *end = at + m->n_warning_bytes;
  int              n = 0;
  PetscFunctionBegin;
  while (at < end) {
    const uint8_t *stop = memchr(at, END_OF_WARNING, (size_t)(end - at)), *part[3] = {at};
    if (!stop) break;
    for (int k = 1; k < 3 && part[k - 1]; ++k) {
      const uint8_t *mark = memchr(part[k - 1], END_OF_UNIT, (size_t)(stop - part[k - 1]));
      part[k]             = mark ? mark + 1 : NULL;
    }
    if (part[1] && part[2]) {
      char code[64], subject[304];
      snprintf(code, sizeof code, "%.*s", (int)(part[1] - 1 - part[0]), (const char *)part[0]);
      snprintf(subject, sizeof subject, "%.*s", (int)(part[2] - 1 - part[1]), (const char *)part[1]);
      warning_list_add(m->scene->warnings, code, subject, "%.*s", (int)(stop - part[2]), (const char *)part[2]);
    }
    at = stop + 1;
    ++n;
  }
  m->n_stored = n < warning_list_count(m->scene->warnings) ? n : warning_list_count(m->scene->warnings);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ==== state ==== */

static const int64_t one_row = 1;

static PetscErrorCode create_fields(quality_monitor *m, field_table *table)
{
  field_group *g;
  PetscFunctionBegin;
  PetscCall(field_table_add_group(table, QUALITY_GROUP, FIELD_GROUP_PLAIN, &one_row, m, &g));
#define X(member, type, field_type, unit, help)                                                                                            \
  PetscCall(memory_alloc("quality", 1, sizeof(type), &m->member));                                                                         \
  PetscCall(field_table_add(table, g, #member, unit, field_type, 1, &m->member, FIELD_CHECKPOINT, help));
  QUALITY_STATE_TABLE(X)
#undef X
  *m->residual_body = -1;
  PetscCall(field_table_add_group(table, QUALITY_GROUP "/warnings", FIELD_GROUP_PLAIN, &m->n_warning_bytes, m, &g));
  g->resize   = resize_warnings;
  g->restored = restore_warnings;
  PetscCall(field_table_add(table, g, "text", "1", FIELD_U8, 1, &m->warning_bytes, FIELD_CHECKPOINT, "warnings: code, subject, message"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode quality_monitor_create(scene *s, const formulation *f, field_table *table, quality_monitor **out)
{
  quality_monitor *m;
  PetscFunctionBegin;
  PetscCall(memory_alloc("quality", 1, sizeof *m, &m));
  *out           = m;
  m->scene       = s;
  m->formulation = f;
  find_external_work(m);
  PetscCall(memory_alloc("sizes of bodies", s->n_bodies, sizeof *m->size, &m->size));
  for (int i = 0; i < s->n_bodies; ++i) m->size[i] = scene_body_size(s, i);
  PetscCall(create_fields(m, table));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void quality_monitor_destroy(quality_monitor **m)
{
  if (!*m) return;
#define X(member, type, field_type, unit, help) memory_free(&(*m)->member);
  QUALITY_STATE_TABLE(X)
#undef X
  MEMORY_FREE(&(*m)->size, &(*m)->warning_bytes, m);
}

/* ==== steps ==== */

void quality_monitor_begin_step(quality_monitor *m) { memset(&m->step, 0, sizeof m->step); }

static void add_overlap(quality_monitor *m, double depth, int a, int b)
{
  overlap_record *o = &m->step;
  if (!(depth > 0.0)) return;
  const double ratio = depth / fmin(m->size[a], m->size[b]);
  if (depth > o->depth) o->depth = depth, o->depth_of[0] = a, o->depth_of[1] = b;
  if (ratio > o->ratio) o->ratio = ratio, o->ratio_of[0] = a, o->ratio_of[1] = b;
}

/* Whether the contact law of a pair is a spring whose energy the formulation reports. */
static bool has_spring(const quality_monitor *m, const contact_law *law)
{
  const int report = m->formulation->ops->report;
  return (report & REPORT_SPRINGS) || ((report & REPORT_CONVEX) && isfinite(law->stiffness));
}

/* Whether contact corrects an overlap of contact point i that the job permits. */
static bool corrects_overlap(const quality_monitor *m, const contact_points_view *p, int64_t i)
{
  const contact_law *law = scene_law(m->scene, p->source_body[i], p->object_body[i]);
  return law->may_overlap && !law->is_preloaded && !has_spring(m, law);
}

void quality_monitor_substep(quality_monitor *m, const step_report *report)
{
  add_overlap(m, report->contact.penetration, (int)report->penetration_body_a, (int)report->penetration_body_b);
  if (!m->formulation->points) return;
  const contact_points_view p = contact_points_get(m->formulation->points);
  for (int64_t i = 0; i < p.n; ++i) {
    add_overlap(m, -p.gap[i], p.source_body[i], p.object_body[i]);
    if (corrects_overlap(m, &p, i))
      m->step.correction_work +=
          v3_dot(p.force + 3 * i, p.normal + 3 * i) * scene_overlaps_reduction(m->scene->overlaps, p.source_body[i], p.object_body[i]);
  }
}

/* Energy of contact springs [J]: reported by penalty and convex; for compliant contacts of other formulations 1/2 force * depth. */
static double contact_energy(const quality_monitor *m, const step_report *report)
{
  double sum = 0.0;
  if (m->formulation->ops->report & (REPORT_SPRINGS | REPORT_CONVEX)) return report->contact.contact_energy;
  if (!m->formulation->points) return 0.0;
  const contact_points_view p = contact_points_get(m->formulation->points);
  for (int64_t i = 0; i < p.n; ++i)
    if (!corrects_overlap(m, &p, i)) sum += 0.5 * fmax(0.0, v3_dot(p.force + 3 * i, p.normal + 3 * i)) * fmax(0.0, -p.gap[i]);
  return sum;
}

/* Compare the energy with its earlier minimum. start, contact: energy of springs at the start and at the end of the step. */
static void add_energy(quality_monitor *m, const body_totals *sum, double start, double contact, double dt)
{
  const double motion = sum->kinetic + sum->elastic + contact;
  const double energy = motion + sum->potential + *m->friction_work - *m->correction_work;
  const double speed  = m->scene->options->acceleration_scale * dt;
  if (!*m->has_energy) {
    *m->has_energy      = 1;
    *m->least_energy    = energy;
    *m->least_potential = *m->most_potential = sum->potential;
  }
  /* Springs that are compressed at the start. Those of an equilibrium have this energy also after the first step. */
  if (*m->has_energy == 1 && dt > 0.0) {
    const double springs = *m->relaxations > 0 ? contact : start;
    *m->has_energy       = 2;
    *m->least_energy += springs;
    *m->exchanged = fmax(*m->exchanged, springs);
  }
  *m->increase        = fmax(*m->increase, energy - *m->least_energy);
  *m->least_energy    = fmin(*m->least_energy, energy);
  *m->exchanged       = fmax(*m->exchanged, motion);
  *m->least_potential = fmin(*m->least_potential, sum->potential);
  *m->most_potential  = fmax(*m->most_potential, sum->potential);
  *m->floor           = fmax(*m->floor, sum->mass * speed * speed);
}

PetscErrorCode quality_monitor_start(quality_monitor *m)
{
  body_totals sum;
  PetscFunctionBegin;
  PetscCall(quality_monitor_store_warnings(m));
  if (*m->external_work) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(scene_totals(m->scene, &sum));
  add_energy(m, &sum, 0.0, 0.0, 0.0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void quality_monitor_equilibrium(quality_monitor *m, int64_t n_steps, double velocity)
{
  *m->relaxations        = n_steps;
  *m->remaining_velocity = velocity;
}
bool quality_monitor_has_equilibrium(const quality_monitor *m) { return *m->relaxations > 0; }

/* Number of a body with this name, see QUALITY_STATE_TABLE. */
static int64_t number_of(const scene *s, const char *name)
{
  for (int i = 0; name && i < s->n_bodies; ++i)
    if (strcmp(s->bodies[i].name, name) == 0) return i;
  for (int i = 0; name && i < s->n_systems; ++i)
    if (strcmp(s->systems[i]->name, name) == 0) return s->n_bodies + i;
  return -1;
}

static const char *name_of(const scene *s, int64_t number)
{
  if (number < 0 || number >= s->n_bodies + s->n_systems) return "";
  return number < s->n_bodies ? s->bodies[number].name : s->systems[number - s->n_bodies]->name;
}

static void warn_of_fallen(const scene *s, int i)
{
  char path[300];
  snprintf(path, sizeof path, "bodies.%s", scene_shared_name(s, i));
  warning_list_add(
      s->warnings, "unsupported-body", path,
      "%s has fallen out of the scene: it is below everything that could stop it; close the hole, or ignore this warning if it is "
      "intended",
      s->bodies[i].name);
}

PetscErrorCode quality_monitor_end_step(quality_monitor *m, double dt, const step_report *report, const body_totals *sum,
                                        int64_t n_halvings)
{
  const overlap_record *o = &m->step;
  PetscFunctionBegin;
  *m->steps_above += report->unconverged + report->friction_unconverged + report->contact_unconverged > 0;
  *m->halvings += n_halvings;
  if (report->residual > *m->residual) {
    *m->residual      = report->residual;
    *m->residual_body = number_of(m->scene, report->residual_body);
  }
  if (o->depth > *m->overlap) *m->overlap = o->depth, *m->overlap_a = o->depth_of[0], *m->overlap_b = o->depth_of[1];
  if (o->ratio > *m->ratio) *m->ratio = o->ratio, *m->ratio_a = o->ratio_of[0], *m->ratio_b = o->ratio_of[1];
  *m->friction_work += report->contact.friction_work_done;
  *m->correction_work += o->correction_work + report->contact.correction_work;
  if (!*m->external_work) add_energy(m, sum, report->contact.start_energy, contact_energy(m, report), dt);
  (void)fallen_bodies_count(m->scene, warn_of_fallen);
  PetscCall(quality_monitor_store_warnings(m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ==== result ==== */

static void pair_text(const scene *s, double depth, int64_t a, int64_t b, size_t size, char *text)
{
  text[0] = '\0';
  if (depth > 0.0) snprintf(text, size, "%s, %s", name_of(s, a), name_of(s, b));
}

PetscErrorCode quality_monitor_result(const quality_monitor *m, int64_t n_steps, quality_texts *t, run_quality *out)
{
  const scene *s         = m->scene;
  const double exchanged = fmax(fmax(*m->exchanged, *m->most_potential - *m->least_potential), *m->floor);
  const bool   has       = *m->has_energy && exchanged > 0.0;
  const int    n         = warning_list_count(s->warnings);
  PetscFunctionBegin;
  PetscCall(memory_alloc("warnings", n, sizeof *t->warning, &t->warning));
  for (int i = 0; i < n; ++i) t->warning[i] = (key_item){.value = warning_list_text(s->warnings, i)};
  pair_text(s, *m->overlap, *m->overlap_a, *m->overlap_b, sizeof t->overlap, t->overlap);
  pair_text(s, *m->ratio, *m->ratio_a, *m->ratio_b, sizeof t->ratio, t->ratio);
  *out = (run_quality){.steps                  = n_steps,
                       .steps_above_tolerance  = *m->steps_above,
                       .largest_residual       = *m->residual,
                       .largest_residual_body  = name_of(s, *m->residual_body),
                       .deepest_overlap        = *m->overlap,
                       .deepest_overlap_bodies = t->overlap,
                       .overlap_ratio          = *m->ratio,
                       .overlap_ratio_bodies   = t->ratio,
                       .energy_increase        = has ? *m->increase : NAN,
                       .energy_increase_ratio  = has ? *m->increase / exchanged : NAN,
                       .energy_not_checked     = m->external_work,
                       .fallen_bodies          = fallen_bodies_count(s, NULL),
                       .relaxation_steps       = *m->relaxations > 0 ? (double)*m->relaxations : NAN,
                       .remaining_velocity     = *m->relaxations > 0 ? *m->remaining_velocity : NAN,
                       .step_halvings          = *m->halvings,
                       .warnings               = n,
                       .warning_texts          = {n, t->warning}};
  run_quality_evaluate(out, &t->bad);
  PetscFunctionReturn(PETSC_SUCCESS);
}
