/* Centrelines of rods: points along what a job draws. */
#ifndef SS_DISCRETIZE_ROD_ROD_CURVE_H
#define SS_DISCRETIZE_ROD_ROD_CURVE_H
#include "core/diagnostics.h"
#include "discretize/rod/rod_keys.h"

/* Curves through points, one after another. Owned. */
typedef struct {
  int64_t  n_curves;
  int64_t *start;    /* [n_curves + 1] first point of each */
  double  *x;        /* [points][3] m */
  double  *tangent;  /* [n_curves][2][3] at both ends, unit */
  double  *director; /* [n_curves][3] at the start, unit, normal to the tangent there */
} rod_curve;

/* The user's mistakes go to `d`, then *out is empty. Of a closed curve the first point is not repeated. */
PetscErrorCode rod_curve_create(const rod_body_spec *spec, const document_node *node, const char *path, diagnostics *d, rod_curve *out);
void           rod_curve_destroy(rod_curve *c);
#endif
