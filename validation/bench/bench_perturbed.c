/* The friction problems of FCLIB files, changed in ways that files from elsewhere may differ: are they still solved?
 *   bench_perturbed FILE.hdf5... [LIMIT=10] [SEEDS=3] [SOLVER=automatic]
 *
 * Coefficients 0, tiny, large, zero at half of the contacts; other loads q + W z (what impulses can bring about, so that a singular
 * W does not make them contradict each other); every contact twice; other units of mass; bodies up to 1e4 times as heavy as others
 * that fall as before (files with masses alone). Each is solved from zero to 1e-8 in both measures. Prints what is not solved, and how many of each kind were; fails if that is not all. */
#include <stdlib.h>
#include <string.h>
#include "core/memory.h"
#include "core/random.h"
#include "optim/friction/friction.h"
#include "app/friction/friction_case.h"

typedef struct {
  const char *name;
  double      factor, floor; /* of mu: factor * mu + floor */
  double      share_zero;    /* of contacts, whose mu becomes 0 */
  double      load;          /* |W z| over |q| */
  double      mass;          /* W and r take other units */
  bool        is_twice, is_random, is_mixed;
} change;

static const change changes[] = {
    {.name = "as it is", .factor = 1, .mass = 1},
    {.name = "mu 0", .mass = 1},
    {.name = "mu / 1000", .factor = 1e-3, .mass = 1},
    {.name = "mu + 1", .factor = 1, .floor = 1, .mass = 1},
    {.name = "mu 10", .floor = 10, .mass = 1},
    {.name = "half of mu 0", .factor = 1, .share_zero = 0.5, .mass = 1, .is_random = true},
    {.name = "load 1e-3", .factor = 1, .load = 1e-3, .mass = 1, .is_random = true},
    {.name = "load 0.1", .factor = 1, .load = 0.1, .mass = 1, .is_random = true},
    {.name = "load 1", .factor = 1, .load = 1, .mass = 1, .is_random = true},
    {.name = "load 1, mu + 1", .factor = 1, .floor = 1, .load = 1, .mass = 1, .is_random = true},
    {.name = "all twice", .factor = 1, .mass = 1, .is_twice = true},
    {.name = "twice, load 0.1", .factor = 1, .load = 0.1, .mass = 1, .is_twice = true, .is_random = true},
    {.name = "mass 1e-6", .factor = 1, .mass = 1e6},
    {.name = "mass 1e6", .factor = 1, .mass = 1e-6},
    {.name = "mixed masses", .factor = 1, .mass = 1, .is_mixed = true, .is_random = true},
    {.name = "mixed, mu + 1", .factor = 1, .floor = 1, .mass = 1, .is_mixed = true, .is_random = true},
};
enum { N_CHANGES = sizeof changes / sizeof *changes };

static double largest(const double *x, int64_t n)
{
  double most = 0;
  for (int64_t i = 0; i < n; ++i) most = fmax(most, fabs(x[i]));
  return most;
}

