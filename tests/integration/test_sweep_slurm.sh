# A sweep as a SLURM job array: submission, node failure, requeue, extension, retry; each case runs once, with the results of a local run.
. tests/integration/common.sh
. tests/integration/slurm.sh
cp "$here/small.yaml" "$work/small.yaml"
cd "$work" || exit 1
cat >study.yaml <<'Y'
sweep: 1
name: study
base: small.yaml
vary:
  contact.friction: [0.1, 0.2, 0.3, 0.4, 0.5]
  time.end: [0.96, 0.1] # long enough that a case of two is interrupted
set: {output.checkpoint: 0.02, output.keep: 2, time.frame: 0}
resources: {cores: 1, concurrent: 2, memory: 100M}
Y
n_finished() { "$program" sweep status "${1:-array}" | sed -n 's/^ *finished *\([0-9]*\).*/\1/p'; }
finished() { [ "$(n_finished "${2:-array}")" -ge "$1" ] 2>/dev/null; }
has_running() { "$program" sweep status array | grep -q "^ *running *$1"; }
job_of() { sed -n "s/^$2,\([0-9]*\),.*/\1/p" "$1/slurm/submitted.csv"; }
# Every case of two sweeps: the same state and history, bit for bit
same_results() {
  for c in "$1"/cases/*; do
    status 0 "$program" diff "$c" "$2/cases/${c##*/}"
    [ "$(history_of "$c")" = "$(history_of "$2/cases/${c##*/}")" ] || fail "$c: other history"
  done
}
status 0 "$program" sweep study.yaml --out here --local -j 2

# --- submitted; the node dies half way -----------------------------------------------------------------------------------------
status 0 "$program" sweep study.yaml --out array --script --time 7
says "#SBATCH --array=1-10%2"; says "--mem=100M"; says "--time=7"; says "--signal=B:USR1@120"
[ ! -e array/slurm/1.sh ] || fail "--script has submitted a job"
status 0 "$program" sweep study.yaml --out array --submit && says "10 cases as 10 tasks of SLURM job"
a=$(job_of array 1)
until_ok finished 3
# Between the end of one task and the start of the next, only one task is running.
for _ in $(seq 30); do
  status 0 "$program" sweep status array
  grep -qF "SLURM job $a: 2 tasks running" "$work/out" && break
done
says "SLURM job $a: 2 tasks running"; says "(JobArrayTaskLimit)"
status 0 "$program" sweep study.yaml --out array --submit && says "already queued" && pass "submitted; queued cases are not submitted again"
until_ok has_running 2
"$config/slurm1.sh" kill-node "$work/slurm"
before=$(n_finished)
[ "$(pgrep -f "sweep run $work/array" | wc -l)" = 0 ] || fail "the node is dead, but its cases run"
status 0 "$program" sweep status array --cases && says "killed, or the machine failed"
"$config/slurm1.sh" up "$work/slurm" || fail "the node does not come back"
# the running tasks wait two minutes; give slurmctld time to drop their pending kill
sleep 3
for task in $(squeue -h -r -j "$a" -t PENDING -o %K); do
  scontrol show job "${a}_$task" | grep -q Restarts=1 && scontrol update JobId="${a}_$task" StartTime=now+2 && again="${again:-} $task"
done
[ -n "${again:-}" ] || { logs; fail "no task was requeued"; }
until_ok finished 10
until_ok gone "$a"
until_ok grep -q finished array/results.csv
[ "$(grep -cE ',("finished, see quality"|finished),' array/results.csv)" = 10 ] || { cat array/results.csv; fail "results.csv"; }
n=$(sed -n 's/^starts: //p' array/cases/*/result.yaml | awk '{ s += $1 } END { print s }')
[ "$n" -gt 10 ] && [ "$n" -le 12 ] || fail "$n starts of 10 cases, two of which were killed"
same_results here array
pass "slurmd and its jobs killed after $before of 10: requeued, finished, gathered by the dependent job, bit-identical to the local run"

# --- extended, several cases per task, warned ---------------------------------------------------------------------------
sed -i 's/0.4, 0.5\]/0.4, 0.5, 0.6, 0.7]/' study.yaml
status 0 "$program" sweep study.yaml --out array --submit --cases-per-task 3 && says "4 cases as 2 tasks"
b=$(job_of array 2)
until_ok has_steps array/cases/000013 20
scancel -s USR1 --batch "${b}_5"; until_ok is "${b}_5" PENDING
[ "$(n_finished)" -lt 14 ] || fail "no running task to warn"
now "${b}_5"
until_ok finished 14
status 0 "$program" sweep study.yaml --out here --local -j 2
same_results here array
grep -q "signal 10: 1 cases write a checkpoint and stop" array/slurm/2-5.log || { cat array/slurm/2-5.log; fail "the warning"; }
pass "extended: only new cases; a task with several cases is warned, requeued and continues"

# --- a failed case does not affect the others; retry ----------------------------------------------------------------------------
cat >bad.yaml <<'Y'
sweep: 1
name: bad
base: small.yaml
vary: {solver.newton.tolerance: [1.0e-3, 1.0e-300, 1.0e-4]}
set: {time.end: 0.02, time.retry.halvings: 1, solver.newton.stall_tolerance: 0, solver.newton.max_iterations: 30}
resources: {cores: 1}
Y
status 0 "$program" sweep bad.yaml --submit; until_ok gone "$(job_of sweep/bad 1)"
status 0 "$program" sweep status sweep/bad && says "case 2" && says "did not converge"
[ "$(n_finished sweep/bad)" = 2 ] || fail "the other cases did not finish"
status 0 "$program" sweep bad.yaml --submit && says "nothing to submit"
status 0 "$program" sweep retry sweep/bad --submit && says "1 cases as 1 tasks"
until_ok gone "$(job_of sweep/bad 2)"
grep -q -- "--array=2$" sweep/bad/slurm/2.sh && grep -q "starts: 2" sweep/bad/cases/000002/result.yaml || fail "retry ran other cases"
grep -q "starts: 1" sweep/bad/cases/000001/result.yaml || fail "retry ran a finished case"
pass "a failed case does not affect others; retry --submit submits only this case"

# --- errors --------------------------------------------------------------------------------------------------------------------
status 2 "$program" sweep bad.yaml --out other --submit --partition nowhere && says "SLURM rejects the job" && says "partition"
[ ! -e other/slurm/submitted.csv ] || fail "a rejected submission was recorded"
status 2 "$program" sweep bad.yaml --time 5 && says "requires --submit"
status 2 "$program" sweep bad.yaml --submit --local && says "one of"
status 2 "$program" sweep run sweep/bad --requeue && says "requires a SLURM job"
status 0 "$program" sweep bad.yaml --out other --submit --memory 100M --sbatch=--hold && says "3 cases"
status 0 "$program" sweep status other && says "3 waiting (JobHeldUser)"
pass "errors of SLURM are reported with its message; other options of sbatch are passed on"
# More cases than tasks of an array: several cases per task.
cat >many.yaml <<'Y'
sweep: 1
name: many
base: small.yaml
vary: {contact.friction: {range: {from: 0, to: 1, count: 2500}}}
Y
status 0 "$program" sweep many.yaml --script && says "#SBATCH --array=1-834" && says "--cases-per-task 3" && pass "2500 cases: three per task, because an array has at most 1000 tasks"
