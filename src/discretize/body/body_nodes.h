/* What can be said of any body with mass points. */
#ifndef SS_DISCRETIZE_BODY_BODY_NODES_H
#define SS_DISCRETIZE_BODY_BODY_NODES_H
#include "discretize/body/body.h"
#include "discretize/body/vector_field.h"

/* Root of the mean square over nodes, by mass, of |v - field| (is_velocity) or |x - rest - field| at time t. b has ops->nodes. */
double body_nodes_error(const body *b, const vector_field *f, double t, bool is_velocity);
#endif
