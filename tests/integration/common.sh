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
