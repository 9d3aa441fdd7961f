/* Boundaries: all surfaces of a scene as particles with mass, velocity and an affine part of it, for contact to act on between
 * the two solves of a step [MarquezRazonEtAl2023, sec. 4; hybrid, sec. 1, 5].
 *
 * A node of a body that deforms has its whole mass there. Vertices of a rigid body share its mass by area, times what lets those near
 * others weigh as much together as the body can answer for (contact/augury/rigid_weight.h); what contact does to them together it does to
 * the body. What is held, obstacles and components that bodies prescribe, takes part with mass and
 * gets its velocity back afterwards; obstacles, which have none, weigh 10^4 times as much per area as what is free on the
 * average, so that they hardly give way. */
#ifndef SS_SIM_HYBRID_HYBRID_BOUNDARY_H
#define SS_SIM_HYBRID_HYBRID_BOUNDARY_H
#include "contact/augury/augury.h"
#include "sim/scene/scene.h"
#include "sim/scene/scene_surfaces.h"
#include "sim/step/step_layout.h"

/* A dynamic rigid body with a surface. */
typedef struct {
  int    body; /* in the scene */
  body  *system;
  bool   overreacts;
  double weight;           /* of the step under way: masses of its vertices over their shares */
  double mass, inertia[9]; /* of its unknown velocities: in the world, at the start of the step, about its centre */
} hybrid_rigid;

typedef struct {
  scene_surfaces *surfaces;
  augury_boundary elements;     /* borrows from surfaces, and mass */
  double         *mass;         /* [n_vertices] kg */
  double         *share;        /* [n_vertices] kg: the same, but of a rigid body's mass a share by area */
  int32_t        *n_around;     /* [n_vertices] elements there */
  double         *inverse_mass; /* [n_vertices] 1/kg; 0: held, or of a rigid body */
  int32_t        *rigid;        /* [n_vertices] -1: not of a dynamic one */
  int             n_rigids;
  hybrid_rigid   *rigids;
  double          edge; /* mean edge of surfaces that deform, of all if none does [m] */
  /* The step under way. */
  double  *x0;      /* [n_vertices][3] */
  double  *x1_held; /* [n_vertices][3] where obstacles will be, and nodes that are held */
  double  *v, *A;   /* [n_vertices][3], [n_vertices][9] */
  double  *normal;  /* [n_vertices][3] outwards, weighted by area, of length 1; 0 where that says nothing */
  double  *v_free;  /* [n_vertices][3] as gathered */
  double  *gain;    /* [n_vertices][3] what contact has changed of velocities, of nodes */
  bool    *is_open; /* [n_vertices] of surfaces without an inside: cloth */
  uint8_t *held;    /* [n_vertices] bit k: component k is prescribed */
  double  *affine;  /* state: A of the end of the last step, [n_vertices][9]; of rigid bodies for masses that are shares */
} hybrid_boundary;

/* *b, zeros, is filled in place; destroy copes with failures. Affine parts are velocity gradients of the scene as it stands. */
PetscErrorCode hybrid_boundary_create(const scene *s, bool resampling, hybrid_boundary *b);
void           hybrid_boundary_destroy(hybrid_boundary *b);
/* Geometry at the start of the step that `l` has begun, and what is held. */
PetscErrorCode hybrid_boundary_begin(hybrid_boundary *b, const step_layout *l);
/* v, A, v_free from l->v and the poses that it leads to. */
void hybrid_boundary_gather(hybrid_boundary *b, const step_layout *l);
/* Masses of rigid bodies' vertices for the elements [elements.n_elements] that take part: as much as the bodies can answer for where
 * velocities change along the ways n [n_vertices][3]; with n NULL, in whatever way they change, for those bodies alone that overreact.
 * Affine parts follow, so that their angular momentum stays. */
void hybrid_boundary_weigh(hybrid_boundary *b, const step_layout *l, const bool *is_active, const double *n);
/* After contact changed v of vertices from v_old: have rigid bodies taken more energy than their vertices? */
bool hybrid_boundary_overreacts(hybrid_boundary *b, const step_layout *l, const double *v_old);
/* After contact changed v of vertices: those of rigid bodies become one motion of each, V and W [3] at vu + 6 r, with the
 * momentum and angular momentum that they have gained; what is held gets its velocity back. v_old: before. */
void hybrid_boundary_settle(hybrid_boundary *b, const step_layout *l, const double *v_old, double *vu);
/* The step has become permanent: so do affine parts. */
void hybrid_boundary_accept(hybrid_boundary *b);
/* Angular momentum of the affine parts of all but obstacles, as a grid of cells dx sees it [hybrid, sec. 6]. */
void hybrid_boundary_spin(const hybrid_boundary *b, const scene *s, double dx, double spin[3]);

/* The convex solids of an obstacle or rigid body whose solids are all half-spaces: *n of them, NULL: it is something else. */
const convex_solid *hybrid_half_spaces(const body *b, int *n);
#endif
