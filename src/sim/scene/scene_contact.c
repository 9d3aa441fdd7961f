/* Which bodies of a scene may touch how, and who brings points and who level sets. */
#include "sim/scene/scene_impl.h"
#include <string.h>
#include "contact/detection/contact_finders.h"
#include "contact/penalty/penalty.h"
#include "contact/penalty/restitution.h"
#include "core/math3.h"
#include "core/memory.h"

/* Does `name` mean body i: by its own name, that of the whole it is a part of, or by its material's? */
static bool is_meant(const scene *s, int i, const char *name)
{
  const int whole = s->bodies[i].whole;
  return strcmp(s->bodies[i].name, name) == 0 || (whole >= 0 && strcmp(s->bodies[whole].name, name) == 0) || (s->bodies[i].material && strcmp(s->bodies[i].material->name, name) == 0);
}

/* "contact.pairs[k]": where complaints about an entry belong. */
typedef struct {
  char text[64];
} pair_path;
static pair_path path_of(const scene *s, const key_item *item)
{
  pair_path p;
  (void)snprintf(p.text, sizeof p.text, "contact.pairs[%d]", (int)(item - s->options->contact->pairs.item));
  return p;
}

/* Two parts of one whole do not touch each other, unless an entry names them: joints hold them closer than their shapes would. */
static bool is_one_whole(const scene *s, int i, int j) { return s->bodies[i].whole >= 0 && s->bodies[i].whole == s->bodies[j].whole; }

static bool is_material(const scene *s, const char *name)
{
  for (int i = 0; i < s->n_bodies; ++i)
    if (strcmp(s->bodies[i].name, name) == 0) return false;
  return true;
}

static void check_pair_name(const scene *s, const key_item *item, const char *name, diagnostics *d)
{
  const char *names[256];
  int         n = 0;
  for (int i = 0; i < s->n_bodies; ++i) {
    if (is_meant(s, i, name)) return;
    if (n < 255) names[n++] = s->bodies[i].name;
    if (n < 255 && s->bodies[i].material) names[n++] = s->bodies[i].material->name;
  }
  const char *nearest = diagnostics_nearest(name, n, names);
  diagnostics_add_under(d, item->node, path_of(s, item).text, "between", "no body or material in use is called \"%s\"%s%s%s", name,
                        nearest ? "; did you mean \"" : "", nearest ? nearest : "", nearest ? "\"?" : "; give two names of bodies or materials");
}

/* Is body i touched as a surface of triangles? Rigid ones say so one by one. */
static bool has_surface(const scene_body *b)
{
  body_surface s = {0};
  if (b->body && b->body->ops->surface) b->body->ops->surface(b->body, &s);
  return s.n_triangles > 0;
}

static bool is_rigid(const scene *s) { return s->options->formulation->is_rigid; }

/* Two that meet on the grid of one of them. */
static bool meet_on_grid(const scene *s, int a, int b)
{
  return s->options->formulation->meets_on_grid && !s->bodies[a].kind->ops->carrier != !s->bodies[b].kind->ops->carrier;
}

static bool can_be_touched(const body_ops *ops) { return ops->level_sets || ops->surface; }

/* Where contact is rigid everything that moves meets everything else, found or not, see check_found. */
static bool can_touch_rigid(const scene_body *a, const scene_body *b)
{
  const body_ops *one = a->kind->ops, *two = b->kind->ops;
  if (a == b) return one->segments || (one->surface && !one->frame);
  if (one->parts || two->parts || one->is_shapeless || two->is_shapeless) return false; /* their parts do, or nothing does */
  if (one->carrier && two->carrier && !one->frame && !two->frame) return false; /* on one grid */
  return one->residual || one->carrier || two->residual || two->carrier;
}

/* Points of one against level sets or the surface of the other; whoever brings points can move. Bodies of one grid meet there. */
static bool can_touch(const scene *s, int a, int b)
{
  const body_ops *one = s->bodies[a].kind->ops, *two = s->bodies[b].kind->ops;
  if ((scene_is_wall(s, a) && two->carrier) || (scene_is_wall(s, b) && one->carrier)) return false; /* the grid ends there */
  if (is_rigid(s)) return can_touch_rigid(&s->bodies[a], &s->bodies[b]);
  if (a == b) return one->surface && !one->frame; /* what is rigid does not */
  return (one->points != POINT_NONE && can_be_touched(two)) || (two->points != POINT_NONE && can_be_touched(one));
}

