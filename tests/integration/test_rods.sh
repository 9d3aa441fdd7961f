# Rods of every model: the same bits on 1 and 2 threads and after a resume, frames with fibres, complaints about keys of other models.
. tests/integration/common.sh
cat > "$work/rods.yaml" <<'YAML'
stickslip: 1
name: rods
gravity: [0, 0, -9.81]
time: {end: 0.12, step: 0.01, frame: 0.06}
materials: {hair: {model: linear_corotated, density: 1300, youngs_modulus: 1.0e7, poisson_ratio: 0.3}}
bodies:
  der:
    kind: rod
    material: hair
    curve: {helix: {from: [0, 0, 0.4], axis: [1, 0, 0], towards: [0, 0, -1], radius: 0.02, pitch: 0.06, turns: 1.5}}
    segments: 20
    section: {rectangle: {sides: [2.0e-3, 1.0e-3]}}
    start: {support: clamped, motion: {angular_velocity: [5, 0, 2]}}
    damping: {mass: 1, stiffness: 1.0e-3}
    copies: {count: 40, radius: 0.05}
  springs: {kind: rod, model: mass_spring, material: hair, curve: {line: {from: [0, 0, 0], to: [0.2, 0, 0]}}, segments: 10, section: {circle: 1.0e-3}, start: clamped, damping: {stiffness: 1.0e-3}}
  corde: {kind: rod, model: corde, material: hair, curve: {line: {from: [0, 1, 0], to: [0.2, 1, 0]}}, segments: 10, section: {circle: 1.0e-3}, start: clamped, damping: {stiffness: 1.0e-3}}
  helix: {kind: rod, model: super_helix, material: hair, curve: {line: {from: [0, 2, 0], to: [0.2, 2, 0]}}, segments: 10, elements: 4, section: {circle: 1.0e-3}, start: clamped}
  ring:
    kind: rod
    material: hair
    curve: {arc: {from: [0, 3, 0], tangent: [1, 0, 0], towards: [0, 0, 1], radius: 0.1, angle_deg: 360}}
    closed: true
    segments: 12
    section: {circle: 1.0e-3}
    natural: {shape: straight, twist: 20}
    angular_velocity: [1, 2, 3]
solver: {newton: {tolerance: 1.0e-6}}
measure:
  height: {quantity: position, body: der, direction: [0, 0, 1]}
YAML
job=$work/rods.yaml
status 0 "$program" run "$job" --out "$work/whole" --threads 1 --no-picture
status 0 "$program" run "$job" --out "$work/two" --threads 2 --no-picture
status 0 "$program" diff "$work/whole" "$work/two"
[ "$(history_of "$work/whole")" = "$(history_of "$work/two")" ] || fail "histories differ between 1 and 2 threads"
pass "1 and 2 threads agree bit for bit"
status 0 "$program" run "$job" --out "$work/part" --steps 7 --threads 2 --no-picture
status 0 "$program" resume "$work/part" --threads 1 --no-picture
status 0 "$program" diff "$work/whole" "$work/part"
[ "$(history_of "$work/whole")" = "$(history_of "$work/part")" ] || fail "history differs after a resume"
cmp -s "$work/whole/measure/height.csv" "$work/part/measure/height.csv" || fail "a measure differs after a resume"
cmp -s "$work/whole/frames/frame_000002.h5" "$work/part/frames/frame_000002.h5" || fail "a frame differs after a resume"
pass "stopped after 7 steps and resumed, bit for bit"
[ "$(grep -c 'TopologyType="Polyline"' "$work/whole/frames.xmf")" = 15 ] || fail "not 5 bodies of fibres in 3 frames"
pass "ParaView sees fibres"
status 2 "$program" check "$job" --set bodies.springs.stiffness.twist=1 && says "has no twist; remove it"
status 2 "$program" check "$job" --set bodies.der.elements=3 && says "bodies.der.elements"
status 2 "$program" check "$job" --set bodies.der.segments=1 && says "bodies.der.segments"
sed 's|^bodies:|contact: {stiffness: 1.0e4, friction: 0.3}\nbodies:\n  floor: {kind: static, shape: {plane: {normal: [0, 0, 1], point: [0, 0, -1]}}}|' "$job" > "$work/floor.yaml"
status 2 "$program" check "$work/floor.yaml" && says '"helix" has no nodes on which springs can act: use formulation: exact'
status 0 "$program" check "$work/floor.yaml" --set "contact.pairs=[{between: [helix, floor], contact: false}]"
pass "keys that mean nothing here are refused"
