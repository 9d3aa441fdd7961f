# Runs in a SLURM of one node: submit, warn, checkpoint, requeue, continue, cancel; arrays, chains, places.
. tests/integration/common.sh
. tests/integration/slurm.sh
cp "$here/small.yaml" "$work/small.yaml"
cd "$work" || exit 1

code_of() { scontrol show job "$1" | sed -n 's/.* ExitCode=\([0-9:]*\).*/\1/p' | tail -n 1; }
# submitted ARGUMENTS of sbatch...: stores the job number in $id
submitted() { id=$(sbatch --parsable "$@" 2>"$work/sbatch.err") || { cat "$work/sbatch.err"; fail "sbatch $*"; }; }
# A long run: about 2000 steps of 10 ms, with a checkpoint every 20
long="--set time.end=4 --set output.checkpoint=0.04 --set output.keep=2 --no-picture"

# --- one job ------------------------------------------------------------------------------------------------------------------
status 0 "$program" run small.yaml --out whole --set time.end=0.2 --no-picture
status 0 sbatch --wait --cpus-per-task=1 --mem=0 "$config/slurm/job.sh" small.yaml --out single --set time.end=0.2 --no-picture
status 0 "$program" diff whole single && pass "job.sh: submitted and finished, the same bits"
grep -q "s remaining" stickslip-*.out || { logs; fail "the run does not log the remaining time"; }
pass "the run logs the remaining time"
status 2 sbatch --wait -c 1 --mem=0 "$config/slurm/job.sh" nothing.yaml && pass "sbatch --wait sees the exit code"

# --- the warning signal of a time limit: it comes after half a minute, during which the run sleeps -----------------------------
submitted -c 1 --mem=0 --time=3 --signal=B:USR1@170 --job-name=limit "$config/slurm/chain.sh" small.yaml --out limit $long; limit=$id
until_ok has_steps limit 20
kill -STOP "$(sed -n 's/^pid //p' limit/run.lock)"

# --- threads: as many as the job has cores ------------------------------------------------------------------------------------
for cores in 1 3; do
  env -u OMP_NUM_THREADS sbatch --wait -c $cores --mem=0 -o threads.out "$config/slurm/job.sh" small.yaml --out t$cores --steps 2 --no-picture >/dev/null || { logs; fail "$cores cores"; }
  grep -qx "threads: $cores" t$cores/result.yaml || { cat t$cores/result.yaml; fail "with $cores cores"; }
done
env -u OMP_NUM_THREADS sbatch --wait -o threads.out --wrap "exec $program run small.yaml --out t0 --steps 2 --no-picture" >/dev/null || { logs; fail "no --cpus-per-task"; }
grep -qx "threads: 1" t0/result.yaml || fail "a job without options uses more than one core"
pass "threads equal the cores of the job; one core by default"

# --- warned, requeued, continued ------------------------------------------------------------------------------------------------
submitted -c 1 --mem=0 --job-name=chain "$config/slurm/chain.sh" small.yaml --out chain $long
until_ok has_steps chain 40
pid=$(sed -n 's/^pid //p' chain/run.lock)
[ "$(grep Cpus_allowed_list "/proc/$pid/status")" = "$(grep Cpus_allowed_list /proc/$$/status)" ] || fail "threads were bound on a node without confinement"
status 0 scancel -s USR1 --batch "$id"
until_ok is "$id" PENDING
grep -q "signal 10: stopped after step" chain-"$id".out || { logs; fail "the warning signal did not arrive"; }
grep -q "^status: stopped" chain/result.yaml || fail "result.yaml does not say stopped"
first=$(steps_of chain); now "$id"
until_ok has_steps chain $((first + 60))
scontrol show job "$id" | grep -q "Restarts=1" || fail "not requeued"
grep -q "resumed from .* at step $first\$" chain-"$id".out || { logs; fail "it did not continue from step $first"; }
# scontrol requeue by an operator: SIGTERM, requeued by SLURM itself
status 0 scontrol requeue "$id"
until_ok is "$id" PENDING; grep -q "signal 15: stopped after step" chain-"$id".out || { logs; fail "no checkpoint after SIGTERM"; }
second=$(steps_of chain); [ "$second" -ge $((first + 60)) ] || fail "lost steps: $second after $((first + 60))"
# shorten the simulation: time.end may change
sed -i 's/^time: {end: 0.06/time: {end: 0.05/' small.yaml
cancel "$id"
end=$(awk "BEGIN { print ($second + 30) * 0.002 }")
status 0 sbatch --wait -c 1 --mem=0 "$config/slurm/chain.sh" small.yaml --out chain $long --set time.end="$end"
status 0 "$program" run small.yaml --out straight $long --set time.end="$end"
status 0 "$program" diff straight chain
[ "$(history_of straight)" = "$(history_of chain)" ] || fail "the histories differ"
pass "warned, requeued twice, cancelled, submitted again: bit-identical to an uninterrupted run"

# --- cancelled: not requeued ----------------------------------------------------------------------------------------------------
submitted -c 1 --mem=0 --job-name=cancelled "$config/slurm/chain.sh" small.yaml --out cancelled $long
until_ok has_steps cancelled 20
cancel "$id"
until_ok grep -q "the job is not requeued after SIGTERM" cancelled-"$id".out
status 0 "$program" info cancelled && pass "scancel: a checkpoint, and no requeue"

