/* Options of formulation convex: solver.convex of a job. */
#ifndef SS_SIM_CONVEX_CONVEX_KEYS_H
#define SS_SIM_CONVEX_CONVEX_KEYS_H
#include "optim/sap/sap.h"

typedef struct convex_options {
  int         law;                               /* sap_model */
  double      relaxation_time;                   /* [s] damping over stiffness; NaN: one step */
  double      dissipation;                       /* [s/m] coefficient of Hunt and Crossley, lagged law */
  double      min_contact_period;                /* [steps] */
  double      stiction_tolerance;                /* creep speed of sticking contacts, relative to mu dt load / mass */
  double      max_creep, max_static_penetration; /* [m/s]; relative to the size of the smallest body */
  double      coulomb_tolerance;                 /* of the sliding velocity in Coulomb's law, relative to R_N r_N */
  double      slip_speed;                        /* [m/s] speed of regularised friction, lagged law */
  int64_t     max_outer_iterations, max_coulomb_iterations;
  int         linear;          /* MOTION_... */
  double      stall_tolerance; /* error of the contact solver accepted if it stalls, like sap.tolerance; NaN: see solver_stall_tolerance */
  sap_options sap;
} convex_options;
extern const key_table convex_options_table;
#endif
