/* Inside of articulated_body_create: an articulated body while it is put together. */
#ifndef SS_DISCRETIZE_ARTICULATED_ARTICULATED_BUILD_H
#define SS_DISCRETIZE_ARTICULATED_ARTICULATED_BUILD_H
#include "discretize/articulated/articulated_body.h"

/* A joint, with what the job adds to a URDF's. */
typedef struct {
  articulated_joint_spec s;
  const char            *name;
  const document_node   *node, *added; /* where it stands; NULL: nothing was added */
  int                    parent, child; /* links as they are listed; -1: the world, -2: unknown */
  expression            *course;        /* its column of the trajectory, a function of t; NULL: none, or given to its axis */
  bool                   has_course;
} built_joint;

typedef struct {
  const body_request     *r;
  const body_world       *w;
  diagnostics            *d;
  const articulated_spec *spec;
  int                     before;   /* complaints that are not about this body */
  key_list                links;
  int                     n_joints;
  built_joint            *joints;
  int                    *order;    /* [n] link as listed, of each of the tree's */
  int                    *joint_of; /* [n] of links as listed; -1: none */
} articulated_builder;

/* ---- complaints ------------------------------------------------------------------------------------------------------ */

/* "bodies.arm.joints.elbow" */
typedef struct {
  char text[300];
} built_place;
static inline built_place articulated_build_place_of(const articulated_builder *b, const char *list, const char *name)
{
  built_place p;
  (void)snprintf(p.text, sizeof p.text, "%.120s.%s.%.120s", b->r->path, list, name);
  return p;
}
/* key NULL: any. */
static inline bool articulated_build_has_key(const document_node *node, const char *key)
{
  return node && (!key || document_find(node, key));
}
static inline bool articulated_build_is_given(const built_joint *j, const char *key)
{
  return articulated_build_has_key(j->node, key) || articulated_build_has_key(j->added, key);
}
static inline bool articulated_build_is_wrong(const articulated_builder *b) { return diagnostics_count(b->d) > b->before; }
/* About a joint, where the job says it if it does; about a link, a key_item. */
#define COMPLAIN_JOINT(b, j, key, ...)                                                                        \
  diagnostics_add_under((b)->d, articulated_build_has_key((j)->added, key) ? (j)->added : (j)->node,          \
                        articulated_build_place_of(b, "joints", (j)->name).text, key, __VA_ARGS__)
#define COMPLAIN_LINK(b, item, key, ...)                                                                      \
  diagnostics_add_under((b)->d, (item)->node, articulated_build_place_of(b, "links", (item)->name).text, key, \
                        __VA_ARGS__)

/* ---- the parts: all complain to b->d ----------------------------------------------------------------------------------- */

/* articulated_build_model.c: links and joints, of the job or its URDF, which *doc then owns. */
PetscErrorCode articulated_build_take_model(articulated_builder *b, document **doc);
/* Who hangs on whom: one joint for each link, no loops; links in an order in which parents come first. */
PetscErrorCode articulated_build_order_links(articulated_builder *b);
int            articulated_build_find_link(const articulated_builder *b, const char *name); /* as listed; -2: there is none */
/* Number in the tree of a link as listed; -1: the world. And what is said of link i of the tree, and of the joint that carries
 * it. */
int                articulated_build_in_tree(const articulated_builder *b, int listed);
const built_joint *articulated_build_joint_at(const articulated_builder *b, int i);
const key_item    *articulated_build_link_at(const articulated_builder *b, int i);

/* articulated_build_links.c: link i of the tree with name, shape, mass; what is applied to all; a joint that moves no mass. */
PetscErrorCode articulated_build_make_link(const articulated_builder *b, articulated_body *a, int i);
PetscErrorCode articulated_build_take_wrenches(const articulated_builder *b, articulated_body *a);
void           articulated_build_check_mass(const articulated_builder *b, articulated_body *a);

/* articulated_build_joints.c: where the joint of link i is; what it may not say; whom it mimics; what it does; where all begin. */
void           articulated_build_place_joint(const articulated_builder *b, articulated_body *a, int i);
void           articulated_build_check_joint(const articulated_builder *b, const built_joint *j);
void           articulated_build_follow(const articulated_builder *b, articulated_body *a, int i);
PetscErrorCode articulated_build_set_axis(articulated_builder *b, articulated_body *a, int i);
void           articulated_build_set_state(const articulated_builder *b, articulated_body *a);
/* An expression of t, under `key` of `node`. */
PetscErrorCode articulated_build_compile(const articulated_builder *b, const document_node *node, built_place where,
                                         const char *key, const char *text, expression **out);

/* articulated_build_trajectory.c: courses of joints; what joints with one may not say. */
PetscErrorCode articulated_build_take_trajectory(const articulated_builder *b);
void           articulated_build_check_course(const articulated_builder *b, const built_joint *j);

/* articulated_build_loops.c: pins; whether they fit where the joints begin. */
PetscErrorCode articulated_build_take_loops(const articulated_builder *b, articulated_body *a);
void           articulated_build_check_loops(const articulated_builder *b, const articulated_body *a);
#endif
