/* Boundaries of formulation hybrid: all surfaces of a scene as particles with mass, velocity and an affine velocity part, on which
 * contact acts between the two solves of a step [MarquezRazonEtAl2023, sec. 4].
 *
 * A node of a deformable body has its whole mass. The vertices of a rigid body share its mass by area, scaled such that vertices
 * near other bodies together have the body's effective mass (contact/augury/rigid_weight.h); their joint change is applied to
 * the body. Constrained vertices (obstacles, prescribed components) take part with mass, and their velocities are restored
 * afterwards. Obstacles have no mass of their own; they get 10^4 times the mean mass per area of the free boundaries, so that
 * they hardly move. */
#ifndef SS_SIM_HYBRID_HYBRID_BOUNDARY_H
#define SS_SIM_HYBRID_HYBRID_BOUNDARY_H
#include "contact/augury/augury.h"
#include "sim/scene/scene.h"
#include "sim/scene/scene_surfaces.h"
#include "sim/step/step_layout.h"

/* A dynamic rigid body with a surface. */
typedef struct {
  int    body; /* index in the scene */
  body  *system;
  bool   overreacts;
  double weight;           /* of the current step: masses of its vertices over their shares */
  double mass, inertia[9]; /* of its unknown velocities: in world axes, at the start of the step, about its centre */
} hybrid_rigid;

typedef struct {
  scene_surfaces *surfaces;
  augury_boundary elements;     /* borrows from surfaces and mass */
  double         *mass;         /* [n_vertices] kg */
  double         *share;        /* [n_vertices] kg: the same, but for a rigid body its mass distributed by area */
  int32_t        *n_around;     /* [n_vertices] number of elements at the vertex */
  double         *inverse_mass; /* [n_vertices] 1/kg; 0: constrained, or of a rigid body */
  int32_t        *rigid;        /* [n_vertices] index in rigids; -1: not of a dynamic rigid body */
  int             n_rigids;
  hybrid_rigid   *rigids;
  double          edge; /* mean edge of deformable surfaces, or of all if there are none [m] */
  /* Data of the current step. */
  double  *x0;      /* [n_vertices][3] */
  double  *x1_held; /* [n_vertices][3] positions at the end of the step of obstacles and constrained nodes */
  double  *v, *A;   /* [n_vertices][3], [n_vertices][9] */
  double  *normal;  /* [n_vertices][3] outward unit normal, weighted by area; 0 if undefined */
  double  *v_free;  /* [n_vertices][3] velocities before contact */
  double  *gain;    /* [n_vertices][3] velocity change of nodes by contact */
  bool    *is_open; /* [n_vertices] of surfaces that enclose no volume: cloth */
  uint8_t *held;    /* [n_vertices] bit k: component k is prescribed */
  double  *affine;  /* state: A at the end of the last step, [n_vertices][9]; of rigid bodies for masses that are shares */
} hybrid_boundary;

/* Fill in *b, which is zero; destroy accepts a partly created struct. Affine parts are the velocity gradients of the current
 * scene. */
PetscErrorCode hybrid_boundary_create(const scene *s, bool resampling, hybrid_boundary *b);
void           hybrid_boundary_destroy(hybrid_boundary *b);
/* Set geometry and constraints at the start of the step that `l` has begun. */
PetscErrorCode hybrid_boundary_begin(hybrid_boundary *b, const step_layout *l);
/* Set v, A and v_free from l->v and the poses that follow from it. */
void hybrid_boundary_gather(hybrid_boundary *b, const step_layout *l);
/* Set the masses of the vertices of rigid bodies, for the active elements [elements.n_elements]: the effective mass along the
 * directions n [n_vertices][3] of velocity changes; with n NULL, for any direction, only for the bodies that overreact. Affine
 * parts are scaled so that their angular momentum is unchanged. */
void hybrid_boundary_set_rigid_masses(hybrid_boundary *b, const step_layout *l, const bool *is_active, const double *n);
/* True if, after contact changed v from v_old, the motion that a rigid body gains has more kinetic energy than the changes of its
 * vertices. */
bool hybrid_boundary_overreacts(hybrid_boundary *b, const step_layout *l, const double *v_old);
/* After contact changed v of the vertices from v_old: convert the changes of rigid bodies into one motion each, V and W [3] at
 * vu + 6 r, with the linear and angular momentum gained; restore the velocities of constrained vertices. */
void hybrid_boundary_apply_changes(hybrid_boundary *b, const step_layout *l, const double *v_old, double *vu);
/* Make the affine parts permanent with the step. */
void hybrid_boundary_accept(hybrid_boundary *b);
/* Angular momentum of the affine parts of all bodies but obstacles, as a grid with cells dx represents it. */
void hybrid_boundary_spin(const hybrid_boundary *b, const scene *s, double dx, double spin[3]);

/* The convex solids of an obstacle or rigid body that consists of half-spaces only: *n of them. NULL: it is a different body. */
const convex_solid *hybrid_half_spaces(const body *b, int *n);
#endif
