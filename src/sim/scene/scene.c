/* Construction of a scene in order: materials, bodies and their parts, contact laws, contact detection data, systems. Then the
 * functions used during a run. */
#include "sim/scene/scene.h"
#include "contact/detection/contact_detectors.h"
#include "contact/penalty/restitution.h"
#include "core/diagnostics.h"
#include "core/math3.h"
#include "core/memory.h"
#include "discretize/articulated/articulated_body.h"
#include "discretize/body_kinds.h"
#include "discretize/material/material_registry.h"
#include "discretize/mac/mac_side.h"
#include "discretize/rigid/rigid_body.h"
#include "discretize/rigid/rigid_table.h"
#include "sim/scene/body_releases.h"
#include "sim/scene/rotation_step.h"
#include "sim/scene/contact_classes.h"
#include "sim/scene/scene_overlaps.h"
#include "sim/scene/contact_stiffness.h"
#include <string.h>

/* Set s->laws from `contact:` of the job; errors about missing values and unknown names go to `d`. Accepts bodies whose
 * creation failed. */
static PetscErrorCode scene_build_laws(scene *s, diagnostics *d);
/* Add the sides of the grid's domain as bodies [up to SCENE_WALLS] if they constrain any rigid body. */
enum { SCENE_WALLS = 6 };
static PetscErrorCode scene_add_walls(scene *s);
static bool           scene_is_wall(const scene *s, int i);
/* Initial contact law of bodies i and j before contact.pairs, if one of them is a side of the domain: contact only for rigid
 * bodies that start inside it; no friction if the side is smooth or no coefficient is given. */
static void scene_wall_law(const scene *s, int i, int j, contact_law *law);
/* Bits of the sides that body i can touch; of a side: its own bit. */
static unsigned scene_sides_of(const scene *s, int i);
/* Number the frames, and allocate the lists of contact sources, objects and meshes. */
static PetscErrorCode scene_build_contact(scene *s);
/* Fill these lists with the bodies that do not wait. */
static void scene_list_contact(scene *s);

/* --- materials ------------------------------------------------------------------------------------------------------- */

