/* A kind of body: what stands behind one value of `kind:` under `bodies:` in a job. The scene iterates over kinds and knows none.
 *
 * A kind is a key table for its entries in a job and a function that makes a body from one. Whatever else a scene wants to know
 * of it (contact points, level sets, pose, fields) stands in its table of functions, body.h.                                  */
#ifndef SS_DISCRETIZE_BODY_BODY_KIND_H
#define SS_DISCRETIZE_BODY_BODY_KIND_H
#include "core/diagnostics.h"
#include "core/key_table.h"
#include "discretize/body/body.h"
#include "discretize/material/material.h"

/* The struct of every kind's key table begins with this. */
typedef struct {
  const char *material; /* name of an entry of materials; "": none */
} body_spec;

/* What a kind asks of the material that a body names. */
typedef enum {
  BODY_MATERIAL_OPTIONAL, /* none needed; may be named, to be meant in contact.pairs */
  BODY_MATERIAL_ANY,      /* its density counts */
  BODY_MATERIAL_WITH_LAW, /* it must deform */
  BODY_MATERIAL_FLOWS     /* it must be granular or liquid */
} body_material;

/* What the bodies of one scene share: filled by the scene, then by the kinds whose bodies share more. Borrows from the job. */
typedef struct {
  const document_node      *job; /* its root, for complaints that are nobody's in particular */
  double                    gravity[3], time_step;
  bool                      keeps_origins; /* something wants to know where every particle was when the run began */
  bool                      has_light_nodes; /* the formulation wants light nodes of sand to follow others, see mpm_light.h */
  const struct mac_options *mac_options;   /* `mac:` of the job; NULL: not given */
  struct mac_world         *mac;           /* owned by the kind; NULL: there is no body of kind mac */
  const struct mpm_options *mpm_options;   /* `mpm:` of the job */
  struct mpm_world         *mpm;           /* owned by the kind; NULL: there is no MPM body */
} body_world;

/* One entry of `bodies:`. All borrowed; name, material and spec outlive the body. */
typedef struct {
  const char          *name, *path; /* path: "bodies.NAME", for complaints */
  const void          *spec;        /* read by the kind's key table */
  const material      *material;    /* NULL: none named, or a complaint has been made */
  const document_node *node;
} body_request;

typedef struct {
  const char      *name; /* value of `kind:` */
  const key_table *keys;
  const body_ops  *ops; /* of the bodies it makes: what they can do is known before there is one */
  body_material    material;
  /* The user's mistakes go to `d`, then *out is NULL and the return still 0. Bodies with ops->destroy belong to the scene, others
   * to their world. */
  PetscErrorCode (*create)(const body_request *r, body_world *w, diagnostics *d, body **out);
  /* Kinds whose bodies share something, else NULL. After all bodies have been asked for, even if there is none of this kind: */
  PetscErrorCode (*finish)(body_world *w, diagnostics *d);
  /* What the kind keeps in *w; copes with a half-built one. */
  void (*release)(body_world *w);
} body_kind;
#endif
