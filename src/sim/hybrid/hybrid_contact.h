/* Part 2 of a step of formulation hybrid (hybrid.c): velocities of boundaries after contact, by transfer through a grid and by
 * geometric impulses [MarquezRazonEtAl2023]. Also records the contact forces of the step. Used by hybrid.c and hybrid_momentum.c. */
#ifndef SS_SIM_HYBRID_HYBRID_CONTACT_H
#define SS_SIM_HYBRID_HYBRID_CONTACT_H
#include "contact/augury/augury.h"
#include "contact/augury/augury_continuum.h"
#include "contact/augury/augury_near.h"
#include "contact/augury/pic_contact.h"
#include "contact/impulse/impulses.h"
#include "sim/hybrid/hybrid_boundary.h"
#include "sim/hybrid/hybrid_keys.h"
#include "sim/step/step_layout.h"
#include "sim/step/step_record.h"

/* Bodies of kind mpm in the contact grid. Contact uses the MPM grid itself: its nodes enter with their mass and velocity. This is
 * an extension of the method [MarquezRazonEtAl2023, sec. 11]. */
typedef struct {
  body   *system; /* the system that contains all bodies of kind mpm; NULL: there are none */
  int64_t capacity;
  int32_t (*node)[3];        /* [n] grid indices */
  double *mass;              /* [n] kg */
  double (*outward)[3];      /* [n] outward direction, see mpm_domain_get_nodes */
  double          *velocity; /* [n][3] m/s */
  augury_continuum view;
  bool             is_met; /* in contact in the current step */
} hybrid_continuum;

/* Velocity change of a vertex by the grid. */
typedef struct {
  int32_t vertex, other; /* other: the nearest body; -1: none, contact with a continuum */
  double  change[3];     /* [m/s]; constrained vertices: before their velocities are restored */
} hybrid_grid_change;

typedef struct {
  hybrid_boundary      boundary;
  hybrid_continuum     continuum;
  bool                 is_coulomb;    /* only surfaces that would collide receive impulses, and there is no grid */
  double               dx, thickness; /* cell size and contact thickness [m] */
  augury              *grid;          /* NULL: no transfer by augury */
  pic_contact         *pic;           /* transfer by PIC instead; NULL: none */
  augury_near         *near;
  impulses            *impulses; /* NULL: disabled */
  int                  n_walls;
  impulse_wall        *wall; /* [n_walls] half-spaces of obstacles */
  const convex_solid **wall_solid;
  impulse_law         *law;                   /* [n_slots] of scene.pairs: friction and restitution of each pair */
  int32_t             *carrier;               /* [n_vertices] index in `rigid`: dynamic bodies, then obstacles; -1: none */
  int                  n_carriers, *obstacle; /* [n_carriers - n_rigids] body index of each obstacle */
  impulse_rigid       *rigid;                 /* [n_carriers] */
  const step_layout   *l;                     /* of the current step */
  bool                *is_active;             /* [n_triangles] */
  int8_t              *side;                  /* [n_vertices] side of an open surface (+1, -1) on which other bodies are */
  double              *towards;               /* [n_vertices][3] direction to other bodies */
  double              *v_old;                 /* [n_vertices][3] velocities before the current operation */
  double              *A_old;                 /* [n_vertices][9] */
  double              *vu;                    /* [n_rigids][6] velocities of rigid bodies */
  bool                *is_touched;            /* [n_vertices] contact has changed the velocity of this node in the current step */
  bool                 has_acted;             /* contact was active in the current step */
  impulse_report       report;
  int64_t              n_pairs, pair_capacity;
  impulse_contact     *pair; /* [n_pairs] impulses of the current step, of all calls */
  int64_t              n_grid_changes, grid_change_capacity;
  hybrid_grid_change  *grid_change; /* [n_grid_changes] */
  int32_t             *element;     /* [n_vertices] one element of each vertex */
  int64_t              met_capacity;
  double (*met_at)[4]; /* [pairs of bodies in contact] sum of contact positions [m], and number of contacts */
} hybrid_contact;

/* The method of contact of a scene: HYBRID_CONTACT_COULOMB or HYBRID_CONTACT_IMPULSES. */
int hybrid_contact_method(const scene *s, const hybrid_options *options);
/* Fill in *c, which is zero; destroy accepts a partly created struct. */
PetscErrorCode hybrid_contact_create(const scene *s, const hybrid_options *options, hybrid_contact *c);
void           hybrid_contact_destroy(hybrid_contact *c);
/* The closest pair of features of each two bodies that start the run closer than the thickness, in the order of the bodies: *list [n],
 * allocated, memory_free. */
PetscErrorCode hybrid_contact_find_near(hybrid_contact *c, const scene *s, int64_t *n, impulse_near **list);
PetscErrorCode hybrid_contact_fields(hybrid_contact *c, field_table *table);
/* Compute c->boundary.v, c->boundary.A and c->vu after contact from the free motion l->v. The status is negative if collisions remain. */
PetscErrorCode hybrid_contact_solve(hybrid_contact *c, const hybrid_options *o, const step_layout *l, step_status *status,
                                    step_report *report);
/* Repeat the impulses for the l->v of the second solve, whose free nodes may collide. *has_changed: impulses were necessary;
 * false: l->v has no collisions. */
PetscErrorCode hybrid_contact_repeat(hybrid_contact *c, const hybrid_options *o, const step_layout *l, step_status *status,
                                     step_report *report, bool *has_changed);
/* Components of the global vector whose velocities contact prescribes: *dof [n] ascending, *velocity [n] m/s, freed by the caller.
 * is_all: of all nodes of surfaces; otherwise of those that contact has changed. */
PetscErrorCode hybrid_contact_prescribe(const hybrid_contact *c, const step_layout *l, bool is_all, int64_t *n, int64_t **dof,
                                        double **velocity);
/* Make the affine matrices permanent and record the contact forces of the step. */
PetscErrorCode hybrid_contact_accept(hybrid_contact *c, const step_layout *l, step_record *record, step_report *report);

/* Append the impulses of the step to a record: points, forces between bodies, and *sum. */
PetscErrorCode hybrid_record_impulses(hybrid_contact *c, const step_layout *l, step_record *record, contact_summary *sum);
/* Change the recorded forces between bodies so that they sum to the total contact force on each body (hybrid_balance.h). v_free: the
 * global vector before contact; gained [n_bodies][3] N s: momentum that contact gave to bodies made of nodes. */
PetscErrorCode hybrid_record_balance(hybrid_contact *c, const step_layout *l, const double *v_free, const double (*gained)[3],
                                     step_record *record);
#endif
