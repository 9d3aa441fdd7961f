/* Renderer without a display, see picture.h: projection, tiles, shadows, ambient occlusion, lettering. */
#include "io/picture.h"
#include <math.h>
#include <string.h>
#include "core/math3.h"
#include "core/memory.h"
#include "core/random.h"
#include "io/picture_text.h"

/* ---- the scene, the camera and the visible surfaces ---- */

enum { PICTURE_SAMPLES = 2, PICTURE_TEXT = 128 }; /* samples per pixel and direction; longest lettering */

typedef struct {
  float   centre[3], radius;
  uint8_t rgb[3], gloss; /* gloss 255 is 1 */
} scene_sphere;

typedef struct {
  float   x[3][3], normal[3][3]; /* world; normals face outwards by the order of the corners */
  uint8_t rgb[3], gloss;
  float   opacity;
} scene_triangle;

typedef struct {
  float   x[2][3];
  float   half_width; /* pixels */
  uint8_t rgb[3];
  float   opacity;
} scene_line;

/* Pinhole or parallel camera. View coordinates: q = axis (x - origin), q[0] right, q[1] down, q[2] forward. */
typedef struct {
  double axis[3][3], origin[3];
  bool   is_orthographic;
  float  focal;  /* pixels per unit at depth 1; pixels per metre if orthographic */
  float  cx, cy; /* pixel coordinates of the axis */
  float  near;   /* nothing nearer is seen; -infinity if orthographic */
  int    width, height;
} scene_view;

struct picture {
  int             width, height;
  int64_t         n_spheres, n_triangles, n_veils, n_lines;         /* veils: triangles with opacity below 1 */
  int64_t         max_spheres, max_triangles, max_veils, max_lines; /* allocated */
  scene_sphere   *sphere;
  scene_triangle *triangle, *veil;
  scene_line     *line;
  double          lo[3], hi[3]; /* bounds of all of them; lo > hi: none */
  /* camera */
  double eye[3], target[3], up[3], fov;
  bool   has_camera;
  double scale; /* size of the visible objects, for grid, fog and occlusion */
  /* ground and lettering */
  bool   has_ground, has_bar;
  double ground;
  char   title[PICTURE_TEXT], caption[PICTURE_TEXT], bar_label[PICTURE_TEXT];
  double bar_lo, bar_hi;
};

/* Surface identities in the visibility buffer: 0 nothing, 1 ground, then spheres, then clipped triangles. */
enum { SURFACE_NONE = 0, SURFACE_GROUND = 1, SURFACE_FIRST = 2 };

typedef struct {
  float    x[3][3], normal[3][3]; /* view coordinates */
  uint32_t source;
} view_triangle;

/* Visible surfaces: nearest depth and its surface, for every sample. */
typedef struct {
  scene_view view;
  float     *depth;   /* [height][width], INFINITY where there is nothing */
  uint32_t  *surface; /* the same, may be NULL */
  int64_t    n_spheres, n_triangles;
  float (*sphere)[4];      /* centre in view coordinates, radius */
  view_triangle *triangle; /* after clipping */
} raster;

/* Primitives sorted into square tiles: tile t contains item[start[t]] ... item[start[t + 1] - 1], ascending. */
enum { TILE = 64 };
typedef struct {
  int x0, y0, x1, y1; /* half open; x0 >= x1: unseen */
} pixel_box;
typedef struct {
  int      nx, ny;
  int64_t *start;
  int32_t *item;
} tile_bins;

/* Which surface is seen at every sample: tiles of 64 x 64 samples, each drawn by one thread in the order of the primitives. */

static int   min_int(int a, int b) { return a < b ? a : b; }
static int   max_int(int a, int b) { return a > b ? a : b; }
static float min3(float a, float b, float c) { return fminf(a, fminf(b, c)); }
static float max3(float a, float b, float c) { return fmaxf(a, fmaxf(b, c)); }

static void picture_view_transform(const scene_view *v, const float x[3], float q[3])
{
  const double d[3] = {x[0] - v->origin[0], x[1] - v->origin[1], x[2] - v->origin[2]};
  for (int k = 0; k < 3; ++k) q[k] = (float)(v->axis[k][0] * d[0] + v->axis[k][1] * d[1] + v->axis[k][2] * d[2]);
}

/* Samples that [x0, x1] x [y0, y1] may touch. */
static pixel_box clip_box(const scene_view *v, float x0, float y0, float x1, float y1)
{
  pixel_box b = {0, 0, 0, 0};
  if (!(x1 >= 0.0f && y1 >= 0.0f && x0 <= (float)v->width && y0 <= (float)v->height)) return b;
  b.x0 = (int)fmaxf(floorf(x0), 0.0f);
  b.y0 = (int)fmaxf(floorf(y0), 0.0f);
  b.x1 = (int)fminf(ceilf(x1) + 1.0f, (float)v->width);
  b.y1 = (int)fminf(ceilf(y1) + 1.0f, (float)v->height);
  return b;
}

/* ---- tiles ---- */

static PetscErrorCode picture_bins_create(int width, int height, int64_t n, const pixel_box *box, tile_bins *out)
{
  memset(out, 0, sizeof *out);
  out->nx               = (width + TILE - 1) / TILE;
  out->ny               = (height + TILE - 1) / TILE;
  const int64_t n_tiles = (int64_t)out->nx * out->ny;
  PetscCall(memory_alloc("picture tiles", n_tiles + 2, sizeof *out->start, &out->start));
  /* counted two places ahead, so that filling by start[t + 1]++ leaves the starts where they belong */
  for (int64_t i = 0; i < n; ++i) {
    if (box[i].x0 >= box[i].x1 || box[i].y0 >= box[i].y1) continue;
    for (int ty = box[i].y0 / TILE; ty <= (box[i].y1 - 1) / TILE; ++ty)
      for (int tx = box[i].x0 / TILE; tx <= (box[i].x1 - 1) / TILE; ++tx) out->start[ty * out->nx + tx + 2]++;
  }
  for (int64_t t = 2; t < n_tiles + 2; ++t) out->start[t] += out->start[t - 1];
  PetscCall(memory_alloc("picture tile items", out->start[n_tiles + 1], sizeof *out->item, &out->item));
  for (int64_t i = 0; i < n; ++i) {
    if (box[i].x0 >= box[i].x1 || box[i].y0 >= box[i].y1) continue;
    for (int ty = box[i].y0 / TILE; ty <= (box[i].y1 - 1) / TILE; ++ty)
      for (int tx = box[i].x0 / TILE; tx <= (box[i].x1 - 1) / TILE; ++tx) out->item[out->start[ty * out->nx + tx + 1]++] = (int32_t)i;
  }
  return PETSC_SUCCESS;
}

static void picture_bins_destroy(tile_bins *b) { MEMORY_FREE(&b->start, &b->item); }

/* The part of tile t in the image. */
static pixel_box picture_tile(const tile_bins *b, int t, int width, int height)
{
  const int x = t % b->nx * TILE, y = t / b->nx * TILE;
  return (pixel_box){x, y, min_int(x + TILE, width), min_int(y + TILE, height)};
}

static pixel_box intersect(pixel_box a, pixel_box b)
{
  return (pixel_box){max_int(a.x0, b.x0), max_int(a.y0, b.y0), min_int(a.x1, b.x1), min_int(a.y1, b.y1)};
}

/* ---- spheres ---- */

static pixel_box sphere_box(const scene_view *v, const float s[4])
{
  float x = s[0], y = s[1], reach = s[3];
  if (!v->is_orthographic) {
    if (s[2] - s[3] <= v->near) return (pixel_box){0, 0, 0, 0};
    /* the outline is an ellipse; this circle encloses it */
    x /= s[2], y /= s[2];
    reach = s[3] / (s[2] - s[3]) * sqrtf(1.0f + x * x + y * y);
  }
  x = v->cx + v->focal * x, y = v->cy + v->focal * y, reach *= v->focal;
  return clip_box(v, x - reach - 1.0f, y - reach - 1.0f, x + reach, y + reach);
}

/* Ray-sphere intersection for every sample. The foot of the perpendicular from the centre keeps single precision good where
 * the textbook's discriminant would subtract two large numbers. */
