/* A small renderer without a display: spheres, triangle meshes and lines over a ground plane, with soft shadows, ambient
 * occlusion, lettering and a colour bar. For stills and animations of runs.
 *
 * Lengths in the scene's metres, z up; colours are sRGB bytes. All arrays are borrowed for the call and copied. The picture
 * depends on its input alone, not on the number of threads. 100 000 spheres at 1280x720: under a second on two cores. */
#ifndef SS_IO_PICTURE_H
#define SS_IO_PICTURE_H
#include "core/error.h"

typedef struct picture picture;

/* Appearance of a surface. */
typedef struct {
  uint8_t rgb[3];
  float   gloss;     /* 0 chalk ... 1 polished */
  float   opacity;   /* meshes only; 1: solid; below 1: transparent, without shadow */
  float   variation; /* points only: largest relative variation of brightness between grains */
} picture_paint;

/* Default paint of body 0, 1, 2, ...; 0 is sand. Repeats after eight. */
picture_paint picture_palette(int i);

PetscErrorCode picture_create(int width, int height, picture **out);
void           picture_destroy(picture **p);
/* Remove points, meshes, lines and lettering; keep camera and ground. For the next frame of an animation. */
void picture_clear(picture *p);

/* Set the camera at `eye`, directed to `target`. fov_deg: vertical opening angle, > 0 and < 170. */
void picture_camera(picture *p, const double eye[3], const double target[3], const double up[3], double fov_deg);
/* Set the camera so that the box fills the picture. min and max NULL: bounding box of everything added so far. Also sets the scale of the
 * ground's grid. azimuth_deg 0 looks along +y, positive moves the camera to the right; elevation_deg is measured from the horizon. */
void picture_frame(picture *p, const double min[3], const double max[3], double azimuth_deg, double elevation_deg);

/* Add spheres at x [n][3]. With scalar [n], they are coloured by picture_colour_map of (scalar - lo) / (hi - lo). Points that are not finite
 * are omitted. */
PetscErrorCode picture_add_points(picture *p, int64_t n, const double *x, double radius, const double *scalar, double lo, double hi,
                                  picture_paint paint);
/* Add triangles [n_triangles][3] over vertices x [n_vertices][3]. is_smooth: smooth shading except at edges sharper than 40 degrees.
 * scalar [n_vertices] or NULL colours each triangle by the mean of its corners. */
PetscErrorCode picture_add_mesh(picture *p, int64_t n_vertices, const double *x, int64_t n_triangles, const int32_t *triangles,
                                bool is_smooth, const double *scalar, double lo, double hi, picture_paint paint);
/* Add segments x [n][2][3], hidden behind solid surfaces; width in pixels. */
PetscErrorCode picture_add_lines(picture *p, int64_t n, const double *x, const uint8_t rgb[3], double width, double opacity);
/* Add an infinite floor at height z with a faint grid, visible from above only. */
void picture_ground(picture *p, double z);

/* Lettering; texts are copied, NULL or "" removes. Title: top left; caption: bottom left; colour bar: bottom right. */
void picture_title(picture *p, const char *text);
void picture_caption(picture *p, const char *text);
void picture_colour_bar(picture *p, const char *label, const char *unit, double lo, double hi);

/* Draw into rgb [height][width][3]. May be called again after changes. */
PetscErrorCode picture_render(const picture *p, uint8_t *rgb);
#endif
