#include "io/picture.h"
#include "core/math3.h"
#include "core/memory.h"
#include "core/random.h"
#include "io/picture_scene.h"
#include "io/picture_text.h"
#include <math.h>
#include <string.h>

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
  p->width = width;
  p->height = height;
  picture_clear(p);
  *out = p;
  return PETSC_SUCCESS;
}

void picture_destroy(picture **p)
{
  if (!*p) return;
  memory_free(&(*p)->sphere);
  memory_free(&(*p)->triangle);
  memory_free(&(*p)->veil);
  memory_free(&(*p)->line);
  memory_free(p);
}

void picture_clear(picture *p)
{
  p->n_spheres = p->n_triangles = p->n_veils = p->n_lines = 0;
  p->title[0] = p->caption[0] = '\0';
  p->has_bar = false;
  v3_set(p->lo, INFINITY, INFINITY, INFINITY);
  v3_set(p->hi, -INFINITY, -INFINITY, -INFINITY);
}

int picture_width(const picture *p) { return p->width; }
int picture_height(const picture *p) { return p->height; }

/* ---- what is in the scene ---- */

static void stretch(picture *p, const double x[3], double radius)
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
    s->gloss = gloss_byte(scalar ? fmaxf(paint.gloss, 0.3f) : paint.gloss); /* a sheen: grains show at the map's dark end */
    if (scalar) scalar_colour(scalar[i], lo, hi, s->rgb);
    else {
      const double shade = 1.0 + paint.variation * (2.0 * random_u01(1, (uint64_t)i, 0) - 1.0);
      for (int k = 0; k < 3; ++k) s->rgb[k] = (uint8_t)lround(fmin(shade * paint.rgb[k], 255.0));
    }
    stretch(p, x + 3 * i, radius);
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
static void store_triangle(picture *p, const double *x, const int32_t *t, const double *vertex_normal, const uint8_t rgb[3], picture_paint paint)
{
  scene_triangle *s = paint.opacity < 1.0f ? &p->veil[p->n_veils++] : &p->triangle[p->n_triangles++];
  double          face[3];
  face_normal(x, t, face);
  for (int c = 0; c < 3; ++c) {
    const double *round = vertex_normal ? vertex_normal + 3 * t[c] : face;
    const bool    is_sharp = v3_dot(round, face) < SHARP_COSINE * v3_norm(round) * v3_norm(face);
    for (int k = 0; k < 3; ++k) s->x[c][k] = (float)x[3 * t[c] + k];
    store_normal(s->normal[c], is_sharp ? face : round);
    stretch(p, x + 3 * t[c], 0.0);
  }
  memcpy(s->rgb, rgb, sizeof s->rgb);
  s->gloss = gloss_byte(paint.gloss);
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
    for (int c = 0; c < 2; ++c) stretch(p, x + 6 * i + 3 * c, 0.0);
    memcpy(l->rgb, rgb, sizeof l->rgb);
    l->half_width = (float)(0.5 * width);
    l->opacity = (float)fmin(fmax(opacity, 0.0), 1.0);
    p->n_lines++;
  }
  return PETSC_SUCCESS;
}

PetscErrorCode picture_add_box(picture *p, const double min[3], const double max[3], const uint8_t rgb[3], double width, double opacity)
{
  double x[12][2][3];
  int    n = 0;
  for (int corner = 0; corner < 8; ++corner)
    for (int axis = 0; axis < 3; ++axis) {
      if (corner >> axis & 1) continue;
      for (int k = 0; k < 3; ++k) {
        x[n][0][k] = corner >> k & 1 ? max[k] : min[k];
        x[n][1][k] = (corner | 1 << axis) >> k & 1 ? max[k] : min[k];
      }
      ++n;
    }
  PetscCall(picture_add_lines(p, n, &x[0][0][0], rgb, width, opacity));
  return PETSC_SUCCESS;
}

void picture_ground(picture *p, double z)
{
  p->has_ground = isfinite(z);
  p->ground = z;
}

static void copy_text(char *to, const char *from) { snprintf(to, PICTURE_TEXT, "%s", from ? from : ""); }
void picture_title(picture *p, const char *text) { copy_text(p->title, text); }
void picture_caption(picture *p, const char *text) { copy_text(p->caption, text); }
void picture_colour_bar(picture *p, const char *label, const char *unit, double lo, double hi)
{
  const bool has_unit = unit && *unit && strcmp(unit, "1") != 0;
  snprintf(p->bar_label, sizeof p->bar_label, has_unit ? "%s [%s]" : "%s", label, unit);
  p->has_bar = true;
  p->bar_lo = lo;
  p->bar_hi = hi;
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
  p->scale = v3_norm(look);
}

