# The violations of one random scene, separated by blanks; nothing if there are none.
# awk -F, -v job=JOB -v tolerance=1e-3 -f check.awk HISTORY name=x1 MEASURE name=y1 MEASURE ...   job: see scene.awk
#   momentum   the total momentum of a step changes by more than gravity and the reported force of the floor, beyond the tolerance of the
#              equations of motion (times m g dt with the total mass m); steps in substeps are not evaluated, because the force is that of the last substep
#   energy     the mechanical energy, with that of contact springs, rises by more than 1e-3 of the energy that the bodies can lose
#   overlap    two bodies, or a body and the floor, overlap by more than a tenth of the smaller body, measured independently of the program:
#              the balls inside the bodies, about their centres of mass, must not overlap by more than this. `penetration` of the history
#              must not exceed a tenth of the smaller body, either
#   finite     a value is not finite
function column(name,  k) { for (k = 1; k <= NF; ++k) if ($k == name || index($k, name " [") == 1) return k; return 0 }
function note(what) { if (!(what in found)) { found[what] = 1; list = list (list ? " " : "") what } }
function largest(a, b) { return a > b ? a : b }
function radius(i) { return i in thick ? thick[i] : 1e99 } # infinite: floor and continuum
BEGIN {
  FS = " "
  while ((getline line < job) > 0) {
    split(line, w, " ")
    if (w[1] == "#" && w[2] == "floor") { has_floor = w[3]; step = w[5]; scale = w[7]; mass = w[9] }
    if (w[1] == "#" && w[2] == "body") { # INDEX, radius of a ball about the centre, radius of a large ball inside
      inradius[++n_bodies] = w[4]; thick[w[3]] = w[5]
    }
  }
  FS = ","
}
FNR == 1 && name == "" {
  for (k = 1; k <= 3; ++k) P[k] = column("momentum_" substr("xyz", k, 1))
  kinetic = column("kinetic_energy"); potential = column("potential_energy"); elastic = column("elastic_energy"); spring = column("contact_energy")
  retries = column("retries"); depth = column("penetration"); one = column("penetration_body_a"); other = column("penetration_body_b")
  next
}
FNR == 1 { next }
/nan|inf/ { note("finite") }
name == "" {
  t = $1
  for (k = 1; k <= 3; ++k) p[t, k] = $P[k]
  E[t] = $kinetic + $potential + $elastic + (spring ? $spring : 0)
  K[t] = $kinetic; V[t] = $potential
  level = (level > 0 ? level - 1 : 0) + $retries # the step ended with substeps of dt/2^level; the next one starts one level lower
  is_whole[t] = level == 0
  small = radius($one); if (radius($other) < small) small = radius($other)
  if ($depth > 0.2 * small) note("overlap")
  last = t
}
name != "" { value[name, $1] = $3 }
END {
  for (t = 1; t <= last; ++t) if ((t, 1) in p) { top = largest(top, V[t]); most = largest(most, K[t]); if (first == "") first = t }
  scale_energy = has_floor ? top : most
  for (t = first + 1; t <= last; ++t) {
    if (E[t] - E[t - 1] > 1e-3 * scale_energy) note("energy")
    if (!is_whole[t]) continue
    if (!has_floor) for (k = 1; k <= 3; ++k) {
      error = p[t, k] - p[t - 1, k]
      if (error < 0) error = -error
      if (error > tolerance * 9.81 * step * mass) note("momentum")
    }
    else for (k = 1; k <= 3; ++k) {
      error = p[t, k] - p[t - 1, k] + step * value["f" substr("xyz", k, 1), t] + (k == 3 ? step * mass * 9.81 : 0)
      if (error < 0) error = -error
      if (error > tolerance * 9.81 * step * mass) note("momentum")
    }
  }
  if (E[last] - E[first] > 1e-3 * scale_energy) note("energy")
  for (t = first; t <= last; ++t) for (i = 1; i <= n_bodies; ++i) {
    if (has_floor && value["z" i, t] < 0.8 * inradius[i]) note("overlap")
    for (j = 1; j < i; ++j) {
      d = sqrt((value["x" i, t] - value["x" j, t]) ^ 2 + (value["y" i, t] - value["y" j, t]) ^ 2 + (value["z" i, t] - value["z" j, t]) ^ 2)
      small = inradius[i] < inradius[j] ? inradius[i] : inradius[j]
      if (d < inradius[i] + inradius[j] - 0.2 * small) note("overlap")
    }
  }
  print list
}