static void draw_sphere(const raster *r, const float s[4], uint32_t id, pixel_box b)
{
  const scene_view *v         = &r->view;
  const float       per_focal = 1.0f / v->focal, rr = s[3] * s[3];
  for (int y = b.y0; y < b.y1; ++y) {
    const float w       = ((float)y + 0.5f - v->cy) * per_focal;
    float      *depth   = r->depth + (size_t)y * (size_t)v->width;
    uint32_t   *surface = r->surface ? r->surface + (size_t)y * (size_t)v->width : NULL;
    for (int x = b.x0; x < b.x1; ++x) {
      const float u = ((float)x + 0.5f - v->cx) * per_focal;
      float       z;
      if (v->is_orthographic) {
        const float h = rr - (s[0] - u) * (s[0] - u) - (s[1] - w) * (s[1] - w);
        if (h <= 0.0f) continue;
        z = s[2] - sqrtf(h);
      } else {
        const float a = 1.0f + u * u + w * w, foot = (u * s[0] + w * s[1] + s[2]) / a;
        const float q0 = s[0] - u * foot, q1 = s[1] - w * foot, q2 = s[2] - foot, h = rr - q0 * q0 - q1 * q1 - q2 * q2;
        if (h <= 0.0f) continue;
        z = foot - sqrtf(h / a);
      }
      if (z >= depth[x]) continue;
      depth[x] = z;
      if (surface) surface[x] = id;
    }
  }
}

/* ---- triangles ---- */

static void mix_corner(const view_triangle *t, int from, int to, float s, float x[3], float normal[3])
{
  for (int k = 0; k < 3; ++k) {
    x[k]      = t->x[from][k] + s * (t->x[to][k] - t->x[from][k]);
    normal[k] = t->normal[from][k] + s * (t->normal[to][k] - t->normal[from][k]);
  }
}

/* Cut a triangle at the near plane: 0, 1 or 2 triangles. */
static int picture_clip(const scene_view *v, const view_triangle *t, view_triangle out[2])
{
  float x[4][3], normal[4][3];
  int   n = 0;
  if (v->is_orthographic || min3(t->x[0][2], t->x[1][2], t->x[2][2]) >= v->near) {
    out[0] = *t;
    return 1;
  }
  for (int i = 0; i < 3; ++i) {
    const int   j = (i + 1) % 3;
    const float a = t->x[i][2] - v->near, b = t->x[j][2] - v->near;
    if (a >= 0.0f) mix_corner(t, i, i, 0.0f, x[n], normal[n]), ++n;
    if ((a >= 0.0f) != (b >= 0.0f)) mix_corner(t, i, j, a / (a - b), x[n], normal[n]), ++n;
  }
  if (n < 3) return 0;
  for (int k = 0; k < n - 2; ++k) {
    out[k].source = t->source;
    for (int i = 0; i < 3; ++i) {
      memcpy(out[k].x[i], x[i == 0 ? 0 : i + k], sizeof x[0]);
      memcpy(out[k].normal[i], normal[i == 0 ? 0 : i + k], sizeof normal[0]);
    }
  }
  return n - 2;
}

/* Triangle `source` of the scene in view coordinates, cut at the near plane: 0, 1 or 2 triangles. */
static int view_and_clip(const scene_view *v, const scene_triangle *s, int64_t source, view_triangle out[2])
{
  view_triangle t    = {.source = (uint32_t)source};
  scene_view    turn = *v; /* normals are turned, but not shifted */
  memset(turn.origin, 0, sizeof turn.origin);
  for (int k = 0; k < 3; ++k) {
    picture_view_transform(v, s->x[k], t.x[k]);
    picture_view_transform(&turn, s->normal[k], t.normal[k]);
  }
  return picture_clip(v, &t, out);
}

static void picture_project(const scene_view *v, const float q[3], float s[3])
{
  const float scale = v->is_orthographic ? v->focal : v->focal / q[2];
  s[0]              = v->cx + scale * q[0];
  s[1]              = v->cy + scale * q[1];
  s[2]              = v->is_orthographic ? q[2] : 1.0f / q[2]; /* linear on the screen */
}

static pixel_box triangle_box(const scene_view *v, const view_triangle *t)
{
  float s[3][3];
  for (int i = 0; i < 3; ++i) picture_project(v, t->x[i], s[i]);
  return clip_box(v, min3(s[0][0], s[1][0], s[2][0]) - 1.0f, min3(s[0][1], s[1][1], s[2][1]) - 1.0f, max3(s[0][0], s[1][0], s[2][0]),
                  max3(s[0][1], s[1][1], s[2][1]));
}

/* Depth of each sample inside the triangle, given to `visit`. Samples on a common edge belong to both: no holes. */
typedef void (*sample_visitor)(void *context, int x, int y, float depth);
static inline void walk_triangle(const scene_view *v, const view_triangle *t, pixel_box b, sample_visitor visit, void *context)
{
  float s[3][3];
  for (int i = 0; i < 3; ++i) picture_project(v, t->x[i], s[i]);
  const double area = ((double)s[1][0] - s[0][0]) * ((double)s[2][1] - s[0][1]) - ((double)s[2][0] - s[0][0]) * ((double)s[1][1] - s[0][1]);
  if (!(fabs(area) > 1e-9)) return;
  double ex[3], ey[3], e0[3]; /* barycentric coordinate i = e0 + ex x + ey y */
  for (int i = 0; i < 3; ++i) {
    const float *p = s[(i + 1) % 3], *q = s[(i + 2) % 3];
    ex[i] = ((double)p[1] - q[1]) / area;
    ey[i] = ((double)q[0] - p[0]) / area;
    e0[i] = -ex[i] * p[0] - ey[i] * p[1];
  }
  for (int y = b.y0; y < b.y1; ++y)
    for (int x = b.x0; x < b.x1; ++x) {
      const double px = x + 0.5, py = y + 0.5;
      const double l0 = e0[0] + ex[0] * px + ey[0] * py, l1 = e0[1] + ex[1] * px + ey[1] * py, l2 = e0[2] + ex[2] * px + ey[2] * py;
      if (l0 < 0.0 || l1 < 0.0 || l2 < 0.0) continue;
      const float w = (float)(l0 * s[0][2] + l1 * s[1][2] + l2 * s[2][2]);
      visit(context, x, y, v->is_orthographic ? w : 1.0f / w);
    }
}

typedef struct {
  const raster *r;
  uint32_t      id;
} solid_context;
static void visit_solid(void *context, int x, int y, float depth)
{
  const solid_context *c  = context;
  const size_t         at = (size_t)y * (size_t)c->r->view.width + (size_t)x;
  if (depth >= c->r->depth[at]) return;
  c->r->depth[at] = depth;
  if (c->r->surface) c->r->surface[at] = c->id;
}

/* ---- ground ---- */

static void draw_ground(const picture *p, const raster *r)
{
  const scene_view *v     = &r->view;
  const double      above = v->origin[2] - p->ground;
  if (!p->has_ground || !r->surface || (!v->is_orthographic && above <= 0.0) || (v->is_orthographic && v->axis[2][2] >= 0.0)) return;
#pragma omp parallel for schedule(static)
  for (int y = 0; y < v->height; ++y)
    for (int x = 0; x < v->width; ++x) {
      const double u = (x + 0.5 - v->cx) / v->focal, w = (y + 0.5 - v->cy) / v->focal;
      const double side = u * v->axis[0][2] + w * v->axis[1][2]; /* height gained sideways, per unit of depth or at all */
      const double z    = v->is_orthographic ? -(above + side) / v->axis[2][2] : -above / (side + v->axis[2][2]);
      const size_t at   = (size_t)y * (size_t)v->width + (size_t)x;
      if (!v->is_orthographic && !(z > v->near && z < 1e6)) continue;
      if (z >= r->depth[at]) continue;
      r->depth[at]   = (float)z;
      r->surface[at] = SURFACE_GROUND;
    }
}

/* ---- all together ---- */

