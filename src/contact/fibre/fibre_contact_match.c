#include "contact/fibre/fibre_contact_internal.h"
#include "core/math3.h"
#include "core/memory.h"
#include <string.h>

/* First of the spots [n] whose segments are not below a, b. */
static int64_t lower_bound(int64_t n, const fibre_spot *spot, int32_t a, int32_t b)
{
  int64_t lo = 0, hi = n;
  while (lo < hi) {
    const int64_t  mid = lo + (hi - lo) / 2;
    const int32_t *s   = spot[mid].segment;
    if (s[0] < a || (s[0] == a && s[1] < b))
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo;
}

/* Along strand k, wherever that begins. */
static double way(const fibre_contact *c, const fibre_spot *p, const fibre_spot *q, int k)
{
  return fibre_arc_between(c, p->segment[k], p->at[k], q->segment[k], q->at[k]);
}

/* The nearest of `last` on the same or neighbouring segments that is not taken (NULL: none is), no farther along either strand than
 * the longer segment of the spot; -1. wants_side: with a normal to the same side. */
static int64_t nearest_of(const fibre_contact *c, int64_t n_last, const fibre_spot *last, const uint8_t *taken, const fibre_spot *p,
                          bool wants_side)
{
  const int32_t a[3]  = {p->segment[0], c->previous[p->segment[0]], c->next[p->segment[0]]};
  const int32_t b[3]  = {p->segment[1], c->previous[p->segment[1]], c->next[p->segment[1]]};
  double        best  = fmax(c->arc[a[0] + 1] - c->arc[a[0]], c->arc[b[0] + 1] - c->arc[b[0]]);
  int64_t       found = -1;
  for (int k = 0; k < 9; ++k) {
    const int32_t i = a[k / 3], j = b[k % 3];
    if (i < 0 || j < 0) continue;
    for (int64_t q = lower_bound(n_last, last, i, j); q < n_last && last[q].segment[0] == i && last[q].segment[1] == j; ++q) {
      if ((taken && taken[q]) || (wants_side && !(v3_dot(last[q].normal, p->normal) > 0.0))) continue;
      const double d = fmax(way(c, p, &last[q], 0), way(c, p, &last[q], 1));
      if (d < best || (d == best && found < 0)) best = d, found = q;
    }
  }
  return found;
}

void fibre_contact_keep_sides(const fibre_contact *c, int64_t n_last, const fibre_spot *last, int64_t n, fibre_spot *spot)
{
  for (int64_t k = 0; k < n; ++k) {
    fibre_spot  *p     = &spot[k];
    const double radii = c->radius[p->segment[0]] + c->radius[p->segment[1]];
    if (p->is_swept || !(p->gap < 0.0)) continue;
    const int64_t was = nearest_of(c, n_last, last, NULL, p, false);
    if (was < 0 || !(fmin(p->gap, last[was].gap) < -0.5 * radii) || !(v3_dot(p->normal, last[was].normal) < 0.0)) continue;
    v3_scale(p->normal, -1.0, p->normal);
    p->gap = -(p->gap + radii) - radii;
  }
}

static bool has_near(const fibre_contact *c, int64_t n_found, const fibre_spot *found, const fibre_spot *p)
{
  const int32_t a[3] = {p->segment[0], c->previous[p->segment[0]], c->next[p->segment[0]]};
  const int32_t b[3] = {p->segment[1], c->previous[p->segment[1]], c->next[p->segment[1]]};
  const double  near = 0.5 * (c->radius[a[0]] + c->radius[b[0]]);
  for (int k = 0; k < 9; ++k) {
    const int32_t i = a[k / 3], j = b[k % 3];
    if (i < 0 || j < 0) continue;
    for (int64_t q = lower_bound(n_found, found, i, j); q < n_found && found[q].segment[0] == i && found[q].segment[1] == j; ++q)
      if (way(c, p, &found[q], 0) < near && way(c, p, &found[q], 1) < near) return true;
  }
  return false;
}

void fibre_contact_drop_near(fibre_contact *c, int64_t n_found, const fibre_spot *found)
{
  int64_t left = 0;
  for (int64_t k = 0; k < c->n_spots; ++k)
    if (!has_near(c, n_found, found, &c->spot[k])) c->spot[left++] = c->spot[k];
  c->n_spots = left;
}

/* Row of `last` with the features of p, or -1. */
static int64_t same(int64_t n_last, const fibre_spot *last, const fibre_spot *p)
{
  int64_t q = lower_bound(n_last, last, p->segment[0], p->segment[1]);
  while (q < n_last && fibre_spot_compare(&last[q], p) < 0) ++q;
  return q < n_last && fibre_spot_compare(&last[q], p) == 0 ? q : -1;
}

PetscErrorCode fibre_contact_match(const fibre_contact *c, int64_t n_last, const fibre_spot *last, int64_t n,
                                   const fibre_spot *spot, int64_t *from)
{
  uint8_t *taken;
  PetscFunctionBegin;
  PetscCall(memory_alloc("fibre contacts", n_last, sizeof *taken, &taken));
  for (int64_t k = 0; k < n; ++k) {
    from[k] = same(n_last, last, &spot[k]);
    if (from[k] >= 0) taken[from[k]] = 1;
  }
  for (int64_t k = 0; k < n; ++k) {
    if (from[k] >= 0) continue;
    from[k] = nearest_of(c, n_last, last, taken, &spot[k], true);
    if (from[k] >= 0) taken[from[k]] = 1;
  }
  memory_free(&taken);
  PetscFunctionReturn(PETSC_SUCCESS);
}
