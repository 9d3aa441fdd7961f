/* Light and colour: a warm key light with soft shadows from a depth map, hemispherical sky light dimmed by screen-space
 * ambient occlusion, and a little sky mirrored in glossy surfaces. All in view coordinates and linear colour.
 *
 * Occlusion follows McGuire, Mara and Luebke, "Scalable ambient obscurance", HPG 2012, without its depth pyramid.        */
#include "io/picture_scene.h"
#include <math.h>
#include <string.h>

enum { N_OCCLUSION = 10, N_SHADOW = 5, N_TURNS = 16, N_PHASES = 8 };
static const double GOLDEN_ANGLE = 2.39996323;
static const float  SKY[3] = {0.50f, 0.55f, 0.62f}, BOUNCE[3] = {0.30f, 0.28f, 0.26f}, KEY[3] = {1.02f, 0.94f, 0.83f};
static const float  GROUND_ALBEDO[3] = {0.66f, 0.65f, 0.63f};
static const float  BACK_TOP[3] = {0.62f, 0.71f, 0.80f}, BACK_BOTTOM[3] = {0.90f, 0.92f, 0.93f};

typedef struct {
  const picture *p;
  const raster  *seen, *shadow;
  float          linear[256];          /* sRGB byte to linear */
  float          up[3], light[3];      /* unit vectors, view coordinates; light: towards the lamp */
  float          to_world[3][3];       /* rotation of a view vector into the world */
  float          to_shadow[3][4];      /* view position to shadow map coordinates, metres */
  float          occlusion_radius, penumbra, texel;
  float          around[N_TURNS][N_OCCLUSION][2], disc[N_PHASES][N_SHADOW][2]; /* where to look, in units of the reach */
  double         grid;                 /* spacing of the ground's lines */
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
  q[0] = (x - v->cx) * scale;
  q[1] = (y - v->cy) * scale;
  q[2] = z;
}

/* Share of sky that neighbours leave free. */
static float occlusion(const shader *s, const sample_point *f, int x, int y)
{
  const scene_view *v = &s->seen->view;
  const float       reach = s->occlusion_radius * v->focal / (v->is_orthographic ? 1.0f : f->q[2]);
  const float       pixels = fminf(fmaxf(reach, 3.0f), 0.15f * (float)v->height), radius = s->occlusion_radius * pixels / reach;
  /* 16 rotations in a 4 x 4 pattern; averaging samples to pixels removes most of it */
  static const uint8_t order[N_TURNS] = {0, 8, 2, 10, 12, 4, 14, 6, 3, 11, 1, 9, 15, 7, 13, 5};
  const float(*around)[2] = s->around[order[(y & 3) * 4 + (x & 3)]];
  float sum = 0.0f;
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
  int n_lit = 0;
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
  const double half = 0.0010 * scale;
  const float  fine = fmaxf(grid_line(world[0], s->grid, half, footprint), grid_line(world[1], s->grid, half, footprint));
  const float  coarse = fmaxf(grid_line(world[0], 5 * s->grid, 1.4 * half, footprint), grid_line(world[1], 5 * s->grid, 1.4 * half, footprint));
  const float  line = fmaxf(0.11f * fine, 0.20f * coarse);
  memcpy(f->n, s->up, sizeof f->n);
  f->fade = 1.0f - smooth_step((float)(1.2 * scale), (float)(6.0 * scale), (float)sqrt(distance));
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
    rgb = s->p->sphere[i].rgb;
    f->gloss = (float)s->p->sphere[i].gloss / 255.0f;
  } else {
    const view_triangle  *t = &s->seen->triangle[i - s->seen->n_spheres];
    const scene_triangle *source = &s->p->triangle[t->source];
    triangle_normal(t, f->q, f->e, f->n);
    rgb = source->rgb;
    f->gloss = (float)source->gloss / 255.0f;
  }
  for (int k = 0; k < 3; ++k) f->albedo[k] = s->linear[rgb[k]];
}

