/* Kind `cloth`: job keys, and creation of a surface of springs and hinges from a sheet, a shape or a mesh file. */
#include "core/math3.h"
#include "core/memory.h"
#include "discretize/body/body_kind.h"
#include "discretize/cloth/cloth_mesh.h"
#include "discretize/cloth/hinges.h"
#include "discretize/cloth/springs.h"
#include "geometry/import/mesh_import.h"
#include "geometry/shape/shape.h"
#include "discretize/nodal/nodal_keys.h"

#define MAX_CELLS 1e7

typedef struct {
  double corner[3], u[3], v[3], cells[2];
} sheet_spec;
typedef struct {
  const char       *material;
  const sheet_spec *sheet;
  const shape_spec *shape;
  double            spacing, mass_per_area, stretch, shear, across, bending;
  nodal_spec        nodal;
} cloth_body_spec;

/* clang-format off */
static const key_spec sheet_keys[] = {
    {.name = "corner", .type = KEY_REALS, .count = 3, .offset = offsetof(sheet_spec, corner), .unit = "m", .help = "one corner"},
  {.name = "u", .type = KEY_REALS, .count = 3, .offset = offsetof(sheet_spec, u), .unit = "m",
   .help = "vector from this corner to an adjacent one"},
  {.name = "v", .type = KEY_REALS, .count = 3, .offset = offsetof(sheet_spec, v), .unit = "m",
   .help = "vector from this corner to the other adjacent one"},
  {.name = "cells", .type = KEY_REALS, .count = 2, .offset = offsetof(sheet_spec, cells), .min = 1, .max = MAX_CELLS,
   .help = "numbers of cells along u and v"},
    {.name = NULL}};
/* clang-format on */
static const key_table sheet_table = {.name = "bodies.cloth.sheet",
                                      .help = "A parallelogram of cells, each divided into two triangles with alternating diagonals.",
                                      .size = sizeof(sheet_spec),
                                      .keys = sheet_keys};

#define STIFFNESS(member, key, u, ...)                                                                                                     \
  {                                                                                                                                        \
    .name = key, .type = KEY_REAL, .offset = offsetof(cloth_body_spec, member), .unit = u, .min = 0, .max = INFINITY, __VA_ARGS__          \
  }
/* clang-format off */
static const key_spec cloth_keys[] = {
  {.name = "material", .type = KEY_STRING, .offset = offsetof(cloth_body_spec, material), .fallback = "",
   .help = "name of an entry of materials, used only to select the body in contact.pairs"},
  {.name = "sheet", .type = KEY_TABLE, .offset = offsetof(cloth_body_spec, sheet), .table = &sheet_table, .is_optional = true,
   .help = "a flat sheet; or give shape"},
  {.name = "shape", .type = KEY_TABLE, .offset = offsetof(cloth_body_spec, shape), .table = &shape_table, .is_optional = true,
   .help = "shape whose surface is the cloth; a mesh from a file may be open; or give sheet"},
  {.name = "spacing", .type = KEY_REAL, .offset = offsetof(cloth_body_spec, spacing), .unit = "m", .min = 0, .max = INFINITY,
   .is_open = true, .is_optional = true, .help = "edge length on a shape that is not a mesh"},
  {.name = "mass_per_area", .type = KEY_REAL, .offset = offsetof(cloth_body_spec, mass_per_area), .unit = "kg/m^2", .min = 0,
   .max = INFINITY, .is_open = true, .help = "mass per area"},
    STIFFNESS(stretch, "stretch", "N",
              .help = "force per strain of the springs along edges; of a sheet: along rows and columns only"),
    STIFFNESS(shear, "shear", "N", .is_optional = true,
              .help = "force per strain of the springs along both diagonals of the cells of a sheet; equal to stretch if not given"),
    STIFFNESS(across, "bending_springs", "N", .fallback = "0",
              .help =
                  "force per strain of springs that connect the two corners opposite to an edge; they resist bending in both directions equally"),
    STIFFNESS(bending, "bending", "J", .fallback = "0",
              .help = "flexural rigidity of hinges, which resist changes of the angle between adjacent triangles"),
    NODAL_KEYS(cloth_body_spec),
    {.name = NULL}};
/* clang-format on */
const key_table cloth_body_table = {
    .name = "bodies.cloth",
    .help = "Cloth: a surface of springs and hinges without stress in the initial shape. Both sides have contact.",
    .size = sizeof(cloth_body_spec),
    .keys = cloth_keys};

