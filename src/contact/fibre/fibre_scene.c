/* Contacts of all fibres of a scene, see fibre_scene.h. State: the fibre contacts of the last accepted step. */
#include "contact/fibre/fibre_scene.h"
#include "contact/detection/contact_detectors.h"
#include "contact/detection/contact_scene.h"
#include "contact/fibre/fibre_contact.h"
#include "contact/fibre/fibre_object.h"
#include "contact/fibre/fibre_points.h"
#include "contact/rows/contact_jacobian.h"
#include "core/field_table.h"
#include "core/math3.h"
#include "core/memory.h"
#include <string.h>

/* Fibre contacts of the last accepted step. They identify persistent contacts, and the side of fibres that have passed through
 * each other. Stored in checkpoints. */

/* Zero-initialised except for n_segments. The arrays after `spot` contain the same data, one array per quantity, for the field table. */
typedef struct {
  int64_t     n_segments; /* number of segments of all fibres */
  int64_t     n, capacity, spot_capacity;
  fibre_spot *spot;                     /* [n] ascending by segments */
  int32_t    *segment;                  /* [n][2] */
  uint8_t    *feature;                  /* [n][3] two features, is_swept */
  double     *at, *axis, *normal, *gap; /* [n][2] [n][6] [n][3] [n] */
} fibre_past;

/* ---- storage in checkpoints ---- */

static void fibre_past_clear(fibre_past *p) { MEMORY_FREE(&p->spot, &p->segment, &p->feature, &p->at, &p->axis, &p->normal, &p->gap); }

