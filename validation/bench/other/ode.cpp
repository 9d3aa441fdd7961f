/* ODE: the pivoting solver and the iterative one with many iterations; contact points of its own collision detection, friction a pyramid. Its defaults
 * (ERP 0.2) but for the softness, CFM 1e-7 m/(N s) a contact: at 1e-9 and below pivoting breaks down ("LCP internal error"), at 1e-5 stacks
 * sink by millimetres; an ERP of 0.8 throws them over. */
#include <ode/ode.h>
#include "scene.h"

namespace {
enum { MAX_CONTACTS = 16 };
struct run {
  dWorldID      world;
  dJointGroupID joints;
  double        friction;
};

void near(void *data, dGeomID a, dGeomID b)
{
  run          *r = static_cast<run *>(data);
  dContact      c[MAX_CONTACTS];
  const int     n = dCollide(a, b, MAX_CONTACTS, &c[0].geom, sizeof(dContact));
  for (int i = 0; i < n; ++i) {
    c[i].surface.mode = dContactApprox1;
    c[i].surface.mu   = r->friction;
    dJointAttach(dJointCreateContact(r->world, r->joints, &c[i]), dGeomGetBody(a), dGeomGetBody(b));
  }
}

void simulate(const other_scene *s, int iterations, int substeps)
{
  run r = {dWorldCreate(), dJointGroupCreate(0), s->friction};
  dSpaceID     space = dSimpleSpaceCreate(nullptr);
  dBodyID      body[OTHER_MAX_BOXES];
  other_result result;
  dWorldSetGravity(r.world, s->gravity[0], s->gravity[1], s->gravity[2]);
  dWorldSetERP(r.world, 0.2);
  dWorldSetCFM(r.world, 1e-7);
  dWorldSetContactSurfaceLayer(r.world, 1e-5);
  if (iterations) dWorldSetQuickStepNumIterations(r.world, iterations);
  dCreatePlane(space, 0, 0, 1, 0);
  for (int i = 0; i < s->n; ++i) {
    const other_box *b = &s->box[i];
    dMass            m;
    body[i] = dBodyCreate(r.world);
    dMassSetBoxTotal(&m, b->mass, 2 * s->half, 2 * s->half, 2 * s->half);
    dBodySetMass(body[i], &m);
    dBodySetPosition(body[i], b->x[0], b->x[1], b->x[2]);
    dBodySetQuaternion(body[i], b->q);
    dBodySetLinearVel(body[i], b->v[0], b->v[1], b->v[2]);
    dGeomSetBody(dCreateBox(space, 2 * s->half, 2 * s->half, 2 * s->half), body[i]);
  }
  const long n = std::lround(s->end / s->dt);
  other_start(&result);
  for (long k = 1; k <= n; ++k) {
    for (int q = 0; q < substeps; ++q) {
      dSpaceCollide(space, &r, near);
      if (iterations) dWorldQuickStep(r.world, s->dt / substeps);
      else dWorldStep(r.world, s->dt / substeps);
      dJointGroupEmpty(r.joints);
    }
    if (!other_wants(&result, s, k * s->dt)) continue;
    other_note_top(&result, s, k * s->dt, dBodyGetPosition(body[s->n - 1]));
  }
  result.speed = dBodyGetLinearVel(body[0])[0];
  for (int i = 0; i < s->n; ++i) {
    const dReal *R = dBodyGetRotation(body[i]);
    const double up[3] = {R[2], R[6], R[10]};
    other_note_up(&result, up);
  }
  char name[64];
  if (iterations) snprintf(name, sizeof name, "ODE, %d iterations%s", iterations, substeps > 1 ? ", 10 substeps" : "");
  else snprintf(name, sizeof name, "ODE, pivoting%s", substeps > 1 ? ", 10 substeps" : "");
  other_print(name, s, &result);
  dJointGroupDestroy(r.joints);
  dSpaceDestroy(space);
  dWorldDestroy(r.world);
}

void silent(int, const char *, va_list) {}
}

int main()
{
  dInitODE2(0);
  dSetMessageHandler(silent);
  for (int i = 0; i < OTHER_SCENES; ++i) {
    other_scene s;
    other_make(&s, i);
    simulate(&s, 0, 1);
    if (s.is_slope) simulate(&s, 100, 1);
    else simulate(&s, 1000, 1), simulate(&s, 100, 10);
  }
  dCloseODE();
  return 0;
}
