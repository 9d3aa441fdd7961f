/* Nodes held in some of their components: at rest, or moved as prescribed. */
#ifndef SS_DISCRETIZE_NODAL_NODAL_HOLD_H
#define SS_DISCRETIZE_NODAL_NODAL_HOLD_H
#include "core/key_table.h"
#include "geometry/shape/shape.h"
#include "discretize/rigid/motion.h"
#include "discretize/body/vector_field.h"

typedef struct {
  const shape_spec  *inside;
  key_list           axes; /* texts; all three if empty */
  const motion_spec *motion;
  key_list           displacement; /* three texts */
} nodal_hold_spec;
extern const key_table nodal_hold_table;

/* Nodes at their rest positions, or where one of these moves them. Owned. */
typedef struct {
  int64_t       n;
  int32_t      *node;         /* [n] */
  bool          axis[3];      /* which components */
  motion       *motion;       /* or NULL */
  vector_field *displacement; /* or NULL */
} nodal_hold;

/* From an entry of `hold:`, path: "bodies.NAME.hold[i]", of n_nodes at rest [n_nodes][3]. Mistakes go to `d`; nothing is held then (n = 0). */
PetscErrorCode nodal_hold_create(const key_item *item, const char *path, int64_t n_nodes, const double *rest, diagnostics *d, nodal_hold *out);
void           nodal_hold_destroy(nodal_hold *hold);
/* is_held [n_nodes][3] = 1 where one of them holds. */
void nodal_holds_mark(int n, const nodal_hold *hold, uint8_t *is_held);
/* to [n_nodes][3]: where held components are to be at time t; later holds go first. x: now. Others are left alone. */
void nodal_holds_place(int n, const nodal_hold *hold, const double *rest, const double *x, double t, double *to);
/* is_in [n_nodes] = 1 for nodes in a shape or on it; *done is false after a complaint. path: of the shape's key. */
PetscErrorCode nodal_mark_inside(int64_t n_nodes, const double *rest, const shape_spec *spec, const document_node *node, const char *path, diagnostics *d,
                                 uint8_t *is_in, bool *done);
#endif
