# Sweeps on one machine: killed and continued = uninterrupted; failures of one case do not affect others; status, retry, gather.
. tests/integration/common.sh
cat >"$work/slide.yaml" <<'EOF'
# A ball that slides until it rolls.
stickslip: 1
name: slide
time: {end: 2.5, step: 5.0e-4, retry: {halvings: 0}}
materials: {steel: {model: rigid, density: 3000}}
bodies:
  ball: {kind: rigid, material: steel, shape: {sphere: {center: [0, 0, 0.05], radius: 0.05}}, velocity: [1, 0, 0]}
  floor: {kind: static, shape: {plane: {point: [0, 0, 0], normal: [0, 0, 1]}}}
contact: {friction: 0.3, stiffness: 1.0e4}
solver: {newton: {stall_tolerance: 0, max_iterations: 20}}
output: {checkpoint: 0.05, checkpoint_wall: 0}
measure: {way: {quantity: position, body: ball, direction: [1, 0, 0]}}
EOF
cat >"$work/slides.yaml" <<'EOF'
sweep: 1
name: slides
base: slide.yaml
vary: {mu: [0.1, 0.2, 0.3], speed: [0.5, 1]}
set: {contact.friction: mu, "bodies.ball.velocity[0]": speed}
EOF
state_of() { "$program" sweep status "$1" --cases | awk -v n="$2" '$1 == "case" {on = 1} on && $1 == n {print $2}'; }
# wait_for COMMAND...: repeats it until it succeeds, at most 20 s
wait_for() {
  for _ in $(seq 400); do "$@" >/dev/null 2>&1 && return; sleep 0.05; done
  fail "condition not reached: $*"
}
has_checkpoint() { ls "$1"/checkpoints/*.h5; }
pid_of() { sed -n 's/^pid //p' "$1/run.lock"; }
same_case() { # A B: state, history and measures, bit for bit
  status 0 "$program" diff "$1" "$2"
  [ "$(history_of "$1")" = "$(history_of "$2")" ] || fail "histories of $1 and $2 differ"
  cmp -s "$1/measure/way.csv" "$2/measure/way.csv" || fail "measures of $1 and $2 differ"
}
same_sweep() { for c in "$work/whole/cases"/*; do same_case "$c" "$1/cases/$(basename "$c")"; done; }
column() { awk -F, -v name="$2" 'NR == 1 {for (i = 1; i <= NF; ++i) if ($i == name) k = i; next} {print $k}' "$1"; }

status 0 "$program" sweep "$work/slides.yaml" --out "$work/whole" --local -j 2
says "6 of them finished"
for n in 1 2 3 4 5 6; do [ "$(state_of "$work/whole" $n)" = finished ] || fail "case $n is not finished"; done
[ "$(ls "$work/whole/cases" | tr '\n' ' ')" = "000001 000002 000003 000004 000005 000006 " ] || fail "cases differ from 1 to 6"
pass "six cases, two simultaneously"

status 0 "$program" sweep "$work/slides.yaml" --out "$work/fresh" --local -j 2 --fresh
same_sweep "$work/fresh" && pass "forked cases are bit-identical to cases in new processes"

# The sweep is killed while cases run: they stop with a checkpoint, the next run continues.
status 0 "$program" sweep "$work/slides.yaml" --out "$work/killed"
"$program" sweep run "$work/killed" -j 2 >"$work/out" 2>&1 &
wait_for has_checkpoint "$work/killed/cases/000003"
kill -9 $!; wait $! 2>/dev/null
wait_for [ ! -e "$work/killed/cases/000003/run.lock" ]
[ "$(state_of "$work/killed" 6)" = waiting ] || fail "too late: the sweep had ended when it was killed"
[ "$(state_of "$work/killed" 3)" = stopped ] || fail "the running case is $(state_of "$work/killed" 3), not stopped"
status 0 "$program" sweep run "$work/killed" -j 2
status 0 "$program" sweep gather "$work/killed"
[ "$(column "$work/killed/results.csv" starts | sed -n 3p)" = 2 ] || { cat "$work/killed/results.csv"; fail "case 3 started again instead of continuing"; }
same_sweep "$work/killed" && pass "a sweep killed by SIGKILL and continued equals an uninterrupted one"

# Sweep and cases are killed.
status 0 "$program" sweep "$work/slides.yaml" --out "$work/dead"
"$program" sweep run "$work/dead" -j 2 >"$work/out" 2>&1 &
wait_for has_checkpoint "$work/dead/cases/000003"
kill -9 $!; kill -9 "$(pid_of "$work/dead/cases/000003")" 2>/dev/null; wait $! 2>/dev/null
status 0 "$program" sweep run "$work/dead" -j 2
same_sweep "$work/dead" && pass "sweep and case killed by SIGKILL and continued"

# Signals: the cases write checkpoints; exit code 75.
for signal in TERM INT USR1; do
  status 0 "$program" sweep "$work/slides.yaml" --out "$work/$signal" --set time.end=400
  if [ $signal = INT ]; then # a background job of this shell would ignore it
    timeout --preserve-status -s INT 4 "$program" sweep run "$work/$signal" -j 2 >"$work/out" 2>&1; got=$?
  else
    "$program" sweep run "$work/$signal" -j 2 >"$work/out" 2>&1 &
    for n in 1 2; do wait_for has_checkpoint "$work/$signal/cases/00000$n"; done
    kill -s $signal $!; wait $!; got=$?
  fi
  [ $got = 75 ] || { cat "$work/out"; fail "SIG$signal: exit $got instead of 75"; }
  for n in 1 2; do [ "$(state_of "$work/$signal" $n)" = stopped ] || fail "SIG$signal: case $n is $(state_of "$work/$signal" $n)"; done
  [ "$(state_of "$work/$signal" 3)" = waiting ] || { cat "$work/out"; "$program" sweep status "$work/$signal" --cases; fail "SIG$signal: case 3 was started"; }
  has_checkpoint "$work/$signal/cases/000001" >/dev/null || fail "SIG$signal: no checkpoint"
done
pass "INT, TERM and USR1: cases write checkpoints, code 75"

# Single cases crash, are killed or diverge; the other cases are not affected.
status 0 "$program" sweep "$work/slides.yaml" --out "$work/crash" --set time.end=5
"$program" sweep run "$work/crash" 1 2 3 -j 3 >"$work/out" 2>&1 &
for n in 1 2; do wait_for has_checkpoint "$work/crash/cases/00000$n"; done
kill -SEGV "$(pid_of "$work/crash/cases/000001")"; kill -KILL "$(pid_of "$work/crash/cases/000002")"
wait $!; got=$?
[ $got = 75 ] || { cat "$work/out"; fail "exit $got instead of 75: case 2 may be continued"; }
[ "$(state_of "$work/crash" 1) $(state_of "$work/crash" 2) $(state_of "$work/crash" 3)" = "failed stopped finished" ] ||
  { "$program" sweep status "$work/crash" --cases; fail "states after a crash and a kill"; }
status 0 "$program" sweep status "$work/crash"; says "killed by signal 11"
status 4 "$program" sweep run "$work/crash" 1 2 3
[ "$(state_of "$work/crash" 1) $(state_of "$work/crash" 2)" = "failed finished" ] || fail "a failed case ran without retry"
status 0 "$program" sweep retry "$work/crash" 1 2 3 --local; says "1 failed cases will run again"
[ "$(state_of "$work/crash" 1)" = finished ] || fail "not finished after retry"
status 0 "$program" sweep "$work/slides.yaml" --out "$work/calm" --set time.end=5
status 0 "$program" sweep run "$work/calm" 1 2 -j 2
for n in 1 2; do same_case "$work/calm/cases/00000$n" "$work/crash/cases/00000$n"; done
pass "SIGSEGV and SIGKILL of single cases: recorded, retried, equal to undisturbed cases"

cat >"$work/steep.yaml" <<'EOF'
sweep: 1
name: steep
base: slide.yaml
vary: {tolerance: [1.0e-3, 1.0e-300, 1.0e-4], n: [a, "b, c"]}
set: {solver.newton.tolerance: tolerance, description: n}
EOF
status 4 "$program" sweep "$work/steep.yaml" --out "$work/steep" --local
[ "$(column "$work/steep/results.csv" status | tr '\n' ' ')" = "finished finished failed failed finished finished " ] || { cat "$work/steep/results.csv"; fail "states of a diverging sweep"; }
status 0 "$program" sweep status "$work/steep"; says "case 3 failed: "; says "the nonlinear solver did not converge"
! "$program" sweep status "$work/steep" | grep -q "results in" || fail "the last line of a log is shown as a reason"
! cat "$work"/steep/cases/*/log.txt | grep -q 'cases done' || fail "the progress line of the sweep is in the log of a case"
pass "a diverging case does not affect other cases"
# The reason of a case that fails before its first step is its error, not the last line of its log.
status 0 "$program" sweep "$work/slides.yaml" --out "$work/early" --script
mkdir -p "$work/early/cases/000001/history.csv"
sed -i 's/friction: 0.3/friction: -0.3/; s/kind: static/kind: statik/' "$work/early/base.yaml"
sed -n 's/.*friction: -/&/p' "$work/early/base.yaml" | grep -q . || fail "base.yaml has no friction"
"$program" sweep run "$work/early" >"$work/out" 2>&1; says "0 of 6 cases done, " && ! grep '0 of 6 cases done' "$work/out" | grep -q ETA || { cat "$work/out"; fail "an ETA before the first case has ended"; }
column "$work/early/results.csv" reason >/dev/null 2>&1 || "$program" sweep gather "$work/early" >/dev/null 2>&1
grep -q 'statik' "$work/early/results.csv" || { cat "$work/early/results.csv"; fail "the reason is not the first error"; }
status 0 "$program" sweep status "$work/early" && says "statik" && says "exit code 2"
pass "reasons of failed cases are their errors"
# A time limit below the lead time of the warning signal.
for time in 2 1:30 0:2:0; do status 0 "$program" sweep "$work/slides.yaml" --out "$work/script" --script --time $time && says "does not exceed the lead time"; done
status 0 "$program" sweep "$work/slides.yaml" --out "$work/script" --script --sbatch=--time=1 && says "does not exceed the lead time"
for more in "--time 3" "--time 1-0" "--time 1 --sbatch=--signal=B:USR1@30" "--time 1 --sbatch=-t5"; do
  status 0 "$program" sweep "$work/slides.yaml" --out "$work/script" --script $more
  ! grep -q "lead time" "$work/out" || { cat "$work/out"; fail "$more: a false warning"; }
done
pass "a time limit that does not exceed the lead time of the signal is reported"

# gather: one row per case, exact numbers, empty cells for missing values.
status 0 "$program" sweep gather "$work/TERM"
[ "$(wc -l <"$work/TERM/results.csv")" = 7 ] || fail "not one row per case"
[ "$(column "$work/TERM/results.csv" status | sort | uniq -c | awk '{print $2, $1}' | tr '\n' ' ')" = "stopped 2 waiting 4 " ] || { cat "$work/TERM/results.csv"; fail "states in results.csv"; }
[ "$(column "$work/TERM/results.csv" 'way.last [m]' | sed -n 6p)" = "" ] || fail "a case that was not run has a measure"
for n in 1 4; do
  want=$(tail -n 1 "$work/whole/cases/00000$n/measure/way.csv" | cut -d, -f3)
  got=$(column "$work/whole/results.csv" 'way.last [m]' | sed -n ${n}p)
  [ "$want" = "$got" ] || fail "way.last of case $n is $got, its measure ends with $want"
done
cut -d, -f1-9 "$work/whole/results.csv" | cmp -s - <<EOF || { cut -d, -f1-9 "$work/whole/results.csv"; fail "results differ after a kill"; }
$(cut -d, -f1-9 "$work/killed/results.csv")
EOF
pass "results.csv"
if command -v h5dump >/dev/null; then
  h5dump -d /results/way.last -y -w 0 -m '%.17g' "$work/TERM/results.h5" >"$work/out" || fail "h5dump cannot read results.h5"
  says "nan"; says "unit"
  h5dump -d /columns -y -w 0 "$work/whole/results.h5" >"$work/out"; says '"number", "id", "status", "mu", "speed", "way.last", "way.min"'
  [ "$(h5dump -d /results/mu -y -w 0 "$work/whole/results.h5" | grep -c '0.1, 0.1, 0.2, 0.2, 0.3, 0.3')" = 1 ] || fail "parameters in results.h5"
  pass "results.h5"
fi
if python3 -c 'import h5py, numpy' 2>/dev/null; then
  python3 - "$work/whole" <<'EOF' || fail "h5py reads different results"
import csv, sys, h5py
f = h5py.File(sys.argv[1] + "/results.h5")
rows = list(csv.reader(open(sys.argv[1] + "/results.csv")))
names = [n.decode() for n in f["columns"]]
assert [r.split(" [")[0] for r in rows[0]] == names, names
for k, name in enumerate(names):
    for i, x in enumerate(f["results"][name][()]):
        text = rows[i + 1][k]
        assert (x.decode() == text) if isinstance(x, bytes) else (float(text) == x if text else x != x), (name, i, x, text)
EOF
  pass "results.h5 read by h5py equals results.csv"
fi

# Two sweeps in one folder: each case runs once.
status 0 "$program" sweep "$work/slides.yaml" --out "$work/both" --set time.end=0.2
"$program" sweep run "$work/both" -j 2 >"$work/one" 2>&1 & one=$!
"$program" sweep run "$work/both" -j 2 >"$work/two" 2>&1 & two=$!
wait $one; got=$?; wait $two; also=$?
[ "$got $also" = "0 0" ] || { cat "$work/one" "$work/two"; fail "two sweeps at once: exit codes $got and $also"; }
status 0 "$program" sweep gather "$work/both"
[ "$(column "$work/both/results.csv" starts | tr '\n' ' ')" = "1 1 1 1 1 1 " ] || { cat "$work/both/results.csv"; fail "a case ran twice"; }
[ "$(cat "$work"/both/cases/*/log.txt | grep -c 'stickslip run')" = 6 ] || fail "a case was started twice"
pass "two sweeps in one folder: each case runs once"

status 2 "$program" sweep run "$work/both" 7; says "has no case 7"
status 2 "$program" sweep run "$work/both" x; says "expected the number of a case"
status 2 "$program" sweep run "$work/both" 1 --task 1; says "expected either --task"
status 2 "$program" sweep run "$work/both" --task 7; says "task 7 does not exist"
status 2 "$program" sweep run "$work/both" -j 0; says "-j 0: expected a whole number"
status 2 "$program" sweep "$work/slides.yaml" --out "$work/new" -j 2; says "-j requires --local"; [ ! -e "$work/new" ] || fail "a rejected command has written files"
status 3 "$program" sweep status "$work"; says "not a sweep folder"
status 0 "$program" sweep run "$work/both" --task 2; says "1 cases finished"
pass "invalid arguments are rejected"
echo "$count passed"
