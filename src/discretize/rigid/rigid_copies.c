/* Implementation of rigid_copies.h: job keys, number and sizes of the bodies, poses, and poses from a file. */
#include "discretize/rigid/rigid_copies.h"
#include <string.h>
#include "core/csv.h"
#include "core/key_text.h"
#include "core/math3.h"
#include "core/memory.h"
#include "core/quaternion.h"
#include "core/random.h"
#include "discretize/rigid/placement.h"

enum { ARRANGE_LATTICE, ARRANGE_RANDOM, ARRANGE_FILE };
enum { STREAM_TURN = 0x70b9, MOST_BODIES = 100000000 };

/* clang-format off */
static const char *const arrangements[]     = {[ARRANGE_LATTICE] = "lattice", [ARRANGE_RANDOM] = "random", [ARRANGE_FILE] = "file", NULL};
static const char *const arrangement_help[] = {
  [ARRANGE_LATTICE] = "a lattice of bounding boxes, from the bottom of the region along z, then y, then x; bounding spheres with orientation: random",
  [ARRANGE_RANDOM]  = "random positions at which bounding spheres keep the distance gap; they fill at most about 0.35 of the region",
  [ARRANGE_FILE]    = "one body per row of `file`"};
static const char *const orientations[] = {"as_given", "random", NULL};
static const key_spec pour_keys[] = {
  {.name = "start", .type = KEY_REAL, .offset = offsetof(rigid_pour, start), .unit = "s", .fallback = "0", .min = 0, .max = INFINITY, .help = "first release"},
  {.name = "end", .type = KEY_REAL, .offset = offsetof(rigid_pour, end), .unit = "s", .min = 0, .max = INFINITY, .help = "no release at or after this time"},
  {.name = "every", .type = KEY_REAL, .offset = offsetof(rigid_pour, every), .unit = "s", .min = 0, .max = INFINITY, .is_open = true,
   .help = "time between releases, each of which fills the region; a body whose place is occupied is released as soon as it is free, with a warning"},
  {.name = NULL}};
static const key_table pour_table = {.name = "bodies.rigid.copies.pour", .help = "Fill the region at regular times, each time with other random numbers. `count`, `packing` and the rows of "
                                     "`file` apply to each release: the rate is their number of bodies divided by `every`.", .size = sizeof(rigid_pour), .keys = pour_keys};
static const key_spec copies_keys[] = {
  {.name = "arrangement", .type = KEY_ENUM, .offset = offsetof(rigid_copies_spec, arrangement), .choices = arrangements, .choice_help = arrangement_help,
   .help = "positions of the centres of mass"},
  {.name = "region", .type = KEY_TABLE, .offset = offsetof(rigid_copies_spec, region), .table = &shape_table, .is_optional = true, .only_if = {"arrangement", "lattice random"},
   .help = "shape that contains all bodies"},
  {.name = "count", .type = KEY_INT, .offset = offsetof(rigid_copies_spec, count), .is_optional = true, .min = 1, .max = MOST_BODIES, .only_if = {"arrangement", "lattice random"},
   .help = "number of bodies; lattice without count and packing: as many as the region can contain"},
  {.name = "packing", .type = KEY_REAL, .offset = offsetof(rigid_copies_spec, packing), .is_optional = true, .min = 0, .max = 1, .is_open = true, .only_if = {"arrangement", "lattice random"},
   .help = "instead of count: volume of all bodies divided by the volume of the region"},
  {.name = "gap", .type = KEY_REAL, .offset = offsetof(rigid_copies_spec, gap), .unit = "m", .min = 0, .max = INFINITY, .fallback = "0", .only_if = {"arrangement", "lattice random"},
   .help = "smallest distance between the bounding boxes (lattice) or bounding spheres (random) of two bodies"},
  {.name = "jitter", .type = KEY_REAL, .offset = offsetof(rigid_copies_spec, jitter), .min = 0, .max = 1, .fallback = "0", .only_if = {"arrangement", "lattice"},
   .help = "random shift in units of the free space around a body; 1: neighbours may touch, but never overlap"},
  {.name = "orientation", .type = KEY_ENUM, .offset = offsetof(rigid_copies_spec, is_any_turned), .choices = orientations, .fallback = "as_given", .only_if = {"arrangement", "lattice random"},
   .help = "of each body; random: all orientations are equally probable"},
  {.name = "seed", .type = KEY_INT, .offset = offsetof(rigid_copies_spec, seed), .fallback = "1", .min = 0, .max = 4294967295.0, .help = "seed of the random numbers"},
  {.name = "file", .type = KEY_PATH, .offset = offsetof(rigid_copies_spec, file), .is_optional = true, .is_input = true, .only_if = {"arrangement", "file"},
   .help = "CSV file with a header and the columns x, y, z [m]; optional: unit quaternion qw, qx, qy, qz; velocities vx, vy, vz [m/s] and wx, wy, wz [rad/s]; size "
           "(factor of the shape's lengths)"},
  {.name = "sizes", .type = KEY_TABLE, .offset = offsetof(rigid_copies_spec, sizes), .table = &size_distribution_table, .is_optional = true, .only_if = {"arrangement", "lattice random"},
   .help = "random sizes of the bodies"},
  {.name = "pour", .type = KEY_TABLE, .offset = offsetof(rigid_copies_spec, pour), .table = &pour_table, .is_optional = true,
   .help = "release the bodies over time; default: all exist from the start of the run"},
  {.name = NULL}};
