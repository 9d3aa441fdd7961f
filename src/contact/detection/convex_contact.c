/* Contacts between bodies made of convex solids, see convex_contact.h: box tree, then convex_pair.h for every overlapping pair. */
#include "contact/detection/convex_contact.h"
#include "contact/detection/contact_scene.h"
#include "geometry/convex/convex_pair.h"
#include "geometry/convex/convex_sweep.h"
#include "geometry/primitive/box_tree.h"
#include "core/memory.h"
#include <stdlib.h>

enum { PAIR_BLOCK = 2048, QUERY_CHUNK = 64, SERIAL_LIMIT = 32 };

typedef struct {
  int32_t first, second; /* solids */
} solid_pair;

struct convex_contact {
  int                  n_present; /* bodies that do not wait */
  int64_t              n, n_bounded, n_walls;
  int32_t             *body, *number;  /* [n] body of each solid, and its index in body_ops.solids */
  const convex_solid **solid;          /* [n] */
  double              *room;           /* work space of all poses */
  int64_t             *room_start;     /* [n] */
  convex_pose         *pose;           /* [n] */
  int32_t             *bounded, *wall; /* [n_bounded], [n_walls] solids; half-spaces have no box */
  double              *shift, *turn;   /* [n][3], [n]: displacement over the step, and largest additional displacement by rotation */
  double              *displacement;   /* [n]: sum of both */
  double              *box[6];         /* [n_bounded] */
  box_tree             tree;
  int64_t             *start; /* [n_bounded + 1] */
  int64_t              pair_capacity;
  solid_pair          *pair;
  convex_touches      *touches; /* [PAIR_BLOCK] */
  convex_touch        *area;    /* [CONVEX_MAX_AREA_POINTS] of one pair; NULL: no solid requests points of equal area */
  double              *share;   /* [PAIR_BLOCK] fraction of the step before first contact; 0: within the margin at the start */
  double              *moved;   /* work space of one pose */
};

bool convex_contact_takes(const body *a, const body *b)
{
  int n = 0, m = 0;
  if (a->ops->solids) (void)a->ops->solids(a, &n);
  if (b->ops->solids) (void)b->ops->solids(b, &m);
  return n > 0 && m > 0;
}

bool convex_contact_is_area(const contact_spot *s)
{
  return s->key[0] >> 56 == DETECTOR_CONVEX && convex_touch_is_area(s->key[1] & 0xffffffffu);
}

/* ---- creation ---- */

static void clear(convex_contact *c)
{
  MEMORY_FREE(&c->body, &c->number, &c->solid, &c->room, &c->room_start, &c->pose, &c->shift, &c->turn, &c->displacement, &c->share,
              &c->moved, &c->bounded, &c->wall);
  for (int k = 0; k < 6; ++k) memory_free(&c->box[k]);
  box_tree_clear(&c->tree);
  MEMORY_FREE(&c->start, &c->pair, &c->touches, &c->area);
  *c = (convex_contact){0};
}

void convex_contact_destroy(convex_contact **out)
{
  if (*out) clear(*out);
  memory_free(out);
}

static int count_present(int n_bodies, body *const *bodies)
{
  int n = 0;
  for (int b = 0; b < n_bodies; ++b) n += !bodies[b]->is_waiting;
  return n;
}

