/* The registry of the kinds of bodies. A new kind has a folder with its key table NAME_body_table and its functions NAME_body_kind, and
 * one entry in BODY_KIND_TABLE. The reference pages, the job schema and all commands read this table. */
#ifndef SS_DISCRETIZE_BODY_KINDS_H
#define SS_DISCRETIZE_BODY_KINDS_H
#include "discretize/body/body_kind.h"

/* The bodies of a scene, and hence its unknowns, have the order of this table. Kinds whose end_step can reject a step come first, because
 * end_step of the other kinds cannot be undone (body.h). */
#define BODY_KIND_TABLE(X) X(mac) X(mpm) X(fem) X(cloth) X(rod) X(articulated) X(rigid) X(kinematic) X(static)

/* clang-format off */
#define X(name)                            \
  extern const body_kind name##_body_kind; \
  extern const key_table name##_body_table;
/* clang-format on */
BODY_KIND_TABLE(X)
#undef X

extern const body_kind *const body_kinds[]; /* in the order of the table, NULL-terminated; key_item.variant is an index */
extern const key_table        body_table;   /* `bodies:` of a job */
#endif