/* Two that bring points and nothing that points could touch, and share no grid: springs do not know them of each other. */
static bool is_unseen(const scene *s, int a, int b)
{
  const body_ops *one = s->bodies[a].kind->ops, *two = s->bodies[b].kind->ops;
  return !is_rigid(s) && a != b && one->points != POINT_NONE && two->points != POINT_NONE && !can_be_touched(one) && !can_be_touched(two) && (one->segments || two->segments);
}

/* An entry that names two bodies, or one of them twice, that no contact law can be between is a slip: nothing would come of it. */
static void check_can_meet(const scene *s, const key_item *item, diagnostics *d)
{
  const contact_pair_options *p   = item->value;
  const char     *one = p->between.item[0].value, *two = p->between.item[1].value;
  const int       a = scene_find_body(s, one), b = scene_find_body(s, two);
  if (a < 0 || b < 0 || can_touch(s, a, b) || is_unseen(s, a, b) || s->bodies[a].kind->ops->parts || s->bodies[b].kind->ops->parts) return;
  if (a == b)
    diagnostics_add_under(d, item->node, path_of(s, item).text, "between",
                          "\"%s\" is of kind %s; only bodies of kind fem and cloth can touch themselves, and rod under exact: leave the entry out", one, s->bodies[a].kind->name);
  else
    diagnostics_add_under(d, item->node, path_of(s, item).text, "between",
                          "\"%s\" (%s) and \"%s\" (%s) have no contact law: obstacles do not meet each other, and bodies of kind mpm or mac meet on their grid; "
                          "leave the entry out", one, s->bodies[a].kind->name, two, s->bodies[b].kind->name);
}

static void check_ellipse(const scene *s, const key_item *item, diagnostics *d)
{
  const contact_pair_options *p    = item->value;
  const pair_path path = path_of(s, item);
  if (isfinite(p->friction_transverse) != isfinite(p->friction_direction[0]))
    diagnostics_add_under(d, item->node, path.text, NULL, "friction_direction and friction_transverse belong together: give both or neither");
  else if (isfinite(p->friction_transverse) && !(v3_norm(p->friction_direction) > 0.0))
    diagnostics_add_under(d, item->node, path.text, "friction_direction", "expected a direction, got a vector without length");
}

/* `where`: the mapping that may hold the key, at `path`. */
static void check_restitution(const scene *s, double e, const document_node *where, const char *path, diagnostics *d)
{
  if (!where || !(e > 0.0) || !document_find(where, "restitution") || is_rigid(s)) return;
  if (e < RESTITUTION_LEAST || e == 1.0)
    diagnostics_add_under(d, where, path, "restitution", "%g: expected 0 (no damper) or a number from %g to less than 1", e, RESTITUTION_LEAST);
  else if (s->options->contact->edges)
    diagnostics_add_under(d, where, path, "restitution", "cannot be given with contact.edges: springs between edges have no damper; leave out one of them");
  else if (s->options->contact->scheme != CONTACT_IMPLICIT)
    diagnostics_add_under(d, where, path, "restitution", "needs scheme: implicit: forces that lag know no rate; leave it out");
}

/* Friction of the pair is set. */
static void set_ellipse(scene *s, const key_item *item, int i, int j, diagnostics *d)
{
  const contact_pair_options *p   = item->value;
  contact_law    *law = &s->laws[i * s->n_bodies + j];
  if (s->options->contact->edges && has_surface(&s->bodies[i]) && has_surface(&s->bodies[j])) {
    if (i <= j)
      diagnostics_add_under(d, item->node, path_of(s, item).text, "friction_direction",
                            "\"%s\" and \"%s\": where edges meet edges friction knows no direction; leave it out, or contact.edges", s->bodies[i].name, s->bodies[j].name);
  } else if (!(law->friction > 0.0)) {
    if (i <= j) diagnostics_add_under(d, item->node, path_of(s, item).text, "friction", "must be > 0 where friction depends on the direction");
  }
  law->friction_across = p->friction_transverse;
  v3_copy(law->direction, p->friction_direction);
}

/* Laws are complete. */
static void check_edges(const scene *s, diagnostics *d)
{
  const document_node *where = document_find(document_find(s->options->root, "contact"), "edges");
  bool                 is_met = false;
  for (int i = 0; i < s->n_bodies; ++i)
    for (int j = 0; j < s->n_bodies; ++j)
      is_met |= s->laws[i * s->n_bodies + j].stiffness > 0.0 && has_surface(&s->bodies[i]) && has_surface(&s->bodies[j]);
  if (!is_met) diagnostics_add(d, where->mark, "contact.edges", "no two surfaces of triangles may touch here: of fem, cloth, or a rigid body with contact_surface: mesh; leave it out");
  if (s->options->contact->scheme != CONTACT_IMPLICIT)
    diagnostics_add(d, where->mark, "contact.edges", "edges meet at the end of a step alone; leave it out, or contact.scheme");
  if (s->options->contact->detection != CONTACT_DETECT_EVALUATION)
    diagnostics_add(d, where->mark, "contact.edges", "edges are looked for in every evaluation; leave it out, or contact.detection");
}

