/* Bullet: the sequential impulse solver with 10 (its default) and 100 iterations. Other settings are defaults, one substep per step. */
#include <btBulletDynamicsCommon.h>
#include "pile.h"

namespace {
void simulate(const pile &p, int iterations)
{
  btDefaultCollisionConfiguration     configuration;
  btCollisionDispatcher               dispatcher(&configuration);
  btDbvtBroadphase                    broad_phase;
  btSequentialImpulseConstraintSolver solver;
  btDiscreteDynamicsWorld             world(&dispatcher, &broad_phase, &solver, &configuration);
  world.setGravity(btVector3(0, 0, btScalar(-9.81)));
  world.getSolverInfo().m_numIterations = iterations;
  const btScalar    h = btScalar(p.half), w = btScalar(p.width);
  btSphereShape     ball(h);
  btBoxShape        cube(btVector3(h, h, h));
  cube.setMargin(btScalar(0.001));
  btCollisionShape *shape = p.is_cube ? static_cast<btCollisionShape *>(&cube) : &ball;
  const btScalar    mass  = btScalar(1000.0 * (p.is_cube ? 8.0 * p.half * p.half * p.half : 4.0 / 3.0 * 3.14159265358979 * p.half * p.half * p.half));
  btVector3         inertia;
  shape->calculateLocalInertia(mass, inertia);
  btStaticPlaneShape plane[5] = {{btVector3(0, 0, 1), 0}, {btVector3(1, 0, 0), 0}, {btVector3(-1, 0, 0), -w}, {btVector3(0, 1, 0), 0}, {btVector3(0, -1, 0), -w}};
  std::vector<btRigidBody *> body;
  for (btStaticPlaneShape &wall : plane) {
    btRigidBody::btRigidBodyConstructionInfo info(0, nullptr, &wall);
    body.push_back(new btRigidBody(info));
  }
  for (int i = 0; i < p.n; ++i) {
    btRigidBody::btRigidBodyConstructionInfo info(mass, nullptr, shape, inertia);
    info.m_startWorldTransform.setOrigin(btVector3(btScalar(p.x[3 * i]), btScalar(p.x[3 * i + 1]), btScalar(p.x[3 * i + 2])));
    body.push_back(new btRigidBody(info));
  }
  for (btRigidBody *b : body) {
    b->setFriction(btScalar(std::sqrt(0.5))); /* Bullet multiplies both coefficients */
    b->setActivationState(DISABLE_DEACTIVATION);
    world.addRigidBody(b);
  }
  double step[PILE_STEPS], deepest = 0.0;
  for (int k = 0; k < PILE_STEPS; ++k) {
    const double begin = cpu_time();
    world.stepSimulation(btScalar(5e-3), 0);
    step[k] = cpu_time() - begin;
  }
  for (int i = 0; i < dispatcher.getNumManifolds(); ++i)
    for (int k = 0; k < dispatcher.getManifoldByIndexInternal(i)->getNumContacts(); ++k)
      deepest = std::max(deepest, -static_cast<double>(dispatcher.getManifoldByIndexInternal(i)->getContactPoint(k).getDistance()));
  std::vector<double> x(p.x.size());
  for (int i = 0; i < p.n; ++i)
    for (int q = 0; q < 3; ++q) x[3 * i + q] = body[5 + i]->getWorldTransform().getOrigin()[q];
  char name[60];
  std::snprintf(name, sizeof name, "Bullet, %d iterations", iterations);
  pile_print(name, step, p.is_cube ? deepest : overlap_of_balls(p, x));
  for (btRigidBody *b : body) world.removeRigidBody(b), delete b;
}
}

int main(int argc, char **argv)
{
  pile p;
  if (argc != 2 || !pile_read(argv[1], &p)) return 2;
  simulate(p, 10), simulate(p, 100);
}
