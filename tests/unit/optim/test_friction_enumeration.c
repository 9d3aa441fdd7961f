/* Solvers against all combinations of contact statuses, each solved separately: problems of at most 12 unknowns. Each solution found
 * here comes from the law alone: take-off r = 0, stick u = 0, slide r = r_N (1, mu cos t, mu sin t) with u_N = 0 and u_T along
 * it; Newton with differences on the unknowns of the sliding contacts, from many angles, then the inequalities. */
#include "friction_fixture.h"
#include <string.h>

enum { MOST = 4, ANGLES = 6, KEPT = 64 };
enum { OFF, STICK, SLIDE };
typedef struct {
  int    n, status[MOST];
  double W[12][12], q[12], mu[MOST];
} small_problem;

/* Unknowns z [n][3]: r itself where it sticks, (r_N, angle, -) where it slides. */
static void impulses(const small_problem *p, const double *z, double *r)
{
  for (int a = 0; a < p->n; ++a) {
    const double *x = z + 3 * a;
    for (int i = 0; i < 3; ++i) r[3 * a + i] = p->status[a] == STICK ? x[i] : 0.0;
    if (p->status[a] != SLIDE) continue;
    r[3 * a] = x[0], r[3 * a + 1] = p->mu[a] * x[0] * cos(x[1]), r[3 * a + 2] = p->mu[a] * x[0] * sin(x[1]);
  }
}
static void velocities(const small_problem *p, const double *r, double *u)
{
  for (int i = 0; i < 3 * p->n; ++i) {
    u[i] = p->q[i];
    for (int j = 0; j < 3 * p->n; ++j) u[i] += p->W[i][j] * r[j];
  }
}
static void equations(const small_problem *p, const double *z, double *e)
{
  double r[12], u[12];
  impulses(p, z, r);
  velocities(p, r, u);
  for (int a = 0; a < p->n; ++a) {
    const double *v = u + 3 * a, c = cos(z[3 * a + 1]), s = sin(z[3 * a + 1]);
    for (int i = 0; i < 3; ++i) e[3 * a + i] = p->status[a] == STICK ? v[i] : z[3 * a + i];
    if (p->status[a] == SLIDE) e[3 * a] = v[0], e[3 * a + 1] = s * v[1] - c * v[2];
  }
}
static bool gauss(int n, double A[12][12], double *b)
{
  for (int k = 0; k < n; ++k) {
    int best = k;
    for (int i = k; i < n; ++i)
      if (fabs(A[i][k]) > fabs(A[best][k])) best = i;
    if (fabs(A[best][k]) < 1e-12) return false;
    for (int j = 0; j < n; ++j) {
      const double t = A[k][j];
      A[k][j] = A[best][j], A[best][j] = t;
    }
    const double t = b[k];
    b[k] = b[best], b[best] = t;
    for (int i = k + 1; i < n; ++i) {
      const double f = A[i][k] / A[k][k];
      for (int j = k; j < n; ++j) A[i][j] -= f * A[k][j];
      b[i] -= f * b[k];
    }
  }
  for (int k = n - 1; k >= 0; --k) {
    for (int j = k + 1; j < n; ++j) b[k] -= A[k][j] * b[j];
    b[k] /= A[k][k];
  }
  return true;
}
static bool newton_on_differences(const small_problem *p, double *z)
{
  const int m = 3 * p->n;
  for (int step = 0; step < 25; ++step) {
    double e[12], low[12], high[12], J[12][12], size = 0.0;
    equations(p, z, e);
    for (int i = 0; i < m; ++i) size = fmax(size, fabs(e[i]));
    if (size < 1e-14) return true;
    for (int j = 0; j < m; ++j) {
      const double at = z[j], h = 1e-6;
      z[j] = at - h, equations(p, z, low);
      z[j] = at + h, equations(p, z, high);
      z[j] = at;
      for (int i = 0; i < m; ++i) J[i][j] = (high[i] - low[i]) / (2.0 * h);
    }
    if (!gauss(m, J, e)) return false;
    for (int i = 0; i < m; ++i) z[i] -= e[i];
    for (int i = 0; i < m; ++i)
      if (!(fabs(z[i]) < 1e6)) return false;
  }
  double e[12], size = 0.0;
  equations(p, z, e);
  for (int i = 0; i < m; ++i) size = fmax(size, fabs(e[i]));
  return size < 1e-12;
}
static bool obeys_the_inequalities(const small_problem *p, const double *r)
{
  double u[12];
  velocities(p, r, u);
  for (int a = 0; a < p->n; ++a) {
    const double *x = r + 3 * a, *v = u + 3 * a;
    if (p->status[a] == OFF && v[0] < 0.0) return false;
    if (p->status[a] == STICK && hypot(x[1], x[2]) > p->mu[a] * x[0]) return false;
    if (p->status[a] == SLIDE && (x[0] <= 0.0 || v[1] * x[1] + v[2] * x[2] > 0.0)) return false;
  }
  return true;
}

