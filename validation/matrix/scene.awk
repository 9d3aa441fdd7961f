# The job of one cell of the matrix: body `falls` with a horizontal velocity falls on body `on`, which lies on a static floor or is this floor.
# awk -v formulation=exact -v falls=rigid -v on=cloth -v raft=raft.obj -f scene.awk
# The upper body has contact with the lower one only, the lower one with both neighbours. Only these forces and gravity act. The momentum of each
# body, and of both, therefore changes only by the forces that are measured here.
function box(x, y, z, X, Y, Z) { return sprintf("{box: {min: [%g, %g, %g], max: [%g, %g, %g]}}", x, y, z, X, Y, Z) }

# Distance between the faces of a body and its contact surface. Particles represent a solid whose faces are half their distance outside of them.
# In contact with rods they are balls that reach to these faces.
function inset(kind, other) { return kind == "mpm" && other != "rod" ? CELL / 6 : 0 }
# Half the contact thickness of rods: their radius, or 0 under penalty, where only nodes have contact.
function radius() { return formulation == "penalty" ? 0 : ROD }

# Formulation hybrid has contact between triangles, and between material points and triangles.
function meshed() { return formulation == "hybrid" ? ", contact_surface: mesh, surface_spacing: 0.05" : "" }
function lying(kind,  z) {
  z = GAP - inset(kind, "static")
  if (kind == "mac") return "{kind: mac, material: sand, shape: " box(-0.1, -0.1, 0, 0.1, 0.1, 0.1) "}"
  if (kind == "mpm") return "{kind: mpm, material: jelly, seeding: lattice, particles_per_cell: 27, spacing: " CELL ", shape: " box(-0.1, -0.1, z, 0.1, 0.1, z + 0.1) "}"
  if (kind == "fem") return "{kind: fem, material: jelly, spacing: 0.05, shape: " box(-0.1, -0.1, z, 0.1, 0.1, z + 0.1) "}"
  if (kind == "cloth") return "{kind: cloth, sheet: {corner: [-0.1, -0.1, " z "], u: [0.2, 0, 0], v: [0, 0.2, 0], cells: [8, 8]}, " CLOTH "}"
  if (kind == "rod") return "{kind: rod, material: wire, section: {circle: " ROD "}, curve: {file: {path: " raft "}}}"
  if (kind == "rigid") return "{kind: rigid, material: wood" meshed() ", shape: " box(-0.1, -0.1, z, 0.1, 0.1, z + 0.05) "}"
  if (kind == "articulated") return hinged(0.1, 0.1, z, 0.05, 0)
  if (formulation == "hybrid" && (falls == "mpm" || on == "mpm")) return "{kind: static" meshed() ", shape: " box(-0.25, -0.25, -0.1, 0.25, 0.25, 0) "}"
  return "{kind: static, shape: {plane: {}}}"
}
# Initial height of the upper points of a lower body above the floor.
function top(kind) {
  if (kind == "mpm") return GAP + 0.1 - inset(kind, "static") - inset(kind, falls)
  if (kind == "fem") return GAP + 0.1
  if (kind == "cloth") return GAP
  if (kind == "rod") return GAP + 2 * radius()
  if (kind == "rigid" || kind == "articulated") return GAP + 0.05
  if (kind == "mac") return 0.1
  return 0
}
# Two free slabs connected by a hinge.
function hinged(x, y, z, thick, speed) {
  return sprintf("\n    kind: articulated\n    material: wood\n    links:\n      front: {shape: %s}\n      back: {shape: %s}\n" \
    "    joints:\n      base: {type: free, child: front, velocity: [%g, 0, 0]}\n" \
    "      hinge: {type: revolute, parent: front, child: back, at: [0, 0, %g], axis: [0, 1, 0], damping: 1.0e-3}", \
    box(-x, -y, z, -0.002, y, z + thick), box(0.002, -y, z, x, y, z + thick), speed, z + thick / 2)
}
# Off the centre of the lower body, so that corners and edges do not coincide.
function falling(kind, z,  v) {
  v = "velocity: [" SPEED ", 0, 0]"
  z -= inset(kind, on)
  if (kind == "mac") return "{kind: mac, material: sand, " v ", shape: " box(-0.043, -0.047, z, 0.057, 0.053, z + 0.1) "}"
  if (kind == "mpm") return "{kind: mpm, material: jelly, seeding: lattice, particles_per_cell: 27, spacing: " CELL ", " v ", shape: " box(-0.043, -0.047, z, 0.057, 0.053, z + 0.1) "}"
  if (kind == "fem") return "{kind: fem, material: jelly, spacing: 0.05, " v ", shape: " box(-0.043, -0.047, z, 0.057, 0.053, z + 0.1) "}"
  if (kind == "cloth") return "{kind: cloth, " v ", sheet: {corner: [-0.063, -0.057, " z "], u: [0.12, 0, 0], v: [0, 0.12, 0], cells: [6, 6]}, " CLOTH "}"
  if (kind == "rod") return "{kind: rod, material: wire, segments: 8, " v ", section: {circle: " ROD "}, curve: {line: {from: [-0.083, 0.007, " z + radius() "], to: [0.077, 0.007, " z + radius() "]}}}"
  if (kind == "rigid") return "{kind: rigid, material: wood" meshed() ", " v ", shape: " box(-0.043, -0.037, z, 0.037, 0.043, z + 0.08) "}"
  return hinged(0.06, 0.04, z, 0.03, SPEED)
}
function vector(name, what,  k, axis) {
  split("1 0 0, 0 1 0, 0 0 1", axis, ", ")
  for (k = 1; k <= 3; ++k) { gsub(" ", ", ", axis[k]); printf "  %s_%s: {%s, direction: [%s]}\n", name, substr("xyz", k, 1), what, axis[k] }
}
BEGIN {
  GAP = 0.001; CELL = 0.1; ROD = 0.005; SPEED = 0.4; CLOTH = "mass_per_area: 1, stretch: 200, bending: 1.0e-3"
  friction = 0.5; k = 1.0e4; step = 4.0e-3
  is_soft = formulation == "penalty" || formulation == "convex"
  if (on == "rod") { # seven rods side by side
    printf "" > raft
    for (r = 0; r < 7; ++r) for (n = 0; n < 5; ++n) printf "v %g %g %g\n", -0.09 + 0.03 * r, -0.1 + 0.05 * n, GAP + radius() > raft
    for (r = 0; r < 7; ++r) printf "l %d %d %d %d %d\n", 5 * r + 1, 5 * r + 2, 5 * r + 3, 5 * r + 4, 5 * r + 5 > raft
    close(raft)
  }
  print "stickslip: 1\nname: " falls "_on_" on "\nformulation: " formulation "\ntime: {end: " 50 * step ", step: " step "}"
  print "materials:\n  jelly: {model: fixed_corotated, density: 1000, youngs_modulus: 2.0e5, poisson_ratio: 0.3}"
  print "  wire: {model: linear_corotated, density: 2000, youngs_modulus: 1.0e7, poisson_ratio: 0.3}\n  wood: {model: rigid, density: 700}\n  sand: {model: granular, density: 1600, friction_angle_deg: 30}"
  # Walls of the domain report no force, and no body reaches them.
  if (formulation == "monolith" && (falls == "mac" || on == "mac")) print "mac: {spacing: 0.025, domain: {min: [-0.4, -0.4, -0.1], max: [0.4, 0.4, 0.4]}}"
  print "bodies:"
  is_floor = on == "static"
  if (!is_floor) print "  floor: " lying("static")
  print "  y: " lying(on)
  print "  x: " falling(falls, top(on) + 2 * GAP)
  print "contact:\n  friction: " friction (is_soft ? "\n  stiffness: " k : "")
  # A continuum has one law for the floor.
  if (!is_floor && !(falls == "mac" && on == "mac")) apart = ", {between: [x, floor], contact: false}"
  if (on == falls && (on == "fem" || on == "cloth" || (on == "rod" && formulation != "penalty"))) # with self-contact
    apart = apart ", {between: [x, x], friction: " friction "}, {between: [y, y], friction: " friction "}"
  if ((falls == "mpm" || falls == "mac") && on == falls) print "  pairs: [" substr(apart, 3) "]"
  else print "  pairs: [{between: [x, y], friction: " friction "}" apart "]"
  # So stiff that no contact is softer than k; momenta of articulated bodies are not linear in velocities.
  has_joints = falls == "articulated" || on == "articulated"
  if (formulation == "convex") print "solver: {newton: {tolerance: " (has_joints ? "1.0e-9" : "1.0e-6") "}, convex: {tolerance: 1.0e-11, expert: {min_contact_period: 0.1}" (has_joints ? ", max_outer_iterations: 20" : "") "}}"
  else if (formulation == "hybrid") print "solver: {newton: {tolerance: 1.0e-9}, hybrid: {momentum_correction: linear}}" # part 3 of a step returns the momentum that it removes
  else if (formulation == "monolith") print "solver: {monolith: {max_outer_iterations: 1000}}" # impacts of sand need more than 30
  else print "solver: {newton: {tolerance: 1.0e-9}" (formulation == "exact" ? ", friction: {tolerance: 1.0e-11}" : "") "}"
  print "measure:"
  vector("p", "quantity: momentum, body: x")
  n = split(falls == "articulated" ? "x.front x.back" : "x", part, " ")
  for (i = 1; i <= n; ++i) {
    vector(substr("fh", i, 1), "quantity: contact_force, body: " part[i])
    print "  " substr("st", i, 1) ": {quantity: sticking_fraction, body: " part[i] "}"
  }
  vector("g", "quantity: contact_force, body: " (is_floor ? "y" : "floor"))
  print "  mass: {quantity: mass, body: x}\n  all: {quantity: mass}"
  print "  x: {quantity: position, body: x, direction: [0, 0, 1]}"
  if (!is_floor) print "  y: {quantity: position, body: y, direction: [0, 0, 1]}"
}
