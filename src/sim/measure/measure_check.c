/* What a job asks to be measured, against what its quantities ask of it. */
#include <string.h>
#include "discretize/body_kinds.h"
#include "discretize/fem/tetrahedra.h"
#include "discretize/particles/particles.h"
#include "discretize/nodal/nodal_body.h"
#include "discretize/rigid/rigid_body.h"
#include "sim/measure/measure.h"
#include "sim/measure/measure_quantity.h"
#include "sim/scene/scene.h"

/* One measure being looked at. */
typedef struct {
  const scene            *scene;
  const key_item         *item;
  const measure_spec      *spec;
  const measure_quantity *quantity;
  char                    path[256];
  diagnostics            *d;
} subject;

static const struct {
  unsigned    key;
  const char *name;
} key_names[] = {{TAKE_BODY, "body"}, {TAKE_OTHER, "other"}, {TAKE_DIRECTION, "direction"}, {TAKE_POINT, "point"}, {TAKE_FRACTION, "fraction"},
                 {TAKE_EXPECTED, "expected"}, {TAKE_WITHIN, "within"}, {TAKE_RADIUS, "radius"}, {TAKE_PART, "part"}};

static void check_keys(const subject *s)
{
  for (size_t i = 0; i < sizeof key_names / sizeof *key_names; ++i) {
    const char *name     = key_names[i].name;
    const bool  is_given = document_find(s->item->node, name) != NULL;
    if (is_given && !(s->quantity->takes & key_names[i].key))
      diagnostics_add_under(s->d, s->item->node, s->path, name, "quantity %s does not use it; leave it out", s->quantity->name);
    if (!is_given && s->quantity->wants & key_names[i].key)
      diagnostics_add_under(s->d, s->item->node, s->path, NULL, "missing required key \"%s\": quantity %s wants a %s", name, s->quantity->name,
                            strcmp(name, "within") == 0 ? "box" : name);
  }
  if (s->spec->other && !s->spec->body && !(s->quantity->wants & TAKE_BODY))
    diagnostics_add_under(s->d, s->item->node, s->path, "other", "wants a body beside it: contacts between `body` and `other`");
}

/* What touches: links do, not the whole that they are of. */
static bool is_touched(const scene_body *b) { return !b->kind->ops->parts && !b->kind->ops->is_shapeless; }

/* Triangles to touch, or a half-space. */
static bool has_triangles(const body *b)
{
  body_surface        one = {0};
  int                 n = 0;
  const convex_solid *solid = b->ops->solids ? b->ops->solids(b, &n) : NULL;
  if (b->ops->surface) b->ops->surface(b, &one);
  for (int k = 0; solid && k < n; ++k)
    if (solid[k].kind == CONVEX_HALF_SPACE) return true;
  return one.n_triangles > 0;
}

static unsigned what_is(const scene_body *b)
{
  return (rigid_body_of(b->body) ? OF_RIGID : 0u) | (particles_of(b->body) ? OF_PARTICLES : 0u) | (b->body->ops->nodes ? OF_NODES : 0u) | (b->body->ops->nodes && b->body->ops->surface ? OF_SURFACE : 0u) |
         (b->kind == &fem_body_kind ? OF_ELEMENTS : 0u) | (b->kind == &mac_body_kind ? OF_CONTINUUM : 0u) | (body_system(b->body) ? OF_MASS : 0u) |
         (b->whole >= 0 ? OF_LINK : 0u) | (is_touched(b) ? OF_TOUCHED : 0u) | (has_triangles(b->body) ? OF_TRIANGLES : 0u);
}