/* W in blocks, `times` in each direction, over `mass`. */
static PetscErrorCode copy_blocks(friction_case *c, int times, double mass, delassus **out)
{
  const int64_t *start;
  const int32_t *col;
  const double  *value;
  int64_t       *s = NULL, at = 0;
  int32_t       *k = NULL;
  double        *x = NULL;
  PetscFunctionBegin;
  const int64_t n = c->problem.n;
  PetscCall(delassus_blocks(c->W, &start, &col, &value));
  PetscCall(memory_alloc("bench", times * n + 1, sizeof *s, &s));
  PetscCall(memory_alloc("bench", times * times * start[n], sizeof *k, &k));
  PetscCall(memory_alloc("bench", 9 * times * times * start[n], sizeof *x, &x));
  s[0] = 0;
  for (int64_t a = 0; a < times * n; ++a) {
    for (int t = 0; t < times; ++t)
      for (int64_t e = start[a % n]; e < start[a % n + 1]; ++e, ++at) {
        k[at] = (int32_t)(col[e] + t * n);
        for (int i = 0; i < 9; ++i) x[9 * at + i] = mass * value[9 * e + i];
      }
    s[a + 1] = at;
  }
  const PetscErrorCode code = delassus_create_blocks(times * n, s, k, x, c->n_dof, out);
  memory_free(&s), memory_free(&k), memory_free(&x);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every body of a system 0.01 to 100 times as heavy, and what pulls it, too: W alone changes. */
static PetscErrorCode mix_masses(friction_case *c, uint64_t seed, delassus **out)
{
  const sparse_rows *M     = delassus_mass(c->W);
  const mass_factor *f     = delassus_factor(c->W);
  sparse_rows        mixed = {0};
  PetscFunctionBegin;
  PetscCall(sparse_rows_create("bench", M->n_rows, M->n_cols, M->start, M->col, M->value, &mixed));
  for (int64_t k = 0; k < mass_factor_n_components(f); ++k) {
    const double factor = pow(10.0, 4.0 * random_u01(seed, (uint64_t)k, 3) - 2.0);
    for (int64_t at = mass_factor_start(f)[k]; at < mass_factor_start(f)[k + 1]; ++at) {
      const int32_t i = mass_factor_dof(f)[at];
      for (int64_t e = mixed.start[i]; e < mixed.start[i + 1]; ++e) mixed.value[e] *= factor;
    }
  }
  const PetscErrorCode code = delassus_create_system(&mixed, delassus_jacobian(c->W), out);
  sparse_rows_destroy(&mixed);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solve one changed problem, *is_solved, and say what was not. */
static PetscErrorCode try_change(const char *path, friction_case *c, const change *how, uint64_t seed, const friction_options *o,
                                 bool *is_solved, double *seconds)
{
  const int64_t   n = c->problem.n, times = how->is_twice ? 2 : 1;
  double         *q = NULL, *mu = NULL, *r = NULL, *u = NULL, *z = NULL;
  delassus       *W = NULL;
  friction_result answer;
  PetscFunctionBegin;
  double **const vectors[] = {&q, &r, &u, &z};
  for (int i = 0; i < 4; ++i) PetscCall(memory_alloc("bench", 3 * times * n, sizeof *q, vectors[i]));
  PetscCall(memory_alloc("bench", times * n, sizeof *mu, &mu));
  for (int64_t i = 0; i < 3 * n; ++i) z[i] = random_normal(seed, (uint64_t)i, 1);
  delassus_apply(c->W, z, u);
  const double share = how->load * largest(c->problem.q, 3 * n) / largest(u, 3 * n);
  for (int64_t i = 0; i < 3 * times * n; ++i) q[i] = c->problem.q[i % (3 * n)] + share * u[i % (3 * n)];
  for (int64_t a = 0; a < times * n; ++a)
    mu[a] = random_u01(seed, (uint64_t)a, 2) < how->share_zero ? 0 : how->factor * c->problem.mu[a % n] + how->floor;
  if (how->is_mixed) PetscCall(mix_masses(c, seed, &W));
  else PetscCall(copy_blocks(c, (int)times, how->mass, &W));
  const friction_problem p = {.W = W, .n = times * n, .q = q, .mu = mu};
  memset(r, 0, (size_t)(3 * times * n) * sizeof *r);
  PetscCall(friction_solve(&p, o, r, u, &answer));
  *is_solved = answer.status == FRICTION_OK, *seconds = answer.seconds;
  if (!*is_solved)
    printf("%s, %s, seed %d: %s: %s after %.2f s, scaled %.2e siconos %.2e\n", strrchr(path, '/') ? strrchr(path, '/') + 1 : path,
           how->name, (int)seed, answer.method, friction_status_text(answer.status), answer.seconds, answer.scaled, answer.siconos);
  fflush(stdout);
  delassus_destroy(&W);
  memory_free(&mu);
  for (int i = 0; i < 4; ++i) memory_free(vectors[i]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  double                  limit = 10, longest[N_CHANGES] = {0};
  int                     seeds = 3, method = FRICTION_METHOD_AUTOMATIC, tried[N_CHANGES] = {0}, solved[N_CHANGES] = {0}, missed = 0;
  document               *owner = NULL;
  const friction_options *defaults;
  if (PetscInitializeNoArguments() || error_install() || document_create(&owner) || friction_options_defaults(owner, &defaults)) return 2;
  for (int i = 1; i < argc; ++i) {
    if (!strncmp(argv[i], "LIMIT=", 6)) limit = atof(argv[i] + 6);
    if (!strncmp(argv[i], "SEEDS=", 6)) seeds = atoi(argv[i] + 6);
    for (int k = 0; k < FRICTION_N_METHODS && !strncmp(argv[i], "SOLVER=", 7); ++k)
      if (!strcmp(friction_solvers[k].name, argv[i] + 7)) method = k;
  }
  if (argc == 1) printf("bench_perturbed FILE.hdf5... [LIMIT=10] [SEEDS=3] [SOLVER=automatic]: nothing to do without files\n");
  friction_options o = *defaults;
  o.tolerance = 1e-8, o.time_limit = limit, o.method = method;
  for (int i = 1; i < argc; ++i) {
    friction_case c;
    if (strchr(argv[i], '=')) continue;
    if (friction_case_read(argv[i], &c)) {
      fprintf(stderr, "left out: %s\n", error_message());
      error_clear();
      continue;
    }
    for (int k = 0; k < N_CHANGES; ++k)
      for (int s = 0; s < (changes[k].is_mixed && !delassus_mass(c.W) ? 0 : changes[k].is_random ? seeds : 1); ++s) {
        bool   is_solved = false;
        double seconds   = 0;
        if (try_change(argv[i], &c, changes + k, (uint64_t)s + 1, &o, &is_solved, &seconds)) {
          fprintf(stderr, "%s: %s\n", argv[i], error_message());
          return 2;
        }
        ++tried[k], solved[k] += is_solved, missed += !is_solved, longest[k] = fmax(longest[k], seconds);
      }
    friction_case_clear(&c);
  }
  printf("\n%-18s %8s %8s %12s\n", "", "solved", "of", "longest [s]");
  for (int k = 0; k < N_CHANGES; ++k) printf("%-18s %8d %8d %12.3f\n", changes[k].name, solved[k], tried[k], longest[k]);
  document_destroy(&owner);
  return PetscFinalize() ? 2 : missed > 0;
}