/* ---- its surface ------------------------------------------------------------------------------------------------------------ */

static PetscErrorCode make_sheet(const sheet_spec *spec, const body_request *r, diagnostics *d, triangle_mesh **out)
{
  const int64_t cells[2] = {(int64_t)spec->cells[0], (int64_t)spec->cells[1]};
  double        normal[3];
  PetscFunctionBegin;
  v3_cross(normal, spec->u, spec->v);
  if ((double)cells[0] != spec->cells[0] || (double)cells[1] != spec->cells[1] || spec->cells[0] * spec->cells[1] > MAX_CELLS)
    diagnostics_add_under(d, r->node, r->path, "sheet.cells", "expected two whole numbers, at most %g cells in all, got %g and %g",
                          MAX_CELLS, spec->cells[0], spec->cells[1]);
  else if (!(v3_norm(normal) > 1e-9 * v3_dot(spec->u, spec->u) && v3_norm(normal) > 1e-9 * v3_dot(spec->v, spec->v)))
    diagnostics_add_under(d, r->node, r->path, "sheet.v", "is zero or parallel to u: give two directions that are not parallel");
  else PetscCall(cloth_sheet(spec->corner, spec->u, spec->v, cells, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A cloth mesh may be open, and several sheets may share a vertex. Either side of it can be outside. */
static PetscErrorCode check_mesh(const char *file, const triangle_mesh *m)
{
  triangle_mesh_defects defects;
  char                  text[512];
  PetscFunctionBegin;
  PetscCall(triangle_mesh_check(m, &defects));
  defects.n_open = defects.n_pinched = 0;
  defects.volume                     = 1.0;
  triangle_mesh_defects_text(m, &defects, sizeof text, text);
  PetscCheck(!*text, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: %s", file, text);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An open surface has no shape: a file is read here, not by shape_create. */
static PetscErrorCode import_mesh(const shape_spec *spec, triangle_mesh **out)
{
  double c[3], R[9];
  PetscFunctionBegin;
  PetscCall(mesh_import(spec->mesh->file, out));
  triangle_mesh_scale(*out, spec->mesh->scale);
  PetscCall(check_mesh(spec->mesh->file, *out));
  if (shape_pose(spec, c, R)) triangle_mesh_transform(*out, c, R);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode make_surface(const cloth_body_spec *spec, const body_request *r, diagnostics *d, triangle_mesh **out)
{
  char   path[300];
  shape *s;
  PetscFunctionBegin;
  if (spec->shape->mesh && spec->shape->mesh->file) {
    if (spec->shape->rotate_deg != 0.0 && !(v3_norm(spec->shape->axis) > 0.0))
      diagnostics_add_under(d, r->node, r->path, "shape.axis", "must not be the zero vector: it is the axis of the rotation");
    else PetscCall(import_mesh(spec->shape, out));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  snprintf(path, sizeof path, "%s.shape", r->path);
  PetscCall(shape_create(spec->shape, document_find(r->node, "shape"), path, d, spec->spacing, &s));
  if (s && s->surface) PetscCall(triangle_mesh_copy(s->surface, out));
  else if (s) diagnostics_add_under(d, r->node, r->path, "shape", "is unbounded, without closed surface: give a bounded shape, or a sheet");
  shape_destroy(&s);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- making one ------------------------------------------------------------------------------------------------------------- */

/* A third of each triangle's mass for each of its corners. */
static PetscErrorCode lump_masses(const triangle_mesh *m, double per_area, double **mass)
{
  PetscFunctionBegin;
  PetscCall(memory_alloc("node masses", m->n_vertices, sizeof **mass, mass));
  for (int64_t t = 0; t < m->n_triangles; ++t) {
    const int32_t *c = m->tri + 3 * t;
    double         e1[3], e2[3], normal[3];
    v3_sub(e1, m->x + 3 * (int64_t)c[1], m->x + 3 * (int64_t)c[0]);
    v3_sub(e2, m->x + 3 * (int64_t)c[2], m->x + 3 * (int64_t)c[0]);
    v3_cross(normal, e1, e2);
    for (int k = 0; k < 3; ++k) (*mass)[c[k]] += per_area * v3_norm(normal) / 6.0;
  }
  for (int64_t i = 0; i < m->n_vertices; ++i)
    if (!((*mass)[i] > 0.0)) {
      memory_free(mass);
      SETERRQ(PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
              "the triangles around vertex %lld have no area, so this vertex has no mass; repair the mesh", (long long)i);
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode add_forces(nodal_body *b, const cloth_body_spec *spec, double beta, const cloth_links *l)
{
  const double shear = isnan(spec->shear) ? spec->stretch : spec->shear;
  PetscFunctionBegin;
  if (spec->stretch > 0.0) PetscCall(springs_add(b, "springs", spec->stretch, beta, l->n_stretch, l->stretch));
  if (shear > 0.0 && l->n_shear > 0) PetscCall(springs_add(b, "shear springs", shear, beta, l->n_shear, l->shear));
  if (spec->across > 0.0) PetscCall(springs_add(b, "bending springs", spec->across, beta, l->n_across, l->across));
  if (spec->bending > 0.0) PetscCall(hinges_add(b, spec->bending, beta, l->n_hinges, l->hinge));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode make_body(const body_request *r, const body_world *w, const triangle_mesh *m, diagnostics *d, body **out)
{
  const cloth_body_spec *spec     = r->spec;
  const int64_t          cells[2] = {spec->sheet ? (int64_t)spec->sheet->cells[0] : 0, spec->sheet ? (int64_t)spec->sheet->cells[1] : 0};
  cloth_links            links;
  double                *mass;
  nodal_body            *b;
  PetscFunctionBegin;
  PetscCall(lump_masses(m, spec->mass_per_area, &mass));
  PetscCall(nodal_body_create(r->name, m->n_vertices, m->x, mass, &b));
  memory_free(&mass);
  *out = &b->base;
  v3_copy(b->gravity, w->gravity);
  PetscCall(nodal_body_set_surface(b, m->n_triangles, m->tri));
  PetscCall(cloth_links_create(m, spec->sheet ? cells : NULL, &links));
  const double         beta = nodal_damping_beta(spec->nodal.damping, "cloth", r->node, r->path, d);
  const PetscErrorCode code = add_forces(b, spec, beta, &links);
  cloth_links_destroy(&links);
  PetscCall(code);
  PetscCall(nodal_body_configure(b, &spec->nodal, r->node, r->path, d));
  PetscCall(nodal_body_finish(b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Both keys, neither, or a key that requires the other one; false after a diagnostic. */
static bool check_keys(const cloth_body_spec *spec, const body_request *r, diagnostics *d)
{
  const int  before  = diagnostics_count(d);
  const bool is_mesh = spec->shape && spec->shape->mesh;
  if (!spec->sheet == !spec->shape) {
    diagnostics_add_under(d, r->node, r->path, spec->sheet ? "sheet" : NULL, "expected one of `sheet` and `shape`");
    return false;
  }
  if (spec->shape && !isnan(spec->shear))
    diagnostics_add_under(d, r->node, r->path, "shear", "is only for a `sheet`, whose cells have diagonals; remove it");
  if (spec->sheet && !isnan(spec->spacing))
    diagnostics_add_under(d, r->node, r->path, "spacing", "is only for a `shape`; edges of a sheet follow from `cells`; remove it");
  if (is_mesh && !isnan(spec->spacing))
    diagnostics_add_under(d, r->node, r->path, "spacing", "a mesh from a file is used unchanged; remove it");
  if (is_mesh && !isnan(spec->shape->mesh->spacing))
    diagnostics_add_under(d, r->node, r->path, "shape.mesh.spacing", "has no effect for cloth, which has no level set; remove it");
  return diagnostics_count(d) == before;
}

static PetscErrorCode cloth_create(const body_request *r, body_world *w, diagnostics *d, body **out)
{
  const cloth_body_spec *spec = r->spec;
  triangle_mesh         *m    = NULL;
  const char            *key  = spec->sheet ? "sheet" : spec->shape && spec->shape->mesh ? "shape.mesh.file" : "shape";
  PetscFunctionBegin;
  *out = NULL;
  if (!check_keys(spec, r, d)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscErrorCode code = spec->sheet ? make_sheet(spec->sheet, r, d, &m) : make_surface(spec, r, d, &m);
  if (!code && m) code = make_body(r, w, m, d, out);
  triangle_mesh_destroy(&m);
  if (!diagnostics_take(d, r->node, r->path, key, code)) PetscCall(code);
  else if (*out) (*out)->ops->destroy(out);
  PetscFunctionReturn(PETSC_SUCCESS);
}

const body_kind cloth_body_kind = {
    .name = "cloth", .keys = &cloth_body_table, .ops = &nodal_body_ops, .material = BODY_MATERIAL_OPTIONAL, .create = cloth_create};