static void check_kind(const subject *s, const char *key, int b)
{
  static const struct {
    const char *kind;
    unsigned    of;
  } kinds[] = {{"rigid", OF_RIGID | OF_MASS}, {"kinematic", OF_RIGID}, {"static", OF_RIGID}, {"mpm", OF_PARTICLES | OF_MASS}, {"mac", OF_PARTICLES | OF_MASS | OF_CONTINUUM},
               {"fem", OF_NODES | OF_SURFACE | OF_ELEMENTS | OF_MASS}, {"cloth", OF_NODES | OF_SURFACE | OF_MASS}, {"rod", OF_NODES | OF_MASS}};
  const char *fit[sizeof kinds / sizeof *kinds];
  char        words[200] = "";
  int         n = 0;
  if (s->quantity->of == 0 || what_is(&s->scene->bodies[b]) & s->quantity->of) return;
  if (s->quantity->of & OF_TRIANGLES) {
    diagnostics_add_under(s->d, s->item->node, s->path, key, "quantity %s wants a body that is touched as triangles: of kind fem or cloth, or with contact_surface: mesh; or a plane", s->quantity->name);
    return;
  }
  if (s->quantity->of & (OF_LINK | OF_TOUCHED)) {
    const bool is_link = s->quantity->of & OF_LINK;
    diagnostics_add_under(s->d, s->item->node, s->path, key, "quantity %s wants a link%s of an articulated body: body: NAME.LINK", s->quantity->name,
                          is_link ? "" : " with a shape");
    return;
  }
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i)
    if (kinds[i].of & s->quantity->of) fit[n++] = kinds[i].kind;
  for (int i = 0; i < n; ++i) {
    const size_t used = strlen(words);
    snprintf(words + used, sizeof words - used, "%s%s", i == 0 ? "" : i + 1 < n ? ", " : " or ", fit[i]);
  }
  diagnostics_add_under(s->d, s->item->node, s->path, key, "quantity %s wants a body of kind %s", s->quantity->name, words);
}

/* -1 after a complaint, or if none is given. */
static int check_name(const subject *s, const char *key, const char *name)
{
  const char *names[256];
  int         n = 0;
  if (!name) return -1;
  const int b = scene_find_body(s->scene, name);
  if (b >= 0) return b;
  for (; n < s->scene->n_bodies && n < 256; ++n) names[n] = s->scene->bodies[n].name;
  const char *nearest = diagnostics_nearest(name, n, names);
  diagnostics_add_under(s->d, s->item->node, s->path, key, "no body is called \"%s\"%s%s%s", name, nearest ? "; did you mean \"" : "",
                        nearest ? nearest : "", nearest ? "\"?" : "; give a name of bodies:");
  return -1;
}

static PetscErrorCode check_values(const subject *s)
{
  const measure_spec *spec = s->spec;
  vector_field    *compiled;
  PetscFunctionBegin;
  if (isfinite(spec->direction[0]) && v3_norm(spec->direction) == 0)
    diagnostics_add_under(s->d, s->item->node, s->path, "direction", "must not be the zero vector");
  for (int i = 0; spec->within && i < 3; ++i)
    if (!(spec->within->max[i] > spec->within->min[i])) {
      diagnostics_add_under(s->d, s->item->node, s->path, "within", "max[%d] = %g m is not beyond min[%d] = %g m", i, spec->within->max[i], i, spec->within->min[i]);
      break;
    }
  if (spec->expected.n > 0 && s->quantity->takes & TAKE_EXPECTED) {
    PetscCall(vector_field_create(&spec->expected, s->item->node, s->path, s->d, &compiled));
    vector_field_destroy(&compiled);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* It names a file, a field of a checkpoint, and a variable of until:. */
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
    const key_item    *item = &list->item[i];
    const measure_spec *spec = item->value;
    subject            one  = {.scene = s, .item = item, .spec = spec, .quantity = &measure_quantities[spec->quantity], .d = d};
    snprintf(one.path, sizeof one.path, "measure.%s", item->name);
    check_own_name(&one);
    check_keys(&one);
    const int b = check_name(&one, "body", spec->body);
    const int other = check_name(&one, "other", spec->other);
    if (b >= 0) check_kind(&one, "body", b);
    if (other >= 0 && one.quantity->of & (OF_TOUCHED | OF_TRIANGLES)) check_kind(&one, "other", other);
    PetscCall(check_values(&one));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
