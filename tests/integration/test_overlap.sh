# Overlaps at the start of a run are errors in all formulations; permitted overlaps add no energy; penetration is the overlap depth of shapes.
. tests/integration/common.sh

# Materials, and bodies in pairs that are far from each other. Each second body overlaps the first one by a known depth.
head_of() { # FORMULATION [CONTACT KEYS]
  cat <<YAML
stickslip: 1
name: overlap
formulation: $1
gravity: [0, 0, 0]
time: {end: 0.2, step: 1.0e-3}
materials:
  wood: {model: rigid, density: 1000}
  rubber: {model: linear_corotated, density: 1100, youngs_modulus: 1.0e6, poisson_ratio: 0.3}
  sand: {model: drucker_prager, density: 1600, youngs_modulus: 1.0e6, poisson_ratio: 0.3, friction_angle_deg: 30}
contact: {friction: 0.3${2:-}}
bodies:
YAML
}
rigid_pairs='
  box_a: {kind: rigid, material: wood, shape: {box: {min: [0, 0, 0], max: [0.1, 0.1, 0.1]}}}
  box_b: {kind: rigid, material: wood, shape: {box: {min: [0.004, 0, 0.09], max: [0.104, 0.1, 0.19]}}}
  ball_a: {kind: rigid, material: wood, shape: {sphere: {center: [1, 0, 0], radius: 0.05}}}
  ball_b: {kind: rigid, material: wood, shape: {sphere: {center: [1.08, 0, 0], radius: 0.05}}}
  twin_a: {kind: rigid, material: wood, shape: {box: {min: [2, 0, 0], max: [2.1, 0.1, 0.1]}}}
  twin_b: {kind: rigid, material: wood, shape: {box: {min: [2, 0, 0], max: [2.1, 0.1, 0.1]}}}
  ring: {kind: rigid, material: wood, shape: {torus: {center: [3, 0, 0], axis: [0, 0, 1], major_radius: 0.05, minor_radius: 0.02}}}
  plate: {kind: static, shape: {box: {min: [2.8, -0.2, -0.1], max: [3.2, 0.2, -0.017]}}}
  pill: {kind: rigid, material: wood, shape: {capsule: {from: [4, 0, 0], to: [4.1, 0, 0], radius: 0.02}}}
  can: {kind: rigid, material: wood, shape: {cylinder: {from: [4.05, 0, 0.015], to: [4.05, 0, 0.1], radius: 0.03}}}
  pair: {kind: rigid, material: wood, shape: {union: [{box: {min: [5, 0, 0], max: [5.1, 0.1, 0.1]}}, {box: {min: [5.05, 0, 0.05], max: [5.15, 0.1, 0.15]}}]}}
  stone: {kind: rigid, material: wood, shape: {sphere: {center: [5.18, 0.05, 0.1], radius: 0.04}}}
  low: {kind: static, shape: {plane: {normal: [0, 0, 1], offset: -1}}}
  sunk: {kind: rigid, material: wood, shape: {cylinder: {from: [6, 0, -1.003], to: [6, 0, -0.9], radius: 0.03}}}'
soft_pairs='
  block: {kind: fem, material: rubber, spacing: 0.05, shape: {box: {min: [7, 0, 0], max: [7.1, 0.1, 0.1]}}}
  press: {kind: static, shape: {box: {min: [6.9, -0.1, 0.093], max: [7.2, 0.2, 0.2]}}}
  soft_a: {kind: fem, material: rubber, spacing: 0.05, shape: {box: {min: [8, 0, 0], max: [8.1, 0.1, 0.1]}}}
  soft_b: {kind: fem, material: rubber, spacing: 0.05, shape: {box: {min: [8, 0, 0], max: [8.1, 0.1, 0.1]}}}
  heap: {kind: mpm, material: sand, spacing: 0.02, shape: {box: {min: [9, 0, 0], max: [9.1, 0.1, 0.1]}}}
  post: {kind: static, shape: {box: {min: [9.04, 0.04, -0.1], max: [9.3, 0.3, 0.3]}}}'
