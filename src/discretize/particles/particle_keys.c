#include "discretize/particles/particle_keys.h"

static const key_spec pour_keys[]         = {{.name     = "start",
                                              .type     = KEY_REAL,
                                              .offset   = offsetof(particle_pour, start),
                                              .unit     = "s",
                                              .fallback = "0",
                                              .min      = 0,
                                              .max      = INFINITY,
                                              .help     = "first release"},
                                             {.name   = "end",
                                              .type   = KEY_REAL,
                                              .offset = offsetof(particle_pour, end),
                                              .unit   = "s",
                                              .min    = 0,
                                              .max    = INFINITY,
                                              .help   = "no release at or after this time"},
                                             {.name    = "every",
                                              .type    = KEY_REAL,
                                              .offset  = offsetof(particle_pour, every),
                                              .unit    = "s",
                                              .min     = 0,
                                              .max     = INFINITY,
                                              .is_open = true,
                                              .help = "time between releases; one shape full of particles each, so height of the shape / "
                                                              "falling speed makes a closed stream; a release "
                                                              "that would come while the shape still holds more than a twentieth of its particles "
                                                              "is refused, or, during the run, left out with a warning"},
                                             {.name = NULL}};
const key_table       particle_pour_table = {.name = "bodies.mpm.pour",
                                             .help = "Fill the shape again and again, as a spout does.",
                                             .size = sizeof(particle_pour),
                                             .keys = pour_keys};
