/* Kind `fem`: job keys, and creation of a solid of linear tetrahedra from a shape or a mesh file. */
#include "core/math3.h"
#include "core/memory.h"
#include "core/quaternion.h"
#include "discretize/body/body_kind.h"
#include "discretize/fem/tetrahedra.h"
#include "discretize/material/material.h"
#include "geometry/import/mesh_import.h"
#include "geometry/tet_mesh/tet_mesh_primitives.h"
#include "geometry/tet_mesh/tet_mesh_stuffing.h"
#include "geometry/triangle_mesh/mesh_shells.h"
#include "discretize/nodal/nodal_keys.h"

typedef struct {
  const char *path;
  double      scale, rotate_deg, axis[3], about[3], translate[3];
  bool        allow_parts;
} file_spec;
typedef struct {
  double direction[3], factor;
} grading_spec;
typedef struct {
  const char         *material;
  const shape_spec   *shape;
  const file_spec    *mesh;
  double              spacing;
  int                 mesher;
  const grading_spec *grading;
  nodal_spec          nodal;
} fem_body_spec;
enum { MESHER_AUTO, MESHER_STRUCTURED, MESHER_STUFFING };

static const char *const meshers[] = {"auto", "structured", "stuffing", NULL};
/* clang-format off */
static const key_spec    file_keys[] = {
  {.name = "path", .type = KEY_PATH, .offset = offsetof(file_spec, path), .help = "Gmsh .msh (2.2, 4.1), TetGen .node or .ele, VTK .vtu"},
  {.name = "scale", .type = KEY_REAL, .offset = offsetof(file_spec, scale), .min = 0, .max = INFINITY, .is_open = true, .fallback = "1",
   .help = "factor from the file's unit of length to metres"},
  {.name = "rotate_deg", .type = KEY_REAL, .offset = offsetof(file_spec, rotate_deg), .unit = "deg", .fallback = "0", .help = "rotation angle, applied after scale"},
  {.name = "axis", .type = KEY_REALS, .count = 3, .offset = offsetof(file_spec, axis), .fallback = "[0, 0, 1]", .only_if = {"rotate_deg", "*"}, .help = "axis of the rotation (any length)"},
  {.name = "about", .type = KEY_REALS, .count = 3, .offset = offsetof(file_spec, about), .unit = "m", .fallback = "[0, 0, 0]", .only_if = {"rotate_deg", "*"}, .help = "a point on the axis of the rotation"},
  {.name = "translate", .type = KEY_REALS, .count = 3, .offset = offsetof(file_spec, translate), .unit = "m", .fallback = "[0, 0, 0]", .help = "translation, applied after the rotation"},
  {.name = "allow_parts", .type = KEY_BOOL, .offset = offsetof(file_spec, allow_parts), .fallback = "false", .help = "whether the file may contain several separate solids"},
  {.name = NULL}};
static const key_table file_table = {.name = "bodies.fem.mesh", .help = "A mesh of tetrahedra from a file.", .size = sizeof(file_spec), .keys = file_keys};
static const key_spec  grading_keys[] = {
  {.name = "direction", .type = KEY_REALS, .count = 3, .offset = offsetof(grading_spec, direction), .help = "direction from the centre to the side with short edges (any length)"},
  {.name = "factor", .type = KEY_REAL, .offset = offsetof(grading_spec, factor), .min = 1, .max = 100, .help = "spacing over the length of edges on this side; opposite edges are longer by the same factor"},
  {.name = NULL}};
static const key_table grading_table = {.name = "bodies.fem.grading", .help = "Refinement of the mesh of a ball on one side, for contact.", .size = sizeof(grading_spec), .keys = grading_keys};
static const key_spec  fem_keys[] = {
  {.name = "material", .type = KEY_STRING, .offset = offsetof(fem_body_spec, material), .help = "name of an elastic entry of materials"},
  {.name = "shape", .type = KEY_TABLE, .offset = offsetof(fem_body_spec, shape), .table = &shape_table, .is_optional = true, .help = "shape to be meshed; or give mesh"},
  {.name = "mesh", .type = KEY_TABLE, .offset = offsetof(fem_body_spec, mesh), .table = &file_table, .is_optional = true, .help = "a mesh from a file; or give shape"},
  {.name = "spacing", .type = KEY_REAL, .offset = offsetof(fem_body_spec, spacing), .unit = "m", .min = 0, .max = INFINITY, .is_open = true, .is_optional = true,
   .help = "edge length of the mesh of a shape"},
  {.name = "mesher", .type = KEY_ENUM, .offset = offsetof(fem_body_spec, mesher), .choices = meshers, .fallback = "auto",
   .help = "structured: for box, sphere, cylinder and torus, preserves sharp edges; stuffing: any bounded shape, with dihedral angles between "
           "10.7 and 164.8 degrees, cuts off sharp edges; auto: structured if the shape has one"},
  {.name = "grading", .type = KEY_TABLE, .offset = offsetof(fem_body_spec, grading), .table = &grading_table, .is_optional = true,
   .help = "refinement on one side of a sphere with a structured mesh"},
  NODAL_KEYS(fem_body_spec),
  {.name = NULL}};
