/* Random problems of convex contact on the scenes of friction_fixture.h: stiff to soft, gaps and overlaps, friction 0 to 2. */
#ifndef SS_TESTS_SAP_FIXTURE_H
#define SS_TESTS_SAP_FIXTURE_H
#include "core/math3.h"
#include "friction_fixture.h"
#include "optim/sap/sap.h"
#include <string.h>

typedef struct {
  contact_scene scene;
  delassus     *w;
  sap_contact  *contact;
  double       *v_free, *known; /* [n_dof], [n][3] zero */
  double       *v, *r, *u;      /* solution */
  sap_problem   p;
} sap_case;

static inline void sap_case_contacts(sap_case *c, uint64_t seed, sap_model model, double stiffest)
{
  const sap_parameters step = {.dt                       = 0.01,
                               .relaxation               = 0.01 * scene_random(seed, 10, 0) + 0.01,
                               .min_contact_period       = 1.0,
                               .stiction_tolerance       = 1e-3,
                               .overlap_correction_speed = INFINITY,
                               .dissipation              = 5.0,
                               .slip                     = 1e-4};
  for (int64_t a = 0; a < c->scene.n; ++a) {
    const double *W    = delassus_diagonal(c->w) + 9 * a;
    double        norm = 0.0;
    for (int i = 0; i < 9; ++i) norm += W[i] * W[i];
    const sap_source s = {.mu           = random_u01(seed, (uint64_t)a, 11) < 0.1 ? 0.0 : 2.0 * random_u01(seed, (uint64_t)a, 12),
                          .gap          = 1e-3 * scene_random(seed, 13, (uint64_t)a) - 5e-4,
                          .stiffness    = pow(10.0, 2.0 + stiffest * random_u01(seed, (uint64_t)a, 14)),
                          .w            = sqrt(norm) / 3.0,
                          .normal_speed = c->scene.q[3 * a]};
    c->contact[a]      = sap_contact_make(model, &step, &s);
  }
}

static inline void sap_case_create(sap_case *c, uint64_t seed, int64_t n_bodies, int64_t size, int64_t width, int64_t n, sap_model model,
                                   double stiffest)
{
  memset(c, 0, sizeof *c);
  scene_create(seed, n_bodies, size, width, n, 0.0, &c->scene);
  assert_ok(delassus_create_system(&c->scene.M, &c->scene.H, &c->w));
  const int64_t n_dof = n_bodies * size;
  assert_ok(memory_alloc("contacts", n, sizeof *c->contact, &c->contact));
  assert_ok(memory_alloc("v_free", n_dof, sizeof(double), &c->v_free));
  assert_ok(memory_alloc("v", n_dof, sizeof(double), &c->v));
  assert_ok(memory_alloc("known", 3 * n, sizeof(double), &c->known));
  assert_ok(memory_alloc("r", 3 * n, sizeof(double), &c->r));
  assert_ok(memory_alloc("u", 3 * n, sizeof(double), &c->u));
  for (int64_t i = 0; i < n_dof; ++i) c->v_free[i] = scene_random(seed, 6, (uint64_t)i); /* the scene's own: q = H v_free */
  sap_case_contacts(c, seed, model, stiffest);
  c->p = (sap_problem){&c->scene.M, &c->scene.H, delassus_factor(c->w),
                       c->v_free,   c->known,    {.model = model, .n_contacts = n, .contact = c->contact},
                       NULL,        NULL,        NULL,
                       NULL,        NULL};
}

static inline void sap_case_destroy(sap_case *c)
{
  scene_destroy(&c->scene);
  delassus_destroy(&c->w);
  void *arrays[] = {&c->contact, &c->v_free, &c->v, &c->known, &c->r, &c->u};
  for (size_t k = 0; k < sizeof arrays / sizeof *arrays; ++k) memory_free(arrays[k]);
}

/* Of the kind that problem `seed` of a long series has: bodies 1 to 12 of 6 unknowns, or chains, 1 to 60 contacts, so that many are
 * over-constrained. */
static inline void sap_case_random(sap_case *c, uint64_t seed, sap_model model)
{
  const int64_t n_bodies = 1 + (int64_t)random_index(seed, 0, 20, 12), n = 1 + (int64_t)random_index(seed, 1, 20, 60);
  const bool    is_chain = random_index(seed, 2, 20, 4) == 0;
  sap_case_create(c, seed, n_bodies, is_chain ? 80 : 6, is_chain ? 4 : 5, n, model, 10.0 * random_u01(seed, 3, 20));
}
#endif
