/* Job entry bodies.NAME of kind rod: the structs that the key tables of rod_keys.c fill, and the list of rod models. Read by
 * rod_kind.c, rod_strands.c, rod_section.c and the models. */
#ifndef SS_DISCRETIZE_ROD_ROD_KEYS_H
#define SS_DISCRETIZE_ROD_ROD_KEYS_H
#include "core/key_table.h"
#include "discretize/nodal/nodal_keys.h"

/* ---- models: how a strand is discretised. A new model has a file rod_model_NAME.c that defines its rod_model, and one entry (name,
 * help) here ---- */
/* clang-format off */
#define ROD_MODEL_TABLE(X)                                                                                                                    \
  X(discrete_elastic_rod, "nodes, and per segment the angle of the section against a twist-free frame [Bergou2008], [Bergou2010]") \
  X(mass_spring, "nodes only, with springs along segments and second differences for bending: round rods without twist")                      \
  X(corde, "nodes, and a quaternion per segment, aligned with the segment by a penalty [SpillmannTeschner2007]")                                         \
  X(super_helix, "inextensible elements of constant curvature and twist; the start is clamped or free [BertailsEtAl2006]")
/* clang-format on */

/* ---- curve ---- */
typedef struct {
  double from[3], to[3];
} rod_line_spec;
typedef struct {
  double from[3], tangent[3], towards[3], radius, angle_deg;
} rod_arc_spec;
typedef struct {
  double from[3], axis[3], towards[3], radius, pitch, turns;
} rod_helix_spec;
typedef struct {
  double at[3];
} rod_point_spec;
typedef struct {
  const char *path;
  double      scale;
} rod_file_spec;
typedef struct { /* exactly one is given */
  const rod_line_spec  *line;
  const rod_arc_spec   *arc;
  const rod_helix_spec *helix;
  key_list              points; /* list of rod_point_spec */
  const rod_file_spec  *file;
} rod_curve_spec;

/* ---- section and stiffness ---- */
typedef struct {
  double radius;
} rod_circle_spec;
typedef struct {
  double radii[2];
} rod_ellipse_spec;
typedef struct {
  double sides[2];
} rod_rectangle_spec;
typedef struct { /* exactly one is given */
  const rod_circle_spec    *circle;
  const rod_ellipse_spec   *ellipse;
  const rod_rectangle_spec *rectangle;
} rod_section_spec;
typedef struct {
  double stretch, bending[2], twist, shear, mass_per_length; /* N, N m^2, N m^2, N, kg/m; NaN: computed from section and material */
  double bend_springs, twist_springs;                        /* of model mass_spring; NaN: no such springs */
} rod_stiffness_spec;
typedef struct {
  double curvature[2], twist; /* 1/m; NaN: computed from `shape` */
  int    shape;               /* ROD_NATURAL_...: initial or straight shape */
} rod_natural_spec;
enum { ROD_BENDS_TANGENT, ROD_BENDS_ANGLE }; /* bending strain: 2 tan(phi/2) or the angle phi, see der_bend_angle */
enum { ROD_NATURAL_AS_DRAWN, ROD_NATURAL_STRAIGHT };

/* ---- ends ---- */
enum { ROD_END_FREE, ROD_END_PINNED, ROD_END_CLAMPED }; /* rod_end_spec.held */
typedef struct {
  int                held;
  const motion_spec *motion;
  double             force[3], moment[3];
} rod_end_spec;

/* ---- copies ---- */
enum { ROD_COPIES_DISC, ROD_COPIES_GRID, ROD_COPIES_RANDOM };
typedef struct {
  int64_t count, seed;
  int     pattern;
  double  radius, aspect, normal[3], along[3];
} rod_copies_spec;

typedef struct {
  const char               *material; /* first: body_spec */
  int                       model;    /* index in the table of models */
  int                       bends;    /* ROD_BENDS_... */
  const rod_curve_spec     *curve;
  bool                      closed;
  int64_t                   segments, elements;
  double                    segment_length;
  double                    director[3];
  const rod_section_spec   *section;
  const rod_stiffness_spec *stiffness;
  const rod_natural_spec   *natural;
  const rod_copies_spec    *copies; /* NULL: one strand */
  const rod_end_spec       *start, *end;
  key_list                  hold; /* list of nodal_constraint_spec */
  double                    velocity[3], angular_velocity[3];
  const nodal_damping_spec *damping;
} rod_body_spec;
extern const key_table rod_body_table;
#endif
