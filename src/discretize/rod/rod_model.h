/* The registry of rod models: how a strand is discretised. A new one has a file ROD_MODEL_NAME.c with its rod_model, and one entry here. */
#ifndef SS_DISCRETIZE_ROD_ROD_MODEL_H
#define SS_DISCRETIZE_ROD_ROD_MODEL_H
#include "discretize/rod/rod_body.h"

/* name, help */
#define ROD_MODEL_TABLE(X)                                                                                                                    \
  X(discrete_elastic_rod, "nodes, and an angle of the section per segment, against frames that follow the curve [Bergou2008], [Bergou2010]") \
  X(mass_spring, "nodes alone, with springs along segments and second differences for bending: round rods, no twist")                      \
  X(corde, "nodes, and a quaternion per segment that is tied to its direction [SpillmannTeschner2007]")                                         \
  X(super_helix, "elements of constant curvature and twist, inextensible, held at their start or free [BertailsEtAl2006]")

#define X(name, help) extern const rod_model rod_model_##name;
ROD_MODEL_TABLE(X)
#undef X

extern const rod_model *const rod_models[]; /* in that order; rod_body_spec.model is the index */
extern const char *const      rod_model_names[], *const rod_model_help[];
#endif