rods='
  rod: {kind: rod, material: rubber, section: {circle: 0.005}, curve: {line: {from: [10, 0, 0], to: [10.2, 0, 0]}}, segments: 10}
  wall: {kind: static, shape: {box: {min: [9.9, -0.1, -0.2], max: [10.3, 0.1, -0.003]}}}
  over: {kind: rod, material: rubber, section: {circle: 0.005}, curve: {line: {from: [10.1, -0.1, 0.008], to: [10.1, 0.1, 0.008]}}, segments: 10}'

# expect A B DEPTH: the message about the pair, in either order
expect() {
  grep -E "bodies\.($1|$2): (its part [a-z.]* )?overlaps \"?($1|$2)\"? by $3 m at" "$work/out" >/dev/null ||
    { cat "$work/out"; fail "no overlap of $1 and $2 by $3 m"; }
}

{ head_of exact; echo "$rigid_pairs"; } >"$work/rigid.yaml"
for f in exact convex penalty; do
  more=''; [ $f = penalty ] && more='contact.stiffness=1.0e4'
  status 2 "$program" check "$work/rigid.yaml" --set formulation=$f ${more:+--set $more}
  grep -E '^[^:]*rigid\.yaml:[0-9]+:[0-9]+: bodies' "$work/out" >/dev/null || fail "no position"
  expect box_a box_b 0.01
  expect ball_a ball_b 0.02
  expect twin_a twin_b 0.1
  expect ring plate 0.003
  expect pill can 0.005
  expect pair stone 0.01
  expect low sunk 0.003
  [ "$(grep -c overlaps "$work/out")" = 7 ] || { cat "$work/out"; fail "not seven pairs"; }
  pass "$f: seven pairs of rigid bodies with depth and position"
done

{ head_of convex; echo "$soft_pairs"; } >"$work/soft.yaml"
status 2 "$program" check "$work/soft.yaml"
expect block press 0.007
expect soft_a soft_b '0\.[0-9]*'
expect heap post '0\.[0-9]*'
[ "$(grep -c overlaps "$work/out")" = 3 ] || { cat "$work/out"; fail "not three pairs"; }
pass "convex: FEM in a solid, coincident FEM bodies, particles in a solid"

