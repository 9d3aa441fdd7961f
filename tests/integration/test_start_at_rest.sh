# time.start: at_rest: the run starts in equilibrium, resumes with the same bits, and reports a missing equilibrium.
. tests/integration/common.sh
cat >"$work/box.yaml" <<'END'
stickslip: 1
name: box
time: {end: 0.05, step: 1.0e-3, start: at_rest}
materials:
  wood:   {model: rigid, density: 1000}
  rubber: {model: fixed_corotated, density: 1000, youngs_modulus: 1.0e6, poisson_ratio: 0.3}
bodies:
  floor: {kind: static, shape: {plane: {}}}
  cube:  {kind: rigid, material: wood, shape: {box: {min: [-0.05, -0.05, 0], max: [0.05, 0.05, 0.1]}}}
  pad:   {kind: fem, material: rubber, spacing: 0.05, shape: {box: {min: [0.1, -0.05, 0], max: [0.2, 0.05, 0.1]}}}
contact: {friction: 0.3, stiffness: 1.0e+5}
output: {checkpoint: 0.01, keep: 100}
measure:
  z: {quantity: position, body: cube, direction: [0, 0, 1]}
END
status 0 "$program" run "$work/box.yaml" --out "$work/whole" --threads 1 --no-picture --strict
says "initial equilibrium: "; says "relaxation steps, remaining velocity"
grep -q "^  relaxation_steps: [1-9]" "$work/whole/result.yaml" || fail "result.yaml does not contain relaxation_steps"
grep -q "^  remaining_velocity: [0-9.]*e-" "$work/whole/result.yaml" || fail "result.yaml does not contain remaining_velocity"
awk -F, 'NR > 1 { z = $3 - 0.049975475; if (z > 1e-9 || z < -1e-9) bad = 1; ++n } END { exit bad || n != 51 }' "$work/whole/measure/z.csv" ||
  fail "the cube does not start and stay at its static penetration"
pass "a cube starts at the depth W/(4 k) and does not move"
status 0 "$program" run "$work/box.yaml" --out "$work/threads2" --threads 2 --no-picture
status 0 "$program" diff "$work/whole" "$work/threads2" && pass "the same bits on 2 threads"
resumes_from_everywhere z
[ "$(grep relaxation_steps "$work/part/result.yaml")" = "$(grep relaxation_steps "$work/whole/result.yaml")" ] || fail "relaxation_steps is lost by resume"
pass "resumed runs do not repeat the search, and report it"

cat >"$work/slope.yaml" <<'END'
stickslip: 1
name: slope
time: {end: 0.05, step: 1.0e-3, start: at_rest}
materials: {wood: {model: rigid, density: 1000}}
bodies:
  floor: {kind: static, shape: {plane: {normal: [0.1, 0, 1]}}}
  ball:  {kind: rigid, material: wood, shape: {sphere: {center: [0, 0, 0.051], radius: 0.05}}}
contact: {friction: 0, stiffness: 1.0e+5}
END
status 4 "$program" run "$work/slope.yaml" --out "$work/slope" --no-picture
says "time.start: at_rest: no static equilibrium found after 1000 relaxation steps: ball still accelerates with 0.976 m/s^2, limit 1e-05 m/s^2"
says "Add friction, a support or a hold"
grep -q "no static equilibrium" "$work/slope/failure.txt" || fail "failure.txt does not name the reason"
grep -q "^exit_code: 4" "$work/slope/result.yaml" || fail "result.yaml does not contain exit code 4"
pass "a ball on a slope without friction: exit code 4 with the body and its acceleration"

status 2 "$program" check "$work/box.yaml" --set "bodies.cube.velocity=[1, 0, 0]"
says "bodies.cube.velocity: the body has an initial velocity (kinetic energy 0.5 J), but time.start: at_rest starts at rest"
status 2 "$program" check jobs/monolith/box.yaml --set time.start=at_rest
says "time.start: not supported by formulation monolith"
pass "initial velocities and formulation monolith are rejected"
