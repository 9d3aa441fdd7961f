# Formulation monolith with everything it steps: 1 = 2 = 3 threads, resumed = uninterrupted, bit for bit; momentum and energy; forces on both
# sides; steps that are cut when something is too fast; what is refused, and where.
. tests/integration/common.sh
job=$here/monolith.yaml
column() { # FOLDER NAME: a column of history.csv without its head
  awk -F, -v name="$2" 'NR == 1 { for (i = 1; i <= NF; ++i) { sub(/ .*/, "", $i); if ($i == name) k = i } next } { print $k }' "$1/history.csv"
}
status 0 "$program" check "$job" && says "formulation monolith: " && says "grid of 16 x 12 x 16 cells of 0.025 m" && says "solids in it: block (moved by it, the material's own friction)" &&
  says "gate (friction 0.2)" && pass "check says what is solved for, and in what"
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
  for m in push pressure; do cmp -s "$work/whole/measure/$m.csv" "$work/part/measure/$m.csv" || fail "measure $m differs after resuming $(basename "$checkpoint")"; done
  pass "resumed from $(basename "$checkpoint") equals the uninterrupted run"
done
column "$work/whole" contacts | awk '$1 > most { most = $1 } END { exit !(most >= 4) }' && pass "bodies touch each other"
column "$work/whole" yield | awk '$1 > 1.2 || $1 < 0 { bad = 1 } $1 > 0.5 { yields = 1 } END { exit bad || !yields }' && pass "stress is in its cone, and on it"
