/* Geometric and mechanical summary of every body at the start of a run: bounds, smallest extent, distance and number of contact points, mass,
 * velocity, load. Computed by scene_survey (scene.h); used by the checks of plausibility (scene_plausibility.c), the automatic contact stiffness
 * (contact_stiffness.c) and the estimate of memory and time. */
#ifndef SS_SIM_SCENE_BODY_SURVEY_H
#define SS_SIM_SCENE_BODY_SURVEY_H
#include "core/document.h"
#include "discretize/body/body.h"

typedef struct {
  bool    is_free;        /* it has unknowns and can move */
  bool    is_rigid;       /* the distance of its points does not limit the penetration */
  bool    is_held;        /* nodes are constrained, or springs, joints, a force or a prescribed motion support it */
  int64_t n_points;       /* vertices of the surface, surface nodes, nodes of a curve, or particles; 0: unbounded obstacle */
  int64_t n_bottom;       /* points of the lowest layer along gravity, at least 1 */
  double  min[3], max[3]; /* bounds of the points, or of the level sets of an obstacle [m]; infinite if unbounded */
  double  size;           /* smallest extent [m]; INFINITY if unbounded. Diameter of a curve; thickness 0 of cloth counts as its length */
  double  reach;          /* half of the diagonal of the bounds [m] */
  double  spacing;        /* mean length of the edges of the surface, of segments, or distance of particles [m]; INFINITY: none */
  double  density,
      wave_speed; /* of an elastic material in three dimensions [kg/m^3], [m/s]; 0: rigid, or no such material; set by scene_survey */
  double mass;    /* kg; 0 without unknowns */
  double v[3], tip_speed; /* velocity of the centre of mass; largest speed of a point of a rigid body by its rotation [m/s] */
  double load;            /* weight of the body and of the bodies above it in its column [N] */
} body_survey;

/* The bodies of a scene; all borrowed. */
typedef struct {
  int                         n;
  body *const                *body;                                 /* [n]; entries may be NULL after an error */
  const bool                 *is_part;                              /* [n] links of articulated bodies */
  const document_node *const *entry;                                /* [n] entry of the job; NULL: none */
  double                      gravity[3], acceleration_scale, step; /* m/s^2, m/s^2 (in place of gravity if there is none), s */
} survey_input;
/* *survey [n], memory_free(survey). */
PetscErrorCode body_survey_create(const survey_input *in, body_survey **survey);
/* Positions [*n][3] of the points counted by n_points, in world axes; memory_free(*x). NULL for bodies without points. */
PetscErrorCode body_survey_points(body *b, int64_t *n, double **x);
/* Direction [3] of gravity; (0, 0, -1) without gravity. Returns its magnitude. */
double body_survey_down(const double gravity[3], double down[3]);
#endif
