/* The table of quantities and the keys of measures, the checks against a scene, and the recording of tables during a run. */
#include "sim/measure/measure.h"
#include "core/memory.h"
#include "discretize/body_kinds.h"
#include "discretize/particles/particles.h"
#include "discretize/rigid/rigid_body.h"
#include "io/history.h"
#include "io/sealed_file.h"
#include "sim/measure/measure_flow.h"
#include "sim/measure/measure_quantity.h"
#include "sim/scene/scene.h"
#include "sim/scene/scene_intersections.h"
#include <string.h>

/* ==== quantities and keys ==== */

/* Ends with name NULL; measure_spec.quantity is the index. */
static const measure_quantity measure_quantities[] = {
#define X(name, unit, of, wants, takes, help) {#name, unit, of, wants, (wants) | (takes), measure_##name},
    QUANTITY_TABLE(X)
#undef X
        {0}};
/* For KEY_ENUM. */
static const char *const measure_quantity_names[] = {
#define X(name, unit, of, wants, takes, help) #name,
    QUANTITY_TABLE(X)
#undef X
        NULL};

static const char *const quantity_help[] = {
#define X(name, unit, of, wants, takes, help) "[" unit "] " help,
    QUANTITY_TABLE(X)
#undef X
};

/* --- keys ------------------------------------------------------------------------------------------------------------ */

static const key_spec box_keys[] = {
    {.name = "min", .type = KEY_REALS, .count = 3, .offset = offsetof(measure_box, min), .unit = "m", .help = "lower corner"},
    {.name = "max", .type = KEY_REALS, .count = 3, .offset = offsetof(measure_box, max), .unit = "m", .help = "upper corner"},
    {.name = NULL}};
static const key_table box_table = {
    .name = "measure.within", .help = "A box with edges along the axes.", .size = sizeof(measure_box), .keys = box_keys};
static const char *const axes[]  = {"x", "y", "z", NULL};
static const char *const parts[] = {[MEASURE_PART_NORMAL] = "normal", [MEASURE_PART_FRICTION] = "friction", NULL};

#define OF(member) .name = #member, .offset = offsetof(measure_spec, member)
/* clang-format off */
static const key_spec measure_keys[] = {
  {OF(quantity), .type = KEY_ENUM, .choices = measure_quantity_names, .choice_help = quantity_help,
   .help = "recorded quantity; a vector is recorded along direction, or as its norm if none is given"},
  {OF(body), .type = KEY_STRING, .is_optional = true, .help = "name of the body"},
  {OF(other), .type = KEY_STRING, .is_optional = true, .help = "the other body, for quantities of two bodies"},
  {OF(direction), .type = KEY_REALS, .count = 3, .is_optional = true, .help = "direction (any length)"},
  {OF(point), .type = KEY_REALS, .count = 3, .unit = "m", .is_optional = true, .help = "see the quantity; the origin if not given"},
  {OF(fraction), .type = KEY_REAL, .min = 0, .max = 1, .is_optional = true, .help = "see the quantity; 1 if not given"},
  {OF(within), .type = KEY_TABLE, .table = &box_table, .is_optional = true, .help = "box in which the quantity is evaluated"},
  {OF(radius), .type = KEY_REAL, .unit = "m", .min = 0, .max = INFINITY, .is_open = true, .is_optional = true, .help = "distance "
                                                                                                                       "from "
                                                                                                                       "`point`; "
                                                                                                                       "or see "
                                                                                                                       "the "
                                                                                                                       "quantity"},
  {OF(part), .type = KEY_ENUM, .choices = parts, .is_optional = true, .help = "part of a contact force; the total force if not "
                                                                              "given"},
  {OF(axis), .type = KEY_ENUM, .choices = axes, .is_optional = true, .help = "coordinate axis along which the box `within` is divided"},
  {OF(bins), .type = KEY_INT, .min = 1, .max = MEASURE_MOST_BINS, .is_optional = true, .help = "number of layers of the box `within`"},
  {OF(expected), .type = KEY_STRINGS, .is_optional = true, .help = "three expressions in X, Y, Z (initial position), x, y, z (position) and t"},
  {OF(every), .type = KEY_REAL, .unit = "s", .fallback = "0", .min = 0, .max = INFINITY, .help = "time between records; 0: every step"},
  {.name = NULL}};
