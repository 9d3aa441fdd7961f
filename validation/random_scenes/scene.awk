# The job of one random scene: rigid bodies of random shape, size, density, position and orientation, with default solver settings.
# awk -v number=N -v seed=SEED -v mesh=FOLDER -v formulation=NAME -f scene.awk
# Odd numbers: the bodies fall on a static floor. Even numbers: they collide in free flight, without gravity and floor.
# Bounding spheres are disjoint at the start. The comments at the end of the job are read by judge.awk: one line
# "# body NAME INRADIUS" for each body, with the radius of a ball inside the body about its centre of mass.
function number_between(a, b) { return a + (b - a) * rand() }
function whole_between(a, b) { return int(number_between(a, b + 1 - 1e-9)) }

# Set name, text, bound (radius about the centre of mass, at the origin) and inner (inscribed radius) of a random shape of size r.
function choose_shape(r,  k, a, b, c) {
  k = whole_between(0, 6)
  if (k == 0) { bound = inner = r; return "sphere: {center: [0, 0, 0], radius: " r "}" }
  if (k == 1) {
    a = number_between(0.4, 1) * r; b = number_between(0.4, 1) * r; c = number_between(0.4, 1) * r
    bound = sqrt(a * a + b * b + c * c); inner = a < b ? a : b; if (c < inner) inner = c
    return sprintf("box: {min: [%.9g, %.9g, %.9g], max: [%.9g, %.9g, %.9g]}", -a, -b, -c, a, b, c)
  }
  if (k == 2 || k == 3) {
    a = number_between(0.3, 0.8) * r; b = number_between(0.4, 1) * r
    bound = k == 2 ? sqrt(a * a + b * b) : a + b; inner = k == 3 || a < b ? a : b
    return sprintf("%s: {from: [0, 0, %.9g], to: [0, 0, %.9g], radius: %.9g}", k == 2 ? "cylinder" : "capsule", -b, b, a)
  }
  if (k == 4) { # a dumbbell: two balls and the bar between them
    a = 0.55 * r; b = 0.5 * r
    bound = a + b; inner = 0.35 * r
    return sprintf("union: [{sphere: {center: [0, 0, %.9g], radius: %.9g}}, {sphere: {center: [0, 0, %.9g], radius: %.9g}}, {cylinder: {from: [0, 0, %.9g], to: [0, 0, %.9g], radius: %.9g}}]", -a, b, a, b, -a, a, inner)
  }
  if (k == 5) { bound = r; inner = r / 3; return "mesh: {file: " mesh "/tetrahedron.obj, scale: " r "}" }
  bound = 1.52 * r; inner = 0.23 * r; return "mesh: {file: " mesh "/corner.obj, scale: " r "}"
}

# A place whose bounding sphere touches no earlier one: x, y, z; false if none was found.
function choose_place(i,  attempt, j, is_free) {
  for (attempt = 0; attempt < 1000; ++attempt) {
    x[i] = number_between(-WIDTH, WIDTH); y[i] = number_between(-WIDTH, WIDTH); z[i] = number_between(0, 2 * WIDTH)
    if (has_floor && z[i] < size[i] + 1e-4) continue
    is_free = 1
    for (j = 1; j < i; ++j) if ((x[i] - x[j]) ^ 2 + (y[i] - y[j]) ^ 2 + (z[i] - z[j]) ^ 2 < (size[i] + size[j] + 1e-4) ^ 2) is_free = 0
    if (is_free) return 1
  }
  return 0
}

BEGIN {
  srand(1000003 * seed + number); for (i = 0; i < 20; ++i) rand()
  has_floor = number % 2
  n = whole_between(2, 5); step = 0.001 * whole_between(1, 5)
  scale = exp(number_between(log(0.02), log(0.2))); WIDTH = 2.2 * scale
  speed_scale = has_floor ? sqrt(9.81 * scale) : number_between(0.2, 1.5)
  friction = whole_between(0, 3) == 0 ? 0 : number_between(0, 1)
  # Free flight lasts until most bodies have collided, a fall until they have hit the floor and each other.
  end = has_floor ? 6 * sqrt(2 * WIDTH / 9.81) : 3 * WIDTH / speed_scale
  end = step * int(end / step + 1)
  surface = formulation == "hybrid" ? ", contact_surface: mesh" : ""
  printf "stickslip: 1\nname: scene-%06d\nformulation: %s\n", number, formulation
  printf "gravity: [0, 0, %s]\ntime: {end: %.9g, step: %g}\nmaterials:\n", has_floor ? -9.81 : 0, end, step
  for (i = 1; i <= n; ++i) { density[i] = exp(number_between(log(300), log(8000))); printf "  m%d: {model: rigid, density: %.6g}\n", i, density[i] }
  print "bodies:"
  if (has_floor) printf "  floor: {kind: static, shape: {plane: {}}}\n"
  mass = 0
  for (i = 1; i <= n; ++i) {
    r = scale * number_between(0.5, 1)
    text = choose_shape(r); size[i] = bound; inradius[i] = inner
    if (!choose_place(i)) { --n; break }
    if (density[i] * 4 * r ^ 3 > mass) mass = density[i] * 4 * r ^ 3
    printf "  b%d: {kind: rigid, material: m%d%s, shape: {%s, rotate_deg: %.6g, axis: [%.6g, %.6g, %.6g], translate: [%.9g, %.9g, %.9g]}", \
      i, i, surface, text, number_between(0, 360), number_between(-1, 1), number_between(-1, 1), number_between(0.1, 1), x[i], y[i], z[i]
    if (has_floor) printf ", velocity: [%.6g, %.6g, 0]", number_between(-0.5, 0.5) * speed_scale, number_between(-0.5, 0.5) * speed_scale
    else printf ", velocity: [%.6g, %.6g, %.6g], angular_velocity: [%.6g, %.6g, %.6g]", -x[i] / WIDTH * speed_scale, -y[i] / WIDTH * speed_scale, \
      (WIDTH - z[i]) / WIDTH * speed_scale, number_between(-3, 3), number_between(-3, 3), number_between(-3, 3)
    print "}"
  }
  # The heaviest body at impact speed compresses one contact point by about 5 % of its size.
  impact = has_floor ? sqrt(2 * 9.81 * 2 * WIDTH) + 0.5 * speed_scale : 2 * speed_scale
  stiffness = mass * (impact / (0.05 * scale)) ^ 2
  printf "contact: {friction: %.6g%s}\nmeasure:\n", friction, formulation == "penalty" ? sprintf(", stiffness: %.4g", stiffness) : ""
  split("1, 0, 0;0, 1, 0;0, 0, 1", axis, ";")
  for (i = 1; i <= n; ++i) for (k = 1; k <= 3; ++k) printf "  %s%d: {quantity: position, body: b%d, direction: [%s]}\n", substr("xyz", k, 1), i, i, axis[k]
  if (has_floor) for (k = 1; k <= 3; ++k) printf "  f%s: {quantity: contact_force, body: floor, direction: [%s]}\n", substr("xyz", k, 1), axis[k]
  printf "# floor %d step %g size %.9g stiffness %.9g\n", has_floor, step, scale, stiffness
  for (i = 1; i <= n; ++i) printf "# body b%d %.9g\n", i, inradius[i]
}
