/* Contact points are sorted by position; sums run in that order. */
#include "sim/measure/patch.h"
#include <stdlib.h>
#include "core/math3.h"
#include "core/memory.h"

typedef struct {
  double place, force;
} share;

static bool is_meant(const contact_points_view *p, int64_t i, int on, int from)
{
  const int a = p->source_body[i], b = p->object_body[i];
  return (a == on && (from < 0 || b == from)) || (b == on && (from < 0 || a == from));
}

static double normal_force(const contact_points_view *p, int64_t i) { return fabs(v3_dot(p->force + 3 * i, p->normal + 3 * i)); }

static double place_of(const patch_frame *f, const double *x)
{
  double d[3];
  if (!f->is_round) return v3_dot(f->along, x);
  v3_sub(d, x, f->point);
  v3_axpy(d, -v3_dot(d, f->up), f->up);
  return v3_norm(d);
}

/* Ties are sorted by force, so that the result depends only on the set of shares. */
static int compare(const void *a, const void *b)
{
  const share *s = a, *t = b;
  if (s->place != t->place) return s->place < t->place ? -1 : 1;
  return (s->force > t->force) - (s->force < t->force);
}

PetscErrorCode patch_extent(const contact_points_view *p, const patch_frame *f, double fraction, double *value)
{
  share  *s;
  int64_t n = 0, i = 0;
  double  total = 0.0, sum = 0.0, last = 0.0;
  PetscFunctionBegin;
  *value = NAN;
  PetscCall(memory_alloc("contact patch", p->n, sizeof *s, &s));
  for (int64_t k = 0; k < p->n; ++k)
    if (is_meant(p, k, f->on, f->from)) s[n++] = (share){place_of(f, p->position + 3 * k), normal_force(p, k)};
  if (n > 0) qsort(s, (size_t)n, sizeof *s, compare);
  for (int64_t k = 0; k < n; ++k) total += s[k].force;
  for (; i < n; ++i) { /* the first point whose middle is beyond; `last`: the middle of the previous one */
    const double middle = sum + 0.5 * s[i].force;
    if (middle >= fraction * total) {
      const double t = i > 0 && middle > last ? (fraction * total - last) / (middle - last) : 1.0;
      *value         = i > 0 ? s[i - 1].place + t * (s[i].place - s[i - 1].place) : s[0].place;
      break;
    }
    sum += s[i].force, last = middle;
  }
  if (i == n && n > 0) *value = s[n - 1].place;
  memory_free(&s);
  PetscFunctionReturn(PETSC_SUCCESS);
}

double patch_sticking(const contact_points_view *p, int on, int from)
{
  double sticking = 0.0, total = 0.0;
  for (int64_t i = 0; i < p->n; ++i) {
    if (!is_meant(p, i, on, from)) continue;
    total += normal_force(p, i);
    if (!p->is_sliding[i]) sticking += normal_force(p, i);
  }
  return sticking / total;
}

void patch_force(const contact_points_view *p, int on, int from, bool is_normal, double force[3])
{
  v3_set(force, 0.0, 0.0, 0.0);
  for (int64_t i = 0; i < p->n; ++i) {
    const double *f = p->force + 3 * i, *n = p->normal + 3 * i;
    double        part[3] = {0.0, 0.0, 0.0};
    if (!is_meant(p, i, on, from) || p->source_body[i] == p->object_body[i]) continue; /* internal forces of a body sum to zero */
    v3_axpy(part, v3_dot(f, n), n);
    if (!is_normal) v3_sub(part, f, part);
    v3_axpy(force, p->source_body[i] == on ? 1.0 : -1.0, part);
  }
}

int64_t patch_count(const contact_points_view *p, int on, int from)
{
  int64_t n = 0;
  for (int64_t i = 0; i < p->n; ++i) n += is_meant(p, i, on, from);
  return n;
}
