# Exit codes and messages of the commands; rejected commands write nothing.
. tests/integration/common.sh
job=$here/small.yaml
cd "$work" || exit 1
status 0 "$program" --help && says "resume" && says "75" && pass "--help lists commands and exit codes"
status 0 "$program" --version && says "$("$program" run --version | head -n 1)" && says "PETSc 3" && says "HDF5 1" && pass "--version, also behind a command"
for c in run resume check info diff render report friction schema completion; do status 0 "$program" $c --help; says "usage: stickslip $c"; done
pass "every command has --help"
status 2 "$program" rnu && says 'did you mean "run"' && pass "unknown command"
status 2 "$program" run && says usage && pass "missing argument"
status 2 "$program" sweep statsu here && says 'did you mean "sweep status"' && says usage && pass "unknown action"
status 2 "$program" run nothing.yaml && says nothing.yaml && pass "missing file"
status 2 "$program" run "$job" --thredas 2 && says "unknown option" && pass "unknown option"
status 2 "$program" run "$job" --threads zero && says "whole number" && pass "malformed number"
status 2 "$program" run "$job" --set time.stpe=1 && says "step" && pass "--set with an unknown key"
status 2 "$program" run "$job" --set time.step=-1 && pass "--set out of range"
status 0 "$program" check "$job" && says ball && pass "check describes the scene"
status 0 "$program" check "$job" --resolved && cp out resolved.yaml && status 0 "$program" check resolved.yaml --resolved
cmp -s out resolved.yaml || fail "the resolved job does not resolve to itself"
pass "the resolved job is a job, and resolves to itself"
for f in markdown man json; do status 0 "$program" schema --format $f; [ "$(wc -l <out)" -gt 100 ] || fail "schema --format $f is short"; done
says '"$schema"' || fail schema
pass "schema in three formats"
for f in job sweep result; do status 0 "$program" schema $f && says '| key | type'; done
status 2 "$program" schema jobs && says "expected job, sweep, result" && pass "schema of all file formats"
status 2 "$program" schema --format pdf && pass "schema in an unknown format"
status 0 "$program" completion && bash -n out && pass "completion is valid bash"
status 2 "$program" resume nowhere && pass "resume without a run"
status 3 "$program" info nowhere && pass "info without a checkpoint"
[ ! -e run ] || fail "a rejected run has written files"
pass "rejected commands write nothing"
mkdir locked && status 0 "$program" run "$job" --out done --steps 3 --no-picture
status 0 "$program" run "$job" --out done --steps 2 --force --no-picture -penalty_snes_monitor && says "SNES Function norm" && pass "PETSc options have effect"
status 0 "$program" info done && says small && pass "info"
status 0 "$program" render done && ls done/*.png >/dev/null || fail "render leaves no picture"
pass render

# Threads are bound to separate places (OMP_PLACES), also after the program has executed itself again.
if [ "$(env -u OMP_NUM_THREADS nproc)" -ge 2 ]; then
  status 0 env -u GOMP_SPINCOUNT -u OMP_WAIT_POLICY OMP_PROC_BIND=true OMP_DISPLAY_AFFINITY=true \
    "$program" run "$job" --out bound --steps 1 --no-picture --threads 2
  [ "$(sed -n 's/^level 1 .*affinity //p' out | sort -u | wc -l)" = 2 ] || { cat out; fail "two threads share a place"; }
  pass "two threads have separate places"
fi

# The upward axis of pictures is opposite to gravity: the same body looks different with another gravity.
leaning() { # NAME GRAVITY
  cat > "$1.yaml" <<END
stickslip: 1
name: leaning
gravity: $2
time: {end: 1.0e-9, step: 1.0e-9}
materials: {stone: {model: rigid, density: 1000}}
bodies: {free: {kind: rigid, material: stone, shape: {box: {min: [0, 0, 0], max: [1, 2, 3]}}}}
output: {checkpoint: 0}
END
  status 0 "$program" run "$1.yaml" --out "$1"
}
leaning up_z "[0, 0, -10]"
leaning none "[0, 0, 0]"
leaning up_y "[0, -10, 0]"
leaning up_x "[-10, 0, 0]"
cmp up_z/still.png none/still.png || fail "z is not up without gravity"
cmp -s up_z/still.png up_y/still.png && fail "y is not up with gravity against it"
cmp -s up_y/still.png up_x/still.png && fail "x is not up with gravity against it"
pass "upward axis of pictures"
status 0 "$program" run up_z.yaml --out glass --set 'picture.transparent=[free]'
cmp -s up_z/still.png glass/still.png && fail "a glass body is not transparent"
pass "glass bodies in pictures"
mkdir reference && sh "$here/../../config/reference.sh" "$program" reference || fail "config/reference.sh"
for page in job expert history files fields; do
  cmp -s "reference/$page.md" "$here/../../docs/reference/$page.md" || fail "docs/reference/$page.md is not current; run sh config/reference.sh PROGRAM docs/reference"
done
pass "the generated pages of docs/reference are current"
status 2 "$program" schema fields && says "job is required" && status 2 "$program" schema history --job "$here/exact.yaml" && says "needs fields or bodies" &&
  status 2 "$program" schema nothing && says "expected job, sweep" && status 2 "$program" schema files --format json && says "needs job" && pass "schema rejects other arguments"
status 0 "$program" schema bodies --job "$here/exact.yaml" && says '| 10 | `arm.beam` | link |' && says '| 3 | `arm.paddle` |' && pass "numbers of bodies and objects"