static PetscErrorCode transform_scene(const picture *p, raster *r)
{
  PetscCall(MEMORY_ALLOC("picture", ARRAY(r->sphere, p->n_spheres), ARRAY(r->triangle, 2 * p->n_triangles)));
  r->n_spheres = p->n_spheres;
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < p->n_spheres; ++i) {
    picture_view_transform(&r->view, p->sphere[i].centre, r->sphere[i]);
    r->sphere[i][3] = p->sphere[i].radius;
  }
  for (int64_t i = 0; i < p->n_triangles; ++i) r->n_triangles += view_and_clip(&r->view, &p->triangle[i], i, r->triangle + r->n_triangles);
  return PETSC_SUCCESS;
}

static void draw_tile(const raster *r, const tile_bins *bins, const pixel_box *box, int t)
{
  const pixel_box tile = picture_tile(bins, t, r->view.width, r->view.height);
  for (int64_t k = bins->start[t]; k < bins->start[t + 1]; ++k) {
    const int64_t   i  = bins->item[k];
    const pixel_box b  = intersect(tile, box[i]);
    const uint32_t  id = (uint32_t)(SURFACE_FIRST + i);
    if (i < r->n_spheres) draw_sphere(r, r->sphere[i], id, b);
    else walk_triangle(&r->view, &r->triangle[i - r->n_spheres], b, visit_solid, &(solid_context){r, id});
  }
}

static PetscErrorCode draw_scene(const picture *p, raster *r)
{
  pixel_box     *box  = NULL;
  tile_bins      bins = {0};
  const int64_t  n    = r->n_spheres + r->n_triangles;
  PetscErrorCode code = memory_alloc("picture boxes", n, sizeof *box, &box);
  if (!code) {
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; ++i)
      box[i] = i < r->n_spheres ? sphere_box(&r->view, r->sphere[i]) : triangle_box(&r->view, &r->triangle[i - r->n_spheres]);
    code = picture_bins_create(r->view.width, r->view.height, n, box, &bins);
  }
  if (!code) {
    const int n_tiles = bins.nx * bins.ny;
#pragma omp parallel for schedule(dynamic)
    for (int t = 0; t < n_tiles; ++t) draw_tile(r, &bins, box, t);
    draw_ground(p, r);
  }
  picture_bins_destroy(&bins);
  memory_free(&box);
  PetscCall(code);
  return PETSC_SUCCESS;
}

static void picture_raster_destroy(raster *r) { MEMORY_FREE(&r->depth, &r->surface, &r->sphere, &r->triangle); }

/* Rasterise spheres and solid triangles of the scene. wants_surface false: a shadow map. */
static PetscErrorCode picture_raster_create(const picture *p, const scene_view *view, bool wants_surface, raster *out)
{
  const int64_t n = (int64_t)view->width * view->height;
  memset(out, 0, sizeof *out);
  out->view           = *view;
  PetscErrorCode code = memory_alloc("picture depth", n, sizeof *out->depth, &out->depth);
  if (!code && wants_surface) code = memory_alloc("picture surfaces", n, sizeof *out->surface, &out->surface);
  if (!code) {
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; ++i) out->depth[i] = INFINITY;
    code = transform_scene(p, out);
  }
  if (!code) code = draw_scene(p, out);
  if (code) picture_raster_destroy(out);
  PetscCall(code);
  return PETSC_SUCCESS;
}

/* ---- veils and lines ---- */

typedef struct {
  const raster *r;
  float        *layer, rgb[3], opacity;
} veil_context;

static void picture_blend(const veil_context *c, size_t at, float depth, float opacity)
{
  if (depth >= c->r->depth[at] * (1.0f + 1e-3f * (c->r->depth[at] < 1e30f))) return;
  float *l = c->layer + 4 * at;
  for (int k = 0; k < 3; ++k) l[k] += opacity * c->rgb[k];
  l[3] *= 1.0f - opacity;
}
static void visit_veil(void *context, int x, int y, float depth)
{
  const veil_context *c = context;
  picture_blend(c, (size_t)y * (size_t)c->r->view.width + (size_t)x, depth, c->opacity);
}

/* Ends in the order of their depth; false if all of it is behind the camera. */
static bool clip_line(const scene_view *v, float q[2][3])
{
  if (v->is_orthographic) return true;
  if (q[0][2] < v->near && q[1][2] < v->near) return false;
  for (int i = 0; i < 2; ++i) {
    if (q[i][2] >= v->near) continue;
    const float s = (v->near - q[i][2]) / (q[1 - i][2] - q[i][2]);
    for (int k = 0; k < 3; ++k) q[i][k] += s * (q[1 - i][k] - q[i][k]);
    q[i][2] = v->near;
  }
  return true;
}

typedef struct {
  float s[2][3]; /* ends on the screen */
  float half;    /* samples */
} screen_line;

static void draw_line(const scene_view *v, const screen_line *l, pixel_box b, veil_context *c, float opacity)
{
  const float dx = l->s[1][0] - l->s[0][0], dy = l->s[1][1] - l->s[0][1], length = dx * dx + dy * dy;
  for (int y = b.y0; y < b.y1; ++y)
    for (int x = b.x0; x < b.x1; ++x) {
      const float px = (float)x + 0.5f - l->s[0][0], py = (float)y + 0.5f - l->s[0][1];
      const float t     = length > 0.0f ? fminf(fmaxf((px * dx + py * dy) / length, 0.0f), 1.0f) : 0.0f;
      const float d     = sqrtf((px - t * dx) * (px - t * dx) + (py - t * dy) * (py - t * dy));
      const float cover = fminf(fmaxf(l->half + 0.5f - d, 0.0f), 1.0f), w = l->s[0][2] + t * (l->s[1][2] - l->s[0][2]);
      if (cover > 0.0f) picture_blend(c, (size_t)y * (size_t)v->width + (size_t)x, v->is_orthographic ? w : 1.0f / w, cover * opacity);
    }
}

static float linear(uint8_t c) { return powf((float)c / 255.0f, 2.2f); }

/* A veil is lit as if it were paper: the same from both sides. */
static void veil_paint(const picture *p, const view_triangle *t, veil_context *c)
{
  const scene_triangle *s      = &p->veil[t->source];
  const float           facing = 0.75f + 0.25f * fabsf(t->normal[0][2]);
  for (int k = 0; k < 3; ++k) c->rgb[k] = linear(s->rgb[k]) * facing;
  c->opacity = s->opacity;
}

typedef struct {
  int64_t        n_triangles, n;
  view_triangle *triangle;
  screen_line   *line;
  pixel_box     *box;
} layer_parts;

static PetscErrorCode collect_parts(const picture *p, const scene_view *v, layer_parts *out)
{
  PetscCall(MEMORY_ALLOC("picture", ARRAY(out->triangle, 2 * p->n_veils), ARRAY(out->line, p->n_lines),
                         ARRAY(out->box, 2 * p->n_veils + p->n_lines)));
  for (int64_t i = 0; i < p->n_veils; ++i) {
    const int n = view_and_clip(v, &p->veil[i], i, out->triangle + out->n_triangles);
    for (int k = 0; k < n; ++k, ++out->n_triangles) out->box[out->n_triangles] = triangle_box(v, &out->triangle[out->n_triangles]);
  }
  out->n = out->n_triangles;
  for (int64_t i = 0; i < p->n_lines; ++i) {
    float        q[2][3];
    screen_line *l = &out->line[i];
    for (int k = 0; k < 2; ++k) picture_view_transform(v, p->line[i].x[k], q[k]);
    l->half     = p->line[i].half_width * PICTURE_SAMPLES;
    pixel_box b = {0, 0, 0, 0};
    if (clip_line(v, q)) {
      picture_project(v, q[0], l->s[0]);
      picture_project(v, q[1], l->s[1]);
      const float reach = l->half + 1.5f;
      b = clip_box(v, fminf(l->s[0][0], l->s[1][0]) - reach, fminf(l->s[0][1], l->s[1][1]) - reach, fmaxf(l->s[0][0], l->s[1][0]) + reach,
                   fmaxf(l->s[0][1], l->s[1][1]) + reach);
    }
    out->box[out->n++] = b;
  }
  return PETSC_SUCCESS;
}

