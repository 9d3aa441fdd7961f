# Columns of history.csv, fields and files of runs are those of the generated reference pages.
. tests/integration/common.sh
pages=$here/../../docs/reference

header() { head -n 1 "$1/history.csv" | tr , '\n' | sed 's/ .*//'; }
listed() { # FORMULATION [TEXT]: columns of history.md of this formulation; those with TEXT for the scene, too
  awk -F'|' -v f="$1" -v scene="${2:-none}" '/^\| `/ && NF > 6 { gsub(/[ `]/, "", $2); n = split($5, word, /[ ,]+/); has = 0
    for (i = 1; i <= n; ++i) has += word[i] == f
    if ($5 == " all " || has || index($5, scene)) print $2 }' "$pages/history.md"
}
run() { status 0 "$program" run "$here/$1.yaml" --out "$work/$1" --no-picture --threads 1 --steps "$2" --set output.checkpoint=0; }
columns() { # JOB FORMULATION [TEXT]
  header "$work/$1" >"$work/header"
  listed "$2" "${3:-}" >"$work/listed"
  [ -s "$work/listed" ] && cmp "$work/header" "$work/listed" || { diff "$work/header" "$work/listed"; fail "$1: columns of history.csv are not those of history.md"; }
  pass "$2: $(wc -l <"$work/header") columns, as in history.md"
}
# hybrid without sand: contact: coulomb, which reports all columns of hybrid
sed -e '/^  heap:/d' -e '/heap/d' -e '/sand:/d' "$here/hybrid.yaml" >"$work/solids.yaml"
status 0 "$program" run "$work/solids.yaml" --out "$work/solids" --no-picture --threads 1 --steps 3
columns solids hybrid
run hybrid 3
header "$work/hybrid" | grep -qE 'contact_law_error|friction_method|contact_candidates' && fail "contact: impulses reports columns of the contact law"
pass "contact: impulses has no columns of the contact law"
for job in small:penalty exact:exact monolith:monolith; do
  run "${job%:*}" 3
  columns "${job%:*}" "${job#*:}"
done
run materials 3
columns materials penalty "these materials"
awk -F, 'NR == 1 { for (i = 1; i <= NF; ++i) if ($i == "yield_overshoot") k = i } NR == 4 { exit !($k > 0) }' "$work/materials/history.csv" || fail "yield_overshoot is 0"

# friction_method: empty without a friction problem, then the number of a solver.
cat >"$work/fall.yaml" <<'YAML'
stickslip: 1
name: fall
formulation: exact
time: {end: 0.08, step: 2.0e-3}
materials: {wood: {model: rigid, density: 1000}}
bodies:
  cube: {kind: rigid, material: wood, shape: {box: {min: [-0.1, -0.1, 0.1], max: [0.1, 0.1, 0.3]}}, velocity: [0, 0, -2]}
  floor: {kind: static, shape: {plane: {normal: [0, 0, 1]}}}
contact: {friction: 0.4}
YAML
status 0 "$program" run "$work/fall.yaml" --out "$work/whole" --no-picture --threads 1
whole_column friction_method >"$work/method"
whole_column contact_candidates | paste -d, "$work/method" - >"$work/both"
awk -F, '($1 == "") != ($2 == 0) || $1 == "-1" { exit 1 } { n[$1 == ""]++ } END { exit !(n[0] > 3 && n[1] > 3) }' "$work/both" || { cat "$work/both"; fail "friction_method"; }
pass "friction_method is empty in steps without a friction problem"
status 0 "$program" run "$work/fall.yaml" --out "$work/part" --no-picture --threads 1 --steps 4
status 0 "$program" resume "$work/part" --no-picture --threads 1
[ "$(history_of "$work/whole")" = "$(history_of "$work/part")" ] || fail "a resumed history with empty cells differs"
pass "rows with empty cells survive a resume"

# A step in two substeps reports the sum or the maximum of what a run with half the step reports in two steps. A block of sand that flies
# by 1.5 cells per step needs the substeps, while a ball jumps on the floor.
cat >"$work/jump.yaml" <<'YAML'
stickslip: 1
name: jump
gravity: [0, 0, 0]
time: {end: 0.04, step: 2.0e-3}
materials:
  sand: {model: drucker_prager, density: 1600, youngs_modulus: 2.0e5, poisson_ratio: 0.3, friction_angle_deg: 30}
  dough: {model: von_mises, density: 1000, youngs_modulus: 1.0e5, poisson_ratio: 0.3, yield_stress: 2.0e3}
  steel: {model: rigid, density: 3000}
