/* Small continua for the flow solver: cells of a box with solid walls, some of them material, the others air; full volumes everywhere.
 * Operators are put together edge by edge here, on their own: nothing of the code's grid is used. */
#ifndef SS_TESTS_FLOW_FIXTURE_H
#define SS_TESTS_FLOW_FIXTURE_H
#include "core/document.h"
#include "core/random.h"
#include "optim/granular/granular.h"
#include "test.h"
#include <string.h>

#define FIXTURE_G 9.81
enum { FIXTURE_BODIES = 4, FIXTURE_CONTACTS = 64 };

typedef struct {
  int    n[3];
  double h, dt, rho, M;
  bool   is_staggered, is_orthonormal, is_open_wall;     /* open: sides are air (no walls but the floor) */
  double tilt;                                           /* of gravity in the x-y plane [rad] */
  bool (*is_material)(const int ijk[3], const int n[3]); /* NULL: all */
} fixture_spec;

typedef struct {
  fixture_spec     spec;
  int64_t         *cell, *face[3], *edge[3]; /* numbers or -1, at (i, j, k) of a box of n + 1 */
  granular_problem f;
  granular_state   x;
  sparse_rows      G, GT, D, DT;
  double          *u_star, *mobility, *weight, *alpha;
  int32_t (*ijk)[3], (*sample_cells)[4];
  uint8_t         *component;
  double           v_star[FIXTURE_BODIES][6], inverse_mass[FIXTURE_BODIES][36];
  granular_contact contact[FIXTURE_CONTACTS];
  int32_t         *coupled_sample[2], *coupled_body[2];
  double (*coupled_wrench[2])[6];
  document                   *doc;
  granular_options            o;
  bounds_options              pressure, boxes;
  granular_gradient_options   gradient;
  granular_lagrangian_options lagrangian;
  granular_friction_options   friction;
} fixture;

static inline int64_t fixture_at(const fixture *w, const int p[3])
{
  return ((int64_t)p[0] * (w->spec.n[1] + 1) + p[1]) * (w->spec.n[2] + 1) + p[2];
}
static inline bool fixture_inside(const fixture *w, const int p[3])
{
  for (int d = 0; d < 3; ++d)
    if (p[d] < 0 || p[d] >= w->spec.n[d]) return false;
  return true;
}
static inline int64_t fixture_cell(const fixture *w, const int p[3]) { return fixture_inside(w, p) ? w->cell[fixture_at(w, p)] : -1; }
/* The sides of the box are solid, or air. */
static inline bool fixture_is_solid(const fixture *w, const int p[3])
{
  if (fixture_inside(w, p)) return false;
  return !w->spec.is_open_wall || p[1] < 0;
}
static inline void fixture_moved(const int p[3], int axis, int by, int out[3])
{
  memcpy(out, p, 3 * sizeof *out);
  out[axis] += by;
}

typedef struct {
  int64_t  n, capacity;
  int32_t *row, *col;
  double  *value;
} triplets;
static void triplet(triplets *t, int64_t row, int64_t col, double value)
{
  if (row < 0 || col < 0) return;
  if (t->n == t->capacity) {
    const int64_t grown = t->capacity = 2 * t->capacity + 64;
    assert_ok(memory_resize("rows", grown, sizeof *t->row, &t->row));
    assert_ok(memory_resize("cols", grown, sizeof *t->col, &t->col));
    assert_ok(memory_resize("values", grown, sizeof *t->value, &t->value));
  }
  t->row[t->n] = (int32_t)row, t->col[t->n] = (int32_t)col, t->value[t->n++] = value;
}
static void triplets_become(triplets *t, int64_t n_rows, int64_t n_cols, sparse_rows *a, sparse_rows *at)
{
  assert_ok(sparse_rows_from_triplets("fixture", n_rows, n_cols, t->n, t->row, t->col, t->value, a));
  assert_ok(sparse_rows_transposed(a, at));
  memory_free(&t->row), memory_free(&t->col), memory_free(&t->value);
}

