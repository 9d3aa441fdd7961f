/* Key tables of kind rod: curve, section, stiffness, natural shape, ends, copies, and the body itself. */
#include "discretize/rod/rod_keys.h"

#define POSITIVE .min = 0, .max = INFINITY, .is_open = true
#define VECTOR(T, member) .type = KEY_REALS, .count = 3, .offset = offsetof(T, member)
#define REAL(T, member) .type = KEY_REAL, .offset = offsetof(T, member)

/* ---- curve -------------------------------------------------------------------------------------------------------------- */

static const key_spec  line_keys[] = {{.name = "from", VECTOR(rod_line_spec, from), .unit = "m", .help = "start"},
                                      {.name = "to", VECTOR(rod_line_spec, to), .unit = "m", .help = "end"},
                                      {.name = NULL}};
static const key_table line_table  = {
     .name = "bodies.rod.curve.line", .help = "A straight line.", .size = sizeof(rod_line_spec), .keys = line_keys};

static const key_spec arc_keys[] = {
    {.name = "from", VECTOR(rod_arc_spec, from), .unit = "m", .help = "start of the arc"},
    {.name = "tangent", VECTOR(rod_arc_spec, tangent), .help = "direction of the curve at its start"},
    {.name = "towards",
     VECTOR(rod_arc_spec, towards),
     .help = "direction from the start to the centre of the circle; made normal to the tangent"},
    {.name = "radius", REAL(rod_arc_spec, radius), .unit = "m", POSITIVE, .help = "radius of the circle"},
    {.name = "angle_deg", REAL(rod_arc_spec, angle_deg), .unit = "deg", POSITIVE, .help = "angle of the arc; may exceed 360"},
    {.name = NULL}};
static const key_table arc_table = {
    .name = "bodies.rod.curve.arc", .help = "Part of a circle.", .size = sizeof(rod_arc_spec), .keys = arc_keys};

/* clang-format off */
static const key_spec helix_keys[] = {
    {.name = "from", VECTOR(rod_helix_spec, from), .unit = "m", .help = "start of the helix"},
    {.name = "axis", VECTOR(rod_helix_spec, axis), .help = "direction of the helix axis, along which it rises"},
    {.name = "towards", VECTOR(rod_helix_spec, towards), .help = "direction from the start to the axis; made normal to the axis"},
    {.name = "radius", REAL(rod_helix_spec, radius), .unit = "m", POSITIVE, .help = "distance from the axis"},
    {.name = "pitch", REAL(rod_helix_spec, pitch), .unit = "m", .help = "rise per turn; negative: left-handed helix, which also rises along the axis"},
    {.name = "turns", REAL(rod_helix_spec, turns), POSITIVE, .help = "number of turns"},
    {.name = NULL}};
static const key_table helix_table = {.name = "bodies.rod.curve.helix", .help = "A helix.", .size = sizeof(rod_helix_spec), .keys = helix_keys};

static const key_spec point_keys[] = {{.name = "at", VECTOR(rod_point_spec, at), .unit = "m", .help = "position"}, {.name = NULL}};
static const key_table point_table = {
    .name = "bodies.rod.curve.points", .help = "A corner of the curve.", .size = sizeof(rod_point_spec), .keys = point_keys};

static const key_spec file_keys[] = {
    {.name = "path", .type = KEY_PATH, .offset = offsetof(rod_file_spec, path), .is_input = true,
     .help = "a Wavefront .obj file: each of its lines (`l`) is a strand, and its vertices are the strand's nodes"},
    {.name = "scale", REAL(rod_file_spec, scale), .fallback = "1", POSITIVE, .help = "metres per unit of the file"},
    {.name = NULL}};
static const key_table file_table = {
    .name = "bodies.rod.curve.file", .help = "Strands from a file, with its nodes.", .size = sizeof(rod_file_spec), .keys = file_keys};

static const key_spec curve_keys[] = {
    {.name = "line", .type = KEY_TABLE, .offset = offsetof(rod_curve_spec, line), .table = &line_table, .help = "a straight line"},
    {.name = "arc", .type = KEY_TABLE, .offset = offsetof(rod_curve_spec, arc), .table = &arc_table, .help = "part of a circle, or a coil"},
    {.name = "helix", .type = KEY_TABLE, .offset = offsetof(rod_curve_spec, helix), .table = &helix_table, .help = "a helix"},
    {.name = "points", .type = KEY_LIST, .offset = offsetof(rod_curve_spec, points), .table = &point_table, .min = 2, .max = 1e7,
     .help = "polyline through these points, which are the nodes unless segments or segment_length is given"},
    {.name = "file", .type = KEY_TABLE, .offset = offsetof(rod_curve_spec, file), .table = &file_table, .help = "strands from a file"},
    {.name = NULL}};
