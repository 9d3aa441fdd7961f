#include "app/run/run_tally.h"
#include <math.h>
#include <string.h>
#include "core/timer.h"

void run_tally_begin(run_tally *t)
{
  memset(t, 0, sizeof *t);
  t->user_seconds = timer_user_seconds();
}

void run_tally_add(run_tally *t, double dt, const step_report *report, int64_t n_retries)
{
  const contact_summary *c = &report->contact;
  ++t->n_steps;
  t->n_retries += n_retries;
  t->seconds += dt;
  t->newton += report->newton_iterations;
  t->linear += report->linear_iterations;
  t->evaluations += report->evaluations;
  t->friction += report->friction.iterations;
  t->solved_steps += report->friction.n_contacts > 0;
  if (report->newton_iterations > t->most_newton) t->most_newton = report->newton_iterations;
  t->contacts += c->n_active;
  if (c->n_active > t->most_contacts) t->most_contacts = c->n_active;
  t->max_penetration = fmax(t->max_penetration, c->max_penetration);
  t->n_unsolved += report->is_unsolved;
  if (report->is_unsolved) t->most_left = fmax(t->most_left, report->residual);
  relax_statistics_merge(&t->relaxations, &c->relaxations);
}

static void print_relaxations(const relax_statistics *s, FILE *out)
{
  char text[32];
  if (s->n == 0) return;
  fprintf(out, "%-22s %lld, %.4f %% ended where they began, most places %lld, given up %lld\n", "relaxations", (long long)s->n,
          100.0 * (double)s->n_at_start / (double)s->n, (long long)s->longest, (long long)s->n_capped);
  for (int i = 0; i < s->n_chains; ++i) {
    relax_chain_text(s->kind[i].chain, text);
    fprintf(out, "  %-20s %lld\n", text, (long long)s->kind[i].n);
  }
  if (s->n_other > 0) fprintf(out, "  %-20s %lld\n", "other", (long long)s->n_other);
}

void run_tally_print(const run_tally *t, const char *outer, const char *inner, FILE *out)
{
  if (t->n_steps == 0) return;
  const double n = (double)t->n_steps, user = timer_user_seconds() - t->user_seconds;
  fprintf(out, "%-22s %.6g s in %lld steps, %lld retries\n", "simulated", t->seconds, (long long)t->n_steps, (long long)t->n_retries);
  fprintf(out, "%-22s %.3f s, %.4g s for every 1/24 s simulated\n", "user CPU time", user, user / (24.0 * t->seconds));
  char         name[40];
  snprintf(name, sizeof name, "%s iterations", outer);
  fprintf(out, "%-22s %.3f a step, most %lld\n", name, (double)t->newton / n, (long long)t->most_newton);
  snprintf(name, sizeof name, "%s iterations", inner);
  if (t->solved_steps > 0) fprintf(out, "%-22s %.2f a step with contacts\n", name, (double)t->friction / (double)t->solved_steps);
  else fprintf(out, "%-22s %.2f a step\n", name, (double)t->linear / n);
  fprintf(out, "%-22s %.2f a step\n", "evaluations", (double)t->evaluations / n);
  if (t->n_unsolved > 0)
    fprintf(out, "%-22s %lld steps, with a residual of up to %.3g, above solver.newton.tolerance\n", "not quite solved",
            (long long)t->n_unsolved, t->most_left);
  fprintf(out, "%-22s %.1f in the mean, most %lld\n", "contacts", (double)t->contacts / n, (long long)t->most_contacts);
  fprintf(out, "%-22s %.4g m\n", "deepest penetration", t->max_penetration);
  print_relaxations(&t->relaxations, out);
  fputc('\n', out);
}