# Particles of two MPM bodies: in the shape of the other one, by more than the radius of a particle. Bodies with a common face only touch.
particle_pair() { # Z: bottom of the upper body
  { head_of convex; echo "  low: {kind: mpm, material: sand, spacing: 0.02, shape: {box: {min: [0, 0, 0], max: [0.1, 0.1, 0.1]}}}
  high: {kind: mpm, material: sand, spacing: 0.02, shape: {box: {min: [0, 0, $1], max: [0.1, 0.1, 0.2]}}}"; } >"$work/sand.yaml"
}
for f in exact convex penalty hybrid; do
  more=''; [ $f = penalty ] && more='contact.stiffness=1.0e4'
  particle_pair 0.08; status 2 "$program" check "$work/sand.yaml" --set formulation=$f ${more:+--set $more}
  expect low high '0\.0[12][0-9]*'
  says "or permit it: contact.initial_overlap: permit"
  status 0 "$program" check "$work/sand.yaml" --set formulation=$f --set contact.initial_overlap=permit ${more:+--set $more}
  particle_pair 0.1; status 0 "$program" check "$work/sand.yaml" --set formulation=$f ${more:+--set $more}
done
pass "MPM bodies: overlap with depth and position; bodies with a common face are accepted"

{ head_of exact; echo "$rods"; } >"$work/rods.yaml"
status 2 "$program" check "$work/rods.yaml"
expect rod wall 0.002
expect rod over 0.002
[ "$(grep -c overlaps "$work/out")" = 2 ] || { cat "$work/out"; fail "not two pairs"; }
pass "exact: rods in a solid and in each other"

# Exempt and permitted pairs, and touching ones.
status 0 "$program" check "$work/rods.yaml" --set contact.initial_overlap=permit
status 0 "$program" check "$work/rods.yaml" --set 'contact.pairs=[{between: [rod, wall], contact: false}, {between: [rod, over], initial_overlap: permit}]'
status 2 "$program" check "$work/rods.yaml" --set contact.initial_overlap=permit --set 'contact.pairs=[{between: [rod, wall], initial_overlap: reject}]'
cat >"$work/touch.yaml" <<YAML
$(head_of exact)
  floor: {kind: static, shape: {plane: {normal: [0, 0, 1], offset: 0.1}}}
  box: {kind: rigid, material: wood, shape: {box: {min: [0, 0, 0.1], max: [0.1, 0.1, 0.2]}}}
  top: {kind: rigid, material: wood, shape: {box: {min: [0, 0, 0.2], max: [0.1, 0.1, 0.3], }, rotate_deg: 30, axis: [0, 0, 1]}}
  ball: {kind: rigid, material: wood, shape: {sphere: {center: [0.05, 0.05, 0.37], radius: 0.07}}}
YAML
for f in exact convex penalty; do status 0 "$program" check "$work/touch.yaml" --set formulation=$f --set contact.stiffness=1e4; done
pass "contact: false, initial_overlap and touching surfaces"

# A permitted overlap adds no energy. Without gravity, contact separates the bodies at less than 1 cm/s per step of gravity.
largest() { # COLUMN
  whole_column "$1" | awk 'BEGIN { m = 0 } $1 > m { m = $1 } END { print m }'
}
energy() { # FORMULATION CONTACT BODIES LIMIT: largest kinetic energy [J]
  rm -rf "$work/whole"
  { head_of "$1" ", initial_overlap: permit$2"; echo "$3"; } >"$work/energy.yaml"
  status 0 "$program" run "$work/energy.yaml" --out "$work/whole" --threads 1 --no-picture --quiet
  awk -v got="$(largest kinetic_energy)" -v most="$4" 'BEGIN { print got; exit !(got > 0 && got < most) }' || fail "$1$2: kinetic energy $(largest kinetic_energy) J"
}
balls='
  ball_a: {kind: rigid, material: wood, shape: {sphere: {center: [1, 0, 0], radius: 0.05}}}
  ball_b: {kind: rigid, material: wood, shape: {sphere: {center: [1.08, 0, 0], radius: 0.05}}}'
block='
  floor: {kind: static, shape: {plane: {normal: [0, 0, 1], offset: 0}}}
  block: {kind: fem, material: rubber, spacing: 0.05, shape: {box: {min: [0, 0, -0.01], max: [0.1, 0.1, 0.09]}}}'
rod='
  rod: {kind: rod, material: rubber, section: {circle: 0.005}, curve: {line: {from: [10, 0, 0], to: [10.2, 0, 0]}}, segments: 10}
  wall: {kind: static, shape: {box: {min: [9.9, -0.1, -0.2], max: [10.1, 0.1, 0.001]}}}'
for scene in "$balls" "$block" "$rod"; do
  energy exact '' "$scene" 1e-3
  energy convex '' "$scene" 1e-3
  energy convex ', stiffness: 1.0e4' "$scene" 1e-3
  energy penalty ', stiffness: 1.0e4' "$scene" 1e-3
done
pass "permitted overlaps: kinetic energy below 1 mJ in every formulation, with springs and without"
# Triangle surfaces: points of two FEM bodies and of a floor, and edges of boxes. The springs stay uncompressed until the overlap is corrected.
surfaces='
  soft_a: {kind: fem, material: rubber, spacing: 0.05, shape: {box: {min: [0, 0, 0], max: [0.1, 0.1, 0.1]}}}
  soft_b: {kind: fem, material: rubber, spacing: 0.05, shape: {box: {min: [0.02, 0.02, 0.099], max: [0.12, 0.12, 0.199]}}}
  floor: {kind: static, contact_surface: mesh, shape: {box: {min: [1, 0, -0.1], max: [1.2, 0.2, 0]}}}
  soft_c: {kind: fem, material: rubber, spacing: 0.05, shape: {box: {min: [1.02, 0.02, -0.01], max: [1.12, 0.12, 0.09]}}}
  box_a: {kind: rigid, contact_surface: mesh, material: wood, shape: {box: {min: [2, 0, 0], max: [2.1, 0.1, 0.1]}}}
  box_b: {kind: rigid, contact_surface: mesh, material: wood, shape: {box: {min: [2.013, -0.06, 0.098], max: [2.067, 0.16, 0.198]}}}
solver: {penalty: {edges: true, expert: {rigid_detector: vertices}}}
output: {checkpoint: 0.05}
measure:
  soft: {quantity: penetration, body: soft_a, every: 0.01}
  box: {quantity: penetration, body: box_a, every: 0.01}'
energy penalty ', stiffness: 1.0e4' "$surfaces" 1e-3
for m in soft box; do
  awk -F, 'NR == 2 { first = $3 } END { exit !(first > 9e-4 && $3 < 1e-5) }' "$work/whole/measure/$m.csv" || { cat "$work/whole/measure/$m.csv"; fail "$m: the overlap is not corrected"; }
done
resumes_from_everywhere
pass "permitted overlaps of triangle surfaces: kinetic energy below 1 mJ, overlap corrected"
energy penalty ', stiffness: 1.0e4, pairs: [{between: [ball_a, ball_b], initial_overlap: preload}]' "$balls" 10
awk -v got="$(largest kinetic_energy)" 'BEGIN { exit !(got > 1) }' || fail "preload stores no energy"
pass "preload: the springs start compressed"

# penetration: boxes with an offset of 4 mm and a ball, at depths that their contact points do not measure.
cat >"$work/depth.yaml" <<YAML
$(head_of penalty ', stiffness: 1.0, initial_overlap: preload')
  low: {kind: static, shape: {box: {min: [0, 0, 0], max: [0.1, 0.1, 0.1]}}}
  high: {kind: static, shape: {box: {min: [0.004, 0, 0.08], max: [0.104, 0.1, 0.18]}}}
  probe: {kind: rigid, material: wood, shape: {sphere: {center: [0.05, 0.05, 0.2], radius: 0.025}}}
  far: {kind: rigid, material: wood, shape: {sphere: {center: [5, 0, 0], radius: 0.05}}}
measure:
  all: {quantity: penetration}
  one: {quantity: penetration, body: probe, other: high}
  none: {quantity: penetration, body: far}
YAML
rm -rf "$work/whole"
status 0 "$program" run "$work/depth.yaml" --out "$work/whole" --threads 1 --no-picture --quiet --steps 1
for m in all:0.0049 one:0.0049; do
  awk -F, -v least="${m#*:}" 'END { exit !($3 > least && $3 < 0.0051) }' "$work/whole/measure/${m%:*}.csv" || { cat "$work/whole/measure/${m%:*}.csv"; fail "measure ${m%:*}"; }
done
awk -F, 'END { exit $3 != 0 }' "$work/whole/measure/none.csv" || fail "measure none"
[ "$(whole_column penetration_body_a | tail -n 1)/$(whole_column penetration_body_b | tail -n 1)" = 1/2 ] || fail "bodies of the deepest overlap"
pass "penetration: depth and bodies of the deepest overlap, of the scene and of pairs"

# A ball on an FEM block between four nodes: the points are far from the deepest part of the patch.
cat >"$work/few.yaml" <<YAML
$(head_of penalty ', stiffness: 2.0e2' | sed 's/^gravity.*/gravity: [0, 0, -9.81]/')
  block: {kind: fem, material: rubber, spacing: 0.05, shape: {box: {min: [0, 0, 0], max: [0.1, 0.1, 0.1]}}, hold: [{inside: {box: {min: [-1, -1, -1], max: [1, 1, 0.01]}}}]}
  ball: {kind: rigid, material: wood, shape: {sphere: {center: [0.075, 0.075, 0.1501], radius: 0.05}}, surface_spacing: 0.2}
YAML
status 0 "$program" run "$work/few.yaml" --out "$work/few" --threads 1 --no-picture
says "block, ball: overlap by"; says "few-contact-points"; says "deep-overlap"
pass "warnings: a ball that sinks between four nodes"

# A box dropped on two ridges between its vertices rests on them; the obstacle is no union of convex solids.
awk 'BEGIN {
  split("-0.06 0 0.06 0 0.03 0.03 0 0.01 -0.03 0.03", p, " "); split("1 2 4 2 3 4 1 4 5", cap, " ")
  for (x = -0.08; x < 0.1; x += 0.16) for (i = 1; i < 11; i += 2) print "v", x, p[i], p[i + 1]
  for (i = 1; i < 10; i += 3) { print "f", cap[i], cap[i + 2], cap[i + 1]; print "f", cap[i] + 5, cap[i + 1] + 5, cap[i + 2] + 5 }
  for (i = 1; i < 6; ++i) { j = i % 5 + 1; print "f", i, j, j + 5; print "f", i, j + 5, i + 5 }
}' >"$work/ridges.obj"
cat >"$work/ridge.yaml" <<YAML
$(head_of exact | sed 's/^gravity.*/gravity: [0, 0, -9.81]/; s/end: 0.2/end: 0.1/')
  ridges: {kind: static, shape: {mesh: {file: ridges.obj, spacing: 0.002}}}
  box: {kind: rigid, material: wood, shape: {box: {min: [-0.05, -0.05, 0.031], max: [0.05, 0.05, 0.131]}}}
