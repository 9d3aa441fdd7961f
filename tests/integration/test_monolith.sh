# Formulation monolith with all kinds of bodies: 1 = 2 = 3 threads, resumed = uninterrupted, bit for bit; momentum and energy; forces on
# both sides; halved steps for fast particles; errors and their positions.
. tests/integration/common.sh
job=$here/monolith.yaml
column() { # FOLDER NAME: a column of history.csv without its head
  awk -F, -v name="$2" 'NR == 1 { for (i = 1; i <= NF; ++i) { sub(/ .*/, "", $i); if ($i == name) k = i } next } { print $k }' "$1/history.csv"
}
status 0 "$program" check "$job" && says "formulation monolith: " && says "grid of 16 x 12 x 16 cells of 0.025 m" && says "solids in it: block (moved by it, the material's own friction)" &&
  says "gate (friction 0.2)" && pass "check lists the unknowns and the solids"
runs_alike_on_threads "$job"
resumes_from_everywhere push pressure
column "$work/whole" contacts | awk '$1 > most { most = $1 } END { exit !(most >= 4) }' || fail "not so: bodies touch each other"
pass "bodies touch each other"
column "$work/whole" yield_ratio | awk '$1 > 1.2 || $1 < 0 { bad = 1 } $1 > 0.5 { yields = 1 } END { exit bad || !yields }' && pass "stress is in its cone, and on it"
# What continuum and body do to each other is the same; where nothing comes from outside, motion only dies down.
awk -F, 'FNR == NR { a[$1] = $3; next } FNR > 1 && $3 + a[$1] != 0 { bad = 1 } FNR > 1 && $3 > most { most = $3 } END { exit bad || !(most > 1) }' \
  "$work/whole/measure/back.csv" "$work/whole/measure/push.csv" && pass "the continuum feels what it does to a body"
sed -e 's/^gravity:.*//' -e '/gate/d' -e '/floor/d' -e 's/^name:.*/name: adrift\ngravity: [0, 0, 0]/' "$job" >"$work/adrift.yaml"
status 0 "$program" run "$work/adrift.yaml" --out "$work/adrift" --threads 1 --no-picture
column "$work/adrift" kinetic_energy | awk '$1 > last && NR > 1 { bad = 1 } { last = $1 } END { exit bad || NR < 30 }' && pass "kinetic energy never rises without forces from outside"

# Too fast for the grid: the step is cut until it is not; in vain, if it may not be.
status 0 "$program" run "$job" --out "$work/fast" --threads 1 --no-picture --set bodies.column.velocity='[6, 0, 0]' --set mac.cfl=0.5 --set time.end=0.008
[ "$(column "$work/fast" retries | awk '{ n += $1 } END { print (n > 0) }')" = 1 ] ||
  fail "not so: steps in which particles would cross too many cells are cut"
pass "steps in which particles would cross too many cells are cut"
status 0 "$program" run "$job" --out "$work/fast" --threads 1 --no-picture --set bodies.brick.velocity='[-20, 0, 0]' --set mac.cfl=0.5 --set time.end=0.004 --force
[ "$(column "$work/fast" retries)" -gt 0 ] || fail "not so: so are steps in which bodies would"
pass "so are steps in which bodies would"
status 4 "$program" run "$job" --out "$work/failed" --threads 1 --no-picture --set bodies.column.velocity='[60, 0, 0]' --set mac.cfl=0.1 --set time.retry.halvings=1
says "mac.cfl" && grep -q "dt/2" "$work/failed/failure.txt" ||
  fail "not so: and when that is not allowed the run says what may help"
pass "and when that is not allowed the run says what may help"

refused() { # MESSAGE OVERRIDE...
  message=$1; shift
  status 2 "$program" check "$job" "$@"; says "$message"
  pass "refused: $message"
}
refused "monolith.yaml:15:9: bodies.ball: starts outside mac.domain" --set bodies.ball.shape.sphere.center='[9, 9, 9]'
refused "monolith.yaml:15:9: bodies.ball: starts 0.0289989 m deep in \"block\": rigid bodies must not overlap" --set bodies.ball.shape.sphere.center='[0.1, 0.15, 0.25]'
refused "materials.sand.density: 0 is out of range: must be > 0 kg/m^3" --set materials.sand.density=0
refused "materials.wood.density: 0 is out of range: must be > 0 kg/m^3" --set materials.wood.density=0
refused "mac.cfl: 100 is out of range: must be > 0 and < 10" --set mac.cfl=100
refused "bodies.column.shape: extends beyond mac.domain" --set bodies.column.shape='{box: {min: [1, 1, 1], max: [1.2, 1.3, 1.5]}}'
refused "the shape would contain 8e-06 particles" --set bodies.column.shape='{box: {min: [0.1, 0.1, 0.1], max: [0.10025, 0.10025, 0.10025]}}'
refused "contact with a continuum has no restitution; remove it" --set contact.pairs='[{between: [column, ball], restitution: 0.5}]'
refused "\"brick\" has no level set, which contact with the grid requires" --set bodies.brick.contact_surface=mesh
status 0 "$program" check "$job" --set contact.stiffness=1 && says "contact.stiffness: not used by formulation monolith: contact is rigid" && pass "a stiffness is reported as unused"
refused "monolith.yaml:13:18: bodies.column.kind: formulation exact does not support kind mac" --set formulation=exact
refused "\"block\" has different contact laws with \"column\" and \"more\"" --set bodies.more='{kind: mac, material: sand, shape: {box: {min: [0.25, 0, 0.3], max: [0.3, 0.1, 0.4]}}}' \
  --set contact.pairs='[{between: [block, column], friction: 0.1}]'
refused_at() { # MESSAGE EDIT: what stands in the file is named by its place
  sed -e "$2" "$job" >"$work/bad.yaml"
  status 2 "$program" check "$work/bad.yaml"; says "bad.yaml:$1"
  pass "refused at its place: $1"
}
refused_at "8:36: materials.sand.density: 0 is out of range" 's/density: 1600/density: 0/'
refused_at "11:76: mac.cfl: -1 is out of range" 's/spacing: 0.025}/spacing: 0.025, cfl: -1}/'
refused_at "13:46: bodies.column.shape: extends beyond mac.domain" 's/min: \[0, 0, 0\], max: \[0.2, 0.3, 0.2\]/min: [0.3, 0, 0], max: [0.5, 0.3, 0.2]/'
refused_at "11:71: mac.flip: has been removed: the transfer is always affine" 's/spacing: 0.025}/spacing: 0.025, flip: 0.5}/'
