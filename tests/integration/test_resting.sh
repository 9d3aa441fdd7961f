# Islands of rigid bodies at rest (contact.skip_resting): forces and energies while they are left out, what wakes them, the same bits on any
# number of threads and after resuming, and nearly the same motion as without them.
. tests/integration/common.sh
cat >"$work/rest.yaml" <<'JOB'
stickslip: 1
name: rest
formulation: exact
gravity: [0, 0, -10]
time: {end: 0.8, step: 0.005, frame: 0.1}
materials: {stone: {model: rigid, density: 1000}}
bodies:
  low: {kind: rigid, material: stone, shape: {box: {min: [-0.05, -0.05, 0], max: [0.05, 0.05, 0.1]}}}
  high: {kind: rigid, material: stone, shape: {box: {min: [-0.05, -0.05, 0.1], max: [0.05, 0.05, 0.2]}}}
  far: {kind: rigid, material: stone, shape: {box: {min: [0.4, -0.05, 0], max: [0.5, 0.05, 0.1]}}}
  carried: {kind: rigid, material: stone, shape: {box: {min: [0.8, -0.05, 0.1], max: [0.9, 0.05, 0.2]}}}
  ball: {kind: rigid, material: stone, shape: {sphere: {center: [0.02, 0, 1.0], radius: 0.05}}}
  stop: {kind: rigid, material: stone, shape: {sphere: {center: [0, 2, 1.0], radius: 0.05}}, force: [0, 0, 5.235987755982989]}
  table:
    kind: kinematic
    shape: {box: {min: [0.7, -0.2, 0], max: [1, 0.2, 0.1]}}
    motion: {expressions: {translate: ["0", "0", "max(0, t - 0.45)^2"]}}
  floor: {kind: static, shape: {plane: {}}}
contact: {friction: 0.5}
output: {checkpoint: 0.08, keep: 20}
measure:
  load: {quantity: contact_force, body: far, other: floor, direction: [0, 0, 1]}
  under: {quantity: contact_force, body: low, other: floor, direction: [0, 0, 1]}
  between: {quantity: contact_force, body: high, other: low, direction: [0, 0, 1]}
  number: {quantity: coordination_number}
  lift: {quantity: velocity, body: carried, direction: [0, 0, 1]}
  top: {quantity: position, body: high, direction: [0, 0, 1]}
  energy: {quantity: mechanical_energy}
JOB
# of the history of a run: largest number of bodies at rest before T, from T to U, and after U
resting_in() { # RUN T U
  awk -F, -v t="$2" -v u="$3" 'NR == 1 { for (i = 1; i <= NF; ++i) { if ($i ~ /^time /) at = i; if ($i ~ /^resting( |$)/) k = i } next }
    { n = $at < t ? 1 : $at < u ? 2 : 3; if ($k > most[n]) most[n] = $k } END { print most[1] + 0, most[2] + 0, most[3] + 0 }' "$1/history.csv"
}
# Two series of the same times agree to DIFFERENCE.
agree() { # FILE FILE DIFFERENCE
  paste -d, "$1" "$2" | awk -F, -v most="$3" 'NR > 1 && ($3 - $6)^2 > most^2 { print; bad = 1 } END { exit bad || NR < 100 }' || fail "$1 and $2 differ by more than $3"
}
for f in exact convex; do
  rm -rf "$work/whole" "$work"/threads*
  runs_alike_on_threads "$work/rest.yaml" --set formulation=$f --set solver.friction.tolerance=1e-12
  resumes_from_everywhere load under between number lift top energy
  # The ball hits the stack at 0.39 s; the table, which carries a box, starts at 0.45 s. Only `far` is never disturbed.
  n=$(resting_in "$work/whole" 0.35 0.5); [ "${n%% *}" = 4 ] || fail "bodies at rest: $n"
  n=$(resting_in "$work/whole" 0.4 0.45); [ "$(echo "$n" | cut -d ' ' -f 2)" = 2 ] || fail "bodies at rest after the impact of the ball: $n"
  awk -F, 'NR > 1 && $2 > 0.25 && ($3 - 10)^2 > 1e-14 { exit 1 }' "$work/whole/measure/load.csv" || fail "force of a body at rest"
  awk -F, 'NR > 1 && $2 > 0.25 && $2 < 0.34 && ($3 - 20)^2 > 1e-14 { exit 1 } $2 > 0.4 && $3 > 40 { hit = 1 } END { exit !hit }' "$work/whole/measure/under.csv" ||
    fail "force under the stack"
  tail -n 1 "$work/whole/measure/lift.csv" | awk -F, '{ exit !(($3 - 0.7)^2 < 1e-4) }' || fail "the table does not carry the box: $(tail -n 1 "$work/whole/measure/lift.csv")"
  status 0 "$program" run "$work/rest.yaml" --out "$work/all" --force --threads 1 --no-picture --set formulation=$f --set solver.friction.tolerance=1e-12 \
    --set contact.skip_resting=false
  [ "$(resting_in "$work/all" 0.3 0.5)" = "0 0 0" ] || fail "skip_resting: false leaves bodies out"
  agree "$work/all/measure/load.csv" "$work/whole/measure/load.csv" 1e-6
  agree "$work/all/measure/top.csv" "$work/whole/measure/top.csv" 1e-6
  agree "$work/all/measure/number.csv" "$work/whole/measure/number.csv" 0
  agree "$work/all/measure/energy.csv" "$work/whole/measure/energy.csv" 1e-5
  pass "$f: bodies at rest are left out until a ball or a table disturbs them"
done

# A changed job: the block rests on a slope that friction 0.5 holds, and slides with 0.1.
cat >"$work/slope.yaml" <<'JOB'
stickslip: 1
name: slope
formulation: exact
gravity: [3, 0, -10]
time: {end: 0.2, step: 0.005}
materials: {stone: {model: rigid, density: 1000}}
bodies:
  block: {kind: rigid, material: stone, shape: {box: {min: [-0.05, -0.05, 0], max: [0.05, 0.05, 0.1]}}}
  floor: {kind: static, shape: {plane: {}}}
contact: {friction: 0.5}
solver: {friction: {tolerance: 1.0e-12}}
measure: {v: {quantity: velocity, body: block, direction: [1, 0, 0]}}
JOB
status 0 "$program" run "$work/slope.yaml" --out "$work/slope" --no-picture
[ "$(resting_in "$work/slope" 0.09 1)" = "0 1 0" ] || fail "the block does not rest: $(resting_in "$work/slope" 0.09 1)"
cp -r "$work/slope" "$work/slides"
status 0 "$program" resume "$work/slides" --no-picture --set contact.friction=0.1 --set time.end=0.3
tail -n 1 "$work/slides/measure/v.csv" | awk -F, '{ exit !(($3 - 0.2)^2 < 1e-16) }' || fail "a changed job does not wake the block: $(tail -n 1 "$work/slides/measure/v.csv")"
for rest in false true; do # and back
  status 0 "$program" resume "$work/slope" --no-picture --set contact.skip_resting=$rest --set time.end=$([ $rest = false ] && echo 0.3 || echo 0.5)
done
[ "$(resting_in "$work/slope" 0.2025 0.3025)" = "1 0 1" ] || fail "skip_resting changed at a resume: $(resting_in "$work/slope" 0.2025 0.3025)"
pass "a changed job wakes all bodies"

for f in penalty monolith hybrid; do
  status 0 "$program" check "$here/rigid.yaml" --set formulation=$f --set contact.skip_resting=false
  says "contact.skip_resting: not used by formulation $f: all bodies are solved in each step"
done
pass "other formulations report the key"
echo "$count passed"
