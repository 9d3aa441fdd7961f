/* Implementation: reads links and joints from the job or a URDF, checks them, orders the tree, and fills the articulated body.
 * Errors are reported to the member d of the builder. */
#include "discretize/articulated/articulated_build.h"
#include <string.h>
#include "core/csv.h"
#include "core/eigen3.h"
#include "core/key_text.h"
#include "core/math3.h"
#include "core/memory.h"
#include "core/quaternion.h"
#include "core/diagnostics.h"
#include "discretize/articulated/articulated_body.h"
#include "discretize/articulated/articulated_urdf.h"

/* A joint with its job entry, and with keys that the job adds to a joint of the URDF. */
typedef struct {
  articulated_joint_spec s;
  const char            *name;
  const document_node   *node, *added;  /* entry that defines it; entry that adds keys, NULL: none */
  int                    parent, child; /* numbers in the list of links; -1: the world, -2: unknown */
  expression            *course;        /* its column of the trajectory as a function of t; NULL: none, or moved to its axis */
  bool                   has_course;
} built_joint;

typedef struct {
  const body_request     *r;
  const body_world       *w;
  diagnostics            *d;
  const articulated_spec *spec;
  int                     before; /* number of earlier messages, about other bodies */
  key_list                links;
  int                     n_joints;
  built_joint            *joints;
  int                    *order;    /* [n] for each link of the tree: its number in the list */
  int                    *joint_of; /* [n] for each link of the list: its joint; -1: none */
} articulated_builder;

/* ---- error messages ----------------------------------------------------------------------------------------------------- */

/* "bodies.arm.joints.elbow" */
typedef struct {
  char text[300];
} built_place;
static inline built_place path_of(const articulated_builder *b, const char *list, const char *name)
{
  built_place p;
  (void)snprintf(p.text, sizeof p.text, "%.120s.%s.%.120s", b->r->path, list, name);
  return p;
}
/* Whether the entry has this key; key NULL: whether it exists. */
static inline bool has_key(const document_node *node, const char *key) { return node && (!key || document_find(node, key)); }
static inline bool is_key_given(const built_joint *j, const char *key) { return has_key(j->node, key) || has_key(j->added, key); }
static inline bool has_errors(const articulated_builder *b) { return diagnostics_count(b->d) > b->before; }
/* Report an error about a joint, at the job's added entry if this has the key; or about a link, a key_item. */
#define REPORT_JOINT(b, j, key, ...)                                                                                                       \
  diagnostics_add_under((b)->d, has_key((j)->added, key) ? (j)->added : (j)->node, path_of(b, "joints", (j)->name).text, key, __VA_ARGS__)
#define REPORT_LINK(b, item, key, ...) diagnostics_add_under((b)->d, (item)->node, path_of(b, "links", (item)->name).text, key, __VA_ARGS__)

/* ---- links and joints, and the tree that they form ------------------------------------------------------------------------ */

