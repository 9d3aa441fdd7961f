# result.yaml of a run that was stopped, killed or failed and then resumed equals that of an uninterrupted run.
. tests/integration/common.sh
job=$here/small.yaml
# Values that must not depend on the number of starts.
numbers_of() { grep -vE '^(program|host|threads|starts|begun|updated|seconds|user_seconds|peak_resident_memory|checksum):' "$1/result.yaml"; }
# has DIR "key: value"
# Quality may be bad: the pad is soft.
finished() { grep -q "^status: finished" "$1/result.yaml" || { cat "$1/result.yaml"; fail "$1 is not finished"; }; }
has() { grep -qxF -- "$2" "$1/result.yaml" || { cat "$1/result.yaml"; fail "$1 does not contain: $2"; }; }
more="--set measure.gap.quantity=contacts --set measure.gap.every=0.006 --no-picture --threads 1"

status 0 "$program" run "$job" --out "$work/whole" $more
finished "$work/whole"; has "$work/whole" "reason: end of time"; has "$work/whole" "exit_code: 0"; has "$work/whole" "starts: 1"
# The statistics equal those of the measure tables.
awk -F, 'NR == 2 { min = max = $3 } NR > 1 { if ($3 < min) { min = $3; at = $2 } last = $3 } END { print last; print min; print at }' \
  "$work/whole/measure/height.csv" >"$work/expected"
awk '/^  height:/ { on = 1 } /^  gap:/ { on = 0 } on && /last|  min|time_of_min/ { print $2 }' "$work/whole/result.yaml" >"$work/got"
cmp -s "$work/expected" "$work/got" || { cat "$work/expected" "$work/got"; fail "other numbers than in height.csv"; }
[ "$(grep -c . "$work/whole/measure/gap.csv")" = "$((1 + $(sed -n '/^  gap:/,$s/^    n: //p' "$work/whole/result.yaml")))" ] || fail "other count than in gap.csv"
pass "finished, with the statistics of its measures"

status 0 "$program" run "$job" --out "$work/stopped" $more --steps 7
has "$work/stopped" "status: stopped"; has "$work/stopped" 'reason: "--steps 7"'; has "$work/stopped" "step: 7"
status 0 "$program" resume "$work/stopped" --no-picture --steps 5 --threads 1
status 0 "$program" resume "$work/stopped" --no-picture --threads 1
has "$work/stopped" "starts: 3"
[ "$(numbers_of "$work/whole")" = "$(numbers_of "$work/stopped")" ] || { diff "$work/whole/result.yaml" "$work/stopped/result.yaml"; fail "stopped twice, it differs"; }
pass "stopped and resumed: the same numbers"

# interrupt SIGNAL FOLDER: a long run gets the signal after its first checkpoint
interrupt() {
  "$program" run "$job" --out "$work/$2" $more --set time.end=100 >"$work/out" 2>&1 &
  until ls "$work/$2"/checkpoints/checkpoint_*[1-9].h5 >/dev/null 2>&1 || ls "$work/$2"/checkpoints/checkpoint_*[1-9]0.h5 >/dev/null 2>&1; do sleep 0.05; done
  kill -"$1" $!; wait $!
}
interrupt USR1 signal
has "$work/signal" "status: stopped"; has "$work/signal" "reason: signal 10"; has "$work/signal" "exit_code: 75"
pass "stopped by a signal, with its number"

# Killed: the status of the last checkpoint is "running", and the lock is free.
interrupt KILL killed
has "$work/killed" "status: running"; has "$work/killed" "exit_code: -1"
status 0 "$program" resume "$work/killed" --no-picture --set time.end=0.06 --threads 1
rm "$work"/killed/checkpoints/*; cp "$work"/whole/checkpoints/checkpoint_000000010.h5 "$work/killed/checkpoints"
status 0 "$program" resume "$work/killed" --no-picture --threads 1
[ "$(numbers_of "$work/whole")" = "$(numbers_of "$work/killed")" ] || { diff "$work/whole/result.yaml" "$work/killed/result.yaml"; fail "killed and resumed, it differs"; }
pass "killed and resumed: the same numbers"

# A failed step; then the rest of the run with a suitable setting.
status 4 "$program" run "$job" --out "$work/failed" $more --set solver.newton.max_iterations=1 --set time.retry.halvings=0
has "$work/failed" "status: failed"; has "$work/failed" "exit_code: 4"
grep -q '^reason: .*step [0-9]* (t = .*failed with the smallest allowed substep' "$work/failed/result.yaml" || { cat "$work/failed/result.yaml"; fail "no reason"; }
pass "failed, with the reason"

# A damaged file loses only data that cannot be restored.
printf 'damaged' >"$work/stopped/result.yaml"
status 0 "$program" resume "$work/stopped" --no-picture --threads 1; says "result.yaml: is damaged"
finished "$work/stopped"; has "$work/stopped" "starts: 1"
[ "$(numbers_of "$work/whole")" = "$(numbers_of "$work/stopped")" ] || fail "after damage the numbers differ"
pass "a damaged result is reported and rewritten"