static void layer_tile(const picture *p, const raster *r, const layer_parts *parts, const tile_bins *bins, int t, float *layer)
{
  const pixel_box tile = picture_tile(bins, t, r->view.width, r->view.height);
  veil_context    c    = {.r = r, .layer = layer};
  for (int64_t k = bins->start[t]; k < bins->start[t + 1]; ++k) {
    const int64_t   i = bins->item[k], j = i - parts->n_triangles;
    const pixel_box b = intersect(tile, parts->box[i]);
    if (j < 0) {
      veil_paint(p, &parts->triangle[i], &c);
      walk_triangle(&r->view, &parts->triangle[i], b, visit_veil, &c);
    } else {
      for (int m = 0; m < 3; ++m) c.rgb[m] = linear(p->line[j].rgb[m]);
      draw_line(&r->view, &parts->line[j], b, &c, p->line[j].opacity);
    }
  }
}

/* Veils and lines: per sample the sum of their colours times opacity, and their transmittance: [height][width][4]. NULL if none. */
static PetscErrorCode picture_layer_create(const picture *p, const raster *r, float **layer)
{
  const int64_t n     = (int64_t)r->view.width * r->view.height;
  layer_parts   parts = {0};
  tile_bins     bins  = {0};
  *layer              = NULL;
  if (p->n_veils + p->n_lines == 0) return PETSC_SUCCESS;
  PetscErrorCode code = memory_alloc("picture layer", 4 * n, sizeof **layer, layer);
  if (!code) code = collect_parts(p, &r->view, &parts);
  if (!code) code = picture_bins_create(r->view.width, r->view.height, parts.n, parts.box, &bins);
  if (!code) {
    const int    n_tiles = bins.nx * bins.ny;
    float *const data    = *layer;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; ++i) data[4 * i + 3] = 1.0f;
#pragma omp parallel for schedule(dynamic)
    for (int t = 0; t < n_tiles; ++t) layer_tile(p, r, &parts, &bins, t, data);
  }
  picture_bins_destroy(&bins);
  MEMORY_FREE(&parts.triangle, &parts.line, &parts.box);
  if (code) memory_free(layer);
  PetscCall(code);
  return PETSC_SUCCESS;
}

/* Light and colour: a warm key light with soft shadows from a depth map, hemispherical sky light dimmed by screen-space
 * ambient occlusion, and a little sky mirrored in glossy surfaces. All in view coordinates and linear colour.
 *
 * Occlusion follows McGuire, Mara and Luebke, "Scalable ambient obscurance", HPG 2012, without its depth pyramid.        */

enum { N_OCCLUSION = 10, N_SHADOW = 5, N_TURNS = 16, N_PHASES = 8 };
static const double GOLDEN_ANGLE = 2.39996323;
static const float  SKY[3] = {0.50f, 0.55f, 0.62f}, BOUNCE[3] = {0.30f, 0.28f, 0.26f}, KEY[3] = {1.02f, 0.94f, 0.83f};
static const float  GROUND_ALBEDO[3] = {0.66f, 0.65f, 0.63f};
static const float  BACK_TOP[3] = {0.62f, 0.71f, 0.80f}, BACK_BOTTOM[3] = {0.90f, 0.92f, 0.93f};

typedef struct {
  const picture *p;
  const raster  *seen, *shadow;
  float          linear[256];     /* sRGB byte to linear */
  float          up[3], light[3]; /* unit vectors, view coordinates; light: towards the lamp */
  float          to_world[3][3];  /* rotation of a view vector into the world */
  float          to_shadow[3][4]; /* view position to shadow map coordinates, metres */
  float          occlusion_radius, penumbra, texel;
  float          around[N_TURNS][N_OCCLUSION][2], disc[N_PHASES][N_SHADOW][2]; /* sample directions, in units of the reach */
  double         grid;                                                         /* spacing of the ground's lines */
} shader;

typedef struct {
  float q[3], n[3], e[3]; /* position, normal towards the viewer, direction to the viewer */
  float albedo[3], gloss, fade;
} sample_point;

static float dot(const float *a, const float *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
static float clamp01(float x) { return fminf(fmaxf(x, 0.0f), 1.0f); }
static float smooth_step(float a, float b, float x)
{
  const float t = clamp01((x - a) / (b - a));
  return t * t * (3.0f - 2.0f * t);
}
static void normalise(float *a)
{
  const float s = 1.0f / sqrtf(fmaxf(dot(a, a), 1e-30f));
  for (int k = 0; k < 3; ++k) a[k] *= s;
}

static inline void position(const scene_view *v, float x, float y, float z, float q[3])
{
  const float scale = (v->is_orthographic ? 1.0f : z) / v->focal;
  q[0]              = (x - v->cx) * scale;
  q[1]              = (y - v->cy) * scale;
  q[2]              = z;
}

/* Share of sky that neighbours leave free. */
static float occlusion(const shader *s, const sample_point *f, int x, int y)
{
  const scene_view *v      = &s->seen->view;
  const float       reach  = s->occlusion_radius * v->focal / (v->is_orthographic ? 1.0f : f->q[2]);
  const float       pixels = fminf(fmaxf(reach, 3.0f), 0.15f * (float)v->height), radius = s->occlusion_radius * pixels / reach;
  /* 16 rotations in a 4 x 4 pattern; averaging samples to pixels removes most of it */
  static const uint8_t order[N_TURNS] = {0, 8, 2, 10, 12, 4, 14, 6, 3, 11, 1, 9, 15, 7, 13, 5};
  const float(*around)[2]             = s->around[order[(y & 3) * 4 + (x & 3)]];
  float sum                           = 0.0f;
  for (int i = 0; i < N_OCCLUSION; ++i) {
    const int px = x + (int)lrintf(pixels * around[i][0]), py = y + (int)lrintf(pixels * around[i][1]);
    if (px < 0 || py < 0 || px >= v->width || py >= v->height) continue;
    const float z = s->seen->depth[(size_t)py * (size_t)v->width + (size_t)px];
    if (!(z < 1e30f)) continue;
    float w[3];
    position(v, (float)px + 0.5f, (float)py + 0.5f, z, w);
    for (int k = 0; k < 3; ++k) w[k] -= f->q[k];
    const float ww = dot(w, w), wn = dot(w, f->n) - 0.02f * radius;
    if (wn > 0.0f && ww < radius * radius) sum += wn / sqrtf(ww) * (1.0f - ww / (radius * radius));
  }
  return fmaxf(1.0f - 2.2f * sum / N_OCCLUSION, 0.0f);
}

/* Share of the lamp that is seen. */
static float lit_share(const shader *s, const sample_point *f, float facing, int x, int y)
{
  const scene_view *v = &s->shadow->view;
  float             from[3], m[3];
  /* stepping off the surface keeps it from shadowing itself, more so where light grazes */
  const float step = 1.5f * s->texel + (s->penumbra + 1.5f * s->texel) * sqrtf(fmaxf(0.0f, 1.0f - facing * facing));
  for (int k = 0; k < 3; ++k) from[k] = f->q[k] + step * f->n[k];
  for (int k = 0; k < 3; ++k) m[k] = dot(s->to_shadow[k], from) + s->to_shadow[k][3];
  const float cx = v->cx + v->focal * m[0], cy = v->cy + v->focal * m[1], r = s->penumbra * v->focal;
  const float(*disc)[2] = s->disc[(x & 1) * 2 + (y & 1) + ((x >> 1 & 1) ^ (y >> 1 & 1)) * 4];
  int n_lit             = 0;
  for (int i = 0; i < N_SHADOW; ++i) {
    const int px = (int)floorf(cx + r * disc[i][0]), py = (int)floorf(cy + r * disc[i][1]);
    if (px < 0 || py < 0 || px >= v->width || py >= v->height) ++n_lit;
    else n_lit += s->shadow->depth[(size_t)py * (size_t)v->width + (size_t)px] > m[2] - s->texel;
  }
  return (float)n_lit / N_SHADOW;
}

/* Lines of the ground's grid: share of the sample they cover. */
static float grid_line(double at, double spacing, double half_width, double footprint)
{
  const double d = fabs(at - spacing * round(at / spacing)), soft = half_width + 0.5 * footprint;
  const double fade = 1.0 - fmin(fmax(3.0 * footprint / spacing, 0.0), 1.0);
  return (float)(fmin(fmax((soft - d) / fmax(footprint, 1e-12), 0.0), 1.0) * fmin(1.0, 2.0 * half_width / fmax(footprint, 1e-12)) * fade);
}

static void ground_point(const shader *s, sample_point *f)
{
  const scene_view *v = &s->seen->view;
  double            world[2], distance = 0.0;
  for (int k = 0; k < 2; ++k) {
    world[k] = v->origin[k] + s->to_world[k][0] * f->q[0] + s->to_world[k][1] * f->q[1] + s->to_world[k][2] * f->q[2];
    distance += (world[k] - s->p->target[k]) * (world[k] - s->p->target[k]);
  }
  const double scale = s->p->scale, slant = fmax(fabs((double)dot(f->e, s->up)), 0.03);
  const double footprint = (v->is_orthographic ? 1.0 : f->q[2]) / v->focal * PICTURE_SAMPLES / sqrt(slant);
  const double half      = 0.0010 * scale;
  const float  fine      = fmaxf(grid_line(world[0], s->grid, half, footprint), grid_line(world[1], s->grid, half, footprint));
  const float  coarse =
      fmaxf(grid_line(world[0], 5 * s->grid, 1.4 * half, footprint), grid_line(world[1], 5 * s->grid, 1.4 * half, footprint));
  const float line = fmaxf(0.11f * fine, 0.20f * coarse);
  memcpy(f->n, s->up, sizeof f->n);
  f->fade  = 1.0f - smooth_step((float)(1.2 * scale), (float)(6.0 * scale), (float)sqrt(distance));
  f->gloss = 0.0f;
  for (int k = 0; k < 3; ++k) f->albedo[k] = GROUND_ALBEDO[k] * (1.0f - line);
}

/* Normal at q: mix the corners' by their barycentric coordinates in the triangle's own plane. */
static void triangle_normal(const view_triangle *t, const float q[3], const float e[3], float n[3])
{
  float a[3], b[3], c[3], face[3];
  for (int k = 0; k < 3; ++k) a[k] = t->x[1][k] - t->x[0][k], b[k] = t->x[2][k] - t->x[0][k], c[k] = q[k] - t->x[0][k];
  for (int k = 0; k < 3; ++k) face[k] = a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3];
  const float aa = dot(a, a), bb = dot(b, b), ab = dot(a, b), ca = dot(c, a), cb = dot(c, b), d = aa * bb - ab * ab;
  const float l1 = clamp01((bb * ca - ab * cb) / d), l2 = clamp01((aa * cb - ab * ca) / d);
  const float side = dot(face, e) < 0.0f ? -1.0f : 1.0f;
  for (int k = 0; k < 3; ++k) n[k] = side * ((1.0f - l1 - l2) * t->normal[0][k] + l1 * t->normal[1][k] + l2 * t->normal[2][k]);
  normalise(n);
}

