/* A kind of body: one value of `kind:` under `bodies:` in a job.
 *
 * A kind consists of a key table for its entries in a job and a function that creates a body from an entry. Contact points, level
 * sets, pose and fields of a body are in its table of functions, body.h. The scene iterates over all kinds (body_kinds.h) and
 * contains no code for a particular one.                                                                                      */
#ifndef SS_DISCRETIZE_BODY_BODY_KIND_H
#define SS_DISCRETIZE_BODY_BODY_KIND_H
#include "core/diagnostics.h"
#include "core/key_table.h"
#include "discretize/body/body.h"
#include "discretize/material/material.h"

/* First members of the struct that the key table of a kind fills. */
typedef struct {
  const char *material; /* name of an entry of materials; "": none */
} body_spec;

/* The materials that a kind of body accepts. */
typedef enum {
  BODY_MATERIAL_OPTIONAL, /* no material required; one may be given so that contact.pairs can refer to it */
  BODY_MATERIAL_ANY,      /* any material; its density is used */
  BODY_MATERIAL_WITH_LAW, /* a material with a constitutive law (deformable) */
  BODY_MATERIAL_FLOWS     /* a granular or liquid material (flow.h) */
} body_material;

/* Data shared by the bodies of one scene. The scene sets all members except mac and mpm, which the kinds of the same name create. Members
 * of the job are borrowed. */
typedef struct {
  const document_node      *job;                   /* root of the job: position of error messages that concern no single entry */
  double                    gravity[3], time_step; /* m/s^2, s */
  bool                      keeps_origins;         /* store the initial position of every particle, for example for a measure */
  bool                      has_light_nodes;       /* the formulation supports dependent grid nodes, see mpm_light.h */
  const struct mac_options *mac_options;           /* `mac:` of the job; NULL: not given */
  struct mac_world         *mac;                   /* owned by the kind; NULL: there is no body of kind mac */
  const struct mpm_options *mpm_options;           /* `mpm:` of the job */
  struct mpm_world         *mpm;                   /* owned by the kind; NULL: there is no MPM body */
} body_world;

/* One entry of `bodies:`. All members are borrowed; name, material and spec outlive the body. */
typedef struct {
  const char          *name, *path; /* path: "bodies.NAME", for error messages */
  const void          *spec;        /* read by the kind's key table */
  const material      *material;    /* NULL: not given, or an error has been reported */
  const document_node *node;
} body_request;

/* The functions and tables of a kind. */
typedef struct {
  const char      *name; /* value of `kind:` */
  const key_table *keys;
  const body_ops  *ops; /* of the bodies that `create` returns */
  body_material    material;
  /* Create a body. Errors in the job are added to `d`; *out is then NULL and the return code 0. If ops->destroy is not NULL, the scene owns
   * the body; otherwise the kind's data in *w own it. */
  PetscErrorCode (*create)(const body_request *r, body_world *w, diagnostics *d, body **out);
  /* Create all bodies of an entry that describes several (key `copies`): *bodies [*n], memory_free(*bodies). *n = 0 after
   * an error. Called instead of `create` if has_copies. The scene owns the bodies and destroys the last one first. NULL if
   * has_copies is NULL. */
  PetscErrorCode (*create_copies)(const body_request *r, body_world *w, diagnostics *d, int64_t *n, body ***bodies);
  /* True if the entry describes several bodies. NULL: never. */
  bool (*has_copies)(const void *spec);
  /* Two functions for kinds whose bodies share data; otherwise NULL. finish is called after all bodies have been created, even if none is
   * of this kind. */
  PetscErrorCode (*finish)(body_world *w, diagnostics *d);
  /* Frees the kind's data in *w; accepts an incomplete world. */
  void (*release)(body_world *w);
} body_kind;
#endif
