/* How a kind of level set plugs into level_set.c; only files named level_set*.c, and tests, include this. */
#ifndef SS_GEOMETRY_LEVEL_SET_LEVEL_SET_KIND_H
#define SS_GEOMETRY_LEVEL_SET_LEVEL_SET_KIND_H
#include "geometry/level_set/level_set.h"

typedef struct {
  /* phi; gradient and hessian are filled where not NULL. Defined everywhere, finite for finite x. */
  double (*eval)(const level_set *s, const double x[3], double *gradient, double *hessian);
  void (*bounds)(const level_set *s, double min[3], double max[3]);
  void (*destroy)(level_set *s); /* of what the kind owns besides the struct itself; NULL: nothing */
} level_set_kind;

/* Concrete level sets start with this member. */
struct level_set {
  const level_set_kind *kind;
};
#endif
