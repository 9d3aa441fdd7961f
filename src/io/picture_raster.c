/* Which surface is seen at every sample: tiles of 64 x 64 samples, each drawn by one thread in the order of the primitives. */
#include "core/memory.h"
#include "io/picture_scene.h"
#include <math.h>
#include <string.h>

static int   min_int(int a, int b) { return a < b ? a : b; }
static int   max_int(int a, int b) { return a > b ? a : b; }
static float min3(float a, float b, float c) { return fminf(a, fminf(b, c)); }
static float max3(float a, float b, float c) { return fmaxf(a, fmaxf(b, c)); }

void picture_view_transform(const scene_view *v, const float x[3], float q[3])
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

PetscErrorCode picture_bins_create(int width, int height, int64_t n, const pixel_box *box, tile_bins *out)
{
  memset(out, 0, sizeof *out);
  out->nx = (width + TILE - 1) / TILE;
  out->ny = (height + TILE - 1) / TILE;
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
      for (int tx = box[i].x0 / TILE; tx <= (box[i].x1 - 1) / TILE; ++tx)
        out->item[out->start[ty * out->nx + tx + 1]++] = (int32_t)i;
  }
  return PETSC_SUCCESS;
}

void picture_bins_destroy(tile_bins *b)
{
  memory_free(&b->start);
  memory_free(&b->item);
}

pixel_box picture_tile(const tile_bins *b, int t, int width, int height)
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
    /* the outline is an ellipse; this circle holds it */
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
  const scene_view *v = &r->view;
  const float       per_focal = 1.0f / v->focal, rr = s[3] * s[3];
  for (int y = b.y0; y < b.y1; ++y) {
    const float w = ((float)y + 0.5f - v->cy) * per_focal;
    float      *depth = r->depth + (size_t)y * (size_t)v->width;
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
    x[k] = t->x[from][k] + s * (t->x[to][k] - t->x[from][k]);
    normal[k] = t->normal[from][k] + s * (t->normal[to][k] - t->normal[from][k]);
  }
}

int picture_clip(const scene_view *v, const view_triangle *t, view_triangle out[2])
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

static void project(const scene_view *v, const float q[3], float s[3])
{
  const float scale = v->is_orthographic ? v->focal : v->focal / q[2];
  s[0] = v->cx + scale * q[0];
  s[1] = v->cy + scale * q[1];
  s[2] = v->is_orthographic ? q[2] : 1.0f / q[2]; /* what is linear on the screen */
}

static pixel_box triangle_box(const scene_view *v, const view_triangle *t)
{
  float s[3][3];
  for (int i = 0; i < 3; ++i) project(v, t->x[i], s[i]);
  return clip_box(v, min3(s[0][0], s[1][0], s[2][0]) - 1.0f, min3(s[0][1], s[1][1], s[2][1]) - 1.0f, max3(s[0][0], s[1][0], s[2][0]),
                  max3(s[0][1], s[1][1], s[2][1]));
}

/* Depth of each sample inside the triangle, given to `visit`. Samples on a common edge belong to both: no holes. */
typedef void (*sample_visitor)(void *context, int x, int y, float depth);
static inline void walk_triangle(const scene_view *v, const view_triangle *t, pixel_box b, sample_visitor visit, void *context)
{
  float s[3][3];
  for (int i = 0; i < 3; ++i) project(v, t->x[i], s[i]);
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
  const solid_context *c = context;
  const size_t         at = (size_t)y * (size_t)c->r->view.width + (size_t)x;
  if (depth >= c->r->depth[at]) return;
  c->r->depth[at] = depth;
  if (c->r->surface) c->r->surface[at] = c->id;
}

/* ---- ground ---- */

