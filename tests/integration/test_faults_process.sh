# Faults of a process: out of memory, a second process in its directory, changes of the clock, signals of a batch system, closed streams.
# Also failed steps and invalid numbers.
. tests/integration/common.sh
job=$here/small.yaml
profile=$(basename "${B:-build/release}")
export OMP_NUM_THREADS=1
run="--quiet --no-picture"
status 0 "$program" run "$job" --out "$work/whole" $run

# ---- memory ------------------------------------------------------------------------------------------------------------
# with N command...: at most N kB of address space
with() { (ulimit -v "$1"; shift; exec "$@"); }
if with 4000000 true 2>/dev/null && [ "$profile" != asan ] && [ "$profile" != tsan ]; then # sanitizers map terabytes
  status 3 with 280000 "$program" run "$job" --out "$work/none" $run && says "out of memory: the program needs"
  status 3 with 700000 "$program" run "$job" --out "$work/huge" $run --set bodies.bed.spacing=0.001
  says "out of memory:" && says "requested" && says "use a smaller scene or a larger machine"
  pass "too little memory to start: code 3, and the message names the request and its size"

  # A scene that grows until memory runs out, each time with a little more of it.
  cat >"$work/pour.yaml" <<'J'
stickslip: 1
name: poured
gravity: [0, 0, 0]
time: {end: 0.018, step: 1.0e-3}
materials:
  rubber: {model: fixed_corotated, density: 1000, youngs_modulus: 1.0e4, poisson_ratio: 0.3}
bodies:
  cloud: {kind: mpm, material: rubber, spacing: 0.05, particles_per_cell: 50, velocity: [0, 0, -40], shape: {box: {min: [-0.4, -0.4, 0], max: [0.4, 0.4, 0.15]}}, pour: {end: 1, every: 0.005}}
output: {checkpoint: 0.003, keep: 3, checkpoint_wall: 0}
J
  status 0 "$program" run "$work/pour.yaml" --out "$work/poured" $run
  went=0 limit=330000 got=3
  while [ $got != 0 ] && [ $limit -lt 1200000 ]; do
    rm -rf "$work/r"
    with $limit "$program" run "$work/pour.yaml" --out "$work/r" $run >"$work/out" 2>&1; got=$?
    case $got in
    0) ;;
    3)
      says "out of memory"
      grep -q "the program needs" "$work/out" || says "use a smaller scene or a larger machine"
      if [ -n "$(ls "$work/r/checkpoints/"*.h5 2>/dev/null)" ]; then
        went=$((went + 1))
        if [ $((went % 2)) = 1 ]; then
          status 0 "$program" resume "$work/r" $run
          status 0 "$program" diff "$work/poured" "$work/r"
          got=3
        fi
      fi ;;
    *) cat "$work/out"; fail "exit $got with $limit kB of memory" ;;
    esac
    limit=$((limit + 25000))
  done
  [ $got = 0 ] && [ $went -gt 0 ] || fail "memory ran out under way $went times"
  pass "memory that runs out under way ($went limits tried): code 3, resumed with more of it to the same end"
else echo "no limit on memory here: running out of it is not tried"; fi

# ---- stacks ------------------------------------------------------------------------------------------------------------
if [ "$profile" != asan ] && [ "$profile" != tsan ]; then
  status 3 sh -c "ulimit -s 128; exec '$program' run '$job' --out '$work/stack' $run"
  says "the stack of 128 kB is too small" && says "ulimit -s 8192"
  status 0 sh -c "ulimit -S -s 128 && exec '$program' run '$job' --out '$work/stack' $run --threads 2"
  status 0 "$program" diff "$work/whole" "$work/stack"
  for size in 64K 65536B 100; do status 3 env OMP_STACKSIZE=$size "$program" run "$job" --out "$work/none" $run --threads 2; says "OMP_STACKSIZE=$size is too small" && says "8M"; done
  status 0 env OMP_STACKSIZE=1M "$program" run "$job" --out "$work/stack" $run --threads 2 --force
  [ ! -e "$work/none" ] || fail "a run that cannot start has made a directory"
  pass "stacks that are too small: code 3 with the remedy; a soft limit is raised"
fi

