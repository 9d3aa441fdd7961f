# After a signal the program finishes the step, writes a checkpoint and exits with code 75. (SIGKILL: test_faults_kill.sh.)
. tests/integration/common.sh
job=$here/small.yaml
long="--set time.end=100 --set output.keep=3 --set output.checkpoint=0.002"
for signal in INT TERM USR1 USR2 XCPU HUP; do
  # not in the background of this shell: a background job ignores SIGINT
  timeout --preserve-status -s "$signal" 1.5 "$program" run "$job" --out "$work/$signal" $long --threads 1 --no-picture >"$work/out" 2>&1; got=$?
  [ $got = 75 ] || { cat "$work/out"; fail "SIG$signal: exit $got instead of 75"; }
  says "resume"
  status 0 "$program" info "$work/$signal"
  status 0 "$program" resume "$work/$signal" --steps 2 --no-picture
  pass "SIG$signal: checkpoint, code 75, resumable"
done

# A step that never ends, because the linear solver does not converge. The first SIGTERM lets it continue, the second one abandons it.
status 0 "$program" run "$job" --out "$work/part" --steps 3 --no-picture --threads 1
endless="--set solver.linear.max_iterations=100000 -penalty_ksp_type richardson -penalty_ksp_richardson_scale 1e-9 -penalty_ksp_pc_side left"
cp -r "$work/part" "$work/dropped"
"$program" resume "$work/dropped" $endless --no-picture --threads 1 >"$work/out" 2>&1 &
stepping=$!
until grep -q resumed "$work/out"; do sleep 0.05; done
sleep 0.3; kill -TERM $stepping; sleep 0.5
kill -0 $stepping || fail "the first SIGTERM ended the step"
kill -TERM $stepping; wait $stepping; got=$?
[ $got = 75 ] || { cat "$work/out"; fail "an abandoned step: exit $got instead of 75"; }
says "stopped after step 3"
status 0 "$program" diff "$work/part" "$work/dropped"
status 0 "$program" resume "$work/dropped" --no-picture --threads 1
status 0 "$program" run "$job" --out "$work/never" --no-picture --threads 1
status 0 "$program" diff "$work/never" "$work/dropped" && pass "a second SIGTERM abandons the step; the resumed run is bit-identical"

# Without a signal: the time limit of the batch system is near.
SLURM_JOB_ID=1 SLURM_JOB_END_TIME=$(($(date +%s) + 12)) timeout 20 "$program" run "$job" --out "$work/late" $long --threads 1 --no-picture >"$work/out" 2>&1; got=$?
[ $got = 75 ] || { cat "$work/out"; fail "little time remaining: exit $got instead of 75"; }
says "s of the time limit remain"
status 0 "$program" info "$work/late" && pass "stops by itself before the time limit"
SLURM_JOB_ID=1 SLURM_MEM_PER_NODE=10 "$program" run "$job" --out "$work/large" --steps 2 --threads 1 --no-picture >"$work/out" 2>&1
says "the peak resident memory is" && pass "warns before the allocated memory is used up"