# --- requeue disabled: a chain of jobs ----------------------------------------------------------------------------------------
submitted -c 1 --mem=0 --no-requeue --job-name=depend --time=7 "$config/slurm/chain.sh" small.yaml --out "de pend" $long
until_ok has_steps "de pend" 20
scancel -s USR1 --batch "$id"
until_ok is "$id" FAILED
[ "$(code_of "$id")" = 75:0 ] || fail "exit code $(code_of "$id")"
next=$(squeue -h -n depend -o %A) && [ -n "$next" ] || { logs; fail "no job was submitted"; }
first=$(steps_of "de pend")
[ "$(squeue -h -j "$next" -o %l)" = 7:00 ] || fail "the next job has other limits"
until_ok has_steps "de pend" $((first + 40))
grep -q "resumed from .* at step $first\$" depend-"$id".out || { logs; fail "the next job did not use the same log"; }
cancel "$next"
pass "requeue disabled: a dependent job continues with the same limits and log"
# dependencies given by the user
submitted -c 1 --mem=0 -o a.out "$config/slurm/job.sh" small.yaml --out one --steps 5 --no-picture; a=$id
submitted -c 1 --mem=0 -o b.out --dependency=afterok:"$a" "$config/slurm/job.sh" small.yaml --out one --no-picture; b=$id
submitted -c 1 --mem=0 -o c.out --dependency=afternotok:"$b" --kill-on-invalid-dep=yes "$config/slurm/job.sh" small.yaml --out two; c=$id
until_ok is "$b" COMPLETED; until_ok is "$c" CANCELLED
grep -q "at step 5" b.out && [ ! -e two ] || { logs; fail "afterok, afternotok"; }
pass "a chain by afterok continues where the first job stopped; afternotok never starts"

# --- an array: one task requeued, the others undisturbed ----------------------------------------------------------------------
for k in 1 2 3; do echo "small.yaml --out 'arr ay/$k' --set contact.friction=0.$k $long"; done >list
submitted -c 1 --mem=0 --array=1-3%2 --job-name=array "$config/slurm/array.sh" list
until_ok has_steps "arr ay/2" 20
[ -z "$(steps_of "arr ay/3")" ] || fail "%2 runs more than two at a time"
one=$(squeue -h -r -j "${id}_1" -o %A)
scancel -s USR1 --batch "${id}_2"; until_ok is "${id}_2" PENDING
until_ok has_steps "arr ay/3" 20 # its slot was free
# the last task, whose job number is that of the array
first=$(steps_of "arr ay/2"); scancel -s USR1 --batch "${id}_3"; until_ok is "${id}_3" PENDING
is "${id}_1" RUNNING && [ "$(squeue -h -r -j "${id}_1" -o %A)" = "$one" ] && [ "$(grep -c "resumed\|signal" array-"${id}"_1.out)" = 0 ] || fail "the other tasks were affected"
now "${id}_2"
until_ok has_steps "arr ay/2" $((first + 20))
scancel "$id"; pass "array: only the warned tasks are requeued, and they continue"
# --- now the warning signal of the time limit must have arrived ------------------------------------------------------------------------------
# (SLURM sends SIGCONT before it: that wakes the run)
until_ok is "$limit" PENDING
grep -q "signal 10: stopped after step" limit-"$limit".out || { logs; fail "no warning signal at the time limit"; }
scancel "$limit"; pass "a time limit: the warning signal of SLURM arrives, checkpoint, requeued"
status 2 "$program" run small.yaml --out nowhere --requeue && says "requires a SLURM job" && pass "--requeue outside of SLURM is rejected"

# --- places: threads are bound if the job is confined to its own cores ---------------------------------------------
"$config/slurm1.sh" down "$work/slurm"
n=$(getconf _NPROCESSORS_ONLN)
[ "$n" -ge 2 ] || { echo "[  SKIPPED ] places: there is one CPU here"; exit 0; }
SLURM1_CPUS=$n SLURM1_TASK_PLUGIN=task/affinity "$config/slurm1.sh" up "$work/slurm" >"$work/up" 2>&1 || { cat "$work/up"; fail "task/affinity"; }
for k in 1 2; do
  env -u OMP_NUM_THREADS OMP_DISPLAY_ENV=true sbatch --parsable -c 1 --mem=0 -o place$k.out "$config/slurm/job.sh" small.yaml --out place$k $long >place$k.id
done
until_ok has_steps place1 10; until_ok has_steps place2 10
for k in 1 2; do
  pid=$(sed -n 's/^pid //p' place$k/run.lock)
  # all computing threads; threads of MPI are not bound
  for thread in /proc/"$pid"/task/"$pid"; do sed -n 's/^Cpus_allowed_list:\t*//p' "$thread/status"; done | sort -u >place$k.cpus
  grep -q "OMP_PROC_BIND = 'CLOSE'" place$k.out || { cat place$k.out; fail "threads of job $k are not bound"; }
done
[ "$(wc -l <place1.cpus)" = 1 ] && ! cmp -s place1.cpus place2.cpus || { cat place1.cpus place2.cpus; fail "two jobs of one core share it"; }
pass "two jobs of one core each run on different ones: $(cat place1.cpus) and $(cat place2.cpus)"
scancel "$(cat place1.id)" "$(cat place2.id)"
