# The quality block: unconverged steps are rejected, deep overlaps and energy from nowhere are reported, sound runs are not.
. tests/integration/common.sh
cat >"$work/drop.yaml" <<'END'
stickslip: 1
name: drop
time: {end: 0.3, step: 1.0e-3}
materials: {steel: {model: rigid, density: 1000}}
bodies:
  ball:  {kind: rigid, material: steel, shape: {sphere: {center: [0, 0, 0.06], radius: 0.05}}}
  floor: {kind: static, shape: {plane: {point: [0, 0, 0], normal: [0, 0, 1]}}}
contact: {friction: 0.3, stiffness: 1.0e+4}
output: {checkpoint: 0.1}
END
# value of an entry of the quality block of a run
entry() { sed -n "/^quality:/,/^measures:/s/^  $2: //p" "$1/result.yaml"; }
is() { [ "$(entry "$1" "$2")" = "$3" ] || { cat "$1/result.yaml"; fail "$2 is $(entry "$1" "$2") instead of $3"; }; }
above() { awk -v x="$(entry "$1" "$2")" -v least="$3" 'BEGIN { exit !(x > least) }' || fail "$2 is $(entry "$1" "$2"), not above $3"; }
result_has() { grep -qF -- "$2" "$1/result.yaml" || { cat "$1/result.yaml"; fail "result.yaml does not contain: $2"; }; }

# --- sound runs ---
for f in penalty exact convex hybrid; do
  status 0 "$program" run "$work/drop.yaml" --set formulation=$f --out "$work/sound-$f" --no-picture --strict
  grep -q "^status: finished$" "$work/sound-$f/result.yaml" || fail "$f: a falling ball has bad quality: $(entry "$work/sound-$f" bad)"
  is "$work/sound-$f" steps 300; is "$work/sound-$f" steps_above_tolerance 0; is "$work/sound-$f" warnings 0
  says "quality: steps 300, steps above tolerance 0"
done
pass "a ball that falls on the floor has a good quality in four formulations"
# Corners of the stones coincide, so that the features of contacts change without motion; the joints must not lose their load with them.
status 0 "$program" run "$root/jobs/exact/arch.yaml" --set formulation=convex --set time.end=0.3 --set time.frame=0.1 --out "$work/arch" --no-picture --strict
above "$work/arch" energy_increase_ratio -1e-12; above "$work/arch" deepest_overlap 1e-6
awk -v x="$(entry "$work/arch" deepest_overlap)" 'BEGIN { exit !(x < 4e-5) }' || fail "a joint of the arch sinks by $(entry "$work/arch" deepest_overlap) m"
pass "a standing arch gains no energy under convex"
grep -q "energy increase ratio  *0$" "$work/sound-penalty/summary.txt" || fail "summary.txt has no quality block"
grep -q '<table class="pairs" id="quality">' "$work/sound-penalty/report.html" 2>/dev/null ||
  { status 0 "$program" report "$work/sound-penalty"; grep -q '<table class="pairs" id="quality">' "$work/sound-penalty/report.html"; } || fail "no quality in the report"
pass "summary.txt and the report contain the block"

# --- deep overlaps ---
soft="--set contact.stiffness=1300"
status 0 "$program" run "$work/drop.yaml" $soft --out "$work/soft" --no-picture
says "finished, see quality: bodies overlap by 0.131 of the size of the smaller one, bound 0.1: ball, floor"
result_has "$work/soft" "status: finished, see quality"; result_has "$work/soft" "exit_code: 0"
is "$work/soft" deepest_overlap_bodies "ball, floor"; above "$work/soft" overlap_ratio 0.13
pass "a soft contact: overlap of more than a tenth of the ball"
status 5 "$program" run "$work/drop.yaml" $soft --out "$work/strict" --no-picture --strict
result_has "$work/strict" "exit_code: 5"
status 5 "$program" resume "$work/strict" --strict --no-picture && says "already finished"
status 0 "$program" resume "$work/strict" --no-picture && says "already finished"
status 5 "$program" run "$work/drop.yaml" $soft --set quality=strict --out "$work/key" --no-picture
status 0 "$program" run "$work/drop.yaml" --set quality=strict --out "$work/key2" --no-picture
pass "--strict and quality: strict end with exit code 5"
"$program" run "$work/drop.yaml" $soft --out "$work/steps" --steps 10 --strict --no-picture >"$work/out" 2>&1 || fail "stopped runs are not strict"
status 5 "$program" resume "$work/steps" --strict --no-picture
pass "resume --strict"