static PetscErrorCode copy_solids(convex_contact *c, int n_bodies, body *const *bodies)
{
  int64_t room = 0, largest = 0;
  PetscFunctionBegin;
  for (int pass = 0; pass < 2; ++pass) { /* count, then fill */
    if (pass == 1) {
      PetscCall(MEMORY_ALLOC("convex contact", ARRAY(c->body, c->n), ARRAY(c->number, c->n), ARRAY(c->solid, c->n),
                             ARRAY(c->room_start, c->n), ARRAY(c->bounded, c->n_bounded), ARRAY(c->wall, c->n_walls)));
    }
    c->n = c->n_bounded = c->n_walls = 0;
    for (int b = 0; b < n_bodies; ++b) {
      int                 n     = 0;
      const convex_solid *solid = bodies[b]->ops->solids && !bodies[b]->is_waiting ? bodies[b]->ops->solids(bodies[b], &n) : NULL;
      for (int i = 0; i < n; ++i, ++c->n) {
        const bool is_wall = solid[i].kind == CONVEX_HALF_SPACE;
        if (pass == 1) {
          c->body[c->n] = b, c->number[c->n] = i, c->solid[c->n] = &solid[i], c->room_start[c->n] = room;
          (is_wall ? c->wall : c->bounded)[is_wall ? c->n_walls : c->n_bounded] = (int32_t)c->n;
          room += convex_pose_work_size(&solid[i]);
          largest = convex_pose_work_size(&solid[i]) > largest ? convex_pose_work_size(&solid[i]) : largest;
        }
        if (is_wall) ++c->n_walls;
        else ++c->n_bounded;
      }
      PetscCheck(n < 1 << 16, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "%s: %d convex parts; at most 65535 are supported",
                 bodies[b]->name, n);
    }
    PetscCheck(c->n < INT32_MAX, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "%lld convex solids; at most %d are supported", (long long)c->n,
               INT32_MAX - 1);
  }
  PetscCall(MEMORY_ALLOC("convex contact", ARRAY(c->room, room), ARRAY(c->moved, largest)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* c: all zero. */
static PetscErrorCode fill(convex_contact *c, int n_bodies, body *const *bodies)
{
  PetscFunctionBegin;
  c->n_present = count_present(n_bodies, bodies);
  PetscCall(copy_solids(c, n_bodies, bodies));
  PetscCall(MEMORY_ALLOC("convex contact", ARRAY(c->pose, c->n), ARRAY(c->shift, 3 * c->n), ARRAY(c->turn, c->n),
                         ARRAY(c->displacement, c->n), ARRAY(c->share, PAIR_BLOCK)));
  for (int k = 0; k < 6; ++k) PetscCall(memory_alloc("convex contact", c->n_bounded, sizeof *c->box[k], &c->box[k]));
  PetscCall(box_tree_create(c->n_bounded, &c->tree));
  PetscCall(MEMORY_ALLOC("convex contact", ARRAY(c->start, c->n_bounded + 1), ARRAY(c->touches, PAIR_BLOCK)));
  bool has_area = false;
  for (int64_t i = 0; i < c->n; ++i) has_area |= c->solid[i]->area_points > 0;
  if (has_area) PetscCall(memory_alloc("convex contact", CONVEX_MAX_AREA_POINTS, sizeof *c->area, &c->area));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode convex_contact_create(int n_bodies, body *const *bodies, convex_contact **out)
{
  PetscFunctionBegin;
  PetscCall(memory_alloc("convex contact", 1, sizeof **out, out));
  PetscCall(fill(*out, n_bodies, bodies));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- candidate pairs of solids ---- */

/* Whether the sum of the displacements of the pair exceeds the margin. If not, all contacts are within the margin. */
static bool is_fast(const convex_contact *c, const contact_scene *scene, int32_t i, int32_t j)
{
  return c->displacement[i] + c->displacement[j] > scene->margin;
}

static void set_box(convex_contact *c, int64_t i, double margin)
{
  const convex_pose *p = &c->pose[c->bounded[i]];
  double             lo[3], hi[3];
  if (p->kind == CONVEX_POLYHEDRON) {
    v3_copy(lo, p->x);
    v3_copy(hi, p->x);
    for (int k = 1; k < p->solid->polyhedron->n_corners; ++k)
      for (int d = 0; d < 3; ++d) lo[d] = fmin(lo[d], p->x[3 * k + d]), hi[d] = fmax(hi[d], p->x[3 * k + d]);
  } else {
    for (int d = 0; d < 3; ++d) {
      const double r = p->kind == CONVEX_CYLINDER ? p->radius * sqrt(fmax(0.0, 1.0 - p->axis[d] * p->axis[d])) : p->radius;
      lo[d]          = fmin(p->from[d], p->to[d]) - r;
      hi[d]          = fmax(p->from[d], p->to[d]) + r;
    }
  }
  const int32_t self    = c->bounded[i];
  const bool    is_fast = c->displacement[self] > 0.5 * margin;
  for (int d = 0; d < 3; ++d) {
    const double forth = is_fast ? c->shift[3 * self + d] : 0.0, around = 0.5 * margin + (is_fast ? c->turn[self] : 0.0);
    c->box[d][i]     = lo[d] + fmin(forth, 0.0) - around;
    c->box[3 + d][i] = hi[d] + fmax(forth, 0.0) + around;
  }
}

static void set_poses(convex_contact *c, const contact_scene *scene)
{
  const double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, origin[3] = {0.0, 0.0, 0.0};
#pragma omp parallel for schedule(static) if (c->n > SERIAL_LIMIT)
  for (int64_t i = 0; i < c->n; ++i) {
    const int32_t      at = scene->frame[c->body[i]];
    const rigid_frame *f  = at < 0 ? NULL : &scene->frames[at];
    convex_pose_set(&c->pose[i], c->solid[i], f ? f->c : origin, f ? f->R : identity, c->room + c->room_start[i]);
    const double reach = v3_norm(c->solid[i]->center) + c->solid[i]->bound;
    c->turn[i]         = contact_scene_motion(scene, c->body[i], reach, c->shift + 3 * i);
    c->displacement[i] = v3_norm(c->shift + 3 * i) + c->turn[i];
  }
#pragma omp parallel for schedule(static) if (c->n > SERIAL_LIMIT)
  for (int64_t i = 0; i < c->n_bounded; ++i) set_box(c, i, scene->margin);
}

/* Gap up to which a pair is a candidate: the margin; for a fast pair with a half-space the sum of both displacements. */
static double reach_of(const convex_contact *c, const contact_scene *scene, int32_t i, int32_t j)
{
  const bool is_wall = c->pose[i].kind == CONVEX_HALF_SPACE || c->pose[j].kind == CONVEX_HALF_SPACE;
  return is_wall && is_fast(c, scene, i, j) ? c->displacement[i] + c->displacement[j] : scene->margin;
}

static bool may_touch(const convex_contact *c, const contact_scene *scene, int32_t i, int32_t j)
{
  const int32_t a = c->body[i], b = c->body[j];
  if (a == b || contact_scene_law(scene, a, b)->never_touch || !(contact_scene_moves(scene, a) || contact_scene_moves(scene, b)))
    return false;
  const convex_pose *p = &c->pose[i], *q = &c->pose[j];
  const double       near = reach_of(c, scene, i, j);
  if (p->kind == CONVEX_HALF_SPACE) return v3_dot(p->normal, q->center) - p->offset <= q->solid->bound + near;
  if (q->kind == CONVEX_HALF_SPACE) return v3_dot(q->normal, p->center) - q->offset <= p->solid->bound + near;
  double d[3], displacement[3];
  v3_sub(d, p->center, q->center);
  if (v3_norm(d) <= p->solid->bound + q->solid->bound + near) return true;
  if (!is_fast(c, scene, i, j)) return false;
  v3_sub(displacement, c->shift + 3 * i, c->shift + 3 * j); /* closest approach of the enclosing spheres along the displacement */
  const double ww = v3_dot(displacement, displacement), share = ww > 0.0 ? fmin(fmax(-v3_dot(d, displacement) / ww, 0.0), 1.0) : 0.0;
  v3_axpy(d, share, displacement);
  return v3_norm(d) <= p->solid->bound + q->solid->bound + near + c->turn[i] + c->turn[j];
}

/* Candidate pairs of bounded solid i with half-spaces and with bounded solids after i. out NULL: only their number is returned. */
static int64_t near(const convex_contact *c, const contact_scene *scene, int64_t i, solid_pair *out)
{
  const int32_t self   = c->bounded[i];
  const double  min[3] = {c->box[0][i], c->box[1][i], c->box[2][i]}, max[3] = {c->box[3][i], c->box[4][i], c->box[5][i]};
  int64_t       n = 0;
  for (int64_t w = 0; w < c->n_walls; ++w) {
    const int32_t wall = c->wall[w];
    if (!may_touch(c, scene, self, wall)) continue;
    if (out) out[n] = wall < self ? (solid_pair){wall, self} : (solid_pair){self, wall};
    ++n;
  }
  box_walk walk;
  int32_t  found[BOX_TREE_WIDTH];
  box_walk_begin(&walk, &c->tree, min, max);
  for (int m = box_walk_next(&walk, found); m > 0; m = box_walk_next(&walk, found))
    for (int k = 0; k < m; ++k) {
      if (found[k] <= i || !may_touch(c, scene, self, c->bounded[found[k]])) continue;
      if (out) out[n] = (solid_pair){self, c->bounded[found[k]]};
      ++n;
    }
  return n;
}

static int compare_pairs(const void *x, const void *y)
{
  const solid_pair *p = x, *q = y;
  if (p->first != q->first) return p->first < q->first ? -1 : 1;
  return (p->second > q->second) - (p->second < q->second);
}

static PetscErrorCode find_pairs(convex_contact *c, const contact_scene *scene, int64_t *n_pairs)
{
  PetscFunctionBegin;
  box_tree_fit(&c->tree, c->box);
#pragma omp parallel for schedule(dynamic, QUERY_CHUNK) if (c->n > SERIAL_LIMIT)
  for (int64_t i = 0; i < c->n_bounded; ++i) c->start[i + 1] = near(c, scene, i, NULL);
  for (int64_t i = 0; i < c->n_bounded; ++i) c->start[i + 1] += c->start[i];
  *n_pairs = c->start[c->n_bounded];
  PetscCall(memory_reserve("convex contact", *n_pairs, sizeof *c->pair, &c->pair_capacity, &c->pair));
#pragma omp parallel for schedule(dynamic, QUERY_CHUNK) if (c->n > SERIAL_LIMIT)
  for (int64_t i = 0; i < c->n_bounded; ++i) {
    const int64_t n = near(c, scene, i, c->pair + c->start[i]);
    if (n > 1) qsort(c->pair + c->start[i], (size_t)n, sizeof *c->pair, compare_pairs);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- contacts of the pairs ---- */

static void write_spot(const convex_contact *c, const contact_scene *scene, const solid_pair *pair, const convex_touch *t, double share,
                       contact_spot *o)
{
  const int32_t a = c->body[pair->first], b = c->body[pair->second];
  const double  on_a = contact_scene_moves(scene, a) ? 1.0 : 0.0, on_b = contact_scene_moves(scene, b) ? 1.0 : 0.0;
  o->key[0] = contact_key(DETECTOR_CONVEX, a, b);
  o->key[1] = (uint64_t)c->number[pair->first] << 48 | (uint64_t)c->number[pair->second] << 32 | t->feature;
  o->body_a = a, o->body_b = b;
  o->a.kind = o->b.kind = FEATURE_FRAME;
  v3_copy(o->a.x, t->x);
  if (share >
      0.0) { /* a swept contact acts at the material point of each body that will collide; the two can be far apart perpendicular to the normal */
    v3_copy(o->b.x, t->x);
    v3_axpy(o->a.x, -share, c->shift + 3 * (int64_t)pair->first);
    v3_axpy(o->a.x, share, c->shift + 3 * (int64_t)pair->second);
  } else {
    v3_axpy(o->a.x, 0.5 * (on_a - on_b) * t->gap, t->normal);
    v3_copy(o->b.x, o->a.x);
  }
  v3_copy(o->normal, t->normal);
  o->gap         = t->gap;
  o->friction    = contact_scene_law(scene, a, b)->friction;
  o->restitution = contact_scene_law(scene, a, b)->restitution;
}

static void find_touches(convex_contact *c, const contact_scene *scene, int64_t n, const solid_pair *pair)
{
#pragma omp parallel for schedule(dynamic, 16) if (n > SERIAL_LIMIT)
  for (int64_t i = 0; i < n; ++i) {
    const int32_t p = pair[i].first, q = pair[i].second;
    c->share[i] = 0.0;
    convex_pair_touches(&c->pose[p], &c->pose[q], reach_of(c, scene, p, q), &c->touches[i]);
  }
  for (int64_t i = 0; i < n; ++i) { /* few pairs: serial */
    const int32_t p = pair[i].first, q = pair[i].second;
    double        displacement[3];
    if (c->touches[i].n > 0 || !is_fast(c, scene, p, q)) continue;
    if (c->pose[p].kind == CONVEX_HALF_SPACE || c->pose[q].kind == CONVEX_HALF_SPACE) continue;
    v3_sub(displacement, c->shift + 3 * (int64_t)p, c->shift + 3 * (int64_t)q);
    convex_sweep(&c->pose[p], &c->pose[q], displacement, c->turn[p] + c->turn[q], c->moved, &c->share[i], &c->touches[i]);
  }
}

/* Contacts of pair i of the block, whose faces request points of equal area, replace its touches where possible. */
static PetscErrorCode append_area(convex_contact *c, const contact_scene *scene, const solid_pair *pair, convex_touches *touches,
                                  double share, contact_set *set)
{
  const convex_pose *p = &c->pose[pair->first], *q = &c->pose[pair->second];
  contact_spot      *spot;
  PetscFunctionBegin;
  if (touches->n == 0 || share > 0.0 || convex_pair_area_points(p, q) == 0) PetscFunctionReturn(PETSC_SUCCESS);
  const int n = convex_pair_area_touches(p, q, reach_of(c, scene, pair->first, pair->second), c->area);
  if (n <= 0) PetscFunctionReturn(PETSC_SUCCESS);
  touches->n = 0;
  PetscCall(contact_set_append(set, n, &spot));
  for (int k = 0; k < n; ++k) write_spot(c, scene, pair, &c->area[k], share, spot++);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode convex_contact_find(convex_contact *c, const contact_scene *scene, contact_set *set)
{
  int64_t n_pairs;
  PetscFunctionBegin;
  if (count_present(scene->n_bodies, scene->body) != c->n_present) {
    clear(c);
    PetscCall(fill(c, scene->n_bodies, scene->body));
  }
  if (c->n_bounded == 0) PetscFunctionReturn(PETSC_SUCCESS);
  set_poses(c, scene);
  PetscCall(find_pairs(c, scene, &n_pairs));
  for (int64_t lo = 0; lo < n_pairs; lo += PAIR_BLOCK) {
    const int64_t m = n_pairs - lo < PAIR_BLOCK ? n_pairs - lo : PAIR_BLOCK;
    find_touches(c, scene, m, c->pair + lo);
    for (int64_t i = 0; i < m && c->area; ++i) PetscCall(append_area(c, scene, &c->pair[lo + i], &c->touches[i], c->share[i], set));
    int64_t       n = 0;
    contact_spot *spot;
    for (int64_t i = 0; i < m; ++i) n += c->touches[i].n;
    if (n == 0) continue;
    PetscCall(contact_set_append(set, n, &spot));
    for (int64_t i = 0; i < m; ++i)
      for (int k = 0; k < c->touches[i].n; ++k) write_spot(c, scene, &c->pair[lo + i], &c->touches[i].touch[k], c->share[i], spot++);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
