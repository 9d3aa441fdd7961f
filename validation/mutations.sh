#!/bin/sh
# Quality of the tests: applies random mutations of one token (operators, signs, constants, indices, comparisons, minimum and maximum; see
# mutations/candidates.awk) to the numerical code, one at a time, and runs the related tests.
#   sh validation/mutations.sh [-n NUMBER] [-s SEED] [-d FOLDER...] [-j JOBS] [-o TABLE] [-t SECONDS] [-u] [-l]
#     -n  number of mutations (40)          -d  folders of src, separated by blanks ("contact optim discretize"), or paths such as contact/fibre
#     -s  seed of the random choice (1)     -j  mutations tested at a time, each in its own copy of the tree (1)
#     -u  unit tests only                   -t  time limit [s] of a test whose time is not yet known (600)
#     -o  table of results (build/mutations/table.csv); mutations that are in it already are not tested again
#     -l  only list the chosen mutations
# Method: the tree is copied to build/mutations/tree-K, with its object files. Unit tests and the program are linked once with the shared library
# (`make mutation-tests`), so that a mutation compiles one file and links one library. A test kills a mutation if it passes without it, and with it fails
# or takes ten times as long. Unit tests of the folder run first, those named after the file before the others, then the integration tests
# listed in mutations/integration. The first failure ends the mutation.
# Results: killed by TEST; survived; equivalent (identical object code); did not compile. Classes of survivors are a manual decision:
# mutations/classified.csv records them.
set -u
LIMIT=600 is_unit_only=
n=40 seed=1 folders="contact optim discretize" jobs=1 table=build/mutations/table.csv is_list=
usage() { sed -n '4,9s/^# *//p' "$0" >&2; exit 2; }
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

# ---- the choice: a fixed generator, so that a seed means the same with every awk ----
for d in $folders; do
  [ -d "src/$d" ] || { echo "mutations.sh: src/$d: no such folder" >&2; exit 2; }
  find "src/$d" -name '*.c'
done | sort -u | while read -r f; do awk -f validation/mutations/candidates.awk "$f" | sed "s|^|$f$tab|"; done |
  awk -v n="$n" -v seed="$seed" '
    { candidate[NR] = $0 }
    function random(most) { x = (16807 * x) % 2147483647; return 1 + int(x / 2147483647 * most) } # Park and Miller
    END {
      x = seed % 2147483646 + 1
      for (i = 0; i < 10; ++i) random(1)
      if (n > NR) n = NR
      for (i = 1; i <= n; ++i) { # a shuffle of the first n
        k = i - 1 + random(NR - i + 1)
        print candidate[k]
        candidate[k] = candidate[i]
      }
      print NR " candidates" >"/dev/stderr"
    }' >"$list" || exit 2
[ -z "$is_list" ] || { cat "$list"; exit 0; }

# ---- a copy of the tree with its object files ----
make_tree() { # K
  tree=$base/tree-$1
  mkdir -p "$tree/build/release"
  for entry in Makefile config src tests validation jobs docs README.md CHANGELOG.md; do
    [ ! -e "$entry" ] || { rm -rf "${tree:?}/$entry"; cp -a "$entry" "$tree/"; }
  done
  for entry in src unit mutation version.stamp stickslip; do
    [ ! -e "build/release/$entry" ] || { rm -rf "${tree:?}/build/release/$entry"; cp -a "build/release/$entry" "$tree/build/release/"; }
  done
  (cd "$tree" && make REVISION= -s mutation-tests) >"$base/build-$1.log" 2>&1 || { tail -n 20 "$base/build-$1.log" >&2; exit 2; }
}

# Integration tests of a file: lines "PATTERN TEST..." of mutations/integration; the first match counts.
integration_of() { # FILE
  while read -r pattern tests; do
    case $pattern in '' | '#'*) continue ;; esac
    case $1 in src/$pattern*) echo "$tests"; return ;; esac
  done <validation/mutations/integration
}

seconds() { date +%s; }
# run KIND TEST LIBRARIES LIMIT: status of a test with the libraries of that folder, within a time limit [s]; in the folder of the tree.
# An integration test is a script of tests/integration, or the full name of a validation case.
run() {
  export LD_LIBRARY_PATH="$(pwd)/$3"
  case $1:$2 in
  unit:*) timeout -k 5 "$4" "build/release/mutation/$2" ;;
  *:test_*) B=build/release/mutation timeout -k 5 "$4" sh "tests/integration/$2.sh" ;;
  *) timeout -k 5 "$4" build/release/mutation/validate --program build/release/mutation/stickslip --cases validation/cases --out build/validation "$2" ;;
  esac >/dev/null 2>&1
}

