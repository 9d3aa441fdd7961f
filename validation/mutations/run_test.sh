#!/bin/sh
# Runs one test of `make mutation-tests` with the shared library in a folder: sh validation/mutations/run_test.sh TEST FOLDER SECONDS
#   TEST     unit test (contact/test_fibre_scene), integration test (test_exact), or full name of a validation case
#   SECONDS  limit of the CPU time of each process; the wall time is limited to ten times this value plus a minute
# Called by validation/mutations.sh and validation/mutations/coverage.sh in the root of a tree.
export LD_LIBRARY_PATH="$(pwd)/$2"
ulimit -t "$3"
wall=$((10 * $3 + 60))
case $1 in
*/test_*) exec timeout -k 5 $wall "build/release/mutation/$1" ;;
test_*) B=build/release/mutation exec timeout -k 5 $wall sh "tests/integration/$1.sh" ;;
*) exec timeout -k 5 $wall build/release/mutation/validate --program build/release/mutation/stickslip --cases validation/cases --out build/validation "$1" ;;
esac