static void set_restitution(const scene *s, double e, contact_law *law)
{
  law->restitution = e;
  law->damping     = is_rigid(s) ? 0.0 : restitution_damping(e);
}

static contact_law law_of(const scene *s, double stiffness, double friction, double e)
{
  contact_law law = {.stiffness = stiffness, .friction = friction};
  set_restitution(s, e, &law);
  return law;
}

static int count_level_sets(const body *b)
{
  int n = 0;
  if (b->ops->level_sets) (void)b->ops->level_sets(b, &n);
  return n;
}

/* Bodies that should meet, but nobody looks whether they do. */
static void check_found(const scene *s, int i, int j, const document_node *where, diagnostics *d)
{
  const scene_body *a = &s->bodies[i], *b = &s->bodies[j];
  if (!a->body || !b->body || contact_finders_of(a->body, b->body)) return;
  if (meet_on_grid(s, i, j)) {
    const scene_body *solid = a->kind->ops->carrier ? b : a;
    if (count_level_sets(solid->body) == 0)
      diagnostics_add(d, where->mark, "contact", "\"%s\" and \"%s\" may touch, but \"%s\" has no level set that would keep the grid out of it: leave out contact_surface: mesh, or say "
                      "touch: false under contact.pairs", a->name, b->name, solid->name);
    return;
  }
  diagnostics_add(d, where->mark, "contact", "\"%s\" (%s) and \"%s\" (%s) may touch, but formulation %s does not find where such bodies touch: say touch: false under contact.pairs",
                  a->name, a->kind->name, b->name, b->kind->name, s->options->formulation->name);
}

/* Curves whose nodes are no unknowns: springs would find nothing to push. */
static void check_pushed(const scene *s, int i, int j, const document_node *where, diagnostics *d)
{
  const body *a = s->bodies[i].body, *b = s->bodies[j].body;
  if (!a || !b || !a->ops->segments || a->ops->n_clusters(a) > 0 || !(b->ops->level_sets || b->ops->surface)) return;
  diagnostics_add(d, where->mark, "contact", "\"%s\" and \"%s\" may touch, but \"%s\" has no nodes that springs could push: take formulation: exact, another model of rods, or say "
                  "touch: false under contact.pairs", s->bodies[i].name, s->bodies[j].name, s->bodies[i].name);
}

/* Points that are asked to meet points. */
static void check_unseen(const scene *s, int i, int j, const document_node *where, diagnostics *d)
{
  const scene_body *a = &s->bodies[i], *b = &s->bodies[j];
  const bool        are_rods = a->kind->ops->segments && b->kind->ops->segments;
  if (is_unseen(s, i, j) && s->laws[i * s->n_bodies + j].stiffness > 0.0)
    diagnostics_add(d, where->mark, "contact", "\"%s\" (%s) and \"%s\" (%s) may touch, but formulation %s pushes points off surfaces, and neither has one: %ssay touch: false under contact.pairs",
                    a->name, a->kind->name, b->name, b->kind->name, s->options->formulation->name, are_rods ? "take formulation: exact or convex, or " : "");
}

