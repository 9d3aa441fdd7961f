/* Options of formulation hybrid: solver.hybrid of a job. */
#ifndef SS_SIM_HYBRID_HYBRID_KEYS_H
#define SS_SIM_HYBRID_HYBRID_KEYS_H
#include "core/key_table.h"

enum { HYBRID_BACKWARD_EULER, HYBRID_SYMPLECTIC };
enum { HYBRID_TRANSFER_AUGURY, HYBRID_TRANSFER_PIC, HYBRID_TRANSFER_NONE };
enum { HYBRID_COHESION_NEAREST, HYBRID_COHESION_NORMAL };
enum { HYBRID_CORRECTION_NONE, HYBRID_CORRECTION_LINEAR, HYBRID_CORRECTION_RIGID };
enum { HYBRID_PRESCRIBED_CONTACT, HYBRID_PRESCRIBED_SURFACE };
enum { HYBRID_CONTACT_AUTO, HYBRID_CONTACT_COULOMB, HYBRID_CONTACT_IMPULSES };

enum { HYBRID_GRID_ITERATIONS = 5 }; /* default of max_iterations */

typedef struct {
  double  spacing;                   /* [m] cell size. NaN: that of bodies of kind mpm, else the mean edge of deformable boundaries */
  int     transfer;                  /* HYBRID_TRANSFER_... */
  int64_t max_iterations;            /* augury iterations */
  bool    damps_sliding, resampling; /* see their help in hybrid_keys.c */
  int     region;                    /* augury_choice: triangles whose velocities the grid changes */
  int     cohesion;                  /* HYBRID_COHESION_...: direction along which a cohesive velocity change is undone */
} hybrid_grid;
typedef struct {
  bool    is_on;
  double  thickness; /* [m] NaN: a share of the mean edge that depends on the method of contact */
  double  stiffness; /* [N/m] NaN: computed from masses and step length */
  int64_t max_iterations;
} hybrid_impulses;
typedef struct hybrid_options {
  int                    contact;             /* HYBRID_CONTACT_... */
  int                    integrator;          /* HYBRID_BACKWARD_EULER, HYBRID_SYMPLECTIC */
  int                    prescribed_nodes;    /* HYBRID_PRESCRIBED_...: nodes whose motion contact prescribes */
  int                    momentum_correction; /* HYBRID_CORRECTION_... */
  const hybrid_grid     *grid;
  const hybrid_impulses *impulses;
} hybrid_options;
extern const key_table hybrid_options_table;
#endif
