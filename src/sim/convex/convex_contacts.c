/* Parameters of the potentials follow from gap, stiffness and effective mass of each contact. */
#include "sim/convex/convex_contacts.h"
#include "sim/scene/scene_overlaps.h"
#include "core/math3.h"
#include "core/memory.h"

void convex_contacts_destroy(convex_contacts *c)
{
  MEMORY_FREE(&c->law, &c->known, &c->r_previous, &c->anchor, &c->pair, &c->largest, &c->r, &c->u, &c->x, &c->scale);
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

/* Contacts first <= a < end of one pair of bodies. */
typedef struct {
  int64_t first, end;
  bool    is_rigid; /* both bodies are rigid */
} contact_pair;

/* Give all contacts of two rigid bodies the same inverse mass, the mean weighted with the forces of the last step. Otherwise contacts near the centre
 * of mass, where it is smaller, would be stiffer and carry more load. */
static void equalise_masses(const convex_contacts *c, const contact_pair *p, double *w)
{
  double sum = 0.0, weight = 0.0, plain = 0.0;
  if (!p->is_rigid) return;
  for (int64_t a = p->first; a < p->end; ++a) sum += c->r_previous[3 * a] * w[a], weight += c->r_previous[3 * a], plain += w[a];
  const double mean = weight > 0.0 ? sum / weight : plain / (double)(p->end - p->first);
  for (int64_t a = p->first; a < p->end; ++a) w[a] = mean;
}

/* Least period of the contacts of a pair in steps. The springs of n equally loaded contacts of rigid bodies act in parallel, so that the pair
 * has the period min_contact_period if each has n^1/2 times this period. Contacts at rest sink by R_N r_N (dt + relaxation), R_N = period^2 w / 4
 * pi^2; the period is smaller if this exceeds max_depth for the force of the last step. For rigid bodies this force is the root of the sum of
 * squares of the pair, at least the largest one. The largest one alone changes too much when a pair redistributes its load, and a spring that
 * becomes stiffer while it is compressed adds energy (A16-convex: 2 mJ in each of many steps). The sum makes flat contacts so stiff that
 * Coulomb's law converges slowly (A07-convex). The load of new pairs is not known; it is assumed to change the velocity of the contact by 100
 * acceleration dt, so that structures released without load, such as arches, do not sink first. */
static double pair_period(double min_contact_period, const convex_contacts *c, const contact_pair *p, const sap_parameters *step,
                          double acceleration, double max_depth, const double *w)
{
  double sum = 0.0, most = 0.0, fastest = 0.0, n = 1.0;
  for (int64_t a = p->first; a < p->end; ++a) {
    const double r = c->r_previous[3 * a], change = w[a] * r;
    sum += r, most = fmax(most, r), fastest = p->is_rigid ? hypot(fastest, change) : fmax(fastest, change);
  }
  if (p->is_rigid && most > 0.0) n = sum / most;
  if (!(fastest > 0.0)) fastest = 100.0 * acceleration * step->dt;
  const double square = n * min_contact_period * min_contact_period,
               limit  = 4.0 * M_PI * M_PI * max_depth / (fastest * (step->dt + step->relaxation));
  return sqrt(fmin(square, limit));
}

static const double MAX_CREEP = 1e-6; /* default of max_creep [m/s] */

static double relaxation_time(const convex_options *o, double dt) { return isnan(o->relaxation_time) ? dt : o->relaxation_time; }

static void make_laws(const convex_options *o, const step_frame *f, const sparse_rows *J, const double *inverse, const double *u0,
                      double max_depth, double *w, convex_contacts *c)
{
  const scene         *s     = f->layout.scene;
  const contact_spot  *spots = step_contacts_spots(&f->contacts);
  const contact_rests *rests = scene_overlaps_rests(s->overlaps);
  const double         asked = f->contacts.overlap_correction_speed, v_rest = f->layout.acceleration_scale * f->layout.dt;
  sap_parameters       step = {.dt                       = f->layout.dt,
                               .relaxation               = relaxation_time(o, f->layout.dt),
                               .stiction_tolerance       = o->stiction_tolerance,
                               .overlap_correction_speed = isfinite(asked) ? asked : v_rest,
                               .dissipation              = o->dissipation,
                               .slip                     = o->slip_speed};
  contact_pair         p    = {.first = 0};
  /* The search for an equilibrium uses other steps, but the equilibrium is that of the stiffness of time.step. */
  const double least_period = o->min_contact_period * (f->layout.is_precise ? s->options->time->step / f->layout.dt : 1.0);
  for (int64_t a = 0; a < c->n; ++a) w[a] = inverse_mass(J, inverse, a);
  for (; p.first < c->n; p.first = p.end) { /* contacts are sorted by detector and pair */
    for (p.end = p.first + 1; p.end < c->n && spots[p.end].key[0] == spots[p.first].key[0];) ++p.end;
    p.is_rigid = f->contacts.frame[spots[p.first].body_a] >= 0 && f->contacts.frame[spots[p.first].body_b] >= 0;
    equalise_masses(c, &p, w);
    step.min_contact_period = pair_period(least_period, c, &p, &step, f->layout.acceleration_scale, max_depth, w);
    for (int64_t a = p.first; a < p.end; ++a) {
      c->pair[a]             = p.first;
      const contact_law *law = scene_law(s, spots[a].body_a, spots[a].body_b);
      const double       k   = law->stiffness;
      const double       gap =
          spots[a].gap +
          (isnan(k) ? 0.0 : contact_rest_depth(rests, spots[a].body_a, spots[a].body_b)); /* near-rigid contacts limit the speed */
      const sap_source is = {
          .mu = f->contacts.mu[a], .gap = gap, .stiffness = isnan(k) ? INFINITY : k, .w = w[a], .normal_speed = u0[3 * a]};
      c->law[a] = sap_contact_make((sap_model)o->law, &step, &is);
    }
  }
}

/* Prediction from the last step: contacts that slid then slide with the velocity u0 of the start of the step, and friction is as in the last
 * step. */
static void predict(const convex_options *o, const double *u0, double *shift, convex_contacts *c)
{
  const bool is_repeated = o->law == SAP_REGULARISED && o->max_coulomb_iterations > 1;
  for (int64_t a = 0; a < c->n; ++a) {
    const double *r = c->r_previous + 3 * a;
    shift[a]        = 0.0;
    if (!is_repeated) continue;
    if (hypot(r[1], r[2]) >= c->law[a].mu * r[0] * (1.0 - 1e-9)) shift[a] = c->law[a].mu * hypot(u0[3 * a + 1], u0[3 * a + 2]);
    c->known[3 * a] += shift[a];
    for (int i = 0; i < 2; ++i) {
      c->anchor[2 * a + i] = r[1 + i];
      c->known[3 * a + 1 + i] -= c->law[a].R_t * r[1 + i];
    }
  }
}

PetscErrorCode convex_contacts_create(const convex_options *o, const step_frame *f, const step_unknowns *u, const sparse_rows *A,
                                      const sparse_rows *J, const convex_constraints *constraints, double max_depth, double *shift,
                                      convex_contacts *c)
{
  const contact_jacobian *rows    = &f->contacts.rows;
  double                 *inverse = NULL, *u0 = NULL, *still = NULL, *w = NULL;
  PetscFunctionBegin;
  c->n                   = rows->n;
  double       **three[] = {&c->known, &c->r, &c->u, &c->x, &u0};
  PetscErrorCode code    = memory_alloc("laws of contacts", c->n, sizeof *c->law, &c->law);
  for (int k = 0; k < 5 && !code; ++k) code = memory_alloc("velocities of contacts", 3 * (c->n + constraints->n), sizeof(double), three[k]);
  if (!code)
    code = MEMORY_ALLOC("convex contacts", ARRAY(c->r_previous, 3 * c->n), ARRAY(c->anchor, 2 * c->n), ARRAY(c->scale, 9 * c->n),
                        ARRAY(inverse, A->n_rows), ARRAY(w, c->n), ARRAY(c->pair, c->n), ARRAY(c->largest, c->n));
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
    make_laws(o, f, J, inverse, u0, max_depth, w, c);
    predict(o, u0, shift, c);
  }
  MEMORY_FREE(&inverse, &u0, &still, &w);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Tangential velocity u_T of contact a, without the anchor. */
static void tangential(const convex_contacts *c, int64_t a, double u[2])
{
  for (int i = 0; i < 2; ++i) u[i] = c->u[3 * a + 1 + i] + c->law[a].R_t * c->anchor[2 * a + i];
}

static bool sticks(const convex_contacts *c, int64_t a) { return c->r[3 * a] > 0.0 && !sap_law_slides(c->law + a, c->r + 3 * a); }

/* Sliding velocity x_T = u_T + R_t (r_T - anchor); exactly 0 for a sticking contact, which rounding would hide. */
static void sliding_of(const convex_contacts *c, int64_t a, double x[2])
{
  for (int i = 0; i < 2; ++i) x[i] = sticks(c, a) ? 0.0 : c->u[3 * a + 1 + i] + c->law[a].R_t * c->r[3 * a + 1 + i];
}

int64_t convex_contacts_compare(const convex_options *o, const double *shift, convex_contacts *c, double *target)
{
  const double creep = isnan(o->max_creep) ? MAX_CREEP : o->max_creep;
  int64_t      n     = 0;
  for (int64_t a = 0; a < c->n; ++a) c->largest[a] = 0.0;
  for (int64_t a = 0; a < c->n; ++a) c->largest[c->pair[a]] = fmax(c->largest[c->pair[a]], c->r[3 * a]);
  for (int64_t a = 0; a < c->n; ++a) {
    const sap_contact *law  = c->law + a;
    const double       load = law->R_n * c->largest[c->pair[a]], least = fmax(o->coulomb_tolerance * load, 1e-3 * creep);
    double             x[2], u[2];
    target[a] = 0.0;
    sliding_of(c, a, x);
    tangential(c, a, u);
    target[a] = law->mu * hypot(x[0], x[1]);
    if (!(c->r[3 * a] > 0.0) && c->u[3 * a] - shift[a] >= law->bias - least) continue; /* separated: correct with any shift */
    n += fabs(target[a] - shift[a]) > least || (sticks(c, a) && hypot(u[0], u[1]) > creep);
  }
  return n;
}

void convex_contacts_shift(const double *next, double *shift, convex_contacts *c)
{
  for (int64_t a = 0; a < c->n; ++a) {
    c->known[3 * a] += next[a] - shift[a];
    shift[a] = next[a];
    for (int i = 0; i < 2; ++i) {
      const double r = c->r[3 * a + 1 + i];
      c->known[3 * a + 1 + i] -= c->law[a].R_t * (r - c->anchor[2 * a + i]);
      c->anchor[2 * a + i] = r;
    }
  }
}

void convex_contacts_coulomb_problem(const double *shift, const convex_contacts *c, double *q, double *compliance)
{
  for (int64_t a = 0; a < c->n; ++a) {
    const sap_contact *law = c->law + a;
    q[3 * a] += c->known[3 * a] - shift[a] - law->bias;
    for (int i = 0; i < 2; ++i) q[3 * a + 1 + i] += c->known[3 * a + 1 + i] + law->R_t * c->anchor[2 * a + i];
    compliance[2 * a]     = law->R_n;
    compliance[2 * a + 1] = 0.0;
  }
}

void convex_contacts_adopt(const double *r, const double *u, double *shift, double *next, convex_contacts *c)
{
  for (int64_t a = 0; a < c->n; ++a) {
    v3_copy(c->r + 3 * a, r + 3 * a);
    next[a] = r[3 * a] > 0.0 && sap_law_slides(c->law + a, r + 3 * a) ? c->law[a].mu * hypot(u[3 * a + 1], u[3 * a + 2]) : 0.0;
  }
  convex_contacts_shift(next, shift, c);
}

void convex_contacts_evaluate(const convex_options *o, const double *shift, convex_contacts *c)
{
  for (int64_t a = 0; a < c->n; ++a) {
    const sap_contact *law = c->law + a;
    const double      *r   = c->r + 3 * a;
    double            *u = c->u + 3 * a, *x = c->x + 3 * a, *W = c->scale + 9 * a;
    m3_identity(W);
    W[0] = W[4] = W[8] = law->R_t / o->stiction_tolerance;
    if (o->law == SAP_REGULARISED) {
      sliding_of(c, a, x + 1);
      tangential(c, a, u + 1);
      /* the error refers to Coulomb's law also if the iterations have not converged, or are limited to one */
      x[0] = u[0] - law->bias + law->R_n * r[0] + law->mu * hypot(x[1], x[2]) - shift[a];
    } else { /* not bounded by a cone: x only indicates whether the contact slides */
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
    if (c->r[3 * a] > 0.0)
      most = fmax(most, o->law == SAP_REGULARISED
                            ? c->law[a].R_t * (c->law[a].mu * c->r[3 * a] + hypot(c->anchor[2 * a], c->anchor[2 * a + 1]))
                            : c->law[a].slip);
  return most;
}

spring_energy convex_contacts_energy(const convex_options *o, const step_frame *f, const convex_contacts *c, double *of_contact)
{
  const scene         *s     = f->layout.scene;
  const contact_spot  *spot  = step_contacts_spots(&f->contacts);
  const double         dt    = f->layout.dt;
  const contact_rests *rests = scene_overlaps_rests(s->overlaps);
  spring_energy        sum   = {0.0, 0.0, 0.0};
  for (int64_t a = 0; a < c->n; ++a) {
    const contact_law *pair  = scene_law(s, spot[a].body_a, spot[a].body_b);
    const bool         rigid = isnan(pair->stiffness);
    const double       gap   = spot[a].gap + (rigid ? 0.0 : contact_rest_depth(rests, spot[a].body_a, spot[a].body_b)),
                 delay       = gap > 0.0 ? 0.0 : relaxation_time(o, dt);
    const double k           = o->law == SAP_LAGGED ? c->law[a].stiffness : 1.0 / (dt * (dt + delay) * c->law[a].R_n);
    const double end         = gap + dt * (c->u[3 * a] - f->contacts.shift[a]);
    of_contact[a]            = 0.0;
    if (rigid && pair->may_overlap && !pair->is_preloaded) continue; /* the overlap is corrected, see quality_monitor.h */
    of_contact[a] = rigid ? 0.5 * fmax(0.0, c->r[3 * a]) / dt * fmax(0.0, -end) : contact_spring_energy(k, end);
    sum.end += of_contact[a];
    if (rigid) continue;
    sum.start += contact_spring_energy(k, gap);
    sum.correction +=
        contact_spring_energy(k, gap) - contact_spring_energy(k, gap + contact_rest_reduction(rests, spot[a].body_a, spot[a].body_b));
  }
  return sum;
}
