/* Creates a body of kind rod from its job entry: nodes, ends, constrained nodes, and the blocks of the chosen model. Contains the table of
 * models and the row of the registry of body kinds. */
#include "core/math3.h"
#include "core/memory.h"
#include "discretize/rod/rod_body.h"

#define X(name, help) extern const rod_model rod_model_##name;
ROD_MODEL_TABLE(X)
#undef X

#define X(name, help) &rod_model_##name,
static const rod_model *const rod_models[] = {ROD_MODEL_TABLE(X) NULL}; /* indexed by rod_body_spec.model */
#undef X

/* Lumped masses, radii and initial velocities of the nodes. */
static PetscErrorCode set_nodes(rod_body *b, const rod_body_spec *spec)
{
  rod_strands  *s = &b->strands;
  const int64_t n = s->n_nodes, n_clusters = (n + ROD_CLUSTER - 1) / ROD_CLUSTER;
  double        center[3] = {0.0, 0.0, 0.0}, mass = 0.0;
  PetscFunctionBegin;
  double **vectors[] = {&b->x, &b->v, &b->place}, **scalars[] = {&b->mass, &b->node_radius};
  for (size_t k = 0; k < sizeof vectors / sizeof *vectors; ++k) PetscCall(memory_alloc("rod nodes", 3 * n, sizeof(double), vectors[k]));
  for (size_t k = 0; k < sizeof scalars / sizeof *scalars; ++k) PetscCall(memory_alloc("rod nodes", n, sizeof(double), scalars[k]));
  PetscCall(MEMORY_ALLOC("rod kind", ARRAY(b->radius, s->n_segments), ARRAY(b->clamp, 2 * s->n_strands),
                         ARRAY(b->cluster_center, 3 * n_clusters), ARRAY(b->cluster_radius, n_clusters)));
  memcpy(b->x, s->x, (size_t)(3 * n) * sizeof *b->x);
  for (int64_t j = 0; j < s->n_segments; ++j) {
    b->radius[j] = b->section.radius;
    for (int k = 0; k < 2; ++k) b->mass[s->segment[2 * j + k]] += 0.5 * b->section.mass_per_length * s->length[j];
  }
  for (int64_t i = 0; i < n; ++i) {
    b->node_radius[i] = b->section.radius;
    mass += b->mass[i];
    v3_axpy(center, b->mass[i], b->x + 3 * i);
  }
  v3_scale(center, 1.0 / mass, center);
  for (int64_t i = 0; i < n; ++i) {
    double arm[3];
    v3_sub(arm, b->x + 3 * i, center);
    v3_cross(b->v + 3 * i, spec->angular_velocity, arm);
    v3_axpy(b->v + 3 * i, 1.0, spec->velocity);
  }
  for (int64_t i = 0; i < 2 * s->n_strands; ++i) {
    v3_copy(b->clamp[i].tangent, s->end_tangent + 3 * i);
    v3_copy(b->clamp[i].director, s->end_director + 3 * i);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode read_end(rod_body *b, int k, const rod_end_spec *spec, const body_request *r, diagnostics *d)
{
  const char          *key  = k == 0 ? "start" : "end";
  const document_node *node = document_find(r->node, key);
  char                 path[300], at[320];
  PetscFunctionBegin;
  snprintf(path, sizeof path, "%s.%s", r->path, key);
  b->end[k].held = spec->held;
  v3_copy(b->end[k].force, spec->force);
  v3_copy(b->end[k].moment, spec->moment);
  const bool is_given = spec->held != ROD_END_FREE || spec->motion || v3_norm(spec->force) > 0.0 || v3_norm(spec->moment) > 0.0;
  if (b->strands.is_closed && is_given) diagnostics_add_under(d, r->node, r->path, key, "a loop has no ends; remove it");
  if (spec->held == ROD_END_FREE && spec->motion)
    diagnostics_add_under(d, node, path, "motion", "has no effect on an end which is free; remove it or give support: pinned or clamped");
  if (spec->held != ROD_END_FREE && v3_norm(spec->force) > 0.0)
    diagnostics_add_under(d, node, path, "force", "has no effect on an end with a prescribed position; remove it");
  if (spec->held == ROD_END_CLAMPED && v3_norm(spec->moment) > 0.0)
    diagnostics_add_under(d, node, path, "moment", "has no effect on an end with a prescribed direction; remove it");
  snprintf(at, sizeof at, "%s.motion", path);
  PetscCall(motion_create(spec->motion, spec->motion ? document_find(node, "motion") : NULL, at, d, &b->end[k].motion));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode read_holds(rod_body *b, const rod_body_spec *spec, const body_request *r, diagnostics *d)
{
  char at[300];
  PetscFunctionBegin;
  PetscCall(memory_alloc("rod constraints", spec->hold.n, sizeof *b->holds, &b->holds));
  for (int i = 0; i < spec->hold.n; ++i) {
    snprintf(at, sizeof at, "%s.hold[%d]", r->path, i);
    PetscCall(nodal_constraint_create(&spec->hold.item[i], at, b->strands.n_nodes, b->strands.x, d, &b->holds[b->n_holds++]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* List the prescribed components: those of constrained nodes, if the model's nodes are blocks, and those that the model has marked. */
static PetscErrorCode list_prescribed_components(rod_body *b)
{
  const rod_strands *s = &b->strands;
  uint8_t           *is_held;
  PetscFunctionBegin;
  PetscCall(memory_alloc("held components", 3 * s->n_nodes, 1, &is_held));
  nodal_constraints_mark(b->n_holds, b->holds, is_held);
  for (int64_t i = 0; i < s->n_strands && !s->is_closed; ++i)
    for (int k = 0; k < 2; ++k)
      if (b->end[k].held != ROD_END_FREE) memset(is_held + 3 * (k == 0 ? s->node_start[i] : s->node_start[i + 1] - 1), 1, 3);
  for (int64_t i = 0; i < 3 * s->n_nodes && b->node_block; ++i)
    if (is_held[i]) b->is_prescribed[3 * (int64_t)b->node_block[i / 3] + i % 3] = 1;
  memory_free(&is_held);
  for (int64_t i = 0; i < 3 * b->n_blocks; ++i) b->n_prescribed += b->is_prescribed[i];
  PetscCall(MEMORY_ALLOC("held components", ARRAY(b->prescribed, b->n_prescribed), ARRAY(b->prescribed_velocity, b->n_prescribed)));
  for (int64_t i = 0, j = 0; i < 3 * b->n_blocks; ++i)
    if (b->is_prescribed[i]) b->prescribed[j++] = i;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Reject keys that have no effect with the chosen model. */
static void check_keys(const rod_body_spec *spec, const body_request *r, diagnostics *d)
{
  const rod_model *model = rod_models[spec->model];
  if ((!isnan(spec->stiffness->bend_springs) || !isnan(spec->stiffness->twist_springs)) && model != &rod_model_mass_spring)
    diagnostics_add_under(d, r->node, r->path, isnan(spec->stiffness->bend_springs) ? "stiffness.twist_springs" : "stiffness.bend_springs",
                          "is a key of model mass_spring; remove it");
  if (!isnan(spec->stiffness->shear) && model != &rod_model_corde)
    diagnostics_add_under(d, r->node, r->path, "stiffness.shear", "is a key of model corde: model %s has no shear; remove it", model->name);
  if (!isnan(spec->stiffness->stretch) && model == &rod_model_super_helix)
    diagnostics_add_under(d, r->node, r->path, "stiffness.stretch", "has no effect: a super_helix does not stretch; remove it");
}

static PetscErrorCode build_body(rod_body *b, const body_request *r, const body_world *w, diagnostics *d)
{
  const rod_body_spec *spec   = r->spec;
  const int            before = diagnostics_count(d);
  PetscFunctionBegin;
  b->base.ops          = &rod_body_ops;
  b->base.name         = r->name;
  b->natural           = *spec->natural;
  b->mass_damping      = spec->damping->mass;
  b->stiffness_damping = nodal_damping_beta(spec->damping, "rod", r->node, r->path, d);
  v3_copy(b->gravity, w->gravity);
  rod_section_of(spec->section, spec->stiffness, r->material, &b->section);
  check_keys(spec, r, d);
  PetscCall(set_nodes(b, spec));
  PetscCall(read_end(b, 0, spec->start, r, d));
  PetscCall(read_end(b, 1, spec->end, r, d));
  PetscCall(read_holds(b, spec, r, d));
  if (diagnostics_count(d) > before) PetscFunctionReturn(PETSC_SUCCESS);
  b->model = rod_models[spec->model];
  PetscCall(b->model->create(b, r, d));
  if (diagnostics_count(d) > before) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(block_matrix_create(b->n_blocks, b->n_pairs, b->pair, &b->row_start, &b->col, &b->transposed, &b->value));
  memory_free(&b->pair);
  PetscCall(list_prescribed_components(b));
  if (b->model->finish) PetscCall(b->model->finish(b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode rod_create(const body_request *r, body_world *w, diagnostics *d, body **out)
{
  const rod_body_spec *spec   = r->spec;
  const int            before = diagnostics_count(d);
  bool                 is_made;
  rod_body            *b;
  PetscFunctionBegin;
  *out = NULL;
  if (r->material && !material_is_elastic(r->material))
    diagnostics_add_under(d, r->node, r->path, "material", "\"%s\" (%s) yields or flows; kind: rod needs an elastic one", r->material->name,
                          r->material->law->name);
  PetscCall(memory_alloc("rod", 1, sizeof *b, &b));
  b->base.ops = &rod_body_ops;
  PetscCall(rod_strands_create(spec, r->node, r->path, d, &b->strands, &is_made));
  PetscErrorCode code = PETSC_SUCCESS;
  if (is_made && r->material && spec->section) code = build_body(b, r, w, d);
  *out = &b->base;
  if (diagnostics_take(d, r->node, r->path, NULL, code)) code = PETSC_SUCCESS;
  if (code || diagnostics_count(d) > before || !b->row_start) rod_body_ops.destroy(out);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

const body_kind rod_body_kind = {
    .name = "rod", .keys = &rod_body_table, .ops = &rod_body_ops, .material = BODY_MATERIAL_WITH_LAW, .create = rod_create};