/* Compile an expression of t, given under `key` of `node`. */
static PetscErrorCode compile_expression(const articulated_builder *b, const document_node *node, built_place where, const char *key,
                                         const char *text, expression **out)
{
  static const char *const names[]      = {"t"};
  char                     message[256] = "";
  int                      at           = 0;
  PetscFunctionBegin;
  PetscCall(expression_compile(text, 1, names, out, &at, message, sizeof message));
  if (!*out) diagnostics_add_under(b->d, node, where.text, key, "\"%s\": %s at character %d", text, message, at + 1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static int find_link(const articulated_builder *b, const char *name)
{
  for (int i = 0; i < b->links.n; ++i)
    if (strcmp(b->links.item[i].name, name) == 0) return i;
  return -2;
}

static const char *nearest_link(const articulated_builder *b, const char *name)
{
  const char *names[256];
  int         n = 0;
  for (; n < b->links.n && n < 256; ++n) names[n] = b->links.item[n].name;
  return diagnostics_nearest(name, n, names);
}

static int find_link_of_joint(const articulated_builder *b, const built_joint *j, const char *key, const char *name)
{
  if (!name || strcmp(name, "world") == 0) return -1;
  const int i = find_link(b, name);
  if (i >= 0) return i;
  const char *nearest = nearest_link(b, name);
  REPORT_JOINT(b, j, key, "no link is called \"%s\"%s%s%s", name, nearest ? "; did you mean \"" : "", nearest ? nearest : "",
               nearest ? "\"?" : "; define it under links:");
  return i;
}

/* Merge the keys that the job gives for a joint of its URDF. */
static void merge_job_keys(const articulated_builder *b, built_joint *j, const key_item *item)
{
  static const char *const      fixed[] = {"type", "parent", "child", "at", "axis"};
  const articulated_joint_spec *x       = item->value;
  j->added                              = item->node;
  for (size_t k = 0; k < sizeof fixed / sizeof *fixed; ++k)
    if (document_find(item->node, fixed[k])) REPORT_JOINT(b, j, fixed[k], "joint \"%s\" is defined by the urdf: remove this key", j->name);
  double *const to[] = {&j->s.position, &j->s.rate, &j->s.lower, &j->s.upper, &j->s.damping, &j->s.friction, &j->s.effort, &j->s.max_rate};
  const double *const from[] = {&x->position, &x->rate, &x->lower, &x->upper, &x->damping, &x->friction, &x->effort, &x->max_rate};
  for (size_t k = 0; k < sizeof to / sizeof *to; ++k)
    if (isfinite(*from[k])) *to[k] = *from[k];
  if (isfinite(x->velocity[0])) v3_copy(j->s.velocity, x->velocity);
  if (isfinite(x->angular_velocity[0])) v3_copy(j->s.angular_velocity, x->angular_velocity);
  if (x->motion) j->s.motion = x->motion;
  if (x->drive) j->s.drive = x->drive;
  if (x->mimic) j->s.mimic = x->mimic;
}

static PetscErrorCode read_joints(articulated_builder *b, const key_list *list, const key_list *added)
{
  PetscFunctionBegin;
  PetscCall(memory_alloc("joints", list->n, sizeof *b->joints, &b->joints));
  for (int k = 0; k < list->n; ++k) {
    built_joint *j = &b->joints[b->n_joints++];
    *j = (built_joint){.s = *(const articulated_joint_spec *)list->item[k].value, .name = list->item[k].name, .node = list->item[k].node};
  }
  for (int k = 0; added && k < added->n; ++k) {
    const char *names[256], *nearest;
    int         at = 0, n = 0;
    while (at < b->n_joints && strcmp(b->joints[at].name, added->item[k].name) != 0) ++at;
    if (at < b->n_joints) {
      merge_job_keys(b, &b->joints[at], &added->item[k]);
      continue;
    }
    for (; n < b->n_joints && n < 256; ++n) names[n] = b->joints[n].name;
    nearest = diagnostics_nearest(added->item[k].name, n, names);
    diagnostics_add_under(b->d, added->item[k].node, path_of(b, "joints", added->item[k].name).text, NULL,
                          "the URDF file has no joint of this name%s%s%s", nearest ? "; did you mean \"" : "", nearest ? nearest : "",
                          nearest ? "\"?" : "; give the name of a joint of the file");
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode read_urdf(articulated_builder *b, document **doc)
{
  const articulated_spec       *s = b->spec;
  const articulated_model_spec *model;
  document_node                *node;
  double                        R[9], theta[3], axis[3] = {0, 0, 1}, c[3] = {0, 0, 0};
  PetscFunctionBegin;
  if (isfinite(s->axis[0])) v3_copy(axis, s->axis);
  if (!(v3_norm(axis) > 0.0)) {
    diagnostics_add_under(b->d, b->r->node, b->r->path, "axis", "must not be the zero vector");
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  v3_scale(theta, isfinite(s->rotate_deg) ? s->rotate_deg * M_PI / 180.0 / v3_norm(axis) : 0.0, axis);
  rotation_exp(R, theta);
  if (isfinite(s->translate[0])) v3_copy(c, s->translate);
  PetscCall(articulated_urdf_read(s->urdf, c, R, s->base == URDF_BASE_FREE ? "free" : "fixed", b->r->node, b->r->path, b->d, doc, &node));
  if (!node) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(key_table_read(&articulated_model_table, *doc, node, b->r->path, b->d, (const void **)&model));
  b->links = model->links;
  PetscCall(read_joints(b, &model->joints, &s->joints));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode read_model(articulated_builder *b, document **doc)
{
  static const char *const of_urdf[] = {"base", "translate", "rotate_deg", "axis"};
  const document_node     *node      = b->r->node;
  PetscFunctionBegin;
  if (b->spec->urdf) {
    if (b->spec->links.n > 0)
      diagnostics_add_under(b->d, node, b->r->path, "links", "conflicts with urdf, which defines the links: remove one of them");
    else PetscCall(read_urdf(b, doc));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (size_t k = 0; k < sizeof of_urdf / sizeof *of_urdf; ++k)
    if (document_find(node, of_urdf[k])) diagnostics_add_under(b->d, node, b->r->path, of_urdf[k], "has no effect without urdf; remove it");
  if (b->spec->links.n == 0) diagnostics_add_under(b->d, node, b->r->path, NULL, "has no links: give `links` and `joints`, or `urdf`");
  b->links = b->spec->links;
  PetscCall(read_joints(b, &b->spec->joints, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- tree -------------------------------------------------------------------------------------------------------------- */

/* Find the joint of each link and an order of links in which parents come first. There must be one joint per link and no loop. */
static PetscErrorCode order_links(articulated_builder *b)
{
  int n = 0;
  PetscFunctionBegin;
  PetscCall(MEMORY_ALLOC("links", ARRAY(b->order, b->links.n), ARRAY(b->joint_of, b->links.n)));
  for (int i = 0; i < b->links.n; ++i) b->joint_of[i] = -1;
  for (int k = 0; k < b->n_joints; ++k) {
    built_joint *j = &b->joints[k];
    if (j->s.type < 0) REPORT_JOINT(b, j, NULL, "missing required key \"type\"");
    if (!j->s.child) REPORT_JOINT(b, j, NULL, "missing required key \"child\": the link that it carries");
    j->parent = find_link_of_joint(b, j, "parent", j->s.parent);
    j->child  = j->s.child ? find_link_of_joint(b, j, "child", j->s.child) : -2;
    if (j->s.child && j->child == -1) REPORT_JOINT(b, j, "child", "the world cannot be a child: name a link");
    if (j->child < 0) continue;
    if (b->joint_of[j->child] >= 0)
      REPORT_JOINT(b, j, "child", "link \"%s\" already has joint \"%s\": a tree has one joint per link; close loops under `loops`",
                   j->s.child, b->joints[b->joint_of[j->child]].name);
    else b->joint_of[j->child] = k;
  }
  if (has_errors(b)) PetscFunctionReturn(PETSC_SUCCESS);
  for (int i = 0; i < b->links.n; ++i)
    if (b->joint_of[i] < 0)
      REPORT_LINK(b, &b->links.item[i], NULL, "has no joint: give one with child: %s, of type free if it moves freely",
                  b->links.item[i].name);
  if (has_errors(b)) PetscFunctionReturn(PETSC_SUCCESS);
  for (bool is_more = true; is_more;) {
    is_more = false;
    for (int i = 0; i < b->links.n; ++i) {
      const int up        = b->joints[b->joint_of[i]].parent;
      bool      is_placed = false, has_parent = up < 0;
      for (int k = 0; k < n; ++k) is_placed |= b->order[k] == i, has_parent |= b->order[k] == up;
      if (!is_placed && has_parent) b->order[n++] = i, is_more = true;
    }
  }
  for (int i = 0; i < b->links.n && n < b->links.n; ++i) {
    bool is_placed = false;
    for (int k = 0; k < n; ++k) is_placed |= b->order[k] == i;
    if (is_placed) continue;
    const built_joint *j = &b->joints[b->joint_of[i]];
    REPORT_JOINT(b, j, "parent", "link \"%s\" depends on itself through \"%s\": joints must form a tree; close loops under `loops`",
                 j->s.child, j->s.parent);
    break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Number in the tree of a link of the list; -1: the world. */
static int number_in_tree(const articulated_builder *b, int listed)
{
  for (int i = 0; i < b->links.n && listed >= 0; ++i)
    if (b->order[i] == listed) return i;
  return -1;
}

static const built_joint *joint_of_link(const articulated_builder *b, int i) { return &b->joints[b->joint_of[b->order[i]]]; }
static const key_item    *listed_link(const articulated_builder *b, int i) { return &b->links.item[b->order[i]]; }

/* ---- trajectory: a table of joint positions over time, with a column `t` and one column per joint -------------------------- */

/* Number in column c of a row; row 0 is the header. */
static bool number_of(const articulated_builder *b, const csv_table *t, int64_t row, int c, double *x)
{
  const char *cell = t->cell[row * t->n_columns + c], *end;
  while (*cell == ' ') ++cell;
  const bool is_negative = *cell == '-';
  *x                     = key_text_strtod(cell + (is_negative || *cell == '+'), &end);
  if (is_negative) *x = -*x;
  const bool is_number = end > cell + (is_negative || *cell == '+') && end[strspn(end, " \r")] == '\0' && isfinite(*x);
  if (!is_number)
    diagnostics_add(b->d, (document_mark){b->spec->trajectory, (int)row + 1, c + 1}, t->cell[c], "expected a number, found \"%s\"", cell);
  return is_number;
}

/* Joint of a column; NULL after an error message. */
static built_joint *joint_of_column(const articulated_builder *b, const csv_table *t, int c)
{
  const char *names[256], *name = t->cell[c];
  int         n = 0;
  for (int k = 0; k < b->n_joints; ++k) {
    built_joint *j = &b->joints[k];
    if (strcmp(j->name, name) != 0) {
      if (n < 256) names[n++] = j->name;
      continue;
    }
    if (j->has_course) REPORT_JOINT(b, j, NULL, "has two columns in %s: remove one of them", b->spec->trajectory);
    else return j;
    return NULL;
  }
  const char *nearest = diagnostics_nearest(name, n, names);
  diagnostics_add(b->d, (document_mark){b->spec->trajectory, 1, c + 1}, NULL, "no joint is called \"%s\"%s%s%s", name,
                  nearest ? "; did you mean \"" : "", nearest ? nearest : "", nearest ? "\"?" : "");
  return NULL;
}

static PetscErrorCode read_column(const articulated_builder *b, const csv_table *t, int c)
{
  built_joint *j = joint_of_column(b, t, c);
  double      *row;
  bool         is_good = true;
  const int    n       = (int)t->n_rows - 1;
  PetscFunctionBegin;
  if (!j) PetscFunctionReturn(PETSC_SUCCESS);
  j->has_course = true;
  PetscCall(memory_alloc("trajectory", 2 * (int64_t)n, sizeof *row, &row));
  for (int i = 0; i < n && is_good; ++i) {
    is_good = number_of(b, t, i + 1, 0, &row[2 * i]) && number_of(b, t, i + 1, c, &row[2 * i + 1]);
    if (is_good && i > 0 && !(row[2 * i] > row[2 * i - 2])) {
      diagnostics_add(b->d, (document_mark){b->spec->trajectory, i + 2, 1}, "t",
                      "%g s is not later than the previous time, %g s; sort the rows by time", row[2 * i], row[2 * i - 2]);
      is_good = false;
    }
  }
  const PetscErrorCode code = is_good ? expression_create_table(n, row, &j->course) : PETSC_SUCCESS;
  memory_free(&row);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode read_trajectory(const articulated_builder *b)
{
  const char          *file = b->spec->trajectory;
  const document_node *node = b->r->node;
  char                *text;
  int                  size = 0;
  csv_table            t    = {0};
  text_buffer          all  = {0};
  PetscFunctionBegin;
  if (!file) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(diagnostics_read_file(file, node, b->r->path, "trajectory", b->d, &text, &size));
  if (!text) PetscFunctionReturn(PETSC_SUCCESS);
  text_put(&all, text);
  if (all.n > 0 && all.data[all.n - 1] != '\n') text_put(&all, "\n"); /* csv_read ignores a last row without a line end */
  PetscErrorCode code = all.code ? all.code : csv_read(file, all.data, &t);
  memory_free(&text);
  text_clear(&all);
  if (code && diagnostics_take(b->d, node, b->r->path, "trajectory", code)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(code);
  if (t.n_columns > 0) ((char *)t.cell[t.n_columns - 1])[strcspn(t.cell[t.n_columns - 1], "\r")] = '\0';
  if (t.n_rows < 3 || t.n_columns < 2 || strcmp(t.cell[0], "t") != 0)
    diagnostics_add_under(b->d, node, b->r->path, "trajectory",
                          "%s is not a table of joint positions: expected a first row t,JOINT,... and at least two rows of numbers", file);
  else
    for (int c = 1; c < t.n_columns && !code; ++c) code = read_column(b, &t, c);
  csv_clear(&t);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Reject keys that conflict with a column of the trajectory. */
static void check_trajectory_keys(const articulated_builder *b, const built_joint *j)
{
  const document_node *drive = NULL;
  if (!j->course) return;
  if (joint_type_rates((joint_type)j->s.type) != 1)
    REPORT_JOINT(b, j, NULL, "has a column in %s, but is neither revolute nor prismatic", b->spec->trajectory);
  if (j->s.mimic)
    REPORT_JOINT(b, j, "mimic", "it mimics joint \"%s\" and has a column in %s: remove one of them", j->s.mimic->joint,
                 b->spec->trajectory);
  static const char *const never[] = {"motion", "position"};
  for (size_t k = 0; k < sizeof never / sizeof *never; ++k)
    if (is_key_given(j, never[k])) REPORT_JOINT(b, j, never[k], "is given by its column in %s: remove one of them", b->spec->trajectory);
  if (j->s.drive) drive = document_find(has_key(j->added, "drive") ? j->added : j->node, "drive");
  if (drive && document_find(drive, "target"))
    REPORT_JOINT(b, j, "drive.target", "is given by its column in %s: remove one of them", b->spec->trajectory);
}

/* ---- joints: position, type, drive, initial state -------------------------------------------------------------------------- */

static void place_joint(const articulated_builder *b, articulated_body *a, int i)
{
  const built_joint  *j           = joint_of_link(b, i);
  const joint_type    type        = (joint_type)j->s.type;
  const bool          has_axis    = type == JOINT_REVOLUTE || type == JOINT_PRISMATIC || type == JOINT_PLANAR;
  const bool          wants_place = type == JOINT_REVOLUTE || type == JOINT_BALL;
  static const double up[3]       = {0, 0, 1};
  if (has_axis && !isfinite(j->s.axis[0])) REPORT_JOINT(b, j, NULL, "missing required key \"axis\"");
  if (!has_axis && isfinite(j->s.axis[0])) REPORT_JOINT(b, j, "axis", "a joint of this type has no axis: remove it");
  if (isfinite(j->s.axis[0]) && !(v3_norm(j->s.axis) > 0.0)) REPORT_JOINT(b, j, "axis", "must not be the zero vector");
  else articulated_axes(has_axis && isfinite(j->s.axis[0]) ? j->s.axis : up, a->tree.axes + 9 * i);
  if (wants_place && !isfinite(j->s.at[0])) REPORT_JOINT(b, j, NULL, "missing required key \"at\": the position of the joint");
  v3_copy(a->tree.anchor + 3 * i, isfinite(j->s.at[0]) ? j->s.at : a->tree.center + 3 * i);
}

/* Reject keys that do not apply to the type of the joint. */
static void check_joint_keys(const articulated_builder *b, const built_joint *j)
{
  static const struct {
    const char *key;
    unsigned    types;
  } known[] = {
#define OF(type) 1u << JOINT_##type
#define ONE OF(REVOLUTE) | OF(PRISMATIC)
      {"position", ONE},
      {"rate", ONE},
      {"lower", ONE},
      {"upper", ONE},
      {"friction", ONE},
      {"effort", ONE},
      {"max_rate", ONE},
      {"motion", ONE},
      {"drive", ONE},
      {"mimic", ONE},
      {"damping", ONE | OF(BALL)},
      {"velocity", OF(FREE) | OF(PLANAR)},
      {"angular_velocity", OF(FREE) | OF(BALL) | OF(PLANAR)}};
  for (size_t k = 0; k < sizeof known / sizeof *known; ++k)
    if (is_key_given(j, known[k].key) && !(known[k].types & 1u << j->s.type))
      REPORT_JOINT(b, j, known[k].key,
                   "has no effect on a joint of this type: remove it, or replace the joint by a chain of revolute and prismatic ones");
  if (j->s.motion || (j->course && !j->s.drive)) {
    static const char *const free_ones[] = {"position", "rate", "lower", "upper", "friction", "damping", "drive", "mimic", "max_rate"};
    for (size_t k = 0; k < sizeof free_ones / sizeof *free_ones; ++k)
      if (has_key(j->added ? j->added : j->node, free_ones[k]))
        REPORT_JOINT(b, j, free_ones[k], "has no effect on a joint with a prescribed motion: remove one of them");
  }
  if (j->s.mimic) {
    static const char *const own[] = {"position", "rate", "drive", "motion"};
    for (size_t k = 0; k < sizeof own / sizeof *own; ++k)
      if (is_key_given(j, own[k])) REPORT_JOINT(b, j, own[k], "it mimics joint \"%s\": give this key for that joint", j->s.mimic->joint);
  }
  if (j->s.lower > j->s.upper) REPORT_JOINT(b, j, "lower", "%g is above upper = %g: exchange them", j->s.lower, j->s.upper);
  if (has_key(j->added ? j->added : b->spec->urdf ? NULL : j->node, "effort") && !j->s.drive)
    REPORT_JOINT(b, j, "effort", "has no effect without a motor: add `drive` or remove it");
}

/* A joint that mimics another one: limits, damping and friction apply to both together. */
static void set_mimic(const articulated_builder *b, articulated_body *a, int i)
{
  articulated_tree             *t   = &a->tree;
  const built_joint            *j   = joint_of_link(b, i);
  const articulated_mimic_spec *m   = j->s.mimic;
  const int                     own = t->rate_start[i];
  int                           k   = 0;
  while (k < t->n && strcmp(joint_of_link(b, k)->name, m->joint) != 0) ++k;
  if (k == t->n) REPORT_JOINT(b, j, "mimic", "no joint is called \"%s\"", m->joint);
  else if (joint_type_rates((joint_type)t->type[k]) != 1)
    REPORT_JOINT(b, j, "mimic", "joint \"%s\" is neither revolute nor prismatic", m->joint);
  else if (joint_of_link(b, k)->s.mimic || k == i)
    REPORT_JOINT(b, j, "mimic", "joint \"%s\" mimics another one itself: mimic that one", m->joint);
  else if (m->factor == 0.0) REPORT_JOINT(b, j, "mimic", "factor is 0: the joint would not move; use type: fixed");
  else t->leader[own] = t->rate_start[k], t->factor[own] = m->factor, t->offset[own] = m->offset;
}

static void tighten_limits(articulated_axis *a, double lower, double upper)
{
  a->lower = fmax(a->lower, fmin(lower, upper));
  a->upper = fmin(a->upper, fmax(lower, upper));
}

/* Set limits, friction and drive of the independent velocity of joint i, which has one rate. */
static PetscErrorCode set_joint_axis(articulated_builder *b, articulated_body *a, int i)
{
  built_joint                  *j = &b->joints[b->joint_of[b->order[i]]];
  const articulated_joint_spec *s = &j->s;
  const int                     k = a->tree.rate_start[i], dof = a->tree.dof[k];
  const double                  f = a->tree.factor[k], o = a->tree.offset[k];
  articulated_axis             *x = &a->axis[dof];
  const built_place             p = path_of(b, "joints", j->name);
  PetscFunctionBegin;
  if (a->tree.leader[k] == k) a->q_of[dof] = a->tree.q_start[i];
  tighten_limits(x, isfinite(s->lower) ? (s->lower - o) / f : copysign(INFINITY, -f),
                 isfinite(s->upper) ? (s->upper - o) / f : copysign(INFINITY, f));
  if (isfinite(s->damping)) x->damping += f * f * s->damping;
  if (isfinite(s->friction)) x->friction += fabs(f) * s->friction;
  if (isfinite(s->max_rate)) x->max_rate = fmin(x->max_rate, s->max_rate / fabs(f));
  if (s->motion) PetscCall(compile_expression(b, has_key(j->added, "motion") ? j->added : j->node, p, "motion", s->motion, &x->motion));
  if (j->course && !s->drive) x->motion = j->course, j->course = NULL;
  if (!s->drive) PetscFunctionReturn(PETSC_SUCCESS);
  const document_node *drive = document_find(has_key(j->added, "drive") ? j->added : j->node, "drive");
  x->stiffness = s->drive->stiffness, x->rate_damping = s->drive->damping;
  if (isfinite(s->effort)) x->effort = s->effort;
  if (j->course) x->target = j->course, j->course = NULL;
  else PetscCall(compile_expression(b, drive, p, "drive.target", s->drive->target ? s->drive->target : "0", &x->target));
  PetscCall(compile_expression(b, drive, p, "drive.force", s->drive->force, &x->force));
  if (s->drive->rate) PetscCall(compile_expression(b, drive, p, "drive.rate", s->drive->rate, &x->rate));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Initial positions and rates. */
static void set_initial_state(const articulated_builder *b, articulated_body *a)
{
  articulated_tree *t     = &a->tree;
  double           *v     = a->v;
  const double      begin = 0.0;
  articulated_tree_rest(t, a->q);
  for (int i = 0; i < t->n; ++i) {
    const built_joint            *j = joint_of_link(b, i);
    const articulated_joint_spec *s = &j->s;
    const int                     k = t->rate_start[i];
    if (s->mimic) continue;
    switch ((joint_type)t->type[i]) {
    case JOINT_REVOLUTE:
    case JOINT_PRISMATIC: {
      const articulated_axis *x = &a->axis[t->dof[k]];
      double                 *q = &a->q[t->q_start[i]];
      *q           = isfinite(s->position) ? s->position : j->has_course && x->target ? expression_value(x->target, &begin) : 0.0;
      v[t->dof[k]] = isfinite(s->rate) ? s->rate : 0.0;
      if (x->motion) v[t->dof[k]] = expression_derivative(x->motion, &begin, 0, q);
      if (*q < x->lower || *q > x->upper)
        REPORT_JOINT(b, j, is_key_given(j, "position") ? "position" : NULL,
                     "starts at %g, outside its limits %g and %g: give another position", *q, x->lower, x->upper);
      break;
    }
    case JOINT_BALL:
      if (isfinite(s->angular_velocity[0])) v3_copy(v + t->dof[k], s->angular_velocity);
      break;
    case JOINT_FREE:
      if (isfinite(s->velocity[0])) v3_copy(v + t->dof[k], s->velocity);
      if (isfinite(s->angular_velocity[0])) v3_copy(v + t->dof[k] + 3, s->angular_velocity);
      break;
    case JOINT_PLANAR:
      for (int e = 0; e < 2 && isfinite(s->velocity[0]); ++e) v[t->dof[k] + e] = v3_dot(s->velocity, t->axes + 9 * i + 3 * (e + 1));
      if (isfinite(s->angular_velocity[0])) v[t->dof[k] + 2] = v3_dot(s->angular_velocity, t->axes + 9 * i);
      break;
    case JOINT_FIXED: break;
    }
  }
  for (int i = 0; i < t->n; ++i) /* positions of joints that mimic others */
    for (int k = 0; k < t->n && joint_of_link(b, i)->s.mimic; ++k)
      if (t->rate_start[k] == t->leader[t->rate_start[i]] && joint_type_rates((joint_type)t->type[k]) == 1)
        a->q[t->q_start[i]] = t->factor[t->rate_start[i]] * a->q[t->q_start[k]] + t->offset[t->rate_start[i]];
}

/* ---- links: shape, mass, applied forces ------------------------------------------------------------------------------------ */

/* Check the principal moments of inertia: none negative, none above the sum of the others. */
static void check_inertia(const articulated_builder *b, const key_item *item, double m, const double I6[9])
{
  double moment[3], Q[9];
  eigen3_symmetric(I6, moment, Q);
  const double slack = 1e-9 * fabs(moment[0]);
  if (moment[2] < -slack || moment[0] > moment[1] + moment[2] + slack)
    REPORT_LINK(b, item, "inertia",
                "no body has these principal moments (%g, %g, %g): expected none negative and none above the sum of the others", moment[0],
                moment[1], moment[2]);
  if (m == 0.0 && moment[0] > 0.0) REPORT_LINK(b, item, "inertia", "has no effect on a link without mass: remove it or give a mass");
}

/* Shape, mass and centre of link i. */
static PetscErrorCode build_link(const articulated_builder *b, articulated_body *a, int i)
{
  const key_item              *item = listed_link(b, i);
  const articulated_link_spec *s    = item->value;
  articulated_link            *link = a->link[i];
  double *const c = a->tree.center + 3 * i, *const moments = a->tree.inertia + 9 * i, *const m = &a->tree.mass[i];
  PetscFunctionBegin;
  const double density = b->r->material ? b->r->material->density : NAN;
  if (s->shape) {
    rigid_body_spec spec = {
        .material = "", .shape = s->shape, .surface_spacing = s->surface_spacing, .contact_surface = s->contact_surface, .mass = s->mass};
    rigid_body *r = NULL;
    if (!isfinite(s->mass) && !isfinite(density)) {
      REPORT_LINK(b, item, NULL, "has no mass: give `mass`, or a `material` of the body");
      PetscFunctionReturn(PETSC_SUCCESS);
    }
    for (int k = 0; k < 3; ++k) spec.inertia[k] = spec.center_of_mass[k] = NAN;
    PetscCall(rigid_body_create(a->names[i], RIGID_DYNAMIC, &spec, density, item->node, path_of(b, "links", item->name).text, b->d, &r));
    if (!r) PetscFunctionReturn(PETSC_SUCCESS);
    link->rigid = *r, link->has_shape = true;
    memory_free(&r); /* the link owns its arrays now */
    *m = link->rigid.mass;
    v3_copy(c, link->rigid.origin);
    m3_copy(moments, link->rigid.inertia);
  } else {
    if (!isfinite(s->mass))
      REPORT_LINK(b, item, NULL, "has neither a shape nor a mass: give one of them, or mass: 0 if it only carries other links");
    else if (s->mass > 0.0 && !isfinite(s->center_of_mass[0]))
      REPORT_LINK(b, item, NULL, "has a mass but no shape: give its center_of_mass");
    *m = s->mass;
  }
  if (isfinite(s->center_of_mass[0])) {
    if (s->shape && !isfinite(s->inertia[0]))
      REPORT_LINK(b, item, "center_of_mass", "requires `inertia`: give the moments of inertia about this point");
    v3_copy(c, s->center_of_mass);
  }
  if (isfinite(s->inertia[0])) {
    const double *x = s->inertia, full[9] = {x[0], x[3], x[4], x[3], x[1], x[5], x[4], x[5], x[2]};
    check_inertia(b, item, *m, full);
    m3_copy(moments, full);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Create link i with its name as a body; allocate its arrays if it has no shape. */
static PetscErrorCode create_link(const articulated_builder *b, articulated_body *a, int i)
{
  articulated_link *link;
  const char       *joint  = joint_of_link(b, i)->name;
  const size_t      size   = strlen(b->r->name) + strlen(listed_link(b, i)->name) + 2;
  const size_t      length = strlen(b->r->name) + strlen(joint) + sizeof ", joint \"\"";
  PetscFunctionBegin;
  PetscCall(MEMORY_ALLOC("links", ARRAY(a->link[i], 1), ARRAY(a->names[i], (int64_t)size)));
  (void)snprintf(a->names[i], size, "%s.%s", b->r->name, listed_link(b, i)->name);
  PetscCall(memory_alloc("links", (int64_t)length, 1, &a->joints[i]));
  (void)snprintf(a->joints[i], length, "%s, joint \"%s\"", b->r->name, joint);
  PetscCall(build_link(b, a, i));
  link              = a->link[i];
  link->tree        = a;
  link->index       = i;
  double **arrays[] = {&link->rigid.c, &link->rigid.q, &link->rigid.v, &link->rigid.w};
  for (int k = 0; k < 4 && !link->has_shape; ++k) PetscCall(memory_alloc("links", k == 1 ? 4 : 3, sizeof(double), arrays[k]));
  link->rigid.base = (body){.ops = link->has_shape ? &articulated_link_ops : &articulated_frame_ops, .name = a->names[i]};
  link->rigid.kind = RIGID_KINEMATIC; /* its pose is part of the tree's state, not its own */
  if (!link->has_shape) v3_copy(link->rigid.origin, a->tree.center + 3 * i);
  link->rigid.mass = a->tree.mass[i];
  a->part[i]       = &link->rigid.base;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode read_wrenches(const articulated_builder *b, articulated_body *a)
{
  PetscFunctionBegin;
  for (int i = 0; i < a->tree.n; ++i) {
    const key_item              *item    = listed_link(b, i);
    const articulated_link_spec *s       = item->value;
    const key_list *const        list[2] = {&s->force, &s->torque};
    expression **const           to[2]   = {a->link[i]->force, a->link[i]->torque};
    static const char *const     key[2]  = {"force", "torque"};
    for (int e = 0; e < 2; ++e) {
      if (list[e]->n != 0 && list[e]->n != 3) REPORT_LINK(b, item, key[e], "expected three expressions, got %d", list[e]->n);
      for (int k = 0; k < 3 && list[e]->n == 3; ++k)
        PetscCall(compile_expression(b, item->node, path_of(b, "links", item->name), key[e], list[e]->item[k].value, &to[e][k]));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Report the first joint whose rates move no mass when the rates before it are fixed. */
static void check_mass(const articulated_builder *b, articulated_body *a)
{
  articulated_tree *t = &a->tree;
  const int         n = t->n_v;
  double           *A = a->H;
  articulated_tree_mass_matrix(t, a->R0, a->p0, a->S, a->M);
  memcpy(A, a->M, (size_t)(n * n) * sizeof *A);
  for (int k = n - 1; k >= 0; --k) { /* from the tips, so that the message names the joint closest to the tip */
    if (!(A[(n + 1) * k] > 1e-12 * a->M[(n + 1) * k]) || !isfinite(a->M[(n + 1) * k])) {
      int i = 0;
      while (t->rate_start[i] == t->rate_start[i + 1] || t->dof[t->rate_start[i + 1] - 1] < k) ++i;
      REPORT_JOINT(b, joint_of_link(b, i), NULL,
                   "moves no mass: link \"%s\" and the links that it carries have no mass or moment of inertia along its motion",
                   joint_of_link(b, i)->s.child);
      return;
    }
    for (int r = 0; r < k; ++r)
      for (int c = 0; c < k; ++c) A[n * r + c] -= A[n * r + k] * A[n * k + c] / A[(n + 1) * k];
  }
}

/* ---- closed loops ------------------------------------------------------------------------------------------------------------ */

static PetscErrorCode read_loops(const articulated_builder *b, articulated_body *a)
{
  const key_list *list = &b->spec->loops;
  PetscFunctionBegin;
  PetscCall(memory_alloc("loops", 3 * list->n, sizeof *a->pin, &a->pin));
  for (int i = 0; i < list->n; ++i) {
    const articulated_loop_spec *s    = list->item[i].value;
    const document_node         *node = list->item[i].node;
    char                         path[300];
    int                          side[2];
    const char *const name[2] = {s->one, s->other}, *const key[2] = {"one", "other"};
    (void)snprintf(path, sizeof path, "%.200s.loops[%d]", b->r->path, i);
    for (int k = 0; k < 2; ++k) {
      const bool is_world = !name[k] || strcmp(name[k], "world") == 0;
      const int  listed   = is_world ? -1 : find_link(b, name[k]);
      side[k]             = number_in_tree(b, listed);
      if (listed == -2) diagnostics_add_under(b->d, node, path, key[k], "no link is called \"%s\"", name[k]);
    }
    if (side[0] == side[1]) diagnostics_add_under(b->d, node, path, "other", "is the same link as `one`: give two different links");
    const bool has_axis = isfinite(s->axis[0]);
    if (s->type == LOOP_REVOLUTE && !has_axis) diagnostics_add_under(b->d, node, path, NULL, "missing required key \"axis\"");
    if (s->type != LOOP_REVOLUTE && has_axis)
      diagnostics_add_under(b->d, node, path, "axis", "has no effect except for type: revolute; remove it");
    if (has_axis && !(v3_norm(s->axis) > 0.0)) diagnostics_add_under(b->d, node, path, "axis", "must not be the zero vector");
    else {
      static const double up[3] = {0, 0, 1};
      double              axes[9];
      articulated_axes(has_axis ? s->axis : up, axes);
      const int n = s->type == LOOP_BALL ? 1 : s->type == LOOP_REVOLUTE ? 2 : 3;
      for (int k = 0; k < n; ++k) { /* points around the position, spread over the size of the body */
        articulated_pin *pin = &a->pin[a->n_pins++];
        *pin                 = (articulated_pin){.one = side[0], .other = side[1]};
        v3_copy(pin->X, s->at);
        if (n == 2) v3_axpy(pin->X, k == 0 ? 0.5 * a->size : -0.5 * a->size, axes);
        if (n == 3) v3_axpy(pin->X, 0.5 * a->size, axes + 3 * k);
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Check that loops are closed at the initial positions. */
static void check_loops_closed(const articulated_builder *b, const articulated_body *a)
{
  for (int i = 0; i < a->n_pins; ++i) {
    const articulated_pin *p = &a->pin[i];
    double                 x[2][3], gap[3];
    const int              side[2] = {p->one, p->other};
    for (int k = 0; k < 2; ++k) {
      v3_copy(x[k], p->X);
      if (side[k] < 0) continue;
      m3_mulv(x[k], a->R0 + 9 * side[k], p->X);
      v3_axpy(x[k], 1.0, a->p0 + 3 * side[k]);
    }
    v3_sub(gap, x[0], x[1]);
    if (v3_norm(gap) <= 1e-6 * a->size) continue;
    diagnostics_add_under(b->d, b->r->node, b->r->path, "loops",
                          "are open by %g m at the initial joint positions: give positions at which they are closed", v3_norm(gap));
    return;
  }
}

/* ---- the whole body ---------------------------------------------------------------------------------------------------------- */

static double body_size(const articulated_body *a)
{
  const articulated_tree *t    = &a->tree;
  double                  most = 0.0, d[3];
  for (int i = 0; i < t->n; ++i) {
    v3_sub(d, t->center + 3 * i, t->anchor);
    most = fmax(most, v3_norm(d) + (a->link[i]->has_shape ? a->link[i]->rigid.radius : 0.0));
    v3_sub(d, t->anchor + 3 * i, t->anchor);
    most = fmax(most, v3_norm(d));
  }
  return most > 0.0 ? most : 1.0;
}

static PetscErrorCode allocate_state(articulated_body *a)
{
  const int     n = a->tree.n, n_v = a->tree.n_v;
  const int64_t square = (int64_t)n_v * n_v;
  PetscFunctionBegin;
  const struct {
    double **array;
    int64_t  n;
  } room[] = {{&a->q, a->tree.n_q},
              {&a->q1, a->tree.n_q},
              {&a->v, n_v},
              {&a->torque, n_v},
              {&a->tau, n_v},
              {&a->bias, n_v},
              {&a->u, 3 * n},
              {&a->w, 3 * n},
              {&a->L, 3 * n},
              {&a->push, 3 * n},
              {&a->R0, 9 * n},
              {&a->R1, 9 * n},
              {&a->p0, 3 * n},
              {&a->p1, 3 * n},
              {&a->c0, 3 * n},
              {&a->F, 6 * n},
              {&a->S, 6 * a->tree.n_rates},
              {&a->M, square},
              {&a->H, square},
              {&a->J, 3 * n_v},
              {&a->Jp, 3 * n_v},
              {&a->prescribed_velocity, n_v}};
  for (size_t k = 0; k < sizeof room / sizeof *room; ++k)
    PetscCall(memory_alloc("articulated body", room[k].n, sizeof(double), room[k].array));
  PetscCall(MEMORY_ALLOC("articulated body", ARRAY(a->prescribed, n_v), ARRAY(a->axis, n_v), ARRAY(a->q_of, n_v)));
  for (int k = 0; k < n_v; ++k)
    a->q_of[k] = -1, a->axis[k] = (articulated_axis){.lower = -INFINITY, .upper = INFINITY, .effort = INFINITY, .max_rate = INFINITY};
  a->n_links = n, a->n_q = a->tree.n_q, a->n_v = n_v;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode build_tree(articulated_builder *b, articulated_body *a)
{
  const int n = b->links.n;
  int      *type;
  PetscFunctionBegin;
  PetscCall(memory_alloc("links", n, sizeof(int), &type));
  for (int i = 0; i < n; ++i) type[i] = joint_of_link(b, i)->s.type;
  const PetscErrorCode code = articulated_tree_create(n, type, &a->tree);
  memory_free(&type);
  PetscCall(code);
  PetscCall(MEMORY_ALLOC("links", ARRAY(a->link, n), ARRAY(a->names, n), ARRAY(a->joints, n), ARRAY(a->part, n)));
  for (int i = 0; i < n; ++i) a->tree.parent[i] = number_in_tree(b, joint_of_link(b, i)->parent);
  for (int i = 0; i < n; ++i) PetscCall(create_link(b, a, i));
  for (int i = 0; i < n; ++i) {
    place_joint(b, a, i);
    check_trajectory_keys(b, joint_of_link(b, i));
    check_joint_keys(b, joint_of_link(b, i));
    if (joint_of_link(b, i)->s.mimic && joint_type_rates((joint_type)a->tree.type[i]) == 1) set_mimic(b, a, i);
  }
  articulated_tree_number(&a->tree);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode build(articulated_builder *b, articulated_body *a)
{
  PetscFunctionBegin;
  PetscCall(read_model(b, &a->urdf));
  if (has_errors(b)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(read_trajectory(b));
  PetscCall(order_links(b));
  if (has_errors(b)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(build_tree(b, a));
  if (has_errors(b)) PetscFunctionReturn(PETSC_SUCCESS);
  if (a->tree.n_v == 0) diagnostics_add_under(b->d, b->r->node, b->r->path, NULL, "has no joint that moves: use kind: static");
  if (a->tree.n_rates > ARTICULATED_MAX_RATES || a->tree.n_q > ARTICULATED_MAX_POSITIONS)
    diagnostics_add_under(b->d, b->r->node, b->r->path, NULL, "has %d degrees of freedom; at most %d are supported", a->tree.n_rates,
                          ARTICULATED_MAX_RATES);
  if (has_errors(b)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(allocate_state(a));
  for (int i = 0; i < a->tree.n; ++i)
    if (joint_type_rates((joint_type)a->tree.type[i]) == 1) PetscCall(set_joint_axis(b, a, i));
  for (int i = 0; i < a->tree.n; ++i)
    if (a->tree.type[i] == JOINT_BALL && isfinite(joint_of_link(b, i)->s.damping))
      for (int k = a->tree.rate_start[i]; k < a->tree.rate_start[i + 1]; ++k)
        a->axis[a->tree.dof[k]].damping = joint_of_link(b, i)->s.damping;
  a->size = body_size(a);
  PetscCall(read_loops(b, a));
  PetscCall(articulated_constraints_create(a));
  PetscCall(read_wrenches(b, a));
  if (has_errors(b)) PetscFunctionReturn(PETSC_SUCCESS);
  set_initial_state(b, a);
  articulated_body_place(a);
  check_mass(b, a);
  check_loops_closed(b, a);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode articulated_body_create(const body_request *r, const body_world *w, diagnostics *d, articulated_body **out)
{
  articulated_body   *a;
  articulated_builder b = {.r = r, .w = w, .d = d, .spec = r->spec, .before = diagnostics_count(d)};
  PetscFunctionBegin;
  *out = NULL;
  PetscCall(memory_alloc("articulated body", 1, sizeof *a, &a));
  a->base       = (body){.ops = &articulated_body_ops, .name = r->name};
  a->integrator = b.spec->integrator;
  v3_copy(a->gravity, w->gravity);
  const PetscErrorCode code = build(&b, a);
  for (int k = 0; k < b.n_joints; ++k) expression_destroy(&b.joints[k].course);
  MEMORY_FREE(&b.joints, &b.order, &b.joint_of);
  if (code || has_errors(&b)) articulated_body_destroy(a);
  else *out = a;
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- row of the registry of kinds ---- */

static PetscErrorCode articulated_build_create(const body_request *r, body_world *w, diagnostics *d, body **out)
{
  articulated_body *a;
  PetscFunctionBegin;
  *out = NULL;
  PetscCall(articulated_body_create(r, w, d, &a));
  if (a) *out = &a->base;
  PetscFunctionReturn(PETSC_SUCCESS);
}

const body_kind articulated_body_kind = {.name     = "articulated",
                                         .keys     = &articulated_body_table,
                                         .ops      = &articulated_body_ops,
                                         .material = BODY_MATERIAL_OPTIONAL,
                                         .create   = articulated_build_create};
