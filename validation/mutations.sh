#!/bin/sh
# Quality of the tests: applies random mutations of one token (operators, signs, constants, indices, comparisons, minimum and maximum; see
# mutations/candidates.awk) to the numerical code, one at a time, and runs the related tests.
#   sh validation/mutations.sh [-n NUMBER] [-s SEED] [-d FOLDER...] [-j JOBS] [-o TABLE] [-t SECONDS] [-u] [-l]
#     -n  number of mutations (40)          -d  folders of src, separated by blanks ("contact optim discretize"), or paths such as contact/fibre
#     -s  seed of the random choice (1)     -j  mutations tested at a time, each in its own copy of the tree (1)
#     -u  unit tests only                   -t  limit of the CPU time of a test [s]; longer tests are not used (60)
#     -o  table of results (validation/mutations/table.csv); mutations that are in it already are not tested again
#     -l  only list the chosen mutations
# Choice: mutations with the smallest hash values of seed and text of the line (mutations/choose.awk). Code changes elsewhere do not change it.
# Method: tests and program are linked with the shared library (`make mutation-tests`). A mutated file becomes a small library of its own, whose
# symbols precede those of the complete one, so that a mutation compiles one file. The related unit tests run first: those named after the file, those
# that include its header, those that include a header of its folder (directly or through tests/unit/*.h), those that include its header through
# another header. Then the integration tests of mutations/integration run. The first failure ends the mutation. A test kills a mutation if it passes
# without it, and with it fails or takes five times as long.
# Results: killed by TEST; survived; survived unit tests (-u; a later call without -u runs the integration tests); equivalent (identical object code);
# did not compile. Classes of survivors are a manual decision: mutations/classified.csv records them.
set -u
LIMIT=60 is_unit_only=
n=40 seed=1 folders="contact optim discretize" jobs=1 table=validation/mutations/table.csv is_list=
usage() { sed -n '4,8s/^# *//p' "$0" >&2; exit 2; }
while getopts n:s:d:j:o:t:lu option; do
  case $option in
  n) n=$OPTARG ;; s) seed=$OPTARG ;; d) folders=$OPTARG ;; j) jobs=$OPTARG ;; o) table=$OPTARG ;; t) LIMIT=$OPTARG ;; l) is_list=1 ;; u) is_unit_only=1 ;; *) usage ;;
  esac
done
shift $((OPTIND - 1))
[ $# = 0 ] || usage
for v in "$n" "$seed" "$jobs" "$LIMIT"; do case $v in '' | *[!0-9]* | 0*) echo "mutations.sh: $v: expected a positive whole number" >&2; exit 2 ;; esac; done
[ -f Makefile ] && [ -d src ] || { echo "mutations.sh: run it in the root of the repository" >&2; exit 2; }
here=$(pwd) base=build/mutations list=build/mutations/chosen
mkdir -p "$base" "$(dirname "$table")" || exit 2
table=$(cd "$(dirname "$table")" && pwd)/$(basename "$table")
tab=$(printf '\t')

# ---- the choice ----
for d in $folders; do
  [ -d "src/$d" ] || { echo "mutations.sh: src/$d: no such folder" >&2; exit 2; }
  find "src/$d" -name '*.c'
done | sort -u | while read -r f; do awk -f validation/mutations/candidates.awk "$f" | sed "s|^|$f$tab|"; done |
  awk -v seed="$seed" -f validation/mutations/choose.awk | sort -n | head -n "$n" >"$list" || exit 2
[ -z "$is_list" ] || { cat "$list"; exit 0; }

# ---- the build: the complete library twice, under its own name and as the library behind the mutated file ----
make REVISION= -s -j"$jobs" mutation-tests >"$base/build.log" 2>&1 || { tail -n 20 "$base/build.log" >&2; exit 2; }
print() { make REVISION= -s --eval="print-it: ; @echo $1" print-it; }
compile="$(print '$(CC) $(CPPFLAGS) $(CFLAGS) -fPIC') -g0" libraries=$(print '$(LIBS)')
mkdir -p "$base/original" "$base/rest"
$(print '$(CC) $(CFLAGS)') -shared -Wl,-soname,libstickslip_rest.so -o "$base/rest/libstickslip_rest.so" $(find build/release/src -name '*.o' ! -path '*/app/main.o') $libraries || exit 2
cp "$(find build/release -maxdepth 1 -name 'libstickslip.so.*.*')" "$base/original/libstickslip.so.0"

# Unit tests related to a file: "RANK TEST", see above
unit_tests_of() { # FILE
  layer=${1#src/} layer=${layer%%/*} folder=${1#src/} folder=${folder%/*} name=$(basename "$1" .c)
  for c in tests/unit/"$layer"/test_*.c; do
    t=$layer/$(basename "$c" .c)
    fixtures=$(cat "build/release/mutation/$t.d" 2>/dev/null | tr ' ' '\n' | grep '^tests/unit/.*\.h$')
    case $t in
    "$layer/test_$name" | "$layer/test_${name}"_*) echo "0 $t" ;;
    *) if grep -qF "#include \"$folder/$name.h\"" "$c" $fixtures; then echo "1 $t"
      elif grep -q "^#include \"$folder/" "$c" $fixtures; then echo "2 $t"
      elif grep -qF " src/$folder/$name.h" "build/release/mutation/$t.d"; then echo "3 $t"; fi ;;
    esac
  done
}
# Integration tests of a file: lines "PATTERN TEST..." of mutations/integration; the first match counts.
integration_tests_of() { # FILE
  while read -r pattern tests; do
    case $pattern in '' | '#'*) continue ;; esac
    case $1 in src/$pattern*) printf '4 %s\n' $tests; return ;; esac
  done <validation/mutations/integration
}

