# Resumed = uninterrupted, 1 = 2 threads, bit for bit, from every checkpoint.
. tests/integration/common.sh
job=$here/small.yaml
status 0 "$program" run "$job" --out "$work/whole" --threads 1 --no-picture
status 0 "$program" run "$job" --out "$work/two" --threads 2 --no-picture
status 0 "$program" diff "$work/whole" "$work/two" && pass "1 and 2 threads agree bit for bit"
[ "$(history_of "$work/whole")" = "$(history_of "$work/two")" ] || fail "histories differ between 1 and 2 threads"
pass "histories agree, too"
status 0 "$program" run "$job" --out "$work/three" --threads 3 --no-picture
status 0 "$program" diff "$work/whole" "$work/three" && pass "so do 3 threads"

for checkpoint in "$work"/whole/checkpoints/*.h5; do
  rm -rf "$work/part"; cp -r "$work/whole" "$work/part"
  for later in "$work"/part/checkpoints/*.h5; do [ "$(basename "$later")" \> "$(basename "$checkpoint")" ] && rm "$later"; done
  status 0 "$program" resume "$work/part" --threads 2 --no-picture
  status 0 "$program" diff "$work/whole" "$work/part"
  [ "$(history_of "$work/whole")" = "$(history_of "$work/part")" ] || fail "history differs after resuming $(basename "$checkpoint")"
  cmp -s "$work/whole/measure/height.csv" "$work/part/measure/height.csv" || fail "measure differs after resuming $(basename "$checkpoint")"
  [ "$(ls "$work/whole/frames")" = "$(ls "$work/part/frames")" ] || fail "frames differ after resuming $(basename "$checkpoint")"
  pass "resumed from $(basename "$checkpoint") equals the uninterrupted run"
done

status 0 "$program" run "$job" --out "$work/steps" --steps 7 --no-picture
status 0 "$program" resume "$work/steps" --no-picture
status 0 "$program" diff "$work/whole" "$work/steps" && pass "stopped after 7 steps and resumed"
status 5 "$program" diff "$work/whole/checkpoints/$(ls "$work/whole/checkpoints" | head -n 1)" "$work/whole" && pass "diff sees a difference"
status 2 "$program" run "$job" --out "$work/whole" && says "already holds a run" && pass "a finished run is not overwritten"
