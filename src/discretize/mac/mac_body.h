/* Bodies of kind mac, created from a job: shapes filled with particles on one staggered grid. */
#ifndef SS_DISCRETIZE_MAC_MAC_BODY_H
#define SS_DISCRETIZE_MAC_MAC_BODY_H
#include "discretize/body/body_kind.h"
#include "discretize/mac/mac_domain.h"
#include "discretize/particles/particles.h"

/* Data shared by all mac bodies of a scene. */
typedef struct mac_world {
  mac_domain      *domain;  /* NULL: the grid could not be created; the error has been reported */
  particle_origins origins; /* stored if body_world.keeps_origins is set */
} mac_world;
#endif
