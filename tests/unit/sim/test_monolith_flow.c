/* One step of formulation `monolith` with a continuum, from inside: momentum exchanged between grid and bodies. */
#include "formulation_fixture.h"
#include "core/math3.h"
#include "discretize/mac/mac_domain.h"
#include "monolith_lump.h"
#include "sim/monolith/monolith_flow.h"

typedef struct {
  step_layout       l;
  monolith_bodies   bodies;
  monolith_contacts contacts;
  monolith_solids   solids;
  mac_system        system;
  monolith_flow     flow;
  granular_report   report;
  mac_state        *state;
} parts;

static void parts_solve(world *w, parts *p)
{
  step_status status = {STEP_OK, NULL, -1};
  memset(p, 0, sizeof *p);
  assert_ok(step_layout_create(w->s, &p->l));
  assert_ok(monolith_contacts_create(w->s, &p->contacts));
  assert_ok(monolith_solids_create(w->s, &p->solids));
  assert_ok(step_layout_begin(&p->l, 0.0, w->j->scene.time->step, &status));
  assert_ok(monolith_bodies_begin(&p->bodies, &p->l, &status));
  memcpy(p->l.v, p->l.v0, (size_t)(3 * p->l.n_blocks) * sizeof *p->l.v);
  assert_ok(step_layout_update_poses(&p->l));
  assert_ok(monolith_contacts_find(&p->contacts, &p->l, &p->bodies, &status));
  for (int i = 0; i < w->s->n_systems; ++i)
    if (mac_domain_of(w->s->systems[i])) p->state = mac_domain_state(mac_domain_of(w->s->systems[i]));
  monolith_solids_place(&p->solids, w->s, p->l.frames0);
  assert_ok(mac_system_assemble(p->state, w->j->scene.mac, p->solids.n, p->solids.solid, p->l.dt, &p->system));
  assert_ok(monolith_flow_set_up(&p->flow, &p->system, &p->l, &p->bodies, &p->contacts, &p->solids));
  assert_ok(granular_solve(&p->flow.problem, w->j->scene.solver->monolith, NULL, &p->flow.x, &p->report));
  assert_int_equal(status.code, STEP_OK);
}

static void parts_free(parts *p)
{
  monolith_flow_destroy(&p->flow);
  mac_system_destroy(&p->system);
  monolith_solids_destroy(&p->solids);
  monolith_contacts_destroy(&p->contacts);
  monolith_bodies_destroy(&p->bodies);
  step_layout_destroy(&p->l);
}

/* The momentum gained by the faces, in the metric of the problem's energy, and that gained by the bodies add up to zero; angular
 * momentum likewise. */
static void momentum_is_exchanged(void **unused)
{
  (void)unused;
  world  w;
  parts  p;
  double linear[3] = {0}, angular[3] = {0}, size = 0.0, turn = 0.0, moment[3], wrench[2][6];
  open_world(lump, &w);
  parts_solve(&w, &p);
  const mac_system *y = &p.system;
  assert_true(y->n_cells > 300 && y->n_stress == 5 * y->n_cells && p.contacts.n > 0 && p.flow.F_p.view.n > 10);
  for (int64_t f = 0; f < y->n_faces; ++f) {
    const int axis = y->face_axis[f];
    int32_t   ijk[3];
    double    x[3], gain[3] = {0.0, 0.0, 0.0};
    mac_grid_cell(&p.state->grid, y->face_slot[f], ijk);
    for (int k = 0; k < 3; ++k) x[k] = y->h * (ijk[k] + (k == axis ? 0.0 : 0.5));
    gain[axis] = y->weight[f] / y->mobility[f] * (p.flow.x.u[f] - y->u[f]); /* weight/mobility = mass/dt */
    v3_cross(moment, x, gain);
    v3_add(linear, linear, gain);
    v3_add(angular, angular, moment);
    size += fabs(gain[axis]), turn += v3_norm(moment);
  }
  const double on_faces = v3_norm(linear);
  monolith_flow_wrench(&p.flow, &p.contacts, wrench);
  for (int r = 0; r < 2; ++r) {
    v3_cross(moment, p.l.frames0[r].c, wrench[r]);
    v3_add(linear, linear, wrench[r]);
    v3_add(angular, angular, moment);
    v3_add(angular, angular, wrench[r] + 3);
  }
  print_message("faces %g N of %g N in all; left over %.2g N, %.2g N m\n", on_faces, size, v3_norm(linear), v3_norm(angular));
  assert_true(on_faces > 1.0);
  assert_close(v3_norm(linear), 0.0, 1e-12 * size);
  assert_close(v3_norm(angular), 0.0, 1e-12 * turn);
  parts_free(&p);
  close_world(&w);
  assert_no_leak();
}

