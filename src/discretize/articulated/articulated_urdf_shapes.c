/* Shapes of a URDF in the words of a job. */
#include "core/math3.h"
#include "core/quaternion.h"
#include "discretize/articulated/articulated_urdf_impl.h"
#include <string.h>
#include <unistd.h>

/* The move of a shape that is drawn at the origin. */
static PetscErrorCode put_pose(const urdf *u, document_node *map, const xml_element *e, const urdf_pose *at)
{
  double q[4], theta[3], angle;
  PetscFunctionBegin;
  quaternion_from_matrix(q, at->R);
  quaternion_log(theta, q);
  angle = v3_norm(theta);
  if (angle > 0.0) {
    const double deg = angle * 180.0 / M_PI, about[3] = {0, 0, 0};
    v3_scale(theta, 1.0 / angle, theta);
    PetscCall(urdf_put_numbers(u, map, e, "rotate_deg", 1, &deg));
    PetscCall(urdf_put_numbers(u, map, e, "axis", 3, theta));
    PetscCall(urdf_put_numbers(u, map, e, "about", 3, about));
  }
  PetscCall(urdf_put_numbers(u, map, e, "translate", 3, at->p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* "package://NAME/meshes/a.stl" is looked for in the folder of the urdf and the one above, with and without NAME; other names are
 * relative to the folder. False after a complaint. */
static bool find_mesh(const urdf *u, const xml_element *e, const char *name, size_t size, char *out)
{
  const char  *slash  = strrchr(u->file, '/');
  const int    folder = slash ? (int)(slash - u->file) : 0;
  const char  *path   = name;
  static const char *const up[] = {"", "../"};
  if (strncmp(name, "file://", 7) == 0) path = name + 7;
  if (strncmp(name, "package://", 10) == 0) {
    const char *whole = name + 10, *rest = strchr(whole, '/');
    for (int k = 0; k < 4; ++k) {
      const char *tail = k & 1 ? whole : rest ? rest + 1 : whole;
      (void)snprintf(out, size, "%.*s%s%s%s", folder, u->file, slash ? "/" : "", up[k / 2], tail);
      if (access(out, R_OK) == 0) return true;
    }
  } else {
    if (path[0] == '/') (void)snprintf(out, size, "%s", path);
    else (void)snprintf(out, size, "%.*s%s%s", folder, u->file, slash ? "/" : "", path);
    if (access(out, R_OK) == 0) return true;
  }
  COMPLAIN(u, e, "filename=\"%s\": there is no such file, as %s", name, out);
  return false;
}

static PetscErrorCode put_mesh(const urdf *u, const xml_element *e, document_node *shape)
{
  const char    *name = xml_attribute(e, "filename");
  double         scale[3] = {1, 1, 1};
  char           path[4096];
  document_node *mesh;
  PetscFunctionBegin;
  urdf_check_words(u, e, NO_WORDS, WORDS("filename", "scale"));
  if (!name) COMPLAIN(u, e, "has no attribute filename");
  (void)urdf_numbers(u, e, "scale", 3, scale);
  if (scale[0] != scale[1] || scale[0] != scale[2] || !(scale[0] > 0.0))
    COMPLAIN(u, e, "scale=\"%s\": only one factor > 0 for all directions is known; stretch the mesh itself",
             xml_attribute(e, "scale"));
  if (!name || !find_mesh(u, e, name, sizeof path, path)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(document_add_node(u->doc, DOCUMENT_MAPPING, e->mark, NULL, &mesh));
  PetscCall(urdf_put_text(u, mesh, e, "file", path));
  PetscCall(urdf_put_numbers(u, mesh, e, "scale", 1, &scale[0]));
  PetscCall(urdf_put(u, shape, e, "mesh", mesh));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A cylinder or capsule along z about the origin. */
static PetscErrorCode put_round(const urdf *u, const xml_element *e, document_node *shape)
{
  double         r = 0.0, length = 0.0;
  char           text[300];
  document_node *node;
  PetscFunctionBegin;
  urdf_check_words(u, e, NO_WORDS, WORDS("radius", "length"));
  if (urdf_wanted(u, e, "radius", 1, &r) && urdf_wanted(u, e, "length", 1, &length)) {
    if (!(length > 0.0)) COMPLAIN(u, e, "length=\"%s\": expected a number > 0", xml_attribute(e, "length"));
    (void)snprintf(text, sizeof text, "{from: [0, 0, %.17g], to: [0, 0, %.17g], radius: %.17g}", -0.5 * length, 0.5 * length, r);
    PetscCall(document_read_flow(u->doc, text, e->mark, &node));
    PetscCall(urdf_put(u, shape, e, e->name, node));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode put_geometry(const urdf *u, const xml_element *e, document_node *shape)
{
  double         x[3];
  char           text[400];
  document_node *node;
  PetscFunctionBegin;
  if (strcmp(e->name, "mesh") == 0) PetscCall(put_mesh(u, e, shape));
  else if (strcmp(e->name, "cylinder") == 0 || strcmp(e->name, "capsule") == 0) PetscCall(put_round(u, e, shape));
  else if (strcmp(e->name, "sphere") == 0) {
    urdf_check_words(u, e, NO_WORDS, WORDS("radius"));
    if (!urdf_wanted(u, e, "radius", 1, x)) PetscFunctionReturn(PETSC_SUCCESS);
    (void)snprintf(text, sizeof text, "{center: [0, 0, 0], radius: %.17g}", x[0]);
    PetscCall(document_read_flow(u->doc, text, e->mark, &node));
    PetscCall(urdf_put(u, shape, e, "sphere", node));
  } else if (strcmp(e->name, "box") == 0) {
    urdf_check_words(u, e, NO_WORDS, WORDS("size"));
    if (!urdf_wanted(u, e, "size", 3, x)) PetscFunctionReturn(PETSC_SUCCESS);
    (void)snprintf(text, sizeof text, "{min: [%.17g, %.17g, %.17g], max: [%.17g, %.17g, %.17g]}", -0.5 * x[0], -0.5 * x[1],
                   -0.5 * x[2], 0.5 * x[0], 0.5 * x[1], 0.5 * x[2]);
    PetscCall(document_read_flow(u->doc, text, e->mark, &node));
    PetscCall(urdf_put(u, shape, e, "box", node));
  } else COMPLAIN(u, e, "<%s> is no shape that is known: expected box, sphere, cylinder, capsule or mesh", e->name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One <collision>. *shape stays NULL after a complaint. */
static PetscErrorCode read_collision(const urdf *u, const xml_element *e, const urdf_pose *base, document_node **shape)
{
  const xml_element *geometry = xml_child(e, "geometry");
  PetscFunctionBegin;
  *shape = NULL;
  urdf_check_words(u, e, WORDS("origin", "geometry"), WORDS("name"));
  if (!geometry || geometry->n != 1) {
    COMPLAIN(u, geometry ? geometry : e, "expected one <geometry> with one shape");
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  urdf_check_words(u, geometry, WORDS(geometry->child[0]->name), NO_WORDS);
  const int       before = diagnostics_count(u->d);
  const urdf_pose at     = urdf_origin_of(u, e, base);
  PetscCall(document_add_node(u->doc, DOCUMENT_MAPPING, e->mark, NULL, shape));
  PetscCall(put_geometry(u, geometry->child[0], *shape));
  PetscCall(put_pose(u, *shape, e, &at));
  if (diagnostics_count(u->d) > before) *shape = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode urdf_read_shapes(const urdf *u, const urdf_link *l, document_node *map)
{
  document_node *all = NULL, *one = NULL;
  int            n = 0;
  PetscFunctionBegin;
  PetscCall(document_add_node(u->doc, DOCUMENT_SEQUENCE, l->e->mark, NULL, &all));
  for (int k = 0; k < l->e->n; ++k) {
    document_node *shape;
    if (strcmp(l->e->child[k]->name, "collision") != 0) continue;
    PetscCall(read_collision(u, l->e->child[k], &l->at, &shape));
    if (!shape) continue;
    PetscCall(document_append(u->doc, all, NULL, shape->mark, shape));
    one = shape;
    ++n;
  }
  if (n == 1) PetscCall(urdf_put(u, map, l->e, "shape", one));
  if (n > 1) {
    PetscCall(document_add_node(u->doc, DOCUMENT_MAPPING, l->e->mark, NULL, &one));
    PetscCall(urdf_put(u, one, l->e, "union", all));
    PetscCall(urdf_put(u, map, l->e, "shape", one));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
