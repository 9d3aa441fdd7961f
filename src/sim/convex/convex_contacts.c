/* Parameters of the potentials follow from gap, stiffness and effective mass of each contact. */
#include "sim/convex/convex_contacts.h"
#include "core/math3.h"
#include "core/memory.h"

void convex_contacts_destroy(convex_contacts *c)
{
  MEMORY_FREE(&c->law, &c->known, &c->r_previous, &c->r, &c->u, &c->x, &c->scale);
  c->n = 0;
}

/* Effective inverse mass of contact a [1/kg]: |J_a D^-1 J_a^T|_F / 3, with D the diagonal of A plus the gains of drives. */
static double inverse_mass(const sparse_rows *J, const double *inverse, int64_t a)
{
  double sum = 0.0;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      double  w = 0.0;
      int64_t l = J->start[3 * a + j];
      for (int64_t k = J->start[3 * a + i]; k < J->start[3 * a + i + 1]; ++k) {
        while (l < J->start[3 * a + j + 1] && J->col[l] < J->col[k]) ++l;
        if (l < J->start[3 * a + j + 1] && J->col[l] == J->col[k]) w += J->value[k] * inverse[J->col[k]] * J->value[l];
      }
      sum += w * w;
    }
  return sqrt(sum) / 3.0;
}

static void make_laws(const convex_options *o, const step_frame *f, const sparse_rows *J, const double *inverse, const double *u0,
                      convex_contacts *c)
{
  const scene         *s     = f->layout.scene;
  const contact_spot  *spots = step_contacts_spots(&f->contacts);
  const double         asked = f->contacts.overlap_correction_speed, v_rest = f->layout.acceleration_scale * f->layout.dt;
  const sap_parameters step = {.dt                       = f->layout.dt,
                               .relaxation               = isnan(o->relaxation_time) ? f->layout.dt : o->relaxation_time,
                               .min_contact_period       = o->min_contact_period,
                               .stiction_tolerance       = o->stiction_tolerance,
                               .overlap_correction_speed = isfinite(asked) ? asked : v_rest,
                               .dissipation              = o->dissipation,
                               .slip                     = o->slip_speed};
  for (int64_t a = 0; a < c->n; ++a) {
    const contact_law *law = &s->laws[(int64_t)spots[a].body_a * s->n_bodies + spots[a].body_b];
    const double       k   = law->stiffness;
    const sap_source   is  = {.mu           = f->contacts.mu[a],
                              .gap          = spots[a].gap + (isnan(k) ? 0.0 : law->rest_overlap), /* near-rigid contacts limit the speed */
                              .stiffness    = isnan(k) ? INFINITY : k,
                              .w            = inverse_mass(J, inverse, a),
                              .normal_speed = u0[3 * a]};
    c->law[a]              = sap_contact_make((sap_model)o->law, &step, &is);
  }
}

PetscErrorCode convex_contacts_create(const convex_options *o, const step_frame *f, const step_unknowns *u, const sparse_rows *A,
                                      const sparse_rows *J, const convex_constraints *constraints, convex_contacts *c)
{
  const contact_jacobian *rows    = &f->contacts.rows;
  double                 *inverse = NULL, *u0 = NULL, *still = NULL;
  PetscFunctionBegin;
  c->n                   = rows->n;
  double       **three[] = {&c->known, &c->r, &c->u, &c->x, &u0};
  PetscErrorCode code    = memory_alloc("laws of contacts", c->n, sizeof *c->law, &c->law);
  for (int k = 0; k < 5 && !code; ++k) code = memory_alloc("velocities of contacts", 3 * (c->n + constraints->n), sizeof(double), three[k]);
  if (!code) code = MEMORY_ALLOC("convex contacts", ARRAY(c->r_previous, 3 * c->n), ARRAY(c->scale, 9 * c->n), ARRAY(inverse, A->n_rows));
  if (!code && u->is_all) code = memory_alloc("no velocities", u->n_full, sizeof *still, &still);
  if (!code) {
    for (int64_t i = 0; i < A->n_rows; ++i)
      for (int64_t k = A->start[i]; k < A->start[i + 1]; ++k)
        if (A->col[k] == i) inverse[i] = A->value[k];
    convex_constraints_stiffen(constraints, J, c->n, inverse);
    for (int64_t i = 0; i < A->n_rows; ++i) inverse[i] = 1.0 / inverse[i];
    contact_jacobian_velocity(rows, f->layout.v0, u0);
    contact_jacobian_velocity(rows, u->is_all ? still : u->known, c->known);
    step_impulses_guess(&f->record.known, rows, step_contacts_spots(&f->contacts), f->layout.dt, c->r_previous);
    make_laws(o, f, J, inverse, u0, c);
  }
  MEMORY_FREE(&inverse, &u0, &still);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sliding velocity u + R r of the tangential components; exactly 0 for a sticking contact, which rounding would hide. */
static void sliding_of(const sap_contact *law, const double u[3], const double r[3], double x[3])
{
  const bool sticks = !sap_law_slides(law, r) && r[0] > 0.0;
  for (int i = 1; i < 3; ++i) x[i] = sticks ? 0.0 : u[i] + law->R_t * r[i];
}

void convex_contacts_shift(convex_contacts *c, double *shift)
{
  for (int64_t a = 0; a < c->n; ++a) {
    double x[3];
    sliding_of(c->law + a, c->u + 3 * a, c->r + 3 * a, x);
    const double next = c->law[a].mu * hypot(x[1], x[2]);
    c->known[3 * a] += next - shift[a];
    shift[a] = next;
  }
}

void convex_contacts_evaluate(const convex_options *o, const double *shift, convex_contacts *c)
{
  for (int64_t a = 0; a < c->n; ++a) {
    const sap_contact *law = c->law + a;
    const double      *r = c->r + 3 * a, *u = c->u + 3 * a;
    double            *x = c->x + 3 * a, *W = c->scale + 9 * a;
    m3_identity(W);
    W[0] = W[4] = W[8] = law->R_t / o->stiction_tolerance;
    if (o->law == SAP_REGULARISED) {
      sliding_of(law, u, r, x);
      x[0] = u[0] - law->bias + law->R_n * r[0];
      if (o->max_coulomb_iterations > 1)
        x[0] += law->mu * hypot(x[1], x[2]) - shift[a]; /* the error refers to Coulomb's law also if the passes
                                                                                  * have not converged */
    } else {                                            /* not bounded by a cone: x only indicates whether the contact slides */
      const bool slides = hypot(u[1], u[2]) > law->slip;
      for (int i = 1; i < 3; ++i) x[i] = slides ? u[i] : 0.0;
      x[0] = law->mu * hypot(x[1], x[2]);
    }
  }
}

double convex_contacts_creep_bound(const convex_options *o, const convex_contacts *c)
{
  double most = 0.0;
  for (int64_t a = 0; a < c->n; ++a)
    if (c->r[3 * a] > 0.0) most = fmax(most, o->law == SAP_REGULARISED ? c->law[a].R_t * c->law[a].mu * c->r[3 * a] : c->law[a].slip);
  return most;
}
