/* Boundaries of formulation hybrid: the vertices of all surfaces of a scene as particles with mass, velocity v and affine
 * matrix A (v + A (x - x_vertex) near the vertex). Contact changes v between two solves [MarquezRazonEtAl2023, sec. 4].
 *
 * A node of a deformable body has its lumped mass. The mass of a rigid body is distributed over its vertices by area and scaled, so
 * that the vertices near other bodies together have the effective mass of the body (contact/augury/rigid_weight.h). The sum of their
 * velocity changes is applied to the body. Constrained vertices (obstacles, prescribed components) have a mass, too, and their
 * velocities are restored after contact. Obstacles get 10^4 times the mean mass per area of the free boundaries. */
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
  bool   overreacts;       /* result of hybrid_boundary_overreacts */
  double weight;           /* of the current step: mass / share of its vertices */
  double mass, inertia[9]; /* [kg], [kg m^2] in world axes about its centre, at the start of the step; inertia twice with RIGID_MIDPOINT */
} hybrid_rigid;

typedef struct {
  scene_surfaces *surfaces;
  augury_boundary elements;     /* borrows from surfaces and mass */
  double         *mass;         /* [n_vertices] kg */
  double         *share;        /* [n_vertices] kg: the same; for a rigid body before scaling: its mass distributed by area */
  int32_t        *n_around;     /* [n_vertices] number of elements at the vertex */
  double         *inverse_mass; /* [n_vertices] 1/kg; 0: constrained vertex, or vertex of a rigid body */
  int32_t        *rigid;        /* [n_vertices] index in rigids; -1: not of a dynamic rigid body */
  int             n_rigids;
  hybrid_rigid   *rigids;
  double          edge; /* mean edge length of deformable surfaces; without any: of all surfaces [m] */
  /* Data of the current step. */
  double  *x0;      /* [n_vertices][3] positions at the start of the step */
  double  *x1_held; /* [n_vertices][3] positions at the end of the step of obstacles and constrained nodes */
  double  *v, *A;   /* [n_vertices][3] velocities m/s, [n_vertices][9] affine matrices 1/s */
  double  *normal;  /* [n_vertices][3] outward unit normal, weighted by area; 0 if undefined */
  double  *v_free;  /* [n_vertices][3] velocities before contact */
  double  *gain;    /* [n_vertices][3] velocity change of nodes by contact */
  bool    *is_open; /* [n_vertices] vertex of a surface that encloses no volume (cloth) */
  uint8_t *held;    /* [n_vertices] bit k: component k is prescribed */
  double  *affine;  /* [n_vertices][9] state: A at the end of the last step, for masses equal to `share` */
} hybrid_boundary;

/* *b must be zero; destroy accepts a partly created struct. Initial affine matrices are the velocity gradients of the scene.
 * resampling: solver.hybrid.grid.expert.resampling. Error: out of memory. */
PetscErrorCode hybrid_boundary_create(const scene *s, bool resampling, hybrid_boundary *b);
void           hybrid_boundary_destroy(hybrid_boundary *b);
/* Set geometry and constraints at the start of the step that `l` has begun. */
PetscErrorCode hybrid_boundary_begin(hybrid_boundary *b, const step_layout *l);
/* Set v, A and v_free from l->v and from the poses in l->frames. */
void hybrid_boundary_gather(hybrid_boundary *b, const step_layout *l);
/* Scale the masses of the vertices of rigid bodies to the effective mass at their active elements, is_active [elements.n_elements].
 * n [n_vertices][3]: directions of the velocity changes. n NULL: effective mass for any direction, set only for bodies with
 * `overreacts`. Affine matrices are scaled so that their angular momentum is unchanged. */
void hybrid_boundary_set_rigid_masses(hybrid_boundary *b, const step_layout *l, const bool *is_active, const double *n);
/* Contact has changed v from v_old [n_vertices][3]. Set `overreacts` of each rigid body whose gained motion has more kinetic energy
 * than the velocity changes of its vertices. True if there is any. */
bool hybrid_boundary_overreacts(hybrid_boundary *b, const step_layout *l, const double *v_old);
/* Contact has changed v from v_old [n_vertices][3]. For each rigid body r: add the motion with the same linear and angular momentum
 * to its velocity and angular velocity, vu [n_rigids][6], and set its vertices to this motion. Restore constrained vertices. */
void hybrid_boundary_apply_changes(hybrid_boundary *b, const step_layout *l, const double *v_old, double *vu);
/* Make the affine parts permanent with the step. */
void hybrid_boundary_accept(hybrid_boundary *b);
/* Angular momentum of the affine matrices of all bodies except obstacles, in a transfer to a grid of cell size dx [N m s]. */
void hybrid_boundary_spin(const hybrid_boundary *b, const scene *s, double dx, double spin[3]);

/* The *n convex solids of an obstacle or rigid body that consists of half-spaces only; borrowed. NULL: the body is of another kind. */
const convex_solid *hybrid_half_spaces(const body *b, int *n);
#endif