static void fetch(const shader *s, int x, int y, uint32_t id, float z, sample_point *f)
{
  const scene_view *v = &s->seen->view;
  const uint8_t    *rgb;
  position(v, (float)x + 0.5f, (float)y + 0.5f, z, f->q);
  for (int k = 0; k < 3; ++k) f->e[k] = v->is_orthographic ? (k == 2 ? -1.0f : 0.0f) : -f->q[k];
  normalise(f->e);
  f->fade = 1.0f;
  if (id == SURFACE_GROUND) {
    ground_point(s, f);
    return;
  }
  const int64_t i = (int64_t)id - SURFACE_FIRST;
  if (i < s->seen->n_spheres) {
    const float *c = s->seen->sphere[i];
    for (int k = 0; k < 3; ++k) f->n[k] = f->q[k] - c[k];
    normalise(f->n);
    rgb      = s->p->sphere[i].rgb;
    f->gloss = (float)s->p->sphere[i].gloss / 255.0f;
  } else {
    const view_triangle  *t      = &s->seen->triangle[i - s->seen->n_spheres];
    const scene_triangle *source = &s->p->triangle[t->source];
    triangle_normal(t, f->q, f->e, f->n);
    rgb      = source->rgb;
    f->gloss = (float)source->gloss / 255.0f;
  }
  for (int k = 0; k < 3; ++k) f->albedo[k] = s->linear[rgb[k]];
}

static void backdrop(const shader *s, float y, float rgb[3])
{
  const float t = smooth_step(0.0f, 0.85f, y / (float)s->seen->view.height);
  for (int k = 0; k < 3; ++k) rgb[k] = BACK_TOP[k] + t * (BACK_BOTTOM[k] - BACK_TOP[k]);
}

/* Reflected environment: bright sky above a light horizon, floor below, and the lamp. */
static void mirrored(const shader *s, const sample_point *f, float lit, float rgb[3])
{
  float       r[3];
  const float ne = dot(f->n, f->e), exponent = 20.0f + 300.0f * f->gloss * f->gloss;
  for (int k = 0; k < 3; ++k) r[k] = 2.0f * ne * f->n[k] - f->e[k];
  const float height = dot(r, s->up), sky = smooth_step(-0.25f, 0.25f, height), lamp = fmaxf(dot(r, s->light), 0.0f);
  const float glint = lit * expf(exponent * (lamp - 1.0f)) * (0.5f + 4.0f * f->gloss);
  for (int k = 0; k < 3; ++k) {
    const float above = BACK_BOTTOM[k] + clamp01(height) * (BACK_TOP[k] - BACK_BOTTOM[k]);
    rgb[k]            = (1.0f - sky) * 0.35f + sky * 1.1f * above + glint * KEY[k];
  }
}

static void shade_sample(const shader *s, int x, int y, float rgb[3])
{
  const size_t   at = (size_t)y * (size_t)s->seen->view.width + (size_t)x;
  const uint32_t id = s->seen->surface[at];
  float          back[3], mirror[3] = {0};
  backdrop(s, (float)y, back);
  memcpy(rgb, back, sizeof back);
  if (id == SURFACE_NONE) return;
  sample_point f;
  fetch(s, x, y, id, s->seen->depth[at], &f);
  if (f.fade <= 0.0f) return;
  const float facing = fmaxf(dot(f.n, s->light), 0.0f), hemisphere = 0.5f + 0.5f * dot(f.n, s->up);
  const float lit = facing > 0.0f ? lit_share(s, &f, facing, x, y) : 0.0f, open = occlusion(s, &f, x, y);
  const float away = 1.0f - clamp01(dot(f.n, f.e)), edge = away * away * away * away * away;
  const float mirror_share = f.gloss * (0.05f + 0.3f * f.gloss * f.gloss + 0.6f * edge);
  if (mirror_share > 0.0f) mirrored(s, &f, lit, mirror);
  for (int k = 0; k < 3; ++k) {
    const float ambient = (BOUNCE[k] + hemisphere * (SKY[k] - BOUNCE[k])) * open;
    const float light   = ambient + KEY[k] * facing * lit * (0.6f + 0.4f * open);
    const float c       = f.albedo[k] * light * (1.0f - mirror_share) + mirror_share * mirror[k] * (0.3f + 0.7f * open);
    rgb[k]              = back[k] + f.fade * (c - back[k]);
  }
}

/* Above 0.75 colours approach white gently. */
static float shoulder(float c) { return c < 0.75f ? c : 1.0f - 0.25f * expf(-(c - 0.75f) / 0.25f); }

static void shade_pixel(const shader *s, int x, int y, const float *layer, uint8_t out[3])
{
  float sum[3] = {0, 0, 0};
  for (int j = 0; j < PICTURE_SAMPLES; ++j)
    for (int i = 0; i < PICTURE_SAMPLES; ++i) {
      const int px = x * PICTURE_SAMPLES + i, py = y * PICTURE_SAMPLES + j;
      float     c[3];
      shade_sample(s, px, py, c);
      if (layer) {
        const float *l = layer + 4 * ((size_t)py * (size_t)s->seen->view.width + (size_t)px);
        /* the veils' mean colour where they cover: their order does not matter then */
        const float cover = 1.0f - l[3], total = fmaxf(-logf(fmaxf(l[3], 1e-6f)), 1e-6f);
        const float share = cover > 0.0f ? cover / fmaxf(total, cover) : 0.0f;
        for (int k = 0; k < 3; ++k) c[k] = c[k] * l[3] + fminf(l[k] * share, cover);
      }
      for (int k = 0; k < 3; ++k) sum[k] += shoulder(c[k]);
    }
  for (int k = 0; k < 3; ++k) {
    const float mean = sum[k] / (PICTURE_SAMPLES * PICTURE_SAMPLES);
    out[k]           = (uint8_t)lrintf(255.0f * powf(clamp01(mean), 1.0f / 2.2f));
  }
}