PetscErrorCode scene_build_laws(scene *s, diagnostics *d)
{
  PetscFunctionBegin;
  const contact_options *c = s->options->contact;
  const int          n = s->n_bodies;
  bool              *meets_itself, *is_asked; /* only if it says so: [cloth, cloth], [arm, arm] */
  PetscCall(memory_alloc("self contact", n, sizeof *meets_itself, &meets_itself));
  PetscCall(memory_alloc("self contact", (int64_t)n * n, sizeof *is_asked, &is_asked));
  PetscCall(memory_alloc("contact laws", (int64_t)n * n, sizeof(contact_law), &s->laws));
  for (int i = 0; i < n * n; ++i)
    s->laws[i] = law_of(s, c->stiffness, meet_on_grid(s, i / n, i % n) ? INFINITY : c->friction, c->restitution);
  for (int i = 0; i < n * n; ++i) scene_wall_law(s, i / n, i % n, &s->laws[i]);
  for (int k = 0; k < c->pairs.n; ++k) {
    const key_item *item = &c->pairs.item[k];
    const contact_pair_options *p    = item->value;
    if (p->between.n != 2) {
      diagnostics_add_under(d, item->node, path_of(s, item).text, "between", "expected two names, got %d", p->between.n);
      continue;
    }
    const char *one = p->between.item[0].value, *two = p->between.item[1].value;
    check_pair_name(s, item, one, d);
    check_pair_name(s, item, two, d);
    check_can_meet(s, item, d);
    check_ellipse(s, item, d);
    check_restitution(s, p->restitution, item->node, path_of(s, item).text, d);
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) {
        if (!(is_meant(s, i, one) && is_meant(s, j, two)) && !(is_meant(s, i, two) && is_meant(s, j, one))) continue;
        if (i == j && strcmp(one, two) == 0 && strcmp(one, s->bodies[i].name) == 0) meets_itself[i] = true;
        is_asked[i * n + j] |= !is_material(s, one) && !is_material(s, two);
        if (isfinite(p->stiffness)) s->laws[i * n + j].stiffness = p->stiffness;
        if (isfinite(p->friction)) s->laws[i * n + j].friction = p->friction;
        if (isfinite(p->restitution) && i <= j && meet_on_grid(s, i, j))
          diagnostics_add_under(d, item->node, path_of(s, item).text, "restitution", "\"%s\" and \"%s\": a continuum does not bounce; leave it out", s->bodies[i].name, s->bodies[j].name);
        if (isfinite(p->restitution)) set_restitution(s, p->restitution, &s->laws[i * n + j]);
        s->laws[i * n + j].never_touch = !p->touch;
        if (isfinite(p->friction_transverse)) set_ellipse(s, item, i, j, d);
      }
  }
  const document_node *where = document_find(s->options->root, "contact");
  check_restitution(s, c->restitution, where, "contact", d);
  if (!where) where = s->options->root;
  for (int i = 0; i < n; ++i)
    for (int j = i; j < n; ++j) {
      contact_law *law = &s->laws[i * n + j], *same = &s->laws[j * n + i];
      const bool is_off = law->never_touch || (is_rigid(s) && law->stiffness == 0.0);
      if (!is_off && is_asked[i * n + j]) check_unseen(s, i, j, where, d);
      if (is_off || !can_touch(s, i, j) || (i == j && !meets_itself[i]) || (is_one_whole(s, i, j) && !is_asked[i * n + j])) {
        law->stiffness = same->stiffness = 0.0;
        law->friction = same->friction = 0.0;
        law->never_touch = same->never_touch = true;
        continue;
      }
      if (is_rigid(s)) check_found(s, i, j, where, d);
      else if (law->stiffness > 0.0) check_pushed(s, i, j, where, d), check_pushed(s, j, i, where, d);
      if (isnan(law->stiffness) && !is_rigid(s)) {
        diagnostics_add(d, where->mark, "contact.stiffness",
                        "missing: \"%s\" and \"%s\" may touch; give a stiffness in N/m, for all or for this pair (0: never)",
                        s->bodies[i].name, s->bodies[j].name);
      } else if ((law->stiffness > 0 || is_rigid(s)) && isnan(law->friction)) {
        diagnostics_add(d, where->mark, "contact.friction",
                        "missing: \"%s\" and \"%s\" may touch; give a coefficient of friction, for all or for this pair",
                        s->bodies[i].name, s->bodies[j].name);
      }
    }
  memory_free(&meets_itself);
  memory_free(&is_asked);
  if (c->edges) check_edges(s, d);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode scene_build_contact(scene *s)
{
  PetscFunctionBegin;
  int n_objects = 0;
  for (int i = 0; i < s->n_bodies; ++i) {
    const body *b = s->bodies[i].body;
    int         n = 0;
    if (b->ops->level_sets) (void)b->ops->level_sets(b, &n);
    n_objects += n;
  }
  PetscCall(memory_alloc("contact sources", s->n_bodies, sizeof(contact_source), &s->sources));
  PetscCall(memory_alloc("contact objects", n_objects, sizeof(contact_object), &s->objects));
  PetscCall(memory_alloc("contact surfaces", s->n_bodies, sizeof(contact_mesh), &s->meshes));
  for (int i = 0; i < s->n_bodies; ++i) {
    scene_body *b = &s->bodies[i];
    b->frame      = b->body->ops->frame ? s->n_frames++ : -1;
    if (b->body->ops->points != POINT_NONE) s->sources[s->n_sources++] = (contact_source){b->body, b->frame, i};
    if (has_surface(b)) s->meshes[s->n_meshes++] = (contact_mesh){b->body, b->frame, i};
    if (!b->body->ops->level_sets) continue;
    int               n;
    level_set *const *phi = b->body->ops->level_sets(b->body, &n);
    for (int k = 0; k < n; ++k) s->objects[s->n_objects++] = (contact_object){phi[k], b->frame, i};
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
