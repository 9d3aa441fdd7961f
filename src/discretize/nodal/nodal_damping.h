/* Rayleigh damping as jobs say it, -alpha M v - beta K v: of bodies of nodes and of rods. */
#ifndef SS_DISCRETIZE_NODAL_NODAL_DAMPING_H
#define SS_DISCRETIZE_NODAL_NODAL_DAMPING_H
#include "core/diagnostics.h"
#include "core/key_table.h"

/* Which stiffness K resists v, in a state that is deformed: see discretize/fem/tetrahedra_damping.h. */
typedef enum { NODAL_DAMPING_SPATIAL, NODAL_DAMPING_POLAR, NODAL_DAMPING_GREEN } nodal_damping_form;

typedef struct {
  double mass, stiffness;  /* alpha [1/s]; beta [s], NaN: not given */
  double ratio, frequency; /* of critical damping, at a frequency [Hz]; NaN: not given */
  int    form;             /* nodal_damping_form; -1: not given */
} nodal_damping_spec;

extern const key_table nodal_damping_table;

/* beta [s]: `stiffness`, or what gives a mode of that frequency that ratio: its ratio is beta omega / 2. 0 if neither is given, or
 * after a complaint to `d`. node, path: of bodies.NAME. formless: the kind, if it has no choice of forms ("cloth"); else NULL. */
double nodal_damping_beta(const nodal_damping_spec *spec, const char *formless, const document_node *node, const char *path,
                          diagnostics *d);
#endif
