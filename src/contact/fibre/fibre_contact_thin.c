#include "contact/fibre/fibre_contact_internal.h"
#include "core/memory.h"
#include <stdlib.h>

enum { SERIAL_LIMIT = 512 };

typedef struct fibre_item {
  int32_t strand, spot;
  double  arc[2], distance; /* distance: how near, to tell who stays; later -1: who does */
  int32_t place;
} fibre_item;

static int by_place(const void *a, const void *b)
{
  const fibre_item *p = a, *q = b;
  if (p->strand != q->strand) return p->strand < q->strand ? -1 : 1;
  if (p->arc[0] != q->arc[0]) return p->arc[0] < q->arc[0] ? -1 : 1;
  return p->spot - q->spot;
}

static int by_distance(const void *a, const void *b)
{
  const fibre_item *p = a, *q = b;
  if (p->distance != q->distance) return p->distance < q->distance ? -1 : 1;
  return p->spot - q->spot;
}

static int by_name(const void *a, const void *b) { return fibre_spot_compare(a, b); }

/* Is one that stays within `near` of item k, in a row sorted by arc[0]? */
static bool has_neighbour(const fibre_item *item, const uint8_t *stays, int64_t n, int64_t k, double near)
{
  for (int step = -1; step <= 1; step += 2)
    for (int64_t j = k + step; j >= 0 && j < n && fabs(item[j].arc[0] - item[k].arc[0]) < near; j += step)
      if (stays[item[j].spot] && fabs(item[j].arc[1] - item[k].arc[1]) < near) return true;
  return false;
}

/* Items of two strands, sorted by place; order: room for n. Nearest first, each stays unless one that does is near. */
static void thin_group(const fibre_contact *c, int64_t n, const fibre_item *item, fibre_item *order, uint8_t *stays)
{
  for (int64_t k = 0; k < n; ++k) {
    order[k]            = item[k];
    order[k].place      = (int32_t)k;
    stays[item[k].spot] = n == 1;
  }
  if (n == 1) return;
  qsort(order, (size_t)n, sizeof *order, by_distance);
  for (int64_t k = 0; k < n; ++k) {
    const int32_t *segment = c->spot[order[k].spot].segment;
    const double   near    = 0.5 * (c->radius[segment[0]] + c->radius[segment[1]]);
    stays[order[k].spot]   = !has_neighbour(item, stays, n, order[k].place, near);
  }
}

static void thin_strand(const fibre_contact *c, int64_t first, int64_t end, fibre_item *item, fibre_item *order, uint8_t *stays)
{
  for (int64_t k = first; k < end; ++k) {
    const fibre_spot *p = &c->spot[k];
    item[k]             = (fibre_item){.strand = c->strand[p->segment[1]], .spot = (int32_t)k, .distance = p->gap};
    for (int e = 0; e < 2; ++e) item[k].arc[e] = fibre_arc(c, p->segment[e], p->at[e]);
  }
  qsort(item + first, (size_t)(end - first), sizeof *item, by_place);
  for (int64_t k = first, last; k < end; k = last) {
    for (last = k + 1; last < end && item[last].strand == item[k].strand; ++last) {}
    thin_group(c, last - k, item + k, order + k, stays);
  }
}

PetscErrorCode fibre_contact_thin(fibre_contact *c)
{
  const int64_t n         = c->n_spots;
  bool          is_sorted = true;
  PetscFunctionBegin;
  PetscCall(memory_reserve("fibre contacts", 2 * n, sizeof *c->item, &c->item_capacity, &c->item));
  PetscCall(memory_reserve("fibre contacts", n, sizeof *c->flags, &c->pair_capacity, &c->flags));
  PetscCall(memory_reserve("fibre contacts", n + 1, sizeof *c->start, &c->start_capacity, &c->start));
  int64_t n_strands = 0;
  for (int64_t k = 0; k < n; ++k)
    if (k == 0 || c->strand[c->spot[k].segment[0]] != c->strand[c->spot[k - 1].segment[0]]) c->start[n_strands++] = k;
  c->start[n_strands] = n;
#pragma omp parallel for schedule(dynamic, 16) if (n > SERIAL_LIMIT)
  for (int64_t k = 0; k < n_strands; ++k) thin_strand(c, c->start[k], c->start[k + 1], c->item, c->item + n, c->flags);
  int64_t left = 0;
  for (int64_t k = 0; k < n; ++k)
    if (c->flags[k]) {
      c->spot[left++] = c->spot[k];
      is_sorted &= left < 2 || fibre_spot_compare(&c->spot[left - 2], &c->spot[left - 1]) < 0;
    }
  if (!is_sorted) qsort(c->spot, (size_t)left, sizeof *c->spot, by_name);
  c->n_spots = left > 0;
  for (int64_t k = 1; k < left; ++k)
    if (fibre_spot_compare(&c->spot[k], &c->spot[c->n_spots - 1]) != 0) c->spot[c->n_spots++] = c->spot[k];
  PetscFunctionReturn(PETSC_SUCCESS);
}
