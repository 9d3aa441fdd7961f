# Options of PETSc: those of a job and of the command line are checked before any file is written and recorded in the resolved job;
# options from other sources have no effect.
. tests/integration/common.sh
cd "$work" || exit 1
job=$here/small.yaml
run="--threads 1 --no-picture --steps 2"
with() { # OPTIONS of solver.petsc, one per line: the job with.yaml
  { cat "$job"; echo "solver:"; echo "  petsc:"; printf -- "$1" | sed 's/^/    /'; echo; } >with.yaml
}
n=$(wc -l <"$job")
rejected() { # LINE:COLUMN TEXT...
  place=with.yaml:$((n + 2 + ${1%%:*})):${1#*:}
  shift
  for command in "check" "run --out never"; do
    status 2 "$program" $command with.yaml
    says "$place: solver.petsc: $1"
    says "$2"
  done
  [ ! -e never ] || fail "a rejected job has left files"
  pass "rejected at $place: $1"
}

with 'penalty_ksp_typ: fgmres';        rejected 1:5 'penalty_ksp_typ: no solver of formulation penalty reads this option' 'did you mean "penalty_ksp_type"'
with 'ksp_monitor:';                   rejected 1:5 'ksp_monitor: no solver of formulation penalty reads this option' 'did you mean "penalty_ksp_monitor"'
with 'penalty_ksp_rtol: 1e-3\npenalty_pc_metisschwarz_overlap: 2'; rejected 2:5 'penalty_pc_metisschwarz_overlap: no solver' 'remove it'
with 'penalty_ksp_monitor:\npenalty_pc_type: lu'; rejected 2:5 'penalty_pc_type: PETSc does not accept "lu"' 'matrix type shell'
with 'penalty: {ksp_max_it: many}';    rejected 1:15 'penalty_ksp_max_it: PETSc does not accept "many"' 'no integer value'
with 'penalty_ksp_type: no_such';      rejected 1:5 'penalty_ksp_type: PETSc does not accept "no_such"' 'Unable to find requested KSP type'
with 'penalty_snes_type: newtonls';    rejected 1:5 'penalty_snes_type: PETSc does not accept "newtonls"' 'supports only SNES type stabilized'
with 'penalty_ksp_type: fgmres\npenalty: {ksp_type: bcgs}'; rejected 2:15 'penalty_ksp_type: is given twice' 'remove one'
with '-penalty_ksp_type: fgmres';      rejected 1:5 '-penalty_ksp_type: write the option without its dash' ''
with 'penalty_ksp_type: [gmres]';      rejected 1:5 'penalty_ksp_type: expected a number, a word or nothing' ''
for f in exact hybrid monolith; do
  status 2 "$program" check "$here/$f.yaml" --set 'solver.petsc={penalty_ksp_rtol: 1e-3}' && says "penalty_ksp_rtol: no solver of formulation $f reads this option"
done
pass "options for another formulation are errors"

# Of two wrong options, both are reported; a case of a sweep is checked like a job.
with 'penalty_ksp_typ: fgmres\npenalty_pc_type: lu'
status 2 "$program" check with.yaml && says penalty_ksp_typ: && says penalty_pc_type: && pass "all wrong options are reported"
cat >sweep.yaml <<END
sweep: 1
name: types
base: $job
vary: {type: [fgmres, no_such]}
set: {solver.petsc.penalty_ksp_type: type}
END
"$program" sweep sweep.yaml --out types --local >"$work/out" 2>&1; got=$?
[ $got = 2 ] || { cat "$work/out"; fail "a sweep with a wrong option: exit $got instead of 2"; }
says 'PETSc does not accept "no_such"' && pass "the cases of a sweep are checked"

# Monitors, views and reports at the end of the program are valid. check writes no file that a monitor names.
with 'penalty_ksp_monitor:\npenalty_snes_view:\npenalty_ksp_view: ":view.txt"\nlog_view:\noptions_left:'
status 0 "$program" check with.yaml
[ ! -e view.txt ] || fail "check has written the file of a view"
status 0 "$program" run with.yaml --out shown $run
says "Residual norms for penalty_ solve" && says "SNES Object: (penalty_)" && says "There are no unused options" && says "PETSc Performance Summary"
grep -q "KSP Object: (penalty_)" view.txt && pass "monitors and views work and count as used"

# The command line: recorded in the run, repeated by resume.
status 0 "$program" run "$job" --out plain $run
status 0 "$program" run "$job" --out given $run -penalty_ksp_rtol 1e-9
grep -q 'penalty_ksp_rtol: *"*1e-9' given/job.yaml || fail "job.yaml does not contain the option of the command line"
[ "$(history_of plain)" != "$(history_of given)" ] || fail "the option had no effect"
status 0 "$program" resume given $run
status 0 "$program" run "$job" --out whole --threads 1 --no-picture --steps 4 -penalty_ksp_rtol 1e-9
status 0 "$program" diff whole given
[ "$(history_of whole)" = "$(history_of given)" ] || fail "resume does not repeat the options of run"
status 2 "$program" run "$job" --out never -penalty_ksp_rtl 1e-9 && says 'did you mean "penalty_ksp_rtol"'
status 2 "$program" info plain -penalty_ksp_rtol 1e-9 && says "unknown option -penalty_ksp_rtol"
pass "options of the command line are checked, recorded and repeated"

# Other sources: ignored, with a warning for each.
mkdir -p home && echo "-penalty_ksp_rtol 1e-9" | tee home/.petscrc .petscrc >petscrc
status 0 env HOME="$work/home" PETSC_OPTIONS="-penalty_ksp_rtol 1e-9" PETSC_OPTIONS_YAML="penalty_ksp_rtol: 1e-9" "$program" run "$job" --out outside $run
for from in "variable PETSC_OPTIONS is" "variable PETSC_OPTIONS_YAML is" "$work/home/.petscrc is" "file .petscrc is" "file petscrc is"; do says "$from ignored"; done
[ "$(history_of plain)" = "$(history_of outside)" ] || fail "options from outside the job have changed the results"
pass "files and environment variables of PETSc have no effect"

# The command friction has no job: options that nothing reads are reported after the solve.
status 0 "$program" run "$here/exact.yaml" --out dump --threads 1 --no-picture --steps 12 --set output.fclib=1
file=$(ls dump/*/*.hdf5 dump/*.hdf5 2>/dev/null | grep -v -e checkpoint -e frame | head -1)
[ -n "$file" ] || fail "the run has exported no contact problem"
"$program" friction "$file" --solver newton -friction_lu_type umfpack -friction_lu_typ mumps >"$work/out" 2>&1
says "option -friction_lu_typ: no solver has read it" && ! grep -q "option -friction_lu_type:" "$work/out" || fail "friction: unread options"
pass "friction reports options that no solver has read"

# Every formulation: the solver of each prefix has a monitor, a view, and other types. A Krylov method in the place of the default
# changes the iterations but not the solution.
root=$here/../..
also='' # a further --set of all runs
every() { # JOB PREFIX TYPE...: options for another method, then what its view says
  name=$1; prefix=$2; type=$3; shift 3
  status 0 "$program" run "$name" --out "default" $run --force $also
  status 0 "$program" run "$name" --out "changed" $run --force $also --set "solver.petsc={${prefix}ksp_monitor: , ${prefix}ksp_view: , ${prefix}ksp_type: $type, ${prefix}ksp_rtol: 1e-13, options_left: }" "$@"
  says "Residual norms for $prefix solve" && says "KSP Residual norm" && says "KSP Object: ($prefix)" && says "type: $type" && says "There are no unused options"
  status 0 "$program" run "$name" --out "shown" $run --force $also --set "solver.petsc={${prefix}ksp_monitor: , ${prefix}ksp_view: }"
  says "Residual norms for $prefix solve"
  grep -q "^  *type: $type\$" "$work/out" && fail "$prefix: $type is the default"
  status 0 "$program" diff default shown
  awk -F, 'FNR == 1 { next } NR == FNR { x[FNR] = $4; next } { if ($4 - x[FNR] > 1e-3 * x[FNR] || x[FNR] - $4 > 1e-3 * x[FNR]) exit 1 }' default/history.csv changed/history.csv || fail "$prefix: $type changes the solution"
  pass "$prefix: monitor, view and type $type"
}
every "$job" penalty_ fgmres
every "$root/jobs/convex/ball_slope.yaml" convex_motion_ cg
# without a tolerance rigid scenes are solved by sweeps, which have no linear systems
also='--set solver.convex.tolerance=1e-10'
every "$root/jobs/convex/ball_slope.yaml" convex_contact_ cg
also=''
every "$root/jobs/hybrid/two_blocks.yaml" hybrid_motion_ cg
every "$here/exact.yaml" exact_motion_ cg
also='--set solver.friction.tolerance=1e-8'
every "$root/jobs/exact/arch_thin.yaml" exact_contact_ gmres
every "$here/monolith.yaml" monolith_pressure_ cg
every "$here/monolith.yaml" monolith_contact_ cg
status 0 "$program" run "$here/exact.yaml" --out lu $run --set solver.petsc.exact_motion_pc_type=lu
status 0 "$program" run "$here/monolith.yaml" --out jacobi $run --set 'solver.petsc={monolith_pressure_ksp_type: cg, monolith_pressure_pc_type: jacobi}'
pass "preconditioners of PETSc"
status 2 "$program" check "$here/monolith.yaml" --set solver.petsc.monolith_stress_ksp_type=cg && says "monolith_stress_ksp_type: no solver"
status 2 "$program" check "$root/jobs/convex/ball_slope.yaml" --set solver.petsc.convex_motion_pc_type=lu && says "convex_motion_pc_type: PETSc does not accept"
status 2 "$program" check "$here/exact.yaml" -exact_motion_ksp_initial_guess_nonzero && says "the initial guess of each solve with prefix exact_motion_ is 0"
status 0 "$program" check "$root/jobs/convex/ball_slope.yaml" --set solver.petsc.convex_motion_pc_type=lu --set solver.convex.expert.linear=direct
pass "options of systems that the job does not solve, or not by entries, are errors"
echo "$count passed"
