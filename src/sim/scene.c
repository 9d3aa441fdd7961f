#include "sim/scene.h"
#include <string.h>
#include "core/math3.h"
#include "core/memory.h"
#include "discretize/mpm/sampling.h"

/* --- materials ------------------------------------------------------------------------------------------------------- */

static PetscErrorCode build_materials(scene *s, diagnostics *d)
{
  PetscFunctionBegin;
  const key_list *list = &s->job->materials;
  PetscCall(memory_alloc("materials", list->n, sizeof(material *), &s->materials));
  for (int i = 0; i < list->n; ++i) {
    const key_item     *item = &list->item[i];
    const material_law *law  = material_laws[item->variant]; /* NULL for rigid, which comes last */
    PetscCall(material_create(item->name, law, item->value, *(const double *)item->value, &s->materials[s->n_materials++]));
  }
  (void)d;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static material *find_material(const scene *s, const char *name)
{
  for (int i = 0; i < s->n_materials; ++i)
    if (strcmp(s->materials[i]->name, name) == 0) return s->materials[i];
  return NULL;
}

/* The material a body names, or NULL after a complaint. */
static material *material_of(const scene *s, const key_item *item, const char *name, bool wants_law, diagnostics *d)
{
  char path[256];
  snprintf(path, sizeof path, "bodies.%s.material", item->name);
  const document_node *node = document_find(item->node, "material");
  const document_mark  mark = node ? node->mark : item->node->mark;
  material            *m    = find_material(s, name);
  if (!m) {
    const char *names[256];
    int         n = 0;
    for (; n < s->n_materials && n < 256; ++n) names[n] = s->materials[n]->name;
    const char *nearest = diagnostics_nearest(name, n, names);
    diagnostics_add(d, mark, path, "no material is called \"%s\"%s%s%s", name, nearest ? "; did you mean \"" : "", nearest ? nearest : "",
                    nearest ? "\"?" : "; define it under materials:");
    return NULL;
  }
  if (wants_law && !m->law) {
    diagnostics_add(d, mark, path, "material \"%s\" is rigid; a body of kind mpm wants one that deforms", name);
    return NULL;
  }
  return m;
}

/* --- MPM ------------------------------------------------------------------------------------------------------------- */

/* A periodic wall wants one partner on the other side of its axis, at least four whole cells away. */
static void check_periodic(const job_mpm *o, int i, double spacing, diagnostics *d)
{
  const job_wall *w = o->walls.item[i].value;
  int             n = 0;
  double          cells = 0;
  for (int k = 0; k < o->walls.n && w->kind == MPM_WALL_PERIODIC; ++k) {
    const job_wall *other = o->walls.item[k].value;
    if (k == i || other->axis != w->axis) continue;
    n += other->kind == MPM_WALL_PERIODIC && other->side != w->side ? 1 : 2;
    cells = (w->side == 0 ? other->at - w->at : w->at - other->at) / spacing;
  }
  if (w->kind == MPM_WALL_PERIODIC && (n != 1 || cells < 4 - 1e-6 || fabs(cells - nearbyint(cells)) > 1e-6))
    diagnostics_add(d, o->walls.item[i].node->mark, "mpm.walls", "a periodic wall wants one other on the opposite side of its axis, a whole number of cells (4 or more) away");
}

/* One grid for all: the first body's spacing, the others must agree. */
static PetscErrorCode ensure_domain(scene *s, const key_item *item, const job_mpm_body *spec, diagnostics *d)
{
  PetscFunctionBegin;
  const job_mpm *o = s->job->mpm;
  if (s->domain) {
    char path[256];
    snprintf(path, sizeof path, "bodies.%s.spacing", item->name);
    if (fabs(s->spacing / spec->spacing - 1) > 1e-12)
      diagnostics_add(d, item->node->mark, path, "all MPM bodies share one grid: expected %g m as before, got %g m", s->spacing,
                      spec->spacing);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  s->spacing                  = spec->spacing;
  const mpm_transfer transfer = {.is_apic = o->transfer == 0, .flip = o->flip};
  PetscCall(mpm_domain_create(spec->spacing, o->kernel == 0 ? MPM_QUADRATIC : MPM_CUBIC, transfer, s->gravity, &s->domain));
  for (int i = 0; i < o->walls.n; ++i) {
    const job_wall *w = o->walls.item[i].value;
    check_periodic(o, i, spec->spacing, d);
    PetscCall(mpm_domain_add_wall(s->domain, w->axis, w->side == 0 ? -1 : 1, w->at, (mpm_wall_kind)w->kind));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static mpm_seed seed_of(const scene_body *b)
{
  mpm_seed seed = {.n = b->n_poured, .x = b->poured, .volume_each = b->volume_each};
  v3_copy(seed.velocity, b->spec->velocity);
  v3_copy(seed.angular_velocity, b->spec->angular_velocity);
  return seed;
}

/* Initial velocities from expressions, with their gradient as the affine part. */
static PetscErrorCode set_velocity_field(scene *s, const scene_body *b, const document_node *node, const char *path, diagnostics *d)
{
  PetscFunctionBegin;
  particle_field *velocity;
  if (b->spec->velocity_field.n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (b->spec->pour) diagnostics_add(d, node->mark, path, "velocity_field cannot be given with pour");
  if (v3_norm(b->spec->velocity) > 0 || v3_norm(b->spec->angular_velocity) > 0)
    diagnostics_add(d, node->mark, path, "give velocity and angular_velocity, or velocity_field, not both");
  PetscCall(particle_field_create(&b->spec->velocity_field, node, path, d, &velocity));
  if (!velocity) PetscFunctionReturn(PETSC_SUCCESS);
  mpm_particles *p = mpm_domain_particles(s->domain, b->mpm_index);
  for (int64_t i = 0; i < p->n; ++i) {
    const double x[3] = {p->x[0][i], p->x[1][i], p->x[2][i]};
    double       v[3], gradient[9];
    particle_field_at(velocity, x, x, 0.0, v, gradient);
    for (int k = 0; k < 3; ++k) p->v[k][i] = v[k];
    for (int k = 0; k < 9 && s->job->mpm->transfer == 0; ++k) p->C[k][i] = gradient[k];
  }
  particle_field_destroy(&velocity);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode fill_with_particles(scene *s, scene_body *b, const job_mpm_body *spec, const shape *filled, const document_node *node,
                                          const char *path, diagnostics *d)
{
  PetscFunctionBegin;
  const double wanted = filled->mass.volume / pow(spec->spacing, 3) * spec->particles_per_cell;
  if (wanted < 1 || wanted > 2e9) {
    diagnostics_add(d, node->mark, path, "would hold %.3g particles at a spacing of %g m: expected 1 to 2e9", wanted, spec->spacing);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  const sampling_options o = {.kind               = (sampling_kind)spec->seeding,
                              .spacing            = spec->spacing,
                              .particles_per_cell = spec->particles_per_cell,
                              .jitter             = spec->jitter,
                              .seed               = (uint64_t)spec->seed};
  double *x[3] = {NULL}, *points;
  PetscCall(sampling_fill(filled->piece[0], filled->min, filled->max, filled->mass.volume, &o, &b->n_poured, x, &b->volume_each));
  PetscCall(memory_alloc("poured particles", 3 * b->n_poured, sizeof(double), &points));
  for (int k = 0; k < 3; ++k) {
    for (int64_t i = 0; i < b->n_poured; ++i) points[3 * i + k] = x[k][i];
    memory_free(&x[k]);
  }
  b->poured = points;
  b->spec   = spec;
  const mpm_seed seed = seed_of(b);
  const mpm_seed none = {.volume_each = seed.volume_each};
  PetscCall(mpm_domain_add_body(s->domain, b->name, b->material, spec->pour && spec->pour->start > 0 ? &none : &seed, &b->mpm_index));
  if (!spec->pour) memory_free(&b->poured);
  if (spec->velocity_field.n > 0) {
    char key[300];
    snprintf(key, sizeof key, "bodies.%s.velocity_field", b->name);
    PetscCall(set_velocity_field(s, b, document_find(node, "velocity_field"), key, d));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode build_mpm(scene *s, const key_item *item, scene_body *b, diagnostics *d)
{
  PetscFunctionBegin;
  const job_mpm_body *spec = item->value;
  char                path[256];
  snprintf(path, sizeof path, "bodies.%s.shape", item->name);
  b->material = material_of(s, item, spec->material, true, d);
  PetscCall(ensure_domain(s, item, spec, d));
  if (!b->material || diagnostics_count(d)) PetscFunctionReturn(PETSC_SUCCESS);
  shape *filled;
  PetscCall(shape_create(spec->shape, document_find(item->node, "shape"), path, d, NAN, &filled));
  if (!filled) PetscFunctionReturn(PETSC_SUCCESS);
  if (!filled->is_bounded) diagnostics_add(d, item->node->mark, path, "has no volume to fill with particles");
  else PetscCall(fill_with_particles(s, b, spec, filled, item->node, path, d));
  shape_destroy(&filled);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- contact --------------------------------------------------------------------------------------------------------- */

/* Does `name` mean body i: by its own name, or by its material's? */
static bool is_meant(const scene *s, int i, const char *name)
{
  return strcmp(s->bodies[i].name, name) == 0 || (s->bodies[i].material && strcmp(s->bodies[i].material->name, name) == 0);
}

static void check_pair_name(const scene *s, const key_item *item, const char *name, diagnostics *d)
{
  for (int i = 0; i < s->n_bodies; ++i)
    if (is_meant(s, i, name)) return;
  diagnostics_add(d, item->node->mark, "contact.pairs", "no body or material in use is called \"%s\"", name);
}

static bool can_touch(const scene *s, int a, int b)
{
  const scene_kind ka = s->bodies[a].kind, kb = s->bodies[b].kind;
  if (a == b) return false;
  if (ka == SCENE_MPM && kb == SCENE_MPM) return false; /* they meet on the grid */
  return ka == SCENE_MPM || kb == SCENE_MPM || ka == SCENE_RIGID || kb == SCENE_RIGID;
}

static PetscErrorCode build_laws(scene *s, diagnostics *d)
{
  PetscFunctionBegin;
  const job_contact *c = s->job->contact;
  const int          n = s->n_bodies;
  PetscCall(memory_alloc("contact laws", (int64_t)n * n, sizeof(contact_law), &s->laws));
  for (int i = 0; i < n * n; ++i) s->laws[i] = (contact_law){c->stiffness, c->friction};
  for (int k = 0; k < c->pairs.n; ++k) {
    const key_item *item = &c->pairs.item[k];
    const job_pair *p    = item->value;
    if (p->between.n != 2) {
      diagnostics_add(d, item->node->mark, "contact.pairs.between", "expected two names, got %d", p->between.n);
      continue;
    }
    const char *one = p->between.item[0].value, *two = p->between.item[1].value;
    check_pair_name(s, item, one, d);
    check_pair_name(s, item, two, d);
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) {
        if (!(is_meant(s, i, one) && is_meant(s, j, two)) && !(is_meant(s, i, two) && is_meant(s, j, one))) continue;
        if (isfinite(p->stiffness)) s->laws[i * n + j].stiffness = p->stiffness;
        if (isfinite(p->friction)) s->laws[i * n + j].friction = p->friction;
      }
  }
  const document_node *where = document_find(document_root(s->job->document), "contact");
  if (!where) where = document_root(s->job->document);
  for (int i = 0; i < n; ++i)
    for (int j = i + 1; j < n; ++j) {
      contact_law *law = &s->laws[i * n + j];
      if (!can_touch(s, i, j)) {
        law->stiffness = s->laws[j * n + i].stiffness = 0.0;
        law->friction = s->laws[j * n + i].friction = 0.0;
      } else if (isnan(law->stiffness)) {
        diagnostics_add(d, where->mark, "contact.stiffness", "missing: \"%s\" and \"%s\" may touch; give a stiffness in N/m, for all or for this pair (0: never)",
                        s->bodies[i].name, s->bodies[j].name);
      } else if (law->stiffness > 0 && isnan(law->friction)) {
        diagnostics_add(d, where->mark, "contact.friction", "missing: \"%s\" and \"%s\" may touch; give a coefficient of friction, for all or for this pair",
                        s->bodies[i].name, s->bodies[j].name);
      }
    }
  for (int i = 0; i < n; ++i) s->laws[i * n + i] = (contact_law){0.0, 0.0};
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Who brings points and who brings level sets. Frame i belongs to the i-th body that is not MPM. */
static PetscErrorCode build_contact(scene *s)
{
  PetscFunctionBegin;
  int n_objects = 0;
  for (int i = 0; i < s->n_bodies; ++i) {
    if (s->bodies[i].rigid) n_objects += s->bodies[i].rigid->n_level_sets;
  }
  PetscCall(memory_alloc("contact sources", s->n_bodies, sizeof(contact_source), &s->sources));
  PetscCall(memory_alloc("contact objects", n_objects, sizeof(contact_object), &s->objects));
  for (int i = 0; i < s->n_bodies; ++i) {
    scene_body *b = &s->bodies[i];
    b->frame      = -1;
    if (b->kind == SCENE_MPM) {
      s->sources[s->n_sources++] = (contact_source){mpm_domain_point_body(s->domain, b->mpm_index), -1, i};
      continue;
    }
    b->frame = s->n_frames++;
    if (b->kind == SCENE_RIGID) s->sources[s->n_sources++] = (contact_source){&b->rigid->base, b->frame, i};
    for (int k = 0; k < b->rigid->n_level_sets; ++k) s->objects[s->n_objects++] = (contact_object){b->rigid->level_sets[k], b->frame, i};
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- building -------------------------------------------------------------------------------------------------------- */

static PetscErrorCode build_bodies(scene *s, diagnostics *d)
{
  PetscFunctionBegin;
  const key_list *list = &s->job->bodies;
  PetscCall(memory_alloc("bodies", list->n, sizeof(scene_body), &s->bodies));
  for (int i = 0; i < list->n; ++i) {
    const key_item *item = &list->item[i];
    scene_body     *b    = &s->bodies[s->n_bodies++];
    char            path[256];
    snprintf(path, sizeof path, "bodies.%s", item->name);
    b->name      = item->name;
    b->kind      = (scene_kind)item->variant;
    b->mpm_index = -1;
    if (b->kind == SCENE_MPM) {
      PetscCall(build_mpm(s, item, b, d));
      continue;
    }
    const rigid_body_spec *spec = item->value;
    if (spec->material && *spec->material) b->material = material_of(s, item, spec->material, false, d);
    if (b->kind == SCENE_RIGID && !b->material) continue;
    PetscCall(rigid_body_create(item->name, b->kind == SCENE_RIGID ? RIGID_DYNAMIC : b->kind == SCENE_KINEMATIC ? RIGID_KINEMATIC : RIGID_STATIC, spec,
                                b->material ? b->material->density : 0.0, item->node, path, d, &b->rigid));
    if (b->rigid) rigid_body_set_gravity(b->rigid, s->gravity);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void body_force(void *context, double t, int64_t n, const double *const x[3], const int64_t *id, double *const a[3])
{
  const scene *s = context;
  for (int64_t i = 0; i < n; ++i) {
    const double here[3] = {x[0][i], x[1][i], x[2][i]};
    double       value[3];
    particle_field_at(s->body_force, s->origins.x + 3 * id[i], here, t, value, NULL);
    for (int k = 0; k < 3; ++k) a[k][i] = value[k];
  }
}

/* The origins of particles are kept only where something asks for them. */
static PetscErrorCode build_body_force(scene *s, diagnostics *d)
{
  PetscFunctionBegin;
  const job *j         = s->job;
  bool       is_wanted = j->mpm->body_force.n > 0;
  for (int i = 0; i < j->measure.n; ++i) is_wanted |= ((const job_measure *)j->measure.item[i].value)->expected.n > 0;
  if (!is_wanted) PetscFunctionReturn(PETSC_SUCCESS);
  const document_node *mpm = document_find(document_root(j->document), "mpm"), *node = mpm ? document_find(mpm, "body_force") : NULL;
  if (!node) node = document_root(j->document);
  if (j->mpm->body_force.n > 0 && !s->domain) diagnostics_add(d, node->mark, "mpm.body_force", "there is no body of kind mpm");
  for (int i = 0; i < s->n_bodies; ++i)
    if (s->bodies[i].poured) diagnostics_add(d, node->mark, "mpm.body_force", "initial positions (body_force, expected) cannot be used with pour");
  if (!s->domain || diagnostics_count(d)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(particle_origins_create(s->domain, &s->origins));
  if (j->mpm->body_force.n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(particle_field_create(&j->mpm->body_force, node, "mpm.body_force", d, &s->body_force));
  if (s->body_force) mpm_domain_set_body_force(s->domain, body_force, s);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode build_systems(scene *s)
{
  PetscFunctionBegin;
  PetscCall(memory_alloc("systems", s->n_bodies + 1, sizeof(body *), &s->systems));
  s->length_scale = INFINITY;
  if (s->domain) {
    s->systems[s->n_systems++] = mpm_domain_body(s->domain);
    s->length_scale            = s->spacing;
  }
  for (int i = 0; i < s->n_bodies; ++i) {
    if (s->bodies[i].kind != SCENE_RIGID) continue;
    s->systems[s->n_systems++] = &s->bodies[i].rigid->base;
    s->length_scale            = fmin(s->length_scale, 0.25 * rigid_body_radius(s->bodies[i].rigid));
  }
  if (!isfinite(s->length_scale)) s->length_scale = 1.0;
  PetscCall(field_table_create(&s->fields));
  for (int i = 0; i < s->n_systems; ++i) PetscCall(s->systems[i]->ops->fields(s->systems[i], s->fields));
  for (int i = 0; i < s->n_bodies; ++i)
    if (s->bodies[i].rigid && s->bodies[i].kind != SCENE_RIGID) PetscCall(rigid_body_fields(s->bodies[i].rigid, s->fields));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode scene_create(const job *j, diagnostics *d, scene **out)
{
  PetscFunctionBegin;
  scene *s;
  *out = NULL;
  PetscCall(memory_alloc("scene", 1, sizeof *s, &s));
  s->job = j;
  v3_copy(s->gravity, j->gravity);
  PetscCall(build_materials(s, d));
  PetscCall(build_bodies(s, d));
  PetscCall(build_laws(s, d));
  PetscCall(build_body_force(s, d));
  if (diagnostics_count(d)) {
    scene_destroy(&s);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(build_contact(s));
  PetscCall(build_systems(s));
  PetscCall(scene_set_time(s, 0.0));
  *out = s;
  PetscFunctionReturn(PETSC_SUCCESS);
}

void scene_destroy(scene **s)
{
  if (!*s) return;
  field_table_destroy(&(*s)->fields);
  for (int i = 0; i < (*s)->n_bodies; ++i) {
    rigid_body_destroy(&(*s)->bodies[i].rigid);
    memory_free(&(*s)->bodies[i].poured);
  }
  mpm_domain_destroy(&(*s)->domain);
  particle_field_destroy(&(*s)->body_force);
  memory_free(&(*s)->origins.x);
  for (int i = 0; i < (*s)->n_materials; ++i) material_destroy(&(*s)->materials[i]);
  memory_free(&(*s)->materials);
  memory_free(&(*s)->bodies);
  memory_free(&(*s)->systems);
  memory_free(&(*s)->sources);
  memory_free(&(*s)->objects);
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
    if (b->kind == SCENE_RIGID) {
      rigid_body_frame(b->rigid, v ? v + 3 * b->rigid->base.first_block : NULL, dt, &frames[b->frame]);
      frames[b->frame].block = b->rigid->base.first_block;
    } else {
      rigid_body_prescribed_frame(b->rigid, v ? t + dt : t, &frames[b->frame]);
      frames[b->frame].block = -1;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode scene_set_time(scene *s, double t)
{
  PetscFunctionBegin;
  for (int i = 0; i < s->n_bodies; ++i)
    if (s->bodies[i].kind == SCENE_KINEMATIC) rigid_body_move_to(s->bodies[i].rigid, t);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How many releases are due up to t: counted, so that a resumed run pours what an uninterrupted one does. */
static int64_t releases(const job_pour *p, double t)
{
  if (t < p->start - 1e-9 * p->every) return 0;
  const double last = fmin(t, p->end - 1e-6 * p->every);
  return last < p->start - 1e-9 * p->every ? 0 : (int64_t)floor((last - p->start) / p->every + 1e-9) + 1;
}

PetscErrorCode scene_emit(scene *s, double t, double dt)
{
  PetscFunctionBegin;
  for (int i = 0; i < s->n_bodies; ++i) {
    const scene_body *b = &s->bodies[i];
    if (!b->poured || releases(b->spec->pour, t) == releases(b->spec->pour, t - dt)) continue;
    const mpm_seed seed = seed_of(b);
    PetscCall(mpm_domain_emit(s->domain, b->mpm_index, &seed));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode scene_describe(const scene *s, FILE *out)
{
  PetscFunctionBegin;
  const job_time *t = s->job->time;
  fprintf(out, "%s: %g s in steps of %g s", s->job->name, t->end, t->step);
  if (t->frame > 0) fprintf(out, ", a frame every %g s", t->frame);
  fprintf(out, "\n");
  for (int i = 0; i < s->n_bodies; ++i) {
    static const char *const kinds[] = {"mpm", "rigid", "kinematic", "static"};
    const scene_body        *b       = &s->bodies[i];
    body_totals              sum;
    fprintf(out, "  %-16s %-10s", b->name, kinds[b->kind]);
    if (b->kind == SCENE_MPM) fprintf(out, " %lld particles,", (long long)mpm_domain_particles(s->domain, b->mpm_index)->n);
    if (b->kind == SCENE_MPM || b->kind == SCENE_RIGID) {
      PetscCall(scene_body_totals(s, i, &sum));
      fprintf(out, " %.6g kg at (%.4g, %.4g, %.4g)", sum.mass, sum.center[0], sum.center[1], sum.center[2]);
    }
    if (b->rigid) fprintf(out, "%s %d level sets, %lld surface vertices", b->kind == SCENE_RIGID ? "," : "", b->rigid->n_level_sets, (long long)b->rigid->n_vertices);
    fprintf(out, "\n");
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode scene_body_totals(const scene *s, int i_body, body_totals *sum)
{
  PetscFunctionBegin;
  const scene_body *b = &s->bodies[i_body];
  if (b->kind == SCENE_MPM) {
    const body *points = mpm_domain_point_body(s->domain, b->mpm_index);
    PetscCall(points->ops->totals(points, s->gravity, sum));
  }
  else PetscCall(b->rigid->base.ops->totals(&b->rigid->base, s->gravity, sum));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Everything with unknowns; the centre is mass-weighted. */
PetscErrorCode scene_totals(const scene *s, body_totals *sum)
{
  PetscFunctionBegin;
  memset(sum, 0, sizeof *sum);
  for (int i = 0; i < s->n_systems; ++i) {
    body_totals one;
    PetscCall(s->systems[i]->ops->totals(s->systems[i], s->gravity, &one));
    sum->mass += one.mass;
    sum->kinetic += one.kinetic;
    sum->elastic += one.elastic;
    sum->potential += one.potential;
    v3_axpy(sum->momentum, 1.0, one.momentum);
    v3_axpy(sum->angular_momentum, 1.0, one.angular_momentum);
    v3_axpy(sum->center, one.mass, one.center);
  }
  if (sum->mass > 0) v3_scale(sum->center, 1.0 / sum->mass, sum->center);
  PetscFunctionReturn(PETSC_SUCCESS);
}
