#include "sim/step/step_finders.h"
#include "contact/detection/contact_detectors.h"

enum { NAMED = 3 }; /* pairs that are named, of each */

/* Of one finder: its pairs are counted, and the first of them named. */
static void describe_finder(const scene *s, contact_finder finder, FILE *out)
{
  int64_t n = 0;
  for (int i = 0; i < s->n_bodies; ++i)
    for (int j = i; j < s->n_bodies; ++j) {
      const scene_body *a = &s->bodies[i], *b = &s->bodies[j];
      if (s->laws[i * s->n_bodies + j].never_touch || !(contact_finders_of(a->body, b->body) & 1u << finder)) continue;
      if (++n == 1) fprintf(out, "  %-27s %s and %s", contact_finder_text(finder), a->name, i == j ? "itself" : b->name);
      else if (n <= NAMED) fprintf(out, ", %s and %s", a->name, i == j ? "itself" : b->name);
    }
  if (n > NAMED) fprintf(out, ", %lld more", (long long)n - NAMED);
  if (n > 0) fprintf(out, "\n");
}

PetscErrorCode step_finders_describe(const scene *s, FILE *out)
{
  PetscFunctionBegin;
  for (int finder = 0; finder < CONTACT_N_FINDERS; ++finder) describe_finder(s, (contact_finder)finder, out);
  PetscFunctionReturn(PETSC_SUCCESS);
}
