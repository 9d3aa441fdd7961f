/* Implementation of vector_field.h: three compiled expressions (core/expression.h) and their derivatives. */
#include "discretize/body/vector_field.h"
#include "core/expression.h"
#include "core/memory.h"

struct vector_field {
  expression *component[3];
};

static const char *const variables[] = {"X", "Y", "Z", "x", "y", "z", "t"};
enum { N_VARIABLES = 7 };

PetscErrorCode vector_field_create(const key_list *texts, const document_node *node, const char *path, diagnostics *d, vector_field **out)
{
  PetscFunctionBegin;
  vector_field *f;
  const int     n_before = diagnostics_count(d);
  *out                   = NULL;
  if (texts->n != 3) {
    diagnostics_add(d, node->mark, path, "expected three expressions in X, Y, Z, x, y, z and t, got %d", texts->n);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(memory_alloc("vector field", 1, sizeof *f, &f));
  for (int k = 0; k < 3; ++k) {
    const char *text = texts->item[k].value;
    char        message[256];
    int         place;
    PetscCall(expression_compile(text, N_VARIABLES, variables, &f->component[k], &place, message, sizeof message));
    if (!f->component[k]) diagnostics_add(d, node->mark, path, "\"%s\": character %d: %s", text, place + 1, message);
  }
  if (diagnostics_count(d) > n_before) vector_field_destroy(&f);
  *out = f;
  PetscFunctionReturn(PETSC_SUCCESS);
}

void vector_field_destroy(vector_field **f)
{
  if (!*f) return;
  for (int k = 0; k < 3; ++k) expression_destroy(&(*f)->component[k]);
  memory_free(f);
}

void vector_field_at(const vector_field *f, const double X[3], const double x[3], double t, double value[3])
{
  const double v[N_VARIABLES] = {X[0], X[1], X[2], x[0], x[1], x[2], t > 0.0 ? t : 0.0};
  for (int i = 0; i < 3; ++i) value[i] = expression_value(f->component[i], v);
}

void vector_field_gradient(const vector_field *f, const double X[3], const double x[3], double t, const double F[9], double gradient[9])
{
  const double v[N_VARIABLES] = {X[0], X[1], X[2], x[0], x[1], x[2], t};
  double       ignored, along_x[9];
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      gradient[3 * i + j] = expression_derivative(f->component[i], v, j, &ignored);
      along_x[3 * i + j]  = expression_derivative(f->component[i], v, 3 + j, &ignored);
    }
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 3; ++k) gradient[3 * i + j] += along_x[3 * i + k] * F[3 * k + j];
}
