/* Implementation: exact polyhedra, decomposition into convex solids, checks of the specification, level sets, surfaces and
 * containers. */
#include "geometry/shape/shape.h"
#include "core/math3.h"
#include "core/memory.h"
#include "geometry/import/mesh_import.h"
#include "geometry/level_set/level_set_contour.h"
#include "geometry/level_set/level_set_mass.h"
#include "geometry/level_set/level_set_sampled.h"
#include "geometry/shape/shape_primitives.h"
#include "geometry/triangle_mesh/mesh_shells.h"

/* ==== polyhedra: exact corners, edges and faces of intersections of boxes and half-spaces ==== */

enum { MAX_FACES = 64 };

typedef struct {
  int    n;
  double normal[MAX_FACES][3], offset[MAX_FACES]; /* the solid is where normal . x <= offset */
} half_spaces;

/* Add a half-space in the pose (c, R). Half-spaces that agree to round-off are added once, because their common face would be
 * duplicated. False if the list is full. */
static bool add_half_space(half_spaces *h, const double c[3], const double R[9], const double normal[3], double offset, double scale)
{
  double n[3];
  m3_mulv(n, R, normal);
  v3_scale(n, 1.0 / v3_norm(n), n);
  offset += v3_dot(n, c);
  for (int i = 0; i < h->n; ++i) {
    double d[3];
    v3_sub(d, n, h->normal[i]);
    if (v3_norm(d) < 1e-12 && fabs(offset - h->offset[i]) < 1e-12 * scale) return true;
  }
  if (h->n == MAX_FACES) return false;
  v3_copy(h->normal[h->n], n);
  h->offset[h->n++] = offset;
  return true;
}

/* Collect the half-spaces of s, which is part of a shape in the pose (c, R). False: not a polyhedron, or too many faces. */
static bool collect_half_spaces(half_spaces *h, const shape_spec *s, const double c[3], const double R[9], double scale)
{
  double own_c[3], own_R[9], at[3], turn[9];
  (void)shape_pose(s, own_c, own_R);
  m3_mulv(at, R, own_c);
  v3_axpy(at, 1.0, c);
  m3_mul(turn, R, own_R);
  if (s->plane) return add_half_space(h, at, turn, s->plane->normal, shape_plane_offset(s->plane), scale);
  if (s->box) {
    for (int k = 0; k < 6; ++k) {
      double normal[3] = {0.0, 0.0, 0.0};
      normal[k / 2]    = k % 2 ? 1.0 : -1.0;
      if (!add_half_space(h, at, turn, normal, k % 2 ? s->box->max[k / 2] : -s->box->min[k / 2], scale)) return false;
    }
    return true;
  }
  for (int i = 0; i < s->intersect.n; ++i)
    if (!collect_half_spaces(h, s->intersect.item[i].value, at, turn, scale)) return false;
  return s->intersect.n > 0;
}

static bool is_in_half_spaces(const half_spaces *h, const double *x, double tolerance)
{
  for (int i = 0; i < h->n; ++i)
    if (v3_dot(h->normal[i], x) > h->offset[i] + tolerance) return false;
  return true;
}

/* Corners: intersections of three planes that lie in all other half-spaces. x must have room for one point per triple of planes. */
static int64_t find_corners(const half_spaces *h, double tolerance, double *x)
{
  int64_t n = 0;
  for (int i = 0; i < h->n; ++i)
    for (int j = i + 1; j < h->n; ++j)
      for (int k = j + 1; k < h->n; ++k) {
        const double *a = h->normal[i], *b = h->normal[j], *c = h->normal[k];
        double        bc[3], ca[3], ab[3], p[3] = {0.0, 0.0, 0.0};
        v3_cross(bc, b, c);
        v3_cross(ca, c, a);
        v3_cross(ab, a, b);
        const double det = v3_dot(a, bc);
        if (fabs(det) < 1e-9) continue;
        v3_axpy(p, h->offset[i] / det, bc);
        v3_axpy(p, h->offset[j] / det, ca);
        v3_axpy(p, h->offset[k] / det, ab);
        bool is_new = is_in_half_spaces(h, p, tolerance);
        for (int64_t q = 0; q < n && is_new; ++q) {
          double d[3];
          v3_sub(d, p, x + 3 * q);
          is_new = v3_norm(d) > 4.0 * tolerance;
        }
        if (is_new) v3_copy(x + 3 * n++, p);
      }
  return n;
}

/* Corners of face i, counter-clockwise seen from outside; fan: their numbers. Returns how many, 0 if the plane is not a face. */
static int face_corners(const half_spaces *h, int i, int64_t n_corners, const double *x, double tolerance, int32_t *fan, double *angle)
{
  const double *n         = h->normal[i];
  double        center[3] = {0.0, 0.0, 0.0}, u[3], v[3];
  int           m         = 0;
  for (int64_t q = 0; q < n_corners; ++q)
    if (fabs(v3_dot(n, x + 3 * q) - h->offset[i]) < 4.0 * tolerance) fan[m++] = (int32_t)q;
  if (m < 3) return 0; /* this plane does not bound the solid */
  for (int q = 0; q < m; ++q) v3_axpy(center, 1.0 / m, x + 3 * (int64_t)fan[q]);
  v3_sub(u, x + 3 * (int64_t)fan[0], center);
  v3_cross(v, n, u);
  for (int q = 0; q < m; ++q) {
    double d[3];
    v3_sub(d, x + 3 * (int64_t)fan[q], center);
    angle[q] = atan2(v3_dot(d, v), v3_dot(d, u));
  }
  for (int q = 1; q < m; ++q) /* insertion sort of a few entries */
    for (int p = q; p > 0 && angle[p] < angle[p - 1]; --p) {
      const double  t = angle[p];
      const int32_t f = fan[p];
      angle[p] = angle[p - 1], angle[p - 1] = t;
      fan[p] = fan[p - 1], fan[p - 1] = f;
    }
  return m;
}