/* clang-format on */
const key_table rigid_copies_table = {.name = "bodies.rigid.copies",
                                      .help =
                                          "Create many bodies from this entry: NAME.1, NAME.2, ... Everywhere in the job, NAME refers to "
                                          "all of them. Only the shape, size and orientation of the entry count, not its position.",
                                      .size = sizeof(rigid_copies_spec),
                                      .keys = copies_keys};

/* The entry that is expanded. */
typedef struct {
  const body_request      *r;
  const rigid_body_spec   *spec;
  const rigid_copies_spec *copies;
  rigid_body              *model;
  char                     path[280]; /* "bodies.NAME.copies" */
  const document_node     *node;      /* of this block */
  diagnostics             *d;
  /* The release that is being placed: its number, and its first body. */
  int64_t release, first;
} expansion;

static double size_of(const void *context, int64_t i)
{
  const expansion *e = context;
  return size_distribution_draw(e->copies->sizes, (uint64_t)e->copies->seed, e->first + i);
}

/* ==== poses in a region ==== */

/* Bounding box and bounding sphere of the model about its centre of mass. */
static void bound_model(const rigid_body *b, placement *o)
{
  double lower[3], upper[3], radius = 0.0;
  triangle_mesh_bounds(b->surface, o->lower, o->upper);
  for (int i = 0; i < b->n_level_sets && b->n_solids > 0; ++i) { /* exact for these shapes: curved surfaces reach beyond their triangles */
    level_set_bounds(b->level_sets[i], lower, upper);
    for (int k = 0; k < 3; ++k) o->lower[k] = fmin(o->lower[k], lower[k]), o->upper[k] = fmax(o->upper[k], upper[k]);
  }
  for (int i = 0; i < b->n_solids; ++i)
    if (b->solids[i].kind == CONVEX_SPHERE || b->solids[i].kind == CONVEX_CAPSULE)
      radius = fmax(radius, fmax(v3_norm(b->solids[i].from), v3_norm(b->solids[i].to)) + b->solids[i].radius);
  o->radius = fmax(radius, b->radius);
  if (b->n_solids != 1 || b->solids[0].kind == CONVEX_POLYHEDRON) o->n_points = b->surface->n_vertices, o->point = b->surface->x;
}

static void use_bounding_sphere(placement *o)
{
  for (int k = 0; k < 3; ++k) o->lower[k] = -o->radius, o->upper[k] = o->radius;
  o->n_points = 0;
}

/* Number of bodies from `count` or `packing`; INT64_MAX: neither is given; 0 after an error. */
static int64_t wanted_number(const expansion *e, double region)
{
  const rigid_copies_spec *c   = e->copies;
  double                   sum = 0.0;
  if (c->count != KEY_INT_ABSENT) return c->count;
  if (isnan(c->packing)) return INT64_MAX;
  for (int64_t i = 0; i < MOST_BODIES; ++i) {
    const double size = size_of(e, i);
    sum += e->model->volume * size * size * size;
    if (sum > c->packing * region) return i > 0 ? i : 1;
  }
  diagnostics_add_under(e->d, e->node, e->path, "packing", "%g needs more than %d bodies; choose larger bodies or a smaller region",
                        c->packing, MOST_BODIES);
  return 0;
}

