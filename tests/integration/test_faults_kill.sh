# kill -9 at random moments of a run that writes a checkpoint of 3 MB after every step, which takes most of its time. After every kill the
# run can be resumed, and its final state equals that of an uninterrupted run. FAULT_KILLS=1000: number of kills.
. tests/integration/common.sh
kills=${FAULT_KILLS:-100}
export OMP_NUM_THREADS=1
cat >"$work/job.yaml" <<'J'
stickslip: 1
name: killed
gravity: [0, 0, 0]
time: {end: 10, step: 1.0e-3, frame: 0.004}
materials:
  rubber: {model: fixed_corotated, density: 1000, youngs_modulus: 1.0e4, poisson_ratio: 0.3}
bodies:
  cloud: {kind: mpm, material: rubber, spacing: 0.05, particles_per_cell: 8, velocity: [0.3, 0.2, 0.1], shape: {box: {min: [-0.3, -0.3, -0.3], max: [0.3, 0.3, 0.3]}}}
output: {checkpoint: 0.001, keep: 2, checkpoint_wall: 0}
measure:
  place: {quantity: position, body: cloud, direction: [1, 0, 0]}
J
is_writing() { set -- "$work"/killed/checkpoints/.checkpoint_*.tmp; [ -e "$1" ]; }
step_of() { ls "$work/killed/checkpoints" | sed -n 's/checkpoint_0*\([0-9]*\)\.h5/\1/p' | tail -n 1; }
status 0 "$program" run "$work/job.yaml" --out "$work/killed" --steps 1 --quiet --no-picture
whole=$(wc -c <"$work/killed/checkpoints/checkpoint_000000001.h5")
seed=12345 n=0 half=0 background_half=0 frames=0 others=0 idle=0
while [ $n -lt "$kills" ]; do
  seed=$(((seed * 1103515245 + 12345) % 2147483648))
  # Alternately written by the run itself and by a child process, which must not outlive the run.
  case $((n / 2 % 2)) in 0) mode=never ;; *) mode=always ;; esac
  "$program" resume "$work/killed" --no-picture --set output.checkpoint_in_background=$mode >"$work/out" 2>&1 &
  pid=$!
  # Every fifth dies at any moment from its start on; of the others, half at any moment of their first steps, half soon after a checkpoint
  # has been begun.
  if [ $((n % 5)) = 0 ]; then sleep "0.$(printf '%03d' $((seed / 65536 % 300)))"
  else
    until grep -q "resumed from" "$work/out" || ! kill -0 $pid 2>/dev/null; do sleep 0.01; done
    if [ $((n % 2)) = 0 ]; then sleep "0.$(printf '%03d' $((seed / 65536 % 100)))"
    else
      turns=0
      until is_writing || [ $turns = 200000 ] || ! kill -0 $pid 2>/dev/null; do turns=$((turns + 1)); done
      wait_turns=$((seed / 65536 % 30000))
      while [ $wait_turns -gt 0 ]; do wait_turns=$((wait_turns - 1)); done
    fi
  fi
  kill -KILL $pid 2>/dev/null; wait $pid 2>/dev/null
  got=$?
  [ $got = 137 ] || { cat "$work/out"; fail "after $n kills the run cannot be resumed: exit $got"; }
  n=$((n + 1))
  left=$(find "$work/killed" -name '.*.tmp')
  case $left in
  *.checkpoint_*) # empty, in part, whole but for its seal, or sealed but not renamed
    half=$((half + 1)); [ $mode = never ] || background_half=$((background_half + 1)) ;;
  *.frame_*) frames=$((frames + 1)) ;;
  ?*) others=$((others + 1)) ;;
  *) idle=$((idle + 1)) ;;
  esac
  [ "$(find "$work/killed/checkpoints" -name 'checkpoint_*.h5' -size -"$((whole / 2))"c | wc -l)" = 0 ] || fail "a checkpoint is there in part"
done
echo "$n kills: $half within a checkpoint ($background_half of them written in the background), $frames within a frame, $others within another file, $idle elsewhere; $(step_of) steps done"
[ $((half * 5)) -ge "$n" ] || fail "only $half of $n kills hit a checkpoint being written"
[ $((background_half * 20)) -ge "$n" ] || fail "only $background_half of $n kills hit a checkpoint being written in the background"
pass "$n times kill -9, $half of them within a checkpoint: always resumable"

last=$(($(step_of) + 10))
status 0 "$program" resume "$work/killed" --steps 10 --quiet --no-picture
status 0 "$program" run "$work/job.yaml" --out "$work/whole" --steps "$last" --quiet --no-picture --set output.checkpoint=0
status 0 "$program" diff "$work/whole" "$work/killed" && says "0 differences"
[ "$(history_of "$work/whole")" = "$(history_of "$work/killed")" ] || fail "the histories differ"
cmp "$work/whole/measure/place.csv" "$work/killed/measure/place.csv" || fail "the measures differ"
[ "$(ls "$work/whole/frames")" = "$(ls "$work/killed/frames")" ] || fail "the frames differ"
for f in "$work"/killed/frames/*.h5; do cmp "$f" "$work/whole/frames/$(basename "$f")" || fail "$(basename "$f") differs"; done
pass "the end equals, bit for bit, that of a run that nobody killed: state, history, measure and frames"
[ -z "$(find "$work/killed" -name '*.tmp' -o -name 'run.lock*')" ] || fail "left: $(find "$work/killed" -name '*.tmp' -o -name 'run.lock*')"
[ "$(ls "$work/killed/checkpoints" | wc -l)" = 2 ] || fail "not two checkpoints: $(ls "$work/killed/checkpoints")"
pass "nothing half written is left"