#define FIXTURE_EACH(p, n, more)                                                                                                           \
  for (p[0] = 0; p[0] < (n)[0] + (more); ++p[0])                                                                                           \
    for (p[1] = 0; p[1] < (n)[1] + (more); ++p[1])                                                                                         \
      for (p[2] = 0; p[2] < (n)[2] + (more); ++p[2])

static int64_t fixture_number_cells(fixture *w)
{
  int64_t n = 0;
  int     p[3];
  FIXTURE_EACH(p, w->spec.n, 0)
  if (!w->spec.is_material || w->spec.is_material(p, w->spec.n)) w->cell[fixture_at(w, p)] = n++;
  return n;
}
static int64_t fixture_number_faces(fixture *w)
{
  int64_t n = 0;
  int     p[3], below[3];
  for (int a = 0; a < 3; ++a) FIXTURE_EACH(p, w->spec.n, 1)
    {
      fixture_moved(p, a, -1, below);
      if (fixture_is_solid(w, p) || fixture_is_solid(w, below)) continue;
      if (fixture_cell(w, p) >= 0 || fixture_cell(w, below) >= 0) w->face[a][fixture_at(w, p)] = n++;
    }
  return n;
}
/* The four cells around the edge of axis o at p. */
static void fixture_around(const int p[3], int o, int cells[4][3])
{
  const int a = (o + 1) % 3, b = (o + 2) % 3;
  for (int k = 0; k < 4; ++k) {
    memcpy(cells[k], p, 3 * sizeof *p);
    cells[k][a] -= k & 1, cells[k][b] -= k >> 1;
  }
}

/* Coefficient on each diagonal stress (xx, yy, zz) of the first two unknowns. */
static void fixture_diagonal(const fixture *w, double basis[2][3])
{
  const double r2 = sqrt(0.5), r6 = sqrt(1.0 / 6.0), orthonormal[2][3] = {{r2, -r2, 0}, {r6, r6, -2 * r6}},
               components[2][3] = {{1, -1, 0}, {0, -1, 1}};
  memcpy(basis, w->spec.is_orthonormal ? orthonormal : components, sizeof orthonormal);
}

