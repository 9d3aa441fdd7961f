# Formulation exact with every kind of body: 1 = 2 = 3 threads, resumed = uninterrupted, bit for bit; contact problems that others can read.
. tests/integration/common.sh
job=$here/exact.yaml
runs_alike_on_threads "$job"
lies_in_nothing 1e-3
resumes_from_everywhere push

status 0 "$program" run "$job" --out "$work/dump" --threads 1 --no-picture --set output.fclib=10
[ "$(ls "$work/dump/fclib" | tr '\n' ' ')" = "step_000000010.hdf5 step_000000020.hdf5 step_000000030.hdf5 " ] || fail "fclib holds $(ls "$work/dump/fclib")"
status 0 "$program" diff "$work/whole" "$work/dump" && pass "writing contact problems changes nothing"
for file in "$work"/dump/fclib/*.hdf5; do
  status 0 "$program" friction "$file" --from-guess 0 && says "solved by" || fail "$file: its solution is none"
done
status 0 "$program" friction "$work"/dump/fclib/step_000000030.hdf5 --from-guess 0 --solver splitting --tol 2e-8 && says ", 0 iterations" && pass "what is written as a solution is one"
status 0 "$program" friction "$work"/dump/fclib/*.hdf5 && pass "and is found from nothing, too"
status 0 "$program" run "$job" --out "$work/dump" --threads 1 --no-picture --steps 5 --force
[ -z "$(ls "$work/dump/fclib")" ] || fail "not so: problems of the run before are gone"
pass "problems of the run before are gone"

# With no time for the solver, or with a zero tolerance for impulses, steps are halved up to the limit and the run reports the reason.
status 4 "$program" run "$job" --out "$work/failed" --no-picture --set solver.friction.max_iterations=1 --set solver.friction.method=splitting \
  --set solver.exact.expert.friction_stall_tolerance=0 --set time.retry.halvings=1
says "the friction solver did not converge" && grep -q "dt/2" "$work/failed/failure.txt" ||
  fail "not so: a failed solve is retried with half a step, then named"
pass "a failed solve is retried with half a step, then named"
status 0 "$program" check "$job" --set contact.stiffness=1 && says "contact.stiffness: not used by formulation exact: contact is rigid" && pass "a stiffness is reported as unused"

# In this wall one solver follows another in most steps. The history states the one that found the solution: never `automatic` (6), not
# always the first, splitting (0).
status 0 "$program" run validation/cases/C06-exact/case.yaml --out "$work/wall" --no-picture --threads 1 --steps 5
awk -F, 'NR == 1 { for (i = 1; i <= NF; ++i) column[$i] = i; next }
  $column["friction_iterations"] > 0 { ++n; m = $column["friction_method"]; n_known += m != "" && m >= 0 && m < 6; n_later += m > 0 }
  END { exit !(n == 5 && n_known == 5 && n_later > 0) }' "$work/wall/history.csv" ||
  fail "friction_method is not the number of the solver in each step with friction iterations"
pass "the history states the friction solver of every step"
