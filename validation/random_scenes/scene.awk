# The job of one random scene: rigid bodies of random shape, size, density, position and orientation, with default solver settings.
# awk -v number=N -v seed=SEED -v mesh=FOLDER -v formulation=NAME -f scene.awk
# Odd numbers: the bodies fall on a static floor. Even numbers: they collide in free flight, without gravity and floor.
# monolith: in scenes 3, 35, 67, ... they fall on a block of sand on the floor.
# Units of length and time are the size s of the bodies and T = sqrt(s/g). Bounding spheres are disjoint at the start, with gaps of at most s/4.
# Comments of the job are read by check.awk: "# floor ..." and one line "# body INDEX INRADIUS LARGEST KIND" for each body, with its index in the job,
# the radius of a ball inside the body about its centre of mass, and that of a large ball inside the body.
function number_between(a, b) { return a + (b - a) * rand() }
function whole_between(a, b) { return int(number_between(a, b + 1 - 1e-9)) }

# Set name, volume, bound (radius about the centre of mass, at the origin), inner and largest (inscribed radii) of a random shape of size r.
function choose_shape(r,  k, a, b, c, h) {
  k = whole_between(0, 24); k = k < 24 ? int(k / 4) : 6; largest = 0 # corners take most CPU time and are less frequent
  if (formulation == "monolith" && k == 6) k = 5 # contact of a corner has up to 600 points, which takes monolith minutes
  text = shape_text(r, k)
  if (!largest) largest = inner
  return text
}
function ball(r) { return 4 * PI / 3 * r ^ 3 }
function shape_text(r, k,  a, b, c, h) {
  if (k == 0) { name = "ball"; bound = inner = r; volume = ball(r); return "sphere: {center: [0, 0, 0], radius: " r "}" }
  if (k == 1) {
    a = number_between(0.4, 1) * r; b = number_between(0.4, 1) * r; c = number_between(0.4, 1) * r
    name = "box"; volume = 8 * a * b * c; bound = sqrt(a * a + b * b + c * c); inner = a < b ? a : b; if (c < inner) inner = c
    return sprintf("box: {min: [%.9g, %.9g, %.9g], max: [%.9g, %.9g, %.9g]}", -a, -b, -c, a, b, c)
  }
  if (k == 2 || k == 3) {
    a = number_between(0.3, 0.8) * r; b = number_between(0.4, 1) * r
    name = k == 2 ? "cylinder" : "capsule"; bound = k == 2 ? sqrt(a * a + b * b) : a + b; inner = k == 3 || a < b ? a : b
    volume = PI * a * a * 2 * b + (k == 3 ? ball(a) : 0)
    return sprintf("%s: {from: [0, 0, %.9g], to: [0, 0, %.9g], radius: %.9g}", name, -b, b, a)
  }
  if (k == 4) { # two balls and the bar between them
    a = 0.55 * r; b = 0.5 * r
    name = "dumbbell"; bound = a + b; inner = 0.35 * r; h = sqrt(b * b - inner * inner)
    volume = 2 * (ball(b) + PI * (inner ^ 2 * (a - h) - b * b * (b - h) + (b ^ 3 - h ^ 3) / 3))
    return sprintf("union: [{sphere: {center: [0, 0, %.9g], radius: %.9g}}, {sphere: {center: [0, 0, %.9g], radius: %.9g}}, {cylinder: {from: [0, 0, %.9g], to: [0, 0, %.9g], radius: %.9g}}]", -a, b, a, b, -a, a, inner)
  }
  if (k == 5) { name = "tetrahedron"; volume = 8 * sqrt(3) / 27 * r ^ 3; bound = r; inner = r / 3; return "mesh: {file: " mesh "/tetrahedron.obj, scale: " r "}" }
  name = "corner"; volume = 3 * r ^ 3; bound = 1.52 * r; inner = 0.23 * r; largest = 0.5 * r; return "mesh: {file: " mesh "/corner.obj, scale: " r "}"
}

# A place beside an earlier body, whose bounding sphere touches no other one: x, y, z; false if none was found.
function choose_place(i,  attempt, j, is_free, d, u) {
  for (attempt = 0; attempt < 1000; ++attempt) {
    gap = 0.25 * scale * rand()
    if (i == 1) { x[i] = y[i] = 0; z[i] = ground + size[i] + gap }
    else {
      j = whole_between(1, i - 1)
      do { for (u = 1; u <= 3; ++u) e[u] = number_between(-1, 1); d = sqrt(e[1] ^ 2 + e[2] ^ 2 + e[3] ^ 2) } while (d > 1 || d < 0.1)
      d = (size[i] + size[j] + gap + 1e-3 * scale) / d
      x[i] = x[j] + d * e[1]; y[i] = y[j] + d * e[2]; z[i] = z[j] + d * e[3]
    }
    if (has_floor && z[i] < ground + size[i] + 1e-3 * scale) continue
    is_free = 1
    for (j = 1; j < i; ++j) if ((x[i] - x[j]) ^ 2 + (y[i] - y[j]) ^ 2 + (z[i] - z[j]) ^ 2 < (size[i] + size[j] + 1e-4 * scale) ^ 2) is_free = 0
    if (is_free) return 1
  }
  return 0
}

