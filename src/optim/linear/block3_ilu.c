#include "optim/linear/block3_ilu.h"
#include "core/math3.h"
#include "optim/linear/block3_inverse.h"

static inline void subtract_product(double *c, const double *a, const double *b) /* c -= a b */
{
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) c[3 * i + j] -= a[3 * i] * b[j] + a[3 * i + 1] * b[3 + j] + a[3 * i + 2] * b[6 + j];
}
/* s -= sum over slots [from, to) of a x: s stays in registers, which the triangular solves live on. */
static inline void subtract_row(const block3_ilu *f, int64_t from, int64_t to, const double *x, double s[3])
{
  const double *restrict a  = f->value;
  const int32_t *restrict c = f->col;
  double s0 = s[0], s1 = s[1], s2 = s[2];
  for (int64_t k = from; k < to; ++k) {
    const double *b = a + 9 * k, *v = x + 3 * (int64_t)c[k];
    s0 -= b[0] * v[0] + b[1] * v[1] + b[2] * v[2];
    s1 -= b[3] * v[0] + b[4] * v[1] + b[5] * v[2];
    s2 -= b[6] * v[0] + b[7] * v[1] + b[8] * v[2];
  }
  s[0] = s0, s[1] = s1, s[2] = s2;
}

int64_t block3_ilu_factor(block3_ilu *f, double scale)
{
  double *a             = f->value, t[9];
  int64_t n_regularised = 0;
  for (int64_t i = 0; i < f->n; ++i) {
    const int64_t end = f->row_start[i + 1];
    for (int64_t s = f->row_start[i]; s < f->diagonal[i]; ++s) {
      const int64_t k = f->col[s];
      m3_mul(t, a + 9 * s, a + 9 * f->diagonal[k]); /* L_ik = A_ik U_kk^-1 */
      m3_copy(a + 9 * s, t);
      /* rows i (behind s) and k (behind its diagonal), both sorted: merge */
      int64_t r = s + 1, u = f->diagonal[k] + 1;
      while (r < end && u < f->row_start[k + 1]) {
        if (f->col[r] < f->col[u]) ++r;
        else if (f->col[r] > f->col[u]) ++u;
        else subtract_product(a + 9 * r++, t, a + 9 * u++);
      }
    }
    const int status = block3_inverse(a + 9 * f->diagonal[i], scale, t);
    if (status < 0) return -1;
    n_regularised += status;
    m3_copy(a + 9 * f->diagonal[i], t);
  }
  return n_regularised;
}

void block3_ilu_solve(const block3_ilu *f, double *x)
{
  double s[3];
  for (int64_t i = 0; i < f->n; ++i) {
    v3_copy(s, x + 3 * i);
    subtract_row(f, f->row_start[i], f->diagonal[i], x, s);
    v3_copy(x + 3 * i, s);
  }
  for (int64_t i = f->n - 1; i >= 0; --i) {
    v3_copy(s, x + 3 * i);
    subtract_row(f, f->diagonal[i] + 1, f->row_start[i + 1], x, s);
    m3_mulv(x + 3 * i, f->value + 9 * f->diagonal[i], s);
  }
}
