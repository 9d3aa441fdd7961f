/* How a body of particles has come apart: particles closer to each other than a radius hang together. */
#include "core/memory.h"
#include "discretize/particles/particles.h"
#include "sim/measure/measure_quantity.h"
#include "sim/scene/scene.h"
#include <stdlib.h>
#include <string.h>

/* A particle in the cell, of edges `radius`, that it is in. */
typedef struct {
  int64_t cell[3], particle;
} place;

static int compare_cells(const int64_t a[3], const int64_t b[3])
{
  for (int q = 0; q < 3; ++q)
    if (a[q] != b[q]) return a[q] < b[q] ? -1 : 1;
  return 0;
}

static int compare(const void *a, const void *b)
{
  const place *p = a, *q = b;
  const int    by_cell = compare_cells(p->cell, q->cell);
  return by_cell ? by_cell : (p->particle > q->particle) - (p->particle < q->particle);
}

/* Who stands for the piece that i is of; the way there is made shorter. */
static int64_t find(int64_t *up, int64_t i)
{
  while (up[i] != i) i = up[i] = up[up[i]];
  return i;
}

/* Join the particle at `from` with those of a cell that are after it and no farther than the radius. */
static void join(const particles *p, const place *from, const place *all, int64_t n, const int64_t cell[3], double radius, int64_t *up)
{
  const int64_t i   = from->particle;
  int64_t       low = 0, high = n;
  while (low < high) {
    const int64_t middle = (low + high) / 2;
    if (compare_cells(all[middle].cell, cell) < 0) low = middle + 1;
    else high = middle;
  }
  for (; low < n && compare_cells(all[low].cell, cell) == 0; ++low) {
    const int64_t j = all[low].particle;
    double        sum = 0.0;
    for (int q = 0; q < 3; ++q) sum += (p->x[q][i] - p->x[q][j]) * (p->x[q][i] - p->x[q][j]);
    if (sum <= radius * radius) up[find(up, i)] = find(up, j);
  }
}

PetscErrorCode measure_largest_piece(const measure_moment *now, measure *k, double *value)
{
  const particles *p      = particles_of(measure_body_of(now, k));
  const double     radius = k->spec->radius;
  place           *at     = NULL;
  int64_t         *up     = NULL;
  double          *mass   = NULL, all = 0.0, most = 0.0;
  PetscFunctionBegin;
  PetscErrorCode code = memory_alloc("pieces", p->n, sizeof *at, &at);
  if (!code) code = memory_alloc("pieces", p->n, sizeof *up, &up);
  if (!code) code = memory_alloc("pieces", p->n, sizeof *mass, &mass);
  for (int64_t i = 0; i < p->n && !code; ++i) {
    up[i] = at[i].particle = i;
    for (int q = 0; q < 3; ++q) at[i].cell[q] = (int64_t)fmax(-1e18, fmin(1e18, floor(p->x[q][i] / radius)));
  }
  if (!code && p->n > 0) {
    qsort(at, (size_t)p->n, sizeof *at, compare);
    for (int64_t l = 0; l < p->n; ++l)
      for (int c = 0; c < 27; ++c) {
        const int64_t cell[3] = {at[l].cell[0] + c / 9 - 1, at[l].cell[1] + c / 3 % 3 - 1, at[l].cell[2] + c % 3 - 1};
        if (compare_cells(cell, at[l].cell) >= 0) join(p, &at[l], at, p->n, cell, radius, up);
      }
    for (int64_t i = 0; i < p->n; ++i) all += p->mass[i], mass[find(up, i)] += p->mass[i];
    for (int64_t i = 0; i < p->n; ++i) most = fmax(most, mass[i]);
    *value = most / all;
  }
  memory_free(&at), memory_free(&up), memory_free(&mass);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
