/* Estimate of memory and CPU time, see run_estimate.h. */
#include "app/run/run_estimate.h"
#include <string.h>
#include "core/math3.h"
#include "core/memory.h"
#include "discretize/particles/particles.h"
#include "sim/hybrid/hybrid_contact.h"
#include "sim/hybrid/hybrid_keys.h"
#include "sim/step/solver_options.h"

/* Measured with 9 steps at one thread (Intel Xeon at 2 cores, November 2026): arrays after the start, peak resident memory, units, CPU time per step.
 *
 *   jobs/quickstart          penalty,  particles   5.7 MB   81 MB   23,102 units   0.18 s
 *   jobs/penalty/cloth_small penalty,  cloth       1.5 MB   56 MB    2,467 units   0.022 s
 *   jobs/exact/arch          exact,    blocks      3.4 MB   51 MB      300 units   0.005 s
 *   jobs/exact/wisp          exact,    fibres      4.8 MB   57 MB    1,050 units   0.007 s
 *   jobs/convex/shake        convex,   particles   3.7 MB  100 MB    3,556 units   0.48 s
 *   jobs/convex/panels       convex,   panels      2.9 MB   49 MB      101 units   0.0034 s
 *   jobs/hybrid/two_blocks   hybrid,   solids      6.0 MB   55 MB    4,374 units   0.024 s
 *   jobs/monolith/box        monolith, continuum  22.8 MB  233 MB  138,624 units   2.6 s
 *
 * Under hybrid with contact: impulses the time depends on how long bodies press against each other. Under gravity they do so for most of a run.
 * CPU time per step and unit, whole runs or steps with contact:
 *
 *   with gravity      bunnies (75 steps) 1.6e-5 s, bunnies with spacing 0.06 (600 steps) 2.4e-5 s, rollers 2.8e-5 s
 *   without gravity   two_circles_coarse 4.7e-6 s, spheres_5k 3.3e-6 s, spheres_19k 4.4e-6 s, twist 1.1e-5 s */
typedef struct {
  const char *formulation;
  double      memory_factor, step_seconds, unit_seconds;
} rate;
static const rate rates[]         = {{"penalty", 7.0, 5e-4, 8.5e-6},
                                     {"exact", 2.0, 5e-4, 1.2e-5},
                                     {"convex", 10.0, 5e-4, 7e-5},
                                     {"hybrid", 2.0, 5e-4, 5.5e-6},
                                     {"monolith", 8.0, 1e-2, 1.85e-5}};
static const rate impulse_rates[] = {{"hybrid", 2.0, 5e-4, 6e-6}, {"hybrid", 2.0, 5e-4, 2.3e-5}}; /* contact: impulses; [1]: with gravity */
static const double program_memory = 45e6;                                                        /* [byte] of a run with few bodies */

static double count_units(const scene *s)
{
  double units = 0.0;
  for (int i = 0; i < s->n_bodies; ++i) {
    body            *b     = s->bodies[i].body;
    const particles *p     = particles_of(b);
    body_nodes       nodes = {0};
    if (!body_system(b)) continue;
    if (b->ops->nodes) b->ops->nodes(b, &nodes);
    if (p) units += (double)p->n;
    else if (nodes.n > 0) units += (b->ops->segments ? 1.0 : 3.0) * (double)nodes.n;
    else units += 20.0;
  }
  return units;
}

void run_estimate_of(const run *r, run_estimate *out)
{
  const scene        *s = run_scene(r);
  const time_options *t = s->options->time;
  const rate         *c = &rates[0];
  for (size_t k = 0; k < sizeof rates / sizeof *rates; ++k)
    if (strcmp(rates[k].formulation, s->options->formulation->name) == 0) c = &rates[k];
  if (strcmp(c->formulation, "hybrid") == 0 && hybrid_contact_method(s, s->options->solver->hybrid) == HYBRID_CONTACT_IMPULSES)
    c = &impulse_rates[v3_norm(s->gravity) > 0.0];
  out->units   = count_units(s);
  out->memory  = program_memory + c->memory_factor * (double)memory_live();
  out->seconds = t->end / t->step * (c->step_seconds + c->unit_seconds * out->units);
}

void run_estimate_print(const run *r, FILE *out)
{
  run_estimate e;
  char         duration[40];
  run_estimate_of(r, &e);
  const double s = e.seconds;
  if (s < 120.0) snprintf(duration, sizeof duration, "%.2g s", s);
  else if (s < 7200.0) snprintf(duration, sizeof duration, "%.2g min", s / 60.0);
  else if (s < 172800.0) snprintf(duration, sizeof duration, "%.2g h", s / 3600.0);
  else snprintf(duration, sizeof duration, "%.2g days", s / 86400.0);
  fprintf(out, "  estimate, within a factor of 3: %.2g MB of memory, %s of CPU time on one core\n", 1e-6 * e.memory, duration);
}