# ---- a crash -----------------------------------------------------------------------------------------------------------
if [ "$profile" != asan ] && [ "$profile" != tsan ]; then # which take crashes themselves
  "$program" run "$job" --out "$work/crash" $run --set output.checkpoint_wall=1e-9 >"$work/out" 2>&1 &
  for _ in $(seq 200); do [ -n "$(ls "$work/crash/checkpoints/"*.h5 2>/dev/null)" ] && break; sleep 0.05; done
  kill -SEGV $!; wait $!; got=$?
  [ $got = 139 ] || { cat "$work/out"; fail "exit $got instead of 139 after a crash"; }
  says "crashed (signal 11)"
  status 0 "$program" resume "$work/crash" $run
  status 0 "$program" diff "$work/whole" "$work/crash"
  pass "a crash is said, ends the process at once, and costs the steps since the last checkpoint"
fi

# ---- other processes in the directory ----------------------------------------------------------------------------------
status 0 "$program" run "$job" --out "$work/crowd" $run --steps 3
pids=
for i in 1 2 3 4 5; do
  "$program" resume "$work/crowd" $run >"$work/crowd$i" 2>&1 &
  pids="$pids $!"
done
won=0
for pid in $pids; do
  wait "$pid"; got=$?
  [ $got = 0 ] || [ $got = 3 ] || fail "one of several in a directory left with $got"
  [ $got = 0 ] && won=$((won + 1))
done
[ $won -gt 0 ] || fail "none of several in a directory got through"
status 0 "$program" diff "$work/whole" "$work/crowd"
[ "$(history_of "$work/whole")" = "$(history_of "$work/crowd")" ] || fail "several in a directory spoilt the history"
pass "five processes resume one directory: one at a time, the others are refused, and nothing is spoilt"

"$program" run "$job" --out "$work/busy" --set time.end=100 --no-picture >/dev/null 2>&1 &
pid=$!
until [ -e "$work/busy/checkpoints/checkpoint_000000010.h5" ]; do sleep 0.02; done
status 3 "$program" run "$job" --out "$work/busy" $run --force && says "$pid"
status 3 "$program" resume "$work/busy" $run && says "$pid"
kill -KILL $pid; wait $pid 2>/dev/null
status 0 "$program" info "$work/busy"
status 0 "$program" resume "$work/busy" $run --steps 1 && pass "--force does not start over where another runs; once that is killed the directory is free"

# ---- a batch system that loses patience --------------------------------------------------------------------------------
status 0 "$program" run "$job" --out "$work/slow" $run --steps 3
"$program" resume "$work/slow" --no-picture --set solver.linear.max_iterations=100000 -penalty_ksp_type richardson -penalty_ksp_richardson_scale 1e-9 -penalty_ksp_pc_side left >"$work/out" 2>&1 &
pid=$!
until grep -q resumed "$work/out"; do sleep 0.02; done
sleep 0.5; kill -TERM $pid; sleep 0.2; kill -KILL $pid; wait $pid; got=$?
[ $got = 137 ] || [ $got = 75 ] || fail "a step that takes for ever: exit $got" # 75: TERM came before it began
status 0 "$program" resume "$work/slow" $run
status 0 "$program" diff "$work/whole" "$work/slow" && pass "TERM, and KILL before the step is done: the last checkpoint goes on"

# ---- streams -----------------------------------------------------------------------------------------------------------
{ "$program" run "$job" --out "$work/pipe" --no-picture 2>&1; echo $? >"$work/code"; } | true
i=0
until [ -s "$work/code" ] || [ $i -gt 600 ]; do sleep 0.1; i=$((i + 1)); done # the reader has gone: the run is on its own
[ "$(cat "$work/code")" = 0 ] || fail "a log pipe whose reader has gone: exit $(cat "$work/code")"
status 0 "$program" diff "$work/whole" "$work/pipe" && pass "a log pipe whose reader has gone: the run goes on"
"$program" run "$job" --out "$work/closed" --no-picture <&- >&- 2>&-; got=$?
[ $got = 0 ] || fail "closed streams: exit $got"
status 0 "$program" diff "$work/whole" "$work/closed"
! grep -rqa --exclude=log.txt "results in" "$work/closed" || fail "the log went into a file of the run"
pass "closed standard streams: the log goes nowhere, least of all into a checkpoint"

