#!/bin/sh
# Checks the dependencies between source files: sh config/check_layers.sh BUILD_FOLDER
# A module is a .c file with the .h file of the same name. It depends on the modules whose headers it includes and whose functions or
# variables its object file uses (nm). Rejected: dependencies that config/layers does not list, cycles of modules, cycles of folders,
# include paths that do not start below src, and library headers outside the folders named at the end.
B=${1:?usage: check_layers.sh BUILD_FOLDER}
cd "$(dirname "$0")/.." || exit 1
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
bad=0
fail() { echo "$1"; bad=1; }

# 1. Included headers, by path from src
grep -rn --include='*.[ch]' '^ *# *include "' src | sed 's/^src\/\([^:]*\)\.[ch]:[0-9]*: *# *include "\([^"]*\)".*/\1 \2/' >"$work/includes"
while read -r module header; do
  [ -f "src/$header" ] || echo "src/$module includes \"$header\": write the path from src, such as \"core/memory.h\""
done <"$work/includes" >"$work/relative"
[ ! -s "$work/relative" ] || fail "$(cat "$work/relative")"
sed 's/\.[ch]$//' "$work/includes" >"$work/edges"

# 2. Symbols that object files use
find src -name '*.c' | sed "s|^\(.*\)\.c$|$B/\1.o|" >"$work/objects"
missing=$(xargs ls <"$work/objects" 2>&1 >/dev/null | head -n 1)
[ -z "$missing" ] || { echo "$missing: run make first"; exit 1; }
xargs nm -A <"$work/objects" | sed "s|^$B/src/||" | awk '
  { split($1, place, ":"); sub(/\.o$/, "", place[1]); symbol = $NF; type = $(NF - 1) }
  type ~ /^[TDBRC]$/ { defined_in[symbol] = place[1] }
  type == "U" { user[++n] = place[1]; used[n] = symbol }
  END { for (i = 1; i <= n; ++i) if (used[i] in defined_in) print user[i], defined_in[used[i]] }' >>"$work/edges"
awk '$1 != $2' "$work/edges" | sort -u >"$work/modules"

# 3. Folders
awk '{ a = $1; b = $2; sub(/\/[^\/]*$/, "", a); sub(/\/[^\/]*$/, "", b); if (a != b) print a, b, $1, $2 }' "$work/modules" >"$work/folders"
awk 'NR == FNR { sub(/#.*/, ""); if (NF) { sub(/:$/, "", $1); known[$1] = 1; for (i = 2; i <= NF; ++i) allowed[$1, $i] = 1 } next }
  function may(a, b,   top) { top = b; if (allowed[a, b]) return 1; while (sub(/\/[^\/]*$/, "", top)) if (allowed[a, top "/*"]) return 1; return allowed[a, b "/*"] }
  !($1 in known) && !said[$1]++ { print "config/layers has no line for src/" $1 }
  $1 in known && !may($1, $2) { print "src/" $3 " depends on src/" $4 ": config/layers does not allow " $1 " to depend on " $2 }' \
  config/layers "$work/folders" >"$work/forbidden"
[ ! -s "$work/forbidden" ] || fail "$(cat "$work/forbidden")"

# 4. Cycles
cycles() { # title, file of edges
  tsort "$2" 2>&1 >/dev/null | awk -v title="$1" '/contains a loop/ { if (line) print line; line = title; next } { sub(/^tsort: /, ""); line = line " " $0 } END { if (line) print line }'
}
cycles "cycle of files:" "$work/modules" >"$work/cycles"
cut -d' ' -f1,2 "$work/folders" | sort -u >"$work/folder_edges"
cycles "cycle of folders:" "$work/folder_edges" >>"$work/cycles"
[ ! -s "$work/cycles" ] || fail "$(cat "$work/cycles")"

# 5. Library headers
hits=$(grep -rlE '#include <(hdf5|yaml)\.h>' src | grep -v '^src/io/')
[ -z "$hits" ] || fail "hdf5.h and yaml.h may be included in src/io only: $hits"
hits=$(grep -rlE '#include <petsc(vec|mat|ksp|pc|snes|tao)\.h>' src/core src/geometry src/discretize src/io)
[ -z "$hits" ] || fail "PETSc's solver objects may be used in optim, contact, sim and app only: $hits"

[ $bad = 0 ] && echo "$(wc -l <"$work/modules") dependencies of $(find src -name '*.[ch]' | wc -l) files: none is forbidden, no cycles"
exit $bad
