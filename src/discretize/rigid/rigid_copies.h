/* Many rigid bodies from one entry of `bodies:`: the block `copies:`. The entry describes one body; its copies differ in position,
 * orientation, size and velocity. They are called NAME.1, NAME.2, ... in the order of creation. With `pour` the region is filled repeatedly: the
 * bodies of later releases exist from the start, but wait (body.is_waiting) until their time.
 *
 * Positions come from placement.h or from a CSV file. Orientations are uniformly distributed unit quaternions [Marsaglia1972], which need
 * no transcendental functions. The time is linear in the number of bodies. Caller: rigid_kinds.c. */
#ifndef SS_DISCRETIZE_RIGID_RIGID_COPIES_H
#define SS_DISCRETIZE_RIGID_RIGID_COPIES_H
#include "discretize/body/body_kind.h"
#include "discretize/rigid/rigid_body.h"
#include "discretize/rigid/size_distribution.h"

/* The region is filled at the times start, start + every, ..., before end [s]. */
typedef struct {
  double start, end, every;
} rigid_pour;

typedef struct rigid_copies_spec {
  int                      arrangement;   /* index of "lattice", "random", "file" */
  const shape_spec        *region;        /* NULL: not given */
  int64_t                  count;         /* KEY_INT_ABSENT: not given */
  double                   packing;       /* NaN: not given */
  double                   gap, jitter;   /* gap [m] */
  int                      is_any_turned; /* orientation: random */
  int64_t                  seed;
  const char              *file;
  const size_distribution *sizes; /* NULL: all have the size of the entry */
  const rigid_pour        *pour;  /* NULL: all exist from the start of the run */
} rigid_copies_spec;
extern const key_table rigid_copies_table;

/* Create the bodies of the entry r, whose spec has `copies`: *bodies [*n], memory_free(*bodies) after each body was destroyed, the last
 * one first. Errors in the entry are added to `d`; *n is then 0. density [kg/m^3], gravity [m/s^2]. */
PetscErrorCode rigid_copies_create(const body_request *r, double density, const double gravity[3], diagnostics *d, int64_t *n,
                                   body ***bodies);
#endif
