/* Islands of rigid bodies at rest, which steps leave out until something approaches them. Used by exact and convex through step_frame.
 *
 * An island is a connected component of the contacts within the search distance; obstacles do not connect bodies. It is at rest if
 *    - all its bodies are rigid bodies, and each was quiet at the end of the last RESTING_STEPS steps: velocity and angular velocity times radius
 *      were at most RESTING_SPEED acceleration_scale dt;
 *    - an obstacle carries it, and no obstacle in its contacts moves.
 * Its velocities are then set to 0, and its contact forces are kept. In the last step no velocity changed by more than 2 RESTING_SPEED
 * acceleration_scale dt, so these forces balance the loads of each body to 2 RESTING_SPEED of mass times acceleration_scale.
 * A body at rest is an obstacle for contact detection (body.is_resting), and has no unknowns. An island is solved again from the
 * step on in which the search finds a contact of one of its bodies with a moving body or obstacle. All state is in checkpoints. */
#ifndef SS_SIM_STEP_RESTING_ISLANDS_H
#define SS_SIM_STEP_RESTING_ISLANDS_H
#include "contact/detection/contact_record.h"
#include "sim/step/step_contacts.h"

#define RESTING_SPEED 1e-9
enum { RESTING_STEPS = 20 };

/* Contacts with a force of bodies at rest, by ascending key. Positions, normals and gaps are those of contact_points; energy of contact springs [J]. */
typedef struct {
  int64_t   n, capacity;
  uint64_t *key;                       /* [n][2] as in contact_set */
  double   *position, *force, *normal; /* [n][3] */
  double   *gap, *energy;              /* [n] */
} resting_contacts;
static inline int32_t resting_contacts_body_a(const resting_contacts *c, int64_t k) { return contact_key_body_a(c->key[2 * k]); }
static inline int32_t resting_contacts_body_b(const resting_contacts *c, int64_t k) { return contact_key_body_b(c->key[2 * k]); }

typedef struct {
  scene           *scene;     /* borrowed; NULL: the scene has deformable bodies, and thus no islands at rest */
  bool             is_wanted; /* false: bodies at rest are solved like all others */
  int32_t          n_bodies;
  int64_t          n_rows, n_resting; /* n_rows: n_bodies */
  int32_t         *quiet;             /* [n_bodies] quiet steps up to now; -1: at rest */
  resting_contacts contacts;
} resting_islands;

/* Fill in *r; destroy accepts zeros. is_wanted: contact.skip_resting. */
PetscErrorCode resting_islands_create(scene *s, bool is_wanted, resting_islands *r);
void           resting_islands_destroy(resting_islands *r);
/* Register the groups "contact/rest" and "contact/resting" of checkpoints. `r` must not move while the table exists. */
PetscErrorCode resting_islands_fields(resting_islands *r, field_table *table);

/* Whether an obstacle moves in the step that l has begun; l->frames: poses of obstacles at the end of the step. */
bool resting_islands_sees_motion(const resting_islands *r, const step_layout *l);
/* Whether the contacts of this step contain one of a body at rest. */
bool resting_islands_are_touched(const resting_islands *r, int64_t n, const contact_spot *spots, const step_layout *l);
/* Wake the islands that contain a moving body or have a contact with a moving obstacle, or all. spots [n]: all contacts, also those between bodies at
 * rest; not used for all. The contacts of woken bodies leave r->contacts: their keys *key [*m][2], ascending, and forces *force [*m][3] N, memory_free both. *wakes:
 * whether there are such islands; then the lists of the scene have changed. */
PetscErrorCode resting_islands_wake(resting_islands *r, bool all, int64_t n, const contact_spot *spots, const step_layout *l, bool *wakes,
                                    int64_t *m, uint64_t **key, double **force);

/* What the end of a step means for the islands. `row` [points->n]: contact of each recorded point, -1: it is one of r->contacts; energy [n_contacts]: of
 * the springs of the contacts, NULL: none. l->v: velocities at the end of the step. */
PetscErrorCode resting_islands_update(resting_islands *r, int64_t n, const contact_spot *spots, const step_layout *l,
                                      const contact_points *points, const int64_t *row, const double *energy);
#endif