# --- energy ---
# A lagged spring is unstable above 2 sqrt(m/k) = 14.5 ms. The expected increase follows from the recurrence of a mass m = 4/3 pi 0.05^3 1000 kg that
# falls by 1 cm on a spring of k = 1e4 N/m with the force of the start of the step: v += h (k depth/m - g), z += h v.
gain=$(awk 'BEGIN { m = 1000 * 4 / 3 * atan2(0, -1) * 0.05 ^ 3; k = 1e4; g = 9.81; h = 0.02; z = 0.01; low = m * g * z
  for (n = 1; n <= 50; ++n) {
    v += h * ((z < 0 ? -k * z : 0) / m - g); z += h * v
    e = 0.5 * m * v * v + m * g * z + (z < 0 ? 0.5 * k * z * z : 0)
    if (e < low) low = e
    if (e - low > most) most = e - low
  }
  printf "%.9g", most }')
status 0 "$program" run "$work/drop.yaml" --set solver.penalty.expert.scheme=lagged_contact --set time.step=0.02 --set time.end=1 --out "$work/lag" --no-picture
says "finished, see quality: the energy increased by"; above "$work/lag" energy_increase_ratio 0.5
awk -v x="$(entry "$work/lag" energy_increase)" -v e="$gain" 'BEGIN { d = x / e - 1; exit !(d < 1e-6 && d > -1e-6) }' ||
  fail "the energy increased by $(entry "$work/lag" energy_increase) J, expected $gain J"
pass "a spring that creates energy"
# Springs that are compressed at the start have energy; the correction of a permitted overlap of 5 mm lifts the box, which is external work
# m g 5 mm = 0.049 J. Springs with damping store 1/2 k depth^2, not half of force times depth.
cat >"$work/start.yaml" <<'END'
stickslip: 1
name: start
time: {end: 0.8, step: 5.0e-3}
materials: {wood: {model: rigid, density: 1000}}
bodies:
  floor: {kind: static, shape: {box: {min: [-0.5, -0.5, -0.2], max: [0.5, 0.5, 0]}}}
  cube: {kind: rigid, material: wood, shape: {box: {min: [-0.05, -0.05, -0.005], max: [0.05, 0.05, 0.095]}}}
contact: {friction: 0.3, stiffness: 1.0e+4, initial_overlap: permit}
measure: {z: {quantity: position, body: cube, direction: [0, 0, 1]}}
output: {checkpoint: 0.05}
END
vertices="--set solver.penalty.expert.rigid_detector=vertices"
for set in "" "$vertices" "--set formulation=convex" "--set formulation=exact" "--set contact.initial_overlap=preload" \
  "--set formulation=convex --set contact.initial_overlap=preload" "--set contact.initial_overlap=preload --set bodies.floor.contact_surface=mesh $vertices"; do
  status 0 "$program" run "$work/start.yaml" $set --out "$work/start" --force --no-picture --strict
  awk -v x="$(entry "$work/start" energy_increase_ratio)" 'BEGIN { exit !(x != "" && x < 1e-8) }' || fail "$set: energy increase $(entry "$work/start" energy_increase_ratio)"
done
status 0 "$program" run "$work/start.yaml" --out "$work/start" --force --no-picture --steps 13
status 0 "$program" resume "$work/start" --no-picture --strict
is "$work/start" energy_increase "$("$program" run "$work/start.yaml" --out "$work/unbroken" --force --no-picture --quiet && entry "$work/unbroken" energy_increase)"
for set in "bodies.cube.velocity=[0, 0, 0]" "bodies.cube.velocity=[0, 0, -1]"; do
  status 0 "$program" run validation/cases/A10-auto/case.yaml --set formulation=convex --set time.end=1 --set "$set" --out "$work/start" --force --no-picture --strict
done
pass "energy of springs at the start, and work of the correction of overlaps"
# The entries follow from the history: the largest rise of the sum of all energies and friction work above an earlier minimum.
status 0 "$program" run "$work/drop.yaml" --set solver.penalty.expert.scheme=lagged_contact --set time.step=0.02 --set time.end=1 \
  --set "bodies.ball.velocity=[2, 0, 0]" --out "$work/slide" --no-picture