bodies:
  flight: {kind: mpm, material: sand, spacing: 0.04, shape: {box: {min: [1, 1, 1], max: [1.08, 1.08, 1.08]}}, velocity: [30, 0, 0]}
  ball: {kind: rigid, material: steel, shape: {sphere: {center: [0, 0, 0.0401], radius: 0.04}}, velocity: [0, 0, -1]}
  cake: {kind: mpm, material: dough, spacing: 0.04, shape: {box: {min: [0.4, 0.4, 0.4], max: [0.52, 0.52, 0.46]}}}
  stone: {kind: rigid, material: steel, shape: {sphere: {center: [0.46, 0.46, 0.505], radius: 0.04}}, velocity: [0, 0, -1]}
  floor: {kind: static, shape: {plane: {normal: [0, 0, 1]}}}
contact: {friction: 0.4, stiffness: 5.0e3}
YAML
status 0 "$program" run "$work/jump.yaml" --out "$work/whole" --no-picture --threads 1 --force
for c in retries penetration newton_iterations contacts yield_overshoot; do whole_column $c >"$work/$c"; done
paste "$work/retries" "$work/penetration" "$work/newton_iterations" "$work/contacts" "$work/yield_overshoot" >"$work/substeps"
status 0 "$program" run "$work/jump.yaml" --out "$work/whole" --no-picture --threads 1 --force --set time.step=1e-3
for c in penetration newton_iterations contacts yield_overshoot; do whole_column $c | paste - - >"$work/$c"; done
paste "$work/substeps" "$work/penetration" "$work/newton_iterations" "$work/contacts" "$work/yield_overshoot" >"$work/both"
awk 'function differs(x, a, b) { if (b > a) a = b; return (x - a) ^ 2 > 1e-16 * a * a }
  { n_retried += $1 == 1; n_deeper += $6 > $7; n_stronger += $12 > $13 }
  differs($2, $6, $7) || $3 != $8 + $9 || $4 != $11 || differs($5, $12, $13) { bad = 1 } END { exit bad || n_retried < 18 || n_deeper < 3 || n_stronger < 3 }' "$work/both" ||
  { cat "$work/both"; fail "substeps are not merged as history.md says"; }
pass "substeps: sum of iterations, deepest penetration, largest overshoot, last number of contacts"

# Fallbacks by cause: contact problems that are given one iteration are accepted above their tolerance, every one of them.
status 0 "$program" run "$here/exact.yaml" --out "$work/whole" --no-picture --threads 1 --force --steps 6 --set solver.friction.method=splitting --set solver.friction.max_iterations=1 \
  --set solver.friction.tolerance=1e-12 --set solver.exact.expert.friction_stall_tolerance=1e3 --set solver.newton.stall_tolerance=1e3
whole_column newton_iterations >"$work/iterations"
whole_column friction_unconverged | paste "$work/iterations" - | awk '$1 != $2 || $1 < 1 { bad = 1 } END { exit bad || NR != 6 }' || fail "exact: friction_unconverged is not the number of friction problems"
status 0 "$program" run "$here/materials.yaml" --out "$work/whole" --no-picture --threads 1 --force --steps 8 --set formulation=convex --set solver.convex.expert.max_iterations=1 \
  --set solver.convex.expert.stall_tolerance=1e6
whole_column contacts >"$work/contacts"
whole_column contact_unconverged | paste "$work/contacts" - | awk '($1 > 0) != ($2 > 0) { bad = 1 } { n += $2 } END { exit bad || n < 5 }' || fail "convex: contact_unconverged is not the number of contact problems"
pass "friction and contact problems accepted above their tolerance are counted"

# Every field of a checkpoint, and every file, is on its page.
for job in small exact hybrid monolith materials; do
  status 0 "$program" info "$work/$job"
  awk 'NR == FNR { if (/^## /) group = $2; else if (/^\| `/) { split($0, c, "`"); known[group, c[2]] = 1 } next }
    /^[a-z].*: [0-9]+ rows$/ { group = $0; sub(/: [0-9]+ rows$/, "", group); if (group ~ /^(bodies|state)\//) { n = split(group, part, "/"); group = part[1] "/NAME"; for (i = 3; i <= n; ++i) group = group "/" part[i] } }
    /^  [a-z]/ { ++n_fields; if (!((group, $1) in known)) { print group, $1; bad = 1 } } END { exit bad || n_fields < 20 }' "$pages/fields.md" "$work/out" >"$work/unknown" ||
    { cat "$work/unknown"; fail "$job: fields of the checkpoint are not in fields.md"; }
  for file in "$work/$job"/*; do grep -qE "^\| \`$(basename "$file")[/\`]" "$pages/files.md" || fail "$file is not in files.md"; done
done
pass "fields of checkpoints are in fields.md, files in files.md"

grep -qE '^memory +[0-9.]+ MB peak resident memory of the process, [0-9.]+ MB peak of tracked allocations$' "$work/exact/summary.txt" && grep -q '^peak_resident_memory: [0-9]' "$work/exact/result.yaml" ||
  fail "resident and tracked memory"
pass "resident and tracked memory have different names"