/* clang-format on */
static const key_table curve_table = {.name      = "bodies.rod.curve",
                                      .help      = "The centreline at the start of the run.",
                                      .size      = sizeof(rod_curve_spec),
                                      .keys      = curve_keys,
                                      .is_one_of = true};

/* ---- section and stiffness ---------------------------------------------------------------------------------------------- */

static const key_spec circle_keys[] = {
    {.name = "radius", REAL(rod_circle_spec, radius), .unit = "m", POSITIVE, .help = "radius of the section"}, {.name = NULL}};
/* clang-format off */
static const key_table circle_table = {
    .name = "bodies.rod.section.circle", .help = "A round rod.", .size = sizeof(rod_circle_spec), .keys = circle_keys, .shorthand = "radius"};
/* clang-format on */
static const key_spec  ellipse_keys[] = {{.name   = "radii",
                                          .type   = KEY_REALS,
                                          .count  = 2,
                                          .offset = offsetof(rod_ellipse_spec, radii),
                                          .unit   = "m",
                                          POSITIVE,
                                          .help = "semi-axes, along the director and across it"},
                                         {.name = NULL}};
static const key_table ellipse_table  = {
     .name = "bodies.rod.section.ellipse", .help = "An elliptic rod.", .size = sizeof(rod_ellipse_spec), .keys = ellipse_keys};
static const key_spec  rectangle_keys[] = {{.name   = "sides",
                                            .type   = KEY_REALS,
                                            .count  = 2,
                                            .offset = offsetof(rod_rectangle_spec, sides),
                                            .unit   = "m",
                                            POSITIVE,
                                            .help = "lengths of its sides, along the director and across it"},
                                           {.name = NULL}};
static const key_table rectangle_table  = {
     .name = "bodies.rod.section.rectangle", .help = "A strip.", .size = sizeof(rod_rectangle_spec), .keys = rectangle_keys};
/* clang-format off */
static const key_spec section_keys[] = {
    {.name = "circle", .type = KEY_TABLE, .offset = offsetof(rod_section_spec, circle), .table = &circle_table, .help = "round"},
    {.name = "ellipse", .type = KEY_TABLE, .offset = offsetof(rod_section_spec, ellipse), .table = &ellipse_table, .help = "elliptic"},
    {.name = "rectangle", .type = KEY_TABLE, .offset = offsetof(rod_section_spec, rectangle), .table = &rectangle_table, .help = "rectangular"},
    {.name = NULL}};
static const key_table section_table = {
    .name = "bodies.rod.section",
    .help = "The solid cross-section. Contact uses a circle with its smaller radius or half side.",
    .size = sizeof(rod_section_spec), .keys = section_keys, .is_one_of = true};

static const key_spec stiffness_keys[] = {
    {.name = "stretch", REAL(rod_stiffness_spec, stretch), .unit = "N", POSITIVE, .is_optional = true, .help = "force per strain; default: E A"},
    {.name   = "bending",
     .type   = KEY_REALS,
     .count  = 2,
     .offset = offsetof(rod_stiffness_spec, bending),
     .unit   = "N m^2",
     .min = 0, .max = INFINITY,
     .is_optional = true,
     .help = "moment per curvature, for bending towards the director and across it; default: E times the second moments of the section"},
    {.name = "twist", REAL(rod_stiffness_spec, twist), .unit = "N m^2", .min = 0, .max = INFINITY, .is_optional = true,
     .help = "moment per twist; default: G times the torsion constant of the section"},
    {.name = "shear", REAL(rod_stiffness_spec, shear), .unit = "N", POSITIVE, .is_optional = true,
     .help = "model corde: force per angle between the normal of the section and the curve; default: G A"},
    {.name = "mass_per_length", REAL(rod_stiffness_spec, mass_per_length), .unit = "kg/m", POSITIVE, .is_optional = true,
     .help = "default: density times the area of the section"},
    {.name = "bend_springs", REAL(rod_stiffness_spec, bend_springs), .unit = "N", POSITIVE, .is_optional = true,
     .help = "model mass_spring: force per strain of springs over two segments [SelleEtAl2008], in addition to bending, which may be [0, 0]; they resist the "
             "bending of a strand that is curved at the start, and hardly that of a straight one"},
    {.name = "twist_springs", REAL(rod_stiffness_spec, twist_springs), .unit = "N", POSITIVE, .is_optional = true,
     .help = "model mass_spring: the same over three segments; they preserve the torsion of the initial curve"},
    {.name = NULL}};