awk -F, -v increase="$(entry "$work/slide" energy_increase)" -v ratio="$(entry "$work/slide" energy_increase_ratio)" '
  NR == 1 { for (i = 1; i <= NF; ++i) { sub(/ .*/, "", $i); c[$i] = i } next }
  { motion = $c["kinetic_energy"] + $c["elastic_energy"] + $c["contact_energy"]; work = $c["friction_work"]; e = motion + $c["potential_energy"] + work
    if (NR == 2 || e < least) least = e
    if (e - least > most) most = e - least
    if (motion > exchanged) exchanged = motion }
  END { exit !(work > 0.1 && most > 1 && (increase / most - 1) ^ 2 < 1e-20 && (ratio * exchanged / most - 1) ^ 2 < 1e-20) }' "$work/slide/history.csv" ||
  fail "energy_increase and its ratio differ from the history"
# A ball that starts on springs in equilibrium, 0.5 mm deep, gains nothing.
status 0 "$program" run "$work/drop.yaml" --set "bodies.ball.shape={sphere: {center: [0, 0, 0.0495], radius: 0.05}}" --out "$work/pressed" --no-picture --strict
is "$work/pressed" energy_increase 0
pass "the increase is that of the energies in the history; springs at the start are no increase"
status 0 "$program" run "$work/drop.yaml" --set "bodies.ball.force=[0, 0, 10]" --out "$work/force" --no-picture
is "$work/force" energy_not_checked "bodies.ball.force"
grep -q "^  energy_increase" "$work/force/result.yaml" && fail "an energy increase in spite of an external force"
status 0 "$program" run "$work/drop.yaml" --set "bodies.ball.force=[0, 0, 0]" --out "$work/noforce" --no-picture
is "$work/noforce" energy_not_checked '""'; is "$work/noforce" energy_increase 0
pass "external work is not an error, and its reason is named"

# --- unconverged steps ---
# JOB SETTINGS TEXT...: the job stops with code 4 and these texts; with accept_unconverged it finishes with bad quality.
rejects() { # NAME JOB "SETTINGS" TEXT...
  name=$1 file=$2 settings=$3; shift 3
  status 4 "$program" run "$file" $settings --set time.retry.halvings=1 --out "$work/$name" --no-picture
  for text in "did not converge" "residual " "accepted up to " "$@"; do
    says "$text"; grep -qF -- "$text" "$work/$name/failure.txt" || fail "failure.txt does not contain: $text"
    result_has "$work/$name" "$text"
  done
  grep -q "level of rounding errors; then choose a larger solver\." "$work/$name/failure.txt" || fail "failure.txt does not name the tolerance"
  result_has "$work/$name" "exit_code: 4"
  status 0 "$program" run "$file" $settings --set time.retry.halvings=1 --set time.retry.accept_unconverged=smallest_step --out "$work/$name" --force --no-picture
  says "finished, see quality: "; above "$work/$name" steps_above_tolerance 0; above "$work/$name" step_halvings 0
  status 0 "$program" run "$file" $settings --set time.retry.accept_unconverged=always --out "$work/$name" --force --no-picture
  says "finished, see quality: "; above "$work/$name" steps_above_tolerance 0; is "$work/$name" step_halvings 0
  pass "$name: unconverged steps are rejected, or accepted and reported"
}
few="--set solver.newton.max_iterations=2"
rejects penalty $here/small.yaml "--set time.end=0.004 --set time.frame=0 --set solver.newton.tolerance=1e-9 $few" "in body pad" "10 * solver.newton.tolerance"
rejects exact $here/exact.yaml "--set time.end=0.008 --set time.frame=0 --set solver.newton.tolerance=1e-14 $few" "in body " "10 * solver.newton.tolerance"
rejects convex $here/small.yaml "--set formulation=convex --set time.end=0.008 --set time.frame=0 --set solver.newton.tolerance=1e-14 $few" "in body " "10 * solver.newton.tolerance"
rejects hybrid $here/hybrid.yaml "--set time.end=0.008 --set time.frame=0 --set solver.newton.tolerance=1e-14 $few" "in body " "10 * solver.newton.tolerance"
rejects monolith $here/monolith.yaml "--set time.end=0.008 --set time.frame=0 --set solver.monolith.tolerance=1e-12 --set solver.monolith.max_outer_iterations=2" "10 * solver.monolith.tolerance"
status 0 "$program" run $here/small.yaml --set time.end=0.004 --set time.frame=0 --set solver.newton.tolerance=1e-9 $few --set solver.newton.stall_tolerance=1 --out "$work/stall" --no-picture
is "$work/stall" steps_above_tolerance 2; is "$work/stall" step_halvings 0
says "exceeds solver.newton.tolerance 1e-09"
pass "an explicit stall_tolerance accepts the steps; they are counted"