/* clang-format on */
const key_table measure_table = {.name = "measure",
                                 .help = "A quantity of the run, recorded as a table measure/NAME.csv of step, time and value. A "
                                         "key that the quantity does not use is rejected. Particles are about a quarter of a grid "
                                         "cell inside the surface of the body that they represent. The name of an entry with `copies` "
                                         "refers to all of them; as particles, rigid bodies are their centres of mass.",
                                 .size = sizeof(measure_spec),
                                 .keys = measure_keys};

/* ==== checks of measures ==== */

/* The measure that is being checked. */
typedef struct {
  const scene            *scene;
  const key_item         *item;
  const measure_spec     *spec;
  const measure_quantity *quantity;
  char                    path[256];
  diagnostics            *d;
} subject;

static const struct {
  unsigned    key;
  const char *name;
} key_names[] = {{TAKE_BODY, "body"},     {TAKE_OTHER, "other"},       {TAKE_DIRECTION, "direction"},
                 {TAKE_POINT, "point"},   {TAKE_FRACTION, "fraction"}, {TAKE_EXPECTED, "expected"},
                 {TAKE_WITHIN, "within"}, {TAKE_RADIUS, "radius"},     {TAKE_PART, "part"},
                 {TAKE_AXIS, "axis"},     {TAKE_BINS, "bins"}};

static void check_keys(const subject *s)
{
  for (size_t i = 0; i < sizeof key_names / sizeof *key_names; ++i) {
    const char *name     = key_names[i].name;
    const bool  is_given = document_find(s->item->node, name) != NULL;
    if (is_given && !(s->quantity->takes & key_names[i].key))
      diagnostics_add_under(s->d, s->item->node, s->path, name, "quantity %s does not use it; remove it", s->quantity->name);
    if (!is_given && s->quantity->wants & key_names[i].key)
      diagnostics_add_under(s->d, s->item->node, s->path, NULL, "missing required key \"%s\": quantity %s needs a %s", name,
                            s->quantity->name,
                            strcmp(name, "within") == 0 ? "box"
                            : strcmp(name, "bins") == 0 ? "number of layers"
                                                        : name);
  }
  if (s->spec->other && !s->spec->body && !(s->quantity->wants & TAKE_BODY))
    diagnostics_add_under(s->d, s->item->node, s->path, "other", "needs a body, too: contacts between `body` and `other`");
}

/* Links can be in contact, but not the articulated body that they belong to. */
static bool is_touched(const scene_body *b) { return !b->kind->ops->parts && !b->kind->ops->is_shapeless; }

/* True if the body has triangles for contact, or is a half-space. */
static bool has_triangles(const body *b)
{
  body_surface        one   = {0};
  int                 n     = 0;
  const convex_solid *solid = b->ops->solids ? b->ops->solids(b, &n) : NULL;
  if (b->ops->surface) b->ops->surface(b, &one);
  for (int k = 0; solid && k < n; ++k)
    if (solid[k].kind == CONVEX_HALF_SPACE) return true;
  return one.n_triangles > 0;
}

static unsigned properties_of(const scene_body *b)
{
  return (rigid_body_of(b->body) ? OF_RIGID : 0u) | (particles_of(b->body) ? OF_PARTICLES : 0u) | (b->body->ops->nodes ? OF_NODES : 0u) |
         (b->body->ops->nodes && b->body->ops->surface ? OF_SURFACE : 0u) | (b->kind == &fem_body_kind ? OF_ELEMENTS : 0u) |
         (b->kind == &mac_body_kind ? OF_CONTINUUM : 0u) | (body_system(b->body) ? OF_MASS : 0u) | (b->whole >= 0 ? OF_LINK : 0u) |
         (is_touched(b) ? OF_TOUCHED : 0u) | (has_triangles(b->body) ? OF_TRIANGLES : 0u) | (rigid_body_dynamic(b->body) ? OF_GRAINS : 0u) |
         (b->whole < 0 && b->entry != b->name ? OF_COPIES : 0u);
}

