/* Bullet: sequential impulses and the nonsmooth conjugate gradient with many iterations and warm starts, and Dantzig's pivoting; split impulses, no
 * restitution, a collision margin of 0.1 mm, and no sleeping. */
#include <btBulletDynamicsCommon.h>
#include <BulletDynamics/ConstraintSolver/btNNCGConstraintSolver.h>
#include <BulletDynamics/MLCPSolvers/btDantzigSolver.h>
#include <BulletDynamics/MLCPSolvers/btMLCPSolver.h>
#include <memory>
#include <vector>
#include "scene.h"

namespace {
enum method { SEQUENTIAL, CONJUGATE, PIVOTING };

void simulate(const other_scene *s, method which, int iterations, int substeps)
{
  btDefaultCollisionConfiguration     configuration;
  btCollisionDispatcher               dispatcher(&configuration);
  btDbvtBroadphase                    broad;
  btDantzigSolver                     dantzig;
  std::unique_ptr<btConstraintSolver> solver;
  if (which == SEQUENTIAL) solver.reset(new btSequentialImpulseConstraintSolver);
  if (which == CONJUGATE) solver.reset(new btNNCGConstraintSolver);
  if (which == PIVOTING) solver.reset(new btMLCPSolver(&dantzig));
  btDiscreteDynamicsWorld world(&dispatcher, &broad, solver.get(), &configuration);
  world.setGravity(btVector3(s->gravity[0], s->gravity[1], s->gravity[2]));
  btContactSolverInfo &info    = world.getSolverInfo();
  info.m_numIterations         = iterations;
  info.m_splitImpulse          = 1;
  info.m_restitution           = 0;
  info.m_minimumSolverBatchSize = 1;
  if (which == PIVOTING) info.m_solverMode |= SOLVER_USE_2_FRICTION_DIRECTIONS, info.m_globalCfm = 1e-8;

  btStaticPlaneShape ground(btVector3(0, 0, 1), 0);
  btBoxShape         box(btVector3(s->half, s->half, s->half));
  box.setMargin(1e-4);
  ground.setMargin(1e-4);
  std::vector<std::unique_ptr<btRigidBody>> body;
  const auto add = [&](double mass, btCollisionShape *shape, const btTransform &pose) {
    btVector3 inertia(0, 0, 0);
    if (mass > 0) shape->calculateLocalInertia(mass, inertia);
    btRigidBody::btRigidBodyConstructionInfo how(mass, nullptr, shape, inertia);
    how.m_startWorldTransform = pose;
    how.m_friction            = std::sqrt(s->friction); /* a pair's is the product */
    body.emplace_back(new btRigidBody(how));
    body.back()->setActivationState(DISABLE_DEACTIVATION);
    body.back()->setDamping(0, 0);
    world.addRigidBody(body.back().get());
  };
  for (int i = 0; i < s->n; ++i) {
    const other_box *b = &s->box[i];
    add(b->mass, &box, btTransform(btQuaternion(b->q[1], b->q[2], b->q[3], b->q[0]), btVector3(b->x[0], b->x[1], b->x[2])));
    body.back()->setLinearVelocity(btVector3(b->v[0], b->v[1], b->v[2]));
  }
  add(0, &ground, btTransform::getIdentity());

  const long   n = std::lround(s->end / s->dt);
  other_result result;
  other_start(&result);
  for (long k = 1; k <= n; ++k) {
    for (int q = 0; q < substeps; ++q) world.stepSimulation(s->dt / substeps, 0);
    if (!other_wants(&result, s, k * s->dt)) continue;
    const btVector3 &x    = body[s->n - 1]->getWorldTransform().getOrigin();
    const double     at[] = {x.x(), x.y(), x.z()};
    other_note_top(&result, s, k * s->dt, at);
  }
  result.speed = body[0]->getLinearVelocity().x();
  for (int i = 0; i < s->n; ++i) {
    const btVector3 z    = body[i]->getWorldTransform().getBasis().getColumn(2);
    const double    up[] = {z.x(), z.y(), z.z()};
    other_note_up(&result, up);
  }
  char        name[80];
  const char *names[] = {"sequential impulses", "conjugate gradient", "pivoting"};
  if (which == PIVOTING) snprintf(name, sizeof name, "Bullet, %s%s", names[which], substeps > 1 ? ", 10 substeps" : "");
  else snprintf(name, sizeof name, "Bullet, %d %s%s", iterations, names[which], substeps > 1 ? ", 10 substeps" : "");
  other_print(name, s, &result);
  for (auto &b : body) world.removeRigidBody(b.get());
}
}

int main()
{
  for (int i = 0; i < OTHER_SCENES; ++i) {
    other_scene s;
    other_make(&s, i);
    const int many = s.is_slope ? 100 : 1000;
    simulate(&s, SEQUENTIAL, many, 1);
    simulate(&s, CONJUGATE, many, 1);
    simulate(&s, PIVOTING, many, 1);
    if (!s.is_slope) simulate(&s, CONJUGATE, 100, 10);
  }
  return 0;
}
