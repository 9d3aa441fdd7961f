/* Implementation: translates the elements of a URDF to entries of the job document. All shapes and joints are placed at their
 * world positions with all joints at zero. */
#include "discretize/articulated/articulated_urdf.h"
#include <string.h>
#include <unistd.h>
#include "core/math3.h"
#include "core/quaternion.h"
#include "discretize/articulated/xml.h"

/* x -> p + R x. */
typedef struct {
  double p[3], R[9];
} urdf_pose;

typedef struct {
  const xml_element *e;
  const char        *name;
  const xml_element *joint;  /* joint that carries it; NULL: the root */
  int                parent; /* number of its parent link; -1: none */
  bool               is_placed;
  urdf_pose          at;
} urdf_link;

typedef struct {
  const char        *file;
  document          *doc;
  diagnostics       *d;
  const xml_element *robot;
  int                n;
  urdf_link         *link;
} urdf;

/* ---- reading elements and writing job entries ------------------------------------------------------------------------------- */

/* "joints.elbow.limit": path of the element for messages. */
static void urdf_name_of(const xml_element *e, size_t size, char *text);
#define REPORT_ERROR(u, e, ...)                                                                                                            \
  do {                                                                                                                                     \
    char name_[400];                                                                                                                       \
    urdf_name_of(e, sizeof name_, name_);                                                                                                  \
    diagnostics_add((u)->d, (e)->mark, name_, __VA_ARGS__);                                                                                \
  } while (0)

/* Read n numbers, 3 at most, of an attribute. Returns false if it is absent, or invalid (reported); then `out` does not change. */
static bool urdf_numbers(const urdf *u, const xml_element *e, const char *attribute, int n, double *out);
/* The same for a required attribute: reports an error if it is absent. */
static bool urdf_required_numbers(const urdf *u, const xml_element *e, const char *attribute, int n, double *out);
/* Report all child elements and attributes that are not in these lists, which end with NULL. */
static void urdf_check_names(const urdf *u, const xml_element *e, const char *const *children, const char *const *attributes);
#define WORDS(...)                                                                                                                         \
  (const char *const[]) { __VA_ARGS__, NULL }
#define NO_WORDS                                                                                                                           \
  (const char *const[]) { NULL }
/* Pose of the <origin> of an element, relative to `base`. */
static urdf_pose urdf_origin_of(const urdf *u, const xml_element *e, const urdf_pose *base);

static PetscErrorCode urdf_put(const urdf *u, document_node *map, const xml_element *e, const char *key, document_node *value);
static PetscErrorCode urdf_put_text(const urdf *u, document_node *map, const xml_element *e, const char *key, const char *text);
/* A number, or a list of them if n > 1. */
static PetscErrorCode urdf_put_numbers(const urdf *u, document_node *map, const xml_element *e, const char *key, int n, const double *x);

/* ---- shapes -------------------------------------------------------------------------------------------------------------- */

/* Write the <collision> elements of a link as the `shape` of `map`. */
static PetscErrorCode urdf_read_shapes(const urdf *u, const urdf_link *l, document_node *map);

/* ---- attributes ------------------------------------------------------------------------------------------------------ */

static void urdf_name_of(const xml_element *e, size_t size, char *text)
{
  const char *own = xml_attribute(e, "name");
  if (!e->parent) {
    (void)snprintf(text, size, "urdf");
    return;
  }
  urdf_name_of(e->parent, size, text);
  const size_t used = strlen(text);
  (void)snprintf(text + used, size - used, ".%s%s%s", e->name, own ? "." : "", own ? own : "");
}

static bool urdf_numbers(const urdf *u, const xml_element *e, const char *attribute, int n, double *out)
{
  const char *text = e ? xml_attribute(e, attribute) : NULL, *at = text;
  double      value[3];
  if (!text) return false;
  for (int k = 0; k < n; ++k) {
    char *end;
    value[k] = strtod(at, &end);
    if (end == at || !isfinite(value[k])) {
      REPORT_ERROR(u, e, "%s=\"%s\": expected %d finite number%s", attribute, text, n, n == 1 ? "" : "s");
      return false;
    }
    at = end;
  }
  if (at[strspn(at, " \t\r\n")]) {
    REPORT_ERROR(u, e, "%s=\"%s\": expected exactly %d finite number%s", attribute, text, n, n == 1 ? "" : "s");
    return false;
  }
  memcpy(out, value, (size_t)n * sizeof *out);
  return true;
}