static void check_kind(const subject *s, const char *key, int b)
{
  static const struct {
    const char *kind;
    unsigned    of;
  } kinds[] = {{"rigid", OF_RIGID | OF_MASS | OF_GRAINS},
               {"kinematic", OF_RIGID},
               {"static", OF_RIGID},
               {"mpm", OF_PARTICLES | OF_MASS},
               {"mac", OF_PARTICLES | OF_MASS | OF_CONTINUUM},
               {"fem", OF_NODES | OF_SURFACE | OF_ELEMENTS | OF_MASS},
               {"cloth", OF_NODES | OF_SURFACE | OF_MASS},
               {"rod", OF_NODES | OF_MASS},
               {"rigid with copies", OF_COPIES}};
  const char *fit[sizeof kinds / sizeof *kinds];
  char        words[200] = "";
  int         n          = 0;
  if ((s->quantity->of & ~(unsigned)OF_ONE) == 0 || properties_of(&s->scene->bodies[b]) & s->quantity->of) return;
  if (s->quantity->of & OF_TRIANGLES) {
    diagnostics_add_under(s->d, s->item->node, s->path, key,
                          "quantity %s needs a body with triangles for contact: of kind fem or "
                          "cloth, or with contact_surface: mesh; or a plane",
                          s->quantity->name);
    return;
  }
  if (s->quantity->of & (OF_LINK | OF_TOUCHED)) {
    const bool is_link = s->quantity->of & OF_LINK;
    diagnostics_add_under(s->d, s->item->node, s->path, key, "quantity %s needs a link%s of an articulated body: body: NAME.LINK",
                          s->quantity->name, is_link ? "" : " with a shape");
    return;
  }
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i)
    if (kinds[i].of & s->quantity->of) fit[n++] = kinds[i].kind;
  for (int i = 0; i < n; ++i) {
    const size_t used = strlen(words);
    snprintf(words + used, sizeof words - used, "%s%s", i == 0 ? "" : i + 1 < n ? ", " : " or ", fit[i]);
  }
  diagnostics_add_under(s->d, s->item->node, s->path, key, "quantity %s needs a body of kind %s", s->quantity->name, words);
}

/* Index of a body; -1 after an error, or if no name is given. */
static int check_name(const subject *s, const char *key, const char *name)
{
  const char *names[256];
  int         n = 0;
  if (!name) return -1;
  const body_range b = scene_find_bodies(s->scene, name);
  if (b.n > 1 && s->quantity->of & OF_ONE)
    diagnostics_add_under(s->d, s->item->node, s->path, key,
                          "quantity %s needs one body, but \"%s\" has %d copies: write %s.1 for the first one", s->quantity->name, name,
                          b.n, name);
  if (b.n > 0) return b.first;
  for (int i = 0; i < s->scene->n_bodies && n < 255; ++i) {
    const scene_body *one = &s->scene->bodies[i];
    if (one->whole < 0 && i > 0 && one->entry == s->scene->bodies[i - 1].entry) continue; /* further copies */
    names[n++] = scene_shared_name(s->scene, i);
  }
  const char *nearest = diagnostics_nearest(name, n, names);
  diagnostics_add_under(s->d, s->item->node, s->path, key, "no body is called \"%s\"%s%s%s", name, nearest ? "; did you mean \"" : "",
                        nearest ? nearest : "", nearest ? "\"?" : "; give a name of bodies:");
  return -1;
}

