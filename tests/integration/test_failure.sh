# A step that fails at the smallest substep leaves a checkpoint of the state before it, a report, and code 4; a corrected run continues.
. tests/integration/common.sh
job=$here/small.yaml
hopeless="--set solver.newton.tolerance=1e-300 --set solver.newton.stall_tolerance=0 --set solver.newton.max_iterations=2 --set time.retry.halvings=2"
status 0 "$program" run "$job" --out "$work/a" --steps 5 --no-picture
cp -r "$work/a" "$work/b"
status 0 "$program" resume "$work/b" --steps 5 --no-picture
status 4 "$program" resume "$work/a" $hopeless --no-picture && says "the nonlinear solver did not converge" && says "resume"
[ -s "$work/a/failure.txt" ] || fail "no failure.txt"
pass "code 4, a message and failure.txt"
mend="--set solver.newton.tolerance=1e-3 --set solver.newton.stall_tolerance=0.1 --set solver.newton.max_iterations=100 --set time.retry.halvings=6"
status 0 "$program" resume "$work/a" $mend --steps 5 --no-picture
status 0 "$program" diff "$work/a" "$work/b" && pass "mended, it goes on from the state before the failed step, bit for bit"

# Steps too large for the grid (CFL) are halved, and the run comes through. (The pad is out of it: 30 m/s would shoot the sand through it.)
status 0 "$program" run "$job" --out "$work/c" --set 'bodies.bed.velocity=[0, 0, 30]' --set 'contact.pairs=[{between: [pad, bed], contact: false}]' --set time.end=0.01 --no-picture
awk -F, 'NR == 1 { for (i = 1; i <= NF; ++i) if ($i ~ /^retries/) column = i } NR > 1 { sum += $column } END { exit !(sum > 0) }' "$work/c/history.csv" ||
  fail "nothing was retried at 1.5 cells per step"
pass "a step that moves more than a cell is halved"

# One writer per run directory.
"$program" run "$job" --out "$work/d" --set time.end=100 --no-picture >/dev/null 2>&1 &
first=$!
while [ ! -e "$work/d/history.csv" ]; do sleep 0.05; done
status 3 "$program" resume "$work/d" && says "$first" && pass "a second process is told who writes there"
kill -TERM $first; wait $first
[ $? = 75 ] || fail "the first process was disturbed"

# A time step changed on resume: time continues from the checkpoint.
status 0 "$program" run "$job" --out "$work/e" --steps 5 --no-picture
status 0 "$program" resume "$work/e" --set time.step=1.0e-3 --set time.frame=0 --set time.end=0.02 --no-picture
last=$(tail -n 1 "$work/e/measure/height.csv" | cut -d, -f1,2)
[ "$last" = "15,0.02" ] || fail "after 5 steps of 2 ms and 10 of 1 ms the last row is $last"
pass "time.step may change on resume"
