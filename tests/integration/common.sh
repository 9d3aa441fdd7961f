# Sourced by every integration test: a scratch folder that goes away, the program, and checks that stop with a message.
set -u
program=$(pwd)/${B:-build/release}/stickslip
here=$(pwd)/tests/integration
work=$(mktemp -d "${TMPDIR:-/tmp}/stickslip-test.XXXXXX")
trap 'rm -rf "$work"' EXIT
count=0
fail() { echo "[  FAILED  ] $*"; exit 1; }
pass() { count=$((count + 1)); echo "[       OK ] $*"; }
# status EXPECTED command...: runs it, output to $work/out
status() {
  expected=$1; shift
  "$@" >"$work/out" 2>&1; got=$?
  [ "$got" = "$expected" ] || { cat "$work/out"; fail "exit $got instead of $expected: $*"; }
}
says() { grep -qF -- "$1" "$work/out" || { cat "$work/out"; fail "does not say: $1"; }; }
# The history without its last column (seconds), which no two runs share.
history_of() { sed 's/,[^,]*$//' "$1/history.csv"; }
# The run of JOB with these arguments, to $work/whole: 1 = 2 = 3 threads bit for bit.
runs_alike_on_threads() { # JOB [ARGUMENT...]
  job=$1; shift
  status 0 "$program" run "$job" --out "$work/whole" --threads 1 --no-picture "$@"
  for n in 2 3; do
    status 0 "$program" run "$job" --out "$work/threads$n" --threads $n --no-picture "$@"
    status 0 "$program" diff "$work/whole" "$work/threads$n"
    [ "$(history_of "$work/whole")" = "$(history_of "$work/threads$n")" ] || fail "histories differ between 1 and $n threads"
    pass "1 and $n threads agree bit for bit, state and history"
  done
}
# NAME: a column of the history of that run, without its head
whole_column() {
  awk -F, -v name="$1" 'NR == 1 { for (i = 1; i <= NF; ++i) { sub(/ .*/, "", $i); if ($i == name) k = i } next } { print k ? $k : "no column" }' \
    "$work/whole/history.csv"
}
# No contact of that run is deeper than this [m].
lies_in_nothing() { # DEPTH
  whole_column penetration | awk -v most="$1" '$1 > most { print "step " NR " lies " $1 " m deep"; bad = 1 } END { exit bad }' ||
    fail "something lies deeper than $1 m in something else"
  pass "nothing lies deeper than $1 m in anything"
}
# That run, resumed from each of its checkpoints, with these of its measures: nothing changes.
resumes_from_everywhere() { # [MEASURE...]
  for checkpoint in "$work"/whole/checkpoints/*.h5; do
    rm -rf "$work/part"; cp -r "$work/whole" "$work/part"
    for later in "$work"/part/checkpoints/*.h5; do [ "$(basename "$later")" \> "$(basename "$checkpoint")" ] && rm "$later"; done
    status 0 "$program" resume "$work/part" --threads 1 --no-picture
    status 0 "$program" diff "$work/whole" "$work/part"
    [ "$(history_of "$work/whole")" = "$(history_of "$work/part")" ] || fail "history differs after resuming $(basename "$checkpoint")"
    for m in "$@"; do cmp -s "$work/whole/measure/$m.csv" "$work/part/measure/$m.csv" || fail "measure $m differs after resuming $(basename "$checkpoint")"; done
    pass "resumed from $(basename "$checkpoint") equals the uninterrupted run"
  done
}