# CPU time [s] of a test without mutation; "skip" if it then fails or takes too long; empty if unknown
known_time() { awk -v t="$1" '$2 == t { print $1; exit }' "$times"; } # TEST
tests_of() { # FILE UNIT INTEGRATION
  { [ -z "$2" ] || unit_tests_of "$1"; [ -z "$3" ] || integration_tests_of "$1"; } | while read -r rank t; do
    known=$(known_time "$t")
    case $known in skip) continue ;; '') known=5 ;; esac
    echo "$rank $known $t"
  done | sort -k1,1n -k2,2n | cut -d' ' -f3
}

# run TEST FOLDER SECONDS: status of a test with the library in that folder. SECONDS: limit of the CPU time of each process. A test is a unit test
# (contact/test_rows), a script of tests/integration (test_exact), or the full name of a validation case.
run() (
  LD_LIBRARY_PATH="$here/$2:$here/$base/rest"
  export LD_LIBRARY_PATH GOMP_SPINCOUNT=1000 # other work may share the cores
  ulimit -t "$3"
  case $1 in
  */test_*) exec timeout -k 5 $((10 * $3 + 60)) "build/release/mutation/$1" ;;
  test_*) B=build/release/mutation exec timeout -k 5 $((10 * $3 + 60)) sh "tests/integration/$1.sh" ;;
  *) exec timeout -k 5 $((10 * $3 + 60)) build/release/mutation/validate --program build/release/mutation/stickslip --cases validation/cases --out build/validation "$1" ;;
  esac
) >/dev/null 2>&1
cpu() { awk 'NR == 2 { split($1, u, /[ms]/); split($2, s, /[ms]/); printf "%d\n", 60 * (u[1] + s[1]) + u[2] + s[2] + 1 }' "$1"; } # FILE: output of `times`

# Whether the mutation in a folder fails a test. The time of a test without mutation is measured when the test is first used.
kills() { # TEST FOLDER
  known=$(known_time "$1")
  if [ -z "$known" ]; then
    known=$( (run "$1" "$base/original" "$LIMIT"; status=$?; times >"$2/times"; exit $status) && cpu "$2/times")
    echo "${known:=skip} $1" >>"$times"
  fi
  [ "$known" != skip ] || return 1
  ! run "$1" "$2" $((5 * known + 3))
}

# Applies one line of the list, tests it, prints the result.
test_mutation() { # FOLDER IS_UNIT IS_INTEGRATION FILE LINE COLUMN LENGTH TOKEN REPLACEMENT
  folder=$1 is_unit=$2 is_integration=$3 file=$4
  mkdir -p "$folder/$(dirname "$file")"
  awk -v l="$5" -v c="$6" -v w="$7" -v to="$9" 'NR == l { $0 = substr($0, 1, c - 1) to substr($0, c + w) } { print }' "$file" >"$folder/$file"
  (cd "$folder" && $(echo "$compile" | sed "s| -Isrc| -I$here/src|") -c "$file" -o mutant.o) >"$folder/log" 2>&1 || { echo "did not compile"; return; }
  strip -g -o "$folder/original.o" "build/release/${file%.c}.o"; strip -g "$folder/mutant.o"
  ! cmp -s "$folder/original.o" "$folder/mutant.o" || { echo equivalent; return; }
  mpicc -fopenmp -shared -Wl,-soname,libstickslip.so.0 -Wl,--no-as-needed -o "$folder/libstickslip.so.0" "$folder/mutant.o" "$base/rest/libstickslip_rest.so" \
    >"$folder/log" 2>&1 || { echo "did not compile"; return; }
  for t in $(tests_of "$file" "$is_unit" "$is_integration"); do ! kills "$t" "$folder" || { echo "killed by $t"; return; }; done
  if [ -n "$is_integration" ]; then echo survived; else echo "survived unit tests"; fi
}

work() { # K: every JOBS-th mutation
  mkdir -p "$base/job-$1"
  awk -v k="$1" -v jobs="$jobs" 'NR % jobs == k % jobs' "$list" | while IFS="$tab" read -r id file line column length token to; do
    is_unit=1 is_integration=1
    [ -z "$is_unit_only" ] || is_integration=
    known=$(grep "^$id," "$table")
    case $known in
    '') ;;
    *"survived unit tests") [ -z "$is_unit_only" ] || continue; is_unit= ;;
    *) continue ;;
    esac
    result=$(test_mutation "$base/job-$1" "$is_unit" "$is_integration" "$file" "$line" "$column" "$length" "$token" "$to" </dev/null)
    [ -z "$known" ] || sed -i "/^$id,/d" "$table"
    printf '%s,%s,"%s -> %s",%s\n' "$id" "$file:$line:$column" "$token" "$to" "$result" >>"$table"
    printf '%s %-60s %-24s %s\n' "$(date +%H:%M:%S)" "$file:$line:$column" "$token -> $to" "$result"
  done
}

[ -s "$table" ] || echo "number,place,mutation,result" >"$table"
times=$here/$base/times
touch "$times"
pids= k=1
while [ "$k" -le "$jobs" ]; do (work "$k") & pids="$pids $!"; k=$((k + 1)); done
trap 'kill $pids 2>/dev/null; exit 130' INT TERM
wait

awk -F, 'NR > 1 { r = $NF; if (r ~ /^killed by [a-z]*\/test/) u++; else if (r ~ /^killed/) i++; else c[r]++ }
  END { printf "%d mutations: %d killed by unit tests, %d by integration tests, %d survived, %d survived the unit tests, %d equivalent (identical object code), %d did not compile\n",
    NR - 1, u, i, c["survived"], c["survived unit tests"], c["equivalent"], c["did not compile"] }' "$table"