static PetscErrorCode build_materials(scene *s, diagnostics *d)
{
  PetscFunctionBegin;
  const key_list *list = &s->options->materials;
  PetscCall(memory_alloc("materials", list->n, sizeof(material *), &s->materials));
  for (int i = 0; i < list->n; ++i) {
    const key_item      *item = &list->item[i];
    const PetscErrorCode code = material_from_variant(item->name, item->variant, item->value, &s->materials[s->n_materials]);
    char                 path[256];
    snprintf(path, sizeof path, "materials.%s", item->name);
    if (!code) ++s->n_materials;
    else if (!diagnostics_take(d, item->node, path, NULL, code)) PetscCall(code);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const material *find_material(const scene *s, const char *name)
{
  for (int i = 0; i < s->n_materials; ++i)
    if (strcmp(s->materials[i]->name, name) == 0) return s->materials[i];
  return NULL;
}

/* The material that a body names; NULL if it names none, or after an error. */
static const material *material_of(const scene *s, const key_item *item, const body_kind *kind, const char *path, diagnostics *d)
{
  const char *name = ((const body_spec *)item->value)->material;
  if (!name || (kind->material == BODY_MATERIAL_OPTIONAL && !*name)) return NULL;
  char at[300];
  snprintf(at, sizeof at, "%s.material", path);
  const document_node *node = document_find(item->node, "material");
  const document_mark  mark = node ? node->mark : item->node->mark;
  const material      *m    = find_material(s, name);
  if (!m) {
    const char *names[256];
    int         n = 0;
    for (; n < s->n_materials && n < 256; ++n) names[n] = s->materials[n]->name;
    const char *nearest = diagnostics_nearest(name, n, names);
    diagnostics_add(d, mark, at, "no material is called \"%s\"%s%s%s", name, nearest ? "; did you mean \"" : "", nearest ? nearest : "",
                    nearest ? "\"?" : "; define it under materials:");
    return NULL;
  }
  const char *is = m->flow ? m->flow->is_liquid ? "liquid" : "granular" : m->law ? "elastic" : "rigid", *expected = NULL;
  if (kind->material == BODY_MATERIAL_WITH_LAW && !m->law) expected = "a deformable one";
  if (kind->material == BODY_MATERIAL_FLOWS && !m->flow) expected = "one of model granular or liquid";
  if (kind->material != BODY_MATERIAL_FLOWS && kind->material != BODY_MATERIAL_WITH_LAW && m->flow) expected = "a solid";
  if (expected) {
    diagnostics_add(d, mark, at, "material \"%s\" is %s; a body of kind %s needs %s", name, is, kind->name, expected);
    return NULL;
  }
  return m;
}

/* --- building -------------------------------------------------------------------------------------------------------- */

/* Masses outside these bounds overflow or underflow in products of a few numbers; no real body is near them. */
static const double smallest_mass = 1e-30, largest_mass = 1e30;

static PetscErrorCode check_mass(const scene *s, body *b, const body_request *r, diagnostics *d)
{
  PetscFunctionBegin;
  body_totals sum;
  if (!body_system(b) || !b->ops->totals) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(b->ops->totals(b, s->gravity, &sum));
  const bool is_empty_source = b->ops->emit && sum.mass == 0.0; /* filled later by its source */
  if (!is_empty_source && !(sum.mass >= smallest_mass && sum.mass <= largest_mass))
    diagnostics_add_under(d, r->node, r->path, NULL, "has a mass of %g kg: expected %g to %g kg; check the unit of length and the density",
                          sum.mass, smallest_mass, largest_mass);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Add the parts of body i after it. */
static PetscErrorCode add_parts(scene *s, int i, int *capacity)
{
  int n = 0;
  PetscFunctionBegin;
  const body  *whole = s->bodies[i].body;
  body *const *part  = whole && whole->ops->parts ? whole->ops->parts(whole, &n) : NULL;
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  *capacity += n;
  PetscCall(memory_resize("bodies", *capacity, sizeof *s->bodies, &s->bodies));
  for (int k = 0; k < n; ++k)
    s->bodies[s->n_bodies++] = (scene_body){.name     = part[k]->name,
                                            .entry    = s->bodies[i].entry,
                                            .kind     = part[k]->ops->is_shapeless ? &articulated_frame_kind : &articulated_link_kind,
                                            .material = s->bodies[i].material,
                                            .body     = part[k],
                                            .whole    = i};
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Add all copies of the entry `b`. */
static PetscErrorCode add_copies(scene *s, const body_request *r, scene_body b, int *capacity, diagnostics *d)
{
  int64_t n;
  body  **copy;
  PetscFunctionBegin;
  PetscCall(b.kind->create_copies(r, &s->world, d, &n, &copy));
  PetscCheck(n < INT32_MAX - *capacity, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: too many bodies", r->path);
  *capacity += (int)n;
  PetscCall(memory_resize("bodies", *capacity, sizeof *s->bodies, &s->bodies));
  for (int64_t i = 0; i < n; ++i) {
    b.name = copy[i]->name, b.body = copy[i];
    s->bodies[s->n_bodies++] = b;
  }
  if (n == 0) s->bodies[s->n_bodies++] = b; /* without a body, as after other errors, so that its name is known */
  memory_free(&copy);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Add the body of an entry of the job, with its parts, or all its copies. */
static PetscErrorCode add_bodies(scene *s, const key_item *item, int *capacity, diagnostics *d)
{
  PetscFunctionBegin;
  char       path[256];
  scene_body b = {.name = item->name, .entry = item->name, .whole = -1, .kind = body_kinds[item->variant]};
  snprintf(path, sizeof path, "bodies.%s", item->name);
  b.material                 = material_of(s, item, b.kind, path, d);
  const body_request request = {.name = item->name, .path = path, .spec = item->value, .material = b.material, .node = item->node};
  const int          before = diagnostics_count(d), first = s->n_bodies;
  if (b.kind->has_copies && b.kind->has_copies(item->value)) {
    PetscCall(add_copies(s, &request, b, capacity, d));
  } else {
    PetscCall(b.kind->create(&request, &s->world, d, &b.body));
    s->bodies[s->n_bodies++] = b;
    PetscCall(add_parts(s, first, capacity));
  }
  for (int i = first; i < s->n_bodies && diagnostics_count(d) == before; ++i)
    if (s->bodies[i].body && s->bodies[i].whole < 0) PetscCall(check_mass(s, s->bodies[i].body, &request, d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static int compare_names(const void *a, const void *b)
{
  return strcmp((*(const scene_body *const *)a)->name, (*(const scene_body *const *)b)->name);
}

/* A part is named WHOLE.PART, and a copy ENTRY.NUMBER; another body may have the same name. */
static PetscErrorCode check_own_names(const scene *s, diagnostics *d)
{
  const scene_body **by_name;
  PetscFunctionBegin;
  PetscCall(memory_alloc("names", s->n_bodies, sizeof(scene_body *), &by_name));
  for (int i = 0; i < s->n_bodies; ++i) by_name[i] = &s->bodies[i];
  qsort(by_name, (size_t)s->n_bodies, sizeof *by_name, compare_names);
  for (int i = 1; i < s->n_bodies; ++i) {
    const scene_body *one = by_name[i - 1], *two = by_name[i], *of = one->entry == one->name ? two : one;
    if (strcmp(one->name, two->name) == 0)
      diagnostics_add_under(d, document_find(s->world.job, "bodies"), "bodies", of->entry,
                            "has a %s whose full name \"%s\" is also the name of another body: rename one of them",
                            of->whole >= 0 ? "link" : "copy", of->name);
  }
  memory_free(&by_name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode build_bodies(scene *s, diagnostics *d)
{
  PetscFunctionBegin;
  const key_list *list = &s->options->bodies;
  s->world.job         = s->options->root;
  s->world.mpm_options = s->options->mpm;
  s->world.mac_options = s->options->mac;
  v3_copy(s->world.gravity, s->gravity);
  s->world.time_step       = s->options->time->step;
  s->world.has_light_nodes = s->options->formulation->has_light_nodes && !s->options->has_assembled_tangent;
  s->world.keeps_origins   = s->options->keeps_origins;
  int capacity             = list->n;
  PetscCall(memory_alloc("bodies", capacity, sizeof(scene_body), &s->bodies));
  for (int i = 0; i < list->n; ++i) PetscCall(add_bodies(s, &list->item[i], &capacity, d));
  PetscCall(check_own_names(s, d));
  if (diagnostics_count(d)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(memory_resize("bodies", s->n_bodies + SCENE_WALLS, sizeof(scene_body), &s->bodies));
  PetscCall(scene_add_walls(s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode finish_kinds(scene *s, diagnostics *d)
{
  PetscFunctionBegin;
  for (const body_kind *const *kind = body_kinds; *kind; ++kind)
    if ((*kind)->finish) PetscCall((*kind)->finish(&s->world, d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static bool is_listed(const scene *s, const body *system)
{
  for (int i = 0; i < s->n_systems; ++i)
    if (s->systems[i] == system) return true;
  return false;
}

/* Move the state of all dynamic rigid bodies into s->rigid. */
static PetscErrorCode build_rigid_table(scene *s)
{
  rigid_body **bodies __attribute__((cleanup(memory_free))) = NULL;
  int32_t     *number __attribute__((cleanup(memory_free))) = NULL;
  int64_t      n                                            = 0;
  PetscFunctionBegin;
  PetscCall(MEMORY_ALLOC("rigid bodies", ARRAY(bodies, s->n_bodies), ARRAY(number, s->n_bodies)));
  for (int i = 0; i < s->n_bodies; ++i) {
    bodies[n] = rigid_body_dynamic(s->bodies[i].body);
    if (bodies[n]) number[n++] = i;
  }
  PetscCall(rigid_table_create(n, bodies, number, &s->rigid));
  PetscFunctionReturn(PETSC_SUCCESS);
}

enum { MANY_RIGID = 256 };

/* Collect the systems with unknowns that neither wait nor rest, kind by kind. */
static void list_systems(scene *s)
{
  s->n_systems = 0;
  for (const body_kind *const *kind = body_kinds; *kind; ++kind)
    for (int i = 0; i < s->n_bodies; ++i) {
      body *system = s->bodies[i].kind == *kind ? body_system(s->bodies[i].body) : NULL;
      /* only systems of several bodies can be listed already */
      if (!system || system->is_waiting || system->is_resting ||
          ((system != s->bodies[i].body || system->ops->parts) && is_listed(s, system)))
        continue;
      s->systems[s->n_systems++] = system;
    }
  s->has_many_rigid = s->n_systems >= MANY_RIGID;
  for (int i = 0; i < s->n_systems; ++i) s->has_many_rigid = s->has_many_rigid && s->systems[i]->ops->points == POINT_RIGID;
}

void scene_list_present(scene *s)
{
  list_systems(s);
  scene_list_contact(s);
}
static void list_present(void *context) { scene_list_present(context); }

static PetscErrorCode create_releases(scene *s)
{
  body **of __attribute__((cleanup(memory_free))) = NULL;
  PetscFunctionBegin;
  PetscCall(memory_alloc("releases", s->n_bodies, sizeof *of, &of));
  for (int i = 0; i < s->n_bodies; ++i) of[i] = s->bodies[i].body;
  PetscCall(body_releases_create(s->n_bodies, of, &s->releases));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* List the systems, and register the fields of all bodies. */
static PetscErrorCode build_systems(scene *s)
{
  PetscFunctionBegin;
  PetscCall(memory_alloc("systems", s->n_bodies, sizeof(body *), &s->systems));
  list_systems(s);
  s->length_scale = INFINITY;
  for (int i = 0; i < s->n_bodies; ++i) {
    const body *system = body_system(s->bodies[i].body);
    if (system) s->length_scale = fmin(s->length_scale, system->ops->length(system));
  }
  if (!isfinite(s->length_scale)) s->length_scale = 1.0;
  PetscCall(field_table_create(&s->fields));
  PetscCall(build_rigid_table(s));
  PetscCall(rigid_table_fields(s->rigid, s->fields));
  rigid_table_on_restore(s->rigid, list_present, s);
  PetscCall(create_releases(s));
  for (int i = 0; i < s->n_systems; ++i)
    if (s->systems[i]->ops->fields) PetscCall(s->systems[i]->ops->fields(s->systems[i], s->fields));
  for (int i = 0; i < s->n_bodies; ++i) {
    body *b = s->bodies[i].body;
    if (b->ops->fields && body_system(b) != b && !is_listed(s, b)) PetscCall(b->ops->fields(b, s->fields));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Two copies of one entry. */
static bool is_same_entry(const scene *s, int i, int j)
{
  return s->bodies[i].whole < 0 && s->bodies[j].whole < 0 && s->bodies[i].entry == s->bodies[j].entry;
}

/* Check that the names in picture.transparent are bodies. */
static void check_transparent(const scene *s, diagnostics *d)
{
  const key_list *transparent = s->options->transparent;
  for (int k = 0; transparent && k < transparent->n; ++k) {
    const char *names[256];
    int         n = 0, found = 0;
    for (int i = 0; i < s->n_bodies; ++i) {
      found |= strcmp(s->bodies[i].name, transparent->item[k].value) == 0 || strcmp(s->bodies[i].entry, transparent->item[k].value) == 0;
      if (n < 256 && !(i > 0 && is_same_entry(s, i - 1, i))) names[n++] = s->bodies[i].entry;
    }
    const char *nearest = diagnostics_nearest(transparent->item[k].value, n, names);
    if (!found)
      diagnostics_add(d, transparent->item[k].node->mark, "picture.transparent", "no body is called \"%s\"%s%s%s",
                      (const char *)transparent->item[k].value, nearest ? "; did you mean \"" : "", nearest ? nearest : "",
                      nearest ? "\"?" : "; give names of bodies");
  }
}

static PetscErrorCode create_overlaps(scene *s)
{
  body **bodies;
  PetscFunctionBegin;
  const scene_formulation *f   = s->options->formulation;
  const overlap_scene      all = {.n_bodies                 = s->n_bodies,
                                  .pairs                    = s->pairs,
                                  .law                      = s->laws,
                                  .has_thick_fibres         = f->is_rigid,
                                  .touches_on_grid          = f->touches_on_grid,
                                  .overlap_correction_speed = s->options->contact->overlap_correction_speed,
                                  .acceleration_scale       = s->options->acceleration_scale};
  PetscCall(memory_alloc("bodies", s->n_bodies, sizeof *bodies, &bodies));
  for (int i = 0; i < s->n_bodies; ++i) bodies[i] = s->bodies[i].body;
  const PetscErrorCode code = scene_overlaps_create(&all, bodies, &s->overlaps);
  memory_free(&bodies);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode scene_create(MPI_Comm comm, const scene_options *options, diagnostics *d, scene **out)
{
  PetscFunctionBegin;
  scene *s;
  *out = NULL;
  PetscCall(memory_alloc("scene", 1, sizeof *s, &s));
  s->comm    = comm;
  s->options = options;
  v3_copy(s->gravity, options->gravity);
  PetscCall(warning_list_create(&s->warnings));
  for (int i = 0; i < options->ignored_warnings.n; ++i)
    PetscCall(warning_list_disable(s->warnings, options->ignored_warnings.item[i].value));
  PetscCall(build_materials(s, d));
  PetscCall(build_bodies(s, d));
  PetscCall(scene_build_laws(s, d));
  PetscCall(finish_kinds(s, d));
  check_transparent(s, d);
  if (diagnostics_count(d)) {
    scene_destroy(&s);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(scene_build_contact(s));
  PetscCall(build_systems(s));
  PetscCall(scene_set_time(s, 0.0));
  PetscCall(create_overlaps(s));
  if (options->formulation->check) PetscCall(options->formulation->check(s, d));
  if (diagnostics_count(d)) {
    scene_destroy(&s);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (int i = 0; i < s->n_bodies; ++i) {
    char path[300];
    snprintf(path, sizeof path, "bodies.%s", scene_shared_name(s, i));
    rotation_step_warn(s->bodies[i].body, path, options->time->step, s->warnings);
  }
  *out = s;
  PetscFunctionReturn(PETSC_SUCCESS);
}

void scene_destroy(scene **s)
{
  if (!*s) return;
  field_table_destroy(&(*s)->fields);
  warning_list_destroy(&(*s)->warnings);
  scene_overlaps_destroy(&(*s)->overlaps);
  body_releases_destroy(&(*s)->releases);
  pair_classes_destroy(&(*s)->pairs);
  for (int i = (*s)->n_bodies; i-- > 0;) { /* parts come after the body that owns them */
    body *b = (*s)->bodies[i].body;
    if (b && b->ops->destroy) b->ops->destroy(&b);
  }
  rigid_table_destroy(&(*s)->rigid);
  for (const body_kind *const *kind = body_kinds; *kind; ++kind)
    if ((*kind)->release) (*kind)->release(&(*s)->world);
  for (int i = 0; i < (*s)->n_materials; ++i) material_destroy(&(*s)->materials[i]);
  MEMORY_FREE(&(*s)->materials, &(*s)->bodies, &(*s)->systems, &(*s)->sources, &(*s)->objects, &(*s)->meshes, &(*s)->laws,
              &(*s)->auto_stiffness, s);
}

const document_node *scene_body_node(const scene *s, int i)
{
  return document_find(document_find(s->options->root, "bodies"), s->bodies[i].entry);
}

int scene_find_body(const scene *s, const char *name)
{
  for (int i = 0; i < s->n_bodies; ++i)
    if (strcmp(s->bodies[i].name, name) == 0) return i;
  return -1;
}

body_range scene_find_bodies(const scene *s, const char *name)
{
  const int  one = scene_find_body(s, name);
  body_range r   = {one, one >= 0};
  for (int i = 0; i < s->n_bodies && one < 0; ++i) {
    if (s->bodies[i].whole >= 0 || strcmp(s->bodies[i].entry, name) != 0) continue;
    if (r.n++ == 0) r.first = i;
  }
  return r;
}

/* --- during the run -------------------------------------------------------------------------------------------------- */

static void evaluate_frame(const scene *s, int i, double t, double dt, const double *v, rigid_frame *frames)
{
  const scene_body *b      = &s->bodies[i];
  const body       *system = body_system(b->body);
  rigid_frame      *f      = &frames[b->frame];
  if (!b->body->is_waiting && !b->body->is_resting) {
    b->body->ops->frame(b->body, t, dt, v ? v + 3 * (system ? system->first_block : 0) : NULL, f);
    return;
  }
  b->body->ops->frame(b->body, t, dt, NULL, f);
  v3_set(f->v, 0.0, 0.0, 0.0);
  v3_set(f->w, 0.0, 0.0, 0.0);
  f->block = -1;
}

PetscErrorCode scene_frames(const scene *s, double t, double dt, const double *v, rigid_frame *frames)
{
  PetscFunctionBegin;
  for (int i = 0; i < s->n_bodies; ++i)
    if (s->bodies[i].frame >= 0 && !(s->has_many_rigid && body_system(s->bodies[i].body))) evaluate_frame(s, i, t, dt, v, frames);
  if (!s->has_many_rigid) PetscFunctionReturn(PETSC_SUCCESS);
#pragma omp parallel for schedule(static)
  for (int i = 0; i < s->n_bodies; ++i)
    if (s->bodies[i].frame >= 0 && body_system(s->bodies[i].body)) evaluate_frame(s, i, t, dt, v, frames);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode scene_set_time(scene *s, double t)
{
  PetscFunctionBegin;
  for (int i = 0; i < s->n_bodies; ++i) {
    body *b = s->bodies[i].body;
    if (b->ops->move_to) b->ops->move_to(b, t);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode release_bodies(scene *s, double t)
{
  int64_t        n;
  const int32_t *list;
  int32_t        blocked;
  PetscFunctionBegin;
  PetscCall(body_releases_find(s->releases, t, s->overlaps, &n, &list, &blocked));
  for (int64_t k = 0; k < n; ++k) rigid_table_release(s->rigid, list[k]);
  if (n > 0) list_present(s);
  if (blocked >= 0) {
    char path[300];
    snprintf(path, sizeof path, "bodies.%s", scene_shared_name(s, blocked));
    warning_list_add(
        s->warnings, "pour-blocked", path,
        "the place of %s is occupied at t = %.5g s, so it is released later; choose a longer copies.pour.every, a smaller count, or a "
        "larger velocity or region",
        s->bodies[blocked].name, t);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode scene_emit(scene *s, double t, double dt)
{
  PetscFunctionBegin;
  for (int i = 0; i < s->n_bodies; ++i) {
    body *b = s->bodies[i].body;
    if (b->ops->emit) PetscCall(b->ops->emit(b, t, dt));
  }
  if (s->releases) PetscCall(release_bodies(s, t));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One line for the n copies of an entry. */
static PetscErrorCode describe_copies(const scene *s, int first, int n, FILE *out)
{
  double mass = 0.0, lightest = INFINITY, heaviest = 0.0;
  PetscFunctionBegin;
  for (int i = first; i < first + n; ++i) {
    body_totals sum;
    PetscCall(scene_body_totals(s, i, &sum));
    mass += sum.mass, lightest = fmin(lightest, sum.mass), heaviest = fmax(heaviest, sum.mass);
  }
  fprintf(out, "  %-16s %-10s %d copies, %.6g kg, ", s->bodies[first].entry, s->bodies[first].kind->name, n, mass);
  if (lightest < heaviest) fprintf(out, "%.4g to %.4g kg each, ", lightest, heaviest);
  if (s->bodies[first].body->ops->describe) s->bodies[first].body->ops->describe(s->bodies[first].body, out);
  fprintf(out, " each");
  const rigid_body *from = rigid_body_dynamic(s->bodies[first].body), *last = rigid_body_dynamic(s->bodies[first + n - 1].body);
  if (last->release > from->release) fprintf(out, ", released from %g to %g s", from->release, last->release);
  fprintf(out, "\n");
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode scene_describe(const scene *s, FILE *out)
{
  PetscFunctionBegin;
  const time_options *t = s->options->time;
  fprintf(out, "%s: %g s in steps of %g s", s->options->name, t->end, t->step);
  if (t->frame > 0) fprintf(out, ", a frame every %g s", t->frame);
  fprintf(out, "\n");
  for (int i = 0; i < s->n_bodies; ++i) {
    const scene_body *b = &s->bodies[i];
    if (scene_is_wall(s, i)) continue;
    if (b->whole < 0 && b->entry != b->name) {
      int n = 1;
      while (i + n < s->n_bodies && is_same_entry(s, i, i + n)) ++n;
      PetscCall(describe_copies(s, i, n, out));
      i += n - 1;
      continue;
    }
    fprintf(out, "  %-16s %-10s ", b->name, b->kind->name);
    if (body_system(b->body)) {
      body_totals sum;
      PetscCall(scene_body_totals(s, i, &sum));
      fprintf(out, "%.6g kg at (%.4g, %.4g, %.4g), ", sum.mass, sum.center[0], sum.center[1], sum.center[2]);
    }
    if (b->body->ops->describe) b->body->ops->describe(b->body, out);
    fprintf(out, "\n");
  }
  if (isfinite(s->auto_stiffness[0])) fprintf(out, "  contact.stiffness: auto is %.6g N/m\n", s->auto_stiffness[0]);
  for (int k = 0; k < s->options->contact->pairs.n; ++k)
    if (isfinite(s->auto_stiffness[1 + k])) fprintf(out, "  contact.pairs[%d].stiffness: auto is %.6g N/m\n", k, s->auto_stiffness[1 + k]);
  const scene_formulation *f = s->options->formulation;
  if (f->describe) PetscCall(f->describe(s, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode scene_body_totals(const scene *s, int i_body, body_totals *sum)
{
  const body *b = s->bodies[i_body].body;
  return b->ops->totals(b, s->gravity, sum);
}

/* The centre is summed with the mass as weight. */
static void add_totals(const body_totals *one, body_totals *sum)
{
  sum->mass += one->mass;
  sum->kinetic += one->kinetic;
  sum->elastic += one->elastic;
  sum->potential += one->potential;
  v3_axpy(sum->momentum, 1.0, one->momentum);
  v3_axpy(sum->angular_momentum, 1.0, one->angular_momentum);
  v3_axpy(sum->center, one->mass, one->center);
  sum->overshoot = fmax(sum->overshoot, one->overshoot);
  sum->turn      = fmax(sum->turn, one->turn);
}

PetscErrorCode scene_totals(const scene *s, body_totals *sum)
{
  PetscFunctionBegin;
  memset(sum, 0, sizeof *sum);
  for (int i = 0; i < s->n_systems; ++i) {
    body_totals one = {0};
    PetscCall(s->systems[i]->ops->totals(s->systems[i], s->gravity, &one));
    add_totals(&one, sum);
  }
  for (int i = 0; i < s->n_bodies; ++i) {
    body_totals one = {0};
    if (!s->bodies[i].body->is_resting) continue;
    PetscCall(scene_body_totals(s, i, &one));
    add_totals(&one, sum);
  }
  if (sum->mass > 0) v3_scale(sum->center, 1.0 / sum->mass, sum->center);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode scene_bodies_totals(const scene *s, body_range bodies, body_totals *sum)
{
  PetscFunctionBegin;
  if (bodies.n == 1 && !s->bodies[bodies.first].body->is_waiting) {
    PetscCall(scene_body_totals(s, bodies.first, sum));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  bool is_empty = true;
  memset(sum, 0, sizeof *sum);
  for (int i = 0; i < bodies.n; ++i) {
    body_totals one = {0};
    if (s->bodies[bodies.first + i].body->is_waiting) continue;
    PetscCall(scene_body_totals(s, bodies.first + i, &one));
    add_totals(&one, sum);
    is_empty = false;
  }
  if (sum->mass > 0) v3_scale(sum->center, 1.0 / sum->mass, sum->center);
  if (is_empty) v3_set(sum->center, NAN, NAN, NAN);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode scene_survey(const scene *s, body_survey **survey)
{
  body                **of;
  bool                 *is_part;
  const document_node **entry;
  PetscFunctionBegin;
  PetscCall(MEMORY_ALLOC("survey", ARRAY(of, s->n_bodies), ARRAY(is_part, s->n_bodies), ARRAY(entry, s->n_bodies)));
  for (int i = 0; i < s->n_bodies; ++i) of[i] = s->bodies[i].body, is_part[i] = s->bodies[i].whole >= 0, entry[i] = scene_body_node(s, i);
  survey_input in = {.n                  = s->n_bodies,
                     .body               = of,
                     .is_part            = is_part,
                     .entry              = entry,
                     .acceleration_scale = s->options->acceleration_scale,
                     .step               = s->options->time->step};
  v3_copy(in.gravity, s->gravity);
  const PetscErrorCode error = body_survey_create(&in, survey);
  MEMORY_FREE(&of, &is_part, &entry);
  PetscCall(error);
  for (int i = 0; i < s->n_bodies; ++i) {
    const material *m = s->bodies[i].material;
    if (!s->bodies[i].body || s->bodies[i].kind->material != BODY_MATERIAL_WITH_LAW || !m || !m->law || !m->law->wave_speed) continue;
    if (s->bodies[i].body->ops->segments) continue;
    (*survey)[i].density    = m->density;
    (*survey)[i].wave_speed = m->law->wave_speed(m->constants, m->density);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ==== contact laws ==== */

/* True if `name` is the name of body i, of the entry that it is a part or a copy of, or of its material. */
static bool is_named(const scene *s, int i, const char *name)
{
  return strcmp(s->bodies[i].name, name) == 0 || strcmp(s->bodies[i].entry, name) == 0 ||
         (s->bodies[i].material && strcmp(s->bodies[i].material->name, name) == 0);
}

/* "contact.pairs[k]": path of errors about an entry. */
typedef struct {
  char text[64];
} pair_path;
static pair_path path_of(const scene *s, const key_item *item)
{
  pair_path p;
  (void)snprintf(p.text, sizeof p.text, "contact.pairs[%d]", (int)(item - s->options->contact->pairs.item));
  return p;
}

/* Two parts of one body do not touch unless an entry names them, because joints overlap the shapes of adjacent links. */
static bool are_parts_of_one_body(const scene *s, int i, int j)
{
  return s->bodies[i].whole >= 0 && s->bodies[i].whole == s->bodies[j].whole;
}

static bool is_material(const scene *s, const char *name)
{
  for (int i = 0; i < s->n_bodies; ++i)
    if (strcmp(s->bodies[i].name, name) == 0 || (s->bodies[i].whole < 0 && strcmp(s->bodies[i].entry, name) == 0)) return false;
  return true;
}

static void check_pair_name(const scene *s, const key_item *item, const char *name, diagnostics *d)
{
  const char *names[256];
  int         n = 0;
  for (int i = 0; i < s->n_bodies; ++i) {
    if (is_named(s, i, name)) return;
    if (i > 0 && is_same_entry(s, i - 1, i)) continue;
    if (n < 255) names[n++] = scene_shared_name(s, i);
    if (n < 255 && s->bodies[i].material) names[n++] = s->bodies[i].material->name;
  }
  const char *nearest = diagnostics_nearest(name, n, names);
  diagnostics_add_under(d, item->node, path_of(s, item).text, "between", "no body or material in use is called \"%s\"%s%s%s", name,
                        nearest ? "; did you mean \"" : "", nearest ? nearest : "",
                        nearest ? "\"?" : "; give two names of bodies or materials");
}

/* True if body i has a triangle surface for contact; rigid bodies choose this individually. */
static bool has_surface(const scene_body *b)
{
  body_surface s = {0};
  if (b->body && b->body->ops->surface) b->body->ops->surface(b->body, &s);
  return s.n_triangles > 0;
}

static bool is_rigid(const scene *s) { return s->options->formulation->is_rigid; }

/* Contact on the grid of one of the two. */
static bool touch_on_grid(const scene *s, int a, int b)
{
  return s->options->formulation->touches_on_grid && !s->bodies[a].kind->ops->carrier != !s->bodies[b].kind->ops->carrier;
}

static bool can_be_touched(const body_ops *ops) { return ops->level_sets || ops->surface; }

/* With rigid contact, everything that moves is in contact with everything else; check_found reports pairs without a detector. */
static bool can_touch_rigid(const scene_body *a, const scene_body *b)
{
  const body_ops *one = a->kind->ops, *two = b->kind->ops;
  if (a == b) return one->segments || (one->surface && !one->frame);
  if (one->parts || two->parts || one->is_shapeless || two->is_shapeless)
    return false;                                                               /* their parts have contact; shapeless
                                                                                         * bodies have none */
  if (one->carrier && two->carrier && !one->frame && !two->frame) return false; /* both on one grid */
  return one->residual || one->carrier || two->residual || two->carrier;
}

/* Springs: points of one body against level sets or the surface of the other; the body with the points is movable. Bodies on one
 * grid are in contact there. */
static bool can_touch(const scene *s, int a, int b)
{
  const body_ops *one = s->bodies[a].kind->ops, *two = s->bodies[b].kind->ops;
  if ((scene_is_wall(s, a) && two->carrier) || (scene_is_wall(s, b) && one->carrier)) return false; /* the grid ends at the side */
  if (is_rigid(s)) return can_touch_rigid(&s->bodies[a], &s->bodies[b]);
  if (a == b) return one->surface && !one->frame; /* rigid bodies have no self-contact */
  return (one->points != POINT_NONE && can_be_touched(two)) || (two->points != POINT_NONE && can_be_touched(one));
}

/* Two bodies with points but without surfaces or level sets, and no shared grid: springs cannot detect their contact. */
static bool is_undetected(const scene *s, int a, int b)
{
  const body_ops *one = s->bodies[a].kind->ops, *two = s->bodies[b].kind->ops;
  return !is_rigid(s) && a != b && one->points != POINT_NONE && two->points != POINT_NONE && !can_be_touched(one) && !can_be_touched(two) &&
         (one->segments || two->segments);
}

/* An entry that names two bodies (or one body twice) that cannot be in contact is an error: it would have no effect. */
static void check_can_touch(const scene *s, const key_item *item, diagnostics *d)
{
  const contact_pair_options *p   = item->value;
  const char                 *one = p->between.item[0].value, *two = p->between.item[1].value;
  const body_range            first = scene_find_bodies(s, one), second = scene_find_bodies(s, two);
  const int                   a = first.first, b = second.first + (second.first == a && second.n > 1); /* two copies */
  if (a < 0 || b < 0 || can_touch(s, a, b) || is_undetected(s, a, b) || s->bodies[a].kind->ops->parts || s->bodies[b].kind->ops->parts)
    return;
  if (a == b)
    diagnostics_add_under(d, item->node, path_of(s, item).text, "between",
                          "\"%s\" is of kind %s; only bodies of kind fem and cloth, and rod with formulation exact, have "
                          "self-contact: remove the entry",
                          one, s->bodies[a].kind->name);
  else
    diagnostics_add_under(d, item->node, path_of(s, item).text, "between",
                          "\"%s\" (%s) and \"%s\" (%s) have no contact law: obstacles do not touch each other, and bodies of kind "
                          "mpm or mac are in contact on their grid; remove the entry",
                          one, s->bodies[a].kind->name, two, s->bodies[b].kind->name);
}

static void check_ellipse(const scene *s, const key_item *item, diagnostics *d)
{
  const contact_pair_options *p    = item->value;
  const pair_path             path = path_of(s, item);
  if (isfinite(p->friction_transverse) != isfinite(p->friction_direction[0]))
    diagnostics_add_under(d, item->node, path.text, NULL,
                          "friction_direction and friction_transverse must be given together: "
                          "give both or neither");
  else if (isfinite(p->friction_transverse) && !(v3_norm(p->friction_direction) > 0.0))
    diagnostics_add_under(d, item->node, path.text, "friction_direction", "expected a direction, got the zero vector");
}

/* `where`: the mapping that may contain the key, at `path`. */
static void check_restitution(const scene *s, double e, const document_node *where, const char *path, diagnostics *d)
{
  if (!where || !(e > 0.0) || !document_find(where, "restitution") || is_rigid(s)) return;
  if (e < RESTITUTION_LEAST || e == 1.0)
    diagnostics_add_under(d, where, path, "restitution", "%g: expected 0 (no damper) or a number from %g to less than 1", e,
                          RESTITUTION_LEAST);
}

static void set_restitution(const scene *s, double e, contact_law *law)
{
  law->restitution = e;
  law->damping     = is_rigid(s) ? 0.0 : restitution_damping(e);
}

static void set_overlap(int choice, contact_law *law)
{
  law->may_overlap  = choice != CONTACT_OVERLAP_REJECT;
  law->is_preloaded = choice == CONTACT_OVERLAP_PRELOAD;
}

static contact_law law_of(const scene *s, double stiffness, double friction, double e)
{
  contact_law law = {.stiffness = stiffness, .friction = friction};
  set_restitution(s, e, &law);
  return law;
}

static int count_level_sets(const body *b)
{
  int n = 0;
  if (b->ops->level_sets) (void)b->ops->level_sets(b, &n);
  return n;
}

/* Report pairs of bodies that may touch but have no contact detector. */
static void check_detector(const scene *s, int i, int j, const document_node *where, diagnostics *d)
{
  const scene_body *a = &s->bodies[i], *b = &s->bodies[j];
  if (!a->body || !b->body || contact_detectors_of(a->body, b->body)) return;
  if (touch_on_grid(s, i, j)) {
    const scene_body *solid = a->kind->ops->carrier ? b : a;
    if (count_level_sets(solid->body) == 0)
      diagnostics_add(d, where->mark, "contact",
                      "\"%s\" and \"%s\" may touch, but \"%s\" has no level set, which contact with "
                      "the grid requires: remove contact_surface: mesh, or set contact: false under "
                      "contact.pairs",
                      a->name, b->name, solid->name);
    return;
  }
  diagnostics_add(d, where->mark, "contact",
                  "\"%s\" (%s) and \"%s\" (%s) may touch, but formulation %s has no contact detector "
                  "for this pair: set contact: false under contact.pairs",
                  a->name, a->kind->name, b->name, b->kind->name, s->options->formulation->name);
}

/* Report curves whose nodes are not unknowns: springs cannot act on them. */
static void check_spring_nodes(const scene *s, int i, int j, const document_node *where, diagnostics *d)
{
  const body *a = s->bodies[i].body, *b = s->bodies[j].body;
  if (!a || !b || !a->ops->segments || a->ops->n_clusters(a) > 0 || !(b->ops->level_sets || b->ops->surface)) return;
  diagnostics_add(d, where->mark, "contact",
                  "\"%s\" and \"%s\" may touch, but \"%s\" has no nodes on which springs can act: use "
                  "formulation: exact, another model of rods, or set contact: false under contact.pairs",
                  s->bodies[i].name, s->bodies[j].name, s->bodies[i].name);
}

/* Report pairs that are named in contact.pairs but consist of points only. */
static void check_undetected(const scene *s, int i, int j, const document_node *where, diagnostics *d)
{
  const scene_body *a = &s->bodies[i], *b = &s->bodies[j];
  const bool        are_rods = a->kind->ops->segments && b->kind->ops->segments;
  if (is_undetected(s, i, j) && scene_law(s, i, j)->stiffness > 0.0)
    diagnostics_add(d, where->mark, "contact",
                    "\"%s\" (%s) and \"%s\" (%s) may touch, but formulation %s detects contact of "
                    "points with surfaces only, and neither has a surface: %sset contact: false under "
                    "contact.pairs",
                    a->name, a->kind->name, b->name, b->kind->name, s->options->formulation->name,
                    are_rods ? "use formulation: "
                               "exact or convex, "
                               "or "
                             : "");
}

/* Largest number of pairs in one list of errors; more are not printed anyway. */
enum { MAX_REPORTED = 1000 };

/* Context of a visit of pairs (pair_classes_visit). */
typedef struct {
  scene               *s;
  const int           *source; /* see set_auto_stiffness */
  const key_item      *item;
  const document_node *where;
  diagnostics         *d;
  const char          *hint;
  int                  first[2], n;
} pair_visit;

static bool keep_pair(void *context, int32_t i, int32_t j)
{
  pair_visit *v = context;
  v->first[0] = i, v->first[1] = j, ++v->n;
  return false;
}

/* Values of `stiffness: auto`, see contact_stiffness.h: that of contact.stiffness is the largest of all pairs that use it, that of an entry of
 * contact.pairs the largest of its pairs. *suggested: the largest of the pairs without any stiffness, for the error message; NaN if unknown. `source`
 * [n_slots]: 0: contact.stiffness, k: entry k - 1; -1: no contact. is_listed [n_slots]: work space, false. */
static PetscErrorCode set_auto_stiffness(scene *s, const int *source, bool *is_listed, diagnostics *d, double *suggested)
{
  const contact_options *c      = s->options->contact;
  const int64_t          n      = s->pairs->n_slots;
  body_survey           *survey = NULL;
  pair_visit             first  = {.n = 0};
  PetscFunctionBegin;
  *suggested = NAN;
  PetscCall(memory_alloc("scene", 1 + c->pairs.n, sizeof(double), &s->auto_stiffness));
  for (int k = 0; k <= c->pairs.n; ++k) s->auto_stiffness[k] = NAN;
  for (int64_t k = 0; k < n; ++k)
    is_listed[k] = source[k] >= 0 && (s->laws[k].stiffness == -INFINITY || (isnan(s->laws[k].stiffness) && !is_rigid(s)));
  pair_classes_visit(s->pairs, is_listed, keep_pair, &first);
  for (int i = 0; i <= first.first[0]; ++i)
    if (!s->bodies[i].body) PetscFunctionReturn(PETSC_SUCCESS); /* an error has been reported */
  if (first.n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(scene_survey(s, &survey));
  PetscErrorCode code = PETSC_SUCCESS;
  for (int64_t k = 0; k < n && !code; ++k) {
    double *const of = s->laws[k].stiffness == -INFINITY ? &s->auto_stiffness[source[k] < 0 ? 0 : source[k]] : suggested;
    if (source[k] >= 0) code = contact_stiffness_raise(survey, s->pairs, k, of);
  }
  memory_free(&survey);
  PetscCall(code);
  for (int64_t k = 0; k < n; ++k) {
    is_listed[k] = source[k] >= 0 && s->laws[k].stiffness == -INFINITY;
    if (is_listed[k]) s->laws[k].stiffness = s->auto_stiffness[source[k]];
    is_listed[k] = is_listed[k] && !isfinite(s->laws[k].stiffness);
  }
  first.n = 0;
  pair_classes_visit(s->pairs, is_listed, keep_pair, &first);
  if (first.n > 0)
    diagnostics_add_under(
        d, s->options->root, "contact", source[pair_slot(s->pairs, s->n_bodies, first.first[0], first.first[1])] ? "pairs" : "stiffness",
        "auto: \"%s\" and \"%s\" have neither a weight nor a velocity from which a stiffness follows; give a number in N/m",
        s->bodies[first.first[0]].name, s->bodies[first.first[1]].name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode create_classes(scene *s)
{
  contact_traits *of;
  PetscErrorCode  code = PETSC_SUCCESS;
  PetscFunctionBegin;
  PetscCall(memory_alloc("scene", s->n_bodies, sizeof *of, &of));
  for (int i = 0; i < s->n_bodies && !code; ++i) {
    const scene_body    *b       = &s->bodies[i];
    const triangle_mesh *surface = NULL;
    code                         = rigid_body_closed_surface(b->body, &surface);
    of[i]                        = (contact_traits){.kind               = b->kind,
                                                    .ops                = b->body ? b->body->ops : NULL,
                                                    .traits             = b->body ? contact_traits_of(b->body) : 0,
                                                    .has_closed_surface = surface != NULL,
                                                    .sides              = scene_sides_of(s, i),
                                                    .name               = {b->name, b->entry != b->name ? b->entry : NULL},
                                                    .group              = b->whole};
    if (b->material) of[i].name[2] = b->material->name;
  }
  if (!code) code = contact_classes_create(s->n_bodies, of, &s->options->contact->pairs, &s->pairs);
  memory_free(&of);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Flags of the pairs of a slot that their laws do not store. */
typedef struct {
  bool touches_itself, is_named_pair; /* self-contact requires an entry: [cloth, cloth], [arm, arm] */
} slot_flags;

static bool report_restitution_on_grid(void *context, int32_t i, int32_t j)
{
  pair_visit *v = context;
  diagnostics_add_under(v->d, v->item->node, path_of(v->s, v->item).text, "restitution",
                        "\"%s\" and \"%s\": contact with a continuum "
                        "has no restitution; remove it",
                        v->s->bodies[i].name, v->s->bodies[j].name);
  return ++v->n < MAX_REPORTED;
}

static bool report_no_friction(void *context, int32_t i, int32_t j)
{
  pair_visit *v = context;
  (void)i, (void)j;
  diagnostics_add_under(v->d, v->item->node, path_of(v->s, v->item).text, "friction", "must be > 0 with direction-dependent friction");
  return ++v->n < MAX_REPORTED;
}

/* True if the entry of contact.pairs names bodies i and j. */
static bool names_pair(const scene *s, const contact_pair_options *p, int i, int j)
{
  const char *one = p->between.item[0].value, *two = p->between.item[1].value;
  return (is_named(s, i, one) && is_named(s, j, two)) || (is_named(s, i, two) && is_named(s, j, one));
}

/* Apply entry k of contact.pairs to the pairs of a slot, of which (i, j) is one. */
static void apply_pair(scene *s, int k, int64_t slot, int i, int j, bool are_bodies, slot_flags *flag, int *source)
{
  const contact_pair_options *p   = s->options->contact->pairs.item[k].value;
  const char                 *one = p->between.item[0].value, *two = p->between.item[1].value;
  contact_law                *law = &s->laws[slot];
  if (i == j && strcmp(one, two) == 0 && strcmp(one, s->bodies[i].name) == 0) flag->touches_itself = true;
  flag->is_named_pair |= are_bodies;
  if (!isnan(p->stiffness)) law->stiffness = p->stiffness, source[slot] = 1 + k;
  if (isfinite(p->friction)) law->friction = p->friction;
  if (isfinite(p->restitution)) set_restitution(s, p->restitution, law);
  law->never_touch = !p->contact;
  if (p->initial_overlap >= 0) set_overlap(p->initial_overlap, law);
  if (!isfinite(p->friction_transverse)) return;
  law->friction_across = p->friction_transverse;
  v3_copy(law->direction, p->friction_direction);
}

/* Apply the entries of contact.pairs to the laws, and check them. is_listed [n_slots]: work space. */
static void apply_pairs(scene *s, slot_flags *flag, int *source, bool *is_listed, diagnostics *d)
{
  const contact_options *c = s->options->contact;
  for (int k = 0; k < c->pairs.n; ++k) {
    const key_item             *item = &c->pairs.item[k];
    const contact_pair_options *p    = item->value;
    pair_visit                  v    = {.s = s, .item = item, .d = d};
    if (p->between.n != 2) {
      diagnostics_add_under(d, item->node, path_of(s, item).text, "between", "expected two names, got %d", p->between.n);
      continue;
    }
    const char *one = p->between.item[0].value, *two = p->between.item[1].value;
    const bool  are_bodies = !is_material(s, one) && !is_material(s, two);
    check_pair_name(s, item, one, d);
    check_pair_name(s, item, two, d);
    check_can_touch(s, item, d);
    check_ellipse(s, item, d);
    check_restitution(s, p->restitution, item->node, path_of(s, item).text, d);
    for (int64_t slot = 0; slot < s->pairs->n_slots; ++slot) {
      int32_t of[2];
      is_listed[slot] = pair_example(s->pairs, s->n_bodies, slot, of) && names_pair(s, p, of[0], of[1]);
      if (is_listed[slot]) apply_pair(s, k, slot, of[0], of[1], are_bodies, &flag[slot], source);
      is_listed[slot] = is_listed[slot] && isfinite(p->friction_transverse) && !(s->laws[slot].friction > 0.0);
    }
    pair_classes_visit(s->pairs, is_listed, report_no_friction, &v);
    if (!isfinite(p->restitution) || !s->options->formulation->touches_on_grid) continue;
    for (int64_t slot = 0; slot < s->pairs->n_slots; ++slot) {
      int32_t of[2];
      is_listed[slot] = pair_example(s->pairs, s->n_bodies, slot, of) && names_pair(s, p, of[0], of[1]) && touch_on_grid(s, of[0], of[1]);
    }
    v.n = 0;
    pair_classes_visit(s->pairs, is_listed, report_restitution_on_grid, &v);
  }
}

static bool visit_undetected(void *context, int32_t i, int32_t j)
{
  pair_visit *v = context;
  check_undetected(v->s, i, j, v->where, v->d);
  return ++v->n < MAX_REPORTED;
}

static bool needs_stiffness(const scene *s, const contact_law *law) { return isnan(law->stiffness) && !is_rigid(s); }
static bool needs_friction(const scene *s, const contact_law *law)
{
  return !needs_stiffness(s, law) && (law->stiffness > 0 || is_rigid(s)) && isnan(law->friction);
}

/* Report everything that pair (i, j), which may touch, lacks. */
static bool report_missing(void *context, int32_t i, int32_t j)
{
  pair_visit        *v   = context;
  const scene       *s   = v->s;
  const contact_law *law = scene_law(s, i, j);
  if (is_rigid(s)) check_detector(s, i, j, v->where, v->d);
  else if (law->stiffness > 0.0) check_spring_nodes(s, i, j, v->where, v->d), check_spring_nodes(s, j, i, v->where, v->d);
  if (needs_stiffness(s, law)) {
    diagnostics_add(v->d, v->where->mark, "contact.stiffness",
                    "missing: \"%s\" and \"%s\" may touch; %sgive a stiffness in N/m or auto, for all pairs or for this pair, or "
                    "contact: false for this pair",
                    s->bodies[i].name, s->bodies[j].name, v->hint);
  } else if (needs_friction(s, law)) {
    diagnostics_add(v->d, v->where->mark, "contact.friction",
                    "missing: \"%s\" and \"%s\" may touch; give a coefficient of friction, for all pairs or for this pair",
                    s->bodies[i].name, s->bodies[j].name);
  }
  return ++v->n < MAX_REPORTED;
}

/* Whether report_missing reports pair (i, j). */
static bool is_missing(const scene *s, int i, int j)
{
  const contact_law *law = scene_law(s, i, j);
  const body        *a = s->bodies[i].body, *b = s->bodies[j].body;
  if (needs_stiffness(s, law) || needs_friction(s, law)) return true;
  if (!a || !b) return false;
  return is_rigid(s) ? !contact_detectors_of(a, b) : law->stiffness > 0.0 && (a->ops->segments || b->ops->segments);
}

/* Set the contact law of every pair. */
static PetscErrorCode scene_build_laws(scene *s, diagnostics *d)
{
  PetscFunctionBegin;
  double                 suggested;
  char                   hint[120] = "";
  int                   *source; /* see set_auto_stiffness */
  int32_t                of[2];
  slot_flags            *flag;
  bool                  *is_listed;
  const contact_options *c     = s->options->contact;
  const document_node   *where = document_find(s->options->root, "contact");
  PetscCall(create_classes(s));
  const int64_t n = s->pairs->n_slots;
  PetscCall(MEMORY_ALLOC("scene", ARRAY(flag, n), ARRAY(source, n), ARRAY(is_listed, n), ARRAY(s->laws, n)));
  for (int64_t k = 0; k < n; ++k) {
    s->laws[k] = law_of(s, c->stiffness, c->friction, c->restitution);
    set_overlap(c->initial_overlap, &s->laws[k]);
    if (!pair_example(s->pairs, s->n_bodies, k, of)) continue;
    if (touch_on_grid(s, of[0], of[1])) s->laws[k].friction = INFINITY;
    scene_wall_law(s, of[0], of[1], &s->laws[k]);
  }
  apply_pairs(s, flag, source, is_listed, d);
  check_restitution(s, c->restitution, where, "contact", d);
  if (!where) where = s->options->root;
  pair_visit v = {.s = s, .source = source, .where = where, .d = d, .hint = hint};
  for (int64_t k = 0; k < n; ++k)
    is_listed[k] =
        pair_example(s->pairs, s->n_bodies, k, of) && !s->laws[k].never_touch && flag[k].is_named_pair && is_undetected(s, of[0], of[1]);
  pair_classes_visit(s->pairs, is_listed, visit_undetected, &v);
  for (int64_t k = 0; k < n; ++k) {
    contact_law *law = &s->laws[k];
    if (pair_example(s->pairs, s->n_bodies, k, of) && !law->never_touch && can_touch(s, of[0], of[1]) &&
        (of[0] != of[1] || flag[k].touches_itself) && (!are_parts_of_one_body(s, of[0], of[1]) || flag[k].is_named_pair))
      continue;
    law->stiffness = law->friction = 0.0;
    law->never_touch               = true;
    source[k]                      = -1;
  }
  PetscCall(set_auto_stiffness(s, source, is_listed, d, &suggested));
  if (isfinite(suggested))
    snprintf(hint, sizeof hint, "%.2g N/m limits the static penetration to 1 %% of the smaller body or spacing; ", suggested);
  for (int64_t k = 0; k < n; ++k)
    is_listed[k] = source[k] >= 0 && pair_example(s->pairs, s->n_bodies, k, of) && is_missing(s, of[0], of[1]);
  v.n = 0;
  pair_classes_visit(s->pairs, is_listed, report_missing, &v);
  MEMORY_FREE(&flag, &source, &is_listed);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode scene_build_contact(scene *s)
{
  PetscFunctionBegin;
  int n_objects = 0;
  for (int i = 0; i < s->n_bodies; ++i) {
    const body *b = s->bodies[i].body;
    int         n = 0;
    if (b->ops->level_sets) (void)b->ops->level_sets(b, &n);
    n_objects += n;
  }
  PetscCall(MEMORY_ALLOC("scene", ARRAY(s->sources, s->n_bodies), ARRAY(s->objects, n_objects), ARRAY(s->meshes, s->n_bodies)));
  for (int i = 0; i < s->n_bodies; ++i) s->bodies[i].frame = s->bodies[i].body->ops->frame ? s->n_frames++ : -1;
  scene_list_contact(s);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void scene_list_contact(scene *s)
{
  s->n_sources = s->n_objects = s->n_meshes = 0;
  for (int i = 0; i < s->n_bodies; ++i) {
    const scene_body *b = &s->bodies[i];
    if (b->body->is_waiting) continue;
    if (b->body->ops->points != POINT_NONE) s->sources[s->n_sources++] = (contact_source){b->body, b->frame, i};
    if (has_surface(b)) s->meshes[s->n_meshes++] = (contact_mesh){b->body, b->frame, i};
    if (!b->body->ops->level_sets) continue;
    int               n;
    level_set *const *phi = b->body->ops->level_sets(b->body, &n);
    for (int k = 0; k < n; ++k) s->objects[s->n_objects++] = (contact_object){phi[k], b->frame, i};
  }
}

/* ==== sides of the grid's domain ==== */

/* If a continuum on a grid is coupled with rigid bodies, the sides of its domain also constrain the bodies. */
static const double ACROSS = 0.02; /* of a body's radius: a body that starts deeper in a side has no contact with it */

static bool scene_is_wall(const scene *s, int i) { return s->bodies[i].kind == &mac_side_kind; }

static const rigid_body *dynamic_rigid_body(const scene *s, int i)
{
  body *b = s->bodies[i].body;
  return b && !b->ops->carrier && body_system(b) ? rigid_body_of(b) : NULL;
}

static bool needs_walls(const scene *s)
{
  bool has_grid = false, has_rigid = false;
  for (int i = 0; i < s->n_bodies; ++i) {
    has_grid  = has_grid || s->bodies[i].kind->ops->carrier;
    has_rigid = has_rigid || dynamic_rigid_body(s, i);
  }
  return s->options->formulation->touches_on_grid && s->options->mac && has_grid && has_rigid;
}

/* True if a static half-space covers the side; bodies are then in contact with that obstacle. */
static bool is_side_covered(const body *b, const double normal[3], double offset, double nearly)
{
  int                 n     = 0;
  const convex_solid *solid = b && !body_system((body *)b) && b->ops->solids ? b->ops->solids(b, &n) : NULL;
  if (n > 0 && rigid_body_of((body *)b)->kind != RIGID_STATIC) return false;
  for (int k = 0; k < n; ++k)
    if (solid[k].kind == CONVEX_HALF_SPACE && v3_dot(solid[k].normal, normal) > 1.0 - 1e-12 && solid[k].offset > offset - nearly)
      return true;
  return false;
}

static PetscErrorCode scene_add_walls(scene *s)
{
  const mac_options *o        = s->options->mac;
  const int          n_of_job = s->n_bodies;
  PetscFunctionBegin;
  if (!needs_walls(s)) PetscFunctionReturn(PETSC_SUCCESS);
  for (int a = 0; a < 3; ++a)
    for (int upper = 0; upper < 2; ++upper) {
      double       normal[3];
      const double offset     = mac_side_plane(o, a, upper, normal);
      bool         is_covered = !mac_side_is_solid(o, a, upper);
      for (int i = 0; i < n_of_job; ++i) is_covered = is_covered || is_side_covered(s->bodies[i].body, normal, offset, 1e-6 * o->spacing);
      if (is_covered) continue;
      scene_body *b = &s->bodies[s->n_bodies];
      *b =
          (scene_body){.name = mac_side_name[a][upper], .entry = mac_side_name[a][upper], .kind = &mac_side_kind, .frame = -1, .whole = -1};
      PetscCall(mac_side_create(o, a, upper, &b->body));
      ++s->n_bodies;
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* True if the body extends through a side at the start. */
static bool starts_across(const rigid_body *b, const convex_solid *side)
{
  rigid_frame f;
  double      least = INFINITY;
  if (!b->surface) return false;
  rigid_body_frame(b, NULL, 0.0, &f);
  for (int64_t i = 0; i < b->n_vertices; ++i) {
    double x[3];
    rigid_frame_to_world(&f, b->surface->x + 3 * i, x);
    least = fmin(least, v3_dot(side->normal, x) - side->offset);
  }
  return least < -ACROSS * b->radius;
}

static unsigned scene_sides_of(const scene *s, int i)
{
  const rigid_body *b    = dynamic_rigid_body(s, i);
  unsigned          bits = 0;
  for (int wall = s->n_bodies - 1, k = 0; wall >= 0 && scene_is_wall(s, wall); --wall, ++k) {
    int n;
    if (wall == i || (b && !starts_across(b, s->bodies[wall].body->ops->solids(s->bodies[wall].body, &n)))) bits |= 1u << k;
  }
  return bits;
}

static void scene_wall_law(const scene *s, int i, int j, contact_law *law)
{
  const int wall = scene_is_wall(s, i) ? i : j, other = wall == i ? j : i;
  if (!scene_is_wall(s, wall)) return;
  int                 n;
  const convex_solid *side = s->bodies[wall].body->ops->solids(s->bodies[wall].body, &n);
  int                 axis = 0;
  while (side->normal[axis] == 0.0) ++axis;
  law->never_touch = other == wall || !(scene_sides_of(s, other) & scene_sides_of(s, wall));
  if (s->options->mac->walls->side[axis][side->normal[axis] < 0.0] == MAC_WALL_SMOOTH || isnan(law->friction)) law->friction = 0.0;
}