static PetscErrorCode place_in_region(const expansion *e, const shape *region, int64_t *n, double **x)
{
  const rigid_copies_spec *c      = e->copies;
  placement                o      = {.region = region->piece[0], .gap = c->gap, .jitter = c->jitter};
  const int64_t            wanted = wanted_number(e, region->mass.volume);
  int64_t                  n_placed;
  PetscFunctionBegin;
  *n = 0, *x = NULL;
  if (wanted == 0) PetscFunctionReturn(PETSC_SUCCESS);
  o.seed = (uint64_t)c->seed + ((uint64_t)e->release << 32); /* c->seed has 32 bits */
  v3_copy(o.min, region->min);
  v3_copy(o.max, region->max);
  bound_model(e->model, &o);
  if (c->is_any_turned || c->arrangement == ARRANGE_RANDOM) use_bounding_sphere(&o);
  if (c->arrangement == ARRANGE_LATTICE) {
    const double         largest = size_distribution_largest(c->sizes);
    const PetscErrorCode code    = placement_lattice(&o, largest, size_of, e, wanted, n, x);
    if (code && !diagnostics_take(e->d, e->node, e->path, "region", code)) PetscCall(code);
    n_placed = *n;
  } else {
    double *size;
    PetscCall(MEMORY_ALLOC("placement", ARRAY(size, wanted), ARRAY(*x, 3 * wanted)));
    for (int64_t i = 0; i < wanted; ++i) size[i] = size_of(e, i);
    PetscCall(placement_random(&o, wanted, size, *x, &n_placed));
    memory_free(&size);
    *n = wanted;
  }
  if (n_placed < wanted && (wanted < INT64_MAX || n_placed == 0)) {
    if (wanted < INT64_MAX)
      diagnostics_add_under(e->d, e->node, e->path, c->count != KEY_INT_ABSENT ? "count" : "packing",
                            "arrangement: %s found positions for %lld of %lld bodies; enlarge the region, or reduce the %s or the gap%s",
                            arrangements[c->arrangement], (long long)n_placed, (long long)wanted,
                            c->count != KEY_INT_ABSENT ? "count" : "packing",
                            c->arrangement == ARRANGE_RANDOM ? ", or use arrangement: lattice" : "");
    else
      diagnostics_add_under(e->d, e->node, e->path, "region", "has no room for a body of %g x %g x %g m; enlarge it",
                            o.upper[0] - o.lower[0], o.upper[1] - o.lower[1], o.upper[2] - o.lower[2]);
    *n = 0;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Two points in the unit disc, each from the square around it by rejection. */
static void random_orientation(uint64_t seed, int64_t i, double q[4])
{
  double r[2];
  for (int pair = 0, attempt = 0; pair < 2; ++attempt) {
    uint64_t b[2];
    random_bits(seed, (uint64_t)i, STREAM_TURN + (uint64_t)attempt, b);
    q[2 * pair]     = 2.0 * random_unit_interval(b[0]) - 1.0;
    q[2 * pair + 1] = 2.0 * random_unit_interval(b[1]) - 1.0;
    r[pair]         = q[2 * pair] * q[2 * pair] + q[2 * pair + 1] * q[2 * pair + 1];
    if (r[pair] < 1.0 && (pair == 0 || r[1] > 0.0)) ++pair;
  }
  const double s = sqrt((1.0 - r[0]) / r[1]);
  q[2] *= s, q[3] *= s;
  quaternion_normalise(q);
}

static double release_time(const expansion *e)
{
  const rigid_pour *p = e->copies->pour;
  return p ? p->start + (double)e->release * p->every : 0.0;
}

/* Number of releases, from the start to before the end. */
static int64_t count_releases(const rigid_pour *p) { return p ? (int64_t)fmin(ceil((p->end - p->start) / p->every - 1e-6), 1e15) : 1; }

static rigid_pose pose_of_entry(const expansion *e)
{
  rigid_pose p = {.size = 1.0, .release = release_time(e)};
  quaternion_identity(p.orientation);
  v3_copy(p.velocity, e->spec->velocity);
  v3_copy(p.angular_velocity, e->spec->angular_velocity);
  return p;
}

/* False after an error: the releases, each of about `each` bodies, have too many together. */
static bool check_number(const expansion *e, int64_t each, int64_t n_releases)
{
  if ((double)each * (double)n_releases <= MOST_BODIES) return true;
  diagnostics_add_under(e->d, e->node, e->path, "pour",
                        "the releases have more than %d bodies; choose a later start, an earlier end or a longer `every`", MOST_BODIES);
  return false;
}

/* Append the poses of all releases to *pose [*n]. */
static PetscErrorCode fill_region(expansion *e, const shape *region, int64_t *n, rigid_pose **pose)
{
  const rigid_copies_spec *c          = e->copies;
  const int64_t            n_releases = count_releases(c->pour);
  int64_t                  capacity   = 0;
  PetscFunctionBegin;
  for (e->release = 0; e->release < n_releases; ++e->release) {
    double *x;
    int64_t more;
    e->first = *n;
    PetscCall(place_in_region(e, region, &more, &x));
    *n += more;
    PetscErrorCode code = memory_reserve("copies", *n, sizeof **pose, &capacity, pose);
    for (int64_t i = 0; i < more && !code; ++i) {
      rigid_pose *p = &(*pose)[e->first + i];
      *p            = pose_of_entry(e);
      v3_copy(p->position, x + 3 * i);
      p->size = size_of(e, i);
      if (c->is_any_turned) random_orientation((uint64_t)c->seed, e->first + i, p->orientation);
    }
    memory_free(&x);
    PetscCall(code);
    if (more == 0 || (e->release == 0 && !check_number(e, more, n_releases))) break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode poses_in_region(expansion *e, int64_t *n, rigid_pose **pose)
{
  char   path[300];
  shape *region = NULL;
  PetscFunctionBegin;
  snprintf(path, sizeof path, "%s.region", e->path);
  PetscCall(shape_create_region(e->copies->region, document_find(e->node, "region"), path, e->d, &region));
  if (!region) PetscFunctionReturn(PETSC_SUCCESS);
  PetscErrorCode code = PETSC_SUCCESS;
  if (!region->is_bounded)
    diagnostics_add_under(e->d, e->node, e->path, "region", "has no volume to fill with bodies; give a bounded shape");
  else code = fill_region(e, region, n, pose);
  shape_destroy(&region);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ==== poses from a file ==== */

static const struct {
  const char *name;
  size_t      offset; /* in rigid_pose */
} columns[] = {{"x", offsetof(rigid_pose, position)},
               {"y", offsetof(rigid_pose, position) + sizeof(double)},
               {"z", offsetof(rigid_pose, position) + 2 * sizeof(double)},
               {"qw", offsetof(rigid_pose, orientation)},
               {"qx", offsetof(rigid_pose, orientation) + sizeof(double)},
               {"qy", offsetof(rigid_pose, orientation) + 2 * sizeof(double)},
               {"qz", offsetof(rigid_pose, orientation) + 3 * sizeof(double)},
               {"vx", offsetof(rigid_pose, velocity)},
               {"vy", offsetof(rigid_pose, velocity) + sizeof(double)},
               {"vz", offsetof(rigid_pose, velocity) + 2 * sizeof(double)},
               {"wx", offsetof(rigid_pose, angular_velocity)},
               {"wy", offsetof(rigid_pose, angular_velocity) + sizeof(double)},
               {"wz", offsetof(rigid_pose, angular_velocity) + 2 * sizeof(double)},
               {"size", offsetof(rigid_pose, size)}};
enum { N_COLUMNS = sizeof columns / sizeof *columns };
/* First columns of the groups that must be complete. */
static const int group_start[] = {0, 3, 7, 10, 13, N_COLUMNS};

static const char *trimmed(const char *cell) { return cell + strspn(cell, " \t"); }

/* Column of the file for each entry of columns[]; -1: none. False after an error. */
static bool read_header(const expansion *e, const csv_table *t, int at[N_COLUMNS])
{
  const int before = diagnostics_count(e->d);
  for (int k = 0; k < N_COLUMNS; ++k) at[k] = -1;
  for (int j = 0; j < t->n_columns; ++j) {
    const char  *name   = trimmed(t->cell[j]);
    const size_t length = strcspn(name, " \t\r");
    int          k      = 0;
    while (k < N_COLUMNS && !(strlen(columns[k].name) == length && strncmp(name, columns[k].name, length) == 0)) ++k;
    if (k == N_COLUMNS)
      diagnostics_add_under(e->d, e->node, e->path, "file",
                            "%s:1: unknown column \"%.*s\"; expected x, y, z, and optionally qw, qx, qy, qz, vx, vy, vz, wx, wy, wz, size",
                            e->copies->file, (int)length, name);
    else if (at[k] >= 0)
      diagnostics_add_under(e->d, e->node, e->path, "file", "%s:1: column \"%s\" occurs twice; remove one", e->copies->file,
                            columns[k].name);
    else at[k] = j;
  }
  for (int g = 0; g + 1 < (int)(sizeof group_start / sizeof *group_start); ++g) {
    bool has_some = g == 0, has_all = true;
    for (int k = group_start[g]; k < group_start[g + 1]; ++k) has_some = has_some || at[k] >= 0, has_all = has_all && at[k] >= 0;
    for (int k = group_start[g]; k < group_start[g + 1] && has_some && !has_all; ++k)
      if (at[k] < 0)
        diagnostics_add_under(e->d, e->node, e->path, "file", "%s:1: column \"%s\" is missing; add it", e->copies->file, columns[k].name);
  }
  return diagnostics_count(e->d) == before;
}

/* Row `row` of the file, counted from 0 for the header. False after an error. */
static bool read_row(const expansion *e, const csv_table *t, const int at[N_COLUMNS], int64_t row, rigid_pose *p)
{
  *p = pose_of_entry(e);
  for (int k = 0; k < N_COLUMNS; ++k) {
    if (at[k] < 0) continue;
    char        text[64];
    double     *value = (double *)((char *)p + columns[k].offset);
    const char *cell  = trimmed(t->cell[row * t->n_columns + at[k]]);
    (void)snprintf(text, sizeof text, "%.*s", (int)strcspn(cell, " \t\r"), cell);
    if (key_text_real(text, value) == KEY_TEXT_OK && isfinite(*value)) continue;
    diagnostics_add_under(e->d, e->node, e->path, "file", "%s:%lld: column %s: expected a number, got \"%.60s\"", e->copies->file,
                          (long long)row + 1, columns[k].name, text);
    return false;
  }
  const double length = sqrt(quaternion_dot(p->orientation, p->orientation));
  if (!(fabs(length - 1.0) < 1e-3)) {
    diagnostics_add_under(e->d, e->node, e->path, "file", "%s:%lld: the quaternion qw, qx, qy, qz has length %g; divide it by its length",
                          e->copies->file, (long long)row + 1, length);
    return false;
  }
  quaternion_normalise(p->orientation);
  if (!(p->size > 0.0)) {
    diagnostics_add_under(e->d, e->node, e->path, "file", "%s:%lld: column size: expected a number > 0, got %g", e->copies->file,
                          (long long)row + 1, p->size);
    return false;
  }
  return true;
}

/* The poses [*n] of the first release apply to all others. */
static PetscErrorCode repeat_poses(expansion *e, int64_t *n, rigid_pose **pose)
{
  const int64_t n_releases = count_releases(e->copies->pour), each = *n;
  PetscFunctionBegin;
  if (each == 0 || !check_number(e, each, n_releases)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(memory_resize("copies", each * n_releases, sizeof **pose, pose));
  for (e->release = 1; e->release < n_releases; ++e->release)
    for (int64_t i = 0; i < each; ++i, ++*n) {
      (*pose)[*n]         = (*pose)[i];
      (*pose)[*n].release = release_time(e);
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode poses_from_file(expansion *e, int64_t *n, rigid_pose **pose)
{
  char     *text;
  int       length, at[N_COLUMNS];
  csv_table t = {0};
  PetscFunctionBegin;
  PetscCall(diagnostics_read_file(e->copies->file, e->node, e->path, "file", e->d, &text, &length));
  if (!text) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(memory_resize("poses", length + 2, 1, &text));
  if (length > 0 && text[length - 1] != '\n') text[length] = '\n', text[length + 1] = 0; /* csv_read ignores an incomplete last row */
  PetscErrorCode code = csv_read(e->copies->file, text, &t);
  memory_free(&text);
  if (code && diagnostics_take(e->d, e->node, e->path, "file", code)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(code);
  if (t.n_rows < 2) diagnostics_add_under(e->d, e->node, e->path, "file", "%s: expected a header and at least one row", e->copies->file);
  else if (read_header(e, &t, at)) {
    PetscCall(memory_alloc("copies", t.n_rows - 1, sizeof **pose, pose));
    for (*n = 0; *n < t.n_rows - 1; ++*n)
      if (!read_row(e, &t, at, *n + 1, &(*pose)[*n])) break;
    if (*n < t.n_rows - 1) *n = 0;
  }
  csv_clear(&t);
  PetscCall(repeat_poses(e, n, pose));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ==== bodies ==== */

/* Keys that contradict each other or are missing. */
static void check_keys(const expansion *e)
{
  const rigid_copies_spec *c       = e->copies;
  const bool               is_file = c->arrangement == ARRANGE_FILE;
  if (is_file && !c->file) diagnostics_add_under(e->d, e->node, e->path, NULL, "missing required key \"file\" of arrangement: file");
  if (!is_file && !c->region)
    diagnostics_add_under(e->d, e->node, e->path, NULL, "missing required key \"region\": give a shape to be filled");
  if (c->count != KEY_INT_ABSENT && isfinite(c->packing))
    diagnostics_add_under(e->d, e->node, e->path, "packing", "cannot be given together with count; remove one");
  if (c->arrangement == ARRANGE_RANDOM && c->count == KEY_INT_ABSENT && isnan(c->packing))
    diagnostics_add_under(e->d, e->node, e->path, NULL, "missing required key \"count\" or \"packing\" of arrangement: random");
  if (c->sizes) {
    char path[300];
    snprintf(path, sizeof path, "%s.sizes", e->path);
    size_distribution_check(c->sizes, document_find(e->node, "sizes"), path, e->d);
    if (c->arrangement == ARRANGE_LATTICE && !isfinite(size_distribution_largest(c->sizes)))
      diagnostics_add_under(e->d, document_find(e->node, "sizes"), path, NULL,
                            "missing required key \"limits\": a lattice needs a largest size");
  }
  if (c->pour && !(c->pour->end > c->pour->start))
    diagnostics_add_under(e->d, e->node, e->path, "pour",
                          "its end, %g s, is not after its start, %g s: nothing would be poured; increase `end`", c->pour->end,
                          c->pour->start);
  if (c->pour && e->spec->contact_surface == RIGID_CONTACT_MESH)
    diagnostics_add_under(e->d, e->node, e->path, "pour", "not supported with contact_surface: mesh; use level_set");
  if (e->spec->anchors.n > 0) diagnostics_add_under(e->d, e->r->node, e->r->path, "anchors", "not supported with copies; remove them");
}

static PetscErrorCode create_bodies(const expansion *e, const double gravity[3], int64_t n, const rigid_pose *pose, body ***bodies)
{
  PetscFunctionBegin;
  PetscCall(memory_alloc("copies", n, sizeof **bodies, bodies));
  for (int64_t i = 0; i < n; ++i) {
    char        name[280];
    rigid_body *b;
    (void)snprintf(name, sizeof name, "%.250s.%lld", e->r->name, (long long)i + 1);
    PetscCall(rigid_body_copy(e->model, name, &pose[i], &b));
    rigid_body_set_gravity(b, gravity);
    b->owns_model = i == 0; /* destroyed last */
    (*bodies)[i]  = &b->base;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode rigid_copies_create(const body_request *r, double density, const double gravity[3], diagnostics *d, int64_t *n,
                                   body ***bodies)
{
  expansion   e      = {.r = r, .spec = r->spec, .d = d, .node = document_find(r->node, "copies")};
  const int   before = diagnostics_count(d);
  rigid_pose *pose   = NULL;
  PetscFunctionBegin;
  *n = 0, *bodies = NULL;
  e.copies = e.spec->copies;
  (void)snprintf(e.path, sizeof e.path, "%.250s.copies", r->path);
  check_keys(&e);
  if (diagnostics_count(d) > before) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(rigid_body_create(r->name, RIGID_DYNAMIC, r->spec, density, r->node, r->path, d, &e.model));
  if (!e.model) PetscFunctionReturn(PETSC_SUCCESS);
  if (e.copies->arrangement == ARRANGE_FILE) PetscCall(poses_from_file(&e, n, &pose));
  else PetscCall(poses_in_region(&e, n, &pose));
  if (diagnostics_count(d) > before) *n = 0;
  if (*n > 0) PetscCall(create_bodies(&e, gravity, *n, pose, bodies));
  else rigid_body_destroy(&e.model);
  memory_free(&pose);
  PetscFunctionReturn(PETSC_SUCCESS);
}