void picture_camera(picture *p, const double eye[3], const double target[3], const double up[3], double fov_deg)
{
  set_camera(p, eye, target, up);
  p->is_orthographic = false;
  p->fov = fmin(fmax(fov_deg, 0.1), 170.0) * M_PI / 180.0;
  p->scale *= 2.0 * tan(0.5 * p->fov) * 1.2;
}

void picture_camera_orthographic(picture *p, const double eye[3], const double target[3], const double up[3], double height)
{
  set_camera(p, eye, target, up);
  p->is_orthographic = true;
  p->height_orthographic = height;
  p->scale = 1.2 * height;
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
  diagonal = diagonal > 0.0 ? sqrt(diagonal) : 1.0;
  const double look[3] = {-sin(az) * cos(el), cos(az) * cos(el), -sin(el)};
  camera_axes(look, fabs(el) < 1.55 ? up : (const double[3]){-sin(az), cos(az), 0}, axis);
  const double reach[2] = {margin * tan(0.5 * fov) * p->width / p->height, margin * tan(0.5 * fov)};
  /* the nearest distance at which all corners fit, then the target moves to the middle of what is seen; and again */
  for (int sweep = 0; sweep < SWEEPS; ++sweep) {
    double side[2][2] = {{INFINITY, -INFINITY}, {INFINITY, -INFINITY}}, c[8][3];
    distance = 0.0;
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
        side[k][0] = fmin(side[k][0], s);
        side[k][1] = fmax(side[k][1], s);
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
  v->width = p->width * PICTURE_SAMPLES;
  v->height = p->height * PICTURE_SAMPLES;
  v->cx = 0.5f * (float)v->width;
  v->cy = 0.5f * (float)v->height;
  v->is_orthographic = p->is_orthographic;
  if (p->is_orthographic) {
    /* far enough back that all depths are positive */
    const double back = 10.0 * p->scale + (p->lo[0] <= p->hi[0] ? v3_norm((double[3]){p->hi[0] - p->lo[0], p->hi[1] - p->lo[1], p->hi[2] - p->lo[2]}) : 0.0);
    v3_axpy(v->origin, -back, v->axis[2]);
    v->focal = (float)(v->height / p->height_orthographic);
    v->near = -INFINITY;
  } else {
    v->focal = (float)(0.5 * v->height / tan(0.5 * p->fov));
    v->near = (float)(1e-3 * v3_norm(look));
  }
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
  v->focal = (float)(0.49 * v->width / radius);
  v->near = -INFINITY;
}

/* ---- lettering ---- */

static const uint8_t INK[3] = {44, 50, 58};

/* Ticks at multiples of 1, 2 or 5 times a power of ten. */
static double tick_step(double range)
{
  const double raw = range / 4.5, power = pow(10.0, floor(log10(raw))), m = raw / power;
  return power * (m < 1.5 ? 1.0 : m < 3.5 ? 2.0 : m < 7.5 ? 5.0 : 10.0);
}

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
      uint8_t   *pixel = rgb + 3 * ((size_t)y * (size_t)p->width + (size_t)(x0 + x));
      const bool is_rim = x < 0 || x == n || y < y0 || y == y0 + (int)height;
      if (is_rim) memcpy(pixel, INK, 3);
      else picture_colour_map((x + 0.5) / n, pixel);
    }
  const int exponent = bar_exponent(p->bar_lo, p->bar_hi);
  char      label[PICTURE_TEXT + 16];
  snprintf(label, sizeof label, exponent ? "%s x 1e%d" : "%s", p->bar_label, exponent);
  picture_text_draw(p->width, p->height, rgb, x0, y0 - 10.0 * s, 1.1 * size, INK, label);
  const double unit = pow(10.0, exponent);
  double       free_from = -INFINITY; /* numbers are left out where they would touch the one before */
  const double range = p->bar_hi - p->bar_lo, step = range > 0.0 && isfinite(range) ? tick_step(range) : 0.0;
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
  if (!p->has_camera) { /* nobody said from where: a copy of the head that shares the arrays */
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
    if (!code) code = picture_shade(p, &seen, &shadow, layer, rgb);
    picture_raster_destroy(&shadow);
  }
  memory_free(&layer);
  picture_raster_destroy(&seen);
  PetscCall(code);
  draw_lettering(p, rgb);
  return PETSC_SUCCESS;
}
