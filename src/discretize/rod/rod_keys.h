/* What jobs say of rods. */
#ifndef SS_DISCRETIZE_ROD_ROD_KEYS_H
#define SS_DISCRETIZE_ROD_ROD_KEYS_H
#include "core/key_table.h"
#include "discretize/nodal/nodal_keys.h"

/* ---- the models: how a strand is discretised. A new one has a file rod_model_NAME.c with its rod_model, and one entry here ---- */
/* name, help */
#define ROD_MODEL_TABLE(X)                                                                                                                    \
  X(discrete_elastic_rod, "nodes, and an angle of the section per segment, against frames that follow the curve [Bergou2008], [Bergou2010]") \
  X(mass_spring, "nodes alone, with springs along segments and second differences for bending: round rods, no twist")                      \
  X(corde, "nodes, and a quaternion per segment that is tied to its direction [SpillmannTeschner2007]")                                         \
  X(super_helix, "elements of constant curvature and twist, inextensible, held at their start or free [BertailsEtAl2006]")

/* ---- the curve ---- */
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
typedef struct { /* one of them */
  const rod_line_spec  *line;
  const rod_arc_spec   *arc;
  const rod_helix_spec *helix;
  key_list              points; /* of rod_point_spec */
  const rod_file_spec  *file;
} rod_curve_spec;

/* ---- its section and stiffness ---- */
typedef struct {
  double radius;
} rod_circle_spec;
typedef struct {
  double radii[2];
} rod_ellipse_spec;
typedef struct {
  double sides[2];
} rod_rectangle_spec;
typedef struct { /* one of them */
  const rod_circle_spec    *circle;
  const rod_ellipse_spec   *ellipse;
  const rod_rectangle_spec *rectangle;
} rod_section_spec;
typedef struct {
  double stretch, bending[2], twist, shear, mass_per_length; /* NaN: from section and material */
  double bend_springs, twist_springs;                        /* NaN: none */
} rod_stiffness_spec;
typedef struct {
  double curvature[2], twist; /* NaN: as drawn, or none */
  int    shape;
} rod_natural_spec;
enum { ROD_BENDS_TANGENT, ROD_BENDS_ANGLE }; /* rod_body_spec.bends */
enum { ROD_NATURAL_AS_DRAWN, ROD_NATURAL_STRAIGHT };

/* ---- its ends ---- */
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
  int                       model;    /* number in rod_models */
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
  key_list                  hold; /* of nodal_hold_spec */
  double                    velocity[3], angular_velocity[3];
  const nodal_damping_spec *damping;
} rod_body_spec;
extern const key_table rod_body_table;
#endif