PetscErrorCode shape_polyhedron(const shape_spec *s, const double min[3], const double max[3], triangle_mesh **out)
{
  half_spaces  h = {0};
  double      *x = NULL, *angle = NULL, size[3], origin[3] = {0.0, 0.0, 0.0};
  int32_t     *fan         = NULL;
  const double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  PetscFunctionBegin;
  *out = NULL;
  v3_sub(size, max, min);
  const double scale = v3_norm(size) + fmax(v3_norm(min), v3_norm(max)), tolerance = 1e-12 * scale;
  if (!collect_half_spaces(&h, s, origin, identity, scale)) PetscFunctionReturn(PETSC_SUCCESS);
  const int64_t most = (int64_t)h.n * (h.n - 1) * (h.n - 2) / 6;
  PetscCall(memory_alloc("polyhedron", 3 * most + 3, sizeof *x, &x));
  const int64_t n = find_corners(&h, tolerance, x);
  PetscCall(MEMORY_ALLOC("polyhedron", ARRAY(fan, n + 1), ARRAY(angle, n + 1)));
  int64_t n_triangles = 0;
  for (int pass = 0; pass < 2; ++pass) { /* count, then fill */
    if (pass == 1) {
      PetscCall(triangle_mesh_create(n, n_triangles, out));
      for (int64_t q = 0; q < 3 * n; ++q) (*out)->x[q] = x[q];
      n_triangles = 0;
    }
    for (int i = 0; i < h.n; ++i) {
      const int m = face_corners(&h, i, n, x, tolerance, fan, angle);
      for (int q = 2; q < m; ++q, ++n_triangles)
        if (pass == 1) {
          int32_t *t = &(*out)->tri[3 * n_triangles];
          t[0] = fan[0], t[1] = fan[q - 1], t[2] = fan[q];
        }
    }
  }
  MEMORY_FREE(&x, &fan, &angle);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ==== decomposition into convex solids ==== */

typedef struct {
  const shape  *whole;
  int           n, capacity;
  convex_solid *solid;
  bool          is_convex; /* false as soon as a part is not convex */
} solid_list;

static PetscErrorCode add_polyhedron(solid_list *o, const triangle_mesh *m, const double *c, const double *R, convex_solid *solid)
{
  triangle_mesh *turned = NULL;
  PetscFunctionBegin;
  PetscCall(triangle_mesh_copy(m, &turned));
  triangle_mesh_transform(turned, c, R);
  PetscCall(convex_solid_polyhedron(turned, solid, &o->is_convex));
  triangle_mesh_destroy(&turned);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Add a part that is not a union. The pose (c, R) includes its own rigid motion. */
static PetscErrorCode add_part(solid_list *o, const shape_spec *s, const double *c, const double *R)
{
  triangle_mesh *m     = NULL;
  convex_solid   solid = {0};
  PetscFunctionBegin;
  if (s->sphere) convex_solid_sphere(s->sphere->center, s->sphere->radius, &solid);
  else if (s->capsule) convex_solid_segment(CONVEX_CAPSULE, s->capsule->from, s->capsule->to, s->capsule->radius, &solid);
  else if (s->cylinder) convex_solid_segment(CONVEX_CYLINDER, s->cylinder->from, s->cylinder->to, s->cylinder->radius, &solid);
  else if (s->plane) convex_solid_half_space(s->plane->normal, shape_plane_offset(s->plane), &solid);
  else if (s->box || s->intersect.n > 0) {
    shape_spec plain   = *s; /* its rigid motion is part of (c, R) */
    plain.rotate_deg   = 0.0;
    plain.translate[0] = plain.translate[1] = plain.translate[2] = 0.0;
    PetscCall(shape_polyhedron(&plain, o->whole->min, o->whole->max, &m));
    o->is_convex = m && m->n_triangles >= 4;
    if (o->is_convex) PetscCall(add_polyhedron(o, m, c, R, &solid));
    triangle_mesh_destroy(&m);
  } else o->is_convex = false;
  if (!o->is_convex) PetscFunctionReturn(PETSC_SUCCESS);
  if (solid.kind != CONVEX_POLYHEDRON) convex_solid_turn(&solid, c, R);
  o->solid[o->n++] = solid;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A box minus axis-aligned boxes is decomposed into overlapping plates: the parts of the box below and above the subtracted box
 * along each coordinate. Each plate extends over the full box in the other directions, so that its faces are complete. Further
 * subtracted boxes are applied to each plate. */
enum { MOST_CUT = 3, SIDES = 6, MOST_PLATES = SIDES * SIDES * SIDES };

static bool is_plain_box(const shape_spec *s)
{
  double c[3], R[9];
  return s->box && !shape_pose(s, c, R);
}

static bool is_hollow_box(const shape_spec *s)
{
  if (!s->difference || !is_plain_box(s->difference->from) || s->difference->minus.n > MOST_CUT) return false;
  for (int i = 0; i < s->difference->minus.n; ++i)
    if (!is_plain_box(s->difference->minus.item[i].value)) return false;
  return true;
}

static bool boxes_overlap(const shape_box_spec *a, const shape_box_spec *b)
{
  for (int k = 0; k < 3; ++k)
    if (a->max[k] <= b->min[k] || b->max[k] <= a->min[k]) return false;
  return true;
}

/* plate [MOST_PLATES] */
static int cut_plates(const shape_difference_spec *s, shape_box_spec *plate)
{
  int n    = 1;
  plate[0] = *s->from->box;
  for (int i = 0; i < s->minus.n; ++i) {
    const shape_box_spec *cut = ((const shape_spec *)s->minus.item[i].value)->box;
    shape_box_spec        next[MOST_PLATES];
    int                   m = 0;
    for (int p = 0; p < n; ++p) {
      if (!boxes_overlap(&plate[p], cut)) next[m++] = plate[p];
      for (int side = 0; side < SIDES && boxes_overlap(&plate[p], cut); ++side) {
        const int k = side / 2;
        if (side % 2 ? cut->max[k] >= plate[p].max[k] : cut->min[k] <= plate[p].min[k]) continue;
        next[m] = plate[p];
        if (side % 2) next[m++].min[k] = cut->max[k];
        else next[m++].max[k] = cut->min[k];
      }
    }
    for (n = 0; n < m; ++n) plate[n] = next[n];
  }
  return n;
}

static int count_parts(const shape_spec *s)
{
  shape_box_spec plate[MOST_PLATES];
  if (is_hollow_box(s)) return cut_plates(s->difference, plate);
  int n = s->unite.n == 0;
  for (int i = 0; i < s->unite.n; ++i) n += count_parts(s->unite.item[i].value);
  return n;
}

/* Add the plates of a hollow box. The pose (c, R) includes the rigid motion of s. */
static PetscErrorCode add_plates(solid_list *o, const shape_spec *s, const double *c, const double *R)
{
  shape_box_spec plate[MOST_PLATES];
  const int      n = cut_plates(s->difference, plate);
  PetscFunctionBegin;
  for (int i = 0; i < n && o->is_convex; ++i) {
    shape_spec one = *s->difference->from;
    one.box        = &plate[i];
    PetscCall(add_part(o, &one, c, R));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode collect_solids(solid_list *o, const shape_spec *s, const double *c, const double *R)
{
  double own_c[3], own_R[9], at[3], turn[9];
  PetscFunctionBegin;
  (void)shape_pose(s, own_c, own_R);
  m3_mulv(at, R, own_c);
  v3_axpy(at, 1.0, c);
  m3_mul(turn, R, own_R);
  if (is_hollow_box(s)) PetscCall(add_plates(o, s, at, turn));
  else if (s->unite.n == 0) PetscCall(add_part(o, s, at, turn));
  for (int i = 0; i < s->unite.n && o->is_convex; ++i) PetscCall(collect_solids(o, s->unite.item[i].value, at, turn));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void shape_clear_solids(shape *s)
{
  for (int i = 0; i < s->n_solids; ++i) convex_solid_clear(&s->solid[i]);
  memory_free(&s->solid);
  s->n_solids = 0;
}

static PetscErrorCode shape_convex_solids(const shape_spec *spec, shape *s)
{
  const double origin[3] = {0.0, 0.0, 0.0}, identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  solid_list   o = {.whole = s, .is_convex = true};
  PetscFunctionBegin;
  PetscCall(memory_alloc("convex solids", count_parts(spec), sizeof *o.solid, &o.solid));
  if (spec->mesh) { /* its surface is already in its pose */
    PetscCall(convex_solid_polyhedron(s->surface, o.solid, &o.is_convex));
    o.n = o.is_convex;
  } else PetscCall(collect_solids(&o, spec, origin, identity));
  s->n_solids = o.n;
  s->solid    = o.solid;
  if (!o.is_convex) shape_clear_solids(s);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ==== shapes ==== */

enum { QUADRATURE_CELLS = 32, MAX_PATH = 256 };
typedef enum { SHAPE_WHOLE, SHAPE_SURFACE, SHAPE_OBSTACLE, SHAPE_REGION } shape_use; /* the functions that create shapes */

void shape_destroy(shape **s)
{
  if (!s || !*s) return;
  for (int i = 0; i < (*s)->n_pieces; ++i) level_set_destroy(&(*s)->piece[i]);
  memory_free(&(*s)->piece);
  triangle_mesh_destroy(&(*s)->surface);
  triangle_mesh_destroy(&(*s)->outline);
  shape_clear_solids(*s);
  memory_free(s);
}

/* ---- position of an error in the job ---- */

typedef struct {
  const document_node *node;
  diagnostics         *d;
  char                 path[MAX_PATH];
} place;

static place place_child(const place *p, const char *key, int index)
{
  place c = {.node = p->node ? document_find(p->node, key) : NULL, .d = p->d};
  if (index >= 0) {
    (void)snprintf(c.path, sizeof c.path, "%.200s.%s[%d]", p->path, key, index);
    c.node = c.node && c.node->kind == DOCUMENT_SEQUENCE && index < c.node->n ? c.node->value[index] : c.node;
  } else (void)snprintf(c.path, sizeof c.path, "%.200s.%s", p->path, key);
  if (!c.node) c.node = p->node;
  return c;
}

static void report_error(const place *p, const char *key, const char *text)
{
  diagnostics_add_under(p->d, p->node, p->path, key, "%s", text);
}

/* ---- kinds of shapes and checks of their values ---- */

static const char *const kind_names[] = {"sphere", "box",       "cylinder", "capsule", "torus",      "ellipsoid", "revolution",
                                         "plane",  "container", "mesh",     "rabbit",  "difference", "union",     "intersection"};
/* clang-format off */
enum { KIND_SPHERE, KIND_BOX, KIND_CYLINDER, KIND_CAPSULE, KIND_TORUS, KIND_ELLIPSOID, KIND_REVOLUTION,
       KIND_PLANE, KIND_CONTAINER, KIND_MESH, KIND_RABBIT, KIND_DIFFERENCE, KIND_UNION, KIND_INTERSECTION, N_KINDS };
/* clang-format on */

/* The specified kind; -1 after an error. */
static int shape_kind(const shape_spec *s, const place *p)
{
  const bool is_given[N_KINDS] = {
      s->sphere, s->box,       s->cylinder, s->capsule, s->torus,      s->ellipsoid,          s->revolution,
      s->plane,  s->container, s->mesh,     s->rabbit,  s->difference, s->unite.item != NULL, s->intersect.item != NULL};
  int kind = -1;
  for (int i = 0; i < N_KINDS; ++i) {
    if (!is_given[i]) continue;
    if (kind >= 0) {
      char text[128];
      (void)snprintf(text, sizeof text, "is both a %s and a %s: specify exactly one, or a union of them", kind_names[kind], kind_names[i]);
      report_error(p, kind_names[i], text);
      return -1;
    }
    kind = i;
  }
  if (kind < 0)
    report_error(p, NULL,
                 "needs one of sphere, box, cylinder, capsule, torus, ellipsoid, revolution, plane, container, mesh, rabbit, difference, "
                 "union, intersection");
  return kind;
}

static bool check_box(const double *min, const double *max, const place *p)
{
  for (int k = 0; k < 3; ++k)
    if (!(min[k] < max[k])) {
      char text[128];
      (void)snprintf(text, sizeof text, "must be above min in every direction, but %c runs from %g to %g", "xyz"[k], min[k], max[k]);
      report_error(p, "max", text);
      return false;
    }
  return true;
}

static bool check_segment(const shape_segment_spec *s, const place *p)
{
  double e[3];
  v3_sub(e, s->to, s->from);
  if (v3_norm(e) > 0.0) return true;
  report_error(p, "to", "is the same point as `from`: there is no axis");
  return false;
}

static bool check_direction(const double *v, const char *key, const place *p)
{
  if (v3_norm(v) > 0.0) return true;
  report_error(p, key, "is the zero vector: there is no direction");
  return false;
}

static bool check_ellipsoid(const shape_ellipsoid_spec *s, const place *p)
{
  for (int k = 0; k < 3; ++k)
    if (!(s->radii[k] > 0.0)) {
      char text[96];
      (void)snprintf(text, sizeof text, "must be positive, but the one along %c is %g", "xyz"[k], s -> radii[k]);
      report_error(p, "radii", text);
      return false;
    }
  return true;
}

static bool check_profile(const shape_revolution_spec *s, const place *p)
{
  const int n      = s->profile.n;
  double    widest = 0.0, before = -INFINITY;
  char      text[160];
  for (int i = 0; i < n; ++i) {
    const shape_profile_spec *q = s->profile.item[i].value;
    const place               c = place_child(p, "profile", i);
    if (!(q->at > before)) {
      (void)snprintf(text, sizeof text, "must ascend along the profile, but %g comes after %g", q->at, before);
      report_error(&c, "at", text);
      return false;
    }
    if (q->radius == 0.0 && i > 0 && i + 1 < n) {
      report_error(&c, "radius", "is zero between the ends: the solid would consist of two parts that touch at a point");
      return false;
    }
    before = q->at, widest = fmax(widest, q->radius);
  }
  if (n >= 2 && widest > 0.0) return true;
  report_error(p, "profile", n < 2 ? "needs two points or more" : "has only zero radii: at least one radius must be positive");
  return false;
}

static bool check_kind(const shape_spec *s, int kind, const place *p)
{
  const place own = place_child(p, kind_names[kind], -1);
  if (s->rotate_deg != 0.0 && !check_direction(s->axis, "axis", p)) return false;
  switch (kind) {
  case KIND_BOX: return check_box(s->box->min, s->box->max, &own);
  case KIND_CYLINDER: return check_segment(s->cylinder, &own);
  case KIND_CAPSULE: return check_segment(s->capsule, &own);
  case KIND_CONTAINER: return check_box(s->container->min, s->container->max, &own);
  case KIND_TORUS:
    if (s->torus->minor_radius >= s->torus->major_radius) {
      report_error(&own, "minor_radius", "must be less than major_radius: otherwise the torus has no hole");
      return false;
    }
    return check_direction(s->torus->axis, "axis", &own);
  case KIND_ELLIPSOID: return check_ellipsoid(s->ellipsoid, &own);
  case KIND_REVOLUTION: return check_direction(s->revolution->axis, "axis", &own) && check_profile(s->revolution, &own);
  case KIND_PLANE:
    if (!isnan(s->plane->offset) && !isnan(s->plane->point[0])) {
      report_error(&own, "offset", "and `point` are both specified: specify one of them");
      return false;
    }
    return check_direction(s->plane->normal, "normal", &own);
  case KIND_UNION:
  case KIND_INTERSECTION:
    if ((kind == KIND_UNION ? &s->unite : &s->intersect)->n > 0) return true;
    report_error(&own, NULL, "is empty");
    return false;
  case KIND_DIFFERENCE:
    if (s->difference->from && s->difference->minus.n > 0) return true;
    if (!s->difference->from) report_error(&own, "from", "is missing");
    else report_error(&own, "minus", "is empty: specify at least one shape to subtract");
    return false;
  default: return true;
  }
}

/* Import, scale and check a mesh; *out is NULL after an error. */
static PetscErrorCode load_mesh(const shape_mesh_spec *s, const place *p, triangle_mesh **out)
{
  triangle_mesh_defects defects;
  char                  text[512];
  PetscFunctionBegin;
  *out = NULL;
  if (!s->file) PetscFunctionReturn(PETSC_SUCCESS); /* already reported by the key table */
  const PetscErrorCode code = mesh_import(s->file, out);
  if (diagnostics_take(p->d, p->node, p->path, "file", code)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(code);
  triangle_mesh_scale(*out, s->scale);
  PetscCall(triangle_mesh_check(*out, &defects));
  if (!defects.n_misoriented && !defects.n_open && defects.volume < 0.0) { /* consistently inside out: reverse it */
    triangle_mesh_flip(*out);
    defects.volume = -defects.volume;
  }
  triangle_mesh_defects_text(*out, &defects, sizeof text, text);
  if (!*text) PetscCall(triangle_mesh_crossings_text(*out, sizeof text, text));
  if (!*text) PetscCall(mesh_shells_text(*out, sizeof text, text));
  if (*text) {
    diagnostics_add_under(p->d, p->node, p->path, "file", "%s: %s", s->file, text);
    triangle_mesh_destroy(out);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode mesh_level_set(const shape_mesh_spec *s, const triangle_mesh *m, const place *p, level_set **out)
{
  double lo[3], hi[3], size = 0.0;
  char   text[256];
  PetscFunctionBegin;
  triangle_mesh_bounds(m, lo, hi);
  for (int k = 0; k < 3; ++k) size = fmax(size, hi[k] - lo[k]);
  const double         spacing = isnan(s->spacing) ? size / 64.0 : s->spacing;
  const PetscErrorCode code    = level_set_from_mesh(m, spacing, out);
  if (diagnostics_take(p->d, p->node, p->path, "spacing", code)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(code);
  /* Penalty contact needs |grad phi| = 1 near the surface. This fails in the cells along sharp edges, which are few if the grid
   * resolves the shape. */
  const level_set_quality q = level_set_measure(*out, lo, hi, fmax(spacing, size / 128.0), 0.75 * spacing);
  if (q.n == 0 || 2 * q.n_bad > q.n) {
    (void)snprintf(text, sizeof text,
                   "the distance sampled at %g m is inaccurate near the surface (at %lld of %lld samples the gradient is wrong by more "
                   "than 1 %%): the grid is too coarse for this mesh, choose a smaller spacing",
                   spacing, (long long)q.n_bad, (long long)q.n);
    report_error(p, "spacing", text);
    level_set_destroy(out);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode node_level_set(const shape_spec *s, const place *p, int depth, level_set **out);

/* Level sets of all shapes of a list; if one fails, all are destroyed and *is_complete is false. */
static PetscErrorCode list_level_sets(const key_list *list, const place *p, const char *key, int depth, level_set **child,
                                      bool *is_complete)
{
  PetscErrorCode code = PETSC_SUCCESS;
  PetscFunctionBegin;
  *is_complete = true;
  for (int i = 0; i < list->n && !code; ++i) {
    const place c = place_child(p, key, i);
    code          = node_level_set(list->item[i].value, &c, depth + 1, &child[i]);
    *is_complete  = *is_complete && !code && child[i];
  }
  if (!*is_complete)
    for (int i = 0; i < list->n; ++i) level_set_destroy(&child[i]);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode boolean_level_set(const shape_spec *s, int kind, const place *p, int depth, level_set **out)
{
  const key_list *list  = kind == KIND_UNION ? &s->unite : kind == KIND_INTERSECTION ? &s->intersect : &s->difference->minus;
  level_set     **child = NULL, *all = NULL, *from = NULL;
  bool            is_complete;
  PetscFunctionBegin;
  const place inner = kind == KIND_DIFFERENCE ? place_child(p, "difference", -1) : *p;
  PetscCall(memory_alloc("shape parts", list->n, sizeof *child, &child));
  PetscErrorCode code = list_level_sets(list, &inner, kind == KIND_DIFFERENCE ? "minus" : kind_names[kind], depth, child, &is_complete);
  if (!code && is_complete) {
    if (kind == KIND_INTERSECTION) code = level_set_intersection(list->n, child, &all);
    else code = level_set_union(list->n, child, &all);
  }
  memory_free(&child);
  PetscCall(code);
  if (kind == KIND_DIFFERENCE) {
    const place c = place_child(&inner, "from", -1);
    PetscCall(node_level_set(s->difference->from, &c, depth + 1, &from));
    if (all && from) PetscCall(level_set_difference(from, all, out));
    else level_set_destroy(&all), level_set_destroy(&from);
  } else *out = all;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Level set of a shape with its rigid motion; *out stays NULL after an error. */
static PetscErrorCode node_level_set(const shape_spec *s, const place *p, int depth, level_set **out)
{
  triangle_mesh *m = NULL;
  double         c[3], R[9];
  PetscFunctionBegin;
  const int kind = shape_kind(s, p);
  if (kind < 0 || !check_kind(s, kind, p)) PetscFunctionReturn(PETSC_SUCCESS);
  const place own = place_child(p, kind_names[kind], -1);
  level_set  *l   = NULL;
  switch (kind) {
  case KIND_CONTAINER:
    report_error(p, "container", "cannot be part of another shape: a container consists of several walls, not of one solid");
    break;
  case KIND_MESH:
    PetscCall(load_mesh(s->mesh, &own, &m));
    if (m) PetscCall(mesh_level_set(s->mesh, m, &own, &l));
    triangle_mesh_destroy(&m);
    break;
  case KIND_DIFFERENCE:
  case KIND_UNION:
  case KIND_INTERSECTION: PetscCall(boolean_level_set(s, kind, p, depth, &l)); break;
  default: PetscCall(shape_primitive_level_set(s, &l)); break;
  }
  if (l && shape_pose(s, c, R)) PetscCall(level_set_transform(l, c, R, &l));
  *out = l;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- surfaces ---- */

/* Exact surface of an intersection of polyhedra, refined to the spacing that contouring would use. *out NULL: not such an
 * intersection. */
static PetscErrorCode flat_surface(const shape_spec *spec, double spacing, const shape *s, triangle_mesh **out)
{
  double size = 0.0;
  PetscFunctionBegin;
  PetscCall(shape_polyhedron(spec, s->min, s->max, out));
  for (int k = 0; k < 3; ++k) size = fmax(size, s->max[k] - s->min[k]);
  if (*out && (*out)->n_triangles > 0) PetscCall(triangle_mesh_refine(*out, isnan(spacing) ? size / 40.0 : spacing));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Contour the level set on finer and finer grids until the surface has no defects. A coarse grid may not separate parts that nearly
 * touch. */
static PetscErrorCode boolean_surface(const shape *s, double spacing, const place *p, const char *key, triangle_mesh **out)
{
  double size = 0.0;
  char   text[512], message[640];
  PetscFunctionBegin;
  for (int k = 0; k < 3; ++k) size = fmax(size, s->max[k] - s->min[k]);
  double h = isnan(spacing) ? size / 40.0 : spacing;
  for (int attempt = 0; attempt < 4; ++attempt, h *= 0.7) {
    triangle_mesh_defects defects;
    PetscCall(level_set_contour(s->piece[0], s->min, s->max, h, out));
    PetscCall(triangle_mesh_check(*out, &defects));
    triangle_mesh_defects_text(*out, &defects, sizeof text, text);
    if (!*text) PetscCall(triangle_mesh_crossings_text(*out, sizeof text, text));
    if (!*text) PetscFunctionReturn(PETSC_SUCCESS);
    triangle_mesh_destroy(out);
  }
  (void)snprintf(message, sizeof message, "has no sound surface at spacings of %.3g m and more (set a smaller surface_spacing): %s",
                 h / 0.7, text);
  report_error(p, key, message);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode add_surface(const shape_spec *spec, int kind, double spacing, shape_use use, const place *p, shape *s)
{
  const place    own = place_child(p, kind_names[kind], -1);
  double         c[3], R[9];
  PetscErrorCode code;
  PetscFunctionBegin;
  const bool is_moved = shape_pose(spec, c, R), has_surface = use != SHAPE_REGION;
  if (kind == KIND_MESH) {
    code = load_mesh(spec->mesh, &own, &s->surface);
    if (!code && s->surface) s->mass = triangle_mesh_mass(s->surface);
    if (!code && s->surface && !isnan(spacing)) code = triangle_mesh_refine(s->surface, spacing);
  } else if (kind < KIND_MESH) {
    code    = shape_primitive_surface(spec, spacing, &s->surface);
    s->mass = shape_primitive_mass(spec);
  } else {
    if (kind == KIND_INTERSECTION) PetscCall(flat_surface(spec, spacing, s, &s->surface));
    const bool is_flat     = s->surface != NULL;
    code                   = is_flat || !has_surface ? PETSC_SUCCESS : boolean_surface(s, spacing, p, kind_names[kind], &s->surface);
    const bool is_obstacle = use == SHAPE_OBSTACLE && s->surface && s->surface->n_triangles > 0;
    if (is_flat) s->mass = triangle_mesh_mass(s->surface);
    else if (kind == KIND_RABBIT) s->mass = shape_primitive_mass(spec);
    else if (!is_obstacle) s->mass = level_set_mass(s->piece[0], s->min, s->max, QUADRATURE_CELLS);
    if (!code && (s->surface || !has_surface) && !is_obstacle && !(s->mass.volume > 0.0))
      report_error(p, NULL, "is empty"), triangle_mesh_destroy(&s->surface);
  }
  if (diagnostics_take(p->d, p->node, p->path, NULL, code)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(code);
  if (!s->surface && has_surface) PetscFunctionReturn(PETSC_SUCCESS);
  if (is_moved && kind <= KIND_MESH) triangle_mesh_transform(s->surface, c, R); /* level sets already contain the rigid motion */
  if (is_moved && kind <= KIND_RABBIT) s->mass = mass_properties_transform(&s->mass, c, R);
  if (s->surface) PetscCall(triangle_mesh_sort(s->surface));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- unbounded shapes ---- */

static PetscErrorCode plane_outline(const shape_spec *spec, triangle_mesh **out)
{
  const int32_t tri[6] = {0, 1, 2, 0, 2, 3};
  double        n[3], u[3], v[3], theta[3];
  PetscFunctionBegin;
  PetscCall(triangle_mesh_create(4, 2, out));
  memcpy((*out)->tri, tri, sizeof tri);
  v3_scale(n, 1.0 / v3_norm(spec->plane->normal), spec->plane->normal);
  int k = 0;
  for (int i = 1; i < 3; ++i)
    if (fabs(n[i]) < fabs(n[k])) k = i;
  for (int i = 0; i < 3; ++i) theta[i] = i == k;
  v3_cross(u, theta, n);
  v3_scale(u, 1.0 / v3_norm(u), u);
  v3_cross(v, n, u);
  for (int i = 0; i < 4; ++i)
    for (int q = 0; q < 3; ++q) {
      const double base    = isnan(spec->plane->point[0]) ? shape_plane_offset(spec->plane) * n[q] : spec->plane->point[q];
      (*out)->x[3 * i + q] = base + spec->plane->extent * ((i == 1 || i == 2 ? 1.0 : -1.0) * u[q] + (i >= 2 ? 1.0 : -1.0) * v[q]);
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const char *const wall_names[6] = {"left", "right", "front", "back", "bottom", "top"};

/* Walls that exist; false after an error. */
static bool container_walls(const shape_container_spec *s, const place *p, bool *has_wall)
{
  for (int w = 0; w < 6; ++w) has_wall[w] = true;
  for (int i = 0; i < s->open.n; ++i) {
    const char *name = s->open.item[i].value;
    int         w    = 0;
    while (w < 6 && strcmp(name, wall_names[w]) != 0) ++w;
    if (w == 6) {
      const char *nearest = diagnostics_nearest(name, 6, wall_names);
      char        text[160];
      (void)snprintf(text, sizeof text, "\"%.40s\" is not a wall (left, right, front, back, bottom, top)%s%s%s", name,
                     nearest ? "; did you mean \"" : "", nearest ? nearest : "", nearest ? "\"?" : "");
      report_error(p, "open", text);
      return false;
    }
    has_wall[w] = false;
  }
  for (int w = 0; w < 6; ++w)
    if (has_wall[w]) return true;
  report_error(p, "open", "leaves no wall: keep at least one");
  return false;
}

static PetscErrorCode build_container(const shape_spec *spec, const place *p, shape *s)
{
  const shape_container_spec *b   = spec->container;
  const place                 own = place_child(p, "container", -1);
  bool                        has_wall[6];
  double                      c[3], R[9];
  PetscFunctionBegin;
  if (!container_walls(b, &own, has_wall)) PetscFunctionReturn(PETSC_SUCCESS);
  const bool is_moved = shape_pose(spec, c, R);
  PetscCall(MEMORY_ALLOC("shape", ARRAY(s->piece, 6), ARRAY(s->solid, 6)));
  int n_walls = 0;
  for (int w = 0; w < 6; ++w) n_walls += has_wall[w];
  PetscCall(triangle_mesh_create(8, 2 * n_walls, &s->outline));
  for (int i = 0; i < 8; ++i)
    for (int k = 0; k < 3; ++k) s->outline->x[3 * i + k] = (i >> k & 1) ? b->max[k] : b->min[k];
  for (int w = 0; w < 6; ++w) {
    if (!has_wall[w]) continue;
    const int    axis = w / 2, is_upper = w % 2, u = 1 << (axis + 1) % 3, v = 1 << (axis + 2) % 3, base = is_upper << axis;
    const double normal[3] = {axis == 0 ? 1.0 - 2.0 * is_upper : 0.0, axis == 1 ? 1.0 - 2.0 * is_upper : 0.0,
                              axis == 2 ? 1.0 - 2.0 * is_upper : 0.0}; /* out of the wall, into the container */
    int32_t  *t       = &s->outline->tri[6 * s->n_pieces];
    const int quad[4] = {base, is_upper ? base + v : base + u, base + u + v, is_upper ? base + u : base + v};
    for (int q = 0; q < 3; ++q) t[q] = quad[q], t[3 + q] = quad[q == 0 ? 0 : q + 1];
    PetscCall(level_set_plane(normal, is_upper ? -b->max[axis] : b->min[axis], &s->piece[s->n_pieces]));
    if (is_moved) PetscCall(level_set_transform(s->piece[s->n_pieces], c, R, &s->piece[s->n_pieces]));
    convex_solid *wall = &s->solid[s->n_solids++];
    convex_solid_half_space(normal, is_upper ? -b->max[axis] : b->min[axis], wall);
    if (is_moved) convex_solid_turn(wall, c, R);
    ++s->n_pieces;
  }
  if (is_moved) triangle_mesh_transform(s->outline, c, R);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Only the surface of a mesh from a file, without its level set. */
static PetscErrorCode build_mesh_surface(const shape_spec *spec, const place *p, double spacing, shape *s)
{
  PetscFunctionBegin;
  if (!check_kind(spec, KIND_MESH, p)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(add_surface(spec, KIND_MESH, spacing, SHAPE_SURFACE, p, s));
  if (!s->surface) PetscFunctionReturn(PETSC_SUCCESS);
  s->is_bounded = true;
  triangle_mesh_bounds(s->surface, s->min, s->max);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Build the shape; after an error n_pieces stays 0 or the surface stays NULL. */
static PetscErrorCode shape_build(const shape_spec *spec, const place *p, double spacing, shape_use use, shape *s)
{
  double c[3], R[9];
  PetscFunctionBegin;
  const int kind = shape_kind(spec, p);
  if (kind < 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (kind == KIND_MESH && use == SHAPE_SURFACE) {
    PetscCall(build_mesh_surface(spec, p, spacing, s));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (kind == KIND_CONTAINER) {
    if (check_kind(spec, kind, p)) PetscCall(build_container(spec, p, s));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(memory_alloc("shape pieces", 1, sizeof *s->piece, &s->piece));
  PetscCall(node_level_set(spec, p, 0, &s->piece[0]));
  if (!s->piece[0]) PetscFunctionReturn(PETSC_SUCCESS);
  s->n_pieces = 1;
  if (kind == KIND_PLANE) {
    PetscCall(plane_outline(spec, &s->outline));
    if (shape_pose(spec, c, R)) triangle_mesh_transform(s->outline, c, R);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  level_set_bounds(s->piece[0], s->min, s->max);
  s->is_bounded = true;
  for (int k = 0; k < 3; ++k) s->is_bounded = s->is_bounded && isfinite(s->min[k]) && isfinite(s->max[k]);
  if (!s->is_bounded) PetscFunctionReturn(PETSC_SUCCESS); /* e.g. a half-space with a hole: valid for obstacles */
  for (int k = 0; k < 3; ++k)
    if (!(s->min[k] < s->max[k])) {
      report_error(p, kind_names[kind], "is empty: its parts do not intersect");
      PetscFunctionReturn(PETSC_SUCCESS);
    }
  PetscCall(add_surface(spec, kind, spacing, use, p, s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode create_shape(const shape_spec *spec, const document_node *node, const char *path, diagnostics *d,
                                   double surface_spacing, shape_use use, shape **out)
{
  shape *s = NULL;
  place  p = {.node = node, .d = d};
  PetscFunctionBegin;
  *out = NULL;
  if (!spec) PetscFunctionReturn(PETSC_SUCCESS); /* already reported by the key table */
  (void)snprintf(p.path, sizeof p.path, "%.200s", path ? path : "shape");
  const int before = diagnostics_count(d);
  PetscCall(memory_alloc("shape", 1, sizeof *s, &s));
  PetscErrorCode code     = shape_build(spec, &p, surface_spacing, use, s);
  const bool     is_whole = diagnostics_count(d) == before && !spec->container && (s->surface || s->outline);
  if (!code && is_whole) code = shape_convex_solids(spec, s);
  if (code || diagnostics_count(d) > before) shape_destroy(&s);
  PetscCall(code);
  *out = s;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode shape_create(const shape_spec *spec, const document_node *node, const char *path, diagnostics *d, double surface_spacing,
                            shape **out)
{
  return create_shape(spec, node, path, d, surface_spacing, SHAPE_WHOLE, out);
}

PetscErrorCode shape_create_surface(const shape_spec *spec, const document_node *node, const char *path, diagnostics *d,
                                    double surface_spacing, shape **out)
{
  return create_shape(spec, node, path, d, surface_spacing, SHAPE_SURFACE, out);
}

PetscErrorCode shape_create_obstacle(const shape_spec *spec, const document_node *node, const char *path, diagnostics *d,
                                     double surface_spacing, shape **out)
{
  return create_shape(spec, node, path, d, surface_spacing, SHAPE_OBSTACLE, out);
}

PetscErrorCode shape_create_region(const shape_spec *spec, const document_node *node, const char *path, diagnostics *d, shape **out)
{
  return create_shape(spec, node, path, d, NAN, SHAPE_REGION, out);
}
