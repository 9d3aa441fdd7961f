# Checks a run of scene.awk. Input: the history, then the tables of measures (name=... before each). Prints one line:
# holds|fails,"what fails",momentum,cone,penetration,bound,slid,stuck
# Bounds follow from the scene and the contact law:
#   momentum     of the upper body, and of all bodies, changes only by gravity and the reported contact forces; relative to m g t
#   cone         |f_T| - mu f_N of every contact of every step over the largest f_N
#   penetration  penalty, convex: springs k store at most the initial energy and the work of gravity, d <= sqrt(2 W/k). exact, convex: contacts are
#                detected once per step, so that the depth can be the displacement of one step
#                hybrid: none, to rounding
#   sinking      of the upper centre towards the lower one: the initial distance, the overlap, the uniform compression of a soft block by all the
#                energy, sqrt(2 W L/(E A)), and the depth of a rod between rows of particles; without contact it would be 196 mm
function fail(text) { what = what (what == "" ? "" : "; ") text }
function worse(a, b) { return a > b ? a : b }
function cell(name) { return name in column ? $column[name] + 0 : 0 } # 0: the formulation has no such column
FNR == 1 { ++file; for (i = 1; i <= NF; ++i) { split($i, word, " "); if (file == 1) column[word[1]] = i } next }
file == 1 {
  n = $column["step"]
  t[n] = $column["time"]; dt[n] = $column["dt"]; retries += $column["retries"]
  P[n, "x"] = $column["momentum_x"]; P[n, "y"] = $column["momentum_y"]; P[n, "z"] = $column["momentum_z"]
  if (n == 1) energy = $column["kinetic_energy"] + $column["elastic_energy"] + $column["potential_energy"] + cell("contact_energy")
  free = energy - $column["potential_energy"]
  yield = worse(yield, cell("yield_ratio"))
  d = $column["penetration"]; cone = worse(cone, $column["cone_violation"] + 0)
  late = formulation == "penalty" ? 0 : step * sqrt(speed * speed + 2 * 9.81 * drop)
  b = formulation == "hybrid" ? 1e-12 : formulation == "exact" || formulation == "monolith" ? late : sqrt(2 * worse(free, 0) / k + late * late)
  if (b > 0 && d >= share * b) { share = d / b; depth = d; bound = b }
  steps = n
  next
}
{ value[name, $1 + 0] = $3 + 0 }
END {
  m = value["mass", 1]; M = value["all", 1]
  split("x y z", axis, " ")
  for (i = 2; i <= steps; ++i)
    for (a = 1; a <= 3; ++a) {
      c = axis[a]; g = c == "z" ? -9.81 : 0
      f = value["f_" c, i] + value["h_" c, i]
      # Kinds on a common grid report no contact force.
      if (!on_grid) apart = worse(apart, abs(value["p_" c, i] - value["p_" c, i - 1] - dt[i] * (m * g + f)) / (m * 9.81 * t[steps]))
      all = worse(all, abs(P[i, c] - P[i - 1, c] - dt[i] * (M * g - value["g_" c, i])) / (M * 9.81 * t[steps]))
    }
  momentum = worse(apart, all)
  for (i = 1; i <= steps; ++i) { # upper body: part of its load slides, part sticks
    slid += slides("f", "s", i) || slides("h", "t", i)
    stuck += sticks("f", "s", i) || sticks("h", "t", i)
  }
  sink = value["x", 1] - value["y", 1] - (value["x", steps] - value["y", steps])
  if (steps < 50) fail("stops after " steps " steps")
  if (retries > 0) fail("steps are halved")
  if (momentum > 1e-10) fail("momentum is off by " order(momentum) " of m g t")
  if (cone > 1e-10) fail(sprintf("friction leaves its cone by %.1e", cone))
  if (formulation == "hybrid") b = late # the load on a sheet is not at its centre
  allowed = gap + b + sqrt(2 * worse(free, 0)) * (softness(falls) + softness(on)) + groove()
  if (!is_continuum && sink > allowed) fail(sprintf("what falls sinks by %.1f mm, at most %.1f allowed", 1e3 * sink, 1e3 * allowed))
  if (share > 1) fail(sprintf("bodies overlap by %.2g mm, at most %.2g allowed", 1e3 * depth, 1e3 * bound))
  # Kinds on a common grid have no contacts. A continuum touches bodies with its faces, too; its stress may exceed the cone by twice the tolerance of 0.01.
  if (is_continuum && yield > 1.02) fail(sprintf("stress leaves its cone by %.1e", yield - 1))
  is_told = !is_continuum && !on_grid && formulation != "hybrid" # its grid acts before contact
  if (!slid && is_told) fail("nothing slides")
  if (!stuck && is_told) fail("nothing sticks")
  printf "%s,\"%s\",%.1e,%.1e,%.1e,%.1e,%d,%d,%.4f\n", what == "" ? "holds" : "fails", what, momentum, cone, depth, bound, slid, stuck, sink
}
function load(force, i) { return abs(value[force "_x", i]) + abs(value[force "_y", i]) + abs(value[force "_z", i]) }
function slides(force, share, i) { return load(force, i) > 0 && value[share, i] < 0.99 }
function sticks(force, share, i) { return load(force, i) > 0 && value[share, i] > 0.01 }
# Of a block of 0.1 m with E = 2e5 Pa: 1/sqrt(E A/L).
function softness(kind) { return kind == "mpm" || kind == "fem" ? sqrt(0.1 / (2e5 * 0.01)) : 0 }
# Between two rows of balls a rod is deeper than on one row: rows 0.1 m / 3 apart, radii half of that and 5 mm.
function groove(  r) {
  if (!(falls == "rod" && on == "mpm") && !(falls == "mpm" && on == "rod")) return 0
  r = 0.1 / 6
  return r + 0.005 - sqrt((r + 0.005) ^ 2 - r ^ 2)
}
# The power of ten above it.
function order(v,  e) { for (e = -16; 10 ^ e < v; ++e); return "up to 1e" e }
function abs(v) { return v < 0 ? -v : v }
