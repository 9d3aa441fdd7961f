/* Size of a body as the reference length of overlaps: an overlap that is a noticeable part of it falsifies the contact geometry.
 * Called by the quality monitor of a run. */
#ifndef SS_SIM_SCENE_SCENE_SIZE_H
#define SS_SIM_SCENE_SCENE_SIZE_H
#include "sim/scene/scene.h"

/* Size of body i [m], at least by an order of magnitude; INFINITY for unbounded obstacles:
 *   rigid, kinematic, static, links   smallest extent along the axes of the body, or the diameter of a large ball inside if smaller
 *   rod                               smallest diameter
 *   other bodies                      spacing of the discretisation (body_ops.length) */
double scene_body_size(const scene *s, int i);
#endif
