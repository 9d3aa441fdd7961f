#include "sim/measure/measure_quantity.h"
#include "sim/measure/measure.h"
#include "sim/scene/scene.h"

const measure_quantity measure_quantities[] = {
#define X(name, unit, of, wants, takes, help) {#name, unit, of, wants, (wants) | (takes), measure_##name},
  QUANTITY_TABLE(X)
#undef X
  {0}};
const char *const measure_quantity_names[] = {
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
static const key_table box_table = {.name = "measure.within", .help = "A box with edges along the axes.", .size = sizeof(measure_box), .keys = box_keys};
static const char *const parts[] = {[MEASURE_PART_NORMAL] = "normal", [MEASURE_PART_FRICTION] = "friction", NULL};

#define OF(member) .name = #member, .offset = offsetof(measure_spec, member)
static const key_spec measure_keys[] = {
  {OF(quantity), .type = KEY_ENUM, .choices = measure_quantity_names, .choice_help = quantity_help,
   .help = "what is recorded; a vector is recorded along direction, or as its norm if none is given"},
  {OF(body), .type = KEY_STRING, .is_optional = true, .help = "of which body"},
  {OF(other), .type = KEY_STRING, .is_optional = true, .help = "the other body, where two matter"},
  {OF(direction), .type = KEY_REALS, .count = 3, .is_optional = true, .help = "made a unit vector"},
  {OF(point), .type = KEY_REALS, .count = 3, .unit = "m", .is_optional = true, .help = "see the quantity; the origin if not given"},
  {OF(fraction), .type = KEY_REAL, .min = 0, .max = 1, .is_optional = true, .help = "see the quantity; 1 if not given"},
  {OF(within), .type = KEY_TABLE, .table = &box_table, .is_optional = true, .help = "where to look"},
  {OF(radius), .type = KEY_REAL, .unit = "m", .min = 0, .max = INFINITY, .is_open = true, .is_optional = true, .help = "around `point`; or see the quantity"},
  {OF(part), .type = KEY_ENUM, .choices = parts, .is_optional = true, .help = "of a contact force; all of it if not given"},
  {OF(expected), .type = KEY_STRINGS, .is_optional = true, .help = "three expressions in X, Y, Z (initial position), x, y, z (position) and t"},
  {OF(every), .type = KEY_REAL, .unit = "s", .fallback = "0", .min = 0, .max = INFINITY, .help = "time between records; 0: every step"},
  {.name = NULL}};
const key_table measure_table = {.name = "measure",
                                 .help = "A quantity of the run, recorded as a table measure/NAME.csv of step, time and value. A key that the quantity "
                                         "does not use is refused. Particles lie a quarter of a grid cell or so inside the surface of what they "
                                         "stand for.",
                                 .size = sizeof(measure_spec),
                                 .keys = measure_keys};

/* --- what several of them need ----------------------------------------------------------------------------------------- */

void measure_up(const scene *s, double up[3])
{
  const double g = v3_norm(s->gravity);
  v3_set(up, 0.0, 0.0, 1.0);
  if (g > 0.0) v3_scale(up, -1.0 / g, s->gravity);
}

body *measure_body_of(const measure_moment *now, const measure *k) { return now->scene->bodies[k->body].body; }
