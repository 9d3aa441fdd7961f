#!/bin/sh
# Runs the unit tests and the integration tests of the profile in $B, quietly; prints failures whole and ends with
# "N passed, N failed". ONLY=name runs what matches; JOBS=n tests at a time (default: processors); BUILD=make builds each
# layer before its tests (`make test`); without it everything must have been built.
B=${B:-build/release} JOBS=${JOBS:-$(env -u OMP_NUM_THREADS nproc)}
export B
export GOMP_SPINCOUNT=1000 # other work may share the cores
# One thread per test where several tests run at a time, which takes less time than more threads each. Tests of threads set their number.
[ "$JOBS" = 1 ] || export OMP_NUM_THREADS="${OMP_NUM_THREADS:-1}"
# The tests count their own blocks; what MPI leaves behind at the end is not ours.
export ASAN_OPTIONS="${ASAN_OPTIONS:-detect_leaks=0}"
# Archer tells ThreadSanitizer what OpenMP orders; PETSc and MPI were built without its marks.
export TSAN_OPTIONS="${TSAN_OPTIONS:-ignore_noninstrumented_modules=1}" OMP_TOOL_LIBRARIES="${OMP_TOOL_LIBRARIES:-libarcher.so}"
passed=0 failed=0 skipped=0
logs=$(mktemp -d)
# log command...: runs it with its output in the log, and its user and system time in log.time
timed() { (log=$1; shift; "$@" >"$log" 2>&1; code=$?; times >"$log.part"; mv "$log.part" "$log.time"; exit $code); }
seconds() { awk 'NR == 2 { for (i = 1; i <= 2; ++i) { split($i, t, "m"); sum += 60 * t[1] + t[2] } printf "%.1f", sum }' "$1.time"; }
report() { # name status log
  case $2 in
  0) n=$(grep -c '^\[       OK \]' "$3"); [ "$n" -gt 0 ] || n=1; passed=$((passed + n)); printf 'ok    %-44s %3s %8s s of CPU time\n' "$1" "$n" "$(seconds "$3")" ;;
  77) skipped=$((skipped + 1)); printf 'skip  %-44s %s\n' "$1" "$(tail -n 1 "$3")" ;;
  *) n=$(grep -c '^\[  FAILED  \] [0-9]* test' "$3"); bad=$(sed -n 's/^\[  FAILED  \] \([0-9]*\) test.*/\1/p' "$3" | head -n 1); [ -n "$bad" ] || bad=1
     good=$(grep -c '^\[       OK \]' "$3"); passed=$((passed + good)); failed=$((failed + bad))
     printf 'FAIL  %s (status %s)\n' "$1" "$2"; grep -vE '^\[ (RUN|      OK) ' "$3" | tail -n 60 ;;
  esac
}
wanted() { case $1 in *"${ONLY:-}"*) true ;; *) false ;; esac; }
log_of() { echo "$logs/$(echo "$1" | tr / _)"; } # name
run_all() { # unit|integration, names: JOBS at a time, reported as they end
  kind=$1 running= n_running=0; shift
  while [ $# -gt 0 ] || [ $n_running -gt 0 ]; do
    while [ $# -gt 0 ] && [ $n_running -lt "$JOBS" ]; do
      case $kind in unit) timed "$(log_of "$1")" "$B/unit/$1" & ;; *) timed "$(log_of "$1")" sh "tests/integration/$1" & ;; esac
      running="$running $!:$1" n_running=$((n_running + 1)); shift
    done
    ended=
    for r in $running; do [ ! -e "$(log_of "${r#*:}").time" ] || ended="$ended $r"; done
    for r in $ended; do finish "${r%%:*}" "${r#*:}"; running=$(echo "$running" | sed "s|$r||") n_running=$((n_running - 1)); done
    [ -n "$ended" ] || sleep 0.05
  done
}
finish() { wait "$1"; report "$2" $? "$(log_of "$2")"; rm -f "$(log_of "$2")" "$(log_of "$2").time"; } # pid name
build() { [ -z "${BUILD:-}" ] || $BUILD "$@" || { failed=$((failed + 1)); echo "FAIL  make $*"; false; }; }
progress() { echo "== $1: $passed passed, $failed failed after $(($(date +%s) - start)) s"; }
# The slowest tests, slowest first. They start first, so that no long test runs alone at the end.
SLOW="sim/test_hybrid sim/test_convex_linear sim/test_convex sim/test_penalty discretize/test_mac_system geometry/test_shape contact/test_augury
  optim/test_friction_enumeration geometry/test_tet_mesh_stuffing geometry/test_convex_overlap optim/test_granular_threads contact/test_augury_near
  contact/test_fibre_contact geometry/test_level_set_contour sim/test_step_contacts_fast_bodies geometry/test_convex_solid app/test_report_run
  test_sweep_slurm.sh test_quality.sh test_sweep_run.sh test_install.sh test_convex.sh test_matrix.sh test_jobs.sh"
slow_first() { # names
  for t in $SLOW; do case " $* " in *" $t "*) echo "$t" ;; esac; done
  for t; do case " $(echo $SLOW) " in *" $t "*) ;; *) echo "$t" ;; esac; done
}
# Layers from the bottom to the top, each built before its tests run; without BUILD all at once. LAST: tests that need the uppermost layer.
start=$(date +%s) chosen=
for layer in core io geometry optim discretize contact sim app; do
  tests=
  for t in tests/unit/$layer/test_*.c; do
    name=$layer/$(basename "$t" .c)
    case " ${LAST:-} " in *" $name "*) continue ;; esac
    tests="$tests $name"
  done
  [ $layer != app ] || tests="$tests ${LAST:-}"
  for name in $tests; do ! wanted "$B/unit/$name" || chosen="$chosen $name"; done
  [ -n "$chosen" ] || continue
  [ -n "${BUILD:-}" ] || [ $layer = app ] || continue
  build unit-$layer || break
  run_all unit $(slow_first $chosen)
  progress "unit tests up to $layer"
  chosen=
done
chosen=
for t in tests/integration/test_*.sh; do ! wanted "$t" || chosen="$chosen $(basename "$t")"; done
if [ -n "$chosen" ] && build integration; then
  run_all integration $(slow_first $chosen)
  progress "integration tests"
fi
rm -rf "$logs"
[ "$skipped" = 0 ] || echo "$skipped skipped"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