measure: {z: {quantity: position, body: box, every: 0.1}}
YAML
for f in exact convex penalty; do
  rm -rf "$work/whole"
  more=''; [ $f = penalty ] && more=contact.stiffness=1.0e5
  status 0 "$program" run "$work/ridge.yaml" --set formulation=$f ${more:+--set $more} --out "$work/whole" --threads 1 --no-picture
  # static penetration under penalty: m g / (4 k) = 9.81 / 4e5 m; convex: 1e-4 of the smallest body
  tail -n 1 "$work/whole/measure/z.csv" | awk -F, -v f=$f '{ e = 0.08 - $3; most = f == "exact" ? 1e-9 : f == "convex" ? 1e-5 : 4e-5; print e; exit !(e > -1e-9 && e < most) }' ||
    fail "$f: the box does not rest on the ridges: $(tail -n 1 "$work/whole/measure/z.csv")"
done
pass "a box rests on the ridges of a mesh between its vertices, in every formulation"

# A thin bar across the ridges, which no vertex of either body approaches, is stopped although it would pass through them within one step: a bar that
# falls on the ridges, and a bar at rest that rising ridges hit.
crossing() { # FORMULATION VELOCITY RISE: of the bar [m/s], of the ridges in the first step [m]
  { head_of "$1" "$([ "$1" = penalty ] && echo ', stiffness: 1.0e8')" | sed 's/end: 0.2, step: 1.0e-3/end: 0.04, step: 0.02/'
    echo "  ridges: {kind: kinematic, shape: {mesh: {file: ridges.obj, spacing: 0.002}}, motion: {keyframes: [{time: 0}, {time: 0.02, translate: [0, 0, $3]}]}}"
    echo "  bar: {kind: rigid, material: wood, velocity: [0, 0, $2], shape: {box: {min: [-0.01, -0.3, 1.531], max: [0.01, 0.3, 1.551]}}}"
    echo 'ignore_warnings: [fast-body]'
    echo 'measure: {z: {quantity: position, body: bar, direction: [0, 0, 1], every: 0.02}}'; } >"$work/crossing.yaml"
  rm -rf "$work/whole"
  status 0 "$program" run "$work/crossing.yaml" --out "$work/whole" --threads 1 --no-picture
  tail -n 1 "$work/whole/measure/z.csv" | awk -F, -v rise="$3" '{ print $3 - rise; exit !($3 - rise > 0.039) }' ||
    fail "$1: the bar passes through the ridges: $(tail -n 1 "$work/whole/measure/z.csv")"
}
for f in exact convex penalty; do
  crossing $f -100 0
  crossing $f 0 2
