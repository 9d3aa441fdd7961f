# Formulation convex with every kind of body: 1 = 2 = 3 threads, resumed = uninterrupted, bit for bit; its creep and its bound;
# what is refused.
. tests/integration/common.sh
# Nine steps: all kinds are in contact by then, and nothing has come to lie through another yet.
job=$here/exact.yaml
pairs="contact.pairs=[{between: [sheet, sheet], friction: 0.2}, {between: [wire, sand], touch: false}]"
runs_alike_on_threads "$job" --set formulation=convex --set "$pairs" --set time.end=0.036 --set output.checkpoint=0.012
resumes_from_everywhere push
column() { # NAME: a column of history.csv without its head
  awk -F, -v name="$1" 'NR == 1 { for (i = 1; i <= NF; ++i) { sub(/ .*/, "", $i); if ($i == name) k = i } next } { print $k }' \
    "$work/whole/history.csv"
}
column creep | awk '$1 > most { most = $1 } END { exit !(most > 0) }' || fail "nothing creeps"
column creep >"$work/creep"
column creep_bound | paste "$work/creep" - | awk '$1 > $2 * (1 + 1e-6) { bad = 1 } END { exit bad }' ||
  fail "what sticks creeps faster than its bound"
pass "what sticks creeps within its bound"
column cone_violation | awk '$1 > 1e-12 { bad = 1 } END { exit bad }' || fail "an impulse leaves its cone"
pass "no impulse leaves its cone"
status 0 "$program" run "$job" --out "$work/again" --no-picture --set formulation=convex --set "$pairs" \
  --set solver.convex.linearisations=4 --steps 6 &&
  pass "linearised again where the contact problem led to"
refuses() { # ASSIGNMENT PATH TEXT
  status 2 "$program" check "$job" --set formulation=convex --set "$pairs" --set "$1" && says "$2: " && says "$3" || fail "takes $1"
}
refuses contact.restitution=0.5 contact.restitution "formulation convex cannot use it"
refuses solver.friction.method=newton solver.friction "impulses are found by solver.convex"
refuses output.fclib=1 output.fclib "formulation convex cannot use it"
refuses contact.overlap_share=0.1 contact.overlap_share "springs push overlaps apart"
refuses solver.convex.stiction=0 solver.convex.stiction "out of range"
refuses solver.convex.law=lagged contact.stiffness "law: lagged needs"
refuses solver.convex.dissipation=1 solver.convex.dissipation "means nothing with solver.convex.law: regularised"
refuses solver.convex.slip_speed=1 solver.convex.slip_speed "means nothing with solver.convex.law: regularised"
refuses "solver.convex={law: lagged, relaxation_time: 0.01}" solver.convex.relaxation_time \
  "means nothing with solver.convex.law: lagged"
status 2 "$program" check "$job" --set solver.convex.law=lagged && says "solver.convex: formulation exact cannot use it" &&
  pass "a key that is of no use is refused"
