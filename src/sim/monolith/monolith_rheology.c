/* Evaluates the shear rate per cell from the samples of D u and updates alpha = sqrt(2) M. */
#include "sim/monolith/monolith_rheology.h"
#include "core/memory.h"
#include <math.h>

enum { COMPONENTS = 5 };

PetscErrorCode monolith_rheology_create(const mac_system *y, const mac_state *state, monolith_rheology *r)
{
  PetscFunctionBegin;
  r->system = y;
  for (int k = 0; k < MAC_MU_I_CONSTANTS; ++k) r->constant[k] = state->mu_i[k];
  PetscCall(MEMORY_ALLOC("rate of shear", ARRAY(r->d, y->n_stress), ARRAY(r->square, COMPONENTS * y->n_cells),
                         ARRAY(r->count, COMPONENTS * y->n_cells), ARRAY(r->rate, y->n_cells)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void monolith_rheology_destroy(monolith_rheology *r) { MEMORY_FREE(&r->d, &r->square, &r->count, &r->rate); }

/* Normal components belong to one cell; shear samples on edges count for each adjacent cell. */
static void sum_samples(const monolith_rheology *r)
{
  const mac_system *y = r->system;
  for (int64_t i = 0; i < COMPONENTS * y->n_cells; ++i) r->square[i] = r->count[i] = 0.0;
  for (int64_t i = 0; i < y->n_stress; ++i)
    for (int k = 0; k < 4 && y->sample_cells[i][k] >= 0; ++k) {
      const int64_t at = COMPONENTS * (int64_t)y->sample_cells[i][k] + y->component[i];
      r->square[at] += y->component[i] < 2 ? r->d[i] : r->d[i] * r->d[i];
      r->count[at] += 1.0;
    }
}

void monolith_rheology_rate(const monolith_rheology *r, const double *u, double *rate)
{
  const mac_system *y = r->system;
  sparse_rows_apply(&y->D, u, r->d);
  sum_samples(r);
  /* In the orthonormal basis e:e is the sum of squares. In components d = (exx - eyy, ezz - eyy, 2 exy, 2 exz, 2 eyz) and
   * e:e = 2/3 (d_0^2 + d_1^2 - d_0 d_1) + (d_2^2 + d_3^2 + d_4^2) / 2. */
  const bool is_orthonormal = y->basis == MAC_ORTHONORMAL;
  for (int64_t i = 0; i < y->n_cells; ++i) {
    const double *x = r->square + COMPONENTS * i, *n = r->count + COMPONENTS * i;
    double        shear = 0.0;
    for (int k = 2; k < COMPONENTS; ++k) shear += n[k] > 0.0 ? x[k] / n[k] : 0.0;
    const double squares = x[0] * x[0] + x[1] * x[1];
    rate[i]              = sqrt(2.0 * (is_orthonormal ? squares + shear : 2.0 / 3.0 * (squares - x[0] * x[1]) + 0.5 * shear));
  }
}

void monolith_rheology_alpha(void *context, const double *p, const double *u, double *alpha)
{
  monolith_rheology *r = context;
  const mac_system  *y = r->system;
  monolith_rheology_rate(r, u, r->rate);
  for (int64_t i = 0; i < y->n_cells; ++i) {
    const int64_t slot = y->cell_slot[i];
    const double  rise = r->constant[0][slot], I_0 = r->constant[1][slot], unit = r->constant[2][slot] * sqrt(r->constant[3][slot]);
    const double  pressed = fmax(0.0, p[i]), lowest = I_0 * sqrt(pressed),
                 sum    = lowest + r->rate[i] * unit; /* I_0 sqrt(p), (I_0 + I) sqrt(p) */
    const double wanted = M_SQRT2 * (y->friction[i] + (sum > 0.0 ? rise * r->rate[i] * unit / sum : 0.0));
    const double slope  = sum > 0.0 ? rise * unit * lowest / (sum * sum) : 0.0; /* dM/drate */
    /* a cell inside a solid has neither constants nor density */
    const double gain = r->is_begun && slope > 0.0 ? 4.0 * y->dt * pressed * slope / (y->rest_density[i] * y->h * y->h) : 0.0;
    alpha[i]          = r->is_begun ? alpha[i] + (wanted - alpha[i]) / (1.0 + gain) : wanted;
  }
  r->is_begun = true;
}
