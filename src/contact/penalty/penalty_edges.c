/* Penalty contacts between edges of triangle surfaces, see penalty_edges.h. */
#include "contact/penalty/penalty_edges.h"
#include "contact/penalty/penalty_mesh_entry.h"
#include "geometry/collision/ccd.h"
#include "core/math3.h"
#include "core/memory.h"
#include "core/sort.h"
#include <stdlib.h>
#include <string.h>

/* ---- two edges as a point and a surface ---------------------------------------------------------------------------------------- */

/* Whether cell (i, j) exists. Bits of `patch`: chain a has a node before, after its edge; chain b has a node before, after its edge. */
static bool has_cell(int patch, int i, int j)
{
  return (i != 0 || patch & 1) && (i != 2 || patch & 2) && (j != 0 || patch & 4) && (j != 2 || patch & 8);
}

int edge_patch_of(const int32_t a[EDGE_CHAIN], const int32_t b[EDGE_CHAIN])
{
  return (a[0] >= 0) + 2 * (a[3] >= 0) + 4 * (b[0] >= 0) + 8 * (b[3] >= 0);
}

PetscErrorCode edge_patches_create(edge_patch patch[EDGE_PATCHES])
{
  PetscFunctionBegin;
  for (int p = 0; p < EDGE_PATCHES; ++p) {
    int32_t tri[54];
    int     n = 0;
    for (int c = 0; c < 9; ++c) {
      const int32_t corner = EDGE_CHAIN * (c / 3) + c % 3, quad[6] = {0, 1, EDGE_CHAIN, EDGE_CHAIN + 1, EDGE_CHAIN, 1};
      if (!has_cell(p, c / 3, c % 3)) continue;
      if (c == 4) patch[p].own = patch[p].n_cells;
      patch[p].cell[patch[p].n_cells++] = (uint8_t)c;
      for (int k = 0; k < 6; ++k) tri[n++] = corner + quad[k];
    }
    PetscCall(triangle_topology_create(EDGE_CORNERS, 2 * patch[p].n_cells, tri, &patch[p].topology));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

void edge_patches_destroy(edge_patch patch[EDGE_PATCHES])
{
  for (int p = 0; p < EDGE_PATCHES; ++p) triangle_topology_destroy(&patch[p].topology);
}

void edge_patch_corners(const double a[12], const double b[12], double P[48])
{
  for (int c = 0; c < EDGE_CORNERS; ++c) v3_sub(P + 3 * c, b + 3 * edge_patch_b(c), a + 3 * edge_patch_a(c));
}

void edge_patch_fractions(const edge_patch *p, const mesh_attachment *X, int cell[2], double at[2])
{
  const double *w        = X->weight;
  const bool    is_first = X->triangle % 2 == 0;
  cell[0]                = p->cell[X->triangle / 2] / 3;
  cell[1]                = p->cell[X->triangle / 2] % 3;
  at[0]                  = is_first ? w[2] : 1.0 - w[2];
  at[1]                  = is_first ? w[1] : 1.0 - w[1];
}

mesh_attachment edge_patch_attachment(const edge_patch *p, const double at[2])
{
  const double s = at[0], t = at[1];
  if (s + t <= 1.0) return (mesh_attachment){2 * p->own, {1.0 - s - t, t, s}};
  return (mesh_attachment){2 * p->own + 1, {(s + t) - 1.0, 1.0 - t, 1.0 - s}};
}

/* Largest penetration depth of new pairs of crossed edges: CROSSED_SPRINGS times the longest spring of the two bodies; before the first
 * step, CROSSED_AT_START times the shorter edge, or the permitted overlap of the bodies. */
static const double CROSSED_SPRINGS = 2.0, CROSSED_AT_START = 0.1;

/* Cosine of the largest angle between consecutive edges of a chain. */
static const double GOES_ON = 0.5;

/* ---- creation ---------------------------------------------------------------------------------------------------------------- */

static PetscErrorCode create_broad_phase(const mesh_contact *c, mesh_edges *e)
{
  int32_t      *edge, *owner;
  bool         *can_touch;
  const int64_t n_slots = pair_n_slots(c->pairs, c->n_bodies);
  int64_t       vertex = 0, n = 0;
  PetscFunctionBegin;
  PetscCall(MEMORY_ALLOC("edge contact", ARRAY(edge, 2 * e->n_edges), ARRAY(owner, e->n_vertices), ARRAY(can_touch, n_slots)));
  for (int m = 0; m < c->n_meshes; ++m) {
    const triangle_topology *t = c->mesh[m].topology;
    for (int64_t i = 0; i < 2 * t->n_edges; ++i) edge[n++] = (int32_t)(vertex + t->edge[i]);
    for (int64_t i = 0; i < t->n_vertices; ++i) owner[vertex++] = c->mesh[m].body_id;
  }
  for (int64_t i = 0; i < n_slots; ++i) can_touch[i] = c->law[i].stiffness > 0.0;
  const broad_phase_surfaces s    = {.n_vertices = e->n_vertices,
                                     .n_edges    = e->n_edges,
                                     .edge       = edge,
                                     .n_bodies   = c->n_bodies,
                                     .body       = owner,
                                     .can_touch  = can_touch,
                                     .pairs      = c->pairs};
  const PetscErrorCode       code = broad_phase_create(&s, &e->broad);
  MEMORY_FREE(&edge, &owner, &can_touch);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mesh_edges_create(mesh_contact *c)
{
  PetscFunctionBegin;
  PetscCall(memory_alloc("edge contact", 1, sizeof *c->edges, &c->edges));
  mesh_edges *e = c->edges;
  PetscCall(edge_patches_create(e->patch));
  for (int m = 0; m < c->n_meshes; ++m) {
    e->n_vertices += c->mesh[m].topology->n_vertices;
    e->n_edges += c->mesh[m].topology->n_edges;
  }
  PetscCall(memory_alloc("edge contact", 3 * e->n_vertices, sizeof(double), &e->x));
  PetscCall(create_broad_phase(c, e));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void mesh_edges_destroy(mesh_edges **out)
{
  if (!out || !*out) return;
  mesh_edges *e = *out;
  edge_patches_destroy(e->patch);
  broad_phase_destroy(&e->broad);
  MEMORY_FREE(&e->x, &e->known, &e->stored_body, &e->stored_edge, &e->stored_side, &e->stored_at, &e->stored_rest, &e->candidate,
              &e->hit_side, &e->hit_at, &e->pair, out);
}

/* ---- pairs ------------------------------------------------------------------------------------------------------------------- */

static int compare_names(const edge_name *p, const edge_name *q)
{
  for (int k = 0; k < 2; ++k)
    if (p->mesh[k] != q->mesh[k]) return p->mesh[k] < q->mesh[k] ? -1 : 1;
  for (int k = 0; k < 2; ++k)
    if (p->edge[k] != q->edge[k]) return p->edge[k] < q->edge[k] ? -1 : 1;
  return 0;
}
static int compare_memory(const void *a, const void *b)
{
  const edge_memory *p = a, *q = b;
  const int          c = compare_names(&p->name, &q->name);
  for (int k = 0; k < 2 && c == 0; ++k)
    if (p->at[k] != q->at[k]) return p->at[k] < q->at[k] ? -1 : 1;
  return c ? c : (p->side > q->side) - (p->side < q->side);
}

static void fill_stars(const mesh_contact *c, const edge_name *name, edge_star star[2])
{
  for (int k = 0; k < 2; ++k) {
    const contact_surface *s = &c->mesh[name->mesh[k]];
    edge_star_fill(s->topology, s->is_closed, name->edge[k], &star[k]);
  }
}

/* Positions x [8][3] of the nodes of two stars; zero for missing nodes. */
static void positions(const mesh_contact *c, const edge_name *name, const edge_star star[2], bool at_start, double x[24])
{
  for (int i = 0; i < 8; ++i) {
    const contact_surface *s    = &c->mesh[name->mesh[i / 4]];
    const int64_t          node = star[i / 4].node[i % 4];
    if (node < 0) v3_set(x + 3 * i, 0.0, 0.0, 0.0);
    else v3_copy(x + 3 * i, (at_start ? s->x0 : s->x) + 3 * node);
  }
}

/* Next edge of chain k of a pair at its end `end`: the adjacent edge that is outermost along n and has the smallest bend. */
static void find_next(const mesh_contact *c, edge_contact *p, int k, int end, const double n[3])
{
  const contact_surface   *s    = &c->mesh[p->name.mesh[k]];
  const triangle_topology *t    = s->topology;
  const int32_t            node = p->star[k].node[end], other = p->star[k].node[1 - end], *across = p->star[1 - k].node;
  double                   best = GOES_ON, direction[3];
  v3_sub(direction, s->x0 + 3 * (int64_t)node, s->x0 + 3 * (int64_t)other);
  for (int32_t j = 3 * t->fan_start[node]; j < 3 * t->fan_start[node + 1]; ++j) {
    const int64_t side = 3 * (int64_t)t->fan[j / 3] + j % 3;
    const int32_t edge = t->side_edge[side];
    edge_star     star;
    double        e[3], x[12];
    if (t->tri[side] == node || edge == p->name.edge[k]) continue; /* the side opposite to the node */
    edge_star_fill(t, s->is_closed, edge, &star);
    const int32_t far = star.node[0] == node ? star.node[1] : star.node[0];
    if (p->name.mesh[0] == p->name.mesh[1] && (far == across[0] || far == across[1])) continue;
    v3_sub(e, s->x0 + 3 * (int64_t)far, s->x0 + 3 * (int64_t)node);
    const double straight = v3_dot(e, direction) / (v3_norm(e) * v3_norm(direction));
    if (!(straight > best)) continue;
    for (int i = 0; i < 4; ++i) v3_copy(x + 3 * i, s->x0 + 3 * (int64_t)(star.node[i] < 0 ? node : star.node[i]));
    if (!edge_star_is_outermost(&star, x, n)) continue;
    best                 = straight;
    p->node[k][3 * end]  = far;
    p->chain[k][2 * end] = edge;
  }
}

static void find_chains(const mesh_contact *c, edge_contact *p)
{
  double x[24], d_a[3], d_b[3], n[3];
  positions(c, &p->name, p->star, true, x);
  v3_sub(d_a, x + 3, x);
  v3_sub(d_b, x + 15, x + 12);
  v3_cross(n, d_a, d_b);
  const double length = v3_norm(n);
  for (int k = 0; k < 2; ++k) {
    const int32_t *end = p->star[k].node;
    memcpy(p->node[k], (const int32_t[EDGE_CHAIN]){-1, end[0], end[1], -1}, sizeof p->node[k]);
    memcpy(p->chain[k], (const int32_t[EDGE_CHAIN - 1]){-1, p->name.edge[k], -1}, sizeof p->chain[k]);
    if (!(length > 0.0)) continue;
    double out[3];
    v3_scale(out, (k == 1 ? p->side : -p->side) / length, n);
    for (int i = 0; i < 2; ++i) find_next(c, p, k, i, out);
  }
  p->patch = edge_patch_of(p->node[0], p->node[1]);
}

/* Compute p->Z, where the spring has no force. */
static void find_point_at_rest(const mesh_contact *c, edge_contact *p)
{
  double x[24], d_a[3], d_b[3], n[3];
  positions(c, &p->name, p->star, true, x);
  v3_sub(d_a, x + 3, x);
  v3_sub(d_b, x + 15, x + 12);
  v3_cross(n, d_a, d_b);
  if (p->rest > 0.0 && v3_norm(n) > 0.0) v3_scale(p->Z, p->side * p->rest / v3_norm(n), n);
}

static PetscErrorCode add_pair(mesh_contact *c, const edge_name *name, const double at[2], int32_t side, bool is_new, double rest)
{
  mesh_edges        *e   = c->edges;
  const int          one = c->mesh[name->mesh[0]].body_id, two = c->mesh[name->mesh[1]].body_id;
  const contact_law *law = &c->law[pair_slot(c->pairs, c->n_bodies, one, two)];
  PetscFunctionBegin;
  PetscCall(memory_reserve("pairs of edges", e->n + 1, sizeof *e->pair, &e->capacity, &e->pair));
  edge_contact *p = &e->pair[e->n++];
  memset(p, 0, sizeof *p);
  p->name = *name, p->side = side, p->is_new = is_new, p->is_reached = true, p->k = law->stiffness, p->mu = law->friction;
  p->rest = fmin(rest, contact_rest_depth(c->rests, one, two));
  fill_stars(c, name, p->star);
  find_chains(c, p);
  find_point_at_rest(c, p);
  p->X = p->at = edge_patch_attachment(&e->patch[p->patch], at);
  for (int r = 0; r < 2 * EDGE_CHAIN; ++r) {
    const int              i    = r % EDGE_CHAIN;
    const contact_surface *s    = &c->mesh[name->mesh[r / EDGE_CHAIN]];
    const int32_t          node = p->node[r / EDGE_CHAIN][i];
    if (s->frame < 0) p->block[r] = node < 0 ? -1 : s->b->first_block + node;
    else p->block[r] = i > 1 || c->frames0[s->frame].block < 0 ? -1 : c->frames0[s->frame].block + i;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- candidates --------------------------------------------------------------------------------------------------------------- */

static void name_edge(const mesh_contact *c, int64_t edge, int32_t *mesh, int32_t *own)
{
  *mesh = 0;
  while (edge >= c->mesh[*mesh].topology->n_edges) edge -= c->mesh[(*mesh)++].topology->n_edges;
  *own = (int32_t)edge;
}

static int64_t find_pair(const mesh_edges *e, const edge_name *name)
{
  int64_t lo = 0, hi = e->n_recalled;
  while (lo < hi) {
    const int64_t mid = lo + (hi - lo) / 2;
    if (compare_names(&e->pair[mid].name, name) < 0) lo = mid + 1;
    else hi = mid;
  }
  if (lo < e->n_recalled && compare_names(&e->pair[lo].name, name) == 0) return lo;
  for (int64_t i = e->n_recalled; i < e->n; ++i)
    if (compare_names(&e->pair[i].name, name) == 0) return i;
  return -1;
}

PetscErrorCode mesh_edges_search(mesh_contact *c)
{
  mesh_edges             *e = c->edges;
  const broad_phase_pair *near;
  int64_t                 n, bad, at = 0;
  PetscFunctionBegin;
  e->n_candidates = 0;
  for (int m = 0; m < c->n_meshes; ++m) {
    const int64_t n_numbers = 3 * c->mesh[m].topology->n_vertices;
    memcpy(e->x + at, c->mesh[m].x0, (size_t)n_numbers * sizeof *e->x);
    at += n_numbers;
  }
  PetscCall(broad_phase_update(e->broad, e->x, e->x, c->margin, &bad));
  if (bad >= 0) PetscFunctionReturn(PETSC_SUCCESS); /* the bodies report values that are not finite */
  PetscCall(broad_phase_edge_edge(e->broad, &n, &near));
  PetscCall(MEMORY_RESERVE("near edges", n, &e->candidate_capacity, ARRAY(e->candidate, 1), ARRAY(e->hit_side, 1), ARRAY(e->hit_at, 3)));
  for (int64_t i = 0; i < n; ++i) {
    edge_candidate *q = &e->candidate[i];
    name_edge(c, near[i].first, &q->name.mesh[0], &q->name.edge[0]);
    name_edge(c, near[i].second, &q->name.mesh[1], &q->name.edge[1]);
    fill_stars(c, &q->name, q->star);
    q->is_known        = false;
    q->pair            = -1;
    const int64_t pair = find_pair(e, &q->name);
    if (pair < 0) continue;
    q->is_known = !e->pair[pair].is_new;
    q->pair     = e->pair[pair].is_new ? (int32_t)pair : -1;
  }
  e->n_candidates = n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- crossed edges ------------------------------------------------------------------------------------------------- */

/* Positions of the ends of both edges [4][3]; sufficient to reject nearly all candidates. */
static void end_positions(const mesh_contact *c, const edge_candidate *q, bool at_start, double x[12])
{
  for (int i = 0; i < 4; ++i) {
    const contact_surface *s = &c->mesh[q->name.mesh[i / 2]];
    v3_copy(x + 3 * i, (at_start ? s->x0 : s->x) + 3 * (int64_t)q->star[i / 2].node[i % 2]);
  }
}

/* Largest length of the springs between two bodies at the start of the step [m], of all pairs of bodies that have springs. */
typedef struct {
  int64_t   n;
  uint64_t *key;    /* [n] ascending; of the two bodies */
  double   *length; /* [n] */
} spring_lengths;

static uint64_t key_of_bodies(int one, int two) { return (uint64_t)(one < two ? one : two) << 32 | (uint64_t)(one < two ? two : one); }

static PetscErrorCode measure_springs(mesh_contact *c, spring_lengths *out)
{
  const int64_t n = c->n + c->edges->n;
  double       *own;
  int32_t      *order;
  PetscFunctionBegin;
  *out = (spring_lengths){0};
  PetscCall(MEMORY_ALLOC("springs between bodies", ARRAY(out->key, n), ARRAY(out->length, n), ARRAY(own, n), ARRAY(order, n)));
  for (int64_t i = 0; i < c->n + c->edges->n; ++i) {
    int    one, two;
    double pull[3], rest = 0.0;
    if (i < c->n) {
      const mesh_pair       *p = &c->pair[i];
      const contact_surface *s = &c->mesh[p->q.i_object];
      one = p->q.key.source, two = s->body_id;
      rest = p->rest;
      v3_copy(pull, p->q.x);
      const int32_t *corner = s->topology->tri + 3 * (int64_t)p->X.triangle;
      for (int k = 0; k < 3; ++k) v3_axpy(pull, -p->X.weight[k], s->x0 + 3 * (int64_t)corner[k]);
    } else {
      const edge_contact *p = &c->edges->pair[i - c->n];
      double              x[24], at[2];
      int                 cell[2];
      one = c->mesh[p->name.mesh[0]].body_id, two = c->mesh[p->name.mesh[1]].body_id;
      positions(c, &p->name, p->star, true, x);
      edge_patch_fractions(&c->edges->patch[p->patch], &p->X, cell, at);
      v3_sub(pull, x + 12, x);
      for (int k = 0; k < 3; ++k) pull[k] += at[1] * (x[15 + k] - x[12 + k]) - at[0] * (x[3 + k] - x[k]);
    }
    out->key[i] = key_of_bodies(one, two);
    own[i]      = v3_norm(pull) + rest;
  }
  const PetscErrorCode code = sort_keys(n, 64, out->key, order);
  for (int64_t i = 0; i < n && !code; ++i) {
    const bool is_first = i == 0 || out->key[i] != out->key[out->n - 1];
    if (is_first) out->key[out->n++] = out->key[i];
    out->length[out->n - 1] = fmax(is_first ? 0.0 : out->length[out->n - 1], own[order[i]]);
  }
  MEMORY_FREE(&own, &order);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* 0: no springs. */
static double longest_spring(const spring_lengths *s, int one, int two)
{
  const uint64_t key = key_of_bodies(one, two);
  int64_t        lo = 0, hi = s->n;
  while (lo < hi) {
    const int64_t mid = lo + (hi - lo) / 2;
    if (s->key[mid] < key) lo = mid + 1;
    else hi = mid;
  }
  return lo < s->n && s->key[lo] == key ? s->length[lo] : 0.0;
}

/* Find edges that have crossed without a collision of the edges: the end of an edge has entered a surface on one side of a ridge, and left
 * it on the other side. The initial state of a job can contain such edges as well. The depth is limited by that of other contacts of the
 * two bodies; otherwise edges that crossed from the far side would be attracted. */
static PetscErrorCode find_crossed(mesh_contact *c)
{
  mesh_edges    *e = c->edges;
  spring_lengths spring;
  PetscFunctionBegin;
  PetscCall(measure_springs(c, &spring));
  for (int64_t i = 0; i < e->n_candidates; ++i) {
    edge_candidate *q   = &e->candidate[i];
    const int       one = c->mesh[q->name.mesh[0]].body_id, two = c->mesh[q->name.mesh[1]].body_id;
    double          reach = CROSSED_SPRINGS * longest_spring(&spring, one, two);
    double          ends[12], x[24], d_a[3], d_b[3], depth, at[2];
    int32_t         side;
    if (q->is_known || !(reach > 0.0 || c->is_fresh)) continue;
    end_positions(c, q, true, ends);
    v3_sub(d_a, ends + 3, ends);
    v3_sub(d_b, ends + 9, ends + 6);
    if (c->is_fresh) reach = fmax(CROSSED_AT_START * fmin(v3_norm(d_a), v3_norm(d_b)), contact_rest_depth(c->rests, one, two));
    if (ccd_boxes_are_apart(ends, ends, 2, reach)) continue;
    positions(c, &q->name, q->star, true, x);
    if (!edge_pair_is_crossed(q->star, x, &side, at, &depth) || depth > reach) continue;
    PetscCall(add_pair(c, &q->name, at, side, false, depth));
    const edge_contact *added = &e->pair[e->n - 1];
    c->start_energy += 0.5 * added->k * (depth - added->rest) * (depth - added->rest);
    q->is_known = true;
  }
  MEMORY_FREE(&spring.key, &spring.length);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mesh_edges_begin_step(mesh_contact *c)
{
  mesh_edges *e = c->edges;
  PetscFunctionBegin;
  e->n = e->n_recalled = 0;
  for (int64_t i = 0; i < e->n_known; ++i, ++e->n_recalled) {
    const edge_memory *k = &e->known[i];
    PetscCall(add_pair(c, &k->name, k->at, k->side, false, k->rest));
  }
  const double margin = c->margin;
  for (int64_t i = 0; c->is_fresh && c->rests && i < c->rests->n; ++i) c->margin = fmax(c->margin, c->rests->depth[i]);
  PetscCall(mesh_edges_search(c));
  c->margin = margin;
  PetscCall(find_crossed(c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- colliding edges ------------------------------------------------------------------------------------------------------ */

static void try_candidate(mesh_contact *c, int64_t i)
{
  mesh_edges           *e = c->edges;
  const edge_candidate *q = &e->candidate[i];
  double                x0[24], x1[24];
  e->hit_side[i] = 0;
  if (q->is_known) return;
  end_positions(c, q, true, x0);
  end_positions(c, q, false, x1);
  if (ccd_boxes_are_apart(x0, x1, 2, edge_pair_reach(x0))) return;
  positions(c, &q->name, q->star, true, x0);
  positions(c, &q->name, q->star, false, x1);
  if (!edge_pair_collides(q->star, x0, x1, q->pair >= 0, &e->hit_side[i], &e->hit_at[3 * i])) e->hit_side[i] = 0;
}

/* Nodes of both chains at the start of the step or in the evaluated state, x [8][3]; missing nodes: 0. */
static void chain_positions(const mesh_contact *c, const edge_contact *p, bool at_start, double x[24])
{
  for (int e = 0; e < 2 * EDGE_CHAIN; ++e) {
    const contact_surface *s    = &c->mesh[p->name.mesh[e / EDGE_CHAIN]];
    const int32_t          node = p->node[e / EDGE_CHAIN][e % EDGE_CHAIN];
    if (node < 0) v3_set(x + 3 * e, 0.0, 0.0, 0.0);
    else v3_copy(x + 3 * e, (at_start ? s->x0 : s->x) + 3 * (int64_t)node);
  }
}

/* Attach a pair that collides in this step where the edges touch first. As a point and a surface (penalty_edges.h), this is the place at which
 * the surface passes over the origin. hit [3]: the collision, positions along both edges and time, from edge_pair_collides. */
static void attach_at_entry(const mesh_contact *c, edge_contact *p, const double hit[3])
{
  const edge_patch *patch = &c->edges->patch[p->patch];
  double            x[24], from[3 * EDGE_CORNERS], to[3 * EDGE_CORNERS];
  entry_path        path = {.is_rigid = false};
  p->X                   = edge_patch_attachment(patch, hit);
  chain_positions(c, p, true, x);
  edge_patch_corners(x, x + 12, from);
  chain_positions(c, p, false, x);
  edge_patch_corners(x, x + 12, to);
  for (int k = 0; k < 3; ++k) {
    const int32_t corner = patch->topology->tri[3 * p->X.triangle + k];
    v3_copy(path.from[1 + k], from + 3 * corner);
    v3_copy(path.to[1 + k], to + 3 * corner);
  }
  mesh_entry_find(&path, hit[2], &p->X, p->X_d);
}

PetscErrorCode mesh_edges_detect(mesh_contact *c)
{
  mesh_edges   *e = c->edges;
  const int64_t n = e->n_candidates;
  PetscFunctionBegin;
#pragma omp parallel for schedule(dynamic, 64) if (n > CONTACT_SERIAL)
  for (int64_t i = 0; i < n; ++i) try_candidate(c, i);
  for (int64_t i = 0; i < n; ++i) {
    edge_candidate *q    = &e->candidate[i];
    const int32_t   side = e->hit_side[i];
    if (q->pair < 0 && side != 0) {
      q->pair = (int32_t)e->n;
      PetscCall(add_pair(c, &q->name, &e->hit_at[3 * i], side, true, 0.0));
    }
    if (q->pair < 0) continue;
    edge_contact *p = &e->pair[q->pair];
    p->is_reached   = side != 0;
    if (side == 0) continue;
    p->side = side;
    attach_at_entry(c, p, &e->hit_at[3 * i]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a node, the end of an edge from `other`, is the outermost of its surface along -n, or the chain of the edge ends or bends at
 * this node. */
static bool is_corner(const contact_surface *s, int32_t node, int32_t other, const double n[3])
{
  const triangle_topology *t            = s->topology;
  bool                     is_outermost = true, continues = false;
  double                   direction[3];
  v3_sub(direction, s->x0 + 3 * (int64_t)node, s->x0 + 3 * (int64_t)other);
  for (int32_t j = 3 * t->fan_start[node]; j < 3 * t->fan_start[node + 1]; ++j) {
    double e[3], aside[3];
    v3_sub(e, s->x0 + 3 * (int64_t)t->tri[3 * (int64_t)t->fan[j / 3] + j % 3], s->x0 + 3 * (int64_t)node);
    v3_cross(aside, direction, e);
    is_outermost &= v3_dot(e, n) >= -EDGE_RISE * v3_norm(e);
    continues |= v3_dot(direction, e) > 0.0 && v3_norm(aside) <= EDGE_RISE * v3_norm(direction) * v3_norm(e);
  }
  return is_outermost || !continues;
}

bool mesh_edges_hold(const mesh_contact *c, const body *b, int64_t node, int i_mesh, int32_t triangle, const double n[3])
{
  for (int64_t i = 0; i < c->edges->n; ++i) {
    const edge_contact *p = &c->edges->pair[i];
    for (int k = 0; k < 2 && p->is_reached; ++k) {
      const contact_surface *own  = &c->mesh[p->name.mesh[k]];
      const int32_t         *ends = p->star[1 - k].node;
      if (own->b != b || p->name.mesh[1 - k] != i_mesh || (p->star[k].node[0] != node && p->star[k].node[1] != node)) continue;
      if (triangle_topology_corner(c->mesh[i_mesh].topology, triangle, ends[0]) < 0 &&
          triangle_topology_corner(c->mesh[i_mesh].topology, triangle, ends[1]) < 0)
        continue;
      if (!is_corner(own, (int32_t)node, p->star[k].node[p->star[k].node[0] == node], n)) return true;
    }
  }
  return false;
}

/* ---- stored between steps ---- */

/* Two edges of one surface: put the lower number first. Exchanging them reverses the cross product and the direction from b to a. */
static void put_in_order(edge_memory *m)
{
  if (m->name.mesh[0] != m->name.mesh[1] || m->name.edge[0] < m->name.edge[1]) return;
  *m = (edge_memory){{{m->name.mesh[0], m->name.mesh[1]}, {m->name.edge[1], m->name.edge[0]}}, m->side, {m->at[1], m->at[0]}, m->rest};
}

/* Whether the force of the end of chain 1 - k still acts against the outside of edge k: its tangential part is at most 1 + mu times its normal
 * part, and edge k is outermost along it. The first condition is needed at the border of an open surface. */
static bool is_outside_of(const mesh_contact *c, const edge_contact *p, const edge_memory *m, int k)
{
  edge_star star[2];
  double    x[24], pull[3];
  fill_stars(c, &m->name, star);
  positions(c, &m->name, star, false, x);
  v3_sub(pull, p->Q, p->P);
  const double length = v3_norm(pull), down = v3_dot(pull, p->normal);
  v3_scale(pull, (k == 1 ? 1.0 : -1.0) / length, pull);
  return length <= hypot(1.0, 1.0 + p->mu) * down && edge_star_is_outermost(&star[k], x + 12 * k, pull);
}

/* Record of a pair for the next step; false: the pair is not stored. */
static bool keep(const mesh_contact *c, const edge_contact *p, edge_memory *out)
{
  int             cell[2];
  bool            is_at_end[2];
  mesh_attachment at = p->at;
  if (!p->is_active && !(p->rest > 0.0)) return false;
  *out = (edge_memory){.name = p->name, .side = p->side, .rest = p->rest};
  if (!p->is_active) { /* inside by at most the rest depth: see penalty_mesh.c */
    double          corners[3 * EDGE_CORNERS], outward[3];
    mesh_relaxation r;
    edge_patch_corners(p->x, p->x + 12, corners);
    relax_mesh(c->edges->patch[p->patch].topology, corners, 0.0, &p->X, p->Z, false, &r);
    v3_sub(outward, p->Z, r.Y);
    at = r.at;
    out->rest -= fmax(0.0, p->side * v3_dot(outward, r.normal));
    if (!(out->rest > 0.0) || r.has_left) return false;
  }
  edge_patch_fractions(&c->edges->patch[p->patch], &at, cell, out->at);
  for (int k = 0; k < 2; ++k) {
    const int32_t *node = p->node[k];
    const int      i    = cell[k];
    edge_star      star;
    is_at_end[k]      = (out->at[k] == 0.0 && (i == 0 || node[i - 1] < 0)) || (out->at[k] == 1.0 && (i == 2 || node[i + 2] < 0));
    out->name.edge[k] = p->chain[k][i];
    edge_star_fill(c->mesh[p->name.mesh[k]].topology, false, p->chain[k][i], &star);
    if (star.node[0] != node[i])
      out->at[k] = 1.0 - out->at[k], out->side = -out->side; /* the stored edge has the opposite
                                                                                         * direction */
  }
  for (int k = 0; k < 2; ++k)
    if (is_at_end[k] && !is_outside_of(c, p, out, 1 - k)) return false;
  put_in_order(out);
  return true;
}

static PetscErrorCode penalty_edges_resize(void *context, int64_t n)
{
  mesh_edges *e = ((mesh_contact *)context)->edges;
  PetscFunctionBegin;
  PetscCall(MEMORY_RESERVE("edge attachments", n, &e->known_capacity, ARRAY(e->known, 1), ARRAY(e->stored_body, 2),
                           ARRAY(e->stored_edge, 2), ARRAY(e->stored_side, 1), ARRAY(e->stored_at, 2), ARRAY(e->stored_rest, 1)));
  e->n_known = n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mesh_edges_end_step(mesh_contact *c)
{
  mesh_edges *e = c->edges;
  int64_t     n = 0;
  PetscFunctionBegin;
  PetscCall(penalty_edges_resize(c, e->n));
  for (int64_t i = 0; i < e->n; ++i) n += keep(c, &e->pair[i], &e->known[n]);
  if (n > 0) qsort(e->known, (size_t)n, sizeof *e->known, compare_memory);
  e->n_known = 0;
  for (int64_t i = 0; i < n; ++i) { /* two pairs can have slid to the same edges */
    if (e->n_known > 0 && compare_names(&e->known[e->n_known - 1].name, &e->known[i].name) == 0) continue;
    e->known[e->n_known++] = e->known[i];
  }
  for (int64_t i = 0; i < e->n_known; ++i) {
    const edge_memory *k = &e->known[i];
    for (int j = 0; j < 2; ++j) {
      e->stored_body[2 * i + j] = c->mesh[k->name.mesh[j]].body_id;
      e->stored_edge[2 * i + j] = k->name.edge[j];
      e->stored_at[2 * i + j]   = k->at[j];
    }
    e->stored_side[i] = k->side;
    e->stored_rest[i] = k->rest;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether pair i of a checkpoint is valid; checkpoints are untrusted. */
static bool is_plausible_edge_pair(const mesh_contact *c, int64_t i)
{
  const edge_memory *k = &c->edges->known[i];
  for (int j = 0; j < 2; ++j) {
    if (k->name.mesh[j] < 0 || !(k->at[j] >= 0.0 && k->at[j] <= 1.0)) return false;
    if (k->name.edge[j] < 0 || k->name.edge[j] >= c->mesh[k->name.mesh[j]].topology->n_edges) return false;
  }
  return (k->side == 1 || k->side == -1) && k->rest >= 0.0 && (i == 0 || compare_names(&k[-1].name, &k->name) < 0);
}

static PetscErrorCode penalty_edges_restored(void *context)
{
  mesh_contact *c = context;
  mesh_edges   *e = c->edges;
  PetscFunctionBegin;
  for (int64_t i = 0; i < e->n_known; ++i) {
    e->known[i] = (edge_memory){.name = {{-1, -1}, {e->stored_edge[2 * i], e->stored_edge[2 * i + 1]}},
                                .side = e->stored_side[i],
                                .at   = {e->stored_at[2 * i], e->stored_at[2 * i + 1]},
                                .rest = e->stored_rest[i]};
    for (int m = 0; m < c->n_meshes; ++m)
      for (int j = 0; j < 2; ++j)
        if (c->mesh[m].body_id == e->stored_body[2 * i + j]) e->known[i].name.mesh[j] = m;
    PetscCheck(is_plausible_edge_pair(c, i), PETSC_COMM_SELF, PETSC_ERR_FILE_UNEXPECTED,
               "checkpoint: attachment %lld of a pair of edges is invalid", (long long)i);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mesh_edges_fields(mesh_contact *c, field_table *table)
{
  const int    flags = FIELD_CHECKPOINT;
  mesh_edges  *e     = c->edges;
  field_group *g;
  PetscFunctionBegin;
  PetscCall(field_table_add_group(table, "contact/edge_attachments", FIELD_GROUP_PLAIN, &e->n_known, c, &g));
  g->resize   = penalty_edges_resize;
  g->restored = penalty_edges_restored;
  PetscCall(field_table_add(table, g, "bodies", "1", FIELD_I32, 2, &e->stored_body, flags, "bodies of the two edges"));
  PetscCall(field_table_add(table, g, "edges", "1", FIELD_I32, 2, &e->stored_edge, flags, "numbers of the edges in their surfaces"));
  PetscCall(field_table_add(table, g, "fractions", "1", FIELD_F64, 2, &e->stored_at, flags, "position along each edge, 0 to 1"));
  PetscCall(field_table_add(table, g, "side", "1", FIELD_I32, 1, &e->stored_side, flags,
                            "sign with which the edges' cross product points away from the second"));
  PetscCall(
      field_table_add(table, g, "rest", "m", FIELD_F64, 1, &e->stored_rest, flags, "depth at the start of the run, not yet corrected"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- forces of pairs of edges and their tangent ---- */

/* Forces of pairs of edges and their exact linearisation.
 *
 * With weights c_e >= 0, sum 1, of the nodes e = 0 ... 3 of chain a, and weights c_e <= 0, sum -1, of the nodes 4 ... 7 of chain b,
 *
 *
 *   Y = -sum_e c_e x_e,   f = k Y,   F_e = c_e f on node e,   dF_e = c_e k dY + f dc_e
 *
 * where dY and dc_e follow from the relaxation with the corners x_4 ... x_7 minus x_0 ... x_3. Nodes are unknowns, or move with
 * a rigid body: dx = dc + dtheta x arm; the torque arm x F then changes with the rotation as well. */

enum { ENDS = 2 * EDGE_CHAIN };

/* ---- bodies of the nodes ---- */

typedef struct {
  const rigid_frame *frame[2];     /* frames of the rigid bodies of both chains; NULL: nodes are unknowns */
  double             arm[ENDS][9]; /* [x - c] of rigid ones */
} edge_bodies;

static void find_bodies(const mesh_contact *c, const edge_contact *p, const rigid_frame *frames, edge_bodies *out)
{
  for (int e = 0; e < ENDS; ++e) {
    const int frame = c->mesh[p->name.mesh[e / EDGE_CHAIN]].frame;
    double    arm[3];
    out->frame[e / EDGE_CHAIN] = frame >= 0 ? &frames[frame] : NULL;
    if (frame < 0) continue;
    v3_sub(arm, p->x + 3 * e, frames[frame].c);
    m3_skew(out->arm[e], arm);
  }
}

/* Transpose map of the force at a node to block 4 k + i of the pair, k the chain of node e; false: none. */
static bool lever(const edge_bodies *b, int e, int i, double L[9])
{
  const bool is_rigid = b->frame[e / EDGE_CHAIN] != NULL;
  if (is_rigid ? i > 1 : i != e % EDGE_CHAIN) return false;
  if (is_rigid && i == 1) m3_copy(L, b->arm[e]);
  else m3_identity(L);
  return true;
}

/* Derivative of the position of node e with respect to block 4 k + i, without the factor dt; false: none. */
static bool motion(const edge_bodies *b, int e, int i, double S[9])
{
  const rigid_frame *frame = b->frame[e / EDGE_CHAIN];
  if (!lever(b, e, i, S)) return false;
  if (!frame || i == 0) return true;
  double A[9];
  m3_mul(A, S, frame->Jl);
  for (int k = 0; k < 9; ++k) S[k] = -A[k];
  return true;
}

/* ---- evaluation -------------------------------------------------------------------------------------------------------------- */

/* Weights of the nodes, their gradients with respect to the nodes [3], dY with respect to the nodes [9]; nodes that affect the pair, and
 * nodes with a force. */
typedef struct {
  double c[ENDS], dc[ENDS][ENDS][3], dY[ENDS][9];
  bool   is_col[ENDS], is_row[ENDS];
} end_weights;

static void penalty_edges_weigh(const triangle_topology *t, const mesh_relaxation *r, end_weights *w)
{
  memset(w, 0, sizeof *w);
  for (int k = 0; k < 3; ++k) {
    const int corner = t->tri[3 * r->at.triangle + k], a = edge_patch_a(corner), b = EDGE_CHAIN + edge_patch_b(corner);
    w->c[a] += r->at.weight[k];
    w->c[b] -= r->at.weight[k];
    w->is_row[a] = w->is_row[b] = true;
  }
}

static void differentiate(const triangle_topology *t, const double corners[48], const mesh_relaxation *r, end_weights *w)
{
  for (int j = 1; j <= r->n_nodes; ++j) {
    const int moved[2] = {edge_patch_a(r->node[j - 1]), EDGE_CHAIN + edge_patch_b(r->node[j - 1])};
    double    block[9];
    mesh_relaxation_block(t, corners, r, j, block);
    for (int m = 0; m < 2; ++m) {
      const double sign   = m == 0 ? -1.0 : 1.0;
      w->is_col[moved[m]] = true;
      m3_axpy(w->dY[moved[m]], sign, block);
      for (int k = 0; k < 3; ++k) {
        const int corner = t->tri[3 * r->at.triangle + k];
        v3_axpy(w->dc[edge_patch_a(corner)][moved[m]], sign, r->d_weight[k] + 3 * j);
        v3_axpy(w->dc[EDGE_CHAIN + edge_patch_b(corner)][moved[m]], -sign, r->d_weight[k] + 3 * j);
      }
    }
  }
}

/* T[row][col] += scale L K S. */
static void add_block(edge_contact *p, int row, int col, double scale, const double L[9], const double K[9], const double S[9])
{
  const uint64_t bit = (uint64_t)1 << (8 * row + col);
  double         LK[9], LKS[9];
  if (p->block[row] < 0 || p->block[col] < 0) return;
  if (!(p->filled & bit)) m3_zero(p->T[row][col]);
  p->filled |= bit;
  m3_mul(LK, L, K);
  m3_mul(LKS, LK, S);
  m3_axpy(p->T[row][col], scale, LKS);
}

static void linearize(const mesh_contact *c, edge_contact *p, const edge_bodies *bodies, const end_weights *w)
{
  const double scale = -c->dt * c->dt;
  for (int e = 0; e < ENDS; ++e) {
    const int chain = EDGE_CHAIN * (e / EDGE_CHAIN);
    for (int q = 0; q < ENDS && w->is_row[e]; ++q) {
      double K[9], L[9], S[9];
      if (!w->is_col[q]) continue;
      m3_outer(K, p->f, w->dc[e][q]);
      m3_axpy(K, p->k * w->c[e], w->dY[q]);
      for (int i = 0; i < EDGE_CHAIN; ++i)
        for (int j = 0; j < EDGE_CHAIN; ++j)
          if (lever(bodies, e, i, L) && motion(bodies, q, j, S)) add_block(p, chain + i, EDGE_CHAIN * (q / EDGE_CHAIN) + j, scale, L, K, S);
    }
    if (!bodies->frame[e / EDGE_CHAIN] || !w->is_row[e]) continue;
    double F[3], skew[9]; /* (dtheta x arm) x F = [F] [arm] dtheta */
    v3_scale(F, w->c[e], p->f);
    m3_skew(skew, F);
    add_block(p, chain + 1, chain + 1, scale, skew, bodies->arm[e], bodies->frame[e / EDGE_CHAIN]->Jl);
  }
}

static void evaluate_pair(const mesh_contact *c, edge_contact *p, const rigid_frame *frames, bool with_tangent)
{
  const triangle_topology *t = c->edges->patch[p->patch].topology;
  double                   corners[3 * EDGE_CORNERS], pull[3];
  mesh_relaxation          r;
  end_weights              w;
  edge_bodies              bodies;
  chain_positions(c, p, false, p->x);
  edge_patch_corners(p->x, p->x + 12, corners);
  relax_mesh_bounded(t, corners, p->mu, &p->X, p->is_new ? (const double(*)[12])p->X_d : NULL, p->Z, with_tangent, &r);
  v3_sub(pull, r.Y, p->Z);
  penalty_edges_weigh(t, &r, &w);
  v3_scale(p->normal, p->side, r.normal);
  const int last = r.place[r.n_places - 1];
  p->is_active   = p->is_reached && v3_dot(pull, p->normal) > 0.0;
  p->at          = r.at;
  p->is_on_face  = last == ON_TRIANGLE || last == ENTERED;
  p->is_sliding  = p->is_active && !mesh_attachment_equal(&r.at, &p->X);
  v3_scale(p->f, p->is_active ? p->k : 0.0, pull);
  v3_set(p->P, 0.0, 0.0, 0.0);
  v3_set(p->Q, 0.0, 0.0, 0.0);
  for (int i = 0; i < EDGE_CHAIN; ++i) {
    v3_axpy(p->P, w.c[i], p->x + 3 * i);
    v3_axpy(p->Q, -w.c[EDGE_CHAIN + i], p->x + 12 + 3 * i);
  }
  memset(p->push, 0, sizeof p->push);
  if (with_tangent) p->filled = 0;
  if (!p->is_active) return;
  find_bodies(c, p, frames, &bodies);
  for (int e = 0; e < ENDS; ++e)
    for (int i = 0; i < EDGE_CHAIN && w.is_row[e]; ++i) {
      double L[9], F[3];
      if (!lever(&bodies, e, i, L)) continue;
      m3_mulv(F, L, p->f);
      v3_axpy(p->push[EDGE_CHAIN * (e / EDGE_CHAIN) + i], w.c[e], F);
    }
  if (!with_tangent) return;
  differentiate(t, corners, &r, &w);
  linearize(c, p, &bodies, &w);
}

void mesh_edges_evaluate(mesh_contact *c, const rigid_frame *frames, bool with_tangent)
{
  const int64_t       n    = c->edges->n;
  edge_contact *const pair = c->edges->pair;
#pragma omp parallel for schedule(dynamic, 16) if (n > CONTACT_SERIAL)
  for (int64_t i = 0; i < n; ++i) evaluate_pair(c, &pair[i], frames, with_tangent);
}

int mesh_edges_not_finite(const mesh_contact *c)
{
  for (int64_t i = 0; i < c->edges->n; ++i) {
    const edge_contact *p   = &c->edges->pair[i];
    double              sum = 0.0;
    for (int k = 0; k < 3; ++k) sum += 0.0 * p->P[k] + 0.0 * p->f[k];
    if (sum != 0.0) return c->mesh[p->name.mesh[0]].body_id;
  }
  return -1;
}

void mesh_edges_residual(const mesh_contact *c, double *g)
{
  for (int64_t i = 0; i < c->edges->n; ++i) {
    const edge_contact *p = &c->edges->pair[i];
    for (int r = 0; r < ENDS && p->is_active; ++r)
      if (p->block[r] >= 0) v3_axpy(g + 3 * p->block[r], -c->dt, p->push[r]);
  }
}

/* ---- products and blocks ----------------------------------------------------------------------------------------------------- */

void mesh_edges_tangent(const mesh_contact *c, const double *x, double *y, bool is_transposed)
{
  for (int64_t i = 0; i < c->edges->n; ++i) {
    const edge_contact *p = &c->edges->pair[i];
    for (uint64_t left = p->filled; left; left &= left - 1) {
      const int     k   = __builtin_ctzll(left);
      const int64_t row = p->block[k / 8], col = p->block[k % 8];
      double        term[3];
      if (is_transposed) m3_mulv_t(term, p->T[k / 8][k % 8], x + 3 * row);
      else m3_mulv(term, p->T[k / 8][k % 8], x + 3 * col);
      v3_axpy(y + 3 * (is_transposed ? col : row), 1.0, term);
    }
  }
}

void mesh_edges_block_diagonal(const mesh_contact *c, double *d)
{
  for (int64_t i = 0; i < c->edges->n; ++i) {
    const edge_contact *p = &c->edges->pair[i];
    for (int r = 0; r < ENDS; ++r)
      if (p->filled >> (9 * r) & 1) m3_axpy(d + 9 * p->block[r], 1.0, p->T[r][r]);
  }
}

void mesh_edges_assemble(const mesh_contact *c, const block_rows *H)
{
  for (int64_t i = 0; i < c->edges->n; ++i) {
    const edge_contact *p = &c->edges->pair[i];
    for (uint64_t left = p->filled; left; left &= left - 1) {
      const int k  = __builtin_ctzll(left);
      double   *to = block_rows_find(H, p->block[k / 8], p->block[k % 8]);
      if (to) m3_axpy(to, 1.0, p->T[k / 8][k % 8]);
    }
  }
}

/* Couplings of the two edges of each pair only; preconditioners ignore the other edges of the chains. */
void mesh_edges_couplings(const mesh_contact *c, int64_t *n, int32_t *row, int32_t *col)
{
  for (int64_t i = 0; i < c->edges->n; ++i) {
    const edge_contact *p = &c->edges->pair[i];
    int64_t             block[4];
    for (int k = 0; k < 4; ++k) block[k] = p->block[EDGE_CHAIN * (k / 2) + k % 2 + (c->mesh[p->name.mesh[k / 2]].frame < 0)];
    for (int k = 0; k < 16; ++k)
      if (block[k / 4] >= 0 && block[k % 4] >= 0) row[*n] = (int32_t)block[k / 4], col[(*n)++] = (int32_t)block[k % 4];
  }
}

void mesh_edges_pair(const mesh_contact *c, int64_t i, mesh_pair_view *out)
{
  const edge_contact *p = &c->edges->pair[i];
  *out                  = (mesh_pair_view){.source_body    = c->mesh[p->name.mesh[0]].body_id,
                                           .object_body    = c->mesh[p->name.mesh[1]].body_id,
                                           .point          = -1,
                                           .is_active      = p->is_active,
                                           .is_sliding     = p->is_sliding,
                                           .is_on_triangle = p->is_on_face,
                                           .stiffness      = p->k,
                                           .gain           = 1.0,
                                           .cone           = {.mu = p->mu}};
  v3_copy(out->Z, p->P);
  v3_copy(out->Y, p->Q);
  v3_copy(out->f, p->f);
  v3_copy(out->plane, p->normal);
  double corners[3 * EDGE_CORNERS];
  edge_patch_corners(p->x, p->x + 12, corners);
  v3_copy(out->X, p->P);
  const int32_t *X = c->edges->patch[p->patch].topology->tri + 3 * p->X.triangle;
  for (int k = 0; k < 3; ++k) v3_axpy(out->X, p->X.weight[k], corners + 3 * X[k]);
  v3_copy(out->normal, p->normal);
}
