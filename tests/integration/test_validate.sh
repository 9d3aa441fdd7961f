# validation/validate.c: selection of cases by name and class; wrong command lines, and validations without a case, are errors.
. tests/integration/common.sh
validate="${B:-build/release}/validate"
cases="$work/cases" out="$work/out.d"
for c in A1:short A1-slow:long A10:short; do
  mkdir -p "$cases/${c%:*}"
  cat >"$cases/${c%:*}/case.yaml" <<'J'
stickslip: 1
name: free_fall
time: {end: 0.01, step: 0.001}
materials:
  steel: {model: rigid, density: 1000}
bodies:
  ball: {kind: rigid, material: steel, shape: {sphere: {center: [0, 0, 1], radius: 0.1}}}
gravity: [0, 0, -10]
measure:
  speed: {quantity: velocity, body: ball, direction: [0, 0, 1]}
J
  cat >"$cases/${c%:*}/reference.yaml" <<J
id: ${c%:*}
title: Free fall
source: D
cost: ${c#*:}
runs:
  fall: {set: []}
checks:
  - {name: speed, series: speed, target: -0.1, tolerance: 1.0e-12}
J
done
run() { status "$1" "$validate" --program "$program" --cases "$cases" --out "$out" $2; }
run 0 ""; says "3 passed, 0 failed"
run 0 A1; says "2 passed, 0 failed"; says "| A1-slow"
run 0 A1-slow; says "1 passed, 0 failed"
run 0 "A10 A1"; says "3 passed, 0 failed"
run 0 "--class short A1"; says "1 passed, 0 failed"
pass "names and --class select cases"
rows() { sed 's/[0-9.e+-]* | [a-zA-Z]* *|$//' "$out/table.md"; } # without the seconds
run 0 ""; rows >"$work/one"; run 0 "--jobs 3"; says "3 passed, 0 failed"; rows >"$work/three"
cmp "$work/one" "$work/three" || fail "rows of cases that run at the same time differ"
pass "--jobs runs cases at the same time, with the same table"
sed -i 's/target: -0.1/target: -0.2/' "$cases/A10/reference.yaml"
run 1 A10; says "0 passed, 1 failed"; says FAIL
pass "a failed check has exit code 1"
run 2 "A1 A2"; says "A2: no such case"; says "ls $cases"
run 2 A1-; says "A1-: no such case"
run 2 "--class long A10"; says "no case was run"
run 2 "--class medium"; says "of class medium"
run 2 "--jobs 0"; says "--jobs 0: expected a whole number"
run 2 --quick; says "--quick is not an option"; says "usage: validate"
run 2 --out; says "--out needs a value"
status 2 "$validate" --cases "$work/none"; says "give the folder of the cases with --cases"
pass "wrong names, options and classes have exit code 2"
run 0 --help; says "usage: validate"; says "A01 selects A01 and A01-plane"
pass "--help prints the usage"
