"""Siconos through its Python binding: Moreau's time stepping on Newton-Euler bodies, contacts from its Bullet; Coulomb's cone solved by nonsmooth Newton on
the Alart-Curnier function, or by projected Gauss-Seidel, to 1e-8, both from the last step's forces. Scenes come in on standard input, see stickslip.c."""
import math
import sys
import time

import numpy as np
import siconos.kernel as sk
import siconos.numerics as sn
from siconos.mechanics.collision import RigidBodyDS, SiconosBox, SiconosContactor, SiconosContactorSet
from siconos.mechanics.collision.bullet import SiconosBulletCollisionManager, SiconosBulletOptions


def contactors(shape, margin):
    shape.setInsideMargin(margin)
    shape.setOutsideMargin(0.0)
    out = SiconosContactorSet()
    out.append(SiconosContactor(shape))
    return out


def simulate(s, method, iterations, label):
    nsds = sk.NonSmoothDynamicalSystem(0.0, s['end'])
    bodies, keep = [], []
    for mass, x, q, v in s['boxes']:
        inertia = np.eye(3) * mass * 4 * s['half'] ** 2 / 6
        b = RigidBodyDS(x + q, v + [0.0, 0.0, 0.0], mass, inertia)
        b.setContactors(contactors(SiconosBox(2 * s['half'], 2 * s['half'], 2 * s['half']), 1e-3))
        force = np.array([mass * g for g in s['gravity']])
        b.setFExtPtr(force)
        keep.append(force)
        nsds.insertDynamicalSystem(b)
        bodies.append(b)
    problem = sk.FrictionContact(3, method)
    options = problem.numericsSolverOptions()
    options.iparam[sn.SICONOS_IPARAM_MAX_ITER] = iterations
    options.dparam[sn.SICONOS_DPARAM_TOL] = 1e-8
    problem.setMaxSize(4096)
    problem.setMStorageType(sn.NM_SPARSE_BLOCK)
    problem.setNumericsVerboseMode(False)
    problem.setKeepLambdaAndYState(True)
    simulation = sk.TimeStepping(nsds, sk.TimeDiscretisation(0.0, s['dt']))
    simulation.insertIntegrator(sk.MoreauJeanOSI(0.5))
    simulation.insertNonSmoothProblem(problem)
    simulation.setNewtonOptions(sk.SICONOS_TS_LINEAR)
    simulation.setNewtonMaxIteration(1)
    simulation.setWarnOnNonConvergence(False)
    how = SiconosBulletOptions()
    how.worldScale = 10.0  # its margins are made for bodies of about 1 m; and a large box makes a better floor than its plane
    manager = SiconosBulletCollisionManager(how)
    simulation.insertInteractionManager(manager)
    manager.insertNonSmoothLaw(sk.NewtonImpactFrictionNSL(0.0, 0.0, s['friction'], 3), 0, 0)
    manager.insertStaticContactorSet(contactors(SiconosBox(4.0, 4.0, 0.2), 1e-3), [0, 0, -0.1, 1, 0, 0, 0])

    n, top, middle = round(s['end'] / s['dt']), bodies[-1], None
    since = time.process_time()
    for k in range(1, n + 1):
        simulation.computeOneStep()
        simulation.nextStep()
        if 2 * k == n:
            middle = np.array(top.q())
        if time.process_time() - since > 30.0:
            break
    us = 1e6 * (time.process_time() - since) / k
    end, tilt = np.array(top.q()), 0.0
    for b in bodies:
        w, x, y, z = np.array(b.q())[3:7]
        tilt = max(tilt, math.degrees(math.atan2(math.hypot(2 * (x * z + w * y), 2 * (y * z - w * x)), 1 - 2 * (x * x + y * y))))
    name = '| %-22s | %-44s |' % (s['name'], 'Siconos, ' + label)
    if k < n:
        print(name, '%-11s | %-17s | %7s | %9.1f |' % ('30 s passed', '', '', us), flush=True)
    elif s['is_slope']:
        speed = np.array(bodies[0].twist())[0]
        print(name, 'x %+9.3f %% | v %+10.4f mm/s | %7.3f | %9.1f |' % (100 * (end[0] / s['expected'][0] - 1), 1e3 * (speed - s['expected'][1]), tilt, us), flush=True)
    elif not abs(end[2] - s['expected'][0]) < 0.02:
        print(name, '%-11s | %-17s | %7s | %9.1f |' % ('fell', '', '', us), flush=True)
    else:
        creep = math.hypot(end[0] - middle[0], end[1] - middle[1])
        print(name, '%+8.3f mm | %12.2e mm   | %7.3f | %9.1f |' % (1e3 * (end[2] - s['expected'][0]), 1e3 * creep, tilt, us), flush=True)


def scenes():
    for line in sys.stdin:
        w = line.rstrip('\n').split(';')
        n, v = int(w[1]), [float(t) for t in w[2:]]
        boxes = [(v[10 + 11 * i], v[11 + 11 * i:14 + 11 * i], v[14 + 11 * i:18 + 11 * i], v[18 + 11 * i:21 + 11 * i]) for i in range(n)]
        yield {'name': w[0], 'is_slope': v[0] != 0.0, 'half': v[1], 'friction': v[2], 'gravity': v[3:6], 'dt': v[6], 'end': v[7], 'expected': v[8:10], 'boxes': boxes}


for scene in scenes():
    simulate(scene, sn.SICONOS_FRICTION_3D_NSN_AC, 200, 'nonsmooth Newton')
    simulate(scene, sn.SICONOS_FRICTION_3D_NSGS, 1000, 'Gauss-Seidel')
