# Step halving: number of attempts, time in substeps, reports over substeps, and the state after a failed substep.
#
# A block of particles flies so fast that a step would move it by several cells; a step must move less than one. An elastic block is
# accelerated by a load that depends on time. Nothing touches anything.
. tests/integration/common.sh
cat >"$work/job.yaml" <<'END'
stickslip: 1
name: substeps
gravity: [0, 0, 0]
time: {end: 0.008, step: 2.0e-3, retry: {halvings: 3}}
materials:
  jelly: {model: fixed_corotated, density: 1000, youngs_modulus: 1.0e5, poisson_ratio: 0.3}
bodies:
  fast:   {kind: mpm, material: jelly, spacing: 0.04, particles_per_cell: 8, shape: {box: {min: [0, 0, 0], max: [0.12, 0.12, 0.12]}}, velocity: [0, 0, 30]}
  loaded: {kind: fem, material: jelly, spacing: 0.1, shape: {box: {min: [5, 0, 0], max: [5.1, 0.1, 0.1]}}, load: [1000 * t, 0, 0]}
contact: {friction: 0.4, stiffness: 500}
output: {checkpoint: 0.1, checkpoint_wall: 0}
measure:
  speed: {quantity: velocity, body: loaded, direction: [1, 0, 0]}
END
job=$work/job.yaml
run="--threads 1 --no-picture"

# 1.5 cells per step need 2 substeps, 3 cells need 4. Each step begins with half as many substeps as the one before ended with.
# Backward Euler with substeps h has after n of them the velocity 1000 h^2 n (n + 1) / 2, up to the tolerance of Newton's method.
substeps() { # VELOCITY SUBSTEPS RETRIES_OF_EACH_STEP
  status 0 "$program" run "$job" --out "$work/whole" $run --force --set "bodies.fast.velocity=[0, 0, $1]"
  retries=$(echo $(whole_column retries))
  [ "$retries" = "$3" ] || fail "$1 m/s: retries of the steps are $retries, expected $3"
  speed=$(tail -n 1 "$work/whole/measure/speed.csv" | cut -d, -f3)
  awk -v v="$speed" -v m="$2" 'BEGIN { h = 2e-3 / m; n = 4 * m; w = 1000 * h * h * n * (n + 1) / 2; exit !(v - w < 1e-6 * w && w - v < 1e-6 * w) }' ||
    fail "$1 m/s: the loaded block has $speed m/s"
  total=0; for n in $3; do total=$((total + n)); done
  head -n 1 "$work/whole/summary.txt" | grep -q " $total retries\$" && grep -q "^retries: $total$" "$work/whole/result.yaml" || fail "summary.txt or result.yaml does not report $total retries"
  whole_column evaluations >"$work/sums"
  pass "$1 m/s: $2 substeps, retries $3"
}
substeps 15 1 "0 0 0 0"
cp "$work/sums" "$work/one"
substeps 30 2 "1 1 1 1"
substeps 60 4 "2 1 1 1"
# Counters are summed over substeps, for each step anew. Every substep is the same linear problem.
awk 'NR == FNR { one[FNR] = $1; next } $1 != 4 * one[1] || one[FNR] != one[1] || one[1] == 0 { exit 1 }' "$work/one" "$work/sums" || fail "evaluations: $(echo $(cat "$work/one")) in whole steps, $(echo $(cat "$work/sums")) in 4 substeps"
pass "counters are sums over the substeps of each step"

# The load becomes undefined after 1.6 steps: the first half of the second step succeeds, the rest fails at every level. The
# checkpoint has the state before that step: with another load both runs continue with the same bits.
undefined="--set bodies.loaded.load=['1000*sqrt(0.0032-t)','0','0']"
mend="--set bodies.loaded.load=['1000*t','0','0']"
status 4 "$program" run "$job" --out "$work/failed" $run $undefined
says "step 2" && says "dt/8" && says "a value became infinite or not a number"
status 0 "$program" run "$job" --out "$work/before" $run --steps 1 $undefined
for r in failed before; do
  status 0 "$program" resume "$work/$r" $run $mend --steps 1
done
status 0 "$program" diff "$work/before" "$work/failed"
pass "completed substeps of a failed step are undone"

# The last allowed halving is used; with one less the run fails.
status 0 "$program" run "$job" --out "$work/enough" $run --steps 1 --set 'bodies.fast.velocity=[0, 0, 60]' --set time.retry.halvings=2
status 4 "$program" run "$job" --out "$work/few" $run --steps 1 --set 'bodies.fast.velocity=[0, 0, 60]' --set time.retry.halvings=1 && says "dt/2:"
pass "time.retry.halvings is the largest number of halvings"

# Fewer halvings than the last step needed: it fails at once.
status 0 "$program" run "$job" --out "$work/fewer" $run --steps 1 --set 'bodies.fast.velocity=[0, 0, 60]'
status 4 timeout 60 "$program" resume "$work/fewer" $run --set time.retry.halvings=0 && says "dt/1:"
pass "resume with fewer halvings"
# Measured contact forces are means over the substeps: with the weight they change the momentum. A ball of 1 kg falls on a floor while fast
# particles enforce two substeps; at the end of the run only one substep of a step has contact.
cat >"$work/forces.yaml" <<'END'
stickslip: 1
name: forces
formulation: penalty
gravity: [0, 0, -10]
time: {end: 0.04, step: 2.0e-3, retry: {halvings: 3}}
materials:
  jelly: {model: fixed_corotated, density: 1000, youngs_modulus: 1.0e5, poisson_ratio: 0.3}
  stone: {model: rigid, density: 1000}
bodies:
  fast:  {kind: mpm, material: jelly, spacing: 0.04, particles_per_cell: 8, shape: {box: {min: [5, 0, 0], max: [5.12, 0.12, 0.12]}}, velocity: [30, 0, 0]}
  ball:  {kind: rigid, material: stone, mass: 1, inertia: [1.0e-3, 1.0e-3, 1.0e-3], shape: {sphere: {center: [0, 0, 0.06], radius: 0.05}}, velocity: [0, 0, -1]}
  floor: {kind: static, shape: {plane: {}}}
contact: {friction: 0.4, stiffness: 2.0e4}
solver: {newton: {tolerance: 1.0e-9}}
measure:
  force: {quantity: contact_force, body: ball, direction: [0, 0, 1]}
  moment: {quantity: contact_moment, body: ball, direction: [0, 0, 1]}
  speed: {quantity: velocity, body: ball, direction: [0, 0, 1]}
END
for f in penalty convex; do
  status 0 "$program" run "$work/forces.yaml" --out "$work/whole" $run --force --set formulation=$f
  [ "$(whole_column retries | head -n 1)" = 1 ] || fail "$f: no substeps"
  paste -d, "$work/whole/measure/force.csv" "$work/whole/measure/speed.csv" |
    awk -F, 'NR == 1 { next } NR > 2 { d = $6 - v - ($3 - 10) * ($2 - t); if (d * d > 1e-12) { print "t = " $2 ": " d " N s"; bad = 1 }; if ($3 > 10) hit = 1 }
             { v = $6; t = $2 } END { exit bad || !hit }' || fail "$f: the measured force does not change the momentum"
done
pass "contact forces are means over the substeps"
echo "$count passed"