static void draw_ground(const picture *p, const raster *r)
{
  const scene_view *v = &r->view;
  const double      above = v->origin[2] - p->ground;
  if (!p->has_ground || !r->surface || (!v->is_orthographic && above <= 0.0) || (v->is_orthographic && v->axis[2][2] >= 0.0)) return;
  #pragma omp parallel for schedule(static)
  for (int y = 0; y < v->height; ++y)
    for (int x = 0; x < v->width; ++x) {
      const double u = (x + 0.5 - v->cx) / v->focal, w = (y + 0.5 - v->cy) / v->focal;
      const double side = u * v->axis[0][2] + w * v->axis[1][2]; /* height gained sideways, per unit of depth or at all */
      const double z = v->is_orthographic ? -(above + side) / v->axis[2][2] : -above / (side + v->axis[2][2]);
      const size_t at = (size_t)y * (size_t)v->width + (size_t)x;
      if (!v->is_orthographic && !(z > v->near && z < 1e6)) continue;
      if (z >= r->depth[at]) continue;
      r->depth[at] = (float)z;
      r->surface[at] = SURFACE_GROUND;
    }
}

/* ---- all together ---- */

static PetscErrorCode transform_scene(const picture *p, raster *r)
{
  PetscCall(memory_alloc("picture spheres", p->n_spheres, sizeof *r->sphere, &r->sphere));
  PetscCall(memory_alloc("picture triangles", 2 * p->n_triangles, sizeof *r->triangle, &r->triangle));
  r->n_spheres = p->n_spheres;
  #pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < p->n_spheres; ++i) {
    picture_view_transform(&r->view, p->sphere[i].centre, r->sphere[i]);
    r->sphere[i][3] = p->sphere[i].radius;
  }
  const double no_shift[3] = {0, 0, 0};
  scene_view   turn = r->view;
  memcpy(turn.origin, no_shift, sizeof no_shift);
  for (int64_t i = 0; i < p->n_triangles; ++i) {
    view_triangle t = {.source = (uint32_t)i}, piece[2];
    for (int k = 0; k < 3; ++k) {
      picture_view_transform(&r->view, p->triangle[i].x[k], t.x[k]);
      picture_view_transform(&turn, p->triangle[i].normal[k], t.normal[k]);
    }
    const int n = picture_clip(&r->view, &t, piece);
    for (int k = 0; k < n; ++k) r->triangle[r->n_triangles++] = piece[k];
  }
  return PETSC_SUCCESS;
}

static void draw_tile(const raster *r, const tile_bins *bins, const pixel_box *box, int t)
{
  const pixel_box tile = picture_tile(bins, t, r->view.width, r->view.height);
  for (int64_t k = bins->start[t]; k < bins->start[t + 1]; ++k) {
    const int64_t   i = bins->item[k];
    const pixel_box b = intersect(tile, box[i]);
    const uint32_t  id = (uint32_t)(SURFACE_FIRST + i);
    if (i < r->n_spheres) draw_sphere(r, r->sphere[i], id, b);
    else walk_triangle(&r->view, &r->triangle[i - r->n_spheres], b, visit_solid, &(solid_context){r, id});
  }
}

