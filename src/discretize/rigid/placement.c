/* Implementation of placement.h: lattice sites, and random sequential addition with a hash table of cells per size class. */
#include "discretize/rigid/placement.h"
#include "core/math3.h"
#include "core/memory.h"
#include "core/random.h"
#include <stdlib.h>

enum { STREAM_JITTER = 0x1a77, STREAM_POSITION = 0x9051710, N_ATTEMPTS = 20000, MOST_CLASSES = 64 };
static const double ROUNDING = 1e-9; /* relative to the size of a body: bodies may touch the border of the region */

/* ==== lattice ==== */

static bool is_inside(const placement *o, const double x[3], double size)
{
  const double tolerance = ROUNDING * o->radius * size;
  if (level_set_value(o->region, x) <= -o->radius * size + tolerance) return true;
  for (int64_t i = 0; i < o->n_points; ++i) {
    double at[3];
    v3_copy(at, x);
    v3_axpy(at, size, o->point + 3 * i);
    if (level_set_value(o->region, at) > tolerance) return false;
  }
  return o->n_points > 0;
}

PetscErrorCode placement_lattice(const placement *o, double largest, placement_size size, const void *context, int64_t most, int64_t *n,
                                 double **x)
{
  /* Without shifts, the gap is needed between bodies only, not at the border of the region. */
  const double beyond = o->jitter > 0.0 ? 0.0 : o->gap;
  double       cell[3], corner[3], total = 1.0;
  int64_t      layers[3], capacity = 0;
  PetscFunctionBegin;
  *n = 0, *x = NULL;
  for (int k = 0; k < 3; ++k) {
    const double extent = o->max[k] - o->min[k] + beyond;
    cell[k]             = largest * (o->upper[k] - o->lower[k]) + o->gap;
    const double count  = floor(fmin(extent / cell[k] * (1.0 + ROUNDING), 1e12));
    layers[k]           = (int64_t)count;
    total *= count;
    corner[k] = o->min[k] - 0.5 * beyond + (k < 2 ? 0.5 * (extent - count * cell[k]) : 0.0); /* centred, but on the floor */
  }
  PetscCheck(total < 0x1p30, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "the lattice would have %.2g cells; choose larger bodies or a larger gap", total);
  for (int64_t site = 0; site < (int64_t)total && *n < most; ++site) {
    const int64_t at[3] = {site % layers[0], site / layers[0] % layers[1], site / (layers[0] * layers[1])};
    const double  scale = size(context, *n);
    double        p[3], shifted[3];
    for (int k = 0; k < 3; ++k) {
      const double free_half = 0.5 * fmax(0.0, cell[k] - scale * (o->upper[k] - o->lower[k]));
      p[k]                   = corner[k] + ((double)at[k] + 0.5) * cell[k] - 0.5 * scale * (o->upper[k] + o->lower[k]);
      shifted[k]             = p[k] + o->jitter * free_half * random_range(o->seed, (uint64_t)site, STREAM_JITTER + (uint64_t)k, -1.0, 1.0);
    }
    const double *place = is_inside(o, shifted, scale) ? shifted : p;
    if (place == p && !is_inside(o, p, scale)) continue;
    PetscCall(memory_reserve("lattice", 3 * (*n + 1), sizeof **x, &capacity, x));
    v3_copy(*x + 3 * (*n)++, place);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ==== random positions ==== */

/* Bodies by cell: chains of bodies with the same slot of the hash table. Class c contains the bodies with radii above half of reach[c]. */
typedef struct {
  const placement *o;
  const double    *x, *size;
  int              n_classes;
  double           reach[MOST_CLASSES], cell[MOST_CLASSES]; /* largest radius of the class, and its cell size [m] */
  int64_t          mask;
  int32_t         *first, *next; /* body + 1; 0: none */
} cell_table;

static int64_t slot_of(const cell_table *t, int class_of, const int64_t cell[3])
{
  uint64_t h = (uint64_t)class_of;
  for (int k = 0; k < 3; ++k) h = (h ^ (uint64_t)cell[k]) * 0x9E3779B97F4A7C15ULL, h ^= h >> 32;
  return (int64_t)(h & (uint64_t)t->mask);
}

static void cell_of(const cell_table *t, int class_of, const double x[3], int64_t cell[3])
{
  for (int k = 0; k < 3; ++k) cell[k] = (int64_t)floor((x[k] - t->o->min[k]) / t->cell[class_of]);
}

/* True if no body closer than the gap is in the table. All bodies in it are at least as large as this one of radius r. */
static bool has_room(const cell_table *t, const double x[3], double r)
{
  for (int c = 0; c < t->n_classes; ++c) {
    int64_t cell[3];
    cell_of(t, c, x, cell);
    for (int q = 0; q < 27; ++q) {
      const int64_t near[3] = {cell[0] + q / 9 - 1, cell[1] + q / 3 % 3 - 1, cell[2] + q % 3 - 1};
      for (int32_t i = t->first[slot_of(t, c, near)]; i; i = t->next[i - 1]) {
        double       d[3];
        const double least = r + t->o->radius * t->size[i - 1] + t->o->gap;
        v3_sub(d, x, t->x + 3 * (int64_t)(i - 1));
        if (v3_dot(d, d) < least * least) return false;
      }
    }
  }
  return true;
}

static void add_body(cell_table *t, int32_t i)
{
  const double r = t->o->radius * t->size[i];
  int64_t      cell[3];
  if (t->n_classes == 0 || (r <= 0.5 * t->reach[t->n_classes - 1] && t->n_classes < MOST_CLASSES)) {
    t->reach[t->n_classes]  = r;
    t->cell[t->n_classes++] = 2.0 * r + t->o->gap;
  }
  cell_of(t, t->n_classes - 1, t->x + 3 * (int64_t)i, cell);
  const int64_t slot = slot_of(t, t->n_classes - 1, cell);
  t->next[i]         = t->first[slot];
  t->first[slot]     = i + 1;
}

typedef struct {
  double  size;
  int32_t body;
} sized;

static int compare_sizes(const void *a, const void *b)
{
  const sized *p = a, *q = b;
  if (p->size != q->size) return p->size > q->size ? -1 : 1;
  return (p->body > q->body) - (p->body < q->body);
}

static bool find_position(const cell_table *t, int32_t i, double x[3])
{
  const placement *o = t->o;
  const double     r = o->radius * t->size[i];
  for (int attempt = 0; attempt < N_ATTEMPTS; ++attempt) {
    uint64_t one[2], two[2];
    random_bits(o->seed, (uint64_t)i, STREAM_POSITION + 2 * (uint64_t)attempt, one);
    random_bits(o->seed, (uint64_t)i, STREAM_POSITION + 2 * (uint64_t)attempt + 1, two);
    const double u[3] = {random_unit_interval(one[0]), random_unit_interval(one[1]), random_unit_interval(two[0])};
    for (int k = 0; k < 3; ++k) x[k] = o->min[k] + r + u[k] * (o->max[k] - o->min[k] - 2.0 * r);
    if (level_set_value(o->region, x) <= -r * (1.0 - ROUNDING) && has_room(t, x, r)) return true;
  }
  return false;
}

PetscErrorCode placement_random(const placement *o, int64_t n, const double *size, double *x, int64_t *n_placed)
{
  cell_table t = {.o = o, .x = x, .size = size, .mask = 1};
  sized     *order;
  PetscFunctionBegin;
  PetscCheck(n < INT32_MAX / 2, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%lld bodies: at most 1e9 are possible", (long long)n);
  while (t.mask < 4 * n) t.mask *= 2;
  PetscCall(MEMORY_ALLOC("placement", ARRAY(order, n), ARRAY(t.next, n), ARRAY(t.first, t.mask)));
  --t.mask;
  for (int64_t i = 0; i < n; ++i) order[i] = (sized){size[i], (int32_t)i};
  qsort(order, (size_t)n, sizeof *order, compare_sizes);
  for (*n_placed = 0; *n_placed < n; ++*n_placed) {
    const int32_t i = order[*n_placed].body;
    if (!find_position(&t, i, x + 3 * (int64_t)i)) break;
    add_body(&t, i);
  }
  MEMORY_FREE(&order, &t.next, &t.first);
  PetscFunctionReturn(PETSC_SUCCESS);
}
