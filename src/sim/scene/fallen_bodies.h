/* Rigid bodies that have fallen out of the scene, for example through a hole in a container: they move downwards, below everything that could stop them.
 * Others are obstacles, bodies with prescribed motion, links of articulated bodies, and deformable bodies. A plane or wall that faces upwards stops every
 * body. Without such bodies nothing has fallen out: a free fall is intended. Caller: quality_monitor.h. */
#ifndef SS_SIM_SCENE_FALLEN_BODIES_H
#define SS_SIM_SCENE_FALLEN_BODIES_H
#include "sim/scene/scene.h"

/* Their number, at the positions of the last search of scene_overlaps. first: called with the first one of each entry of the job; NULL: not called. */
int64_t fallen_bodies_count(const scene *s, void (*first)(const scene *s, int body));
#endif
