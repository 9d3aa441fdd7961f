/* Private to penalty*.c: the pairs of a step, one array per quantity. */
#ifndef SS_CONTACT_PENALTY_PENALTY_PAIRS_H
#define SS_CONTACT_PENALTY_PENALTY_PAIRS_H
#include "contact/detection/contact_record.h"
#include "contact/penalty/mesh_contact.h"
#include "contact/penalty/pair_table.h"
#include "contact/penalty/penalty.h"
#include "contact/penalty/relaxation.h"
#include "contact/penalty/restitution.h"
#include "contact/rows/rigid_sides.h"
#include "contact/rows/rows.h"
#include "contact/detection/search.h"

struct penalty_contact {
  int               n_bodies;
  contact_law      *law; /* [n_bodies][n_bodies] */
  bool             *may_touch; /* likewise: is there a spring */
  contact_scheme    scheme;
  double            acceleration; /* for restitution [m/s^2] */
  mesh_contact     *mesh; /* the other half: points against deforming surfaces; NULL: there are none */
  pair_table       *known;
  contact_search   *search;
  contact_rows     *rows;
  rigid_sides       sides; /* of the pairs; tangent */

  /* The step: what was handed over, and what follows from it for every pair. */
  bool                     is_open;
  int                      n_sources, n_objects, n_frames;
  const contact_source    *sources;
  const contact_object    *objects;
  double                   dt;
  int64_t                  n_blocks;
  int                      object_capacity;
  int32_t                 *object_key; /* [n_objects] */
  int64_t                  n, capacity;
  const contact_candidate *candidate;  /* [n], the search's */
  double                  *origin;     /* [n][3] weighted: start of the step, world; rigid: in the body's frame */
  double                  *X;          /* [n][3] in the object's frame; only where has_X */
  uint8_t                 *has_X;      /* known, or inside at the start of the step */
  double                  *k;
  relax_cone              *cone;
  restitution             *bounce;
  double                  *phi0;       /* [n] level set at the start of the step; only where bounce has a damping */
  double                  *lagged;     /* [n][3] in the object's frame: the force, or the friction, at the start of the step; unless implicit */

  /* The last evaluation. */
  uint8_t *state;   /* relax_state */
  double  *Z;       /* [n][3] */
  double  *Y_b;     /* [n][3] in the object's frame */
  double  *f;       /* [n][3] on the point */
  double  *gain;    /* [n] of the spring, by its rate: f = gain k (Y - Z), see restitution.h; 1 without */

  /* Left by end_step. */
  contact_forces forces;
  contact_points points;
};

/* penalty_law.c: the force of pair i on its point at Z_b, in the object's frame, with its derivative by Z_b [9] (NULL: not wanted). Y_b: the
 * attachment relaxed at Z_b, and its state, in every scheme. The force may outlive the contact where it lags: f_b is what counts. */
relax_state penalty_law(const penalty_contact *c, int64_t i, const double Z_b[3], double Y_b[3], double f_b[3], double *K_b);
/* What lags of pair i, and the rate of its spring, are measured from where its point starts the step. */
void penalty_law_start(penalty_contact *c, int64_t i, const double Z_b[3]);
/* Positions, relaxed attachments and forces at v and frames; derivatives with `with_tangent`. */
void penalty_evaluate(penalty_contact *c, const double *v, const rigid_frame *frames, bool with_tangent);
/* The pair with the first value that is not finite (smallest source, then smallest point), or -1. */
int64_t penalty_first_not_finite(const penalty_contact *c);
/* Summary, sums per body pair and contact points of the last evaluation. */
PetscErrorCode penalty_report(penalty_contact *c, const double *v, const rigid_frame *frames, contact_summary *out);
#endif
