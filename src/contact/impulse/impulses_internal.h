/* What the files of the impulses share. Units are what moves by itself: vertices, rigid bodies, walls, in this order. */
#ifndef SS_CONTACT_IMPULSE_IMPULSES_INTERNAL_H
#define SS_CONTACT_IMPULSE_IMPULSES_INTERNAL_H
#include "contact/impulse/impact_zones.h"
#include "contact/impulse/impulses.h"

typedef enum { MEETING_POINT_TRIANGLE, MEETING_EDGE_EDGE, MEETING_POINT_WALL } meeting_kind;

/* Two features that meet: gap = normal . (sum of weight x); of a point and a wall weight[0] is 1 and the rest are no vertices. */
typedef struct {
  int32_t      node[4], side[2]; /* side: who carries the first and the second feature, -1: nobody; -2: it is a wall */
  int32_t      first, second;    /* of the pair: features, or vertex and wall */
  meeting_kind kind;
  double       weight[4], normal[3], gap;
  double       arm[2][3]; /* from the center of who carries it to the place of the feature, at the beginning */
  double       j, friction[3], work[2]; /* what was done: normal impulse; friction; work of each */
  bool         is_sliding;
} meeting;

/* Ascends as pairs of features are found. */
static inline uint64_t meeting_key(meeting_kind kind, int32_t first, int32_t second)
{
  return (uint64_t)kind << 62 | (uint64_t)(uint32_t)first << 31 | (uint64_t)(uint32_t)second;
}

/* Bits of components of a vertex that nothing carries whose velocity stays. */
static inline unsigned held_components(const impulse_scene *c, int64_t i)
{
  return c->inverse_mass[i] == 0.0 ? 7 : c->held_axes ? c->held_axes[i] : 0;
}

/* Pairs of one kind that the broad phase found, for as long as vertices stay within its slack. */
typedef struct {
  int64_t                 n, n_flags;
  const broad_phase_pair *pair; /* the broad phase's */
  uint8_t                *flag; /* [n] they meet */
} candidate_list;

struct impulses {
  impulse_scene   scene;
  broad_phase    *broad;
  int64_t         n_units;
  double         *x1;         /* [n_vertices][3] */
  double         *x1_before;  /* ... of the search before */
  double         *x1_listed;  /* ... of the broad phase */
  int32_t        *unit, *leader; /* [n_vertices] unit of each, and the leader of its zone, or the unit itself */
  uint8_t        *is_held, *is_changed; /* [n_vertices] unit held; end changed since the search before */
  double         *turn;       /* [n_rigid][9] A: velocities over the step are v + A r, r at the beginning */
  double         *placed;     /* [n_rigid][6] v, w that x1 of their vertices belongs to */
  impact_zones    zones;
  candidate_list  list[3];    /* by meeting_kind; of walls the flags alone */
  double          slack;      /* that the lists can bear; < 0: there are none */
  double          edge;       /* mean length of edges at the beginning of the step */
  int64_t         n_before, before_capacity;
  uint64_t       *before;     /* [n_before] pairs of features that met in the search before, ascending */
  int64_t         n, capacity;
  meeting        *found;      /* [n] */
  int64_t        *index, n_index; /* scratch of searches */
  uint64_t       *used;       /* [n_units] colours taken */
  int32_t        *order, *colour; /* [n] of found: by colour */
  int64_t         n_order, n_colour;
  int64_t         n_given, given_capacity;
  meeting        *given;      /* [n_given] that got impulses, in their order */
  int64_t         n_contacts, contact_capacity;
  impulse_contact *contact;
  /* The solve under way. */
  const impulse_step    *step;
  const impulse_options *options;
  impulse_report        *report;
};

/* ---- motion (impulse_motion.c): ends of ways, zones ---- */

/* A [9] with exp(dt [w]) = 1 + dt A, or cay. */
void impulse_turn(const double w[3], double dt, bool is_cayley, double A[9]);
/* Units and what is held, for the step. */
PetscErrorCode impulse_motion_begin(impulses *a);
/* x1 of all; is_changed against the last; the largest change of a coordinate since, and since the broad phase. */
void impulse_motion_ends(impulses *a, double *change, double *listed_change);
/* All zones made rigid. */
void impulse_motion_of_zones(impulses *a, step_verdict *verdict);

/* ---- search (impulse_search.c) ---- */

/* All pairs that come nearer than `separation` from x0 to x1 to a->found; *bad: a vertex that is not finite, or -1. */
PetscErrorCode impulse_search_all(impulses *a, const double *x0, const double *x1, double separation, int64_t *bad);
/* The same for the step from x0 to a->x1, looking anew only at what changed. */
PetscErrorCode impulse_search_again(impulses *a, double separation, int64_t *bad);

/* ---- impulses (impulse_apply.c) ---- */

/* On all pairs found, as near ones or as ones that meet; how many felt any. */
PetscErrorCode impulse_apply(impulses *a, bool is_near, int64_t *n_pushed);

/* ---- order (impulse_colours.c) ---- */

enum { IMPULSE_COLOURS = 64 }; /* of the last nothing is known: pairs that are to be taken one by one */
/* a->order: pairs found by colour, start [IMPULSE_COLOURS + 1]; two of a colour share no unit that moves. */
PetscErrorCode impulse_colour(impulses *a, int64_t *start);

/* ---- record (impulse_contacts.c) ---- */

PetscErrorCode impulse_contacts_keep(impulses *a);
PetscErrorCode impulse_contacts_gather(impulses *a);
#endif
