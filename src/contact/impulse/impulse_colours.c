/* Pairs in an order that a team can take: of one colour no two share a unit that moves. Colours are given greedily in the order of
 * the pairs, so that the order depends on the pairs alone. Pairs on a body with more contacts than there are colours come last. */
#include "contact/impulse/impulses_internal.h"
#include "core/memory.h"

enum { LAST = IMPULSE_COLOURS - 1 };

static int units_of(const impulses *a, const meeting *m, int32_t unit[4])
{
  int n = 0;
  for (int k = 0; k < (m->kind == MEETING_POINT_WALL ? 1 : 4); ++k)
    if (!a->is_held[m->node[k]]) unit[n++] = a->unit[m->node[k]];
  return n;
}

PetscErrorCode impulse_colour(impulses *a, int64_t *start)
{
  int64_t count[IMPULSE_COLOURS] = {0};
  int32_t unit[4];
  PetscFunctionBegin;
  PetscCall(memory_reserve("order of pairs", a->n, sizeof *a->order, &a->n_order, &a->order));
  PetscCall(memory_reserve("colours of pairs", a->n, sizeof *a->colour, &a->n_colour, &a->colour));
  for (int64_t i = 0; i < a->n; ++i) {
    const int n    = units_of(a, &a->found[i], unit);
    uint64_t  used = 0;
    for (int k = 0; k < n; ++k) used |= a->used[unit[k]];
    const uint64_t left = ~used & ~(UINT64_C(1) << LAST);
    const int      c    = left ? __builtin_ctzll(left) : LAST;
    for (int k = 0; k < n; ++k) a->used[unit[k]] |= UINT64_C(1) << c;
    a->colour[i] = c;
    ++count[c];
  }
  start[0] = 0;
  for (int c = 0; c < IMPULSE_COLOURS; ++c) start[c + 1] = start[c] + count[c], count[c] = start[c];
  for (int64_t i = 0; i < a->n; ++i) {
    const int n = units_of(a, &a->found[i], unit);
    for (int k = 0; k < n; ++k) a->used[unit[k]] = 0;
    a->order[count[a->colour[i]]++] = (int32_t)i;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
