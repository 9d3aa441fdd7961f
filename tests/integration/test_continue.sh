# `run --continue`, as job scripts call it, and `resume --job`: start or go on, and what of the job may have changed in between.
. tests/integration/common.sh
cp "$here/small.yaml" "$work/small.yaml"
job=$work/small.yaml
go="$program run $job --out $work/a --threads 1 --no-picture"
status 0 "$program" run "$job" --out "$work/whole" --threads 1 --no-picture

# Starts, goes on, and sees that nothing is left
status 0 $go --continue --steps 12
[ -e "$work/a/checkpoints/checkpoint_000000012.h5" ] || fail "--continue without a run does not start one"
status 2 $go && says "already contains a run"
status 0 $go --continue --steps 5 && says "at step 12"
SLURM_JOB_ID=1 SLURM_RESTART_COUNT=1 status 0 $go --steps 5 && says "at step 17" && pass "goes on of itself after a requeue"
SLURM_JOB_ID=1 SLURM_RESTART_COUNT=2 status 0 $go --force && says "at step 22" && pass "--force in a script is for the first start alone"
status 0 "$program" diff "$work/whole" "$work/a"
[ "$(history_of "$work/whole")" = "$(history_of "$work/a")" ] || fail "histories differ"
pass "in four parts: the same bits as in one"
before=$(cat "$work/a/summary.txt" "$work/a/result.yaml")
status 0 $go --continue && says "is already finished"
status 0 "$program" resume "$work/a" --threads 1 && says "is already finished"
[ "$before" = "$(cat "$work/a/summary.txt" "$work/a/result.yaml")" ] || fail "a finished run was written to"
pass "a finished run says so and is left alone"
status 2 $go --continue --force && says "give one of them" && pass "--force and --continue are refused together"
status 2 $go --accept-changes && says "requires" && pass "--accept-changes requires a job to continue with"

# No checkpoint yet: killed before the first one
mkdir -p "$work/b" && echo "name: small" >"$work/b/job.yaml"
status 0 "$program" run "$job" --out "$work/b" --continue --steps 3 --threads 1 --no-picture
status 0 "$program" info "$work/b" && pass "a run without a checkpoint is started over"
# All of them damaged: nothing is thrown away
cp -r "$work/b" "$work/c"; for f in "$work"/c/checkpoints/*.h5; do printf x | dd of="$f" bs=1 seek=5000 conv=notrunc 2>/dev/null; done
n=$(ls "$work/c/checkpoints" | wc -l)
status 3 "$program" run "$job" --out "$work/c" --continue --threads 1 --no-picture
[ "$(ls "$work/c/checkpoints" | wc -l)" = "$n" ] || fail "damaged checkpoints were removed"
pass "damaged checkpoints alone: stops and says so"

# What may change: for how long, how exactly, and what is written. Another way to write a number is no change.
sed -i 's/end: 0.06/end: 0.08/; s/restitution: 0.0/restitution: 0/; s/density: 1600/density: 1.6e3/; s/, keep: 100/, keep: 50/' "$job"
printf '  speed: {quantity: velocity, body: ball}\n' >>"$job"
status 0 $go --continue
says "time.end: 0.06 -> 0.08"; says "output.keep: 100 -> 50"; says "measure.speed: (not given) -> {quantity: velocity"; says "at step 30"
grep -q "has changed: materials" "$work/out" && fail "1.6e3 is not another density than 1600"
tail -n 1 "$work/a/measure/speed.csv" | grep -q "^40,0.08" || fail "the new measure was not recorded"
[ "$(wc -l <"$work/a/measure/speed.csv")" = 11 ] || fail "the new measure begins where it was asked for"
grep -q "end: 0.08" "$work/a/job.yaml" || fail "job.yaml does not say what is simulated now"
pass "time.end, output and measures change, and are shown"

# What may not: what is simulated
cp -r "$work/a" "$work/kept"
sed -i 's/friction: 0.4/friction: 0.3/; s/end: 0.08/end: 0.1/; s/spacing: 0.02/spacing: 0.01/' "$job"
status 2 $go --continue
says "$work/a was started with a different job"; says "--accept-changes"
says "small.yaml:15:21: contact.friction: 0.4 -> 0.3"; says "bodies.pad.spacing: 0.02 -> 0.01"
status 2 "$program" resume "$work/a" --job "$job" && says "contact.friction: 0.4 -> 0.3"
diff -r "$work/a" "$work/kept" || fail "a refused run was written to"
pass "friction and spacing may not change: refused with both values and their place, nothing written"
sed -i 's/spacing: 0.01/spacing: 0.02/' "$job"
status 0 "$program" resume "$work/a" --job "$job" --accept-changes --threads 1 --no-picture
says "contact.friction: 0.4 -> 0.3"; says "time.end: 0.08 -> 0.1"; grep -q "friction: 0.3" "$work/a/job.yaml" || fail "friction was not taken over"
pass "forced, they are taken over"
status 0 $go --continue && says "is already finished"
# Another number of particles: the checkpoint does not fit, and is not touched
status 3 $go --continue --accept-changes --set bodies.pad.spacing=0.01 --set time.end=0.2
status 0 "$program" info "$work/a" && says "step 50" && pass "what the state cannot follow is refused even when forced"

# Ended by `until`: finished, unless that changes
until_e="$program run $here/small.yaml --out $work/e --threads 1 --no-picture --continue"
status 0 $until_e --set "until=[height < 0.13]"; n=$(sed -n 's/^step: //p' "$work/e/result.yaml")
grep -q "^reason: .*until" "$work/e/result.yaml" || { cat "$work/e/result.yaml"; fail "not ended by until"; }
status 0 $until_e --set "until=[height < 0.13]" && says "is already finished"
status 0 $until_e --set "until=[height < 0.12]" && says "until" && says "at step $n"
status 0 $until_e && says "the job has changed: until: [" && says "-> (not given)"
status 0 "$program" run "$here/small.yaml" --out "$work/f" --threads 1 --no-picture
# (not `diff`: each end has left a frame, and until its memory)
[ "$(history_of "$work/e")" = "$(history_of "$work/f")" ] || fail "the histories differ"
pass "a run that until has ended goes on when until changes, to the same history"
