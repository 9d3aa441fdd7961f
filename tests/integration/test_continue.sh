# `run --continue` (for batch scripts) and `resume --job`: start or continue, and which keys of the job may change.
. tests/integration/common.sh
cp "$here/small.yaml" "$work/small.yaml"
job=$work/small.yaml
go="$program run $job --out $work/a --threads 1 --no-picture"
status 0 "$program" run "$job" --out "$work/whole" --threads 1 --no-picture

# Starts, continues, and detects that the run is finished.
status 0 $go --continue --steps 12
[ -e "$work/a/checkpoints/checkpoint_000000012.h5" ] || fail "--continue without a run does not start one"
status 2 $go && says "already contains a run"
status 0 $go --continue --steps 5 && says "at step 12"
SLURM_JOB_ID=1 SLURM_RESTART_COUNT=1 status 0 $go --steps 5 && says "at step 17" && pass "continues automatically after a requeue"
SLURM_JOB_ID=1 SLURM_RESTART_COUNT=2 status 0 $go --force && says "at step 22" && pass "--force in a script applies to the first start only"
status 0 "$program" diff "$work/whole" "$work/a"
[ "$(history_of "$work/whole")" = "$(history_of "$work/a")" ] || fail "histories differ"
pass "four starts are bit-identical to one"
before=$(cat "$work/a/summary.txt" "$work/a/result.yaml")
status 0 $go --continue && says "is already finished"
status 0 "$program" resume "$work/a" --threads 1 && says "is already finished"
[ "$before" = "$(cat "$work/a/summary.txt" "$work/a/result.yaml")" ] || fail "a finished run was written to"
pass "a finished run is reported and not changed"
status 2 $go --continue --force && says "give one of them" && pass "--force together with --continue is rejected"
status 2 $go --accept-changes && says "requires" && pass "--accept-changes requires a job to continue with"

# No checkpoint yet: killed before the first one
mkdir -p "$work/b" && echo "name: small" >"$work/b/job.yaml"
status 0 "$program" run "$job" --out "$work/b" --continue --steps 3 --threads 1 --no-picture
status 0 "$program" info "$work/b" && pass "a run without a checkpoint starts again"
# All checkpoints damaged: nothing is deleted.
cp -r "$work/b" "$work/c"; for f in "$work"/c/checkpoints/*.h5; do printf x | dd of="$f" bs=1 seek=5000 conv=notrunc 2>/dev/null; done
n=$(ls "$work/c/checkpoints" | wc -l)
status 3 "$program" run "$job" --out "$work/c" --continue --threads 1 --no-picture
[ "$(ls "$work/c/checkpoints" | wc -l)" = "$n" ] || fail "damaged checkpoints were removed"
pass "only damaged checkpoints: the run stops with a message"

# Keys that may change: duration, tolerances, outputs. A different notation of a number is not a change.
sed -i 's/end: 0.06/end: 0.08/; s/restitution: 0.0/restitution: 0/; s/density: 1600/density: 1.6e3/; s/, keep: 100/, keep: 50/' "$job"
printf '  speed: {quantity: velocity, body: ball}\n' >>"$job"
status 0 $go --continue
says "time.end: 0.06 -> 0.08"; says "output.keep: 100 -> 50"; says "measure.speed: (not given) -> {quantity: velocity"; says "at step 30"
grep -q "has changed: materials" "$work/out" && fail "1.6e3 is not another density than 1600"
tail -n 1 "$work/a/measure/speed.csv" | grep -q "^40,0.08" || fail "the new measure was not recorded"
[ "$(wc -l <"$work/a/measure/speed.csv")" = 11 ] || fail "the new measure begins at the resumed step"
grep -q "end: 0.08" "$work/a/job.yaml" || fail "job.yaml does not contain the current job"
pass "changes of time.end, output and measures are accepted and logged"

# Keys of the simulated scene may not change.
cp -r "$work/a" "$work/kept"
sed -i 's/friction: 0.4/friction: 0.3/; s/end: 0.08/end: 0.1/; s/spacing: 0.02/spacing: 0.01/' "$job"
status 2 $go --continue
says "$work/a was started with a different job"; says "--accept-changes"
says "small.yaml:15:21: contact.friction: 0.4 -> 0.3"; says "bodies.pad.spacing: 0.02 -> 0.01"
status 2 "$program" resume "$work/a" --job "$job" && says "contact.friction: 0.4 -> 0.3"
diff -r "$work/a" "$work/kept" || fail "a rejected run was changed"
pass "friction and spacing may not change: rejected with both values and their places, nothing written"
sed -i 's/spacing: 0.01/spacing: 0.02/' "$job"
status 0 "$program" resume "$work/a" --job "$job" --accept-changes --threads 1 --no-picture
says "contact.friction: 0.4 -> 0.3"; says "time.end: 0.08 -> 0.1"; grep -q "friction: 0.3" "$work/a/job.yaml" || fail "the changed friction was not accepted"
pass "--accept-changes accepts them"
status 0 $go --continue && says "is already finished"
# A different number of particles: the checkpoint does not fit and is not changed.
status 3 $go --continue --accept-changes --set bodies.pad.spacing=0.01 --set time.end=0.2
status 0 "$program" info "$work/a" && says "step 50" && pass "changes that do not fit the state are rejected even with --accept-changes"

# A run ended by `until` stays finished, unless the condition changes.
until_e="$program run $here/small.yaml --out $work/e --threads 1 --no-picture --continue"
status 0 $until_e --set "until=[height < 0.13]"; n=$(sed -n 's/^step: //p' "$work/e/result.yaml")
grep -q "^reason: .*until" "$work/e/result.yaml" || { cat "$work/e/result.yaml"; fail "not ended by until"; }
status 0 $until_e --set "until=[height < 0.13]" && says "is already finished"
status 0 $until_e --set "until=[height < 0.12]" && says "until" && says "at step $n"
status 0 $until_e && says "the job has changed: until: [" && says "-> (not given)"
status 0 "$program" run "$here/small.yaml" --out "$work/f" --threads 1 --no-picture
# (`diff` cannot be used: each end has written a frame and the state of until)
[ "$(history_of "$work/e")" = "$(history_of "$work/f")" ] || fail "the histories differ"
pass "a run ended by until continues when until changes, with the same history"
