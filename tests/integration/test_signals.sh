# Signals finish the step, checkpoint, and leave with the requeue code; kill -9 never leaves a run that cannot be resumed.
. tests/integration/common.sh
job=$here/small.yaml
long="--set time.end=100 --set output.keep=3 --set output.checkpoint=0.002"
for signal in INT TERM USR1; do
  # not in the background of this shell: a background job ignores SIGINT
  timeout --preserve-status -s "$signal" 1.5 "$program" run "$job" --out "$work/$signal" $long --threads 1 --no-picture >"$work/out" 2>&1; got=$?
  [ $got = 75 ] || { cat "$work/out"; fail "SIG$signal: exit $got instead of 75"; }
  says "resume"
  status 0 "$program" info "$work/$signal"
  status 0 "$program" resume "$work/$signal" --steps 2 --no-picture
  pass "SIG$signal: checkpoint, code 75, resumable"
done

status 0 "$program" run "$job" --out "$work/whole" --set time.end=0.02 --set output.checkpoint=0.002 --no-picture --threads 1
status 0 "$program" run "$job" --out "$work/killed" --set time.end=0.02 --set output.checkpoint=0.002 --steps 1 --no-picture --threads 1
kills=0
seed=12345
while [ $kills -lt 50 ]; do
  seed=$(( (seed * 1103515245 + 12345) % 2147483648 ))
  # Runs that reach the end start over from the first checkpoint's state, so that there is always something to kill.
  timeout -s KILL "0.$(printf '%03d' $((150 + seed % 350)))" "$program" resume "$work/killed" --set time.end=100 --no-picture --threads 1 >"$work/out" 2>&1; got=$?
  [ $got = 137 ] || { cat "$work/out"; fail "after $kills kills the run cannot be resumed: exit $got"; }
  kills=$((kills + 1))
done
status 0 "$program" info "$work/killed"
pass "50 times kill -9 at random moments: always resumable"
