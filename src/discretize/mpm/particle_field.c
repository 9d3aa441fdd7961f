#include "discretize/mpm/particle_field.h"
#include "core/expression.h"
#include "core/math3.h"
#include "core/memory.h"

struct particle_field {
  expression *component[3];
};

static const char *const variables[] = {"X", "Y", "Z", "x", "y", "z", "t"};
enum { N_VARIABLES = 7 };

PetscErrorCode particle_field_create(const key_list *texts, const document_node *node, const char *path, diagnostics *d, particle_field **out)
{
  PetscFunctionBegin;
  particle_field *f;
  const int       n_before = diagnostics_count(d);
  *out                     = NULL;
  if (texts->n != 3) {
    diagnostics_add(d, node->mark, path, "expected three expressions in X, Y, Z, x, y, z and t, got %d", texts->n);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(memory_alloc("particle field", 1, sizeof *f, &f));
  for (int k = 0; k < 3; ++k) {
    const char *text = texts->item[k].value;
    char        message[256];
    int         place;
    PetscCall(expression_compile(text, N_VARIABLES, variables, &f->component[k], &place, message, sizeof message));
    if (!f->component[k]) diagnostics_add(d, node->mark, path, "\"%s\": character %d: %s", text, place + 1, message);
  }
  if (diagnostics_count(d) > n_before) particle_field_destroy(&f);
  *out = f;
  PetscFunctionReturn(PETSC_SUCCESS);
}

void particle_field_destroy(particle_field **f)
{
  if (!*f) return;
  for (int k = 0; k < 3; ++k) expression_destroy(&(*f)->component[k]);
  memory_free(f);
}

void particle_field_at(const particle_field *f, const double X[3], const double x[3], double t, double value[3], double *gradient)
{
  const double v[N_VARIABLES] = {X[0], X[1], X[2], x[0], x[1], x[2], t};
  for (int i = 0; i < 3; ++i) {
    value[i] = expression_value(f->component[i], v);
    for (int j = 0; j < 3 && gradient; ++j) {
      double ignored;
      gradient[3 * i + j] = expression_derivative(f->component[i], v, j, &ignored) + expression_derivative(f->component[i], v, 3 + j, &ignored);
    }
  }
}

PetscErrorCode particle_origins_create(mpm_domain *d, particle_origins *out)
{
  PetscFunctionBegin;
  *out = (particle_origins){0, NULL};
  for (int b = 0; b < mpm_domain_n_bodies(d); ++b) {
    const mpm_particles *p = mpm_domain_particles(d, b);
    for (int64_t i = 0; i < p->n; ++i) out->n = p->id[i] >= out->n ? p->id[i] + 1 : out->n;
  }
  PetscCall(memory_alloc("particle origins", 3 * out->n, sizeof *out->x, &out->x));
  for (int b = 0; b < mpm_domain_n_bodies(d); ++b) {
    const mpm_particles *p = mpm_domain_particles(d, b);
    for (int64_t i = 0; i < p->n; ++i)
      for (int k = 0; k < 3; ++k) out->x[3 * p->id[i] + k] = p->x[k][i];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

double particle_field_error(const particle_field *f, const particle_origins *o, const mpm_particles *p, double t, bool is_velocity)
{
  double mass = 0.0, sum = 0.0;
  for (int64_t i = 0; i < p->n; ++i) {
    const double *X = o->x + 3 * p->id[i], x[3] = {p->x[0][i], p->x[1][i], p->x[2][i]};
    double        expected[3];
    particle_field_at(f, X, x, t, expected, NULL);
    for (int k = 0; k < 3; ++k) {
      const double e = (is_velocity ? p->v[k][i] : x[k] - X[k]) - expected[k];
      sum += p->mass[i] * e * e;
    }
    mass += p->mass[i];
  }
  return mass > 0.0 ? sqrt(sum / mass) : NAN;
}
