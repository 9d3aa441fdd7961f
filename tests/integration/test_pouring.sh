# Rigid bodies that are released during the run: the same bits on any number of threads and after resuming, frames, mass, free fall after the release.
. tests/integration/common.sh
cat >"$work/pour.yaml" <<'JOB'
stickslip: 1
name: pour
formulation: exact
gravity: [0, 0, -10]
time: {end: 0.4, step: 0.01, frame: 0.1}
materials: {glass: {model: rigid, density: 2500}}
bodies:
  first: {kind: rigid, material: glass, shape: {sphere: {center: [0, 0, 0.05], radius: 0.05}}}
  balls:
    kind: rigid
    material: glass
    shape: {sphere: {center: [0, 0, 0], radius: 0.05}}
    velocity: [0, 0, -1]
    copies:
      arrangement: random
      count: 3
      sizes: {uniform: [0.7, 1]}
      region: {box: {min: [-0.13, -0.13, 0.4], max: [0.13, 0.13, 0.55]}}
      pour: {start: 0.05, end: 0.3, every: 0.05}
  clumps:
    kind: rigid
    material: glass
    shape: {union: [{sphere: {center: [0, 0, 0], radius: 0.03}}, {sphere: {center: [0.04, 0, 0], radius: 0.03}}]}
    copies: {arrangement: lattice, count: 2, orientation: random, region: {box: {min: [-0.13, -0.13, 0.7], max: [0.13, 0.13, 0.85]}}, pour: {end: 0.35, every: 0.1}}
  box: {kind: static, shape: {container: {min: [-0.15, -0.15, 0], max: [0.15, 0.15, 1], open: [top]}}}
contact: {friction: 0.5, stiffness: 2.0e4}
output: {checkpoint: 0.08, keep: 10}
measure:
  m: {quantity: mass, body: balls}
  all: {quantity: mass}
  z: {quantity: coordination_number, body: balls}
  phi: {quantity: packing_fraction, within: {min: [-0.15, -0.15, 0], max: [0.15, 0.15, 0.2]}}
  flow: {quantity: flow_rate, body: balls, point: [0, 0, 0.3], direction: [0, 0, -1]}
  fall: {quantity: velocity, body: clumps.3, direction: [0, 0, 1]}
JOB
for f in exact convex penalty; do
  rm -rf "$work/whole" "$work"/threads*
  runs_alike_on_threads "$work/pour.yaml" --set formulation=$f
  resumes_from_everywhere m all z phi flow fall
done
"$program" info "$work/whole" >"$work/out"
says "rigid/bodies: 24 rows" # first, 15 balls, 8 clumps
grep -q "pour-blocked" "$work/whole/result.yaml" || fail "no ball was blocked"
[ "$("$program" info "$work/whole/checkpoints/$(ls "$work/whole/checkpoints" | grep 000008)" | sed -n 's/^rigid.bodies: \([0-9]*\) rows.*/\1/p')" = 6 ] ||
  fail "first, 3 balls and 2 clumps at t = 0.08 s"
pass "bodies are added to the state one after the other"

# Before the release there is no value; after it, the clump falls freely: v = -g (t - t0).
awk -F, 'NR == 1 || $3 == "nan" { if (began) exit 1; next } !began { began = 1; t0 = $2; if (t0 < 0.0999 || $3 != 0) exit 1 }
         $2 < t0 + 0.1 && ($3 + 10 * ($2 - t0))^2 > 1e-20 { exit 1 } END { exit !began }' "$work/whole/measure/fall.csv" ||
  { cat "$work/whole/measure/fall.csv"; fail "clumps.3 does not fall freely after its release"; }
awk -F, 'NR > 1 && $3 + 0 < last { exit 1 } { last = $3 + 0 } END { exit !(last > 0) }' "$work/whole/measure/all.csv" || fail "mass decreases"
grep -q "energy_not_checked: bodies.balls.copies.pour" "$work/whole/result.yaml" || fail "the energy of a growing system is checked"
pass "free fall after the release, and the mass account"

for f in hybrid monolith; do
  status 2 "$program" check "$work/pour.yaml" --set formulation=$f
  says "bodies.balls.copies.pour: not supported by formulation $f"
done
status 0 "$program" check "$work/pour.yaml"
says "15 copies"
says "each, released from 0.05 to 0.25 s"
status 2 "$program" check "$work/pour.yaml" --set bodies.clumps.copies.region.box.min='[-0.2,-0.13,0.7]'
says 'overlaps "box" by'
pass "pour is checked"
echo "$count passed"
