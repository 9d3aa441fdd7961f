/* ODE: the iterative solver with 20 (its default) and 200 iterations. Other settings are defaults. */
#include <ode/ode.h>
#include "pile.h"

namespace {
enum { MAX_CONTACTS = 8 };
struct run {
  dWorldID      world;
  dJointGroupID joints;
  double        deepest;
};

void near(void *data, dGeomID a, dGeomID b)
{
  run      *r = static_cast<run *>(data);
  dContact  c[MAX_CONTACTS];
  const int n = dCollide(a, b, MAX_CONTACTS, &c[0].geom, sizeof(dContact));
  for (int i = 0; i < n; ++i) {
    c[i].surface.mode = dContactApprox1;
    c[i].surface.mu   = 0.5;
    r->deepest        = std::max(r->deepest, static_cast<double>(c[i].geom.depth));
    dJointAttach(dJointCreateContact(r->world, r->joints, &c[i]), dGeomGetBody(a), dGeomGetBody(b));
  }
}

void simulate(const pile &p, int iterations)
{
  run      r     = {dWorldCreate(), dJointGroupCreate(0), 0.0};
  dSpaceID space = dHashSpaceCreate(nullptr);
  dWorldSetGravity(r.world, 0, 0, -9.81);
  dWorldSetQuickStepNumIterations(r.world, iterations);
  dCreatePlane(space, 0, 0, 1, 0), dCreatePlane(space, 1, 0, 0, 0), dCreatePlane(space, -1, 0, 0, -p.width);
  dCreatePlane(space, 0, 1, 0, 0), dCreatePlane(space, 0, -1, 0, -p.width);
  std::vector<dBodyID> body(static_cast<size_t>(p.n));
  for (int i = 0; i < p.n; ++i) {
    dMass m;
    body[i] = dBodyCreate(r.world);
    if (p.is_cube) dMassSetBox(&m, 1000, 2 * p.half, 2 * p.half, 2 * p.half);
    else dMassSetSphere(&m, 1000, p.half);
    dBodySetMass(body[i], &m);
    dBodySetPosition(body[i], p.x[3 * i], p.x[3 * i + 1], p.x[3 * i + 2]);
    dGeomSetBody(p.is_cube ? dCreateBox(space, 2 * p.half, 2 * p.half, 2 * p.half) : dCreateSphere(space, p.half), body[i]);
  }
  double step[PILE_STEPS];
  for (int k = 0; k < PILE_STEPS; ++k) {
    const double begin = cpu_time();
    r.deepest          = 0.0;
    dSpaceCollide(space, &r, near);
    dWorldQuickStep(r.world, 5e-3);
    dJointGroupEmpty(r.joints);
    step[k] = cpu_time() - begin;
  }
  std::vector<double> x(p.x.size());
  for (int i = 0; i < p.n; ++i)
    for (int q = 0; q < 3; ++q) x[3 * i + q] = dBodyGetPosition(body[i])[q];
  char name[60];
  std::snprintf(name, sizeof name, "ODE, %d iterations", iterations);
  pile_print(name, step, p.is_cube ? r.deepest : overlap_of_balls(p, x));
  dSpaceDestroy(space), dJointGroupDestroy(r.joints), dWorldDestroy(r.world);
}
}

int main(int argc, char **argv)
{
  pile p;
  if (argc != 2 || !pile_read(argv[1], &p)) return 2;
  dInitODE();
  simulate(p, 20), simulate(p, 200);
  dCloseODE();
}
