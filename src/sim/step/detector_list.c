/* Implementation: one loop over all pairs per line. */
#include "sim/step/detector_list.h"

enum { NAMED = 3 }; /* pairs named per line */

static void print_line(const detector_list *d, const scene *s, int detector, FILE *out)
{
  int64_t     n    = 0;
  const char *text = detector < d->n ? d->text[detector] : "none";
  for (int i = 0; i < s->n_bodies; ++i)
    for (int j = i; j < s->n_bodies; ++j) {
      const contact_law *law = scene_law(s, i, j);
      const scene_body  *a = &s->bodies[i], *b = &s->bodies[j];
      if (law->never_touch || law->stiffness == 0.0) continue;
      const unsigned found = d->of(s, i, j);
      if (detector < d->n ? !(found & 1u << detector) : found != 0) continue;
      if (++n == 1) fprintf(out, "  %-27s %s and %s", text, a->name, i == j ? "itself" : b->name);
      else if (n <= NAMED) fprintf(out, ", %s and %s", a->name, i == j ? "itself" : b->name);
    }
  if (n > NAMED) fprintf(out, ", %lld more", (long long)n - NAMED);
  if (n > 0) fprintf(out, "\n");
}

void detector_list_print(const detector_list *d, const scene *s, FILE *out)
{
  for (int detector = 0; detector <= d->n; ++detector) print_line(d, s, detector, out);
}
