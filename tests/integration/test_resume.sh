# Resumed = uninterrupted, 1 = 2 = 3 = 4 threads, bit for bit, from every checkpoint. (More threads than cores are slow, nothing else.)
. tests/integration/common.sh
job=$here/small.yaml
status 0 "$program" run "$job" --out "$work/whole" --threads 1 --no-picture
for n in 2 3 4; do
  status 0 "$program" run "$job" --out "$work/threads$n" --threads $n --no-picture
  status 0 "$program" diff "$work/whole" "$work/threads$n"
  [ "$(history_of "$work/whole")" = "$(history_of "$work/threads$n")" ] || fail "histories differ between 1 and $n threads"
  pass "1 and $n threads agree bit for bit, state and history"
done

n=0
for checkpoint in "$work"/whole/checkpoints/*.h5; do
  n=$((n % 4 + 1)) # each with a different number of threads
  rm -rf "$work/part"; cp -r "$work/whole" "$work/part"
  for later in "$work"/part/checkpoints/*.h5; do [ "$(basename "$later")" \> "$(basename "$checkpoint")" ] && rm "$later"; done
  status 0 "$program" resume "$work/part" --threads $n --no-picture
  status 0 "$program" diff "$work/whole" "$work/part"
  [ "$(history_of "$work/whole")" = "$(history_of "$work/part")" ] || fail "history differs after resuming $(basename "$checkpoint")"
  cmp -s "$work/whole/measure/height.csv" "$work/part/measure/height.csv" || fail "measure differs after resuming $(basename "$checkpoint")"
  [ "$(ls "$work/whole/frames")" = "$(ls "$work/part/frames")" ] || fail "frames differ after resuming $(basename "$checkpoint")"
  pass "resumed from $(basename "$checkpoint") on $n threads equals the uninterrupted run"
done
# Checkpoints written by a child process are equal; with two threads, because fork() copies one thread only.
status 0 "$program" run "$job" --out "$work/background" --threads 2 --no-picture --set output.checkpoint_in_background=always
[ "$(ls "$work/whole/checkpoints")" = "$(ls "$work/background/checkpoints")" ] || fail "checkpoints of child processes differ"
for checkpoint in "$work"/whole/checkpoints/*.h5; do
  status 0 "$program" diff "$checkpoint" "$work/background/checkpoints/$(basename "$checkpoint")"
done
[ "$(history_of "$work/whole")" = "$(history_of "$work/background")" ] || fail "histories differ with checkpoints by child processes"
pass "checkpoints written by child processes equal those of the run"
status 0 "$program" run "$job" --out "$work/four" --threads 4 --steps 11 --no-picture
status 0 "$program" resume "$work/four" --threads 1 --steps 7 --no-picture
status 0 "$program" resume "$work/four" --threads 4 --no-picture
status 0 "$program" diff "$work/whole" "$work/four" && pass "from 4 threads to 1 and back"

status 0 "$program" run "$job" --out "$work/steps" --steps 7 --no-picture
status 0 "$program" resume "$work/steps" --no-picture
status 0 "$program" diff "$work/whole" "$work/steps" && pass "stopped after 7 steps and resumed"
status 5 "$program" diff "$work/whole/checkpoints/$(ls "$work/whole/checkpoints" | head -n 1)" "$work/whole" && pass "diff detects a difference"
status 2 "$program" run "$job" --out "$work/whole" && says "already contains a run" && pass "a finished run is not overwritten"

# The same for contacts of convex solids under penalty.
job=$here/rigid.yaml
status 0 "$program" run "$job" --out "$work/solids" --threads 1 --no-picture
status 0 "$program" run "$job" --out "$work/solids2" --threads 2 --no-picture
status 0 "$program" diff "$work/solids" "$work/solids2" && pass "convex solids: 1 and 2 threads agree bit for bit"
n=0
for checkpoint in "$work"/solids/checkpoints/*.h5; do
  n=$((n + 1))
  rm -rf "$work/part"; cp -r "$work/solids" "$work/part"
  for later in "$work"/part/checkpoints/*.h5; do [ "$(basename "$later")" \> "$(basename "$checkpoint")" ] && rm "$later"; done
  status 0 "$program" resume "$work/part" --threads $((n % 2 + 1)) --no-picture
  status 0 "$program" diff "$work/solids" "$work/part"
  [ "$(history_of "$work/solids")" = "$(history_of "$work/part")" ] || fail "history differs after resuming $(basename "$checkpoint")"
done
[ $n -ge 3 ] || fail "only $n checkpoints"
pass "convex solids: resumed from $n checkpoints equals the uninterrupted run"
