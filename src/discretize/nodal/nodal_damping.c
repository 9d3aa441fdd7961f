#include "discretize/nodal/nodal_damping.h"
#include <math.h>

static const char *const forms[]     = {"spatial", "polar", "green", NULL};
static const char *const form_help[] = {
    "a viscous stress in the shape at the start of the step; keeps both momenta, grows without bound as an element is flattened",
    "K at the polar rotation of each element at the start of the step; has a net torque on what is deformed",
    "resists the rate of Green's strain, at the start of the step; keeps both momenta", NULL};
static const key_spec damping_keys[] = {
    {.name     = "mass",
     .type     = KEY_REAL,
     .offset   = offsetof(nodal_damping_spec, mass),
     .unit     = "1/s",
     .fallback = "0",
     .min      = 0,
     .max      = INFINITY,
     .help     = "alpha: resists every motion, as a thick fluid around the body would"},
    {.name        = "stiffness",
     .type        = KEY_REAL,
     .offset      = offsetof(nodal_damping_spec, stiffness),
     .unit        = "s",
     .is_optional = true,
     .min         = 0,
     .max         = INFINITY,
     .help        = "beta: resists deformation, in proportion to the elastic stiffness at small strains; 0 if not given"},
    {.name        = "ratio",
     .type        = KEY_REAL,
     .offset      = offsetof(nodal_damping_spec, ratio),
     .is_optional = true,
     .min         = 0,
     .max         = INFINITY,
     .help = "in place of stiffness, with frequency: the part of critical damping that a mode of this frequency gets, 1 being "
             "critical; others get more in proportion to theirs. beta = ratio/(pi frequency)"},
    {.name        = "frequency",
     .type        = KEY_REAL,
     .offset      = offsetof(nodal_damping_spec, frequency),
     .unit        = "Hz",
     .is_optional = true,
     .min         = 0,
     .max         = INFINITY,
     .is_open     = true,
     .help        = "of the mode that gets ratio"},
    {.name        = "form",
     .type        = KEY_ENUM,
     .offset      = offsetof(nodal_damping_spec, form),
     .choices     = forms,
     .choice_help = form_help,
     .is_optional = true,
     .help        = "of stiffness damping, kind fem alone: spatial if not given. The same at small strains"},
    {.name = NULL}};
const key_table nodal_damping_table = {
    .name = "bodies.damping",
    .help = "Damping forces -alpha M v - beta K v; turning the body costs nothing of the second, unless its form is polar.",
    .size = sizeof(nodal_damping_spec),
    .keys = damping_keys};

double nodal_damping_beta(const nodal_damping_spec *spec, const char *formless, const document_node *node, const char *path,
                          diagnostics *d)
{
  const bool has_stiffness = !isnan(spec->stiffness), has_ratio = !isnan(spec->ratio), has_frequency = !isnan(spec->frequency);
  if (spec->form >= 0 && formless)
    diagnostics_add_under(d, node, path, "damping.form", "is of kind fem: kind %s has one form of damping; leave it out", formless);
  else if (spec->form >= 0 && !has_stiffness && !has_ratio)
    diagnostics_add_under(d, node, path, "damping.form",
                          "is of damping by stiffness, and there is none: give `stiffness`, or `ratio` and `frequency`");
  if (has_stiffness && (has_ratio || has_frequency))
    diagnostics_add_under(d, node, path, has_ratio ? "damping.ratio" : "damping.frequency",
                          "expected either `stiffness` (a time) or `ratio` and `frequency`, not both; leave one out");
  else if (has_ratio && !has_frequency)
    diagnostics_add_under(d, node, path, "damping.ratio", "needs `frequency`: that of the mode to be damped so much [Hz]");
  else if (has_frequency && !has_ratio)
    diagnostics_add_under(d, node, path, "damping.frequency",
                          "needs `ratio`: the part of critical damping that a mode of this frequency gets");
  else
    return has_stiffness ? spec->stiffness : has_ratio ? spec->ratio / (M_PI * spec->frequency) : 0.0;
  return 0.0;
}
