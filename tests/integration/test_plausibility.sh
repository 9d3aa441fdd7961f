# Implausible or wrong jobs: each is rejected or reported with the expected text. Sound jobs: `check` prints no warning.
. tests/integration/common.sh
jobs=$(pwd)/jobs tests=$here
cd "$work" || exit 1

cat >base.yaml <<'E2'
stickslip: 1
name: base
gravity: [0, 0, -9.81]
time: {end: 0.5, step: 1.0e-3, frame: 0.1}
materials:
  steel: {model: rigid, density: 1000}
  rubber: {model: fixed_corotated, density: 1000, youngs_modulus: 1.0e6, poisson_ratio: 0.3}
bodies:
  floor: {kind: static, shape: {plane: {normal: [0, 0, 1], offset: 0}}}
  box: {kind: rigid, material: steel, shape: {box: {min: [-0.05, -0.05, 0], max: [0.05, 0.05, 0.1]}}}
  soft: {kind: fem, material: rubber, spacing: 0.03, shape: {box: {min: [0.2, -0.05, 0], max: [0.3, 0.05, 0.1]}}}
contact:
  friction: 0.5
  stiffness: 1.0e5
measure:
  z: {quantity: position, body: box, direction: [0, 0, 1]}
E2

# ---- the sound job, and changes of it: exit code | expected text | sed script ----
status 0 "$program" check base.yaml
grep -q warning: out && { cat out; fail "the base job has a warning"; }
tab=$(printf '\t')
cat >rows <<E2
2 | the decimal mark is a point | s/friction: 0.5/friction: 0,5/
2 | the decimal mark is a point: 0.5, not 0,5 | s/-9.81/-9,81/
2 | a colon must follow the key: "friction: 0.5 | s/friction: 0.5/friction 0.5/;/stiffness/d
2 | line 13 may lack a colon: "friction: 0.5" | s/friction: 0.5/friction 0.5/
2 | line 13: a space must follow the colon: "friction: 0.5" | s/friction: 0.5/friction:0.5/
2 | a space must follow the colon: write "end: 0.5" | s/end: 0.5/end:0.5/
2 | a tab cannot indent, use spaces | s/^  friction/${tab}friction/
2 | unknown key; write "friction" | s/friction: 0.5/mu: 0.5/
2 | unknown key; write contact: {friction: NUMBER} | s/^gravity/mu: 0.5\\ngravity/
2 | unknown key; write "step" | s/step: 1.0e-3/dt: 1.0e-3/
2 | unknown key; write time: {step: NUMBER} | s/^gravity/dt: 1.0e-3\\ngravity/
2 | write min: [-0.05, -0.05, 0], max: [0.05, 0.05, 0.1] | s/min: .-0.05, -0.05, 0., max: .0.05, 0.05, 0.1./center: [0, 0, 0.05], size: [0.1, 0.1, 0.1]/
2 | there is no operator "and" | \$a until: ["z > 1 && t > 0.1"]
2 | there is no operator "or" | \$a until: ["z > 1 || t > 0.1"]
2 | comparisons cannot be chained | \$a until: ["0 < z < 1"]
2 | a comparison is written a == b | \$a until: ["z = 1"]
2 | unknown key; write "youngs_modulus" | s/youngs_modulus/E/
2 | unknown key; write "poisson_ratio" | s/poisson_ratio/nu/
2 | unknown key; write "density" | s/rigid, density/rigid, rho/
2 | write materials.NAME.density | s/spacing: 0.03/spacing: 0.03, mass: 2/
2 | write materials.NAME.density | s/kind: rigid/kind: rigid, density: 2/
2 | write the bare number in SI units (1 MPa is 1000000 Pa) | s/1.0e6/1 MPa/
2 | write the bare number in SI units (30 mm is 0.03 m) | s/0.03/30 mm/
2 | write true | s/^measure/  pairs: [{between: [box, soft], contact: yes}]\\nmeasure/
2 | did you mean "steel"? | s/material: steel/material: stel/
2 | no body is called "bxo" | s/body: box/body: bxo/
2 | did you mean "position"? | s/quantity: position/quantity: positon/
2 | unknown frame field "velocty"; did you mean "velocity"? | \$a output: {fields: [velocty]}
2 | unknown frame field "speeed" | \$a picture: {field: speeed}
2 | no body is called "flor"; did you mean "floor"? | \$a picture: {transparent: [flor]}
2 | did you mean "soft-contact"? | \$a ignore_warnings: [soft-contac]
2 | N/m limits the static penetration to 1 % | /stiffness/d
2 | friction_angle_deg is in degrees; write friction_angle_deg: 17.1887 | s/^bodies:/  sand: {model: drucker_prager, density: 1600, youngs_modulus: 1.0e6, poisson_ratio: 0.3, friction_angle_rad: 0.3}\\nbodies:/
2 | is less than time.step | s/end: 0.5/end: 0.0001/;s/, frame: 0.1//
2 | expected a multiple of time.step | s/frame: 0.1/frame: 0.10005/
0 | nothing is below it: it falls | /floor:/d
0 | so contacts can be missed | s/kind: rigid/kind: rigid, velocity: [0, 0, -500]/
0 | more than its extent or spacing | s/step: 1.0e-3, frame: 0.1/step: 0.25/
0 | elastic oscillations are damped within one step | s/1.0e6/2.0e11/;s/step: 1.0e-3/step: 1.0e-2/
0 | does not resolve a collision of duration | s/^measure/  restitution: 0.5\\nmeasure/
0 | which the linear solver cannot resolve | s/stiffness: 1.0e5/stiffness: 1.0e16/
0 | gives a static penetration of | s/stiffness: 1.0e5/stiffness: 10/
0 | no body has this material | /soft:/d
0 | its other parameters have no effect | /soft:/d;s/material: steel/material: rubber/
0 | so it can pass between them | s/spacing: 0.03/spacing: 0.1/;s/^contact:/  bar: {kind: static, shape: {capsule: {from: [0.15, 0, -0.02], to: [0.35, 0, -0.02], radius: 0.01}}}\\ncontact:/
0 | so the surface deviates by | s/^contact:/  ball: {kind: rigid, material: steel, surface_spacing: 0.1, shape: {sphere: {center: [1, 0, 0.05], radius: 0.05}}}\\ncontact:/
0 | so only the first and the last frame are written | s/frame: 0.1/frame: 5/
0 | the run has only 1 step | s/end: 0.5, step: 1.0e-3, frame: 0.1/end: 1.0e-3, step: 1.0e-3/
0 | frames are written; a longer interval saves disk space | s/end: 0.5, step: 1.0e-3, frame: 0.1/end: 1000, step: 1.0e-3, frame: 1.0e-3/
E2
n=0
while IFS= read -r row; do
  n=$((n + 1))
  code=${row%% | *} rest=${row#* | }
  text=${rest%% | *} script=${rest#* | }
  sed "$script" base.yaml >"row$n.yaml"
  cmp -s base.yaml "row$n.yaml" && fail "row $n does not change the job: $script"
  status "$code" "$program" check "row$n.yaml"
  says "$text"
done <rows
[ "$n" -ge 40 ] || fail "only $n implausible jobs"
pass "$n implausible or wrong jobs are rejected or reported"

# A body behind a plane is an overlap; where that is permitted, it is a warning, but not for a body that only penetrates the plane.
sed 's/min: \[-0.05, -0.05, 0\], max: \[0.05, 0.05, 0.1\]/min: [-0.05, -0.05, -0.3], max: [0.05, 0.05, -0.2]/' base.yaml >below.yaml
status 2 "$program" check below.yaml
says 'overlaps "floor" by 0.3 m'
sed 's/^contact:/contact:\n  pairs: [{between: [box, floor], initial_overlap: permit}]/' below.yaml >permitted.yaml
status 0 "$program" check permitted.yaml
says 'at least 0.2 m from its surface; the free side of the plane is in direction (0, 0, 1) [below-plane]'
sed 's/max: \[0.05, 0.05, -0.2\]/max: [0.05, 0.05, 0.01]/' permitted.yaml >partly.yaml
status 0 "$program" check partly.yaml
grep -q below-plane out && { cat out; fail "a body that penetrates a plane is reported as behind it"; }
pass "a body below a plane is reported"

# ---- warnings can be disabled; run prints them; unknown codes ----
sed 's/stiffness: 1.0e5/stiffness: 10/' base.yaml >loose.yaml
status 0 "$program" check loose.yaml --no-warn soft-contact
grep -q warning: out && { cat out; fail "--no-warn has no effect"; }
status 2 "$program" check loose.yaml --no-warn soft-contct
says 'did you mean "soft-contact"?'
status 2 "$program" run loose.yaml --no-warn soft-contct
status 0 "$program" run loose.yaml --steps 1 --no-picture --out loud
says '[soft-contact]'
status 0 "$program" run loose.yaml --steps 1 --no-picture --no-warn soft-contact --out quiet
grep -q soft-contact out && { cat out; fail "run --no-warn has no effect"; }
grep -q 'soft-contact' quiet/job.yaml || fail "the run does not store the ignored code"
status 0 "$program" resume quiet --steps 1 --no-picture
grep -q 'warning:.*soft-contact' out && { cat out; fail "the resumed run prints an ignored warning"; }
cat >sweep.yaml <<'E2'
sweep: 1
name: loose
base: loose.yaml
vary: {contact.friction: [0.1, 0.2]}
E2
status 0 "$program" sweep sweep.yaml --dry-run --check
says '[soft-contact]'
status 0 "$program" sweep sweep.yaml --dry-run --check --no-warn soft-contact
grep -q 'warning:.*soft-contact' out && { cat out; fail "sweep --no-warn has no effect"; }
pass "warnings are printed, disabled, stored; unknown codes are errors"

# Every code in the source is in the table, so that it is documented and can be disabled.
for code in $(cat $(grep -rlE 'warning_list_add\(' "$here"/../../src --include=*.c | grep -v core/warning_list) | tr '\n' ' ' | grep -oE 'warning_list_add\( *[^,;]*, *"[a-z-]+"' | grep -oE '"[a-z-]+"$' | tr -d '"' | sort -u); do
  grep -qF "\`$code\`" "$here"/../../docs/reference/warnings.md || fail "code $code is not in the table of warnings"
done
pass "all codes are documented"

# ---- all errors at once: keys, scene, pairs, measures, fields, options of PETSc ----
sed 's/^name: base/nmae: base/;s/material: steel, shape/material: stel, shape/;s/body: box/body: soft, radius: 1/;s/spacing: 0.03/spacing: 0.03, mass: 1/
  $a output: {fields: [velocty]}
  $a solver: {petsc: {penalty_ksp_monitr: }}' base.yaml >many.yaml
printf '  ball: {kind: rigid, material: steel, shape: {sphere: {center: [1, 0, 1], radius: -1}}}\n' >ball
sed -i '/^  floor/r ball' many.yaml
for command in check run; do
  status 2 "$program" $command many.yaml
  for text in 'did you mean "name"' 'did you mean "steel"' 'write materials.NAME.density' 'out of range' 'unknown frame field "velocty"' penalty_ksp_monitr; do says "$text"; done
done
sed 's/^base: loose/base: many/' sweep.yaml >many_sweep.yaml
status 2 "$program" sweep many_sweep.yaml --dry-run
for text in 'did you mean "name"' 'did you mean "steel"' 'unknown frame field "velocty"'; do says "$text"; done
pass "all errors of a job are reported together, also in a sweep"

# ---- render --field ----
status 2 "$program" render loud --field no_such_field
says '--field no_such_field'
pass "render rejects unknown fields"

# ---- stiffness: auto ----
sed 's/stiffness: 1.0e5/stiffness: auto/' base.yaml >auto.yaml
status 0 "$program" check auto.yaml
says 'contact.stiffness: auto is'
k=$(sed -n 's/.*auto is \(.*\) N.m/\1/p' out)
# the rigid box, 1 kg on its bottom face: k >= m g / (n 0.01 h) for its n contact points, and n k 0.01 h >= m g
awk -v k="$k" 'BEGIN { exit !(k * 8 * 0.001 >= 9.81 && k < 1e6) }' || fail "auto is $k N/m"
status 0 "$program" run auto.yaml --steps 3 --no-picture --out auto
grep -q "stiffness: $k" auto/job.yaml || grep -q "stiffness: ${k%.*}" auto/job.yaml || { grep stiffness auto/job.yaml; fail "the run does not store $k"; }
status 0 "$program" run auto.yaml --continue --steps 3 --no-picture --out auto
sed 's/stiffness: 1.0e5/stiffness: 1.0e4\n  pairs: [{between: [box, floor], stiffness: auto}]/' base.yaml >pair.yaml
status 0 "$program" check pair.yaml
says 'contact.pairs[0].stiffness: auto is'
pass "stiffness: auto is $k N/m, stored, and continued"

sed 's/^contact:/formulation: convex\ncontact:/' auto.yaml >convex.yaml
status 0 "$program" check convex.yaml
says "contact.stiffness: auto is $k N/m"
pass "stiffness: auto is the same under convex"

# ---- number of contact points: 4 corners of a box on a plane, also on a slope; 1 of a ball ----
status 0 "$program" check base.yaml
says "predicted contact points at rest: box on floor 4"
sed 's/normal: .0, 0, 1./normal: [0.3, 0, 1]/;s/shape: {box: {min: .-0.05, -0.05, 0., max: .0.05, 0.05, 0.1.}}/shape: {sphere: {center: [0, 0, 0.2], radius: 0.05}}/;/soft:/d' base.yaml >ball.yaml
status 0 "$program" check ball.yaml
says "box on floor 1"
# A ball of 0.05 m between the nodes of a sheet: s^2/(6 r) = 0.16^2/0.3 is more than a tenth of the ball.
sed 's/spacing: 0.03/spacing: 0.1/;s/box: {kind: rigid, material: steel, shape: {box: .*/box: {kind: rigid, material: steel, surface_spacing: 0.2, shape: {sphere: {center: [0.25, 0, 0.2], radius: 0.05}}}/' base.yaml >few.yaml
status 0 "$program" check few.yaml
says "[few-contact-points]"; says "overlap by up to"
pass "check predicts contact points, and warns of too few"

# ---- estimate: peak resident memory within a factor of 3 ----
for job in "$jobs"/quickstart.yaml "$jobs"/hybrid/two_blocks.yaml "$jobs"/penalty/cloth_small.yaml; do
  status 0 "$program" check "$job"
  guess=$(sed -n 's/.*within a factor of 3: \([^ ]*\) MB of memory.*/\1/p' out)
  status 0 "$program" run "$job" --steps 3 --no-picture --force --out measured
  awk -v guess="$guess" '/^peak_resident_memory:/ { ratio = 1e6 * guess / $2; ok = ratio > 1 / 3 && ratio < 3 } END { exit !ok }' measured/result.yaml ||
    { grep peak measured/result.yaml; fail "$job: estimate $guess MB"; }
done
pass "estimated memory is within a factor of 3"

# ---- sound jobs ----
n=0
for job in "$jobs"/penalty/plane_m_stick.yaml "$tests"/exact.yaml "$tests"/hybrid.yaml "$tests"/monolith.yaml "$tests"/materials.yaml "$jobs"/quickstart.yaml \
  "$jobs"/convex/ball_slope.yaml "$jobs"/convex/ball_slope_mpm.yaml "$jobs"/convex/panels.yaml "$jobs"/convex/shake.yaml "$jobs"/exact/arch.yaml \
  "$jobs"/exact/arch_thin.yaml "$jobs"/exact/arm.yaml "$jobs"/exact/gripper.yaml "$jobs"/exact/doll.yaml "$jobs"/exact/ring.yaml "$jobs"/exact/stack.yaml \
  "$jobs"/exact/wedge.yaml "$jobs"/exact/wisp.yaml "$jobs"/hybrid/two_blocks.yaml "$jobs"/hybrid/two_circles_coarse.yaml \
  "$jobs"/hybrid/two_spheres_coarse.yaml "$jobs"/hybrid/twist.yaml "$jobs"/monolith/slope_cube.yaml "$jobs"/monolith/box.yaml \
  "$jobs"/penalty/cloth_small.yaml "$jobs"/penalty/iplane_m_stick.yaml "$jobs"/penalty/plane_d_stick.yaml "$jobs"/penalty/plane_m_slide.yaml \
  "$jobs"/penalty/plane_r_slide.yaml "$jobs"/penalty/plane_r_stick.yaml "$jobs"/penalty/plane_sph_roll.yaml "$jobs"/penalty/plane_sph_slip.yaml \
  "$jobs"/penalty/prmd_rd.yaml "$jobs"/penalty/stack_r.yaml "$jobs"/penalty/torus_dr.yaml "$jobs"/penalty/wdg_dr.yaml "$jobs"/penalty/wdg_rr.yaml \
  "$jobs"/penalty/wdg_rr_fall.yaml "$jobs"/rod/buckling.yaml "$jobs"/rod/curls.yaml "$jobs"/rod/models.yaml; do
  n=$((n + 1))
  status 0 "$program" check "$job"
  grep 'warning:' out && fail "$job: a warning for a sound job"
done
[ "$n" -ge 40 ] || fail "only $n sound jobs"
pass "$n sound jobs give no warning"