# Time [s] of a test without mutation; "skip" if it then fails; empty if unknown
known_time() { awk -v t="$1" '$2 == t { print $1 }' times; } # TEST

# Whether a mutation fails a test. The test is repeated with the unmutated library when it fails for the first time, so that tests that fail
# anyway are left out. Without a known time the limit is LIMIT.
kills() { # KIND TEST
  known=$(known_time "$2")
  [ "$known" != skip ] || return 1
  limit=$LIMIT
  [ -z "$known" ] || limit=$((10 * known + 30))
  begin=$(seconds)
  run "$1" "$2" build/release "$limit"; status=$?
  [ $status != 77 ] || { echo "skip $2" >>times; return 1; }
  if [ -z "$known" ]; then
    if [ $status != 0 ]; then
      begin=$(seconds)
      run "$1" "$2" build/original 3600 || { echo "mutations.sh: $2 fails without a mutation and is not used" >&2; echo "skip $2" >>times; return 1; }
    fi
    echo "$(($(seconds) - begin)) $2" >>times
  fi
  [ $status != 0 ]
}

# Tests of a folder: those whose name contains the name of the file, then the others, fastest first
unit_tests_of() { # FILE
  layer=${1#src/} layer=${layer%%/*} name=$(basename "$1" .c)
  (cd build/release/mutation && ls -d "$layer"/test_* 2>/dev/null) | grep -v '\.d$' | while read -r t; do
    known=$(known_time "$t")
    case $known in skip) continue ;; '') known=5 ;; esac
    case $t in */test_"$name"*) rank=0 ;; *) rank=1 ;; esac
    echo "$rank $known $t"
  done | sort -k1,1n -k2,2n | cut -d' ' -f3
}

# Applies one line of the list, tests it, restores the file, prints the result.
test_mutation() { # FILE LINE COLUMN LENGTH TOKEN REPLACEMENT
  file=$1 object=build/release/${1%.c}.o library=$(ls build/release/libstickslip.so.*.* | head -n 1)
  cp -p "$file" original.c; cp -p "$object" original.o; cp -p "$library" original.so
  awk -v l="$2" -v c="$3" -v w="$4" -v to="$6" 'NR == l { $0 = substr($0, 1, c - 1) to substr($0, c + w) } { print }' original.c >"$file"
  result=
  if ! make REVISION= -s "$object" >/dev/null 2>&1; then result="did not compile"
  else
    strip -g -o a.o original.o; strip -g -o b.o "$object"
    if cmp -s a.o b.o; then result=equivalent
    else
      make REVISION= -s shared >/dev/null 2>&1 || result="did not compile"
    fi
  fi
  if [ -z "$result" ]; then
    for t in $(unit_tests_of "$file"); do ! kills unit "$t" || { result="killed by $t"; break; }; done
    [ -n "$result$is_unit_only" ] || for t in $(integration_of "$file"); do ! kills integration "$t" || { result="killed by $t"; break; }; done
  fi
  cp -p original.c "$file"; cp -p original.o "$object"; cp -p original.so "$library"
  echo "${result:-survived}"
}

work() { # K: every JOBS-th mutation
  cd "$here/$base/tree-$1" || exit 2
  touch times
  rm -rf build/original; mkdir -p build/original; cp -p build/release/libstickslip.so.*.* build/original/
  ln -s "$(cd build/original && ls libstickslip.so.*.*)" build/original/libstickslip.so.0
  awk -v k="$1" -v jobs="$jobs" 'NR % jobs == k % jobs' "$here/$list" | while IFS="$tab" read -r file line column length token to; do
    key="$file:$line:$column"
    ! grep -qF "$key,\"$token -> $to\"," "$table" 2>/dev/null || continue
    result=$(test_mutation "$file" "$line" "$column" "$length" "$token" "$to" </dev/null)
    printf '%s,"%s -> %s",%s\n' "$key" "$token" "$to" "$result" >>"$table"
    printf '%-60s %-24s %s\n' "$key" "$token -> $to" "$result"
  done
}

[ -s "$table" ] || echo "place,mutation,result" >"$table"
k=1
while [ "$k" -le "$jobs" ]; do make_tree "$k"; k=$((k + 1)); done
pids= k=1
while [ "$k" -le "$jobs" ]; do (work "$k") & pids="$pids $!"; k=$((k + 1)); done
trap 'kill $pids 2>/dev/null; exit 130' INT TERM
wait

awk -F, 'NR > 1 { r = $NF; if (r ~ /^killed by [a-z]*\/test/) u++; else if (r ~ /^killed/) i++; else c[r]++ }
  END { printf "%d mutations: %d killed by unit tests, %d by integration tests, %d survived, %d equivalent (identical object code), %d did not compile\n", NR - 1, u, i, c["survived"], c["equivalent"], c["did not compile"] }' "$table"