done
pass "a bar that crosses ridges within one step is stopped, in every formulation"

# Triangle surfaces with coplanar side faces: a block on an equal block, and dominoes in line that fall. Default edges: auto.
flush() { # STEP BODIES
  rm -rf "$work/whole"
  { head_of penalty ', stiffness: 1.0e5' | sed "s/^gravity.*/gravity: [0, 0, -9.81]/; s/end: 0.2, step: 1.0e-3/end: 0.25, step: $1/"
    echo '  floor: {kind: static, shape: {plane: {normal: [0, 0, 1], offset: 0}}}'; echo "$2"
    echo 'solver: {penalty: {expert: {rigid_detector: vertices}}}'
    echo 'measure: {z: {quantity: position, body: last, direction: [0, 0, 1], every: 0.1}}'; } >"$work/flush.yaml"
  status 0 "$program" run "$work/flush.yaml" --out "$work/whole" --threads 1 --no-picture
}
flush 5.0e-3 '  first: {kind: rigid, contact_surface: mesh, material: wood, shape: {box: {min: [0, 0, 0], max: [0.1, 0.1, 0.1]}}}
  last: {kind: rigid, contact_surface: mesh, material: wood, shape: {box: {min: [0, 0, 0.1], max: [0.1, 0.1, 0.2]}}}'
