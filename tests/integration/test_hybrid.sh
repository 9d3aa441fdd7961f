# Formulation hybrid with every kind of body: 1 = 2 = 3 threads, resumed = uninterrupted, bit for bit; no surface penetrates another
# at the end of a step; the methods for comparison; rejected options.
. tests/integration/common.sh
job=$here/hybrid.yaml
runs_alike_on_threads "$job"
resumes_from_everywhere cut push
whole_column cone_violation | awk '$1 > 1e-12 { bad = 1 } END { exit bad }' || fail "an impulse leaves its cone"
pass "no impulse leaves its cone"
whole_column newton_iterations | awk '{ n += $1 } END { exit !(NR > 10 && n < 10 * NR) }' || fail "sand, or cloth beside it, takes Newton's method ten iterations a step: are tangents exact where they may be?"
pass "Newton's method makes use of exact tangents"
apart() { # RUN WHAT
  awk -F, 'NR > 1 && $3 != 0 { bad = 1 } END { exit bad || NR < 10 }' "$1/measure/cut.csv" || fail "$2: surfaces cut each other"
}
apart "$work/whole" "as it is" && pass "no surface is in another, by the exact test, in any step"
for options in "grid: {expert: {iterations: 0, resampling: false}}" "grid: {expert: {damps_sliding: false}}, momentum_correction: linear" \
  "impulses: {thickness: 0.01, expert: {stiffness: 100, iterations: 0}}" "expert: {prescribed_nodes: contact}"; do
  status 0 "$program" run "$job" --out "$work/other" --force --threads 1 --no-picture --steps 12 --set "solver.hybrid={$options}"
  apart "$work/other" "$options"
done
sed -e '/^  heap:/d' -e '/heap/d' -e '/sand:/d' "$job" >"$work/solids.yaml"
for options in "contact: impulses, grid: {transfer: none}" "contact: impulses, grid: {transfer: pic}"; do
  status 0 "$program" run "$work/solids.yaml" --out "$work/other" --force --threads 1 --no-picture --steps 20 --set "solver.hybrid={$options}"
  apart "$work/other" "$options"
done
pass "nor with other transfers, thicknesses, and zones from the start"
# Without sand the default is contact: coulomb.
rm -rf "$work"/whole "$work"/threads?
runs_alike_on_threads "$work/solids.yaml"
resumes_from_everywhere cut push
job=$here/hybrid.yaml
apart "$work/whole" "contact: coulomb" && pass "contact: coulomb: no surface is in another"
whole_column cone_violation | awk '$1 > 1e-12 { bad = 1 } END { exit bad }' || fail "contact: coulomb: friction exceeds its cone"
whole_column contact_law_error | awk '$1 > 1e-5 { bad = 1 } END { exit bad || NR < 10 }' || fail "contact: coulomb: the contact law is not satisfied"
pass "contact: coulomb: the laws of Signorini and Coulomb are satisfied in every step"
refuses() { # ASSIGNMENT PATH TEXT
  status 2 "$program" check "$job" --set "$1" && says "$2: " && says "$3" || fail "takes $1"
}
refuses solver.hybrid.grid.transfer=none solver.hybrid.grid.transfer "with surfaces requires augury"
refuses solver.hybrid.contact=coulomb solver.hybrid.contact "contact of bodies of kind mpm uses the grid"
refuses solver.hybrid.grid.spacing=0.03 solver.hybrid.grid.spacing "uses their own grid"
refuses mpm.expert.light_node_mass_fraction=0.1 mpm.expert.light_node_mass_fraction "contact cannot change the velocities of dependent nodes"
unused() { # ASSIGNMENT TEXT: another formulation uses the key
  status 0 "$program" check "$job" --set "$1" && says "notice: " && says "$2" || fail "does not report $1"
}
unused contact.stiffness=1e4 "contact.stiffness: not used by formulation hybrid"
unused contact.overlap_correction=0.1 "surfaces do not overlap"
unused solver.linear.restart=30 "solver.linear: not used by formulation hybrid, only by penalty"
unused output.fclib=1 "only formulation exact writes its contact problems"
refuses bodies.cube.contact_surface=level_set bodies.cube "contact_surface: mesh"
refuses "solver.hybrid={integrator: symplectic}" bodies.soft.damping "remove stiffness"
refuses "solver.hybrid.impulses={enabled: false, thickness: 1.0e-3}" solver.hybrid.impulses.thickness "has no effect when"
for key in "grid: {transfer: none}" "impulses: {expert: {stiffness: 100}}" "expert: {prescribed_nodes: contact}"; do
  status 2 "$program" check "$work/solids.yaml" --set "solver.hybrid={$key}" && says "has no effect with contact: coulomb" || fail "takes $key"
done
status 2 "$program" check "$work/solids.yaml" --set "solver.hybrid={contact: coulomb, integrator: symplectic}" && says "which integrator: symplectic does not support" &&
  pass "keys without effect on contact: coulomb are errors"
status 2 "$program" check "$job" --set "bodies.top.shape.box.min=[-0.03, -0.04, 0.1]" && says "top" && says "cube" ||
  fail "takes surfaces that cut each other"
status 0 "$program" check "$job" --set "bodies.top.shape.box.min=[-0.03, -0.04, 0.1]" --set contact.initial_overlap=permit &&
  pass "surfaces that cut each other as the run starts are refused, unless that is allowed"
status 0 "$program" check "$here/exact.yaml" --set solver.hybrid.expert.prescribed_nodes=contact && says "solver.hybrid: not used by formulation exact, only by hybrid" &&
  pass "keys of other formulations are reported as unused"
