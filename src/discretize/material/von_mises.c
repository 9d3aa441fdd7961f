/* Von Mises plasticity for metals, clay and dough, with linear corotated elasticity about the rotation at the start of the step
 * (linear_corotated.h). The return mapping is applied when the step is accepted. Source: [ZongJiangHan2024], eq. 20 to 26, algorithm 1.
 *
 * Let R0 be the rotation at the start of the step, R the rotation of the trial gradient F, B = sym(F R0^T) and r = yield_stress/(2 mu):
 *
 *   tau = 2 mu (B - 1) + lambda tr(B - 1) 1,   yield condition |dev tau|_F <= yield_stress, that is |dev B|_F <= r
 *
 * In the space of the eigenvalues of B the yield surface is a cylinder of radius r around the direction (1, 1, 1). The return mapping moves
 * B along its deviator to the cylinder. Eigenvectors and trace do not change, so B' = tr(B)/3 1 + r dev B/|dev B| needs no eigenvalues. The
 * new gradient is F' = R S', where S' solves
 *
 *   sym(R S' R0^T) = B',  S' symmetric:   W S' + S' W^T = 2 R0^T B' R0,  W = R0^T R
 *
 * These are six linear equations. Their matrix is positive definite (not symmetric) for rotations below 90 degrees, so no pivoting is
 * necessary. Near that angle the step is rejected. If the material does not yield, F does not change by a bit.
 *
 * In uniaxial tension sigma = sqrt(3/2) |dev tau|_F: the material yields at sqrt(3/2) yield_stress, which is yield_stress_uniaxial. */
#include "core/memory.h"
#include <string.h>
#include "discretize/material/linear_corotated.h"

static const double LARGEST_TURN = 80.0 * M_PI / 180.0;

typedef struct {
  elastic_parameters elastic;
  double             yield_stress, yield_stress_uniaxial;
} parameters;

typedef struct {
  elastic_constants elastic;
  double            radius;
} constants_von_mises;

enum { STATE_STRAIN };

/* clang-format off */
static const key_spec keys[] = {
    ELASTIC_KEYS,
  {.name = "yield_stress", .type = KEY_REAL, .offset = offsetof(parameters, yield_stress), .unit = "Pa", .is_optional = true,
   .max = INFINITY, .is_open = true,
   .help = "limit of the deviatoric stress |dev tau|_F (the root of the sum of its squared entries)"},
  {.name = "yield_stress_uniaxial", .type = KEY_REAL, .offset = offsetof(parameters, yield_stress_uniaxial), .unit = "Pa",
   .is_optional = true, .max = INFINITY, .is_open = true,
   .help = "instead: the stress at which a bar yields in tension, sqrt(3/2) times yield_stress"},
    {0}};
/* clang-format on */

const key_table material_keys_von_mises = {
    .name = "materials.von_mises",
    .help = "Elastic as linear_corotated with rotation: lagged, up to a yield stress; then plastic flow without change of volume. Give "
            "one of yield_stress and yield_stress_uniaxial. Stress returns to the yield surface at the end of an accepted step. "
            "History has yield_overshoot, the largest stress before the return over the yield stress, and step_rotation, the largest "
            "rotation of a particle in the step.",
    .size = sizeof(parameters),
    .keys = keys};

static PetscErrorCode von_mises_prepare(const void *from, void **out)
{
  const parameters    *p       = from;
  const bool           has_any = !isnan(p->yield_stress), has_bar = !isnan(p->yield_stress_uniaxial);
  constants_von_mises *c;
  PetscFunctionBeginUser;
  PetscCheck(has_any != has_bar, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "von_mises: give exactly one of yield_stress and yield_stress_uniaxial (%d are given)", has_any + has_bar);
  PetscCall(memory_alloc("material von_mises", 1, sizeof *c, &c));
  c->elastic = elastic_lame(&p->elastic);
  c->radius  = (has_any ? p->yield_stress : sqrt(2.0 / 3.0) * p->yield_stress_uniaxial) / (2.0 * c->elastic.mu);
  *out       = c;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A, B, C symmetric and stored as 00 11 22 12 02 01. */
enum { N_SYMMETRIC = 6 };
static const int place[9] = {0, 5, 4, 5, 1, 3, 4, 3, 2}, row_of[N_SYMMETRIC] = {0, 1, 2, 1, 0, 0},
                 column_of[N_SYMMETRIC] = {0, 1, 2, 2, 2, 1};

/* B = sym(F R0^T) */
static void symmetric_part(int64_t n, const material_row *restrict F, const material_row *restrict R0, material_row *restrict B)
{
  for (int q = 0; q < N_SYMMETRIC; ++q) {
    const int r = 3 * row_of[q], c = 3 * column_of[q];
#pragma omp simd
    for (int64_t i = 0; i < n; ++i)
      B[q][i] = 0.5 * (F[r][i] * R0[c][i] + F[r + 1][i] * R0[c + 1][i] + F[r + 2][i] * R0[c + 2][i] + F[c][i] * R0[r][i] +
                       F[c + 1][i] * R0[r + 1][i] + F[c + 2][i] * R0[r + 2][i]);
  }
}

/* Onto the cylinder, in place. excess = |dev B| - r where that is positive, 0 elsewhere. */
static void return_symmetric(double radius, int64_t n, material_row *restrict B, double *restrict overshoot, double *restrict excess)
{
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const double mean = (B[0][i] + B[1][i] + B[2][i]) / 3.0, d0 = B[0][i] - mean, d1 = B[1][i] - mean, d2 = B[2][i] - mean;
    const double size = sqrt(d0 * d0 + d1 * d1 + d2 * d2 + 2.0 * (B[3][i] * B[3][i] + B[4][i] * B[4][i] + B[5][i] * B[5][i]));
    const double over = size - radius, share = over > 0.0 ? radius / size : 1.0;
    overshoot[i] = size / radius;
    excess[i]    = over > 0.0 ? over : 0.0;
    B[0][i] = mean + share * d0, B[1][i] = mean + share * d1, B[2][i] = mean + share * d2;
    B[3][i] *= share, B[4][i] *= share, B[5][i] *= share;
  }
}

