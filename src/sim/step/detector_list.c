/* Implementation: one loop over the pairs of classes per line. */
#include "sim/step/detector_list.h"
#include "core/memory.h"

enum { NAMED = 3 }; /* pairs named per line */

typedef struct {
  const scene *s;
  const char  *text;
  int          n;
  FILE        *out;
} line;

static bool print_pair(void *context, int32_t i, int32_t j)
{
  line *l = context;
  if (++l->n == 1) fprintf(l->out, "  %-27s", l->text);
  fprintf(l->out, "%s %s and %s", l->n == 1 ? "" : ",", l->s->bodies[i].name, i == j ? "itself" : l->s->bodies[j].name);
  return l->n < NAMED;
}

/* Pairs of a slot with i <= j: a slot and the one of the reverse order have the same pairs. */
static int64_t count_unordered(const scene *s, int64_t slot)
{
  int32_t of[2];
  if (!pair_example(s->pairs, s->n_bodies, slot, of)) return 0;
  const int64_t back = pair_slot(s->pairs, s->n_bodies, of[1], of[0]);
  if (back != slot) return back > slot ? s->pairs->count[slot] : 0;
  return of[0] == of[1] ? s->pairs->count[slot] : s->pairs->count[slot] / 2;
}

/* found [n_slots]: detectors of the pairs of each slot; is_listed [n_slots]: work space. */
static void print_line(const detector_list *d, const scene *s, int detector, const unsigned *found, bool *is_listed, FILE *out)
{
  int64_t n = 0;
  line    l = {s, detector < d->n ? d->text[detector] : "none", 0, out};
  for (int64_t k = 0; k < s->pairs->n_slots; ++k) {
    is_listed[k] = s->pairs->count[k] > 0 && !s->laws[k].never_touch && s->laws[k].stiffness != 0.0 &&
                   (detector < d->n ? (found[k] & 1u << detector) != 0 : found[k] == 0);
    if (is_listed[k]) n += count_unordered(s, k);
  }
  pair_classes_visit(s->pairs, is_listed, print_pair, &l);
  if (n > NAMED) fprintf(out, ", %lld more", (long long)n - NAMED);
  if (n > 0) fprintf(out, "\n");
}

PetscErrorCode detector_list_print(const detector_list *d, const scene *s, FILE *out)
{
  unsigned *found;
  bool     *is_listed;
  PetscFunctionBegin;
  PetscCall(MEMORY_ALLOC("contact detectors", ARRAY(found, s->pairs->n_slots), ARRAY(is_listed, s->pairs->n_slots)));
  for (int64_t k = 0; k < s->pairs->n_slots; ++k) {
    int32_t of[2];
    if (!pair_example(s->pairs, s->n_bodies, k, of) || s->laws[k].never_touch || s->laws[k].stiffness == 0.0) continue;
    found[k] = d->of(s, of[0] < of[1] ? of[0] : of[1], of[0] < of[1] ? of[1] : of[0]);
  }
  for (int detector = 0; detector <= d->n; ++detector) print_line(d, s, detector, found, is_listed, out);
  MEMORY_FREE(&found, &is_listed);
  PetscFunctionReturn(PETSC_SUCCESS);
}
