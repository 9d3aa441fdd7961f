/* Sparse products with the map R of dependent nodes and its transpose, entry by entry in the order in which bodies list them. */
#include "sim/step/dependent_nodes.h"
#include "core/memory.h"

void dependent_nodes_free(dependent_nodes *f)
{
  memory_free(&f->entry);
  f->n = f->capacity = 0;
}

PetscErrorCode dependent_nodes_gather(dependent_nodes *f, int n_systems, body *const *systems)
{
  PetscFunctionBegin;
  f->n = 0;
  for (int i = 0; i < n_systems; ++i) {
    const body                 *b = systems[i];
    const body_dependent_block *own;
    const int64_t               n = b->ops->followers ? b->ops->followers(b, &own) : 0;
    PetscCall(memory_reserve("dependent nodes", f->n + n, sizeof *f->entry, &f->capacity, &f->entry));
    for (int64_t k = 0; k < n; ++k)
      f->entry[f->n++] =
          (body_dependent_block){(int32_t)(b->first_block + own[k].block), (int32_t)(b->first_block + own[k].leader), own[k].weight};
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

void dependent_nodes_expand(const dependent_nodes *f, double *x)
{
  for (int64_t i = 0; i < f->n; ++i)
    for (int k = 0; k < 3; ++k) x[3 * (int64_t)f->entry[i].block + k] = 0.0;
  for (int64_t i = 0; i < f->n; ++i)
    for (int k = 0; k < 3; ++k) x[3 * (int64_t)f->entry[i].block + k] += f->entry[i].weight * x[3 * (int64_t)f->entry[i].leader + k];
}

void dependent_nodes_fold(const dependent_nodes *f, double *x)
{
  for (int64_t i = 0; i < f->n; ++i)
    for (int k = 0; k < 3; ++k) x[3 * (int64_t)f->entry[i].leader + k] += f->entry[i].weight * x[3 * (int64_t)f->entry[i].block + k];
  for (int64_t i = 0; i < f->n; ++i)
    for (int k = 0; k < 3; ++k) x[3 * (int64_t)f->entry[i].block + k] = 0.0;
}

void dependent_nodes_fold_squares(const dependent_nodes *f, int width, double *d)
{
  for (int64_t i = 0; i < f->n; ++i) {
    const double a = f->entry[i].weight;
    for (int k = 0; k < width; ++k) d[width * (int64_t)f->entry[i].leader + k] += a * a * d[width * (int64_t)f->entry[i].block + k];
  }
}
