/* Two passes: the survey of all frames determines bounds, ground, particle radius and colour range; then each frame is drawn. */
#include "app/render/render.h"
#include <math.h>
#include <string.h>
#include "core/math3.h"
#include "core/memory.h"
#include "core/quaternion.h"
#include "io/frames.h"
#include "io/picture.h"
#include "io/png.h"

/* In pictures, z points upwards. Scenes whose gravity is mainly along -x or -y are rotated. */
static int find_up_axis(const double g[3])
{
  int up = 2;
  for (int k = 0; k < 2; ++k)
    if (g[k] < 0.0 && fabs(g[k]) > fabs(g[up])) up = k;
  return up;
}

static void rotate_to_z_up(int up, int64_t n, double *x)
{
  for (int64_t i = 0; i < n && up < 2; ++i) {
    double *p = x + 3 * i;
    if (up == 1) v3_set(p, p[0], -p[2], p[1]);
    else v3_set(p, -p[2], p[1], p[0]);
  }
}

void render_view_of_job(const job *j, render_view *view)
{
  const job_picture *p = j->picture;
  memcpy(view->eye, p->eye, sizeof view->eye);
  memcpy(view->target, p->target, sizeof view->target);
  memcpy(view->range, p->range, sizeof view->range);
  view->up          = find_up_axis(j->scene.gravity);
  view->field       = p->field;
  view->transparent = &p->transparent;
  view->width       = (int)p->width;
  view->height      = (int)p->height;
}

