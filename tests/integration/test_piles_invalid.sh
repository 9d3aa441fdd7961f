# Piles that cannot be computed, or not well: many overlapping bodies, bodies smaller than the resolution of the step, sizes that differ by 1e4, a hole in the container.
. tests/integration/common.sh
ulimit -v 4000000
# head NAME END
head() {
  printf 'stickslip: 1\nname: %s\nformulation: exact\ntime: {end: %s, step: 0.005}\nmaterials: {m: {model: rigid, density: 1000}}\ncontact: {friction: 0.5, stiffness: 1.0e4}\nbodies:\n' "$1" "$2"
}
within_seconds() { # SECONDS STATUS command...: CPU time
  limit=$1; shift
  (ulimit -t "$limit"; status "$@") || { cat "$work/out"; fail "more than $limit s of CPU time, or failed: $*"; }
}

# All pairs of 20,000 balls overlap: 2e8. The search ends early.
{
  head same 0.02
  echo "  balls: {kind: rigid, material: m, shape: {sphere: {center: [0, 0, 0], radius: 0.05}}, surface_spacing: 0.06, copies: {arrangement: file, file: same.csv}}"
  echo "  box: {kind: static, shape: {container: {min: [-1, -1, 0], max: [1, 1, 1]}}}"
} >"$work/same.yaml"
awk 'BEGIN { print "x,y,z"; for (i = 0; i < 20000; ++i) print "0,0,0.5" }' >"$work/same.csv"
within_seconds 40 2 "$program" check "$work/same.yaml"
says 'bodies.balls.2: overlaps "balls.1" by 0.1 m'
says 'more pairs overlap at the start of the run. Move the bodies, or permit it for all'
within_seconds 40 2 "$program" check "$work/same.yaml" --set contact.initial_overlap=permit
says 'pairs of bodies overlap at the start of the run; further ones were not searched. Distribute the bodies'
pass "overlapping bodies are rejected"

# Balls of 1 nm fall 0.2 mm in a step.
{
  head tiny 0.02
  echo "  balls: {kind: rigid, material: m, shape: {sphere: {center: [0, 0, 0], radius: 1.0e-9}}, copies: {arrangement: lattice, gap: 1.0e-9, count: 8, region: {box: {min: [0, 0, 0], max: [1.0e-8, 1.0e-8, 1.0e-8]}}}}"
  echo "  box: {kind: static, shape: {container: {min: [-1, -1, 0], max: [1, 1, 1], open: [top]}}}"
} >"$work/tiny.yaml"
for f in exact convex penalty; do
  "$program" run "$work/tiny.yaml" --set formulation=$f --out "$work/tiny_$f" --no-picture --threads 1 >"$work/out" 2>&1
  case $? in 0 | 3 | 4) ;; *) cat "$work/out"; fail "$f: exit $?" ;; esac
  says "step-gravity"
  grep -qE '^status: (finished, see quality|failed)' "$work/tiny_$f/result.yaml" || { cat "$work/tiny_$f/result.yaml"; fail "$f: not reported"; }
done
pass "bodies smaller than their fall in a step are reported"

# Balls of 5 cm and 5 um.
{
  head ratio 0.1
  echo "  balls: {kind: rigid, material: m, shape: {sphere: {center: [0, 0, 0], radius: 0.05}}, copies: {arrangement: random, count: 60, sizes: {list: [{size: 1, share: 0.2}, {size: 1.0e-4}]}, region: {box: {min: [-0.3, -0.3, 0], max: [0.3, 0.3, 0.3]}}}}"
  echo "  box: {kind: static, shape: {container: {min: [-0.3, -0.3, 0], max: [0.3, 0.3, 1], open: [top]}}}"
} >"$work/ratio.yaml"
for f in exact convex penalty; do
  status 0 "$program" run "$work/ratio.yaml" --set formulation=$f --out "$work/ratio_$f" --no-picture --threads 1
  says "step-gravity"
  grep -q 'steps_above_tolerance: 0' "$work/ratio_$f/result.yaml" || fail "$f: not converged"
done
awk '/overlap_ratio:/ { exit !($2 < 1e-9) }' "$work/ratio_exact/result.yaml" || fail "exact: overlaps"
pass "a ratio of sizes of 1e4 works"

# One ball of the lowest layer is over the hole; without a ground it is lost, on a ground it lies there.
{
  head hole 0.3
  echo "  balls: {kind: rigid, material: m, shape: {sphere: {center: [0, 0, 0], radius: 0.02}}, copies: {arrangement: lattice, count: 32, region: {box: {min: [-0.1, -0.1, 0], max: [0.1, 0.1, 0.2]}}}}"
  echo "  walls: {kind: static, shape: {container: {min: [-0.1, -0.1, 0], max: [0.1, 0.1, 0.3], open: [top, bottom]}}}"
  echo "  bottom: {kind: static, shape: {difference: {from: {box: {min: [-0.1, -0.1, -0.01], max: [0.1, 0.1, 0]}}, minus: [{box: {min: [-0.03, -0.03, -0.1], max: [0.03, 0.03, 0.1]}}]}}}"
} >"$work/hole.yaml"
status 0 "$program" run "$work/hole.yaml" --out "$work/hole" --no-picture --threads 1
says "warning: bodies.balls: balls.13 has fallen out of the scene"
grep -q '  fallen_bodies: 1' "$work/hole/result.yaml" && grep -q '^status: finished, see quality' "$work/hole/result.yaml" || fail "a fallen body is not reported"
status 0 "$program" run "$work/hole.yaml" --out "$work/ground" --no-picture --threads 1 --set 'bodies.ground={kind: static, shape: {plane: {point: [0, 0, -3]}}}'
grep -q '  fallen_bodies: 0' "$work/ground/result.yaml" || fail "a ball above the ground counts as fallen"
pass "bodies that fall through a hole are reported"
echo "$count passed"