static const key_table stiffness_table = {.name = "bodies.rod.stiffness",
                                          .help = "Values that replace those of section and material.",
                                          .size = sizeof(rod_stiffness_spec),
                                          .keys = stiffness_keys};

static const char *const natural_shapes[] = {"as_drawn", "straight", NULL};
static const key_spec    natural_keys[]   = {
    {.name = "shape", .type = KEY_ENUM, .offset = offsetof(rod_natural_spec, shape), .choices = natural_shapes, .fallback = "as_drawn",
     .help = "shape without load; as_drawn: that of the initial curve; straight: no curvature and no twist, unless given here"},
    {.name   = "curvature",
     .type   = KEY_REALS,
     .count  = 2,
     .offset = offsetof(rod_natural_spec, curvature),
     .unit   = "1/m",
     .is_optional = true,
     .help = "constant natural curvature towards the director and across it; replaces that of the shape"},
    {.name = "twist", REAL(rod_natural_spec, twist), .unit = "rad/m", .is_optional = true, .help = "constant natural twist; replaces that of the shape"},
    {.name = NULL}};
/* clang-format on */
static const key_table natural_table = {.name      = "bodies.rod.natural",
                                        .help      = "Shape of the rod without load. The natural lengths are those of the initial curve.",
                                        .size      = sizeof(rod_natural_spec),
                                        .keys      = natural_keys,
                                        .shorthand = "shape"};

/* ---- ends, copies ----------------------------------------------------------------------------------------------------------- */

static const char *const helds[] = {[ROD_END_FREE] = "free", [ROD_END_PINNED] = "pinned", [ROD_END_CLAMPED] = "clamped", NULL};
/* clang-format off */
static const key_spec    end_keys[] = {
    {.name = "support", .type = KEY_ENUM, .offset = offsetof(rod_end_spec, held), .choices = helds, .fallback = "free",
     .help = "constraint of the end; free: none; pinned: position; clamped: position, direction and director"},
    {.name = "motion", .type = KEY_TABLE, .offset = offsetof(rod_end_spec, motion), .table = &motion_table, .is_optional = true,
     .help = "rigid motion of the support; default: at rest"},
    {.name = "force", VECTOR(rod_end_spec, force), .unit = "N", .fallback = "[0, 0, 0]", .help = "constant force on the end"},
    {.name = "moment", VECTOR(rod_end_spec, moment), .unit = "N m", .fallback = "[0, 0, 0]", .help = "moment on the end, constant in space"},
    {.name = NULL}};
static const key_table end_table = {
    .name = "bodies.rod.end", .help = "One end of every strand.", .size = sizeof(rod_end_spec), .keys = end_keys, .shorthand = "support"};

static const char *const patterns[] = {[ROD_COPIES_DISC] = "disc", [ROD_COPIES_GRID] = "grid", [ROD_COPIES_RANDOM] = "random", NULL};
static const key_spec copies_keys[] = {
    {.name = "count", .type = KEY_INT, .offset = offsetof(rod_copies_spec, count), .min = 1, .max = 1e7, .help = "number of strands"},
    {.name = "pattern", .type = KEY_ENUM, .offset = offsetof(rod_copies_spec, pattern), .choices = patterns, .fallback = "disc",
     .help = "arrangement of the starts around the first one; disc: uniform in a circle; grid: the nodes of a square grid that are closest to the centre of "
             "the circle; random: random positions in the circle"},
    {.name = "radius", REAL(rod_copies_spec, radius), .unit = "m", POSITIVE, .help = "radius of the circle"},
    {.name = "aspect", REAL(rod_copies_spec, aspect), .min = 1, .max = 100, .fallback = "1",
     .help = "aspect ratio of an ellipse that replaces the circle; its shorter semi-axis is `radius`"},
    {.name = "along", VECTOR(rod_copies_spec, along), .is_optional = true,
     .only_if = {"aspect", "!1"}, .help = "direction of the longer axis, made normal to `normal`; default: x, or y if `normal` is near x"},
    {.name = "normal", VECTOR(rod_copies_spec, normal), .is_optional = true, .help = "normal of the circle; default: the direction of the strand at its start"},
    {.name = "seed", .type = KEY_INT, .offset = offsetof(rod_copies_spec, seed), .min = 0, .max = 1e15, .fallback = "1", .only_if = {"pattern", "random"}, .help = "seed of the random positions"},
    {.name = NULL}};
/* clang-format on */
static const key_table copies_table = {
    .name = "bodies.rod.copies", .help = "Many translated copies of the strand.", .size = sizeof(rod_copies_spec), .keys = copies_keys};

