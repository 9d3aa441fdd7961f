/* Bodies of kind mac, made from a job: shapes filled with particles on one staggered grid. */
#ifndef SS_DISCRETIZE_MAC_MAC_BODY_H
#define SS_DISCRETIZE_MAC_MAC_BODY_H
#include "discretize/body/body_kind.h"
#include "discretize/mac/mac_domain.h"
#include "discretize/particles/particles.h"

/* What all of them share. */
typedef struct mac_world {
  mac_domain      *domain;  /* NULL: the grid could not be made, and that was said */
  particle_origins origins; /* kept where the world asks for them */
} mac_world;
#endif
