# Many bodies from one entry: names, contact laws, measures, errors with their positions; the same bits on any number of threads and after resuming.
. tests/integration/common.sh
job=$work/pile.yaml
cat >"$job" <<'END'
stickslip: 1
name: pile
formulation: exact
time: {end: 0.12, step: 0.01}
materials: {glass: {model: rigid, density: 2500}}
bodies:
  balls:
    kind: rigid
    material: glass
    shape: {sphere: {center: [0, 0, 0], radius: 0.05}}
    copies: {arrangement: random, count: 12, seed: 4, sizes: {uniform: [0.8, 1.2]}, region: {box: {min: [-0.15, -0.15, 0], max: [0.15, 0.15, 0.4]}}}
  bricks:
    kind: rigid
    material: glass
    shape: {box: {min: [0, 0, 0], max: [0.06, 0.08, 0.04]}}
    copies: {arrangement: file, file: bricks.csv}
  box: {kind: static, shape: {container: {min: [-0.15, -0.15, 0], max: [0.15, 0.15, 0.5], open: [top]}}}
contact: {friction: 0.5, pairs: [{between: [balls, box], friction: 0}, {between: [balls, bricks], contact: false}]}
output: {checkpoint: 0.04, keep: 10}
measure:
  z: {quantity: coordination_number, body: balls}
  sigma: {quantity: contact_stress, within: {min: [-0.15, -0.15, 0], max: [0.15, 0.15, 0.4]}}
  phi: {quantity: packing_fraction, within: {min: [-0.1, -0.1, 0], max: [0.1, 0.1, 0.2]}}
  flow: {quantity: flow_rate, body: balls, point: [0, 0, 0.2], direction: [0, 0, -1]}
  profile: {quantity: velocity_profile, body: balls, direction: [0, 0, 1], axis: z, bins: 2, within: {min: [-1, -1, 0], max: [1, 1, 0.4]}}
  first: {quantity: position, body: balls.1, direction: [0, 0, 1]}
  side: {quantity: contact_force, body: balls, other: box, part: friction}
  apart: {quantity: contacts, body: balls, other: bricks}
picture: {transparent: [balls]}
END
printf 'x,y,z,qw,qx,qy,qz\n0,0,0.05,1,0,0,0\n0,0,0.15,0.6,0,0,0.8\n' >"$work/bricks.csv"
status 0 "$program" check "$job"
says "balls            rigid      12 copies"
says "bricks           rigid      2 copies, 0.96 kg"
runs_alike_on_threads "$job"
resumes_from_everywhere z sigma phi flow profile first side apart
[ "$(sed -n 1p "$work/whole/measure/sigma.csv")" = "step,time [s],sigma [Pa],xx [Pa],yy [Pa],zz [Pa],yz [Pa],zx [Pa],xy [Pa]" ] || fail "columns of a tensor"
[ "$(sed -n 1p "$work/whole/measure/profile.csv")" = "step,time [s],profile [m/s],bin_1 [m/s],bin_2 [m/s]" ] || fail "columns of a profile"
awk -F, 'NR > 1 && $3 != 0 { exit 1 }' "$work/whole/measure/side.csv" && awk -F, 'NR > 1 && $3 != 0 { exit 1 }' "$work/whole/measure/apart.csv" ||
  fail "contact.pairs does not apply to all copies"
awk -F, 'END { exit !($3 > 1) }' "$work/whole/measure/z.csv" || fail "the balls have no contacts"
pass "pairs and measures refer to all copies"

# Predicted memory against the peak of all arrays: 500 balls with about 1000 contacts, and the arrays of a job with few bodies.
cat >"$work/memory.yaml" <<'END'
stickslip: 1
name: memory
formulation: exact
time: {end: 0.02, step: 0.005}
materials: {m: {model: rigid, density: 1000}}
bodies:
  balls: {kind: rigid, material: m, shape: {sphere: {center: [0, 0, 0], radius: 0.05}}, copies: {arrangement: lattice, count: 500, region: {box: {min: [0, 0, 0], max: [1, 1, 1]}}}}
  box: {kind: static, shape: {container: {min: [0, 0, 0], max: [1, 1, 2], open: [top]}}}
