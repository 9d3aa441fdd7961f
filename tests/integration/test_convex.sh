# Formulation convex with every kind of body: 1 = 2 = 3 threads, resumed = uninterrupted, bit for bit; its creep and its bound;
# rejected options.
. tests/integration/common.sh
job=$here/exact.yaml
pairs="contact.pairs=[{between: [sheet, sheet], friction: 0.2}, {between: [wire, sand], contact: false}]"
runs_alike_on_threads "$job" --set formulation=convex --set "$pairs" --set time.end=0.08 --set output.checkpoint=0.04
resumes_from_everywhere push
lies_in_nothing 1e-3
whole_column creep | awk '$1 > most { most = $1 } END { exit !(most > 0) }' || fail "nothing creeps"
whole_column creep >"$work/creep"
whole_column creep_bound | paste "$work/creep" - | awk '$1 > $2 * (1 + 1e-6) { bad = 1 } END { exit bad }' ||
  fail "what sticks creeps faster than its bound"
pass "what sticks creeps within its bound"
whole_column cone_violation | awk '$1 > 1e-12 { bad = 1 } END { exit bad }' || fail "an impulse leaves its cone"
pass "no impulse leaves its cone"
whole_column residual | awk '$1 > 1e-4 { bad = 1 } END { exit bad || NR < 20 }' || fail "a step is not solved to solver.newton.tolerance"
pass "every step is solved to solver.newton.tolerance"
status 0 "$program" run "$job" --out "$work/again" --no-picture --set formulation=convex --set "$pairs" \
  --set solver.convex.max_outer_iterations=1 --steps 6 && says "exceeds solver.newton.tolerance" &&
  grep -q "^not converged " "$work/again/summary.txt" && status 0 "$program" report "$work/again" &&
  grep -q "Steps were accepted although their residual exceeds" "$work/again/report.html" &&
  pass "a step that one linearisation does not solve is reported"
refuses() { # ASSIGNMENT PATH TEXT
  status 2 "$program" check "$job" --set formulation=convex --set "$pairs" --set "$1" && says "$2: " && says "$3" || fail "takes $1"
}
refuses contact.restitution=0.5 contact.restitution "not supported by formulation convex"
unused() { # ASSIGNMENT TEXT: another formulation uses the key
  status 0 "$program" check "$job" --set formulation=convex --set "$pairs" --set "$1" && says "notice: " && says "$2" || fail "does not report $1"
}
unused solver.friction.method=newton "solver.friction: not used by formulation convex, only by exact or hybrid"
unused output.fclib=1 "output.fclib: not used by formulation convex"
unused contact.overlap_correction=0.1 "contact.overlap_correction: not used by formulation convex: springs correct overlaps"
refuses solver.convex.expert.stiction_tolerance=0 solver.convex.expert.stiction_tolerance "out of range"
refuses solver.convex.law=lagged contact.stiffness "law: lagged needs"
refuses solver.convex.expert.dissipation=1 solver.convex.expert.dissipation "has no effect when solver.convex.law is regularised"
refuses solver.convex.expert.slip_speed=1 solver.convex.expert.slip_speed "has no effect when solver.convex.law is regularised"
refuses "solver.convex={law: lagged, relaxation_time: 0.01}" solver.convex.relaxation_time \
  "has no effect when solver.convex.law is lagged"
status 2 "$program" check "$job" --set formulation=convex --set "$pairs" --set solver.convex.law=lagged --set contact.stiffness=1e4 \
  --set contact.overlap_correction_speed=0.1 && says "contact.overlap_correction_speed: has no effect when solver.convex.law is lagged" ||
  fail "takes contact.overlap_correction_speed with law: lagged"
status 0 "$program" check "$job" --set solver.convex.law=lagged && says "solver.convex: not used by formulation exact, only by convex" &&
  pass "keys of other formulations are reported as unused"