static void backdrop(const shader *s, float y, float rgb[3])
{
  const float t = smooth_step(0.0f, 0.85f, y / (float)s->seen->view.height);
  for (int k = 0; k < 3; ++k) rgb[k] = BACK_TOP[k] + t * (BACK_BOTTOM[k] - BACK_TOP[k]);
}

/* What a mirror sees: bright sky above a light horizon, floor below, and the lamp. */
static void mirrored(const shader *s, const sample_point *f, float lit, float rgb[3])
{
  float       r[3];
  const float ne = dot(f->n, f->e), exponent = 20.0f + 300.0f * f->gloss * f->gloss;
  for (int k = 0; k < 3; ++k) r[k] = 2.0f * ne * f->n[k] - f->e[k];
  const float height = dot(r, s->up), sky = smooth_step(-0.25f, 0.25f, height), lamp = fmaxf(dot(r, s->light), 0.0f);
  const float glint = lit * expf(exponent * (lamp - 1.0f)) * (0.5f + 4.0f * f->gloss);
  for (int k = 0; k < 3; ++k) {
    const float above = BACK_BOTTOM[k] + clamp01(height) * (BACK_TOP[k] - BACK_BOTTOM[k]);
    rgb[k] = (1.0f - sky) * 0.35f + sky * 1.1f * above + glint * KEY[k];
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
    const float light = ambient + KEY[k] * facing * lit * (0.6f + 0.4f * open);
    const float c = f.albedo[k] * light * (1.0f - mirror_share) + mirror_share * mirror[k] * (0.3f + 0.7f * open);
    rgb[k] = back[k] + f.fade * (c - back[k]);
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
    out[k] = (uint8_t)lrintf(255.0f * powf(clamp01(mean), 1.0f / 2.2f));
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

static void shader_prepare(shader *s, const picture *p, const raster *seen, const raster *shadow)
{
  const scene_view *v = &seen->view, *w = &shadow->view;
  s->p = p, s->seen = seen, s->shadow = shadow;
  spiral_tables(s);
  for (int i = 0; i < 256; ++i) s->linear[i] = powf((float)i / 255.0f, 2.2f);
  for (int k = 0; k < 3; ++k) {
    s->up[k] = (float)v->axis[k][2];
    s->light[k] = -(float)(v->axis[k][0] * w->axis[2][0] + v->axis[k][1] * w->axis[2][1] + v->axis[k][2] * w->axis[2][2]);
    double shift = 0.0;
    for (int m = 0; m < 3; ++m) {
      s->to_world[m][k] = (float)v->axis[k][m];
      s->to_shadow[k][m] = (float)(w->axis[k][0] * v->axis[m][0] + w->axis[k][1] * v->axis[m][1] + w->axis[k][2] * v->axis[m][2]);
      shift += w->axis[k][m] * (v->origin[m] - w->origin[m]);
    }
    s->to_shadow[k][3] = (float)shift;
  }
  s->occlusion_radius = (float)(0.06 * p->scale);
  s->penumbra = (float)(0.005 * p->scale);
  s->texel = 1.0f / w->focal;
  const double raw = p->scale / 12.0, power = pow(10.0, floor(log10(raw))), mantissa = raw / power;
  s->grid = power * (mantissa < 1.5 ? 1.0 : mantissa < 3.5 ? 2.0 : mantissa < 7.5 ? 5.0 : 10.0);
}

PetscErrorCode picture_shade(const picture *p, const raster *seen, const raster *shadow, const float *layer, uint8_t *rgb)
{
  shader s;
  shader_prepare(&s, p, seen, shadow);
  #pragma omp parallel for schedule(dynamic, 4)
  for (int y = 0; y < p->height; ++y)
    for (int x = 0; x < p->width; ++x) shade_pixel(&s, x, y, layer, rgb + 3 * ((size_t)y * (size_t)p->width + (size_t)x));
  return PETSC_SUCCESS;
}