/* Spirals: neighbours of the golden angle fill a disc evenly. */
static void spiral_tables(shader *s)
{
  for (int turn = 0; turn < N_TURNS; ++turn)
    for (int i = 0; i < N_OCCLUSION; ++i) {
      const double r = (i + 0.1 + 0.8 * turn / N_TURNS) / N_OCCLUSION, a = 2.0 * M_PI * turn / N_TURNS + GOLDEN_ANGLE * i;
      s->around[turn][i][0] = (float)(r * cos(a));
      s->around[turn][i][1] = (float)(r * sin(a));
    }
  for (int phase = 0; phase < N_PHASES; ++phase)
    for (int i = 0; i < N_SHADOW; ++i) {
      const double r = sqrt((i + 0.5) / N_SHADOW), a = 2.0 * M_PI * phase / N_PHASES + GOLDEN_ANGLE * i;
      s->disc[phase][i][0] = (float)(r * cos(a));
      s->disc[phase][i][1] = (float)(r * sin(a));
    }
}

/* The multiple 1, 2 or 5 of a power of ten nearest to x: for grids and ticks. */
static double round_step(double x)
{
  const double power = pow(10.0, floor(log10(x))), m = x / power;
  return power * (m < 1.5 ? 1.0 : m < 3.5 ? 2.0 : m < 7.5 ? 5.0 : 10.0);
}

static void shader_prepare(shader *s, const picture *p, const raster *seen, const raster *shadow)
{
  const scene_view *v = &seen->view, *w = &shadow->view;
  s->p = p, s->seen = seen, s->shadow = shadow;
  spiral_tables(s);
  for (int i = 0; i < 256; ++i) s->linear[i] = powf((float)i / 255.0f, 2.2f);
  for (int k = 0; k < 3; ++k) {
    s->up[k]     = (float)v->axis[k][2];
    s->light[k]  = -(float)(v->axis[k][0] * w->axis[2][0] + v->axis[k][1] * w->axis[2][1] + v->axis[k][2] * w->axis[2][2]);
    double shift = 0.0;
    for (int m = 0; m < 3; ++m) {
      s->to_world[m][k]  = (float)v->axis[k][m];
      s->to_shadow[k][m] = (float)(w->axis[k][0] * v->axis[m][0] + w->axis[k][1] * v->axis[m][1] + w->axis[k][2] * v->axis[m][2]);
      shift += w->axis[k][m] * (v->origin[m] - w->origin[m]);
    }
    s->to_shadow[k][3] = (float)shift;
  }
  s->occlusion_radius = (float)(0.06 * p->scale);
  s->penumbra         = (float)(0.005 * p->scale);
  s->texel            = 1.0f / w->focal;
  s->grid             = round_step(p->scale / 12.0);
}

static void picture_shade(const picture *p, const raster *seen, const raster *shadow, const float *layer, uint8_t *rgb)
{
  shader s;
  shader_prepare(&s, p, seen, shadow);
#pragma omp parallel for schedule(dynamic, 4)
  for (int y = 0; y < p->height; ++y)
    for (int x = 0; x < p->width; ++x) shade_pixel(&s, x, y, layer, rgb + 3 * ((size_t)y * (size_t)p->width + (size_t)x));
}

enum { MIN_SHADOW = 256, MAX_SHADOW = 2048, MAX_SIZE = 16384 };
static const double SHARP_COSINE = 0.766; /* 40 degrees */

picture_paint picture_palette(int i)
{
  static const picture_paint paint[8] = {
      {{214, 178, 122}, 0.00f, 1.0f, 0.16f}, /* sand */
      {{150, 160, 172}, 0.85f, 1.0f, 0.00f}, /* steel */
      {{201, 84, 62}, 0.35f, 1.0f, 0.10f},   /* brick red */
      {{62, 124, 177}, 0.35f, 1.0f, 0.10f},  /* blue */
      {{108, 158, 98}, 0.25f, 1.0f, 0.10f},  /* green */
      {{226, 168, 56}, 0.35f, 1.0f, 0.10f},  /* amber */
      {{136, 104, 168}, 0.30f, 1.0f, 0.10f}, /* violet */
      {{92, 96, 104}, 0.40f, 1.0f, 0.10f},   /* slate */
  };
  return paint[(i % 8 + 8) % 8];
}

PetscErrorCode picture_create(int width, int height, picture **out)
{
  picture *p;
  *out = NULL;
  PetscCheck(width > 0 && height > 0 && width <= MAX_SIZE && height <= MAX_SIZE, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "a picture of %d x %d pixels: expected 1 to %d each", width, height, MAX_SIZE);
  PetscCall(memory_alloc("picture", 1, sizeof *p, &p));
  p->width  = width;
  p->height = height;
  picture_clear(p);
  *out = p;
  return PETSC_SUCCESS;
}

void picture_destroy(picture **p)
{
  if (!*p) return;
  MEMORY_FREE(&(*p)->sphere, &(*p)->triangle, &(*p)->veil, &(*p)->line, p);
}

void picture_clear(picture *p)
{
  p->n_spheres = p->n_triangles = p->n_veils = p->n_lines = 0;
  p->title[0] = p->caption[0] = '\0';
  p->has_bar                  = false;
  v3_set(p->lo, INFINITY, INFINITY, INFINITY);
  v3_set(p->hi, -INFINITY, -INFINITY, -INFINITY);
}

/* ---- objects of the scene ---- */

static void picture_stretch(picture *p, const double x[3], double radius)
{
  for (int k = 0; k < 3; ++k) {
    p->lo[k] = fmin(p->lo[k], x[k] - radius);
    p->hi[k] = fmax(p->hi[k], x[k] + radius);
  }
}

static bool is_finite3(const double x[3]) { return isfinite(x[0]) && isfinite(x[1]) && isfinite(x[2]); }

static void scalar_colour(double value, double lo, double hi, uint8_t rgb[3])
{
  picture_colour_map(hi > lo ? (value - lo) / (hi - lo) : isnan(value) ? NAN : 0.5, rgb);
}

static uint8_t gloss_byte(float gloss) { return (uint8_t)lrintf(255.0f * fminf(fmaxf(gloss, 0.0f), 1.0f)); }

PetscErrorCode picture_add_points(picture *p, int64_t n, const double *x, double radius, const double *scalar, double lo, double hi,
                                  picture_paint paint)
{
  PetscCheck(radius > 0.0, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "points need a radius above 0");
  PetscCheck(n >= 0 && n < INT32_MAX - p->n_spheres, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "too many points in one picture");
  PetscCall(memory_reserve("picture points", p->n_spheres + n, sizeof *p->sphere, &p->max_spheres, &p->sphere));
  for (int64_t i = 0; i < n; ++i) {
    scene_sphere *s = &p->sphere[p->n_spheres];
    if (!is_finite3(x + 3 * i)) continue;
    for (int k = 0; k < 3; ++k) s->centre[k] = (float)x[3 * i + k];
    s->radius = (float)radius;
    s->gloss  = gloss_byte(scalar ? fmaxf(paint.gloss, 0.3f) : paint.gloss); /* a sheen: grains show at the map's dark end */
    if (scalar) scalar_colour(scalar[i], lo, hi, s->rgb);
    else {
      const double shade = 1.0 + paint.variation * (2.0 * random_u01(1, (uint64_t)i, 0) - 1.0);
      for (int k = 0; k < 3; ++k) s->rgb[k] = (uint8_t)lround(fmin(shade * paint.rgb[k], 255.0));
    }
    picture_stretch(p, x + 3 * i, radius);
    p->n_spheres++;
  }
  return PETSC_SUCCESS;
}

/* Twice the area times the unit normal. */
static void face_normal(const double *x, const int32_t *t, double n[3])
{
  double a[3], b[3];
  v3_sub(a, x + 3 * t[1], x + 3 * t[0]);
  v3_sub(b, x + 3 * t[2], x + 3 * t[0]);
  v3_cross(n, a, b);
}