/* The linear step of the problem and the bodies' own equations with the same forces give the same velocities except for
 * rotation. */
static void velocities_agree(void **unused)
{
  (void)unused;
  world       w;
  parts       p;
  double      wrench[2][6], v[2][6];
  step_status status = {STEP_OK, NULL, -1};
  open_world(lump, &w);
  parts_solve(&w, &p);
  monolith_flow_wrench(&p.flow, &p.contacts, wrench);
  memcpy(v, p.flow.x.v, sizeof v);
  assert_ok(monolith_bodies_push(&p.bodies, p.l.dt, (const double(*)[6])wrench, v, &status));
  for (int r = 0; r < 2; ++r)
    for (int k = 0; k < 6; ++k) assert_close(v[r][k], p.flow.x.v[6 * r + k], k < 3 || r == 1 ? 1e-12 : 0.05);
  parts_free(&p);
  close_world(&w);
  assert_no_leak();
}

/* Grains on a floor with a board on them, in a box with smooth sides, from rest. At any time the momentum gained by the board
 * equals the reported force of the grains minus its weight, and the momentum gained by all equals their weight minus the
 * reported force on the floor, to rounding. They neither fall nor rise: over the whole time T both bear the weight above them,
 * except for m v / T. A corner of the floor, away from the board, bears at least the grains above it and at most that with the
 * board's weight spread evenly, within the tolerance of the solver. */
static void weights_are_carried(void **unused)
{
  (void)unused;
  enum { STEPS = 50, LAST = 10 };
  static const double dt = 0.005, tolerance = 1e-3, time = STEPS * 0.005, slow = 0.02;
  world               w;
  double              force[3], moment[3], on_board = 0.0, on_floor = 0.0, pressure = 0.0;
  open_world("stickslip: 1\nname: test\nformulation: monolith\ntime: {end: 1, step: 0.005}\ncontact: {friction: 0.5}\n"
             "materials:\n  wood: {model: rigid, density: 700}\n  sand: {model: granular, density: 1600, friction_angle_deg: 30}\n"
             "mac: {domain: {min: [0, 0, 0], max: [0.3, 0.3, 0.27]}, spacing: 0.03, walls: {lower_x: smooth, upper_x: smooth, "
             "lower_y: smooth, upper_y: smooth}}\n"
             "bodies:\n"
             "  bed: {kind: mac, material: sand, shape: {box: {min: [0, 0, 0.06], max: [0.3, 0.3, 0.15]}}}\n"
             "  floor: {kind: static, shape: {box: {min: [-1, -1, -1], max: [1, 1, 0.06]}}}\n"
             "  board: {kind: rigid, material: wood, shape: {box: {min: [0.075, 0.075, 0.151], max: [0.225, 0.225, 0.191]}}}\n"
             "solver: {monolith: {tolerance: 1.0e-3, max_outer_iterations: 100}}\n",
             &w);
  assert_true(isnan(w.f->ops->pressure(w.f, (const double[3]){0.15, 0.15, 0.15})));
  for (int k = 0; k < STEPS; ++k) {
    step(&w);
    contact_forces_between(w.f->forces, 2, 0, force, moment);
    on_board += force[2] * dt;
    contact_forces_between(w.f->forces, 1, -1, force, moment);
    on_floor -= force[2] * dt;
    if (k >= STEPS - LAST) pressure += w.f->ops->pressure(w.f, (const double[3]){0.045, 0.255, 0.075}) / LAST;
  }
  const double mass = 0.15 * 0.15 * 0.04 * 700.0, weight = mass * 9.81, bed = 0.3 * 0.3 * 0.09 * 1600.0 * 9.81, low = 1600.0 * 9.81 * 0.075,
               high = low + weight / (0.3 * 0.3), v = rigid(&w, "board")->v[2], momentum = totals(&w).momentum[2],
               all = (weight + bed) / 9.81;
  print_message("board %g of %g N, floor %g of %g N, pressure in a corner %g, %g to %g Pa\n", on_board / time, weight, on_floor / time,
                bed + weight, pressure, low, high);
  assert_close(on_board, weight * time + mass * v, 1e-12 * weight * time);
  assert_close(on_floor, (bed + weight) * time + momentum, 1e-12 * (bed + weight) * time);
  assert_true(fabs(v) < slow);
  assert_close(on_board / time, weight, mass * slow / time);
  assert_close(on_floor / time, bed + weight, all * slow / time);
  assert_true(pressure > low - tolerance * high && pressure < high + tolerance * high);
  assert_true(w.report.pressure_unknowns > 300 && w.report.volume > 0.0);
  close_world(&w);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(weights_are_carried), cmocka_unit_test(momentum_is_exchanged), cmocka_unit_test(velocities_agree))