BEGIN {
  PI = atan2(0, -1)
  srand(1000003 * seed + number); for (i = 0; i < 20; ++i) rand()
  has_floor = number % 2
  n = whole_between(2, 4)
  scale = exp(number_between(log(0.02), log(0.2))); T = sqrt(scale / 9.81); speed = scale / T
  step = T * exp(number_between(log(0.015), log(0.03)))
  friction = whole_between(0, 3) == 0 ? 0 : number_between(0, 1)
  continuum = formulation == "monolith" && number % 32 == 3
  ground = continuum ? 0.75 * scale : 0
  if (continuum) step *= 3
  # A fall lasts until most bodies have slid and come to rest, free flight until they have collided and separated.
  end = step * int((has_floor ? 4 : 2) * T / step + 1)
  for (i = 1; i <= n; ++i) {
    r = scale * number_between(0.5, 1); density[i] = exp(number_between(log(300), log(8000)))
    shape[i] = choose_shape(r); size[i] = bound; inradius[i] = inner; thick[i] = largest; kind[i] = name
    if (!choose_place(i)) { n = i - 1; break }
    if (density[i] * volume > mass) mass = density[i] * volume
    total += density[i] * volume
    if (z[i] - ground > height) height = z[i] - ground
    for (k = 1; k <= 3; ++k) center[k] += (k == 1 ? x[i] : k == 2 ? y[i] : z[i]) / n
  }
  if (continuum) total += 1600 * 3 * 3 * scale ^ 2 * ground
  surface = formulation == "hybrid" ? ", contact_surface: mesh" : ""
  printf "stickslip: 1\nname: scene-%06d\nformulation: %s\n", number, formulation
  printf "gravity: [0, 0, %s]\ntime: {end: %.12g, step: %.9g}\nmaterials:\n", has_floor ? -9.81 : 0, end, step
  for (i = 1; i <= n; ++i) printf "  m%d: {model: rigid, density: %.6g}\n", i, density[i]
  if (continuum) printf "  continuum: {model: granular, density: 1600, friction_angle_deg: 30}\nmac: {spacing: %.9g, domain: {min: [%.9g, %.9g, %.9g], max: [%.9g, %.9g, %.9g]}}\n", \
    scale / 4, -10 * scale, -10 * scale, -scale / 2, 10 * scale, 10 * scale, 12 * scale
  print "bodies:"
  if (has_floor) printf "  floor: {kind: static, shape: {plane: {}}}\n"
  if (continuum) printf "  bed: {kind: mac, material: continuum, shape: {box: {min: [%.9g, %.9g, 0], max: [%.9g, %.9g, %.9g]}}}\n", -1.5 * scale, -1.5 * scale, 1.5 * scale, 1.5 * scale, ground
  for (i = 1; i <= n; ++i) {
    printf "  b%d: {kind: rigid, material: m%d%s, shape: {%s, rotate_deg: %.6g, axis: [%.6g, %.6g, %.6g], translate: [%.9g, %.9g, %.9g]}", \
      i, i, surface, shape[i], number_between(0, 360), number_between(-1, 1), number_between(-1, 1), number_between(0.1, 1), x[i], y[i], z[i]
    if (has_floor) printf ", velocity: [%.6g, %.6g, 0]", number_between(-0.5, 0.5) * speed, number_between(-0.5, 0.5) * speed
    else printf ", velocity: [%.6g, %.6g, %.6g], angular_velocity: [%.6g, %.6g, %.6g]", (center[1] - x[i]) / T, (center[2] - y[i]) / T, \
      (center[3] - z[i]) / T, number_between(-1, 1) / T, number_between(-1, 1) / T, number_between(-1, 1) / T
    print "}"
  }
  # The heaviest body at impact speed compresses one contact point by 2 % of its size.
  impact = has_floor ? sqrt(2 * 9.81 * height) + 0.5 * speed : 2 * speed
  stiffness = mass * (impact / (0.02 * scale)) ^ 2
  printf "contact: {friction: %.6g%s}\nmeasure:\n", friction, formulation == "penalty" ? sprintf(", stiffness: %.4g", stiffness) : ""
  split("1, 0, 0;0, 1, 0;0, 0, 1", axis, ";")
  for (i = 1; i <= n; ++i) for (k = 1; k <= 3; ++k) printf "  %s%d: {quantity: position, body: b%d, direction: [%s]}\n", substr("xyz", k, 1), i, i, axis[k]
  if (has_floor) for (k = 1; k <= 3; ++k) printf "  f%s: {quantity: contact_force, body: floor, direction: [%s]}\n", substr("xyz", k, 1), axis[k]
  printf "# floor %d step %.9g size %.9g mass %.9g\n", has_floor, step, scale, total
  for (i = 1; i <= n; ++i) printf "# body %d %.9g %.9g %s\n", i - 1 + has_floor + continuum, inradius[i], thick[i], kind[i]
}
