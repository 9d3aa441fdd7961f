/* Dirichlet conditions on nodes: selected components are fixed or follow a prescribed motion or displacement (job key `hold`). */
#ifndef SS_DISCRETIZE_NODAL_NODAL_HOLD_H
#define SS_DISCRETIZE_NODAL_NODAL_HOLD_H
#include "core/key_table.h"
#include "geometry/shape/shape.h"
#include "discretize/rigid/motion.h"
#include "discretize/body/vector_field.h"

/* One entry of `hold:`. */
typedef struct {
  const shape_spec  *inside;       /* nodes in this shape at their rest positions */
  key_list           axes;         /* names of axes; empty: all three */
  const motion_spec *motion;       /* NULL: not given */
  key_list           displacement; /* three expressions; empty: not given */
} nodal_constraint_spec;
extern const key_table nodal_constraint_table;

/* Nodes that are constrained to their rest positions, moved by `motion` or `displacement`. Arrays and pointers are owned. */
typedef struct {
  int64_t       n;
  int32_t      *node;         /* [n] */
  bool          axis[3];      /* constrained components */
  motion       *motion;       /* NULL: none */
  vector_field *displacement; /* [m]; NULL: none */
} nodal_constraint;

/* Create a constraint from an entry of `hold:` (path "bodies.NAME.hold[i]") for nodes with rest positions rest [n_nodes][3]. Errors in the
 * job are added to `d`; out->n is then 0. */
PetscErrorCode nodal_constraint_create(const key_item *item, const char *path, int64_t n_nodes, const double *rest, diagnostics *d,
                                       nodal_constraint *out);
void           nodal_constraint_destroy(nodal_constraint *hold);
/* Set is_held [n_nodes][3] to 1 for every component that one of the n constraints prescribes. */
void nodal_constraints_mark(int n, const nodal_constraint *hold, uint8_t *is_held);
/* Write the positions of constrained components at time t to `to` [n_nodes][3]; other components are not changed. Later constraints take
 * precedence. rest, x [n_nodes][3]: rest and current positions. */
void nodal_constraints_place(int n, const nodal_constraint *hold, const double *rest, const double *x, double t, double *to);
/* Set is_in [n_nodes] to 1 for nodes with rest positions inside a shape or on its surface. node, path: job entry of the shape. *done is
 * false if an error was added to `d`. */
PetscErrorCode nodal_mark_inside(int64_t n_nodes, const double *rest, const shape_spec *spec, const document_node *node, const char *path,
                                 diagnostics *d, uint8_t *is_in, bool *done);
#endif
