/* How strong sand with staggered stress is: what the cone leaves of stresses that are known in closed form. */
#include "flow_fixture.h"
#include "optim/granular/granular_stress_gradient.h"

static const double huge = 1e6; /* Pa: stress far outside of all cones */

typedef struct {
  fixture         w;
  arena          *memory;
  granular_solver S;
  granular_report r;
} scene;

static const fixture_spec full_box = {.n = {3, 8, 4}, .h = 0.05, .dt = 0.02, .rho = 1600, .M = 0.4, .is_staggered = true};

static void scene_create(scene *t, bool is_orthonormal)
{
  fixture_spec spec   = full_box;
  spec.is_orthonormal = is_orthonormal;
  *t                  = (scene){0};
  fixture_create(&t->w, &spec);
  assert_ok(arena_create(1 << 16, &t->memory));
  assert_ok(granular_solver_create(&t->S, &t->w.f, &t->w.o, t->memory, &t->w.x, &t->r));
  assert_ok(granular_stress_gradient.create(&t->S));
}
static void scene_destroy(scene *t)
{
  granular_stress_gradient.destroy(&t->S);
  granular_solver_destroy(&t->S);
  arena_destroy(&t->memory);
  fixture_destroy(&t->w);
}
static void shorten(scene *t)
{
  assert_ok(granular_support_start(&t->S, false));
  granular_radii(&t->S);
  granular_gradient_staggered_shorten(&t->S, t->S.stress, t->w.x.s);
}

/* One stress everywhere under one pressure: its length is sqrt(2) M p, its direction stays, at walls and in corners, too. What is
 * within stays as it is. */
static void uniform_stress_gets_the_length_of_the_cone(void **state)
{
  static const double five[5] = {0.7, -0.2, 0.5, -0.9, 0.3};
  const double        p       = 1234.5;
  (void)state;
  for (int basis = 0; basis < 2; ++basis)
    for (int is_within = 0; is_within < 2; ++is_within) {
      scene t;
      scene_create(&t, basis);
      const double bound = sqrt(2.0) * full_box.M * p,
                   /* |s|_F: the components make sxx, szz, sxy, sxz, syz, syy = -sxx - szz */
          size           = basis ? sqrt(0.49 + 0.04 + 0.25 + 0.81 + 0.09) : sqrt(0.49 + 0.04 + 0.25 + 2.0 * (0.25 + 0.81 + 0.09)),
                   start = is_within ? 0.999 * bound / size : huge;
      for (int64_t c = 0; c < t.w.f.n_cells; ++c) t.w.x.p[c] = p;
      for (int64_t i = 0; i < t.w.f.n_stress; ++i) t.w.x.s[i] = start * five[t.w.component[i]];
      shorten(&t);
      const double wanted = is_within ? start : bound / size;
      for (int64_t i = 0; i < t.w.f.n_stress; ++i) assert_close(t.w.x.s[i], wanted * five[t.w.component[i]], 1e-12 * bound);
      scene_destroy(&t);
    }
  assert_no_leak();
}

/* Sheared along the floor under pressure k depth: an edge bears the pressure of its own depth, the mean of the cells above and
 * below, not that of the shallower one. The cell of the surface is half as deep as its lower edge, and shortened three
 * times over: with depths in cells, its edges bear 1/2 and 1, then 1/3 and 5/6, then 2/7 and 65/84. */
