# Values that overflow end a run with code 4 and name the body, in all formulations. Results never contain infinite numbers or NaN.
. tests/integration/common.sh

# job FORMULATION: a box that rests on a floor, and a paddle that moves by the expression $translate
job() {
  cat >"$work/job.yaml" <<END
stickslip: 1
name: extreme
formulation: $1
time: {end: 0.02, step: 1.0e-3}
materials: {wood: {model: rigid, density: ${density:-1000}}}
bodies:
  floor: {kind: static, shape: {plane: {}}}
  box: {kind: rigid, material: wood, shape: {box: {min: [0, 0, 0.001], max: [0.1, 0.1, 0.101]}}, velocity: [0.1, 0, 0]}
  paddle: {kind: kinematic, shape: {sphere: {center: [1, 0, 0.5], radius: 0.1}}, motion: {expressions: {translate: ["${translate:-0}", "0", "0"]}}}
contact: {friction: ${friction:-0.3}, stiffness: 1.0e4}
measure: {energy: {quantity: mechanical_energy}}
END
}
is_finite() { ! cut -d, -f2- "$1/history.csv" "$1/measure/energy.csv" | grep -qiE '(^|,)-?(inf|nan)(,|$)' || fail "$1 contains numbers that are not finite"; }

for formulation in penalty exact convex hybrid monolith; do
  for translate in 'exp(1.0e5*t)' 'sqrt(0.005 - t)'; do
    job $formulation
    status 4 "$program" run "$work/job.yaml" --out "$work/run" --force --no-picture
    grep -q 'an expression of time became infinite or not a number in body paddle' "$work/run/failure.txt" || fail "$formulation: $translate is not named"
    is_finite "$work/run"
  done
  translate=0
  job $formulation
  status 2 "$program" check "$work/job.yaml" --set 'gravity=[0, 0, -1.0e155]' && says "gravity[2]: -1.0e155 is out of range"
  status 2 "$program" check "$work/job.yaml" --set 'bodies.box.velocity=[1.0e200, 0, 0]' && says "is out of range"
  "$program" run "$work/job.yaml" --out "$work/run" --force --no-picture --set 'bodies.box.velocity=[1.0e30, 0, 0]' --set 'gravity=[0, 0, -1.0e30]' >"$work/out" 2>&1
  case $? in 0 | 4) ;; *) cat "$work/out"; fail "$formulation: the largest values end in an internal error" ;; esac
  is_finite "$work/run"
  pass "$formulation: overflow is reported, results are finite"
done

# Friction without limit: the box does not sink (springs of penalty: 3 mm).
for formulation in exact convex monolith penalty; do
  for friction in 1.0e8 1.0e12; do
    translate=0 job $formulation
    status 0 "$program" run "$work/job.yaml" --out "$work/run" --force --no-picture --set time.end=0.3 --set 'gravity=[4.905, 0, -8.4957]'
    awk -F, -v most=3e-3 'NR == 1 { for (i = 1; i <= NF; ++i) if ($i ~ /^penetration /) k = i } NR > 1 && $k > most { bad = 1 } END { exit bad || !k }' "$work/run/history.csv" ||
      fail "$formulation: the box sinks with friction $friction"
  done
  pass "$formulation: contact with friction 1e8 and 1e12"
done

# A rod whose stiffness exceeds its mass by more than double precision can represent: a failed step, not an internal error.
cat >"$work/rod.yaml" <<END
stickslip: 1
name: rod
formulation: exact
time: {end: 0.002, step: 1.0e-3, retry: {halvings: 1}}
materials: {nylon: {model: linear_corotated, density: 1150, youngs_modulus: 1.0e30, poisson_ratio: 0.3}}
bodies:
  b: {kind: rod, model: discrete_elastic_rod, material: nylon, section: {circle: 1.0e-3}, curve: {line: {from: [0, 0, 0.1], to: [0.3, 0, 0.1]}}, segments: 6}
END
for formulation in exact convex; do
  status 4 "$program" run "$work/rod.yaml" --out "$work/run" --force --no-picture --set formulation=$formulation
  grep -q 'not positive definite' "$work/run/failure.txt" || fail "$formulation: the reason is not named"
  pass "$formulation: a stiffness beyond double precision is a failed step"
done