# ---- clocks ------------------------------------------------------------------------------------------------------------
cat >"$work/clock.c" <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
/* The clock of the day jumps by CLOCK_JUMP seconds every 0.2 s; the one that only goes on does not. */
static time_t jump(void)
{
  static struct timespec begun;
  struct timespec        now;
  int (*real)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
  real(CLOCK_MONOTONIC, &now);
  if (!begun.tv_sec) begun = now;
  return (time_t)(((now.tv_sec - begun.tv_sec) * 10 + (now.tv_nsec - begun.tv_nsec) / 100000000) / 2) * atol(getenv("CLOCK_JUMP"));
}
int clock_gettime(clockid_t id, struct timespec *t)
{
  int (*real)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
  const int result = real(id, t);
  if (id == CLOCK_REALTIME) t->tv_sec += jump();
  return result;
}
time_t time(time_t *t)
{
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (t) *t = now.tv_sec;
  return now.tv_sec;
}
int gettimeofday(struct timeval *restrict t, void *restrict zone)
{
  struct timespec now;
  (void)zone;
  clock_gettime(CLOCK_REALTIME, &now);
  t->tv_sec = now.tv_sec, t->tv_usec = now.tv_nsec / 1000;
  return 0;
}
C
if [ "$profile" != asan ] && [ "$profile" != tsan ] && ${CC:-cc} -shared -fPIC -o "$work/clock.so" "$work/clock.c" -ldl 2>/dev/null; then
  long="--set time.end=0.6 --set output.checkpoint=0 --set output.keep=1000"
  for jump in 86400 -86400; do
    # The monotonic clock never makes it due, however far the system time jumps.
    status 0 env LD_PRELOAD="$work/clock.so" CLOCK_JUMP=$jump "$program" run "$job" --out "$work/jump" $long --set output.checkpoint_wall=1000 --no-picture
    [ "$(sed -n 's/^\([0-9-]*\) .*/\1/p' "$work/out" | sort -u | wc -l)" -gt 1 ] || { cat "$work/out"; fail "the clock did not jump"; }
    [ "$(ls "$work/jump/checkpoints" | wc -l)" = 1 ] || fail "a clock that jumps by $jump s made checkpoints: $(ls "$work/jump/checkpoints")"
    status 0 env LD_PRELOAD="$work/clock.so" CLOCK_JUMP=$jump "$program" run "$job" --out "$work/often" $long --set output.checkpoint_wall=0.1 --no-picture --quiet
    [ "$(ls "$work/often/checkpoints" | wc -l)" -gt 2 ] || fail "a clock that jumps by $jump s kept checkpoints from being written"
    status 0 "$program" diff "$work/jump" "$work/often"
    rm -rf "$work/jump" "$work/often"
    pass "a clock that jumps by $jump s again and again: checkpoints come when they are due, not else"
  done
  rm -rf "$work/r"; cp -r "$work/busy" "$work/r"
  status 0 env LD_PRELOAD="$work/clock.so" CLOCK_JUMP=-86400 "$program" resume "$work/r" $run --steps 2 && pass "files from the future are no obstacle"
else echo "no compiler for a clock that jumps: not tried"; fi

# ---- steps that fail, numbers that are none ----------------------------------------------------------------------------
status 4 "$program" run "$job" --out "$work/far" $run --set 'bodies.bed.velocity=[0, 0, 30]' --set 'contact.pairs=[{between: [pad, bed], contact: false}]' --set time.end=0.01 --set time.retry.halvings=0
[ -s "$work/far/failure.txt" ] && [ -s "$work/far/checkpoints/checkpoint_000000000.h5" ] || fail "no failure.txt, or no checkpoint before the step"
status 4 "$program" resume "$work/far" $run && says "resume"
status 0 "$program" resume "$work/far" $run --set time.step=5.0e-4
[ ! -e "$work/far/failure.txt" ] || fail "failure.txt outlived its failure"
pass "a step that fails for good: code 4, failure.txt, a checkpoint before it; a smaller step goes on"
for set in time.step=.nan time.end=.inf 'gravity=[0, nan, 0]' 'bodies.bed.velocity=[.nan, 0, 0]' contact.stiffness=.inf materials.sand.density=NaN contact.friction=-.inf; do
  status 2 "$program" run "$job" --out "$work/nan" $run --set "$set" && says "it must be finite" && says "${set%%=*}"
done
[ ! -e "$work/nan" ] || fail "a refused job left something"
pass "numbers that are none: code 2, by key, nothing written"
