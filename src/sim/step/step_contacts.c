/* All contact detectors write into one contact set, which is sorted by key before rows and shifts are built from it. */
#include "sim/step/step_contacts.h"
#include "contact/detection/contact_detectors.h"
#include "core/math3.h"
#include "core/memory.h"
#include "contact/detection/contact_stages.h"
#include "contact/rows/axis_contact.h"
#include "sim/scene/scene_surfaces.h"
#include "sim/step/detector_list.h"
#include <string.h>

static PetscErrorCode create_edges(const scene *s, step_contacts *c)
{
  const triangle_mesh **surface;
  PetscFunctionBegin;
  PetscCall(memory_alloc("obstacle edges", s->n_bodies, sizeof *surface, &surface));
  PetscCall(scene_obstacle_surfaces(s, surface));
  PetscCall(obstacle_edges_create(s->n_bodies, c->body, surface, &c->edges));
  memory_free(&surface);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode create_surfaces(const scene *s, step_contacts *c)
{
  const unsigned surface_detectors = 1u << DETECTOR_SURFACE_POINT | 1u << DETECTOR_SURFACE_EDGE;
  bool          *can_touch;
  PetscFunctionBegin;
  PetscCall(memory_alloc("contact laws", s->pairs->n_slots, sizeof *can_touch, &can_touch));
  for (int64_t k = 0; k < s->pairs->n_slots; ++k) {
    int32_t of[2];
    can_touch[k] = pair_example(s->pairs, s->n_bodies, k, of) && !s->laws[k].never_touch &&
                   contact_detectors_of(c->body[of[0]], c->body[of[1]]) & surface_detectors;
  }
  const PetscErrorCode code = surface_scene_create(s->n_bodies, c->body, s->pairs, can_touch, &c->surfaces);
  memory_free(&can_touch);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode step_contacts_create(scene *s, double overlap_correction, step_contacts *c)
{
  PetscFunctionBegin;
  *c = (step_contacts){
      .scene = s, .overlap_correction = overlap_correction, .overlap_correction_speed = s->options->contact->overlap_correction_speed};
  PetscCheck(s->n_bodies < CONTACT_MAX_BODIES, PETSC_COMM_SELF, PETSC_ERR_SUP, "%d bodies exceed the range of contact keys", s->n_bodies);
  PetscCall(
      MEMORY_ALLOC("step contacts", ARRAY(c->body, s->n_bodies), ARRAY(c->frame, s->n_bodies), ARRAY(c->by_points, s->pairs->n_slots)));
  for (int i = 0; i < s->n_bodies; ++i) {
    c->body[i]  = s->bodies[i].body;
    c->frame[i] = s->bodies[i].frame;
  }
  for (int64_t k = 0; k < s->pairs->n_slots; ++k) {
    int32_t of[2];
    c->by_points[k] = pair_example(s->pairs, s->n_bodies, k, of) && !s->laws[k].never_touch && !c->body[of[0]]->ops->segments &&
                      (contact_detectors_of(c->body[of[0]], c->body[of[1]]) & 1u << DETECTOR_POINT);
  }
  PetscCall(point_contact_create(&c->points));
  PetscCall(convex_contact_create(s->n_bodies, c->body, &c->convex));
  PetscCall(create_edges(s, c));
  PetscCall(fibre_scene_create(s->n_bodies, c->body, s->pairs, s->laws, &c->fibres));
  PetscCall(create_surfaces(s, c));
  PetscCall(contact_set_create(&c->set));
  PetscCall(contact_set_create(&c->more));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void step_contacts_destroy(step_contacts *c)
{
  point_contact_destroy(&c->points);
  convex_contact_destroy(&c->convex);
  obstacle_edges_destroy(&c->edges);
  fibre_scene_destroy(&c->fibres);
  surface_scene_destroy(&c->surfaces);
  contact_set_destroy(&c->set);
  contact_set_destroy(&c->more);
  contact_jacobian_destroy(&c->rows);
  MEMORY_FREE(&c->body, &c->frame, &c->by_points, &c->shift, &c->mu);
}

/* True if an impulse at contact i can change its normal velocity: some component that it moves along the normal is not
 * prescribed. */
static bool is_free(const contact_jacobian *j, const step_unknowns *u, int64_t i)
{
  for (int64_t e = j->start[i]; e < j->start[i + 1]; ++e)
    for (int k = 0; k < 3; ++k) {
      const int64_t at = 3 * (int64_t)j->block[e] + k;
      if (j->value[9 * e + k] != 0.0 && (u->is_all || u->P.start[at + 1] > u->P.start[at])) return true;
    }
  return false;
}

static int64_t drop_held(step_contacts *c, const step_unknowns *u, contact_spot *spots)
{
  int64_t m = 0;
  for (int64_t i = 0; i < c->rows.n; ++i)
    if (is_free(&c->rows, u, i)) spots[m++] = spots[i];
  return m;
}

static double shift_of(const contact_spot *s, double distance, double u_N, double share, double speed, double dt, double v_rest)
{
  const double gap    = s->gap - distance;
  const bool   closes = gap + dt * u_N <= 0.0;
  if (closes && s->restitution > 0.0 && u_N < -v_rest) return s->restitution * u_N;
  if (gap >= 0.0) return gap / dt;
  return fmax(share * gap / dt, -speed);
}

static contact_scene scene_of(const step_contacts *c, const step_layout *l, const double *v, bool sees_resting)
{
  const scene *s = c->scene;
  return (contact_scene){s->n_bodies,
                         c->body,
                         c->frame,
                         l->frames0,
                         l->frames,
                         s->laws,
                         l->dt,
                         {s->gravity[0], s->gravity[1], s->gravity[2]},
                         step_layout_margin(l) + c->distance,
                         s->length_scale,
                         v,
                         s->pairs,
                         sees_resting};
}

/* Build the rows of the sorted contact set and drop contacts between constrained components. */
static PetscErrorCode build_rows(step_contacts *c, const contact_scene *in, const step_unknowns *u)
{
  PetscFunctionBegin;
  axis_contact_place(in, contact_set_size(c->set), contact_set_edit(c->set));
  PetscCall(contact_jacobian_build(&c->rows, in, contact_set_size(c->set), contact_set_get(c->set)));
  const int64_t n_free = drop_held(c, u, contact_set_edit(c->set));
  if (n_free == c->rows.n) PetscFunctionReturn(PETSC_SUCCESS);
  contact_set_truncate(c->set, n_free);
  PetscCall(contact_jacobian_build(&c->rows, in, n_free, contact_set_get(c->set)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode step_contacts_detect(step_contacts *c, const step_layout *l, bool sees_resting, step_status *status)
{
  scene              *s  = c->scene;
  const contact_scene in = scene_of(c, l, NULL, sees_resting);
  PetscFunctionBegin;
  timer_begin(TIMER_CONTACT_SEARCH);
  contact_set_clear(c->set);
  PetscCall(point_contact_find(c->points, &in, s->n_frames, s->n_sources, s->sources, s->n_objects, s->objects, c->by_points, c->set));
  PetscCall(convex_contact_find(c->convex, &in, c->set));
  PetscCall(obstacle_edges_find(c->edges, &in, c->set));
  PetscCall(fibre_scene_find(c->fibres, &in, s->n_objects, s->objects, c->set, status));
  PetscCall(surface_scene_find(c->surfaces, &in, s->n_sources, s->sources, c->set, status));
  if (status->code != STEP_OK) contact_set_clear(c->set);
  PetscCall(contact_set_sort(c->set));
  timer_end(TIMER_CONTACT_SEARCH);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode set_shifts(step_contacts *c, const step_layout *l)
{
  double *u0;
  PetscFunctionBegin;
  const double  v_rest = l->acceleration_scale * l->dt;
  const double  speed  = isfinite(c->overlap_correction_speed) ? c->overlap_correction_speed : v_rest;
  const int64_t n      = c->rows.n;
  PetscCall(MEMORY_RESERVE("step contacts", n, &c->capacity, ARRAY(c->shift, 1), ARRAY(c->mu, 1)));
  const contact_spot *spots = step_contacts_spots(c);
  PetscCall(memory_alloc("contact velocities", 3 * n, sizeof *u0, &u0));
  contact_jacobian_velocity(&c->rows, l->v0, u0);
  for (int64_t i = 0; i < n; ++i) {
    c->mu[i]    = spots[i].friction;
    c->shift[i] = shift_of(&spots[i], c->distance, u0[3 * i], c->overlap_correction, speed, l->dt, v_rest);
  }
  memory_free(&u0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode step_contacts_build(step_contacts *c, const step_layout *l, const step_unknowns *u)
{
  const contact_scene in = scene_of(c, l, NULL, false);
  PetscFunctionBegin;
  timer_begin(TIMER_CONTACT_SEARCH);
  PetscCall(build_rows(c, &in, u));
  PetscCall(set_shifts(c, l));
  timer_end(TIMER_CONTACT_SEARCH);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode step_contacts_find(step_contacts *c, const step_layout *l, const step_unknowns *u, step_status *status)
{
  PetscFunctionBegin;
  PetscCall(step_contacts_detect(c, l, false, status));
  PetscCall(step_contacts_build(c, l, u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Append the contacts of `more` that the set does not contain. */
static PetscErrorCode append_new(step_contacts *c)
{
  contact_spot *spot;
  int64_t       n = 0;
  PetscFunctionBegin;
  for (int64_t i = 0; i < contact_set_size(c->more); ++i) {
    const contact_spot *found = contact_set_get(c->more) + i;
    if (!contact_set_has(c->set, found->key)) contact_set_edit(c->more)[n++] = *found;
  }
  PetscCall(contact_set_append(c->set, n, &spot));
  if (n > 0) memcpy(spot, contact_set_get(c->more), (size_t)n * sizeof *spot);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode step_contacts_find_more(step_contacts *c, const step_layout *l, const step_unknowns *u, bool *is_more, step_status *status)
{
  const scene        *s  = c->scene;
  const contact_scene in = scene_of(c, l, l->v, false);
  const int64_t       n  = c->rows.n;
  PetscFunctionBegin;
  *is_more = false;
  if (!c->fibres) PetscFunctionReturn(PETSC_SUCCESS);
  timer_begin(TIMER_CONTACT_SEARCH);
  contact_set_clear(c->more);
  PetscCall(fibre_scene_find(c->fibres, &in, s->n_objects, s->objects, c->more, status));
  if (status->code == STEP_OK) PetscCall(append_new(c));
  if (contact_set_size(c->set) > n) {
    PetscCall(contact_set_sort(c->set));
    PetscCall(build_rows(c, &in, u));
    PetscCall(set_shifts(c, l));
  }
  *is_more = c->rows.n > n;
  timer_end(TIMER_CONTACT_SEARCH);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ==== description for `check` ==== */

enum { GRID_DETECTOR = CONTACT_N_DETECTORS }; /* bodies in contact with a continuum on its grid */

static unsigned rigid_detectors_of(const scene *s, int i, int j)
{
  const body *a = s->bodies[i].body, *b = s->bodies[j].body;
  if (s->options->formulation->touches_on_grid && !a->ops->carrier != !b->ops->carrier) return 1u << GRID_DETECTOR;
  return contact_detectors_of(a, b) | (scene_obstacle_edges(s, i, j) ? 1u << DETECTOR_OBSTACLE_EDGE : 0);
}

PetscErrorCode step_contacts_describe(const scene *s, FILE *out)
{
  const char *text[GRID_DETECTOR + 1];
  for (int k = 0; k < CONTACT_N_DETECTORS; ++k) text[k] = contact_detector_text((contact_detector)k);
  text[GRID_DETECTOR]      = "the grid of the continuum";
  const detector_list list = {GRID_DETECTOR + 1, text, rigid_detectors_of};
  return detector_list_print(&list, s, out);
}
