/* Estimate of memory and CPU time, see run_estimate.h. */
#include "app/run/run_estimate.h"
#include <string.h>
#include "core/math3.h"
#include "core/memory.h"
#include "discretize/particles/particles.h"
#include "discretize/rigid/rigid_body.h"
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
  double      body_bytes, contact_bytes; /* work arrays of a step, see below; 0: unknown */
} rate;
static const rate rates[]         = {{"penalty", 7.0, 5e-4, 8.5e-6, 6.2e3, 4.0e3},
                                     {"exact", 2.0, 5e-4, 1.2e-5, 6.2e3, 4.0e3},
                                     {"convex", 10.0, 5e-4, 7e-5, 6.2e3, 2.2e4},
                                     {"hybrid", 2.0, 5e-4, 5.5e-6, 0.0, 0.0},
                                     {"monolith", 8.0, 1e-2, 1.85e-5, 0.0, 0.0}};
static const rate impulse_rates[] = {{"hybrid", 2.0, 5e-4, 6e-6, 0.0, 0.0},
                                     {"hybrid", 2.0, 5e-4, 2.3e-5, 0.0, 0.0}}; /* contact: impulses; [1]: with gravity */
/* body_bytes, contact_bytes: peak of all arrays in 4 steps of a lattice of balls in a box, 1,000 and 3,000 balls, without contacts and with 2.2 contacts per
 * ball (November 2026, x86-64):
 *   exact     9.8 kB per ball, of which 3.6 kB exist at the start; 18.4 kB with contacts
 *   penalty   with sweeps as exact: 500 balls with 1,468 contacts have 10.7 MB
 *   convex    9.7 kB per ball, of which 3.6 kB exist at the start; 22 kB per contact (1,000 balls), 54 kB (3,000 balls, with the factor) */
static const double program_memory = 45e6; /* [byte] of a run with few bodies */

static const double fixed_arrays = 2.9e6; /* [byte] of a run with one ball: the work space of contact detection */
enum { FEWEST_BODIES = 100 };             /* for fewer ones, other arrays are a large part of the memory per body */
/* Contacts divided by bodies, for balls with friction at rest in a pile; 4.7 to 5.1 for boxes. Check: a run of 100,000 balls under exact, with up to
 * 1.65 contacts per ball, had a peak of 2.45 GB. */
static const double contacts_per_body = 2.4;

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

/* Arrays per rigid body. NaN: there are none, or others have unknowns. */
static double rigid_body_arrays(const run *r)
{
  const scene *s = run_scene(r);
  int          n = 0;
  for (int i = 0; i < s->n_bodies; ++i) {
    if (rigid_body_dynamic(s->bodies[i].body)) ++n;
    else if (body_system(s->bodies[i].body)) return NAN;
  }
  return n > 0 ? ((double)(memory_live() - run_memory_before(r)) - fixed_arrays) / n : NAN;
}

/* Piles: the numbers per body and contact are known. */
static bool has_many_bodies(const run_estimate *e)
{
  return isfinite(e->rigid_body) && isfinite(e->contact) && e->units >= 20.0 * FEWEST_BODIES;
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
  out->units      = count_units(s);
  out->memory     = program_memory + c->memory_factor * (double)memory_live();
  out->seconds    = t->end / t->step * (c->step_seconds + c->unit_seconds * out->units);
  out->rigid_body = c->body_bytes > 0.0 ? rigid_body_arrays(r) + c->body_bytes : NAN;
  out->contact    = c->contact_bytes > 0.0 ? c->contact_bytes : NAN;
  if (has_many_bodies(out))
    out->memory = program_memory + fixed_arrays + out->units / 20.0 * (out->rigid_body + contacts_per_body * out->contact);
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
  if (has_many_bodies(&e))
    fprintf(out, "  memory of arrays: %.2g kB per rigid body, about %.2g kB per contact%s\n", 1e-3 * e.rigid_body, 1e-3 * e.contact,
            strcmp(run_scene(r)->options->formulation->name, "convex") == 0 ? " and more with many contacts" : "");
  fprintf(out, "  estimate, within a factor of 3: %.2g MB of memory, %s of CPU time on one core\n", 1e-6 * e.memory, duration);
}