static void fixture_operators(fixture *w)
{
  const double h = w->spec.h, shear = w->spec.is_orthonormal ? sqrt(0.5) : 1.0;
  const int    shear_component[3] = {4, 3, 2}; /* edge along x: yz; y: xz; z: xy */
  triplets     G = {0}, D = {0};
  double       basis[2][3];
  int          p[3], up[3], cells[4][3];
  int64_t      n_stress = w->spec.is_staggered ? 2 * w->f.n_cells : 5 * w->f.n_cells;
  fixture_diagonal(w, basis);
  const int64_t most = 2 * w->f.n_cells + 3 * (int64_t)(w->spec.n[0] + 1) * (w->spec.n[1] + 1) * (w->spec.n[2] + 1) + 5 * w->f.n_cells;
  assert_ok(memory_alloc("components", most, sizeof *w->component, &w->component));
  assert_ok(memory_alloc("sample cells", most, sizeof *w->sample_cells, &w->sample_cells));
  FIXTURE_EACH(p, w->spec.n, 0)
  {
    const int64_t c = fixture_cell(w, p);
    for (int a = 0; a < 3; ++a) {
      fixture_moved(p, a, 1, up);
      const int64_t lower = w->face[a][fixture_at(w, p)], upper = w->face[a][fixture_at(w, up)];
      triplet(&G, c, lower, 1.0 / h), triplet(&G, c, upper, -1.0 / h);
      for (int e = 0; e < 2 && c >= 0; ++e) {
        const int64_t sample = (w->spec.is_staggered ? 2 : 5) * c + e;
        triplet(&D, sample, lower, -basis[e][a] / h), triplet(&D, sample, upper, basis[e][a] / h);
      }
    }
    for (int e = 0; e < 5 && c >= 0; ++e) {
      const int64_t sample = w->spec.is_staggered ? 2 * c + e : 5 * c + e;
      if (w->spec.is_staggered && e > 1) break;
      w->component[sample] = (uint8_t)e;
      for (int k = 0; k < 4; ++k) w->sample_cells[sample][k] = k == 0 ? (int32_t)c : -1;
    }
  }
  for (int o = 0; o < 3; ++o) FIXTURE_EACH(p, w->spec.n, 1)
    {
      const int a = (o + 1) % 3, b = (o + 2) % 3;
      int       n_open = 0, n_material = 0, below[3];
      if (p[o] >= w->spec.n[o]) continue;
      fixture_around(p, o, cells);
      for (int k = 0; k < 4; ++k) n_open += !fixture_is_solid(w, cells[k]), n_material += fixture_cell(w, cells[k]) >= 0;
      if (n_material == 0) continue;
      int64_t face[4];
      double  sign[4];
      fixture_moved(p, b, -1, below);
      face[0] = w->face[a][fixture_at(w, p)], sign[0] = 1.0;
      face[1] = p[b] > 0 ? w->face[a][fixture_at(w, below)] : -1, sign[1] = -1.0;
      fixture_moved(p, a, -1, below);
      face[2] = w->face[b][fixture_at(w, p)], sign[2] = 1.0;
      face[3] = p[a] > 0 ? w->face[b][fixture_at(w, below)] : -1, sign[3] = -1.0;
      if (w->spec.is_staggered) {
        const int64_t sample = n_stress++;
        int           slot   = 0;
        w->component[sample] = (uint8_t)shear_component[o];
        for (int k = 0; k < 4; ++k) w->sample_cells[sample][k] = -1;
        for (int k = 0; k < 4; ++k)
          if (fixture_cell(w, cells[k]) >= 0) w->sample_cells[sample][slot++] = (int32_t)fixture_cell(w, cells[k]);
        for (int k = 0; k < 4; ++k) triplet(&D, sample, face[k], shear * sign[k] / h);
      } else
        for (int q = 0; q < 4; ++q)
          if (fixture_cell(w, cells[q]) >= 0)
            for (int k = 0; k < 4; ++k)
              triplet(&D, 5 * fixture_cell(w, cells[q]) + shear_component[o], face[k], shear * sign[k] / h / n_open);
    }
  w->f.n_stress = n_stress;
  triplets_become(&G, w->f.n_cells, w->f.n_faces, &w->G, &w->GT);
  triplets_become(&D, n_stress, w->f.n_faces, &w->D, &w->DT);
}

static void fixture_fill(fixture *w)
{
  int p[3];
  FIXTURE_EACH(p, w->spec.n, 0)
  if (fixture_cell(w, p) >= 0)
    for (int d = 0; d < 3; ++d) w->ijk[fixture_cell(w, p)][d] = p[d];
  const double g[3] = {FIXTURE_G * sin(w->spec.tilt), -FIXTURE_G * cos(w->spec.tilt), 0.0};
  for (int a = 0; a < 3; ++a) FIXTURE_EACH(p, w->spec.n, 1)
    {
      const int64_t i = w->face[a][fixture_at(w, p)];
      if (i < 0) continue;
      w->mobility[i] = w->spec.dt / w->spec.rho;
      w->weight[i]   = w->spec.h * w->spec.h * w->spec.h;
      w->u_star[i]   = w->spec.dt * g[a];
    }
  for (int64_t c = 0; c < w->f.n_cells; ++c) w->alpha[c] = sqrt(2.0) * w->spec.M;
}

/* Default options, tightened: the copies may be changed. */
static void fixture_options(fixture *w)
{
  const void *read;
  assert_ok(document_create(&w->doc));
  assert_ok(key_table_read(&granular_options_table, w->doc, NULL, "solver.monolith", NULL, &read));
  const granular_options *o = read;
  w->o = *o, w->pressure = *o->pressure, w->boxes = *o->boxes, w->gradient = *o->gradient, w->lagrangian = *o->lagrangian;
  w->friction   = *o->friction;
  w->o.pressure = &w->pressure, w->o.boxes = &w->boxes, w->o.gradient = &w->gradient, w->o.lagrangian = &w->lagrangian;
  w->o.friction = &w->friction;
}
static inline void fixture_tighten(fixture *w, double tolerance)
{
  w->o.tolerance = tolerance, w->o.max_outer_iterations = 5000;
  w->pressure.tolerance = 1e-2 * tolerance, w->pressure.max_iterations = 100000;
  w->boxes.tolerance = 1e-2 * tolerance, w->gradient.max_iterations = 20000, w->friction.max_iterations = 20000;
}