static void an_edge_bears_the_pressure_of_its_depth(void **state)
{
  (void)state;
  for (int basis = 0; basis < 2; ++basis) {
    scene t;
    scene_create(&t, basis);
    const double k = full_box.rho * FIXTURE_G * full_box.h, of_depth = sqrt(2.0) * full_box.M * k * (basis ? 1.0 : sqrt(0.5));
    int          n[9] = {0}, p[3];
    for (int64_t c = 0; c < t.w.f.n_cells; ++c) t.w.x.p[c] = k * (full_box.n[1] - t.w.ijk[c][1] - 0.5);
    for (int64_t i = 0; i < t.w.f.n_stress; ++i) t.w.x.s[i] = t.w.component[i] == 2 ? huge : 0.0;
    shorten(&t);
    int64_t sample = 2 * t.w.f.n_cells; /* in the order in which the fixture numbers edges: along x, y, z */
    for (int o = 0; o < 3; ++o) FIXTURE_EACH(p, t.w.spec.n, 1)
      {
        if (p[o] >= t.w.spec.n[o]) continue;
        const double depth = full_box.n[1] - p[1], wanted = p[1] == 0   ? depth - 0.5 /* the floor: of the one cell on it */
                                                            : depth > 1 ? depth
                                                            : depth > 0 ? 65.0 / 84.0
                                                                        : 2.0 / 7.0;
        assert_close(t.w.x.s[sample], o == 2 ? of_depth * wanted : 0.0, 1e-12 * of_depth * (1.0 + depth));
        n[p[1]] += o == 2, ++sample;
      }
    assert_int_equal(sample, t.w.f.n_stress);
    for (int j = 0; j < 9; ++j) assert_int_equal(n[j], 4 * 4);
    scene_destroy(&t);
  }
  assert_no_leak();
}

static bool is_half_full(const int p[3], const int n[3]) { return 2 * p[1] < n[1] + p[0]; }

/* Material whose density is smaller or larger by a power of two has the same velocities, and stresses that differ by this power, bit for bit after as many
 * iterations: no constant of the method depends on units. */
static void units_of_mass_do_not_matter(void **state)
{
  (void)state;
  for (int kind = 0; kind < 4; ++kind) {
    fixture         w[3];
    granular_report r[3];
    const double    factor[3] = {1.0, 0x1p-12, 0x1p24};
    for (int k = 0; k < 3; ++k) {
      fixture_spec spec   = full_box;
      spec.is_orthonormal = kind & 1, spec.is_staggered = kind >> 1, spec.tilt = 0.4, spec.is_material = is_half_full;
      spec.rho *= factor[k];
      fixture_create(&w[k], &spec);
      r[k] = fixture_solve(&w[k]);
      assert_true(r[k].is_converged && r[k].s_iterations > 10);
      assert_int_equal(r[k].s_iterations, r[0].s_iterations);
      assert_memory_equal(w[k].x.u, w[0].x.u, (size_t)w[k].f.n_faces * sizeof(double));
      for (int64_t i = 0; i < w[k].f.n_cells; ++i) assert_close(w[k].x.p[i], factor[k] * w[0].x.p[i], 0.0);
      for (int64_t i = 0; i < w[k].f.n_stress; ++i) assert_close(w[k].x.s[i], factor[k] * w[0].x.s[i], 0.0);
    }
    for (int k = 0; k < 3; ++k) fixture_destroy(&w[k]);
  }
  assert_no_leak();
}

/* Two cells on each other in a shaft with smooth sides. The upper moves down with V, so that p = V h/mobility in both; along x
 * they move in opposite directions with U each. The edge between them transmits sqrt(2) M p in the norm of the cone, that is, a
 * shear stress of M p. It slows them by mobility M p/h = M V, or stops them if U is less. Tested for the whole solver, by every
 * method: for pure shear the pyramid is the cone. The larger diagonal of SP reduces a shear stress below the bound. */
