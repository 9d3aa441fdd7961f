/* Implementation: calls of the level set and mesh generators, and closed forms of volume, centre of mass and inertia. */
#include "geometry/shape/shape_primitives.h"
#include "core/math3.h"
#include "core/memory.h"
#include "geometry/triangle_mesh/triangle_mesh_primitives.h"

/* ---- solids of revolution ---- */

typedef struct {
  int     n;
  double *along, *radius; /* [n]; one allocation */
} profile;

static PetscErrorCode profile_create(const shape_revolution_spec *s, profile *p)
{
  PetscFunctionBegin;
  p->n = s->profile.n;
  PetscCall(memory_alloc("profile", 2 * p->n, sizeof *p->along, &p->along));
  p->radius = p->along + p->n;
  for (int i = 0; i < p->n; ++i) {
    const shape_profile_spec *q = s->profile.item[i].value;
    p->along[i] = q->at, p->radius[i] = q->radius;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Inertia tensor with the moment `along` about the unit axis a and `across` about perpendicular axes. */
static void axial_inertia(double along, double across, const double *a, double *inertia)
{
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) inertia[3 * i + j] = (i == j ? across : 0.0) + (along - across) * a[i] * a[j];
}

/* Integral over discs of radius r at z. The integrands have degree 4, for which three Gauss points are exact. */
static mass_properties revolution_mass(const shape_revolution_spec *s)
{
  static const double point[3]  = {0.5 - 0.38729833462074170, 0.5, 0.5 + 0.38729833462074170},
                      weight[3] = {5.0 / 18.0, 8.0 / 18.0, 5.0 / 18.0};
  mass_properties m             = {0};
  double          a[3], first = 0.0, second = 0.0, disc = 0.0; /* int z, z^2 and r^2 / 4 over the volume */
  const double    origin = ((const shape_profile_spec *)s->profile.item[0].value)->at;
  for (int i = 0; i + 1 < s->profile.n; ++i) {
    const shape_profile_spec *p = s->profile.item[i].value, *q = s->profile.item[i + 1].value;
    for (int g = 0; g < 3; ++g) {
      const double r = p->radius + point[g] * (q->radius - p->radius), z = p->at - origin + point[g] * (q->at - p->at);
      const double slice = weight[g] * (q->at - p->at) * M_PI * r * r;
      m.volume += slice, first += slice * z, second += slice * z * z, disc += slice * 0.25 * r * r;
    }
  }
  const double z = first / m.volume;
  v3_scale(a, 1.0 / v3_norm(s->axis), s->axis);
  v3_copy(m.center, s->center);
  v3_axpy(m.center, origin + z, a);
  axial_inertia(2.0 * disc, disc + second - m.volume * z * z, a, m.inertia);
  return m;
}

/* ---- the rabbit: body, head, ears, tail ---- */

static PetscErrorCode rabbit_level_set(const shape_rabbit_spec *s, level_set **out)
{
  static const double part[5][2][3] = {{{0, 0.32, 0}, {0.33, 0.32, 0.28}},
                                       {{0.22, 0.66, 0}, {0.19, 0.18, 0.17}},
                                       {{0.12, 0.86, 0.09}, {0.07, 0.16, 0.05}},
                                       {{0.12, 0.86, -0.09}, {0.07, 0.16, 0.05}},
                                       {{-0.34, 0.22, 0}, {0.09, 0.09, 0.09}}};
  level_set          *child[5]      = {NULL};
  PetscErrorCode      code          = PETSC_SUCCESS;
  PetscFunctionBegin;
  for (int i = 0; i < 5 && !code; ++i) {
    double center[3], radii[3];
    for (int k = 0; k < 3; ++k) center[k] = s->base[k] + s->size * part[i][0][k], radii[k] = s->size * part[i][1][k];
    code = level_set_ellipsoid(center, radii, &child[i]);
  }
  if (!code) code = level_set_union(5, child, out);
  for (int i = 0; i < 5 && code; ++i) level_set_destroy(&child[i]);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Integrals over the rabbit of size 1 at the origin, by level_set_mass with 512 cells (14 s; relative error 4e-9; tests/unit/geometry/test_shape.c
 * compares them with 32 cells), scaled. */
static mass_properties rabbit_mass(const shape_rabbit_spec *s)
{
  static const mass_properties unit = {.volume  = 0.151362056744641,
                                       .center  = {0.0300087094840001, 0.382968472236129, 0.0},
                                       .inertia = {0.0081328388182349, -0.00177947116024826, 0.0, -0.00177947116024826, 0.00630468174799525,
                                                   0.0, 0.0, 0.0, 0.0102110355651173}};
  const double                 a = s->size, a3 = a * a * a;
  mass_properties              m = {.volume = a3 * unit.volume};
  for (int k = 0; k < 3; ++k) m.center[k] = s->base[k] + a * unit.center[k];
  for (int k = 0; k < 9; ++k) m.inertia[k] = a3 * a * a * unit.inertia[k];
  return m;
}

/* ---- all of them ---- */

static PetscErrorCode segment_level_set(const shape_segment_spec *s, bool is_capsule, level_set **out)
{
  PetscFunctionBegin;
  PetscCall((is_capsule ? level_set_capsule : level_set_cylinder)(s->from, s->to, s->radius, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode shape_primitive_level_set(const shape_spec *s, level_set **out)
{
  PetscFunctionBegin;
  if (s->sphere) PetscCall(level_set_sphere(s->sphere->center, s->sphere->radius, out));
  else if (s->box) PetscCall(level_set_box(s->box->min, s->box->max, out));
  else if (s->cylinder || s->capsule) PetscCall(segment_level_set(s->capsule ? s->capsule : s->cylinder, s->capsule != NULL, out));
  else if (s->torus) PetscCall(level_set_torus(s->torus->center, s->torus->axis, s->torus->major_radius, s->torus->minor_radius, out));
  else if (s->ellipsoid) PetscCall(level_set_ellipsoid(s->ellipsoid->center, s->ellipsoid->radii, out));
  else if (s->plane) PetscCall(level_set_plane(s->plane->normal, shape_plane_offset(s->plane), out));
  else if (s->rabbit) PetscCall(rabbit_level_set(s->rabbit, out));
  else {
    profile p = {0};
    PetscCall(profile_create(s->revolution, &p));
    const PetscErrorCode code = level_set_revolution(s->revolution->center, s->revolution->axis, p.n, p.along, p.radius, out);
    memory_free(&p.along);
    PetscCall(code);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static double spacing_or_default(double spacing, double fallback) { return isnan(spacing) ? fallback : spacing; }

static PetscErrorCode revolution_surface(const shape_revolution_spec *s, double spacing, triangle_mesh **out)
{
  profile p      = {0};
  double  widest = 0.0;
  PetscFunctionBegin;
  PetscCall(profile_create(s, &p));
  for (int i = 0; i < p.n; ++i) widest = fmax(widest, p.radius[i]);
  const PetscErrorCode code =
      triangle_mesh_revolution(s->center, s->axis, p.n, p.along, p.radius, spacing_or_default(spacing, 0.25 * widest), out);
  memory_free(&p.along);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode shape_primitive_surface(const shape_spec *s, double spacing, triangle_mesh **out)
{
  PetscFunctionBegin;
  if (s->sphere)
    PetscCall(triangle_mesh_sphere(s->sphere->center, s->sphere->radius, spacing_or_default(spacing, 0.25 * s->sphere->radius), out));
  else if (s->box) PetscCall(triangle_mesh_box(s->box->min, s->box->max, spacing_or_default(spacing, 0.0), out));
  else if (s->cylinder)
    PetscCall(triangle_mesh_cylinder(s->cylinder->from, s->cylinder->to, s->cylinder->radius,
                                     spacing_or_default(spacing, 0.25 * s->cylinder->radius), out));
  else if (s->capsule)
    PetscCall(triangle_mesh_capsule(s->capsule->from, s->capsule->to, s->capsule->radius,
                                    spacing_or_default(spacing, 0.25 * s->capsule->radius), out));
  else if (s->ellipsoid) {
    const double *r = s->ellipsoid->radii;
    PetscCall(triangle_mesh_ellipsoid(s->ellipsoid->center, r, spacing_or_default(spacing, 0.25 * cbrt(r[0] * r[1] * r[2])), out));
  } else if (s->revolution) PetscCall(revolution_surface(s->revolution, spacing, out));
  else
    PetscCall(triangle_mesh_torus(s->torus->center, s->torus->axis, s->torus->major_radius, s->torus->minor_radius,
                                  spacing_or_default(spacing, 0.4 * s->torus->minor_radius), out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static mass_properties segment_mass(const shape_segment_spec *s, bool is_capsule)
{
  mass_properties m = {0};
  double          a[3];
  v3_sub(a, s->to, s->from);
  const double l = v3_norm(a), r = s->radius, barrel = M_PI * r * r * l, ball = is_capsule ? 4.0 / 3.0 * M_PI * r * r * r : 0.0;
  v3_scale(a, 1.0 / l, a);
  m.volume = barrel + ball;
  for (int k = 0; k < 3; ++k) m.center[k] = 0.5 * (s->from[k] + s->to[k]);
  /* the centre of mass of each half ball lies 3r/8 from its flat side */
  axial_inertia(0.5 * barrel * r * r + 0.4 * ball * r * r,
                barrel * (0.25 * r * r + l * l / 12.0) + ball * (0.4 * r * r + 0.25 * l * l + 0.375 * l * r), a, m.inertia);
  return m;
}

static mass_properties torus_mass(const shape_torus_spec *s)
{
  mass_properties m = {0};
  const double    R = s->major_radius, r = s->minor_radius;
  double          a[3];
  v3_scale(a, 1.0 / v3_norm(s->axis), s->axis);
  m.volume = 2.0 * M_PI * M_PI * R * r * r;
  v3_copy(m.center, s->center);
  axial_inertia(m.volume * (R * R + 0.75 * r * r), m.volume * (0.5 * R * R + 0.625 * r * r), a, m.inertia);
  return m;
}

/* Boxes and ellipsoids with half sizes `half`: the moments of inertia are volume * factor times the sums of two squares. */
static mass_properties aligned_mass(const double *center, const double *half, double volume, double factor)
{
  mass_properties m = {.volume = volume};
  v3_copy(m.center, center);
  for (int k = 0; k < 3; ++k) m.inertia[4 * k] = volume * factor * (v3_dot(half, half) - half[k] * half[k]);
  return m;
}

mass_properties shape_primitive_mass(const shape_spec *s)
{
  double c[3], e[3];
  if (s->box) {
    for (int k = 0; k < 3; ++k) c[k] = 0.5 * (s->box->min[k] + s->box->max[k]), e[k] = 0.5 * (s->box->max[k] - s->box->min[k]);
    return aligned_mass(c, e, 8.0 * e[0] * e[1] * e[2], 1.0 / 3.0);
  }
  if (s->sphere) {
    v3_set(e, s->sphere->radius, s->sphere->radius, s->sphere->radius);
    return aligned_mass(s->sphere->center, e, 4.0 / 3.0 * M_PI * e[0] * e[1] * e[2], 0.2);
  }
  if (s->ellipsoid) {
    const double *r = s->ellipsoid->radii;
    return aligned_mass(s->ellipsoid->center, r, 4.0 / 3.0 * M_PI * r[0] * r[1] * r[2], 0.2);
  }
  if (s->torus) return torus_mass(s->torus);
  if (s->rabbit) return rabbit_mass(s->rabbit);
  if (s->revolution) return revolution_mass(s->revolution);
  return s->capsule ? segment_mass(s->capsule, true) : segment_mass(s->cylinder, false);
}
