/* Dirichlet conditions on nodes: selected components are fixed or follow a prescribed motion or displacement (job key `hold`). */
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
} nodal_constraint_spec;
extern const key_table nodal_constraint_table;

/* Nodes constrained to their rest positions, moved by `motion` or `displacement` if given. Arrays and pointers are owned. */
typedef struct {
  int64_t       n;
  int32_t      *node;         /* [n] */
  bool          axis[3];      /* which components */
  motion       *motion;       /* or NULL */
  vector_field *displacement; /* or NULL */
} nodal_constraint;

/* Create a hold from an entry of `hold:`, path "bodies.NAME.hold[i]", for n_nodes at rest [n_nodes][3]. Errors are added to `d`; n
 * is then 0. */
PetscErrorCode nodal_constraint_create(const key_item *item, const char *path, int64_t n_nodes, const double *rest, diagnostics *d,
                                       nodal_constraint *out);
void           nodal_constraint_destroy(nodal_constraint *hold);
/* Set is_held [n_nodes][3] = 1 for every constrained component. */
void nodal_constraints_mark(int n, const nodal_constraint *hold, uint8_t *is_held);
/* Write the prescribed positions of constrained components at time t to `to` [n_nodes][3]; later constraints take precedence. x:
 * current positions. Other components are not changed. */
void nodal_constraints_place(int n, const nodal_constraint *hold, const double *rest, const double *x, double t, double *to);
/* Set is_in [n_nodes] = 1 for nodes inside a shape or on it. *done is false if an error was added to `d`. path: of the shape's
 * key. */
PetscErrorCode nodal_mark_inside(int64_t n_nodes, const double *rest, const shape_spec *spec, const document_node *node, const char *path,
                                 diagnostics *d, uint8_t *is_in, bool *done);
#endif
