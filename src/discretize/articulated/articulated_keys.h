/* Job entry bodies.NAME of kind articulated: the structs that the key tables of articulated_keys.c fill. SI units. Positions are given with
 * all joints at zero, in the coordinates of the job. */
#ifndef SS_DISCRETIZE_ARTICULATED_ARTICULATED_KEYS_H
#define SS_DISCRETIZE_ARTICULATED_ARTICULATED_KEYS_H
#include "core/key_table.h"
#include "geometry/shape/shape.h"

typedef struct {
  const shape_spec *shape;                               /* NULL: none */
  double            surface_spacing;                     /* as for kind rigid */
  int               contact_surface;                     /* as for kind rigid */
  double            mass, center_of_mass[3], inertia[6]; /* NaN: from shape and density; xx, yy, zz, xy, xz, yz */
  key_list          force, torque;                       /* three expressions of t each; empty: 0 */
} articulated_link_spec;

/* A motor with a spring and a damper towards a target. */
typedef struct {
  double      stiffness, damping;
  const char *target, *rate, *force; /* expressions of t; target NULL: 0, rate NULL: derivative of target */
} articulated_drive_spec;

/* A joint whose position is factor times that of another joint plus offset. */
typedef struct {
  const char *joint;
  double      factor, offset;
} articulated_mimic_spec;

typedef struct {
  int                           type;                                              /* joint_type; -1: not given */
  const char                   *parent, *child;                                    /* names of links; parent "world" */
  double                        at[3], axis[3];                                    /* NaN: not given */
  double                        position, rate;                                    /* initial values of joints with one rate */
  double                        velocity[3], angular_velocity[3];                  /* initial values of other joints */
  double                        lower, upper, damping, friction, effort, max_rate; /* see articulated_axis */
  const char                   *motion;                                            /* prescribed position, an expression of t; NULL: none */
  const articulated_drive_spec *drive;                                             /* motor; NULL: none */
  const articulated_mimic_spec *mimic;                                             /* NULL: independent */
} articulated_joint_spec;

enum { LOOP_BALL, LOOP_REVOLUTE, LOOP_FIXED };
typedef struct {
  const char *one, *other; /* links, or "world" */
  int         type;        /* LOOP_... */
  double      at[3], axis[3];
} articulated_loop_spec;

enum { ARTICULATED_MOMENTUM, ARTICULATED_SEMI_IMPLICIT };
enum { URDF_BASE_FIXED, URDF_BASE_FREE };
typedef struct {
  const char *material;                          /* first, as in every kind */
  const char *urdf;                              /* NULL: links and joints are given in the job */
  int         base;                              /* -1: not given */
  double      translate[3], rotate_deg, axis[3]; /* of the URDF; NaN: not given */
  key_list    links, joints, loops;              /* of the structs above */
  const char *trajectory;                        /* file of joint positions, NULL: none */
  int         integrator;
} articulated_spec;

/* Links and joints of a URDF, as translated by articulated_urdf.h. */
typedef struct {
  key_list links, joints;
} articulated_model_spec;
extern const key_table articulated_model_table;
extern const key_table articulated_body_table; /* bodies.NAME of kind articulated */
#endif