# penetration: two weights on four springs, one weight on eight
tail -n 1 "$work/whole/measure/z.csv" | awk -F, '{ e = $3 - 0.15 + 9.81 / 1e5 * (2 / 4 + 1 / 8); print e; exit !(e < 1e-9 && e > -1e-9) }' || fail "the upper block is not at its place"
lies_in_nothing 1e-4
flush 8.0e-3 "$(for i in 0 1 2; do
  name=domino$i; motion=''; [ $i = 0 ] && motion=', angular_velocity: [0, 3.5, 0], velocity: [0.175, 0, 0]'; [ $i = 2 ] && name=last
  echo "  $name: {kind: rigid, contact_surface: mesh, material: wood, shape: {box: {min: [$(awk "BEGIN { print 0.04 * $i }"), 0, 0], max: [$(awk "BEGIN { print 0.04 * $i + 0.01 }"), 0.05, 0.1]}}$motion}"
done)"
tail -n 1 "$work/whole/measure/z.csv" | awk -F, '{ print $3; exit !($3 > 0.0501) }' || fail "the last domino is not hit"
lies_in_nothing 1e-3
pass "blocks with coplanar sides, vertices and edges of triangle surfaces"

# check lists the detectors of all pairs, in every formulation.
status 0 "$program" check "$here/small.yaml"; says "contacts are detected between"
status 0 "$program" check "$here/hybrid.yaml"; says "contacts are detected between"
status 0 "$program" check "$work/touch.yaml"; says "convex solids"
status 0 "$program" check "$work/touch.yaml" --set formulation=penalty --set contact.stiffness=1e4; says "convex solids"
status 0 "$program" check "$work/touch.yaml" --set formulation=penalty --set contact.stiffness=1e4 --set solver.penalty.expert.rigid_detector=vertices
says "points and level sets"
pass "check lists contact detectors"
echo "$count passed"