static PetscErrorCode check_mesh(int64_t n_vertices, const double *x, int64_t n_triangles, const int32_t *triangles)
{
  for (int64_t i = 0; i < 3 * n_triangles; ++i)
    PetscCheck(triangles[i] >= 0 && triangles[i] < n_vertices, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "triangle %lld refers to vertex %d of %lld", (long long)(i / 3), (int)triangles[i], (long long)n_vertices);
  for (int64_t i = 0; i < n_vertices; ++i)
    PetscCheck(is_finite3(x + 3 * i), PETSC_COMM_SELF, PETSC_ERR_FP, "vertex %lld of a mesh is not finite", (long long)i);
  return PETSC_SUCCESS;
}

static void store_normal(float out[3], const double n[3])
{
  const double length = v3_norm(n), s = length > 0.0 ? 1.0 / length : 0.0;
  for (int k = 0; k < 3; ++k) out[k] = (float)(s * n[k]);
}

/* vertex_normal [n_vertices][3], or NULL for flat shading. */
static void store_triangle(picture *p, const double *x, const int32_t *t, const double *vertex_normal, const uint8_t rgb[3],
                           picture_paint paint)
{
  scene_triangle *s = paint.opacity < 1.0f ? &p->veil[p->n_veils++] : &p->triangle[p->n_triangles++];
  double          face[3];
  face_normal(x, t, face);
  for (int c = 0; c < 3; ++c) {
    const double *round    = vertex_normal ? vertex_normal + 3 * t[c] : face;
    const bool    is_sharp = v3_dot(round, face) < SHARP_COSINE * v3_norm(round) * v3_norm(face);
    for (int k = 0; k < 3; ++k) s->x[c][k] = (float)x[3 * t[c] + k];
    store_normal(s->normal[c], is_sharp ? face : round);
    picture_stretch(p, x + 3 * t[c], 0.0);
  }
  memcpy(s->rgb, rgb, sizeof s->rgb);
  s->gloss   = gloss_byte(paint.gloss);
  s->opacity = fmaxf(paint.opacity, 0.0f);
}

PetscErrorCode picture_add_mesh(picture *p, int64_t n_vertices, const double *x, int64_t n_triangles, const int32_t *triangles,
                                bool is_smooth, const double *scalar, double lo, double hi, picture_paint paint)
{
  double *normal = NULL;
  PetscCall(check_mesh(n_vertices, x, n_triangles, triangles));
  if (paint.opacity < 1.0f) PetscCall(memory_reserve("picture veils", p->n_veils + n_triangles, sizeof *p->veil, &p->max_veils, &p->veil));
  else PetscCall(memory_reserve("picture mesh", p->n_triangles + n_triangles, sizeof *p->triangle, &p->max_triangles, &p->triangle));
  if (is_smooth) PetscCall(memory_alloc("picture normals", 3 * n_vertices, sizeof *normal, &normal));
  for (int64_t i = 0; is_smooth && i < n_triangles; ++i) {
    double face[3];
    face_normal(x, triangles + 3 * i, face);
    for (int c = 0; c < 3; ++c) v3_axpy(normal + 3 * triangles[3 * i + c], 1.0, face);
  }
  for (int64_t i = 0; i < n_triangles; ++i) {
    const int32_t *t = triangles + 3 * i;
    uint8_t        rgb[3];
    memcpy(rgb, paint.rgb, sizeof rgb);
    if (scalar) scalar_colour((scalar[t[0]] + scalar[t[1]] + scalar[t[2]]) / 3.0, lo, hi, rgb);
    store_triangle(p, x, t, normal, rgb, paint);
  }
  memory_free(&normal);
  return PETSC_SUCCESS;
}

PetscErrorCode picture_add_lines(picture *p, int64_t n, const double *x, const uint8_t rgb[3], double width, double opacity)
{
  PetscCall(memory_reserve("picture lines", p->n_lines + n, sizeof *p->line, &p->max_lines, &p->line));
  for (int64_t i = 0; i < n; ++i) {
    scene_line *l = &p->line[p->n_lines];
    if (!is_finite3(x + 6 * i) || !is_finite3(x + 6 * i + 3)) continue;
    for (int k = 0; k < 6; ++k) l->x[k / 3][k % 3] = (float)x[6 * i + k];
    for (int c = 0; c < 2; ++c) picture_stretch(p, x + 6 * i + 3 * c, 0.0);
    memcpy(l->rgb, rgb, sizeof l->rgb);
    l->half_width = (float)(0.5 * width);
    l->opacity    = (float)fmin(fmax(opacity, 0.0), 1.0);
    p->n_lines++;
  }
  return PETSC_SUCCESS;
}

void picture_ground(picture *p, double z)
{
  p->has_ground = isfinite(z);
  p->ground     = z;
}

static void copy_text(char *to, const char *from) { snprintf(to, PICTURE_TEXT, "%s", from ? from : ""); }
void        picture_title(picture *p, const char *text) { copy_text(p->title, text); }
void        picture_caption(picture *p, const char *text) { copy_text(p->caption, text); }
void        picture_colour_bar(picture *p, const char *label, const char *unit, double lo, double hi)
{
  const bool has_unit = unit && *unit && strcmp(unit, "1") != 0;
  snprintf(p->bar_label, sizeof p->bar_label, has_unit ? "%s [%s]" : "%s", label, unit);
  p->has_bar = true;
  p->bar_lo  = lo;
  p->bar_hi  = hi;
}

/* ---- camera ---- */

static void set_camera(picture *p, const double eye[3], const double target[3], const double up[3])
{
  double look[3];
  v3_copy(p->eye, eye);
  v3_copy(p->target, target);
  v3_copy(p->up, up);
  v3_sub(look, target, eye);
  p->has_camera = true;
  p->scale      = v3_norm(look);
}

void picture_camera(picture *p, const double eye[3], const double target[3], const double up[3], double fov_deg)
{
  set_camera(p, eye, target, up);
  p->fov = fmin(fmax(fov_deg, 0.1), 170.0) * M_PI / 180.0;
  p->scale *= 2.0 * tan(0.5 * p->fov) * 1.2;
}

/* Rows: right, down, forward. */
static void camera_axes(const double look[3], const double up[3], double axis[3][3])
{
  const double other[3] = {fabs(look[2]) < 0.9 * v3_norm(look) ? 0.0 : 1.0, 0.0, fabs(look[2]) < 0.9 * v3_norm(look) ? 1.0 : 0.0};
  double       right[3];
  v3_scale(axis[2], 1.0 / v3_norm(look), look);
  v3_cross(right, axis[2], up);
  if (!(v3_norm(right) > 1e-9 * v3_norm(up))) v3_cross(right, axis[2], other); /* looking along up: any other will do */
  v3_scale(axis[0], 1.0 / v3_norm(right), right);
  v3_cross(axis[1], axis[2], axis[0]);
}