PetscErrorCode render_view_of_run(const char *dir, render_view *view, job **owner)
{
  PetscFunctionBegin;
  char         path[4300];
  diagnostics *d __attribute__((cleanup(diagnostics_destroy))) = NULL;
  *owner                                                       = NULL;
  snprintf(path, sizeof path, "%s/job.yaml", dir);
  PetscCall(diagnostics_create(&d));
  PetscCall(job_read(path, 0, NULL, d, owner));
  PetscCall(diagnostics_close(d, stderr));
  render_view_of_job(*owner, view);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Settings that are the same in all frames. */
typedef struct {
  render_view view;
  double      min[3], max[3], ground, radius, lo, hi;
  char        label[64], unit[32];
  bool        has_scalar;
} scene_look;

static void grow_bounds(scene_look *look, int64_t n, const double *x)
{
  for (int64_t i = 0; i < n; ++i)
    for (int k = 0; k < 3; ++k) {
      look->min[k] = fmin(look->min[k], x[3 * i + k]);
      look->max[k] = fmax(look->max[k], x[3 * i + k]);
    }
}

/* Groups without a geometry of their own in pictures: contact points, and the surfaces of bodies that are drawn from their poses. */
static bool is_skipped(const frame *f, int g)
{
  const field_geometry kind = frame_group_geometry(f, g);
  return kind == FIELD_GROUP_PLAIN || kind == FIELD_GROUP_SHAPES || strncmp(frame_group_name(f, g), "contact/", 8) == 0 ||
         frame_poses_of(f, g) >= 0;
}

static PetscErrorCode read_positions(const frame *f, int g, int up, double **x)
{
  int n_components;
  PetscFunctionBegin;
  PetscCall(frame_read(f, g, "position", &n_components, x));
  if (*x) rotate_to_z_up(up, frame_group_rows(f, g), *x);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The value of a scalar field, or the norm of a vector field. */
static PetscErrorCode read_scalar(const frame *f, int g, const char *name, double **scalar)
{
  PetscFunctionBegin;
  int n_components;
  PetscCall(frame_read(f, g, name, &n_components, scalar));
  const int64_t n = frame_group_rows(f, g);
  if (*scalar && n_components > 1)
    for (int64_t i = 0; i < n; ++i) {
      double sum = 0.0;
      for (int k = 0; k < n_components; ++k) sum += (*scalar)[i * n_components + k] * (*scalar)[i * n_components + k];
      (*scalar)[i] = sqrt(sum);
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Radius from the mean volume of the particles; if the frame has no volumes, from the volume of the bounding box. */
static PetscErrorCode compute_particle_radius(const frame *f, int g, const scene_look *look, double *radius)
{
  PetscFunctionBegin;
  double       *volume;
  int           n_components;
  const int64_t n = frame_group_rows(f, g);
  PetscCall(frame_read(f, g, "volume", &n_components, &volume));
  if (volume && n > 0) {
    double sum = 0.0;
    for (int64_t i = 0; i < n; ++i) sum += volume[i];
    *radius = 0.62 * cbrt(sum / (double)n);
  } else if (n > 0 && *radius == 0.0) {
    double box = 1.0;
    for (int k = 0; k < 3; ++k) box *= fmax(look->max[k] - look->min[k], 1e-6);
    *radius = 0.62 * cbrt(box / (double)n);
  }
  memory_free(&volume);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Closed meshes and meshes with velocities are drawn as solids; other meshes (outlines of containers, floors) by their edges. */
static bool is_solid(const frame *f, int g, int64_t n_triangles)
{
  for (int k = 0; k < frame_n_fields(f, g); ++k)
    if (strcmp(frame_field_name(f, g, k), "velocity") == 0) return true;
  return n_triangles >= 4 && n_triangles >= 2 * frame_group_rows(f, g) - 4;
}

/* Whether all triangles are in one plane that is not horizontal; n: its normal. */
static bool is_tilted_plane(const double *x, int64_t n_triangles, const int32_t *t, double n[3])
{
  for (int64_t i = 0; i < n_triangles; ++i) {
    double a[3], b[3], m[3];
    v3_sub(a, x + 3 * t[3 * i + 1], x + 3 * t[3 * i]);
    v3_sub(b, x + 3 * t[3 * i + 2], x + 3 * t[3 * i]);
    v3_cross(m, a, b);
    const double length = v3_norm(m);
    if (!(length > 0.0)) return false;
    v3_scale(m, 1.0 / length, m);
    if (i > 0 && v3_dot(m, n) < 1.0 - 1e-9) return false;
    v3_copy(n, m);
  }
  return n_triangles > 0 && fabs(n[2]) < 1.0 - 1e-9;
}

/* The ground must be below slopes and walls. */
static PetscErrorCode lower_ground(const frame *f, int g, const double *x, scene_look *look)
{
  PetscFunctionBegin;
  int64_t  n_triangles;
  int32_t *triangles;
  double   n[3];
  if (frame_group_geometry(f, g) != FIELD_GROUP_SURFACE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(frame_read_triangles(f, g, &n_triangles, &triangles));
  if (!is_solid(f, g, n_triangles) && is_tilted_plane(x, n_triangles, triangles, n))
    for (int64_t i = 0; i < frame_group_rows(f, g); ++i) look->ground = fmin(look->ground, x[3 * i + 2]);
  memory_free(&triangles);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Fibres are drawn as tubes with eight sides; radii below a visible minimum are increased. */
enum { TUBE_SIDES = 8 };
static void add_ring(const double x[3], const double t[3], const double a[3], double radius, double *ring)
{
  double b[3];
  v3_cross(b, t, a);
  for (int k = 0; k < TUBE_SIDES; ++k) {
    const double phi = 2.0 * M_PI * k / TUBE_SIDES;
    v3_copy(ring + 3 * k, x);
    v3_axpy(ring + 3 * k, radius * cos(phi), a);
    v3_axpy(ring + 3 * k, radius * sin(phi), b);
  }
}

static void add_tube(const double *x, const int32_t *ends, double radius, int64_t first, double *vertices, int32_t *triangles)
{
  double t[3], a[3] = {0.0, 0.0, 0.0}, end[3];
  int    least = 0;
  v3_sub(t, x + 3 * (int64_t)ends[1], x + 3 * (int64_t)ends[0]);
  const double length = v3_norm(t);
  if (length > 0.0) v3_scale(t, 1.0 / length, t);
  for (int k = 1; k < 3; ++k)
    if (fabs(t[k]) < fabs(t[least])) least = k;
  a[least] = 1.0;
  v3_axpy(a, -v3_dot(a, t), t);
  v3_scale(a, 1.0 / v3_norm(a), a);
  for (int k = 0; k < 2; ++k) { /* extend the tube to close gaps at bends */
    v3_copy(end, x + 3 * (int64_t)ends[k]);
    v3_axpy(end, (k == 0 ? -0.25 : 0.25) * radius, t);
    add_ring(end, t, a, radius, vertices + 3 * (first + TUBE_SIDES * k));
  }
  for (int k = 0; k < TUBE_SIDES; ++k) {
    const int32_t p = (int32_t)first + k, q = (int32_t)first + (k + 1) % TUBE_SIDES;
    const int32_t two[6] = {p, q, p + TUBE_SIDES, q, q + TUBE_SIDES, p + TUBE_SIDES};
    memcpy(triangles + 6 * k, two, sizeof two);
  }
  for (int k = 1; k + 1 < TUBE_SIDES; ++k) { /* end caps */
    const int32_t p = (int32_t)first, lids[6] = {p, p + k + 1, p + k, p + TUBE_SIDES, p + TUBE_SIDES + k, p + TUBE_SIDES + k + 1};
    memcpy(triangles + 6 * (TUBE_SIDES + k - 1), lids, sizeof lids);
  }
}

static PetscErrorCode add_fibres(picture *p, const frame *f, int g, const double *x, const scene_look *look, picture_paint paint)
{
  enum { TRIANGLES = 2 * TUBE_SIDES + 2 * (TUBE_SIDES - 2) };
  int64_t  n;
  int      n_components;
  double   box[3];
  int32_t *segments __attribute__((cleanup(memory_free))) = NULL, *triangles __attribute__((cleanup(memory_free))) = NULL;
  double  *radius __attribute__((cleanup(memory_free))) = NULL, *vertices __attribute__((cleanup(memory_free))) = NULL;
  PetscFunctionBegin;
  PetscCall(frame_read_segments(f, g, &n, &segments));
  PetscCall(frame_read(f, g, "radius", &n_components, &radius));
  PetscCall(MEMORY_ALLOC("tubes", ARRAY(vertices, 6 * TUBE_SIDES * n), ARRAY(triangles, 3 * TRIANGLES * n)));
  v3_sub(box, look->max, look->min);
  const double thinnest = 0.0015 * v3_norm(box);
  for (int64_t i = 0; i < n; ++i)
    add_tube(x, segments + 2 * i, fmax(thinnest, radius ? radius[segments[2 * i]] : 0.0), 2 * TUBE_SIDES * i, vertices,
             triangles + 3 * TRIANGLES * i);
  PetscCall(picture_add_mesh(p, 2 * TUBE_SIDES * n, vertices, TRIANGLES * n, triangles, true, NULL, 0, 1, paint));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the group is included in the bounds of the scene. */
static PetscErrorCode is_in_bounds(const frame *f, int g, bool with_outlines, bool *counts)
{
  PetscFunctionBegin;
  *counts = frame_group_geometry(f, g) != FIELD_GROUP_SURFACE || with_outlines;
  if (!*counts) {
    int64_t  n_triangles;
    int32_t *triangles;
    PetscCall(frame_read_triangles(f, g, &n_triangles, &triangles));
    *counts = is_solid(f, g, n_triangles);
    memory_free(&triangles);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- rigid bodies: poses of shapes ----------------------------------------------------------------------------------- */

/* The vertices of row i in the axes of the picture: *x [*n][3], at most the capacity of `room`, which grows. */
static PetscErrorCode place_shape(const frame_poses *b, int64_t i, int up, int64_t *capacity, double **room, int64_t *n)
{
  const int64_t first = b->first_vertex[b->shape[i]];
  double        R[9];
  PetscFunctionBegin;
  *n = b->first_vertex[b->shape[i] + 1] - first;
  PetscCall(memory_reserve("vertices", *n, 3 * sizeof(double), capacity, room));
  quaternion_to_matrix(R, b->q + 4 * i);
  for (int64_t k = 0; k < *n; ++k) {
    m3_mulv(*room + 3 * k, R, b->vertex + 3 * (first + k));
    v3_axpy(*room + 3 * k, 1.0, b->x + 3 * i);
  }
  rotate_to_z_up(up, *n, *room);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode survey_poses(const frame *f, int g, scene_look *look)
{
  frame_poses b __attribute__((cleanup(frame_poses_free))) = {0};
  double     *x __attribute__((cleanup(memory_free)))      = NULL;
  int64_t     capacity                                     = 0, n;
  PetscFunctionBegin;
  PetscCall(frame_read_poses(f, g, &b));
  for (int64_t i = 0; i < b.n; ++i) {
    if (b.shape[i] >= 0) {
      PetscCall(place_shape(&b, i, look->view.up, &capacity, &x, &n));
      grow_bounds(look, n, x);
      continue;
    }
    rotate_to_z_up(look->view.up, 1, b.x + 3 * i);
    for (int side = -1; side <= 1; side += 2) {
      double corner[3];
      for (int k = 0; k < 3; ++k) corner[k] = b.x[3 * i + k] + side * b.radius[i];
      grow_bounds(look, 1, corner);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Adds bounds, particle radius and colour range of a frame to `look`. Only particles and closed bodies determine the bounds,
 * because large floors and containers would make them small in the picture; outlines are used if there are no other objects. */
static PetscErrorCode survey_frame(const frame *f, scene_look *look, bool with_outlines)
{
  PetscFunctionBegin;
  for (int g = 0; g < frame_n_groups(f); ++g) {
    const field_geometry kind = frame_group_geometry(f, g);
    double              *x, *scalar = NULL;
    bool                 counts;
    if (is_skipped(f, g)) continue;
    if (kind == FIELD_GROUP_POSES) {
      PetscCall(survey_poses(f, g, look));
      continue;
    }
    PetscCall(is_in_bounds(f, g, with_outlines, &counts));
    PetscCall(read_positions(f, g, look->view.up, &x));
    if (x && counts) grow_bounds(look, frame_group_rows(f, g), x);
    if (x) PetscCall(lower_ground(f, g, x, look));
    memory_free(&x);
    if (kind != FIELD_GROUP_POINTS) continue;
    PetscCall(compute_particle_radius(f, g, look, &look->radius));
    PetscCall(read_scalar(f, g, look->view.field, &scalar));
    for (int64_t i = 0; scalar && i < frame_group_rows(f, g); ++i) {
      look->lo = fmin(look->lo, scalar[i]);
      look->hi = fmax(look->hi, scalar[i]);
    }
    for (int k = 0; scalar && k < frame_n_fields(f, g); ++k)
      if (strcmp(frame_field_name(f, g, k), look->view.field) == 0) {
        look->has_scalar = true;
        snprintf(look->label, sizeof look->label, "%s", look->view.field);
        snprintf(look->unit, sizeof look->unit, "%s", frame_field_unit(f, g, k));
      }
    memory_free(&scalar);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void finish_colour_range(scene_look *look)
{
  const double *given = look->view.range;
  if (isfinite(given[0])) look->lo = given[0], look->hi = given[1];
  else if (look->lo >= 0.0) look->lo = 0.0; /* non-negative fields such as speed: begin at 0 */
  if (!(look->hi > look->lo)) look->hi = look->lo + 1.0;
}

/* Whether the edge from a to b belongs to a second triangle. */
static bool is_shared(int64_t n_triangles, const int32_t *t, int32_t a, int32_t b)
{
  for (int64_t i = 0; i < n_triangles; ++i)
    for (int e = 0; e < 3; ++e)
      if (t[3 * i + e] == b && t[3 * i + (e + 1) % 3] == a) return true;
  return false;
}

/* Slopes are drawn opaque, walls transparent; both with a border. */
static PetscErrorCode add_tilted_plane(picture *p, int64_t n_vertices, const double *x, int64_t n_triangles, const int32_t *t,
                                       const double n[3])
{
  PetscFunctionBegin;
  const picture_paint solid = {{214, 202, 178}, 0.1f, 1.0f, 0.0f}, glass = {{150, 165, 180}, 0.0f, 0.25f, 0.0f};
  const uint8_t       grey[3] = {90, 96, 104};
  PetscCall(picture_add_mesh(p, n_vertices, x, n_triangles, t, false, NULL, 0, 1, n[2] > 0.5 ? solid : glass));
  for (int64_t i = 0; i < n_triangles; ++i)
    for (int e = 0; e < 3; ++e) {
      const int32_t a = t[3 * i + e], b = t[3 * i + (e + 1) % 3];
      double        line[6];
      if (is_shared(n_triangles, t, a, b)) continue;
      v3_copy(line, x + 3 * a);
      v3_copy(line + 3, x + 3 * b);
      PetscCall(picture_add_lines(p, 1, line, grey, 1.5, 0.5));
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode add_outline(picture *p, const double *x, int64_t n_triangles, const int32_t *t)
{
  PetscFunctionBegin;
  double       *lines;
  const uint8_t grey[3] = {90, 96, 104};
  int64_t       n       = 0;
  PetscCall(memory_alloc("outline", 18 * n_triangles, sizeof(double), &lines));
  for (int64_t i = 0; i < n_triangles; ++i)
    for (int e = 0; e < 3; ++e) {
      const double *a = x + 3 * t[3 * i + e], *b = x + 3 * t[3 * i + (e + 1) % 3];
      int           off_axis = 0;
      for (int k = 0; k < 3; ++k) off_axis += fabs(a[k] - b[k]) > 1e-9;
      if (off_axis != 1) continue; /* skip the diagonals of rectangles */
      v3_copy(lines + 6 * n, a);
      v3_copy(lines + 6 * n + 3, b);
      ++n;
    }
  PetscCall(picture_add_lines(p, n, lines, grey, 1.5, 0.5));
  memory_free(&lines);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the job lists this body, or the entry of which it is a part or a copy (ENTRY.NAME), under picture.transparent. All faces of such a body
 * are visible. */
static bool is_transparent(const char *name, const render_view *view)
{
  for (int i = 0; view->transparent && i < view->transparent->n; ++i) {
    const char  *listed = view->transparent->item[i].value;
    const size_t length = strlen(listed);
    if (strncmp(listed, name, length) == 0 && (name[length] == '\0' || name[length] == '.')) return true;
  }
  return false;
}

static const picture_paint transparent_paint = {{120, 150, 175}, 0.0f, 0.12f, 0.0f};

/* A transparent sphere as a mesh; picture_add_points draws opaque spheres only. */
static PetscErrorCode add_transparent_sphere(picture *p, const double center[3], double radius, picture_paint paint)
{
  enum { RINGS = 16, SIDES = 32 };
  double  x[(RINGS + 1) * SIDES][3];
  int32_t t[2 * RINGS * SIDES][3];
  int     n = 0;
  PetscFunctionBegin;
  for (int i = 0; i <= RINGS; ++i)
    for (int j = 0; j < SIDES; ++j) {
      const double theta = M_PI * i / RINGS, phi = 2.0 * M_PI * j / SIDES;
      v3_set(x[i * SIDES + j], sin(theta) * cos(phi), sin(theta) * sin(phi), cos(theta));
      v3_scale(x[i * SIDES + j], radius, x[i * SIDES + j]);
      v3_axpy(x[i * SIDES + j], 1.0, center);
    }
  for (int i = 0; i < RINGS; ++i)
    for (int j = 0; j < SIDES; ++j) {
      const int32_t a = i * SIDES + j, b = i * SIDES + (j + 1) % SIDES, two[2][3] = {{a, a + SIDES, b}, {b, a + SIDES, b + SIDES}};
      if (i > 0) memcpy(t[n++], two[0], sizeof two[0]); /* at the poles one triangle of each pair has no area */
      if (i + 1 < RINGS) memcpy(t[n++], two[1], sizeof two[1]);
    }
  PetscCall(picture_add_mesh(p, (RINGS + 1) * SIDES, x[0], n, t[0], true, NULL, 0, 1, paint));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Spheres, and the shapes of the other bodies. */
static PetscErrorCode add_poses(picture *p, const frame *f, int g, const scene_look *look, int *i_body)
{
  frame_poses b __attribute__((cleanup(frame_poses_free))) = {0};
  double     *x __attribute__((cleanup(memory_free)))      = NULL;
  int64_t     capacity                                     = 0, n;
  PetscFunctionBegin;
  PetscCall(frame_read_poses(f, g, &b));
  for (int64_t i = 0; i < b.n; ++i) {
    const bool    transparent = is_transparent(b.name[i], &look->view);
    picture_paint paint       = transparent ? transparent_paint : picture_palette(1 + (*i_body)++);
    if (b.shape[i] < 0) {
      rotate_to_z_up(look->view.up, 1, b.x + 3 * i);
      paint.variation = 0.0f;
      if (transparent) PetscCall(add_transparent_sphere(p, b.x + 3 * i, b.radius[i], paint));
      else PetscCall(picture_add_points(p, 1, b.x + 3 * i, b.radius[i], NULL, 0, 1, paint));
      continue;
    }
    const int64_t first = b.first_triangle[b.shape[i]], end = b.first_triangle[b.shape[i] + 1];
    PetscCall(place_shape(&b, i, look->view.up, &capacity, &x, &n));
    PetscCall(picture_add_mesh(p, n, x, end - first, b.triangle + 3 * first, true, NULL, 0, 1, paint));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode add_group(picture *p, const frame *f, int g, const scene_look *look, int *i_body)
{
  PetscFunctionBegin;
  const field_geometry kind = frame_group_geometry(f, g);
  const int64_t        n    = frame_group_rows(f, g);
  double              *x, *scalar = NULL;
  if (is_skipped(f, g)) PetscFunctionReturn(PETSC_SUCCESS);
  if (kind == FIELD_GROUP_POSES) {
    PetscCall(add_poses(p, f, g, look, i_body));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(read_positions(f, g, look->view.up, &x));
  if (x && kind == FIELD_GROUP_POINTS) {
    PetscCall(read_scalar(f, g, look->view.field, &scalar));
    PetscCall(picture_add_points(p, n, x, look->radius, scalar, look->lo, look->hi, picture_palette(0)));
  } else if (x && kind == FIELD_GROUP_FIBRES) {
    PetscCall(add_fibres(p, f, g, x, look, picture_palette(1 + (*i_body)++)));
  } else if (x) {
    int64_t     n_triangles;
    int32_t    *triangles;
    double      normal[3];
    const char *name = strrchr(frame_group_name(f, g), '/');
    PetscCall(frame_read_triangles(f, g, &n_triangles, &triangles));
    if (is_transparent(name ? name + 1 : frame_group_name(f, g), &look->view))
      PetscCall(picture_add_mesh(p, n, x, n_triangles, triangles, true, NULL, 0, 1, transparent_paint));
    else if (is_solid(f, g, n_triangles))
      PetscCall(picture_add_mesh(p, n, x, n_triangles, triangles, true, NULL, 0, 1, picture_palette(1 + (*i_body)++)));
    else if (is_tilted_plane(x, n_triangles, triangles, normal)) PetscCall(add_tilted_plane(p, n, x, n_triangles, triangles, normal));
    else PetscCall(add_outline(p, x, n_triangles, triangles));
    memory_free(&triangles);
  }
  MEMORY_FREE(&x, &scalar);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode draw_frame(picture *p, const frame *f, const scene_look *look, uint8_t *rgb)
{
  PetscFunctionBegin;
  char caption[64];
  int  i_body = 0;
  picture_clear(p);
  for (int g = 0; g < frame_n_groups(f); ++g) PetscCall(add_group(p, f, g, look, &i_body));
  picture_title(p, frame_job_name(f));
  snprintf(caption, sizeof caption, "t = %.4g s", frame_time(f));
  picture_caption(p, caption);
  if (look->has_scalar) picture_colour_bar(p, look->label, strcmp(look->unit, "1") ? look->unit : "", look->lo, look->hi);
  PetscCall(picture_render(p, rgb));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode create_picture(const render_view *view, const scene_look *look, picture **out, uint8_t **rgb)
{
  PetscFunctionBegin;
  const double up[3] = {0, 0, 1};
  PetscCall(picture_create(view->width, view->height, out));
  PetscCall(memory_alloc("picture", 3 * (int64_t)view->width * view->height, 1, rgb));
  picture_ground(*out, fmin(look->min[2], look->ground));
  picture_frame(*out, look->min, look->max, 30.0, 24.0);
  if (isfinite(view->eye[0])) {
    double eye[3], middle[3];
    v3_copy(eye, view->eye);
    v3_copy(middle, view->target);
    rotate_to_z_up(view->up, 1, eye);
    rotate_to_z_up(view->up, 1, middle);
    for (int k = 0; k < 3 && !isfinite(view->target[0]); ++k) middle[k] = 0.5 * (look->min[k] + look->max[k]);
    picture_camera(*out, eye, middle, up, 35.0);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bounds and colour range of the given frames. */
static PetscErrorCode survey_all(const char *dir, const render_view *view, int64_t n, const int64_t *indices, scene_look *look)
{
  PetscFunctionBegin;
  memset(look, 0, sizeof *look);
  look->view = *view;
  for (int with_outlines = 0; with_outlines < 2; ++with_outlines) {
    v3_set(look->min, INFINITY, INFINITY, INFINITY);
    v3_set(look->max, -INFINITY, -INFINITY, -INFINITY);
    look->lo = INFINITY, look->hi = -INFINITY;
    look->ground = INFINITY;
    for (int64_t i = 0; i < n; ++i) {
      char  *path;
      frame *f;
      PetscCall(frames_path(dir, indices[i], &path));
      PetscCall(frame_open(path, &f));
      PetscCall(survey_frame(f, look, with_outlines));
      frame_close(&f);
      memory_free(&path);
    }
    if (isfinite(look->min[0])) break;
  }
  if (!isfinite(look->min[0])) {
    v3_set(look->min, -1, -1, 0);
    v3_set(look->max, 1, 1, 1);
  }
  finish_colour_range(look);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Draws frames of a run with the same camera and colour range. */
typedef struct {
  const char *dir;
  scene_look  look;
  picture    *picture;
  uint8_t    *rgb;
} painter;

static void painter_end(painter *p)
{
  memory_free(&p->rgb);
  picture_destroy(&p->picture);
}

/* The given frames determine camera and colour range. Call painter_end also after a failure. */
static PetscErrorCode painter_begin(painter *p, const char *dir, const render_view *view, int64_t n, const int64_t *indices)
{
  PetscFunctionBegin;
  memset(p, 0, sizeof *p);
  p->dir = dir;
  PetscCall(survey_all(dir, view, n, indices, &p->look));
  PetscCall(create_picture(view, &p->look, &p->picture, &p->rgb));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode painter_draw(painter *p, int64_t index, double *time)
{
  char  *path;
  frame *f;
  PetscFunctionBegin;
  PetscCall(frames_path(p->dir, index, &path));
  PetscErrorCode code = frame_open(path, &f);
  memory_free(&path);
  PetscCall(code);
  if (time) *time = frame_time(f);
  code = draw_frame(p->picture, f, &p->look, p->rgb);
  frame_close(&f);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode render_still(const char *dir, const render_view *view, int64_t index, const char *path, bool *is_written)
{
  int64_t  n, at = -1;
  int64_t *indices __attribute__((cleanup(memory_free))) = NULL;
  painter  p __attribute__((cleanup(painter_end)))       = {0};
  PetscFunctionBegin;
  *is_written = false;
  PetscCall(frames_list(dir, &n, &indices));
  for (int64_t i = 0; i < n; ++i)
    if (indices[i] == index || (index < 0 && i == n - 1)) at = i;
  if (at < 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(painter_begin(&p, dir, view, 1, indices + at));
  PetscCall(painter_draw(&p, indices[at], NULL));
  PetscCall(png_file_write(path, view->width, view->height, p.rgb));
  *is_written = true;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* "speed" is accepted in every run, because it is the default of picture.field. */
static PetscErrorCode check_frame_field(const frame *f, const char *name)
{
  const char *known[256];
  int         n = 0;
  PetscFunctionBegin;
  for (int g = 0; g < frame_n_groups(f); ++g)
    for (int k = 0; k < frame_n_fields(f, g); ++k) {
      if (strcmp(frame_field_name(f, g, k), name) == 0) PetscFunctionReturn(PETSC_SUCCESS);
      if (n < 256 && frame_group_geometry(f, g) == FIELD_GROUP_POINTS) known[n++] = frame_field_name(f, g, k);
    }
  const char *nearest = diagnostics_nearest(name, n, known);
  PetscCheck(strcmp(name, "speed") == 0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "--field %s: the frames have no such field%s%s%s", name,
             nearest ? "; did you mean \"" : "; `stickslip info DIR` lists the fields", nearest ? nearest : "", nearest ? "\"?" : "");
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode render_check_field(const char *dir, const char *name)
{
  int64_t  n;
  int64_t *indices __attribute__((cleanup(memory_free))) = NULL;
  char    *path __attribute__((cleanup(memory_free)))    = NULL;
  frame   *f;
  PetscFunctionBegin;
  PetscCall(frames_list(dir, &n, &indices));
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(frames_path(dir, indices[n - 1], &path));
  PetscCall(frame_open(path, &f));
  const PetscErrorCode code = check_frame_field(f, name);
  frame_close(&f);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode render_sequence(const char *dir, const render_view *view, int n_max, int *n, render_picture *out)
{
  int64_t  n_frames, chosen[64];
  int64_t *indices __attribute__((cleanup(memory_free))) = NULL;
  painter  p;
  PetscFunctionBegin;
  SS_ASSERT(n_max > 0 && n_max <= 64);
  memset(out, 0, (size_t)n_max * sizeof *out);
  PetscCall(frames_list(dir, &n_frames, &indices));
  *n = n_frames < n_max ? (int)n_frames : n_max;
  if (*n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  for (int i = 0; i < *n; ++i) chosen[i] = indices[*n > 1 ? (n_frames - 1) * i / (*n - 1) : 0];
  PetscErrorCode code = painter_begin(&p, dir, view, *n, chosen);
  for (int i = 0; i < *n && !code; ++i) {
    out[i].index = chosen[i];
    code         = painter_draw(&p, chosen[i], &out[i].time);
    if (!code) code = png_encode(view->width, view->height, p.rgb, &out[i].bytes, &out[i].n);
  }
  painter_end(&p);
  for (int i = 0; i < *n && code; ++i) memory_free(&out[i].bytes);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode render_animation(const char *dir, const render_view *view, double frames_per_second, const char *path, bool *is_written)
{
  int64_t        n;
  int64_t       *indices __attribute__((cleanup(memory_free)))     = NULL;
  painter        p __attribute__((cleanup(painter_end)))           = {0};
  png_animation *a __attribute__((cleanup(png_animation_abandon))) = NULL;
  PetscFunctionBegin;
  *is_written = false;
  PetscCall(frames_list(dir, &n, &indices));
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(painter_begin(&p, dir, view, n, indices));
  PetscCall(png_animation_open(path, view->width, view->height, 0, &a));
  for (int64_t i = 0; i < n; ++i) {
    PetscCall(painter_draw(&p, indices[i], NULL));
    PetscCall(png_animation_add(a, p.rgb, 1.0 / frames_per_second));
  }
  PetscCall(png_animation_close(&a));
  *is_written = true;
  PetscFunctionReturn(PETSC_SUCCESS);
}