static PetscErrorCode draw_scene(const picture *p, raster *r)
{
  pixel_box     *box = NULL;
  tile_bins      bins = {0};
  const int64_t  n = r->n_spheres + r->n_triangles;
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

PetscErrorCode picture_raster_create(const picture *p, const scene_view *view, bool wants_surface, raster *out)
{
  const int64_t n = (int64_t)view->width * view->height;
  memset(out, 0, sizeof *out);
  out->view = *view;
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

void picture_raster_destroy(raster *r)
{
  memory_free(&r->depth);
  memory_free(&r->surface);
  memory_free(&r->sphere);
  memory_free(&r->triangle);
}

/* ---- veils and lines ---- */

typedef struct {
  const raster *r;
  float        *layer, rgb[3], opacity;
} veil_context;

static void blend(const veil_context *c, size_t at, float depth, float opacity)
{
  if (depth >= c->r->depth[at] * (1.0f + 1e-3f * (c->r->depth[at] < 1e30f))) return;
  float *l = c->layer + 4 * at;
  for (int k = 0; k < 3; ++k) l[k] += opacity * c->rgb[k];
  l[3] *= 1.0f - opacity;
}
static void visit_veil(void *context, int x, int y, float depth)
{
  const veil_context *c = context;
  blend(c, (size_t)y * (size_t)c->r->view.width + (size_t)x, depth, c->opacity);
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
      const float t = length > 0.0f ? fminf(fmaxf((px * dx + py * dy) / length, 0.0f), 1.0f) : 0.0f;
      const float d = sqrtf((px - t * dx) * (px - t * dx) + (py - t * dy) * (py - t * dy));
      const float cover = fminf(fmaxf(l->half + 0.5f - d, 0.0f), 1.0f), w = l->s[0][2] + t * (l->s[1][2] - l->s[0][2]);
      if (cover > 0.0f) blend(c, (size_t)y * (size_t)v->width + (size_t)x, v->is_orthographic ? w : 1.0f / w, cover * opacity);
    }
}

static float linear(uint8_t c) { return powf((float)c / 255.0f, 2.2f); }

/* A veil is lit as if it were paper: the same from both sides. */
static void veil_paint(const picture *p, const view_triangle *t, veil_context *c)
{
  const scene_triangle *s = &p->veil[t->source];
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
  PetscCall(memory_alloc("picture veils", 2 * p->n_veils, sizeof *out->triangle, &out->triangle));
  PetscCall(memory_alloc("picture lines", p->n_lines, sizeof *out->line, &out->line));
  PetscCall(memory_alloc("picture veil boxes", 2 * p->n_veils + p->n_lines, sizeof *out->box, &out->box));
  scene_view turn = *v;
  memset(turn.origin, 0, sizeof turn.origin);
  for (int64_t i = 0; i < p->n_veils; ++i) {
    view_triangle t = {.source = (uint32_t)i};
    for (int k = 0; k < 3; ++k) picture_view_transform(v, p->veil[i].x[k], t.x[k]);
    for (int k = 0; k < 3; ++k) picture_view_transform(&turn, p->veil[i].normal[k], t.normal[k]);
    const int n = picture_clip(v, &t, out->triangle + out->n_triangles);
    for (int k = 0; k < n; ++k, ++out->n_triangles) out->box[out->n_triangles] = triangle_box(v, &out->triangle[out->n_triangles]);
  }
  out->n = out->n_triangles;
  for (int64_t i = 0; i < p->n_lines; ++i) {
    float        q[2][3];
    screen_line *l = &out->line[i];
    for (int k = 0; k < 2; ++k) picture_view_transform(v, p->line[i].x[k], q[k]);
    l->half = p->line[i].half_width * PICTURE_SAMPLES;
    pixel_box b = {0, 0, 0, 0};
    if (clip_line(v, q)) {
      project(v, q[0], l->s[0]);
      project(v, q[1], l->s[1]);
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
  veil_context    c = {.r = r, .layer = layer};
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

PetscErrorCode picture_layer_create(const picture *p, const raster *r, float **layer)
{
  const int64_t n = (int64_t)r->view.width * r->view.height;
  layer_parts   parts = {0};
  tile_bins     bins = {0};
  *layer = NULL;
  if (p->n_veils + p->n_lines == 0) return PETSC_SUCCESS;
  PetscErrorCode code = memory_alloc("picture layer", 4 * n, sizeof **layer, layer);
  if (!code) code = collect_parts(p, &r->view, &parts);
  if (!code) code = picture_bins_create(r->view.width, r->view.height, parts.n, parts.box, &bins);
  if (!code) {
    const int n_tiles = bins.nx * bins.ny;
    float    *const data = *layer;
    #pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; ++i) data[4 * i + 3] = 1.0f;
    #pragma omp parallel for schedule(dynamic)
    for (int t = 0; t < n_tiles; ++t) layer_tile(p, r, &parts, &bins, t, data);
  }
  picture_bins_destroy(&bins);
  memory_free(&parts.triangle);
  memory_free(&parts.line);
  memory_free(&parts.box);
  if (code) memory_free(layer);
  PetscCall(code);
  return PETSC_SUCCESS;
}