# --- resume ---
un="--set solver.newton.tolerance=1e-9 $few --set solver.newton.stall_tolerance=1 --set time.end=0.02"
status 0 "$program" run $here/small.yaml $un --out "$work/whole" --no-picture --threads 1
status 0 "$program" run $here/small.yaml $un --out "$work/part" --no-picture --steps 5 --threads 1
result_has "$work/part" "status: stopped"; is "$work/part" steps_above_tolerance 5
status 0 "$program" resume "$work/part" --no-picture --threads 1
status 0 "$program" diff "$work/whole" "$work/part"
block() { sed -n '/^quality:/,/^measures:/p' "$1/result.yaml"; }
[ "$(block "$work/whole")" = "$(block "$work/part")" ] || { block "$work/whole"; block "$work/part"; fail "the quality block differs after a resume"; }
is "$work/part" steps_above_tolerance 10
pass "a resumed run has the block of the uninterrupted one"

# Warnings: one of the start, one of the run. They are the same for a run in two parts, stopped before or after the second one, or killed.
sed 's/^materials: {/&unused: {model: rigid, density: 1}, /' "$work/drop.yaml" >"$work/warn.yaml"
status 0 "$program" run "$work/warn.yaml" $soft --out "$work/warn" --no-picture
is "$work/warn" warnings 2; result_has "$work/warn" "[unused-parameter]"; result_has "$work/warn" "[deep-overlap]"
block() { sed -n '/^quality:/,/^checksum:/p' "$1/result.yaml" | grep -v "^checksum:"; }
for n in 20 100 200; do
  rm -rf "$work/two"
  "$program" run "$work/warn.yaml" $soft --out "$work/two" --no-picture --quiet --steps $n >"$work/out" 2>&1
  is "$work/two" warnings $((n > 68 ? 2 : 1))
  status 0 "$program" resume "$work/two" --no-picture
  [ "$(block "$work/warn")" = "$(block "$work/two")" ] || { block "$work/warn"; block "$work/two"; fail "the quality block differs after a resume at step $n"; }
done
rm "$work/two/checkpoints/checkpoint_000000300.h5" # as if the run had been killed after the checkpoint before
status 0 "$program" resume "$work/two" --no-picture
[ "$(block "$work/warn")" = "$(block "$work/two")" ] || { block "$work/warn"; block "$work/two"; fail "the quality block differs after a resume from an older checkpoint"; }
pass "warnings of all starts are in the block of a resumed run"

# --- sweeps ---
cat >"$work/sweep.yaml" <<END
sweep: 1
name: s
base: $work/drop.yaml
vary: {contact.stiffness: [1.0e+4, 1300]}
END
status 0 "$program" sweep "$work/sweep.yaml" --local -j 1 --out "$work/sweep"
grep -q '"finished, see quality"' "$work/sweep/results.csv" && grep -q ',finished,' "$work/sweep/results.csv" || { cat "$work/sweep/results.csv"; fail "status in results.csv"; }
status 0 "$program" sweep status "$work/sweep" --cases
says "1 of the finished cases: see quality"; says "finished, see quality"; says "bodies overlap by 0.131"
status 0 "$program" sweep run "$work/sweep" && says "2 cases finished, 0 failed"
status 5 "$program" sweep run "$work/sweep" --strict
status 5 "$program" sweep "$work/sweep.yaml" --local -j 1 --out "$work/sweep2" --strict
result_has "$work/sweep2/cases/000002" "exit_code: 5"; result_has "$work/sweep2/cases/000001" "exit_code: 0"
pass "sweep tables contain the status; --strict"
status 0 "$program" sweep "$work/sweep.yaml" --script --strict --out "$work/sweep3"
says "--requeue --strict"
pass "the batch script passes --strict"
echo "$count checks"
