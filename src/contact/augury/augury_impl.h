/* Inside of the operator: augury.c (making, the layout of a step), augury_apply.c (RSA), augury_solve.c (the iteration). */
#ifndef SS_CONTACT_AUGURY_AUGURY_IMPL_H
#define SS_CONTACT_AUGURY_AUGURY_IMPL_H
#include "contact/augury/augury.h"
#include "contact/augury/augury_stencil.h"
#include "core/math3.h"
#include "discretize/mpm/mpm_lanes.h"

enum { AUGURY_FEW = 256 }; /* elements or nodes are done sooner than a team wakes up */

/* Vectors as rows of four, the last 0; matrices by columns. */
typedef struct {
  row4 x, v, A[3];
} augury_point; /* v(y) = v + A (y - x) */
typedef struct {
  row4 center;
  row4 Z[6];    /* by s_00, s_11, s_22, s_12, s_02, s_01: v_k - A_k (x_l - center), both of a pair together */
  row4 A[3][3]; /* of the corners, with the spin that mends angular momentum */
} augury_patch;
typedef struct {
  row4 V, W; /* V + W x (y - center) */
} augury_rigid;

struct augury {
  augury_boundary  b;
  double           dx;
  boundary_samples samples;
  uint64_t         round;
  bool            *is_new;          /* [n_elements] work space */
  double          *size;            /* [n_elements] area for which the points were drawn */
  double          *sampled;         /* [n_elements] mass of the points */
  double         (*defect)[6];      /* [n_elements] */
  double         (*share)[3];       /* [n_elements][3] masses of corners */
  int64_t         *incident_start;  /* [n_nodes + 1] */
  int32_t         *incident;        /* 3 element + corner */
  augury_continuum continuum;       /* n = 0: none */
  /* of the step */
  double          *x;        /* [n_nodes][3] */
  int64_t          n_acting, n_taking; /* elements and nodes that take part */
  int32_t         *acting;   /* [n_elements] these */
  int32_t         *rank;     /* [n_elements] place among them, -1: none */
  int32_t         *taking;   /* [n_nodes] these */
  int32_t         *point_of; /* [n_nodes] place among them, -1: none */
  double          *mass, *corners; /* [n_taking] of active corners, and what of that stays with the corners of elements with points */
  double         (*inverse)[9]; /* [n_acting] inverse inertia of the corners on the grid */
  augury_stencil   stencil;
  double          *node_mass[2]; /* [nodes of the grid] with points, with corners alone; 0 where it is next to nothing */
  int64_t          nodes_capacity[3];
  int64_t          n_met;    /* nodes of the continuum that share nodes of the grid */
  int32_t         *met;      /* [n_met] which */
  int32_t         *met_at;   /* [nodes of the grid] place among them, -1: none */
  int64_t          met_capacity[5];
  /* of an application */
  row4            *grid;     /* [nodes of the grid] velocity */
  augury_point    *point;    /* [n_taking] */
  augury_patch    *patch;    /* [n_acting] */
  augury_rigid    *rigid;    /* [n_acting] */
  /* of the iteration */
  double          *before, *dv, *dA;  /* [n_nodes][3], [n_nodes][3], [n_nodes][9]: of nodes that take part */
  double          *u, *u_before, *du; /* [n_met][3] */
  double         (*outward)[3];       /* [n_met] 0: not known */
};

static inline row4 row4_of(const double *v) { return (row4){v[0], v[1], v[2], 0.0}; }
static inline void row4_to(double *v, row4 r) { v[0] = r[0], v[1] = r[1], v[2] = r[2]; }

/* RSA of v [n_nodes][3], A [n_nodes][9], u [n_met][3], in place. */
void augury_transfer(augury *a, double *v, double *A, double *u);
/* Velocities of the continuum's nodes that are met, from and to it. */
void augury_take_continuum(const augury *a, double *u);
void augury_give_continuum(const augury *a, const double *u);
#endif
