/* A scene in which grains and bodies of the formulation `monolith` have nothing to hold on to. */
#ifndef SS_TESTS_MONOLITH_LUMP_H
#define SS_TESTS_MONOLITH_LUMP_H

/* A tumbling block in a lump of grains in the air, without gravity; a ball pressed into both. */
static const char *const lump =
    "stickslip: 1\nname: test\nformulation: monolith\ngravity: [0, 0, 0]\ntime: {end: 1, step: 0.005}\ncontact: {friction: 0.5}\n"
    "materials:\n  wood: {model: rigid, density: 700}\n  sand: {model: granular, density: 1600, friction_angle_deg: 30}\n"
    "mac: {domain: {min: [0, 0, 0], max: [1, 1, 1]}, spacing: 0.0625}\n"
    "bodies:\n"
    "  heap: {kind: mac, material: sand, shape: {sphere: {center: [0.5, 0.5, 0.45], radius: 0.3}}, velocity: [0, 0, 0.5]}\n"
    "  block: {kind: rigid, material: wood, shape: {box: {min: [0.4, 0.45, 0.6], max: [0.6, 0.6, 0.75]}}, velocity: [0.2, 0, "
    "-0.5], angular_velocity: [1, 2, -3]}\n"
    "  ball: {kind: rigid, material: wood, shape: {sphere: {center: [0.5, 0.5, 0.8501], radius: 0.1}}, velocity: [0, 0.3, -1]}\n";

#endif