static bool urdf_required_numbers(const urdf *u, const xml_element *e, const char *attribute, int n, double *out)
{
  if (!xml_attribute(e, attribute)) REPORT_ERROR(u, e, "has no attribute %s", attribute);
  return urdf_numbers(u, e, attribute, n, out);
}

static bool may_repeat(const char *name)
{
  static const char *const many[] = {"link", "joint", "material", "visual", "collision"};
  for (size_t k = 0; k < sizeof many / sizeof *many; ++k)
    if (strcmp(name, many[k]) == 0) return true;
  return false;
}

static void urdf_check_names(const urdf *u, const xml_element *e, const char *const *children, const char *const *attributes)
{
  for (int k = 0; k < e->n; ++k) {
    int i = 0;
    while (children[i] && strcmp(children[i], e->child[k]->name) != 0) ++i;
    if (!children[i]) REPORT_ERROR(u, e->child[k], "<%s> has no effect here: remove it", e->child[k]->name);
    else if (!may_repeat(children[i]) && xml_child(e, children[i]) != e->child[k])
      REPORT_ERROR(u, e->child[k], "duplicates the <%s> in line %d: remove one of them", children[i], xml_child(e, children[i])->mark.line);
  }
  for (int k = 0; k < e->n_attributes; ++k) {
    int i = 0;
    while (attributes[i] && strcmp(attributes[i], e->attribute[k]) != 0) ++i;
    if (!attributes[i]) REPORT_ERROR(u, e, "attribute %s has no effect here: remove it", e->attribute[k]);
  }
}

/* ---- poses ----------------------------------------------------------------------------------------------------------- */

/* Rotations about the fixed axes x, then y, then z. */
static void rotation_rpy(const double rpy[3], double R[9])
{
  const double cr = cos(rpy[0]), sr = sin(rpy[0]), cp = cos(rpy[1]), sp = sin(rpy[1]), cy = cos(rpy[2]), sy = sin(rpy[2]);
  const double full[9] = {
      cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr, sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr, -sp, cp * sr,
      cp * cr};
  m3_copy(R, full);
}

static urdf_pose urdf_origin_of(const urdf *u, const xml_element *e, const urdf_pose *base)
{
  const xml_element *o      = xml_child(e, "origin");
  double             xyz[3] = {0, 0, 0}, rpy[3] = {0, 0, 0}, R[9];
  urdf_pose          out = {{0}, {0}};
  if (o) urdf_check_names(u, o, NO_WORDS, WORDS("xyz", "rpy"));
  (void)urdf_numbers(u, o, "xyz", 3, xyz);
  (void)urdf_numbers(u, o, "rpy", 3, rpy);
  rotation_rpy(rpy, R);
  m3_mul(out.R, base->R, R);
  m3_mulv(out.p, base->R, xyz);
  v3_axpy(out.p, 1.0, base->p);
  return out;
}

/* ---- writing job entries --------------------------------------------------------------------------------------------------- */

static PetscErrorCode urdf_put(const urdf *u, document_node *map, const xml_element *e, const char *key, document_node *value)
{
  return document_append(u->doc, map, key, e->mark, value);
}

