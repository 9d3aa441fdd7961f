# Formulation exact with every kind of body: 1 = 2 = 3 threads, resumed = uninterrupted, bit for bit; contact problems that others can read.
. tests/integration/common.sh
job=$here/exact.yaml
status 0 "$program" run "$job" --out "$work/whole" --threads 1 --no-picture
for n in 2 3; do
  status 0 "$program" run "$job" --out "$work/threads$n" --threads $n --no-picture
  status 0 "$program" diff "$work/whole" "$work/threads$n"
  [ "$(history_of "$work/whole")" = "$(history_of "$work/threads$n")" ] || fail "histories differ between 1 and $n threads"
  pass "1 and $n threads agree bit for bit, state and history"
done
for checkpoint in "$work"/whole/checkpoints/*.h5; do
  rm -rf "$work/part"; cp -r "$work/whole" "$work/part"
  for later in "$work"/part/checkpoints/*.h5; do [ "$(basename "$later")" \> "$(basename "$checkpoint")" ] && rm "$later"; done
  status 0 "$program" resume "$work/part" --threads 1 --no-picture
  status 0 "$program" diff "$work/whole" "$work/part"
  [ "$(history_of "$work/whole")" = "$(history_of "$work/part")" ] || fail "history differs after resuming $(basename "$checkpoint")"
  cmp -s "$work/whole/measure/push.csv" "$work/part/measure/push.csv" || fail "measure differs after resuming $(basename "$checkpoint")"
  pass "resumed from $(basename "$checkpoint") equals the uninterrupted run"
done

status 0 "$program" run "$job" --out "$work/dump" --threads 1 --no-picture --set output.fclib=10
[ "$(ls "$work/dump/fclib" | tr '\n' ' ')" = "step_000000010.hdf5 step_000000020.hdf5 step_000000030.hdf5 " ] || fail "fclib holds $(ls "$work/dump/fclib")"
status 0 "$program" diff "$work/whole" "$work/dump" && pass "writing contact problems changes nothing"
for file in "$work"/dump/fclib/*.hdf5; do
  status 0 "$program" friction "$file" --from-guess 0 && says "solved by" || fail "$file: its solution is none"
done
status 0 "$program" friction "$work"/dump/fclib/step_000000030.hdf5 --from-guess 0 --solver splitting --tol 2e-8 && says ", 0 iterations" && pass "what is written as a solution is one"
status 0 "$program" friction "$work"/dump/fclib/*.hdf5 && pass "and is found from nothing, too"
status 0 "$program" run "$job" --out "$work/dump" --threads 1 --no-picture --steps 5 --force
[ -z "$(ls "$work/dump/fclib")" ] && pass "problems of the run before are gone"

# A solver that is given no time, and impulses that may not be wrong: the step is halved, in vain, and the run says why.
status 4 "$program" run "$job" --out "$work/failed" --no-picture --set solver.friction.max_iterations=1 --set solver.friction.method=splitting \
  --set solver.friction_stall_tolerance=0 --set time.retry.halvings=1
says "no impulses were found that obey the law of friction" && grep -q "dt/2" "$work/failed/failure.txt" && pass "a failed solve is retried with half a step, then named"
status 2 "$program" check "$job" --set contact.stiffness=1 && says "contact.stiffness: formulation exact cannot use it" && pass "springs are refused"
