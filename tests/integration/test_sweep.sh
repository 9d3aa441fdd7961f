# Sweep files: listing, errors, creating and extending the folder; the cases of the example against the closed form.
. tests/integration/common.sh
slide=$(pwd)/jobs/sweeps/slide.yaml
columns=$(pwd)/jobs/sweeps/columns.yaml
cd "$work" || exit 1
cat > base.yaml <<'Y'
stickslip: 1
name: ball
time: {end: 0.05, step: 1.0e-3}
materials: {steel: {model: rigid, density: 7800}}
bodies:
  ball: {kind: rigid, material: steel, shape: {sphere: {center: [0, 0, 0.1], radius: 0.05}}}
  floor: {kind: static, shape: {plane: {normal: [0, 0, 1], extent: 1}}}
contact: {friction: 0.3, stiffness: 1.0e4}
measure: {z: {quantity: position, body: ball, direction: [0, 0, 1]}}
Y
sweep() { # arguments: lines of the sweep file after its head
  { printf 'sweep: 1\nname: s\nbase: base.yaml\n'; cat; } > s.yaml
}
cells() { awk -F, -v c="$1" 'NR == 1 { for (i = 1; i <= NF; ++i) if ($i == c) k = i } NR > 1 { printf "%s ", $k }' sweep/s/cases.csv; }

status 0 "$program" sweep "$slide" --dry-run && says '14 cases' && says '1 omitted by "where"' && says "cube on a slope of 25 degrees"
[ ! -e sweep ] || fail "--dry-run has written files"
[ "$(grep -c '^ *[0-9]' out)" = 14 ] || fail "not one line per case"
status 0 "$program" sweep "$columns" --dry-run --check && says "64 cases" && pass "--dry-run lists the cases of the examples and writes nothing"

sweep <<'Y'
vary: {contact.frction: [0.1, 0.2], mu: [1, 2]}
where: ["mu > nu"]
Y
status 2 "$program" sweep s.yaml && says 's.yaml:5:15: where[0]: "mu > nu": unknown parameter "nu"' && [ ! -e sweep ] || fail "rejected sweep"
sweep <<'Y'
vary: {contact.frction: [0.1, 0.2], contact.stiffness: [1, -1]}
Y
status 2 "$program" sweep s.yaml --local && says 's.yaml:4:8: contact.frction: unknown key; did you mean "friction"? (in every case)' \
  && says 's.yaml:4:60: contact.stiffness: -1 is out of range: must be > 0 N/m (2 cases, the first is case 2: contact.frction=0.1 contact.stiffness=-1)'
[ ! -e sweep ] || fail "a rejected sweep left something behind"
pass "errors of the file and of the jobs of its cases are reported at once with their places; nothing is written"

# Only some cases have a wrong scene.
sweep <<'Y'
vary: {bodies.ball.shape.sphere.center: [[0, 0, 0.5], [0, 0, -100]], measure.z: [{quantity: position, body: ball, direction: [0, 0, 1]}, {quantity: position, body: bll, direction: [0, 0, 1]}]}
Y
rm -rf sweep
status 2 "$program" sweep s.yaml --local && says "bll" && says "2 cases, the first is case 3" && [ ! -e sweep ] || fail "a sweep with wrong scenes starts"
status 2 "$program" sweep s.yaml --dry-run --check && says "bll" && says "2 cases, the first is case 3" && pass "errors of the scenes of all cases before the first starts"
# A thousand cases, each with a value of its own, of which the last has a wrong scene.
sweep <<'Y'
vary: {contact.stiffness: {range: {from: 1e4, to: 2e4, count: 500}}, measure.z: [{quantity: position, body: ball, direction: [0, 0, 1]}, {quantity: position, body: bll, direction: [0, 0, 1]}]}
Y
begun=$(date +%s)
status 2 "$program" sweep s.yaml --dry-run && says "bll"
[ $(($(date +%s) - begun)) -lt 60 ] || fail "the check of 1000 cases takes more than a minute"
pass "1000 cases are checked within a minute"

sweep <<'Y'
vary: {contact.friction: [0.1, 0.3], z: {sobol: {count: 4, of: {contact.stiffness: {from: 1e3, to: 1e5, log: true}}}}}
Y
status 0 "$program" sweep s.yaml --set time.end=0.003 && says "8 cases"
grep -q '  end: 0.003' sweep/s/base.yaml || fail "--set is not in base.yaml"
cmp -s s.yaml sweep/s/sweep.yaml || fail "sweep.yaml is not the file"
cp -r sweep before
status 0 "$program" sweep s.yaml --set time.end=0.003 && says "0 new cases, 8 existing cases"
diff -r sweep before >/dev/null || fail "files were written without new cases"
pass "a folder is created; a second call changes nothing"

