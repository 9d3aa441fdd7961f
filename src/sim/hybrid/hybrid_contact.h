/* The second of the three parts of a hybrid step: boundaries' velocities after contact, through the grid and by impulses
 * [hybrid, sec. 5 to 9]. */
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

/* Material points of a scene on the grid that boundaries go through: their grid's nodes take part as they are, past the paper's
 * outlook [MarquezRazonEtAl2023, sec. 11]. */
typedef struct {
  body   *system; /* of all bodies of kind mpm; NULL: there are none */
  int64_t capacity[4];
  int32_t (*node)[3];        /* [n] */
  double *mass;              /* [n] */
  double (*outward)[3];      /* [n] */
  double          *velocity; /* [n][3] */
  augury_continuum view;
  bool             is_met; /* in the step under way */
} hybrid_continuum;

/* What the grid did to a vertex. */
typedef struct {
  int32_t vertex, other; /* other: the body that is nearest, -1: none, it met a continuum */
  double  change[3];     /* of its velocity, held or not [m/s] */
} hybrid_push;

typedef struct {
  hybrid_boundary      boundary;
  hybrid_continuum     continuum;
  double               dx, thickness; /* [m] */
  augury              *grid;          /* NULL: nothing goes through it by augury */
  pic_contact         *pic;           /* what goes through it in its place; NULL */
  augury_near         *near;
  impulses            *impulses; /* NULL: there are none */
  int                  n_walls;
  impulse_wall        *wall; /* [n_walls] half-spaces of obstacles */
  const convex_solid **wall_solid;
  impulse_law         *law;       /* [n_bodies][n_bodies] */
  int32_t             *carrier;   /* [n_vertices] entry of `rigid`: dynamic bodies, then obstacles; -1: none */
  int                  n_carriers, *obstacle; /* [n_carriers - n_rigids] bodies */
  impulse_rigid       *rigid;     /* [n_carriers] */
  const step_layout   *l;         /* of the step under way */
  bool                *is_active; /* [n_triangles] */
  int8_t              *side;      /* [n_vertices] of open surfaces: where others are */
  double              *towards;   /* [n_vertices][3] where others are */
  double              *v_old;     /* [n_vertices][3] before what is done next */
  double              *A_old;     /* [n_vertices][9] */
  double              *vu;        /* [n_rigids][6] velocities of rigid bodies */
  bool                *is_touched; /* [n_vertices] of a node: contact has changed its velocity in the step under way */
  bool                 has_acted;  /* in the step under way */
  impulse_report       report;
  int64_t              n_pairs, pair_capacity;
  impulse_contact     *pair;    /* [n_pairs] what impulses did in the step under way, each time they were asked */
  int64_t              n_pushed, pushed_capacity;
  hybrid_push         *pushed;  /* [n_pushed] */
  int32_t             *element; /* [n_vertices] one of those at each */
  int64_t              met_capacity;
  double             (*met_at)[4]; /* [pairs of bodies that met] sum of places, and of how many */
} hybrid_contact;

/* *c, zeros, is filled in place; destroy copes with failures. */
PetscErrorCode hybrid_contact_create(const scene *s, const hybrid_options *options, hybrid_contact *c);
void           hybrid_contact_destroy(hybrid_contact *c);
PetscErrorCode hybrid_contact_fields(hybrid_contact *c, field_table *table);
/* From free motion, l->v: c->boundary.v, A and c->vu after contact. */
PetscErrorCode hybrid_contact_solve(hybrid_contact *c, const hybrid_options *o, const step_layout *l, step_verdict *verdict,
                                    step_report *report);
/* The same by impulses alone, once l->v has surfaces that went elsewhere than these left them. *has_changed: they had to do something, else
 * what is in l->v is free of meetings. */
PetscErrorCode hybrid_contact_again(hybrid_contact *c, const hybrid_options *o, const step_layout *l, step_verdict *verdict,
                                    step_report *report, bool *has_changed);
/* The components of the global vector that contact prescribes, of nodes those that it has touched or all: *dof ascending, *velocity,
 * for the caller to free. */
PetscErrorCode hybrid_contact_prescribe(const hybrid_contact *c, const step_layout *l, bool is_all, int64_t *n, int64_t **dof,
                                        double **velocity);
/* The step has become permanent: so do affine parts, and what acted goes on record (hybrid_record.h). */
PetscErrorCode hybrid_contact_accept(hybrid_contact *c, const step_layout *l, step_record *record, step_report *report);

/* Those forces, balanced with what bodies felt. v_free: the global vector before contact; gained [n_bodies][3]: what bodies made of
 * nodes have from contact [N s]. */
PetscErrorCode hybrid_record_balance(hybrid_contact *c, const step_layout *l, const double *v_free, const double (*gained)[3],
                                     step_record *record);
#endif
