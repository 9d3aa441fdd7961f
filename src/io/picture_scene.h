/* Inside the renderer: what picture.c collects, picture_raster.c makes visible and picture_shade.c colours. */
#ifndef SS_IO_PICTURE_SCENE_H
#define SS_IO_PICTURE_SCENE_H
#include "io/picture.h"

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
  float  focal;          /* pixels per unit at depth 1; pixels per metre if orthographic */
  float  cx, cy;         /* pixel coordinates of the axis */
  float  near;           /* nothing nearer is seen; -infinity if orthographic */
  int    width, height;
} scene_view;

struct picture {
  int             width, height;
  int64_t         n_spheres, n_triangles, n_veils, n_lines;                 /* veils: triangles with opacity below 1 */
  int64_t         max_spheres, max_triangles, max_veils, max_lines;         /* allocated */
  scene_sphere   *sphere;
  scene_triangle *triangle, *veil;
  scene_line     *line;
  double          lo[3], hi[3]; /* bounds of all of them; lo > hi: none */
  /* camera */
  double eye[3], target[3], up[3], fov, height_orthographic;
  bool   is_orthographic, has_camera;
  double scale;                 /* size of what is looked at, for grid, fog and occlusion */
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

/* What the camera sees: nearest depth and whose it is, for every sample. */
typedef struct {
  scene_view     view;
  float         *depth;    /* [height][width], INFINITY where there is nothing */
  uint32_t      *surface;  /* the same, NULL if not wanted */
  int64_t        n_spheres, n_triangles;
  float        (*sphere)[4]; /* centre in view coordinates, radius */
  view_triangle *triangle; /* after clipping */
} raster;

void picture_view_transform(const scene_view *v, const float x[3], float q[3]);
/* Rasterise spheres and solid triangles of the scene. wants_surface false: a shadow map. */
PetscErrorCode picture_raster_create(const picture *p, const scene_view *view, bool wants_surface, raster *out);
void           picture_raster_destroy(raster *r);

/* Veils and lines: per sample the sum of their colours times opacity, and what light passes: [height][width][4]. NULL if none. */
PetscErrorCode picture_layer_create(const picture *p, const raster *r, float **layer);

/* Cut a triangle at the near plane: 0, 1 or 2 triangles. */
int picture_clip(const scene_view *v, const view_triangle *t, view_triangle out[2]);

/* Primitives sorted into square tiles: tile t holds item[start[t]] ... item[start[t + 1] - 1], in rising order. */
enum { TILE = 64 };
typedef struct {
  int x0, y0, x1, y1; /* half open; x0 >= x1: unseen */
} pixel_box;
typedef struct {
  int      nx, ny;
  int64_t *start;
  int32_t *item;
} tile_bins;
PetscErrorCode picture_bins_create(int width, int height, int64_t n, const pixel_box *box, tile_bins *out);
void           picture_bins_destroy(tile_bins *b);
/* The part of tile t in the image. */
pixel_box picture_tile(const tile_bins *b, int t, int width, int height);

PetscErrorCode picture_shade(const picture *p, const raster *seen, const raster *shadow, const float *layer, uint8_t *rgb);
#endif