static void fixture_create(fixture *w, const fixture_spec *spec)
{
  *w              = (fixture){.spec = *spec};
  const int64_t n = (int64_t)(spec->n[0] + 1) * (spec->n[1] + 1) * (spec->n[2] + 1);
  assert_ok(memory_alloc("cells", n, sizeof *w->cell, &w->cell));
  for (int64_t i = 0; i < n; ++i) w->cell[i] = -1;
  for (int a = 0; a < 3; ++a) {
    assert_ok(memory_alloc("faces", n, sizeof *w->face[a], &w->face[a]));
    for (int64_t i = 0; i < n; ++i) w->face[a][i] = -1;
  }
  w->f.n_cells = fixture_number_cells(w);
  w->f.n_faces = fixture_number_faces(w);
  assert_ok(memory_alloc("ijk", w->f.n_cells, sizeof *w->ijk, &w->ijk));
  assert_ok(memory_alloc("alpha", w->f.n_cells, sizeof(double), &w->alpha));
  double **const faces[] = {&w->u_star, &w->mobility, &w->weight, &w->x.u};
  for (int k = 0; k < 4; ++k) assert_ok(memory_alloc("faces", w->f.n_faces, sizeof(double), faces[k]));
  fixture_operators(w);
  fixture_fill(w);
  w->f.u_star = w->u_star, w->f.v_star = w->v_star[0], w->f.mobility = w->mobility, w->f.weight = w->weight;
  w->f.G = &w->G, w->f.GT = &w->GT, w->f.D = &w->D, w->f.DT = &w->DT;
  w->f.ijk = (const int32_t(*)[3])w->ijk, w->f.inverse_mass = (const double(*)[36])w->inverse_mass, w->f.contact = w->contact;
  w->f.is_staggered = spec->is_staggered, w->f.is_orthonormal = spec->is_orthonormal;
  w->f.component = w->component, w->f.sample_cells = (const int32_t(*)[4])w->sample_cells, w->f.alpha = w->alpha;
  w->f.pressure_scale = spec->rho * FIXTURE_G * spec->h;
  assert_ok(memory_alloc("p", w->f.n_cells, sizeof(double), &w->x.p));
  assert_ok(memory_alloc("s", w->f.n_stress, sizeof(double), &w->x.s));
  assert_ok(memory_alloc("lambda", FIXTURE_CONTACTS, sizeof(double), &w->x.lambda));
  assert_ok(memory_alloc("z", 2 * FIXTURE_CONTACTS, sizeof(double), &w->x.z));
  assert_ok(memory_alloc("multipliers", w->f.n_cells, sizeof(double), &w->x.multiplier));
  assert_ok(memory_alloc("v", 6 * FIXTURE_BODIES, sizeof(double), &w->x.v));
  fixture_options(w);
}

static void fixture_destroy(fixture *w)
{
  void *const arrays[] = {&w->cell,
                          &w->face[0],
                          &w->face[1],
                          &w->face[2],
                          &w->ijk,
                          &w->alpha,
                          &w->u_star,
                          &w->mobility,
                          &w->weight,
                          &w->x.u,
                          &w->x.p,
                          &w->x.s,
                          &w->x.lambda,
                          &w->x.z,
                          &w->x.multiplier,
                          &w->x.v,
                          &w->component,
                          &w->sample_cells,
                          &w->coupled_sample[0],
                          &w->coupled_sample[1],
                          &w->coupled_body[0],
                          &w->coupled_body[1],
                          &w->coupled_wrench[0],
                          &w->coupled_wrench[1]};
  for (size_t k = 0; k < sizeof arrays / sizeof *arrays; ++k) memory_free(arrays[k]);
  sparse_rows_destroy(&w->G), sparse_rows_destroy(&w->GT), sparse_rows_destroy(&w->D), sparse_rows_destroy(&w->DT);
  document_destroy(&w->doc);
}

