#include "sim/scene/scene_impl.h"
#include <string.h>
#include "core/math3.h"
#include "core/memory.h"
#include "discretize/articulated/articulated_body.h"
#include "discretize/body_kinds.h"

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

/* The material a body names; NULL if it names none, or after a complaint. */
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
    diagnostics_add(d, mark, at, "no material is called \"%s\"%s%s%s", name, nearest ? "; did you mean \"" : "",
                    nearest ? nearest : "", nearest ? "\"?" : "; define it under materials:");
    return NULL;
  }
  const char *is = m->flow ? m->flow->is_liquid ? "liquid" : "granular" : m->law ? "elastic" : "rigid", *wants = NULL;
  if (kind->material == BODY_MATERIAL_WITH_LAW && !m->law) wants = "one that deforms";
  if (kind->material == BODY_MATERIAL_FLOWS && !m->flow) wants = "one of model granular or liquid";
  if (kind->material != BODY_MATERIAL_FLOWS && kind->material != BODY_MATERIAL_WITH_LAW && m->flow) wants = "a solid one";
  if (wants) {
    diagnostics_add(d, mark, at, "material \"%s\" is %s; a body of kind %s wants %s", name, is, kind->name, wants);
    return NULL;
  }
  return m;
}

/* --- building -------------------------------------------------------------------------------------------------------- */

/* Masses beyond these bounds overflow or vanish in products of a few numbers; nothing real is near them. */
static const double smallest_mass = 1e-30, largest_mass = 1e30;

