#include "core/select.h"

static inline void swap(double *a, double *b)
{
  const double kept = *a;
  *a = *b, *b = kept;
}

static double median_of_three(double a, double b, double c)
{
  if (a > b) swap(&a, &b);
  return c < a ? a : c > b ? b : c;
}

double select_place(int64_t n, double *x, int64_t k)
{
  int64_t lo = 0, hi = n - 1;
  while (lo < hi) {
    const double pivot = median_of_three(x[lo], x[lo + (hi - lo) / 2], x[hi]);
    int64_t      i = lo, j = hi;
    /* numbers equal to the pivot change sides, too: many equal ones are halved as well */
    while (i <= j) {
      while (x[i] < pivot) ++i;
      while (x[j] > pivot) --j;
      if (i <= j) swap(&x[i++], &x[j--]);
    }
    if (k <= j) hi = j;
    else if (k >= i) lo = i;
    else break; /* between them: the pivot */
  }
  return x[k];
}