static void cells_slide_on_each_other_by_m_times_p(void **state)
{
  enum { X0, X1, Y1, Y2, N_FACES, N_CELLS = 2, EDGE = 2 * N_CELLS, N_STRESS };
  static const int32_t ijk[N_CELLS][3]     = {{0, 0, 0}, {0, 1, 0}};
  static const int32_t cells[N_STRESS][4]  = {{0, -1, -1, -1}, {0, -1, -1, -1}, {1, -1, -1, -1}, {1, -1, -1, -1}, {0, 1, -1, -1}};
  static const uint8_t component[N_STRESS] = {0, 1, 0, 1, 2};
  static const double  mobility[N_FACES] = {1e-5, 1e-5, 1e-5, 1e-5}, weight[N_FACES] = {1e-3, 1e-3, 1e-3, 1e-3};
  const double         h = 0.1, M = 0.3, V = 0.02, alpha[N_CELLS] = {sqrt(2.0) * M, sqrt(2.0) * M}, p = V * h / mobility[0],
               U[3] = {10.0 * M * V, 2.0 * M * V, 0.5 * M * V};
  (void)state;
  for (int kind = 0; kind < 6 * 4; ++kind) {
    const bool   is_orthonormal = kind & 1;
    const double along = U[kind / 2 % 3], slowed = fmin(M * V, along / (kind / 6 == GRANULAR_STRESS_SP ? 1.0 + GRANULAR_SP_SHIFT : 1.0));
    const double shear = is_orthonormal ? sqrt(0.5) : 1.0, u_star[N_FACES] = {-along, along, 0.0, -V},
                 yy[2]            = {is_orthonormal ? -sqrt(0.5) : -1.0, is_orthonormal ? sqrt(1.0 / 6.0) : -1.0};
    double          at_p[N_CELLS] = {0}, s[N_STRESS] = {0}, multiplier[N_CELLS] = {0}, u[N_FACES], none[1] = {0};
    sparse_rows     G, GT, D, DT;
    triplets        g = {0}, d = {0};
    fixture         options;
    granular_report r;
    fixture_options(&options);
    fixture_tighten(&options, 1e-10);
    options.o.stress = GRANULAR_STRESS_GRADIENT + kind / 6;
    for (int c = 0; c < N_CELLS; ++c) {
      const int below = c == 0 ? -1 : Y1, above = c == 0 ? Y1 : Y2;
      triplet(&g, c, below, 1.0 / h), triplet(&g, c, above, -1.0 / h);
      for (int e = 0; e < 2; ++e) triplet(&d, 2 * c + e, below, -yy[e] / h), triplet(&d, 2 * c + e, above, yy[e] / h);
    }
    triplet(&d, EDGE, X1, shear / h), triplet(&d, EDGE, X0, -shear / h);
    triplets_become(&g, N_CELLS, N_FACES, &G, &GT), triplets_become(&d, N_STRESS, N_FACES, &D, &DT);
    const granular_problem f = {.n_faces        = N_FACES,
                                .n_cells        = N_CELLS,
                                .n_stress       = N_STRESS,
                                .u_star         = u_star,
                                .mobility       = mobility,
                                .weight         = weight,
                                .G              = &G,
                                .GT             = &GT,
                                .D              = &D,
                                .DT             = &DT,
                                .ijk            = ijk,
                                .is_staggered   = true,
                                .is_orthonormal = is_orthonormal,
                                .component      = component,
                                .sample_cells   = cells,
                                .alpha          = alpha,
                                .pressure_scale = p};
    granular_state         x = {at_p, s, none, none, multiplier, u, none};
    assert_ok(granular_solve(&f, &options.o, NULL, &x, &r));
    assert_true(r.is_converged);
    for (int c = 0; c < N_CELLS; ++c) assert_close(at_p[c], p, 1e-8 * p);
    assert_close(fabs(s[EDGE]) * shear, slowed / (M * V) * M * p, 1e-6 * M * p);
    assert_close(u[X0], -along + slowed, 1e-6 * V);
    assert_close(u[X1], along - slowed, 1e-6 * V);
    assert_close(r.kkt.yield, slowed / (M * V), 1e-6);
    sparse_rows_destroy(&G), sparse_rows_destroy(&GT), sparse_rows_destroy(&D), sparse_rows_destroy(&DT);
    document_destroy(&options.doc);
  }
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(units_of_mass_do_not_matter), cmocka_unit_test(uniform_stress_gets_the_length_of_the_cone),
          cmocka_unit_test(an_edge_bears_the_pressure_of_its_depth), cmocka_unit_test(cells_slide_on_each_other_by_m_times_p))