static PetscErrorCode check_mass(const scene *s, body *b, const body_request *r, diagnostics *d)
{
  PetscFunctionBegin;
  body_totals sum;
  if (!body_system(b) || !b->ops->totals) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(b->ops->totals(b, s->gravity, &sum));
  const bool is_empty_source = b->ops->emit && sum.mass == 0.0; /* poured later */
  if (!is_empty_source && !(sum.mass >= smallest_mass && sum.mass <= largest_mass))
    diagnostics_add_under(d, r->node, r->path, NULL, "has a mass of %g kg: expected %g to %g kg; check the unit of length and the density", sum.mass, smallest_mass,
                          largest_mass);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The parts of body i, if it is made of such, after it. */
static PetscErrorCode add_parts(scene *s, int i, int *capacity)
{
  int n = 0;
  PetscFunctionBegin;
  const body *whole = s->bodies[i].body;
  body *const *part = whole && whole->ops->parts ? whole->ops->parts(whole, &n) : NULL;
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  *capacity += n;
  PetscCall(memory_resize("bodies", *capacity, sizeof *s->bodies, &s->bodies));
  for (int k = 0; k < n; ++k)
    s->bodies[s->n_bodies++] = (scene_body){.name     = part[k]->name,
                                            .kind     = part[k]->ops->is_shapeless ? &articulated_frame_kind : &articulated_link_kind,
                                            .material = s->bodies[i].material,
                                            .body     = part[k],
                                            .whole    = i};
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode build_body(scene *s, const key_item *item, scene_body *b, diagnostics *d)
{
  PetscFunctionBegin;
  char path[256];
  snprintf(path, sizeof path, "bodies.%s", item->name);
  *b                         = (scene_body){.name = item->name, .whole = -1};
  b->kind                    = body_kinds[item->variant];
  b->material                = material_of(s, item, b->kind, path, d);
  const body_request request = {.name = item->name, .path = path, .spec = item->value, .material = b->material, .node = item->node};
  const int          before  = diagnostics_count(d);
  PetscCall(b->kind->create(&request, &s->world, d, &b->body));
  if (b->body && diagnostics_count(d) == before) PetscCall(check_mass(s, b->body, &request, d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A part is called WHOLE.PART, and so may be somebody else. */
static void check_part_names(const scene *s, diagnostics *d)
{
  for (int i = 0; i < s->n_bodies; ++i)
    for (int j = 0; j < s->n_bodies && s->bodies[i].whole >= 0; ++j) {
      if (j == i || (s->bodies[j].whole >= 0 && j > i) || strcmp(s->bodies[i].name, s->bodies[j].name) != 0) continue;
      diagnostics_add_under(d, document_find(s->world.job, "bodies"), "bodies", s->bodies[s->bodies[i].whole].name,
                            "has a link that is called \"%s\" among bodies, and so is another: rename one of them", s->bodies[i].name);
    }
}

static PetscErrorCode build_bodies(scene *s, diagnostics *d)
{
  PetscFunctionBegin;
  const key_list *list = &s->options->bodies;
  s->world.job         = s->options->root;
  s->world.mpm_options = s->options->mpm;
  s->world.mac_options = s->options->mac;
  v3_copy(s->world.gravity, s->gravity);
  s->world.time_step = s->options->time->step;
  s->world.has_light_nodes = s->options->formulation->has_light_nodes && !s->options->has_assembled_tangent;
  s->world.keeps_origins   = s->options->keeps_origins;
  int capacity = list->n;
  PetscCall(memory_alloc("bodies", capacity, sizeof(scene_body), &s->bodies));
  for (int i = 0; i < list->n; ++i) {
    const int at = s->n_bodies++;
    PetscCall(build_body(s, &list->item[i], &s->bodies[at], d));
    PetscCall(add_parts(s, at, &capacity));
  }
  check_part_names(s, d);
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

/* What has unknowns, kind by kind, and the fields of everything. */
static PetscErrorCode build_systems(scene *s)
{
  PetscFunctionBegin;
  PetscCall(memory_alloc("systems", s->n_bodies, sizeof(body *), &s->systems));
  s->length_scale = INFINITY;
  for (const body_kind *const *kind = body_kinds; *kind; ++kind)
    for (int i = 0; i < s->n_bodies; ++i) {
      body *system = s->bodies[i].kind == *kind ? body_system(s->bodies[i].body) : NULL;
      if (!system || is_listed(s, system)) continue;
      s->systems[s->n_systems++] = system;
      s->length_scale            = fmin(s->length_scale, system->ops->length(system));
    }
  if (!isfinite(s->length_scale)) s->length_scale = 1.0;
  PetscCall(field_table_create(&s->fields));
  for (int i = 0; i < s->n_systems; ++i) PetscCall(s->systems[i]->ops->fields(s->systems[i], s->fields));
  for (int i = 0; i < s->n_bodies; ++i) {
    body *b = s->bodies[i].body;
    if (b->ops->fields && !is_listed(s, b)) PetscCall(b->ops->fields(b, s->fields));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* picture.glass names bodies. */
static void check_glass(const scene *s, diagnostics *d)
{
  const key_list *glass = s->options->glass;
  for (int k = 0; glass && k < glass->n; ++k) {
    const char *names[256];
    int         n = 0, found = 0;
    for (int i = 0; i < s->n_bodies; ++i) {
      found |= strcmp(s->bodies[i].name, glass->item[k].value) == 0;
      if (n < 256) names[n++] = s->bodies[i].name;
    }
    const char *nearest = diagnostics_nearest(glass->item[k].value, n, names);
    if (!found)
      diagnostics_add(d, glass->item[k].node->mark, "picture.glass", "no body is called \"%s\"%s%s%s", (const char *)glass->item[k].value,
                      nearest ? "; did you mean \"" : "", nearest ? nearest : "", nearest ? "\"?" : "; give names of bodies");
  }
}

PetscErrorCode scene_create(MPI_Comm comm, const scene_options *options, diagnostics *d, scene **out)
{
  PetscFunctionBegin;
  scene *s;
  *out = NULL;
  PetscCall(memory_alloc("scene", 1, sizeof *s, &s));
  s->comm = comm;
  s->options = options;
  v3_copy(s->gravity, options->gravity);
  PetscCall(build_materials(s, d));
  PetscCall(build_bodies(s, d));
  PetscCall(scene_build_laws(s, d));
  PetscCall(finish_kinds(s, d));
  check_glass(s, d);
  if (diagnostics_count(d)) {
    scene_destroy(&s);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(scene_build_contact(s));
  PetscCall(build_systems(s));
  if (options->formulation->check) PetscCall(options->formulation->check(s, d));
  if (diagnostics_count(d)) {
    scene_destroy(&s);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(scene_set_time(s, 0.0));
  *out = s;
  PetscFunctionReturn(PETSC_SUCCESS);
}

void scene_destroy(scene **s)
{
  if (!*s) return;
  field_table_destroy(&(*s)->fields);
  for (int i = (*s)->n_bodies; i-- > 0;) { /* parts come after what owns them */
    body *b = (*s)->bodies[i].body;
    if (b && b->ops->destroy) b->ops->destroy(&b);
  }
  for (const body_kind *const *kind = body_kinds; *kind; ++kind)
    if ((*kind)->release) (*kind)->release(&(*s)->world);
  for (int i = 0; i < (*s)->n_materials; ++i) material_destroy(&(*s)->materials[i]);
  memory_free(&(*s)->materials);
  memory_free(&(*s)->bodies);
  memory_free(&(*s)->systems);
  memory_free(&(*s)->sources);
  memory_free(&(*s)->objects);
  memory_free(&(*s)->meshes);
  memory_free(&(*s)->laws);
  memory_free(s);
}

int scene_find_body(const scene *s, const char *name)
{
  for (int i = 0; i < s->n_bodies; ++i)
    if (strcmp(s->bodies[i].name, name) == 0) return i;
  return -1;
}

/* --- during the run -------------------------------------------------------------------------------------------------- */

PetscErrorCode scene_frames(const scene *s, double t, double dt, const double *v, rigid_frame *frames)
{
  PetscFunctionBegin;
  for (int i = 0; i < s->n_bodies; ++i) {
    const scene_body *b = &s->bodies[i];
    if (b->frame < 0) continue;
    const body *system = body_system(b->body);
    b->body->ops->frame(b->body, t, dt, v ? v + 3 * (system ? system->first_block : 0) : NULL, &frames[b->frame]);
  }
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

PetscErrorCode scene_emit(scene *s, double t, double dt)
{
  PetscFunctionBegin;
  for (int i = 0; i < s->n_bodies; ++i) {
    body *b = s->bodies[i].body;
    if (b->ops->emit) PetscCall(b->ops->emit(b, t, dt));
  }
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
    fprintf(out, "  %-16s %-10s ", b->name, b->kind->name);
    if (body_system(b->body)) {
      body_totals sum;
      PetscCall(scene_body_totals(s, i, &sum));
      fprintf(out, "%.6g kg at (%.4g, %.4g, %.4g), ", sum.mass, sum.center[0], sum.center[1], sum.center[2]);
    }
    if (b->body->ops->describe) b->body->ops->describe(b->body, out);
    fprintf(out, "\n");
  }
  const scene_formulation *f = s->options->formulation;
  if (f->describe) PetscCall(f->describe(s, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode scene_body_totals(const scene *s, int i_body, body_totals *sum)
{
  const body *b = s->bodies[i_body].body;
  return b->ops->totals(b, s->gravity, sum);
}

/* Everything with unknowns; the centre is mass-weighted. */
PetscErrorCode scene_totals(const scene *s, body_totals *sum)
{
  PetscFunctionBegin;
  memset(sum, 0, sizeof *sum);
  for (int i = 0; i < s->n_systems; ++i) {
    body_totals one = {0};
    PetscCall(s->systems[i]->ops->totals(s->systems[i], s->gravity, &one));
    sum->mass += one.mass;
    sum->kinetic += one.kinetic;
    sum->elastic += one.elastic;
    sum->potential += one.potential;
    v3_axpy(sum->momentum, 1.0, one.momentum);
    v3_axpy(sum->angular_momentum, 1.0, one.angular_momentum);
    v3_axpy(sum->center, one.mass, one.center);
    sum->overshoot = fmax(sum->overshoot, one.overshoot);
    sum->turn      = fmax(sum->turn, one.turn);
  }
  if (sum->mass > 0) v3_scale(sum->center, 1.0 / sum->mass, sum->center);
  PetscFunctionReturn(PETSC_SUCCESS);
}
