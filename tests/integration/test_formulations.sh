# A job of rigid bodies passes `check` with every formulation when only `formulation` changes: keys of other formulations are reported as unused.
. tests/integration/common.sh
cat >"$work/box.yaml" <<'END'
stickslip: 1
name: box
time: {end: 0.01, step: 1.0e-3}
materials: {wood: {model: rigid, density: 700}}
bodies:
  box: {kind: rigid, material: wood, contact_surface: mesh, shape: {box: {min: [0, 0, 0.01], max: [0.1, 0.1, 0.11]}}}
  floor: {kind: static, shape: {plane: {normal: [0, 0, 1]}}}
contact: {friction: 0.3, stiffness: 1.0e4}
solver: {newton: {tolerance: 1.0e-4}, linear: {restart: 30}, penalty: {expert: {scheme: lagged_friction}}, exact: {expert: {friction_stall_tolerance: 1.0e-5}}, hybrid: {integrator: symplectic}}
END
for formulation in penalty exact convex hybrid monolith; do
  status 0 "$program" check "$work/box.yaml" --set formulation=$formulation && says "notice: " && says "not used by formulation $formulation"
  grep -q "solver.$formulation: " "$work/out" && fail "$formulation: its own block is reported as unused"
  status 0 "$program" run "$work/box.yaml" --out "$work/$formulation" --threads 1 --no-picture --set formulation=$formulation
  grep -q "not used by formulation $formulation" "$work/out" || fail "$formulation: the log of a run does not report unused keys"
  pass "$formulation"
done
for formulation in exact convex; do # the ball on sand of the quick start
  status 0 "$program" check jobs/quickstart.yaml --set formulation=$formulation && pass "quickstart with $formulation"
done