/* o = A^T B */
static void product_tn(int64_t n, const material_row *restrict A, const material_row *restrict B, material_row *restrict o)
{
  for (int r = 0; r < 3; ++r)
    for (int c = 0; c < 3; ++c)
#pragma omp simd
      for (int64_t i = 0; i < n; ++i) o[3 * r + c][i] = A[r][i] * B[c][i] + A[3 + r][i] * B[3 + c][i] + A[6 + r][i] * B[6 + c][i];
}

/* S from W S + S W^T = 2 Y: row q of M is the equation (W S)_rc + (W S)_cr = 2 Y_rc. Its last column is the right hand side, and S afterwards. */
static void solve_symmetric(int64_t n, const material_row *restrict W, const material_row *restrict Y, material_row *restrict S)
{
  material_row M[N_SYMMETRIC][N_SYMMETRIC + 1];
  for (int q = 0; q < N_SYMMETRIC; ++q) {
    const int r = row_of[q], c = column_of[q];
    memset(M[q], 0, sizeof M[q]);
    for (int64_t i = 0; i < n; ++i) M[q][N_SYMMETRIC][i] = Y[3 * r + c][i] + Y[3 * c + r][i];
    for (int k = 0; k < 3; ++k)
      for (int64_t i = 0; i < n; ++i) {
        M[q][place[3 * k + c]][i] += W[3 * r + k][i];
        M[q][place[3 * k + r]][i] += W[3 * c + k][i];
      }
  }
  for (int p = 0; p < N_SYMMETRIC; ++p)
    for (int q = 0; q < N_SYMMETRIC; ++q) {
      material_row factor;
      if (q == p) continue;
#pragma omp simd
      for (int64_t i = 0; i < n; ++i) factor[i] = M[q][p][i] / M[p][p][i];
      for (int k = p + 1; k <= N_SYMMETRIC; ++k)
#pragma omp simd
        for (int64_t i = 0; i < n; ++i) M[q][k][i] -= factor[i] * M[p][k][i];
    }
  for (int q = 0; q < N_SYMMETRIC; ++q)
    for (int64_t i = 0; i < n; ++i) S[q][i] = M[q][N_SYMMETRIC][i] / M[q][q][i];
}

static void von_mises_accept(const void *constants, int64_t n, const material_row *start, material_row *F, material_row *state,
                             double *overshoot, double *chord)
{
  const constants_von_mises *c = constants;
  material_row               R0[9], R[9], W[9], B[N_SYMMETRIC], S[N_SYMMETRIC], full[9], T[9], Y[9], excess;
  lagged_rotation(n, start, R0), lagged_rotation(n, (const material_row *)F, R);
  lagged_chord(n, (const material_row *)R, (const material_row *)R0, chord);
  symmetric_part(n, (const material_row *)F, (const material_row *)R0, B);
  return_symmetric(c->radius, n, B, overshoot, excess);
  for (int k = 0; k < 9; ++k) memcpy(full[k], B[place[k]], sizeof full[k]);
  product_tn(n, (const material_row *)full, (const material_row *)R0, T); /* B' R0, B' being symmetric */
  product_tn(n, (const material_row *)R0, (const material_row *)T, Y);
  product_tn(n, (const material_row *)R0, (const material_row *)R, W);
  solve_symmetric(n, (const material_row *)W, (const material_row *)Y, S);
  for (int r = 0; r < 3; ++r)
    for (int k = 0; k < 3; ++k)
#pragma omp simd
      for (int64_t i = 0; i < n; ++i) {
        const double returned = R[3 * r][i] * S[place[k]][i] + R[3 * r + 1][i] * S[place[3 + k]][i] + R[3 * r + 2][i] * S[place[6 + k]][i];
        F[3 * r + k][i]       = excess[i] > 0.0 ? returned : F[3 * r + k][i];
      }
  for (int64_t i = 0; i < n; ++i) state[STATE_STRAIN][i] += sqrt(2.0 / 3.0) * excess[i];
}

static const material_step step = {
    .has_rotation = true, .is_convex = true, .largest_turn = LARGEST_TURN, .stress = lagged_stress, .accept = von_mises_accept};

const material_law material_law_von_mises = {.name             = "von_mises",
                                             .keys             = &material_keys_von_mises,
                                             .n_state          = 1,
                                             .state_name       = {"plastic_strain"},
                                             .state_unit       = {"1"},
                                             .state_help       = {"sum of sqrt(2/3) |increments of plastic strain|_F"},
                                             .state_initial    = {0.0},
                                             .accepts_inverted = true,
                                             .prepare          = von_mises_prepare,
                                             .step             = &step,
                                             .energy           = linear_corotated_energy,
                                             .wave_speed       = elastic_wave_speed};