/* All solutions of p, at most KEPT. */
static int enumerate(small_problem *p, double kept[KEPT][12])
{
  int found = 0, n_combinations = 1;
  for (int a = 0; a < p->n; ++a) n_combinations *= 3;
  for (int c = 0; c < n_combinations; ++c) {
    int code = c, n_starts = 1;
    for (int a = 0; a < p->n; ++a, code /= 3) {
      p->status[a] = code % 3;
      if (p->status[a] == SLIDE) n_starts *= ANGLES;
    }
    for (int s = 0; s < n_starts; ++s) {
      double z[12] = {0}, r[12];
      int    left  = s;
      for (int a = 0; a < p->n; ++a) {
        if (p->status[a] != SLIDE) continue;
        z[3 * a] = fmax(0.1, -p->q[3 * a] / p->W[3 * a][3 * a]), z[3 * a + 1] = 2.0 * M_PI * (left % ANGLES) / ANGLES + 0.1;
        left /= ANGLES;
      }
      if (!newton_on_differences(p, z)) continue;
      impulses(p, z, r);
      if (!obeys_the_inequalities(p, r)) continue;
      bool is_known = false;
      for (int k = 0; k < found; ++k) {
        double apart = 0.0;
        for (int i = 0; i < 3 * p->n; ++i) apart = fmax(apart, fabs(r[i] - kept[k][i]));
        is_known = is_known || apart < 1e-9;
      }
      if (!is_known && found < KEPT) memcpy(kept[found++], r, sizeof r);
    }
  }
  return found;
}

static void every_answer_is_one_of_all(void **state)
{
  static const int methods[] = {FRICTION_METHOD_NEWTON, FRICTION_METHOD_NEWTON_PROX, FRICTION_METHOD_INTERIOR_POINT,
                                FRICTION_METHOD_SPLITTING, FRICTION_METHOD_AUTOMATIC};
  static double    kept[KEPT][12];
  int              seen[3] = {0, 0, 0}, n_newton = 0, n_problems = 0;
  (void)state;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    contact_scene s;
    delassus     *w;
    document     *doc;
    small_problem small = {.n = 1 + (int)(seed % 3) + (seed % 12 == 11)};
    scene_create(700 + seed, 3, 12, 4, small.n, 0.1 + 0.5 * (double)(seed % 4), &s); /* 36 freedoms: W is regular */
    assert_ok(delassus_create_system(&s.M, &s.H, &w));
    for (int j = 0; j < 3 * small.n; ++j) {
      double unit[12] = {0}, column[12];
      unit[j]         = 1.0;
      delassus_apply(w, unit, column);
      for (int i = 0; i < 3 * small.n; ++i) small.W[i][j] = column[i];
      small.q[j] = s.q[j], small.mu[j / 3] = s.mu[j / 3];
    }
    const int n_found = enumerate(&small, kept);
    if (n_found == 0) fail_msg("problem %d: no combination of statuses has a solution", (int)seed);
    const friction_problem p = {.W = w, .n = s.n, .q = s.q, .mu = s.mu};
    friction_options       o = scene_options(&doc);
    o.tolerance              = 1e-13;
    ++n_problems;
    for (size_t k = 0; k < sizeof methods / sizeof *methods; ++k) {
      double          r[12] = {0}, u[12], least = INFINITY;
      friction_result out;
      o.method = methods[k];
      assert_ok(friction_solve(&p, &o, r, u, &out));
      if (methods[k] == FRICTION_METHOD_NEWTON && out.status != FRICTION_OK) continue; /* it promises nothing from afar */
      if (out.status != FRICTION_OK)
        fail_msg("problem %d, %s: %s, error %g", (int)seed, friction_solvers[o.method].name, friction_status_text(out.status), out.scaled);
      n_newton += methods[k] == FRICTION_METHOD_NEWTON;
      for (int f = 0; f < n_found; ++f) {
        double apart = 0.0;
        for (int i = 0; i < 3 * small.n; ++i) apart = fmax(apart, fabs(r[i] - kept[f][i]));
        least = fmin(least, apart);
      }
      if (!(least <= 1e-10))
        fail_msg("problem %d, %s: the nearest of %d solutions is %g away", (int)seed, friction_solvers[o.method].name, n_found, least);
      for (int a = 0; a < small.n; ++a) ++seen[r[3 * a] == 0.0 ? OFF : hypot(u[3 * a + 1], u[3 * a + 2]) < 1e-9 ? STICK : SLIDE];
    }
    scene_destroy(&s), delassus_destroy(&w), document_destroy(&doc);
  }
  if (seen[OFF] < 20 || seen[STICK] < 20 || seen[SLIDE] < 20)
    fail_msg("only %d take-offs, %d sticking and %d sliding contacts were tried", seen[OFF], seen[STICK], seen[SLIDE]);
  assert_true(5 * n_newton >= 4 * n_problems);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(every_answer_is_one_of_all))