/* ---- body --------------------------------------------------------------------------------------------------------------- */

static const char *const bend_measures[] = {[ROD_BENDS_TANGENT] = "tangent", [ROD_BENDS_ANGLE] = "angle", NULL};
#define X(name, help) #name,
static const char *const rod_model_names[] = {ROD_MODEL_TABLE(X) NULL};
#undef X
#define X(name, help) help,
static const char *const rod_model_help[] = {ROD_MODEL_TABLE(X) NULL};
#undef X
#define OF(member) .offset = offsetof(rod_body_spec, member)
/* clang-format off */
static const key_spec rod_keys[] = {
    {.name = "material", .type = KEY_STRING, OF(material), .help = "name of an elastic entry of materials; its density and small-strain stiffness are used"},
    {.name = "model", .type = KEY_ENUM, OF(model), .choices = rod_model_names, .choice_help = rod_model_help, .fallback = "discrete_elastic_rod",
     .help = "discretisation of a strand"},
    {.name = "bending_strain", .type = KEY_ENUM, OF(bends), .choices = bend_measures, .fallback = "tangent",
     .only_if = {"model", "discrete_elastic_rod"}, .help = "model discrete_elastic_rod: bending strain between segments at an angle phi; tangent: 2 tan(phi / 2), as published, which prevents folding; angle: phi, "
             "closer to a smooth curve when there are few segments"},
    {.name = "curve", .type = KEY_TABLE, OF(curve), .table = &curve_table, .help = "the centreline, or the centrelines of the strands"},
    {.name = "closed", .type = KEY_BOOL, OF(closed), .fallback = "false", .help = "the last point is joined to the first: a loop without ends"},
    {.name = "segments", .type = KEY_INT, OF(segments), .min = 2, .max = 1e7, .is_optional = true, .help = "number of segments of equal length per strand"},
    {.name = "elements", .type = KEY_INT, OF(elements), .min = 1, .max = 1e7, .is_optional = true,
     .only_if = {"model", "super_helix"}, .help = "model super_helix: number of elements of constant curvature and equal length per strand. It is independent of `segments`, which then only sample the "
             "curve for contact, pictures and measures. Default: the number of segments"},
    {.name = "segment_length", .type = KEY_REAL, OF(segment_length), .unit = "m", POSITIVE, .is_optional = true, .help = "largest length of a segment, instead of `segments`"},
    {.name = "director", VECTOR(rod_body_spec, director), .is_optional = true,
     .help = "first axis of the section at the start, made normal to the curve and carried along it without twist; default: "
             "towards the inside of an arc or helix, or upwards"},
    {.name = "section", .type = KEY_TABLE, OF(section), .table = &section_table, .help = "cross-section"},
    {.name = "stiffness", .type = KEY_TABLE, OF(stiffness), .table = &stiffness_table, .fallback = "{}", .help = "values that replace those of section and material"},
    {.name = "natural", .type = KEY_TABLE, OF(natural), .table = &natural_table, .fallback = "{}", .help = "shape without load"},
    {.name = "copies", .type = KEY_TABLE, OF(copies), .table = &copies_table, .is_optional = true, .help = "many translated copies of the strand"},
    {.name = "start", .type = KEY_TABLE, OF(start), .table = &end_table, .fallback = "{}", .help = "the first end of every strand"},
    {.name = "end", .type = KEY_TABLE, OF(end), .table = &end_table, .fallback = "{}", .help = "the other end of every strand"},
    {.name = "hold", .type = KEY_LIST, OF(hold), .table = &nodal_constraint_table, .is_optional = true, .help = "nodes that are fixed or have a prescribed motion"},
    {.name = "velocity", VECTOR(rod_body_spec, velocity), .unit = "m/s", .fallback = "[0, 0, 0]", .help = "initial velocity"},
    {.name = "angular_velocity", VECTOR(rod_body_spec, angular_velocity), .unit = "rad/s", .fallback = "[0, 0, 0]",
     .help = "initial rotation about the centre of mass"},
    {.name = "damping", .type = KEY_TABLE, OF(damping), .table = &nodal_damping_table, .fallback = "{}", .help = "Rayleigh damping"},
    {.name = NULL}};
/* clang-format on */
const key_table rod_body_table = {.name = "bodies.rod",
                                  .help = "Rods, fibres, hair: strands that stretch, bend and twist. All strands of a body have the same "
                                          "section and the same constraints at their ends.",
                                  .size = sizeof(rod_body_spec),
                                  .keys = rod_keys};
