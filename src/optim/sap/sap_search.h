/* Along one direction: everything that costs more than the terms is known before. */
#ifndef SS_OPTIM_SAP_SAP_SEARCH_H
#define SS_OPTIM_SAP_SAP_SEARCH_H
#include "optim/sap/sap.h"

typedef struct {
  const sap_terms *terms;
  const double    *u, *du;  /* [n][3] at the start, and their change at share 1 */
  double           slope, curve; /* of 1/2 |v - v_free|_A^2: dv . A (v - v_free), dv . A dv */
  double          *trial, *r, *G, *cost; /* [n][3], [n][3], [n][9], [n] work */
  int64_t          n_evaluations;
} sap_ray;

/* l at share a of the way without the part that does not change, its first and second derivative; the latter two may be NULL. */
double sap_ray_evaluate(sap_ray *ray, double a, double *slope, double *curve);
/* The share of the least cost, to 1e-8 of the slope at the start, at most 1.5. `slope`: at the start, < 0. */
double sap_search_exact(sap_ray *ray, double slope);
/* The first of 1/0.8, 1, 0.8, 0.64 ... that goes down enough and behind which none is lower. */
double sap_search_backtracking(sap_ray *ray, double slope);
#endif