/* clang-format on */
const key_table fem_body_table = {.name = "bodies.fem",
                                  .help = "A deformable solid of finite elements: linear tetrahedra.",
                                  .size = sizeof(fem_body_spec),
                                  .keys = fem_keys};

/* ---- meshing -------------------------------------------------------------------------------------------------------------- */

/* Before the shape is turned and moved. */
static PetscErrorCode grade(const shape_sphere_spec *s, const grading_spec *g, tet_mesh *m)
{
  PetscFunctionBegin;
  PetscCall(tet_mesh_grade_sphere(s->center, s->radius, g->direction, g->factor, m));
  PetscCall(tet_mesh_require("the graded sphere", m, false, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A structured mesh of a primitive in its own axes, or NULL. */
static PetscErrorCode mesh_primitive(const shape_spec *s, double spacing, tet_mesh **out)
{
  PetscFunctionBegin;
  *out = NULL;
  if (s->box) PetscCall(tet_mesh_box(s->box->min, s->box->max, spacing, out));
  if (s->sphere) PetscCall(tet_mesh_sphere(s->sphere->center, s->sphere->radius, spacing, out));
  if (s->cylinder) PetscCall(tet_mesh_cylinder(s->cylinder->from, s->cylinder->to, s->cylinder->radius, spacing, out));
  if (s->torus) PetscCall(tet_mesh_torus(s->torus->center, s->torus->axis, s->torus->major_radius, s->torus->minor_radius, spacing, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode mesh_shape(const fem_body_spec *spec, const shape *s, const body_request *r, diagnostics *d, tet_mesh **out)
{
  double c[3], R[9];
  PetscFunctionBegin;
  *out = NULL;
  if (spec->mesher != MESHER_STUFFING) PetscCall(mesh_primitive(spec->shape, spec->spacing, out));
  if (spec->grading) PetscCall(grade(spec->shape->sphere, spec->grading, *out));
  if (*out) {
    if (shape_pose(spec->shape, c, R)) tet_mesh_transform(*out, c, R);
  } else if (spec->mesher == MESHER_STRUCTURED) {
    diagnostics_add_under(d, r->node, r->path, "mesher",
                          "a structured mesh is available only for box, sphere, cylinder and torus; use mesher: stuffing");
  } else PetscCall(tet_mesh_from_level_set(s->piece[0], s->min, s->max, spec->spacing, NULL, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode mesh_file(const file_spec *f, tet_mesh **out)
{
  double     c[3], R[9];
  char       text[512];
  shape_spec pose = {.rotate_deg = f->rotate_deg};
  PetscFunctionBegin;
  PetscCall(tet_mesh_import(f->path, f->allow_parts, out));
  PetscCall(triangle_mesh_crossings_text((*out)->surface, sizeof text, text));
  if (!*text) PetscCall(mesh_shells_text((*out)->surface, sizeof text, text));
  PetscCheck(!*text, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: %s", f->path, text);
  tet_mesh_scale(*out, f->scale);
  v3_copy(pose.axis, f->axis);
  v3_copy(pose.about, f->about);
  v3_copy(pose.translate, f->translate);
  if (shape_pose(&pose, c, R)) tet_mesh_transform(*out, c, R);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Both keys, neither, or a key that requires the other one; false after a diagnostic. */
static bool check_keys(const fem_body_spec *spec, const body_request *r, diagnostics *d)
{
  const int before = diagnostics_count(d);
  if (!spec->shape == !spec->mesh)
    diagnostics_add_under(d, r->node, r->path, spec->mesh ? "mesh" : NULL, "expected one of `shape` (to be meshed) and `mesh` (a file)");
  else if (spec->mesh) {
    const char *astray = !isnan(spec->spacing) ? "spacing" : "mesher";
    if (!isnan(spec->spacing) || spec->mesher != MESHER_AUTO)
      diagnostics_add_under(d, r->node, r->path, astray, "is only for a `shape`: a mesh from a file is used unchanged; remove it");
    if (spec->mesh->rotate_deg != 0.0 && !(v3_norm(spec->mesh->axis) > 0.0))
      diagnostics_add_under(d, r->node, r->path, "mesh.axis", "must not be the zero vector: it is the axis of the rotation");
  } else if (isnan(spec->spacing))
    diagnostics_add_under(d, r->node, r->path, NULL,
                          "missing required key \"spacing\" (a number in m): edge length of the mesh of the shape");
  if (spec->grading && (!spec->shape || !spec->shape->sphere || spec->mesher == MESHER_STUFFING))
    diagnostics_add_under(d, r->node, r->path, "grading", "is only for a sphere with mesher: auto or structured; remove it");
  else if (spec->grading && !(v3_norm(spec->grading->direction) > 0.0))
    diagnostics_add_under(d, r->node, r->path, "grading.direction", "must not be the zero vector: it points to the side with short edges");
  return diagnostics_count(d) == before;
}

static PetscErrorCode make_mesh(const fem_body_spec *spec, const body_request *r, diagnostics *d, tet_mesh **out)
{
  char           path[300];
  shape         *s    = NULL;
  PetscErrorCode code = PETSC_SUCCESS;
  PetscFunctionBegin;
  *out = NULL;
  if (!check_keys(spec, r, d)) PetscFunctionReturn(PETSC_SUCCESS);
  if (spec->mesh) {
    if (spec->mesh->path) code = mesh_file(spec->mesh, out); /* otherwise the key table has reported an error */
  } else {
    snprintf(path, sizeof path, "%s.shape", r->path);
    PetscCall(shape_create(spec->shape, document_find(r->node, "shape"), path, d, NAN, &s));
    if (s && s->is_bounded) code = mesh_shape(spec, s, r, d, out);
    else if (s) diagnostics_add_under(d, r->node, r->path, "shape", "has no volume to mesh: fem requires a bounded shape");
    shape_destroy(&s);
  }
  if (diagnostics_take(d, r->node, r->path, spec->mesh ? "mesh.path" : "shape", code)) tet_mesh_destroy(out);
  else PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- making one ------------------------------------------------------------------------------------------------------------- */

static PetscErrorCode make_body(const body_request *r, const body_world *w, const tet_mesh *mesh, diagnostics *d, body **out)
{
  const fem_body_spec *spec = r->spec;
  const int64_t        n = mesh->n_vertices, n_triangles = mesh->surface->n_triangles;
  double              *mass;
  int32_t             *triangles;
  nodal_body          *b;
  PetscFunctionBegin;
  PetscCall(memory_alloc("node masses", n, sizeof *mass, &mass));
  for (int64_t i = 0; i < n; ++i) mass[i] = r->material->density * mesh->vertex_volume[i];
  PetscCall(nodal_body_create(r->name, n, mesh->x, mass, &b));
  *out = &b->base;
  memory_free(&mass);
  v3_copy(b->gravity, w->gravity);
  PetscCall(memory_alloc("surface triangles", 3 * n_triangles, sizeof *triangles, &triangles));
  for (int64_t i = 0; i < 3 * n_triangles; ++i) triangles[i] = mesh->surface_vertex[mesh->surface->tri[i]];
  PetscCall(nodal_body_set_surface(b, n_triangles, triangles));
  memory_free(&triangles);
  const nodal_damping_form form = spec->nodal.damping->form < 0 ? NODAL_DAMPING_SPATIAL : (nodal_damping_form)spec->nodal.damping->form;
  const double             beta = nodal_damping_beta(spec->nodal.damping, NULL, r->node, r->path, d);
  PetscCall(tetrahedra_add(b, r->material, form, beta, mesh->n_tets, mesh->tet));
  PetscCall(nodal_body_configure(b, &spec->nodal, r->node, r->path, d));
  PetscCall(nodal_body_finish(b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode fem_create(const body_request *r, body_world *w, diagnostics *d, body **out)
{
  tet_mesh *mesh;
  PetscFunctionBegin;
  *out = NULL;
  if (!r->material) PetscFunctionReturn(PETSC_SUCCESS);
  if (!material_is_elastic(r->material)) {
    diagnostics_add_under(d, r->node, r->path, "material", "\"%s\" (%s) is not elastic; a body of kind fem requires an elastic material",
                          r->material->name, r->material->law->name);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(make_mesh(r->spec, r, d, &mesh));
  if (!mesh) PetscFunctionReturn(PETSC_SUCCESS);
  const PetscErrorCode code = make_body(r, w, mesh, d, out);
  tet_mesh_destroy(&mesh);
  if (!diagnostics_take(d, r->node, r->path, ((const fem_body_spec *)r->spec)->mesh ? "mesh" : "shape", code)) PetscCall(code);
  else if (*out) (*out)->ops->destroy(out);
  PetscFunctionReturn(PETSC_SUCCESS);
}

const body_kind fem_body_kind = {
    .name = "fem", .keys = &fem_body_table, .ops = &nodal_body_ops, .material = BODY_MATERIAL_WITH_LAW, .create = fem_create};