static PetscErrorCode check_values(const subject *s)
{
  const measure_spec *spec = s->spec;
  vector_field       *compiled;
  PetscFunctionBegin;
  if (isfinite(spec->direction[0]) && v3_norm(spec->direction) == 0)
    diagnostics_add_under(s->d, s->item->node, s->path, "direction", "must not be the zero vector");
  for (int i = 0; spec->within && i < 3; ++i)
    if (!(spec->within->max[i] > spec->within->min[i])) {
      diagnostics_add_under(s->d, s->item->node, s->path, "within", "max[%d] = %g m is not beyond min[%d] = %g m; increase max", i,
                            spec->within->max[i], i, spec->within->min[i]);
      break;
    }
  if (spec->expected.n > 0 && s->quantity->takes & TAKE_EXPECTED) {
    PetscCall(vector_field_create(&spec->expected, s->item->node, s->path, s->d, &compiled));
    vector_field_destroy(&compiled);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The name is used for a file, a field of checkpoints, and a variable of until:. */
static void check_own_name(const subject *s)
{
  const char  *name = s->item->name;
  const size_t n    = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");
  if (n == 0 || n > 60 || name[n])
    diagnostics_add_under(s->d, s->item->node, s->path, NULL, "names a file: expected at most 60 letters, digits, _ and -");
}

bool measures_need_origins(const key_list *list)
{
  for (int i = 0; i < list->n; ++i)
    if (((const measure_spec *)list->item[i].value)->expected.n > 0) return true;
  return false;
}

PetscErrorCode measures_check(const scene *s, const key_list *list, diagnostics *d)
{
  PetscFunctionBegin;
  for (int i = 0; i < list->n; ++i) {
    const key_item     *item = &list->item[i];
    const measure_spec *spec = item->value;
    subject             one  = {.scene = s, .item = item, .spec = spec, .quantity = &measure_quantities[spec->quantity], .d = d};
    snprintf(one.path, sizeof one.path, "measure.%s", item->name);
    check_own_name(&one);
    check_keys(&one);
    const int b     = check_name(&one, "body", spec->body);
    const int other = check_name(&one, "other", spec->other);
    if (b >= 0) check_kind(&one, "body", b);
    if (other >= 0 && one.quantity->of & (OF_TOUCHED | OF_TRIANGLES)) check_kind(&one, "other", other);
    PetscCall(check_values(&one));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ==== measures of a run ==== */

/* A measure and its table. */
typedef struct {
  measure            k;
  history           *table;
  measure_statistics statistics;
} entry;

struct measures {
  scene       *scene;
  formulation *formulation;
  named_state *named_state;
  int          n;
  entry       *entry;
};

/* --- before the first step ---------------------------------------------------------------------------------------------- */

/* The initial shape is also known after a restart. */
static int64_t node_closest_to(const body *b, const double x[3])
{
  int64_t    best = 0;
  double     near = INFINITY, d[3];
  body_nodes nodes;
  b->ops->nodes(b, &nodes);
  for (int64_t i = 0; i < nodes.n; ++i) {
    v3_sub(d, nodes.rest + 3 * i, x);
    if (v3_dot(d, d) < near) near = v3_dot(d, d), best = i;
  }
  return best;
}

static PetscErrorCode resolve_names(const scene *s, const key_item *item, measure *k)
{
  const measure_spec *spec = item->value;
  PetscFunctionBegin;
  k->name     = item->name;
  k->spec     = spec;
  k->quantity = &measure_quantities[spec->quantity];
  if (spec->body) k->bodies = scene_find_bodies(s, spec->body);
  if (spec->other) k->others = scene_find_bodies(s, spec->other);
  k->body          = spec->body ? k->bodies.first : -1;
  k->other         = spec->other ? k->others.first : -1;
  k->n_values      = k->quantity->takes & HAS_TENSOR ? 7 : k->quantity->takes & TAKE_BINS ? 1 + (int)spec->bins : 1;
  k->fraction      = isfinite(spec->fraction) ? spec->fraction : 1.0;
  k->has_direction = isfinite(spec->direction[0]);
  if (isfinite(spec->point[0])) v3_copy(k->point, spec->point);
  if (k->has_direction) v3_scale(k->direction, 1.0 / v3_norm(spec->direction), spec->direction);
  if (spec->expected.n > 0) {
    diagnostics *none;
    PetscCall(diagnostics_create(&none));
    PetscCall(vector_field_create(&spec->expected, item->node, item->name, none, &k->expected));
    diagnostics_destroy(&none);
  }
  if (k->body >= 0 && s->bodies[k->body].body->ops->nodes) k->node = node_closest_to(s->bodies[k->body].body, k->point);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode measures_create(scene *s, const key_list *list, formulation *f, named_state *keep, measures **out)
{
  const step_report nothing = {0};
  PetscFunctionBegin;
  measures *m;
  PetscCall(memory_alloc("measures", 1, sizeof *m, &m));
  *out = m;
  *m   = (measures){.scene = s, .formulation = f, .named_state = keep, .n = list->n};
  PetscCall(memory_alloc("measures", m->n, sizeof *m->entry, &m->entry));
  const measure_moment start = {.scene = s, .formulation = f, .report = &nothing, .clock = {.dt = s->options->time->step}};
  for (int i = 0; i < m->n; ++i) {
    measure *k = &m->entry[i].k;
    PetscCall(resolve_names(s, &list->item[i], k));
    m->entry[i].statistics = (measure_statistics)MEASURE_STATISTICS_NONE;
    if (k->quantity->value == measure_runout) PetscCall(measure_extent(&start, k, &k->reference));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- during the run ------------------------------------------------------------------------------------------------- */

/* Read the rows that are kept: their statistics, and the time of the last; minus infinity if there are none. */
static PetscErrorCode read_back(const char *path, measure_statistics *s, double *last)
{
  int     n_columns;
  int64_t n_rows;
  double *rows;
  PetscFunctionBegin;
  PetscCall(history_read(path, &n_columns, &n_rows, &rows));
  for (int64_t i = 0; i < n_rows; ++i) measure_statistics_add(s, rows[i * n_columns + 1], rows[i * n_columns + 2]);
  *last = n_rows > 0 ? rows[(n_rows - 1) * n_columns + 1] : -INFINITY;
  memory_free(&rows);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Continue the table of a resumed run. A last record that is older than the recording interval means that rows are missing. */
static PetscErrorCode continue_table(entry *e, const char *path, int64_t resume_step, const sim_clock *now)
{
  const double every = e->k.spec->every;
  double       last  = -INFINITY;
  PetscFunctionBegin;
  PetscCall(read_back(path, &e->statistics, &last));
  if (!(now->time - last < every * (1.0 + 1e-6))) (void)history_is_whole(e->table, resume_step, 1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static bool is_flow(const measure *k) { return k->quantity->value == measure_flow_rate; }

/* Columns: step, time, the value, and further values of tensors and profiles. */
static PetscErrorCode open_table(entry *e, const char *path, int64_t resume_step)
{
  static const char *const components[]                   = {"xx", "yy", "zz", "yz", "zx", "xy"};
  const char              *names[2 + MEASURE_MOST_VALUES] = {"step", "time", e->k.name}, *units[2 + MEASURE_MOST_VALUES] = {"1", "s"};
  char                     bins[MEASURE_MOST_BINS][16];
  PetscFunctionBegin;
  for (int i = 0; i < e->k.n_values; ++i) units[2 + i] = e->k.quantity->unit;
  for (int i = 1; i < e->k.n_values; ++i) {
    if (e->k.quantity->takes & TAKE_BINS) (void)snprintf(bins[i - 1], sizeof bins[0], "bin_%d", i);
    names[2 + i] = e->k.quantity->takes & TAKE_BINS ? bins[i - 1] : components[i - 1];
  }
  PetscCall(history_open(path, 2 + e->k.n_values, names, units, resume_step, &e->table));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode measures_open(measures *m, const char *dir, int64_t resume_step, const sim_clock *now)
{
  const step_report    nothing = {0};
  const measure_moment moment  = {m->scene, m->formulation, &nothing, *now};
  char                 path[4400];
  PetscFunctionBegin;
  snprintf(path, sizeof path, "%s/measure", dir);
  if (m->n > 0) PetscCall(file_make_directory(path));
  for (int i = 0; i < m->n; ++i) {
    entry *e = &m->entry[i];
    snprintf(path, sizeof path, "%s/measure/%s.csv", dir, e->k.name);
    PetscCall(open_table(e, path, resume_step));
    if (resume_step >= 0) PetscCall(continue_table(e, path, resume_step, now));
    if (is_flow(&e->k)) PetscCall(measure_flow_open(&moment, m->named_state, &e->k));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode record_value(entry *e, const measure_moment *moment)
{
  double row[2 + MEASURE_MOST_VALUES] = {(double)moment->clock.step, moment->clock.time};
  PetscFunctionBegin;
  for (int i = 0; i < e->k.n_values; ++i) row[2 + i] = NAN;
  PetscCall(e->k.quantity->value(moment, &e->k, row + 2));
  measure_statistics_add(&e->statistics, moment->clock.time, row[2]);
  PetscCall(history_row(e->table, row));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode measures_record(measures *m, const sim_clock *now, const step_report *report)
{
  const measure_moment moment = {m->scene, m->formulation, report, *now};
  PetscFunctionBegin;
  for (int i = 0; i < m->n; ++i) {
    entry *e = &m->entry[i];
    if (is_flow(&e->k)) PetscCall(measure_flow_step(&moment, &e->k));
    if (e->k.spec->every == 0.0 || sim_clock_is_due(now, e->k.spec->every)) PetscCall(record_value(e, &moment));
    if (is_flow(&e->k)) PetscCall(measure_flow_keep(&e->k, m->named_state));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode measures_flush(measures *m)
{
  PetscFunctionBegin;
  for (int i = 0; i < m->n; ++i) PetscCall(history_flush(m->entry[i].table));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const measure_statistics *measures_statistics(const measures *m, int i, const char **unit)
{
  if (unit) *unit = m->entry[i].k.quantity->unit;
  return &m->entry[i].statistics;
}

PetscErrorCode measures_destroy(measures **m)
{
  PetscErrorCode code = PETSC_SUCCESS;
  PetscFunctionBegin;
  if (!*m) PetscFunctionReturn(PETSC_SUCCESS);
  for (int i = 0; i < (*m)->n && (*m)->entry; ++i) {
    const PetscErrorCode one = history_close(&(*m)->entry[i].table);
    code                     = code ? code : one;
    vector_field_destroy(&(*m)->entry[i].k.expected);
    measure_flow_close(&(*m)->entry[i].k);
    measure_points_free(&(*m)->entry[i].k.points);
    scene_intersections_destroy(&(*m)->entry[i].k.intersections);
  }
  MEMORY_FREE(&(*m)->entry, m);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