static PetscErrorCode urdf_put_text(const urdf *u, document_node *map, const xml_element *e, const char *key, const char *text)
{
  document_node *node;
  PetscFunctionBegin;
  PetscCall(document_add_node(u->doc, DOCUMENT_SCALAR, e->mark, text, &node));
  node->is_quoted = true;
  PetscCall(urdf_put(u, map, e, key, node));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode urdf_put_numbers(const urdf *u, document_node *map, const xml_element *e, const char *key, int n, const double *x)
{
  char           text[400] = "";
  document_node *node;
  PetscFunctionBegin;
  for (int k = 0; k < n; ++k) {
    const size_t used = strlen(text);
    (void)snprintf(text + used, sizeof text - used, "%s%.17g%s", k > 0 ? ", " : n > 1 ? "[" : "", x[k], n > 1 && k + 1 == n ? "]" : "");
  }
  PetscCall(document_read_flow(u->doc, text, e->mark, &node));
  PetscCall(urdf_put(u, map, e, key, node));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- shapes as job entries ------------------------------------------------------------------------------------------------- */

/* Write the displacement of a shape that is defined at the origin. */
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

/* Find a mesh file. "package://NAME/meshes/a.stl" is searched in the folder of the urdf and its parent folder, with and without
 * NAME; other names are relative to the folder. Returns false after an error message. */
static bool find_mesh(const urdf *u, const xml_element *e, const char *name, size_t size, char *out)
{
  const char              *slash  = strrchr(u->file, '/');
  const int                folder = slash ? (int)(slash - u->file) : 0;
  const char              *path   = name;
  static const char *const up[]   = {"", "../"};
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
  REPORT_ERROR(u, e, "filename=\"%s\": there is no such file, as %s", name, out);
  return false;
}

static PetscErrorCode put_mesh(const urdf *u, const xml_element *e, document_node *shape)
{
  const char    *name     = xml_attribute(e, "filename");
  double         scale[3] = {1, 1, 1};
  char           path[4096];
  document_node *mesh;
  PetscFunctionBegin;
  urdf_check_names(u, e, NO_WORDS, WORDS("filename", "scale"));
  if (!name) REPORT_ERROR(u, e, "has no attribute filename");
  (void)urdf_numbers(u, e, "scale", 3, scale);
  if (scale[0] != scale[1] || scale[0] != scale[2] || !(scale[0] > 0.0))
    REPORT_ERROR(u, e, "scale=\"%s\": expected the same factor > 0 in all directions; scale the mesh file instead",
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
  urdf_check_names(u, e, NO_WORDS, WORDS("radius", "length"));
  if (urdf_required_numbers(u, e, "radius", 1, &r) && urdf_required_numbers(u, e, "length", 1, &length)) {
    if (!(length > 0.0)) REPORT_ERROR(u, e, "length=\"%s\": expected a number > 0", xml_attribute(e, "length"));
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
    urdf_check_names(u, e, NO_WORDS, WORDS("radius"));
    if (!urdf_required_numbers(u, e, "radius", 1, x)) PetscFunctionReturn(PETSC_SUCCESS);
    (void)snprintf(text, sizeof text, "{center: [0, 0, 0], radius: %.17g}", x[0]);
    PetscCall(document_read_flow(u->doc, text, e->mark, &node));
    PetscCall(urdf_put(u, shape, e, "sphere", node));
  } else if (strcmp(e->name, "box") == 0) {
    urdf_check_names(u, e, NO_WORDS, WORDS("size"));
    if (!urdf_required_numbers(u, e, "size", 3, x)) PetscFunctionReturn(PETSC_SUCCESS);
    (void)snprintf(text, sizeof text, "{min: [%.17g, %.17g, %.17g], max: [%.17g, %.17g, %.17g]}", -0.5 * x[0], -0.5 * x[1], -0.5 * x[2],
                   0.5 * x[0], 0.5 * x[1], 0.5 * x[2]);
    PetscCall(document_read_flow(u->doc, text, e->mark, &node));
    PetscCall(urdf_put(u, shape, e, "box", node));
  } else REPORT_ERROR(u, e, "<%s> is not a supported shape: expected box, sphere, cylinder, capsule or mesh", e->name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Read one <collision>. *shape stays NULL after an error message. */
static PetscErrorCode read_collision(const urdf *u, const xml_element *e, const urdf_pose *base, document_node **shape)
{
  const xml_element *geometry = xml_child(e, "geometry");
  PetscFunctionBegin;
  *shape = NULL;
  urdf_check_names(u, e, WORDS("origin", "geometry"), WORDS("name"));
  if (!geometry || geometry->n != 1) {
    REPORT_ERROR(u, geometry ? geometry : e, "expected one <geometry> with one shape");
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  urdf_check_names(u, geometry, WORDS(geometry->child[0]->name), NO_WORDS);
  const int       before = diagnostics_count(u->d);
  const urdf_pose at     = urdf_origin_of(u, e, base);
  PetscCall(document_add_node(u->doc, DOCUMENT_MAPPING, e->mark, NULL, shape));
  PetscCall(put_geometry(u, geometry->child[0], *shape));
  PetscCall(put_pose(u, *shape, e, &at));
  if (diagnostics_count(u->d) > before) *shape = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode urdf_read_shapes(const urdf *u, const urdf_link *l, document_node *map)
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

/* ---- links ----------------------------------------------------------------------------------------------------------- */

static PetscErrorCode read_inertial(const urdf *u, const xml_element *e, const urdf_pose *base, document_node *map)
{
  static const char *const name[6] = {"ixx", "iyy", "izz", "ixy", "ixz", "iyz"};
  const xml_element       *mass = xml_child(e, "mass"), *inertia = xml_child(e, "inertia");
  double                   m = 0.0, x[6] = {0.0}, J[9], RJ[9];
  PetscFunctionBegin;
  urdf_check_names(u, e, WORDS("origin", "mass", "inertia"), NO_WORDS);
  if (!mass || !inertia) {
    REPORT_ERROR(u, e, "has no <%s>", mass ? "inertia" : "mass");
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  const int       before = diagnostics_count(u->d);
  const urdf_pose at     = urdf_origin_of(u, e, base);
  urdf_check_names(u, mass, NO_WORDS, WORDS("value"));
  urdf_check_names(u, inertia, NO_WORDS, WORDS("ixx", "iyy", "izz", "ixy", "ixz", "iyz"));
  (void)urdf_required_numbers(u, mass, "value", 1, &m);
  for (int k = 0; k < 6; ++k) (void)(k < 3 ? urdf_required_numbers : urdf_numbers)(u, inertia, name[k], 1, &x[k]);
  if (diagnostics_count(u->d) > before) PetscFunctionReturn(PETSC_SUCCESS);
  if (m < 0.0) REPORT_ERROR(u, mass, "value=\"%s\": expected a mass >= 0", xml_attribute(mass, "value"));
  if (m > 0.0 && !(x[0] > 0.0 && x[1] > 0.0 && x[2] > 0.0))
    REPORT_ERROR(u, inertia, "ixx, iyy, izz = %g, %g, %g: a link with mass needs moments of inertia > 0 about all axes", x[0], x[1], x[2]);
  const double full[9] = {x[0], x[3], x[4], x[3], x[1], x[5], x[4], x[5], x[2]};
  m3_mul(RJ, at.R, full);
  m3_mul_nt(J, RJ, at.R);
  const double out[6] = {J[0], J[4], J[8], J[1], J[2], J[5]};
  PetscCall(urdf_put_numbers(u, map, mass, "mass", 1, &m));
  PetscCall(urdf_put_numbers(u, map, e, "center_of_mass", 3, at.p));
  PetscCall(urdf_put_numbers(u, map, inertia, "inertia", 6, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode write_link(const urdf *u, const urdf_link *l, document_node *links)
{
  const xml_element *inertial = xml_child(l->e, "inertial");
  const double       none     = 0.0;
  document_node     *map;
  PetscFunctionBegin;
  urdf_check_names(u, l->e, WORDS("inertial", "visual", "collision"), WORDS("name"));
  PetscCall(document_add_node(u->doc, DOCUMENT_MAPPING, l->e->mark, NULL, &map));
  PetscCall(urdf_read_shapes(u, l, map));
  if (inertial) PetscCall(read_inertial(u, inertial, &l->at, map));
  else {
    const double zero[6] = {0};
    PetscCall(urdf_put_numbers(u, map, l->e, "mass", 1, &none));
    PetscCall(urdf_put_numbers(u, map, l->e, "center_of_mass", 3, l->at.p));
    PetscCall(urdf_put_numbers(u, map, l->e, "inertia", 6, zero));
  }
  PetscCall(urdf_put(u, links, l->e, l->name, map));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- joints ---------------------------------------------------------------------------------------------------------- */

static const struct {
  const char *theirs, *ours;
  bool        has_axis, has_limits;
} types[] = {{"revolute", "revolute", true, true}, {"continuous", "revolute", true, false}, {"prismatic", "prismatic", true, true},
             {"fixed", "fixed", false, false},     {"floating", "free", false, false},      {"planar", "planar", true, false}};

static PetscErrorCode write_limits(const urdf *u, const xml_element *e, bool has_limits, document_node *map)
{
  const xml_element *limit = xml_child(e, "limit");
  double             lower = 0.0, upper = 0.0, x;
  PetscFunctionBegin;
  if (has_limits && !limit) REPORT_ERROR(u, e, "has no <limit>: give one, or make it continuous");
  if (!limit) PetscFunctionReturn(PETSC_SUCCESS);
  if (has_limits) urdf_check_names(u, limit, NO_WORDS, WORDS("lower", "upper", "effort", "velocity"));
  else urdf_check_names(u, limit, NO_WORDS, WORDS("effort", "velocity"));
  (void)urdf_numbers(u, limit, "lower", 1, &lower);
  (void)urdf_numbers(u, limit, "upper", 1, &upper);
  if (has_limits) {
    if (lower > upper) REPORT_ERROR(u, limit, "lower = %g is above upper = %g: exchange them", lower, upper);
    PetscCall(urdf_put_numbers(u, map, limit, "lower", 1, &lower));
    PetscCall(urdf_put_numbers(u, map, limit, "upper", 1, &upper));
  }
  if (urdf_numbers(u, limit, "effort", 1, &x)) PetscCall(urdf_put_numbers(u, map, limit, "effort", 1, &x));
  if (urdf_numbers(u, limit, "velocity", 1, &x)) PetscCall(urdf_put_numbers(u, map, limit, "max_rate", 1, &x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode write_extras(const urdf *u, const xml_element *e, document_node *map)
{
  const xml_element *dynamics = xml_child(e, "dynamics"), *mimic = xml_child(e, "mimic");
  double             x;
  PetscFunctionBegin;
  if (dynamics) {
    urdf_check_names(u, dynamics, NO_WORDS, WORDS("damping", "friction"));
    if (urdf_numbers(u, dynamics, "damping", 1, &x)) PetscCall(urdf_put_numbers(u, map, dynamics, "damping", 1, &x));
    if (urdf_numbers(u, dynamics, "friction", 1, &x)) PetscCall(urdf_put_numbers(u, map, dynamics, "friction", 1, &x));
  }
  if (mimic) {
    document_node *own;
    const char    *leader = xml_attribute(mimic, "joint");
    urdf_check_names(u, mimic, NO_WORDS, WORDS("joint", "multiplier", "offset"));
    if (!leader) REPORT_ERROR(u, mimic, "has no attribute joint");
    PetscCall(document_add_node(u->doc, DOCUMENT_MAPPING, mimic->mark, NULL, &own));
    PetscCall(urdf_put_text(u, own, mimic, "joint", leader ? leader : ""));
    if (urdf_numbers(u, mimic, "multiplier", 1, &x)) PetscCall(urdf_put_numbers(u, own, mimic, "factor", 1, &x));
    if (urdf_numbers(u, mimic, "offset", 1, &x)) PetscCall(urdf_put_numbers(u, own, mimic, "offset", 1, &x));
    PetscCall(urdf_put(u, map, mimic, "mimic", own));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode write_joint(const urdf *u, const urdf_link *l, document_node *joints)
{
  const xml_element *e = l->joint, *axis = xml_child(e, "axis");
  const char        *type = xml_attribute(e, "type");
  double             a[3] = {1, 0, 0}, n[3];
  size_t             k    = 0;
  document_node     *map;
  PetscFunctionBegin;
  urdf_check_names(u, e, WORDS("origin", "parent", "child", "axis", "limit", "dynamics", "mimic"), WORDS("name", "type"));
  while (type && k < sizeof types / sizeof *types && strcmp(types[k].theirs, type) != 0) ++k;
  if (!type || k == sizeof types / sizeof *types) {
    REPORT_ERROR(u, e, "type=\"%s\": expected revolute, continuous, prismatic, fixed, floating or planar", type ? type : "");
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(document_add_node(u->doc, DOCUMENT_MAPPING, e->mark, NULL, &map));
  PetscCall(urdf_put_text(u, map, e, "type", types[k].ours));
  PetscCall(urdf_put_text(u, map, e, "parent", u->link[l->parent].name));
  PetscCall(urdf_put_text(u, map, e, "child", l->name));
  PetscCall(urdf_put_numbers(u, map, e, "at", 3, l->at.p));
  if (axis) urdf_check_names(u, axis, NO_WORDS, WORDS("xyz"));
  (void)urdf_numbers(u, axis, "xyz", 3, a);
  if (types[k].has_axis) {
    if (axis && !(v3_norm(a) > 0.0)) REPORT_ERROR(u, axis, "xyz must not be the zero vector");
    m3_mulv(n, l->at.R, a);
    PetscCall(urdf_put_numbers(u, map, axis ? axis : e, "axis", 3, n));
  }
  PetscCall(write_limits(u, e, types[k].has_limits, map));
  PetscCall(write_extras(u, e, map));
  PetscCall(urdf_put(u, joints, e, xml_attribute(e, "name"), map));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- tree -------------------------------------------------------------------------------------------------------------- */

static int find_urdf_link(const urdf *u, const char *name)
{
  for (int i = 0; i < u->n && name; ++i)
    if (strcmp(u->link[i].name, name) == 0) return i;
  return -1;
}

static const char *link_named(const urdf *u, const xml_element *joint, const char *which)
{
  const xml_element *e    = xml_child(joint, which);
  const char        *name = e ? xml_attribute(e, "link") : NULL;
  if (!e) REPORT_ERROR(u, joint, "has no <%s>", which);
  else if (!name) REPORT_ERROR(u, e, "has no attribute link");
  else if (find_urdf_link(u, name) < 0) {
    REPORT_ERROR(u, e, "link=\"%s\": there is no such link", name);
    return NULL;
  }
  if (e) urdf_check_names(u, e, NO_WORDS, WORDS("link"));
  return name;
}

static void urdf_read_joint(urdf *u, const xml_element *e)
{
  const char *parent = link_named(u, e, "parent"), *child = link_named(u, e, "child");
  const int   i = find_urdf_link(u, child), up = find_urdf_link(u, parent);
  if (i < 0 || up < 0) return;
  if (u->link[i].joint)
    REPORT_ERROR(
        u, e,
        "link \"%s\" already has joint \"%s\" (line %d), which makes a loop; a urdf must be a tree, close loops under `loops` of the job",
        child, xml_attribute(u->link[i].joint, "name"), u->link[i].joint->mark.line);
  else u->link[i].joint = e, u->link[i].parent = up;
}

static void check_name(const urdf *u, const xml_element *e, int first)
{
  const char *name = xml_attribute(e, "name");
  if (!name || !*name) REPORT_ERROR(u, e, "has no name");
  for (int k = 0; k < first && name; ++k) {
    const char *other = xml_attribute(u->robot->child[k], "name");
    if (strcmp(u->robot->child[k]->name, e->name) == 0 && other && strcmp(other, name) == 0)
      REPORT_ERROR(u, e, "duplicates the name of the %s in line %d: names must be unique", e->name, u->robot->child[k]->mark.line);
  }
}

/* Read the links and the joints that carry them; *root is -1 after errors. */
static PetscErrorCode read_links(urdf *u, int *root)
{
  const xml_element *robot  = u->robot;
  const int          before = diagnostics_count(u->d);
  PetscFunctionBegin;
  *root = -1;
  urdf_check_names(u, robot, WORDS("link", "joint", "material"), WORDS("name", "version", "xmlns:xacro"));
  PetscCall(document_alloc(u->doc, (size_t)(robot->n + 1) * sizeof *u->link, &u->link));
  for (int k = 0; k < robot->n; ++k) {
    const xml_element *e = robot->child[k];
    if (strcmp(e->name, "material") != 0) check_name(u, e, k);
    if (strcmp(e->name, "link") != 0 || !xml_attribute(e, "name")) continue;
    u->link[u->n++] = (urdf_link){.e = e, .name = xml_attribute(e, "name"), .parent = -1};
  }
  for (int k = 0; k < robot->n; ++k)
    if (strcmp(robot->child[k]->name, "joint") == 0) urdf_read_joint(u, robot->child[k]);
  if (u->n == 0) REPORT_ERROR(u, robot, "has no links");
  for (int i = 0; i < u->n; ++i) {
    if (u->link[i].joint) continue;
    if (*root >= 0) REPORT_ERROR(u, u->link[i].e, "no joint carries it, nor \"%s\": a urdf has one root", u->link[*root].name);
    else *root = i;
  }
  if (*root < 0 && diagnostics_count(u->d) == before)
    REPORT_ERROR(u, robot, "has no root link: its joints make a loop; a urdf must be a tree, close loops under `loops` of the job");
  if (diagnostics_count(u->d) > before) *root = -1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Poses at zero joint positions, from the root outwards. Links that are not reached are part of a loop. */
static void place_links(urdf *u, int root, const urdf_pose *base)
{
  u->link[root].at = *base, u->link[root].is_placed = true;
  for (bool is_more = true; is_more;) {
    is_more = false;
    for (int i = 0; i < u->n; ++i) {
      urdf_link *l = &u->link[i];
      if (l->is_placed || !u->link[l->parent].is_placed) continue;
      l->at        = urdf_origin_of(u, l->joint, &u->link[l->parent].at);
      l->is_placed = is_more = true;
    }
  }
  for (int i = 0; i < u->n; ++i)
    if (!u->link[i].is_placed) {
      REPORT_ERROR(
          u, u->link[i].joint,
          "link \"%s\" depends on itself through \"%s\", which makes a loop; a urdf must be a tree, close loops under `loops` of the job",
          u->link[i].name, u->link[u->link[i].parent].name);
      return;
    }
}

/* The job entry of the base that carries the root. */
static PetscErrorCode write_base(const urdf *u, int root, const char *base, document_node *joints)
{
  const urdf_link *l = &u->link[root];
  document_node   *map;
  PetscFunctionBegin;
  if (document_find(joints, "base")) REPORT_ERROR(u, u->robot, "a joint is called base, as what carries the root is: call it otherwise");
  PetscCall(document_add_node(u->doc, DOCUMENT_MAPPING, l->e->mark, NULL, &map));
  PetscCall(urdf_put_text(u, map, l->e, "type", base));
  PetscCall(urdf_put_text(u, map, l->e, "parent", "world"));
  PetscCall(urdf_put_text(u, map, l->e, "child", l->name));
  PetscCall(urdf_put_numbers(u, map, l->e, "at", 3, l->at.p));
  PetscCall(urdf_put(u, joints, l->e, "base", map));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode translate(urdf *u, const urdf_pose *base, const char *type, document_node **out)
{
  int            root;
  document_node *links, *joints;
  const int      before = diagnostics_count(u->d);
  PetscFunctionBegin;
  PetscCall(read_links(u, &root));
  if (root < 0) PetscFunctionReturn(PETSC_SUCCESS);
  place_links(u, root, base);
  if (diagnostics_count(u->d) > before) PetscFunctionReturn(PETSC_SUCCESS);
  /* A root called world is the world. */
  const bool is_world = strcmp(u->link[root].name, "world") == 0;
  if (is_world && u->link[root].e->n > 0)
    REPORT_ERROR(u, u->link[root].e, "is the world, which has neither mass nor shape: call the link otherwise, or leave it empty");
  if (is_world && strcmp(type, "free") == 0) REPORT_ERROR(u, u->link[root].e, "is the world, which base: free cannot move");
  PetscCall(document_add_node(u->doc, DOCUMENT_MAPPING, u->robot->mark, NULL, out));
  PetscCall(document_add_node(u->doc, DOCUMENT_MAPPING, u->robot->mark, NULL, &links));
  PetscCall(document_add_node(u->doc, DOCUMENT_MAPPING, u->robot->mark, NULL, &joints));
  for (int i = 0; i < u->n; ++i)
    if (i != root || !is_world) PetscCall(write_link(u, &u->link[i], links));
  for (int i = 0; i < u->n; ++i)
    if (i != root) PetscCall(write_joint(u, &u->link[i], joints));
  if (!is_world) PetscCall(write_base(u, root, type, joints));
  PetscCall(urdf_put(u, *out, u->robot, "links", links));
  PetscCall(urdf_put(u, *out, u->robot, "joints", joints));
  if (diagnostics_count(u->d) > before) *out = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode articulated_urdf_read(const char *file, const double c[3], const double R[9], const char *base, const document_node *node,
                                     const char *path, diagnostics *d, document **doc, document_node **out)
{
  xml_element *root;
  urdf_pose    at;
  PetscFunctionBegin;
  *out = NULL;
  PetscCall(document_create(doc));
  v3_copy(at.p, c);
  m3_copy(at.R, R);
  PetscCall(xml_read(file, *doc, node, path, "urdf", d, &root));
  if (!root) PetscFunctionReturn(PETSC_SUCCESS);
  urdf u = {.file = file, .doc = *doc, .d = d, .robot = root};
  if (strcmp(root->name, "robot") != 0) diagnostics_add(d, root->mark, NULL, "the first element is <%s>; expected <robot>", root->name);
  else PetscCall(translate(&u, &at, base, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}