static PetscErrorCode fibre_scene_resize(void *context, int64_t n_rows)
{
  fibre_past *p = context;
  PetscFunctionBeginUser;
  PetscCall(MEMORY_RESERVE("fibre contacts", n_rows, &p->capacity, ARRAY(p->segment, 2), ARRAY(p->feature, 3), ARRAY(p->at, 2),
                           ARRAY(p->axis, 6), ARRAY(p->normal, 3), ARRAY(p->gap, 1)));
  p->n = n_rows;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Convert the arrays to spots. */
static PetscErrorCode read_spots(fibre_past *p)
{
  PetscFunctionBeginUser;
  PetscCall(memory_reserve("fibre contacts", p->n, sizeof *p->spot, &p->spot_capacity, &p->spot));
  for (int64_t i = 0; i < p->n; ++i) {
    fibre_spot *s = &p->spot[i];
    *s            = (fibre_spot){.is_swept = p->feature[3 * i + 2] != 0, .gap = p->gap[i]};
    for (int k = 0; k < 2; ++k) {
      s->segment[k] = p->segment[2 * i + k];
      s->feature[k] = p->feature[3 * i + k];
      s->at[k]      = p->at[2 * i + k];
      v3_copy(s->axis[k], p->axis + 6 * i + 3 * k);
    }
    v3_copy(s->normal, p->normal + 3 * i);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode fibre_past_set(fibre_past *p, int64_t n, const fibre_spot *spot)
{
  PetscFunctionBeginUser;
  PetscCall(fibre_scene_resize(p, n));
  for (int64_t i = 0; i < n; ++i) {
    const fibre_spot *s   = &spot[i];
    p->feature[3 * i + 2] = s->is_swept;
    p->gap[i]             = s->gap;
    for (int k = 0; k < 2; ++k) {
      p->segment[2 * i + k] = s->segment[k];
      p->feature[3 * i + k] = s->feature[k];
      p->at[2 * i + k]      = s->at[k];
      v3_copy(p->axis + 6 * i + 3 * k, s->axis[k]);
    }
    v3_copy(p->normal + 3 * i, s->normal);
  }
  p->n = n;
  PetscCall(read_spots(p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- state ----------------------------------------------------------------------------------------------------------- */

/* Checkpoints are untrusted: segments are validated, and entries sorted by segments. */
static PetscErrorCode fibre_scene_restored(void *context)
{
  fibre_past *p = context;
  PetscFunctionBeginUser;
  for (int64_t i = 0; i < p->n; ++i) {
    bool is_sound = isfinite(p->gap[i]) && isfinite(v3_norm(p->normal + 3 * i)) && p->feature[3 * i] <= FIBRE_LAST &&
                    p->feature[3 * i + 1] <= FIBRE_LAST && isfinite(v3_norm(p->axis + 6 * i) + v3_norm(p->axis + 6 * i + 3));
    for (int k = 0; k < 2; ++k)
      is_sound = is_sound && p->segment[2 * i + k] >= 0 && p->segment[2 * i + k] < p->n_segments && p->at[2 * i + k] >= 0.0 &&
                 p->at[2 * i + k] <= 1.0;
    if (i > 0)
      is_sound = is_sound && (p->segment[2 * i - 2] < p->segment[2 * i] ||
                              (p->segment[2 * i - 2] == p->segment[2 * i] && p->segment[2 * i - 1] <= p->segment[2 * i + 1]));
    PetscCheck(is_sound, PETSC_COMM_SELF, PETSC_ERR_FILE_UNEXPECTED,
               "contact/fibres: row %lld is not a contact of fibres of this job, or not in ascending order", (long long)i);
  }
  PetscCall(read_spots(p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Register the group "contact/fibres" (checkpoint). The address of *p must not change. */
static PetscErrorCode fibre_past_fields(fibre_past *p, field_table *table)
{
  field_group *group;
  PetscFunctionBeginUser;
  PetscCall(field_table_add_group(table, "contact/fibres", FIELD_GROUP_PLAIN, &p->n, p, &group));
  group->resize   = fibre_scene_resize;
  group->restored = fibre_scene_restored;
  PetscCall(field_table_add(table, group, "segment", "1", FIELD_I32, 2, &p->segment, FIELD_CHECKPOINT, "numbers among all segments"));
  PetscCall(field_table_add(table, group, "feature", "1", FIELD_U8, 3, &p->feature, FIELD_CHECKPOINT,
                            "on each segment: inside, first or last vertex; third: found in the step"));
  PetscCall(field_table_add(table, group, "at", "1", FIELD_F64, 2, &p->at, FIELD_CHECKPOINT, "along each segment, 0 to 1"));
  PetscCall(field_table_add(table, group, "axis", "m", FIELD_F64, 6, &p->axis, FIELD_CHECKPOINT, "points on both axes"));
  PetscCall(field_table_add(table, group, "normal", "1", FIELD_F64, 3, &p->normal, FIELD_CHECKPOINT, "from the second to the first"));
  PetscCall(field_table_add(table, group, "gap", "m", FIELD_F64, 1, &p->gap, FIELD_CHECKPOINT, "gap between the surfaces"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- contacts of a scene ---- */

#define ENTRY 0.05 /* smallest predicted penetration of an object that causes a contact, relative to the radius */

#define STRAY 0.02 /* change of a predicted position, relative to the radius, after which its segments are searched again */

/* Range of the fibres of one body in the arrays of all fibres. */
typedef struct {
  int32_t body;
  int64_t first_node, n_nodes, first_segment, n_segments;
} fibre_part;

struct fibre_scene {
  fibre_contact     *contact;
  fibre_points      *points;
  int                n_parts;
  fibre_part        *part;
  int64_t            n_nodes, n_segments;
  int32_t           *part_of; /* [n_segments] */
  double            *radius;  /* [n_segments] */
  int64_t           *end;     /* [n_segments][2] nodes */
  bool              *is_last; /* [n_segments] last of an open strand: its second node belongs to no other segment */
  bool              *lands;   /* [n_segments][2] vertices that land on the current object */
  double             thickest;
  double            *x0, *x1;           /* [n_nodes][3] */
  double            *searched_x1;       /* [n_nodes][3] x1 at the last search of moving segments */
  bool              *has_moved, *moves; /* [n_nodes] x1 has changed since then; [n_segments] a node of the segment has changed */
  fibre_past         past;
  int64_t            n_found;
  fibre_spot        *found; /* contacts of the first search of this step */
  int64_t            found_capacity;
  bool              *touches; /* [n_bodies] bodies with contact with the current object */
  fibre_object_spots on_object;
  int                n_looks; /* number of searches in this step after the first */
};

/* ---- creation ------------------------------------------------------------------------------------------------------ */

static void segments_of(const body *b, body_segments *out)
{
  *out = (body_segments){0};
  if (b->ops->segments) b->ops->segments(b, out);
}

static PetscErrorCode list_parts(fibre_scene *f, int n_bodies, body *const *bodies)
{
  PetscFunctionBeginUser;
  PetscCall(memory_alloc("fibres", n_bodies, sizeof *f->part, &f->part));
  for (int i = 0; i < n_bodies; ++i) {
    body_segments s;
    segments_of(bodies[i], &s);
    if (s.n_segments == 0) continue;
    f->part[f->n_parts++] = (fibre_part){i, f->n_nodes, s.n_nodes, f->n_segments, s.n_segments};
    f->n_nodes += s.n_nodes;
    f->n_segments += s.n_segments;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode find_ends(fibre_scene *f, const int32_t *segment)
{
  bool *is_first;
  PetscFunctionBeginUser;
  PetscCall(memory_alloc("fibres", f->n_nodes, sizeof *is_first, &is_first));
  for (int64_t i = 0; i < f->n_segments; ++i) is_first[segment[2 * i]] = true;
  for (int64_t i = 0; i < f->n_segments; ++i) {
    for (int k = 0; k < 2; ++k) f->end[2 * i + k] = segment[2 * i + k];
    f->is_last[i] = !is_first[segment[2 * i + 1]];
  }
  memory_free(&is_first);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode create_finder(fibre_scene *f, int n_bodies, body *const *bodies, const pair_classes *pairs, const contact_law *law)
{
  int32_t      *segment, *strand, *of_body;
  bool         *can_touch;
  const int64_t n_slots   = pair_n_slots(pairs, n_bodies);
  int32_t       n_strands = 0;
  PetscFunctionBeginUser;
  PetscCall(MEMORY_ALLOC("fibres", ARRAY(segment, 2 * f->n_segments), ARRAY(strand, f->n_segments), ARRAY(of_body, f->n_segments),
                         ARRAY(can_touch, n_slots)));
  for (int p = 0; p < f->n_parts; ++p) {
    const fibre_part *part = &f->part[p];
    body_segments     s;
    int32_t           most = -1;
    segments_of(bodies[part->body], &s);
    for (int64_t i = 0; i < s.n_segments; ++i) {
      const int64_t at = part->first_segment + i;
      for (int k = 0; k < 2; ++k) segment[2 * at + k] = (int32_t)(part->first_node + s.segment[2 * i + k]);
      strand[at]     = n_strands + s.strand[i];
      of_body[at]    = part->body;
      f->part_of[at] = p;
      f->radius[at]  = s.radius[i];
      f->thickest    = fmax(f->thickest, s.radius[i]);
      if (s.strand[i] > most) most = s.strand[i];
    }
    n_strands += most + 1;
  }
  PetscCall(find_ends(f, segment));
  for (int64_t i = 0; i < n_slots; ++i) can_touch[i] = !law[i].never_touch;
  const fibre_set set  = {f->n_nodes, f->n_segments, segment, strand, f->radius, n_bodies, of_body, can_touch, pairs};
  PetscErrorCode  code = fibre_contact_create(&set, &f->contact);
  MEMORY_FREE(&segment, &strand, &of_body, &can_touch);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode fibre_scene_create(int n_bodies, body *const *bodies, const pair_classes *pairs, const contact_law *law, fibre_scene **out)
{
  PetscFunctionBeginUser;
  PetscCall(memory_alloc("fibres", 1, sizeof **out, out));
  fibre_scene *f = *out;
  PetscCall(list_parts(f, n_bodies, bodies));
  if (f->n_segments == 0) {
    fibre_scene_destroy(out);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCheck(f->n_segments < 1 << 28, PETSC_COMM_SELF, PETSC_ERR_SUP, "%lld fibre segments; contact keys allow less than 2^28",
             (long long)f->n_segments);
  PetscCall(MEMORY_ALLOC("fibres", ARRAY(f->part_of, f->n_segments), ARRAY(f->radius, f->n_segments), ARRAY(f->end, 2 * f->n_segments),
                         ARRAY(f->lands, 2 * f->n_segments), ARRAY(f->is_last, f->n_segments), ARRAY(f->x0, 3 * f->n_nodes),
                         ARRAY(f->x1, 3 * f->n_nodes), ARRAY(f->searched_x1, 3 * f->n_nodes), ARRAY(f->has_moved, f->n_nodes),
                         ARRAY(f->moves, f->n_segments), ARRAY(f->touches, n_bodies)));
  f->past.n_segments = f->n_segments;
  PetscCall(create_finder(f, n_bodies, bodies, pairs, law));
  PetscCall(fibre_points_create(&f->points));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void fibre_scene_destroy(fibre_scene **out)
{
  if (!out || !*out) return;
  fibre_scene *f = *out;
  fibre_contact_destroy(&f->contact);
  fibre_points_destroy(&f->points);
  fibre_object_spots_clear(&f->on_object);
  fibre_past_clear(&f->past);
  MEMORY_FREE(&f->end, &f->is_last, &f->lands, &f->touches, &f->part, &f->part_of, &f->radius, &f->x0, &f->x1, &f->found, &f->searched_x1,
              &f->has_moved, &f->moves, out);
}

/* ---- search --------------------------------------------------------------------------------------------------------- */

double fibre_scene_thickness(const fibre_scene *f) { return f ? f->thickest : 0.0; }

/* Predicted end positions of all nodes. */
static void predict_end_positions(fibre_scene *f, const contact_scene *scene)
{
  for (int p = 0; p < f->n_parts; ++p) {
    const fibre_part *part = &f->part[p];
#pragma omp parallel for schedule(static) if (part->n_segments > 256)
    for (int64_t k = 0; k < 2 * part->n_segments; ++k) {
      const int64_t         segment = part->first_segment + k / 2, node = f->end[2 * segment + k % 2];
      body_contact_location spot = {.kind = FEATURE_SEGMENT, .index = k / 2, .w = {(double)(k % 2)}};
      double                v[3];
      if (k % 2 == 1 && !f->is_last[segment]) continue;
      v3_copy(spot.x, f->x0 + 3 * node);
      contact_spot_velocity(scene, part->body, &spot, scene->v, v);
      v3_copy(f->x1 + 3 * node, spot.x);
      v3_axpy(f->x1 + 3 * node, scene->dt, v);
    }
  }
}

/* Compute the current positions of nodes and their predicted end positions without contact. */
static void fibre_scene_gather(fibre_scene *f, const contact_scene *scene)
{
  for (int p = 0; p < f->n_parts; ++p) {
    const fibre_part *part  = &f->part[p];
    const body       *b     = scene->body[part->body];
    body_segments     s     = {0};
    body_nodes        nodes = {0};
    b->ops->segments(b, &s); /* every part has segments, see list_parts */
    if (b->ops->nodes) b->ops->nodes(b, &nodes);
    for (int64_t i = 0; i < part->n_nodes; ++i) {
      double *x0 = f->x0 + 3 * (part->first_node + i), *x1 = f->x1 + 3 * (part->first_node + i);
      v3_copy(x0, s.x + 3 * i);
      v3_copy(x1, x0);
      if (nodes.n != part->n_nodes) continue;
      v3_axpy(x1, scene->dt, nodes.v + 3 * i);
      v3_axpy(x1, scene->dt * scene->dt, scene->gravity);
    }
  }
  if (scene->v) predict_end_positions(f, scene);
}

/* Mark segments whose predicted end position has changed since the last search, and store the new one. */
static void mark_moves(fibre_scene *f)
{
  const double tolerance = STRAY * f->thickest;
#pragma omp parallel for schedule(static) if (f->n_nodes > 256)
  for (int64_t i = 0; i < f->n_nodes; ++i) {
    double d[3];
    v3_sub(d, f->x1 + 3 * i, f->searched_x1 + 3 * i);
    f->has_moved[i] = !(v3_dot(d, d) <= tolerance * tolerance);
    if (f->has_moved[i]) v3_copy(f->searched_x1 + 3 * i, f->x1 + 3 * i);
  }
#pragma omp parallel for schedule(static) if (f->n_segments > 256)
  for (int64_t k = 0; k < f->n_segments; ++k) f->moves[k] = f->has_moved[f->end[2 * k]] || f->has_moved[f->end[2 * k + 1]];
}

/* Key of a spot: 28 bits for each segment, 2 for each feature, and the kind of search. */
static void key_of(const fibre_scene *f, const fibre_spot *s, uint64_t key[2])
{
  const fibre_part *a = &f->part[f->part_of[s->segment[0]]], *b = &f->part[f->part_of[s->segment[1]]];
  key[0] = contact_key(DETECTOR_FIBRE, a->body, b->body);
  key[1] =
      ((((uint64_t)(s->segment[0] - a->first_segment) << 28 | (uint64_t)(s->segment[1] - b->first_segment)) << 2 | s->feature[0]) << 2 |
       s->feature[1])
          << 1 |
      (uint64_t)s->is_swept;
}

static void make_spot(const fibre_scene *f, const contact_scene *scene, const fibre_spot *from, contact_spot *to)
{
  body_contact_location *const sides[2] = {&to->a, &to->b};
  int32_t                      bodies[2];
  key_of(f, from, to->key);
  for (int k = 0; k < 2; ++k) {
    const fibre_part *part = &f->part[f->part_of[from->segment[k]]];
    const double      out  = f->radius[from->segment[k]] + 0.5 * from->gap;
    bodies[k]              = part->body;
    sides[k]->kind         = FEATURE_SEGMENT;
    sides[k]->index        = from->segment[k] - part->first_segment;
    sides[k]->w[0]         = from->at[k];
    v3_copy(sides[k]->x, from->axis[k]);
    v3_axpy(sides[k]->x, k == 0 ? -out : out, from->normal);
  }
  for (int i = 0; i < 3; ++i) to->a.x[i] = to->b.x[i] = 0.5 * (to->a.x[i] + to->b.x[i]);
  v3_copy(to->normal, from->normal);
  const contact_law *law = contact_scene_law(scene, bodies[0], bodies[1]);
  to->body_a = bodies[0], to->body_b = bodies[1];
  to->gap      = from->gap;
  to->friction = law->friction, to->restitution = law->restitution;
}

static PetscErrorCode keep_found(fibre_scene *f, int64_t n, const fibre_spot *found)
{
  PetscFunctionBeginUser;
  PetscCall(memory_reserve("fibre contacts", n, sizeof *f->found, &f->found_capacity, &f->found));
  if (n > 0) memcpy(f->found, found, (size_t)n * sizeof *found);
  f->n_found = n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Merge with the contacts of the first search; contacts found again do not change. */
static PetscErrorCode merge_found(fibre_scene *f, int64_t n, const fibre_spot *found)
{
  fibre_spot   *first;
  const int64_t m = f->n_found;
  int64_t       i = 0, k = 0;
  PetscFunctionBeginUser;
  PetscCall(memory_alloc("fibre contacts", m, sizeof *first, &first));
  if (m > 0) memcpy(first, f->found, (size_t)m * sizeof *first);
  const PetscErrorCode code = memory_reserve("fibre contacts", m + n, sizeof *f->found, &f->found_capacity, &f->found);
  f->n_found                = 0;
  while (!code && (i < m || k < n)) {
    const int order        = i == m ? 1 : k == n ? -1 : fibre_spot_compare(&first[i], &found[k]);
    f->found[f->n_found++] = order <= 0 ? first[i] : found[k];
    i += order <= 0, k += order >= 0;
  }
  memory_free(&first);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void make_object_spot(const fibre_scene *f, const contact_scene *scene, const contact_object *object, int32_t ordinal,
                             const fibre_object_spot *from, contact_spot *to)
{
  const fibre_part  *part    = &f->part[f->part_of[from->segment]];
  const contact_law *law     = contact_scene_law(scene, part->body, object->body_id);
  const uint64_t     segment = (uint64_t)(from->segment - part->first_segment);
  to->key[0]                 = contact_key(DETECTOR_FIBRE_OBJECT, part->body, object->body_id);
  to->key[1] = (((segment << 24 | (uint64_t)(uint32_t)ordinal) << 2 | from->feature) << 8 | from->ordinal) << 1 | (uint64_t)from->is_swept;
  to->body_a = part->body, to->body_b = object->body_id;
  to->a = (body_contact_location){.kind = FEATURE_SEGMENT, .index = from->segment - part->first_segment, .w = {from->at}};
  to->b = (body_contact_location){.kind = FEATURE_FRAME};
  v3_copy(to->a.x, from->axis);
  v3_axpy(to->a.x, -f->radius[from->segment], from->normal);
  v3_copy(to->b.x, to->a.x);
  v3_copy(to->normal, from->normal);
  to->gap      = from->gap;
  to->friction = law->friction, to->restitution = law->restitution;
}

/* Search margin: at most one radius. Swept contacts cover larger distances, where the current nearest points are not
 * representative. */
static double margin_of(const fibre_scene *f, const contact_scene *s) { return fmin(s->margin, f->thickest); }

/* Mark vertices for contacts with an object. A segment that lies flat on a level set, or lands on it along its whole length, first has a
 * contact at its lowest point. Its other vertices that would penetrate by the end of the step without contact are marked as well, except
 * those in f->on_object. is_again: all vertices that penetrate in spite of their contacts. */
static void mark_landing(fibre_scene *f, const contact_object *object, const rigid_frame *end, bool is_again)
{
  double min[3], max[3];
  level_set_bounds(object->phi, min, max);
  for (int p = 0; p < f->n_parts; ++p) {
    const fibre_part *part = &f->part[p];
#pragma omp parallel for schedule(static) if (part->n_segments > 256)
    for (int64_t k = 0; k < 2 * part->n_segments; ++k) {
      const int64_t segment = part->first_segment + k / 2;
      const double *x = f->x1 + 3 * f->end[2 * segment + k % 2], radius = f->radius[segment];
      double        x_b[3];
      f->lands[2 * segment + k % 2] = false;
      if (!f->touches[part->body] || (k % 2 == 1 && !f->is_last[segment])) continue;
      rigid_frame_to_local(end, x, x_b);
      bool is_near = true;
      for (int i = 0; i < 3; ++i) is_near = is_near && x_b[i] > min[i] - radius && x_b[i] < max[i] + radius;
      f->lands[2 * segment + k % 2] = is_near && level_set_value(object->phi, x_b) < radius;
    }
  }
  for (int64_t i = 0; i < f->on_object.n && !is_again; ++i) {
    const fibre_object_spot *s = &f->on_object.spot[i];
    if (s->feature != FIBRE_INSIDE) f->lands[2 * (int64_t)s->segment + (s->feature == FIBRE_LAST)] = false;
  }
}

static fibre_object_spot swept_vertex(int64_t k, const double x[3])
{
  fibre_object_spot spot = {
      .segment = (int32_t)(k / 2), .feature = k % 2 ? FIBRE_LAST : FIBRE_FIRST, .is_swept = true, .at = k % 2 ? 1.0 : 0.0};
  v3_copy(spot.axis, x);
  return spot;
}

/* The contact of a landing vertex; false if the gradient of the level set vanishes. */
static bool landing_spot(const fibre_scene *f, const contact_object *object, const rigid_frame *start, int64_t k, fibre_object_spot *out)
{
  double x_b[3], g[3];
  *out = swept_vertex(k, f->x0 + 3 * f->end[k]);
  rigid_frame_to_local(start, out->axis, x_b);
  out->gap = level_set_eval(object->phi, x_b, g, NULL) - f->radius[k / 2];
  if (!(v3_norm(g) > 0.0)) return false;
  m3_mulv(out->normal, start->R, g);
  v3_scale(out->normal, 1.0 / v3_norm(out->normal), out->normal);
  return true;
}

/* Contact of a vertex that is predicted to enter the object. A vertex between two bumps may have a contact with one and enter
 * the other. */
static bool entry_spot(const fibre_scene *f, const contact_object *object, const rigid_frame *start, const rigid_frame *end, int64_t k,
                       fibre_object_spot *out)
{
  const double *x0 = f->x0 + 3 * f->end[k], *x1 = f->x1 + 3 * f->end[k], radius = f->radius[k / 2];
  double        x_b[3];
  *out = swept_vertex(k, x0);
  rigid_frame_to_local(end, x1, x_b);
  out->ordinal = (uint8_t)f->n_looks;
  return radius - level_set_value(object->phi, x_b) > ENTRY * radius &&
         fibre_object_way_in(object->phi, start, end, x0, x1, radius, out->normal, &out->gap);
}

static PetscErrorCode find_landing(fibre_scene *f, const contact_scene *s, const contact_object *object, const rigid_frame *end,
                                   int32_t ordinal, contact_set *set)
{
  PetscFunctionBeginUser;
  const rigid_frame *start = &s->frames[object->frame];
  mark_landing(f, object, end, s->v != NULL);
  for (int64_t k = 0; k < 2 * f->n_segments; ++k) {
    fibre_object_spot from;
    contact_spot     *spot;
    if (!f->lands[k]) continue;
    if (!(s->v ? entry_spot(f, object, start, end, k, &from) : landing_spot(f, object, start, k, &from))) continue;
    PetscCall(contact_set_append(set, 1, &spot));
    make_object_spot(f, s, object, ordinal, &from, spot);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Find the contacts with every level set that has contact with a fibre. */
static PetscErrorCode find_objects(fibre_scene *f, const contact_scene *s, int n_objects, const contact_object *objects, contact_set *set)
{
  contact_spot *spot;
  PetscFunctionBeginUser;
  for (int j = 0; j < n_objects; ++j) {
    const contact_object *object = &objects[j];
    rigid_frame           end;
    bool                  is_any  = false;
    int32_t               ordinal = 0; /* index of the level set in its body */
    for (int i = 0; i < j; ++i) ordinal += objects[i].body_id == object->body_id;
    for (int i = 0; i < s->n_bodies; ++i) f->touches[i] = i != object->body_id && !contact_scene_law(s, i, object->body_id)->never_touch;
    for (int p = 0; p < f->n_parts; ++p) is_any |= f->touches[f->part[p].body];
    if (!is_any) continue;
    PetscCall(contact_scene_end_frame(s, object->body_id, &end));
    PetscCall(fibre_object_run(f->contact, f->touches, f->x0, f->x1, object->phi, &s->frames[object->frame], &end, margin_of(f, s),
                               &f->on_object));
    PetscCall(contact_set_append(set, f->on_object.n, &spot));
    for (int64_t i = 0; i < f->on_object.n; ++i) make_object_spot(f, s, object, ordinal, &f->on_object.spot[i], &spot[i]);
    PetscCall(find_landing(f, s, object, &end, ordinal, set));
    if (!s->v) continue;
    PetscCall(fibre_object_entries(f->contact, f->touches, f->x0, f->x1, object->phi, &s->frames[object->frame], &end, ENTRY,
                                   (uint8_t)(2 * FIBRE_OBJECT_INSIDE * f->n_looks), &f->on_object));
    PetscCall(contact_set_append(set, f->on_object.n, &spot));
    for (int64_t i = 0; i < f->on_object.n; ++i) make_object_spot(f, s, object, ordinal, &f->on_object.spot[i], &spot[i]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Contact with a material point. It acts at the point halfway between the surfaces on both bodies; a swept contact acts at a separate
 * point of each body. Key: 28 bits for the segment, the other bits for the point. */
static void make_point_spot(const fibre_scene *f, const contact_scene *scene, int32_t whose, const fibre_point_spot *from, contact_spot *to)
{
  const fibre_part  *part    = &f->part[f->part_of[from->segment]];
  const contact_law *law     = contact_scene_law(scene, whose, part->body);
  const uint64_t     segment = (uint64_t)(from->segment - part->first_segment);
  const double       half    = from->is_swept ? 0.0 : 0.5 * from->gap;
  SS_ASSERT(from->id >= 0 && from->id < (int64_t)1 << 35);
  to->key[0] = contact_key(DETECTOR_FIBRE_POINT, whose, part->body);
  to->key[1] = (segment << 35 | (uint64_t)from->id) << 1 | (uint64_t)from->is_swept;
  to->body_a = whose, to->body_b = part->body;
  to->a = (body_contact_location){.kind = FEATURE_POINT, .index = from->point};
  to->b = (body_contact_location){.kind = FEATURE_SEGMENT, .index = from->segment - part->first_segment, .w = {from->at}};
  v3_scale(to->a.w, -(from->radius + half), from->normal);
  v3_add(to->a.x, from->x, to->a.w);
  v3_copy(to->b.x, from->axis);
  v3_axpy(to->b.x, f->radius[from->segment] + half, from->normal);
  v3_copy(to->normal, from->normal);
  to->gap      = from->gap;
  to->friction = law->friction, to->restitution = law->restitution;
}

/* Find the contacts with the points of every body of material points. */
static PetscErrorCode find_points(fibre_scene *f, const contact_scene *s, contact_set *set)
{
  PetscFunctionBeginUser;
  for (int j = 0; j < s->n_bodies; ++j) {
    const fibre_point_spot *found;
    contact_spot           *spot;
    int64_t                 n;
    bool                    is_any = false;
    for (int p = 0; p < f->n_parts; ++p) {
      const int i   = f->part[p].body;
      f->touches[i] = !contact_scene_law(s, i, j)->never_touch && contact_detectors_of(s->body[i], s->body[j]) & 1u << DETECTOR_FIBRE_POINT;
      is_any |= f->touches[i];
    }
    if (!is_any || s->body[j]->is_waiting) continue;
    PetscCall(fibre_points_run(f->points, f->contact, f->touches, f->x0, f->x1, s, j, margin_of(f, s), &n, &found));
    PetscCall(contact_set_append(set, n, &spot));
    for (int64_t i = 0; i < n; ++i) make_point_spot(f, s, j, &found[i], &spot[i]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode fibre_scene_find(fibre_scene *f, const contact_scene *s, int n_objects, const contact_object *objects, contact_set *set,
                                step_status *status)
{
  const fibre_spot *found;
  contact_spot     *spot;
  int64_t           n, bad, *from;
  PetscFunctionBeginUser;
  if (!f) PetscFunctionReturn(PETSC_SUCCESS);
  fibre_scene_gather(f, s);
  f->n_looks = s->v ? f->n_looks + 1 : 0;
  if (s->v) {
    mark_moves(f);
    PetscCall(fibre_contact_run_again(f->contact, f->x0, f->x1, margin_of(f, s), f->moves, f->n_found, f->found, &n, &found, &bad));
  } else {
    PetscCall(fibre_contact_run(f->contact, f->x0, f->x1, margin_of(f, s), &n, &found, &bad));
    memcpy(f->searched_x1, f->x1, (size_t)(3 * f->n_nodes) * sizeof *f->searched_x1);
  }
  if (bad >= 0) {
    int p = 0;
    while (bad >= f->part[p].first_node + f->part[p].n_nodes) ++p;
    *status = (step_status){STEP_NOT_FINITE, s->body[f->part[p].body]->name, bad - f->part[p].first_node};
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(s->v ? merge_found(f, n, found) : keep_found(f, n, found));
  n = f->n_found;
  fibre_contact_keep_sides(f->contact, f->past.n, f->past.spot, n, f->found);
  PetscCall(memory_alloc("fibre contacts", n, sizeof *from, &from));
  PetscCall(fibre_contact_match(f->contact, f->past.n, f->past.spot, n, f->found, from));
  PetscCall(contact_set_append(set, n, &spot));
  for (int64_t i = 0; i < n; ++i) {
    make_spot(f, s, &f->found[i], &spot[i]);
    if (from[i] >= 0) key_of(f, &f->past.spot[from[i]], spot[i].was);
  }
  memory_free(&from);
  PetscCall(find_objects(f, s, n_objects, objects, set));
  PetscCall(find_points(f, s, set));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode fibre_scene_accept(fibre_scene *f)
{
  PetscFunctionBeginUser;
  if (f) PetscCall(fibre_past_set(&f->past, f->n_found, f->found));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode fibre_scene_fields(fibre_scene *f, field_table *table)
{
  PetscFunctionBeginUser;
  if (f) PetscCall(fibre_past_fields(&f->past, table));
  PetscFunctionReturn(PETSC_SUCCESS);
}
