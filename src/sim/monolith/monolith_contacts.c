/* Conversion between step_contacts and the contacts of the granular solver; overlaps are corrected by a bound-constrained
 * quadratic program. */
#include "sim/monolith/monolith_contacts.h"
#include "core/math3.h"
#include "core/memory.h"
#include "optim/bounds/bounds_qp.h"

PetscErrorCode monolith_contacts_create(scene *s, monolith_contacts *c)
{
  PetscFunctionBegin;
  PetscCall(step_contacts_create(s, 0.0, &c->found));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void free_arrays(monolith_contacts *c)
{
  MEMORY_FREE(&c->contact, &c->r, &c->u, &c->W);
  c->n = c->capacity = 0;
}

void monolith_contacts_destroy(monolith_contacts *c)
{
  step_contacts_destroy(&c->found);
  step_record_destroy(&c->record);
  free_arrays(c);
}

static PetscErrorCode reserve(monolith_contacts *c, int64_t n)
{
  PetscFunctionBegin;
  if (n > c->capacity) {
    free_arrays(c);
    c->capacity = n + n / 2;
    PetscCall(MEMORY_ALLOC("contacts", ARRAY(c->contact, c->capacity), ARRAY(c->r, 3 * c->capacity), ARRAY(c->u, 3 * c->capacity),
                           ARRAY(c->W, 9 * c->capacity)));
  }
  c->n = n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The row of contact i over its one or two unknown bodies. */
static void copy_row(const contact_jacobian *rows, int64_t i, double shift, double mu, granular_contact *out)
{
  *out = (granular_contact){.body = {-1, -1}, .mu = mu};
  for (int64_t e = rows->start[i]; e < rows->start[i + 1]; ++e) {
    const int32_t r    = rows->block[e] / 2;
    const int     half = rows->block[e] % 2, side = out->body[0] < 0 || out->body[0] == r ? 0 : 1;
    out->body[side] = r;
    for (int k = 0; k < 3; ++k) v3_copy(out->row[k][side] + 3 * half, rows->value + 9 * e + 3 * k);
  }
  v3_copy(out->known, rows->known + 3 * i);
  out->known[0] += shift;
}

/* y [6] = scale * matrix x */
static void multiply_6x6(double y[6], double scale, const double matrix[36], const double x[6])
{
  for (int i = 0; i < 6; ++i) {
    y[i] = 0.0;
    for (int j = 0; j < 6; ++j) y[i] += scale * matrix[6 * i + j] * x[j];
  }
}

static double dot(const double a[6], const double b[6]) { return v3_dot(a, b) + v3_dot(a + 3, b + 3); }

static void diagonal_of(const granular_contact *f, const monolith_bodies *bodies, double dt, double W[9])
{
  m3_zero(W);
  for (int side = 0; side < 2; ++side)
    for (int l = 0; l < 3 && f->body[side] >= 0; ++l) {
      double y[6];
      multiply_6x6(y, 1.0 / dt, bodies->inverse_mass[f->body[side]], f->row[l][side]);
      for (int k = 0; k < 3; ++k) W[3 * k + l] += dot(f->row[k][side], y);
    }
}

PetscErrorCode monolith_contacts_find(monolith_contacts *c, const step_layout *l, const monolith_bodies *bodies, step_status *status)
{
  step_unknowns all = {.n_full = 3 * l->n_blocks, .n = 3 * l->n_blocks, .is_all = true}; /* all components of rigid bodies are
                                                                                          * free */
  PetscFunctionBegin;
  PetscCall(step_contacts_find(&c->found, l, &all, status));
  PetscCall(reserve(c, step_contacts_size(&c->found)));
  for (int64_t i = 0; i < c->n; ++i) {
    copy_row(&c->found.rows, i, c->found.shift[i], c->found.mu[i], &c->contact[i]);
    diagonal_of(&c->contact[i], bodies, l->dt, c->W + 9 * i);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

void monolith_contacts_guess(const monolith_contacts *c, double dt, double *lambda, double *z)
{
  step_impulses_guess(&c->record.known, &c->found.rows, step_contacts_spots(&c->found), dt, c->r);
  for (int64_t i = 0; i < c->n; ++i) {
    lambda[i] = fmax(0.0, c->r[3 * i] / dt);
    for (int k = 0; k < 2; ++k) z[2 * i + k] = c->r[3 * i + 1 + k] / dt;
    const double most = c->contact[i].mu * lambda[i], size = hypot(z[2 * i], z[2 * i + 1]);
    if (size > most)
      for (int k = 0; k < 2; ++k) z[2 * i + k] *= most / size;
  }
}

void monolith_contacts_add(const monolith_contacts *c, const double *lambda, const double *z, double (*wrench)[6])
{
  for (int64_t i = 0; i < c->n; ++i)
    for (int side = 0; side < 2 && c->contact[i].body[side] >= 0; ++side)
      for (int j = 0; j < 6; ++j)
        wrench[c->contact[i].body[side]][j] += c->contact[i].row[0][side][j] * lambda[i] + c->contact[i].row[1][side][j] * z[2 * i] +
                                               c->contact[i].row[2][side][j] * z[2 * i + 1];
}

PetscErrorCode monolith_contacts_accept(monolith_contacts *c, const step_layout *l, const double *lambda, const double *z,
                                        contact_summary *out)
{
  PetscFunctionBegin;
  contact_jacobian_velocity(&c->found.rows, l->v, c->u);
  for (int64_t i = 0; i < c->n; ++i) {
    v3_set(c->r + 3 * i, l->dt * lambda[i], l->dt * z[2 * i], l->dt * z[2 * i + 1]);
    c->u[3 * i] += c->found.shift[i];
  }
  const step_outcome law = {.r = c->r, .u = c->u, .scale = c->W};
  PetscCall(step_contact_report(&c->found, l, &law, NULL, &c->record, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- correction of overlaps -------------------------------------------------------------------------------------------- */

typedef struct {
  const monolith_contacts *c;
  const monolith_bodies   *bodies;
  double                   dt, (*push)[6], (*move)[6]; /* [n_bodies] */
} parting;

/* push = N^T x, move = M^-1 push */
static void displacements_of(const parting *p, const double *x)
{
  for (int64_t r = 0; r < p->bodies->n; ++r)
    for (int j = 0; j < 6; ++j) p->push[r][j] = 0.0;
  for (int64_t i = 0; i < p->c->n; ++i)
    for (int side = 0; side < 2 && p->c->contact[i].body[side] >= 0; ++side)
      for (int j = 0; j < 6; ++j) p->push[p->c->contact[i].body[side]][j] += p->c->contact[i].row[0][side][j] * x[i];
  for (int64_t r = 0; r < p->bodies->n; ++r) multiply_6x6(p->move[r], 1.0 / p->dt, p->bodies->inverse_mass[r], p->push[r]);
}

static void apply(void *context, const double *restrict x, double *restrict y)
{
  const parting *p = context;
  displacements_of(p, x);
  for (int64_t i = 0; i < p->c->n; ++i) {
    const granular_contact *f = &p->c->contact[i];
    y[i]                      = 0.0;
    for (int side = 0; side < 2 && f->body[side] >= 0; ++side) y[i] += dot(f->row[0][side], p->move[f->body[side]]);
  }
}

static double gap_at_end(const monolith_contacts *c, const step_layout *l, int64_t i)
{
  return step_contacts_spots(&c->found)[i].gap + l->dt * (c->u[3 * i] - c->found.shift[i]);
}

static PetscErrorCode solve_separation(const parting *p, const step_layout *l, double share, double (*dx)[6])
{
  const int64_t n = p->c->n;
  double       *work;
  PetscFunctionBegin;
  PetscCall(memory_alloc("parting of bodies", 4 * n, sizeof *work, &work));
  double *const x = work, *const b = x + n, *const lo = b + n, *const diagonal = lo + n; /* zeros */
  for (int64_t i = 0; i < n; ++i) {
    const double gap = gap_at_end(p->c, l, i);
    b[i]             = gap < 0.0 ? -share * gap : -gap;
    diagonal[i]      = p->c->W[9 * i];
  }
  const bounds_qp      q       = {.n = n, .apply = apply, .context = (void *)p, .diagonal = diagonal, .b = b, .lo = lo};
  const bounds_options options = {.method = BOUNDS_METHOD_MPRGP, .preconditioner = BOUNDS_PRECONDITIONER_JACOBI, .tolerance = 1e-6};
  bounds_result        result  = {0};
  const PetscErrorCode code    = bounds_solve(&q, &options, x, &result); /* for any status x is nonnegative and therefore only
                                                                    * separates */
  if (!code) {
    displacements_of(p, x);
    for (int64_t r = 0; r < p->bodies->n; ++r)
      for (int j = 0; j < 6; ++j) dx[r][j] = p->move[r][j];
  }
  memory_free(&work);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode monolith_contacts_separate(const monolith_contacts *c, const step_layout *l, const monolith_bodies *bodies, double share,
                                          double tolerance, double most, double (*dx)[6], double *worst, bool *is_needed)
{
  parting p = {.c = c, .bodies = bodies, .dt = l->dt};
  PetscFunctionBegin;
  *worst = 0.0;
  for (int64_t i = 0; i < c->n; ++i) *worst = fmax(*worst, -gap_at_end(c, l, i));
  *is_needed = *worst > tolerance && share > 0.0;
  if (!*is_needed) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(memory_alloc("parting of bodies", bodies->n, sizeof *p.push, &p.push));
  PetscErrorCode code = memory_alloc("parting of bodies", bodies->n, sizeof *p.move, &p.move);
  if (!code) code = solve_separation(&p, l, share, dx);
  MEMORY_FREE(&p.push, &p.move);
  PetscCall(code);
  for (int64_t r = 0; r < bodies->n; ++r) {
    const double way = v3_norm(dx[r]);
    for (int j = 0; j < 6 && way > most; ++j) dx[r][j] *= most / way;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
