# Signals finish the step, checkpoint, and leave with the requeue code. (kill -9: test_faults_kill.sh.)
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

# A step that takes for ever: a linear solver that gets nowhere. The first SIGTERM lets it go on, the second one drops it.
status 0 "$program" run "$job" --out "$work/part" --steps 3 --no-picture --threads 1
endless="--set solver.linear.max_iterations=100000 -ksp_type richardson -ksp_richardson_scale 1e-9 -ksp_pc_side left"
cp -r "$work/part" "$work/dropped"
"$program" resume "$work/dropped" $endless --no-picture --threads 1 >"$work/out" 2>&1 &
stepping=$!
until grep -q resumed "$work/out"; do sleep 0.05; done
sleep 0.3; kill -TERM $stepping; sleep 0.5
kill -0 $stepping || fail "the first SIGTERM did not let the step go on"
kill -TERM $stepping; wait $stepping; got=$?
[ $got = 75 ] || { cat "$work/out"; fail "a dropped step: exit $got instead of 75"; }
says "stopped after step 3"
status 0 "$program" diff "$work/part" "$work/dropped"
status 0 "$program" resume "$work/dropped" --no-picture --threads 1
status 0 "$program" run "$job" --out "$work/never" --no-picture --threads 1
status 0 "$program" diff "$work/never" "$work/dropped" && pass "a second SIGTERM drops the step; resumed, it comes to the same bits"

# Without a signal: the time that the batch system gives is over soon.
SLURM_JOB_ID=1 SLURM_JOB_END_TIME=$(($(date +%s) + 12)) timeout 20 "$program" run "$job" --out "$work/late" $long --threads 1 --no-picture >"$work/out" 2>&1; got=$?
[ $got = 75 ] || { cat "$work/out"; fail "little time left: exit $got instead of 75"; }
says "s of the time limit remain"
status 0 "$program" info "$work/late" && pass "leaves by itself before its time is over"
SLURM_JOB_ID=1 SLURM_MEM_PER_NODE=10 "$program" run "$job" --out "$work/large" --steps 2 --threads 1 --no-picture >"$work/out" 2>&1
says "GB of memory are in use" && pass "warns before the allocated memory is used up"
