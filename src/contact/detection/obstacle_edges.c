/* Implementation: a tree of the edges and vertices of each obstacle in its own frame, and closed forms for one of them and one polyhedron.
 *
 * Edge (p, d) and edge (y, e) of the polyhedron have a contact if the closest points of their lines lie inside both, and the unit vector n = +-
 * d x e lies between the outward normals of the two faces of the polyhedron, and -n between those of the obstacle. The gap is n . (x - y),
 * negative if the edges have crossed. An edge that has crossed several edges of one polyhedron keeps the contacts with the smallest depth.
 *
 * If the two bodies move farther than the margin relative to each other, a feature without contact at the start of the step is tested along the
 * trajectory: conservative advancement (convex_sweep.h) of the polyhedron against the feature, as a ball or capsule with the radius SWEEP_RADIUS.
 * The contacts at the first touch have the gap of the start of the step along their normals. */
#include "contact/detection/obstacle_edges.h"
#include "contact/detection/edge_pair.h"
#include "core/math3.h"
#include "core/memory.h"
#include "geometry/convex/convex_sweep.h"
#include "geometry/primitive/box_tree.h"
#include "geometry/triangle_mesh/triangle_topology.h"

static const double CONVEX_ANGLE = 0.02; /* rad: flatter edges do not take part */
static const double STRAIGHT =
    1e-6; /* sine of the angle of two edges that form one straight edge: their common vertex does not take part */
static const double SAME_NORMAL  = 1e-3; /* sine of the angle of normals that belong to one contact */
static const double INTERIOR     = 1e-9; /* tolerance of positions on edges, relative */
static const double ALIKE        = 0.7;  /* cosine of the angle up to which normals of an edge and of its end are alike */
static const double SWEEP_RADIUS = 1e-6; /* radius of features in sweeps relative to the polyhedron; 0 would never be reached */
enum { MAX_CROSSINGS = 64 };

/* A vertex: side [first_side ...] are unit vectors along its edges. An edge: side [first_side], [first_side + 1] are unit vectors in its faces,
 * perpendicular to it. Contact normals have no positive component along them. */
typedef struct {
  bool   is_vertex;
  double x[3], d[3]; /* vertex; or start of the edge and vector to its end */
  int    first_side, n_sides;
} feature;

typedef struct {
  int32_t  body;
  int64_t  n, n_sides, capacity, side_capacity;
  feature *list;   /* [n] */
  double  *side;   /* [n_sides][3] */
  double   reach;  /* largest distance of a feature from the origin of the frame [m] */
  double  *box[6]; /* [n] */
  box_tree tree;
} obstacle;

struct obstacle_edges {
  int       n_bodies, n_obstacles;
  body    **body;
  obstacle *obstacle; /* [n_obstacles] */
  int64_t   work_capacity, moved_capacity;
  double   *work, *moved; /* of one pose */
};

static const convex_solid *solids_of(const body *b, int *n)
{
  *n = 0;
  return b->ops->solids ? b->ops->solids(b, n) : NULL;
}

static bool has_triangles(const body *b)
{
  body_surface s = {0};
  if (b->ops->surface) b->ops->surface(b, &s);
  return s.n_triangles > 0;
}

bool obstacle_edges_takes(const body *moving, const body *fixed)
{
  int                 n, m;
  const convex_solid *solid = solids_of(moving, &n);
  (void)solids_of(fixed, &m);
  if (m > 0 || !body_system((body *)moving) || body_system((body *)fixed)) return false;
  if (has_triangles(moving) && has_triangles(fixed)) return false;
  for (int i = 0; i < n; ++i)
    if (solid[i].kind == CONVEX_POLYHEDRON) return true;
  return false;
}

/* ---- edges and vertices of an obstacle ---- */