contact: {friction: 0.5, stiffness: 1.0e5}
END
for f in exact penalty; do
  status 0 "$program" check "$work/memory.yaml" --set formulation=$f
  each=$(sed -n 's/^  memory of arrays: \([0-9.]*\) kB per rigid body, about \([0-9.]*\) kB per contact.*/\1 \2/p' "$work/out")
  peak=""
  for n in 1 500; do
    rm -rf "$work/whole"
    status 0 "$program" run "$work/memory.yaml" --set formulation=$f --set bodies.balls.copies.count=$n --out "$work/whole" --threads 1 --no-picture
    peak="$peak $(sed -n 's/.*memory of the process, \([0-9.]*\) MB.*/\1/p' "$work/whole/summary.txt")"
  done
  echo "$each $peak $(whole_column contacts | sort -n | tail -1)" |
    awk '{ ratio = 1e-3 * (500 * $1 + $5 * $2) / ($4 - $3); exit !(ratio > 0.75 && ratio < 1.35) }' ||
    fail "$f: memory per body and contact: $each $peak"
done
pass "check predicts the memory per body and per contact"

# More than 128 contacts: the default tolerance of piles, for moving bodies under both formulations.
# More than 128 contacts: the default tolerance of piles, for moving bodies under both formulations. So many bodies and contacts are distributed over
# threads.
cat >"$work/bed.yaml" <<'END'
stickslip: 1
name: bed
formulation: exact
time: {end: 0.16, step: 0.01}
materials: {glass: {model: rigid, density: 2500}}
bodies:
  balls:
    kind: rigid
    material: glass
    shape: {sphere: {center: [0, 0, 0], radius: 0.05}}
    velocity: [0.3, 0, -0.5]
    copies: {arrangement: lattice, gap: 0.004, jitter: 1, count: 343, region: {box: {min: [0, 0, 0], max: [0.735, 0.735, 0.735]}}}
  box: {kind: static, shape: {container: {min: [0, 0, 0], max: [0.735, 0.735, 0.8], open: [top]}}}
contact: {friction: 0.5}
output: {checkpoint: 0.04, keep: 10}
END
for f in exact convex; do
  rm -rf "$work/whole" "$work"/threads*
  runs_alike_on_threads "$work/bed.yaml" --set formulation=$f
  resumes_from_everywhere
  whole_column contacts | awk '$1 > 500 { n++ } END { exit !(n > 5) }' || fail "$f: fewer than 500 contacts"
done
whole_column contact_unconverged | awk '$1 > 0 { exit 1 }' || fail "convex: a step violates the law of Coulomb"
rm -rf "$work/whole"
status 0 "$program" run "$work/bed.yaml" --out "$work/whole" --threads 1 --no-picture
whole_column friction_speed_ratio | awk '$1 > 1 { exit 1 } $1 > 0 { n++ } END { exit !(n > 5) }' || fail "exact: the accepted creep does not decide"
job=$work/pile.yaml
pass "more than 128 contacts are solved to the accepted creep"

sed 's/count: 12/count: 500/' "$job" >"$work/full.yaml"
status 2 "$program" check "$work/full.yaml"
says "full.yaml:11:42: bodies.balls.copies.count: arrangement: random found positions for"
[ "$(wc -l <"$work/out")" = 1 ] || fail "one error causes others"
status 2 "$program" check "$job" --set "measure.first.body=ball"
says 'measure.first.body: no body is called "ball"; did you mean "balls"?'
status 2 "$program" check "$job" --set 'contact.pairs=[{between: [ball, box], friction: 0}]'
says 'did you mean "balls"?'
sed 's/^  box: /  balls.3: /' "$job" >"$work/twice.yaml"
status 2 "$program" check "$work/twice.yaml"
says 'whose full name "balls.3" is also the name of another body'
printf 'x,y,z\n0,0,0.05\n0,0,zero\n' >"$work/bricks.csv"
status 2 "$program" check "$job"
says 'bricks.csv:3: column z: expected a number, got "zero"'
printf 'x,y,z\n0,0,0.05\n0,0,0.07\n' >"$work/bricks.csv"
status 2 "$program" check "$job"
says 'overlaps "bricks.1" by 0.02 m'
pass "errors name the entry, the key and the line of the file"
sed 's/^    shape: {sphere/    angular_velocity: [0, 0, 400]\n&/' "$job" >"$work/spin.yaml"
printf 'x,y,z\n0,0,0.05\n0,0,0.1\n' >"$work/bricks.csv"
status 0 "$program" check "$work/spin.yaml"
says "bodies.balls: "
[ "$(grep -c 'fast-body' "$work/out")" = 1 ] || fail "copies do not share a warning"
pass "copies share a warning"
echo "$count passed"