static inline void fixture_forget(fixture *w)
{
  memset(w->x.p, 0, (size_t)w->f.n_cells * sizeof(double));
  if (w->f.n_stress) memset(w->x.s, 0, (size_t)w->f.n_stress * sizeof(double));
  memset(w->x.lambda, 0, FIXTURE_CONTACTS * sizeof(double)), memset(w->x.z, 0, 2 * FIXTURE_CONTACTS * sizeof(double));
  memset(w->x.multiplier, 0, (size_t)w->f.n_cells * sizeof(double));
}

static inline granular_report fixture_solve(fixture *w)
{
  granular_report r;
  assert_ok(granular_solve(&w->f, &w->o, NULL, &w->x, &r));
  return r;
}

/* One more free body: mass and size of a solid ball, which is enough for an inertia. */
static inline int fixture_add_body(fixture *w, double mass, double radius)
{
  const int b = (int)w->f.n_bodies++;
  for (int i = 0; i < 6; ++i) w->inverse_mass[b][7 * i] = w->spec.dt / (i < 3 ? mass : 0.4 * mass * radius * radius);
  w->v_star[b][1] = -w->spec.dt * FIXTURE_G;
  return b;
}

static inline double fixture_draw(uint64_t *count) { return random_u01(7, (*count)++, 0) - 0.5; }

/* Two bodies that touch random samples, three contacts, rates of prescribed solids: nothing is zero. */
static inline void fixture_complicate(fixture *w, double *p_known, double *s_known, uint64_t *count)
{
  fixture_add_body(w, 3.0, 0.1), fixture_add_body(w, 0.5, 0.02);
  granular_coupling *const F[2] = {&w->f.F_p, &w->f.F_s};
  for (int k = 0; k < 2; ++k) {
    const int64_t n_samples = k == 0 ? w->f.n_cells : w->f.n_stress;
    assert_ok(memory_alloc("samples", 2 * n_samples, sizeof(int32_t), &w->coupled_sample[k]));
    assert_ok(memory_alloc("bodies", 2 * n_samples, sizeof(int32_t), &w->coupled_body[k]));
    assert_ok(memory_alloc("wrenches", 2 * n_samples, 6 * sizeof(double), &w->coupled_wrench[k]));
    int64_t n = 0;
    for (int64_t i = 0; i < n_samples; ++i)
      for (int b = 0; b < 2; ++b)
        if (fixture_draw(count) > -0.2) {
          w->coupled_sample[k][n] = (int32_t)i, w->coupled_body[k][n] = b;
          for (int d = 0; d < 6; ++d) w->coupled_wrench[k][n][d] = 1e-3 * fixture_draw(count);
          ++n;
        }
    *F[k] = (granular_coupling){n, w->coupled_sample[k], w->coupled_body[k], (const double(*)[6])w->coupled_wrench[k]};
  }
  w->f.n_contacts = 3;
  for (int j = 0; j < 3; ++j) {
    w->contact[j] = (granular_contact){.body = {j == 1 ? -1 : 0, j == 2 ? -1 : 1}, .mu = 0.3};
    for (int k = 0; k < 3; ++k) {
      w->contact[j].known[k] = 0.1 * fixture_draw(count);
      for (int d = 0; d < 12; ++d) (&w->contact[j].row[k][0][0])[d] = fixture_draw(count);
    }
  }
  for (int64_t i = 0; i < w->f.n_cells; ++i) p_known[i] = 1e-5 * fixture_draw(count), w->x.p[i] = 500.0 * (1.2 + fixture_draw(count));
  for (int64_t i = 0; i < w->f.n_stress; ++i) s_known[i] = 1e-5 * fixture_draw(count), w->x.s[i] = 400.0 * fixture_draw(count);
  for (int64_t j = 0; j < 3; ++j)
    w->x.lambda[j] = 5.0 + fixture_draw(count), w->x.z[2 * j] = fixture_draw(count), w->x.z[2 * j + 1] = fixture_draw(count);
  w->f.p_known = p_known, w->f.s_known = s_known;
  for (int64_t i = 0; i < w->f.n_faces; ++i)
    w->u_star[i] += fixture_draw(count), w->mobility[i] *= 1.5 + fixture_draw(count), w->weight[i] *= 1.0 + fixture_draw(count);
}
#endif