static PetscErrorCode add_feature(obstacle *o, bool is_vertex, const double *x, const double *d)
{
  PetscFunctionBegin;
  PetscCall(memory_reserve("obstacle edges", o->n + 1, sizeof *o->list, &o->capacity, &o->list));
  feature *f = &o->list[o->n++];
  *f         = (feature){.is_vertex = is_vertex, .first_side = (int)o->n_sides};
  v3_copy(f->x, x);
  if (d) v3_copy(f->d, d);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Add the unit vector of `side` to the last feature. */
static PetscErrorCode add_side(obstacle *o, const double side[3])
{
  PetscFunctionBegin;
  PetscCall(memory_reserve("obstacle edges", 3 * o->n_sides + 3, sizeof *o->side, &o->side_capacity, &o->side));
  v3_scale(o->side + 3 * o->n_sides++, 1.0 / v3_norm(side), side);
  ++o->list[o->n - 1].n_sides;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The unit vector in triangle t perpendicular to its edge from p with unit direction e. */
static void direction_in_face(const double *x, const int32_t *t, const int32_t *edge, const double *e, double *out)
{
  int32_t third = t[0];
  for (int k = 0; k < 3; ++k)
    if (t[k] != edge[0] && t[k] != edge[1]) third = t[k];
  v3_sub(out, x + 3 * (int64_t)third, x + 3 * (int64_t)edge[0]);
  v3_axpy(out, -v3_dot(out, e), e);
  v3_scale(out, 1.0 / v3_norm(out), out);
}

/* Angle by which the surface bends at an edge, positive for convex edges [rad]. */
static double bend(const double *x, const triangle_topology *t, int64_t edge, double side[2][3])
{
  const int32_t *v = t->edge + 2 * edge, *two = t->edge_triangle + 2 * edge;
  double         e[3], normal[3], a[3], b[3];
  v3_sub(e, x + 3 * (int64_t)v[1], x + 3 * (int64_t)v[0]);
  v3_scale(e, 1.0 / v3_norm(e), e);
  for (int k = 0; k < 2; ++k) direction_in_face(x, t->tri + 3 * (int64_t)two[k], v, e, side[k]);
  const int32_t *c = t->tri + 3 * (int64_t)two[0];
  v3_sub(a, x + 3 * (int64_t)c[1], x + 3 * (int64_t)c[0]);
  v3_sub(b, x + 3 * (int64_t)c[2], x + 3 * (int64_t)c[0]);
  v3_cross(normal, a, b);
  v3_scale(normal, 1.0 / v3_norm(normal), normal);
  return atan2(-v3_dot(side[1], normal), -v3_dot(side[1], side[0]));
}

/* Add vertex i unless none of its edges is convex, or its convex edges are two that form a straight line. */
static PetscErrorCode add_vertex(obstacle *o, const triangle_mesh *m, const triangle_topology *t, const bool *is_convex,
                                 const int32_t *start, const int32_t *edge, int64_t i)
{
  int    n_convex = 0;
  double along[2][3], sine[3];
  PetscFunctionBegin;
  for (int32_t k = start[i]; k < start[i + 1]; ++k) {
    const int32_t *v = t->edge + 2 * (int64_t)edge[k];
    if (!is_convex[edge[k]]) continue;
    if (n_convex < 2) {
      v3_sub(along[n_convex], m->x + 3 * (int64_t)(v[0] == i ? v[1] : v[0]), m->x + 3 * i);
      v3_scale(along[n_convex], 1.0 / v3_norm(along[n_convex]), along[n_convex]);
    }
    ++n_convex;
  }
  if (n_convex == 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (n_convex == 2) {
    v3_cross(sine, along[0], along[1]);
    if (v3_norm(sine) < STRAIGHT) PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(add_feature(o, true, m->x + 3 * i, NULL));
  for (int32_t k = start[i]; k < start[i + 1]; ++k) {
    const int32_t *v = t->edge + 2 * (int64_t)edge[k];
    double         d[3];
    v3_sub(d, m->x + 3 * (int64_t)(v[0] == i ? v[1] : v[0]), m->x + 3 * i);
    PetscCall(add_side(o, d));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode list_features(obstacle *o, const triangle_mesh *m, const triangle_topology *t)
{
  bool    *is_convex;
  int32_t *start, *edge;
  PetscFunctionBegin;
  PetscCall(MEMORY_ALLOC("obstacle edges", ARRAY(is_convex, t->n_edges), ARRAY(start, t->n_vertices + 2), ARRAY(edge, 2 * t->n_edges)));
  for (int64_t i = 0; i < t->n_edges; ++i) {
    double side[2][3], d[3];
    ++start[t->edge[2 * i] + 2], ++start[t->edge[2 * i + 1] + 2];
    is_convex[i] = bend(m->x, t, i, side) > CONVEX_ANGLE;
    if (!is_convex[i]) continue;
    v3_sub(d, m->x + 3 * (int64_t)t->edge[2 * i + 1], m->x + 3 * (int64_t)t->edge[2 * i]);
    PetscCall(add_feature(o, false, m->x + 3 * (int64_t)t->edge[2 * i], d));
    for (int k = 0; k < 2; ++k) PetscCall(add_side(o, side[k]));
  }
  for (int64_t i = 1; i < t->n_vertices + 2; ++i) start[i] += start[i - 1];
  for (int64_t i = 0; i < t->n_edges; ++i)
    for (int k = 0; k < 2; ++k) edge[start[t->edge[2 * i + k] + 1]++] = (int32_t)i;
  for (int64_t i = 0; i < t->n_vertices; ++i) PetscCall(add_vertex(o, m, t, is_convex, start, edge, i));
  MEMORY_FREE(&is_convex, &start, &edge);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode fill_obstacle(obstacle *o, const triangle_mesh *m)
{
  triangle_topology *t = NULL;
  PetscFunctionBegin;
  PetscCall(triangle_topology_create(m->n_vertices, m->n_triangles, m->tri, &t));
  PetscCall(list_features(o, m, t));
  triangle_topology_destroy(&t);
  for (int k = 0; k < 6; ++k) PetscCall(memory_alloc("obstacle edges", o->n, sizeof(double), &o->box[k]));
  for (int64_t i = 0; i < o->n; ++i)
    for (int k = 0; k < 3; ++k) {
      const double a = o->list[i].x[k], b = a + o->list[i].d[k];
      o->box[k][i] = fmin(a, b), o->box[3 + k][i] = fmax(a, b);
    }
  for (int64_t i = 0; i < m->n_vertices; ++i) o->reach = fmax(o->reach, v3_norm(m->x + 3 * i));
  PetscCall(box_tree_create(o->n, &o->tree));
  box_tree_fit(&o->tree, o->box);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode obstacle_edges_create(int n_bodies, body *const *bodies, const triangle_mesh *const *surface, obstacle_edges **out)
{
  obstacle_edges *c;
  PetscFunctionBegin;
  PetscCall(memory_alloc("obstacle edges", 1, sizeof *c, &c));
  *out        = c;
  c->n_bodies = n_bodies;
  PetscCall(MEMORY_ALLOC("obstacle edges", ARRAY(c->body, n_bodies), ARRAY(c->obstacle, n_bodies)));
  for (int i = 0; i < n_bodies; ++i) c->body[i] = bodies[i];
  for (int i = 0; i < n_bodies; ++i) {
    bool is_needed = false;
    for (int j = 0; j < n_bodies && surface[i]; ++j) is_needed = is_needed || obstacle_edges_takes(bodies[j], bodies[i]);
    if (!is_needed) continue;
    c->obstacle[c->n_obstacles].body = i;
    PetscCall(fill_obstacle(&c->obstacle[c->n_obstacles++], surface[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

void obstacle_edges_destroy(obstacle_edges **out)
{
  obstacle_edges *c = *out;
  if (!c) return;
  for (int i = 0; i < c->n_obstacles; ++i) {
    obstacle *o = &c->obstacle[i];
    box_tree_clear(&o->tree);
    for (int k = 0; k < 6; ++k) memory_free(&o->box[k]);
    MEMORY_FREE(&o->list, &o->side);
  }
  MEMORY_FREE(&c->body, &c->obstacle, &c->work, &c->moved, out);
}

/* ---- contacts of one feature and one polyhedron, in the frame of the obstacle ---- */

/* A contact: the point on the polyhedron, its outward normal there, and the gap. */
typedef struct {
  double   x[3], normal[3], gap;
  uint32_t number; /* edge of the polyhedron + 1; 0: the contact of a vertex */
} feature_contact;

/* True if a contact force along -n at this feature lies between the normals of the adjacent faces. */
static bool is_outermost(const obstacle *o, const feature *f, const double n[3])
{
  for (int k = 0; k < f->n_sides; ++k)
    if (-v3_dot(n, o->side + 3 * (int64_t)(f->first_side + k)) > EDGE_RISE) return false;
  return true;
}

static int touch_vertex(const obstacle *o, const feature *f, const convex_pose *p, double margin, feature_contact *out)
{
  const convex_polyhedron *h = p->solid->polyhedron;
  *out                       = (feature_contact){0};
  out->gap                   = convex_point_distance(p, f->x, out->normal, out->x);
  if (out->gap > 0.0) return out->gap <= margin && is_outermost(o, f, out->normal);
  double least = -INFINITY;
  for (int k = 0; k < h->n_faces; ++k) { /* inside: the closest face that the vertex may have passed */
    const double *face  = p->face_normal + 3 * k;
    const double  depth = v3_dot(face, f->x) - p->face_offset[k];
    if (!(depth > least) || !is_outermost(o, f, face)) continue;
    least    = depth;
    out->gap = depth;
    v3_copy(out->normal, face);
    v3_copy(out->x, f->x);
    v3_axpy(out->x, -depth, face);
  }
  return isfinite(least);
}

/* True if x is in the polyhedron, up to `tolerance` [m]. */
static bool is_in_polyhedron(const convex_pose *p, const double x[3], double tolerance)
{
  for (int k = 0; k < p->solid->polyhedron->n_faces; ++k)
    if (v3_dot(p->face_normal + 3 * k, x) > p->face_offset[k] + tolerance) return false;
  return true;
}

/* Contact of the feature with edge i of the polyhedron. If the edges have crossed, the point on the obstacle must be in the polyhedron: the two
 * could otherwise belong to opposite sides of the bodies. */
static bool touch_edge(const obstacle *o, const feature *f, const convex_pose *p, int i, double margin, feature_contact *out)
{
  const convex_polyhedron *h    = p->solid->polyhedron;
  const int32_t           *edge = h->edge + 4 * i;
  const double            *y = p->x + 3 * edge[0], *one = p->face_normal + 3 * edge[2], *two = p->face_normal + 3 * edge[3];
  double                   e[3], n[3], r[3], fe[3], ge[3];
  v3_sub(e, p->x + 3 * edge[1], y);
  v3_cross(n, f->d, e);
  const double length = v3_norm(n), dd = v3_dot(f->d, f->d), ee = v3_dot(e, e), de = v3_dot(f->d, e);
  if (!(length > SAME_NORMAL * sqrt(dd * ee))) return false;
  v3_scale(n, 1.0 / length, n);
  v3_sub(r, y, f->x); /* closest points x + s d, y + t e: (s d - t e - r) is perpendicular to d and e */
  const double dr = v3_dot(f->d, r), er = v3_dot(e, r), det = dd * ee - de * de, s = (dr * ee - er * de) / det,
               t = (dr * de - er * dd) / det;
  if (!(s > -INTERIOR && s < 1.0 - INTERIOR && t > -INTERIOR && t < 1.0 + INTERIOR)) return false;
  if (v3_dot(n, one) + v3_dot(n, two) < 0.0) v3_scale(n, -1.0, n);
  v3_cross(fe, e, one); /* e has the direction one x two: n lies between them if n . (e x one) >= 0 and n . (e x two) <= 0 */
  v3_cross(ge, e, two);
  const double tolerance = EDGE_RISE * sqrt(ee); /* both edges of a face that is nearly parallel to the obstacle's edge have contact */
  if (v3_dot(n, fe) < -tolerance || v3_dot(n, ge) > tolerance || !is_outermost(o, f, n)) return false;
  *out = (feature_contact){.gap = -v3_dot(n, r), .number = (uint32_t)i + 1};
  v3_copy(out->x, y);
  v3_axpy(out->x, t, e);
  v3_copy(out->normal, n);
  if (out->gap >= 0.0) return out->gap <= margin;
  double x[3];
  v3_copy(x, out->x);
  v3_axpy(x, out->gap, n);
  return is_in_polyhedron(p, x, SAME_NORMAL * -out->gap + INTERIOR * p->solid->bound);
}

/* True if an end of the edge is in the polyhedron, less deep than contact t, and leaves it in another direction: t would then separate the bodies
 * along the edge instead of across it. */
static bool is_beside_vertex(const feature *f, const convex_pose *p, const feature_contact *t)
{
  for (int end = 0; end < 2; ++end) {
    double x[3], least = -INFINITY;
    int    face = 0;
    v3_copy(x, f->x);
    if (end) v3_axpy(x, 1.0, f->d);
    for (int k = 0; k < p->solid->polyhedron->n_faces; ++k) {
      const double depth = v3_dot(p->face_normal + 3 * k, x) - p->face_offset[k];
      if (depth > least) least = depth, face = k;
    }
    if (least < 0.0 && least > t->gap && v3_dot(p->face_normal + 3 * face, t->normal) < ALIKE) return true;
  }
  return false;
}

/* Contacts of an edge: those with a positive gap, and of the others those with the normal of the smallest depth. */
static int touch_edges(const obstacle *o, const feature *f, const convex_pose *p, double margin, feature_contact *out)
{
  const feature_contact *least = NULL;
  int                    n = 0, kept = 0;
  for (int i = 0; i < p->solid->polyhedron->n_edges && n < MAX_CROSSINGS; ++i)
    n += touch_edge(o, f, p, i, margin, &out[n]) && (out[n].gap >= 0.0 || !is_beside_vertex(f, p, &out[n]));
  for (int i = 0; i < n; ++i)
    if (out[i].gap < 0.0 && (!least || out[i].gap > least->gap)) least = &out[i];
  if (!least) return n;
  const feature_contact top = *least;
  for (int i = 0; i < n; ++i) {
    double sine[3];
    v3_cross(sine, out[i].normal, top.normal);
    if (out[i].gap >= 0.0 || (v3_norm(sine) < SAME_NORMAL && v3_dot(out[i].normal, top.normal) > 0.0)) out[kept++] = out[i];
  }
  return kept;
}

/* ---- all pairs ---- */

/* One polyhedron in the frame of an obstacle, and its motion relative to it. */
typedef struct {
  const contact_scene *scene;
  contact_set         *set;
  const obstacle      *o;
  const rigid_frame   *frame; /* of the obstacle; NULL: world */
  int32_t              body;
  int                  i_solid;
  convex_pose          pose;
  double               at[3], R[9];           /* pose of the body */
  double               displacement[3], turn; /* in the step; additional displacement of any point by rotation [m] */
  bool                 is_fast;
  double              *work; /* for one pose */
} moving_solid;

static void to_world(const rigid_frame *frame, const double X[3], double x[3])
{
  if (frame) rigid_frame_to_world(frame, X, x);
  else v3_copy(x, X);
}

/* share: of the displacement before the contact; 0: the contact is at the pose of the start of the step. */
static PetscErrorCode append(const moving_solid *w, int64_t i_feature, const feature_contact *t, double share)
{
  contact_spot      *spot;
  const contact_law *law = contact_scene_law(w->scene, w->body, w->o->body);
  double             before[3], met[3];
  PetscFunctionBegin;
  PetscCall(contact_set_append(w->set, 1, &spot));
  spot->key[0] = contact_key(DETECTOR_OBSTACLE_EDGE, w->body, w->o->body);
  spot->key[1] = (uint64_t)i_feature << 32 | (uint64_t)w->i_solid << 16 | t->number;
  spot->body_a = w->body, spot->body_b = w->o->body;
  spot->a.kind = spot->b.kind = FEATURE_FRAME;
  v3_copy(before, t->x);
  v3_copy(met, t->x);
  v3_axpy(before, -share, w->displacement);
  if (share > 0.0) v3_axpy(met, t->gap, t->normal);
  to_world(w->frame, met, spot->b.x);
  to_world(w->frame, before, spot->a.x);
  if (w->frame) m3_mulv(spot->normal, w->frame->R, t->normal);
  else v3_copy(spot->normal, t->normal);
  v3_scale(spot->normal, -1.0, spot->normal); /* from the obstacle towards the body */
  spot->gap         = t->gap + share * v3_dot(w->displacement, t->normal);
  spot->friction    = law->friction;
  spot->restitution = law->restitution;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static int touch_feature(const moving_solid *w, const feature *f, const convex_pose *p, double margin, feature_contact *out)
{
  return f->is_vertex ? touch_vertex(w->o, f, p, margin, out) : touch_edges(w->o, f, p, margin, out);
}

/* Contacts of the feature that the moving polyhedron touches first, for `append`. */
static int sweep_feature(const moving_solid *w, const feature *f, double *share, feature_contact *out)
{
  const convex_solid *solid  = w->pose.solid;
  const double        radius = SWEEP_RADIUS * solid->bound, identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, origin[3] = {0.0, 0.0, 0.0};
  double              end[3];
  convex_solid        thin;
  convex_pose         fixed, moved;
  convex_touches      first;
  v3_add(end, f->x, f->d);
  if (f->is_vertex) convex_solid_sphere(f->x, radius, &thin);
  else convex_solid_segment(CONVEX_CAPSULE, f->x, end, radius, &thin);
  convex_pose_set(&fixed, &thin, origin, identity, NULL);
  if (!convex_sweep(&w->pose, &fixed, w->displacement, w->turn, w->work, share, &first)) return 0;
  v3_copy(end, w->at);
  v3_axpy(end, *share, w->displacement);
  convex_pose_set(&moved, solid, end, w->R, w->work);
  return touch_feature(w, f, &moved, 0.01 * solid->bound + w->turn, out);
}

static PetscErrorCode find_features(const moving_solid *w)
{
  const convex_pose *p      = &w->pose;
  const double       margin = w->scene->margin;
  double             min[3] = {INFINITY, INFINITY, INFINITY}, max[3] = {-INFINITY, -INFINITY, -INFINITY};
  int32_t            found[BOX_TREE_WIDTH];
  box_walk           walk;
  PetscFunctionBegin;
  for (int i = 0; i < p->solid->polyhedron->n_corners; ++i)
    for (int k = 0; k < 3; ++k) min[k] = fmin(min[k], p->x[3 * i + k] - margin), max[k] = fmax(max[k], p->x[3 * i + k] + margin);
  for (int k = 0; k < 3 && w->is_fast; ++k)
    min[k] += fmin(w->displacement[k], 0.0) - w->turn, max[k] += fmax(w->displacement[k], 0.0) + w->turn;
  box_walk_begin(&walk, &w->o->tree, min, max);
  for (int m = box_walk_next(&walk, found); m > 0; m = box_walk_next(&walk, found))
    for (int i = 0; i < m; ++i) {
      feature_contact t[MAX_CROSSINGS];
      const feature  *f     = &w->o->list[found[i]];
      double          share = 0.0;
      int             n     = touch_feature(w, f, p, margin, t);
      if (n == 0 && w->is_fast) n = sweep_feature(w, f, &share, t);
      for (int k = 0; k < n; ++k) PetscCall(append(w, found[i], &t[k], share));
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Motion of the polyhedron relative to the obstacle in the step, in the frame of the obstacle. */
static void set_motion(moving_solid *w)
{
  const convex_solid *solid = w->pose.solid;
  double              own[3], other[3], d[3];
  w->turn = contact_scene_motion(w->scene, w->body, v3_norm(solid->center) + solid->bound, own) +
            contact_scene_motion(w->scene, w->o->body, w->o->reach, other);
  v3_sub(d, own, other);
  if (w->frame) m3_mulv_t(w->displacement, w->frame->R, d);
  else v3_copy(w->displacement, d);
  w->is_fast = v3_norm(d) + w->turn > w->scene->margin;
}

static PetscErrorCode find_body(obstacle_edges *c, const contact_scene *scene, int32_t b, const obstacle *o, contact_set *set)
{
  int                 n;
  const convex_solid *solid = solids_of(c->body[b], &n);
  const rigid_frame  *own   = scene->frame[b] < 0 ? NULL : &scene->frames[scene->frame[b]];
  moving_solid        w     = {.scene = scene,
                               .set   = set,
                               .o     = o,
                               .frame = scene->frame[o->body] < 0 ? NULL : &scene->frames[scene->frame[o->body]],
                               .body  = b,
                               .R     = {1, 0, 0, 0, 1, 0, 0, 0, 1}};
  PetscFunctionBegin;
  if (own) v3_copy(w.at, own->c), m3_copy(w.R, own->R);
  if (w.frame) { /* pose of the body in the frame of the obstacle */
    double turned[9], at[3];
    v3_copy(at, w.at);
    rigid_frame_to_local(w.frame, at, w.at);
    m3_mul_tn(turned, w.frame->R, w.R);
    m3_copy(w.R, turned);
  }
  for (int i = 0; i < n; ++i) {
    if (solid[i].kind != CONVEX_POLYHEDRON) continue;
    const int64_t size = convex_pose_work_size(&solid[i]);
    PetscCall(memory_reserve("obstacle edges", size, sizeof *c->work, &c->work_capacity, &c->work));
    PetscCall(memory_reserve("obstacle edges", size, sizeof *c->moved, &c->moved_capacity, &c->moved));
    convex_pose_set(&w.pose, &solid[i], w.at, w.R, c->work);
    w.i_solid = i, w.work = c->moved;
    set_motion(&w);
    PetscCall(find_features(&w));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode obstacle_edges_find(obstacle_edges *c, const contact_scene *scene, contact_set *set)
{
  PetscFunctionBegin;
  for (int i = 0; i < c->n_obstacles; ++i)
    for (int32_t b = 0; b < c->n_bodies; ++b)
      if (!c->body[b]->is_waiting && obstacle_edges_takes(c->body[b], c->body[c->obstacle[i].body]) &&
          !contact_scene_law(scene, b, c->obstacle[i].body)->never_touch)
        PetscCall(find_body(c, scene, b, &c->obstacle[i], set));
  PetscFunctionReturn(PETSC_SUCCESS);
}
