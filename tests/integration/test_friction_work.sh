# friction_work: when a block has slid to rest, friction has dissipated its energy 1/2 m v^2. Backward Euler dissipates a fraction
# mu g dt / v of it, of first order in the step. Tested on a level set, on a surface of triangles, and after a resume.
. tests/integration/common.sh
cat >"$work/slide.yaml" <<'YAML'
stickslip: 1
name: slide
time: {end: 0.12, step: 1.0e-3}
materials: {wood: {model: rigid, density: 1000}}
bodies:
  block: {kind: rigid, material: wood, shape: {box: {min: [-0.1, -0.1, 0], max: [0.1, 0.1, 0.05]}}, velocity: [0.3, 0, 0]}
  floor: {kind: static, shape: {box: {min: [-1, -1, -1], max: [1, 1, 0]}}}
contact: {friction: 0.4, stiffness: 1.0e7}
measure: {lost: {quantity: friction_work}, m: {quantity: mass, body: block}}
YAML
# argument NAME: the share of the energy that is missing in friction_work
missed() { awk -F, -v m="$(tail -n 1 "$work/$1/measure/m.csv" | cut -d, -f3)" '{ w = $3 } END { print 1 - w / (0.5 * m * 0.09) }' "$work/$1/measure/lost.csv"; }
for floor in level_set mesh; do
  for dt in 1.0e-3 2.5e-4; do
    status 0 "$program" run "$work/slide.yaml" --out "$work/$floor$dt" --set time.step=$dt --set bodies.floor.contact_surface=$floor --no-picture --threads 1
    missed "$floor$dt"
  done >"$work/missed"
  # 0.4 9.81 / 0.3 dt, within 3 %: the deflection of the friction springs, which are loaded at the end
  awk '{ want = 0.4 * 9.81 / 0.3 * (NR == 1 ? 1.0e-3 : 2.5e-4); if (($1 / want - 1) ^ 2 > 0.03 ^ 2) exit 1 }' "$work/missed" ||
    fail "$floor: the work of friction misses shares of $(tr '\n' ' ' <"$work/missed")"
  pass "$floor: the work of friction equals the kinetic energy, to first order in the step ($(tr '\n' ' ' <"$work/missed"))"
done
status 0 "$program" run "$work/slide.yaml" --out "$work/part" --no-picture --threads 1 --steps 40
status 0 "$program" resume "$work/part" --no-picture --threads 1
cmp -s "$work/part/measure/lost.csv" "$work/level_set1.0e-3/measure/lost.csv" || fail "resumed, it differs"
pass "resumed: the same"