status 2 "$program" sweep sweep/s && says "sweep run sweep/s"
status 0 "$program" sweep run sweep/s 2 5
find sweep/s/cases -type f -exec cksum {} + | sort > kept
sed -i 's/0.1, 0.3/0.1, 0.2, 0.3/; s/count: 4/count: 8/' s.yaml
status 0 "$program" sweep s.yaml --set time.end=0.003 --dry-run && says "16 cases would be added"
status 0 "$program" sweep s.yaml --set time.end=0.003 && says "16 new cases, 8 existing cases"
head -9 sweep/s/cases.csv | cmp -s - before/s/cases.csv || fail "cases were renumbered"
[ "$(tail -1 sweep/s/cases.csv | cut -d, -f1)" = 24 ] || fail "not 24 cases"
find sweep/s/cases -type f -exec cksum {} + | sort | cmp -s - kept || fail "finished cases were changed"
[ "$(cells contact.stiffness | tr ' ' '\n' | sort -u | grep -c .)" = 8 ] || fail "not 8 points of Sobol's sequence"
pass "a sweep is extended: existing cases keep numbers and results"

cp -r sweep/s before2
status 2 "$program" sweep s.yaml && says "time.end: 0.003 -> 0.05" && says "choose another --out"
echo 'set: {output.keep: 5}' >> s.yaml
status 2 "$program" sweep s.yaml --set time.end=0.003 && says "cases.csv has no output.keep"
sed -i 's/output.keep: 5/output.keep: contact.friction*10/' s.yaml
rm -r sweep/s/run.lock 2>/dev/null; diff -r sweep/s before2 >/dev/null || fail "a rejected extension changed the folder"
pass "a different base job or different settings are rejected, with the differences"

if command -v flock >/dev/null; then
  sed -i '/^set/d' s.yaml
  ( flock -n 9 && status 3 "$program" sweep s.yaml --set time.end=0.003 && says "is being written by" ) 9>sweep/s/run.lock || fail "lock"
  rm sweep/s/run.lock
  pass "the folder is locked during an update"
fi
mkdir other && status 0 "$program" run base.yaml --out other/r --steps 2 --no-picture && status 2 "$program" sweep s.yaml --out other/r && says "contains a run" && pass "a sweep in a run directory is rejected"

# Paths are relative to their file, independently of the working directory.
cat > box.obj <<'Y'
v 0 0 0
v 0.1 0 0
v 0 0.1 0
v 0 0 0.1
f 1 3 2
f 1 2 4
f 1 4 3
f 2 3 4
Y
mkdir far near && mv base.yaml far && cp box.obj far/other.obj && mv box.obj near
sed -i 's|shape: {sphere:.*|shape: {mesh: {file: other.obj}}}|' far/base.yaml
printf 'sweep: 1\nname: s\nbase: ../far/base.yaml\nvary: {bodies.ball.shape.mesh.file: [../far/other.obj, box.obj]}\nset: {time.end: 0.003}\n' > near/s.yaml
status 0 "$program" sweep near/s.yaml --out paths
[ "$(tail -1 paths/cases.csv | cut -d, -f3)" = "$work/near/box.obj" ] || fail "a path of the sweep file is not absolute: $(tail -1 paths/cases.csv)"
grep -q "file: $work/near/../far/other.obj" paths/base.yaml || fail "a path of the base job is not absolute"
cd far && status 0 "$program" sweep run ../paths && cd .. && says "2 cases finished" && pass "paths do not depend on the working directory"

# The example against the closed form: tolerance 1 % of the initial speed of 0.5 m/s.
status 0 "$program" sweep "$slide" --local -j 2 --out slide && status 0 "$program" sweep gather slide
awk -F, 'NR == 1 { for (i = 1; i <= NF; ++i) { if ($i == "speed") s = i; if ($i ~ /^v.last/) v = i } if (!s || !v) exit 1 }
  NR > 1 { d = $s - $v; if (d < 0) d = -d; if (!(d < 0.005)) { print "case " $1 ": expected " $s ", got " $v; exit 1 } ++n } END { if (n != 14) exit 1 }' slide/results.csv \
  || fail "slide: not the speeds of the closed form"
pass "a sweep of slides: 14 speeds within 0.005 m/s of the closed form"