void picture_frame(picture *p, const double min[3], const double max[3], double azimuth_deg, double elevation_deg)
{
  enum { SWEEPS = 8 };
  const double fov = 26.0 * M_PI / 180.0, margin = 0.86, up[3] = {0, 0, 1};
  const double az = azimuth_deg * M_PI / 180.0, el = elevation_deg * M_PI / 180.0;
  double       lo[3], hi[3], target[3], eye[3], axis[3][3], diagonal = 0.0, distance = 0.0;
  v3_copy(lo, min ? min : p->lo);
  v3_copy(hi, max ? max : p->hi);
  if (!(lo[0] <= hi[0])) v3_set(lo, -1, -1, -1), v3_set(hi, 1, 1, 1); /* nothing there */
  for (int k = 0; k < 3; ++k) target[k] = 0.5 * (lo[k] + hi[k]), diagonal += (hi[k] - lo[k]) * (hi[k] - lo[k]);
  diagonal             = diagonal > 0.0 ? sqrt(diagonal) : 1.0;
  const double look[3] = {-sin(az) * cos(el), cos(az) * cos(el), -sin(el)};
  camera_axes(look, fabs(el) < 1.55 ? up : (const double[3]){-sin(az), cos(az), 0}, axis);
  const double reach[2] = {margin * tan(0.5 * fov) * p->width / p->height, margin * tan(0.5 * fov)};
  /* the nearest distance at which all corners fit, then the target moves to the middle of the visible box; repeated */
  for (int sweep = 0; sweep < SWEEPS; ++sweep) {
    double side[2][2] = {{INFINITY, -INFINITY}, {INFINITY, -INFINITY}}, c[8][3];
    distance          = 0.0;
    for (int corner = 0; corner < 8; ++corner) {
      double d[3];
      for (int k = 0; k < 3; ++k) d[k] = (corner >> k & 1 ? hi[k] : lo[k]) - target[k];
      for (int k = 0; k < 3; ++k) c[corner][k] = v3_dot(axis[k], d);
      for (int k = 0; k < 2; ++k) distance = fmax(distance, fabs(c[corner][k]) / reach[k] - c[corner][2]);
    }
    distance = fmax(distance, 0.6 * diagonal);
    for (int corner = 0; corner < 8; ++corner)
      for (int k = 0; k < 2; ++k) {
        const double s = c[corner][k] / (distance + c[corner][2]);
        side[k][0]     = fmin(side[k][0], s);
        side[k][1]     = fmax(side[k][1], s);
      }
    for (int k = 0; k < 2; ++k) v3_axpy(target, 0.5 * (side[k][0] + side[k][1]) * distance, axis[k]);
  }
  for (int k = 0; k < 3; ++k) eye[k] = target[k] - distance * axis[2][k];
  picture_camera(p, eye, target, (const double[3]){-axis[1][0], -axis[1][1], -axis[1][2]}, fov * 180.0 / M_PI);
  p->scale = diagonal;
}

static void camera_view(const picture *p, scene_view *v)
{
  double look[3];
  v3_sub(look, p->target, p->eye);
  camera_axes(look, p->up, v->axis);
  v3_copy(v->origin, p->eye);
  v->width           = p->width * PICTURE_SAMPLES;
  v->height          = p->height * PICTURE_SAMPLES;
  v->cx              = 0.5f * (float)v->width;
  v->cy              = 0.5f * (float)v->height;
  v->is_orthographic = false;
  v->focal           = (float)(0.5 * v->height / tan(0.5 * p->fov));
  v->near            = (float)(1e-3 * v3_norm(look));
}

/* The lamp hangs high behind the viewer's left shoulder, so that shapes read well from every side. */
static void shadow_view(const picture *p, const scene_view *seen, scene_view *v)
{
  double flat[3] = {seen->axis[2][0], seen->axis[2][1], 0.0}, right[3], look[3], centre[3], radius = 1e-6;
  if (v3_norm(flat) < 1e-3) v3_set(flat, -seen->axis[1][0], -seen->axis[1][1], 0.0);
  v3_scale(flat, 1.0 / fmax(v3_norm(flat), 1e-12), flat);
  v3_set(right, flat[1], -flat[0], 0.0);
  for (int k = 0; k < 3; ++k) look[k] = 0.62 * right[k] + 0.18 * flat[k];
  look[2] = -0.80;
  camera_axes(look, (const double[3]){flat[0], flat[1], 0.0}, v->axis);
  v3_set(centre, 0, 0, 0);
  if (p->lo[0] <= p->hi[0]) {
    double half[3];
    for (int k = 0; k < 3; ++k) centre[k] = 0.5 * (p->lo[k] + p->hi[k]), half[k] = 0.5 * (p->hi[k] - p->lo[k]);
    radius = fmax(v3_norm(half), radius);
  }
  v3_copy(v->origin, centre);
  v3_axpy(v->origin, -2.0 * radius, v->axis[2]);
  v->is_orthographic = true;
  v->width = v->height = (int)fmin(fmax(2 * fmax(p->width, p->height), MIN_SHADOW), MAX_SHADOW);
  v->cx = v->cy = 0.5f * (float)v->width;
  v->focal      = (float)(0.49 * v->width / radius);
  v->near       = -INFINITY;
}

/* ---- lettering ---- */

static const uint8_t INK[3] = {44, 50, 58};

/* Power of ten taken out of the numbers at the bar: a multiple of three, 0 while they are short without. */
static int bar_exponent(double lo, double hi)
{
  const double largest = fmax(fabs(lo), fabs(hi));
  if (!(largest > 0.0) || !isfinite(largest) || (largest >= 1e-2 && largest < 1e5)) return 0;
  return 3 * (int)floor(log10(largest) / 3.0);
}

static void draw_bar(const picture *p, uint8_t *rgb)
{
  const double s = p->height / 720.0, size = 10.0 * s, width = 260.0 * s, height = 12.0 * s;
  const int    x0 = (int)(p->width - width - 36.0 * s), y0 = (int)(p->height - 52.0 * s), n = (int)width;
  if (x0 < 0 || y0 < 0 || n < 2) return; /* too small a picture for a bar */
  for (int y = y0 - 1; y <= y0 + (int)height && y < p->height; ++y)
    for (int x = -1; x <= n && x0 + x < p->width; ++x) {
      uint8_t   *pixel  = rgb + 3 * ((size_t)y * (size_t)p->width + (size_t)(x0 + x));
      const bool is_rim = x < 0 || x == n || y < y0 || y == y0 + (int)height;
      if (is_rim) memcpy(pixel, INK, 3);
      else picture_colour_map((x + 0.5) / n, pixel);
    }
  const int exponent = bar_exponent(p->bar_lo, p->bar_hi);
  char      label[PICTURE_TEXT + 16];
  snprintf(label, sizeof label, exponent ? "%s x 1e%d" : "%s", p->bar_label, exponent);
  picture_text_draw(p->width, p->height, rgb, x0, y0 - 10.0 * s, 1.1 * size, INK, label);
  const double unit      = pow(10.0, exponent);
  double       free_from = -INFINITY; /* numbers are omitted where they would touch the one before */
  const double range = p->bar_hi - p->bar_lo, step = range > 0.0 && isfinite(range) ? round_step(range / 4.5) : 0.0;
  if (!(step > 0.0)) return;
  for (double i = ceil(p->bar_lo / step - 1e-9); i * step <= p->bar_hi + 1e-9 * range; i += 1.0) {
    char         text[32];
    const double x = x0 + (i * step - p->bar_lo) / range * n;
    snprintf(text, sizeof text, "%.6g", i == 0.0 ? 0.0 : i * step / unit);
    const double half = 0.5 * picture_text_width(size, text);
    for (int y = y0 + (int)height; y < y0 + (int)(height + 5.0 * s); ++y)
      if (x < p->width) memcpy(rgb + 3 * ((size_t)y * (size_t)p->width + (size_t)fmin(x, x0 + n - 1)), INK, 3);
    if (x - half < free_from) continue;
    free_from = x + half + 0.5 * size;
    picture_text_draw(p->width, p->height, rgb, x - half, y0 + height + 9.0 * s + size, size, INK, text);
  }
}

static void draw_lettering(const picture *p, uint8_t *rgb)
{
  const double s = p->height / 720.0;
  picture_text_draw(p->width, p->height, rgb, 32.0 * s, 48.0 * s, 17.0 * s, INK, p->title);
  picture_text_draw(p->width, p->height, rgb, 32.0 * s, p->height - 32.0 * s, 13.0 * s, INK, p->caption);
  if (p->has_bar) draw_bar(p, rgb);
}

PetscErrorCode picture_render(const picture *p, uint8_t *rgb)
{
  scene_view view, lamp;
  raster     seen, shadow;
  float     *layer = NULL;
  picture    framed;
  if (!p->has_camera) { /* no camera given: a copy of the struct that shares the arrays */
    framed = *p;
    picture_frame(&framed, NULL, NULL, 30.0, 24.0);
    p = &framed;
  }
  camera_view(p, &view);
  shadow_view(p, &view, &lamp);
  PetscCall(picture_raster_create(p, &view, true, &seen));
  PetscErrorCode code = picture_raster_create(p, &lamp, false, &shadow);
  if (!code) {
    code = picture_layer_create(p, &seen, &layer);
    if (!code) picture_shade(p, &seen, &shadow, layer, rgb);
    picture_raster_destroy(&shadow);
  }
  memory_free(&layer);
  picture_raster_destroy(&seen);
  PetscCall(code);
  draw_lettering(p, rgb);
  return PETSC_SUCCESS;
}
